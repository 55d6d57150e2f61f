// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Windowed operators of XLA: convolution, reduce-window and select-and-scatter, by Pad (base dilation is interior padding), Window, Reverse
// and then Contract or Reduce. A reduce-window over the whole past of a dimension is a cumulative Scan.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using hlo::WindowDim;
using ir::DType;
using ir::Fn;
using ir::NodeId;
using ir::Shape;

namespace {

constexpr int64_t kMaxWindow = int64_t{1} << 40;

bool trivial(const WindowDim& w) { return w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0 && w.base_dilation == 1; }

struct Labels {          // of one operand of a convolution: which dim is which
  int64_t first = -1;    // b, o
  int64_t feature = -1;  // f, i
  std::vector<int64_t> spatial;
};

// "b01f": the place of each letter and digit. `first` and `feature` are the letters of the two dims that are not spatial.
bool parse_labels(std::string_view text, char first, char feature, Labels& out) {
  out.spatial.assign(text.size() < 2 ? 0 : text.size() - 2, -1);
  for (size_t k = 0; k < text.size(); ++k) {
    const char ch = text[k];
    int64_t* place = ch == first ? &out.first : ch == feature ? &out.feature : nullptr;
    if (!place && ch >= '0' && ch <= '9' && static_cast<size_t>(ch - '0') < out.spatial.size())
      place = &out.spatial[static_cast<size_t>(ch - '0')];
    if (!place || *place != -1) return false;
    *place = static_cast<int64_t>(k);
  }
  return out.first >= 0 && out.feature >= 0 && std::find(out.spatial.begin(), out.spatial.end(), -1) == out.spatial.end();
}

}  // namespace

NodeId HloLowering::pad_for_windows(NodeId x, NodeId value, const std::vector<WindowDim>& window) {
  std::vector<int64_t> low, high, interior;
  for (const WindowDim& w : window) {
    need(w.size > 0 && w.stride > 0 && w.base_dilation > 0 && w.window_dilation > 0, "has a window that is not positive");
    for (int64_t v : {w.size, w.stride, w.base_dilation, w.window_dilation, w.pad_low, w.pad_high}) {
      need(v < kMaxWindow && v > -kMaxWindow, "has a window out of range");
    }
    low.push_back(w.pad_low);
    high.push_back(w.pad_high);
    interior.push_back(w.base_dilation - 1);
  }
  return b.pad(x, value, low, high, interior);
}

// Windows of x, whose dims are those of `window` in order. Window dims of one element are strided slices; `window_dims` are the dims of the
// result, at its end, that stand for the others.
NodeId HloLowering::windows(NodeId x, const std::vector<WindowDim>& window, std::vector<int64_t>& window_dims) {
  std::vector<int64_t> from(window.size(), 0), to = b.shape(x), step(window.size(), 1), dims, sizes, how;
  for (size_t d = 0; d < window.size(); ++d) {
    const WindowDim& w = window[d];
    if (w.size == 1) {
      step[d] = w.stride;
    } else {
      dims.push_back(static_cast<int64_t>(d));
      sizes.push_back(w.size);
      how.insert(how.end(), {w.stride, w.window_dilation});
    }
  }
  window_dims.clear();
  for (size_t k = 0; k < dims.size(); ++k) window_dims.push_back(static_cast<int64_t>(window.size() + k));
  return b.window(slice(x, from, to, step), dims, sizes, how);
}

Value HloLowering::convolution(const Call& c) {
  NodeId x = node(c, 0), w = node(c, 1);
  const hlo::Type& t = result_type(c);
  // "b01f_01io->b01f"
  const std::string& labels = c.ins.dim_labels;
  const size_t under = labels.find('_'), arrow = labels.find("->");
  need(under != std::string::npos && arrow != std::string::npos && under < arrow, "has no dim_labels");
  Labels lhs, rhs, out;
  const bool good = parse_labels(std::string_view(labels).substr(0, under), 'b', 'f', lhs) &&
                    parse_labels(std::string_view(labels).substr(under + 1, arrow - under - 1), 'o', 'i', rhs) &&
                    parse_labels(std::string_view(labels).substr(arrow + 2), 'b', 'f', out);
  need(good, "has dim_labels that are not understood");
  const size_t n = lhs.spatial.size();
  need(rhs.spatial.size() == n && out.spatial.size() == n && b.shape(x).size() == n + 2 && b.shape(w).size() == n + 2 &&
           t.shape.size() == n + 2,
       "has dim_labels of another rank");
  std::vector<WindowDim> window = c.ins.window;
  if (window.empty()) {
    for (size_t k = 0; k < n; ++k) {
      window.emplace_back();
      window.back().size = b.shape(w)[rhs.spatial[k]];
    }
  }
  need(window.size() == n, "has a window of another rank");
  for (size_t k = 0; k < n; ++k) need(window[k].size == b.shape(w)[rhs.spatial[k]], "has a window size that differs from its kernel");
  const int64_t groups = c.ins.feature_group_count, batches = c.ins.batch_group_count;
  need(groups > 0 && batches > 0 && (groups == 1 || batches == 1), "has wrong group counts");
  x = convert(x, t.dtype);
  w = convert(w, t.dtype);

  // Canonical order: x [b, f, spatial], w [o, i, spatial].
  std::vector<int64_t> order_x{lhs.first, lhs.feature}, order_w{rhs.first, rhs.feature};
  order_x.insert(order_x.end(), lhs.spatial.begin(), lhs.spatial.end());
  order_w.insert(order_w.end(), rhs.spatial.begin(), rhs.spatial.end());
  x = transpose(x, order_x);
  w = transpose(w, order_w);
  std::vector<int64_t> reversed;
  for (size_t k = 0; k < n; ++k) {
    if (window[k].reversal && window[k].size > 1) reversed.push_back(static_cast<int64_t>(k) + 2);
  }
  w = b.reverse(w, reversed);
  std::vector<WindowDim> all(2);
  all.insert(all.end(), window.begin(), window.end());
  std::vector<int64_t> window_dims;
  x = windows(pad_for_windows(x, zero(t.dtype), all), all, window_dims);
  // Kernel dims of one element have no window dim to be summed with.
  Shape kernel{b.shape(w)[0], b.shape(w)[1]};
  for (const WindowDim& d : window) {
    if (d.size != 1) kernel.push_back(d.size);
  }
  w = reshape(w, kernel);

  // Groups become a batch dimension in front, of both operands.
  const int64_t g = groups * batches;
  std::vector<int64_t> batch;
  int64_t shift = 0;
  const int64_t kernels = b.shape(w)[0];
  need(kernels % g == 0, "has a number of kernels that its groups do not divide");
  if (g > 1) {
    Shape s = b.shape(x);
    const size_t d = batches > 1 ? 0 : 1;  // the dim that is cut into groups
    need(s[d] % g == 0, "has a batch or feature dimension that its groups do not divide");
    Shape split(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(d));
    split.insert(split.end(), {g, s[d] / g});
    split.insert(split.end(), s.begin() + static_cast<std::ptrdiff_t>(d) + 1, s.end());
    x = reshape(x, split);
    std::vector<int64_t> front{static_cast<int64_t>(d)};
    for (int64_t k = 0; k < static_cast<int64_t>(split.size()); ++k) {
      if (k != static_cast<int64_t>(d)) front.push_back(k);
    }
    x = transpose(x, front);
    Shape cut{g, kernels / g};
    cut.insert(cut.end(), b.shape(w).begin() + 1, b.shape(w).end());
    w = reshape(w, cut);
    batch = {0, 0};
    shift = 1;
  }
  need(b.shape(x)[1 + shift] == b.shape(w)[1 + shift], "has features that differ from its kernel's");
  std::vector<int64_t> pairs{1 + shift, 1 + shift};
  for (size_t k = 0; k < window_dims.size(); ++k) {
    pairs.insert(pairs.end(), {window_dims[k] + shift, static_cast<int64_t>(k) + 2 + shift});
  }
  NodeId y = b.contract(x, w, batch, pairs, t.dtype);  // [g?, b, spatial, o]
  if (g > 1) {                                         // the groups' outputs lie side by side: [b, spatial, g, o]
    std::vector<int64_t> perm;
    for (int64_t k = 1; k + 1 < b.rank(y); ++k) perm.push_back(k);
    perm.insert(perm.end(), {0, b.rank(y) - 1});
    y = transpose(y, perm);
    Shape s(b.shape(y).begin(), b.shape(y).end() - 2);
    s.push_back(kernels);
    y = reshape(y, s);
  }
  std::vector<int64_t> back(n + 2);
  back[out.first] = 0;
  back[out.feature] = static_cast<int64_t>(n) + 1;
  for (size_t k = 0; k < n; ++k) back[out.spatial[k]] = static_cast<int64_t>(k) + 1;
  return Value::of(transpose(y, back));
}

Value HloLowering::reduce_window(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty() && xs.size() % 2 == 0, "needs as many initial values as operands");
  const size_t n = xs.size() / 2;
  const uint32_t region = called(c, 0);
  const std::vector<WindowDim>& window = c.ins.window;
  if (n > 1) {
    if (const auto out = pick_with_payload(c, window)) return *out;
  }
  std::vector<Value> out;
  for (size_t k = 0; k < n; ++k) {
    const NodeId x = xs[k], init = xs[n + k];
    const Fn fn = need_reduction(c, region, k, n);
    need(window.size() == b.shape(x).size(), "has a window of another rank");
    need(b.shape(init).empty() && b.dtype(init) == b.dtype(x), "has an initial value that is not a scalar of its operand's type");
    // A window over everything before (or after) each position.
    std::vector<size_t> active;
    for (size_t d = 0; d < window.size(); ++d) {
      if (!trivial(window[d])) active.push_back(d);
    }
    const bool scannable = fn == Fn::Add || fn == Fn::Mul || fn == Fn::Max || fn == Fn::Min;
    if (active.size() == 1 && scannable && b.dtype(x) != DType::Bool && neutral(fn, init)) {
      const WindowDim& w = window[active[0]];
      const int64_t extent = b.shape(x)[active[0]], dim = static_cast<int64_t>(active[0]);
      if (w.stride == 1 && w.base_dilation == 1 && w.window_dilation == 1 && w.size >= extent && extent > 0 && w.size < kMaxWindow) {
        std::optional<std::pair<bool, bool>> form;  // reverse, exclusive
        if (w.pad_low == w.size - 1 && w.pad_high == 0) form = {false, false};
        if (w.pad_low == 0 && w.pad_high == w.size - 1) form = {true, false};
        if (w.pad_low == w.size && w.pad_high == -1) form = {false, true};
        if (w.pad_low == -1 && w.pad_high == w.size) form = {true, true};
        if (form) {
          out.push_back(Value::of(b.scan(fn, x, dim, form->first, form->second)));
          continue;
        }
      }
    }
    std::vector<int64_t> window_dims;
    const NodeId pieces = windows(pad_for_windows(x, init, window), window, window_dims);
    out.push_back(Value::of(with_init(fn, b.reduce(fn, pieces, window_dims), init)));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

// Which element of each window of x is its extreme: a number below the product of the window sizes, in row-major order, the first of
// equals. Padding is never picked, unless a window is nothing but padding.
NodeId HloLowering::pick_in_windows(NodeId x, const std::vector<WindowDim>& window, Fn fn, Shape& counts) {
  const size_t r = window.size();
  bool padded = false;
  for (const WindowDim& w : window) padded = padded || w.pad_low > 0 || w.pad_high > 0 || w.base_dilation > 1;
  int64_t elements = 1;
  const auto flatten = [&](NodeId tensor, NodeId padding) {
    std::vector<int64_t> window_dims;
    const NodeId pieces = windows(pad_for_windows(tensor, padding, window), window, window_dims);
    counts.assign(b.shape(pieces).begin(), b.shape(pieces).begin() + static_cast<std::ptrdiff_t>(r));
    elements = 1;
    for (int64_t d : window_dims) elements *= b.shape(pieces)[d];
    Shape flat = counts;
    flat.push_back(elements);
    return reshape(pieces, flat);
  };
  const NodeId worst = extreme(fn == Fn::Max, b.dtype(x));
  const NodeId pieces = flatten(x, worst);
  const int64_t last = static_cast<int64_t>(r);
  NodeId pick = b.arg_reduce(fn, pieces, last, DType::I64);
  if (padded) {
    // Where everything is as bad as padding, the first element that is none.
    const NodeId real = flatten(integer(1, DType::I32, b.shape(x)), integer(0, DType::I32));
    const NodeId first = literal(real) ? integer(0, DType::I64, counts) : b.arg_reduce(Fn::Max, real, last, DType::I64);
    const NodeId hopeless = map(Fn::Eq, {b.reduce(fn, pieces, {last}), worst}, DType::Bool);
    pick = map(Fn::Select, {hopeless, first, pick}, DType::I64);
  }
  return pick;
}

// The place along `dim` of the picked elements, in the operand.
NodeId HloLowering::place_of_pick(NodeId pick, const std::vector<WindowDim>& window, const Shape& counts, size_t dim) {
  const WindowDim& w = window[dim];
  NodeId place = b.iota(DType::I64, counts, static_cast<int64_t>(dim));
  if (w.stride != 1) place = map(Fn::Mul, {place, integer(w.stride)}, DType::I64);
  if (w.size > 1) {  // the digit of this dim in the number of the element
    int64_t after = 1, before = 1;
    for (size_t d = 0; d < dim; ++d) before *= window[d].size;
    for (size_t d = dim + 1; d < window.size(); ++d) after *= window[d].size;
    NodeId digit = after == 1 ? pick : map(Fn::Div, {pick, integer(after)}, DType::I64);
    if (before > 1) digit = map(Fn::Rem, {digit, integer(w.size)}, DType::I64);
    if (w.window_dilation != 1) digit = map(Fn::Mul, {digit, integer(w.window_dilation)}, DType::I64);
    place = map(Fn::Add, {place, digit}, DType::I64);
  }
  if (w.pad_low != 0) place = map(Fn::Sub, {place, integer(w.pad_low)}, DType::I64);
  return place;
}

// A window reduction of several operands that keeps, of all of them, the elements at the place where the first is extreme.
std::optional<Value> HloLowering::pick_with_payload(const Call& c, const std::vector<WindowDim>& window) {
  const size_t n = c.in.size() / 2;
  std::vector<std::optional<int64_t>> inits;
  for (size_t k = 0; k < n; ++k) inits.push_back(integer_value(node(c, n + k)));
  size_t guard = 0;
  const auto fn = payload_pick(called(c, 0), n, inits, guard);
  const auto positive = [&](NodeId x) {
    int fuel = 200;
    return within(x, 0, (int64_t{1} << 31) - 1, fuel);
  };
  if (!fn || !positive(node(c, guard)) || window.size() != b.shape(node(c, 0)).size()) return std::nullopt;
  Shape counts;
  bool padded = false;
  for (const WindowDim& w : window) padded = padded || w.pad_low != 0 || w.pad_high != 0 || w.base_dilation > 1;
  const NodeId pick = pick_in_windows(node(c, 0), window, *fn, counts);
  std::vector<int64_t> all(counts.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<Value> out;
  for (size_t k = 0; k < n; ++k) {
    const NodeId x = node(c, k);
    need(b.shape(x) == b.shape(node(c, 0)), "reduces operands of different shapes");
    std::optional<size_t> counted;
    for (size_t d = 0; d < counts.size() && !padded; ++d) {
      if (ir::is_int(b.dtype(x)) && counts_along(x, static_cast<int64_t>(d)) && b.shape(x)[d] > 1) counted = d;
    }
    if (counted) {
      out.push_back(Value::of(convert(place_of_pick(pick, window, counts, *counted), b.dtype(x))));
      continue;
    }
    std::vector<int64_t> window_dims;
    const NodeId pieces = windows(pad_for_windows(x, node(c, n + k), window), window, window_dims);
    Shape flat = counts;
    flat.push_back(1);
    for (int64_t d : window_dims) flat.back() *= b.shape(pieces)[d];
    std::vector<int64_t> dims = all;
    dims.push_back(-1);
    out.push_back(Value::of(b.take(reshape(pieces, flat), {pick}, dims, all, counts, ir::IndexMode::Clamp)));
  }
  return Value::of(std::move(out));
}

// select-and-scatter(x, source, init): every window of x picks one of its elements, and the source's element is added there. (The gradient
// of max-pooling.)
Value HloLowering::select_and_scatter(const Call& c) {
  const NodeId x = node(c, 0), source = node(c, 1), init = node(c, 2);
  const std::vector<WindowDim>& window = c.ins.window;
  const int64_t r = b.rank(x);
  need(static_cast<int64_t>(window.size()) == r && b.rank(source) == r, "has a window of another rank");
  Fn fn;
  if (!selects_first_extreme(called(c, 0), fn)) throw Unsupported{"its select region is neither >= nor <="};
  const auto how = combiner(called(c, 1));
  if (!how || how->kind != Combiner::Kind::Fn || (how->fn != Fn::Add && how->fn != Fn::Max && how->fn != Fn::Min && how->fn != Fn::Mul)) {
    throw Unsupported{"its scatter region is no sum, product, maximum or minimum"};
  }
  for (const WindowDim& w : window) {
    if (w.base_dilation != 1 || w.window_dilation != 1) throw Unsupported{"dilated select-and-scatter"};
  }
  Shape counts;
  const NodeId pick = pick_in_windows(x, window, fn, counts);
  need(counts == b.shape(source), "has a source that does not fit its windows");
  std::vector<NodeId> operands;
  std::vector<int64_t> dims, run(static_cast<size_t>(r));
  std::iota(run.begin(), run.end(), 0);
  for (size_t d = 0; d < window.size(); ++d) {
    if (trivial(window[d])) {
      dims.push_back(static_cast<int64_t>(d));
      continue;
    }
    operands.push_back(place_of_pick(pick, window, counts, d));
    dims.push_back(-static_cast<int64_t>(operands.size()));
  }
  const NodeId base = broadcast(init, b.shape(x), {});
  if (operands.empty()) return Value::of(map(how->fn, {base, source}, b.dtype(x)));
  return Value::of(b.scatter(base, source, operands, dims, run, how->fn, false, ir::IndexMode::Fill));  // an all-padding window: outside
}

}  // namespace shardproof::lower
