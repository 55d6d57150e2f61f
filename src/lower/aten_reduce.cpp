// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reductions and scans. Counts are exact integers in the operand's type; variances follow the two-pass formula.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

int64_t count(Call& c, NodeId x, const Ints& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= c.shape(x)[static_cast<size_t>(d)];
  return n;
}
bool small_int(DType t) { return ir::is_int(t) || t == DType::Bool; }

// Arguments of the dim_IntList kind: self, dim, keepdim, dtype
NodeId sum_of(Call& c, NodeId x, const Ints& dims, bool keepdim, size_t dtype_at) {
  const DType from = c.b.dtype(x);
  x = c.to(x, c.dtype(dtype_at, small_int(from) ? DType::I64 : from));
  if (ir::is_complex(c.b.dtype(x))) {
    const auto [re, im] = c.l.parts(x);
    return c.l.complex_from(c.sum(re, dims, keepdim), c.sum(im, dims, keepdim));
  }
  return dims.empty() && c.b.rank(x) == 0 ? x : c.sum(x, dims, keepdim);
}
Value sum_dims(Call& c) { return c.out(sum_of(c, c.t(0), c.dims(1, c.rank(0)), c.flag(2), 3)); }
Value sum_all(Call& c) {
  c.args.insert(c.args.begin() + 1, {Value{}, Value::boolean(false)});
  return sum_dims(c);
}
Value mean_dims(Call& c) {
  NodeId x = c.t(0);
  x = c.to(x, c.dtype(3, c.b.dtype(x)));
  if (!ir::is_float(c.b.dtype(x))) malformed("mean of integers");
  return c.out(c.mean(x, c.dims(1, c.b.rank(x)), c.flag(2)));
}
Value mean_all(Call& c) {
  c.args.insert(c.args.begin() + 1, {Value{}, Value::boolean(false)});
  return mean_dims(c);
}
Value prod(Call& c) {  // self, dim, keepdim, dtype
  NodeId x = c.t(0);
  const DType from = c.b.dtype(x);
  x = c.to(x, c.dtype(3, small_int(from) ? DType::I64 : from));
  return c.out(c.b.reduce(Fn::Mul, x, c.dims(1, c.b.rank(x)), c.flag(2)));
}
Value prod_all(Call& c) {
  c.args.insert(c.args.begin() + 1, {Value{}, Value::boolean(false)});
  return prod(c);
}
Fn on_bools(Fn fn, DType t) { return t != DType::Bool ? fn : fn == Fn::Max ? Fn::Or : Fn::And; }

void not_empty(Call& c, NodeId x, const Ints& dims) {
  if (count(c, x, dims) == 0) malformed("the extreme of nothing");
}
Value extreme(Call& c) {  // amax, amin: self, dim, keepdim
  const NodeId x = c.t(0);
  const Ints dims = c.dims(1, c.b.rank(x));
  not_empty(c, x, dims);
  return c.out(c.b.reduce(on_bools(c.row.tag, c.b.dtype(x)), x, dims, c.flag(2)));
}
Value extreme_all(Call& c) {  // max.default
  const NodeId x = c.t(0);
  const Ints all = [&] {
    Ints d;
    for (int64_t k = 0; k < c.b.rank(x); ++k) d.push_back(k);
    return d;
  }();
  not_empty(c, x, all);
  return c.out(c.b.reduce(on_bools(c.row.tag, c.b.dtype(x)), x, all, false));
}
NodeId arg_of(Call& c, NodeId x, Fn fn, int64_t d, bool keepdim) {
  if (c.b.dtype(x) == DType::Bool) x = c.to(x, DType::U8);
  Shape s = c.shape(x);
  if (s.empty()) return c.num(0, DType::I64);
  if (s[static_cast<size_t>(d)] == 0) malformed("the extreme of nothing");
  const NodeId y = c.b.arg_reduce(fn, x, d, DType::I64);
  return keepdim ? c.unsqueeze(y, d) : y;
}
Value extreme_dim(Call& c) {  // max.dim -> values, indices
  const NodeId x = c.t(0);
  if (c.b.rank(x) == 0) return c.outs({x, c.num(0, DType::I64)});
  const int64_t d = c.dim(1, c.b.rank(x));
  not_empty(c, x, {d});
  return c.outs({c.b.reduce(on_bools(c.row.tag, c.b.dtype(x)), x, {d}, c.flag(2)), arg_of(c, x, c.row.tag, d, c.flag(2))});
}
Value arg(Call& c) {  // argmax: self, dim, keepdim
  NodeId x = c.t(0);
  const int64_t r = c.b.rank(x);
  if (c.has(1) && r) return c.out(arg_of(c, x, c.row.tag, c.dim(1, r), c.flag(2)));
  NodeId y = arg_of(c, c.b.reshape(x, {ir::num_elements(c.shape(x))}), c.row.tag, 0, false);
  if (c.flag(2)) y = c.b.reshape(y, Shape(static_cast<size_t>(r), 1));
  return c.out(y);
}
Value aminmax(Call& c) {
  const NodeId x = c.t(0);
  const Ints dims = c.dims(1, c.b.rank(x));
  not_empty(c, x, dims);
  return c.outs(
      {c.b.reduce(on_bools(Fn::Min, c.b.dtype(x)), x, dims, c.flag(2)), c.b.reduce(on_bools(Fn::Max, c.b.dtype(x)), x, dims, c.flag(2))});
}
Value any_all(Call& c) {  // self, dim, keepdim
  const NodeId x = c.t(0);
  const bool keep = c.args.size() > 2 && c.flag(2);
  Ints dims;
  if (c.args.size() < 2)
    for (int64_t k = 0; k < c.b.rank(x); ++k) dims.push_back(k);
  else if (!c.has(1) || !c.ints(1).empty())  // an empty list is no dimension here, not all of them
    dims = c.dims(1, c.b.rank(x));
  NodeId y = c.b.reduce(c.row.tag, c.to(x, DType::Bool), dims, keep);
  if (c.b.dtype(x) == DType::U8) y = c.to(y, DType::U8);  // the one type for which PyTorch does not answer bool
  return c.out(y);
}
Value count_nonzero(Call& c) {
  const NodeId x = c.t(0);
  return c.out(c.sum(c.to(c.to(x, DType::Bool), DType::I64), c.dims(1, c.b.rank(x)), false));
}

// ---- variances. correction: a number, default 1

struct Moments {
  NodeId var, mean;
};
Moments moments(Call& c, NodeId x, const Ints& dims, double correction, bool keepdim) {
  const DType t = c.b.dtype(x);
  if (!ir::is_float(t)) malformed("variance of integers");
  const NodeId m = c.mean(x, dims, true), centred = c.sub(x, m);
  const double n = static_cast<double>(count(c, x, dims)) - correction;
  const NodeId v = c.div(c.sum(c.mul(centred, centred), dims, keepdim), c.num(n < 0 ? 0.0 : n, t));
  return {v, keepdim ? m : c.mean(x, dims, false)};
}
Value variance(Call& c) {  // self, dim, correction, keepdim; tag Sqrt: std; tag2 Add: and mean
  const NodeId x = c.t(0);
  const Moments m = moments(c, x, c.dims(1, c.b.rank(x)), c.has(2) ? c.f(2) : 1, c.flag(3));
  const NodeId v = c.row.tag == Fn::Sqrt ? c.un(Fn::Sqrt, m.var) : m.var;
  return c.row.tag2 == Fn::Add ? c.outs({v, m.mean}) : c.out(v);
}
Value variance_unbiased(Call& c) {  // self, dim, unbiased, keepdim
  const bool unbiased = c.flag(2);
  c.args[2] = Value::integer(unbiased ? 1 : 0);
  return variance(c);
}
Value variance_all(Call& c) {  // self, unbiased
  const bool unbiased = c.flag(1);
  c.args = {c.args[0], Value{}, Value::integer(unbiased ? 1 : 0), Value::boolean(false)};
  return variance(c);
}

// ---- norms

NodeId norm_of(Call& c, NodeId x, const Literal& p, const Ints& dims, bool keepdim) {
  const DType t = c.b.dtype(x);
  if (!ir::is_float(t)) unsupported("a norm of this type");
  const double v = p.kind == Literal::Kind::Float ? p.d : static_cast<double>(p.i);
  if (v == 2) return c.un(Fn::Sqrt, c.sum(c.mul(x, x), dims, keepdim));
  const NodeId a = c.un(Fn::Abs, x);
  if (v == 1) return c.sum(a, dims, keepdim);
  if (v == 0) return c.sum(c.to(c.to(x, DType::Bool), t), dims, keepdim);
  if (v == INFINITY) return c.b.reduce(Fn::Max, a, dims, keepdim);
  if (v == -INFINITY) return c.b.reduce(Fn::Min, a, dims, keepdim);
  return c.map(Fn::Pow, {c.sum(c.map(Fn::Pow, {a, c.lit(p, t)}), dims, keepdim), c.div(c.num(1, t), c.lit(p, t))});
}
Value vector_norm(Call& c) {  // self, ord, dim, keepdim, dtype
  NodeId x = c.t(0);
  x = c.to(x, c.dtype(4, c.b.dtype(x)));
  return c.out(norm_of(c, x, c.has(1) ? c.lit(1) : Literal::integer(2), c.dims(2, c.b.rank(x)), c.flag(3)));
}
Value norm_all(Call& c) {  // self, p
  const NodeId x = c.t(0);
  Ints all;
  for (int64_t k = 0; k < c.b.rank(x); ++k) all.push_back(k);
  return c.out(norm_of(c, x, c.has(1) ? c.lit(1) : Literal::integer(2), all, false));
}

Value logsumexp(Call& c) {
  NodeId x = c.t(0);
  if (!ir::is_float(c.b.dtype(x))) x = c.to(x, DType::F32);
  return c.out(c.un(Fn::Log, c.sum(c.un(Fn::Exp, x), c.dims(1, c.b.rank(x)), c.flag(2))));
}

// ---- scans: self, dim, dtype

Value scan(Call& c) {
  NodeId x = c.t(0);
  const DType from = c.b.dtype(x);
  x = c.to(x, c.dtype(2, small_int(from) ? DType::I64 : from));
  if (c.b.rank(x) == 0) return c.out(x);
  return c.out(c.b.scan(c.row.tag, x, c.dim(1, c.b.rank(x))));
}
Value logcumsumexp(Call& c) {
  const NodeId x = c.t(0);
  if (c.b.rank(x) == 0) return c.out(x);
  return c.out(c.un(Fn::Log, c.b.scan(Fn::Add, c.un(Fn::Exp, x), c.dim(1, c.b.rank(x)))));
}

// cummax -> values, and the last position so far that holds the extreme
Value scan_extreme(Call& c) {
  const NodeId x = c.t(0);
  if (c.b.rank(x) == 0) return c.outs({x, c.num(0, DType::I64)});
  const int64_t d = c.dim(1, c.b.rank(x));
  if (c.b.dtype(x) == DType::Bool) unsupported("a running extreme of bools");
  const NodeId v = c.b.scan(c.row.tag, x, d);
  const NodeId here = c.where(c.compare(Fn::Eq, x, v), positions(c, c.shape(x), d), c.num(0, DType::I64));
  return c.outs({v, c.b.scan(Fn::Max, here, d)});
}

// histc(self, bins, min, max): the count of each of `bins` equal intervals of [min, max]; the last one is closed.
Value histc(Call& c) {
  const NodeId x = c.b.reshape(c.t(0), {ir::num_elements(c.shape(c.t(0)))});
  const int64_t bins = c.i(1);
  const double lo = c.f(2), hi = c.f(3);
  const DType t = c.b.dtype(x);
  if (bins < 1 || !(lo < hi) || std::floor(lo) != lo || std::floor(hi) != hi) unsupported("histc whose range depends on data");
  // position = floor((x - min) bins / (max - min)), and bins - 1 at max
  NodeId position = x;
  if (!ir::is_float(t)) position = c.to(x, DType::F64);
  const DType f = c.b.dtype(position);
  const NodeId scaled = c.div(c.mul(c.sub(position, c.num(lo, f)), c.num(bins, f)), c.num(hi - lo, f));
  const NodeId at_end = c.compare(Fn::Eq, position, c.num(hi, f));
  const NodeId bin = c.where(at_end, c.num(bins - 1, f), c.un(Fn::Floor, scaled));
  const Shape grid{bins, c.shape(x)[0]};
  const NodeId hit = c.compare(Fn::Eq, c.b.iota(f, grid, 0), c.expand(bin, grid));
  return c.out(c.sum(c.to(hit, t), {1}, false));
}

const OpRow kRows[] = {
    {"aten.sum.default", "self dtype=None", sum_all},
    {"aten.sum.dim_IntList", "self dim keepdim=False dtype=None", sum_dims},
    {"prims.sum.default", "inp dims output_dtype=None", [](Call& c) { return c.out(sum_of(c, c.t(0), c.dims(1, c.rank(0)), false, 2)); }},
    {"aten.mean.default", "self dtype=None", mean_all},
    {"aten.mean.dim", "self dim keepdim=False dtype=None", mean_dims},
    {"aten.prod.default", "self dtype=None", prod_all},
    {"aten.prod.dim_int", "self dim keepdim=False dtype=None", prod},
    {"aten.amax.default", "self dim=[] keepdim=False", extreme, Fn::Max},
    {"aten.amin.default", "self dim=[] keepdim=False", extreme, Fn::Min},
    {"aten.max.default", "self", extreme_all, Fn::Max},
    {"aten.min.default", "self", extreme_all, Fn::Min},
    {"aten.max.dim", "self dim keepdim=False", extreme_dim, Fn::Max},
    {"aten.min.dim", "self dim keepdim=False", extreme_dim, Fn::Min},
    {"aten.argmax.default", "self dim=None keepdim=False", arg, Fn::Max},
    {"aten.argmin.default", "self dim=None keepdim=False", arg, Fn::Min},
    {"aten.aminmax.default", "self dim=None keepdim=False", aminmax},
    {"aten.any.default", "self", any_all, Fn::Or},
    {"aten.any.dim", "self dim keepdim=False", any_all, Fn::Or},
    {"aten.any.dims", "self dim=None keepdim=False", any_all, Fn::Or},
    {"aten.all.default", "self", any_all, Fn::And},
    {"aten.all.dim", "self dim keepdim=False", any_all, Fn::And},
    {"aten.all.dims", "self dim=None keepdim=False", any_all, Fn::And},
    {"aten.count_nonzero.default", "self dim=None", count_nonzero},
    {"aten.count_nonzero.dim_IntList", "self dim", count_nonzero},
    {"aten.var.correction", "self dim=None correction=None keepdim=False", variance},
    {"aten.std.correction", "self dim=None correction=None keepdim=False", variance, Fn::Sqrt},
    {"aten.var.dim", "self dim unbiased=True keepdim=False", variance_unbiased},
    {"aten.std.dim", "self dim unbiased=True keepdim=False", variance_unbiased, Fn::Sqrt},
    {"aten.var.default", "self unbiased=True", variance_all},
    {"aten.std.default", "self unbiased=True", variance_all, Fn::Sqrt},
    {"aten.var_mean.correction", "self dim=None correction=None keepdim=False", variance, Fn::None, Fn::Add},
    {"aten.std_mean.correction", "self dim=None correction=None keepdim=False", variance, Fn::Sqrt, Fn::Add},
    {"aten.var_mean.dim", "self dim unbiased=True keepdim=False", variance_unbiased, Fn::None, Fn::Add},
    {"aten.std_mean.dim", "self dim unbiased=True keepdim=False", variance_unbiased, Fn::Sqrt, Fn::Add},
    {"aten.var_mean.default", "self unbiased=True", variance_all, Fn::None, Fn::Add},
    {"aten.std_mean.default", "self unbiased=True", variance_all, Fn::Sqrt, Fn::Add},
    {"aten.linalg_vector_norm.default", "self ord=2 dim=None keepdim=False dtype=None", vector_norm},
    {"aten.norm.Scalar", "self p=2", norm_all},
    {"aten.norm.ScalarOpt_dim", "self p dim keepdim=False",
     [](Call& c) {
       c.args.push_back({});
       return vector_norm(c);
     }},
    {"aten.norm.ScalarOpt_dim_dtype", "self p dim keepdim dtype", vector_norm},
    {"aten.logsumexp.default", "self dim keepdim=False", logsumexp},
    {"aten.cumsum.default", "self dim dtype=None", scan, Fn::Add},
    {"aten.cumprod.default", "self dim dtype=None", scan, Fn::Mul},
    {"aten.cummax.default", "self dim", scan_extreme, Fn::Max},
    {"aten.cummin.default", "self dim", scan_extreme, Fn::Min},
    {"aten.logcumsumexp.default", "self dim", logcumsumexp},
    {"aten.histc.default", "self bins=100 min=0 max=0", histc},
};

}  // namespace

Rows reduce_rows() { return kRows; }

}  // namespace shardproof::lower::aten
