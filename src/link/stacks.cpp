// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Stacks of kept loops (L-87, docs/lemmas.md): a loop that writes each row of a stack once, in the round of the row's number (or counted
// from the end), has left in row k what its round k (or the last but k) made. So whoever reads one row behind the loop is given the nodes
// that make it once more, for that round and for the values that the loop carried into that round: a residual that the forward pass kept is
// what a backward pass under recomputation would compute.
//
// How: which rows a loop writes, and which one is read, is found by evaluating the index for every round (it must depend on nothing but the
// round of one loop). The values that a loop carries into its rounds are tensors of their own with the round as first dimension, under the
// same relation as those in a round (`related`). The nodes are copied in the joint graph, where no communication is left, as soon as the
// reading is met. What is read in no other way has no relation and is no obligation.
#include <algorithm>

#include <fmt/format.h>

#include "link/linker.h"

namespace shardproof::link {

namespace {

using ir::Fn;
using ir::NodeId;
using ir::Op;

constexpr size_t kMaxIndexNodes = 64;

// An integer scalar of constants and the round of at most one loop, evaluated with `round` in its place; nullopt where it is anything else,
// or a step of it leaves its type.
class Index {
 public:
  Index(const frontend::Program& p, NodeId id) : p_(p) {
    std::vector<NodeId> stack{id};
    while (!stack.empty() && good_) {
      const NodeId x = stack.back();
      stack.pop_back();
      if (std::find(nodes_.begin(), nodes_.end(), x) != nodes_.end()) continue;
      nodes_.push_back(x);
      const ir::Node& n = p.graph[x];
      good_ &= nodes_.size() <= kMaxIndexNodes && n.shape.empty() && (ir::is_int(n.dtype) || n.dtype == ir::DType::Bool);
      if (n.op == Op::Input) {
        size_t k = 0;
        while (k < p.loops.size() && p.loops[k].round != x) ++k;
        good_ &= k < p.loops.size() && (loop == kNone || loop == k);
        loop = k;
      } else if (n.op == Op::Map) {
        stack.insert(stack.end(), n.in.begin(), n.in.end());
      } else {
        good_ &= n.op == Op::Const && n.lit.kind != ir::Literal::Kind::Float && n.dtype != ir::DType::U64;
      }
    }
    std::sort(nodes_.begin(), nodes_.end());
    values_.resize(nodes_.size());
  }

  std::optional<int64_t> at(int64_t round) {
    for (size_t k = 0; good_ && k < nodes_.size(); ++k) {
      const ir::Node& n = p_.graph[nodes_[k]];
      const std::optional<int64_t> v = n.op == Op::Input ? round : n.op == Op::Const ? n.lit.i : map(n);
      if (!v || !fits(n.dtype, *v)) return std::nullopt;
      values_[k] = *v;
    }
    return good_ ? std::optional(values_.back()) : std::nullopt;
  }

  static constexpr size_t kNone = SIZE_MAX;
  size_t loop = kNone;  // the loop whose round it depends on

 private:
  static bool fits(ir::DType t, int64_t v) {
    const int bits = ir::int_bits(t);
    if (bits >= 64) return t == ir::DType::I64 || v >= 0;
    const bool negative = ir::is_signed_int(t);
    return v >= (negative ? -(int64_t{1} << (bits - 1)) : 0) && v < (int64_t{1} << (negative ? bits - 1 : bits));
  }

  std::optional<int64_t> map(const ir::Node& n) const {
    const auto x = [&](size_t k) {
      return values_[static_cast<size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), n.in[k]) - nodes_.begin())];
    };
    const auto all = [&](auto f) {
      int64_t out = x(0);
      for (size_t k = 1; k < n.in.size(); ++k) out = f(out, x(k));
      return out;
    };
    // Far below what overflows: indices are small.
    constexpr int64_t kSmall = int64_t{1} << 30;
    for (size_t k = 0; k < n.in.size(); ++k)
      if (x(k) > kSmall || x(k) < -kSmall) return std::nullopt;
    if (n.in.size() > 2 && (n.fn == Fn::Add || n.fn == Fn::Mul)) return std::nullopt;
    switch (n.fn) {
      case Fn::Add: return all([](int64_t a, int64_t b) { return a + b; });
      case Fn::Mul: return all([](int64_t a, int64_t b) { return a * b; });
      case Fn::Max: return all([](int64_t a, int64_t b) { return std::max(a, b); });
      case Fn::Min: return all([](int64_t a, int64_t b) { return std::min(a, b); });
      case Fn::And: return n.dtype == ir::DType::Bool ? std::optional(all([](int64_t a, int64_t b) { return a & b; })) : std::nullopt;
      case Fn::Or: return n.dtype == ir::DType::Bool ? std::optional(all([](int64_t a, int64_t b) { return a | b; })) : std::nullopt;
      case Fn::Not: return n.dtype == ir::DType::Bool ? std::optional(1 - x(0)) : std::nullopt;
      case Fn::Sub: return x(0) - x(1);
      case Fn::Neg: return -x(0);
      case Fn::Eq: return x(0) == x(1);
      case Fn::Ne: return x(0) != x(1);
      case Fn::Lt: return x(0) < x(1);
      case Fn::Le: return x(0) <= x(1);
      case Fn::Gt: return x(0) > x(1);
      case Fn::Ge: return x(0) >= x(1);
      case Fn::Select: return x(0) ? x(1) : x(2);
      case Fn::Convert: return n.dtype == ir::DType::Bool ? std::nullopt : std::optional(x(0));
      default: return std::nullopt;
    }
  }

  const frontend::Program& p_;
  bool good_ = true;
  std::vector<NodeId> nodes_;
  std::vector<int64_t> values_;
};

// The row of `rows` ones that an index picks (starts are clamped) in the rounds of one loop: each round's number, or that from the end.
struct Row {
  size_t loop;
  bool from_end;
};
std::optional<Row> row_of(const frontend::Program& p, NodeId id, int64_t rows) {
  Index index(p, id);
  if (index.loop == Index::kNone || rows < 1) return std::nullopt;
  const int64_t rounds = p.loops[index.loop].rounds;
  bool forward = rounds <= rows, backward = rounds <= rows;
  for (int64_t r = 0; r < rounds && (forward || backward); ++r) {
    const std::optional<int64_t> v = index.at(r);
    if (!v) return std::nullopt;
    const int64_t row = std::clamp<int64_t>(*v, 0, rows - 1);
    forward &= row == r;
    backward &= row == rows - 1 - r;
  }
  if (!forward && !backward) return std::nullopt;
  return Row{index.loop, !forward};
}

// Whether a node reads a single row of its first operand.
bool reads_row(const ir::Node& n) {
  if (n.shape.empty() || n.shape[0] != 1) return false;
  return n.op == Op::DynamicSlice || n.op == Op::Slice;
}

}  // namespace

void Linker::find_stacks() {
  stacks_.clear();
  for (size_t s = 0; s <= ranks_.size(); ++s) {
    const frontend::Program& p = program(s);
    if (p.loops.empty() || stacks_.count(&p)) continue;
    std::vector<Stack>& found = stacks_[&p];
    for (size_t k = 0; k < p.loops.size(); ++k) {
      const frontend::Loop& loop = p.loops[k];
      for (size_t c = 0; c < loop.carried.size(); ++c) {
        const frontend::Loop::Carried& v = loop.carried[c];
        const ir::Node& write = p.graph[v.next];
        if (write.op != Op::DynamicUpdate || write.in[0] != v.before || write.shape.empty()) continue;
        ir::Shape row = write.shape;
        row[0] = 1;
        if (p.graph[write.in[1]].shape != row || write.shape[0] != loop.rounds) continue;  // other starts are clamped to 0
        const std::optional<Row> which = row_of(p, write.in[2], loop.rounds);
        if (!which || which->loop != k) continue;
        found.push_back({k, c, v.before, v.next, write.in[1], v.after, which->from_end, true});
      }
    }
    if (found.empty()) continue;
    // Only read by rows, and written without being read.
    const auto other_use = [&](NodeId x, NodeId user) {
      const auto it = std::find_if(found.begin(), found.end(), [&](const Stack& t) { return t.before == x || t.after == x; });
      if (it == found.end()) return;
      if (x == it->before ? user != it->next : user == ir::kNoNode || !reads_row(p.graph[user])) it->only_rows = false;
    };
    for (NodeId id = 0; id < p.graph.nodes.size(); ++id) {
      const std::vector<NodeId>& in = p.graph[id].in;
      for (size_t j = 0; j < in.size(); ++j) {
        other_use(in[j], j == 0 ? id : ir::kNoNode);
        // The rest of what a round leaves is what was there before.
        for (Stack& t : found) t.only_rows &= in[j] != t.next;
      }
    }
    for (const frontend::Output& o : p.outputs) {
      other_use(o.node, ir::kNoNode);
      for (Stack& t : found) t.only_rows &= o.node != t.next;
    }
    for (const frontend::Loop& loop : p.loops)
      for (const frontend::Loop::Carried& v : loop.carried)
        for (NodeId x : {v.initial, v.next}) {
          other_use(x, ir::kNoNode);
          for (Stack& t : found) t.only_rows &= x != t.next || x == v.next;
        }
    for (Stack& t : found)
      for (const Stack& u : found) t.only_rows &= t.next != u.next || &t == &u;
  }
}

bool Linker::only_rows(size_t side, size_t loop, size_t carried) const {
  const auto it = stacks_.find(&program(side));
  return it != stacks_.end() && std::any_of(it->second.begin(), it->second.end(),
                                            [&](const Stack& t) { return t.loop == loop && t.carried == carried && t.only_rows; });
}

// The value of joint node `root`, which a round of loop k makes, in the round that the integer `round` says. kNoNode: it depends on what is
// not known for other rounds.
NodeId Linker::in_round(size_t k, NodeId root, NodeId round) {
  std::unordered_map<NodeId, NodeId>& made = again_[{k, round}];
  const Loop& loop = out.loops[k];
  std::unordered_map<NodeId, NodeId> history;  // what stands for a value in a round -> its tensor with the rounds as first dimension
  std::unordered_map<NodeId, char> unknown;
  NodeId first = loop.round;
  for (size_t j = 0; j <= k; ++j) {
    const auto within = [&] {
      const frontend::Loop &inner = seq_->loops[j], &outer = seq_->loops[k];
      return j != k && outer.begin < inner.begin && inner.end <= outer.end;
    };
    if (j != k && !within()) continue;
    for (const auto& [before, after] : loop_nodes_[j]) {
      if (j != k) unknown[after] = 1;
      unknown[before] = 1;
      first = std::min({first, before, after});
    }
    if (j != k) unknown[out.loops[j].round] = 1, first = std::min(first, out.loops[j].round);
    for (const Loop::Carried& v : out.loops[j].carried)
      for (size_t s = 0; s < v.history.size(); ++s) {
        if (v.history[s] == ir::kNoNode) continue;
        if (j == k)
          history[v.before[s]] = v.history[s];
        else
          unknown[v.history[s]] = 1;
        first = std::min(first, v.history[s]);
      }
  }
  // Everything that `root` is made of, from the first node that a round may have changed.
  std::vector<NodeId> cone, stack{root};
  std::unordered_map<NodeId, char> seen;
  while (!stack.empty()) {
    const NodeId x = stack.back();
    stack.pop_back();
    if (x < first || made.count(x) || !seen.try_emplace(x, 1).second) continue;
    if (unknown.count(x) && !history.count(x)) return ir::kNoNode;
    if (out.graph[x].op == Op::Random || out.graph[x].op == Op::Uninit) return ir::kNoNode;
    cone.push_back(x);
    if (x == loop.round || history.count(x)) continue;
    stack.insert(stack.end(), out.graph[x].in.begin(), out.graph[x].in.end());
  }
  std::sort(cone.begin(), cone.end());
  const auto now = [&](NodeId x) {
    const auto it = made.find(x);
    return it == made.end() ? x : it->second;
  };
  const auto keep = [&](NodeId of, NodeId copy) {
    made[of] = copy;
    side(out.side[of]);
    poisoned_.resize(out.graph.nodes.size(), poisoned_[of]);
  };
  for (NodeId x : cone) {
    if (x == loop.round) {
      keep(x, round);
    } else if (const auto h = history.find(x); h != history.end()) {
      b_.label = out.graph[h->second].label;
      std::vector<NodeId> starts{round};
      const ir::Shape shape = out.graph[x].shape;
      ir::Shape row{1};
      row.insert(row.end(), shape.begin(), shape.end());
      const NodeId zero = b_.constant(ir::Literal::integer(0), ir::DType::I64);
      starts.resize(row.size(), zero);
      keep(x, b_.reshape(b_.dynamic_slice(h->second, starts, row), shape));
    } else {
      ir::Node node = out.graph[x];
      if (std::none_of(node.in.begin(), node.in.end(), [&](NodeId y) { return now(y) != y; })) {
        made[x] = x;
        continue;
      }
      for (NodeId& y : node.in) y = now(y);
      keep(x, out.graph.add(std::move(node)));
      if (std::string wrong = ir::verify(out.graph, made[x]); !wrong.empty()) throw InternalError(wrong);
    }
  }
  return now(root);
}

// What a node that reads a row of a stack behind its loop reads, made again; kNoNode: it is no such node.
NodeId Linker::row_again(const frontend::Program& p, const std::vector<NodeId>& map, NodeId id, int side_of) {
  const auto it = stacks_.find(&p);
  if (it == stacks_.end() || !reads_row(p.graph[id])) return ir::kNoNode;
  const ir::Node& reading = p.graph[id];
  const auto t = std::find_if(it->second.begin(), it->second.end(), [&](const Stack& x) { return x.after == reading.in[0]; });
  if (t == it->second.end()) return ir::kNoNode;
  const int64_t rows = p.graph[t->after].shape[0];
  b_.label = reading.label;
  b_.source_op = reading.source_op;
  b_.loc = reading.loc;
  const auto number = [&](int64_t v) { return b_.constant(ir::Literal::integer(v), ir::DType::I64); };
  const auto whole = [&](Fn fn, NodeId x, NodeId y) { return b_.map(fn, {x, y}, ir::DType::I64); };
  // One node for all readings of one kind, on all sides: the integer x, clamped to the rows, or counted from the last of them.
  const auto shared = [&](NodeId x, bool clamped, bool from_end) {
    const auto [at, fresh] = rounds_of_.try_emplace({x, rows, clamped, from_end}, x);
    NodeId& known = at->second;
    if (!fresh) return known;
    known = clamped ? whole(Fn::Min, whole(Fn::Max, b_.convert(x, ir::DType::I64), number(0)), number(rows - 1)) : x;
    if (from_end) known = whole(Fn::Sub, number(rows - 1), known);
    return known;
  };
  NodeId round = ir::kNoNode;
  if (reading.op == Op::Slice)
    round = number(t->from_end ? rows - 1 - reading.a[0] : reading.a[0]);
  else if (const std::optional<Row> row = row_of(p, reading.in[1], rows))
    round = shared(out.loops[row->loop].round, false, row->from_end != t->from_end);
  else
    round = shared(map[reading.in[1]], true, t->from_end);
  side(side_of);
  poisoned_.resize(out.graph.nodes.size(), 0);
  NodeId row = in_round(t->loop, map[t->update], round);
  out.loops[t->loop].unknown_row |= row == ir::kNoNode;
  // Nothing is asked of such a stack, so nothing is known of it, not even that it is finite.
  if (row == ir::kNoNode && t->only_rows) out.loops_differ = "a row of a stack is made of what is not known for other rounds";
  if (row == ir::kNoNode || b_.shape(row) == reading.shape) return row;
  // A part of the row.
  if (reading.op == Op::Slice) {
    std::vector<int64_t> start = reading.a, stop = reading.b, step = reading.c;
    start[0] = 0, stop[0] = 1, step[0] = 1;
    row = b_.slice(row, start, stop, step);
  } else {
    std::vector<NodeId> starts{b_.constant(ir::Literal::integer(0), ir::DType::I64)};
    for (size_t k = 2; k < reading.in.size(); ++k) starts.push_back(map[reading.in[k]]);
    row = b_.dynamic_slice(row, starts, reading.a);
  }
  side(side_of);
  poisoned_.resize(out.graph.nodes.size(), 0);
  SP_CHECK(b_.shape(row) == reading.shape);
  return row;
}

}  // namespace shardproof::link
