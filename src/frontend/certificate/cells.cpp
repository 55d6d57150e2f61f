// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/certificate/cells.h"

#include <algorithm>

#include <fmt/format.h>

namespace shardproof::certificate {

namespace {

constexpr int64_t kLarge = int64_t{1} << 56;

// Positions of one dimension of a cell in increasing order; only called where they are few enough.
void enumerate(const Located& c, size_t d, std::vector<int64_t>& out) {
  out.assign(1, c.low[d]);
  for (size_t k = c.digits[d].size(); k-- > 0;) {
    const auto& g = c.digits[d][k];
    const size_t n = out.size();
    for (int64_t v = 1; v < g.ext; ++v) {
      for (size_t j = 0; j < n; ++j) out.push_back(out[j] + v * g.step);
    }
  }
}

int64_t count(const Located& c, size_t d) {
  int64_t n = 1;
  for (const auto& g : c.digits[d]) n *= g.ext;
  return n;
}

bool apart(const Located& a, const Located& b, size_t d) {
  if (a.high[d] < b.low[d] || b.high[d] < a.low[d]) return true;
  if (count(a, d) == a.high[d] - a.low[d] + 1 && count(b, d) == b.high[d] - b.low[d] + 1) return false;  // two intervals that meet
  std::vector<int64_t> x;
  if (count(a, d) > (1 << 22)) return false;  // cannot tell: taken as meeting, which rejects
  enumerate(a, d, x);
  return std::none_of(x.begin(), x.end(), [&](int64_t i) { return b.read(d, i, nullptr); });
}

}  // namespace

std::string locate(const std::vector<int64_t>& ext, const std::vector<int64_t>& rows, const ir::Shape& shape, Located& out) {
  const size_t n = ext.size(), w = n + 1, rank = shape.size();
  out.digits.assign(rank, {});
  out.low.assign(rank, 0);
  out.high.assign(rank, 0);
  std::vector<char> used(n, 0);
  for (size_t d = 0; d < rank; ++d) {
    int64_t low = rows[d * w + n];
    if (low < -kLarge || low > kLarge) return "a position that is too large";
    for (size_t v = 0; v < n; ++v) {
      const int64_t c = rows[d * w + v];
      if (c == 0 || ext[v] == 1) continue;
      if (used[v]) return fmt::format("variable {} walks two dimensions", v);
      if (c < -kLarge / ext[v] || c > kLarge / ext[v]) return "a step that is too large";
      used[v] = 1;
      if (c < 0) low += c * (ext[v] - 1);
      out.digits[d].push_back({c < 0 ? -c : c, ext[v], v, c < 0});
    }
    std::sort(out.digits[d].begin(), out.digits[d].end(), [](const auto& x, const auto& y) { return x.step > y.step; });
    int64_t reach = 0;
    for (size_t k = out.digits[d].size(); k-- > 0;) {
      const auto& g = out.digits[d][k];
      if (g.step <= reach) return fmt::format("dimension {} reads a position twice", d);
      reach += g.step * (g.ext - 1);
      if (reach > kLarge) return "a dimension that is too large";
    }
    out.low[d] = low;
    out.high[d] = low + reach;
    if (low < 0 || out.high[d] >= shape[d]) return fmt::format("positions {}..{} of a dimension of {}", low, out.high[d], shape[d]);
  }
  for (size_t v = 0; v < n; ++v) {
    if (!used[v] && ext[v] != 1) return fmt::format("variable {} walks no dimension", v);
  }
  return "";
}

bool Located::read(size_t d, int64_t i, std::vector<int64_t>* x) const {
  int64_t r = i - low[d];
  if (r < 0 || i > high[d]) return false;
  for (const Digit& g : digits[d]) {
    const int64_t q = r / g.step;
    if (q >= g.ext) return false;
    r -= q * g.step;
    if (x) (*x)[g.var] = g.reversed ? g.ext - 1 - q : q;
  }
  return r == 0;
}

bool Located::read(const int64_t* i, std::vector<int64_t>& x) const {
  x.assign(cell->ext.size(), 0);
  for (size_t d = 0; d < digits.size(); ++d)
    if (!read(d, i[d], &x)) return false;
  return true;
}

std::string partition(const std::vector<Located>& cells, const ir::Shape& shape, bool covering) {
  __int128 covered = 0;
  for (const Located& c : cells) covered += ir::num_elements(c.cell->ext);
  if (covering && covered != ir::num_elements(shape))
    return fmt::format("its cells have {} elements, the tensor has {}", static_cast<int64_t>(covered), ir::num_elements(shape));
  for (size_t a = 0; a < cells.size(); ++a) {
    for (size_t b = a + 1; b < cells.size(); ++b) {
      bool separate = false;
      for (size_t d = 0; d < shape.size() && !separate; ++d) separate = apart(cells[a], cells[b], d);
      if (!separate) return fmt::format("cells {} and {} overlap", a, b);
    }
  }
  return "";
}

bool find_in(const Cell& c, size_t rank, const int64_t* i, std::vector<int64_t>& x) {
  Located l;
  const ir::Shape any(rank, kLarge);
  if (!locate(c.ext, c.pos, any, l).empty()) return false;
  l.cell = &c;
  return l.read(i, x);
}

}  // namespace shardproof::certificate
