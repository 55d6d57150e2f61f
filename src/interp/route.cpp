// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "interp/route.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <set>

namespace shardproof::interp {
namespace {

constexpr size_t kMaxNodes = 20000;  // of the way back: beyond, the cause is anyone's guess

// Is it a written collective? A sum or concatenation of what came from other ranks looks alike otherwise.
bool is_collective(const std::string& source_op) {
  std::string name;
  for (char c : source_op) {
    if (c != '_' && c != '-') name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const char* word :
       {"allreduce", "allgather", "reducescatter", "alltoall", "collective", "crossreplica", "c10d", "manualcomputation"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

class Finder {
 public:
  explicit Finder(const link::Problem& problem) : p_(problem) {}

  void add(ir::NodeId id, std::vector<RouteStep>& out) const {
    const ir::Node& n = p_.graph[id];
    if (p_.side[id] < 0) return;
    const bool collective = is_collective(n.source_op);
    const std::set<ir::NodeId> different(n.in.begin(), n.in.end());
    if (collective && n.op == ir::Op::Map && n.in.size() > 1 && (ranks(n.in).size() == n.in.size() || different.size() == 1)) {
      out.push_back(step(RouteStep::Kind::Reduce, id, n.in));
      return;
    }
    if (collective && n.op == ir::Op::Concat) {
      if (ranks(n.in).size() > 1 && ranks(n.in).size() == n.in.size()) {
        out.push_back(step(RouteStep::Kind::Gather, id, n.in));
        return;
      }
      std::vector<ir::NodeId> sources;
      for (ir::NodeId x : n.in) sources.push_back(p_.graph[x].op == ir::Op::Slice && same_operator(x, id) ? p_.graph[x].in[0] : x);
      if (ranks(sources).size() > 1 && ranks(sources).size() == sources.size()) {
        out.push_back(step(RouteStep::Kind::Exchange, id, sources));
        return;
      }
    }
    for (ir::NodeId x : n.in) {
      if (p_.side[x] < 0 || p_.side[x] == p_.side[id] || is_shared(x)) continue;
      out.push_back(step(RouteStep::Kind::Message, id, {x}));
      return;
    }
  }

 private:
  // Made by the same written operator.
  bool same_operator(ir::NodeId x, ir::NodeId y) const {
    return p_.graph[x].label == p_.graph[y].label && p_.graph[x].source_op == p_.graph[y].source_op;
  }
  // The ranks of the values; of the ranks' inputs, which the linker made, only that they are different ones is known.
  std::set<int> ranks(const std::vector<ir::NodeId>& in) const {
    std::set<int> out;
    for (ir::NodeId x : in) out.insert(p_.side[x] < 0 ? -1 - static_cast<int>(x) : p_.side[x]);
    return out;
  }
  // A result of a collective: it stands on the side of one rank, and all of its group read it there.
  bool is_shared(ir::NodeId id) const { return is_collective(p_.graph[id].source_op); }
  RouteStep step(RouteStep::Kind kind, ir::NodeId id, const std::vector<ir::NodeId>& in) const {
    RouteStep s{kind, id, in, 0, true};
    std::set<int> members = ranks(in);
    if (*members.begin() < 0) {  // if the number fits one axis only, it is that one
      for (size_t a = 0; a < p_.mesh.axes.size(); ++a) {
        if (p_.mesh.axes[a].size != static_cast<int64_t>(in.size())) continue;
        if (s.axes != 0) return RouteStep{kind, id, in, 0, true};
        s.axes = 1u << a;
      }
      return s;
    }
    if (kind == RouteStep::Kind::Message) members.insert(p_.side[id]);
    int64_t size = 1;
    for (size_t a = 0; a < p_.mesh.axes.size(); ++a) {
      std::set<int64_t> coordinates;
      for (int r : members) coordinates.insert(p_.mesh.coordinate(r, static_cast<int>(a)));
      if (coordinates.size() < 2) continue;
      s.axes |= 1u << a;
      size *= p_.mesh.axes[a].size;
    }
    s.whole = size == static_cast<int64_t>(members.size());
    return s;
  }
  const link::Problem& p_;
};

}  // namespace

std::vector<RouteStep> route(const link::Problem& problem, const std::vector<ir::NodeId>& from,
                             const std::function<bool(ir::NodeId)>& stop) {
  std::vector<RouteStep> out;
  const Finder finder(problem);
  std::deque<ir::NodeId> queue;
  std::set<ir::NodeId> seen;
  const auto enter = [&](ir::NodeId id) {
    if (id != ir::kNoNode && id < problem.side.size() && seen.insert(id).second) queue.push_back(id);
  };
  for (ir::NodeId id : from) enter(id);
  while (!queue.empty() && seen.size() < kMaxNodes) {
    const ir::NodeId id = queue.front();
    queue.pop_front();
    finder.add(id, out);
    for (ir::NodeId x : problem.graph[id].in) {
      if (!stop(x)) enter(x);
    }
  }
  // What all ranks read on one rank is computed there for all of them, and no message.
  std::map<std::string, std::set<int>> sources;
  for (const RouteStep& s : out) {
    if (s.kind == RouteStep::Kind::Message) sources[problem.graph[s.node].label].insert(problem.side[s.in[0]]);
  }
  std::erase_if(out,
                [&](const RouteStep& s) { return s.kind == RouteStep::Kind::Message && sources[problem.graph[s.node].label].size() < 2; });
  return out;
}

}  // namespace shardproof::interp
