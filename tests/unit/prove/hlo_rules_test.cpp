// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Rules that programs of JAX and XLA need, each with a right program and wrong ones.
#include <doctest/doctest.h>

#include "ir/build.h"
#include "prove/prover.h"
#include "unit/prove/bench.h"

using namespace shardproof;
using ir::DType;
using ir::Fn;
using ir::Literal;
using ir::NodeId;
using ir::Shape;

namespace {

struct Bench : test::Bench {
  void range(NodeId x, int64_t low, int64_t high) {
    link::Fact f;
    f.input = x;
    f.fact.kind = manifest::Fact::Kind::Range;
    f.fact.low = static_cast<double>(low);
    f.fact.high = static_cast<double>(high);
    f.fact.text = "range";
    p.facts.push_back(f);
  }
  // x // d as jax.numpy writes it: truncated, less one where signs differ and something is left.
  NodeId floor_divide(NodeId x, int64_t d) {
    NodeId q = b.binary(Fn::Div, x, integer(d)), r = b.binary(Fn::Rem, x, integer(d));
    NodeId signs = b.compare(Fn::Ne, b.unary(Fn::Sign, x), b.unary(Fn::Sign, integer(d)));
    NodeId rest = b.compare(Fn::Ne, r, integer(0));
    NodeId both = b.map(Fn::And, {signs, rest}, DType::Bool);
    return b.select(both, b.binary(Fn::Sub, q, integer(1)), q);
  }
  // table[i] as jax.numpy writes it: negative indices wrap, the rest is clamped.
  NodeId at(NodeId table, NodeId i) {
    const int64_t n = b.shape(table)[0];
    NodeId wrapped = b.select(b.compare(Fn::Lt, i, integer(0)), b.binary(Fn::Add, i, integer(n)), i);
    Shape s = b.shape(i);
    std::vector<int64_t> index_dims;
    for (size_t d = 0; d < s.size(); ++d) index_dims.push_back(static_cast<int64_t>(d));
    std::vector<int64_t> dims{-1};
    for (size_t d = 1; d < b.shape(table).size(); ++d) {
      dims.push_back(static_cast<int64_t>(s.size()));
      s.push_back(b.shape(table)[d]);
    }
    return b.take(table, {wrapped}, dims, index_dims, s, ir::IndexMode::Clamp);
  }
};

}  // namespace

TEST_CASE("quotients of positions: buckets of a shard are the shard of the buckets") {
  Bench t;
  NodeId table = t.in("table", {6, 3});
  NodeId whole = t.at(table, t.floor_divide(t.b.iota(DType::I32, {12}, 0), 2));
  auto shard = [&](int64_t r, int64_t offset) {
    NodeId position = t.b.binary(Fn::Add, t.b.iota(DType::I32, {4}, 0), t.integer(offset));
    return std::pair{t.at(table, t.floor_divide(position, 2)), t.b.slice_dim(whole, 0, 4 * r, 4 * r + 4)};
  };
  for (int64_t r = 0; r < 3; ++r) {
    auto [mine, expected] = shard(r, 4 * r);
    CHECK_MESSAGE(t.equal(mine, expected), t.why);
    auto [shifted, same] = shard(r, 4 * r + 1);
    CHECK_FALSE(t.equal(shifted, same));
  }
  // Without the correction for signs it is the same function of positions that are not negative, and another one of those that are.
  NodeId i = t.b.iota(DType::I32, {12}, 0), low = t.b.binary(Fn::Sub, i, t.integer(5));
  CHECK(t.equal(t.floor_divide(i, 2), t.b.binary(Fn::Div, i, t.integer(2))));
  CHECK_FALSE(t.equal(t.floor_divide(low, 2), t.b.binary(Fn::Div, low, t.integer(2))));
}

TEST_CASE("attention in blocks of keys with a running maximum and a finite mask value") {
  Bench t;
  NodeId s = t.in("s", {8, 8}), v = t.in("v", {8, 3});
  auto mask = [&](NodeId scores, int64_t from) {
    const Shape shape = t.b.shape(scores);
    NodeId q = t.b.iota(DType::I32, shape, 0), k = t.b.binary(Fn::Add, t.b.iota(DType::I32, shape, 1), t.integer(from));
    return t.b.select(t.b.compare(Fn::Ge, q, k), scores, t.b.constant(Literal::real(-1e30, DType::F32), DType::F32, shape));
  };
  auto spread = [&](NodeId row, int64_t n) { return t.b.broadcast(row, {8, n}, {0}); };
  NodeId m = mask(s, 0);
  NodeId e = t.b.unary(Fn::Exp, t.b.binary(Fn::Sub, m, spread(t.b.reduce(Fn::Max, m, {1}), 8)));
  NodeId whole = t.mm(t.b.binary(Fn::Div, e, spread(t.b.reduce(Fn::Add, e, {1}), 8)), v);
  auto blocks = [&](bool rescale, bool shifted) {
    NodeId top = t.b.constant(Literal::real(-1e30, DType::F32), DType::F32, {8}),
           sum = t.b.constant(Literal::real(0, DType::F32), DType::F32, {8});
    NodeId acc = t.b.constant(Literal::real(0, DType::F32), DType::F32, {8, 3});
    for (int64_t at : {4, 0}) {
      NodeId part = mask(t.b.slice_dim(s, 1, at, at + 4), shifted ? 0 : at);
      NodeId next = t.b.map(Fn::Max, {top, t.b.reduce(Fn::Max, part, {1})}, DType::F32);
      NodeId p = t.b.unary(Fn::Exp, t.b.binary(Fn::Sub, part, spread(next, 4)));
      NodeId scale =
          rescale ? t.b.unary(Fn::Exp, t.b.binary(Fn::Sub, top, next)) : t.b.constant(Literal::real(1, DType::F32), DType::F32, {8});
      sum = t.b.binary(Fn::Add, t.b.binary(Fn::Mul, sum, scale), t.b.reduce(Fn::Add, p, {1}));
      acc = t.b.binary(Fn::Add, t.b.binary(Fn::Mul, acc, spread(scale, 3)), t.mm(p, t.b.slice_dim(v, 0, at, at + 4)));
      top = next;
    }
    return t.b.binary(Fn::Div, acc, spread(sum, 3));
  };
  CHECK_MESSAGE(t.equal(blocks(true, false), whole), t.why);
  CHECK_FALSE(t.equal(blocks(false, false), whole));
  CHECK_FALSE(t.equal(blocks(true, true), whole));
}

TEST_CASE("a vocabulary in shards: clamps under the mask, sums of masked rows") {
  Bench t;
  NodeId table = t.in("table", {12, 5}), token = t.in("token", {7}, DType::I32);
  t.range(token, 0, 12);
  NodeId whole = t.b.take(table, {token}, {-1, 1}, {0}, {7, 5}, ir::IndexMode::Clamp);
  auto shards = [&](bool closed) {
    std::vector<NodeId> parts;
    for (int64_t r = 0; r < 3; ++r) {
      NodeId local = t.b.binary(Fn::Sub, token, t.integer(4 * r));
      NodeId inside = t.b.map(
          Fn::And, {t.b.compare(Fn::Ge, local, t.integer(0)), t.b.compare(closed ? Fn::Le : Fn::Lt, local, t.integer(4))}, DType::Bool);
      NodeId clipped = t.b.map(Fn::Min, {t.b.map(Fn::Max, {local, t.integer(0)}, DType::I32), t.integer(3)}, DType::I32);
      NodeId rows = t.b.take(t.b.slice_dim(table, 0, 4 * r, 4 * r + 4), {clipped}, {-1, 1}, {0}, {7, 5}, ir::IndexMode::Clamp);
      NodeId zero = t.b.constant(Literal::real(0, DType::F32), DType::F32, {7, 5});
      parts.push_back(t.b.select(t.b.broadcast(inside, {7, 5}, {0}), rows, zero));
    }
    return t.b.map(Fn::Add, parts, DType::F32);
  };
  CHECK_MESSAGE(t.equal(shards(false), whole), t.why);
  CHECK_FALSE(t.equal(shards(true), whole));
  // The same as the partitioner of XLA writes it: out of range below or above, and the row is clamped first.
  auto partitioned = [&](bool shifted) {
    std::vector<NodeId> parts;
    for (int64_t r = 0; r < 3; ++r) {
      const int64_t low = 4 * r, high = low + (shifted ? 4 : 3);
      NodeId clipped = t.b.map(Fn::Min, {t.b.map(Fn::Max, {token, t.integer(0)}, DType::I32), t.integer(11)}, DType::I32);
      NodeId outside =
          t.b.map(Fn::Or, {t.b.compare(Fn::Lt, clipped, t.integer(low)), t.b.compare(Fn::Gt, clipped, t.integer(high))}, DType::Bool);
      NodeId local = t.b.binary(Fn::Sub, clipped, t.integer(low));
      NodeId rows = t.b.take(t.b.slice_dim(table, 0, low, low + 4), {local}, {-1, 1}, {0}, {7, 5}, ir::IndexMode::Clamp);
      NodeId zero = t.b.constant(Literal::real(0, DType::F32), DType::F32, {7, 5});
      parts.push_back(
          t.b.select(t.b.broadcast(t.b.compare(Fn::Ne, t.b.convert(outside, DType::I32), t.integer(0)), {7, 5}, {0}), zero, rows));
    }
    return t.b.map(Fn::Add, parts, DType::F32);
  };
  CHECK_MESSAGE(t.equal(partitioned(false), whole), t.why);
  CHECK_FALSE(t.equal(partitioned(true), whole));
}

TEST_CASE("maxima of elements in any order are the maximum of the range") {
  Bench t;
  NodeId x = t.in("x", {8, 5}), w = t.in("w", {5, 3});
  NodeId y = t.mm(x, w);
  NodeId whole = t.b.reduce(Fn::Max, t.b.reshape(y, {4, 2, 3}), {0, 1});
  auto of = [&](std::vector<int64_t> rows) {
    std::vector<NodeId> parts;
    for (int64_t r : rows) parts.push_back(t.b.reshape(t.mm(t.b.slice_dim(x, 0, r, r + 1), w), {3}));
    return t.b.map(Fn::Max, parts, DType::F32);
  };
  CHECK_MESSAGE(t.equal(of({3, 0, 7, 5, 1, 6, 2, 4}), whole), t.why);
  CHECK_FALSE(t.equal(of({3, 0, 7, 5, 1, 6, 2}), whole));
  CHECK_FALSE(t.equal(of({3, 0, 7, 5, 1, 6, 2, 2}), whole));
}

TEST_CASE("sums of ranks in the order of a ring; blocks numbered by a constant") {
  Bench t;
  NodeId x = t.in("x", {3, 8}), w = t.in("w", {8, 5});
  NodeId whole = t.mm(x, w);
  auto ring = [&](std::vector<int64_t> order) {
    NodeId sum = ir::kNoNode;
    for (int64_t r : order) {
      NodeId part = t.mm(t.b.slice_dim(x, 1, 2 * r, 2 * r + 2), t.b.slice_dim(w, 0, 2 * r, 2 * r + 2));
      sum = sum == ir::kNoNode ? part : t.b.binary(Fn::Add, sum, part);
    }
    return sum;
  };
  CHECK_MESSAGE(t.equal(ring({1, 0, 3, 2}), whole), t.why);
  CHECK_MESSAGE(t.equal(ring({0, 3, 2, 1}), whole), t.why);
  CHECK_FALSE(t.equal(ring({0, 3, 2, 2}), whole));
  NodeId pairs = t.b.reduce(Fn::Add, t.b.reshape(x, {3, 4, 2}), {2});
  auto pair = [&](int64_t a) { return t.b.reduce(Fn::Add, t.b.slice_dim(x, 1, a, a + 2), {1}); };
  auto column = [&](int64_t c) { return t.b.reshape(t.b.slice_dim(pairs, 1, c, c + 1), {3}); };
  CHECK_MESSAGE(t.equal(column(2), pair(4)), t.why);
  CHECK_FALSE(t.equal(column(2), pair(3)));
}

TEST_CASE("a sum divided is the sum of the quotients") {
  Bench t;
  NodeId a = t.in("a", {4}), b = t.in("b", {4}), d = t.in("d", {}), c = t.in("c", {4});
  auto over = [&](NodeId x) { return t.b.binary(Fn::Div, x, d); };
  NodeId together = over(t.b.binary(Fn::Sub, a, b));
  CHECK(t.equal(t.b.binary(Fn::Sub, over(a), over(b)), together));
  CHECK(t.equal(t.b.binary(Fn::Mul, c, t.b.binary(Fn::Sub, over(a), over(b))), t.b.binary(Fn::Mul, c, together)));
  CHECK_FALSE(t.equal(t.b.binary(Fn::Sub, over(a), b), together));
  // 0/d is no 0: d may be 0.
  // The sequential side comes first: where it divides by zero nothing is claimed, where only the ranks do, they are wrong.
  const auto nothing = t.b.binary(Fn::Sub, over(a), over(a)), zero = t.b.constant(Literal::real(0, DType::F32), DType::F32, {4});
  CHECK(t.equal(nothing, zero));
  CHECK_FALSE(t.equal(zero, nothing));
}

TEST_CASE("exponentials of masked values and numbers of masked entries") {
  Bench t;
  NodeId x = t.in("x", {6, 6});
  NodeId q = t.b.iota(DType::I32, {6, 6}, 0), k = t.b.iota(DType::I32, {6, 6}, 1);
  NodeId seen = t.b.compare(Fn::Ge, q, k);
  NodeId low = t.b.constant(Literal::real(-7, DType::F32), DType::F32, {6, 6});
  NodeId masked = t.b.unary(Fn::Exp, t.b.select(seen, x, low));
  CHECK_MESSAGE(t.equal(masked, t.b.select(seen, t.b.unary(Fn::Exp, x), t.b.unary(Fn::Exp, low))), t.why);
  CHECK_FALSE(t.equal(masked, t.b.select(seen, t.b.unary(Fn::Exp, x), low)));
  NodeId ones = t.b.constant(Literal::real(1, DType::F32), DType::F32, {6, 6}),
         none = t.b.constant(Literal::real(0, DType::F32), DType::F32, {6, 6});
  NodeId count = t.b.reduce(Fn::Add, t.b.select(seen, none, ones), {1});
  NodeId rest = t.b.convert(t.b.binary(Fn::Sub, t.integer(5), t.b.iota(DType::I32, {6}, 0)), DType::F32);
  CHECK_MESSAGE(t.equal(count, rest), t.why);
  NodeId more = t.b.convert(t.b.binary(Fn::Sub, t.integer(6), t.b.iota(DType::I32, {6}, 0)), DType::F32);
  CHECK_FALSE(t.equal(count, more));
}
