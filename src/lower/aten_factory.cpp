// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Tensors made from nothing (zeros, full, arange, empty ...) and conversions of element type and device.
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

// Parameters of these functions end in dtype layout device pin_memory (&factory); `k` is dtype's place.
Value filled(Call& c, const Shape& s, const Literal& v, DType t) {
  for (const int64_t n : s)
    if (n < 0) malformed("a negative size");
  ir::num_elements(s);
  return c.out(c.b.constant(v, t, s));
}
DType type_of(const Literal& v) {
  return v.kind == Literal::Kind::Float ? DType::F32 : v.kind == Literal::Kind::Bool ? DType::Bool : DType::I64;
}

template <int kValue>
Value constant(Call& c) {
  return filled(c, c.ints(0), Literal::integer(kValue), c.dtype(1, DType::F32));
}
template <int kValue>
Value constant_like(Call& c) {
  const NodeId x = c.t(0);
  return filled(c, c.shape(x), Literal::integer(kValue), c.dtype(1, c.b.dtype(x)));
}
template <int kValue>
Value new_constant(Call& c) {
  return filled(c, c.ints(1), Literal::integer(kValue), c.dtype(2, c.b.dtype(c.t(0))));
}
Value full(Call& c) {
  if (!c.args[1].number()) {
    const NodeId v = c.t(1);
    return c.out(c.expand(c.to(c.b.reshape(v, {}), c.dtype(2, c.b.dtype(v))), c.ints(0)));
  }
  return filled(c, c.ints(0), c.lit(1), c.dtype(2, type_of(c.lit(1))));
}
Value full_like(Call& c) {
  const NodeId x = c.t(0);
  return filled(c, c.shape(x), c.lit(1), c.dtype(2, c.b.dtype(x)));
}
Value new_full(Call& c) { return filled(c, c.ints(1), c.lit(2), c.dtype(3, c.b.dtype(c.t(0)))); }
Value fill(Call& c) {
  const NodeId x = c.t(0);
  if (c.args[1].number()) return filled(c, c.shape(x), c.lit(1), c.b.dtype(x));
  return c.out(c.expand(c.to(c.b.reshape(c.t(1), {}), c.b.dtype(x)), c.shape(x)));
}
Value zero(Call& c) { return filled(c, c.shape(c.t(0)), Literal::integer(0), c.b.dtype(c.t(0))); }
Value scalar_tensor(Call& c) {
  if (!c.args[0].number()) return c.out(c.to(c.b.reshape(c.t(0), {}), c.dtype(1, DType::F32)));
  return filled(c, {}, c.lit(0), c.dtype(1, DType::F32));
}

Value empty(Call& c) { return c.out(c.b.uninit(c.dtype(1, DType::F32), c.ints(0))); }
Value empty_strided(Call& c) { return c.out(c.b.uninit(c.dtype(2, DType::F32), c.ints(0))); }
Value empty_like(Call& c) {
  const NodeId x = c.t(0);
  return c.out(c.b.uninit(c.dtype(1, c.b.dtype(x)), c.shape(x)));
}
Value new_empty(Call& c) { return c.out(c.b.uninit(c.dtype(2, c.b.dtype(c.t(0))), c.ints(1))); }
Value new_empty_strided(Call& c) { return c.out(c.b.uninit(c.dtype(3, c.b.dtype(c.t(0))), c.ints(1))); }
Value prims_empty(Call& c) { return c.out(c.b.uninit(c.dtype(2, DType::F32), c.ints(0))); }

// start + step * [0, 1, ..., n)
Value range(Call& c, const Literal& start, const Literal& stop, const Literal& step, size_t dtype_at) {
  const auto real = [](const Literal& v) { return v.kind == Literal::Kind::Float ? v.d : static_cast<double>(v.i); };
  const bool ints = start.kind != Literal::Kind::Float && stop.kind != Literal::Kind::Float && step.kind != Literal::Kind::Float;
  if (real(step) == 0) malformed("arange with step 0");
  int64_t n = 0;
  if (ints) {
    const __int128 span = static_cast<__int128>(stop.i) - start.i, by = step.i;
    const __int128 count = by > 0 ? (span + by - 1) / by : (span + by + 1) / by;
    if (count < 0 || (span < 0) != (by < 0))
      n = 0;
    else if (count > (int64_t{1} << 40))
      malformed("arange of an impossible size");
    else
      n = static_cast<int64_t>(count);
    if (span == 0) n = 0;
  } else {
    const double count = std::ceil((real(stop) - real(start)) / real(step));
    if (!(count < 1e12)) malformed("arange of an impossible size");
    n = count > 0 ? static_cast<int64_t>(count) : 0;
  }
  const DType t = c.dtype(dtype_at, ints ? DType::I64 : DType::F32);
  NodeId x = c.b.iota(t, {n}, 0);
  if (real(step) != 1) x = c.mul(x, c.lit(step, t));
  if (real(start) != 0) x = c.add(x, c.lit(start, t));
  return c.out(x);
}
Value arange(Call& c) { return range(c, Literal::integer(0), c.lit(0), Literal::integer(1), 1); }
Value arange_start(Call& c) { return range(c, c.lit(0), c.lit(1), Literal::integer(1), 2); }
Value arange_step(Call& c) { return range(c, c.lit(0), c.lit(1), c.lit(2), 3); }
// prims.iota(length, *, start, step, dtype, ...)
Value iota(Call& c) {
  const DType t = c.dtype(3, DType::I64);
  NodeId x = c.b.iota(t, {c.i(0)}, 0);
  if (c.i(2) != 1) x = c.mul(x, c.num(c.i(2), t));
  if (c.i(1) != 0) x = c.add(x, c.num(c.i(1), t));
  return c.out(x);
}
// Symmetric from both ends in PyTorch, so that the rounding of `step` differs; in real arithmetic start + i (end - start) / (n - 1).
Value linspace(Call& c) {
  const int64_t n = c.i(2);
  const DType t = c.dtype(3, DType::F32);
  if (!ir::is_float(t) || n < 0) unsupported("linspace of this type");
  const NodeId start = c.lit(c.lit(0), t), end = c.lit(c.lit(1), t);
  if (n <= 1) return c.out(c.expand(start, {n}));
  return c.out(c.add(start, c.mul(c.b.iota(t, {n}, 0), c.div(c.sub(end, start), c.num(n - 1, t)))));
}
Value eye(Call& c) {
  const int64_t n = c.i(0);
  return c.out(c.to(triangle(c, {n, n}, Fn::Eq, 0), c.dtype(1, DType::F32)));
}
Value eye_m(Call& c) { return c.out(c.to(triangle(c, {c.i(0), c.i(1)}, Fn::Eq, 0), c.dtype(2, DType::F32))); }

// ---- conversions. The function's tag says which argument is the type.

Value to_copy(Call& c) {
  const NodeId x = c.t(0);
  return c.out(c.to(x, c.dtype(1, c.b.dtype(x))));
}
// `to` returns its operand if nothing changes; the device may change too, and we do not track devices.
Value to_dtype(Call& c) {
  const NodeId x = c.t(0), y = c.to(x, c.dtype(1, c.b.dtype(x)));
  if (y == x && c.args[0].is(Value::Kind::Tensor)) return Value::of(c.m.maybe_view(c.args[0].tensor, y));
  return c.out(y);
}
Value to_device(Call& c) {
  const NodeId x = c.t(0), y = c.to(x, c.dtype(2, c.b.dtype(x)));
  if (y == x && c.args[0].is(Value::Kind::Tensor)) return Value::of(c.m.maybe_view(c.args[0].tensor, y));
  return c.out(y);
}
Value to_other(Call& c) {
  const NodeId x = c.t(0), y = c.to(x, c.b.dtype(c.t(1)));
  if (y == x && c.args[0].is(Value::Kind::Tensor)) return Value::of(c.m.maybe_view(c.args[0].tensor, y));
  return c.out(y);
}
Value device_put(Call& c) {
  const NodeId x = c.t(0);
  return c.args[0].is(Value::Kind::Tensor) ? Value::of(c.m.maybe_view(c.args[0].tensor, x)) : c.out(x);
}
// copy(self, src): src in self's shape and type.
Value copy(Call& c) {
  const NodeId x = c.t(0);
  return c.out(c.expand(c.to(c.t(1), c.b.dtype(x)), c.shape(x)));
}
// ---- scalars out of tensors, and checks that return nothing

Value item(Call& c) { return c.out(c.b.reshape(c.t(0), {})); }
Value nothing(Call&) { return {}; }
Value sym_size(Call& c) {
  const Shape s = c.shape(c.t(0));
  return Value::integer(s.at(static_cast<size_t>(c.dim(1, static_cast<int64_t>(s.size())))));
}
Value sym_numel(Call& c) { return Value::integer(ir::num_elements(c.shape(c.t(0)))); }

const OpRow kRows[] = {
    {"aten.zeros.default", "size &factory", constant<0>},
    {"aten.ones.default", "size &factory", constant<1>},
    {"aten.zeros_like.default", "self &factory memory_format=None", constant_like<0>},
    {"aten.ones_like.default", "self &factory memory_format=None", constant_like<1>},
    {"aten.new_zeros.default", "self size &factory", new_constant<0>},
    {"aten.new_ones.default", "self size &factory", new_constant<1>},
    {"aten.full.default", "size fill_value &factory", full},
    {"aten.full_like.default", "self fill_value &factory memory_format=None", full_like},
    {"aten.new_full.default", "self size fill_value &factory", new_full},
    {"aten.fill.Scalar", "self value", fill},
    {"aten.fill.Tensor", "self value", fill},
    {"aten.zero.default", "self", zero},
    {"aten.scalar_tensor.default", "s &factory", scalar_tensor},
    {"prims.scalar_tensor.default", "s dtype=None device=None", scalar_tensor},
    {"prims.full.default", "shape fill_value dtype=None device=None requires_grad=False", full},
    {"prims.full_like.default", "a fill_value dtype=None device=None requires_grad=False", full_like},
    {"aten.empty.memory_format", "size &factory memory_format=None", empty},
    {"aten.empty.default", "size &factory memory_format=None", empty},
    {"aten.empty_strided.default", "size stride &factory", empty_strided},
    {"aten.empty_permuted.default", "size physical_layout &factory", empty_strided},
    {"aten.empty_like.default", "self &factory memory_format=None", empty_like},
    {"aten.new_empty.default", "self size &factory", new_empty},
    {"aten.new_empty_strided.default", "self size stride &factory", new_empty_strided},
    {"prims.empty_strided.default", "shape strides dtype=None device=None requires_grad=False", prims_empty},
    {"prims.empty_permuted.default", "shape physical_layout dtype=None device=None requires_grad=False", prims_empty},
    {"aten.arange.default", "end &factory", arange},
    {"aten.arange.start", "start end &factory", arange_start},
    {"aten.arange.start_step", "start end step=1 &factory", arange_step},
    {"prims.iota.default", "length start=0 step=1 dtype=None device=None requires_grad=False", iota},
    {"aten.linspace.default", "start end steps &factory", linspace},
    {"aten.eye.default", "n &factory", eye},
    {"aten.eye.m", "n m &factory", eye_m},
    {"aten._to_copy.default", "self dtype=None layout=None device=None pin_memory=None non_blocking=False memory_format=None", to_copy},
    {"prims.convert_element_type.default", "a dtype", to_copy},
    {"aten.to.dtype", "self dtype non_blocking=False copy=False memory_format=None", to_dtype},
    {"aten.to.dtype_layout", "self dtype=None layout=None device=None pin_memory=None non_blocking=False copy=False memory_format=None",
     to_dtype},
    {"aten.to.device", "self device dtype non_blocking=False copy=False memory_format=None", to_device},
    {"aten.to.other", "self other non_blocking=False copy=False memory_format=None", to_other},
    {"aten.type_as.default", "self other", to_other},
    {"prims.device_put.default", "a device non_blocking=False", device_put},
    {"aten.copy.default", "self src non_blocking=False", copy},
    {"aten._local_scalar_dense.default", "self", item},
    {"aten.item.default", "self", item},
    {"prims.item.default", "a", item},
    {"aten._assert_scalar.default", "self assert_msg", nothing},
    {"aten._assert_async.msg", "self assert_msg", nothing},
    {"aten._assert_async.default", "self", nothing},
    {"aten._functional_assert_async.msg", "self assert_msg dep_token", nothing},
    {"aten._functional_assert_scalar.default", "self assert_msg dep_token", nothing},
    {"aten._assert_tensor_metadata.default", "a size=None stride=None dtype=None device=None layout=None", nothing},
    {"aten.sym_constrain_range.default", "size min=None max=None", nothing},
    {"aten.sym_constrain_range_for_size.default", "size min=None max=None", nothing},
    {"aten.sym_size.int", "self dim", sym_size},
    {"aten.sym_numel.default", "self", sym_numel},
};

}  // namespace

Rows factory_rows() { return kRows; }

}  // namespace shardproof::lower::aten
