// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Test tool: lowers FX texts and prints the core graph of each as one line of JSON, for tests/lowering/test_aten.py, which evaluates it
// and compares with PyTorch. `lower-dump --ops` prints the table of operators, for docs/coverage.md.
#include <cstdio>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "frontend/fx/module.h"
#include "lower/aten.h"
#include "lower/kernels.h"
#include "lower/lower.h"

using namespace shardproof;
using Json = nlohmann::ordered_json;

namespace {

class NoConstants final : public frontend::ConstantSource {
 public:
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return std::nullopt; }
};

Json literal(const ir::Literal& v) {
  if (v.kind == ir::Literal::Kind::Float) {
    if (v.d != v.d) return "nan";
    if (v.d == std::numeric_limits<double>::infinity()) return "inf";
    if (v.d == -std::numeric_limits<double>::infinity()) return "-inf";
    return v.d;
  }
  if (v.kind == ir::Literal::Kind::Bool) return v.i != 0;
  return v.i;
}

Json dump(const frontend::Program& p) {
  Json nodes = Json::array();
  for (ir::NodeId id = 0; id < p.graph.nodes.size(); ++id) {
    const ir::Node& n = p.graph[id];
    const std::string wrong = ir::verify(p.graph, id);
    if (!wrong.empty()) return {{"error", "verify: " + wrong + ": " + ir::to_string(p.graph, id)}};
    Json j = {{"op", ir::name(n.op)},
              {"fn", ir::name(n.fn)},
              {"dtype", ir::name(n.dtype)},
              {"mode", static_cast<int>(n.mode)},
              {"set", n.set},
              {"shape", n.shape},
              {"in", n.in},
              {"a", n.a},
              {"b", n.b},
              {"c", n.c},
              {"lit", literal(n.lit)},
              {"name", n.name}};
    if (n.dense) {
      j["dense"] = Json::array();
      for (const ir::Literal& v : *n.dense) j["dense"].push_back(literal(v));
    }
    nodes.push_back(std::move(j));
  }
  Json inputs = Json::array(), outputs = Json::array(), reasons = Json::array();
  for (const auto& i : p.inputs) inputs.push_back({{"name", i.name}, {"node", i.node == ir::kNoNode ? -1 : static_cast<int64_t>(i.node)}});
  for (const auto& o : p.outputs)
    outputs.push_back({{"name", o.name}, {"node", o.node == ir::kNoNode ? -1 : static_cast<int64_t>(o.node)}});
  for (const auto& u : p.unsupported) reasons.push_back(u.reason);
  return {{"nodes", nodes}, {"inputs", inputs}, {"outputs", outputs}, {"unsupported", reasons}};
}

Json run(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  std::stringstream text;
  text << f.rdbuf();
  const Result<fx::Module> m = fx::read_text(text.str(), path);
  if (!m) return {{"error", m.error().code + ": " + m.error().message}};
  try {
    const Result<frontend::Program> p = lower::lower_fx(*m, NoConstants());
    if (!p) return {{"error", p.error().code + ": " + p.error().message}};
    return dump(*p);
  } catch (const std::exception& e) {
    return {{"error", std::string("exception: ") + e.what()}};
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--ops") {
    for (const lower::aten::OpRow* row : lower::aten::all_ops())
      std::printf("%.*s\t%s\t%s\n", static_cast<int>(lower::aten::family_of(row).size()), lower::aten::family_of(row).data(), row->name,
                  row->params);
    for (const lower::aten::KernelDef* k : lower::aten::Kernels::builtin().all())
      std::printf("%s\t%s\t%s\n", k->cases.empty() ? "kernels, opaque" : "kernels, defined", k->op.c_str(), k->origin.c_str());
    return 0;
  }
  // Paths as arguments, or one per line on standard input.
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.empty()) {
    char line[4096];
    while (std::fgets(line, sizeof line, stdin)) {
      std::string s = line;
      while (!s.empty() && s.back() == '\n') s.pop_back();
      paths.push_back(s);
    }
  }
  for (const std::string& path : paths) std::printf("%s\n", run(path).dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return 0;
}
