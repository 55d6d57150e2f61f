// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Comparison with nested sums opened (L-65). Sums of sums have many orders and names, and no order is the normal one: a gradient that a
// rank gets by another chain of products than the one-device program is the same polynomial of the same inputs, grouped otherwise. Where
// two polys differ, both are rewritten without their outermost nested sums and names: what was sum over a of f(a) (x(a) + sum over b of
// g(a, b)) becomes sum over a of f x + sum over a, b of f g. What is equal then falls out on both sides, and only the rest is opened one
// level deeper. The depth of a node in the graph of nodes is its level, so that the two sides are always opened to the same level, and
// nothing is opened twice.
#include <algorithm>
#include <ctime>
#include <utility>

#include "prove/algebra.h"
#include "prove/rows.h"

namespace shardproof::prove {

namespace {

constexpr size_t kTerms = 96;           // in one poly
constexpr size_t kVariables = 16;       // bound ones, of one product
constexpr int kInside = 8;              // parts within parts
constexpr int kLevels = 40;             // of one comparison
constexpr int kFewLevels = 3;           // before products are taken apart by cases
constexpr int64_t kCopies = 3;          // the highest power that is read as a product
constexpr int64_t kElements = 16;       // of a sum that is written out
constexpr uint64_t kOpenings = 24'000;  // of one problem
constexpr uint64_t kWork = 240'000;     // rules that these may cost
constexpr double kSeconds = 5;          // of the processor
constexpr int64_t kShare = 4;           // one comparison may take this part of what is left

// A product, and what it is summed over.
struct Flat {
  Term t;
  Ext ext;  // the context, then the sum's variables
};

}  // namespace

bool Algebra::spent() const { return openings_ > limit_.openings || applications > limit_.work || std::clock() > limit_.ticks; }

// One more than the deepest node it is made of; nodes are made after their parts.
uint32_t Algebra::depth_of(Nid id) {
  while (depths_.size() <= id) {
    uint32_t depth = 0;
    for (const Poly& p : nodes_[depths_.size()].args) {
      for (const Term& t : p) {
        for (const Factor& f : t.f) depth = std::max(depth, depths_[f.node]);
      }
    }
    depths_.push_back(depth + 1);
  }
  return depths_[id];
}

bool Algebra::is_sum(const Factor& f) const {
  return (nodes_[f.node].kind == Kind::Sum || sum_of_product(f.node)) && f.exp.is_integer() && f.exp.positive() && f.exp.num() <= kCopies;
}

// The level at which p would be opened next, below `limit`; 0 if there is nothing left.
uint32_t Algebra::next_level(const Poly& p, uint32_t limit) {
  uint32_t level = 0;
  const auto look = [&](const Factor& f) {
    const uint32_t depth = depth_of(f.node);
    if (depth < limit && is_sum(f)) level = std::max(level, depth);
  };
  for (const Term& t : p) {
    if (t.coef.is_zero()) continue;
    for (const Factor& f : t.f) {
      if (!is_sum(f)) continue;
      if (nodes_[f.node].kind == Kind::Sum) {
        look(f);
      } else {
        for (const Factor& g : nodes_[f.node].args[0][0].f) look(g);
      }
    }
  }
  return level;
}

std::optional<Poly> Algebra::open_level(const Poly& p, uint32_t level, const Ext& ctx) {
  const auto may_open = [&](const Flat& flat, size_t at) {
    return opens(without(flat.t, at), flat.t.f[at], flat.ext) || !refused(Rule::L65);
  };
  // A sum in a product becomes bound variables of the product.
  const auto merge = [&](const Flat& flat, size_t at) {
    auto [t, ext] = open_in(flat.t, at, flat.ext);
    std::sort(t.f.begin(), t.f.end(), before);
    return Flat{std::move(t), std::move(ext)};
  };
  Poly out;
  for (const Term& t : p) {
    std::vector<Flat> work{{t, ctx}};
    // The sums of the term itself that hold something to open.
    for (bool again = !t.coef.is_zero(); again;) {
      again = false;
      for (size_t i = 0; i < work[0].t.f.size() && !again; ++i) {
        const Factor& f = work[0].t.f[i];
        if (!is_sum(f) || nodes_[f.node].kind != Kind::Red || depth_of(f.node) <= level) continue;
        const std::vector<Factor>& body = nodes_[f.node].args[0][0].f;
        if (std::none_of(body.begin(), body.end(), [&](const Factor& g) { return is_sum(g) && depth_of(g.node) == level; })) continue;
        if (!may_open(work[0], i)) continue;
        work[0] = merge(work[0], i);
        again = true;
      }
    }
    while (!work.empty()) {
      Flat flat = std::move(work.back());
      work.pop_back();
      size_t at = flat.t.f.size();
      for (size_t i = 0; i < flat.t.f.size() && at == flat.t.f.size() && !flat.t.coef.is_zero(); ++i) {
        if (is_sum(flat.t.f[i]) && depth_of(flat.t.f[i].node) == level && may_open(flat, i)) at = i;
      }
      if (at == flat.t.f.size()) {
        const int bound = static_cast<int>(flat.ext.size() - ctx.size());
        if (bound > static_cast<int>(kVariables)) return std::nullopt;
        out = add(std::move(out), bound == 0 ? make_term(std::move(flat.t), ctx) : reduce_term(flat.t, flat.ext, bound), ctx);
        if (out.size() > kTerms) return std::nullopt;
        continue;
      }
      openings_ += 1 + out.size() / 4;
      if (spent()) return std::nullopt;
      if (nodes_[flat.t.f[at].node].kind == Kind::Red) {
        work.push_back(merge(flat, at));
        continue;
      }
      const Term rest = without(flat.t, at);
      for (const Term& u : expand_named(flat.t.f[at], flat.ext)) {
        for (Term& v : mul({rest}, {u}, flat.ext)) work.push_back({std::move(v), flat.ext});
      }
      if (work.size() > kTerms) return std::nullopt;
    }
  }
  return out;
}

// Where a sum over variable v of t could be cut in two, so that one of the brackets in t is the same number for all v of a part: 0 if
// nowhere. Only where the bracket's form is affine.
int64_t Algebra::cut_of(const Term& t, const Ext& ext, size_t v) {
  int64_t best = 0;
  for (const Factor& f : t.f) {
    const Node& n = nodes_[f.node];
    if (n.kind != Kind::Bracket || !depends_on(f, ext.size() + 1, v)) continue;
    const int64_t lo = n.lo, hi = n.hi;
    const Poly e = arg_at(n, f, 0, ext);
    if (e.size() != 1 || e[0].f.size() != 1 || e[0].f[0].node != iota() || !e[0].f[0].exp.is_one() || !e[0].coef.is_integer()) continue;
    // e is q v + rest, and rest lies from `least` to `most`.
    const std::vector<int64_t>& row = e[0].f[0].map;
    const int64_t c = e[0].coef.num(), q = mul_checked(c, row[v]);
    int64_t least = mul_checked(c, row[ext.size()]), most = least;
    bool bounded = q != 0;
    for (size_t w = 0; w < ext.size() && bounded; ++w) {
      if (w == v || row[w] == 0) continue;
      const int64_t step = mul_checked(c, row[w]);
      bounded = ext[w] > 0 && ext[w] < kPosInf;
      (step > 0 ? most : least) = add_checked(step > 0 ? most : least, bounded ? mul_checked(step, ext[w] - 1) : 0);
    }
    if (!bounded) continue;
    for (int64_t edge : {lo, hi}) {
      if (edge <= kNegInf || edge >= kPosInf) continue;
      for (int64_t other : {least, most}) {
        // The first v at which q v + other has passed the edge.
        const int64_t at = q > 0 ? ceil_div(edge - other, q) : floor_div(edge - other, q) + 1;
        if (at > 0 && at < ext[v] && (best == 0 || at < best)) best = at;
      }
    }
  }
  return best;
}

// Sums cut where a bracket inside becomes constant (L-68): the rows of a halo that are padding on one rank and a neighbour's on another.
// Of the variables that could be cut the one that walks the longest dimension is, so that parts of a sum are cut as the whole is.
std::optional<Poly> Algebra::cut_sums(const Poly& p, const Ext& ctx) {
  const auto longest = [&](const Flat& flat, int64_t& cut) {
    size_t var = 0;
    int64_t most = 0;
    for (size_t v = ctx.size(); v < flat.ext.size(); ++v) {
      const int64_t at = cut_of(flat.t, flat.ext, v);
      if (at == 0) continue;
      int64_t walks = kPosInf;
      for (const Factor& f : flat.t.f) {
        const std::vector<int64_t>& dims = nodes_[f.node].dims;
        for (size_t d = 0; d < dims.size(); ++d) {
          if (dims[d] > 0 && f.map[d * (flat.ext.size() + 1) + v] != 0) walks = std::min(walks, dims[d]);
        }
      }
      if (walks > most) most = walks, var = v, cut = at;
    }
    return var;
  };
  Poly out;
  for (const Term& t : p) {
    std::vector<Flat> work;
    for (size_t i = 0; i < t.f.size() && work.empty() && !t.coef.is_zero(); ++i) {
      if (!is_sum(t.f[i]) || nodes_[t.f[i].node].kind != Kind::Red || (!opens(without(t, i), t.f[i], ctx) && refused(Rule::L68))) continue;
      auto [body, ext] = open_in(t, i, ctx);
      std::sort(body.f.begin(), body.f.end(), before);
      Flat flat{std::move(body), std::move(ext)};
      int64_t cut = 0;
      longest(flat, cut);
      if (cut != 0) work.push_back(std::move(flat));
    }
    if (work.empty()) out = add(std::move(out), {t}, ctx);
    while (!work.empty()) {
      const Flat flat = std::move(work.back());
      work.pop_back();
      if (++openings_; spent()) return std::nullopt;
      int64_t cut = 0;
      const size_t var = longest(flat, cut);
      if (cut == 0) {
        out = add(std::move(out), reduce_term(flat.t, flat.ext, static_cast<int>(flat.ext.size() - ctx.size())), ctx);
        if (out.size() > kTerms) return std::nullopt;
        continue;
      }
      fired(Rule::L68);
      for (const int64_t from : {int64_t{0}, cut}) {
        Ext part = flat.ext;
        part[var] = from == 0 ? cut : flat.ext[var] - cut;
        Sub shift = Sub::identity(static_cast<int>(part.size()));
        shift.rows[var][part.size()] = from;
        for (Term& u : subst({flat.t}, shift, part)) work.push_back({std::move(u), part});
      }
      if (work.size() > kTerms) return std::nullopt;
    }
  }
  return out;
}

// Short sums written out (L-67): a stencil's neighbours and the two rows at a border have many groupings into sums, and none is the normal
// one.
std::optional<Poly> Algebra::write_out(const Poly& p, const Ext& ctx) {
  const auto is_short = [&](const Factor& f) {
    if (!is_sum(f) || nodes_[f.node].kind != Kind::Red) return false;
    const std::vector<int64_t>& box = nodes_[f.node].box;
    int64_t elements = 1;
    for (size_t k = 0; k < box.size() && elements <= kElements; k += 2) elements *= std::min(box[k + 1] - box[k], kElements + 1);
    return elements <= kElements;
  };
  Poly out;
  std::vector<Term> work(p.rbegin(), p.rend());
  while (!work.empty()) {
    const Term t = std::move(work.back());
    work.pop_back();
    size_t at = 0;
    while (at < t.f.size() && (t.coef.is_zero() || !is_short(t.f[at]) || (!opens(without(t, at), t.f[at], ctx) && refused(Rule::L67))))
      ++at;
    if (at == t.f.size()) {
      out = add(std::move(out), make_term(t, ctx), ctx);
      if (out.size() > kTerms) return std::nullopt;
      continue;
    }
    if (++openings_; spent()) return std::nullopt;
    fired(Rule::L67);
    auto [body, ext] = open_in(t, at, ctx);
    std::sort(body.f.begin(), body.f.end(), before);
    Sub place = Sub::identity(static_cast<int>(ctx.size()));
    place.rows.resize(ext.size(), Row(ctx.size() + 1, 0));
    for (bool more = true; more;) {
      Poly element = subst({body}, place, ctx);
      work.insert(work.end(), element.begin(), element.end());
      if (work.size() > 2 * kTerms) return std::nullopt;
      more = false;
      for (size_t k = ctx.size(); k < ext.size() && !more; ++k) {  // the next place, as an odometer counts
        int64_t& at_k = place.rows[k][ctx.size()];
        more = ++at_k < ext[k];
        if (!more) at_k = 0;
      }
    }
  }
  return out;
}

// At each place of a small context by itself: a cell of two rows may walk its elements otherwise than the other side's.
bool Algebra::equal_everywhere(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined) {
  int64_t places = 1;
  for (const int64_t e : ctx) places = e <= 0 || e > kElements ? kElements + 1 : std::min(places * e, kElements + 1);
  if (ctx.empty() || places > kElements) return false;
  Sub place;
  place.width = 1;
  place.rows.resize(ctx.size(), Row(1, 0));
  for (int64_t n = 0; n < places; ++n) {
    int64_t rest = n;
    for (size_t v = 0; v < ctx.size(); ++v) place.rows[v][0] = rest % ctx[v], rest /= ctx[v];
    if (!equal(subst(a, place, {}), subst(b, place, {}), {}, where_defined)) return false;
  }
  return true;
}

// Where two sides are the same but for one part in each (L-72): sums of products that differ in one factor, functions that differ in an
// argument, names of such. It is enough that the parts are equal, and they are smaller.
bool Algebra::equal_inside(const Poly& a, const Poly& b, const Ext& ctx, int depth) {
  Poly left, right;
  tell_apart(a, b, left, right, nullptr);
  if (depth > kInside || left.size() != 1 || right.size() != 1 || !(left[0].coef == right[0].coef) || left[0].coef.is_zero()) return false;
  std::vector<Factor> l, r;
  std::set_difference(left[0].f.begin(), left[0].f.end(), right[0].f.begin(), right[0].f.end(), std::back_inserter(l), before);
  std::set_difference(right[0].f.begin(), right[0].f.end(), left[0].f.begin(), left[0].f.end(), std::back_inserter(r), before);
  if (l.size() != 1 || r.size() != 1 || !(l[0].exp == r[0].exp)) return false;
  const Factor x{l[0].node, 1, l[0].map}, y{r[0].node, 1, r[0].map};
  const Node &nx = nodes_[x.node], &ny = nodes_[y.node];
  const auto parts_equal = [&](const Poly& p, const Poly& q, const Ext& ext) {
    return equal(p, q, ext) || equal_inside(p, q, ext, depth + 1) || equal_opening(p, q, ext, false);
  };
  if (nx.kind == Kind::Sum || ny.kind == Kind::Sum) {
    const auto named = [&](const Factor& f) { return nodes_[f.node].kind == Kind::Sum ? expand_named(f, ctx) : Poly{Term{1, {f}}}; };
    return parts_equal(named(x), named(y), ctx);
  }
  if (nx.kind != ny.kind || nx.fn != ny.fn || nx.args.size() != ny.args.size()) return false;
  if (nx.kind == Kind::Fn && nx.dtype == ny.dtype && nx.name == ny.name) {
    for (size_t k = 0; k < nx.args.size(); ++k) {
      if (!parts_equal(arg_at(nodes_[x.node], x, k, ctx), arg_at(nodes_[y.node], y, k, ctx), ctx)) return false;
    }
    return true;
  }
  if (nx.kind != Kind::Red || nx.args[0].size() != 1 || ny.args[0].size() != 1 || nx.num_bound() != ny.num_bound()) return false;
  const auto [bx, ex] = open_red(x, ctx);
  const auto [by, ey] = open_red(y, ctx);
  const size_t m = ctx.size();
  std::vector<size_t> order;
  for (size_t v = m; v < ex.size(); ++v) order.push_back(v);
  if (order.size() > 4 || !(bx.coef == by.coef)) return false;
  // Which variable of the one sum is which of the other: tried where all factors but one then agree.
  do {
    bool fits = true;
    Sub turn = Sub::identity(static_cast<int>(ex.size()));
    for (size_t k = 0; k < order.size(); ++k) {
      fits &= ex[m + k] == ey[order[k]];
      turn.rows[order[k]] = Row(ex.size() + 1, 0);
      turn.rows[order[k]][m + k] = 1;
    }
    if (!fits) continue;
    const Poly other = subst({by}, turn, ex);
    if (other.size() != 1) continue;
    std::vector<Factor> mine = bx.f, lx, ly;
    std::sort(mine.begin(), mine.end(), before);
    std::set_difference(mine.begin(), mine.end(), other[0].f.begin(), other[0].f.end(), std::back_inserter(lx), before);
    std::set_difference(other[0].f.begin(), other[0].f.end(), mine.begin(), mine.end(), std::back_inserter(ly), before);
    if (lx.size() > 1 || ly.size() > 1 || !(other[0].coef == bx.coef)) continue;
    return (lx.empty() && ly.empty()) ||
           (lx.size() == 1 && ly.size() == 1 && lx[0].exp == ly[0].exp &&
            parts_equal({Term{1, {Factor{lx[0].node, 1, lx[0].map}}}}, {Term{1, {Factor{ly[0].node, 1, ly[0].map}}}}, ex));
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

bool Algebra::equal_flat(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined) {
  const During scope(flat_);
  if (!std::exchange(budget_known_, true)) left_ = {kOpenings, kWork, static_cast<int64_t>(kSeconds * CLOCKS_PER_SEC)};
  const uint64_t before = applications;
  const int64_t started = std::clock();
  openings_ = 0;
  limit_ = {left_.openings / uint64_t{kShare}, before + left_.work / uint64_t{kShare}, started + left_.ticks / kShare};
  struct Pay {  // also where a limit throws
    Algebra& a;
    uint64_t before;
    int64_t started;
    ~Pay() {
      a.left_.openings -= std::min(a.left_.openings, a.openings_);
      a.left_.work -= std::min(a.left_.work, a.applications - before);
      a.left_.ticks -= std::min<int64_t>(a.left_.ticks, std::clock() - started);
    }
  } pay{*this, before, started};
  return (equal_inside(a, b, ctx, 0) ? fired(Rule::L72) : !refused(Rule::L72)) || equal_opening(a, b, ctx, where_defined);
}

bool Algebra::equal_opening(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined) {
  if (equal_levels(a, b, ctx, where_defined, kFewLevels)) return true;
  Poly x = by_cases(a, ctx), y = by_cases(b, ctx);
  if (equal(x, y, ctx, where_defined)) return true;
  x = made_here(x, ctx), y = made_here(y, ctx);
  return equal(x, y, ctx, where_defined) || equal_levels(std::move(x), std::move(y), ctx, where_defined, kLevels);
}

// After at most so many levels are opened; where nothing is left to open before that, also with sums cut and written out.
bool Algebra::equal_levels(Poly x, Poly y, const Ext& ctx, bool where_defined, int levels) {
  uint32_t level = UINT32_MAX;
  for (int step = 0; step < levels; ++step) {
    Poly left, right, same;
    tell_apart(x, y, left, right, &same);
    level = std::max(next_level(left, level), next_level(right, level));
    if (level == 0) {
      if (levels < kLevels) return false;
      auto l = cut_sums(left, ctx), r = cut_sums(right, ctx);
      if (!l || !r) return false;
      if (equal(*l, *r, ctx, where_defined)) return true;
      left.clear(), right.clear();
      tell_apart(*l, *r, left, right, nullptr);
      const During whole(written_out_);
      l = write_out(left, ctx), r = write_out(right, ctx);
      return l && r && (equal(*l, *r, ctx, where_defined) || equal_everywhere(*l, *r, ctx, where_defined));
    }
    const auto l = open_level(left, level, ctx), r = open_level(right, level, ctx);
    if (!l || !r) return false;
    ++applications;
    fired(Rule::L65);
    x = add(same, *l, ctx);
    y = add(std::move(same), *r, ctx);
    if (equal(x, y, ctx, where_defined)) return true;
  }
  return false;
}

}  // namespace shardproof::prove
