// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Fingerprints of values and the table of families.
#include "interp/fingerprint.h"

#include <algorithm>
#include <cmath>

#include "util/result.h"

namespace shardproof::interp {
namespace {

constexpr double kTolerance = 1e-10;  // an updated weight may differ by as little as a learning rate times a gradient

constexpr int64_t kPeriod = 4096;  // of the weights: long runs cost no more than short ones

double weight(size_t dim, int64_t position) {
  uint64_t x = static_cast<uint64_t>(position) * 0x9e3779b97f4a7c15u + (dim + 1) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebu;
  x ^= x >> 32;
  return 0.5 + static_cast<double>(x >> 11) * 0x1p-53;
}

// Sum of the weights of positions [0, n) of a dimension.
double weights_below(size_t dim, int64_t n) {
  static const std::vector<std::vector<double>> kSums = [] {
    std::vector<std::vector<double>> out(12, std::vector<double>(kPeriod + 1, 0));
    for (size_t d = 0; d < out.size(); ++d) {
      for (int64_t k = 0; k < kPeriod; ++k) out[d][k + 1] = out[d][k] + weight(d, k);
    }
    return out;
  }();
  const auto& sums = kSums[dim % kSums.size()];
  return static_cast<double>(n / kPeriod) * sums[kPeriod] + sums[n % kPeriod];
}

double element(const Buffer& b, size_t k) { return b.number == Number::Integer ? static_cast<double>(b.i[k]) : b.m[k]; }

bool close(double x, double y, double scale) { return std::fabs(x - y) <= kTolerance * scale; }

// Enough to tell two values apart: all totals agree, each on its own scale.
bool same_totals(const Print& x, const Print& y) {
  const double size = std::max(x.size, y.size), n = std::max(x.count, 1.0);
  return x.count == y.count && close(x.sum, y.sum, size * std::sqrt(n) + std::fabs(x.sum)) &&
         close(x.squares, y.squares, x.squares + y.squares) &&
         close(x.cubes, y.cubes, size * size * size * std::sqrt(n) + std::fabs(x.cubes));
}

Print add(Print x, const Print& y) {
  x.count += y.count;
  x.sum += y.sum;
  x.squares += y.squares;
  x.cubes += y.cubes;
  x.weighted += y.weighted;
  x.size = std::max(x.size, y.size);
  x.usable = x.usable && y.usable;
  x.constant = x.constant && y.constant;
  return x;
}

}  // namespace

int64_t group_of(const manifest::Mesh& mesh, int64_t rank, unsigned axes) {
  int64_t key = 0;
  for (size_t a = 0; a < mesh.axes.size(); ++a)
    key = key * mesh.axes[a].size + ((axes >> a & 1) != 0 ? 0 : mesh.coordinate(rank, static_cast<int>(a)));
  return key;
}

Print print_of(const Value& v) {
  Print p;
  p.usable = true;
  const Buffer& b = *v.data;
  // Sums of weights over each block: the weight of an element is the product over dimensions.
  std::vector<std::vector<double>> weights(v.axes.size());
  for (size_t d = 0; d < v.axes.size(); ++d) {
    const Axis& axis = v.axes[d];
    weights[d].resize(static_cast<size_t>(axis.blocks()), 0);
    double below = 0;
    for (int64_t r = 0; r < axis.runs(); ++r) {
      const double up_to = weights_below(d, axis.run_end(r));
      weights[d][axis.run_block(r)] += up_to - below;
      below = up_to;
    }
  }
  std::vector<size_t> at(v.axes.size(), 0);
  for (size_t k = 0; k < b.size; ++k) {
    double times = 1, w = 1;
    for (size_t d = 0; d < at.size(); ++d) {
      times *= static_cast<double>(v.axes[d].count(static_cast<int64_t>(at[d])));
      w *= weights[d][at[d]];
    }
    if (b.state_at(k) != State::Fine || !std::isfinite(element(b, k))) {
      p.usable = false;
      return p;
    }
    const double x = element(b, k);
    p.count += times;
    p.sum += times * x;
    p.squares += times * x * x;
    p.cubes += times * x * x * x;
    p.weighted += w * x;
    p.size = std::max(p.size, std::fabs(x));
    p.constant = p.constant && x == element(b, 0);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < static_cast<size_t>(v.axes[d].blocks())) break;
      at[d] = 0;
    }
  }
  return p;
}

Fingerprints::Fingerprints(const link::Problem& problem, Evaluator& evaluator, const std::vector<ir::NodeId>& visible) : problem_(problem) {
  const ir::Graph& g = problem.graph;
  const int64_t ranks = problem.mesh.num_ranks();
  // Families: nodes of one label and shape on different ranks, in order of occurrence.
  std::map<std::string, std::vector<std::vector<ir::NodeId>>> by_label;
  for (ir::NodeId id : visible) {
    const Value* v = evaluator.get(id);
    if (!v) continue;
    prints_.emplace(id, print_of(*v));
    const int side = problem.side[id];
    if (side < 0 || side >= ranks) continue;
    auto& per_rank = by_label[g[id].label];
    per_rank.resize(static_cast<size_t>(ranks));
    per_rank[static_cast<size_t>(side)].push_back(id);
  }
  for (const auto& [label, per_rank] : by_label) {
    size_t most = 0;
    for (const auto& list : per_rank) most = std::max(most, list.size());
    for (size_t k = 0; k < most; ++k) {
      Family f;
      for (const auto& list : per_rank) f.nodes.push_back(k < list.size() ? list[k] : ir::kNoNode);
      for (ir::NodeId id : f.nodes) {
        if (id != ir::kNoNode) family_of_[id] = families_.size();
      }
      families_.push_back(std::move(f));
    }
  }
  const unsigned sets = 1u << std::min<size_t>(problem.mesh.axes.size(), 6);
  for (size_t f = 0; f < families_.size(); ++f) {
    for (unsigned axes = 0; axes < sets; ++axes) {
      // Totals over the groups of ranks that differ in these axes alone; all groups that have the values must agree.
      std::map<int64_t, Print> groups;
      std::map<int64_t, int> members;
      int64_t full = 1;
      for (size_t a = 0; a < problem.mesh.axes.size(); ++a) full *= (axes >> a & 1) ? problem.mesh.axes[a].size : 1;
      for (int64_t r = 0; r < ranks; ++r) {
        const ir::NodeId id = families_[f].nodes[static_cast<size_t>(r)];
        if (id == ir::kNoNode) continue;
        const int64_t key = group_of(problem.mesh, r, axes);
        const auto [it, fresh] = groups.emplace(key, prints_.at(id));
        if (!fresh) it->second = add(it->second, prints_.at(id));
        ++members[key];
      }
      bool fine = !groups.empty();
      for (const auto& [key, p] : groups) fine = fine && p.usable && members[key] == full;
      if (!fine) continue;
      const Print& total = groups.begin()->second;
      for (const auto& [key, p] : groups) fine = fine && same_totals(p, total);
      if (!fine) continue;
      entries_.push_back({total.sum, f, axes, false, total});
      if (axes != 0) entries_.push_back({total.sum, f, axes, true, total});
    }
  }
  for (const auto& [id, print] : prints_) {
    if (family_of_.count(id) && print.usable) singles_.emplace_back(print.sum, id);
  }
  std::sort(singles_.begin(), singles_.end());
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& x, const Entry& y) { return x.sum != y.sum ? x.sum < y.sum : x.family < y.family; });
}

std::vector<Holding> Fingerprints::holdings(ir::NodeId sequential, double factor) const {
  Print p = prints_.at(sequential);
  p.sum *= factor;
  p.squares *= factor * factor;
  p.cubes *= factor * factor * factor;
  p.weighted *= factor;
  p.size *= std::fabs(factor);
  std::vector<Holding> out;
  if (!p.usable) return out;
  const double scale = p.size * std::sqrt(std::max(p.count, 1.0)) + std::fabs(p.sum), reach = 4 * kTolerance * scale;
  auto it = std::lower_bound(entries_.begin(), entries_.end(), p.sum - reach, [](const Entry& e, double v) { return e.sum < v; });
  for (; it != entries_.end() && it->sum <= p.sum + reach && out.size() < 64; ++it) {
    if (!it->partial) {
      if (same_totals(it->total, p)) out.push_back({it->family, it->axes == 0 ? Holding::How::Whole : Holding::How::Cut, it->axes, factor});
      continue;
    }
    // Partial sums have the sequential shape on every rank; the weighted sum is linear, too.
    const auto& nodes = families_[it->family].nodes;
    const auto first = std::find_if(nodes.begin(), nodes.end(), [](ir::NodeId id) { return id != ir::kNoNode; });
    if (problem_.graph[*first].shape != problem_.graph[sequential].shape) continue;
    if (close(it->total.weighted, p.weighted, std::fabs(p.weighted) + p.size * std::sqrt(std::max(p.count, 1.0)))) {
      out.push_back({it->family, Holding::How::Partial, it->axes, factor});
    }
  }
  const std::string& label = problem_.graph[sequential].label;
  const auto& op = problem_.graph[sequential].source_op;
  const auto score = [&](const Holding& h) {
    for (ir::NodeId id : families_[h.family].nodes) {
      if (id == ir::kNoNode) continue;
      return (problem_.graph[id].label == label ? 0 : 2) + (problem_.graph[id].source_op == op ? 0 : 1) + 4 * static_cast<int>(h.how);
    }
    return 100;
  };
  std::stable_sort(out.begin(), out.end(), [&](const Holding& x, const Holding& y) { return score(x) < score(y); });
  return out;
}

bool Fingerprints::held_somewhere(const Print& piece) const {
  if (!piece.usable) return false;
  const double reach = 4 * kTolerance * (piece.size * std::sqrt(std::max(piece.count, 1.0)) + std::fabs(piece.sum));
  auto single = std::lower_bound(singles_.begin(), singles_.end(), std::pair(piece.sum - reach, ir::NodeId{0}));
  for (; single != singles_.end() && single->first <= piece.sum + reach; ++single) {
    if (same_totals(prints_.at(single->second), piece)) return true;
  }
  auto it = std::lower_bound(entries_.begin(), entries_.end(), piece.sum - reach, [](const Entry& e, double v) { return e.sum < v; });
  for (; it != entries_.end() && it->sum <= piece.sum + reach; ++it) {
    if (it->partial
            ? close(it->total.weighted, piece.weighted, std::fabs(piece.weighted) + piece.size * std::sqrt(std::max(piece.count, 1.0))) &&
                  it->total.count == piece.count * static_cast<double>(1 << __builtin_popcount(it->axes))
            : same_totals(it->total, piece)) {
      return true;
    }
  }
  return false;
}

std::string Fingerprints::axes_words(unsigned axes) const {
  std::string out;
  for (size_t a = 0; a < problem_.mesh.axes.size(); ++a) {
    if (!(axes >> a & 1)) continue;
    out += (out.empty() ? "" : ", ") + problem_.mesh.axes[a].name;
  }
  return out;
}

}  // namespace shardproof::interp
