// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Chooses inputs on which a difference shows: they satisfy the facts, have the program's real sizes, and are dense where the whole
// evaluation is cheap, else constant on blocks that are cut where the programs cut (shards, slices, concatenations) and at a few random
// places.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interp/eval.h"
#include "link/problem.h"

namespace shardproof::interp {

// How finely inputs are cut.
enum class Detail : uint8_t {
  Dense,    // every element its own
  Fine,     // the programs' cuts, and random ones in every dimension
  Coarse,   // the programs' cuts, and random ones in long dimensions
  Minimal,  // the programs' cuts, and one random one in the longest dimension
};
constexpr const char* kDetailNames[] = {"dense", "fine", "coarse", "minimal"};

class InputMaker {
 public:
  explicit InputMaker(const link::Problem& problem);
  // Scalar operations that an evaluation on dense inputs takes.
  double dense_work() const { return dense_work_; }
  // `variant` changes the character: 0 mixed signs and single integers at their upper end, 1 mostly positive and at the lower end, 2 many
  // exceptions, some zeros; 3 large numbers.
  Inputs make(uint64_t seed, Detail detail, int variant) const;
  // Facts that cannot be satisfied as sizes are ("distinct" over more places than values).
  std::vector<std::string> impossible() const;

 private:
  struct Plan {
    ir::NodeId input;
    std::vector<std::vector<int64_t>> cuts;  // per dim, block inputs
    double contracted = 1;                   // floats: terms of the largest contraction that reads them
    int64_t bound = 0;                       // integers: [0, bound); 0: unknown
    bool positive = false;                   // no fact, but better not negative
    bool has_range = false, has_exception = false, at_least = false, greater = false, not_all = false;
    double low = 0, high = 0, exception = 0, minimum = 0, not_all_equal = 0;
    int64_t distinct_dim = -1;
  };
  Value make_one(const Plan& plan, uint64_t seed, Detail detail, int variant) const;
  const link::Problem& problem_;
  std::vector<Plan> plans_;
  double dense_work_ = 0;
};

// Where the programs cut each node's dimensions, walked from results to operands (indexed by node, then dim).
std::vector<std::vector<std::vector<int64_t>>> demanded_cuts(const ir::Graph& graph);

}  // namespace shardproof::interp
