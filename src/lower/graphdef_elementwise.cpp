// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Element by element: arithmetic, comparisons, activations and their gradients.
#include <fmt/format.h>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {
namespace {

bool complex(const Call& c, size_t k) { return ir::is_complex(c.dtype(k)); }

template <Fn fn>
Values unary(Call& c) {
  if (complex(c, 0)) throw Unsupported{"complex numbers"};
  return {c.b.unary(fn, c.t(0))};
}

template <Fn fn>
Values predicate(Call& c) {
  return {c.b.map(fn, {c.t(0)}, DType::Bool)};
}

template <Fn fn>
Values binary(Call& c) {
  return {c.binary(fn, c.t(0), c.t(1))};
}

template <Fn fn>
Values comparison(Call& c) {
  if (c.attr("incompatible_shape_error", 1) == 0) throw Unsupported{"incompatible_shape_error = false"};
  return {c.compare(fn, c.t(0), c.t(1))};
}

// Functions of floats only: integers have another meaning there.
template <Fn fn>
Values float_binary(Call& c) {
  if (!ir::is_float(c.dtype(0))) throw Unsupported{"an integer type"};
  return {c.binary(fn, c.t(0), c.t(1))};
}

Values identity(Call& c) {
  if (c.count() == 0) throw Unsupported{"no input"};
  return {c.in[0]};
}
Values identity_n(Call& c) { return c.in; }
Values nothing(Call&) { return {}; }

Values logical_not(Call& c) { return {c.b.unary(Fn::Not, c.t(0))}; }

Values square(Call& c) { return {c.mul(c.t(0), c.t(0))}; }
Values reciprocal(Call& c) {
  if (!ir::is_float(c.dtype(0))) throw Unsupported{"an integer type"};
  return {c.div(c.number(1, c.dtype(0)), c.t(0))};
}

Values squared_difference(Call& c) {
  NodeId d = c.sub(c.t(0), c.t(1));
  return {c.mul(d, d)};
}

Values div_no_nan(Call& c) {
  NodeId zero = c.zero(c.dtype(1));
  return {c.select(c.compare(Fn::Eq, c.t(1), zero), zero, c.div(c.t(0), c.t(1)))};
}

Values mul_no_nan(Call& c) {
  NodeId zero = c.zero(c.dtype(1));
  return {c.select(c.compare(Fn::Eq, c.t(1), zero), zero, c.mul(c.t(0), c.t(1)))};
}

// RightShift: arithmetic for signed, logical for unsigned integers. A shift by the width or more is left open by TensorFlow.
Values right_shift(Call& c) { return {c.binary(ir::is_signed_int(c.dtype(0)) ? Fn::ShrA : Fn::ShrL, c.t(0), c.t(1))}; }

Values cast(Call& c) {
  DType to = c.attr_t("DstT", DType::Invalid);
  if (c.attr("Truncate", 0) != 0) throw Unsupported{"Truncate = true"};
  if (to == DType::F8 || to == DType::F4 || ir::is_complex(to) || complex(c, 0)) throw Unsupported{"a cast to or from this type"};
  return {c.b.convert(c.t(0), to)};
}

Values add_n(Call& c) {
  NodeId sum = c.t(0);
  for (size_t k = 1; k < c.count(); ++k) {
    if (c.shape(k) != c.shape(0)) throw Unsupported{"terms of different shapes"};
    sum = c.add(sum, c.t(k));
  }
  return {sum};
}

Values select_v2(Call& c) { return {c.select(c.t(0), c.t(1), c.t(2))}; }

// Select: a vector condition chooses rows, else all three have one shape (or the condition is a number).
Values select_v1(Call& c) {
  NodeId cond = c.t(0);
  const Shape s = c.shape(1);
  if (s != c.shape(2)) throw Unsupported{"branches of different shapes"};
  if (c.shape(0).size() == 1 && s.size() > 1 && c.shape(0)[0] == s[0])
    cond = c.b.broadcast(cond, s, {0});
  else if (!c.shape(0).empty() && c.shape(0) != s)
    throw Unsupported{"a condition of another shape"};
  return {c.select(cond, c.t(1), c.t(2))};
}

Values clip(Call& c) { return {c.binary(Fn::Min, c.binary(Fn::Max, c.t(0), c.t(1)), c.t(2))}; }

// --- activations

Values relu(Call& c) { return {c.binary(Fn::Max, c.t(0), c.zero(c.dtype(0)))}; }
Values relu6(Call& c) { return {c.binary(Fn::Min, c.binary(Fn::Max, c.t(0), c.zero(c.dtype(0))), c.number(6, c.dtype(0)))}; }

NodeId alpha_of(Call& c) { return c.number(c.attr_f("alpha", 0.2f), c.dtype(0)); }
Values leaky_relu(Call& c) {
  NodeId x = c.t(0);
  return {c.select(c.compare(Fn::Gt, x, c.zero(c.dtype(0))), x, c.mul(x, alpha_of(c)))};
}
Values leaky_relu_grad(Call& c) {  // gradients, features
  return {c.select(c.compare(Fn::Gt, c.t(1), c.zero(c.dtype(1))), c.t(0), c.mul(c.t(0), alpha_of(c)))};
}
Values elu(Call& c) {
  NodeId x = c.t(0);
  return {c.select(c.compare(Fn::Lt, x, c.zero(c.dtype(0))), c.b.unary(Fn::Expm1, x), x)};
}
Values elu_grad(Call& c) {  // gradients, outputs
  return {c.select(c.compare(Fn::Lt, c.t(1), c.zero(c.dtype(1))), c.mul(c.t(0), c.add(c.t(1), c.number(1, c.dtype(1)))), c.t(0))};
}
Values softplus(Call& c) { return {c.b.unary(Fn::Log1p, c.b.unary(Fn::Exp, c.t(0)))}; }
Values softplus_grad(Call& c) { return {c.mul(c.t(0), c.b.unary(Fn::Logistic, c.t(1)))}; }  // gradients, features
Values softsign(Call& c) { return {c.div(c.t(0), c.add(c.number(1, c.dtype(0)), c.b.unary(Fn::Abs, c.t(0))))}; }

// --- gradients: (y, dy) unless said otherwise

Values tanh_grad(Call& c) { return {c.mul(c.t(1), c.sub(c.number(1, c.dtype(0)), c.mul(c.t(0), c.t(0))))}; }
Values sigmoid_grad(Call& c) { return {c.mul(c.t(1), c.mul(c.t(0), c.sub(c.number(1, c.dtype(0)), c.t(0))))}; }
Values relu_grad(Call& c) {  // gradients, features
  NodeId zero = c.zero(c.dtype(0));
  return {c.select(c.compare(Fn::Gt, c.t(1), zero), c.t(0), zero)};
}
Values relu6_grad(Call& c) {
  NodeId zero = c.zero(c.dtype(0));
  NodeId inside = c.b.map(Fn::And, {c.compare(Fn::Gt, c.t(1), zero), c.compare(Fn::Lt, c.t(1), c.number(6, c.dtype(1)))}, DType::Bool);
  return {c.select(inside, c.t(0), zero)};
}
Values rsqrt_grad(Call& c) { return {c.mul(c.mul(c.number(-0.5, c.dtype(0)), c.t(1)), c.mul(c.t(0), c.mul(c.t(0), c.t(0))))}; }
Values sqrt_grad(Call& c) { return {c.div(c.mul(c.number(0.5, c.dtype(0)), c.t(1)), c.t(0))}; }
Values inv_grad(Call& c) { return {c.b.unary(Fn::Neg, c.mul(c.t(1), c.mul(c.t(0), c.t(0))))}; }

}  // namespace

void add_elementwise(Table& table) {
  const std::pair<const char*, Handler> entries[] = {{"Identity", identity},
                                                     {"StopGradient", identity},
                                                     {"PreventGradient", identity},
                                                     {"CheckNumerics", identity},
                                                     {"CheckNumericsV2", identity},
                                                     {"Snapshot", identity},
                                                     {"EnsureShape", identity},
                                                     {"DebugIdentity", identity},
                                                     {"_Retval", identity},
                                                     {"IdentityN", identity_n},
                                                     {"NoOp", nothing},
                                                     {"Assert", nothing},
                                                     {"ControlTrigger", nothing},
                                                     {"Neg", unary<Fn::Neg>},
                                                     {"Abs", unary<Fn::Abs>},
                                                     {"Sign", unary<Fn::Sign>},
                                                     {"Exp", unary<Fn::Exp>},
                                                     {"Expm1", unary<Fn::Expm1>},
                                                     {"Log", unary<Fn::Log>},
                                                     {"Log1p", unary<Fn::Log1p>},
                                                     {"Sqrt", unary<Fn::Sqrt>},
                                                     {"Rsqrt", unary<Fn::Rsqrt>},
                                                     {"Sin", unary<Fn::Sin>},
                                                     {"Cos", unary<Fn::Cos>},
                                                     {"Tan", unary<Fn::Tan>},
                                                     {"Asin", unary<Fn::Asin>},
                                                     {"Acos", unary<Fn::Acos>},
                                                     {"Atan", unary<Fn::Atan>},
                                                     {"Sinh", unary<Fn::Sinh>},
                                                     {"Cosh", unary<Fn::Cosh>},
                                                     {"Tanh", unary<Fn::Tanh>},
                                                     {"Asinh", unary<Fn::Asinh>},
                                                     {"Acosh", unary<Fn::Acosh>},
                                                     {"Atanh", unary<Fn::Atanh>},
                                                     {"Sigmoid", unary<Fn::Logistic>},
                                                     {"Erf", unary<Fn::Erf>},
                                                     {"Erfc", unary<Fn::Erfc>},
                                                     {"Erfinv", unary<Fn::ErfInv>},
                                                     {"Lgamma", unary<Fn::Lgamma>},
                                                     {"Digamma", unary<Fn::Digamma>},
                                                     {"Floor", unary<Fn::Floor>},
                                                     {"Ceil", unary<Fn::Ceil>},
                                                     {"Rint", unary<Fn::Round>},
                                                     {"Round", unary<Fn::Round>},
                                                     {"LogicalNot", logical_not},
                                                     {"Invert", logical_not},
                                                     {"IsFinite", predicate<Fn::IsFinite>},
                                                     {"IsNan", predicate<Fn::IsNan>},
                                                     {"IsInf", predicate<Fn::IsInf>},
                                                     {"Square", square},
                                                     {"Reciprocal", reciprocal},
                                                     {"Inv", reciprocal},
                                                     {"Cast", cast},
                                                     {"Add", binary<Fn::Add>},
                                                     {"AddV2", binary<Fn::Add>},
                                                     {"Sub", binary<Fn::Sub>},
                                                     {"Mul", binary<Fn::Mul>},
                                                     {"RealDiv", float_binary<Fn::Div>},
                                                     {"Div", binary<Fn::Div>},
                                                     {"TruncateDiv", binary<Fn::Div>},
                                                     {"FloorDiv", binary<Fn::FloorDiv>},
                                                     {"FloorMod", binary<Fn::Mod>},
                                                     {"Mod", binary<Fn::Rem>},
                                                     {"TruncateMod", binary<Fn::Rem>},
                                                     {"Pow", binary<Fn::Pow>},
                                                     {"Maximum", binary<Fn::Max>},
                                                     {"Minimum", binary<Fn::Min>},
                                                     {"Atan2", float_binary<Fn::Atan2>},
                                                     {"SquaredDifference", squared_difference},
                                                     {"DivNoNan", div_no_nan},
                                                     {"MulNoNan", mul_no_nan},
                                                     {"LogicalAnd", binary<Fn::And>},
                                                     {"LogicalOr", binary<Fn::Or>},
                                                     {"BitwiseAnd", binary<Fn::And>},
                                                     {"BitwiseOr", binary<Fn::Or>},
                                                     {"BitwiseXor", binary<Fn::Xor>},
                                                     {"LeftShift", binary<Fn::Shl>},
                                                     {"RightShift", right_shift},
                                                     {"Equal", comparison<Fn::Eq>},
                                                     {"NotEqual", comparison<Fn::Ne>},
                                                     {"Less", comparison<Fn::Lt>},
                                                     {"LessEqual", comparison<Fn::Le>},
                                                     {"Greater", comparison<Fn::Gt>},
                                                     {"GreaterEqual", comparison<Fn::Ge>},
                                                     {"AddN", add_n},
                                                     {"AccumulateNV2", add_n},
                                                     {"SelectV2", select_v2},
                                                     {"Select", select_v1},
                                                     {"ClipByValue", clip},
                                                     {"Relu", relu},
                                                     {"Relu6", relu6},
                                                     {"LeakyRelu", leaky_relu},
                                                     {"LeakyReluGrad", leaky_relu_grad},
                                                     {"Elu", elu},
                                                     {"EluGrad", elu_grad},
                                                     {"Softplus", softplus},
                                                     {"SoftplusGrad", softplus_grad},
                                                     {"Softsign", softsign},
                                                     {"TanhGrad", tanh_grad},
                                                     {"SigmoidGrad", sigmoid_grad},
                                                     {"ReluGrad", relu_grad},
                                                     {"Relu6Grad", relu6_grad},
                                                     {"RsqrtGrad", rsqrt_grad},
                                                     {"SqrtGrad", sqrt_grad},
                                                     {"InvGrad", inv_grad},
                                                     {"ReciprocalGrad", inv_grad}};
  for (const auto& [name, handler] : entries) table.emplace(name, handler);
}

}  // namespace shardproof::lower::gd
