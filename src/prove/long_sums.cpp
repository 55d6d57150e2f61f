// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Long sums of the sequential program get a name that stays (L-44). A residual stream gains two summands with every layer, so that reading it
// in each layer would cost the square of their number; named every now and then it costs what is new. Ranks may add in another order and in
// pieces: their long sums are searched for the sequential program's names, and keep their summands where none is found.
#include "prove/algebra.h"

#include <algorithm>

namespace shardproof::prove {

namespace {

constexpr size_t kLong = 16;

}  // namespace

// What a summand is made of, wherever it is read; not scalars and divisors, which as_term takes out of the whole sum.
std::vector<std::pair<Nid, Rat>> Algebra::parts_of(const Term& t) const {
  std::vector<std::pair<Nid, Rat>> out;
  for (const Factor& f : t.f) {
    if (!f.exp.negative() && !nodes_[f.node].dims.empty()) out.emplace_back(f.node, f.exp);
  }
  return out;
}

Nid Algebra::newest_part(const Term& t) const {
  Nid n = 0;
  for (const auto& [node, exp] : parts_of(t)) n = std::max(n, node);
  return n;
}

Poly Algebra::shorten(Poly p, const Ext& ctx) {
  if (p.size() <= kLong) return p;
  const Poly guards = take_guards(p);
  if (!structure_known) {
    if (p.size() <= kLong) return add(std::move(p), guards, ctx);
    const Term t = as_term(p, ctx, false, true);
    for (const Factor& f : t.f) {
      const Node& n = nodes_[f.node];
      if (!n.kept) continue;
      LongSum named{f.node, {}};
      Nid key = 0;
      for (const Term& u : n.args[0]) {
        named.summands.push_back(parts_of(u));
        key = std::max(key, newest_part(u));
      }
      auto& list = long_sums_[key];
      if (std::none_of(list.begin(), list.end(), [&](const LongSum& s) { return s.name == f.node; })) list.push_back(std::move(named));
    }
    return add({t}, guards, ctx);
  }
  // One name may hold another one: again until nothing more is found.
  for (bool found = true; found && p.size() > kLong;) {
    found = false;
    for (size_t i = 0; i < p.size() && !found; ++i) {
      const auto at = long_sums_.find(newest_part(p[i]));
      if (at == long_sums_.end()) continue;
      for (const LongSum& s : at->second) {
        if (s.summands.size() > p.size()) continue;
        std::vector<char> taken(p.size(), 0);
        Poly inside, rest;
        for (const auto& parts : s.summands) {
          size_t j = 0;
          while (j < p.size() && (taken[j] || parts_of(p[j]) != parts)) ++j;
          if (j == p.size()) break;
          taken[j] = 1;
        }
        for (size_t j = 0; j < p.size(); ++j) (taken[j] ? inside : rest).push_back(p[j]);
        if (inside.size() != s.summands.size()) continue;
        const Term t = as_term(inside, ctx, false, true);
        if (std::none_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return f.node == s.name; })) continue;
        ++applications;
        p = add(std::move(rest), {t}, ctx);
        found = true;
        break;
      }
    }
  }
  return add(std::move(p), guards, ctx);
}

Poly Algebra::lengthen(const Poly& p, const Ext& ctx) {
  Poly out;
  for (const Term& t : p) {
    size_t name = t.f.size();
    for (size_t i = 0; i < t.f.size() && name == t.f.size(); ++i) {
      if (nodes_[t.f[i].node].kept && t.f[i].exp.is_one()) name = i;
    }
    if (name == t.f.size()) {
      out = add(std::move(out), {t}, ctx);
      continue;
    }
    Term rest = t;
    rest.f.erase(rest.f.begin() + static_cast<std::ptrdiff_t>(name));
    out = add(std::move(out), mul({std::move(rest)}, expand_named(t.f[name], ctx), ctx), ctx);
  }
  return out;
}

}  // namespace shardproof::prove
