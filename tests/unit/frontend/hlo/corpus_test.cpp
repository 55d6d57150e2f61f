// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Every HLO file of the shared cases and samples is read, and what was read is compared with a count that does not use the reader: lines
// of the form "name = type opcode(".
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "unit/frontend/hlo/support.h"

namespace shardproof::hlo {
namespace {

// Instructions by opcode, and computations, from the lines alone.
struct Count {
  std::map<std::string, size_t> opcodes;
  size_t instructions = 0, computations = 0;
};

Count count(const std::string& text) {
  Count out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) continue;
    if (start == 0) {
      out.computations += line.back() == '{';
      continue;
    }
    const size_t equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    // The type ends at the first blank outside brackets.
    size_t i = equals + 3;
    int depth = 0;
    for (; i < line.size() && (depth > 0 || line[i] != ' '); ++i) {
      if (std::string("([{").find(line[i]) != std::string::npos) ++depth;
      if (std::string(")]}").find(line[i]) != std::string::npos) --depth;
    }
    const size_t open = line.find('(', i);
    ++out.instructions;
    ++out.opcodes[line.substr(i + 1, open - i - 1)];
  }
  return out;
}

TEST_CASE("every shared file has as many instructions of each operator as it has lines of it") {
  const auto list = test::shared_files({".hlo", ".hlo.txt"});
  if (list.empty()) {
    MESSAGE("no shared files: skipped");
    return;
  }
  size_t total = 0;
  for (const auto& path : list) {
    const std::string text = test::read_file(path);
    const auto module = read_text(text, path);
    CAPTURE(path);
    if (!module.ok()) {
      const Diagnostic& d = module.error();
      FAIL_CHECK(fmt::format("{}:{}:{}: {}", d.file, d.line, d.column, d.message));
      continue;
    }
    const Count expected = count(text);
    std::map<std::string, size_t> opcodes;
    size_t instructions = 0;
    for (const Computation& c : module->computations) {
      instructions += c.instructions.size();
      for (size_t k = 0; k < c.instructions.size(); ++k) {
        const Instruction& i = c.instructions[k];
        ++opcodes[i.opcode];
        for (uint32_t o : i.operands) CHECK(o < k);
        CHECK(i.text_line > 0);
        if (i.opcode == "constant" && i.literal == nullptr)
          CHECK(std::any_of(i.other.begin(), i.other.end(), [](const auto& o) { return o.first == "constant"; }));
      }
    }
    total += instructions;
    CHECK(instructions == expected.instructions);
    CHECK(module->computations.size() == expected.computations);
    CHECK(opcodes == expected.opcodes);
  }
  CHECK(total > 30000);
}

}  // namespace
}  // namespace shardproof::hlo
