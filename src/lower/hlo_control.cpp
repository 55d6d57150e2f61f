// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Calls, loops, conditionals, tuples, asynchronous pairs and custom calls of XLA programs.
//
// Everything is inlined. A while loop is run here: its condition must fold to a constant in every round (integer counters do), so the loop
// is unrolled, with a bound on rounds. A conditional on a constant is its branch; any other one is evaluated in both branches and selected.
// If ranks communicate in them, the linker is told which nodes belong to which branch.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

using ir::DType;
using ir::Fn;
using ir::NodeId;

namespace {

constexpr int64_t kMaxRounds = 4096;
constexpr size_t kMaxUnrolled = 1'000'000;  // nodes of one loop, all rounds together

}  // namespace

bool is_identity_target(std::string_view target) {
  static const std::set<std::string_view> names{"Sharding",
                                                "xla.sdy.FuncResultSharding",
                                                "xla.sdy.PropagationBarrier",
                                                "MoveToHost",
                                                "MoveToDevice",
                                                "PinToDevice",
                                                "PinToDeviceSram",
                                                "annotate_device_placement",
                                                "LayoutConstraint",
                                                "AwsNeuronTransferWithStaticRing"};
  return names.count(target) != 0;
}

// call, fusion (the computation of a custom fusion says what it computes), named computations
Value HloLowering::call(const Call& c) { return evaluate(called(c, 0), c.in); }

Value HloLowering::composite(const Call& c) {
  if (!c.ins.called.empty()) return evaluate(called(c, 0), c.in);  // its decomposition
  std::string name = c.ins.custom_call_target;
  if (name.empty()) name = std::string(other_attribute(c.ins, "name"));
  if (const auto out = unary_by_name(normal_opcode(name), nodes(c))) return Value::of(*out);
  throw Unsupported{fmt::format("composite {} without a decomposition", name)};
}

Value HloLowering::while_loop(const Call& c) {
  if (keep_loops_ > 0 && !mapped_ && !in_branch_)
    if (std::optional<Value> kept = kept_loop(c)) return *kept;
  const uint32_t condition = called(c, 0), body = called(c, 1);
  // HLO carries one value (usually a tuple); StableHLO's several values may come as one tuple or as operands.
  std::vector<Value> state(c.in.begin(), c.in.end());
  const bool as_operands = state.size() != 1 || computation(body).parameters.size() != 1;
  const size_t nodes_before = b.g.nodes.size();
  for (int64_t round = 0; round <= kMaxRounds; ++round) {
    if (b.g.nodes.size() > nodes_before + kMaxUnrolled)
      throw Unsupported{fmt::format("a while loop that unrolls to more than {} operators", kMaxUnrolled)};
    const Value go_on = evaluate(condition, state);
    const std::optional<int64_t> known = go_on.node == ir::kNoNode ? std::nullopt : integer_value(go_on.node);
    if (!known) throw Unsupported{"a while loop whose number of rounds depends on data or on the rank"};
    if (*known == 0) {
      if (!as_operands) return state[0];
      return c.ins.type.tuple ? Value::of(std::move(state)) : state.at(0);
    }
    const Value next = evaluate(body, state);
    if (!as_operands) {
      state[0] = next;
    } else {
      need(state.size() == 1 || (next.tuple && next.tuple->size() == state.size()), "has a body that gives another number of values");
      if (next.tuple && state.size() == next.tuple->size())
        state = *next.tuple;
      else
        state = {next};
    }
  }
  throw Unsupported{fmt::format("a while loop of more than {} rounds", kMaxRounds)};
}

// Leaf by leaf; the walk has no recursion since types may nest.
Value HloLowering::choose(NodeId condition, const Value& yes, const Value& no) {
  struct Frame {
    const Value* yes;
    const Value* no;
    size_t child;
    std::vector<Value> done;
  };
  const auto leaf = [&](const Value& y, const Value& n) {
    if (y.node == ir::kNoNode || n.node == ir::kNoNode) return Value{};
    if (y.node == n.node) return y;
    need(b.shape(y.node) == b.shape(n.node) && b.dtype(y.node) == b.dtype(n.node), "has branches of different types");
    return Value::of(map(Fn::Select, {condition, y.node, n.node}, b.dtype(y.node)));
  };
  if (!yes.tuple || !no.tuple) {
    need(!yes.tuple && !no.tuple, "has branches of different types");
    return leaf(yes, no);
  }
  std::vector<Frame> stack{{&yes, &no, 0, {}}};
  while (true) {
    Frame& top = stack.back();
    need(top.yes->tuple && top.no->tuple && top.yes->tuple->size() == top.no->tuple->size(), "has branches of different types");
    if (top.child < top.yes->tuple->size()) {
      const Value &y = (*top.yes->tuple)[top.child], &n = (*top.no->tuple)[top.child];
      ++top.child;
      if (y.tuple || n.tuple)
        stack.push_back({&y, &n, 0, {}});
      else
        top.done.push_back(leaf(y, n));
      continue;
    }
    Value v = Value::of(std::move(top.done));
    stack.pop_back();
    if (stack.empty()) return v;
    stack.back().done.push_back(std::move(v));
  }
}

// What a condition is on each rank, if it depends on nothing else: the nodes that it is made of are folded again for each rank's id.
std::vector<char> HloLowering::by_rank(NodeId condition) {
  constexpr size_t kMaxNodes = 1000;
  constexpr int64_t kMaxRanks = 4096, kUnstatedRanks = 512;
  // HLO text before partitioning does not say how many partitions there are: a manifest may.
  const int64_t replicas = std::max<int64_t>(1, m.replica_count);
  const int64_t partitions = m.num_partitions > 1 || replicas > 1 ? std::max<int64_t>(1, m.num_partitions) : kUnstatedRanks;
  std::set<NodeId> cone{condition};
  for (auto it = cone.rbegin(); it != cone.rend(); ++it) {
    cone.insert(b.g[*it].in.begin(), b.g[*it].in.end());
    if (cone.size() > kMaxNodes) return {};
  }
  if (partitions > kMaxRanks || replicas > kMaxRanks || partitions * replicas > kMaxRanks) return {};
  std::vector<char> out;
  const Mark start = mark();
  for (int64_t rank = 0; rank < partitions * replicas; ++rank) {
    std::map<NodeId, NodeId> value;
    for (NodeId id : cone) {
      const ir::Node n = b.g[id];
      std::vector<NodeId> xs;
      for (NodeId x : n.in) xs.push_back(value.at(x));
      NodeId made = ir::kNoNode;
      switch (n.op) {
        case ir::Op::Const:
        case ir::Op::Dense: made = id; break;
        case ir::Op::RankId: made = integer(n.a[0] ? rank / partitions : rank % partitions, n.dtype); break;
        case ir::Op::Map: made = map(n.fn, xs, n.dtype); break;
        case ir::Op::Reshape: made = reshape(xs[0], n.shape); break;
        case ir::Op::Slice: made = slice(xs[0], n.a, n.b, n.c); break;
        case ir::Op::DynamicSlice: made = dynamic_slice(xs[0], {xs.begin() + 1, xs.end()}, n.a); break;
        default: break;
      }
      if (made == ir::kNoNode) {
        rewind(start);
        return {};
      }
      value[id] = made;
    }
    const std::optional<int64_t> known = integer_value(value.at(condition));
    rewind(start);
    if (!known) return {};
    out.push_back(*known != 0);
  }
  return out;
}

// Branch k. If ranks communicate in it, the linker must know when it is run.
Value HloLowering::branch(const Call& c, size_t k, NodeId condition) {
  const uint32_t target = called(c, k);
  const auto begin = static_cast<NodeId>(b.g.nodes.size());
  const bool was_in = std::exchange(in_branch_, in_branch_ || has_effects(target));
  // HLO gives each branch its own operand; a StableHLO branch takes whatever follows (the values that it captures).
  const bool own = c.in.size() == c.ins.called.size() + 1 && computation(target).parameters.size() == 1;
  Value out = evaluate(target, own                                      ? c.in.subspan(k + 1, 1)
                               : computation(target).parameters.empty() ? c.in.subspan(0, 0)
                                                                        : c.in.subspan(1));
  in_branch_ = was_in;
  const auto end = static_cast<NodeId>(b.g.nodes.size());
  const bool communicates = std::any_of(b.g.nodes.begin() + begin, b.g.nodes.end(),
                                        [](const ir::Node& n) { return n.op >= ir::Op::AllReduce && n.op <= ir::Op::LocalToGlobal; });
  if (communicates && condition != ir::kNoNode) program_.branches.push_back({begin, end, condition, by_rank(condition)});
  return out;
}

Value HloLowering::conditional(const Call& c) {
  const NodeId index = node(c, 0);
  const size_t n = c.ins.called.size();
  need(n >= 1 && b.shape(index).empty(), "needs branches and a scalar that chooses");
  const bool two_way = b.dtype(index) == DType::Bool;
  need(!two_way || n == 2, "needs two branches");
  if (const auto known = integer_value(index)) {
    if (two_way) return branch(c, *known ? 0 : 1, ir::kNoNode);
    return branch(c, *known >= 0 && *known < static_cast<int64_t>(n) ? static_cast<size_t>(*known) : n - 1, ir::kNoNode);
  }
  if (n == 1) return branch(c, 0, ir::kNoNode);
  for (uint32_t k : c.ins.called) {
    if (effect(k) == Effect::Other)
      throw Unsupported{"a conditional on data or on the rank whose branches draw, or read or write data outside"};
  }
  // When each branch is run; the last one also where the index is out of range.
  std::vector<NodeId> here;
  if (two_way) here.push_back(index);
  while (here.size() + 1 < n) here.push_back(map(Fn::Eq, {index, integer(static_cast<int64_t>(here.size()), b.dtype(index))}, DType::Bool));
  const NodeId none = map(Fn::Not, {here.size() == 1 ? here[0] : map(Fn::Or, here, DType::Bool)}, DType::Bool);
  Value out = branch(c, n - 1, none);
  for (size_t k = n - 1; k-- > 0;) out = choose(here[k], branch(c, k, here[k]), out);
  return out;
}

Value HloLowering::tuple(const Call& c) { return Value::of(std::vector<Value>(c.in.begin(), c.in.end())); }

Value HloLowering::get_tuple_element(const Call& c) {
  need(!c.in.empty() && c.in[0].tuple, "reads an element of something that is no tuple");
  need(c.ins.tuple_index >= 0 && c.ins.tuple_index < static_cast<int64_t>(c.in[0].tuple->size()), "has an index out of range");
  return (*c.in[0].tuple)[static_cast<size_t>(c.ins.tuple_index)];
}

// async-start gives (operands, results, bookkeeping ...), copy-start (result, operand, bookkeeping); `done` takes the results out.
Value HloLowering::start(const Call& c) {
  const bool copy = c.ins.opcode == "copy-start";
  const Value result = copy ? (need(!c.in.empty(), "has no operand"), c.in[0]) : evaluate(called(c, 0), c.in);
  if (!c.ins.type.tuple || c.ins.type.elements.size() < 2) return result;  // StableHLO: a future
  std::vector<Value> out(c.ins.type.elements.size());
  if (copy) {
    out[0] = result;
    out[1] = result;
  } else {
    out[0] = c.ins.type.elements[0].tuple ? Value::of(std::vector<Value>(c.in.begin(), c.in.end())) : c.in[0];
    out[1] = result;
  }
  return Value::of(std::move(out));
}

Value HloLowering::done(const Call& c) {
  need(!c.in.empty(), "has no operand");
  const Value& v = c.in[0];
  if (!v.tuple || matches(v, c.ins.type)) return v;
  const size_t k = c.ins.opcode == "copy-done" ? 0 : 1;
  need(v.tuple->size() > k, "finishes something that was not started");
  return (*v.tuple)[k];
}

Value HloLowering::token(const Call& c) {
  if (c.ins.opcode == "infeed" || c.ins.opcode == "outfeed") {
    refuse("SP243", "reads or writes data outside of the program: make it a parameter or a result of the program");
  }
  return {};
}

Value HloLowering::custom_call(const Call& c) {
  const std::string& target = c.ins.custom_call_target;
  if (target == "xla.sdy.GlobalToLocalShape") return global_to_local(c);
  if (target == "xla.sdy.LocalToGlobalShape") return local_to_global(c);
  if (target == "SPMDFullToShardShape") return full_to_shard(c);
  if (target == "SPMDShardToFullShape") return shard_to_full(c);
  if (is_identity_target(target)) return c.in.empty() ? Value{} : identity(c);
  if (target == "TopK" || target == "mhlo.topk" || target == "chlo.top_k" || target == "__gpu$TopK") return top_k(c);
  if (target == "AwsNeuronRmsNorm") {
    // x / sqrt(mean(x^2 over an axis) + epsilon) * weight; the axis is the backend configuration
    const NodeId x = node(c, 0), w = node(c, 1), epsilon = node(c, 2);
    const DType t = b.dtype(x);
    int64_t axis = -1;
    for (int64_t d = 0; d < b.rank(x); ++d) {
      if (c.ins.backend_config == std::to_string(d)) axis = d;
    }
    if (axis < 0 || !ir::is_float(t) || b.rank(w) != 1 || b.shape(w)[0] != b.shape(x)[axis] || !b.shape(epsilon).empty()) {
      throw Unsupported{"AwsNeuronRmsNorm with these operands"};
    }
    std::vector<int64_t> kept;
    for (int64_t d = 0; d < b.rank(x); ++d) {
      if (d != axis) kept.push_back(d);
    }
    const DType wide = DType::F32;
    const NodeId v = convert(x, wide);
    const NodeId count = b.constant(ir::Literal::real(static_cast<double>(b.shape(x)[axis])), wide);
    const NodeId mean = map(Fn::Div, {b.reduce(Fn::Add, map(Fn::Mul, {v, v}, wide), {axis}), count}, wide);
    const NodeId scale = map(Fn::Rsqrt, {map(Fn::Add, {mean, convert(epsilon, wide)}, wide)}, wide);
    const NodeId normal = map(Fn::Mul, {v, broadcast(scale, b.shape(x), kept)}, wide);
    return Value::of(convert(map(Fn::Mul, {normal, broadcast(convert(w, wide), b.shape(x), {axis})}, wide), c.ins.type.dtype));
  }
  for (const char* dialect : {"mhlo.", "chlo."}) {
    if (target.rfind(dialect, 0) != 0) continue;
    if (!c.ins.type.tuple) {
      const std::vector<NodeId> xs = nodes(c);
      bool plain = true;
      for (NodeId x : xs) plain = plain && b.shape(x) == c.ins.type.shape && b.dtype(x) == b.dtype(xs[0]);
      if (plain) {
        if (const auto out = unary_by_name(normal_opcode(target), xs)) return Value::of(*out);
      }
    }
  }
  throw Unsupported{fmt::format("custom call {} is not known", target)};
}

}  // namespace shardproof::lower
