// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Random operators: each is a Random node, numbered in program order, and arithmetic on it.
#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

NodeId draw(Call& c, const char* distribution, const Literal& parameter, DType t, const Shape& s) {
  for (const int64_t n : s)
    if (n < 0) malformed("a negative size");
  return c.b.random(distribution, parameter, t, s, c.l.draws++);
}
NodeId uniform_draw(Call& c, DType t, const Shape& s) { return draw(c, "uniform", Literal::integer(0), t, s); }
NodeId normal_draw(Call& c, DType t, const Shape& s) { return draw(c, "normal", Literal::integer(0), t, s); }

// native_dropout(input, p, train) -> (x mask / (1 - p), mask)
Value native_dropout(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const double p = c.f(1);
  if (!(p >= 0 && p <= 1)) malformed("a probability outside [0, 1]");
  if (c.has(2) && !c.flag(2)) return c.outs({x, c.b.constant(Literal::boolean(true), DType::Bool, c.shape(x))});
  const NodeId mask = draw(c, "bernoulli", Literal::real(1 - p), DType::Bool, c.shape(x));
  // As PyTorch: the scale is 1 / (1 - p) in double, the number that native_dropout_backward is given.
  return c.outs({c.mul3(x, c.to(mask, t), c.num(p == 1 ? 0.0 : 1 / (1 - p), t)), mask});
}
Value native_dropout_backward(Call& c) {  // grad mask scale
  const NodeId g = c.t(0);
  if (!ir::is_float(c.b.dtype(g))) unsupported("dropout of integers");
  return c.out(c.mul3(g, c.to(c.t(1), c.b.dtype(g)), c.lit(c.lit(2), c.b.dtype(g))));
}
Value dropout(Call& c) {  // input p train: bernoulli(1 - p) / (1 - p) times input
  const NodeId x = c.t(0);
  const double p = c.f(1);
  if (!c.flag(2) || p == 0) return c.args[0].is(Value::Kind::Tensor) ? c.view(0, {}) : c.out(x);
  const DType t = c.b.dtype(x);
  const NodeId mask = draw(c, "bernoulli", Literal::real(1 - p), DType::Bool, c.shape(x));
  return c.out(c.mul3(x, c.to(mask, t), c.num(p == 1 ? 0.0 : 1 / (1 - p), t)));
}
Value rand(Call& c) { return c.out(uniform_draw(c, c.dtype(1, DType::F32), c.ints(0))); }
Value randn(Call& c) { return c.out(normal_draw(c, c.dtype(1, DType::F32), c.ints(0))); }
Value rand_like(Call& c) { return c.out(uniform_draw(c, c.dtype(1, c.b.dtype(c.t(0))), c.shape(c.t(0)))); }
Value randn_like(Call& c) { return c.out(normal_draw(c, c.dtype(1, c.b.dtype(c.t(0))), c.shape(c.t(0)))); }
// Integers in [low, high): floor(low + u (high - low))
NodeId integers(Call& c, int64_t low, int64_t high, const Shape& s, DType t) {
  if (high <= low) malformed("an empty range of integers");
  const NodeId u = uniform_draw(c, DType::F64, s);
  return c.to(c.un(Fn::Floor, c.add(c.mul(u, c.num(high - low, DType::F64)), c.num(low, DType::F64))), t);
}
Value randint(Call& c) { return c.out(integers(c, 0, c.i(0), c.ints(1), c.dtype(2, DType::I64))); }
Value randint_low(Call& c) { return c.out(integers(c, c.i(0), c.i(1), c.ints(2), c.dtype(3, DType::I64))); }
Value randint_like(Call& c) {
  const NodeId x = c.t(0);
  const bool low = c.args.size() > 7;
  return c.out(integers(c, low ? c.i(1) : 0, c.i(low ? 2 : 1), c.shape(x), c.dtype(low ? 3 : 2, c.b.dtype(x))));
}
void no_generator(Call& c, size_t k) {
  if (c.has(k)) unsupported("a random generator object");
}
Value bernoulli(Call& c) {  // self holds probabilities
  no_generator(c, 1);
  const NodeId p = c.t(0);
  return c.out(c.to(c.compare(Fn::Lt, uniform_draw(c, c.b.dtype(p), c.shape(p)), p), c.b.dtype(p)));
}
Value bernoulli_p(Call& c) {
  no_generator(c, 2);
  const NodeId x = c.t(0);
  return c.out(c.to(draw(c, "bernoulli", Literal::real(c.f(1)), DType::Bool, c.shape(x)), c.b.dtype(x)));
}
Value uniform(Call& c) {  // self from to
  no_generator(c, 3);
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const NodeId u = uniform_draw(c, t, c.shape(x)), lo = c.lit(c.lit(1), t), hi = c.lit(c.lit(2), t);
  if (c.f(1) == 0 && c.f(2) == 1) return c.out(u);
  return c.out(c.add(lo, c.mul(u, c.sub(hi, lo))));
}
Value normal(Call& c) {  // self mean std
  no_generator(c, 3);
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const NodeId z = normal_draw(c, t, c.shape(x));
  if (c.f(1) == 0 && c.f(2) == 1) return c.out(z);
  return c.out(c.add(c.lit(c.lit(1), t), c.mul(z, c.lit(c.lit(2), t))));
}
// inductor's and prims' forms
Value inductor_random(Call& c) {  // size, seed, mode
  const std::string mode = c.str(2);
  if (mode != "rand" && mode != "randn") unsupported("random mode " + mode);
  return c.out(mode == "rand" ? uniform_draw(c, DType::F32, c.ints(0)) : normal_draw(c, DType::F32, c.ints(0)));
}

const OpRow kRows[] = {
    {"aten.native_dropout.default", "input p train", native_dropout},
    {"aten.native_dropout_backward.default", "grad_output mask scale", native_dropout_backward},
    {"aten.dropout.default", "input p train", dropout},
    {"aten.rand.default", "size &factory", rand},
    {"aten.randn.default", "size &factory", randn},
    {"aten.rand_like.default", "self &factory memory_format=None", rand_like},
    {"aten.randn_like.default", "self &factory memory_format=None", randn_like},
    {"aten.randint.default", "high size &factory", randint},
    {"aten.randint.low", "low high size &factory", randint_low},
    {"aten.randint_like.default", "self high &factory memory_format=None", randint_like},
    {"aten.randint_like.low_dtype", "self low high &factory memory_format=None", randint_like},
    {"aten.bernoulli.default", "self generator=None", bernoulli},
    {"aten.bernoulli.p", "self p generator=None", bernoulli_p},
    {"aten.bernoulli.float", "self p=0.5 generator=None", bernoulli_p},
    {"aten.uniform.default", "self from=0.0 to=1.0 generator=None", uniform},
    {"aten.normal_functional.default", "self mean=0.0 std=1.0 generator=None", normal},
    {"aten.normal.default", "self mean=0.0 std=1.0 generator=None", normal},
    {"prims.inductor_random.default", "size seed mode align_dtype=None", inductor_random},
};

}  // namespace

Rows random_rows() { return kRows; }

}  // namespace shardproof::lower::aten
