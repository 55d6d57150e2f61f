// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What JAX computes against what the lowered program computes: data/jax_programs.json holds programs as StableHLO, HLO and optimised HLO,
// with inputs and JAX's own outputs (see make_jax_programs.py there).
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "dense_eval.h"
#include "lower/lower.h"

namespace shardproof {
namespace {

struct NoConstants : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return std::nullopt; }
};

ir::DType dtype_of(const std::string& name) {
  using ir::DType;
  static const std::map<std::string, DType> table{{"float32", DType::F32}, {"int32", DType::I32}, {"uint32", DType::U32},
                                                  {"int8", DType::I8},     {"uint8", DType::U8},  {"bool", DType::Bool},
                                                  {"int64", DType::I64}};
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

bool same(double x, double y) {
  if (std::isnan(y)) return std::isnan(x);
  return x == y || std::fabs(x - y) <= 1e-5 + 2e-4 * std::fabs(y);
}

std::string check(const nlohmann::json& c, const std::string& form) {
  const std::string text = c.at(form);
  auto module = form == "stablehlo" ? hlo::read_stablehlo(text, form) : hlo::read_text(text, form);
  if (!module.ok()) return "not read: " + module.error().message;
  auto program = lower::lower_hlo(*module, NoConstants{});
  if (!program.ok()) return "not lowered: " + program.error().message;
  for (ir::NodeId k = 0; k < program->graph.nodes.size(); ++k) {
    if (const std::string wrong = ir::verify(program->graph, k); !wrong.empty()) return wrong;
  }
  for (const auto& u : program->unsupported) return "unsupported: " + u.reason;
  std::map<ir::NodeId, test::Tensor> inputs;
  if (program->inputs.size() != c.at("inputs").size()) return "has another number of inputs";
  for (size_t k = 0; k < program->inputs.size(); ++k) inputs[program->inputs[k].node] = tensor(c.at("inputs")[k]);
  std::vector<test::Tensor> values;
  try {
    values = test::evaluate(program->graph, inputs);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  if (program->outputs.size() != c.at("outputs").size()) return "has another number of outputs";
  for (size_t k = 0; k < program->outputs.size(); ++k) {
    const test::Tensor expected = tensor(c.at("outputs")[k]), &got = values[program->outputs[k].node];
    if (got.shape != expected.shape || got.dtype != expected.dtype) return "output " + std::to_string(k) + " has another type";
    const size_t count = expected.is_float() ? expected.f.size() : expected.i.size();
    for (size_t j = 0; j < count; ++j) {
      const bool fine = expected.is_float() ? same(got.f[j], expected.f[j]) : got.i[j] == expected.i[j];
      if (!fine) {
        return "output " + std::to_string(k) + " element " + std::to_string(j) + ": " + std::to_string(got.number(j)) + ", JAX says " +
               std::to_string(expected.number(j));
      }
    }
  }
  return "";
}

TEST_CASE("lowered programs compute what JAX computes") {
  std::ifstream file(std::string(SHARDPROOF_SOURCE_DIR) + "/tests/unit/lower/data/jax_programs.json");
  REQUIRE(file.good());
  const nlohmann::json cases = nlohmann::json::parse(file);
  REQUIRE(cases.size() > 150);
  // Forms that the core cannot express, and why.
  const std::set<std::string> without{"searchsorted as optimised", "interp as optimised"};  // compare the bits of floats
  for (const auto& c : cases) {
    for (const char* form : {"stablehlo", "hlo", "optimised"}) {
      const std::string name = c.at("name").get<std::string>() + " as " + form;
      if (without.count(name) || !c.contains(form)) continue;
      const std::string wrong = check(c, form);
      CHECK_MESSAGE(wrong.empty(), name << ": " << wrong);
    }
  }
}

}  // namespace
}  // namespace shardproof
