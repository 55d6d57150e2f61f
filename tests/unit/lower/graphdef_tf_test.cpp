// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What TensorFlow computes against what the lowered graph computes: data/tf_programs.json holds graphs with inputs and TensorFlow's own
// outputs (see make_tf_programs.py there).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dense_eval.h"
#include "lower/graphdef.h"

namespace shardproof {
namespace {

struct NoConstants : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return std::nullopt; }
};

ir::DType dtype_of(const std::string& name) {
  using ir::DType;
  static const std::map<std::string, DType> table{{"float32", DType::F32}, {"float64", DType::F64}, {"int32", DType::I32},
                                                  {"uint32", DType::U32},  {"int8", DType::I8},     {"uint8", DType::U8},
                                                  {"bool", DType::Bool},   {"int64", DType::I64}};
  return table.at(name);
}

test::Tensor tensor(const nlohmann::json& j) {
  test::Tensor out;
  out.dtype = dtype_of(j.at("dtype"));
  out.shape = j.at("shape").get<ir::Shape>();
  for (const auto& v : j.at("values")) {
    if (!out.is_float())
      out.i.push_back(v.get<int64_t>());
    else if (v.is_string())
      out.f.push_back(v == "inf" ? HUGE_VAL : v == "-inf" ? -HUGE_VAL : std::nan(""));
    else
      out.f.push_back(v.get<double>());
  }
  return out;
}

std::string differs(const std::string& what, const test::Tensor& got, const test::Tensor& expected) {
  if (got.shape != expected.shape || got.dtype != expected.dtype) return what + " has another type";
  const size_t count = expected.is_float() ? expected.f.size() : expected.i.size();
  for (size_t j = 0; j < count; ++j) {
    bool same = expected.is_float() ? (std::isnan(expected.f[j]) ? std::isnan(got.f[j])
                                                                 : got.f[j] == expected.f[j] || std::fabs(got.f[j] - expected.f[j]) <=
                                                                                                    1e-5 + 2e-4 * std::fabs(expected.f[j]))
                                    : got.i[j] == expected.i[j];
    if (!same)
      return what + " element " + std::to_string(j) + ": " + std::to_string(got.number(j)) + ", TensorFlow says " +
             std::to_string(expected.number(j));
  }
  return "";
}

std::string unhex(const std::string& hex) {
  std::string out;
  for (size_t k = 0; k + 1 < hex.size(); k += 2) out += static_cast<char>(std::stoi(hex.substr(k, 2), nullptr, 16));
  return out;
}

std::string check(const nlohmann::json& c, const std::string& content) {
  auto module = graphdef::read(content, "graph");
  if (!module.ok()) return "not read: " + module.error().message;
  lower::InputShapes shapes;
  for (const auto& v : c.at("variables")) shapes[v[0].get<std::string>()] = v[1].get<ir::Shape>();
  std::vector<std::string> missing = lower::inputs_without_shape(*module);
  if (missing.size() != shapes.size()) return "has another number of variables without shape";
  auto program = lower::lower_graphdef(*module, NoConstants{}, shapes);
  if (!program.ok()) return "not lowered: " + program.error().message;
  for (ir::NodeId k = 0; k < program->graph.nodes.size(); ++k)
    if (const std::string wrong = ir::verify(program->graph, k); !wrong.empty()) return wrong;
  for (const auto& u : program->unsupported) return "unsupported: " + u.reason;
  std::map<ir::NodeId, test::Tensor> inputs;
  // Arguments come first, then the variables in the order of capture, which is the order of the placeholders.
  size_t at = 0;
  for (const auto& in : program->inputs) {
    if (in.node == ir::kNoNode) continue;
    if (at >= c.at("inputs").size()) return "has too many inputs";
    inputs[in.node] = tensor(c.at("inputs")[at++]);
  }
  if (at != c.at("inputs").size()) return "has too few inputs";
  std::vector<test::Tensor> values;
  try {
    values = test::evaluate(program->graph, inputs);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  size_t expected = c.at("outputs").size() + (c.at("updated").empty() ? 0 : c.at("updated").size());
  if (program->outputs.size() != expected)
    return "has " + std::to_string(program->outputs.size()) + " outputs, expected " + std::to_string(expected);
  for (size_t k = 0; k < expected; ++k) {
    bool updated = k >= c.at("outputs").size();
    if (updated != !program->outputs[k].mutated_input.empty()) return "has its outputs in another order";
    const auto& j = updated ? c.at("updated")[k - c.at("outputs").size()] : c.at("outputs")[k];
    if (std::string wrong = differs(program->outputs[k].name, values[program->outputs[k].node], tensor(j)); !wrong.empty()) return wrong;
  }
  return "";
}

TEST_CASE("lowered graphs compute what TensorFlow computes") {
  std::ifstream file(std::string(SHARDPROOF_SOURCE_DIR) + "/tests/unit/lower/data/tf_programs.json");
  REQUIRE(file.good());
  const nlohmann::json cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() > 120);
  int bytes = 0;
  for (const auto& c : cases) {
    std::string wrong = check(c, c.at("graph"));
    CHECK_MESSAGE(wrong.empty(), c.at("name").get<std::string>() << ": " << wrong);
    if (!c.contains("bytes")) continue;
    ++bytes;
    wrong = check(c, unhex(c.at("bytes")));
    CHECK_MESSAGE(wrong.empty(), c.at("name").get<std::string>() << " as bytes: " << wrong);
  }
  CHECK(bytes >= 3);
}

}  // namespace
}  // namespace shardproof
