// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Windows over padded tensors (L-40), variances (L-41, L-42) and flattened windows (L-43): right programs, and wrong ones next to them.
#include <doctest/doctest.h>

#include <initializer_list>

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
  // sequential, then distributed: what the ranks join by the sequential program's forms is joined only then.
  bool equal(NodeId x, NodeId y) {
    p.side.assign(p.graph.nodes.size(), -1);
    link::Output o;
    o.sequential = x;
    o.checked = true;
    p.outputs = {o};
    prove::Prover prover(p);
    const bool yes = prover.equal(x, y) == prove::Prover::Answer::Equal;
    why = prover.reason() + ": " + prover.detail();
    return yes;
  }
  NodeId relu(NodeId x) { return b.binary(Fn::Max, x, real(0)); }
  // x [batch, height], padded along the height, times w [window].
  NodeId conv(NodeId x, NodeId w, int64_t low, int64_t high, int64_t stride = 1) {
    NodeId wide = b.pad(x, real(0), {0, low}, {0, high}, {0, 0});
    NodeId windows = b.window(wide, {1}, {b.shape(w)[0]}, {stride, 1});
    return b.contract(windows, w, {}, {2, 0}, DType::F32);
  }
  NodeId total(NodeId x) {
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < b.rank(x); ++d) dims.push_back(d);
    return b.reduce(Fn::Add, x, dims);
  }
  NodeId rows(NodeId x, int64_t from, int64_t to) { return b.slice_dim(x, 0, from, to); }
};

}  // namespace

TEST_CASE("two layers of padded convolutions on a shard of the batch are the shard of two layers") {
  Bench t;
  NodeId x = t.in("x", {6, 10}), w = t.in("w", {3}), v = t.in("v", {5});
  auto net = [&](NodeId x, int64_t low) { return t.relu(t.conv(t.relu(t.conv(x, w, 1, 1)), v, low, 4 - low, 2)); };
  NodeId whole = t.rows(net(x, 2), 2, 4);
  CHECK_MESSAGE(t.equal(whole, net(t.rows(x, 2, 4), 2)), t.why);
  CHECK_FALSE(t.equal(whole, net(t.rows(x, 2, 4), 1)));
  CHECK_FALSE(t.equal(whole, net(t.rows(x, 3, 5), 2)));
}

TEST_CASE("a convolution of a shard of the height needs its neighbours' rows") {
  Bench t;
  NodeId x = t.in("x", {2, 12}), w = t.in("w", {3});
  NodeId whole = t.conv(x, w, 1, 1);
  auto shard = [&](int64_t from, int64_t to, int64_t low, int64_t high) { return t.conv(t.b.slice_dim(x, 1, from, to), w, low, high); };
  auto expected = [&](int64_t r) { return t.b.slice_dim(whole, 1, 4 * r, 4 * r + 4); };
  CHECK_MESSAGE(t.equal(expected(0), shard(0, 5, 1, 0)), t.why);
  CHECK_MESSAGE(t.equal(expected(1), shard(3, 9, 0, 0)), t.why);
  CHECK_MESSAGE(t.equal(expected(2), shard(7, 12, 0, 1)), t.why);
  CHECK_FALSE(t.equal(expected(0), shard(0, 4, 1, 1)));  // zeros in place of the neighbour's row
  CHECK_FALSE(t.equal(expected(1), shard(4, 8, 1, 1)));
  CHECK_FALSE(t.equal(expected(2), shard(8, 12, 1, 1)));
  // In two dimensions, one of them sharded.
  NodeId y = t.in("y", {12, 7}), k = t.in("k", {3, 3});
  auto conv2 = [&](NodeId y, int64_t low, int64_t high) {
    NodeId wide = t.b.pad(y, t.real(0), {low, 1}, {high, 1}, {0, 0});
    return t.b.contract(t.b.window(wide, {0, 1}, {3, 3}, {1, 1, 1, 1}), k, {}, {2, 0, 3, 1}, DType::F32);
  };
  NodeId all = conv2(y, 1, 1);
  CHECK_MESSAGE(t.equal(t.rows(all, 4, 8), conv2(t.rows(y, 3, 9), 0, 0)), t.why);
  CHECK_MESSAGE(t.equal(t.rows(all, 0, 4), conv2(t.rows(y, 0, 5), 1, 0)), t.why);
  CHECK_FALSE(t.equal(t.rows(all, 4, 8), conv2(t.rows(y, 4, 8), 1, 1)));
}

TEST_CASE("a padding that is not 0, and one around pieces, are no zeros") {
  Bench t;
  NodeId x = t.in("x", {2, 6}), w = t.in("w", {3});
  auto conv = [&](double fill) {
    NodeId wide = t.b.pad(x, t.real(fill), {0, 1}, {0, 1}, {0, 0});
    return t.b.contract(t.b.window(wide, {1}, {3}, {1, 1}), w, {}, {2, 0}, DType::F32);
  };
  CHECK_MESSAGE(t.equal(conv(1), conv(1)), t.why);
  CHECK_FALSE(t.equal(conv(0), conv(1)));
  // The padded reading is the nearest element inside, but only behind its bracket: repeating the border is another program.
  NodeId edge = t.b.concat({t.b.slice_dim(x, 1, 0, 1), x, t.b.slice_dim(x, 1, 5, 6)}, 1);
  CHECK_FALSE(t.equal(conv(0), t.b.contract(t.b.window(edge, {1}, {3}, {1, 1}), w, {}, {2, 0}, DType::F32)));
}

TEST_CASE("the two formulas of a variance, whole and by shards") {
  Bench t;
  NodeId x = t.in("x", {8, 3}), g = t.in("g", {8, 3});
  auto mean = [&](NodeId x, double n) { return t.b.binary(Fn::Div, t.b.reduce(Fn::Add, x, {0}), t.real(n)); };
  auto wide = [&](NodeId m, NodeId x) { return t.b.broadcast(m, t.b.shape(x), {1}); };
  NodeId m = mean(x, 8), off = t.sub(x, wide(m, x));
  NodeId centred = mean(t.mul(off, off), 8);
  auto root = [&](NodeId v) { return t.b.unary(Fn::Rsqrt, t.add(v, t.real(0.001))); };
  auto halves = [&](auto f) { return t.add(f(t.rows(x, 0, 4)), f(t.rows(x, 4, 8))); };
  auto moments = [&](double n, double k) {
    NodeId first = halves([&](NodeId part) { return mean(part, n); });
    NodeId second = halves([&](NodeId part) { return mean(t.mul(part, part), n); });
    return std::pair{first, t.sub(second, t.mul(t.mul(first, first), t.real(k)))};
  };
  const auto [first, variance] = moments(8, 1);
  CHECK_MESSAGE(t.equal(m, first), t.why);
  CHECK_MESSAGE(t.equal(centred, variance), t.why);
  CHECK_MESSAGE(t.equal(root(centred), root(variance)), t.why);
  CHECK_FALSE(t.equal(centred, moments(8, 0.5).second));
  CHECK_FALSE(t.equal(centred, moments(7, 1).second));
  CHECK_FALSE(t.equal(t.mul(centred, t.real(8.0 / 7)), variance));
  // The mean of the halves' variances is another number.
  NodeId parts = t.mul(halves([&](NodeId part) {
                         NodeId d = t.sub(part, wide(mean(part, 4), part));
                         return mean(t.mul(d, d), 4);
                       }),
                       t.real(0.5));
  CHECK_FALSE(t.equal(centred, parts));
  // What flows back: sum (x - m) g, where the ranks have sum x g - m sum g.
  NodeId back = t.b.reduce(Fn::Add, t.mul(off, g), {0});
  auto by_terms = [&](double k) {
    NodeId xg = t.add(t.b.reduce(Fn::Add, t.mul(t.rows(x, 0, 4), t.rows(g, 0, 4)), {0}),
                      t.b.reduce(Fn::Add, t.mul(t.rows(x, 4, 8), t.rows(g, 4, 8)), {0}));
    NodeId sum = t.add(t.b.reduce(Fn::Add, t.rows(g, 0, 4), {0}), t.b.reduce(Fn::Add, t.rows(g, 4, 8), {0}));
    return t.sub(xg, t.mul(t.mul(first, sum), t.real(k)));
  };
  CHECK_MESSAGE(t.equal(back, by_terms(1)), t.why);
  CHECK_FALSE(t.equal(back, by_terms(2)));
}

TEST_CASE("where the largest element of a flattened window is, by shards") {
  Bench t;
  NodeId x = t.in("x", {6, 8, 4});
  auto where = [&](NodeId x, bool turned) {
    NodeId windows = t.b.window(x, {1, 2}, {2, 2}, {2, 1, 2, 1});
    if (turned) windows = t.b.transpose(windows, {0, 1, 2, 4, 3});
    Shape s = t.b.shape(windows);
    return t.b.arg_reduce(Fn::Max, t.b.reshape(windows, {s[0], s[1], s[2], 4}), 3, DType::I32);
  };
  NodeId whole = where(x, false);
  CHECK_MESSAGE(t.equal(t.rows(whole, 2, 4), where(t.rows(x, 2, 4), false)), t.why);
  CHECK_FALSE(t.equal(t.rows(whole, 2, 4), where(t.rows(x, 3, 5), false)));
  CHECK_FALSE(t.equal(t.rows(whole, 2, 4), where(t.rows(x, 2, 4), true)));  // columns first: other numbers
}
