// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What an fx_graph_runnable file says outside of its graph: shapes of the inputs, and sizes of the process groups.
#pragma once

#include <string>
#include <vector>

#include "frontend/fx/cursor.h"
#include "frontend/fx/module.h"

namespace shardproof::fx {

struct RunnableInput {
  std::string name;  // from the comment behind it
  TensorType type;   // known = false: neither a tensor nor a number
};

class RunnableReader {
 public:
  // A line in the body of "def load_args(reader):".
  bool load_args_line(Cursor& cursor);
  // At "setup_fake_process_groups(": adds notes.
  bool process_groups(Cursor& cursor, std::vector<std::string>& notes);
  // Gives the placeholders of the graph that have no annotation their types, by name, else by position.
  void apply(Graph& graph, std::vector<std::string>& notes) const;

 private:
  std::vector<RunnableInput> inputs_;
};

}  // namespace shardproof::fx
