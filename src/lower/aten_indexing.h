// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// How PyTorch's index arguments map to the attributes of Take and Scatter. Shared by the reading and the writing operators.
#pragma once

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

Ints iota_dims(int64_t from, int64_t n);

// x[i, :, j, ...] with integer index tensors.
struct AdvancedIndex {
  Nodes indices;  // broadcast to `extents`
  Shape extents, result;
  Ints dims, index_dims;
};
AdvancedIndex advanced_index(Call& c, NodeId x, size_t list_argument);

// gather and scatter: the index runs over all dimensions of the result (the updates) and replaces the position in dimension d.
struct AlongDim {
  Ints dims, index_dims;
  bool smaller = false;  // the index is smaller than x in another dimension
};
AlongDim along_dim(Call& c, NodeId x, NodeId index, int64_t d);

}  // namespace shardproof::lower::aten
