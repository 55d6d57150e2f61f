// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Proves that two nodes of a linked problem are equal for all inputs, by computing the same normal form for both (docs/design.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "link/problem.h"

namespace shardproof::prove {

struct Limits {
  double seconds = 0;  // 0: none
  uint64_t bytes = 0;  // 0: none
};

class Evaluator;

// A sequential value and values of the ranks that may add up to it; or one that may be it, or its slice that starts here.
struct Meeting {
  ir::NodeId sequential = ir::kNoNode;
  std::vector<ir::NodeId> parts;
  ir::Shape start = {};
  bool alone = false;  // the latter
};

class Prover {
 public:
  // linked: nodes of the graph as it was linked, before goals were appended (0: all that there are).
  explicit Prover(const link::Problem& problem, Limits limits = {}, size_t linked = 0);
  ~Prover();
  Prover(const Prover&) = delete;
  Prover& operator=(const Prover&) = delete;

  enum class Answer : uint8_t { Equal, NotProved };
  // Appending nodes to problem.graph between calls is fine.
  Answer equal(ir::NodeId x, ir::NodeId y);

  // Whether every element of a node is known to be a finite number (integers and truth values: to be defined).
  bool finite(ir::NodeId x);

  // From now on: so many seconds for all further calls (0: no limit). What was computed stays.
  void allow(double seconds);

  // From now on: goals whose normal forms differ are compared with nested sums opened (L-65). Much work for what is wrong: for what no
  // evaluation refutes.
  void try_hard();

  // From now on: goals are compared only where these scalars of the sequential program are defined (L-75). Returns whether goals since the
  // last call needed that.
  bool where_defined(const std::vector<ir::NodeId>& scalars);

  // Before the first goal: where parts are proved to add up to a sequential value, both sides go on from names for them (L-74).
  void meet_at(std::vector<Meeting> meetings);

  // Before the first goal: sorts are read by their order (L-83, L-84), and what is written by it is summed (L-93). That makes them
  // comparable with what is neither, and long. Whether there are any is known once goals were tried.
  void by_order();
  bool has_order() const;
  // Likewise: products of sines and cosines are sums of them (L-94).
  void by_angle();
  bool has_angle() const;

  // Where to look first, after equal() did not succeed: the earliest node in the cone of y that is made of terms that the sequential
  // program does not have, and from which such terms lead to y. Partial sums of its terms do not count. A hint and no proof of anything.
  std::optional<ir::NodeId> first_strange(ir::NodeId y);

  // The normal form of a node, for tests and debugging.
  std::string describe(ir::NodeId x);
  std::string dump(uint32_t first, uint32_t last) const;
  std::string contrast(uint32_t x, uint32_t y, int depth) const;

  // Why the last call did not succeed: "missing-lemma", "unsupported-operator", "budget" and words for a person.
  const std::string& reason() const;
  const std::string& detail() const;
  std::vector<std::string> assumptions() const;  // used by the proofs so far, each once
  // What was computed, for certificates; and how many nodes the graph had when the prover was made (goals come behind).
  Evaluator& evaluator();
  size_t linked() const;
  struct Stats {
    uint64_t local_problems = 0, distinct_local_problems = 0, lemma_applications = 0;
  };
  Stats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardproof::prove
