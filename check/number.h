// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The numbers in which the checker evaluates: reals with +inf, -inf and undefined (NaN), as long doubles that know how far they may be off.
//
// `e` is the size of what went in (the sum of absolute values, carried through derivatives); the true value lies within about
// e * 2^-64 * (number of operations) of v. e = 0: v is exact. Integers up to 2^64 and short dyadic fractions stay exact, so brackets,
// comparisons of indices and wrapping are decided exactly or not at all: an operation whose result hangs on a rounding sets `uncertain`,
// and the test point is thrown away.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace shardproof::check {

struct Number {
  long double v = 0;
  long double e = 0;
  int64_t x = 0;  // the number is v * 2^x (and e likewise): 0 but for numbers beyond 2^+-8000, as exp(-30000 - m) of masks
};

constexpr long double kTolerance = 1e-13L;  // times e

inline Number exact(long double v) { return {v, 0}; }
inline Number undefined() { return {NAN, 0}; }
inline bool is_undefined(const Number& x) { return std::isnan(x.v); }

Number add(const Number& a, const Number& b);
Number mul(const Number& a, const Number& b);
Number neg(const Number& a);
Number fraction(int64_t num, int64_t den);
Number power(const Number& a, int64_t num, int64_t den, bool& uncertain);  // x^(num/den) as terms mean it
Number divide(const Number& a, const Number& b, bool& uncertain);
Number wrap(const Number& a, ir::DType type, bool& uncertain);  // two's complement, floor to the width
// fn of elements whose operator has type `from` -> `to` (S-19, S-20).
Number apply(ir::Fn fn, const Number* a, size_t n, ir::DType from, ir::DType to, bool& uncertain);
// What a reduction over nothing gives.
Number neutral(ir::Fn fn);
// True for functions that `apply` does not compute: equal only by congruence.
bool uninterpreted(ir::Fn fn, ir::DType from, ir::DType to);
// 10^..., for messages.
inline double shown(const Number& a) {
  return static_cast<double>(std::ldexp(a.v, static_cast<int>(a.x > 20000 ? 20000 : a.x < -20000 ? -20000 : a.x)));
}
// Equal within what rounding explains; both undefined counts as equal.
bool same(const Number& a, const Number& b);
// -1, 0, 1; uncertain if too close to tell.
int order(const Number& a, const Number& b, bool& uncertain);
// Of the keys of one sort: what is made alike is equal, else no tie of rounded keys would ever be tried.
int turn(const Number& a, const Number& b, bool& uncertain);

}  // namespace shardproof::check
