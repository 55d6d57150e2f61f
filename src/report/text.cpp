// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardproof::report {

namespace {

constexpr size_t kShownOutputs = 12, kShownAssumptions = 12;
constexpr size_t kMaxSourceLine = 160;

struct Paint {
  bool on;
  std::string operator()(const char* code, const std::string& s) const { return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, s) : s; }
};
constexpr const char* kRed = "1;31";
constexpr const char* kGreen = "1;32";
constexpr const char* kYellow = "1;33";
constexpr const char* kBlue = "1;34";
constexpr const char* kBold = "1";

// Line `line` of a source file, looked for beside the manifest and in the current folder; "" if it is not there.
std::string source_line(const std::string& file, int line, const std::string& directory) {
  if (file.empty() || line <= 0) return "";
  std::filesystem::path path(file);
  std::error_code ignored;
  std::vector<std::filesystem::path> places;
  if (path.is_absolute())
    places = {path};
  else
    places = {std::filesystem::path(directory) / path, path};
  for (const auto& place : places) {
    if (!std::filesystem::is_regular_file(place, ignored) || std::filesystem::file_size(place, ignored) > (8u << 20)) continue;
    std::ifstream in(place);
    std::string text;
    for (int k = 0; k < line && std::getline(in, text); ++k)
      if (k + 1 == line) {
        for (char& c : text)
          if (static_cast<unsigned char>(c) < 0x20) c = ' ';
        if (text.size() > kMaxSourceLine) text = text.substr(0, kMaxSourceLine) + " ...";
        return text;
      }
  }
  return "";
}

// Control characters from programs must not reach a terminal.
std::string clean(std::string s) {
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') c = '?';
  return s;
}

void site(std::string& out, const Paint& paint, const Site& s, const std::string& who, const std::string& directory) {
  std::string where = s.file.empty() ? "" : s.line > 0 ? fmt::format("{}:{}", s.file, s.line) : s.file;
  out += fmt::format("  {} {}: {}{}{}\n", paint(kBlue, "-->"), who, clean(s.node.empty() ? "(no name)" : s.node),
                     s.op.empty() ? "" : fmt::format(" = {}", clean(s.op)), where.empty() ? "" : fmt::format("  at {}", clean(where)));
  std::string line = source_line(s.file, s.line, directory);
  if (line.empty()) return;
  std::string number = std::to_string(s.line);
  out += fmt::format("   {}\n   {} {}\n   {}\n", paint(kBlue, std::string(number.size() + 1, ' ') + "|"), paint(kBlue, number + " |"), line,
                     paint(kBlue, std::string(number.size() + 1, ' ') + "|"));
}

// "ranks 0-3, 6"
std::string rank_list(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out;
  for (size_t k = 0; k < ranks.size();) {
    size_t end = k;
    while (end + 1 < ranks.size() && ranks[end + 1] <= ranks[end] + 1) ++end;
    out += fmt::format("{}{}", out.empty() ? "" : ", ",
                       ranks[end] == ranks[k] ? std::to_string(ranks[k]) : fmt::format("{}-{}", ranks[k], ranks[end]));
    k = end + 1;
  }
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", out);
}

void blame(std::string& out, const Paint& paint, const BlameReport& b, const std::string& detail, const std::string& directory) {
  if (b.sequential) site(out, paint, *b.sequential, "one device", directory);
  std::vector<std::pair<Site, std::vector<int>>> folded;  // ranks whose site looks the same are one entry
  for (const Site& s : b.distributed) {
    auto same = std::find_if(folded.begin(), folded.end(), [&](const auto& f) {
      return f.first.node == s.node && f.first.op == s.op && f.first.file == s.file && f.first.line == s.line;
    });
    if (same != folded.end())
      same->second.push_back(s.rank);
    else
      folded.push_back({s, {s.rank}});
  }
  for (const auto& [s, ranks] : folded) site(out, paint, s, rank_list(ranks), directory);
  if (!b.parameters.empty())
    out += fmt::format("  {} {}\n", paint(kBlue, "="),
                       clean(fmt::format("parameter{}: {}", b.parameters.size() == 1 ? "" : "s", fmt::join(b.parameters, ", "))));
  if (!detail.empty() && detail.find(b.explanation) == std::string::npos)
    out += fmt::format("  {} {}\n", paint(kBlue, "="), clean(fmt::format("values: {}", detail)));
  if (!b.repair.empty()) out += fmt::format("  {} {}\n", paint(kBlue, "="), clean(fmt::format("help: {}", b.repair)));
}

void list(std::string& out, const std::vector<std::string>& items, size_t shown) {
  for (size_t k = 0; k < items.size() && k < shown; ++k) out += fmt::format("  - {}\n", clean(items[k]));
  if (items.size() > shown) out += fmt::format("  - and {} more (--json lists all)\n", items.size() - shown);
}

std::string title(const OutputReport& o) { return o.label.empty() || o.label == o.name ? o.name : fmt::format("{} ({})", o.label, o.name); }

// Why an output is unknown, one reason a line. The two normal forms, of which one is missing an identity, are cut to what a person reads.
std::vector<std::string> reasons(const std::string& detail) {
  std::vector<std::string> out;
  const std::string between = "   instead of   ";
  constexpr size_t kForm = 160;
  const auto cut = [](const std::string& form) { return form.size() <= kForm ? form : form.substr(0, kForm) + " ..."; };
  for (size_t from = 0; from < detail.size();) {
    const size_t to = std::min(detail.find("; ", from), detail.size());
    std::string part = detail.substr(from, to - from);
    if (const size_t at = part.find(between); at != std::string::npos)
      part = fmt::format("the forms differ: {}, one-device: {}", cut(part.substr(at + between.size())), cut(part.substr(0, at)));
    out.push_back(std::move(part));
    from = to + 2;
  }
  return out;
}

}  // namespace

std::string to_text(const CheckResult& r, const TextOptions& options) {
  Paint paint{options.color};
  std::string out;
  size_t count[4] = {};
  for (const OutputReport& o : r.outputs) ++count[static_cast<size_t>(o.status)];
  size_t checked = r.outputs.size() - count[3];
  const char* color = r.verdict == Verdict::Proved ? kGreen : r.verdict == Verdict::Refuted ? kRed : kYellow;
  out += paint(color, name(r.verdict));
  if (r.verdict == Verdict::Proved)
    out += fmt::format(": {} output{} of the distributed program equal{} the one-device program's\n", checked, checked == 1 ? "" : "s",
                       checked == 1 ? "s" : "");
  else if (r.verdict == Verdict::Refuted)
    out += fmt::format(": {} of {} outputs {} wrong\n", count[1], checked, count[1] == 1 ? "is" : "are");
  else
    out += fmt::format(" ({}): {} of {} outputs could be neither proved nor refuted\n", r.reason, count[2], checked);
  if (r.verdict == Verdict::Unknown && r.outputs.empty() && !r.detail.empty()) out += fmt::format("  {}\n", clean(r.detail));

  // Outputs with one and the same blame are told once.
  std::map<std::string, size_t> told;
  size_t shown = 0, more = 0;
  for (const OutputReport& o : r.outputs) {
    if (o.status != Status::Refuted) continue;
    std::string key =
        o.blame ? o.blame->kind + "\n" + o.blame->explanation + "\n" + (o.blame->sequential ? o.blame->sequential->node : "") : o.name;
    if (told[key]++ > 0 || shown >= 5) {
      ++more;
      continue;
    }
    ++shown;
    std::string code = o.blame && !o.blame->code.empty() ? fmt::format("[{}]", o.blame->code) : "";
    out +=
        fmt::format("\n{}: output {}{}\n", paint(kRed, "error" + code), clean(title(o)),
                    o.blame ? clean(fmt::format(": {}{}", o.blame->kind.empty() ? "" : o.blame->kind + ": ", o.blame->explanation)) : "");
    if (o.blame)
      blame(out, paint, *o.blame, o.detail, options.directory);
    else if (!o.detail.empty())
      out += fmt::format("  {} {}\n", paint(kBlue, "="), clean(o.detail));
    out += fmt::format("  {} expected {}\n", paint(kBlue, "="), clean(o.expected));
  }
  if (more) out += fmt::format("\n{} more wrong output{} with the same or later causes (--json lists all)\n", more, more == 1 ? "" : "s");
  shown = 0;
  for (const OutputReport& o : r.outputs) {
    if (o.status != Status::Unknown || shown++ >= kShownOutputs) continue;
    out += fmt::format("\n{}: output {} is neither proved nor refuted ({})\n", paint(kYellow, "unknown"), clean(title(o)), o.reason);
    for (const std::string& line : reasons(o.detail)) out += fmt::format("  {} {}\n", paint(kBlue, "="), clean(line));
    out += fmt::format("  {} expected {}\n", paint(kBlue, "="), clean(o.expected));
  }
  if (count[2] > kShownOutputs) out += fmt::format("\nand {} more\n", count[2] - kShownOutputs);
  const auto unknown = [&](auto&& holds) {
    return std::any_of(r.outputs.begin(), r.outputs.end(), [&](const OutputReport& o) { return o.status == Status::Unknown && holds(o); });
  };
  if (unknown([](const OutputReport& o) { return o.detail.find("not refuted: budget") != std::string::npos; }))
    out += fmt::format(
        "\n{}: this program is too large to look for a counterexample. Capture a smaller configuration of the same model (fewer layers, "
        "features and\n"
        "  tokens, the same parallelism): what goes wrong in parallel code rarely depends on sizes, and at small sizes it is found with "
        "its operator\n",
        paint(kBlue, "help"));
  if (unknown([](const OutputReport& o) { return o.reason == "budget" && o.detail.find("time limit") != std::string::npos; }))
    out += fmt::format("\n{}: the time limit cut proofs short; --time-limit SECONDS sets another one (0: none)\n", paint(kBlue, "help"));

  if (count[0] > 0) {
    out += fmt::format("\n{}\n", paint(kBold, "proved outputs"));
    size_t width = 0, n = 0, limit = options.all_outputs ? r.outputs.size() : kShownOutputs;
    for (const OutputReport& o : r.outputs)
      if (o.status == Status::Proved && n++ < limit) width = std::max(width, title(o).size());
    n = 0;
    for (const OutputReport& o : r.outputs)
      if (o.status == Status::Proved && n++ < limit)
        out += fmt::format("  {:{}}  {}\n", clean(title(o)), std::min<size_t>(width, 60), o.relation.value_or("?"));
    if (count[0] > limit) out += fmt::format("  and {} more (--json lists all)\n", count[0] - limit);
  }
  if (!r.warnings.empty()) {
    out += fmt::format("\n{}\n", paint(kYellow, "warnings"));
    list(out, r.warnings, kShownAssumptions);
  }
  if (!r.loops.empty()) {
    out += fmt::format("\n{}\n", paint(kBold, "loops proved by induction (relation of every carried value)"));
    list(out, r.loops, kShownAssumptions);
  }
  if (!r.assumptions.empty()) {
    out += fmt::format("\n{}\n", paint(kBold, "assumptions"));
    list(out, r.assumptions, kShownAssumptions);
  }
  out += fmt::format("\n{} + {} operators; read {:.3f} s, prove {:.3f} s, evaluate {:.3f} s\n", r.stats.sequential_operators,
                     r.stats.distributed_operators, r.stats.read, r.stats.prove, r.stats.falsify);
  if (!r.certificate.empty()) out += fmt::format("certificate: {}\n", r.certificate);
  if (!r.witness.empty()) out += fmt::format("witness: {} (shardproof replay {})\n", r.witness, r.witness);
  return out;
}

std::string to_text(const Diagnostic& e, const TextOptions& options) {
  Paint paint{options.color};
  std::string out = fmt::format("{}: {}\n", paint(kRed, fmt::format("error[{}]", e.code)), clean(e.message));
  if (e.file.empty()) return out;
  std::string where =
      e.line > 0 ? e.column > 0 ? fmt::format("{}:{}:{}", e.file, e.line, e.column) : fmt::format("{}:{}", e.file, e.line) : e.file;
  out += fmt::format("  {} {}\n", paint(kBlue, "-->"), clean(where));
  std::string line = source_line(e.file, e.line, "");
  if (line.empty()) return out;
  std::string number = std::to_string(e.line), bar = paint(kBlue, std::string(number.size() + 1, ' ') + "|");
  out += fmt::format("   {}\n   {} {}\n   {}", bar, paint(kBlue, number + " |"), line, bar);
  if (e.column > 0 && static_cast<size_t>(e.column) <= line.size() + 1)
    out += " " + std::string(static_cast<size_t>(e.column) - 1, ' ') + paint(kRed, "^");
  return out + "\n";
}

}  // namespace shardproof::report
