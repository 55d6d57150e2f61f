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
      ops_(problem.graph, [this](NodeId v, const int64_t* i) { return claims.value(v, i); }) {
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
  std::string why;
  if (std::optional<Whole> op = whole_of(v)) {
    why = whole(v, *op);
    if (why.empty()) return "";
  }
  const std::string by_elements = elements(v);
  return by_elements.empty() ? "" : why.empty() || !by_elements.starts_with("no meaning") ? by_elements : why;
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
  bool long_sum = false;
  const std::vector<Index> all = where;
  if (ops_.reduces(v, extents)) {
    int64_t range = 1;
    for (int64_t e : extents) range = std::min<int64_t>(range * e, 1 << 30);
    long_sum = range > 32;
    if (long_sum && summands(v, extents, where, 0)) return "";
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
  NodeId from = 0;
  Index j;
  if (!where.empty() && ops_.view(v, where[0], from, j)) {
    q.identical = [&](size_t k) { return ops_.view(v, where[k], from, j) && claims.shape(from, j.data()) == claims.shape(v, where[k].data()); };
  }
  at(v, where[0]);
  if (ops_.unknown) return fmt::format("no meaning: {} of {}", ir::name(n.op), describe(v));
  const std::vector<uint32_t> open = q.identical ? std::vector<uint32_t>{} : difference(v, n.in);
  if (long_sum) q.budget = 2'000'000;
  Settled s = settle(terms, q, open);
  tested += s.tested;
  if (!s.equal && long_sum) {
    if (summands(v, extents, all, 6)) return "";
    q.budget = 30'000'000;
    s = settle(terms, q, open);
    tested += s.tested;
  }
  return s.equal ? "" : differs(v, text(where[s.point]), s, "the operator");
}

// A long sum: the claim's sums are unrolled beside the operator's. If the claimed sums, taken as one, have as many summands as the operator's
// range, summand by summand equality (in some order of their variables) is enough; it is tested at the ends and at random places.
bool Verifier::summands(NodeId v, const std::vector<int64_t>& extents, const std::vector<Index>& where, int levels) {
  const ir::Node& n = p_.graph[v];
  const bool sum = n.op != Op::Reduce || n.fn == Fn::Add;
  if (ir::is_int(n.dtype)) return false;
  int64_t range = 1;
  for (int64_t e : extents) range *= e;
  std::vector<uint32_t> inputs;
  for (NodeId in : n.in) claims.top_terms(in, inputs);
  auto shared = [&](uint32_t id) { return std::find(inputs.begin(), inputs.end(), terms.kernel(id)) != inputs.end(); };
  // Per cell and product: the ways in which some of its sums are unrolled, some of their variables walking the range and the others being
  // summed inside.
  struct Way {
    std::vector<size_t> reds;                         // factors that are unrolled; the others stay
    std::vector<std::pair<int64_t, int64_t>> bound;   // extent, low of each of their variables
    std::vector<size_t> keep;                         // dimensions of the range that the variables walk
    std::vector<size_t> order;                        // variables, first slowest
    std::vector<size_t> inside;                       // variables that are summed
    int64_t divide = 1;                               // places of the range at which the same summand stands
  };
  struct Plan {
    const Cell* cell;
    const Product* product;
    std::vector<Way> ways;
    size_t way = 0;
  };
  std::map<const Cell*, std::vector<Plan>> plans;
  bool any = false;
  for (const Located& l : claims.cells(v)) {
    std::vector<Plan>& list = plans[l.cell];
    for (const Product& t : l.cell->poly) {
      Plan plan{l.cell, &t, {}, 0};
      std::vector<size_t> sums;
      for (size_t k = 0; k < t.f.size(); ++k) {
        const TermNode& r = terms.node(t.f[k].node);
        if (r.kind == TermKind::Red && (sum ? r.fn == Fn::Add : r.fn == n.fn) && t.f[k].num == 1 && t.f[k].den == 1 && !shared(t.f[k].node)) sums.push_back(k);
      }
      if (!sum && (sums.size() != 1 || t.f.size() != 1 || t.num <= 0 || l.cell->poly.size() != 1)) return false;   // c max x = max c x
      if (sums.size() > 4 || extents.size() > 4) return false;
      any |= !sums.empty();
      for (unsigned chosen = (1u << sums.size()) - 1; chosen != ~0u; --chosen) {
        Way way;
        for (size_t k = 0; k < sums.size(); ++k) {
          if (!(chosen >> k & 1)) continue;
          way.reds.push_back(sums[k]);
          const TermNode& r = terms.node(t.f[sums[k]].node);
          for (size_t b = 0; b < r.box.size(); b += 2) {
            way.bound.emplace_back(r.box[b + 1] - r.box[b], r.box[b]);
            if (way.bound.back().first < 1) return false;
          }
        }
        if (way.bound.size() > 6 || (way.reds.empty() && !sums.empty() && !sum)) continue;
        // Subsets of the range's dimensions and of the variables with equally many places: all of both first.
        for (unsigned dims = (1u << extents.size()) - 1; dims != ~0u; --dims) {
          int64_t part = 1;
          way.keep.clear();
          for (size_t d = 0; d < extents.size(); ++d) {
            if (dims >> d & 1) part *= extents[d], way.keep.push_back(d);
          }
          way.divide = range / part;
          if (!sum && way.divide != 1) break;
          for (unsigned mask = (1u << way.bound.size()) - 1; mask != ~0u; --mask) {
            int64_t places = 1, rest = 1;
            way.order.clear(), way.inside.clear();
            for (size_t b = 0; b < way.bound.size(); ++b) {
              (mask >> b & 1 ? places : rest) = std::min<int64_t>((mask >> b & 1 ? places : rest) * way.bound[b].first, int64_t{1} << 40);
              (mask >> b & 1 ? way.order : way.inside).push_back(b);
            }
            if (places != part || rest > 20'000) continue;
            do {
              plan.ways.push_back(way);
            } while (plan.ways.size() < 128 && std::next_permutation(way.order.begin(), way.order.end()));
          }
        }
      }
      if (plan.ways.empty()) return false;
      list.push_back(std::move(plan));
    }
  }
  if (!any) return false;
  std::vector<uint32_t> unrolled;
  for (const Located& l : claims.cells(v)) {
    for (size_t p = 0; p < l.cell->poly.size(); ++p) {
      const Product& t = l.cell->poly[p];
      const Plan& plan = plans[l.cell][p];
      for (size_t k = 0; k < t.f.size(); ++k) {
        const std::vector<size_t>& reds = plan.ways[0].reds;
        if (std::find(reds.begin(), reds.end(), k) == reds.end()) {
          unrolled.push_back(terms.kernel(t.f[k].node));
        } else {
          terms.inside(t.f[k].node, unrolled);
        }
      }
    }
  }
  const std::vector<uint32_t> open = terms.align(inputs, unrolled);
  // Points: some of the result, each with the ends of the range and random places.
  std::vector<std::pair<Index, Index>> at;
  const size_t most = 40;
  for (size_t k = 0; k < std::min(most, where.size()); ++k) {
    const Index& i = where[where.size() <= most ? k : k * where.size() / most];
    for (int place = 0; place < 5; ++place) {
      Index x(extents.size());
      for (size_t d = 0; d < extents.size(); ++d) {
        x[d] = place == 0 ? 0 : place == 1 ? extents[d] - 1 : points.below(extents[d]);
        if (place == 2 && points.below(2)) x[d] = points.below(2) ? 0 : extents[d] - 1;
      }
      at.emplace_back(i, std::move(x));
    }
  }
  std::vector<int64_t> x, y;
  bool finite = true;
  auto right = [&](size_t k) {
    const Cell* c = claims.cell(v, at[k].first.data(), x);
    if (!c) return undefined();
    const std::vector<int64_t> vars = x;
    Number total = exact(0);
    const std::vector<Plan>& list = plans[c];
    for (size_t p = 0; p < list.size(); ++p) {
      const Product& t = c->poly[p];
      const Plan& plan = list[p];
      // The variables' values at this place of the range.
      const Way& way = plan.ways[plan.way];
      int64_t place = 0;
      for (size_t d : way.keep) place = place * extents[d] + at[k].second[d];
      std::vector<int64_t> u(way.bound.size());
      for (size_t b = 0; b < u.size(); ++b) u[b] = way.bound[b].second;
      for (size_t b = way.order.size(); b-- > 0;) {
        const size_t var = way.order[b];
        u[var] = way.bound[var].second + place % way.bound[var].first;
        place /= way.bound[var].first;
      }
      Number value = way.divide == 1 ? fraction(t.num, t.den) : mul(fraction(t.num, t.den), fraction(1, way.divide));
      for (size_t f = 0; f < t.f.size(); ++f) {
        if (std::find(way.reds.begin(), way.reds.end(), f) != way.reds.end()) continue;
        Number b = terms.factor(t.f[f], vars.data(), vars.size());
        if (t.f[f].num != 1 || t.f[f].den != 1) b = power(b, t.f[f].num, t.f[f].den, terms.uncertain);
        finite &= !std::isinf(b.v);   // inf times a sum is not the sum of inf times
        value = mul(value, b);
      }
      // The product of the bodies, summed over the variables inside.
      Number inner = exact(way.reds.empty() || sum ? 0 : n.fn == Fn::Max ? -INFINITY : INFINITY);
      while (true) {
        Number product = exact(1);
        size_t next = 0;
        for (size_t f : way.reds) {
          const TermNode& r = terms.node(t.f[f].node);
          y.assign(r.dims.size(), 0);
          bool inside = true;
          const size_t w = vars.size() + 1;
          for (size_t d = 0; d < r.dims.size(); ++d) {
            y[d] = t.f[f].map[d * w + w - 1];
            for (size_t q = 0; q + 1 < w; ++q) y[d] += t.f[f].map[d * w + q] * vars[q];
            inside &= r.dims[d] == kUnbounded || (y[d] >= 0 && y[d] < r.dims[d]);
          }
          for (size_t q = 0; q < r.box.size() / 2; ++q) y.push_back(u[next++]);
          product = mul(product, inside ? terms.poly(r.args[0], y.data(), y.size()) : undefined());
        }
        if (way.inside.empty() || sum) {
          inner = way.inside.empty() ? product : add(inner, product);
        } else {
          const Number pair[2] = {inner, product};
          inner = apply(n.fn, pair, 2, ir::DType::F32, ir::DType::F32, terms.uncertain);
        }
        size_t q = way.inside.size();
        while (q-- > 0) {
          const size_t var = way.inside[q];
          if (++u[var] < way.bound[var].second + way.bound[var].first) break;
          u[var] = way.bound[var].second;
        }
        if (q == static_cast<size_t>(-1)) break;
      }
      value = mul(value, inner);
      total = add(total, value);
    }
    return total;
  };
  Equation q;
  q.count = at.size();
  q.relation = relation(v);
  q.levels = 6;
  q.budget = 4'000'000;
  q.hint = [&](size_t k) { return &at[k].first; };
  q.left = [&](size_t k) {
    ops_.uncertain = false;
    const Number r = ops_.body(v, at[k].first, at[k].second);
    if (ops_.uncertain) terms.uncertain = true;
    return r;
  };
  q.right = right;
  // The ways of the first product; the other products go the way in which most of their reads are those of the first.
  std::vector<Plan*> all;
  for (auto& [cell, list] : plans) {
    for (Plan& plan : list) all.push_back(&plan);
  }
  auto reads = [&](const Plan& plan, const Way& way, const Index& place, std::vector<uint64_t>& out) {
    out.clear();
    const std::vector<int64_t> vars(plan.cell->ext.size(), 0);
    int64_t linear = 0;
    for (size_t d : way.keep) linear = linear * extents[d] + place[d];
    std::vector<int64_t> u(way.bound.size());
    for (size_t b = 0; b < u.size(); ++b) u[b] = way.bound[b].second;
    for (size_t b = way.order.size(); b-- > 0;) {
      u[way.order[b]] += linear % way.bound[way.order[b]].first;
      linear /= way.bound[way.order[b]].first;
    }
    size_t next = 0;
    for (size_t f : way.reds) {
      const TermNode& r = terms.node(plan.product->f[f].node);
      std::vector<int64_t> z(r.dims.size());
      const size_t w = vars.size() + 1;
      for (size_t d = 0; d < z.size(); ++d) z[d] = plan.product->f[f].map[d * w + w - 1];
      for (size_t q = 0; q < r.box.size() / 2; ++q) z.push_back(u[next++]);
      for (const Product& t : r.args[0]) {
        for (const Factor& g : t.f) {
          uint64_t h = g.node;
          for (size_t d = 0; d < terms.node(g.node).dims.size(); ++d) {
            int64_t value = g.map[d * (z.size() + 1) + z.size()];
            for (size_t k = 0; k < z.size(); ++k) value += g.map[d * (z.size() + 1) + k] * z[k];
            h = mix(h, static_cast<uint64_t>(value));
          }
          out.push_back(h);
        }
      }
    }
    std::sort(out.begin(), out.end());
  };
  auto holds = [&] {
    finite = true;
    const Settled s = settle(terms, q, open);
    tested += s.tested;
    return s.equal && finite;
  };
  Index place(extents.size());
  for (size_t d = 0; d < extents.size(); ++d) place[d] = extents[d] - 1 - (extents[d] > 2 ? points.below(extents[d] / 2) : 0);
  std::vector<uint64_t> mine, theirs, common;
  {
    q.levels = levels;
    for (size_t first = 0; first < std::min<size_t>(all[0]->ways.size(), levels == 0 ? 128 : 6); ++first) {
      all[0]->way = first;
      reads(*all[0], all[0]->ways[first], place, mine);
      for (size_t k = 1; k < all.size(); ++k) {
        size_t most_common = 0;
        all[k]->way = 0;
        for (size_t way = 0; way < all[k]->ways.size(); ++way) {
          reads(*all[k], all[k]->ways[way], place, theirs);
          common.clear();
          std::set_intersection(mine.begin(), mine.end(), theirs.begin(), theirs.end(), std::back_inserter(common));
          if (common.size() > most_common) most_common = common.size(), all[k]->way = way;
        }
      }
      if (holds()) return true;
    }
    // Then any combination.
    for (Plan* plan : all) plan->way = 0;
    for (int attempt = 0; attempt < (levels == 0 ? 200 : 8); ++attempt) {
      if (holds()) return true;
      size_t k = 0;
      while (k < all.size() && ++all[k]->way == all[k]->ways.size()) all[k++]->way = 0;
      if (k == all.size()) break;
    }
  }
  return false;
}

// Functions that are not computed: the same function of equal arguments.
std::string Verifier::congruent(NodeId v) {
  const ir::Node& n = p_.graph[v];
  const std::vector<Index> where = points.of(v, true);
  for (size_t a = 0; a < n.in.size(); ++a) {
    std::vector<int64_t> x, own;
    std::string form;
    Equation q;
    q.count = where.size();
    q.relation = relation(v);
    const ir::Shape& s = p_.graph[n.in[a]].shape;
    q.left = [&](size_t k) { return claims.value(n.in[a], s.empty() ? nullptr : where[k].data()); };
    q.right = [&](size_t k) {
      const Cell* c = claims.cell(v, where[k].data(), x);
      const Product* t = c && c->poly.size() == 1 ? &c->poly[0] : nullptr;
      if (!t || t->num != 1 || t->den != 1 || t->f.size() != 1 || t->f[0].num != 1 || t->f[0].den != 1) return form = "is no such function", undefined();
      const TermNode& f = terms.node(t->f[0].node);
      if (f.kind != TermKind::Fn || f.fn != n.fn || f.args.size() != n.in.size()) return form = "is no such function", undefined();
      if (n.fn == Fn::Convert && (f.dtype != n.dtype || f.name != ir::name(p_.graph[n.in[0]].dtype))) return form = "converts other types", undefined();
      const size_t w = x.size() + 1;
      own.assign(f.dims.size(), 0);
      for (size_t d = 0; d < own.size(); ++d) {
        own[d] = t->f[0].map[d * w + w - 1];
        for (size_t m = 0; m + 1 < w; ++m) own[d] += t->f[0].map[d * w + m] * x[m];
        if (f.dims[d] != kUnbounded && (own[d] < 0 || own[d] >= f.dims[d])) return undefined();
      }
      return terms.poly(f.args[a], own.data(), own.size());
    };
    const Settled r = settle(terms, q, {});
    tested += r.tested;
    if (!form.empty()) return fmt::format("claim of {}: {} is not computed, and the claim {}", describe(v), ir::name(n.fn), form);
    if (!r.equal) return differs(v, fmt::format("{}, argument {},", text(where[r.point]), a), r, "the operand");
  }
  return "";
}

std::string Verifier::goal(NodeId x, NodeId y) {
  const ir::Node &a = p_.graph[x], &b = p_.graph[y];
  if (a.shape != b.shape) return fmt::format("goal {} = {}: the shapes differ", x, y);
  if (side_[x] == Side::Mixed || side_[y] == Side::Mixed) return fmt::format("goal {} = {}: a node belongs to both sides", x, y);
  if (side_[x] == Side::Distributed && side_[y] != Side::Distributed) std::swap(x, y);
  if (side_[x] == side_[y] && side_[x] != Side::Neither) return fmt::format("goal {} = {}: both nodes are on one side", x, y);
  if (ir::num_elements(a.shape) == 0) return "";
  const std::vector<Index> where = points.of_pair(x, y);
  Equation q;
  q.count = where.size();
  q.relation = Relation::Sequential;   // wherever the sequential value is defined
  q.hint = [&](size_t k) { return &where[k]; };
  q.left = [&](size_t k) { return claims.value(x, where[k].data()); };
  q.right = [&](size_t k) { return claims.value(y, where[k].data()); };
  q.identical = [&](size_t k) { return claims.shape(x, where[k].data()) == claims.shape(y, where[k].data()); };
  const Settled s = settle(terms, q, {});
  tested += s.tested;
  if (s.equal) return "";
  if (s.undecided) return fmt::format("goal {} = {}: could not be decided", describe(x), describe(y));
  return fmt::format("goal {} = {}: at {} the claims give {} and {}", describe(x), describe(y), text(where[s.point]), shown(s.left), shown(s.right));
}

}  // namespace shardproof::check
