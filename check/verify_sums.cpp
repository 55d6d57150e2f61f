// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Claims of long sums and extremes, compared summand by summand.
#include <algorithm>

#include "check/verify.h"

namespace shardproof::check {

using ir::Fn;
using ir::NodeId;
using ir::Op;

// A long sum: the claim's sums are unrolled beside the operator's. If the claimed sums, taken as one, have as many summands as the
// operator's range, summand by summand equality (in some order of their variables) is enough; it is tested at the ends and at random
// places.
bool Verifier::summands(NodeId v, const std::vector<int64_t>& extents, const std::vector<Index>& where, int levels) {
  if (ir::is_int(p_.graph[v].dtype)) return false;
  std::vector<int64_t> x;
  for (const Located& l : claims.cells(v)) {
    std::vector<Index> mine;
    for (const Index& i : where) {
      if (l.read(i.data(), x)) mine.push_back(i);
    }
    if (mine.empty() || !summands_in(v, extents, l, mine, levels)) return false;
  }
  return true;
}

bool Verifier::summands_in(NodeId v, const std::vector<int64_t>& extents, const Located& l, const std::vector<Index>& where, int levels) {
  const ir::Node& n = p_.graph[v];
  const bool sum = n.op != Op::Reduce || n.fn == Fn::Add;
  int64_t range = 1;
  for (int64_t e : extents) range *= e;
  std::vector<uint32_t> inputs;
  for (NodeId in : n.in) claims.top_terms(in, inputs);
  auto shared = [&](uint32_t id) { return std::find(inputs.begin(), inputs.end(), terms.kernel(id)) != inputs.end(); };
  // Per cell and product: the ways in which some of its sums are unrolled, some of their variables walking the range and the others being
  // summed inside.
  struct Way {
    std::vector<size_t> reds;                        // factors that are unrolled; the others stay
    std::vector<std::pair<int64_t, int64_t>> bound;  // extent, low of each of their variables
    std::vector<size_t> keep;                        // dimensions of the range that the variables walk
    std::vector<size_t> order;                       // variables, first slowest
    std::vector<size_t> inside;                      // variables that are summed
    int64_t divide = 1;                              // places of the range at which the same summand stands
  };
  struct Plan {
    const Product* product;
    std::vector<Way> ways;
    size_t way = 0;
  };
  std::vector<Plan> list;
  bool any = false;
  for (const Product& t : l.cell->poly) {
    Plan plan{&t, {}, 0};
    std::vector<size_t> sums;
    for (size_t k = 0; k < t.f.size(); ++k) {
      const TermNode& r = terms.node(t.f[k].node);
      if (r.kind == TermKind::Red && (sum ? r.fn == Fn::Add : r.fn == n.fn) && t.f[k].num == 1 && t.f[k].den == 1 && !shared(t.f[k].node))
        sums.push_back(k);
    }
    if (!sum && (sums.size() != 1 || t.f.size() != 1 || t.num <= 0 || l.cell->poly.size() != 1)) return false;  // c max x = max c x
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
  if (!any) return false;
  std::vector<uint32_t> unrolled;
  for (const Plan& plan : list) {
    const Product& t = *plan.product;
    for (size_t k = 0; k < t.f.size(); ++k) {
      const std::vector<size_t>& reds = plan.ways[0].reds;
      if (std::find(reds.begin(), reds.end(), k) == reds.end()) {
        unrolled.push_back(terms.kernel(t.f[k].node));
      } else {
        terms.inside(t.f[k].node, unrolled);
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
    if (!l.read(at[k].first.data(), x)) return undefined();
    const std::vector<int64_t> vars = x;
    Number total = exact(0);
    for (size_t p = 0; p < list.size(); ++p) {
      const Product& t = *list[p].product;
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
        finite &= !std::isinf(b.v);  // inf times a sum is not the sum of inf times
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
  for (Plan& plan : list) all.push_back(&plan);
  auto reads = [&](const Plan& plan, const Way& way, const Index& place, std::vector<uint64_t>& out) {
    out.clear();
    const std::vector<int64_t> vars(l.cell->ext.size(), 0);
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
  q.levels = levels;
  const uint64_t most_reads = terms.spent + (levels == 0 ? 300'000 : 2'000'000);  // of ways that do not lead anywhere
  for (size_t first = 0; terms.spent < most_reads && first < std::min<size_t>(all[0]->ways.size(), levels == 0 ? 128 : 6); ++first) {
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
  for (int attempt = 0; terms.spent < most_reads && attempt < (levels == 0 ? 200 : 8); ++attempt) {
    if (holds()) return true;
    size_t k = 0;
    while (k < all.size() && ++all[k]->way == all[k]->ways.size()) all[k++]->way = 0;
    if (k == all.size()) break;
  }
  return false;
}

}  // namespace shardproof::check
