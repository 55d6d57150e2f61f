// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/hlo/scalars.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace shardproof::hlo {

namespace {

using ir::DType;

struct Row {
  std::string_view name;
  uint64_t primitive;
  DType dtype;
};
// xla.PrimitiveType numbers.
constexpr Row kRows[] = {
    {"pred", 1, DType::Bool},      {"s8", 2, DType::I8},
    {"s16", 3, DType::I16},        {"s32", 4, DType::I32},
    {"s64", 5, DType::I64},        {"u8", 6, DType::U8},
    {"u16", 7, DType::U16},        {"u32", 8, DType::U32},
    {"u64", 9, DType::U64},        {"f16", 10, DType::F16},
    {"f32", 11, DType::F32},       {"f64", 12, DType::F64},
    {"opaque", 14, DType::Token},  {"c64", 15, DType::C64},
    {"bf16", 16, DType::BF16},     {"token", 17, DType::Token},
    {"c128", 18, DType::C128},     {"f8e5m2", 19, DType::F8},
    {"f8e4m3fn", 20, DType::F8},   {"s4", 21, DType::I4},
    {"u4", 22, DType::U4},         {"f8e4m3b11fnuz", 23, DType::F8},
    {"f8e5m2fnuz", 24, DType::F8}, {"f8e4m3fnuz", 25, DType::F8},
    {"s2", 26, DType::I2},         {"u2", 27, DType::U2},
    {"f8e4m3", 28, DType::F8},     {"f8e3m4", 29, DType::F8},
    {"f4e2m1fn", 32, DType::F4},   {"f8e8m0fnu", 33, DType::F8},
};

// Of a small float: exponent and mantissa bits, bias; how infinities and NaN are spelled.
struct Format {
  std::string_view name;
  int exponent_bits, mantissa_bits, bias;
  enum Specials { Ieee, OnlyNaN, Unsigned0NaN, None } specials;  // OnlyNaN: all ones is NaN; Unsigned0NaN: -0 is NaN
};
constexpr Format kFormats[] = {
    {"f8e5m2", 5, 2, 15, Format::Ieee},
    {"f8e4m3fn", 4, 3, 7, Format::OnlyNaN},
    {"f8e4m3b11fnuz", 4, 3, 11, Format::Unsigned0NaN},
    {"f8e5m2fnuz", 5, 2, 16, Format::Unsigned0NaN},
    {"f8e4m3fnuz", 4, 3, 8, Format::Unsigned0NaN},
    {"f8e4m3", 4, 3, 7, Format::Ieee},
    {"f8e3m4", 3, 4, 3, Format::Ieee},
    {"f4e2m1fn", 2, 1, 1, Format::None},
};

// Nearest multiple of the unit in the last place of a format with `mantissa` stored bits and least exponent `min_exponent`, ties to even.
double round_to(double v, int mantissa, int min_exponent, double max_finite) {
  if (!std::isfinite(v) || v == 0) return v;
  const int exponent = std::max(std::ilogb(v), min_exponent);
  const double unit = std::ldexp(1.0, exponent - mantissa);
  const double r = std::nearbyint(v / unit) * unit;
  if (std::abs(r) > max_finite) return std::copysign(std::numeric_limits<double>::infinity(), v);
  return r == 0 ? std::copysign(0.0, v) : r;
}

}  // namespace

ElementType element_type(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return {row.dtype, row.name};
  }
  return {};
}

ElementType element_type(uint64_t primitive_type) {
  for (const Row& row : kRows) {
    if (row.primitive == primitive_type) return {row.dtype, row.name};
  }
  return {};
}

bool countable(const ir::Shape& shape) {
  constexpr int64_t kMax = int64_t{1} << 62;
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d <= 0) continue;  // an empty dimension must not hide an absurd one
    if (n > kMax / d) return false;
    n *= d;
  }
  return true;
}

bool set_layout(Type& type, std::vector<int64_t> minor_to_major) {
  const size_t rank = type.shape.size();
  if (minor_to_major.size() != rank) return false;
  uint64_t seen = 0;
  bool descending = true;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t d = minor_to_major[k];
    if (d < 0 || static_cast<size_t>(d) >= rank || (seen >> d & 1) != 0) return false;
    seen |= uint64_t{1} << d;
    descending = descending && d == static_cast<int64_t>(rank - 1 - k);
  }
  if (!descending) type.layout = std::move(minor_to_major);
  return true;
}

double round_to_bf16(double v) { return round_to(v, 7, -126, 0x1.fep127); }
double round_to_f16(double v) { return round_to(v, 10, -14, 65504.0); }

double bf16_from_bits(uint16_t bits) { return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)); }

double f16_from_bits(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double v;
  if (exponent == 31) {
    v = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else {
    v = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
  }
  return bits & 0x8000 ? -v : v;
}

double small_float_from_bits(std::string_view format, uint8_t bits) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (format == "f8e8m0fnu") return bits == 255 ? kNaN : std::ldexp(1.0, bits - 127);
  for (const Format& f : kFormats) {
    if (f.name != format) continue;
    const int top = f.exponent_bits + f.mantissa_bits;  // position of the sign
    const bool negative = (bits >> top) & 1;
    const int exponent = (bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
    const int mantissa = bits & ((1 << f.mantissa_bits) - 1);
    const bool all_ones = exponent == (1 << f.exponent_bits) - 1;
    if (f.specials == Format::Ieee && all_ones) {
      const double v = mantissa ? kNaN : std::numeric_limits<double>::infinity();
      return negative ? -v : v;
    }
    if (f.specials == Format::OnlyNaN && all_ones && mantissa == (1 << f.mantissa_bits) - 1) return kNaN;
    if (f.specials == Format::Unsigned0NaN && negative && exponent == 0 && mantissa == 0) return kNaN;
    const int implied = 1 << f.mantissa_bits;
    const double v =
        exponent ? std::ldexp(implied + mantissa, exponent - f.bias - f.mantissa_bits) : std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
    return negative ? -v : v;
  }
  return kNaN;
}

bool round_to_small_float(std::string_view format, double v, double& out) {
  // There are 256 patterns at most: all are tried. Above the largest value, half of the distance to the one before it still rounds to it.
  const int patterns = format.starts_with("f4") ? 16 : 256;
  double best = std::numeric_limits<double>::infinity(), largest = 0, second = 0;
  int best_pattern = -1;
  for (int bits = 0; bits < patterns; ++bits) {
    const double value = small_float_from_bits(format, static_cast<uint8_t>(bits));
    if (std::isnan(v) ? std::isnan(value) : value == v && std::signbit(value) == std::signbit(v)) {
      out = value;
      return true;
    }
    if (!std::isfinite(value)) continue;
    const double size = std::abs(value), distance = std::abs(value - v);
    if (size > largest) {
      second = largest;
      largest = size;
    } else if (size > second && size < largest) {
      second = size;
    }
    if (distance < best || (distance == best && best_pattern % 2 != 0 && bits % 2 == 0)) {
      best = distance;
      best_pattern = bits;
      out = value;
    }
  }
  return std::isfinite(v) && best_pattern >= 0 && std::abs(v) <= largest + (largest - second) / 2;
}

void compress(std::vector<ir::Literal>& elements) {
  if (elements.size() < 2) return;
  const ir::Literal& first = elements[0];
  const uint64_t bits = std::bit_cast<uint64_t>(first.d);
  for (const ir::Literal& e : elements) {
    if (e.kind != first.kind || e.format != first.format || e.i != first.i || std::bit_cast<uint64_t>(e.d) != bits) return;
  }
  elements.resize(1);
  elements.shrink_to_fit();
}

}  // namespace shardproof::hlo
