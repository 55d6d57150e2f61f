// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Every HLO file of the shared cases and samples is read, and what was read is compared with a count that does not use the reader: lines
// of the form "name = type opcode(".
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "frontend/hlo/module.h"

namespace shardproof::hlo {
namespace {

std::filesystem::path shared() {
  if (const char* s = std::getenv("SHARDPROOF_SHARED")) return s;
  return std::filesystem::path(SHARDPROOF_SOURCE_DIR) / ".." / "shared";
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> out;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator i(shared(), error), end; !error && i != end; i.increment(error)) {
    const std::string name = i->path().filename().string();
    if (name.ends_with(".hlo") || name.ends_with(".hlo.txt")) out.push_back(i->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

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
  const auto list = files();
  if (list.empty()) {
    MESSAGE("no shared files: skipped");
    return;
  }
  size_t total = 0;
  for (const auto& path : list) {
    const std::string text = read(path);
    const auto module = read_text(text, path.string());
    CAPTURE(path.string());
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
        if (i.opcode == "constant" && i.literal == nullptr) CHECK(std::any_of(i.other.begin(), i.other.end(), [](const auto& o) { return o.first == "constant"; }));
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
