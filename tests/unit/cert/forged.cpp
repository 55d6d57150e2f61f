// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Certificates of wrong programs, written by provers in which a side condition was missing (tests/soundness/*/forged.cert): rejected for
// every seed, by a claim that is wrong and not by their form. Hashes and numbering are patched.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "check/checker.h"
#include "frontend/certificate/certificate.h"
#include "util/sha256.h"

#ifndef SHARDPROOF_VERSION
#define SHARDPROOF_VERSION "0.1.0"
#endif

using namespace shardproof;
namespace fs = std::filesystem;

TEST_CASE("certificates of wrong proofs are rejected by a claim, whatever the seed") {
  size_t tried = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(SHARDPROOF_SOURCE_DIR) / "tests/soundness")) {
    std::ifstream in(entry.path() / "forged.cert", std::ios::binary);
    if (!in) continue;
    const std::string name = entry.path().filename().string();
    std::stringstream bytes;
    bytes << in.rdbuf();
    Result<certificate::Certificate> c = certificate::decode(bytes.str(), name);
    Result<manifest::Manifest> m = manifest::load(entry.path().string());
    REQUIRE(c.ok());
    REQUIRE(m.ok());
    Result<link::Problem> linked = link::link(*m);
    REQUIRE(linked.ok());
    c->product = SHARDPROOF_VERSION;
    c->manifest_hash = sha256_hex(m->canonical);
    c->files.clear();
    for (const std::string& f : linked->files) c->files.emplace_back(f, sha256_file_hex(f));
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      link::Problem problem = *linked;
      const check::Report r = check::check(*c, *m, problem, seed * 7919);
      CHECK_MESSAGE(!r.rejected.empty(), name, " is accepted with seed ", seed);
      CHECK_MESSAGE(r.rejected.find("claim of node") != std::string::npos, name, " is rejected by its form: ", r.rejected);
    }
    ++tried;
  }
  CHECK(tried >= 30);
}
