// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "link/views.h"
#include "manifest/placement.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardproof::link {

using manifest::Mesh;
using manifest::Placement;
using manifest::ReduceOp;
using manifest::Step;

std::string shape_text(const ir::Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

bool holds(const Placement& placement, const Mesh& mesh, int64_t rank) {
  for (const Step& step : placement.steps) {
    if (step.kind != Step::Kind::On) continue;
    int64_t c = mesh.coordinate(rank, step.axes[0]);
    if (!std::binary_search(step.coordinates.begin(), step.coordinates.end(), c)) return false;
  }
  return true;
}

namespace {

// torch.chunk: parts of ceil(n/k), the last ones smaller or empty.
std::pair<int64_t, int64_t> chunk(int64_t begin, int64_t extent, int64_t parts, int64_t index) {
  int64_t size = extent / parts + (extent % parts != 0 ? 1 : 0);
  int64_t start = std::min(extent, size * index), stop = std::min(extent, start + size);
  return {begin + start, begin + stop};
}

void add_piece(Cut& cut, std::pair<int64_t, int64_t> piece) {
  if (piece.first == piece.second) return;
  if (!cut.pieces.empty() && cut.pieces.back().second == piece.first)
    cut.pieces.back().second = piece.second;
  else
    cut.pieces.push_back(piece);
}

std::string cut_of(const Step& step, const Mesh& mesh, int64_t extent, int64_t rank, Cut& out) {
  int64_t parts = 1, index = 0;
  for (int axis : step.axes) {
    parts *= mesh.axes[static_cast<size_t>(axis)].size;
    index = index * mesh.axes[static_cast<size_t>(axis)].size + mesh.coordinate(rank, axis);
  }
  if (!step.blocks.empty()) {
    int64_t begin = 0;
    for (const Step::Block& block : step.blocks) {
      if (block.size > extent - begin) return fmt::format("the blocks are longer than the dimension of extent {}", extent);
      add_piece(out, chunk(begin, block.size, parts / block.copies, index / block.copies));
      begin += block.size;
    }
    if (begin != extent) return fmt::format("the blocks add up to {}, but the dimension has extent {}", begin, extent);
  } else if (step.equal_blocks != 1) {
    if (extent % step.equal_blocks != 0) return fmt::format("extent {} is not divisible into {} equal blocks", extent, step.equal_blocks);
    int64_t size = extent / step.equal_blocks;
    for (int64_t k = 0; k < step.equal_blocks; ++k) add_piece(out, chunk(k * size, size, parts, index));
  } else if (!step.chunks.empty()) {
    int64_t count = 0;
    for (const auto& list : step.chunks)
      for (int64_t c : list) count = std::max(count, c + 1);
    if (extent % count != 0) return fmt::format("extent {} is not divisible into {} equal chunks", extent, count);
    int64_t size = extent / count;
    for (int64_t c : step.chunks[static_cast<size_t>(index)]) add_piece(out, {c * size, (c + 1) * size});
  } else if (step.padded) {
    if (step.padded > (int64_t{1} << 50) / parts || step.padded * parts < extent)
      return fmt::format("{} parts of length {} cannot hold extent {}", parts, step.padded, extent);
    int64_t start = std::min(extent, step.padded * index), stop = std::min(extent, start + step.padded);
    add_piece(out, {start, stop});
    out.pad = step.padded - (stop - start);
    out.fill = step.fill;
  } else {
    add_piece(out, chunk(0, extent, parts, index));
  }
  return "";
}

}  // namespace

std::string part_of(const Placement& placement, const Mesh& mesh, const ir::Shape& shape, int64_t rank, Part& out) {
  out.cuts.clear();
  out.shape = out.valid = shape;
  for (const Step& step : placement.steps) {
    if (step.kind != Step::Kind::Shard) continue;
    int64_t dim = step.dim < 0 ? step.dim + static_cast<int64_t>(shape.size()) : step.dim;
    if (dim < 0 || dim >= static_cast<int64_t>(shape.size()))
      return fmt::format("{} cuts dimension {}, but the tensor has shape {}", to_string(step, mesh), step.dim, shape_text(shape));
    size_t d = static_cast<size_t>(dim);
    Cut cut;
    cut.dim = dim;
    if (std::string e = cut_of(step, mesh, out.shape[d], rank, cut); !e.empty()) return fmt::format("{}: {}", to_string(step, mesh), e);
    int64_t kept = 0, valid = 0;
    for (const auto& [start, stop] : cut.pieces) {
      kept += stop - start;
      valid += std::clamp<int64_t>(out.valid[d] - start, 0, stop - start);
      if (valid < kept && cut.pieces.size() > 1 && out.valid[d] < out.shape[d])
        return "a padded dimension is cut again into several pieces";
    }
    bool whole = kept == out.shape[d] && cut.pieces.size() <= 1 && cut.pad == 0;
    out.shape[d] = kept + cut.pad;
    out.valid[d] = valid;
    if (!whole) out.cuts.push_back(std::move(cut));
  }
  return "";
}

ir::NodeId view(ir::Builder& b, ir::NodeId x, const Part& part, Padding padding, const std::string& fresh, std::vector<ir::NodeId>* made) {
  for (size_t k = 0; k < part.cuts.size(); ++k) {
    const Cut& cut = part.cuts[k];
    std::vector<ir::NodeId> pieces;
    for (const auto& [start, stop] : cut.pieces) pieces.push_back(b.slice_dim(x, cut.dim, start, stop));
    if (pieces.empty()) pieces.push_back(b.slice_dim(x, cut.dim, 0, 0));
    ir::NodeId kept = b.concat(pieces, cut.dim);
    bool cut_again = std::any_of(part.cuts.begin() + static_cast<std::ptrdiff_t>(k) + 1, part.cuts.end(),
                                 [&](const Cut& c) { return c.dim == cut.dim; });
    if (cut.pad > 0 && (padding == Padding::Make || cut_again)) {
      size_t rank = b.shape(kept).size();
      if (!cut.fill && padding == Padding::Make) {
        ir::Shape shape = b.shape(kept);
        shape[static_cast<size_t>(cut.dim)] = cut.pad;
        ir::NodeId free = b.input(fresh + ".padding", b.dtype(x), shape);
        made->push_back(free);
        kept = b.concat({kept, free}, cut.dim);
      } else {
        ir::NodeId value = b.constant(cut.fill.value_or(ir::Literal::integer(0)), b.dtype(x));
        std::vector<int64_t> zero(rank, 0), high(rank, 0);
        high[static_cast<size_t>(cut.dim)] = cut.pad;
        kept = b.pad(kept, value, zero, high, zero);
      }
    }
    x = kept;
  }
  return padding == Padding::Leave && b.shape(x) != part.valid ? without_padding(b, x, part) : x;
}

ir::NodeId without_padding(ir::Builder& b, ir::NodeId x, const Part& part) {
  if (b.shape(x) == part.valid) return x;
  std::vector<int64_t> start(part.valid.size(), 0), step(part.valid.size(), 1);
  return b.slice(x, start, part.valid, step);
}

std::vector<const Step*> reductions(const Placement& placement) {
  std::vector<const Step*> out;
  for (const Step& step : placement.steps)
    if (step.kind == Step::Kind::Partial || step.kind == Step::Kind::Scale) out.push_back(&step);
  return out;
}

std::vector<int64_t> summand_ranks(const std::vector<const Step*>& steps, const Mesh& mesh, int64_t rank) {
  std::vector<int64_t> out{rank};
  for (const Step* step : steps) {
    if (step->kind != Step::Kind::Partial) continue;
    size_t axis = static_cast<size_t>(step->axes[0]);
    int64_t stride = 1;
    for (size_t k = mesh.axes.size(); k-- > axis + 1;) stride *= mesh.axes[k].size;
    std::vector<int64_t> next;
    for (int64_t r : out) {
      int64_t origin = r - mesh.coordinate(r, static_cast<int>(axis)) * stride;
      for (int64_t c = 0; c < mesh.axes[axis].size; ++c) next.push_back(origin + c * stride);
    }
    out = std::move(next);
  }
  return out;
}

ir::NodeId scaled(ir::Builder& b, ir::NodeId x, int64_t numerator, int64_t denominator) {
  ir::DType t = b.dtype(x);
  if (numerator != 1) x = b.binary(ir::Fn::Mul, x, b.constant(ir::Literal::integer(numerator), t));
  if (denominator != 1) x = b.binary(ir::Fn::Div, x, b.constant(ir::Literal::integer(denominator), t));
  return x;
}

ir::NodeId combine(ir::Builder& b, const std::vector<const Step*>& steps, const Mesh& mesh, std::vector<ir::NodeId> xs) {
  for (size_t k = steps.size(); k-- > 0;) {  // innermost first
    const Step& step = *steps[k];
    if (step.kind == Step::Kind::Scale) {
      for (ir::NodeId& x : xs) x = scaled(b, x, step.numerator, step.denominator);
      continue;
    }
    size_t size = static_cast<size_t>(mesh.axes[static_cast<size_t>(step.axes[0])].size);
    ir::Fn fn = step.op == ReduceOp::Max ? ir::Fn::Max : step.op == ReduceOp::Min ? ir::Fn::Min : ir::Fn::Add;
    std::vector<ir::NodeId> next;
    for (size_t group = 0; group < xs.size(); group += size) {
      ir::NodeId x = b.map(
          fn,
          std::vector<ir::NodeId>(xs.begin() + static_cast<std::ptrdiff_t>(group), xs.begin() + static_cast<std::ptrdiff_t>(group + size)),
          b.dtype(xs[group]));
      if (step.op == ReduceOp::Avg) x = scaled(b, x, 1, static_cast<int64_t>(size));
      next.push_back(x);
    }
    xs = std::move(next);
  }
  SP_CHECK(xs.size() == 1);
  return xs[0];
}

}  // namespace shardproof::link
