// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The values of dense<...>: nested lists, one splat, or the bytes in hexadecimal.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frontend/stablehlo/parser.h"

namespace shardproof::stablehlo {

struct Dense {
  bool known = true;                // false: elided, complex, or an 8-bit float written as bits
  std::vector<ir::Literal> values;  // row-major; one value stands for all if `splat`
  bool splat = false;
};

// `attr` is Dense or Resource; `text` is what it was parsed from. Fails if the number of values does not fit the type.
Dense decode_dense(const Attr& attr, const hlo::Type& type, const Tree& tree, const Parser& parser);

// A double rounded to a floating-point type of the IR, ties to even.
double round_to(double value, ir::DType dtype);

}  // namespace shardproof::stablehlo
