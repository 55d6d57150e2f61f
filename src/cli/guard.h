// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Runs a check in a child process, so that a crash, a stack that overflows, a killed process or an overrun time limit still end in an
// answer.
#pragma once

#include <functional>
#include <string>

namespace shardproof::cli {

struct GuardResult {
  bool finished = false;       // the child ended by itself
  int code = 0;                // then its exit code
  std::string reason, detail;  // else "budget" or "internal", and what happened
};

// `work` prints its answer and returns the exit code. seconds, of util::WorkClock: 0 = no limit. Where no process can be made, work runs in
// this one.
GuardResult guarded(double seconds, const std::function<int()>& work);

}  // namespace shardproof::cli
