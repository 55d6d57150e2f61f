// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What the fields of a certificate mean: affine rows, indices, reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "frontend/certificate/certificate.h"

namespace shardproof::certificate {

using Index = std::vector<int64_t>;

// An affine row (n coefficients, then the constant) at x. It wraps: rows of a hostile file may be large.
inline int64_t row_at(const int64_t* row, const int64_t* x, size_t n) {
  auto v = static_cast<uint64_t>(row[n]);
  for (size_t k = 0; k < n; ++k) v += static_cast<uint64_t>(row[k]) * static_cast<uint64_t>(x[k]);
  return static_cast<int64_t>(v);
}

// All of `rows` at x.
inline void rows_at(const std::vector<int64_t>& rows, const int64_t* x, size_t n, Index& out) {
  out.resize(rows.size() / (n + 1));
  for (size_t d = 0; d < out.size(); ++d) out[d] = row_at(rows.data() + d * (n + 1), x, n);
}
inline void rows_at(const std::vector<int64_t>& rows, const std::vector<int64_t>& x, Index& out) { rows_at(rows, x.data(), x.size(), out); }

// The place of i in row-major order, and back.
inline int64_t linear(const std::vector<int64_t>& shape, const Index& i) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + i[d];
  return at;
}
inline Index unlinear(const std::vector<int64_t>& shape, int64_t at) {
  Index i(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0;) i[d] = at % shape[d], at /= shape[d];
  return i;
}

// Counts x up within extents, last fastest; false at the end.
inline bool next(Index& x, const std::vector<int64_t>& extents) {
  for (size_t k = extents.size(); k-- > 0;) {
    if (++x[k] < extents[k]) return true;
    x[k] = 0;
  }
  return false;
}

inline bool contains(const std::vector<int64_t>& list, size_t value) {
  return std::find(list.begin(), list.end(), static_cast<int64_t>(value)) != list.end();
}

inline bool plain(const Factor& f) { return f.num == 1 && f.den == 1; }

// All reads that stand in a poly, and in a term's definition.
template <typename F>
void each_read(const Poly& p, F f) {
  for (const Product& t : p) {
    for (const Factor& read : t.f) f(read);
  }
}
template <typename F>
void each_read(const TermNode& n, F f) {
  for (const Poly& p : n.args) each_read(p, f);
  for (const Cell& c : n.cells) each_read(c.poly, f);
}

// The poly is one read of one term (or a positive multiple of one), or null.
inline const Factor* only_read(const Poly& p, bool scaled = false) {
  const bool one = p.size() == 1 && p[0].f.size() == 1 && plain(p[0].f[0]) && p[0].num > 0;
  return one && (scaled || (p[0].num == 1 && p[0].den == 1)) ? p[0].f.data() : nullptr;
}

// Which of its operands a sort moves (the writer names it last); as many as there are: the term is no sort.
inline size_t moved_by(const TermNode& n) {
  const bool sort = n.kind == TermKind::Whole && n.name.starts_with("sort:") && n.name.find('(') == std::string::npos;  // no kernel
  return sort ? std::min(n.args.size(), static_cast<size_t>(n.name[std::min(n.name.find(' '), n.name.size()) - 1] - '0')) : n.args.size();
}

// Within the term's dimensions: elsewhere, it is undefined.
inline bool within(const TermNode& n, const int64_t* at) {
  for (size_t d = 0; d < n.dims.size(); ++d)
    if (n.dims[d] != kUnbounded && (at[d] < 0 || at[d] >= n.dims[d])) return false;
  return true;
}

// outer (rows over `dims` indices) after inner (those indices, rows over w - 1 variables). False: too large.
inline bool compose(const std::vector<int64_t>& outer, size_t dims, const std::vector<int64_t>& inner, size_t w,
                    std::vector<int64_t>& out) {
  const size_t rows = outer.size() / (dims + 1);
  out.assign(rows * w, 0);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t k = 0; k < w; ++k) {
      __int128 v = k + 1 == w ? outer[r * (dims + 1) + dims] : 0;
      for (size_t d = 0; d < dims; ++d) v += static_cast<__int128>(outer[r * (dims + 1) + d]) * inner[d * w + k];
      if (v > static_cast<__int128>(kPosInf) || v < -static_cast<__int128>(kPosInf)) return false;
      out[r * w + k] = static_cast<int64_t>(v);
    }
  }
  return true;
}

}  // namespace shardproof::certificate
