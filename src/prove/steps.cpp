// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Step functions: terms that differ only in their brackets of one form (L-19).
#include <algorithm>

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

}  // namespace shardproof::prove
