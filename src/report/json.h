// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The answer as one JSON object, as section 5 of the contract (docs/manifest.md) says. Same input, same bytes.
#pragma once

#include <string>

#include "report/check.h"

namespace shardproof::report {

std::string to_json(const CheckResult& result);
std::string to_json(const Diagnostic& error);

}  // namespace shardproof::report
