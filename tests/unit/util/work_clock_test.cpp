// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "util/work_clock.h"

#include <doctest/doctest.h>

#include <thread>

using shardproof::util::WorkClock;

namespace {

double slept(bool wall_only) {
  const bool before = WorkClock::wall_only;
  WorkClock::wall_only = wall_only;
  const double start = WorkClock::seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const double spent = WorkClock::seconds() - start;
  WorkClock::wall_only = before;
  return spent;
}

}  // namespace

TEST_CASE("on the wall, waiting counts whole") { CHECK(slept(true) >= 0.059); }

TEST_CASE("by work, waiting counts a part, and never nothing for ever") {
  // The clock reads the larger of work and wall / kPatience: whatever this process has worked so far, it never runs backwards, and
  // after the work is caught up it moves on with the wall.
  WorkClock::wall_only = false;
  const double first = WorkClock::seconds();
  double last = first;
  for (int i = 0; i < 1000 && last < first + 0.02; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const double now = WorkClock::seconds();
    CHECK(now >= last);
    last = now;
  }
  WorkClock::wall_only = true;
  CHECK(last > first);
}
