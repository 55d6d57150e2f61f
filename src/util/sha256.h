// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for the hashes in certificates and witnesses.
#pragma once

#include <string>
#include <string_view>

namespace shardproof {

std::string sha256_hex(std::string_view bytes);
// Of a file's bytes; "" if it cannot be read.
std::string sha256_file_hex(const std::string& path);

}  // namespace shardproof
