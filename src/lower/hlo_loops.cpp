// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Loops that are kept: the body once, for proofs by induction (frontend::Loop).
//
// How: the body is lowered with an unknown in the place of everything that the loop carries. What comes out as it went in is no unknown but
// the value from before the loop; an integer that starts at a constant and comes out with a constant added is start + step * round. With
// these the body is lowered again, since they may make other values constant, until no more are found: all of it is read off the nodes, for
// any values of the rest, so that it holds in every round. The condition must be decided by the counters alone; it is evaluated for every
// round, which gives their number. Whatever does not fit leaves the loop to be unrolled.
#include <fmt/format.h>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using ir::DType;
using ir::Fn;
using ir::NodeId;

namespace {

constexpr int64_t kMaxKeptRounds = 65536;
constexpr int kMaxPasses = 8;

struct Slot {
  enum class Kind : uint8_t { Unknown, Same, Counter } kind = Kind::Unknown;
  NodeId initial = ir::kNoNode, before = ir::kNoNode, next = ir::kNoNode;
  int64_t start = 0, step = 0;
};

// The nodes of values of at most one level of tuples; nullopt where there is a token or more nesting.
std::optional<std::vector<NodeId>> leaves_of(std::span<const Value> values) {
  std::vector<NodeId> out;
  for (const Value& v : values) {
    if (!v.tuple) {
      if (v.node == ir::kNoNode) return std::nullopt;
      out.push_back(v.node);
      continue;
    }
    for (const Value& e : *v.tuple) {
      if (e.tuple || e.node == ir::kNoNode) return std::nullopt;
      out.push_back(e.node);
    }
  }
  return out;
}

// The same values with other nodes.
std::vector<Value> with_leaves(std::span<const Value> values, const std::vector<NodeId>& leaves) {
  std::vector<Value> out;
  size_t k = 0;
  for (const Value& v : values) {
    if (!v.tuple) {
      out.push_back(Value::of(leaves[k++]));
      continue;
    }
    std::vector<Value> elements;
    for (size_t e = 0; e < v.tuple->size(); ++e) elements.push_back(Value::of(leaves[k++]));
    out.push_back(Value::of(std::move(elements)));
  }
  return out;
}

// Whether start, start + step, ..., start + rounds * step are values of an integer type, so that counting never wraps.
bool counts_within(DType t, int64_t start, int64_t step, int64_t rounds) {
  const int bits = std::min(ir::int_bits(t), 62);
  const bool negative = ir::is_signed_int(t);
  const int64_t low = negative ? -(int64_t{1} << (bits - 1)) : 0, high = (int64_t{1} << (negative ? bits - 1 : bits)) - 1;
  constexpr int64_t kSmall = int64_t{1} << 32;
  if (start < low || start > high || step < -kSmall || step > kSmall || rounds > kSmall / 2) return false;
  const __int128 last = static_cast<__int128>(start) + static_cast<__int128>(step) * rounds;
  return last >= low && last <= high;
}

}  // namespace

std::optional<Value> HloLowering::kept_loop(const Call& c) {
  const uint32_t condition = called(c, 0), body = called(c, 1);
  const bool as_operands = c.in.size() != 1 || computation(body).parameters.size() != 1;
  const std::optional<std::vector<NodeId>> initial = leaves_of(c.in);
  if (!initial || initial->empty() || has_effects(condition)) return std::nullopt;
  std::vector<Slot> slots(initial->size());
  for (size_t k = 0; k < slots.size(); ++k) slots[k].initial = (*initial)[k];

  const Mark start = mark();
  const auto give_up = [&]() -> std::optional<Value> {
    rewind(start);
    return std::nullopt;
  };
  const auto stamp = [&] {
    b.label = c.ins.name;
    b.source_op = c.ins.opcode;
    b.loc = {c.ins.file, c.ins.line, c.ins.text_line};
    current_ = &c.ins;
  };
  const auto unknown = [&](const char* what, size_t k) {
    return b.input(fmt::format("{}.{}{}", c.ins.name, what, k), b.dtype((*initial)[k]), b.shape((*initial)[k]));
  };

  frontend::Loop loop;
  loop.name = c.ins.name;
  for (int pass = 0;; ++pass) {
    if (pass == kMaxPasses) return give_up();
    rewind(start);
    stamp();
    loop.begin = static_cast<NodeId>(b.g.nodes.size());
    loop.round = b.input(c.ins.name + ".round", DType::I64, {});
    std::vector<NodeId> state;
    for (size_t k = 0; k < slots.size(); ++k) {
      Slot& s = slots[k];
      const DType t = b.dtype(s.initial);
      switch (s.kind) {
        case Slot::Kind::Unknown: s.before = unknown("before", k); break;
        case Slot::Kind::Same: s.before = s.initial; break;
        case Slot::Kind::Counter: {
          NodeId count = loop.round;
          if (s.step != 1) count = b.map(Fn::Mul, {count, integer(s.step)}, DType::I64);
          if (s.start != 0) count = b.map(Fn::Add, {count, integer(s.start)}, DType::I64);
          s.before = b.convert(count, t);
          break;
        }
      }
      state.push_back(s.before);
    }
    const std::vector<Value> in = with_leaves(c.in, state);
    const Value out = evaluate(body, in);
    stamp();
    if (program_.unsupported.size() != start.unsupported || draws_ != start.draws) return give_up();
    // Whether all ranks decide a branch alike is asked of the values that they have, and a round has unknowns.
    if (program_.branches.size() != start.branches) return give_up();
    for (size_t id = loop.begin; id < b.g.nodes.size(); ++id)
      if (b.g.nodes[id].op == ir::Op::Random) return give_up();
    std::vector<Value> values{out};
    if (as_operands && out.tuple && out.tuple->size() == c.in.size()) values = *out.tuple;
    const std::optional<std::vector<NodeId>> next = leaves_of(values);
    if (!next || next->size() != slots.size()) return give_up();
    bool found = false;
    for (size_t k = 0; k < slots.size(); ++k) {
      Slot& s = slots[k];
      s.next = (*next)[k];
      const ir::Node& n = b.g[s.next];
      if (n.dtype != b.dtype(s.initial) || n.shape != b.shape(s.initial)) return give_up();
      if (s.kind != Slot::Kind::Unknown) continue;
      if (s.next == s.before) {
        s.kind = Slot::Kind::Same;
        found = true;
        continue;
      }
      const std::optional<int64_t> from = integer_value(s.initial);
      if (!from || !ir::is_int(n.dtype) || !n.shape.empty() || n.op != ir::Op::Map || n.in.size() != 2) continue;
      std::optional<int64_t> by;
      if (n.fn == Fn::Add && n.in[0] == s.before) by = integer_value(n.in[1]);
      if (n.fn == Fn::Add && n.in[1] == s.before) by = integer_value(n.in[0]);
      if (n.fn == Fn::Sub && n.in[0] == s.before && (by = integer_value(n.in[1])))
        by = *by == INT64_MIN ? std::nullopt : std::optional(-*by);
      if (!by) continue;
      s.kind = Slot::Kind::Counter;
      s.start = *from;
      s.step = *by;
      found = true;
    }
    if (!found) break;
  }
  loop.end = static_cast<NodeId>(b.g.nodes.size());

  // Counting: the condition in every round, from the counters alone.
  const Mark lowered = mark();
  while (true) {
    std::vector<NodeId> state;
    for (const Slot& s : slots) {
      const DType t = b.dtype(s.initial);
      if (s.kind == Slot::Kind::Counter && !counts_within(t, s.start, s.step, loop.rounds)) return give_up();
      state.push_back(s.kind == Slot::Kind::Counter ? integer(s.start + s.step * loop.rounds, t) : s.before);
    }
    const Value go_on = evaluate(condition, with_leaves(c.in, state));
    const std::optional<int64_t> known = go_on.node == ir::kNoNode ? std::nullopt : integer_value(go_on.node);
    rewind(lowered);
    if (!known || loop.rounds > kMaxKeptRounds) return give_up();
    if (*known == 0) break;
    ++loop.rounds;
  }
  stamp();
  if (loop.rounds <= keep_loops_) return give_up();

  std::vector<NodeId> after;
  for (size_t k = 0; k < slots.size(); ++k) {
    const Slot& s = slots[k];
    switch (s.kind) {
      case Slot::Kind::Unknown:
        after.push_back(unknown("after", k));
        loop.carried.push_back({fmt::format("{}.{}", c.ins.name, k), s.initial, s.before, s.next, after.back()});
        break;
      case Slot::Kind::Same: after.push_back(s.initial); break;
      case Slot::Kind::Counter: after.push_back(integer(s.start + s.step * loop.rounds, b.dtype(s.initial))); break;
    }
  }
  program_.loops.push_back(std::move(loop));
  std::vector<Value> out = with_leaves(c.in, after);
  if (!as_operands || !c.ins.type.tuple) return out.at(0);
  return Value::of(std::move(out));
}

}  // namespace shardproof::lower
