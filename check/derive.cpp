// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What the definition of a term says of its values: sign, integer range, definedness. This is all that restricts the random functions of
// terms.cpp; nothing here is read from flags in the certificate. Also the reading of literals.
#include <algorithm>
#include <cmath>

#include "check/terms.h"
#include "frontend/certificate/cells.h"

namespace shardproof::check {

using ir::DType;
using ir::Fn;

namespace {

using Range = std::pair<__int128, __int128>;
constexpr size_t kBoxes = 1 << 15;
constexpr __int128 kMost = static_cast<__int128>(kPosInf);

int64_t clip(__int128 v) { return v <= -kMost ? kNegInf : v >= kMost ? kPosInf : static_cast<int64_t>(v); }

// Range of an affine row where variable k runs over [low, low + ext); unbounded variables make it unbounded.
Range row_range(const int64_t* row, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) {
  Range r{row[ext.size()], row[ext.size()]};
  for (size_t k = 0; k < ext.size(); ++k) {
    if (row[k] == 0) continue;
    if (ext[k] == kUnbounded) return {-kMost, kMost};
    const __int128 a = static_cast<__int128>(row[k]) * low[k], b = static_cast<__int128>(row[k]) * (low[k] + ext[k] - 1);
    r.first += std::min(a, b);
    r.second += std::max(a, b);
  }
  return r;
}

// The reads are within the term's dimensions: outside, it is undefined.
bool in_bounds(const TermNode& t, const std::vector<int64_t>& map, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) {
  for (size_t d = 0; d < t.dims.size(); ++d) {
    const Range r = row_range(map.data() + d * (ext.size() + 1), ext, low);
    if (t.dims[d] != kUnbounded && (r.first < 0 || r.second >= t.dims[d])) return false;
  }
  return true;
}

Range times(Range a, Range b) {
  const __int128 cap = static_cast<__int128>(1) << 62;
  auto fit = [&](__int128 v) { return std::clamp(v, -cap, cap); };
  const __int128 p[4] = {fit(a.first) * fit(b.first), fit(a.first) * fit(b.second), fit(a.second) * fit(b.first),
                         fit(a.second) * fit(b.second)};
  return {std::max(*std::min_element(p, p + 4), -cap), std::min(*std::max_element(p, p + 4), cap)};
}

// Extents and lows of the variables of argument a, for a term that is read in a box.
void variables(const TermNode& n, size_t a, const std::vector<int64_t>& own, const std::vector<int64_t>& from, std::vector<int64_t>& ext,
               std::vector<int64_t>& low) {
  ext = own, low = from;
  if (n.kind == TermKind::Whole) ext.resize(n.dims.size() - n.results), low.resize(ext.size());
  for (size_t b = 0; b < n.box.size(); b += 2) low.push_back(n.box[b]), ext.push_back(std::max<int64_t>(n.box[b + 1] - n.box[b], 1));
  if (!n.inner.empty()) {
    for (int64_t e : n.inner[a]) low.push_back(0), ext.push_back(e);
  }
}

void type_range(DType t, Derived& d) {
  d.integer = true;
  const int bits = ir::int_bits(t);
  if (bits < 62) {
    d.lo = ir::is_signed_int(t) ? -(int64_t{1} << (bits - 1)) : 0;
    d.hi = ir::is_signed_int(t) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  } else if (!ir::is_signed_int(t)) {
    d.lo = 0;
  }
  d.nonneg = d.lo >= 0;
}

// What holds of either.
Derived either(Derived a, const Derived& b) {
  a.finite &= b.finite, a.noinf &= b.noinf, a.nonneg &= b.nonneg, a.nonzero &= b.nonzero, a.integer &= b.integer;
  a.lo = std::min(a.lo, b.lo), a.hi = std::max(a.hi, b.hi);
  return a;
}

bool compares(Fn fn) { return fn >= Fn::Eq && fn <= Fn::Ge; }

}  // namespace

// Claims read terms in their cells, and terms read others: so far a dimension that nothing bounds goes. Facts are derived for no more than
// that.
void Terms::find_reads() {
  const size_t n = c_.terms.size();
  std::vector<std::vector<Range>> read(n);
  auto note = [&](const Poly& p, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) {
    each_read(p, [&](const Factor& f) {
      const std::vector<int64_t>& dims = c_.terms[f.node].dims;
      std::vector<Range>& r = read[f.node];
      const bool fresh = r.empty();
      r.resize(dims.size());
      for (size_t d = 0; d < dims.size(); ++d) {
        Range x = row_range(f.map.data() + d * (ext.size() + 1), ext, low);
        x.first = std::max(x.first, -kMost), x.second = std::min(x.second, kMost);
        r[d] = fresh ? x : Range{std::min(r[d].first, x.first), std::max(r[d].second, x.second)};
      }
    });
  };
  for (const Claim& c : c_.claims) {
    for (const Cell& k : c.cells) note(k.poly, k.ext, std::vector<int64_t>(k.ext.size(), 0));
  }
  extent_.resize(n);
  low_.resize(n);
  for (size_t id = n; id-- > 0;) {
    const TermNode& t = c_.terms[id];
    extent_[id] = t.dims;
    low_[id].assign(t.dims.size(), 0);
    for (size_t d = 0; d < read[id].size(); ++d) {
      Range r = read[id][d];
      if (t.dims[d] != kUnbounded) r = {std::max<__int128>(r.first, 0), std::min<__int128>(r.second, t.dims[d] - 1)};
      if (r.first <= -(kMost >> 2) || r.second >= (kMost >> 2) || r.first > r.second) continue;
      low_[id][d] = static_cast<int64_t>(r.first), extent_[id][d] = static_cast<int64_t>(r.second - r.first + 1);
    }
    std::vector<int64_t> ext, low;
    for (size_t a = 0; a < t.args.size(); ++a) {
      variables(t, a, extent_[id], low_[id], ext, low);
      note(t.args[a], ext, low);
    }
    for (const Cell& k : t.cells) note(k.poly, k.ext, std::vector<int64_t>(k.ext.size(), 0));
  }
}

void Terms::find_stops() {
  const ir::Graph& g = problem_.graph;
  std::set<ir::NodeId> runs;  // for some output
  for (const link::Output& o : problem_.outputs) runs.insert(o.sequential);
  for (ir::NodeId v = static_cast<ir::NodeId>(problem_.side.size()); v-- > 0 && problem_.loops.empty();) {
    const ir::Node& n = g[v];
    if (runs.count(v) == 0) continue;
    runs.insert(n.in.begin(), n.in.end());
    const bool strict = n.mode == ir::IndexMode::Strict || n.mode == ir::IndexMode::Wrap;
    if (n.op != ir::Op::Take || !strict || problem_.side[v] != link::kSequential || ir::num_elements(n.shape) == 0) continue;
    for (size_t k = 0; k < n.a.size(); ++k) {
      if (n.a[k] >= 0) continue;
      ir::NodeId at = n.in[static_cast<size_t>(-n.a[k])];
      while (g[at].op == ir::Op::Reshape || g[at].op == ir::Op::Transpose || g[at].op == ir::Op::Broadcast) at = g[at].in[0];
      if (g[at].op != ir::Op::Input || !ir::is_int(g[at].dtype)) continue;
      const int64_t extent = g[n.in[0]].shape[k], low = n.mode == ir::IndexMode::Wrap ? -extent : 0;
      auto& range = stops_.try_emplace(at, low, extent - 1).first->second;
      range = {std::max(range.first, low), std::min(range.second, extent - 1)};
    }
  }
}

void Terms::Limit::narrow(const std::vector<int64_t>& x, size_t k, const std::vector<int64_t>& box, int64_t& from, int64_t& to) const {
  const __int128 sign = row[k] < 0 ? -1 : 1, step = sign * row[k];
  if (step == 0) return;
  __int128 least = sign * row[x.size()], most = least;  // of everything but k
  for (size_t v = 0; v < x.size(); ++v) {
    const bool later = v > k;
    const int64_t* of = box.data() + (later ? 2 * (v - (x.size() - box.size() / 2)) : 0);
    const __int128 a = sign * row[v] * (later ? of[0] : x[v]), b = sign * row[v] * (later ? of[1] - 1 : x[v]);
    if (v != k) least += std::min(a, b), most += std::max(a, b);
  }
  const __int128 low = sign > 0 ? lo : 1 - static_cast<__int128>(hi), high = sign > 0 ? hi : 1 - static_cast<__int128>(lo);
  auto up = [&](__int128 v) { return v <= 0 ? -(-v / step) : (v + step - 1) / step; };  // v / step
  from = static_cast<int64_t>(std::max<__int128>(from, up(low - most)));
  to = static_cast<int64_t>(std::min<__int128>(to, up(high - least)));
}

// Brackets of one integer form, in which everything but the indices has a known range.
void Terms::find_limits(uint32_t id) {
  const TermNode& n = c_.terms[id];
  if (n.kind != TermKind::Red || n.fn != Fn::Add || n.args[0].size() != 1) return;
  std::vector<int64_t> ext, low, rows;
  variables(n, 0, extent_[id], low_[id], ext, low);
  const size_t w = ext.size() + 1;
  for (const Factor& f : n.args[0][0].f) {
    const TermNode& b = c_.terms[f.node];
    if (b.kind != TermKind::Bracket || f.num <= 0) continue;
    bool known = b.args[0].size() <= 8 && in_bounds(b, f.map, ext, low);
    Limit limit{std::vector<int64_t>(w, 0), b.lo, b.hi};
    __int128 least = 0, most = 0;
    for (const Product& t : b.args[0]) {
      known = known && t.den == 1 && std::abs(t.num) < (1 << 20) && t.f.size() <= 1;
      if (!known) break;
      Range r{t.num, t.num};
      if (!t.f.empty()) {
        const TermNode& read = c_.terms[t.f[0].node];
        const Derived& d = derived_[t.f[0].node];
        known = plain(t.f[0]) && compose(t.f[0].map, b.dims.size(), f.map, w, rows) && in_bounds(read, rows, ext, low);
        if (known && read.kind == TermKind::Iota) {
          for (size_t k = 0; k < w; ++k) known = known && std::abs(rows[k]) < (1 << 30), limit.row[k] += known ? t.num * rows[k] : 0;
          continue;
        }
        known = known && d.finite && d.integer && d.lo > kNegInf && d.hi < kPosInf;
        r = times({d.lo, d.hi}, r);
      }
      least += r.first, most += r.second;
    }
    const Range row = row_range(limit.row.data(), ext, low);
    if (!known || row.first < -kMost / 4 || row.second > kMost / 4 || least < -kMost || most > kMost) continue;
    if (b.lo > kNegInf) limit.lo = clip(b.lo - most);
    if (b.hi < kPosInf) limit.hi = clip(b.hi - least);
    limits_[id].push_back(std::move(limit));
  }
}

// Where the product is not 0, brackets in it bound this read: `rows` over its w - 1 variables.
bool Terms::bracketed(const Product& t, uint32_t node, const std::vector<int64_t>& rows, size_t w, int64_t& lo, int64_t& hi) const {
  bool found = false;
  std::vector<int64_t> own;
  for (const Factor& b : t.f) {
    const TermNode& n = c_.terms[b.node];
    const Factor* x = n.kind == TermKind::Bracket && b.num > 0 ? only_read(n.args[0]) : nullptr;
    if (!x || x->node != node || !compose(x->map, n.dims.size(), b.map, w, own) || own != rows) continue;
    lo = std::max(lo, n.lo), hi = std::min(hi, n.hi >= kPosInf ? kPosInf : n.hi - 1);
    found = true;
  }
  return found;
}

Derived Terms::derive(const Product& t, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const {
  Derived out;
  out.finite = out.noinf = true;
  out.nonneg = true;
  out.nonzero = t.num != 0;
  out.integer = t.den == 1;
  bool minus = t.num < 0;
  Range range{1, 1};
  const size_t w = ext.size() + 1;
  for (const Factor& f : t.f) {
    const TermNode& n = c_.terms[f.node];
    Derived d = derived_[f.node];
    if (positional_[f.node] && n.kind != TermKind::Iota && !(d.finite && d.nonneg && d.nonzero)) {
      std::vector<int64_t> own(n.dims.size()), from(n.dims.size());
      bool fits = true;
      for (size_t k = 0; k < n.dims.size() && fits; ++k) {
        const Range r = row_range(f.map.data() + k * w, ext, low);
        fits = r.first > -(kMost >> 2) && r.second < (kMost >> 2);
        from[k] = clip(r.first), own[k] = clip(r.second - r.first + 1);
      }
      const bool pretending = pretend_;  // only of what is read directly
      pretend_ = false;
      if (fits) d = derived_in(f.node, own, from);
      pretend_ = pretending;
    }
    if (!d.finite && !guards_[f.node].empty()) {
      bool held = true;  // by brackets of this product: where they are 0, so is it
      for (const Guard& g : guards_[f.node]) {
        const Factor* x = only_read(*g.index);
        std::vector<int64_t> place, rows;
        held = held && x && compose(g.rows, n.dims.size(), f.map, w, place) && compose(x->map, g.variables, place, w, rows);
        int64_t lo = x ? derived_[x->node].lo : 0, hi = x ? derived_[x->node].hi : 0;
        held = held && derived_[x->node].integer && bracketed(t, x->node, rows, w, lo, hi) && lo >= 0 && hi < g.extent;
      }
      if (pretend_ || held) d.finite = d.noinf = true;
    }
    if (n.kind == TermKind::Bracket && f.num > 0 && d.finite && d.hi == 0) {  // a product with a bracket that is 0
      out = Derived{};
      out.finite = out.noinf = out.nonneg = out.integer = true;
      out.lo = out.hi = 0;
      return out;
    }
    if (n.kind == TermKind::Iota) {
      const Range r = row_range(f.map.data(), ext, low);
      d.lo = clip(r.first), d.hi = clip(r.second);
      d.nonneg = r.first >= 0;
      d.nonzero = r.first > 0 || r.second < 0;
    } else {
      d.finite &= in_bounds(n, f.map, ext, low);
    }
    const bool whole = f.den == 1, even = whole && f.num % 2 == 0;
    const bool nonpos = d.integer && d.hi <= 0 && whole && !even;
    if (nonpos) minus = !minus;
    out.finite &= d.finite && (f.num > 0 || d.nonzero) && (whole || d.nonneg);
    out.noinf &= d.noinf;  // 1/0 and roots of negatives are undefined, 1/inf is 0: but inf inside may still show elsewhere
    out.nonneg &= nonpos || d.nonneg || even || !whole;
    out.nonzero &= d.nonzero;
    out.integer &= d.integer && whole && f.num > 0;
    if (out.integer) {
      int64_t lo = d.lo, hi = d.hi;
      if (n.kind == TermKind::Base && t.f.size() > 1) bracketed(t, f.node, f.map, w, lo, hi);
      Range r{std::min(lo, hi), hi};
      if (even && r.first < 0) r = r.second < 0 ? Range{-r.second, -r.first} : Range{0, std::max(-r.first, r.second)};
      for (int64_t k = 0; k < std::min<int64_t>(f.num, 8); ++k) range = times(range, r);
      if (f.num > 8) range = {-kMost, kMost};
    }
  }
  if (minus) out.nonneg = t.num == 0;
  if (out.integer) {
    range = times(range, {t.num, t.num});
    out.lo = clip(range.first), out.hi = clip(range.second);
  }
  return out;
}

Derived Terms::derive(const Poly& p, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const {
  Derived out;
  out.finite = out.noinf = out.nonneg = out.integer = true;
  bool positive = false;
  __int128 lo = 0, hi = 0;
  for (const Product& t : p) {
    const Derived d = derive(t, ext, low);
    out.finite &= d.finite;
    out.noinf &= d.noinf;
    out.nonneg &= d.nonneg;
    out.integer &= d.integer;
    positive |= d.nonneg && d.nonzero;
    lo = lo <= -kMost || d.lo <= kNegInf ? -kMost : lo + d.lo;
    hi = hi >= kMost || d.hi >= kPosInf ? kMost : hi + d.hi;
    if (p.size() == 1) out.nonzero = d.nonzero;
  }
  if (p.size() != 1) out.nonzero = out.nonneg && positive;
  if (out.integer) {
    out.lo = clip(lo), out.hi = clip(hi);
    out.nonneg |= out.lo >= 0;
    out.nonzero |= out.lo > 0 || out.hi < 0;
  }
  return out;
}

// A term that is undefined only where an index leaves its range (a label that stands for "none"): which indices, where.
void Terms::find_guards(uint32_t id) {
  const TermNode& t = c_.terms[id];
  if (derived_[id].finite || (t.kind != TermKind::Take && t.kind != TermKind::Sum && t.kind != TermKind::Red && t.kind != TermKind::Fn))
    return;
  pretend_ = true;
  const bool finite = derive_node(t, extent_[id], low_[id]).finite;
  pretend_ = false;
  if (!finite) return;
  std::vector<Guard> out;
  const size_t own = t.dims.size();
  std::vector<int64_t> ext, low;
  for (size_t a = 0; a < t.args.size(); ++a) {
    variables(t, a, extent_[id], low_[id], ext, low);
    if (t.kind == TermKind::Take && a > 0) {
      const Derived i = derive(t.args[a], ext, low);
      if (t.inner[0][a - 1] != kUnbounded && (i.lo < 0 || i.hi >= t.inner[0][a - 1])) {
        Guard g{&t.args[a], std::vector<int64_t>(own * (own + 1), 0), own, t.inner[0][a - 1]};
        each_read(t.args[a], [&](const Factor& f) {  // the variables that it reads
          for (size_t k = 0; k < f.map.size(); ++k) {
            if (const size_t d = k % (own + 1); d < own && f.map[k] != 0) g.rows[d * (own + 1) + d] = 1;
          }
        });
        out.push_back(std::move(g));
      }
    }
    const size_t w = ext.size() + 1;
    for (const Product& p : t.args[a]) {
      for (const Factor& f : p.f) {
        for (const Guard& g : guards_[f.node]) {
          std::vector<int64_t> rows;
          if (!compose(g.rows, c_.terms[f.node].dims.size(), f.map, w, rows)) return;
          Guard moved{g.index, {}, g.variables, g.extent};
          for (size_t r = 0; r < g.variables; ++r) {
            for (size_t k = own; k + 1 < w; ++k) {
              if (rows[r * w + k] != 0) return;  // it hangs on a bound variable
            }
            moved.rows.insert(moved.rows.end(), rows.begin() + static_cast<std::ptrdiff_t>(r * w),
                              rows.begin() + static_cast<std::ptrdiff_t>(r * w + own));
            moved.rows.push_back(rows[r * w + w - 1]);
          }
          bool known = false;
          for (const Guard& o : out) known |= o.index == moved.index && o.rows == moved.rows;
          if (!known) out.push_back(std::move(moved));
          if (out.size() > 8) return;
        }
      }
    }
  }
  guards_[id] = std::move(out);
}

// The sum of [x in range] over all elements of an input of which the manifest says that one of them is not the exception.
bool Terms::counts_any(const TermNode& n) const {
  const Factor* f = only_read(n.args[0], true);
  if (!f || c_.terms[f->node].kind != TermKind::Bracket) return false;
  const TermNode& b = c_.terms[f->node];
  const Factor* g = only_read(b.args[0]);
  if (!g || c_.terms[g->node].kind != TermKind::Base) return false;
  const TermNode& base = c_.terms[g->node];
  const Derived& d = derived_[g->node];
  if (d.gap_low != d.lo || d.gap_high <= d.gap_low) return false;
  if (b.lo > d.gap_high || b.hi <= d.hi || b.lo <= d.gap_low) return false;
  bool stated = false;
  for (const link::Fact& fact : problem_.facts) {
    stated |= fact.input == base.origin && fact.fact.kind == manifest::Fact::Kind::AnyNotEqual &&
              fact.fact.value == static_cast<double>(d.gap_low);
  }
  const size_t own = n.dims.size(), w = own + n.box.size() / 2 + 1;
  std::vector<char> used(w, 0);
  std::vector<int64_t> rows;
  if (!compose(g->map, b.dims.size(), f->map, w, rows)) return false;
  for (size_t r = 0; r < base.dims.size() && stated; ++r) {
    size_t walks = 0;
    for (size_t k = 0; k < w; ++k) {
      const int64_t v = rows[r * w + k];
      if (v == 0) continue;
      const size_t box = 2 * (k - own);
      if (k < own || k + 1 == w || v != 1 || used[k] || n.box[box] != 0 || n.box[box + 1] != base.dims[r]) return false;
      used[k] = 1, ++walks;
    }
    stated &= walks == 1 || base.dims[r] == 1;
  }
  return stated;
}

Derived Terms::derive_base(const TermNode& n) const {
  Derived d;
  const ir::Node& g = problem_.graph[n.origin];
  if (g.dtype == DType::Bool) {
    d.integer = d.nonneg = true;
    d.lo = 0, d.hi = 1;
  } else if (ir::is_int(g.dtype)) {
    type_range(g.dtype, d);
  }
  switch (g.op) {
    case ir::Op::Input: {
      d.finite = true;  // inputs are numbers: an assumption
      for (const link::Fact& f : problem_.facts) {
        if (f.input != n.origin) continue;
        using K = manifest::Fact::Kind;
        double low = -INFINITY, high = INFINITY;
        bool open_low = false;
        if (f.fact.kind == K::Range) {
          low = f.fact.low, high = f.fact.high;
          if (f.fact.has_exception) {
            const double c = f.fact.exception;
            if (d.integer && c == std::floor(c) && std::fabs(c) < 1e15 && std::fabs(low) < 1e15 && std::fabs(high) < 1e15) {
              if (c < low) d.gap_low = static_cast<int64_t>(c), d.gap_high = static_cast<int64_t>(std::ceil(low));
              if (c >= high) d.gap_low = static_cast<int64_t>(std::ceil(high)) - 1, d.gap_high = static_cast<int64_t>(c);
            }
            low = std::min(low, c), high = std::max(high, c + 1);
          }
        } else if (f.fact.kind == K::AtLeast) {
          low = f.fact.value;
        } else if (f.fact.kind == K::GreaterThan) {
          low = f.fact.value, open_low = true;
        } else {
          continue;
        }
        if (d.integer) {
          if (low > -1e18) d.lo = std::max(d.lo, static_cast<int64_t>(open_low ? std::floor(low) + 1 : std::ceil(low)));
          if (high < 1e18) d.hi = std::min(d.hi, static_cast<int64_t>(std::ceil(high)) - 1);
        }
        if (low >= 0) d.nonneg = true;
        if (low > 0 || (low >= 0 && open_low)) d.nonzero = true;
      }
      if (const auto it = stops_.find(n.origin); it != stops_.end() && it->second.first <= d.hi && it->second.second >= d.lo)
        d.lo = std::max(d.lo, it->second.first), d.hi = std::min(d.hi, it->second.second);
      break;
    }
    case ir::Op::Random:
      d.finite = true;
      if (g.name == "bernoulli") d.integer = d.nonneg = true, d.lo = 0, d.hi = 1;
      break;
    case ir::Op::Dense:
      d.finite = d.nonneg = d.nonzero = true;
      if (d.integer) d.lo = kPosInf, d.hi = kNegInf;
      for (const ir::Literal& l : *g.dense) {
        const Number v = literal_value(l, g.dtype);
        d.finite &= std::isfinite(v.v);
        d.nonneg &= v.v >= 0;
        d.nonzero &= v.v != 0;
        if (d.integer && std::isfinite(v.v) && std::fabs(v.v) < 0x1p60L)
          d.lo = std::min(d.lo, static_cast<int64_t>(v.v)), d.hi = std::max(d.hi, static_cast<int64_t>(v.v));
        if (d.integer && !(std::fabs(v.v) < 0x1p60L)) d.lo = kNegInf, d.hi = kPosInf, d.nonneg = false;
      }
      break;
    default: break;  // unspecified memory, results of operators that nobody reads: anything of the type
  }
  if (d.integer) {
    d.nonneg |= d.lo >= 0;
    d.nonzero |= d.lo > 0 || d.hi < 0;
  }
  d.noinf = d.finite || d.integer;
  return d;
}

Derived Terms::derived_in(uint32_t id, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const {
  if (derive_depth_ > 200) return derived_[id];
  uint64_t h = mix(secret_, id * 2 + pretend_);
  for (size_t k = 0; k < ext.size(); ++k) h = mix(mix(h, static_cast<uint64_t>(ext[k])), static_cast<uint64_t>(low[k]));
  if (boxes_.empty()) boxes_.resize(kBoxes);
  if (const auto& known = boxes_[h % kBoxes]; known.first == h) return known.second;
  ++derive_depth_;
  Derived d = derive_node(c_.terms[id], ext, low);
  --derive_depth_;
  const Derived& any = derived_[id];
  d.finite |= any.finite, d.noinf |= any.noinf, d.nonneg |= any.nonneg, d.nonzero |= any.nonzero, d.integer |= any.integer;
  d.lo = std::max(d.lo, any.lo), d.hi = std::min(d.hi, any.hi);
  d.gap_low = any.gap_low, d.gap_high = any.gap_high;
  boxes_[h % kBoxes] = {h, d};
  return d;
}

Derived Terms::derive_node(const TermNode& n, const std::vector<int64_t>& own, const std::vector<int64_t>& from) const {
  Derived k = derive_kind(n, own, from);
  // Functions of reals that are finite or undefined where their arguments are.
  if (n.kind == TermKind::Fn) {
    bool args = true;
    for (size_t a = 0; a < n.args.size(); ++a) args &= derive(n.args[a], own, from).noinf;
    const bool poles = n.fn == Fn::Log || n.fn == Fn::Log2 || n.fn == Fn::Log10 || n.fn == Fn::Log1p || n.fn == Fn::Atanh ||
                       n.fn == Fn::Lgamma || n.fn == Fn::Digamma || n.fn == Fn::ErfInv;
    k.noinf = args && !poles;
  }
  k.noinf |= k.finite || k.integer;
  return k;
}

// select(is_finite(c x), x, ..), c a number other than 0.
bool Terms::taken_if_finite(const TermNode& n) const {
  const Factor* test = only_read(n.args[0]);
  if (!test || c_.terms[test->node].kind != TermKind::Fn || c_.terms[test->node].fn != Fn::IsFinite) return false;
  const TermNode& t = c_.terms[test->node];
  const Poly &a = t.args[0], &b = n.args[1];
  __int128 num = 0, den = 0;  // c
  bool alike = a.size() == b.size();
  Index rows;
  for (size_t k = 0; alike && k < a.size(); ++k) {
    alike = std::equal(a[k].f.begin(), a[k].f.end(), b[k].f.begin(), b[k].f.end(), [&](const Factor& f, const Factor& g) {
      return f.node == g.node && f.num == g.num && f.den == g.den && compose(f.map, t.dims.size(), test->map, n.dims.size() + 1, rows) &&
             rows == g.map;
    });
    const __int128 x = static_cast<__int128>(a[k].num) * b[k].den, y = static_cast<__int128>(b[k].num) * a[k].den;
    if (num == 0) num = x, den = y;
    alike = alike && (x == 0) == (y == 0) && std::max({x, -x, y, -y}) >> 62 == 0 && x * den == y * num;
  }
  return alike;
}

Derived Terms::derive_kind(const TermNode& n, const std::vector<int64_t>& own, const std::vector<int64_t>& from) const {
  Derived k;
  auto arg = [&](size_t a) {
    std::vector<int64_t> ext, low;
    variables(n, a, own, from, ext, low);
    return derive(n.args[a], ext, low);
  };
  switch (n.kind) {
    case TermKind::Base: return derive_base(n);
    case TermKind::Iota: k.finite = k.integer = true; return k;
    case TermKind::Inf: k.nonneg = k.nonzero = true; return k;
    case TermKind::Lit: {
      const Number v = literal_term(n);
      k.finite = std::isfinite(v.v);
      k.nonneg = v.v >= 0;
      k.nonzero = v.v != 0;
      return k;
    }
    case TermKind::Sum: return arg(0);
    case TermKind::Bracket: {
      const Derived a = arg(0);
      k.finite = a.finite;
      k.nonneg = k.integer = true;
      k.lo = 0, k.hi = 1;
      if (a.integer && a.finite) {
        if ((n.lo <= kNegInf || a.lo >= n.lo) && (n.hi >= kPosInf || a.hi < n.hi)) k.lo = 1, k.nonzero = true;
        if ((n.lo > kNegInf && a.hi < n.lo) || (n.hi < kPosInf && a.lo >= n.hi)) k.hi = 0;
      }
      return k;
    }
    case TermKind::Take: {
      k = arg(0);
      for (size_t a = 1; a < n.args.size(); ++a) {
        const Derived i = arg(a);
        const int64_t extent = n.inner[0][a - 1];
        k.finite &= i.finite && i.integer && (pretend_ || extent == kUnbounded || (i.lo >= 0 && i.hi < extent));
      }
      return k;
    }
    case TermKind::Grid: {
      std::vector<Located> cells(n.cells.size());
      bool covered = true;
      for (size_t i = 0; i < cells.size(); ++i) {
        const Cell& c = n.cells[i];
        const Derived d = derive(c.poly, c.ext, std::vector<int64_t>(c.ext.size(), 0));
        k = i == 0 ? d : either(k, d);
        cells[i].cell = &c;
        covered = covered && locate(c.ext, c.pos, n.dims, cells[i]).empty();
      }
      k.finite = k.finite && covered && partition(cells, n.dims, true).empty();
      return k;
    }
    case TermKind::Red: {
      const Derived a = arg(0);
      __int128 volume = 1;
      for (size_t b = 0; b < n.box.size(); b += 2) volume = std::min(volume * (n.box[b + 1] - n.box[b]), kMost);
      k = a;
      if (n.fn == Fn::Add) {
        k.nonzero = a.nonneg && a.nonzero && volume > 0;
        if (!k.nonzero && a.nonneg && volume > 0) {
          // One summand that is surely positive is enough: the first or last of each variable (the keys that a mask always leaves).
          const size_t b = n.box.size() / 2;
          for (unsigned corner = 0; corner < (1u << std::min<size_t>(b, 3)) && !k.nonzero; ++corner) {
            std::vector<int64_t> ext = own, low = from;
            for (size_t v = 0; v < b; ++v) {
              ext.push_back(1);
              low.push_back(v < 3 && (corner >> v & 1) ? n.box[2 * v + 1] - 1 : n.box[2 * v]);
            }
            const Derived one = derive(n.args[0], ext, low);
            k.nonzero = one.nonneg && one.nonzero;
          }
        }
        if (!k.nonzero && a.nonneg) k.nonzero = counts_any(n);
        k.lo = a.lo <= kNegInf ? kNegInf : clip(times({a.lo, a.lo}, {volume, volume}).first);
        k.hi = a.hi >= kPosInf ? kPosInf : clip(times({a.hi, a.hi}, {volume, volume}).first);
        if (volume == 0) k.lo = std::min<int64_t>(k.lo, 0), k.hi = std::max<int64_t>(k.hi, 0);
        return k;
      }
      if (n.fn == Fn::Mul) {
        k.lo = kNegInf, k.hi = kPosInf;
        return k;
      }
      if (volume == 0) return Derived{};
      return k;
    }
    case TermKind::Whole: {
      if (n.dtype == DType::Bool) {
        k.integer = k.nonneg = true;
        k.lo = 0, k.hi = 1;
      } else if (ir::is_int(n.dtype)) {
        type_range(n.dtype, k);
      }
      if (n.name.find('(') != std::string::npos) return k;  // a kernel, whatever it is called
      __int128 extent = 1;                                  // in digits
      for (int64_t e : n.inner.empty() ? Index{} : n.inner[0]) extent = std::min(extent * std::max<int64_t>(e, 1), kMost);
      if ((n.name.starts_with("argmax") || n.name.starts_with("argmin")) && n.inner.size() == 1) {
        k.integer = k.nonneg = true;
        k.finite = arg(0).finite;
        k.lo = 0, k.hi = clip(extent - 1);
      } else if (const size_t which = moved_by(n); which < n.args.size()) {
        k = arg(which);
        for (size_t a = 0; a < n.args.size(); ++a) k.finite &= arg(a).finite;
      } else if (n.name.starts_with("scatter:set:") && n.args.size() == 3 && std::count(n.name.begin(), n.name.end(), '-') == 1) {
        const Derived value = either(arg(0), arg(1)), at = arg(2);  // what was there, or one of the updates
        if (value.integer || !k.integer) k = value;
        k.finite = value.finite && at.finite && at.integer && at.lo >= 0 && at.hi < extent;  // by one index of one dimension
      }
      return k;
    }
    case TermKind::Fn: break;
  }
  const Derived a = arg(0);
  auto all = [&](bool Derived::*field) {
    bool v = true;
    for (size_t i = 0; i < n.args.size(); ++i) v &= arg(i).*field;
    return v;
  };
  auto among = [&](std::initializer_list<Fn> list) { return std::find(list.begin(), list.end(), n.fn) != list.end(); };
  if (among({Fn::Sin, Fn::Cos, Fn::Erfc})) return k.finite = a.finite, k;
  if (among({Fn::Exp, Fn::Exp2, Fn::Logistic, Fn::Cosh})) {
    k.finite = a.finite;
    k.nonneg = true;
    k.nonzero = a.finite || n.fn == Fn::Cosh;
    return k;
  }
  if (among({Fn::Tanh, Fn::Erf, Fn::Atan, Fn::Asinh, Fn::Sinh, Fn::Cbrt})) {
    k.finite = a.finite, k.nonneg = a.nonneg, k.nonzero = a.nonzero;
    return k;
  }
  if (among({Fn::Floor, Fn::Ceil, Fn::Round, Fn::RoundAway, Fn::Trunc, Fn::Sign})) {
    k.finite = k.integer = a.finite;
    k.nonneg = a.nonneg;
    if (n.fn == Fn::Sign) k.integer = true, k.lo = k.nonneg ? 0 : -1, k.hi = 1, k.nonzero = a.nonzero;
    return k;
  }
  if (compares(n.fn) || among({Fn::IsFinite, Fn::IsNan, Fn::IsInf})) {
    k.finite = !compares(n.fn) || all(&Derived::finite);
    k.nonneg = k.integer = true;
    k.lo = 0, k.hi = 1;
    return k;
  }
  switch (n.fn) {
    case Fn::Log: k.finite = a.finite && a.nonneg && a.nonzero; return k;
    case Fn::Pow: {
      const Derived b = arg(1);
      if (a.finite && a.nonneg && a.nonzero) k.finite = b.finite, k.nonneg = true, k.nonzero = b.finite;
      return k;
    }
    case Fn::Abs:
      k = a;
      if (ir::is_int(n.dtype)) {
        Derived type;
        type_range(n.dtype, type);
        if (type.lo < 0 && a.lo <= type.lo) return type.finite = a.finite, type;  // of the least integer it is that itself
      }
      k.nonneg = true;
      k.lo = 0;
      k.hi = a.lo <= kNegInf || a.hi >= kPosInf ? kPosInf : std::max(std::abs(a.lo), std::abs(a.hi));
      return k;
    case Fn::Max:
    case Fn::Min: {
      k = a;
      for (size_t i = 1; i < n.args.size(); ++i) {
        const Derived a0 = k, b = arg(i);
        k = either(a0, b);
        if (n.fn == Fn::Max) {
          k.nonzero = (a0.nonneg && a0.nonzero) || (b.nonneg && b.nonzero);
          k.nonneg = a0.nonneg || b.nonneg;
        }
        (n.fn == Fn::Max ? k.lo : k.hi) = n.fn == Fn::Max ? std::max(a0.lo, b.lo) : std::min(a0.hi, b.hi);
      }
      return k;
    }
    case Fn::Select: {
      const Derived x = arg(1), y = arg(2);
      if (a.finite && a.integer && a.lo == a.hi) return a.lo != 0 ? x : y;  // the branch that is taken here
      k = either(x, y);
      k.finite = a.finite && y.finite && (x.finite || taken_if_finite(n));
      return k;
    }
    default: break;
  }
  const bool shift = among({Fn::Shl, Fn::ShrA, Fn::ShrL}), division = among({Fn::Div, Fn::FloorDiv, Fn::Rem, Fn::Mod});
  const bool bits = among({Fn::Convert, Fn::Not, Fn::Xor, Fn::And, Fn::Or, Fn::PopCount, Fn::Clz});
  if (!ir::is_int(n.dtype) || !(shift || division || bits)) return k;
  type_range(n.dtype, k);
  k.finite = !shift && all(&Derived::finite) && all(&Derived::integer);
  if (division) {
    const Derived b = arg(1);
    k.finite &= b.nonzero;
    if ((n.fn == Fn::Mod || (n.fn == Fn::Rem && a.lo >= 0)) && b.lo > 0 && b.hi < kPosInf) k.lo = 0, k.hi = b.hi - 1, k.nonneg = true;
    if (n.fn == Fn::Rem && a.lo >= 0 && b.lo > 0) k.hi = std::min(k.hi, a.hi);
    if ((n.fn == Fn::FloorDiv || n.fn == Fn::Div) && a.lo >= 0 && b.lo > 0)
      k.lo = 0, k.hi = a.hi >= kPosInf ? k.hi : a.hi / b.lo, k.nonneg = true;
  }
  return k;
}

// --- literals -------------------------------------------------------------------------------------------------------------------

Number literal_value(const ir::Literal& l, DType type) {
  if (l.kind != ir::Literal::Kind::Float) {
    if (type == DType::Bool) return exact(l.i != 0);
    if (l.format == DType::U64 || type == DType::U64) return exact(static_cast<long double>(static_cast<uint64_t>(l.i)));
    return exact(static_cast<long double>(l.i));
  }
  if (type == DType::Bool) return exact(l.d != 0);
  if (ir::is_int(type)) return exact(std::trunc(static_cast<long double>(l.d)));
  return exact(static_cast<long double>(l.d));
}

Number Terms::literal_term(const TermNode& n) const {
  if (n.name == "nan") return undefined();
  if (n.name.starts_with("lit:")) return exact(std::strtod(n.name.c_str() + 4, nullptr));
  if (n.name.starts_with("sqrt:")) {
    const long double x = static_cast<long double>(std::strtoll(n.name.c_str() + 5, nullptr, 10));
    return x < 0 ? undefined() : Number{std::sqrt(x), std::sqrt(x)};
  }
  if (n.name.starts_with("rat:")) {
    char* end = nullptr;
    const int64_t p = std::strtoll(n.name.c_str() + 4, &end, 10), q = *end == '/' ? std::strtoll(end + 1, nullptr, 10) : 1;
    return q > 0 ? fraction(p, q) : undefined();
  }
  return undefined();
}

}  // namespace shardproof::check
