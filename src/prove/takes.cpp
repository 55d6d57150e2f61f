// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Values read at an index that is itself a value: what may be out of range keeps its own extent, what is in range is a reading of each
// factor by itself.
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"

namespace shardproof::prove {

// An argument with one inner variable in this context: own variables substituted, the inner one kept.
Poly Algebra::inner_data(const Factor& f, size_t arg, const Ext& ctx) {
  const Node& n = nodes_[f.node];
  Ext wide = ctx;
  wide.push_back(n.inner[arg][0]);
  Sub s;
  s.width = static_cast<int>(wide.size()) + 1;
  for (size_t r = 0; r + n.result.size() < n.dims.size(); ++r) {
    Row row(s.width, 0);
    for (size_t v = 0; v < ctx.size(); ++v) row[v] = f.map[r * (ctx.size() + 1) + v];
    row[s.width - 1] = f.map[r * (ctx.size() + 1) + ctx.size()];
    s.rows.push_back(std::move(row));
  }
  Row row(s.width, 0);
  row[ctx.size()] = 1;
  s.rows.push_back(std::move(row));
  const Poly data = n.args[arg];  // a copy: what follows may move nodes_
  return subst(data, s, wide);
}

Poly Algebra::take(const Poly& data, const Ext& ctx_u, const Poly& e, const Ext& ctx, Outside outside) {
  const auto [lo, hi] = range_by_cases(e, ctx);
  if (lo >= 0 && hi < ctx_u.back()) return reindex(data, ctx_u, e, ctx);
  // Not known to be in range: the reading keeps its extent (it is undefined outside, also where all data are 0), apart from wider ones.
  const bool may_wrap = lo < 0 && (outside == Outside::Wraps || outside == Outside::WrapsOrStops);
  Poly out;
  for (const Term& t : data.empty() ? Poly{Term{0, {}}} : data) {
    Term fixed{t.coef, {}};
    const size_t w = ctx_u.size() + 1, u = ctx_u.size() - 1;
    std::vector<Factor> moving;
    Term choice{1, {}};  // brackets of where it is read
    for (const Factor& f : t.f) {
      bool uses = false;
      for (size_t at = u; at < f.map.size(); at += w) uses |= f.map[at] != 0;
      if (uses) {
        (nodes_[f.node].kind == Kind::Bracket ? choice.f : moving).push_back(f);
      } else {
        fixed.f.push_back(narrowed(f, w, u));
      }
    }
    const auto reading = [&](const char* name, const std::vector<Factor>& of) {
      Node n;
      n.kind = Kind::Take;
      n.name = name;
      n.inner = {{ctx_u.back()}, {}};
      n.args.push_back({Term{1, of}});
      n.args.push_back(e);
      return intern(std::move(n), ctx);
    };
    Factor read = reading("partial", moving);
    Poly chosen = constant(1);
    // A negative index is a place where it wraps, and undefined elsewhere; unless the sequential program reads it without wrapping, too.
    if (may_wrap && !is_met(read, ctx)) {
      if (!choice.f.empty()) refused(Rule::L79);
      moving.insert(moving.end(), choice.f.begin(), choice.f.end());  // which place they choose by is not e then
      choice.f.clear();
      std::sort(moving.begin(), moving.end(), before);
      read = reading("partial wrap", moving);
    } else if (!choice.f.empty() && fired(Rule::L79)) {
      chosen = reindex({choice}, ctx_u, e, ctx);
    }
    if (outside == Outside::Stops || outside == Outside::WrapsOrStops) met(read, ctx);
    // A bracket of the data hides nothing of where the index is out of range, and where it is in range what the data are.
    const bool odd = !known(Term{1, moving}, ctx_u).finite && refused(Rule::L79);
    if ((masked({fixed}) || !choice.f.empty()) && !is_met(read, ctx))
      out = add(std::move(out), make_term(Term{0, {odd ? reading(nodes_[read.node].name.c_str(), {}) : read}}, ctx), ctx);
    out = add(std::move(out), mul(mul(make_term(std::move(fixed), ctx), chosen, ctx), {Term{1, {std::move(read)}}}, ctx), ctx);
  }
  return out;
}

// p as an affine form of the context's variables.
std::optional<Row> Algebra::affine_row(const Poly& p, const Ext& ctx) const {
  Row row(ctx.size() + 1, 0);
  for (const Term& t : p) {
    if (!t.coef.is_integer()) return std::nullopt;
    if (t.f.empty()) {
      row.back() = add_checked(row.back(), t.coef.num());
    } else if (t.f.size() == 1 && t.f[0].node == iota() && t.f[0].exp.is_one()) {
      for (size_t v = 0; v < row.size(); ++v) row[v] = add_checked(row[v], mul_checked(t.coef.num(), t.f[0].map[v]));
    } else {
      return std::nullopt;
    }
  }
  return row;
}

// data with its last variable replaced by e, which is known to be in range.
Poly Algebra::reindex(const Poly& data, const Ext& ctx_u, const Poly& e, const Ext& ctx) {
  const size_t w = ctx_u.size() + 1, u = ctx_u.size() - 1, m = ctx.size();
  // An affine index is an ordinary reading.
  if (std::optional<Row> affine = affine_row(e, ctx)) {
    Sub s = Sub::identity(static_cast<int>(m));
    s.rows.push_back(*std::move(affine));
    return subst(data, s, ctx);
  }
  Poly out;
  for (const Term& t : data) {
    Term fixed{t.coef, {}};
    std::vector<Factor> moving;
    for (const Factor& f : t.f) {
      bool uses = false;
      for (size_t at = u; at < f.map.size(); at += w) uses |= f.map[at] != 0;
      if (uses) {
        moving.push_back(f);
      } else {
        fixed.f.push_back(narrowed(f, w, u));
      }
    }
    std::vector<Poly> factors;
    for (const Factor& f : moving) factors.push_back(take_factor(f, ctx_u, e, ctx));
    out = add(std::move(out), product_of(make_term(std::move(fixed), ctx), moving, factors, ctx), ctx);
  }
  return out;
}

Poly Algebra::take_factor(const Factor& f, const Ext& ctx_u, const Poly& e, const Ext& ctx) {
  const size_t w = ctx_u.size() + 1, u = ctx_u.size() - 1, m = ctx.size();
  const Node& n = nodes_[f.node];
  if (f.node == iota()) {
    // iota[row] = row with u := e
    Row row(m + 1, 0);
    for (size_t v = 0; v < m; ++v) row[v] = f.map[v];
    row[m] = f.map[w - 1];
    Poly p = add(index(row, ctx), scale(e, f.map[u]), ctx);
    return pow(p, f.exp, ctx);
  }
  if (n.kind == Kind::Sum || n.kind == Kind::Fn || n.kind == Kind::Bracket) {
    std::vector<Poly> args;
    for (size_t a = 0; a < n.args.size(); ++a) args.push_back(reindex(arg_at(n, f, a, ctx_u), ctx_u, e, ctx));
    if (n.kind == Kind::Bracket) return bracket(args[0], n.lo, n.hi, ctx);
    if (n.kind == Kind::Sum) return pow(args[0], f.exp, ctx);
    return pow(apply_again(n, args, ctx), f.exp, ctx);
  }
  // The node read at u := e. Normalise: u enters one row as q u + c; the inner variable covers that whole dimension.
  Node t;
  t.kind = Kind::Take;
  Factor inner{f.node, 1, f.map};
  Poly index_poly = e;
  int64_t extent = ctx_u.back();
  int hits = 0;
  size_t at = 0;
  for (size_t r = 0; r < n.dims.size(); ++r) {
    if (f.map[r * w + u] != 0) ++hits, at = r;
  }
  bool alone = hits == 1;
  if (alone) {
    // The whole row, with its other variables, becomes the index.
    Row row(m + 1, 0);
    for (size_t v = 0; v < m; ++v) row[v] = f.map[at * w + v];
    row[m] = f.map[at * w + w - 1];
    bool constant_row = true;
    for (size_t v = 0; v < m; ++v) constant_row &= row[v] == 0;
    Poly base = constant_row ? constant(Rat(row[m])) : index(row, ctx);
    index_poly = add(std::move(base), scale(e, f.map[at * w + u]), ctx);
    for (size_t v = 0; v < w; ++v) inner.map[at * w + v] = v == u ? 1 : 0;
    extent = n.dims[at];
  }
  if (const auto sorted = !by_order ? std::nullopt : taken_by_order(Term{1, {inner}}, index_poly, ctx)) return pow(*sorted, f.exp, ctx);
  t.inner = {{extent}, {}};
  t.args.push_back({Term{1, {std::move(inner)}}});
  t.args.push_back(std::move(index_poly));
  Factor g = intern(std::move(t), ctx);
  g.exp = f.exp;
  return make_term(Term{1, {std::move(g)}}, ctx);
}

}  // namespace shardproof::prove
