// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Loops by induction (L-73): finds relations between what the loops of both sides carry that hold at first and are kept by a round.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "link/problem.h"
#include "manifest/manifest.h"
#include "prove/prover.h"

namespace shardproof::prove {

// A graph in which each loop stands once, under relations that are all proved, and the prover that proved them: what it proves of the
// outputs holds of the programs.
struct Induction {
  std::shared_ptr<link::Problem> problem;
  std::unique_ptr<Prover> prover;
  std::vector<std::string> loops;  // per loop: what was proved, in words
  std::string failure;             // why there is none; then the rest is empty
};

// `programs` have kept loops. `seconds`, `bytes`: limits, 0: none.
Induction prove_loops(const manifest::Manifest& manifest, const link::Programs& programs, Limits limits);

// As ir::mark_dependent for such a graph: a value that a loop carries depends on an input if what it starts with or what a round makes of
// it does, on the same side.
std::vector<char> depends_on_inputs(const link::Problem& problem);

}  // namespace shardproof::prove
