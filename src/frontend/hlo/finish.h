// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What the readers of text and proto do alike once the instructions are read: order, parameters, calls, and what the module says of
// its inputs and outputs.
#pragma once

#include <string>

#include "frontend/hlo/module.h"

namespace shardproof::hlo {

inline constexpr size_t kMaxCallDepth = 256;

// Sorts the instructions so that operands come first (stable: an order that is good already stays), and fills `parameters`.
// Operands and root must be indices in range. Returns what is wrong, or an empty string; `at` is then the instruction.
std::string order(Computation& computation, uint32_t& at);

// `while` and `select-and-scatter` call two computations. No computation may call itself, directly or not, and calls nest at most
// kMaxCallDepth deep. `called` must be in range.
std::string check_calls(const Module& module);

// One frontend attribute: into `other`, and the sharding ones also into the fields that are made for them.
void add_frontend_attribute(Instruction& instruction, const std::string& key, const std::string& value);
// xla.sdy.meshes of the module: {mesh = #sdy.mesh<["dp"=2, "tp"=4]>, ..}. What is not understood becomes a note.
void add_meshes(Module& module, std::string_view text);

// Sorts `other`, names the wrapped operator of async instructions, and fills is_spmd, parameter and output shardings and argument names.
void summarize(Module& module);

// The leaves of "{{replicated}, {devices=[2]<=[2]}}" in order; a sharding that is no tuple is its own only leaf.
std::vector<std::string> split_tuple_sharding(std::string_view text);

}  // namespace shardproof::hlo
