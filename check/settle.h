// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Decides whether two expressions over terms are equal at given points, for all functions in the place of their closed terms.
#pragma once

#include <functional>
#include <string>

#include "check/terms.h"

namespace shardproof::check {

// What equality is needed. Sequential: wherever the left side is defined. Distributed: wherever the right side is. Both: also in where they
// are.
enum class Relation : uint8_t { Both, Sequential, Distributed };

struct Equation {
  size_t count = 0;                                         // points
  std::function<Number(size_t)> left, right;                // value at point k
  std::function<bool(size_t)> identical;                    // the same expression at point k; may be empty
  std::function<const std::vector<int64_t>*(size_t)> hint;  // integers worth trying at point k; may be empty
  Relation relation = Relation::Both;
  bool hollow = false;                    // it may be that both sides are defined nowhere
  int levels = 160;                       // how often closed terms may be opened
  size_t rounds = 0;                      // of random functions; 0: as many as the number of points asks for
  uint64_t budget = 100'000'000;          // reads
  uint64_t aim = 60'000;                  // reads after which fewer points have to do, if each is dear
  std::function<uint64_t(size_t)> piece;  // which piece of the claim holds point k: of each, some points stay; may be empty
};

struct Settled {
  bool equal = false;
  bool undecided = false;  // too expensive, or every point hangs on a rounding
  size_t point = 0;        // where they differ
  Number left, right;
  size_t tested = 0;
};

// `open`: terms to open first (others are opened as needed).
Settled settle(Terms& terms, const Equation& equation, const std::vector<uint32_t>& open);

}  // namespace shardproof::check
