// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// How: the goals are made again at the end of the graph (their views cost nothing), the cone of the goals is collected, and what the
// evaluator holds for its nodes is copied, with the terms that it uses numbered anew in the order in which they were made.
#include "cert/certificate.h"

#include <algorithm>
#include <fstream>
#include <unordered_map>

#include <fmt/format.h>

#include "frontend/certificate/certificate.h"
#include "prove/eval.h"
#include "prove/prover.h"
#include "util/sha256.h"

#ifndef SHARDPROOF_VERSION
#define SHARDPROOF_VERSION "0.1.0"
#endif

namespace shardproof::cert {

using ir::NodeId;
using ir::Op;

namespace {

class Writer {
 public:
  Writer(link::Problem& problem, prove::Prover& prover) : problem_(problem), eval_(prover.evaluator()), linked_(prover.linked()) {}

  std::string write(const manifest::Manifest& m, const std::vector<std::pair<size_t, manifest::Placement>>& proofs,
                    certificate::Certificate& out) {
    out.product = SHARDPROOF_VERSION;
    out.manifest = m.path;
    out.manifest_hash = sha256_hex(m.canonical);
    for (const std::string& f : problem_.files) out.files.emplace_back(f, sha256_file_hex(f));
    for (const std::string& k : m.kernels) out.kernels.emplace_back(k, sha256_file_hex(m.resolve(k)));
    out.linked = static_cast<NodeId>(linked_);
    first_goal_ = problem_.graph.nodes.size();
    std::vector<NodeId> roots;
    for (const auto& [index, placement] : proofs) {
      const link::Output output = problem_.outputs[index];
      const auto goals = problem_.goals(output, placement);
      if (!goals) return fmt::format("output {} has no goals", output.name);
      certificate::OutputProof proof{output.name, to_string(placement, problem_.mesh), {}};
      for (const auto& [x, y] : *goals) {
        roots.insert(roots.end(), {x, y});
        proof.goals.emplace_back(number(x), number(y));
      }
      out.outputs.push_back(std::move(proof));
    }
    claims(roots, out);
    terms(out);
    return broken_;
  }

 private:
  // Goals' nodes follow the linked graph's directly in the file; here other goals may lie between.
  NodeId number(NodeId v) {
    if (v < linked_) return v;
    if (v < first_goal_) broken_ = "a goal rests on a node of another goal";
    return static_cast<NodeId>(v - first_goal_ + linked_);
  }

  void claims(const std::vector<NodeId>& roots, certificate::Certificate& out) {
    const ir::Graph& g = problem_.graph;
    for (NodeId v : roots) eval_.value(v);
    std::vector<char> seen(g.nodes.size(), 0);
    std::vector<NodeId> stack = roots, cone;
    for (NodeId v : roots) seen[v] = 1;
    while (!stack.empty()) {
      const NodeId v = stack.back();
      stack.pop_back();
      cone.push_back(v);
      for (NodeId in : g[v].in) {
        if (!seen[in]) seen[in] = 1, stack.push_back(in);
      }
    }
    std::sort(cone.begin(), cone.end());
    cone.erase(std::unique(cone.begin(), cone.end()), cone.end());
    // Unknowns belong to the first node whose value they are, element by element. Draws may stand outside of the cone.
    for (NodeId v = 0; v < g.nodes.size(); ++v) {
      if (!eval_.done(v) || g[v].dtype == ir::DType::Token) continue;
      const prove::Value& value = eval_.value(v);
      if (value.cells.size() != 1 || value.cells[0].poly.size() != 1) continue;
      const prove::Term& t = value.cells[0].poly[0];
      if (t.coef.is_one() && t.f.size() == 1 && t.f[0].exp.is_one() && eval_.algebra.node(t.f[0].node).kind == prove::Kind::Base &&
          eval_.algebra.node(t.f[0].node).dims == g[v].shape && t.f[0].map == value.cells[0].pos) {
        origin_.try_emplace(t.f[0].node, v);
      }
    }
    for (NodeId v : cone) {
      if (g[v].dtype == ir::DType::Token) continue;
      const prove::Value& value = eval_.value(v);
      certificate::Claim claim{number(v), {}};
      for (const prove::Cell& c : value.cells) claim.cells.push_back(cell(c));
      out.ranks.push_back(static_cast<int64_t>(g[v].shape.size()));
      out.claims.push_back(std::move(claim));
    }
  }

  certificate::Cell cell(const prove::Cell& c) { return {c.ext, c.pos, poly(c.poly)}; }

  certificate::Poly poly(const prove::Poly& p) {
    certificate::Poly out;
    out.reserve(p.size());
    for (const prove::Term& t : p) {
      certificate::Product q{t.coef.num(), t.coef.den(), {}};
      q.f.reserve(t.f.size());
      for (const prove::Factor& f : t.f) {
        use(f.node);
        q.f.push_back({f.node, f.exp.num(), f.exp.den(), f.map});
      }
      out.push_back(std::move(q));
    }
    return out;
  }

  void use(prove::Nid id) {
    if (used_.size() <= id) used_.resize(eval_.algebra.size(), 0);
    if (!used_[id]) used_[id] = 1, pending_.push_back(id);
  }

  void terms(certificate::Certificate& out) {
    std::unordered_map<prove::Nid, certificate::TermNode> made;
    while (!pending_.empty()) {
      const prove::Nid id = pending_.back();
      pending_.pop_back();
      made.emplace(id, term(id));
    }
    std::vector<uint32_t> renumbered(used_.size(), 0);
    for (prove::Nid id = 0; id < used_.size(); ++id) {
      if (!used_[id]) continue;
      renumbered[id] = static_cast<uint32_t>(out.terms.size());
      out.terms.push_back(std::move(made.at(id)));
    }
    auto renumber = [&](certificate::Poly& p) {
      for (certificate::Product& t : p) {
        for (certificate::Factor& f : t.f) f.node = renumbered[f.node];
      }
    };
    for (certificate::TermNode& n : out.terms) {
      for (certificate::Poly& p : n.args) renumber(p);
      for (certificate::Cell& c : n.cells) renumber(c.poly);
    }
    for (certificate::Claim& c : out.claims) {
      for (certificate::Cell& k : c.cells) renumber(k.poly);
    }
  }

  certificate::TermNode term(prove::Nid id) {
    const prove::Node& n = eval_.algebra.node(id);
    certificate::TermNode t;
    t.kind = static_cast<certificate::TermKind>(n.kind);
    t.fn = n.fn;
    t.dtype = n.dtype;
    t.dims = n.dims;
    for (const prove::Poly& p : n.args) t.args.push_back(poly(p));
    t.box = n.box;
    if (n.kind == prove::Kind::Bracket) t.lo = n.lo, t.hi = n.hi;
    t.inner = n.inner;
    t.results = n.result.size();
    if (n.kind == prove::Kind::Lit || n.kind == prove::Kind::Whole || n.kind == prove::Kind::Fn) t.name = n.name;
    if (n.kind == prove::Kind::Base) {
      const auto it = origin_.find(id);
      if (it != origin_.end()) {
        t.origin = number(it->second);
      } else if (const NodeId d = drawn(n); d != ir::kNoNode) {
        t.origin = d;
      } else {
        t.origin = 0;
        broken_ = fmt::format("the unknown {} has no origin", n.name);
      }
    }
    if (n.cells) {
      for (const prove::Cell& c : *n.cells) t.cells.push_back(cell(c));
    }
    return t;
  }

  // A sequential draw that was only read by ranks, or a table that was never a whole value.
  NodeId drawn(const prove::Node& n) {
    const ir::Graph& g = problem_.graph;
    for (NodeId v = 0; v < linked_; ++v) {
      if (n.dense && g[v].op == Op::Dense && g[v].shape == n.dims && g[v].dense && *g[v].dense == *n.dense) return v;
      if (!n.dense && g[v].op == Op::Random && problem_.side[v] == link::kSequential && g[v].shape == n.dims && eval_.done(v)) {
        const prove::Value& value = eval_.value(v);
        if (value.cells.size() == 1 && value.cells[0].poly.size() == 1 && value.cells[0].poly[0].f.size() == 1 &&
            &eval_.algebra.node(value.cells[0].poly[0].f[0].node) == &n) {
          return v;
        }
      }
    }
    return ir::kNoNode;
  }

  link::Problem& problem_;
  prove::Evaluator& eval_;
  size_t linked_ = 0, first_goal_ = 0;
  std::unordered_map<prove::Nid, NodeId> origin_;
  std::vector<char> used_;
  std::vector<prove::Nid> pending_;
  std::string broken_;
};

}  // namespace

std::string write_certificate(const manifest::Manifest& manifest, link::Problem& problem, prove::Prover& prover,
                              const std::vector<std::pair<size_t, manifest::Placement>>& proofs, const std::string& path) {
  try {
    prover.allow(0);
    certificate::Certificate certificate;
    if (std::string wrong = Writer(problem, prover).write(manifest, proofs, certificate); !wrong.empty()) return wrong;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << certificate::encode(certificate);
    file.close();
    return file ? "" : fmt::format("{} cannot be written", path);
  } catch (const prove::Overflow& e) {
    return e.what();
  }
}

}  // namespace shardproof::cert
