// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What was computed at one place is taken for another only where that is right.
#include "prove/shift_memo.h"

#include <doctest/doctest.h>

using namespace shardproof;
using namespace shardproof::prove;

namespace {

struct Fixture {
  Algebra a;
  ShiftMemo memo{a};
  int computed = 0;
  Fixture() { a.structure_known = true; }

  Nid base(Ext dims) {
    Node n;
    n.kind = Kind::Base;
    n.dims = std::move(dims);
    n.known.finite = n.known.no_pos_inf = true;
    return a.add_base(std::move(n));
  }
  Poly exp(const Poly& p, const Ext& ctx) {
    return memo({1}, {&p}, ctx, 0, [&] {
      ++computed;
      return a.apply(ir::Fn::Exp, {p}, ir::DType::F32, ir::DType::F32, ctx);
    });
  }
};

bool same(const Poly& x, const Poly& y) {
  if (x.size() != y.size()) return false;
  for (size_t k = 0; k < x.size(); ++k) {
    if (!(x[k].coef == y[k].coef) || !same_monomial(x[k], y[k])) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the piece of another rank is read off") {
  Fixture f;
  const Ext ctx{4, 3};
  const Nid x = f.base({16, 3}), y = f.base({3});
  const auto piece = [&](int64_t at) { return f.a.product(f.a.access(x, {1, 0, at, 0, 1, 0}, ctx), f.a.access(y, {0, 1, 0}, ctx), ctx); };
  f.exp(piece(0), ctx);
  CHECK(f.computed == 1);
  for (const int64_t at : {4, 8, 12}) {
    const Poly p = piece(at), moved = f.exp(p, ctx);
    CHECK(f.computed == 1);
    CHECK(same(moved, f.a.apply(ir::Fn::Exp, {p}, ir::DType::F32, ir::DType::F32, ctx)));
  }
  CHECK(f.memo.hits == 3);
  // Another distance between the two is another problem.
  const Nid z = f.base({16});
  const auto two = [&](int64_t at, int64_t to) {
    return f.a.product(f.a.access(x, {1, 0, at, 0, 1, 0}, ctx), f.a.access(z, {1, 0, to}, ctx), ctx);
  };
  f.exp(two(0, 0), ctx);
  f.exp(two(4, 0), ctx);
  CHECK(f.computed == 3);
  f.exp(two(8, 4), ctx);
  CHECK(f.computed == 3);
}

TEST_CASE("a variable that appears in rows of several only") {
  Fixture f;
  const Ext ctx{4, 8};
  const Nid x = f.base({128});
  const auto head = [&](int64_t at) { return f.a.access(x, {8, 1, at}, ctx); };
  f.exp(head(0), ctx);
  const Poly moved = f.exp(head(32), ctx);
  CHECK(f.computed == 1);
  CHECK(same(moved, f.a.apply(ir::Fn::Exp, {head(32)}, ir::DType::F32, ir::DType::F32, ctx)));
}

TEST_CASE("what is concluded from places is not moved") {
  Fixture f;
  const Ext ctx{4};
  const Nid x = f.base({16});
  const auto at = [&](int64_t c) { return f.a.access(x, {1, c}, ctx); };
  const auto ranged = [&](int64_t c) {
    const Poly p = at(c);
    return f.memo({2}, {&p}, ctx, 0, [&] {
      ++f.computed;
      f.a.ranged = true;
      return Algebra::constant(Rat(c));
    });
  };
  CHECK(same(ranged(0), Algebra::constant(Rat(0))));
  CHECK(same(ranged(4), Algebra::constant(Rat(4))));
  CHECK(f.computed == 2);
  CHECK(same(ranged(4), Algebra::constant(Rat(4))));
  CHECK(f.computed == 2);
  // Every way to conclude something says so: index forms have signs and bounds, brackets are decided.
  const Poly i = f.a.index({1, 0}, ctx);
  f.a.ranged = false;
  CHECK(f.a.range(i, ctx).second == 3);
  CHECK(f.a.ranged);
  f.a.ranged = false;
  CHECK(same(f.a.bracket(i, 0, 4, ctx), Algebra::constant(1)));
  CHECK(f.a.ranged);
  f.a.ranged = false;
  CHECK(f.a.known(Factor{f.a.iota(), 1, {1, 1}}, ctx).nonzero);
  CHECK(f.a.ranged);
  // What is left open was concluded from nothing.
  f.a.ranged = false;
  CHECK(f.a.bracket(i, 0, 2, ctx).size() == 1);
  CHECK_FALSE(f.a.known(at(0), ctx).nonneg);
}

TEST_CASE("constants, index forms and places out of bounds are not moved") {
  Fixture f;
  const Nid x = f.base({16}), y = f.base({6});
  // A variable of extent 1 is a constant in the result.
  f.exp(f.a.access(x, {1, 0}, {1}), {1});
  f.exp(f.a.access(x, {1, 3}, {1}), {1});
  CHECK(f.computed == 2);
  const Ext ctx{4};
  f.exp(f.a.index({1, 0}, ctx), ctx);
  f.exp(f.a.index({1, 4}, ctx), ctx);
  CHECK(f.computed == 4);
  // The result reads something that has no such place.
  const auto other = [&](int64_t c) {
    const Poly p = f.a.access(x, {1, c}, ctx);
    return f.memo({3}, {&p}, ctx, 0, [&] {
      ++f.computed;
      return f.a.access(y, {1, 0}, ctx);
    });
  };
  other(0);
  other(2);
  CHECK(f.computed == 5);
  other(4);
  CHECK(f.computed == 6);
}

TEST_CASE("no form is moved before the sequential program is done, nor when sums are opened") {
  Fixture f;
  const Ext ctx{4};
  const Nid x = f.base({16});
  f.a.structure_known = false;
  f.exp(f.a.access(x, {1, 0}, ctx), ctx);
  f.exp(f.a.access(x, {1, 0}, ctx), ctx);
  CHECK(f.computed == 2);
  f.a.structure_known = true;
  f.a.thorough = true;
  f.exp(f.a.access(x, {1, 0}, ctx), ctx);
  CHECK(f.computed == 3);
}
