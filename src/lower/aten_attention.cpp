// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention in all its kernel forms, by definition:
//   s = scale q k^T, -inf where masked;  lse = log sum exp s;  out = (exp s / sum exp s) v
// and backward, with p = exp(s - lse) and delta = rowsum(d_out * out):
//   dv = p^T d_out;  ds = p (d_out v^T - delta);  dq = scale ds k;  dk = scale ds^T q;  d_bias = ds
// With an explicit mask, rows that are masked throughout give 0, as PyTorch's kernels do. Dropout is supported in the composite forms only.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

struct Attention {
  Call& c;
  NodeId q, k, v;  // [.., L, E], [.., S, E], [.., S, Ev]; equal leading dims after prepare()
  std::optional<NodeId> mask;
  bool causal = false;
  Literal scale;
  int64_t rank = 0, repeat = 1;  // query heads per key head
  Shape key_shape, value_shape;
  DType t = DType::F32;

  Attention(Call& call, NodeId query, NodeId key, NodeId value) : c(call), q(query), k(key), v(value) {
    rank = c.b.rank(q);
    t = c.b.dtype(q);
    if (rank < 2 || c.b.rank(k) != rank || c.b.rank(v) != rank) malformed("attention: query, key and value need equally many dimensions");
    key_shape = c.shape(k);
    value_shape = c.shape(v);
    const Shape sq = c.shape(q);
    if (sq.back() != key_shape.back() || key_shape[at(rank - 2)] != value_shape[at(rank - 2)]) malformed("attention: sizes do not fit");
    for (int64_t d = 0; d < rank - 2; ++d) {
      const int64_t nq = sq[at(d)], nk = key_shape[at(d)];
      if (nk != value_shape[at(d)]) malformed("attention: key and value differ in a batch size");
      if (nq == nk) continue;
      if (d != rank - 3 || nk == 0 || nq % nk) unsupported("attention with broadcast batch dimensions");
      repeat = nq / nk;
    }
    k = widen(k);
    v = widen(v);
  }
  // Each key head serves `repeat` query heads in a row.
  NodeId widen(NodeId x) {
    if (repeat == 1) return x;
    Shape wide = c.shape(x), merged = wide;
    merged[at(rank - 3)] *= repeat;
    wide.insert(wide.begin() + rank - 2, repeat);
    Ints dims;
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d < rank - 2 ? d : d + 1);
    return c.b.reshape(c.b.broadcast(x, wide, dims), merged);
  }
  NodeId narrow(NodeId x, const Shape& to) {
    if (repeat == 1) return x;
    Shape wide = to;
    wide.insert(wide.begin() + rank - 2, repeat);
    return c.sum(c.b.reshape(x, wide), {rank - 2}, false);
  }
  NodeId product(NodeId x, NodeId y, int64_t dx, int64_t dy) {
    Ints batch;
    for (int64_t d = 0; d < rank - 2; ++d) batch.insert(batch.end(), {d, d});
    return c.b.contract(x, y, batch, {dx, dy}, t);
  }
  void set_scale(size_t at_arg) {
    const auto e = static_cast<double>(c.shape(q).back());
    scale = at_arg < c.args.size() && c.has(at_arg) ? c.lit(at_arg) : Literal::real(std::sqrt(1 / e));
    if (scale.kind == Literal::Kind::Float && scale.d == std::floor(scale.d) && std::abs(scale.d) < 1e9)
      scale = Literal::integer(static_cast<int64_t>(scale.d));
  }
  void check_causal(bool square) {
    if (causal && square && c.shape(q)[at(rank - 2)] != key_shape[at(rank - 2)])
      unsupported("a causal mask where queries and keys differ in number");
  }
  NodeId scores() {
    NodeId s = c.mul(product(q, k, rank - 1, rank - 1), c.lit(scale, t));
    const NodeId minus_inf = c.lit(Literal::real(-INFINITY), t);
    if (causal) s = c.where(triangle(c, c.shape(s), Fn::Le, 0), s, minus_inf);
    if (mask) {
      if (c.b.dtype(*mask) == DType::Bool)
        s = c.where(c.expand(*mask, c.shape(s)), s, minus_inf);
      else
        s = c.add(s, c.to(*mask, t));
    }
    return s;
  }
  struct Forward {
    NodeId weights, lse;
  };
  Forward weights() {
    const NodeId s = scores(), e = c.un(Fn::Exp, s), z = c.sum(e, {rank - 1}, true);
    NodeId w = c.div(e, z);
    if (mask) {
      const NodeId none = c.b.reduce(Fn::And, c.compare(Fn::Eq, s, c.lit(Literal::real(-INFINITY), t)), {rank - 1}, true);
      w = c.where(none, c.num(0, t), w);
    }
    return {w, c.b.reshape(c.un(Fn::Log, z), [&] {
              Shape r = c.shape(q);
              r.pop_back();
              return r;
            }())};
  }
  NodeId output(NodeId w) { return product(w, v, rank - 1, rank - 2); }
  struct Backward {
    NodeId dq, dk, dv, ds;
  };
  Backward backward(NodeId g, NodeId out, NodeId lse) {
    const NodeId s = scores();
    const NodeId p = c.un(Fn::Exp, c.sub(s, lse));
    const NodeId dv = product(p, g, rank - 2, rank - 2);
    const NodeId dp = product(g, v, rank - 1, rank - 1);
    const NodeId delta = c.sum(c.mul(g, out), {rank - 1}, true);
    const NodeId ds = c.mul(p, c.sub(dp, delta));
    const NodeId sc = c.lit(scale, t);
    return {c.mul(product(ds, k, rank - 1, rank - 2), sc), narrow(c.mul(product(ds, q, rank - 2, rank - 2), sc), key_shape),
            narrow(dv, value_shape), ds};
  }
  // lse as the program stores it: any shape with the rows of q, perhaps padded at the end -> [.., L, 1]
  NodeId column(NodeId lse) {
    Shape rows = c.shape(q);
    rows.back() = 1;
    const int64_t l = rows[at(rank - 2)];
    if (c.b.rank(lse) == rank - 1 && c.shape(lse).back() > l) lse = c.b.slice_dim(lse, rank - 2, 0, l);
    if (ir::num_elements(c.shape(lse)) != ir::num_elements(rows)) unsupported("a logsumexp of this shape");
    return c.b.reshape(c.to(lse, t), rows);
  }
};

// Result k where only its type is of interest (random states, debug masks).
Value filler(Call& c, size_t k) {
  const fx::TensorType* t = c.annotated(k);
  return t ? c.out(c.b.uninit(t->dtype, t->shape)) : Value{};
}
// lse in the type and shape that the text states; padding at the end holds anything.
NodeId stored_lse(Call& c, NodeId lse, int64_t pad_to = 1, bool column = false) {
  const DType t = c.b.dtype(lse);
  const fx::TensorType* a = c.annotated(1);
  lse = c.to(lse, a && ir::is_float(a->dtype) ? a->dtype : t == DType::F64 ? t : DType::F32);
  Shape s = c.shape(lse);
  const int64_t l = s.back(), padded = a && a->shape.size() == s.size() ? a->shape.back() : (l + pad_to - 1) / pad_to * pad_to;
  if (padded > l) {
    Shape rest = s;
    rest.back() = padded - l;
    lse = c.b.concat({lse, c.b.uninit(c.b.dtype(lse), rest)}, static_cast<int64_t>(s.size()) - 1);
  }
  if (a ? a->shape.size() == s.size() + 1 && a->shape.back() == 1 : column) {
    s.push_back(1);
    lse = c.b.reshape(lse, s);
  }
  return lse;
}
void no_dropout(Call& c, size_t k) {
  if (c.f(k) != 0) unsupported("dropout inside an attention kernel");
}
Value max_of(Call& c, NodeId x) { return Value::integer(c.shape(x)[at(c.b.rank(x) - 2)]); }

Value flash(Call& c) {  // query key value dropout_p is_causal return_debug_mask scale
  no_dropout(c, 3);
  Attention a(c, c.t(0), c.t(1), c.t(2));
  a.causal = c.flag(4);
  a.set_scale(6);
  a.check_causal(true);
  const auto f = a.weights();
  return Value::list({c.out(a.output(f.weights)), c.out(stored_lse(c, f.lse)), filler(c, 2), filler(c, 3), max_of(c, a.q), max_of(c, a.k),
                      filler(c, 6), filler(c, 7), filler(c, 8)});
}
Value flash_backward(Call& c) {  // grad q k v out lse cum_q cum_k max_q max_k dropout causal seed offset scale
  no_dropout(c, 10);
  Attention a(c, c.t(1), c.t(2), c.t(3));
  a.causal = c.flag(11);
  a.set_scale(14);
  a.check_causal(true);
  const auto g = a.backward(c.t(0), c.t(4), a.column(c.t(5)));
  return c.outs({g.dq, g.dk, g.dv});
}
Value cpu_flash(Call& c) {  // q k v dropout causal attn_mask scale
  no_dropout(c, 3);
  Attention a(c, c.t(0), c.t(1), c.t(2));
  a.causal = c.flag(4);
  a.mask = c.opt(5);
  a.set_scale(6);
  const auto f = a.weights();
  return c.outs({a.output(f.weights), stored_lse(c, f.lse)});
}
Value cpu_flash_backward(Call& c) {  // grad q k v out lse dropout causal attn_mask scale
  no_dropout(c, 6);
  Attention a(c, c.t(1), c.t(2), c.t(3));
  a.causal = c.flag(7);
  a.mask = c.opt(8);
  a.set_scale(9);
  const auto g = a.backward(c.t(0), c.t(4), a.column(c.t(5)));
  return c.outs({g.dq, g.dk, g.dv});
}
Value efficient(Call& c) {  // q k v bias compute_lse dropout causal scale -> out lse seed offset
  no_dropout(c, 5);
  Attention a(c, c.t(0), c.t(1), c.t(2));
  a.mask = c.opt(3);
  a.causal = c.flag(6);
  a.set_scale(7);
  const auto f = a.weights();
  Shape none = c.shape(a.q);
  none.pop_back();
  none.back() = 0;
  const NodeId lse = c.flag(4) ? stored_lse(c, f.lse, 32) : c.b.constant(Literal::integer(0), DType::F32, none);
  return Value::list({c.out(a.output(f.weights)), c.out(lse), filler(c, 2), filler(c, 3)});
}
// The gradient of a bias that was broadcast: summed to the bias's shape.
Value bias_gradient(Call& c, NodeId ds, NodeId bias) {
  const Shape s = c.shape(ds), b = c.shape(bias);
  Ints dims;
  const size_t lead = s.size() - b.size();
  for (size_t d = 0; d < s.size(); ++d)
    if (d < lead || (b[d - lead] == 1 && s[d] != 1)) dims.push_back(static_cast<int64_t>(d));
  return c.out(c.to(c.b.reshape(dims.empty() ? ds : c.sum(ds, dims, false), b), c.b.dtype(bias)));
}
Value efficient_backward(Call& c) {  // grad q k v bias out lse seed offset dropout mask4 causal scale
  no_dropout(c, 9);
  Attention a(c, c.t(1), c.t(2), c.t(3));
  a.mask = c.opt(4);
  a.causal = c.flag(11);
  a.set_scale(12);
  const auto g = a.backward(c.t(0), c.t(5), a.column(c.t(6)));
  const Ints mask = c.ints(10);
  if (mask.size() != 4) malformed("grad_input_mask has four entries");
  std::vector<Value> out{c.out(g.dq), c.out(g.dk), c.out(g.dv), {}};
  if (mask[3] && a.mask) out[3] = bias_gradient(c, g.ds, *a.mask);
  return Value::list(std::move(out));
}
Value cudnn(Call& c) {  // q k v bias compute_lse dropout causal debug scale
  no_dropout(c, 5);
  Attention a(c, c.t(0), c.t(1), c.t(2));
  a.mask = c.opt(3);
  a.causal = c.flag(6);
  a.set_scale(8);
  a.check_causal(true);
  const auto f = a.weights();
  return Value::list({c.out(a.output(f.weights)), c.flag(4) ? c.out(stored_lse(c, f.lse, 1, true)) : filler(c, 1), filler(c, 2),
                      filler(c, 3), max_of(c, a.q), max_of(c, a.k), filler(c, 6), filler(c, 7), filler(c, 8)});
}
Value cudnn_backward(Call& c) {  // grad q k v out lse seed offset bias cum_q cum_k max_q max_k dropout causal scale
  no_dropout(c, 13);
  Attention a(c, c.t(1), c.t(2), c.t(3));
  a.mask = c.opt(8);
  a.causal = c.flag(14);
  a.set_scale(15);
  a.check_causal(true);
  const auto g = a.backward(c.t(0), c.t(4), a.column(c.t(5)));
  return c.outs({g.dq, g.dk, g.dv});
}
Value overrideable(Call& c) {  // q k v bias dropout causal debug scale
  no_dropout(c, 4);
  Attention a(c, c.t(0), c.t(1), c.t(2));
  a.mask = c.opt(3);
  a.causal = c.flag(5);
  a.set_scale(7);
  a.check_causal(true);
  const auto f = a.weights();
  return Value::list({c.out(a.output(f.weights)), c.out(stored_lse(c, f.lse)), filler(c, 2), filler(c, 3), max_of(c, a.q), max_of(c, a.k),
                      filler(c, 6), filler(c, 7), filler(c, 8)});
}

// ---- the composite forms, where dropout is an operator of its own

struct Dropped {
  NodeId out, weights;
};
Dropped composite(Call& c, std::optional<NodeId> mask, double p, bool causal, size_t scale_at, bool gqa,
                  std::optional<NodeId> dropout_mask) {
  Attention a(c, c.t(0), c.t(1), c.t(2));
  if (a.repeat != 1 && !gqa) malformed("attention: the number of heads differs");
  a.mask = mask;
  a.causal = causal;
  a.set_scale(scale_at);
  NodeId w = a.weights().weights;
  const NodeId plain = w;
  if (p > 0) {
    NodeId keep;
    if (dropout_mask)
      keep = *dropout_mask;
    else
      keep = c.b.random("bernoulli", Literal::real(1 - p), DType::Bool, c.shape(w), c.l.draws++);
    w = c.mul3(w, c.to(keep, a.t), c.num(1 / (1 - p), a.t));
  }
  return {a.output(w), plain};
}
Value sdpa(Call& c) {  // q k v attn_mask dropout causal scale enable_gqa
  return c.out(composite(c, c.opt(3), c.f(4), c.flag(5), 6, c.flag(7), std::nullopt).out);
}
Value sdpa_math(Call& c) {  // q k v attn_mask dropout causal dropout_mask scale enable_gqa
  const Dropped d = composite(c, c.opt(3), c.f(4), c.flag(5), 7, c.flag(8), c.opt(6));
  return c.outs({d.out, d.weights});
}

const OpRow kRows[] = {
    {"aten.scaled_dot_product_attention.default",
     "query key value attn_mask=None dropout_p=0.0 is_causal=False scale=None enable_gqa=False", sdpa},
    {"aten._scaled_dot_product_attention_math.default",
     "query key value attn_mask=None dropout_p=0.0 is_causal=False dropout_mask=None scale=None enable_gqa=False", sdpa_math},
    {"aten._scaled_dot_product_flash_attention.default", "query key value dropout_p=0.0 is_causal=False return_debug_mask=False scale=None",
     flash},
    {"aten._scaled_dot_product_flash_attention_backward.default",
     "grad_out query key value out logsumexp cum_seq_q cum_seq_k max_q max_k dropout_p is_causal philox_seed philox_offset scale=None",
     flash_backward},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", "query key value dropout_p=0.0 is_causal=False attn_mask=None scale=None",
     cpu_flash},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
     "grad_out query key value out logsumexp dropout_p is_causal attn_mask=None scale=None", cpu_flash_backward},
    {"aten._scaled_dot_product_efficient_attention.default",
     "query key value attn_bias compute_log_sumexp dropout_p=0.0 is_causal=False scale=None", efficient},
    {"aten._scaled_dot_product_efficient_attention_backward.default",
     "grad_out_ query key value attn_bias out logsumexp philox_seed philox_offset dropout_p grad_input_mask is_causal=False scale=None",
     efficient_backward},
    {"aten._scaled_dot_product_cudnn_attention.default",
     "query key value attn_bias compute_log_sumexp dropout_p=0.0 is_causal=False return_debug_mask=False scale=None", cudnn},
    {"aten._scaled_dot_product_cudnn_attention_backward.default",
     "grad_out query key value out logsumexp philox_seed philox_offset attn_bias cum_seq_q cum_seq_k max_q max_k dropout_p is_causal "
     "scale=None",
     cudnn_backward},
    {"aten._scaled_dot_product_fused_attention_overrideable.default",
     "query key value attn_bias=None dropout_p=0.0 is_causal=False return_debug_mask=False scale=None", overrideable},
};

}  // namespace

Rows attention_rows() { return kRows; }

}  // namespace shardproof::lower::aten
