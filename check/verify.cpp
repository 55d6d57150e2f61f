// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Claims of operators that compute element by element: views, maps, reductions, indexing. verify_special.cpp has the others.
#include "check/verify.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardproof::check {

using ir::Fn;
using ir::NodeId;
using ir::Op;

std::string text(const Index& i) { return fmt::format("[{}]", fmt::join(i, ", ")); }

Verifier::Verifier(const Certificate& certificate, const link::Problem& problem, uint64_t seed)
    : terms(certificate, problem, seed),
      claims(certificate, problem, terms),
      points(problem, claims, terms, mix(seed, 77)),
      c_(certificate),
      p_(problem),
      ops_(problem.graph, [this](NodeId v, const int64_t* i) { return claims.value(v, i); }),
      trace_(problem.graph, [this](NodeId v, const int64_t* i) {
        reads_.emplace_back(v, Index(i, i + p_.graph[v].shape.size()));
        return exact(1);
      }) {
  const ir::Graph& g = p_.graph;
  side_.resize(g.nodes.size(), Side::Neither);
  exact_.assign(g.nodes.size(), 0);
  for (NodeId v = 0; v < g.nodes.size(); ++v) {
    const int own = v < p_.side.size() ? p_.side[v] : link::kShared;
    Side s = own == link::kSequential ? Side::Sequential : own >= 0 ? Side::Distributed : Side::Neither;
    for (NodeId in : g[v].in) {
      const Side t = side_[in];
      if (t == Side::Neither || t == s) continue;
      s = s == Side::Neither ? t : Side::Mixed;
    }
    side_[v] = s;
  }
  for (const auto& [input, range] : terms.stops())
    assumptions.insert(fmt::format("the sequential program does not stop: {} is in range where it reads by it", g[input].label));
  // What is_nan, is_finite, is_inf look at must be right also in where it is defined.
  for (NodeId v = static_cast<NodeId>(g.nodes.size()); v-- > 0;) {
    const ir::Node& n = g[v];
    const bool looks = n.op == Op::Map && (n.fn == Fn::IsNan || n.fn == Fn::IsFinite || n.fn == Fn::IsInf);
    if (looks || exact_[v]) {
      for (NodeId in : n.in) exact_[in] = 1;
    }
  }
}

Relation Verifier::relation(NodeId v) const {
  if (exact_[v]) return Relation::Both;
  return side_[v] == Side::Sequential ? Relation::Sequential : side_[v] == Side::Distributed ? Relation::Distributed : Relation::Both;
}

std::string Verifier::describe(NodeId v) const {
  const ir::Node& n = p_.graph[v];
  const int s = v < p_.side.size() ? p_.side[v] : link::kShared;
  std::string who = s == link::kSequential ? "sequential" : s >= 0 ? fmt::format("rank {}", s) : "shared";
  return fmt::format("node {} ({}{}{})", v, n.label.empty() ? std::string(ir::name(n.op)) : n.label, ", ", who);
}

std::string Verifier::differs(NodeId v, const std::string& where, const Settled& s, const char* who) const {
  if (s.undecided) return fmt::format("claim of {}: could not be decided at {} within the budget", describe(v), where);
  return fmt::format("claim of {}: at {} {} gives {}, the certificate says {}", describe(v), where, who, shown(s.left), shown(s.right));
}

std::vector<NodeId> Verifier::operands(NodeId v) const {
  const ir::Node& n = p_.graph[v];
  if (claims.has(v) && claims.is_own_unknown(v)) return {};
  if (n.op == Op::Result) return p_.graph[n.in[0]].in;
  return n.in;
}

Number Verifier::at(NodeId v, const Index& i) {
  ops_.open = ops_.unknown = ops_.uncertain = false;
  ops_.work = 0;
  ops_.budget = terms.budget > terms.spent ? terms.budget - terms.spent : 0;
  const Number r = ops_.at(v, i);
  if (ops_.uncertain) terms.uncertain = true;
  if (ops_.work > ops_.budget) terms.spent = terms.budget + 1;
  return ops_.open || ops_.unknown ? undefined() : r;
}

// What to open first, from the terms that stand in the claim of v and in those of its operands.
std::vector<uint32_t> Verifier::difference(NodeId v, const std::vector<NodeId>& in) const {
  std::vector<uint32_t> left, right;
  claims.top_terms(v, right);
  for (NodeId x : in) claims.top_terms(x, left);
  return terms.align(left, right);
}

// A hash of what is to be checked about v: the operator, what is claimed of its operands and of it. Two ranks that compute the same from
// the same have it in common.
uint64_t Verifier::obligation(NodeId v) const {
  const ir::Node& n = p_.graph[v];
  uint64_t h = claims.hash(v);
  for (const auto& part : {static_cast<int>(n.op), static_cast<int>(n.fn), static_cast<int>(n.dtype), static_cast<int>(n.mode),
                           static_cast<int>(n.set), static_cast<int>(relation(v))})
    h = mix(h, static_cast<uint64_t>(part));
  h = mix(mix(mix(h, n.a), n.b), n.c);
  for (NodeId in : n.in) h = mix(mix(h, claims.hash(in)), static_cast<uint64_t>(p_.graph[in].dtype));
  return h;
}

std::string Verifier::claim(NodeId v) {
  const ir::Node& n = p_.graph[v];
  if (side_[v] == Side::Mixed) return fmt::format("{} belongs to both sides", describe(v));
  if (claims.is_own_unknown(v)) {
    if (n.op == Op::Input && ir::is_float(n.dtype)) assumptions.insert("float inputs are finite numbers");
    return "";
  }
  if (ir::num_elements(n.shape) == 0) return "";
  if (n.op == Op::Const || n.op == Op::Dense) return literal(v);
  if (n.op == Op::Random) return draw(v);
  if (n.op != Op::Result && !met_.insert(obligation(v)).second) return "";
  std::string why;
  if (std::optional<Whole> op = whole_of(v)) {
    why = whole(v, *op);
    if (why.empty()) return "";
  }
  const std::string by_elements = elements(v);
  return by_elements.empty()                     ? ""
         : why.empty()                           ? by_elements
         : by_elements.starts_with("no meaning") ? why
                                                 : why + "; nor element by element: " + by_elements;
}

// Which cells of the claim, and of the operands that are read at the same place, hold element i.
uint64_t Verifier::pieces(NodeId v, const Index& i) const {
  const ir::Node& n = p_.graph[v];
  uint64_t h = claims.number(v, i.data());
  NodeId from = 0;
  Index j;
  if (n.op == Op::Map) {
    for (NodeId in : n.in) h = mix(h, p_.graph[in].shape.empty() ? 0 : claims.number(in, i.data()));
  } else if (ops_.view(v, i, from, j)) {
    h = mix(mix(h, from), claims.number(from, j.data()));
  }
  return h;
}

// What `trace_` read, put together by the operator, is the claim as it stands.
bool Verifier::literally(NodeId v, const Terms::Sum& claimed) {
  const ir::Node& n = p_.graph[v];
  const Fn fn = n.op == Op::Contract ? Fn::Mul : n.op == Op::Map ? n.fn : Fn::Add;
  std::vector<Terms::Sum> read(reads_.size());
  Terms::Sum sum, minus(1);
  minus[0].number = terms.minus_one();
  for (size_t a = 0; a < reads_.size(); ++a) claims.formal(reads_[a].first, reads_[a].second.data(), read[a]);
  if (fn == Fn::Exp) {
    if (!Terms::all_finite(read[0])) return false;
    sum.resize(1);
    sum[0].reads = terms.exponential(read[0]), sum[0].factors = 1;
  } else if (fn == Fn::Mul || fn == Fn::Div) {
    sum.resize(1);
    for (size_t a = 0; a < read.size(); ++a) {
      if ((fn == Fn::Div && a == 1 && !terms.invert(read[a])) || !terms.multiply(sum, read[a])) return false;
    }
  } else if (fn == Fn::Select) {  // c x + y - c y, for a truth value c
    sum = read[2];
    for (size_t a : {1, 2}) {
      if (!Terms::all_finite(read[0]) || !Terms::all_finite(read[a])) return false;
      if ((a == 2 && !terms.multiply(read[a], minus)) || !terms.multiply(read[a], read[0])) return false;
      sum.insert(sum.end(), read[a].begin(), read[a].end());
    }
  } else {
    for (size_t a = 0; a < read.size(); ++a) {
      if ((fn == Fn::Neg || (fn == Fn::Sub && a == 1)) && !terms.multiply(read[a], minus)) return false;
      sum.insert(sum.end(), read[a].begin(), read[a].end());
    }
  }
  return terms.shape(sum) == terms.shape(claimed);
}

// Element i of the claim as one element of the map's function, and where it is read; null: it is something else.
const TermNode* Verifier::function(NodeId v, const Index& i, Index& own) const {
  std::vector<int64_t> x;
  const Cell* c = claims.cell(v, i.data(), x);
  const Factor* read = c ? only_read(c->poly) : nullptr;
  if (!read) return nullptr;
  const TermNode& f = terms.node(read->node);
  if (f.kind != TermKind::Fn || f.fn != p_.graph[v].fn || f.args.size() != p_.graph[v].in.size()) return nullptr;
  rows_at(read->map, x, own);
  return within(f, own.data()) ? &f : nullptr;
}

// Element i of the claim is the operator written out.
bool Verifier::literally(NodeId v, const Index& i) {
  const ir::Node& n = p_.graph[v];
  NodeId from = 0;
  Index j;
  const bool view = ops_.view(v, i, from, j);
  if (!view && n.op != Op::Map) return false;
  reads_.clear();
  trace_.at(v, i);
  Terms::Sum claimed, operand;
  const bool cast = n.op == Op::Map && n.fn == Fn::Convert && ir::is_float(n.dtype) && ir::is_float(p_.graph[n.in[0]].dtype);
  const auto laws = {Fn::Add, Fn::Sub, Fn::Neg, Fn::Mul, Fn::Div, Fn::Exp, Fn::Select};
  if (view || cast || (ir::is_float(n.dtype) && std::find(laws.begin(), laws.end(), n.fn) != laws.end())) {
    claims.formal(v, i.data(), claimed);
    if (literally(v, claimed)) return true;
  }
  const TermNode* f = view ? nullptr : function(v, i, j);
  if (!f || f->dtype != n.dtype || n.fn == Fn::Convert) return false;
  for (size_t a = 0; a < reads_.size(); ++a) {
    operand.clear(), claimed.clear();
    claims.formal(reads_[a].first, reads_[a].second.data(), operand);
    terms.formal(f->args[a], j.data(), j.size(), claimed);
    if (terms.shape(operand) != terms.shape(claimed)) return false;
  }
  return true;
}

std::string Verifier::elements(NodeId v) {
  const ir::Node& n = p_.graph[v];
  if (n.op == Op::Map && uninterpreted(n.fn, p_.graph[n.in[0]].dtype, n.dtype)) return congruent(v);
  if (n.op == Op::Map && n.fn == Fn::Convert && p_.graph[n.in[0]].dtype != n.dtype && n.dtype != ir::DType::Bool &&
      (ir::is_float(n.dtype) || ir::is_float(p_.graph[n.in[0]].dtype))) {
    assumptions.insert(fmt::format("cast {} to {} is exact", ir::name(p_.graph[n.in[0]].dtype), ir::name(n.dtype)));
  }
  std::vector<Index> where = points.of(v, true);
  std::vector<int64_t> extents;
  size_t rounds = 0;
  bool is_sum = false;
  if (ops_.reduces(v, extents)) {
    int64_t range = 1;
    for (int64_t e : extents) range = std::min<int64_t>(range * e, 1 << 30);
    is_sum = range > 1;
    if (is_sum && (summands(v, extents, where, false) || summands(v, extents, where, true))) return "";
    // Summing in full is dear: fewer points.
    const size_t most = static_cast<size_t>(std::clamp<int64_t>(60'000 / std::max<int64_t>(range, 1), 3, 1 << 20));
    if (range > 2000) rounds = 5;
    if (where.size() > most) {
      std::vector<Index> few;
      for (size_t k = 0; k < most; ++k) few.push_back(where[k * where.size() / most]);
      where = std::move(few);
    }
  }
  Equation q;
  q.count = where.size();
  q.rounds = rounds;
  q.relation = relation(v);
  q.hint = [&](size_t k) { return &where[k]; };
  q.left = [&](size_t k) { return at(v, where[k]); };
  q.right = [&](size_t k) { return claims.value(v, where[k].data()); };
  q.piece = [&](size_t k) { return pieces(v, where[k]); };
  NodeId from = 0;
  Index j;
  const bool view = !where.empty() && ops_.view(v, where[0], from, j);
  q.hollow = true;
  q.identical = [&](size_t k) { return literally(v, where[k]); };
  at(v, where[0]);
  if (ops_.unknown) return fmt::format("no meaning: {} of {}", ir::name(n.op), describe(v));
  terms.close_all();
  const std::vector<uint32_t> open = view ? std::vector<uint32_t>{} : difference(v, n.in);
  const Settled s = settle(terms, q, open);
  tested += s.tested;
  return s.equal ? "" : differs(v, text(where[s.point]), s, "the operator");
}

// Functions that are not computed: the same function of equal arguments.
std::string Verifier::congruent(NodeId v) {
  const ir::Node& n = p_.graph[v];
  const std::vector<Index> where = points.of(v, true);
  for (size_t a = 0; a < n.in.size(); ++a) {
    Index own;
    std::string form;
    Equation q;
    q.count = where.size();
    q.relation = relation(v);
    const ir::Shape& s = p_.graph[n.in[a]].shape;
    q.left = [&](size_t k) { return claims.value(n.in[a], s.empty() ? nullptr : where[k].data()); };
    q.right = [&](size_t k) {
      const TermNode* f = function(v, where[k], own);
      if (!f) return form = "is no such function", undefined();
      if (n.fn == Fn::Convert && (f->dtype != n.dtype || f->name != ir::name(p_.graph[n.in[0]].dtype)))
        return form = "converts other types", undefined();
      return terms.poly(f->args[a], own.data(), own.size());
    };
    const Settled r = settle(terms, q, {});
    tested += r.tested;
    if (!form.empty()) return fmt::format("claim of {}: {} is not computed, and the claim {}", describe(v), ir::name(n.fn), form);
    if (!r.equal) return differs(v, fmt::format("{}, argument {},", text(where[r.point]), a), r, "the operand");
  }
  return "";
}

std::string Verifier::goal(NodeId x, NodeId y, const std::vector<NodeId>& losses) {
  const ir::Node &a = p_.graph[x], &b = p_.graph[y];
  if (a.shape != b.shape) return fmt::format("goal {} = {}: the shapes differ", x, y);
  if (side_[x] == Side::Mixed || side_[y] == Side::Mixed) return fmt::format("goal {} = {}: a node belongs to both sides", x, y);
  if (side_[x] == Side::Distributed && side_[y] != Side::Distributed) std::swap(x, y);
  if (side_[x] == side_[y] && side_[x] != Side::Neither) return fmt::format("goal {} = {}: both nodes are on one side", x, y);
  if (ir::num_elements(a.shape) == 0) return "";
  const std::vector<Index> where = points.of(x, false, y);
  Equation q;
  q.count = where.size();
  q.relation = Relation::Sequential;  // wherever the sequential value is defined
  q.hint = [&](size_t k) { return &where[k]; };
  q.left = [&](size_t k) { return claims.value(x, where[k].data()); };
  q.right = [&](size_t k) {
    const Number r = claims.value(y, where[k].data());
    const auto none = [&](NodeId v) { return is_undefined(claims.value(v, nullptr)); };
    if (!is_undefined(r) || std::none_of(losses.begin(), losses.end(), none)) return r;
    assumptions.insert("gradients are compared where the loss is defined");
    return claims.value(x, where[k].data());
  };
  Terms::Sum one, other;
  q.identical = [&](size_t k) {
    one.clear(), other.clear();
    claims.formal(x, where[k].data(), one);
    claims.formal(y, where[k].data(), other);
    return terms.shape(one) == terms.shape(other);
  };
  q.piece = [&](size_t k) { return mix(claims.number(x, where[k].data()), claims.number(y, where[k].data())); };
  const Settled s = settle(terms, q, {});
  tested += s.tested;
  if (s.equal) return "";
  if (s.undecided) return fmt::format("goal {} = {}: could not be decided", describe(x), describe(y));
  return fmt::format("goal {} = {}: at {} the claims give {} and {}", describe(x), describe(y), text(where[s.point]), shown(s.left),
                     shown(s.right));
}

}  // namespace shardproof::check
