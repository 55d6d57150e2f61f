// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Merging of normalised parts (L-57): a blockwise softmax keeps A/D of what it has seen and merges B/R of the next block by
// A/D - (R/T) (A/D - B/R), with T = D + R (torch's ring attention does; others weigh both by exp of differences of logarithms, which L-24
// and L-26 bring to the same quotients).
#include <algorithm>

#include "prove/algebra.h"

namespace shardproof::prove {

// c m D^-1 - c m D^-1 R T^-1 = c m T^-1 where D + R = T: `weight` is R and T^-1.
std::optional<Poly> Algebra::join_weights(const Term& common, const std::vector<Factor>& weight, const Ext& ctx) {
  if (weight.size() != 2) return std::nullopt;
  const size_t below = weight[0].exp == Rat(-1) ? 0 : 1;
  if (!(weight[below].exp == Rat(-1)) || !weight[1 - below].exp.is_one()) return std::nullopt;
  auto value = [&](const Factor& f) {
    const Factor g{f.node, 1, f.map};
    return nodes_[f.node].kind == Kind::Sum ? expand_named(g, ctx) : Poly{Term{1, {g}}};
  };
  auto is_total = [&](const Factor& f) {
    const Node& n = nodes_[f.node];
    if (n.kind != Kind::Sum && !(n.kind == Kind::Red && n.fn == ir::Fn::Add)) return false;
    const Known k = known(f, ctx);
    return (k.positive() && k.finite) || !refused(Rule::L57);
  };
  if (!is_total(weight[below]) || !is_total(weight[1 - below])) return std::nullopt;
  const Poly total = value(weight[below]), part = value(weight[1 - below]);
  for (size_t i = 0; i < common.f.size(); ++i) {
    const Factor& d = common.f[i];
    if (!(d.exp == Rat(-1)) || !is_total(d)) continue;
    if (!equal(add(value(d), part, ctx), total, ctx)) continue;
    ++applications;
    fired(Rule::L57);
    Term t = common;
    t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(i));
    t.f.push_back(weight[below]);
    std::sort(t.f.begin(), t.f.end(), before);
    return make_term(std::move(t), ctx);
  }
  return std::nullopt;
}

Poly Algebra::merge_parts(Poly p, const Ext& ctx) {
  if (p.size() < 2 || p.size() > 8) return p;
  for (size_t i = 0; i < p.size(); ++i) {
    const Term& t = p[i];
    size_t name = t.f.size();
    bool part = false, total = false;
    for (size_t k = 0; k < t.f.size(); ++k) {
      const Node& n = nodes_[t.f[k].node];
      const bool sum = n.kind == Kind::Sum || (n.kind == Kind::Red && n.fn == ir::Fn::Add);
      if (n.kind == Kind::Sum && t.f[k].exp.is_one() && n.args[0].size() <= 8 && name == t.f.size() && !n.kept) {
        name = k;
      } else if (sum && t.f[k].exp.is_one()) {
        part = true;
      } else if (sum && t.f[k].exp == Rat(-1)) {
        total = true;
      }
    }
    if (name == t.f.size() || !part || !total || t.coef.is_zero()) continue;
    Term rest = t;
    rest.f.erase(rest.f.begin() + static_cast<std::ptrdiff_t>(name));
    if (!opens(rest, t.f[name], ctx)) continue;
    Poly opened;
    for (size_t k = 0; k < p.size(); ++k) {
      if (k != i) opened.push_back(p[k]);
    }
    for (const Term& u : expand_named(t.f[name], ctx)) opened = add(std::move(opened), mul({rest}, {u}, ctx), ctx);
    if (opened.size() < p.size()) {
      ++applications;
      fired(Rule::L57);
      return opened;
    }
  }
  return p;
}

}  // namespace shardproof::prove
