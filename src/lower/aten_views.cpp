// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Views: operators whose result shares memory with their operand. Each is a list of ViewSteps, so that writes find their way back. The
// *_copy forms compute the same and own their result; reshape and contiguous share memory or not, depending on strides.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

using Steps = std::vector<ViewStep>;
size_t at(int64_t d) { return static_cast<size_t>(d); }

// ---- the steps of each kind of view, given the operand's shape

Steps permute_steps(const Ints& perm) { return {ViewStep::transpose(perm)}; }

Ints swapped(int64_t rank, int64_t d0, int64_t d1) {
  Ints perm(at(rank));
  for (int64_t d = 0; d < rank; ++d) perm[at(d)] = d;
  if (rank) std::swap(perm[at(d0)], perm[at(d1)]);
  return perm;
}

Steps slice_steps(const Shape& s, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  Ints a(s.size(), 0), e(s.begin(), s.end()), c(s.size(), 1);
  a[at(dim)] = start;
  e[at(dim)] = stop;
  c[at(dim)] = step;
  return {ViewStep::slice(a, e, c)};
}

Steps select_steps(const Shape& s, int64_t dim, int64_t index) {
  Steps steps = slice_steps(s, dim, index, index + 1, 1);
  Shape r = s;
  r.erase(r.begin() + dim);
  steps.push_back(ViewStep::reshape(r));
  return steps;
}

// A view, or its copy: one function serves both names.
Value give(Call& c, size_t k, Steps steps) {
  const Value v = c.view(k, std::move(steps));
  return std::string_view(c.row.name).find("_copy.") != std::string_view::npos ? c.out(c.m.read(v.tensor)) : v;
}

// ---- operators

Value view(Call& c) {
  const NodeId x = c.t(0);
  return give(c, 0, {ViewStep::reshape(infer_shape(c.ints(1), ir::num_elements(c.shape(x))))});
}
Value view_like(Call& c) { return give(c, 0, {ViewStep::reshape(c.shape(c.t(1)))}); }
Value reshape(Call& c) {
  const NodeId x = c.t(0);
  const NodeId y = c.b.reshape(x, infer_shape(c.ints(1), ir::num_elements(c.shape(x))));
  return c.args[0].is(Value::Kind::Tensor) ? Value::of(c.m.maybe_view(c.args[0].tensor, y)) : c.out(y);
}
Value reshape_as(Call& c) {
  const NodeId y = c.b.reshape(c.t(0), c.shape(c.t(1)));
  return c.args[0].is(Value::Kind::Tensor) ? Value::of(c.m.maybe_view(c.args[0].tensor, y)) : c.out(y);
}
Value flatten(Call& c) {
  const Shape s = c.shape(c.t(0));
  const int64_t from = c.wrap(c.i(1), c.rank(0)), to = c.wrap(c.i(2), c.rank(0));
  if (from > to) malformed("flatten: start after end");
  Shape r(s.begin(), s.begin() + std::min<int64_t>(from, static_cast<int64_t>(s.size())));
  int64_t n = 1;
  for (int64_t d = from; d <= to && d < static_cast<int64_t>(s.size()); ++d) n *= s[at(d)];
  r.push_back(n);
  for (int64_t d = to + 1; d < static_cast<int64_t>(s.size()); ++d) r.push_back(s[at(d)]);
  const NodeId y = c.b.reshape(c.t(0), r);
  return c.args[0].is(Value::Kind::Tensor) ? Value::of(c.m.maybe_view(c.args[0].tensor, y)) : c.out(y);
}
Value unflatten(Call& c) {
  Shape s = c.shape(c.t(0));
  const int64_t d = c.dim(1, c.rank(0));
  const Shape parts = infer_shape(c.ints(2), s[at(d)]);
  s.erase(s.begin() + d);
  s.insert(s.begin() + d, parts.begin(), parts.end());
  return give(c, 0, {ViewStep::reshape(s)});
}
Value identity(Call& c) {  // shares memory: detach, alias
  c.t(0);
  return c.view(0, {});
}
Value maybe_identity(Call& c) {  // contiguous: a copy or the tensor itself
  const NodeId x = c.t(0);
  return c.args[0].is(Value::Kind::Tensor) ? Value::of(c.m.maybe_view(c.args[0].tensor, x)) : c.out(x);
}
Value copy_of(Call& c) { return c.out(c.t(0)); }

Value t(Call& c) {
  const int64_t r = c.rank(0);
  if (r > 2) malformed("t of a tensor with more than two dimensions");
  return r < 2 ? c.view(0, {}) : give(c, 0, permute_steps({1, 0}));
}
Value transpose(Call& c) {
  const int64_t r = c.rank(0);
  return give(c, 0, permute_steps(swapped(r, c.wrap(c.i(1), r), c.wrap(c.i(2), r))));
}
Value matrix_transpose(Call& c) {
  const int64_t r = c.rank(0);
  if (r < 2) malformed("mT of a tensor with fewer than two dimensions");
  return give(c, 0, permute_steps(swapped(r, r - 2, r - 1)));
}
Value adjoint(Call& c) {
  if (ir::is_complex(c.b.dtype(c.t(0)))) unsupported("the adjoint of a complex matrix");
  return matrix_transpose(c);
}
Value broadcast_tensors(Call& c) {
  Shape s;
  for (const NodeId x : c.ts(0)) s = broadcast_shapes(s, c.shape(x));
  std::vector<Value> out, size;
  for (const int64_t n : s) size.push_back(Value::integer(n));
  for (const Value& v : c.args[0].items) out.push_back(c.l.call("aten.expand.default", {v, Value::list(size)}));
  return Value::list(std::move(out));
}
Value numpy_t(Call& c) {
  Ints perm;
  for (int64_t d = c.rank(0); d-- > 0;) perm.push_back(d);
  return give(c, 0, permute_steps(perm));
}
Value permute(Call& c) {
  const int64_t r = c.rank(0);
  Ints perm = c.ints(1);
  for (int64_t& d : perm) d = c.wrap(d, r);
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t d = 0; d < static_cast<int64_t>(sorted.size()); ++d)
    if (sorted[at(d)] != d) malformed("not a permutation of the dimensions");
  if (static_cast<int64_t>(perm.size()) != r) malformed("not a permutation of the dimensions");
  return give(c, 0, permute_steps(perm));
}
Value movedim(Call& c) {
  const int64_t r = c.rank(0);
  Ints from = c.ints(1), to = c.ints(2), perm(at(r), -1), rest;
  if (from.size() != to.size()) malformed("movedim: lists of different lengths");
  for (size_t k = 0; k < from.size(); ++k) {
    from[k] = c.wrap(from[k], r);
    perm[at(c.wrap(to[k], r))] = from[k];
  }
  for (int64_t d = 0; d < r; ++d)
    if (std::find(from.begin(), from.end(), d) == from.end()) rest.push_back(d);
  size_t next = 0;
  for (int64_t& d : perm)
    if (d < 0) {
      if (next == rest.size()) malformed("movedim: a dimension twice");
      d = rest[next++];
    }
  return give(c, 0, permute_steps(perm));
}
Value unsqueeze(Call& c) {
  Shape s = c.shape(c.t(0));
  s.insert(s.begin() + c.wrap(c.i(1), c.rank(0) + 1), 1);
  return give(c, 0, {ViewStep::reshape(s)});
}
Value squeeze(Call& c) {
  const Shape s = c.shape(c.t(0));
  const bool all = c.args.size() < 2;
  Ints dims = all ? Ints{} : c.ints(1);
  for (int64_t& d : dims) d = c.wrap(d, c.rank(0));
  Shape r;
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d)
    if (s[at(d)] != 1 || !(all || std::find(dims.begin(), dims.end(), d) != dims.end())) r.push_back(s[at(d)]);
  return give(c, 0, {ViewStep::reshape(r)});
}
Value expand_to(Call& c, Shape size) {
  const Shape s = c.shape(c.t(0));
  if (size.size() < s.size()) malformed("expand to fewer dimensions");
  const size_t lead = size.size() - s.size();
  Ints dims;
  for (size_t d = 0; d < size.size(); ++d) {
    if (d >= lead) dims.push_back(static_cast<int64_t>(d));
    if (size[d] == -1 && d >= lead) size[d] = s[d - lead];
    if (size[d] < 0 || (d >= lead && s[d - lead] != 1 && s[d - lead] != size[d]))
      malformed(fmt::format("[{}] does not expand to [{}]", fmt::join(s, ", "), fmt::join(size, ", ")));
  }
  if (size == s) return give(c, 0, {});
  return give(c, 0, {ViewStep::broadcast(size, dims)});
}
Value expand(Call& c) { return expand_to(c, c.ints(1)); }
Value expand_as(Call& c) { return expand_to(c, c.shape(c.t(1))); }

Value slice(Call& c) {
  const Shape s = c.shape(c.t(0));
  if (s.empty()) malformed("slice of a tensor without dimensions");
  const int64_t d = c.dim(1, c.rank(0));
  const Range r = slice_range(c, s[at(d)], 2, 3, 4);
  return give(c, 0, slice_steps(s, d, r.start, r.stop, r.step));
}
Value select(Call& c) {
  const Shape s = c.shape(c.t(0));
  if (s.empty()) malformed("select of a tensor without dimensions");
  const int64_t d = c.dim(1, c.rank(0)), n = s[at(d)];
  int64_t k = c.i(2);
  if (k < -n || k >= n) malformed(fmt::format("index {} of a dimension of size {}", k, n));
  return give(c, 0, select_steps(s, d, k < 0 ? k + n : k));
}
Value narrow(Call& c) {
  const Shape s = c.shape(c.t(0));
  const int64_t d = c.dim(1, c.rank(0)), n = s[at(d)], length = c.i(3);
  int64_t start = c.i(2);
  if (start < 0) start += n;
  if (start < 0 || length < 0 || length > n - start) malformed("narrow out of range");
  return give(c, 0, slice_steps(s, d, start, start + length, 1));
}
Value pieces(Call& c, int64_t d, const Ints& sizes) {
  const Shape s = c.shape(c.t(0));
  std::vector<Value> out;
  int64_t start = 0;
  for (const int64_t n : sizes) {
    if (n < 0 || n > s[at(d)] - start) malformed("the parts are longer than the dimension");
    out.push_back(give(c, 0, slice_steps(s, d, start, start + n, 1)));
    start += n;
  }
  if (start != s[at(d)]) malformed("the parts do not fill the dimension");
  return Value::list(std::move(out));
}
Ints equal_parts(int64_t n, int64_t size) {
  if (size <= 0) {
    if (n == 0 && size == 0) return {0};
    malformed("split into parts of size 0");
  }
  if (n == 0) return {0};
  if ((n + size - 1) / size > 1000000) unsupported("a split into a million parts");
  Ints sizes;
  for (int64_t left = n; left > 0; left -= size) sizes.push_back(std::min(left, size));
  return sizes;
}
Value split(Call& c) {
  if (c.rank(0) == 0) malformed("split of a tensor without dimensions");
  const int64_t d = c.dim(2, c.rank(0));
  if (c.args[1].is(Value::Kind::List)) return pieces(c, d, c.ints(1));
  return pieces(c, d, equal_parts(c.shape(c.t(0))[at(d)], c.i(1)));
}
Value chunk(Call& c) {
  const int64_t d = c.dim(2, c.rank(0)), n = c.shape(c.t(0))[at(d)], k = c.i(1);
  if (k <= 0) malformed("chunk into no parts");
  const int64_t size = (n + k - 1) / k;
  if (size == 0) return pieces(c, d, Ints(at(std::min<int64_t>(k, 100000)), 0));
  return pieces(c, d, equal_parts(n, size));
}
Value tensor_split(Call& c) {
  const int64_t d = c.dim(2, c.rank(0)), n = c.shape(c.t(0))[at(d)];
  Ints sizes;
  if (c.args[1].is(Value::Kind::List)) {
    int64_t last = 0;
    for (int64_t k : c.ints(1)) {
      k = std::clamp(k < 0 ? k + n : k, last, n);
      sizes.push_back(k - last);
      last = k;
    }
    sizes.push_back(n - last);
  } else {
    const int64_t k = c.i(1);
    if (k <= 0 || k > 100000) malformed("tensor_split into no parts");
    for (int64_t j = 0; j < k; ++j) sizes.push_back(n / k + (j < n % k ? 1 : 0));
  }
  return pieces(c, d, sizes);
}
Value unbind(Call& c) {
  const Shape s = c.shape(c.t(0));
  if (s.empty()) malformed("unbind of a tensor without dimensions");
  const int64_t d = c.dim(1, c.rank(0));
  if (s[at(d)] > 100000) unsupported("unbind into a hundred thousand parts");
  std::vector<Value> out;
  for (int64_t k = 0; k < s[at(d)]; ++k) out.push_back(give(c, 0, select_steps(s, d, k)));
  return Value::list(std::move(out));
}

// out[.., k] = x[.., k + max(-offset, 0), .., k + max(offset, 0), ..]
Value diagonal(Call& c) {
  const int64_t r = c.rank(0), offset = c.i(1), d1 = c.dim(2, r), d2 = c.dim(3, r);
  if (d1 == d2 || r < 2) malformed("diagonal of one dimension");
  const NodeId y = diagonal_of(c, c.t(0), offset, d1, d2);
  (void)y;
  Lowering* l = &c.l;
  return give(c, 0, {ViewStep::function([l, offset, d1, d2](NodeId x) {
                static const OpRow here{"diagonal", "", nullptr};
                Call inner(*l, here, {}, nullptr);
                return diagonal_of(inner, x, offset, d1, d2);
              })});
}
Value unfold(Call& c) {
  const Shape s = c.shape(c.t(0));
  const int64_t d = c.dim(1, c.rank(0)), size = c.i(2), step = c.i(3);
  if (s.empty() || size < 1 || step < 1 || size > s[at(d)]) unsupported("unfold of this form");
  ir::Builder* b = &c.b;
  return give(c, 0, {ViewStep::function([b, d, size, step](NodeId x) { return b->window(x, {d}, {size}, {step, 1}); })});
}

Value prim_squeeze(Call& c) { return squeeze(c); }
Value broadcast_in_dim(Call& c) {
  const Shape size = c.ints(1), from = c.shape(c.t(0));
  const Ints dims = c.ints(2);
  if (dims.size() != from.size() || !std::is_sorted(dims.begin(), dims.end())) malformed("broadcast_in_dim: dimensions");
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] < 0 || dims[k] >= static_cast<int64_t>(size.size()) || (k && dims[k] == dims[k - 1]) ||
        (from[k] != 1 && from[k] != size[at(dims[k])]))
      malformed("broadcast_in_dim: dimensions");
  return give(c, 0, {ViewStep::broadcast(size, dims)});
}

constexpr const char* kSlice = "self dim=0 start=None end=None step=1";
const OpRow kRows[] = {
    {"aten.view.default", "self size", view},
    {"aten._unsafe_view.default", "self size", view},
    {"aten.view_copy.default", "self size", view},
    {"aten._reshape_alias.default", "self size stride", view},
    {"aten._reshape_copy.default", "self size", view},
    {"aten.reshape.default", "self shape", reshape},
    {"aten.view_as.default", "self other", view_like},
    {"aten.reshape_as.default", "self other", reshape_as},
    {"aten.flatten.using_ints", "self start_dim=0 end_dim=-1", flatten},
    {"aten.unflatten.int", "self dim sizes", unflatten},
    {"aten.detach.default", "self", identity},
    {"aten.alias.default", "self", identity},
    {"aten.lift_fresh.default", "self", identity},
    {"aten.detach_copy.default", "self", copy_of},
    {"aten.alias_copy.default", "self", copy_of},
    {"aten.lift_fresh_copy.default", "self", copy_of},
    {"aten.lift.default", "self", copy_of},
    {"aten.clone.default", "self memory_format=None", copy_of},
    {"prims.clone.default", "self memory_format=None", copy_of},
    {"prims.view_of.default", "a", identity},
    {"aten.contiguous.default", "self memory_format=None", maybe_identity},
    {"aten.t.default", "self", t},
    {"aten.t_copy.default", "self", t},
    {"aten.numpy_T.default", "self", numpy_t},
    {"aten.transpose.int", "self dim0 dim1", transpose},
    {"aten.transpose_copy.int", "self dim0 dim1", transpose},
    {"aten.swapaxes.default", "self axis0 axis1", transpose},
    {"aten.swapdims.default", "self dim0 dim1", transpose},
    {"aten.mT.default", "self", matrix_transpose},
    {"aten.mH.default", "self", adjoint},
    {"aten.matrix_H.default", "self", adjoint},
    {"aten.adjoint.default", "self", adjoint},
    {"aten.broadcast_tensors.default", "tensors", broadcast_tensors},
    {"aten.permute.default", "self dims", permute},
    {"aten.permute_copy.default", "self dims", permute},
    {"prims.transpose.default", "a permutation", permute},
    {"aten.movedim.int", "self source destination", movedim},
    {"aten.movedim.intlist", "self source destination", movedim},
    {"aten.moveaxis.int", "self source destination", movedim},
    {"aten.moveaxis.intlist", "self source destination", movedim},
    {"aten.unsqueeze.default", "self dim", unsqueeze},
    {"aten.unsqueeze_copy.default", "self dim", unsqueeze},
    {"aten.squeeze.default", "self", squeeze},
    {"aten.squeeze.dim", "self dim", squeeze},
    {"aten.squeeze.dims", "self dim", squeeze},
    {"aten.squeeze_copy.default", "self", squeeze},
    {"aten.squeeze_copy.dim", "self dim", squeeze},
    {"aten.squeeze_copy.dims", "self dim", squeeze},
    {"prims.squeeze.default", "a dimensions", prim_squeeze},
    {"aten.expand.default", "self size implicit=False", expand},
    {"aten.expand_copy.default", "self size implicit=False", expand},
    {"aten.broadcast_to.default", "self size", expand},
    {"aten.expand_as.default", "self other", expand_as},
    {"prims.broadcast_in_dim.default", "a shape broadcast_dimensions", broadcast_in_dim},
    {"aten.slice.Tensor", kSlice, slice},
    {"aten.slice_copy.Tensor", kSlice, slice},
    {"aten.select.int", "self dim index", select},
    {"aten.select_copy.int", "self dim index", select},
    {"aten.narrow.default", "self dim start length", narrow},
    {"aten.narrow_copy.default", "self dim start length", narrow},
    {"aten.split.Tensor", "self split_size dim=0", split},
    {"aten.split.sizes", "self split_size dim=0", split},
    {"aten.split.default", "self split_sizes dim=0", split},
    {"aten.split_copy.Tensor", "self split_size dim=0", split},
    {"aten.split_with_sizes.default", "self split_sizes dim=0", split},
    {"aten.split_with_sizes_copy.default", "self split_sizes dim=0", split},
    {"aten.unsafe_split.Tensor", "self split_size dim=0", split},
    {"aten.unsafe_split_with_sizes.default", "self split_sizes dim=0", split},
    {"aten.chunk.default", "self chunks dim=0", chunk},
    {"aten.unsafe_chunk.default", "self chunks dim=0", chunk},
    {"aten.tensor_split.sections", "self sections dim=0", tensor_split},
    {"aten.tensor_split.indices", "self indices dim=0", tensor_split},
    {"aten.unbind.int", "self dim=0", unbind},
    {"aten.unbind_copy.int", "self dim=0", unbind},
    {"aten.diagonal.default", "self offset=0 dim1=0 dim2=1", diagonal},
    {"aten.diagonal_copy.default", "self offset=0 dim1=0 dim2=1", diagonal},
    {"aten.unfold.default", "self dimension size step", unfold},
    {"aten.unfold_copy.default", "self dimension size step", unfold},
};

}  // namespace

Rows view_rows() { return kRows; }

}  // namespace shardproof::lower::aten
