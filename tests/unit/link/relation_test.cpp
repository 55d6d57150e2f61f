// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Placements as relations: what each rank holds, by numbers; and collectives as views and sums.
#include <doctest/doctest.h>

#include "fixture.h"

using namespace shardproof;
using namespace shardproof::link_test;

namespace {

// A program that returns its input on a mesh {a=2, b=2}: local shapes per rank.
link::Problem identity(const std::string& placement, ir::Shape global, const std::function<ir::Shape(int)>& local,
                       const std::string& mesh = R"J({"a": 2, "b": 2})J", int n = 4) {
  manifest::Manifest m = read(R"J({"sequential": "s", "distributed": "d", "mesh": )J" + mesh + R"J(, "inputs": {"x": )J" + placement +
                              R"J(}, "outputs": {"y": {"expect": "any"}}})J");
  std::vector<frontend::Program> seq;
  seq.push_back(make([&](Maker& k) { k.out("y", k.in("x", global)); }));
  Result<link::Problem> p = link::link(m, std::move(seq), ranks(n, [&](Maker& k, int r) { k.out("y", k.in("x", local(r))); }));
  INFO(placement);
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  return *p;
}

std::vector<double> rank_values(link::Problem& p, int rank) {
  Values v(p.graph);
  return v.at(p.outputs[0].distributed[static_cast<size_t>(rank)]);
}
std::vector<double> whole(link::Problem& p) {
  Values v(p.graph);
  return v.at(p.outputs[0].sequential);
}

}  // namespace

TEST_CASE("each placement holds of its own identity program, and the others do not") {
  struct Case {
    std::string json, words;
    ir::Shape global;
    std::function<ir::Shape(int)> local;
  };
  auto same = [](ir::Shape s) { return [s](int) { return s; }; };
  std::vector<Case> cases = {
      {R"J("Replicate")J", "Replicate", {8, 4}, same({8, 4})},
      {R"J("Shard(0)@a")J", "Shard(0)@a", {8, 4}, same({4, 4})},
      {R"J("Shard(0)@b")J", "Shard(0)@b", {8, 4}, same({4, 4})},
      {R"J("Shard(-1)@b")J", "Shard(1)@b", {8, 4}, same({8, 2})},
      {R"J("Shard(0)@a, Shard(0)@b")J", "Shard(0)@a, Shard(0)@b", {8, 4}, same({2, 4})},
      {R"J("Shard(0)@b, Shard(0)@a")J", "Shard(0)@b, Shard(0)@a", {8, 4}, same({2, 4})},
      {R"J("Shard(0)@(b, a)")J", "Shard(0)@(b, a)", {8, 4}, same({2, 4})},
      {R"J({"a": "Shard(0)", "b": "Shard(1)"})J", "Shard(0)@a, Shard(1)@b", {8, 4}, same({4, 2})},
      {R"J("Partial(sum)@a")J", "Partial(sum)@a", {8, 4}, same({8, 4})},
      {R"J("Partial(avg)@a")J", "Partial(avg)@a", {8, 4}, same({8, 4})},
      {R"J("Partial(max)@b")J", "Partial(max)@b", {8, 4}, same({8, 4})},
      {R"J("Partial(sum)@a, Partial(max)@b")J", "Partial(sum)@a, Partial(max)@b", {8, 4}, same({8, 4})},
      {R"J("Shard(1)@b, Partial(sum)@a")J", "Partial(sum)@a, Shard(1)@b", {8, 4}, same({8, 2})},
      {R"J({"scale": "-2/3", "of": "Partial(sum)@a"})J", "Scale(-2/3), Partial(sum)@a", {8, 4}, same({8, 4})},
      {R"J("Shard(0, blocks=2)@a")J", "Shard(0, blocks=2)@a", {8, 4}, same({4, 4})},
      {R"J({"shard": 0, "axis": ["a", "b"], "blocks": [{"size": 8}, {"size": 4, "copies": 2}]})J",
       "Shard(0, blocks=[8, 4x2])@(a, b)",
       {12, 4},
       same({4, 4})},
      {R"J({"shard": 0, "axis": "a", "order": "zigzag"})J", "Shard(0, order=zigzag)@a", {8, 4}, same({4, 4})},
      {R"J({"shard": 0, "axis": "a", "chunks": [[3, 0], [1, 2]]})J", "Shard(0, chunks=[[3, 0], [1, 2]])@a", {8, 4}, same({4, 4})},
      {R"J({"shard": 0, "axis": "a", "padded": 5, "fill": 7})J", "Shard(0, padded=5, fill=7)@a", {8, 4}, same({5, 4})},
      {R"J({"shard": 0, "axis": "a", "padded": 5, "fill": "any"})J", "Shard(0, padded=5, fill=any)@a", {8, 4}, same({5, 4})},
  };
  for (Case& c : cases) {
    CAPTURE(c.json);
    link::Problem p = identity(c.json, c.global, c.local);
    CHECK(has(p, p.outputs[0], c.words));
    for (const Case& other : cases) {
      bool alike = other.words == c.words ||
                   (c.words == "Shard(0, padded=5, fill=7)@a" && other.words == "Shard(0, padded=5, fill=any)@a") ||
                   // a cut by a product of axes is the nested cut
                   (c.words == "Shard(0)@b, Shard(0)@a" && other.words == "Shard(0)@(b, a)") ||
                   (c.words == "Shard(0)@(b, a)" && other.words == "Shard(0)@b, Shard(0)@a") ||
                   (c.words == "Partial(sum)@a" && other.words == "Partial(sum)@a, Partial(max)@b") ||
                   (c.words == "Replicate" && (other.words == "Partial(avg)@a" || other.words == "Partial(max)@b"));
      CHECK_MESSAGE(has(p, p.outputs[0], other.words) == alike, other.words);
    }
  }
}

TEST_CASE("what each rank holds, element by element") {
  link::Problem p = identity(R"J({"shard": 0, "axis": "a", "order": "zigzag"})J", {8}, [](int) { return ir::Shape{4}; });
  std::vector<double> x = whole(p);
  CHECK(close(rank_values(p, 0), {x[0], x[1], x[6], x[7]}));
  CHECK(close(rank_values(p, 3), {x[2], x[3], x[4], x[5]}));
  p = identity(R"J({"shard": 0, "axis": ["a", "b"], "blocks": [{"size": 4}, {"size": 2, "copies": 2}]})J", {6},
               [](int) { return ir::Shape{2}; });
  x = whole(p);
  CHECK(close(rank_values(p, 1), {x[1], x[4]}));
  CHECK(close(rank_values(p, 2), {x[2], x[5]}));
  p = identity(R"J("Shard(0)@(a, b)")J", {5}, [](int r) { return ir::Shape{r < 2 ? 2 : r == 2 ? 1 : 0}; });  // torch.chunk: 2, 2, 1, 0
  x = whole(p);
  CHECK(close(rank_values(p, 2), {x[4]}));
  CHECK(rank_values(p, 3).empty());
  CHECK(has(p, p.outputs[0], "Shard(0)@(a, b)"));
  p = identity(R"J({"shard": 0, "axis": "a", "padded": 4, "fill": 9})J", {6}, [](int) { return ir::Shape{4}; });
  x = whole(p);
  CHECK(close(rank_values(p, 2), {x[4], x[5], 9, 9}));
}

TEST_CASE("a scale is S = n/d times what the ranks hold") {
  link::Problem p = identity(R"J({"scale": "1/2", "of": "Replicate"})J", {3}, [](int) { return ir::Shape{3}; });
  std::vector<double> x = whole(p), y = rank_values(p, 0);
  for (size_t k = 0; k < 3; ++k) CHECK(x[k] == doctest::Approx(y[k] / 2));
}

TEST_CASE("free terms, forwards and backwards") {
  manifest::Manifest m = read(R"J({"sequential": "s", "distributed": "d", "mesh": {"a": 2}, "inputs": {
      "x": "concat(0, r0.u, r1.u)", "q": "slice(0, 0, 2, r0.p)", "k": "slice(0, 2, 4, r0.p)", "z": "sum(r0.w, scale(1/2, r1.w))", "t": ["= r0.t", "transpose(1 0, r1.t)"]},
      "extra_inputs": {"free": "any"},
      "outputs": {"x": {"expect": "concat(0, r0.u, r1.u)"}, "q": {"expect": "slice(0, 0, 2, r0.p)"}, "z": {"expect": "sum(r0.w, scale(1/2, r1.w))"}, "t": {"expect": ["= r0.t"]}}})J");
  std::vector<frontend::Program> seq;
  seq.push_back(make([](Maker& k) {
    k.out("x", k.in("x", {4}));
    k.out("q", k.in("q", {2}));
    k.in("k", {2});
    k.out("z", k.in("z", {3}));
    k.out("t", k.in("t", {2, 2}));
  }));
  Result<link::Problem> p = link::link(m, std::move(seq), ranks(2, [](Maker& k, int r) {
                                         k.out("u", k.in("u", {2}));
                                         if (r == 0) k.out("p", k.in("p", {4}));
                                         k.out("w", k.in("w", {3}));
                                         k.out("t", k.in("t", {2, 2}));
                                         k.out("f", k.in("free", {1}));
                                       }));
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(p->free_inputs.size() == 7);  // x, p, r0.w, r1.w, t, and `free` on both ranks; nothing for q, k and z
  for (const link::Output& o : p->outputs) {
    CAPTURE(o.name);
    auto goals = p->goals(o, o.expect);
    REQUIRE(goals);
    Values v(p->graph);
    for (const auto& [x, y] : *goals) CHECK(close(v.at(x), v.at(y)));
  }
  CHECK_FALSE(has(*p, p->outputs[0], "concat(0, r1.u, r0.u)"));
  CHECK_FALSE(has(*p, p->outputs[1], "slice(0, 2, 4, r0.p)"));
}

TEST_CASE("collectives become views and sums") {
  manifest::Manifest m = read(
      R"J({"sequential": "s", "distributed": "d", "mesh": {"a": 2, "b": 2}, "groups": {"g": "b", "w": "world", "turned": [[1, 0], [3, 2]]},
      "inputs": {"x": "Shard(0)@b"}, "outputs": {"sum": {}, "gather": {}, "turned": {}, "scatter": {}, "avg": {}, "a2a": {}, "uneven": {}, "bcast": {}, "perm": {}}})J");
  auto names = [](Maker& k, std::vector<NodeId> v) {
    const char* n[] = {"sum", "gather", "turned", "scatter", "avg", "a2a", "uneven", "bcast", "perm"};
    for (size_t i = 0; i < v.size(); ++i) k.out(n[i], v[i]);
  };
  std::vector<frontend::Program> seq;
  seq.push_back(make([&](Maker& k) {
    NodeId x = k.in("x", {8, 4});
    NodeId top = k.b.slice_dim(x, 0, 0, 4), low = k.b.slice_dim(x, 0, 4, 8);
    NodeId sum = k.b.map(ir::Fn::Add, {top, low}, ir::DType::F32);
    NodeId half = k.b.binary(ir::Fn::Div, sum, k.b.constant(ir::Literal::integer(2), ir::DType::F32));
    names(k, {sum, x, k.b.concat({low, top}, 0), sum, half, x, x, top, k.b.concat({low, top}, 0)});
  }));
  Result<link::Problem> p = link::link(m, std::move(seq), ranks(4, [&](Maker& k, int r) {
                                         NodeId x = k.in("x", {4, 4});
                                         auto g = Maker::group("g");
                                         bool first = r % 2 == 0;
                                         std::vector<int64_t> send = first ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{4, 0},
                                                              receive = first ? std::vector<int64_t>{1, 4} : std::vector<int64_t>{3, 0};
                                         NodeId sum = k.b.all_reduce(x, ir::Fn::Add, false, g);
                                         NodeId gather = k.b.all_gather(x, 0, 2, g);
                                         NodeId turned = k.b.all_gather(x, 0, 2, Maker::group("turned"));
                                         NodeId scatter = k.b.reduce_scatter(x, ir::Fn::Add, false, 0, 2, g);
                                         NodeId avg = k.b.all_reduce(x, ir::Fn::Add, true, g);
                                         NodeId a2a = k.b.all_to_all(x, 1, 0, 2, {}, {}, g);
                                         NodeId uneven = k.b.all_to_all(x, 0, 0, 2, send, receive, g);
                                         NodeId bcast = k.b.broadcast_from(x, 0, g);
                                         NodeId perm = k.b.permute(x, {0, 1, 1, 0}, g);
                                         names(k, {sum, gather, turned, scatter, avg, a2a, uneven, bcast, perm});
                                       }));
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(p->faults.empty());
  const char* expected[] = {"Replicate",
                            "Replicate",
                            "Replicate",
                            "Shard(0)@b",
                            "Replicate",
                            "Shard(1)@b",
                            "concat(0, slice(0, 0, 1, r0.uneven), r1.uneven, slice(0, 1, 5, r0.uneven))",
                            "Replicate",
                            "Shard(0)@b"};
  for (size_t k = 0; k < p->outputs.size(); ++k) {
    CAPTURE(p->outputs[k].name);
    CHECK(has(*p, p->outputs[k], expected[k]));
  }
  // One node stands for a group's all_reduce.
  CHECK(p->outputs[0].distributed[0] == p->outputs[0].distributed[1]);
  CHECK(p->outputs[0].distributed[2] == p->outputs[0].distributed[3]);
  CHECK(p->outputs[0].distributed[0] != p->outputs[0].distributed[2]);
}

TEST_CASE("candidates of any, in the order of preference") {
  link::Problem p = identity(R"J({"shard": 0, "axis": "a", "order": "zigzag"})J", {8, 8}, [](int) { return ir::Shape{4, 8}; });
  std::vector<std::string> words;
  for (const manifest::Placement& c : p.any_candidates(p.outputs[0])) words.push_back(to_string(c, p.mesh));
  REQUIRE(!words.empty());
  CHECK(words[0] == "Shard(0)@b");  // the fewest cuts, then the order of choices
  CHECK(std::find(words.begin(), words.end(), "Shard(0)@a") != words.end());
  CHECK(std::find(words.begin(), words.end(), "Shard(0)@a, Partial(sum)@b") != words.end());
  CHECK(words.back().find("zigzag") != std::string::npos);
  CHECK(std::find(words.begin(), words.end(), "Replicate") == words.end());  // the shapes exclude it
}
