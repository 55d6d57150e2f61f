// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reading by index: index.Tensor, gather, index_select, take, embedding and its backward. Boolean masks that select a data-dependent
// number of elements are refused (aten_scatter.cpp handles the writes that are a `where`).
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/aten_indexing.h"

namespace shardproof::lower::aten {

namespace {
size_t at(int64_t d) { return static_cast<size_t>(d); }
}  // namespace

Ints iota_dims(int64_t from, int64_t n) {
  Ints d;
  for (int64_t k = 0; k < n; ++k) d.push_back(from + k);
  return d;
}

// Places of the advanced indices in the result: adjacent ones stay where they are, scattered ones go to the front.
AdvancedIndex advanced_index(Call& c, NodeId x, size_t list) {
  AdvancedIndex r;
  const Shape s = c.shape(x);
  if (!c.args[list].is(Value::Kind::List)) malformed("a list of indices was expected");
  const std::vector<Value>& items = c.args[list].items;
  if (items.size() > s.size()) malformed("more indices than dimensions");
  int64_t first = -1, last = -1, count = 0;
  for (size_t d = 0; d < items.size(); ++d) {
    if (items[d].is(Value::Kind::None)) continue;
    const NodeId i = c.node(items[d]);
    if (!ir::is_int(c.b.dtype(i)) || c.b.dtype(i) == DType::U8)
      unsupported("an index by a boolean mask: the number of elements depends on data");
    r.indices.push_back(i);
    r.extents = broadcast_shapes(r.extents, c.shape(i));
    if (first < 0) first = static_cast<int64_t>(d);
    last = static_cast<int64_t>(d);
    ++count;
  }
  if (count == 0) malformed("no index at all");
  for (NodeId& i : r.indices) i = c.expand(i, r.extents);
  const bool adjacent = last - first + 1 == count;
  const int64_t place = adjacent ? first : 0, extra = static_cast<int64_t>(r.extents.size());
  r.index_dims = iota_dims(place, extra);
  int64_t next = 0, operand = 0;
  r.dims.resize(s.size());
  for (size_t d = 0; d < s.size(); ++d) {
    if (d < items.size() && !items[d].is(Value::Kind::None)) {
      r.dims[d] = -(++operand);
      continue;
    }
    if (next == place) next += extra;
    r.dims[d] = next++;
  }
  r.result.assign(s.size() - at(count) + r.extents.size(), 0);
  for (size_t d = 0; d < s.size(); ++d)
    if (r.dims[d] >= 0) r.result[at(r.dims[d])] = s[d];
  for (size_t k = 0; k < r.extents.size(); ++k) r.result[at(place) + k] = r.extents[k];
  return r;
}

AlongDim along_dim(Call& c, NodeId x, NodeId index, int64_t d) {
  AlongDim r;
  const Shape s = c.shape(x), si = c.shape(index);
  if (s.size() != si.size()) malformed(fmt::format("an index of shape [{}] into [{}]", fmt::join(si, ", "), fmt::join(s, ", ")));
  r.index_dims = iota_dims(0, static_cast<int64_t>(s.size()));
  for (size_t k = 0; k < s.size(); ++k) {
    r.dims.push_back(static_cast<int64_t>(k) == d ? -1 : static_cast<int64_t>(k));
    if (static_cast<int64_t>(k) != d && si[k] > s[k]) malformed("the index is larger than the tensor");
    r.smaller = r.smaller || (static_cast<int64_t>(k) != d && si[k] < s[k]);
  }
  return r;
}

namespace {

Value index(Call& c) {
  const NodeId x = c.t(0);
  const AdvancedIndex a = advanced_index(c, x, 1);
  return c.out(c.b.take(x, a.indices, a.dims, a.index_dims, a.result, ir::IndexMode::Wrap));
}
Value gather(Call& c) {  // self dim index sparse_grad
  NodeId x = c.t(0), index = c.t(2);
  if (c.b.rank(x) == 0 && c.b.rank(index) == 0) return c.out(x);
  if (ir::num_elements(c.shape(index)) == 0) return c.out(c.b.constant(Literal::integer(0), c.b.dtype(x), c.shape(index)));
  if (c.b.rank(x) == 0) x = c.b.reshape(x, {1});
  const int64_t d = c.dim(1, c.b.rank(x));
  const AlongDim a = along_dim(c, x, index, d);
  if (a.smaller)
    for (int64_t k = 0; k < c.b.rank(x); ++k)
      if (k != d) x = c.b.slice_dim(x, k, 0, c.shape(index)[at(k)]);
  return c.out(c.b.take(x, {index}, a.dims, a.index_dims, c.shape(index), ir::IndexMode::Strict));
}
Value index_select(Call& c) {  // self dim index
  const NodeId x = c.t(0);
  NodeId index = c.t(2);
  if (c.b.rank(index) == 0) index = c.b.reshape(index, {1});
  if (c.b.rank(x) == 0) return c.out(x);
  if (c.b.rank(index) != 1) malformed("index_select needs a vector of indices");
  const int64_t d = c.dim(1, c.b.rank(x));
  Ints dims = iota_dims(0, c.b.rank(x));
  dims[at(d)] = -1;
  Shape s = c.shape(x);
  s[at(d)] = c.shape(index)[0];
  return c.out(c.b.take(x, {index}, dims, {d}, s, ir::IndexMode::Strict));
}
Value take_flat(Call& c) {  // self, index: into the flat tensor, negative wraps
  const NodeId x = c.b.reshape(c.t(0), {ir::num_elements(c.shape(c.t(0)))}), i = c.t(1);
  return c.out(c.b.take(x, {i}, {-1}, iota_dims(0, c.b.rank(i)), c.shape(i), ir::IndexMode::Wrap));
}
Value embedding(Call& c) {  // weight indices padding_idx scale_grad_by_freq sparse: the last three matter in backward only
  const NodeId w = c.t(0), i = c.t(1);
  if (c.b.rank(w) != 2) malformed("embedding needs a matrix");
  Shape s = c.shape(i);
  const int64_t r = static_cast<int64_t>(s.size());
  s.push_back(c.shape(w)[1]);
  return c.out(c.b.take(w, {i}, {-1, r}, iota_dims(0, r), s, ir::IndexMode::Strict));
}
Value embedding_backward(Call& c) {  // grad indices num_weights padding_idx scale_grad_by_freq
  NodeId g = c.t(0);
  const NodeId i = c.t(1);
  if (c.flag(4)) unsupported("scale_grad_by_freq");
  const DType t = c.b.dtype(g), ti = c.b.dtype(i);
  const int64_t rows = c.i(2), r = c.b.rank(i);
  if (c.b.rank(g) != r + 1 || rows < 0) malformed("embedding_dense_backward: shapes do not fit");
  if (c.i(3) >= 0) g = c.where(c.unsqueeze(c.compare(Fn::Ne, i, c.num(c.i(3), ti)), r), g, c.num(0, t));
  const NodeId zeros = c.b.constant(Literal::integer(0), t, {rows, c.shape(g).back()});
  return c.out(c.b.scatter(zeros, g, {i}, {-1, r}, iota_dims(0, r), Fn::Add, false, ir::IndexMode::Strict));
}
Value bucketize(Call& c) {  // input (values), boundaries: the number of boundaries below (right: not above) each value
  const bool boundaries_first = std::string_view(c.row.name).find("searchsorted") != std::string_view::npos;
  const NodeId x = c.t(boundaries_first ? 1 : 0), edges = c.t(boundaries_first ? 0 : 1);
  if (c.b.rank(edges) != 1) unsupported("searchsorted in more than one row");
  if (boundaries_first && (c.has(4) || c.has(5))) unsupported("searchsorted with a side or a sorter");
  const bool right = c.flag(3);
  const int64_t r = c.b.rank(x);
  Shape s = c.shape(x);
  s.push_back(c.shape(edges)[0]);
  const DType t = promote(c.b.dtype(x), c.b.dtype(edges));
  const NodeId below = c.map(right ? Fn::Le : Fn::Lt, {c.expand(c.to(edges, t), s), c.expand(c.unsqueeze(c.to(x, t), r), s)}, DType::Bool);
  return c.out(c.sum(c.to(below, c.flag(2) ? DType::I32 : DType::I64), {r}, false));
}

const OpRow kRows[] = {
    {"aten.index.Tensor", "self indices", index},
    {"aten._unsafe_index.Tensor", "self indices", index},
    {"aten.gather.default", "self dim index sparse_grad=False", gather},
    {"aten.index_select.default", "self dim index", index_select},
    {"aten.take.default", "self index", take_flat},
    {"aten.embedding.default", "weight indices padding_idx=-1 scale_grad_by_freq=False sparse=False", embedding},
    {"aten.embedding_dense_backward.default", "grad_output indices num_weights padding_idx scale_grad_by_freq", embedding_backward},
    {"aten.bucketize.Tensor", "self boundaries out_int32=False right=False", bucketize},
    {"aten.searchsorted.Tensor", "sorted_sequence self out_int32=False right=False side=None sorter=None", bucketize},
};

}  // namespace

Rows index_rows() { return kRows; }

}  // namespace shardproof::lower::aten
