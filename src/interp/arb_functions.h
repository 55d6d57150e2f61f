// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The functions of FLINT that src/interp calls, with their signatures: SHARDPROOF_ARB_FUNCTIONS(F) is F(result, name, parameters,
// arguments) for each of them. The types are those of FLINT's headers or of arb_abi.h.
#pragma once

// F(result, name, parameters, arguments)
#define SHARDPROOF_ARB_UNARY(F, name) F(void, name, (arb_ptr z, arb_srcptr x, slong bits), (z, x, bits))
#define SHARDPROOF_ARB_BINARY(F, name) F(void, name, (arb_ptr z, arb_srcptr x, arb_srcptr y, slong bits), (z, x, y, bits))
#define SHARDPROOF_ARB_WITH_UI(F, name) F(void, name, (arb_ptr z, arb_srcptr x, ulong n, slong bits), (z, x, n, bits))
#define SHARDPROOF_ARB_COPY(F, name) F(void, name, (arb_ptr z, arb_srcptr x), (z, x))
#define SHARDPROOF_ARB_SET(F, name) F(void, name, (arb_ptr x), (x))
#define SHARDPROOF_ARB_IS(F, name) F(int, name, (arb_srcptr x), (x))
#define SHARDPROOF_ARB_IS2(F, name) F(int, name, (arb_srcptr x, arb_srcptr y), (x, y))
#define SHARDPROOF_ARF_SET(F, name) F(void, name, (arf_ptr x), (x))
#define SHARDPROOF_ARF_COPY(F, name) F(void, name, (arf_ptr z, arf_srcptr x), (z, x))
#define SHARDPROOF_ARF_IS(F, name) F(int, name, (arf_srcptr x), (x))
#define SHARDPROOF_MAG_SET(F, name) F(void, name, (mag_ptr x), (x))
#define SHARDPROOF_ARB_FUNCTIONS(F)                                                                                                       \
  SHARDPROOF_ARB_SET(F, arb_init)                                                                                                         \
  SHARDPROOF_ARB_SET(F, arb_clear)                                                                                                        \
  SHARDPROOF_ARB_SET(F, arb_zero)                                                                                                         \
  SHARDPROOF_ARB_SET(F, arb_one)                                                                                                          \
  SHARDPROOF_ARB_SET(F, arb_indeterminate)                                                                                                \
  SHARDPROOF_ARB_SET(F, arb_pos_inf)                                                                                                      \
  SHARDPROOF_ARB_SET(F, arb_neg_inf)                                                                                                      \
  SHARDPROOF_ARB_COPY(F, arb_set)                                                                                                         \
  SHARDPROOF_ARB_COPY(F, arb_neg)                                                                                                         \
  SHARDPROOF_ARB_COPY(F, arb_abs)                                                                                                         \
  SHARDPROOF_ARB_COPY(F, arb_sgn)                                                                                                         \
  SHARDPROOF_ARB_IS(F, arb_is_zero)                                                                                                       \
  SHARDPROOF_ARB_IS(F, arb_is_exact)                                                                                                      \
  SHARDPROOF_ARB_IS(F, arb_is_finite)                                                                                                     \
  SHARDPROOF_ARB_IS(F, arb_is_int)                                                                                                        \
  SHARDPROOF_ARB_IS(F, arb_is_positive)                                                                                                   \
  SHARDPROOF_ARB_IS(F, arb_is_negative)                                                                                                   \
  SHARDPROOF_ARB_IS(F, arb_is_nonnegative)                                                                                                \
  SHARDPROOF_ARB_IS(F, arb_contains_zero)                                                                                                 \
  SHARDPROOF_ARB_IS2(F, arb_lt)                                                                                                           \
  SHARDPROOF_ARB_IS2(F, arb_gt)                                                                                                           \
  SHARDPROOF_ARB_IS2(F, arb_equal)                                                                                                        \
  SHARDPROOF_ARB_IS2(F, arb_overlaps)                                                                                                     \
  SHARDPROOF_ARB_BINARY(F, arb_add)                                                                                                       \
  SHARDPROOF_ARB_BINARY(F, arb_sub)                                                                                                       \
  SHARDPROOF_ARB_BINARY(F, arb_mul)                                                                                                       \
  SHARDPROOF_ARB_BINARY(F, arb_div)                                                                                                       \
  SHARDPROOF_ARB_BINARY(F, arb_pow)                                                                                                       \
  SHARDPROOF_ARB_BINARY(F, arb_atan2)                                                                                                     \
  SHARDPROOF_ARB_BINARY(F, arb_max)                                                                                                       \
  SHARDPROOF_ARB_BINARY(F, arb_min)                                                                                                       \
  SHARDPROOF_ARB_WITH_UI(F, arb_add_ui)                                                                                                   \
  SHARDPROOF_ARB_WITH_UI(F, arb_div_ui)                                                                                                   \
  SHARDPROOF_ARB_WITH_UI(F, arb_root_ui)                                                                                                  \
  SHARDPROOF_ARB_WITH_UI(F, arb_pow_ui)                                                                                                   \
  SHARDPROOF_ARB_WITH_UI(F, arb_log_base_ui)                                                                                              \
  SHARDPROOF_ARB_UNARY(F, arb_inv)                                                                                                        \
  SHARDPROOF_ARB_UNARY(F, arb_sqrt)                                                                                                       \
  SHARDPROOF_ARB_UNARY(F, arb_rsqrt)                                                                                                      \
  SHARDPROOF_ARB_UNARY(F, arb_exp)                                                                                                        \
  SHARDPROOF_ARB_UNARY(F, arb_expm1)                                                                                                      \
  SHARDPROOF_ARB_UNARY(F, arb_log)                                                                                                        \
  SHARDPROOF_ARB_UNARY(F, arb_log1p)                                                                                                      \
  SHARDPROOF_ARB_UNARY(F, arb_sin)                                                                                                        \
  SHARDPROOF_ARB_UNARY(F, arb_cos)                                                                                                        \
  SHARDPROOF_ARB_UNARY(F, arb_tan)                                                                                                        \
  SHARDPROOF_ARB_UNARY(F, arb_asin)                                                                                                       \
  SHARDPROOF_ARB_UNARY(F, arb_acos)                                                                                                       \
  SHARDPROOF_ARB_UNARY(F, arb_atan)                                                                                                       \
  SHARDPROOF_ARB_UNARY(F, arb_sinh)                                                                                                       \
  SHARDPROOF_ARB_UNARY(F, arb_cosh)                                                                                                       \
  SHARDPROOF_ARB_UNARY(F, arb_tanh)                                                                                                       \
  SHARDPROOF_ARB_UNARY(F, arb_asinh)                                                                                                      \
  SHARDPROOF_ARB_UNARY(F, arb_acosh)                                                                                                      \
  SHARDPROOF_ARB_UNARY(F, arb_atanh)                                                                                                      \
  SHARDPROOF_ARB_UNARY(F, arb_lgamma)                                                                                                     \
  SHARDPROOF_ARB_UNARY(F, arb_digamma)                                                                                                    \
  SHARDPROOF_ARB_UNARY(F, arb_hypgeom_erf)                                                                                                \
  SHARDPROOF_ARB_UNARY(F, arb_hypgeom_erfc)                                                                                               \
  SHARDPROOF_ARB_UNARY(F, arb_hypgeom_erfinv)                                                                                             \
  F(void, arb_const_pi, (arb_ptr z, slong bits), (z, bits))                                                                               \
  F(void, arb_set_si, (arb_ptr z, slong n), (z, n))                                                                                       \
  F(void, arb_set_ui, (arb_ptr z, ulong n), (z, n))                                                                                       \
  F(void, arb_set_d, (arb_ptr z, double d), (z, d))                                                                                       \
  F(void, arb_set_arf, (arb_ptr z, arf_srcptr x), (z, x))                                                                                 \
  F(void, arb_ui_div, (arb_ptr z, ulong n, arb_srcptr y, slong bits), (z, n, y, bits))                                                    \
  F(void, arb_mul_2exp_si, (arb_ptr z, arb_srcptr x, slong e), (z, x, e))                                                                 \
  F(void, arb_get_mag, (mag_ptr z, arb_srcptr x), (z, x))                                                                                 \
  F(slong, arb_rel_accuracy_bits, (arb_srcptr x), (x))                                                                                    \
  F(void, arb_dot, (arb_ptr z, arb_srcptr start, int minus, arb_srcptr x, slong x_step, arb_srcptr y, slong y_step, slong n, slong bits), \
    (z, start, minus, x, x_step, y, y_step, n, bits))                                                                                     \
  F(arb_ptr, _arb_vec_init, (slong n), (n))                                                                                               \
  F(void, _arb_vec_clear, (arb_ptr v, slong n), (v, n))                                                                                   \
  SHARDPROOF_ARF_SET(F, arf_init)                                                                                                         \
  SHARDPROOF_ARF_SET(F, arf_clear)                                                                                                        \
  SHARDPROOF_ARF_SET(F, arf_nan)                                                                                                          \
  SHARDPROOF_ARF_SET(F, arf_pos_inf)                                                                                                      \
  SHARDPROOF_ARF_SET(F, arf_neg_inf)                                                                                                      \
  SHARDPROOF_ARF_COPY(F, arf_set)                                                                                                         \
  SHARDPROOF_ARF_COPY(F, arf_floor)                                                                                                       \
  SHARDPROOF_ARF_COPY(F, arf_ceil)                                                                                                        \
  SHARDPROOF_ARF_IS(F, arf_is_nan)                                                                                                        \
  SHARDPROOF_ARF_IS(F, arf_is_inf)                                                                                                        \
  SHARDPROOF_ARF_IS(F, arf_is_special)                                                                                                    \
  SHARDPROOF_ARF_IS(F, arf_is_int)                                                                                                        \
  SHARDPROOF_ARF_IS(F, arf_sgn)                                                                                                           \
  F(void, arf_set_d, (arf_ptr z, double d), (z, d))                                                                                       \
  F(void, arf_set_mag, (arf_ptr z, mag_srcptr x), (z, x))                                                                                 \
  F(double, arf_get_d, (arf_srcptr x, arf_rnd_t round), (x, round))                                                                       \
  F(slong, arf_get_si, (arf_srcptr x, arf_rnd_t round), (x, round))                                                                       \
  F(int, arf_equal, (arf_srcptr x, arf_srcptr y), (x, y))                                                                                 \
  F(int, arf_cmp, (arf_srcptr x, arf_srcptr y), (x, y))                                                                                   \
  F(int, arf_cmp_d, (arf_srcptr x, double d), (x, d))                                                                                     \
  F(int, arf_cmpabs_ui, (arf_srcptr x, ulong n), (x, n))                                                                                  \
  F(int, arf_add, (arf_ptr z, arf_srcptr x, arf_srcptr y, slong bits, arf_rnd_t round), (z, x, y, bits, round))                           \
  F(int, arf_sub, (arf_ptr z, arf_srcptr x, arf_srcptr y, slong bits, arf_rnd_t round), (z, x, y, bits, round))                           \
  F(int, arf_add_si, (arf_ptr z, arf_srcptr x, slong n, slong bits, arf_rnd_t round), (z, x, n, bits, round))                             \
  F(void, arf_mul_2exp_si, (arf_ptr z, arf_srcptr x, slong e), (z, x, e))                                                                 \
  SHARDPROOF_MAG_SET(F, mag_init)                                                                                                         \
  SHARDPROOF_MAG_SET(F, mag_clear)                                                                                                        \
  SHARDPROOF_MAG_SET(F, mag_zero)                                                                                                         \
  SHARDPROOF_MAG_SET(F, mag_inf)                                                                                                          \
  F(int, mag_is_zero, (mag_srcptr x), (x))                                                                                                \
  F(int, mag_is_inf, (mag_srcptr x), (x))                                                                                                 \
  F(double, mag_get_d, (mag_srcptr x), (x))                                                                                               \
  F(void, mag_set_d, (mag_ptr z, double d), (z, d))
