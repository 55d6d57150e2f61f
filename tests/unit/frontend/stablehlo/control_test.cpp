// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Loops, branches, calls, manual computations, values that regions use from outside.
#include "tests/unit/frontend/stablehlo/helpers.h"

using namespace shardproof;
using namespace shardproof::hlo;

TEST_CASE("while: one tuple; values from outside ride along, constants are copied") {
  Module m = read_ok(main_of("%a: tensor<i32>, %x: tensor<4xf32>, %w: tensor<4xf32>",
                             "%n = stablehlo.constant dense<7> : tensor<i32>\n%one = stablehlo.constant dense<1> : tensor<i32>\n"
                             "%r:2 = stablehlo.while(%i = %a, %c = %x) : tensor<i32>, tensor<4xf32>\n cond {\n"
                             "  %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n  stablehlo.return "
                             "%p : tensor<i1>\n } do {\n"
                             "  %p = stablehlo.add %i, %one : tensor<i32>\n  %q = stablehlo.add %c, %w : tensor<4xf32>\n  stablehlo.return "
                             "%p, %q : tensor<i32>, tensor<4xf32>\n }",
                             "%r#1", "tensor<4xf32>"));
  const Instruction& w = only(m, "while");
  REQUIRE(w.called.size() == 2);
  REQUIRE(w.operands.size() == 1);
  const Instruction& tuple = entry(m).instructions[w.operands[0]];
  CHECK(tuple.opcode == "tuple");
  CHECK(tuple.operands == std::vector<uint32_t>{0, 1, 2});  // a, x, and w from outside
  CHECK(w.type.elements.size() == 3);
  const Computation& cond = m.computations[w.called[0]];
  CHECK(cond.instructions[cond.root].opcode == "compare");
  CHECK(cond.parameters.size() == 1);
  CHECK(cond.instructions[0].type.elements.size() == 3);
  const Computation& body = m.computations[w.called[1]];
  const Instruction& next = body.instructions[body.root];
  CHECK(next.opcode == "tuple");
  REQUIRE(next.operands.size() == 3);
  CHECK(body.instructions[next.operands[2]].opcode == "get-tuple-element");
  CHECK(body.instructions[next.operands[2]].tuple_index == 2);
  int constants = 0;
  for (const Instruction& i : cond.instructions)
    if (i.opcode == "constant") ++constants;
  CHECK(constants == 2);
  const Instruction& root = entry(m).instructions[entry(m).root];
  CHECK(root.opcode == "get-tuple-element");
  CHECK(root.tuple_index == 1);
  CHECK(root.name == "r#1");
}

TEST_CASE("while with one value is still over a tuple") {
  Module m = read_ok(
      main_of("%x: tensor<i32>",
              "%r = stablehlo.while(%i = %x) : tensor<i32> cond {\n %n = stablehlo.constant dense<3> : tensor<i32>\n"
              " %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n stablehlo.return %p : tensor<i1>\n} do {\n"
              " %p = stablehlo.add %i, %i : tensor<i32>\n stablehlo.return %p : tensor<i32>\n}",
              "%r", "tensor<i32>"));
  CHECK(only(m, "while").type.tuple);
  CHECK(entry(m).instructions[entry(m).root].opcode == "get-tuple-element");
}

TEST_CASE("if and case are conditionals, true branch first") {
  Module m = read_ok(main_of("%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<2xf32>",
                             "%r = \"stablehlo.if\"(%p) ({\n %s = stablehlo.add %x, %y : tensor<2xf32>\n stablehlo.return %s : "
                             "tensor<2xf32>\n}, {\n stablehlo.return %y : tensor<2xf32>\n}) : (tensor<i1>) -> tensor<2xf32>",
                             "%r", "tensor<2xf32>"));
  const Instruction& i = only(m, "conditional");
  REQUIRE(i.called.size() == 2);
  CHECK(i.operands.size() == 3);
  const Computation& yes = m.computations[i.called[0]];
  CHECK(yes.instructions[yes.root].opcode == "add");
  const Computation& no = m.computations[i.called[1]];
  CHECK(no.instructions[no.root].opcode == "get-tuple-element");
  CHECK(no.instructions[no.root].tuple_index == 1);
  CHECK(entry(m).instructions[i.operands[1]].operands == std::vector<uint32_t>{1, 2});
  Module c =
      read_ok(main_of("%k: tensor<i32>, %x: tensor<2xf32>",
                      "%r:2 = \"stablehlo.case\"(%k) ({\n stablehlo.return %x, %x : tensor<2xf32>, tensor<2xf32>\n}, {\n %s = "
                      "stablehlo.negate %x : tensor<2xf32>\n stablehlo.return %s, %x : tensor<2xf32>, tensor<2xf32>\n}, "
                      "{\n stablehlo.return %x, %x : tensor<2xf32>, tensor<2xf32>\n}) : (tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>)",
                      "%r#0", "tensor<2xf32>"));
  CHECK(only(c, "conditional").called.size() == 3);
  CHECK(only(c, "conditional").operands.size() == 4);
  CHECK(only(c, "conditional").type.tuple);
}

TEST_CASE("calls, functions with several results, the same function twice") {
  Module m = read_ok(
      "module {\n func.func private @f(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n  %0 = stablehlo.negate %a : "
      "tensor<2xf32>\n  return %0, %a : tensor<2xf32>, tensor<2xf32>\n }\n"
      " func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  %0:2 = call @f(%x) : (tensor<2xf32>) -> (tensor<2xf32>, "
      "tensor<2xf32>)\n"
      "  %1:2 = func.call @f(%0#1) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)\n  return %1#0 : tensor<2xf32>\n }\n}");
  CHECK(m.entry == 1);
  CHECK(opcodes(entry(m)) ==
        Words{"parameter", "call", "get-tuple-element", "get-tuple-element", "call", "get-tuple-element", "get-tuple-element"});
  CHECK(entry(m).instructions[1].called == std::vector<uint32_t>{0});
  CHECK(entry(m).instructions[4].operands == std::vector<uint32_t>{3});
  CHECK(m.computations[0].instructions[m.computations[0].root].opcode == "tuple");
  Module q = read_ok(
      "module {\n func.func @\"a b\"(%a: tensor<f32>) -> tensor<f32> {\n return %a : tensor<f32>\n}\n func.func @main(%a: tensor<f32>) -> "
      "tensor<f32> {\n %0 = func.call @\"a b\"(%a) : (tensor<f32>) -> tensor<f32>\n return %0 : tensor<f32>\n}\n}");
  CHECK(only(q, "call").called == std::vector<uint32_t>{0});
}

TEST_CASE("composite is a call of its decomposition") {
  Module m = read_ok(
      "module {\n func.func @main(%a: tensor<f32>) -> tensor<f32> {\n %0 = stablehlo.composite \"my.op\" %a {composite_attributes = {k = 1 "
      ": i64}, decomposition = @d} : (tensor<f32>) -> tensor<f32>\n return %0 : tensor<f32>\n}\n"
      " func.func private @d(%a: tensor<f32>) -> tensor<f32> {\n return %a : tensor<f32>\n}\n}");
  CHECK(only(m, "call").called == std::vector<uint32_t>{1});
}

TEST_CASE("manual computation, pretty and generic") {
  const std::string body = "%s = stablehlo.negate %y : tensor<1x4xf32>\n sdy.return %s : tensor<1x4xf32>\n";
  Module p = read_ok("module {\n sdy.mesh @mesh = <[\"a\"=2, \"b\"=1]>\n" +
                     main_of("%x: tensor<2x4xf32>",
                             "%r = sdy.manual_computation(%x) in_shardings=[<@mesh, [{\"a\"}, {}]>] out_shardings=[<@mesh, [{\"a\"}, "
                             "{?}]>] manual_axes={\"a\", \"b\"} (%y: tensor<1x4xf32>) {\n" +
                                 body + "} : (tensor<2x4xf32>) -> tensor<2x4xf32>",
                             "%r", "tensor<2x4xf32>")
                         .substr(11));
  Module g = read_ok("module {\n \"sdy.mesh\"() <{mesh = #sdy.mesh<[\"a\"=2, \"b\"=1]>, sym_name = \"mesh\"}> : () -> ()\n" +
                     main_of("%x: tensor<2x4xf32>",
                             "%r = \"sdy.manual_computation\"(%x) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{\"a\"}, {}]>]>, "
                             "manual_axes = #sdy<manual_axes{\"a\", \"b\"}>, "
                             "out_shardings = #sdy.sharding_per_value<[<@mesh, [{\"a\"}, {?}]>]>}> ({\n^bb0(%y: tensor<1x4xf32>):\n" +
                                 body + "}) : (tensor<2x4xf32>) -> tensor<2x4xf32>",
                             "%r", "tensor<2x4xf32>")
                         .substr(11));
  for (const Module* m : {&p, &g}) {
    const Instruction& i = only(*m, "manual-computation");
    CHECK(i.in_shardings == Words{"#sdy.sharding<@mesh, [{\"a\"}, {}]>"});
    CHECK(i.out_shardings == Words{"#sdy.sharding<@mesh, [{\"a\"}, {?}]>"});
    CHECK(i.manual_axes == Words{"a", "b"});
    REQUIRE(i.called.size() == 1);
    const Computation& c = m->computations[i.called[0]];
    CHECK(opcodes(c) == Words{"parameter", "negate"});
    CHECK(c.instructions[0].type.shape == Ints{1, 4});
    REQUIRE(m->meshes.size() == 1);
    CHECK(m->meshes[0].name == "mesh");
    CHECK(m->meshes[0].axes == std::vector<std::pair<std::string, int64_t>>{{"a", 2}, {"b", 1}});
    CHECK_FALSE(m->is_spmd);
  }
}

TEST_CASE("a reducer may use a constant from outside, nothing else") {
  const std::string head =
      "%k = stablehlo.constant dense<2.0> : tensor<f32>\n%r = \"stablehlo.reduce\"(%x, %z) <{dimensions = array<i64: 0>}> ({\n^bb0(%a: "
      "tensor<f32>, %b: tensor<f32>):\n %s = stablehlo.multiply %a, ";
  const std::string tail =
      " : tensor<f32>\n %t = stablehlo.add %s, %b : tensor<f32>\n stablehlo.return %t : tensor<f32>\n}) : (tensor<4xf32>, tensor<f32>) -> "
      "tensor<f32>";
  Module m = read_ok(main_of("%x: tensor<4xf32>, %z: tensor<f32>", head + "%k" + tail, "%r", "tensor<f32>"));
  const Computation& c = m.computations[only(m, "reduce").called[0]];
  CHECK(opcodes(c) == Words{"parameter", "parameter", "constant", "multiply", "add"});
  CHECK(c.instructions[2].literal->at(0).d == 2.0);
  Result<Module> bad = read_stablehlo(main_of("%x: tensor<4xf32>, %z: tensor<f32>", head + "%z" + tail, "%r", "tensor<f32>"), "t");
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().code == "SP241");
  CHECK(bad.error().message.find("%z") != std::string::npos);
}
