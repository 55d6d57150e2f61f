// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A linked problem with goals, inputs and verdicts as one line of JSON, for an evaluator that shares no code with this one
// (tests/mutants/numpy_eval.py), and as text for people.
#pragma once

#include <string>

#include "link/problem.h"
#include "mutate/judge.h"

namespace shardproof::mutate {

struct DumpInfo {
  std::string manifest, kind, what;
  int64_t draw = 0;
  uint64_t seed = 1;
  std::vector<std::string> status;  // per output: what the default command says
  const Judgement* judgement = nullptr;
};
std::string dump_json(link::Problem& problem, const DumpInfo& info);  // one line
std::string dump_text(const link::Problem& problem);
double total_elements(const link::Problem& problem);

}  // namespace shardproof::mutate
