// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Numbers, cells and literals of the checker.
#include <random>

#include <doctest/doctest.h>

#include "check/number.h"
#include "check/terms.h"
#include "frontend/certificate/cells.h"

using namespace shardproof;
using namespace shardproof::check;
using ir::DType;
using ir::Fn;

namespace {

Number call(Fn fn, std::vector<long double> x, DType from, DType to) {
  std::vector<Number> a;
  for (long double v : x) a.push_back(exact(v));
  bool uncertain = false;
  const Number r = apply(fn, a.data(), a.size(), from, to, uncertain);
  CHECK_FALSE(uncertain);
  return r;
}

}  // namespace

TEST_CASE("S-19 integers wrap, divide and shift as specified") {
  CHECK(call(Fn::Add, {127, 1}, DType::I8, DType::I8).v == -128);
  CHECK(call(Fn::Mul, {200, 2}, DType::U8, DType::U8).v == 144);
  CHECK(call(Fn::Div, {-7, 2}, DType::I32, DType::I32).v == -3);
  CHECK(call(Fn::FloorDiv, {-7, 2}, DType::I32, DType::I32).v == -4);
  CHECK(call(Fn::Rem, {-7, 2}, DType::I32, DType::I32).v == -1);
  CHECK(call(Fn::Mod, {-7, 2}, DType::I32, DType::I32).v == 1);
  CHECK(is_undefined(call(Fn::Div, {1, 0}, DType::I32, DType::I32)));
  CHECK(call(Fn::ShrL, {-1, 28}, DType::I32, DType::I32).v == 15);
  CHECK(call(Fn::ShrA, {-16, 2}, DType::I32, DType::I32).v == -4);
  CHECK(call(Fn::Not, {5}, DType::I8, DType::I8).v == -6);
  CHECK(call(Fn::Convert, {-1}, DType::I32, DType::U8).v == 255);
}

TEST_CASE("reals: undefined, infinite, exact") {
  CHECK(is_undefined(call(Fn::Div, {1, 0}, DType::F32, DType::F32)));
  CHECK(call(Fn::Log, {0}, DType::F32, DType::F32).v == -INFINITY);
  CHECK(is_undefined(call(Fn::Log, {-1}, DType::F32, DType::F32)));
  CHECK(call(Fn::Exp, {-INFINITY}, DType::F32, DType::F32).v == 0);
  CHECK(is_undefined(call(Fn::Mul, {0, INFINITY}, DType::F32, DType::F32)));
  CHECK(call(Fn::Select, {1, 3, NAN}, DType::F32, DType::F32).v == 3);
  CHECK(is_undefined(call(Fn::Convert, {300}, DType::F32, DType::I8)));
  CHECK(call(Fn::Convert, {-2.5}, DType::F32, DType::I8).v == -2);
  CHECK(mul(exact(3), exact(0.25)).e == 0);
  CHECK(fraction(1, 3).e > 0);
  CHECK(same(mul(fraction(1, 3), exact(3)), exact(1)));
  CHECK_FALSE(same(fraction(1, 3), fraction(333333333, 1000000000)));
}

TEST_CASE("numbers beyond long double keep their ratio") {
  bool uncertain = false;
  const Number low = exact(-30000), high = exact(29999);
  const Number a = apply(Fn::Exp, &low, 1, DType::F32, DType::F32, uncertain),
               b = apply(Fn::Exp, &high, 1, DType::F32, DType::F32, uncertain);
  CHECK_FALSE(uncertain);
  CHECK(a.x != 0);
  const Number minus = exact(-1);
  CHECK(same(mul(a, b), apply(Fn::Exp, &minus, 1, DType::F32, DType::F32, uncertain)));
  CHECK(same(divide(mul(a, a), a, uncertain), a));
  CHECK_FALSE(same(add(a, a), a));
  const Number root = power(mul(a, a), 1, 2, uncertain);
  CHECK(same(root, a));
}

TEST_CASE("a comparison that hangs on a rounding is uncertain") {
  bool uncertain = false;
  order(mul(fraction(1, 3), exact(3)), exact(1), uncertain);
  CHECK(uncertain);
  uncertain = false;
  CHECK(order(exact(1), exact(2), uncertain) == -1);
  CHECK_FALSE(uncertain);
}

TEST_CASE("cells: a partition has no gap and no overlap") {
  auto located = [](const Cell& c, const ir::Shape& shape) {
    Located l;
    l.cell = &c;
    CHECK(locate(c.ext, c.pos, shape, l).empty());
    return l;
  };
  const Cell even{{4}, {2, 0}, {}}, odd{{4}, {2, 1}, {}}, low{{4}, {1, 0}, {}}, high{{4}, {1, 4}, {}}, back{{8}, {-1, 7}, {}};
  CHECK(partition({located(even, {8}), located(odd, {8})}, {8}, true).empty());
  CHECK(partition({located(low, {8}), located(high, {8})}, {8}, true).empty());
  CHECK_FALSE(partition({located(even, {8}), located(low, {8})}, {8}, true).empty());
  CHECK_FALSE(partition({located(even, {8})}, {8}, true).empty());
  std::vector<int64_t> x;
  const int64_t at = 2;
  CHECK(located(back, {8}).read(&at, x));
  CHECK(x[0] == 5);
  Located l;
  CHECK_FALSE(locate({4}, {3, 0}, {8}, l).empty());         // out of range
  CHECK_FALSE(locate({4, 4}, {2, 1, 0}, {16}, l).empty());  // 2a + b reads places twice
  CHECK_FALSE(locate({4}, {0, 0}, {8}, l).empty());         // a variable that walks nothing
}

TEST_CASE("literals: closed forms lie within the last place and are short") {
  const ir::Literal third = ir::Literal::real(1.0 / 3), root = ir::Literal::real(0.35355339059327379);
  CHECK(literal_may_be(third, 1, 3, false));
  CHECK_FALSE(literal_may_be(third, 1, 4, false));
  CHECK(literal_may_be(root, 1, 8, true));
  CHECK_FALSE(literal_may_be(ir::Literal::real(0.3333), 1, 3, false));
  CHECK_FALSE(literal_may_be(ir::Literal::real(-1.0 / 3), 1, 3, false));
}

// Where brackets leave little of a sum, the rest is not walked: that must not be seen in its value.
TEST_CASE("sums over what brackets leave are the sums over everything") {
  std::mt19937 random(7);
  auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  int zero = 0, cheap = 0;
  for (int round = 0; round < 300; ++round) {
    link::Problem problem;
    ir::Node input;
    input.dtype = DType::I64, input.shape = {7};
    problem.graph.add(input);
    link::Fact fact{0, {}};
    fact.fact.low = -1, fact.fact.high = 2;
    if (round % 3 != 0) problem.facts.push_back(fact);  // else it may be anything, and hides nothing
    Certificate c;
    auto signed_below = [&](int n) { return below(2 * n + 1) - n; };
    c.terms.resize(4);
    c.terms[0].kind = TermKind::Iota, c.terms[0].dims = {kUnbounded};
    c.terms[1].dims = {7}, c.terms[1].origin = 0;
    TermNode& bracket = c.terms[2];
    bracket.kind = TermKind::Bracket, bracket.dims = {kUnbounded, 7};
    bracket.lo = below(4) == 0 ? kNegInf : signed_below(3), bracket.hi = below(4) == 0 ? kPosInf : signed_below(3) + 4;
    bracket.args = {{{signed_below(2), 1, {{0, 1, 1, {1, signed_below(1), signed_below(3)}}}},
                     {signed_below(2), 1, {{1, 1, 1, {0, 1, 0}}}},
                     {signed_below(3), 1, {}}}};
    TermNode& sum = c.terms[3];
    sum.kind = TermKind::Red, sum.fn = Fn::Add, sum.dims = {5}, sum.box = {-2, 6, 0, 7};
    // Variables: the sum's index, then the two bound ones.
    sum.args = {{{1, 1, {{0, 1, 1, {1, 3, 5, 1}}, {2, 1, 1, {signed_below(2), signed_below(2), signed_below(2), 1, 0, 0, 1, 0}}}}}};
    for (int other = 0; other < 2; ++other) {
      sum.args[0][0].f.push_back({2, 1, 1, {signed_below(2), signed_below(2), signed_below(2), signed_below(4), 0, 0, 1, 0}});
    }
    Terms terms(c, problem, static_cast<uint64_t>(round));
    terms.budget = 1'000'000;
    terms.start(1, Draw::Generic);
    for (int64_t i = 0; i < 5; ++i) {
      terms.open(2);
      const uint64_t before = terms.spent;
      const Number fast = terms.define(3, &i);
      const uint64_t took = terms.spent - before;
      long double slow = 0;
      for (int64_t a = -2; a < 6; ++a) {
        for (int64_t b = 0; b < 7; ++b) {
          const int64_t x[] = {i, a, b};
          slow += terms.poly(sum.args[0], x, 3).v;
        }
      }
      CHECK(fast.v == slow);
      zero += slow == 0, cheap += took < 56;
    }
  }
  CHECK(zero < 1200);
  CHECK(cheap > 300);
}
