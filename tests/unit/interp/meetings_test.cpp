// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Hints where partial sums of the ranks add up to a sequential value.
#include "interp/meetings.h"

#include <doctest/doctest.h>

#include "manifest/manifest.h"

using namespace shardproof;

namespace {

std::vector<interp::Meeting> of_golden(const std::string& name, link::Problem& problem) {
  auto m = manifest::load(std::string(SHARDPROOF_SOURCE_DIR) + "/tests/golden/" + name);
  REQUIRE(m);
  auto linked = link::link(*m);
  REQUIRE(linked);
  problem = std::move(*linked);
  std::vector<size_t> all;
  for (size_t k = 0; k < problem.outputs.size(); ++k) all.push_back(k);
  return interp::meetings(problem, all, {});
}

}  // namespace

TEST_CASE("partial gradients meet the sequential ones at every step") {
  link::Problem p;
  const auto found = of_golden("partial_gradients_through_layers", p);
  size_t sums = 0;
  for (const interp::Meeting& m : found) {
    CHECK(p.side[m.sequential] == link::kSequential);
    if (m.alone) {  // a rank's value that is the sequential one, or a slice of it
      REQUIRE(m.parts.size() == 1);
      CHECK(p.side[m.parts[0]] >= 0);
      CHECK(m.start.size() == p.graph[m.sequential].shape.size());
      continue;
    }
    ++sums;
    REQUIRE(m.parts.size() == 2);
    CHECK(p.side[m.parts[0]] == 0);
    CHECK(p.side[m.parts[1]] == 1);
    CHECK(p.graph[m.parts[0]].shape == p.graph[m.sequential].shape);
  }
  CHECK(sums > 20);
}

TEST_CASE("an axis of one rank adds nothing up") {
  link::Problem p;
  for (const interp::Meeting& m : of_golden("partial_sums_beside_one_rank", p)) CHECK(m.parts.size() == (m.alone ? 1 : 2));
}

TEST_CASE("copies add up to twice the value, and are no parts of it") {
  link::Problem p;
  for (const interp::Meeting& m : of_golden("literal_fraction", p)) CHECK(m.alone);
}
