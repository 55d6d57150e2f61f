// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Sums and extremes over bound variables, and the joining of their pieces.
#include <algorithm>

#include "prove/algebra.h"
#include "util/result.h"

namespace shardproof::prove {

namespace {

bool depends(const Factor& f, size_t width, size_t from) {
  for (size_t at = 0; at < f.map.size(); ++at) {
    const size_t col = at % width;
    if (col >= from && col + 1 < width && f.map[at] != 0) return true;
  }
  return false;
}

bool depends_on(const Factor& f, size_t width, size_t var) {
  for (size_t at = var; at < f.map.size(); at += width) {
    if (f.map[at] != 0) return true;
  }
  return false;
}

// Drops the columns from..width-2 (all zero).
Factor narrowed(const Factor& f, size_t width, size_t from) {
  Factor g{f.node, f.exp, {}};
  for (size_t r = 0; r < f.map.size() / width; ++r) {
    g.map.insert(g.map.end(), f.map.begin() + static_cast<std::ptrdiff_t>(r * width), f.map.begin() + static_cast<std::ptrdiff_t>(r * width + from));
    g.map.push_back(f.map[r * width + width - 1]);
  }
  return g;
}

}  // namespace

Poly Algebra::reduce(ir::Fn fn, const Poly& a, const Ext& ctx, int bound) {
  if (fn != ir::Fn::Add) return reduce_extreme(fn, a, ctx, bound);
  const Ext outer(ctx.begin(), ctx.end() - bound);
  Poly out;
  for (const Term& t : a) out = add(std::move(out), reduce_term(t, ctx, bound), outer);
  return out;
}

// sum over the last `bound` variables (each from 0 to its extent) of one term.
Poly Algebra::reduce_term(const Term& t, const Ext& ctx, int bound) {
  const size_t free = ctx.size() - bound, width = ctx.size() + 1;
  const Ext outer(ctx.begin(), ctx.begin() + static_cast<std::ptrdiff_t>(free));
  for (int k = 0; k < bound; ++k) {
    if (ctx[free + k] == 0) return {};
  }
  if (t.coef.is_zero()) {
    // A guard stays a guard: undefined wherever one summand is. Kept as it stands only if it does not use the bound variables.
    for (const Factor& f : t.f) {
      if (depends(f, width, free)) throw Overflow("sum over possibly undefined terms: 0 * " + str(Poly{Term{1, {f}}}));
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
    for (const Term& u : p) out = add(std::move(out), reduce_term(u, smaller, bound - 1), outer);
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
      std::sort(u.f.begin(), u.f.end(), [](const Factor& x, const Factor& y) { return prove::compare(x, y) < 0; });
      return reduce_term(u, merged, bound - 1);
    }
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
          if (elsewhere) continue;
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
          for (const Term& b : in_range) {
            for (const Term& u : body) {
              Poly one = take({u}, turned, value, inner);
              picked = add(std::move(picked), mul({b}, one, inner), inner);
            }
          }
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
  for (const Factor& f : t.f) {
    if (depends(f, width, free)) {
      inside.push_back(f);
    } else {
      outside.f.push_back(narrowed(f, width, free));
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
        if (group[k] >= 0 && depends_on(f, width, free + k) && (least < 0 || group[k] < least)) least = group[k];
      }
      for (int k = 0; k < bound; ++k) {
        if (group[k] >= 0 && depends_on(f, width, free + k) && group[k] != least) group[k] = least, changed = true;
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
    // The group's factors over outer + its own bound variables.
    Term body{1, {}};
    Ext ext = outer;
    for (int k : vars) ext.push_back(ctx[free + k]);
    for (const Factor& f : inside) {
      bool mine = false;
      for (int k : vars) mine |= depends_on(f, width, free + k);
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
      if (!alone || at == body.f.size() || !body.f[at].exp.is_one() || nodes_[body.f[at].node].kind != Kind::Red || nodes_[body.f[at].node].fn != ir::Fn::Add) break;
      auto [opened, wider] = open_red(body.f[at], ext);
      const size_t more = wider.size() - ext.size(), w = ext.size() + 1;
      count += static_cast<int>(more);
      opened.coef = opened.coef * body.coef;
      for (size_t i = 0; i < body.f.size(); ++i) {
        if (i == at) continue;
        Factor g{body.f[i].node, body.f[i].exp, {}};
        for (size_t r = 0; r < body.f[i].map.size() / w; ++r) {
          const auto row = body.f[i].map.begin() + static_cast<std::ptrdiff_t>(r * w);
          g.map.insert(g.map.end(), row, row + static_cast<std::ptrdiff_t>(w) - 1);
          g.map.insert(g.map.end(), more, 0);
          g.map.push_back(row[static_cast<std::ptrdiff_t>(w) - 1]);
        }
        opened.f.push_back(std::move(g));
      }
      ext = std::move(wider);
      body = std::move(opened);
    }
    std::sort(body.f.begin(), body.f.end(), [](const Factor& x, const Factor& y) { return prove::compare(x, y) < 0; });
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
            r.back() += q > 0 ? b : n + b - 1;   // k < b - f; k > f - b, that is n - 1 - (f - b)
            int64_t low = r.back(), high = low;
            for (size_t v = 0; v < outer.size(); ++v) {
              if (r[v] == 0) continue;
              if (outer[v] == kUnbounded) return std::nullopt;
              (r[v] < 0 ? low : high) += mul_checked(r[v], outer[v] - 1);
            }
            if (low < 0 || high > n) return std::nullopt;
            return r;
          };
          const auto a = below(lo), b = below(hi);
          if (a && b) {
            Row r = *b;
            for (size_t v = 0; v < r.size(); ++v) r[v] -= (*a)[v];
            bool fixed = true;
            for (size_t v = 0; v + 1 < r.size(); ++v) fixed &= r[v] == 0;
            ++applications;
            result = mul(result, fixed ? constant(Rat(r.back()) * body.coef) : scale(index(r, outer), body.coef), outer);
            continue;
          }
        }
      }
    }
    if (count != static_cast<int>(vars.size())) {
      // The flattened body may simplify further.
      result = mul(result, reduce_term(body, ext, count), outer);
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
    n.args.push_back({std::move(body)});
    Term red{c, {widen(intern(std::move(n), outer), outer)}};
    result = mul(result, {std::move(red)}, outer);
  }
  return result;
}

// L-27: where a bracket of an index form makes every further summand 0, the box takes them in: a block of keys under a causal mask and
// the whole row are one sum.
Factor Algebra::widen(Factor red, const Ext& ctx) {
  const Node n = nodes_[red.node];
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
      Node saved = std::move(nodes_[red.node]);
      nodes_[red.node] = std::move(part);
      auto [body, ext] = open_red(red, ctx);
      nodes_[red.node] = std::move(saved);
      bool zero = false;
      for (const Factor& f : body.f) {
        if (nodes_[f.node].kind != Kind::Bracket) continue;
        const int64_t lo = nodes_[f.node].lo, hi = nodes_[f.node].hi;
        bool value = true;
        if (decide(arg_at(nodes_[f.node], f, 0, ext), lo, hi, ext, value) && !value) zero = true;
      }
      // Everything else must be finite there: 0 times it is 0.
      if (zero) {
        for (const Factor& f : body.f) zero &= known(Term{1, {f}}, ext).finite;
      }
      if (!zero) continue;
      (up ? wide.box[2 * k + 1] : wide.box[2 * k]) = up ? n.bound[k] : 0;
      changed = true;
    }
  }
  if (!changed) return red;
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

// --- extremes ----------------------------------------------------------------------------------------------------------------

Poly Algebra::reduce_extreme(ir::Fn fn, const Poly& a, const Ext& ctx, int bound) {
  const size_t free = ctx.size() - bound, width = ctx.size() + 1;
  const Ext outer(ctx.begin(), ctx.begin() + static_cast<std::ptrdiff_t>(free));
  int64_t volume = 1;
  for (int k = 0; k < bound; ++k) volume = volume == 0 || ctx[free + k] == 0 ? 0 : 2;
  if (fn == ir::Fn::And || fn == ir::Fn::Or) {
    // any(p) = not all(not p); all(p) = (sum(1 - p) < 1)
    const Poly q = fn == ir::Fn::And ? add(constant(1), scale(a, -1), ctx) : a;
    const Poly count = reduce(ir::Fn::Add, q, ctx, bound);
    return bracket(count, fn == ir::Fn::And ? kNegInf : 1, fn == ir::Fn::And ? 1 : kPosInf, outer);
  }
  if (volume == 0) {
    if (fn == ir::Fn::Mul) return constant(1);
    return {Term{fn == ir::Fn::Max ? -1 : 1, {Factor{inf(), 1, {}}}}};
  }
  if (fn == ir::Fn::Min) return scale(reduce_extreme(ir::Fn::Max, scale(a, -1), ctx, bound), -1);
  // What does not use the bound variables leaves the maximum (L-17), if finite; so does a positive scale.
  Poly inside, outside;
  if (fn == ir::Fn::Max) {
    for (const Term& t : a) {
      bool uses = false;
      for (const Factor& f : t.f) uses |= depends(f, width, free);
      if (!uses && known(t, ctx).finite) {
        Term u{t.coef, {}};
        for (const Factor& f : t.f) u.f.push_back(narrowed(f, width, free));
        outside.push_back(std::move(u));
      } else {
        inside.push_back(t);
      }
    }
  } else {
    inside = a;
  }
  if (inside.empty()) return outside;
  Rat c = 1;
  if (fn == ir::Fn::Max && !inside[0].coef.is_zero()) {
    c = inside[0].coef.negative() ? -inside[0].coef : inside[0].coef;
    inside = scale(std::move(inside), c.inverse());
  }
  // Unused or one-element bound variables vanish.
  std::vector<size_t> keep;
  for (size_t k = free; k < ctx.size(); ++k) {
    bool used = false;
    for (const Term& t : inside) {
      for (const Factor& f : t.f) used |= depends_on(f, width, k);
    }
    if (used && ctx[k] > 1) keep.push_back(k);
    if (!used && fn == ir::Fn::Mul) throw Overflow("product over an unused index");
  }
  Ext ext = outer;
  Sub s;
  s.width = static_cast<int>(free + keep.size()) + 1;
  for (size_t v = 0; v < ctx.size(); ++v) {
    Row r(s.width, 0);
    if (v < free) {
      r[v] = 1;
    } else {
      for (size_t p = 0; p < keep.size(); ++p) {
        if (keep[p] == v) r[free + p] = 1;
      }
    }
    s.rows.push_back(std::move(r));
  }
  for (size_t k : keep) ext.push_back(ctx[k]);
  Poly body = subst(inside, s, ext);
  int count = static_cast<int>(keep.size());
  if (count == 0) return add(scale(std::move(body), c), outside, outer);
  // Two bound variables that are digits of one number everywhere are that number.
  for (int k = 0; k < count; ++k) {
    for (int j = 0; j < count; ++j) {
      if (j == k) continue;
      const int64_t n = ext[free + k];
      const size_t w = ext.size() + 1;
      bool digits = true, any = false;
      for (const Term& t : body) {
        for (const Factor& f : t.f) {
          for (size_t at = 0; digits && at < f.map.size(); at += w) {
            digits = f.map[at + free + j] == n * f.map[at + free + k];
            any |= f.map[at + free + k] != 0;
          }
        }
      }
      if (!digits || !any) continue;
      Ext fewer = ext;
      fewer[free + k] = mul_checked(n, ext[free + j]);
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(free + j));
      for (Term& t : body) {
        for (Factor& f : t.f) {
          std::vector<int64_t> map;
          for (size_t at = 0; at < f.map.size(); ++at) {
            if (at % w != free + j) map.push_back(f.map[at]);
          }
          f.map = std::move(map);
        }
      }
      return add(scale(reduce_extreme(fn, simplify(body, fewer), fewer, count - 1), c), outside, outer);
    }
  }
  // max of max is one max.
  if (fn == ir::Fn::Max && body.size() == 1 && body[0].coef.is_one() && body[0].f.size() == 1 && body[0].f[0].exp.is_one() &&
      nodes_[body[0].f[0].node].kind == Kind::Red && nodes_[body[0].f[0].node].fn == ir::Fn::Max) {
    const Factor f = body[0].f[0];
    const Node n = nodes_[f.node];
    Ext wider = ext;
    Sub inner;
    inner.width = static_cast<int>(ext.size()) + n.num_bound() + 1;
    for (size_t r = 0; r < n.dims.size(); ++r) {
      Row row(inner.width, 0);
      for (size_t v = 0; v < ext.size(); ++v) row[v] = f.map[r * (ext.size() + 1) + v];
      row[inner.width - 1] = f.map[r * (ext.size() + 1) + ext.size()];
      inner.rows.push_back(std::move(row));
    }
    for (int k = 0; k < n.num_bound(); ++k) {
      Row row(inner.width, 0);
      row[ext.size() + k] = 1;
      row[inner.width - 1] = n.box[2 * k];
      inner.rows.push_back(std::move(row));
      wider.push_back(n.box[2 * k + 1] - n.box[2 * k]);
    }
    const Poly opened = subst(n.args[0], inner, wider);
    return add(scale(reduce_extreme(fn, opened, wider, count + n.num_bound()), c), outside, outer);
  }
  Node n;
  n.kind = Kind::Red;
  n.fn = fn;
  for (int k = 0; k < count; ++k) {
    n.box.push_back(0);
    n.box.push_back(ext[free + k]);
  }
  n.args.push_back(std::move(body));
  Term red{c, {intern(std::move(n), outer)}};
  return add({std::move(red)}, outside, outer);
}

// Elements of one node at neighbouring constant places, or ranges of them: the maximum over the whole range (L-34).
void Algebra::roll_extremes(std::vector<Poly>& parts, const Ext& ctx) {
  struct Range {
    size_t part;
    Factor at;         // the factor, with 0 for the constant of its row
    size_t row;
    int64_t lo, hi;
    Rat coef = 1;
  };
  const size_t w = ctx.size() + 1;
  bool again = true;
  while (again && parts.size() > 1) {
    again = false;
    std::vector<Range> all;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Poly& p = parts[i];
      if (p.size() != 1 || p[0].f.size() != 1 || !p[0].f[0].exp.is_one() || !p[0].coef.positive()) continue;
      const Factor f = p[0].f[0];
      const Node& n = nodes_[f.node];
      if (n.kind == Kind::Red && n.fn == ir::Fn::Max) {
        if (n.num_bound() != 1 || n.args[0].size() != 1 || !n.args[0][0].coef.is_one() || n.args[0][0].f.size() != 1 || !n.args[0][0].f[0].exp.is_one()) continue;
        const Factor g = n.args[0][0].f[0];
        const size_t own = n.dims.size(), gw = own + 2;
        size_t row = 0, hits = 0;
        bool alone = true;
        for (size_t r = 0; r < g.map.size() / gw; ++r) {
          if (g.map[r * gw + own] == 0) continue;
          ++hits;
          row = r;
          alone &= g.map[r * gw + own] == 1;
          for (size_t v = 0; v < own; ++v) alone &= g.map[r * gw + v] == 0;
        }
        if (hits != 1 || !alone) continue;
        Factor at{g.node, 1, std::vector<int64_t>(g.map.size() / gw * w, 0)};
        for (size_t r = 0; r < g.map.size() / gw; ++r) {
          if (r == row) continue;
          at.map[r * w + w - 1] = g.map[r * gw + gw - 1];
          for (size_t v = 0; v < own; ++v) {
            for (size_t k = 0; k < w; ++k) at.map[r * w + k] += g.map[r * gw + v] * f.map[v * w + k];
          }
        }
        const int64_t c = g.map[row * gw + gw - 1];
        all.push_back({i, std::move(at), row, c + n.box[0], c + n.box[1], p[0].coef});
        continue;
      }
      for (size_t r = 0; r < n.dims.size(); ++r) {
        bool fixed = n.dims[r] > 1;
        for (size_t k = 0; k + 1 < w; ++k) fixed &= f.map[r * w + k] == 0;
        if (!fixed) continue;
        Factor at = f;
        const int64_t c = at.map[r * w + w - 1];
        at.map[r * w + w - 1] = 0;
        all.push_back({i, std::move(at), r, c, c + 1, p[0].coef});
      }
    }
    for (size_t i = 0; i < all.size() && !again; ++i) {
      for (size_t j = 0; j < all.size() && !again; ++j) {
        const Range &x = all[i], &y = all[j];
        if (x.part == y.part || x.row != y.row || !(x.at == y.at) || !(x.coef == y.coef) || x.hi < y.lo || x.lo > y.lo) continue;
        const int64_t hi = std::max(x.hi, y.hi);
        Factor whole{x.at.node, 1, {}};
        for (size_t r = 0; r < x.at.map.size() / w; ++r) {
          for (size_t k = 0; k + 1 < w; ++k) whole.map.push_back(x.at.map[r * w + k]);
          whole.map.push_back(r == x.row ? 1 : 0);
          whole.map.push_back(r == x.row ? x.lo : x.at.map[r * w + w - 1]);
        }
        Ext ext = ctx;
        ext.push_back(hi - x.lo);
        const size_t low = std::min(x.part, y.part), high = std::max(x.part, y.part);
        const Rat coef = x.coef;
        parts[low] = scale(reduce_extreme(ir::Fn::Max, {Term{1, {std::move(whole)}}}, ext, 1), coef);
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(high));
        ++applications;
        again = true;
      }
    }
  }
}

// max(a, b, ...) of polys: nested ones flattened, common finite part taken out, pieces of one range joined (L-18).
Poly Algebra::extreme(ir::Fn fn, const std::vector<Poly>& args, const Ext& ctx) {
  if (fn == ir::Fn::Min) {
    std::vector<Poly> negated;
    negated.reserve(args.size());
    for (const Poly& p : args) negated.push_back(scale(p, -1));
    return scale(extreme(ir::Fn::Max, negated, ctx), -1);
  }
  std::vector<Poly> parts;
  std::vector<Poly> stack(args.rbegin(), args.rend());
  while (!stack.empty()) {
    Poly p = std::move(stack.back());
    stack.pop_back();
    if (p.size() == 1 && p[0].f.size() == 1 && p[0].f[0].exp.is_one() && p[0].coef.positive() && nodes_[p[0].f[0].node].kind == Kind::Fn &&
        nodes_[p[0].f[0].node].fn == ir::Fn::Max) {
      const Factor f = p[0].f[0];
      const size_t n = nodes_[f.node].args.size();
      for (size_t k = n; k-- > 0;) stack.push_back(scale(arg_at(nodes_[f.node], f, k, ctx), p[0].coef));
      continue;
    }
    bool seen = false;
    for (const Poly& q : parts) seen |= equal(p, q, ctx);
    if (!seen) parts.push_back(std::move(p));
  }
  // Integers: bounds decide.
  bool integers = true;
  for (const Poly& p : parts) integers &= known(p, ctx).integer;
  if (integers) {
    for (size_t i = 0; i < parts.size() && parts.size() > 1; ++i) {
      for (size_t j = 0; j < parts.size(); ++j) {
        if (i == j) continue;
        if (range(add(parts[j], scale(parts[i], -1), ctx), ctx).first >= 0) {
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
          --i;
          break;
        }
      }
    }
  }
  // -inf is neutral.
  if (parts.size() > 1) {
    std::erase_if(parts, [&](const Poly& p) { return p.size() == 1 && p[0].f.size() == 1 && nodes_[p[0].f[0].node].kind == Kind::Inf && p[0].coef.negative(); });
  }
  roll_extremes(parts, ctx);
  bool joined = true;
  while (joined && parts.size() > 1) {
    joined = false;
    for (size_t i = 0; i < parts.size() && !joined; ++i) {
      for (size_t j = 0; j < parts.size() && !joined; ++j) {
        if (i == j || parts[i].size() != 1 || parts[j].size() != 1) continue;
        const Term &x = parts[i][0], &y = parts[j][0];
        if (x.f.size() != 1 || y.f.size() != 1 || !(x.coef == y.coef) || x.f[0].map != y.f[0].map || x.coef.negative()) continue;
        const Node &a = nodes_[x.f[0].node], &b = nodes_[y.f[0].node];
        if (a.kind != Kind::Red || b.kind != Kind::Red || a.fn != ir::Fn::Max || a.kernel != b.kernel) continue;
        int differ = -1;
        bool fits = true;
        for (int k = 0; k < a.num_bound(); ++k) {
          if (a.box[2 * k] == b.box[2 * k] && a.box[2 * k + 1] == b.box[2 * k + 1]) continue;
          if (differ >= 0 || b.box[2 * k] > a.box[2 * k + 1] || a.box[2 * k] > b.box[2 * k]) fits = false;
          differ = k;
        }
        if (!fits || differ < 0) continue;
        Node merged = a;
        merged.box[2 * differ + 1] = std::max(a.box[2 * differ + 1], b.box[2 * differ + 1]);
        const Factor base = x.f[0];
        // Re-intern the same body with the larger box, in the node's own variables.
        Ext own = merged.dims;
        Factor f = intern(std::move(merged), own);
        SP_CHECK(f.map.size() == own.size() * (own.size() + 1));
        // f reads identity (up to the order and shift that interning chose); compose with base.
        Factor placed{f.node, 1, {}};
        const size_t w = ctx.size() + 1, ow = own.size() + 1;
        for (size_t r = 0; r < own.size(); ++r) {
          Row row(w, 0);
          row[w - 1] = f.map[r * ow + ow - 1];
          for (size_t v = 0; v < own.size(); ++v) {
            for (size_t k = 0; k < w; ++k) row[k] += f.map[r * ow + v] * base.map[v * w + k];
          }
          placed.map.insert(placed.map.end(), row.begin(), row.end());
        }
        parts[i] = {Term{x.coef, {std::move(placed)}}};
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(j));
        joined = true;
      }
    }
  }
  if (parts.size() == 1) return parts[0];
  // Common finite terms of all parts leave.
  Poly common;
  for (const Term& t : parts[0]) {
    if (t.f.empty() || !known(t, ctx).finite) continue;
    bool all = true;
    for (size_t j = 1; j < parts.size(); ++j) {
      bool has = false;
      for (const Term& o : parts[j]) has |= same_monomial(o, t) && o.coef == t.coef;
      all &= has;
    }
    if (all) common.push_back(t);
  }
  if (!common.empty()) {
    for (Poly& p : parts) p = add(p, scale(common, -1), ctx);
    return add(extreme(fn, parts, ctx), common, ctx);
  }
  std::sort(parts.begin(), parts.end(), [](const Poly& x, const Poly& y) {
    for (size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
      if (int c = prove::compare(x[k], y[k])) return c < 0;
      if (!(x[k].coef == y[k].coef)) return x[k].coef < y[k].coef;
    }
    return x.size() < y.size();
  });
  return make_fn(ir::Fn::Max, std::move(parts), ctx, ir::DType::F32, ir::DType::F32);
}

// --- joining pieces of sums ----------------------------------------------------------------------------------------------------

namespace {

// Splits x and y into their common factors and the two remainders.
void split_common(const Term& x, const Term& y, Term& common, std::vector<Factor>& rx, std::vector<Factor>& ry) {
  size_t i = 0, j = 0;
  while (i < x.f.size() || j < y.f.size()) {
    const int c = i == x.f.size() ? 1 : j == y.f.size() ? -1 : compare(x.f[i], y.f[j]);
    if (c == 0) {
      common.f.push_back(x.f[i]);
      ++i;
      ++j;
    } else if (c < 0) {
      rx.push_back(x.f[i++]);
    } else {
      ry.push_back(y.f[j++]);
    }
  }
}

}  // namespace

// A sum over a range, and one more slice of it (L-12): sum_{k in [a,b)} m(k) + m(b).
std::optional<Poly> Algebra::extend_red(const Term& common, const Factor& red, const std::vector<Factor>& rest, const Ext& ctx) {
  const int bound = nodes_[red.node].num_bound();
  if (bound > 4 || rest.empty() || rest.size() > 4) return std::nullopt;
  // A slice of the body reads the same unknowns: most pairs are told apart by that, without making the slice.
  {
    std::vector<Nid> mine, theirs;
    auto collect = [&](const std::vector<Factor>& fs, std::vector<Nid>& into) {
      for (const Factor& f : fs) {
        const Node& n = nodes_[f.node];
        if (n.kind == Kind::Red && n.fn == ir::Fn::Add && n.args[0].size() == 1) {
          for (const Factor& g : n.args[0][0].f) {
            if (nodes_[g.node].kind == Kind::Base || nodes_[g.node].kind == Kind::Fn) into.push_back(g.node);
          }
        } else if (n.kind == Kind::Base || n.kind == Kind::Fn) {
          into.push_back(f.node);
        }
      }
      std::sort(into.begin(), into.end());
      into.erase(std::unique(into.begin(), into.end()), into.end());
    };
    collect({red}, mine);
    collect(rest, theirs);
    if (!std::includes(mine.begin(), mine.end(), theirs.begin(), theirs.end())) return std::nullopt;
  }
  const Poly other = make_term(Term{1, rest}, ctx);
  auto [body, ext] = open_red(red, ctx);
  const size_t m = ctx.size(), w = ext.size() + 1;
  for (int k = 0; k < bound; ++k) {
    const size_t var = m + static_cast<size_t>(k);
    const int64_t extent = ext[var];
    for (const int64_t at : {extent, int64_t{-1}}) {
      // Out-of-range reads would be meaningless: only if every access stays in bounds.
      bool inside = true;
      for (const Factor& f : body.f) {
        const Node& fn = nodes_[f.node];
        for (size_t d = 0; inside && d < fn.dims.size(); ++d) {
          if (fn.dims[d] == kUnbounded || f.map[d * w + var] == 0) continue;
          int64_t lo = f.map[d * w + w - 1] + f.map[d * w + var] * at, hi = lo;
          for (size_t v = 0; v + 1 < w; ++v) {
            if (v == var || f.map[d * w + v] == 0) continue;
            const int64_t x = f.map[d * w + v] * (ext[v] == kUnbounded ? 0 : ext[v] - 1);
            (x < 0 ? lo : hi) += x;
          }
          inside = lo >= 0 && hi < fn.dims[d];
        }
      }
      if (!inside) continue;
      Ext slice_ext = ext;
      slice_ext.erase(slice_ext.begin() + static_cast<std::ptrdiff_t>(var));
      Sub s;
      s.width = static_cast<int>(slice_ext.size()) + 1;
      for (size_t v = 0, n = 0; v + 1 < w; ++v) {
        Row r(s.width, 0);
        if (v == var) {
          r[s.width - 1] = at;
        } else {
          r[n++] = 1;
        }
        s.rows.push_back(std::move(r));
      }
      const Poly slice = subst({body}, s, slice_ext);
      const Poly element = bound == 1 ? slice : reduce(ir::Fn::Add, slice, slice_ext, bound - 1);
      if (element.size() != other.size() || !equal(element, other, ctx)) continue;
      Ext longer = ext;
      longer[var] = extent + 1;
      Term wide = body;
      if (at < 0) {
        for (Factor& g : wide.f) {
          for (size_t d = 0; d < g.map.size() / w; ++d) g.map[d * w + w - 1] -= g.map[d * w + var];
        }
      }
      ++applications;
      return mul(make_term(common, ctx), reduce_term(wide, longer, bound), ctx);
    }
  }
  return std::nullopt;
}

// Two sums over equally large boxes whose bodies differ only in constants (L-13): a sum over one variable more. This is how the parts
// of ranks that each hold one value of an index meet.
std::optional<Poly> Algebra::roll_sums(const Term& common, const Factor& x, const Factor& y, const Ext& ctx) {
  const int bound = nodes_[x.node].num_bound();
  if (bound != nodes_[y.node].num_bound() || bound > 3) return std::nullopt;
  const auto [bx, ex] = open_red(x, ctx);
  const auto [by, ey] = open_red(y, ctx);
  if (bx.f.size() != by.f.size()) return std::nullopt;
  for (size_t i = 0; i < bx.f.size(); ++i) {
    if (bx.f[i].node != by.f[i].node || !(bx.f[i].exp == by.f[i].exp)) return std::nullopt;
    if (i > 0 && bx.f[i].node == bx.f[i - 1].node) return std::nullopt;   // which is which would be a guess
  }
  const size_t m = ctx.size(), w = ex.size() + 1;
  std::vector<int> perm(bound);
  for (int k = 0; k < bound; ++k) perm[k] = k;
  do {
    bool same = true;
    for (int k = 0; k < bound; ++k) same &= ex[m + k] == ey[m + perm[k]];
    if (!same) continue;
    Term body{1, {}};
    bool differ = false;
    for (size_t i = 0; same && i < bx.f.size(); ++i) {
      Factor f{bx.f[i].node, bx.f[i].exp, {}};
      for (size_t d = 0; same && d < bx.f[i].map.size() / w; ++d) {
        const int64_t *p = &bx.f[i].map[d * w], *q = &by.f[i].map[d * w];
        for (size_t v = 0; v < m; ++v) {
          same &= p[v] == q[v];
          f.map.push_back(p[v]);
        }
        for (int k = 0; k < bound; ++k) {
          same &= p[m + k] == q[m + perm[k]];
          f.map.push_back(p[m + k]);
        }
        f.map.push_back(q[w - 1] - p[w - 1]);
        differ |= q[w - 1] != p[w - 1];
        f.map.push_back(p[w - 1]);
      }
      body.f.push_back(std::move(f));
    }
    if (!same || !differ) continue;
    // Only neighbours: pieces may come in any order, and a pair that skips one would not meet the rest.
    bool adjacent = false;
    for (const Factor& f : body.f) {
      const size_t nw = w + 1;
      for (size_t d = 0; d < f.map.size() / nw; ++d) {
        const int64_t step = std::abs(f.map[d * nw + m + bound]);
        if (step == 0) continue;
        int64_t top = 1;
        for (int k = 0; k < bound; ++k) {
          if (f.map[d * nw + m + k] != 0) top = std::max(top, mul_checked(std::abs(f.map[d * nw + m + k]), ex[m + k]));
        }
        adjacent |= step == top;
      }
    }
    if (!adjacent) return std::nullopt;
    Ext ext = ex;
    ext.push_back(2);
    ++applications;
    Poly sum = reduce_term(body, ext, bound + 1);
    if (sum.size() != 1) return std::nullopt;
    return mul(make_term(common, ctx), sum, ctx);
  } while (std::next_permutation(perm.begin(), perm.end()));
  return std::nullopt;
}

// Two equal products read at two constant places (L-13): a sum over a range of two.
std::optional<Poly> Algebra::roll_pair(const Term& common, const std::vector<Factor>& x, const std::vector<Factor>& y, const Ext& ctx) {
  if (x.size() != y.size() || x.empty()) return std::nullopt;
  const size_t w = ctx.size() + 1;
  Term body{1, {}};
  bool differ = false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].node != y[i].node || !(x[i].exp == y[i].exp) || nodes_[x[i].node].kind == Kind::Bracket) return std::nullopt;
    Factor f{x[i].node, x[i].exp, {}};
    for (size_t d = 0; d < x[i].map.size() / w; ++d) {
      for (size_t v = 0; v + 1 < w; ++v) {
        if (x[i].map[d * w + v] != y[i].map[d * w + v]) return std::nullopt;
        f.map.push_back(x[i].map[d * w + v]);
      }
      const int64_t delta = y[i].map[d * w + w - 1] - x[i].map[d * w + w - 1];
      differ |= delta != 0;
      f.map.push_back(delta);
      f.map.push_back(x[i].map[d * w + w - 1]);
    }
    body.f.push_back(std::move(f));
  }
  if (!differ) return std::nullopt;
  bool adjacent = false;
  for (const Factor& f : body.f) {
    for (size_t d = 0; d < f.map.size() / (w + 1); ++d) adjacent |= std::abs(f.map[d * (w + 1) + w - 1]) == 1;
  }
  if (!adjacent) return std::nullopt;
  Ext ext = ctx;
  ext.push_back(2);
  ++applications;
  // A factor that is a sum itself may be part of one larger sum in the sequential program (one head of several in a flattened
  // contraction): that form is taken if its body is already known.
  int inner = -1, count = 0;
  for (size_t i = 0; i < body.f.size(); ++i) {
    const Node& n = nodes_[body.f[i].node];
    if (n.kind == Kind::Red && n.fn == ir::Fn::Add && body.f[i].exp.is_one()) inner = static_cast<int>(i), ++count;
  }
  if (count == 1 && body.f.size() > 1) {
    auto [opened, wider] = open_red(body.f[inner], ext);
    // Bound variables last: ctx, the new one, the opened ones.
    for (size_t i = 0; i < body.f.size(); ++i) {
      if (static_cast<int>(i) == inner) continue;
      Factor g{body.f[i].node, body.f[i].exp, {}};
      const size_t ew = ext.size() + 1;
      for (size_t d = 0; d < body.f[i].map.size() / ew; ++d) {
        g.map.insert(g.map.end(), body.f[i].map.begin() + static_cast<std::ptrdiff_t>(d * ew), body.f[i].map.begin() + static_cast<std::ptrdiff_t>(d * ew + ew - 1));
        g.map.insert(g.map.end(), wider.size() - ext.size(), 0);
        g.map.push_back(body.f[i].map[d * ew + ew - 1]);
      }
      opened.f.push_back(std::move(g));
    }
    std::sort(opened.f.begin(), opened.f.end(), [](const Factor& p, const Factor& q) { return prove::compare(p, q) < 0; });
    const size_t kernels = kernels_.size();
    Poly flat = reduce_term(opened, wider, static_cast<int>(wider.size() - ctx.size()));
    if (kernels == kernels_.size() && flat.size() == 1) return mul(make_term(common, ctx), flat, ctx);
  }
  Poly sum = reduce_term(body, ext, 1);
  if (sum.size() != 1) return std::nullopt;
  return mul(make_term(common, ctx), sum, ctx);
}

std::optional<Poly> Algebra::try_join(const Term& x, const Term& y, const Ext& ctx) {
  if (x.coef.is_zero() || y.coef.is_zero() || x.f.empty() || y.f.empty()) return std::nullopt;
  Term common{1, {}};
  std::vector<Factor> rx, ry;
  split_common(x, y, common, rx, ry);
  // (3 - i) m + 12 m = (15 - i) m: index forms before one product are one index form.
  auto is_index = [&](const std::vector<Factor>& r) { return r.size() == 1 && r[0].exp.is_one() && r[0].node == iota(); };
  if (!common.f.empty() && (is_index(rx) || is_index(ry)) && (rx.empty() || is_index(rx)) && (ry.empty() || is_index(ry))) {
    Poly both{Term{x.coef, rx}};
    both.push_back(Term{y.coef, ry});
    collect_iota(both, ctx);
    if (both.empty()) return scale(make_term(std::move(common), ctx), 0);
    if (both.size() == 1) {
      ++applications;
      Term t{both[0].coef, std::move(common.f)};
      t.f.insert(t.f.end(), both[0].f.begin(), both[0].f.end());
      return make_term(std::move(t), ctx);
    }
  }
  // L-30: c N m + d M m = (c N + d M) m where N or M is a named sum and the sum in brackets is no longer than the longer of the two: the
  // ranks' parts of a named sum meet before the product.
  auto is_name = [&](const std::vector<Factor>& r) { return r.size() == 1 && r[0].exp.is_one() && nodes_[r[0].node].kind == Kind::Sum; };
  if (!common.f.empty() && (is_name(rx) || is_name(ry)) && !rx.empty() && !ry.empty()) {
    const Poly a = is_name(rx) ? expand_named(rx[0], ctx) : make_term(Term{1, rx}, ctx);
    const Poly b = is_name(ry) ? expand_named(ry[0], ctx) : make_term(Term{1, ry}, ctx);
    Poly both = add(scale(a, x.coef), scale(b, y.coef), ctx);
    if (both.size() <= std::max(a.size(), b.size())) {
      ++applications;
      return mul(make_term(std::move(common), ctx), both, ctx);
    }
  }
  if (!(x.coef == y.coef)) return std::nullopt;
  common.coef = x.coef;
  if (rx.empty() || ry.empty()) return std::nullopt;
  auto is_sum = [&](const Factor& f) { return f.exp.is_one() && nodes_[f.node].kind == Kind::Red && nodes_[f.node].fn == ir::Fn::Add; };
  if (rx.size() == 1 && ry.size() == 1 && is_sum(rx[0]) && is_sum(ry[0])) {
    const Node &a = nodes_[rx[0].node], &b = nodes_[ry[0].node];
    if (a.kernel == b.kernel && rx[0].map == ry[0].map) {
      // L-10: adjacent boxes of one body.
      int differ = -1;
      bool fits = true, swapped = false;
      for (int k = 0; k < a.num_bound(); ++k) {
        if (a.box[2 * k] == b.box[2 * k] && a.box[2 * k + 1] == b.box[2 * k + 1]) continue;
        if (differ >= 0) fits = false;
        differ = k;
        if (a.box[2 * k + 1] == b.box[2 * k]) continue;
        if (b.box[2 * k + 1] == a.box[2 * k]) {
          swapped = true;
        } else {
          fits = false;
        }
      }
      if (!fits || differ < 0) return std::nullopt;
      const Factor& low = swapped ? ry[0] : rx[0];
      const int64_t more = swapped ? a.box[2 * differ + 1] - a.box[2 * differ] : b.box[2 * differ + 1] - b.box[2 * differ];
      auto [body, ext] = open_red(low, ctx);
      ext[ctx.size() + differ] += more;
      ++applications;
      Poly sum = reduce_term(body, ext, static_cast<int>(ext.size() - ctx.size()));
      return mul(make_term(common, ctx), sum, ctx);
    }
    // L-11: one body has a bracket more, which is 1 everywhere on the other's box: put it in there, too.
    if (a.num_bound() == b.num_bound()) {
      std::vector<int> order(a.num_bound());
      for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
      for (int turn = 0, next = 0; turn < 2; turn = next) {
        // Both turns, each with every order of the other's bound variables.
        const Factor &with = turn ? ry[0] : rx[0], &without = turn ? rx[0] : ry[0];
        auto [bw, ew] = open_red(with, ctx);
        auto [bo, eo] = open_red(without, ctx);
        {
          const size_t m = ctx.size(), w = eo.size() + 1;
          const Ext old = eo;
          for (size_t k = 0; k < order.size(); ++k) eo[m + k] = old[m + static_cast<size_t>(order[k])];
          for (Factor& f : bo.f) {
            const std::vector<int64_t> map = f.map;
            for (size_t d = 0; d < map.size() / w; ++d) {
              for (size_t k = 0; k < order.size(); ++k) f.map[d * w + m + k] = map[d * w + m + static_cast<size_t>(order[k])];
            }
          }
          std::sort(bo.f.begin(), bo.f.end(), [](const Factor& p, const Factor& q) { return prove::compare(p, q) < 0; });
        }
        next = order.size() <= 3 && bw.f.size() > bo.f.size() && std::next_permutation(order.begin(), order.end()) ? turn : turn + 1;
        if (next != turn) std::sort(order.begin(), order.end());
        if (bw.f.size() <= bo.f.size()) continue;
        // Same absolute coordinates of the bound variables: shift both to boxes that start at the same origin.
        const Node &nw = nodes_[with.node], &no = nodes_[without.node];
        std::vector<Factor> brackets;
        std::vector<Factor> plain;
        for (const Factor& f : bw.f) (nodes_[f.node].kind == Kind::Bracket ? brackets : plain).push_back(f);
        if (plain.size() != bo.f.size() || brackets.empty()) continue;
        // Bring `without` to the coordinates of `with` by matching one factor's constants per bound variable.
        const size_t w = ew.size() + 1, m = ctx.size();
        std::vector<int64_t> shift(nw.num_bound(), 0);
        std::vector<bool> have(nw.num_bound(), false);
        bool same = true;
        for (size_t i = 0; i < plain.size() && same; ++i) {
          same = plain[i].node == bo.f[i].node && plain[i].exp == bo.f[i].exp;
          for (size_t d = 0; same && d < plain[i].map.size() / w; ++d) {
            int64_t delta = bo.f[i].map[d * w + w - 1] - plain[i].map[d * w + w - 1];
            int only = -1, count = 0;
            for (size_t v = 0; v + 1 < w; ++v) {
              same &= plain[i].map[d * w + v] == bo.f[i].map[d * w + v];
              if (v >= m && plain[i].map[d * w + v] != 0) ++count, only = static_cast<int>(v - m);
            }
            if (count == 0) same &= delta == 0;
            if (count == 1) {
              const int64_t q = plain[i].map[d * w + m + only];
              if (delta % q != 0) same = false;
              else if (!have[only]) have[only] = true, shift[only] = delta / q;
              else same &= shift[only] == delta / q;
            }
          }
        }
        (void)no;
        if (!same) continue;
        bool all = true;
        for (size_t k = 0; k < have.size(); ++k) all &= have[k];
        if (!all) continue;
        // Is every extra bracket 1 on the other's box?
        Term closed{1, bo.f};
        for (const Factor& f : brackets) {
          Factor g = f;
          for (size_t d = 0; d < g.map.size() / w; ++d) {
            for (size_t k = 0; k < shift.size(); ++k) g.map[d * w + w - 1] += g.map[d * w + m + k] * shift[k];
          }
          const Node& n = nodes_[g.node];
          const int64_t lo = n.lo, hi = n.hi;
          const Poly e = arg_at(n, g, 0, eo);
          bool value = false;
          if (!decide(e, lo, hi, eo, value) || !value) all = false;
          closed.f.push_back(std::move(g));
        }
        if (!all) continue;
        // Intern `without` with its brackets as they are (no simplification, which would drop them again).
        std::sort(closed.f.begin(), closed.f.end(), [](const Factor& p, const Factor& q) { return prove::compare(p, q) < 0; });
        Node n;
        n.kind = Kind::Red;
        n.fn = ir::Fn::Add;
        for (size_t k = m; k < eo.size(); ++k) {
          n.box.push_back(0);
          n.box.push_back(eo[k]);
        }
        n.args.push_back({std::move(closed)});
        Term whole{common.coef, common.f};
        whole.f.push_back(intern(std::move(n), ctx));   // not widened: both boxes must stay what they are
        Term other{common.coef, common.f};
        other.f.push_back(with);
        auto by = [](const Factor& p, const Factor& q) { return prove::compare(p, q) < 0; };
        std::sort(whole.f.begin(), whole.f.end(), by);
        std::sort(other.f.begin(), other.f.end(), by);
        if (whole.f == (turn ? x.f : y.f)) return std::nullopt;
        if (auto joined = try_join(whole, other, ctx)) return joined;
      }
    }
    if (a.kernel != b.kernel || a.box != b.box) {
      if (auto p = roll_sums(common, rx[0], ry[0], ctx)) return p;
      if (auto p = extend_red(common, rx[0], ry, ctx)) return p;
      if (auto p = extend_red(common, ry[0], rx, ctx)) return p;
      return std::nullopt;
    }
    if (auto p = roll_sums(common, rx[0], ry[0], ctx)) return p;
    return roll_pair(common, rx, ry, ctx);
  }
  if (rx.size() == 1 && is_sum(rx[0])) {
    if (auto p = extend_red(common, rx[0], ry, ctx)) return p;
  }
  if (ry.size() == 1 && is_sum(ry[0])) {
    if (auto p = extend_red(common, ry[0], rx, ctx)) return p;
  }
  return roll_pair(common, rx, ry, ctx);
}

void Algebra::join(Poly& p, const Ext& ctx) {
  if (p.size() > 256) return;
  if (join_brackets(p, ctx) && p.size() < 2) return;
  bool again = true;
  while (again && p.size() > 1) {
    again = false;
    for (size_t i = 0; i < p.size() && !again; ++i) {
      for (size_t j = i + 1; j < p.size() && !again; ++j) {
        std::optional<Poly> joined = try_join(p[i], p[j], ctx);
        if (!joined) continue;
        Poly rest;
        for (size_t k = 0; k < p.size(); ++k) {
          if (k != i && k != j) rest.push_back(std::move(p[k]));
        }
        p = add(std::move(rest), *joined, ctx);   // joins further
        again = false;
        return;
      }
    }
  }
}

}  // namespace shardproof::prove
