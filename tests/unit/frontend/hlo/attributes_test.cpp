// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Attributes of HLO text, one test a kind.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "unit/frontend/hlo/support.h"

namespace shardproof::hlo {
namespace {

using test::instruction;
using test::parse;
using test::parse_error;
using Ints = std::vector<int64_t>;
using Groups = std::vector<std::vector<int64_t>>;
using Others = std::vector<std::pair<std::string, std::string>>;

Groups groups(const std::string& text) {
  const Instruction i =
      instruction("r = f32[8,8] all-reduce(p0), channel_id=3, replica_groups=" + text + ", use_global_device_ids=true, to_apply=add");
  CHECK(i.replica_groups.present);
  CHECK(i.channel_id == 3);
  CHECK(i.use_global_device_ids);  // what comes after is still read
  return i.replica_groups.groups;
}
Diagnostic bad(const std::string& line) {
  return parse_error("HloModule m\nadd {\n x = f32[] parameter(0)\n}\nENTRY e {\n  p0 = f32[8,8] parameter(0)\n  " + line + "\n}\n");
}
Diagnostic bad_groups(const std::string& text) { return bad("r = f32[8,8] all-reduce(p0), replica_groups=" + text + ", to_apply=add"); }

TEST_CASE("replica groups: lists") {
  CHECK(groups("{{0,1},{2,3}}") == Groups{{0, 1}, {2, 3}});
  CHECK(groups("{{1,0},{3}}") == Groups{{1, 0}, {3}});
  CHECK(groups("{}").empty());
  CHECK_FALSE(instruction("r = f32[8,8] all-reduce(p0), to_apply=add").replica_groups.present);
}

TEST_CASE("replica groups: iota") {
  CHECK(groups("[2,4]<=[8]") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups("[4,2]<=[2,4]T(1,0)") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups("[2,4]<=[2,2,2]T(1,0,2)") == Groups{{0, 1, 4, 5}, {2, 3, 6, 7}});
  CHECK(groups("[1,1]<=[1]") == Groups{{0}});
}

TEST_CASE("replica groups: mesh") {
  CHECK(groups("mesh['a'=2,'b'=4] {'b'}") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups("mesh['a'=2,'b'=4] {'a'}") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups("mesh['a'=2,'b'=2,'c'=2] {'c','a'}") == Groups{{0, 4, 1, 5}, {2, 6, 3, 7}});  // c is major
  CHECK(groups("mesh['a'=2,'b'=2] {}") == Groups{{0}, {1}, {2}, {3}});
  CHECK(groups("mesh['axis_0'=4,'axis_1'=1,'axis_2'=2], device_ids=([2,4]T(1,0)) {'axis_0'}") == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups("mesh['a'=2,'b'=2], device_ids=(0,2,1,3) {'a'}") == Groups{{0, 1}, {2, 3}});
  CHECK(groups("mesh['b'=8] {'b':(2)2}") == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(groups("mesh['b'=8] {'b':(1)2}") == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups("mesh['b'=8] {'b':(4)2, 'b':(1)2}") == Groups{{0, 4, 1, 5}, {2, 6, 3, 7}});
  CHECK(groups("maximal_mesh[device_id=5] {}") == Groups{{5}});
}

TEST_CASE("replica groups that make no sense or would be huge") {
  CHECK(bad_groups("[2,4]<=[7]").message.find("as many devices") != std::string::npos);
  CHECK(bad_groups("[2,4]<=[2,4]T(0,0)").message.find("permutation") != std::string::npos);
  CHECK(bad_groups("[1,1000000000]<=[1000000000]").code == "SP222");
  CHECK(bad_groups("[-1,-8]<=[8]").code == "SP222");
  CHECK(bad_groups("mesh['a'=2] {'b'}").message == "axis 'b' is not in the mesh");
  CHECK(bad_groups("mesh['a'=4] {'a','a'}").message == "axis 'a' is listed twice");
  CHECK(bad_groups("mesh['a'=8] {'a':(3)2}").message.find("does not divide") != std::string::npos);
  CHECK(bad_groups("mesh['a'=24] {'a':(2)2,'a':(3)2}").message.find("do not divide") != std::string::npos);
  CHECK(bad_groups("mesh['a'=4], device_ids=(0,1) {'a'}").message.find("device_ids has 2") != std::string::npos);
  CHECK(bad_groups("{{0,-1}}").message.find("negative") != std::string::npos);
  CHECK(bad_groups("?").message.find("replica groups") != std::string::npos);
  // Many lines of short text must not add up to gigabytes.
  std::string lines;
  for (int k = 0; k < 200; ++k)
    lines += fmt::format("r{} = f32[8,8] all-reduce(p0), replica_groups=[1,1000000]<=[1000000], to_apply=add\n", k);
  CHECK(bad(lines).message == "the device lists of this module are too large");
}

TEST_CASE("collectives") {
  const Instruction permute = instruction("r = f32[8,8] collective-permute(p0), channel_id=1, source_target_pairs={{0,1},{1,2},{2,0}}");
  CHECK(permute.source_target_pairs == std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 2}, {2, 0}});
  CHECK(instruction("r = f32[8,8] collective-permute(p0), source_target_pairs={}").source_target_pairs.empty());
  CHECK(instruction("r = f32[8,16] all-gather(p0), replica_groups={}, dimensions={1}").dimensions == Ints{1});
  CHECK(bad("r = f32[8,8] collective-permute(p0), source_target_pairs={{0,1,2}}").message.find("{0,1}") != std::string::npos);
  const Instruction start = instruction("r = (f32[8,8], f32[8,16]) all-gather-start(p0), dimensions={1}");
  CHECK(start.opcode == "all-gather-start");
  CHECK(start.async_wrapped == "all-gather");
}

TEST_CASE("called computations have a fixed order") {
  const Module m = parse(R"(HloModule m
c { ROOT c.x = f32[] parameter(0) }
b { ROOT b.x = f32[] parameter(0) }
s { ROOT s.x = f32[] parameter(0) }
ENTRY e {
  p = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] while(p), body=b, condition=c
  k = f32[] conditional(i, p, p, p), branch_computations={%c, %b, %s}
  t = f32[] conditional(i, p, p), false_computation=s, true_computation=b
  v = f32[] select-and-scatter(p, p, p), scatter=s, select=b
  f = f32[] fusion(p), kind=kLoop, calls=c
  a = ((f32[]), f32[], u32[]) async-start(p), calls=b
  d = f32[] async-done(a)
  ROOT u = f32[] custom-call(p), custom_call_target="x", called_computations={b, c}
}
)");
  const auto& list = m.computations[3].instructions;
  const auto called = [&](const std::string& name) {
    for (const Instruction& i : list) {
      if (i.name == name) return i.called;
    }
    return std::vector<uint32_t>{99};
  };
  CHECK(called("w") == std::vector<uint32_t>{0, 1});  // condition, body
  CHECK(called("k") == std::vector<uint32_t>{0, 1, 2});
  CHECK(called("t") == std::vector<uint32_t>{1, 2});  // true, false
  CHECK(called("v") == std::vector<uint32_t>{1, 2});  // select, scatter
  CHECK(called("f") == std::vector<uint32_t>{0});
  CHECK(called("u") == std::vector<uint32_t>{1, 0});
  for (const Instruction& i : list) {
    if (i.name == "f") CHECK(i.fusion_kind == "kLoop");
    if (i.name == "a" || i.name == "d") CHECK(i.async_wrapped == "parameter");  // the root of b
  }
}

TEST_CASE("dot, slice, pad, dynamic-slice, iota, reduce-precision") {
  const Instruction dot = instruction(
      "r = f32[8,8] dot(p0, p1), lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={1,0}, rhs_contracting_dims={2}, "
      "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32");
  CHECK(dot.lhs_batch == Ints{0, 1});
  CHECK(dot.rhs_batch == Ints{1, 0});
  CHECK(dot.lhs_contract == Ints{3});
  CHECK(dot.rhs_contract == Ints{2});
  CHECK(dot.algorithm == "dot_bf16_bf16_f32");
  CHECK(dot.other == Others{{"operand_precision", "{highest,default}"}});
  const Instruction slice = instruction("r = f32[2,4] slice(p0), slice={[1:3], [0:8:2]}");
  CHECK(slice.slice_start == Ints{1, 0});
  CHECK(slice.slice_limit == Ints{3, 8});
  CHECK(slice.slice_stride == Ints{1, 2});
  CHECK(instruction("r = f32[] slice(p0), slice={}").slice_start.empty());
  const Instruction pad = instruction("r = f32[8,8] pad(p0, p1), padding=0_-1x2_3_4");
  CHECK(pad.pad_low == Ints{0, 2});
  CHECK(pad.pad_high == Ints{-1, 3});
  CHECK(pad.pad_interior == Ints{0, 4});
  CHECK(instruction("r = f32[1,8] dynamic-slice(p0, p1, p1), dynamic_slice_sizes={1,8}").dynamic_slice_sizes == Ints{1, 8});
  CHECK(instruction("r = f32[8,8] iota(), iota_dimension=1").dimensions == Ints{1});
  CHECK(instruction("r = f32[8,8] broadcast(p0), dimensions={}").dimensions.empty());
  const Instruction precision = instruction("r = f32[8,8] reduce-precision(p0), exponent_bits=8, mantissa_bits=7");
  CHECK(precision.exponent_bits == 8);
  CHECK(precision.mantissa_bits == 7);
}

TEST_CASE("gather, scatter, sort, compare, rng, triangular-solve") {
  const Instruction gather = instruction(
      "r = f32[8,8] gather(p0, p1), offset_dims={2}, collapsed_slice_dims={0}, start_index_map={0,1}, operand_batching_dims={3}, "
      "start_indices_batching_dims={4}, index_vector_dim=0, slice_sizes={1,8}, indices_are_sorted=true");
  CHECK(gather.offset_dims == Ints{2});
  CHECK(gather.collapsed_slice_dims == Ints{0});
  CHECK(gather.start_index_map == Ints{0, 1});
  CHECK(gather.operand_batching_dims == Ints{3});
  CHECK(gather.start_indices_batching_dims == Ints{4});
  CHECK(gather.index_vector_dim == 0);
  CHECK(gather.slice_sizes == Ints{1, 8});
  CHECK(gather.indices_are_sorted);
  CHECK_FALSE(gather.unique_indices);
  const Instruction scatter = instruction(
      "r = f32[8,8] scatter(p0, p1, p1), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "input_batching_dims={2}, scatter_indices_batching_dims={3}, index_vector_dim=1, unique_indices=true, to_apply=add");
  CHECK(scatter.update_window_dims == Ints{1});
  CHECK(scatter.inserted_window_dims == Ints{0});
  CHECK(scatter.scatter_dims_to_operand_dims == Ints{0});
  CHECK(scatter.input_batching_dims == Ints{2});
  CHECK(scatter.scatter_indices_batching_dims == Ints{3});
  CHECK(scatter.unique_indices);
  CHECK(instruction("r = f32[8,8] sort(p0), dimensions={1}, is_stable=true, to_apply=add").is_stable);
  const Instruction compare = instruction("r = pred[8,8] compare(p0, p1), direction=GE, type=TOTALORDER");
  CHECK(compare.direction == "GE");
  CHECK(compare.compare_type == "TOTALORDER");
  CHECK(instruction("r = f32[8,8] rng(p0, p1), distribution=rng_uniform").distribution == "rng_uniform");
  CHECK(instruction("r = (u64[2], u32[8]) rng-bit-generator(p0), algorithm=rng_default").algorithm == "rng_default");
  const Instruction solve =
      instruction("r = f32[8,8] triangular-solve(p0, p1), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE");
  CHECK(solve.transpose_a == "NO_TRANSPOSE");
  CHECK(solve.other == Others{{"left_side", "true"}, {"lower", "true"}, {"unit_diagonal", "true"}});
  CHECK(instruction("r = (f32[8,2], s32[8,2]) topk(p0), k=2, largest=true").other == Others{{"k", "2"}, {"largest", "true"}});
}

TEST_CASE("windows and convolutions") {
  const Instruction c = instruction(
      "r = f32[8,8] convolution(p0, p1), window={size=3x5 stride=2x1 pad=1_2x-1_0 lhs_dilate=1x2 rhs_dilate=3x1 rhs_reversal=1x0}, "
      "dim_labels=b01f_01io->b01f, "
      "feature_group_count=2, batch_group_count=4");
  REQUIRE(c.window.size() == 2);
  CHECK(c.window[0].size == 3);
  CHECK(c.window[1].size == 5);
  CHECK(c.window[0].stride == 2);
  CHECK(c.window[0].pad_low == 1);
  CHECK(c.window[0].pad_high == 2);
  CHECK(c.window[1].pad_low == -1);
  CHECK(c.window[1].base_dilation == 2);
  CHECK(c.window[0].window_dilation == 3);
  CHECK(c.window[0].reversal);
  CHECK_FALSE(c.window[1].reversal);
  CHECK(c.dim_labels == "b01f_01io->b01f");
  CHECK(c.feature_group_count == 2);
  CHECK(c.batch_group_count == 4);
  const Instruction r = instruction("r = f32[8,8] reduce-window(p0, p1), window={size=1x2}, to_apply=add");
  CHECK(r.window[1].stride == 1);
  CHECK(r.window[1].window_dilation == 1);
  CHECK(instruction("r = f32[8,8] convolution(p0, p1), dim_labels=bf_io->bf").window.empty());
  CHECK(bad("r = f32[8,8] reduce-window(p0, p0), window={size=1x2 stride=1}").message.find("those before it 2") != std::string::npos);
  CHECK(bad("r = f32[8,8] reduce-window(p0, p0), window={size=1x2 phase=1x1}").message.find("not known") != std::string::npos);
}

TEST_CASE("custom calls, backend configurations, unknown attributes") {
  const Instruction a = instruction(
      R"(r = f32[8,8] custom-call(p0), custom_call_target="a\"b", operand_layout_constraints={f32[8,8]{1,0}, f32[2]}, api_version=API_VERSION_TYPED_FFI, backend_config={n = 1 : i64, s = "}"}, control-predecessors={p1})");
  CHECK(a.custom_call_target == "a\"b");
  CHECK(a.backend_config == "{n = 1 : i64, s = \"}\"}");
  CHECK(a.other == Others{{"api_version", "API_VERSION_TYPED_FFI"},
                          {"control-predecessors", "{p1}"},
                          {"operand_layout_constraints", "{f32[8,8]{1,0}, f32[2]}"}});
  CHECK(instruction(R"(r = f32[8,8] custom-call(p0), custom_call_target="x", backend_config="{\"k\":1}")").backend_config == "{\"k\":1}");
  CHECK(instruction("r = f32[8,8] fft(p0), fft_type=RFFT, fft_length={8}").other == Others{{"fft_length", "{8}"}, {"fft_type", "RFFT"}});
  CHECK(instruction("r = f32[8,8] negate(p0), new_thing=f32[2]{0}, other=[2,2]<=[4]T(1,0)").other ==
        Others{{"new_thing", "f32[2]{0}"}, {"other", "[2,2]<=[4]T(1,0)"}});
}

TEST_CASE("keys with another meaning in another operator are kept verbatim") {
  const Instruction i = instruction("r = f32[8,8] new-op(p0), index=3, direction=UP, window_strides={1}, select=x, slice_sizes={{1},{2}}");
  CHECK(i.tuple_index == -1);
  CHECK(i.direction == "");
  CHECK(i.other == Others{{"direction", "UP"}, {"index", "3"}, {"select", "x"}, {"slice_sizes", "{{1},{2}}"}, {"window_strides", "{1}"}});
}

TEST_CASE("shardings keep their text") {
  CHECK(instruction("r = f32[8,8] negate(p0), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}").sharding.text ==
        "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}");
  CHECK(instruction("r = f32[8,8] negate(p0), sharding={replicated metadata={op_name=\"a}b\"}}, metadata={op_name=\"n\"}").op_name == "n");
  CHECK(instruction("r = f32[8,8] negate(p0), sharding={mesh['a'=2,'b'=4], [{'a'}, {'b':(2)2, ?}], replicated={'c'}}").sharding.text ==
        "{mesh['a'=2,'b'=4], [{'a'}, {'b':(2)2, ?}], replicated={'c'}}");
}

TEST_CASE("shard_map: frontend attributes of Shardy") {
  const Instruction in = instruction(
      R"(r = (f32[4,8], f32[8,4]) custom-call(p0, p1), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true, frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"dp\"}, {}]>, <@mesh, [{}, {\"tp\", ?}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"dp\", \"tp\"}>"})");
  CHECK(in.custom_call_target == "xla.sdy.GlobalToLocalShape");
  CHECK(in.in_shardings == std::vector<std::string>{"<@mesh, [{\"dp\"}, {}]>", "<@mesh, [{}, {\"tp\", ?}]>"});
  CHECK(in.manual_axes == std::vector<std::string>{"dp", "tp"});
  CHECK(in.sharding.syntax == frontend::StatedSharding::Syntax::None);
  REQUIRE(in.other.size() == 3);
  CHECK(in.other[2].first == "frontend_attributes.xla.sdy.manual_axes");
  CHECK(in.other[2].second == "#sdy<manual_axes{\"dp\", \"tp\"}>");
  const Instruction out = instruction(
      R"(r = f32[8,8] custom-call(p0), custom_call_target="xla.sdy.LocalToGlobalShape", frontend_attributes={xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"dp\"}, {}]>]>"})");
  CHECK(out.out_shardings == std::vector<std::string>{"<@mesh, [{\"dp\"}, {}]>"});
  const Instruction result = instruction(
      R"(r = f32[8,8] custom-call(p0), custom_call_target="xla.sdy.FuncResultSharding", frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>"})");
  CHECK(result.sharding.syntax == frontend::StatedSharding::Syntax::Sdy);
  CHECK(result.sharding.text == "#sdy.sharding<@mesh, [{}, {}]>");
  // sharding= wins over the frontend attribute, in either order.
  for (const char* line :
       {R"(r = f32[8,8] negate(p0), sharding={replicated}, frontend_attributes={xla.sdy.sharding="#sdy.sharding<@m, [{}]>"})",
        R"(r = f32[8,8] negate(p0), frontend_attributes={xla.sdy.sharding="#sdy.sharding<@m, [{}]>"}, sharding={replicated})"}) {
    CHECK(instruction(line).sharding.text == "{replicated}");
  }
  CHECK(instruction("r = f32[8,8] negate(p0), frontend_attributes={grad_x=\"false\",n=3}").other ==
        Others{{"frontend_attributes.grad_x", "false"}, {"frontend_attributes.n", "3"}});
}

TEST_CASE("attributes given twice or cut off") {
  CHECK(bad("r = f32[8,8] transpose(p0), dimensions={1,0}, dimensions={0,1}").message == "attribute 'dimensions' is given twice");
  CHECK(bad("r = f32[8,8] transpose(p0), dimensions={1,").message.find("an integer of 'dimensions'") != std::string::npos);
  CHECK(bad("r = f32[8,8] transpose(p0), dimensions").message.find("'=' after attribute 'dimensions'") != std::string::npos);
  CHECK(bad("r = f32[8,8] transpose(p0), dimensions={99999999999999999999}").message.find("64 bits") != std::string::npos);
  CHECK(bad("r = f32[8,8] get-tuple-element(p0), index=-1").message.find("not negative") != std::string::npos);
  CHECK(bad("r = f32[8,8] negate(p0), ").message.find("an attribute") != std::string::npos);
}

}  // namespace
}  // namespace shardproof::hlo
