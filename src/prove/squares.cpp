// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The two formulas of a variance: sum x^2 - (sum x)^2 / n = sum (x - (sum x) / n)^2 (L-41).
//
// The centred form is taken, because its sign is known: a root of it plus a positive number is defined. The other direction would also lose
// what is known of every normalisation that is written in centred form.
#include <algorithm>
#include <iterator>

#include "prove/algebra.h"
#include "util/result.h"

namespace shardproof::prove {

bool Algebra::centre_squares(Poly& p, const Ext& ctx) {
  if (p.size() < 2 || p.size() > 64) return false;
  // d D F^2 with d < 0; c D sum of squares with c > 0, one or more of them.
  struct Sums {
    size_t term;
    Factor red;
    std::vector<Factor> rest;
  };
  std::vector<Sums> sums;
  bool negative = false;
  for (size_t i = 0; i < p.size(); ++i) {
    negative |= p[i].coef.negative() && std::any_of(p[i].f.begin(), p[i].f.end(), [](const Factor& f) { return f.exp == Rat(2); });
    if (!p[i].coef.positive()) continue;
    for (size_t k = 0; k < p[i].f.size(); ++k) {
      const Factor& f = p[i].f[k];
      const Node& n = nodes_[f.node];
      if (n.kind != Kind::Red || n.fn != ir::Fn::Add || !f.exp.is_one()) continue;
      const bool square = std::all_of(n.args[0][0].f.begin(), n.args[0][0].f.end(), [&](const Factor& g) {
        return g.exp.is_integer() && g.exp.positive() && g.exp.num() % 2 == 0 && nodes_[g.node].known.finite;
      });
      if (!square || !n.args[0][0].coef.is_one()) continue;
      Sums s{i, f, p[i].f};
      s.rest.erase(s.rest.begin() + static_cast<std::ptrdiff_t>(k));
      if (!known(Term{1, s.rest}, ctx).never_inf() && refused(Rule::L41))
        continue;  // inf - inf is undefined, inf times the deviations is not
      sums.push_back(std::move(s));
    }
  }
  if (!negative || sums.empty()) return false;
  for (size_t a = 0; a < sums.size(); ++a) {
    // All pieces with this coefficient and these other factors.
    std::vector<const Sums*> group;
    for (size_t b = 0; b < sums.size(); ++b) {
      if (sums[b].rest == sums[a].rest && p[sums[b].term].coef == p[sums[a].term].coef) group.push_back(&sums[b]);
    }
    if (group[0] != &sums[a]) continue;
    const Rat c = p[sums[a].term].coef;
    // The roots of the summands, their sum and number.
    std::vector<std::pair<Term, Ext>> roots;
    Poly total;
    int64_t count = 0;
    for (const Sums* s : group) {
      auto [body, ext] = open_red(s->red, ctx);
      int64_t volume = 1;
      for (size_t k = ctx.size(); k < ext.size(); ++k) volume = mul_checked(volume, ext[k]);
      count = add_checked(count, volume);
      for (Factor& f : body.f) f.exp = f.exp * Rat(1, 2);
      total = add(std::move(total), reduce(ir::Fn::Add, make_term(body, ext), ext, static_cast<int>(ext.size() - ctx.size())), ctx);
      roots.emplace_back(std::move(body), std::move(ext));
    }
    if (total.empty() || count == 0 || (!known(total, ctx).finite && refused(Rule::L41))) continue;
    const Poly square = mul(total, total, ctx);
    if (square.size() != 1) continue;
    Term wanted{square[0].coef * c * Rat(-1, count), square[0].f};
    wanted.f.insert(wanted.f.end(), sums[a].rest.begin(), sums[a].rest.end());
    const Poly minus = make_term(std::move(wanted), ctx);
    if (minus.size() != 1) continue;
    const auto at = std::find_if(p.begin(), p.end(), [&](const Term& t) { return same_monomial(t, minus[0]) && t.coef == minus[0].coef; });
    if (at == p.end()) continue;
    Poly centred;
    for (const auto& [root, ext] : roots) {
      Sub s;
      s.width = static_cast<int>(ext.size()) + 1;
      for (size_t v = 0; v < ctx.size(); ++v) {
        Row r(ext.size() + 1, 0);
        r[v] = 1;
        s.rows.push_back(std::move(r));
      }
      const Poly off = add(make_term(root, ext), scale(subst(total, s, ext), Rat(-1, count)), ext);
      centred = add(std::move(centred), reduce(ir::Fn::Add, mul(off, off, ext), ext, static_cast<int>(ext.size() - ctx.size())), ctx);
    }
    centred = mul(make_term(Term{c, sums[a].rest}, ctx), centred, ctx);
    Poly rest;
    for (size_t i = 0; i < p.size(); ++i) {
      const bool taken = p.begin() + static_cast<std::ptrdiff_t>(i) == at ||
                         std::any_of(group.begin(), group.end(), [&](const Sums* s) { return s->term == i; });
      if (!taken) rest.push_back(p[i]);
    }
    ++applications;
    fired(Rule::L41);
    p = add(std::move(rest), centred, ctx);
    return true;
  }
  return false;
}

// L-42: c sum_k b(k) h(k) + d q sum_k h(k) = sum_k (c b(k) + d q) h(k), if the sequential program sums that: its deviations from a mean are
// named sums, where the ranks' formulas have their two terms apart. `rest` is q and the second sum.
std::optional<Poly> Algebra::join_named(const Term& common, const Rat& c, const Factor& r, const Rat& d, const std::vector<Factor>& rest,
                                        const Ext& ctx) {
  if (!structure_known || rest.size() < 2) return std::nullopt;
  const int bound = nodes_[r.node].num_bound();
  for (size_t i = 0; i < rest.size(); ++i) {
    const Node& other = nodes_[rest[i].node];
    if (other.kind != Kind::Red || other.fn != ir::Fn::Add || !rest[i].exp.is_one() || other.num_bound() != bound || bound > 4) continue;
    if (other.args[0][0].f.size() >= nodes_[r.node].args[0][0].f.size()) continue;
    auto [long_body, ext] = open_red(r, ctx);
    const auto [body, short_ext] = open_red(rest[i], ctx);
    const size_t m = ctx.size(), w = ext.size() + 1;
    bool finite = known(Term{1, long_body.f}, ext).finite && known(Term{1, rest}, ctx).finite;
    for (const Factor& f : long_body.f) finite &= known(Term{1, {f}}, ext).finite;
    if (!finite && refused(Rule::L42)) continue;
    std::sort(long_body.f.begin(), long_body.f.end(), before);
    std::vector<int> perm(bound);
    for (int k = 0; k < bound; ++k) perm[k] = k;
    do {
      bool same = true;
      for (int k = 0; k < bound; ++k) same &= ext[m + k] == short_ext[m + perm[k]];
      if (!same) continue;
      Term turned{1, body.f};
      for (Factor& f : turned.f) {
        const std::vector<int64_t> map = f.map;
        for (size_t at = 0; at < map.size(); at += w) {
          for (int k = 0; k < bound; ++k) f.map[at + m + k] = map[at + m + perm[k]];
        }
      }
      std::sort(turned.f.begin(), turned.f.end(), before);
      if (!std::includes(long_body.f.begin(), long_body.f.end(), turned.f.begin(), turned.f.end(), before)) continue;
      Term root{c * long_body.coef, {}}, free{d * body.coef, {}};
      std::set_difference(long_body.f.begin(), long_body.f.end(), turned.f.begin(), turned.f.end(), std::back_inserter(root.f), before);
      for (size_t k = 0; k < rest.size(); ++k) {
        if (k != i) free.f.push_back(rest[k]);
      }
      Sub s;
      s.width = static_cast<int>(w);
      for (size_t v = 0; v < m; ++v) {
        Row row(w, 0);
        row[v] = 1;
        s.rows.push_back(std::move(row));
      }
      const Poly deviation = add(make_term(std::move(root), ext), subst({std::move(free)}, s, ext), ext);
      Term product = as_term(deviation, ext);  // as a name, also before brackets, which mul would multiply out
      product.f.insert(product.f.end(), turned.f.begin(), turned.f.end());
      const Poly summand = make_term(std::move(product), ext);
      if (summand.size() != 1) continue;
      const Poly sum = reduce(ir::Fn::Add, summand, ext, bound);
      if (sum.size() != 1) continue;
      bool sequential = false, fresh = false;
      for (const Factor& f : sum[0].f) {
        if (nodes_[f.node].kind != Kind::Red) continue;
        sequential = true;
        fresh |= nodes_[f.node].kernel >= sequential_kernels;
      }
      if ((!sequential || fresh) && refused(Rule::L42)) continue;
      ++applications;
      fired(Rule::L42);
      return mul(make_term(common, ctx), sum, ctx);
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
  return std::nullopt;
}

}  // namespace shardproof::prove
