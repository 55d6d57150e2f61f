// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Where block inputs should be cut: every slice, concatenation and padding in either program asks for cuts, which travel from results to
// operands. A heuristic of quality only: evaluation refines whatever it needs.
#include <algorithm>

#include "interp/inputs.h"

namespace shardproof::interp {
namespace {

constexpr size_t kMaxCuts = 96;       // per dimension
constexpr int64_t kMaxUnit = 4096;    // longer dimensions are not cut into single elements
constexpr int64_t kMaxRepeated = 24;  // cuts of rows that come again

using Cuts = std::vector<int64_t>;

void add(Cuts& to, const Cuts& from, int64_t scale, int64_t shift, int64_t extent) {
  for (int64_t c : from) {
    const int64_t p = c * scale + shift;
    if (p > 0 && p < extent) to.push_back(p);
  }
}

void tidy(Cuts& cuts) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (cuts.size() > kMaxUnit) cuts.resize(kMaxUnit);
}

void all_of(Cuts& to, int64_t extent) {
  if (extent > kMaxUnit) return;
  for (int64_t p = 1; p < extent; ++p) to.push_back(p);
}

// The cuts of dimensions in a row, in the flat one. Those of inner dimensions come again in every row of the outer ones; where these are
// many, only in the first: cut everywhere, rows would all stand alone.
Cuts flat_cuts(const ir::Shape& sizes, const std::vector<Cuts>& cuts) {
  Cuts flat;
  int64_t extent = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t rows = sizes[d];
    const size_t inner = flat.size();
    if (inner > 0 && rows > 1 && rows * static_cast<int64_t>(inner + 1) <= kMaxRepeated) {
      for (int64_t row = 1; row < rows; ++row) {
        flat.push_back(row * extent);
        for (size_t k = 0; k < inner; ++k) flat.push_back(row * extent + flat[k]);
      }
    }
    add(flat, cuts[d], extent, 0, rows * extent);
    extent *= rows;
  }
  tidy(flat);
  return flat;
}

void reshape(const ir::Node& n, const ir::Shape& from, const std::vector<Cuts>& cuts, std::vector<Cuts>& to) {
  if (ir::num_elements(from) == 0) return;
  for (size_t i = 0, j = 0; i < from.size() || j < n.shape.size();) {
    if (i < from.size() && from[i] == 1) {
      ++i;
      continue;
    }
    if (j < n.shape.size() && n.shape[j] == 1) {
      ++j;
      continue;
    }
    const size_t i0 = i, j0 = j;
    int64_t a = from[i++], b = n.shape[j++];
    while (a != b) a < b ? a *= from[i++] : b *= n.shape[j++];
    const ir::Shape sizes(n.shape.begin() + static_cast<std::ptrdiff_t>(j0), n.shape.begin() + static_cast<std::ptrdiff_t>(j));
    const Axis flat =
        Axis::at(a, flat_cuts(sizes, {cuts.begin() + static_cast<std::ptrdiff_t>(j0), cuts.begin() + static_cast<std::ptrdiff_t>(j)}));
    const std::vector<Axis> back =
        unflatten_axis(flat, {from.begin() + static_cast<std::ptrdiff_t>(i0), from.begin() + static_cast<std::ptrdiff_t>(i)});
    for (size_t d = i0; d < i; ++d) {
      if (back[d - i0].blocks() > kMaxUnit) continue;
      for (int64_t k = 0; k + 1 < back[d - i0].blocks(); ++k) to[d].push_back(back[d - i0].end(k));
    }
  }
}

}  // namespace

std::vector<std::vector<Cuts>> demanded_cuts(const ir::Graph& g) {
  using ir::Op;
  std::vector<std::vector<Cuts>> all(g.nodes.size());
  for (size_t id = 0; id < g.nodes.size(); ++id) all[id].resize(g.nodes[id].shape.size());
  for (size_t id = g.nodes.size(); id-- > 0;) {
    const ir::Node& n = g.nodes[id];
    std::vector<Cuts>& cuts = all[id];
    for (Cuts& c : cuts) {
      tidy(c);
      if (c.size() > kMaxCuts && n.op != Op::Input) {  // keep an even choice
        Cuts some;
        for (size_t k = 0; k < kMaxCuts; ++k) some.push_back(c[k * c.size() / kMaxCuts]);
        if (n.op != Op::Sort && n.op != Op::Result && n.op != Op::Map) c = some;
      }
    }
    if (n.in.empty()) continue;
    const ir::Shape& s = g[n.in[0]].shape;
    std::vector<Cuts>& x = all[n.in[0]];
    const auto copy = [&](std::vector<Cuts>& to, size_t d, const Cuts& from) { to[d].insert(to[d].end(), from.begin(), from.end()); };
    switch (n.op) {
      case Op::Transpose:
        for (size_t d = 0; d < cuts.size(); ++d) copy(x, static_cast<size_t>(n.a[d]), cuts[d]);
        break;
      case Op::Reshape: reshape(n, s, cuts, x); break;
      case Op::Slice:
        for (size_t d = 0; d < cuts.size(); ++d) {
          add(x[d], cuts[d], n.c[d], n.a[d], s[d]);
          add(x[d], {n.a[d], n.b[d]}, 1, 0, s[d]);
        }
        break;
      case Op::Reverse:
        for (size_t d = 0; d < cuts.size(); ++d) {
          const bool turned = std::binary_search(n.a.begin(), n.a.end(), static_cast<int64_t>(d));
          add(x[d], cuts[d], turned ? -1 : 1, turned ? s[d] : 0, s[d]);
        }
        break;
      case Op::Broadcast:
        for (size_t d = 0; d < s.size(); ++d) {
          if (s[d] == n.shape[n.a[d]]) copy(x, d, cuts[n.a[d]]);
        }
        break;
      case Op::Pad:
        for (size_t d = 0; d < cuts.size(); ++d) {
          if (n.c[d] == 0) add(x[d], cuts[d], 1, -n.a[d], s[d]);
        }
        break;
      case Op::Concat: {
        int64_t offset = 0;
        for (ir::NodeId part : n.in) {
          for (size_t d = 0; d < cuts.size(); ++d)
            add(all[part][d], cuts[d], 1, static_cast<int64_t>(d) == n.a[0] ? -offset : 0, g[part].shape[d]);
          offset += g[part].shape[n.a[0]];
        }
        break;
      }
      case Op::Window:
        for (int64_t d : n.a) all_of(x[d], s[d]);
        for (size_t d = 0; d < s.size(); ++d) {
          if (!std::binary_search(n.a.begin(), n.a.end(), static_cast<int64_t>(d))) copy(x, d, cuts[d]);
        }
        break;
      case Op::Map:
        for (ir::NodeId operand : n.in) {
          if (g[operand].shape.size() != cuts.size()) continue;
          for (size_t d = 0; d < cuts.size(); ++d) copy(all[operand], d, cuts[d]);
        }
        break;
      case Op::Reduce:
      case Op::ArgReduce:
        for (size_t d = 0, k = 0; d < s.size(); ++d) {
          if (!std::binary_search(n.a.begin(), n.a.end(), static_cast<int64_t>(d))) {
            copy(x, d, cuts[k++]);
          } else if (n.op == Op::ArgReduce) {
            all_of(x[d], s[d]);
          }
        }
        break;
      case Op::Contract: {
        const ir::Shape& r = g[n.in[1]].shape;
        std::vector<bool> left(s.size()), right(r.size());
        size_t at = 0;
        for (size_t k = 0; k < n.a.size(); k += 2, ++at) {
          copy(x, static_cast<size_t>(n.a[k]), cuts[at]);
          copy(all[n.in[1]], static_cast<size_t>(n.a[k + 1]), cuts[at]);
          left[n.a[k]] = right[n.a[k + 1]] = true;
        }
        for (size_t k = 0; k < n.b.size(); k += 2) left[n.b[k]] = right[n.b[k + 1]] = true;
        for (size_t d = 0; d < s.size(); ++d) {
          if (!left[d]) copy(x, d, cuts[at++]);
        }
        for (size_t d = 0; d < r.size(); ++d) {
          if (!right[d]) copy(all[n.in[1]], d, cuts[at++]);
        }
        break;
      }
      case Op::Take:
      case Op::Scatter: {
        const size_t first = n.op == Op::Take ? 1 : 2;
        const size_t last = n.in.size() - (n.mode == ir::IndexMode::Fill && n.op == Op::Take ? 1 : 0);
        std::vector<Cuts>& moving = n.op == Op::Take ? cuts : all[n.in[1]];
        for (size_t d = 0; d < s.size(); ++d) {
          if (n.op == Op::Scatter) copy(x, d, cuts[d]);
          if (n.a[d] < 0) continue;
          n.op == Op::Take ? copy(x, d, cuts[n.a[d]]) : copy(all[n.in[1]], static_cast<size_t>(n.a[d]), cuts[d]);
        }
        for (size_t k = first; k < last; ++k) {
          for (size_t d = 0; d < n.b.size(); ++d) copy(all[n.in[k]], d, moving[n.b[d]]);
        }
        break;
      }
      case Op::DynamicSlice:
      case Op::DynamicUpdate: {
        const size_t first = n.op == Op::DynamicSlice ? 1 : 2;
        for (size_t d = 0; d < s.size(); ++d) {
          const ir::Node& start = g[n.in[first + d]];
          const int64_t size = n.op == Op::DynamicSlice ? n.a[d] : g[n.in[1]].shape[d];
          if (size == s[d]) {
            copy(x, d, cuts[d]);
          } else if (start.op == Op::Const) {
            const int64_t p = std::clamp<int64_t>(start.lit.i, 0, s[d] - size);
            add(x[d], cuts[d], 1, n.op == Op::DynamicSlice ? p : 0, s[d]);
            add(x[d], {p, p + size}, 1, 0, s[d]);
            if (n.op == Op::DynamicUpdate) add(all[n.in[1]][d], cuts[d], 1, -p, size);
          } else {
            for (int64_t p = size; p < s[d] && p / size < 64; p += size) x[d].push_back(p);
          }
        }
        break;
      }
      case Op::Scan:
        for (size_t d = 0; d < cuts.size(); ++d) copy(x, d, cuts[d]);
        break;
      case Op::Sort:
        for (ir::NodeId operand : n.in) all_of(all[operand][n.a[0]], s[n.a[0]]);
        break;
      default: break;
    }
  }
  return all;
}

}  // namespace shardproof::interp
