// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A run's counts as JSON (MANIFEST.md section 6, with more keys) and as text.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mutate/mutate.h"

namespace shardproof::mutate {

namespace {

using nlohmann::ordered_json;

ordered_json counts(const Count& c) {
  ordered_json j;
  j["different"] = c.different;
  j["same"] = c.same;
  j["undecided"] = c.undecided;
  j["refuted"] = c.refuted;
  j["unknown"] = c.unknown;
  j["wrong_proved"] = c.wrong_proved;
  j["proved_same"] = c.proved_same;
  return j;
}

std::string line(const std::string& name, const Count& c) {
  return fmt::format("{:<18} {:>9} {:>8} {:>8} {:>12}   {:>6} {:>8}   {:>9} {:>8}\n", name, c.different, c.refuted, c.unknown,
                     c.wrong_proved, c.same, c.proved_same, c.undecided, c.invalid);
}

}  // namespace

std::string to_json(const Summary& s) {
  ordered_json j;
  j["version"] = 1;
  j["n"] = s.n;
  const ordered_json total = counts(s.total);
  for (const auto& [key, value] : total.items()) j[key] = value;
  j["kinds"] = ordered_json::object();
  for (const auto& [name, count] : s.kinds) {
    j["kinds"][name] = counts(count);
    j["kinds"][name]["invalid"] = count.invalid;
  }
  j["seed"] = s.options.seed;
  j["base"] = s.base;
  j["invalid"] = s.total.invalid;
  j["seconds"] = s.seconds;
  j["check_seconds"] = s.check_seconds;
  j["judge_seconds"] = s.judge_seconds;
  if (!s.ended.empty()) j["ended"] = s.ended;
  j["findings"] = ordered_json::array();
  for (const Finding& f : s.findings)
    j["findings"].push_back({{"trouble", f.trouble}, {"kind", f.kind}, {"draw", f.draw}, {"edit", f.what}, {"detail", f.detail}});
  j["unknown_examples"] = s.unknown;
  j["unproved_examples"] = s.unproved;
  return j.dump(1) + "\n";
}

std::string to_text(const Summary& s) {
  std::string out = fmt::format("{} mutants of {} (itself {}), seed {}, in {:.1f} s{}\n\n", s.n, s.manifest, s.base, s.options.seed,
                                s.seconds, s.ended.empty() ? "" : "; ended by: " + s.ended);
  if (s.options.only >= 0) out += fmt::format("draw {}: {}\n\n", s.options.only, s.only.empty() ? "gives no mutant" : s.only);
  out += fmt::format("{:<18} {:>9} {:>8} {:>8} {:>12}   {:>6} {:>8}   {:>9} {:>8}\n", "kind", "different", "refuted", "unknown",
                     "wrong proved", "same", "proved", "undecided", "invalid");
  for (const auto& [name, count] : s.kinds) out += line(name, count);
  out += line("all", s.total);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += fmt::format("\n{}\n", title);
    for (const std::string& l : lines) out += "  " + l + "\n";
  };
  list("Different, but left UNKNOWN:", s.unknown);
  list("The same, but not proved:", s.unproved);
  for (const Finding& f : s.findings) out += fmt::format("\n{}: draw {}, {}\n  {}\n  {}\n", f.trouble, f.draw, f.kind, f.what, f.detail);
  out += s.total.wrong_proved ? fmt::format("\n{} WRONG PROOFS\n", s.total.wrong_proved) : "\nNo mutant that differs was proved.\n";
  return out;
}

}  // namespace shardproof::mutate
