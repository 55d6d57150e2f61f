// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The reference interpreter's face to the rest: evaluate linked nodes on concrete block inputs, compare, refute, blame.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "link/problem.h"

namespace shardproof::interp {

struct Options {
  uint64_t seed = 1;
  int seeds = 3;                 // independent input sets to try
  double seconds = 10;
  uint64_t bytes = 1ull << 30;
};

// What is wrong, in words that come from the numbers.
struct Blame {
  ir::NodeId sequential = ir::kNoNode;                 // first sequential operator whose value nothing reproduces
  std::vector<std::pair<int, ir::NodeId>> distributed; // (rank, node) that should have
  std::string kind;                                    // the words of the cases: "missing-all-reduce", "wrong-scale", ...
  std::string code;                                    // SP1xx
  std::string explanation, repair;
};

struct OutputFinding {
  enum class Status : uint8_t { Agrees, Differs, Undecided } status = Status::Undecided;
  std::string detail;            // first differing index and both values
  std::string reason;            // Undecided: why
  std::optional<Blame> blame;
  std::optional<manifest::Placement> holds;   // under `any`: the first candidate that agrees numerically
};

// Evaluates the given outputs (indices into problem.outputs) on a few inputs. problem gains view nodes for goals.
std::vector<OutputFinding> falsify(link::Problem& problem, const std::vector<size_t>& outputs, const Options& options,
                                   std::string* witness_json);   // witness of the first output that differs, or ""

}  // namespace shardproof::interp
