// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Values of small integer tensors that no input decides: shapes, axes, sizes, keys, as graphs compute them with Shape, Pack, Prod and so
// on. An evaluator over the core nodes made so far; walks with a stack of its own and gives up on anything large or unusual.
#include <algorithm>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {
namespace {

constexpr int64_t kMaxValues = 1 << 16;

int64_t wrap(int64_t v, DType t) {
  int bits = ir::int_bits(t);
  if (bits <= 0 || bits >= 64) return v;
  uint64_t mask = (uint64_t{1} << bits) - 1, u = static_cast<uint64_t>(v) & mask;
  if (ir::is_signed_int(t) && u >> (bits - 1)) u |= ~mask;
  return static_cast<int64_t>(u);
}

// Row-major walk of an index space.
bool next(Ints& index, const Shape& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

size_t offset(const Ints& index, const Shape& shape) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return static_cast<size_t>(at);
}

std::optional<int64_t> compute(Fn fn, const Ints& x) {
  int64_t v = 0;
  switch (fn) {
    case Fn::Add:
      for (int64_t k : x)
        if (__builtin_add_overflow(v, k, &v)) return std::nullopt;
      return v;
    case Fn::Mul:
      v = 1;
      for (int64_t k : x)
        if (__builtin_mul_overflow(v, k, &v)) return std::nullopt;
      return v;
    case Fn::Max: return *std::max_element(x.begin(), x.end());
    case Fn::Min: return *std::min_element(x.begin(), x.end());
    case Fn::Sub: return __builtin_sub_overflow(x[0], x[1], &v) ? std::nullopt : std::optional<int64_t>(v);
    case Fn::Neg: return x[0] == INT64_MIN ? std::nullopt : std::optional<int64_t>(-x[0]);
    case Fn::Div: return x[1] == 0 || (x[0] == INT64_MIN && x[1] == -1) ? std::nullopt : std::optional<int64_t>(x[0] / x[1]);
    case Fn::Rem: return x[1] == 0 || x[1] == -1 ? std::nullopt : std::optional<int64_t>(x[0] % x[1]);
    case Fn::FloorDiv: {
      if (x[1] == 0 || (x[0] == INT64_MIN && x[1] == -1)) return std::nullopt;
      int64_t q = x[0] / x[1];
      return x[0] % x[1] != 0 && (x[0] < 0) != (x[1] < 0) ? q - 1 : q;
    }
    case Fn::Mod: {
      if (x[1] == 0 || x[1] == -1) return std::nullopt;
      int64_t r = x[0] % x[1];
      return r != 0 && (r < 0) != (x[1] < 0) ? r + x[1] : r;
    }
    case Fn::Convert: return x[0];
    case Fn::Select: return x[0] ? x[1] : x[2];
    case Fn::Eq: return x[0] == x[1];
    case Fn::Ne: return x[0] != x[1];
    case Fn::Lt: return x[0] < x[1];
    case Fn::Le: return x[0] <= x[1];
    case Fn::Gt: return x[0] > x[1];
    case Fn::Ge: return x[0] >= x[1];
    default: return std::nullopt;
  }
}

// One node, its inputs evaluated.
std::optional<Ints> evaluate(const ir::Graph& g, const ir::Node& n, const std::vector<const Ints*>& in) {
  int64_t count = ir::num_elements(n.shape);
  Ints out;
  out.reserve(static_cast<size_t>(count));
  auto literal = [](const Literal& v) { return v.kind == Literal::Kind::Float ? std::optional<int64_t>() : std::optional<int64_t>(v.i); };
  auto each = [&](auto&& f) {  // f(index) -> offset into in[0]
    Ints index(n.shape.size(), 0);
    if (count == 0) return;
    do out.push_back((*in[0])[f(index)]);
    while (next(index, n.shape));
  };
  const Shape& s = n.in.empty() ? n.shape : g[n.in[0]].shape;
  switch (n.op) {
    case ir::Op::Const: {
      auto v = literal(n.lit);
      if (!v) return std::nullopt;
      return Ints(static_cast<size_t>(count), *v);
    }
    case ir::Op::Dense:
      for (const Literal& l : *n.dense) {
        auto v = literal(l);
        if (!v) return std::nullopt;
        out.push_back(*v);
      }
      return out;
    case ir::Op::Iota: {
      Ints index(n.shape.size(), 0);
      if (count > 0) do
          out.push_back(index[static_cast<size_t>(n.a[0])]);
        while (next(index, n.shape));
      return out;
    }
    case ir::Op::Reshape: return *in[0];
    case ir::Op::Transpose:
      each([&](const Ints& i) {
        Ints j(s.size());
        for (size_t k = 0; k < j.size(); ++k) j[static_cast<size_t>(n.a[k])] = i[k];
        return offset(j, s);
      });
      return out;
    case ir::Op::Slice:
      each([&](const Ints& i) {
        Ints j(s.size());
        for (size_t k = 0; k < j.size(); ++k) j[k] = n.a[k] + i[k] * n.c[k];
        return offset(j, s);
      });
      return out;
    case ir::Op::Reverse:
      each([&](const Ints& i) {
        Ints j = i;
        for (int64_t k : n.a) j[static_cast<size_t>(k)] = s[static_cast<size_t>(k)] - 1 - i[static_cast<size_t>(k)];
        return offset(j, s);
      });
      return out;
    case ir::Op::Broadcast:
      each([&](const Ints& i) {
        Ints j(s.size());
        for (size_t k = 0; k < j.size(); ++k) j[k] = s[k] == 1 ? 0 : i[static_cast<size_t>(n.a[k])];
        return offset(j, s);
      });
      return out;
    case ir::Op::Concat: {
      if (n.shape.size() != 1) return std::nullopt;
      for (const Ints* x : in) out.insert(out.end(), x->begin(), x->end());
      return out;
    }
    case ir::Op::Map: {
      for (int64_t k = 0; k < count; ++k) {
        Ints x;
        for (size_t j = 0; j < in.size(); ++j) x.push_back((*in[j])[g[n.in[j]].shape.empty() ? 0 : static_cast<size_t>(k)]);
        auto v = compute(n.fn, x);
        if (!v) return std::nullopt;
        out.push_back(n.dtype == DType::Bool ? *v != 0 : wrap(*v, n.dtype));
      }
      return out;
    }
    case ir::Op::Reduce: {
      if (n.a.size() != s.size()) return std::nullopt;  // all dimensions
      if (in[0]->empty() && (n.fn == Fn::Max || n.fn == Fn::Min)) return std::nullopt;
      auto v = compute(n.fn, *in[0]);
      if (!v) return std::nullopt;
      return Ints{wrap(*v, n.dtype)};
    }
    case ir::Op::Take: {
      // a vector read at known places
      if (s.size() != 1 || in.size() != 2 || n.a != Ints{-1} || n.mode != ir::IndexMode::Strict) return std::nullopt;
      for (int64_t k : *in[1]) {
        if (k < 0 || k >= s[0]) return std::nullopt;
        out.push_back((*in[0])[static_cast<size_t>(k)]);
      }
      return out;
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Ints> Lowering::known(NodeId id) {
  const ir::Graph& g = program_.graph;
  std::vector<NodeId> stack{id};
  while (!stack.empty()) {
    NodeId at = stack.back();
    if (folded_.count(at)) {
      stack.pop_back();
      continue;
    }
    const ir::Node& n = g[at];
    bool integer = ir::is_int(n.dtype) || n.dtype == DType::Bool;
    if (!integer || ir::num_elements(n.shape) > kMaxValues) {
      folded_[at] = std::nullopt;
      continue;
    }
    std::vector<const Ints*> in;
    bool ready = true, unknown = false;
    for (NodeId x : n.in) {
      auto it = folded_.find(x);
      if (it == folded_.end()) {
        stack.push_back(x);
        ready = false;
      } else if (!it->second) {
        unknown = true;
      } else {
        in.push_back(&*it->second);
      }
    }
    if (!ready) continue;
    std::optional<Ints> value = unknown ? std::nullopt : evaluate(g, n, in);
    folded_[at] = std::move(value);
    stack.pop_back();
  }
  return folded_[id];
}

}  // namespace shardproof::lower::gd
