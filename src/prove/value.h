// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A tensor as the prover sees it: a partition of its index space into cells, each with a poly over the cell's own variables.
//
// A cell's positions are an injective affine image of its variables; every variable belongs to one dimension of the tensor, and the
// variables of one dimension are the digits of a mixed radix (reshape [B, S] -> [B*S] gives position b*S + s). So slice, concat, pad,
// transpose, reshape and broadcast only change `pos`, never the poly; there are no quotients or remainders. A k-way shard is k cells,
// and cells that are adjacent readings of one node become one again.
#pragma once

#include <vector>

#include "prove/algebra.h"

namespace shardproof::prove {

struct Cell {
  Ext ext;
  std::vector<int64_t> pos;  // rank rows, ext.size() + 1 wide
  Poly poly;
};

struct Value {
  ir::Shape shape;
  std::vector<Cell> cells;  // empty where a dimension is 0
};

// Cells of several values cut to common boxes; poly[i] belongs to value i, all over the same variables.
struct Refined {
  Ext ext;
  std::vector<int64_t> pos;
  std::vector<Poly> poly;
};

int64_t volume(const std::vector<Cell>& cells);  // how many elements they have

class Views {
 public:
  explicit Views(Algebra& algebra) : a_(algebra) {}
  // The whole tensor as one cell: variable d runs over dimension d.
  Value whole(const ir::Shape& shape, const Poly& poly) const;
  Value uniform(const ir::Shape& shape, const Poly& constant) const { return whole(shape, constant); }  // constant: no variables used
  Value of_node(const ir::Shape& shape, Nid node);                                                      // element = node[index]
  Value transpose(const Value& x, const std::vector<int64_t>& perm);
  Value reshape(const Value& x, const ir::Shape& shape);
  Value slice(const Value& x, const std::vector<int64_t>& start, const std::vector<int64_t>& stop, const std::vector<int64_t>& step);
  Value reverse(const Value& x, const std::vector<int64_t>& dims);
  Value broadcast(const Value& x, const ir::Shape& shape, const std::vector<int64_t>& dims);
  // As broadcast, with the dimensions of x at any places of the result, in any order.
  Value spread(const Value& x, const ir::Shape& shape, const std::vector<int64_t>& dims);
  Value pad(const Value& x, const Poly& fill, const std::vector<int64_t>& low, const std::vector<int64_t>& high,
            const std::vector<int64_t>& interior, const ir::Shape& shape);
  Value concat(const std::vector<const Value*>& xs, int64_t dim, const ir::Shape& shape);
  Value window(const Value& x, const std::vector<int64_t>& dims, const std::vector<int64_t>& sizes,
               const std::vector<int64_t>& stride_dilation, const ir::Shape& shape);
  // One nonzero cell with zeros around it along `dims`, as one cell.
  std::optional<Cell> pad_as_one(const Value& x, const std::vector<int64_t>& dims);
  std::vector<Refined> refine(const std::vector<const Value*>& xs);
  bool equal(const Value& x, const Value& y, std::string* difference = nullptr);
  void join(Value& x);  // merges cells
  // The poly of x at the affine places `rows` (one per dimension) of ctx; x must be one cell there, else it is named as a whole (Grid).
  bool in_bounds(const Poly& p, const Ext& ctx) const;
  std::optional<Poly> by_pieces(const Value& x, const std::vector<Row>& rows, const Ext& ctx);
  Poly at(const Value& x, const std::vector<Row>& rows, const Ext& ctx);
  // x cut to [lo, hi) in dimension dim (positions unchanged).
  std::vector<Cell> clip(const Cell& cell, size_t dim, int64_t lo, int64_t hi);

 private:
  void tidy(Cell& cell);  // drops variables of extent 1, merges digits
  bool merge(Cell& x, const Cell& y, size_t dim);
  void meet(const Refined& x, const Cell& y, std::vector<Refined>& out);  // the common parts of x and y, if any
  Algebra& a_;
};

}  // namespace shardproof::prove
