// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The type annotations of FX readable text: "f32[2, 3][3, 1]cuda:0", "DTensor(f32[8, 16], S(0)R)", "Sym(s0 + 1)".
#pragma once

#include <optional>
#include <string_view>

#include "frontend/fx/module.h"

namespace shardproof::fx {

// The element type of an abbreviation ("f32", "b8" = bool) or of a torch name ("float32", "bool"); nullopt if it is neither.
// Types that the core IR lacks (complex32, raw bits) give DType::Invalid.
std::optional<ir::DType> dtype_of_abbreviation(std::string_view name);
std::optional<ir::DType> dtype_of_torch_name(std::string_view name);

// Reads an annotation (the text between the quotes). False if it has none of the known forms.
bool parse_annotation(std::string_view text, TensorType& type);

}  // namespace shardproof::fx
