// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "report/blame_report.h"

#include <algorithm>
#include <map>

namespace shardproof::report {

Site site_of(const link::Problem& p, ir::NodeId id, int rank) {
  const ir::Node& n = p.graph[id];
  return {rank, n.label, n.source_op, n.loc.file ? *n.loc.file : "", n.loc.line};
}

std::vector<std::string> parameters_of(const link::Problem& p, const manifest::Manifest& m, ir::NodeId id) {
  constexpr size_t kLooked = 64;
  std::map<ir::NodeId, std::string> known;
  for (const auto& r : p.relation) {
    for (const manifest::OutputSpec& o : m.outputs) {
      if (r.node != ir::kNoNode && !r.name.empty() && o.of == r.name) known.emplace(r.node, o.fqn.empty() ? r.name : o.fqn);
    }
  }
  std::vector<std::string> out;
  std::vector<ir::NodeId> seen = {id};
  for (size_t k = 0; k < seen.size() && seen.size() < kLooked; ++k) {
    const ir::Node& n = p.graph[seen[k]];
    if (auto it = known.find(seen[k]); it != known.end()) out.push_back(it->second);
    const bool view = n.op == ir::Op::Transpose || n.op == ir::Op::Reshape || n.op == ir::Op::Slice || n.op == ir::Op::Broadcast ||
                      (n.op == ir::Op::Map && n.fn == ir::Fn::Convert);
    if (!view && n.label != p.graph[id].label) continue;
    for (ir::NodeId in : n.in) {
      if (std::find(seen.begin(), seen.end(), in) == seen.end()) seen.push_back(in);
    }
  }
  return out;
}

BlameReport blame_of(const link::Problem& p, const manifest::Manifest& m, const interp::Blame& b) {
  BlameReport out;
  if (b.sequential != ir::kNoNode) out.parameters = parameters_of(p, m, b.sequential);
  if (b.sequential != ir::kNoNode) out.sequential = site_of(p, b.sequential, link::kSequential);
  for (const auto& [rank, node] : b.distributed)
    if (node != ir::kNoNode) out.distributed.push_back(site_of(p, node, rank));
  out.code = b.code;
  out.kind = b.kind;
  out.explanation = b.explanation;
  out.repair = b.repair;
  return out;
}

BlameReport blame_of(const link::CommunicationFault& f) {
  BlameReport out;
  for (const auto& s : f.sites) out.distributed.push_back({s.rank, s.node_name, s.op, s.file, s.line});
  out.code = f.kind == "would-hang" ? "SP120" : "SP121";
  out.kind = f.kind;
  out.explanation = f.explanation;
  return out;
}

}  // namespace shardproof::report
