// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Kernel contracts: the data files, definitions, opaque kernels with factor rules, auto_functionalized, submodules.
#include <cmath>

#include "aten_support.h"
#include "lower/kernel_contract.h"

namespace shardproof::test {
namespace {

using V = std::vector<double>;

TEST_CASE("a defined kernel is computed, and auto_functionalized returns what it wrote") {
  const auto p = lowered(fx_text(
      "x: \"f32[1, 2]\", w: \"f32[2]\", e: \"f32[1, 2]\"",
      "af = torch.ops.higher_order.auto_functionalized(torch.ops._C.rms_norm.default, result = e, input = x, weight = w, epsilon = 0.0)\n"
      "y: \"f32[1, 2]\" = af[1]",
      "y"));
  CHECK(p.unsupported.empty());
  const V y = run(p, {{"x", {3, 4}}, {"w", {1, 2}}}).at("y");
  const double rms = std::sqrt((9.0 + 16.0) / 2);
  CHECK(std::abs(y[0] - 3 / rms) < 1e-12);
  CHECK(std::abs(y[1] - 8 / rms) < 1e-12);
  CHECK(p.outputs.size() == 1);  // e itself is not written
}

TEST_CASE("auto_functionalized leaves the operands as they were") {
  const auto p = lowered(fx_text("x: \"f32[1, 2]\", r: \"f32[1, 2]\", w: \"f32[2]\"",
                                 "af = torch.ops.higher_order.auto_functionalized(torch.ops._C.fused_add_rms_norm.default, input = x, "
                                 "residual = r, weight = w, epsilon = 0.0)\n"
                                 "y: \"f32[1, 2]\" = af[1]\n"
                                 "s: \"f32[1, 2]\" = af[2]\n"
                                 "old: \"f32[1, 2]\" = torch.ops.aten.neg.default(r)",
                                 "s, old"));
  const auto out = run(p, {{"x", {1, 2}}, {"r", {10, 20}}});
  CHECK(out.at("s") == V{11, 22});
  CHECK(out.at("old") == V{-10, -20});
  CHECK(p.outputs.size() == 2);
}

TEST_CASE("the same kernel called directly writes in place") {
  const auto p = lowered(
      fx_text("x: \"f32[1, 2]\", r: \"f32[1, 2]\", w: \"f32[2]\"", "k = torch.ops._C.fused_add_rms_norm.default(x, r, w, 0.0)", "w"));
  REQUIRE(p.outputs.size() == 3);
  CHECK(p.outputs[1].name == "mut:x");
  CHECK(run(p, {{"x", {1, 2}}, {"r", {10, 20}}}).at("mut:r") == V{11, 22});
}

TEST_CASE("auto_functionalized_v2 returns the bases") {
  const auto p = lowered(fx_text("x: \"f32[2]\"",
                                 "c: \"f32[2]\" = torch.ops.aten.clone.default(x)\n"
                                 "af = torch.ops.higher_order.auto_functionalized_v2(torch.ops.tg.inplace_log_tensor.default, s = 'name', "
                                 "_t_base_index = 0, _all_bases = [c])\n"
                                 "y: \"f32[2]\" = af[1]",
                                 "y"));
  CHECK(p.unsupported.empty());
  CHECK(run(p, {}).at("y") == V{1, 2});
}

TEST_CASE("an opaque kernel carries its factor rule where the prover finds it") {
  const auto p = lowered(fx_text("q: \"f32[5, 4, 8]\", k: \"f32[5, 2, 8]\", v: \"f32[5, 2, 8]\", o: \"f32[5, 4, 8]\"",
                                 "af = torch.ops.higher_order.auto_functionalized(torch.ops.vllm.unified_attention_with_output.default, "
                                 "query = q, key = k, value = v, "
                                 "output = o, layer_name = 'layers.0')\n"
                                 "y: \"f32[5, 4, 8]\" = af[1]",
                                 "y"));
  CHECK(p.unsupported.empty());
  const ir::Node& r = p.graph[p.outputs[0].node];
  REQUIRE(r.op == ir::Op::Result);
  const ir::Node& n = p.graph[r.in[0]];
  CHECK(n.name == "vllm.unified_attention_with_output.default");
  CHECK(n.attrs.starts_with("layer_name='layers.0'"));
  CHECK(n.in.size() == 3);
  auto contract = lower::parse_kernel_contract(n.attrs);
  REQUIRE(contract.ok());
  auto sized = lower::resolve_extents(*contract, {{5, 4, 8}, {5, 2, 8}, {5, 2, 8}}, {{5, 4, 8}});
  REQUIRE(sized.ok());
  for (const auto& f : sized->factors) {
    CHECK(f.extent == (f.name == "t" ? 5 : f.name == "d" ? 8 : 2));
    CHECK((f.kind == lower::KernelContract::Factor::Kind::Parallel) == (f.name == "h" || f.name == "g"));
  }
  CHECK(std::any_of(p.notes.begin(), p.notes.end(), [](const std::string& s) { return s.find("unified_attention") != std::string::npos; }));
}

TEST_CASE("factor rules: what is read, what is refused") {
  const auto ok = lower::parse_kernel_contract("(i,k),(k,j)->(i,j); parallel i,j; reduce k:add; linear 0,1");
  REQUIRE(ok.ok());
  REQUIRE(ok->factors.size() == 3);
  CHECK(ok->factors[1].name == "k");
  CHECK(ok->factors[1].kind == lower::KernelContract::Factor::Kind::Reduce);
  CHECK(ok->factors[1].fn == ir::Fn::Add);
  CHECK(ok->linear == std::vector<uint32_t>{0, 1});
  CHECK(lower::parse_kernel_contract("a=1, b='x->y'|factors: (n)->(n); parallel n")->factors.size() == 1);
  CHECK(lower::parse_kernel_contract("a=1")->results.empty());
  for (const char* wrong : {"(i->(i)", "(i)->", "(i)->(i); parallel j", "(i)->(i); parallel i; reduce i:add", "(i)->(i); linear 1",
                            "(i)->(i); reduce i:add", "(i,k)->(i); reduce k", "(i)->(i) x", "(i)->(); parallel i", "(2)->(2)"})
    CHECK_MESSAGE(!lower::parse_kernel_contract(wrong).ok(), wrong);
  CHECK(!lower::resolve_extents(*ok, {{2, 3}, {4, 5}}, {{2, 5}}).ok());
  CHECK(!lower::resolve_extents(*lower::parse_kernel_contract("(a*b)->(a*b)"), {{6}}, {{6}}).ok());
}

TEST_CASE("contract files are checked as a whole") {
  lower::aten::Kernels k;
  CHECK(
      k.load(
           R"j({"kernels": [{"op": "my.twice.default", "parameters": "x", "steps": [["y", "aten.add.Tensor", "$x", "$x"]], "returns": ["$y"]}]})j",
           "a.json")
          .ok());
  const std::pair<const char*, const char*> wrong[] = {
      {R"j({"kernels": [{"op": "my.a.default", "parameters": "x", "steps": [["y", "aten.add.Tensor", "$z"]]}]})j", "$z"},
      {R"j({"kernels": [{"op": "my.a.default", "parameters": "x", "steps": [["y", "aten.nothing.default", "$x"]]}]})j", "aten.nothing"},
      {R"j({"kernels": [{"op": "my.a.default", "parameters": "x", "writes": {"x": "$x"}}]})j", "no parameter marked"},
      {R"j({"kernels": [{"op": "my.a.default", "parameters": "x y", "opaque": {"operands": ["x"], "results": [{"like": "x"}]}}]})j",
       "y is neither"},
      {R"j({"kernels": [{"op": "my.a.default", "parameters": "x", "opaque": {"operands": ["x"], "results": [{"like": "x"}], "factors": "(i),(j)->(i)"}}]})j",
       "number of operands"},
      {R"j({"kernels": [{"op": "my.a.default", "parameters": "x", "stpes": []}]})j", "stpes"},
      {R"j({"kernels": [{"op": "my.a.default", "parameters": "x=oops"}]})j", "default"},
      {R"j({"kernels": )j", "parse error"},
  };
  for (const auto& [text, part] : wrong) {
    const Result<int> r = k.load(text, "b.json");
    REQUIRE_MESSAGE(!r.ok(), text);
    CHECK(r.error().code == "SP255");
    CHECK_MESSAGE(r.error().message.find(part) != std::string::npos, r.error().message);
  }
  CHECK(k.all().size() == 1);
  const Result<fx::Module> m = fx::read_text(fx_text("x: \"f32[2]\"", "y: \"f32[2]\" = torch.ops.my.twice.default(x)", "y"), "t");
  REQUIRE(m.ok());
  const auto p = lower::lower_fx(*m, FixedConstants{}, k);
  REQUIRE(p.ok());
  CHECK(run(*p, {}).at("y") == V{2, 4});
}

TEST_CASE("submodules of higher-order operators are inlined") {
  const auto p = lowered(fx_text("x: \"f32[2]\"",
                                 "submod_1 = self.submod_1\n"
                                 "w = torch.ops.higher_order.wrap_with_set_grad_enabled(False, submod_1, x)\n"
                                 "y: \"f32[2]\" = w[0]",
                                 "y",
                                 "\n    class submod_1(torch.nn.Module):\n        def forward(self, a: \"f32[2]\"):\n"
                                 "            n: \"f32[2]\" = torch.ops.aten.neg.default(a)\n            return (n,)\n"));
  CHECK(p.unsupported.empty());
  CHECK(run(p, {}).at("y") == V{-1, -2});
}

TEST_CASE("cond is not guessed") {
  const auto p = lowered(fx_text("x: \"f32[2]\", c: \"b8[]\"",
                                 "t0 = self.true_graph_0\nf0 = self.false_graph_0\n"
                                 "w = torch.ops.higher_order.cond(c, t0, f0, (x,))\n"
                                 "y: \"f32[2]\" = w[0]",
                                 "y"));
  CHECK(p.unsupported.size() == 1);
}

}  // namespace
}  // namespace shardproof::test
