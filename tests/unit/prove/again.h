// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A node of a graph written again in another way: mostly the same on all inputs, sometimes only on most (a mask by a product, a sum that
// cancels, logarithms taken apart), sometimes wrong by one place. What is equal to what is for the interpreter to say.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "ir/build.h"
#include "util/result.h"

namespace shardproof::test {

class Again {
 public:
  Again(ir::Builder& b, const ir::Graph& graph, uint64_t seed) : b_(b), graph_(graph), random_(seed), often_(1 + at_most(5)) {}

  ir::NodeId operator()(ir::NodeId x) {
    if (const auto it = done_.find(x); it != done_.end() && at_most(3) != 0) return it->second;
    ir::NodeId y = rebuilt(x);
    if (at_most(often_) == 0) y = written_otherwise(y);
    SP_CHECK(b_.shape(x) == b_.shape(y) && b_.dtype(x) == b_.dtype(y));
    done_[x] = y;
    return y;
  }

 private:
  using Fn = ir::Fn;
  using Op = ir::Op;
  using NodeId = ir::NodeId;

  int64_t at_most(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n)(random_); }
  NodeId real(double v) { return b_.constant(ir::Literal::real(v, ir::DType::F32), ir::DType::F32); }
  NodeId zeros(const ir::Shape& s) { return b_.broadcast(real(0), s, {}); }
  bool is(NodeId x, Op op, Fn fn = Fn::None) const { return graph_[x].op == op && (fn == Fn::None || graph_[x].fn == fn); }
  // A number that all elements of x are.
  bool all(NodeId x, double v) const {
    while (graph_[x].op == Op::Broadcast) x = graph_[x].in[0];
    return graph_[x].op == Op::Const && ir::is_float(graph_[x].dtype) && graph_[x].lit.d == v;
  }

  NodeId rebuilt(NodeId x) {
    const ir::Node n = graph_[x];
    if (n.in.empty() || n.op == Op::Result) return x;
    std::vector<NodeId> in;
    for (NodeId k : n.in) in.push_back((*this)(k));
    if (in == n.in) return x;
    switch (n.op) {
      case Op::Map: return b_.map(n.fn, in, n.dtype);
      case Op::Reduce: return b_.reduce(n.fn, in[0], n.a);
      case Op::Concat: return b_.concat(in, n.a[0]);
      case Op::Broadcast: return b_.broadcast(in[0], n.shape, n.a);
      case Op::Reshape: return b_.reshape(in[0], n.shape);
      case Op::Transpose: return b_.transpose(in[0], n.a);
      case Op::Reverse: return b_.reverse(in[0], n.a);
      case Op::Slice: return b_.slice(in[0], n.a, n.b, n.c);
      case Op::Pad: return b_.pad(in[0], in[1], n.a, n.b, n.c);
      case Op::Scan: return b_.scan(n.fn, in[0], n.a[0], n.a[1] != 0, n.a[2] != 0);

      case Op::Take: {
        if (n.mode == ir::IndexMode::Fill) return x;
        return b_.take(in[0], {in.begin() + 1, in.end()}, n.a, n.b, n.shape, n.mode);
      }
      case Op::Scatter: return b_.scatter(in[0], in[1], {in.begin() + 2, in.end()}, n.a, n.b, n.fn, n.set, n.mode);
      default: return x;
    }
  }

  NodeId in_pieces(NodeId x, int64_t d) {
    const int64_t n = b_.shape(x)[static_cast<size_t>(d)];
    std::vector<NodeId> parts;
    for (int64_t from = 0; from < n;) {
      const int64_t to = std::min(n, from + 1 + at_most(n - 1));
      NodeId part = b_.slice_dim(x, d, from, to);
      if (at_most(4) == 0) part = written_otherwise(part);
      parts.push_back(part);
      from = to;
    }
    if (parts.size() > 1 && at_most(20) == 0) std::swap(parts.front(), parts.back());
    return parts.empty() ? x : b_.concat(parts, d);
  }

  NodeId written_otherwise(NodeId x) {
    const ir::Shape s = b_.shape(x);
    const bool real_numbers = ir::is_float(b_.dtype(x));
    if (!graph_[x].tuple.empty() || ir::num_elements(s) == 0 || ir::num_elements(s) > 64) return x;
    const auto rank = static_cast<int64_t>(s.size());
    const int64_t d = rank == 0 ? 0 : at_most(rank - 1);
    // By what it is, or else whatever it is.
    if (at_most(2) != 0) {
      if (const NodeId y = by_form(x); y != ir::kNoNode) return y;
    }
    switch (at_most(11)) {
      case 0:
      case 1:
      case 2: return rank == 0 ? x : in_pieces(x, d);
      case 3: {
        if (rank == 0 || !real_numbers) return x;
        std::vector<int64_t> low(s.size(), 0), high(s.size(), 0), none(s.size(), 0);
        low[static_cast<size_t>(d)] = at_most(2), high[static_cast<size_t>(d)] = at_most(2);
        const int64_t n = s[static_cast<size_t>(d)], at = low[static_cast<size_t>(d)] + (at_most(20) == 0);
        const NodeId y = b_.pad(x, real(0), low, high, none);
        return b_.slice_dim(y, d, std::min(at, b_.shape(y)[static_cast<size_t>(d)] - n),
                            std::min(at, b_.shape(y)[static_cast<size_t>(d)] - n) + n);
      }
      case 4:
        if (rank == 0 || !real_numbers) return x;
        {
          // In two parts, each among zeros.
          const int64_t n = s[static_cast<size_t>(d)], cut = at_most(n), more = at_most(15) == 0;
          std::vector<int64_t> low(s.size(), 0), high(s.size(), 0), none(s.size(), 0);
          high[static_cast<size_t>(d)] = n - cut;
          const NodeId left = b_.pad(b_.slice_dim(x, d, 0, cut), real(0), low, high, none);
          std::swap(low, high);
          low[static_cast<size_t>(d)] = std::min(n, cut + more);
          const NodeId right = b_.pad(b_.slice_dim(x, d, std::min(n, cut + more), n), real(0), low, high, none);
          return b_.binary(Fn::Add, left, right);
        }
      case 5: return rank == 0 ? x : b_.reverse(b_.reverse(x, {d}), {d});
      case 6: return rank == 2 ? b_.transpose(b_.transpose(x, {1, 0}), {1, 0}) : x;
      case 7: return b_.reshape(b_.reshape(x, {ir::num_elements(s)}), s);
      case 8: {
        if (!real_numbers || rank == 0) return x;
        // Where an index is below some place, and where it is not.
        const NodeId c = below(s, d, at_most(s[static_cast<size_t>(d)]));
        if (at_most(2) == 0) return b_.select(c, x, x);
        return b_.binary(Fn::Add, b_.select(c, x, zeros(s)), b_.select(b_.unary(Fn::Not, c), x, zeros(s)));
      }
      case 9: return real_numbers ? b_.binary(Fn::Mul, b_.binary(Fn::Mul, x, real(2)), real(0.5)) : x;
      case 10: return real_numbers && at_most(2) == 0 ? b_.binary(Fn::Add, x, b_.binary(Fn::Mul, x, real(0))) : x;
      default: return real_numbers && at_most(1) == 0 ? b_.unary(Fn::Neg, b_.unary(Fn::Neg, x)) : x;
    }
  }
  NodeId below(const ir::Shape& s, int64_t d, int64_t cut) {
    const NodeId c = b_.constant(ir::Literal::integer(cut, ir::DType::I32), ir::DType::I32);
    return b_.compare(Fn::Lt, b_.iota(ir::DType::I32, s, d), c);
  }

  NodeId by_form(NodeId x) {
    const ir::Node n = graph_[x];
    const ir::Shape s = n.shape;
    const bool real_numbers = ir::is_float(n.dtype);
    const auto fits = [&](NodeId y) { return b_.shape(y) == s ? y : b_.broadcast(y, s, {}); };
    if (n.op == Op::Map && n.fn == Fn::Select && real_numbers) {
      const NodeId mask = b_.convert(n.in[0], n.dtype);
      if (all(n.in[2], 0)) {
        switch (at_most(3)) {
          case 0: return b_.binary(Fn::Mul, n.in[1], mask);
          case 1: return b_.select(b_.unary(Fn::Not, n.in[0]), zeros(s), fits(n.in[1]));
          case 2: return b_.binary(Fn::Sub, n.in[1], b_.select(n.in[0], zeros(s), fits(n.in[1])));
          default: return b_.select(n.in[0], b_.select(n.in[0], fits(n.in[1]), fits(n.in[1])), zeros(s));
        }
      }
      return b_.binary(Fn::Add, b_.select(n.in[0], fits(n.in[1]), zeros(s)), b_.select(n.in[0], zeros(s), fits(n.in[2])));
    }
    if (n.op == Op::Map && n.fn == Fn::Select) return b_.select(b_.unary(Fn::Not, n.in[0]), n.in[2], n.in[1]);
    if (n.op == Op::Map && n.in.size() == 2 && real_numbers) {
      const NodeId p = n.in[0], q = n.in[1];
      switch (n.fn) {
        case Fn::Mul: {
          for (const NodeId a : {p, q}) {
            const NodeId other = a == p ? q : p;
            if (is(a, Op::Map, Fn::Convert) && b_.dtype(graph_[a].in[0]) == ir::DType::Bool && at_most(1) == 0)
              return b_.select(graph_[a].in[0], fits(other), zeros(s));
            if (is(a, Op::Map, Fn::Add) || is(a, Op::Map, Fn::Sub))
              return b_.binary(graph_[a].fn, b_.binary(Fn::Mul, graph_[a].in[0], other), b_.binary(Fn::Mul, graph_[a].in[1], other));
            if (is(a, Op::Map, Fn::Select) && graph_[a].fn == Fn::Select && b_.shape(a) == s)
              return b_.select(graph_[a].in[0], fits(b_.binary(Fn::Mul, graph_[a].in[1], other)),
                               fits(b_.binary(Fn::Mul, graph_[a].in[2], other)));
          }
          return b_.binary(Fn::Mul, q, p);
        }
        case Fn::Add:
          if (is(p, Op::Map, Fn::Add) && graph_[p].in.size() == 2)
            return b_.binary(Fn::Add, graph_[p].in[0], b_.binary(Fn::Add, graph_[p].in[1], q));
          return b_.binary(Fn::Add, q, p);
        case Fn::Sub: return b_.binary(Fn::Add, p, b_.unary(Fn::Neg, q));
        case Fn::Div:
          return at_most(1) ? b_.binary(Fn::Mul, p, b_.binary(Fn::Div, real(1), q))
                            : b_.unary(Fn::Neg, b_.binary(Fn::Div, p, b_.unary(Fn::Neg, q)));
        case Fn::Max: return at_most(1) ? b_.binary(Fn::Max, q, p) : b_.select(b_.compare(Fn::Lt, fits(p), fits(q)), fits(q), fits(p));
        case Fn::Min:
          return at_most(1) ? b_.binary(Fn::Min, q, p) : b_.unary(Fn::Neg, b_.binary(Fn::Max, b_.unary(Fn::Neg, p), b_.unary(Fn::Neg, q)));
        default: return ir::kNoNode;
      }
    }
    if (n.op == Op::Map && n.in.size() == 1 && real_numbers && n.fn != Fn::Convert) {
      const NodeId p = n.in[0];
      if (n.fn == Fn::Abs) return b_.binary(Fn::Max, p, b_.unary(Fn::Neg, p));
      if (n.fn == Fn::Log && is(p, Op::Map, Fn::Mul))
        return b_.binary(Fn::Add, b_.unary(Fn::Log, graph_[p].in[0]), b_.unary(Fn::Log, graph_[p].in[1]));
      if (n.fn == Fn::Exp && is(p, Op::Map, Fn::Add))
        return b_.binary(Fn::Mul, b_.unary(Fn::Exp, graph_[p].in[0]), b_.unary(Fn::Exp, graph_[p].in[1]));
      if (n.fn == Fn::Rsqrt) return b_.binary(Fn::Div, real(1), b_.unary(Fn::Sqrt, p));
      if (n.fn == Fn::Neg && is(p, Op::Map, Fn::Add)) return b_.binary(Fn::Sub, b_.unary(Fn::Neg, graph_[p].in[0]), graph_[p].in[1]);
      if (n.fn == Fn::Neg && is(p, Op::Reduce, Fn::Add)) return b_.reduce(Fn::Add, b_.unary(Fn::Neg, graph_[p].in[0]), graph_[p].a);
      // Inside of a cut, a mask, a padding.
      if (is(p, Op::Concat)) {
        std::vector<NodeId> parts;
        for (NodeId k : std::vector<NodeId>(graph_[p].in)) parts.push_back(b_.unary(n.fn, k));
        return b_.concat(parts, graph_[p].a[0]);
      }
      if (is(p, Op::Slice)) return b_.slice(b_.unary(n.fn, graph_[p].in[0]), graph_[p].a, graph_[p].b, graph_[p].c);
      return ir::kNoNode;
    }
    if (n.op == Op::Reduce && (n.fn == Fn::Add || n.fn == Fn::Max) && n.a.size() == 1) {
      const NodeId p = n.in[0];
      const int64_t d = n.a[0], size = b_.shape(p)[static_cast<size_t>(d)];
      if (n.fn == Fn::Add && is(p, Op::Map, Fn::Mul) && at_most(2) == 0) {
        // What does not change along d leaves the sum.
        for (const NodeId a : {graph_[p].in[0], graph_[p].in[1]}) {
          const NodeId other = a == graph_[p].in[0] ? graph_[p].in[1] : graph_[p].in[0];
          if (b_.shape(a).empty() && !b_.shape(other).empty()) return b_.binary(Fn::Mul, a, b_.reduce(Fn::Add, other, {d}));
        }
      }
      if (n.fn == Fn::Add && is(p, Op::Map, Fn::Add) && b_.shape(graph_[p].in[0]) == b_.shape(graph_[p].in[1]) && at_most(1))
        return b_.binary(Fn::Add, b_.reduce(Fn::Add, graph_[p].in[0], {d}), b_.reduce(Fn::Add, graph_[p].in[1], {d}));
      const int64_t cut = at_most(size), from = at_most(20) == 0 && cut > 0 ? cut - 1 : cut;
      if (at_most(1) == 0)
        return b_.binary(n.fn, b_.reduce(n.fn, b_.slice_dim(p, d, 0, cut), {d}), b_.reduce(n.fn, b_.slice_dim(p, d, from, size), {d}));
      // One place after the other.
      NodeId sum = ir::kNoNode;
      for (int64_t k = 0; k < size; ++k) {
        const NodeId one = b_.reshape(b_.slice_dim(p, d, k, k + 1), s);
        sum = k == 0 ? one : at_most(1) ? b_.binary(n.fn, sum, one) : b_.binary(n.fn, one, sum);
      }
      return sum;
    }
    if (n.op == Op::Pad && n.c == std::vector<int64_t>(n.c.size(), 0) && all(n.in[1], 0) && real_numbers) {
      NodeId y = n.in[0];
      for (size_t d = 0; d < s.size(); ++d) {
        const auto dim = static_cast<int64_t>(d);
        if (n.a[d] < 0 || n.b[d] < 0) return ir::kNoNode;
        ir::Shape z = b_.shape(y);
        z[d] = n.a[d];
        const NodeId before = zeros(z);
        z[d] = n.b[d];
        y = b_.concat({before, y, zeros(z)}, dim);
      }
      return y;
    }
    if (n.op == Op::Concat && n.in.size() == 2 && real_numbers) {
      const int64_t d = n.a[0];
      std::vector<int64_t> low(s.size(), 0), high(s.size(), 0), none(s.size(), 0);
      high[static_cast<size_t>(d)] = b_.shape(n.in[1])[static_cast<size_t>(d)];
      const NodeId left = b_.pad(n.in[0], real(0), low, high, none);
      high[static_cast<size_t>(d)] = 0, low[static_cast<size_t>(d)] = b_.shape(n.in[0])[static_cast<size_t>(d)];
      return b_.binary(Fn::Add, left, b_.pad(n.in[1], real(0), low, high, none));
    }
    if (n.op == Op::Map && n.fn == Fn::Convert && real_numbers && b_.dtype(n.in[0]) == ir::DType::Bool)
      return b_.select(n.in[0], b_.broadcast(real(1), s, {}), zeros(s));
    if (n.op == Op::Map && n.dtype == ir::DType::Bool && n.in.size() == 2) {
      static const std::map<Fn, Fn> kTurned{{Fn::Lt, Fn::Gt}, {Fn::Gt, Fn::Lt}, {Fn::Le, Fn::Ge}, {Fn::Ge, Fn::Le}, {Fn::Eq, Fn::Eq}};
      static const std::map<Fn, Fn> kOpposite{{Fn::Lt, Fn::Ge}, {Fn::Gt, Fn::Le}, {Fn::Le, Fn::Gt}, {Fn::Ge, Fn::Lt}, {Fn::Eq, Fn::Ne}};
      const NodeId p = n.in[0], q = n.in[1];
      if (const auto it = kTurned.find(n.fn); it != kTurned.end() && at_most(1)) return b_.compare(it->second, q, p);
      if (const auto it = kOpposite.find(n.fn); it != kOpposite.end()) return b_.unary(Fn::Not, b_.compare(it->second, p, q));
      if (n.fn == Fn::And || n.fn == Fn::Or) return b_.binary(n.fn, q, p);
    }
    return ir::kNoNode;
  }

  ir::Builder& b_;
  const ir::Graph& graph_;
  std::mt19937_64 random_;
  int64_t often_;
  std::map<NodeId, NodeId> done_;
};

}  // namespace shardproof::test
