// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Graphs within logs of PyTorch: TORCH_TRACE files (structured, payloads behind tabs) and TORCH_LOGS=aot_graphs output (a prefix on
// every line).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace shardproof::fx {

struct LoggedGraph {
  std::string text;                // FX readable text, with empty lines before it, so that its line numbers are those of the log
  std::vector<std::string> notes;  // what else the log holds
};

// Does the text start like a line of such a log?
bool is_trace_log(std::string_view text);
// The one graph of the log: the joint graph, else the forward graph, else what Dynamo captured. Several of that kind are an error.
Result<LoggedGraph> graph_of_log(std::string_view text, const std::string& path);

}  // namespace shardproof::fx
