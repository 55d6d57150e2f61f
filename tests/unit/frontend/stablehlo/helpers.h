// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Short ways to read a piece of StableHLO in a test.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "frontend/hlo/module.h"

namespace shardproof::hlo {

inline Module read_ok(const std::string& text) {
  Result<Module> result = read_stablehlo(text, "test.mlir");
  if (!result.ok()) {
    const Diagnostic& d = result.error();
    FAIL(d.code << " " << d.line << ":" << d.column << ": " << d.message);
  }
  return std::move(*result);
}

// A function main with these arguments, body and results.
inline std::string main_of(const std::string& arguments, const std::string& body, const std::string& returned, const std::string& types) {
  return "module @m {\n  func.func public @main(" + arguments + ") -> (" + types + ") {\n" + body + "\n    return " + returned + " : " +
         types + "\n  }\n}\n";
}

inline const Computation& entry(const Module& m) { return m.computations[m.entry]; }

// The only instruction with this opcode in the module.
inline const Instruction& only(const Module& m, const std::string& opcode) {
  const Instruction* found = nullptr;
  int count = 0;
  for (const Computation& c : m.computations)
    for (const Instruction& i : c.instructions)
      if (i.opcode == opcode) found = &i, ++count;
  if (count != 1) FAIL("expected one " << opcode << ", found " << count);
  return *found;
}

inline std::vector<std::string> opcodes(const Computation& c) {
  std::vector<std::string> out;
  for (const Instruction& i : c.instructions) out.push_back(i.opcode);
  return out;
}

using Ints = std::vector<int64_t>;
using Words = std::vector<std::string>;

}  // namespace shardproof::hlo
