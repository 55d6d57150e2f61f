// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Step functions: terms that differ only in their brackets of one form (L-19).
#include <algorithm>
#include <iterator>

#include "prove/algebra.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

// L-19: terms that differ only in their bracket of one e are a step function of e: written with the fewest pieces.
bool Algebra::join_brackets(Poly& p, const Ext& ctx) {
  struct Piece {
    size_t term;
    int64_t lo, hi;
  };
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i].coef.is_zero()) continue;  // a guard says what no step function says
    for (size_t k = 0; k < p[i].f.size(); ++k) {
      const Factor& b = p[i].f[k];
      if (nodes_[b.node].kind != Kind::Bracket) continue;
      Term rest{1, p[i].f};
      rest.f.erase(rest.f.begin() + static_cast<std::ptrdiff_t>(k));
      const int64_t blo = nodes_[b.node].lo, bhi = nodes_[b.node].hi;
      const Poly e = arg_at(nodes_[b.node], b, 0, ctx);
      std::vector<Piece> pieces{{i, blo, bhi}};
      for (size_t j = 0; j < p.size(); ++j) {
        if (j == i || p[j].coef.is_zero()) continue;
        if (same_monomial(p[j], rest)) {
          pieces.push_back({j, kNegInf, kPosInf});
          continue;
        }
        if (p[j].f.size() != p[i].f.size()) continue;
        for (size_t l = 0; l < p[j].f.size(); ++l) {
          const Factor& c = p[j].f[l];
          if (nodes_[c.node].kind != Kind::Bracket) continue;
          Term other{1, p[j].f};
          other.f.erase(other.f.begin() + static_cast<std::ptrdiff_t>(l));
          if (!same_monomial(other, rest)) continue;
          const int64_t clo = nodes_[c.node].lo, chi = nodes_[c.node].hi;
          if (nodes_[c.node].kernel == nodes_[b.node].kernel && c.map == b.map) {
            pieces.push_back({j, clo, chi});
            break;
          }
          // Same e up to sign and constant?
          const Poly e2 = arg_at(nodes_[c.node], c, 0, ctx);
          bool found = false;
          for (int64_t s : {1, -1}) {
            const Poly d = add(e2, scale(e, -s), ctx);  // e2 = s e + d
            const auto dc = as_constant(d);
            if (!dc || !dc->is_integer()) continue;
            const int64_t d0 = dc->num();
            int64_t lo = clo == kNegInf ? kNegInf : clo - d0, hi = chi == kPosInf ? kPosInf : chi - d0;
            if (s < 0) {
              const int64_t l2 = hi == kPosInf ? kNegInf : -(hi - 1), h2 = lo == kNegInf ? kPosInf : -lo + 1;
              lo = l2;
              hi = h2;
            }
            pieces.push_back({j, lo, hi});
            found = true;
            break;
          }
          if (found) break;
        }
      }
      if (pieces.size() < 2) continue;
      // The step function: breakpoints and values.
      std::vector<int64_t> cuts;
      for (const Piece& q : pieces) {
        cuts.push_back(q.lo);
        cuts.push_back(q.hi);
      }
      std::sort(cuts.begin(), cuts.end());
      cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
      struct Step {
        int64_t lo, hi;
        Rat value;
      };
      std::vector<Step> steps, gone;
      bool mixed = false;
      for (size_t c = 0; c + 1 < cuts.size(); ++c) {
        Rat v = 0;
        bool plus = false, minus = false;
        for (const Piece& q : pieces) {
          if (q.lo > cuts[c] || cuts[c + 1] > q.hi) continue;
          v = v + p[q.term].coef;
          (p[q.term].coef.negative() ? minus : plus) = true;
        }
        mixed |= plus && minus;
        if (plus && minus && v.is_zero()) gone.push_back({cuts[c], cuts[c + 1], v});
        if (!steps.empty() && steps.back().hi == cuts[c] && steps.back().value == v) {
          steps.back().hi = cuts[c + 1];
        } else {
          steps.push_back({cuts[c], cuts[c + 1], v});
        }
      }
      std::erase_if(steps, [](const Step& s) { return s.value.is_zero(); });
      // x - [e = k] x is undefined where x is infinite or undefined, also where the bracket holds.
      const Known value = mixed ? known(rest, ctx) : Known{};
      if (mixed && !value.never_inf() && refused(Rule::L19)) continue;
      if (value.finite) gone.clear();
      if (steps.size() == pieces.size()) {
        // Nothing gained, unless pieces overlapped or one is the whole line (then the steps are the canonical form).
        bool same = true;
        for (const Step& s : steps) {
          bool has = false;
          for (const Piece& q : pieces) has |= q.lo == s.lo && q.hi == s.hi && p[q.term].coef == s.value;
          same &= has;
        }
        if (same) continue;
      }
      // The ends of a step may turn its bracket into a sum, or into a truth value that does not hide what is undefined.
      auto is_product = [&](const Step& step) {
        const Poly b2 = bracket(e, step.lo, step.hi, ctx);
        return b2.empty() || (b2.size() == 1 && b2[0].coef.is_one() && (selects(b2[0]) || known(rest, ctx).finite));
      };
      if (!std::all_of(steps.begin(), steps.end(), is_product) || !std::all_of(gone.begin(), gone.end(), is_product)) {
        refused(Rule::L19);
        continue;
      }
      Poly kept;
      for (size_t j = 0; j < p.size(); ++j) {
        bool used = false;
        for (const Piece& q : pieces) used |= q.term == j;
        if (!used) kept.push_back(p[j]);
      }
      Poly fresh;
      for (const Step& s : steps) {
        Poly b2 = bracket(e, s.lo, s.hi, ctx);
        if (b2.empty()) continue;
        Term t{s.value * b2[0].coef, rest.f};
        t.f.insert(t.f.end(), b2[0].f.begin(), b2[0].f.end());
        for (Term& one : make_term(std::move(t), ctx)) fresh.push_back(std::move(one));
      }
      for (const Step& s : gone) {
        Term t{0, rest.f};
        const Poly b2 = bracket(e, s.lo, s.hi, ctx);
        if (b2.size() != 1) continue;
        t.f.insert(t.f.end(), b2[0].f.begin(), b2[0].f.end());
        for (Term& one : make_term(std::move(t), ctx)) fresh.push_back(std::move(one));
      }
      std::sort(fresh.begin(), fresh.end(), [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; });
      ++applications;
      fired(Rule::L19);
      if (kept.empty()) {
        p = std::move(fresh);
        return true;
      }
      if (fresh.size() < pieces.size()) {
        p = add(std::move(kept), fresh, ctx);
        return true;
      }
      // Merge without joining again (the number of terms did not fall: avoid going round in circles).
      Poly merged;
      std::merge(kept.begin(), kept.end(), fresh.begin(), fresh.end(), std::back_inserter(merged),
                 [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; });
      p = std::move(merged);
      return true;
    }
  }
  return false;
}

// L-95: c B x [e < k] + c x [l <= e] + d x [k <= e < l] = c B x + (d - c) x [k <= e < l], where the second and third bracket imply the
// brackets B. What writes one place (the label's column) leaves both sides of it. Without B that is three steps, the form of L-19.
bool Algebra::join_halves(Poly& p, const Ext& ctx) {
  if (p.size() < 3) return false;
  const auto half = [&](const Factor& f) {
    const Node& n = nodes_[f.node];
    return n.kind == Kind::Bracket && (n.lo == kNegInf) != (n.hi == kPosInf);
  };
  const auto without = [](const Term& t, size_t k) {
    std::vector<Factor> out = t.f;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(k));
    return out;
  };
  const auto product = [&](std::vector<Factor> f, const Poly& more) { return mul(make_term(Term{1, std::move(f)}, ctx), more, ctx); };
  const auto alike = [](const Poly& x, const Poly& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Term& t, const Term& u) { return t.coef == u.coef && same_monomial(t, u); });
  };
  for (size_t i = 0; i < p.size(); ++i) {
    for (size_t k = 0; k < p[i].f.size(); ++k) {
      if (p[i].coef.is_zero() || !half(p[i].f[k])) continue;
      const Node& b = nodes_[p[i].f[k].node];
      const bool below = b.lo == kNegInf;
      const Poly e = arg_at(b, p[i].f[k], 0, ctx);
      const std::vector<Factor> body = without(p[i], k);
      for (size_t j = 0; j < p.size(); ++j) {
        if (j == i || !(p[j].coef == p[i].coef) || p[j].f.size() >= p[i].f.size()) continue;
        for (size_t l = 0; l < p[j].f.size(); ++l) {
          if (!half(p[j].f[l])) continue;
          // The factors of the one with the brackets B are those of the other, and brackets.
          const std::vector<Factor> less = without(p[j], l);
          std::vector<Factor> more;
          std::set_difference(body.begin(), body.end(), less.begin(), less.end(), std::back_inserter(more), before);
          if (more.size() + less.size() != body.size()) continue;
          if (!std::all_of(more.begin(), more.end(), [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket; })) continue;
          const Node& c = nodes_[p[j].f[l].node];
          const auto d = as_constant(add(arg_at(c, p[j].f[l], 0, ctx), scale(e, -1), ctx));  // the other's e is e + d
          if (!d || !d->is_integer() || (c.lo == kNegInf) == below) continue;
          const int64_t from = below ? b.hi : c.hi - d->num(), to = below ? c.lo - d->num() : b.lo;
          if (from >= to) continue;
          const Poly middle = product(less, bracket(e, from, to, ctx));
          if (middle.size() != 1 || more.empty()) continue;
          const auto third = [&](const Term& t) { return same_monomial(t, middle[0]) && !t.coef.is_zero(); };
          if (std::none_of(p.begin(), p.end(), third)) continue;
          if (!alike(product(more, middle), middle) || !alike(product(more, {Term{1, p[j].f}}), {Term{1, p[j].f}})) continue;
          if (!known(Term{1, less}, ctx).never_inf() && refused(Rule::L95)) continue;
          const Poly out = add(scale(make_term(Term{1, body}, ctx), p[i].coef), scale(middle, -p[i].coef), ctx);
          Poly kept;
          for (size_t t = 0; t < p.size(); ++t) {
            if (t != i && t != j) kept.push_back(p[t]);
          }
          ++applications;
          fired(Rule::L95);
          p = add(std::move(kept), out, ctx);
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace shardproof::prove
