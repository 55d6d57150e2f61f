// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Cells and views: see value.h.
#include "prove/value.h"

#include <algorithm>
#include <numeric>

#include "util/result.h"

namespace shardproof::prove {

namespace {

// A linear form of variables with positive coefficients, c + sum k_j v_j, and how the variables that one began with read the current
// ones. clip and split replace variables; `old` keeps track.
struct Lin {
  std::vector<int64_t> k, e;
  int64_t c = 0;
  std::vector<Row> old;   // per original variable: affine over the current ones

  static Lin start(std::vector<int64_t> k, std::vector<int64_t> e, int64_t c) {
    Lin l{std::move(k), std::move(e), c, {}};
    for (size_t j = 0; j < l.k.size(); ++j) {
      Row r(l.k.size() + 1, 0);
      r[j] = 1;
      l.old.push_back(std::move(r));
    }
    return l;
  }
  int64_t top() const {
    int64_t t = c;
    for (size_t j = 0; j < k.size(); ++j) t = add_checked(t, mul_checked(k[j], e[j] - 1));
    return t;
  }
  // v_j := v_j + shift, new extent
  void cut(size_t j, int64_t shift, int64_t extent) {
    c = add_checked(c, mul_checked(k[j], shift));
    e[j] = extent;
    for (Row& r : old) r.back() = add_checked(r.back(), mul_checked(r[j], shift));
  }
  // v_j := m * q + r, q a new variable (appended)
  void divide(size_t j, int64_t m) {
    k.push_back(mul_checked(k[j], m));
    e.push_back(e[j] / m);
    e[j] = m;
    for (Row& r : old) {
      const int64_t constant = r.back();
      r.back() = mul_checked(r[j], m);
      r.push_back(constant);
    }
  }
};

void clip(Lin l, int64_t lo, int64_t hi, std::vector<Lin>& out) {
  if (l.c >= lo && l.top() < hi) {
    out.push_back(std::move(l));
    return;
  }
  if (l.c >= hi || l.top() < lo) return;
  // The largest digit decides, except at its two ends.
  size_t j = l.k.size();
  for (size_t i = 0; i < l.k.size(); ++i) {
    if (l.e[i] > 1 && (j == l.k.size() || l.k[i] > l.k[j])) j = i;
  }
  if (j == l.k.size()) return;
  int64_t rest = 0;
  for (size_t i = 0; i < l.k.size(); ++i) {
    if (i != j) rest = add_checked(rest, mul_checked(l.k[i], l.e[i] - 1));
  }
  // inside for v with c + k v >= lo and c + k v + rest < hi
  const int64_t from = std::max<int64_t>(0, ceil_div(lo - l.c, l.k[j])), to = std::min(l.e[j], floor_div(hi - 1 - rest - l.c, l.k[j]) + 1);
  auto piece = [&](int64_t a, int64_t b) {
    if (a >= b) return;
    Lin p = l;
    p.cut(j, a, b - a);
    clip(std::move(p), lo, hi, out);
  };
  if (from < to) {
    for (int64_t v = std::max<int64_t>(0, from - 1 - rest / l.k[j]); v < from; ++v) piece(v, v + 1);
    piece(from, to);
    for (int64_t v = to; v < std::min(l.e[j], to + 1 + rest / l.k[j]); ++v) piece(v, v + 1);
  } else {
    const int64_t first = std::max<int64_t>(0, floor_div(lo - rest - l.c, l.k[j])), last = std::min(l.e[j] - 1, floor_div(hi - 1 - l.c, l.k[j]));
    if (last - first > 4096) throw Overflow("irregular cut");
    for (int64_t v = first; v <= last; ++v) piece(v, v + 1);
  }
}

// Cuts so that no variable straddles the boundary T: every coefficient is a multiple of T, or the part below never carries over T.
void split(Lin l, int64_t T, std::vector<Lin>& out) {
  int64_t low = ((l.c % T) + T) % T;
  const int64_t c_low = low;
  size_t s = l.k.size();
  for (size_t j = 0; j < l.k.size(); ++j) {
    if (l.e[j] == 1) continue;
    if (l.k[j] >= T) {
      if (l.k[j] % T == 0) continue;
      // Period after which the coefficient is a multiple of T: v = period * q + r, one piece for every r.
      const int64_t period = T / std::gcd(l.k[j], T), e = l.e[j];
      if (period > 64) throw Overflow("reshape of an irregular tensor");
      for (int64_t r = 0; r < std::min(period, e); ++r) {
        Lin p = l;
        const int64_t count = (e - r + period - 1) / period;
        p.c = add_checked(p.c, mul_checked(p.k[j], r));
        for (Row& o : p.old) {
          o.back() += o[j] * r;
          o[j] *= period;
        }
        p.k[j] = mul_checked(p.k[j], period);
        p.e[j] = count;
        split(std::move(p), T, out);
      }
      return;
    }
    low = add_checked(low, mul_checked(l.k[j], l.e[j] - 1));
    if (s == l.k.size() || l.k[j] > l.k[s]) s = j;
  }
  if (low < T) {
    out.push_back(std::move(l));
    return;
  }
  if (T % l.k[s] != 0) throw Overflow("reshape of an irregular tensor");
  int64_t rest = 0;
  for (size_t j = 0; j < l.k.size(); ++j) {
    if (j != s && l.k[j] < T) rest = add_checked(rest, mul_checked(l.k[j], l.e[j] - 1));
  }
  const int64_t m = T / l.k[s], at = c_low / l.k[s], under = c_low % l.k[s];
  if (rest + under >= l.k[s]) {
    // The lower digits carry into this one: cut there first.
    std::vector<Lin> finer;
    split(std::move(l), l.k[s], finer);
    for (Lin& p : finer) split(std::move(p), T, out);
    return;
  }
  const int64_t e = l.e[s];
  auto piece = [&](int64_t a, int64_t b, bool divide) {
    if (a >= b) return;
    Lin p = l;
    p.cut(s, a, b - a);
    if (divide && b - a > m) p.divide(s, m);
    out.push_back(std::move(p));
  };
  const int64_t head = at == 0 ? 0 : std::min(e, m - at);
  const int64_t middle = (e - head) / m * m;
  piece(0, head, false);
  piece(head, head + middle, true);
  piece(head + middle, e, false);
}

// The digits of one dimension of a cell.
struct Digits {
  std::vector<size_t> var;
  Lin lin;
};

Digits digits(const Cell& c, size_t dim) {
  Digits d;
  const size_t w = c.ext.size() + 1;
  std::vector<int64_t> k, e;
  for (size_t v = 0; v + 1 < w; ++v) {
    if (c.pos[dim * w + v] == 0) continue;
    d.var.push_back(v);
    k.push_back(c.pos[dim * w + v]);
    e.push_back(c.ext[v]);
  }
  d.lin = Lin::start(std::move(k), std::move(e), c.pos[dim * w + w - 1]);
  return d;
}

// One dimension of two cells aligned: common digits, and both sides' variables over them.
struct Aligned {
  std::vector<int64_t> k, e;
  int64_t c = 0;
  std::vector<Row> x, y;
};

bool plain(const Lin& l) { return l.k.empty() || (l.k.size() == 1 && l.k[0] == 1); }

void align(const Lin& x, const Lin& y, std::vector<Aligned>& out) {
  if (plain(x)) {
    const int64_t lo = x.c, hi = x.c + (x.k.empty() ? 1 : x.e[0]);
    std::vector<Lin> pieces;
    clip(y, lo, hi, pieces);
    for (Lin& p : pieces) {
      Aligned a{p.k, p.e, p.c, {}, p.old};
      if (!x.k.empty()) {
        Row r(p.k.begin(), p.k.end());
        r.push_back(p.c - x.c);
        a.x.push_back(std::move(r));
      }
      out.push_back(std::move(a));
    }
    return;
  }
  if (plain(y)) {
    std::vector<Aligned> turned;
    align(y, x, turned);
    for (Aligned& a : turned) {
      std::swap(a.x, a.y);
      out.push_back(std::move(a));
    }
    return;
  }
  // Both have digits: cut each at the other's coefficients, then meet digit by digit.
  auto cut_at = [](const Lin& l, const std::vector<int64_t>& at) {
    std::vector<Lin> pieces{l};
    std::vector<int64_t> sorted = at;
    std::sort(sorted.begin(), sorted.end());
    for (int64_t t : sorted) {
      if (t <= 1) continue;
      std::vector<Lin> next;
      for (Lin& p : pieces) split(std::move(p), t, next);
      pieces = std::move(next);
    }
    return pieces;
  };
  // A strided variable alone (k > 1, nothing below it) occupies one residue class.
  std::vector<int64_t> bounds = x.k;
  bounds.insert(bounds.end(), y.k.begin(), y.k.end());
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  for (const Lin& p : cut_at(x, bounds)) {
    for (const Lin& q : cut_at(y, bounds)) {
      // Digit i covers [bounds[i], bounds[i+1]).
      Aligned a;
      a.x.assign(p.old.size(), {});
      std::vector<int> pv(bounds.size() + 1, -1), qv(bounds.size() + 1, -1);
      bool ok = true;
      auto place = [&](const Lin& l, std::vector<int>& where) {
        for (size_t j = 0; j < l.k.size(); ++j) {
          const auto it = std::lower_bound(bounds.begin(), bounds.end(), l.k[j]);
          const size_t i = static_cast<size_t>(it - bounds.begin());
          if (it == bounds.end() || *it != l.k[j]) {
            if (l.e[j] == 1) continue;
            ok = false;
            return;
          }
          if (where[i] >= 0 && l.e[j] > 1) {
            if (l.e[static_cast<size_t>(where[i])] > 1) ok = false;
            else where[i] = static_cast<int>(j);
          } else if (where[i] < 0) {
            where[i] = static_cast<int>(j);
          }
        }
      };
      place(p, pv);
      place(q, qv);
      if (!ok) throw Overflow("irregular digits");
      // Residues below the smallest coefficient must agree.
      std::vector<int64_t> px, qx;   // shift of each side's variable
      std::vector<std::pair<int64_t, int64_t>> ranges;
      bool disjoint = false;
      int64_t pc = p.c, qc = q.c, common_c = 0;
      for (size_t i = bounds.size(); i-- > 0;) {
        const int64_t b = bounds[i];
        const int64_t pd = floor_div(pc, b), qd = floor_div(qc, b);
        pc -= pd * b;
        qc -= qd * b;
        const int64_t pe = pv[i] < 0 ? 1 : p.e[static_cast<size_t>(pv[i])], qe = qv[i] < 0 ? 1 : q.e[static_cast<size_t>(qv[i])];
        const int64_t lo = std::max(pd, qd), hi = std::min(pd + pe, qd + qe);
        if (lo >= hi) {
          disjoint = true;
          break;
        }
        a.k.push_back(b);
        a.e.push_back(hi - lo);
        common_c += lo * b;
        px.push_back(lo - pd);
        qx.push_back(lo - qd);
      }
      if (disjoint || pc != qc) continue;
      a.c = common_c + pc;
      // Express current variables of p and q over the new digits (digit number bounds.size()-1-i).
      auto express = [&](const Lin& l, const std::vector<int>& where, const std::vector<int64_t>& shift) {
        std::vector<Row> rows;
        for (const Row& o : l.old) {
          Row r(a.k.size() + 1, 0);
          r.back() = o.back();
          for (size_t j = 0; j < l.k.size(); ++j) {
            if (o[j] == 0) continue;
            for (size_t i = 0; i < bounds.size(); ++i) {
              if (where[i] != static_cast<int>(j)) continue;
              const size_t digit = bounds.size() - 1 - i;
              r[digit] += o[j];
              r.back() += o[j] * shift[digit];
            }
          }
          rows.push_back(std::move(r));
        }
        return rows;
      };
      a.x = express(p, pv, px);
      a.y = express(q, qv, qx);
      out.push_back(std::move(a));
    }
  }
}

Sub place(const std::vector<Digits>& dims, const std::vector<const std::vector<Row>*>& rows, const std::vector<size_t>& offset, size_t vars, int width) {
  Sub s;
  s.width = width;
  s.rows.assign(vars, Row(width, 0));
  for (size_t d = 0; d < dims.size(); ++d) {
    for (size_t j = 0; j < dims[d].var.size(); ++j) {
      const Row& r = (*rows[d])[j];
      Row& out = s.rows[dims[d].var[j]];
      for (size_t k = 0; k + 1 < r.size(); ++k) out[offset[d] + k] = r[k];
      out[width - 1] = r.back();
    }
  }
  return s;
}

}  // namespace

Value Views::whole(const ir::Shape& shape, const Poly& poly) const {
  Value v{shape, {}};
  for (int64_t n : shape) {
    if (n == 0) return v;
  }
  Cell c;
  c.ext = shape;
  const size_t w = shape.size() + 1;
  c.pos.assign(shape.size() * w, 0);
  for (size_t d = 0; d < shape.size(); ++d) c.pos[d * w + d] = 1;
  c.poly = poly;
  v.cells.push_back(std::move(c));
  return v;
}

Value Views::of_node(const ir::Shape& shape, Nid node) {
  const size_t w = shape.size() + 1;
  std::vector<int64_t> map(shape.size() * w, 0);
  for (size_t d = 0; d < shape.size(); ++d) map[d * w + d] = 1;
  Value v = whole(shape, a_.access(node, std::move(map), shape));
  for (Cell& c : v.cells) tidy(c);
  return v;
}

void Views::tidy(Cell& c) {
  const size_t rank = c.ext.empty() ? 0 : c.pos.size() / (c.ext.size() + 1);
  // Extent 1: gone.
  bool unit = false;
  for (int64_t e : c.ext) unit |= e == 1;
  if (unit) {
    Sub s;
    Ext ext;
    for (int64_t e : c.ext) {
      if (e != 1) ext.push_back(e);
    }
    s.width = static_cast<int>(ext.size()) + 1;
    size_t next = 0;
    for (int64_t e : c.ext) {
      Row r(s.width, 0);
      if (e != 1) r[next++] = 1;
      s.rows.push_back(std::move(r));
    }
    std::vector<int64_t> pos;
    const size_t w = c.ext.size() + 1;
    for (size_t d = 0; d < rank; ++d) {
      for (size_t v = 0; v + 1 < w; ++v) {
        if (c.ext[v] != 1) pos.push_back(c.pos[d * w + v]);
      }
      pos.push_back(c.pos[d * w + w - 1]);
    }
    c.poly = a_.subst(c.poly, s, ext);
    c.pos = std::move(pos);
    c.ext = std::move(ext);
  }
  // Two digits of one dimension that always occur together: one.
  bool again = true;
  while (again) {
    again = false;
    const size_t w = c.ext.size() + 1;
    for (size_t hi = 0; hi + 1 < w && !again; ++hi) {
      for (size_t lo = 0; lo + 1 < w && !again; ++lo) {
        if (hi == lo) continue;
        const int64_t e = c.ext[lo];
        bool fits = false;
        for (size_t d = 0; d < rank; ++d) {
          const int64_t a = c.pos[d * w + hi], b = c.pos[d * w + lo];
          if (a == 0 && b == 0) continue;
          fits = a == b * e;
          if (!fits) break;
        }
        if (!fits) continue;
        for (const Term& t : c.poly) {
          for (const Factor& f : t.f) {
            for (size_t r = 0; fits && r < f.map.size() / w; ++r) fits = f.map[r * w + hi] == f.map[r * w + lo] * e;
          }
        }
        if (!fits) continue;
        // lo takes both; hi goes.
        const size_t last = w - 1;
        auto drop = [&](std::vector<int64_t>& map) {
          std::vector<int64_t> out;
          out.reserve(map.size());
          for (size_t at = 0; at < map.size(); ++at) {
            if (at % w != hi) out.push_back(map[at]);
          }
          map = std::move(out);
        };
        (void)last;
        drop(c.pos);
        for (Term& t : c.poly) {
          for (Factor& f : t.f) drop(f.map);
          std::sort(t.f.begin(), t.f.end(), [](const Factor& x, const Factor& y) { return compare(x, y) < 0; });
        }
        std::sort(c.poly.begin(), c.poly.end(), [](const Term& x, const Term& y) { return compare(x, y) < 0; });
        c.ext[lo] = mul_checked(c.ext[lo], c.ext[hi]);
        c.ext.erase(c.ext.begin() + static_cast<std::ptrdiff_t>(hi));
        again = true;
      }
    }
  }
}

Value Views::transpose(const Value& x, const std::vector<int64_t>& perm) {
  Value v;
  for (int64_t p : perm) v.shape.push_back(x.shape[p]);
  v.cells = x.cells;
  for (size_t i = 0; i < v.cells.size(); ++i) {
    const Cell& from = x.cells[i];
    const size_t w = from.ext.size() + 1;
    for (size_t d = 0; d < perm.size(); ++d) {
      std::copy_n(from.pos.begin() + static_cast<std::ptrdiff_t>(perm[d] * w), w, v.cells[i].pos.begin() + static_cast<std::ptrdiff_t>(d * w));
    }
  }
  return v;
}

Value Views::reshape(const Value& x, const ir::Shape& shape) {
  Value v{shape, {}};
  const size_t rank = x.shape.size();
  std::vector<int64_t> stride(rank, 1);
  for (size_t d = rank; d-- > 1;) stride[d - 1] = mul_checked(stride[d], x.shape[d]);
  std::vector<int64_t> T(shape.size() + 1, 1);   // T[d]: stride of new dimension d; T[d] * shape[d] is the next
  for (size_t d = shape.size(); d-- > 0;) T[d] = d + 1 == shape.size() ? 1 : mul_checked(T[d + 1], shape[d + 1]);
  for (const Cell& c : x.cells) {
    const size_t w = c.ext.size() + 1;
    std::vector<int64_t> k(c.ext.size(), 0);
    int64_t constant = 0;
    for (size_t d = 0; d < rank; ++d) {
      for (size_t j = 0; j + 1 < w; ++j) k[j] = add_checked(k[j], mul_checked(stride[d], c.pos[d * w + j]));
      constant = add_checked(constant, mul_checked(stride[d], c.pos[d * w + w - 1]));
    }
    std::vector<Lin> pieces{Lin::start(std::move(k), c.ext, constant)};
    for (size_t d = shape.size(); d-- > 1;) {
      if (shape[d] == 1) continue;
      const int64_t t = mul_checked(T[d], shape[d]);
      std::vector<Lin> next;
      for (Lin& p : pieces) split(std::move(p), t, next);
      pieces = std::move(next);
    }
    for (const Lin& p : pieces) {
      Cell n;
      n.ext = p.e;
      const size_t nw = p.e.size() + 1;
      n.pos.assign(shape.size() * nw, 0);
      for (size_t j = 0; j < p.k.size(); ++j) {
        if (p.e[j] == 1 || p.k[j] == 0) continue;
        size_t d = 0;
        while (d < shape.size() && (shape[d] == 1 || p.k[j] < T[d])) ++d;
        if (d == shape.size() || p.k[j] % T[d] != 0) throw Overflow("reshape of an irregular tensor");
        n.pos[d * nw + j] = p.k[j] / T[d];
      }
      int64_t rest = p.c;
      for (size_t d = 0; d < shape.size(); ++d) {
        n.pos[d * nw + nw - 1] = rest / T[d];
        rest %= T[d];
      }
      Sub s;
      s.width = static_cast<int>(nw);
      s.rows = p.old;
      n.poly = a_.subst(c.poly, s, n.ext);
      tidy(n);
      v.cells.push_back(std::move(n));
    }
  }
  if (v.cells.size() > 1) join(v);
  return v;
}

std::vector<Cell> Views::clip(const Cell& c, size_t dim, int64_t lo, int64_t hi) {
  Digits d = digits(c, dim);
  if (d.lin.c >= lo && d.lin.top() < hi) return {c};
  std::vector<Lin> pieces;
  prove::clip(d.lin, lo, hi, pieces);
  std::vector<Cell> out;
  const size_t w = c.ext.size() + 1, rank = c.pos.size() / w;
  for (const Lin& p : pieces) {
    // Only shifts and smaller extents: the variables stay.
    Cell n;
    n.ext = c.ext;
    Sub s = Sub::identity(static_cast<int>(c.ext.size()));
    for (size_t j = 0; j < d.var.size(); ++j) {
      n.ext[d.var[j]] = p.e[j];
      s.rows[d.var[j]][w - 1] = p.old[j].back();
    }
    n.pos = c.pos;
    for (size_t r = 0; r < rank; ++r) {
      for (size_t j = 0; j < d.var.size(); ++j) n.pos[r * w + w - 1] += c.pos[r * w + d.var[j]] * p.old[j].back();
    }
    n.poly = a_.subst(c.poly, s, n.ext);
    tidy(n);
    out.push_back(std::move(n));
  }
  return out;
}

Value Views::slice(const Value& x, const std::vector<int64_t>& start, const std::vector<int64_t>& stop, const std::vector<int64_t>& step) {
  Value v;
  const size_t rank = x.shape.size();
  for (size_t d = 0; d < rank; ++d) v.shape.push_back(stop[d] <= start[d] ? 0 : (stop[d] - start[d] + step[d] - 1) / step[d]);
  for (int64_t n : v.shape) {
    if (n == 0) return v;
  }
  std::vector<Cell> cells = x.cells;
  for (size_t d = 0; d < rank; ++d) {
    if (start[d] == 0 && stop[d] >= x.shape[d] && step[d] == 1) continue;
    std::vector<Cell> next;
    for (const Cell& c : cells) {
      for (Cell& p : clip(c, d, start[d], stop[d])) {
        size_t w = p.ext.size() + 1;
        if (step[d] == 1) {
          p.pos[d * w + w - 1] -= start[d];
          next.push_back(std::move(p));
          continue;
        }
        // Positions congruent to start: exactly one digit may not be a multiple of the step.
        Digits g = digits(p, d);
        size_t odd = g.var.size();
        bool many = false;
        for (size_t j = 0; j < g.var.size(); ++j) {
          if (g.lin.k[j] % step[d] != 0) {
            many |= odd != g.var.size();
            odd = j;
          }
        }
        if (many) throw Overflow("strided slice of an irregular tensor");
        const int64_t at = g.lin.c - start[d];
        if (odd == g.var.size()) {
          if (((at % step[d]) + step[d]) % step[d] != 0) continue;
          for (size_t j = 0; j + 1 < w; ++j) p.pos[d * w + j] /= step[d];
          p.pos[d * w + w - 1] = at / step[d];
          next.push_back(std::move(p));
          continue;
        }
        // k v + at = 0 mod step
        const size_t var = g.var[odd];
        const int64_t k = g.lin.k[odd], period = step[d] / std::gcd(k, step[d]);
        int64_t first = -1;
        for (int64_t t = 0; t < period; ++t) {
          if ((((k * t + at) % step[d]) + step[d]) % step[d] == 0) {
            first = t;
            break;
          }
        }
        if (first < 0 || first >= p.ext[var]) continue;
        Sub s = Sub::identity(static_cast<int>(p.ext.size()));
        s.rows[var][var] = period;
        s.rows[var][w - 1] = first;
        const int64_t count = (p.ext[var] - first + period - 1) / period;
        Cell n;
        n.ext = p.ext;
        n.ext[var] = count;
        n.pos = p.pos;
        for (size_t r = 0; r < rank; ++r) {
          n.pos[r * w + w - 1] += p.pos[r * w + var] * first;
          n.pos[r * w + var] *= period;
        }
        n.pos[d * w + w - 1] -= start[d];
        for (size_t j = 0; j < w; ++j) n.pos[d * w + j] /= step[d];
        n.poly = a_.subst(p.poly, s, n.ext);
        tidy(n);
        next.push_back(std::move(n));
      }
    }
    cells = std::move(next);
  }
  v.cells = std::move(cells);
  if (v.cells.size() > 1) join(v);
  return v;
}

Value Views::reverse(const Value& x, const std::vector<int64_t>& dims) {
  Value v = x;
  for (Cell& c : v.cells) {
    const size_t w = c.ext.size() + 1;
    Sub s = Sub::identity(static_cast<int>(c.ext.size()));
    for (int64_t d : dims) {
      // n - 1 - (c + sum k v), then v := e - 1 - v
      int64_t constant = x.shape[d] - 1 - c.pos[d * w + w - 1];
      for (size_t j = 0; j + 1 < w; ++j) {
        const int64_t k = c.pos[d * w + j];
        if (k == 0) continue;
        constant -= k * (c.ext[j] - 1);
        s.rows[j][j] = -1;
        s.rows[j][w - 1] = c.ext[j] - 1;
      }
      c.pos[d * w + w - 1] = constant;
    }
    c.poly = a_.subst(c.poly, s, c.ext);
  }
  return v;
}

Value Views::broadcast(const Value& x, const ir::Shape& shape, const std::vector<int64_t>& dims) {
  Value v{shape, {}};
  for (int64_t n : shape) {
    if (n == 0) return v;
  }
  for (const Cell& c : x.cells) {
    const size_t w = c.ext.size() + 1;
    std::vector<size_t> fresh;   // result dims that get a variable of their own
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto it = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d));
      const bool expand = it == dims.end() || (x.shape[it - dims.begin()] == 1 && shape[d] != 1);
      if (expand && shape[d] != 1) fresh.push_back(d);
    }
    Cell n;
    n.ext = c.ext;
    for (size_t d : fresh) n.ext.push_back(shape[d]);
    const size_t nw = n.ext.size() + 1;
    n.pos.assign(shape.size() * nw, 0);
    for (size_t k = 0; k < dims.size(); ++k) {
      if (x.shape[k] == 1) continue;
      for (size_t j = 0; j + 1 < w; ++j) n.pos[dims[k] * nw + j] = c.pos[k * w + j];
      n.pos[dims[k] * nw + nw - 1] = c.pos[k * w + w - 1];
    }
    for (size_t k = 0; k < fresh.size(); ++k) n.pos[fresh[k] * nw + c.ext.size() + k] = 1;
    Sub s;
    s.width = static_cast<int>(nw);
    for (size_t j = 0; j < c.ext.size(); ++j) {
      Row r(nw, 0);
      r[j] = 1;
      s.rows.push_back(std::move(r));
    }
    n.poly = a_.subst(c.poly, s, n.ext);
    v.cells.push_back(std::move(n));
  }
  return v;
}

Value Views::concat(const std::vector<const Value*>& xs, int64_t dim, const ir::Shape& shape) {
  Value v{shape, {}};
  int64_t at = 0;
  for (const Value* x : xs) {
    for (const Cell& c : x->cells) {
      Cell n = c;
      const size_t w = n.ext.size() + 1;
      n.pos[static_cast<size_t>(dim) * w + w - 1] += at;
      v.cells.push_back(std::move(n));
    }
    at += x->shape[dim];
  }
  join(v);
  return v;
}

Value Views::pad(const Value& x, const Poly& fill, const std::vector<int64_t>& low, const std::vector<int64_t>& high, const std::vector<int64_t>& interior,
                 const ir::Shape& shape) {
  (void)high;
  const size_t rank = shape.size();
  Value v{shape, {}};
  for (int64_t n : shape) {
    if (n == 0) return v;
  }
  // The original elements, spread and shifted, then cropped.
  std::vector<Cell> cells = x.cells;
  for (size_t d = 0; d < rank; ++d) {
    std::vector<Cell> next;
    for (Cell& c : cells) {
      const size_t w = c.ext.size() + 1;
      for (size_t j = 0; j < w; ++j) c.pos[d * w + j] *= interior[d] + 1;
      c.pos[d * w + w - 1] += low[d];
      for (Cell& p : clip(c, d, 0, shape[d])) next.push_back(std::move(p));
    }
    cells = std::move(next);
  }
  v.cells = std::move(cells);
  // The rest: dimension by dimension, what lies beside (or between) the elements, over the full extent of later dimensions.
  std::vector<int64_t> lo(rank, 0), hi = shape, stride(rank, 1);
  auto box = [&](size_t d, int64_t from, int64_t count, int64_t step) {
    if (count <= 0) return;
    Cell c;
    for (size_t k = 0; k < rank; ++k) c.ext.push_back(k == d ? count : k < d ? hi[k] : shape[k]);
    const size_t w = rank + 1;
    c.pos.assign(rank * w, 0);
    for (size_t k = 0; k < rank; ++k) {
      c.pos[k * w + k] = k == d ? step : stride[k];
      c.pos[k * w + rank] = k == d ? from : k < d ? lo[k] : 0;
    }
    c.poly = fill;
    for (Term& t : c.poly) SP_CHECK(t.f.empty() || a_.node(t.f[0].node).dims.empty());
    tidy(c);
    v.cells.push_back(std::move(c));
  };
  for (size_t d = 0; d < rank; ++d) {
    const int64_t n = x.shape[d], s = interior[d] + 1;
    // Elements at low + s*i, i in [0, n), that lie in [0, shape)
    const int64_t first = n == 0 ? 0 : std::max<int64_t>(0, ceil_div(-low[d], s));
    const int64_t last = n == 0 ? -1 : std::min(n - 1, floor_div(shape[d] - 1 - low[d], s));
    if (first > last) {
      box(d, 0, shape[d], 1);
      return v;
    }
    const int64_t begin = low[d] + s * first, end = low[d] + s * last;
    box(d, 0, begin, 1);
    box(d, end + 1, shape[d] - end - 1, 1);
    for (int64_t r = 1; r < s; ++r) box(d, begin + r, last - first, s);
    lo[d] = begin;
    hi[d] = last - first + 1;
    stride[d] = s;
  }
  if (v.cells.size() > 1) join(v);
  return v;
}

Value Views::window(const Value& x, const std::vector<int64_t>& dims, const std::vector<int64_t>& sizes, const std::vector<int64_t>& sd,
                    const ir::Shape& shape) {
  // One windowed dimension after the other; the window's own dimension is appended.
  Value cur = x;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = static_cast<size_t>(dims[i]);
    const int64_t size = sizes[i], stride = sd[2 * i], dilation = sd[2 * i + 1];
    Value next;
    next.shape = cur.shape;
    next.shape[d] = shape[d];
    next.shape.push_back(size);
    const size_t rank = next.shape.size();
    bool simple = true;
    for (const Cell& c : cur.cells) {
      Digits g = digits(c, d);
      simple &= plain(g.lin) && g.lin.c == 0 && (g.lin.k.empty() ? 1 : g.lin.e[0]) == cur.shape[d];
    }
    if (simple) {
      for (const Cell& c : cur.cells) {
        Digits g = digits(c, d);
        const size_t w = c.ext.size() + 1;
        Cell n;
        // Variable of d becomes o * stride + win * dilation.
        n.ext = c.ext;
        const bool has = !g.var.empty();
        const size_t o = has ? g.var[0] : n.ext.size();
        if (has) {
          n.ext[o] = shape[d];
        } else {
          n.ext.push_back(shape[d]);
        }
        n.ext.push_back(size);
        const size_t nw = n.ext.size() + 1;
        Sub s;
        s.width = static_cast<int>(nw);
        for (size_t j = 0; j < c.ext.size(); ++j) {
          Row r(nw, 0);
          if (has && j == o) {
            r[o] = stride;
            r[nw - 2] = dilation;
          } else {
            r[j] = 1;
          }
          s.rows.push_back(std::move(r));
        }
        n.pos.assign(rank * nw, 0);
        for (size_t k = 0; k + 1 < rank; ++k) {
          if (k == d) {
            n.pos[k * nw + o] = 1;
            continue;
          }
          for (size_t j = 0; j + 1 < w; ++j) n.pos[k * nw + j] = c.pos[k * w + j];
          n.pos[k * nw + nw - 1] = c.pos[k * w + w - 1];
        }
        n.pos[(rank - 1) * nw + nw - 2] = 1;
        n.poly = a_.subst(c.poly, s, n.ext);
        tidy(n);
        next.cells.push_back(std::move(n));
      }
    } else {
      // Pieces: one window offset at a time.
      std::vector<Value> parts;
      for (int64_t k = 0; k < size; ++k) {
        std::vector<int64_t> start(cur.shape.size(), 0), stop = cur.shape, step(cur.shape.size(), 1);
        start[d] = k * dilation;
        stop[d] = k * dilation + (shape[d] - 1) * stride + 1;
        step[d] = stride;
        Value part = slice(cur, start, stop, step);
        std::vector<int64_t> keep(cur.shape.size());
        std::iota(keep.begin(), keep.end(), 0);
        ir::Shape one = part.shape;
        one.push_back(1);
        parts.push_back(broadcast(part, one, keep));
      }
      std::vector<const Value*> refs;
      for (const Value& p : parts) refs.push_back(&p);
      next = concat(refs, static_cast<int64_t>(rank) - 1, next.shape);
    }
    cur = std::move(next);
  }
  return cur;
}

// --- meeting and merging cells ---------------------------------------------------------------------------------------------------

bool Views::meet(const Cell& x, const Cell& y, std::vector<Refined>& out) {
  const size_t xw = x.ext.size() + 1, yw = y.ext.size() + 1, rank = x.pos.size() / xw;
  if (x.ext == y.ext && x.pos == y.pos) {
    out.push_back({x.ext, x.pos, {x.poly, y.poly}});
    return true;
  }
  std::vector<Digits> xd, yd;
  std::vector<std::vector<Aligned>> options;
  for (size_t d = 0; d < rank; ++d) {
    xd.push_back(digits(x, d));
    yd.push_back(digits(y, d));
    std::vector<Aligned> one;
    align(xd.back().lin, yd.back().lin, one);
    if (one.empty()) return false;
    options.push_back(std::move(one));
  }
  (void)yw;
  std::vector<size_t> pick(rank, 0);
  while (true) {
    Refined r;
    std::vector<size_t> offset;
    std::vector<const std::vector<Row>*> xr, yr;
    for (size_t d = 0; d < rank; ++d) {
      const Aligned& a = options[d][pick[d]];
      offset.push_back(r.ext.size());
      r.ext.insert(r.ext.end(), a.e.begin(), a.e.end());
      xr.push_back(&a.x);
      yr.push_back(&a.y);
    }
    const size_t w = r.ext.size() + 1;
    r.pos.assign(rank * w, 0);
    for (size_t d = 0; d < rank; ++d) {
      const Aligned& a = options[d][pick[d]];
      for (size_t k = 0; k < a.k.size(); ++k) r.pos[d * w + offset[d] + k] = a.k[k];
      r.pos[d * w + w - 1] = a.c;
    }
    r.poly.push_back(a_.subst(x.poly, place(xd, xr, offset, x.ext.size(), static_cast<int>(w)), r.ext));
    r.poly.push_back(a_.subst(y.poly, place(yd, yr, offset, y.ext.size(), static_cast<int>(w)), r.ext));
    out.push_back(std::move(r));
    size_t d = 0;
    while (d < rank && ++pick[d] == options[d].size()) pick[d++] = 0;
    if (d == rank) break;
  }
  return true;
}

std::vector<Refined> Views::refine(const std::vector<const Value*>& xs) {
  std::vector<Refined> cur;
  for (const Cell& c : xs[0]->cells) cur.push_back({c.ext, c.pos, {c.poly}});
  for (size_t i = 1; i < xs.size(); ++i) {
    std::vector<Refined> next;
    for (const Refined& r : cur) {
      for (const Cell& c : xs[i]->cells) {
        if (r.ext == c.ext && r.pos == c.pos) {
          Refined n = r;
          n.poly.push_back(c.poly);
          next.push_back(std::move(n));
          continue;
        }
        // Align with the first poly, then carry the others along.
        const size_t rank = xs[0]->shape.size();
        Cell x{r.ext, r.pos, {}};
        std::vector<Digits> xd, yd;
        std::vector<std::vector<Aligned>> options;
        bool apart = false;
        for (size_t d = 0; d < rank && !apart; ++d) {
          xd.push_back(digits(x, d));
          yd.push_back(digits(c, d));
          std::vector<Aligned> one;
          align(xd.back().lin, yd.back().lin, one);
          apart = one.empty();
          options.push_back(std::move(one));
        }
        if (apart) continue;
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
          const Sub xs_sub = place(xd, xr, offset, r.ext.size(), static_cast<int>(w));
          for (const Poly& p : r.poly) n.poly.push_back(a_.subst(p, xs_sub, n.ext));
          n.poly.push_back(a_.subst(c.poly, place(yd, yr, offset, c.ext.size(), static_cast<int>(w)), n.ext));
          next.push_back(std::move(n));
          if (next.size() > 4096) throw Overflow("too many pieces");
          size_t d = 0;
          while (d < rank && ++pick[d] == options[d].size()) pick[d++] = 0;
          if (d == rank) break;
        }
      }
    }
    cur = std::move(next);
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
      k = gap;   // a new digit
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
  for (size_t t = 0; t < x.poly.size(); ++t) {
    const Term& p = x.poly[t];
    const Term* q = nullptr;
    Term fresh;
    for (const Term& cand : y.poly) {
      if (cand.f.size() != p.f.size() || !(cand.coef == p.coef)) continue;
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
  for (Term& t : merged) std::sort(t.f.begin(), t.f.end(), [](const Factor& a, const Factor& b) { return compare(a, b) < 0; });
  std::sort(merged.begin(), merged.end(), [](const Term& a, const Term& b) { return compare(a, b) < 0; });
  out.poly = std::move(merged);
  tidy(out);
  x = std::move(out);
  return true;
}

void Views::join(Value& v) {
  if (v.cells.size() < 2 || v.cells.size() > 512) return;
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
  std::vector<Refined> cells;
  for (const Cell& c : x.cells) {
    for (const Cell& d : y.cells) meet(c, d, cells);
  }
  for (const Refined& r : cells) {
    if (a_.equal(r.poly[0], r.poly[1], r.ext)) continue;
    if (difference) *difference = a_.str(r.poly[0]) + "   instead of   " + a_.str(r.poly[1]);
    return false;
  }
  return true;
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
  bool finite = true, integer = true, nonneg = true, boolean = true;
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
    integer &= k.integer;
    nonneg &= k.nonneg;
    boolean &= k.boolean;
    lo = std::min(lo, k.lo);
    hi = std::max(hi, k.hi);
  }
  n.name = key;
  n.dims = x.shape;
  n.known.finite = n.known.no_pos_inf = finite;
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
