// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and cross entropy, cumulative sums, top-k.
#include <fmt/format.h>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {
namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

template <Fn fn>
Values reduction(Call& c) {
  if (ir::is_complex(c.dtype(0))) throw Unsupported{"complex numbers"};
  Ints dims = c.axes(1, c.rank(0));
  if constexpr (fn == Fn::Max || fn == Fn::Min) {
    for (int64_t d : dims)
      if (c.shape(0)[at(d)] == 0) throw Unsupported{"the extreme of nothing"};
  }
  return {c.b.reduce(fn, c.t(0), dims, c.attr("keep_dims", 0) != 0)};
}

Values mean(Call& c) {
  if (!ir::is_float(c.dtype(0))) throw Unsupported{"an integer type"};
  Ints dims = c.axes(1, c.rank(0));
  int64_t n = 1;
  for (int64_t d : dims) n *= c.shape(0)[at(d)];
  NodeId sum = c.b.reduce(Fn::Add, c.t(0), dims, c.attr("keep_dims", 0) != 0);
  return {dims.empty() ? sum : c.div(sum, c.number(static_cast<double>(n), c.dtype(0)))};
}

Values l2_loss(Call& c) {
  Ints dims;
  for (int64_t k = 0; k < c.rank(0); ++k) dims.push_back(k);
  return {c.div(c.b.reduce(Fn::Add, c.mul(c.t(0), c.t(0)), dims), c.number(2, c.dtype(0)))};
}

template <Fn fn>
Values arg_reduction(Call& c) {
  int64_t dim = c.count() > 1 ? c.axis(1, c.rank(0)) : 0;
  if (c.shape(0)[at(dim)] == 0) throw Unsupported{"the extreme of nothing"};
  return {c.b.arg_reduce(fn, c.t(0), dim, c.attr_t("output_type", DType::I64))};
}

template <Fn fn>
Values cumulative(Call& c) {
  return {c.b.scan(fn, c.t(0), c.axis(1, c.rank(0)), c.attr("reverse", 0) != 0, c.attr("exclusive", 0) != 0)};
}

Values top_k(Call& c) {
  int64_t k = c.integer(1), dim = c.rank(0) - 1;
  if (dim < 0 || k < 0 || k > c.shape(0)[at(dim)]) throw Unsupported{"k larger than the last dimension"};
  DType t = c.attr_t("index_type", DType::I32);
  NodeId positions = c.b.iota(t, c.shape(0), dim);
  std::vector<NodeId> sorted = c.b.sort({c.t(0), positions}, dim, true, true);  // equal values: the lower index first
  return {c.b.slice_dim(sorted[0], dim, 0, k), c.b.slice_dim(sorted[1], dim, 0, k)};
}

// --- softmax

struct Parts {
  NodeId shifted, exps, sum;  // x - max, its exponential, and the sum of that over the last dimension (kept)
};

Parts parts(Call& c, NodeId x) {
  int64_t dim = c.b.rank(x) - 1;
  if (dim < 0 || c.b.shape(x)[at(dim)] == 0) throw Unsupported{"a softmax over nothing"};
  NodeId top = c.b.reduce(Fn::Max, x, {dim}, true);
  Parts p;
  p.shifted = c.sub(x, c.fit(top, c.b.shape(x)));
  p.exps = c.b.unary(Fn::Exp, p.shifted);
  p.sum = c.b.reduce(Fn::Add, p.exps, {dim}, true);
  return p;
}

Values softmax_op(Call& c) { return {softmax(c, c.t(0))}; }
Values log_softmax_op(Call& c) { return {log_softmax(c, c.t(0))}; }

// features, labels (probabilities, broadcast to each other) -> loss per row, gradient
Values cross_entropy(Call& c) {
  Shape s = c.joint({c.t(0), c.t(1)});
  if (s.size() != 2) throw Unsupported{"operands of another rank than 2"};
  NodeId x = c.fit(c.t(0), s), labels = c.fit(c.t(1), s);
  NodeId loss = c.b.unary(Fn::Neg, c.b.reduce(Fn::Add, c.mul(labels, log_softmax(c, x)), {1}));
  return {loss, c.sub(softmax(c, x), labels)};
}

// features [n, v], labels [n] -> loss per row, gradient. Labels outside [0, v) are an error or NaN in TensorFlow.
Values sparse_cross_entropy(Call& c) {
  if (c.rank(0) != 2 || c.rank(1) != 1 || c.shape(1)[0] != c.shape(0)[0]) throw Unsupported{"labels of another size than the rows"};
  NodeId x = c.t(0), labels = c.t(1);
  NodeId picked = c.b.take(log_softmax(c, x), {labels}, {0, -1}, {0}, {c.shape(0)[0]}, ir::IndexMode::Strict);
  NodeId columns = c.b.iota(c.dtype(1), c.shape(0), 1);
  NodeId one_hot = c.b.convert(c.b.compare(Fn::Eq, columns, c.b.broadcast(labels, c.shape(0), {0})), c.dtype(0));
  return {c.b.unary(Fn::Neg, picked), c.sub(softmax(c, x), one_hot)};
}

}  // namespace

NodeId softmax(Call& c, NodeId x) {
  Parts p = parts(c, x);
  return c.div(p.exps, c.fit(p.sum, c.b.shape(x)));
}

NodeId log_softmax(Call& c, NodeId x) {
  Parts p = parts(c, x);
  return c.sub(p.shifted, c.fit(c.b.unary(Fn::Log, p.sum), c.b.shape(x)));
}

void add_reductions(Table& table) {
  const std::pair<const char*, Handler> entries[] = {{"Sum", reduction<Fn::Add>},
                                                     {"Prod", reduction<Fn::Mul>},
                                                     {"Max", reduction<Fn::Max>},
                                                     {"Min", reduction<Fn::Min>},
                                                     {"All", reduction<Fn::And>},
                                                     {"Any", reduction<Fn::Or>},
                                                     {"Mean", mean},
                                                     {"L2Loss", l2_loss},
                                                     {"ArgMax", arg_reduction<Fn::Max>},
                                                     {"ArgMin", arg_reduction<Fn::Min>},
                                                     {"Cumsum", cumulative<Fn::Add>},
                                                     {"Cumprod", cumulative<Fn::Mul>},
                                                     {"TopKV2", top_k},
                                                     {"Softmax", softmax_op},
                                                     {"LogSoftmax", log_softmax_op},
                                                     {"SoftmaxCrossEntropyWithLogits", cross_entropy},
                                                     {"SparseSoftmaxCrossEntropyWithLogits", sparse_cross_entropy}};
  for (const auto& [name, handler] : entries) table.emplace(name, handler);
}

}  // namespace shardproof::lower::gd
