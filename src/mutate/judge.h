// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Judges a linked problem by evaluation alone, apart from prover and falsifier: inputs of its own (dense where that is affordable, edge
// values of the facts, zeros, ties, small integers), intervals of doubles, balls where these leave a suspect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interp/eval.h"
#include "link/problem.h"

namespace shardproof::mutate {

struct JudgeOptions {
  uint64_t seed = 1;
  int seeds = 3;  // at most so many input sets
  double seconds = 4;
  bool until_different = true;  // the first output that differs ends it
};

enum class Answer : uint8_t { Different, Same, Undecided };

struct Judgement {
  std::vector<size_t> outputs;  // those that are checked, indices into problem.outputs
  std::vector<Answer> answers;  // parallel
  std::vector<std::string> details;
  int evaluations = 0;
  Answer overall() const;
};

// `outputs`: only these; empty: all that are checked.
Judgement judge(link::Problem& problem, const std::vector<size_t>& outputs, const JudgeOptions& options);

// Inputs of evaluation number `round`, as judge() uses them.
interp::Inputs judge_inputs(const link::Problem& problem, uint64_t seed, int round, bool dense);
bool dense_is_affordable(const link::Problem& problem);

}  // namespace shardproof::mutate
