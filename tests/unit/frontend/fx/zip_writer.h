// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Writes zip archives for tests: stored or deflated, with or without ZIP64.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

namespace shardproof::fx {

struct ZipOptions {
  bool deflate = false;
  bool zip64 = false;
  bool bad_crc = false;
  std::string comment;
};

inline void put(std::string& out, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

inline std::string make_zip(const std::vector<std::pair<std::string, std::string>>& files, const ZipOptions& options = {}) {
  std::string out;
  std::string directory;
  for (const auto& [name, content] : files) {
    std::string packed = content;
    if (options.deflate) {
      z_stream stream{};
      deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
      packed.resize(deflateBound(&stream, static_cast<uLong>(content.size())));
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
      stream.avail_in = static_cast<uInt>(content.size());
      stream.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream, Z_FINISH);
      packed.resize(stream.total_out);
      deflateEnd(&stream);
    }
    auto crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
    if (options.bad_crc) crc ^= 1;
    const size_t header = out.size();
    const int method = options.deflate ? 8 : 0;
    const std::string padding = "FB" + std::string("\x03\0ZZZ", 5);
    put(out, 0x04034b50, 4);
    put(out, 20, 2), put(out, 0, 2), put(out, static_cast<uint64_t>(method), 2), put(out, 0, 4), put(out, crc, 4);
    put(out, packed.size(), 4), put(out, content.size(), 4), put(out, name.size(), 2), put(out, padding.size(), 2);
    out += name + padding + packed;
    std::string extra;
    if (options.zip64) {
      put(extra, 0x4246, 2), put(extra, 1, 2), extra += 'x';  // an unknown field first
      put(extra, 1, 2), put(extra, 24, 2), put(extra, content.size(), 8), put(extra, packed.size(), 8), put(extra, header, 8);
    }
    const uint64_t wide = 0xFFFFFFFF;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2), put(directory, 20, 2), put(directory, 0, 2), put(directory, static_cast<uint64_t>(method), 2);
    put(directory, 0, 4), put(directory, crc, 4);
    put(directory, options.zip64 ? wide : packed.size(), 4), put(directory, options.zip64 ? wide : content.size(), 4);
    put(directory, name.size(), 2), put(directory, extra.size(), 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2);
    put(directory, 0, 4), put(directory, options.zip64 ? wide : header, 4);
    directory += name + extra;
  }
  const size_t start = out.size();
  out += directory;
  if (options.zip64) {
    const size_t record = out.size();
    put(out, 0x06064b50, 4), put(out, 44, 8), put(out, 45, 2), put(out, 45, 2), put(out, 0, 4), put(out, 0, 4);
    put(out, files.size(), 8), put(out, files.size(), 8), put(out, directory.size(), 8), put(out, start, 8);
    put(out, 0x07064b50, 4), put(out, 0, 4), put(out, record, 8), put(out, 1, 4);
  }
  put(out, 0x06054b50, 4), put(out, 0, 4);
  put(out, options.zip64 ? 0xFFFF : files.size(), 2), put(out, options.zip64 ? 0xFFFF : files.size(), 2);
  put(out, options.zip64 ? 0xFFFFFFFF : directory.size(), 4), put(out, options.zip64 ? 0xFFFFFFFF : start, 4);
  put(out, options.comment.size(), 2);
  out += options.comment;
  return out;
}

}  // namespace shardproof::fx
