// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A program of tests/golden for fuzzers whose input is only one of the files about it. The files are read once.
#pragma once

#include <cstdlib>
#include <string>

#include "link/problem.h"
#include "manifest/manifest.h"

namespace shardproof {

struct Golden {
  manifest::Manifest manifest;
  link::Programs programs;
  link::Problem problem;  // linked; goals append to it, so that each run takes a copy

  explicit Golden(const std::string& name) {
    Result<manifest::Manifest> m = manifest::load(std::string(SHARDPROOF_SOURCE_DIR) + "/tests/golden/" + name);
    if (!m) std::abort();
    manifest = std::move(*m);
    Result<link::Programs> p = link::read(manifest);
    if (!p) std::abort();
    programs = std::move(*p);
    Result<link::Problem> linked = link::link(manifest, programs);
    if (!linked) std::abort();
    problem = std::move(*linked);
  }
};

}  // namespace shardproof
