// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What an operator asks of its node and inputs, and arithmetic with NumPy broadcasting.
#include <algorithm>

#include <fmt/format.h>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {

using graphdef::Attr;

NodeId Call::t(size_t k) const {
  if (k >= in.size()) throw Unsupported{fmt::format("input {} is missing", k)};
  if (in[k].id == ir::kNoNode) throw Unsupported{fmt::format("input {} is no tensor", k)};
  return in[k].id;
}

Ints Call::ints(size_t k) const {
  std::optional<Ints> v = l.known(t(k));
  if (!v) throw Unsupported{fmt::format("input {} depends on the program's inputs, expected a constant", k)};
  return *v;
}

int64_t Call::integer(size_t k) const {
  Ints v = ints(k);
  if (v.size() != 1) throw Unsupported{fmt::format("input {} has {} values, expected one", k, v.size())};
  return v[0];
}

int64_t Call::axis(size_t k, int64_t rank) const {
  int64_t a = integer(k);
  if (a < -rank || a >= rank) throw Unsupported{fmt::format("axis {} of a tensor of rank {}", a, rank)};
  return a < 0 ? a + rank : a;
}

Ints Call::axes(size_t k, int64_t rank) const {
  Ints out;
  for (int64_t a : ints(k)) {
    if (a < -rank || a >= rank) throw Unsupported{fmt::format("axis {} of a tensor of rank {}", a, rank)};
    if (a < 0) a += rank;
    if (std::find(out.begin(), out.end(), a) != out.end()) throw Unsupported{fmt::format("axis {} is given twice", a)};
    out.push_back(a);
  }
  return out;
}

int64_t Call::attr(const char* name, int64_t missing) const {
  const Attr* a = node.find(name);
  if (!a) return missing;
  if (a->kind != Attr::Kind::Int && a->kind != Attr::Kind::Bool) throw Unsupported{fmt::format("attribute {} is no integer", name)};
  return a->i;
}

double Call::attr_f(const char* name, double missing) const {
  const Attr* a = node.find(name);
  if (!a) return missing;
  if (a->kind != Attr::Kind::Float) throw Unsupported{fmt::format("attribute {} is no number", name)};
  return a->f;
}

std::string Call::attr_s(const char* name, const char* missing) const {
  const Attr* a = node.find(name);
  if (!a) return missing;
  if (a->kind != Attr::Kind::String) throw Unsupported{fmt::format("attribute {} is no string", name)};
  return a->s;
}

DType Call::attr_t(const char* name, DType missing) const {
  const Attr* a = node.find(name);
  if (!a) return missing;
  if (a->kind != Attr::Kind::Type || a->type.kind != graphdef::Type::Kind::Tensor)
    throw Unsupported{fmt::format("attribute {} is no type of a tensor", name)};
  return a->type.dtype;
}

Ints Call::attr_ints(const char* name) const {
  Ints out;
  const Attr* a = node.find(name);
  if (!a) return out;
  if (a->kind != Attr::Kind::List) throw Unsupported{fmt::format("attribute {} is no list", name)};
  for (const Attr& item : a->list) {
    if (item.kind != Attr::Kind::Int) throw Unsupported{fmt::format("attribute {} is no list of integers", name)};
    out.push_back(item.i);
  }
  return out;
}

NodeId Call::number(double v, DType t) const {
  if (ir::is_int(t)) return b.constant(Literal::integer(static_cast<int64_t>(v), t), t);
  if (t == DType::Bool) return b.constant(Literal::boolean(v != 0), t);
  return b.constant(Literal::real(v), t);
}

Shape Call::joint(std::initializer_list<NodeId> xs) const {
  Shape out;
  for (NodeId x : xs) {
    const Shape& s = b.shape(x);
    if (s.size() > out.size()) out.insert(out.begin(), s.size() - out.size(), 1);
    for (size_t k = 0; k < s.size(); ++k) {
      int64_t& n = out[out.size() - s.size() + k];
      if (n == 1)
        n = s[k];
      else if (s[k] != 1 && s[k] != n)
        throw Unsupported{fmt::format("shapes that do not broadcast ({} and {})", n, s[k])};
    }
  }
  return out;
}

NodeId Call::fit(NodeId x, Shape s) const { return b.shape(x) == s ? x : b.broadcast_trailing(x, std::move(s)); }

NodeId Call::binary(Fn fn, NodeId x, NodeId y) const {
  if (b.dtype(x) != b.dtype(y)) throw Unsupported{"operands of different types"};
  if (ir::is_complex(b.dtype(x))) throw Unsupported{"complex numbers"};
  Shape s = joint({x, y});
  // Numbers stay numbers: a core map reads a rank-0 operand everywhere.
  NodeId p = b.shape(x).empty() && !b.shape(y).empty() ? x : fit(x, s);
  NodeId q = b.shape(y).empty() && !b.shape(x).empty() ? y : fit(y, s);
  return b.map(fn, {p, q}, b.dtype(x));
}

NodeId Call::compare(Fn fn, NodeId x, NodeId y) const {
  if (b.dtype(x) != b.dtype(y)) throw Unsupported{"operands of different types"};
  Shape s = joint({x, y});
  NodeId p = b.shape(x).empty() && !b.shape(y).empty() ? x : fit(x, s);
  NodeId q = b.shape(y).empty() && !b.shape(x).empty() ? y : fit(y, s);
  return b.map(fn, {p, q}, DType::Bool);
}

NodeId Call::select(NodeId c, NodeId x, NodeId y) const {
  if (b.dtype(x) != b.dtype(y)) throw Unsupported{"operands of different types"};
  Shape s = joint({c, x, y});
  return b.select(fit(c, s), fit(x, s), fit(y, s));
}

NodeId Call::list(const Ints& values, DType t) const {
  std::vector<Literal> literals;
  for (int64_t v : values) literals.push_back(Literal::integer(v, t));
  return b.dense(t, {static_cast<int64_t>(values.size())}, std::move(literals));
}

}  // namespace shardproof::lower::gd
