// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Files -> programs in core operators. The format is told by content, never by name; a file that several ranks read is lowered once.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontend/program.h"
#include "manifest/manifest.h"
#include "util/result.h"

namespace shardproof::lower::aten {
class Kernels;
}

namespace shardproof::link {

// A lowered file. Shared by all ranks that read it.
struct Source {
  frontend::Program program;
  size_t operators = 0;  // as written
};

class Sources {
 public:
  explicit Sources(const manifest::Manifest& manifest, int64_t keep_loops = 0);
  ~Sources();

  // `rank`: whose constants ("rank1:name") apply; -1: the sequential program.
  Result<std::shared_ptr<const Source>> read(const std::string& file, int64_t rank);
  std::vector<std::string> files() const { return files_; }  // resolved paths, in order of first use

 private:
  const manifest::Manifest& manifest_;
  int64_t keep_loops_;
  std::map<std::string, std::shared_ptr<const Source>> cache_;
  std::vector<std::string> files_;
  std::set<std::string> seen_;
  std::unique_ptr<lower::aten::Kernels> kernels_;  // built in and from the manifest, loaded once
};

// Answers a lowering's questions from the manifest's `constants`.
class ManifestConstants : public frontend::ConstantSource {
 public:
  ManifestConstants(const manifest::Manifest& manifest, int64_t rank) : manifest_(manifest), rank_(rank) {}
  std::optional<std::vector<ir::Literal>> constant(const std::string& name, ir::DType dtype, const ir::Shape& shape) const override;

 private:
  const manifest::Manifest& manifest_;
  int64_t rank_;
};

// The entry of `constants` for a name on a side (rank, or -1: sequential), the most specific one; nullptr if none.
const manifest::Constant* find_constant(const manifest::Manifest& manifest, const std::string& name, int64_t rank);

}  // namespace shardproof::link
