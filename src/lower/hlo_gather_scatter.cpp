// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// gather and scatter of XLA in full generality -> Take and Scatter of the core.
//
// XLA reads (or writes) a window per index vector; the core reads single elements by one index operand per data dimension. So a window
// dimension becomes either a dimension that is copied along (the window is the whole extent), or an index operand `start + position in the
// window`. A gather clamps the start so that the window fits; the clamp is written out where the window has more than one element. A
// scatter drops what is outside (mode Fill). Of a window that is partly outside XLA drops all of it (as JAX documents, and as programs
// run): where a window of several elements is not provably inside, its start is moved outside unless all of it fits.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using ir::DType;
using ir::Fn;
using ir::IndexMode;
using ir::NodeId;
using ir::Shape;

namespace {

bool contains(const std::vector<int64_t>& v, int64_t x) { return std::find(v.begin(), v.end(), x) != v.end(); }
int64_t position(const std::vector<int64_t>& v, int64_t x) {
  const auto it = std::find(v.begin(), v.end(), x);
  return it == v.end() ? -1 : it - v.begin();
}

// The dims below `rank` that are not in `v`.
std::vector<int64_t> others(const std::vector<int64_t>& v, int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < rank; ++d) {
    if (!contains(v, d)) out.push_back(d);
  }
  return out;
}

}  // namespace

// The `count` components of the index vectors, each with the extents of the batch dimensions (written to `batch`).
std::vector<NodeId> HloLowering::index_components(NodeId indices, int64_t vector_dim, size_t count, Shape& batch) {
  const int64_t r = b.rank(indices);
  need(vector_dim >= 0 && vector_dim <= r, "has an index_vector_dim out of range");
  need(ir::is_int(b.dtype(indices)), "has indices that are not integers");
  batch = b.shape(indices);
  if (vector_dim == r) {
    need(count <= 1, "has scalar indices for several dimensions");
    return std::vector<NodeId>(count, indices);
  }
  need(batch[vector_dim] == static_cast<int64_t>(count), "has index vectors of another length than its index map");
  batch.erase(batch.begin() + vector_dim);
  std::vector<NodeId> out;
  for (size_t k = 0; k < count; ++k) {
    out.push_back(reshape(slice_dim(indices, vector_dim, static_cast<int64_t>(k), static_cast<int64_t>(k) + 1), batch));
  }
  return out;
}

// Are all elements of x surely in [low, high]? By constants, iota, clamps and views; a bounded look back.
bool HloLowering::within(NodeId x, int64_t low, int64_t high, int& fuel) const {
  if (--fuel < 0) return false;
  const ir::Node& n = b.g[x];
  switch (n.op) {
    case ir::Op::Const: {
      const auto v = integer_value(x);
      return v && *v >= low && *v <= high && n.dtype != DType::U64;
    }
    case ir::Op::Iota:
      return low <= 0 && n.shape[n.a[0]] - 1 <= high && ir::int_bits(n.dtype) >= 32 && n.shape[n.a[0]] <= (int64_t{1} << 31);
    case ir::Op::Transpose:
    case ir::Op::Reshape:
    case ir::Op::Slice:
    case ir::Op::Reverse:
    case ir::Op::Broadcast:
    case ir::Op::DynamicSlice: return within(n.in[0], low, high, fuel);
    case ir::Op::Concat: return std::all_of(n.in.begin(), n.in.end(), [&](NodeId k) { return within(k, low, high, fuel); });
    case ir::Op::Map:
      if (n.fn == Fn::Max || n.fn == Fn::Min) {  // one operand bounds one side; the other side needs all
        const bool max = n.fn == Fn::Max;
        constexpr int64_t kFar = int64_t{1} << 62;
        const bool one =
            std::any_of(n.in.begin(), n.in.end(), [&](NodeId k) { return within(k, max ? low : -kFar, max ? kFar : high, fuel); });
        return one &&
               std::all_of(n.in.begin(), n.in.end(), [&](NodeId k) { return within(k, max ? -kFar : low, max ? high : kFar, fuel); });
      }
      if (n.fn == Fn::Select) return within(n.in[1], low, high, fuel) && within(n.in[2], low, high, fuel);
      if (n.fn == Fn::Convert && ir::int_bits(n.dtype) >= 32 && ir::is_int(b.dtype(n.in[0]))) {
        const int64_t top = ir::is_signed_int(n.dtype) ? 31 : 32;
        return low >= (ir::is_signed_int(n.dtype) ? -(int64_t{1} << 31) : 0) && high < (int64_t{1} << top) &&
               within(n.in[0], low, high, fuel);
      }
      break;
    default: break;
  }
  // Whatever it is, its type bounds it.
  if (!ir::is_int(n.dtype) || ir::int_bits(n.dtype) > 32) return low <= -(int64_t{1} << 62) && high >= (int64_t{1} << 62);
  const int bits = ir::int_bits(n.dtype);
  const int64_t least = ir::is_signed_int(n.dtype) ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t most = ir::is_signed_int(n.dtype) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  return low <= least && most <= high;
}

Value HloLowering::gather(const Call& c) {
  NodeId data = node(c, 0);
  const NodeId indices = node(c, 1);
  const Shape& result = result_type(c).shape;
  const int64_t r = b.rank(data), out_rank = static_cast<int64_t>(result.size());
  const hlo::Instruction& ins = c.ins;
  need_dims(ins.offset_dims, out_rank, "offset_dims");
  std::vector<int64_t> dropped = ins.collapsed_slice_dims;
  dropped.insert(dropped.end(), ins.operand_batching_dims.begin(), ins.operand_batching_dims.end());
  need_dims(dropped, r, "collapsed and batching dimensions");
  need_dims(ins.start_index_map, r, "start_index_map");
  need(static_cast<int64_t>(ins.slice_sizes.size()) == r, "has slice_sizes of another rank");
  need(ins.operand_batching_dims.size() == ins.start_indices_batching_dims.size(), "pairs different numbers of batching dimensions");
  Shape batch;
  std::vector<NodeId> start = index_components(indices, ins.index_vector_dim, ins.start_index_map.size(), batch);
  const std::vector<int64_t> window = others(dropped, r);                    // data dims with a place among offset_dims
  const std::vector<int64_t> batch_out = others(ins.offset_dims, out_rank);  // result dims of the batch
  need(window.size() == ins.offset_dims.size() && batch_out.size() == batch.size(), "has dimension numbers that do not fit its shapes");
  for (size_t k = 0; k < batch.size(); ++k) need(batch[k] == result[batch_out[k]], "has a result that does not fit its indices");
  for (int64_t d = 0; d < r; ++d) need(ins.slice_sizes[d] >= 0 && ins.slice_sizes[d] <= b.shape(data)[d], "has slice_sizes out of range");
  for (int64_t d : dropped) need(ins.slice_sizes[d] == 1, "collapses or batches a dimension whose slice size is not 1");
  for (size_t k = 0; k < window.size(); ++k)
    need(result[ins.offset_dims[k]] == ins.slice_sizes[window[k]], "has a result that does not fit slice_sizes");
  // Batch dims of the indices, without the vector dim, as places in `batch`.
  const auto batch_place = [&](int64_t index_dim) {
    need(index_dim != ins.index_vector_dim && index_dim >= 0 && index_dim < b.rank(indices), "has a batching dimension out of range");
    return index_dim > ins.index_vector_dim ? index_dim - 1 : index_dim;
  };

  // No batch: one window, which is a dynamic slice.
  if (batch.empty() && ins.operand_batching_dims.empty()) {
    std::vector<NodeId> starts(static_cast<size_t>(r), integer(0));
    for (size_t k = 0; k < start.size(); ++k) starts[ins.start_index_map[k]] = start[k];
    const NodeId piece = dynamic_slice(data, starts, ins.slice_sizes);
    Shape kept;
    for (int64_t d : window) kept.push_back(ins.slice_sizes[d]);
    std::vector<int64_t> order(window.size());  // offset_dims is increasing in valid programs; any order is handled
    for (size_t k = 0; k < window.size(); ++k) order[ins.offset_dims[k]] = static_cast<int64_t>(k);
    return Value::of(transpose(reshape(piece, kept), order));
  }

  // Data dims that no index moves are cut to the slice first; collapsed ones among them disappear.
  std::vector<int64_t> from(static_cast<size_t>(r), 0), to = b.shape(data), step(static_cast<size_t>(r), 1);
  std::vector<int64_t> kept_dims;
  Shape kept_shape;
  for (int64_t d = 0; d < r; ++d) {
    const bool moved = contains(ins.start_index_map, d) || contains(ins.operand_batching_dims, d);
    if (!moved) to[d] = ins.slice_sizes[d];
    if (!moved && contains(ins.collapsed_slice_dims, d)) continue;
    kept_dims.push_back(d);
    kept_shape.push_back(to[d]);
  }
  data = reshape(slice(data, from, to, step), kept_shape);

  // Result dims that the index operands run over: the batch, and windows that an index moves.
  std::vector<int64_t> run = batch_out;
  for (size_t k = 0; k < window.size(); ++k) {
    const int64_t d = window[k];
    if (contains(ins.start_index_map, d) && ins.slice_sizes[d] != b.shape(node(c, 0))[d]) run.push_back(ins.offset_dims[k]);
  }
  std::sort(run.begin(), run.end());
  Shape run_shape;
  for (int64_t d : run) run_shape.push_back(result[d]);
  std::vector<int64_t> batch_in_run;
  for (int64_t d : batch_out) batch_in_run.push_back(position(run, d));
  const auto over_run = [&](NodeId x) { return broadcast(x, run_shape, batch_in_run); };

  std::vector<NodeId> operands;
  std::vector<int64_t> dims;
  for (size_t k = 0; k < kept_dims.size(); ++k) {
    const int64_t d = kept_dims[k];
    const int64_t component = position(ins.start_index_map, d), batching = position(ins.operand_batching_dims, d);
    const int64_t place = position(window, d);
    const int64_t extent = b.shape(node(c, 0))[d], size = ins.slice_sizes[d];
    if (batching >= 0) {
      need(component < 0, "both batches and indexes a dimension");
      const int64_t out = batch_out[batch_place(ins.start_indices_batching_dims[batching])];
      need(result[out] == extent, "pairs batching dimensions of different extents");
      dims.push_back(out);
    } else if (place >= 0 && (component < 0 || size == extent)) {
      dims.push_back(ins.offset_dims[place]);  // the whole (cut) extent
    } else {
      NodeId index = start[component];
      if (place >= 0) {
        const int64_t out = ins.offset_dims[place];
        index = over_run(clamp(index, 0, extent - size));
        if (size > 1) index = map(Fn::Add, {index, b.iota(DType::I64, run_shape, position(run, out))}, DType::I64);
      } else {
        index = over_run(index);
      }
      operands.push_back(index);
      dims.push_back(-static_cast<int64_t>(operands.size()));
    }
  }
  if (operands.empty()) run.clear();
  // Take needs every result dim copied or indexed; a batch that no index depends on is a broadcast.
  std::vector<bool> known(result.size());
  for (int64_t d : dims) {
    if (d >= 0) known[d] = true;
  }
  for (int64_t d : run) known[d] = true;
  if (std::find(known.begin(), known.end(), false) != known.end()) {
    std::vector<int64_t> places;
    for (int64_t d : dims) places.push_back(d);
    return Value::of(broadcast(data, result, places));
  }
  return Value::of(b.take(data, std::move(operands), std::move(dims), std::move(run), result, IndexMode::Clamp));
}

Value HloLowering::scatter(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(xs.size() >= 3 && xs.size() % 2 == 1, "needs operands, indices and as many updates");
  const size_t n = xs.size() / 2;
  const NodeId indices = xs[n];
  const hlo::Instruction& ins = c.ins;
  const Shape data_shape = b.shape(xs[0]), update_shape = b.shape(xs[n + 1]);
  const int64_t r = static_cast<int64_t>(data_shape.size()), update_rank = static_cast<int64_t>(update_shape.size());
  for (size_t k = 0; k < n; ++k)
    need(b.shape(xs[k]) == data_shape && b.shape(xs[n + 1 + k]) == update_shape, "has operands of different shapes");
  need_dims(ins.update_window_dims, update_rank, "update_window_dims");
  std::vector<int64_t> dropped = ins.inserted_window_dims;
  dropped.insert(dropped.end(), ins.input_batching_dims.begin(), ins.input_batching_dims.end());
  need_dims(dropped, r, "inserted and batching dimensions");
  need_dims(ins.scatter_dims_to_operand_dims, r, "scatter_dims_to_operand_dims");
  need(ins.input_batching_dims.size() == ins.scatter_indices_batching_dims.size(), "pairs different numbers of batching dimensions");
  Shape batch;
  const std::vector<NodeId> start = index_components(indices, ins.index_vector_dim, ins.scatter_dims_to_operand_dims.size(), batch);
  const std::vector<int64_t> window = others(dropped, r);  // data dims with a window dim in the updates
  const std::vector<int64_t> batch_dims = others(ins.update_window_dims, update_rank);
  need(window.size() == ins.update_window_dims.size() && batch_dims.size() == batch.size(),
       "has dimension numbers that do not fit its shapes");
  for (size_t k = 0; k < batch.size(); ++k) need(batch[k] == update_shape[batch_dims[k]], "has updates that do not fit its indices");
  for (size_t k = 0; k < window.size(); ++k)
    need(update_shape[ins.update_window_dims[k]] <= data_shape[window[k]], "has windows larger than the operand");
  const auto batch_place = [&](int64_t index_dim) {
    need(index_dim != ins.index_vector_dim && index_dim >= 0 && index_dim < b.rank(indices), "has a batching dimension out of range");
    return index_dim > ins.index_vector_dim ? index_dim - 1 : index_dim;
  };
  const uint32_t region = called(c, 0);
  std::vector<Combiner> how;
  for (size_t k = 0; k < n; ++k) {
    const auto one = combiner(region, k, n);
    if (!one) throw Unsupported{"its region is no sum, product, maximum, minimum or overwriting"};
    how.push_back(*one);
  }

  // One window at a constant place inside: an update of that box.
  if (batch.empty() && ins.input_batching_dims.empty() && n == 1 && (how[0].kind == Combiner::Kind::Second || how[0].fn == Fn::Add)) {
    std::vector<int64_t> at(static_cast<size_t>(r), 0), sizes(static_cast<size_t>(r), 1);
    bool inside = true;
    for (size_t k = 0; k < window.size(); ++k) sizes[window[k]] = update_shape[ins.update_window_dims[k]];
    for (size_t k = 0; k < start.size() && inside; ++k) {
      const int64_t d = ins.scatter_dims_to_operand_dims[k];
      const auto v = integer_value(start[k]);
      inside = v && *v >= 0 && *v <= data_shape[d] - sizes[d];
      if (inside) at[d] = *v;
    }
    for (int64_t d = 0; d < r; ++d) inside = inside && at[d] + sizes[d] <= data_shape[d];
    if (inside && std::is_sorted(ins.update_window_dims.begin(), ins.update_window_dims.end())) {
      const NodeId box = reshape(xs[2], sizes);
      if (how[0].kind == Combiner::Kind::Second) {
        std::vector<NodeId> starts;
        for (int64_t v : at) starts.push_back(integer(v));
        return Value::of(dynamic_update(xs[0], box, starts));
      }
      if (how[0].kind == Combiner::Kind::Fn && b.dtype(xs[0]) != DType::Bool) {
        std::vector<int64_t> high;
        for (int64_t d = 0; d < r; ++d) high.push_back(data_shape[d] - at[d] - sizes[d]);
        const NodeId padded = b.pad(box, zero(b.dtype(box)), at, high, std::vector<int64_t>(static_cast<size_t>(r), 0));
        return Value::of(map(Fn::Add, {xs[0], padded}, b.dtype(xs[0])));
      }
    }
  }

  // Which data dims are copied along, and which are indexed; the update dims that the index operands run over.
  std::vector<int64_t> run = batch_dims;
  std::vector<bool> copied(static_cast<size_t>(r));
  for (int64_t d = 0; d < r; ++d) {
    const int64_t place = position(window, d), component = position(ins.scatter_dims_to_operand_dims, d);
    if (place < 0) continue;
    const int64_t u = ins.update_window_dims[place];
    copied[d] = component < 0 && update_shape[u] == data_shape[d];
    if (!copied[d]) run.push_back(u);
  }
  std::sort(run.begin(), run.end());
  Shape run_shape;
  for (int64_t d : run) run_shape.push_back(update_shape[d]);
  std::vector<int64_t> batch_in_run;
  for (int64_t d : batch_dims) batch_in_run.push_back(position(run, d));

  std::vector<NodeId> operands;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < r; ++d) {
    const int64_t place = position(window, d), component = position(ins.scatter_dims_to_operand_dims, d);
    const int64_t batching = position(ins.input_batching_dims, d);
    if (batching >= 0) {
      need(component < 0, "both batches and indexes a dimension");
      const int64_t u = batch_dims[batch_place(ins.scatter_indices_batching_dims[batching])];
      need(update_shape[u] == data_shape[d], "pairs batching dimensions of different extents");
      dims.push_back(u);
      continue;
    }
    if (copied[d]) {
      dims.push_back(ins.update_window_dims[place]);
      continue;
    }
    NodeId index;
    if (component >= 0) {
      index = broadcast(start[component], run_shape, batch_in_run);
      const int64_t u = place >= 0 ? ins.update_window_dims[place] : -1;
      if (u >= 0 && update_shape[u] > 1) {  // a window of several elements
        const int64_t room = data_shape[d] - update_shape[u];
        index = b.dtype(index) == DType::U64 ? clamp(index, 0, data_shape[d]) : convert(index, DType::I64);
        if (int fuel = 200; !within(start[component], 0, room, fuel)) {
          const NodeId fits =
              map(Fn::And, {map(Fn::Ge, {index, integer(0)}, DType::Bool), map(Fn::Le, {index, integer(room)}, DType::Bool)}, DType::Bool);
          index = map(Fn::Select, {fits, index, integer(data_shape[d])}, DType::I64);
        }
        index = map(Fn::Add, {index, b.iota(DType::I64, run_shape, position(run, u))}, DType::I64);
      }
    } else if (place >= 0) {
      index = b.iota(DType::I64, run_shape, position(run, ins.update_window_dims[place]));  // the first elements of the extent
    } else {
      index = integer(0, DType::I64, run_shape);
    }
    operands.push_back(index);
    dims.push_back(-static_cast<int64_t>(operands.size()));
  }
  if (operands.empty()) {
    run.clear();
    // Every update dim must be copied then; a batch that reaches the same elements again and again is left alone.
    for (int64_t u = 0; u < update_rank; ++u) {
      if (!contains(dims, u)) throw Unsupported{"scatter of a batch that no index depends on"};
    }
  }

  std::vector<Value> out;
  for (size_t k = 0; k < n; ++k) {
    NodeId updates = xs[n + 1 + k];
    const DType t = b.dtype(xs[k]);
    Fn fn = how[k].fn;
    switch (how[k].kind) {
      case Combiner::Kind::First: out.push_back(Value::of(xs[k])); continue;
      case Combiner::Kind::Second: fn = Fn::None; break;
      case Combiner::Kind::Subtract:
        fn = Fn::Add;
        updates = map(Fn::Neg, {updates}, t);
        break;
      case Combiner::Kind::Fn: break;
    }
    if ((fn == Fn::And || fn == Fn::Or) && t != DType::Bool) throw Unsupported{"scatter with bitwise and/or"};
    if (ins.unique_indices && fn == Fn::None)
      program_.notes.push_back(fmt::format("%{}: its indices are taken to be distinct, as stated", ins.name));
    out.push_back(Value::of(b.scatter(xs[k], updates, operands, dims, run, fn, fn == Fn::None, IndexMode::Fill)));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

}  // namespace shardproof::lower
