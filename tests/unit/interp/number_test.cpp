// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Rigour: results of intervals enclose what balls of 256 bits compute from the same points; readings of literals.
#include <doctest/doctest.h>

#include <random>

#include "interp/eval.h"

using namespace shardproof;
using namespace shardproof::interp;
using ir::DType;
using ir::Fn;

namespace {

// Is the exact value of fn at a random point of the operands' intervals inside the interval result?
void check_enclosed(Fn fn, const std::vector<Interval>& args, std::mt19937_64& random) {
  arb_t x[2], out, got;
  for (auto& a : x) arb_init(a);
  arb_init(out);
  arb_init(got);
  std::uniform_real_distribution<double> part(-1, 1);
  for (size_t k = 0; k < args.size(); ++k) {
    arb_set_d(x[k], part(random));
    arb_t r;
    arb_init(r);
    arb_set_d(r, args[k].r);
    arb_mul(x[k], x[k], r, 300);
    arb_set_d(r, args[k].m);
    arb_add(x[k], x[k], r, 300);
    arb_clear(r);
  }
  args.size() == 1 ? apply(fn, out, x[0], 300) : apply(fn, out, x[0], x[1], 300);
  const Interval fast = args.size() == 1 ? apply(fn, args[0]) : apply(fn, args[0], args[1]);
  CAPTURE(ir::name(fn));
  CAPTURE(args[0].m);
  CAPTURE(args[0].r);
  CAPTURE(args.back().m);
  CAPTURE(fast.m);
  CAPTURE(fast.r);
  if (is_real(fast)) {
    REQUIRE(arb_is_finite(out));
    set_interval(got, fast);
    CHECK(arb_overlaps(got, out));
    // and not by the width of the reference alone
    CHECK((arb_is_exact(out) || arb_rel_accuracy_bits(out) > 90));
  } else if (is_undefined(fast)) {
    CHECK((is_undefined(out) || is_undecided(out)));
  }
  for (auto& a : x) arb_clear(a);
  arb_clear(out);
  arb_clear(got);
}

}  // namespace

TEST_CASE("intervals enclose") {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit(0, 1);
  const Fn unary[] = {Fn::Neg,  Fn::Abs,   Fn::Exp,  Fn::Expm1,    Fn::Log,  Fn::Log1p, Fn::Sqrt,  Fn::Rsqrt, Fn::Sin,
                      Fn::Cos,  Fn::Tan,   Fn::Tanh, Fn::Logistic, Fn::Erf,  Fn::Erfc,  Fn::Atan,  Fn::Asin,  Fn::Sinh,
                      Fn::Cosh, Fn::Asinh, Fn::Cbrt, Fn::Exp2,     Fn::Log2, Fn::Log10, Fn::Floor, Fn::Round};
  const Fn binary[] = {Fn::Add, Fn::Sub, Fn::Mul, Fn::Div, Fn::Max, Fn::Min, Fn::Pow, Fn::Mod, Fn::Rem, Fn::FloorDiv, Fn::Atan2};
  for (int k = 0; k < 3000; ++k) {
    const auto draw = [&]() -> Interval {
      const double m = normal(random) * std::pow(10, std::floor(unit(random) * 8) - 4);
      const double r = unit(random) < 0.3 ? 0 : std::fabs(m) * std::pow(10, -unit(random) * 16);
      return {m, r};
    };
    check_enclosed(unary[static_cast<size_t>(k) % std::size(unary)], {draw()}, random);
    check_enclosed(binary[static_cast<size_t>(k) % std::size(binary)], {draw(), draw()}, random);
  }
  // extremes: near overflow, underflow, subnormal
  for (double m : {1e308, 1e-308, 5e-324, 1e300, 1e-300, 0.0, 1.7e308}) {
    for (double n : {1e308, 1e-308, 5e-324, 1e10, 3.0, 1e-10}) {
      for (Fn fn : {Fn::Add, Fn::Mul, Fn::Div, Fn::Sub}) check_enclosed(fn, {{m, 0}, {n, 0}}, random);
      check_enclosed(Fn::Mul, {{m, m * 1e-10}, {n, n * 1e-9}}, random);
    }
    for (Fn fn : {Fn::Sqrt, Fn::Log, Fn::Tanh, Fn::Logistic}) check_enclosed(fn, {{m, 0}}, random);
  }
}

TEST_CASE("exact results have radius 0") {
  CHECK(add({1, 0}, {2, 0}).r == 0);
  CHECK(mul({3, 0}, {0.125, 0}).r == 0);
  CHECK(div({6, 0}, {3, 0}).r == 0);
  CHECK(sqrt({9, 0}).r == 0);
  CHECK(div({1, 0}, {3, 0}).r > 0);
  CHECK(add({1, 0}, {1e-30, 0}).r > 0);
  CHECK(mul({0.1, 0}, {0.1, 0}).r > 0);
}

TEST_CASE("closed forms of literals") {
  const auto form = [](double d, DType t) { return closed_form(d, t); };
  REQUIRE(form(0.3333333432674408, DType::F32));
  CHECK(form(0.3333333432674408, DType::F32)->p == 1);
  CHECK(form(0.3333333432674408, DType::F32)->q == 3);
  REQUIRE(form(0.28867513459481287, DType::F64));  // 1/sqrt(12)
  CHECK(form(0.28867513459481287, DType::F64)->root);
  CHECK(form(0.28867513459481287, DType::F64)->q == 12);
  REQUIRE(form(1e-5, DType::F64));
  CHECK(form(1e-5, DType::F64)->q == 100000);
  REQUIRE(form(-0.1, DType::F32));
  CHECK(form(-0.1, DType::F32)->p == -1);
  CHECK(!form(0.25, DType::F32));  // itself
  CHECK(!form(3, DType::BF16));
  CHECK(is_simple_literal(0.125, DType::F32));
  CHECK(is_simple_literal(1e9, DType::F32));
  CHECK(!is_simple_literal(0.1, DType::F64));
  CHECK(round_to_format(0.1, DType::F32) == static_cast<double>(0.1f));
  CHECK(literal_ulp(1.0, DType::F32) == std::ldexp(1.0, -23));
  CHECK(literal_ulp(1.5, DType::BF16) == std::ldexp(1.0, -7));
}
