// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Operators that PyTorch itself defines by others, and less common pointwise and shape operators.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_indexing.h"

namespace shardproof::lower::aten {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }
DType float_of(DType t) { return ir::is_int(t) || t == DType::Bool ? DType::F32 : t; }
Ints all_dims(Call& c, NodeId x) { return iota_dims(0, c.b.rank(x)); }

struct Pair {
  DType t;
  NodeId x, y;
};
Pair two(Call& c, bool to_float) {
  std::vector<Operand> o{c.operand(0), c.operand(1)};
  DType t = result_type(c.b, o);
  if (to_float) t = float_of(t);
  if (ir::is_complex(t)) unsupported("complex operands");
  return {t, c.operand_node(o[0], t), c.operand_node(o[1], t)};
}

// ---- pointwise

Value hypot(Call& c) {
  const Pair p = two(c, true);
  return c.out(c.un(Fn::Sqrt, c.add(c.mul(p.x, p.x), c.mul(p.y, p.y))));
}
Value copysign(Call& c) {  // |x| with the sign of y; the sign of zero is none in real arithmetic
  const Pair p = two(c, true);
  const NodeId a = c.un(Fn::Abs, p.x);
  return c.out(c.where(c.compare(Fn::Lt, p.y, c.num(0, p.t)), c.un(Fn::Neg, a), a));
}
Value heaviside(Call& c) {
  const Pair p = two(c, false);
  const NodeId zero = c.num(0, p.t);
  return c.out(c.where(c.compare(Fn::Eq, p.x, zero), p.y, c.where(c.compare(Fn::Lt, p.x, zero), zero, c.num(1, p.t))));
}
Value logaddexp2(Call& c) {
  const Pair p = two(c, true);
  return c.out(c.un(Fn::Log2, c.add(c.un(Fn::Exp2, p.x), c.un(Fn::Exp2, p.y))));
}
Value xlog1py(Call& c) {
  const Pair p = two(c, true);
  return c.out(c.where(c.compare(Fn::Eq, p.x, c.num(0, p.t)), c.num(0, p.t), c.mul(p.x, c.un(Fn::Log1p, p.y))));
}
Value ldexp(Call& c) {
  const Pair p = two(c, true);
  return c.out(c.mul(p.x, c.map(Fn::Pow, {c.num(2, p.t), p.y})));
}
Value entr(Call& c) {  // -x log x, 0 at 0, -inf below
  const NodeId x = c.to(c.t(0), float_of(c.b.dtype(c.t(0))));
  const DType t = c.b.dtype(x);
  const NodeId zero = c.num(0, t);
  return c.out(c.where(c.compare(Fn::Eq, x, zero), zero,
                       c.where(c.compare(Fn::Lt, x, zero), c.lit(Literal::real(-INFINITY), t), c.un(Fn::Neg, c.mul(x, c.un(Fn::Log, x))))));
}
Value infinite(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  if (!ir::is_float(t)) return c.out(c.b.constant(Literal::boolean(false), DType::Bool, c.shape(x)));
  return c.out(c.compare(Fn::Eq, x, c.lit(Literal::real(c.row.tag == Fn::Max ? INFINITY : -INFINITY), t)));
}
Value logit(Call& c) {  // log(x / (1 - x)), x clamped to [eps, 1 - eps] if eps is given
  NodeId x = c.to(c.t(0), float_of(c.b.dtype(c.t(0))));
  const DType t = c.b.dtype(x);
  const NodeId one = c.num(1, t);
  if (c.has(1)) {
    const NodeId eps = c.lit(c.lit(1), t);
    x = c.map(Fn::Min, {c.map(Fn::Max, {x, eps}), c.sub(one, eps)});
  }
  return c.out(c.un(Fn::Log, c.div(x, c.sub(one, x))));
}
Value logit_backward(Call& c) {  // grad self eps
  const NodeId g = c.t(0), x = c.t(1);
  const DType t = c.b.dtype(x);
  const NodeId one = c.num(1, t), slope = c.div(g, c.mul(x, c.sub(one, x)));
  if (!c.has(2)) return c.out(slope);
  const NodeId eps = c.lit(c.lit(2), t);
  const NodeId inside = c.map(Fn::And, {c.compare(Fn::Ge, x, eps), c.compare(Fn::Le, x, c.sub(one, eps))});
  return c.out(c.where(inside, slope, c.num(0, t)));
}
Value prelu_backward(Call& c) {  // grad self weight -> both gradients, not yet summed
  const NodeId g = c.t(0), x = c.t(1), w = c.t(2);
  const DType t = c.b.dtype(x);
  const NodeId positive = c.compare(Fn::Gt, x, c.num(0, t));
  return c.outs({c.where(positive, g, c.mul(w, g)), c.where(positive, c.num(0, t), c.mul(x, g))});
}
Value shrink_backward(Call& c) {  // grad self lambd; both shrinks
  const NodeId g = c.t(0), x = c.t(1);
  const DType t = c.b.dtype(x);
  return c.out(c.where(c.compare(Fn::Le, c.un(Fn::Abs, x), c.lit(c.lit(2), t)), c.num(0, t), g));
}
Value positive(Call& c) {
  c.t(0);
  return c.view(0, {});
}
Value isin(Call& c) {  // is an element among test_elements?
  const std::vector<Operand> o{c.operand(0), c.operand(1)};
  const DType t = result_type(c.b, o);
  const NodeId x = c.operand_node(o[0], t),
               set = c.b.reshape(c.operand_node(o[1], t), {o[1].scalar ? 1 : ir::num_elements(c.shape(o[1].node))});
  Shape s = c.shape(x);
  s.push_back(c.shape(set)[0]);
  const NodeId hit =
      c.b.reduce(Fn::Or, c.map(Fn::Eq, {c.expand(c.unsqueeze(x, c.b.rank(x)), s), c.expand(set, s)}, DType::Bool), {c.b.rank(x)});
  return c.out(c.flag(3) ? c.un(Fn::Not, hit) : hit);
}

Value nan_to_num(Call& c) {  // self nan posinf neginf; by default 0 and the largest and smallest numbers of the type
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  if (!ir::is_float(t)) return c.out(x);
  const double largest = t == DType::F64    ? 1.7976931348623157e308
                         : t == DType::F32  ? 3.4028234663852886e38
                         : t == DType::BF16 ? 3.3895313892515355e38
                                            : 65504;
  if (t == DType::F8 || t == DType::F4) unsupported("nan_to_num of 8-bit floats");
  const auto value = [&](size_t k, double fallback) { return c.has(k) ? c.lit(c.lit(k), t) : c.num(fallback, t); };
  const NodeId high = c.where(c.compare(Fn::Eq, x, c.lit(Literal::real(INFINITY), t)), value(2, largest), x);
  const NodeId low = c.where(c.compare(Fn::Eq, x, c.lit(Literal::real(-INFINITY), t)), value(3, -largest), high);
  return c.out(c.where(c.b.map(Fn::IsNan, {x}, DType::Bool), value(1, 0), low));
}
Value isclose(Call& c) {  // self other rtol atol equal_nan: |x - y| <= atol + |rtol y|, or equal
  if (c.flag(4)) unsupported("isclose that takes undefined values for equal");
  const Pair p = two(c, true);
  const NodeId d = c.un(Fn::Abs, c.sub(p.x, p.y)), bound = c.add(c.lit(c.lit(3), p.t), c.un(Fn::Abs, c.mul(c.lit(c.lit(2), p.t), p.y)));
  const NodeId near = c.map(Fn::And, {c.b.map(Fn::IsFinite, {d}, DType::Bool), c.compare(Fn::Le, d, bound)}, DType::Bool);
  return c.out(c.map(Fn::Or, {c.compare(Fn::Eq, p.x, p.y), near}, DType::Bool));
}

// ---- shape

Value ravel(Call& c) {
  const NodeId x = c.t(0), y = c.b.reshape(x, {ir::num_elements(c.shape(x))});
  return c.args[0].is(Value::Kind::Tensor) ? Value::of(c.m.maybe_view(c.args[0].tensor, y)) : c.out(y);
}
Value stack_along(Call& c, int64_t d, int64_t at_least) {
  std::vector<Value> parts;
  for (NodeId x : c.ts(0)) {
    Shape s = c.shape(x);
    // atleast_1d, atleast_2d (a row), atleast_3d (a row in the middle)
    if (at_least >= 1 && s.empty()) s = {1};
    if (at_least >= 2 && s.size() == 1) s.insert(s.begin(), 1);
    if (at_least >= 3 && s.size() == 2) s.push_back(1);
    parts.push_back(c.out(c.b.reshape(x, s)));
  }
  if (parts.empty()) malformed("a stack of nothing");
  if (at_least == 1 && c.m.shape(parts[0].tensor).size() == 1) d = 0;
  return c.l.call("aten.cat.default", {Value::list(parts), Value::integer(d)});
}
Value hstack(Call& c) { return stack_along(c, 1, 1); }
Value vstack(Call& c) { return stack_along(c, 0, 2); }
Value dstack(Call& c) { return stack_along(c, 2, 3); }
Value flip_of(Call& c) {
  const int64_t d = c.row.tag == Fn::Max ? 0 : 1;
  if (c.rank(0) <= d) malformed("a flip of too few dimensions");
  return c.out(c.b.reverse(c.t(0), {d}));
}
Value rot90(Call& c) {  // self k dims
  const NodeId x = c.t(0);
  const Ints dims = c.ints(2);
  if (dims.size() != 2) malformed("rot90 in two dimensions");
  const int64_t r = c.b.rank(x), a = c.wrap(dims[0], r), b = c.wrap(dims[1], r);
  if (a == b || r < 2) malformed("rot90 in two dimensions");
  Ints perm = iota_dims(0, r);
  std::swap(perm[at(a)], perm[at(b)]);
  switch (((c.i(1) % 4) + 4) % 4) {
    case 1: return c.out(c.b.transpose(c.b.reverse(x, {b}), perm));
    case 2: return c.out(c.b.reverse(x, a < b ? Ints{a, b} : Ints{b, a}));
    case 3: return c.out(c.b.transpose(c.b.reverse(x, {a}), perm));
    default: return c.out(x);
  }
}
NodeId shape_diagonal(Call& c, NodeId like, int64_t offset) {  // bool mask of a diagonal over the last two dims
  return triangle(c, c.shape(like), Fn::Eq, offset);
}
Value diag(Call& c) {  // vector -> matrix, matrix -> its diagonal
  const NodeId x = c.t(0);
  const int64_t k = c.i(1);
  if (c.b.rank(x) == 2) return c.out(diagonal_of(c, x, k, 0, 1));
  if (c.b.rank(x) != 1) malformed("diag of neither a vector nor a matrix");
  const int64_t n = c.shape(x)[0], size = n + std::abs(k);
  // Row i holds x[i - max(-k, 0)] at column i + k.
  const NodeId rows = c.b.pad(x, c.num(0, c.b.dtype(x)), {std::max<int64_t>(-k, 0)}, {std::max<int64_t>(k, 0)}, {0});
  const NodeId square = c.expand(c.unsqueeze(rows, 1), {size, size});
  return c.out(c.where(shape_diagonal(c, square, k), square, c.num(0, c.b.dtype(x))));
}
Value trace(Call& c) {
  if (c.rank(0) != 2) malformed("trace of something that is no matrix");
  const NodeId d = diagonal_of(c, c.t(0), 0, 0, 1);
  return c.out(c.sum(c.to(d, ir::is_int(c.b.dtype(d)) ? DType::I64 : c.b.dtype(d)), {0}, false));
}
// The part of x's diagonal replaced by src (scatter) or of zeros (backward).
NodeId put_diagonal(Call& c, NodeId x, NodeId src, int64_t offset, int64_t d1, int64_t d2) {
  const Shape s = c.shape(x);
  const int64_t n = offset >= 0 ? std::min(s[at(d1)], s[at(d2)] - offset) : std::min(s[at(d1)] + offset, s[at(d2)]);
  if (n <= 0) return x;
  NodeId i = c.b.iota(DType::I64, {n}, 0), j = i;
  if (offset < 0) i = c.add(i, c.num(-offset, DType::I64));
  if (offset > 0) j = c.add(j, c.num(offset, DType::I64));
  Ints dims(s.size());
  int64_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d) dims[at(d)] = d == d1 ? -1 : d == d2 ? -2 : next++;
  return c.b.scatter(x, src, {i, j}, dims, {next}, Fn::Add, true, ir::IndexMode::Strict);
}
Value diagonal_scatter(Call& c) {  // self src offset dim1 dim2
  const NodeId x = c.t(0);
  const int64_t r = c.b.rank(x), d1 = c.dim(3, r), d2 = c.dim(4, r);
  if (d1 == d2) malformed("diagonal of one dimension");
  return c.out(put_diagonal(c, x, c.to(c.t(1), c.b.dtype(x)), c.i(2), d1, d2));
}
Value diagonal_backward(Call& c) {  // grad input_sizes offset dim1 dim2
  const NodeId g = c.t(0);
  const Shape s = c.ints(1);
  const auto r = static_cast<int64_t>(s.size());
  const int64_t d1 = c.dim(3, r), d2 = c.dim(4, r);
  if (d1 == d2) malformed("diagonal of one dimension");
  return c.out(put_diagonal(c, c.b.constant(Literal::integer(0), c.b.dtype(g), s), g, c.i(2), d1, d2));
}
Value diff(Call& c) {  // self n dim prepend append
  NodeId x = c.t(0);
  const int64_t d = c.dim(2, c.b.rank(x));
  Nodes parts;
  if (c.has(3)) parts.push_back(c.t(3));
  parts.push_back(x);
  if (c.has(4)) parts.push_back(c.t(4));
  if (parts.size() > 1) x = c.b.concat(parts, d);
  for (int64_t k = std::min(c.i(1), c.shape(x)[at(d)]); k-- > 0;) {
    const int64_t n = c.shape(x)[at(d)];
    const NodeId a = c.b.slice_dim(x, d, 1, n), b = c.b.slice_dim(x, d, 0, n - 1);
    x = c.b.dtype(x) == DType::Bool ? c.map(Fn::Xor, {a, b}) : c.sub(a, b);
  }
  return c.out(x);
}
Value unfold_backward(Call& c) {  // grad input_sizes dim size step: overlapping windows add up
  const NodeId g = c.t(0);
  const Shape s = c.ints(1);
  const int64_t d = c.dim(2, static_cast<int64_t>(s.size())), size = c.i(3), step = c.i(4), r = c.b.rank(g);
  if (r != static_cast<int64_t>(s.size()) + 1 || step < 1 || size < 1) malformed("unfold_backward: sizes do not fit");
  // position of window w, element e: w step + e
  const Shape cells{c.shape(g)[at(d)], size};
  const NodeId where = c.add(c.mul(c.b.iota(DType::I64, cells, 0), c.num(step, DType::I64)), c.b.iota(DType::I64, cells, 1));
  // Bring the window's elements next to the windows.
  Ints perm;
  for (int64_t k = 0; k < r - 1; ++k) {
    perm.push_back(k);
    if (k == d) perm.push_back(r - 1);
  }
  Ints dims;
  for (int64_t k = 0; k < static_cast<int64_t>(s.size()); ++k) dims.push_back(k == d ? -1 : k < d ? k : k + 1);
  const NodeId zeros = c.b.constant(Literal::integer(0), c.b.dtype(g), s);
  return c.out(c.b.scatter(zeros, c.b.transpose(g, perm), {where}, dims, {d, d + 1}, Fn::Add, false, ir::IndexMode::Strict));
}
Value pixel_shuffle(Call& c) {  // [.., C r^2, H, W] -> [.., C, H r, W r], and back
  const NodeId x = c.t(0);
  const Shape s = c.shape(x);
  const int64_t r = c.i(1), n = static_cast<int64_t>(s.size());
  if (n < 3 || r < 1) malformed("pixel_shuffle of this shape");
  const Shape lead(s.begin(), s.end() - 3);
  const int64_t channels = s[at(n - 3)], h = s[at(n - 2)], w = s[at(n - 1)], l = n - 3;
  Shape split = lead, merged = lead;
  Ints perm = iota_dims(0, l);
  if (c.row.tag == Fn::None) {
    if (channels % (r * r)) malformed("pixel_shuffle of this shape");
    split.insert(split.end(), {channels / (r * r), r, r, h, w});
    merged.insert(merged.end(), {channels / (r * r), h * r, w * r});
    perm.insert(perm.end(), {l, l + 3, l + 1, l + 4, l + 2});
  } else {
    if (h % r || w % r) malformed("pixel_unshuffle of this shape");
    split.insert(split.end(), {channels, h / r, r, w / r, r});
    merged.insert(merged.end(), {channels * r * r, h / r, w / r});
    perm.insert(perm.end(), {l, l + 2, l + 4, l + 1, l + 3});
  }
  return c.out(c.b.reshape(c.b.transpose(c.b.reshape(x, split), perm), merged));
}
Value channel_shuffle(Call& c) {
  const NodeId x = c.t(0);
  const Shape s = c.shape(x);
  const int64_t g = c.i(1);
  if (s.size() < 3 || g < 1 || s[1] % g) malformed("channel_shuffle of this shape");
  Shape split = s;
  split[1] = g;
  split.insert(split.begin() + 2, s[1] / g);
  Ints perm = iota_dims(0, static_cast<int64_t>(split.size()));
  std::swap(perm[1], perm[2]);
  return c.out(c.b.reshape(c.b.transpose(c.b.reshape(x, split), perm), s));
}
Value triangle_indices(Call& c) {  // row col offset -> [2, n] of a triangle's positions, row by row
  const int64_t rows = c.i(0), columns = c.i(1), offset = c.i(2);
  const bool lower = c.row.tag == Fn::Le;
  const DType t = c.dtype(3, DType::I64);
  std::vector<Literal> i, j;
  if (rows < 0 || columns < 0 || rows * columns > 1000000) unsupported("a triangle of this size");
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k)
      if (lower ? k - r <= offset : k - r >= offset) {
        i.push_back(Literal::integer(r, t));
        j.push_back(Literal::integer(k, t));
      }
  const auto n = static_cast<int64_t>(i.size());
  i.insert(i.end(), j.begin(), j.end());
  return c.out(c.b.dense(t, {2, n}, std::move(i)));
}
Value take_along_dim(Call& c) {  // self indices dim, both broadcast in the other dims; negative indices wrap, unlike gather's
  NodeId x = c.t(0), index = c.t(1);
  if (!c.has(2)) {
    x = c.b.reshape(x, {ir::num_elements(c.shape(x))});
    index = c.b.reshape(index, {ir::num_elements(c.shape(index))});
    return c.out(c.b.take(x, {index}, {-1}, {0}, c.shape(index), ir::IndexMode::Wrap));
  }
  const int64_t d = c.dim(2, c.b.rank(x));
  Shape sx = c.shape(x), si = c.shape(index);
  if (sx.size() != si.size()) malformed("take_along_dim: other numbers of dimensions");
  for (size_t k = 0; k < sx.size(); ++k)
    if (static_cast<int64_t>(k) != d) {
      if (sx[k] != si[k] && sx[k] != 1 && si[k] != 1) malformed("take_along_dim: shapes do not fit");
      sx[k] = si[k] = sx[k] == 1 ? si[k] : sx[k];
    }
  const AlongDim a = along_dim(c, c.expand(x, sx), c.expand(index, si), d);
  return c.out(c.b.take(c.expand(x, sx), {c.expand(index, si)}, a.dims, a.index_dims, si, ir::IndexMode::Wrap));
}

// ---- products and distances

Value inner(Call& c) {
  const NodeId x = c.t(0), y = c.t(1);
  const int64_t rx = c.b.rank(x), ry = c.b.rank(y);
  if (rx == 0 || ry == 0) return c.out(c.mul(x, y));
  if (c.shape(x).back() != c.shape(y).back()) malformed("inner: sizes do not fit");
  return c.out(c.b.contract(x, y, {}, {rx - 1, ry - 1}, c.b.dtype(x)));
}
Value tensordot(Call& c) {  // self other dims_self dims_other
  const NodeId x = c.t(0), y = c.t(1);
  const Ints dx = c.ints(2), dy = c.ints(3);
  if (dx.size() != dy.size()) malformed("tensordot: lists of different lengths");
  Ints pairs;
  for (size_t k = 0; k < dx.size(); ++k) {
    pairs.push_back(c.wrap(dx[k], c.b.rank(x)));
    pairs.push_back(c.wrap(dy[k], c.b.rank(y)));
  }
  return c.out(c.b.contract(x, y, {}, pairs, c.b.dtype(x)));
}
Value vecdot(Call& c) {  // x y dim
  const NodeId p = c.mul(c.t(0), c.t(1));
  return c.out(c.sum(p, {c.dim(2, c.b.rank(p))}, false));
}
Value kron(Call& c) {
  const NodeId x = c.t(0), y = c.t(1);
  Shape sx = c.shape(x), sy = c.shape(y);
  const size_t r = std::max(sx.size(), sy.size());
  sx.insert(sx.begin(), r - sx.size(), 1);
  sy.insert(sy.begin(), r - sy.size(), 1);
  Shape wx, wy, merged;
  for (size_t k = 0; k < r; ++k) {
    wx.insert(wx.end(), {sx[k], 1});
    wy.insert(wy.end(), {1, sy[k]});
    merged.push_back(sx[k] * sy[k]);
  }
  return c.out(c.b.reshape(c.mul(c.b.reshape(x, wx), c.b.reshape(y, wy)), merged));
}
Value cross(Call& c) {  // self other dim
  const NodeId x = c.t(0), y = c.t(1);
  const Shape s = broadcast_shapes(c.shape(x), c.shape(y));
  const int64_t d = c.dim(2, static_cast<int64_t>(s.size()));
  if (s[at(d)] != 3) malformed("cross product of other than three components");
  const NodeId a = c.expand(x, s), b = c.expand(y, s);
  const auto k = [&](NodeId v, int64_t i) { return c.b.slice_dim(v, d, i, i + 1); };
  const auto part = [&](int64_t i, int64_t j) { return c.sub(c.mul(k(a, i), k(b, j)), c.mul(k(a, j), k(b, i))); };
  return c.out(c.b.concat({part(1, 2), part(2, 0), part(0, 1)}, d));
}
Value bilinear(Call& c) {  // input1 input2 weight bias: sum_{i,j} x_i w_oij y_j
  const NodeId x = c.t(0), y = c.t(1), w = c.t(2);
  const int64_t r = c.b.rank(x);
  if (r < 1 || c.b.rank(y) != r || c.b.rank(w) != 3 || c.shape(x).back() != c.shape(w)[1] || c.shape(y).back() != c.shape(w)[2])
    malformed("bilinear: sizes do not fit");
  const NodeId xw = c.b.contract(x, w, {}, {r - 1, 1}, c.b.dtype(x));  // [.., o, j]
  Ints batch;
  for (int64_t d = 0; d < r - 1; ++d) batch.insert(batch.end(), {d, d});
  const NodeId z = c.b.contract(xw, y, batch, {r, r - 1}, c.b.dtype(x));
  return c.out(c.has(3) ? c.add(z, c.t(3)) : z);
}
NodeId length(Call& c, NodeId x, int64_t d) { return c.un(Fn::Sqrt, c.sum(c.mul(x, x), {d}, true)); }
Value cosine_similarity(Call& c) {  // x1 x2 dim eps: (x1 / max(|x1|, eps)) . (x2 / max(|x2|, eps))
  const NodeId x = c.t(0), y = c.t(1);
  const Shape s = broadcast_shapes(c.shape(x), c.shape(y));
  const int64_t d = c.dim(2, static_cast<int64_t>(s.size()));
  const DType t = c.b.dtype(x);
  const NodeId a = c.expand(x, s), b = c.expand(y, s), eps = c.lit(c.lit(3), t);
  const NodeId na = c.map(Fn::Max, {length(c, a, d), eps}), nb = c.map(Fn::Max, {length(c, b, d), eps});
  return c.out(c.sum(c.mul(c.div(a, na), c.div(b, nb)), {d}, false));
}
Value pairwise_distance(Call& c) {  // x1 x2 p eps keepdim: the p-norm of x1 - x2 + eps
  const NodeId x = c.t(0);
  const NodeId d = c.add(c.sub(x, c.t(1)), c.lit(c.lit(3), c.b.dtype(x)));
  return c.l.call("aten.linalg_vector_norm.default", {c.out(d), c.args[2], Value::list({Value::integer(-1)}), c.args[4]});
}
Value dist(Call& c) {  // self other p
  return c.l.call("aten.linalg_vector_norm.default", {c.out(c.sub(c.t(0), c.t(1))), c.args[2]});
}
Value cdist(Call& c) {  // x1 [.., P, M] x2 [.., R, M] p mode -> [.., P, R]
  const NodeId x = c.t(0), y = c.t(1);
  const int64_t rx = c.b.rank(x), ry = c.b.rank(y);
  if (rx < 2 || ry < 2) malformed("cdist of vectors");
  const NodeId d = c.sub(c.unsqueeze(x, rx - 1), c.unsqueeze(y, ry - 2));
  return c.l.call("aten.linalg_vector_norm.default", {c.out(d), c.args[2], Value::list({Value::integer(-1)})});
}
// v g dim -> v g / |v|, |v|: the norm over all dimensions but one
Value weight_norm(Call& c) {
  const NodeId v = c.t(0), g = c.t(1);
  const int64_t d = c.dim(2, c.b.rank(v));
  Ints others;
  for (int64_t k = 0; k < c.b.rank(v); ++k)
    if (k != d) others.push_back(k);
  const NodeId norm = c.un(Fn::Sqrt, c.sum(c.mul(v, v), others, true));
  return c.outs({c.mul(v, c.div(g, norm)), norm});
}
Value weight_norm_backward(Call& c) {  // grad v g norms dim
  const NodeId gw = c.t(0), v = c.t(1), g = c.t(2), norm = c.t(3);
  const int64_t d = c.dim(4, c.b.rank(v));
  Ints others;
  for (int64_t k = 0; k < c.b.rank(v); ++k)
    if (k != d) others.push_back(k);
  const NodeId dot = c.sum(c.mul(gw, v), others, true);
  const NodeId dv = c.sub(c.mul(c.div(g, norm), gw), c.mul(v, c.div(c.mul(g, dot), c.mul3(norm, norm, norm))));
  return c.outs({dv, c.div(dot, norm)});
}
Value frobenius(Call& c) {  // linalg_norm without an order; linalg_matrix_norm of order fro
  const bool matrix = c.row.tag == Fn::Mul;
  if (matrix && c.str(1) != "fro") unsupported("a matrix norm of order " + c.str(1));
  const bool vector = !matrix && c.has(1);
  const Value dims = matrix ? c.args[2] : c.args[2];
  if (vector && !(c.rank(0) == 1 || (c.has(2) && c.ints(2).size() == 1))) unsupported("a matrix norm");
  return c.l.call("aten.linalg_vector_norm.default", {c.args[0], vector ? c.args[1] : Value::integer(2), dims, c.args[3], c.args[4]});
}

// ---- losses made of pointwise operators; reduction 0 none, 1 mean, 2 sum

NodeId reduced(Call& c, NodeId loss, int64_t reduction) {
  if (reduction == 0) return loss;
  return reduction == 1 ? c.mean(loss, all_dims(c, loss), false) : c.sum(loss, all_dims(c, loss), false);
}
NodeId clamp0(Call& c, NodeId x) { return c.map(Fn::Max, {x, c.num(0, c.b.dtype(x))}); }
Value margin_ranking(Call& c) {  // input1 input2 target margin reduction: max(-y (x1 - x2) + margin, 0)
  const NodeId d = c.mul(c.un(Fn::Neg, c.t(2)), c.sub(c.t(0), c.t(1)));
  return c.out(reduced(c, clamp0(c, c.add(d, c.lit(c.lit(3), c.b.dtype(d)))), c.i(4)));
}
Value hinge_embedding(Call& c) {  // self target margin reduction
  const NodeId x = c.t(0), y = c.t(1);
  const DType t = c.b.dtype(x);
  const NodeId zero = c.num(0, t), one = c.num(1, c.b.dtype(y));
  const NodeId margin = c.where(c.compare(Fn::Ne, y, one), clamp0(c, c.sub(c.lit(c.lit(2), t), x)), zero);
  const NodeId self = c.where(c.compare(Fn::Ne, y, c.num(-1, c.b.dtype(y))), x, zero);
  return c.out(reduced(c, c.add(margin, self), c.i(3)));
}
Value poisson_nll(Call& c) {  // input target log_input full eps reduction
  const NodeId x = c.t(0), y = c.t(1);
  const DType t = c.b.dtype(x);
  if (c.flag(3)) unsupported("poisson_nll_loss with the Stirling term");
  const NodeId loss = c.flag(2) ? c.sub(c.un(Fn::Exp, x), c.mul(y, x)) : c.sub(x, c.mul(y, c.un(Fn::Log, c.add(x, c.lit(c.lit(4), t)))));
  return c.out(reduced(c, loss, c.i(5)));
}
Value soft_margin_backward(Call& c) {  // grad self target reduction: -y exp(-y x) / (1 + exp(-y x)) g
  NodeId g = c.t(0);
  const NodeId x = c.t(1), y = c.t(2);
  const DType t = c.b.dtype(x);
  if (c.i(3) == 1) g = c.div(g, c.num(ir::num_elements(c.shape(x)), t));
  const NodeId z = c.un(Fn::Exp, c.un(Fn::Neg, c.mul(y, x)));
  return c.out(c.mul3(c.un(Fn::Neg, y), c.div(z, c.add(c.num(1, t), z)), g));
}
Value cosine_embedding(Call& c) {  // input1 input2 target margin reduction: 1 - cos where y is 1, max(0, cos - margin) where it is -1
  const NodeId x = c.t(0), y = c.t(1), label = c.t(2);
  const int64_t d = label == ir::kNoNode ? 0 : c.b.rank(label);
  const DType t = c.b.dtype(x);
  const NodeId eps = c.num(1e-12, t);
  const NodeId dot = c.sum(c.mul(x, y), {d}, false), a = c.add(c.sum(c.mul(x, x), {d}, false), eps),
               b = c.add(c.sum(c.mul(y, y), {d}, false), eps);
  const NodeId cosine = c.div(dot, c.un(Fn::Sqrt, c.mul(a, b))), zero = c.num(0, t);
  const NodeId same = c.where(c.compare(Fn::Eq, label, c.num(1, c.b.dtype(label))), c.sub(c.num(1, t), cosine), zero);
  const NodeId other = c.where(c.compare(Fn::Eq, label, c.num(-1, c.b.dtype(label))), clamp0(c, c.sub(cosine, c.lit(c.lit(3), t))), zero);
  return c.out(reduced(c, c.add(same, other), c.i(4)));
}
Value triplet_margin(Call& c) {  // anchor positive negative margin p eps swap reduction
  if (c.flag(6)) unsupported("triplet_margin_loss with swap");
  const auto distance = [&](size_t k) {
    const Value v = c.l.call("aten.pairwise_distance.default", {c.args[0], c.args[k], c.args[4], c.args[5]});
    return c.node(v);
  };
  const NodeId p = distance(1), n = distance(2);
  return c.out(reduced(c, clamp0(c, c.sub(c.add(c.lit(c.lit(3), c.b.dtype(p)), p), n)), c.i(7)));
}

constexpr const char* kTwo = "self other";
const OpRow kRows[] = {
    {"aten.hypot.default", kTwo, hypot},
    {"aten.copysign.Tensor", kTwo, copysign},
    {"aten.copysign.Scalar", kTwo, copysign},
    {"aten.heaviside.default", "self values", heaviside},
    {"aten.logaddexp2.default", kTwo, logaddexp2},
    {"aten.special_xlog1py.default", kTwo, xlog1py},
    {"aten.ldexp.Tensor", kTwo, ldexp},
    {"aten.special_entr.default", "self", entr},
    {"aten.isposinf.default", "self", infinite, Fn::Max},
    {"aten.isneginf.default", "self", infinite, Fn::Min},
    {"aten.logit.default", "self eps=None", logit},
    {"aten.special_logit.default", "self eps=None", logit},
    {"aten.logit_backward.default", "grad_output self eps=None", logit_backward},
    {"aten._prelu_kernel_backward.default", "grad_output self weight", prelu_backward},
    {"aten.hardshrink_backward.default", "grad_out self lambd", shrink_backward},
    {"aten.softshrink_backward.default", "grad_output self lambd", shrink_backward},
    {"aten.positive.default", "self", positive},
    {"aten.isin.Tensor_Tensor", "elements test_elements assume_unique=False invert=False", isin},
    {"aten.isin.Tensor_Scalar", "elements test_element assume_unique=False invert=False", isin},
    {"aten.ravel.default", "self", ravel},
    {"aten.hstack.default", "tensors", hstack},
    {"aten.vstack.default", "tensors", vstack},
    {"aten.dstack.default", "tensors", dstack},
    {"aten.fliplr.default", "self", flip_of},
    {"aten.flipud.default", "self", flip_of, Fn::Max},
    {"aten.rot90.default", "self k=1 dims=[0,1]", rot90},
    {"aten.diag.default", "self diagonal=0", diag},
    {"aten.trace.default", "self", trace},
    {"aten.diagonal_scatter.default", "self src offset=0 dim1=0 dim2=1", diagonal_scatter},
    {"aten.diagonal_backward.default", "grad_output input_sizes offset dim1 dim2", diagonal_backward},
    {"aten.diff.default", "self n=1 dim=-1 prepend=None append=None", diff},
    {"aten.unfold_backward.default", "grad_in input_sizes dim size step", unfold_backward},
    {"aten.pixel_shuffle.default", "self upscale_factor", pixel_shuffle},
    {"aten.pixel_unshuffle.default", "self downscale_factor", pixel_shuffle, Fn::Div},
    {"aten.channel_shuffle.default", "self groups", channel_shuffle},
    {"aten.native_channel_shuffle.default", "self groups", channel_shuffle},
    {"aten.tril_indices.default", "row col offset=0 &factory", triangle_indices, Fn::Le},
    {"aten.triu_indices.default", "row col offset=0 &factory", triangle_indices, Fn::Ge},
    {"aten.take_along_dim.default", "self indices dim=None", take_along_dim},
    {"aten.inner.default", kTwo, inner},
    {"aten.tensordot.default", "self other dims_self dims_other", tensordot},
    {"aten.linalg_vecdot.default", "x y dim=-1", vecdot},
    {"aten.kron.default", kTwo, kron},
    {"aten.linalg_cross.default", "self other dim=-1", cross},
    {"aten.bilinear.default", "input1 input2 weight bias=None", bilinear},
    {"aten.cosine_similarity.default", "x1 x2 dim=1 eps=1e-08", cosine_similarity},
    {"aten.pairwise_distance.default", "x1 x2 p=2 eps=1e-06 keepdim=False", pairwise_distance},
    {"aten.dist.default", "self other p=2", dist},
    {"aten.linalg_norm.default", "self ord=None dim=None keepdim=False dtype=None", frobenius},
    {"aten.linalg_matrix_norm.str_ord", "self ord='fro' dim=[-2,-1] keepdim=False dtype=None", frobenius, Fn::Mul},
    {"aten.nan_to_num.default", "self nan=None posinf=None neginf=None", nan_to_num},
    {"aten.isclose.default", "self other rtol=1e-05 atol=1e-08 equal_nan=False", isclose},
    {"aten._cdist_forward.default", "x1 x2 p compute_mode", cdist},
    {"aten.cdist.default", "x1 x2 p=2 compute_mode=None", cdist},
    {"aten._weight_norm_interface.default", "v g dim=0", weight_norm},
    {"aten._weight_norm_interface_backward.default", "grad_w saved_v saved_g saved_norms dim", weight_norm_backward},
    {"aten.margin_ranking_loss.default", "input1 input2 target margin=0.0 reduction=1", margin_ranking},
    {"aten.hinge_embedding_loss.default", "self target margin=1.0 reduction=1", hinge_embedding},
    {"aten.poisson_nll_loss.default", "input target log_input full eps reduction", poisson_nll},
    {"aten.soft_margin_loss_backward.default", "grad_output self target reduction", soft_margin_backward},
    {"aten.cosine_embedding_loss.default", "input1 input2 target margin=0.0 reduction=1", cosine_embedding},
    {"aten.triplet_margin_loss.default", "anchor positive negative margin=1.0 p=2 eps=1e-06 swap=False reduction=1", triplet_margin},
};

}  // namespace

Rows compose_rows() { return kRows; }

}  // namespace shardproof::lower::aten
