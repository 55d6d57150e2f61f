// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Losses and their backwards. reduction: 0 none, 1 mean, 2 sum. An ignored target is looked up as class 0 and its value replaced by 0.
#include <algorithm>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

NodeId reduced(Call& c, NodeId loss, int64_t reduction) {
  Ints all;
  for (int64_t d = 0; d < c.b.rank(loss); ++d) all.push_back(d);
  if (reduction == 0) return loss;
  if (reduction != 1 && reduction != 2) malformed("reduction is 0, 1 or 2");
  return reduction == 1 ? c.mean(loss, all, false) : c.sum(loss, all, false);
}
// The gradient of the reduction: g / n for the mean.
NodeId spread(Call& c, NodeId g, NodeId x, int64_t reduction) {
  if (reduction == 1) g = c.div(g, c.num(ir::num_elements(c.shape(x)), c.b.dtype(g)));
  return g;
}

// ---- negative log likelihood. x [N, C, d...] or [C]; target [N, d...] or []
struct Nll {
  NodeId safe, kept, weight;  // class to look up, bool, weight of each target (0 where ignored)
  int64_t dim = 0;
};
Nll nll_parts(Call& c, NodeId x, NodeId target, std::optional<NodeId> w, int64_t ignore) {
  Nll p;
  const DType t = c.b.dtype(x), ti = c.b.dtype(target);
  p.dim = c.b.rank(x) >= 2 ? 1 : 0;
  if (c.b.rank(target) + 1 != c.b.rank(x)) malformed("nll_loss: the target's dimensions do not fit");
  p.kept = c.compare(Fn::Ne, target, c.num(ignore, ti));
  p.safe = c.where(p.kept, target, c.num(0, ti));
  const NodeId one = w ? c.b.take(
                             *w, {p.safe}, {-1},
                             [&] {
                               Ints d;
                               for (int64_t k = 0; k < c.b.rank(target); ++k) d.push_back(k);
                               return d;
                             }(),
                             c.shape(target), ir::IndexMode::Strict)
                       : c.b.constant(Literal::integer(1), t, c.shape(target));
  p.weight = c.where(p.kept, c.to(one, t), c.num(0, t));
  return p;
}
// x at the class of each target
NodeId pick(Call& c, NodeId x, const Nll& p) {
  const Shape s = c.shape(p.safe);
  Ints dims, index_dims;
  for (int64_t d = 0, r = 0; d < c.b.rank(x); ++d) dims.push_back(d == p.dim ? -1 : r++);
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d) index_dims.push_back(d);
  return c.b.take(x, {p.safe}, dims, index_dims, s, ir::IndexMode::Strict);
}
Value nll_forward(Call& c) {  // self target weight reduction ignore_index -> loss, total weight
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const int64_t reduction = c.i(3);
  const Nll p = nll_parts(c, x, c.t(1), c.opt(2), c.i(4));
  // Without class weights the weights of kept targets are 1: the sum is a count.
  NodeId loss = c.un(Fn::Neg, pick(c, x, p));
  if (c.has(2)) loss = c.mul(loss, p.weight);
  loss = c.where(p.kept, loss, c.num(0, t));
  Ints all;
  for (int64_t d = 0; d < c.b.rank(loss); ++d) all.push_back(d);
  NodeId total = c.sum(c.has(2) ? p.weight : c.to(p.kept, t), all, false);
  if (reduction == 0 && c.b.rank(x) > 1) total = c.num(0, t);  // PyTorch fills it in for a single sample only
  if (reduction == 1) loss = c.div(c.sum(loss, all, false), total);
  if (reduction == 2) loss = c.sum(loss, all, false);
  return c.row.tag == Fn::None ? c.outs({loss, total}) : c.out(loss);
}
Value nll_backward(Call& c) {  // grad self target weight reduction ignore_index total_weight
  const NodeId x = c.t(1);
  const DType t = c.b.dtype(x);
  NodeId g = c.to(c.t(0), t);
  const Nll p = nll_parts(c, x, c.t(2), c.opt(3), c.i(5));
  if (c.i(4) == 1) g = c.div(g, c.to(c.t(6), t));
  NodeId update = c.un(Fn::Neg, g);
  if (c.has(3)) update = c.mul(update, p.weight);
  update = c.expand(c.where(p.kept, update, c.num(0, t)), c.shape(p.safe));
  Ints dims, index_dims;
  for (int64_t d = 0, r = 0; d < c.b.rank(x); ++d) dims.push_back(d == p.dim ? -1 : r++);
  for (int64_t d = 0; d < c.b.rank(p.safe); ++d) index_dims.push_back(d);
  return c.out(c.b.scatter(c.full_like(x, Literal::integer(0)), update, {p.safe}, dims, index_dims, Fn::Add, false, ir::IndexMode::Strict));
}
// cross_entropy_loss(self, target, weight, reduction=1, ignore_index=-100, label_smoothing=0)
Value cross_entropy(Call& c) {
  const NodeId x = c.t(0), target = c.t(1);
  const DType t = c.b.dtype(x);
  const int64_t d = c.b.rank(x) >= 2 ? 1 : 0, reduction = c.i(3);
  const double smoothing = c.f(5);
  const NodeId logp = c.sub(x, c.un(Fn::Log, c.sum(c.un(Fn::Exp, x), {d}, true)));
  const int64_t classes = c.shape(x)[static_cast<size_t>(d)];
  if (ir::is_float(c.b.dtype(target))) {  // class probabilities
    NodeId prob = c.to(target, t);
    if (c.shape(prob) != c.shape(x)) malformed("cross_entropy: the target's shape does not fit");
    if (smoothing != 0) prob = c.add(c.mul(prob, c.sub(c.num(1, t), c.lit(c.lit(5), t))), c.div(c.lit(c.lit(5), t), c.num(classes, t)));
    NodeId term = c.mul(prob, logp);
    if (c.has(2)) {
      Shape s(c.shape(x).size(), 1);
      s[static_cast<size_t>(d)] = classes;
      term = c.mul(term, c.b.reshape(c.to(c.t(2), t), s));
    }
    const NodeId loss = c.un(Fn::Neg, c.sum(term, {d}, false));
    if (reduction == 0) return c.out(loss);
    Ints all;
    for (int64_t k = 0; k < c.b.rank(loss); ++k) all.push_back(k);
    const NodeId total = c.sum(loss, all, false);
    return c.out(reduction == 2 ? total : c.div(total, c.num(ir::num_elements(c.shape(x)) / std::max<int64_t>(classes, 1), t)));
  }
  const Nll p = nll_parts(c, x, target, c.opt(2), c.i(4));
  NodeId loss = c.un(Fn::Neg, pick(c, logp, p));
  if (c.has(2)) loss = c.mul(loss, p.weight);
  if (smoothing != 0) {
    NodeId all_classes = logp;
    if (c.has(2)) {
      Shape s(c.shape(x).size(), 1);
      s[static_cast<size_t>(d)] = classes;
      all_classes = c.mul(logp, c.b.reshape(c.to(c.t(2), t), s));
    }
    const NodeId smooth = c.un(Fn::Neg, c.sum(all_classes, {d}, false)), e = c.lit(c.lit(5), t);
    loss = c.add(c.mul(c.sub(c.num(1, t), e), loss), c.mul(c.div(e, c.num(classes, t)), smooth));
  }
  loss = c.where(p.kept, loss, c.num(0, t));
  if (reduction == 0) return c.out(loss);
  Ints all;
  for (int64_t k = 0; k < c.b.rank(loss); ++k) all.push_back(k);
  const NodeId total = c.sum(loss, all, false);
  if (reduction == 2) return c.out(total);
  return c.out(c.div(total, c.sum(c.has(2) ? p.weight : c.to(p.kept, t), all, false)));
}

// ---- elementwise losses: self target reduction

Value mse(Call& c) {
  const NodeId d = c.sub(c.t(0), c.t(1));
  return c.out(reduced(c, c.mul(d, d), c.i(2)));
}
Value mse_backward(Call& c) {  // grad self target reduction
  const NodeId g = spread(c, c.t(0), c.t(1), c.i(3));
  return c.out(c.mul3(c.num(2, c.b.dtype(g)), c.sub(c.t(1), c.t(2)), g));
}
Value l1(Call& c) { return c.out(reduced(c, c.un(Fn::Abs, c.sub(c.t(0), c.t(1))), c.i(2))); }
Value l1_backward(Call& c) {
  const NodeId g = spread(c, c.t(0), c.t(1), c.i(3));
  return c.out(c.mul(c.un(Fn::Sign, c.sub(c.t(1), c.t(2))), g));
}
Value smooth_l1(Call& c) {  // self target reduction beta
  const NodeId z = c.un(Fn::Abs, c.sub(c.t(0), c.t(1)));
  const DType t = c.b.dtype(z);
  const NodeId beta = c.lit(c.lit(3), t), half = c.num(0.5, t);
  if (c.f(3) == 0) return c.out(reduced(c, z, c.i(2)));
  return c.out(reduced(c, c.where(c.compare(Fn::Lt, z, beta), c.div(c.mul3(half, z, z), beta), c.sub(z, c.mul(half, beta))), c.i(2)));
}
Value smooth_l1_backward(Call& c) {  // grad self target reduction beta
  const NodeId g = spread(c, c.t(0), c.t(1), c.i(3)), x = c.sub(c.t(1), c.t(2));
  const DType t = c.b.dtype(x);
  if (c.f(4) == 0) return c.out(c.mul(c.un(Fn::Sign, x), g));
  const NodeId beta = c.lit(c.lit(4), t);
  return c.out(c.where(c.compare(Fn::Lt, c.un(Fn::Abs, x), beta), c.div(c.mul(x, g), beta), c.mul(c.un(Fn::Sign, x), g)));
}
Value huber(Call& c) {  // self target reduction delta
  const NodeId z = c.un(Fn::Abs, c.sub(c.t(0), c.t(1)));
  const DType t = c.b.dtype(z);
  const NodeId delta = c.lit(c.lit(3), t), half = c.num(0.5, t);
  return c.out(reduced(c, c.where(c.compare(Fn::Le, z, delta), c.mul3(half, z, z), c.mul(delta, c.sub(z, c.mul(half, delta)))), c.i(2)));
}
Value huber_backward(Call& c) {  // grad self target reduction delta
  const NodeId g = spread(c, c.t(0), c.t(1), c.i(3)), x = c.sub(c.t(1), c.t(2));
  const DType t = c.b.dtype(x);
  const NodeId delta = c.lit(c.lit(4), t);
  return c.out(c.where(c.compare(Fn::Le, c.un(Fn::Abs, x), delta), c.mul(x, g), c.mul3(c.un(Fn::Sign, x), delta, g)));
}
// PyTorch clamps the logarithms at -100.
NodeId clamped_log(Call& c, NodeId x) { return c.map(Fn::Max, {c.un(Fn::Log, x), c.num(-100, c.b.dtype(x))}); }
Value bce(Call& c) {  // self target weight reduction
  const NodeId p = c.t(0), y = c.t(1);
  const DType t = c.b.dtype(p);
  const NodeId one = c.num(1, t);
  NodeId loss = c.un(Fn::Neg, c.add(c.mul(y, clamped_log(c, p)), c.mul(c.sub(one, y), clamped_log(c, c.sub(one, p)))));
  if (c.has(2)) loss = c.mul(loss, c.t(2));
  return c.out(reduced(c, loss, c.i(3)));
}
Value bce_backward(Call& c) {  // grad self target weight reduction: g (p - y) / max(p (1 - p), 1e-12)
  NodeId g = spread(c, c.t(0), c.t(1), c.i(4));
  const NodeId p = c.t(1), y = c.t(2);
  const DType t = c.b.dtype(p);
  NodeId d = c.div(c.sub(p, y), c.map(Fn::Max, {c.mul(p, c.sub(c.num(1, t), p)), c.num(1e-12, t)}));
  if (c.has(3)) d = c.mul(d, c.t(3));
  return c.out(c.mul(d, g));
}
Value bce_with_logits(Call& c) {  // self target weight pos_weight reduction: (1 - y) x + (1 + (pw - 1) y) log(1 + exp(-x))
  const NodeId x = c.t(0), y = c.t(1);
  const DType t = c.b.dtype(x);
  const NodeId one = c.num(1, t), soft = c.un(Fn::Log1p, c.un(Fn::Exp, c.un(Fn::Neg, x)));
  NodeId loss;
  if (c.has(3))
    loss = c.add(c.mul(c.sub(one, y), x), c.mul(c.add(one, c.mul(c.sub(c.t(3), one), y)), soft));
  else
    loss = c.add(c.mul(c.sub(one, y), x), soft);
  if (c.has(2)) loss = c.mul(loss, c.t(2));
  return c.out(reduced(c, loss, c.i(4)));
}
Value kl_div(Call& c) {  // self target reduction log_target
  const NodeId x = c.t(0), y = c.t(1);
  const DType t = c.b.dtype(x);
  NodeId loss;
  if (c.flag(3))
    loss = c.mul(c.un(Fn::Exp, y), c.sub(y, x));
  else
    loss = c.sub(c.where(c.compare(Fn::Eq, y, c.num(0, t)), c.num(0, t), c.mul(y, c.un(Fn::Log, y))), c.mul(y, x));
  return c.out(reduced(c, loss, c.i(2)));
}
Value soft_margin(Call& c) {  // log(1 + exp(-y x))
  return c.out(reduced(c, c.un(Fn::Log1p, c.un(Fn::Exp, c.un(Fn::Neg, c.mul(c.t(1), c.t(0))))), c.i(2)));
}

constexpr const char* kNllBackward = "grad_output self target weight reduction ignore_index total_weight";
const OpRow kRows[] = {
    {"aten.nll_loss_forward.default", "self target weight reduction ignore_index", nll_forward},
    {"aten.nll_loss2d_forward.default", "self target weight reduction ignore_index", nll_forward},
    {"aten.nll_loss.default", "self target weight=None reduction=1 ignore_index=-100", nll_forward, Fn::Add},
    {"aten.nll_loss_nd.default", "self target weight=None reduction=1 ignore_index=-100", nll_forward, Fn::Add},
    {"aten.nll_loss2d.default", "self target weight=None reduction=1 ignore_index=-100", nll_forward, Fn::Add},
    {"aten.nll_loss_backward.default", kNllBackward, nll_backward},
    {"aten.nll_loss2d_backward.default", kNllBackward, nll_backward},
    {"aten.cross_entropy_loss.default", "self target weight=None reduction=1 ignore_index=-100 label_smoothing=0.0", cross_entropy},
    {"aten.mse_loss.default", "self target reduction=1", mse},
    {"aten.mse_loss_backward.default", "grad_output self target reduction", mse_backward},
    {"aten.l1_loss.default", "self target reduction=1", l1},
    {"aten.l1_loss_backward.default", "grad_output self target reduction", l1_backward},
    {"aten.smooth_l1_loss.default", "self target reduction=1 beta=1.0", smooth_l1},
    {"aten.smooth_l1_loss_backward.default", "grad_output self target reduction beta", smooth_l1_backward},
    {"aten.huber_loss.default", "self target reduction=1 delta=1.0", huber},
    {"aten.huber_loss_backward.default", "grad_output self target reduction delta", huber_backward},
    {"aten.binary_cross_entropy.default", "self target weight=None reduction=1", bce},
    {"aten.binary_cross_entropy_backward.default", "grad_output self target weight=None reduction=1", bce_backward},
    {"aten.binary_cross_entropy_with_logits.default", "self target weight=None pos_weight=None reduction=1", bce_with_logits},
    {"aten.kl_div.default", "self target reduction=1 log_target=False", kl_div},
    {"aten.soft_margin_loss.default", "self target reduction=1", soft_margin},
};

}  // namespace

Rows loss_rows() { return kRows; }

}  // namespace shardproof::lower::aten
