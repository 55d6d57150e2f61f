// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// `check`, `replay` and `mutate`. A check runs in a child process (guard.h): whatever happens to it, there is an answer.
#include "cli/commands.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>

#include <fmt/format.h>

#include "cli/bundle.h"
#include "cli/guard.h"
#include "interp/interp.h"
#include "manifest/npy.h"
#include "report/check.h"
#include "report/files.h"
#include "report/json.h"
#include "report/text.h"
#include "util/work_clock.h"

#if __has_include("cert/certificate.h")
#include "cert/certificate.h"
#define SHARDPROOF_HAS_CERTIFICATES 1
#endif
#if __has_include("mutate/mutate.h")
#include "mutate/mutate.h"
#define SHARDPROOF_HAS_MUTANTS 1
#endif

namespace shardproof::cli {

namespace {

constexpr size_t kMaxWitnessBytes = size_t{1} << 30;

void print(std::FILE* to, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

int bad_input(const Diagnostic& error, bool json, Color color) {
  print(stderr, report::to_text(error, {use_color(color, 2), "", false}));
  if (json) print(stdout, report::to_json(error));
  return 2;
}

// Writes a report file; a warning on standard error if that fails (the verdict stands).
void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) print(stderr, fmt::format("shardproof: warning: {} could not be written\n", path));
}

}  // namespace

bool use_color(Color color, int descriptor) {
  if (color != Color::Auto) return color == Color::Always;
  const char* no = std::getenv("NO_COLOR");
  return (!no || !*no) && isatty(descriptor);
}

int answer_unknown(bool json, const std::string& reason, const std::string& detail, const manifest::Manifest* manifest) {
  report::CheckResult result;
  result.reason = reason;
  result.detail = detail;
  if (manifest) report::list_unknown(*manifest, result);
  print(stdout, json ? report::to_json(result) : report::to_text(result, {}));
  return 3;
}

namespace {

// Files of the linked programs are not written where there are none.
void say_unwritten(const CheckArgs& args) {
  for (const std::string& path : {args.relation_out, args.dot})
    if (!path.empty()) print(stderr, fmt::format("shardproof: {} is not written: the programs were not linked\n", path));
}

int check_here(const CheckArgs& args, const manifest::Manifest& manifest) {
  if (args.memory_limit > 0) {
    rlimit limit{};
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? args.memory_limit : std::min<rlim_t>(args.memory_limit, limit.rlim_max);
    setrlimit(RLIMIT_AS, &limit);
  }
  report::CheckOptions options;
  options.time_limit = args.time_limit.value_or(kTimeLimit);
  options.memory_limit = args.memory_limit;
  options.certificate = args.certificate;
  options.witness = args.witness;
  options.paranoid = args.paranoid;
  options.falsify = !args.no_falsify;
  options.induction = !args.unroll;
  options.seed = args.seed;
#ifdef SHARDPROOF_HAS_CERTIFICATES
  options.write_certificate = cert::write_certificate;
#endif
  if (!args.quiet && !args.json && isatty(2))
    options.progress = [](const std::string& text) { print(stderr, fmt::format("shardproof: {} ...\n", text)); };
  try {
    options.process_ends = true;
    // Taking a large graph apart would only cost time: the process ends after this.
    Result<report::CheckResult>& result = *new Result<report::CheckResult>(report::run_check(manifest, options));
    if (!result || !result->problem) say_unwritten(args);
    if (!result) return bad_input(result.error(), args.json, args.color);
    if (!args.relation_out.empty() && result->problem) write(args.relation_out, report::relation_toml(*result));
    if (!args.sarif.empty()) write(args.sarif, report::to_sarif(*result, {args.source_root, args.manifest}));
    if (!args.junit.empty()) write(args.junit, report::to_junit(*result, {args.source_root, args.manifest}));
    if (!args.html.empty()) write(args.html, report::to_html(*result, {args.source_root, args.manifest}));
    if (!args.dot.empty() && result->problem) write(args.dot, report::to_dot(*result));
    const char* actions = std::getenv("GITHUB_ACTIONS");
    if (actions && std::string(actions) == "true") print(stderr, report::to_annotations(*result, {args.source_root, args.manifest}));
    if (args.json)
      print(stdout, report::to_json(*result));
    else
      print(stdout, report::to_text(*result, {use_color(args.color, 1), manifest.directory, args.all}));
    return result->verdict == report::Verdict::Proved ? 0 : result->verdict == report::Verdict::Refuted ? 1 : 3;
  } catch (const std::bad_alloc&) {
    say_unwritten(args);
    return answer_unknown(args.json, args.memory_limit > 0 ? "budget" : "internal", "out of memory", &manifest);
  } catch (const std::exception& e) {
    say_unwritten(args);
    return answer_unknown(args.json, "internal", e.what(), &manifest);
  }
}

}  // namespace

int check(const CheckArgs& args) {
  Bundle bundle;
  Result<manifest::Manifest> manifest = bundle.load(args.manifest);
  if (!manifest) {
    say_unwritten(args);
    return bad_input(manifest.error(), args.json, args.color);
  }
  util::WorkClock::wall_only = args.time_limit.has_value();
  const double limit = args.time_limit.value_or(kTimeLimit);
  const auto work = [&] { return check_here(args, *manifest); };
  if (std::getenv("SHARDPROOF_NO_FORK")) return work();  // for debuggers and profilers
  // The check keeps to its time limit by itself; the guard only ends what does not.
  const double end = limit > 0 ? limit * 1.1 + 1 : 0;
  GuardResult result;
  if (!args.because.empty()) {
    result = because(args.because);
  } else if (args.own_process) {
    std::vector<std::string> restart = args.command;
    restart.push_back("--because=" + std::string(kBecause, ' '));
    std::vector<char*> argv;
    for (std::string& word : restart) argv.push_back(word.data());
    argv.push_back(nullptr);
    return guarded_here(end, argv.data(), restart.back().data() + std::strlen("--because="), work);
  } else {
    result = guarded(end, work);
  }
  if (result.finished) return result.code;
  print(stderr, fmt::format("shardproof: {}\n", result.detail));
  say_unwritten(args);
  return answer_unknown(args.json, result.reason, result.detail, &*manifest);
}

int replay(const ReplayArgs& args) {
  Result<std::string> text = manifest::read_file(args.witness, kMaxWitnessBytes);
  if (!text) return bad_input(text.error(), false, args.color);
  Result<interp::WitnessHeader> header = interp::read_witness_header(*text);
  if (!header) return bad_input(header.error(), false, args.color);
  std::string path = args.manifest.empty() ? header->manifest_path : args.manifest;
  if (path.empty())
    return bad_input({"SP204", "the witness names no manifest: give one with --manifest", args.witness, 0, 0}, false, args.color);
  Bundle bundle;
  Result<manifest::Manifest> manifest = bundle.load(path);
  if (!manifest) return bad_input(manifest.error(), false, args.color);
  Result<link::Problem> problem = link::link(*manifest);
  if (!problem) return bad_input(problem.error(), false, args.color);
  interp::Options options;
  options.manifest_path = manifest->path;
  options.manifest_canonical = manifest->canonical;
  options.seconds = 300;
  Result<interp::Replay> answer = interp::replay(*text, *problem, options);
  if (!answer) return bad_input(answer.error(), false, args.color);
  print(stdout, answer->text);
  if (!answer->text.ends_with("\n")) print(stdout, "\n");
  print(stdout, answer->confirmed ? "confirmed\n" : "not confirmed\n");
  return answer->confirmed ? 0 : 1;
}

int mutate(const MutateArgs& args) {
#ifdef SHARDPROOF_HAS_MUTANTS
  Bundle bundle;
  Result<manifest::Manifest> manifest = bundle.load(args.manifest);
  if (!manifest) return bad_input(manifest.error(), args.json, Color::Auto);
  mutate::Options options;
  options.n = args.n;
  options.seed = args.seed;
  options.edits = args.edits;
  options.time_limit = args.time_limit;
  options.mutant_limit = args.mutant_limit;
  options.keep = args.keep;
  options.dump = args.dump;
  options.only = args.only;
  options.only_name = args.only_name;
  options.only_kinds = args.kinds;
  Result<mutate::Summary> summary = mutate::run(*manifest, options);
  if (!summary) return bad_input(summary.error(), args.json, Color::Auto);
  print(stdout, args.json ? mutate::to_json(*summary) : mutate::to_text(*summary));
  return summary->total.wrong_proved ? 1 : 0;
#else
  return bad_input({"SP200", "this build cannot make mutants", "", 0, 0}, args.json, Color::Auto);
#endif
}

}  // namespace shardproof::cli
