// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Comparing a sequential value with a distributed one, element by element.
#pragma once

#include <string>
#include <vector>

#include "interp/block_tensor.h"

namespace shardproof::interp {

struct Comparison {
  enum class Kind : uint8_t {
    Same,     // nothing differs, nothing is open: equal as far as the enclosures tell
    Differs,  // some element lies in disjoint enclosures, or is defined on the sequential side alone
    Suspect,  // midpoints differ by more than doubles would, but the enclosures overlap
    Open,     // elements are undecided, and none differs
  } kind = Kind::Same;
  std::vector<int64_t> index;  // of the first element that differs (Differs) or the largest suspect one
  Interval sequential, distributed;
  double gap = 0, scale = 0;                                   // midpoints' difference there; largest magnitude of the sequential tensor
  int64_t differing = 0, open = 0, compared = 0, defined = 0;  // blocks
  bool undefined = false;                                      // Differs because the distributed value is undefined
  bool imaginary = false;
};

Comparison compare(const Value& sequential, const Value& distributed);
// Is every element surely defined?
bool defined_throughout(const Value& x);
// The pair of midpoints at one index.
std::pair<Interval, Interval> at_index(const Value& sequential, const Value& distributed, const std::vector<int64_t>& index,
                                       bool imaginary);
std::string describe(const Comparison& c);

}  // namespace shardproof::interp
