// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What src/interp/arb_abi.h declares for builds without FLINT's headers is what those say. Layouts are compared with arb_abi_layout.cpp,
// which includes it.
#include <cstddef>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "interp/arb_functions.h"
#include "interp/number.h"

std::vector<long> layout_without_headers();
std::vector<long> mantissa_without_headers(const void* arf);

#ifndef SHARDPROOF_ARB_ABI

#define SAME(result, name, parameters, arguments) static_assert(std::is_same_v<decltype(name), result parameters>, #name);
SHARDPROOF_ARB_FUNCTIONS(SAME)
#undef SAME

TEST_CASE("the layout of FLINT's structures is the one that is declared without its headers") {
  const std::vector<long> here{sizeof(mag_struct),
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
  CHECK(here == layout_without_headers());
}

TEST_CASE("mantissas short and long are read alike") {
  arb_t x;
  arb_init(x);
  for (slong bits : {20, 64, 128, 192, 1000}) {
    for (int minus : {0, 1}) {
      arb_const_pi(x, bits);
      if (minus != 0) arb_neg(x, x);
      mp_srcptr limbs;
      mp_size_t count;
      ARF_GET_MPN_READONLY(limbs, count, arb_midref(x));
      CHECK(count > 0);
      CHECK(std::vector<long>(limbs, limbs + count) == mantissa_without_headers(arb_midref(x)));
    }
  }
  arb_clear(x);
}

#endif
