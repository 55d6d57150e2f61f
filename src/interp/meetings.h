// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Where the ranks hold a sequential value, whole, cut or in parts that add up, found by numbers: hints for the prover (L-74, L-97), which
// proves each before it uses it.
#pragma once

#include <vector>

#include "interp/interp.h"

namespace shardproof::interp {

struct Meeting {
  ir::NodeId sequential = ir::kNoNode;
  std::vector<ir::NodeId> parts;  // of the ranks of one group, in order
  ir::Shape start = {};           // alone: one part that is the value, or its slice from here (L-97)
  bool alone = false;
};

// Evaluates the cones of the given outputs (indices into problem.outputs) on one set of inputs. Empty where that costs too much.
std::vector<Meeting> meetings(const link::Problem& problem, const std::vector<size_t>& outputs, const Options& options);

}  // namespace shardproof::interp
