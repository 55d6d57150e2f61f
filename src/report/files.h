// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The answer in the formats of other tools: SARIF 2.1.0, JUnit XML, HTML, Graphviz, GitHub annotations; and the relation as TOML.
#pragma once

#include <string>

#include "report/check.h"

namespace shardproof::report {

struct FileOptions {
  std::string source_root;  // prefix to strip from source paths
  std::string manifest;     // for titles
};

std::string to_sarif(const CheckResult& result, const FileOptions& options);
std::string to_junit(const CheckResult& result, const FileOptions& options);
std::string to_html(const CheckResult& result, const FileOptions& options);
std::string to_annotations(const CheckResult& result, const FileOptions& options);  // ::error file=..., one a line
std::string to_dot(const CheckResult& result);                                      // needs result.problem
std::string relation_toml(const CheckResult& result);                               // needs result.problem; can be pasted into a manifest

}  // namespace shardproof::report
