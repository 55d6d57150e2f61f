// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Nested sums opened on both sides of a goal (L-65), and names of bound variables that look alike.
#include <doctest/doctest.h>

#include "ir/build.h"
#include "prove/algebra.h"
#include "unit/prove/bench.h"

using namespace shardproof;
using ir::DType;
using ir::Fn;
using ir::NodeId;

namespace {

struct Bench : test::Bench {
  NodeId tanh(NodeId x) { return b.unary(Fn::Tanh, x); }
  NodeId turned(NodeId x) { return b.transpose(x, {1, 0}); }
  NodeId total(NodeId x) { return b.reduce(Fn::Add, x, {0, 1}); }
};

}  // namespace

TEST_CASE("a sum over rows of a sum over columns is the other way round, once nested sums are opened") {
  Bench t;
  NodeId u = t.in("u", {4, 3}), v = t.in("v", {5, 3}), w = t.in("w", {4, 3});
  NodeId x = t.add(u, w), s = t.tanh(t.mm(x, t.turned(v)));
  NodeId columns = t.total(t.mul(t.add(t.mm(t.turned(s), x), v), v)), rows = t.add(t.total(t.mul(t.mm(s, v), x)), t.total(t.mul(v, v)));
  t.hard = true;
  CHECK(t.equal(columns, rows));
  CHECK_FALSE(t.equal(columns, t.total(t.mul(t.mm(s, v), x))));
  CHECK_FALSE(t.equal(columns, t.add(t.total(t.mul(t.mm(s, v), u)), t.total(t.mul(v, v)))));
}

TEST_CASE("what may be undefined is not brought under the brackets of an opened sum") {
  Bench t;
  NodeId x = t.in("x", {3}), c = t.in("c", {}), label = t.in("label", {3}, DType::I64);
  NodeId zero = t.b.constant(ir::Literal::integer(1, DType::I64), DType::I64);
  NodeId mask = t.b.compare(Fn::Eq, label, t.b.broadcast(zero, {3}, {}));
  auto masked = [&](NodeId y) { return t.b.reduce(Fn::Add, t.b.select(mask, y, t.b.broadcast(t.real(0), {3}, {})), {0}); };
  NodeId inside = masked(t.b.binary(Fn::Div, x, t.b.broadcast(c, {3}, {}))), outside = t.b.binary(Fn::Div, masked(x), c);
  t.hard = true;
  // Where no label is 1 the first is 0 whatever c is, the second is undefined where c is 0.
  CHECK_FALSE(t.equal(inside, outside));
  CHECK(t.equal(outside, inside));
}

TEST_CASE("bound variables that look alike in their own factors are told apart by the others") {
  Bench t;
  // Two chains of products from the same factors, which meet at different ends: how they are written decides nothing.
  NodeId a = t.in("a", {4, 4}), h = t.in("h", {4, 4});
  NodeId square = t.mm(a, a), chain = t.mm(t.mm(a, t.tanh(h)), a);
  t.hard = true;
  CHECK(t.equal(t.total(t.mul(square, chain)), t.total(t.mul(t.mm(a, t.mm(t.tanh(h), a)), t.mm(a, a)))));
  CHECK_FALSE(t.equal(t.total(t.mul(square, chain)), t.total(t.mul(t.turned(square), chain))));
}

TEST_CASE("the place to look at first is where a value loses its counterpart in the one-device program") {
  Bench t;
  NodeId x = t.in("x", {4, 4}), w = t.in("w", {4, 4});
  NodeId right = t.mm(t.tanh(x), w);
  NodeId twice = t.add(x, x), wrong = t.tanh(twice), result = t.mm(wrong, w);
  t.p.side.assign(t.p.graph.nodes.size(), -1);
  link::Output o;
  o.sequential = right;
  o.checked = true;
  t.p.outputs = {o};
  prove::Prover prover(t.p);
  REQUIRE(prover.equal(right, result) == prove::Prover::Answer::NotProved);
  CHECK(prover.first_strange(result) == wrong);  // twice an input is the input's own form
  CHECK_FALSE(prover.first_strange(right).has_value());
}

TEST_CASE("a form that leaves the exact numbers while it is made is not another one afterwards") {
  prove::Algebra a;
  constexpr int64_t kLong = int64_t{1} << 40;
  const auto base = [&] {
    prove::Node x;
    x.dims = {kLong, kLong};
    x.known.integer = x.known.nonneg = true;
    x.known.lo = 0;
    return a.add_base(x);
  };
  const prove::Nid x = base();
  const auto total = [&] {
    prove::Node sum;
    sum.kind = prove::Kind::Red;
    sum.fn = Fn::Add;
    sum.box = {0, kLong, 0, kLong};
    sum.args = {{prove::Term{1, {prove::Factor{x, 1, {1, 0, 0, 0, 1, 0}}}}}};
    return a.intern(std::move(sum), {});
  };
  CHECK_THROWS(total());  // it has 2^80 places
  base();
  CHECK_THROWS(total());
}

TEST_CASE("both sides of a place are the whole, less the place, unless what they hold may be infinite") {
  prove::Algebra a;
  const prove::Ext ctx{4, 5};  // column, row
  prove::Node label;
  label.dims = {5};
  label.known.integer = label.known.finite = true;
  const prove::Nid y = a.add_base(label);
  const auto terms = [&](bool finite) {
    prove::Node value;
    value.dims = {5};
    value.known.finite = finite;
    const prove::Poly row = a.access(y, {0, 1, 0}, ctx), x = a.access(a.add_base(value), {0, 1, 0}, ctx);
    const prove::Poly e = a.add(row, a.scale(a.index({1, 0, 0}, ctx), -1), ctx), kept = a.bracket(row, 0, prove::kPosInf, ctx);
    const auto part = [&](int64_t lo, int64_t hi, int64_t times) { return a.scale(a.mul(a.bracket(e, lo, hi, ctx), x, ctx), times); };
    const prove::Poly below = a.mul(kept, part(prove::kNegInf, 0, -1), ctx);
    return a.sum({below, part(1, prove::kPosInf, -1), part(0, 1, 1)}, ctx).size();
  };
  CHECK(terms(true) == 2);
  CHECK(terms(false) == 3);
}
