// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any bytes as StableHLO text: a module whose indices are in range, or a message with its place, and nothing else.
#include <cstdint>
#include <cstdlib>

#include "frontend/hlo/module.h"

namespace {

void check(bool condition) {
  if (!condition) std::abort();
}

void check(const shardproof::hlo::Module& m) {
  check(m.entry < m.computations.size());
  check(m.parameter_shardings.size() == m.computations[m.entry].parameters.size());
  check(m.argument_names.size() == m.parameter_shardings.size() && m.result_names.size() == m.output_shardings.size());
  for (const auto& c : m.computations) {
    check(c.root < c.instructions.size());
    for (uint32_t p : c.parameters) check(p < c.instructions.size() && c.instructions[p].opcode == "parameter");
    for (size_t k = 0; k < c.instructions.size(); ++k) {
      const auto& i = c.instructions[k];
      check(!i.opcode.empty() && !i.name.empty());
      for (uint32_t o : i.operands) check(o < k);  // operands come first
      for (uint32_t callee : i.called) check(callee < m.computations.size());
      if (i.opcode == "get-tuple-element" && i.operands.size() == 1 && c.instructions[i.operands[0]].opcode == "while")
        check(i.tuple_index >= 0 && static_cast<size_t>(i.tuple_index) < c.instructions[i.operands[0]].type.elements.size());
      if (i.opcode == "while") check(i.called.size() == 2 && i.operands.size() == 1);
      if (i.opcode == "constant" && i.literal && i.literal->size() != 1) {
        int64_t count = 1;
        for (int64_t n : i.type.shape) count *= n;
        check(static_cast<int64_t>(i.literal->size()) == count);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto result = shardproof::hlo::read_stablehlo({reinterpret_cast<const char*>(data), size}, "input");
  if (result.ok()) {
    check(*result);
  } else {
    check(!result.error().code.empty() && !result.error().message.empty());
    check(result.error().code == "SP242" || (result.error().line >= 1 && result.error().column >= 1));
  }
  return 0;
}
