// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Comparison of block tensors: refine to common axes, then element by element. Where the sequential value is undefined nothing is claimed.
#include "interp/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "interp/eval.h"

namespace shardproof::interp {
namespace {

Interval element(const Buffer& b, size_t k) {
  switch (b.number) {
    case Number::Integer:
      if (b.state_at(k) != State::Fine) return b.state_at(k) == State::Undefined ? kUndefined : kUndecided;
      return {static_cast<double>(b.i[k]), 0};
    case Number::Interval: return b.interval(k);
    case Number::Ball: return to_interval(b.ball[k]);
  }
  return kUndecided;
}

double magnitude(const Buffer& b) {
  double out = 0;
  for (size_t k = 0; k < b.size; ++k) {
    const Interval x = element(b, k);
    if (is_real(x)) out = std::max(out, std::fabs(x.m));
  }
  return out;
}

// At least the distance of the two values.
double distance(const Buffer& s, const Buffer& d, size_t k) {
  if (s.number != Number::Ball) return std::fabs(s.interval(k).m - d.interval(k).m) + s.interval(k).r + d.interval(k).r;
  arb_t difference;
  mag_t bound;
  arb_init(difference);
  mag_init(bound);
  arb_sub(difference, s.ball[k], d.ball[k], MAG_BITS);
  arb_get_mag(bound, difference);
  const double out = mag_get_d(bound);
  mag_clear(bound);
  arb_clear(difference);
  return out;
}

// What no float shows beside the largest value: exp(-1e30) where a mask is a large finite number on one side and an infinity on the other.
// It may not be proved equal, but is no reason to call a program wrong.
bool negligible(const Buffer& s, const Buffer& d, size_t k, double scale) {
  if (s.number == Number::Integer || d.number != s.number) return false;
  return distance(s, d, k) <= std::max(std::ldexp(scale, -100), std::numeric_limits<double>::denorm_min());
}

void compare_part(const Buffer& s, const Buffer& d, const std::vector<Axis>& axes, bool is_unsigned, bool imaginary, Comparison& out) {
  const double scale = std::max(magnitude(s), magnitude(d));
  out.scale = std::max(out.scale, scale);
  size_t worst = 0;
  double worst_gap = 0;
  bool found = false, suspect = false;
  for (size_t k = 0; k < s.size; ++k) {
    const State a = s.state_at(k), b = d.state_at(k);
    if (a == State::Undefined) continue;
    if (a == State::Undecided) {
      ++out.open;
      continue;
    }
    ++out.defined;
    if (b == State::Undecided) {
      ++out.open;
      continue;
    }
    ++out.compared;
    bool different = b == State::Undefined;
    if (!different) {
      const Order o = order(s, k, d, k, is_unsigned);
      different = (o == Order::Less || o == Order::Greater) && !negligible(s, d, k, scale);
      if (o == Order::Open) {
        const double gap = std::fabs(element(s, k).m - element(d, k).m);
        if (!(gap <= 1e-11 * scale) && (gap > worst_gap || gap != gap)) {
          worst_gap = gap;
          worst = k;
          suspect = true;
        }
      }
    }
    if (!different) continue;
    ++out.differing;
    // The first one is shown, but a wrong value rather than an undefined one: it says more, and it stands on its own.
    const bool better = b != State::Undefined && out.undefined;
    if ((found || out.kind == Comparison::Kind::Differs) && !better) continue;
    found = true;
    worst = k;
    out.undefined = b == State::Undefined;
  }
  if (!found && !(suspect && out.kind == Comparison::Kind::Same)) return;
  out.kind = found ? Comparison::Kind::Differs : Comparison::Kind::Suspect;
  out.sequential = element(s, worst);
  out.distributed = element(d, worst);
  out.gap = out.sequential.m - out.distributed.m;
  out.imaginary = imaginary;
  out.index.assign(axes.size(), 0);
  for (size_t d2 = axes.size(); d2-- > 0;) {
    const size_t blocks = static_cast<size_t>(axes[d2].blocks());
    out.index[d2] = axes[d2].start(static_cast<int64_t>(worst % blocks));
    worst /= blocks;
  }
}

}  // namespace

bool defined_throughout(const Value& x) {
  const Comparison own = compare(x, x);
  const int64_t parts = x.imag ? x.data->size + x.imag->size : x.data->size;
  return own.defined == parts;
}

Comparison compare(const Value& sequential, const Value& distributed) {
  Comparison out;
  std::vector<Axis> axes = sequential.axes;
  for (size_t d = 0; d < axes.size(); ++d) axes[d] = common(axes[d], distributed.axes[d]);
  const Value s = refine(sequential, axes), d = refine(distributed, axes);
  const bool is_unsigned = ir::is_unsigned_int(s.dtype);
  compare_part(*s.data, *d.data, axes, is_unsigned, false, out);
  if (s.imag && d.imag) compare_part(*s.imag, *d.imag, axes, is_unsigned, true, out);
  if (out.kind == Comparison::Kind::Same && (out.open > 0 || (out.defined == 0 && s.data->size > 0))) out.kind = Comparison::Kind::Open;
  return out;
}

std::pair<Interval, Interval> at_index(const Value& sequential, const Value& distributed, const std::vector<int64_t>& index,
                                       bool imaginary) {
  const Buffer& s = imaginary ? *sequential.imag : *sequential.data;
  const Buffer& d = imaginary ? *distributed.imag : *distributed.data;
  return {element(s, locate(sequential, index)), element(d, locate(distributed, index))};
}

std::string describe(const Comparison& c) {
  const auto number = [](Interval x) {
    if (is_undefined(x)) return std::string("undefined");
    if (is_undecided(x)) return std::string("undecided");
    return x.r == 0 ? fmt::format("{:.17g}", x.m) : fmt::format("{:.17g} +- {:.1g}", x.m, x.r);
  };
  return fmt::format("at [{}]{}: sequential {}, distributed {}", fmt::join(c.index, ", "), c.imaginary ? " (imaginary part)" : "",
                     number(c.sequential), number(c.distributed));
}

}  // namespace shardproof::interp
