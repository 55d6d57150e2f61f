// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Cells of several values cut to common boxes, and neighbours merged.
#include "prove/digits.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

namespace {

constexpr size_t kPieces = 4;  // of a tensor that is read as a sum of them

}  // namespace

// --- meeting and merging cells ---------------------------------------------------------------------------------------------------

void Views::meet(const Refined& x, const Cell& y, std::vector<Refined>& out) {
  if (x.ext == y.ext && x.pos == y.pos) {
    out.push_back(x);
    out.back().poly.push_back(y.poly);
    return;
  }
  const Cell frame{x.ext, x.pos, {}};
  const size_t rank = y.pos.size() / (y.ext.size() + 1);
  std::vector<Digits> xd, yd;
  std::vector<std::vector<Aligned>> options;  // per dimension: the ways in which the two meet there
  for (size_t d = 0; d < rank; ++d) {
    xd.push_back(digits(frame, d));
    yd.push_back(digits(y, d));
    std::vector<Aligned> one;
    align(xd.back().lin, yd.back().lin, one);
    if (one.empty()) return;
    options.push_back(std::move(one));
  }
  std::vector<size_t> pick(rank, 0);
  while (true) {
    Refined n;
    std::vector<size_t> offset;
    std::vector<const std::vector<Row>*> xr, yr;
    for (size_t d = 0; d < rank; ++d) {
      const Aligned& a = options[d][pick[d]];
      offset.push_back(n.ext.size());
      n.ext.insert(n.ext.end(), a.e.begin(), a.e.end());
      xr.push_back(&a.x);
      yr.push_back(&a.y);
    }
    const size_t w = n.ext.size() + 1;
    n.pos.assign(rank * w, 0);
    for (size_t d = 0; d < rank; ++d) {
      const Aligned& a = options[d][pick[d]];
      for (size_t k = 0; k < a.k.size(); ++k) n.pos[d * w + offset[d] + k] = a.k[k];
      n.pos[d * w + w - 1] = a.c;
    }
    const Sub to = place(xd, xr, offset, x.ext.size(), static_cast<int>(w));
    for (const Poly& p : x.poly) n.poly.push_back(a_.subst(p, to, n.ext));
    n.poly.push_back(a_.subst(y.poly, place(yd, yr, offset, y.ext.size(), static_cast<int>(w)), n.ext));
    out.push_back(std::move(n));
    if (out.size() > 4096) throw Overflow("too many pieces");
    size_t d = 0;
    while (d < rank && ++pick[d] == options[d].size()) pick[d++] = 0;
    if (d == rank) break;
  }
}

int64_t volume(const std::vector<Cell>& cells) {
  int64_t sum = 0;
  for (const Cell& c : cells) sum += std::accumulate(c.ext.begin(), c.ext.end(), int64_t{1}, std::multiplies<>());
  return sum;
}

std::vector<Refined> Views::refine(const std::vector<const Value*>& xs) {
  std::vector<Refined> cur;
  for (const Cell& c : xs[0]->cells) cur.push_back({c.ext, c.pos, {c.poly}});
  for (size_t i = 1; i < xs.size(); ++i) {
    std::vector<Refined> next;
    for (const Refined& r : cur) {
      for (const Cell& c : xs[i]->cells) meet(r, c, next);
    }
    cur = std::move(next);
  }
  // Values that cover their shape meet everywhere.
  const int64_t total = ir::num_elements(xs[0]->shape);
  if (std::all_of(xs.begin(), xs.end(), [&](const Value* x) { return volume(x->cells) == total; })) {
    int64_t met = 0;
    for (const Refined& r : cur) met += std::accumulate(r.ext.begin(), r.ext.end(), int64_t{1}, std::multiplies<>());
    if (met != total) throw Overflow("pieces that do not line up");
  }
  return cur;
}

// y continues x in dimension dim: x grows.
bool Views::merge(Cell& x, const Cell& y, size_t dim) {
  const size_t xw = x.ext.size() + 1, yw = y.ext.size() + 1, rank = x.pos.size() / xw;
  if (x.poly.size() != y.poly.size()) return false;
  // Variables of x and y correspond by position rows; at most one differs: the growing one (may be missing on one side or both).
  Digits xd = digits(x, dim), yd = digits(y, dim);
  // The growing digit: the largest of the dimension.
  auto largest = [](const Digits& d) {
    size_t best = d.var.size();
    for (size_t j = 0; j < d.var.size(); ++j) {
      if (best == d.var.size() || d.lin.k[j] > d.lin.k[best]) best = j;
    }
    return best;
  };
  size_t gx = xd.var.size(), gy = yd.var.size();
  int64_t k = 0;
  const int64_t gap = yd.lin.c - xd.lin.c;
  if (gap <= 0) return false;
  const size_t lx = largest(xd), ly = largest(yd);
  // Candidates: x has n digits, y has n digits (both grow in the largest), or one lacks it.
  if (xd.var.size() == yd.var.size()) {
    if (lx != xd.var.size() && xd.lin.k[lx] * x.ext[xd.var[lx]] == gap && xd.lin.k[lx] == yd.lin.k[ly]) {
      gx = lx;
      gy = ly;
      k = xd.lin.k[lx];
    } else {
      k = gap;  // a new digit
    }
  } else if (xd.var.size() == yd.var.size() + 1 && lx != xd.var.size() && xd.lin.k[lx] * x.ext[xd.var[lx]] == gap) {
    gx = lx;
    k = xd.lin.k[lx];
  } else if (yd.var.size() == xd.var.size() + 1 && ly != yd.var.size() && yd.lin.k[ly] == gap) {
    gy = ly;
    k = gap;
  } else {
    return false;
  }
  // The other variables must agree one by one: same extent, same position column.
  std::vector<size_t> xo, yo;
  for (size_t v = 0; v + 1 < xw; ++v) {
    if (gx == xd.var.size() || v != xd.var[gx]) xo.push_back(v);
  }
  for (size_t v = 0; v + 1 < yw; ++v) {
    if (gy == yd.var.size() || v != yd.var[gy]) yo.push_back(v);
  }
  if (xo.size() != yo.size()) return false;
  std::vector<size_t> match(xo.size());
  for (size_t i = 0; i < xo.size(); ++i) {
    size_t found = yo.size();
    for (size_t j = 0; j < yo.size(); ++j) {
      bool same = x.ext[xo[i]] == y.ext[yo[j]];
      for (size_t r = 0; same && r < rank; ++r) same = x.pos[r * xw + xo[i]] == y.pos[r * yw + yo[j]];
      if (same) found = j;
    }
    if (found == yo.size()) return false;
    match[i] = yo[found];
  }
  for (size_t r = 0; r < rank; ++r) {
    if (r != dim && x.pos[r * xw + xw - 1] != y.pos[r * yw + yw - 1]) return false;
  }
  if (gx == xd.var.size()) {
    // A new digit of size k: it must lie above (or exactly beside) the rest of x.
    int64_t span = 0;
    for (size_t j = 0; j < xd.var.size(); ++j) span += xd.lin.k[j] * (xd.lin.e[j] - 1);
    if (span >= k) return false;
  }
  const int64_t ex = gx == xd.var.size() ? 1 : x.ext[xd.var[gx]], ey = gy == yd.var.size() ? 1 : y.ext[yd.var[gy]];
  // Polys: same monomials; the growing variable's coefficients follow from either side or from the difference of the constants.
  Poly merged;
  std::vector<char> taken(y.poly.size(), 0);  // each term of y continues one of x
  for (size_t t = 0; t < x.poly.size(); ++t) {
    const Term& p = x.poly[t];
    const Term* q = nullptr;
    Term fresh;
    for (const Term& cand : y.poly) {
      if (taken[static_cast<size_t>(&cand - y.poly.data())] || cand.f.size() != p.f.size() || !(cand.coef == p.coef)) continue;
      bool same = true;
      std::vector<Factor> fs;
      for (size_t i = 0; same && i < p.f.size(); ++i) {
        const Factor &a = p.f[i], &b = cand.f[i];
        same = a.node == b.node && a.exp == b.exp;
        if (!same) break;
        Factor f{a.node, a.exp, {}};
        const size_t rows = a_.node(a.node).dims.size();
        for (size_t r = 0; same && r < rows; ++r) {
          for (size_t v = 0; same && v < xo.size(); ++v) same = a.map[r * xw + xo[v]] == b.map[r * yw + match[v]];
          const int64_t dc = b.map[r * yw + yw - 1] - a.map[r * xw + xw - 1];
          int64_t g = 0;
          if (gx != xd.var.size()) {
            g = a.map[r * xw + xd.var[gx]];
            if (g * ex != dc) same = false;
            if (gy != yd.var.size() && b.map[r * yw + yd.var[gy]] != g) same = false;
          } else if (gy != yd.var.size()) {
            g = b.map[r * yw + yd.var[gy]];
            if (g != dc) same = false;
          } else {
            g = dc;
          }
          for (size_t v = 0; v < xo.size(); ++v) f.map.push_back(a.map[r * xw + xo[v]]);
          f.map.push_back(g);
          f.map.push_back(a.map[r * xw + xw - 1]);
        }
        fs.push_back(std::move(f));
      }
      if (same) {
        q = &cand;
        taken[static_cast<size_t>(&cand - y.poly.data())] = 1;
        fresh = Term{p.coef, std::move(fs)};
        break;
      }
    }
    if (!q) return false;
    merged.push_back(std::move(fresh));
  }
  Cell out;
  for (size_t v : xo) out.ext.push_back(x.ext[v]);
  out.ext.push_back(ex + ey);
  const size_t w = out.ext.size() + 1;
  out.pos.assign(rank * w, 0);
  for (size_t r = 0; r < rank; ++r) {
    for (size_t v = 0; v < xo.size(); ++v) out.pos[r * w + v] = x.pos[r * xw + xo[v]];
    if (r == dim) out.pos[r * w + w - 2] = k;
    out.pos[r * w + w - 1] = x.pos[r * xw + xw - 1];
  }
  for (Term& t : merged) std::sort(t.f.begin(), t.f.end(), before);
  std::sort(merged.begin(), merged.end(), [](const Term& a, const Term& b) { return compare(a, b) < 0; });
  out.poly = std::move(merged);
  tidy(out);
  x = std::move(out);
  return true;
}

void Views::join(Value& v) {
  if (v.cells.size() < 2 || v.cells.size() > 512) return;
  // A variable of one value, left over from a larger piece, would hide that the cell's form goes on in the next one.
  for (Cell& c : v.cells) {
    if (std::find(c.ext.begin(), c.ext.end(), 1) != c.ext.end()) tidy(c);
  }
  bool again = true;
  while (again && v.cells.size() > 1) {
    again = false;
    for (size_t dim = 0; dim < v.shape.size() && v.cells.size() > 1; ++dim) {
      std::stable_sort(v.cells.begin(), v.cells.end(), [&](const Cell& a, const Cell& b) {
        const size_t aw = a.ext.size() + 1, bw = b.ext.size() + 1;
        for (size_t d = 0; d < v.shape.size(); ++d) {
          if (d == dim) continue;
          const int64_t x = a.pos[d * aw + aw - 1], y = b.pos[d * bw + bw - 1];
          if (x != y) return x < y;
        }
        return a.pos[dim * aw + aw - 1] < b.pos[dim * bw + bw - 1];
      });
      std::vector<Cell> out;
      for (Cell& c : v.cells) {
        if (!out.empty() && merge(out.back(), c, dim)) {
          again = true;
        } else {
          out.push_back(std::move(c));
        }
      }
      v.cells = std::move(out);
    }
  }
}

bool Views::equal(const Value& x, const Value& y, std::string* difference) {
  if (x.shape != y.shape) return false;
  for (const Refined& r : refine({&x, &y})) {
    if (a_.equal_opened(r.poly[0], r.poly[1], r.ext, true)) continue;
    if (a_.thorough && a_.equal_flat(r.poly[0], r.poly[1], r.ext, true)) continue;
    if (difference) *difference = a_.str(r.poly[0]) + "   instead of   " + a_.str(r.poly[1]);
    return false;
  }
  return true;
}

// All that p reads, wherever in ctx it is read.
bool Views::in_bounds(const Poly& p, const Ext& ctx) const {
  const size_t w = ctx.size() + 1;
  for (const Term& t : p) {
    for (const Factor& f : t.f) {
      const Ext& dims = a_.node(f.node).dims;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == kUnbounded) continue;
        int64_t lo = f.map[d * w + w - 1], hi = lo;
        for (size_t v = 0; v + 1 < w; ++v) {
          if (f.map[d * w + v] == 0) continue;
          if (ctx[v] == kUnbounded) return false;
          const int64_t span = mul_checked(f.map[d * w + v], ctx[v] - 1);
          (span < 0 ? lo : hi) = add_checked(span < 0 ? lo : hi, span);
        }
        if (lo < 0 || hi >= dims[d]) return false;
      }
    }
  }
  return true;
}

// A few pieces along one dimension: each where its bracket holds. So the form of a rank's part is the form of the whole at that part, which
// a name that lists the cells would hide.
std::optional<Poly> Views::by_pieces(const Value& x, const std::vector<Row>& rows, const Ext& ctx) {
  if (x.cells.empty() || (x.cells.size() > kPieces && refused(Rule::L71))) return std::nullopt;
  size_t cut = x.shape.size();
  for (const Cell& c : x.cells) {
    const size_t w = c.ext.size() + 1;
    std::vector<char> used(c.ext.size(), 0);
    for (size_t d = 0; d < x.shape.size(); ++d) {
      int64_t extent = 1;
      for (size_t v = 0; v + 1 < w; ++v) {
        if (c.pos[d * w + v] == 0) continue;
        if (c.pos[d * w + v] != 1 || extent != 1 || used[v] != 0) return std::nullopt;
        extent = c.ext[v];
        used[v] = 1;
      }
      if (extent == x.shape[d] && c.pos[d * w + w - 1] == 0) continue;
      if (cut != x.shape.size() && cut != d && refused(Rule::L71)) return std::nullopt;
      cut = d;
    }
  }
  if (cut == x.shape.size()) return std::nullopt;
  Poly out;
  for (const Cell& c : x.cells) {
    const size_t w = c.ext.size() + 1;
    Sub s;
    s.width = static_cast<int>(ctx.size()) + 1;
    s.rows.assign(c.ext.size(), Row(s.width, 0));
    int64_t extent = 1;
    size_t moving = c.ext.size();
    for (size_t d = 0; d < x.shape.size(); ++d) {
      for (size_t v = 0; v + 1 < w; ++v) {
        if (c.pos[d * w + v] == 0) continue;
        s.rows[v] = rows[d];
        s.rows[v].back() -= c.pos[d * w + w - 1];
        if (d == cut) extent = c.ext[v], moving = v;
      }
    }
    const int64_t from = c.pos[cut * w + w - 1];
    const Poly value = a_.subst(c.poly, s, ctx);
    if (in_bounds(value, ctx)) {
      out = a_.add(std::move(out), a_.where(a_.bracket(a_.index(rows[cut], ctx), from, from + extent, ctx), value, ctx), ctx);
      continue;
    }
    // Read beyond its piece, it would be read beyond a dimension: there it is read at the nearest place inside (L-40).
    if (moving == c.ext.size() && refused(Rule::L71)) return std::nullopt;
    Ext whole = c.ext;
    whole[moving] = x.shape[cut];
    const std::optional<Poly> padded = a_.padded(c.poly, whole, moving, from, extent);
    if (!padded && refused(Rule::L71)) return std::nullopt;
    s.rows[moving] = rows[cut];
    out = a_.add(std::move(out), a_.subst(*padded, s, ctx), ctx);
  }
  return out;
}

Poly Views::at(const Value& x, const std::vector<Row>& rows, const Ext& ctx) {
  const Cell* only = x.cells.size() == 1 ? &x.cells[0] : nullptr;
  if (only) {
    const size_t w = only->ext.size() + 1;
    // Every dimension plain: variable = row - offset.
    Sub s;
    s.width = static_cast<int>(ctx.size()) + 1;
    s.rows.assign(only->ext.size(), Row(s.width, 0));
    bool ok = true;
    for (size_t d = 0; d < x.shape.size() && ok; ++d) {
      int vars = 0;
      for (size_t v = 0; v + 1 < w; ++v) {
        if (only->pos[d * w + v] == 0) continue;
        ++vars;
        ok &= only->pos[d * w + v] == 1;
        s.rows[v] = rows[d];
        s.rows[v].back() -= only->pos[d * w + w - 1];
      }
      ok &= vars <= 1;
    }
    if (ok) return a_.subst(only->poly, s, ctx);
  }
  // Dimensions along which all cells run whole and stay the same do not belong to the name: a table of positions for a batch is one for a
  // row.
  for (size_t d = 0; d < x.shape.size(); ++d) {
    std::vector<size_t> var;
    for (const Cell& c : x.cells) {
      const size_t w = c.ext.size() + 1;
      size_t v = w, used = 0;
      for (size_t j = 0; j + 1 < w; ++j) {
        if (c.pos[d * w + j] != 0) ++used, v = j;
      }
      if (used != 1 || c.pos[d * w + v] != 1 || c.ext[v] != x.shape[d]) break;
      bool elsewhere = false;
      for (size_t r = 0; r < x.shape.size(); ++r) elsewhere |= r != d && c.pos[r * w + v] != 0;
      for (const Term& t : c.poly) {
        for (const Factor& f : t.f) elsewhere |= depends_on(f, w, v);
      }
      if (elsewhere) break;
      var.push_back(v);
    }
    if (x.cells.empty() || var.size() != x.cells.size()) continue;
    Value less;
    for (size_t r = 0; r < x.shape.size(); ++r) {
      if (r != d) less.shape.push_back(x.shape[r]);
    }
    for (size_t i = 0; i < x.cells.size(); ++i) {
      const Cell& c = x.cells[i];
      const size_t w = c.ext.size() + 1;
      auto without = [&](const std::vector<int64_t>& map, size_t row) {
        std::vector<int64_t> out;
        for (size_t at = 0; at < map.size(); ++at) {
          if (at % w != var[i] && at / w != row) out.push_back(map[at]);
        }
        return out;
      };
      Cell n{c.ext, without(c.pos, d), c.poly};
      n.ext.erase(n.ext.begin() + static_cast<std::ptrdiff_t>(var[i]));
      for (Term& t : n.poly) {
        for (Factor& f : t.f) f.map = without(f.map, SIZE_MAX);
        std::sort(t.f.begin(), t.f.end(), before);
      }
      std::sort(n.poly.begin(), n.poly.end(), [](const Term& a, const Term& b) { return compare(a, b) < 0; });
      less.cells.push_back(std::move(n));
    }
    std::vector<Row> fewer = rows;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(d));
    fired(Rule::L55);
    return at(less, fewer, ctx);
  }
  if (std::optional<Poly> p = by_pieces(x, rows, ctx); p && fired(Rule::L71)) return *p;
  // In pieces (or with digits): name the tensor as a whole, by its cells.
  Node n;
  n.kind = Kind::Grid;
  std::string key = "grid";
  for (int64_t e : x.shape) key += ":" + std::to_string(e);
  Value sorted = x;
  std::stable_sort(sorted.cells.begin(), sorted.cells.end(), [&](const Cell& a, const Cell& b) {
    const size_t aw = a.ext.size() + 1, bw = b.ext.size() + 1;
    for (size_t d = 0; d < x.shape.size(); ++d) {
      const int64_t p = a.pos[d * aw + aw - 1], q = b.pos[d * bw + bw - 1];
      if (p != q) return p < q;
    }
    return false;
  });
  bool finite = true, no_inf = true, integer = true, nonneg = true, boolean = true;
  int64_t lo = kPosInf, hi = kNegInf;
  for (const Cell& c : sorted.cells) {
    key += "|";
    for (int64_t v : c.ext) key += std::to_string(v) + ",";
    for (int64_t v : c.pos) key += std::to_string(v) + ",";
    for (const Term& t : c.poly) {
      key += "+" + t.coef.str();
      for (const Factor& f : t.f) {
        key += "*" + std::to_string(f.node) + "^" + f.exp.str();
        for (int64_t v : f.map) key += "," + std::to_string(v);
      }
    }
    const Known k = a_.known(c.poly, c.ext);
    finite &= k.finite;
    no_inf &= k.never_inf();
    integer &= k.integer;
    nonneg &= k.nonneg;
    boolean &= k.boolean;
    lo = std::min(lo, k.lo);
    hi = std::max(hi, k.hi);
  }
  n.name = key;
  n.dims = x.shape;
  n.known.finite = n.known.no_pos_inf = finite;
  n.known.no_inf = no_inf;
  n.known.integer = integer;
  n.known.nonneg = nonneg;
  n.known.boolean = boolean;
  if (integer) n.known.lo = lo, n.known.hi = hi;
  n.cells = std::make_shared<const std::vector<Cell>>(std::move(sorted.cells));
  const Nid id = a_.named_node(key, std::move(n));
  std::vector<int64_t> map;
  for (const Row& r : rows) map.insert(map.end(), r.begin(), r.end());
  return a_.access(id, std::move(map), ctx);
}

}  // namespace shardproof::prove
