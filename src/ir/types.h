// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Element types, shapes and literals of the core IR.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardproof::ir {

enum class DType : uint8_t {
  Invalid,
  Bool,
  I2,
  I4,
  I8,
  I16,
  I32,
  I64,
  U2,
  U4,
  U8,
  U16,
  U32,
  U64,
  F4,
  F8,  // all 4- and 8-bit float formats: never exact, treated as opaque roundings
  F16,
  BF16,
  F32,
  F64,
  C64,
  C128,
  Token  // results that carry no data (send, tuples)
};

constexpr bool is_float(DType t) { return t >= DType::F4 && t <= DType::F64; }
constexpr bool is_int(DType t) { return t >= DType::I2 && t <= DType::U64; }
constexpr bool is_signed_int(DType t) { return t >= DType::I2 && t <= DType::I64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::U2 && t <= DType::U64; }
constexpr bool is_complex(DType t) { return t == DType::C64 || t == DType::C128; }
// Bits of an integer type (Bool counts 1); 0 for others.
constexpr int int_bits(DType t) {
  switch (t) {
    case DType::Bool: return 1;
    case DType::I2:
    case DType::U2: return 2;
    case DType::I4:
    case DType::U4: return 4;
    case DType::I8:
    case DType::U8: return 8;
    case DType::I16:
    case DType::U16: return 16;
    case DType::I32:
    case DType::U32: return 32;
    case DType::I64:
    case DType::U64: return 64;
    default: return 0;
  }
}
std::string_view name(DType t);  // "f32", "i64", "bool", ...

using Shape = std::vector<int64_t>;
int64_t num_elements(const Shape& shape);  // checked product; throws InternalError on overflow

// A scalar as it was written. `format` is the type whose rounding produced the written digits: F64 for a Python float in FX text,
// the tensor's own type for an HLO constant. MANIFEST.md section 4 (Literals) says how the two readings (exact, closed form) follow.
struct Literal {
  enum class Kind : uint8_t { Int, Float, Bool } kind = Kind::Int;
  DType format = DType::I64;
  int64_t i = 0;  // Int (two's complement for U64), Bool (0 or 1)
  double d = 0;   // Float; +-inf and NaN possible
  static Literal integer(int64_t v, DType t = DType::I64) { return {Kind::Int, t, v, 0}; }
  static Literal boolean(bool v) { return {Kind::Bool, DType::Bool, v ? 1 : 0, 0}; }
  static Literal real(double v, DType t = DType::F64) { return {Kind::Float, t, 0, v}; }
  bool operator==(const Literal&) const = default;
};

}  // namespace shardproof::ir
