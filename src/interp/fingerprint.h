// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Finding the distributed tensors that hold a sequential one, by numbers that do not depend on how it is laid out.
//
// Idea: the count of elements, their sum, the sum of squares and of cubes stay the same under transposition, reshape and permutation, and
// add up over the parts of a cut tensor. Partial sums add up in the first of them and in a sum weighted by position. So a family of
// distributed values (one a rank) is entered into a table under its totals over every set of mesh axes, and a sequential value is looked
// up.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interp/eval.h"
#include "link/problem.h"

namespace shardproof::interp {

struct Print {
  double count = 0, sum = 0, squares = 0, cubes = 0, weighted = 0, size = 0;  // size: largest magnitude
  bool usable = false;                                                        // all elements real
  bool constant = true;                                                       // all elements alike: says nothing about layout
};
Print print_of(const Value& v);

// The number of a rank's group, of the groups of ranks that differ in these axes (bits) alone.
int64_t group_of(const manifest::Mesh& mesh, int64_t rank, unsigned axes);

// Distributed values that belong together: one per rank (kNoNode where a rank has none).
struct Family {
  std::vector<ir::NodeId> nodes;
};

// How a family holds a sequential value.
struct Holding {
  size_t family = 0;
  enum class How : uint8_t { Whole, Cut, Partial } how = How::Whole;
  unsigned axes = 0;  // mesh axes (bits) over which it is cut or partial
  double factor = 1;  // what is held is this multiple
};

class Fingerprints {
 public:
  // `visible`: nodes whose values count, all evaluated.
  Fingerprints(const link::Problem& problem, Evaluator& evaluator, const std::vector<ir::NodeId>& visible);
  // Families that hold the value of a sequential node, or a multiple of it, best first (a few).
  std::vector<Holding> holdings(ir::NodeId sequential, double factor = 1) const;
  // Whether some rank, or several together, hold a value with these totals: for pieces (microbatches).
  bool held_somewhere(const Print& piece) const;
  const std::vector<Family>& families() const { return families_; }
  const Print& print(ir::NodeId id) const { return prints_.at(id); }
  bool has(ir::NodeId id) const { return prints_.count(id) != 0; }
  size_t family_of(ir::NodeId id) const { return family_of_.at(id); }
  bool in_family(ir::NodeId id) const { return family_of_.count(id) != 0; }
  std::string axes_words(unsigned axes) const;

 private:
  struct Entry {
    double sum;
    size_t family;
    unsigned axes;
    bool partial;
    Print total;
  };
  const link::Problem& problem_;
  std::map<ir::NodeId, Print> prints_;
  std::vector<Family> families_;
  std::map<ir::NodeId, size_t> family_of_;
  std::vector<Entry> entries_;                          // by sum
  std::vector<std::pair<double, ir::NodeId>> singles_;  // distributed values by sum
};

}  // namespace shardproof::interp
