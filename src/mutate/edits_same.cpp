// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// No mistakes: other ways to write the same, which should be proved. They tell how often a right program is left UNKNOWN.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "mutate/edits.h"

namespace shardproof::mutate {
namespace {

using ir::Fn;
using ir::kNoNode;
using ir::Node;
using ir::NodeId;
using ir::Op;

bool fits_rewrite(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return n.tuple.empty() && n.dtype != ir::DType::Token && n.op != Op::Uninit && n.op != Op::Random;
}

NodeId cut_and_joined(Site& s) {
  const Node& n = s.node();
  if (n.shape.empty()) return kNoNode;
  const int64_t d = s.random.below(static_cast<int64_t>(n.shape.size())), extent = n.shape[static_cast<size_t>(d)];
  if (extent < 2) return kNoNode;
  const int64_t at = 1 + s.random.below(extent - 1);
  const NodeId x = s.add(s.copy());
  s.what = fmt::format("cut at {} in dimension {} and joined again", at, d);
  return s.b.concat({s.b.slice_dim(x, d, 0, at), s.b.slice_dim(x, d, at, extent)}, d);
}

NodeId transposed_twice(Site& s) {
  const Node& n = s.node();
  if (n.shape.size() < 2) return kNoNode;
  std::vector<int64_t> perm(n.shape.size()), back(n.shape.size());
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t k = perm.size(); k-- > 1;) std::swap(perm[k], perm[static_cast<size_t>(s.random.below(static_cast<int64_t>(k + 1)))]);
  for (size_t k = 0; k < perm.size(); ++k) back[static_cast<size_t>(perm[k])] = static_cast<int64_t>(k);
  s.what = "transposed and back";
  return s.b.transpose(s.b.transpose(s.add(s.copy()), perm), back);
}

NodeId map(Site& s) {
  Node made = s.copy();
  const ir::DType t = made.dtype;
  switch (made.fn) {
    case Fn::Add:
    case Fn::Mul:
    case Fn::Max:
    case Fn::Min:
    case Fn::And:
    case Fn::Or:
      if (made.in.size() < 2) return kNoNode;
      std::reverse(made.in.begin(), made.in.end());
      s.what = "operands in another order";
      return s.add(std::move(made));
    case Fn::Sub:
      if (!ir::is_float(t)) return kNoNode;
      s.what = "plus the negative instead of minus";
      return s.b.map(Fn::Add, {made.in[0], s.b.unary(Fn::Neg, made.in[1])}, t);
    case Fn::Div: {
      if (!ir::is_float(t)) return kNoNode;
      s.what = "times the reciprocal instead of divided";
      const NodeId one = s.scalar(1, t);
      return s.b.map(Fn::Mul, {made.in[0], s.b.map(Fn::Div, {one, made.in[1]}, t)}, t);
    }
    case Fn::Select:
      std::swap(made.in[1], made.in[2]);
      made.in[0] = s.b.map(Fn::Not, {made.in[0]}, ir::DType::Bool);
      s.what = "condition negated and branches swapped";
      return s.add(std::move(made));
    case Fn::Lt:
    case Fn::Le:
    case Fn::Gt:
    case Fn::Ge:
      std::swap(made.in[0], made.in[1]);
      made.fn = made.fn == Fn::Lt ? Fn::Gt : made.fn == Fn::Gt ? Fn::Lt : made.fn == Fn::Le ? Fn::Ge : Fn::Le;
      s.what = "compared the other way round";
      return s.add(std::move(made));
    default: return kNoNode;
  }
}

// Sums and products in two halves.
NodeId halves(Site& s) {
  Node made = s.copy();
  if (made.op == Op::Reduce && !made.a.empty()) {
    const int64_t d = s.random.of(made.a), extent = s.b.shape(made.in[0])[static_cast<size_t>(d)];
    if (extent < 2) return kNoNode;
    const int64_t at = 1 + s.random.below(extent - 1);
    s.what = fmt::format("in two parts, cut at {} of dimension {}", at, d);
    const NodeId x = s.b.reduce(made.fn, s.b.slice_dim(made.in[0], d, 0, at), made.a),
                 y = s.b.reduce(made.fn, s.b.slice_dim(made.in[0], d, at, extent), made.a);
    return s.b.map(made.fn, {x, y}, made.dtype);
  }
  if (made.op != Op::Contract || made.b.empty()) return kNoNode;
  const int64_t p = made.b[0], q = made.b[1], extent = s.b.shape(made.in[0])[static_cast<size_t>(p)];
  if (extent < 2) return kNoNode;
  const int64_t at = 1 + s.random.below(extent - 1);
  s.what = fmt::format("in two parts, cut at {} of the contracted dimension", at);
  const auto part = [&](int64_t from, int64_t to) {
    return s.b.contract(s.b.slice_dim(made.in[0], p, from, to), s.b.slice_dim(made.in[1], q, from, to), made.a, made.b, made.dtype);
  };
  return s.b.map(Fn::Add, {part(0, at), part(at, extent)}, made.dtype);
}

NodeId communication(Site& s) {
  Node made = s.copy();
  const Node& n = s.node();
  if (n.op == Op::AllReduce && n.a[0] != 0 && n.group && n.group->size) {
    s.what = "sum divided by the size instead of an average";
    made.a[0] = 0;
    return s.b.map(Fn::Div, {s.add(std::move(made)), s.scalar(static_cast<double>(n.group->size), n.dtype)}, n.dtype);
  }
  if (n.op == Op::AllReduce && n.fn == Fn::Add && ir::is_float(n.dtype)) {
    s.what = "scaled by 2 before and by 1/2 after";
    const NodeId two = s.scalar(2, n.dtype), half = s.scalar(0.5, n.dtype);
    made.in[0] = s.b.map(Fn::Mul, {made.in[0], two}, n.dtype);
    return s.b.map(Fn::Mul, {s.add(std::move(made)), half}, n.dtype);
  }
  if (n.op == Op::AllGather || n.op == Op::Permute || n.op == Op::AllToAll || n.op == Op::BroadcastFrom) {
    if (!ir::is_float(n.dtype)) return kNoNode;
    s.what = "the negative is sent, and negated after";
    made.in[0] = s.b.unary(Fn::Neg, made.in[0]);
    return s.b.unary(Fn::Neg, s.add(std::move(made)));
  }
  return kNoNode;
}

NodeId rewrite(Site& s) {
  const Op op = s.node().op;
  if (s.random.chance(0.7)) {
    if (op == Op::Map) return map(s);
    if (op == Op::Reduce || op == Op::Contract) return halves(s);
    if (is_collective(op)) return communication(s);
  }
  return s.random.chance(0.5) ? cut_and_joined(s) : transposed_twice(s);
}

}  // namespace

const std::vector<Kind> kSameKinds = {{"rewritten", fits_rewrite, rewrite}};

}  // namespace shardproof::mutate
