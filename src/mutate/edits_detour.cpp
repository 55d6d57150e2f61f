// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Detours: a value is computed in a way that is the same on most numbers, but loses it where something is zero, negative, infinite,
// too large or a fraction. Nobody means them; they attack the rules that cancel, cast and mask.
#include <algorithm>
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

bool is_real(const Node& n) { return n.dtype >= ir::DType::F16 && n.dtype <= ir::DType::F64; }

// Another value of the same type and shape that was computed before, or the value itself.
NodeId partner(Site& s, NodeId self, std::string& name) {
  const Node& like = s.node();
  std::vector<NodeId> found;
  for (NodeId k = s.id; k-- > 0 && found.size() < 8;)
    if (s.map[k] != kNoNode && s.old[k].dtype == like.dtype && s.old[k].shape == like.shape && s.old[k].op != Op::Uninit &&
        s.old[k].op != Op::Const)
      found.push_back(k);
  if (found.empty() || s.random.chance(0.3)) {
    name = "itself";
    return self;
  }
  const NodeId k = s.random.of(found);
  name = fmt::format("{} (node {})", s.old[k].label, k);
  return s.map[k];
}

bool fits_detour(const World&, const ir::Graph& g, NodeId id) { return is_real(g[id]) && g[id].op != Op::Uninit && g[id].op != Op::Const; }
NodeId detour(Site& s) {
  const ir::DType t = s.node().dtype;
  const NodeId v = s.add(s.copy());
  std::string name;
  const NodeId z = partner(s, v, name);
  const auto map = [&](Fn fn, std::vector<NodeId> xs) { return s.b.map(fn, std::move(xs), t); };
  const NodeId zero = s.scalar(0, t), one = s.scalar(1, t), two = s.scalar(2, t);
  const auto truth = [&](Fn fn, NodeId x, NodeId y) { return s.b.convert(s.b.compare(fn, x, y), t); };
  const auto done = [&](const char* words, NodeId result) {
    s.what = fmt::format("{}, z is {}", words, name);
    return result;
  };
  switch (s.random.below(18)) {
    case 0: return done("times z/z", map(Fn::Mul, {v, map(Fn::Div, {z, z})}));
    case 1: return done("plus z - z", map(Fn::Add, {v, map(Fn::Sub, {z, z})}));
    case 2: return done("exp of its log", map(Fn::Exp, {map(Fn::Log, {v})}));
    case 3: return done("log of its exp", map(Fn::Log, {map(Fn::Exp, {v})}));
    case 4: return done("root of its square", map(Fn::Sqrt, {map(Fn::Mul, {v, v})}));
    case 5: return done("square of its root", map(Fn::Mul, {map(Fn::Sqrt, {v}), map(Fn::Sqrt, {v})}));
    case 6: return done("reciprocal of its reciprocal", map(Fn::Div, {one, map(Fn::Div, {one, v})}));
    case 7: return done("times z, divided by z", map(Fn::Div, {map(Fn::Mul, {v, z}), z}));
    case 8: return done("plus 0/z", map(Fn::Add, {v, map(Fn::Mul, {zero, map(Fn::Div, {one, z})})}));
    case 9: return done("divided by (z > 0)", map(Fn::Div, {v, truth(Fn::Gt, z, zero)}));
    case 10:
      return done("times (z >= 0) plus times (z < 0)",
                  map(Fn::Add, {map(Fn::Mul, {v, truth(Fn::Ge, z, zero)}), map(Fn::Mul, {v, truth(Fn::Lt, z, zero)})}));
    case 11:
      return done("times (z > 0) plus times (z < 0)",
                  map(Fn::Add, {map(Fn::Mul, {v, truth(Fn::Gt, z, zero)}), map(Fn::Mul, {v, truth(Fn::Lt, z, zero)})}));
    case 12:
      return done("positive part minus that of the negative",
                  map(Fn::Sub, {map(Fn::Max, {v, zero}), map(Fn::Max, {map(Fn::Neg, {v}), zero})}));
    case 13: return done("z where z = z, else it", map(Fn::Select, {s.b.compare(Fn::Ne, z, z), z, v}));
    case 14: return done("square divided by it", map(Fn::Div, {map(Fn::Pow, {v, two}), v}));
    case 15: return done("times exp(log z)/z", map(Fn::Mul, {v, map(Fn::Div, {map(Fn::Exp, {map(Fn::Log, {z})}), z})}));
    case 16: return done("times root(z)^2/z", map(Fn::Mul, {v, map(Fn::Div, {map(Fn::Pow, {map(Fn::Sqrt, {z}), two}), z})}));
    default: return done("maximum of it and the minimum of it and z", map(Fn::Max, {v, map(Fn::Min, {v, z})}));
  }
}

// ---- masks: a select written as a product, or the other way round
bool fits_masked(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return n.op == Op::Map && is_real(n) && (n.fn == Fn::Select || (n.fn == Fn::Mul && n.in.size() == 2));
}
NodeId masked(Site& s) {
  const Node made = s.copy();
  const ir::DType t = made.dtype;
  if (made.fn == Fn::Select) {
    const NodeId c = s.b.convert(made.in[0], t);
    const NodeId d = s.b.map(Fn::Sub, {s.scalar(1, t), c}, t);
    s.what = "sum of the branches times the condition and its complement instead of a choice";
    return s.b.map(Fn::Add, {s.b.map(Fn::Mul, {made.in[1], c}, t), s.b.map(Fn::Mul, {made.in[2], d}, t)}, t);
  }
  const size_t k = static_cast<size_t>(s.random.below(2));
  const NodeId zero = s.scalar(0, t);
  const Fn fn = s.random.chance(0.5) ? Fn::Ne : Fn::Gt;
  s.what = fmt::format("0 unless operand {} {} 0, else the other operand", k, fn == Fn::Ne ? "!=" : ">");
  if (s.b.shape(made.in[k]) != made.shape) return kNoNode;
  return s.b.select(s.b.compare(fn, made.in[k], zero), made.in[1 - k], zero);
}

// ---- casts
bool fits_cast(const World&, const ir::Graph& g, NodeId id) {
  const Node& n = g[id];
  return (is_real(n) || (ir::is_int(n.dtype) && ir::int_bits(n.dtype) >= 16)) && n.op != Op::Uninit;
}
NodeId cast(Site& s) {
  const NodeId v = s.add(s.copy());
  const ir::DType t = s.node().dtype;
  static const std::vector<ir::DType> kThrough{ir::DType::Bool, ir::DType::I8,  ir::DType::U8,
                                               ir::DType::I32,  ir::DType::I64, ir::DType::F32};
  const ir::DType through = s.random.of(kThrough);
  if (through == t) return kNoNode;
  s.what = fmt::format("through {}", ir::name(through));
  return s.b.convert(s.b.convert(v, through), t);
}

// ---- integer arithmetic
bool fits_integer(const World&, const ir::Graph& g, NodeId id) {
  return ir::is_signed_int(g[id].dtype) && ir::int_bits(g[id].dtype) >= 16 && g[id].op != Op::Uninit;
}
NodeId integer(Site& s) {
  const NodeId v = s.add(s.copy());
  const ir::DType t = s.node().dtype;
  const auto number = [&](int64_t x) { return s.b.constant(ir::Literal::integer(x, t), t); };
  const auto map = [&](Fn fn, NodeId x, NodeId y) { return s.b.map(fn, {x, y}, t); };
  const int64_t large = int64_t{1} << (ir::int_bits(t) - 2), k = 2 + s.random.below(6);
  switch (s.random.below(7)) {
    case 0:
      s.what = "doubled and halved, beyond the width";
      return map(Fn::Div, map(Fn::Mul, map(Fn::Add, v, number(large)), number(2)), number(2));
    case 1:
      s.what = fmt::format("quotient (down) times {} plus remainder (sign of the dividend)", k);
      return map(Fn::Add, map(Fn::Mul, map(Fn::FloorDiv, v, number(k)), number(k)), map(Fn::Rem, v, number(k)));
    case 2:
      s.what = fmt::format("quotient times {} plus remainder", k);
      return map(Fn::Add, map(Fn::Mul, map(Fn::Div, v, number(k)), number(k)), map(Fn::Rem, v, number(k)));
    case 3:
      s.what = fmt::format("quotient (down) times {} plus remainder (of the divisor's sign)", k);
      return map(Fn::Add, map(Fn::Mul, map(Fn::FloorDiv, v, number(k)), number(k)), map(Fn::Mod, v, number(k)));
    case 4: s.what = fmt::format("modulo {}", 8 * k); return map(Fn::Mod, v, number(8 * k));
    case 5: s.what = "maximum with 0"; return map(Fn::Max, v, number(0));
    default: s.what = fmt::format("minimum with {}", 8 * k); return map(Fn::Min, v, number(8 * k));
  }
}

}  // namespace

const std::vector<Kind> kDetourKinds = {{"detour", fits_detour, detour},
                                        {"mask-by-product", fits_masked, masked},
                                        {"cast", fits_cast, cast},
                                        {"integer-detour", fits_integer, integer}};

}  // namespace shardproof::mutate
