// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Communication in branches: who takes part depends on a condition.
//
// A condition on the rank alone is known: a rank's operations in branches that it does not take are left out of the schedule. Under a
// condition on data, the schedule has the operations of all branches. That is right if those that meet stand under the same conditions, and
// these have the same value on all of their ranks: then in every run each meeting takes place as a whole or not at all, and to leave whole
// meetings out of a schedule that completes leaves one that completes. Values are the same here if they are computed alike: by the same
// operators from the same nodes of the joint graph. What is not known to meet so is given up, and what depends on it is open.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "link/linker.h"

namespace shardproof::link {

namespace {

bool covers(const frontend::Branch& branch, ir::NodeId node) { return branch.begin <= node && node < branch.end; }

template <typename T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& key, const std::vector<int64_t>& values) {
  append(key, values.size());
  for (int64_t v : values) append(key, v);
}

void append_text(std::string& key, const std::string& text) {
  append(key, text.size());
  key += text;
}

void append_literal(std::string& key, const ir::Literal& v) {
  append(key, v.kind);
  append(key, v.format);
  append(key, v.i);
  append(key, v.d);
}

}  // namespace

// Who takes it is known: the condition depends on nothing but the rank. A program that does not state its partitions has an answer for
// more.
bool Linker::by_rank(const frontend::Branch& branch) const {
  if (replicas_ == 1) return branch.taken.size() >= ranks_.size();
  return branch.taken.size() == ranks_.size() && ranks_[0]->num_replicas == replicas_;
}

// Rank r does not run this node: it is in a branch on its rank that it does not take.
bool Linker::idle(size_t r, ir::NodeId node) const {
  return std::any_of(ranks_[r]->branches.begin(), ranks_[r]->branches.end(),
                     [&](const frontend::Branch& branch) { return covers(branch, node) && by_rank(branch) && !branch.taken[r]; });
}

// The conditions on data under which rank r runs this node, inner ones first.
std::vector<ir::NodeId> Linker::conditions(size_t r, ir::NodeId node) const {
  std::vector<ir::NodeId> out;
  for (const frontend::Branch& branch : ranks_[r]->branches)
    if (covers(branch, node) && !by_rank(branch)) out.push_back(branch.condition);
  return out;
}

// The first node of the joint graph that is computed as this one is.
ir::NodeId Linker::computed_as(ir::NodeId node) {
  while (computed_as_.size() < out.graph.nodes.size()) {
    const auto id = static_cast<ir::NodeId>(computed_as_.size());
    const ir::Node& n = out.graph[id];
    computed_as_.push_back(id);
    if (n.op == ir::Op::Input || n.op == ir::Op::Uninit || n.op == ir::Op::Random || n.op >= ir::Op::AllReduce) continue;
    if (n.dense && n.dense->size() > 4096) continue;
    std::string key;
    append(key, n.op);
    append(key, n.fn);
    append(key, n.dtype);
    append(key, n.mode);
    append(key, n.set);
    append(key, n.shape);
    append(key, n.in.size());
    for (ir::NodeId x : n.in) append(key, computed_as_[x]);
    append(key, n.a);
    append(key, n.b);
    append(key, n.c);
    append_literal(key, n.lit);
    append_text(key, n.name);
    append_text(key, n.attrs);
    for (const auto& [dtype, shape] : n.tuple) {
      append(key, dtype);
      append(key, shape);
    }
    if (n.dense)
      for (const ir::Literal& v : *n.dense) append_literal(key, v);
    computed_as_[id] = first_of_.try_emplace(std::move(key), id).first->second;
  }
  return computed_as_[node];
}

bool Linker::meets_as_a_whole(const Event& event) {
  std::vector<ir::NodeId> first;
  for (size_t k = 0; k < event.places.size(); ++k) {
    const auto r = static_cast<size_t>(event.places[k].rank);
    std::vector<ir::NodeId> own = conditions(r, comm_[r][event.places[k].index].node);
    for (ir::NodeId& c : own) c = computed_as(map_[r][c]);
    if (k == 0)
      first = std::move(own);
    else if (own != first)
      return false;
  }
  return true;
}

// Whether a fault of the schedule may be none: some operation is under a condition on data, or a permutation under one on the rank, in
// which only those ranks take part that send or receive.
bool Linker::faults_are_open() const {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    for (const frontend::Branch& branch : ranks_[r]->branches) {
      for (ir::NodeId id = branch.begin; id < branch.end; ++id) {
        const ir::Op op = ranks_[r]->graph[id].op;
        if (op < ir::Op::AllReduce || op > ir::Op::LocalToGlobal) continue;
        if (op == ir::Op::Permute || !by_rank(branch)) return true;
      }
    }
  }
  return false;
}

// The result of communication of which it is not known who takes part: anything.
void Linker::open_result(size_t r, ir::NodeId id) {
  const ir::Node& node = ranks_[r]->graph[id];
  if (node.op == ir::Op::Send) return;
  b_.label = node.label;
  b_.source_op = node.source_op;
  b_.loc = node.loc;
  const ir::NodeId any = b_.uninit(ir::DType::F32, {});
  map_[r][id] = b_.opaque("communication in a branch", "", {any}, {{node.dtype, node.shape}})[0];
  side(static_cast<int>(r));
  poisoned_.resize(out.graph.nodes.size(), 0);
  out.opaque_nodes.push_back(b_.g[map_[r][id]].in[0]);
  out.opaque_reasons.push_back(
      "communication in a branch of a conditional, where it is not known that all ranks that meet decide alike (their conditions are "
      "not computed by the same operators from the same values)");
}

}  // namespace shardproof::link
