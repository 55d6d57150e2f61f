// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Pointwise operators: arithmetic, comparisons, logic, elementary functions. Operands are promoted by PyTorch's rules, Python numbers
// become literals of the common type, results have the promoted type (bool for predicates).
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

struct Common {
  DType type;
  Nodes xs;
};
// Operands ks in their common type.
Common promoted(Call& c, std::initializer_list<size_t> ks) {
  std::vector<Operand> operands;
  for (const size_t k : ks) operands.push_back(c.operand(k));
  Common r{result_type(c.b, operands), {}};
  for (const Operand& o : operands) r.xs.push_back(c.operand_node(o, r.type));
  return r;
}
DType float_of(DType t) { return ir::is_int(t) || t == DType::Bool ? DType::F32 : t; }

bool is_one(const Value& v) { return (v.is(Value::Kind::Int) && v.i == 1) || (v.is(Value::Kind::Float) && v.d == 1); }

// self + alpha * other and friends.
Value add(Call& c) {
  auto [t, xs] = promoted(c, {0, 1});
  const size_t scaled = std::string_view(c.row.name).find("rsub") != std::string_view::npos ? 0 : 1;
  NodeId x = xs[0], y = xs[1];
  const bool subtract = c.row.tag == Fn::Sub;
  if (ir::is_complex(t)) {
    if (!is_one(c.args[2])) unsupported("alpha with complex numbers");
    const auto [xr, xi] = c.l.parts(scaled == 0 ? y : x);
    const auto [yr, yi] = c.l.parts(scaled == 0 ? x : y);
    const Fn fn = subtract ? Fn::Sub : Fn::Add;
    return c.out(c.l.complex_from(c.map(fn, {xr, yr}), c.map(fn, {xi, yi})));
  }
  if (t == DType::Bool) {
    if (subtract || !is_one(c.args[2])) malformed("subtraction of bools");
    return c.out(c.map(Fn::Or, {x, y}));
  }
  if (!is_one(c.args[2])) {
    const NodeId alpha = c.lit(c.lit(2), t);
    (scaled == 0 ? x : y) = c.mul(scaled == 0 ? x : y, alpha);
  }
  if (scaled == 0) std::swap(x, y);
  return c.out(c.map(subtract ? Fn::Sub : Fn::Add, {x, y}));
}
Value mul(Call& c) {
  auto [t, xs] = promoted(c, {0, 1});
  if (ir::is_complex(t)) {
    const auto [ar, ai] = c.l.parts(xs[0]);
    const auto [br, bi] = c.l.parts(xs[1]);
    return c.out(c.l.complex_from(c.sub(c.mul(ar, br), c.mul(ai, bi)), c.add(c.mul(ar, bi), c.mul(ai, br))));
  }
  return c.out(c.map(t == DType::Bool ? Fn::And : Fn::Mul, xs));
}
Value div(Call& c) {
  auto [t, xs] = promoted(c, {0, 1});
  std::string mode;
  if (c.args.size() > 2 && c.has(2)) mode = c.str(2);
  if (ir::is_complex(t)) unsupported("complex division");
  if (mode.empty()) {
    const DType f = float_of(t);
    if (f != t) {  // literals were made in the integer type: make them anew
      std::vector<Operand> operands{c.operand(0), c.operand(1)};
      for (size_t k = 0; k < 2; ++k) xs[k] = c.operand_node(operands[k], f);
    }
    return c.out(c.div(xs[0], xs[1]));
  }
  if (mode != "floor" && mode != "trunc") malformed("rounding_mode " + mode);
  if (ir::is_float(t)) return c.out(c.un(mode == "floor" ? Fn::Floor : Fn::Trunc, c.div(xs[0], xs[1])));
  if (t == DType::Bool) unsupported("rounded division of bools");
  return c.out(c.map(mode == "floor" ? Fn::FloorDiv : Fn::Div, xs));
}
Value floor_divide(Call& c) {
  auto [t, xs] = promoted(c, {0, 1});
  if (ir::is_float(t)) return c.out(c.un(Fn::Floor, c.div(xs[0], xs[1])));
  return c.out(c.map(Fn::FloorDiv, xs));
}
// Two operands, result in the common type: maximum, remainder, fmod, bitwise on ints ...
Value binary(Call& c) {
  auto [t, xs] = promoted(c, {0, 1});
  if (ir::is_complex(t)) unsupported("complex operands");
  Fn fn = c.row.tag;
  if (t == DType::Bool && (fn == Fn::Max || fn == Fn::Min)) fn = fn == Fn::Max ? Fn::Or : Fn::And;
  return c.out(c.map(fn, xs, t));
}
Value binary_float(Call& c) {
  std::vector<Operand> operands{c.operand(0), c.operand(1)};
  const DType t = float_of(result_type(c.b, operands));
  return c.out(c.map(c.row.tag, {c.operand_node(operands[0], t), c.operand_node(operands[1], t)}, t));
}
Value compare(Call& c) {
  auto [t, xs] = promoted(c, {0, 1});
  if (ir::is_complex(t)) unsupported("comparison of complex numbers");
  return c.out(c.compare(c.row.tag, xs[0], xs[1]));
}
NodeId truth(Call& c, NodeId x) { return c.to(x, DType::Bool); }
Value logical(Call& c) {
  if (c.args.size() == 1) return c.out(c.un(Fn::Not, truth(c, c.t(0))));
  return c.out(c.map(c.row.tag, {truth(c, c.t(0)), truth(c, c.t(1))}, DType::Bool));
}
Value bitwise_not(Call& c) {
  if (ir::is_float(c.b.dtype(c.t(0)))) malformed("bitwise operator on floats");
  return c.out(c.un(Fn::Not, c.t(0)));
}
// One operand, type kept: neg, abs, sign, floor ...
Value unary(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  if (ir::is_complex(t)) {
    const auto [re, im] = c.l.parts(x);
    if (c.row.tag == Fn::Abs) return c.out(c.un(Fn::Sqrt, c.add(c.mul(re, re), c.mul(im, im))));
    if (c.row.tag != Fn::Neg) unsupported("complex operand");
    return c.out(c.l.complex_from(c.un(Fn::Neg, re), c.un(Fn::Neg, im)));
  }
  const bool rounds = c.row.tag == Fn::Floor || c.row.tag == Fn::Ceil || c.row.tag == Fn::Trunc || c.row.tag == Fn::Round;
  if (rounds && !ir::is_float(t)) return c.out(x);
  if (t == DType::Bool) unsupported("arithmetic on bools");
  if (c.row.tag == Fn::Abs && ir::is_unsigned_int(t)) return c.out(x);
  return c.out(c.un(c.row.tag, x));
}
// One operand, integers become floats: exp, sqrt, tanh ...
Value unary_float(Call& c) {
  const NodeId x = c.t(0);
  const DType t = float_of(c.b.dtype(x));
  if (ir::is_complex(t)) unsupported("complex operand");
  return c.out(c.un(c.row.tag, c.to(x, t)));
}
Value predicate(Call& c) {
  const NodeId x = c.t(0);
  if (!ir::is_float(c.b.dtype(x))) return c.out(c.b.constant(Literal::boolean(c.row.tag == Fn::IsFinite), DType::Bool, c.shape(x)));
  return c.out(c.b.map(c.row.tag, {x}, DType::Bool));
}
Value signbit(Call& c) { return c.out(c.compare(Fn::Lt, c.t(0), c.num(0, c.b.dtype(c.t(0))))); }

NodeId power(Call& c, NodeId x, const Literal& e) {
  const DType t = c.b.dtype(x);
  const double v = e.kind == Literal::Kind::Float ? e.d : static_cast<double>(e.i);
  // PyTorch computes these exponents so, too.
  if (v == 0) return c.full_like(x, Literal::integer(1));
  if (v == 1) return x;
  if (v == 2) return c.mul(x, x);
  if (v == 3) return c.mul3(x, x, x);
  if (v == 4) return c.map(Fn::Mul, {x, x, x, x});
  if (ir::is_float(t)) {
    if (v == 0.5) return c.un(Fn::Sqrt, x);
    if (v == -0.5) return c.un(Fn::Rsqrt, x);
    if (v == -1) return c.div(c.num(1, t), x);
    if (v == -2) return c.div(c.num(1, t), c.mul(x, x));
  }
  return c.map(Fn::Pow, {x, c.lit(e, t)});
}
Value pow_scalar(Call& c) {
  std::vector<Operand> operands{c.operand(0), c.operand(1)};
  const DType t = result_type(c.b, operands);
  if (ir::is_complex(t)) unsupported("complex power");
  if (!operands[1].scalar) return c.out(c.map(Fn::Pow, {c.operand_node(operands[0], t), c.operand_node(operands[1], t)}, t));
  return c.out(power(c, c.operand_node(operands[0], t), operands[1].lit));
}
Value reciprocal(Call& c) {
  const NodeId x = c.t(0);
  const DType t = float_of(c.b.dtype(x));
  return c.out(c.div(c.num(1, t), c.to(x, t)));
}
Value square(Call& c) { return c.out(c.mul(c.t(0), c.t(0))); }
Value conj_real(Call& c) {
  const NodeId x = c.t(0);
  if (!ir::is_complex(c.b.dtype(x))) return c.view(0, {});
  const auto [re, im] = c.l.parts(x);
  return c.out(c.l.complex_from(re, c.un(Fn::Neg, im)));
}

// clamp(self, min, max): bounds are numbers or tensors, either may be missing.
Value clamp(Call& c) {
  std::vector<Operand> operands{c.operand(0)};
  const bool lo = c.has(1), hi = c.args.size() > 2 && c.has(2);
  if (lo) operands.push_back(c.operand(1));
  if (hi) operands.push_back(c.operand(2));
  const DType t = result_type(c.b, operands);
  NodeId x = c.operand_node(operands[0], t);
  size_t k = 1;
  if (lo) x = c.map(Fn::Max, {x, c.operand_node(operands[k++], t)});
  if (hi) x = c.map(Fn::Min, {x, c.operand_node(operands[k], t)});
  return c.out(x);
}
Value clamp_one(Call& c) {
  auto [t, xs] = promoted(c, {0, 1});
  return c.out(c.map(c.row.tag, xs, t));
}

Value where(Call& c) {
  auto [t, xs] = promoted(c, {1, 2});
  NodeId cond = c.t(0);
  if (c.b.dtype(cond) != DType::Bool) cond = c.to(cond, DType::Bool);
  if (ir::is_complex(t)) {
    const auto [xr, xi] = c.l.parts(xs[0]);
    const auto [yr, yi] = c.l.parts(xs[1]);
    return c.out(c.l.complex_from(c.where(cond, xr, yr), c.where(cond, xi, yi)));
  }
  return c.out(c.where(cond, xs[0], xs[1]));
}
Value masked_fill(Call& c) {
  const NodeId x = c.t(0), mask = c.t(1);
  if (c.b.dtype(mask) != DType::Bool) malformed("a mask must be bool");
  const NodeId v = c.args[2].number() ? c.lit(c.lit(2), c.b.dtype(x)) : c.to(c.t(2), c.b.dtype(x));
  return c.out(c.where(mask, v, x));
}
Value lerp(Call& c) {  // self + weight (end - self)
  const NodeId x = c.t(0), end = c.to(c.t(1), c.b.dtype(x)), w = c.args[2].number() ? c.lit(c.lit(2), c.b.dtype(x)) : c.t(2);
  return c.out(c.add(x, c.mul(w, c.sub(end, x))));
}
// self + value * t1 * t2, self + value * t1 / t2
Value addc(Call& c) {
  auto [t, xs] = promoted(c, {0, 1, 2});
  NodeId y = xs[1];
  if (c.row.tag == Fn::Div && (ir::is_int(t) || t == DType::Bool)) malformed("addcdiv of integers");
  const NodeId v = c.lit(c.lit(3), t);
  if (c.row.tag == Fn::Div)
    y = is_one(c.args[3]) ? c.div(y, xs[2]) : c.mul(v, c.div(y, xs[2]));
  else
    y = is_one(c.args[3]) ? c.mul(y, xs[2]) : c.mul3(v, y, xs[2]);
  return c.out(c.add(xs[0], y));
}
Value fma(Call& c) {
  auto [t, xs] = promoted(c, {0, 1, 2});
  return c.out(c.add(c.mul(xs[0], xs[1]), xs[2]));
}
Value logaddexp(Call& c) {  // log(exp a + exp b)
  auto [t, xs] = promoted(c, {0, 1});
  return c.out(c.un(Fn::Log, c.add(c.un(Fn::Exp, xs[0]), c.un(Fn::Exp, xs[1]))));
}
Value xlogy(Call& c) {  // x log y, 0 where x is 0
  std::vector<Operand> operands{c.operand(0), c.operand(1)};
  const DType t = float_of(result_type(c.b, operands));
  const NodeId x = c.operand_node(operands[0], t), y = c.operand_node(operands[1], t);
  return c.out(c.where(c.compare(Fn::Eq, x, c.num(0, t)), c.num(0, t), c.mul(x, c.un(Fn::Log, y))));
}
Value frac(Call& c) { return c.out(c.sub(c.t(0), c.un(Fn::Trunc, c.t(0)))); }
Value round_to(Call& c) {
  if (c.i(1) != 0) unsupported("round to decimals");
  return c.out(ir::is_float(c.b.dtype(c.t(0))) ? c.un(Fn::Round, c.t(0)) : c.t(0));
}
Value deg2rad(Call& c) {
  const NodeId x = c.to(c.t(0), float_of(c.b.dtype(c.t(0))));
  return c.out(c.mul(x, c.num(M_PI / 180, c.b.dtype(x))));
}
constexpr const char* kTwo = "self other";
constexpr const char* kOne = "self";
// What the gradient of abs multiplies by.
Value sgn(Call& c) {
  const NodeId x = c.t(0);
  if (ir::is_complex(c.b.dtype(x))) unsupported("the direction of a complex number");
  return c.out(c.un(Fn::Sign, x));
}

const OpRow kRows[] = {
    {"aten.add.Tensor", "self other alpha=1", add},
    {"aten.add.Scalar", "self other alpha=1", add},
    {"aten.sub.Tensor", "self other alpha=1", add, Fn::Sub},
    {"aten.sub.Scalar", "self other alpha=1", add, Fn::Sub},
    {"aten.subtract.Tensor", "self other alpha=1", add, Fn::Sub},
    {"aten.rsub.Scalar", "self other alpha=1", add, Fn::Sub},
    {"aten.rsub.Tensor", "self other alpha=1", add, Fn::Sub},
    {"aten.mul.Tensor", kTwo, mul},
    {"aten.mul.Scalar", kTwo, mul},
    {"aten.multiply.Tensor", kTwo, mul},
    {"aten.div.Tensor", kTwo, div},
    {"aten.div.Scalar", kTwo, div},
    {"aten.true_divide.Tensor", kTwo, div},
    {"aten.divide.Tensor", kTwo, div},
    {"aten.div.Tensor_mode", "self other rounding_mode", div},
    {"aten.div.Scalar_mode", "self other rounding_mode", div},
    {"aten.floor_divide.default", kTwo, floor_divide},
    {"aten.floor_divide.Scalar", kTwo, floor_divide},
    {"aten.maximum.default", kTwo, binary, Fn::Max},
    {"aten.minimum.default", kTwo, binary, Fn::Min},
    {"aten.max.other", kTwo, binary, Fn::Max},
    {"aten.min.other", kTwo, binary, Fn::Min},
    {"aten.fmax.default", kTwo, binary, Fn::Max},
    {"aten.fmin.default", kTwo, binary, Fn::Min},
    {"aten.remainder.Tensor", kTwo, binary, Fn::Mod},
    {"aten.remainder.Scalar", kTwo, binary, Fn::Mod},
    {"aten.fmod.Tensor", kTwo, binary, Fn::Rem},
    {"aten.fmod.Scalar", kTwo, binary, Fn::Rem},
    {"aten.atan2.default", kTwo, binary_float, Fn::Atan2},
    {"aten.bitwise_and.Tensor", kTwo, binary, Fn::And},
    {"aten.bitwise_or.Tensor", kTwo, binary, Fn::Or},
    {"aten.bitwise_xor.Tensor", kTwo, binary, Fn::Xor},
    {"aten.bitwise_and.Scalar", kTwo, binary, Fn::And},
    {"aten.bitwise_or.Scalar", kTwo, binary, Fn::Or},
    {"aten.bitwise_xor.Scalar", kTwo, binary, Fn::Xor},
    {"aten.__and__.Tensor", kTwo, binary, Fn::And},
    {"aten.__or__.Tensor", kTwo, binary, Fn::Or},
    {"aten.__xor__.Tensor", kTwo, binary, Fn::Xor},
    {"aten.__and__.Scalar", kTwo, binary, Fn::And},
    {"aten.__or__.Scalar", kTwo, binary, Fn::Or},
    {"aten.__xor__.Scalar", kTwo, binary, Fn::Xor},
    {"aten.bitwise_left_shift.Tensor", kTwo, binary, Fn::Shl},
    {"aten.bitwise_right_shift.Tensor", kTwo, binary, Fn::ShrA},
    {"aten.bitwise_left_shift.Tensor_Scalar", kTwo, binary, Fn::Shl},
    {"aten.bitwise_right_shift.Tensor_Scalar", kTwo, binary, Fn::ShrA},
    {"aten.__lshift__.Scalar", kTwo, binary, Fn::Shl},
    {"aten.__rshift__.Scalar", kTwo, binary, Fn::ShrA},
    {"aten.bitwise_not.default", kOne, bitwise_not},
    {"aten.eq.Tensor", kTwo, compare, Fn::Eq},
    {"aten.ne.Tensor", kTwo, compare, Fn::Ne},
    {"aten.lt.Tensor", kTwo, compare, Fn::Lt},
    {"aten.le.Tensor", kTwo, compare, Fn::Le},
    {"aten.gt.Tensor", kTwo, compare, Fn::Gt},
    {"aten.ge.Tensor", kTwo, compare, Fn::Ge},
    {"aten.eq.Scalar", kTwo, compare, Fn::Eq},
    {"aten.ne.Scalar", kTwo, compare, Fn::Ne},
    {"aten.lt.Scalar", kTwo, compare, Fn::Lt},
    {"aten.le.Scalar", kTwo, compare, Fn::Le},
    {"aten.gt.Scalar", kTwo, compare, Fn::Gt},
    {"aten.ge.Scalar", kTwo, compare, Fn::Ge},
    {"aten.not_equal.Tensor", kTwo, compare, Fn::Ne},
    {"aten.greater.Tensor", kTwo, compare, Fn::Gt},
    {"aten.less.Tensor", kTwo, compare, Fn::Lt},
    {"prims.eq.default", kTwo, compare, Fn::Eq},
    {"prims.ne.default", kTwo, compare, Fn::Ne},
    {"prims.lt.default", kTwo, compare, Fn::Lt},
    {"prims.le.default", kTwo, compare, Fn::Le},
    {"prims.gt.default", kTwo, compare, Fn::Gt},
    {"prims.ge.default", kTwo, compare, Fn::Ge},
    {"aten.logical_and.default", kTwo, logical, Fn::And},
    {"aten.logical_or.default", kTwo, logical, Fn::Or},
    {"aten.logical_xor.default", kTwo, logical, Fn::Xor},
    {"aten.logical_not.default", kOne, logical},
    {"aten.neg.default", kOne, unary, Fn::Neg},
    {"aten.abs.default", kOne, unary, Fn::Abs},
    {"aten.sign.default", kOne, unary, Fn::Sign},
    {"aten.sgn.default", kOne, sgn},
    {"aten.floor.default", kOne, unary, Fn::Floor},
    {"aten.ceil.default", kOne, unary, Fn::Ceil},
    {"aten.trunc.default", kOne, unary, Fn::Trunc},
    {"aten.round.default", kOne, unary, Fn::Round},
    {"aten.round.decimals", "self decimals=0", round_to},
    {"aten.frac.default", kOne, frac},
    {"aten.exp.default", kOne, unary_float, Fn::Exp},
    {"aten.exp2.default", kOne, unary_float, Fn::Exp2},
    {"aten.expm1.default", kOne, unary_float, Fn::Expm1},
    {"aten.log.default", kOne, unary_float, Fn::Log},
    {"aten.log2.default", kOne, unary_float, Fn::Log2},
    {"aten.log10.default", kOne, unary_float, Fn::Log10},
    {"aten.log1p.default", kOne, unary_float, Fn::Log1p},
    {"aten.sqrt.default", kOne, unary_float, Fn::Sqrt},
    {"aten.rsqrt.default", kOne, unary_float, Fn::Rsqrt},
    {"aten.sin.default", kOne, unary_float, Fn::Sin},
    {"aten.cos.default", kOne, unary_float, Fn::Cos},
    {"aten.tan.default", kOne, unary_float, Fn::Tan},
    {"aten.asin.default", kOne, unary_float, Fn::Asin},
    {"aten.acos.default", kOne, unary_float, Fn::Acos},
    {"aten.atan.default", kOne, unary_float, Fn::Atan},
    {"aten.sinh.default", kOne, unary_float, Fn::Sinh},
    {"aten.cosh.default", kOne, unary_float, Fn::Cosh},
    {"aten.tanh.default", kOne, unary_float, Fn::Tanh},
    {"aten.asinh.default", kOne, unary_float, Fn::Asinh},
    {"aten.acosh.default", kOne, unary_float, Fn::Acosh},
    {"aten.atanh.default", kOne, unary_float, Fn::Atanh},
    {"aten.sigmoid.default", kOne, unary_float, Fn::Logistic},
    {"aten.special_expit.default", kOne, unary_float, Fn::Logistic},
    {"aten.erf.default", kOne, unary_float, Fn::Erf},
    {"aten.erfc.default", kOne, unary_float, Fn::Erfc},
    {"aten.erfinv.default", kOne, unary_float, Fn::ErfInv},
    {"aten.lgamma.default", kOne, unary_float, Fn::Lgamma},
    {"aten.digamma.default", kOne, unary_float, Fn::Digamma},
    {"aten.isnan.default", kOne, predicate, Fn::IsNan},
    {"aten.isinf.default", kOne, predicate, Fn::IsInf},
    {"aten.isfinite.default", kOne, predicate, Fn::IsFinite},
    {"aten.signbit.default", kOne, signbit},
    {"aten.reciprocal.default", kOne, reciprocal},
    {"aten.square.default", kOne, square},
    {"aten.pow.Tensor_Scalar", "self exponent", pow_scalar},
    {"aten.pow.Tensor_Tensor", "self exponent", pow_scalar},
    {"aten.pow.Scalar", "self exponent", pow_scalar},
    {"aten._conj.default", kOne, conj_real},
    {"aten.conj.default", kOne, conj_real},
    {"aten._conj_physical.default", kOne, conj_real},
    {"aten.conj_physical.default", kOne, conj_real},
    {"aten.resolve_conj.default", kOne, [](Call& c) { return c.view(0, {}); }},
    {"aten.resolve_neg.default", kOne, [](Call& c) { return c.view(0, {}); }},
    {"aten.clamp.default", "self min=None max=None", clamp},
    {"aten.clamp.Tensor", "self min=None max=None", clamp},
    {"aten.clip.default", "self min=None max=None", clamp},
    {"aten.clamp_min.default", "self min", clamp_one, Fn::Max},
    {"aten.clamp_max.default", "self max", clamp_one, Fn::Min},
    {"aten.clamp_min.Tensor", "self min", clamp_one, Fn::Max},
    {"aten.clamp_max.Tensor", "self max", clamp_one, Fn::Min},
    {"aten.where.self", "condition self other", where},
    {"aten.where.ScalarOther", "condition self other", where},
    {"aten.where.ScalarSelf", "condition self other", where},
    {"aten.where.Scalar", "condition self other", where},
    {"prims.where.default", "pred a b", where},
    {"aten.masked_fill.Scalar", "self mask value", masked_fill},
    {"aten.masked_fill.Tensor", "self mask value", masked_fill},
    {"aten.lerp.Scalar", "self end weight", lerp},
    {"aten.lerp.Tensor", "self end weight", lerp},
    {"aten.addcmul.default", "self tensor1 tensor2 value=1", addc, Fn::Mul},
    {"aten.addcdiv.default", "self tensor1 tensor2 value=1", addc, Fn::Div},
    {"prims.fma.default", "a b c", fma},
    {"aten.logaddexp.default", kTwo, logaddexp},
    {"aten.xlogy.Tensor", kTwo, xlogy},
    {"aten.deg2rad.default", kOne, deg2rad},
};

}  // namespace

Rows pointwise_rows() { return kRows; }

}  // namespace shardproof::lower::aten
