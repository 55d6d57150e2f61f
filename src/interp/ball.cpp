// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Scalar functions on Arb balls, with the infinities and undefined values of MANIFEST.md section 4 around them (Arb knows only "anything").
#include "interp/number.h"

namespace shardproof::interp {
namespace {

bool infinite(const arb_t x) { return arf_is_inf(arb_midref(x)) && mag_is_zero(arb_radref(x)); }
bool positive_infinity(const arb_t x) { return infinite(x) && arf_sgn(arb_midref(x)) > 0; }

void set_infinity(arb_t out, bool positive) {
  if (positive) {
    arf_pos_inf(arb_midref(out));
  } else {
    arf_neg_inf(arb_midref(out));
  }
  mag_zero(arb_radref(out));
}

// The value of a function at +inf or -inf.
void at_infinity(ir::Fn fn, arb_t out, bool positive, slong bits) {
  using ir::Fn;
  switch (fn) {
    case Fn::Abs:
    case Fn::Cosh: set_infinity(out, true); return;
    case Fn::Neg: set_infinity(out, !positive); return;
    case Fn::Sign:
    case Fn::Tanh:
    case Fn::Erf: arb_set_si(out, positive ? 1 : -1); return;
    case Fn::Exp:
    case Fn::Exp2: positive ? set_infinity(out, true) : arb_zero(out); return;
    case Fn::Expm1: positive ? set_infinity(out, true) : arb_set_si(out, -1); return;
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10:
    case Fn::Log1p:
    case Fn::Sqrt:
    case Fn::Acosh: positive ? set_infinity(out, true) : set_undefined(out); return;
    case Fn::Rsqrt: positive ? arb_zero(out) : set_undefined(out); return;
    case Fn::Logistic: arb_set_si(out, positive ? 1 : 0); return;
    case Fn::Erfc: arb_set_si(out, positive ? 0 : 2); return;
    case Fn::Atan:
      arb_const_pi(out, bits);
      arb_mul_2exp_si(out, out, -1);
      if (!positive) arb_neg(out, out);
      return;
    case Fn::Cbrt:
    case Fn::Sinh:
    case Fn::Asinh:
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
    case Fn::RoundAway:
    case Fn::Trunc: set_infinity(out, positive); return;
    case Fn::Sin:
    case Fn::Cos:
    case Fn::Tan:
    case Fn::Asin:
    case Fn::Acos:
    case Fn::Atanh:
    case Fn::ErfInv: set_undefined(out); return;
    default: set_undecided(out); return;
  }
}

// Applies `f` where x lies inside (low, high); outside undefined, across the border undecided. `at_low`: the value is -inf there (log).
template <typename F>
void inside(arb_t out, const arb_t x, double low, double high, bool infinite_ends, bool closed, F f) {
  arb_t lo, hi;
  arb_init(lo);
  arb_init(hi);
  arb_set_d(lo, low);
  arb_set_d(hi, high);
  const bool at_low = arb_is_exact(x) && arb_equal(x, lo), at_high = arb_is_exact(x) && arb_equal(x, hi);
  if (arb_gt(x, lo) && arb_lt(x, hi)) {
    f();
  } else if (arb_lt(x, lo) || arb_gt(x, hi)) {
    set_undefined(out);
  } else if (at_low || at_high) {
    if (closed) {
      f();
    } else if (infinite_ends) {
      set_infinity(out, at_high);
    } else {
      set_undefined(out);
    }
  } else {
    set_undecided(out);
  }
  arb_clear(lo);
  arb_clear(hi);
}

void rounded(ir::Fn fn, arb_t out, const arb_t x) {
  using ir::Fn;
  arf_t ends[2];
  arf_init(ends[0]);
  arf_init(ends[1]);
  // Exact ends: the ball is midpoint +- radius.
  arf_t radius;
  arf_init(radius);
  arf_set_mag(radius, arb_radref(x));
  arf_sub(ends[0], arb_midref(x), radius, ARF_PREC_EXACT, ARF_RND_DOWN);
  arf_add(ends[1], arb_midref(x), radius, ARF_PREC_EXACT, ARF_RND_DOWN);
  for (auto& end : ends) {
    switch (fn) {
      case Fn::Floor: arf_floor(end, end); break;
      case Fn::Ceil: arf_ceil(end, end); break;
      case Fn::Trunc: arf_sgn(end) < 0 ? arf_ceil(end, end) : arf_floor(end, end); break;
      default: {  // to nearest: half to even, or away from zero
        arf_t half, down;
        arf_init(half);
        arf_init(down);
        arf_set_d(half, 0.5);
        arf_floor(down, end);
        arf_sub(half, end, down, ARF_PREC_EXACT, ARF_RND_DOWN);  // the fraction
        const int side = arf_cmp_d(half, 0.5);
        bool go_up = side > 0;
        if (side == 0) {
          if (fn == Fn::RoundAway) {
            go_up = arf_sgn(end) > 0;
          } else {
            arf_t by_two;
            arf_init(by_two);
            arf_mul_2exp_si(by_two, down, -1);
            go_up = !arf_is_int(by_two);
            arf_clear(by_two);
          }
        }
        if (go_up) arf_add_si(down, down, 1, ARF_PREC_EXACT, ARF_RND_DOWN);
        arf_set(end, down);
        arf_clear(half);
        arf_clear(down);
      }
    }
  }
  if (arf_equal(ends[0], ends[1])) {
    arb_set_arf(out, ends[0]);
  } else {
    set_undecided(out);
  }
  arf_clear(ends[0]);
  arf_clear(ends[1]);
  arf_clear(radius);
}

void logarithm(arb_t out, const arb_t x, const arb_t zero_point, ir::Fn fn, slong bits) {
  // zero_point: 0 for log, -1 for log1p, where the value is -inf.
  if (arb_gt(x, zero_point)) {
    if (fn == ir::Fn::Log1p) {
      arb_log1p(out, x, bits);
    } else if (fn == ir::Fn::Log2) {
      arb_log_base_ui(out, x, 2, bits);
    } else if (fn == ir::Fn::Log10) {
      arb_log_base_ui(out, x, 10, bits);
    } else {
      arb_log(out, x, bits);
    }
  } else if (arb_lt(x, zero_point)) {
    set_undefined(out);
  } else if (arb_is_exact(x)) {
    set_infinity(out, false);
  } else {
    set_undecided(out);
  }
}

void divide(arb_t out, const arb_t x, const arb_t y, slong bits) {
  if (infinite(y)) {
    infinite(x) ? set_undefined(out) : arb_zero(out);
  } else if (arb_is_zero(y)) {
    set_undefined(out);
  } else if (arb_contains_zero(y)) {
    set_undecided(out);
  } else if (infinite(x)) {
    set_infinity(out, positive_infinity(x) == static_cast<bool>(arb_is_positive(y)));
  } else {
    arb_div(out, x, y, bits);
  }
}

void power(arb_t out, const arb_t x, const arb_t y, slong bits) {
  const bool whole = arb_is_exact(y) && arb_is_int(y) && arf_cmpabs_ui(arb_midref(y), 1u << 20) <= 0;
  if (whole) {
    const slong n = arf_get_si(arb_midref(y), ARF_RND_DOWN);
    if (n == 0) {
      arb_one(out);
    } else if (infinite(x)) {
      n > 0 ? set_infinity(out, positive_infinity(x) || n % 2 == 0) : arb_zero(out);
    } else if (n > 0) {
      arb_pow_ui(out, x, static_cast<ulong>(n), bits);
    } else {
      arb_t p, one;
      arb_init(p);
      arb_init(one);
      arb_one(one);
      arb_pow_ui(p, x, static_cast<ulong>(-n), bits);
      divide(out, one, p, bits);
      arb_clear(p);
      arb_clear(one);
    }
  } else if (infinite(x) || infinite(y)) {
    set_undecided(out);
  } else if (arb_is_positive(x)) {
    arb_pow(out, x, y, bits);
  } else if (arb_is_zero(x)) {
    arb_is_positive(y) ? arb_zero(out) : arb_is_negative(y) ? set_undefined(out) : set_undecided(out);
  } else if (arb_is_negative(x) && arb_is_exact(y) && !arb_is_int(y)) {
    set_undefined(out);
  } else {
    set_undecided(out);
  }
}

}  // namespace

void set_interval(arb_t out, Interval x) {
  arf_set_d(arb_midref(out), x.m);
  if (x.r == kInfinity) {
    mag_inf(arb_radref(out));
  } else {
    mag_set_d(arb_radref(out), x.r);
  }
}

Interval to_interval(const arb_t x) {
  if (is_undefined(x)) return kUndefined;
  if (is_undecided(x)) return kUndecided;
  if (infinite(x)) return {positive_infinity(x) ? kInfinity : -kInfinity, 0};
  const double m = arf_get_d(arb_midref(x), ARF_RND_NEAR);
  if (!(std::fabs(m) <= DBL_MAX) || mag_is_inf(arb_radref(x))) return kUndecided;
  double r = mag_is_zero(arb_radref(x)) ? 0 : mag_get_d(arb_radref(x)) * (1 + 0x1p-40) + kTiny;  // mag has 30 bits and rounds up
  if (arf_cmp_d(arb_midref(x), m) != 0) r += std::fabs(m) * 0x1p-52 + kTiny;
  return r <= DBL_MAX ? Interval{m, up(r)} : kUndecided;
}

Order order(const arb_t x, const arb_t y) {
  if (arf_is_nan(arb_midref(x)) || arf_is_nan(arb_midref(y))) return Order::Open;
  if (arb_is_exact(x) && arb_is_exact(y)) {
    const int c = arf_cmp(arb_midref(x), arb_midref(y));
    return c < 0 ? Order::Less : c > 0 ? Order::Greater : Order::Equal;
  }
  if (arb_lt(x, y)) return Order::Less;
  if (arb_gt(x, y)) return Order::Greater;
  return Order::Open;
}

void apply(ir::Fn fn, arb_t out, const arb_t x, slong bits) {
  using ir::Fn;
  if (arf_is_nan(arb_midref(x))) {
    arb_set(out, x);
    return;
  }
  if (infinite(x)) {
    at_infinity(fn, out, positive_infinity(x), bits);
    return;
  }
  arb_t c;
  arb_init(c);
  switch (fn) {
    case Fn::Neg: arb_neg(out, x); break;
    case Fn::Abs: arb_abs(out, x); break;
    case Fn::Sign:
      if (arb_is_zero(x) || !arb_contains_zero(x)) {
        arb_sgn(out, x);
      } else {
        set_undecided(out);
      }
      break;
    case Fn::Exp: arb_exp(out, x, bits); break;
    case Fn::Exp2:
      arb_set_ui(c, 2);
      arb_pow(out, c, x, bits);
      break;
    case Fn::Expm1: arb_expm1(out, x, bits); break;
    case Fn::Log1p: arb_set_si(c, -1); [[fallthrough]];
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10: logarithm(out, x, c, fn, bits); break;
    case Fn::Sqrt:
      if (arb_is_nonnegative(x)) {
        arb_sqrt(out, x, bits);
      } else {
        arb_is_negative(x) ? set_undefined(out) : set_undecided(out);
      }
      break;
    case Fn::Rsqrt:
      if (arb_is_positive(x)) {
        arb_rsqrt(out, x, bits);
      } else {
        arb_is_negative(x) || arb_is_zero(x) ? set_undefined(out) : set_undecided(out);
      }
      break;
    case Fn::Cbrt:
      if (arb_is_zero(x)) {
        arb_zero(out);  // Arb has no root of 0
      } else if (arb_is_negative(x)) {
        arb_neg(c, x);
        arb_root_ui(out, c, 3, bits);
        arb_neg(out, out);
      } else if (arb_is_nonnegative(x)) {
        arb_root_ui(out, x, 3, bits);
      } else {
        set_undecided(out);
      }
      break;
    case Fn::Sin: arb_sin(out, x, bits); break;
    case Fn::Cos: arb_cos(out, x, bits); break;
    case Fn::Tan: arb_tan(out, x, bits); break;
    case Fn::Asin: inside(out, x, -1, 1, false, true, [&] { arb_asin(out, x, bits); }); break;
    case Fn::Acos: inside(out, x, -1, 1, false, true, [&] { arb_acos(out, x, bits); }); break;
    case Fn::Atan: arb_atan(out, x, bits); break;
    case Fn::Sinh: arb_sinh(out, x, bits); break;
    case Fn::Cosh: arb_cosh(out, x, bits); break;
    case Fn::Tanh: arb_tanh(out, x, bits); break;
    case Fn::Asinh: arb_asinh(out, x, bits); break;
    case Fn::Acosh: inside(out, x, 1, HUGE_VAL, false, true, [&] { arb_acosh(out, x, bits); }); break;
    case Fn::Atanh: inside(out, x, -1, 1, true, false, [&] { arb_atanh(out, x, bits); }); break;
    case Fn::Logistic:  // 1 / (1 + exp(-x)), never through an overflow
      arb_neg(c, x);
      arb_exp(c, c, bits);
      arb_add_ui(c, c, 1, bits);
      arb_inv(out, c, bits);
      break;
    case Fn::Erf: arb_hypgeom_erf(out, x, bits); break;
    case Fn::Erfc: arb_hypgeom_erfc(out, x, bits); break;
    case Fn::ErfInv:
      if (arb_is_zero(x)) {
        arb_zero(out);
        break;
      }
      inside(out, x, -1, 1, true, false, [&] { arb_hypgeom_erfinv(out, x, bits); });
      break;
    case Fn::Lgamma:
      if (arb_is_positive(x)) {
        arb_lgamma(out, x, bits);
      } else {
        set_undecided(out);
      }
      break;
    case Fn::Digamma:
      if (arb_is_positive(x)) {
        arb_digamma(out, x, bits);
      } else {
        set_undecided(out);
      }
      break;
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Trunc:
    case Fn::Round:
    case Fn::RoundAway: rounded(fn, out, x); break;
    default: set_undecided(out); break;
  }
  arb_clear(c);
  if (!arb_is_finite(out) && !infinite(out) && !is_undefined(out)) set_undecided(out);
}

void apply(ir::Fn fn, arb_t out, const arb_t x, const arb_t y, slong bits) {
  using ir::Fn;
  if (arf_is_nan(arb_midref(x)) || arf_is_nan(arb_midref(y))) {
    is_undefined(x) || is_undefined(y) ? set_undefined(out) : set_undecided(out);
    return;
  }
  const bool special = infinite(x) || infinite(y);
  switch (fn) {
    case Fn::Add:
    case Fn::Sub:
      if (special) {
        const bool py = positive_infinity(y) != (fn == Fn::Sub);
        if (infinite(x) && infinite(y)) {
          positive_infinity(x) == py ? set_infinity(out, py) : set_undefined(out);
        } else {
          set_infinity(out, infinite(x) ? positive_infinity(x) : py);
        }
        return;
      }
      fn == Fn::Add ? arb_add(out, x, y, bits) : arb_sub(out, x, y, bits);
      break;
    case Fn::Mul:
      if (special) {
        if (arb_is_zero(x) || arb_is_zero(y)) {
          set_undefined(out);
        } else if ((!infinite(x) && arb_contains_zero(x)) || (!infinite(y) && arb_contains_zero(y))) {
          set_undecided(out);
        } else {
          set_infinity(out, (arf_sgn(arb_midref(x)) > 0) == (arf_sgn(arb_midref(y)) > 0));
        }
        return;
      }
      arb_mul(out, x, y, bits);
      break;
    case Fn::Div: divide(out, x, y, bits); break;
    case Fn::Max:
    case Fn::Min: {
      const Order o = order(x, y);
      if (o == Order::Open) {
        special ? set_undecided(out) : fn == Fn::Max ? arb_max(out, x, y, bits) : arb_min(out, x, y, bits);
      } else {
        arb_set(out, (o == Order::Less) == (fn == Fn::Max) ? y : x);
      }
      break;
    }
    case Fn::Pow: power(out, x, y, bits); break;
    case Fn::Atan2: special ? set_undecided(out) : arb_atan2(out, x, y, bits); break;
    case Fn::FloorDiv:
    case Fn::Rem:
    case Fn::Mod: {
      arb_t q;
      arb_init(q);
      divide(q, x, y, bits);
      apply(fn == Fn::Rem ? Fn::Trunc : Fn::Floor, q, q, bits);
      if (fn == Fn::FloorDiv || !arb_is_finite(q)) {
        arb_set(out, q);
      } else if (special) {
        set_undecided(out);
      } else {
        arb_mul(q, q, y, bits);
        arb_sub(out, x, q, bits);
      }
      arb_clear(q);
      break;
    }
    default: set_undecided(out); break;
  }
  if (!arb_is_finite(out) && !infinite(out) && !is_undefined(out)) set_undecided(out);
}

}  // namespace shardproof::interp
