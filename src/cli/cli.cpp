// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <new>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/size.h"
#include "report/json.h"

#ifndef SHARDPROOF_VERSION
#define SHARDPROOF_VERSION "0.1.0"
#endif

namespace shardproof::cli {

namespace {

// Usage errors are bad input, also for programs that read the answer.
int bad_usage(bool json, const std::string& message) {
  std::fputs(("shardproof: " + message + "\nRun with --help for more information.\n").c_str(), stderr);
  if (json) std::fputs(report::to_json(Diagnostic{"SP200", message, "", 0, 0}).c_str(), stdout);
  return 2;
}

}  // namespace

int run(int argc, const char* const* argv, bool own_process) {
  bool json = false;
  for (int k = 1; k < argc; ++k) json |= std::strcmp(argv[k], "--json") == 0;
  bool checking = argc > 1 && std::strcmp(argv[1], "check") == 0;
  try {
    CLI::App app{
        "Proves that a distributed ML program (one graph per rank) computes what its one-device original computes, or refutes it."};
    app.set_version_flag("--version", std::string("shardproof ") + SHARDPROOF_VERSION);
    app.require_subcommand(1);
    const std::map<std::string, Color> colors{{"auto", Color::Auto}, {"always", Color::Always}, {"never", Color::Never}};

    CheckArgs check_args;
    CLI::App* c = app.add_subcommand("check", "Check the programs of a manifest. Exit: 0 PROVED, 1 REFUTED, 2 bad input, 3 UNKNOWN");
    c->add_option("manifest", check_args.manifest,
                  "Manifest (TOML or JSON), a folder with case.json or shardproof.toml, or such a folder as one .zip file")
        ->required();
    c->add_flag("--json", check_args.json, "Print exactly one JSON object on standard output");
    c->add_option("--time-limit", check_args.time_limit,
                  "Seconds for the whole check (0: none). Without this option: 20 seconds of processor time, at most 50 on the wall")
        ->default_str("")
        ->check(CLI::NonNegativeNumber);
    c->add_option_function<std::string>(
         "--memory-limit",
         [&](const std::string& text) {
           if (const std::string error = parse_memory(text, check_args.memory_limit); !error.empty())
             throw CLI::ValidationError("--memory-limit", error);
         },
         "Memory of the check: 14G, 800MiB, or bytes (0: none)")
        ->type_name("SIZE");
    c->add_option("--certificate", check_args.certificate, "Write the proof to this file (PROVED)");
    c->add_option("--witness", check_args.witness, "Write the inputs that differ to this file (REFUTED)");
    c->add_flag("--paranoid", check_args.paranoid, "Evaluate the proved outputs, too");
    c->add_flag("--unroll", check_args.unroll, "Unroll all loops: none is proved by induction");
    c->add_flag("--no-falsify", check_args.no_falsify, "Only prove: what is not proved is UNKNOWN");
    c->add_option("--relation-out", check_args.relation_out,
                  "Write the input relation as it was used (also the inferred part) to this file");
    c->add_option("--sarif", check_args.sarif, "Write a SARIF 2.1.0 report to this file");
    c->add_option("--junit", check_args.junit, "Write a JUnit XML report to this file");
    c->add_option("--html", check_args.html, "Write an HTML report to this file");
    c->add_option("--dot", check_args.dot, "Write the graph around the blamed operators to this file (Graphviz)");
    c->add_option("--source-root", check_args.source_root, "Prefix to strip from source paths in SARIF and JUnit");
    c->add_option("--seed", check_args.seed, "Seed of the falsifier's inputs");
    c->add_flag("--all", check_args.all, "List every proved output");
    c->add_flag("--quiet", check_args.quiet, "No progress on standard error");
    c->add_option("--because", check_args.because)->group("");  // hidden: guard.h
    c->add_option("--color", check_args.color, "auto, always or never")->transform(CLI::CheckedTransformer(colors));

    ReplayArgs replay_args;
    CLI::App* r =
        app.add_subcommand("replay", "Evaluate both programs on a saved witness. Exit: 0 confirmed, 1 not confirmed, 2 cannot be read");
    r->add_option("witness", replay_args.witness, "Witness file")->required();
    r->add_option("--manifest", replay_args.manifest, "The manifest that the witness must be about (default: the one it names)");
    r->add_option("--color", replay_args.color, "auto, always or never")->transform(CLI::CheckedTransformer(colors));

    MutateArgs mutate_args;
    CLI::App* m = app.add_subcommand(
        "mutate", "Make wrong variants of the distributed program and see whether any is proved. Exit: 0 none, 1 some, 2 bad input");
    m->add_option("manifest", mutate_args.manifest, "Manifest or folder")->required();
    m->add_option("--n", mutate_args.n, "Number of mutants")->check(CLI::PositiveNumber);
    m->add_option("--seed", mutate_args.seed, "Seed");
    m->add_option("--time-limit", mutate_args.time_limit, "Seconds for all mutants (0: none)")->check(CLI::NonNegativeNumber);
    m->add_option("--mutant-limit", mutate_args.mutant_limit, "Seconds for one mutant")->capture_default_str()->check(CLI::PositiveNumber);
    m->add_option("--edits", mutate_args.edits, "Mistakes in each mutant, one on top of the other")
        ->capture_default_str()
        ->check(CLI::Range(1, 8));
    m->add_option("--kind", mutate_args.kinds, "Only this kind of mistake (may be repeated)");
    m->add_option("--only", mutate_args.only, "Only the mutant of this draw");
    m->add_flag("--name", mutate_args.only_name, "With --only: say what the mutant is, and try nothing");
    m->add_option("--keep", mutate_args.keep, "Write what reproduces a wrong proof to this folder");
    m->add_option("--dump", mutate_args.dump, "Append small mutants with their verdicts to this file (JSON lines)");
    m->add_flag("--json", mutate_args.json, "Print one JSON object");

    try {
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
      return app.exit(e);
    } catch (const CLI::CallForAllHelp& e) {
      return app.exit(e);
    } catch (const CLI::CallForVersion& e) {
      return app.exit(e);
    } catch (const CLI::ParseError& e) {
      return bad_usage(json, e.what());
    }
    if (*c) {
      check_args.own_process = own_process;
      if (own_process) check_args.command.assign(argv, argv + argc);
      return check(check_args);
    }
    if (*r) return replay(replay_args);
    return mutate(mutate_args);
  } catch (const std::bad_alloc&) {
    if (checking) return answer_unknown(json, "internal", "out of memory");
  } catch (const std::exception& e) {
    std::fputs(fmt::format("shardproof: internal error: {}\n", e.what()).c_str(), stderr);
    if (checking) return answer_unknown(json, "internal", e.what());
  }
  return 2;
}

}  // namespace shardproof::cli
