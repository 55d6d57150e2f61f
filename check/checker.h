// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Checks a certificate against the programs (docs/trust.md gives the argument):
//
//   O1  every claim that the goals need: the operator applied to the claimed operands gives the claimed value
//   O2  the two claimed values of every goal are equal
//   O3  form: the goals are those that the manifest asks for, cells partition their tensors, draws are paired admissibly, literals are read
//       within their rounding
//
// It knows the meaning of the core operators and of terms, and no rule of the prover.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/certificate/reads.h"
#include "link/problem.h"
#include "manifest/manifest.h"

namespace shardproof::check {

struct Report {
  std::string rejected;                  // "": accepted
  std::vector<std::string> assumptions;  // what the acceptance rests on, each once
  size_t claims = 0, goals = 0, points = 0, terms = 0;
  uint64_t reads = 0;
};

// `problem` is linked afresh from the manifest that the certificate is to be about. `thrift`: so many times less work (fuzzers).
Report check(const certificate::Certificate& certificate, const manifest::Manifest& manifest, link::Problem& problem, uint64_t seed,
             uint64_t thrift = 1);

}  // namespace shardproof::check
