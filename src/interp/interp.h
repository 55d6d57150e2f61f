// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The reference interpreter's face to the rest: evaluate linked nodes on concrete block inputs, compare, refute, blame.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "link/problem.h"
#include "util/result.h"

namespace shardproof::interp {

struct Options {
  uint64_t seed = 1;
  int seeds = 3;        // independent input sets to try
  bool glance = false;  // one set of inputs, and only what intervals of doubles show
  double seconds = 10;
  uint64_t bytes = 1ull << 30;
  bool blame = true;               // say which operator is wrong, too
  std::string manifest_path;       // written into witnesses, so that replay finds the programs
  std::string manifest_canonical;  // Manifest::canonical, hashed into witnesses
};

// What is wrong, in words that come from the numbers.
struct Blame {
  ir::NodeId sequential = ir::kNoNode;                  // first sequential operator whose value nothing reproduces
  std::vector<std::pair<int, ir::NodeId>> distributed;  // (rank, node) that should have
  std::string kind;                                     // the words of the cases: "missing-all-reduce", "wrong-scale", ...
  std::string code;                                     // SP1xx
  std::string explanation, repair;
};

struct OutputFinding {
  enum class Status : uint8_t { Agrees, Differs, Undecided } status = Status::Undecided;
  std::string detail;    // first differing index and both values
  std::string reason;    // Undecided: why
  bool suspect = false;  // Undecided: there is a difference, which is not beyond rounding
  std::optional<Blame> blame;
  std::optional<manifest::Placement> holds;  // under `any`: the first candidate that agrees numerically
};

// Evaluates the given outputs (indices into problem.outputs) on a few inputs. problem gains view nodes for goals.
std::vector<OutputFinding> falsify(link::Problem& problem, const std::vector<size_t>& outputs, const Options& options,
                                   std::string* witness_json);  // witness of the first output that differs, or ""

// The witness of communication that cannot complete: the schedule, both call sites. "" if the problem has no fault.
std::string fault_witness(const link::Problem& problem, const Options& options);

// What a witness file says it is about, before anything is loaded.
struct WitnessHeader {
  std::string manifest_path, manifest_sha256;
  std::string output;  // "" for a schedule
  std::string kind;    // "values" or "schedule"
};
Result<WitnessHeader> read_witness_header(const std::string& witness_json);

struct Replay {
  bool confirmed = false;
  std::string text;  // what was evaluated: the values that differ, and those on the way, side by side; or the schedule
};
// Re-evaluates a witness on a problem that was linked anew from the files. A witness about other programs, another relation or inputs that
// break the facts is an error.
Result<Replay> replay(const std::string& witness_json, link::Problem& problem, const Options& options);

}  // namespace shardproof::interp
