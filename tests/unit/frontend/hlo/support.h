// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What the tests of the HLO readers share: the shared files, and a comparison of two modules that names the first difference.
#pragma once

#include <string>
#include <vector>

#include "frontend/hlo/module.h"

namespace shardproof::hlo::test {

// Paths below the shared folder whose name ends with one of the suffixes, sorted; empty if there is no such folder.
std::vector<std::string> shared_files(const std::vector<std::string>& suffixes);
std::string read_file(const std::string& path);

Module parse(const std::string& text);            // fails the test if it is not read
Diagnostic parse_error(const std::string& text);  // fails the test if it is read
// A module with parameters p0 and p1 of type f32[8,8] and one more line; the instruction of that line.
Instruction instruction(const std::string& line);

// Empty if both say the same; else where and how they differ. Computations are matched by name, instructions too.
std::string difference(const Module& a, const Module& b);
// All fields of an instruction as text; operands and called computations by name.
std::string describe(const Module& module, const Computation& computation, const Instruction& i);

}  // namespace shardproof::hlo::test
