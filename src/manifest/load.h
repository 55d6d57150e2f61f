// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Parts of the manifest reader.
#pragma once

#include "manifest/manifest.h"
#include "manifest/value.h"

namespace shardproof::manifest {

constexpr int64_t kMaxRanks = 32767;  // a node's side is an int16_t

std::string read_mesh(const Value& value, Mesh& out);  // "" or what is wrong
std::string read_group(const Value& value, const Mesh& mesh, std::vector<std::vector<int64_t>>& out);
// The groups that run along `axes` (row-major over them in the given order), ordered by first rank.
std::vector<std::vector<int64_t>> axis_groups(const Mesh& mesh, const std::vector<int>& axes);

}  // namespace shardproof::manifest
