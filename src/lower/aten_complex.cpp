// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Complex numbers (rotary embeddings use them) are lowered to pairs of reals: a complex node is Map Complex(re, im) of two real nodes, or
// a view of one, and parts() finds those two again. So view_as_real(view_as_complex(x) * f) leaves real arithmetic only.
#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

NodeId Lowering::complex_from(NodeId re, NodeId im) {
  const NodeId z = b.map(Fn::Complex, {re, im}, b.dtype(re) == DType::F64 ? DType::C128 : DType::C64);
  parts_[z] = {re, im};
  return z;
}

std::pair<NodeId, NodeId> Lowering::parts(NodeId x) {
  // Down through views to what has parts, then back up.
  std::vector<NodeId> path;
  NodeId at = x;
  while (!parts_.count(at)) {
    const ir::Node& n = b.g[at];
    const bool view = n.op == ir::Op::Transpose || n.op == ir::Op::Reshape || n.op == ir::Op::Slice || n.op == ir::Op::Broadcast ||
                      n.op == ir::Op::Reverse;
    if (!view) break;
    path.push_back(at);
    at = n.in[0];
  }
  if (!parts_.count(at)) {
    const ir::Node& n = b.g[at];
    const DType part = n.dtype == DType::C128 ? DType::F64 : DType::F32;
    if (n.op == ir::Op::Concat) {
      const Nodes in = n.in;
      const int64_t d = n.a[0];
      Nodes re, im;
      for (const NodeId y : in) {
        const auto [r, i] = parts(y);  // as deep as concatenations of complex tensors are nested
        re.push_back(r);
        im.push_back(i);
      }
      parts_[at] = {b.concat(re, d), b.concat(im, d)};
    } else if (n.op == ir::Op::Const) {
      // A real number among complex operands: x * 1.0.
      const ir::Literal value = n.lit;
      const Shape shape = n.shape;
      const NodeId re = b.constant(value, part, shape);
      parts_[at] = {re, b.constant(ir::Literal::integer(0), part, shape)};
    } else {
      parts_[at] = {b.map(Fn::Real, {at}, part), b.map(Fn::Imag, {at}, part)};
    }
  }
  std::pair<NodeId, NodeId> p = parts_.at(at);
  for (size_t k = path.size(); k-- > 0;) {
    const ir::Node n = b.g[path[k]];  // a copy: the graph grows
    const auto apply = [&](NodeId y) {
      switch (n.op) {
        case ir::Op::Transpose: return b.transpose(y, n.a);
        case ir::Op::Reshape: return b.reshape(y, n.shape);
        case ir::Op::Slice: return b.slice(y, n.a, n.b, n.c);
        case ir::Op::Broadcast: return b.broadcast(y, n.shape, n.a);
        default: return b.reverse(y, n.a);
      }
    };
    p = {apply(p.first), apply(p.second)};
    parts_[path[k]] = p;
  }
  return p;
}

namespace {

Value view_as_complex(Call& c) {
  const NodeId x = c.t(0);
  Shape s = c.shape(x);
  if (s.empty() || s.back() != 2) malformed("view_as_complex needs a last dimension of size 2");
  const int64_t d = static_cast<int64_t>(s.size()) - 1;
  s.pop_back();
  Lowering* l = &c.l;
  return c.view(0, {ViewStep::function([l, d, s](NodeId y) {
                  return l->complex_from(l->b.reshape(l->b.slice_dim(y, d, 0, 1), s), l->b.reshape(l->b.slice_dim(y, d, 1, 2), s));
                })});
}
Value view_as_real(Call& c) {
  c.t(0);
  Lowering* l = &c.l;
  return c.view(0, {ViewStep::function([l](NodeId z) {
                  const auto [re, im] = l->parts(z);
                  Shape s = l->b.shape(re);
                  const auto d = static_cast<int64_t>(s.size());
                  s.push_back(1);
                  const NodeId r = l->b.reshape(re, s), i = l->b.reshape(im, s);
                  return l->b.concat({r, i}, d);
                })});
}
Value complex_of(Call& c) {
  const NodeId re = c.t(0), im = c.t(1);
  const Shape s = broadcast_shapes(c.shape(re), c.shape(im));
  return c.out(c.l.complex_from(c.expand(re, s), c.expand(im, s)));
}
Value polar(Call& c) {
  const NodeId r = c.t(0), a = c.t(1);
  return c.out(c.l.complex_from(c.mul(r, c.un(Fn::Cos, a)), c.mul(r, c.un(Fn::Sin, a))));
}
Value part(Call& c) {
  const NodeId x = c.t(0);
  if (!ir::is_complex(c.b.dtype(x))) {
    if (c.row.tag == Fn::Imag) malformed("imag of a real tensor");
    return c.view(0, {});
  }
  Lowering* l = &c.l;
  const bool re = c.row.tag == Fn::Real;
  return c.view(0, {ViewStep::function([l, re](NodeId z) { return re ? l->parts(z).first : l->parts(z).second; })});
}
const OpRow kRows[] = {
    {"aten.view_as_complex.default", "self", view_as_complex},
    {"aten.view_as_real.default", "self", view_as_real},
    {"aten.view_as_complex_copy.default", "self", view_as_complex},
    {"aten.view_as_real_copy.default", "self", view_as_real},
    {"aten.complex.default", "real imag", complex_of},
    {"aten.polar.default", "abs angle", polar},
    {"aten.real.default", "self", part, Fn::Real},
    {"aten.imag.default", "self", part, Fn::Imag},
};

}  // namespace

Rows complex_rows() { return kRows; }

}  // namespace shardproof::lower::aten
