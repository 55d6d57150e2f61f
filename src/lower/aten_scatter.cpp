// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Writing by index: index_put, scatter, index_add, index_copy and friends, as functions of the old contents.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_indexing.h"

namespace shardproof::lower::aten {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

// index_put(self, [.., mask, ..], values) where values do not differ over the masked elements: where(mask, values, self).
std::optional<NodeId> masked_put(Call& c, NodeId x) {
  const std::vector<Value>& items = c.args[1].items;
  int64_t at_dim = -1;
  NodeId mask = ir::kNoNode;
  for (size_t d = 0; d < items.size(); ++d) {
    if (items[d].is(Value::Kind::None)) continue;
    const NodeId i = c.node(items[d]);
    if (c.b.dtype(i) != DType::Bool) return std::nullopt;
    if (at_dim >= 0) unsupported("several boolean masks");
    at_dim = static_cast<int64_t>(d);
    mask = i;
  }
  if (at_dim < 0) return std::nullopt;
  const Shape s = c.shape(x), sm = c.shape(mask);
  if (at(at_dim) + sm.size() > s.size() || !std::equal(sm.begin(), sm.end(), s.begin() + at_dim))
    malformed("the mask's shape does not fit");
  NodeId v = c.to(c.t(2), c.b.dtype(x));
  // Values have shape [before.., masked elements, after..] up to broadcasting; only a single value along `masked elements` is a `where`.
  const int64_t after = static_cast<int64_t>(s.size()) - at_dim - static_cast<int64_t>(sm.size());
  Shape sv = c.shape(v);
  if (static_cast<int64_t>(sv.size()) > after) {
    const size_t masked = sv.size() - 1 - at(after);
    if (sv[masked] != 1) unsupported("index_put by a boolean mask with a value for each element");
    if (masked > at(at_dim)) malformed("the values' shape does not fit");
    // [before.., 1, after..] -> [before.., 1 x mask's dims, after..]
    sv.insert(sv.begin() + static_cast<int64_t>(masked), sm.empty() ? 0 : sm.size() - 1, 1);
    if (sm.empty()) sv.erase(sv.begin() + static_cast<int64_t>(masked));
    v = c.b.reshape(v, sv);
  }
  Shape wide(s.size(), 1);
  std::copy(sm.begin(), sm.end(), wide.begin() + at_dim);
  const NodeId full = c.expand(c.b.reshape(mask, wide), s);
  v = c.expand(v, s);
  if (c.flag(3)) return c.add(x, c.where(full, v, c.num(0, c.b.dtype(x))));
  return c.where(full, v, x);
}

Value index_put(Call& c) {  // self indices values accumulate
  const NodeId x = c.t(0);
  if (!c.args[1].is(Value::Kind::List)) malformed("a list of indices was expected");
  if (const auto y = masked_put(c, x)) return c.out(*y);
  const AdvancedIndex a = advanced_index(c, x, 1);
  const NodeId v = c.expand(c.to(c.t(2), c.b.dtype(x)), a.result);
  return c.out(c.b.scatter(x, v, a.indices, a.dims, a.index_dims, Fn::Add, !c.flag(3), ir::IndexMode::Wrap));
}

// Scatter along dimension d with an index that may be smaller than x elsewhere.
NodeId scatter_along(Call& c, NodeId x, int64_t d, NodeId index, NodeId updates, Fn fn, bool set) {
  const AlongDim a = along_dim(c, x, index, d);
  const Shape si = c.shape(index);
  const Shape su = c.shape(updates);
  if (su != si) {
    if (su.empty()) {
      updates = c.expand(updates, si);
    } else {
      if (su.size() != si.size()) malformed("scatter: the source has another number of dimensions than the index");
      for (size_t k = 0; k < si.size(); ++k) {
        if (su[k] < si[k]) malformed("scatter: the source is smaller than the index");
        updates = c.b.slice_dim(updates, static_cast<int64_t>(k), 0, si[k]);
      }
    }
  }
  if (a.smaller) {
    // Only the corner of x that the index covers is written.
    const Shape s = c.shape(x);
    Ints start(s.size(), 0), stop(si), step(s.size(), 1);
    stop[at(d)] = s[at(d)];
    const NodeId corner = c.b.slice(x, start, stop, step);
    return replace_slice(c.b, x, c.b.scatter(corner, updates, {index}, a.dims, a.index_dims, fn, set, ir::IndexMode::Strict), start, stop,
                         step);
  }
  return c.b.scatter(x, updates, {index}, a.dims, a.index_dims, fn, set, ir::IndexMode::Strict);
}
Value scatter(Call& c) {  // self dim index src|value [reduce]
  const NodeId x = c.t(0), index = c.t(2);
  const DType t = c.b.dtype(x);
  const NodeId src = c.args[3].number() ? c.lit(c.lit(3), t) : c.to(c.t(3), t);
  Fn fn = c.row.tag;
  bool set = fn == Fn::None;
  if (c.args.size() > 4 && c.has(4)) {
    const std::string r = c.str(4);
    if (r != "add" && r != "multiply") unsupported("scatter with reduce = " + r);
    fn = r == "add" ? Fn::Add : Fn::Mul;
    set = false;
  }
  if (set) fn = Fn::Add;
  if (ir::num_elements(c.shape(index)) == 0) return c.out(x);
  if (c.b.rank(x) == 0 || c.b.rank(index) == 0) unsupported("scatter into a tensor without dimensions");
  return c.out(scatter_along(c, x, c.dim(1, c.b.rank(x)), index, src, fn, set));
}
Value scatter_reduce(Call& c) {  // self dim index src reduce include_self
  const NodeId x = c.t(0), index = c.t(2);
  const std::string r = c.str(4);
  const DType t = c.b.dtype(x);
  const Fn fn = r == "sum" || r == "mean" ? Fn::Add : r == "prod" ? Fn::Mul : r == "amax" ? Fn::Max : r == "amin" ? Fn::Min : Fn::None;
  if (fn == Fn::None) unsupported("scatter_reduce with " + r);
  if (ir::num_elements(c.shape(index)) == 0) return c.out(x);
  const int64_t d = c.dim(1, c.b.rank(x));
  const NodeId src = c.to(c.t(3), t);
  NodeId base = x;
  if (!c.flag(5)) {  // the old value counts only where nothing is written
    if (!ir::is_float(t) && (fn == Fn::Max || fn == Fn::Min)) unsupported("scatter_reduce of integers without the old value");
    const NodeId neutral = fn == Fn::Add   ? c.num(0, t)
                           : fn == Fn::Mul ? c.num(1, t)
                                           : c.lit(Literal::real(fn == Fn::Max ? -INFINITY : INFINITY), t);
    base = scatter_along(c, x, d, index, neutral, Fn::Add, true);
  }
  NodeId y = scatter_along(c, base, d, index, src, fn, false);
  if (r == "mean") {
    if (!ir::is_float(t)) unsupported("scatter_reduce of integers with mean");
    NodeId count = scatter_along(c, c.full_like(x, Literal::integer(c.flag(5) ? 1 : 0)), d, index, c.num(1, t), Fn::Add, false);
    if (!c.flag(5)) count = c.map(Fn::Max, {count, c.num(1, t)});
    y = c.div(y, count);
  }
  return c.out(y);
}
// Index is a vector of positions in dimension d; src has x's shape with the vector's size there.
NodeId by_slices(Call& c, NodeId x, int64_t d, NodeId index, NodeId src, Fn fn, bool set, ir::IndexMode mode = ir::IndexMode::Strict) {
  const int64_t r = c.b.rank(x);
  if (c.b.rank(index) == 0) index = c.b.reshape(index, {1});
  Shape s = c.shape(x);
  s[at(d)] = c.shape(index)[0];
  Ints dims = iota_dims(0, r);
  dims[at(d)] = -1;
  return c.b.scatter(x, c.expand(src, s), {index}, dims, {d}, fn, set, mode);
}
Value index_add(Call& c) {  // self dim index source alpha
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  NodeId src = c.to(c.t(3), t);
  if (c.f(4) != 1) src = c.mul(src, c.lit(c.lit(4), t));
  return c.out(by_slices(c, x, c.dim(1, c.b.rank(x)), c.t(2), src, Fn::Add, false));
}
Value index_copy(Call& c) {  // self dim index source
  const NodeId x = c.t(0);
  return c.out(by_slices(c, x, c.dim(1, c.b.rank(x)), c.t(2), c.to(c.t(3), c.b.dtype(x)), Fn::Add, true));
}
Value index_fill(Call& c) {  // self dim index value
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const NodeId v = c.args[3].number() ? c.lit(c.lit(3), t) : c.b.reshape(c.to(c.t(3), t), {});
  return c.out(by_slices(c, x, c.dim(1, c.b.rank(x)), c.t(2), v, Fn::Add, true, ir::IndexMode::Wrap));  // alone among its kind, it wraps
}
Value put(Call& c) {  // self index source accumulate: into the flat tensor
  const NodeId x = c.t(0), i = c.t(1);
  const Shape s = c.shape(x);
  const NodeId flat = c.b.reshape(x, {ir::num_elements(s)});
  const NodeId y = c.b.scatter(flat, c.b.reshape(c.to(c.t(2), c.b.dtype(x)), c.shape(i)), {i}, {-1}, iota_dims(0, c.b.rank(i)), Fn::Add,
                               !c.flag(3), ir::IndexMode::Wrap);
  return c.out(c.b.reshape(y, s));
}

const OpRow kRows[] = {
    {"aten.index_put.default", "self indices values accumulate=False", index_put},
    {"aten._unsafe_index_put.default", "self indices values accumulate=False", index_put},
    {"aten._index_put_impl.default", "self indices values accumulate=False unsafe=False", index_put},
    {"aten.scatter.src", "self dim index src", scatter},
    {"aten.scatter.value", "self dim index value", scatter},
    {"aten.scatter.reduce", "self dim index src reduce", scatter},
    {"aten.scatter.value_reduce", "self dim index value reduce", scatter},
    {"aten.scatter_add.default", "self dim index src", scatter, Fn::Add},
    {"aten.scatter_reduce.two", "self dim index src reduce include_self=True", scatter_reduce},
    {"aten.index_add.default", "self dim index source alpha=1", index_add},
    {"aten.index_copy.default", "self dim index source", index_copy},
    {"aten.index_fill.int_Scalar", "self dim index value", index_fill},
    {"aten.index_fill.int_Tensor", "self dim index value", index_fill},
    {"aten.put.default", "self index source accumulate=False", put},
};

}  // namespace

Rows scatter_rows() { return kRows; }

}  // namespace shardproof::lower::aten
