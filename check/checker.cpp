// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "check/checker.h"

#include <algorithm>

#include <fmt/format.h>

#include "check/verify.h"
#include "util/sha256.h"

#ifndef SHARDPROOF_VERSION
#define SHARDPROOF_VERSION "0.1.0"
#endif

namespace shardproof::check {

using ir::NodeId;

namespace {

// The certificate is about these very programs.
std::string same_files(const Certificate& c, const manifest::Manifest& m, const link::Problem& p) {
  if (c.product != SHARDPROOF_VERSION) return fmt::format("it was written by version {}, this is {}", c.product, SHARDPROOF_VERSION);
  if (c.manifest_hash != sha256_hex(m.canonical)) return "it is about another manifest";
  auto compare = [](const auto& written, const std::vector<std::string>& paths) -> std::string {
    if (written.size() != paths.size()) return fmt::format("it is about {} files, the manifest names {}", written.size(), paths.size());
    for (size_t k = 0; k < paths.size(); ++k) {
      if (written[k].second != sha256_file_hex(paths[k])) return fmt::format("{} is not the file that it is about", paths[k]);
    }
    return "";
  };
  if (std::string wrong = compare(c.files, p.files); !wrong.empty()) return wrong;
  std::vector<std::string> kernels;
  for (const std::string& k : m.kernels) kernels.push_back(m.resolve(k));
  return compare(c.kernels, kernels);
}

std::string goals(const Certificate& c, link::Problem& p, std::vector<std::tuple<NodeId, NodeId, bool>>& all) {  // bool: a gradient
  const size_t linked = p.graph.nodes.size();
  if (c.linked != linked) return fmt::format("it is about a linked graph of {} nodes, here are {}", c.linked, linked);
  size_t next = 0;
  std::vector<char> depends;
  for (size_t k = 0; k < p.outputs.size(); ++k) {
    const link::Output o = p.outputs[k];  // a copy: goals append to the problem
    if (!o.checked) continue;
    if (o.blocked) return fmt::format("output {}: {}", o.name, *o.blocked);
    if (next >= c.outputs.size()) return fmt::format("output {} is missing", o.name);
    const OutputProof& proof = c.outputs[next++];
    if (proof.name != o.name) return fmt::format("output {} is missing ({} stands in its place)", o.name, proof.name);
    ir::mark_dependent(p.graph, depends);
    if (link::is_vacuous(o, depends))
      return fmt::format("output {}: the distributed values depend on no input, but the sequential one does", o.name);
    std::vector<manifest::Placement> allowed{o.expect};
    if (o.expect.kind == manifest::Placement::Kind::Any) allowed = p.any_candidates(o);
    const manifest::Placement* placement = nullptr;
    for (const manifest::Placement& a : allowed) {
      if (!placement && to_string(a, p.mesh) == proof.placement) placement = &a;
    }
    if (!placement) return fmt::format("output {}: {} is not what the manifest expects", o.name, proof.placement);
    const auto pairs = p.goals(o, *placement);
    if (!pairs || pairs->empty()) return fmt::format("output {} cannot have the placement {}", o.name, proof.placement);
    if (*pairs != proof.goals)
      return fmt::format("output {}: its goals are not those that the placement {} asks for", o.name, proof.placement);
    for (const auto& [x, y] : *pairs) all.emplace_back(x, y, o.role == manifest::Role::Gradient);
  }
  if (next == 0) return "no output is checked";
  if (next != c.outputs.size()) return "it proves outputs that the manifest does not check";
  return "";
}

}  // namespace

Report check(const Certificate& c, const manifest::Manifest& m, link::Problem& problem, uint64_t seed, uint64_t thrift) {
  Report r;
  r.terms = c.terms.size();
  auto reject = [&](std::string why) {
    r.rejected = std::move(why);
    return r;
  };
  if (std::string wrong = same_files(c, m, problem); !wrong.empty()) return reject(wrong);
  std::vector<std::tuple<NodeId, NodeId, bool>> pairs;
  if (std::string wrong = goals(c, problem, pairs); !wrong.empty()) return reject(wrong);
  const size_t nodes = problem.graph.nodes.size();
  for (const TermNode& t : c.terms) {
    if (t.kind != TermKind::Base) continue;
    if (t.origin >= nodes || problem.graph[t.origin].dtype == ir::DType::Token)
      return reject(fmt::format("an unknown comes from node {}, which there is not", t.origin));
    if (t.dims != problem.graph[t.origin].shape)
      return reject(fmt::format("the unknown of node {} has another shape than the node", t.origin));
  }
  Verifier verifier(c, problem, seed);
  verifier.terms.thrift = thrift;
  if (std::string wrong = verifier.prepare(); !wrong.empty()) return reject(wrong);
  // What the goals rest on.
  std::vector<char> needed(nodes, 0);
  for (const auto& [x, y, gradient] : pairs) needed[x] = needed[y] = 1;
  for (NodeId v = static_cast<NodeId>(nodes); v-- > 0;) {
    if (!needed[v]) continue;
    if (!verifier.claims.has(v))
      return reject(fmt::format("no claim about node {} ({}), which the goals need", v, to_string(problem.graph, v)));
    for (NodeId in : verifier.operands(v)) needed[in] = 1;
  }
  for (NodeId v = 0; v < nodes; ++v) {
    if (!needed[v]) continue;
    ++r.claims;
    if (std::string wrong = verifier.claim(v); !wrong.empty()) return reject(wrong);
  }
  for (const auto& [x, y, gradient] : pairs) {
    ++r.goals;
    const auto losses = gradient ? problem.losses() : std::vector<NodeId>{};
    if (const std::string wrong = verifier.goal(x, y, losses); !wrong.empty()) return reject(wrong);
  }
  verifier.assumptions.insert(problem.assumptions.begin(), problem.assumptions.end());
  r.assumptions.assign(verifier.assumptions.begin(), verifier.assumptions.end());
  r.points = verifier.tested;
  r.reads = verifier.terms.spent;
  return r;
}

}  // namespace shardproof::check
