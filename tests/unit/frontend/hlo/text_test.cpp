// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "frontend/hlo/module.h"

namespace shardproof::hlo {
namespace {

TEST_CASE("smoke") {
  const auto r = read_text("HloModule m\nENTRY e {\n  ROOT a = f32[2]{0} parameter(0)\n}\n", "x.hlo");
  REQUIRE(r.ok());
  CHECK(r->computations.at(0).instructions.at(0).name == "a");
}

}  // namespace
}  // namespace shardproof::hlo
