// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "prove/shift_memo.h"

#include <cstdlib>

#include "util/result.h"

namespace shardproof::prove {

namespace {

constexpr size_t kMostShifts = 64;  // of an entry that does not hold anywhere

}  // namespace

size_t ShiftMemo::Hash::operator()(const std::vector<int64_t>& key) const {
  uint64_t h = key.size();
  for (const int64_t v : key) h = (h ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
  return h;
}

// Index forms, brackets, padded readings and pieces stand for something else at other places, or are written otherwise there.
bool ShiftMemo::movable(const Poly& p) const {
  for (const Term& t : p) {
    for (const Factor& f : t.f) {
      const Node& n = a_.node(f.node);
      if (n.kind == Kind::Iota || n.kind == Kind::Bracket || n.kind == Kind::Grid || n.padded || n.dense) return false;
    }
  }
  return true;
}

// Where each variable starts: a row of which all other variables are known says it of one; where rows have several, the one with the
// largest step starts where the row does. The choice depends on the rows' steps alone, so equal forms choose alike.
bool ShiftMemo::anchor(const std::vector<const Poly*>& args, const Ext& ctx, size_t free, std::vector<int64_t>& shift) const {
  const size_t n = ctx.size(), w = n + 1;
  std::vector<char> open(n, 0);
  size_t left = 0;
  for (size_t v = 0; v < free; ++v) {
    if (ctx[v] != 1) open[v] = 1, ++left;
  }
  const auto settle = [&](const int64_t* row, bool several) {  // false: too large
    size_t var = n, count = 0;
    for (size_t v = 0; v < free; ++v) {
      if (row[v] == 0 || !open[v]) continue;
      if (count++ == 0 || std::abs(row[v]) > std::abs(row[var])) var = v;
    }
    if (count == 0 || (count > 1) != several) return true;
    int64_t c = row[n];
    for (size_t v = 0; v < free; ++v) {
      int64_t moved = 0;
      if (row[v] == 0 || shift[v] == 0) continue;
      if (__builtin_mul_overflow(row[v], shift[v], &moved) || __builtin_sub_overflow(c, moved, &c)) return false;
    }
    shift[var] = floor_div(c, row[var]);
    open[var] = 0;
    --left;
    return true;
  };
  bool several = false;
  while (left > 0) {
    const size_t before = left;
    for (const Poly* p : args) {
      for (const Term& t : *p) {
        for (const Factor& f : t.f) {
          for (const int64_t *row = f.map.data(), *end = row + f.map.size(); row != end; row += w) {
            if (!settle(row, several)) return false;
            if (left < before) several = false;  // it may settle other rows
          }
        }
      }
    }
    if (left == before) {
      if (several) break;
      several = true;
    }
  }
  return true;
}

// The form is the arguments with all rows counted from where each variable starts.
bool ShiftMemo::make_key(std::initializer_list<int64_t> tag, const std::vector<const Poly*>& args, const Ext& ctx, int bound,
                         Key& key) const {
  const size_t n = ctx.size(), w = n + 1, free = n - static_cast<size_t>(bound);
  size_t length = tag.size() + n + 2;
  bool places = true;
  for (const Poly* p : args) {
    places = places && movable(*p);
    for (const Term& t : *p) {
      length += 3;
      for (const Factor& f : t.f) length += 3 + f.map.size();
    }
    ++length;
  }
  if (length > 20000) return false;
  key.shift.assign(free, 0);
  if (places && !anchor(args, ctx, free, key.shift)) return false;
  std::vector<int64_t>& k = key.form;
  k.reserve(length);
  k.insert(k.end(), tag.begin(), tag.end());
  k.push_back(places ? bound : -1 - bound);
  k.insert(k.end(), ctx.begin(), ctx.end());
  for (const Poly* p : args) {
    k.push_back(static_cast<int64_t>(p->size()));
    for (const Term& t : *p) {
      k.push_back(t.coef.num());
      k.push_back(t.coef.den());
      k.push_back(static_cast<int64_t>(t.f.size()));
      for (const Factor& f : t.f) {
        k.push_back(f.node);
        k.push_back(f.exp.num());
        k.push_back(f.exp.den());
        for (size_t at = 0; at < f.map.size(); at += w) {
          int64_t c = f.map[at + n];
          for (size_t v = 0; v < free; ++v) {
            int64_t moved = 0;
            if (f.map[at + v] == 0 || key.shift[v] == 0) continue;
            if (__builtin_mul_overflow(f.map[at + v], key.shift[v], &moved) || __builtin_sub_overflow(c, moved, &c)) return false;
          }
          k.insert(k.end(), f.map.begin() + static_cast<std::ptrdiff_t>(at), f.map.begin() + static_cast<std::ptrdiff_t>(at + n));
          k.push_back(c);
        }
      }
    }
  }
  return true;
}

std::optional<Poly> ShiftMemo::moved(const Poly& p, const std::vector<int64_t>& from, const std::vector<int64_t>& to,
                                     const Ext& ctx) const {
  const size_t n = from.size(), w = n + 1;
  Poly out = p;
  for (Term& t : out) {
    for (Factor& f : t.f) {
      const Node& node = a_.node(f.node);
      for (size_t r = 0; r < node.dims.size(); ++r) {
        int64_t* row = &f.map[r * w];
        for (size_t v = 0; v < n; ++v) {
          int64_t by = 0;
          if (row[v] == 0 || to[v] == from[v]) continue;
          if (__builtin_sub_overflow(to[v], from[v], &by) || __builtin_mul_overflow(row[v], by, &by) ||
              __builtin_add_overflow(row[n], by, &row[n]))
            return std::nullopt;
        }
        if (node.dims[r] == kUnbounded) continue;
        int64_t lo = row[n], hi = lo;
        for (size_t v = 0; v < n; ++v) {
          if (row[v] == 0) continue;
          int64_t span = 0;
          if (ctx[v] == kUnbounded || __builtin_mul_overflow(row[v], ctx[v] - 1, &span)) return std::nullopt;
          int64_t& end = span < 0 ? lo : hi;
          if (__builtin_add_overflow(end, span, &end)) return std::nullopt;
        }
        if (lo < 0 || hi >= node.dims[r]) return std::nullopt;
      }
    }
  }
  return out;
}

std::optional<Poly> ShiftMemo::find(const Key& key, const Ext& ctx, int bound) {
  const auto it = entries_.find(key.form);
  if (it == entries_.end()) return std::nullopt;
  const Entry& e = it->second;
  for (const auto& [shift, value] : e.values) {
    if (shift == key.shift) {
      ++hits;
      return value;
    }
  }
  if (!e.anywhere || e.values.empty()) return std::nullopt;
  const Ext outer(ctx.begin(), ctx.end() - bound);
  std::optional<Poly> p = moved(e.values[0].second, e.values[0].first, key.shift, outer);
  hits += p.has_value();
  return p;
}

void ShiftMemo::keep(Key key, const Poly& p, bool anywhere) {
  Entry& e = entries_[std::move(key.form)];
  if (e.values.empty()) e.anywhere = anywhere && movable(p);
  if (e.values.size() < kMostShifts) e.values.emplace_back(std::move(key.shift), p);
}

}  // namespace shardproof::prove
