// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Which part of a tensor a rank holds under a placement, and the view nodes that say so.
//
// How: pending reductions and scalings come off first, whatever their place in the list (they are element-wise, so they commute with
// cuts); what is left is a list of cuts, applied in order. A cut is the pieces of one dimension that a rank keeps, in the rank's order, and
// the padding behind them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/build.h"
#include "manifest/manifest.h"

namespace shardproof::link {

struct Cut {
  int64_t dim = 0;
  std::vector<std::pair<int64_t, int64_t>> pieces;  // [start, stop) of the dimension so far
  int64_t pad = 0;                                  // length of padding behind the pieces
  std::optional<ir::Literal> fill;                  // its value; nullopt: unspecified
  bool operator==(const Cut& o) const { return dim == o.dim && pieces == o.pieces && pad == o.pad && fill == o.fill; }
};

struct Part {
  std::vector<Cut> cuts;
  ir::Shape shape;  // what the rank holds
  ir::Shape valid;  // less the padding at the ends
  bool operator==(const Part& o) const { return cuts == o.cuts; }
};

// False for ranks that an On step leaves without a value.
bool holds(const manifest::Placement& placement, const manifest::Mesh& mesh, int64_t rank);

// The part of `rank`; "" or why the placement does not fit the shape.
std::string part_of(const manifest::Placement& placement, const manifest::Mesh& mesh, const ir::Shape& shape, int64_t rank, Part& out);

enum class Padding : uint8_t {
  Make,  // padding holds its fill; unspecified padding becomes a fresh free input
  Leave  // padding is left out: the result has part.valid's shape
};

// The view of x that is `part`. `fresh` names the free inputs that unspecified padding needs; they are appended to `made`.
ir::NodeId view(ir::Builder& b, ir::NodeId x, const Part& part, Padding padding, const std::string& fresh = "",
                std::vector<ir::NodeId>* made = nullptr);
// x without its padding.
ir::NodeId without_padding(ir::Builder& b, ir::NodeId x, const Part& part);

// The Partial and Scale steps of a placement, outermost first.
std::vector<const manifest::Step*> reductions(const manifest::Placement& placement);
// All ranks that hold what `rank` does, up to the coordinates along the Partial axes: nested lists are avoided by giving for every
// combination of those coordinates (row-major over reductions) the rank.
std::vector<int64_t> summand_ranks(const std::vector<const manifest::Step*>& steps, const manifest::Mesh& mesh, int64_t rank);
// Folds the summands (in the order of summand_ranks) into the whole by the reductions and scalings.
ir::NodeId combine(ir::Builder& b, const std::vector<const manifest::Step*>& steps, const manifest::Mesh& mesh, std::vector<ir::NodeId> xs);

// x * numerator / denominator.
ir::NodeId scaled(ir::Builder& b, ir::NodeId x, int64_t numerator, int64_t denominator);

std::string shape_text(const ir::Shape& shape);  // "[2, 3]"

}  // namespace shardproof::link
