// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The command. Exit codes of `check`: 0 PROVED, 1 REFUTED, 2 bad usage or bad input, 3 UNKNOWN.
#pragma once

namespace shardproof::cli {

int run(int argc, const char* const* argv);  // catches everything

}  // namespace shardproof::cli
