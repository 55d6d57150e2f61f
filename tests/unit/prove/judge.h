// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Two nodes evaluated by the reference interpreter, which shares nothing with the prover but the graph: do they differ on some inputs that
// satisfy the facts? Where the first one is undefined, nothing is asked of the second.
#pragma once

#include <cmath>
#include <random>

#include "interp/eval.h"
#include "link/problem.h"

namespace shardproof::test {

namespace judging {

inline double draw(int round, std::mt19937_64& random) {
  const auto u = [&](double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(random); };
  switch (round % 8) {
    case 0: return u(-2, 2);
    case 1: return std::floor(u(-2, 3));  // ties and zeros
    case 2: return u(0.25, 3);
    case 3: return u(0, 1) < 0.5 ? 0 : 1;
    case 4: return -u(0.25, 3);
    case 5: return u(-9, 9);
    case 6: return u(0, 1) < 0.5 ? 0 : u(-3, 3);
    default: return 0;
  }
}

inline interp::Value input(const link::Problem& p, ir::NodeId id, int round, std::mt19937_64& random) {
  const ir::Node& n = p.graph[id];
  int64_t low = ir::is_unsigned_int(n.dtype) ? 0 : -3, high = 3;
  bool free = true;  // of facts: the ends of the type occur, too
  double least = -HUGE_VAL;
  for (const link::Fact& f : p.facts) {
    if (f.input != id) continue;
    free = false;
    using Kind = manifest::Fact::Kind;
    if (f.fact.kind == Kind::Range) low = static_cast<int64_t>(f.fact.low), high = static_cast<int64_t>(f.fact.high) - 1;
    if (f.fact.kind == Kind::AtLeast) least = f.fact.value;
    if (f.fact.kind == Kind::GreaterThan) least = f.fact.value + 0.125;
  }
  std::vector<interp::Axis> axes;
  for (int64_t e : n.shape) axes.push_back(interp::Axis::unit(e));
  const auto size = static_cast<size_t>(ir::num_elements(n.shape));
  const bool real = ir::is_float(n.dtype);
  interp::Buffer b = real ? interp::Buffer::make(interp::Number::Interval, size) : interp::Buffer::integers(size);
  for (size_t k = 0; k < size; ++k) {
    if (real) {
      const double x = draw(round, random);
      b.set(k, {std::isinf(least) ? x : least + std::fabs(x), 0});
    } else if (n.dtype == ir::DType::Bool) {
      b.i[k] = static_cast<int64_t>(random() & 1);
    } else {
      const int bits = ir::int_bits(n.dtype) - (ir::is_unsigned_int(n.dtype) ? 0 : 1);
      if (free && round % 4 == 3 && bits < 63) high = (int64_t{1} << bits) - 1;
      if (free && round % 4 == 2 && bits < 63 && low < 0) low = -(int64_t{1} << bits);
      b.i[k] = round % 4 == 2 ? low : round % 4 == 3 ? high : std::uniform_int_distribution<int64_t>(low, high)(random);
    }
  }
  return interp::make_value(n.dtype, std::move(axes), std::move(b));
}

inline interp::Value dense(const interp::Value& v) {
  std::vector<interp::Axis> axes;
  for (const interp::Axis& a : v.axes) axes.push_back(interp::Axis::unit(a.extent()));
  return interp::refine(v, axes);
}

inline bool differ(const interp::Buffer& a, const interp::Buffer& b, size_t k) {
  using interp::State;
  const State x = a.state_at(k), y = b.state_at(k);
  if (x != State::Fine || y == State::Undecided) return false;
  if (y == State::Undefined) return true;
  if (a.number == interp::Number::Integer) return a.i[k] != b.i[k];
  const interp::Interval p = a.interval(k), q = b.interval(k);
  if (std::isinf(p.m) || std::isinf(q.m)) return p.m != q.m;
  return std::fabs(p.m - q.m) - p.r - q.r > 1e-9 * (1 + std::fabs(p.m));
}

}  // namespace judging

// The pairs that differ on one of `rounds` sets of inputs. Where the one-device program, if there is one, is not defined everywhere,
// nothing is asked: it may have stopped at an index that is out of range.
inline std::vector<bool> differ(const link::Problem& p, const std::vector<std::pair<ir::NodeId, ir::NodeId>>& pairs, int rounds,
                                uint64_t seed, ir::NodeId sequential = ir::kNoNode) {
  std::vector<bool> out(pairs.size(), false);
  std::mt19937_64 random(seed);
  std::vector<ir::NodeId> targets;
  for (const auto& [x, y] : pairs) targets.push_back(x), targets.push_back(y);
  std::vector<ir::NodeId> stops;
  std::vector<bool> cone(p.graph.nodes.size(), false);
  for (size_t id = sequential == ir::kNoNode ? 0 : sequential + size_t{1}; id-- > 0;) {
    cone[id] = cone[id] || id == sequential;
    if (!cone[id]) continue;
    for (ir::NodeId x : p.graph[static_cast<ir::NodeId>(id)].in) cone[x] = true;
    const ir::Op op = p.graph[static_cast<ir::NodeId>(id)].op;
    if (id == sequential || op == ir::Op::Take || op == ir::Op::Scatter) stops.push_back(static_cast<ir::NodeId>(id));
  }
  targets.insert(targets.end(), stops.begin(), stops.end());
  for (int round = 0; round < rounds; ++round) {
    interp::Inputs inputs;
    for (ir::NodeId id = 0; id < p.graph.nodes.size(); ++id) {
      if (p.graph[id].op == ir::Op::Input) inputs.emplace(id, judging::input(p, id, round, random));
    }
    interp::Evaluator e(p.graph, inputs, {});
    e.run(targets);
    bool defined = true;
    for (ir::NodeId id : stops) {
      const interp::Value* value = e.get(id);
      defined &= value != nullptr;
      for (size_t i = 0; defined && i < value->data->size; ++i) defined = value->data->state_at(i) == interp::State::Fine;
    }
    if (!defined) continue;
    for (size_t k = 0; k < pairs.size(); ++k) {
      const interp::Value *x = e.get(pairs[k].first), *y = e.get(pairs[k].second);
      if (x == nullptr || y == nullptr || out[k]) continue;
      const interp::Value a = judging::dense(*x), b = judging::dense(*y);
      for (size_t i = 0; i < a.data->size && !out[k]; ++i) out[k] = judging::differ(*a.data, *b.data, i);
    }
  }
  return out;
}

}  // namespace shardproof::test
