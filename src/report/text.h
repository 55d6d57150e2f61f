// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The answer for people, in the manner of rustc: verdict first, then outputs, then the blame with the user's own source lines on both
// sides, then assumptions and warnings.
#pragma once

#include <string>

#include "report/check.h"

namespace shardproof::report {

struct TextOptions {
  bool color = false;
  std::string directory;     // of the manifest: where relative source paths are looked for first
  bool all_outputs = false;  // list every proved output, not only counts
};

std::string to_text(const CheckResult& result, const TextOptions& options);
std::string to_text(const Diagnostic& error, const TextOptions& options);  // with the manifest's line

}  // namespace shardproof::report
