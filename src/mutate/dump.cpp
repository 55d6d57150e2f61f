// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "mutate/dump.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interp/falsify.h"

namespace shardproof::mutate {

namespace {

using nlohmann::json;

json number(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  return d;
}
json literal(const ir::Literal& l) { return l.kind == ir::Literal::Kind::Float ? number(l.d) : json(l.i); }

json node_json(const ir::Node& n) {
  json j;
  j["op"] = ir::name(n.op);
  if (n.fn != ir::Fn::None) j["fn"] = ir::name(n.fn);
  j["dtype"] = ir::name(n.dtype);
  j["shape"] = n.shape;
  j["in"] = n.in;
  if (!n.a.empty()) j["a"] = n.a;
  if (!n.b.empty()) j["b"] = n.b;
  if (!n.c.empty()) j["c"] = n.c;
  if (n.op == ir::Op::Const || n.op == ir::Op::Random) j["lit"] = literal(n.lit);
  if (n.op == ir::Op::Dense)
    for (const ir::Literal& l : *n.dense) j["dense"].push_back(literal(l));
  if (n.op == ir::Op::Take || n.op == ir::Op::Scatter) {
    static constexpr const char* kModes[] = {"strict", "wrap", "clamp", "fill"};
    j["mode"] = kModes[static_cast<size_t>(n.mode)];
    j["set"] = n.set;
  }
  if (!n.name.empty()) j["name"] = n.name;
  return j;
}

json value_json(const interp::Value& v) {
  std::vector<interp::Axis> axes;
  for (const interp::Axis& a : v.axes) axes.push_back(interp::Axis::unit(a.extent()));
  const interp::Value dense = interp::refine(v, axes);
  json out = json::array();
  for (size_t k = 0; k < dense.data->size; ++k)
    out.push_back(dense.data->number == interp::Number::Integer ? json(dense.data->i[k]) : number(dense.data->m[k]));
  return out;
}

}  // namespace

double total_elements(const link::Problem& problem) {
  double out = 0;
  for (const ir::Node& n : problem.graph.nodes) out += static_cast<double>(ir::num_elements(n.shape));
  return out;
}

std::string dump_json(link::Problem& problem, const DumpInfo& info) {
  json j;
  j["manifest"] = info.manifest;
  j["kind"] = info.kind;
  j["what"] = info.what;
  j["draw"] = info.draw;
  j["outputs"] = json::array();
  static constexpr const char* kAnswers[] = {"different", "same", "undecided"};
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    if (!problem.outputs[k].checked) continue;
    const link::Output output = problem.outputs[k];
    json o;
    o["name"] = output.name;
    o["status"] = k < info.status.size() ? info.status[k] : "";
    o["blocked"] = output.blocked.has_value();
    for (size_t i = 0; info.judgement && i < info.judgement->outputs.size(); ++i)
      if (info.judgement->outputs[i] == k) {
        o["judged"] = kAnswers[static_cast<size_t>(info.judgement->answers[i])];
        o["detail"] = info.judgement->details[i];
      }
    o["candidates"] = json::array();
    for (const interp::Candidate& c : interp::candidates_of(problem, output)) {
      json pairs = c.goals ? json::array() : json();
      if (c.goals)
        for (const auto& [x, y] : *c.goals) pairs.push_back({x, y});
      o["candidates"].push_back(std::move(pairs));
    }
    j["outputs"].push_back(std::move(o));
  }
  for (int round = 0; round < 4; ++round) {
    json set = json::object();
    for (const auto& [id, value] : judge_inputs(problem, info.seed, round, true)) set[std::to_string(id)] = value_json(value);
    j["inputs"].push_back(std::move(set));
  }
  std::vector<ir::NodeId> bound;
  for (const link::Fact& f : problem.facts) bound.push_back(f.input);
  j["bound"] = bound;  // inputs with facts: another evaluator keeps their values
  j["nodes"] = json::array();
  for (const ir::Node& n : problem.graph.nodes) j["nodes"].push_back(node_json(n));
  return j.dump() + "\n";
}

std::string dump_text(const link::Problem& problem) {
  std::string out;
  for (ir::NodeId id = 0; id < problem.graph.nodes.size(); ++id) {
    const int side = id < problem.side.size() ? problem.side[id] : link::kShared;
    out += fmt::format("{:>4} {}  # {}\n",
                       side == link::kSequential ? "seq"
                       : side == link::kShared   ? "-"
                                                 : fmt::format("r{}", side),
                       ir::to_string(problem.graph, id), problem.graph[id].label);
  }
  return out;
}

}  // namespace shardproof::mutate
