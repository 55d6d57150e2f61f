// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Joining the pieces of sums: adjacent boxes, single elements, parts of ranks.
#include <algorithm>
#include <utility>

#include "prove/algebra.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

// --- joining pieces of sums ----------------------------------------------------------------------------------------------------

namespace {

// Splits x and y into their common factors and the two remainders. powers: of s^2 and s t one s is common.
void split_common(const Term& x, const Term& y, Term& common, std::vector<Factor>& rx, std::vector<Factor>& ry, bool powers = false) {
  const auto counts = [](const Factor& f) { return f.exp.is_integer() && f.exp.positive(); };
  size_t i = 0, j = 0;
  while (i < x.f.size() || j < y.f.size()) {
    const int c = i == x.f.size() ? 1 : j == y.f.size() ? -1 : compare(x.f[i], y.f[j]);
    if (c == 0) {
      common.f.push_back(x.f[i]);
      ++i;
      ++j;
    } else if (powers && i < x.f.size() && j < y.f.size() && x.f[i].node == y.f[j].node && x.f[i].map == y.f[j].map && counts(x.f[i]) &&
               counts(y.f[j])) {
      const Factor &f = x.f[i++], &g = y.f[j++];
      const bool more = g.exp < f.exp;
      common.f.push_back(more ? g : f);
      (more ? rx : ry).push_back({f.node, more ? f.exp - g.exp : g.exp - f.exp, f.map});
    } else if (c < 0) {
      rx.push_back(x.f[i++]);
    } else {
      ry.push_back(y.f[j++]);
    }
  }
  if (powers) {
    for (std::vector<Factor>* f : {&common.f, &rx, &ry}) std::sort(f->begin(), f->end(), before);
  }
}

}  // namespace

// The sum of a joined body. A factor that is a sum itself may be part of one larger sum in the sequential program (one head of several in a
// flattened contraction): if the sequential program has that form, and not the nested one, it is taken.
Poly Algebra::settle(const Term& body, const Ext& ext, int bound) {
  Poly nested = reduce_term(body, ext, bound);
  auto seen = [&](const Poly& p) { return sequential_form(p); };
  if (!structure_known || flat_ || seen(nested)) return nested;
  int inner = -1, count = 0;
  for (size_t i = 0; i < body.f.size(); ++i) {
    const Node& n = nodes_[body.f[i].node];
    if (n.kind == Kind::Red && n.fn == ir::Fn::Add && body.f[i].exp.is_one()) inner = static_cast<int>(i), ++count;
  }
  if (body.f.size() < 2) return nested;
  for (const Factor& f : body.f) {
    if (!names(f) || !f.exp.is_one()) continue;
    Poly named = reduce_term(body, ext, bound, Inner::Names);
    if (seen(named)) return named;
    break;
  }
  if (count != 1) return nested;
  for (size_t i = 0; i < body.f.size(); ++i) {
    if (static_cast<int>(i) != inner && !known(Term{1, {body.f[i]}}, ext).never_inf()) return nested;
  }
  auto [opened, wider] = open_in(body, static_cast<size_t>(inner), ext);
  if (may_hide(opened, wider, ext.size()) && !finite_without(body, static_cast<size_t>(inner), ext)) return nested;
  std::sort(opened.f.begin(), opened.f.end(), before);
  Poly flat = reduce_term(opened, wider, bound + static_cast<int>(wider.size() - ext.size()), Inner::Flat);
  return seen(flat) ? flat : nested;
}

// Could `rest` be a slice of a sum over `body`? A slice is made of the same nodes: most pairs are told apart by that, without making it.
bool Algebra::made_alike(const std::vector<Factor>& body, const std::vector<Factor>& rest) const {
  const auto plain = [&](Nid id) { return nodes_[id].kind == Kind::Base || nodes_[id].kind == Kind::Fn; };
  const auto among = [](const std::vector<Nid>& all, Nid id) { return std::find(all.begin(), all.end(), id) != all.end(); };
  // What stands in factors, and in sums among them.
  std::vector<Nid> mine, theirs;
  const auto gather = [&](const std::vector<Factor>& factors, int depth, auto& self, std::vector<Nid>& out) -> void {
    for (const Factor& f : factors) {
      out.push_back(f.node);
      if (depth > 0 && sum_of_product(f.node)) self(nodes_[f.node].args[0][0].f, depth - 1, self, out);
    }
  };
  gather(body, 1, gather, mine);
  for (const Factor& f : rest) {
    if (sum_of_product(f.node)) {
      if (among(mine, f.node)) continue;
      for (const Factor& g : nodes_[f.node].args[0][0].f) {
        if (plain(g.node) && !among(mine, g.node)) return false;
      }
    } else if (plain(f.node) && !among(mine, f.node)) {
      return false;
    }
  }
  if (flat_) return true;  // forms are made again for their place
  gather(rest, 3, gather, theirs);
  for (size_t i = 0; i < body.size(); ++i) {
    const Nid id = body[i].node;
    const Node& n = nodes_[id];
    // Brackets and tables may be numbers at a constant place; what is there twice may cancel.
    const bool stays =
        (n.kind == Kind::Base && !n.dense && id != iota()) || n.kind == Kind::Sum || n.kind == Kind::Fn || n.kind == Kind::Red;
    if (!stays || among(theirs, id)) continue;
    if (std::count_if(body.begin(), body.end(), [&](const Factor& f) { return f.node == id; }) > 1) continue;
    // A sum of a sum is one sum.
    const auto other = [&](const Factor& f) { return f.node != id && nodes_[f.node].kind != Kind::Bracket; };
    if (!sum_of_product(id) || std::any_of(body.begin(), body.end(), other)) return false;
    std::vector<Nid> inside;
    gather(n.args[0][0].f, 0, gather, inside);
    if (std::any_of(inside.begin(), inside.end(), [&](Nid x) { return plain(x) && !among(theirs, x); })) return false;
  }
  return true;
}

// The body of a sum, opened over ext, where its variable k runs from `at` over `width` places. A sum of many parts asks for one slice
// often.
Poly Algebra::slice_of(const Factor& red, const Term& body, const Ext& ext, const Ext& ctx, int k, int64_t at, int64_t width) {
  std::vector<int64_t> key{red.node, k, at, width, flat_, exchanging_, structure_known};
  key.insert(key.end(), red.map.begin(), red.map.end());
  key.insert(key.end(), ctx.begin(), ctx.end());
  if (const auto it = slices_.find(key); it != slices_.end()) {
    ranged = ranged || it->second.second;
    return it->second.first;
  }
  struct Before {  // also where a limit throws
    bool& flag;
    bool value;
    ~Before() { flag = flag || value; }
  } before{ranged, std::exchange(ranged, false)};
  const size_t var = ctx.size() + static_cast<size_t>(k);
  const int left = nodes_[red.node].num_bound() - (width == 1 ? 1 : 0);
  Ext to = ext;
  if (width == 1) {
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(var));
  } else {
    to[var] = width;
  }
  Sub s;
  s.width = static_cast<int>(to.size()) + 1;
  for (size_t v = 0, n = 0; v < ext.size(); ++v) {
    Row r(s.width, 0);
    if (v == var) r[s.width - 1] = at;
    if (v != var || width > 1) r[n++] = 1;
    s.rows.push_back(std::move(r));
  }
  Poly slice = subst({body}, s, to);
  if (left > 0) slice = reduce(ir::Fn::Add, slice, to, left);
  constexpr size_t kMany = 1 << 16;
  if (slices_.size() > kMany) slices_.clear();
  return slices_.emplace(std::move(key), std::pair(std::move(slice), ranged)).first->second.first;
}

// A sum over a range, and one more slice of it (L-12): sum_{k in [a,b)} m(k) + m(b); or several slices, which are a sum themselves: bodies
// that read one tensor at two places are written by rows, and where the rows of three ranks meet, two of them are a range before the third
// comes.
std::optional<Poly> Algebra::extend_red(const Term& common, const Factor& red, const std::vector<Factor>& rest, const Ext& ctx) {
  const int bound = nodes_[red.node].num_bound();
  if (written_out_ || bound > (flat_ ? 12 : 4) || rest.empty() || rest.size() > (flat_ ? 12 : 4)) return std::nullopt;
  if (!made_alike(nodes_[red.node].args[0][0].f, rest)) return std::nullopt;
  // Slices of one body are boxes of it, which have been tried (L-10).
  if (rest.size() == 1 && rest[0].exp.is_one() && nodes_[rest[0].node].kind == Kind::Red &&
      nodes_[rest[0].node].kernel == nodes_[red.node].kernel)
    return std::nullopt;
  const Poly other = make_term(Term{1, rest}, ctx);
  auto [body, ext] = open_red(red, ctx);
  const size_t m = ctx.size(), w = ext.size() + 1;
  // What both read once: a factor of the body, and one of the rest (or of a sum in it) with the number of variables of its map. It is read
  // at the same place: the rows over the context are the same, and where no sum moves them, the constants.
  struct Pair {
    const Factor* mine;
    Factor theirs;
    size_t width;
  };
  std::vector<Pair> pairs;
  const auto pair_up = [&](const std::vector<Factor>& all, size_t width) {
    for (const Factor& f : all) {
      const auto same = [&](const Factor& g) { return g.node == f.node; };
      if (nodes_[f.node].kind == Kind::Bracket || std::count_if(all.begin(), all.end(), same) > 1) continue;
      const auto mine = std::find_if(body.f.begin(), body.f.end(), same);
      if (mine == body.f.end() || std::count_if(body.f.begin(), body.f.end(), same) > 1) continue;
      if (std::none_of(pairs.begin(), pairs.end(), [&](const Pair& p) { return p.mine == &*mine; })) pairs.push_back({&*mine, f, width});
    }
  };
  pair_up(rest, m + 1);
  for (const Factor& f : rest) {
    if (!sum_of_product(f.node)) continue;
    const auto [inner, wide] = open_red(f, ctx);
    pair_up(inner.f, wide.size() + 1);
  }
  const auto elsewhere = [&](size_t var, int64_t at, int64_t width) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const Pair& p) {
      for (size_t d = 0; d < nodes_[p.mine->node].dims.size(); ++d) {
        const int64_t *x = &p.mine->map[d * w], *y = &p.theirs.map[d * p.width];
        if (!std::equal(x, x + m, y)) return true;
        bool moved = std::any_of(y + m, y + p.width - 1, [](int64_t q) { return q != 0; });
        for (size_t v = m; v + 1 < w; ++v) moved = moved || (x[v] != 0 && (v != var || width > 1));
        if (!moved && x[w - 1] + x[var] * at != y[p.width - 1]) return true;
      }
      return false;
    });
  };
  std::vector<int64_t> widths{1};
  if (const Node* more = rest.size() == 1 && rest[0].exp.is_one() ? &nodes_[rest[0].node] : nullptr;
      more && more->kind == Kind::Red && more->fn == ir::Fn::Add && more->num_bound() == bound) {
    for (int k = 0; k < bound; ++k) {
      const int64_t width = more->box[2 * k + 1] - more->box[2 * k];
      if (std::find(widths.begin(), widths.end(), width) == widths.end()) widths.push_back(width);
    }
  }
  for (int k = 0; k < bound; ++k) {
    const size_t var = m + static_cast<size_t>(k);
    const int64_t extent = ext[var];
    for (const int64_t width : widths) {
      for (const int64_t at : {extent, -width}) {
        // Out-of-range reads would be meaningless: only if every access stays in bounds.
        bool inside = true;
        for (const Factor& f : body.f) {
          const Node& fn = nodes_[f.node];
          for (size_t d = 0; inside && d < fn.dims.size(); ++d) {
            if (fn.dims[d] == kUnbounded || f.map[d * w + var] == 0) continue;
            int64_t lo = f.map[d * w + w - 1] + f.map[d * w + var] * at, hi = lo;
            for (size_t v = 0; v + 1 < w; ++v) {
              if (f.map[d * w + v] == 0) continue;
              const int64_t x = f.map[d * w + v] * (v == var ? width - 1 : ext[v] == kUnbounded ? 0 : ext[v] - 1);
              (x < 0 ? lo : hi) += x;
            }
            inside = lo >= 0 && hi < fn.dims[d];
          }
        }
        if (!inside && refused(Rule::L12)) continue;
        if (!flat_ && elsewhere(var, at, width)) continue;
        const Poly element = slice_of(red, body, ext, ctx, k, at, width);
        if (element.size() != other.size() || !equal(element, other, ctx)) continue;
        ranged = true;  // in bounds
        Ext longer = ext;
        longer[var] = extent + width;
        Term wide = body;
        if (at < 0) {
          for (Factor& g : wide.f) {
            for (size_t d = 0; d < g.map.size() / w; ++d) g.map[d * w + w - 1] -= g.map[d * w + var] * width;
          }
        }
        ++applications;
        fired(Rule::L12);
        return times_value(make_term(common, ctx), reduce_term(wide, longer, bound), ctx);
      }
    }
  }
  return std::nullopt;
}

// Two sums over equally large boxes whose bodies differ only in constants (L-13): a sum over one variable more. This is how the parts
// of ranks that each hold one value of an index meet.
std::optional<Poly> Algebra::roll_sums(const Term& common, const Factor& x, const Factor& y, const Ext& ctx) {
  const int bound = nodes_[x.node].num_bound();
  if (written_out_ || bound != nodes_[y.node].num_bound() || bound > 3) return std::nullopt;
  const std::vector<Factor>&mine = nodes_[x.node].args[0][0].f, &theirs = nodes_[y.node].args[0][0].f;
  if (!std::is_permutation(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                           [](const Factor& f, const Factor& g) { return f.node == g.node; }))
    return std::nullopt;
  const auto [bx, ex] = open_red(x, ctx);
  const auto [by, ey] = open_red(y, ctx);
  if (bx.f.size() != by.f.size()) return std::nullopt;
  for (size_t i = 0; i < bx.f.size(); ++i) {
    if (bx.f[i].node != by.f[i].node || !(bx.f[i].exp == by.f[i].exp)) return std::nullopt;
    if (i > 0 && bx.f[i].node == bx.f[i - 1].node) return std::nullopt;  // which is which would be a guess
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
      bool up = false, down = false;
      for (size_t d = 0; d < f.map.size() / nw; ++d) {
        const int64_t step = std::abs(f.map[d * nw + m + bound]);
        if (step == 0) continue;
        (f.map[d * nw + m + bound] > 0 ? up : down) = true;
        if (up && down) return std::nullopt;  // on in one dimension and back in another: parts of two rows
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
    fired(Rule::L13);
    Poly sum = settle(body, ext, bound + 1);
    if (sum.size() != 1) return std::nullopt;
    return times_value(make_term(common, ctx), sum, ctx);
  } while (std::next_permutation(perm.begin(), perm.end()));
  return std::nullopt;
}

// Two sums over equal ranges whose summands differ in one inner sum only (L-37): sum_k m R + sum_k m S = sum_k m (R + S), where R and S are
// pieces of one sum; or in one bracket only (L-56), where the brackets are neighbours: the rows of a bag of which each rank holds some.
std::optional<Poly> Algebra::join_bodies(const Term& common, const Factor& x, const Factor& y, const Ext& ctx) {
  const int bound = nodes_[x.node].num_bound();
  if (bound != nodes_[y.node].num_bound() || bound > 3) return std::nullopt;
  const auto [bx, ex] = open_red(x, ctx);
  const auto [by, ey] = open_red(y, ctx);
  if (bx.f.size() != by.f.size() || bx.f.size() < 2) return std::nullopt;
  const size_t m = ctx.size(), w = ex.size() + 1;
  auto is_sum = [&](const std::vector<Factor>& f) {
    return f.size() == 1 && f[0].exp.is_one() && nodes_[f[0].node].kind == Kind::Red && nodes_[f[0].node].fn == ir::Fn::Add;
  };
  auto is_bracket = [&](const std::vector<Factor>& f) {
    return f.size() == 1 && f[0].exp.is_one() && nodes_[f[0].node].kind == Kind::Bracket;
  };
  std::vector<int> perm(bound);
  for (int k = 0; k < bound; ++k) perm[k] = k;
  do {
    bool same = true;
    for (int k = 0; k < bound; ++k) same &= ex[m + k] == ey[m + perm[k]];
    if (!same) continue;
    Term turned = by;
    for (Factor& f : turned.f) {
      const std::vector<int64_t> map = f.map;
      for (size_t d = 0; d < map.size() / w; ++d) {
        for (int k = 0; k < bound; ++k) f.map[d * w + m + k] = map[d * w + m + perm[k]];
      }
    }
    Term other = bx;
    std::sort(other.f.begin(), other.f.end(), before);
    std::sort(turned.f.begin(), turned.f.end(), before);
    Term both{1, {}};
    std::vector<Factor> rx, ry;
    split_common(other, turned, both, rx, ry);
    const bool masks = is_bracket(rx) && is_bracket(ry) && other.coef == turned.coef;
    if (both.f.empty() || (!masks && (!is_sum(rx) || !is_sum(ry)))) continue;
    const std::optional<Poly> joined = masks ? add(Poly{other}, {turned}, ex) : try_join(other, turned, ex);
    if ((!joined || joined->size() != 1) && refused(masks ? Rule::L56 : Rule::L37)) continue;
    ++applications;
    fired(masks ? Rule::L56 : Rule::L37);
    return times_value(make_term(common, ctx), reduce(ir::Fn::Add, *joined, ex, bound), ctx);
  } while (std::next_permutation(perm.begin(), perm.end()));
  return std::nullopt;
}

// Two equal products read at two constant places (L-13): a sum over a range of two.
std::optional<Poly> Algebra::roll_pair(const Term& common, const std::vector<Factor>& x, const std::vector<Factor>& y, const Ext& ctx) {
  if (written_out_ || x.size() != y.size() || x.empty()) return std::nullopt;
  const size_t w = ctx.size() + 1;
  Term body{1, {}};
  bool differ = false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].node != y[i].node || !(x[i].exp == y[i].exp)) return std::nullopt;
    const Node& node = nodes_[x[i].node];
    if (node.kind == Kind::Bracket) {
      // Brackets of positions make ranges (L-19). What other integers are at two places, the labels of two rows, makes none.
      const size_t own = node.dims.size() + 1;
      for (size_t d = 0; d < node.dims.size(); ++d) {
        if (x[i].map[d * w + w - 1] == y[i].map[d * w + w - 1]) continue;
        for (const Term& t : node.args[0]) {
          for (const Factor& g : t.f) {
            if (g.node == iota() && depends_on(g, own, d) && refused(Rule::L13)) return std::nullopt;
          }
        }
      }
    }
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
    bool up = false, down = false;
    for (size_t d = 0; d < f.map.size() / (w + 1); ++d) {
      const int64_t step = f.map[d * (w + 1) + w - 1];
      adjacent |= std::abs(step) == 1;
      up |= step > 0;
      down |= step < 0;
    }
    if (up && down) return std::nullopt;
  }
  if (!adjacent) return std::nullopt;
  Ext ext = ctx;
  ext.push_back(2);
  ++applications;
  fired(Rule::L13);
  // What may be undefined stays under the brackets.
  Term outside{common.coef, {}};
  const bool brackets = std::any_of(x.begin(), x.end(), [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket; });
  if (brackets && !known(common, ctx).finite) {
    for (const Factor& f : common.f) body.f.push_back(widened(f, w, 1));
    std::sort(body.f.begin(), body.f.end(), before);
  } else {
    outside = common;
  }
  Poly sum = settle(body, ext, 1);
  if (sum.size() != 1) return std::nullopt;
  return times_value(make_term(outside, ctx), sum, ctx);
}

// L-11 where each body has brackets that the other lacks: the first rows of a padded window lack its upper border, the last ones its lower.
// Each gets the other's, which are 1 everywhere on its box; then they may be adjacent boxes of one body.
std::optional<Poly> Algebra::join_windows(const Term& common, const Factor& x, const Factor& y, const Ext& ctx) {
  auto [bx, ex] = open_red(x, ctx);
  auto [by, ey] = open_red(y, ctx);
  if (!bx.coef.is_one() || !by.coef.is_one()) return std::nullopt;
  const size_t m = ctx.size(), w = ex.size() + 1, bound = ex.size() - m;
  const auto node_of = [](const Factor& f) { return f.node; };
  std::vector<Nid> in_x, in_y;
  std::transform(bx.f.begin(), bx.f.end(), std::back_inserter(in_x), node_of);
  std::transform(by.f.begin(), by.f.end(), std::back_inserter(in_y), node_of);
  const auto has = [](const std::vector<Nid>& all, Nid n) { return std::count(all.begin(), all.end(), n); };
  // Which variable of y is which of x, and by how much it is shifted: from rows in which only one is not known yet.
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> match(bound, kNone);  // of x's
  std::vector<int64_t> shift(bound, 0);
  for (bool again = true; again;) {
    again = false;
    for (const Factor& f : bx.f) {
      if (has(in_y, f.node) != 1 || has(in_x, f.node) != 1) continue;
      const Factor& g = *std::find_if(by.f.begin(), by.f.end(), [&](const Factor& o) { return o.node == f.node; });
      for (size_t d = 0; d < f.map.size() / w; ++d) {
        const int64_t *p = &f.map[d * w], *q = &g.map[d * w];
        size_t mine = kNone, theirs = kNone;
        int unknown = 0, others = 0;
        int64_t delta = q[w - 1] - p[w - 1];
        for (size_t k = 0; k < bound; ++k) {
          if (p[m + k] != 0 && match[k] == kNone) ++unknown, mine = k;
          if (p[m + k] != 0 && match[k] != kNone) delta -= p[m + k] * shift[k];
          if (q[m + k] != 0 && std::find(match.begin(), match.end(), k) == match.end()) ++others, theirs = k;
        }
        if (unknown != 1 || others != 1 || p[m + mine] != q[m + theirs] || delta % p[m + mine] != 0) continue;
        match[mine] = theirs;
        shift[mine] = delta / p[m + mine];
        again = true;
      }
    }
  }
  if (std::find(match.begin(), match.end(), kNone) != match.end()) return std::nullopt;
  // y in the order of x, and in its coordinates: there its box starts at `shift`.
  Ext ext = ex;
  for (size_t k = 0; k < bound; ++k) ext[m + k] = ey[m + match[k]];
  const auto moved = [&](Factor f, int sign) {
    for (size_t d = 0; d < f.map.size() / w; ++d) {
      for (size_t k = 0; k < bound; ++k) f.map[d * w + w - 1] += sign * f.map[d * w + m + k] * shift[k];
    }
    return f;
  };
  for (Factor& f : by.f) {
    const std::vector<int64_t> map = f.map;
    for (size_t d = 0; d < map.size() / w; ++d) {
      for (size_t k = 0; k < bound; ++k) f.map[d * w + m + k] = map[d * w + m + match[k]];
    }
    f = moved(std::move(f), -1);
  }
  // Adjacent along one variable.
  size_t along = kNone;
  for (size_t k = 0; k < bound; ++k) {
    if (shift[k] == 0 && ex[m + k] == ext[m + k]) continue;
    if (along != kNone || (shift[k] != ex[m + k] && shift[k] != -ext[m + k])) return std::nullopt;
    along = k;
  }
  if (along == kNone) return std::nullopt;
  Term body{1, {}};
  const auto idle = [&](const Factor& f, const Ext& box) {
    const int64_t lo = nodes_[f.node].lo, hi = nodes_[f.node].hi;
    bool value = false;
    return decide(arg_at(nodes_[f.node], f, 0, box), lo, hi, box, value) && value;
  };
  std::vector<Factor> theirs = by.f;
  for (const Factor& f : bx.f) {
    const auto at = std::find(theirs.begin(), theirs.end(), f);
    if (at != theirs.end()) {
      theirs.erase(at);
    } else if (nodes_[f.node].kind != Kind::Bracket || !idle(moved(f, 1), ext)) {
      return std::nullopt;
    }
    body.f.push_back(f);
  }
  for (const Factor& f : theirs) {
    if (nodes_[f.node].kind != Kind::Bracket || !idle(f, ex)) return std::nullopt;
    body.f.push_back(f);
  }
  Ext both = ex;
  both[m + along] = add_checked(ex[m + along], ext[m + along]);
  if (shift[along] < 0) {
    for (Factor& f : body.f) f = moved(std::move(f), 1);
  }
  std::sort(body.f.begin(), body.f.end(), before);
  ++applications;
  const Poly sum = reduce(ir::Fn::Add, make_term(std::move(body), both), both, static_cast<int>(bound));
  return times_value(make_term(common, ctx), sum, ctx);
}

std::optional<Poly> Algebra::try_join(const Term& x, const Term& y, const Ext& ctx) {
  if (x.coef.is_zero() || y.coef.is_zero() || x.f.empty() || y.f.empty()) return std::nullopt;
  Term common{1, {}};
  std::vector<Factor> rx, ry;
  split_common(x, y, common, rx, ry, flat_);
  // A common factor leaves a sum only where it is no infinity: inf (2 - 1) is inf, 2 inf - inf is undefined (L-8).
  if (!common.f.empty() && !known(common, ctx).never_inf() && refused(Rule::L10)) return std::nullopt;
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
  auto is_name = [&](const std::vector<Factor>& r) { return r.size() == 1 && r[0].exp.is_one() && names(r[0]); };
  if (!common.f.empty() && (is_name(rx) || is_name(ry)) && !rx.empty() && !ry.empty()) {
    const Poly a = is_name(rx) ? expand_named(rx[0], ctx) : make_term(Term{1, rx}, ctx);
    const Poly b = is_name(ry) ? expand_named(ry[0], ctx) : make_term(Term{1, ry}, ctx);
    Poly both = add(scale(a, x.coef), scale(b, y.coef), ctx);
    if (both.size() <= std::max(a.size(), b.size()) ? fired(Rule::L30) : !refused(Rule::L30)) {
      ++applications;
      return times_value(make_term(std::move(common), ctx), both, ctx);
    }
  }
  auto is_total = [&](const std::vector<Factor>& r) {
    return r.size() == 1 && r[0].exp.is_one() && nodes_[r[0].node].kind == Kind::Red && nodes_[r[0].node].fn == ir::Fn::Add;
  };
  if (is_total(rx)) {
    if (auto p = join_named(common, x.coef, rx[0], y.coef, ry, ctx)) return p;
  }
  if (is_total(ry)) {
    if (auto p = join_named(common, y.coef, ry[0], x.coef, rx, ctx)) return p;
  }
  if (x.coef == -y.coef && rx.empty() != ry.empty()) {
    if (auto p = join_weights(common, rx.empty() ? ry : rx, ctx)) return scale(*p, rx.empty() ? x.coef : y.coef);
  }
  if (rx.size() == 1 && ry.size() == 1) {
    if (auto p = join_functions(Term{x.coef, rx}, Term{y.coef, ry}, ctx)) return times_value(make_term(std::move(common), ctx), *p, ctx);
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
      if (!fits || differ < 0) {
        // A box that grew over another whose summands are 0 here (L-27): the slice of a sum keeps them, read where no mask lets them
        // through.
        for (const bool first : {true, false}) {
          const auto [body, ext] = open_red(first ? rx[0] : ry[0], ctx);
          if (vanishes(body, ext) && fired(Rule::L27)) return times_value(make_term(common, ctx), {Term{1, {first ? ry[0] : rx[0]}}}, ctx);
        }
        refused(Rule::L10);
        return std::nullopt;
      }
      const Factor& low = swapped ? ry[0] : rx[0];
      const int64_t more = swapped ? a.box[2 * differ + 1] - a.box[2 * differ] : b.box[2 * differ + 1] - b.box[2 * differ];
      auto [body, ext] = open_red(low, ctx);
      ext[ctx.size() + differ] += more;
      ++applications;
      fired(Rule::L10);
      Poly sum = settle(body, ext, static_cast<int>(ext.size() - ctx.size()));
      return times_value(make_term(common, ctx), sum, ctx);
    }
    // What the two bodies are made of tells most pairs apart, without opening them.
    std::vector<Nid> in_a, in_b, only_a, only_b;
    for (const Factor& f : a.args[0][0].f) in_a.push_back(f.node);
    for (const Factor& f : b.args[0][0].f) in_b.push_back(f.node);
    std::sort(in_a.begin(), in_a.end());
    std::sort(in_b.begin(), in_b.end());
    std::set_difference(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(), std::back_inserter(only_a));
    std::set_difference(in_b.begin(), in_b.end(), in_a.begin(), in_a.end(), std::back_inserter(only_b));
    const auto brackets_more = [&](const std::vector<Nid>& more, const std::vector<Nid>& less) {
      return less.empty() && !more.empty() && std::all_of(more.begin(), more.end(), [&](Nid n) { return nodes_[n].kind == Kind::Bracket; });
    };
    const auto brackets_only = [&](const std::vector<Nid>& more) {
      return !more.empty() && std::all_of(more.begin(), more.end(), [&](Nid n) { return nodes_[n].kind == Kind::Bracket; });
    };
    if (a.num_bound() == b.num_bound() && brackets_only(only_a) && brackets_only(only_b)) {
      if (auto p = join_windows(common, rx[0], ry[0], ctx)) return p;
    }
    // L-11: one body has a bracket more, which is 1 everywhere on the other's box: put it in there, too.
    if (a.num_bound() == b.num_bound() && (brackets_more(only_a, only_b) || brackets_more(only_b, only_a))) {
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
          std::sort(bo.f.begin(), bo.f.end(), before);
        }
        next = order.size() <= 3 && bw.f.size() > bo.f.size() && std::next_permutation(order.begin(), order.end()) ? turn : turn + 1;
        if (next != turn) std::sort(order.begin(), order.end());
        if (bw.f.size() <= bo.f.size()) continue;
        // Same absolute coordinates of the bound variables: shift both to boxes that start at the same origin.
        const Node& nw = nodes_[with.node];
        std::vector<Factor> brackets;
        std::vector<Factor> plain;
        std::vector<Nid> theirs;
        for (const Factor& f : bo.f) theirs.push_back(f.node);
        for (const Factor& f : bw.f) {
          const auto in = std::find(theirs.begin(), theirs.end(), f.node);
          (nodes_[f.node].kind == Kind::Bracket && in == theirs.end() ? brackets : plain).push_back(f);
          if (in != theirs.end()) theirs.erase(in);
        }
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
              if (delta % q != 0)
                same = false;
              else if (!have[only])
                have[only] = true, shift[only] = delta / q;
              else
                same &= shift[only] == delta / q;
            }
          }
        }
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
        if (!all && refused(Rule::L11)) continue;
        // Intern `without` with its brackets as they are (no simplification, which would drop them again).
        std::sort(closed.f.begin(), closed.f.end(), before);
        Node n;
        n.kind = Kind::Red;
        n.fn = ir::Fn::Add;
        for (size_t k = m; k < eo.size(); ++k) {
          n.box.push_back(0);
          n.box.push_back(eo[k]);
        }
        n.args.push_back({std::move(closed)});
        Term whole{common.coef, common.f};
        whole.f.push_back(intern(std::move(n), ctx));  // not widened: both boxes must stay what they are
        Term other{common.coef, common.f};
        other.f.push_back(with);
        std::sort(whole.f.begin(), whole.f.end(), before);
        std::sort(other.f.begin(), other.f.end(), before);
        if (whole.f == (turn ? x.f : y.f)) return std::nullopt;
        if (auto joined = try_join(whole, other, ctx); joined && fired(Rule::L11)) return joined;
      }
    }
    if (only_a.size() <= 1 && only_b.size() <= 1) {
      if (auto p = join_bodies(common, rx[0], ry[0], ctx)) return p;
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

void Algebra::join(Poly& p, const Ext& ctx, const std::vector<char>* from) {
  if (p.size() > 256) return;
  if (join_brackets(p, ctx)) {
    if (p.size() < 2) return;
    from = nullptr;
  }
  if (join_halves(p, ctx)) from = nullptr;
  for (size_t i = 0; i < p.size(); ++i) {
    for (size_t j = i + 1; j < p.size(); ++j) {
      if (from && (*from)[i] == (*from)[j] && (*from)[i] != 2) continue;
      const std::optional<Poly> joined = try_join(p[i], p[j], ctx);
      if (!joined) continue;
      Poly rest;
      for (size_t k = 0; k < p.size(); ++k) {
        if (k != i && k != j) rest.push_back(std::move(p[k]));
      }
      p = add(std::move(rest), *joined, ctx, false);  // joins further
      return;
    }
  }
}

}  // namespace shardproof::prove
