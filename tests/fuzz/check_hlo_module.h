// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What every hlo::Module must satisfy, however strange its input: the invariants that lowering relies on.
#pragma once

#include "frontend/hlo/module.h"

namespace shardproof::hlo {

inline void check_module(const Module& m) {
  SP_CHECK(m.entry < m.computations.size());
  for (const Computation& c : m.computations) {
    SP_CHECK(c.root < c.instructions.size());
    for (size_t k = 0; k < c.parameters.size(); ++k) {
      SP_CHECK(c.parameters[k] < c.instructions.size());
      SP_CHECK(c.instructions[c.parameters[k]].parameter_number == static_cast<int64_t>(k));
    }
    for (size_t k = 0; k < c.instructions.size(); ++k) {
      const Instruction& i = c.instructions[k];
      SP_CHECK(!i.opcode.empty());
      for (uint32_t o : i.operands) SP_CHECK(o < k);
      for (uint32_t called : i.called) SP_CHECK(called < m.computations.size() && &m.computations[called] != &c);
      if (i.literal != nullptr) {
        int64_t n = 1;
        for (int64_t d : i.type.shape) n *= d;
        SP_CHECK(static_cast<int64_t>(i.literal->size()) == n || i.literal->size() == 1);
        SP_CHECK(n > 0 || i.literal->empty());
      }
    }
  }
  SP_CHECK(m.parameter_shardings.size() == m.computations[m.entry].parameters.size());
  SP_CHECK(m.argument_names.empty() || m.argument_names.size() == m.parameter_shardings.size());
}

}  // namespace shardproof::hlo
