// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any bytes as torch.export's JSON: a graph whose names are unique and defined before use, or a message.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_set>

#include "frontend/fx/module.h"

namespace {

void check(const shardproof::fx::Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const auto& value : graph.values) {
    for (const auto& arg : value.args) {
      if (arg.kind == shardproof::fx::Arg::Kind::Name && names.count(arg.text) == 0) std::abort();
    }
    if (value.name.empty() || !names.insert(value.name).second) std::abort();
  }
  for (const auto& [name, inner] : graph.submodules) check(inner);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto result = shardproof::fx::read_export_json({reinterpret_cast<const char*>(data), size}, "input");
  if (result.ok()) {
    check(result->graph);
  } else if (result.error().code.empty() || result.error().message.empty()) {
    std::abort();
  }
  return 0;
}
