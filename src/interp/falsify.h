// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What falsify() shares with blame, witness and replay.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "interp/compare.h"
#include "interp/eval.h"
#include "interp/inputs.h"
#include "interp/interp.h"
#include "util/work_clock.h"

namespace shardproof::interp {

using Pair = std::pair<ir::NodeId, ir::NodeId>;

// One placement that an output may have, as pairs of nodes that must be equal. No pairs: shapes alone rule it out.
struct Candidate {
  manifest::Placement placement;
  std::optional<std::vector<Pair>> goals;
};
std::vector<Candidate> candidates_of(link::Problem& problem, const link::Output& output);

// A difference that stands: every candidate of the output fails on these inputs.
struct Refutation {
  size_t output = 0;  // index into problem.outputs
  uint64_t seed = 0;
  int variant = 0;
  Detail detail = Detail::Dense;
  std::shared_ptr<const Inputs> inputs;
  std::vector<std::string> candidates;  // placements that fail, in words
  std::vector<Comparison> differences;  // one per candidate that has goals
  std::vector<Pair> pairs;              // the goal that differs, one per candidate
  std::string arithmetic;               // how the difference was confirmed
};

// Several evaluations of one graph on one set of inputs: in intervals, under other readings of literals, in balls.
class Runs {
 public:
  Runs(const link::Problem& problem, std::shared_ptr<const Inputs> inputs, const Options& options, util::WorkClock::time_point deadline,
       double plain_work = 1e11);
  // Where kernels are on the way to a pair that differs: whatever function obeys their contracts (one more, and zero, are tried), it does.
  bool stands_for_other_kernels(Pair pair);
  Evaluator& plain() { return *plain_; }  // intervals, literals with their width
  // Decides a suspect pair: in balls of a precision that the radii ask for, with literals as points, and under other readings of them.
  Comparison confirm(Pair pair, const Comparison& suspect, std::string* how);
  // Nodes that confirm() will be asked about: other readings in intervals evaluate them in one go, and keep nothing else.
  void expect(std::vector<ir::NodeId> suspects) { suspects_ = std::move(suspects); }

 private:
  Evaluator& reading(Number number, slong bits, Literals literals, uint64_t seed, Ties ties = Ties::Open);
  Comparison confirm_with(Pair pair, const Comparison& suspect, std::string* how, Ties ties);
  bool stands_for_other_ties(Pair pair, const Comparison& found, slong bits);
  Config base() const;
  bool keeps(Number number) const {
    return number == Number::Ball || suspects_.size() <= 2;
  }  // balls go one by one, and share what they can
  bool stands_in_other_readings(Pair pair, const Comparison& found, slong bits, Ties ties);
  const link::Problem& problem_;
  std::shared_ptr<const Inputs> inputs_;
  Options options_;
  util::WorkClock::time_point deadline_;
  bool literals_matter_ = false, ties_matter_ = false;
  std::shared_ptr<const std::vector<char>> kernels_;  // read as functions with their contracts
  std::unique_ptr<Evaluator> plain_;
  std::vector<ir::NodeId> suspects_;
  using Key = std::tuple<Number, slong, Literals, uint64_t, Ties>;
  std::vector<std::pair<Key, std::unique_ptr<Evaluator>>> readings_;
};

std::string write_witness(const link::Problem& problem, const Refutation& refutation, const std::optional<Blame>& blame,
                          const Options& options);
// A hash of everything that a claim is about: the cones of all outputs, free inputs, facts and expectations.
std::string fingerprint(const link::Problem& problem);

}  // namespace shardproof::interp
