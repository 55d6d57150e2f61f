// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Products: MatMul, BatchMatMul with broadcasting, Einsum, BiasAdd, Conv2D without gradients.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {
namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

// Sums over, and drops, the dimensions whose labels `keep` lacks.
void sum_out(Call& c, NodeId& x, Ints& labels, const std::set<int64_t>& keep) {
  Ints dims, left;
  for (size_t k = 0; k < labels.size(); ++k) {
    if (keep.count(labels[k]))
      left.push_back(labels[k]);
    else
      dims.push_back(static_cast<int64_t>(k));
  }
  x = c.b.reduce(Fn::Add, x, dims);
  labels = left;
}

// Drops dimensions of extent 1 that the other side has larger: they broadcast.
void drop_ones(Call& c, NodeId& x, Ints& labels, const std::map<int64_t, int64_t>& extents) {
  Shape s;
  Ints left;
  for (size_t k = 0; k < labels.size(); ++k) {
    int64_t n = c.b.shape(x)[k];
    if (n == 1 && extents.at(labels[k]) != 1) continue;
    s.push_back(n);
    left.push_back(labels[k]);
  }
  x = c.b.reshape(x, s);
  labels = left;
}

Values mat_mul(Call& c) {
  NodeId x = c.t(0), y = c.t(1);
  if (c.rank(0) != 2 || c.rank(1) != 2) throw Unsupported{"operands that are no matrices"};
  bool tx = c.attr("transpose_a", 0) != 0, ty = c.attr("transpose_b", 0) != 0;
  Ints lx = tx ? Ints{1, 0} : Ints{0, 1}, ly = ty ? Ints{2, 1} : Ints{1, 2};
  return {contract_labels(c, x, lx, y, ly, {0, 2})};
}

// ..., [m, k] x ..., [k, n]; leading dimensions broadcast (V2, V3).
Values batch_mat_mul(Call& c) {
  NodeId x = c.t(0), y = c.t(1);
  int64_t rx = c.rank(0), ry = c.rank(1);
  if (rx < 2 || ry < 2) throw Unsupported{"operands that are no matrices"};
  bool ax = c.attr("adj_x", 0) != 0, ay = c.attr("adj_y", 0) != 0;
  if (ir::is_complex(c.dtype(0))) throw Unsupported{"complex numbers"};
  if (c.attr_t("Tout", c.dtype(0)) != c.dtype(0)) throw Unsupported{"a result of another type"};
  // labels: m = 0, k = 1, n = 2, batch dimensions 3, 4, ... counted from the last one
  Ints lx, ly, out;
  int64_t batch = std::max(rx, ry) - 2;
  for (int64_t k = rx - 3; k >= 0; --k) lx.push_back(3 + k);
  for (int64_t k = ry - 3; k >= 0; --k) ly.push_back(3 + k);
  for (int64_t k = batch - 1; k >= 0; --k) out.push_back(3 + k);
  if (ax)
    lx.insert(lx.end(), {1, 0});
  else
    lx.insert(lx.end(), {0, 1});
  if (ay)
    ly.insert(ly.end(), {2, 1});
  else
    ly.insert(ly.end(), {1, 2});
  out.insert(out.end(), {0, 2});
  return {contract_labels(c, x, lx, y, ly, out)};
}

struct Term {
  std::string before, after;  // labels around "..."
  bool ellipsis = false;
};

Term term_of(std::string_view text) {
  Term t;
  std::string* part = &t.before;
  for (size_t k = 0; k < text.size(); ++k) {
    char ch = text[k];
    if (ch == ' ') continue;
    if (ch == '.') {
      if (t.ellipsis || text.substr(k, 3) != "...") throw Unsupported{fmt::format("the equation part '{}'", text)};
      t.ellipsis = true;
      part = &t.after;
      k += 2;
    } else if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z')) {
      *part += ch;
    } else {
      throw Unsupported{fmt::format("the equation part '{}'", text)};
    }
  }
  return t;
}

// Labels of a tensor: letters as they are, dimensions of "..." as 1000 + (distance from the last).
Ints labels_of(const Term& t, int64_t rank) {
  int64_t fixed = static_cast<int64_t>(t.before.size() + t.after.size());
  int64_t extra = rank - fixed;
  if (extra < 0 || (extra > 0 && !t.ellipsis)) throw Unsupported{"an equation that does not fit the rank of its operand"};
  Ints out;
  for (char ch : t.before) out.push_back(ch);
  for (int64_t k = extra - 1; k >= 0; --k) out.push_back(1000 + k);
  for (char ch : t.after) out.push_back(ch);
  return out;
}

Values einsum(Call& c) {
  std::string equation = c.attr_s("equation", "");
  size_t arrow = equation.find("->");
  if (arrow == std::string::npos) throw Unsupported{fmt::format("the equation '{}' without '->'", equation)};
  std::string left = equation.substr(0, arrow);
  Term result = term_of(std::string_view(equation).substr(arrow + 2));
  std::vector<Term> terms;
  for (size_t start = 0; start <= left.size();) {
    size_t comma = std::min(left.find(',', start), left.size());
    terms.push_back(term_of(std::string_view(left).substr(start, comma - start)));
    start = comma + 1;
  }
  if (terms.size() != c.count() || terms.empty() || terms.size() > 2)
    throw Unsupported{fmt::format("the equation '{}' for {} operands", equation, c.count())};
  std::vector<Ints> labels;
  int64_t extra = 0;
  for (size_t k = 0; k < terms.size(); ++k) {
    labels.push_back(labels_of(terms[k], c.rank(k)));
    extra = std::max(extra, c.rank(k) - static_cast<int64_t>(terms[k].before.size() + terms[k].after.size()));
    Ints sorted = labels.back();
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) throw Unsupported{"a label twice in one operand (a diagonal)"};
  }
  if (extra > 0 && !result.ellipsis) throw Unsupported{"a sum over '...'"};
  Ints out = labels_of(result, static_cast<int64_t>(result.before.size() + result.after.size()) + extra);
  Ints sorted = out;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) throw Unsupported{"a label twice in the result"};
  if (terms.size() == 1) {
    NodeId x = c.t(0);
    sum_out(c, x, labels[0], std::set<int64_t>(out.begin(), out.end()));
    Ints perm;
    for (int64_t label : out) {
      auto it = std::find(labels[0].begin(), labels[0].end(), label);
      if (it == labels[0].end()) throw Unsupported{"a label of the result that no operand has"};
      perm.push_back(it - labels[0].begin());
    }
    return {c.b.transpose(x, perm)};
  }
  return {contract_labels(c, c.t(0), labels[0], c.t(1), labels[1], out)};
}

bool channels_first(const Call& c) {
  std::string format = c.attr_s("data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW" && format != "NDHWC" && format != "NCDHW")
    throw Unsupported{fmt::format("data_format {}", format)};
  return format == "NCHW" || format == "NCDHW";
}

Values bias_add(Call& c) {
  int64_t dim = channels_first(c) ? 1 : c.rank(0) - 1;
  if (c.rank(0) < 2 || c.rank(1) != 1 || c.shape(1)[0] != c.shape(0)[at(dim)])
    throw Unsupported{"a bias of another size than the channels"};
  return {c.add(c.t(0), c.b.broadcast(c.t(1), c.shape(0), {dim}))};
}

Values bias_add_grad(Call& c) {
  int64_t dim = channels_first(c) ? 1 : c.rank(0) - 1;
  if (c.rank(0) < 2) throw Unsupported{"a gradient without channels"};
  Ints dims;
  for (int64_t k = 0; k < c.rank(0); ++k)
    if (k != dim) dims.push_back(k);
  return {c.b.reduce(Fn::Add, c.t(0), dims)};
}

// Low and high padding of one spatial dimension.
std::pair<int64_t, int64_t> padding(const std::string& kind, int64_t n, int64_t k, int64_t stride, int64_t dilation) {
  if (kind == "VALID") return {0, 0};
  if (kind != "SAME") throw Unsupported{fmt::format("padding {}", kind)};
  int64_t effective = (k - 1) * dilation + 1, out = (n + stride - 1) / stride;
  int64_t total = std::max<int64_t>((out - 1) * stride + effective - n, 0);
  return {total / 2, total - total / 2};
}

// Windows over dimensions 1 and 2 of an NHWC tensor: [N, OH, OW, C, kh, kw].
NodeId windows(Call& c, NodeId x, int64_t kh, int64_t kw, NodeId fill) {
  if (channels_first(c)) throw Unsupported{"data_format NCHW"};
  Ints strides = c.attr_ints("strides"), dilations = c.attr_ints("dilations"), sizes{kh, kw};
  if (dilations.empty()) dilations = {1, 1, 1, 1};
  if (strides.size() != 4 || dilations.size() != 4 || strides[0] != 1 || strides[3] != 1 || dilations[0] != 1 || dilations[3] != 1)
    throw Unsupported{"strides or dilations of batch or channels"};
  std::string kind = c.attr_s("padding", "");
  Ints low(4, 0), high(4, 0), steps;
  for (size_t d = 0; d < 2; ++d) {
    if (strides[1 + d] <= 0 || dilations[1 + d] <= 0 || sizes[d] <= 0) throw Unsupported{"a stride or dilation below 1"};
    auto [l, h] = padding(kind, c.b.shape(x)[1 + d], sizes[d], strides[1 + d], dilations[1 + d]);
    low[1 + d] = l;
    high[1 + d] = h;
    steps.insert(steps.end(), {strides[1 + d], dilations[1 + d]});
  }
  return c.b.window(c.b.pad(x, fill, low, high, Ints(4, 0)), {1, 2}, sizes, steps);
}

Values conv2d(Call& c) {
  if (c.rank(0) != 4 || c.rank(1) != 4) throw Unsupported{"operands of another rank than 4"};
  if (c.shape(0)[3] != c.shape(1)[2]) throw Unsupported{"grouped convolution"};
  NodeId w = windows(c, c.t(0), c.shape(1)[0], c.shape(1)[1], c.zero(c.dtype(0)));
  return {c.b.contract(w, c.t(1), {}, {3, 2, 4, 0, 5, 1}, c.dtype(0))};
}

Values max_pool(Call& c) {
  Ints k = c.attr_ints("ksize");
  if (c.rank(0) != 4 || k.size() != 4 || k[0] != 1 || k[3] != 1) throw Unsupported{"a window over batch or channels"};
  if (!ir::is_float(c.dtype(0))) throw Unsupported{"an integer type"};
  NodeId low = c.b.constant(Literal::real(-std::numeric_limits<double>::infinity()), c.dtype(0));
  return {c.b.reduce(Fn::Max, windows(c, c.t(0), k[1], k[2], low), {4, 5})};
}

Values avg_pool(Call& c) {
  Ints k = c.attr_ints("ksize");
  if (c.rank(0) != 4 || k.size() != 4 || k[0] != 1 || k[3] != 1) throw Unsupported{"a window over batch or channels"};
  // Padding does not count: divide by the number of elements that are there.
  NodeId sum = c.b.reduce(Fn::Add, windows(c, c.t(0), k[1], k[2], c.zero(c.dtype(0))), {4, 5});
  NodeId ones = c.b.broadcast(c.number(1, c.dtype(0)), c.shape(0), {});
  NodeId n = c.b.reduce(Fn::Add, windows(c, ones, k[1], k[2], c.zero(c.dtype(0))), {4, 5});
  return {c.div(sum, n)};
}

}  // namespace

NodeId contract_labels(Call& c, NodeId x, Ints lx, NodeId y, Ints ly, const Ints& out) {
  if (c.b.dtype(x) != c.b.dtype(y)) throw Unsupported{"operands of different types"};
  if (ir::is_complex(c.b.dtype(x))) throw Unsupported{"complex numbers"};
  std::map<int64_t, int64_t> extents;
  auto note = [&](NodeId t, const Ints& labels) {
    for (size_t k = 0; k < labels.size(); ++k) {
      int64_t n = c.b.shape(t)[k];
      auto [it, fresh] = extents.emplace(labels[k], n);
      if (fresh || it->second == n) continue;
      if (it->second != 1 && n != 1) throw Unsupported{fmt::format("dimensions of {} and {} that should be equal", it->second, n)};
      it->second = std::max(it->second, n);
    }
  };
  note(x, lx);
  note(y, ly);
  std::set<int64_t> wanted(out.begin(), out.end());
  auto keep = [&](const Ints& other) {
    std::set<int64_t> all = wanted;
    all.insert(other.begin(), other.end());
    return all;
  };
  drop_ones(c, x, lx, extents);
  drop_ones(c, y, ly, extents);
  std::set<int64_t> keep_x = keep(ly), keep_y = keep(lx);
  sum_out(c, x, lx, keep_x);
  sum_out(c, y, ly, keep_y);
  Ints batch, contract, result, right;
  for (size_t k = 0; k < lx.size(); ++k) {
    auto it = std::find(ly.begin(), ly.end(), lx[k]);
    if (it == ly.end()) continue;
    Ints& pairs = wanted.count(lx[k]) ? batch : contract;
    pairs.insert(pairs.end(), {static_cast<int64_t>(k), it - ly.begin()});
    if (wanted.count(lx[k])) result.push_back(lx[k]);
  }
  for (int64_t label : lx)
    if (std::find(ly.begin(), ly.end(), label) == ly.end()) result.push_back(label);
  for (int64_t label : ly)
    if (std::find(lx.begin(), lx.end(), label) == lx.end()) result.push_back(label);
  NodeId z = c.b.contract(x, y, batch, contract, c.b.dtype(x));
  Ints perm;
  for (int64_t label : out) {
    auto it = std::find(result.begin(), result.end(), label);
    if (it == result.end()) throw Unsupported{"a label of the result that no operand has"};
    perm.push_back(it - result.begin());
  }
  if (perm.size() != result.size()) throw Unsupported{"labels that do not add up"};
  return c.b.transpose(z, perm);
}

void add_contractions(Table& table) {
  const std::pair<const char*, Handler> entries[] = {{"MatMul", mat_mul},
                                                     {"BatchMatMul", batch_mat_mul},
                                                     {"BatchMatMulV2", batch_mat_mul},
                                                     {"BatchMatMulV3", batch_mat_mul},
                                                     {"Einsum", einsum},
                                                     {"BiasAdd", bias_add},
                                                     {"BiasAddV1", bias_add},
                                                     {"BiasAddGrad", bias_add_grad},
                                                     {"Conv2D", conv2d},
                                                     {"MaxPool", max_pool},
                                                     {"AvgPool", avg_pool}};
  for (const auto& [name, handler] : entries) table.emplace(name, handler);
}

}  // namespace shardproof::lower::gd
