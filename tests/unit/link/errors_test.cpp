// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What the linker refuses, with which words; and how inputs and outputs are paired.
#include <doctest/doctest.h>

#include "fixture.h"

using namespace shardproof;
using namespace shardproof::link_test;

namespace {

using Build = std::function<void(Maker&)>;
using RankBuild = std::function<void(Maker&, int)>;

Result<link::Problem> run(const std::string& rest, const Build& seq, const RankBuild& rank, int n = 2) {
  manifest::Manifest m = read(R"J({"sequential": "s", "distributed": "d", "mesh": {"a": )J" + std::to_string(n) + "}, " + rest + "}");
  std::vector<frontend::Program> s;
  s.push_back(make(seq));
  return link::link(m, std::move(s), ranks(n, rank));
}

std::string error(const std::string& rest, const Build& seq, const RankBuild& rank) {
  Result<link::Problem> p = run(rest, seq, rank);
  return p ? "none" : p.error().code + " " + p.error().message;
}

void plain(Maker& k) { k.out("y", k.in("x", {4})); }
void plain_rank(Maker& k, int) { k.out("y", k.in("x", {4})); }
bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("inputs that cannot be used") {
  CHECK(error(R"J("inputs": {"x": "Replicate"})J", plain, plain_rank) == "none");
  CHECK(says(error(R"J("inputs": {})J", plain, plain_rank), "SP207 no placement for the sequential input x"));
  CHECK(says(error(R"J("inputs": {"x": "Shard(0)@a"})J", plain, plain_rank),
             "SP208 input \"x\" of rank 0 has shape [4], but under Shard(0)@a its part of \"x\" [4] has shape [2]"));
  CHECK(says(error(R"J("inputs": {"x": "Shard(1)@a"})J", plain, plain_rank), "cuts dimension 1"));
  CHECK(says(error(R"J("inputs": {"x": "Replicate"})J", plain, [](Maker& k, int) { k.out("y", k.in("x", {4}, ir::DType::I32)); }),
             "is i32, but \"x\" is f32"));
  CHECK(says(error(R"J("inputs": {"x": "Partial(sum)@a"})J", [](Maker& k) { k.out("y", k.in("x", {4}, ir::DType::Bool)); },
                   [](Maker& k, int) { k.out("y", k.in("x", {4}, ir::DType::Bool)); }),
             "needs floating point"));
  CHECK(says(error(R"J("inputs": {"x": "On(0)@a"})J", plain, plain_rank),
             "rank 1 has an input \"x\", but by the placement On(0)@a it has no value there"));
  CHECK(says(error(R"J("inputs": {"x": "Replicate"})J", plain,
                   [](Maker& k, int) {
                     NodeId x = k.in("x", {4});
                     k.out("y", k.b.binary(ir::Fn::Add, x, k.in("mask", {4})));
                   }),
             "input \"mask\" of rank 0 has no sequential partner"));
  CHECK(says(error(R"J("inputs": {"x": "Replicate"}, "rename": {"x": ["x", null]})J", plain, plain_rank), "gives rank 1 no name"));
  CHECK(says(error(R"J("inputs": {"x": "Replicate"}, "rename": {"x": "xx"})J", plain, plain_rank), "did you mean \"x\"?"));
  CHECK(says(error(R"J("inputs": {"x": "Replicate"}, "extra_inputs": {"e": 0})J", plain, plain_rank), "no rank has an input \"e\""));
  CHECK(says(error(R"J("inputs": {"x": "Replicate"}, "constants": {"x": [1, 2]})J", plain, plain_rank),
             "has 2 values, but input \"x\" has shape [4]"));
  CHECK(says(error(R"J("inputs": {"x": "concat(0, r0.x, r1.x)"})J", plain, plain_rank), "gives f32 [8]"));
}

TEST_CASE("names, then positions") {
  RankBuild other = [](Maker& k, int) {
    NodeId b = k.in("first", {4}), a = k.in("second", {2});
    k.out("u", b);
    k.out("v", a);
  };
  Build seq = [](Maker& k) {
    NodeId a = k.in("p", {4}), b = k.in("q", {2});
    k.out("y", a);
    k.out("z", b);
  };
  Result<link::Problem> p = run(R"J("inputs": {"p": "Replicate", "q": "Replicate"})J", seq, other);
  REQUIRE(p);
  CHECK(p->relation[0].distributed[0] == "first");
  CHECK(p->outputs[1].distributed_names[1] == "v");
  CHECK(std::find(p->assumptions.begin(), p->assumptions.end(), "inputs are paired by position") != p->assumptions.end());
  // A name that is listed wins over both.
  p = run(R"J("inputs": {"*": "Replicate"}, "rename": {"p": "first"}, "outputs": {"y": {"dist": "u"}, "1": {"dist": "v"}})J", seq, other);
  REQUIRE(p);
  CHECK(p->outputs[1].name == "1");
  CHECK(says(error(R"J("inputs": {"*": "Replicate"}, "outputs": {"y": {"dist": "w"}})J", seq, other),
             "no rank has the output that \"dist\" of \"y\" names"));
  CHECK(says(error(R"J("inputs": {"*": "Replicate"}, "outputs": {"yy": {}})J", seq, other), "has no output \"yy\"; did you mean \"y\"?"));
  CHECK(says(error(R"J("inputs": {"*": "Replicate"})J", plain, other), "inputs of rank 0 cannot be paired"));
}

TEST_CASE("defaults of what is expected") {
  Build seq = [](Maker& k) {
    NodeId w = k.in("w", {4}), loss = k.b.reduce(ir::Fn::Add, w, {0});
    k.out("loss", loss);
    k.out("g", w);
    k.out("v", w);
  };
  RankBuild rank = [](Maker& k, int) {
    NodeId w = k.in("w", {2});
    k.out("loss", k.b.reduce(ir::Fn::Add, w, {0}));
    k.out("g", w);
    k.out("v", w);
  };
  Result<link::Problem> p =
      run(R"J("inputs": {"w": "Shard(0)@a"}, "outputs": {"loss": {}, "g": {"role": "gradient", "of": "w"}, "v": {}})J", seq, rank);
  REQUIRE(p);
  CHECK(p->outputs[0].role == manifest::Role::Loss);
  CHECK(to_string(p->outputs[0].expect, p->mesh) == "Replicate");
  CHECK(to_string(p->outputs[1].expect, p->mesh) == "Shard(0)@a");
  CHECK(to_string(p->outputs[2].expect, p->mesh) == "any");
  CHECK(says(error(R"J("inputs": {"w": "Shard(0)@a"}, "outputs": {"g": {"role": "gradient"}})J", seq, rank),
             "say to which input it belongs"));
  CHECK(says(error(R"J("inputs": {"w": "concat(0, r0.w, r1.w)"}, "outputs": {"g": {"role": "gradient", "of": "w"}})J", seq, rank),
             "\"expect\" must be given"));
  CHECK(says(error(R"J("inputs": {"w": "Shard(0)@a"}, "outputs": {"g": {"of": "ww", "role": "gradient"}})J", seq, rank),
             "no such input; did you mean \"w\"?"));
  CHECK(says(error(R"J("inputs": {"w": "Shard(0)@a"}, "outputs": {"g": {"expect": "Replicate", "dist": ["g", null]}})J", seq, rank),
             "gives rank 1 no value"));
  CHECK(says(error(R"J("inputs": {"w": "Shard(0)@a"}, "outputs": {"g": {"expect": "On(0)@a"}})J", seq, rank),
             "has no value there; write null"));
  CHECK(says(error(R"J("inputs": {"w": "Shard(0)@a"}, "outputs": {})J", seq, rank), "SP212"));
  p = run(R"J("inputs": {"w": "Shard(0)@a"}, "outputs": {"loss": {}})J", seq, rank);
  REQUIRE(p);
  CHECK(p->outputs.size() == 3);
  CHECK_FALSE(p->outputs[1].checked);
  CHECK(says(p->warnings.back(), "2 outputs of the sequential program are not checked"));
}

TEST_CASE("a value that is returned twice is one output") {
  auto twice = [](Maker& k) {
    NodeId x = k.in("x", {4});
    k.out("x", x);
    k.out("x", x);
  };
  Result<link::Problem> p = run(R"J("inputs": {"x": "Replicate"}, "outputs": {"x": {}})J", twice, [&](Maker& k, int) { twice(k); });
  REQUIRE(p);
  CHECK(p->outputs.size() == 1);
  CHECK(p->warnings.empty());
}

TEST_CASE("inputs that are written to") {
  Build seq = [](Maker& k) {
    NodeId x = k.in("x", {4}), s = k.in("s", {4});
    k.out("y", x);
    k.out("mut:s", k.b.binary(ir::Fn::Add, s, x), "s");
  };
  auto rank = [](bool writes) {
    return [writes](Maker& k, int) {
      NodeId x = k.in("x", {4}), s = k.in("t", {4}), sum = k.b.binary(ir::Fn::Add, s, x);
      k.out("y", writes ? x : sum);
      if (writes) k.out("mut:t", sum, "t");
    };
  };
  std::string inputs = R"J("inputs": {"*": "Replicate"}, "rename": {"s": "t"})J";
  Result<link::Problem> p = run(inputs, seq, rank(true));
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(p->outputs[1].role == manifest::Role::Updated);
  CHECK(to_string(p->outputs[1].expect, p->mesh) == "Replicate");
  CHECK(p->outputs[1].distributed_names[0] == "mut:t");
  CHECK(says(error(inputs, seq, rank(false)), "does not write to its partner \"t\""));
  CHECK(says(error(inputs + R"J(, "outputs": {"y": {}})J", seq, rank(false)), "does not write to its partner"));
  CHECK(says(error(R"J("inputs": {"*": "Replicate"}, "rename": {"s": "t"}, "outputs": {"y": {}})J",
                   [](Maker& k) {
                     NodeId x = k.in("x", {4});
                     k.out("y", k.b.binary(ir::Fn::Add, k.in("s", {4}), x));
                   },
                   rank(true)),
             "writes to its input \"t\", but the sequential program does not"));
}

TEST_CASE("facts") {
  Build seq = [](Maker& k) { k.out("y", k.in("x", {4}, ir::DType::I64)); };
  RankBuild rank = [](Maker& k, int) { k.out("y", k.in("x", {4}, ir::DType::I64)); };
  auto facts = [&](const std::string& list) { return error(R"J("inputs": {"x": "Replicate"}, "facts": )J" + list, seq, rank); };
  CHECK(facts(R"J(["x in [0, 80) or = -100", "any(x != -100)"])J") == "none");
  CHECK(says(facts(R"J(["xx >= 0"])J"), "SP210 fact \"xx >= 0\": the sequential program has no input \"xx\"; did you mean \"x\"?"));
  CHECK(says(facts(R"J(["x in [0, 5)", "x >= 5"])J"), "contradict each other"));
  CHECK(facts(R"J(["x in [0, 5)", "x >= 4"])J") == "none");
  CHECK(says(facts(R"J(["x in [0.2, 0.9)"])J"), "contradict"));
  CHECK(says(facts(R"J(["x in [3, 4)", "any(x != 3)"])J"), "cannot hold"));
  CHECK(facts(R"J(["x in [3, 4) or = 9", "any(x != 3)"])J") == "none");
  CHECK(says(facts(R"J(["x in [0, 3)", "distinct(x, dim=0)"])J"), "more values than there are"));
  CHECK(says(facts(R"J(["distinct(x, dim=1)"])J"), "has shape [4]"));
  CHECK(says(error(R"J("inputs": {"x": "Replicate"}, "constants": {"x": 7}, "facts": ["x in [0, 5)"])J", seq, rank),
             "contradict its given value 7"));
  CHECK(error(R"J("constants": {"x": 7}, "facts": ["x in [0, 8)"])J", seq, rank) == "none");
}

TEST_CASE("values that the type does not have") {
  Build seq = [](Maker& k) { k.out("y", k.in("x", {4}, ir::DType::I64)); };
  RankBuild rank = [](Maker& k, int) { k.out("y", k.in("x", {4}, ir::DType::I64)); };
  CHECK(says(error(R"J("constants": {"x": 0.5})J", seq, rank), "0.5 is no value of input \"x\", which is i64"));
  CHECK(says(error(R"J("constants": {"x": "nan"})J", seq, rank), "is no value of input"));
  CHECK(says(error(R"J("inputs": {"x": {"shard": 0, "axis": "a", "padded": 4, "fill": "-inf"}})J", seq, rank), "is no value of input"));
}

TEST_CASE("several graphs are one program") {
  manifest::Manifest m = read(
      R"J({"sequential": ["f", "b"], "distributed": [["f", "b"]], "mesh": {}, "inputs": {"*": "Replicate"}, "outputs": {"g": {}, "loss": {}}})J");
  auto forward = [] {
    return make([](Maker& k) {
      NodeId x = k.in("x", {4}), w = k.in("w", {4}), y = k.b.binary(ir::Fn::Mul, x, w);
      k.out("loss", k.b.reduce(ir::Fn::Add, y, {0}));
      k.out("saved", y);
    });
  };
  auto backward = [] {
    return make([](Maker& k) {
      NodeId saved = k.in("saved", {4}), x = k.in("x", {4}), t = k.in("t", {});
      k.out("g", k.b.map(ir::Fn::Mul, {saved, x, t}, ir::DType::F32));
    });
  };
  std::vector<frontend::Program> s;
  s.push_back(forward());
  s.push_back(backward());
  std::vector<std::vector<frontend::Program>> d(1);
  d[0].push_back(forward());
  d[0].push_back(backward());
  Result<link::Problem> p = link::link(m, std::move(s), std::move(d));
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(p->free_inputs.size() == 3);  // x, w, t
  CHECK(p->outputs.size() == 2);      // `saved` is handed on
  bool told = false;
  for (const std::string& a : p->assumptions) told |= says(a, "take its value: saved");
  CHECK(told);
}

TEST_CASE("an SPMD program knows its rank") {
  manifest::Manifest m = read(
      R"J({"sequential": "s", "distributed": "d", "mesh": {"a": 4}, "inputs": {"x": "Replicate"}, "outputs": {"y": {"expect": "any"}}})J");
  std::vector<frontend::Program> s;
  s.push_back(make([](Maker& k) { k.out("y", k.in("x", {})); }));
  std::vector<std::vector<frontend::Program>> d(1);
  d[0].push_back(make([](Maker& k) {
    k.p.kind = frontend::Program::Kind::Spmd;
    k.p.num_partitions = 2;
    k.p.num_replicas = 2;
    NodeId p = k.b.convert(k.b.rank_id(false, ir::DType::U32), ir::DType::F32),
           r = k.b.convert(k.b.rank_id(true, ir::DType::U32), ir::DType::F32);
    k.out("y", k.b.binary(ir::Fn::Add, p, k.b.binary(ir::Fn::Mul, r, k.in("x", {}))));
  }));
  Result<link::Problem> p = link::link(m, std::move(s), std::move(d));
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  const ir::Graph& g = p->graph;
  for (int r = 0; r < 4; ++r) {
    const ir::Node& sum = g[p->outputs[0].distributed[static_cast<size_t>(r)]];
    const ir::Node& partition = g[g[sum.in[0]].in[0]];
    const ir::Node& replica = g[g[g[sum.in[1]].in[0]].in[0]];
    CHECK(partition.op == ir::Op::Const);
    CHECK(partition.lit.i == r % 2);
    CHECK(replica.lit.i == r / 2);
  }
}
