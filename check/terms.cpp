// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Evaluation of terms: by definition, or as random functions. derive.cpp has what restricts the latter.
#include "check/terms.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <set>

#include "frontend/certificate/cells.h"

namespace shardproof::check {

using ir::DType;
using ir::Fn;

namespace {

constexpr int kDepth = 1500, kTries = 100;
constexpr size_t kUsualRank = 16;
constexpr int64_t kOrder = 4096;
constexpr long double kThin = 100;

DType type_named(const std::string& name) {
  for (int t = 0; t <= static_cast<int>(DType::Token); ++t) {
    if (ir::name(static_cast<DType>(t)) == name) return static_cast<DType>(t);
  }
  return DType::I64;  // an integer of no declared width
}

long double unit(uint64_t h) { return static_cast<long double>(h >> 11) * 0x1p-53L; }  // [0, 1)

}  // namespace

Terms::Terms(const Certificate& certificate, const link::Problem& problem, uint64_t seed)
    : c_(certificate), problem_(problem), secret_(mix(seed)) {
  const size_t n = c_.terms.size();
  derived_.resize(n);
  guards_.resize(n);
  limits_.resize(n);
  positional_.assign(n, 0);
  helped_.assign(n, 0);
  moods_.assign(n, Mood::None);
  measured_.assign(n, 0);
  order_.assign(n, 0);
  kernel_.resize(n);
  open_.assign(n, 0);
  for (auto& s : seen_) s.assign(n, 0);
  constants_.resize(n);
  choose_prime();
  std::unordered_map<uint64_t, uint32_t> kernels;
  find_reads();
  find_stops();
  for (uint32_t id = 0; id < n; ++id) {
    const TermNode& t = c_.terms[id];
    positional_[id] = t.kind == TermKind::Iota;
    each_read(t, [&](const Factor& f) { positional_[id] |= positional_[f.node]; });
    derived_[id] = derive_node(t, extent_[id], low_[id]);
    find_guards(id);
    find_limits(id);
    kernel_[id] = id;
    if (t.kind == TermKind::Lit) constants_[id] = literal_term(t);
    if (t.kind == TermKind::Bracket) {
      for (int64_t v : {t.lo, t.hi}) {
        if (v > kNegInf && v < kPosInf && thresholds_.size() < 256) thresholds_.insert(thresholds_.end(), {v - 1, v, v + 1});
      }
    }
    order_[id] = is_order(id);
    measured_[id] = t.kind == TermKind::Red && (t.fn == Fn::Add || t.fn == Fn::Max || t.fn == Fn::Min) && !derived_[id].integer;
    if (measured_[id]) {
      // Sums (or extremes) of one body are one kernel.
      const uint64_t h = mix(mix(mix(hash(t.args[0]), static_cast<uint64_t>(t.fn)), t.dims), t.box.size());
      kernel_[id] = kernels.try_emplace(h, id).first->second;
      kernel_nonneg_.try_emplace(kernel_[id], true).first->second &= derived_[id].nonneg;
      kernel_zero_.try_emplace(kernel_[id], true).first->second &= !derived_[id].nonzero;
      std::vector<int64_t>& reach = reach_.try_emplace(kernel_[id], t.box).first->second;
      for (size_t b = 0; b < t.box.size(); b += 2)
        reach[b] = std::min(reach[b], t.box[b]), reach[b + 1] = std::max(reach[b + 1], t.box[b + 1]);
    }
  }
}

void Terms::start(uint64_t round, Draw draw) {
  seed_ = mix(secret_, round * 4 + static_cast<uint64_t>(draw));
  draw_ = draw;
  wanted_.swap(noted_);
  noted_.clear();
  memo_.clear();
  orders_.clear();
  for (uint32_t kernel : moody_) moods_[kernel] = Mood::None;
  moody_.clear();
}

void Terms::feel(uint32_t kernel, Mood mood, int where) {
  moods_[kernel] = mood;
  moody_.push_back(kernel);
  where_[kernel] = where;
}

bool Terms::at_its_place(uint32_t id, const int64_t* index) {
  uint64_t place = 7;
  if (!read(id, index, place)) return false;
  const int where = where_[kernel_[id]];
  std::vector<uint64_t>& known = places_[kernel_[id]];
  if (where <= kHalf) {
    if (known.size() < 32 && std::find(known.begin(), known.end(), place) == known.end()) known.push_back(place);
    return where == kEverywhere || mix(seed_, place) % 2 == 0;
  }
  return !known.empty() && known[static_cast<size_t>(where) % known.size()] == place;
}

void Terms::favour(const std::vector<int64_t>* values) {
  if (!values && !favourites_) return;
  favourites_ = values;
  memo_.clear();
}

void Terms::close_all() {
  ++open_epoch_;
  memo_.clear();
  noted_.clear();
  places_.clear();
}

void Terms::open(uint32_t id) {
  if (!can_open(id)) return;
  open_[kernel_[id]] = open_epoch_;
  memo_.clear();
}

// A literal that is read as it is enters the graph only through constants, whose claims are checked apart: elsewhere any number of its sign
// will do, which keeps exp(-1e30) within reach.
bool Terms::symbol(const TermNode& n) const { return n.kind == TermKind::Lit && n.name.starts_with("lit:"); }

bool Terms::can_open(uint32_t id) const {
  const TermNode& n = c_.terms[id];
  if (n.kind == TermKind::Lit) return symbol(n);
  if (n.kind == TermKind::Base) return problem_.graph[n.origin].op == ir::Op::Dense;
  return n.kind != TermKind::Iota && n.kind != TermKind::Inf && n.kind != TermKind::Whole;
}

void Terms::inside(uint32_t id, std::vector<uint32_t>& out, const std::set<uint32_t>& through) const {
  std::vector<uint32_t> stack{id};
  std::set<uint32_t> seen;
  while (!stack.empty()) {
    const TermNode& n = c_.terms[stack.back()];
    stack.pop_back();
    each_read(n, [&](const Factor& f) {
      const uint32_t k = kernel_[f.node];
      if (seen.insert(k).second) (is_open(k) || through.count(k) != 0 ? stack : out).push_back(k);
    });
  }
}

std::vector<uint32_t> Terms::align(const std::vector<uint32_t>& left, const std::vector<uint32_t>& right) const {
  std::map<uint32_t, int> sides;  // kernel -> 1: left, 2: right, 3: both
  for (uint32_t k : left) sides[k] |= 1;
  for (uint32_t k : right) sides[k] |= 2;
  std::vector<uint32_t> out, more;
  std::set<std::vector<uint32_t>> opened;  // over what
  std::set<uint32_t> gone;
  auto over = [&](uint32_t k) {  // into `more`
    more.clear();
    inside(k, more, gone);
    std::sort(more.begin(), more.end());
  };
  auto open_one = [&](uint32_t k) {
    out.push_back(k);
    gone.insert(k);
    const int side = sides[k];
    sides.erase(k);
    over(k);
    opened.insert(more);
    for (uint32_t m : more) sides[m] |= side;
  };
  while (out.size() < 400) {
    int alone = 0;
    uint32_t latest = 0;
    for (auto it = sides.rbegin(); it != sides.rend(); ++it) {
      if (it->second == 3 || !can_open(it->first)) continue;
      if (alone == 0) latest = it->first;
      alone |= it->second;
    }
    if (alone == 0) break;
    if (alone == 3) {
      // What one side only reads may stand inside of a sum that both have, beside another sum over the same: then that is opened too.
      for (auto it = sides.upper_bound(latest); it != sides.end(); ++it) {
        if (it->second != 3 || !measured_[it->first]) continue;
        over(it->first);
        if (std::binary_search(more.begin(), more.end(), latest) && opened.count(more) != 0) {
          latest = it->first;
          break;
        }
      }
      open_one(latest);
      continue;
    }
    // One side only: a term directly over something that the other side has for itself (a lookup of a table that the other reads), or over
    // nothing but what is there already.
    bool found = false;
    for (auto it = sides.rbegin(); it != sides.rend() && !found; ++it) {
      if (it->second == 3 || !can_open(it->first)) continue;
      over(it->first);
      bool covered = true;
      for (uint32_t m : more) {
        const auto other = sides.find(m);
        covered &= other != sides.end() || c_.terms[m].kind == TermKind::Iota;
        found |= other != sides.end() && other->second == (3 ^ it->second);
      }
      found |= covered;
      if (found) latest = it->first;
    }
    if (!found) break;
    open_one(latest);
  }
  return out;
}

// p at x is e, and a bracket asks whether it is below the threshold: notes which values of the integers that stand in p for themselves
// would put it on either side.
void Terms::want(const Poly& p, const int64_t* x, size_t n, const Number& e, int64_t threshold) {
  if (threshold <= kNegInf || threshold >= kPosInf || std::fabs(e.v) > 0x1p60L) return;
  for (const Product& t : p) {
    if (t.f.size() != 1 || !plain(t.f[0]) || t.den != 1 || std::abs(t.num) != 1 || !derived_[t.f[0].node].integer ||
        c_.terms[t.f[0].node].kind == TermKind::Iota)
      continue;
    const Number v = factor(t.f[0], x, n);
    if (!(std::fabs(v.v) < 0x1p60L)) continue;
    const int64_t at = static_cast<int64_t>(v.v) + t.num * (threshold - static_cast<int64_t>(e.v));
    for (int64_t near : {at, at - t.num}) {
      if (std::find(noted_.begin(), noted_.end(), near) == noted_.end() && noted_.size() < 32) noted_.push_back(near);
    }
  }
}

bool Terms::read(uint32_t id, const int64_t* index, uint64_t& hash) const {
  const TermNode& n = c_.terms[id];
  for (size_t d = 0; d < n.dims.size(); ++d) {
    const auto wide = static_cast<unsigned __int128>(hash ^ static_cast<uint64_t>(index[d])) * (secret_ | 1);
    hash = static_cast<uint64_t>(wide >> 64) ^ static_cast<uint64_t>(wide);
  }
  return within(n, index);
}

Number Terms::factor(const Factor& f, const int64_t* x, size_t n) {
  const TermNode& t = c_.terms[f.node];
  const size_t rank = t.dims.size();
  int64_t usual[kUsualRank];
  std::vector<int64_t> many;
  if (rank > kUsualRank) many.resize(rank);
  int64_t* index = rank > kUsualRank ? many.data() : usual;
  const int64_t* row = f.map.data();
  for (size_t d = 0; d < rank; ++d, row += n + 1) index[d] = row_at(row, x, n);
  switch (t.kind) {
    case TermKind::Iota: return exact(static_cast<long double>(index[0]));
    case TermKind::Inf: return exact(INFINITY);
    case TermKind::Lit:
      if (!symbol(t)) return constants_[f.node];
      break;
    default: break;
  }
  const uint32_t kernel = kernel_[f.node];
  if (open_[kernel] == open_epoch_) {
    uint64_t h = mix(secret_, f.node);
    if (!read(f.node, index, h)) return undefined();
    if (const auto it = memo_.find(h); it != memo_.end()) return it->second;
    const bool before = uncertain;
    uncertain = false;
    const Number v = define(f.node, index);
    if (memo_.size() > 2'000'000) memo_.clear();
    if (!uncertain) memo_.emplace(h, v);
    uncertain |= before;
    return v;
  }
  if (quiet_ && t.kind == TermKind::Bracket) {
    uint64_t h = 0;
    return read(f.node, index, h) ? define(f.node, index) : undefined();
  }
  if (!quiet_ && seen_[side_][kernel] != seen_epoch_) {
    seen_[side_][kernel] = seen_epoch_;
    leaves[side_].push_back(f.node);
  }
  if (census && !quiet_) {
    uint64_t h = 1;
    read(f.node, index, h);
    Census& c = (*census)[f.node];
    c.changes += c.last != 0 && c.last != h;
    c.last = h;
  }
  return closed(f.node, index);
}

bool Terms::masked(const Product& t, const int64_t* x, size_t n) {
  for (const Factor& f : t.f) {
    if (c_.terms[f.node].kind != TermKind::Bracket || f.num <= 0) continue;
    const Number b = factor(f, x, n);
    if (b.v == 0 && b.e == 0) return true;
  }
  return false;
}

Number Terms::poly(const Poly& p, const int64_t* x, size_t n) {
  Number sum = exact(0);
  for (const Product& t : p) {
    if (masked(t, x, n)) continue;
    const bool plain = t.num == 1 && t.den == 1 && !t.f.empty();
    Number v = plain ? Number{} : fraction(t.num, t.den);
    for (const Factor& f : t.f) {
      Number b = factor(f, x, n);
      if (f.num != 1 || f.den != 1) b = power(b, f.num, f.den, uncertain);
      v = plain && &f == t.f.data() ? b : mul(v, b);
    }
    sum = add(sum, v);
  }
  return sum;
}

uint64_t Terms::hash(const Poly& p) const {
  uint64_t h = mix(secret_, p.size());
  for (const Product& t : p) {
    h = mix(mix(mix(h, static_cast<uint64_t>(t.num)), static_cast<uint64_t>(t.den)), t.f.size());
    for (const Factor& f : t.f) h = mix(mix(mix(mix(h, f.node), static_cast<uint64_t>(f.num)), static_cast<uint64_t>(f.den)), f.map);
  }
  return h;
}

Number Terms::define(uint32_t id, const int64_t* index) {
  const TermNode& n = c_.terms[id];
  if (++spent > budget || depth_ > kDepth) {
    uncertain = true;
    return undefined();
  }
  ++depth_;
  struct Leave {
    int& d;
    ~Leave() { --d; }
  } leave{depth_};
  const size_t own = n.dims.size();
  switch (n.kind) {
    case TermKind::Sum: return poly(n.args[0], index, own);
    case TermKind::Bracket: {
      const Number e = poly(n.args[0], index, own);
      if (is_undefined(e)) return undefined();
      if (e.e != 0) uncertain = true;
      want(n.args[0], index, own, e, n.lo);
      want(n.args[0], index, own, e, n.hi);
      const bool low = n.lo <= kNegInf || e.v >= static_cast<long double>(n.lo),
                 high = n.hi >= kPosInf || e.v < static_cast<long double>(n.hi);
      return exact(low && high ? 1 : 0);
    }
    case TermKind::Fn: {
      std::vector<Number> a(n.args.size());
      for (size_t k = 0; k < a.size(); ++k) a[k] = poly(n.args[k], index, own);
      const DType from = n.fn == Fn::Convert ? type_named(n.name) : n.dtype;
      if (uninterpreted(n.fn, from, n.dtype)) {
        // Equal arguments, equal values: random in the arguments' bits.
        uint64_t h = mix(seed_, mix(static_cast<uint64_t>(n.fn), static_cast<uint64_t>(n.dtype)));
        for (const Number& v : a) {
          if (is_undefined(v)) return undefined();
          h = mix(h, static_cast<uint64_t>(std::llround(v.v * 1e6L)));
        }
        return {unit(h) + 0.5L, 1};
      }
      return apply(n.fn, a.data(), a.size(), from, n.dtype, uncertain);
    }
    case TermKind::Red: {
      const size_t b = n.box.size() / 2;
      std::vector<int64_t> x(index, index + own), end(b);
      x.resize(own + b);
      const bool sum = n.fn == Fn::Add;
      const DType type = n.fn == Fn::And || n.fn == Fn::Or ? DType::Bool : DType::F32;
      Number r = neutral(n.fn);
      const std::vector<Limit>& limits = limits_[id];
      long double volume = limits.empty() ? 1 : 1 / kThin;  // about as many elements are looked at
      for (size_t k = 0; k < b; ++k) volume *= static_cast<long double>(n.box[2 * k + 1] - n.box[2 * k]);
      if (volume > static_cast<long double>(budget - std::min(budget, spent))) {
        uncertain = true;
        return undefined();
      }
      auto enter = [&](size_t k) {  // variable k, those before it being set
        x[own + k] = n.box[2 * k], end[k] = n.box[2 * k + 1];
        for (const Limit& l : limits) l.narrow(x, own + k, n.box, x[own + k], end[k]);
        spent += !limits.empty();
      };
      size_t k = 0;
      if (b > 0) enter(0);
      while (spent <= budget) {
        if (b > 0 && x[own + k] >= end[k]) {
          if (k-- == 0) break;
        } else if (k + 1 < b) {
          enter(++k);
          continue;
        } else {
          ++spent;
          const Number v = poly(n.args[0], x.data(), x.size());
          if (sum) {
            r = add(r, v);
          } else {
            const Number pair[2] = {r, v};
            r = apply(n.fn, pair, 2, type, type, uncertain);
          }
          if (b == 0) break;
        }
        ++x[own + k];
      }
      if (spent > budget) uncertain = true;
      return r;
    }
    case TermKind::Take: {
      std::vector<int64_t> x(index, index + own);
      for (size_t k = 1; k < n.args.size(); ++k) {
        const Number i = poly(n.args[k], index, own);
        if (is_undefined(i) || std::isinf(i.v)) return undefined();
        if (i.e != 0 || i.v != std::floor(i.v)) return uncertain = true, undefined();
        if (n.inner[0][k - 1] == kUnbounded ? std::fabs(i.v) > 0x1p61L : i.v < 0 || i.v >= static_cast<long double>(n.inner[0][k - 1]))
          return undefined();
        x.push_back(static_cast<int64_t>(i.v));
      }
      return poly(n.args[0], x.data(), x.size());
    }
    case TermKind::Grid: {
      std::vector<int64_t> x;
      for (const Cell& c : n.cells) {
        if (find_in(c, n.dims.size(), index, x)) return poly(c.poly, x.data(), x.size());
      }
      return undefined();
    }
    case TermKind::Base: {
      const ir::Node& g = problem_.graph[n.origin];
      if (g.op != ir::Op::Dense) return closed(id, index);
      size_t at = 0;
      for (size_t d = 0; d < own; ++d) at = at * static_cast<size_t>(n.dims[d]) + static_cast<size_t>(index[d]);
      return at < g.dense->size() ? literal_value((*g.dense)[at], g.dtype) : undefined();
    }
    case TermKind::Lit: return constants_[id];
    default: return closed(id, index);
  }
}

// A random measure: a sum of products of one measure per bound variable, so that boxes that join give values that add up.
Number Terms::measure(uint32_t id, const int64_t* index) {
  const TermNode& n = c_.terms[id];
  uint64_t h = mix(seed_, kernel_[id]);
  if (!read(id, index, h)) return undefined();
  const bool nonneg = kernel_nonneg_.at(kernel_[id]);
  const size_t b = n.box.size() / 2;
  if (n.fn != Fn::Add) {
    // Element k has the value of its ruler mark (how often 2 divides k + shift) plus a random part below 1, summed over the variables: in
    // any range one mark is the highest, and it is found at once.
    long double total = 0;
    for (size_t k = 0; k < b; ++k) {
      const uint64_t r = mix(h, 901 + k);
      const int64_t shift = static_cast<int64_t>(r % (1 << 20)), lo = n.box[2 * k] + shift, hi = n.box[2 * k + 1] + shift - 1;
      if (lo > hi) return exact(n.fn == Fn::Max ? -INFINITY : INFINITY);
      // The highest mark in [lo, hi]: clear low bits of hi while it stays in range.
      uint64_t best = static_cast<uint64_t>(hi + (int64_t{1} << 56));
      const uint64_t low = static_cast<uint64_t>(lo + (int64_t{1} << 56));
      while ((best & (best - 1)) >= low) best &= best - 1;
      total += static_cast<long double>(std::countr_zero(best)) + unit(mix(r, best));
    }
    const long double v = n.fn == Fn::Max ? 0.125L * (total + 1) : 60 - 0.125L * total;
    const long double moved = nonneg || draw_ == Draw::Positive ? v : n.fn == Fn::Max ? v - 1 : v - 59;
    return {moved, std::fabs(v)};
  }
  Number sum = exact(0);
  for (int part = 0; part < 2; ++part) {
    Number product = exact(1);
    for (size_t k = 0; k < b; ++k) {
      auto at = [&](int64_t v) {
        const uint64_t r = mix(mix(h, static_cast<uint64_t>(part) * 64 + k), static_cast<uint64_t>(v));
        if (!nonneg && draw_ != Draw::Positive) return unit(r) - 0.5L;
        return static_cast<long double>(v) + unit(r) * 0.9375L;  // grows
      };
      const int64_t lo = n.box[2 * k], hi = n.box[2 * k + 1];
      product = mul(product, lo == hi ? exact(0) : Number{at(hi) - at(lo), std::fabs(at(hi)) + std::fabs(at(lo))});
    }
    sum = add(sum, product);
  }
  return sum;
}

// A sort that is done for what its keys are: of finite values, and not too long.
bool Terms::is_order(uint32_t id) {
  const TermNode& n = c_.terms[id];
  return moved_by(n) < n.args.size() && n.results == 1 && n.dims.back() >= 1 && n.dims.back() <= kOrder && derived_[id].finite;
}

// What it puts at a place. The lowest digit of a sorted dimension comes first.
Number Terms::placed(uint32_t id, const int64_t* index) {
  const TermNode& n = c_.terms[id];
  const size_t own = n.dims.size() - 1;
  const auto at = [&](size_t arg, int64_t place) {
    Index x(index, index + own);
    for (int64_t extent : n.inner[arg]) x.push_back(place % extent), place /= extent;
    return poly(n.args[arg], x.data(), x.size());
  };
  const uint64_t h = mix(mix(seed_, id), Index(index, index + own));
  if (orders_.count(h) == 0) {
    const bool falling = n.name[5] == '1';
    std::vector<Number> keys;
    Index order(static_cast<size_t>(std::accumulate(n.inner[0].begin(), n.inner[0].end(), int64_t{1}, std::multiplies<>())));
    std::iota(order.begin(), order.end(), 0);
    for (int64_t place : order) keys.push_back(at(0, place));
    if (std::any_of(keys.begin(), keys.end(), is_undefined)) return undefined();
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t x, size_t y) { return falling ? keys[x].v > keys[y].v : keys[x].v < keys[y].v; });
    for (size_t k = 1; k < order.size(); ++k) {
      const int way = turn(keys[static_cast<size_t>(order[k - 1])], keys[static_cast<size_t>(order[k])], uncertain);
      uncertain |= falling ? way < 0 : way > 0;
    }
    orders_.emplace(h, std::move(order));
  }
  const Index& places = orders_.at(h);
  if (index[own] < 0 || index[own] >= static_cast<int64_t>(places.size())) return undefined();  // a bracket hides it, or it is no claim
  return at(moved_by(n), places[static_cast<size_t>(index[own])]);
}

bool Terms::guarded(uint32_t id, const int64_t* index) {
  if (guards_[id].empty()) return false;
  const bool was_quiet = quiet_, was_uncertain = uncertain;
  quiet_ = true;
  bool holds = true;
  const size_t own = c_.terms[id].dims.size();
  for (const Guard& g : guards_[id]) {
    std::vector<int64_t> x(g.variables);
    for (size_t r = 0; r < g.variables; ++r) x[r] = row_at(g.rows.data() + r * (own + 1), index, own);
    const Number v = poly(*g.index, x.data(), x.size());
    holds = holds && v.e == 0 && v.v >= 0 && v.v < static_cast<long double>(g.extent);
  }
  quiet_ = was_quiet, uncertain = was_uncertain;
  return holds;
}

Number Terms::closed(uint32_t id, const int64_t* index) {
  const TermNode& n = c_.terms[id];
  Derived d = derived_[id];
  bool looked = !positional_[id];
  auto look = [&] {  // what is known at this place, if that has ever helped
    if (looked || helped_[id] >= kTries) return;
    looked = true;
    const Derived at = derived_in(id, std::vector<int64_t>(n.dims.size(), 1), std::vector<int64_t>(index, index + n.dims.size()));
    if (helped_[id] >= 0) ++helped_[id];
    if (!(at == d)) helped_[id] = -1;
    d = at;
  };
  // Infinite (with that sign) or undefined, as far as that is possible here.
  auto odd = [&](int sign, Number& out) {
    if (d.finite) return false;
    look();
    if (d.finite || guarded(id, index)) return false;
    if (sign != 0 && d.noinf) return false;
    out = sign == 0 ? undefined() : exact(sign < 0 && !d.nonneg ? -INFINITY : INFINITY);
    return sign >= 0 || !d.nonneg;
  };
  if (++spent > budget) uncertain = true;
  if (order_[id]) return placed(id, index);
  Number v;
  Mood mood = moods_[kernel_[id]];
  uint64_t h = mix(seed_, kernel_[id]);
  if (measured_[id]) {
    // Sometimes one summand is undefined or infinite: then so are all sums that hold it.
    uint64_t r = mix(h, 17);
    const bool wild = draw_ == Draw::Wild || (mood >= Mood::Infinite && mood <= Mood::Undefined);
    if (!d.finite && wild && read(id, index, r) && (mood != Mood::None ? at_its_place(id, index) : mix(r, 1) % 4 == 0)) {
      bool inside = true;
      const std::vector<int64_t>& reach = reach_.at(kernel_[id]);
      for (size_t b = 0; b < n.box.size(); b += 2) {
        const int64_t place =
            reach[b] + static_cast<int64_t>(mix(r, 30 + b) % static_cast<uint64_t>(std::max<int64_t>(reach[b + 1] - reach[b], 1)));
        inside &= place >= n.box[b] && place < n.box[b + 1];
      }
      const bool infinite = mood == Mood::None ? mix(r, 2) % 2 == 0 && !d.noinf : mood != Mood::Undefined;
      const bool minus = mood == Mood::None ? mix(r, 3) % 2 != 0 : mood == Mood::MinusInfinite;
      if (inside && odd(!infinite ? 0 : minus ? -1 : 1, v)) return v;
    }
    if (mood == Mood::Zero && n.fn == Fn::Add && kernel_zero_.at(kernel_[id]) && read(id, index, r)) return exact(0);
    return measure(id, index);
  }
  if (!read(id, index, h)) return undefined();
  if (mood != Mood::None && !at_its_place(id, index)) mood = Mood::None;
  if (mood == Mood::Undefined && odd(0, v)) return v;
  if (draw_ == Draw::Wild && mix(h, 11) % 8 == 0) {
    const uint64_t r = mix(h, 12) % 4;
    if (odd(r < 2 || d.noinf ? 0 : r == 2 || d.nonneg ? 1 : -1, v)) return v;
  }
  if (d.integer) {
    look();
    return closed_integer(n, d, h, mood);
  }
  if (mood == Mood::Infinite && odd(1, v)) return v;
  if (mood == Mood::MinusInfinite && odd(-1, v)) return v;
  const uint64_t r = mix(h, 1);
  if ((draw_ == Draw::Special && r % 4 != 0) || (mood >= Mood::Zero && mood <= Mood::Minus)) {
    static constexpr double kSpecial[] = {0, 0, 1, -1, 2, -2, 0.5, 3};
    long double s = mood == Mood::Zero ? 0 : mood == Mood::One ? 1 : mood == Mood::Minus ? -1 : kSpecial[mix(h, 2) % 8];
    if (s <= 0 && !(d.nonneg && d.nonzero)) look();
    if (s == 0 && d.nonzero) s = 1;
    return exact(d.nonneg ? std::fabs(s) : s);
  }
  long double s = 0.25L + unit(r) * 2;
  if (draw_ == Draw::Wild) s = std::ldexp(s, static_cast<int>(mix(h, 3) % 17) - 8);
  if (!d.nonneg && draw_ != Draw::Positive && mix(h, 4) % 2) {
    look();
    if (!d.nonneg) s = -s;
  }
  return {s, std::fabs(s)};
}

Number Terms::closed_integer(const TermNode& n, const Derived& d, uint64_t h, Mood mood) const {
  const int64_t lo = std::max(d.lo, kNegInf), hi = std::min(d.hi, kPosInf);
  if (lo >= hi) return exact(static_cast<long double>(lo));
  auto allowed = [&](int64_t v) {
    if (v == 0 && d.nonzero) v = hi > 0 ? 1 : -1;
    if (v > d.gap_low && v < d.gap_high) v = mix(h, 21) % 2 ? d.gap_low : d.gap_high;  // excluded by a fact
    return exact(static_cast<long double>(v));
  };
  auto clamp = [&](int64_t v) { return allowed(std::clamp(v, lo, hi)); };
  auto end = [&](bool low, uint64_t inwards) {  // the ends of 64 bits: sums wrap there
    if (low ? lo > kNegInf : hi < kPosInf) return clamp(low ? lo : hi);
    const bool wide = !low && n.kind == TermKind::Base && problem_.graph[n.origin].dtype == DType::U64;
    return exact((low ? -0x1p63L : wide ? 0x1p64L - 1 : 0x1p63L - 1) - (low ? -1 : 1) * static_cast<long double>(inwards));
  };
  const uint64_t r = mix(h, 1);
  if (mood == Mood::Low || mood == Mood::MinusInfinite) return end(true, 0);
  if (mood == Mood::High || mood == Mood::Infinite) return end(false, 0);
  if (mood == Mood::Zero || mood == Mood::One || mood == Mood::Minus) return clamp(mood == Mood::Zero ? 0 : mood == Mood::One ? 1 : -1);
  if (mood == Mood::Wanted || r % 4 == 1) {
    if (const size_t all = wanted_.size(); all != 0) return clamp(wanted_[mix(h, 22) % all]);
  }
  if (favourites_ && !favourites_->empty() && (r % 2 == 0 || mood == Mood::Wanted)) {
    const int64_t t = (*favourites_)[mix(h, 6) % favourites_->size()];
    if (t >= lo && t <= hi) return allowed(t);
  }
  if (draw_ == Draw::Special || r % 8 == 0) {
    const int64_t ends[] = {lo > kNegInf ? lo : -1, hi < kPosInf ? hi : 1, 0, lo > kNegInf ? lo + 1 : 2, hi < kPosInf ? hi - 1 : -2};
    if (const uint64_t which = mix(h, 2) % 8; which < 5) return clamp(ends[which]);
    if (!thresholds_.empty()) {
      const int64_t t = thresholds_[mix(h, 3) % thresholds_.size()];
      if (t >= lo && t <= hi) return allowed(t);
    }
  }
  if (static_cast<long double>(hi) - static_cast<long double>(lo) < 0x1p40L)
    return allowed(lo + static_cast<int64_t>(r % static_cast<uint64_t>(hi - lo + 1)));
  if (draw_ == Draw::Wild && mix(h, 7) % 2) {
    const bool low = lo < 0 && mix(h, 8) % 2;
    if (low ? lo <= kNegInf : hi >= kPosInf) return end(low, mix(h, 9) % 3);
  }
  if (draw_ == Draw::Wild && n.kind == TermKind::Base) {
    const int64_t v = static_cast<int64_t>(mix(h, 4) % 512) - 256;
    return clamp(v << (mix(h, 5) % 54));
  }
  return clamp(static_cast<int64_t>(mix(h, 4) % 64) - (lo < 0 ? 32 : 0) + (lo > 0 ? lo : 0));
}

}  // namespace shardproof::check
