// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Literals (MANIFEST.md section 4): their exact reading, the closed form that may stand for them, and the width of their rounding.
//
// Idea: a fraction p/q within one ulp of d with q*q*ulp < 1/2 satisfies |d - p/q| < 1/(2 q^2), so it is a convergent of d's continued
// fraction (Legendre): a few divisions find them all. sqrt(p/q) is looked for among the convergents of d*d likewise.
#include <bit>

#include "interp/eval.h"

namespace shardproof::interp {
namespace {

int mantissa_bits(ir::DType format) {
  switch (format) {
    case ir::DType::F16: return 11;
    case ir::DType::BF16: return 8;
    case ir::DType::F32: return 24;
    default: return 53;
  }
}

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Convergents p/q of x > 0 with |x - p/q| <= tolerance and q*q*ulp < 1/2; calls f(p, q, p/q).
template <typename F>
void convergents(double x, double tolerance, double ulp, F f) {
  double p0 = 1, q0 = 0, p1 = std::floor(x), q1 = 1, rest = x - p1;
  for (int step = 0; step < 40; ++step) {
    if (!(q1 * q1 * ulp < 0.5) || p1 > 1e15) return;
    if (std::fabs(x - p1 / q1) <= tolerance) f(static_cast<int64_t>(p1), static_cast<int64_t>(q1), p1 / q1);
    if (rest < 1e-13) return;  // exhausted; below, rounding decides the digits
    const double inverse = 1 / rest, a = std::floor(inverse);
    rest = inverse - a;
    const double p2 = a * p1 + p0, q2 = a * q1 + q0;
    p0 = p1, q0 = q1, p1 = p2, q1 = q2;
  }
}

}  // namespace

double literal_ulp(double d, ir::DType format) {
  if (d == 0 || !std::isfinite(d)) return 0;
  int exponent = 0;
  std::frexp(d, &exponent);
  return std::ldexp(1.0, exponent - mantissa_bits(format));
}

double round_to_format(double d, ir::DType format) {
  if (d == 0 || !std::isfinite(d) || mantissa_bits(format) == 53) return d;
  const double u = literal_ulp(d, format);
  return std::nearbyint(d / u) * u;
}

std::optional<ClosedForm> closed_form(double d, ir::DType format) {
  const double x = std::fabs(round_to_format(d, format)), u = literal_ulp(x, format);
  if (x == 0 || !std::isfinite(x) || u >= 0.5) return std::nullopt;
  // Several may fit (long doubles have many): the shortest denominator is what someone meant.
  std::optional<ClosedForm> found;
  double value = 0;
  const auto offer = [&](int64_t p, int64_t q, bool root, double v) {
    if (found && found->q <= q) return;
    found = ClosedForm{d < 0 ? -p : p, q, root};
    value = v;
  };
  convergents(x, u, u, [&](int64_t p, int64_t q, double v) { offer(p, q, false, v); });
  convergents(x * x, 2 * x * u, u, [&](int64_t p, int64_t q, double v) { offer(p, q, true, std::sqrt(v)); });
  if (!found) return std::nullopt;
  if (!found->root && (found->q & (found->q - 1)) == 0 && value == x) return std::nullopt;  // the number itself
  return found;
}

bool is_simple_literal(double d, ir::DType format) {
  const double x = round_to_format(d, format);
  if (x == 0 || !std::isfinite(x)) return true;
  const double u = literal_ulp(x, format);
  if (u >= 0.5) return true;  // no closed form but an integer
  int exponent = 0;
  double m = std::frexp(std::fabs(x), &exponent);
  int bits = 0;  // of the fraction
  for (double v = std::ldexp(m, exponent); v != std::floor(v); v *= 2) ++bits;
  return std::ldexp(1.0, 2 * bits) * u < 0.5;
}

void set_literal(const Context& c, Buffer& b, size_t k, const ir::Literal& lit, ir::DType t) {
  if (b.number == Number::Integer) {
    b.i[k] = t == ir::DType::Bool ? lit.i != 0 : wrap_integer(lit.i, t);
    return;
  }
  if (lit.kind != ir::Literal::Kind::Float) {
    if (b.number == Number::Ball) {
      lit.format == ir::DType::U64 ? arb_set_ui(b.ball[k], static_cast<ulong>(lit.i)) : arb_set_si(b.ball[k], lit.i);
    } else {
      const double m = lit.format == ir::DType::U64 ? static_cast<double>(static_cast<uint64_t>(lit.i)) : static_cast<double>(lit.i);
      // Different integers beyond 2^53 get different radii: equal enclosures stand for equal numbers.
      b.set(k, {m, std::fabs(m) < 0x1p53 ? 0 : std::fabs(m) * 0x1p-51 * (1 + static_cast<double>(lit.i & 0xffff) * 0x1p-20)});
    }
    return;
  }
  const double d = round_to_format(lit.d, lit.format);
  const double u = is_simple_literal(d, lit.format) ? 0 : literal_ulp(d, lit.format);
  if (u == 0 || c.config.literals == Literals::Exact) return c.set_number(b, k, d == d ? Interval{d, 0} : kUndefined);
  switch (c.config.literals) {
    case Literals::Width: return c.set_number(b, k, {d, u});
    case Literals::Perturbed: {
      const uint64_t h = mix(c.config.literal_seed ^ mix(std::bit_cast<uint64_t>(d) ^ static_cast<uint64_t>(lit.format)));
      const double part = static_cast<double>(h >> 40) * 0x1p-23 - 1;  // in [-1, 1)
      if (b.number == Number::Ball) {
        arb_t move;
        arb_init(move);
        arb_set_d(move, part * u);
        arb_set_d(b.ball[k], d);
        arb_add(b.ball[k], b.ball[k], move, c.config.bits);
        arb_clear(move);
      } else {
        b.set(k, add({d, 0}, {part * u, 0}));
      }
      return;
    }
    default: break;
  }
  const auto form = closed_form(d, lit.format);
  if (!form) return c.set_number(b, k, {d, 0});
  if (b.number == Number::Ball) {
    arb_set_si(b.ball[k], std::abs(form->p));
    arb_div_ui(b.ball[k], b.ball[k], static_cast<ulong>(form->q), c.config.bits);
    if (form->root) arb_sqrt(b.ball[k], b.ball[k], c.config.bits);
    if (form->p < 0) arb_neg(b.ball[k], b.ball[k]);
  } else {
    Interval v = div({static_cast<double>(std::abs(form->p)), 0}, {static_cast<double>(form->q), 0});
    if (form->root) v = sqrt(v);
    b.set(k, form->p < 0 ? neg(v) : v);
  }
}

}  // namespace shardproof::interp
