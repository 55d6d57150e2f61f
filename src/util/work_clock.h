// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The clock of the time limits. On a machine that is busy with other work a verdict should not depend on how much of the processor this
// process was given: a limit that nobody asked for counts the processor's seconds, but at most kPatience times as many on the wall. A limit
// that the user gave is one on the wall: `wall_only`.
#pragma once

#include <ctime>

#include <algorithm>
#include <chrono>

namespace shardproof::util {

struct WorkClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WorkClock>;
  static constexpr bool is_steady = true;
  static constexpr double kPatience = 2.5;

  // Set before the first deadline is made, and not changed afterwards.
  static inline bool wall_only = true;
  // Processor time that the process before this one used on the same work (cli/guard.h).
  static inline duration before{0};

  static time_point now() {
    const duration wall = std::chrono::steady_clock::now() - start_;
    if (wall_only) return time_point(wall);
    timespec cpu{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    const duration work = before + std::chrono::seconds(cpu.tv_sec) + duration(cpu.tv_nsec);
    return time_point(std::max(work, std::chrono::duration_cast<duration>(wall / kPatience)));
  }

  static double seconds() { return std::chrono::duration<double>(now().time_since_epoch()).count(); }

 private:
  static inline const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace shardproof::util
