// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The command. Exit codes of `check`: 0 PROVED, 1 REFUTED, 2 bad usage or bad input, 3 UNKNOWN.
#pragma once

namespace shardproof::cli {

// own_process: this process is the command and nothing else, and ends with it. Catches everything.
int run(int argc, const char* const* argv, bool own_process = false);

}  // namespace shardproof::cli
