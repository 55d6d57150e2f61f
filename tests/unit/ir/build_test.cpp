// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The builder's shapes and folds, and verify() on nodes that are malformed on purpose.
#include "ir/build.h"

#include <doctest/doctest.h>

#include <limits>

#include "util/result.h"

using namespace shardproof;
using namespace shardproof::ir;

namespace {

struct Fixture {
  Graph g;
  Builder b{g};
  NodeId x = b.input("x", DType::F32, {6, 4});
  NodeId y = b.input("y", DType::F32, {4, 5});
  NodeId zero = b.constant(Literal::real(0), DType::F32);
  NodeId i = b.input("i", DType::I64, {3});
};

// verify() of the last node after an edit of it.
template <typename Edit>
std::string broken(Graph g, NodeId id, Edit edit) {
  edit(g.nodes[id]);
  return verify(g, id);
}

}  // namespace

TEST_CASE("number of elements") {
  CHECK(num_elements({}) == 1);
  CHECK(num_elements({3, 4}) == 12);
  CHECK(num_elements({int64_t{1} << 40, int64_t{1} << 40, 0}) == 0);
  CHECK_THROWS_AS(num_elements({int64_t{1} << 40, int64_t{1} << 40}), InternalError);
  CHECK_THROWS_AS(num_elements({-1}), InternalError);
}

TEST_CASE_FIXTURE(Fixture, "identities fold") {
  CHECK(b.transpose(x, {0, 1}) == x);
  CHECK(b.reshape(x, {6, 4}) == x);
  CHECK(b.slice(x, {0, 0}, {6, 4}, {1, 1}) == x);
  CHECK(b.reverse(x, {}) == x);
  CHECK(b.broadcast(x, {6, 4}, {0, 1}) == x);
  CHECK(b.pad(x, zero, {0, 0}, {0, 0}, {0, 0}) == x);
  CHECK(b.concat({x}, 1) == x);
  CHECK(b.concat({b.slice_dim(x, 0, 2, 2), x}, 0) == x);
  CHECK(b.convert(x, DType::F32) == x);
  CHECK(b.map(Fn::Add, {x}, DType::F32) == x);
  CHECK(b.reduce(Fn::Add, x, {}) == x);
  CHECK(b.dynamic_slice(x, {}, {6, 4}) == x);
  CHECK(b.window(x, {}, {}, {}) == x);
}

TEST_CASE_FIXTURE(Fixture, "shapes") {
  CHECK(b.shape(b.transpose(x, {1, 0})) == Shape{4, 6});
  CHECK(b.shape(b.slice_dim(x, 0, 1, 6, 2)) == Shape{3, 4});
  CHECK(b.shape(b.slice_dim(x, 0, 1, 5, 2)) == Shape{2, 4});
  CHECK(b.shape(b.slice_dim(x, 0, 3, 3, 2)) == Shape{0, 4});
  CHECK(b.shape(b.broadcast_trailing(i, {2, 3})) == Shape{2, 3});
  CHECK(b.shape(b.pad(x, zero, {1, -1}, {2, 0}, {1, 2})) == Shape{1 + 2 + 6 + 5, 4 - 1 + 6});
  CHECK(b.shape(b.concat({x, x, x}, 1)) == Shape{6, 12});
  CHECK(b.shape(b.window(x, {0}, {3}, {2, 2})) == Shape{1, 4, 3});
  CHECK(b.shape(b.window(x, {0, 1}, {2, 4}, {1, 1, 1, 1})) == Shape{5, 1, 2, 4});
  CHECK(b.shape(b.window(x, {1}, {5}, {1, 1})) == Shape{6, 0, 5});
  CHECK(b.shape(b.binary(Fn::Sub, zero, x)) == Shape{6, 4});
  CHECK(b.shape(b.reduce(Fn::Max, x, {1})) == Shape{6});
  CHECK(b.shape(b.reduce(Fn::Max, x, {1, 0}, true)) == Shape{1, 1});
  CHECK(b.shape(b.arg_reduce(Fn::Max, x, 0, DType::I64)) == Shape{4});
  CHECK(b.shape(b.contract(x, y, {}, {1, 0}, DType::F32)) == Shape{6, 5});
  CHECK(b.shape(b.contract(x, x, {1, 1}, {}, DType::F32)) == Shape{4, 6, 6});
  CHECK(b.shape(b.take(x, {i}, {-1, 1}, {0}, {3, 4}, IndexMode::Strict)) == Shape{3, 4});
  const NodeId update = b.input("u", DType::F32, {3, 4});
  CHECK(b.shape(b.scatter(x, update, {i}, {-1, 1}, {0}, Fn::Add, false, IndexMode::Strict)) == Shape{6, 4});
  const NodeId at = b.constant(Literal::integer(1), DType::I32);
  CHECK(b.shape(b.dynamic_slice(x, {at, at}, {2, 3})) == Shape{2, 3});
  CHECK(b.shape(b.dynamic_update(x, update, {at, at})) == Shape{6, 4});
  CHECK(b.shape(b.scan(Fn::Add, x, 0)) == Shape{6, 4});
  const auto sorted = b.sort({x, b.iota(DType::I64, {6, 4}, 1)}, 1, true, false);
  REQUIRE(sorted.size() == 2);
  CHECK(b.dtype(sorted[1]) == DType::I64);
  CHECK(b.shape(sorted[0]) == Shape{6, 4});
  const auto parts = b.opaque("kernel", "{}", {x, y}, {{DType::F32, {2}}, {DType::Bool, {}}});
  CHECK(b.dtype(parts[1]) == DType::Bool);
  GroupRef group{GroupRef::Kind::Name, "tp", {}, 2};
  CHECK(b.shape(b.all_gather(x, 0, 2, group)) == Shape{12, 4});
  CHECK(b.shape(b.reduce_scatter(x, Fn::Add, false, 0, 2, group)) == Shape{3, 4});
  CHECK(b.shape(b.all_to_all(x, 0, 1, 2, {}, {}, group)) == Shape{3, 8});
  CHECK(b.shape(b.all_to_all(x, 0, 0, 2, {2, 4}, {1, 0}, group)) == Shape{1, 4});
  CHECK(b.shape(b.permute(x, {0, 1, 1, 0}, group)) == Shape{6, 4});
  CHECK(b.shape(b.recv(DType::F32, {7}, 1, 0, group)) == Shape{7});
  CHECK(b.dtype(b.send(x, 1, 0, group)) == DType::Token);
  CHECK(b.shape(b.all_reduce(x, Fn::Add, true, group)) == Shape{6, 4});
  CHECK(b.shape(b.broadcast_from(x, 0, group)) == Shape{6, 4});
  for (NodeId id = 0; id < g.nodes.size(); ++id) CHECK(verify(g, id) == "");
}

TEST_CASE_FIXTURE(Fixture, "literals take the tensor's form") {
  CHECK(g[b.constant(Literal::integer(300), DType::U8)].lit == Literal::integer(44, DType::U8));
  CHECK(g[b.constant(Literal::integer(200), DType::I8)].lit == Literal::integer(-56, DType::I8));
  CHECK(g[b.constant(Literal::real(-2.7), DType::I32)].lit == Literal::integer(-2, DType::I32));
  CHECK(g[b.constant(Literal::integer(3), DType::Bool)].lit == Literal::boolean(true));
  CHECK(g[b.constant(Literal::integer(3), DType::BF16)].lit == Literal::real(3));
  CHECK(g[b.constant(Literal::real(0.1, DType::F32), DType::F32)].lit == Literal::real(0.1, DType::F32));
  CHECK_THROWS_AS(b.constant(Literal::real(std::numeric_limits<double>::infinity()), DType::I64), InternalError);
}

TEST_CASE_FIXTURE(Fixture, "bools use logic") {
  const NodeId p = b.input("p", DType::Bool, {4});
  CHECK(g[b.map(Fn::Add, {p, p}, DType::Bool)].fn == Fn::Or);
  CHECK(g[b.reduce(Fn::Min, p, {0})].fn == Fn::And);
}

TEST_CASE_FIXTURE(Fixture, "stamps label, operator and location") {
  b.label = "mm_3";
  b.source_op = "aten.mm.default";
  b.loc.line = 31;
  const Node& n = g[b.transpose(x, {1, 0})];
  CHECK(n.label == "mm_3");
  CHECK(n.source_op == "aten.mm.default");
  CHECK(n.loc.line == 31);
  CHECK(to_string(g, x) == "%0 = f32[6,4] input() 'x'");
  CHECK(to_string(g, static_cast<NodeId>(g.nodes.size() - 1)) == "%4 = f32[4,6] transpose(%0) a=[1,0]  # mm_3 <- aten.mm.default");
}

TEST_CASE_FIXTURE(Fixture, "malformed calls throw and leave the graph as it was") {
  const size_t before = g.nodes.size();
  CHECK_THROWS_AS(b.transpose(x, {0, 0}), InternalError);
  CHECK_THROWS_AS(b.reshape(x, {5, 5}), InternalError);
  CHECK_THROWS_AS(b.slice_dim(x, 0, 0, 7), InternalError);
  CHECK_THROWS_AS(b.broadcast(y, {4, 6}, {0, 1}), InternalError);
  CHECK_THROWS_AS(b.concat({x, y}, 0), InternalError);
  CHECK_THROWS_AS(b.binary(Fn::Add, x, i), InternalError);
  CHECK_THROWS_AS(b.binary(Fn::Add, x, y), InternalError);
  CHECK_THROWS_AS(b.contract(x, y, {}, {0, 0}, DType::F32), InternalError);
  CHECK_THROWS_AS(b.take(x, {i}, {-1, 1}, {0}, {4, 4}, IndexMode::Strict), InternalError);
  CHECK_THROWS_AS(b.take(x, {i}, {-1, 1}, {0}, {3, 5}, IndexMode::Strict), InternalError);
  CHECK_THROWS_AS(b.unary(Fn::Exp, i), InternalError);
  CHECK_THROWS_AS(b.pad(x, i, {0, 0}, {1, 0}, {0, 0}), InternalError);
  CHECK(g.nodes.size() == before);
}

TEST_CASE_FIXTURE(Fixture, "verify finds edits") {
  const NodeId s = b.slice_dim(x, 0, 1, 5, 2);
  CHECK(broken(g, s, [](Node& n) { n.b[0] = 7; }) != "");
  CHECK(broken(g, s, [](Node& n) { n.c[0] = 0; }) != "");
  CHECK(broken(g, s, [](Node& n) { n.shape[0] = 3; }) != "");
  CHECK(broken(g, s, [](Node& n) { n.dtype = DType::F64; }) != "");
  CHECK(broken(g, s, [&](Node& n) { n.in[0] = s; }) != "");
  CHECK(broken(g, s, [](Node& n) { n.in.clear(); }) != "");
  const NodeId r = b.reduce(Fn::Add, x, {0});
  CHECK(broken(g, r, [](Node& n) { n.a = {2}; }) != "");
  CHECK(broken(g, r, [](Node& n) { n.a = {0, 0}; }) != "");
  CHECK(broken(g, r, [](Node& n) { n.fn = Fn::Sub; }) != "");
  CHECK(broken(g, r, [](Node& n) { n.fn = Fn::And; }) != "");
  const NodeId c = b.compare(Fn::Lt, x, x);
  CHECK(broken(g, c, [](Node& n) { n.dtype = DType::F32; }) != "");
  const NodeId t = b.take(x, {i}, {-1, 1}, {0}, {3, 4}, IndexMode::Strict);
  CHECK(broken(g, t, [](Node& n) { n.a = {-2, 1}; }) != "");
  CHECK(broken(g, t, [](Node& n) { n.a = {0, 1}; }) != "");
  CHECK(broken(g, t, [](Node& n) { n.b = {1}; }) != "");
  CHECK(broken(g, t, [](Node& n) { n.mode = IndexMode::Fill; }) != "");
  const NodeId k = b.constant(Literal::integer(1), DType::I32);
  CHECK(broken(g, k, [](Node& n) { n.lit = Literal::real(1); }) != "");
  CHECK(broken(g, k, [](Node& n) { n.shape = {int64_t{1} << 40, int64_t{1} << 40}; }) != "");
  CHECK(verify(g, static_cast<NodeId>(g.nodes.size())) != "");
}
