// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// GraphDef as text and as bytes, and what is wrong with either.
#include <doctest/doctest.h>

#include <cmath>

#include "frontend/graphdef/module.h"

using namespace shardproof;
using namespace shardproof::graphdef;

namespace {

Module ok(const std::string& text) {
  Result<Module> r = read(text, "g.pbtxt");
  if (!r.ok()) FAIL(r.error().code << " " << r.error().line << ":" << r.error().column << ": " << r.error().message);
  return std::move(*r);
}

Diagnostic bad(const std::string& text) {
  Result<Module> r = read(text, "g.pbtxt");
  REQUIRE_FALSE(r.ok());
  return r.error();
}

bool says(const Diagnostic& d, const std::string& part) { return d.message.find(part) != std::string::npos; }

std::string constant(const std::string& tensor) {
  return "node { name: \"c\" op: \"Const\" attr { key: \"value\" value { tensor { " + tensor + " } } } }";
}

const Tensor& value(const Module& m) { return *m.main.nodes[0].find("value")->tensor; }

// --- bytes
std::string varint(uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>((v & 0x7f) | 0x80);
  return out + static_cast<char>(v);
}
std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string number(int field, uint64_t v) { return varint(static_cast<uint64_t>(field) << 3) + varint(v); }

}  // namespace

TEST_CASE("nodes, references, attributes") {
  Module m =
      ok("# a comment\nnode {\n  name: \"x\"\n  op: \"Placeholder\"\n  attr { key: \"dtype\" value { type: DT_FLOAT } }\n  attr { key: "
         "\"shape\" value { shape { dim { size: 2 } dim { size: 3 } } } }\n}\n"
         "node { name: \"s\" op: \"Split\" input: [\"d\", \"x\"] device: '/cpu:' \"0\" attr { key: \"num_split\" value { i: 3 } } }\n"
         "node < name: \"d\" op: \"Const\" attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape {} int_val: 1 } } } >\n"
         "node { name: \"y\" op: \"AddV2\" input: \"s:2\" input: \"s\" input: \"^d\" attr { key: \"b\" value { b: true } } attr { key: "
         "\"f\" value { f: -1.5e-3 } } attr { key: \"s\" value { s: \"a\\n\\101\\x42\" } }\n"
         "  attr { key: \"l\" value { list { i: [1, -2] i: 0x10 } } } attr { key: \"u\" value { shape { unknown_rank: true } } } "
         "}\nversions { producer: 2474 }\n");
  REQUIRE(m.main.nodes.size() == 4);
  const Node& x = m.main.nodes[0];
  CHECK(x.line == 2);
  CHECK(x.find("dtype")->type.dtype == ir::DType::F32);
  CHECK(x.find("shape")->shape.dims == ir::Shape{2, 3});
  const Node& s = m.main.nodes[1];
  CHECK(s.device == "/cpu:0");
  CHECK(s.inputs[0].node == 2);  // defined later
  CHECK(s.find("num_split")->i == 3);
  const Node& y = m.main.nodes[3];
  REQUIRE(y.inputs.size() == 2);
  CHECK(y.inputs[0].node == 1);
  CHECK(y.inputs[0].output == 2);
  CHECK(y.inputs[1].output == 0);
  CHECK(y.control == std::vector<uint32_t>{2});
  CHECK(y.find("b")->i == 1);
  CHECK(y.find("f")->f == -1.5e-3);
  CHECK(y.find("s")->s == "a\nAB");
  REQUIRE(y.find("l")->list.size() == 3);
  CHECK(y.find("l")->list[1].i == -2);
  CHECK(y.find("l")->list[2].i == 16);
  CHECK_FALSE(y.find("u")->shape.known);
  CHECK(m.main.order == std::vector<uint32_t>{0, 2, 1, 3});
}

TEST_CASE("constants") {
  Module raw =
      ok(constant("dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: \"\\001\\000\\000\\000\\377\\377\\377\\377\""));
  CHECK(value(raw).values->at(0).i == 1);
  CHECK(value(raw).values->at(1).i == -1);
  Module splat = ok(constant("dtype: DT_FLOAT tensor_shape { dim { size: 1000 } } float_val: 0.1"));
  REQUIRE(value(splat).values->size() == 1);
  CHECK(value(splat).values->at(0).d == static_cast<double>(0.1f));
  CHECK(value(splat).values->at(0).format == ir::DType::F32);
  Module repeat = ok(constant("dtype: DT_INT64 tensor_shape { dim { size: 4 } } int64_val: 7 int64_val: 9"));
  CHECK(value(repeat).values->at(3).i == 9);
  Module none = ok(constant("dtype: DT_FLOAT tensor_shape { dim { size: 3 } }"));
  CHECK(value(none).values->at(0).d == 0);
  Module half = ok(constant("dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 15360 half_val: 49152"));
  CHECK(value(half).values->at(0).d == 1.0);
  CHECK(value(half).values->at(1).d == -2.0);
  Module bf = ok(constant("dtype: DT_BFLOAT16 tensor_shape { } half_val: 16256"));
  CHECK(value(bf).values->at(0).d == 1.0);
  Module inf = ok(constant("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: -inf float_val: nan"));
  CHECK(value(inf).values->at(0).d == -INFINITY);
  CHECK(std::isnan(value(inf).values->at(1).d));
  Module flag = ok(constant("dtype: DT_BOOL tensor_shape { } bool_val: true"));
  CHECK(value(flag).values->at(0) == ir::Literal::boolean(true));
  CHECK_FALSE(value(ok(constant("dtype: DT_STRING tensor_shape { } string_val: \"x\""))).known);
}

TEST_CASE("functions: arguments, named results, returns") {
  Module m =
      ok("node { name: \"x\" op: \"Placeholder\" }\nnode { name: \"c\" op: \"PartitionedCall\" input: \"x\" attr { key: \"f\" value { func "
         "{ name: \"g\" } } } }\n"
         "library { function { signature { name: \"g\" input_arg { name: \"a\" type: DT_FLOAT } output_arg { name: \"r\" type: DT_INT32 } "
         "output_arg { name: \"q\" type: DT_FLOAT } }\n"
         "node_def { name: \"k\" op: \"Const\" } node_def { name: \"t\" op: \"TopKV2\" input: \"a\" input: \"k:output:0\" } node_def { "
         "name: \"s\" op: \"Split\" input: \"k:output:0\" input: \"a\" }\n"
         "ret { key: \"r\" value: \"t:indices:0\" } ret { key: \"q\" value: \"s:output:1\" } } }");
  const Function& g = m.functions.at("g");
  CHECK(g.arguments[0].name == "a");
  CHECK(g.body.nodes[1].inputs[0].node == Ref::kArgument);
  REQUIRE(g.results.size() == 2);
  CHECK(g.results[0].node == 1);
  CHECK(g.results[0].output == 1);
  CHECK(g.results[1].output == 1);
  CHECK(m.main.nodes[1].find("f")->s == "g");
}

TEST_CASE("bytes") {
  std::string dtype = field(5, field(1, "dtype") + field(2, number(6, 1)));
  std::string shape = field(5, field(1, "shape") + field(2, field(7, field(2, number(1, 4)))));
  std::string ints = field(5, field(1, "l") + field(2, field(1, field(3, varint(5) + varint(static_cast<uint64_t>(-3))))));
  std::string graph = field(1, field(1, "x") + field(2, "Placeholder") + dtype + shape + ints) +
                      field(1, field(1, "y") + field(2, "Neg") + field(3, "x")) + field(4, number(1, 2474));
  Module m = ok(graph);
  REQUIRE(m.main.nodes.size() == 2);
  CHECK(m.main.nodes[0].find("dtype")->type.dtype == ir::DType::F32);
  CHECK(m.main.nodes[0].find("shape")->shape.dims == ir::Shape{4});
  CHECK(m.main.nodes[0].find("l")->list[1].i == -3);
  CHECK(m.main.nodes[1].inputs[0].node == 0);
  for (size_t n = 1; n + 8 < graph.size(); ++n) {  // cut off anywhere inside of the nodes: no crash
    Result<Module> r = read_binary(std::string_view(graph).substr(0, n), "g.pb");
    if (!r.ok()) CHECK(r.error().code.starts_with("SP25"));
  }
  CHECK(says(bad(std::string("\x0a\xff\x01\x02", 4)), "longer than its message"));
}

TEST_CASE("errors have a place and say what was expected") {
  Diagnostic d = bad("node {\n  name: \"x\"\n  op \"Neg\"\n}\n");
  CHECK(d.code == "SP250");
  CHECK(d.line == 3);
  CHECK(d.column == 6);
  CHECK(says(d, "':' or '{'"));
  CHECK(says(bad("node { name: \"x\" op: \"Neg\" input: \"nowhere\" }"), "'nowhere' is not in the graph"));
  CHECK(says(bad("node { name: \"x\" op: \"Neg\" }\nnode { name: \"x\" op: \"Neg\" }"), "defined twice"));
  CHECK(says(bad("node { name: \"x\" op: \"Neg\" input: \"x\" }"), "depends on itself"));
  CHECK(says(bad("node { name: \"x\" "), "expected '}'"));
  CHECK(says(bad("node { name: \"x }"), "not closed"));
  CHECK(says(bad(constant("dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: \"abc\"")), "has 3 bytes, expected 8"));
  CHECK(says(bad(constant("dtype: DT_INT32 tensor_shape { } float_val: 1")), "another type"));
  CHECK(says(bad(constant("dtype: DT_INT32 tensor_shape { dim { size: 9000000000 } dim { size: 9000000000 } }")), "2^51"));
  CHECK(says(bad("versions { producer: 1 }"), "no node"));
  std::string deep;
  for (int k = 0; k < 100000; ++k) deep += "node {";
  CHECK(says(bad(deep), "nest deeper"));
}
