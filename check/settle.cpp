// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// How: closed terms that both sides read stay closed; those that only one side reads are opened, and so on down to a common frontier. If
// the sides still differ, everything at the frontier is opened, cheap terms first. Opening never makes a true equation false.
#include "check/settle.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardproof::check {

namespace {

constexpr uint64_t kAll = 600'000'000;  // reads of one certificate, about a minute
constexpr uint64_t kMoodReads = 20'000;
constexpr size_t kAlike = kMoods, kSingles = 8;
constexpr Draw kDraws[] = {Draw::Generic, Draw::Positive, Draw::Special, Draw::Wild, Draw::Special, Draw::Generic};

bool agree(Relation relation, const Number& l, const Number& r) {
  if (relation == Relation::Sequential && is_undefined(l)) return true;
  if (relation == Relation::Distributed && is_undefined(r)) return true;
  return same(l, r);
}

// What to open next.
std::vector<uint32_t> frontier(Terms& t) {
  std::vector<uint32_t> sides[2], out;
  for (int s = 0; s < 2; ++s) {
    for (uint32_t id : t.leaves[s]) {
      sides[s].push_back(t.kernel(id));
      if (t.node(id).kind == TermKind::Bracket) out.push_back(id);
    }
    std::sort(sides[s].begin(), sides[s].end());
  }
  if (!out.empty()) return out;  // masks and indices decide what is read at all
  out = t.align(sides[0], sides[1]);
  if (!out.empty()) return out;
  // Relatives: a term over nothing but what is read anyway, and terms over the same things as another (a sum and the sum of it over one
  // more variable).
  std::map<uint32_t, std::vector<uint32_t>> over;  // kernel -> what stands in its definition
  std::map<std::vector<uint32_t>, int> alike;
  for (int s = 0; s < 2; ++s) {
    for (uint32_t id : t.leaves[s]) {
      const auto [it, fresh] = over.try_emplace(t.kernel(id));
      if (!fresh) continue;
      t.inside(id, it->second);
      std::erase_if(it->second, [&](uint32_t k) { return t.node(k).kind == TermKind::Iota || t.node(k).kind == TermKind::Lit; });
      std::sort(it->second.begin(), it->second.end());
      if (!it->second.empty()) ++alike[it->second];
    }
  }
  auto one_sided = [&](uint32_t k) {
    return std::binary_search(sides[0].begin(), sides[0].end(), k) != std::binary_search(sides[1].begin(), sides[1].end(), k);
  };
  std::set<std::vector<uint32_t>> urgent;  // with a member that one side only reads: these first
  for (const auto& [kernel, list] : over) {
    if (!list.empty() && one_sided(kernel)) urgent.insert(list);
  }
  auto relatives = [&](bool all) {
    for (const auto& [kernel, list] : over) {
      if (!t.can_open(kernel) || list.empty()) continue;
      bool covered = true;
      for (uint32_t k : list) covered &= over.count(k) != 0;
      if ((alike[list] > 1 || covered) && (all || urgent.count(list) != 0)) out.push_back(kernel);
    }
    return !out.empty();
  };
  // One side reads something (a free input, say) that the other has directly inside of a term: sums that were flattened on one side only.
  std::set<uint32_t> alone;
  for (const auto& [kernel, list] : over) {
    if (one_sided(kernel)) alone.insert(kernel);
  }
  for (const auto& [kernel, list] : over) {
    if (!t.can_open(kernel)) continue;
    bool direct = false;
    for (uint32_t k : list) direct |= alone.count(k) != 0;
    if (direct) out.push_back(kernel);
  }
  if (!out.empty() || relatives(false)) return out;
  if (relatives(true)) return out;
  // Else the latest of all: two forms of one function come together further down.
  for (int s = 0; s < 2; ++s) {
    for (uint32_t id : t.leaves[s]) {
      if (t.can_open(id) && (out.empty() || id > out[0])) out.assign(1, id);
    }
  }
  return out;
}

using Feeling = std::pair<uint32_t, Mood>;

// The moods that the terms read by either side may have, those first that rules most often forget.
std::vector<Feeling> feelings(const Terms& t) {
  std::set<uint32_t> kernels;
  for (int s = 0; s < 2; ++s) {
    for (uint32_t id : t.leaves[s]) kernels.insert(t.kernel(id));
  }
  std::vector<Feeling> out;
  for (Mood mood :
       {Mood::Undefined, Mood::Infinite, Mood::MinusInfinite, Mood::Zero, Mood::Low, Mood::High, Mood::Wanted, Mood::Minus, Mood::One}) {
    for (uint32_t k : kernels) {
      const Derived& d = t.derived(k);
      const bool infinite = mood == Mood::Infinite || mood == Mood::MinusInfinite;
      const bool whole = mood == Mood::Low || mood == Mood::High || mood == Mood::Wanted;
      if (d.integer ? infinite : whole) continue;
      if (d.finite && (infinite || mood == Mood::Undefined)) continue;
      if (d.nonneg && (mood == Mood::MinusInfinite || mood == Mood::Minus)) continue;
      if (!out.empty() && d.integer && d.lo == d.hi) continue;
      out.emplace_back(k, mood);
    }
  }
  return out;
}

// One round of the search for values at which the sides differ: all terms at one mood, each at each of its own, then some at random ones.
void feel(Terms& t, const std::vector<Feeling>& all, size_t round) {
  if (round < kAlike) {
    for (const auto& [kernel, mood] : all) {
      if (static_cast<size_t>(mood) == 1 + round) t.feel(kernel, mood, Terms::kEverywhere);
    }
  } else if (round < kAlike + kSingles * all.size()) {
    const auto& [kernel, mood] = all[(round - kAlike) % all.size()];
    t.feel(kernel, mood, static_cast<int>((round - kAlike) / all.size()));
  } else {
    for (uint64_t k = 0; k < 2 + round % 2; ++k) {
      const auto& [kernel, mood] = all[mix(round, k) % all.size()];
      t.feel(kernel, mood, static_cast<int>(mix(round, 10 + k) % kSingles));
    }
  }
}

}  // namespace

Settled settle(Terms& t, const Equation& q, const std::vector<uint32_t>& open) {
  Settled result;
  t.close_all();
  for (uint32_t id : open) t.open(id);
  const uint64_t all = kAll / t.thrift, aim = q.aim / t.thrift;
  t.budget = t.spent + std::min(q.budget, t.spent < all ? all - t.spent : 0);
  std::vector<char> done(q.count, 0);
  size_t identical = 0;
  if (q.identical) {
    for (size_t k = 0; k < q.count; ++k) identical += done[k] = q.identical(k);
  }
  result.tested = identical;
  result.equal = identical == q.count;
  if (result.equal) return result;
  size_t first = 0;  // a point that failed before is tried first
  while (first < q.count && done[first]) ++first;
  std::vector<size_t> order;
  for (int level = 0; level <= q.levels; ++level) {
    t.forget();
    bool failed = false;
    size_t decided = 0, tried = 0, hollow = 0;  // undefined on both sides
    uint64_t dearest = 0;
    auto test = [&](size_t k) {
      t.uncertain = false;
      const uint64_t before = t.spent;
      t.watch(0);
      const Number l = q.left(k);
      t.watch(1);
      const Number r = q.right(k);
      ++tried;
      dearest = std::max(dearest, t.spent - before);
      if (t.uncertain) return;
      if (!agree(q.relation, l, r)) {
        failed = true;
        first = k;
        result.point = k;
        result.left = l, result.right = r;
        return;
      }
      decided += !is_undefined(l) && !is_undefined(r);
      hollow += is_undefined(l) && is_undefined(r);
    };
    size_t rounds = q.rounds ? q.rounds : std::size(kDraws) + (q.count < 12 ? 24 / std::max<size_t>(q.count, 1) : 0);
    size_t stride = std::max<size_t>(1, q.count / 16);  // of the rounds after the first
    for (size_t round = 0; round < rounds && !failed && t.spent <= t.budget; ++round) {
      t.start(static_cast<uint64_t>(level) * 1000 + round, kDraws[round % std::size(kDraws)]);
      const bool hints = q.hint && kDraws[round % std::size(kDraws)] == Draw::Special;
      if (round == 0 || order.empty() || dearest < aim / 4) {  // else another point is worth more
        t.favour(hints ? q.hint(first) : nullptr);
        test(first);
      }
      if (round == 0) {
        // The rest in random order, as many as one may have; of each piece at least two.
        order.clear();
        for (size_t k = 0; k < q.count; ++k) {
          if (!done[k] && k != first) order.push_back(k);
        }
        const uint64_t most = aim / std::max<uint64_t>(dearest, 1);
        if (order.size() > most) {
          for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[mix(t.spent, k) % k]);
          std::map<uint64_t, size_t> had;
          auto rest = std::stable_partition(order.begin(), order.end(), [&](size_t k) { return q.piece && ++had[q.piece(k)] <= 2; });
          const size_t keep = std::max({static_cast<size_t>(rest - order.begin()), static_cast<size_t>(most), size_t{3}});
          order.resize(std::min(order.size(), keep));
        }
        // The other rounds together as much again.
        if (order.size() * rounds > most) {
          rounds = std::min(rounds, std::size(kDraws));
          stride = std::max(stride, order.size() / std::max<size_t>(1, static_cast<size_t>(most) / std::size(kDraws)));
        }
      }
      const size_t step = round == 0 ? 1 : stride;
      for (size_t j = round % step; j < order.size() && !failed && t.spent <= t.budget; j += step) {
        t.favour(hints ? q.hint(order[j]) : nullptr);
        test(order[j]);
      }
    }
    // Then the odd values, at a few points each time.
    if (!failed && (decided > 0 || hollow == tried)) {
      const std::vector<Feeling> all = feelings(t);
      const uint64_t until = t.spent + std::max(kMoodReads / t.thrift, 6 * dearest);
      order.push_back(first);
      size_t next = 0;
      for (size_t round = 0; round < kAlike + (kSingles + 4) * all.size() && !all.empty() && !failed && t.spent < std::min(until, t.budget);
           ++round) {
        t.start(static_cast<uint64_t>(level) * 1000 + 500 + round, kDraws[round / 3 % 3]);
        feel(t, all, round);
        for (size_t j = 0; j < std::min<size_t>(order.size(), 3) && !failed; ++j) {
          const size_t k = order[next++ % order.size()];
          t.favour(q.hint && round % 2 ? q.hint(k) : nullptr);
          test(k);
        }
      }
    }
    result.tested += tried;
    t.favour(nullptr);
    t.uncertain = false;
    if (t.spent > t.budget) break;
    if (!failed && decided > 0) {
      result.equal = true;
      return result;
    }
    std::vector<uint32_t> more;
    if (t.leaves[0].empty() != t.leaves[1].empty()) {
      // A sum that cancels: by what is read at many places, not by what stands in front of it.
      std::unordered_map<uint32_t, Terms::Census> census;
      t.census = &census;
      t.leaves[1].empty() ? q.left(first) : q.right(first);
      t.census = nullptr;
      t.uncertain = false;
      for (const auto& [id, seen] : census) {
        if (seen.changes > 0 && t.can_open(id) && (more.empty() || id > more[0])) more.assign(1, id);
      }
    }
    if (more.empty()) more = frontier(t);
    if (more.empty()) {  // defined nowhere: so it seems, whatever the inputs are
      result.equal = !failed && q.hollow && hollow == tried;
      result.undecided = !failed && !result.equal;
      return result;
    }
    for (uint32_t id : more) t.open(id);
  }
  result.undecided = true;
  return result;
}

}  // namespace shardproof::check
