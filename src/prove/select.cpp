// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Choices between two values by a condition: as products with brackets where that loses no undefined point, else kept as a function.
#include <algorithm>

#include "prove/algebra.h"
#include "util/result.h"

namespace shardproof::prove {

// select(c, 0, x) before a bracket whose index is masked by the same c (L-38): the ranks' rows of an embedding that other ranks hold are
// written as zeros to row 0. As brackets select, select(c, 0, x) = [not c] x, whatever x is; elsewhere the function is kept, since the
// sequential program has it, too.
std::optional<Poly> Algebra::open_select(const Term& t, const Ext& ctx) {
  for (size_t i = 0; i < t.f.size(); ++i) {
    const Node& n = nodes_[t.f[i].node];
    if (n.kind != Kind::Fn || n.fn != ir::Fn::Select || !t.f[i].exp.is_one()) continue;
    const bool first = n.args[1].empty(), second = n.args[2].empty();
    if (!first && !second) continue;
    const Factor f = t.f[i];
    Poly holds = arg_at(n, f, 0, ctx);
    if (first) holds = add(constant(1), scale(holds, -1), ctx);
    if (holds.size() != 1 || !holds[0].coef.is_one() || holds[0].f.empty()) continue;
    bool selects = true;
    for (const Factor& h : holds[0].f) selects &= nodes_[h.node].kind == Kind::Bracket && h.exp.is_one();
    if (!selects) continue;
    bool masked = false;
    for (const Factor& g : t.f) {
      if (nodes_[g.node].kind != Kind::Bracket) continue;
      const Poly e = arg_at(nodes_[g.node], g, 0, ctx);
      for (const Term& u : e) {
        for (const Factor& h : u.f) masked |= std::find(holds[0].f.begin(), holds[0].f.end(), h) != holds[0].f.end();
      }
    }
    if (!masked) continue;
    // The written zero times what is infinite or undefined is undefined, which the brackets would hide.
    bool finite = true;
    for (size_t k = 0; k < t.f.size(); ++k)
      finite &= k == i || nodes_[t.f[k].node].kind == Kind::Bracket || known(Term{1, {t.f[k]}}, ctx).finite;
    if (!finite && refused(Rule::L38)) continue;
    fired(Rule::L38);
    Term rest{t.coef, t.f};
    rest.f.erase(rest.f.begin() + static_cast<std::ptrdiff_t>(i));
    rest.f.insert(rest.f.end(), holds[0].f.begin(), holds[0].f.end());
    ++applications;
    Poly out;
    for (const Term& u : arg_at(nodes_[f.node], f, first ? 2 : 1, ctx)) {
      Term v{rest.coef * u.coef, rest.f};
      v.f.insert(v.f.end(), u.f.begin(), u.f.end());
      out = add(std::move(out), make_term(std::move(v), ctx), ctx);
    }
    return out;
  }
  return std::nullopt;
}

// x where c holds, else 0: what a program never looks at (an update that does not hit) is not undefined. Brackets say that by themselves; a
// truth value that is none (an input, 1 - [e = k]) does so only before what is finite.
Poly Algebra::where(const Poly& c, const Poly& x, const Ext& ctx) {
  if (c.empty() || x.empty()) return {};
  if (known(x, ctx).finite) return mul(c, x, ctx);
  if (const auto k = as_constant(c)) return k->is_zero() ? Poly{} : scale(x, *k);
  auto selects = [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket && f.exp.is_one(); };
  Poly terms = c;
  if (c.size() == 2 && c[0].f.empty() && c[0].coef.is_one() && c[1].coef == Rat(-1) && std::all_of(c[1].f.begin(), c[1].f.end(), selects)) {
    // 1 - A B = (1 - A) + A (1 - B), and 1 - [lo <= e < hi] = [e < lo] + [hi <= e].
    terms.clear();
    Term before{1, {}};
    for (const Factor& f : c[1].f) {
      const int64_t lo = nodes_[f.node].lo, hi = nodes_[f.node].hi;
      const Poly e = arg_at(nodes_[f.node], f, 0, ctx);
      for (const bool low : {true, false}) {
        if (low ? lo == kNegInf : hi == kPosInf) continue;
        const Poly side = low ? bracket(e, kNegInf, lo, ctx) : bracket(e, hi, kPosInf, ctx);
        if (side.empty()) continue;
        if (side.size() != 1 || !side[0].coef.is_one() || !std::all_of(side[0].f.begin(), side[0].f.end(), selects))
          return select(c, x, {}, ctx);
        Term t = before;
        t.f.insert(t.f.end(), side[0].f.begin(), side[0].f.end());
        terms.push_back(std::move(t));
      }
      before.f.push_back(f);
    }
  }
  for (const Term& t : terms) {
    if (!t.coef.is_one() || !std::all_of(t.f.begin(), t.f.end(), selects)) return select(c, x, {}, ctx);
  }
  Poly out;
  for (const Term& t : terms) out = add(std::move(out), mul(make_term(t, ctx), x, ctx), ctx);
  return out;
}

Poly Algebra::select(const Poly& c, const Poly& a, const Poly& b, const Ext& ctx) {
  if (auto k = as_constant(c)) return k->is_zero() ? b : a;
  // A window whose complement the program writes has lost its far end (L-54).
  const bool settled = c.size() == 1 && c[0].f.size() == 1 && nodes_[c[0].f[0].node].kind == Kind::Bracket &&
                       nodes_[c[0].f[0].node].lo > kNegInf && nodes_[c[0].f[0].node].hi < kPosInf;
  const auto chosen = [&](const Poly& window, const Poly& x, const Poly& y) {  // so by the sequential program
    return chosen_.contains({window[0].f[0].node, infinite(x) ? 1 : infinite(y) ? 2 : 0});
  };
  if (structure_known && c.size() <= 2 && (!settled || !chosen(c, a, b))) {
    const Poly rest = add(constant(1), scale(c, -1), ctx);
    if (const Poly window = as_window(rest, ctx);
        window.size() == 1 && !same_monomial(window[0], rest[0]) && (!settled || chosen(window, b, a)))
      return select(window, b, a, ctx);
  }
  if (const Poly window = as_window(c, ctx); c.size() == 1 && !same_monomial(window[0], c[0])) return select(window, a, b, ctx);
  if (equal(a, b, ctx)) return a;
  if (known(a, ctx).finite && known(b, ctx).finite && fired(Rule::L22)) {
    // c a + (1 - c) b (L-22)
    Poly not_c = add(constant(1), scale(c, -1), ctx);
    return add(mul(c, a, ctx), mul(not_c, b, ctx), ctx);
  }
  // Brackets select: where one is 0, what it multiplies may be undefined (but not infinite, which a sum could not hold).
  auto selects = [&](const Poly& p) {
    return p.size() == 1 && p[0].coef.is_one() && !p[0].f.empty() && std::all_of(p[0].f.begin(), p[0].f.end(), [&](const Factor& f) {
             return nodes_[f.node].kind == Kind::Bracket && f.exp.is_one();
           });
  };
  if (const Poly other = add(constant(1), scale(c, -1), ctx); known(a, ctx).never_inf() && known(b, ctx).never_inf()) {
    if ((selects(c) || a.empty()) && (selects(other) || b.empty()) && fired(Rule::L22)) return add(mul(c, a, ctx), mul(other, b, ctx), ctx);
  }
  refused(Rule::L22);
  // One branch infinite or undefined: kept. Smaller condition first, so that select(c, a, b) and select(not c, b, a) are one.
  Poly not_c = add(constant(1), scale(c, -1), ctx);
  bool swap = false;
  if (not_c.size() != c.size()) {
    swap = not_c.size() < c.size();
  } else {
    for (size_t i = 0; i < c.size(); ++i) {
      if (int k = prove::compare(not_c[i], c[i])) {
        swap = k < 0;
        break;
      }
      if (!(not_c[i].coef == c[i].coef)) {
        swap = not_c[i].coef < c[i].coef;
        break;
      }
    }
  }
  // Zero or k x is k times zero or x, and k y or k x is k times y or x (L-53): a mean over a rank's rows has another k.
  Rat k = 1;
  auto bracketed = [&](const Term& t) {
    return std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket; });
  };
  const auto scales = [&](const Poly& p) {  // an infinity or a constant is not what a mean divided
    return std::none_of(p.begin(), p.end(), [&](const Term& t) { return t.f.empty() || (t.f.size() == 1 && t.f[0].node == inf()); });
  };
  if ((a.empty() ? !b.empty() : b.empty() || (scales(a) && scales(b))) &&
      (std::none_of(c.begin(), c.end(), bracketed) || !refused(Rule::L53))) {  // masks of positions and labels have rules of their own
    for (const Term& t : swap ? (b.empty() ? a : b) : (a.empty() ? b : a)) {
      if (t.coef.is_zero()) continue;
      k = t.coef;
      if (!k.is_one()) fired(Rule::L53);
      break;
    }
  }
  const Poly x = k.is_one() ? a : scale(a, k.inverse()), y = k.is_one() ? b : scale(b, k.inverse());
  return scale(swap ? make_fn(ir::Fn::Select, {not_c, y, x}, ctx, ir::DType::F32, ir::DType::F32)
                    : make_fn(ir::Fn::Select, {c, x, y}, ctx, ir::DType::F32, ir::DType::F32),
               k);
}

// A bracket of an integer poly as brackets of what it is made of. p has no constant term.
std::optional<Poly> Algebra::bracket_of(const Poly& p, int64_t lo, int64_t hi, const Ext& ctx) {
  // L-86: [lo <= floor(e / d) < hi] = [lo d <= e < hi d]: which rank has the row.
  if (p.size() == 1 && p[0].coef.is_one() && p[0].f.size() == 1 && p[0].f[0].exp.is_one()) {
    const Node& n = nodes_[p[0].f[0].node];
    const auto d = n.kind == Kind::Fn && n.fn == ir::Fn::FloorDiv ? as_constant(n.args[1]) : std::nullopt;
    if (d && d->is_integer() && d->positive()) {
      const int64_t by = d->num();
      fired(Rule::L86);
      return bracket(arg_at(n, p[0].f[0], 0, ctx), lo <= kNegInf ? kNegInf : mul_checked(lo, by),
                     hi >= kPosInf ? kPosInf : mul_checked(hi, by), ctx);
    }
  }
  // L-85: a masked index m B is m where B holds, and else 0: B [lo <= m < hi], and 1 - B beside it if 0 is in range.
  Term mask{1, {}};
  for (const Factor& f : p[0].f) {
    const auto has = [&](const Term& t) { return std::find(t.f.begin(), t.f.end(), f) != t.f.end(); };
    if (nodes_[f.node].kind == Kind::Bracket && f.exp.positive() && std::all_of(p.begin(), p.end(), has)) mask.f.push_back(f);
  }
  if (mask.f.empty()) return std::nullopt;
  Poly m;
  bool only_masks = true;
  for (const Term& t : p) {
    Term u{t.coef, {}};
    for (const Factor& f : t.f) {
      if (std::find(mask.f.begin(), mask.f.end(), f) == mask.f.end()) u.f.push_back(f);
    }
    only_masks &= u.f.empty();
    m = add(std::move(m), make_term(std::move(u), ctx), ctx);
  }
  if (only_masks) return std::nullopt;
  const Known k = known(m, ctx);
  if (k.finite && k.integer) {
    const Poly b = make_term(mask, ctx);
    Poly both = mul(b, bracket(m, lo, hi, ctx), ctx);
    if (lo <= 0 && 0 < hi) both = add(add(constant(1), scale(b, -1), ctx), both, ctx);
    if (both.empty() || (both.size() == 1 && both[0].coef.is_one() && both[0].f.size() <= 1)) {
      fired(Rule::L85);
      return both;
    }
  }
  refused(Rule::L85);
  return std::nullopt;
}

// A quotient or remainder by a constant where the guards keep the quotient the same: e mod d = e - k d under k d <= e < (k + 1) d (L-25).
std::optional<Poly> Algebra::divided_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx) {
  const Node& n = nodes_[f.node];
  const auto d = as_constant(n.args[1]);
  if (!d || !d->is_integer() || !d->positive()) return std::nullopt;
  const Poly e = arg_at(n, f, 0, ctx);
  const auto [lo, hi] = range_by_cases(e, ctx, guards);
  if (lo <= kNegInf || hi >= kPosInf || floor_div(lo, d->num()) != floor_div(hi, d->num()) || !known(e, ctx).finite) return std::nullopt;
  fired(Rule::L25);
  const int64_t k = floor_div(lo, d->num());
  return n.fn == ir::Fn::FloorDiv ? constant(Rat(k)) : add(e, constant(Rat(mul_checked(-k, d->num()))), ctx);
}

}  // namespace shardproof::prove
