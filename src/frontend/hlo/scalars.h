// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Element types and scalar values, shared by the readers of text and proto.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/hlo/module.h"

namespace shardproof::hlo {

inline constexpr int kMaxTupleDepth = 64;  // nested tuple types; bounds every later recursion over Type
inline constexpr size_t kMaxRank = 64;

struct ElementType {
  ir::DType dtype = ir::DType::Invalid;  // Invalid: not known
  std::string_view name;                 // HLO spelling, static storage
};
ElementType element_type(std::string_view name);    // "bf16"
ElementType element_type(uint64_t primitive_type);  // xla.PrimitiveType; TUPLE gives Invalid

// False if the number of elements does not fit in 62 bits.
bool countable(const ir::Shape& shape);

// Sets the layout of an array type from minor_to_major as stated (descending is kept as empty); false if it is no permutation.
bool set_layout(Type& type, std::vector<int64_t> minor_to_major);

// Floats as they are stored, rounded to nearest even: the value of `v` in bf16 and f16.
double round_to_bf16(double v);
double round_to_f16(double v);
double bf16_from_bits(uint16_t bits);
double f16_from_bits(uint16_t bits);
// A value of a 4- or 8-bit float type by its name ("f8e5m2", "f4e2m1fn").
double small_float_from_bits(std::string_view format, uint8_t bits);
// The nearest value of such a type (ties to the even pattern), NaN and infinity where it has them; false if there is none.
bool round_to_small_float(std::string_view format, double v, double& out);

// One element if all are the same (bit for bit): the form in which constants are kept.
void compress(std::vector<ir::Literal>& elements);

}  // namespace shardproof::hlo
