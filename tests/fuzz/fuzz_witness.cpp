// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any witness: it is read or refused. What claims to be one is said to be about a wrong program of tests/golden, and replayed.
#include <nlohmann/json.hpp>

#include "fuzz/golden.h"
#include "interp/falsify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shardproof;
  static const Golden* golden = new Golden("vocab_parallel_cross_entropy__offset");
  static const std::string* fingerprint = new std::string(interp::fingerprint(golden->problem));
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (!interp::read_witness_header(text)) return 0;
  auto witness = nlohmann::json::parse(text, nullptr, false);
  witness["files"] = nlohmann::json::array();
  witness["fingerprint"] = *fingerprint;
  link::Problem problem = golden->problem;
  problem.files.clear();  // to be hashed each time
  interp::Options options;
  options.seconds = 1;
  interp::replay(witness.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), problem, options);
  return 0;
}
