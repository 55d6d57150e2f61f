// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// In-place operators, views and aliases become functional: what is read after a write is what PyTorch would read.
#include "aten_support.h"

namespace shardproof::test {
namespace {

using V = std::vector<double>;

TEST_CASE("a write through a slice is seen by the base and by other views of it") {
  const auto p = lowered(fx_text("x: \"f32[2, 3]\"",
                                 "c: \"f32[2, 3]\" = torch.ops.aten.clone.default(x)\n"
                                 "row: \"f32[3]\" = torch.ops.aten.select.int(c, 0, 1)\n"
                                 "part: \"f32[2]\" = torch.ops.aten.slice.Tensor(row, 0, 1, 3)\n"
                                 "flat: \"f32[6]\" = torch.ops.aten.view.default(c, [-1])\n"
                                 "add_: \"f32[2]\" = torch.ops.aten.add_.Tensor(part, 10)\n"
                                 "sum: \"f32[6]\" = torch.ops.aten.mul.Tensor(flat, 1.0)",
                                 "c, row, sum, add_"));
  const auto out = run(p, {});
  CHECK(out.at("c") == V{1, 2, 3, 4, 15, 16});
  CHECK(out.at("row") == V{4, 15, 16});
  CHECK(out.at("sum") == V{1, 2, 3, 4, 15, 16});
  CHECK(out.at("add_") == V{15, 16});
  CHECK(p.outputs.size() == 4);  // the clone is written, not the input
}

TEST_CASE("a value read before a write keeps the old contents") {
  const auto p = lowered(fx_text("x: \"f32[2]\"",
                                 "c: \"f32[2]\" = torch.ops.aten.clone.default(x)\n"
                                 "before: \"f32[2]\" = torch.ops.aten.mul.Tensor(c, 2)\n"
                                 "zero_: \"f32[2]\" = torch.ops.aten.zero_.default(c)\n"
                                 "after: \"f32[2]\" = torch.ops.aten.add.Tensor(c, before)",
                                 "before, after"));
  const auto out = run(p, {});
  CHECK(out.at("before") == V{2, 4});
  CHECK(out.at("after") == V{2, 4});
}

TEST_CASE("a write to an input is an output") {
  const auto p = lowered(fx_text("w: \"f32[2]\", g: \"f32[2]\", step: \"f32[]\"",
                                 "t: \"f32[2]\" = torch.ops.aten.detach.default(w)\n"
                                 "mul: \"f32[2]\" = torch.ops.aten.mul.Tensor(g, 0.5)\n"
                                 "copy_: \"f32[2]\" = torch.ops.aten.copy_.default(t, mul)",
                                 "mul"));
  REQUIRE(p.outputs.size() == 2);
  CHECK(p.outputs[1].name == "mut:w");
  CHECK(p.outputs[1].mutated_input == "w");
  CHECK(run(p, {}).at("mut:w") == V{0.5, 1});
}

TEST_CASE("writes through transposes, reshapes and steps") {
  const auto p = lowered(fx_text("x: \"f32[2, 4]\"",
                                 "c: \"f32[2, 4]\" = torch.ops.aten.clone.default(x)\n"
                                 "t: \"f32[4, 2]\" = torch.ops.aten.t.default(c)\n"
                                 "odd: \"f32[2, 2]\" = torch.ops.aten.slice.Tensor(t, 0, 1, 4, 2)\n"
                                 "fill_: \"f32[2, 2]\" = torch.ops.aten.fill_.Scalar(odd, 0)",
                                 "c"));
  CHECK(run(p, {}).at("c") == V{1, 0, 3, 0, 5, 0, 7, 0});
}

TEST_CASE("split and its pieces share memory") {
  const auto p = lowered(fx_text("x: \"f32[4]\"",
                                 "c: \"f32[4]\" = torch.ops.aten.clone.default(x)\n"
                                 "split = torch.ops.aten.split.Tensor(c, 2)\n"
                                 "a: \"f32[2]\" = split[0]\n"
                                 "b: \"f32[2]\" = split[1]\n"
                                 "add_: \"f32[2]\" = torch.ops.aten.add_.Tensor(b, a)",
                                 "c"));
  CHECK(run(p, {}).at("c") == V{1, 2, 4, 6});
}

TEST_CASE("index_put_ by a boolean mask and by integers") {
  FixedConstants constants;
  constants.values["_tensor_constant0"] = {ir::Literal::integer(7)};
  const auto p = lowered(fx_text("x: \"i64[4]\", m: \"b8[4]\", i: \"i64[2]\", v: \"i64[2]\"",
                                 "_tensor_constant0 = self._tensor_constant0\n"
                                 "k: \"i64[]\" = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0)\n"
                                 "c: \"i64[4]\" = torch.ops.aten.clone.default(x)\n"
                                 "index_put_: \"i64[4]\" = torch.ops.aten.index_put_.default(c, [m], k)\n"
                                 "d: \"i64[4]\" = torch.ops.aten.index_put.default(c, [i], v, True)",
                                 "c, d"),
                         constants);
  const auto out = run(p, {{"m", {1, 0, 0, 1}}, {"i", {-1, 0}}});
  CHECK(out.at("c") == V{7, 2, 3, 7});
  CHECK(out.at("d") == V{9, 2, 3, 8});
}

TEST_CASE("a constant without a value is an Opaque of its own, never a guess") {
  const std::string text = fx_text("x: \"i64[4]\"",
                                   "_tensor_constant0 = self._tensor_constant0\n"
                                   "k: \"i64[]\" = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0)\n"
                                   "y: \"i64[4]\" = torch.ops.aten.add.Tensor(x, k)",
                                   "y");
  const auto p = lowered(text);
  REQUIRE(p.unsupported.size() == 1);
  CHECK(p.unsupported[0].reason.find("_tensor_constant0") != std::string::npos);
  CHECK(has_op(p, ir::Op::Opaque));
}

TEST_CASE("a write through an expanded view is refused") {
  const auto p = lowered(fx_text("x: \"f32[1, 3]\"",
                                 "c: \"f32[1, 3]\" = torch.ops.aten.clone.default(x)\n"
                                 "e: \"f32[2, 3]\" = torch.ops.aten.expand.default(c, [2, 3])\n"
                                 "add_: \"f32[2, 3]\" = torch.ops.aten.add_.Tensor(e, 1)",
                                 "c"));
  REQUIRE(!p.unsupported.empty());
  CHECK(p.unsupported[0].reason.find("expanded") != std::string::npos);
  CHECK(p.graph[p.outputs[0].node].op == ir::Op::Result);  // c is unknown now
}

TEST_CASE("reshape is a view or a copy: after a write to one the other is unknown, not guessed") {
  const auto p = lowered(fx_text("x: \"f32[2, 3]\"",
                                 "c: \"f32[2, 3]\" = torch.ops.aten.clone.default(x)\n"
                                 "r: \"f32[6]\" = torch.ops.aten.reshape.default(c, [6])\n"
                                 "add_: \"f32[6]\" = torch.ops.aten.add_.Tensor(r, 1)",
                                 "add_, c"));
  REQUIRE(p.outputs.size() == 2);
  CHECK(p.graph[p.outputs[0].node].op == ir::Op::Map);
  CHECK(p.graph[p.outputs[1].node].op == ir::Op::Result);
  CHECK(!p.unsupported.empty());
}

TEST_CASE("out= writes to the given tensor") {
  const auto p = lowered(fx_text("x: \"f32[2]\", y: \"f32[2]\"", "exp: \"f32[2]\" = torch.ops.aten.neg.out(x, out = y)", "exp"));
  REQUIRE(p.outputs.size() == 2);
  CHECK(p.outputs[1].name == "mut:y");
  CHECK(run(p, {}).at("mut:y") == V{-1, -2});
}

TEST_CASE("foreach operators work on each element, in place or not") {
  const auto p = lowered(fx_text("a: \"f32[2]\", b: \"f32[1]\", g: \"f32[2]\", h: \"f32[1]\"",
                                 "_foreach_mul = torch.ops.aten._foreach_mul.Scalar([g, h], 2)\n"
                                 "m0: \"f32[2]\" = _foreach_mul[0]\n"
                                 "m1: \"f32[1]\" = _foreach_mul[1]\n"
                                 "_foreach_add_ = torch.ops.aten._foreach_add_.List([a, b], [m0, m1], alpha = 10)",
                                 "m0"));
  const auto out = run(p, {});
  CHECK(out.at("mut:a") == V{21, 42});
  CHECK(out.at("mut:b") == V{21});
}

TEST_CASE("an unknown operator of another library may write to its operands") {
  const auto p = lowered(fx_text("x: \"f32[2]\"",
                                 "c: \"f32[2]\" = torch.ops.aten.clone.default(x)\n"
                                 "y: \"f32[2]\" = torch.ops.mylib.twist.default(c)\n"
                                 "z: \"f32[2]\" = torch.ops.aten.neg.default(c)",
                                 "y, z"));
  CHECK(p.unsupported.size() == 2);
  CHECK(p.graph[p.outputs[1].node].op == ir::Op::Result);
}

TEST_CASE("an unknown ATen operator is Opaque, equal for equal operands, and does not spread") {
  const auto p = lowered(fx_text("x: \"f32[2]\"",
                                 "y: \"f32[2]\" = torch.ops.aten.no_such_thing.default(x, 3)\n"
                                 "z: \"f32[2]\" = torch.ops.aten.neg.default(x)",
                                 "y, z"));
  REQUIRE(p.unsupported.size() == 1);
  const ir::Node& r = p.graph[p.outputs[0].node];
  REQUIRE(r.op == ir::Op::Result);
  CHECK(p.graph[r.in[0]].name == "aten.no_such_thing.default");
  CHECK(p.graph[r.in[0]].attrs == "$, 3");
  CHECK(run(lowered(fx_text("x: \"f32[2]\"", "z: \"f32[2]\" = torch.ops.aten.neg.default(x)", "z")), {}).at("z") == V{-1, -2});
}

TEST_CASE("an argument that the table does not know makes the operator unsupported") {
  const auto p = lowered(fx_text("x: \"f32[2]\"", "y: \"f32[2]\" = torch.ops.aten.neg.default(x, twice = True)", "y"));
  REQUIRE(p.unsupported.size() == 1);
  CHECK(p.unsupported[0].reason.find("twice") != std::string::npos);
}

TEST_CASE("a result that is not what the text says is an error at its line") {
  const auto shape = lower_text(fx_text("x: \"f32[2, 3]\"", "y: \"f32[2]\" = torch.ops.aten.sum.dim_IntList(x, [0])", "y"));
  REQUIRE(!shape.ok());
  CHECK(shape.error().code == "SP250");
  CHECK(shape.error().line == 3);
  const auto type = lower_text(fx_text("x: \"i64[2]\"", "y: \"i64[2]\" = torch.ops.aten.div.Tensor(x, 2)", "y"));
  REQUIRE(!type.ok());
  CHECK(type.error().code == "SP250");
  const auto sizes = lower_text(fx_text("x: \"f32[2, 3]\"", "y: \"f32[2, 3]\" = torch.ops.aten.mm.default(x, x)", "y"));
  REQUIRE(!sizes.ok());
  CHECK(sizes.error().code == "SP251");
  CHECK(sizes.error().message.find("[2, 3]") != std::string::npos);
}

}  // namespace
}  // namespace shardproof::test
