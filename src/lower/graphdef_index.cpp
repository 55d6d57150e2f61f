// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reading and writing by index, variables, random numbers. TensorFlow refuses indices out of range on CPU: a strict read.
#include <fmt/format.h>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {
namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

NodeId gather(Call& c, NodeId data, NodeId indices, int64_t axis, int64_t batch) {
  const Shape &s = c.b.shape(data), &i = c.b.shape(indices);
  int64_t r = static_cast<int64_t>(i.size());
  if (batch < 0) batch += r;
  if (batch < 0 || batch > axis || batch > r) throw Unsupported{"batch_dims out of range"};
  for (int64_t k = 0; k < batch; ++k)
    if (s[at(k)] != i[at(k)]) throw Unsupported{"batch dimensions of different sizes"};
  Shape result(s.begin(), s.begin() + axis);
  result.insert(result.end(), i.begin() + batch, i.end());
  result.insert(result.end(), s.begin() + axis + 1, s.end());
  Ints dims, index_dims;
  for (int64_t k = 0; k < static_cast<int64_t>(s.size()); ++k) dims.push_back(k < axis ? k : k == axis ? -1 : k + r - batch - 1);
  for (int64_t k = 0; k < batch; ++k) index_dims.push_back(k);
  for (int64_t k = 0; k < r - batch; ++k) index_dims.push_back(axis + k);
  return c.b.take(data, {indices}, dims, index_dims, result, ir::IndexMode::Strict);
}

Values gather_v2(Call& c) {
  if (c.rank(0) == 0) throw Unsupported{"a number to gather from"};
  return {gather(c, c.t(0), c.t(1), c.axis(2, c.rank(0)), c.attr("batch_dims", 0))};
}
Values gather_v1(Call& c) {
  if (c.rank(0) == 0) throw Unsupported{"a number to gather from"};
  return {gather(c, c.t(0), c.t(1), 0, 0)};
}

// The columns of an index tensor [..., k], each of shape [...].
std::vector<NodeId> columns(Call& c, NodeId indices) {
  Shape s = c.b.shape(indices);
  if (s.empty()) throw Unsupported{"an index without dimensions"};
  int64_t n = s.back(), last = static_cast<int64_t>(s.size()) - 1;
  if (n > 64) throw Unsupported{"an index of too many parts"};
  s.pop_back();
  std::vector<NodeId> out;
  for (int64_t k = 0; k < n; ++k) out.push_back(c.b.reshape(c.b.slice_dim(indices, last, k, k + 1), s));
  return out;
}

// How a tensor of `rank` dimensions is addressed by n index parts in front: places in the result or update, and of the index dimensions.
void address(int64_t rank, int64_t parts, int64_t index_rank, Ints* dims, Ints* index_dims) {
  for (int64_t k = 0; k < rank; ++k) dims->push_back(k < parts ? -k - 1 : index_rank + k - parts);
  for (int64_t k = 0; k < index_rank; ++k) index_dims->push_back(k);
}

Values gather_nd(Call& c) {
  if (c.attr("batch_dims", 0) != 0) throw Unsupported{"batch_dims"};
  std::vector<NodeId> idx = columns(c, c.t(1));
  int64_t parts = static_cast<int64_t>(idx.size());
  if (parts == 0 || parts > c.rank(0)) throw Unsupported{"an index of another length than the tensor has dimensions"};
  Shape result = c.shape(1), data = c.shape(0);
  result.pop_back();
  Ints dims, index_dims;
  address(c.rank(0), parts, static_cast<int64_t>(result.size()), &dims, &index_dims);
  result.insert(result.end(), data.begin() + parts, data.end());
  return {c.b.take(c.t(0), idx, dims, index_dims, result, ir::IndexMode::Strict)};
}

NodeId scatter(Call& c, NodeId data, NodeId indices, NodeId updates, Fn fn, bool set) {
  std::vector<NodeId> idx = columns(c, indices);
  int64_t parts = static_cast<int64_t>(idx.size()), rank = c.b.rank(data);
  if (parts == 0 || parts > rank) throw Unsupported{"an index of another length than the tensor has dimensions"};
  Shape expected(c.b.shape(indices).begin(), c.b.shape(indices).end() - 1);
  Ints dims, index_dims;
  address(rank, parts, static_cast<int64_t>(expected.size()), &dims, &index_dims);
  expected.insert(expected.end(), c.b.shape(data).begin() + parts, c.b.shape(data).end());
  if (c.b.shape(updates) != expected) throw Unsupported{"updates of another shape"};
  return c.b.scatter(data, updates, idx, dims, index_dims, fn, set, ir::IndexMode::Strict);
}

NodeId zeros(Call& c, const Shape& s, DType t) {
  int64_t n = 1;
  for (int64_t d : s)
    if (d < 0 || __builtin_mul_overflow(n, d, &n) || n > (int64_t{1} << 51))
      throw Unsupported{"a shape with a negative or too large extent"};
  return c.b.broadcast(c.zero(t), s, {});
}

Values scatter_nd(Call& c) { return {scatter(c, zeros(c, c.ints(2), c.dtype(1)), c.t(0), c.t(1), Fn::Add, false)}; }
Values tensor_scatter_add(Call& c) { return {scatter(c, c.t(0), c.t(1), c.t(2), Fn::Add, false)}; }
Values tensor_scatter_sub(Call& c) { return {scatter(c, c.t(0), c.t(1), c.b.unary(Fn::Neg, c.t(2)), Fn::Add, false)}; }
Values tensor_scatter_update(Call& c) { return {scatter(c, c.t(0), c.t(1), c.t(2), Fn::None, true)}; }

// data, segment_ids, num_segments: rows are added up by their id; negative ids are dropped.
Values unsorted_segment_sum(Call& c) {
  int64_t n = c.integer(2), r = c.rank(1);
  if (n < 0 || r > c.rank(0)) throw Unsupported{"segment ids of a higher rank than the data"};
  for (int64_t k = 0; k < r; ++k)
    if (c.shape(0)[at(k)] != c.shape(1)[at(k)]) throw Unsupported{"segment ids of another size than the data"};
  Shape s{n}, data = c.shape(0);
  s.insert(s.end(), data.begin() + r, data.end());
  Ints dims, index_dims;
  address(static_cast<int64_t>(s.size()), 1, r, &dims, &index_dims);
  return {c.b.scatter(zeros(c, s, c.dtype(0)), c.t(0), {c.t(1)}, dims, index_dims, Fn::Add, false, ir::IndexMode::Fill)};
}

// indices, depth, on, off
Values one_hot(Call& c) {
  int64_t depth = c.integer(1), axis = c.attr("axis", -1), r = c.rank(0);
  if (depth < 0 || depth > (int64_t{1} << 40)) throw Unsupported{"a negative depth"};
  if (axis < 0) axis += r + 1;
  if (axis < 0 || axis > r) throw Unsupported{"an axis out of range"};
  Shape s = c.shape(0);
  s.insert(s.begin() + axis, depth);
  Ints place;
  for (int64_t k = 0; k < r; ++k) place.push_back(k < axis ? k : k + 1);
  // A depth may be more than the indices' type holds.
  NodeId hit = c.b.compare(Fn::Eq, c.b.iota(DType::I64, s, axis), c.b.broadcast(c.b.convert(c.t(0), DType::I64), s, place));
  return {c.select(hit, c.t(2), c.t(3))};
}

// --- variables

int variable(Call& c) {
  if (c.count() == 0 || c.in[0].variable < 0) throw Unsupported{"a resource that is no variable of the graph"};
  return c.in[0].variable;
}

Values read_variable(Call& c) { return {c.l.read(variable(c), c.attr_t("dtype", DType::Invalid), c.node)}; }

Values assign(Call& c) {
  c.l.assign(variable(c), c.t(1), c.node);
  return {};
}

template <Fn fn>
Values assign_by(Call& c) {
  NodeId old = c.l.read(variable(c), c.dtype(1), c.node);
  if (c.b.shape(old) != c.shape(1)) throw Unsupported{"a value of another shape"};
  c.l.assign(variable(c), c.binary(fn, old, c.t(1)), c.node);
  return {};
}

// var, alpha, delta
Values apply_gradient_descent(Call& c) {
  NodeId old = c.l.read(variable(c), c.dtype(2), c.node);
  c.l.assign(variable(c), c.sub(old, c.mul(c.t(1), c.t(2))), c.node);
  return {};
}

// var, accum, lr, grad, momentum
Values apply_momentum(Call& c) {
  if (c.count() != 5 || c.in[1].variable < 0) throw Unsupported{"an accumulator that is no variable of the graph"};
  NodeId old = c.l.read(c.in[0].variable, c.dtype(3), c.node), accum = c.l.read(c.in[1].variable, c.dtype(3), c.node);
  NodeId next = c.add(c.mul(accum, c.t(4)), c.t(3));
  NodeId step = c.attr("use_nesterov", 0) != 0 ? c.add(c.mul(c.t(3), c.t(2)), c.mul(c.mul(next, c.t(4)), c.t(2))) : c.mul(next, c.t(2));
  c.l.assign(c.in[1].variable, next, c.node);
  c.l.assign(c.in[0].variable, c.sub(old, step), c.node);
  return {};
}

Values resource_gather(Call& c) {
  NodeId data = c.l.read(variable(c), c.attr_t("dtype", DType::Invalid), c.node);
  if (c.b.rank(data) == 0) throw Unsupported{"a number to gather from"};
  int64_t batch = c.attr("batch_dims", 0);
  return {gather(c, data, c.t(1), batch, batch)};
}

// --- random numbers

template <bool normal>
Values random(Call& c) {
  Shape s = c.ints(0);
  DType t = c.attr_t("dtype", DType::F32);
  zeros(c, s, t);  // checks the shape
  return {c.b.random(normal ? "normal" : "uniform", Literal::real(0), t, s, c.l.draws++)};
}

}  // namespace

void add_indexing(Table& table) {
  const std::pair<const char*, Handler> entries[] = {{"GatherV2", gather_v2},
                                                     {"Gather", gather_v1},
                                                     {"GatherNd", gather_nd},
                                                     {"ScatterNd", scatter_nd},
                                                     {"TensorScatterAdd", tensor_scatter_add},
                                                     {"TensorScatterSub", tensor_scatter_sub},
                                                     {"TensorScatterUpdate", tensor_scatter_update},
                                                     {"UnsortedSegmentSum", unsorted_segment_sum},
                                                     {"OneHot", one_hot},
                                                     {"RandomUniform", random<false>},
                                                     {"RandomStandardNormal", random<true>}};
  for (const auto& [name, handler] : entries) table.emplace(name, handler);
}

void add_variables(Table& table) {
  const std::pair<const char*, Handler> entries[] = {{"ReadVariableOp", read_variable},
                                                     {"AssignVariableOp", assign},
                                                     {"AssignAddVariableOp", assign_by<Fn::Add>},
                                                     {"AssignSubVariableOp", assign_by<Fn::Sub>},
                                                     {"ResourceApplyGradientDescent", apply_gradient_descent},
                                                     {"ResourceApplyKerasMomentum", nullptr},
                                                     {"ResourceApplyMomentum", apply_momentum},
                                                     {"ResourceGather", resource_gather}};
  for (const auto& [name, handler] : entries)
    if (handler) table.emplace(name, handler);
}

}  // namespace shardproof::lower::gd
