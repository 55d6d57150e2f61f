// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reductions, arg-reductions, sorts, top-k, mapped regions, random draws and batch normalisation of XLA programs.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using ir::DType;
using ir::Fn;
using ir::NodeId;
using ir::Shape;

// reduce(x_0 .. x_n-1, init_0 .. init_n-1)
Value HloLowering::reduce(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty() && xs.size() % 2 == 0, "needs as many initial values as operands");
  const size_t n = xs.size() / 2;
  const uint32_t region = called(c, 0);
  for (size_t k = 0; k < n; ++k) {
    need(b.shape(xs[k]) == b.shape(xs[0]), "reduces operands of different shapes");
    need(b.shape(xs[n + k]).empty() && b.dtype(xs[n + k]) == b.dtype(xs[k]),
         "has an initial value that is not a scalar of its operand's type");
  }
  need_dims(c.ins.dimensions, b.rank(xs[0]), "reduced dimensions");
  if (n == 2) {
    if (const auto out = arg_reduce(c)) return *out;
  }
  std::vector<Value> out;
  for (size_t k = 0; k < n; ++k) {
    const Fn fn = need_reduction(c, region, k, n);
    out.push_back(Value::of(with_init(fn, b.reduce(fn, xs[k], c.ins.dimensions), xs[n + k])));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

// Does x hold 0, 1, 2 ... along dim, whatever the other positions?
bool HloLowering::counts_along(NodeId x, int64_t dim) const {
  while (true) {
    const ir::Node& n = b.g[x];
    if (n.shape[dim] == 1 && integer_value(x) == 0) return true;
    if (n.op == ir::Op::Iota) return n.a[0] == dim;
    if (n.op == ir::Op::Map && n.fn == Fn::Convert && ir::is_int(n.dtype) && ir::is_int(b.dtype(n.in[0]))) {
      if (n.shape[dim] > 127) return false;  // must not wrap
      x = n.in[0];
    } else if (n.op == ir::Op::Broadcast) {
      const auto it = std::find(n.a.begin(), n.a.end(), dim);
      if (it == n.a.end()) return false;
      const int64_t from = it - n.a.begin();
      if (b.shape(n.in[0])[from] != n.shape[dim]) return false;
      x = n.in[0];
      dim = from;
    } else {
      return false;
    }
  }
}

// A reduction of pairs (value, index) that keeps the extreme value and the index of it.
std::optional<Value> HloLowering::arg_reduce(const Call& c) {
  const auto how = arg_combiner(called(c, 0));
  if (!how || c.ins.dimensions.size() != 1) return std::nullopt;
  const int64_t dim = c.ins.dimensions[0];
  const NodeId value = node(c, 0), index = node(c, 1), value_init = node(c, 2), index_init = node(c, 3);
  const DType t = b.dtype(index);
  if (!ir::is_int(t) || b.shape(value)[dim] == 0) return std::nullopt;
  const NodeId best = b.reduce(how->fn, value, {dim});
  const NodeId best_with_init = with_init(how->fn, best, value_init);
  const auto first_index = integer_value(index_init);
  if (neutral(how->fn, value_init) && first_index && *first_index >= 0 && counts_along(index, dim)) {
    if (how->tie == ArgCombiner::Tie::First)
      program_.notes.push_back(fmt::format("%{}: equal values are taken in order of position", c.ins.name));
    return Value::of({Value::of(best_with_init), Value::of(b.arg_reduce(how->fn, value, dim, t))});
  }
  if (how->tie != ArgCombiner::Tie::LowerIndex) return std::nullopt;
  // Any index operand: the least index among those whose value is the extreme, the initial pair included.
  std::vector<int64_t> kept(b.shape(value).size());
  std::iota(kept.begin(), kept.end(), 0);
  kept.erase(kept.begin() + dim);
  const NodeId none = extreme(false, t);
  const NodeId is_best = map(Fn::Eq, {value, broadcast(best_with_init, b.shape(value), kept)}, DType::Bool);
  const NodeId least = b.reduce(Fn::Min, map(Fn::Select, {is_best, index, none}, t), {dim});
  const NodeId initial = map(Fn::Select, {map(Fn::Eq, {best_with_init, value_init}, DType::Bool), index_init, none}, t);
  return Value::of({Value::of(best_with_init), Value::of(map(Fn::Min, {least, initial}, t))});
}

Value HloLowering::sort(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty(), "has no operands");
  for (NodeId x : xs) need(b.shape(x) == b.shape(xs[0]), "sorts operands of different shapes");
  int64_t dim = c.ins.dimensions.empty() ? b.rank(xs[0]) - 1 : c.ins.dimensions[0];
  if (dim < 0) dim += b.rank(xs[0]);
  need(dim >= 0 && dim < b.rank(xs[0]), "sorts along a dimension out of range");
  const auto keys = sort_keys(called(c, 0), xs.size());
  if (!keys) throw Unsupported{"its comparator is no plain order of one or two operands"};
  // By the least important key first; the later sorts are stable.
  std::vector<NodeId> current = xs;
  for (size_t k = keys->size(); k-- > 0;) {
    const SortKey& key = (*keys)[k];
    std::vector<NodeId> operands = current;
    std::swap(operands[0], operands[key.operand]);
    const bool stable = c.ins.is_stable || k + 1 < keys->size();
    current = b.sort(std::move(operands), dim, key.descending, stable);
    std::swap(current[0], current[key.operand]);
  }
  if (!c.ins.type.tuple) return Value::of(current[0]);
  std::vector<Value> out;
  for (NodeId x : current) out.push_back(Value::of(x));
  return Value::of(std::move(out));
}

// The k largest (or smallest) along the last dimension, and where they were.
Value HloLowering::top_k(const Call& c) {
  const NodeId x = node(c, 0);
  need(c.ins.type.tuple && c.ins.type.elements.size() == 2 && b.rank(x) > 0, "should give values and indices");
  const int64_t dim = b.rank(x) - 1;
  const Shape& s = c.ins.type.elements[0].shape;
  need(s.size() == b.shape(x).size() && s[dim] <= b.shape(x)[dim], "gives more values than there are");
  const DType t = c.ins.type.elements[1].dtype;
  need(ir::is_int(t), "should give integer indices");
  const std::string_view largest = other_attribute(c.ins, "largest");
  const NodeId position = b.iota(t, b.shape(x), dim);
  std::vector<NodeId> sorted = b.sort({x, position}, dim, largest != "false", true);
  program_.notes.push_back(fmt::format("%{}: of equal values the one at the lower index comes first", c.ins.name));
  return Value::of({Value::of(slice_dim(sorted[0], dim, 0, s[dim])), Value::of(slice_dim(sorted[1], dim, 0, s[dim]))});
}

// A scalar region applied to every element: its element-wise operators are applied to the whole tensors.
Value HloLowering::map_op(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty(), "has no operands");
  const hlo::Computation& region = computation(called(c, 0));
  static const std::vector<std::string> other{"parameter", "constant", "compare", "select",          "clamp",
                                              "convert",   "tuple",    "copy",    "reduce-precision"};
  for (const hlo::Instruction& ins : region.instructions) {
    const std::string opcode = normal_opcode(ins.opcode);
    const Handler handler = find_handler(opcode);
    if (handler != &HloLowering::elementwise && std::find(other.begin(), other.end(), opcode) == other.end()) {
      throw Unsupported{fmt::format("its region uses {}", opcode)};
    }
  }
  const bool before = mapped_;
  mapped_ = true;
  Value out;
  try {
    out = evaluate(called(c, 0), c.in);
  } catch (...) {
    mapped_ = before;
    throw;
  }
  mapped_ = before;
  if (out.node == ir::kNoNode) throw Unsupported{"its region gives a tuple"};
  const Shape& s = result_type(c).shape;
  return b.shape(out.node) == s ? out : Value::of(broadcast(out.node, s, {}));
}

Value HloLowering::rng(const Call& c) {
  const NodeId p = node(c, 0), q = node(c, 1);
  const hlo::Type& t = result_type(c);
  std::string kind = c.ins.distribution;
  std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
  const bool uniform = kind == "rng_uniform" || kind == "uniform", normal = kind == "rng_normal" || kind == "normal";
  if ((!uniform && !normal) || !ir::is_float(t.dtype)) throw Unsupported{"draws of this distribution"};
  const NodeId draw = b.random(uniform ? "uniform" : "normal", ir::Literal::real(0, t.dtype), t.dtype, t.shape, draws_++);
  // uniform: low + u * (high - low); normal: mean + z * deviation
  const NodeId scale = uniform ? map(Fn::Sub, {q, p}, t.dtype) : q;
  return Value::of(map(Fn::Add, {map(Fn::Mul, {draw, scale}, t.dtype), p}, t.dtype));
}

// Batch normalisation by its definition; the feature dimension is in `dimensions`, or among the attributes kept verbatim.
Value HloLowering::batch_norm(const Call& c) {
  const std::string opcode = normal_opcode(c.ins.opcode);
  const NodeId x = node(c, 0);
  const DType t = b.dtype(x);
  const auto number = [&](std::string_view key) -> std::optional<double> {
    std::string text(other_attribute(c.ins, key));
    if (text.empty()) return std::nullopt;
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    return end == text.c_str() ? std::nullopt : std::optional(v);
  };
  std::optional<double> feature =
      c.ins.dimensions.size() == 1 ? std::optional(static_cast<double>(c.ins.dimensions[0])) : number("feature_index");
  const auto epsilon = number("epsilon");
  if (!feature || !epsilon || !ir::is_float(t)) throw Unsupported{"batch normalisation whose feature dimension or epsilon is not stated"};
  const int64_t f = static_cast<int64_t>(*feature);
  need(f >= 0 && f < b.rank(x), "has a feature dimension out of range");
  std::vector<int64_t> others;
  double count = 1;
  for (int64_t d = 0; d < b.rank(x); ++d) {
    if (d == f) continue;
    others.push_back(d);
    count *= static_cast<double>(b.shape(x)[d]);
  }
  const Shape s = b.shape(x);
  const auto spread = [&](NodeId v) {
    need(b.rank(v) == 1 && b.shape(v)[0] == s[f], "has a statistic that is not one number per feature");
    return broadcast(v, s, {f});
  };
  const auto bin = [&](Fn fn, NodeId l, NodeId r) { return map(fn, {l, r}, t); };
  const NodeId n = b.constant(ir::Literal::real(count), t), eps = b.constant(ir::Literal::real(*epsilon, DType::F32), t);
  const auto mean_of = [&](NodeId v) { return bin(Fn::Div, b.reduce(Fn::Add, v, others), n); };
  const auto normalised = [&](NodeId mean, NodeId variance) {
    return bin(Fn::Div, bin(Fn::Sub, x, spread(mean)), spread(map(Fn::Sqrt, {bin(Fn::Add, variance, eps)}, t)));
  };
  if (opcode == "batch-norm-inference") {
    return Value::of(bin(Fn::Add, bin(Fn::Mul, normalised(node(c, 3), node(c, 4)), spread(node(c, 1))), spread(node(c, 2))));
  }
  if (opcode == "batch-norm-training") {
    const NodeId mean = mean_of(x), centred = bin(Fn::Sub, x, spread(mean)), variance = mean_of(bin(Fn::Mul, centred, centred));
    const NodeId out = bin(Fn::Add, bin(Fn::Mul, normalised(mean, variance), spread(node(c, 1))), spread(node(c, 2)));
    return Value::of({Value::of(out), Value::of(mean), Value::of(variance)});
  }
  // Gradient: operands x, scale, mean, variance, dy.
  const NodeId scale = node(c, 1), mean = node(c, 2), variance = node(c, 3), dy = node(c, 4);
  const NodeId root = map(Fn::Sqrt, {bin(Fn::Add, variance, eps)}, t);
  const NodeId centred = bin(Fn::Sub, x, spread(mean));
  const NodeId d_scale = b.reduce(Fn::Add, bin(Fn::Mul, dy, bin(Fn::Div, centred, spread(root))), others);
  const NodeId d_offset = b.reduce(Fn::Add, dy, others);
  const NodeId sum = b.reduce(Fn::Add, bin(Fn::Mul, dy, centred), others);
  const NodeId along = bin(Fn::Div, bin(Fn::Mul, centred, spread(sum)), spread(bin(Fn::Add, variance, eps)));
  const NodeId inner = bin(Fn::Sub, bin(Fn::Sub, bin(Fn::Mul, dy, n), spread(d_offset)), along);
  const NodeId dx = bin(Fn::Mul, bin(Fn::Div, spread(bin(Fn::Div, scale, root)), n), inner);
  return Value::of({Value::of(dx), Value::of(d_scale), Value::of(d_offset)});
}

}  // namespace shardproof::lower
