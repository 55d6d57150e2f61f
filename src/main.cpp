// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "cli/cli.h"

int main(int argc, char** argv) {
  const int code = shardproof::cli::run(argc, argv, true);
  if (std::getenv("SHARDPROOF_NO_FORK") != nullptr) return code;  // for debuggers, profilers and counters
  std::fflush(nullptr);
  std::_Exit(code);  // taking apart what the system takes back at once would only cost time
}
