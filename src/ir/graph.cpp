// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Names of operators and scalar functions, and a node as one line of text.
#include "ir/graph.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardproof::ir {

std::string_view name(Op op) {
  switch (op) {
    case Op::Input: return "input";
    case Op::Const: return "const";
    case Op::Iota: return "iota";
    case Op::Dense: return "dense";
    case Op::Uninit: return "uninit";
    case Op::RankId: return "rank_id";
    case Op::Transpose: return "transpose";
    case Op::Reshape: return "reshape";
    case Op::Slice: return "slice";
    case Op::Reverse: return "reverse";
    case Op::Broadcast: return "broadcast";
    case Op::Pad: return "pad";
    case Op::Concat: return "concat";
    case Op::Window: return "window";
    case Op::Map: return "map";
    case Op::Reduce: return "reduce";
    case Op::ArgReduce: return "arg_reduce";
    case Op::Contract: return "contract";
    case Op::Take: return "take";
    case Op::Scatter: return "scatter";
    case Op::DynamicSlice: return "dynamic_slice";
    case Op::DynamicUpdate: return "dynamic_update";
    case Op::Scan: return "scan";
    case Op::Sort: return "sort";
    case Op::Random: return "random";
    case Op::Opaque: return "opaque";
    case Op::Result: return "result";
    case Op::AllReduce: return "all_reduce";
    case Op::AllGather: return "all_gather";
    case Op::ReduceScatter: return "reduce_scatter";
    case Op::AllToAll: return "all_to_all";
    case Op::Permute: return "permute";
    case Op::BroadcastFrom: return "broadcast_from";
    case Op::Send: return "send";
    case Op::Recv: return "recv";
    case Op::GlobalToLocal: return "global_to_local";
    case Op::LocalToGlobal: return "local_to_global";
  }
  return "?";
}

std::string_view name(Fn fn) {
  switch (fn) {
    case Fn::None: return "none";
    case Fn::Add: return "add";
    case Fn::Mul: return "mul";
    case Fn::Max: return "max";
    case Fn::Min: return "min";
    case Fn::And: return "and";
    case Fn::Or: return "or";
    case Fn::Xor: return "xor";
    case Fn::Not: return "not";
    case Fn::Sub: return "sub";
    case Fn::Div: return "div";
    case Fn::Neg: return "neg";
    case Fn::Abs: return "abs";
    case Fn::Sign: return "sign";
    case Fn::FloorDiv: return "floor_div";
    case Fn::Rem: return "rem";
    case Fn::Mod: return "mod";
    case Fn::Pow: return "pow";
    case Fn::Exp: return "exp";
    case Fn::Exp2: return "exp2";
    case Fn::Expm1: return "expm1";
    case Fn::Log: return "log";
    case Fn::Log2: return "log2";
    case Fn::Log10: return "log10";
    case Fn::Log1p: return "log1p";
    case Fn::Sqrt: return "sqrt";
    case Fn::Rsqrt: return "rsqrt";
    case Fn::Cbrt: return "cbrt";
    case Fn::Sin: return "sin";
    case Fn::Cos: return "cos";
    case Fn::Tan: return "tan";
    case Fn::Asin: return "asin";
    case Fn::Acos: return "acos";
    case Fn::Atan: return "atan";
    case Fn::Atan2: return "atan2";
    case Fn::Sinh: return "sinh";
    case Fn::Cosh: return "cosh";
    case Fn::Tanh: return "tanh";
    case Fn::Asinh: return "asinh";
    case Fn::Acosh: return "acosh";
    case Fn::Atanh: return "atanh";
    case Fn::Logistic: return "logistic";
    case Fn::Erf: return "erf";
    case Fn::Erfc: return "erfc";
    case Fn::ErfInv: return "erf_inv";
    case Fn::Lgamma: return "lgamma";
    case Fn::Digamma: return "digamma";
    case Fn::Floor: return "floor";
    case Fn::Ceil: return "ceil";
    case Fn::Round: return "round";
    case Fn::RoundAway: return "round_away";
    case Fn::Trunc: return "trunc";
    case Fn::Select: return "select";
    case Fn::Eq: return "eq";
    case Fn::Ne: return "ne";
    case Fn::Lt: return "lt";
    case Fn::Le: return "le";
    case Fn::Gt: return "gt";
    case Fn::Ge: return "ge";
    case Fn::IsFinite: return "is_finite";
    case Fn::IsNan: return "is_nan";
    case Fn::IsInf: return "is_inf";
    case Fn::Shl: return "shl";
    case Fn::ShrA: return "shr_a";
    case Fn::ShrL: return "shr_l";
    case Fn::PopCount: return "pop_count";
    case Fn::Clz: return "clz";
    case Fn::Convert: return "convert";
    case Fn::Real: return "real";
    case Fn::Imag: return "imag";
    case Fn::Complex: return "complex";
    case Fn::Conj: return "conj";
  }
  return "?";
}

std::string to_string(const Graph& graph, NodeId id) {
  if (id >= graph.nodes.size()) return fmt::format("%{} (no such node)", id);
  const Node& n = graph[id];
  std::string out = fmt::format("%{} = {}[{}] {}", id, name(n.dtype), fmt::join(n.shape, ","), name(n.op));
  if (n.fn != Fn::None) out += fmt::format(".{}", name(n.fn));
  if (n.set) out += ".set";
  std::string operands;
  for (NodeId x : n.in) operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", x);
  out += fmt::format("({})", operands);
  if (!n.name.empty()) out += fmt::format(" '{}'", n.name);
  if (!n.attrs.empty()) out += fmt::format(" {{{}}}", n.attrs);
  if (!n.a.empty()) out += fmt::format(" a=[{}]", fmt::join(n.a, ","));
  if (!n.b.empty()) out += fmt::format(" b=[{}]", fmt::join(n.b, ","));
  if (!n.c.empty()) out += fmt::format(" c=[{}]", fmt::join(n.c, ","));
  if (n.op == Op::Const || n.op == Op::Random) {
    out += n.lit.kind == Literal::Kind::Float ? fmt::format(" {}", n.lit.d) : fmt::format(" {}", n.lit.i);
  }
  if (!n.label.empty()) out += fmt::format("  # {}", n.label);
  if (!n.source_op.empty()) out += fmt::format(" <- {}", n.source_op);
  return out;
}

void mark_dependent(const Graph& graph, std::vector<char>& depends) {
  for (auto id = static_cast<NodeId>(depends.size()); id < graph.nodes.size(); ++id) {
    const Node& n = graph[id];
    depends.push_back(n.op == Op::Input || std::any_of(n.in.begin(), n.in.end(), [&](NodeId x) { return depends[x] != 0; }));
  }
}

}  // namespace shardproof::ir
