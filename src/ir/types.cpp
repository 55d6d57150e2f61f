// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Names of element types, and the checked number of elements of a shape.
#include "ir/types.h"

#include "util/result.h"

namespace shardproof::ir {

std::string_view name(DType t) {
  switch (t) {
    case DType::Invalid: return "invalid";
    case DType::Bool: return "bool";
    case DType::I2: return "i2";
    case DType::I4: return "i4";
    case DType::I8: return "i8";
    case DType::I16: return "i16";
    case DType::I32: return "i32";
    case DType::I64: return "i64";
    case DType::U2: return "u2";
    case DType::U4: return "u4";
    case DType::U8: return "u8";
    case DType::U16: return "u16";
    case DType::U32: return "u32";
    case DType::U64: return "u64";
    case DType::F4: return "f4";
    case DType::F8: return "f8";
    case DType::F16: return "f16";
    case DType::BF16: return "bf16";
    case DType::F32: return "f32";
    case DType::F64: return "f64";
    case DType::C64: return "c64";
    case DType::C128: return "c128";
    case DType::Token: return "token";
  }
  return "?";
}

int64_t num_elements(const Shape& shape) {
  int64_t total = 1;
  bool empty = false;
  for (int64_t n : shape) {
    SP_CHECK(n >= 0);
    if (n == 0) empty = true;
  }
  if (empty) return 0;  // whatever the other extents are
  for (int64_t n : shape) SP_CHECK(!__builtin_mul_overflow(total, n, &total));
  return total;
}

}  // namespace shardproof::ir
