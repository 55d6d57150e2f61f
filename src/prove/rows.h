// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Questions about the rows of a factor: which variables does it use?
#pragma once

#include "prove/term.h"

namespace shardproof::prove {

inline bool depends(const Factor& f, size_t width, size_t from) {
  for (size_t at = 0; at < f.map.size(); ++at) {
    const size_t col = at % width;
    if (col >= from && col + 1 < width && f.map[at] != 0) return true;
  }
  return false;
}

inline bool depends_on(const Factor& f, size_t width, size_t var) {
  for (size_t at = var; at < f.map.size(); at += width) {
    if (f.map[at] != 0) return true;
  }
  return false;
}

// Drops the columns from..width-2 (all zero).
inline Factor narrowed(const Factor& f, size_t width, size_t from) {
  Factor g{f.node, f.exp, {}};
  for (size_t r = 0; r < f.map.size() / width; ++r) {
    g.map.insert(g.map.end(), f.map.begin() + static_cast<std::ptrdiff_t>(r * width),
                 f.map.begin() + static_cast<std::ptrdiff_t>(r * width + from));
    g.map.push_back(f.map[r * width + width - 1]);
  }
  return g;
}

// f over a context with `more` variables at its end that it does not use.
inline Factor widened(const Factor& f, size_t width, size_t more) {
  Factor g{f.node, f.exp, {}};
  for (size_t at = 0; at < f.map.size(); at += width) {
    const auto row = f.map.begin() + static_cast<std::ptrdiff_t>(at);
    g.map.insert(g.map.end(), row, row + static_cast<std::ptrdiff_t>(width) - 1);
    g.map.insert(g.map.end(), more, 0);
    g.map.push_back(row[static_cast<std::ptrdiff_t>(width) - 1]);
  }
  return g;
}

// f, whose rows have `width` columns, where its variables are these rows of `to` columns.
inline Factor placed(const Factor& f, size_t width, const std::vector<int64_t>& rows, size_t to) {
  Factor g{f.node, f.exp, {}};
  for (size_t at = 0; at < f.map.size(); at += width) {
    std::vector<int64_t> row(to, 0);
    row[to - 1] = f.map[at + width - 1];
    for (size_t v = 0; v + 1 < width; ++v) {
      if (f.map[at + v] == 0) continue;
      for (size_t k = 0; k < to; ++k) row[k] += f.map[at + v] * rows[v * to + k];
    }
    g.map.insert(g.map.end(), row.begin(), row.end());
  }
  return g;
}

inline Poly placed(Poly p, size_t width, const std::vector<int64_t>& rows, size_t to) {
  for (Term& t : p) {
    for (Factor& f : t.f) f = placed(f, width, rows, to);
  }
  return p;
}

// t without one copy of the factor at `at`.
inline Term without(Term t, size_t at) {
  t.f[at].exp = t.f[at].exp - Rat(1);
  if (t.f[at].exp.is_zero()) t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(at));
  return t;
}

}  // namespace shardproof::prove
