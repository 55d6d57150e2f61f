// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The language in which the prover computes: one element of a tensor, as a function of index variables.
//
//   Poly   = sum of terms                     (canonical: sorted, equal monomials joined)
//   Term   = rational * product of factors
//   Factor = node[ affine maps of the variables ] ^ rational exponent
//   Node   = a closed function of its own index variables, interned by its canonical definition (store.h):
//            a free input, f(polys), a named poly, a sum or maximum over bound variables, a bracket [lo <= e < hi], ...
//
// A context is the list of the variables' extents: variable j runs over [0, ext[j]).
// An affine row over m variables is stored as m coefficients followed by the constant.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "prove/rational.h"

namespace shardproof::prove {

using Nid = uint32_t;
using Row = std::vector<int64_t>;  // one affine form: m coefficients, constant
using Ext = std::vector<int64_t>;  // extents of the context's variables

struct Factor {
  Nid node = 0;
  Rat exp = 1;
  std::vector<int64_t> map;  // rows of the node's dimensions, each m + 1 wide
  bool operator==(const Factor&) const = default;
};

struct Term {
  Rat coef = 1;
  std::vector<Factor> f;  // sorted
};

using Poly = std::vector<Term>;  // sorted; empty = 0

enum class Kind : uint8_t {
  Base,     // free input, draw, dense table, unspecified buffer: an unknown
  Iota,     // value = its index; one unbounded dimension
  Inf,      // +infinity, a scalar
  Lit,      // a real constant that is no rational: sqrt of a square-free integer, or a literal taken as it is
  Fn,       // fn(args)
  Sum,      // args[0], named
  Red,      // fn over bound variables of args[0], whose context is own variables, then bound ones; bound variable b runs over box[b]
  Bracket,  // 1 if lo <= args[0] < hi, else 0; args[0] integer-valued
  Take,     // args[0] with its inner variables replaced by the integers args[1..]
  Whole,    // any other operator: name, args (each over own variables of the parallel dimensions, then its inner ones), result dims
  Grid,     // a tensor in pieces: cells
};

constexpr int64_t kUnbounded = -1;
constexpr int64_t kNegInf = INT64_MIN / 4;
constexpr int64_t kPosInf = INT64_MAX / 4;

// What is known of every value of a node (or poly), for all inputs that satisfy the facts.
struct Known {
  bool finite = false;                 // never infinite, never undefined
  bool no_pos_inf = false;             // never +inf, never undefined (may be -inf)
  bool no_inf = false;                 // never infinite (may be undefined); finite says so, too: ask never_inf()
  bool nonneg = false;                 // >= 0 wherever defined
  bool nonzero = false;                // != 0 and defined
  bool no_zero = false;                // != 0 wherever defined; nonzero says so, too: ask never_zero()
  bool integer = false;                // an integer wherever defined
  bool boolean = false;                // 0 or 1
  int64_t lo = kNegInf, hi = kPosInf;  // inclusive bounds of an integer value
  bool never_zero() const { return nonzero || no_zero; }
  bool positive() const { return nonneg && nonzero; }
  bool never_inf() const { return finite || no_inf; }
  // What else was found of the same value, but for its bounds.
  void learn(const Known& k) {
    finite |= k.finite;
    no_pos_inf |= k.no_pos_inf;
    no_inf |= k.no_inf;
    nonneg |= k.nonneg;
    nonzero |= k.nonzero;
    no_zero |= k.no_zero;
  }
  bool operator==(const Known&) const = default;
};

}  // namespace shardproof::prove
