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

void write_state(Call& c, size_t arg, size_t k, NodeId x) {
  const Value& to = c.args[arg].items[k];
  if (!to.is(Value::Kind::Tensor)) unsupported("an optimizer state that is no tensor");
  c.m.write(to.tensor, c.to(x, c.m.dtype(to.tensor)));
}
Value lists_of(std::vector<std::vector<Value>> out) {
  std::vector<Value> lists;
  for (auto& l : out) lists.push_back(Value::list(std::move(l)));
  return Value::list(std::move(lists));
}

// Arguments grad_scale and found_inf (at `first` and behind it): the gradient is divided by the one, and nothing changes where the other
// is 1.
struct Scaled {
  Call& c;
  bool unscales;
  std::optional<NodeId> found;
  NodeId gradient;
  Scaled(Call& call, size_t first, NodeId g) : c(call), unscales(call.has(first)), gradient(g) {
    if (unscales) gradient = c.div(g, c.to(c.b.reshape(c.t(first), {}), c.b.dtype(g)));
    if (c.has(first + 1)) found = c.to(c.b.reshape(c.t(first + 1), {}), DType::Bool);
  }
  NodeId unless_found(NodeId old, NodeId updated) const {
    return found ? c.where(c.expand(*found, c.shape(old)), old, c.to(updated, c.b.dtype(old))) : updated;
  }
};

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
  const size_t n = list(c, 0, 0).size();
  const bool amsgrad = c.flag(11);
  for (const size_t k : {1u, 2u, 3u, 5u}) list(c, k, n);
  if (amsgrad) list(c, 4, n);
  std::vector<std::vector<Value>> out(5);
  for (size_t k = 0; k < n; ++k) {
    const auto at = [&](size_t arg) { return c.node(c.args[arg].items[k]); };
    const Scaled scaled{c, 13, at(1)};
    const NodeId g = scaled.gradient;
    Step s = adam(c, at(0), g, at(2), at(3), amsgrad ? std::optional(at(4)) : std::nullopt, at(5), decoupled);
    s = {scaled.unless_found(at(0), s.param), scaled.unless_found(at(2), s.m), scaled.unless_found(at(3), s.v),
         amsgrad ? scaled.unless_found(at(4), s.vmax) : s.vmax};
    const std::pair<size_t, NodeId> results[] = {{0, s.param}, {1, scaled.unless_found(at(1), g)}, {2, s.m}, {3, s.v}, {4, s.vmax}};
    for (const auto& [arg, x] : results) {
      if (arg == 4 && !amsgrad) continue;
      if (!writes) {
        out[arg].push_back(c.out(x));
      } else if (arg != 1 || scaled.unscales) {
        write_state(c, arg, k, x);
      }
    }
  }
  return writes ? Value{} : lists_of(std::move(out));
}
// self grads momentum_buffers | weight_decay momentum lr dampening nesterov maximize is_first_step grad_scale found_inf
Value fused_sgd(Call& c, bool writes) {
  const size_t n = list(c, 0, 0).size();
  list(c, 1, n);
  const bool momentum = c.f(4) != 0;
  if (momentum) list(c, 2, n);
  std::vector<std::vector<Value>> out(3);
  for (size_t k = 0; k < n; ++k) {
    const auto at = [&](size_t arg) { return c.node(c.args[arg].items[k]); };
    const Scaled scaled{c, 10, at(1)};
    const NodeId p = at(0);
    const DType t = c.b.dtype(p);
    NodeId g = c.to(scaled.gradient, t);
    if (c.flag(8)) g = c.un(Fn::Neg, g);
    if (c.f(3) != 0) g = c.add(g, c.mul(number(c, 3, t), p));
    NodeId buffer = g;
    if (momentum) {
      if (!c.flag(9)) {
        const NodeId mu = number(c, 4, t);
        const NodeId damped = c.f(6) == 0 ? g : c.mul(c.sub(c.num(1, t), number(c, 6, t)), g);
        buffer = c.add(c.mul(mu, at(2)), damped);
      }
      g = c.flag(7) ? c.add(g, c.mul(number(c, 4, t), buffer)) : buffer;
    }
    const NodeId updated = c.sub(p, c.mul(number(c, 5, t), g));
    if (momentum) buffer = scaled.unless_found(at(2), c.to(buffer, c.b.dtype(at(2))));
    const std::pair<size_t, NodeId> results[] = {
        {0, scaled.unless_found(p, updated)}, {1, scaled.unless_found(at(1), scaled.gradient)}, {2, buffer}};
    for (const auto& [arg, x] : results) {
      if (arg == 2 && !momentum) continue;
      if (!writes) {
        out[arg].push_back(c.out(x));
      } else if (arg != 1 || scaled.unscales) {
        write_state(c, arg, k, x);
      }
    }
  }
  return writes ? Value{} : lists_of(std::move(out));
}
// A gradient scaler: gradients that hold what is not finite set found_inf, and all are multiplied by inv_scale.
Value unscale(Call& c, bool writes) {  // self[] found_inf inv_scale
  const size_t n = list(c, 0, 0).size();
  NodeId found = c.t(1);
  const NodeId inverse = c.t(2);
  std::vector<std::vector<Value>> out(1);
  for (size_t k = 0; k < n; ++k) {
    const NodeId g = c.node(c.args[0].items[k]);
    Ints dims;
    for (int64_t d = 0; d < c.b.rank(g); ++d) dims.push_back(d);
    const NodeId fine = c.b.reduce(Fn::And, c.map(Fn::IsFinite, {g}, DType::Bool), dims, false);
    found = c.where(c.expand(fine, c.shape(found)), found, c.full_like(found, Literal::real(1)));
    const NodeId scaled = c.mul(g, c.to(c.b.reshape(inverse, {}), c.b.dtype(g)));
    if (writes)
      write_state(c, 0, k, scaled);
    else
      out[0].push_back(c.out(scaled));
  }
  if (!writes) return Value::list({Value::list(std::move(out[0])), c.out(found)});
  c.m.write(c.args[1].tensor, found);
  return {};
}
// self growth_tracker found_inf scale_growth_factor scale_backoff_factor growth_interval
Value update_scale(Call& c, bool writes) {
  const NodeId scale = c.t(0), tracker = c.t(1);
  const DType t = c.b.dtype(scale), whole = c.b.dtype(tracker);
  const auto like = [&](NodeId x, const Shape& s) { return c.expand(c.b.reshape(x, {}), s); };
  const Shape s = c.shape(scale), ts = c.shape(tracker);
  const NodeId found = c.to(c.t(2), DType::Bool);
  const NodeId more = c.add(tracker, c.num(1, whole));
  const NodeId due = c.compare(Fn::Eq, more, c.full_like(tracker, Literal::integer(c.i(5))));
  const NodeId grown = c.mul(scale, c.lit(c.lit(3), t)), less = c.mul(scale, c.lit(c.lit(4), t));
  const NodeId grows = c.map(Fn::And, {like(due, s), c.map(Fn::IsFinite, {grown}, DType::Bool)}, DType::Bool);
  const NodeId new_scale = c.where(like(found, s), less, c.where(grows, grown, scale));
  const NodeId none = c.full_like(tracker, Literal::integer(0));
  const NodeId new_tracker = c.where(like(found, ts), none, c.where(due, none, more));
  if (!writes) return c.outs({new_scale, new_tracker});
  c.m.write(c.args[0].tensor, new_scale);
  c.m.write(c.args[1].tensor, new_tracker);
  return c.args[0];
}
template <bool kDecoupled, bool kWrites>
Value adam_op(Call& c) {
  return fused_adam(c, kDecoupled, kWrites);
}
template <bool kWrites>
Value sgd_op(Call& c) {
  return fused_sgd(c, kWrites);
}

template <bool kWrites>
Value unscale_op(Call& c) {
  return unscale(c, kWrites);
}
template <bool kWrites>
Value update_scale_op(Call& c) {
  return update_scale(c, kWrites);
}

constexpr const char* kUpdate = "self growth_tracker found_inf scale_growth_factor scale_backoff_factor growth_interval";
constexpr const char* kAdam =
    "self grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps lr beta1 beta2 weight_decay eps amsgrad maximize grad_scale=None "
    "found_inf=None";
constexpr const char* kSgd =
    "self grads momentum_buffer_list weight_decay momentum lr dampening nesterov maximize is_first_step grad_scale=None found_inf=None";
const OpRow kRows[] = {
    {"aten._fused_adam.default", kAdam, adam_op<false, false>},
    {"aten._fused_adam.tensor_lr", kAdam, adam_op<false, false>},
    {"aten._fused_adam_.default", kAdam, adam_op<false, true>},
    {"aten._fused_adam_.tensor_lr", kAdam, adam_op<false, true>},
    {"aten._fused_adamw.default", kAdam, adam_op<true, false>},
    {"aten._fused_adamw.tensor_lr", kAdam, adam_op<true, false>},
    {"aten._fused_adamw_.default", kAdam, adam_op<true, true>},
    {"aten._fused_adamw_.tensor_lr", kAdam, adam_op<true, true>},
    {"aten._fused_sgd.default", kSgd, sgd_op<false>},
    {"aten._fused_sgd.tensor_lr", kSgd, sgd_op<false>},
    {"aten._amp_foreach_non_finite_check_and_unscale.default", "self found_inf inv_scale", unscale_op<false>},
    {"aten._amp_foreach_non_finite_check_and_unscale_.default", "self found_inf inv_scale", unscale_op<true>},
    {"aten._amp_update_scale.default", kUpdate, update_scale_op<false>},
    {"aten._amp_update_scale_.default", kUpdate, update_scale_op<true>},
    {"aten._fused_sgd_.default", kSgd, sgd_op<true>},
    {"aten._fused_sgd_.tensor_lr", kSgd, sgd_op<true>},
};

}  // namespace

Rows optimizer_rows() { return kRows; }

}  // namespace shardproof::lower::aten
