// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Mistakes in positions: slices, dimensions, masks, indices, transpositions, directions.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mutate/edits.h"

namespace shardproof::mutate {
namespace {

using ir::Fn;
using ir::kNoNode;
using ir::Node;
using ir::NodeId;
using ir::Op;

int64_t rank_of(const Node& n) { return static_cast<int64_t>(n.shape.size()); }
NodeId integer(Site& s, int64_t v, ir::DType t) { return s.b.constant(ir::Literal::integer(v, t), t); }

// ---- slices, pads, windows
bool fits_slice(const World&, const ir::Graph& g, NodeId id) {
  const Op op = g[id].op;
  return op == Op::Slice || op == Op::Pad || op == Op::DynamicSlice || op == Op::DynamicUpdate;
}
NodeId slice(Site& s) {
  Node made = s.copy();
  if (made.op == Op::DynamicSlice || made.op == Op::DynamicUpdate) {
    const size_t first = made.op == Op::DynamicSlice ? 1 : 2;
    const size_t d = static_cast<size_t>(s.random.below(static_cast<int64_t>(made.in.size() - first)));
    NodeId& start = made.in[first + d];
    const ir::Shape& part = made.op == Op::DynamicSlice ? made.shape : s.b.shape(made.in[1]);
    const std::vector<int64_t> shifts{1, -1, part[d], -part[d]};
    const int64_t by = s.random.of(shifts);
    const ir::DType t = s.b.dtype(start);
    if (by < 0 && ir::is_unsigned_int(t)) return kNoNode;
    s.what = fmt::format("start shifted by {} in dimension {}", by, d);
    start = s.b.map(Fn::Add, {start, integer(s, by, t)}, t);
    return s.add(std::move(made));
  }
  const ir::Shape& x = s.old[s.node().in[0]].shape;
  if (x.empty()) return kNoNode;
  const size_t d = static_cast<size_t>(s.random.below(static_cast<int64_t>(x.size())));
  if (made.op == Op::Pad) {
    const int64_t by = s.random.chance(0.5) ? 1 : -1;
    if (made.a[d] == 0 && made.b[d] == 0) return kNoNode;
    made.a[d] += by;
    made.b[d] -= by;
    s.what = fmt::format("padding shifted by {} in dimension {}", by, d);
    return s.add(std::move(made));
  }
  const int64_t extent = made.shape[d], step = made.c[d];
  if (s.random.chance(0.2) && extent > 1) {  // another step, as many elements
    const int64_t other = step == 1 ? 2 : step - 1;
    if (made.a[d] + (extent - 1) * other >= x[d]) return kNoNode;
    made.c[d] = other;
    made.b[d] = made.a[d] + (extent - 1) * other + 1;
    s.what = fmt::format("step {} instead of {} in dimension {}", other, step, d);
    return s.add(std::move(made));
  }
  const int64_t lowest = -made.a[d], highest = x[d] - made.b[d];
  std::vector<int64_t> shifts;
  for (int64_t by : {int64_t{1}, int64_t{-1}, extent * step, -extent * step, lowest, highest})
    if (by != 0 && by >= lowest && by <= highest) shifts.push_back(by);
  if (shifts.empty()) return kNoNode;
  const int64_t by = s.random.of(shifts);
  made.a[d] += by;
  made.b[d] += by;
  s.what = fmt::format("shifted by {} in dimension {}", by, d);
  return s.add(std::move(made));
}

// ---- dimensions
bool fits_axis(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  switch (n.op) {
    case Op::Reduce:
    case Op::ArgReduce: return g[n.in[0]].shape.size() > 1;
    case Op::Scan:
    case Op::Iota:
    case Op::Concat:
    case Op::Reverse: return n.shape.size() > 1;
    case Op::Broadcast: return !n.a.empty() && n.shape.size() > 1;
    case Op::Contract: return !n.b.empty();
    default: return false;
  }
}
NodeId axis(Site& s) {
  Node made = s.copy();
  const int64_t x_rank = made.in.empty() ? 0 : static_cast<int64_t>(s.b.shape(made.in[0]).size());
  switch (made.op) {
    case Op::Reduce: {
      if (made.a.empty() || static_cast<int64_t>(made.a.size()) == x_rank) return kNoNode;
      std::vector<int64_t> dims = made.a;
      const size_t k = static_cast<size_t>(s.random.below(static_cast<int64_t>(dims.size())));
      const int64_t was = dims[k], d = s.random.below(x_rank);
      if (std::find(dims.begin(), dims.end(), d) != dims.end()) return kNoNode;
      dims[k] = d;
      std::sort(dims.begin(), dims.end());
      s.what = fmt::format("over dimension {} instead of {}", d, was);
      return s.fit(s.b.reduce(made.fn, made.in[0], dims));
    }
    case Op::ArgReduce: {
      const int64_t was = made.a[0], d = s.random.below(x_rank);
      if (d == was) return kNoNode;
      s.what = fmt::format("over dimension {} instead of {}", d, was);
      return s.fit(s.b.arg_reduce(made.fn, made.in[0], d, made.dtype));
    }
    case Op::Concat: {
      const int64_t was = made.a[0], d = s.random.below(rank_of(made));
      if (d == was) return kNoNode;
      s.what = fmt::format("along dimension {} instead of {}", d, was);
      return s.fit(s.b.concat(made.in, d));
    }
    case Op::Scan:
    case Op::Iota: {
      const int64_t was = made.a[0];
      made.a[0] = s.random.below(rank_of(made));
      if (made.a[0] == was) return kNoNode;
      s.what = fmt::format("along dimension {} instead of {}", made.a[0], was);
      return s.add(std::move(made));
    }
    case Op::Broadcast: {
      const size_t k = static_cast<size_t>(s.random.below(static_cast<int64_t>(made.a.size())));
      const int64_t was = made.a[k], d = s.random.below(rank_of(made));
      if (d == was) return kNoNode;
      made.a[k] = d;
      s.what = fmt::format("operand's dimension {} goes to {} instead of {}", k, d, was);
      return s.add(std::move(made));
    }
    case Op::Contract: {  // contracts another dimension of the same extent
      const int64_t y_rank = static_cast<int64_t>(s.b.shape(made.in[1]).size());
      const bool left = s.random.chance(0.5);
      const size_t k = 2 * static_cast<size_t>(s.random.below(static_cast<int64_t>(made.b.size() / 2))) + (left ? 0 : 1);
      const int64_t was = made.b[k], d = s.random.below(left ? x_rank : y_rank);
      for (const auto* list : {&made.a, &made.b})
        for (size_t i = left ? 0 : 1; i < list->size(); i += 2)
          if ((*list)[i] == d) return kNoNode;
      made.b[k] = d;
      s.what = fmt::format("contracts dimension {} of operand {} instead of {}", d, left ? 0 : 1, was);
      return s.add(std::move(made));
    }
    case Op::Reverse: {
      made.a = {s.random.below(rank_of(made))};
      if (made.a == s.node().a) return kNoNode;
      s.what = fmt::format("dimension {} reversed instead", made.a[0]);
      return s.add(std::move(made));
    }
    default: return kNoNode;
  }
}

// ---- transposed
bool fits_transpose(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return n.shape.size() > 1 && n.tuple.empty() && n.dtype != ir::DType::Token;
}
NodeId transpose(Site& s) {
  const Node& n = s.node();
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < rank_of(n); ++d) perm.push_back(d);
  const int64_t x = s.random.below(rank_of(n)), y = (x + 1 + s.random.below(rank_of(n) - 1)) % rank_of(n);
  const int64_t p = n.shape[static_cast<size_t>(x)], q = n.shape[static_cast<size_t>(y)];
  if (p < 2 || q < 2) return kNoNode;
  std::swap(perm[static_cast<size_t>(x)], perm[static_cast<size_t>(y)]);
  const NodeId value = s.add(s.copy());
  s.what = fmt::format("dimensions {} and {} transposed{}", x, y, p == q ? "" : " and read in the old shape");
  return s.fit(s.b.transpose(value, perm));
}

// ---- masks
bool fits_mask(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return n.op == Op::Iota || (n.op == Op::Map && n.dtype == ir::DType::Bool && n.fn >= Fn::Eq && n.fn <= Fn::Ge) ||
         (n.op == Op::Map && n.fn == Fn::Select);
}
NodeId mask(Site& s) {
  Node made = s.copy();
  if (made.op == Op::Iota) {
    const int64_t by = s.random.chance(0.5) || ir::is_unsigned_int(made.dtype) ? 1 : -1;
    const ir::DType t = made.dtype;
    s.what = fmt::format("positions counted from {} instead of 0", by);
    const NodeId x = s.add(std::move(made));
    return s.b.map(Fn::Add, {x, integer(s, by, t)}, t);
  }
  if (made.fn == Fn::Select) {
    s.what = "condition negated";
    made.in[0] = s.b.map(Fn::Not, {made.in[0]}, ir::DType::Bool);
    return s.add(std::move(made));
  }
  const Fn was = made.fn;
  std::vector<Fn> choices;
  switch (was) {
    case Fn::Lt: choices = {Fn::Le, Fn::Le, Fn::Gt}; break;
    case Fn::Le: choices = {Fn::Lt, Fn::Lt, Fn::Ge}; break;
    case Fn::Gt: choices = {Fn::Ge, Fn::Ge, Fn::Lt}; break;
    case Fn::Ge: choices = {Fn::Gt, Fn::Gt, Fn::Le}; break;
    case Fn::Eq: choices = {Fn::Ne, Fn::Ge, Fn::Le}; break;
    default: choices = {Fn::Eq, Fn::Gt, Fn::Lt}; break;
  }
  made.fn = s.random.of(choices);
  if (s.b.dtype(made.in[0]) == ir::DType::Bool) made.fn = was == Fn::Eq ? Fn::Ne : Fn::Eq;
  s.what = fmt::format("{} instead of {}", ir::name(made.fn), ir::name(was));
  return s.add(std::move(made));
}

// ---- indices
bool fits_index(const World&, const ir::Graph& g, NodeId id) { return g[id].op == Op::Take || g[id].op == Op::Scatter; }
NodeId index(Site& s) {
  Node made = s.copy();
  const size_t first = made.op == Op::Take ? 1 : 2;
  std::vector<std::pair<size_t, int64_t>> operands;  // place, extent that it indexes
  for (size_t d = 0; d < made.a.size(); ++d)
    if (made.a[d] < 0) operands.emplace_back(first + static_cast<size_t>(-made.a[d] - 1), s.b.shape(made.in[0])[d]);
  if (operands.empty()) return kNoNode;
  const auto [k, extent] = s.random.of(operands);
  const ir::DType t = s.b.dtype(made.in[k]);
  if (extent < 2) return kNoNode;
  NodeId moved = s.b.map(Fn::Add, {made.in[k], integer(s, 1, t)}, t);
  if (s.random.chance(0.5)) {
    s.what = fmt::format("index {} one further, around the end", k - first);
    if (ir::int_bits(t) < 63 && extent >= (int64_t{1} << (ir::int_bits(t) - 1))) return kNoNode;
    moved = s.b.map(Fn::Rem, {moved, integer(s, extent, t)}, t);
  } else {
    s.what = fmt::format("index {} one further", k - first);
  }
  made.in[k] = moved;
  return s.add(std::move(made));
}

// ---- direction of scans and sorts
bool fits_direction(const World&, const ir::Graph& g, NodeId id) { return g[id].op == Op::Scan || g[id].op == Op::Sort; }
NodeId direction(Site& s) {
  Node made = s.copy();
  const size_t k = made.op == Op::Sort ? 1 : static_cast<size_t>(1 + s.random.below(2));
  made.a[k] = 1 - made.a[k];
  s.what = k == 1 ? "other direction" : made.a[k] ? "exclusive instead of inclusive" : "inclusive instead of exclusive";
  return s.add(std::move(made));
}

// ---- one element or part moved
bool fits_rotate(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return !n.shape.empty() && n.tuple.empty() && n.dtype != ir::DType::Token && ir::num_elements(n.shape) > 1;
}
NodeId rotate(Site& s) {
  const Node& n = s.node();
  const int64_t d = s.random.below(rank_of(n)), extent = n.shape[static_cast<size_t>(d)];
  if (extent < 2) return kNoNode;
  const int64_t by = extent % 2 == 0 && s.random.chance(0.5) ? extent / 2 : 1;
  const NodeId x = s.add(s.copy());
  s.what = fmt::format("rotated by {} of {} in dimension {}", by, extent, d);
  return s.b.concat({s.b.slice_dim(x, d, by, extent), s.b.slice_dim(x, d, 0, by)}, d);
}

}  // namespace

const std::vector<Kind> kPositionKinds = {
    {"shifted-slice", fits_slice, slice}, {"wrong-axis", fits_axis, axis},     {"transposed", fits_transpose, transpose},
    {"off-by-one-mask", fits_mask, mask}, {"index-offset", fits_index, index}, {"wrong-direction", fits_direction, direction},
    {"rotated", fits_rotate, rotate},
};

}  // namespace shardproof::mutate
