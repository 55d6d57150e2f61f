// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Brackets [lo <= e < hi] of integer polys, comparisons, and what guards say of indices.
//
// Truth values are polys with values 0 and 1: and = product, not p = 1 - p, or = p + q - p q. Since brackets are idempotent, this is
// a canonical form of logic. Comparisons of integers become brackets with the constant folded into the bounds, so that ranges
// cut apart by ranks or masks join again (L-19).
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

// A scalar function's node over other arguments. A conversion is told by both of its types: from and to alike it would be none. A
// comparison or a test for infinities that has a node is one of reals (of integers it is a bracket), though its own type is bool.
Poly Algebra::apply_again(const Node& n, const std::vector<Poly>& args, const Ext& ctx) {
  switch (n.fn) {
    case ir::Fn::Eq:
    case ir::Fn::Ne:
    case ir::Fn::Lt:
    case ir::Fn::Le:
    case ir::Fn::Gt:
    case ir::Fn::Ge:
    case ir::Fn::IsFinite:
    case ir::Fn::IsNan:
    case ir::Fn::IsInf: return apply(n.fn, args, ir::DType::F32, ir::DType::Bool, ctx);
    default: break;
  }
  if (n.fn != ir::Fn::Convert) return apply(n.fn, args, n.dtype, n.known.boolean ? ir::DType::Bool : n.dtype, ctx);
  ir::DType from = ir::DType::Invalid;
  for (int t = 0; t <= static_cast<int>(ir::DType::Token); ++t) {
    if (ir::name(static_cast<ir::DType>(t)) == n.name) from = static_cast<ir::DType>(t);
  }
  return apply(ir::Fn::Convert, args, from, n.dtype, ctx);
}

bool Algebra::decide(const Poly& e, int64_t lo, int64_t hi, const Ext& ctx, bool& value) const {
  const bool before = ranged;
  const auto [a, b] = range(e, ctx);
  if (a >= lo && (hi == kPosInf || b < hi) && (lo == kNegInf || a > kNegInf) && (hi == kPosInf || b < kPosInf)) {
    value = true;
  } else if ((hi < kPosInf && a >= hi && a > kNegInf) || (lo > kNegInf && b < lo && b < kPosInf)) {
    value = false;
  } else {
    ranged = before;
    return false;
  }
  if (known(e, ctx).finite) return true;
  ranged = before;  // a comparison of what was read out of range is open
  return false;
}

// L-54: a rank that holds few rows sees one end of a sliding window only, the other end being out of its reach. What it compares is the
// sequential program's window all the same, if the sequential program has no such half line (causal layers beside those with a window).
Poly Algebra::as_window(Poly half, const Ext& ctx, int64_t asked) {
  if (!structure_known || half.size() != 1 || !half[0].coef.is_one() || half[0].f.size() != 1) return half;
  const Factor f = half[0].f[0];
  const Node& n = nodes_[f.node];
  const bool rising = n.hi == kPosInf;
  if (n.kind != Kind::Bracket || rising == (n.lo == kNegInf) || (half_lines_.contains(f.node) && refused(Rule::L54))) return half;
  const int64_t end = rising ? n.lo : n.hi;
  const Poly e = arg_at(n, f, 0, ctx);
  if (e.size() != 1 || e[0].f.size() != 1 || e[0].f[0].node != iota()) return half;
  const auto [least, most] = range(e, ctx);
  if (least <= kNegInf || most >= kPosInf) return half;
  for (const int64_t width : window_widths_) {
    if (asked != 0 && width != asked) continue;
    // The idle bound is put where the window has it, and the position counts from the window's start.
    if (rising ? most >= end + width : least < end - width) continue;
    Node window;
    window.kind = Kind::Bracket;
    window.dtype = ir::DType::Bool;
    window.lo = 0;
    window.hi = width;
    window.args.push_back(add(e, constant(Rat(rising ? -end : width - end)), ctx));
    const Factor g = intern(std::move(window), ctx);
    if (g.node < sequential_nodes && fired(Rule::L54)) return {Term{1, {g}}};
  }
  return half;
}

Poly Algebra::bracket(const Poly& e, int64_t lo, int64_t hi, const Ext& ctx) {
  if (lo >= hi) return {};
  if (lo == kNegInf && hi == kPosInf) return constant(1);
  bool value = false;
  if (decide(e, lo, hi, ctx, value)) return value ? constant(1) : Poly{};
  if (!known(e, ctx).integer) throw Overflow("bracket of a non-integer");
  // Constant to the bounds; divide by the gcd of the coefficients; leading coefficient positive.
  Poly p = e;
  int64_t c = 0;
  if (!p.empty() && p[0].f.empty()) {
    c = p[0].coef.num();
    p.erase(p.begin());
  }
  bool has_iota = false;
  int64_t g = 0;
  for (const Term& t : p) {
    if (!t.coef.is_integer()) throw Overflow("bracket of a fraction");
    int64_t a = g, b = std::abs(t.coef.num());
    while (b != 0) std::swap(a %= b, b);
    g = a;
    has_iota |= t.f.size() == 1 && t.f[0].node == iota() && t.f[0].exp.is_one();
  }
  if (p.empty()) return lo <= c && c < hi ? constant(1) : Poly{};
  if (g == 0) throw Overflow("comparison of what may be undefined");  // guards only
  if (lo > kNegInf) lo = add_checked(lo, -c);
  if (hi < kPosInf) hi = add_checked(hi, -c);
  const Term* lead = nullptr;
  for (const Term& t : p) {
    if (!lead || lead->f[0].node == iota()) lead = &t;
  }
  const bool flip = lead->coef.negative();
  p = scale(std::move(p), Rat(flip ? -1 : 1, g));
  if (lo > kNegInf) lo = ceil_div(lo, g);
  if (hi < kPosInf) hi = floor_div(hi - 1, g) + 1;
  if (flip) {
    const int64_t l = hi == kPosInf ? kNegInf : -(hi - 1), h = lo == kNegInf ? kPosInf : -lo + 1;
    lo = l;
    hi = h;
  }
  const int64_t width = lo > kNegInf && hi < kPosInf ? hi - lo : 0;
  // Bounds that the range makes idle are dropped.
  const bool defined = known(e, ctx).finite;
  const auto [a, b] = range(p, ctx);
  if (defined && a > kNegInf && lo <= a) lo = kNegInf;
  if (defined && b < kPosInf && hi > b) hi = kPosInf;
  // An input that is c or at least `low` (labels with an ignored value) has no values in between.
  if (p.size() == 1 && p[0].f.size() == 1 && p[0].f[0].exp.is_one() && p[0].coef.is_one()) {
    const Node& n = nodes_[p[0].f[0].node];
    if (n.kind == Kind::Base && n.hi > n.lo) {
      if (lo > n.lo && lo <= n.hi) lo = n.hi;
      if (hi > n.lo && hi <= n.hi) hi = n.hi;
    }
  }
  if ((lo >= hi || (lo == kNegInf && hi == kPosInf)) && !defined) throw Overflow("comparison of what may be undefined");
  if (lo >= hi) return {};
  if (lo == kNegInf && hi == kPosInf) return constant(1);
  if (auto written = bracket_of(p, lo, hi, ctx)) return *std::move(written);
  // A truth value compared with 0 or 1 is itself or its negation.
  if (p.size() == 1 && p[0].coef.is_one() &&
      std::all_of(p[0].f.begin(), p[0].f.end(), [&](const Factor& f) { return nodes_[f.node].known.boolean && f.exp.positive(); })) {
    return lo == 1 ? p : add(constant(1), scale(p, -1), ctx);
  }
  // So is a sum of truth values that exclude one another (outside of a range: below it or above it).
  if (p.size() > 1 && p.size() <= 4 && ((lo == 1 && hi == kPosInf) || (lo == kNegInf && hi == 1))) {
    bool truths = true;
    for (const Term& t : p)
      truths &= std::all_of(t.f.begin(), t.f.end(), [&](const Factor& f) {
        return nodes_[f.node].known.boolean && nodes_[f.node].known.finite && f.exp.positive();
      });
    for (size_t i = 0; truths && i < p.size(); ++i) {
      truths = p[i].coef.is_one();
      for (size_t j = i + 1; truths && j < p.size(); ++j) {
        Term both{1, p[i].f};
        both.f.insert(both.f.end(), p[j].f.begin(), p[j].f.end());
        truths = make_term(std::move(both), ctx).empty();
      }
    }
    if (truths) return lo == 1 ? p : add(constant(1), scale(p, -1), ctx);
  }
  if (has_iota) {
    // Shift the iota such that one bound is 0: [lo <= e < hi] = [0 <= e - lo < hi - lo].
    const int64_t s = lo > kNegInf ? lo : hi;
    p = add(std::move(p), constant(Rat(-s)), ctx);
    if (lo > kNegInf) lo -= s;
    if (hi < kPosInf) hi -= s;
  }
  Node n;
  n.kind = Kind::Bracket;
  n.dtype = ir::DType::Bool;
  n.lo = lo;
  n.hi = hi;
  n.args.push_back(std::move(p));
  Factor f = intern(std::move(n), ctx);
  if (has_iota && lo > kNegInf && hi < kPosInf && !structure_known) window_widths_.insert(hi - lo);
  // One end is idle here, but the sequential program has the window that was asked for, and never had the half line.
  if (has_iota && width != 0 && (lo == kNegInf || hi == kPosInf)) return as_window({Term{1, {std::move(f)}}}, ctx, width);
  return {Term{1, {std::move(f)}}};
}

// e, where the given brackets are 1: the same brackets inside it go, contradicting terms vanish (L-21).
Poly Algebra::under(const Poly& e, const std::vector<Factor>& guards, const Ext& ctx, bool& changed) {
  bool has = false;
  for (const Term& u : e) {
    for (const Factor& g : u.f) has |= nodes_[g.node].kind == Kind::Bracket;
  }
  if (!has) return unclamp(e, guards, ctx, changed, 0);
  Poly better;
  for (const Term& u : e) {
    Term with = u;
    with.f.insert(with.f.end(), guards.begin(), guards.end());
    if (!combine_factors(with, ctx)) {
      changed = fired(Rule::L21);
      continue;
    }
    for (const Factor& g : guards) {
      const auto it = std::find(with.f.begin(), with.f.end(), g);
      if (it != with.f.end()) with.f.erase(it);
    }
    // Only what disappears is a gain: a guard that merged with the term's own bracket must not stay behind.
    if (!std::includes(u.f.begin(), u.f.end(), with.f.begin(), with.f.end(), before)) with = u;
    changed |= !same_monomial(with, u) && fired(Rule::L21);
    better = add(std::move(better), make_term(std::move(with), ctx), ctx);
  }
  return unclamp(better, guards, ctx, changed, 0);
}

// e without the clamps that the guards make idle: min(12, max(0, i - 13)) under 13 <= i < 26 (L-35).
Poly Algebra::unclamp(const Poly& e, const std::vector<Factor>& guards, const Ext& ctx, bool& changed, int depth) {
  auto is_clamp = [&](const Term& u) {
    return u.f.size() == 1 && u.f[0].exp.is_one() && nodes_[u.f[0].node].kind == Kind::Fn && nodes_[u.f[0].node].fn == ir::Fn::Max &&
           nodes_[u.f[0].node].known.integer;
  };
  const auto divides = [&](const Factor& f) {
    const Node& n = nodes_[f.node];
    return n.kind == Kind::Fn && (n.fn == ir::Fn::Mod || n.fn == ir::Fn::FloorDiv) && f.exp.is_one();
  };
  for (size_t i = 0; depth <= 3 && i < e.size(); ++i) {
    const auto at = std::find_if(e[i].f.begin(), e[i].f.end(), divides);
    if (at == e[i].f.end()) continue;
    std::vector<Factor> all = guards;
    for (const Factor& f : e[i].f) {
      if (nodes_[f.node].kind == Kind::Bracket) all.push_back(f);
    }
    const std::optional<Poly> plain = divided_under(*at, all, ctx);
    if (!plain) continue;
    changed = true;
    Poly rest = e;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    Term beside{e[i].coef, {}};
    for (auto f = e[i].f.begin(); f != e[i].f.end(); ++f) {
      if (f != at) beside.f.push_back(*f);
    }
    return unclamp(add(std::move(rest), mul(make_term(std::move(beside), ctx), *plain, ctx), ctx), guards, ctx, changed, depth + 1);
  }
  if (depth > 3 || guards.empty() || std::none_of(e.begin(), e.end(), is_clamp)) return e;
  Poly out;
  for (const Term& u : e) {
    if (!is_clamp(u)) {
      out = add(std::move(out), {u}, ctx);
      continue;
    }
    const Node clamp = nodes_[u.f[0].node];
    std::vector<Poly> parts;
    bool inner = false;
    for (size_t a = 0; a < clamp.args.size(); ++a) parts.push_back(unclamp(arg_at(clamp, u.f[0], a, ctx), guards, ctx, inner, depth + 1));
    const size_t before = parts.size();
    for (size_t a = 0; a < parts.size() && parts.size() > 1;) {
      bool idle = false;
      for (size_t b = 0; b < parts.size() && !idle; ++b) {
        idle = a != b && known(parts[a], ctx).finite && range_by_cases(add(parts[b], scale(parts[a], -1), ctx), ctx, guards).first >= 0;
      }
      if (idle) {
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(a));
      } else {
        ++a;
      }
    }
    if (!inner && parts.size() == before && refused(Rule::L35)) {
      out = add(std::move(out), {u}, ctx);
      continue;
    }
    changed = fired(Rule::L35);
    out = add(std::move(out), scale(parts.size() == 1 ? parts[0] : extreme(ir::Fn::Max, parts, ctx), u.coef), ctx);
  }
  return out;
}

// Decides brackets that the context fixes, joins brackets of one e, and uses equalities to decide others (L-19).
bool Algebra::simplify_brackets(Term& t, const Ext& ctx) {
  struct One {
    size_t at;
    Poly e;
    int64_t lo, hi;
  };
  std::vector<One> all;
  for (size_t i = 0; i < t.f.size(); ++i) {
    if (nodes_[t.f[i].node].kind != Kind::Bracket) continue;
    const int64_t lo = nodes_[t.f[i].node].lo, hi = nodes_[t.f[i].node].hi;
    all.push_back(One{i, arg_at(nodes_[t.f[i].node], t.f[i], 0, ctx), lo, hi});
  }
  bool dependents = false;
  for (const Factor& f : t.f) dependents |= nodes_[f.node].indexed && nodes_[f.node].kind != Kind::Bracket;
  if (all.empty()) return true;
  bool changed = false;
  std::vector<char> drop(t.f.size(), 0);
  std::vector<Poly> extra;
  // Written as factors: not a sum (the negation of a truth value), nor a truth value that would not hide what is undefined.
  auto is_product = [&](const Poly& p) {
    if (p.empty()) return true;
    if (p.size() != 1 || !p[0].coef.is_one()) return false;
    return selects(p[0]) || std::all_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return known(Term{1, {f}}, ctx).finite; });
  };
  // A bracket whose e has brackets of its own is read under the others (masked indices).
  if (all.size() > 1) {
    for (One& one : all) {
      std::vector<Factor> others;
      for (const One& o : all) {
        if (&o != &one && !drop[o.at]) others.push_back(t.f[o.at]);
      }
      bool rewritten = false;
      Poly e = under(one.e, others, ctx, rewritten);
      if (!rewritten) continue;
      Poly again = bracket(e, one.lo, one.hi, ctx);
      if (!is_product(again)) continue;
      drop[one.at] = 1;
      changed = true;
      extra.push_back(std::move(again));
    }
  }
  for (One& one : all) {
    bool value = false;
    if (drop[one.at] || !decide(one.e, one.lo, one.hi, ctx, value)) continue;
    if (!value) return false;
    drop[one.at] = 1;
    changed = true;
  }
  // A bracket of one variable narrows that variable for the others: quotients and remainders of positions (L-32).
  for (size_t i = 0; all.size() > 1 && i < all.size(); ++i) {
    const Poly& e = all[i].e;
    if (drop[all[i].at] || e.size() != 1 || e[0].f.size() != 1 || e[0].f[0].node != iota() || !e[0].f[0].exp.is_one() ||
        !e[0].coef.is_integer())
      continue;
    int var = -1, count = 0;
    for (size_t v = 0; v < ctx.size(); ++v) {
      if (e[0].f[0].map[v] != 0) ++count, var = static_cast<int>(v);
    }
    if (count != 1 || ctx[var] == kUnbounded) continue;
    ranged = true;
    const int64_t q = mul_checked(e[0].coef.num(), e[0].f[0].map[var]), d = mul_checked(e[0].coef.num(), e[0].f[0].map[ctx.size()]);
    int64_t from = 0, to = ctx[var];
    if (q > 0) {
      if (all[i].lo > kNegInf) from = std::max(from, ceil_div(all[i].lo - d, q));
      if (all[i].hi < kPosInf) to = std::min(to, floor_div(all[i].hi - 1 - d, q) + 1);
    } else {
      if (all[i].lo > kNegInf) to = std::min(to, floor_div(all[i].lo - d, q) + 1);
      if (all[i].hi < kPosInf) from = std::max(from, ceil_div(all[i].hi - 1 - d, q));
    }
    if (from >= to) return false;
    if (from == 0 && to == ctx[var]) continue;
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j || drop[all[j].at]) continue;
      bool plain = true;
      for (const Term& u : all[j].e) {
        for (const Factor& g : u.f) plain &= nodes_[g.node].kind != Kind::Fn;
      }
      if (plain) continue;
      Ext cut = ctx;
      cut[var] = to - from;
      Sub s = Sub::identity(static_cast<int>(ctx.size()));
      s.rows[var][ctx.size()] = from;
      bool value = false;
      if (!decide(subst(all[j].e, s, cut), all[j].lo, all[j].hi, cut, value)) continue;
      fired(Rule::L32);
      if (!value) return false;
      drop[all[j].at] = 1;
      changed = true;
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i == j || drop[all[i].at] || drop[all[j].at]) continue;
      // e_j = s * e_i + d with d known: the bounds of i restrict those of j.
      for (int64_t s : {1, -1}) {
        const Poly d = add(all[j].e, scale(all[i].e, -s), ctx);
        const auto [dl, dh] = range(d, ctx);
        if (dl == kNegInf || dh == kPosInf) continue;
        // Where the one is defined, so is the other; what cancelled they have in common.
        if (!std::all_of(d.begin(), d.end(), [&](const Term& u) { return u.coef.is_zero() || known(u, ctx).finite; })) continue;
        const int64_t il = all[i].lo, ih = all[i].hi == kPosInf ? kPosInf : all[i].hi - 1;
        int64_t lo = s > 0 ? il : (ih == kPosInf ? kNegInf : -ih), hi = s > 0 ? ih : (il == kNegInf ? kPosInf : -il);
        lo = lo == kNegInf ? kNegInf : lo + dl;
        hi = hi == kPosInf ? kPosInf : hi + dh;
        if ((all[j].hi < kPosInf && lo > kNegInf && lo >= all[j].hi) || (all[j].lo > kNegInf && hi < kPosInf && hi < all[j].lo))
          return false;
        if ((all[j].lo == kNegInf || (lo > kNegInf && lo >= all[j].lo)) && (all[j].hi == kPosInf || (hi < kPosInf && hi < all[j].hi))) {
          drop[all[j].at] = 1;
          changed = true;
          break;
        }
        if (s == 1 && dl == dh && i < j) {
          // Same e up to a constant: one bracket of the intersection.
          const int64_t l = std::max(all[j].lo, il == kNegInf ? kNegInf : il + dl);
          const int64_t h = std::min(all[j].hi, all[i].hi == kPosInf ? kPosInf : all[i].hi + dl);
          Poly both = bracket(all[j].e, l, h, ctx);
          if (!is_product(both)) continue;
          drop[all[i].at] = drop[all[j].at] = 1;
          extra.push_back(std::move(both));
          changed = true;
          break;
        }
      }
    }
  }
  if (changed) {
    std::vector<Factor> rest;
    for (size_t i = 0; i < t.f.size(); ++i) {
      if (!drop[i]) rest.push_back(t.f[i]);
    }
    for (const Poly& p : extra) {
      if (p.empty()) return false;
      rest.insert(rest.end(), p[0].f.begin(), p[0].f.end());
    }
    std::sort(rest.begin(), rest.end(), before);
    t.f = std::move(rest);
    if (!extra.empty()) return simplify_brackets(t, ctx);
  }
  if (!dependents) return true;
  // Under a bracket, the same bracket inside an index or an argument is 1 (L-21).
  std::vector<Factor> guards;
  for (const Factor& f : t.f) {
    if (nodes_[f.node].kind == Kind::Bracket) guards.push_back(f);
  }
  if (guards.empty()) return true;
  for (size_t i = 0; i < t.f.size(); ++i) {
    const Factor f = t.f[i];
    if (!nodes_[f.node].indexed || nodes_[f.node].kind == Kind::Bracket) continue;
    bool rewritten = false;
    Poly again = rewrite_under(f, guards, ctx, rewritten, 0);
    // A name is one again where a guard says which place an index is.
    if (rewritten && by_order && again.size() > 1 && std::any_of(guards.begin(), guards.end(), [&](const Factor& g) {
          return nodes_[g.node].hi == nodes_[g.node].lo + 1 && concerns(g.node, f.node);
        }))
      again = {as_term(again, ctx)};
    if (!rewritten || again.size() != 1) continue;
    if (masked(again) && !finite_without(t, i, ctx) && refused(Rule::L21)) continue;  // its brackets hide nothing of the rest
    Term u{t.coef * again[0].coef, {}};
    for (size_t k = 0; k < t.f.size(); ++k) {
      if (k != i) u.f.push_back(t.f[k]);
    }
    u.f.insert(u.f.end(), again[0].f.begin(), again[0].f.end());
    std::sort(u.f.begin(), u.f.end(), before);
    if (same_monomial(u, t)) continue;
    fired(Rule::L21);
    t = std::move(u);
    return combine_factors(t, ctx);
  }
  return true;
}

// A factor where the guards are 1: masked indices lose their masks, an index that equals a position is that position (L-29), through
// scalar functions and names.
Poly Algebra::rewrite_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx, bool& changed, int depth) {
  const Node& n = nodes_[f.node];
  const Poly same{Term{1, {f}}};
  if (depth > (by_order ? 12 : 3) || !n.indexed) return same;
  if (by_order && (n.kind == Kind::Red || n.kind == Kind::Sum) &&
      std::none_of(guards.begin(), guards.end(), [&](const Factor& g) { return concerns(g.node, f.node); }))
    return same;
  const bool some_fixed =
      std::any_of(guards.begin(), guards.end(), [&](const Factor& g) { return nodes_[g.node].hi == nodes_[g.node].lo + 1; });
  if (!n.masked_index && !some_fixed) return same;  // nothing that a guard could tell of its indices
  // What the guards keep in range here is read elsewhere, too, by definitions that know nothing of the guards: a clamp that makes a value
  // finite wherever it is stays.
  const bool finite = known(same, ctx).finite;
  if (n.kind == Kind::Fn && (n.fn == ir::Fn::Mod || n.fn == ir::Fn::FloorDiv) && f.exp.is_one()) {
    if (auto plain = divided_under(f, guards, ctx)) {
      changed = true;
      return *std::move(plain);
    }
  }
  if (n.kind == Kind::Fn && n.fn == ir::Fn::Max && n.known.integer && f.exp.is_one()) {
    bool idle = false;
    Poly e = unclamp(same, guards, ctx, idle, 0);
    if (idle && finite && !known(e, ctx).finite && refused(Rule::L35)) return same;
    changed |= idle;
    if (idle) return e;
  }
  if (n.kind == Kind::Fn || n.kind == Kind::Sum) {
    std::vector<Poly> args;
    bool any = false;
    for (size_t a = 0; a < n.args.size(); ++a) {
      Poly out;
      for (const Term& u : arg_at(n, f, a, ctx)) {
        std::vector<Poly> factors;
        for (const Factor& g : u.f) factors.push_back(rewrite_under(g, guards, ctx, any, depth + 1));
        out = add(std::move(out), product_of(constant(u.coef), u.f, factors, ctx), ctx);
      }
      args.push_back(std::move(out));
    }
    if (!any) return same;
    Poly again = pow(n.kind == Kind::Sum ? args[0] : apply_again(n, args, ctx), f.exp, ctx);
    if (finite && !known(again, ctx).finite && refused(Rule::L35)) return same;
    changed = true;
    return again;
  }
  if (auto key = !by_order ? std::nullopt : sorted_under(f, guards, ctx)) {
    changed = true;
    return *std::move(key);
  }
  if (by_order && n.kind == Kind::Red && n.fn == ir::Fn::Add && n.args[0].size() == 1) {
    auto rewritten = sum_under(f, guards, ctx, depth);
    if (!rewritten || (finite && !known(*rewritten, ctx).finite && refused(Rule::L35))) return same;
    changed = true;
    return *std::move(rewritten);
  }
  if (n.kind != Kind::Take || n.inner[0].size() != 1) return same;
  bool rewritten = false;
  Poly e = under(arg_at(n, f, 1, ctx), guards, ctx, rewritten);
  for (bool again = true; again;) {
    again = false;
    e = unclamp(e, guards, ctx, again, 0);
    if (again) e = under(e, guards, ctx, again);  // a clamp that goes may leave masks behind
    rewritten |= again;
  }
  // e = +-(guard's form) + affine, and the guard says that its form is lo.
  for (const Factor& g : guards) {
    const int64_t lo = nodes_[g.node].lo, hi = nodes_[g.node].hi;
    if (hi != lo + 1) continue;
    const Poly ge = arg_at(nodes_[g.node], g, 0, ctx);
    for (int64_t s : {1, -1}) {
      const Poly rest = add(add(e, scale(ge, -s), ctx), constant(Rat(s * lo)), ctx);
      bool affine = !rest.empty();
      for (const Term& u : rest)
        affine &= u.coef.is_integer() && (u.f.empty() || (u.f.size() == 1 && u.f[0].node == iota() && u.f[0].exp.is_one()));
      if (!affine) continue;
      const auto [rl, rh] = range(rest, ctx);
      if ((rl < 0 || rh >= n.inner[0][0]) && refused(Rule::L29)) continue;
      bool already = true;
      for (const Term& u : e) already &= u.f.empty() || (u.f.size() == 1 && u.f[0].node == iota());
      if (already) continue;
      e = rest;
      rewritten = fired(Rule::L29);
    }
  }
  if (!rewritten && !n.name.starts_with("partial")) return same;
  Ext wide = ctx;
  wide.push_back(n.inner[0][0]);
  const Poly data = inner_data(f, 0, ctx);
  const auto [lo, hi] = range_by_cases(e, ctx, guards);
  const bool in_range = lo >= 0 && hi < n.inner[0][0];
  if (!rewritten && !in_range) return same;
  Poly again =
      pow(in_range ? reindex(data, wide, e, ctx) : take(data, wide, e, ctx, n.name == "partial wrap" ? Outside::Wraps : Outside::Undefined),
          f.exp, ctx);
  if (finite && !known(again, ctx).finite && refused(Rule::L35)) return same;
  changed = true;
  return again;
}

Poly Algebra::compare(ir::Fn fn, const Poly& a, const Poly& b, bool integer, const Ext& ctx) {
  using ir::Fn;
  const Poly d = add(a, scale(b, -1), ctx);
  auto negate = [&](const Poly& p) { return add(constant(1), scale(p, -1), ctx); };
  if (d.size() > 1 || !integer) {
    if (auto counted = compare_counts(fn, d, ctx)) return *std::move(counted);
  }
  if (integer) {
    switch (fn) {
      case Fn::Lt: return as_window(bracket(d, kNegInf, 0, ctx), ctx);
      case Fn::Le: return as_window(bracket(d, kNegInf, 1, ctx), ctx);
      case Fn::Gt: return as_window(bracket(d, 1, kPosInf, ctx), ctx);
      case Fn::Ge: return as_window(bracket(d, 0, kPosInf, ctx), ctx);
      case Fn::Eq: return bracket(d, 0, 1, ctx);
      default: return negate(bracket(d, 0, 1, ctx));
    }
  }
  const Known kd = known(d, ctx), ka = known(a, ctx), kb = known(b, ctx);
  if (kd.integer && kd.finite) return compare(fn, d, {}, true, ctx);
  if (auto c = as_constant(d)) {
    const bool lt = c->negative(), eq = c->is_zero();
    const bool v = fn == Fn::Lt ? lt : fn == Fn::Le ? lt || eq : fn == Fn::Gt ? !lt && !eq : fn == Fn::Ge ? !lt : fn == Fn::Eq ? eq : !eq;
    return v ? constant(1) : Poly{};
  }
  // Reals: < 0 and == 0 of a canonical difference; only where both sides are finite is the difference the same as the comparison.
  auto is_inf = [&](const Poly& p, bool negative) {
    return p.size() == 1 && p[0].f.size() == 1 && nodes_[p[0].f[0].node].kind == Kind::Inf && p[0].coef.negative() == negative;
  };
  if (is_inf(b, true) && ka.finite) return fn == Fn::Gt || fn == Fn::Ge || fn == Fn::Ne ? constant(1) : Poly{};
  if (!ka.finite || !kb.finite) {
    // A select of -inf and finite values compared with -inf (safe softmax).
    if (is_inf(b, true) && a.size() == 1 && a[0].f.size() == 1 && a[0].coef.positive() && a[0].f[0].exp.is_one() &&
        nodes_[a[0].f[0].node].kind == Kind::Fn && nodes_[a[0].f[0].node].fn == Fn::Select) {
      const Factor f = a[0].f[0];
      const Poly c = arg_at(nodes_[f.node], f, 0, ctx), x = arg_at(nodes_[f.node], f, 1, ctx), y = arg_at(nodes_[f.node], f, 2, ctx);
      return select(c, compare(fn, x, b, false, ctx), compare(fn, y, b, false, ctx), ctx);
    }
    Poly strict = make_fn(fn, {a, b}, ctx, ir::DType::F32, ir::DType::Bool);
    return strict;
  }
  if (kd.positive() && kd.finite) return fn == Fn::Gt || fn == Fn::Ge || fn == Fn::Ne ? constant(1) : Poly{};
  Term t = as_term(d, ctx);
  const bool flip = t.coef.negative();
  Poly monic = scale({t}, t.coef.inverse());
  switch (fn) {
    case Fn::Gt:
      return flip ? make_fn(Fn::Lt, {monic, {}}, ctx, ir::DType::F32, ir::DType::Bool)
                  : make_fn(Fn::Lt, {scale(monic, -1), {}}, ctx, ir::DType::F32, ir::DType::Bool);
    case Fn::Lt:
      return flip ? make_fn(Fn::Lt, {scale(monic, -1), {}}, ctx, ir::DType::F32, ir::DType::Bool)
                  : make_fn(Fn::Lt, {monic, {}}, ctx, ir::DType::F32, ir::DType::Bool);
    case Fn::Ge: return negate(compare(Fn::Lt, a, b, false, ctx));
    case Fn::Le: return negate(compare(Fn::Gt, a, b, false, ctx));
    case Fn::Eq: return make_fn(Fn::Eq, {monic, {}}, ctx, ir::DType::F32, ir::DType::Bool);
    default: return negate(make_fn(Fn::Eq, {monic, {}}, ctx, ir::DType::F32, ir::DType::Bool));
  }
}

// --- reading by index ----------------------------------------------------------------------------------------------------------

std::pair<int64_t, int64_t> Algebra::range_by_cases(const Poly& p, const Ext& ctx, std::vector<Factor> guards, int depth) {
  auto [lo, hi] = range(p, ctx);
  // What the guards say: p = +-e + d.
  for (const Factor& g : guards) {
    const int64_t gl = nodes_[g.node].lo, gh = nodes_[g.node].hi;
    const Poly ge = arg_at(nodes_[g.node], g, 0, ctx);
    for (int64_t sgn : {1, -1}) {
      const auto [dl, dh] = range(add(p, scale(ge, -sgn), ctx), ctx);
      if (dl == kNegInf || dh == kPosInf) continue;
      const int64_t l = sgn > 0 ? gl : (gh == kPosInf ? kNegInf : -(gh - 1)),
                    h = sgn > 0 ? (gh == kPosInf ? kPosInf : gh - 1) : (gl == kNegInf ? kPosInf : -gl);
      if (l > kNegInf) lo = std::max(lo, l + dl);
      if (h < kPosInf) hi = std::min(hi, h + dh);
    }
  }
  if (depth > 3) return {lo, hi};
  for (const Term& t : p) {
    for (const Factor& f : t.f) {
      if (nodes_[f.node].kind != Kind::Bracket) continue;
      // Not by add(): brackets that make up 1 would come back in place of constants.
      Poly on, off;
      const auto put = [](Poly& to, Term v) {
        const auto at = std::find_if(to.begin(), to.end(), [&](const Term& x) { return x.f == v.f; });
        if (at == to.end()) {
          to.push_back(std::move(v));
        } else {
          at->coef = at->coef + v.coef;
        }
      };
      for (const Term& u : p) {
        Term v{u.coef, {}};
        for (const Factor& g : u.f) {
          if (!(g == f)) v.f.push_back(g);
        }
        if (v.f.size() == u.f.size()) put(off, u);
        put(on, std::move(v));
      }
      if (std::find(guards.begin(), guards.end(), f) != guards.end()) {
        const auto a = range_by_cases(on, ctx, guards, depth + 1);  // it is 1
        return {std::max(lo, a.first), std::min(hi, a.second)};
      }
      std::vector<Factor> more = guards;
      more.push_back(f);
      const auto a = range_by_cases(on, ctx, std::move(more), depth + 1), b = range_by_cases(off, ctx, guards, depth + 1);
      if (a.first > a.second) return {std::max(lo, b.first), std::min(hi, b.second)};  // the case cannot occur
      return {std::max(lo, std::min(a.first, b.first)), std::min(hi, std::max(a.second, b.second))};
    }
  }
  return {lo, hi};
}

}  // namespace shardproof::prove
