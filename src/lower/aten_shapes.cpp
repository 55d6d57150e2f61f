// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Operators that rearrange elements and own their result (cat, pad, repeat, flip, tril, slice_scatter ...), and helpers on shapes.
#include "lower/aten_shapes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardproof::lower::aten {

namespace {
size_t at(int64_t d) { return static_cast<size_t>(d); }
}  // namespace

Shape infer_shape(Ints sizes, int64_t n) {
  int64_t known = 1, open = -1;
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] == -1) {
      if (open >= 0) malformed("two sizes are -1");
      open = static_cast<int64_t>(k);
    } else if (sizes[k] < 0 || __builtin_mul_overflow(known, sizes[k], &known)) {
      malformed("a size is negative or too large");
    }
  }
  if (open >= 0) {
    if (known == 0 || n % known != 0) malformed(fmt::format("{} elements do not fill [{}]", n, fmt::join(sizes, ", ")));
    sizes[at(open)] = n / known;
  } else if (known != n) {
    malformed(fmt::format("{} elements do not fill [{}]", n, fmt::join(sizes, ", ")));
  }
  return sizes;
}

Range slice_range(Call& c, int64_t n, size_t start, size_t end, size_t step) {
  Range r;
  r.step = c.i(step);
  if (r.step <= 0) malformed("a slice step must be positive");
  const auto clamp = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + n : v, 0, n); };
  r.start = c.has(start) ? clamp(c.i(start)) : 0;
  r.stop = std::max(r.start, c.has(end) ? clamp(c.i(end)) : n);
  return r;
}

NodeId diagonal_of(Call& c, NodeId x, int64_t offset, int64_t d1, int64_t d2) {
  const Shape s = c.shape(x);
  const int64_t n1 = s[at(d1)], n2 = s[at(d2)];
  const int64_t n = offset >= 0 ? std::min(n1, n2 - offset) : std::min(n1 + offset, n2);
  Shape r;
  if (n <= 0) {
    for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d)
      if (d != d1 && d != d2) r.push_back(s[at(d)]);
    r.push_back(0);
    return c.b.constant(Literal::integer(0), c.b.dtype(x), r);
  }
  Ints dims(s.size());
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d)
    if (d != d1 && d != d2) {
      dims[at(d)] = static_cast<int64_t>(r.size());
      r.push_back(s[at(d)]);
    }
  const auto last = static_cast<int64_t>(r.size());
  r.push_back(n);
  NodeId i = c.b.iota(DType::I64, {n}, 0), j = i;
  if (offset < 0) i = c.add(i, c.num(-offset, DType::I64));
  if (offset > 0) j = c.add(j, c.num(offset, DType::I64));
  dims[at(d1)] = -1;
  dims[at(d2)] = -2;
  return c.b.take(x, {i, j}, dims, {last}, r, ir::IndexMode::Strict);
}

NodeId place(Call& c, NodeId x, int64_t dim, int64_t n, const Range& r) {
  const Shape s = c.shape(x);
  const int64_t have = s[at(dim)];
  const int64_t span = have == 0 ? 0 : have + (have - 1) * (r.step - 1);
  if ((r.stop - r.start + r.step - 1) / r.step != have) malformed("the part does not fit the slice");
  Ints low(s.size(), 0), high(s.size(), 0), interior(s.size(), 0);
  low[at(dim)] = r.start;
  interior[at(dim)] = r.step - 1;
  high[at(dim)] = n - r.start - span;
  return c.b.pad(x, c.num(0, c.b.dtype(x)), low, high, interior);
}

NodeId triangle(Call& c, const Shape& s, Fn fn, int64_t k) {
  const auto r = static_cast<int64_t>(s.size());
  if (r < 2) malformed("a triangle needs two dimensions");
  const Shape last{s[at(r - 2)], s[at(r - 1)]};
  const NodeId row = positions(c, last, 0), column = positions(c, last, 1);
  return c.compare(fn, column, k == 0 ? row : c.add(row, c.num(k, DType::I64)));
}

namespace {

Value cat(Call& c) {
  Nodes xs = c.ts(0);
  if (xs.empty()) malformed("cat of nothing");
  std::vector<Operand> operands;
  for (const NodeId x : xs) operands.push_back({false, {}, x});
  const DType t = result_type(c.b, operands);
  Nodes parts;
  for (const NodeId x : xs)
    if (c.shape(x) != Shape{0}) parts.push_back(c.to(x, t));  // an empty vector is skipped, whatever the other shapes
  if (parts.empty()) return c.out(c.to(xs[0], t));
  const int64_t r = c.b.rank(parts[0]), d = c.dim(1, r);
  if (r == 0) malformed("cat of tensors without dimensions");
  for (const NodeId x : parts) {
    const Shape s = c.shape(x), first = c.shape(parts[0]);
    bool fits = s.size() == first.size();
    for (size_t k = 0; fits && k < s.size(); ++k) fits = s[k] == first[k] || static_cast<int64_t>(k) == d;
    if (!fits) malformed(fmt::format("cat of [{}] and [{}]", fmt::join(first, ", "), fmt::join(s, ", ")));
  }
  return c.out(c.b.concat(parts, d));
}

Value stack(Call& c) {
  Nodes xs = c.ts(0);
  if (xs.empty()) malformed("stack of nothing");
  const int64_t d = c.wrap(c.i(1), c.b.rank(xs[0]) + 1);
  std::vector<Operand> operands;
  for (const NodeId x : xs) operands.push_back({false, {}, x});
  const DType t = result_type(c.b, operands);
  const Shape first = c.shape(xs[0]);
  for (NodeId& x : xs) {
    if (c.shape(x) != first) malformed("stack of different shapes");
    x = c.unsqueeze(c.to(x, t), d);
  }
  return c.out(c.b.concat(xs, d));
}

Value pad_with(Call& c, NodeId x, const Ints& pad, NodeId value) {
  const auto r = c.b.rank(x);
  if (pad.size() % 2 != 0 || static_cast<int64_t>(pad.size() / 2) > r) malformed("pad: the list does not fit the tensor");
  Ints low(at(r), 0), high(at(r), 0), none(at(r), 0);
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    low[at(r) - 1 - k] = pad[2 * k];
    high[at(r) - 1 - k] = pad[2 * k + 1];
    if (c.shape(x)[at(r) - 1 - k] + pad[2 * k] + pad[2 * k + 1] < 0) malformed("pad crops more than there is");
  }
  return c.out(c.b.pad(x, value, low, high, none));
}
Value constant_pad(Call& c) {
  const NodeId x = c.t(0);
  return pad_with(c, x, c.ints(1), c.lit(c.lit(2), c.b.dtype(x)));
}
// Border elements are repeated or the inside is mirrored; as concatenations of slices.
Value border_pad(Call& c, bool mirror) {
  NodeId x = c.t(0);
  const Ints pad = c.ints(1);
  const int64_t r = c.b.rank(x);
  if (pad.size() % 2 != 0 || static_cast<int64_t>(pad.size() / 2) > r) malformed("pad: the list does not fit the tensor");
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const int64_t d = r - 1 - static_cast<int64_t>(k), n = c.shape(x)[at(d)], lo = pad[2 * k], hi = pad[2 * k + 1];
    if (lo < 0 || hi < 0) unsupported("negative padding");
    if (mirror && (lo >= n || hi >= n)) malformed("padding is larger than the tensor");
    if (!mirror && n == 0) malformed("padding of an empty dimension");
    Nodes parts;
    if (mirror) {
      if (lo) parts.push_back(c.b.reverse(c.b.slice_dim(x, d, 1, lo + 1), {d}));
      parts.push_back(x);
      if (hi) parts.push_back(c.b.reverse(c.b.slice_dim(x, d, n - 1 - hi, n - 1), {d}));
    } else {
      const auto repeat = [&](NodeId edge, int64_t count) {
        Shape s = c.shape(edge);
        s[at(d)] = count;
        return c.expand(edge, s);
      };
      if (lo) parts.push_back(repeat(c.b.slice_dim(x, d, 0, 1), lo));
      parts.push_back(x);
      if (hi) parts.push_back(repeat(c.b.slice_dim(x, d, n - 1, n), hi));
    }
    x = c.b.concat(parts, d);
  }
  return c.out(x);
}
Value pad(Call& c) {
  const std::string mode = c.str(2);
  if (mode != "constant" && c.has(3) && c.f(3) != 0) unsupported("padding mode with a value");
  if (mode == "reflect") return border_pad(c, true);
  if (mode == "replicate") return border_pad(c, false);
  if (mode != "constant") unsupported("padding mode " + mode);
  const NodeId x = c.t(0);
  return pad_with(c, x, c.ints(1), c.has(3) ? c.lit(c.lit(3), c.b.dtype(x)) : c.num(0, c.b.dtype(x)));
}
// The gradient of border_pad: each element of the gradient goes where its value came from. grad self padding
Value border_pad_backward(Call& c) {
  const bool mirror = c.row.tag == Fn::Max;
  NodeId g = c.t(0);
  const NodeId x = c.t(1);
  const Ints pad = c.ints(2);
  const int64_t r = c.b.rank(x);
  if (pad.size() % 2 != 0 || static_cast<int64_t>(pad.size() / 2) > r || c.b.rank(g) != r)
    malformed("pad: the list does not fit the tensor");
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const int64_t d = r - 1 - static_cast<int64_t>(k), n = c.shape(x)[at(d)], lo = pad[2 * k], hi = pad[2 * k + 1];
    if (lo < 0 || hi < 0) unsupported("negative padding");
    if (c.shape(g)[at(d)] != n + lo + hi || (mirror ? lo >= n || hi >= n : n == 0)) malformed("pad: the gradient's shape does not fit");
    NodeId sum = c.b.slice_dim(g, d, lo, lo + n);
    const auto add_at = [&](NodeId part, int64_t from) { sum = c.add(sum, place(c, part, d, n, {from, from + c.shape(part)[at(d)], 1})); };
    if (lo) {
      const NodeId part = c.b.slice_dim(g, d, 0, lo);
      if (mirror)
        add_at(c.b.reverse(part, {d}), 1);
      else
        add_at(c.sum(part, {d}, true), 0);
    }
    if (hi) {
      const NodeId part = c.b.slice_dim(g, d, lo + n, lo + n + hi);
      if (mirror)
        add_at(c.b.reverse(part, {d}), n - 1 - hi);
      else
        add_at(c.sum(part, {d}, true), n - 1);
    }
    g = sum;
  }
  return c.out(g);
}
Value reflection_pad(Call& c) { return border_pad(c, true); }
Value replication_pad(Call& c) { return border_pad(c, false); }

Value repeat(Call& c) {
  NodeId x = c.t(0);
  const Ints times = c.ints(1);
  Shape s = c.shape(x);
  if (times.size() < s.size()) malformed("repeat with fewer numbers than dimensions");
  s.insert(s.begin(), times.size() - s.size(), 1);
  Shape split, wide, merged;
  Ints dims;
  for (size_t d = 0; d < s.size(); ++d) {
    if (times[d] < 0) malformed("repeat a negative number of times");
    dims.push_back(static_cast<int64_t>(wide.size()) + 1);
    split.push_back(s[d]);
    wide.push_back(times[d]);
    wide.push_back(s[d]);
    merged.push_back(times[d] * s[d]);
  }
  x = c.b.reshape(x, split);
  return c.out(c.b.reshape(c.b.broadcast(x, wide, dims), merged));
}
Value tile(Call& c) {
  Ints times = c.ints(1);
  const int64_t r = c.rank(0);
  if (static_cast<int64_t>(times.size()) < r) times.insert(times.begin(), at(r) - times.size(), 1);
  std::vector<Value> items;
  for (const int64_t n : times) items.push_back(Value::integer(n));
  c.args[1] = Value::list(items);
  return repeat(c);
}
Value repeat_interleave(Call& c) {
  NodeId x = c.t(0);
  const int64_t times = c.i(1);
  int64_t d = 0;
  if (c.has(2))
    d = c.dim(2, c.b.rank(x));
  else
    x = c.b.reshape(x, {ir::num_elements(c.shape(x))});
  if (times < 0) malformed("repeat a negative number of times");
  Shape wide = c.shape(x), merged = wide;
  Ints dims;
  for (int64_t k = 0; k < static_cast<int64_t>(wide.size()); ++k) dims.push_back(k > d ? k + 1 : k);
  merged[at(d)] *= times;
  wide.insert(wide.begin() + d + 1, times);
  return c.out(c.b.reshape(c.b.broadcast(x, wide, dims), merged));
}
Value flip(Call& c) {
  const NodeId x = c.t(0);
  Ints dims = c.ints(1);
  for (int64_t& d : dims) d = c.wrap(d, c.b.rank(x));
  std::sort(dims.begin(), dims.end());
  return c.out(c.b.reverse(x, dims));
}
Value roll(Call& c) {
  NodeId x = c.t(0);
  const Shape s = c.shape(x);
  Ints shifts = c.ints(1), dims = c.ints(2);
  const bool flat = dims.empty();
  if (flat) {
    if (shifts.size() != 1) malformed("roll: one shift for the flat tensor");
    x = c.b.reshape(x, {ir::num_elements(s)});
    dims = {0};
  }
  if (shifts.size() != dims.size()) malformed("roll: as many shifts as dimensions");
  for (size_t k = 0; k < dims.size(); ++k) {
    const int64_t d = c.wrap(dims[k], c.b.rank(x)), n = c.shape(x)[at(d)];
    if (n == 0) continue;
    const int64_t by = ((shifts[k] % n) + n) % n;
    if (by) x = c.b.concat({c.b.slice_dim(x, d, n - by, n), c.b.slice_dim(x, d, 0, n - by)}, d);
  }
  return c.out(flat ? c.b.reshape(x, s) : x);
}
Value tril_triu(Call& c) {
  const NodeId x = c.t(0);
  return c.out(c.where(triangle(c, c.shape(x), c.row.tag, c.i(1)), x, c.num(0, c.b.dtype(x))));
}
Value slice_scatter(Call& c) {
  const NodeId x = c.t(0);
  const Shape s = c.shape(x);
  const int64_t d = c.dim(2, c.b.rank(x));
  const Range r = slice_range(c, s[at(d)], 3, 4, 5);
  Ints a(s.size(), 0), e(s), st(s.size(), 1);
  a[at(d)] = r.start;
  e[at(d)] = r.stop;
  st[at(d)] = r.step;
  Shape part = s;
  part[at(d)] = (r.stop - r.start + r.step - 1) / r.step;
  return c.out(replace_slice(c.b, x, c.expand(c.to(c.t(1), c.b.dtype(x)), part), a, e, st));
}
Value select_scatter(Call& c) {
  const NodeId x = c.t(0);
  const Shape s = c.shape(x);
  const int64_t d = c.dim(2, c.b.rank(x));
  int64_t k = c.i(3);
  if (k < 0) k += s[at(d)];
  if (k < 0 || k >= s[at(d)]) malformed("select_scatter: index out of range");
  Ints a(s.size(), 0), e(s), st(s.size(), 1);
  a[at(d)] = k;
  e[at(d)] = k + 1;
  return c.out(replace_slice(c.b, x, c.unsqueeze(c.to(c.t(1), c.b.dtype(x)), d), a, e, st));
}
Value slice_backward(Call& c) {
  const NodeId g = c.t(0);
  const Shape s = c.ints(1);
  const int64_t d = c.dim(2, static_cast<int64_t>(s.size()));
  if (c.b.rank(g) != static_cast<int64_t>(s.size())) malformed("the gradient's dimensions do not fit");
  return c.out(place(c, g, d, s[at(d)], slice_range(c, s[at(d)], 3, 4, 5)));
}
Value select_backward(Call& c) {
  const NodeId g = c.t(0);
  const Shape s = c.ints(1);
  const int64_t d = c.dim(2, static_cast<int64_t>(s.size()));
  if (c.b.rank(g) + 1 != static_cast<int64_t>(s.size())) malformed("the gradient's dimensions do not fit");
  int64_t k = c.i(3);
  if (k < 0) k += s[at(d)];
  if (k < 0 || k >= s[at(d)]) malformed("select_backward: index out of range");
  return c.out(place(c, c.unsqueeze(g, d), d, s[at(d)], {k, k + 1, 1}));
}
Value meshgrid(Call& c) {
  const Nodes xs = c.ts(0);
  // 'xy' exchanges the first two dimensions of every result.
  const bool xy = c.args.size() > 1 && c.has(1) && c.str(1) == "xy" && xs.size() >= 2;
  Shape s;
  for (const NodeId x : xs) {
    if (c.b.rank(x) > 1) malformed("meshgrid of matrices");
    s.push_back(ir::num_elements(c.shape(x)));
  }
  Nodes out;
  if (xy) std::swap(s[0], s[1]);
  for (size_t k = 0; k < xs.size(); ++k) {
    const size_t place = xy && k < 2 ? 1 - k : k;
    out.push_back(c.b.broadcast(c.b.reshape(xs[k], {s[place]}), s, {static_cast<int64_t>(place)}));
  }
  return c.outs(out);
}
Value diag_embed(Call& c) {
  const NodeId x = c.t(0);
  const int64_t offset = c.i(1), r = c.b.rank(x) + 1;
  const int64_t d1 = c.wrap(c.i(2), r), d2 = c.wrap(c.i(3), r);
  if (d1 != r - 2 || d2 != r - 1 || offset != 0) unsupported("diag_embed off the main diagonal");
  Shape s = c.shape(x);
  const int64_t n = s.back();
  s.push_back(n);
  return c.out(c.where(triangle(c, s, Fn::Eq, 0), c.expand(c.unsqueeze(x, r - 2), s), c.num(0, c.b.dtype(x))));
}
Value one_hot(Call& c) {
  const NodeId x = c.t(0);
  const int64_t n = c.i(1);
  if (n < 1) unsupported("one_hot whose number of classes depends on data");
  Shape s = c.shape(x);
  s.push_back(n);
  const NodeId k = positions(c, s, static_cast<int64_t>(s.size()) - 1);
  return c.out(c.to(c.compare(Fn::Eq, c.to(c.unsqueeze(x, c.b.rank(x)), DType::I64), k), DType::I64));
}
Value sum_to_size(Call& c) {
  const NodeId x = c.t(0);
  const Shape s = c.shape(x), to = c.ints(1);
  if (to.size() > s.size()) malformed("sum_to_size to more dimensions");
  Ints dims;
  const size_t lead = s.size() - to.size();
  for (size_t d = 0; d < s.size(); ++d) {
    if (d < lead || (to[d - lead] == 1 && s[d] != 1))
      dims.push_back(static_cast<int64_t>(d));
    else if (to[d - lead] != s[d])
      malformed("sum_to_size: sizes do not fit");
  }
  return c.out(c.b.reshape(dims.empty() ? x : c.sum(x, dims, false), to));
}

// ---- words of kernel contracts

Value item(Call& c) {
  if (!c.args[0].is(Value::Kind::List) || c.i(1) < 0 || c.i(1) >= static_cast<int64_t>(c.args[0].items.size())) malformed("no such result");
  return c.args[0].items[at(c.i(1))];
}
Value rotate_halves(Call& c) {  // [x1, x2] -> [x1 cos - x2 sin, x2 cos + x1 sin]
  const NodeId x = c.t(0), cosine = c.to(c.t(1), c.b.dtype(x)), sine = c.to(c.t(2), c.b.dtype(x));
  const int64_t d = c.b.rank(x) - 1, n = c.shape(x).back();
  if (d < 0 || n % 2) malformed("rotation of an odd size");
  const NodeId a = c.b.slice_dim(x, d, 0, n / 2), b = c.b.slice_dim(x, d, n / 2, n);
  return c.out(c.b.concat({c.sub(c.mul(a, cosine), c.mul(b, sine)), c.add(c.mul(b, cosine), c.mul(a, sine))}, d));
}

const OpRow kRows[] = {
    {"shardproof.item.default", "list index", item},
    {"shardproof.rotate_halves.default", "x cos sin", rotate_halves},
    {"aten.cat.default", "tensors dim=0", cat},
    {"aten.concat.default", "tensors dim=0", cat},
    {"aten.concatenate.default", "tensors dim=0", cat},
    {"prims.cat.default", "tensors dim", cat},
    {"aten.stack.default", "tensors dim=0", stack},
    {"aten.constant_pad_nd.default", "self pad value=0", constant_pad},
    {"aten.pad.default", "self pad mode='constant' value=None", pad},
    {"aten.reflection_pad1d.default", "self padding", reflection_pad},
    {"aten.reflection_pad2d.default", "self padding", reflection_pad},
    {"aten.reflection_pad3d.default", "self padding", reflection_pad},
    {"aten.replication_pad1d.default", "self padding", replication_pad},
    {"aten.replication_pad2d.default", "self padding", replication_pad},
    {"aten.replication_pad3d.default", "self padding", replication_pad},
    {"aten.reflection_pad1d_backward.default", "grad_output self padding", border_pad_backward, Fn::Max},
    {"aten.reflection_pad2d_backward.default", "grad_output self padding", border_pad_backward, Fn::Max},
    {"aten.reflection_pad3d_backward.default", "grad_output self padding", border_pad_backward, Fn::Max},
    {"aten.replication_pad1d_backward.default", "grad_output self padding", border_pad_backward, Fn::None},
    {"aten.replication_pad2d_backward.default", "grad_output self padding", border_pad_backward, Fn::None},
    {"aten.replication_pad3d_backward.default", "grad_output self padding", border_pad_backward, Fn::None},
    {"aten.repeat.default", "self repeats", repeat},
    {"aten.tile.default", "self dims", tile},
    {"aten.repeat_interleave.self_int", "self repeats dim=None output_size=None", repeat_interleave},
    {"aten.flip.default", "self dims", flip},
    {"prims.rev.default", "a dims", flip},
    {"aten.roll.default", "self shifts dims=[]", roll},
    {"aten.tril.default", "self diagonal=0", tril_triu, Fn::Le},
    {"aten.triu.default", "self diagonal=0", tril_triu, Fn::Ge},
    {"aten.slice_scatter.default", "self src dim=0 start=None end=None step=1", slice_scatter},
    {"aten.select_scatter.default", "self src dim index", select_scatter},
    {"aten.slice_backward.default", "grad_output input_sizes dim start end step", slice_backward},
    {"aten.select_backward.default", "grad_output input_sizes dim index", select_backward},
    {"aten.meshgrid.default", "tensors", meshgrid},
    {"aten.meshgrid.indexing", "tensors indexing=None", meshgrid},
    {"aten.diag_embed.default", "self offset=0 dim1=-2 dim2=-1", diag_embed},
    {"aten.one_hot.default", "self num_classes=-1", one_hot},
    {"aten.sum_to_size.default", "self size", sum_to_size},
};

}  // namespace

Rows misc_rows() { return kRows; }

}  // namespace shardproof::lower::aten
