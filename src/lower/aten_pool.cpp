// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Pooling and nearest upsampling, by windows and slices.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

struct Pool {
  Ints kernel, stride, padding, dilation, dims;
  int64_t n = 0;
};
Ints spread(Ints v, int64_t n) {
  if (v.size() == 1) v.assign(at(n), v[0]);
  if (static_cast<int64_t>(v.size()) != n) malformed("pooling: a list of another length than the number of dimensions");
  return v;
}
Pool pool_of(Call& c, NodeId x, int64_t n, size_t kernel_at, bool ceil_mode) {
  Pool p;
  p.n = n;
  if (c.b.rank(x) < n + 1) malformed("pooling of too few dimensions");
  p.kernel = spread(c.ints(kernel_at), n);
  p.stride = c.ints(kernel_at + 1).empty() ? p.kernel : spread(c.ints(kernel_at + 1), n);
  p.padding = spread(c.ints(kernel_at + 2), n);
  p.dilation.assign(at(n), 1);
  for (int64_t k = 0; k < n; ++k) p.dims.push_back(c.b.rank(x) - n + k);
  if (ceil_mode)
    for (int64_t k = 0; k < n; ++k)
      if (p.stride[at(k)] && (c.shape(x)[at(p.dims[at(k)])] + 2 * p.padding[at(k)] - p.kernel[at(k)]) % p.stride[at(k)])
        unsupported("pooling with ceil_mode");
  return p;
}
NodeId windows(Call& c, const Pool& p, NodeId x, NodeId fill) {
  Ints lo(at(c.b.rank(x)), 0), none = lo, steps;
  for (int64_t k = 0; k < p.n; ++k) {
    lo[at(p.dims[at(k)])] = p.padding[at(k)];
    steps.insert(steps.end(), {p.stride[at(k)], p.dilation[at(k)]});
    const int64_t reach = (p.kernel[at(k)] - 1) * p.dilation[at(k)] + 1;
    if (p.kernel[at(k)] < 1 || p.stride[at(k)] < 1 || p.dilation[at(k)] < 1 || reach > c.shape(x)[at(p.dims[at(k)])] + 2 * p.padding[at(k)])
      malformed("pooling: the kernel does not fit the input");
  }
  return c.b.window(c.b.pad(x, fill, lo, lo, none), p.dims, p.kernel, steps);
}
Ints last(Call& c, NodeId x, int64_t n) {
  Ints d;
  for (int64_t k = c.b.rank(x) - n; k < c.b.rank(x); ++k) d.push_back(k);
  return d;
}
int64_t dims_in_name(const char* name) {
  for (const char* s = name; *s; ++s)
    if (*s >= '1' && *s <= '3' && s[1] == 'd') return *s - '0';
  return 2;
}

// self kernel stride padding dilation ceil_mode
Value max_pool(Call& c) {
  const NodeId x = c.t(0);
  const int64_t n = dims_in_name(c.row.name);
  Pool p = pool_of(c, x, n, 1, c.flag(5));
  p.dilation = spread(c.ints(4), n);
  if (!ir::is_float(c.b.dtype(x))) unsupported("pooling of integers");
  const NodeId w = windows(c, p, x, c.lit(Literal::real(-INFINITY), c.b.dtype(x)));
  const NodeId y = c.b.reduce(Fn::Max, w, last(c, w, n), false);
  if (c.row.tag == Fn::None) return c.out(y);
  // The index of the maximum within the input's plane: the maximum's place in its window, mapped by the windows of the positions.
  Shape plane;
  int64_t size = 1;
  for (const int64_t d : p.dims) {
    plane.push_back(c.shape(x)[at(d)]);
    size *= plane.back();
  }
  Shape flat = c.shape(y);
  int64_t cells = 1;
  for (const int64_t k : p.kernel) cells *= k;
  flat.push_back(cells);
  const NodeId place = c.b.arg_reduce(Fn::Max, c.b.reshape(w, flat), static_cast<int64_t>(flat.size()) - 1, DType::I64);
  const NodeId positions = c.expand(c.b.reshape(c.b.iota(DType::I64, {size}, 0), plane), c.shape(x));
  const NodeId pw = c.b.reshape(windows(c, p, positions, c.num(-1, DType::I64)), flat);
  Ints dims = last(c, y, c.b.rank(y));
  Ints all = dims;
  dims.push_back(-1);
  return c.outs({y, c.b.take(pw, {place}, dims, all, c.shape(y), ir::IndexMode::Strict)});
}
// grad self kernel stride padding dilation ceil_mode indices: each gradient goes to the place of its maximum
Value max_pool_backward(Call& c) {
  const NodeId g = c.t(0), x = c.t(1), i = c.t(7);
  const int64_t n = dims_in_name(c.row.name), r = c.b.rank(x);
  if (r < n || c.b.rank(g) != r) malformed("pooling: the gradient's shape does not fit");
  Shape lead(c.shape(x)), flat_x, flat_g;
  int64_t plane = 1, out = 1;
  for (int64_t d = 0; d < r - n; ++d) {
    flat_x.push_back(lead[at(d)]);
    flat_g.push_back(lead[at(d)]);
  }
  for (int64_t d = r - n; d < r; ++d) {
    plane *= lead[at(d)];
    out *= c.shape(g)[at(d)];
  }
  flat_x.push_back(plane);
  flat_g.push_back(out);
  Ints dims, all;
  for (int64_t d = 0; d < static_cast<int64_t>(flat_x.size()); ++d) {
    dims.push_back(d + 1 < static_cast<int64_t>(flat_x.size()) ? d : -1);
    all.push_back(d);
  }
  const NodeId zeros = c.b.constant(Literal::integer(0), c.b.dtype(g), flat_x);
  const NodeId y = c.b.scatter(zeros, c.b.reshape(g, flat_g), {c.b.reshape(i, flat_g)}, dims, all, Fn::Add, false, ir::IndexMode::Strict);
  return c.out(c.b.reshape(y, lead));
}
// self kernel stride padding ceil_mode count_include_pad divisor_override
Value avg_pool(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const int64_t n = dims_in_name(c.row.name);
  const Pool p = pool_of(c, x, n, 1, c.flag(4));
  const NodeId w = windows(c, p, x, c.num(0, t));
  const NodeId s = c.sum(w, last(c, w, n), false);
  const bool padded = std::any_of(p.padding.begin(), p.padding.end(), [](int64_t v) { return v != 0; });
  if (c.args.size() > 6 && c.has(6)) return c.out(c.div(s, c.num(c.i(6), t)));
  if (padded && !c.flag(5)) {
    const NodeId ones = windows(c, p, c.full_like(x, Literal::integer(1)), c.num(0, t));
    return c.out(c.div(s, c.sum(ones, last(c, ones, n), false)));
  }
  int64_t cells = 1;
  for (const int64_t k : p.kernel) cells *= k;
  return c.out(c.div(s, c.num(cells, t)));
}
// Bin k of m over n elements: [floor(k n / m), ceil((k + 1) n / m))
Value adaptive_avg_pool(Call& c) {
  NodeId x = c.t(0);
  const int64_t n = dims_in_name(c.row.name), r = c.b.rank(x);
  if (r < n) malformed("pooling of too few dimensions");
  const Ints sizes = spread(c.ints(1), n);
  const DType t = c.b.dtype(x);
  for (int64_t k = 0; k < n; ++k) {
    const int64_t d = r - n + k, have = c.shape(x)[at(d)], want = sizes[at(k)];
    if (want < 1 || want > 100000) malformed("adaptive pooling to this size");
    if (have % want == 0) {
      Shape s = c.shape(x);
      s[at(d)] = want;
      s.insert(s.begin() + d + 1, have / want);
      x = c.mean(c.b.reshape(x, s), {d + 1}, false);
      continue;
    }
    Nodes bins;
    for (int64_t j = 0; j < want; ++j) {
      const int64_t from = j * have / want, to = ((j + 1) * have + want - 1) / want;
      bins.push_back(c.div(c.sum(c.b.slice_dim(x, d, from, to), {d}, true), c.num(to - from, t)));
    }
    x = c.b.concat(bins, d);
  }
  return c.out(x);
}
// grad self kernel stride padding ceil_mode count_include_pad divisor_override: each gradient, divided, goes to all cells of its window.
// That is the windowed sum of the dilated gradient, with stride 1.
Value avg_pool_backward(Call& c) {
  NodeId g = c.t(0);
  const NodeId x = c.t(1);
  const DType t = c.b.dtype(g);
  const int64_t n = dims_in_name(c.row.name);
  const Pool p = pool_of(c, x, n, 2, c.flag(5));
  const bool padded = std::any_of(p.padding.begin(), p.padding.end(), [](int64_t v) { return v != 0; });
  if (c.has(7)) {
    g = c.div(g, c.num(c.i(7), t));
  } else if (padded && !c.flag(6)) {
    const NodeId ones = windows(c, p, c.full_like(x, Literal::integer(1)), c.num(0, c.b.dtype(x)));
    g = c.div(g, c.to(c.sum(ones, last(c, ones, n), false), t));
  } else {
    int64_t cells = 1;
    for (const int64_t k : p.kernel) cells *= k;
    g = c.div(g, c.num(cells, t));
  }
  Ints lo(at(c.b.rank(g)), 0), hi = lo, interior = lo, steps;
  for (int64_t k = 0; k < n; ++k) {
    const size_t d = at(p.dims[at(k)]);
    const int64_t have = c.shape(g)[d], size = c.shape(x)[d], reach = p.kernel[at(k)] - 1;
    if (have < 1 || p.kernel[at(k)] < 1 || p.stride[at(k)] < 1) malformed("pooling: the kernel does not fit the input");
    lo[d] = reach - p.padding[at(k)];
    interior[d] = p.stride[at(k)] - 1;
    hi[d] = size + reach - lo[d] - (have + (have - 1) * interior[d]);
    steps.insert(steps.end(), {1, 1});
  }
  const NodeId w = c.b.window(c.b.pad(g, c.num(0, t), lo, hi, interior), p.dims, p.kernel, steps);
  return c.out(c.sum(w, last(c, w, n), false));
}
// grad self: each bin's gradient, divided by its size, goes to all its elements
Value adaptive_avg_pool_backward(Call& c) {
  NodeId g = c.t(0);
  const Shape sx = c.shape(c.t(1));
  const DType t = c.b.dtype(g);
  const int64_t n = dims_in_name(c.row.name), r = c.b.rank(g);
  if (r != static_cast<int64_t>(sx.size()) || r < n) malformed("pooling: the gradient's shape does not fit");
  for (int64_t d = r - n; d < r; ++d) {
    const int64_t have = sx[at(d)], want = c.shape(g)[at(d)];
    if (want < 1 || want > 100000 || have < 1) malformed("adaptive pooling to this size");
    if (have % want == 0) {
      Shape wide = c.shape(g), merged = wide;
      merged[at(d)] = have;
      wide.insert(wide.begin() + d + 1, have / want);
      Ints dims;
      for (int64_t k = 0; k < r; ++k) dims.push_back(k > d ? k + 1 : k);
      g = c.b.reshape(c.b.broadcast(c.div(g, c.num(have / want, t)), wide, dims), merged);
      continue;
    }
    NodeId sum = ir::kNoNode;
    for (int64_t j = 0; j < want; ++j) {
      const int64_t from = j * have / want, to = ((j + 1) * have + want - 1) / want;
      Shape s = c.shape(g);
      s[at(d)] = to - from;
      const NodeId part = place(c, c.expand(c.div(c.b.slice_dim(g, d, j, j + 1), c.num(to - from, t)), s), d, have, {from, to, 1});
      sum = sum == ir::kNoNode ? part : c.add(sum, part);
    }
    g = sum;
  }
  return c.out(g);
}
// grad output_size input_size scales..: the copies' gradients add up
Value upsample_nearest_backward(Call& c) {
  NodeId g = c.t(0);
  const Shape to = c.ints(2);
  const int64_t n = dims_in_name(c.row.name), r = c.b.rank(g);
  if (r != static_cast<int64_t>(to.size()) || r < n) malformed("upsampling: sizes do not fit");
  for (int64_t d = r - n; d < r; ++d) {
    const int64_t have = c.shape(g)[at(d)];
    if (to[at(d)] < 1 || have % to[at(d)]) unsupported("upsampling by a fraction");
    Shape s = c.shape(g);
    s[at(d)] = to[at(d)];
    s.insert(s.begin() + d + 1, have / to[at(d)]);
    g = c.sum(c.b.reshape(g, s), {d + 1}, false);
  }
  return c.out(g);
}
// self output_size scales..: out[i] = x[floor(i in / out)] where in divides out
Value upsample_nearest(Call& c) {
  NodeId x = c.t(0);
  const int64_t n = dims_in_name(c.row.name), r = c.b.rank(x);
  Ints sizes;
  if (c.has(1)) {
    sizes = spread(c.ints(1), n);
  } else {
    if (!c.args[2].is(Value::Kind::List) || static_cast<int64_t>(c.args[2].items.size()) != n) unsupported("upsampling by a scale");
    for (int64_t k = 0; k < n; ++k) {
      const Value& f = c.args[2].items[at(k)];
      if (!f.number() || r < n) unsupported("upsampling by a scale");
      const double size =
          std::floor(static_cast<double>(c.shape(x)[at(r - n + k)]) * (f.is(Value::Kind::Float) ? f.d : static_cast<double>(f.i)));
      if (!(size >= 0 && size < 1e9)) malformed("upsampling to this size");
      sizes.push_back(static_cast<int64_t>(size));
    }
  }
  if (r < n) malformed("upsampling of too few dimensions");
  for (int64_t k = 0; k < n; ++k) {
    const int64_t d = r - n + k, have = c.shape(x)[at(d)];
    if (have == 0 || sizes[at(k)] % have) unsupported("upsampling by a fraction");
    Shape wide = c.shape(x), merged = wide;
    merged[at(d)] = sizes[at(k)];
    wide.insert(wide.begin() + d + 1, sizes[at(k)] / have);
    Ints dims;
    for (int64_t j = 0; j < r; ++j) dims.push_back(j > d ? j + 1 : j);
    x = c.b.reshape(c.b.broadcast(x, wide, dims), merged);
  }
  return c.out(x);
}

constexpr const char* kAvgBackward = "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override";
constexpr const char* kMax = "self kernel_size stride=[] padding=0 dilation=1 ceil_mode=False";
constexpr const char* kMaxBackward = "grad_output self kernel_size stride padding dilation ceil_mode indices";
const OpRow kRows[] = {
    {"aten.max_pool1d.default", kMax, max_pool},
    {"aten.max_pool2d.default", kMax, max_pool},
    {"aten.max_pool3d.default", kMax, max_pool},
    {"aten.max_pool2d_with_indices.default", kMax, max_pool, Fn::Max},
    {"aten.max_pool3d_with_indices.default", kMax, max_pool, Fn::Max},
    {"aten.max_pool2d_with_indices_backward.default", kMaxBackward, max_pool_backward},
    {"aten.max_pool3d_with_indices_backward.default", kMaxBackward, max_pool_backward},
    {"aten.avg_pool1d.default", "self kernel_size stride=[] padding=0 ceil_mode=False count_include_pad=True", avg_pool},
    {"aten.avg_pool2d.default", "self kernel_size stride=[] padding=0 ceil_mode=False count_include_pad=True divisor_override=None",
     avg_pool},
    {"aten.avg_pool3d.default", "self kernel_size stride=[] padding=0 ceil_mode=False count_include_pad=True divisor_override=None",
     avg_pool},
    {"aten.adaptive_avg_pool1d.default", "self output_size", adaptive_avg_pool},
    {"aten.adaptive_avg_pool2d.default", "self output_size", adaptive_avg_pool},
    {"aten._adaptive_avg_pool2d.default", "self output_size", adaptive_avg_pool},
    {"aten._adaptive_avg_pool3d.default", "self output_size", adaptive_avg_pool},
    {"aten.adaptive_avg_pool3d.default", "self output_size", adaptive_avg_pool},
    {"aten._adaptive_avg_pool2d_backward.default", "grad_output self", adaptive_avg_pool_backward},
    {"aten._adaptive_avg_pool3d_backward.default", "grad_output self", adaptive_avg_pool_backward},
    {"aten.avg_pool2d_backward.default", kAvgBackward, avg_pool_backward},
    {"aten.avg_pool3d_backward.default", kAvgBackward, avg_pool_backward},
    {"aten.upsample_nearest3d.default", "self output_size scales_d=None scales_h=None scales_w=None", upsample_nearest},
    {"aten._upsample_nearest_exact1d.default", "self output_size scales=None", upsample_nearest},
    {"aten._upsample_nearest_exact2d.default", "self output_size scales_h=None scales_w=None", upsample_nearest},
    {"aten.upsample_nearest1d.vec", "input output_size scale_factors", upsample_nearest},
    {"aten.upsample_nearest3d.vec", "input output_size scale_factors", upsample_nearest},
    {"aten.upsample_nearest1d_backward.default", "grad_output output_size input_size scales=None", upsample_nearest_backward},
    {"aten.upsample_nearest2d_backward.default", "grad_output output_size input_size scales_h=None scales_w=None",
     upsample_nearest_backward},
    {"aten.upsample_nearest3d_backward.default", "grad_output output_size input_size scales_d=None scales_h=None scales_w=None",
     upsample_nearest_backward},
    {"aten.upsample_nearest1d.default", "self output_size scales=None", upsample_nearest},
    {"aten.upsample_nearest2d.default", "self output_size scales_h=None scales_w=None", upsample_nearest},
    {"aten.upsample_nearest2d.vec", "input output_size scale_factors", upsample_nearest},
};

}  // namespace

Rows pool_rows() { return kRows; }

}  // namespace shardproof::lower::aten
