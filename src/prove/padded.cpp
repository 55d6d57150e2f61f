// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A tensor padded with zeros as one cell (L-40), for windows: the interior, an inner border and its corners would otherwise be cells of
// their own, and every layer of windows would cut them further.
//
// Element i of the padded tensor is [low <= i < low + n] x(i - low). Where x reads a dimension of some length, it is read at a place that
// may lie outside of it: a Take named "padded" stands for the value at the nearest place inside. That is a total function with all that
// is known of x; the bracket makes its values outside irrelevant. Where a context reads inside only, it is the reading itself again.
#include <algorithm>

#include "prove/digits.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

std::optional<Poly> Algebra::padded(const Poly& p, const Ext& ctx, size_t v, int64_t low, int64_t n) {
  const size_t w = ctx.size() + 1;
  Row place(w, 0);
  place[v] = 1;
  // An end that the context does not reach is the end of the tensor that is read, where the readings start or end with it (L-54).
  int64_t from = low, to = low + n;
  for (const Term& t : p) {
    for (const Factor& f : t.f) {
      for (size_t d = 0; d < nodes_[f.node].dims.size(); ++d) {
        const int64_t extent = nodes_[f.node].dims[d], start = f.map[d * w + w - 1];
        if (extent == kUnbounded || f.map[d * w + v] != 1) continue;
        bool alone = true;
        for (size_t k = 0; k + 1 < w; ++k) alone &= k == v || f.map[d * w + k] == 0;
        if (!alone) continue;
        if (to >= ctx[v] && start == 0) to = std::max(to, low + extent);
        if (from <= 0 && start + n == extent) from = std::min(from, low + n - extent);
      }
    }
  }
  const Poly inside = bracket(index(place, ctx), from, to, ctx);
  Poly out;
  for (const Term& t : p) {
    if (t.coef.is_zero()) return std::nullopt;  // a guard
    // A bracket that is read at the nearest place is none any more and hides nothing.
    if (masked({t}) && !known(t, ctx).finite && refused(Rule::L40)) return std::nullopt;
    Term u{t.coef, {}};
    for (const Factor& f : t.f) {
      Factor g = f;
      const Ext dims = nodes_[f.node].dims;
      size_t at = dims.size();
      for (size_t r = 0; r < dims.size(); ++r) {
        const int64_t q = f.map[r * w + v];
        if (q == 0) continue;
        g.map[r * w + w - 1] = add_checked(g.map[r * w + w - 1], -mul_checked(q, low));
        if (dims[r] == kUnbounded) continue;
        if (at != dims.size()) return std::nullopt;  // a diagonal
        at = r;
      }
      if (at == dims.size()) {
        u.f.push_back(std::move(g));
        continue;
      }
      Node take;
      take.kind = Kind::Take;
      take.name = "padded";
      take.inner = {{dims[at]}, {}};
      Factor inner{f.node, 1, {}};
      for (size_t r = 0; r < dims.size(); ++r) {
        for (size_t k = 0; k + 1 < w; ++k) inner.map.push_back(r == at ? 0 : g.map[r * w + k]);
        inner.map.push_back(r == at ? 1 : 0);
        inner.map.push_back(r == at ? 0 : g.map[r * w + w - 1]);
      }
      take.args.push_back({Term{1, {std::move(inner)}}});
      take.args.push_back(
          index(Row(g.map.begin() + static_cast<std::ptrdiff_t>(at * w), g.map.begin() + static_cast<std::ptrdiff_t>((at + 1) * w)), ctx));
      Factor placed = intern(std::move(take), ctx);
      placed.exp = f.exp;
      u.f.push_back(std::move(placed));
    }
    out = add(std::move(out), where(inside, make_term(std::move(u), ctx), ctx), ctx);
  }
  ++applications;
  fired(Rule::L40);
  return out;
}

// A padded reading that stays inside in this context is an ordinary one.
std::optional<Factor> Algebra::unpadded(const Factor& f, const Ext& ctx) {
  const Node& n = nodes_[f.node];
  if (n.kind != Kind::Take || n.name != "padded") return std::nullopt;
  const Poly e = arg_at(n, f, 1, ctx);
  const auto [lo, hi] = range(e, ctx);
  Ext wide = ctx;
  wide.push_back(n.inner[0][0]);
  Sub s;
  const size_t w = ctx.size() + 1;
  s.width = static_cast<int>(w) + 1;
  for (size_t r = 0; r < n.dims.size(); ++r) {
    Row row(f.map.begin() + static_cast<std::ptrdiff_t>(r * w), f.map.begin() + static_cast<std::ptrdiff_t>((r + 1) * w));
    row.insert(row.end() - 1, 0);
    s.rows.push_back(std::move(row));
  }
  Row last(w + 1, 0);
  last[w - 1] = 1;
  s.rows.push_back(std::move(last));
  const Poly data = subst(n.args[0], s, wide);
  if (lo < 0 || hi >= n.inner[0][0]) {
    // Padded along several dimensions: the others may stay inside.
    if (data.size() != 1 || !data[0].coef.is_one() || data[0].f.size() != 1 || data[0].f[0].node == n.args[0][0].f[0].node)
      return std::nullopt;
    Node take;
    take.kind = Kind::Take;
    take.name = "padded";
    take.inner = n.inner;
    take.args = {data, e};
    Factor g = intern(std::move(take), ctx);
    g.exp = f.exp;
    return g;
  }
  const Poly p = reindex(data, wide, e, ctx);
  if (p.size() != 1 || !p[0].coef.is_one() || p[0].f.size() != 1) return std::nullopt;
  Factor g = p[0].f[0];
  g.exp = g.exp * f.exp;
  return g;
}

// A sum over padded readings, where the context decides a bracket of it or stays inside: the plain sum. nullopt: nothing to do.
std::optional<Poly> Algebra::settle_padded(const Factor& red, const Ext& ctx) {
  if (!nodes_[red.node].padded || nodes_[red.node].fn != ir::Fn::Add || !red.exp.is_one()) return std::nullopt;
  auto [body, ext] = open_red(red, ctx);
  bool changed = false;
  for (const Factor& f : body.f) {
    const Node& n = nodes_[f.node];
    if (n.kind == Kind::Bracket) {
      const Poly e = arg_at(n, f, 0, ext);
      const auto [lo, hi] = range(e, ext);
      const bool idle = (n.lo > kNegInf && n.lo <= lo) || (n.hi < kPosInf && n.hi > hi) || n.lo > hi || n.hi <= lo;
      if (!idle) continue;
      const Poly again = bracket(e, n.lo, n.hi, ext);  // which may keep an idle end (L-54)
      changed |= again.size() != 1 || !again[0].coef.is_one() || again[0].f.size() != 1 || !(again[0].f[0] == f);
    } else {
      changed |= n.padded && unpadded(f, ext).has_value();
    }
    if (changed) break;
  }
  if (!changed) return std::nullopt;
  ++applications;
  Poly inside = constant(1);
  Term rest{body.coef, {}};
  for (const Factor& f : body.f) {
    const Node& n = nodes_[f.node];
    if (n.kind != Kind::Bracket) {
      rest.f.push_back(f);
    } else {
      inside = mul(inside, bracket(arg_at(n, f, 0, ext), n.lo, n.hi, ext), ext);
    }
  }
  return reduce(ir::Fn::Add, where(inside, make_term(std::move(rest), ext), ext), ext, static_cast<int>(ext.size() - ctx.size()));
}

std::optional<Cell> Views::pad_as_one(const Value& x, const std::vector<int64_t>& dims) {
  const Cell* only = nullptr;
  for (const Cell& c : x.cells) {
    if (c.poly.empty()) continue;
    if (only) return std::nullopt;
    only = &c;
  }
  if (!only) return std::nullopt;
  Cell out = *only;
  const size_t rank = x.shape.size(), w = out.ext.size() + 1;
  for (size_t d = 0; d < rank; ++d) {
    const Digits g = digits(*only, d);
    if (!plain(g.lin)) return std::nullopt;
    const int64_t n = g.var.empty() ? 1 : g.lin.e[0];
    if (n == x.shape[d]) continue;
    if (g.var.empty() || std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) == dims.end()) return std::nullopt;
    const size_t v = g.var[0];
    out.ext[v] = x.shape[d];
    out.pos[d * w + w - 1] = 0;
    auto p = a_.padded(out.poly, out.ext, v, g.lin.c, n);
    if (!p) return std::nullopt;
    out.poly = *std::move(p);
  }
  return out;
}

}  // namespace shardproof::prove
