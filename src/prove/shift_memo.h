// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Normal forms that were computed before, up to where their parts are read: rank 3 computes of its rows what rank 0 computed of its own.
//
// Let R be the form that was computed for f(P, ...) in a context. If each Q is P with variable v replaced by v + s_v, for one s for all
// arguments, f(Q, ...) is R with the same replacement, as far as nothing in R was concluded from where the variables run: the identities
// that led to R hold at all places (Algebra::ranged tells). Not for variables that are summed over, nor for those of extent 1, which forms
// read as the constant 0. Where something was concluded, R stands for the same arguments only.
#pragma once

#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "prove/algebra.h"

namespace shardproof::prove {

class ShiftMemo {
 public:
  explicit ShiftMemo(Algebra& algebra) : a_(algebra) {}

  // compute(), or what it would give. The arguments are over ctx, of which the last `bound` variables are summed over; the result is over
  // the others. `tag` tells what is computed from what.
  template <class F>
  Poly operator()(std::initializer_list<int64_t> tag, const std::vector<const Poly*>& args, const Ext& ctx, int bound, F&& compute) {
    if (!usable()) return compute();
    Key key;
    if (!make_key(tag, args, ctx, bound, key)) return compute();
    if (auto found = find(key, ctx, bound)) return *std::move(found);
    a_.ranged = false;
    Poly p = compute();
    keep(std::move(key), p, !a_.ranged);
    return p;
  }

  uint64_t hits = 0;

 private:
  struct Key {
    std::vector<int64_t> form, shift;
  };
  struct Entry {
    bool anywhere = false;
    std::vector<std::pair<std::vector<int64_t>, Poly>> values;  // by shift; the first stands for all if it holds anywhere
  };
  struct Hash {
    size_t operator()(const std::vector<int64_t>& key) const;
  };
  bool usable() const { return a_.structure_known && !a_.thorough; }
  bool make_key(std::initializer_list<int64_t> tag, const std::vector<const Poly*>& args, const Ext& ctx, int bound, Key& key) const;
  bool anchor(const std::vector<const Poly*>& args, const Ext& ctx, size_t free, std::vector<int64_t>& shift) const;
  std::optional<Poly> find(const Key& key, const Ext& ctx, int bound);
  void keep(Key key, const Poly& p, bool anywhere);
  bool movable(const Poly& p) const;
  std::optional<Poly> moved(const Poly& p, const std::vector<int64_t>& from, const std::vector<int64_t>& to, const Ext& ctx) const;

  Algebra& a_;
  std::unordered_map<std::vector<int64_t>, Entry, Hash> entries_;
};

}  // namespace shardproof::prove
