// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Names of inputs and outputs, and several graphs of one capture as one program.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "link/linker.h"
#include "manifest/match.h"
#include "manifest/value.h"

namespace shardproof::link {

Names::Names(const std::vector<Entry>& entries) {
  int position = 0;
  for (size_t k = 0; k < entries.size(); ++k) {
    const Entry& e = entries[k];
    int index = static_cast<int>(k);
    std::vector<std::string> all;
    if (!e.tensor) {  // no tensor: neither counted nor found
      names_.push_back({});
      positional_.push_back(false);
      continue;
    }
    std::string name(manifest::strip_percent(e.name)), at = std::to_string(position++);
    bool positional = name == at;
    if (!positional) {
      all.push_back(name);
      by_name_.try_emplace(name, index);
    }
    if (e.aliases) {
      for (const std::string& alias : *e.aliases) {
        std::string a(manifest::strip_percent(alias));
        if (a.empty() || a == name || a == at) continue;
        all.push_back(a);
        by_alias_.try_emplace(a, index);
      }
    }
    by_position_.try_emplace(at, index);
    all.push_back(at);
    names_.push_back(std::move(all));
    positional_.push_back(positional);
  }
}

int Names::find_name(std::string_view name) const {
  std::string key(manifest::strip_percent(name));
  if (auto it = by_name_.find(key); it != by_name_.end()) return it->second;
  if (auto it = by_alias_.find(key); it != by_alias_.end()) return it->second;
  return -1;
}

int Names::find(std::string_view name) const {
  if (int k = find_name(name); k >= 0) return k;
  auto it = by_position_.find(std::string(name));
  return it == by_position_.end() ? -1 : it->second;
}

std::string Names::nearest(std::string_view name) const {
  std::vector<std::string> known;
  for (const auto& list : names_)
    if (!list.empty()) known.push_back(list[0]);
  std::string best = shardproof::nearest(manifest::strip_percent(name), known);
  return best.empty() ? "" : fmt::format("; did you mean \"{}\"?", best);
}

const Names& Linker::names(const ProgramPtr& p, bool outputs) {
  auto& cache = outputs ? output_names_ : input_names_;
  std::unique_ptr<Names>& slot = cache[p.get()];
  if (slot) return *slot;
  std::vector<Names::Entry> entries;
  if (outputs) {
    for (const frontend::Output& o : p->outputs) entries.push_back({o.name, nullptr, o.node != ir::kNoNode});
  } else {
    for (const frontend::Input& i : p->inputs) entries.push_back({i.name, &i.aliases, i.node != ir::kNoNode});
  }
  slot = std::make_unique<Names>(entries);
  return *slot;
}

Result<ProgramPtr> join(const std::vector<ProgramPtr>& programs, std::vector<std::string>& joined) {
  if (programs.size() == 1) return programs[0];
  auto out = std::make_shared<frontend::Program>();
  out->kind = programs[0]->kind;
  out->file = programs[0]->file;
  out->num_partitions = programs[0]->num_partitions;
  out->num_replicas = programs[0]->num_replicas;
  out->meshes = programs[0]->meshes;
  std::unordered_map<std::string, size_t> input_of, output_of;
  std::vector<bool> consumed;
  int64_t draws = 0;
  for (size_t k = 0; k < programs.size(); ++k) {
    const frontend::Program& p = *programs[k];
    if (p.kind != out->kind || p.global_shapes)
      return Diagnostic{"SP209", "several graphs of one program must be graphs of one rank each, of the same kind", p.file, 0, 0};
    std::vector<ir::NodeId> map(p.graph.nodes.size(), ir::kNoNode);
    std::vector<std::string> values, same;
    size_t earlier = out->outputs.size();
    for (const frontend::Input& in : p.inputs) {
      if (in.node == ir::kNoNode) continue;
      const ir::Node& mine = p.graph[in.node];
      ir::NodeId source = ir::kNoNode;
      if (auto it = output_of.find(in.name); k > 0 && it != output_of.end() && it->second < earlier) {
        source = out->outputs[it->second].node;
        consumed[it->second] = true;
        values.push_back(in.name);
      } else if (auto other = input_of.find(in.name); other != input_of.end()) {
        source = out->inputs[other->second].node;
        same.push_back(in.name);
      }
      if (source == ir::kNoNode) continue;
      const ir::Node& node = out->graph[source];
      if (node.shape != mine.shape || node.dtype != mine.dtype)
        return Diagnostic{"SP208",
                          fmt::format("input \"{}\" has shape {} {}, but the earlier graph's value of that name has {} {}", in.name,
                                      ir::name(mine.dtype), shape_text(mine.shape), ir::name(node.dtype), shape_text(node.shape)),
                          p.file, 0, 0};
      map[in.node] = source;
    }
    int64_t draws_here = 0;
    for (ir::NodeId id = 0; id < p.graph.nodes.size(); ++id) {
      if (map[id] != ir::kNoNode) continue;
      ir::Node node = p.graph[id];
      for (ir::NodeId& operand : node.in) operand = map[operand];
      if (node.op == ir::Op::Random) {
        draws_here = std::max(draws_here, node.a[0] + 1);
        node.a[0] += draws;
      }
      map[id] = out->graph.add(std::move(node));
    }
    draws += draws_here;
    for (const frontend::Input& in : p.inputs) {
      if (in.node != ir::kNoNode && (output_of.count(in.name) && std::find(values.begin(), values.end(), in.name) != values.end()))
        continue;
      if (std::find(same.begin(), same.end(), in.name) != same.end()) continue;
      input_of.try_emplace(in.name, out->inputs.size());
      out->inputs.push_back(in);
      if (in.node != ir::kNoNode) out->inputs.back().node = map[in.node];
    }
    for (const frontend::Output& o : p.outputs) {
      if (o.node != ir::kNoNode) output_of.try_emplace(o.name, out->outputs.size());
      out->outputs.push_back(o);
      if (o.node != ir::kNoNode) out->outputs.back().node = map[o.node];
      consumed.push_back(false);
    }
    for (const frontend::Unsupported& u : p.unsupported) out->unsupported.push_back({map[u.node], u.reason});
    for (const auto& [waited, position] : p.waits) {  // positions keep their order: inputs only move to the front
      ir::NodeId p2 = position;
      while (p2 < map.size() && map[p2] <= map[waited]) ++p2;
      ir::NodeId at = p2 < map.size() ? map[p2] : static_cast<ir::NodeId>(out->graph.nodes.size());
      out->waits.emplace_back(map[waited], at);
    }
    for (const frontend::Branch& branch : p.branches)
      out->branches.push_back({map[branch.begin], map[branch.end - 1] + 1, map[branch.condition], branch.taken});
    out->notes.insert(out->notes.end(), p.notes.begin(), p.notes.end());
    auto list = [](std::vector<std::string>& names) {
      size_t more = names.size() > 6 ? names.size() - 6 : 0;
      if (more) names.resize(6);
      return fmt::format("{}{}", fmt::join(names, ", "), more ? fmt::format(" and {} more", more) : "");
    };
    if (!values.empty())
      joined.push_back(
          fmt::format("inputs of {} that have the name of an output of an earlier graph take its value: {}", p.file, list(values)));
    if (!same.empty())
      joined.push_back(fmt::format("inputs of {} that have the name of an earlier graph's input are that input: {}", p.file, list(same)));
  }
  // Values handed from graph to graph are no outputs of the whole, unless asked for by name: they come last.
  std::vector<frontend::Output> first, last;
  for (size_t k = 0; k < out->outputs.size(); ++k) (consumed[k] ? last : first).push_back(std::move(out->outputs[k]));
  size_t handed_on = last.size();
  out->outputs = std::move(first);
  for (frontend::Output& o : last) out->outputs.push_back(std::move(o));
  out->handed_on = handed_on;
  return ProgramPtr(std::move(out));
}

}  // namespace shardproof::link
