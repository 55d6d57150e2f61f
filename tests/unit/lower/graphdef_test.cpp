// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What is particular to graphs: groups of collectives, results, variables, calls, refusals. Values are tested in graphdef_tf_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "lower/graphdef.h"

namespace shardproof {
namespace {

struct NoConstants : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return std::nullopt; }
};

Result<frontend::Program> lower(const std::string& text, const lower::InputShapes& shapes = {}) {
  auto module = graphdef::read(text, "g.pbtxt");
  if (!module.ok()) FAIL(module.error().message);
  return lower::lower_graphdef(*module, NoConstants{}, shapes);
}

frontend::Program ok(const std::string& text, const lower::InputShapes& shapes = {}) {
  auto program = lower(text, shapes);
  if (!program.ok()) FAIL(program.error().message);
  for (ir::NodeId k = 0; k < program->graph.nodes.size(); ++k) CHECK(ir::verify(program->graph, k) == "");
  return std::move(*program);
}

std::string refusal(const std::string& text) {
  auto program = lower(text);
  REQUIRE_FALSE(program.ok());
  return program.error().message;
}

std::string placeholder(const std::string& name, const std::string& dims, const std::string& type = "DT_FLOAT") {
  std::string shape;
  for (size_t start = 0; start < dims.size();) {
    size_t comma = std::min(dims.find(',', start), dims.size());
    shape += "dim { size: " + dims.substr(start, comma - start) + " } ";
    start = comma + 1;
  }
  return "node { name: \"" + name + "\" op: \"Placeholder\" attr { key: \"dtype\" value { type: " + type +
         " } } attr { key: \"shape\" value { shape { " + shape + "} } } }\n";
}
std::string number(const std::string& name, int v) {
  return "node { name: \"" + name +
         "\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: " + std::to_string(v) +
         " } } } }\n";
}
std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs, const std::string& attrs = "") {
  std::string out = "node { name: \"" + name + "\" op: \"" + op + "\" ";
  for (const std::string& i : inputs) out += "input: \"" + i + "\" ";
  return out + attrs + "}\n";
}
std::string attr_s(const std::string& key, const std::string& v) { return "attr { key: \"" + key + "\" value { s: \"" + v + "\" } } "; }

const ir::Node& only(const frontend::Program& p, ir::Op op) {
  const ir::Node* found = nullptr;
  for (const ir::Node& n : p.graph.nodes) {
    if (n.op != op) continue;
    REQUIRE(found == nullptr);
    found = &n;
  }
  REQUIRE(found != nullptr);
  return *found;
}

TEST_CASE("a collective's group is named by its key") {
  frontend::Program p =
      ok(placeholder("x", "4,2") + number("size", 4) + number("key", 17) + placeholder("instance", "", "DT_INT32") +
         node("r", "CollectiveReduceV2", {"x", "size", "key", "instance"}, attr_s("merge_op", "Add") + attr_s("final_op", "Id")) +
         node("Identity", "Identity", {"r"}));
  const ir::Node& r = only(p, ir::Op::AllReduce);
  CHECK(r.fn == ir::Fn::Add);
  CHECK(r.group->kind == ir::GroupRef::Kind::Name);
  CHECK(r.group->name == "17");
  CHECK(r.group->size == 4);
  CHECK(p.kind == frontend::Program::Kind::Spmd);
  REQUIRE(p.inputs.size() == 2);
  CHECK(p.inputs[1].node == ir::kNoNode);  // a key of the collective is no input
  REQUIRE(p.outputs.size() == 1);
  CHECK(p.outputs[0].name == "Identity");
}

TEST_CASE("means, maxima, first version, communicators, replica lists") {
  auto reduce = [](const std::string& merge, const std::string& final_op) {
    return ok(placeholder("x", "4") + number("n", 2) + number("k", 1) + number("i", 1) +
              node("r", "CollectiveReduceV2", {"x", "n", "k", "i"}, attr_s("merge_op", merge) + attr_s("final_op", final_op)) +
              node("Identity", "Identity", {"r"}));
  };
  CHECK(only(reduce("Add", "Div"), ir::Op::AllReduce).a == std::vector<int64_t>{1});
  CHECK(only(reduce("Max", "Id"), ir::Op::AllReduce).fn == ir::Fn::Max);
  frontend::Program first = ok(placeholder("x", "4") +
                               node("r", "CollectiveReduce", {"x"},
                                    attr_s("merge_op", "Min") + attr_s("final_op", "Id") +
                                        "attr { key: \"group_size\" value { i: 8 } } attr { key: \"group_key\" value { i: 3 } } ") +
                               node("Identity", "Identity", {"r"}));
  CHECK(only(first, ir::Op::AllReduce).group->name == "3");
  CHECK(only(first, ir::Op::AllReduce).group->size == 8);
  frontend::Program third =
      ok(placeholder("x", "4") + number("k", 5) + number("me", 0) + number("n", 2) +
         node("c", "CollectiveInitializeCommunicator", {"k", "me", "n"}) +
         "node { name: \"g\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } dim { "
         "size: 0 } } } } } }\n" +
         node("r", "CollectiveReduceV3", {"x", "c", "g"}, attr_s("reduction", "Mean")) + node("Identity", "Identity", {"r"}));
  CHECK(only(third, ir::Op::AllReduce).group->name == "5");
  CHECK(only(third, ir::Op::AllReduce).a == std::vector<int64_t>{1});
  frontend::Program xla = ok(placeholder("x", "4") +
                             "node { name: \"g\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { dim { "
                             "size: 2 } dim { size: 2 } } int_val: [0, 2, 1, 3] } } } }\n" +
                             node("r", "CrossReplicaSum", {"x", "g"}) + node("Identity", "Identity", {"r"}));
  CHECK(only(xla, ir::Op::AllReduce).group->kind == ir::GroupRef::Kind::Replicas);
  CHECK(only(xla, ir::Op::AllReduce).group->members == std::vector<std::vector<int64_t>>{{0, 2}, {1, 3}});
  CHECK(refusal(placeholder("x", "4") + number("n", 2) + placeholder("k", "", "DT_INT32") + number("i", 1) +
                node("r", "CollectiveReduceV2", {"x", "n", "k", "i"}, attr_s("merge_op", "Add")) + node("Identity", "Identity", {"r"}))
            .find("no tensor") != std::string::npos);
}

TEST_CASE("results are the last Identity nodes; what tracing leaves unread is noted") {
  frontend::Program p = ok(placeholder("x", "4") + node("Identity", "Identity", {"x"}) + node("n", "Neg", {"x"}) + node("e", "Exp", {"x"}) +
                           node("Identity_1", "Identity", {"n"}) + node("Identity_2", "Identity", {"e"}) + node("NoOp", "NoOp", {"^n"}));
  REQUIRE(p.outputs.size() == 2);
  CHECK(p.outputs[0].name == "Identity_1");
  CHECK(p.outputs[1].name == "Identity_2");
  REQUIRE(p.notes.size() == 1);
  CHECK(p.notes[0].find("'Identity'") != std::string::npos);
  // Without Identity nodes: whatever nobody reads.
  frontend::Program q = ok(placeholder("x", "4") + node("n", "Neg", {"x"}) + node("e", "Exp", {"n"}));
  REQUIRE(q.outputs.size() == 1);
  CHECK(q.outputs[0].name == "e");
}

TEST_CASE("variables: shapes from the caller, updates as outputs, order by control dependencies") {
  const std::string handle =
      "node { name: \"v\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_RESOURCE } } attr { key: \"shape\" value { shape { } "
      "} } }\n";
  const std::string f32 = "attr { key: \"dtype\" value { type: DT_FLOAT } } ";
  const std::string reads = placeholder("x", "4") + handle + node("r", "ReadVariableOp", {"v"}, f32) + node("s", "AddV2", {"x", "r"});
  auto module = graphdef::read(reads + node("Identity", "Identity", {"s"}), "g");
  CHECK(lower::inputs_without_shape(*module) == std::vector<std::string>{"v"});
  CHECK(refusal(reads + node("Identity", "Identity", {"s"})).find("add_shapes=True") != std::string::npos);
  frontend::Program p = ok(
      reads + node("a", "AssignVariableOp", {"v", "s", "^r"}) + node("Identity", "Identity", {"s", "^NoOp"}) + node("NoOp", "NoOp", {"^a"}),
      {{"v", {4}}});
  REQUIRE(p.outputs.size() == 2);
  CHECK(p.outputs[1].name == "mut:v");
  CHECK(p.outputs[1].mutated_input == "v");
  CHECK(p.outputs[1].node == p.outputs[0].node);
  CHECK(p.inputs[1].name == "v");
  CHECK(p.graph[p.inputs[1].node].op == ir::Op::Input);
  // A read and a write in no order: the result would depend on the scheduler.
  auto racy = lower(placeholder("x", "4") + handle + node("r", "ReadVariableOp", {"v"}, f32) + node("a", "AssignVariableOp", {"v", "x"}) +
                        node("Identity", "Identity", {"r"}),
                    {{"v", {4}}});
  REQUIRE_FALSE(racy.ok());
  CHECK(racy.error().code == "SP256");
}

TEST_CASE("refusals") {
  CHECK(refusal(placeholder("x", "4") + node("u", "SomeNewOp", {"x"}) + node("Identity", "Identity", {"u"})).find("SomeNewOp") !=
        std::string::npos);
  // With its shape stated it is an unknown function, and listed.
  frontend::Program p = ok(
      placeholder("x", "4") +
      node("u", "SomeNewOp", {"x"},
           "attr { key: \"T\" value { type: DT_FLOAT } } attr { key: \"_output_shapes\" value { list { shape { dim { size: 2 } } } } } ") +
      node("Identity", "Identity", {"u"}));
  CHECK(p.unsupported.size() == 1);
  CHECK(only(p, ir::Op::Opaque).name == "tf.SomeNewOp");
  CHECK(refusal(placeholder("x", "4,3") + placeholder("y", "4,3") + node("m", "MatMul", {"x", "y"}) + node("Identity", "Identity", {"m"}))
            .find("3 and 4") != std::string::npos);
  CHECK(refusal(placeholder("x", "4") + placeholder("s", "1", "DT_INT32") + node("r", "Reshape", {"x", "s"}) +
                node("Identity", "Identity", {"r"}))
            .find("depends on the program's inputs") != std::string::npos);
  CHECK(refusal(
            "library { function { signature { name: \"f\" input_arg { name: \"a\" type: DT_FLOAT } output_arg { name: \"r\" type: DT_FLOAT "
            "} } node_def { name: \"c\" op: \"PartitionedCall\" input: \"a\" attr { key: \"f\" value { func { name: \"f\" } } } } "
            "ret { key: \"r\" value: \"c:output:0\" } } }\n" +
            placeholder("x", "4") + node("c", "PartitionedCall", {"x"}, "attr { key: \"f\" value { func { name: \"f\" } } } ") +
            node("Identity", "Identity", {"c"}))
            .find("calls itself") != std::string::npos);
}

TEST_CASE("gathers, scatters and exchanges of all versions; replicas; draws") {
  const std::string keys = number("n", 2) + number("k", 6) + number("i", 1), end = node("Identity", "Identity", {"r"});
  const auto keyed = [&](const std::string& op, const std::string& attrs = "") {
    return ok(placeholder("x", "4,3") + keys + node("r", op, {"x", "n", "k", "i"}, attrs) + end);
  };
  for (const char* op : {"CollectiveGatherV2", "CollectiveAllToAllV2"}) {
    frontend::Program p = keyed(op);
    const ir::Node& n = only(p, op == std::string("CollectiveGatherV2") ? ir::Op::AllGather : ir::Op::AllToAll);
    CHECK(n.group->name == "6");
    CHECK(n.group->size == 2);
    CHECK(n.a[0] == 0);
    CHECK(n.shape == (n.op == ir::Op::AllGather ? ir::Shape{8, 3} : ir::Shape{4, 3}));
  }
  const std::string mean = attr_s("merge_op", "Add") + attr_s("final_op", "Div");
  CHECK(only(keyed("CollectiveReduceScatterV2", mean), ir::Op::ReduceScatter).a == std::vector<int64_t>{1, 0});
  CHECK(only(keyed("CollectiveReduceScatterV2", mean), ir::Op::ReduceScatter).shape == ir::Shape{2, 3});
  frontend::Program first =
      ok(placeholder("x", "4,3") +
         node("r", "CollectiveGather", {"x"}, "attr { key: \"group_size\" value { i: 3 } } attr { key: \"group_key\" value { i: 9 } } ") +
         end);
  CHECK(only(first, ir::Op::AllGather).shape == ir::Shape{12, 3});
  CHECK(only(first, ir::Op::AllGather).group->name == "9");
  const std::string everyone =
      "node { name: \"g\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } dim { "
      "size: 0 } } } } } }\n";
  frontend::Program third =
      ok(placeholder("x", "4,3") + number("k", 5) + number("me", 0) + number("n", 2) + everyone +
         node("c", "CollectiveInitializeCommunicator", {"k", "me", "n"}) + node("r", "CollectiveAllToAllV3", {"x", "c", "g"}) + end);
  CHECK(only(third, ir::Op::AllToAll).group->name == "5");
  CHECK(only(third, ir::Op::AllToAll).a == std::vector<int64_t>{0, 0});

  const std::string pairs =
      "node { name: \"g\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } dim { "
      "size: 2 } } int_val: [0, 2, 1, 3] } } } }\n";
  const auto replicas = [&](const std::string& op, std::vector<std::string> inputs, const std::string& attrs) {
    return ok(placeholder("x", "4,6") + pairs + number("one", 1) + node("r", op, inputs, attrs) + end);
  };
  frontend::Program sum = replicas("XlaAllReduce", {"x", "g"}, attr_s("reduce_op", "Max") + attr_s("mode", "CrossReplica"));
  CHECK(only(sum, ir::Op::AllReduce).fn == ir::Fn::Max);
  CHECK(only(sum, ir::Op::AllReduce).group->members == std::vector<std::vector<int64_t>>{{0, 2}, {1, 3}});
  frontend::Program scatter = replicas("XlaReduceScatter", {"x", "g", "one"}, attr_s("reduce_op", "Mean"));
  CHECK(only(scatter, ir::Op::ReduceScatter).a == std::vector<int64_t>{1, 1});
  CHECK(only(scatter, ir::Op::ReduceScatter).shape == ir::Shape{4, 3});
  frontend::Program exchange =
      replicas("AllToAll", {"x", "g"},
               "attr { key: \"split_dimension\" value { i: 1 } } attr { key: \"concat_dimension\" value { i: 0 } } "
               "attr { key: \"split_count\" value { i: 2 } } ");
  CHECK(only(exchange, ir::Op::AllToAll).a == std::vector<int64_t>{1, 0});
  CHECK(only(exchange, ir::Op::AllToAll).shape == ir::Shape{8, 3});
  frontend::Program sent = replicas("CollectivePermute", {"x", "g"}, "");
  CHECK(only(sent, ir::Op::Permute).b == std::vector<int64_t>{0, 2, 1, 3});
  frontend::Program id = ok(node("r", "XlaReplicaId", {}) + end);
  CHECK(only(id, ir::Op::RankId).a == std::vector<int64_t>{1});

  const std::string shape =
      "node { name: \"s\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: "
      "[3, 5] } } } }\n";
  for (const char* op : {"RandomUniform", "RandomStandardNormal"}) {
    frontend::Program draw = ok(shape + node("r", op, {"s"}, "attr { key: \"dtype\" value { type: DT_FLOAT } } ") + end);
    CHECK(only(draw, ir::Op::Random).shape == ir::Shape{3, 5});
    CHECK(only(draw, ir::Op::Random).name == (op == std::string("RandomUniform") ? "uniform" : "normal"));
  }
  frontend::Program returned = ok(placeholder("x", "4") + node("d", "DebugIdentity", {"x"}) + node("r", "Neg", {"d"}) +
                                  node("back", "_Retval", {"r"}, "attr { key: \"index\" value { i: 0 } } "));
  REQUIRE(returned.outputs.size() == 1);
  CHECK(returned.graph[returned.outputs[0].node].fn == ir::Fn::Neg);
}

}  // namespace
}  // namespace shardproof
