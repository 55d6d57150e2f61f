// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Sums and extremes over bound variables, and the joining of their pieces.
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

Poly Algebra::reduce(ir::Fn fn, const Poly& a, const Ext& ctx, int bound) {
  if (fn != ir::Fn::Add) return reduce_extreme(fn, a, ctx, bound);
  const Ext outer(ctx.begin(), ctx.end() - bound);
  Poly out;
  for (const Term& t : a) out = add(std::move(out), reduce_term(t, ctx, bound), outer);
  return out;
}

// sum over the last `bound` variables (each from 0 to its extent) of one term.
// L-48: how many k in [0, n) satisfy lo <= +-k + f < hi, k being the variable behind ctx, for an integer f such as a label.
std::optional<Poly> Algebra::count_below(const Poly& e, int64_t lo, int64_t hi, const Ext& ctx, int64_t n) {
  const size_t w = ctx.size() + 2, k = ctx.size();
  int64_t q = 0;
  Poly f;
  for (const Term& t : e) {
    Term u{t.coef, {}};
    for (const Factor& g : t.f) {
      Factor without{g.node, g.exp, {}};
      for (size_t at = 0; at < g.map.size(); ++at) {
        if (at % w != k) {
          without.map.push_back(g.map[at]);
        } else if (g.map[at] != 0) {
          if (t.f.size() != 1 || g.node != iota() || !g.exp.is_one() || !t.coef.is_integer()) return std::nullopt;
          q = add_checked(q, mul_checked(t.coef.num(), g.map[at]));
        }
      }
      u.f.push_back(std::move(without));
    }
    if (u.f.size() == 1 && u.f[0].node == iota() && u.f[0].exp.is_one()) {
      f = add(std::move(f), scale(index(u.f[0].map, ctx), t.coef), ctx);
    } else {
      f = add(std::move(f), make_term(std::move(u), ctx), ctx);
    }
  }
  const Known known_f = known(f, ctx);
  if (q != 1 && q != -1) return std::nullopt;
  if ((!known_f.integer || !known_f.finite) && refused(Rule::L48)) return std::nullopt;
  const auto [least, most] = range(f, ctx);
  if ((least <= kNegInf || most >= kPosInf) && refused(Rule::L48)) return std::nullopt;
  // #{k: q k + f < b} is b - f, or n - 1 - (f - b); both ends must lie in the range of k wherever f is.
  auto below = [&, least = least, most = most](int64_t b) -> std::optional<Poly> {
    if (b == kNegInf) return Poly{};
    if (b == kPosInf) return constant(Rat(n));
    const int64_t c = q > 0 ? b : n + b - 1;
    if (add_checked(c, -most) < 0 || add_checked(c, -least) > n) return std::nullopt;
    return add(constant(Rat(c)), scale(f, -1), ctx);
  };
  const auto from = below(lo), to = below(hi);
  if ((!from || !to) && refused(Rule::L48)) return std::nullopt;
  fired(Rule::L48);
  return add(*to, scale(*from, -1), ctx);
}

// A factor that is a sum of picks of a bound variable, sum over k of [o(k) = e] g(k): both sums at once, and the picks take the variable
// away (L-15). A name that holds such a factor is read as what it names.
std::optional<Poly> Algebra::reduce_picks(const Term& t, const Ext& ctx, int bound, Inner inner) {
  const size_t free = ctx.size() - static_cast<size_t>(bound), width = ctx.size() + 1;
  const auto is_pick = [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket && nodes_[f.node].hi == nodes_[f.node].lo + 1; };
  // f, in some product over `ext`, as a sum with picks of a variable from `free` to before `end`.
  const auto opened = [&](const Term& product, size_t at, const Ext& ext) -> std::optional<std::pair<Term, Ext>> {
    const Factor& f = product.f[at];
    const Node& n = nodes_[f.node];
    if (n.kind != Kind::Red || n.fn != ir::Fn::Add || n.args[0].size() != 1 || !f.exp.is_one() || !depends(f, width, free) ||
        std::none_of(n.args[0][0].f.begin(), n.args[0][0].f.end(), is_pick))
      return std::nullopt;
    auto [both, wide] = open_in(product, at, ext);
    for (const Factor& g : both.f) {
      if (!is_pick(g) || !depends(g, wide.size() + 1, ext.size())) continue;
      for (const Term& u : arg_at(nodes_[g.node], g, 0, wide)) {
        if (u.f.size() != 1 || u.f[0].node != iota() || !u.f[0].exp.is_one() || !(u.coef * u.coef).is_one()) continue;
        for (size_t v = free; v < ext.size(); ++v) {
          if (u.f[0].map[v] != 1 && u.f[0].map[v] != -1) continue;
          std::sort(both.f.begin(), both.f.end(), before);
          return std::pair{std::move(both), std::move(wide)};
        }
      }
    }
    return std::nullopt;
  };
  const Ext outer(ctx.begin(), ctx.begin() + static_cast<std::ptrdiff_t>(free));
  for (size_t i = 0; i < t.f.size(); ++i) {
    if (!depends(t.f[i], width, free) || !t.f[i].exp.is_one()) continue;
    const Term rest = without(t, i);
    if (names(t.f[i])) {
      const Poly named = expand_named(t.f[i], ctx);
      const bool holds = std::any_of(named.begin(), named.end(), [&](const Term& u) {
        for (size_t k = 0; k < u.f.size(); ++k) {
          if (opened(u, k, ctx)) return true;
        }
        return false;
      });
      if (!holds || !opens(rest, t.f[i], ctx)) continue;
      Poly out;
      for (const Term& u : named) {
        for (const Term& v : mul({rest}, {u}, ctx)) out = add(std::move(out), reduce_term(v, ctx, bound, inner), outer);
      }
      return out;
    }
    auto both = opened(t, i, ctx);
    if (both && opens(rest, t.f[i], ctx))
      return reduce_term(both->first, both->second, bound + static_cast<int>(both->second.size() - ctx.size()), inner);
  }
  return std::nullopt;
}

Poly Algebra::reduce_term(const Term& t, const Ext& ctx, int bound, Inner inner) {
  if (flat_) inner = Inner::Flat;
  const size_t free = ctx.size() - bound, width = ctx.size() + 1;
  const Ext outer(ctx.begin(), ctx.begin() + static_cast<std::ptrdiff_t>(free));
  for (int k = 0; k < bound; ++k) {
    if (ctx[free + k] == 0) return {};
  }
  if (t.coef.is_zero()) {
    // A guard stays a guard: it is undefined wherever one summand is infinite or undefined, and so is 0 times the sum.
    for (const Factor& f : t.f) {
      if (!depends(f, width, free)) continue;
      Poly guards;
      for (Term& u : reduce_term(Term{1, t.f}, ctx, bound, inner))
        guards = add(std::move(guards), make_term(Term{0, std::move(u.f)}, outer), outer);
      return guards;
    }
  }
  // A bound variable of extent 1 is 0: drop it.
  for (int k = 0; k < bound; ++k) {
    if (ctx[free + k] != 1) continue;
    Sub s;
    Ext smaller = ctx;
    smaller.erase(smaller.begin() + static_cast<std::ptrdiff_t>(free + k));
    s.width = static_cast<int>(smaller.size()) + 1;
    for (size_t v = 0, n = 0; v < ctx.size(); ++v) {
      Row r(s.width, 0);
      if (v != free + k) r[n++] = 1;
      s.rows.push_back(std::move(r));
    }
    Poly p = subst({t}, s, smaller);
    Poly out;
    for (const Term& u : p) out = add(std::move(out), reduce_term(u, smaller, bound - 1, inner), outer);
    return out;
  }
  // Two bound variables that are digits of one number everywhere are that number.
  for (int k = 0; k < bound; ++k) {
    for (int j = 0; j < bound; ++j) {
      if (j == k || ctx[free + k] == kUnbounded) continue;
      const int64_t n = ctx[free + k];
      bool digits = true, turned = true, any = false;
      for (const Factor& f : t.f) {
        for (size_t at = 0; (digits || turned) && at < f.map.size(); at += width) {
          digits &= f.map[at + free + j] == n * f.map[at + free + k];
          turned &= f.map[at + free + j] == -n * f.map[at + free + k];
          any |= f.map[at + free + k] != 0;
        }
      }
      if ((!digits && !turned) || !any) continue;
      Ext merged = ctx;
      merged[free + k] = mul_checked(n, ctx[free + j]);
      merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(free + j));
      Term u{t.coef, {}};
      for (const Factor& f : t.f) {
        Factor g{f.node, f.exp, {}};
        for (size_t at = 0; at < f.map.size(); ++at) {
          if (at % width == free + j) continue;
          // A digit that runs the other way is counted from its end.
          const bool constant = at % width == width - 1;
          g.map.push_back(f.map[at] + (constant && !digits ? f.map[at - (width - 1) + free + j] * (ctx[free + j] - 1) : 0));
        }
        u.f.push_back(std::move(g));
      }
      std::sort(u.f.begin(), u.f.end(), before);
      return reduce_term(u, merged, bound - 1, inner);
    }
  }
  if (by_order) {
    if (std::optional<Poly> picked = reduce_picks(t, ctx, bound, inner)) return *std::move(picked);
  }
  // Brackets of an affine form in one bound variable only cut its range (L-14).
  for (size_t i = 0; i < t.f.size(); ++i) {
    const Factor& f = t.f[i];
    const Node& n = nodes_[f.node];
    if (n.kind != Kind::Bracket || !depends(f, width, free)) continue;
    const int64_t lo = n.lo, hi = n.hi;
    const Poly e = arg_at(n, f, 0, ctx);
    if (e.size() == 1 && e[0].f.size() == 1 && e[0].f[0].node == iota() && e[0].f[0].exp.is_one() && e[0].coef.is_integer()) {
      const std::vector<int64_t>& row = e[0].f[0].map;
      int var = -1, count = 0;
      for (size_t v = 0; v < ctx.size(); ++v) {
        if (row[v] != 0) ++count, var = static_cast<int>(v);
      }
      if (count == 1 && var >= static_cast<int>(free)) {
        // lo <= c (q k + d) < hi
        const int64_t q = mul_checked(e[0].coef.num(), row[var]), d = mul_checked(e[0].coef.num(), row[ctx.size()]);
        int64_t from = 0, to = ctx[var];
        if (q > 0) {
          if (lo > kNegInf) from = std::max(from, ceil_div(lo - d, q));
          if (hi < kPosInf) to = std::min(to, floor_div(hi - 1 - d, q) + 1);
        } else {
          if (lo > kNegInf) to = std::min(to, floor_div(lo - d, q) + 1);
          if (hi < kPosInf) from = std::max(from, ceil_div(hi - 1 - d, q));
        }
        fired(Rule::L14);
        if (from >= to) return {};
        Term rest{t.coef, t.f};
        rest.f.erase(rest.f.begin() + static_cast<std::ptrdiff_t>(i));
        Ext cut = ctx;
        cut[var] = to - from;
        Sub s = Sub::identity(static_cast<int>(ctx.size()));
        s.rows[var][ctx.size()] = from;
        Poly p = subst({rest}, s, cut), out;
        for (const Term& u : p) out = add(std::move(out), reduce_term(u, cut, bound), outer);
        return out;
      }
    }
    // [e(k) = lo] with k alone in an iota of coefficient +-1: the sum picks k (L-15).
    if (hi == lo + 1) {
      for (const Term& part : e) {
        if (part.f.size() != 1 || part.f[0].node != iota() || !part.f[0].exp.is_one() || !part.coef.is_integer()) continue;
        const std::vector<int64_t> row = part.f[0].map;
        for (size_t k = free; k < ctx.size(); ++k) {
          const int64_t q = mul_checked(part.coef.num(), row[k]);
          if (q != 1 && q != -1) continue;
          bool elsewhere = false;
          for (const Term& o : e) {
            if (&o == &part) continue;
            for (const Factor& g : o.f) elsewhere |= depends_on(g, width, k);
          }
          if (elsewhere && refused(Rule::L15)) continue;
          fired(Rule::L15);
          // Bring k to the end of the context.
          std::vector<size_t> order;
          for (size_t v = 0; v < ctx.size(); ++v) {
            if (v != k) order.push_back(v);
          }
          order.push_back(k);
          Ext turned;
          Sub s;
          s.width = static_cast<int>(width);
          s.rows.assign(ctx.size(), Row(width, 0));
          for (size_t p = 0; p < order.size(); ++p) {
            turned.push_back(ctx[order[p]]);
            s.rows[order[p]][p] = 1;
          }
          Ext inner(turned.begin(), turned.end() - 1);
          Poly e2 = subst(e, s, turned);
          Term rest{t.coef, t.f};
          rest.f.erase(rest.f.begin() + static_cast<std::ptrdiff_t>(i));
          Poly body = subst({rest}, s, turned);
          // value of k: lo = q k + (e2 at k = 0)
          Sub zero = Sub::identity(static_cast<int>(inner.size()));
          zero.rows.push_back(Row(inner.size() + 1, 0));
          Poly at0 = subst(e2, zero, inner);
          Poly value = scale(add(constant(Rat(lo)), scale(at0, -1), inner), q);
          Poly in_range = bracket(value, 0, ctx[k], inner);
          Poly picked;
          // Under the bracket the index is in range: take() sees it as a factor.
          for (const Term& u : body) picked = add(std::move(picked), where(in_range, take({u}, turned, value, inner), inner), inner);
          Poly out;
          for (const Term& u : picked) out = add(std::move(out), reduce_term(u, inner, bound - 1), outer);
          return out;
        }
      }
    }
  }
  // What does not use the bound variables leaves the sum (L-8).
  Term outside{t.coef, {}};
  std::vector<Factor> inside;
  bool apart = true;  // infinite factors stay inside: inf (2 - 1) is inf, 2 inf - inf is undefined
  for (const Factor& f : t.f) apart &= known(Term{1, {f}}, ctx).never_inf();
  // What may be undefined stays under the brackets that may select nothing: sum [e(k) = a] x(k) / t is 0 where no e(k) is a, whatever t is.
  const auto is_mask = [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket && depends(f, width, free); };
  const bool alone = std::count_if(t.f.begin(), t.f.end(), is_mask) == 1;
  for (size_t i = 0; apart && i < t.f.size(); ++i) {
    if (!is_mask(t.f[i]) || (alone && holds_somewhere(t.f[i], ctx, free))) continue;
    for (const Factor& f : t.f) {
      bool shared = false;
      for (size_t v = free; v < ctx.size(); ++v) shared |= depends_on(f, width, v) && depends_on(t.f[i], width, v);
      apart &= shared || known(Term{1, {f}}, ctx).finite;
    }
  }
  apart |= std::none_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return depends(f, width, free); });  // then there is only a count
  if (!apart) refused(Rule::L8), refused(Rule::L9);
  for (const Factor& f : t.f) {
    if (!apart || depends(f, width, free)) {
      inside.push_back(f);
    } else {
      outside.f.push_back(narrowed(f, width, free));
      fired(Rule::L8);
    }
  }
  // The sum of a name that stands alone is the sum of what it names.
  if (inside.size() == 1 && inside[0].exp.is_one() && names(inside[0])) {
    Poly out;
    for (const Term& u : expand_named(inside[0], ctx)) out = add(std::move(out), reduce_term(u, ctx, bound, inner), outer);
    return times_value(make_term(std::move(outside), outer), out, outer);
  }
  // Bound variables that occur in one factor only, itself a sum, are summed inside of it (L-36): parts of an inner sum that were added up
  // outside of a product meet before the product.
  if (inside.size() > 1 && inner != Inner::Flat) {
    for (size_t i = 0; i < inside.size(); ++i) {
      const Node& n = nodes_[inside[i].node];
      if (!inside[i].exp.is_one() || !((names(inside[i]) && inner == Inner::Names) || (n.kind == Kind::Red && n.fn == ir::Fn::Add)))
        continue;
      bool bounded = true;  // inf (2 - 1) is inf, 2 inf - inf is undefined
      for (size_t j = 0; j < inside.size(); ++j) bounded &= j == i || known(Term{1, {inside[j]}}, ctx).never_inf();
      if (!bounded && refused(Rule::L36)) continue;
      std::vector<size_t> order;
      int mine = 0;
      for (int turn = 0; turn < 2; ++turn) {  // the others first, then what only this factor uses
        for (size_t v = 0; v < ctx.size(); ++v) {
          bool own = v >= free && depends_on(inside[i], width, v);
          for (size_t j = 0; own && j < inside.size(); ++j) own = j == i || !depends_on(inside[j], width, v);
          if (own != (turn == 1)) continue;
          order.push_back(v);
          mine += own;
        }
      }
      if (mine == 0) continue;
      Ext turned;
      Sub s;
      s.width = static_cast<int>(width);
      s.rows.assign(ctx.size(), Row(width, 0));
      for (size_t q = 0; q < order.size(); ++q) {
        turned.push_back(ctx[order[q]]);
        s.rows[order[q]][q] = 1;
      }
      const Ext rest_ctx(turned.begin(), turned.end() - mine);
      Term rest{1, {}};
      for (size_t j = 0; j < inside.size(); ++j) {
        if (j != i) rest.f.push_back(inside[j]);
      }
      Poly sum;
      for (const Term& u : subst({Term{1, {inside[i]}}}, s, turned))
        sum = add(std::move(sum), reduce_term(u, turned, mine, inner), rest_ctx);
      Sub zero = s;  // the rest does not use the last ones
      for (Row& r : zero.rows) r.erase(r.end() - 1 - mine, r.end() - 1);
      zero.width -= mine;
      const Poly product = times_value(subst({rest}, zero, rest_ctx), sum, rest_ctx);
      ++applications;
      fired(Rule::L36);
      Poly out;
      for (const Term& u : product) out = add(std::move(out), reduce_term(u, rest_ctx, bound - mine), outer);
      return times_value(make_term(std::move(outside), outer), out, outer);
    }
  }
  // Bound variables that share no factor are separate sums (L-9).
  std::vector<int> group(bound, -1);
  int groups = 0;
  for (int k = 0; k < bound; ++k) {
    bool used = false;
    for (const Factor& f : inside) used |= depends_on(f, width, free + k);
    if (!used) {
      outside.coef = outside.coef * Rat(ctx[free + k]);
      continue;
    }
    group[k] = groups++;
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Factor& f : inside) {
      int least = -1;
      for (int k = 0; k < bound; ++k) {
        if (group[k] >= 0 && (!apart || depends_on(f, width, free + k)) && (least < 0 || group[k] < least)) least = group[k];
      }
      for (int k = 0; k < bound; ++k) {
        if (group[k] >= 0 && (!apart || depends_on(f, width, free + k)) && group[k] != least) group[k] = least, changed = true;
      }
    }
  }
  Poly result = make_term(std::move(outside), outer);
  for (int g = 0; g < groups; ++g) {
    std::vector<int> vars;
    for (int k = 0; k < bound; ++k) {
      if (group[k] == g) vars.push_back(k);
    }
    if (vars.empty()) continue;
    if (static_cast<int>(vars.size()) < bound) fired(Rule::L9);
    // The group's factors over outer + its own bound variables.
    Term body{1, {}};
    Ext ext = outer;
    for (int k : vars) ext.push_back(ctx[free + k]);
    for (const Factor& f : inside) {
      bool mine = false;
      for (int k : vars) mine |= !apart || depends_on(f, width, free + k);
      if (!mine) continue;
      Factor h{f.node, f.exp, {}};
      for (size_t r = 0; r < f.map.size() / width; ++r) {
        for (size_t v = 0; v < free; ++v) h.map.push_back(f.map[r * width + v]);
        for (int k : vars) h.map.push_back(f.map[r * width + free + k]);
        h.map.push_back(f.map[r * width + width - 1]);
      }
      body.f.push_back(std::move(h));
    }
    int count = static_cast<int>(vars.size());
    // A sum of a sum is one sum (L-16), also under brackets.
    while (true) {
      size_t at = body.f.size();
      bool alone = true;
      for (size_t i = 0; i < body.f.size(); ++i) {
        if (nodes_[body.f[i].node].kind == Kind::Bracket) continue;
        alone &= at == body.f.size();
        at = i;
      }
      if (!alone || at == body.f.size() || !body.f[at].exp.is_one() || nodes_[body.f[at].node].kind != Kind::Red ||
          nodes_[body.f[at].node].fn != ir::Fn::Add) {
        if (!alone && std::any_of(body.f.begin(), body.f.end(), [&](const Factor& f) { return is_sum(f); })) refused(Rule::L16);
        break;
      }
      fired(Rule::L16);
      auto [opened, wider] = open_in(body, at, ext);
      count += static_cast<int>(wider.size() - ext.size());
      ext = std::move(wider);
      body = std::move(opened);
    }
    std::sort(body.f.begin(), body.f.end(), before);
    // How many k satisfy lo <= +-k + f < hi, where both ends always lie in the range of k: an index form (L-33).
    if (count == 1 && body.f.size() == 1 && body.f[0].exp.is_one() && nodes_[body.f[0].node].kind == Kind::Bracket) {
      const int64_t lo = nodes_[body.f[0].node].lo, hi = nodes_[body.f[0].node].hi, n = ext.back();
      const Poly e = arg_at(nodes_[body.f[0].node], body.f[0], 0, ext);
      if (e.size() == 1 && e[0].coef.is_integer() && e[0].f.size() == 1 && e[0].f[0].node == iota() && e[0].f[0].exp.is_one()) {
        Row f = e[0].f[0].map;
        for (int64_t& v : f) v = mul_checked(v, e[0].coef.num());
        const int64_t q = f[outer.size()];
        f.erase(f.begin() + static_cast<std::ptrdiff_t>(outer.size()));
        if (q == 1 || q == -1) {
          // #{k in [0, n): q k + f < b}, if it is an index form on all of the context.
          auto below = [&](int64_t b) -> std::optional<Row> {
            Row r(outer.size() + 1, 0);
            if (b == kNegInf) return r;
            if (b == kPosInf) {
              r.back() = n;
              return r;
            }
            for (size_t v = 0; v < r.size(); ++v) r[v] = -f[v];
            r.back() += q > 0 ? b : n + b - 1;  // k < b - f; k > f - b, that is n - 1 - (f - b)
            int64_t low = r.back(), high = low;
            for (size_t v = 0; v < outer.size(); ++v) {
              if (r[v] == 0) continue;
              if (outer[v] == kUnbounded) return std::nullopt;
              (r[v] < 0 ? low : high) += mul_checked(r[v], outer[v] - 1);
            }
            if (low < 0 || high > n) return std::nullopt;
            ranged = true;
            return r;
          };
          const auto a = below(lo), b = below(hi);
          if (a && b) {
            Row r = *b;
            for (size_t v = 0; v < r.size(); ++v) r[v] -= (*a)[v];
            bool fixed = true;
            for (size_t v = 0; v + 1 < r.size(); ++v) fixed &= r[v] == 0;
            ++applications;
            fired(Rule::L33);
            result = mul(result, fixed ? constant(Rat(r.back()) * body.coef) : scale(index(r, outer), body.coef), outer);
            continue;
          }
          refused(Rule::L33);
        }
      } else if (const auto number = count_below(e, lo, hi, outer, n)) {
        ++applications;
        result = mul(result, scale(*number, body.coef), outer);
        continue;
      }
    }
    if (count != static_cast<int>(vars.size())) {
      // The flattened body may simplify further.
      result = times_value(result, reduce_term(body, ext, count), outer);
      continue;
    }
    Node n;
    n.kind = Kind::Red;
    n.fn = ir::Fn::Add;
    for (int k = 0; k < count; ++k) {
      n.box.push_back(0);
      n.box.push_back(ext[outer.size() + k]);
    }
    const Rat c = body.coef;
    body.coef = 1;
    n.args.push_back({body});
    Term red{c, {widen(intern(std::move(n), outer), outer)}};
    if (structure_known && !exchanging_ && !flat_ && nodes_[red.f[0].node].kernel >= sequential_kernels) {
      if (const auto turned = exchange(body, ext, count)) {
        result = times_value(result, scale(*turned, c), outer);
        continue;
      }
    }
    result = mul(result, {std::move(red)}, outer);
  }
  return result;
}

// Does the bracket of an index form hold somewhere in the range of a bound variable, for all values of the other variables (a causal mask)?
bool Algebra::holds_somewhere(const Factor& bracket, const Ext& ctx, size_t free) {
  const int64_t lo = nodes_[bracket.node].lo, hi = nodes_[bracket.node].hi;
  const Poly e = arg_at(nodes_[bracket.node], bracket, 0, ctx);
  if (e.size() != 1 || !e[0].coef.is_integer() || e[0].f.size() != 1 || e[0].f[0].node != iota() || !e[0].f[0].exp.is_one()) return false;
  for (size_t k = free; k < ctx.size(); ++k) {
    const int64_t q = mul_checked(e[0].coef.num(), e[0].f[0].map[k]);
    if (q != 1 && q != -1) continue;
    int64_t low = mul_checked(e[0].coef.num(), e[0].f[0].map[ctx.size()]), high = low;  // of the rest
    bool bounded = ctx[k] != kUnbounded;
    for (size_t v = 0; v < ctx.size(); ++v) {
      const int64_t c = mul_checked(e[0].coef.num(), e[0].f[0].map[v]);
      if (v == k || c == 0) continue;
      bounded &= ctx[v] != kUnbounded;
      if (bounded) (c < 0 ? low : high) += mul_checked(c, ctx[v] - 1);
    }
    if (!bounded) continue;
    const int64_t least = q > 0 ? 0 : -(ctx[k] - 1), most = q > 0 ? ctx[k] - 1 : 0;
    if ((lo == kNegInf || low + most >= lo) && (hi == kPosInf || high + least < hi)) {
      ranged = true;
      return true;
    }
  }
  return false;
}

// A bracket makes the product 0 throughout, and everything else is finite: 0 times it is 0.
bool Algebra::vanishes(const Term& t, const Ext& ctx) {
  const auto never = [&](const Factor& f) {
    if (nodes_[f.node].kind != Kind::Bracket) return false;
    const int64_t lo = nodes_[f.node].lo, hi = nodes_[f.node].hi;
    bool value = true;
    return decide(arg_at(nodes_[f.node], f, 0, ctx), lo, hi, ctx, value) && !value;
  };
  if (std::none_of(t.f.begin(), t.f.end(), never)) return false;
  return std::all_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return known(Term{1, {f}}, ctx).finite; }) || !refused(Rule::L27);
}

// L-27: where a bracket of an index form makes every further summand 0, the box takes them in: a block of keys under a causal mask and
// the whole row are one sum.
Factor Algebra::widen(Factor red, const Ext& ctx) {
  const Node& n = nodes_[red.node];
  bool brackets = false;
  for (const Factor& f : n.args[0][0].f) brackets |= nodes_[f.node].kind == Kind::Bracket;
  if (!brackets) return red;
  Node wide = n;
  bool changed = false;
  for (int k = 0; k < n.num_bound(); ++k) {
    if (n.bound[k] == kUnbounded) continue;
    for (const bool up : {false, true}) {
      const int64_t from = up ? wide.box[2 * k + 1] : 0, to = up ? n.bound[k] : wide.box[2 * k];
      if (from >= to) continue;
      // The summand on the new part, in the context.
      Node part = wide;
      part.box[2 * k] = from;
      part.box[2 * k + 1] = to;
      Node saved = std::exchange(nodes_[red.node], std::move(part));
      std::pair<Term, Ext> opened;
      try {
        opened = open_red(red, ctx);
      } catch (...) {  // the exact numbers were left: the node is what it was
        nodes_[red.node] = std::move(saved);
        throw;
      }
      nodes_[red.node] = std::move(saved);
      if (!vanishes(opened.first, opened.second)) continue;
      (up ? wide.box[2 * k + 1] : wide.box[2 * k]) = up ? n.bound[k] : 0;
      changed = true;
    }
  }
  if (!changed) return red;
  fired(Rule::L27);
  const Ext own = wide.dims;
  wide.known = {};
  Factor f = intern(std::move(wide), own);
  Factor placed{f.node, red.exp, {}};
  const size_t w = ctx.size() + 1, ow = own.size() + 1;
  for (size_t r = 0; r < f.map.size() / ow; ++r) {
    Row row(w, 0);
    row[w - 1] = f.map[r * ow + ow - 1];
    for (size_t v = 0; v < own.size(); ++v) {
      for (size_t c = 0; c < w; ++c) row[c] += f.map[r * ow + v] * red.map[v * w + c];
    }
    placed.map.insert(placed.map.end(), row.begin(), row.end());
  }
  return placed;
}

}  // namespace shardproof::prove
