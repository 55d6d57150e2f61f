// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Communication that completes, that hangs, and whose ranks disagree.
#include <doctest/doctest.h>

#include "fixture.h"

using namespace shardproof;
using namespace shardproof::link_test;

namespace {

// Two ranks; `build` makes rank r's program over x and returns its output y. A second output z never depends on communication.
link::Problem two(const std::function<NodeId(Maker&, NodeId, int)>& build) {
  manifest::Manifest m =
      read(R"J({"sequential": "s", "distributed": "d", "mesh": {"a": 2}, "groups": {"g": "a", "h": [[0, 1]], "back": [[1, 0]]},
      "inputs": {"x": "Replicate"}, "outputs": {"y": {"expect": "any"}, "z": {"expect": "Replicate"}}})J");
  std::vector<frontend::Program> seq;
  seq.push_back(make([](Maker& k) {
    NodeId x = k.in("x", {4});
    k.out("y", x);
    k.out("z", x);
  }));
  Result<link::Problem> p = link::link(m, std::move(seq), ranks(2, [&](Maker& k, int r) {
                                         NodeId x = k.in("x", {4});
                                         NodeId y = build(k, x, r);
                                         k.out("y", y);
                                         k.out("z", x);
                                       }));
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  return *p;
}

NodeId sum(Maker& k, NodeId x, const char* group, const char* op = "c10d.allreduce_") {
  k.b.source_op = op;
  return k.b.all_reduce(x, ir::Fn::Add, false, Maker::group(group));
}

void send(Maker& k, NodeId x, int peer, int tag = 0) { k.b.send(x, peer, tag, Maker::group("g")); }
NodeId recv(Maker& k, int peer, int tag = 0, ir::Shape s = {4}) { return k.b.recv(ir::DType::F32, s, peer, tag, Maker::group("g")); }

}  // namespace

TEST_CASE("a ring of sends and receives completes, but only because sends are buffered") {
  link::Problem p = two([](Maker& k, NodeId x, int r) {
    send(k, x, 1 - r);
    return recv(k, 1 - r);
  });
  CHECK(p.faults.empty());
  CHECK(p.warnings.size() == 1);
  CHECK(p.warnings[0].find("buffered") != std::string::npos);
  CHECK(p.outputs[0].distributed[0] == p.outputs[0].sequential);
  p = two([](Maker& k, NodeId x, int r) {  // one sends first, the other receives first
    if (r == 0) send(k, x, 1);
    NodeId y = recv(k, 1 - r);
    if (r == 1) send(k, x, 0);
    return y;
  });
  CHECK(p.faults.empty());
  CHECK(p.warnings.empty());
}

TEST_CASE("messages keep their order within a tag, and tags apart") {
  link::Problem p = two([](Maker& k, NodeId x, int r) {
    if (r == 1) return k.b.concat({recv(k, 0, 7, {3}), recv(k, 0, 0, {1}), recv(k, 0, 0, {2})}, 0);
    send(k, k.b.slice_dim(x, 0, 0, 1), 1, 0);
    send(k, k.b.slice_dim(x, 0, 1, 3), 1, 0);
    send(k, k.b.slice_dim(x, 0, 1, 4), 1, 7);
    return x;
  });
  CHECK(p.faults.empty());
  Values v(p.graph);
  std::vector<double> x = v.at(p.outputs[0].sequential);
  CHECK(close(v.at(p.outputs[0].distributed[1]), {x[1], x[2], x[3], x[0], x[1], x[2]}));
}

TEST_CASE("receives that wait for each other hang") {
  link::Problem p = two([](Maker& k, NodeId x, int r) {
    NodeId y = recv(k, 1 - r);
    send(k, x, 1 - r);
    return y;
  });
  REQUIRE(p.faults.size() == 1);
  CHECK(p.faults[0].kind == "would-hang");
  CHECK(p.faults[0].sites.size() == 2);
  CHECK(p.faults[0].explanation.find("rank 0 waits in recv") != std::string::npos);
  CHECK(p.outputs[0].blocked);
  CHECK_FALSE(p.outputs[1].blocked);  // what communication does not reach can still be judged
}

TEST_CASE("a collective that one rank never joins hangs") {
  link::Problem p = two([](Maker& k, NodeId x, int r) { return r == 0 ? sum(k, x, "g") : x; });
  REQUIRE(p.faults.size() == 1);
  CHECK(p.faults[0].kind == "would-hang");
  CHECK(p.faults[0].explanation.find("rank 1 has finished") != std::string::npos);
  CHECK(p.outputs[0].blocked);
}

TEST_CASE("ranks that disagree on operator, shape, type or reduction") {
  auto fault = [](const std::function<NodeId(Maker&, NodeId, int)>& build) {
    link::Problem p = two(build);
    return p.faults.empty() ? "none" : p.faults[0].kind + ": " + p.faults[0].explanation;
  };
  auto g = Maker::group("g");
  CHECK(fault([&](Maker& k, NodeId x, int) { return k.b.all_reduce(x, ir::Fn::Add, false, g); }) == "none");
  CHECK(fault([&](Maker& k, NodeId x, int r) {
          return r ? k.b.all_reduce(x, ir::Fn::Add, false, g) : k.b.broadcast_from(x, 0, g);
        }).find("the operator") != std::string::npos);
  CHECK(fault([&](Maker& k, NodeId x, int r) {
          return k.b.all_reduce(r ? k.b.slice_dim(x, 0, 0, 2) : x, ir::Fn::Add, false, g);
        }).find("the shape") != std::string::npos);
  CHECK(fault([&](Maker& k, NodeId x, int r) {
          return k.b.all_reduce(r ? k.b.convert(x, ir::DType::BF16) : x, ir::Fn::Add, false, g);
        }).find("the element type") != std::string::npos);
  CHECK(fault([&](Maker& k, NodeId x, int r) {
          return k.b.all_reduce(x, r ? ir::Fn::Max : ir::Fn::Add, false, g);
        }).find("the reduction") != std::string::npos);
  CHECK(fault([&](Maker& k, NodeId x, int r) { return k.b.all_reduce(x, ir::Fn::Add, r == 0, g); }).find("the reduction") !=
        std::string::npos);
  CHECK(fault([&](Maker& k, NodeId x, int r) { return k.b.broadcast_from(x, r, g); }).find("the source") != std::string::npos);
  CHECK(fault([&](Maker& k, NodeId x, int r) {
          std::vector<int64_t> send = r == 0 ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{2, 2},
                               receive = r == 0 ? std::vector<int64_t>{1, 2} : std::vector<int64_t>{2, 2};
          return k.b.all_to_all(x, 0, 0, 2, send, receive, g);
        }).find("sends 3 rows to rank 1, which receives 2") != std::string::npos);
  CHECK(fault([&](Maker& k, NodeId x, int r) {
          if (r == 0) send(k, x, 1);
          return r == 0 ? x : recv(k, 0, 0, {3});
        }).find("mismatched-collective: rank 0 sends") == 0);
}

TEST_CASE("two groups in opposite order") {
  auto build = [](const char* op, bool wait) {
    return [op, wait](Maker& k, NodeId x, int r) {
      NodeId first = sum(k, x, r == 0 ? "g" : "h", op);
      if (wait) k.p.waits.emplace_back(first, static_cast<NodeId>(k.p.graph.nodes.size()));
      NodeId second = sum(k, x, r == 0 ? "h" : "g", op);
      return k.b.concat({first, second}, 0);
    };
  };
  CHECK(two(build("c10d.allreduce_", false)).faults.size() == 1);                     // blocking: each waits for the other
  CHECK(two(build("_c10d_functional.all_reduce.default", false)).faults.empty());     // both are under way before one is needed
  CHECK(two(build("_c10d_functional.all_reduce.default", true)).faults.size() == 1);  // waited for at once
  // Groups of the same ranks under names that differ from rank to rank are one group: the order decides.
  link::Problem p = two([](Maker& k, NodeId x, int r) { return sum(k, x, r == 0 ? "g" : "h"); });
  CHECK(p.faults.empty());
}

TEST_CASE("group order is the order of the list") {
  link::Problem p =
      two([](Maker& k, NodeId x, int r) { return k.b.all_gather(k.b.slice_dim(x, 0, 2 * r, 2 * r + 2), 0, 2, Maker::group("back")); });
  Values v(p.graph);
  std::vector<double> x = v.at(p.outputs[0].sequential);
  CHECK(close(v.at(p.outputs[0].distributed[0]), {x[2], x[3], x[0], x[1]}));
}

TEST_CASE("communication in branches") {
  // A sum in a branch, chosen by n, which the manifest has as one number, or by what the rank has of x.
  const auto branching = [](Maker& k, NodeId x, NodeId condition, std::vector<char> taken = {}) {
    const auto begin = static_cast<NodeId>(k.p.graph.nodes.size());
    const NodeId y = sum(k, x, "g");
    k.p.branches.push_back({begin, static_cast<NodeId>(k.p.graph.nodes.size()), condition, std::move(taken)});
    return k.b.select(k.b.broadcast(condition, {4}, {}), y, x);
  };
  const auto positive = [](Maker& k, NodeId x, int64_t place) {
    const NodeId number = k.b.reshape(k.b.slice_dim(x, 0, place, place + 1), {});
    return k.b.compare(ir::Fn::Gt, number, k.b.constant(ir::Literal::real(0), ir::DType::F32));
  };
  SUBCASE("all ranks decide alike") {
    const link::Problem p = two([&](Maker& k, NodeId x, int) { return branching(k, x, positive(k, x, 0)); });
    CHECK(p.faults.empty());
    CHECK(p.opaque_nodes.empty());
  }
  SUBCASE("each by another value") {
    const link::Problem p = two([&](Maker& k, NodeId x, int r) { return branching(k, x, positive(k, x, r)); });
    CHECK(p.faults.empty());
    CHECK(p.opaque_nodes.size() == 2);
    CHECK(p.opaque_reasons.at(0).find("decide alike") != std::string::npos);
  }
  SUBCASE("one rank alone, if it ever does: no hang is claimed") {
    const link::Problem p = two([&](Maker& k, NodeId x, int r) { return r == 0 ? branching(k, x, positive(k, x, 0)) : x; });
    CHECK(p.faults.empty());
    CHECK(p.opaque_nodes.size() == 1);
  }
  SUBCASE("one rank alone, by its id: it hangs") {
    const link::Problem p = two([&](Maker& k, NodeId x, int) { return branching(k, x, positive(k, x, 0), {1, 0}); });
    REQUIRE(p.faults.size() == 1);
    CHECK(p.faults[0].kind == "would-hang");
  }
  SUBCASE("no rank takes the branch") {
    const link::Problem p = two([&](Maker& k, NodeId x, int) { return branching(k, x, positive(k, x, 0), {0, 0}); });
    CHECK(p.faults.empty());
    CHECK(p.opaque_nodes.empty());
  }
  SUBCASE("of a permutation only those take part that send or receive: no hang is claimed") {
    const link::Problem p = two([&](Maker& k, NodeId x, int) {
      const NodeId condition = positive(k, x, 0);
      const auto begin = static_cast<NodeId>(k.p.graph.nodes.size());
      const NodeId y = k.b.permute(x, {0, 0}, Maker::group("g"));
      k.p.branches.push_back({begin, static_cast<NodeId>(k.p.graph.nodes.size()), condition, {1, 0}});
      return k.b.select(k.b.broadcast(condition, {4}, {}), y, x);
    });
    CHECK(p.faults.empty());
    CHECK(p.opaque_nodes.size() == 1);
  }
}
