// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// FX readable text: one test for each feature of each dialect. The texts are small and written for the test in the form that torch prints.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "frontend/fx/module.h"

using namespace shardproof;      // NOLINT
using namespace shardproof::fx;  // NOLINT
using Kind = Arg::Kind;

namespace {

Module read(const std::string& text) {
  Result<Module> result = read_text(text, "t.txt");
  if (!result) {
    const Diagnostic& e = result.error();
    FAIL("line " << e.line << " column " << e.column << ": " << e.message);
  }
  return std::move(result.value());
}

// A class with one statement in its body.
std::string body(const std::string& statements, const std::string& parameters = "a: \"f32[2, 3]\", b: \"f32[2, 3]\"",
                 const std::string& returned = "(a,)") {
  return "class GraphModule(torch.nn.Module):\n    def forward(self, " + parameters + "):\n        " + statements + "\n        return " +
         returned + "\n";
}

// The last value.
Value last(const std::string& statements) {
  Module module = read(body(statements));
  REQUIRE(!module.graph.values.empty());
  return module.graph.values.back();
}

Diagnostic error(const std::string& text) {
  Result<Module> result = read_text(text, "t.txt");
  REQUIRE(!result.ok());
  CHECK(result.error().file == "t.txt");
  CHECK(!result.error().message.empty());
  return result.error();
}

}  // namespace

TEST_CASE("fx text: placeholders of a plain signature carry their types") {
  const Module m = read(
      "class <lambda>(torch.nn.Module):\n"
      "    def forward(self, w: \"f32[42, 60][60, 1]cpu\", n: \"i64[][]cuda:0\", e: \"bf16[0]\", mesh, s: \"Sym(s0 + 1)\"):\n"
      "        return (w,)\n");
  REQUIRE(m.graph.values.size() == 5);
  CHECK(m.graph.name == "<lambda>");
  const auto& v = m.graph.values;
  for (const Value& value : v) CHECK(value.op == Value::Op::Placeholder);
  CHECK(v[0].type.dtype == ir::DType::F32);
  CHECK(v[0].type.shape == ir::Shape{42, 60});
  CHECK(v[1].type.dtype == ir::DType::I64);
  CHECK(v[1].type.shape.empty());
  CHECK(v[2].type.shape == ir::Shape{0});
  CHECK(v[2].type.dtype == ir::DType::BF16);
  CHECK(!v[3].type.known);
  CHECK(v[3].name == "mesh");
  CHECK(v[4].type.is_sym);
  CHECK(v[4].type.symbols == std::vector<std::string>{"s0 + 1"});
}

TEST_CASE("fx text: every element type") {
  const std::pair<const char*, ir::DType> types[] = {{"f32", ir::DType::F32},     {"f64", ir::DType::F64},   {"f16", ir::DType::F16},
                                                     {"bf16", ir::DType::BF16},   {"i8", ir::DType::I8},     {"i16", ir::DType::I16},
                                                     {"i32", ir::DType::I32},     {"i64", ir::DType::I64},   {"u8", ir::DType::U8},
                                                     {"u16", ir::DType::U16},     {"u32", ir::DType::U32},   {"u64", ir::DType::U64},
                                                     {"b8", ir::DType::Bool},     {"c64", ir::DType::C64},   {"c128", ir::DType::C128},
                                                     {"f8e4m3fn", ir::DType::F8}, {"f8e5m2", ir::DType::F8}, {"c32", ir::DType::Invalid}};
  for (const auto& [name, type] : types) {
    CAPTURE(name);
    const Module m = read(body("pass", std::string("a: \"") + name + "[7]\""));
    CHECK(m.graph.values[0].type.known);
    CHECK(m.graph.values[0].type.dtype == type);
  }
}

TEST_CASE("fx text: symbolic sizes stay text") {
  const Module m = read(body("pass", "a: \"f32[s22, 10]\", b: \"f32[2*s0, Max(1, s0), ((u0 + 7)//8)][4, 1, 1]cpu\""));
  const TensorType& a = m.graph.values[0].type;
  CHECK(a.symbolic);
  CHECK(a.shape == ir::Shape{-1, 10});
  CHECK(a.symbols == std::vector<std::string>{"s22", ""});
  const TensorType& b = m.graph.values[1].type;
  CHECK(b.symbols == std::vector<std::string>{"2*s0", "Max(1, s0)", "((u0 + 7)//8)"});
}

TEST_CASE("fx text: DTensor and other wrappers") {
  const Module m = read(body("pass", "a: \"DTensor(f32[8, 16], S(0)R)\", b: \"Wrapper(DTensor(f32[4][1]cpu, _S(0, 2)P(sum)))\""));
  CHECK(m.graph.values[0].type.sharding == "S(0)R");
  CHECK(m.graph.values[0].type.shape == ir::Shape{8, 16});
  // "_S(0, 2)" holds a comma within parentheses.
  CHECK(m.graph.values[1].type.sharding == "_S(0, 2)P(sum)");
  CHECK(m.graph.values[1].type.shape == ir::Shape{4});
}

TEST_CASE("fx text: an annotation that is not understood is a note, not a type") {
  const Module m = read(body("pass", "a: \"quaternion[3]\""));
  CHECK(!m.graph.values[0].type.known);
  REQUIRE(m.notes.size() == 1);
  CHECK(m.notes[0].find("quaternion[3]") != std::string::npos);
  CHECK(m.notes[0].find("line 2") != std::string::npos);
}

TEST_CASE("fx text: a call with positional and keyword arguments") {
  const Value v = last(
      "z: \"f32[2]\" = torch.ops.aten.zeros.default([2, -1], dtype = torch.int32, device = device(type='cuda', index=0), pin_memory = "
      "False)");
  CHECK(v.op == Value::Op::Call);
  CHECK(v.name == "z");
  CHECK(v.target == "aten.zeros.default");
  REQUIRE(v.args.size() == 1);
  CHECK(v.args[0].kind == Kind::List);
  REQUIRE(v.args[0].items.size() == 2);
  CHECK(v.args[0].items[1].i == -1);
  REQUIRE(v.kwargs.size() == 3);
  CHECK(v.kwargs[0].first == "dtype");
  CHECK(v.kwargs[0].second.kind == Kind::Word);
  CHECK(v.kwargs[0].second.text == "torch.int32");
  const Arg& device = v.kwargs[1].second;
  CHECK(device.kind == Kind::Call);
  CHECK(device.text == "device");
  CHECK(device.positional == 0);
  REQUIRE(device.items.size() == 4);
  CHECK(device.items[0].text == "type");
  CHECK(device.items[1].text == "cuda");
  CHECK(device.items[3].i == 0);
  CHECK(v.kwargs[2].second.kind == Kind::Bool);
  CHECK(v.kwargs[2].second.i == 0);
}

TEST_CASE("fx text: literals") {
  const Value v = last(
      "z = torch.ops.aten.f.default(1e-05, -100, 9223372036854775807, -9223372036854775808, inf, -inf, nan, None, True, 0.5, -0.0, "
      "'a\\'b', "
      "\"it's\", '\\x41\\n\\u00e9', (), (1,), (a), {'k': [a], 2: None}, torch.preserve_format, slice(None, 2, None), ..., 1e+20)");
  REQUIRE(v.args.size() == 22);
  CHECK(v.args[0].kind == Kind::Float);
  CHECK(v.args[0].d == 1e-05);
  CHECK(v.args[1].i == -100);
  CHECK(v.args[2].i == INT64_MAX);
  CHECK(v.args[3].i == INT64_MIN);
  CHECK(v.args[4].d == INFINITY);
  CHECK(v.args[5].d == -INFINITY);
  CHECK(v.args[5].kind == Kind::Float);
  CHECK(std::isnan(v.args[6].d));
  CHECK(v.args[7].kind == Kind::None);
  CHECK(v.args[8].i == 1);
  CHECK(v.args[9].d == 0.5);
  CHECK(std::signbit(v.args[10].d));
  CHECK(v.args[11].text == "a'b");
  CHECK(v.args[12].text == "it's");
  CHECK(v.args[13].text == "A\n\xC3\xA9");
  CHECK(v.args[14].kind == Kind::Tuple);
  CHECK(v.args[14].items.empty());
  CHECK(v.args[15].kind == Kind::Tuple);
  CHECK(v.args[15].items.size() == 1);
  CHECK(v.args[16].kind == Kind::Name);
  CHECK(v.args[17].kind == Kind::Dict);
  REQUIRE(v.args[17].items.size() == 4);
  CHECK(v.args[17].items[1].items[0].text == "a");
  CHECK(v.args[18].text == "torch.preserve_format");
  CHECK(v.args[19].kind == Kind::Call);
  CHECK(v.args[19].positional == 3);
  CHECK(v.args[20].text == "...");
  CHECK(v.args[21].d == 1e20);
}

TEST_CASE("fx text: integers beyond 64 bits and complex numbers are kept as text") {
  const Value v = last("z = torch.ops.aten.f.default(18446744073709551615, 2j, (1+2j))");
  CHECK(v.args[0].kind == Kind::Symbol);
  CHECK(v.args[0].text == "18446744073709551615");
  CHECK(v.args[1].kind == Kind::Word);
  CHECK(v.args[1].text == "2j");
  CHECK(v.args[2].kind == Kind::Symbol);
}

TEST_CASE("fx text: symbolic expressions as arguments") {
  const Module m = read(body("z = torch.ops.aten.view.default(a, [s0, 2*s0, (s0 + 1)//2, -s0, n * 4, Max(1, s0) + 1]);  a = None",
                             "a: \"f32[s0]\", n: \"Sym(s1)\"", "(z,)"));
  const Arg& list = m.graph.values.back().args[1];
  REQUIRE(list.items.size() == 6);
  const char* expected[] = {"s0", "2*s0", "(s0 + 1)//2", "-s0", "n * 4", "Max(1, s0) + 1"};
  for (size_t i = 0; i < 6; ++i) {
    CHECK(list.items[i].kind == Kind::Symbol);
    CHECK(list.items[i].text == expected[i]);
  }
}

TEST_CASE("fx text: items, operators, attributes, builtins") {
  CHECK(last("g = a[1]").op == Value::Op::GetItem);
  CHECK(last("g = a[1]").args[0].text == "a");
  CHECK(last("g = a[1]").args[1].i == 1);
  CHECK(last("g: \"f32[2]\" = a[-1];  a = None").args[1].i == -1);
  CHECK(last("g = a['output_ptr'];  a = None").args[1].text == "output_ptr");
  CHECK(last("g = a[(slice(None, None, None), 0)]").args[1].kind == Kind::Tuple);
  const std::pair<const char*, const char*> operators[] = {
      {"a + 1", "operator.add"},       {"a - b", "operator.sub"},     {"2 * a", "operator.mul"},     {"a / 2", "operator.truediv"},
      {"a // 8", "operator.floordiv"}, {"a % 2", "operator.mod"},     {"a ** 2", "operator.pow"},    {"a @ b", "operator.matmul"},
      {"a < b", "operator.lt"},        {"a <= b", "operator.le"},     {"a == 0", "operator.eq"},     {"a != 0", "operator.ne"},
      {"a > b", "operator.gt"},        {"a >= 0", "operator.ge"},     {"a & b", "operator.and_"},    {"a | b", "operator.or_"},
      {"a ^ b", "operator.xor"},       {"a << 1", "operator.lshift"}, {"a >> 1", "operator.rshift"}, {"-a", "operator.neg"},
      {"~a", "operator.invert"},       {"not a", "operator.not_"}};
  for (const auto& [text, target] : operators) {
    CAPTURE(text);
    const Value v = last(std::string("g = ") + text + ";  a = None");
    CHECK(v.op == Value::Op::Builtin);
    CHECK(v.target == target);
  }
  CHECK(last("g = 2 * a").args[0].i == 2);
  CHECK(last("g = 2 * a").args[1].text == "a");
  const Value constant = last("_tensor_constant0: \"i64[][]cpu\" = self._tensor_constant0");
  CHECK(constant.op == Value::Op::GetAttr);
  CHECK(constant.target == "_tensor_constant0");
  CHECK(constant.type.known);
  CHECK(last("w = self.layers.weight").target == "layers.weight");
  CHECK(last("w = getattr(self.layers, \"0\").weight").target == "layers.0.weight");
  const Value module_call = last("w = getattr(self.layers, \"0\")(a, k = b)");
  CHECK(module_call.op == Value::Op::Builtin);
  CHECK(module_call.target == "self.layers.0");
  CHECK(module_call.kwargs[0].first == "k");
  const Value sum = last("s = torch.sym_sum((a, b, 1));  b = None");
  CHECK(sum.op == Value::Op::Builtin);
  CHECK(sum.target == "torch.sym_sum");
  CHECK(sum.args[0].items.size() == 3);
  CHECK(last("s = math.trunc(a)").target == "math.trunc");
  CHECK(last("s = _operator.add(a, 1)").target == "operator.add");
  CHECK(last("s = operator.getitem(a, 1)").op == Value::Op::GetItem);
  CHECK(last("s = a.view(-1, 2)").target == "method.view");
  CHECK(last("s = a.view(-1, 2)").args.size() == 3);
  CHECK(last("s = a.shape").target == "getattr");
  CHECK(last("a += b;  c = a").target == "operator.iadd");
  CHECK(last("a |= b;  c = a").target == "operator.ior");
  CHECK(last("a |= b;  c = a").name == "c");
  CHECK(last("a //= b;  c: \"f32[7]\" = a;  a = None").target == "operator.ifloordiv");
  const Value setitem = last("a[(slice(None, None, None), 0)] = b;  setitem = a;  setitem = None");
  CHECK(setitem.target == "operator.setitem");
  CHECK(setitem.args.size() == 3);
  CHECK(setitem.args[1].kind == Kind::Tuple);
  CHECK(setitem.args[2].text == "b");
}

TEST_CASE("fx text: higher-order operators, operator names and objects as arguments") {
  const Value v = last(
      "v2 = torch.ops.higher_order.auto_functionalized_v2(torch.ops.tg.log_tensor.default, s = 'x.w', _t_base_index = 0, _all_bases = "
      "[a]);  a = None");
  CHECK(v.target == "higher_order.auto_functionalized_v2");
  CHECK(v.args[0].kind == Kind::Word);
  CHECK(v.args[0].text == "torch.ops.tg.log_tensor.default");
  CHECK(v.kwargs[2].second.items[0].kind == Kind::Name);
  const Value send = last("s = torch.ops.c10d.send.default([a], self._torchbind_obj0, 1, 0)");
  CHECK(send.args[1].kind == Kind::Self);
  CHECK(send.args[1].text == "_torchbind_obj0");
  const Value angle = last("s = torch.ops.x.y(<ReduceOp.SUM: 0>, <built-in function add>)");
  CHECK(angle.args[0].kind == Kind::Word);
  CHECK(angle.args[0].text == "<ReduceOp.SUM: 0>");
  CHECK(angle.args[1].text == "<built-in function add>");
}

TEST_CASE("fx text: names may end in an underscore, deletions leave no value") {
  const Module m =
      read(body("index_put_ = torch.ops.aten.index_put_.default(a, [None, b], b);  a = b = None\n"
                "        index_put__2: \"f32[2]\" = torch.ops.aten.copy_.default(index_put_, index_put_);  index_put_ = None",
                "a, b", "(index_put__2,)"));
  REQUIRE(m.graph.values.size() == 4);
  CHECK(m.graph.values[3].name == "index_put__2");
  CHECK(m.graph.values[3].args[0].text == "index_put_");
  CHECK(m.graph.values[2].args[1].items[0].kind == Kind::None);
}

TEST_CASE("fx text: comments give the user's file and line") {
  const Module m = read(
      "class f(torch.nn.Module):\n"
      "    def forward(self, a):\n"
      "         # File: /w/my model.py:170 in forward, code: mask = (ids < self.start) | (ids >= self.end)  # File: no.py:1 in g, code: x\n"
      "        p = torch.ops.aten.neg.default(a)\n"
      "        \n"
      "        q = torch.ops.aten.neg.default(a)\n"
      "        # No stacktrace found for following nodes\n"
      "        r = torch.ops.aten.neg.default(a)\n"
      "        # recompute: MUST_SAVE File: torch/x.py:179 in all_reduce, code: tensor = torch.ops._c10d_functional.all_reduce(\n"
      "        s = torch.ops.aten.neg.default(a)\n"
      "        # Annotation: {'_torchdynamo_disable': True} File: <eval_with_key>.3:5 in forward, code: in in\n"
      "        t = torch.ops.aten.neg.default(a)  # a word\n"
      "        # an ordinary comment\n"
      "        u = a[0]\n"
      "        return (p, q, r, s, t)\n");
  const auto& v = m.graph.values;
  REQUIRE(v.size() == 7);
  CHECK(v[0].file == nullptr);
  CHECK(*v[1].file == "/w/my model.py");
  CHECK(v[1].line == 170);
  CHECK(v[1].text_line == 4);
  CHECK(v[2].line == 170);
  CHECK(v[3].file == nullptr);
  CHECK(v[3].line == 0);
  CHECK(*v[4].file == "torch/x.py");
  CHECK(v[4].line == 179);
  CHECK(*v[5].file == "<eval_with_key>.3");
  CHECK(v[5].line == 5);
  CHECK(v[6].line == 5);
}

TEST_CASE("fx text: pytree signature on one line") {
  const Module m = read(
      "class train_step(torch.nn.Module):\n"
      "    def forward(self, params, tokens):\n"
      "        params_1: \"f32[40, 48][48, 1]cpu\"; params_2: \"f32[48][1]cpu\"; tokens_1: \"i64[6]\"; \n"
      "    \n"
      "        params_1, params_2, tokens_1, = fx_pytree.tree_flatten_spec([params, tokens], self._in_spec)\n"
      "        mm: \"f32[40]\" = torch.ops.aten.mv.default(params_1, params_2);  params_1 = params_2 = None\n"
      "        return pytree.tree_unflatten([mm, None, tokens_1], self._out_spec)\n");
  REQUIRE(m.graph.values.size() == 4);
  CHECK(m.graph.values[0].name == "params_1");
  CHECK(m.graph.values[0].op == Value::Op::Placeholder);
  CHECK(m.graph.values[0].text_line == 3);
  CHECK(m.graph.values[2].type.dtype == ir::DType::I64);
  CHECK(m.graph.values[3].op == Value::Op::Call);
  REQUIRE(m.graph.outputs.size() == 3);
  CHECK(m.graph.outputs[0].value.text == "mm");
  CHECK(m.graph.outputs[1].value.kind == Kind::None);
  CHECK(m.graph.outputs[2].value.text == "tokens_1");
}

TEST_CASE("fx text: expanded definition with descriptors and a pytree") {
  const Module m = read(
      "class inner_f(torch.nn.Module):\n"
      "    def forward(\n"
      "        self,\n"
      "        primals,\n"
      "        tangents,\n"
      "    ):\n"
      "        primals_1: \"f32[40, 48]\"  # SubclassGetAttrAOTInput(base=ParamAOTInput(target='m.w'), attr='_local_tensor')\n"
      "        tangents_1: \"f32[]\"  # TangentAOTInput(output=PlainAOTOutput(idx=0))\n"
      "        primals_1, primals_2  , tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n"
      "        mean: \"f32[]\" = torch.ops.aten.mean.default(primals_1)\n"
      "        return pytree.tree_unflatten([\n"
      "            mean,  # PlainAOTOutput(idx=0)\n"
      "            primals_2,  # SubclassGetAttrAOTOutput(base=GradAOTOutput(grad_of=ParamAOTInput(target='m.w')), attr='device_mesh')\n"
      "            None,  # None\n"
      "        ], self._out_spec)\n");
  REQUIRE(m.graph.values.size() == 4);
  CHECK(m.graph.values[0].descriptor == "SubclassGetAttrAOTInput(base=ParamAOTInput(target='m.w'), attr='_local_tensor')");
  CHECK(m.graph.values[1].name == "primals_2");
  CHECK(!m.graph.values[1].type.known);
  CHECK(m.graph.values[2].descriptor == "TangentAOTInput(output=PlainAOTOutput(idx=0))");
  REQUIRE(m.graph.outputs.size() == 3);
  CHECK(m.graph.outputs[0].descriptor == "PlainAOTOutput(idx=0)");
  CHECK(m.graph.outputs[1].value.text == "primals_2");
  CHECK(m.graph.outputs[1].descriptor.find("device_mesh") != std::string::npos);
  CHECK(m.graph.outputs[2].value.kind == Kind::None);
  CHECK(m.graph.outputs[2].descriptor == "None");
}

TEST_CASE("fx text: expanded definition without pytree") {
  const Module m = read(
      "class GraphModule(torch.nn.Module):\n"
      "    def forward(\n"
      "        self,\n"
      "        w: \"f32[4]\",  # ParamAOTInput(target='w')\n"
      "        n: \"Sym(s77)\",\n"
      "        mesh,  # Mesh\n"
      "    ):\n"
      "        return (\n"
      "            w,  # GradAOTOutput(grad_of=ParamAOTInput(target='w'))\n"
      "            n\n"
      "        )\n");
  REQUIRE(m.graph.values.size() == 3);
  CHECK(m.graph.values[0].descriptor == "ParamAOTInput(target='w')");
  CHECK(m.graph.values[1].descriptor.empty());
  CHECK(m.graph.values[2].descriptor == "Mesh");
  REQUIRE(m.graph.outputs.size() == 2);
  CHECK(m.graph.outputs[0].descriptor == "GradAOTOutput(grad_of=ParamAOTInput(target='w'))");
  CHECK(m.graph.outputs[1].descriptor.empty());
}

TEST_CASE("fx text: forms of return") {
  const std::pair<const char*, size_t> forms[] = {{"a", 1},
                                                  {"(a, b)", 2},
                                                  {"[a, [b, (None,)], a]", 4},
                                                  {"()", 0},
                                                  {"None", 1},
                                                  {"a, b", 2},
                                                  {"{'x': a, 'y': [b, 6]}", 3},
                                                  {"pytree.tree_unflatten((a, {'k': b}), self._out_spec)", 2},
                                                  {"pytree.tree_unflatten([], self._out_spec)", 0}};
  for (const auto& [text, count] : forms) {
    CAPTURE(text);
    CHECK(read(body("pass", "a, b", text)).graph.outputs.size() == count);
  }
  CHECK(read(body("pass", "a, b", "{'x': a, 'y': [b, 6]}")).graph.outputs[2].value.i == 6);
}

TEST_CASE("fx text: nested classes are submodules") {
  const Module m = read(
      "class GraphModule(torch.nn.Module):\n"
      "    def forward(self, x):\n"
      "        true_graph_0 = self.true_graph_0\n"
      "        cond = torch.ops.higher_order.cond(x, true_graph_0, true_graph_0, (x,));  x = true_graph_0 = None\n"
      "        return (cond,)\n"
      "        \n"
      "    class true_graph_0(torch.nn.Module):\n"
      "        def forward(self, arg0_1: \"f32[3]\"):\n"
      "             # File: a.py:1 in f, code: x\n"
      "            sin: \"f32[3]\" = torch.ops.aten.sin.default(arg0_1)\n"
      "            return (sin,)\n"
      "            \n"
      "        class inner(torch.nn.Module):\n"
      "            def forward(self, arg0_1):\n"
      "                return arg0_1\n"
      "    class false_graph_0(torch.nn.Module):\n"
      "        def forward(self):\n"
      "            return ()\n");
  CHECK(m.graph.values.size() == 3);
  REQUIRE(m.graph.submodules.size() == 2);
  CHECK(m.graph.submodules[0].first == "true_graph_0");
  CHECK(m.graph.submodules[1].first == "false_graph_0");
  const Graph& inner = m.graph.submodules[0].second;
  CHECK(inner.values.size() == 2);
  REQUIRE(inner.submodules.size() == 1);
  CHECK(inner.submodules[0].first == "inner");
}

TEST_CASE("fx text: a class after the main one that it refers to is its submodule; otherwise two graphs are an error") {
  const std::string second = "class wrap_body_0(torch.nn.Module):\n    def forward(self, y):\n        return (y,)\n";
  const Module m = read(body("wrap_body_0 = self.wrap_body_0") + second);
  REQUIRE(m.graph.submodules.size() == 1);
  CHECK(m.graph.submodules[0].first == "wrap_body_0");
  const Diagnostic e = error(body("pass") + second);
  CHECK(e.code == "SP213");
  CHECK(e.line == 5);
}

TEST_CASE("fx text: fx_graph_runnable files") {
  const Module m = read(
      "# fmt: off\n"
      "import os\n"
      "os.environ['A'] = 'class X(torch):'\n"
      "@triton.jit\n"
      "def kernel(\n    a_ptr,\n    N: tl.constexpr,  # words\n):\n    for i in range(3):\n        x = a_ptr + i\n\n"
      "if \"__compile_source__\" in globals():\n    import inspect as i\n"
      "class GraphModule(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n    def forward(self, *args, **kwargs):\n "
      "       pass\n"
      "class Repro(torch.nn.Module):\n"
      "    def __init__(self) -> None:\n"
      "        super().__init__()\n"
      "        self.sdpa_score0 = lambda score, b, *args: score\n"
      "\n"
      "    def forward(self, primals_1, primals_2):\n"
      "        sdpa_score0 = self.sdpa_score0\n"
      "        f = torch.ops.higher_order.flex_attention(primals_1, primals_2, sdpa_score0, (4096, 128, sdpa_score0), 0.07, {'BACKEND': "
      "'AUTO'}, (), (primals_1,))\n"
      "        return (f,)\n"
      "\n"
      "def load_args(reader):\n"
      "    buf0 = reader.storage(None, 131072, device=device(type='cuda', index=0))\n"
      "load_args._version = 0\n"
      "mod = Repro()\n"
      "if __name__ == '__main__':\n    run()\n"
      "def get_pg_config():\n    \"\"\"class Y(x):\n    \"\"\"\n    return {}\n");
  CHECK(m.graph.name == "Repro");
  CHECK(m.graph.values.size() == 4);
  CHECK(m.graph.values[3].args[5].kind == Kind::Dict);
}

TEST_CASE("fx text: prelude of other dumps, no class at all, colours, Windows line ends") {
  const Module entangle =
      read("import torch\nfrom torch import device\n\nb8: type\nSym: type\n\n# Graph[rank=0](fw, gid=0)\n" + body("pass"));
  CHECK(entangle.graph.values.size() == 2);
  const Module code =
      read("\n\n\ndef forward(self, x : torch.Tensor, y : int = 3) -> torch.Tensor:\n    add = x + y;  x = y = None\n    return add\n    ");
  CHECK(code.graph.values.size() == 3);
  CHECK(!code.graph.values[0].type.known);
  const Module colours = read(
      "class G(torch.nn.Module):\n    def forward(self, a):\n        \x1b[34mb\x1b[0m\x1b[2;33m: \"f32[2]\"\x1b[0m = a[0]\n        return "
      "(b,)\n");
  CHECK(colours.graph.values[1].type.shape == ir::Shape{2});
  std::string crlf;
  for (const char c : body("c = torch.ops.aten.add.Tensor(a, b);  a = None", "a, b", "(c,)"))
    crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(read(crlf).graph.values.size() == 3);
  const Module log = read(
      " ===== Forward graph 0 =====\n /x/torch/fx/_lazy_graph_module.py class GraphModule(torch.nn.Module):\n"
      "    def forward(self, a):\n        return (a,)\n");
  CHECK(log.graph.name == "GraphModule");
  const Module flat = read("    class T(torch.nn.Module):\n    def forward(self, a):\n        return a\n");
  CHECK(flat.graph.name == "T");
}

TEST_CASE("fx text: Dynamo's renamed parameters") {
  const Module m = read(
      "class GraphModule(torch.nn.Module):\n"
      "    def forward(self, L_x_: \"f32[3]\", s77: \"Sym(s77)\"):\n"
      "        l_x_ = L_x_\n"
      "        \n"
      "        y: \"f32[3]\" = l_x_ * s77\n"
      "        return (y,)\n");
  REQUIRE(m.graph.values.size() == 3);
  CHECK(m.graph.values[0].name == "l_x_");
  CHECK(m.graph.values[0].op == Value::Op::Placeholder);
  CHECK(m.graph.values[0].type.shape == ir::Shape{3});
  CHECK(m.graph.values[2].args[1].kind == Kind::Name);
}

TEST_CASE("fx text: errors name the place") {
  struct Bad {
    const char* statement;
    int column;
    const char* word;
  };
  const Bad bad[] = {
      {"z = torch.ops.aten.neg.default(q)", 40, "'q'"},
      {"z = torch.ops.aten.neg.default(a;", 41, "','"},
      {"z = torch.ops.aten.neg.default(a]", 41, "','"},
      {"z = torch.ops.aten.neg.default(a b)", 42, "'b'"},
      {"z = torch.ops.aten.neg.default(k = 1, a)", 48, "positional"},
      {"z = torch.ops.aten.neg.default(a) a", 43, "';'"},
      {"z = 'abc", 13, "string"},
      {"z = 5", 13, "expected a call"},
      {"c = a[0];  z = c", 24, "expected a call"},
      {"z = q.r.s", 13, "expected a call"},
      {"z", 9, "tree_flatten_spec"},
      {"z: \"f32[2]\"", 9, "tree_flatten_spec"},
      {"a = torch.ops.aten.neg.default(b)", 9, "second time"},
      {"q = None", 9, "never defined"},
      {"a, b = torch.ops.aten.max.dim(a)", 16, "tree_flatten_spec"},
      {"a[0] = b", 17, "'; name = a'"},
      {"a[0] == b", 14, "'='"},
      {"for x in a:", 13, "expected '='"},
      {"z = a + b + a", 19, "one operator"},
      {"z = torch.ops.aten.neg.default(12ab)", 40, "number"},
      {"z = torch.ops.aten.neg.default({1})", 42, "':'"},
      {"z = torch.ops.aten.neg.default(1e999)", 40, "double"},
      {"z = torch.ops.aten.neg.default('\\q')", 41, "escape"},
      {"z = torch.ops.aten.neg.default(, a)", 40, "argument"},
      {"z = a[0", 16, "']'"},
      {"q += b;  c = q", 9, "never defined"},
      {"z = f(a, a +)", 21, "integer expression"},
      {"import os", 16, "expected '='"},
  };
  for (const Bad& b : bad) {
    CAPTURE(b.statement);
    const Diagnostic e = error(body(b.statement));
    CAPTURE(e.message);
    CHECK(e.line == 3);
    CHECK(e.column == b.column);
    CHECK(e.message.find(b.word) != std::string::npos);
    CHECK(e.code.substr(0, 3) == "SP2");
  }
}

TEST_CASE("fx text: errors outside of statements") {
  CHECK(error("").code == "SP213");
  CHECK(error("hello\n").code == "SP213");
  CHECK(error("class A(x):\n    def forward(self, a):\n        b = a[0]\n").message.find("return") != std::string::npos);
  CHECK(error("class A(x):\n    def forward(self, a: \"f32[2]\"\n        return (a,)\n").line == 3);
  CHECK(error("class A(x):\n    x = 5\n").line == 2);
  CHECK(error("class A(x):\n    def forward(self, a, a):\n        return (a,)\n").column == 26);
  CHECK(error("class A(x):\n    def forward(self, p):\n        a: \"f32[2]\"\n        b, = fx_pytree.tree_flatten_spec([p], "
              "self._in_spec)\n        return (b,)\n")
            .line == 3);
  CHECK(error("class A(x):\n    def forward(self, a):\n        return (a,)\n        b = a[0]\n").line == 4);
  CHECK(error("class A(x):\n    def forward(self, a):\n        return (a, [b])\n").column == 21);
  CHECK(error("class A(x):\n    def forward(self, a):\n        return (a\n").line == 4);
}

TEST_CASE("fx text: depth is bounded") {
  const std::string deep(100000, '[');
  CHECK(error(body("z = torch.ops.aten.f.default(" + deep + ")")).code == "SP212");
  CHECK(error(body("pass", "a", deep)).code == "SP212");
  std::string classes;
  for (int i = 0; i < 200; ++i) classes += std::string(static_cast<size_t>(i), ' ') + "class A(x):\n";
  CHECK(error(classes).code == "SP212");
  // 60 levels are fine.
  const Module m = read(body("z = torch.ops.aten.f.default(" + std::string(60, '(') + "a" + std::string(60, ')') + ")"));
  CHECK(m.graph.values[2].args[0].kind == Kind::Name);
}

TEST_CASE("fx text: load_args gives the inputs of a runnable file their types") {
  const Module m = read(
      "class Repro(torch.nn.Module):\n"
      "    def forward(self, n, primals_1, primals_2, primals_3, other):\n"
      "        return (primals_1,)\n"
      "def load_args(reader):\n"
      "    u8 = u9 = None\n"
      "    reader.symint(512)  # n\n"
      "    buf0 = reader.storage(None, 131072, device=device(type='cuda', index=0), dtype_hint=torch.int64)\n"
      "    reader.tensor(buf0, (2, 8192), dtype=torch.int64, is_leaf=True)  # primals_1\n"
      "    reader.tensor(buf1, (8*((u8 + u9)//8), 4), (4, 1), is_leaf=True)  # primals_2\n"
      "    reader.tensor(buf2, (), dtype=torch.bfloat16, storage_offset=128, is_leaf=True)\n"
      "load_args._version = 0\n"
      "if __name__ == '__main__':\n"
      "    setup_fake_process_groups({'0': {'size': 64, 'rank': 3}, '521': {'size': 8, 'rank': 0}})\n"
      "    with torch.no_grad():\n        run_repro(mod)\n");
  const auto& v = m.graph.values;
  REQUIRE(v.size() == 5);
  CHECK(v[0].type.is_sym);
  CHECK(v[1].type.dtype == ir::DType::I64);
  CHECK(v[1].type.shape == ir::Shape{2, 8192});
  CHECK(v[2].type.dtype == ir::DType::F32);
  CHECK(v[2].type.shape == ir::Shape{-1, 4});
  CHECK(v[2].type.symbols == std::vector<std::string>{"8*((u8 + u9)//8)", ""});
  CHECK(v[3].type.dtype == ir::DType::BF16);  // by position, as it has no comment
  CHECK(v[3].type.known);
  CHECK(v[3].type.shape.empty());
  CHECK(!v[4].type.known);
  REQUIRE(m.notes.size() == 3);
  CHECK(m.notes[0].find("'0' has 64 ranks") != std::string::npos);
  CHECK(m.notes[0].find("rank 3") != std::string::npos);
  CHECK(m.notes[2].find("1 inputs") != std::string::npos);
  const Diagnostic e =
      error("class Repro(x):\n    def forward(self, a):\n        return (a,)\ndef load_args(reader):\n    reader.tensor(buf0)  # a\n");
  CHECK(e.line == 5);
  CHECK(e.column == 5);
}

namespace {

std::string event(const std::string& name) {
  return "V1130 00:18:08.153000 3246 torch/_dynamo/output_graph.py:2841] {\"" + name +
         "\": {}, \"frame_id\": 0, \"has_payload\": \"53\"}\n";
}

std::string payload(const std::string& value) {
  return "\tclass GraphModule(torch.nn.Module):\n\t    def forward(self, a):\n\t        " + value + " = a[0]\n\t        return (" + value +
         ",)\n";
}

}  // namespace

TEST_CASE("fx text: TORCH_TRACE logs") {
  const std::string other =
      "V1130 00:18:07.657000 3246 torch/_dynamo/utils.py:2350] {\"chromium_event\": {}, \"has_payload\": \"a5\"}\n\t{\n\t\"name\": "
      "\"x\"\n\t}\n";
  const Module joint = read(other + event("dynamo_output_graph") + payload("d") + event("aot_joint_graph") + payload("j") + other +
                            event("aot_forward_graph") + payload("f") + event("aot_backward_graph") + payload("b"));
  CHECK(joint.graph.values[1].name == "j");
  CHECK(joint.graph.values[1].text_line == 13);  // of the log
  REQUIRE(joint.notes.size() == 4);
  CHECK(joint.notes[0].find("joint graph of the log, at line 11") != std::string::npos);
  CHECK(read(other + event("dynamo_output_graph") + payload("d") + event("aot_forward_graph") + payload("f")).graph.values[1].name == "f");
  const Diagnostic two = error(event("aot_forward_graph") + payload("f") + event("aot_forward_graph") + payload("g"));
  CHECK(two.message.find("2 forward graphs (lines 2, 7)") != std::string::npos);
  CHECK(error(other).code == "SP213");
  CHECK(error(event("aot_forward_graph") + "\tclass A(x):\n\t    def forward(self, a):\n\t        b = c[0]\n").line == 4);
}

TEST_CASE("fx text: TORCH_LOGS output") {
  const std::string prefix = "I1130 00:18:41.176000 3589 torch/_functorch/graph_compile.py:1844] [0/0] [__aot_graphs] ";
  std::string log;
  for (const char* line :
       {"aot_config id: 0", "TRACED GRAPH", " ===== Forward graph 0 =====", " <eval_with_key>.2 class GraphModule(torch.nn.Module):",
        "    def forward(self, a: \"f32[3]\"):", "        b: \"f32[3]\" = torch.ops.aten.neg.default(a)", "        return (b,)", "",
        "TRACED GRAPH", " ===== Backward graph 0 =====", " /x/lazy.py class GraphModule(torch.nn.Module):", "    def forward(self, t):",
        "        return (t,)", ""}) {
    log += prefix + line + "\n";
  }
  const Module m = read(log);
  REQUIRE(m.graph.values.size() == 2);
  CHECK(m.graph.values[1].name == "b");
  CHECK(m.graph.values[1].text_line == 6);
  CHECK(m.notes.size() == 2);
}
