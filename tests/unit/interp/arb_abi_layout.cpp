// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// For arb_abi_test.cpp: the other declarations. Calls nothing of them.
#include <cstddef>
#include <vector>

#include "interp/arb_abi.h"

std::vector<long> layout_without_headers() {
  return {sizeof(mag_struct),
          offsetof(mag_struct, man),
          sizeof(arf_struct),
          offsetof(arf_struct, size),
          offsetof(arf_struct, d),
          sizeof(arb_struct),
          offsetof(arb_struct, mid),
          offsetof(arb_struct, rad),
          MAG_BITS,
          ARF_RND_DOWN,
          ARF_RND_UP,
          ARF_RND_FLOOR,
          ARF_RND_CEIL,
          ARF_RND_NEAR,
          ARF_PREC_EXACT,
          sizeof(slong),
          sizeof(mp_size_t)};
}

std::vector<long> mantissa_without_headers(const void* arf) {
  const auto* x = static_cast<const arf_struct*>(arf);
  mp_srcptr limbs;
  mp_size_t count;
  ARF_GET_MPN_READONLY(limbs, count, x);
  return {limbs, limbs + count};
}
