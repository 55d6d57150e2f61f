// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/check_hlo_module.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = shardproof::hlo::read_text({reinterpret_cast<const char*>(data), size}, "fuzz.hlo");
  if (module.ok()) {
    shardproof::hlo::check_module(*module);
  } else {
    SP_CHECK(!module.error().message.empty());
  }
  return 0;
}
