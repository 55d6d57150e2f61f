// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Where the shared folder has a module both as text and as proto, both readers must give the same module, instruction by instruction.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "unit/frontend/hlo/support.h"

namespace shardproof::hlo {
namespace {

// Text may leave out the value of a constant ({...}) that the proto has: such values are taken off both sides.
size_t forget_elided(Module& text, Module& proto) {
  size_t count = 0;
  for (Computation& c : text.computations) {
    for (Instruction& i : c.instructions) {
      if (i.opcode != "constant" || i.literal != nullptr) continue;
      for (Computation& d : proto.computations) {
        if (d.name != c.name) continue;
        for (Instruction& j : d.instructions) {
          if (j.name != i.name) continue;
          j.literal = nullptr;
          j.other = i.other;
          ++count;
        }
      }
    }
  }
  return count;
}

TEST_CASE("text and proto of one module are read alike") {
  size_t pairs = 0;
  for (const std::string& proto_path : test::shared_files({".hlo.pb"})) {
    std::string text_path = proto_path.substr(0, proto_path.size() - 3);
    if (!std::filesystem::exists(text_path)) text_path += ".txt";
    if (!std::filesystem::exists(text_path)) continue;
    CAPTURE(proto_path);
    auto proto = read_proto(test::read_file(proto_path), proto_path);
    auto text = read_text(test::read_file(text_path), text_path);
    if (!proto.ok()) FAIL_CHECK(proto.error().message);
    if (!text.ok()) FAIL_CHECK(text.error().message);
    if (!proto.ok() || !text.ok()) continue;
    ++pairs;
    forget_elided(*text, *proto);
    const std::string difference = test::difference(*text, *proto);
    CHECK(difference == "");
  }
  if (pairs == 0) MESSAGE("no shared files: skipped");
}

}  // namespace
}  // namespace shardproof::hlo
