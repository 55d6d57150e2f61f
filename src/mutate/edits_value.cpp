// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Mistakes in values: factors, constants, terms, functions, operands, stale or missing values.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "mutate/edits.h"

namespace shardproof::mutate {
namespace {

using ir::Fn;
using ir::kNoNode;
using ir::Node;
using ir::NodeId;
using ir::Op;

bool is_number(const Node& n) { return ir::is_float(n.dtype) && n.op != Op::Uninit; }
bool alike(const Node& x, const Node& y) { return x.dtype == y.dtype && x.shape == y.shape; }

// ---- factor
bool fits_scale(const World&, const ir::Graph& g, NodeId id) { return is_number(g[id]); }
NodeId scale(Site& s) {
  const double w = static_cast<double>(s.world.ranks);
  std::vector<std::pair<double, std::string>> factors{{2, "2"}, {0.5, "1/2"}, {-1, "-1"}};
  if (s.world.ranks > 1) factors.insert(factors.end(), {{w, fmt::format("{}", w)}, {1 / w, fmt::format("1/{}", w)}});
  const auto& [factor, words] = s.random.of(factors);
  s.what = "times " + words;
  const NodeId x = s.add(s.copy());
  return s.b.map(Fn::Mul, {x, s.scalar(factor, s.node().dtype)}, s.node().dtype);
}

// ---- constant
bool fits_constant(const World&, const ir::Graph& g, NodeId id) {
  const Op op = g[id].op;
  return op == Op::Const || (op == Op::Dense && !g[id].dense->empty());
}
bool change(ir::Literal& l, Random& random, std::string& what) {
  using K = ir::Literal::Kind;
  if (l.kind == K::Bool) {
    l.i = 1 - l.i;
    what = l.i ? "true instead of false" : "false instead of true";
    return true;
  }
  if (l.kind == K::Int) {
    const int64_t was = l.i;
    if (std::abs(was) > (int64_t{1} << 40)) return false;
    const std::vector<int64_t> choices{was + 1, was - 1, 2 * was, was + 2, 0};
    l.i = random.of(choices);
    what = fmt::format("{} instead of {}", l.i, was);
    return l.i != was;
  }
  const double was = l.d;
  if (!std::isfinite(was)) {
    l.d = was > 0 ? 1e4 : -1e4;
  } else {
    const std::vector<double> choices{was * 2,
                                      was / 2,
                                      was * 10,
                                      was / 10,
                                      -was,
                                      was + 1,
                                      1 - was,
                                      0,
                                      was * was,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity()};
    l.d = random.of(choices);
  }
  what = fmt::format("{} instead of {}", l.d, was);
  return l.d != was;
}
NodeId constant(Site& s) {
  Node made = s.copy();
  if (made.op == Op::Const) {
    if (!change(made.lit, s.random, s.what)) return kNoNode;
  } else {
    std::vector<ir::Literal> values = *made.dense;
    const size_t k = static_cast<size_t>(s.random.below(static_cast<int64_t>(values.size())));
    if (!change(values[k], s.random, s.what)) return kNoNode;
    s.what += fmt::format(" (value {})", k);
    made.dense = std::make_shared<const std::vector<ir::Literal>>(std::move(values));
  }
  // A literal that its type does not hold is none.
  const int bits = ir::int_bits(made.dtype);
  const auto holds = [&](const ir::Literal& l) {
    if (bits == 0 || bits >= 64) return true;
    const bool is_signed = ir::is_signed_int(made.dtype);
    return l.i >= (is_signed ? -(int64_t{1} << (bits - 1)) : 0) && l.i < (int64_t{1} << (is_signed ? bits - 1 : bits));
  };
  if (made.op == Op::Const ? !holds(made.lit) : !std::all_of(made.dense->begin(), made.dense->end(), holds)) return kNoNode;
  if (ir::is_unsigned_int(made.dtype) && made.op == Op::Const && made.lit.i < 0) return kNoNode;
  return s.add(std::move(made));
}

// ---- term
bool fits_missing(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  if (n.op != Op::Map || n.in.size() < 2) return false;
  return n.fn == Fn::Add || n.fn == Fn::Mul || n.fn == Fn::Sub || n.fn == Fn::Div || n.fn == Fn::Max || n.fn == Fn::Min ||
         n.fn == Fn::And || n.fn == Fn::Or;
}
NodeId missing(Site& s) {
  const Node& n = s.node();
  const size_t drop = n.fn == Fn::Sub || n.fn == Fn::Div ? 1 : static_cast<size_t>(s.random.below(static_cast<int64_t>(n.in.size())));
  s.what = fmt::format("without operand {} ({})", drop, s.old[n.in[drop]].label);
  Node made = s.copy();
  if (n.fn == Fn::Sub || n.fn == Fn::Div) return alike(s.old[n.in[0]], n) ? s.in(0) : kNoNode;
  made.in.erase(made.in.begin() + static_cast<int64_t>(drop));
  if (made.in.size() == 1) return alike(s.b.g[made.in[0]], n) ? made.in[0] : kNoNode;
  return s.add(std::move(made));
}

// An earlier value like `like`, near ones first; kNoNode: there is none.
NodeId earlier(Site& s, const Node& like, NodeId but) {
  std::vector<NodeId> found;
  for (NodeId k = s.id; k-- > 0 && found.size() < 12;) {
    if (k == but || s.map[k] == kNoNode || !alike(s.old[k], like) || s.old[k].op == Op::Uninit || !s.old[k].tuple.empty()) continue;
    if (s.old[k].op == Op::Const && s.random.chance(0.7)) continue;
    found.push_back(k);
  }
  if (found.empty()) return kNoNode;
  return s.random.of(found);
}
bool fits_extra(const World&, const ir::Graph& g, NodeId id) { return is_number(g[id]); }
NodeId extra(Site& s) {
  const NodeId other = s.random.chance(0.2) ? s.id : earlier(s, s.node(), s.id);
  if (other == kNoNode) return kNoNode;
  const NodeId x = s.add(s.copy());
  s.what = other == s.id ? "counted twice" : fmt::format("{} added to it", s.old[other].label);
  return s.b.map(Fn::Add, {x, other == s.id ? x : s.map[other]}, s.node().dtype);
}

// ---- stale values
bool fits_stale(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return !n.in.empty() && n.op != Op::Result && n.tuple.empty();
}
NodeId stale(Site& s) {
  const Node& n = s.node();
  const size_t k = static_cast<size_t>(s.random.below(static_cast<int64_t>(n.in.size())));
  const Node& was = s.old[n.in[k]];
  const NodeId other = earlier(s, was, n.in[k]);
  if (other == kNoNode) return kNoNode;
  Node made = s.copy();
  made.in[k] = s.map[other];
  s.what = fmt::format("operand {} is {} (node {}) instead of {} (node {})", k, s.old[other].label, other, was.label, n.in[k]);
  return s.add(std::move(made));
}
bool fits_zeros(const World&, const ir::Graph& g, NodeId id) { return is_number(g[id]) && g[id].op != Op::Const && g[id].op != Op::Input; }
NodeId zeros(Site& s) {
  s.what = "zeros instead of it";
  return s.b.constant(ir::Literal::integer(0), s.node().dtype, s.node().shape);
}

// ---- operands swapped
bool fits_swap(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  if (n.op == Op::Contract) return alike(g[n.in[0]], g[n.in[1]]) && n.in[0] != n.in[1];
  if (n.op != Op::Map) return false;
  switch (n.fn) {
    case Fn::Sub:
    case Fn::Div:
    case Fn::FloorDiv:
    case Fn::Rem:
    case Fn::Mod:
    case Fn::Pow:
    case Fn::Atan2:
    case Fn::Lt:
    case Fn::Le:
    case Fn::Gt:
    case Fn::Ge: return n.in[0] != n.in[1];
    case Fn::Select: return n.in[1] != n.in[2];
    default: return false;
  }
}
NodeId swap(Site& s) {
  Node made = s.copy();
  const bool select = made.fn == Fn::Select && made.op == Op::Map;
  if (select)
    std::swap(made.in[1], made.in[2]);
  else
    std::swap(made.in[0], made.in[1]);
  s.what = select ? "branches swapped" : "operands swapped";
  return s.add(std::move(made));
}

// ---- another function
bool fits_function(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return n.op == Op::Map && n.fn != Fn::Convert && n.fn != Fn::Select && (ir::is_float(n.dtype) || n.fn == Fn::And || n.fn == Fn::Or);
}
NodeId function(Site& s) {
  static const std::vector<std::vector<Fn>> kUnary{{Fn::Tanh, Fn::Logistic, Fn::Erf},
                                                   {Fn::Exp, Fn::Exp2, Fn::Expm1},
                                                   {Fn::Log, Fn::Log2, Fn::Log1p},
                                                   {Fn::Sin, Fn::Cos},
                                                   {Fn::Sqrt, Fn::Rsqrt, Fn::Cbrt},
                                                   {Fn::Floor, Fn::Ceil, Fn::Round, Fn::Trunc},
                                                   {Fn::Neg, Fn::Abs}};
  static const std::vector<std::vector<Fn>> kBinary{
      {Fn::Add, Fn::Mul}, {Fn::Max, Fn::Min, Fn::Add}, {Fn::Sub, Fn::Add}, {Fn::Div, Fn::Mul}, {Fn::And, Fn::Or}};
  Node made = s.copy();
  const Fn was = made.fn;
  if (made.in.size() == 1 && alike(s.b.g[made.in[0]], made) && s.random.chance(0.25)) {
    s.what = fmt::format("without {}", ir::name(was));
    return made.in[0];
  }
  std::vector<Fn> choices;
  for (const auto& family : made.in.size() == 1 ? kUnary : kBinary)
    if (std::find(family.begin(), family.end(), was) != family.end()) choices.insert(choices.end(), family.begin(), family.end());
  std::erase(choices, was);
  if (choices.empty()) return kNoNode;
  made.fn = s.random.of(choices);
  s.what = fmt::format("{} instead of {}", ir::name(made.fn), ir::name(was));
  return s.add(std::move(made));
}

// ---- attributes of draws and kernels
bool fits_draw(const World&, const ir::Graph& g, NodeId id) { return g[id].op == Op::Random; }
NodeId draw(Site& s) {
  Node made = s.copy();
  if (!change(made.lit, s.random, s.what)) return kNoNode;
  s.what = "parameter " + s.what;
  return s.add(std::move(made));
}

}  // namespace

const std::vector<Kind> kValueKinds = {
    {"wrong-scale", fits_scale, scale},    {"wrong-constant", fits_constant, constant}, {"missing-term", fits_missing, missing},
    {"extra-term", fits_extra, extra},     {"stale-value", fits_stale, stale},          {"dropped-value", fits_zeros, zeros},
    {"swapped-operands", fits_swap, swap}, {"wrong-function", fits_function, function}, {"wrong-draw", fits_draw, draw},
};

}  // namespace shardproof::mutate
