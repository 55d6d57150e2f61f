// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The certificate reader on any bytes: it answers, and what it accepts is written back to the same meaning.
#include <cstdlib>
#include <string_view>

#include "check/certificate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shardproof;
  const std::string bytes = "shardproof certificate 1\n" + std::string(reinterpret_cast<const char*>(data), size);
  Result<check::Certificate> c = check::decode(bytes, "fuzz");
  if (!c) return 0;
  const std::string again = check::encode(*c);
  Result<check::Certificate> back = check::decode(again, "fuzz");
  if (!back || check::encode(*back) != again) std::abort();
  return 0;
}
