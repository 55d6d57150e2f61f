// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "prove/literal.h"

#include <cmath>

namespace shardproof::prove {

namespace {

int mantissa_bits(ir::DType t) {
  switch (t) {
    case ir::DType::F32: return 24;
    case ir::DType::BF16: return 8;
    case ir::DType::F16: return 11;
    default: return 53;
  }
}

// The fraction with the smallest denominator within [lo, hi] (Stern-Brocot walk by continued fractions), 0 < lo <= hi.
bool simplest(long double lo, long double hi, int64_t limit, int64_t& p, int64_t& q) {
  // continued fraction of both ends until they part
  int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  for (int step = 0; step < 64; ++step) {
    const long double fl = std::floor(lo);
    if (fl > 9.0e17L) return false;
    auto a = static_cast<int64_t>(fl);
    const bool last = static_cast<long double>(a) == lo || static_cast<long double>(a) + 1 <= hi;
    if (last && static_cast<long double>(a) != lo) ++a;
    __int128 pn = static_cast<__int128>(a) * p1 + p0, qn = static_cast<__int128>(a) * q1 + q0;
    if (pn > INT64_MAX || qn > limit) return false;
    p0 = p1;
    q0 = q1;
    p1 = static_cast<int64_t>(pn);
    q1 = static_cast<int64_t>(qn);
    if (last) {
      p = p1;
      q = q1;
      return true;
    }
    const long double l = lo - static_cast<long double>(a), h = hi - static_cast<long double>(a);
    lo = 1 / h;
    hi = 1 / l;
  }
  return false;
}

}  // namespace

std::optional<ClosedForm> closed_form(double value, ir::DType format) {
  if (!std::isfinite(value)) return std::nullopt;
  if (value == std::floor(value) && std::abs(value) < 9007199254740992.0) return ClosedForm{static_cast<int64_t>(value), 1, false, true};
  const double v = std::abs(value);
  int e = 0;
  std::frexp(v, &e);  // v in [2^(e-1), 2^e)
  const int bits = mantissa_bits(format);
  const long double ulp = std::ldexp(1.0L, e - bits);
  const int64_t sign = value < 0 ? -1 : 1;
  // Short dyadic fractions are exact in every reading.
  for (int k = 1; k <= 20; ++k) {
    const double scaled = std::ldexp(v, k);
    if (scaled == std::floor(scaled) && scaled < 1048576.0)
      return ClosedForm{sign * static_cast<int64_t>(scaled), int64_t{1} << k, false, true};
  }
  const long double half = ulp;  // a literal may stand for what lies within one unit in the last place
  // Long denominators would fit any number: a literal that needs one is better kept as a symbol.
  const auto limit = static_cast<int64_t>(std::min<long double>(std::sqrt(0.5L / ulp), 1.0e7L)),
             root_limit = std::min<int64_t>(limit, 1 << 16);
  std::optional<ClosedForm> fraction, root;
  int64_t p = 0, q = 0;
  if (simplest(static_cast<long double>(v) - half, static_cast<long double>(v) + half, limit, p, q) &&
      static_cast<long double>(q) * q * ulp < 0.5L) {
    fraction = ClosedForm{sign * p, q, false, false};
  }
  const long double l = static_cast<long double>(v) - half, h = static_cast<long double>(v) + half;
  if (simplest(l * l, h * h, root_limit, p, q) && static_cast<long double>(q) * q * ulp < 0.5L) root = ClosedForm{sign * p, q, true, false};
  if (fraction && root) {
    // The same number twice is one form; two different ones leave the literal as it is.
    const __int128 a = static_cast<__int128>(fraction->p) * fraction->p * root->q,
                   b = static_cast<__int128>(fraction->q) * fraction->q * std::abs(root->p);
    if (a != b) return std::nullopt;
    return fraction;
  }
  return fraction ? fraction : root;
}

}  // namespace shardproof::prove
