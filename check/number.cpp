// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Arithmetic of the checker; the conventions are those of docs/manifest.md, section 4: x/0, inf - inf, 0 * inf, log and roots of negatives
// are undefined; log 0 = -inf, exp(-inf) = 0, finite/inf = 0.
#include "check/number.h"

#include <algorithm>
#include <utility>

namespace shardproof::check {

using ir::DType;
using ir::Fn;

namespace {

bool finite(const Number& x) { return std::isfinite(x.v); }

// a*b - p, exactly, for p = the rounded product (Dekker; the library's fma of long doubles is slow).
long double product_error(long double a, long double b, long double p) {
  constexpr long double kSplit = 4294967297.0L;  // 2^32 + 1
  const long double ca = kSplit * a, ah = ca - (ca - a), al = a - ah, cb = kSplit * b, bh = cb - (cb - b), bl = b - bh;
  return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

constexpr long double kLog2 = 0.693147180559945309417232121458176568L;
constexpr int kPlain = 8000;

// v * 2^x in the form that Number wants.
Number scaled(long double v, long double e, int64_t x) {
  if (v == 0) return {0, x == 0 ? e : 0, 0};
  int own = 0;
  const long double m = std::frexp(v, &own);
  if (std::abs(own + x) < kPlain) return {std::ldexp(v, static_cast<int>(x)), std::ldexp(e, static_cast<int>(x)), 0};
  return {m, std::ldexp(e, -own), x + own};
}
bool far(const Number& a) { return a.x != 0; }
bool large(long double v) { return v != 0 && (std::fabs(v) > 0x1p8000L || std::fabs(v) < 0x1p-8000L); }

// e^t, with relative error r.
Number exponential(long double t, long double r, bool& uncertain) {
  const long double k = std::floor(t / kLog2);
  if (std::fabs(k) > 0x1p50L) return uncertain = true, undefined();  // no digit of the result is known
  const long double m = std::exp(t - k * kLog2);
  return scaled(m, m * (1 + std::fabs(t) + r), static_cast<int64_t>(k));
}
long double logarithm(const Number& a) { return std::log(a.v) + static_cast<long double>(a.x) * kLog2; }

// f(a) for a differentiable f with derivative d at a.
Number smooth(long double v, long double d, const Number& a, bool& uncertain) {
  if (finite(a) && std::isinf(v)) uncertain = true;  // beyond the range of long double, not infinite
  Number r{v, 0};
  if (!std::isfinite(v)) return r;
  r.e = std::fabs(v) + std::fabs(d) * a.e;
  if (!std::isfinite(r.e)) uncertain = true;
  return r;
}

long double floor_of(const Number& a, bool& uncertain) {
  if (a.e != 0 && std::isfinite(a.v)) {
    const long double t = a.e * kTolerance;
    if (std::floor(a.v - t) != std::floor(a.v + t)) uncertain = true;
  }
  return std::floor(a.v);
}

long double low_of(DType t) { return ir::is_signed_int(t) ? -std::ldexp(1.0L, ir::int_bits(t) - 1) : 0; }
long double high_of(DType t) { return std::ldexp(1.0L, ir::is_signed_int(t) ? ir::int_bits(t) - 1 : ir::int_bits(t)) - 1; }

// An exact integer of the type as its bits.
bool as_bits(const Number& a, DType t, uint64_t& out) {
  if (a.e != 0 || !std::isfinite(a.v) || a.v != std::floor(a.v) || std::fabs(a.v) >= 0x1p64L) return false;
  out = a.v < 0 ? ~static_cast<uint64_t>(-(a.v + 1)) : static_cast<uint64_t>(a.v);
  if (ir::int_bits(t) < 64) out &= (uint64_t{1} << ir::int_bits(t)) - 1;
  return true;
}
Number from_bits(uint64_t v, DType t) {
  const int bits = ir::int_bits(t);
  if (bits < 64) v &= (uint64_t{1} << bits) - 1;
  long double r = static_cast<long double>(v);
  if (ir::is_signed_int(t) && (v >> (bits - 1)) & 1) r -= std::ldexp(1.0L, bits);
  return exact(r);
}

Number integer_division(Fn fn, const Number& a, const Number& b, DType to, bool& uncertain) {
  if (!finite(a) || !finite(b) || b.v == 0) return undefined();  // division by zero is open
  if (a.e != 0 || b.e != 0 || a.v != std::floor(a.v) || b.v != std::floor(b.v)) return uncertain = true, undefined();
  const auto x = static_cast<__int128>(a.v), y = static_cast<__int128>(b.v);
  __int128 q = x / y, r = x % y;
  if (fn == Fn::FloorDiv && r != 0 && ((r < 0) != (y < 0))) --q;
  if (fn == Fn::Mod && r != 0 && ((r < 0) != (y < 0))) r += y;
  const Number v = exact(static_cast<long double>(fn == Fn::Div || fn == Fn::FloorDiv ? q : r));
  return ir::is_int(to) ? wrap(v, to, uncertain) : v;
}

Number bitwise(Fn fn, const Number* a, size_t n, DType t, bool& uncertain) {
  uint64_t x = 0, y = 0;
  for (size_t k = 0; k < n; ++k) {
    if (is_undefined(a[k])) return undefined();
  }
  if (!as_bits(a[0], t, x)) return uncertain = true, undefined();
  for (size_t k = 1; k < n; ++k) {
    if (!as_bits(a[k], t, y)) return uncertain = true, undefined();
    const int bits = ir::int_bits(t);
    switch (fn) {
      case Fn::And: x &= y; break;
      case Fn::Or: x |= y; break;
      case Fn::Xor: x ^= y; break;
      default:
        if (y >= static_cast<uint64_t>(bits)) return undefined();  // open
        if (fn == Fn::Shl) x <<= y;
        if (fn == Fn::ShrL) x >>= y;
        if (fn == Fn::ShrA) return exact(std::floor(std::ldexp(from_bits(x, t).v, -static_cast<int>(y))));
    }
  }
  if (fn == Fn::Not) x = ~x;
  if (fn == Fn::PopCount) return exact(__builtin_popcountll(x));
  if (fn == Fn::Clz) return exact(x == 0 ? ir::int_bits(t) : __builtin_clzll(x) - (64 - ir::int_bits(t)));
  return from_bits(x, t);
}

}  // namespace

Number add(const Number& a, const Number& b) {
  if (far(a) || far(b)) {
    if (!finite(a) || !finite(b)) return {a.v + b.v, 0, 0};
    if (a.v == 0) return b;
    if (b.v == 0) return a;
    int ea = 0, eb = 0;
    std::frexp(a.v, &ea), std::frexp(b.v, &eb);
    const bool first = a.x + ea >= b.x + eb;
    const Number &p = first ? a : b, &q = first ? b : a;  // p is the larger
    const int64_t shift = std::max<int64_t>(q.x - p.x, -20000);
    const long double w = std::ldexp(q.v, static_cast<int>(shift)), we = std::ldexp(q.e, static_cast<int>(shift));
    return scaled(p.v + w, std::max(p.e, std::fabs(p.v)) + std::max(we, std::fabs(w)), p.x);
  }
  const long double s = a.v + b.v;
  if (a.e == 0 && a.v == 0) return b;
  if (!std::isfinite(s)) return {s, 0};
  if (a.e == 0 && b.e == 0) {
    const long double t = s - a.v;
    if ((a.v - (s - t)) + (b.v - t) == 0) return {s, 0};
    return {s, std::fabs(a.v) + std::fabs(b.v)};
  }
  return {s, std::max(a.e, std::fabs(a.v)) + std::max(b.e, std::fabs(b.v))};
}

Number neg(const Number& a) { return {-a.v, a.e, a.x}; }

Number mul(const Number& a, const Number& b) {
  const long double p = a.v * b.v, size = std::fabs(p);
  if (!(size < 0x1p8000L && size > 0x1p-8000L && a.x == 0 && b.x == 0)) {  // hardly ever
    if ((far(a) || far(b) || large(p)) && finite(a) && finite(b) && a.v != 0 && b.v != 0) {
      int ea = 0, eb = 0;
      const long double x = std::frexp(a.v, &ea), y = std::frexp(b.v, &eb);
      const long double xe = std::ldexp(a.e, -ea), ye = std::ldexp(b.e, -eb);
      return scaled(x * y, std::fabs(x * y) + std::fabs(x) * ye + std::fabs(y) * xe, a.x + b.x + ea + eb);
    }
    if (!std::isfinite(p)) return {p, 0};
    if ((a.e == 0 && a.v == 0) || (b.e == 0 && b.v == 0)) return {0, 0};
  }
  if (a.e == 0 && b.e == 0) return {p, product_error(a.v, b.v, p) == 0 ? 0 : size};
  return {p, size + std::fabs(a.v) * b.e + std::fabs(b.v) * a.e};
}

Number fraction(int64_t num, int64_t den) {
  if (den == 1) return exact(static_cast<long double>(num));
  const long double n = static_cast<long double>(num), d = static_cast<long double>(den), q = n / d;
  return {q, q * d == n && product_error(q, d, n) == 0 ? 0 : std::fabs(q), 0};
}

Number divide(const Number& a, const Number& b, bool& uncertain) {
  if (is_undefined(a) || is_undefined(b)) return undefined();
  if (b.e != 0 && finite(b) && std::fabs(b.v) <= b.e * kTolerance) return uncertain = true, undefined();
  if (b.v == 0) return undefined();
  const long double q = a.v / b.v;
  if ((far(a) || far(b) || large(q)) && finite(a) && finite(b) && a.v != 0) {
    int eb = 0;
    const long double y = std::frexp(b.v, &eb);
    const Number inverse = scaled(1 / y, 1 / y + std::ldexp(b.e, -eb) / (y * y), -eb - b.x);
    return mul(a, {inverse.v, std::fabs(inverse.e), inverse.x});
  }
  if (std::isnan(q)) return undefined();
  if (!std::isfinite(q)) return {q, 0};
  if (!finite(b)) return exact(0);
  if (a.e == 0 && b.e == 0 && q * b.v == a.v && product_error(q, b.v, a.v) == 0) return {q, 0};
  return {q, std::fabs(q) + a.e / std::fabs(b.v) + std::fabs(q / b.v) * b.e};
}

Number power(const Number& a, int64_t num, int64_t den, bool& uncertain) {
  if (is_undefined(a)) return undefined();
  if (den == 1 && num > 0 && num <= 64) {
    Number r = a;
    for (int64_t k = 1; k < num; ++k) r = mul(r, a);
    return r;
  }
  if (den == 1 && num < 0 && num >= -64) return divide(exact(1), power(a, -num, 1, uncertain), uncertain);
  if (a.e != 0 && finite(a) && std::fabs(a.v) <= a.e * kTolerance) return uncertain = true, undefined();
  if (a.v < 0) return undefined();
  if (a.v == 0) return num > 0 ? exact(0) : undefined();
  if (std::isinf(a.v)) return num > 0 ? a : exact(0);
  const long double x = static_cast<long double>(num) / static_cast<long double>(den);
  long double v = 0;
  if (den == 2 && std::abs(num) <= 8 && !far(a) && a.v > 0x1p-1000L && a.v < 0x1p1000L) {
    const long double root = std::sqrt(a.v);
    if (num == 1 && a.e == 0 && root * root == a.v && product_error(root, root, a.v) == 0) return exact(root);
    v = root;
    for (int64_t k = 1; k < std::abs(num); ++k) v *= root;
    if (num < 0) v = 1 / v;
  } else if (const long double t = x * logarithm(a); far(a) || std::fabs(t) > 5000) {
    return exponential(t, std::fabs(x) * a.e / a.v, uncertain);
  } else {
    v = std::pow(a.v, x);
  }
  return smooth(v, x * v / a.v, a, uncertain);
}

Number wrap(const Number& a, DType type, bool& uncertain) {
  if (!finite(a)) return undefined();
  if (type == DType::Bool) return exact(a.v != 0);
  if (a.e != 0 || a.v != std::floor(a.v)) return uncertain = true, a;
  if (a.v >= low_of(type) && a.v <= high_of(type)) return a;
  const long double m = std::ldexp(1.0L, ir::int_bits(type));
  long double r = std::fmod(a.v, m);
  if (r < low_of(type)) r += m;
  if (r > high_of(type)) r -= m;
  return exact(r);
}

// a - b, and what rounding may have added.
static std::pair<long double, long double> gap(const Number& a, const Number& b) {
  if (!far(a) && !far(b)) return {a.v == b.v ? 0 : a.v - b.v, (a.e + b.e) * kTolerance};
  const Number d = add(a, neg(b));
  return {d.v, d.e * kTolerance};
}

int order(const Number& a, const Number& b, bool& uncertain) {
  const auto [d, t] = gap(a, b);
  if (t > 0 && std::isfinite(d) && std::fabs(d) <= t) uncertain = true;
  return d < 0 ? -1 : d > 0 ? 1 : 0;
}

int turn(const Number& a, const Number& b, bool& uncertain) { return a.v == b.v && a.e == b.e && a.x == b.x ? 0 : order(a, b, uncertain); }

bool same(const Number& a, const Number& b) {
  if (is_undefined(a) || is_undefined(b)) return is_undefined(a) && is_undefined(b);
  if (!finite(a) || !finite(b)) return a.v == b.v;
  const auto [d, t] = gap(a, b);
  return std::fabs(d) <= t;
}

Number neutral(Fn fn) { return exact(fn == Fn::Mul || fn == Fn::And ? 1 : fn == Fn::Max ? -INFINITY : fn == Fn::Min ? INFINITY : 0); }

bool uninterpreted(Fn fn, DType from, DType to) {
  if (fn == Fn::Real || fn == Fn::Imag || fn == Fn::Complex || fn == Fn::Conj || fn == Fn::Digamma || fn == Fn::ErfInv) return true;
  if (fn == Fn::Abs && ir::is_complex(from)) return true;
  return fn == Fn::Convert && from != to && (to == DType::F8 || to == DType::F4 || from == DType::F8 || from == DType::F4);
}

Number apply(Fn fn, const Number* a, size_t n, DType from, DType to, bool& uncertain) {
  const bool boolean = to == DType::Bool;
  auto truth = [&](const Number& p) {  // rounding must not make it true: a truth value is 0 or 1
    if (p.e == 0 || (!boolean && fn != Fn::Select)) return p.v != 0;
    uncertain |= p.e * kTolerance >= 0.5L;
    return std::fabs(p.v) >= 0.5L;
  };
  if (fn == Fn::Select) return is_undefined(a[0]) ? undefined() : truth(a[0]) ? a[1] : a[2];
  if (fn != Fn::IsNan && fn != Fn::IsFinite && fn != Fn::IsInf) {
    for (size_t k = 0; k < n; ++k) {
      if (is_undefined(a[k])) return undefined();
    }
  }
  bool beyond = false;
  for (size_t k = 0; k < n; ++k) beyond |= far(a[k]);
  const Number& x = a[0];
  auto fold = [&](auto f) {
    Number r = x;
    for (size_t k = 1; k < n; ++k) r = f(r, a[k]);
    return r;
  };
  if (beyond) {
    const bool fine = fn == Fn::Add || fn == Fn::Mul || fn == Fn::Sub || fn == Fn::Neg || fn == Fn::Div || fn == Fn::Sqrt ||
                      fn == Fn::Rsqrt || fn == Fn::Log || fn == Fn::Abs || fn == Fn::Sign || (fn >= Fn::Eq && fn <= Fn::Ge) ||
                      fn == Fn::IsFinite || fn == Fn::IsNan || fn == Fn::IsInf || fn == Fn::Convert || fn == Fn::Max || fn == Fn::Min ||
                      fn == Fn::Log1p || fn == Fn::Expm1;
    if (!fine || ir::is_int(to)) return uncertain = true, undefined();
    bool close = false;
    if (fn == Fn::Max) return fold([&](const Number& p, const Number& q) { return order(q, p, close) > 0 ? q : p; });
    if (fn == Fn::Min) return fold([&](const Number& p, const Number& q) { return order(q, p, close) > 0 ? p : q; });
    if (fn == Fn::Log) {
      if (x.v < 0) return undefined();
      const long double t = logarithm(x);
      return {t, std::fabs(t) + x.e / x.v, 0};
    }
    if (fn == Fn::Abs) return {std::fabs(x.v), x.e, x.x};
  }
  auto ints = [&](Number r) { return ir::is_int(to) ? wrap(r, to, uncertain) : r; };
  auto logic = [&](bool v) { return exact(v ? 1 : 0); };
  switch (fn) {
    case Fn::Add:
    case Fn::Mul:
    case Fn::And:
    case Fn::Or: {
      const bool either = fn == Fn::Add || fn == Fn::Or, bits = fn == Fn::And || fn == Fn::Or;
      if (boolean || (bits && !ir::is_int(to)))
        return fold([&](const Number& p, const Number& q) { return logic(either ? truth(p) || truth(q) : truth(p) && truth(q)); });
      return bits ? bitwise(fn, a, n, to, uncertain) : ints(fold(either ? add : mul));
    }
    case Fn::Sub: return ints(add(x, neg(a[1])));
    case Fn::Neg: return ints(neg(x));
    case Fn::Max: return fold([](const Number& p, const Number& q) { return Number{std::max(p.v, q.v), std::max(p.e, q.e)}; });
    case Fn::Min: return fold([](const Number& p, const Number& q) { return Number{std::min(p.v, q.v), std::max(p.e, q.e)}; });
    case Fn::Xor:
    case Fn::Not:
      if (boolean) return logic(truth(x) != (fn == Fn::Not || truth(a[1])));
      [[fallthrough]];
    case Fn::Shl:
    case Fn::ShrA:
    case Fn::ShrL:
    case Fn::PopCount:
    case Fn::Clz: return bitwise(fn, a, n, to, uncertain);
    case Fn::Div:
    case Fn::FloorDiv:
    case Fn::Rem:
    case Fn::Mod: {
      if (ir::is_int(to)) return integer_division(fn, x, a[1], to, uncertain);
      const Number q = divide(x, a[1], uncertain);
      if (fn == Fn::Div) return q;
      if (!finite(q) || !finite(a[1])) return undefined();
      const Number whole{fn == Fn::Rem ? (q.v < 0 ? -floor_of(neg(q), uncertain) : floor_of(q, uncertain)) : floor_of(q, uncertain), 0};
      if (fn == Fn::FloorDiv) return whole;
      return add(x, neg(mul(whole, a[1])));
    }
    case Fn::Abs: return ints({std::fabs(x.v), x.e});
    case Fn::Sign: return exact(order(x, exact(0), uncertain));
    case Fn::Pow: {
      const Number& y = a[1];
      if (ir::is_int(to)) {
        if (y.e != 0 || y.v < 0 || y.v > 64) return uncertain = true, undefined();
        Number r = exact(1);
        for (int k = 0; k < static_cast<int>(y.v); ++k) r = wrap(mul(r, x), to, uncertain);
        return r;
      }
      if (y.e == 0 && finite(y) && y.v == 0) return exact(1);
      if (y.e == 0 && finite(y) && std::fabs(y.v) <= 64 && 2 * y.v == std::floor(2 * y.v)) {
        const auto twice = static_cast<int64_t>(2 * y.v);
        return twice % 2 == 0 ? power(x, twice / 2, 1, uncertain) : power(x, twice, 2, uncertain);
      }
      if (!finite(x) || !finite(y)) return uncertain = true, undefined();
      if (x.v < 0 && (y.e != 0 || y.v != std::floor(y.v))) return undefined();
      if (x.v == 0) return y.v > 0 ? exact(0) : undefined();
      Number r = smooth(std::pow(x.v, y.v), y.v * std::pow(x.v, y.v) / x.v, x, uncertain);
      if (y.e != 0) r.e += std::fabs(r.v * std::log(x.v)) * y.e;
      return r;
    }
    case Fn::Exp: {
      if (x.v == 0 && x.e == 0) return exact(1);
      if (far(x)) return x.x < 0 ? exact(1) : x.v < 0 ? exact(0) : (uncertain = true, exact(INFINITY));
      if (finite(x) && std::fabs(x.v) > 5000) return exponential(x.v, x.e, uncertain);
      const long double v = std::exp(x.v);
      return smooth(v, v, x, uncertain);
    }
    case Fn::Exp2: return smooth(std::exp2(x.v), std::exp2(x.v) * 0.7L, x, uncertain);
    case Fn::Expm1: return add(apply(Fn::Exp, a, 1, from, to, uncertain), exact(-1));
    case Fn::Log:
    case Fn::Log2:
    case Fn::Log10: {
      if (x.e != 0 && finite(x) && std::fabs(x.v) <= x.e * kTolerance) return uncertain = true, undefined();
      if (x.v < 0) return undefined();
      if (x.v == 0) return exact(-INFINITY);
      if (x.v == 1 && x.e == 0) return exact(0);
      const long double scale = fn == Fn::Log ? 1 : fn == Fn::Log2 ? std::log(2.0L) : std::log(10.0L);
      return smooth(std::log(x.v) / scale, 1 / (x.v * scale), x, uncertain);
    }
    case Fn::Log1p: {
      const Number y = add(x, exact(1));
      return apply(Fn::Log, &y, 1, from, to, uncertain);
    }
    case Fn::Sqrt: return power(x, 1, 2, uncertain);
    case Fn::Rsqrt: return power(x, -1, 2, uncertain);
    case Fn::Cbrt: return x.v == 0 ? x : smooth(std::cbrt(x.v), std::cbrt(x.v) / (3 * x.v), x, uncertain);
    case Fn::Sin:
    case Fn::Cos:
    case Fn::Tan: {
      if (!finite(x)) return undefined();
      const long double s = std::sin(x.v), c = std::cos(x.v);
      if (fn == Fn::Sin) return x.v == 0 && x.e == 0 ? x : smooth(s, 1, {x.v, std::max(x.e, std::fabs(x.v))}, uncertain);
      if (fn == Fn::Cos) return x.v == 0 && x.e == 0 ? exact(1) : smooth(c, 1, {x.v, std::max(x.e, std::fabs(x.v))}, uncertain);
      return smooth(s / c, 1 / (c * c), {x.v, std::max(x.e, std::fabs(x.v))}, uncertain);
    }
    case Fn::Asin:
    case Fn::Acos:
    case Fn::Atanh:
      if (std::fabs(x.v) > 1) return undefined();
      if (fn == Fn::Atanh) return std::fabs(x.v) == 1 ? exact(x.v * INFINITY) : smooth(std::atanh(x.v), 1 / (1 - x.v * x.v), x, uncertain);
      return smooth(fn == Fn::Asin ? std::asin(x.v) : std::acos(x.v), 1 / std::sqrt(1 - x.v * x.v + 1e-9L), x, uncertain);
    case Fn::Atan: return x.v == 0 && x.e == 0 ? x : smooth(std::atan(x.v), 1, x, uncertain);
    case Fn::Atan2:
      return smooth(std::atan2(x.v, a[1].v), 1,
                    {x.v, x.e + a[1].e + (finite(x) ? std::fabs(x.v) : 0) + (finite(a[1]) ? std::fabs(a[1].v) : 0)}, uncertain);
    case Fn::Sinh: return x.v == 0 && x.e == 0 ? x : smooth(std::sinh(x.v), std::cosh(x.v), x, uncertain);
    case Fn::Cosh: return smooth(std::cosh(x.v), std::sinh(x.v), x, uncertain);
    case Fn::Tanh: return x.v == 0 && x.e == 0 ? x : std::isinf(x.v) ? exact(x.v > 0 ? 1 : -1) : smooth(std::tanh(x.v), 1, x, uncertain);
    case Fn::Asinh: return x.v == 0 && x.e == 0 ? x : smooth(std::asinh(x.v), 1, x, uncertain);
    case Fn::Acosh: return x.v < 1 ? undefined() : smooth(std::acosh(x.v), 1 / std::sqrt(x.v * x.v - 1 + 1e-9L), x, uncertain);
    case Fn::Logistic: {
      if (x.v == -INFINITY) return exact(0);
      if (x.v == INFINITY) return exact(1);
      const long double v = x.v >= 0 ? 1 / (1 + std::exp(-x.v)) : std::exp(x.v) / (1 + std::exp(x.v));
      return smooth(v, v, x, uncertain);
    }
    case Fn::Erf: return x.v == 0 && x.e == 0 ? x : smooth(std::erf(x.v), 1.2L, x, uncertain);
    case Fn::Erfc: return smooth(std::erfc(x.v), 1.2L, x, uncertain);
    case Fn::Lgamma: return finite(x) && x.v > 0 ? smooth(std::lgamma(x.v), std::fabs(std::log(x.v)) + 1 / x.v, x, uncertain) : undefined();
    case Fn::Floor: return finite(x) ? exact(floor_of(x, uncertain)) : x;
    case Fn::Ceil: return finite(x) ? exact(-floor_of(neg(x), uncertain)) : x;
    case Fn::Trunc: return !finite(x) ? x : exact(x.v < 0 ? -floor_of(neg(x), uncertain) : floor_of(x, uncertain));
    case Fn::Round:
    case Fn::RoundAway: {
      if (!finite(x)) return x;
      const Number twice = mul(x, exact(2));
      if (x.e != 0) floor_of(twice, uncertain);
      return exact(fn == Fn::Round ? std::nearbyint(x.v) : std::round(x.v));
    }
    case Fn::Eq: return logic(order(x, a[1], uncertain) == 0);
    case Fn::Ne: return logic(order(x, a[1], uncertain) != 0);
    case Fn::Lt: return logic(order(x, a[1], uncertain) < 0);
    case Fn::Le: return logic(order(x, a[1], uncertain) <= 0);
    case Fn::Gt: return logic(order(x, a[1], uncertain) > 0);
    case Fn::Ge: return logic(order(x, a[1], uncertain) >= 0);
    case Fn::IsFinite: return logic(finite(x));
    case Fn::IsNan: return logic(is_undefined(x));
    case Fn::IsInf: return logic(std::isinf(x.v));
    case Fn::Convert:
      if (from == to) return x;
      if (boolean) return logic(order(x, exact(0), uncertain) != 0);
      if (ir::is_float(to) || ir::is_complex(to)) return x;
      if (!finite(x)) return undefined();
      if (ir::is_float(from)) {
        const Number t = exact(x.v < 0 ? -floor_of(neg(x), uncertain) : floor_of(x, uncertain));
        return t.v < low_of(to) || t.v > high_of(to) ? undefined() : t;
      }
      return wrap(x, to, uncertain);
    default: break;
  }
  uncertain = true;
  return undefined();
}

}  // namespace shardproof::check
