// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Every .mlir file of the corpus is read, and the number of its instructions agrees with a count made line by line, without the reader.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/unit/frontend/stablehlo/helpers.h"

using namespace shardproof;
using namespace shardproof::hlo;

namespace {

namespace fs = std::filesystem;

fs::path shared() {
  if (const char* env = std::getenv("SHARDPROOF_SHARED")) return env;
  return fs::path(SHARDPROOF_SOURCE_DIR) / ".." / "shared";
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// Operator at the start of each line (after "%a, %b:2 = "), as printers write one operator a line; "stablehlo.reduce ... applies" and
// pretty operators count once each.
std::map<std::string, std::set<int>> operators_by_line(const std::string& text) {
  std::map<std::string, std::set<int>> out;
  std::istringstream in(text);
  std::string line;
  int number = 0;
  while (std::getline(in, line)) {
    ++number;
    size_t k = line.find_first_not_of(' ');
    if (k == std::string::npos) continue;
    if (line[k] == '%') {
      size_t eq = line.find(" = ", k);
      if (eq == std::string::npos) continue;
      k = eq + 3;
    }
    bool quoted = line[k] == '"';
    if (quoted) ++k;
    size_t stop = k;
    while (stop < line.size() && (std::isalnum(static_cast<unsigned char>(line[stop])) || line[stop] == '.' || line[stop] == '_')) ++stop;
    std::string name = line.substr(k, stop - k);
    if (name == "call") name = "func.call";
    if (name.rfind("stablehlo.", 0) == 0 || name.rfind("chlo.", 0) == 0 || name.rfind("sdy.", 0) == 0 || name == "func.call")
      out[name].insert(number);
  }
  return out;
}

}  // namespace

TEST_CASE("every file of the corpus") {
  if (!fs::exists(shared() / "cases")) {
    MESSAGE("skipped: no ../shared");
    return;
  }
  const std::map<std::string, std::string> renamed = {{"stablehlo.dot_general", "dot"},
                                                      {"stablehlo.broadcast_in_dim", "broadcast"},
                                                      {"func.call", "call"},
                                                      {"sdy.manual_computation", "manual-computation"},
                                                      {"sdy.sharding_constraint", "sharding-constraint"},
                                                      {"sdy.constant", "constant"},
                                                      {"chlo.square", "multiply"},
                                                      {"chlo.erf", "erf"},
                                                      {"chlo.top_k", "topk"},
                                                      {"stablehlo.case", "conditional"},
                                                      {"stablehlo.if", "conditional"},
                                                      {"stablehlo.optimization_barrier", "opt-barrier"}};
  int files = 0;
  for (const char* root : {"cases", "samples"}) {
    for (const auto& item : fs::recursive_directory_iterator(shared() / root)) {
      if (item.path().extension() != ".mlir") continue;
      ++files;
      CAPTURE(item.path().string());
      std::string text = slurp(item.path());
      Result<Module> result = read_stablehlo(text, item.path().string());
      if (!result.ok()) {
        FAIL_CHECK(result.error().line << ":" << result.error().column << ": " << result.error().message);
        continue;
      }
      const Module& m = *result;
      std::map<std::string, std::set<int>> expected;
      for (const auto& [name, lines] : operators_by_line(text)) {
        if (name == "stablehlo.return" || name == "sdy.return" || name == "sdy.mesh") continue;
        auto it = renamed.find(name);
        std::string opcode = it != renamed.end() ? it->second : name.substr(name.find('.') + 1);
        for (char& c : opcode)
          if (c == '_') c = '-';
        expected[opcode].insert(lines.begin(), lines.end());
      }
      std::map<std::string, std::multiset<int>> found;
      for (const Computation& c : m.computations) {
        CHECK(c.root < c.instructions.size());
        for (size_t k = 0; k < c.instructions.size(); ++k) {
          const Instruction& i = c.instructions[k];
          for (uint32_t o : i.operands) CHECK(o < k);
          for (uint32_t called : i.called) CHECK(called < m.computations.size());
          if (i.opcode != "parameter" && i.opcode != "tuple" && i.opcode != "get-tuple-element") found[i.opcode].insert(i.text_line);
          if (i.opcode == "constant") CHECK(i.literal);
        }
      }
      size_t applies = 0;  // the short form of reduce makes one more operator, on the same line
      for (auto& [opcode, lines] : found) {
        std::set<int> distinct(lines.begin(), lines.end());
        std::set<int> reduced;
        if (opcode != "reduce")
          for (int line : expected["reduce"])
            if (distinct.count(line)) reduced.insert(line);
        applies += reduced.size();
        for (int line : reduced) distinct.erase(line);
        CHECK_MESSAGE(distinct == expected[opcode], opcode);
        if (opcode != "constant" && opcode != "iota") CHECK_MESSAGE(lines.size() == distinct.size() + reduced.size(), opcode);
      }
      for (const auto& [opcode, lines] : expected)
        if (!lines.empty()) CHECK_MESSAGE(found.count(opcode) == 1, opcode);
      size_t written = 0;
      for (size_t at = text.find(" applies "); at != std::string::npos; at = text.find(" applies ", at + 1)) ++written;
      CHECK(applies == written);
      CHECK(m.parameter_shardings.size() == m.computations[m.entry].parameters.size());
    }
  }
  CHECK(files > 50);
  MESSAGE(files << " files");
}

TEST_CASE("the generic form and the form with locations are the same program") {
  fs::path jax = shared() / "cases" / "jax";
  if (!fs::exists(jax / "form_generic")) {
    MESSAGE("skipped: no ../shared/cases/jax");
    return;
  }
  // form_generic and form_debug_info print the block of sm_tp_block.
  auto read = [&](const char* name) { return read_ok(slurp(jax / name / "dist.mlir")); };
  Module plain = read("sm_tp_block"), generic = read("form_generic"), located = read("form_debug_info");
  for (const Module* other : {&generic, &located}) {
    REQUIRE(other->computations.size() == plain.computations.size());
    for (size_t c = 0; c < plain.computations.size(); ++c) {
      const Computation& a = plain.computations[c];
      const Computation& b = other->computations[c];
      REQUIRE(opcodes(a) == opcodes(b));
      for (size_t k = 0; k < a.instructions.size(); ++k) {
        CHECK(a.instructions[k].operands == b.instructions[k].operands);
        CHECK(a.instructions[k].type.shape == b.instructions[k].type.shape);
        CHECK(a.instructions[k].dimensions == b.instructions[k].dimensions);
        CHECK(a.instructions[k].lhs_contract == b.instructions[k].lhs_contract);
        CHECK(a.instructions[k].replica_groups.groups == b.instructions[k].replica_groups.groups);
        CHECK(a.instructions[k].in_shardings == b.instructions[k].in_shardings);
        if (a.instructions[k].literal) CHECK(*a.instructions[k].literal == *b.instructions[k].literal);
      }
    }
  }
  int with_place = 0;
  for (const Computation& c : located.computations)
    for (const Instruction& i : c.instructions)
      if (i.file && i.line > 0) ++with_place;
  CHECK(with_place > 100);
  CHECK(located.argument_names[0] == "p['an']");
}
