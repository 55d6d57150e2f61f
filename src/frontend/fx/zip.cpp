// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The directory at the end of the archive is the truth; of local headers only the lengths that give the start of the data are used.
#include "frontend/fx/zip.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <zlib.h>

namespace shardproof::fx {
namespace {

constexpr uint64_t kMaxContent = uint64_t{1} << 31;
constexpr size_t kMaxEntries = size_t{1} << 20;
constexpr size_t kEndSize = 22;
constexpr size_t kDirectorySize = 46;
constexpr size_t kLocalSize = 30;

// Little-endian numbers; the caller has checked the bounds.
uint64_t number(std::string_view bytes, size_t at, int width) {
  uint64_t value = 0;
  for (int i = 0; i < width; ++i) value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at + static_cast<size_t>(i)])) << (8 * i);
  return value;
}

bool fits(std::string_view bytes, uint64_t at, uint64_t size) { return at <= bytes.size() && size <= bytes.size() - at; }

// No absolute names and no ".." in them, though nothing is extracted.
bool safe(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    return false;
  for (size_t start = 0; start <= name.size();) {
    size_t end = name.find('/', start);
    if (end == std::string_view::npos) end = name.size();
    if (name.substr(start, end - start) == "..") return false;
    start = end + 1;
  }
  return true;
}

}  // namespace

Result<ZipArchive> ZipArchive::open(std::string_view bytes, const std::string& path) {
  ZipArchive archive;
  archive.bytes_ = bytes;
  archive.path_ = path;
  // The end record stands last, behind it only a comment of at most 64 KiB.
  if (bytes.size() < kEndSize) return archive.error("not a zip archive: the file is too short");
  size_t end = std::string_view::npos;
  const size_t lowest = bytes.size() - std::min<size_t>(bytes.size(), kEndSize + 65535);
  for (size_t at = bytes.size() - kEndSize + 1; at-- > lowest;) {
    if (number(bytes, at, 4) == 0x06054b50 && at + kEndSize + number(bytes, at + 20, 2) <= bytes.size()) {
      end = at;
      break;
    }
  }
  if (end == std::string_view::npos) return archive.error("not a complete zip archive: its end record is missing; was the file cut off?");
  uint64_t count = number(bytes, end + 10, 2);
  uint64_t size = number(bytes, end + 12, 4);
  uint64_t start = number(bytes, end + 16, 4);
  if (end >= 20 && number(bytes, end - 20, 4) == 0x07064b50) {  // ZIP64
    const uint64_t wide = number(bytes, end - 20 + 8, 8);
    if (!fits(bytes, wide, 56) || number(bytes, wide, 4) != 0x06064b50) return archive.error("the ZIP64 end record is damaged");
    count = number(bytes, wide + 32, 8);
    size = number(bytes, wide + 40, 8);
    start = number(bytes, wide + 48, 8);
  }
  if (!fits(bytes, start, size)) return archive.error("the archive's directory lies outside of the file; was the file cut off?");
  if (count > kMaxEntries || count > size / kDirectorySize)
    return archive.error(fmt::format("the directory cannot hold {} entries", count));
  const std::string_view directory = bytes.substr(start, size);
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!fits(directory, at, kDirectorySize) || number(directory, at, 4) != 0x02014b50) {
      return archive.error(fmt::format("entry {} of the archive's directory is damaged", i));
    }
    ZipEntry entry;
    entry.encrypted = (number(directory, at + 8, 2) & 1) != 0;
    entry.method = static_cast<uint16_t>(number(directory, at + 10, 2));
    entry.crc = static_cast<uint32_t>(number(directory, at + 16, 4));
    entry.packed = number(directory, at + 20, 4);
    entry.size = number(directory, at + 24, 4);
    const size_t name_size = number(directory, at + 28, 2);
    const size_t extra_size = number(directory, at + 30, 2);
    const size_t comment_size = number(directory, at + 32, 2);
    entry.header = number(directory, at + 42, 4);
    if (!fits(directory, at + kDirectorySize, name_size + extra_size + comment_size)) {
      return archive.error(fmt::format("entry {} of the archive's directory is damaged", i));
    }
    entry.name = directory.substr(at + kDirectorySize, name_size);
    // ZIP64: the numbers that did not fit, in this order.
    std::string_view extra = directory.substr(at + kDirectorySize + name_size, extra_size);
    while (extra.size() >= 4) {
      const size_t length = number(extra, 2, 2);
      if (length > extra.size() - 4) break;
      if (number(extra, 0, 2) == 1) {
        std::string_view wide = extra.substr(4, length);
        for (uint64_t* field : {&entry.size, &entry.packed, &entry.header}) {
          if (*field != 0xFFFFFFFF) continue;
          if (wide.size() < 8) return archive.error(fmt::format("the ZIP64 sizes of entry {} are missing", i));
          *field = number(wide, 0, 8);
          wide.remove_prefix(8);
        }
      }
      extra.remove_prefix(4 + length);
    }
    if (!safe(entry.name)) return archive.error(fmt::format("entry {} has a name that leaves the archive", i));
    archive.index_.emplace(entry.name, archive.entries_.size());
    archive.entries_.push_back(entry);
    at += kDirectorySize + name_size + extra_size + comment_size;
  }
  return archive;
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Result<std::string> ZipArchive::read(const ZipEntry& entry, bool* crc_matches) const {
  const auto damaged = [&](const char* what) { return error(fmt::format("entry '{}': {}", entry.name, what)); };
  if (entry.encrypted) return damaged("is encrypted");
  if (entry.method != 0 && entry.method != 8) return damaged("has a compression method other than stored and deflate; re-zip the archive");
  if (!fits(bytes_, entry.header, kLocalSize) || number(bytes_, entry.header, 4) != 0x04034b50) return damaged("its header is damaged");
  const uint64_t data = entry.header + kLocalSize + number(bytes_, entry.header + 26, 2) + number(bytes_, entry.header + 28, 2);
  if (!fits(bytes_, data, entry.packed)) return damaged("its data lie outside of the file; was the file cut off?");
  if (entry.size > kMaxContent) return damaged("is larger than 2 GiB, the most that is read");
  const std::string_view packed = bytes_.substr(data, entry.packed);
  std::string content;
  if (entry.method == 0) {
    if (entry.size != entry.packed) return damaged("its two sizes differ although it is stored");
    content.assign(packed);
  } else {
    if (entry.size / 1032 > entry.packed + 1) return damaged("is stated to be larger than its data can be");
    content.resize(entry.size);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return damaged("zlib failed");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib does not write to its input
    stream.avail_in = static_cast<uInt>(std::min<uint64_t>(packed.size(), std::numeric_limits<uInt>::max()));
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(content.size());
    const int result = inflate(&stream, Z_FINISH);
    const bool complete = stream.avail_out == 0;
    inflateEnd(&stream);
    // With no room left inflate() may stop before the end marker of an empty last block.
    if (!complete || (result != Z_STREAM_END && result != Z_BUF_ERROR)) return damaged("its compressed data are damaged");
  }
  if (crc_matches != nullptr) {
    const auto* start = reinterpret_cast<const Bytef*>(content.data());
    *crc_matches = crc32_z(crc32_z(0, nullptr, 0), start, content.size()) == entry.crc;
  }
  return content;
}

}  // namespace shardproof::fx
