// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Maxima and minima over bound variables and of several polys.
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

// --- extremes ----------------------------------------------------------------------------------------------------------------

Poly Algebra::reduce_extreme(ir::Fn fn, const Poly& a, const Ext& ctx, int bound) {
  if (Poly rest = a, guards = take_guards(rest); !guards.empty()) {
    const Ext outer(ctx.begin(), ctx.end() - bound);
    return add(reduce_extreme(fn, rest, ctx, bound), reduce(ir::Fn::Add, guards, ctx, bound), outer);
  }
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
      if (!uses && (known(t, ctx).finite ? fired(Rule::L17) : !refused(Rule::L17))) {
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
    const Node& n = nodes_[f.node];
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
    Factor at;  // the factor, with 0 for the constant of its row
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
        if (n.num_bound() != 1 || n.args[0].size() != 1 || !n.args[0][0].coef.is_one() || n.args[0][0].f.size() != 1 ||
            !n.args[0][0].f[0].exp.is_one())
          continue;
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
        fired(Rule::L34);
        again = true;
      }
    }
  }
}

// L-96: "not all of these" of several counts is "not all" of their sum: [e < n] or [f < m] is [e + f < n + m] where e is at most n and f at
// most m. What a rank found of its gradients, and the maximum (or any, or a sum compared with 0) over ranks and parameters, is one count of
// the elements that are fine. Brackets of positions are masks, and stay apart.
std::optional<Poly> Algebra::some_of(const std::vector<Poly>& parts, const Ext& ctx) {
  const auto places = [&](const Poly& e) {
    return std::any_of(e.begin(), e.end(), [&](const Term& t) {
      return std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return nodes_[f.node].kind == Kind::Iota; });
    });
  };
  Poly all;
  int64_t most = 0;
  bool counts = false, compares = false;
  for (const Poly& p : parts) {
    const Known k = known(p, ctx);
    if (!k.boolean || !k.never_inf()) return std::nullopt;
    Poly e = scale(p, -1);  // p is [-p < 0]
    int64_t top = 0;
    if (p.size() == 1 && p[0].coef.is_one() && p[0].f.size() == 1 && p[0].f[0].exp.is_one() &&
        nodes_[p[0].f[0].node].kind == Kind::Bracket) {
      const Node& n = nodes_[p[0].f[0].node];
      const Poly inside = arg_at(n, p[0].f[0], 0, ctx);
      const auto [lo, hi] = range(inside, ctx);
      if (places(inside)) return std::nullopt;
      compares = true;
      if (n.lo == kNegInf && hi == n.hi) {
        e = inside, top = n.hi, counts = true;
      } else if (n.hi == kPosInf && lo == n.lo - 1) {
        e = scale(inside, -1), top = -lo, counts = true;
      }
    }
    all = add(std::move(all), e, ctx);
    most = add_checked(most, top);
  }
  if (!counts && (!compares || refused(Rule::L96))) return std::nullopt;
  ++applications;
  fired(Rule::L96);
  return bracket(all, kNegInf, most, ctx);
}

// x compared with 0, where x is a sum of truth values with factors of one sign: it is least where none holds, and most where all do.
std::optional<Poly> Algebra::compare_counts(ir::Fn fn, const Poly& x, const Ext& ctx) {
  using ir::Fn;
  const auto result = [&](const Rat& v) {
    if (fn == Fn::Eq || fn == Fn::Ne) return v.is_zero() == (fn == Fn::Eq);
    return v.is_zero() ? fn == Fn::Le || fn == Fn::Ge : v.negative() == (fn == Fn::Lt || fn == Fn::Le);
  };
  Rat least = 0, step = 0, most = 0;
  std::vector<Poly> parts;
  for (const Term& t : x) {
    if (t.coef.is_zero()) return std::nullopt;
    if (t.f.empty()) {
      least = least + t.coef, most = most + t.coef;
      continue;
    }
    Poly p = make_term(Term{1, t.f}, ctx);
    const Known k = known(p, ctx);
    if (!k.boolean || !k.never_inf() || t.coef.negative()) return std::nullopt;
    most = most + t.coef;
    if (step.is_zero() || t.coef < step) step = t.coef;
    parts.push_back(std::move(p));
  }
  if (parts.empty()) return std::nullopt;
  // The answer where none holds, and where some do: it is the same from the next value on if it is at both ends and that is not below 0.
  const bool none = result(least), next = result(least + step), last = result(most);
  if (none == next || next != last) return std::nullopt;
  if (parts.size() == 1 && known(parts[0], ctx).finite) return std::nullopt;  // a bracket says it
  if (parts.size() == 1) return none ? add(constant(1), scale(parts[0], -1), ctx) : parts[0];
  std::optional<Poly> some = some_of(parts, ctx);
  if (some && none) some = add(constant(1), scale(*some, -1), ctx);
  return some;
}

// max(a, b, ...) of polys: nested ones flattened, common finite part taken out, pieces of one range joined (L-18).
Poly Algebra::extreme(ir::Fn fn, const std::vector<Poly>& args, const Ext& ctx) {
  if (fn == ir::Fn::Min) {
    std::vector<Poly> negated;
    for (const Poly& p : args) negated.push_back(add(constant(1), scale(p, -1), ctx));
    if (auto some = args.size() < 2 ? std::nullopt : some_of(negated, ctx)) return add(constant(1), scale(*some, -1), ctx);
    negated.clear();
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
  if (parts.size() > 1) {
    if (auto some = some_of(parts, ctx)) return *std::move(some);
  }
  // max(x, min(x, z)) = x (L-104): a smaller one is no largest.
  const auto smaller = [&](const Poly& p, size_t of) {
    if (p.size() != 1 || p[0].f.size() != 1 || !p[0].f[0].exp.is_one() || !p[0].coef.negative()) return false;
    const Factor f = p[0].f[0];
    if (nodes_[f.node].kind != Kind::Fn || nodes_[f.node].fn != ir::Fn::Max) return false;
    bool has = false, defined = true;
    for (size_t k = 0; k < nodes_[f.node].args.size(); ++k) {
      const Poly z = arg_at(nodes_[f.node], f, k, ctx);
      if (!has && equal(scale(z, p[0].coef), parts[of], ctx)) {
        has = true;
      } else {
        defined &= known(z, ctx).finite;
      }
    }
    return has && (defined ? fired(Rule::L104) : !refused(Rule::L104));
  };
  for (size_t i = 0; i < parts.size() && parts.size() > 1; ++i) {
    for (size_t j = 0; j < parts.size(); ++j) {
      if (i == j || !smaller(parts[i], j)) continue;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
      --i;
      break;
    }
  }
  // Integers: bounds decide.
  bool integers = true;
  for (const Poly& p : parts) integers &= known(p, ctx).integer;
  if (integers) {
    for (size_t i = 0; i < parts.size() && parts.size() > 1; ++i) {
      for (size_t j = 0; j < parts.size(); ++j) {
        if (i == j) continue;
        if (range_by_cases(add(parts[j], scale(parts[i], -1), ctx), ctx).first >= 0 && known(parts[i], ctx).finite) {
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
          --i;
          break;
        }
      }
    }
  }
  // -inf is neutral.
  if (parts.size() > 1) {
    std::erase_if(parts, [&](const Poly& p) {
      return p.size() == 1 && p[0].f.size() == 1 && nodes_[p[0].f[0].node].kind == Kind::Inf && p[0].coef.negative();
    });
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
        if ((!fits || differ < 0) && refused(Rule::L18)) continue;
        fired(Rule::L18);
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

}  // namespace shardproof::prove
