// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A zip archive in memory, of untrusted origin. Reads stored and deflated entries, with ZIP64; nothing is ever written to disk.
//
// Every offset and size is checked against the bytes before use. The size of an inflated entry is believed only if deflate could have
// produced it (about 1032 times its input), so an archive cannot make us allocate more than that factor of its own size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "util/result.h"

namespace shardproof::fx {

struct ZipEntry {
  std::string_view name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
  uint32_t crc = 0;
  uint64_t packed = 0;  // bytes in the archive
  uint64_t size = 0;    // bytes of the content
  uint64_t header = 0;  // offset of the local header
};

class ZipArchive {
 public:
  // `bytes` must outlive the archive.
  static Result<ZipArchive> open(std::string_view bytes, const std::string& path);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  // The content. `crc_matches`, if given, says whether the content has the checksum of the directory (PyTorch may leave it out).
  Result<std::string> read(const ZipEntry& entry, bool* crc_matches = nullptr) const;

 private:
  Diagnostic error(const std::string& message) const { return {"SP230", message, path_, 0, 0}; }

  std::string_view bytes_;
  std::string path_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, size_t> index_;  // of the first entry of a name
};

}  // namespace shardproof::fx
