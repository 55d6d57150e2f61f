// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The grammar of facts: "x in [a, b)", "x in [a, b) or = c", "x >= 0", "x > 0", "any(x != c)", "distinct(x, dim=1)".
#pragma once

#include <string>
#include <string_view>

#include "manifest/manifest.h"

namespace shardproof::manifest {

std::string read_fact(std::string_view text, Fact& out);  // "" or what is wrong

}  // namespace shardproof::manifest
