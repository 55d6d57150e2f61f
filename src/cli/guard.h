// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Runs a check such that a crash, a stack that overflows, a killed process or an overrun time limit still end in an answer.
//
// Making a process takes a small check's tenth part, so the command first works in the process that it is, in which a crash starts
// the command anew to give the answer (`--because`). A check that takes longer goes on in a child: from then on it may be killed, too.
#pragma once

#include <functional>
#include <string>

namespace shardproof::cli {

struct GuardResult {
  bool finished = false;       // the work ended by itself
  int code = 0;                // then its exit code
  std::string reason, detail;  // else "budget" or "internal", and what happened
};

// `work` prints its answer and returns the exit code. seconds, of util::WorkClock: 0 = no limit. Runs in a child at once; where no
// process can be made, in this one.
GuardResult guarded(double seconds, const std::function<int()>& work);

// The same for a process that does nothing else: in this process first. `restart`: the command line that gives the answer, with a place of
// kBecause + 1 characters at its end, which is filled with what because() understands. Ends the process if the work does not return.
constexpr int kBecause = 40;
int guarded_here(double seconds, char* const* restart, char* because, const std::function<int()>& work);

// What a restarted command is to say.
GuardResult because(const std::string& word);

}  // namespace shardproof::cli
