// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The programs' nodes in the joint graph. The ranks' communication is planned first (schedule.h); then each completed operation is
// emitted in the order of completion, after everything that its ranks compute before it. Collectives become shared view and Map nodes.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "link/linker.h"
#include "manifest/load.h"

namespace shardproof::link {

namespace {

bool is_collective(ir::Op op) { return (op >= ir::Op::AllReduce && op <= ir::Op::BroadcastFrom) || op == ir::Op::LocalToGlobal; }
bool is_message(ir::Op op) { return op == ir::Op::Send || op == ir::Op::Recv; }

// Functional collectives only block where their result is used; the others where they stand.
bool is_asynchronous(const ir::Node& node) { return node.source_op.find("c10d_functional") != std::string::npos; }

// Whether a collective's shapes fit a group of n ranks; otherwise its operator states another group than the manifest does.
bool fits_group(const ir::Node& node, const ir::Shape& in, int64_t n) {
  ir::Shape expected = in;
  auto at = [&](int64_t dim) -> int64_t& { return expected[static_cast<size_t>(dim)]; };
  switch (node.op) {
    case ir::Op::LocalToGlobal: {
      int64_t parts = 1;
      for (int64_t k : node.a) parts *= k;
      return parts == n;
    }
    case ir::Op::AllGather: at(node.a[0]) *= n; break;
    case ir::Op::ReduceScatter:
      if (at(node.a[1]) % n != 0) return false;
      at(node.a[1]) /= n;
      break;
    case ir::Op::AllToAll:
      if (!node.b.empty()) return static_cast<int64_t>(node.b.size()) == n && static_cast<int64_t>(node.c.size()) == n;
      if (at(node.a[0]) % n != 0) return false;
      at(node.a[0]) /= n;
      at(node.a[1]) *= n;
      break;
    default: break;
  }
  return expected == node.shape;
}

}  // namespace

void Linker::emit_node(const frontend::Program& program, std::vector<ir::NodeId>& map, ir::NodeId id, int side_of) {
  const ir::Node& source = program.graph[id];
  if (!stacks_.empty()) {
    if (const ir::NodeId again = row_again(program, map, id, side_of); again != ir::kNoNode) {
      map[id] = again;
      return;
    }
  }
  if (source.op == ir::Op::GlobalToLocal) {  // this rank's part of its own view
    const ir::NodeId x = map[source.in[0]];
    const size_t rank = source.shape.size(), p = side_of < 0 ? 0 : static_cast<size_t>(side_of % partitions_);
    SP_CHECK((p + 1) * rank <= source.b.size());
    std::vector<int64_t> start(rank), stop(rank), step(rank, 1);
    for (size_t d = 0; d < rank; ++d) {
      start[d] = source.b[p * rank + d] * source.shape[d];
      stop[d] = start[d] + source.shape[d];
    }
    b_.label = source.label;
    b_.source_op = source.source_op;
    b_.loc = source.loc;
    map[id] = b_.slice(x, start, stop, step);
    side(side_of);
    poisoned_.resize(out.graph.nodes.size(), poisoned_[x]);
    return;
  }
  ir::Node node = source;
  bool poisoned = false;
  for (ir::NodeId& operand : node.in) {
    SP_CHECK(map[operand] != ir::kNoNode);
    operand = map[operand];
    poisoned |= poisoned_[operand] != 0;
  }
  if (node.op == ir::Op::RankId) {
    int64_t value = side_of < 0 ? 0 : node.a[0] == 0 ? side_of % partitions_ : side_of / partitions_;
    node.op = ir::Op::Const;
    node.a.clear();
    node.lit = ir::Literal::integer(value, node.dtype);
  }
  map[id] = out.graph.add(std::move(node));
  out.side.push_back(static_cast<int16_t>(side_of));
  poisoned_.push_back(poisoned);
  if (std::string wrong = ir::verify(out.graph, map[id]); !wrong.empty()) throw InternalError(program.file + ": " + wrong);
}

// A collective of the sequential program is over a group of one rank: an identity.
Failure Linker::sequential_collective(ir::NodeId id, std::vector<ir::NodeId>& map) {
  const ir::Node& node = seq_->graph[id];
  auto fail = [&](const std::string& message) {
    Diagnostic d = error("SP211", fmt::format("the sequential program's {} `{}` {}", ir::name(node.op), node.label, message), "sequential");
    if (node.loc.text_line) {
      d.file = seq_->file;
      d.line = node.loc.text_line;
      d.column = 0;
    }
    return d;
  };
  if (is_message(node.op)) return fail("is a message to another rank; a one-device program has none");
  ir::NodeId x = map[node.in[0]];
  if (node.shape != b_.shape(x)) return fail("changes the shape: it is about more than one rank");
  if (node.op == ir::Op::Permute) {
    bool self = false;
    for (size_t k = 0; k + 1 < node.b.size(); k += 2) self |= node.b[k] == 0 && node.b[k + 1] == 0;
    if (!self) {
      x = b_.constant(ir::Literal::integer(0), node.dtype, node.shape);
      side(kSequential);
      poisoned_.resize(out.graph.nodes.size(), 0);
    }
  }
  map[id] = x;
  return std::nullopt;
}

Failure Linker::emit_sequential() {
  seq_map_.assign(seq_->graph.nodes.size(), ir::kNoNode);
  for (const Input& input : inputs_) seq_map_[seq_->inputs[static_cast<size_t>(input.index)].node] = input.node;
  if (!loop_values_.empty())
    for (const auto& [node, value] : loop_values_[0]) seq_map_[node] = value;
  poisoned_.resize(out.graph.nodes.size(), 0);
  for (ir::NodeId id = 0; id < seq_->graph.nodes.size(); ++id) {
    if (seq_map_[id] != ir::kNoNode) continue;
    const ir::Node& node = seq_->graph[id];
    if (is_collective(node.op) || is_message(node.op)) {
      if (Failure f = sequential_collective(id, seq_map_)) return f;
    } else {
      emit_node(*seq_, seq_map_, id, kSequential);
    }
  }
  unsupported(*seq_, seq_map_);
  return std::nullopt;
}

// A frontend names an opaque operator or one of its results.
void Linker::unsupported(const frontend::Program& program, const std::vector<ir::NodeId>& map) {
  for (const frontend::Unsupported& u : program.unsupported) {
    if (u.node == ir::kNoNode) continue;  // it gives nothing
    ir::NodeId node = map[u.node];
    if (out.graph[node].op == ir::Op::Result) node = out.graph[node].in[0];
    if (std::find(out.opaque_nodes.begin(), out.opaque_nodes.end(), node) != out.opaque_nodes.end()) continue;
    out.opaque_nodes.push_back(node);
    out.opaque_reasons.push_back(u.reason);
  }
}

// Resolves groups, and lists every rank's operations.
Failure Linker::plan_communication(std::vector<std::vector<CommOp>>& ops) {
  // A program's communication nodes, and where each result is first used.
  struct Site {
    ir::NodeId node;
    ir::NodeId first_use;
  };
  std::unordered_map<const frontend::Program*, std::vector<Site>> sites_of;
  for (const ProgramPtr& p : ranks_) {
    auto [it, fresh] = sites_of.try_emplace(p.get());
    if (!fresh) continue;
    std::unordered_map<ir::NodeId, size_t> index;
    for (ir::NodeId id = 0; id < p->graph.nodes.size(); ++id) {
      const ir::Node& node = p->graph[id];
      for (ir::NodeId operand : node.in) {
        ir::Op op = p->graph[operand].op;
        if (!is_collective(op) && op != ir::Op::Recv) continue;
        Site& site = it->second[index.at(operand)];
        site.first_use = std::min(site.first_use, id);
      }
      if (is_collective(node.op) || is_message(node.op)) {
        index[id] = it->second.size();
        it->second.push_back({id, ir::kNoNode});
      }
    }
    for (const auto& [operand, position] : p->waits) {  // a wait blocks where it stands
      ir::NodeId waited = operand;
      while (!index.count(waited) &&
             (p->graph[waited].op == ir::Op::Reshape || p->graph[waited].op == ir::Op::Slice || p->graph[waited].op == ir::Op::Transpose))
        waited = p->graph[waited].in[0];
      auto found = index.find(waited);
      if (found == index.end()) continue;
      Site& site = it->second[found->second];
      site.first_use = std::min(site.first_use, std::max(position, waited + 1));
    }
  }

  auto fail = [&](size_t r, const ir::Node& node, const std::string& message) {
    Diagnostic d = error("SP211", fmt::format("{} `{}` of {} {}", ir::name(node.op), node.label, rank_name(r), message), "groups");
    if (m_.groups.empty() && node.loc.text_line) {
      d.file = ranks_[r]->file;
      d.line = node.loc.text_line;
      d.column = 0;
    }
    return d;
  };
  std::unordered_map<std::string, size_t> group_index;
  for (size_t k = 0; k < m_.groups.size(); ++k) group_index.try_emplace(m_.groups[k].name, k);
  int64_t n = static_cast<int64_t>(ranks_.size());
  std::vector<std::unordered_map<std::string, std::vector<int64_t>>> memo(ranks_.size());  // per rank and name
  // The members of a group as rank r sees it.
  auto members_of = [&](size_t r, const ir::Node& node, std::vector<int64_t>& out_members) -> Failure {
    int64_t rank = static_cast<int64_t>(r);
    if (node.op == ir::Op::LocalToGlobal) {  // the ranks of its class
      if (static_cast<int64_t>(node.c.size()) != partitions_)
        return fail(r, node, fmt::format("is for {} devices, but there are {}", node.c.size(), partitions_));
      for (int64_t p = 0; p < partitions_; ++p)
        if (node.c[static_cast<size_t>(p)] == node.c[static_cast<size_t>(rank % partitions_)])
          out_members.push_back(rank / partitions_ * partitions_ + p);
      return std::nullopt;
    }
    const ir::GroupRef& g = *node.group;
    if (g.kind == ir::GroupRef::Kind::Name) {
      auto [it, fresh] = memo[r].try_emplace(g.name);
      if (fresh) {
        auto found = group_index.find(g.name);
        if (found == group_index.end() && n == 1) {
          it->second = {0};
        } else if (found == group_index.end()) {
          return fail(r, node, fmt::format("uses the group \"{}\", which \"groups\" does not have", g.name));
        } else {
          for (const auto& list : m_.groups[found->second].ranks)
            if (std::find(list.begin(), list.end(), rank) != list.end()) it->second = list;
          if (it->second.empty())
            return fail(r, node, fmt::format("uses the group \"{}\", in which \"groups\" does not list this rank", g.name));
        }
      }
      out_members = it->second;
    } else {
      int64_t partition = rank % partitions_, replica = rank / partitions_;
      bool by_partition = g.kind == ir::GroupRef::Kind::Partitions, flat = g.kind == ir::GroupRef::Kind::Flattened;
      int64_t limit = flat ? n : by_partition ? partitions_ : replicas_, mine = flat ? rank : by_partition ? partition : replica;
      std::vector<int64_t> ids;
      if (g.members.empty()) {
        for (int64_t k = 0; k < limit; ++k) ids.push_back(k);
      } else {
        for (const auto& list : g.members)
          if (std::find(list.begin(), list.end(), mine) != list.end()) ids = list;
      }
      if (ids.empty()) return fail(r, node, "has groups that leave this rank out");
      for (int64_t id : ids) {
        if (id < 0 || id >= limit) return fail(r, node, fmt::format("names device {}, but there are {}", id, limit));
        if (flat)
          out_members.push_back(id);
        else if (by_partition)
          out_members.push_back(replica * partitions_ + id);
        else if (g.kind == ir::GroupRef::Kind::Replicas)
          out_members.push_back(id * partitions_ + partition);
        else
          for (int64_t p = 0; p < partitions_; ++p) out_members.push_back(id * partitions_ + p);
      }
    }
    if (g.size && g.size != static_cast<int64_t>(out_members.size()))
      return fail(r, node, fmt::format("states a group of {} ranks, but the group \"{}\" has {}", g.size, g.name, out_members.size()));
    return std::nullopt;
  };

  // Which names each rank uses for the same rank list: if they agree, each name is a communicator of its own; else names say nothing.
  std::map<std::vector<int64_t>, std::map<int64_t, std::vector<std::string>>> used;
  std::vector<std::vector<std::vector<int64_t>>> members(ranks_.size());
  for (size_t r = 0; r < ranks_.size(); ++r) {
    for (const Site& site : sites_of[ranks_[r].get()]) {
      const ir::Node& node = ranks_[r]->graph[site.node];
      std::vector<int64_t> list;
      if (!idle(r, site.node))
        if (Failure f = members_of(r, node, list)) return f;
      if (is_collective(node.op) && node.group && list.size() > 1) {
        std::vector<std::string>& own = used[list][static_cast<int64_t>(r)];
        if (std::find(own.begin(), own.end(), node.group->name) == own.end()) own.push_back(node.group->name);
      }
      members[r].push_back(std::move(list));
    }
  }
  std::map<std::vector<int64_t>, bool> named;
  for (auto& [list, per_rank] : used) {
    bool same = per_rank.size() == list.size();
    std::vector<std::string> first;
    for (auto& [rank, own] : per_rank) {
      std::sort(own.begin(), own.end());
      if (first.empty()) first = own;
      same &= own == first && std::none_of(own.begin(), own.end(), [](const std::string& s) { return s.starts_with("_torchbind"); });
    }
    named[list] = same;
  }

  std::map<std::pair<std::vector<int64_t>, std::string>, int> comm_index;
  std::vector<Communicator> comms;
  ops.assign(ranks_.size(), {});
  comm_of_.assign(ranks_.size(), {});
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const std::vector<Site>& sites = sites_of[ranks_[r].get()];
    std::vector<ir::NodeId> first_use;
    for (size_t k = 0; k < sites.size(); ++k) {
      const ir::Node& node = ranks_[r]->graph[sites[k].node];
      const std::vector<int64_t>& list = members[r][k];
      if (idle(r, sites[k].node)) continue;
      CommOp op;
      op.node = sites[k].node;
      op.op = &node;
      op.data = node.in.empty() ? nullptr : &ranks_[r]->graph[node.in[0]];
      if (is_message(node.op)) {
        op.kind = node.op == ir::Op::Send ? CommOp::Kind::Send : CommOp::Kind::Recv;
        if (node.a[0] < 0 || node.a[0] >= static_cast<int64_t>(list.size()))
          return fail(r, node, fmt::format("names peer {} of a group of {} ranks", node.a[0], list.size()));
        op.peer = static_cast<int>(list[static_cast<size_t>(node.a[0])]);
        op.tag = node.a[1];
      } else {
        if (!fits_group(node, op.data->shape, static_cast<int64_t>(list.size())))
          return fail(r, node,
                      fmt::format("turns shape {} into {}, which does not fit its group of {} ranks", shape_text(op.data->shape),
                                  shape_text(node.shape), list.size()));
        if (list.size() == 1) continue;  // an identity
        std::string name = node.group ? node.group->name : "";
        std::pair<std::vector<int64_t>, std::string> key{list, node.group && named[list] ? name : ""};
        auto [it, fresh] = comm_index.try_emplace(key, static_cast<int>(comms.size()));
        if (fresh) comms.push_back({name.empty() ? fmt::format("[{}]", fmt::join(list, ", ")) : fmt::format("\"{}\"", name), list});
        op.comm = it->second;
        op.member = static_cast<int>(std::find(list.begin(), list.end(), static_cast<int64_t>(r)) - list.begin());
        if (node.op == ir::Op::BroadcastFrom && (node.a[0] >= static_cast<int64_t>(list.size())))
          return fail(r, node, fmt::format("has source {} in a group of {} ranks", node.a[0], list.size()));
      }
      comm_of_[r][op.node] = ops[r].size();
      first_use.push_back(is_asynchronous(node) ? sites[k].first_use : op.node);
      ops[r].push_back(std::move(op));
    }
    // An asynchronous operation must be complete before the first one that is issued after its result is used.
    for (size_t k = 0; k < ops[r].size(); ++k) {
      size_t before = k + 1;
      while (before < ops[r].size() && ops[r][before].node < first_use[k]) ++before;
      if (first_use[k] == ops[r][k].node) before = k + 1;
      ops[r][k].wait_before = before;
    }
  }
  schedule_ = simulate(ops, comms);
  if (!schedule_.faults.empty() && faults_are_open()) {
    open_schedule_ = true;
    schedule_.faults.clear();
    schedule_.events.clear();
    for (std::vector<char>& failed : schedule_.failed) std::fill(failed.begin(), failed.end(), 1);
  }
  return std::nullopt;
}

// What stands for the result of communication that cannot complete.
void Linker::poison(size_t r, ir::NodeId id) {
  if (open_schedule_) return open_result(r, id);
  const ir::Node& node = ranks_[r]->graph[id];
  if (node.op == ir::Op::Send) return;
  b_.label = node.label;
  b_.source_op = node.source_op;
  b_.loc = node.loc;
  map_[r][id] = b_.uninit(node.dtype, node.shape);
  side(static_cast<int>(r));
  poisoned_.resize(out.graph.nodes.size(), 1);
}

// Emits rank r's nodes below `stop`, except communication that is still open.
void Linker::emit_until(size_t r, ir::NodeId stop) {
  const frontend::Program& p = *ranks_[r];
  std::vector<ir::NodeId>& map = map_[r];
  for (ir::NodeId& id = position_[r]; id < stop; ++id) {
    if (map[id] != ir::kNoNode) continue;  // an input
    const ir::Node& node = p.graph[id];
    bool message = is_message(node.op);
    if (!message && !is_collective(node.op)) {
      // Before partitioning, what does not depend on the rank is computed once.
      if (global_ && r > 0 && node.op != ir::Op::GlobalToLocal && node.op != ir::Op::RankId && node.op != ir::Op::Random &&
          node.op != ir::Op::Uninit && map_[0][id] != ir::kNoNode) {
        bool same = std::all_of(node.in.begin(), node.in.end(), [&](ir::NodeId x) { return map[x] == map_[0][x]; });
        if (same) {
          map[id] = map_[0][id];
          continue;
        }
      }
      emit_node(p, map, id, static_cast<int>(r));
      continue;
    }
    auto it = comm_of_[r].find(id);
    if (idle(r, id)) {  // not run: what is selected is another branch
      if (node.op != ir::Op::Send) map[id] = b_.uninit(node.dtype, node.shape);
      side(static_cast<int>(r));
      poisoned_.resize(out.graph.nodes.size(), 0);
    } else if (it == comm_of_[r].end()) {  // a collective of one rank
      bool zero = node.op == ir::Op::Permute;
      for (size_t k = 0; zero && k + 1 < node.b.size(); k += 2) zero = node.b[k] != node.b[k + 1];
      SP_CHECK(node.shape == b_.shape(map[node.in[0]]));
      map[id] = zero ? b_.constant(ir::Literal::integer(0), node.dtype, node.shape) : map[node.in[0]];
      side(static_cast<int>(r));
      poisoned_.resize(out.graph.nodes.size(), 0);
    } else if (schedule_.failed[r][it->second]) {
      poison(r, id);
    }
  }
}

void Linker::complete(const Event& event) {
  for (const Event::Place& p : event.places) {
    size_t r = static_cast<size_t>(p.rank);
    emit_until(r, comm_[r][p.index].node);
  }
  if (!meets_as_a_whole(event)) {
    for (const Event::Place& p : event.places) open_result(static_cast<size_t>(p.rank), comm_[static_cast<size_t>(p.rank)][p.index].node);
    return;
  }
  const CommOp& first = comm_[static_cast<size_t>(event.places[0].rank)][event.places[0].index];
  b_.label = first.op->label;
  b_.source_op = first.op->source_op;
  b_.loc = first.op->loc;
  if (first.kind == CommOp::Kind::Collective) {
    collective(event);
  } else {
    size_t from = static_cast<size_t>(event.places[0].rank), to = static_cast<size_t>(event.places[1].rank);
    map_[to][comm_[to][event.places[1].index].node] = map_[from][first.op->in[0]];
  }
}

void Linker::collective(const Event& event) {
  size_t n = event.places.size();
  const ir::Node& node = *comm_[static_cast<size_t>(event.places[0].rank)][event.places[0].index].op;
  auto rank = [&](size_t k) { return static_cast<size_t>(event.places[k].rank); };
  auto own = [&](size_t k) -> const ir::Node& { return *comm_[rank(k)][event.places[k].index].op; };
  std::vector<ir::NodeId> xs, results(n, ir::kNoNode);
  bool poisoned = false;
  for (size_t k = 0; k < n; ++k) {
    xs.push_back(map_[rank(k)][own(k).in[0]]);
    poisoned |= poisoned_[xs.back()] != 0;
  }
  auto reduced = [&](int64_t average) {
    ir::NodeId x = b_.map(node.fn, xs, node.dtype);
    return average ? scaled(b_, x, 1, static_cast<int64_t>(n)) : x;
  };
  switch (node.op) {
    case ir::Op::AllReduce: results.assign(n, reduced(node.a[0])); break;
    case ir::Op::AllGather: results.assign(n, b_.concat(xs, node.a[0])); break;
    case ir::Op::ReduceScatter: {
      ir::NodeId whole = reduced(node.a[0]);
      int64_t size = node.shape[static_cast<size_t>(node.a[1])];
      SP_CHECK(size * static_cast<int64_t>(n) == b_.shape(whole)[static_cast<size_t>(node.a[1])]);
      for (size_t k = 0; k < n; ++k)
        results[k] = b_.slice_dim(whole, node.a[1], static_cast<int64_t>(k) * size, static_cast<int64_t>(k + 1) * size);
      break;
    }
    case ir::Op::AllToAll: {
      std::vector<std::vector<int64_t>> start(n);  // per sender: where each receiver's rows begin
      for (size_t k = 0; k < n; ++k) {
        int64_t at = 0, extent = b_.shape(xs[k])[static_cast<size_t>(node.a[0])];
        for (size_t j = 0; j <= n; ++j) {
          start[k].push_back(at);
          if (j < n) at += own(k).b.empty() ? extent / static_cast<int64_t>(n) : own(k).b[j];
        }
        SP_CHECK(at == extent);
      }
      for (size_t j = 0; j < n; ++j) {
        std::vector<ir::NodeId> pieces;
        for (size_t k = 0; k < n; ++k) pieces.push_back(b_.slice_dim(xs[k], node.a[0], start[k][j], start[k][j + 1]));
        results[j] = b_.concat(pieces, node.a[1]);
      }
      break;
    }
    case ir::Op::Permute: {
      ir::NodeId zeros = ir::kNoNode;
      // Ids are those of the group's members; without named groups they are partition or replica ids, which a group of all lists in order.
      for (size_t k = 0; k < n; ++k) {
        for (size_t p = 0; p + 1 < node.b.size(); p += 2) {
          int64_t source = node.b[p], target = node.b[p + 1];
          if (target == static_cast<int64_t>(k) && source >= 0 && source < static_cast<int64_t>(n))
            results[k] = xs[static_cast<size_t>(source)];
        }
        if (results[k] != ir::kNoNode) continue;
        if (zeros == ir::kNoNode) zeros = b_.constant(ir::Literal::integer(0), node.dtype, node.shape);
        results[k] = zeros;
      }
      break;
    }
    case ir::Op::BroadcastFrom: results.assign(n, xs[static_cast<size_t>(node.a[0])]); break;
    case ir::Op::LocalToGlobal: {
      // Parts in row-major order, then concatenated dimension by dimension, the last one first.
      size_t dims = node.shape.size();
      std::vector<ir::NodeId> grid(n, ir::kNoNode);
      for (size_t k = 0; k < n; ++k) {
        size_t p = rank(k) % static_cast<size_t>(partitions_), index = 0;
        for (size_t d = 0; d < dims; ++d) index = index * static_cast<size_t>(node.a[d]) + static_cast<size_t>(node.b[p * dims + d]);
        SP_CHECK(index < n && grid[index] == ir::kNoNode);
        grid[index] = xs[k];
      }
      for (size_t d = dims; d-- > 0;) {
        std::vector<ir::NodeId> next;
        size_t parts = static_cast<size_t>(node.a[d]);
        for (size_t k = 0; k < grid.size(); k += parts)
          next.push_back(b_.concat(
              std::vector<ir::NodeId>(grid.begin() + static_cast<std::ptrdiff_t>(k), grid.begin() + static_cast<std::ptrdiff_t>(k + parts)),
              static_cast<int64_t>(d)));
        grid = std::move(next);
      }
      SP_CHECK(grid.size() == 1);
      results.assign(n, grid[0]);
      break;
    }
    default: SP_CHECK(false);
  }
  side(event.places[0].rank);
  poisoned_.resize(out.graph.nodes.size(), poisoned);
  for (size_t k = 0; k < n; ++k) {
    SP_CHECK(b_.shape(results[k]) == own(k).shape && b_.dtype(results[k]) == own(k).dtype);
    map_[rank(k)][comm_[rank(k)][event.places[k].index].node] = results[k];
  }
}

Failure Linker::emit_ranks() {
  if (Failure f = plan_communication(comm_)) return f;
  map_.resize(ranks_.size());
  position_.assign(ranks_.size(), 0);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    map_[r].assign(ranks_[r]->graph.nodes.size(), ir::kNoNode);
    for (size_t d = 0; d < ranks_[r]->inputs.size(); ++d) {
      ir::NodeId node = ranks_[r]->inputs[d].node;
      if (node != ir::kNoNode) map_[r][node] = dist_value_[r][d];
    }
    if (!loop_values_.empty())
      for (const auto& [node, value] : loop_values_[1 + r]) map_[r][node] = value;
  }
  check_loop_events();
  for (const Event& event : schedule_.events) complete(event);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    emit_until(r, static_cast<ir::NodeId>(ranks_[r]->graph.nodes.size()));
    unsupported(*ranks_[r], map_[r]);
  }
  for (const CommFault& fault : schedule_.faults) {
    CommunicationFault f;
    f.kind = fault.kind;
    f.explanation = fault.explanation;
    for (const Event::Place& p : fault.sites) {
      const CommOp& op = comm_[static_cast<size_t>(p.rank)][p.index];
      ir::NodeId node = map_[static_cast<size_t>(p.rank)][op.node];
      f.sites.push_back({p.rank, node, op.op->label, op.op->source_op, op.op->loc.file ? *op.op->loc.file : "", op.op->loc.line});
    }
    out.faults.push_back(std::move(f));
  }
  if (!out.faults.empty()) blocked_ = out.faults[0].kind + ": " + out.faults[0].explanation;
  if (schedule_.needs_buffering)
    out.warnings.push_back(
        "the communication only completes because sends are buffered: with sends that wait for their receive it would hang");
  return std::nullopt;
}

}  // namespace shardproof::link
