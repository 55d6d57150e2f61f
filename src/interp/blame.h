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
};

class Blamer {
 public:
  // Evaluates the cones of all outputs once, in plain doubles (blame is no verdict).
  Blamer(const link::Problem& problem, std::shared_ptr<const Inputs> inputs, const Options& options,
         std::chrono::steady_clock::time_point deadline);
  std::optional<Blame> find(const Refutation& refutation);

 private:
  struct Suspect {
    ir::NodeId node = ir::kNoNode;
    std::vector<ir::NodeId> inputs;  // visible operands
  };
  bool held(ir::NodeId sequential);
  bool in_pieces(ir::NodeId sequential);
  std::vector<ir::NodeId> visible_operands(ir::NodeId id) const;
  std::optional<Suspect> first_lost(ir::NodeId output);
  std::optional<Family> counterpart(const Suspect& suspect, const link::Output& output);
  void pending_operand(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d, Blame& blame);
  const link::Problem& problem_;
  std::shared_ptr<const Inputs> inputs_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<Fingerprints> prints_;
  std::vector<bool> visible_, varies_;  // varies_: depends on an input
  std::map<ir::NodeId, std::vector<Holding>> holdings_;
  std::map<ir::NodeId, bool> pieces_;
  std::optional<std::set<ir::NodeId>> sound_;  // lost on the way to a right output: harmless
};

Diagnosis diagnose(const link::Problem& problem, const Evaluator& evaluator, const link::Output& output, ir::NodeId sequential,
                   const Family& family);

}  // namespace shardproof::interp
