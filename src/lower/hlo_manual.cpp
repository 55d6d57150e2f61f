// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Programs with global shapes (before partitioning), and the per-rank regions in them: sdy.manual_computation, the custom calls
// xla.sdy.GlobalToLocalShape / LocalToGlobalShape and SPMDFullToShardShape / SPMDShardToFullShape.
//
// What such a program means, as it is lowered here and linked (link/):
//   - Annotations alone (pjit, GSPMD): the distributed program IS the sequential program; the partitioner must keep its meaning. Sharding
//     annotations are identities. There is nothing to communicate, and a rank's output is its part, by the output's placement, of the
//     result.
//   - A per-rank region is a program of its own for each rank, in local shapes. Outside of regions every rank carries its own view of each
//     global value. Entering, rank r takes its part of its own view (GlobalToLocal). Leaving, rank r's view is put together from the parts
//     that the ranks of its class hold, where a class is: the ranks that agree on everything that the sharding does not mention
//     (LocalToGlobal). So a result that is said to be replicated is not assumed to be: rank r sees its own copy, and a claim that all
//     copies are equal is checked like any other (a missing reduction under check_vma=False is found there).
//   - In a partly manual region the other axes are the partitioner's: values there are global along them, and a rank carries its own view.
//   - Entry parameters: rank r's view is the whole global input. Outputs: rank r's output is its part of its own view.
// This is exact where the ranks of a class agree, and where they do not, rank r's output is what rank r would compute.
#include <fmt/format.h>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using ir::NodeId;
using ir::Shape;

namespace {

// The value of key = "..." inside frontend_attributes, unescaped; "" if absent.
std::string frontend_attribute(const hlo::Instruction& ins, std::string_view key) {
  if (const std::string_view direct = other_attribute(ins, key); !direct.empty()) {
    std::string out(direct);
    if (out.size() >= 2 && out.front() == '"' && out.back() == '"') out = out.substr(1, out.size() - 2);
    return out;
  }
  const std::string_view all = other_attribute(ins, "frontend_attributes");
  size_t at = all.find(key);
  if (at == std::string_view::npos) return {};
  at = all.find('"', at);
  if (at == std::string_view::npos) return {};
  std::string out;
  for (size_t k = at + 1; k < all.size() && all[k] != '"'; ++k) {
    if (all[k] == '\\' && k + 1 < all.size()) ++k;
    out += all[k];
  }
  return out;
}

// "#sdy.sharding_per_value<[<@mesh, [..]>, <..>]>" -> its shardings
std::vector<std::string> per_value(std::string_view text) {
  const size_t open = text.find('['), close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return split_top_level(text.substr(open, close - open + 1));
}

// "#sdy<manual_axes{"a", "b"}>" -> names
std::vector<std::string> quoted_names(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at + 1)) {
    const size_t end = text.find('"', at + 1);
    if (end == std::string_view::npos) break;
    out.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

std::vector<int64_t> flat(const Tiling& t) {
  std::vector<int64_t> out;
  for (const auto& part : t.part) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace

Tiling HloLowering::sdy_tiling(const std::string& text, const std::vector<std::string>& manual_axes, size_t rank) {
  std::string reason;
  auto tiling = parse_sdy_tiling(text, m.meshes, &manual_axes, rank, reason);
  if (!tiling) malformed(fmt::format("sharding {}: {}", text, reason));
  return std::move(*tiling);
}

NodeId HloLowering::enter(NodeId x, const Tiling& tiling, const Shape& local) {
  manual_seen_ = true;
  const Shape& s = b.shape(x);
  need(local.size() == s.size() && tiling.parts.size() == s.size(), "changes the rank of a tensor");
  for (size_t d = 0; d < s.size(); ++d) {
    if (local[d] * tiling.parts[d] != s[d])
      malformed(fmt::format("cuts an extent of {} into {} parts of {}", s[d], tiling.parts[d], local[d]));
  }
  if (local == s) return x;  // nothing is cut: the rank's own view
  return b.global_to_local(x, tiling.parts, flat(tiling), tiling.copy);
}

NodeId HloLowering::leave(NodeId x, const Tiling& tiling, const Shape& global) {
  manual_seen_ = true;
  const Shape& s = b.shape(x);
  need(global.size() == s.size() && tiling.parts.size() == s.size(), "changes the rank of a tensor");
  for (size_t d = 0; d < s.size(); ++d) {
    if (s[d] * tiling.parts[d] != global[d])
      malformed(fmt::format("joins {} parts of {} to an extent of {}", tiling.parts[d], s[d], global[d]));
  }
  if (global == s) return x;
  return b.local_to_global(x, tiling.parts, flat(tiling), tiling.copy);
}

// sdy.manual_computation: operands, shardings, and the body in `called`.
Value HloLowering::manual_computation(const Call& c) {
  const uint32_t body = called(c, 0);
  const hlo::Computation& comp = computation(body);
  const hlo::Instruction& ins = c.ins;
  need(ins.in_shardings.size() <= c.in.size() && comp.parameters.size() == c.in.size(),
       "has a number of shardings or of body arguments that differs from its operands");
  std::vector<Value> arguments;
  for (size_t k = 0; k < c.in.size(); ++k) {
    if (k >= ins.in_shardings.size()) {
      arguments.push_back(c.in[k]);  // a value from outside that the body reads as it is
      continue;
    }
    const NodeId x = node(c, k);
    const hlo::Type& local = comp.instructions.at(comp.parameters[k]).type;
    arguments.push_back(Value::of(enter(x, sdy_tiling(ins.in_shardings[k], ins.manual_axes, b.shape(x).size()), local.shape)));
  }
  const Value local = evaluate(body, arguments);
  std::vector<Value> results;
  if (local.tuple)
    results = *local.tuple;
  else
    results = {local};
  std::vector<const hlo::Type*> types;
  if (c.ins.type.tuple) {
    for (const hlo::Type& t : c.ins.type.elements) types.push_back(&t);
  } else {
    types = {&c.ins.type};
  }
  need(results.size() == types.size() && ins.out_shardings.size() == results.size(),
       "has a number of out_shardings that differs from its results");
  for (size_t k = 0; k < results.size(); ++k) {
    need(results[k].node != ir::kNoNode, "gives something that is no tensor");
    const NodeId x = results[k].node;
    results[k] = Value::of(leave(x, sdy_tiling(ins.out_shardings[k], ins.manual_axes, b.shape(x).size()), types[k]->shape));
  }
  return c.ins.type.tuple ? Value::of(std::move(results)) : results[0];
}

Value HloLowering::global_to_local(const Call& c) {
  std::vector<std::string> shardings = c.ins.in_shardings, manual = c.ins.manual_axes;
  if (shardings.empty()) shardings = per_value(frontend_attribute(c.ins, "xla.sdy.in_shardings"));
  if (manual.empty()) manual = quoted_names(frontend_attribute(c.ins, "xla.sdy.manual_axes"));
  need(shardings.size() == c.in.size(), "has a number of in_shardings that differs from its operands");
  need(c.ins.type.tuple ? c.ins.type.elements.size() == c.in.size() : c.in.size() == 1, "gives another number of values than it takes");
  std::vector<Value> out;
  for (size_t k = 0; k < c.in.size(); ++k) {
    const NodeId x = node(c, k);
    const hlo::Type& local = c.ins.type.tuple ? c.ins.type.elements[k] : c.ins.type;
    out.push_back(Value::of(enter(x, sdy_tiling(shardings[k], manual, b.shape(x).size()), local.shape)));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

Value HloLowering::local_to_global(const Call& c) {
  std::vector<std::string> shardings = c.ins.out_shardings, manual = c.ins.manual_axes;
  if (shardings.empty()) shardings = per_value(frontend_attribute(c.ins, "xla.sdy.out_shardings"));
  if (manual.empty()) manual = quoted_names(frontend_attribute(c.ins, "xla.sdy.manual_axes"));
  need(shardings.size() == c.in.size(), "has a number of out_shardings that differs from its operands");
  need(c.ins.type.tuple ? c.ins.type.elements.size() == c.in.size() : c.in.size() == 1, "gives another number of values than it takes");
  std::vector<Value> out;
  for (size_t k = 0; k < c.in.size(); ++k) {
    const NodeId x = node(c, k);
    const hlo::Type& global = c.ins.type.tuple ? c.ins.type.elements[k] : c.ins.type;
    out.push_back(Value::of(leave(x, sdy_tiling(shardings[k], manual, b.shape(x).size()), global.shape)));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

// Dims that the border does not cut although the sharding does are left to the partitioner: their coordinate tells classes apart.
Tiling HloLowering::keep_cut_dims(const Tiling& tiling, const Shape& global, const Shape& local) const {
  Tiling out = tiling;
  for (size_t d = 0; d < global.size(); ++d) {
    if (tiling.parts[d] == 1 || local[d] * tiling.parts[d] == global[d]) continue;
    need(local[d] == global[d], "cuts a dimension in another way than its sharding");
    for (size_t r = 0; r < out.part.size(); ++r) {
      out.copy[r] = out.copy[r] * tiling.parts[d] + out.part[r][d];
      out.part[r][d] = 0;
    }
    out.parts[d] = 1;
  }
  return out;
}

// GSPMD: the sharding of the global value is the operand's own annotation.
Value HloLowering::full_to_shard(const Call& c) {
  const NodeId x = node(c, 0);
  const hlo::Instruction& annotated = c.parent->instructions.at(c.ins.operands.at(0));
  std::string reason;
  if (annotated.sharding.syntax != frontend::StatedSharding::Syntax::Hlo)
    malformed("enters a per-rank region with a value whose sharding is not stated");
  const auto tiling = parse_hlo_tiling(annotated.sharding.text, b.shape(x).size(), m.num_partitions, reason);
  if (!tiling) malformed(fmt::format("sharding {}: {}", annotated.sharding.text, reason));
  const Shape& local = result_type(c).shape;
  need(local.size() == b.shape(x).size(), "changes the rank of a tensor");
  return Value::of(enter(x, keep_cut_dims(*tiling, b.shape(x), local), local));
}

Value HloLowering::shard_to_full(const Call& c) {
  const NodeId x = node(c, 0);
  std::string reason;
  if (c.ins.sharding.syntax != frontend::StatedSharding::Syntax::Hlo)
    malformed("leaves a per-rank region with a value whose sharding is not stated");
  const auto tiling = parse_hlo_tiling(c.ins.sharding.text, b.shape(x).size(), m.num_partitions, reason);
  if (!tiling) malformed(fmt::format("sharding {}: {}", c.ins.sharding.text, reason));
  const Shape& global = result_type(c).shape;
  need(global.size() == b.shape(x).size(), "changes the rank of a tensor");
  return Value::of(leave(x, keep_cut_dims(*tiling, global, b.shape(x)), global));
}

}  // namespace shardproof::lower
