// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Collectives of XLA programs, synchronous and as start/done pairs, and the ids of this rank.
//
// What the numbers in replica_groups are (XLA's "group mode") follows from channel_id and use_global_device_ids:
//   all-reduce, all-gather, reduce-scatter:  no channel: replica ids, one instance per partition | channel: replica ids, all partitions of
//   them join | channel and global ids: replica * num_partitions + partition all-to-all, collective-permute, collective-broadcast:  no
//   channel: replica ids | channel: partition ids, one instance per replica
// With one replica or one partition these coincide, and the simplest of them is written.
#include <fmt/format.h>

#include <algorithm>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using ir::Fn;
using ir::GroupRef;
using ir::NodeId;
using ir::Shape;

GroupRef HloLowering::group(const hlo::Instruction& ins, bool reduces) {
  collective_seen_ = true;
  GroupRef out;
  out.members = ins.replica_groups.groups;
  const bool channel = ins.channel_id > 0;
  if (!channel && ins.use_global_device_ids) malformed("uses global device ids without a channel");
  if (ins.use_global_device_ids) {
    out.kind = m.replica_count <= 1    ? GroupRef::Kind::Partitions
               : m.num_partitions <= 1 ? GroupRef::Kind::Replicas
                                       : GroupRef::Kind::Flattened;
  } else if (!channel) {
    out.kind = GroupRef::Kind::Replicas;
  } else if (!reduces) {
    out.kind = GroupRef::Kind::Partitions;
  } else if (m.num_partitions <= 1) {
    out.kind = GroupRef::Kind::Replicas;
  } else {
    out.kind = GroupRef::Kind::CrossReplica;
    const bool everyone = std::all_of(out.members.begin(), out.members.end(), [](const auto& g) { return g == std::vector<int64_t>{0}; });
    if (m.replica_count <= 1 && everyone) {
      out.kind = GroupRef::Kind::Partitions;
      out.members.clear();
    }
  }
  return out;
}

// How many parts a group puts together (or takes apart), by the shapes; the stated groups must agree.
int64_t HloLowering::group_size(const hlo::Instruction& ins, int64_t whole, int64_t part) const {
  int64_t size = 0;
  if (part != 0) {
    need(whole % part == 0, "has a result whose extent does not fit its operand");
    size = whole / part;
  } else {
    need(whole == 0, "has a result whose extent does not fit its operand");
    size = ins.replica_groups.groups.empty() ? 1 : static_cast<int64_t>(ins.replica_groups.groups[0].size());
  }
  need(size > 0, "has an empty group");
  const bool per_replica = ins.channel_id > 0 && !ins.use_global_device_ids && m.num_partitions > 1;  // partitions multiply the group
  if (!per_replica) {
    for (const auto& g : ins.replica_groups.groups) {
      if (static_cast<int64_t>(g.size()) != size) malformed(fmt::format("has a group of {} where its shapes say {}", g.size(), size));
    }
  }
  return size;
}

Value HloLowering::rank_id(const Call& c) {
  collective_seen_ = true;
  const bool replica = normal_opcode(c.ins.opcode) == "replica-id";
  return Value::of(b.rank_id(replica, result_type(c).dtype));
}

Value HloLowering::all_reduce(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty(), "has no operands");
  const Fn fn = c.ins.opcode == "cross-replica-sum" ? Fn::Add : need_reduction(c, called(c, 0));
  const GroupRef g = group(c.ins, true);
  std::vector<Value> out;
  for (NodeId x : xs) out.push_back(Value::of(b.all_reduce(x, fn, false, g)));
  return xs.size() > 1 || c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

Value HloLowering::all_gather(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  const bool start = c.ins.opcode == "all-gather-start";
  need(!xs.empty() && c.ins.dimensions.size() == 1, "needs operands and one dimension");
  const int64_t dim = c.ins.dimensions[0];
  // Result types: the type itself, its elements, or, of a start, its second element (or the elements of that).
  const hlo::Type* whole = &c.ins.type;
  if (start && whole->tuple && whole->elements.size() >= 2) whole = &whole->elements[1];
  std::vector<Value> out;
  const GroupRef g = group(c.ins, true);
  for (size_t k = 0; k < xs.size(); ++k) {
    const hlo::Type* t = whole->tuple ? (k < whole->elements.size() ? &whole->elements[k] : nullptr) : whole;
    need(t && dim >= 0 && dim < b.rank(xs[k]) && t->shape.size() == b.shape(xs[k]).size(), "has a dimension out of range");
    GroupRef stated = g;
    stated.size = group_size(c.ins, t->shape[dim], b.shape(xs[k])[dim]);
    out.push_back(Value::of(b.all_gather(xs[k], dim, stated.size, stated)));
  }
  Value result = whole->tuple ? Value::of(std::move(out)) : out[0];
  if (whole == &c.ins.type) return result;
  std::vector<Value> started(c.ins.type.elements.size());
  started[0] = c.ins.type.elements[0].tuple ? Value::of(std::vector<Value>(c.in.begin(), c.in.end())) : c.in[0];
  started[1] = std::move(result);
  return Value::of(std::move(started));
}

Value HloLowering::reduce_scatter(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty() && c.ins.dimensions.size() == 1, "needs operands and one dimension");
  const int64_t dim = c.ins.dimensions[0];
  const Fn fn = need_reduction(c, called(c, 0));
  const GroupRef g = group(c.ins, true);
  std::vector<Value> out;
  for (size_t k = 0; k < xs.size(); ++k) {
    const hlo::Type* t = c.ins.type.tuple ? (k < c.ins.type.elements.size() ? &c.ins.type.elements[k] : nullptr) : &c.ins.type;
    need(t && dim >= 0 && dim < b.rank(xs[k]) && t->shape.size() == b.shape(xs[k]).size(), "has a dimension out of range");
    GroupRef stated = g;
    stated.size = group_size(c.ins, b.shape(xs[k])[dim], t->shape[dim]);
    out.push_back(Value::of(b.reduce_scatter(xs[k], fn, false, dim, stated.size, stated)));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

Value HloLowering::all_to_all(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty(), "has no operands");
  GroupRef g = group(c.ins, false);
  const auto parts = [&](int64_t fallback) {
    int64_t n = c.ins.split_count;
    if (n <= 0 && !g.members.empty()) n = static_cast<int64_t>(g.members[0].size());
    if (n <= 0 && g.kind == GroupRef::Kind::Partitions && m.num_partitions > 0) n = m.num_partitions;
    if (n <= 0 && g.kind == GroupRef::Kind::Replicas && m.replica_count > 0) n = m.replica_count;
    return n > 0 ? n : fallback;
  };
  if (c.ins.dimensions.empty()) {
    // Tuple form: operand k goes to member k, element k comes from member k.
    const int64_t n = static_cast<int64_t>(xs.size());
    if (parts(n) != n) malformed("has a number of operands that differs from its group");
    const Shape s = b.shape(xs[0]);
    Shape one{1};
    one.insert(one.end(), s.begin(), s.end());
    std::vector<NodeId> stacked;
    for (NodeId x : xs) {
      need(b.shape(x) == s, "exchanges operands of different shapes");
      stacked.push_back(reshape(x, one));
    }
    g.size = n;
    const NodeId exchanged = b.all_to_all(b.concat(stacked, 0), 0, 0, n, {}, {}, g);
    std::vector<Value> out;
    for (int64_t k = 0; k < n; ++k) out.push_back(Value::of(reshape(slice_dim(exchanged, 0, k, k + 1), s)));
    return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
  }
  // Array form, of one operand or (StableHLO) several that are exchanged alike.
  const int64_t split = c.ins.dimensions[0], concat = c.ins.concat_dimension >= 0 ? c.ins.concat_dimension : split;
  std::vector<Value> out;
  for (NodeId x : xs) {
    need(split >= 0 && split < b.rank(x) && concat < b.rank(x), "has a dimension out of range");
    int64_t n = parts(0);
    if (n <= 0) {
      const Shape& s = c.ins.type.tuple ? b.shape(x) : c.ins.type.shape;
      if (split == concat || s.size() != b.shape(x).size() || s[split] <= 0) throw Unsupported{"all-to-all whose group size is not stated"};
      n = b.shape(x)[split] / s[split];
    }
    need(n > 0 && b.shape(x)[split] % n == 0, "splits a dimension that its group does not divide");
    g.size = n;
    out.push_back(Value::of(b.all_to_all(x, split, concat, n, {}, {}, g)));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

Value HloLowering::collective_permute(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  need(!xs.empty(), "has no operands");
  GroupRef g = group(c.ins, false);
  g.members.clear();
  std::vector<int64_t> pairs;
  std::vector<int64_t> targets;
  for (const auto& [from, to] : c.ins.source_target_pairs) {
    if (from < 0 || to < 0) malformed("has a negative rank in its pairs");
    pairs.insert(pairs.end(), {from, to});
    targets.push_back(to);
  }
  std::sort(targets.begin(), targets.end());
  if (std::adjacent_find(targets.begin(), targets.end()) != targets.end()) malformed("has two sources for one target");
  const bool start = c.ins.opcode == "collective-permute-start";
  // In-place forms read operands that are bookkeeping; several data operands are permuted alike.
  need(!start || !c.ins.type.tuple || c.ins.type.elements.size() >= 2, "should give its operand and its result");
  const size_t results = !c.ins.type.tuple ? 1
                         : start           ? (c.ins.type.elements[1].tuple ? c.ins.type.elements[1].elements.size() : 1)
                                           : c.ins.type.elements.size();
  if (xs.size() != results) throw Unsupported{"collective-permute that updates slices in place"};
  std::vector<Value> out;
  for (NodeId x : xs) out.push_back(Value::of(b.permute(x, pairs, g)));
  if (start && c.ins.type.tuple && c.ins.type.elements.size() >= 2) {
    const bool nested = c.ins.type.elements[1].tuple;
    std::vector<Value> started(c.ins.type.elements.size());
    started[0] = nested ? Value::of(std::vector<Value>(c.in.begin(), c.in.end())) : c.in[0];
    started[1] = nested ? Value::of(std::move(out)) : out[0];
    return Value::of(std::move(started));
  }
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

Value HloLowering::collective_broadcast(const Call& c) {
  const std::vector<NodeId> xs = nodes(c);
  const GroupRef g = group(c.ins, false);
  std::vector<Value> out;
  for (NodeId x : xs) out.push_back(Value::of(b.broadcast_from(x, 0, g)));
  need(!out.empty(), "has no operands");
  return c.ins.type.tuple ? Value::of(std::move(out)) : out[0];
}

}  // namespace shardproof::lower
