// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Rigorous scalars: intervals of doubles (midpoint, radius) and balls of Arb behind one encoding of the values of MANIFEST.md section 4.
//
// An element is one of
//   a real in [m - r, m + r]      m finite, r finite
//   +inf or -inf                  m = +-inf, r = 0
//   undefined (NaN)               m = NaN,   r = 0
//   undecided (anything)          m = NaN,   r = inf     also: a real too large for doubles, an open branch, a random draw
// Every operation encloses: the true value of an element lies in what is computed from enclosures of its operands. Results that are exact
// in doubles (integers, powers of two, masks) have radius 0, so that comparisons and rounding of counters stay decided.
//
// Identity: x >= max(x) must hold for the very element that is the maximum, though its enclosure overlaps itself. So every computed element
// that is not exact gets a number (in the low bits of an interval's radius, beside a ball), a hash of the node that computed it and of all
// bits of its enclosure. What only moves elements keeps it, and order() takes elements of one number, midpoint and radius for equal: they
// come from one node and agree in some hundred bits, so they are one element, or copies computed from copies.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/graph.h"

#ifdef SHARDPROOF_NO_FLINT_HEADERS  // cmake/dependencies.cmake
#include "interp/arb_abi.h"
#elif __has_include(<flint/arb.h>)
#include <flint/arb.h>
#include <flint/arb_hypgeom.h>
#else
#include <arb.h>
#include <arb_hypgeom.h>
#endif

namespace shardproof::interp {

struct Interval {
  double m = 0, r = 0;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Interval kUndefined{kNaN, 0};
constexpr Interval kUndecided{kNaN, kInfinity};

inline bool is_undefined(Interval x) { return x.m != x.m && x.r == 0; }
inline bool is_undecided(Interval x) { return x.m != x.m && x.r != 0; }
inline bool is_real(Interval x) { return std::fabs(x.m) <= DBL_MAX; }

// Radii are computed with at most 16 roundings to nearest; this covers them. The sum of radii below DBL_MIN is exact.
inline double up(double r) { return r * (1 + 0x1p-48); }
constexpr double kTiny = 1e-300;  // covers every underflow (below 1e-307) of a product or quotient

// The rounding error of p = fl(x * y), exact where neither splitting overflows nor the error underflows (the caller guards).
inline double product_error(double x, double y, double p) {
#ifdef __FP_FAST_FMA
  return __builtin_fma(x, y, -p);
#else
  constexpr double kSplit = 134217729.0;  // 2^27 + 1
  const double cx = kSplit * x, cy = kSplit * y;
  const double xh = cx - (cx - x), yh = cy - (cy - y);
  const double xl = x - xh, yl = y - yh;
  return ((xh * yh - p) + xh * yl + xl * yh) + xl * yl;
#endif
}
inline bool splits(double x) { return std::fabs(x) < 0x1p995; }

Interval add_special(Interval x, Interval y);
Interval mul_special(Interval x, Interval y);

inline Interval add(Interval x, Interval y) {
  const double m = x.m + y.m;
  if (!(std::fabs(m) <= DBL_MAX)) return add_special(x, y);
  const double t = m - x.m;
  const double e = (x.m - (m - t)) + (y.m - t);  // exact error of the sum
  return {m, up(x.r + y.r + std::fabs(e))};
}
inline Interval neg(Interval x) { return {-x.m, x.r}; }
inline Interval sub(Interval x, Interval y) { return add(x, neg(y)); }
inline Interval mul(Interval x, Interval y) {
  const double m = x.m * y.m;
  const double size = std::fabs(m);
  if (!(size <= DBL_MAX)) return mul_special(x, y);
  double e;
  if (size > 1e-270 && splits(x.m) && splits(y.m)) {
    e = std::fabs(product_error(x.m, y.m, m));
  } else {
    e = x.m == 0 || y.m == 0 ? 0 : size * 0x1p-52 + kTiny;
  }
  double r = std::fabs(x.m) * y.r + std::fabs(y.m) * x.r + x.r * y.r + e;
  if (x.r + y.r > 0) r += kTiny;
  return {m, up(r)};
}
Interval div(Interval x, Interval y);
Interval sqrt(Interval x);
Interval exp(Interval x);
Interval log(Interval x);

// The order of two elements. Open: overlapping, undefined or undecided.
enum class Order : uint8_t { Less, Equal, Greater, Open };
Order order(Interval x, Interval y);
Interval max(Interval x, Interval y);
Interval min(Interval x, Interval y);

// Unary scalar functions that are not above (and those that are), and the binary ones of floats.
Interval apply(ir::Fn fn, Interval x);
Interval apply(ir::Fn fn, Interval x, Interval y);

// ---- balls
inline bool is_undefined(const arb_t x) { return arf_is_nan(arb_midref(x)) && mag_is_zero(arb_radref(x)); }
inline bool is_undecided(const arb_t x) { return arf_is_nan(arb_midref(x)) && !mag_is_zero(arb_radref(x)); }
inline bool is_real(const arb_t x) { return arb_is_finite(x); }
inline void set_undefined(arb_t x) {
  arf_nan(arb_midref(x));
  mag_zero(arb_radref(x));
}
inline void set_undecided(arb_t x) { arb_indeterminate(x); }
void set_interval(arb_t out, Interval x);
Interval to_interval(const arb_t x);  // an enclosure in doubles
Order order(const arb_t x, const arb_t y);
void apply(ir::Fn fn, arb_t out, const arb_t x, slong bits);
void apply(ir::Fn fn, arb_t out, const arb_t x, const arb_t y, slong bits);

}  // namespace shardproof::interp
