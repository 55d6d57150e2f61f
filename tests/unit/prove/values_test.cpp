// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "ir/build.h"
#include "prove/prover.h"
#include "unit/prove/bench.h"

using namespace shardproof;
using ir::DType;
using ir::Fn;
using ir::NodeId;
using ir::Shape;

using test::Bench;

TEST_CASE("views: concat of slices is the tensor, transposes and reshapes compose") {
  Bench t;
  NodeId x = t.in("x", {4, 6});
  NodeId c = t.b.concat({t.b.slice_dim(x, 1, 0, 2), t.b.slice_dim(x, 1, 2, 6)}, 1);
  CHECK(t.equal(c, x));
  CHECK(t.equal(t.b.transpose(t.b.transpose(x, {1, 0}), {1, 0}), x));
  CHECK(t.equal(t.b.reshape(t.b.reshape(x, {2, 2, 3, 2}), {4, 6}), x));
  CHECK_FALSE(t.equal(t.b.reshape(t.b.reshape(x, {6, 4}), {4, 6}), t.b.reverse(x, {0})));
  NodeId swapped = t.b.concat({t.b.slice_dim(x, 1, 3, 6), t.b.slice_dim(x, 1, 0, 3)}, 1);
  CHECK_FALSE(t.equal(swapped, x));
}

TEST_CASE("row-parallel and column-parallel products") {
  Bench t;
  NodeId x = t.in("x", {4, 6}), w = t.in("w", {6, 8});
  NodeId y = t.mm(x, w);
  NodeId p0 = t.mm(t.b.slice_dim(x, 1, 0, 3), t.b.slice_dim(w, 0, 0, 3)), p1 = t.mm(t.b.slice_dim(x, 1, 3, 6), t.b.slice_dim(w, 0, 3, 6));
  CHECK(t.equal(t.b.binary(Fn::Add, p0, p1), y));
  CHECK_FALSE(t.equal(p0, y));
  NodeId c = t.b.concat({t.mm(x, t.b.slice_dim(w, 1, 0, 5)), t.mm(x, t.b.slice_dim(w, 1, 5, 8))}, 1);
  CHECK(t.equal(c, y));
  // uneven three ways
  std::vector<NodeId> ps;
  for (auto [a, b] : {std::pair{0, 1}, {1, 4}, {4, 6}}) ps.push_back(t.mm(t.b.slice_dim(x, 1, a, b), t.b.slice_dim(w, 0, a, b)));
  CHECK(t.equal(t.b.map(Fn::Add, ps, DType::F32), y));
}

TEST_CASE("flattened rows: a shard of the middle dimension") {
  Bench t;
  NodeId x = t.in("x", {2, 4, 6}), w = t.in("w", {6, 5});
  NodeId y = t.b.reshape(t.mm(t.b.reshape(x, {8, 6}), w), {2, 4, 5});
  auto local = [&](int a, int b) { return t.b.reshape(t.mm(t.b.reshape(t.b.slice_dim(x, 1, a, b), {2 * (b - a), 6}), w), {2, b - a, 5}); };
  CHECK(t.equal(t.b.concat({local(0, 2), local(2, 4)}, 1), y));
  CHECK(t.equal(t.b.concat({local(0, 1), local(1, 4)}, 1), y));
  NodeId g = t.in("g", {2, 4, 5});
  auto grad = [&](int a, int b) {
    NodeId xs = t.b.reshape(t.b.slice_dim(x, 1, a, b), {2 * (b - a), 6}), gs = t.b.reshape(t.b.slice_dim(g, 1, a, b), {2 * (b - a), 5});
    return t.mm(t.b.transpose(xs, {1, 0}), gs);
  };
  CHECK(t.equal(t.b.binary(Fn::Add, grad(0, 2), grad(2, 4)), grad(0, 4)));
}

TEST_CASE("softmax over a cut dimension, with the maximum subtracted") {
  Bench t;
  NodeId x = t.in("x", {3, 8});
  auto soft = [&](NodeId a) {
    NodeId e = t.b.unary(Fn::Exp, a);
    return t.b.binary(Fn::Div, e, t.b.broadcast(t.b.reduce(Fn::Add, e, {1}), t.b.shape(a), {0}));
  };
  NodeId y = soft(x);
  std::vector<NodeId> parts, maxes, sums;
  for (int r = 0; r < 2; ++r) parts.push_back(t.b.slice_dim(x, 1, 4 * r, 4 * r + 4));
  for (NodeId p : parts) maxes.push_back(t.b.reduce(Fn::Max, p, {1}));
  NodeId m = t.b.map(Fn::Max, maxes, DType::F32);
  std::vector<NodeId> es;
  for (NodeId p : parts) es.push_back(t.b.unary(Fn::Exp, t.b.binary(Fn::Sub, p, t.b.broadcast(m, {3, 4}, {0}))));
  for (NodeId e : es) sums.push_back(t.b.reduce(Fn::Add, e, {1}));
  NodeId s = t.b.map(Fn::Add, sums, DType::F32);
  std::vector<NodeId> out;
  for (NodeId e : es) out.push_back(t.b.binary(Fn::Div, e, t.b.broadcast(s, {3, 4}, {0})));
  CHECK(t.equal(t.b.concat(out, 1), y));
  CHECK_FALSE(t.equal(t.b.concat({t.b.binary(Fn::Div, es[0], t.b.broadcast(sums[0], {3, 4}, {0})), out[1]}, 1), y));
}

TEST_CASE("vocabulary-parallel embedding") {
  Bench t;
  NodeId w = t.in("w", {8, 5}), tok = t.in("tok", {2, 3}, DType::I64);
  link::Fact f;
  f.input = tok;
  f.fact.kind = manifest::Fact::Kind::Range;
  f.fact.low = 0;
  f.fact.high = 8;
  t.p.facts.push_back(f);
  NodeId y = t.b.take(w, {tok}, {-1, 2}, {0, 1}, {2, 3, 5}, ir::IndexMode::Strict);
  auto part = [&](int lo, int hi, bool mask) {
    NodeId l = t.b.constant(ir::Literal::integer(lo), DType::I64), h = t.b.constant(ir::Literal::integer(hi), DType::I64);
    NodeId out = t.b.map(Fn::Or, {t.b.compare(Fn::Lt, tok, l), t.b.compare(Fn::Ge, tok, h)}, DType::Bool);
    NodeId zero = t.b.constant(ir::Literal::integer(0), DType::I64);
    NodeId idx = t.b.select(out, zero, t.b.binary(Fn::Sub, tok, l));
    NodeId e = t.b.take(t.b.slice_dim(w, 0, lo, hi), {idx}, {-1, 2}, {0, 1}, {2, 3, 5}, ir::IndexMode::Strict);
    if (!mask) return e;
    return t.b.select(t.b.broadcast(out, {2, 3, 5}, {0, 1}), t.b.constant(ir::Literal::real(0), DType::F32), e);
  };
  CHECK(t.equal(t.b.map(Fn::Add, {part(0, 3, true), part(3, 8, true)}, DType::F32), y));
  CHECK_FALSE(t.equal(t.b.map(Fn::Add, {part(0, 3, false), part(3, 8, true)}, DType::F32), y));
  // backward: scatter-add of the gradient
  NodeId g = t.in("g", {2, 3, 5}), zeros = t.b.constant(ir::Literal::real(0), DType::F32, {8, 5});
  NodeId dw = t.b.scatter(zeros, g, {tok}, {-1, 2}, {0, 1}, Fn::Add, false, ir::IndexMode::Strict);
  auto dpart = [&](int lo, int hi) {
    NodeId l = t.b.constant(ir::Literal::integer(lo), DType::I64), h = t.b.constant(ir::Literal::integer(hi), DType::I64);
    NodeId out = t.b.map(Fn::Or, {t.b.compare(Fn::Lt, tok, l), t.b.compare(Fn::Ge, tok, h)}, DType::Bool);
    NodeId zero = t.b.constant(ir::Literal::integer(0), DType::I64);
    NodeId idx = t.b.select(out, zero, t.b.binary(Fn::Sub, tok, l));
    NodeId masked = t.b.select(t.b.broadcast(out, {2, 3, 5}, {0, 1}), t.b.constant(ir::Literal::real(0), DType::F32), g);
    NodeId z = t.b.constant(ir::Literal::real(0), DType::F32, {hi - lo, 5});
    return t.b.scatter(z, masked, {idx}, {-1, 2}, {0, 1}, Fn::Add, false, ir::IndexMode::Strict);
  };
  CHECK(t.equal(t.b.concat({dpart(0, 3), dpart(3, 8)}, 0), dw));
}

TEST_CASE("causal attention by blocks with log-sum-exp merging") {
  Bench t;
  const int S = 8, D = 4;
  NodeId q = t.in("q", {S, D}), k = t.in("k", {S, D}), v = t.in("v", {S, D});
  auto scores = [&](NodeId qq, NodeId kk) { return t.b.contract(qq, kk, {}, {1, 1}, DType::F32); };
  auto inf = t.b.constant(ir::Literal::real(-INFINITY), DType::F32);
  auto causal = [&](NodeId s, int row0, int col0) {
    Shape sh = t.b.shape(s);
    NodeId i = t.b.binary(Fn::Add, t.b.iota(DType::I64, sh, 0), t.b.constant(ir::Literal::integer(row0), DType::I64));
    NodeId j = t.b.binary(Fn::Add, t.b.iota(DType::I64, sh, 1), t.b.constant(ir::Literal::integer(col0), DType::I64));
    return t.b.select(t.b.compare(Fn::Lt, i, j), inf, s);
  };
  auto soft = [&](NodeId s, NodeId vv, NodeId* lse) {
    NodeId e = t.b.unary(Fn::Exp, s), sum = t.b.reduce(Fn::Add, e, {1});
    if (lse) *lse = t.b.unary(Fn::Log, sum);
    NodeId p = t.b.binary(Fn::Div, e, t.b.broadcast(sum, t.b.shape(e), {0}));
    return t.b.contract(p, vv, {}, {1, 0}, DType::F32);
  };
  NodeId y = soft(causal(scores(q, k), 0, 0), v, nullptr);
  // rank 0: rows 0..3 see keys 0..3; rank 1: diagonal block, then block 0
  auto rows = [&](NodeId x, int r) { return t.b.slice_dim(x, 0, 4 * r, 4 * r + 4); };
  NodeId o0 = soft(causal(scores(rows(q, 0), rows(k, 0)), 0, 0), rows(v, 0), nullptr);
  CHECK(t.equal(o0, rows(y, 0)));
  NodeId l1 = 0, l0 = 0;
  NodeId a = soft(causal(scores(rows(q, 1), rows(k, 1)), 0, 0), rows(v, 1), &l1);
  NodeId b = soft(scores(rows(q, 1), rows(k, 0)), rows(v, 0), &l0);
  NodeId lse = t.b.unary(Fn::Log, t.b.binary(Fn::Add, t.b.unary(Fn::Exp, l1), t.b.unary(Fn::Exp, l0)));
  auto w = [&](NodeId l) { return t.b.broadcast(t.b.unary(Fn::Exp, t.b.binary(Fn::Sub, l, lse)), {4, D}, {0}); };
  NodeId o1 = t.b.binary(Fn::Add, t.b.binary(Fn::Mul, a, w(l1)), t.b.binary(Fn::Mul, b, w(l0)));
  CHECK(t.equal(o1, rows(y, 1)));
  NodeId wrong = t.b.binary(Fn::Add, a, t.b.binary(Fn::Mul, b, w(l0)));
  CHECK_FALSE(t.equal(wrong, rows(y, 1)));
}
