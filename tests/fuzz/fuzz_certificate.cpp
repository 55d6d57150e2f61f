// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The certificate reader on any bytes: it answers, and what it accepts is written back to the same meaning.
#include <cstdlib>
#include <string_view>

#include "frontend/certificate/certificate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shardproof;
  const std::string bytes = "shardproof certificate 1\n" + std::string(reinterpret_cast<const char*>(data), size);
  Result<certificate::Certificate> c = certificate::decode(bytes, "fuzz");
  if (!c) return 0;
  const std::string again = certificate::encode(*c);
  Result<certificate::Certificate> back = certificate::decode(again, "fuzz");
  if (!back || certificate::encode(*back) != again) std::abort();
  return 0;
}
