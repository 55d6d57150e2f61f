// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What is known of the values of polys where they are read: finite, sign, integer bounds.
#include "prove/algebra.h"
#include "prove/rows.h"

#include <algorithm>
#include <cmath>

#include "util/result.h"

namespace shardproof::prove {

// --- what is known -----------------------------------------------------------------------------------------------------------

namespace {

constexpr int kAsRead = 64;           // nodes within nodes that are looked at as they are read
constexpr size_t kReadings = 50'000;  // of them, by one prover

std::pair<int64_t, int64_t> row_range(const int64_t* row, const Ext& ctx) {
  int64_t lo = row[ctx.size()], hi = lo;
  for (size_t v = 0; v < ctx.size(); ++v) {
    if (row[v] == 0) continue;
    if (ctx[v] == kUnbounded) return {kNegInf, kPosInf};
    const int64_t x = mul_checked(row[v], ctx[v] - 1);
    (x < 0 ? lo : hi) = add_checked(x < 0 ? lo : hi, x);
  }
  return {lo, hi};
}

// Everything between the two ends, if the row walks that without gaps.
std::optional<std::pair<int64_t, int64_t>> walked(const int64_t* row, const Ext& ctx) {
  std::vector<std::pair<int64_t, int64_t>> digits;  // step, extent
  for (size_t v = 0; v < ctx.size(); ++v) {
    if (row[v] == 0) continue;
    if (ctx[v] == kUnbounded) return std::nullopt;
    digits.emplace_back(std::abs(row[v]), ctx[v]);
  }
  std::sort(digits.begin(), digits.end());
  int64_t span = 1;
  for (const auto& [step, extent] : digits) {
    if (step > span) return std::nullopt;
    span = add_checked(span, mul_checked(step, extent - 1));
  }
  return row_range(row, ctx);
}

int64_t clamp_inf(__int128 v) { return v <= kNegInf ? kNegInf : v >= kPosInf ? kPosInf : static_cast<int64_t>(v); }

std::pair<int64_t, int64_t> mul_range(std::pair<int64_t, int64_t> a, std::pair<int64_t, int64_t> b) {
  // Infinite ends stay infinite unless the other factor is exactly 0.
  auto m = [](int64_t x, int64_t y) -> __int128 {
    if (x == 0 || y == 0) return 0;
    return static_cast<__int128>(x) * y;
  };
  __int128 lo = m(a.first, b.first), hi = lo;
  for (__int128 v : {m(a.first, b.second), m(a.second, b.first), m(a.second, b.second)}) {
    lo = std::min(lo, v);
    hi = std::max(hi, v);
  }
  return {clamp_inf(lo), clamp_inf(hi)};
}

}  // namespace

std::pair<int64_t, int64_t> Algebra::range(const Poly& p, const Ext& ctx) const {
  __int128 lo = 0, hi = 0;
  for (const Term& t : p) {
    if (!t.coef.is_integer()) return {kNegInf, kPosInf};
    std::pair<int64_t, int64_t> r{1, 1};
    for (const Factor& f : t.f) {
      const Node& n = nodes_[f.node];
      if (!f.exp.is_integer() || !f.exp.positive() || !n.known.integer) return {kNegInf, kPosInf};
      std::pair<int64_t, int64_t> one{n.known.lo, n.known.hi};
      if (f.node == iota()) {
        one = row_range(f.map.data(), ctx);
        ranged = true;
      } else if (n.kind == Kind::Fn && n.positional && !n.known.boolean) {
        const Known k = known(Factor{f.node, 1, f.map}, ctx);  // quotients and remainders of positions
        one = {k.lo, k.hi};
      }
      for (int64_t e = 0; e < std::min<int64_t>(f.exp.num(), 4); ++e) r = mul_range(r, one);
      if (f.exp.num() > 4) return {kNegInf, kPosInf};
    }
    r = mul_range(r, {t.coef.num(), t.coef.num()});
    if (r.first == kNegInf || lo == kNegInf)
      lo = kNegInf;
    else
      lo += r.first;
    if (r.second == kPosInf || hi == kPosInf)
      hi = kPosInf;
    else
      hi += r.second;
  }
  return {clamp_inf(lo), clamp_inf(hi)};
}

// What is known of a node with its variables as they are read: a query's position and its place in the row of documents are two variables
// of the node, and one of the context.
Known Algebra::known_as_read(const Factor& f, const Ext& ctx, Known k, int depth) const {
  const Node& n = nodes_[f.node];
  const size_t own = n.dims.size(), w = ctx.size() + 1;
  // Only the variables that are read, so that a place deep inside of sums is the place that it is elsewhere.
  std::vector<size_t> used;
  for (size_t v = 0; v < ctx.size(); ++v) {
    if (depends_on(f, w, v)) used.push_back(v);
  }
  used.push_back(ctx.size());
  const size_t cw = used.size();
  std::vector<int64_t> key{f.node};
  key.reserve(1 + cw + own * cw);
  for (size_t u = 0; u + 1 < cw; ++u) key.push_back(ctx[used[u]]);
  for (size_t d = 0; d < own; ++d) {
    for (const size_t v : used) key.push_back(f.map[d * w + v]);
  }
  ranged = true;
  if (const auto it = as_read_.find(key); it != as_read_.end()) return it->second;
  if (as_read_.size() >= kReadings) return k;
  Node part = n;  // a copy, as its definition is placed below
  part.dims.assign(key.begin() + 1, key.begin() + static_cast<std::ptrdiff_t>(cw));
  part.hits |= !n.met.empty() && is_met(f, ctx);
  for (size_t a = 0; a < part.args.size(); ++a) {
    const size_t more = static_cast<size_t>(n.num_bound()) + (n.inner.empty() ? 0 : n.inner[a].size()), to = cw + more;
    std::vector<int64_t> rows;
    for (size_t d = 0; d < own; ++d) {
      const auto row = key.begin() + static_cast<std::ptrdiff_t>(cw + d * cw);
      rows.insert(rows.end(), row, row + static_cast<std::ptrdiff_t>(cw) - 1);
      rows.insert(rows.end(), more, 0);
      rows.push_back(row[static_cast<std::ptrdiff_t>(cw) - 1]);
    }
    for (size_t v = 0; v < more; ++v) {
      Row same(to, 0);
      same[cw - 1 + v] = 1;
      rows.insert(rows.end(), same.begin(), same.end());
    }
    part.args[a] = placed(std::move(part.args[a]), own + more + 1, rows, to);
  }
  k.learn(compute_known(part, depth + 1));
  as_read_.emplace(std::move(key), k);
  return k;
}

// A node is canonical on the largest range of its variables; the context may know more of the part it reads.
Known Algebra::known(const Factor& f, const Ext& ctx, int depth) const {
  Known k = known_in_range(f, ctx, depth);
  const Node& n = nodes_[f.node];
  if (n.ties && (!k.finite || (k.nonneg && !k.nonzero)) && depth <= kAsRead) k = known_as_read(f, ctx, k, depth);
  const auto here = [&](size_t arg) { return known(placed(n.args[arg], n.dims.size() + 1, f.map, ctx.size() + 1), ctx, depth + 1); };
  // The exponential of a row's maximum, and of the maximum of several parts of the row, one of which has an element, as it is read here.
  if (n.kind == Kind::Fn && n.positional && depth <= 8) {
    const auto is_max = [&](const Factor& g) {
      const Node& m = nodes_[g.node];
      return m.fn == ir::Fn::Max && (m.kind == Kind::Red || m.kind == Kind::Fn) && !m.known.integer;
    };
    if (n.fn == ir::Fn::Exp && k.finite && !k.nonzero) {
      const bool maxima =
          std::all_of(n.args[0].begin(), n.args[0].end(), [&](const Term& t) { return std::all_of(t.f.begin(), t.f.end(), is_max); });
      if (maxima && here(0).finite) k.nonzero = k.no_zero = true;
    }
    if (n.fn == ir::Fn::Max && k.no_pos_inf && !k.finite) {
      for (size_t a = 0; a < n.args.size() && !k.finite; ++a) {
        const Poly& e = n.args[a];
        k.finite = e.size() == 1 && e[0].f.size() == 1 && is_max(e[0].f[0]) && here(a).finite;
      }
    }
    return k;
  }
  if (n.kind != Kind::Red || !n.positional || n.num_bound() != 1 || depth > kAsRead) return k;
  const bool sum = n.fn == ir::Fn::Add && k.nonneg && !k.nonzero && !k.no_zero, top = n.fn == ir::Fn::Max && k.no_pos_inf && !k.finite;
  if ((!sum && !top) || !meets_itself(f, ctx, depth)) return k;
  if (sum) {
    k.no_zero = true;
    k.nonzero = k.finite;
  } else {
    k.finite = true;
  }
  return k;
}

Known Algebra::known_in_range(const Factor& f, const Ext& ctx, int depth) const {
  const Node& node = nodes_[f.node];
  Known n = node.known;
  if (f.node == iota()) {
    auto [lo, hi] = row_range(f.map.data(), ctx);
    n.nonneg = lo >= 0;
    n.nonzero = lo > 0 || hi < 0;
    ranged |= n.nonneg || n.nonzero;
    return n;
  }
  const bool counts = node.kind == Kind::Fn && node.known.integer && !node.known.boolean;
  if (!node.positional || (n.finite && n.nonzero && !counts) || depth > 2000) return n;
  const bool worth = node.kind == Kind::Sum || node.kind == Kind::Whole || node.kind == Kind::Take ||
                     (node.kind == Kind::Bracket && !n.finite) || (node.kind == Kind::Fn && (counts || !node.known.boolean || !n.finite)) ||
                     (node.kind == Kind::Red && (node.fn == ir::Fn::Add || node.fn == ir::Fn::Max) && !node.known.boolean);
  if (!worth) return n;
  // The node, restricted to what the context reads: its own variables run over the rows' ranges (shifted to 0).
  bool smaller = false;
  std::vector<int64_t> key{f.node};
  key.reserve(2 + 2 * node.dims.size());
  for (size_t r = 0; r < node.dims.size(); ++r) {
    auto [lo, hi] = row_range(&f.map[r * (ctx.size() + 1)], ctx);
    if (lo <= kNegInf || hi >= kPosInf) return n;
    smaller |= node.dims[r] == kUnbounded || hi - lo + 1 < node.dims[r];
    key.push_back(lo);
    key.push_back(hi - lo + 1);
  }
  const bool hit = !node.hits && !node.met.empty() && is_met(f, ctx);
  if (!smaller && !hit) return n;
  key.push_back(hit);
  if (const auto it = known_.find(key); it != known_.end()) {
    ranged |= !(it->second == n);
    return it->second;
  }
  const bool before = ranged;
  Node part = node;  // a copy, as its definition is shifted below
  for (size_t r = 0; r < node.dims.size(); ++r) part.dims[r] = key[2 + 2 * r];
  part.hits |= hit;
  const int bound = node.num_bound();
  for (size_t a = 0; a < part.args.size(); ++a) {
    for (Term& t : part.args[a]) {
      for (Factor& g : t.f) {
        const size_t own = node.dims.size() - node.result.size();  // Whole: its arguments do not know the result's own dimensions
        const size_t w = own + bound + (node.inner.empty() ? 0 : node.inner[a].size()) + 1;
        for (size_t d = 0; d < g.map.size() / w; ++d) {
          for (size_t v = 0; v < own; ++v) g.map[d * w + w - 1] += g.map[d * w + v] * key[1 + 2 * v];
        }
      }
    }
  }
  const Known k = compute_known(part, depth + 1);
  n.learn(k);
  n.lo = std::max(n.lo, k.lo);
  n.hi = std::min(n.hi, k.hi);
  ranged = before || !(n == node.known);
  known_.emplace(std::move(key), n);
  return n;
}

Known Algebra::known(const Term& t, const Ext& ctx, int depth) const {
  Known k;
  k.finite = k.no_pos_inf = k.no_inf = true;
  bool minus = t.coef.negative();
  k.nonneg = true;
  k.nonzero = k.no_zero = !t.coef.is_zero();
  k.integer = t.coef.is_integer();
  k.boolean = t.coef.is_one();
  bool inf_possible = false;
  for (const Factor& f : t.f) {
    const Known n = known(f, ctx, depth);
    const bool even = f.exp.is_integer() && f.exp.num() % 2 == 0;
    const bool fractional = !f.exp.is_integer();
    bool finite = n.finite;
    if (f.exp.negative()) finite = finite && n.nonzero;
    if (fractional) finite = finite && n.nonneg;
    if (!finite) inf_possible = true;
    k.finite &= finite;
    k.no_inf &= f.exp.negative() || n.never_inf();  // x^-1 is 0 or undefined where x is infinite or 0
    if (f.node == iota() && !n.nonneg && f.exp.is_integer() && !even && row_range(f.map.data(), ctx).second <= 0) {
      minus = !minus;  // a product with an index form that is never positive
      ranged = true;
    } else {
      k.nonneg &= n.nonneg || even || fractional;
    }
    k.nonzero &= n.nonzero && n.finite && (!fractional || n.nonneg);     // a root of what is negative is undefined
    k.no_zero &= n.never_zero() && (f.exp.positive() || n.never_inf());  // 1/inf = 0
    k.integer &= n.integer && f.exp.is_integer() && f.exp.positive();
    k.boolean &= n.boolean && f.exp.positive();
  }
  k.nonneg &= !minus;
  k.no_pos_inf = k.finite;
  if (inf_possible && t.f.size() == 1 && t.f[0].exp.is_one() && t.coef.positive()) k.no_pos_inf = known(t.f[0], ctx, depth).no_pos_inf;
  if (inf_possible && t.f.size() == 1 && t.f[0].node == inf() && t.coef.negative()) k.no_pos_inf = true;
  return k;
}

Known Algebra::known(const Poly& p, const Ext& ctx, int depth) const {
  Known k;
  k.finite = k.no_pos_inf = k.no_inf = k.nonneg = k.integer = true;
  bool some_positive = false, some_above = false;
  for (const Term& t : p) {
    const Known one = known(t, ctx, depth);
    k.finite &= one.finite;
    k.no_pos_inf &= one.no_pos_inf;
    k.no_inf &= one.never_inf();
    k.nonneg &= one.nonneg;
    k.integer &= one.integer;
    some_positive |= one.positive();
    some_above |= one.nonneg && one.never_zero();
  }
  k.nonzero = p.size() == 1 ? known(p[0], ctx, depth).nonzero : (k.nonneg && some_positive && k.finite);  // nonzero says defined, too
  k.no_zero = p.size() == 1 ? known(p[0], ctx, depth).never_zero() : k.nonneg && some_above;  // where a sum is defined, its terms are
  if (k.integer) {
    std::tie(k.lo, k.hi) = range(p, ctx);
    if (k.lo >= 0) k.nonneg = true;
    if (k.finite && (k.lo > 0 || k.hi < 0)) k.nonzero = true;
    k.boolean = k.lo >= 0 && k.hi <= 1;
  }
  return k;
}

// Where the sequential program reads by an index strictly, the index is in range, or the program stops. It says so only for the places that
// it reads: the node is the most general form, and other places of it may be read by ranks alone.
void Algebra::met(const Factor& f, const Ext& ctx) {
  Node& node = nodes_[f.node];
  if (structure_known || node.hits) return;
  std::vector<char> used(ctx.size(), 0);
  bool all = true;
  for (size_t r = 0; r < node.dims.size() && all; ++r) {
    const int64_t* row = &f.map[r * (ctx.size() + 1)];
    const std::optional<std::pair<int64_t, int64_t>> range = walked(row, ctx);
    all = range && node.dims[r] != kUnbounded && range->first <= 0 && range->second >= node.dims[r] - 1;
    for (size_t v = 0; v < ctx.size(); ++v) {
      if (row[v] == 0) continue;
      all &= !used[v];
      used[v] = 1;
    }
  }
  if (all) {
    node.hits = true;
    node.known = compute_known(node);
  } else {
    Node::Place place{ctx, f.map};
    if (node.met.size() >= 64 || std::find(node.met.begin(), node.met.end(), place) != node.met.end()) return;
    node.met.push_back(std::move(place));
    node.positional = true;  // what is known of it depends on where it is read
  }
}

// The place f is one of those: its rows are theirs at affine forms of ctx that stay in the variables' ranges.
bool Algebra::is_met(const Factor& f, const Ext& ctx) const {
  const Node& node = nodes_[f.node];
  if (node.hits) return true;
  const size_t w = ctx.size() + 1;
  for (const Node::Place& p : node.met) {
    const size_t pw = p.ext.size() + 1;
    std::vector<std::optional<Row>> form(p.ext.size());  // of each of their variables
    std::vector<char> open(node.dims.size(), 1);
    bool fits = true, again = true;
    while (fits && again) {
      again = false;
      for (size_t r = 0; r < node.dims.size() && fits; ++r) {
        if (!open[r]) continue;
        Row rest(f.map.begin() + static_cast<std::ptrdiff_t>(r * w), f.map.begin() + static_cast<std::ptrdiff_t>((r + 1) * w));
        rest.back() -= p.map[r * pw + pw - 1];
        size_t unknown = 0, var = 0;
        for (size_t v = 0; v < p.ext.size(); ++v) {
          const int64_t q = p.map[r * pw + v];
          if (q == 0) continue;
          if (!form[v]) {
            ++unknown;
            var = v;
            continue;
          }
          for (size_t k = 0; k < w; ++k) rest[k] = add_checked(rest[k], -mul_checked(q, (*form[v])[k]));
        }
        if (unknown > 1) continue;
        open[r] = 0;
        again = true;
        if (unknown == 0) {
          for (const int64_t k : rest) fits &= k == 0;
          continue;
        }
        const int64_t q = p.map[r * pw + var];
        for (int64_t& k : rest) {
          fits &= k % q == 0;
          k /= q;
        }
        const auto [lo, hi] = row_range(rest.data(), ctx);
        fits &= p.ext[var] != kUnbounded && lo >= 0 && hi < p.ext[var];
        form[var] = std::move(rest);
      }
    }
    // Digits of one number that no other row has: the number must be in range.
    std::vector<char> used(p.ext.size(), 0);
    for (size_t r = 0; r < node.dims.size() && fits; ++r) {
      if (!open[r]) continue;
      const int64_t* row = &p.map[r * pw];
      for (size_t v = 0; v < p.ext.size(); ++v) {
        if (row[v] == 0) continue;
        fits &= !used[v] && !form[v];
        used[v] = 1;
      }
      const auto theirs = walked(row, p.ext);
      const auto [lo, hi] = row_range(&f.map[r * w], ctx);
      fits &= theirs && lo >= theirs->first && hi <= theirs->second;
    }
    if (fits) {
      ranged = true;
      return true;
    }
  }
  return false;
}

// Could meets_itself say something about a sum or maximum?
bool Algebra::ties_masks(const Node& n) const {
  if (n.kind != Kind::Red || n.num_bound() != 1 || n.args[0].size() != 1) return false;
  const Term* masks = &n.args[0][0];
  if (n.fn == ir::Fn::Max && masks->f.size() == 1 && nodes_[masks->f[0].node].fn == ir::Fn::Select) {
    const Poly& condition = nodes_[masks->f[0].node].args[0];
    if (condition.size() == 1) masks = &condition[0];
  } else if (n.fn != ir::Fn::Add) {
    return false;
  }
  if (n.fn == ir::Fn::Add ? !n.known.nonneg || n.known.never_zero() : !n.known.no_pos_inf || n.known.finite) return false;
  const auto is_mask = [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket; };
  const auto of_positions = [&](const Factor& f) {
    if (!is_mask(f)) return false;  // what is read need not have arguments
    const Poly& e = nodes_[f.node].args[0];
    return e.size() == 1 && e[0].f.size() == 1 && e[0].f[0].node == iota() && e[0].f[0].exp.is_one();
  };
  return std::count_if(masks->f.begin(), masks->f.end(), is_mask) > 1 && std::any_of(masks->f.begin(), masks->f.end(), of_positions);
}

// Is a maximum over masked values, or a sum of masked positive values, certain to meet a place where all its masks hold, as they are read
// here? Every position is in its own document and not after itself (fixed_extreme asks the node for one mask). The place is an end of a
// mask of positions; there every mask must hold whatever the context's variables are, by its form alone: what is read at one place twice
// cancels.
bool Algebra::meets_itself(const Factor& f, const Ext& ctx, int depth) const {
  const Node& n = nodes_[f.node];
  const size_t own = n.dims.size(), w = own + 2, cw = ctx.size() + 1;
  if (n.args[0].size() != 1 || n.args[0][0].f.empty()) return false;
  std::vector<Factor> masks;  // over the node's own variables and the bound one
  Ext ext = n.dims;
  ext.push_back(n.box[0] >= 0 ? n.box[1] : kUnbounded);
  const Term& body = n.args[0][0];
  if (n.fn == ir::Fn::Add) {
    for (const Factor& g : body.f) {
      if (nodes_[g.node].kind == Kind::Bracket) masks.push_back(g);
    }
  } else {
    if (!body.coef.is_one() || body.f.size() != 1 || !body.f[0].exp.is_one()) return false;
    const Factor& choice = body.f[0];
    const Node& s = nodes_[choice.node];
    if (s.kind != Kind::Fn || s.fn != ir::Fn::Select || s.args[2].size() != 1 || s.args[0].size() != 1 || !s.args[0][0].coef.is_one())
      return false;
    const Term& lowest = s.args[2][0];
    if (!lowest.coef.negative() || lowest.f.size() != 1 || lowest.f[0].node != inf() || !lowest.f[0].exp.is_one()) return false;
    for (const Factor& g : s.args[0][0].f) {
      if (nodes_[g.node].kind != Kind::Bracket) return false;
      masks.push_back(placed(g, s.dims.size() + 1, choice.map, w));
    }
  }
  if (masks.size() < 2) return false;  // one mask: fixed_extreme
  std::vector<int64_t> key{f.node};
  key.insert(key.end(), f.map.begin(), f.map.end());
  key.insert(key.end(), ctx.begin(), ctx.end());
  ranged = true;  // it is about the context's ranges
  if (const auto it = meets_.find(key); it != meets_.end()) return it->second;
  bool& result = meets_[key] = false;
  if (n.fn == ir::Fn::Add) {
    for (const Factor& g : body.f) {
      const Known k = nodes_[g.node].kind == Kind::Bracket ? Known{} : known(Term{1, {g}}, ext, depth + 1);
      if (nodes_[g.node].kind != Kind::Bracket && (!k.positive() || !k.finite)) return false;
    }
  } else {
    const Node& s = nodes_[body.f[0].node];
    if (!known(placed(s.args[1], s.dims.size() + 1, body.f[0].map, w), ext, depth + 1).finite) return false;
  }
  // The masks over the context and, before its constant, the bound variable.
  std::vector<int64_t> into;
  for (size_t v = 0; v < own; ++v) {
    into.insert(into.end(), f.map.begin() + static_cast<std::ptrdiff_t>(v * cw), f.map.begin() + static_cast<std::ptrdiff_t>((v + 1) * cw));
    into.insert(into.end() - 1, 0);
  }
  Row last(cw + 1, 0);
  last[cw - 1] = 1;
  into.insert(into.end(), last.begin(), last.end());
  for (Factor& g : masks) g = placed(g, w, into, cw + 1);
  // Places: where a mask of positions is at an end.
  const auto position = [&](const Factor& g) {
    const Poly& e = nodes_[g.node].args[0];
    if (e.size() != 1 || !e[0].coef.is_one() || e[0].f.size() != 1 || e[0].f[0].node != iota() || !e[0].f[0].exp.is_one()) return Row{};
    return placed(e[0].f[0], nodes_[g.node].dims.size() + 1, g.map, cw + 1).map;
  };
  for (const Factor& g : masks) {
    const Row row = position(g);
    if (row.empty() || (row[cw - 1] != 1 && row[cw - 1] != -1)) continue;
    const Node& b = nodes_[g.node];
    for (const bool first : {true, false}) {
      if (first ? b.lo <= kNegInf : b.hi >= kPosInf) continue;
      const int64_t q = row[cw - 1];
      Row at(cw, 0);  // q k + rest = end, so k = q (end - rest)
      for (size_t v = 0; v + 1 < cw; ++v) at[v] = -q * row[v];
      at[cw - 1] = q * ((first ? b.lo : b.hi - 1) - row[cw]);
      const auto [low, high] = row_range(at.data(), ctx);
      if (low < n.box[0] || high >= n.box[1]) continue;
      std::vector<int64_t> put;
      for (size_t v = 0; v + 1 < cw; ++v) {
        Row same(cw, 0);
        same[v] = 1;
        put.insert(put.end(), same.begin(), same.end());
      }
      put.insert(put.end(), at.begin(), at.end());
      bool all = true;
      for (const Factor& m : masks) {
        const Factor there = placed(m, cw + 1, put, cw);
        const Node& mask = nodes_[m.node];
        std::vector<std::pair<Term, Rat>> terms;
        int64_t from = 0, to = 0;  // of the positions in it
        for (const Term& t : mask.args[0]) {
          Term u{1, {}};
          for (const Factor& h : t.f) u.f.push_back(placed(h, mask.dims.size() + 1, there.map, cw));
          if (u.f.size() == 1 && u.f[0].node == iota() && u.f[0].exp.is_one() && t.coef.is_one()) {
            const auto [lo, hi] = row_range(u.f[0].map.data(), ctx);
            if (lo <= kNegInf || hi >= kPosInf) all = false;
            if (all) from += lo, to += hi;
            continue;
          }
          if (u.f.empty()) {
            all &= t.coef.is_integer();
            if (all) from += t.coef.num(), to += t.coef.num();
            continue;
          }
          all &= known(u, ctx, depth + 1).finite;
          std::sort(u.f.begin(), u.f.end(), before);
          auto it = std::find_if(terms.begin(), terms.end(), [&](const auto& x) { return x.first.f == u.f; });
          if (it == terms.end()) it = terms.insert(terms.end(), {u, Rat(0)});
          it->second = it->second + t.coef;
        }
        for (const auto& [u, c] : terms) all &= c.is_zero();
        all &= (mask.lo <= kNegInf || from >= mask.lo) && (mask.hi >= kPosInf || to < mask.hi);
        if (!all) break;
      }
      if (all) return result = true;
    }
  }
  return false;
}

}  // namespace shardproof::prove
