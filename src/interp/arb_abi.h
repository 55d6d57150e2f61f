// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What src/interp needs of FLINT (with Arb), declared here for builds without FLINT's headers: `pip install .` with a compiler only. The
// library itself is loaded when one of these functions is first called (arb_abi.cpp), from the package python-flint, which is a dependency
// of ours there.
//
// Only what every version from Arb 2.16 and FLINT 3.0 on has alike is used: the layout of three structures, and exported functions.
// number.h includes either this or FLINT's own headers, and tests/unit/interp/arb_abi_test.cpp holds this against those.
#pragma once

#include <climits>

#include "interp/arb_functions.h"

#define SHARDPROOF_ARB_ABI 1

using slong = long;
using ulong = unsigned long;
using mp_size_t = long;
using mp_srcptr = const unsigned long*;
using arf_rnd_t = int;
static_assert(sizeof(long) == 8 && sizeof(void*) == 8, "64-bit systems whose long has 64 bits");

struct mag_struct {
  slong exp;
  ulong man;
};
struct arf_struct {
  slong exp;
  mp_size_t size;  // twice the number of limbs, plus 1 for a negative one
  union {
    struct {
      ulong d[2];
    } noptr;
    struct {
      mp_size_t alloc;
      ulong* d;
    } ptr;
  } d;
};
struct arb_struct {
  arf_struct mid;
  mag_struct rad;
};
using mag_t = mag_struct[1];
using arf_t = arf_struct[1];
using arb_t = arb_struct[1];
using mag_ptr = mag_struct*;
using arf_ptr = arf_struct*;
using arb_ptr = arb_struct*;
using mag_srcptr = const mag_struct*;
using arf_srcptr = const arf_struct*;
using arb_srcptr = const arb_struct*;

#define arb_midref(x) (&(x)->mid)
#define arb_radref(x) (&(x)->rad)
#define MAG_BITS 30
#define MAG_MAN(x) ((x)->man)
#define ARF_RND_DOWN 0
#define ARF_RND_UP 1
#define ARF_RND_FLOOR 2
#define ARF_RND_CEIL 3
#define ARF_RND_NEAR 4
#define ARF_PREC_EXACT LONG_MAX
#define ARF_GET_MPN_READONLY(limbs, count, x)                                       \
  do {                                                                              \
    (count) = (x)->size >> 1;                                                       \
    (limbs) = (count) <= 2 ? (x)->d.noptr.d : static_cast<mp_srcptr>((x)->d.ptr.d); \
  } while (0)

// Every function goes through its slot, which at first holds one that loads the library. No library: InternalError, with what to install.
namespace shardproof::interp::arb_slots {
#define SHARDPROOF_ARB_SLOT(result, name, parameters, arguments) extern result(*name) parameters;
SHARDPROOF_ARB_FUNCTIONS(SHARDPROOF_ARB_SLOT)
#undef SHARDPROOF_ARB_SLOT
}  // namespace shardproof::interp::arb_slots

#define SHARDPROOF_ARB_CALL(result, name, parameters, arguments) \
  inline result name parameters { return shardproof::interp::arb_slots::name arguments; }
SHARDPROOF_ARB_FUNCTIONS(SHARDPROOF_ARB_CALL)
#undef SHARDPROOF_ARB_CALL
