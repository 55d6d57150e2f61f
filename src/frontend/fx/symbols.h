// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Numbers for the symbolic sizes of a graph: a proof is about sizes that are numbers, so a dynamic graph is read for given ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/fx/module.h"

namespace shardproof::fx {

using SymbolValue = std::function<std::optional<int64_t>(const std::string& symbol)>;

// +, -, *, /, //, %, **, Max, Min and SymPy's names for them, as Python does them on integers; nullopt beyond 64 bits, for a division by 0
// or one that leaves a rest where there must be none.
std::optional<int64_t> integer_operator(std::string_view op, int64_t x, int64_t y);

// The value of a size such as "2*s0 + 1", "(s0 + 1)//2", "Max(1, s0)", "Mod(s0, 8)"; nullopt if a symbol has none, or where something else
// than +, -, *, //, %, **, Max, Min, Mod, FloorDiv, CleanDiv, Abs occurs, or a number leaves 64 bits.
std::optional<int64_t> size_value(std::string_view expression, const SymbolValue& value);

// Puts numbers in the place of the sizes, "Sym(...)" inputs and symbolic arguments that `value` determines; what it does not stays as it
// is. Where it knows nothing of a symbol, the example's size counts, if the file has one. Every symbol that got a number is noted. Fails
// where a size would be negative.
Result<int> bind_symbols(Module& module, const SymbolValue& value);

}  // namespace shardproof::fx
