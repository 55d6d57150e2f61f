// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Activation functions and their backwards, softmax and log-softmax. Literals (0.044715, sqrt(1/2) ...) are those of PyTorch's kernels.
// Softmax is exp(x) / sum(exp(x)): the subtraction of the maximum is a matter of rounding, not of real arithmetic.
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;     // M_SQRT1_2
constexpr double kTwoBySqrtPi = 1.12837916709551257390;  // M_2_SQRTPI
constexpr double kTanhBeta = 1.41421356237309504880 * kTwoBySqrtPi * 0.5;
constexpr double kTanhKappa = 0.044715;

// x as a float tensor, and small words for what follows.
struct Floats {
  Call& c;
  DType t;
  NodeId n(double v) { return c.num(v, t); }
  NodeId sigmoid(NodeId x) { return c.un(Fn::Logistic, x); }
  NodeId one_minus(NodeId x) { return c.sub(n(1), x); }
};

Value relu(Call& c) { return c.out(c.map(Fn::Max, {c.t(0), c.num(0, c.b.dtype(c.t(0)))})); }
Value relu6(Call& c) {
  const DType t = c.b.dtype(c.t(0));
  return c.out(c.map(Fn::Min, {c.map(Fn::Max, {c.t(0), c.num(0, t)}), c.num(6, t)}));
}
Value hardtanh(Call& c) {
  const DType t = c.b.dtype(c.t(0));
  return c.out(c.map(Fn::Min, {c.map(Fn::Max, {c.t(0), c.lit(c.lit(1), t)}), c.lit(c.lit(2), t)}));
}
Value hardtanh_backward(Call& c) {  // grad, self, min, max
  const NodeId g = c.t(0), x = c.t(1);
  const DType t = c.b.dtype(x);
  const NodeId outside = c.map(Fn::Or, {c.compare(Fn::Le, x, c.lit(c.lit(2), t)), c.compare(Fn::Ge, x, c.lit(c.lit(3), t))});
  return c.out(c.where(outside, c.num(0, t), g));
}
Value threshold(Call& c) {  // x where x > threshold, else value
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  return c.out(c.where(c.compare(Fn::Le, x, c.lit(c.lit(1), t)), c.lit(c.lit(2), t), x));
}
Value threshold_backward(Call& c) {  // grad, self, threshold
  const NodeId g = c.t(0), x = c.t(1);
  return c.out(c.where(c.compare(Fn::Le, x, c.lit(c.lit(2), c.b.dtype(x))), c.num(0, c.b.dtype(g)), g));
}
Value leaky_relu(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  return c.out(c.where(c.compare(Fn::Gt, x, c.num(0, t)), x, c.mul(x, c.lit(c.lit(1), t))));
}
Value leaky_relu_backward(Call& c) {  // grad, self, slope, self_is_result
  const NodeId g = c.t(0), x = c.t(1);
  const DType t = c.b.dtype(x);
  return c.out(c.where(c.compare(Fn::Gt, x, c.num(0, t)), g, c.mul(g, c.lit(c.lit(2), t))));
}
Value prelu(Call& c) {
  const NodeId x = c.t(0);
  NodeId w = c.t(1);
  if (ir::num_elements(c.shape(w)) == 1) {
    w = c.b.reshape(w, {});
  } else if (c.b.rank(w) == 1 && c.b.rank(x) >= 2) {  // one weight per channel
    Shape s(c.shape(x).size(), 1);
    s[1] = c.shape(w)[0];
    w = c.b.reshape(w, s);
  }
  return c.out(c.where(c.compare(Fn::Gt, x, c.num(0, c.b.dtype(x))), x, c.mul(w, x)));
}

// x < 0 branch: negcoef (exp(x * negiptcoef) - 1)
Value elu(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const NodeId alpha = c.lit(c.lit(1), t), scale = c.lit(c.lit(2), t), in = c.lit(c.lit(3), t);
  return c.out(c.where(c.compare(Fn::Le, x, c.num(0, t)), c.mul3(c.un(Fn::Expm1, c.mul(x, in)), alpha, scale), c.mul(x, scale)));
}
Value elu_backward(Call& c) {  // grad, alpha, scale, input_scale, is_result, self_or_result
  const NodeId g = c.t(0), x = c.t(5);
  const DType t = c.b.dtype(x);
  const NodeId alpha = c.lit(c.lit(1), t), scale = c.lit(c.lit(2), t), in = c.lit(c.lit(3), t);
  NodeId slope;
  if (c.flag(4))
    slope = c.mul(in, c.add(x, c.mul(alpha, scale)));
  else
    slope = c.map(Fn::Mul, {in, alpha, scale, c.un(Fn::Exp, c.mul(x, in))});
  return c.out(c.where(c.compare(Fn::Le, x, c.num(0, t)), c.mul(g, slope), c.mul(g, scale)));
}
constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;
Value selu(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  return c.out(c.where(c.compare(Fn::Le, x, c.num(0, t)), c.mul3(c.un(Fn::Expm1, x), c.num(kSeluAlpha, t), c.num(kSeluScale, t)),
                       c.mul(x, c.num(kSeluScale, t))));
}
Value celu(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const NodeId a = c.lit(c.lit(1), t);
  return c.out(c.where(c.compare(Fn::Le, x, c.num(0, t)), c.mul(c.un(Fn::Expm1, c.div(x, a)), a), x));
}

Value silu(Call& c) { return c.out(c.mul(c.t(0), c.un(Fn::Logistic, c.t(0)))); }
Value silu_backward(Call& c) {  // g s (1 + x (1 - s))
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  const NodeId s = f.sigmoid(x);
  return c.out(c.mul3(g, s, c.add(f.n(1), c.mul(x, f.one_minus(s)))));
}
Value sigmoid_backward(Call& c) {  // grad, output: g y (1 - y)
  const NodeId g = c.t(0), y = c.t(1);
  Floats f{c, c.b.dtype(y)};
  return c.out(c.mul3(g, y, f.one_minus(y)));
}
Value tanh_backward(Call& c) {  // g (1 - y^2)
  const NodeId g = c.t(0), y = c.t(1);
  Floats f{c, c.b.dtype(y)};
  return c.out(c.mul(g, f.one_minus(c.mul(y, y))));
}
bool by_tanh(Call& c, size_t k) {
  const std::string a = c.str(k);
  if (a != "none" && a != "tanh") malformed("gelu: approximate = " + a);
  return a == "tanh";
}
Value gelu(Call& c) {
  const NodeId x = c.t(0);
  Floats f{c, c.b.dtype(x)};
  if (by_tanh(c, 1)) {
    const NodeId inner = c.mul(f.n(kTanhBeta), c.add(x, c.mul(f.n(kTanhKappa), c.mul3(x, x, x))));
    return c.out(c.mul3(f.n(0.5), x, c.add(f.n(1), c.un(Fn::Tanh, inner))));
  }
  return c.out(c.mul3(f.n(0.5), x, c.add(f.n(1), c.un(Fn::Erf, c.mul(x, f.n(kSqrtHalf))))));
}
Value gelu_backward(Call& c) {
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  if (by_tanh(c, 2)) {
    const NodeId inner = c.mul(f.n(kTanhBeta), c.add(x, c.mul(f.n(kTanhKappa), c.mul3(x, x, x))));
    const NodeId y = c.un(Fn::Tanh, inner);
    const NodeId left = c.mul(f.n(0.5), c.add(f.n(1), y));
    const NodeId slope = c.mul(f.n(kTanhBeta), c.add(f.n(1), c.mul3(f.n(3 * kTanhKappa), x, x)));
    const NodeId right = c.map(Fn::Mul, {f.n(0.5), x, f.one_minus(c.mul(y, y)), slope});
    return c.out(c.mul(g, c.add(left, right)));
  }
  const NodeId cdf = c.mul(f.n(0.5), c.add(f.n(1), c.un(Fn::Erf, c.mul(x, f.n(kSqrtHalf)))));
  const NodeId pdf = c.mul(f.n(kTwoBySqrtPi * kSqrtHalf * 0.5), c.un(Fn::Exp, c.mul3(f.n(-0.5), x, x)));
  return c.out(c.mul(g, c.add(cdf, c.mul(x, pdf))));
}
// x clamp(x + 3, 0, 6) / 6
NodeId hard_gate(Floats& f, NodeId x) {
  Call& c = f.c;
  return c.div(c.map(Fn::Min, {c.map(Fn::Max, {c.add(x, f.n(3)), f.n(0)}), f.n(6)}), f.n(6));
}
Value hardsigmoid(Call& c) {
  Floats f{c, c.b.dtype(c.t(0))};
  return c.out(hard_gate(f, c.t(0)));
}
Value hardswish(Call& c) {
  Floats f{c, c.b.dtype(c.t(0))};
  return c.out(c.mul(c.t(0), hard_gate(f, c.t(0))));
}
Value hardsigmoid_backward(Call& c) {
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  const NodeId inside = c.map(Fn::And, {c.compare(Fn::Gt, x, f.n(-3)), c.compare(Fn::Lt, x, f.n(3))});
  return c.out(c.where(inside, c.div(g, f.n(6)), f.n(0)));
}
Value hardswish_backward(Call& c) {
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  const NodeId middle = c.mul(g, c.add(c.div(x, f.n(3)), f.n(0.5)));
  return c.out(c.where(c.compare(Fn::Le, x, f.n(-3)), f.n(0), c.where(c.compare(Fn::Lt, x, f.n(3)), middle, g)));
}
// log(1 + exp(beta x)) / beta; beyond the threshold x itself, as PyTorch has it
NodeId softplus_of(Floats& f, NodeId x) { return f.c.un(Fn::Log1p, f.c.un(Fn::Exp, x)); }
Value softplus(Call& c) {
  const NodeId x = c.t(0);
  Floats f{c, c.b.dtype(x)};
  const NodeId beta = c.lit(c.lit(1), f.t), bx = c.mul(x, beta);
  return c.out(c.where(c.compare(Fn::Gt, bx, c.lit(c.lit(2), f.t)), x, c.div(softplus_of(f, bx), beta)));
}
Value softplus_backward(Call& c) {  // grad, self, beta, threshold
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  const NodeId bx = c.mul(x, c.lit(c.lit(2), f.t));
  return c.out(c.where(c.compare(Fn::Gt, bx, c.lit(c.lit(3), f.t)), g, c.mul(g, f.sigmoid(bx))));
}
Value mish(Call& c) {
  Floats f{c, c.b.dtype(c.t(0))};
  return c.out(c.mul(c.t(0), c.un(Fn::Tanh, softplus_of(f, c.t(0)))));
}
Value mish_backward(Call& c) {
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  const NodeId y = c.un(Fn::Tanh, softplus_of(f, x));
  return c.out(c.mul(g, c.add(y, c.mul3(x, f.sigmoid(x), f.one_minus(c.mul(y, y))))));
}
Value log_sigmoid(Call& c) {  // log(sigmoid x); the kernel forms return a buffer that only the backward reads
  const NodeId x = c.t(0);
  Floats f{c, c.b.dtype(x)};
  const NodeId y = c.un(Fn::Neg, softplus_of(f, c.un(Fn::Neg, x)));
  if (std::string_view(c.row.name).find("_forward") == std::string_view::npos) return c.out(y);
  // On the CPU the buffer is exp(-|x|), elsewhere it is empty.
  const fx::TensorType* t = c.annotated(1);
  if (t && t->shape != c.shape(x)) return c.outs({y, c.b.uninit(t->dtype, t->shape)});
  return c.outs({y, c.un(Fn::Exp, c.un(Fn::Neg, c.un(Fn::Abs, x)))});
}
Value log_sigmoid_backward(Call& c) {  // grad, self, buffer
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  return c.out(c.mul(g, f.sigmoid(c.un(Fn::Neg, x))));
}
std::pair<NodeId, NodeId> halves(Call& c, NodeId x, int64_t d) {
  const int64_t n = c.shape(x)[static_cast<size_t>(d)];
  if (n % 2) malformed("glu of an odd size");
  return {c.b.slice_dim(x, d, 0, n / 2), c.b.slice_dim(x, d, n / 2, n)};
}
Value glu(Call& c) {
  const NodeId x = c.t(0);
  const auto [a, gate] = halves(c, x, c.dim(1, c.b.rank(x)));
  return c.out(c.mul(a, c.un(Fn::Logistic, gate)));
}
Value glu_backward(Call& c) {  // grad, self, dim
  const NodeId g = c.t(0), x = c.t(1);
  Floats f{c, c.b.dtype(x)};
  const int64_t d = c.dim(2, c.b.rank(x));
  const auto [a, gate] = halves(c, x, d);
  const NodeId s = f.sigmoid(gate);
  return c.out(c.b.concat({c.mul(g, s), c.map(Fn::Mul, {g, a, s, f.one_minus(s)})}, d));
}
Value softsign(Call& c) {
  const NodeId x = c.t(0);
  return c.out(c.div(x, c.add(c.num(1, c.b.dtype(x)), c.un(Fn::Abs, x))));
}
Value hardshrink(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  return c.out(c.where(c.compare(Fn::Le, c.un(Fn::Abs, x), c.lit(c.lit(1), t)), c.num(0, t), x));
}
Value softshrink(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const NodeId l = c.lit(c.lit(1), t);
  return c.out(c.where(c.compare(Fn::Gt, x, l), c.sub(x, l), c.where(c.compare(Fn::Lt, x, c.un(Fn::Neg, l)), c.add(x, l), c.num(0, t))));
}

// ---- softmax

Value softmax(Call& c) {  // self, dim, half_to_float | dtype
  NodeId x = c.t(0);
  if (c.args[2].is(Value::Kind::Bool)) {
    if (c.flag(2)) x = c.to(x, DType::F32);
  } else {
    x = c.to(x, c.dtype(2, ir::is_float(c.b.dtype(x)) ? c.b.dtype(x) : DType::F32));
  }
  const int64_t r = c.b.rank(x);
  const Ints over = r ? Ints{c.dim(1, r)} : Ints{};
  const NodeId e = c.un(Fn::Exp, x), s = c.sum(e, over, true);
  return c.out(c.row.tag == Fn::Log ? c.sub(x, c.un(Fn::Log, s)) : c.div(e, s));
}
Value safe_softmax(Call& c) {  // rows that are -inf throughout give 0
  const NodeId x = c.to(c.t(0), c.dtype(2, c.b.dtype(c.t(0))));
  const DType t = c.b.dtype(x);
  const int64_t d = c.dim(1, c.b.rank(x));
  // The sum of exponentials is 0 only there.
  const NodeId e = c.un(Fn::Exp, x), sum = c.sum(e, {d}, true);
  return c.out(c.where(c.compare(Fn::Eq, sum, c.num(0, t)), c.num(0, t), c.div(e, sum)));
}
Value softmax_backward(Call& c) {  // grad, output, dim, input_dtype
  const NodeId g = c.t(0), y = c.t(1);
  const int64_t r = c.b.rank(y);
  const Ints over = r ? Ints{c.dim(2, r)} : Ints{};
  NodeId x;
  if (c.row.tag == Fn::Log)
    x = c.sub(g, c.mul(c.un(Fn::Exp, y), c.sum(g, over, true)));
  else
    x = c.mul(y, c.sub(g, c.sum(c.mul(g, y), over, true)));
  return c.out(c.to(x, c.dtype(3, c.b.dtype(x))));
}

constexpr const char* kOne = "self";
constexpr const char* kGrad = "grad_output self";
const OpRow kRows[] = {
    {"aten.relu.default", kOne, relu},
    {"aten.relu6.default", kOne, relu6},
    {"aten.hardtanh.default", "self min_val=-1 max_val=1", hardtanh},
    {"aten.hardtanh_backward.default", "grad_output self min_val max_val", hardtanh_backward},
    {"aten.threshold.default", "self threshold value", threshold},
    {"aten.threshold_backward.default", "grad_output self threshold", threshold_backward},
    {"aten.leaky_relu.default", "self negative_slope=0.01", leaky_relu},
    {"aten.leaky_relu_backward.default", "grad_output self negative_slope self_is_result", leaky_relu_backward},
    {"aten.prelu.default", "self weight", prelu},
    {"aten._prelu_kernel.default", "self weight", prelu},
    {"aten.elu.default", "self alpha=1 scale=1 input_scale=1", elu},
    {"aten.elu_backward.default", "grad_output alpha scale input_scale is_result self_or_result", elu_backward},
    {"aten.selu.default", kOne, selu},
    {"aten.celu.default", "self alpha=1.0", celu},
    {"aten.silu.default", kOne, silu},
    {"aten.silu_backward.default", kGrad, silu_backward},
    {"aten.sigmoid_backward.default", "grad_output output", sigmoid_backward},
    {"aten.tanh_backward.default", "grad_output output", tanh_backward},
    {"aten.gelu.default", "self approximate='none'", gelu},
    {"aten.gelu_backward.default", "grad_output self approximate='none'", gelu_backward},
    {"aten.hardsigmoid.default", kOne, hardsigmoid},
    {"aten.hardsigmoid_backward.default", kGrad, hardsigmoid_backward},
    {"aten.hardswish.default", kOne, hardswish},
    {"aten.hardswish_backward.default", kGrad, hardswish_backward},
    {"aten.softplus.default", "self beta=1 threshold=20", softplus},
    {"aten.softplus_backward.default", "grad_output self beta threshold", softplus_backward},
    {"aten.mish.default", kOne, mish},
    {"aten.mish_backward.default", kGrad, mish_backward},
    {"aten.log_sigmoid.default", kOne, log_sigmoid},
    {"aten.log_sigmoid_forward.default", kOne, log_sigmoid},
    {"aten.log_sigmoid_backward.default", "grad_output self buffer", log_sigmoid_backward},
    {"aten.glu.default", "self dim=-1", glu},
    {"aten.glu_backward.default", "grad_output self dim", glu_backward},
    {"aten.softsign.default", kOne, softsign},
    {"aten.hardshrink.default", "self lambd=0.5", hardshrink},
    {"aten.softshrink.default", "self lambd=0.5", softshrink},
    {"aten._softmax.default", "self dim half_to_float", softmax},
    {"aten._log_softmax.default", "self dim half_to_float", softmax, Fn::Log},
    {"aten._safe_softmax.default", "self dim dtype=None", safe_softmax},
    {"aten.softmax.int", "self dim dtype=None", softmax},
    {"aten.log_softmax.int", "self dim dtype=None", softmax, Fn::Log},
    {"aten.special_softmax.default", "self dim dtype=None", softmax},
    {"aten.special_log_softmax.default", "self dim dtype=None", softmax, Fn::Log},
    {"aten._softmax_backward_data.default", "grad_output output dim input_dtype", softmax_backward},
    {"aten._log_softmax_backward_data.default", "grad_output output dim input_dtype", softmax_backward, Fn::Log},
};

}  // namespace

Rows activation_rows() { return kRows; }

}  // namespace shardproof::lower::aten
