// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What is wrong with a file is said with line, column and what was expected; nothing crashes or hangs.
#include "tests/unit/frontend/stablehlo/helpers.h"

using namespace shardproof;
using namespace shardproof::hlo;

namespace {

Diagnostic error_of(const std::string& text) {
  Result<Module> r = read_stablehlo(text, "bad.mlir");
  REQUIRE_FALSE(r.ok());
  return r.error();
}

bool says(const Diagnostic& d, const std::string& part) { return d.message.find(part) != std::string::npos; }

Diagnostic body_error(const std::string& body) {
  return error_of(main_of("%x: tensor<2x3xf32>, %z: tensor<f32>", body, "%r", "tensor<2x3xf32>"));
}

}  // namespace

TEST_CASE("binary forms name the conversion") {
  Diagnostic d = error_of("ML\xEFR\x0DStableHLO_v1.13.9");
  CHECK(d.code == "SP242");
  CHECK(says(d, "deserialize_portable_artifact"));
  CHECK(says(d, "bad.mlir.mlir"));
  Diagnostic e = error_of(std::string("\x18\0\0\0abc", 7) + "ML\xEFR\x0DStableHLO_v1.13.9");
  CHECK(e.code == "SP242");
  CHECK(says(e, "export.deserialize"));
  CHECK(error_of(std::string("\0\1\2", 3)).code == "SP240");
}

TEST_CASE("syntax errors have a place") {
  Diagnostic d = error_of(
      "module {\n  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n    %0 = stablehlo.add %a, %a : tensor<2xg32>\n    return %0 : "
      "tensor<2xf32>\n  }\n}\n");
  CHECK(d.code == "SP240");
  CHECK(d.line == 3);
  CHECK(d.column == 42);
  CHECK(d.file == "bad.mlir");
  CHECK(says(d, "element type"));
  CHECK(says(error_of("module {"), "'}'"));
  CHECK(says(error_of("hello world"), "unknown operator 'hello'"));
  CHECK(says(error_of("module {\n}\n"), "func.func @main"));
  CHECK(says(error_of(""), "func.func @main"));
  CHECK(says(error_of("module @\"unclosed {\n}"), "not closed"));
  CHECK(error_of("module {\n func.func @main() {\n %0 = \"stablehlo.constant\"() {value = dense<[1, 2> : tensor<2xi32>} : () -> "
                 "tensor<2xi32>\n return\n}\n}")
            .line == 3);
}

TEST_CASE("names and types must fit") {
  CHECK(says(body_error("%r = stablehlo.negate %q : tensor<2x3xf32>"), "%q is not defined"));
  CHECK(says(body_error("%x = stablehlo.negate %x : tensor<2x3xf32>"), "defined already"));
  CHECK(says(body_error("%r = stablehlo.transpose %z, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "another type"));
  CHECK(says(body_error("%r = stablehlo.add %x, %z : tensor<2x3xf32>"), "operand 1 (%z) was defined with another type"));
  CHECK(says(body_error("%r = stablehlo.select %z, %x, %x : tensor<i1>, tensor<2x3xf32>"), "operand 0 (%z)"));
  CHECK(says(
      body_error(
          "%q = stablehlo.negate %x\nstablehlo.custom_call @f(%x) : (tensor<2x3xf32>) -> ()\n%r = stablehlo.negate %x : tensor<2x3xf32>"),
      "types of stablehlo.negate"));
  CHECK(says(body_error("%r, %s = stablehlo.transpose %x, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "2 results"));
  CHECK(says(body_error("%r = stablehlo.constant dense<[1.0, 2.0]> : tensor<2x3xf32>"), "has 2 values, expected 6"));
  CHECK(says(body_error("%r = stablehlo.constant dense<true> : tensor<2x3xf32>"), "expected a value of type f32"));
  CHECK(says(body_error("%r = stablehlo.constant dense<300> : tensor<2x3xi8>"), "expected a value of type i8"));
  CHECK(says(body_error("%r = stablehlo.transpose %x : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "permutation"));
  CHECK(says(body_error("%r = func.call @nowhere(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"), "@nowhere"));
  CHECK(says(body_error("%r = stablehlo.negate %x : tensor<2x3xf32>\nreturn %r : tensor<2x3xf32>"), "after the return"));
  CHECK(says(body_error("%r = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, replica_groups = "
                        "#stablehlo.replica_group_mesh_axes<mesh = @nomesh, axes = []>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>"),
             "no mesh @nomesh"));
  CHECK(says(error_of("module {\n func.func @main(%a: tensor<f32>) -> tensor<2xf32> {\n return %a : tensor<f32>\n }\n}"), "another type"));
  CHECK(says(error_of("module {\n func.func @main(%a: tensor<f32>) -> tensor<f32> {\n %0 = call @main(%a) : (tensor<f32>) -> tensor<f32>\n "
                      "return %0 : tensor<f32>\n }\n}"),
             "circle"));
  CHECK(
      says(error_of("module {\n func.func @main(%a: tensor<f32>) -> tensor<f32> {\n %0 = call @f(%a) : (tensor<f32>) -> tensor<f32>\n "
                    "return %0 : tensor<f32>\n }\n func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n return %a : tensor<2xf32>\n }\n}"),
           "other types than the function"));
  CHECK(says(body_error("%r = stablehlo. %x : tensor<2x3xf32>"), "with its dialect"));
  CHECK(says(error_of("module {\n func.func @main(%a: tensor<99999999999x99999999999xf32>) {\n return\n }\n}"), "2^51"));
}

TEST_CASE("what is not supported is refused, not guessed") {
  Diagnostic d =
      error_of("module {\n func.func @main(%a: tensor<f32>) -> tensor<f32> {\n cf.br ^bb1\n ^bb1:\n return %a : tensor<f32>\n }\n}");
  CHECK((d.code == "SP241" || d.code == "SP240"));
  Diagnostic g = body_error(
      "%r = \"stablehlo.gather\"(%x, %z) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], new_thing = [0]>, slice_sizes = "
      "array<i64: 1>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>");
  CHECK(g.code == "SP241");
  CHECK(says(g, "new_thing"));
  // An unknown operator is read under its own name: the lowering makes it opaque.
  Module m =
      read_ok(main_of("%x: tensor<2xf32>", "%r = \"foo.bar\"(%x) {k = 3 : i64} : (tensor<2xf32>) -> tensor<2xf32>", "%r", "tensor<2xf32>"));
  CHECK(only(m, "foo.bar").other == std::vector<std::pair<std::string, std::string>>{{"k", "3 : i64"}});
}

TEST_CASE("nesting is bounded") {
  std::string deep = "module {\n func.func @main(%p: tensor<i1>) {\n";
  for (int k = 0; k < 5000; ++k) deep += "\"stablehlo.if\"(%p) ({\n";
  CHECK(says(error_of(deep), "nest deeper"));
  CHECK(says(error_of("module attributes {a = " + std::string(100000, '[') + "}"), "nest deeper"));
  std::string tuples = "module {\n func.func @main(%p: ";
  for (int k = 0; k < 5000; ++k) tuples += "tuple<";
  CHECK(says(error_of(tuples), "nest deeper"));
  // Locations never fail by depth.
  std::string loc, close;
  for (int k = 0; k < 3000; ++k) loc += "callsite(\"f.py\":" + std::to_string(k + 1) + ":1 at ", close += ")";
  Module m = read_ok("module {\n func.func @main(%a: tensor<f32>) -> tensor<f32> {\n %0 = stablehlo.negate %a : tensor<f32> loc(" + loc +
                     "unknown" + close + ")\n return %0 : tensor<f32>\n }\n}");
  CHECK(only(m, "negate").line == 1);
  // A circle of location aliases ends.
  Module c = read_ok(
      "#loc1 = loc(\"a\"(#loc2))\n#loc2 = loc(callsite(#loc1 at #loc1))\nmodule {\n func.func @main(%a: tensor<f32>) -> tensor<f32> {\n "
      "return %a : tensor<f32> loc(#loc1)\n } loc(#loc2)\n} loc(#loc1)\n");
  CHECK(c.computations.size() == 1);
}

TEST_CASE("every prefix of a program is refused or read, never a crash") {
  const std::string text = main_of(
      "%x: tensor<2x3xf32> {a = [1, {b = \"s\"}]} loc(\"x\"), %z: tensor<f32>",
      "%0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32> "
      "loc(callsite(\"f\"(\"a.py\":1:2) at unknown))\n"
      "%r = \"stablehlo.all_reduce\"(%0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({\n^bb0(%p: tensor<f32>, %q: "
      "tensor<f32>):\n %s = stablehlo.add %p, %q : tensor<f32>\n stablehlo.return %s : tensor<f32>\n}) : (tensor<2xf32>) -> tensor<2xf32>",
      "%r", "tensor<2xf32>");
  CHECK(read_stablehlo(text, "t").ok());
  for (size_t n = 0; n < text.size() - 3; ++n) {
    Result<Module> r = read_stablehlo(text.substr(0, n), "t");
    CHECK_FALSE(r.ok());
    if (!r.ok()) CHECK(r.error().line > 0);
  }
}
