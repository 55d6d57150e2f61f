// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Comparison with nested sums opened (L-65). Sums of sums have many orders and names, and no order is the normal one: a gradient that a
// rank gets by another chain of products than the one-device program is the same polynomial of the same inputs, grouped otherwise. Where
// two polys differ, both are rewritten without their outermost nested sums and names: what was sum over a of f(a) (x(a) + sum over b of
// g(a, b)) becomes sum over a of f x + sum over a, b of f g. What is equal then falls out on both sides, and only the rest is opened one
// level deeper. The depth of a node in the graph of nodes is its level, so that the two sides are always opened to the same level, and
// nothing is opened twice.
#include <algorithm>
#include <ctime>

#include "prove/algebra.h"
#include "prove/rows.h"

namespace shardproof::prove {

namespace {

constexpr size_t kTerms = 96;       // in one poly
constexpr size_t kVariables = 16;   // bound ones, of one product
constexpr int kLevels = 40;         // of one comparison
constexpr int64_t kCopies = 3;      // the highest power that is read as a product
constexpr size_t kOpenings = 6000;  // of one problem
constexpr uint64_t kWork = 60'000;  // rules that these may cost
constexpr double kSeconds = 2.5;    // of the processor

}  // namespace

// One more than the deepest node it is made of; nodes are made after their parts.
uint32_t Algebra::depth_of(Nid id) {
  while (depths_.size() <= id) {
    uint32_t depth = 0;
    for (const Poly& p : nodes_[depths_.size()].args) {
      for (const Term& t : p) {
        for (const Factor& f : t.f) depth = std::max(depth, depths_[f.node]);
      }
    }
    depths_.push_back(depth + 1);
  }
  return depths_[id];
}

bool Algebra::is_sum(const Factor& f) const {
  const Node& n = nodes_[f.node];
  return (n.kind == Kind::Sum || (n.kind == Kind::Red && n.fn == ir::Fn::Add && n.args[0].size() == 1)) && f.exp.is_integer() &&
         f.exp.positive() && f.exp.num() <= kCopies;
}

// The level at which p would be opened next, below `limit`; 0 if there is nothing left.
uint32_t Algebra::next_level(const Poly& p, uint32_t limit) {
  uint32_t level = 0;
  const auto look = [&](const Factor& f) {
    const uint32_t depth = depth_of(f.node);
    if (depth < limit && is_sum(f)) level = std::max(level, depth);
  };
  for (const Term& t : p) {
    if (t.coef.is_zero()) continue;
    for (const Factor& f : t.f) {
      if (!is_sum(f)) continue;
      if (nodes_[f.node].kind == Kind::Sum) {
        look(f);
      } else {
        for (const Factor& g : nodes_[f.node].args[0][0].f) look(g);
      }
    }
  }
  return level;
}

std::optional<Poly> Algebra::open_level(const Poly& p, uint32_t level, const Ext& ctx) {
  struct Flat {
    Term t;
    Ext ext;  // ctx, then what the product is summed over
  };
  const auto may_open = [&](const Flat& flat, size_t at) { return opens(without(flat.t, at), flat.t.f[at], flat.ext); };
  // A sum in a product becomes bound variables of the product.
  const auto merge = [&](const Flat& flat, size_t at) {
    auto [t, ext] = open_in(flat.t, at, flat.ext);
    std::sort(t.f.begin(), t.f.end(), before);
    return Flat{std::move(t), std::move(ext)};
  };
  Poly out;
  for (const Term& t : p) {
    std::vector<Flat> work{{t, ctx}};
    // The sums of the term itself that hold something to open.
    for (bool again = !t.coef.is_zero(); again;) {
      again = false;
      for (size_t i = 0; i < work[0].t.f.size() && !again; ++i) {
        const Factor& f = work[0].t.f[i];
        if (!is_sum(f) || nodes_[f.node].kind != Kind::Red || depth_of(f.node) <= level) continue;
        const std::vector<Factor>& body = nodes_[f.node].args[0][0].f;
        if (std::none_of(body.begin(), body.end(), [&](const Factor& g) { return is_sum(g) && depth_of(g.node) == level; })) continue;
        if (!may_open(work[0], i)) continue;
        work[0] = merge(work[0], i);
        again = true;
      }
    }
    while (!work.empty()) {
      Flat flat = std::move(work.back());
      work.pop_back();
      size_t at = flat.t.f.size();
      for (size_t i = 0; i < flat.t.f.size() && at == flat.t.f.size() && !flat.t.coef.is_zero(); ++i) {
        if (is_sum(flat.t.f[i]) && depth_of(flat.t.f[i].node) == level && may_open(flat, i)) at = i;
      }
      if (at == flat.t.f.size()) {
        const int bound = static_cast<int>(flat.ext.size() - ctx.size());
        if (bound > static_cast<int>(kVariables)) return std::nullopt;
        out = add(std::move(out), bound == 0 ? make_term(std::move(flat.t), ctx) : reduce_term(flat.t, flat.ext, bound), ctx);
        if (out.size() > kTerms) return std::nullopt;
        continue;
      }
      openings_ += 1 + out.size() / 4;
      if (openings_ > kOpenings || applications > work_limit_ || std::clock() > clock_limit_) return std::nullopt;
      if (nodes_[flat.t.f[at].node].kind == Kind::Red) {
        work.push_back(merge(flat, at));
        continue;
      }
      const Term rest = without(flat.t, at);
      for (const Term& u : expand_named(flat.t.f[at], flat.ext)) {
        for (Term& v : mul({rest}, {u}, flat.ext)) work.push_back({std::move(v), flat.ext});
      }
      if (work.size() > kTerms) return std::nullopt;
    }
  }
  return out;
}

bool Algebra::equal_flat(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined) {
  const During scope(flat_);
  if (work_limit_ == 0) {
    work_limit_ = applications + kWork;
    clock_limit_ = std::clock() + static_cast<std::clock_t>(kSeconds * CLOCKS_PER_SEC);
  }
  Poly x = a, y = b;
  uint32_t level = UINT32_MAX;
  for (int step = 0; step < kLevels; ++step) {
    Poly left, right, same;
    tell_apart(x, y, left, right, &same);
    level = std::max(next_level(left, level), next_level(right, level));
    if (level == 0) return false;
    const auto l = open_level(left, level, ctx), r = open_level(right, level, ctx);
    if (!l || !r) return false;
    ++applications;
    x = add(same, *l, ctx);
    y = add(std::move(same), *r, ctx);
    if (equal(x, y, ctx, where_defined)) return true;
  }
  return false;
}

}  // namespace shardproof::prove
