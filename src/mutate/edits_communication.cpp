// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Mistakes in who talks to whom: collectives dropped, added, moved, over other groups, with other reductions, dimensions, peers.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mutate/edits.h"

namespace shardproof::mutate {
namespace {

using ir::Fn;
using ir::kNoNode;
using ir::NodeId;
using ir::Op;

int64_t group_size(const World& w, const ir::Graph& g, NodeId id) {
  const ir::Node& n = g[id];
  if (n.in.empty()) return w.ranks;
  const ir::Shape& x = g[n.in[0]].shape;
  const auto ratio = [](int64_t p, int64_t q) { return q > 0 ? p / q : 0; };
  if (n.op == Op::AllGather) return ratio(n.shape[static_cast<size_t>(n.a[0])], x[static_cast<size_t>(n.a[0])]);
  if (n.op == Op::ReduceScatter) return ratio(x[static_cast<size_t>(n.a[1])], n.shape[static_cast<size_t>(n.a[1])]);
  if (n.group && n.group->size) return n.group->size;
  if (n.group && !n.group->members.empty()) return static_cast<int64_t>(n.group->members[0].size());
  return w.ranks;
}

// ---- drop
bool fits_drop(const World&, const ir::Graph& g, NodeId id) {
  const Op op = g[id].op;
  return is_collective(op) || op == Op::Send || op == Op::Recv;
}
NodeId drop(Site& s) {
  const ir::Node& n = s.node();
  s.what = fmt::format("{} dropped", ir::name(n.op));
  switch (n.op) {
    case Op::Send: s.dropped = true; return kNoNode;
    case Op::Recv: s.what += ", zeros instead"; return s.b.constant(ir::Literal::integer(0), n.dtype, n.shape);
    case Op::AllGather: {
      const int64_t size = group_size(s.world, s.old, s.id);
      if (size < 1 || size > 1024) return kNoNode;
      s.what += ", the local part repeated";
      return s.b.concat(std::vector<NodeId>(static_cast<size_t>(size), s.in(0)), n.a[0]);
    }
    case Op::ReduceScatter: {
      const size_t d = static_cast<size_t>(n.a[1]);
      const int64_t part = n.shape[d], k = s.random.below(group_size(s.world, s.old, s.id));
      s.what += fmt::format(", local part {} instead", k);
      return s.b.slice_dim(s.in(0), n.a[1], k * part, (k + 1) * part);
    }
    default: return s.fit(s.in(0));
  }
}

// ---- add
bool fits_add(const World& w, const ir::Graph& g, NodeId id) {
  const ir::Node& n = g[id];
  return ir::is_float(n.dtype) && !w.groups.empty() &&
         (n.op == Op::Map || n.op == Op::Contract || n.op == Op::Reduce || n.op == Op::Take || n.op == Op::Input || n.op == Op::AllReduce ||
          n.op == Op::Scatter || n.op == Op::Slice || n.op == Op::AllGather);
}
NodeId add(Site& s) {
  const NodeId x = s.add(s.copy());
  const size_t k = static_cast<size_t>(s.random.below(static_cast<int64_t>(s.world.groups.size())));
  const int64_t form = s.random.below(8);
  const Fn fn = form == 6 ? Fn::Max : form == 7 ? Fn::Min : Fn::Add;
  const bool average = form >= 4 && form < 6;
  s.what = fmt::format("all-reduce ({}) over {} added after it", average ? "average" : ir::name(fn), s.world.group_names[k]);
  return s.b.all_reduce(x, fn, average, s.group(k));
}

// ---- move an all-reduce to the other side of an element-wise operator
bool reduced(const ir::Graph& g, NodeId id) { return g[id].op == Op::AllReduce; }
bool fits_move(const World&, const ir::Graph& g, NodeId id) {
  const ir::Node& n = g[id];
  if (n.op == Op::Map)
    return ir::is_float(n.dtype) &&
           std::any_of(n.in.begin(), n.in.end(), [&](NodeId x) { return reduced(g, x) && g[x].dtype == n.dtype && g[x].shape == n.shape; });
  return n.op == Op::AllReduce && g[n.in[0]].op == Op::Map && g[n.in[0]].shape == n.shape;
}
NodeId move(Site& s) {
  const ir::Node& n = s.node();
  if (n.op == Op::Map) {
    ir::Node inner = s.copy();
    const ir::Node* all_reduce = nullptr;
    for (size_t k = 0; k < n.in.size() && !all_reduce; ++k) {
      if (!reduced(s.old, n.in[k]) || s.old[n.in[k]].shape != n.shape || s.old[n.in[k]].dtype != n.dtype) continue;
      all_reduce = &s.old[n.in[k]];
      inner.in[k] = s.map[all_reduce->in[0]];
    }
    if (!all_reduce) return kNoNode;
    s.what = fmt::format("all-reduce {} done after it instead of before", all_reduce->label);
    return s.b.all_reduce(s.add(std::move(inner)), all_reduce->fn, all_reduce->a[0] != 0, *all_reduce->group);
  }
  const ir::Node& inner = s.old[n.in[0]];
  std::vector<size_t> places;
  for (size_t k = 0; k < inner.in.size(); ++k)
    if (s.old[inner.in[k]].shape == n.shape && s.old[inner.in[k]].dtype == n.dtype) places.push_back(k);
  if (places.empty()) return kNoNode;
  const size_t k = s.random.of(places);
  ir::Node outer = inner;
  for (NodeId& x : outer.in) x = s.map[x];
  outer.in[k] = s.b.all_reduce(outer.in[k], n.fn, n.a[0] != 0, *n.group);
  s.what = fmt::format("done before {} (on operand {}) instead of after", inner.label, k);
  return s.add(std::move(outer));
}

// ---- group
bool fits_group(const World& w, const ir::Graph& g, NodeId id) { return is_collective(g[id].op) && g[id].group && !w.groups.empty(); }
NodeId group(Site& s) {
  const ir::Node& n = s.node();
  const bool any_size = n.op == Op::AllReduce || n.op == Op::BroadcastFrom;
  const int64_t size = group_size(s.world, s.old, s.id);
  std::vector<std::vector<int64_t>> now = n.group->members;  // of the operator as written
  if (n.group->kind == ir::GroupRef::Kind::Name)
    for (const auto& [name, lists] : s.world.named)
      if (name == n.group->name) now = lists;
  std::sort(now.begin(), now.end());
  if (now.empty())
    for (int64_t r = 0; r < s.world.ranks; ++r) now.resize(1), now[0].push_back(r);
  const bool reverse = !any_size && s.random.chance(0.3);
  std::vector<size_t> choices;
  for (size_t k = 0; k < s.world.groups.size(); ++k) {
    auto lists = s.world.groups[k];
    std::sort(lists.begin(), lists.end());
    if (lists == now && !reverse) continue;
    if (any_size || static_cast<int64_t>(s.world.groups[k][0].size()) == size) choices.push_back(k);
  }
  if (choices.empty()) return kNoNode;
  const size_t k = s.random.of(choices);
  ir::Node made = s.copy();
  ir::GroupRef ref = s.group(k);
  s.what = fmt::format("over {} instead", s.world.group_names[k]);
  if (reverse) {
    for (auto& list : ref.members) std::reverse(list.begin(), list.end());
    s.what += ", in reverse order";
  }
  if (n.op == Op::BroadcastFrom && n.a[0] >= static_cast<int64_t>(ref.members[0].size())) return kNoNode;
  made.group = std::make_shared<const ir::GroupRef>(std::move(ref));
  return s.add(std::move(made));
}

// ---- reduction
bool fits_reduction(const World&, const ir::Graph& g, NodeId id) {
  const ir::Node& n = g[id];
  return n.op == Op::AllReduce || n.op == Op::ReduceScatter || n.op == Op::Reduce || n.op == Op::Scan || n.op == Op::ArgReduce ||
         (n.op == Op::Scatter && !n.set);
}
NodeId reduction(Site& s) {
  ir::Node made = s.copy();
  const bool communicates = is_collective(made.op);
  if (communicates && ir::is_float(made.dtype) && s.random.chance(0.5) && (made.fn == Fn::Add)) {
    made.a[0] = made.a[0] ? 0 : 1;
    s.what = made.a[0] ? "average instead of sum" : "sum instead of average";
    return s.add(std::move(made));
  }
  const Fn was = made.fn;
  std::vector<Fn> choices;
  if (made.op == Op::ArgReduce)
    choices = {Fn::Max, Fn::Min};
  else if (was == Fn::And || was == Fn::Or)
    choices = {Fn::And, Fn::Or};
  else
    choices = {Fn::Add, Fn::Max, Fn::Min};
  std::erase(choices, was);
  if (choices.empty()) return kNoNode;
  made.fn = s.random.of(choices);
  if (communicates) made.a[0] = 0;
  s.what = fmt::format("{} instead of {}", ir::name(made.fn), ir::name(was));
  return s.add(std::move(made));
}

// ---- dimension
bool fits_dimension(const World&, const ir::Graph& g, NodeId id) {
  const Op op = g[id].op;
  return (op == Op::AllGather || op == Op::ReduceScatter || op == Op::AllToAll) && g[id].shape.size() > 1 && g[id].group != nullptr;
}
NodeId dimension(Site& s) {
  const ir::Node& n = s.node();
  const int64_t rank = static_cast<int64_t>(n.shape.size()), size = group_size(s.world, s.old, s.id);
  const int64_t d = s.random.below(rank);
  if (n.op == Op::AllGather) {
    if (d == n.a[0]) return kNoNode;
    s.what = fmt::format("along dimension {} instead of {}", d, n.a[0]);
    return s.fit(s.b.all_gather(s.in(0), d, size, *n.group));
  }
  if (n.op == Op::ReduceScatter) {
    if (d == n.a[1] || s.old[n.in[0]].shape[static_cast<size_t>(d)] % size != 0) return kNoNode;
    s.what = fmt::format("along dimension {} instead of {}", d, n.a[1]);
    return s.fit(s.b.reduce_scatter(s.in(0), n.fn, n.a[0] != 0, d, size, *n.group));
  }
  if (!n.b.empty()) return kNoNode;
  const int64_t split = d, concat = s.random.below(rank);
  if (split == n.a[0] && concat == n.a[1]) return kNoNode;
  const ir::Shape& x = s.old[n.in[0]].shape;
  int64_t parts = x[static_cast<size_t>(n.a[0])] / std::max<int64_t>(n.shape[static_cast<size_t>(n.a[0])], 1);
  if (n.a[0] == n.a[1]) parts = size;
  if (parts < 1 || x[static_cast<size_t>(split)] % parts != 0) return kNoNode;
  s.what = fmt::format("split along {} and concatenated along {} instead of {}, {}", split, concat, n.a[0], n.a[1]);
  return s.fit(s.b.all_to_all(s.in(0), split, concat, parts, {}, {}, *n.group));
}

// ---- ranks swapped
bool fits_ranks(const World& w, const ir::Graph& g, NodeId id) {
  const Op op = g[id].op;
  return w.ranks > 1 &&
         (op == Op::RankId || op == Op::Permute || op == Op::BroadcastFrom || op == Op::Send || op == Op::Recv || op == Op::GlobalToLocal);
}
NodeId ranks(Site& s) {
  ir::Node made = s.copy();
  if (made.op == Op::RankId) {
    const NodeId id = s.add(std::move(made));
    const ir::DType t = s.node().dtype;
    const auto number = [&](int64_t v) { return s.b.constant(ir::Literal::integer(v, t), t); };
    switch (s.random.below(4)) {
      case 0: s.what = "the next rank's id (modulo)"; return s.b.binary(Fn::Rem, s.b.binary(Fn::Add, id, number(1)), number(s.world.ranks));
      case 1: s.what = "counted from the other end"; return s.b.binary(Fn::Sub, number(s.world.ranks - 1), id);
      case 2: s.what = "0 on every rank"; return number(0);
      default: s.what = "one more"; return s.b.binary(Fn::Add, id, number(1));
    }
  }
  if (made.op == Op::Permute) {
    std::vector<int64_t>& p = made.b;
    const size_t pairs = p.size() / 2;
    if (pairs == 0) return kNoNode;
    switch (s.random.below(3)) {
      case 0:
        for (size_t k = 0; k < pairs; ++k) std::swap(p[2 * k], p[2 * k + 1]);
        s.what = "sources and targets swapped";
        break;
      case 1: {
        const size_t drop = static_cast<size_t>(s.random.below(static_cast<int64_t>(pairs)));
        s.what = fmt::format("the pair ({}, {}) missing", p[2 * drop], p[2 * drop + 1]);
        p.erase(p.begin() + static_cast<int64_t>(2 * drop), p.begin() + static_cast<int64_t>(2 * drop + 2));
        break;
      }
      default: {
        if (pairs < 2) return kNoNode;
        const size_t x = static_cast<size_t>(s.random.below(static_cast<int64_t>(pairs))), y = (x + 1) % pairs;
        std::swap(p[2 * x + 1], p[2 * y + 1]);
        s.what = fmt::format("the targets of sources {} and {} swapped", p[2 * x], p[2 * y]);
      }
    }
    return s.add(std::move(made));
  }
  if (made.op == Op::GlobalToLocal) {
    const size_t rank = made.shape.size();
    const int64_t devices = rank ? static_cast<int64_t>(made.b.size() / rank) : 0;
    if (devices < 2) return kNoNode;
    const int64_t x = s.random.below(devices), y = (x + 1 + s.random.below(devices - 1)) % devices;
    for (size_t d = 0; d < rank; ++d) std::swap(made.b[static_cast<size_t>(x) * rank + d], made.b[static_cast<size_t>(y) * rank + d]);
    s.what = fmt::format("devices {} and {} take each other's part", x, y);
    return s.add(std::move(made));
  }
  const int64_t size = group_size(s.world, s.old, s.id);
  const int64_t was = made.a[0];
  made.a[0] = (was + 1) % std::max<int64_t>(size, 2);
  s.what = fmt::format("peer {} instead of {}", made.a[0], was);
  return s.add(std::move(made));
}

// ---- order of what was gathered
bool fits_order(const World&, const ir::Graph& g, NodeId id) {
  const ir::Node& n = g[id];
  return n.op == Op::AllGather || n.op == Op::AllToAll || (n.op == Op::Concat && n.in.size() > 1);
}
NodeId order(Site& s) {
  ir::Node made = s.copy();
  if (made.op == Op::Concat) {
    const size_t x = static_cast<size_t>(s.random.below(static_cast<int64_t>(made.in.size()))), y = (x + 1) % made.in.size();
    std::swap(made.in[x], made.in[y]);
    s.what = fmt::format("parts {} and {} swapped", x, y);
    return s.add(std::move(made));
  }
  const int64_t parts = made.op == Op::AllGather ? group_size(s.world, s.old, s.id) : s.world.ranks,
                dim = made.op == Op::AllGather ? made.a[0] : made.a[1];
  const int64_t extent = made.shape[static_cast<size_t>(dim)];
  if (parts < 2 || extent % parts != 0) return kNoNode;
  const NodeId whole = s.add(std::move(made));
  const int64_t part = extent / parts, first = s.random.below(parts), second = (first + 1 + s.random.below(parts - 1)) % parts;
  std::vector<NodeId> pieces;
  for (int64_t k = 0; k < parts; ++k) {
    const int64_t from = k == first ? second : k == second ? first : k;
    pieces.push_back(s.b.slice_dim(whole, dim, from * part, (from + 1) * part));
  }
  s.what = fmt::format("parts {} and {} swapped", first, second);
  return s.b.concat(pieces, dim);
}

}  // namespace

const std::vector<Kind> kCommunicationKinds = {
    {"drop-collective", fits_drop, drop},           {"add-collective", fits_add, add, true},
    {"move-collective", fits_move, move},           {"wrong-group", fits_group, group},
    {"wrong-reduction", fits_reduction, reduction}, {"wrong-dimension", fits_dimension, dimension},
    {"swapped-ranks", fits_ranks, ranks},           {"wrong-order", fits_order, order},
};

}  // namespace shardproof::mutate
