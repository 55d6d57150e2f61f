// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The lowering of XLA programs, operator by operator where JAX on one device cannot show it: collectives and their groups, asynchronous
// pairs, per-rank regions, loops that cannot be unrolled, unknown operators, contradictions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "dense_eval.h"
#include "lower/lower.h"

namespace shardproof {
namespace {

using ir::Fn;
using ir::GroupRef;
using ir::Op;

struct Constants : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> given;
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return given; }
};

Result<frontend::Program> lower_text(const std::string& text, const Constants& constants = {}) {
  auto module = text.find("HloModule") == 0 ? hlo::read_text(text, "test.hlo") : hlo::read_stablehlo(text, "test.mlir");
  if (!module.ok()) return module.error();
  return lower::lower_hlo(*module, constants);
}

// A module with the usual regions and this body of the entry computation.
std::string module_of(const std::string& body, const std::string& header = "", const std::string& more = "") {
  return "HloModule m" + header + "\n\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, y)\n}\n\n" +
         more + "ENTRY main {\n" + body + "}\n";
}

frontend::Program lowered(const std::string& text) {
  auto program = lower_text(text);
  REQUIRE_MESSAGE(program.ok(), program.error().message);
  for (ir::NodeId k = 0; k < program->graph.nodes.size(); ++k) REQUIRE(ir::verify(program->graph, k) == "");
  return std::move(*program);
}

const ir::Node& output(const frontend::Program& p, size_t k = 0) { return p.graph[p.outputs.at(k).node]; }

test::Tensor floats(ir::Shape s, std::vector<double> v) { return {ir::DType::F32, std::move(s), std::move(v), {}}; }

TEST_CASE("inputs carry their position, name and path; outputs are the flattened root") {
  const auto p =
      lowered(module_of("  p.1 = f32[2] parameter(1), sharding={devices=[2]<=[2]}, metadata={op_name=\"q['w']\"}\n"
                        "  p.0 = s32[] parameter(0)\n"
                        "  t = (f32[2]) tuple(p.1)\n"
                        "  ROOT r = (s32[], (f32[2])) tuple(p.0, t), sharding={{replicated}, {devices=[2]<=[2]}}\n"));
  REQUIRE(p.inputs.size() == 2);
  CHECK(p.inputs[0].name == "0");
  CHECK(p.inputs[1].aliases == std::vector<std::string>{"p.1", "q['w']"});
  CHECK(p.inputs[1].sharding.text == "{devices=[2]<=[2]}");
  REQUIRE(p.outputs.size() == 2);
  CHECK(p.outputs[1].name == "1");
  CHECK(p.outputs[1].node == p.inputs[1].node);
  CHECK(p.outputs[1].sharding.text == "{devices=[2]<=[2]}");
}

TEST_CASE("what the numbers of a group are follows from the channel and the flag") {
  const auto kind = [](const std::string& attributes, const std::string& header) {
    const auto p =
        lowered(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(p), " + attributes + "to_apply=add\n", header));
    return output(p).group->kind;
  };
  CHECK(kind("replica_groups={{0,1}}, ", "") == GroupRef::Kind::Replicas);
  CHECK(kind("channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, ", ", num_partitions=2") == GroupRef::Kind::Partitions);
  CHECK(kind("channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, ", ", replica_count=2, num_partitions=2") ==
        GroupRef::Kind::Flattened);
  CHECK(kind("channel_id=1, replica_groups={{0,1}}, ", ", replica_count=2, num_partitions=2") == GroupRef::Kind::CrossReplica);
  CHECK(kind("channel_id=1, replica_groups={{0}}, ", ", num_partitions=2") == GroupRef::Kind::Partitions);
  CHECK(kind("channel_id=7, replica_groups={{0,1}}, ", "") == GroupRef::Kind::Replicas);
  CHECK_FALSE(
      lower_text(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(p), use_global_device_ids=true, to_apply=add\n")).ok());
}

TEST_CASE("a reduction is what its region computes, not what it is called") {
  const std::string region =
      "add.1 {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = pred[] compare(a, b), direction=GE\n"
      "  ROOT d = f32[] select(c, a, b)\n}\n\n";
  const auto p =
      lowered(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(p), replica_groups={}, to_apply=add.1\n", "", region));
  CHECK(output(p).op == Op::AllReduce);
  CHECK(output(p).fn == Fn::Max);
  CHECK(output(p).group->members.empty());

  const std::string casts =
      "sum {\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  c = f32[] convert(a)\n  d = f32[] convert(b)\n"
      "  e = f32[] add(d, c)\n  ROOT f = bf16[] convert(e)\n}\n\n";
  const auto q =
      lowered(module_of("  p = bf16[4] parameter(0)\n  ROOT r = bf16[4] all-reduce(p), replica_groups={{0,1}}, to_apply=sum\n", "", casts));
  CHECK(output(q).fn == Fn::Add);

  const std::string mean =
      "mean {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] add(a, b)\n  d = f32[] constant(0.5)\n"
      "  ROOT e = f32[] multiply(c, d)\n}\n\n";
  const auto r =
      lowered(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=mean\n", "", mean));
  REQUIRE(r.unsupported.size() == 1);
  CHECK(r.graph[r.unsupported[0].node].op == Op::Opaque);
  // It depends on other ranks, so no two of it may be equal: an unspecified operand.
  CHECK(r.graph[r.graph[r.unsupported[0].node].in.back()].op == Op::Uninit);
}

TEST_CASE("asynchronous pairs are their operators") {
  const auto p = lowered(module_of(
      "  p = f32[4] parameter(0)\n"
      "  s = (f32[4], f32[8]) all-gather-start(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true\n"
      "  d = f32[8] all-gather-done(s)\n"
      "  t = (f32[8], f32[8], u32[], u32[]) collective-permute-start(d), channel_id=2, source_target_pairs={{0,1},{1,0}}\n"
      "  e = f32[8] collective-permute-done(t)\n"
      "  u = f32[8] all-reduce-start(e), replica_groups={{0,1}}, to_apply=add\n"
      "  ROOT f = f32[8] all-reduce-done(u)\n",
      ", num_partitions=2"));
  CHECK(p.unsupported.empty());
  const auto v =
      test::evaluate_ranks(p.graph, {{{p.inputs[0].node, floats({4}, {1, 2, 3, 4})}}, {{p.inputs[0].node, floats({4}, {5, 6, 7, 8})}}});
  CHECK(v[0][p.outputs[0].node].f == std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16});

  const std::string wrapped =
      "wrapped {\n  q = f32[8] parameter(0)\n  ROOT s = f32[4] reduce-scatter(q), replica_groups={{0,1}}, dimensions={0}, "
      "to_apply=add\n}\n\n";
  const auto q =
      lowered(module_of("  p = f32[8] parameter(0)\n"
                        "  s = ((f32[8]), f32[4], u32[]) async-start(p), calls=wrapped\n"
                        "  t = ((f32[8]), f32[4], u32[]) async-update(s)\n"
                        "  ROOT d = f32[4] async-done(t)\n",
                        "", wrapped));
  CHECK(output(q).op == Op::ReduceScatter);
  CHECK(q.unsupported.empty());
}

TEST_CASE("all-to-all, in both forms, along any dimension") {
  const auto p =
      lowered(module_of("  a = f32[1] parameter(0)\n  b = f32[1] parameter(1)\n"
                        "  ROOT r = (f32[1], f32[1]) all-to-all(a, b), replica_groups={{1,0}}\n"));
  const auto inputs = [&](double a, double b) {
    return std::map<ir::NodeId, test::Tensor>{{p.inputs[0].node, floats({1}, {a})}, {p.inputs[1].node, floats({1}, {b})}};
  };
  const auto v = test::evaluate_ranks(p.graph, {inputs(1, 2), inputs(3, 4)});
  // Members in group order are rank 1, rank 0; rank 1 gets element 0 of both.
  CHECK(v[1][p.outputs[0].node].f == std::vector<double>{3});
  CHECK(v[1][p.outputs[1].node].f == std::vector<double>{1});
  CHECK(v[0][p.outputs[0].node].f == std::vector<double>{4});
  CHECK(v[0][p.outputs[1].node].f == std::vector<double>{2});

  const auto q = lowered(
      "module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<2x4xf32>) -> tensor<4x2xf32> {\n"
      "    %0 = \"stablehlo.all_to_all\"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : "
      "i64, "
      "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> "
      "tensor<4x2xf32>\n"
      "    return %0 : tensor<4x2xf32>\n  }\n}\n");
  CHECK(output(q).a == std::vector<int64_t>{1, 0});
  CHECK(output(q).group->kind == GroupRef::Kind::Partitions);
}

TEST_CASE("groups must fit the shapes") {
  CHECK_FALSE(
      lower_text(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[8] all-gather(p), replica_groups={{0,1,2}}, dimensions={0}\n")).ok());
  CHECK_FALSE(
      lower_text(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[4] collective-permute(p), source_target_pairs={{0,1},{2,1}}\n"))
          .ok());
}

TEST_CASE("a per-rank region takes parts of each rank's own view and gives them back") {
  const std::string text = R"(module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<4x2xf32>) -> tensor<4x2xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"b"}, {}]>] out_shardings=[<@mesh, [{"b"}, {}]>] manual_axes={"a", "b"} (%arg1: tensor<2x2xf32>) {
      %1 = stablehlo.partition_id : tensor<ui32>
      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<f32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
      %4 = stablehlo.add %arg1, %3 : tensor<2x2xf32>
      sdy.return %4 : tensor<2x2xf32>
    } : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
})";
  const auto p = lowered(text);
  CHECK(p.global_shapes);
  const std::map<ir::NodeId, test::Tensor> in{{p.inputs[0].node, floats({4, 2}, {0, 10, 20, 30, 40, 50, 60, 70})}};
  const auto v = test::evaluate_ranks(p.graph, {in, in, in, in});
  // Ranks are a * 2 + b. The result says nothing of axis a, so each rank sees the parts of its own a.
  CHECK(v[0][p.outputs[0].node].f == std::vector<double>{0, 10, 20, 30, 41, 51, 61, 71});
  CHECK(v[3][p.outputs[0].node].f == std::vector<double>{2, 12, 22, 32, 43, 53, 63, 73});
}

TEST_CASE("borders of GSPMD regions read their tiles") {
  const auto region = [](const std::string& sharding, const std::string& local) {
    return lower_text(
        "HloModule m, num_partitions=4\n\nENTRY main {\n  p = f32[4,4] parameter(0)\n"
        "  s = f32[4,4] custom-call(p), custom_call_target=\"Sharding\", sharding=" +
        sharding +
        "\n"
        "  ROOT l = f32[" +
        local + "] custom-call(s), custom_call_target=\"SPMDFullToShardShape\", sharding={manual}\n}\n");
  };
  const auto table = [&](const std::string& sharding, const std::string& local) {
    const auto p = region(sharding, local);
    REQUIRE_MESSAGE(p.ok(), p.error().message);
    const ir::Node& n = output(*p);
    REQUIRE(n.op == Op::GlobalToLocal);
    return n.b;
  };
  CHECK(table("{devices=[2,2]<=[4]}", "2,2") == std::vector<int64_t>{0, 0, 0, 1, 1, 0, 1, 1});
  CHECK(table("{devices=[2,2]<=[2,2]T(1,0)}", "2,2") == std::vector<int64_t>{0, 0, 1, 0, 0, 1, 1, 1});
  CHECK(table("{devices=[4,1]0,2,1,3}", "1,4") == std::vector<int64_t>{0, 0, 2, 0, 1, 0, 3, 0});
  CHECK(table("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", "2,4") == std::vector<int64_t>{0, 0, 0, 0, 1, 0, 1, 0});
  CHECK(table("{devices=[2,2]<=[4]}", "2,4") ==
        std::vector<int64_t>{0, 0, 0, 0, 1, 0, 1, 0});  // the second axis is left to the partitioner
  const auto whole = region("{replicated}", "4,4");
  REQUIRE(whole.ok());
  CHECK(output(*whole).op == Op::Input);
  CHECK(whole->global_shapes);
  CHECK_FALSE(region("{devices=[2,2]<=[4]}", "4,1").ok());
  CHECK_FALSE(region("{devices=[2,2]0,1,2,2}", "2,2").ok());
  CHECK_FALSE(region("{maximal device=1}", "4,4").ok());
}

TEST_CASE("annotations alone change nothing") {
  const auto p = lowered(
      "HloModule m\n\nENTRY main {\n  p = f32[4] parameter(0), sharding={devices=[2]<=[2]}\n"
      "  s = f32[4] custom-call(p), custom_call_target=\"Sharding\", sharding={devices=[2]<=[2]}\n"
      "  ROOT r = f32[4] negate(s)\n}\n");
  CHECK(p.graph.nodes.size() == 2);
  CHECK(p.global_shapes);
}

TEST_CASE("loops are unrolled where their counter is known, and are opaque where it is not") {
  const auto loop = [](const std::string& limit, int limit_round) {
    return module_of(
        "  p = f32[] parameter(0)\n  n = s32[] parameter(1)\n  zero = s32[] constant(0)\n  t = (s32[], f32[], s32[]) tuple(zero, p, n)\n"
        "  w = (s32[], f32[], s32[]) while(t), condition=go, body=step\n  ROOT r = f32[] get-tuple-element(w), index=1\n",
        "",
        "go {\n  s = (s32[], f32[], s32[]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  c = s32[] constant(" +
            std::to_string(limit_round) + ")\n  m = s32[] get-tuple-element(s), index=2\n  ROOT d = pred[] compare(i, " + limit +
            "), direction=LT\n}\n\n"
            "step {\n  s.1 = (s32[], f32[], s32[]) parameter(0)\n  i.1 = s32[] get-tuple-element(s.1), index=0\n  one = s32[] constant(1)\n"
            "  j = s32[] add(i.1, one)\n  x = f32[] get-tuple-element(s.1), index=1\n  y = f32[] multiply(x, x)\n"
            "  k = s32[] get-tuple-element(s.1), index=2\n  ROOT u = (s32[], f32[], s32[]) tuple(j, y, k)\n}\n\n");
  };
  const auto p = lowered(loop("c", 3));
  CHECK(p.unsupported.empty());
  const auto v = test::evaluate(p.graph, {{p.inputs[0].node, floats({}, {2})}, {p.inputs[1].node, {ir::DType::I32, {}, {}, {0}}}});
  CHECK(v[p.outputs[0].node].f[0] == 256);
  const auto q = lowered(loop("m", 3));  // until an input
  REQUIRE(q.unsupported.size() == 1);
  CHECK(q.unsupported[0].reason.find("rounds") != std::string::npos);
  const auto r = lowered(loop("c", 1000000));
  REQUIRE(r.unsupported.size() == 1);
  CHECK(r.graph.nodes.size() < 20);  // nothing of the attempt is left
}

TEST_CASE("unknown operators are equal only where everything about them is") {
  const auto attrs = [](const std::string& what) {
    const auto p = lowered(module_of("  p = f32[4,4] parameter(0)\n  ROOT r = " + what + "\n"));
    REQUIRE(p.unsupported.size() == 1);
    const ir::Node& n = p.graph[p.unsupported[0].node];
    return n.name + " " + n.attrs;
  };
  const std::string call = "f32[4,4] custom-call(p), custom_call_target=\"lib.kernel\"";
  CHECK(attrs(call + ", backend_config=\"a\"") != attrs(call + ", backend_config=\"b\""));
  CHECK(attrs(call + ", backend_config=\"a\"") == attrs(call + ", backend_config=\"a\", metadata={op_name=\"x\"}"));
  CHECK(attrs(call).rfind("lib.kernel", 0) == 0);
  CHECK(attrs("f32[4,4] cholesky(p), lower=true") != attrs("f32[4,4] cholesky(p), lower=false"));
}

TEST_CASE("contradictions and reading from outside are refused with a line") {
  const auto fails = [](const std::string& text, const std::string& code) {
    const auto p = lower_text(text);
    REQUIRE_FALSE(p.ok());
    CHECK_MESSAGE(p.error().code == code, p.error().message);
    CHECK(p.error().line > 0);
  };
  fails(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[5] negate(p)\n"), "SP240");
  fails(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[4] transpose(p), dimensions={1}\n"), "SP240");
  fails(module_of("  p = f32[4] parameter(0)\n  ROOT r = f32[2] slice(p), slice={[3:5]}\n"), "SP240");
  fails(module_of("  p = f32[4] parameter(0)\n  c = f32[4] constant({...})\n  ROOT r = f32[4] add(p, c)\n"), "SP242");
  fails(module_of("  t = token[] after-all()\n  i = (f32[4], token[]) infeed(t)\n  ROOT r = f32[4] get-tuple-element(i), index=0\n"),
        "SP243");
}

TEST_CASE("a constant that the text lacks comes from the manifest") {
  Constants constants;
  constants.given = {ir::Literal::real(1), ir::Literal::real(2)};
  const auto p = lower_text(module_of("  ROOT c = f32[2] constant({...})\n"), constants);
  REQUIRE(p.ok());
  CHECK(output(*p).op == Op::Dense);
  CHECK((*output(*p).dense)[1].d == 2);
}

TEST_CASE("bitcasts between layouts are transposes of the order in memory") {
  const auto p = lowered(module_of("  p = f32[2,3]{0,1} parameter(0)\n  ROOT r = f32[3,2]{1,0} bitcast(p)\n"));
  const auto v = test::evaluate(p.graph, {{p.inputs[0].node, floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  CHECK(v[p.outputs[0].node].f == std::vector<double>{1, 4, 2, 5, 3, 6});
  const auto q = lowered(module_of("  p = f32[2,3]{1,0} parameter(0)\n  ROOT r = f32[3,2]{1,0} bitcast(p)\n"));
  const auto w = test::evaluate(q.graph, {{q.inputs[0].node, floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  CHECK(w[q.outputs[0].node].f == std::vector<double>{1, 2, 3, 4, 5, 6});
}

// What a module of float inputs computes, as numbers.
std::vector<std::vector<double>> run(const frontend::Program& p, const std::vector<std::vector<double>>& values) {
  std::map<ir::NodeId, test::Tensor> in;
  for (size_t k = 0; k < values.size(); ++k) in[p.inputs.at(k).node] = floats(p.graph[p.inputs[k].node].shape, values[k]);
  const auto v = test::evaluate(p.graph, in);
  std::vector<std::vector<double>> out;
  for (const auto& o : p.outputs) {
    out.push_back(v[o.node].f);
    for (int64_t k : v[o.node].i) out.back().push_back(static_cast<double>(k));
  }
  return out;
}

void near(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t k = 0; k < got.size(); ++k) CHECK(got[k] == doctest::Approx(expected[k]).epsilon(1e-6));
}

TEST_CASE("operators that JAX does not write") {
  SUBCASE("map") {
    const std::string region =
        "f {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = f32[] constant(2)\n  d = f32[] multiply(a, c)\n"
        "  e = pred[] compare(d, b), direction=GT\n  ROOT g = f32[] select(e, d, b)\n}\n\n";
    const auto p = lowered(module_of(
        "  p = f32[3] parameter(0)\n  q = f32[3] parameter(1)\n  ROOT r = f32[3] map(p, q), dimensions={0}, to_apply=f\n", "", region));
    near(run(p, {{1, 2, 3}, {5, 3, 1}})[0], {5, 4, 6});
  }
  SUBCASE("topk") {
    const auto p = lowered(module_of("  p = f32[5] parameter(0)\n  ROOT r = (f32[2], s32[2]) topk(p), k=2, largest=true\n"));
    const auto out = run(p, {{1, 7, 3, 7, 2}});
    near(out[0], {7, 7});
    near(out[1], {1, 3});
  }
  SUBCASE("batch normalisation") {
    const std::string operands = "  x = f32[4,2] parameter(0)\n  scale = f32[2] parameter(1)\n  offset = f32[2] parameter(2)\n";
    const auto p = lowered(module_of(
        operands + "  ROOT r = (f32[4,2], f32[2], f32[2]) batch-norm-training(x, scale, offset), epsilon=0.25, feature_index=1\n"));
    const auto out = run(p, {{1, 10, 2, 20, 3, 30, 6, 20}, {2, 1}, {0, 5}});
    near(out[1], {3, 20});
    near(out[2], {3.5, 50});
    near({out[0][0], out[0][3]}, {(1 - 3) / std::sqrt(3.75) * 2, 5});
    const auto q = lowered(
        module_of(operands + "  mean = f32[2] parameter(3)\n  var = f32[2] parameter(4)\n"
                             "  ROOT r = f32[4,2] batch-norm-inference(x, scale, offset, mean, var), epsilon=0.25, feature_index=1\n"));
    near({run(q, {{1, 10, 2, 20, 3, 30, 6, 20}, {2, 1}, {0, 5}, {3, 20}, {3.75, 24.75}})[0][1]}, {(10 - 20) / 5.0 + 5});
    const auto g = lowered(
        module_of("  x = f32[2,1] parameter(0)\n  scale = f32[1] parameter(1)\n  mean = f32[1] parameter(2)\n  var = f32[1] parameter(3)\n"
                  "  dy = f32[2,1] parameter(4)\n  ROOT r = (f32[2,1], f32[1], f32[1]) batch-norm-grad(x, scale, mean, var, dy), "
                  "epsilon=0, feature_index=1\n"));
    const auto grad = run(g, {{1, 3}, {2}, {2}, {1}, {5, 1}});
    near(grad[0], {0, 0});  // two samples: the normalised values are -1 and 1 whatever the input
    near(grad[1], {-4});
    near(grad[2], {6});
  }
  SUBCASE("conditional by index, out of range included") {
    const std::string branches =
        "b0 {\n  ROOT a = f32[] parameter(0)\n}\n\nb1 {\n  a.1 = f32[] parameter(0)\n  ROOT n = f32[] negate(a.1)\n}\n\n";
    const auto p = lowered(module_of(
        "  i = s32[] parameter(0)\n  x = f32[] parameter(1)\n  ROOT r = f32[] conditional(i, x, x), branch_computations={b0, b1}\n", "",
        branches));
    for (const auto& [index, expected] : std::map<int64_t, double>{{0, 3}, {1, -3}, {2, -3}, {-1, -3}}) {
      const auto v = test::evaluate(p.graph, {{p.inputs[0].node, {ir::DType::I32, {}, {}, {index}}}, {p.inputs[1].node, floats({}, {3})}});
      CHECK(v[p.outputs[0].node].f[0] == expected);
    }
  }
  SUBCASE("the norm of Neuron") {
    const auto p =
        lowered(module_of("  x = f32[2,3] parameter(0)\n  w = f32[2] parameter(1)\n  e = f32[] parameter(2)\n"
                          "  ROOT r = f32[2,3] custom-call(x, w, e), custom_call_target=\"AwsNeuronRmsNorm\", backend_config=\"0\"\n"));
    near(run(p, {{1, 2, 3, 1, 4, 5}, {1, 10}, {0}})[0],
         {1, 2 / std::sqrt(10), 3 / std::sqrt(17), 10, 40 / std::sqrt(10), 50 / std::sqrt(17)});
  }
  SUBCASE("an outer product, and a broadcast that transposes") {
    const auto p =
        lowered(module_of("  a = f32[2] parameter(0)\n  b = f32[3] parameter(1)\n  d = f32[2,3] dot(a, b)\n  ROOT r = f32[3,2] "
                          "broadcast(d), dimensions={1,0}\n"));
    near(run(p, {{1, 2}, {3, 4, 5}})[0], {3, 6, 4, 8, 5, 10});
  }
}

// Names that JAX and XLA seldom write, each by itself: the lowering is what StableHLO's text says of it.
TEST_CASE("elementwise operators by their other names") {
  const std::string two = "  p = f32[3] parameter(0)\n  q = f32[3] parameter(1)\n", x = "  p = f32[3] parameter(0)\n";
  const std::vector<double> a{3, -2, 0.5}, b{2, 3, -1};
  const std::vector<std::pair<std::string, std::vector<double>>> real{
      {"logistic", {1 / (1 + std::exp(-3.0)), 1 / (1 + std::exp(2.0)), 1 / (1 + std::exp(-0.5))}},
      {"square", {9, 4, 0.25}},
      {"exponential-base2", {8, 0.25, std::sqrt(2.0)}},
      {"conj", a},
      {"real", a},
      {"propagation-barrier", a},
      {"optimization-barrier", a},
      {"sharding-constraint", a},
      {"reshard", a},
      {"domain", a}};
  for (const auto& [name, expected] : real) {
    INFO(name);
    near(run(lowered(module_of(x + "  ROOT r = f32[3] " + name + "(p)\n")), {a})[0], expected);
  }
  const std::vector<std::pair<std::string, std::vector<double>>> binary{
      {"add", {5, 1, -0.5}},    {"subtract", {1, -5, 1.5}}, {"multiply", {6, -6, -0.5}}, {"divide", {1.5, -2.0 / 3, -0.5}},
      {"maximum", {3, 3, 0.5}}, {"minimum", {2, -2, -1}},   {"power", {9, -8, 2}},       {"remainder", {1, -2, 0.5}}};
  for (const auto& [name, expected] : binary) {
    INFO(name);
    near(run(lowered(module_of(two + "  ROOT r = f32[3] broadcast-" + name + "(p, q)\n")), {a, b})[0], expected);
  }
  const std::vector<std::pair<std::string, std::vector<double>>> bits{
      {"and(m, n)", {4, 0, 3}}, {"or(m, n)", {7, 9, -1}}, {"xor(m, n)", {3, 9, -4}}};
  for (const auto& [call, expected] : bits) {
    INFO(call);
    near(run(lowered(module_of("  m = s32[3] constant({6, 8, -1})\n  n = s32[3] constant({5, 1, 3})\n  ROOT r = s32[3] broadcast-" + call +
                               "\n")),
             {})[0],
         expected);
  }
  for (const auto& [name, expected] :
       std::vector<std::pair<std::string, std::vector<double>>>{{"clz", {29, 28, 0}}, {"population-count", {2, 1, 32}}}) {
    INFO(name);
    near(run(lowered(module_of("  m = s32[3] constant({6, 8, -1})\n  ROOT r = s32[3] " + name + "(m)\n")), {})[0], expected);
  }
  near(run(lowered(module_of(x + "  ROOT r = pred[3] is-inf(p)\n")), {{1, INFINITY, -INFINITY}})[0], {0, 1, 1});
  // Without a value here, but not opaque: equal arguments give equal results.
  for (const char* name : {"digamma"}) CHECK(lowered(module_of(x + "  ROOT r = f32[3] " + name + "(p)\n")).unsupported.empty());
  const auto parts =
      lowered(module_of(two + "  c = c64[3] complex(p, q)\n  d = c64[3] conj(c)\n  e = f32[3] real(d)\n  f = f32[3] imag(d)\n"
                              "  ROOT r = (f32[3], f32[3]) tuple(e, f)\n"));
  CHECK(parts.unsupported.empty());
}

TEST_CASE("shapes given by constants, and what orders operators") {
  const std::string x = "  p = f32[2,2] parameter(0)\n";
  const std::vector<std::pair<std::string, std::vector<double>>> forms{
      {"  s = s32[1] constant({4})\n  ROOT r = f32[4] dynamic-reshape(p, s)\n", {1, 2, 3, 4}},
      {"  s = s32[2] constant({2, 2})\n  ROOT r = f32[2,2] dynamic-broadcast-in-dim(p, s), dimensions={1,0}\n", {1, 3, 2, 4}},
      {"  ROOT r = f32[2,2] broadcast-in-dim(p), dimensions={1,0}\n", {1, 3, 2, 4}},
      {"  s = s32[1] constant({3})\n  ROOT r = f32[3] dynamic-iota(s), iota_dimension=0\n", {0, 1, 2}},
      {"  ROOT r = s32[] get-dimension-size(p), dimensions={1}\n", {2}},
      {"  z = f32[] constant(9)\n  l = s32[2] constant({1, 0})\n  h = s32[2] constant({0, 0})\n  i = s32[2] constant({0, 0})\n"
       "  ROOT r = f32[3,2] dynamic-pad(p, z, l, h, i)\n",
       {9, 9, 1, 2, 3, 4}},
      {"  l = s32[2] constant({0, 1})\n  h = s32[2] constant({2, 2})\n  i = s32[2] constant({1, 1})\n"
       "  ROOT r = f32[2,1] real-dynamic-slice(p, l, h, i)\n",
       {2, 4}},
      {"  ROOT r = f32[2,2] dot-general(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n", {7, 10, 15, 22}},
      {"  t = token[] create-token()\n  ROOT r = f32[2,2] add-dependency(p, t)\n", {1, 2, 3, 4}},
      {"  s = (f32[2,2], f32[2,2], u32[]) copy-start(p)\n  ROOT r = f32[2,2] copy-done(s)\n", {1, 2, 3, 4}}};
  for (const auto& [body, expected] : forms) {
    INFO(body);
    near(run(lowered(module_of(x + body)), {{1, 2, 3, 4}})[0], expected);
  }
}

TEST_CASE("calls, choices and communication by their other names") {
  const std::string twice = "f {\n  a = f32[3] parameter(0)\n  ROOT g = f32[3] add(a, a)\n}\n\n", x = "  p = f32[3] parameter(0)\n";
  for (const char* name : {"named-computation", "composite"}) {
    INFO(name);
    near(run(lowered(module_of(x + "  ROOT r = f32[3] " + name + "(p), to_apply=f\n", "", twice)), {{1, 2, 3}})[0], {2, 4, 6});
  }
  const std::string branches =
      "b0 {\n  ROOT a = f32[] parameter(0)\n}\n\nb1 {\n  a.1 = f32[] parameter(0)\n  ROOT n = f32[] negate(a.1)\n}\n\n";
  near(run(lowered(module_of("  i = s32[] constant(1)\n  x = f32[] parameter(0)\n"
                             "  ROOT r = f32[] case(i, x, x), branch_computations={b0, b1}\n",
                             "", branches)),
           {{3}})[0],
       {-3});
  near(run(lowered(module_of("  i = pred[] constant(true)\n  x = f32[] parameter(0)\n"
                             "  ROOT r = f32[] if(i, x, x), branch_computations={b0, b1}\n",
                             "", branches)),
           {{3}})[0],
       {3});
  near(run(lowered(module_of(x + "  ROOT r = (f32[2], s32[2]) top-k(p), k=2, largest=true\n")), {{1, 7, 3}})[0], {7, 3});
  const auto sum = lowered(module_of(x + "  ROOT r = f32[3] cross-replica-sum(p), replica_groups={{0,1}}, to_apply=add\n"));
  CHECK(output(sum).op == Op::AllReduce);
  const auto spread = lowered(module_of(x + "  ROOT r = f32[3] collective-broadcast(p), replica_groups={{1,0}}\n"));
  CHECK(spread.unsupported.empty());
  const auto id = lowered(module_of("  ROOT r = u32[] replica-id()\n", ", replica_count=2"));
  CHECK(id.unsupported.empty());
  const auto draw =
      lowered(module_of("  l = f32[] constant(0)\n  h = f32[] constant(1)\n  ROOT r = f32[3] rng(l, h), distribution=rng_uniform\n"));
  CHECK(std::any_of(draw.graph.nodes.begin(), draw.graph.nodes.end(), [](const ir::Node& n) { return n.op == Op::Random; }));
}

TEST_CASE("branches that communicate are named, with the ranks that take them") {
  const std::string branches =
      "b0 {\n  a = f32[] parameter(0)\n  ROOT s = f32[] all-reduce(a), channel_id=1, use_global_device_ids=true, "
      "replica_groups={{0,1},{2,3}}, "
      "to_apply=add\n}\n\nb1 {\n  ROOT a.1 = f32[] parameter(0)\n}\n\n";
  const std::string chosen = "  ROOT r = f32[] conditional(i, x, x), true_computation=b0, false_computation=b1\n",
                    x = "  x = f32[] parameter(0)\n";
  SUBCASE("on data") {
    const auto p = lowered(module_of(x + "  i = pred[] parameter(1)\n" + chosen, ", num_partitions=4", branches));
    CHECK(p.unsupported.empty());
    REQUIRE(p.branches.size() == 1);
    CHECK(p.branches[0].taken.empty());
    CHECK(p.branches[0].condition < p.branches[0].begin);
    for (ir::NodeId id = 0; id < p.graph.nodes.size(); ++id)
      CHECK((p.graph[id].op == Op::AllReduce) <= (p.branches[0].begin <= id && id < p.branches[0].end));
  }
  SUBCASE("on the rank") {
    const auto p = lowered(
        module_of(x + "  k = u32[] partition-id()\n  two = u32[] constant(2)\n  i = pred[] compare(k, two), direction=GE\n" + chosen,
                  ", num_partitions=4", branches));
    CHECK(p.unsupported.empty());
    REQUIRE(p.branches.size() == 1);
    CHECK(p.branches[0].taken == std::vector<char>{0, 0, 1, 1});
    const auto open = lowered(module_of(
        x + "  k = u32[] partition-id()\n  two = u32[] constant(2)\n  i = pred[] compare(k, two), direction=GE\n" + chosen, "", branches));
    REQUIRE(open.branches.size() == 1);
    REQUIRE(open.branches[0].taken.size() > 4);
    CHECK(open.branches[0].taken[1] == 0);
    CHECK(open.branches[0].taken[4] == 1);
  }
  SUBCASE("what draws is not selected from") {
    const auto p = lowered(module_of(x + "  i = pred[] parameter(1)\n" + chosen, "",
                                     "b0 {\n  a = f32[] parameter(0)\n  l = f32[] constant(0)\n  ROOT s = f32[] rng(l, a), "
                                     "distribution=rng_uniform\n}\n\nb1 {\n  ROOT a.1 = f32[] parameter(0)\n}\n\n"));
    CHECK(p.unsupported.size() == 1);
    CHECK(p.branches.empty());
  }
}

TEST_CASE("roundings to 8 bits stay apart by their format") {
  const auto attrs = [](const std::string& format) {
    const auto p = lowered(module_of("  p = f32[4] parameter(0)\n  ROOT r = " + format + "[4] convert(p)\n"));
    REQUIRE(p.unsupported.size() == 1);
    return p.graph[p.unsupported[0].node].attrs;
  };
  CHECK(attrs("f8e4m3fn") != attrs("f8e5m2"));
}

}  // namespace
}  // namespace shardproof
