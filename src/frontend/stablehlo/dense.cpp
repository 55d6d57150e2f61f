// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/stablehlo/dense.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "fmt/format.h"

namespace shardproof::stablehlo {
namespace {

using ir::DType;
using ir::Literal;

// Value of `bits` read as a float with the given numbers of exponent and mantissa bits.
double small_float(uint64_t bits, int exponent_bits, int mantissa_bits) {
  uint64_t mantissa = bits & ((uint64_t{1} << mantissa_bits) - 1);
  int64_t exponent = static_cast<int64_t>((bits >> mantissa_bits) & ((uint64_t{1} << exponent_bits) - 1));
  bool negative = (bits >> (mantissa_bits + exponent_bits)) & 1;
  int bias = (1 << (exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1 << exponent_bits) - 1) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa + (uint64_t{1} << mantissa_bits)), static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return negative ? -value : value;
}

bool float_from_bits(uint64_t bits, DType dtype, double* value) {
  switch (dtype) {
    case DType::F16: *value = small_float(bits, 5, 10); return true;
    case DType::BF16: *value = small_float(bits, 8, 7); return true;
    case DType::F32: *value = std::bit_cast<float>(static_cast<uint32_t>(bits)); return true;
    case DType::F64: *value = std::bit_cast<double>(bits); return true;
    default: return false;
  }
}

int byte_width(DType dtype) {
  switch (dtype) {
    case DType::I16:
    case DType::U16:
    case DType::F16:
    case DType::BF16: return 2;
    case DType::I32:
    case DType::U32:
    case DType::F32: return 4;
    case DType::I64:
    case DType::U64:
    case DType::F64:
    case DType::C64: return 8;
    case DType::C128: return 16;
    default: return 1;
  }
}

// An integer cut to the width of its type, sign-extended where the type is signed.
int64_t wrap(uint64_t value, DType dtype) {
  int bits = ir::int_bits(dtype);
  if (bits <= 0 || bits >= 64) return static_cast<int64_t>(value);
  uint64_t mask = (uint64_t{1} << bits) - 1;
  value &= mask;
  if (ir::is_signed_int(dtype) && (value >> (bits - 1))) value |= ~mask;
  return static_cast<int64_t>(value);
}

bool from_bits(uint64_t bits, DType dtype, Literal* out) {
  if (dtype == DType::Bool) {
    *out = Literal::boolean(bits != 0);
    return true;
  }
  if (ir::is_int(dtype)) {
    *out = Literal::integer(wrap(bits, dtype), dtype);
    return true;
  }
  double value = 0;
  if (!float_from_bits(bits, dtype, &value)) return false;
  *out = Literal::real(value, dtype);
  return true;
}

// "0x..." (without quotes): the raw little-endian bytes of all elements, or of one.
Dense from_hex(std::string_view hex, size_t skip_bytes, DType dtype, int64_t count, const Parser& parser, size_t at) {
  if (!hex.starts_with("0x") || hex.size() % 2 != 0) parser.fail(at, "expected bytes as \"0x\" and an even number of hexadecimal digits");
  hex.remove_prefix(2);
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t k = 0; k < bytes.size(); ++k) {
    auto [p, ec] = std::from_chars(hex.data() + 2 * k, hex.data() + 2 * k + 2, bytes[k], 16);
    if (ec != std::errc() || p != hex.data() + 2 * k + 2) parser.fail(at, "expected hexadecimal digits in the bytes of the constant");
  }
  if (bytes.size() < skip_bytes) parser.fail(at, "the bytes of the resource are too short: expected four bytes of alignment first");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(skip_bytes));
  Dense dense;
  if (ir::is_complex(dtype) || dtype == DType::F8 || dtype == DType::F4) {
    dense.known = false;
    return dense;
  }
  int64_t size = static_cast<int64_t>(bytes.size());
  int64_t width = byte_width(dtype);
  if (dtype == DType::Bool && size != count && size == (count + 7) / 8) {  // older printers pack eight booleans to a byte
    for (int64_t k = 0; k < count; ++k) dense.values.push_back(Literal::boolean((bytes[static_cast<size_t>(k / 8)] >> (k % 8)) & 1));
    return dense;
  }
  if (size != count * width && size != width)
    parser.fail(at, fmt::format("the constant has {} bytes, expected {} ({} elements of {} bytes)", size, count * width, count, width));
  dense.splat = size == width && count != 1;
  for (int64_t k = 0; k < size / width; ++k) {
    uint64_t bits = 0;
    for (int64_t b = width - 1; b >= 0; --b) bits = bits << 8 | bytes[static_cast<size_t>(k * width + b)];
    Literal value;
    if (!from_bits(bits, dtype, &value)) {
      dense.known = false;
      return dense;
    }
    dense.values.push_back(value);
  }
  return dense;
}

// One number or word of the nested list.
bool scalar(std::string_view token, DType dtype, Literal* out) {
  if (token == "true" || token == "false") {
    *out = dtype == DType::Bool ? Literal::boolean(token == "true") : Literal::integer(token == "true", dtype);
    return dtype == DType::Bool || ir::is_int(dtype);
  }
  bool negative = token.starts_with('-');
  std::string_view digits = token;
  if (negative || token.starts_with('+')) digits.remove_prefix(1);
  if (digits.starts_with("0x")) {
    uint64_t bits = 0;
    auto [p, ec] = std::from_chars(digits.data() + 2, digits.data() + digits.size(), bits, 16);
    if (ec != std::errc() || p != digits.data() + digits.size()) return false;
    if (ir::is_int(dtype) && negative) bits = 0 - bits;
    return from_bits(bits, dtype, out);
  }
  if (ir::is_float(dtype)) {
    double value = 0;
    auto [p, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (ec != std::errc() || p != digits.data() + digits.size() || !std::isfinite(value)) return false;
    *out = Literal::real(round_to(negative ? -value : value, dtype), dtype);
    return true;
  }
  if (!ir::is_int(dtype) && dtype != DType::Bool) return false;
  uint64_t value = 0;
  auto [p, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || ec != std::errc() || p != digits.data() + digits.size()) return false;
  if (dtype == DType::Bool) {
    *out = Literal::boolean(value != 0);
    return value <= 1 || negative;
  }
  int bits = ir::int_bits(dtype);
  uint64_t most = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  if (value > most || (negative && value > (most >> 1) + 1)) return false;
  *out = Literal::integer(wrap(negative ? 0 - value : value, dtype), dtype);
  return true;
}

}  // namespace

double round_to(double value, DType dtype) {
  if (!std::isfinite(value) || value == 0) return value;
  int precision = 0, lowest = 0, highest = 0;  // bits of the significand, exponent of the least subnormal, of the largest power of two
  switch (dtype) {
    case DType::F32: return static_cast<double>(static_cast<float>(value));
    case DType::F16: precision = 11, lowest = -24, highest = 15; break;
    case DType::BF16: precision = 8, lowest = -133, highest = 127; break;
    default: return value;
  }
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m * 2^exponent, 0.5 <= m < 1
  int unit = std::max(exponent - precision, lowest);
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  if (std::fabs(rounded) >= std::ldexp(1.0, highest + 1)) return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

Dense decode_dense(const Attr& attr, const hlo::Type& type, const Tree& tree, const Parser& parser) {
  Dense dense;
  int64_t count = 1;
  for (int64_t n : type.shape) count *= n;
  if (type.tuple || type.dynamic || type.dtype == DType::Invalid || type.dtype == DType::Token) {
    dense.known = false;
    return dense;
  }
  std::string_view text = attr.text;
  size_t at = attr.offset;
  auto trim = [&text] {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  };
  trim();
  if (attr.kind == Attr::Kind::Resource || text == "__elided__") {
    auto it = tree.resources.find(text);
    if (text == "__elided__" || it == tree.resources.end()) {
      dense.known = false;
      return dense;
    }
    return from_hex(it->second, 4, type.dtype, count, parser, at);  // a blob starts with its alignment
  }
  if (text.starts_with('"')) {
    if (text.size() < 2 || !text.ends_with('"')) parser.fail(at, "expected '\"' at the end of the bytes of the constant");
    return from_hex(text.substr(1, text.size() - 2), 0, type.dtype, count, parser, at);
  }
  if (ir::is_complex(type.dtype)) {
    dense.known = false;
    return dense;
  }
  dense.splat = !text.starts_with('[') && !text.empty();
  size_t k = 0;
  int64_t open = 0;
  while (k < text.size()) {
    char c = text[k];
    if (c == '[' || c == ']') {
      open += c == '[' ? 1 : -1;
      if (open < 0) parser.fail(at + k, "']' without '[' in the constant");
      ++k;
    } else if (c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++k;
    } else {
      size_t stop = text.find_first_of(",] \n\t\r", k);
      if (stop == std::string_view::npos) stop = text.size();
      Literal value;
      if (!scalar(text.substr(k, stop - k), type.dtype, &value)) {
        size_t where = static_cast<size_t>(text.data() - parser.text().data()) + k;
        parser.fail(where, fmt::format("expected a value of type {}, found '{}'", ir::name(type.dtype),
                                       text.substr(k, std::min<size_t>(stop - k, 40))));
      }
      dense.values.push_back(value);
      k = stop;
    }
  }
  if (open != 0) parser.fail(at, "the brackets of the constant do not match: expected ']'");
  int64_t found = static_cast<int64_t>(dense.values.size());
  if (dense.splat ? found != 1 : found != count)
    parser.fail(at, fmt::format("the constant has {} values, expected {} for its type", found, dense.splat ? 1 : count));
  if (count == 1) dense.splat = false;
  return dense;
}

}  // namespace shardproof::stablehlo
