// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Mixed-radix positions: cutting, splitting and aligning the digits of one dimension of a cell.
#pragma once

#include "prove/value.h"

namespace shardproof::prove {

// A linear form of variables with positive coefficients, c + sum k_j v_j, and how the variables that one began with read the current
// ones. clip and split replace variables; `old` keeps track.
struct Lin {
  std::vector<int64_t> k, e;
  int64_t c = 0;
  std::vector<Row> old;  // per original variable: affine over the current ones

  static Lin start(std::vector<int64_t> k, std::vector<int64_t> e, int64_t c) {
    Lin l{std::move(k), std::move(e), c, {}};
    for (size_t j = 0; j < l.k.size(); ++j) {
      Row r(l.k.size() + 1, 0);
      r[j] = 1;
      l.old.push_back(std::move(r));
    }
    return l;
  }
  int64_t top() const {
    int64_t t = c;
    for (size_t j = 0; j < k.size(); ++j) t = add_checked(t, mul_checked(k[j], e[j] - 1));
    return t;
  }
  // v_j := v_j + shift, new extent
  void cut(size_t j, int64_t shift, int64_t extent) {
    c = add_checked(c, mul_checked(k[j], shift));
    e[j] = extent;
    for (Row& r : old) r.back() = add_checked(r.back(), mul_checked(r[j], shift));
  }
  // v_j := m * q + r, q a new variable (appended)
  void divide(size_t j, int64_t m) {
    k.push_back(mul_checked(k[j], m));
    e.push_back(e[j] / m);
    e[j] = m;
    for (Row& r : old) {
      const int64_t constant = r.back();
      r.back() = mul_checked(r[j], m);
      r.push_back(constant);
    }
  }
};

// The digits of one dimension of a cell.
struct Digits {
  std::vector<size_t> var;
  Lin lin;
};

// One dimension of two cells aligned: common digits, and both sides' variables over them.
struct Aligned {
  std::vector<int64_t> k, e;
  int64_t c = 0;
  std::vector<Row> x, y;
};

void clip(Lin l, int64_t lo, int64_t hi, std::vector<Lin>& out);  // the part with positions in [lo, hi)
// Cuts so that no variable straddles the boundary T: every coefficient is a multiple of T, or the part below never carries over T.
void split(Lin l, int64_t T, std::vector<Lin>& out);
Digits digits(const Cell& c, size_t dim);
bool plain(const Lin& l);  // one variable of coefficient 1, or a constant
void align(const Lin& x, const Lin& y, std::vector<Aligned>& out);
Sub place(const std::vector<Digits>& dims, const std::vector<const std::vector<Row>*>& rows, const std::vector<size_t>& offset, size_t vars,
          int width);

}  // namespace shardproof::prove
