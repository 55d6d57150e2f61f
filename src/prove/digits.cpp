// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// See digits.h.
#include "prove/digits.h"

#include <algorithm>
#include <numeric>

#include "util/result.h"

namespace shardproof::prove {

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
    const int64_t first = std::max<int64_t>(0, floor_div(lo - rest - l.c, l.k[j])),
                  last = std::min(l.e[j] - 1, floor_div(hi - 1 - l.c, l.k[j]));
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
  if (T % l.k[s] != 0) {
    // Pieces that were joined over the boundary (neighbours in a flat buffer): cut there, one row after the other.
    const int64_t first = floor_div(l.c, T), last = floor_div(l.top(), T);
    if (last - first > 16) throw Overflow("reshape of an irregular tensor");
    for (int64_t row = first; row <= last; ++row) clip(l, mul_checked(row, T), mul_checked(row + 1, T), out);
    return;
  }
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

bool plain(const Lin& l) { return l.k.empty() || (l.k.size() == 1 && l.k[0] == 1); }

// L-46: both sides have the same highest digit and what is below never carries over it: the highest digits meet, and what is below meets by
// itself, whatever radix it has (rows of a batch, each a token and then a grid of patches).
static bool align_below_top(const Lin& x, const Lin& y, std::vector<Aligned>& out) {
  struct Side {
    size_t top = 0;
    int64_t first = 0;  // the value of the highest digit where its variable is 0
    Lin rest;
    std::vector<size_t> below;  // variables of rest
  };
  const auto highest = [](const Lin& l) { return static_cast<size_t>(std::max_element(l.k.begin(), l.k.end()) - l.k.begin()); };
  const int64_t T = x.k[highest(x)];
  if (T <= 1 || y.k[highest(y)] != T) return false;
  Side sides[2];
  for (int i = 0; i < 2; ++i) {
    const Lin& l = i == 0 ? x : y;
    Side& s = sides[i];
    s.top = highest(l);
    s.first = floor_div(l.c, T);
    std::vector<int64_t> k, e;
    for (size_t j = 0; j < l.k.size(); ++j) {
      if (j == s.top) continue;
      if (l.k[j] >= T || l.k[j] < 0) return false;
      s.below.push_back(j);
      k.push_back(l.k[j]);
      e.push_back(l.e[j]);
    }
    s.rest = Lin::start(std::move(k), std::move(e), l.c - s.first * T);
    if (s.rest.top() >= T && refused(Rule::L46)) return false;
  }
  const int64_t lo = std::max(sides[0].first, sides[1].first);
  const int64_t hi = std::min(sides[0].first + x.e[sides[0].top], sides[1].first + y.e[sides[1].top]);
  if (lo >= hi) return true;
  std::vector<Aligned> under;
  align(sides[0].rest, sides[1].rest, under);
  for (const Aligned& u : under) {
    Aligned a{{T}, {hi - lo}, add_checked(mul_checked(lo, T), u.c), {}, {}};
    a.k.insert(a.k.end(), u.k.begin(), u.k.end());
    a.e.insert(a.e.end(), u.e.begin(), u.e.end());
    for (int i = 0; i < 2; ++i) {
      const Lin& l = i == 0 ? x : y;
      const Side& s = sides[i];
      for (const Row& o : l.old) {
        Row r(a.k.size() + 1, 0);
        r.back() = o.back();
        r[0] = o[s.top];
        r.back() += o[s.top] * (lo - s.first);
        for (size_t j = 0; j < s.below.size(); ++j) {
          const Row& from = (i == 0 ? u.x : u.y)[j];
          for (size_t v = 0; v + 1 < from.size(); ++v) r[v + 1] += o[s.below[j]] * from[v];
          r.back() += o[s.below[j]] * from.back();
        }
        (i == 0 ? a.x : a.y).push_back(std::move(r));
      }
    }
    out.push_back(std::move(a));
  }
  return fired(Rule::L46);
}

namespace {

// Whether every value of one is below every value of the other.
bool apart(const Lin& x, const Lin& y) {
  auto last = [](const Lin& l) {
    int64_t v = l.c;
    for (size_t j = 0; j < l.k.size(); ++j) v = add_checked(v, mul_checked(l.k[j], l.e[j] - 1));
    return v;
  };
  return last(x) < y.c || last(y) < x.c;
}

}  // namespace

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
  // Parts of one buffer that lie apart meet nowhere, whatever their rows are (flat parameters of 4 and of 6 columns).
  if (apart(x, y)) return;
  if (align_below_top(x, y, out)) return;
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
      if (apart(p, q)) continue;
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
            if (l.e[static_cast<size_t>(where[i])] > 1)
              ok = false;
            else
              where[i] = static_cast<int>(j);
          } else if (where[i] < 0) {
            where[i] = static_cast<int>(j);
          }
        }
      };
      place(p, pv);
      place(q, qv);
      if (!ok) throw Overflow("irregular digits");
      // Residues below the smallest coefficient must agree.
      std::vector<int64_t> px, qx;  // shift of each side's variable
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

Sub place(const std::vector<Digits>& dims, const std::vector<const std::vector<Row>*>& rows, const std::vector<size_t>& offset, size_t vars,
          int width) {
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

}  // namespace shardproof::prove
