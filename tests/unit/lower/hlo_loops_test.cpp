// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Loops that are kept: what they carry, what is found to be no unknown, how many rounds, and what is left to be unrolled.
#include <doctest/doctest.h>

#include "lower/lower.h"

namespace shardproof {
namespace {

struct Constants : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return std::nullopt; }
};

// A loop that carries a counter of type `t`, x and a value that it returns as it is; `limit` ends it.
frontend::Program lowered(const std::string& t, int start, const std::string& next, const std::string& go, int64_t keep,
                          const std::string& body = "multiply(x, k)") {
  const std::string state = "(" + t + "[], f32[], f32[])";
  const std::string reads =
      "  p = " + state + " parameter(0)\n  i = " + t +
      "[] get-tuple-element(p), index=0\n  x = f32[] get-tuple-element(p), index=1\n  k = f32[] get-tuple-element(p), index=2\n";
  const std::string text = "HloModule m\n\ncond {\n" + reads + "  n = " + t + "[] constant(6)\n  ROOT c = pred[] " + go + "\n}\nstep {\n" +
                           reads + "  one = " + t + "[] constant(1)\n  two = " + t + "[] constant(2)\n  j = " + t + "[] " + next +
                           "\n  y = f32[] " + body + "\n  same = f32[] copy(k)\n  ROOT r = " + state +
                           " tuple(j, y, same)\n}\nENTRY main {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  s = " + t +
                           "[] constant(" + std::to_string(start) + ")\n  q = " + state + " tuple(s, a, b)\n  w = " + state +
                           " while(q), condition=cond, body=step\n  f = f32[] get-tuple-element(w), index=1\n  e = " + t +
                           "[] get-tuple-element(w), index=0\n  ROOT out = (f32[], " + t + "[]) tuple(f, e)\n}\n";
  auto module = hlo::read_text(text, "test.hlo");
  REQUIRE_MESSAGE(module.ok(), module.error().message);
  auto program = lower::lower_hlo(*module, Constants{}, keep);
  REQUIRE_MESSAGE(program.ok(), program.error().message);
  for (ir::NodeId n = 0; n < program->graph.nodes.size(); ++n) REQUIRE(ir::verify(program->graph, n) == "");
  return std::move(*program);
}

TEST_CASE("a loop is kept with what it carries and neither counts nor stays") {
  const frontend::Program p = lowered("s32", 0, "add(i, one)", "compare(i, n), direction=LT", 4);
  REQUIRE(p.loops.size() == 1);
  const frontend::Loop& loop = p.loops[0];
  CHECK(loop.rounds == 6);
  REQUIRE(loop.carried.size() == 1);
  const auto& x = loop.carried[0];
  CHECK(x.initial == p.inputs[0].node);
  CHECK(p.graph[x.before].op == ir::Op::Input);
  CHECK(p.graph[x.next].in == std::vector<ir::NodeId>{x.before, p.inputs[1].node});
  CHECK(p.outputs[0].node == x.after);
  CHECK(x.after != x.before);
  CHECK((loop.begin <= x.before && x.next < loop.end && loop.end <= x.after));
  // What the counter leaves is known.
  CHECK(p.graph[p.outputs[1].node].op == ir::Op::Const);
  CHECK(p.graph[p.outputs[1].node].lit.i == 6);
}

TEST_CASE("rounds are counted from where and by how much the counter goes") {
  CHECK(lowered("s32", -4, "add(two, i)", "compare(i, n), direction=LE", 4).loops.at(0).rounds == 6);
  CHECK(lowered("s32", 20, "subtract(i, two)", "compare(i, n), direction=GT", 4).loops.at(0).rounds == 7);
  CHECK(lowered("s32", 0, "add(i, one)", "compare(i, n), direction=NE", 4).loops.at(0).rounds == 6);
}

TEST_CASE("loops are unrolled that are short, that count otherwise, that wrap, or unless asked") {
  CHECK(lowered("s32", 0, "add(i, one)", "compare(i, n), direction=LT", 6).loops.empty());
  CHECK(lowered("s32", 0, "add(i, one)", "compare(i, n), direction=LT", 0).loops.empty());
  CHECK(lowered("s32", 1, "add(i, i)", "compare(i, n), direction=LT", 1).loops.empty());
  const frontend::Program wraps = lowered("u8", 250, "add(i, two)", "compare(i, n), direction=GT", 1);  // 250, 252, 254, 0
  CHECK(wraps.loops.empty());
  CHECK(wraps.unsupported.empty());
  CHECK(wraps.graph[wraps.outputs[1].node].lit.i == 0);
}

TEST_CASE("a body with an operator without meaning is not kept") {
  const frontend::Program p =
      lowered("s32", 0, "add(i, one)", "compare(i, n), direction=LT", 4, "custom-call(x), custom_call_target=\"f\"");
  CHECK(p.loops.empty());
  CHECK(p.unsupported.size() == 6);
}

}  // namespace
}  // namespace shardproof
