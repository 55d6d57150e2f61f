// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Convolution and its backward, as a product with windows: with x padded and cut into windows X[n, c, o.., k..],
// out[n, f, o..] = sum_{c, k..} X[n, c, o.., k..] w[f, c, k..]. The transposed convolution is the convolution of the dilated input with
// the mirrored weight.
#include <algorithm>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

struct Conv {
  Ints stride, padding, dilation, output_padding;
  int64_t groups = 1, n = 0;  // n spatial dimensions
  Ints spatial() const {
    Ints d;
    for (int64_t k = 0; k < n; ++k) d.push_back(2 + k);
    return d;
  }
};
Ints spread(Ints v, int64_t n) {
  if (v.size() == 1) v.assign(at(n), v[0]);
  if (static_cast<int64_t>(v.size()) != n) malformed("convolution: a list of another length than the number of dimensions");
  return v;
}

// [N, C, sizes..] -> [N, G, C/G, o.., k..]
NodeId windows(Call& c, const Conv& v, NodeId x, const Ints& kernel, const Ints& low, const Ints& high, const Ints& interior,
               const Ints& stride, const Ints& dilation) {
  Ints lo{0, 0}, hi{0, 0}, in{0, 0}, steps;
  for (int64_t k = 0; k < v.n; ++k) {
    lo.push_back(low[at(k)]);
    hi.push_back(high[at(k)]);
    in.push_back(interior[at(k)]);
    steps.insert(steps.end(), {stride[at(k)], dilation[at(k)]});
  }
  const NodeId padded = c.b.pad(x, c.num(0, c.b.dtype(x)), lo, hi, in);
  for (int64_t k = 0; k < v.n; ++k)
    if (kernel[at(k)] < 1 || stride[at(k)] < 1 || dilation[at(k)] < 1 ||
        (kernel[at(k)] - 1) * dilation[at(k)] + 1 > c.shape(padded)[at(2 + k)])
      malformed("convolution: the kernel does not fit the input");
  NodeId w = c.b.window(padded, v.spatial(), kernel, steps);
  Shape s = c.shape(w);
  if (s[1] % v.groups) malformed("convolution: the groups do not divide the channels");
  s.insert(s.begin() + 1, v.groups);
  s[2] /= v.groups;
  return c.b.reshape(w, s);
}
// windows [N, G, C/G, o.., k..] with weight [F, C/G, k..] -> [N, F, o..]
NodeId product(Call& c, const Conv& v, NodeId win, NodeId w) {
  Shape sw = c.shape(w);
  if (sw[0] % v.groups || sw[1] != c.shape(win)[2]) malformed("convolution: the weight's channels do not fit");
  sw.insert(sw.begin() + 1, sw[0] / v.groups);
  sw[0] = v.groups;
  const NodeId wg = c.b.reshape(w, sw);  // [G, F/G, C/G, k..]
  Ints contract{2, 2};
  for (int64_t k = 0; k < v.n; ++k) contract.insert(contract.end(), {3 + v.n + k, 3 + k});
  // Result: [G, N, o.., F/G]
  NodeId y = c.b.contract(win, wg, {1, 0}, contract, c.b.dtype(win));
  Ints perm{1, 0, 2 + v.n};
  for (int64_t k = 0; k < v.n; ++k) perm.push_back(2 + k);
  y = c.b.transpose(y, perm);  // [N, G, F/G, o..]
  Shape s = c.shape(y);
  s[1] *= s[2];
  s.erase(s.begin() + 2);
  return c.b.reshape(y, s);
}
NodeId forward(Call& c, const Conv& v, NodeId x, NodeId w) {
  const Shape sw = c.shape(w);
  const Ints kernel(sw.begin() + 2, sw.end()), none(at(v.n), 0);
  return product(c, v, windows(c, v, x, kernel, v.padding, v.padding, none, v.stride, v.dilation), w);
}
// Windows beyond those that were asked for (output_padding makes the input larger) are cut off: dims from `first` to sizes `out`.
NodeId crop(Call& c, const Conv& v, NodeId y, int64_t first, const Shape& out) {
  for (int64_t k = 0; k < v.n; ++k) {
    if (c.shape(y)[at(first + k)] < out[at(2 + k)]) malformed("convolution: sizes do not fit");
    y = c.b.slice_dim(y, first + k, 0, out[at(2 + k)]);
  }
  return y;
}
// y with sizes `out`: the gradient of forward's input, and the transposed convolution. w [F, C/G, k..], x [N, F, ..]
NodeId transposed(Call& c, const Conv& v, NodeId x, NodeId w, const Ints& out) {
  Shape sw = c.shape(w);
  if (sw[0] % v.groups) malformed("convolution: the groups do not divide the channels");
  const Ints kernel(sw.begin() + 2, sw.end());
  // w [G, F/G, C/G, k..] -> mirrored, [G, C/G, F/G, k..] -> [C, F/G, k..]
  NodeId m = c.b.reverse(w, v.spatial());
  sw.insert(sw.begin() + 1, sw[0] / v.groups);
  sw[0] = v.groups;
  m = c.b.reshape(m, sw);
  Ints perm{0, 2, 1};
  for (int64_t k = 0; k < v.n; ++k) perm.push_back(3 + k);
  m = c.b.transpose(m, perm);
  Shape sm = c.shape(m);
  sm[0] *= sm[1];
  sm.erase(sm.begin() + 1);
  m = c.b.reshape(m, sm);
  Ints low, high, interior;
  const Ints ones(at(v.n), 1);
  for (int64_t k = 0; k < v.n; ++k) {
    const int64_t reach = v.dilation[at(k)] * (kernel[at(k)] - 1), size = c.shape(x)[at(2 + k)];
    low.push_back(reach - v.padding[at(k)]);
    interior.push_back(v.stride[at(k)] - 1);
    const int64_t dilated = size == 0 ? 0 : size + (size - 1) * (v.stride[at(k)] - 1);
    high.push_back(out[at(k)] + reach - low.back() - dilated);
  }
  return product(c, v, windows(c, v, x, kernel, low, high, interior, ones, v.dilation), m);
}
// The gradient of the weight: sum over N and o.. of g [N, F, o..] and windows [N, G, C/G, o.., k..] -> [F, C/G, k..]
NodeId weight_gradient(Call& c, const Conv& v, NodeId x, NodeId g, const Shape& sw) {
  const Ints kernel(sw.begin() + 2, sw.end()), none(at(v.n), 0);
  NodeId win = windows(c, v, x, kernel, v.padding, v.padding, none, v.stride, v.dilation);
  Shape sg = c.shape(g);
  win = crop(c, v, win, 3, sg);
  sg.insert(sg.begin() + 1, v.groups);
  sg[2] /= v.groups;
  const NodeId gg = c.b.reshape(g, sg);  // [N, G, F/G, o..]
  Ints contract{0, 0};
  for (int64_t k = 0; k < v.n; ++k) contract.insert(contract.end(), {3 + k, 3 + k});
  const NodeId y = c.b.contract(gg, win, {1, 1}, contract, c.b.dtype(g));  // [G, F/G, C/G, k..]
  return c.b.reshape(y, sw);
}

Conv conv_of(Call& c, NodeId x, NodeId w,
             size_t first) {  // arguments stride padding dilation transposed output_padding groups from `first`
  Conv v;
  v.n = c.b.rank(x) - 2;
  if (v.n < 1 || v.n > 3 || c.b.rank(w) != c.b.rank(x)) malformed("convolution of tensors of these ranks");
  v.stride = spread(c.ints(first), v.n);
  v.padding = spread(c.ints(first + 1), v.n);
  v.dilation = spread(c.ints(first + 2), v.n);
  v.output_padding = spread(c.ints(first + 4), v.n);
  v.groups = c.i(first + 5);
  if (v.groups < 1) malformed("convolution: groups");
  return v;
}
Ints transposed_sizes(Call& c, const Conv& v, NodeId x, NodeId w) {
  Ints out;
  for (int64_t k = 0; k < v.n; ++k)
    out.push_back((c.shape(x)[at(2 + k)] - 1) * v.stride[at(k)] - 2 * v.padding[at(k)] + v.dilation[at(k)] * (c.shape(w)[at(2 + k)] - 1) +
                  v.output_padding[at(k)] + 1);
  return out;
}
NodeId with_bias(Call& c, NodeId y, std::optional<NodeId> bias) {
  if (!bias) return y;
  Shape s(c.shape(y).size(), 1);
  s[1] = c.shape(y)[1];
  return c.add(y, c.b.reshape(*bias, s));
}
// input weight bias stride padding dilation transposed output_padding groups
Value convolution(Call& c) {
  NodeId x = c.t(0);
  const NodeId w = c.t(1);
  const bool single = c.b.rank(x) + 1 == c.b.rank(w);  // no batch dimension
  if (single) x = c.unsqueeze(x, 0);
  const Conv v = conv_of(c, x, w, 3);
  NodeId y = with_bias(c, c.flag(6) ? transposed(c, v, x, w, transposed_sizes(c, v, x, w)) : forward(c, v, x, w), c.opt(2));
  if (single) {
    Shape s = c.shape(y);
    s.erase(s.begin());
    y = c.b.reshape(y, s);
  }
  return c.out(y);
}
// conv1d, conv2d, conv3d: input weight bias stride padding dilation groups
Value conv_n(Call& c) {
  if (c.args[4].is(Value::Kind::String)) {
    // 'same' pads (kernel - 1) dilation in all, the larger half at the end; symmetric unless that is odd.
    const NodeId w = c.t(1);
    const int64_t n = c.b.rank(w) - 2;
    if (n < 1) malformed("convolution of tensors of these ranks");
    const Ints dilation = spread(c.ints(5), n);
    std::vector<Value> pads;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t total = c.args[4].text == "valid" ? 0 : (c.shape(w)[at(2 + k)] - 1) * dilation[at(k)];
      if (c.args[4].text != "valid" && c.args[4].text != "same") malformed("padding = " + c.args[4].text);
      if (total % 2) unsupported("padding = 'same' of an even kernel");
      pads.push_back(Value::integer(total / 2));
    }
    c.args[4] = Value::list(std::move(pads));
  }
  return c.l.call("aten.convolution.default",
                  {c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5], Value::boolean(false), Value::integer(0), c.args[6]});
}
// input weight bias stride padding output_padding groups dilation
Value conv_transpose_n(Call& c) {
  return c.l.call("aten.convolution.default",
                  {c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[7], Value::boolean(true), c.args[5], c.args[6]});
}
// grad_output input weight bias_sizes stride padding dilation transposed output_padding groups output_mask
Value convolution_backward(Call& c) {
  const NodeId g = c.t(0), x = c.t(1), w = c.t(2);
  const Conv v = conv_of(c, x, w, 4);
  const Ints mask = c.ints(10);
  if (mask.size() != 3) malformed("output_mask has three entries");
  std::vector<Value> out(3);
  const Shape sx = c.shape(x);
  if (c.flag(7)) {  // forward was transposed(x): its input gradient is the plain convolution, x and g change places for the weight
    if (mask[0]) out[0] = c.out(crop(c, v, forward(c, v, g, w), 2, sx));
    if (mask[1]) out[1] = c.out(weight_gradient(c, v, g, x, c.shape(w)));
  } else {
    if (mask[0]) out[0] = c.out(transposed(c, v, g, w, Ints(sx.begin() + 2, sx.end())));
    if (mask[1]) out[1] = c.out(weight_gradient(c, v, x, g, c.shape(w)));
  }
  Ints others{0};
  for (int64_t k = 0; k < v.n; ++k) others.push_back(2 + k);
  if (mask[2]) out[2] = c.out(c.sum(g, others, false));
  return Value::list(std::move(out));
}

constexpr const char* kConvN = "input weight bias=None stride=1 padding=0 dilation=1 groups=1";
constexpr const char* kConvPadding = "input weight bias=None stride=1 padding='valid' dilation=1 groups=1";
constexpr const char* kTransposeN = "input weight bias=None stride=1 padding=0 output_padding=0 groups=1 dilation=1";
const OpRow kRows[] = {
    {"aten.convolution.default", "input weight bias stride padding dilation transposed output_padding groups", convolution},
    {"aten.conv1d.default", kConvN, conv_n},
    {"aten.conv2d.default", kConvN, conv_n},
    {"aten.conv3d.default", kConvN, conv_n},
    {"aten.conv1d.padding", kConvPadding, conv_n},
    {"aten.conv2d.padding", kConvPadding, conv_n},
    {"aten.conv3d.padding", kConvPadding, conv_n},
    {"aten.conv_transpose1d.default", kTransposeN, conv_transpose_n},
    {"aten.conv_transpose2d.input", kTransposeN, conv_transpose_n},
    {"aten.conv_transpose3d.input", kTransposeN, conv_transpose_n},
    {"aten.convolution_backward.default",
     "grad_output input weight bias_sizes stride padding dilation transposed output_padding groups output_mask", convolution_backward},
};

}  // namespace

Rows convolution_rows() { return kRows; }

}  // namespace shardproof::lower::aten
