// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What the falsifier or the linker blames, in the words of a report: places in the user's code instead of nodes.
#pragma once

#include <string>
#include <vector>

#include "interp/interp.h"
#include "link/problem.h"
#include "manifest/manifest.h"
#include "report/check.h"

namespace shardproof::report {

Site site_of(const link::Problem& p, ir::NodeId id, int rank);
// The parameters that an operator reads, through views and casts, and through other nodes of the same operator.
std::vector<std::string> parameters_of(const link::Problem& p, const manifest::Manifest& m, ir::NodeId id);
BlameReport blame_of(const link::Problem& p, const manifest::Manifest& m, const interp::Blame& b);
BlameReport blame_of(const link::CommunicationFault& f);

}  // namespace shardproof::report
