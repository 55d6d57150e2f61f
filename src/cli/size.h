// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// An amount of memory as people write it on a command line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardproof::cli {

// Where a check of a few operators begins to have room. Less is taken for a slip of the unit: 12000, meant as MiB, is 12 kB.
inline constexpr uint64_t kLeastMemory = uint64_t{16} << 20;

// Reads 14G, 1.5GiB, 512 MB or a number of bytes into `bytes`; 0 is no limit. K, M, G, T and KiB to TiB are powers of 1024, KB to TB of
// 1000, in capitals or not. Returns "" or what is wrong and what to write instead.
std::string parse_memory(std::string_view text, uint64_t& bytes);

}  // namespace shardproof::cli
