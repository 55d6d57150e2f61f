// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The counters of coverage.h, and the line that they leave behind.
#include "prove/coverage.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace shardproof::prove {

RuleCount rule_counts[256], operator_counts[256], function_counts[256];

namespace {

std::string pair(const RuleCount& c) { return fmt::format("[{}, {}]", c.applied.load(), c.denied.load()); }

template <class Name>
std::string table(const RuleCount* counts, Name name) {
  std::string out;
  for (int k = 0; k < 256; ++k) {
    if (counts[k].applied.load() + counts[k].denied.load() != 0)
      out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", name(k), pair(counts[k]));
  }
  return out;
}

// Written at exit, whatever the process was for.
struct Writer {
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    const char* path = std::getenv("SHARDPROOF_RULE_COUNTS");
    if (path == nullptr || *path == 0) return;
    std::string rules;
#define SHARDPROOF_RULE(number, condition) \
  rules += fmt::format("{}\"L-{}\": {}", rules.empty() ? "" : ", ", number, pair(rule_counts[static_cast<size_t>(Rule::L##number)]));
    SHARDPROOF_RULES(SHARDPROOF_RULE)
#undef SHARDPROOF_RULE
    const std::string line = fmt::format("{{\"rules\": {{{}}}, \"operators\": {{{}}}, \"functions\": {{{}}}}}\n", rules,
                                         table(operator_counts, [](int k) { return ir::name(static_cast<ir::Op>(k)); }),
                                         table(function_counts, [](int k) { return ir::name(static_cast<ir::Fn>(k)); }));
    if (std::FILE* f = std::fopen(path, "a")) {
      std::fwrite(line.data(), 1, line.size(), f);
      std::fclose(f);
    }
  }
} writer;

}  // namespace

}  // namespace shardproof::prove
