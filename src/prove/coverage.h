// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// How often each rule was applied and how often its side condition said no: for the tests, which fail where a rule was never tried
// (tools/rule_table.py). Counts are per process and cost an addition each; where SHARDPROOF_RULE_COUNTS names a file, they are appended to
// it at exit, one JSON object a line.
#pragma once

#include <atomic>
#include <cstdint>

#include "ir/graph.h"

namespace shardproof::prove {

// The rules of docs/lemmas.md: number, and whether there is a side condition that can say no.
// clang-format off
#define SHARDPROOF_RULES(X) \
  X(1, true) X(2, false) X(3, false) X(4, true) X(5, true) X(6, true) X(7, true) X(8, true) \
  X(9, true) X(10, true) X(11, true) X(12, true) X(13, true) X(14, false) X(15, true) X(16, true) \
  X(17, true) X(18, true) X(19, true) X(21, true) X(22, true) X(23, true) X(24, true) X(25, true) \
  X(26, true) X(27, true) X(29, true) X(30, true) X(31, false) X(32, false) X(33, true) X(34, false) \
  X(35, true) X(36, true) X(37, true) X(38, true) X(40, true) X(41, true) X(42, true) X(43, true) \
  X(44, false) X(45, false) X(46, true) X(47, false) X(48, true) X(49, false) X(50, true) X(51, true) \
  X(52, true) X(53, true) X(54, true) X(55, false) X(56, true) X(57, true) X(65, true) X(66, true) \
  X(67, true) X(68, true) X(69, true) X(70, true) X(71, true) X(72, true) X(73, true) X(74, true) X(75, true) X(76, true) X(77, true) X(78, true) X(79, true) X(80, true) \
  X(81, true) X(82, true) X(83, true) X(84, true) X(85, true) X(86, false) X(87, true) X(93, true) X(94, true) X(95, true) X(96, true) X(97, true) X(103, true) X(104, true) X(105, false) X(106, true)
// clang-format on

enum class Rule : uint8_t {
#define SHARDPROOF_RULE(number, condition) L##number,
  SHARDPROOF_RULES(SHARDPROOF_RULE)
#undef SHARDPROOF_RULE
};

struct RuleCount {
  std::atomic<uint64_t> applied{0}, denied{0};
  // Two threads may lose a count, which a counter with a lock would not; nothing depends on it.
  static bool add(std::atomic<uint64_t>& n) {
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
};
extern RuleCount rule_counts[256], operator_counts[256], function_counts[256];

// Both are true, so that they can stand at the end of a condition.
inline bool fired(Rule r) { return RuleCount::add(rule_counts[static_cast<size_t>(r)].applied); }
inline bool refused(Rule r) { return RuleCount::add(rule_counts[static_cast<size_t>(r)].denied); }
// An operator's value was written out, or it stayed an unknown of its own; a function was written as something else, or stayed itself.
inline void tried(ir::Op op, bool written) {
  RuleCount::add(written ? operator_counts[static_cast<size_t>(op)].applied : operator_counts[static_cast<size_t>(op)].denied);
}
inline void tried(ir::Fn fn, bool written) {
  RuleCount::add(written ? function_counts[static_cast<size_t>(fn)].applied : function_counts[static_cast<size_t>(fn)].denied);
}

}  // namespace shardproof::prove
