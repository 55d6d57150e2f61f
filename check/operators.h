// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The meaning of the core operators (docs/spec.md, S-n) at one index of the result, over elements of the operands that someone else gives:
// here, what the certificate claims of them. Written apart from the prover and the interpreter.
#pragma once

#include <functional>
#include <vector>

#include "check/number.h"
#include "frontend/certificate/reads.h"
#include "ir/graph.h"

namespace shardproof::check {

using namespace certificate;

// Sums of products and reductions: where each dimension of an operand goes, a dimension of the result or -1 - (variable that is summed).
std::vector<int64_t> dims_of(const ir::Graph& graph, ir::NodeId v, size_t operand);

class Operators {
 public:
  using Read = std::function<Number(ir::NodeId, const int64_t*)>;
  Operators(const ir::Graph& graph, Read read) : g_(graph), read_(std::move(read)) {}

  // Element i of node v. Sets `open` where the rules leave the value open, `unknown` where the operator has no meaning here.
  Number at(ir::NodeId v, const Index& i);
  // v is a view and element i of it is element j of `from` (not so for padding and operators that compute).
  bool view(ir::NodeId v, const Index& i, ir::NodeId& from, Index& j) const;
  // Sums and extremes over a range: extents of what is reduced (row-major order), and one element of it.
  bool reduces(ir::NodeId v, std::vector<int64_t>& extents) const;
  Number body(ir::NodeId v, const Index& i, const Index& k);

  bool open = false, unknown = false, uncertain = false;
  uint64_t work = 0, budget = 0;  // elements read by one `at`; beyond the budget the result is uncertain

 private:
  Number reduce(ir::NodeId v, const Index& i);
  Number take(const ir::Node& n, const Index& i);
  int lands(const ir::Node& n, const Index& i, const Index& at, Index& x);
  Number scatter(const ir::Node& n, const Index& i);
  Number scan(const ir::Node& n, const Index& i);
  Number extreme_position(const ir::Node& n, const Index& i);
  Number sorted(const ir::Node& t, int64_t result, const Index& i);
  bool start(const ir::Node& n, size_t operand, int64_t last, int64_t& out);
  // An integer operand's element as an index into [0, extent): 1 in range, 0 outside (and what the mode does), -1 undefined.
  int index(const Number& v, int64_t extent, ir::IndexMode mode, int64_t& out);
  bool pay(uint64_t n) {
    if ((work += n) <= budget) return true;
    uncertain = true;
    return false;
  }
  const ir::Graph& g_;
  Read read_;
};

}  // namespace shardproof::check
