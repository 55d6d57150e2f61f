// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Cells and views: see value.h.
#include "prove/digits.h"

#include <algorithm>
#include <numeric>

#include "util/result.h"

namespace shardproof::prove {

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
        auto drop = [&](std::vector<int64_t>& map) {
          std::vector<int64_t> out;
          out.reserve(map.size());
          for (size_t at = 0; at < map.size(); ++at) {
            if (at % w != hi) out.push_back(map[at]);
          }
          map = std::move(out);
        };
        drop(c.pos);
        for (Term& t : c.poly) {
          for (Factor& f : t.f) drop(f.map);
          std::sort(t.f.begin(), t.f.end(), before);
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
      std::copy_n(from.pos.begin() + static_cast<std::ptrdiff_t>(perm[d] * w), w,
                  v.cells[i].pos.begin() + static_cast<std::ptrdiff_t>(d * w));
    }
  }
  return v;
}

Value Views::reshape(const Value& x, const ir::Shape& shape) {
  Value v{shape, {}};
  const size_t rank = x.shape.size();
  std::vector<int64_t> stride(rank, 1);
  for (size_t d = rank; d-- > 1;) stride[d - 1] = mul_checked(stride[d], x.shape[d]);
  std::vector<int64_t> T(shape.size() + 1, 1);  // T[d]: stride of new dimension d; T[d] * shape[d] is the next
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
    std::vector<size_t> fresh;  // result dims that get a variable of their own
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

Value Views::spread(const Value& x, const ir::Shape& shape, const std::vector<int64_t>& dims) {
  // broadcast wants increasing dimensions: transpose first.
  std::vector<int64_t> perm(dims.size());
  std::iota(perm.begin(), perm.end(), 0);
  std::sort(perm.begin(), perm.end(), [&](int64_t p, int64_t q) { return dims[p] < dims[q]; });
  std::vector<int64_t> sorted;
  for (int64_t p : perm) sorted.push_back(dims[p]);
  return broadcast(transpose(x, perm), shape, sorted);
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

Value Views::pad(const Value& x, const Poly& fill, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
                 const std::vector<int64_t>& interior, const ir::Shape& shape) {
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
  if (cur.cells.size() > 1) {
    if (auto one = pad_as_one(cur, dims)) cur.cells = {*std::move(one)};
  }
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

}  // namespace shardproof::prove
