// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Each operator with attributes of its own: pretty and generic form give the same fields.
#include "tests/unit/frontend/stablehlo/helpers.h"

using namespace shardproof;
using namespace shardproof::hlo;

namespace {

// Body of one operator %r on %x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %z: tensor<f32>, %i: tensor<i32>.
Module one(const std::string& body, const std::string& type) {
  return read_ok(main_of("%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %z: tensor<f32>, %i: tensor<i32>", body, "%r", type));
}

}  // namespace

TEST_CASE("dot_general") {
  Module m =
      one("%r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, "
          "tensor<3x4xf32>) -> tensor<2x4xf32>",
          "tensor<2x4xf32>");
  const Instruction& i = only(m, "dot");
  CHECK(i.lhs_contract == Ints{1});
  CHECK(i.rhs_contract == Ints{0});
  CHECK(i.lhs_batch.empty());
  CHECK(i.type.shape == Ints{2, 4});
  CHECK(i.type.dtype == ir::DType::F32);
  CHECK(i.operands == std::vector<uint32_t>{0, 1});
  CHECK(i.name == "r");
  Module g = read_ok(main_of(
      "%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>",
      "%r = \"stablehlo.dot_general\"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], "
      "rhs_batching_dimensions = [0], "
      "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>",
      "%r", "tensor<5x2x4xf32>"));
  const Instruction& j = only(g, "dot");
  CHECK(j.lhs_batch == Ints{0});
  CHECK(j.rhs_batch == Ints{0});
  CHECK(j.lhs_contract == Ints{2});
  CHECK(j.rhs_contract == Ints{1});
  Module p = read_ok(main_of("%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>",
                             "%r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
                             "(tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>",
                             "%r", "tensor<5x2x4xf32>"));
  CHECK(only(p, "dot").lhs_batch == Ints{0});
  CHECK(only(p, "dot").rhs_contract == Ints{1});
}

TEST_CASE("dot contracts the last dimension with the first") {
  const Module m = one("%r = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>", "tensor<2x4xf32>");
  CHECK(only(m, "dot").lhs_contract == Ints{1});
  CHECK(only(m, "dot").rhs_contract == Ints{0});
  Module v = read_ok(main_of("%a: tensor<3xf32>, %b: tensor<3xf32>",
                             "%r = stablehlo.dot %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>", "%r", "tensor<f32>"));
  CHECK(only(v, "dot").lhs_contract == Ints{0});
}

TEST_CASE("views") {
  CHECK(only(one("%r = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x7x3xf32>", "tensor<2x7x3xf32>"),
             "broadcast")
            .dimensions == Ints{0, 2});
  CHECK(only(one("%r = \"stablehlo.broadcast_in_dim\"(%x) {broadcast_dimensions = dense<[0, 2]> : tensor<2xi64>} : (tensor<2x3xf32>) -> "
                 "tensor<2x7x3xf32>",
                 "tensor<2x7x3xf32>"),
             "broadcast")
            .dimensions == Ints{0, 2});
  CHECK(only(one("%r = \"stablehlo.broadcast\"(%x) {broadcast_sizes = array<i64: 7>} : (tensor<2x3xf32>) -> tensor<7x2x3xf32>",
                 "tensor<7x2x3xf32>"),
             "broadcast")
            .dimensions == Ints{1, 2});
  CHECK(only(one("%r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>", "tensor<3x2xf32>"), "transpose")
            .dimensions == Ints{1, 0});
  CHECK(only(one("%r = stablehlo.reverse %x, dims = [1] : tensor<2x3xf32>", "tensor<2x3xf32>"), "reverse").dimensions == Ints{1});
  CHECK(only(one("%r = stablehlo.iota dim = 1 : tensor<2x3xi32>", "tensor<2x3xi32>"), "iota").dimensions == Ints{1});
  CHECK(only(one("%r = stablehlo.concatenate %x, %x, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>", "tensor<4x3xf32>"),
             "concatenate")
            .dimensions == Ints{0});
  Module s = one("%r = stablehlo.slice %x [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>", "tensor<2x2xf32>");
  CHECK(only(s, "slice").slice_start == Ints{0, 0});
  CHECK(only(s, "slice").slice_limit == Ints{2, 3});
  CHECK(only(s, "slice").slice_stride == Ints{1, 2});
  Module p =
      one("%r = stablehlo.pad %x, %z, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x6xf32>",
          "tensor<3x6xf32>");
  CHECK(only(p, "pad").pad_low == Ints{1, -1});
  CHECK(only(p, "pad").pad_high == Ints{0, 2});
  CHECK(only(p, "pad").pad_interior == Ints{0, 1});
  Module d = one("%r = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>",
                 "tensor<1x2xf32>");
  CHECK(only(d, "dynamic-slice").dynamic_slice_sizes == Ints{1, 2});
  CHECK(only(d, "dynamic-slice").operands == std::vector<uint32_t>{0, 3, 3});
}

TEST_CASE("compare, select, clamp, unary names") {
  Module c = one("%r = stablehlo.compare LT, %x, %x, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>", "tensor<2x3xi1>");
  CHECK(only(c, "compare").direction == "LT");
  CHECK(only(c, "compare").compare_type == "FLOAT");
  CHECK(only(c, "compare").type.dtype == ir::DType::Bool);
  Module g =
      one("%r = \"stablehlo.compare\"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x3xf32>, "
          "tensor<2x3xf32>) -> tensor<2x3xi1>",
          "tensor<2x3xi1>");
  CHECK(only(g, "compare").direction == "GE");
  CHECK(only(g, "compare").compare_type.empty());
  Module s = one("%c = stablehlo.constant dense<true> : tensor<i1>\n%r = stablehlo.select %c, %x, %x : tensor<i1>, tensor<2x3xf32>",
                 "tensor<2x3xf32>");
  CHECK(only(s, "select").type.shape == Ints{2, 3});
  CHECK(only(s, "select").operands.size() == 3);
  CHECK(only(one("%r = stablehlo.clamp %z, %x, %z : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>", "tensor<2x3xf32>"),
             "clamp")
            .operands == std::vector<uint32_t>{2, 0, 2});
  for (auto [name, opcode] : std::vector<std::pair<std::string, std::string>>{{"exponential_minus_one", "exponential-minus-one"},
                                                                              {"round_nearest_even", "round-nearest-even"},
                                                                              {"logistic", "logistic"},
                                                                              {"rsqrt", "rsqrt"},
                                                                              {"cbrt", "cbrt"}}) {
    Module u = one("%r = stablehlo." + name + " %x : tensor<2x3xf32>", "tensor<2x3xf32>");
    CHECK(only(u, opcode).type.shape == Ints{2, 3});
  }
}

TEST_CASE("chlo") {
  Module s = one("%r = chlo.square %x : tensor<2x3xf32> -> tensor<2x3xf32>", "tensor<2x3xf32>");
  CHECK(only(s, "multiply").operands == std::vector<uint32_t>{0, 0});
  CHECK(only(one("%r = chlo.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>", "tensor<2x3xf32>"), "erf").operands == std::vector<uint32_t>{0});
  CHECK(only(one("%r = chlo.lgamma %x : tensor<2x3xf32> -> tensor<2x3xf32>", "tensor<2x3xf32>"), "chlo.lgamma").operands.size() == 1);
  Module t = one("%values, %r = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)", "tensor<2x2xi32>");
  const Instruction& i = only(t, "topk");
  CHECK(i.type.tuple);
  CHECK(i.type.elements.size() == 2);
  CHECK(i.other == std::vector<std::pair<std::string, std::string>>{{"k", "2"}, {"largest", "true"}});
  const Computation& c = entry(t);
  CHECK(c.instructions[c.root].opcode == "get-tuple-element");
  CHECK(c.instructions[c.root].tuple_index == 1);
}

TEST_CASE("reduce: the short form stands for a region") {
  Module m =
      one("%r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> "
          "tensor<2xf32>",
          "tensor<2xf32>");
  const Instruction& i = only(m, "reduce");
  CHECK(i.dimensions == Ints{1});
  CHECK(i.operands == std::vector<uint32_t>{0, 2});
  REQUIRE(i.called.size() == 1);
  const Computation& c = m.computations[i.called[0]];
  CHECK(opcodes(c) == Words{"parameter", "parameter", "maximum"});
  CHECK(c.instructions[2].operands == std::vector<uint32_t>{0, 1});
  CHECK(c.instructions[0].type.shape.empty());
  CHECK(c.root == 2);
}

TEST_CASE("reduce of two operands: block arguments are all left sides, then all right sides") {
  const char* pretty =
      "%r:2 = stablehlo.reduce(%x init: %z), (%k init: %i) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, "
      "tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
      " reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {\n"
      "  %p = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "  %s = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>\n"
      "  %t = stablehlo.select %p, %c, %d : tensor<i1>, tensor<i32>\n"
      "  stablehlo.return %s, %t : tensor<f32>, tensor<i32>\n}";
  Module m =
      read_ok(main_of("%x: tensor<2x3xf32>, %k: tensor<2x3xi32>, %z: tensor<f32>, %i: tensor<i32>", pretty, "%r#1", "tensor<2xi32>"));
  const Instruction& i = only(m, "reduce");
  CHECK(i.operands == std::vector<uint32_t>{0, 1, 2, 3});
  const Computation& c = m.computations[i.called[0]];
  REQUIRE(c.parameters.size() == 4);
  CHECK(c.instructions[c.parameters[0]].name == "a");
  CHECK(c.instructions[c.parameters[1]].name == "c");
  CHECK(c.instructions[c.parameters[2]].name == "b");
  CHECK(c.instructions[c.parameters[3]].name == "d");
  CHECK(c.instructions[c.root].opcode == "tuple");
  CHECK(c.instructions[4].operands == std::vector<uint32_t>{0, 2});  // compare a, b
}

TEST_CASE("reduce_window, select_and_scatter, sort") {
  Module w =
      one("%r = \"stablehlo.reduce_window\"(%x, %z) <{padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: "
          "2, 1>, window_strides = array<i64: 1, 3>}> ({\n"
          "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n %s = stablehlo.add %a, %b : tensor<f32>\n stablehlo.return %s : tensor<f32>\n}) : "
          "(tensor<2x3xf32>, tensor<f32>) -> tensor<2x1xf32>",
          "tensor<2x1xf32>");
  const Instruction& i = only(w, "reduce-window");
  REQUIRE(i.window.size() == 2);
  CHECK(i.window[0].size == 2);
  CHECK(i.window[0].pad_low == 1);
  CHECK(i.window[0].pad_high == 0);
  CHECK(i.window[1].stride == 3);
  CHECK(i.window[1].window_dilation == 1);
  CHECK(opcodes(w.computations[i.called[0]]) == Words{"parameter", "parameter", "add"});
  Module s =
      one("%r = \"stablehlo.sort\"(%x) <{dimension = 1 : i64, is_stable = true}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
          " %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>\n stablehlo.return %s : "
          "tensor<i1>\n}) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
          "tensor<2x3xf32>");
  CHECK(only(s, "sort").dimensions == Ints{1});
  CHECK(only(s, "sort").is_stable);
  CHECK(only(s, "compare").compare_type == "TOTALORDER");
}

TEST_CASE("gather and scatter") {
  Module g = read_ok(
      main_of("%t: tensor<8x24xf32>, %k: tensor<2x6x1xi32>",
              "%r = \"stablehlo.gather\"(%t, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], "
              "start_index_map = [0], index_vector_dim = 2>, "
              "indices_are_sorted = true, slice_sizes = array<i64: 1, 24>}> : (tensor<8x24xf32>, tensor<2x6x1xi32>) -> tensor<2x6x24xf32>",
              "%r", "tensor<2x6x24xf32>"));
  const Instruction& i = only(g, "gather");
  CHECK(i.offset_dims == Ints{2});
  CHECK(i.collapsed_slice_dims == Ints{0});
  CHECK(i.start_index_map == Ints{0});
  CHECK(i.index_vector_dim == 2);
  CHECK(i.slice_sizes == Ints{1, 24});
  CHECK(i.indices_are_sorted);
  Module s = read_ok(main_of("%t: tensor<2x6x15xf32>, %k: tensor<2x6x1x1xi32>, %u: tensor<2x6x1xf32>",
                             "%r = \"stablehlo.scatter\"(%t, %k, %u) <{indices_are_sorted = false, scatter_dimension_numbers = "
                             "#stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], "
                             "scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, "
                             "unique_indices = true}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                             "%s = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : (tensor<2x6x15xf32>, "
                             "tensor<2x6x1x1xi32>, tensor<2x6x1xf32>) -> tensor<2x6x15xf32>",
                             "%r", "tensor<2x6x15xf32>"));
  const Instruction& j = only(s, "scatter");
  CHECK(j.inserted_window_dims == Ints{2});
  CHECK(j.input_batching_dims == Ints{0, 1});
  CHECK(j.scatter_indices_batching_dims == Ints{0, 1});
  CHECK(j.scatter_dims_to_operand_dims == Ints{2});
  CHECK(j.index_vector_dim == 3);
  CHECK(j.unique_indices);
  CHECK_FALSE(j.indices_are_sorted);
  CHECK(j.called.size() == 1);
}

TEST_CASE("convolution") {
  const std::string types = ": (tensor<2x8x8x4xf32>, tensor<3x5x2x6xf32>) -> tensor<2x4x7x6xf32>";
  Module p = read_ok(main_of("%x: tensor<2x8x8x4xf32>, %k: tensor<3x5x2x6xf32>",
                             "%r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = "
                             "[2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 1], "
                             "reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = "
                             "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} " +
                                 types,
                             "%r", "tensor<2x4x7x6xf32>"));
  Module g = read_ok(main_of("%x: tensor<2x8x8x4xf32>, %k: tensor<3x5x2x6xf32>",
                             "%r = \"stablehlo.convolution\"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = "
                             "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, "
                             "lhs_dilation = array<i64: 1, 2>, padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>, rhs_dilation = "
                             "array<i64: 2, 1>, window_reversal = array<i1: false, true>, "
                             "window_strides = array<i64: 2, 1>}> " +
                                 types,
                             "%r", "tensor<2x4x7x6xf32>"));
  for (const Module* m : {&p, &g}) {
    const Instruction& i = only(*m, "convolution");
    CHECK(i.dim_labels == "b01f_01io->b01f");
    CHECK(i.feature_group_count == 2);
    REQUIRE(i.window.size() == 2);
    CHECK(i.window[0].size == 3);
    CHECK(i.window[1].size == 5);
    CHECK(i.window[0].stride == 2);
    CHECK(i.window[0].pad_high == 1);
    CHECK(i.window[1].pad_low == 0);
    CHECK(i.window[1].pad_high == 2);
    CHECK(i.window[1].base_dilation == 2);
    CHECK(i.window[0].window_dilation == 2);
    CHECK_FALSE(i.window[0].reversal);
    CHECK(i.window[1].reversal);
  }
}

TEST_CASE("rng, reduce_precision, cholesky, tuples, barrier") {
  Module r = read_ok(main_of("%a: tensor<f32>, %b: tensor<f32>",
                             "%s = stablehlo.constant dense<[3]> : tensor<1xi64>\n%r = stablehlo.rng %a, %b, %s, distribution = UNIFORM : "
                             "(tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>",
                             "%r", "tensor<3xf32>"));
  CHECK(only(r, "rng").distribution == "rng_uniform");
  CHECK(only(r, "rng").operands == std::vector<uint32_t>{0, 1});
  Module p = one("%r = stablehlo.reduce_precision %x, format = e5m10 : tensor<2x3xf32>", "tensor<2x3xf32>");
  CHECK(only(p, "reduce-precision").exponent_bits == 5);
  CHECK(only(p, "reduce-precision").mantissa_bits == 10);
}

TEST_CASE("rng_bit_generator and optimization_barrier have several results") {
  Module m = read_ok(
      main_of("%s: tensor<2xui64>",
              "%q, %r = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)", "%r",
              "tensor<3xui32>"));
  CHECK(only(m, "rng-bit-generator").algorithm == "rng_three_fry");
  CHECK(only(m, "rng-bit-generator").type.elements[1].dtype == ir::DType::U32);
  Module b =
      read_ok(main_of("%x: tensor<2xf32>, %y: tensor<3xi32>", "%r:2 = stablehlo.optimization_barrier %x, %y : tensor<2xf32>, tensor<3xi32>",
                      "%r#1, %r#0", "tensor<3xi32>, tensor<2xf32>"));
  CHECK(opcodes(entry(b)) == Words{"parameter", "parameter", "opt-barrier", "get-tuple-element", "get-tuple-element", "tuple"});
  CHECK(entry(b).instructions[5].operands == std::vector<uint32_t>{4, 3});
  CHECK(entry(b).instructions[4].name == "r#1");
}

TEST_CASE("custom calls") {
  Module m =
      one("%r = stablehlo.custom_call @Sharding(%x) {backend_config = \"cfg\", mhlo.sharding = \"{devices=[2,1]<=[2]}\"} : "
          "(tensor<2x3xf32>) -> tensor<2x3xf32>",
          "tensor<2x3xf32>");
  const Instruction& i = only(m, "custom-call");
  CHECK(i.custom_call_target == "Sharding");
  CHECK(i.backend_config == "cfg");
  CHECK(i.sharding.syntax == frontend::StatedSharding::Syntax::Hlo);
  CHECK(i.sharding.text == "{devices=[2,1]<=[2]}");
  Module k = read_ok(main_of("%x: tensor<2x3xf32>",
                             "%r:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = "
                             "1 : i64} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)",
                             "%r#0", "tensor<2x2xf32>"));
  CHECK(only(k, "topk").other[0] == std::pair<std::string, std::string>{"k", "2"});
  CHECK(only(k, "topk").other[1] == std::pair<std::string, std::string>{"largest", "true"});
}
