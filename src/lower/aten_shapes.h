// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Small helpers on shapes and indices that several families of ATen operators share.
#pragma once

#include "lower/aten.h"

namespace shardproof::lower::aten {

// A size list with at most one -1, for a tensor of n elements.
Shape infer_shape(Ints sizes, int64_t n);

struct Range {
  int64_t start = 0, stop = 0, step = 1;
};
// Arguments start, end, step of slice operators (Python's rules; None: to the border), for a dimension of size n.
Range slice_range(Call& c, int64_t n, size_t start, size_t end, size_t step);

// The diagonal of dims d1, d2, as last dimension.
NodeId diagonal_of(Call& c, NodeId x, int64_t offset, int64_t d1, int64_t d2);

// Pad with 0 so that x becomes the part [start, ...) by step of a dimension of size n.
NodeId place(Call& c, NodeId x, int64_t dim, int64_t n, const Range& r);

// column - row compared with k, over the last two dimensions: Le for tril, Ge for triu.
NodeId triangle(Call& c, const Shape& s, Fn fn, int64_t k);

// 0, 1, ..., along dimension `dim` of shape s, as I64.
inline NodeId positions(Call& c, const Shape& s, int64_t dim) { return c.b.iota(DType::I64, s, dim); }

}  // namespace shardproof::lower::aten
