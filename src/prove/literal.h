// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Readings of literals (MANIFEST.md section 4): a printed float stands for p/q or sqrt(p/q) if that is the only short form inside its
// unit in the last place, else for itself.
#pragma once

#include <optional>

#include "ir/types.h"

namespace shardproof::prove {

struct ClosedForm {
  int64_t p = 0, q = 1;
  bool root = false;   // sqrt(p/q), the sign of p outside
  bool exact = false;  // the double is exactly p/q
};

// nullopt: the literal is read exactly as the double it is.
std::optional<ClosedForm> closed_form(double value, ir::DType format);

}  // namespace shardproof::prove
