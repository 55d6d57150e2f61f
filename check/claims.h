// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The claims of a certificate, prepared for reading elements, and the points at which a claim about an operator is tested.
#pragma once

#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "check/operators.h"
#include "check/terms.h"
#include "frontend/certificate/cells.h"
#include "frontend/certificate/certificate.h"
#include "link/problem.h"

namespace shardproof::check {

class Claims {
 public:
  Claims(const Certificate& certificate, const link::Problem& problem, Terms& terms) : c_(certificate), p_(problem), t_(terms) {}
  // Prepares all claims; "" or what is wrong with their form (unknown node, wrong rank, cells that are no partition).
  std::string prepare();
  bool has(ir::NodeId v) const { return v < of_.size() && of_[v] != nullptr; }
  const Claim& claim(ir::NodeId v) const { return *of_[v]; }
  const std::vector<Located>& cells(ir::NodeId v) const { return located_[v]; }
  // Element i of the claimed value; undefined where no cell has it (only after `prepare` found partitions: never).
  Number value(ir::NodeId v, const int64_t* i);
  // The cell that holds element i and its variables there.
  const Cell* cell(ir::NodeId v, const int64_t* i, std::vector<int64_t>& x) const;
  void formal(ir::NodeId v, const int64_t* i, Terms::Sum& out);
  uint64_t hash(ir::NodeId v) const { return hash_[v]; }  // of the tensor's shape and of all that is claimed
  uint64_t number(ir::NodeId v, const int64_t* i) const;  // of the cell that holds element i
  // Terms that stand in the claim's polys (each once, by kernel).
  void top_terms(ir::NodeId v, std::vector<uint32_t>& out) const;
  // The claim says: the value is the unknown whose origin is this very node.
  bool is_own_unknown(ir::NodeId v) const;

 private:
  const Certificate& c_;
  const link::Problem& p_;
  Terms& t_;
  std::vector<const Claim*> of_;
  std::vector<std::vector<Located>> located_;
  std::vector<uint64_t> hash_;
  std::vector<int64_t> x_;
};

// Test points of the claim of v: corners of all cells of the result and of the operands (mapped through the operator), points on both sides
// of every border, both sides of changes of brackets and integer comparisons along lines, random ones.
class Points {
 public:
  Points(const link::Problem& problem, Claims& claims, Terms& terms, uint64_t seed)
      : p_(problem), claims_(claims), t_(terms), random_(seed) {}
  std::vector<Index> of(ir::NodeId v, bool with_operands, ir::NodeId other = ir::kNoNode);  // another value of that shape
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

 private:
  struct Link {
    size_t in, out;
    int64_t offset, step, factor;  // out = (factor * in - offset) / step
  };
  std::vector<Link> links(ir::NodeId v, size_t operand) const;
  void corners(const Located& cell, int amount, std::vector<Index>& out);
  void border(size_t d, int64_t low, int64_t high);
  void own(ir::NodeId v, int amount);
  void add(const ir::Shape& shape, const Index& i);
  void grid(const ir::Shape& shape);
  void changes(ir::NodeId v, const std::vector<ir::NodeId>& values);
  uint64_t signature(ir::NodeId v, const std::vector<ir::NodeId>& values, const Index& i);

  const link::Problem& p_;
  Claims& claims_;
  Terms& t_;
  std::mt19937_64 random_;
  std::vector<Index> found_;
  std::vector<std::vector<int64_t>> cuts_;  // borders of each dimension
  std::unordered_set<uint64_t> seen_;
};

}  // namespace shardproof::check
