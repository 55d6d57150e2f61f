// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Which lowerings gave a value, and how often: for the tests, which fail where a registered one was never met (tools/rule_table.py).
// Nothing is counted unless SHARDPROOF_RULE_COUNTS names a file; to that a JSON object is appended at exit, with all registered names.
#pragma once

#include <string_view>

namespace shardproof::lower {

enum class Reader { Aten, Hlo, TensorFlow };

// The operator `name` of a reader's table was lowered, and not refused. A name of no table is not counted.
void lowered(Reader reader, std::string_view name);

}  // namespace shardproof::lower
