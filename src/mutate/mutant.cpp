// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "mutate/mutant.h"

#include <algorithm>

#include <fmt/format.h>

#include "util/result.h"

namespace shardproof::mutate {

namespace {

using ir::kNoNode;
using ir::NodeId;
using ir::Op;

constexpr size_t kMaxAxes = 4;

// Nodes that an output or a message depends on.
std::vector<bool> live_nodes(const frontend::Program& p) {
  std::vector<bool> live(p.graph.nodes.size());
  for (const frontend::Output& o : p.outputs)
    if (o.node != kNoNode) live[o.node] = true;
  for (NodeId id = static_cast<NodeId>(p.graph.nodes.size()); id-- > 0;) {
    if (p.graph[id].op == Op::Send) live[id] = true;
    if (!live[id]) continue;
    for (NodeId x : p.graph[id].in) live[x] = true;
  }
  return live;
}

// Nodes of per-rank regions.
std::vector<bool> local_nodes(const frontend::Program& p) {
  std::vector<bool> local(p.graph.nodes.size(), !p.global_shapes);
  for (NodeId id = 0; id < local.size() && p.global_shapes; ++id) {
    const ir::Node& n = p.graph[id];
    local[id] = n.op == Op::GlobalToLocal || n.op == Op::RankId;
    for (NodeId x : n.in) local[id] = local[id] || (local[x] && n.op != Op::LocalToGlobal);
  }
  return local;
}

// Ways to cut the ranks into groups: along every set of axes. Without a mesh: all ranks.
void add_groups(const manifest::Manifest& m, World& w) {
  manifest::Mesh mesh;
  if (m.mesh) mesh = *m.mesh;
  if (mesh.axes.empty()) mesh.axes = {{"all ranks", w.ranks}};
  if (mesh.num_ranks() != w.ranks) return;
  const size_t axes = std::min(mesh.axes.size(), kMaxAxes);
  for (size_t set = 1; set < (size_t{1} << axes); ++set) {
    std::map<std::vector<int64_t>, std::vector<int64_t>> lists;  // coordinates of the other axes -> members
    std::string name;
    for (size_t a = 0; a < axes; ++a)
      if (set >> a & 1) name += (name.empty() ? "" : ",") + mesh.axes[a].name;
    for (int64_t r = 0; r < w.ranks; ++r) {
      std::vector<int64_t> key;
      for (size_t a = 0; a < mesh.axes.size(); ++a)
        if (a >= axes || !(set >> a & 1)) key.push_back(mesh.coordinate(r, static_cast<int>(a)));
      lists[key].push_back(r);
    }
    std::vector<std::vector<int64_t>> group;
    for (auto& [key, list] : lists) group.push_back(list);
    if (group[0].size() < 2) continue;
    w.groups.push_back(std::move(group));
    w.group_names.push_back(name);
  }
}

}  // namespace

Maker::Maker(const manifest::Manifest& m, const link::Programs& base, const std::vector<std::string>& wanted)
    : base_(base), wanted_(wanted) {
  world_.ranks = static_cast<int64_t>(base.ranks.size());
  const frontend::Program& first = *base.ranks[0];
  world_.spmd = first.kind == frontend::Program::Kind::Spmd;
  using SpmdKind = manifest::Manifest::SpmdKind;
  world_.replicas = m.spmd == SpmdKind::Replicas || (m.spmd == SpmdKind::FromModule && first.num_replicas > 1);
  if (m.spmd == SpmdKind::FromModule && first.num_replicas <= 1 && first.num_partitions <= 1)
    for (const ir::Node& n : first.graph.nodes)
      world_.replicas |= (n.op == Op::RankId && n.a[0] == 1) ||
                         (n.group && (n.group->kind == ir::GroupRef::Kind::Replicas || n.group->kind == ir::GroupRef::Kind::CrossReplica));
  add_groups(m, world_);
  for (const manifest::Manifest::Group& g : m.groups) world_.named.emplace_back(g.name, g.ranks);

  std::vector<const Kind*> possible;
  for (const Kind& k : kinds())
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), k.name) != wanted.end()) possible.push_back(&k);
  for (const ProgramPtr& p : base.ranks) {
    auto [it, fresh] = sites_.try_emplace(p.get());
    if (!fresh) continue;
    Sites& s = it->second;
    const ir::Graph& g = p->graph;
    const std::vector<bool> live = live_nodes(*p);
    s.of_kind.resize(possible.size());
    s.name.resize(g.nodes.size());
    s.local = local_nodes(*p);
    std::map<std::string, int> count;
    for (NodeId id = 0; id < g.nodes.size(); ++id) {
      if (g[id].op == Op::LocalToGlobal || !live[id]) continue;
      const std::string name =
          fmt::format("{}({}) {} {}", ir::name(g[id].op), g[id].op == Op::Map ? ir::name(g[id].fn) : "", g[id].label, g[id].name);
      const int k = count[name]++;
      s.name[id] = k ? fmt::format("{} #{}", name, k) : name;
      s.by_name.emplace(s.name[id], id);
      for (size_t q = 0; q < possible.size(); ++q)
        if ((s.local[id] || !possible[q]->per_rank) && possible[q]->fits(world_, g, id)) s.of_kind[q].push_back(id);
    }
  }
  // Only kinds for which there is a site.
  std::vector<size_t> used;
  for (size_t q = 0; q < possible.size(); ++q)
    if (std::any_of(sites_.begin(), sites_.end(), [&](const auto& entry) { return !entry.second.of_kind[q].empty(); })) used.push_back(q);
  for (auto& [program, s] : sites_) {
    std::vector<std::vector<NodeId>> kept;
    for (size_t q : used) kept.push_back(std::move(s.of_kind[q]));
    s.of_kind = std::move(kept);
  }
  for (size_t q : used) kinds_.push_back(possible[q]);
}

Maker::ProgramPtr Maker::apply(const Kind& kind, const ProgramPtr& program, NodeId site, Random random, int only_rank,
                               std::string& what) const {
  const ir::Graph& old = program->graph;
  auto made = std::make_shared<frontend::Program>();
  frontend::Program& p = *made;
  p = *program;
  p.graph.nodes.resize(site);
  p.graph.nodes.reserve(old.nodes.size() + 16);
  std::vector<NodeId> map(old.nodes.size(), kNoNode), start(old.nodes.size() + 1);
  for (NodeId id = 0; id < site; ++id) map[id] = start[id] = id;
  start[site] = site;

  ir::Builder b(p.graph);
  b.label = old[site].label;
  b.source_op = old[site].source_op;
  b.loc = old[site].loc;
  Site s{world_, old, site, map, b, random, "", false};
  NodeId value = kNoNode;
  try {
    value = kind.edit(s);
    if (value == kNoNode && !s.dropped) return nullptr;
    if (value != kNoNode && only_rank >= 0 && world_.spmd) {
      for (NodeId id = site; id < p.graph.nodes.size(); ++id)
        if (is_collective(p.graph[id].op)) return nullptr;  // all take part or none
      if (old[site].op == Op::RankId || old[site].op == Op::GlobalToLocal || !old[site].tuple.empty()) return nullptr;
      const NodeId original = s.add(s.copy());
      const NodeId here = b.compare(ir::Fn::Eq, b.rank_id(world_.replicas, ir::DType::I32),
                                    b.constant(ir::Literal::integer(only_rank, ir::DType::I32), ir::DType::I32));
      value = b.select(old[site].shape.empty() ? here : b.broadcast(here, old[site].shape, {}), value, original);
    }
  } catch (const InternalError&) {
    return nullptr;  // the builder or verify() found it malformed
  }
  if (value != kNoNode && (p.graph[value].shape != old[site].shape || p.graph[value].dtype != old[site].dtype)) return nullptr;
  what = s.what;
  map[site] = value;

  NodeId input = site;  // where the free tensor is, if the site is one
  for (NodeId id = site; id < p.graph.nodes.size() && old[site].op == Op::Input; ++id)
    if (p.graph[id].op == Op::Input) input = id;
  if (old[site].op == Op::Input && (input >= p.graph.nodes.size() || p.graph[input].op != Op::Input)) return nullptr;
  for (NodeId id = site + 1; id < old.nodes.size(); ++id) {
    start[id] = static_cast<NodeId>(p.graph.nodes.size());
    ir::Node n = old[id];
    for (NodeId& x : n.in) {
      if (map[x] == kNoNode) return nullptr;
      x = map[x];
    }
    map[id] = p.graph.add(std::move(n));
  }
  start[old.nodes.size()] = static_cast<NodeId>(p.graph.nodes.size());

  for (frontend::Input& i : p.inputs)
    if (i.node != kNoNode) i.node = i.node == site ? input : map[i.node];
  for (frontend::Output& o : p.outputs) {
    if (o.node == kNoNode) continue;
    if (map[o.node] == kNoNode) return nullptr;
    o.node = map[o.node];
  }
  for (frontend::Unsupported& u : p.unsupported)
    if (map[u.node] != kNoNode) u.node = map[u.node];
  std::vector<std::pair<NodeId, NodeId>> waits;
  for (const auto& [operation, position] : program->waits) {
    NodeId moved = operation < map.size() ? map[operation] : kNoNode;
    if (operation == site)  // the communication itself, if the edit kept it
      for (NodeId id = site; id < start[site + 1]; ++id)
        if (is_collective(p.graph[id].op) || p.graph[id].op == Op::Recv || p.graph[id].op == Op::Send) moved = id;
    if (moved != kNoNode) waits.emplace_back(moved, start[std::min<size_t>(position, old.nodes.size())]);
  }
  p.waits = std::move(waits);
  for (frontend::Branch& branch : p.branches) {
    if (site <= branch.condition) branch.taken.clear();  // which ranks take it may be another question now
    branch.begin = start[branch.begin];
    branch.end = start[branch.end];
    if (map[branch.condition] == kNoNode) return nullptr;
    branch.condition = map[branch.condition];
  }
  return made;
}

std::optional<Mutant> Maker::make(uint64_t seed, int64_t draw) const {
  if (kinds_.empty()) return std::nullopt;
  Random random(Random(seed ^ 0x5deece66d).next() + static_cast<uint64_t>(draw) * 0x2545f4914f6cdd1du);
  const size_t k = static_cast<size_t>(random.below(static_cast<int64_t>(kinds_.size())));
  const size_t rank = static_cast<size_t>(random.below(world_.ranks));
  bool alone = world_.ranks > 1 && random.chance(0.3);
  const ProgramPtr& program = base_.ranks[rank];
  const Sites& sites = sites_.at(program.get());
  if (sites.of_kind[k].empty()) return std::nullopt;
  const NodeId site = random.of(sites.of_kind[k]);
  alone = alone && sites.local[site];

  Mutant m;
  m.kind = kinds_[k];
  m.draw = draw;
  m.rank = alone ? static_cast<int>(rank) : -1;
  m.programs = base_;
  std::string what;
  const Random edit(random.next());
  const ProgramPtr changed = apply(*m.kind, program, site, edit, m.rank, what);
  if (!changed) return std::nullopt;
  if (world_.spmd) {
    for (ProgramPtr& p : m.programs.ranks) p = changed;
  } else if (alone) {
    m.programs.ranks[rank] = changed;
  } else {
    std::map<const frontend::Program*, ProgramPtr> done{{program.get(), changed}};
    for (ProgramPtr& p : m.programs.ranks) {
      auto [it, fresh] = done.try_emplace(p.get(), nullptr);
      if (fresh) {
        it->second = p;  // ranks without such an operator stay as they are
        const Sites& other = sites_.at(p.get());
        auto found = other.by_name.find(sites.name[site]);
        if (found != other.by_name.end() && m.kind->fits(world_, p->graph, found->second)) {
          std::string ignored;
          ProgramPtr theirs = apply(*m.kind, p, found->second, edit, -1, ignored);
          if (!theirs) return std::nullopt;
          it->second = theirs;
        }
      }
      p = it->second;
    }
  }
  m.what = fmt::format("{} at {} (node {}): {}", m.rank < 0 ? "all ranks" : fmt::format("rank {}", m.rank), sites.name[site], site, what);
  return m;
}

std::optional<Mutant> Maker::make_deep(const manifest::Manifest& manifest, uint64_t seed, int64_t draw, int edits) const {
  std::optional<Mutant> made = make(seed, draw);
  const int more = edits > 1 ? edits - 1 : draw % 4 == 3;
  for (int edit = 0; made && edit < more; ++edit) {
    const Maker again(manifest, made->programs, wanted_);
    std::optional<Mutant> next;
    for (uint64_t attempt = 1; !next && attempt <= (edits > 1 ? 8u : 1u); ++attempt)
      next = again.make(seed + 0x9e37 * (attempt + 8 * static_cast<uint64_t>(edit)), draw);
    if (!next) return edits > 1 ? std::nullopt : std::move(made);
    next->what = fmt::format("{}; and then {}, {}", made->what, next->kind->name, next->what);
    if (std::string(made->kind->name) != "rewritten") next->kind = made->kind;
    next->rank = made->rank == next->rank ? made->rank : -1;
    made = std::move(next);
  }
  return made;
}

}  // namespace shardproof::mutate
