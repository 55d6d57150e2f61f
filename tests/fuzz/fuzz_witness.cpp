// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any witness: it is read or refused. What claims to be one is said to be about a wrong program of tests/golden, and replayed.
#include <nlohmann/json.hpp>

#include "fuzz/golden.h"
#include "interp/falsify.h"
#include "util/sha256.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shardproof;
  static const Golden* golden = new Golden("vocab_parallel_cross_entropy__offset");
  static const std::string* fingerprint = new std::string(interp::fingerprint(golden->problem));
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!interp::read_witness_header(text)) return 0;
  auto witness = nlohmann::json::parse(text, nullptr, false);
  auto& files = witness["files"] = nlohmann::json::array();
  for (const std::string& path : golden->problem.files) files.push_back({{"path", path}, {"sha256", sha256_file_hex(path)}});
  witness["fingerprint"] = *fingerprint;
  link::Problem problem = golden->problem;
  interp::Options options;
  options.seconds = 1;
  interp::replay(witness.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), problem, options);
  return 0;
}
