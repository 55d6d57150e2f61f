// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Writes what a prover found as a certificate: the definitions of its terms and its claims about the nodes that the goals need. The form of
// the file (frontend/certificate) is all that writer and checker share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "link/problem.h"
#include "manifest/manifest.h"

namespace shardproof::prove {
class Prover;
}

namespace shardproof::cert {

// For every checked output (index in problem.outputs) the placement that was proved. "" or why nothing was written.
std::string write_certificate(const manifest::Manifest& manifest, link::Problem& problem, prove::Prover& prover,
                              const std::vector<std::pair<size_t, manifest::Placement>>& proofs, const std::string& path);

}  // namespace shardproof::cert
