// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The order of nested sums (L-50): sum over d of A(d) sum over j of B(j) C(d, j) is sum over j of B(j) sum over d of A(d) C(d, j). A
// blockwise attention computes its backward's correction from the output, rowsum(dO * O), where the one-device program sums P * dP. Neither
// order is better than the other; a rank's sum takes the one that the sequential program has.
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"

namespace shardproof::prove {

bool Algebra::sequential_form(const Poly& p) const {
  if (p.size() != 1) return false;
  bool any = false;
  for (const Factor& f : p[0].f) {
    const Node& n = nodes_[f.node];
    if (n.kind != Kind::Red || !f.exp.is_one()) continue;
    if (n.kernel >= sequential_kernels) return false;
    any = true;
  }
  return any;
}

// Brackets before a product hide where it is undefined. May those that depend on the variables from number `free` on all be 0 there, where
// the sum over these variables, as a factor, hides nothing?
bool Algebra::may_hide(const Term& flat, const Ext& wide, size_t free) {
  const auto is_mask = [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket && depends(f, wide.size() + 1, free); };
  const auto masks = std::count_if(flat.f.begin(), flat.f.end(), is_mask);
  bool hides = masks > 1;
  for (const Factor& f : flat.f) hides |= masks == 1 && is_mask(f) && !holds_somewhere(f, wide, free);
  return hides;
}

bool Algebra::finite_without(const Term& t, size_t factor, const Ext& ctx) const {
  bool finite = true;
  for (size_t i = 0; i < t.f.size(); ++i) finite &= i == factor || known(Term{1, {t.f[i]}}, ctx).finite;
  return finite;
}

std::optional<Poly> Algebra::exchange(const Term& body, const Ext& ext, int bound) {
  const size_t free = ext.size() - static_cast<size_t>(bound);
  for (size_t at = 0; at < body.f.size(); ++at) {
    const Node& n = nodes_[body.f[at].node];
    if (n.kind != Kind::Red || n.fn != ir::Fn::Add || !body.f[at].exp.is_one() || n.args[0].size() != 1) continue;
    const auto own = static_cast<size_t>(n.num_bound());
    if (own == 0 || own + static_cast<size_t>(bound) > 6) continue;
    // The flat body: free variables, those of this sum, those of the inner one.
    auto [flat, wide] = open_in(body, at, ext);
    // inf (2 - 1) is inf, 2 inf - inf is undefined.
    if (!std::all_of(flat.f.begin(), flat.f.end(), [&, &wide = wide](const Factor& f) { return known(f, wide).never_inf(); }) &&
        refused(Rule::L50))
      continue;
    // Nor may what is undefined come under brackets of the inner sum that select nothing.
    if (may_hide(flat, wide, ext.size()) && !finite_without(body, at, ext) && refused(Rule::L50)) continue;
    // This sum's variables to the end: they are summed first.
    Sub s;
    Ext turned;
    s.width = static_cast<int>(wide.size()) + 1;
    s.rows.assign(wide.size(), Row(s.width, 0));
    for (size_t v = 0; v < wide.size(); ++v) {
      const size_t from = v < free ? v : v < free + own ? v + static_cast<size_t>(bound) : v - own;
      s.rows[from][v] = 1;
      turned.push_back(wide[from]);
    }
    const Poly p = subst({std::move(flat)}, s, turned);
    if (p.size() != 1) continue;
    const size_t tw = turned.size() + 1, inner = free + own;
    Term first{1, {}}, rest{p[0].coef, {}};
    for (const Factor& f : p[0].f) (depends(f, tw, inner) ? first : rest).f.push_back(depends(f, tw, inner) ? f : narrowed(f, tw, inner));
    if (rest.f.empty() || first.f.size() < 2) continue;
    const Ext middle(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(inner)),
        outer(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(free));
    const During scope(exchanging_);
    const Poly within = reduce_term(first, turned, bound);
    Poly out;
    if (sequential_form(within)) {
      const Poly product = mul({rest}, within, middle);
      if (product.size() == 1) out = reduce_term(product[0], middle, static_cast<int>(own));
    }
    if (sequential_form(out)) {
      ++applications;
      fired(Rule::L50);
      return out;
    }
  }
  return std::nullopt;
}

}  // namespace shardproof::prove
