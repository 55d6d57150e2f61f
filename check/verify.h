// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// O1 for one node: the parts of the checker that know which kind of test a claim needs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check/claims.h"
#include "check/settle.h"
#include "lower/kernel_contract.h"

namespace shardproof::check {

class Verifier {
 public:
  Verifier(const Certificate& certificate, const link::Problem& problem, uint64_t seed);
  std::string prepare() { return claims.prepare(); }
  // "" or why the claim about v is rejected.
  std::string claim(ir::NodeId v);
  // Operands whose claims the claim about v rests on.
  std::vector<ir::NodeId> operands(ir::NodeId v) const;
  // "" or why the claims about a goal's nodes are not equal, where the sequential value and these scalars are defined.
  std::string goal(ir::NodeId x, ir::NodeId y, const std::vector<ir::NodeId>& losses);
  // Which side a node belongs to by what it is computed from; "mixed" is an error of the linker's.
  enum class Side : uint8_t { Neither, Sequential, Distributed, Mixed };

  Terms terms;
  Claims claims;
  Points points;
  std::set<std::string> assumptions;
  size_t tested = 0;

 private:
  // An operator on whole dimensions: its name as a function, and which of its operands' dimensions are parallel.
  struct WholeArg {
    ir::NodeId input;
    ir::Shape shape;        // of the operand, split into factors
    std::vector<int> role;  // per factor: number of the parallel dimension, -1: inner
  };
  struct Whole {
    std::string name;
    std::vector<WholeArg> args;
    ir::Shape shape;  // of the result, split into factors
    std::vector<int> role;
  };
  uint64_t obligation(ir::NodeId v) const;
  std::optional<Whole> whole_of(ir::NodeId v);
  std::string whole(ir::NodeId v, const Whole& op);
  std::string literal(ir::NodeId v);
  std::string reading(const ir::Literal& l, const Number& value, const Product* t, bool zero, ir::DType type);
  std::string draw(ir::NodeId v);
  std::string congruent(ir::NodeId v);
  std::string elements(ir::NodeId v);
  // `deep`: sums within sums are unrolled, too.
  bool summands(ir::NodeId v, const std::vector<int64_t>& extents, const std::vector<Index>& where, bool deep);
  bool summands_in(ir::NodeId v, const std::vector<int64_t>& extents, const Located& l, const std::vector<Index>& where, bool deep);
  Number at(ir::NodeId v, const Index& i);
  const TermNode* function(ir::NodeId v, const Index& i, Index& own) const;
  bool literally(ir::NodeId v, const Index& i);
  bool literally(ir::NodeId v, const Terms::Sum& claimed);
  uint64_t pieces(ir::NodeId v, const Index& i) const;
  std::vector<uint32_t> difference(ir::NodeId v, const std::vector<ir::NodeId>& in) const;
  Relation relation(ir::NodeId v) const;
  std::string describe(ir::NodeId v) const;
  std::string differs(ir::NodeId v, const std::string& where, const Settled& s, const char* who) const;

  const Certificate& c_;
  const link::Problem& p_;
  Operators ops_, trace_;
  std::vector<std::pair<ir::NodeId, Index>> reads_;  // what `trace_` read
  std::vector<Side> side_;
  std::set<uint64_t> met_;                                               // obligations
  std::vector<char> exact_;                                              // definedness matters: an is_nan or the like is above
  std::map<std::pair<uint64_t, int>, std::string> readings_;             // literal bits, format -> its reading
  std::map<std::pair<int, ir::NodeId>, std::vector<ir::NodeId>> draws_;  // rank, sequential draw -> draws that take it
};

std::string text(const Index& i);  // "[3, 7]"

}  // namespace shardproof::check
