// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// One test a feature of HLO text: structure, types and constants, source locations, errors. Attributes have a file of their own.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "unit/frontend/hlo/support.h"

namespace shardproof::hlo {
namespace {

using ir::DType;
using test::instruction;
using test::parse;
using test::parse_error;

// The values of "c = <type> constant(<text>)".
std::vector<ir::Literal> constant(const std::string& type, const std::string& text) {
  const Instruction i = instruction(fmt::format("c = {} constant({})", type, text));
  REQUIRE(i.literal != nullptr);
  return *i.literal;
}
Diagnostic bad(const std::string& line) { return parse_error("HloModule m\nENTRY e {\n  p0 = f32[8,8] parameter(0)\n  " + line + "\n}\n"); }

TEST_CASE("parameters may stand anywhere and operands may be defined later: instructions are sorted") {
  const Module m = parse(R"(HloModule m
ENTRY e {
  ROOT sum = f32[2]{0} add(neg, b)
  neg = f32[2]{0} negate(a)
  b = f32[2]{0} parameter(1)
  a = f32[2]{0} parameter(0)
}
)");
  const Computation& c = m.computations.at(0);
  std::string names;
  for (const Instruction& i : c.instructions) names += i.name + " ";
  CHECK(names == "a neg b sum ");
  CHECK(c.root == 3);
  CHECK(c.parameters == std::vector<uint32_t>{0, 2});
  CHECK(c.instructions[3].operands == std::vector<uint32_t>{1, 2});
  CHECK(c.instructions[3].text_line == 3);
  CHECK(c.instructions[0].text_line == 6);
}

TEST_CASE("an order that is good stays") {
  const Module m = parse(
      "HloModule m\nENTRY e {\n p = f32[] parameter(0)\n c = f32[] constant(1)\n b = f32[] negate(p)\n ROOT a = f32[] add(b, c)\n}\n");
  std::string names;
  for (const Instruction& i : m.computations[0].instructions) names += i.name + " ";
  CHECK(names == "p c b a ");
}

TEST_CASE("without ROOT the last instruction is the root, without ENTRY the last computation is the entry") {
  const Module m = parse("HloModule m\nf {\n p = f32[] parameter(0)\n}\ng {\n a = f32[] parameter(0)\n b = f32[] call(a), to_apply=f\n}\n");
  CHECK(m.entry == 1);
  CHECK(m.computations[1].root == 1);
}

TEST_CASE("ENTRY need not be last, and callees may come after their callers") {
  const Module m =
      parse("HloModule m\nENTRY g {\n a = f32[] parameter(0)\n ROOT b = f32[] call(a), to_apply=f\n}\nf {\n p = f32[] parameter(0)\n}\n");
  CHECK(m.entry == 0);
  CHECK(m.computations[0].instructions[1].called == std::vector<uint32_t>{1});
}

TEST_CASE("a computation may be called ENTRY, ROOT or FileNames") {
  const Module m =
      parse("HloModule m\nFileNames {\n ROOT ROOT = f32[] parameter(0)\n}\nENTRY {\n p = f32[] parameter(0)\n ROOT = f32[] negate(p)\n}\n");
  CHECK(m.computations[0].name == "FileNames");
  CHECK(m.computations[1].name == "ENTRY");
  CHECK(m.computations[1].instructions[1].name == "ROOT");
}

TEST_CASE("percent signs, signatures, typed operands, comments and execution threads") {
  const Module m = parse(R"(HloModule m, is_scheduled=true
// a remark
%f (x: f32[2], y: (s32[], f32[2])) -> f32[2] {
  %x = f32[2]{0} parameter(0)
  %y = (s32[], /*index=1*/f32[2]{0}) parameter(1)
  %z = f32[2]{0:T(128)} get-tuple-element((s32[], f32[2]{0}) %y), index=1
  ROOT %r = f32[2]{0} add(f32[2]{0} %x, /*index=1*/f32[2]{0} %z)
}, execution_thread="main"

ENTRY %e (a: f32[2], t: (s32[], f32[2])) -> f32[2] {
  %a = f32[2]{0} parameter(0)
  %t = (s32[], f32[2]{0}) parameter(1)
  ROOT %c = f32[2]{0} call(f32[2]{0} %a, (s32[], f32[2]{0}) %t), to_apply=%f
}
)");
  const Computation& f = m.computations.at(0);
  CHECK(f.instructions[1].type.tuple);
  CHECK(f.instructions[1].type.elements[1].shape == ir::Shape{2});
  CHECK(f.instructions[2].tuple_index == 1);
  CHECK(f.instructions[3].operands == std::vector<uint32_t>{0, 2});
}

TEST_CASE("header") {
  const Module m = parse(
      R"(HloModule jit_f, is_scheduled=true, input_output_alias={ {1}: (6, {}, must-alias), {}: (7, {}, may-alias), {0}: (1, {2}) }, entry_computation_layout={(f32[2]{0}, /*index=1*/(s32[], f32[2]))->f32[2]{0}}, allow_spmd_sharding_propagation_to_parameters={false,true}, num_partitions=8, replica_count=2, frontend_attributes={fingerprint="a\"b",xla.sdy.meshes={mesh = #sdy.mesh<["dp"=2, "tp"=4]>, other = #sdy.mesh<["x"=2], device_ids=[1, 0]>}}
ENTRY e {
  ROOT p = f32[2] parameter(0)
}
)");
  CHECK(m.name == "jit_f");
  CHECK(m.num_partitions == 8);
  CHECK(m.replica_count == 2);
  REQUIRE(m.donations.size() == 2);  // the third aliases a part of a parameter
  CHECK(m.donations[0] == std::pair<int64_t, int64_t>{1, 6});
  CHECK(m.donations[1] == std::pair<int64_t, int64_t>{0, 7});
  REQUIRE(m.meshes.size() == 2);
  CHECK(m.meshes[0].name == "mesh");
  CHECK(m.meshes[0].axes == std::vector<std::pair<std::string, int64_t>>{{"dp", 2}, {"tp", 4}});
  CHECK(m.meshes[1].device_ids == std::vector<int64_t>{1, 0});
}

TEST_CASE("a mesh that is not understood is a note, not a guess") {
  const Module m =
      parse("HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"a\"=0]>}}\nENTRY e {\n p = f32[] parameter(0)\n}\n");
  CHECK(m.meshes.empty());
  CHECK(m.notes.size() == 1);
}

TEST_CASE("shardings of the module are split over parameters and outputs") {
  const Module m = parse(
      R"(HloModule m, spmd_parameters_shardings={{devices=[2,1]<=[2]}, {replicated}}, spmd_output_sharding={{replicated}, {devices=[1,2]<=[2]}}
ENTRY e {
  a = f32[1,2] parameter(0)
  b = f32[1,2] parameter(1)
  ROOT t = (f32[1,2], f32[1,2]) tuple(a, b)
}
)");
  REQUIRE(m.parameter_shardings.size() == 2);
  CHECK(m.parameter_shardings[0].text == "{devices=[2,1]<=[2]}");
  REQUIRE(m.output_shardings.size() == 2);
  CHECK(m.output_shardings[1].text == "{devices=[1,2]<=[2]}");
  CHECK(m.is_spmd);
}

TEST_CASE("shardings of parameters and root") {
  const Module m = parse(R"(HloModule m
ENTRY e {
  a = f32[1,2] parameter(0), sharding={devices=[2,1]<=[2]}, metadata={op_name="p[\'a\']"}
  b = f32[1,2] parameter(1), metadata={op_name="p[\'b\']"}
  ROOT t = (f32[1,2], f32[1,2]) tuple(a, b), sharding={{replicated}, /*index=1*/{devices=[1,2]0,1}}
}
)");
  CHECK(m.parameter_shardings[0].text == "{devices=[2,1]<=[2]}");
  CHECK(m.parameter_shardings[1].syntax == frontend::StatedSharding::Syntax::None);
  CHECK(m.output_shardings[0].text == "{replicated}");
  CHECK(m.output_shardings[1].text == "{devices=[1,2]0,1}");
  CHECK(m.argument_names == std::vector<std::string>{"p['a']", "p['b']"});
}

TEST_CASE("global and local programs are told apart") {
  const std::string body = "ENTRY e {\n  a = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n";
  CHECK(parse("HloModule m, num_partitions=2\n" + body + " ROOT b = f32[4] negate(a)\n}").is_spmd);
  CHECK_FALSE(parse("HloModule m, num_partitions=2\n" + body + " ROOT b = f32[4] negate(a), sharding={devices=[2]<=[2]}\n}").is_spmd);
  CHECK_FALSE(
      parse("HloModule m, num_partitions=2\n" + body + " ROOT b = f32[4] custom-call(a), custom_call_target=\"Sharding\"\n}").is_spmd);
  CHECK_FALSE(parse("HloModule m\n" + body + " ROOT b = f32[4] negate(a)\n}").is_spmd);
  CHECK(parse("HloModule m\nENTRY e {\n ROOT b = u32[] partition-id()\n}").is_spmd);
}

TEST_CASE("types") {
  const Type t =
      instruction("c = (f32[], (bf16[2,3]{1,0:T(8,128)(2,1)S(5)}, pred[0]), (), token[]) custom-call(), custom_call_target=\"x\"").type;
  REQUIRE(t.elements.size() == 4);
  CHECK(t.elements[0].dtype == DType::F32);
  CHECK(t.elements[0].shape.empty());
  CHECK(t.elements[1].elements[0].dtype == DType::BF16);
  CHECK(t.elements[1].elements[0].shape == ir::Shape{2, 3});
  CHECK(t.elements[1].elements[1].shape == ir::Shape{0});
  CHECK(t.elements[2].tuple);
  CHECK(t.elements[2].elements.empty());
  CHECK(t.elements[3].dtype == DType::Token);
  const Type d = instruction("c = f32[<=8,2] custom-call(), custom_call_target=\"x\"").type;
  CHECK(d.dynamic);
  CHECK(d.shape == ir::Shape{8, 2});
  CHECK(instruction("c = f32[?,<=2] custom-call(), custom_call_target=\"x\"").type.shape == ir::Shape{-1, 2});
  CHECK(instruction("c = (s32[], f32[<=2]) custom-call(), custom_call_target=\"x\"").type.dynamic);
  CHECK_FALSE(instruction("c = (s32[], f32[2]) custom-call(), custom_call_target=\"x\"").type.dynamic);
  CHECK(instruction("c = f8e4m3fn[2] custom-call(), custom_call_target=\"x\"").type.float_format == "f8e4m3fn");
  CHECK(instruction("c = s4[2] custom-call(), custom_call_target=\"x\"").type.dtype == DType::I4);
}

TEST_CASE("layouts") {
  const auto type = [](const std::string& text) { return instruction("c = " + text + " custom-call(), custom_call_target=\"x\"").type; };
  CHECK(type("f32[2,3]{0,1}").layout == std::vector<int64_t>{0, 1});
  CHECK(type("f32[2,3]{1,0}").layout.empty());  // descending is the default
  CHECK(type("f32[2,3]").layout.empty());
  CHECK(type("f32[]{:T(256)}").tiled);
  CHECK(type("f32[2,3]{0,1:T(8,128)(2,1)}").tiled);
  CHECK(type("f32[2,3]{0,1:T(8,128)(2,1)}").layout == std::vector<int64_t>{0, 1});
  CHECK(type("s4[2,3]{1,0:T(*,128)E(4)S(1)}").tiled);
  CHECK_FALSE(type("f32[2,3]{1,0:S(5)}").tiled);
  CHECK_FALSE(type("f32[2,3]{1,0}").tiled);
  CHECK(type("(f32[2,3]{0,1}, f32[2]{0})").elements.at(0).layout == std::vector<int64_t>{0, 1});
  CHECK(bad("c = f32[2,3]{1,1} negate(p0)").message == "the layout is no permutation of the dimensions of the type");
  CHECK(bad("c = f32[2,3]{0} negate(p0)").column == 15);
  CHECK(bad("c = f32[2,3]{1,0:?} negate(p0)").message.find("a property of a layout") != std::string::npos);
}

TEST_CASE("constants of each kind") {
  CHECK(constant("s32[]", "-7") == std::vector{ir::Literal::integer(-7, DType::I32)});
  CHECK(constant("pred[]", "true") == std::vector{ir::Literal::boolean(true)});
  CHECK(constant("pred[2]", "{0, 1}") == std::vector{ir::Literal::boolean(false), ir::Literal::boolean(true)});
  CHECK(constant("u64[]", "18446744073709551615") == std::vector{ir::Literal::integer(-1, DType::U64)});
  CHECK(constant("s64[]", "-9223372036854775808") == std::vector{ir::Literal::integer(INT64_MIN, DType::I64)});
  CHECK(constant("f32[]", "1e-05")[0].d == static_cast<double>(1e-05f));  // the nearest float, not the nearest double
  CHECK(constant("f64[]", "1e-05")[0].d == 1e-05);
  CHECK(constant("f32[]", "1e-05")[0].format == DType::F32);
  CHECK(std::isinf(constant("f32[]", "-inf")[0].d));
  CHECK(std::isnan(constant("f32[]", "nan")[0].d));
  CHECK(std::isnan(constant("f32[]", "nan(0x7fc00001)")[0].d));
  CHECK(std::isnan(constant("bf16[]", "-nan")[0].d));
  CHECK(constant("bf16[]", "0.1")[0].d == 0.10009765625);
  CHECK(constant("f16[]", "0.1")[0].d == 0.0999755859375);
  CHECK(constant("f16[]", "65504")[0].d == 65504);
  CHECK(constant("f16[]", "6e-08")[0].d == 0x1p-24);       // the least denormal
  CHECK(constant("f8e4m3fn[]", "0.345")[0].d == 0.34375);  // printed with fewer digits than it has
  CHECK(constant("f8e4m3fn[]", "448")[0].d == 448);
  CHECK(constant("f8e4m3fn[]", "17")[0].d == 16);  // halfway to 18: even
  CHECK(constant("f8e4m3fn[]", "19")[0].d == 20);
  CHECK(std::isnan(constant("f8e4m3fn[]", "nan")[0].d));
  CHECK(std::isinf(constant("f8e5m2[]", "-inf")[0].d));
  CHECK(constant("f4e2m1fn[]", "-6")[0].d == -6);
  CHECK(constant("f32[]", "1e-45")[0].d == 0x1p-149);
  CHECK(constant("f64[]", "4.9e-324")[0].d == 0x1p-1074);
  CHECK(constant("f32[]", "1e-46")[0].d == 0);
  CHECK(std::signbit(constant("f32[]", "-0")[0].d));
  CHECK(constant("f32[]", "3")[0].kind == ir::Literal::Kind::Float);
}

TEST_CASE("arrays are row-major, equal elements are one") {
  const auto v = constant("s32[2,3]", "{ { 1, 2, 3 }, /*row*/ { 4, 5, 6 } }");
  REQUIRE(v.size() == 6);
  CHECK(v[3].i == 4);
  CHECK(constant("f32[2,2]", "{{1,1},{1,1}}").size() == 1);
  CHECK(constant("f32[2]", "{0,-0}").size() == 2);  // not the same bits
  CHECK(constant("f32[2]", "{nan,nan}").size() == 1);
  CHECK(constant("s32[0]", "{}").empty());
  CHECK(constant("s32[2,0]", "{ {}, {} }").empty());
  CHECK(constant("s32[1,1,1]", "{{{5}}}").at(0).i == 5);
}

TEST_CASE("values that are not stated stay unknown") {
  for (const char* line : {"c = f32[32]{0} constant({...})", "c = f32[4,8] constant({ {...}, {...} })"}) {
    const Instruction i = instruction(line);
    CHECK(i.literal == nullptr);
    CHECK(i.other == std::vector<std::pair<std::string, std::string>>{{"constant", "{...}"}});
  }
  const Instruction complex = instruction("c = c64[2] constant({(1, 2), (3, -4)})");
  CHECK(complex.literal == nullptr);
  CHECK(complex.other.at(0).second == "{(1, 2), (3, -4)}");
  CHECK(instruction("c = (f32[], s32[2]) constant((1, {2, 3}))").other.at(0).second == "(1, {2, 3})");
}

TEST_CASE("constants that do not fit their type are errors with a place") {
  CHECK(bad("c = s8[] constant(128)").message == "integer does not fit in i8");
  CHECK(bad("c = s8[] constant(-129)").line == 4);
  CHECK(bad("c = s8[] constant(-129)").column == 21);
  CHECK(bad("c = u8[] constant(-1)").message == "integer does not fit in u8");
  CHECK(bad("c = s64[] constant(9223372036854775808)").message == "integer does not fit in i64");
  CHECK(bad("c = u32[] constant(4294967296)").message == "integer does not fit in u32");
  CHECK(bad("c = s32[] constant(1.5)").message.find("an integer") != std::string::npos);
  CHECK(bad("c = f32[] constant(1e39)").message == "number does not fit in f32");
  CHECK(bad("c = f16[] constant(65520)").message == "number does not fit in f16");
  CHECK(bad("c = f8e4m3fn[] constant(500)").message.find("does not fit") != std::string::npos);
  CHECK(bad("c = f8e4m3fn[] constant(inf)").message.find("does not fit") != std::string::npos);
  CHECK(bad("c = f4e2m1fn[] constant(nan)").message.find("does not fit") != std::string::npos);
  CHECK(bad("c = f32[] constant(1x)").message.find("a number") != std::string::npos);
  CHECK(bad("c = pred[] constant(2)").message.find("true or false") != std::string::npos);
  CHECK(bad("c = s32[2] constant({1})").message == "dimension 0 of a constant has 1 elements, its type says 2");
  CHECK(bad("c = s32[2] constant({1, 2, 3})").message == "too many elements in dimension 0");
  CHECK(bad("c = s32[2] constant({1 2})").message.find("',' or '}'") != std::string::npos);
  CHECK(bad("c = s32[2] constant({1, 2,})").message.find("a value after ','") != std::string::npos);
  CHECK(bad("c = s32[2] constant({{1, 2}})").message.find("braces 1 deep") != std::string::npos);
  CHECK(bad("c = s32[2,1] constant({1, 2})").message.find("dimension 1") != std::string::npos);
  CHECK(bad("c = s32[2] constant(7)").message.find("dimension 0") != std::string::npos);
  CHECK(bad("c = f32[] constant({...})").message.find("a number") != std::string::npos);
}

TEST_CASE("source locations: tables, source_file, and a Python stack in source_file") {
  const Module m = parse(R"(HloModule m

FileNames
1 "<embedded>"
2 "dir/b.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=2 end_column=3}
2 {file_name_id=2 function_name_id=1 line=153 end_line=153 column=2 end_column=31}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}

ENTRY e {
  a = f32[] parameter(0), metadata={op_name="jit(f)/add" stack_frame_id=2}
  b = f32[] negate(a), metadata={op_type="neg" op_name="neg\n\"x\"" source_file="/m/c.py" source_line=12 profile_type={1}}
  c = f32[] negate(b), metadata={op_type="<module>" source_file="/r/run.py\n----\n[\'/r/run.py:46\', \'/r/own.py:97\', \'/v/site-packages/s.py:9\']" source_line=46}
  d = f32[] negate(c), metadata={op_name="x" stack_frame_id=9}
  ROOT e = f32[] negate(d)
}
)");
  const auto& i = m.computations[0].instructions;
  REQUIRE(i[0].file != nullptr);
  CHECK(*i[0].file == "dir/b.py");
  CHECK(i[0].line == 153);
  CHECK(i[0].op_name == "jit(f)/add");
  CHECK(*i[1].file == "/m/c.py");
  CHECK(i[1].line == 12);
  CHECK(i[1].op_name == "neg\n\"x\"");
  CHECK(*i[2].file == "/r/own.py");  // the innermost frame that is no installed package
  CHECK(i[2].line == 97);
  CHECK(i[3].file == nullptr);
  CHECK(i[4].file == nullptr);
}

TEST_CASE("empty tables") {
  CHECK(parse("HloModule m\n\nFileNames\n\nFunctionNames\n\nFileLocations\n\nStackFrames\n\n\nENTRY e {\n p = f32[] parameter(0)\n}\n")
            .computations.size() == 1);
}

TEST_CASE("errors name what was expected, with line and column") {
  Diagnostic d = parse_error("module @m {}");
  CHECK(d.code == "SP220");
  CHECK(d.line == 1);
  CHECK(d.column == 1);
  CHECK(d.message.find("HloModule") != std::string::npos);
  CHECK(parse_error("").message.find("the end of the file") != std::string::npos);
  CHECK(parse_error("HloModule m\n").message.find("a computation") != std::string::npos);
  CHECK(parse_error("HloModule m\ne {\n}\n").message == "computation 'e' is empty");
  CHECK(parse_error("HloModule m\ne {\n p = f32[] parameter(0)\n").message == "computation 'e' is never closed");

  d = bad("x = f32[2] add(p0, q)");
  CHECK(d.code == "SP221");
  CHECK(d.message == "instruction 'q' is not defined in computation 'e'");
  CHECK(d.line == 4);
  CHECK(d.column == 22);
  CHECK(bad("p0 = f32[2] negate(p0)").message == "instruction 'p0' is defined twice");
  CHECK(bad("x = f32[2] call(p0), to_apply=f").message == "computation 'f' is not defined");
  CHECK(bad("x = f32[2] negate(y)\n  y = f32[2] negate(x)").message.find("depends on its own result") != std::string::npos);
  CHECK(bad("x = f32[2] call(p0), to_apply=e").message == "computation 'e' calls itself");
  CHECK(bad("x = f32[2] parameter(0)").message == "parameter(0) occurs twice in computation 'e'");
  CHECK(bad("x = f32[2] parameter(2)\n y = f32[2] negate(p0)").message == "parameter(1) is missing in computation 'e'");
  CHECK(bad("x = f32[2] parameter(-1)").message.find("out of range") != std::string::npos);
  CHECK(bad("x = f32[2] parameter(99999999)").message.find("out of range") != std::string::npos);
  CHECK(bad("x = f32[2] while(p0), body=e").message.find("lacks one of the computations") != std::string::npos);
  CHECK(parse_error(
            "HloModule m\nc {\n p = pred[] parameter(0)\n}\nENTRY e {\n p = pred[] parameter(0)\n w = pred[] while(p), condition=c\n}\n")
            .message.find("lacks one of the two") != std::string::npos);
  CHECK(bad("x = float[2] negate(p0)").message == "element type 'float' is not supported");
  CHECK(bad("x = f32[-1] negate(p0)").message == "a dimension size is negative");
  CHECK(bad("x = f32[9999999999,9999999999] negate(p0)").code == "SP222");
  CHECK(bad("x = f32[2 negate(p0)").message.find("']' or ','") != std::string::npos);
  CHECK(bad("x = f32[2] negate(p0), metadata={op_name=\"abc}").message == "string without a closing quote");
  CHECK(bad("x = f32[2] negate(p0), sharding={{replicated").message == "bracket is never closed");
  CHECK(bad("x = f32[2] negate(p0), foo={(})").message == "'}' closes nothing that is open");
  CHECK(bad("x f32[2] negate(p0)").message.find("'='") != std::string::npos);
  CHECK(bad("ROOT x = f32[2] negate(p0)\n ROOT y = f32[2] negate(p0)").message == "computation 'e' has two ROOT instructions");
  CHECK(parse_error("HloModule m\nf {\n p = f32[] parameter(0)\n}\nf {\n p = f32[] parameter(0)\n}\n").message ==
        "computation 'f' is defined twice");
}

TEST_CASE("depth is bounded, not the stack") {
  const std::string deep(100000, '(');
  CHECK(bad("x = " + deep).code == "SP222");
  CHECK(bad("x = f32[1] constant(" + std::string(100000, '{')).message.find("deep") != std::string::npos);
  CHECK(bad("x = f32[1] negate(p0), foo=" + std::string(100000, '{')).message == "bracket is never closed");
  // A chain of 300 computations, each calling the one before.
  std::string chain = "HloModule m\nf0 {\n p = f32[] parameter(0)\n}\n";
  for (int k = 1; k < 300; ++k)
    chain += fmt::format("f{} {{\n p = f32[] parameter(0)\n ROOT c = f32[] call(p), to_apply=f{}\n}}\n", k, k - 1);
  CHECK(parse_error(chain).message.find("deeper than 256") != std::string::npos);
  // A chain of instructions written backwards is no problem.
  std::string lines;
  for (int k = 20000; k > 0; --k) lines += fmt::format("  i{} = f32[] negate(i{})\n", k, k - 1);
  const Module m = parse("HloModule m\nENTRY e {\n" + lines + "  i0 = f32[] parameter(0)\n}\n");
  CHECK(m.computations[0].instructions.size() == 20001);
  CHECK(m.computations[0].instructions.back().name == "i20000");
  CHECK(m.computations[0].root == 0);
}

}  // namespace
}  // namespace shardproof::hlo
