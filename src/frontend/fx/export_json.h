// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Inside of the export JSON reader, for the .pt2 reader.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/fx/module.h"

namespace shardproof::fx {

struct ExportProgram {
  Module module;
  // Constant tensors that the graph takes as inputs: (name in the archive, name of the placeholder).
  std::vector<std::pair<std::string, std::string>> tensor_constants;
};

Result<ExportProgram> read_export_program(std::string_view text, const std::string& path);

}  // namespace shardproof::fx
