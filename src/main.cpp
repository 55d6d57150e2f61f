// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

int main(int argc, char** argv) { return shardproof::cli::run(argc, argv); }
