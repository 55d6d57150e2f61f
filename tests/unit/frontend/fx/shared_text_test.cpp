// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Every captured program in FX readable text is read, and the number of values, by kind, equals a count taken straight from its lines by
// a scanner that shares nothing with the reader.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/fx/module.h"

using namespace shardproof;      // NOLINT
using namespace shardproof::fx;  // NOLINT
namespace fs = std::filesystem;

namespace {

fs::path shared_directory() {
  if (const char* set = std::getenv("SHARDPROOF_SHARED")) return set;
  return fs::path(SHARDPROOF_SOURCE_DIR) / ".." / "shared";
}

struct Counts {
  size_t placeholders = 0, values = 0, outputs_at_least = 0, items = 0, attributes = 0;
};

// Works on lines of the one "def forward(" that returns. Knows: a parameter or leaf annotation is `: "` or a name between commas; an
// assignment is a line "name = ..." or "name: "..." = ..." whose right side is not None.
Counts count_lines(const std::string& text) {
  Counts counts;
  std::istringstream in(text);
  std::string line;
  bool inside = false;
  bool in_signature = false;
  std::set<std::string> parameters;
  const auto add_parameters = [&](std::string list) {
    // Drop annotations and comments, then split.
    std::string plain;
    bool quoted = false;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] == '"') quoted = !quoted;
      if (!quoted && list[i] == '#') break;
      if (!quoted && list[i] != '"') plain += list[i];
    }
    std::istringstream parts(plain);
    std::string part;
    while (std::getline(parts, part, ',')) {
      std::string name;
      for (const char c : part.substr(0, part.find(':'))) {
        if (c != ' ') name += c;
      }
      if (!name.empty() && name != "self" && name[0] != '*' && name != ")") parameters.insert(name);
    }
  };
  while (std::getline(in, line)) {
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    const std::string rest = line.substr(first);
    if (rest.rfind("def forward(", 0) == 0) {
      if (rest.find("*args") != std::string::npos) continue;  // a stub
      inside = true;
      const size_t end = rest.rfind("):");
      in_signature = end == std::string::npos;
      add_parameters(in_signature ? rest.substr(12) : rest.substr(12, end - 12));
      continue;
    }
    if (!inside) continue;
    if (in_signature) {
      if (rest.rfind("):", 0) == 0) {
        in_signature = false;
      } else {
        add_parameters(rest);
      }
      continue;
    }
    if (rest[0] == '#') continue;
    if (rest.rfind("return", 0) == 0) break;
    if (rest.find("tree_flatten_spec(") != std::string::npos) {
      parameters.clear();
      add_parameters(rest.substr(0, rest.find(" = fx_pytree")));
      continue;
    }
    const size_t equals = rest.find(" = ");
    if (equals == std::string::npos || rest.substr(0, equals).find(';') != std::string::npos) continue;
    ++counts.values;
    const std::string right = rest.substr(equals + 3);
    if (right.rfind("self.", 0) == 0) ++counts.attributes;
    const size_t stop = right.find_first_of("[(. ");
    if (stop != std::string::npos && right[stop] == '[') ++counts.items;
  }
  counts.placeholders = parameters.size();
  counts.values += parameters.size();
  return counts;
}

}  // namespace

TEST_CASE("fx text: every captured program is read completely") {
  const fs::path root = shared_directory();
  if (!fs::exists(root / "cases")) {
    MESSAGE("skipped: no captured programs at " << root.string());
    return;
  }
  size_t files = 0;
  size_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.size() < 7 || name.substr(name.size() - 7) != ".fx.txt") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    CAPTURE(entry.path().string());
    const Result<Module> module = read_text(text, name);
    if (!module) {
      FAIL_CHECK(module.error().line << ":" << module.error().column << ": " << module.error().message);
      continue;
    }
    ++files;
    const Graph& graph = module->graph;
    total += graph.values.size();
    const Counts expected = count_lines(text);
    size_t placeholders = 0;
    size_t items = 0;
    size_t attributes = 0;
    size_t with_type = 0;
    for (const Value& value : graph.values) {
      placeholders += value.op == Value::Op::Placeholder ? 1 : 0;
      items += value.op == Value::Op::GetItem ? 1 : 0;
      attributes += value.op == Value::Op::GetAttr ? 1 : 0;
      with_type += value.type.known ? 1 : 0;
    }
    CHECK(placeholders == expected.placeholders);
    CHECK(graph.values.size() == expected.values);
    CHECK(items == expected.items);
    CHECK(attributes == expected.attributes);
    if (text.find("import torch._inductor") == std::string::npos && text.find("class Repro") == std::string::npos) CHECK(with_type > 0);
  }
  MESSAGE(files << " files, " << total << " values");
  CHECK(files > 0);
}
