// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Communication on the way from values that are right to a value that is wrong.
//
// The linked graph has no collectives: a reduction is a map over values of several ranks, a gather their concatenation, an exchange a
// concatenation of their slices, and a message a value that another rank reads. So they are found again by whose values a node reads.
#pragma once

#include <functional>
#include <vector>

#include "interp/blame.h"

namespace shardproof::interp {

struct RouteStep {
  enum class Kind : uint8_t { Reduce, Gather, Exchange, Message } kind = Kind::Reduce;
  ir::NodeId node = ir::kNoNode;
  std::vector<ir::NodeId> in;  // one a rank; of a message: the value that is read
  unsigned axes = 0;           // mesh axes along which the ranks differ
  bool whole = true;           // the ranks are all those that differ along these axes
};

// The steps met going back from `from`, nearest first, not beyond nodes for which `stop` holds.
std::vector<RouteStep> route(const link::Problem& problem, const std::vector<ir::NodeId>& from,
                             const std::function<bool(ir::NodeId)>& stop);

}  // namespace shardproof::interp
