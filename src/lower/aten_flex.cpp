// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// flex_attention: attention whose scores are changed by a submodule score_mod(score, b, h, q, kv) and masked by mask_mod(b, h, q, kv).
// Both are written for one element; here they are applied to all elements at once, which is the same for pointwise operators and for
// lookups by all indices. A submodule with anything else in it is refused. The block mask only says where the mask is empty: it is not
// looked at.
#include <cmath>

#include <fmt/format.h>

#include "lower/aten_indexing.h"

namespace shardproof::lower::aten {

namespace {

// Whether an operator means the same on tensors of any shape as on single elements.
bool elementwise(const fx::Value& v) {
  if (v.op == fx::Value::Op::Placeholder || v.op == fx::Value::Op::GetAttr) return true;
  if (v.op != fx::Value::Op::Call) return false;
  const OpRow* row = find_op(v.target);
  if (!row) return false;
  const std::string_view family = family_of(row), name = row->name;
  if (family == "pointwise") return true;
  for (const char* ok :
       {"aten.full.default", "aten.scalar_tensor.default", "aten.index.Tensor", "aten.detach.default", "aten.clone.default",
        "aten.alias.default", "aten._to_copy.default", "prims.convert_element_type.default", "aten.full_like.default",
        "aten.zeros_like.default", "aten.ones_like.default", "aten.relu.default", "aten.silu.default", "aten.gelu.default",
        "aten.sigmoid_backward.default", "aten.tanh_backward.default", "aten.threshold_backward.default"})
    if (name == ok) return true;
  return false;
}

struct Flex {
  Call& c;
  NodeId q, k, v;
  Literal scale;
  int64_t repeat = 1;
  Shape scores_shape, key_shape, value_shape;
  DType t;
  std::vector<Value> indices;  // b, h, q, kv over all elements
  std::string mask;
  std::vector<Value> score_buffers, mask_buffers;

  // query key value at `first`; block mask, scale, options and the two buffer tuples at `rest`.
  Flex(Call& call, size_t first, size_t rest) : c(call), q(c.t(first)), k(c.t(first + 1)), v(c.t(first + 2)), t(c.b.dtype(q)) {
    if (c.b.rank(q) != 4 || c.b.rank(k) != 4 || c.b.rank(v) != 4) malformed("flex_attention needs four dimensions");
    key_shape = c.shape(k);
    value_shape = c.shape(v);
    const Shape sq = c.shape(q);
    if (key_shape[1] == 0 || sq[1] % key_shape[1] || sq[3] != key_shape[3] || key_shape[2] != value_shape[2] ||
        key_shape[1] != value_shape[1])
      malformed("flex_attention: sizes do not fit");
    repeat = sq[1] / key_shape[1];
    if (key_shape[0] != sq[0] || value_shape[0] != sq[0]) unsupported("flex_attention with broadcast batches");
    k = widen(k);
    v = widen(v);
    scores_shape = {sq[0], sq[1], sq[2], key_shape[2]};
    const Value& block = c.args[rest];
    if (!block.is(Value::Kind::List) || block.items.empty()) unsupported("flex_attention without a block mask");
    mask = block.items.back().text;
    scale = c.lit(rest + 1);
    score_buffers = c.args[rest + 3].items;
    mask_buffers = c.args[rest + 4].items;
    for (int64_t d = 0; d < 4; ++d) indices.push_back(c.out(c.b.iota(DType::I32, scores_shape, d)));
  }
  NodeId widen(NodeId x) {
    if (repeat == 1) return x;
    Shape wide = c.shape(x), merged = wide;
    merged[1] *= repeat;
    wide.insert(wide.begin() + 2, repeat);
    return c.b.reshape(c.b.broadcast(x, wide, {0, 1, 3, 4}), merged);
  }
  NodeId narrow(NodeId x, Shape to) {
    if (repeat == 1) return x;
    to.insert(to.begin() + 2, repeat);
    return c.sum(c.b.reshape(x, to), {2}, false);
  }
  NodeId product(NodeId x, NodeId y, int64_t dx, int64_t dy) { return c.b.contract(x, y, {0, 0, 1, 1}, {dx, dy}, t); }
  NodeId raw() { return c.mul(product(q, k, 3, 3), c.lit(scale, t)); }
  NodeId full(const Value& x) { return c.expand(c.node(x), scores_shape); }
  NodeId modified(const std::string& score_mod, NodeId scores) {
    std::vector<Value> args{c.out(scores)};
    args.insert(args.end(), indices.begin(), indices.end());
    args.insert(args.end(), score_buffers.begin(), score_buffers.end());
    const Value r = c.l.inline_elementwise(score_mod, std::move(args), elementwise);
    if (r.items.size() != 1) unsupported("a score_mod with several results");
    return c.to(full(r.items[0]), t);
  }
  NodeId visible() {
    std::vector<Value> args = indices;
    args.insert(args.end(), mask_buffers.begin(), mask_buffers.end());
    const Value r = c.l.inline_elementwise(mask, std::move(args), elementwise);
    if (r.items.size() != 1) unsupported("a mask_mod with several results");
    return c.to(full(r.items[0]), DType::Bool);
  }
};

std::string submodule(const Value& v) {
  if (!v.is(Value::Kind::Constant) && !v.is(Value::Kind::Object)) unsupported("a submodule was expected");
  return v.text;
}

// query key value score_mod block_mask scale kernel_options score_mod_other_buffers mask_mod_other_buffers -> out, lse [, max]
Value flex(Call& c) {
  Flex f(c, 0, 4);
  const NodeId minus_inf = c.lit(Literal::real(-INFINITY), f.t);
  const NodeId seen = f.visible();
  const NodeId s = c.where(seen, f.modified(submodule(c.args[3]), f.raw()), minus_inf);
  const NodeId e = c.un(Fn::Exp, s), z = c.sum(e, {3}, true);
  const NodeId none = c.un(Fn::Not, c.b.reduce(Fn::Or, seen, {3}, true));  // rows without a visible element give 0
  const NodeId w = c.where(none, c.num(0, f.t), c.div(e, z));
  Shape rows = f.scores_shape;
  rows.pop_back();
  const fx::TensorType* a = c.annotated(1);
  const NodeId lse = c.to(c.b.reshape(c.un(Fn::Log, z), rows), a ? a->dtype : f.t == DType::F64 ? f.t : DType::F32);
  const fx::TensorType* most = c.annotated(2);
  std::vector<Value> out{c.out(f.product(w, f.v, 3, 2)), c.out(lse), most ? c.out(c.b.uninit(most->dtype, most->shape)) : Value{}};
  return Value::list(std::move(out));
}
// query key value out lse grad_out grad_lse fw_graph joint_graph block_mask scale options buffers buffers -> dq dk dv (buffers' gradients)
Value flex_backward(Call& c) {
  Flex f(c, 0, 9);
  const NodeId out = c.t(3), g = c.t(5), minus_inf = c.lit(Literal::real(-INFINITY), f.t), zero = c.num(0, f.t);
  const NodeId raw = f.raw(), seen = f.visible();
  const NodeId s = c.where(seen, f.modified(submodule(c.args[7]), raw), minus_inf);
  const NodeId p = c.un(Fn::Exp, c.sub(s, c.unsqueeze(c.to(c.t(4), f.t), 3)));
  NodeId delta = c.sum(c.mul(g, out), {3}, true);
  if (c.has(6)) delta = c.sub(delta, c.unsqueeze(c.to(c.t(6), f.t), 3));
  const NodeId ds = c.mul(p, c.sub(f.product(g, f.v, 3, 3), delta));
  std::vector<Value> args{c.out(raw)};
  args.insert(args.end(), f.indices.begin(), f.indices.end());
  args.insert(args.end(), f.score_buffers.begin(), f.score_buffers.end());
  args.push_back(c.out(ds));
  const Value joint = c.l.inline_elementwise(submodule(c.args[8]), std::move(args), elementwise);
  if (joint.items.empty()) malformed("a joint graph without results");
  for (size_t k = 5; k < joint.items.size(); ++k)
    if (!joint.items[k].is(Value::Kind::None)) unsupported("gradients of score_mod's buffers");
  const NodeId dscore = c.where(seen, c.to(f.full(joint.items[0]), f.t), zero), sc = c.lit(f.scale, f.t);
  std::vector<Value> grads{c.out(c.mul(f.product(dscore, f.k, 3, 2), sc)),
                           c.out(f.narrow(c.mul(f.product(dscore, f.q, 2, 2), sc), f.key_shape)),
                           c.out(f.narrow(f.product(p, g, 2, 2), f.value_shape))};
  std::vector<Value> buffers(f.score_buffers.size() + f.mask_buffers.size());
  grads.push_back(Value::list(std::move(buffers)));
  return Value::list(std::move(grads));
}

const OpRow kRows[] = {
    {"higher_order.flex_attention.default",
     "query key value score_mod block_mask scale kernel_options score_mod_other_buffers=[] mask_mod_other_buffers=[]", flex},
    {"higher_order.flex_attention_backward.default",
     "query key value out logsumexp grad_out grad_logsumexp fw_graph joint_graph block_mask scale kernel_options "
     "score_mod_other_buffers=[] mask_mod_other_buffers=[]",
     flex_backward},
};

}  // namespace

Rows flex_rows() { return kRows; }

}  // namespace shardproof::lower::aten
