// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Collectives. TensorFlow's own name a group by its key: the manifest's `groups` says which ranks that is. XLA's list replica ids.
#include <fmt/format.h>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {
namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

Fn reduction(const std::string& name) {
  if (name == "Add" || name == "Mean") return Fn::Add;
  if (name == "Mul") return Fn::Mul;
  if (name == "Max") return Fn::Max;
  if (name == "Min") return Fn::Min;
  throw Unsupported{fmt::format("the reduction '{}'", name)};
}

ir::GroupRef named(const std::string& key, int64_t size) {
  if (size < 1) throw Unsupported{fmt::format("a group of {} ranks", size)};
  ir::GroupRef group;
  group.kind = ir::GroupRef::Kind::Name;
  group.name = key;
  group.size = size;
  return group;
}

// group_size and group_key as inputs k and k + 1, or as attributes where they are none.
ir::GroupRef keyed(Call& c, size_t k) {
  if (c.count() > k + 1) return named(fmt::format("{}", c.integer(k + 1)), c.integer(k));
  return named(fmt::format("{}", c.attr("group_key", -1)), c.attr("group_size", 0));
}

NodeId reduce(Call& c, NodeId x, const std::string& merge, const std::string& final_op, const ir::GroupRef& group) {
  if (final_op != "Id" && final_op != "Div" && !final_op.empty()) throw Unsupported{fmt::format("final_op '{}'", final_op)};
  bool average = final_op == "Div" || merge == "Mean";
  Fn fn = reduction(merge);
  if (average && !ir::is_float(c.b.dtype(x))) throw Unsupported{"a mean of integers"};
  if (average && fn != Fn::Add) return c.div(c.b.all_reduce(x, fn, false, group), c.number(static_cast<double>(group.size), c.b.dtype(x)));
  return c.b.all_reduce(x, fn, average, group);
}

// input, group_size, group_key, instance_key, ordering tokens; attributes in the first version
Values collective_reduce(Call& c) { return {reduce(c, c.t(0), c.attr_s("merge_op", ""), c.attr_s("final_op", "Id"), keyed(c, 1))}; }

Values collective_gather(Call& c) {
  if (c.rank(0) == 0) throw Unsupported{"a number to gather"};
  ir::GroupRef group = keyed(c, 1);
  int64_t size = group.size;
  return {c.b.all_gather(c.t(0), 0, size, std::move(group))};
}

Values collective_reduce_scatter(Call& c) {
  ir::GroupRef group = keyed(c, 1);
  int64_t size = group.size;
  Fn fn = reduction(c.attr_s("merge_op", ""));
  std::string final_op = c.attr_s("final_op", "Id");
  bool average = final_op == "Div";
  if ((average && fn != Fn::Add) || (final_op != "Id" && !average)) throw Unsupported{fmt::format("final_op '{}'", final_op)};
  if (c.rank(0) == 0 || c.shape(0)[0] % size != 0) throw Unsupported{"a first dimension that the group does not divide"};
  return {c.b.reduce_scatter(c.t(0), fn, average, 0, size, std::move(group))};
}

Values collective_all_to_all(Call& c) {
  ir::GroupRef group = keyed(c, 1);
  int64_t size = group.size;
  if (c.rank(0) == 0 || c.shape(0)[0] % size != 0) throw Unsupported{"a first dimension that the group does not divide"};
  return {c.b.all_to_all(c.t(0), 0, 0, size, {}, {}, std::move(group))};
}

// --- communicators: group_key, rank, group_size

Values communicator(Call& c) {
  Value v;
  v.communicator = static_cast<int>(c.l.communicators.size());
  c.l.communicators.push_back({fmt::format("{}", c.integer(0)), c.integer(2)});
  return {v};
}

// input, communicator, group_assignment: [1, n] with all of its ranks in order, or nothing
ir::GroupRef communicating(Call& c) {
  if (c.count() < 2 || c.in[1].communicator < 0) throw Unsupported{"a communicator that the graph does not make"};
  const Communicator& m = c.l.communicators[at(c.in[1].communicator)];
  if (c.count() > 2) {
    Ints ranks = c.ints(2);
    for (size_t k = 0; k < ranks.size(); ++k)
      if (ranks[k] != static_cast<int64_t>(k) || static_cast<int64_t>(ranks.size()) != m.size || (c.rank(2) == 2 && c.shape(2)[0] != 1))
        throw Unsupported{"a group inside of a communicator"};
  }
  return named(m.group, m.size);
}

Values collective_reduce_v3(Call& c) { return {reduce(c, c.t(0), c.attr_s("reduction", ""), "Id", communicating(c))}; }

Values collective_all_to_all_v3(Call& c) {
  ir::GroupRef group = communicating(c);
  int64_t size = group.size;
  if (c.rank(0) == 0 || c.shape(0)[0] % size != 0) throw Unsupported{"a first dimension that the group does not divide"};
  return {c.b.all_to_all(c.t(0), 0, 0, size, {}, {}, std::move(group))};
}

// --- XLA: groups are lists of replica ids

ir::GroupRef assigned(Call& c, size_t k) {
  ir::GroupRef group;
  group.kind = ir::GroupRef::Kind::Replicas;
  Ints ids = c.ints(k);
  if (ids.empty()) return group;
  if (c.rank(k) != 2) throw Unsupported{"a group assignment of another rank than 2"};
  group.size = c.shape(k)[1];
  for (int64_t row = 0; row < c.shape(k)[0]; ++row)
    group.members.emplace_back(ids.begin() + row * group.size, ids.begin() + (row + 1) * group.size);
  return group;
}

Values cross_replica_sum(Call& c) { return {c.b.all_reduce(c.t(0), Fn::Add, false, assigned(c, 1))}; }
Values xla_all_reduce(Call& c) {
  std::string mode = c.attr_s("mode", "CrossReplica");
  if (mode != "CrossReplica") throw Unsupported{fmt::format("mode '{}'", mode)};
  std::string op = c.attr_s("reduce_op", "");
  ir::GroupRef group = assigned(c, 1);
  if (op == "Mean" && group.size == 0) throw Unsupported{"a mean over a group whose size is not stated"};
  return {c.b.all_reduce(c.t(0), reduction(op), op == "Mean", std::move(group))};
}

// input, group_assignment, scatter_dimension
Values xla_reduce_scatter(Call& c) {
  std::string op = c.attr_s("reduce_op", "");
  ir::GroupRef group = assigned(c, 1);
  int64_t dim = c.axis(2, c.rank(0)), size = group.size;
  if (size < 1) throw Unsupported{"a group whose size is not stated"};
  if (c.shape(0)[at(dim)] % size != 0) throw Unsupported{"a dimension that the group does not divide"};
  return {c.b.reduce_scatter(c.t(0), reduction(op), op == "Mean", dim, size, std::move(group))};
}

Values all_to_all(Call& c) {
  int64_t split = c.attr("split_dimension", -1), concat = c.attr("concat_dimension", -1), count = c.attr("split_count", 0);
  ir::GroupRef group = assigned(c, 1);
  if (count < 1 || (group.size != 0 && group.size != count)) throw Unsupported{"a split_count that is not the size of the group"};
  if (split < 0 || split >= c.rank(0) || concat < 0 || concat >= c.rank(0) || c.shape(0)[at(split)] % count != 0)
    throw Unsupported{"a dimension that the group does not divide"};
  group.size = count;
  return {c.b.all_to_all(c.t(0), split, concat, count, {}, {}, std::move(group))};
}

// input, source_target_pairs
Values collective_permute(Call& c) {
  ir::GroupRef group;
  group.kind = ir::GroupRef::Kind::Replicas;
  Ints pairs = c.ints(1);
  if (pairs.size() % 2 != 0) throw Unsupported{"source_target_pairs that are no pairs"};
  return {c.b.permute(c.t(0), pairs, std::move(group))};
}

Values replica_id(Call& c) { return {c.b.rank_id(true, DType::I32)}; }

}  // namespace

void add_collectives(Table& table) {
  const std::pair<const char*, Handler> entries[] = {{"CollectiveReduce", collective_reduce},
                                                     {"CollectiveReduceV2", collective_reduce},
                                                     {"CollectiveReduceV3", collective_reduce_v3},
                                                     {"CollectiveGather", collective_gather},
                                                     {"CollectiveGatherV2", collective_gather},
                                                     {"CollectiveReduceScatterV2", collective_reduce_scatter},
                                                     {"CollectiveAllToAllV2", collective_all_to_all},
                                                     {"CollectiveAllToAllV3", collective_all_to_all_v3},
                                                     {"CollectiveInitializeCommunicator", communicator},
                                                     {"CrossReplicaSum", cross_replica_sum},
                                                     {"XlaAllReduce", xla_all_reduce},
                                                     {"XlaReduceScatter", xla_reduce_scatter},
                                                     {"AllToAll", all_to_all},
                                                     {"CollectivePermute", collective_permute},
                                                     {"XlaReplicaId", replica_id}};
  for (const auto& [name, handler] : entries) table.emplace(name, handler);
}

}  // namespace shardproof::lower::gd
