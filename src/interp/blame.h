// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Blame: where the relation between the programs is lost, and what is wrong there, from the numbers of one witness.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "interp/falsify.h"
#include "interp/fingerprint.h"

namespace shardproof::interp {

// What the distributed values have instead of the sequential one: words, kind, code and repair.
struct Diagnosis {
  std::string kind, code, explanation, repair;
  // SP107: what is counted, how many times more, and whether this is seen only of the sum over ranks.
  ir::NodeId counted = ir::kNoNode;
  double times = 0;
  bool summed = false;
};

class Blamer {
 public:
  // Evaluates the cones of all outputs once, in plain doubles (blame is no verdict).
  Blamer(const link::Problem& problem, std::shared_ptr<const Inputs> inputs, const Options& options, util::WorkClock::time_point deadline);
  std::optional<Blame> find(const Refutation& refutation);

 private:
  struct Suspect {
    ir::NodeId node = ir::kNoNode;
    std::vector<ir::NodeId> inputs;  // visible operands
  };
  bool held(ir::NodeId sequential, bool or_scaled = true);
  bool held_scaled(ir::NodeId sequential);
  bool in_pieces(ir::NodeId sequential);
  std::vector<ir::NodeId> visible_operands(ir::NodeId id) const;
  std::optional<Suspect> first_lost(ir::NodeId output);
  std::optional<Family> counterpart(const Suspect& suspect, const link::Output& output);
  void pending_operand(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d, Blame& blame);
  void counted_reduction(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) const;
  bool scaled_operand(const Suspect& suspect, const Family& family, Diagnosis& d);
  // From the communication on the way to the wrong value (blame_route.cpp).
  void by_route(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d);
  void other_group(const Suspect& suspect, const Family& family, Diagnosis& d);
  bool lookup(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d);
  void sum_or_mean(const Family& family, const link::Output& output, Diagnosis& d) const;
  static const char* missing_reduction(const link::Output& output);
  bool reduced_later(const Family& family, const link::Output& output) const;
  void uneven_mean(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) const;
  void reduced_too_late(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) const;
  bool microbatches(const Suspect& suspect, const Family& family, Diagnosis& d) const;
  bool stands_for(ir::NodeId id, ir::NodeId input) const;
  bool feeds_root(ir::NodeId sequential) const;
  void norm_words(const Suspect& suspect, const link::Output& output, Diagnosis& d) const;
  void fill_held_by();
  bool in_order(size_t family);
  bool adds_up(const std::vector<ir::NodeId>& values, ir::NodeId sequential, unsigned* axes, int64_t* copies) const;
  const link::Problem& problem_;
  std::shared_ptr<const Inputs> inputs_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<Fingerprints> prints_;
  std::vector<bool> visible_, varies_;  // varies_: depends on an input
  std::map<ir::NodeId, std::vector<Holding>> holdings_;
  std::map<ir::NodeId, bool> pieces_;
  std::map<ir::NodeId, std::optional<Holding>> scaled_;
  std::map<size_t, std::vector<std::pair<ir::NodeId, Holding>>> held_by_;  // family -> the sequential values that it holds
  bool held_by_filled_ = false;
  std::map<size_t, bool> in_order_;
  std::optional<std::set<ir::NodeId>> sound_;  // lost on the way to a right output: harmless
};

// Do the ranks' values hold the sequential one element by element, whole or as each rank's piece of one dimension?
bool holds_in_order(const link::Problem& problem, const Value& sequential, const std::vector<const Value*>& per_rank, unsigned axes);
// "2 times the sequential value: ...", kind, code and repair of a multiple.
void describe_multiple(const link::Problem& problem, double factor, const std::string& name, bool loss, Diagnosis& d);
Diagnosis diagnose(const link::Problem& problem, const Evaluator& evaluator, const link::Output& output, ir::NodeId sequential,
                   const Family& family);

}  // namespace shardproof::interp
