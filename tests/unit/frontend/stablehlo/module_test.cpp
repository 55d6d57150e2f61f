// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Literals, collectives and their groups, shardings, names, donations, locations.
#include <cmath>

#include "tests/unit/frontend/stablehlo/helpers.h"

using namespace shardproof;
using namespace shardproof::hlo;

namespace {

std::vector<ir::Literal> literal(const std::string& value, const std::string& type) {
  Module m = read_ok(main_of("", "%r = stablehlo.constant dense<" + value + "> : " + type, "%r", type));
  const Instruction& i = only(m, "constant");
  REQUIRE(i.literal);
  return *i.literal;
}

std::vector<std::vector<int64_t>> groups(const std::string& attribute, const std::string& mesh = "") {
  Module m = read_ok("module {\n" + mesh + "\n" +
                     main_of("%x: tensor<4xf32>",
                             "%r = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, channel_handle = "
                             "#stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = " +
                                 attribute + ", use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>",
                             "%r", "tensor<8xf32>")
                         .substr(11));
  const Instruction& i = only(m, "all-gather");
  CHECK(i.channel_id == 3);
  CHECK(i.use_global_device_ids);
  CHECK(i.dimensions == Ints{0});
  CHECK(i.replica_groups.present);
  return i.replica_groups.groups;
}

}  // namespace

TEST_CASE("literals") {
  auto f = literal("9.99999974E-6", "tensor<f32>");
  CHECK(f[0].kind == ir::Literal::Kind::Float);
  CHECK(f[0].format == ir::DType::F32);
  CHECK(f[0].d == static_cast<double>(9.99999974E-6f));
  CHECK(literal("1.000000e-01", "tensor<f64>")[0].d == 0.1);
  CHECK(literal("0xFF800000", "tensor<f32>")[0].d == -INFINITY);
  CHECK(std::isnan(literal("0x7FC00000", "tensor<f32>")[0].d));
  CHECK(literal("1.000980e-01", "tensor<bf16>")[0].d == 0.10009765625);
  CHECK(literal("0xFF80", "tensor<bf16>")[0].d == -INFINITY);
  CHECK(literal("9.997560e-02", "tensor<f16>")[0].d == 0.0999755859375);
  CHECK(literal("0xFC00", "tensor<f16>")[0].d == -INFINITY);
  CHECK(literal("-3", "tensor<4xi32>") == std::vector<ir::Literal>{ir::Literal::integer(-3, ir::DType::I32)});
  CHECK(literal("4294967295", "tensor<ui32>")[0].i == 4294967295);
  CHECK(literal("18446744073709551615", "tensor<ui64>")[0].i == -1);
  CHECK(literal("true", "tensor<i1>")[0] == ir::Literal::boolean(true));
  auto list = literal("[[1, 2, 3], [4, -5, 6]]", "tensor<2x3xi32>");
  REQUIRE(list.size() == 6);
  CHECK(list[4].i == -5);
  CHECK(literal("", "tensor<0x3xf32>").empty());
  auto hex = literal("\"0x0000803F000000C0\"", "tensor<2xf32>");
  REQUIRE(hex.size() == 2);
  CHECK(hex[0].d == 1.0);
  CHECK(hex[1].d == -2.0);
  auto bytes = literal("\"0x010000FF\"", "tensor<4xi8>");
  CHECK(bytes[3].i == -1);
  auto packed = literal("\"0x05\"", "tensor<8xi1>");
  REQUIRE(packed.size() == 8);
  CHECK(packed[0].i == 1);
  CHECK(packed[1].i == 0);
  CHECK(packed[2].i == 1);
}

TEST_CASE("constants whose value is not in the file are known to be unknown") {
  Module m = read_ok(main_of("", "%r = stablehlo.constant dense_resource<__elided__> : tensor<2xf32>", "%r", "tensor<2xf32>"));
  CHECK_FALSE(only(m, "constant").literal);
  CHECK(m.notes.size() == 1);
  Module c = read_ok(main_of("", "%r = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>", "%r", "tensor<complex<f32>>"));
  CHECK_FALSE(only(c, "constant").literal);
  Module r = read_ok(main_of("", "%r = stablehlo.constant dense_resource<blob> : tensor<2xf32>", "%r", "tensor<2xf32>") +
                     "{-#\n  dialect_resources: {\n    builtin: {\n      blob: \"0x040000000000803F000000C0\"\n    }\n  }\n#-}\n");
  REQUIRE(only(r, "constant").literal);
  CHECK(only(r, "constant").literal->at(1).d == -2.0);
}

TEST_CASE("replica groups as dense") {
  CHECK(groups("dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>") == std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}});
  CHECK(groups("dense<0> : tensor<1x1xi64>") == std::vector<std::vector<int64_t>>{{0}});
  CHECK(groups("dense<[[0, 1, 2], [3, 4, -1]]> : tensor<2x3xi64>") == std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4}});
  CHECK(groups("dense<> : tensor<0x0xi64>").empty());
}

TEST_CASE("replica groups as mesh axes") {
  using G = std::vector<std::vector<int64_t>>;
  auto axes = [](const std::string& list, const std::string& mesh) {
    return groups("#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [" + list + "]>", "sdy.mesh @m = <[" + mesh + ">");
  };
  const std::string x = "#stablehlo.axis_ref<name = \"x\">", y = "#stablehlo.axis_ref<name = \"y\">";
  CHECK(axes(x, "\"x\"=2, \"y\"=2]") == G{{0, 2}, {1, 3}});
  CHECK(axes(y, "\"x\"=2, \"y\"=2]") == G{{0, 1}, {2, 3}});
  CHECK(axes(x, "\"x\"=2, \"y\"=2], device_ids=[0, 2, 1, 3]") == G{{0, 1}, {2, 3}});
  CHECK(axes(x + ", " + y, "\"x\"=2, \"y\"=3]") == G{{0, 1, 2, 3, 4, 5}});
  CHECK(axes(y + ", " + x, "\"x\"=2, \"y\"=3]") == G{{0, 3, 1, 4, 2, 5}});
  CHECK(axes("", "\"x\"=2, \"y\"=2]") == G{{0}, {1}, {2}, {3}});
  // x = 8 as [2, 2, 2]: the middle part
  CHECK(axes("#stablehlo.axis_ref<name = \"x\", sub_axis_info = (2)2>", "\"x\"=8]") == G{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(groups("#stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = \"x\", size = 2>, "
               "#stablehlo.mesh_axis<name = \"y\", size = 2>]>, axes = [" +
               x + "]>") == G{{0, 2}, {1, 3}});
}

TEST_CASE("collectives") {
  Module m = read_ok(main_of(
      "%x: tensor<4x8xf32>",
      "%a = \"stablehlo.all_reduce\"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, "
      "1]]> : tensor<1x2xi64>, use_global_device_ids}> ({\n"
      "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n %s = stablehlo.maximum %p, %q : tensor<f32>\n stablehlo.return %s : tensor<f32>\n}) : "
      "(tensor<4x8xf32>) -> tensor<4x8xf32>\n"
      "%b = \"stablehlo.reduce_scatter\"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({\n"
      "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n %s = stablehlo.add %p, %q : tensor<f32>\n stablehlo.return %s : tensor<f32>\n}) : "
      "(tensor<4x8xf32>) -> tensor<4x4xf32>\n"
      "%c = \"stablehlo.all_to_all\"(%b) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 "
      ": i64, split_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<2x8xf32>\n"
      "%d = \"stablehlo.collective_permute\"(%c) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = "
      "#stablehlo.channel_handle<handle = 5, type = 1>} : (tensor<2x8xf32>) -> tensor<2x8xf32>\n"
      "%i = stablehlo.partition_id : tensor<ui32>\n%r = \"stablehlo.collective_broadcast\"(%d) <{replica_groups = dense<[[1, 0]]> : "
      "tensor<1x2xi64>}> : (tensor<2x8xf32>) -> tensor<2x8xf32>",
      "%r", "tensor<2x8xf32>"));
  const Instruction& a = only(m, "all-reduce");
  CHECK(opcodes(m.computations[a.called[0]]) == Words{"parameter", "parameter", "maximum"});
  CHECK(only(m, "reduce-scatter").dimensions == Ints{1});
  CHECK_FALSE(only(m, "reduce-scatter").use_global_device_ids);
  CHECK(only(m, "all-to-all").dimensions == Ints{0});
  CHECK(only(m, "all-to-all").concat_dimension == 1);
  CHECK(only(m, "all-to-all").split_count == 2);
  CHECK(only(m, "collective-permute").source_target_pairs == std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 0}});
  CHECK(only(m, "collective-permute").channel_id == 5);
  CHECK(only(m, "collective-broadcast").replica_groups.groups == std::vector<std::vector<int64_t>>{{1, 0}});
  CHECK(only(m, "partition-id").type.dtype == ir::DType::U32);
  CHECK(m.is_spmd);  // collectives outside of any manual computation
}

TEST_CASE("arguments and results: shardings, names, donations") {
  using Syntax = frontend::StatedSharding::Syntax;
  Module m = read_ok(
      "module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {\n sdy.mesh @mesh = <[\"a\"=8], "
      "device_ids=[7, 6, 5, 4, 3, 2, 1, 0]> {stablehlo.mesh = {axes = [{name = \"a\", size = 8 : i64}]}}\n"
      " func.func public @main(%arg0: tensor<8xf32> {jax.arg_info = \"args[0]\", sdy.sharding = #sdy.sharding<@mesh, [{\"a\"}]>, "
      "tf.aliasing_output = 1 : i32}, %arg1: tensor<8xf32> {mhlo.sharding = \"{replicated}\"} loc(\"p['w']\"), "
      "%arg2: tensor<8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = \"#sdy.sharding<@mesh, [{\\22a\\22}]>\"}, mhlo.sharding = "
      "\"{devices=[8]<=[8]}\"}) -> (tensor<8xf32> {jax.result_info = \"result[0]\"}, "
      "tensor<8xf32> {jax.result_info = \"result[1]\", sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {\n return %arg1, %arg0 : "
      "tensor<8xf32>, tensor<8xf32>\n }\n}");
  CHECK(m.name == "jit_f");
  CHECK(m.num_partitions == 8);
  CHECK(m.replica_count == 1);
  REQUIRE(m.parameter_shardings.size() == 3);
  CHECK(m.parameter_shardings[0].syntax == Syntax::Sdy);
  CHECK(m.parameter_shardings[0].text == "#sdy.sharding<@mesh, [{\"a\"}]>");
  CHECK(m.parameter_shardings[1].syntax == Syntax::Hlo);
  CHECK(m.parameter_shardings[1].text == "{replicated}");
  CHECK(m.parameter_shardings[2].syntax == Syntax::Sdy);
  CHECK(m.parameter_shardings[2].text == "#sdy.sharding<@mesh, [{\"a\"}]>");
  CHECK(m.argument_names == Words{"args[0]", "p['w']", ""});
  CHECK(m.result_names == Words{"result[0]", "result[1]"});
  CHECK(m.output_shardings[0].syntax == Syntax::None);
  CHECK(m.output_shardings[1].text == "#sdy.sharding<@mesh, [{}]>");
  CHECK(m.donations == std::vector<std::pair<int64_t, int64_t>>{{1, 0}});
  CHECK(m.meshes[0].device_ids == Ints{7, 6, 5, 4, 3, 2, 1, 0});
}

TEST_CASE("generic module: attributes of arguments stand on the function") {
  Module m = read_ok(
      "\"builtin.module\"() <{sym_name = \"jit_g\"}> ({\n \"func.func\"() <{arg_attrs = [{mhlo.sharding = \"{manual}\"}], function_type = "
      "(tensor<2xf32>) -> tensor<2xf32>, res_attrs = [{jax.result_info = \"r\"}], sym_name = \"main\", "
      "sym_visibility = \"public\"}> ({\n ^bb0(%arg5: tensor<2xf32>):\n  %22 = \"stablehlo.add\"(%arg5, %arg5) : (tensor<2xf32>, "
      "tensor<2xf32>) -> tensor<2xf32>\n  \"func.return\"(%22) : (tensor<2xf32>) -> ()\n }) : () -> ()\n"
      "}) {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} : () -> ()");
  CHECK(m.name == "jit_g");
  CHECK(m.num_partitions == 4);
  CHECK(m.parameter_shardings[0].text == "{manual}");
  CHECK(m.result_names == Words{"r"});
  CHECK(opcodes(entry(m)) == Words{"parameter", "add"});
}

TEST_CASE("sharding of operators") {
  Module m = read_ok("module {\n sdy.mesh @mesh = <[\"a\"=2]>\n" +
                     main_of("%x: tensor<2xf32>",
                             "%0 = sdy.sharding_constraint %x <@mesh, [{\"a\"}]> : tensor<2xf32>\n%r = stablehlo.negate %0 {sdy.sharding = "
                             "#sdy.sharding_per_value<[<@mesh, [{\"a\", ?}]>]>} : tensor<2xf32>",
                             "%r", "tensor<2xf32>")
                         .substr(11));
  CHECK(only(m, "sharding-constraint").sharding.text == "#sdy.sharding<@mesh, [{\"a\"}]>");
  CHECK(only(m, "negate").sharding.text == "#sdy.sharding<@mesh, [{\"a\", ?}]>");
  Module r = read_ok(
      "module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = \"{mesh = #sdy.mesh<[\\22a\\22=2, \\22b\\22=3]>, other = "
      "#sdy.mesh<[\\22c\\22=6]>}\"}} {\n func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
      " %0 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%a) {mhlo.frontend_attributes = {xla.sdy.sharding = "
      "\"#sdy.sharding_per_value<[<@mesh, []>]>\"}} : (tensor<f32>) -> tensor<f32>\n return %0 : tensor<f32>\n}\n}");
  REQUIRE(r.meshes.size() == 2);
  CHECK(r.meshes[1].name == "other");
  CHECK(r.meshes[0].axes[1].second == 3);
  CHECK(r.output_shardings[0].text == "#sdy.sharding<@mesh, []>");
}

TEST_CASE("aliases of attributes and types, used before or after their definition") {
  Module m = read_ok(
      "!t = tensor<2xf32>\nmodule {\n sdy.mesh @mesh = <[\"a\"=2]>\n func.func @main(%x: !t {sdy.sharding = #s}) -> !t {\n %0 = "
      "sdy.sharding_constraint %x #s : !t\n return %0 : !t\n }\n}\n#s = #sdy.sharding<@mesh, [{\"a\"}]>\n");
  CHECK(m.parameter_shardings[0].text == "#sdy.sharding<@mesh, [{\"a\"}]>");
  CHECK(only(m, "sharding-constraint").sharding.text == "#sdy.sharding<@mesh, [{\"a\"}]>");
  CHECK(m.parameter_shardings[0].syntax == frontend::StatedSharding::Syntax::Sdy);
}

TEST_CASE("locations: the innermost frame of the user, aliases in any order") {
  Module m = read_ok(
      "#loc1 = loc(\"x\")\nmodule {\n func.func @main(%x: tensor<2xf32> loc(\"x\")) -> tensor<2xf32> {\n"
      "  %0 = stablehlo.negate %x : tensor<2xf32> loc(#loc9)\n"
      "  %1 = stablehlo.abs %0 : tensor<2xf32> loc(#loc7)\n"
      "  %2 = stablehlo.cosine %1 : tensor<2xf32> loc(unknown)\n"
      "  %3 = stablehlo.sine %2 : tensor<2xf32> loc(fused<\"a\">[\"f.py\":3:4 to :9, \"g.py\":1:1])\n"
      "  return %3 : tensor<2xf32> loc(#loc)\n } loc(#loc)\n} loc(#loc)\n"
      "#loc = loc(unknown)\n#loc2 = loc(\"model.py\":12:4)\n#loc3 = loc(\"/x/site-packages/jax/_src/numpy.py\":900:1)\n#loc4 = "
      "loc(\"layer\"(#loc2))\n#loc5 = loc(\"lib\"(#loc3))\n#loc6 = loc(\"main.py\":99:1)\n"
      "#loc7 = loc(\"abs:\"(#loc8))\n#loc8 = loc(\"jit(f)/abs\"(callsite(#loc4 at \"train\"(#loc6))))\n#loc9 = loc(\"neg\"(callsite(#loc5 "
      "at callsite(#loc4 at #loc6))))\n");
  const Computation& c = entry(m);
  CHECK(m.argument_names == Words{"x"});
  const Instruction& neg = c.instructions[1];
  CHECK(*neg.file == "model.py");  // not the library frame around it
  CHECK(neg.line == 12);
  CHECK(neg.op_name == "neg");
  CHECK(neg.text_line == 4);
  const Instruction& abs = c.instructions[2];
  CHECK(*abs.file == "model.py");
  CHECK(abs.line == 12);
  CHECK(abs.op_name == "jit(f)/abs");
  CHECK_FALSE(c.instructions[3].file);
  CHECK(*c.instructions[4].file == "f.py");
  CHECK(c.instructions[4].line == 3);
}

TEST_CASE("element types") {
  Module m =
      read_ok(main_of("%a: tensor<f8E4M3FN>, %b: tensor<ui4>, %c: tensor<complex<f64>>, %d: tensor<?x3xf32>, %e: !stablehlo.token, %f: "
                      "tensor<2x!quant.uniform<i8:f32, 1.0>>",
                      "", "%b", "tensor<ui4>"));
  const Computation& c = entry(m);
  CHECK(c.instructions[0].type.dtype == ir::DType::F8);
  CHECK(c.instructions[0].type.float_format == "f8e4m3fn");
  CHECK(c.instructions[1].type.dtype == ir::DType::U4);
  CHECK(c.instructions[2].type.dtype == ir::DType::C128);
  CHECK(c.instructions[3].type.dynamic);
  CHECK(c.instructions[4].type.dtype == ir::DType::Token);
  CHECK(c.instructions[5].type.dynamic);
}
