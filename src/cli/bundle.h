// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A manifest as the user names it: a file, a folder, or a bundle in one .zip file, whose files are laid in a folder of their own while this
// value lives.
#pragma once

#include <string>

#include "manifest/manifest.h"

namespace shardproof::cli {

class Bundle {
 public:
  Bundle() = default;
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // The manifest; its `path` is what the user named.
  Result<manifest::Manifest> load(const std::string& path);

 private:
  Result<std::string> unpack(const std::string& path);  // the folder

  std::string folder_;  // to be removed at the end
};

}  // namespace shardproof::cli
