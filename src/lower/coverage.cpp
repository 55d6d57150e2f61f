// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "lower/coverage.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "lower/aten.h"
#include "lower/graphdef_internal.h"
#include "lower/hlo_internal.h"

namespace shardproof::lower {

namespace {

const char* file() {
  static const char* const path = std::getenv("SHARDPROOF_RULE_COUNTS");
  return path != nullptr && *path != 0 ? path : nullptr;
}

}  // namespace

struct Coverage {
  std::mutex lock;  // programs are lowered at the same time
  std::map<std::string, size_t, std::less<>> of[3];
  Coverage() {
    if (file() == nullptr) return;
    for (const aten::OpRow* row : aten::all_ops()) of[0].emplace(row->name, 0);
    for (const auto& [opcode, handler] : HloLowering::handlers()) of[1].emplace(opcode, 0);
    for (const auto& [name, handler] : gd::table()) of[2].emplace(name, 0);
  }
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;
  // Written at exit, whatever the process was for.
  ~Coverage() {
    if (file() == nullptr) return;
    std::string line;
    static constexpr const char* kKinds[] = {"aten", "hlo", "tensorflow"};
    for (int kind = 0; kind < 3; ++kind) {
      std::string list;
      for (const auto& [name, count] : of[kind]) list += fmt::format("{}\"{}\": [{}, 0]", list.empty() ? "" : ", ", name, count);
      line += fmt::format("{}\"{}\": {{{}}}", kind == 0 ? "{" : ", ", kKinds[kind], list);
    }
    line += "}\n";
    if (std::FILE* f = std::fopen(file(), "a")) {
      std::fwrite(line.data(), 1, line.size(), f);
      std::fclose(f);
    }
  }
};

namespace {

Coverage& counts() {
  static Coverage all;
  return all;
}

}  // namespace

void lowered(Reader reader, std::string_view name) {
  if (file() == nullptr) return;
  Coverage& all = counts();
  const std::lock_guard<std::mutex> guard(all.lock);
  auto& table = all.of[static_cast<int>(reader)];
  if (const auto it = table.find(name); it != table.end()) ++it->second;
}

}  // namespace shardproof::lower
