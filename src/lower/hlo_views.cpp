// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Constants, views (broadcast, reshape, transpose, slices, padding, concatenation), dynamic slices, bitcasts and dot products of XLA
// programs.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using ir::DType;
using ir::NodeId;
using ir::Shape;

namespace {

constexpr int64_t kMaxConstant = int64_t{1} << 26;
constexpr int64_t kMaxPadding = int64_t{1} << 40;

std::vector<int64_t> count(size_t n) {
  std::vector<int64_t> out(n);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

// --- views of constants stay constants

// A small table under a new shape, with element k taken from place from(k): rotation amounts, offsets per partition.
template <typename From>
NodeId HloLowering::rearranged(NodeId x, Shape s, From from) {
  const auto values = b.g[x].dense;
  const DType t = b.dtype(x);
  std::vector<ir::Literal> out;
  const int64_t n = ir::num_elements(s);
  for (int64_t k = 0; k < n; ++k) out.push_back((*values)[static_cast<size_t>(from(k))]);
  if (n > 0 && std::all_of(out.begin(), out.end(), [&](const ir::Literal& v) { return v == out[0]; }))
    return b.constant(out[0], t, std::move(s));
  return b.dense(t, std::move(s), std::move(out));
}

bool HloLowering::small_table(NodeId x) const { return b.g[x].op == ir::Op::Dense && b.g[x].dense->size() <= 4096; }

NodeId HloLowering::reshape(NodeId x, Shape s) {
  if (small_table(x) && ir::num_elements(s) == ir::num_elements(b.shape(x)))
    return rearranged(x, std::move(s), [](int64_t k) { return k; });
  if (const ir::Literal* v = literal(x); v && ir::num_elements(s) == ir::num_elements(b.shape(x)))
    return b.constant(*v, b.dtype(x), std::move(s));
  return b.reshape(x, std::move(s));
}

NodeId HloLowering::transpose(NodeId x, std::vector<int64_t> perm) {
  if (const ir::Literal* v = literal(x)) {
    Shape s;
    for (int64_t d : perm) s.push_back(b.shape(x)[d]);
    return b.constant(*v, b.dtype(x), std::move(s));
  }
  return b.transpose(x, std::move(perm));
}

NodeId HloLowering::broadcast(NodeId x, Shape s, std::vector<int64_t> dims) {
  if (const ir::Literal* v = literal(x)) return b.constant(*v, b.dtype(x), std::move(s));
  if (!std::is_sorted(dims.begin(), dims.end())) {
    std::vector<int64_t> perm = count(dims.size());
    std::sort(perm.begin(), perm.end(), [&](int64_t i, int64_t j) { return dims[i] < dims[j]; });
    x = b.transpose(x, perm);
    std::sort(dims.begin(), dims.end());
  }
  return b.broadcast(x, std::move(s), std::move(dims));
}

NodeId HloLowering::slice(NodeId x, std::vector<int64_t> start, std::vector<int64_t> stop, std::vector<int64_t> step) {
  if (small_table(x)) {
    const Shape whole = b.shape(x);
    Shape s;
    bool valid = start.size() == whole.size() && stop.size() == whole.size() && step.size() == whole.size();
    for (size_t d = 0; valid && d < whole.size(); ++d) {
      valid = 0 <= start[d] && start[d] < stop[d] && stop[d] <= whole[d] && step[d] > 0;
      if (valid) s.push_back((stop[d] - start[d] - 1) / step[d] + 1);
    }
    if (valid) {
      return rearranged(x, s, [&](int64_t k) {
        int64_t at = 0, unit = 1;
        for (size_t d = whole.size(); d-- > 0;) {
          at += (start[d] + k % s[d] * step[d]) * unit;
          unit *= whole[d];
          k /= s[d];
        }
        return at;
      });
    }
  }
  const NodeId out = b.slice(x, std::move(start), std::move(stop), std::move(step));
  if (out == x || !literal(x)) return out;
  Shape s = b.shape(out);
  return b.constant(*literal(x), b.dtype(x), std::move(s));
}

NodeId HloLowering::slice_dim(NodeId x, int64_t dim, int64_t start, int64_t stop) {
  std::vector<int64_t> from(b.shape(x).size(), 0), to = b.shape(x), by(b.shape(x).size(), 1);
  from[dim] = start;
  to[dim] = stop;
  return slice(x, std::move(from), std::move(to), std::move(by));
}

NodeId HloLowering::dynamic_slice(NodeId x, std::vector<NodeId> starts, std::vector<int64_t> sizes) {
  std::vector<int64_t> from, to;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t room = b.shape(x)[d] - sizes[d];
    std::optional<int64_t> start = room == 0 ? 0 : integer_value(starts[d]);
    if (!start) return literal(x) ? b.constant(*literal(x), b.dtype(x), sizes) : b.dynamic_slice(x, std::move(starts), std::move(sizes));
    if (*start < 0 && b.dtype(starts[d]) == DType::U64) start = room;
    from.push_back(std::clamp<int64_t>(*start, 0, room));
    to.push_back(from.back() + sizes[d]);
  }
  return slice(x, std::move(from), std::move(to), std::vector<int64_t>(sizes.size(), 1));
}

NodeId HloLowering::dynamic_update(NodeId x, NodeId update, std::vector<NodeId> starts) {
  return b.dynamic_update(x, update, std::move(starts));
}

// --- handlers

Value HloLowering::constant(const Call& c) {
  const hlo::Type& t = result_type(c);
  if (c.ins.type.dtype == DType::Token) return {};
  const int64_t n = ir::num_elements(t.shape);
  std::shared_ptr<const std::vector<ir::Literal>> values = c.ins.literal;
  if (!values) {
    if (auto given = constants_.constant(c.ins.name, t.dtype, t.shape))
      values = std::make_shared<const std::vector<ir::Literal>>(std::move(*given));
  }
  if (!values) {
    if (n == 0) return Value::of(b.constant(*literal(zero(t.dtype)), t.dtype, t.shape));
    refuse("SP242",
           "its value was left out when the program was printed: print large constants (--xla_dump_large_constants, "
           "print_large_constants) or give it under `constants` in the manifest");
  }
  if (n == 0) return Value::of(b.constant(*literal(zero(t.dtype)), t.dtype, t.shape));
  const auto bits = [](const ir::Literal& x, const ir::Literal& y) {  // NaN equals NaN here
    return x == y || (x.kind == y.kind && x.kind == ir::Literal::Kind::Float && x.d != x.d && y.d != y.d && x.format == y.format);
  };
  if (values->size() != 1 && static_cast<int64_t>(values->size()) != n) {
    malformed(fmt::format("has {} values for {} elements", values->size(), n));
  }
  const ir::Literal& first = values->front();
  if (std::all_of(values->begin(), values->end(), [&](const ir::Literal& v) { return bits(v, first); })) {
    return Value::of(b.constant(first, t.dtype, t.shape));
  }
  if (n > kMaxConstant) throw Unsupported{"a constant of more than 2^26 elements"};
  return Value::of(b.dense(t.dtype, t.shape, *values));
}

Value HloLowering::iota(const Call& c) {
  const hlo::Type& t = result_type(c);
  need(c.ins.dimensions.size() == 1, "needs one iota dimension");
  const int64_t d = c.ins.dimensions[0];
  need(d >= 0 && d < static_cast<int64_t>(t.shape.size()), "has an iota dimension out of range");
  if (t.shape[d] == 1 && (ir::is_int(t.dtype) || ir::is_float(t.dtype))) return Value::of(broadcast(zero(t.dtype), t.shape, {}));
  if (ir::is_complex(t.dtype)) throw Unsupported{"complex iota"};
  return Value::of(b.iota(t.dtype, t.shape, d));
}

Value HloLowering::broadcast_op(const Call& c) {
  const NodeId x = node(c, 0);
  const hlo::Type& t = result_type(c);
  need(c.ins.dimensions.size() == b.shape(x).size(), "has a number of dimensions that differs from its operand's rank");
  need_dims(c.ins.dimensions, static_cast<int64_t>(t.shape.size()), "broadcast dimensions");
  for (size_t d = 0; d < b.shape(x).size(); ++d) {
    const int64_t extent = b.shape(x)[d];
    need(extent == t.shape[c.ins.dimensions[d]] || extent == 1, "has an operand whose extents do not fit the result");
  }
  return Value::of(broadcast(x, t.shape, c.ins.dimensions));
}

Value HloLowering::reshape_op(const Call& c) {
  const NodeId x = node(c, 0);
  need(ir::num_elements(b.shape(x)) == ir::num_elements(result_type(c).shape), "changes the number of elements");
  return Value::of(reshape(x, c.ins.type.shape));
}

Value HloLowering::transpose_op(const Call& c) {
  const NodeId x = node(c, 0);
  need(c.ins.dimensions.size() == b.shape(x).size(), "has a permutation of another rank");
  need_dims(c.ins.dimensions, b.rank(x), "permutation");
  return Value::of(transpose(x, c.ins.dimensions));
}

// The same bytes under another shape and layout. Elements in memory order are the operand transposed by its layout; the result's logical
// order follows from its own layout the other way round.
Value HloLowering::bitcast(const Call& c) {
  const NodeId x = node(c, 0);
  const hlo::Type& to = result_type(c);
  need(!c.ins.operands.empty(), "has no operand");
  if (to.tiled || mapped_) throw Unsupported{"bitcast between tiled layouts"};
  // The operand's layout is that of the instruction that made it, in the same computation.
  const hlo::Type* from = operand_type(c, 0);
  if (!from || from->tiled) throw Unsupported{"bitcast between tiled layouts"};
  if (from->dtype != to.dtype) throw Unsupported{"bitcast to another element type"};
  if (ir::num_elements(from->shape) != ir::num_elements(to.shape)) throw Unsupported{"bitcast to another number of elements"};
  const auto memory_order = [&](const hlo::Type& t) {
    std::vector<int64_t> perm = count(t.shape.size());
    if (t.layout.empty()) return perm;
    need(t.layout.size() == t.shape.size(), "has a layout of another rank");
    need_dims(t.layout, static_cast<int64_t>(t.shape.size()), "layout");
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = t.layout[perm.size() - 1 - k];
    return perm;
  };
  const std::vector<int64_t> order_in = memory_order(*from), order_out = memory_order(to);
  if (from->shape == to.shape && order_in == order_out) return Value::of(x);
  Shape memory_shape;
  std::vector<int64_t> back(order_out.size());
  for (size_t k = 0; k < order_out.size(); ++k) {
    memory_shape.push_back(to.shape[order_out[k]]);
    back[order_out[k]] = static_cast<int64_t>(k);
  }
  return Value::of(transpose(reshape(transpose(x, order_in), memory_shape), back));
}

Value HloLowering::identity(const Call& c) {
  need(!c.in.empty(), "has no operand");
  // An optimisation barrier of several operands gives a tuple of them.
  if (c.in.size() > 1 && c.ins.type.tuple) return Value::of(std::vector<Value>(c.in.begin(), c.in.end()));
  return c.in[0];
}

Value HloLowering::slice_op(const Call& c) {
  const NodeId x = node(c, 0);
  const size_t r = b.shape(x).size();
  std::vector<int64_t> step = c.ins.slice_stride;
  if (step.empty()) step.assign(r, 1);
  need(c.ins.slice_start.size() == r && c.ins.slice_limit.size() == r && step.size() == r, "has bounds of another rank");
  for (size_t d = 0; d < r; ++d) {
    need(0 <= c.ins.slice_start[d] && c.ins.slice_start[d] <= c.ins.slice_limit[d] && c.ins.slice_limit[d] <= b.shape(x)[d] && step[d] > 0,
         "has bounds out of range");
  }
  return Value::of(slice(x, c.ins.slice_start, c.ins.slice_limit, step));
}

Value HloLowering::pad(const Call& c) {
  const NodeId x = node(c, 0), value = node(c, 1);
  const size_t r = b.shape(x).size();
  std::vector<int64_t> interior = c.ins.pad_interior;
  if (interior.empty()) interior.assign(r, 0);
  need(c.ins.pad_low.size() == r && c.ins.pad_high.size() == r && interior.size() == r, "has padding of another rank");
  for (const auto* list : {&c.ins.pad_low, &c.ins.pad_high, &std::as_const(interior)}) {
    for (int64_t v : *list) need(v < kMaxPadding && v > -kMaxPadding, "has padding out of range");
  }
  const ir::Literal *v = literal(x), *w = literal(value);
  if (v && w && *v == *w) return Value::of(b.constant(*v, b.dtype(x), result_type(c).shape));
  return Value::of(b.pad(x, value, c.ins.pad_low, c.ins.pad_high, interior));
}

Value HloLowering::concatenate(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty() && c.ins.dimensions.size() == 1, "needs operands and one dimension");
  need_dims(c.ins.dimensions, b.rank(xs[0]), "dimension");
  const bool constant = std::all_of(xs.begin(), xs.end(), [&](NodeId x) { return literal(x) && *literal(x) == *literal(xs[0]); });
  if (constant && xs.size() > 1) return Value::of(b.constant(*literal(xs[0]), b.dtype(xs[0]), result_type(c).shape));
  return Value::of(b.concat(xs, c.ins.dimensions[0]));
}

Value HloLowering::reverse(const Call& c) {
  const NodeId x = node(c, 0);
  need_dims(c.ins.dimensions, b.rank(x), "reversed dimensions");
  return Value::of(literal(x) ? x : b.reverse(x, c.ins.dimensions));
}

Value HloLowering::dynamic_slice_op(const Call& c) {
  const NodeId x = node(c, 0);
  const size_t r = b.shape(x).size();
  std::vector<NodeId> starts;
  if (c.in.size() == 2 && b.shape(node(c, 1)).size() == 1 && r != 0) {  // old form: one vector of starts
    need(b.shape(node(c, 1))[0] == static_cast<int64_t>(r), "has a number of starts that differs from the rank");
    for (size_t d = 0; d < r; ++d)
      starts.push_back(reshape(slice_dim(node(c, 1), 0, static_cast<int64_t>(d), static_cast<int64_t>(d) + 1), {}));
  } else {
    need(c.in.size() == r + 1, "has a number of starts that differs from the rank");
    for (size_t d = 0; d < r; ++d) starts.push_back(node(c, d + 1));
  }
  need(c.ins.dynamic_slice_sizes.size() == r, "has sizes of another rank");
  for (size_t d = 0; d < r; ++d) {
    need(c.ins.dynamic_slice_sizes[d] >= 0 && c.ins.dynamic_slice_sizes[d] <= b.shape(x)[d], "has sizes out of range");
    need(b.shape(starts[d]).empty() && ir::is_int(b.dtype(starts[d])), "has a start that is not an integer scalar");
  }
  return Value::of(dynamic_slice(x, std::move(starts), c.ins.dynamic_slice_sizes));
}

Value HloLowering::dynamic_update_op(const Call& c) {
  const NodeId x = node(c, 0), update = node(c, 1);
  const size_t r = b.shape(x).size();
  std::vector<NodeId> starts;
  if (c.in.size() == 3 && b.shape(node(c, 2)).size() == 1 && r != 0) {
    need(b.shape(node(c, 2))[0] == static_cast<int64_t>(r), "has a number of starts that differs from the rank");
    for (size_t d = 0; d < r; ++d)
      starts.push_back(reshape(slice_dim(node(c, 2), 0, static_cast<int64_t>(d), static_cast<int64_t>(d) + 1), {}));
  } else {
    need(c.in.size() == r + 2, "has a number of starts that differs from the rank");
    for (size_t d = 0; d < r; ++d) starts.push_back(node(c, d + 2));
  }
  need(b.shape(update).size() == r, "has an update of another rank");
  return Value::of(dynamic_update(x, update, std::move(starts)));
}

// StableHLO's forms whose attributes are operands: the declared result is static, so it says what they are, or they are constants.
Value HloLowering::dynamic_form(const Call& c) {
  const std::string opcode = normal_opcode(c.ins.opcode);
  const hlo::Type& t = result_type(c);
  if (opcode == "dynamic-reshape") return Value::of(reshape(node(c, 0), t.shape));
  if (opcode == "dynamic-iota") return iota(c);
  if (opcode == "dynamic-broadcast-in-dim") {
    const Call same{c.ins, c.in.subspan(0, 1), c.parent};
    return broadcast_op(same);
  }
  if (opcode == "get-dimension-size") {
    need(c.ins.dimensions.size() == 1, "needs one dimension");
    need_dims(c.ins.dimensions, b.rank(node(c, 0)), "dimension");
    return Value::of(integer(b.shape(node(c, 0))[c.ins.dimensions[0]], t.dtype));
  }
  std::vector<std::vector<int64_t>> lists;  // the operands from `first` on, as constants
  const auto read = [&](size_t first) {
    for (size_t k = first; k < c.in.size(); ++k) {
      const ir::Node& n = b.g[node(c, k)];
      lists.emplace_back();
      if (n.op == ir::Op::Const && ir::is_int(n.dtype))
        lists.back().assign(static_cast<size_t>(ir::num_elements(n.shape)), n.lit.i);
      else if (n.op == ir::Op::Dense && ir::is_int(n.dtype))
        for (const ir::Literal& v : *n.dense) lists.back().push_back(v.i);
      else
        throw Unsupported{opcode + " by values that are not constant"};
      need(lists.back().size() == b.shape(node(c, 0)).size(), "has lists of another rank");
    }
  };
  if (opcode == "dynamic-pad") {
    read(2);
    need(lists.size() == 3, "needs an operand, a value and three lists");
    for (const auto& list : lists) {
      for (int64_t v : list) need(v < kMaxPadding && v > -kMaxPadding, "has padding out of range");
    }
    return Value::of(b.pad(node(c, 0), node(c, 1), lists[0], lists[1], lists[2]));
  }
  if (opcode == "real-dynamic-slice") {
    read(1);
    need(lists.size() == 3, "needs an operand and three lists");
    for (size_t d = 0; d < lists[0].size(); ++d) {
      need(0 <= lists[0][d] && lists[0][d] <= lists[1][d] && lists[1][d] <= b.shape(node(c, 0))[d] && lists[2][d] > 0,
           "has bounds out of range");
    }
    return Value::of(slice(node(c, 0), lists[0], lists[1], lists[2]));
  }
  throw Unsupported{opcode + " is not supported"};
}

Value HloLowering::dot(const Call& c) {
  NodeId x = node(c, 0), y = node(c, 1);
  const hlo::Type& t = result_type(c);
  need(c.in.size() == 2 || c.in.size() > 2, "needs two operands");
  if (c.in.size() > 2) throw Unsupported{"sparse dot"};
  std::vector<int64_t> lhs = c.ins.lhs_contract, rhs = c.ins.rhs_contract;
  need(lhs.size() == rhs.size() && c.ins.lhs_batch.size() == c.ins.rhs_batch.size(), "pairs different numbers of dimensions");
  if (lhs.empty() && c.ins.lhs_batch.empty() && b.rank(x) > 0 && b.rank(y) > 0 && b.shape(x).size() + b.shape(y).size() > t.shape.size()) {
    lhs = {b.rank(x) - 1};  // the old `dot` without attributes: a matrix product
    rhs = {0};
  }
  std::vector<int64_t> all_left = c.ins.lhs_batch, all_right = c.ins.rhs_batch;
  all_left.insert(all_left.end(), lhs.begin(), lhs.end());
  all_right.insert(all_right.end(), rhs.begin(), rhs.end());
  need_dims(all_left, b.rank(x), "dimensions of the left operand");
  need_dims(all_right, b.rank(y), "dimensions of the right operand");
  std::vector<int64_t> batch, contract;
  for (size_t k = 0; k < c.ins.lhs_batch.size(); ++k) batch.insert(batch.end(), {c.ins.lhs_batch[k], c.ins.rhs_batch[k]});
  for (size_t k = 0; k < lhs.size(); ++k) contract.insert(contract.end(), {lhs[k], rhs[k]});
  // The products are taken in the result's type: 8-bit integers must not wrap before they are added.
  x = convert(x, t.dtype);
  y = convert(y, t.dtype);
  return Value::of(b.contract(x, y, batch, contract, t.dtype));
}

}  // namespace shardproof::lower
