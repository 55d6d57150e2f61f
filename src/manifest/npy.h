// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// NumPy .npy arrays as constants: version 1-3, C order, little-endian booleans, integers and floats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/types.h"
#include "util/result.h"

namespace shardproof::manifest {

struct NpyArray {
  ir::Shape shape;
  std::vector<ir::Literal> values;
};
Result<NpyArray> read_npy(std::string_view bytes, const std::string& path);
Result<std::string> read_file(const std::string& path, size_t limit);  // whole file as bytes

}  // namespace shardproof::manifest
