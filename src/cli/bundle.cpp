// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The archive is of untrusted origin: only plain names are taken, so nothing is written outside of the folder, and sizes are bounded before
// anything is inflated (frontend/fx/zip.h bounds each entry by the bytes that it has).
#include "cli/bundle.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "frontend/fx/zip.h"
#include "manifest/npy.h"

namespace shardproof::cli {

namespace {

constexpr size_t kMaxBundleBytes = size_t{1} << 31;  // of the archive, and of all that is in it
constexpr size_t kMaxEntries = 100'000;

bool plain(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

}  // namespace

Bundle::~Bundle() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<std::string> Bundle::unpack(const std::string& path) {
  Result<std::string> bytes = manifest::read_file(path, kMaxBundleBytes);
  if (!bytes) return bytes.error();
  Result<fx::ZipArchive> archive = fx::ZipArchive::open(*bytes, path);
  if (!archive) return Diagnostic{"SP204", "is no zip archive that can be read: " + archive.error().message, path, 0, 0};
  if (archive->entries().size() > kMaxEntries)
    return Diagnostic{"SP204", fmt::format("the bundle has more than {} files", kMaxEntries), path, 0, 0};
  uint64_t total = 0;
  for (const fx::ZipEntry& entry : archive->entries()) {
    if (!plain(entry.name))
      return Diagnostic{"SP204", fmt::format("a bundle holds files without folders, not '{}'", entry.name), path, 0, 0};
    if (entry.size > kMaxBundleBytes || (total += entry.size) > kMaxBundleBytes)
      return Diagnostic{"SP204", "the bundle's files are larger than 2 GiB: unpack it, and name its folder", path, 0, 0};
  }
  std::error_code failed;
  std::string made = (std::filesystem::temp_directory_path(failed) / "shardproof-bundle-XXXXXX").string();
  if (failed || !mkdtemp(made.data()))
    return Diagnostic{"SP204", "no folder could be made to unpack the bundle in: set TMPDIR", path, 0, 0};
  folder_ = made;
  for (const fx::ZipEntry& entry : archive->entries()) {
    Result<std::string> content = archive->read(entry);
    if (!content) return Diagnostic{"SP204", content.error().message, path, 0, 0};
    std::ofstream file(std::filesystem::path(folder_) / entry.name, std::ios::binary | std::ios::trunc);
    file << *content;
    file.close();
    if (!file) return Diagnostic{"SP204", fmt::format("'{}' could not be unpacked to {}", entry.name, folder_), path, 0, 0};
  }
  return folder_;
}

Result<manifest::Manifest> Bundle::load(const std::string& path) {
  std::error_code ignored;
  if (!path.ends_with(".zip") || !std::filesystem::is_regular_file(path, ignored)) return manifest::load(path);
  Result<std::string> folder = unpack(path);
  if (!folder) return folder.error();
  Result<manifest::Manifest> manifest = manifest::load(*folder);
  if (manifest) manifest->path = path;
  return manifest;
}

}  // namespace shardproof::cli
