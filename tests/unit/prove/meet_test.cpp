// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Meetings (L-74): parts that add up to a sequential value, and what goes on from them.
#include <cmath>

#include <doctest/doctest.h>

#include "ir/build.h"
#include "unit/prove/bench.h"

using namespace shardproof;
using ir::Fn;
using ir::NodeId;

namespace {

// A value of the sequential program, and two parts of it that depend on halves of what it sums over.
struct Halves : test::Bench {
  NodeId e = in("e", {4, 6}), w = in("w", {6, 3}), x = in("x", {4, 3}), n = in("n", {});
  NodeId rows(int64_t from, int64_t to) { return b.slice(w, {from, 0}, {to, 3}, {1, 1}); }
  NodeId columns(int64_t from, int64_t to) { return b.slice(e, {0, from}, {4, to}, {1, 1}); }
  NodeId over(NodeId y) { return b.binary(Fn::Div, y, b.broadcast(n, {4, 3}, {})); }
  NodeId whole = over(mm(e, w)), low = over(mm(columns(0, 3), rows(0, 3))), high = over(mm(columns(3, 6), rows(3, 6)));

  bool equal_from(std::vector<prove::Meeting> meetings, NodeId s, NodeId d) {
    p.side.assign(p.graph.nodes.size(), -1);
    prove::Prover prover(p);
    prover.meet_at(std::move(meetings));
    prover.try_hard();
    return prover.equal(s, d) == prove::Prover::Answer::Equal;
  }
  // Linear in g.
  NodeId chain(NodeId g) {
    NodeId s = b.broadcast(b.reduce(Fn::Add, mul(g, x), {1}), {4, 3}, {0});
    return sub(mul(g, b.unary(Fn::Tanh, x)), mul(x, s));
  }
};

}  // namespace

TEST_CASE("what is linear in parts that add up, adds up") {
  Halves t;
  NodeId s = t.chain(t.chain(t.whole)), d = t.add(t.chain(t.chain(t.low)), t.chain(t.chain(t.high)));
  CHECK(t.equal_from({{t.whole, {t.low, t.high}}}, s, d));
  CHECK_FALSE(t.equal_from({{t.whole, {t.low, t.high}}}, s, t.add(d, t.low)));
  // A square is not linear.
  CHECK_FALSE(t.equal_from({{t.whole, {t.low, t.high}}}, t.mul(s, s), t.add(t.mul(t.chain(t.low), s), t.mul(t.high, s))));
}

TEST_CASE("a hint that is wrong changes nothing") {
  Halves t;
  NodeId s = t.chain(t.whole), wrong = t.add(t.chain(t.low), t.chain(t.low));
  CHECK_FALSE(t.equal_from({{t.whole, {t.low, t.low}}}, s, wrong));
  CHECK_FALSE(t.equal_from({{t.whole, {t.low, t.whole}}}, s, t.add(t.chain(t.low), t.chain(t.whole))));
  CHECK(t.equal_from({{t.whole, {t.low, t.whole}}}, s, s));
}

TEST_CASE("which part is infinite is not known of a sum that may be infinite") {
  Halves t;
  // A mask of -inf in one half: the sum of both is -inf there, and so is that part alone.
  NodeId zero = t.b.broadcast(t.real(0), {4, 3}, {}),
         inf = t.b.broadcast(t.b.constant(ir::Literal::real(-INFINITY, ir::DType::F32), ir::DType::F32), {4, 3}, {});
  NodeId low = t.b.select(t.b.compare(Fn::Gt, t.x, zero), t.x, inf), high = t.mm(t.e, t.w), whole = t.add(low, high);
  NodeId one = t.b.unary(Fn::Exp, whole);
  CHECK(t.equal_from({}, one, t.b.unary(Fn::Exp, t.add(low, high))));
  // exp of the last part is no 0 where the whole is -inf.
  CHECK_FALSE(
      t.equal_from({{whole, {low, high}}}, t.mul(t.b.unary(Fn::Exp, t.sub(whole, low)), one), t.mul(t.b.unary(Fn::Exp, high), one)));
}

TEST_CASE("parts that a test for infinities reads do not meet") {
  Halves t;
  // Where n is 0 the whole is undefined and the last part is not: whole - low is no way to write it there.
  NodeId high = t.mm(t.columns(3, 6), t.rows(3, 6)), whole = t.add(t.low, high), rest = t.sub(whole, t.low);
  auto finite = [&](NodeId y) { return t.b.map(Fn::IsFinite, {y}, ir::DType::Bool); };
  NodeId of_part = finite(high), of_rest = finite(rest);
  t.p.side.assign(t.p.graph.nodes.size(), -1);
  prove::Prover prover(t.p);
  prover.meet_at({{whole, {t.low, high}}});
  CHECK(prover.equal(whole, whole) == prove::Prover::Answer::Equal);
  CHECK(prover.equal(of_part, of_rest) == prove::Prover::Answer::NotProved);
}

TEST_CASE("a value of a rank that is a slice of a sequential one in another form takes that form") {
  Halves t;
  // Squares about the mean, over all rows at once, and about the means of two halves and between these.
  NodeId y = t.mm(t.e, t.w);
  const auto about = [&](NodeId z, double part) {
    const ir::Shape shape = t.b.shape(z);
    NodeId sums = t.b.reduce(Fn::Add, z, {0});
    NodeId off = t.sub(z, t.b.broadcast(t.mul(sums, t.b.broadcast(t.real(part), {3}, {})), shape, {1}));
    return std::pair(sums, t.b.reduce(Fn::Add, t.mul(off, off), {0}));
  };
  const auto [all, spread] = about(y, 0.25);
  const auto [first, low] = about(t.b.slice(y, {0, 0}, {2, 3}, {1, 1}), 0.5);
  const auto [second, high] = about(t.b.slice(y, {2, 0}, {4, 3}, {1, 1}), 0.5);
  NodeId between = t.sub(first, second);
  NodeId plain = t.add(t.add(low, high), t.mul(t.mul(between, between), t.b.broadcast(t.real(0.25), {3}, {})));
  NodeId half = t.b.slice(plain, {1}, {3}, {1}), s = t.b.unary(Fn::Tanh, t.b.slice(spread, {1}, {3}, {1}));
  NodeId d = t.b.unary(Fn::Tanh, half), other = t.b.unary(Fn::Tanh, t.b.slice(plain, {0}, {2}, {1}));
  const prove::Meeting here{spread, {half}, {1}, true}, elsewhere{spread, {half}, {0}, true};
  CHECK(t.equal_from({here}, s, d));
  CHECK_FALSE(t.equal_from({here}, s, other));
  CHECK_FALSE(t.equal_from({elsewhere}, t.b.unary(Fn::Tanh, t.b.slice(spread, {0}, {2}, {1})), d));  // a wrong hint changes nothing
}
