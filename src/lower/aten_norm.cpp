// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Layer, RMS, group and batch normalisation with their backwards. With x' = (x - mean) rstd and g' = g w, the gradient is
// rstd (g' - mean(g') - x' mean(g' x')), where mean is over the normalised dimensions. Statistics have the type that the program's text
// states (it depends on the device): casts are exact.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

Ints trailing(Call& c, NodeId x, size_t n) {
  const int64_t r = c.b.rank(x);
  if (static_cast<int64_t>(n) > r) malformed("normalised over more dimensions than there are");
  Ints dims;
  for (int64_t d = r - static_cast<int64_t>(n); d < r; ++d) dims.push_back(d);
  return dims;
}
Ints leading(Call& c, NodeId x, size_t n) {
  Ints dims;
  for (int64_t d = 0; d < c.b.rank(x) - static_cast<int64_t>(n); ++d) dims.push_back(d);
  return dims;
}
void check_shape(Call& c, NodeId x, const Shape& normalized) {
  const Shape s = c.shape(x);
  if (normalized.empty() || normalized.size() > s.size() || !std::equal(normalized.rbegin(), normalized.rend(), s.rbegin()))
    malformed(fmt::format("[{}] does not end in the normalised shape [{}]", fmt::join(s, ", "), fmt::join(normalized, ", ")));
}
// Result k in the type that the text states for it, or t.
NodeId typed(Call& c, size_t k, NodeId x, DType t) {
  const fx::TensorType* a = c.annotated(k);
  return c.to(x, a && ir::is_float(a->dtype) ? a->dtype : t);
}

struct Stats {
  NodeId mean, var, centred, rstd;
};
Stats stats(Call& c, NodeId x, const Ints& dims, NodeId eps) {
  const NodeId m = c.mean(x, dims, true), d = c.sub(x, m), v = c.mean(c.mul(d, d), dims, true);
  return {m, v, d, c.un(Fn::Rsqrt, c.add(v, eps))};
}
NodeId affine(Call& c, NodeId y, std::optional<NodeId> w, std::optional<NodeId> b) {
  const DType t = c.b.dtype(y);
  if (w) y = c.mul(y, c.to(*w, t));
  if (b) y = c.add(y, c.to(*b, t));
  return y;
}

// native_layer_norm(input, normalized_shape, weight, bias, eps) -> output, mean, rstd
Value layer_norm(Call& c) {
  const NodeId x = c.t(0);
  const Shape shape = c.ints(1);
  check_shape(c, x, shape);
  const DType t = c.b.dtype(x);
  const Stats s = stats(c, x, trailing(c, x, shape.size()), c.lit(c.lit(4), t));
  const NodeId y = affine(c, c.mul(s.centred, s.rstd), c.opt(2), c.opt(3));
  if (c.row.tag == Fn::None) return c.out(y);  // aten.layer_norm
  return c.outs({y, typed(c, 1, s.mean, t), typed(c, 2, s.rstd, t)});
}
// native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask)
Value layer_norm_backward(Call& c) {
  const NodeId x = c.t(1);
  const DType t = c.b.dtype(x);
  const NodeId g = c.to(c.t(0), t);
  const Shape shape = c.ints(2);
  check_shape(c, x, shape);
  const Ints inner = trailing(c, x, shape.size()), outer = leading(c, x, shape.size());
  const NodeId rstd = c.to(c.t(4), t), hat = c.mul(c.sub(x, c.to(c.t(3), t)), rstd);
  const NodeId gw = c.has(5) ? c.mul(g, c.to(c.t(5), t)) : g;
  const NodeId dx = c.mul(rstd, c.sub(c.sub(gw, c.mean(gw, inner, true)), c.mul(hat, c.mean(c.mul(gw, hat), inner, true))));
  const DType tw = c.has(5) ? c.b.dtype(c.t(5)) : t;
  std::vector<Value> out(3);
  const Ints mask = c.ints(7);
  if (mask.size() != 3) malformed("output_mask has three entries");
  if (mask[0]) out[0] = c.out(dx);
  if (mask[1]) out[1] = c.out(typed(c, 1, c.sum(c.mul(g, hat), outer, false), tw));
  if (mask[2]) out[2] = c.out(typed(c, 2, c.sum(g, outer, false), tw));
  return Value::list(std::move(out));
}

// rms_norm(input, normalized_shape, weight, eps): x rsqrt(mean(x^2) + eps) w. Without eps it is the type's machine epsilon.
Value rms_norm(Call& c) {
  const NodeId x = c.t(0);
  const Shape shape = c.ints(1);
  check_shape(c, x, shape);
  const DType t = c.b.dtype(x);
  double epsilon = t == DType::F32 ? 0x1p-23 : 0x1p-52;
  if (!c.has(3) && t != DType::F32 && t != DType::F64) unsupported("rms_norm whose eps is the machine epsilon of a short type");
  const Ints inner = trailing(c, x, shape.size());
  const NodeId rstd = c.un(Fn::Rsqrt, c.add(c.mean(c.mul(x, x), inner, true), c.has(3) ? c.lit(c.lit(3), t) : c.num(epsilon, t)));
  const NodeId y = affine(c, c.mul(x, rstd), c.opt(2), std::nullopt);
  if (c.row.tag == Fn::None) return c.out(y);
  return c.outs({y, typed(c, 1, rstd, t == DType::F64 ? t : DType::F32)});
}
// _fused_rms_norm_backward(grad_out, input, normalized_shape, rstd, weight, output_mask)
Value rms_norm_backward(Call& c) {
  const NodeId x = c.t(1);
  const DType t = c.b.dtype(x);
  const NodeId g = c.to(c.t(0), t), rstd = c.to(c.t(3), t);
  const Shape shape = c.ints(2);
  check_shape(c, x, shape);
  const Ints inner = trailing(c, x, shape.size());
  const NodeId gw = c.has(4) ? c.mul(g, c.to(c.t(4), t)) : g, hat = c.mul(x, rstd);
  const Ints mask = c.ints(5);
  if (mask.size() != 2) malformed("output_mask has two entries");
  std::vector<Value> out(2);
  if (mask[0]) out[0] = c.out(c.mul(rstd, c.sub(gw, c.mul(hat, c.mean(c.mul(gw, hat), inner, true)))));
  if (mask[1]) out[1] = c.out(c.to(c.sum(c.mul(g, hat), leading(c, x, shape.size()), false), c.has(4) ? c.b.dtype(c.t(4)) : t));
  return Value::list(std::move(out));
}

// native_group_norm(input, weight, bias, N, C, HxW, group, eps) -> output, mean [N, G], rstd [N, G]
Value group_norm(Call& c) {
  const NodeId x = c.t(0);
  const Shape s = c.shape(x);
  const DType t = c.b.dtype(x);
  const int64_t n = c.i(3), channels = c.i(4), rest = c.i(5), groups = c.i(6);
  if (groups <= 0 || channels % groups || n * channels * rest != ir::num_elements(s)) malformed("group_norm: sizes do not fit");
  const NodeId grouped = c.b.reshape(x, {n, groups, channels / groups * rest});
  const Stats st = stats(c, grouped, {2}, c.lit(c.lit(7), t));
  NodeId y = c.b.reshape(c.mul(st.centred, st.rstd), {n, channels, rest});
  const auto per_channel = [&](size_t k) -> std::optional<NodeId> {
    if (!c.has(k)) return std::nullopt;
    return c.b.reshape(c.t(k), {1, channels, 1});
  };
  y = c.b.reshape(affine(c, y, per_channel(1), per_channel(2)), s);
  return c.outs({y, typed(c, 1, c.b.reshape(st.mean, {n, groups}), t), typed(c, 2, c.b.reshape(st.rstd, {n, groups}), t)});
}
// aten.group_norm(input, num_groups, weight, bias, eps, cudnn_enabled)
Value group_norm_plain(Call& c) {
  const Shape s = c.shape(c.t(0));
  if (s.size() < 2) malformed("group_norm of fewer than two dimensions");
  int64_t rest = 1;
  for (size_t d = 2; d < s.size(); ++d) rest *= s[d];
  const Value r = c.l.call("aten.native_group_norm.default", {c.args[0], c.args[2], c.args[3], Value::integer(s[0]), Value::integer(s[1]),
                                                              Value::integer(rest), c.args[1], c.args[4]});
  return r.items[0];
}
// native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask)
Value group_norm_backward(Call& c) {
  const NodeId x0 = c.t(1);
  const Shape s = c.shape(x0);
  const DType t = c.b.dtype(x0);
  const int64_t n = c.i(5), channels = c.i(6), rest = c.i(7), groups = c.i(8);
  if (groups <= 0 || channels % groups || n * channels * rest != ir::num_elements(s)) malformed("group_norm: sizes do not fit");
  const Shape grouped{n, groups, channels / groups, rest};
  const NodeId x = c.b.reshape(x0, grouped), g = c.b.reshape(c.to(c.t(0), t), grouped);
  const NodeId rstd = c.b.reshape(c.to(c.t(3), t), {n, groups, 1, 1}), mean = c.b.reshape(c.to(c.t(2), t), {n, groups, 1, 1});
  const NodeId hat = c.mul(c.sub(x, mean), rstd);
  const NodeId gw = c.has(4) ? c.mul(g, c.b.reshape(c.to(c.t(4), t), {1, groups, channels / groups, 1})) : g;
  const Ints inner{2, 3};
  const NodeId dx = c.mul(rstd, c.sub(c.sub(gw, c.mean(gw, inner, true)), c.mul(hat, c.mean(c.mul(gw, hat), inner, true))));
  const Ints mask = c.ints(9);
  if (mask.size() != 3) malformed("output_mask has three entries");
  std::vector<Value> out(3);
  if (mask[0]) out[0] = c.out(c.b.reshape(dx, s));
  if (mask[1]) out[1] = c.out(c.b.reshape(c.sum(c.mul(g, hat), {0, 3}, false), {channels}));
  if (mask[2]) out[2] = c.out(c.b.reshape(c.sum(g, {0, 3}, false), {channels}));
  return Value::list(std::move(out));
}

// ---- batch norm: statistics per channel (dimension 1) over all others

struct Channels {
  Ints others;
  Shape column;  // [1, C, 1, ...]
  int64_t count = 1;
};
Channels channels_of(Call& c, NodeId x) {
  const Shape s = c.shape(x);
  if (s.size() < 2) unsupported("batch_norm of fewer than two dimensions");
  Channels ch;
  ch.column = Shape(s.size(), 1);
  ch.column[1] = s[1];
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d)
    if (d != 1) {
      ch.others.push_back(d);
      ch.count *= s[at(d)];
    }
  return ch;
}
struct Batch {
  NodeId out, save_mean, save_rstd, running_mean, running_var;
  bool running = false;
};
Batch batch_norm_of(Call& c, NodeId x, std::optional<NodeId> w, std::optional<NodeId> bias, std::optional<NodeId> rm,
                    std::optional<NodeId> rv, bool training, const Literal& momentum, const Literal& eps) {
  const Channels ch = channels_of(c, x);
  const DType t = c.b.dtype(x);
  const auto column = [&](NodeId v) { return c.b.reshape(c.to(v, t), ch.column); };
  const auto apply = [&](NodeId centred, NodeId rstd) {
    return affine(c, c.mul(centred, rstd), w ? std::optional(column(*w)) : w, bias ? std::optional(column(*bias)) : bias);
  };
  Batch r;
  if (!training) {
    if (!rm || !rv) malformed("batch_norm without statistics");
    const NodeId rstd = c.un(Fn::Rsqrt, c.add(column(*rv), c.lit(eps, t)));
    r.out = apply(c.sub(x, column(*rm)), rstd);
    r.save_mean = r.save_rstd = c.b.constant(Literal::integer(0), t, {0});
    return r;
  }
  const Stats s = stats(c, x, ch.others, c.lit(eps, t));
  r.out = apply(s.centred, s.rstd);
  r.save_mean = c.b.reshape(s.mean, {ch.column[1]});
  r.save_rstd = c.b.reshape(s.rstd, {ch.column[1]});
  if (rm && rv) {
    const DType tr = c.b.dtype(*rm);
    const NodeId m = c.lit(momentum, tr);
    const NodeId unbiased = c.div(c.sum(c.mul(s.centred, s.centred), ch.others, false), c.num(ch.count - 1, t));
    const auto blend = [&](NodeId old, NodeId now) { return c.add(c.mul(c.sub(c.num(1, tr), m), old), c.mul(m, c.to(now, tr))); };
    r.running_mean = blend(*rm, r.save_mean);
    r.running_var = blend(*rv, unbiased);
    r.running = true;
  }
  return r;
}
// input weight bias running_mean running_var training momentum eps; the running statistics are written in place in training
Value batch_norm(Call& c) {
  const NodeId x = c.t(0);
  const Batch r = batch_norm_of(c, x, c.opt(1), c.opt(2), c.opt(3), c.opt(4), c.flag(5), c.lit(6), c.lit(7));
  if (r.running) {
    if (!c.args[3].is(Value::Kind::Tensor) || !c.args[4].is(Value::Kind::Tensor)) unsupported("running statistics that are no tensors");
    c.m.write(c.args[3].tensor, r.running_mean);
    c.m.write(c.args[4].tensor, r.running_var);
  }
  return c.outs({r.out, typed(c, 1, r.save_mean, c.b.dtype(x)), typed(c, 2, r.save_rstd, c.b.dtype(x))});
}
Value batch_norm_functional(Call& c) {
  const NodeId x = c.t(0);
  const NodeId rm = c.t(3), rv = c.t(4);
  const Batch r = batch_norm_of(c, x, c.opt(1), c.opt(2), rm, rv, c.flag(5), c.lit(6), c.lit(7));
  return c.outs({r.out, typed(c, 1, r.save_mean, c.b.dtype(x)), typed(c, 2, r.save_rstd, c.b.dtype(x)), r.running ? r.running_mean : rm,
                 r.running ? r.running_var : rv});
}
Value batch_norm_no_training(Call& c) {  // input weight bias running_mean running_var momentum eps
  const Batch r = batch_norm_of(c, c.t(0), c.opt(1), c.opt(2), c.opt(3), c.opt(4), false, c.lit(5), c.lit(6));
  return c.outs({r.out, r.save_mean, r.save_rstd});
}
Value batch_norm_no_stats(Call& c) {  // input weight bias training momentum eps
  const NodeId x = c.t(0);
  if (!c.flag(3)) malformed("batch_norm without statistics");
  const Batch r = batch_norm_of(c, x, c.opt(1), c.opt(2), std::nullopt, std::nullopt, true, c.lit(4), c.lit(5));
  return c.outs({r.out, typed(c, 1, r.save_mean, c.b.dtype(x)), typed(c, 2, r.save_rstd, c.b.dtype(x))});
}
// input weight bias running_mean running_var momentum eps -> out, mean, rstd, reserve; writes the statistics, or returns them too
Value batch_norm_update(Call& c) {
  const NodeId x = c.t(0);
  const Batch r = batch_norm_of(c, x, c.opt(1), c.opt(2), c.opt(3), c.opt(4), true, c.lit(5), c.lit(6));
  const DType t = c.b.dtype(x);
  const fx::TensorType* reserve = c.annotated(3);
  const NodeId rest = reserve ? c.b.uninit(reserve->dtype, reserve->shape) : c.b.uninit(DType::U8, {0});
  Nodes out{r.out, typed(c, 1, r.save_mean, t), typed(c, 2, r.save_rstd, t), rest};
  if (c.row.tag == Fn::Add) {
    out.push_back(r.running ? r.running_mean : c.t(3));
    out.push_back(r.running ? r.running_var : c.t(4));
  } else if (r.running) {
    if (!c.args[3].is(Value::Kind::Tensor) || !c.args[4].is(Value::Kind::Tensor)) unsupported("running statistics that are no tensors");
    c.m.write(c.args[3].tensor, r.running_mean);
    c.m.write(c.args[4].tensor, r.running_var);
  }
  return c.outs(out);
}
// aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)
Value batch_norm_plain(Call& c) {
  const Value r = c.l.call("aten.native_batch_norm.default", std::vector<Value>(c.args.begin(), c.args.begin() + 8));
  return r.items[0];
}
// aten.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled): each sample for itself
Value instance_norm(Call& c) {
  const NodeId x = c.t(0);
  const DType t = c.b.dtype(x);
  const Channels ch = channels_of(c, x);
  if (!c.flag(5) || c.has(3)) unsupported("instance_norm with running statistics");
  const Ints inner(ch.others.begin() + 1, ch.others.end());
  const Stats s = stats(c, x, inner, c.lit(c.lit(7), t));
  const auto column = [&](size_t k) -> std::optional<NodeId> {
    if (!c.has(k)) return std::nullopt;
    return c.b.reshape(c.t(k), ch.column);
  };
  return c.out(affine(c, c.mul(s.centred, s.rstd), column(1), column(2)));
}
// grad_out input weight running_mean running_var save_mean save_invstd train eps output_mask
Value batch_norm_backward(Call& c) {
  const NodeId x = c.t(1);
  const DType t = c.b.dtype(x);
  const NodeId g = c.to(c.t(0), t);
  const Channels ch = channels_of(c, x);
  const bool train = c.flag(7);
  const auto column = [&](NodeId v) { return c.b.reshape(c.to(v, t), ch.column); };
  const NodeId mean = column(train ? c.t(5) : c.t(3));
  const NodeId rstd = train ? column(c.t(6)) : c.un(Fn::Rsqrt, c.add(column(c.t(4)), c.lit(c.lit(8), t)));
  const NodeId hat = c.mul(c.sub(x, mean), rstd);
  const NodeId scale = c.has(2) ? c.mul(rstd, column(c.t(2))) : rstd;
  NodeId dx = g;
  if (train) dx = c.sub(c.sub(g, c.mean(g, ch.others, true)), c.mul(hat, c.mean(c.mul(g, hat), ch.others, true)));
  const Ints mask = c.ints(9);
  if (mask.size() != 3) malformed("output_mask has three entries");
  const DType tw = c.has(2) ? c.b.dtype(c.t(2)) : t;
  std::vector<Value> out(3);
  if (mask[0]) out[0] = c.out(c.mul(dx, scale));
  if (mask[1]) out[1] = c.out(c.to(c.sum(c.mul(g, hat), ch.others, false), tw));
  if (mask[2]) out[2] = c.out(c.to(c.sum(g, ch.others, false), tw));
  return Value::list(std::move(out));
}

// For contracts of fused norms that keep statistics flat: stats(mean, input, normalized_shape) has the shape that native_layer_norm gives.
Value stats_like(Call& c) {
  Shape s = c.shape(c.t(1));
  const Shape normalized = c.ints(2);
  check_shape(c, c.t(1), normalized);
  for (size_t d = s.size() - normalized.size(); d < s.size(); ++d) s[d] = 1;
  if (ir::num_elements(s) != ir::num_elements(c.shape(c.t(0)))) malformed("statistics of another size");
  return c.out(c.b.reshape(c.t(0), s));
}

constexpr const char* kBatchNorm = "input weight bias running_mean running_var training momentum eps";
const OpRow kRows[] = {
    {"aten.native_layer_norm.default", "input normalized_shape weight bias eps", layer_norm, Fn::Add},
    {"aten.layer_norm.default", "input normalized_shape weight=None bias=None eps=1e-05 cudnn_enable=True", layer_norm},
    {"aten.native_layer_norm_backward.default", "grad_out input normalized_shape mean rstd weight bias output_mask", layer_norm_backward},
    {"aten.rms_norm.default", "input normalized_shape weight=None eps=None", rms_norm},
    {"aten._fused_rms_norm.default", "input normalized_shape weight eps", rms_norm, Fn::Add},
    {"aten._fused_rms_norm_backward.default", "grad_out input normalized_shape rstd weight output_mask", rms_norm_backward},
    {"aten.native_group_norm.default", "input weight bias N C HxW group eps", group_norm},
    {"aten.group_norm.default", "input num_groups weight=None bias=None eps=1e-05 cudnn_enabled=True", group_norm_plain},
    {"aten.native_group_norm_backward.default", "grad_out input mean rstd weight N C HxW group output_mask", group_norm_backward},
    {"aten.native_batch_norm.default", kBatchNorm, batch_norm},
    {"aten._native_batch_norm_legit.default", kBatchNorm, batch_norm},
    {"aten._native_batch_norm_legit_functional.default", kBatchNorm, batch_norm_functional},
    {"aten._native_batch_norm_legit_no_training.default", "input weight bias running_mean running_var momentum eps",
     batch_norm_no_training},
    {"aten._native_batch_norm_legit.no_stats", "input weight bias training momentum eps", batch_norm_no_stats},
    {"aten.native_batch_norm_backward.default",
     "grad_out input weight running_mean running_var save_mean save_invstd train eps output_mask", batch_norm_backward},
    {"aten.batch_norm_backward.default", "grad_out input weight running_mean running_var save_mean save_var update eps output_mask reserve",
     batch_norm_backward},
    {"aten._batch_norm_with_update.default", "input weight bias running_mean! running_var! momentum eps", batch_norm_update},
    {"aten._batch_norm_with_update_functional.default", "input weight bias running_mean running_var momentum eps", batch_norm_update,
     Fn::Add},
    {"aten.batch_norm.default", "input weight bias running_mean running_var training momentum eps cudnn_enabled", batch_norm_plain},
    {"aten.instance_norm.default", "input weight bias running_mean running_var use_input_stats momentum eps cudnn_enabled", instance_norm},
    {"shardproof.stats_like.default", "stats input normalized_shape", stats_like},
};

}  // namespace

Rows norm_rows() { return kRows; }

}  // namespace shardproof::lower::aten
