// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A plain evaluator of core graphs of one rank for the tests of lowerings: one element at a time, by the formulas in ir/graph.h, in doubles
// and 64-bit integers. It is slow and has nothing in common with src/interp, so that neither inherits the other's mistakes.
#pragma once

#include <map>
#include <stdexcept>
#include <vector>

#include "ir/graph.h"

namespace shardproof::test {

struct Tensor {
  ir::DType dtype = ir::DType::Invalid;
  ir::Shape shape;
  std::vector<double> f;   // floats
  std::vector<int64_t> i;  // integers, booleans
  bool is_float() const { return ir::is_float(dtype); }
  double number(size_t k) const { return is_float() ? f[k] : static_cast<double>(i[k]); }
};

// The same for `ranks` ranks in step, collectives included: values[rank][node]. Ranks are partition ids, or replica ids where a node says
// so.
std::vector<std::vector<Tensor>> evaluate_ranks(const ir::Graph& graph, const std::vector<std::map<ir::NodeId, Tensor>>& inputs);

// Part `index` of `parts` equal parts along `dim`.
Tensor part(const Tensor& x, size_t dim, int64_t parts, int64_t index);

// Values of all nodes; the results of a tuple are those of its Result nodes. Throws std::runtime_error for what it does not know.
std::vector<Tensor> evaluate(const ir::Graph& graph, const std::map<ir::NodeId, Tensor>& inputs);

}  // namespace shardproof::test
