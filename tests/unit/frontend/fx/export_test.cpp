// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// torch.export's JSON and .pt2 archives, on documents written for the tests by the rules of the schema.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "frontend/fx/json_access.h"
#include "frontend/fx/module.h"
#include "frontend/fx/zip.h"
#include "unit/frontend/fx/zip_writer.h"

using namespace shardproof;      // NOLINT
using namespace shardproof::fx;  // NOLINT
using Kind = Arg::Kind;

namespace {

const char* const kMeta = R"({"dtype":7,"sizes":[{"as_int":2},{"as_int":4}],"requires_grad":false,"device":{"type":"cpu","index":null},
  "strides":[{"as_int":4},{"as_int":1}],"storage_offset":{"as_int":0},"layout":7})";

std::string meta(const std::string& sizes, int dtype = 7) {
  return R"({"dtype":)" + std::to_string(dtype) + R"(,"sizes":[)" + sizes + "]}";
}

// An ExportedProgram around nodes; inputs x (a tensor) and w (a parameter).
std::string program(const std::string& nodes, const std::string& outputs = R"({"as_tensor":{"name":"x"}})",
                    const std::string& output_specs = R"({"user_output":{"arg":{"as_tensor":{"name":"x"}}}})",
                    const std::string& values = "") {
  return R"({"graph_module":{"graph":{"inputs":[{"as_tensor":{"name":"p_w"}},{"as_tensor":{"name":"x"}}],"outputs":[)" + outputs +
         R"(],"nodes":[)" + nodes + R"(],"tensor_values":{"x":)" + kMeta + R"(,"p_w":)" + kMeta + values +
         R"J(},"sym_int_values":{"n":{"as_expr":{"expr_str":"Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
  "hint":{"as_int":6}}}},
  "sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},"sym_float_values":{}},
 "signature":{"input_specs":[{"parameter":{"arg":{"name":"p_w"},"parameter_name":"w"}},{"user_input":{"arg":{"as_tensor":{"name":"x"}}}}],
 "output_specs":[)J" +
         output_specs +
         R"(]},"module_call_graph":[]},"opset_version":{"aten":10},"range_constraints":{},"schema_version":{"major":8,"minor":20}})";
}

std::string node(const std::string& target, const std::string& inputs, const std::string& outputs, const std::string& name,
                 const std::string& trace = "") {
  return R"({"target":")" + target + R"(","inputs":[)" + inputs + R"(],"outputs":[)" + outputs + R"(],"metadata":{"stack_trace":")" +
         trace + R"("},"is_hop_single_tensor_return":null,"name":)" + (name.empty() ? "null" : "\"" + name + "\"") + "}";
}

std::string argument(const std::string& name, const std::string& arg, int kind = 1) {
  return R"({"name":")" + name + R"(","arg":)" + arg + R"(,"kind":)" + std::to_string(kind) + "}";
}

std::string tensor(const std::string& name) { return R"({"as_tensor":{"name":")" + name + R"("}})"; }

Module read(const std::string& json) {
  Result<Module> result = read_export_json(json, "m.json");
  if (!result) FAIL(result.error().message);
  return std::move(result.value());
}

Diagnostic error(const std::string& json) {
  const Result<Module> result = read_export_json(json, "m.json");
  REQUIRE(!result.ok());
  CHECK(result.error().file == "m.json");
  return result.error();
}

}  // namespace

TEST_CASE("export json: a node, its types, places and descriptors") {
  const Module m = read(program(node("torch.ops.aten.linear.default",
                                     argument("input", tensor("x")) + "," + argument("weight", tensor("p_w")), tensor("linear"), "linear",
                                     R"(  File \"/w/a b.py\", line 12, in forward\n    y = F.linear(x, self.w)\n)"
                                     R"(  File \"/w/tp.py\", line 3, in g\n    s = 'File \"no\", line 1, in h'\n)"),
                                tensor("linear"), R"({"user_output":{"arg":{"as_tensor":{"name":"linear"}}}})",
                                R"(,"linear":)" + meta(R"({"as_int":2})", 13)));
  const auto& v = m.graph.values;
  REQUIRE(v.size() == 3);
  CHECK(v[0].descriptor == "ParamAOTInput(target='w')");
  CHECK(v[1].descriptor == "PlainAOTInput(idx=0)");
  CHECK(v[1].type.shape == ir::Shape{2, 4});
  CHECK(v[2].op == Value::Op::Call);
  CHECK(v[2].target == "aten.linear.default");
  CHECK(v[2].args.size() == 2);
  CHECK(v[2].args[1].text == "p_w");
  CHECK(v[2].type.dtype == ir::DType::BF16);
  REQUIRE(v[2].file != nullptr);
  CHECK(*v[2].file == "/w/tp.py");
  CHECK(v[2].line == 3);
  REQUIRE(m.graph.outputs.size() == 1);
  CHECK(m.graph.outputs[0].value.text == "linear");
  CHECK(m.graph.outputs[0].descriptor == "PlainAOTOutput(idx=0)");
  CHECK(m.notes.empty());
}

TEST_CASE("export json: every kind of argument") {
  const std::pair<const char*, const char*> scalars[] = {{R"({"as_none":true})", "None"},
                                                         {R"({"as_int":9223372036854775807})", "int"},
                                                         {R"({"as_float":"-Infinity"})", "-inf"},
                                                         {R"({"as_float":0.5})", "0.5"},
                                                         {R"({"as_bool":true})", "bool"},
                                                         {R"({"as_string":"sum"})", "sum"},
                                                         {R"({"as_scalar_type":12})", "torch.bool"},
                                                         {R"({"as_scalar_type":35})", "torch.uint64"},
                                                         {R"({"as_memory_format":4})", "torch.preserve_format"},
                                                         {R"({"as_layout":7})", "torch.strided"},
                                                         {R"({"as_operator":"aten.add"})", "aten.add"},
                                                         {R"({"as_complex":{"real":1,"imag":-2.5}})", "1-2.5j"}};
  std::string list;
  for (const auto& [json, text] : scalars) list += (list.empty() ? "" : ",") + argument("a", json);
  const Module m = read(program(node("torch.ops.x.y.default", list, tensor("z"), "z")));
  const auto& args = m.graph.values[2].args;
  REQUIRE(args.size() == std::size(scalars));
  CHECK(args[0].kind == Kind::None);
  CHECK(args[1].i == INT64_MAX);
  CHECK(args[2].d == -INFINITY);
  CHECK(args[3].d == 0.5);
  CHECK(args[4].kind == Kind::Bool);
  CHECK(args[4].i == 1);
  CHECK(args[5].kind == Kind::String);
  for (size_t i = 6; i < 11; ++i) {
    CHECK(args[i].kind == Kind::Word);
    CHECK(args[i].text == scalars[i].second);
  }
  CHECK(args[11].kind == Kind::Symbol);
  CHECK(args[11].text == "1-2.5j");

  const Module lists = read(program(
      node("torch.ops.x.y.default",
           argument("a", R"({"as_ints":[1,-2]})") + "," + argument("a", R"({"as_floats":[1.5]})") + "," +
               argument("a", R"({"as_bools":[true,false]})") + "," + argument("a", R"({"as_strings":["p"]})") + "," +
               argument("a", R"({"as_tensors":[{"name":"x"},{"name":"p_w"}]})") + "," +
               argument("a", R"({"as_optional_tensors":[{"as_none":true},{"as_tensor":{"name":"x"}}]})") + "," +
               argument("a", R"({"as_int_lists":[[1],[2,3]]})") + "," + argument("a", R"({"as_nested_tensors":[[{"name":"x"}],[]]})") +
               "," + argument("a", R"({"as_sym_ints":[{"as_int":4},{"as_name":"x"}]})") + "," +
               argument("a", R"({"as_string_to_argument":{"k":{"as_int":1}}})") + "," +
               argument("a", R"({"as_optional_tensor":{"as_tensor":{"name":"x"}}})") + "," +
               argument("device", R"({"as_device":{"type":"cuda","index":1}})", 2),
           tensor("z"), "z")));
  const Value& v = lists.graph.values[2];
  REQUIRE(v.args.size() == 11);
  CHECK(v.args[0].items[1].i == -2);
  CHECK(v.args[2].items[0].kind == Kind::Bool);
  CHECK(v.args[4].items[1].text == "p_w");
  CHECK(v.args[5].items[0].kind == Kind::None);
  CHECK(v.args[5].items[1].kind == Kind::Name);
  CHECK(v.args[6].items[1].items[1].i == 3);
  CHECK(v.args[7].items[1].items.empty());
  CHECK(v.args[8].items[0].kind == Kind::Int);
  CHECK(v.args[8].items[1].kind == Kind::Name);
  CHECK(v.args[9].kind == Kind::Dict);
  CHECK(v.args[9].items[0].text == "k");
  CHECK(v.args[10].kind == Kind::Name);
  REQUIRE(v.kwargs.size() == 1);
  CHECK(v.kwargs[0].first == "device");
  CHECK(v.kwargs[0].second.kind == Kind::Call);
  CHECK(v.kwargs[0].second.items[3].i == 1);
}

TEST_CASE("export json: several results become the operator and its items") {
  const Module list = read(program(node("torch.ops.aten.split.Tensor", argument("self", tensor("x")),
                                        R"({"as_tensors":[{"name":"getitem"},{"name":"split_unused_1"},{"name":"getitem_2"}]})", "split")));
  REQUIRE(list.graph.values.size() == 5);
  CHECK(list.graph.values[2].name == "split");
  CHECK(!list.graph.values[2].type.known);
  CHECK(list.graph.values[3].op == Value::Op::GetItem);
  CHECK(list.graph.values[3].name == "getitem");
  CHECK(list.graph.values[4].args[0].text == "split");
  CHECK(list.graph.values[4].args[1].i == 2);
  // A tuple, of which an element is None and one a list.
  const Module tuple = read(program(node("torch.ops.aten.f.default", argument("self", tensor("x")),
                                         tensor("a") + R"(,{"as_none":true},{"as_tensors":[{"name":"b"}]})", "")));
  REQUIRE(tuple.graph.values.size() == 6);
  CHECK(tuple.graph.values[2].name == "f");  // made from the target
  CHECK(tuple.graph.values[3].name == "a");
  CHECK(tuple.graph.values[4].args[1].i == 2);
  CHECK(tuple.graph.values[5].name == "b");
  CHECK(tuple.graph.values[5].args[0].text == tuple.graph.values[4].name);
  CHECK(read(program(node("torch.ops.aten.sym_size.int", argument("self", tensor("x")), R"({"as_sym_int":{"as_name":"n"}})", "n")))
            .graph.values[2]
            .type.symbols == std::vector<std::string>{"2*s77"});
  CHECK(read(program(node("_operator.mul", argument("a", R"({"as_int":3})"), R"({"as_sym_int":{"as_name":"n"}})", "n")))
            .graph.values[2]
            .target == "operator.mul");
}

TEST_CASE("export json: graphs of higher-order operators") {
  const std::string inner = R"({"inputs":[{"as_tensor":{"name":"a0"}}],"outputs":[{"as_tensor":{"name":"s"}}],"nodes":[)" +
                            node("torch.ops.aten.sin.default", argument("self", tensor("a0")), tensor("s"), "s") +
                            R"(],"tensor_values":{"a0":)" + kMeta + R"(,"s":)" + kMeta +
                            R"(},"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":true})";
  const std::string graph = R"({"as_graph":{"name":"true_graph_0","graph":)" + inner + "}}";
  std::string cond = node("torch.ops.higher_order.cond", argument("", tensor("x")) + "," + argument("", graph) + "," + argument("", graph),
                          tensor("getitem"), "cond");
  cond.replace(cond.rfind("\"is_hop_single_tensor_return\":null"), 34, "\"is_hop_single_tensor_return\":false");
  const Module m = read(program(cond));
  REQUIRE(m.graph.values.size() == 5);
  CHECK(m.graph.values[2].op == Value::Op::GetAttr);
  CHECK(m.graph.values[2].target == "true_graph_0");
  CHECK(m.graph.values[3].name == "cond");
  CHECK(m.graph.values[3].args[1].text == "true_graph_0");
  CHECK(m.graph.values[3].args[2].text == "true_graph_0");
  CHECK(m.graph.values[4].name == "getitem");
  CHECK(m.graph.values[4].op == Value::Op::GetItem);
  REQUIRE(m.graph.submodules.size() == 1);
  CHECK(m.graph.submodules[0].second.values.size() == 2);
}

TEST_CASE("export json: old unions with nulls, plain sizes, arguments without a kind") {
  const Module m = read(R"({"graph_module":{"graph":{"inputs":[{"as_none":null,"as_tensor":{"name":"a"},"as_int":null}],
    "outputs":[{"as_none":null,"as_tensor":{"name":"b"}}],
    "nodes":[{"target":"executorch.exir.dialects.edge.ops.aten.mul.Tensor",
       "inputs":[{"name":"self","arg":{"as_tensor":{"name":"a"},"as_int":null}}],
              "outputs":[{"as_tensor":{"name":"b"},"as_int":null}],"metadata":{}}],
    "tensor_values":{"a":{"meta":{"dtype":7,"sizes":[{"as_expr":null,"as_int":3}],"storage_offset":0}}},"sym_int_values":{}},
    "signature":{"input_specs":[{"user_input":{"arg":{}},"parameter":null}],
    "output_specs":[{"user_output":{"arg":{}},"loss_output":null}]}},"schema_version":1})");
  REQUIRE(m.graph.values.size() == 2);
  CHECK(m.graph.values[0].type.shape == ir::Shape{3});
  CHECK(m.graph.values[1].target == "aten.mul.Tensor");
  CHECK(m.graph.values[1].args.empty());
  REQUIRE(m.graph.values[1].kwargs.size() == 1);
  CHECK(m.graph.values[1].kwargs[0].first == "self");
  REQUIRE(m.notes.size() == 1);
  CHECK(m.notes[0].find("schema version 1") != std::string::npos);
}

TEST_CASE("export json: outputs and what they are") {
  const Module m = read(program("", tensor("x") + "," + tensor("p_w") + R"(,{"as_none":true},{"as_int":6},)" + tensor("x"),
                                R"({"buffer_mutation":{"arg":{"name":"x"},"buffer_name":"b"}},
                                   {"gradient_to_parameter":{"arg":{"name":"p_w"},"parameter_name":"w"}},
                                   {"user_output":{"arg":{"as_none":true}}},{"user_output":{"arg":{"as_int":6}}},
                                   {"user_input_mutation":{"arg":{"name":"x"},"user_input_name":"x"}})"));
  REQUIRE(m.graph.outputs.size() == 5);
  CHECK(m.graph.outputs[0].descriptor == "InputMutationAOTOutput(mutated_input=BufferAOTInput(target='b'))");
  CHECK(m.graph.outputs[1].descriptor == "GradAOTOutput(grad_of=ParamAOTInput(target='w'))");
  CHECK(m.graph.outputs[2].value.kind == Kind::None);
  CHECK(m.graph.outputs[2].descriptor == "PlainAOTOutput(idx=0)");
  CHECK(m.graph.outputs[3].value.i == 6);
  CHECK(m.graph.outputs[3].descriptor == "PlainAOTOutput(idx=1)");
  CHECK(m.graph.outputs[4].descriptor == "InputMutationAOTOutput(mutated_input=PlainAOTInput(idx=0))");
}

TEST_CASE("export json: errors name the place") {
  CHECK(error("{\n \"a\": ]").line == 2);
  CHECK(error("{\n \"a\": ]").column == 7);
  CHECK(error("").code == "SP220");
  CHECK(error("[]").code == "SP213");
  CHECK(error(R"({"graph_module":{}})").code == "SP213");
  const auto one = [](const std::string& inputs, const std::string& outputs) {
    return program(node("torch.ops.a.b.c", inputs, outputs, "z"));
  };
  Diagnostic e = error(one(argument("a", tensor("q")), tensor("z")));
  CHECK(e.code == "SP221");
  CHECK(e.message.find("graph.nodes[0].inputs[0].arg") != std::string::npos);
  CHECK(e.message.find("'q'") != std::string::npos);
  CHECK(error(one(argument("a", R"({"as_tensor":{"name":"x"},"as_int":1})"), tensor("z"))).message.find("both") != std::string::npos);
  CHECK(error(one(argument("a", R"({"as_new":1})"), tensor("z"))).message.find("as_new") != std::string::npos);
  CHECK(error(one(argument("a", R"({"as_int":1.5})"), tensor("z"))).message.find("integer") != std::string::npos);
  CHECK(error(one(argument("a", R"({"as_int":18446744073709551615})"), tensor("z"))).message.find("integer") != std::string::npos);
  CHECK(error(one(argument("a", R"({"as_scalar_type":99})"), tensor("z"))).message.find("99") != std::string::npos);
  CHECK(error(one("", tensor("x"))).message.find("second time") != std::string::npos);
  CHECK(error(one("", R"({"as_graph":5})")).message.find("not supported") != std::string::npos);
  CHECK(error(one(argument("a", R"({"as_int":1})", 2) + "," + argument("b", R"({"as_int":1})"), tensor("z"))).message.find("positional") !=
        std::string::npos);
  CHECK(error(program("", tensor("q"))).message.find("graph.outputs[0]") != std::string::npos);
  CHECK(error(program("", tensor("x") + "," + tensor("x"))).message.find("1 entries for 2") != std::string::npos);
  // A malformed type is an error when the value is met.
  CHECK(error(program(node("torch.ops.a.b.c", "", tensor("y"), "y"), tensor("x"), R"({"user_output":{}})", R"(,"y":{"dtype":7})"))
            .message.find("tensor_values.y") != std::string::npos);
}

TEST_CASE("export json: symbolic sizes in the notation of FX text") {
  CHECK(readable_expression("Symbol('s0', positive=True, integer=True)") == "s0");
  CHECK(readable_expression("Add(Symbol('u0', integer=True), Integer(1))") == "u0 + 1");
  CHECK(readable_expression("Add(Symbol('u0'), Integer(-1))") == "u0 - 1");
  CHECK(readable_expression("Mul(Integer(2), Add(Symbol('a'), Symbol('b')))") == "2*(a + b)");
  CHECK(readable_expression("Mul(Integer(-1), Symbol('a'))") == "-a");
  CHECK(readable_expression("Pow(Symbol('s0'), Integer(2))") == "s0**2");
  CHECK(readable_expression("FloorDiv(Add(Symbol('u0'), Integer(7)), Integer(8))") == "((u0 + 7)//8)");
  CHECK(readable_expression("Max(Integer(1), Symbol('s0'))") == "Max(1, s0)");
  CHECK(readable_expression("GreaterThan(Symbol('u0', integer=True), Integer(0))") == "u0 >= 0");
  CHECK(readable_expression("s0 + 1") == "s0 + 1");  // older files write plain text
  CHECK(readable_expression("Add(") == "Add(");
  CHECK(readable_expression(std::string(100000, '(')).size() == 100000);
}
