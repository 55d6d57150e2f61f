// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Cells of a claim: boxes in mixed-radix coordinates. Every variable of extent > 1 belongs to one dimension, in which its step is larger
// than all smaller digits together, so a cell's positions are a product of sets, one per dimension, and each position has one reading.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/certificate/reads.h"
#include "ir/types.h"

namespace shardproof::certificate {

// A cell, prepared for reading positions.
struct Located {
  struct Digit {
    int64_t step, ext;
    size_t var;
    bool reversed;
  };
  const Cell* cell = nullptr;
  std::vector<std::vector<Digit>> digits;  // per dimension, largest step first
  std::vector<int64_t> low, high;          // inclusive
  // The variables at position i; false: not in this cell.
  bool read(const int64_t* i, std::vector<int64_t>& x) const;
  bool read(size_t d, int64_t i, std::vector<int64_t>* x) const;  // of one dimension
};

// "" or why the rows do not form such a cell within `shape`. With `free`: a variable may belong to no dimension (reads of a draw: no).
std::string locate(const std::vector<int64_t>& ext, const std::vector<int64_t>& rows, const ir::Shape& shape, Located& out);
// "" or why the cells do not partition the tensor: each position in exactly one.
std::string partition(const std::vector<Located>& cells, const ir::Shape& shape, bool covering);
// One-off reading of a cell of a grid.
bool find_in(const Cell& c, size_t rank, const int64_t* i, std::vector<int64_t>& x);

}  // namespace shardproof::certificate
