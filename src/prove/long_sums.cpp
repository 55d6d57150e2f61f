// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Long sums of the sequential program get a name that stays (L-44). A residual stream gains two summands with every layer, so that reading
// it in each layer would cost the square of their number; named every now and then it costs what is new. Ranks may add in another order and
// in pieces: their long sums are searched for the sequential program's names, and keep their summands where none is found.
#include "prove/algebra.h"

#include <algorithm>

namespace shardproof::prove {

namespace {

constexpr size_t kLong = 16;

Nid newest(const std::vector<std::pair<Nid, Rat>>& parts) {
  Nid n = 0;
  for (const auto& [node, exp] : parts) n = std::max(n, node);
  return n;
}

}  // namespace

// What a summand is made of, wherever it is read; not scalars and divisors, which as_term takes out of the whole sum.
Algebra::Parts Algebra::parts_of(const Term& t) const {
  Parts out;
  for (const Factor& f : t.f) {
    if (!f.exp.negative() && !nodes_[f.node].dims.empty()) out.emplace_back(f.node, f.exp);
  }
  return out;
}

Poly Algebra::shorten(Poly p, const Ext& ctx) {
  if (p.size() <= kLong) return p;
  const Poly guards = take_guards(p);
  // Names that exist come first, the longest one of them, on both sides: one name may hold another one.
  for (bool found = true; found && p.size() > kLong;) {
    found = false;
    std::vector<Parts> parts;
    for (const Term& t : p) parts.push_back(parts_of(t));
    std::vector<const LongSum*> names;
    for (const Parts& t : parts) {
      const auto at = long_sums_.find(newest(t));
      if (at == long_sums_.end()) continue;
      for (const LongSum& s : at->second) {
        if (s.summands.size() <= p.size()) names.push_back(&s);
      }
    }
    std::sort(names.begin(), names.end(), [](const LongSum* a, const LongSum* b) {
      return a->summands.size() != b->summands.size() ? a->summands.size() > b->summands.size() : a->name < b->name;
    });
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const LongSum* s : names) {
      std::vector<char> taken(p.size(), 0);
      Poly inside, rest;
      for (const Parts& summand : s->summands) {
        size_t j = 0;
        while (j < p.size() && (taken[j] || parts[j] != summand)) ++j;
        if (j == p.size()) break;
        taken[j] = 1;
      }
      for (size_t j = 0; j < p.size(); ++j) (taken[j] ? inside : rest).push_back(p[j]);
      if (inside.size() != s->summands.size()) continue;
      const Term t = as_term(inside, ctx, false, true);
      if (std::none_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return f.node == s->name; })) continue;
      ++applications;
      fired(Rule::L44);
      p = add(std::move(rest), {t}, ctx);
      found = true;
      break;
    }
  }
  if (structure_known || p.size() <= kLong) return add(std::move(p), guards, ctx);
  const Term t = as_term(p, ctx, false, true);
  fired(Rule::L44);
  for (const Factor& f : t.f) {
    const Node& n = nodes_[f.node];
    if (!n.kept) continue;
    LongSum named{f.node, {}};
    Nid key = 0;
    for (const Term& u : n.args[0]) {
      named.summands.push_back(parts_of(u));
      key = std::max(key, newest(named.summands.back()));
    }
    auto& list = long_sums_[key];
    if (std::none_of(list.begin(), list.end(), [&](const LongSum& s) { return s.name == f.node; })) list.push_back(std::move(named));
  }
  return add({t}, guards, ctx);
}

// May what stands before a name be multiplied into it? Brackets would hide where it is undefined.
bool Algebra::opens(const Term& rest, const Factor& name, const Ext& ctx) const {
  const Known k = known(rest, ctx);
  if (k.finite) return true;
  bool brackets = false;
  for (const Term& u : nodes_[name.node].args[0]) {
    for (const Factor& f : u.f) brackets |= nodes_[f.node].kind == Kind::Bracket;
  }
  return k.never_inf() && !brackets;
}

uint64_t Algebra::pair_key(const Term& x, const Term& y) const {
  auto one = [&](const Term& t) {
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (const auto& [node, exp] : parts_of(t)) h = (h ^ node ^ (static_cast<uint64_t>(exp.num()) << 40)) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 31);
  };
  return one(x) + one(y);
}

std::optional<Poly> Algebra::group_names(const Poly& p, const Ext& ctx) {
  if (flat_ || p.size() < 3 || p.size() > 12) return std::nullopt;
  for (size_t i = 0; i < p.size(); ++i) {
    for (size_t j = i + 1; j < p.size(); ++j) {
      if (p[i].coef.is_zero() || p[j].coef.is_zero()) continue;
      Term common{1, {}}, x{p[i].coef, {}}, y{p[j].coef, {}};
      std::set_intersection(p[i].f.begin(), p[i].f.end(), p[j].f.begin(), p[j].f.end(), std::back_inserter(common.f), before);
      std::set_difference(p[i].f.begin(), p[i].f.end(), common.f.begin(), common.f.end(), std::back_inserter(x.f), before);
      std::set_difference(p[j].f.begin(), p[j].f.end(), common.f.begin(), common.f.end(), std::back_inserter(y.f), before);
      if (common.f.empty() || pairs_.count(pair_key(x, y)) == 0 || (!known(common, ctx).never_inf() && refused(Rule::L51))) continue;
      Poly both{std::move(x), std::move(y)};
      if (prove::compare(both[1], both[0]) < 0) std::swap(both[0], both[1]);
      const Term name = as_term(both, ctx);
      if (std::none_of(name.f.begin(), name.f.end(),
                       [&](const Factor& f) { return nodes_[f.node].kind == Kind::Sum && sequential(f.node); }))
        continue;
      Term whole{name.coef, name.f};
      whole.f.insert(whole.f.end(), common.f.begin(), common.f.end());
      if (!combine_factors(whole, ctx)) continue;
      ++applications;
      fired(Rule::L51);
      Poly out{std::move(whole)};
      for (size_t k = 0; k < p.size(); ++k) {
        if (k != i && k != j) out.push_back(p[k]);
      }
      std::sort(out.begin(), out.end(), [](const Term& s, const Term& t) { return prove::compare(s, t) < 0; });
      return out;
    }
  }
  return std::nullopt;
}

Poly Algebra::lengthen(const Poly& p, const Ext& ctx) {
  Poly out;
  for (const Term& t : p) {
    size_t name = t.f.size();
    for (size_t i = 0; i < t.f.size() && name == t.f.size(); ++i) {
      if (nodes_[t.f[i].node].kind == Kind::Sum && t.f[i].exp.is_one() && nodes_[t.f[i].node].args[0].size() > 1) name = i;
    }
    // f (inf - x) is inf, f inf - f x may be undefined.
    Term rest = t;
    if (name != t.f.size()) rest.f.erase(rest.f.begin() + static_cast<std::ptrdiff_t>(name));
    if (name == t.f.size() || t.coef.is_zero() || !opens(rest, t.f[name], ctx)) {
      out = add(std::move(out), {t}, ctx);
      continue;
    }
    for (const Term& u : expand_named(t.f[name], ctx)) out = add(std::move(out), mul({rest}, {u}, ctx), ctx);
  }
  return out;
}

}  // namespace shardproof::prove
