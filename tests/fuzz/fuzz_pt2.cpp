// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any bytes as a .pt2 archive: a graph with constants that fit their shapes, or a message.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontend/fx/module.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto result = shardproof::fx::read_pt2({reinterpret_cast<const char*>(data), size}, "input");
  if (!result.ok()) {
    if (result.error().code.empty() || result.error().message.empty()) std::abort();
    return 0;
  }
  for (const auto& constant : result->constants) {
    uint64_t count = 1;
    for (const int64_t extent : constant.shape) count *= static_cast<uint64_t>(extent);
    if (constant.values.size() != count) std::abort();
  }
  return 0;
}
