// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// For the tests of FX lowering: a text is lowered, run on numbers, and its outputs are read by name.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "dense_eval.h"
#include "frontend/fx/module.h"
#include "lower/kernels.h"
#include "lower/lower.h"

namespace shardproof::test {

struct FixedConstants : frontend::ConstantSource {
  std::map<std::string, std::vector<ir::Literal>> values;
  std::optional<std::vector<ir::Literal>> constant(const std::string& name, ir::DType, const ir::Shape&) const override {
    const auto it = values.find(name);
    if (it == values.end()) return std::nullopt;
    return it->second;
  }
};

// `body`: statements, one per line, without indentation; `parameters`: as in FX text; `result`: what is returned.
inline std::string fx_text(const std::string& parameters, const std::string& body, const std::string& result,
                           const std::string& more = "") {
  std::string text = "class GraphModule(torch.nn.Module):\n    def forward(self, " + parameters + "):\n";
  for (size_t at = 0; at < body.size();) {
    const size_t end = std::min(body.find('\n', at), body.size());
    text += "        " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text + "        return (" + result + ",)\n" + more;
}

inline Result<frontend::Program> lower_text(const std::string& text, const frontend::ConstantSource& constants = FixedConstants{}) {
  const Result<fx::Module> module = fx::read_text(text, "test.fx.txt");
  if (!module) return module.error();
  return lower::lower_fx(*module, constants);
}

inline frontend::Program lowered(const std::string& text, const frontend::ConstantSource& constants = FixedConstants{}) {
  Result<frontend::Program> p = lower_text(text, constants);
  REQUIRE_MESSAGE(p.ok(), (p.ok() ? "" : p.error().message));
  for (ir::NodeId k = 0; k < p->graph.nodes.size(); ++k) CHECK(ir::verify(p->graph, k) == "");
  return std::move(*p);
}

// Float inputs hold 1, 2, 3, ... plus `start[name]`; integer and bool inputs come from `start` too, as lists.
using Inputs = std::map<std::string, std::vector<double>>;

inline std::map<std::string, std::vector<double>> run(const frontend::Program& p, const Inputs& inputs) {
  std::map<ir::NodeId, Tensor> in;
  for (const frontend::Input& i : p.inputs) {
    if (i.node == ir::kNoNode) continue;
    const ir::Node& n = p.graph[i.node];
    Tensor t{n.dtype, n.shape, {}, {}};
    const auto it = inputs.find(i.name);
    for (int64_t k = 0; k < ir::num_elements(n.shape); ++k) {
      const double v = it != inputs.end() ? it->second.at(static_cast<size_t>(k)) : static_cast<double>(k + 1);
      if (t.is_float())
        t.f.push_back(v);
      else
        t.i.push_back(static_cast<int64_t>(v));
    }
    in[i.node] = std::move(t);
  }
  const std::vector<Tensor> values = evaluate(p.graph, in);
  std::map<std::string, std::vector<double>> out;
  for (const frontend::Output& o : p.outputs) {
    if (o.node == ir::kNoNode) continue;
    const Tensor& t = values[o.node];
    std::vector<double>& v = out[o.name];
    const size_t n = t.is_float() ? t.f.size() : t.i.size();
    for (size_t k = 0; k < n; ++k) v.push_back(t.number(k));
  }
  return out;
}

inline std::vector<double> numbers(std::initializer_list<double> v) { return v; }

inline bool has_op(const frontend::Program& p, ir::Op op) {
  for (const ir::Node& n : p.graph.nodes)
    if (n.op == op) return true;
  return false;
}

}  // namespace shardproof::test
