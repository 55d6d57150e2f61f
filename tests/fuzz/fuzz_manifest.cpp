// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any manifest, TOML or JSON: it is read or refused; what is read is linked with the programs of a golden case, whatever it says about
// them.
#include "fuzz/golden.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shardproof;
  static const Golden* golden = new Golden("vocab_parallel_cross_entropy");
  Result<manifest::Manifest> m = manifest::parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz/case.json");
  if (!m) return 0;
  // The canonical text is what certificates are about: it must say the same.
  Result<manifest::Manifest> again = manifest::parse(m->canonical, "fuzz/case.json");
  if (!again || again->canonical != m->canonical) std::abort();
  if (m->spmd_file || !m->mesh || m->mesh->num_ranks() != static_cast<int64_t>(golden->programs.ranks.size())) return 0;
  Result<link::Problem> problem = link::link(*m, golden->programs);
  if (!problem) return 0;
  for (const link::Output& o : std::vector<link::Output>(problem->outputs)) {
    if (!o.checked || o.sequential == ir::kNoNode) continue;
    if (o.expect.kind != manifest::Placement::Kind::Any) problem->goals(o, o.expect);
    for (const manifest::Placement& p : problem->any_candidates(o)) problem->goals(o, p);
  }
  return 0;
}
