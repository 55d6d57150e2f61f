// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Scalar functions on intervals of doubles. How each stays rigorous:
//   +, *, /, sqrt     the rounding error is computed exactly (two-sum, two-product, remainder) and added to the radius;
//   libm functions    taken to be right within 4 units in the last place (glibc documents at most 2 for those used here), evaluated at
//                     both ends where monotone, or with a bound of the derivative;
//   all others        evaluated by Arb at 64 bits.
#include <algorithm>

#include "interp/number.h"

namespace shardproof::interp {
namespace {

constexpr double kLibm = 0x1p-50;

double lower(Interval x) { return x.r == 0 ? x.m : (x.m - x.r) - (std::fabs(x.m) + x.r) * 0x1p-51; }
double upper(Interval x) { return x.r == 0 ? x.m : (x.m + x.r) + (std::fabs(x.m) + x.r) * 0x1p-51; }

Interval between(double lo, double hi) {
  if (!(std::fabs(lo) <= DBL_MAX) || !(std::fabs(hi) <= DBL_MAX)) return kUndecided;
  if (lo == hi) return {lo, 0};
  const double m = lo + (hi - lo) / 2;
  return {m, up(std::max(hi - m, m - lo)) + kTiny};
}

// An increasing libm function on a finite interval.
template <typename F>
Interval increasing(F f, Interval x) {
  if (x.r == 0) {
    const double m = f(x.m);
    return {m, m == 0 && x.m == 0 ? 0 : std::fabs(m) * kLibm + kTiny};
  }
  const double lo = f(lower(x)), hi = f(upper(x));
  return between(lo - std::fabs(lo) * kLibm - kTiny, hi + std::fabs(hi) * kLibm + kTiny);
}

double logistic_at(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// Rounding functions: decided if both ends round alike.
template <typename F>
Interval rounded(F f, Interval x) {
  if (std::isinf(x.m)) return x;
  const double lo = f(lower(x)), hi = f(upper(x));
  return lo == hi ? Interval{lo, 0} : kUndecided;
}

struct Scratch {  // Arb temporaries, one set per thread
  arb_t x, y, out;
  Scratch() {
    arb_init(x);
    arb_init(y);
    arb_init(out);
  }
  ~Scratch() {
    arb_clear(x);
    arb_clear(y);
    arb_clear(out);
  }
};
Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

Interval by_ball(ir::Fn fn, Interval x) {
  Scratch& s = scratch();
  set_interval(s.x, x);
  apply(fn, s.out, s.x, 64);
  return to_interval(s.out);
}
Interval by_ball(ir::Fn fn, Interval x, Interval y) {
  Scratch& s = scratch();
  set_interval(s.x, x);
  set_interval(s.y, y);
  apply(fn, s.out, s.x, s.y, 64);
  return to_interval(s.out);
}

Interval poison(Interval x, Interval y) { return is_undefined(x) || is_undefined(y) ? kUndefined : kUndecided; }

}  // namespace

Interval add_special(Interval x, Interval y) {
  if (x.m != x.m || y.m != y.m) return poison(x, y);
  const bool xi = std::isinf(x.m), yi = std::isinf(y.m);
  if (xi && yi) return x.m == y.m ? x : kUndefined;  // inf - inf
  if (xi) return x;
  if (yi) return y;
  return kUndecided;  // too large for doubles
}

Interval mul_special(Interval x, Interval y) {
  if (x.m != x.m || y.m != y.m) return poison(x, y);
  const bool xi = std::isinf(x.m), yi = std::isinf(y.m);
  if (!xi && !yi) return kUndecided;
  const Interval other = xi ? y : x;
  if (other.m == 0 && other.r == 0) return kUndefined;  // 0 * inf
  if (!(xi && yi) && std::fabs(other.m) <= other.r) return kUndecided;
  return {(x.m > 0) == (y.m > 0) ? kInfinity : -kInfinity, 0};
}

Interval div(Interval x, Interval y) {
  if (x.m != x.m || y.m != y.m) return poison(x, y);
  if (y.m == 0 && y.r == 0) return kUndefined;
  if (std::isinf(y.m)) return std::isinf(x.m) ? kUndefined : Interval{0, 0};
  const double room = (std::fabs(y.m) - y.r) * (1 - 0x1p-50);
  if (!(room > 0)) return kUndecided;
  if (std::isinf(x.m)) return {(x.m > 0) == (y.m > 0) ? kInfinity : -kInfinity, 0};
  const double m = x.m / y.m;
  if (!(std::fabs(m) <= DBL_MAX)) return kUndecided;
  double rest;
  const double p = m * y.m;
  if (std::fabs(p) > 1e-270 && std::fabs(m) > 1e-270 && splits(m) && splits(y.m)) {
    rest = std::fabs((x.m - p) - product_error(m, y.m, p));
  } else {
    rest = x.m == 0 ? 0 : std::fabs(p) * 0x1p-51 + kTiny * (1 + std::fabs(y.m));
  }
  double r = (x.r + std::fabs(m) * y.r + rest) / room;
  if (x.r + y.r > 0 || rest > 0) r += kTiny;
  if (!(r <= DBL_MAX)) return kUndecided;
  return {m, up(r)};
}

Interval sqrt(Interval x) {
  if (x.m != x.m) return x;
  if (x.m == kInfinity) return x;
  const double lo = lower(x);
  if (lo < 0) return upper(x) < 0 ? kUndefined : kUndecided;
  const double m = std::sqrt(x.m);
  if (m == 0) return {0, x.r == 0 ? 0 : std::sqrt(x.r) * 2};
  const double p = m * m;
  const double rest = p > 1e-270 && splits(p) ? std::fabs((x.m - p) - product_error(m, m, p)) : x.m * 0x1p-51;
  return {m, up((x.r + rest) / m)};  // |sqrt(t) - m| <= |t - m^2| / m
}

Interval exp(Interval x) {
  if (x.m != x.m) return x;
  if (std::isinf(x.m)) return x.m > 0 ? x : Interval{0, 0};
  if (x.m == 0 && x.r == 0) return {1, 0};
  const double m = std::exp(x.m);
  if (!(m <= DBL_MAX) || !(x.r < 700)) return kUndecided;
  const double growth = x.r < 1e-3 ? x.r * (1 + x.r) : std::expm1(x.r) * (1 + kLibm);
  const double r = m * (growth + kLibm) + kTiny * (1 + growth);
  if (!(r <= DBL_MAX)) return kUndecided;
  return {m, up(r)};
}

Interval log(Interval x) {
  if (x.m != x.m) return x;
  if (x.m == kInfinity) return x;
  if (x.m == 0 && x.r == 0) return {-kInfinity, 0};
  const double lo = lower(x);
  if (!(lo > 0)) return upper(x) < 0 ? kUndefined : kUndecided;
  if (x.m == 1 && x.r == 0) return {0, 0};
  const double m = std::log(x.m);
  return {m, up(std::fabs(m) * kLibm + x.r / lo) + kTiny};
}

Order order(Interval x, Interval y) {
  if (x.m != x.m || y.m != y.m) return Order::Open;
  if (x.m == y.m && x.r == y.r) return Order::Equal;  // exact, or the very same element (its number is in the radius)
  const double gap = y.m - x.m;
  if (gap == 0 || gap != gap) return x.r == 0 && y.r == 0 ? Order::Equal : Order::Open;  // NaN: the same infinity
  if (std::isinf(gap)) return gap > 0 ? Order::Less : Order::Greater;
  if (std::fabs(gap) * (1 - 0x1p-50) <= up(x.r + y.r)) return Order::Open;
  return gap > 0 ? Order::Less : Order::Greater;
}

Interval max(Interval x, Interval y) {
  if (x.m != x.m || y.m != y.m) return poison(x, y);
  switch (order(x, y)) {
    case Order::Less: return y;
    case Order::Greater:
    case Order::Equal: return x;
    case Order::Open: break;
  }
  return between(std::max(lower(x), lower(y)), std::max(upper(x), upper(y)));
}
Interval min(Interval x, Interval y) { return neg(max(neg(x), neg(y))); }

Interval apply(ir::Fn fn, Interval x) {
  using ir::Fn;
  if (x.m != x.m) return x;
  const bool infinite = std::isinf(x.m);
  switch (fn) {
    case Fn::Neg: return neg(x);
    case Fn::Abs:
      if (infinite || std::fabs(x.m) >= x.r) return {std::fabs(x.m), x.r};
      return between(0, std::max(-lower(x), upper(x)));
    case Fn::Sign:
      if (x.m == 0 && x.r == 0) return {0, 0};
      if (std::fabs(x.m) > up(x.r)) return {x.m > 0 ? 1.0 : -1.0, 0};
      return kUndecided;
    case Fn::Exp: return exp(x);
    case Fn::Log: return log(x);
    case Fn::Sqrt: return sqrt(x);
    case Fn::Rsqrt: return x.m == kInfinity ? Interval{0, 0} : div({1, 0}, sqrt(x));
    case Fn::Sin:
    case Fn::Cos: {
      if (infinite) return kUndefined;
      if (x.m == 0 && x.r == 0) return {fn == Fn::Sin ? 0.0 : 1.0, 0};
      const double m = fn == Fn::Sin ? std::sin(x.m) : std::cos(x.m);
      return {m, up(std::min(x.r, 2.0) + std::fabs(m) * kLibm) + kTiny};
    }
    case Fn::Tanh: return infinite ? Interval{x.m > 0 ? 1.0 : -1.0, 0} : increasing([](double t) { return std::tanh(t); }, x);
    case Fn::Logistic: return infinite ? Interval{x.m > 0 ? 1.0 : 0.0, 0} : increasing(logistic_at, x);
    case Fn::Erf: return infinite ? Interval{x.m > 0 ? 1.0 : -1.0, 0} : increasing([](double t) { return std::erf(t); }, x);
    case Fn::Atan: return infinite ? by_ball(fn, x) : increasing([](double t) { return std::atan(t); }, x);
    case Fn::Floor: return rounded([](double t) { return std::floor(t); }, x);
    case Fn::Ceil: return rounded([](double t) { return std::ceil(t); }, x);
    case Fn::Trunc: return rounded([](double t) { return std::trunc(t); }, x);
    case Fn::Round: return rounded([](double t) { return std::nearbyint(t); }, x);
    case Fn::RoundAway: return rounded([](double t) { return std::round(t); }, x);
    default: return by_ball(fn, x);
  }
}

Interval apply(ir::Fn fn, Interval x, Interval y) {
  using ir::Fn;
  if (x.m != x.m || y.m != y.m) return poison(x, y);
  switch (fn) {
    case Fn::Add: return add(x, y);
    case Fn::Sub: return sub(x, y);
    case Fn::Mul: return mul(x, y);
    case Fn::Div: return div(x, y);
    case Fn::Max: return max(x, y);
    case Fn::Min: return min(x, y);
    case Fn::Pow: {
      if (y.r != 0 || std::isinf(x.m) || y.m != std::trunc(y.m) || std::fabs(y.m) > 16) return by_ball(fn, x, y);
      if (y.m == 0) return {1, 0};
      Interval out = x;
      for (int k = 1; k < static_cast<int>(std::fabs(y.m)); ++k) out = mul(out, x);
      return y.m > 0 ? out : div({1, 0}, out);
    }
    case Fn::FloorDiv:
    case Fn::Rem:
    case Fn::Mod: {
      const Interval quotient = apply(fn == Fn::Rem ? Fn::Trunc : Fn::Floor, div(x, y));
      if (fn == Fn::FloorDiv || quotient.m != quotient.m) return quotient;
      if (std::isinf(x.m) || std::isinf(y.m)) return kUndecided;
      return sub(x, mul(quotient, y));
    }
    default: return by_ball(fn, x, y);
  }
}

}  // namespace shardproof::interp
