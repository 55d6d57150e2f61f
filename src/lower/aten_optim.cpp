// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Fused optimizer steps on lists of tensors. The in-place forms write parameters and states; the functional forms return new ones.
// Formulas are those of torch.optim: Adam (with L2 or decoupled weight decay, amsgrad, maximize) and SGD with momentum.
#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

NodeId number(Call& c, size_t k, DType t) { return c.args[k].number() ? c.lit(c.lit(k), t) : c.b.reshape(c.to(c.t(k), t), {}); }
const std::vector<Value>& list(Call& c, size_t k, size_t count) {
  if (!c.args[k].is(Value::Kind::List) || (count && c.args[k].items.size() != count)) malformed("lists of different lengths");
  return c.args[k].items;
}

struct Step {
  NodeId param, m, v, vmax;
};
// One parameter. step: the counter after this step.
Step adam(Call& c, NodeId p, NodeId g, NodeId m, NodeId v, std::optional<NodeId> vmax, NodeId step, bool decoupled) {
  const DType t = c.b.dtype(p);
  g = c.to(g, t);
  const NodeId lr = number(c, 6, t), b1 = number(c, 7, t), b2 = number(c, 8, t), eps = number(c, 10, t), one = c.num(1, t);
  if (c.flag(12)) g = c.un(Fn::Neg, g);
  if (c.f(9) != 0) {
    const NodeId wd = number(c, 9, t);
    if (decoupled)
      p = c.sub(p, c.mul3(lr, wd, p));
    else
      g = c.add(g, c.mul(wd, p));
  }
  Step r;
  r.m = c.add(c.mul(b1, m), c.mul(c.sub(one, b1), g));
  r.v = c.add(c.mul(b2, v), c.mul3(c.sub(one, b2), g, g));
  r.vmax = vmax ? c.map(Fn::Max, {*vmax, r.v}) : r.v;
  const NodeId n = c.to(step, t);
  const NodeId c1 = c.sub(one, c.map(Fn::Pow, {b1, n})), c2 = c.sub(one, c.map(Fn::Pow, {b2, n}));
  const NodeId denominator = c.add(c.div(c.un(Fn::Sqrt, r.vmax), c.un(Fn::Sqrt, c2)), eps);
  r.param = c.sub(p, c.div(c.mul(c.div(lr, c1), r.m), denominator));
  return r;
}
// self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps | lr beta1 beta2 weight_decay eps amsgrad maximize grad_scale found_inf
Value fused_adam(Call& c, bool decoupled, bool writes) {
  if (c.has(13) || c.has(14)) unsupported("a gradient scaler inside the optimizer step");
  const size_t n = list(c, 0, 0).size();
  const bool amsgrad = c.flag(11);
  for (const size_t k : {1u, 2u, 3u, 5u}) list(c, k, n);
  if (amsgrad) list(c, 4, n);
  std::vector<std::vector<Value>> out(5);
  for (size_t k = 0; k < n; ++k) {
    const auto at = [&](size_t arg) { return c.node(c.args[arg].items[k]); };
    const NodeId g = at(1);
    const Step s = adam(c, at(0), g, at(2), at(3), amsgrad ? std::optional(at(4)) : std::nullopt, at(5), decoupled);
    const std::pair<size_t, NodeId> results[] = {{0, s.param}, {1, g}, {2, s.m}, {3, s.v}, {4, s.vmax}};
    for (const auto& [arg, x] : results) {
      if (arg == 4 && !amsgrad) continue;
      if (!writes) {
        out[arg].push_back(c.out(x));
      } else if (arg != 1) {
        const Value& to = c.args[arg].items[k];
        if (!to.is(Value::Kind::Tensor)) unsupported("an optimizer state that is no tensor");
        c.m.write(to.tensor, c.to(x, c.m.dtype(to.tensor)));
      }
    }
  }
  if (writes) return {};
  std::vector<Value> lists;
  for (auto& l : out) lists.push_back(Value::list(std::move(l)));
  return Value::list(std::move(lists));
}
// self grads momentum_buffers | weight_decay momentum lr dampening nesterov maximize is_first_step grad_scale found_inf
Value fused_sgd(Call& c, bool writes) {
  if (c.has(10) || c.has(11)) unsupported("a gradient scaler inside the optimizer step");
  const size_t n = list(c, 0, 0).size();
  list(c, 1, n);
  const bool momentum = c.f(4) != 0;
  if (momentum) list(c, 2, n);
  std::vector<std::vector<Value>> out(3);
  for (size_t k = 0; k < n; ++k) {
    const auto at = [&](size_t arg) { return c.node(c.args[arg].items[k]); };
    const NodeId p = at(0), original = at(1);
    const DType t = c.b.dtype(p);
    NodeId g = c.to(original, t);
    if (c.flag(8)) g = c.un(Fn::Neg, g);
    if (c.f(3) != 0) g = c.add(g, c.mul(number(c, 3, t), p));
    NodeId buffer = g;
    if (momentum) {
      if (!c.flag(9)) {
        const NodeId mu = number(c, 4, t);
        const NodeId scaled = c.f(6) == 0 ? g : c.mul(c.sub(c.num(1, t), number(c, 6, t)), g);
        buffer = c.add(c.mul(mu, at(2)), scaled);
      }
      g = c.flag(7) ? c.add(g, c.mul(number(c, 4, t), buffer)) : buffer;
    }
    const NodeId updated = c.sub(p, c.mul(number(c, 5, t), g));
    const std::pair<size_t, NodeId> results[] = {{0, updated}, {1, original}, {2, buffer}};
    for (const auto& [arg, x] : results) {
      if (arg == 2 && !momentum) continue;
      if (!writes) {
        out[arg].push_back(c.out(x));
      } else if (arg != 1) {
        const Value& to = c.args[arg].items[k];
        if (!to.is(Value::Kind::Tensor)) unsupported("an optimizer state that is no tensor");
        c.m.write(to.tensor, c.to(x, c.m.dtype(to.tensor)));
      }
    }
  }
  if (writes) return {};
  std::vector<Value> lists;
  for (auto& l : out) lists.push_back(Value::list(std::move(l)));
  return Value::list(std::move(lists));
}
template <bool kDecoupled, bool kWrites>
Value adam_op(Call& c) {
  return fused_adam(c, kDecoupled, kWrites);
}
template <bool kWrites>
Value sgd_op(Call& c) {
  return fused_sgd(c, kWrites);
}

constexpr const char* kAdam =
    "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay eps amsgrad maximize grad_scale=None "
    "found_inf=None";
constexpr const char* kSgd =
    "self grads momentum_buffer_list weight_decay momentum lr dampening nesterov maximize is_first_step grad_scale=None found_inf=None";
const OpRow kRows[] = {
    {"aten._fused_adam.default", kAdam, adam_op<false, false>}, {"aten._fused_adam.tensor_lr", kAdam, adam_op<false, false>},
    {"aten._fused_adam_.default", kAdam, adam_op<false, true>}, {"aten._fused_adam_.tensor_lr", kAdam, adam_op<false, true>},
    {"aten._fused_adamw.default", kAdam, adam_op<true, false>}, {"aten._fused_adamw.tensor_lr", kAdam, adam_op<true, false>},
    {"aten._fused_adamw_.default", kAdam, adam_op<true, true>}, {"aten._fused_adamw_.tensor_lr", kAdam, adam_op<true, true>},
    {"aten._fused_sgd.default", kSgd, sgd_op<false>},           {"aten._fused_sgd.tensor_lr", kSgd, sgd_op<false>},
    {"aten._fused_sgd_.default", kSgd, sgd_op<true>},           {"aten._fused_sgd_.tensor_lr", kSgd, sgd_op<true>},
};

}  // namespace

Rows optimizer_rows() { return kRows; }

}  // namespace shardproof::lower::aten
