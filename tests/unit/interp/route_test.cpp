// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Communication is found again in the linked graph, where no collectives are left.
#include "interp/route.h"

#include <doctest/doctest.h>

#include <functional>

#include "ir/build.h"

using namespace shardproof;
using namespace shardproof::interp;
using ir::DType;
using ir::NodeId;

namespace {

struct Grid {
  link::Problem p;
  ir::Builder b{p.graph};
  Grid() { p.mesh.axes = {{"dp", 2}, {"tp", 2}}; }
  NodeId put(int side, const std::string& op, const std::function<NodeId()>& make) {
    b.label = op;
    b.source_op = op;
    const NodeId id = make();
    p.side.resize(p.graph.nodes.size(), static_cast<int16_t>(side));
    return id;
  }
  std::vector<NodeId> per_rank() {
    const NodeId x = put(link::kShared, "x", [&] { return b.input("x", DType::F32, {4, 4}); });
    std::vector<NodeId> out;
    for (int r = 0; r < 4; ++r) out.push_back(put(r, "aten.exp", [&] { return b.map(ir::Fn::Exp, {x}, DType::F32); }));
    return out;
  }
};

const auto kNowhere = [](NodeId) { return false; };

}  // namespace

TEST_CASE("a reduction over one axis of two") {
  Grid t;
  const std::vector<NodeId> x = t.per_rank();
  const NodeId sum = t.put(0, "_c10d_functional.all_reduce.default", [&] { return t.b.map(ir::Fn::Add, {x[0], x[2]}, DType::F32); });
  const auto steps = route(t.p, {sum}, kNowhere);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].kind == RouteStep::Kind::Reduce);
  CHECK(steps[0].axes == 1u);  // ranks 0 and 2 differ along dp
  CHECK(steps[0].whole);
  CHECK(route(t.p, {sum}, [&](NodeId id) { return id == x[0] || id == x[2]; }).size() == 1);
}

TEST_CASE("a group that is no whole axis") {
  Grid t;
  const std::vector<NodeId> x = t.per_rank();
  const NodeId sum = t.put(0, "all-reduce", [&] { return t.b.map(ir::Fn::Add, {x[0], x[3]}, DType::F32); });
  const auto steps = route(t.p, {sum}, kNowhere);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].axes == 3u);
  CHECK(!steps[0].whole);
}

TEST_CASE("a gather, an exchange and messages") {
  Grid t;
  const std::vector<NodeId> x = t.per_rank();
  const NodeId all = t.put(0, "all_gather", [&] { return t.b.concat({x[0], x[1]}, 0); });
  auto steps = route(t.p, {all}, kNowhere);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].kind == RouteStep::Kind::Gather);
  CHECK(steps[0].axes == 2u);
  const NodeId swap = t.put(0, "all-to-all", [&] { return t.b.concat({t.b.slice_dim(x[0], 0, 0, 2), t.b.slice_dim(x[1], 0, 0, 2)}, 0); });
  steps = route(t.p, {swap}, kNowhere);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].kind == RouteStep::Kind::Exchange);
  // Two ranks that read each other's values; a value that all read on rank 0 is no message.
  const NodeId here = t.put(0, "neg", [&] { return t.b.map(ir::Fn::Neg, {x[1]}, DType::F32); });
  const NodeId there = t.put(1, "neg", [&] { return t.b.map(ir::Fn::Neg, {x[0]}, DType::F32); });
  steps = route(t.p, {here, there}, kNowhere);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].kind == RouteStep::Kind::Message);
  CHECK(route(t.p, {there}, kNowhere).empty());
}
