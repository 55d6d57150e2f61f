// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The prover: normal forms of both sides of a goal, compared on common cells.
#include "prove/prover.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "prove/eval.h"
#include "util/result.h"
#include "util/work_clock.h"

namespace shardproof::prove {

struct Prover::Impl {
  const link::Problem& problem;
  Limits limits;
  Evaluator eval;
  std::string reason, detail;
  bool started = false;
  size_t linked = 0;

  Impl(const link::Problem& p, Limits l, size_t n) : problem(p), limits(l), eval(p, l), linked(n > 0 ? n : p.graph.nodes.size()) {
    allow(l.seconds);
  }
  void allow(double seconds) { eval.algebra.deadline = seconds > 0 ? util::WorkClock::seconds() + seconds : 0; }

  // The sequential program first: the forms in which it walks its dimensions are those in which the ranks' pieces are recognised.
  void start() {
    if (started) return;
    started = true;
    const auto see = [&](const link::Output& o) {
      if (o.sequential != ir::kNoNode && o.checked) eval.value(o.sequential);
    };
    // Once more where what it showed last changes the forms of what it did first (L-47).
    for (int round = 0; round < 3; ++round) {
      if (round > 0 && fired(Rule::L47)) eval.forget();
      for (const link::Loop& loop : problem.loops) {
        for (const link::Loop::Carried& c : loop.carried) see(c.initial), see(c.next);
      }
      for (const link::Output& o : problem.outputs) see(o);
      if (!eval.algebra.premature()) break;
    }
    eval.algebra.end_of_sequential();
  }

  // Of each node: the first undecided one in its cone. Many goals of a large program share it.
  std::vector<ir::NodeId> undecided_below;
  size_t undecided_then = 0;

  // Is some input of the cone undecided? Its reason explains a failure best.
  bool explain(ir::NodeId goal) {
    if (eval.undecided.empty()) return false;
    if (undecided_then != eval.undecided.size()) undecided_below.clear();
    undecided_then = eval.undecided.size();
    for (auto id = static_cast<ir::NodeId>(undecided_below.size()); id < problem.graph.nodes.size(); ++id) {  // inputs have smaller ids
      ir::NodeId first = eval.undecided.count(id) != 0 ? id : ir::kNoNode;
      for (ir::NodeId in : problem.graph[id].in) {
        if (undecided_below[in] != ir::kNoNode && (first == ir::kNoNode || undecided_below[in] < first)) first = undecided_below[in];
      }
      undecided_below.push_back(first);
    }
    const ir::NodeId first = undecided_below[goal];
    if (first == ir::kNoNode) return false;
    const auto& [why, what] = eval.undecided.at(first);
    const ir::Node& n = problem.graph[first];
    reason = why;
    detail = fmt::format("{} {}: {}", n.source_op.empty() ? std::string(ir::name(n.op)) : n.source_op, n.label, what);
    return true;
  }
};

Prover::Prover(const link::Problem& problem, Limits limits, size_t linked) : impl_(std::make_unique<Impl>(problem, limits, linked)) {}
Prover::~Prover() = default;
void Prover::allow(double seconds) { impl_->allow(seconds); }
bool Prover::where_defined(const std::vector<ir::NodeId>& scalars) {
  Impl& m = *impl_;
  Algebra& a = m.eval.algebra;
  a.losses.clear();
  try {
    m.start();
    for (const ir::NodeId id : scalars) {
      const Value& v = m.eval.value(id);
      if (v.shape.empty() && v.cells.size() == 1 && v.cells[0].ext.empty()) a.losses.push_back(v.cells[0].poly);
    }
  } catch (const Overflow&) {  // then nothing is excused
  }
  return std::exchange(a.losses_used, false);
}
void Prover::meet_at(std::vector<Meeting> meetings) { impl_->eval.meet_at(std::move(meetings)); }
void Prover::by_angle() { impl_->eval.algebra.by_angle = true; }
bool Prover::has_angle() const { return impl_->eval.algebra.has_angle(); }
void Prover::by_order() { impl_->eval.algebra.by_order = true; }
bool Prover::has_order() const { return impl_->eval.has_order; }
void Prover::try_hard() { impl_->eval.algebra.thorough = true; }
Evaluator& Prover::evaluator() { return impl_->eval; }
size_t Prover::linked() const { return impl_->linked; }

bool Prover::finite(ir::NodeId x) {
  Impl& m = *impl_;
  try {
    m.start();
    const Value& v = m.eval.value(x);
    return std::all_of(v.cells.begin(), v.cells.end(), [&](const Cell& c) { return m.eval.algebra.known(c.poly, c.ext).finite; });
  } catch (const Overflow&) {
    return false;
  }
}

Prover::Answer Prover::equal(ir::NodeId x, ir::NodeId y) {
  Impl& m = *impl_;
  m.reason.clear();
  m.detail.clear();
  try {
    m.start();
    const Value a = m.eval.value(x);
    const Value b = m.eval.value(y);
    std::string difference;
    if (m.eval.views.equal(a, b, &difference)) return Answer::Equal;
    m.reason = "missing-lemma";
    m.detail = difference.size() > 600 ? difference.substr(0, 600) + " ..." : difference;
    if (!m.explain(x)) m.explain(y);
  } catch (const Overflow& e) {
    m.reason = std::string(e.what()) == "time limit" ? "budget" : "missing-lemma";
    m.detail = e.what();
  }
  return Answer::NotProved;
}

std::optional<ir::NodeId> Prover::first_strange(ir::NodeId y) {
  Impl& m = *impl_;
  const Algebra& a = m.eval.algebra;
  if (!a.structure_known) return std::nullopt;
  const auto strange = [&](ir::NodeId id) {
    if (m.eval.undecided.count(id) != 0) return true;
    for (const Cell& c : m.eval.value(id).cells) {
      for (const Term& t : c.poly) {
        for (const Factor& f : t.f) {
          const Node& n = a.node(f.node);
          const bool counted =
              n.kind == Kind::Fn || n.kind == Kind::Sum || n.kind == Kind::Red || n.kind == Kind::Whole || n.kind == Kind::Take;
          if (counted && !a.sequential(f.node) && !(n.kind == Kind::Red && n.kernel < a.sequential_kernels)) return true;
        }
      }
    }
    return false;
  };
  std::optional<ir::NodeId> first;
  try {
    if (!strange(y)) return std::nullopt;
    std::vector<ir::NodeId> stack{y};
    std::vector<char> seen(m.problem.graph.nodes.size(), 0);
    while (!stack.empty()) {
      const ir::NodeId id = stack.back();
      stack.pop_back();
      bool inherited = false;
      for (ir::NodeId in : m.problem.graph[id].in) {
        if (seen[in] == 2 || (seen[in] == 0 && strange(in))) {
          inherited = true;
          if (seen[in] == 0) seen[in] = 2, stack.push_back(in);
        } else {
          seen[in] = 1;
        }
      }
      if (!inherited && id < m.linked && (!first || id < *first)) first = id;
    }
  } catch (const Overflow&) {
  }
  return first;
}

std::string Prover::describe(ir::NodeId x) {
  const Value v = impl_->eval.value(x);
  std::string out;
  for (const Cell& c : v.cells) {
    out += "{";
    for (int64_t e : c.ext) out += std::to_string(e) + " ";
    out += "at";
    const size_t w = c.ext.size() + 1;
    for (size_t d = 0; d < v.shape.size(); ++d) {
      out += d ? ", " : " ";
      for (size_t k = 0; k < w; ++k) {
        if (c.pos[d * w + k] != 0 || k + 1 == w)
          out += fmt::format("{}{}{}", k && c.pos[d * w + k] >= 0 ? "+" : "", c.pos[d * w + k],
                             k + 1 == w ? std::string() : std::string(1, static_cast<char>('a' + k)));
      }
    }
    out += ": " + impl_->eval.algebra.str(c.poly) + "} ";
    if (out.size() > 2000) return out + "...";
  }
  return out;
}

// Walks down two nodes while they have the same form, to the first place where they differ.
std::string Prover::contrast(uint32_t x, uint32_t y, int depth) const {
  const Algebra& a = impl_->eval.algebra;
  const Node &n = a.node(x), &m = a.node(y);
  std::string out = dump(x, x + 1) + dump(y, y + 1);
  if (depth == 0 || n.kind != m.kind || n.fn != m.fn || n.args.size() != m.args.size()) return out;
  for (size_t k = 0; k < n.args.size(); ++k) {
    if (n.args[k].size() != m.args[k].size()) return out;
    for (size_t t = 0; t < n.args[k].size(); ++t) {
      const Term &p = n.args[k][t], &q = m.args[k][t];
      if (p.f.size() != q.f.size()) return out;
      std::vector<uint32_t> left, right;
      for (const Factor& f : p.f) left.push_back(f.node);
      for (const Factor& f : q.f) {
        const auto it = std::find(left.begin(), left.end(), f.node);
        if (it != left.end())
          left.erase(it);
        else
          right.push_back(f.node);
      }
      for (const uint32_t l : left) {
        for (const uint32_t r : right) {
          if (a.node(l).kind == a.node(r).kind && a.node(l).fn == a.node(r).fn) return out + contrast(l, r, depth - 1);
        }
      }
      if (!left.empty()) return out;
    }
  }
  return out;
}

std::string Prover::dump(uint32_t first, uint32_t last) const {
  std::string out;
  const Algebra& a = impl_->eval.algebra;
  for (uint32_t id = first; id < std::min<size_t>(last, a.size()); ++id) {
    const Node& n = a.node(id);
    out += fmt::format("{} kind {} fn {} dims", id, static_cast<int>(n.kind), ir::name(n.fn));
    for (int64_t d : n.dims) out += fmt::format(" {}", d);
    if (!n.box.empty()) {
      out += " box";
      for (int64_t d : n.box) out += fmt::format(" {}", d);
    }
    if (n.kind == Kind::Bracket) out += fmt::format(" [{},{})", n.lo, n.hi);
    for (const Ext& e : n.inner) {
      out += " inner";
      for (int64_t d : e) out += fmt::format(" {}", d);
    }
    for (const Poly& p : n.args) out += " | " + a.str(p);
    out += fmt::format("  {}{}{}{}\n",
                       n.known.finite   ? "F"
                       : n.known.no_inf ? "f"
                                        : "",
                       n.known.nonneg ? "+" : "", n.known.nonzero ? "!" : "", n.known.integer ? "i" : "");
  }
  return out;
}

const std::string& Prover::reason() const { return impl_->reason; }
const std::string& Prover::detail() const { return impl_->detail; }
std::vector<std::string> Prover::assumptions() const { return {impl_->eval.assumptions.begin(), impl_->eval.assumptions.end()}; }
Prover::Stats Prover::stats() const { return {impl_->eval.evaluated, impl_->eval.algebra.size(), impl_->eval.algebra.applications}; }

}  // namespace shardproof::prove
