// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What a message says about a word that nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardproof {

// The known word nearest to `word` by edit distance, or "" if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace shardproof
