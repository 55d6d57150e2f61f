// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any bytes as FX readable text: a graph or a message with its place, and nothing else.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_set>

#include "frontend/fx/module.h"

namespace {

void check(const shardproof::fx::Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const auto& value : graph.values) {
    if (value.name.empty() || !names.insert(value.name).second) std::abort();  // names are unique
    if (value.op == shardproof::fx::Value::Op::GetItem && value.args.size() != 2) std::abort();
    for (const auto& arg : value.args) {
      if (arg.kind == shardproof::fx::Arg::Kind::Name && names.count(arg.text) == 0) std::abort();  // defined before use
    }
    if (value.type.known && !value.type.is_sym && value.type.symbolic != !value.type.symbols.empty()) std::abort();
  }
  for (const auto& [name, inner] : graph.submodules) check(inner);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto result = shardproof::fx::read_text({reinterpret_cast<const char*>(data), size}, "input");
  if (result.ok()) {
    check(result->graph);
  } else if (result.error().code.empty() || result.error().message.empty() || result.error().line < 1 || result.error().column < 1) {
    std::abort();
  }
  return 0;
}
