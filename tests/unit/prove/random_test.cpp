// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Random graphs of tiny shapes, in which many nodes happen to be equal: whatever two of them the prover calls equal, the reference
// interpreter must find equal on all inputs that it tries. SHARDPROOF_RANDOM_GRAPHS makes it longer.
#include <doctest/doctest.h>

#include <cstdlib>

#include "unit/prove/bench.h"
#include "unit/prove/judge.h"

using namespace shardproof;
using ir::DType;
using ir::Fn;
using ir::NodeId;
using ir::Shape;

namespace {

class Garden {
 public:
  Garden(test::Bench& t, uint64_t seed) : t_(t), b_(t.b), random_(seed) {
    for (int64_t& n : sizes_) n = at_most(3);
    if (at_most(3) != 0) {  // sizes 0 are worth trying, but prove little
      for (int64_t& n : sizes_) n = std::max<int64_t>(n, 1);
    }
    for (int k = 0; k < 3; ++k) {
      const NodeId x = b_.input("x" + std::to_string(k), DType::F32, shape(k == 0 ? 1 : 2));
      if (at_most(2) == 0) fact(x, manifest::Fact::Kind::GreaterThan, 0, 0);
      floats_.push_back(x);
    }
    for (int k = 0; k < 2; ++k) {
      const NodeId i = b_.input("i" + std::to_string(k), DType::I32, k == 0 ? Shape{sizes_[0]} : shape(1));
      const int64_t low = at_most(2) - 1;
      if (at_most(2) != 0) fact(i, manifest::Fact::Kind::Range, static_cast<double>(low), static_cast<double>(low + 1 + at_most(3)));
      ints_.push_back(i);
    }
    for (int k = 0; k < 26; ++k) grow();
  }
  const std::vector<NodeId>& all() const { return floats_; }

 private:
  int64_t at_most(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n)(random_); }
  int64_t size() { return sizes_[static_cast<size_t>(at_most(1))]; }
  Shape shape(int rank) {
    Shape s;
    for (int d = 0; d < rank; ++d) s.push_back(size());
    return s;
  }
  void fact(NodeId x, manifest::Fact::Kind kind, double low, double high) {
    link::Fact f;
    f.input = x;
    f.fact.kind = kind;
    f.fact.low = low;
    f.fact.high = high;
    f.fact.value = low;
    t_.p.facts.push_back(f);
  }
  NodeId pick() { return floats_[static_cast<size_t>(at_most(static_cast<int64_t>(floats_.size()) - 1))]; }
  // Something of the shape of x, or a scalar.
  NodeId like(NodeId x) {
    for (int k = 0; k < 6; ++k) {
      const NodeId y = pick();
      if (b_.shape(y) == b_.shape(x) || b_.shape(y).empty()) return y;
    }
    return at_most(1) == 0 ? x : t_.real(static_cast<double>(at_most(4)) - 2);
  }
  NodeId integers(const Shape& s) {
    if (!s.empty() && at_most(1) == 0) return b_.iota(DType::I32, s, at_most(static_cast<int64_t>(s.size()) - 1));
    for (NodeId i : ints_) {
      if (b_.shape(i) == s && at_most(1) == 0) return i;
      for (size_t d = 0; d < s.size(); ++d) {
        if (b_.shape(i) == Shape{s[d]} && at_most(1) == 0) return b_.broadcast(i, s, {static_cast<int64_t>(d)});
      }
    }
    return b_.broadcast(t_.integer(at_most(3)), s, {});
  }
  NodeId condition(const Shape& s) {
    static const Fn kCompare[] = {Fn::Lt, Fn::Le, Fn::Eq, Fn::Ne, Fn::Gt, Fn::Ge};
    const NodeId c = b_.compare(kCompare[at_most(5)], integers(s), integers(s));
    return at_most(3) == 0
               ? b_.map(at_most(1) ? Fn::And : Fn::Or, {c, b_.compare(kCompare[at_most(5)], integers(s), integers(s))}, DType::Bool)
               : c;
  }
  void grow() {
    const NodeId x = pick();
    const Shape s = b_.shape(x);
    const auto rank = static_cast<int64_t>(s.size());
    const int64_t d = rank == 0 ? 0 : at_most(rank - 1);
    NodeId y = x;
    switch (at_most(27)) {
      case 0:
      case 1:
      case 2: {
        static const Fn kBinary[] = {Fn::Add, Fn::Mul, Fn::Sub, Fn::Max, Fn::Min, Fn::Div, Fn::Add, Fn::Mul};
        const NodeId z = like(x);
        const Fn fn = kBinary[at_most(7)];
        y = at_most(1) == 0 || b_.shape(z) != s ? t_.b.binary(fn, x, z) : t_.b.binary(fn, z, x);
        break;
      }
      case 3: {
        static const Fn kUnary[] = {Fn::Neg,      Fn::Exp,  Fn::Log,  Fn::Sqrt, Fn::Rsqrt, Fn::Abs,
                                    Fn::Logistic, Fn::Tanh, Fn::Sign, Fn::Neg,  Fn::Cos};
        y = b_.unary(kUnary[at_most(10)], x);
        break;
      }
      case 4: y = b_.select(condition(s), x, at_most(1) == 0 ? b_.broadcast(t_.real(0), s, {}) : like(x)); break;
      case 5:
        if (rank > 0 && s[d] > 0) {
          const int64_t from = at_most(s[d]), to = from + at_most(s[d] - from);
          y = b_.slice_dim(x, d, from, to, 1 + (at_most(3) == 0));
        }
        break;
      case 6:
      case 7:
        if (rank > 0) {
          // Cut and put together again, perhaps in another order.
          const int64_t c = at_most(s[d]);
          std::vector<NodeId> parts{b_.slice_dim(x, d, 0, c), b_.slice_dim(x, d, c, s[d])};
          if (at_most(3) == 0) std::swap(parts[0], parts[1]);
          y = b_.concat(parts, d);
        }
        break;
      case 8:
        if (rank == 2) y = b_.transpose(x, {1, 0});
        break;
      case 9:
        if (rank == 2) y = at_most(1) == 0 ? b_.reshape(x, {s[0] * s[1]}) : b_.reshape(x, {s[1], s[0]});
        break;
      case 10:
        if (rank == 1) y = b_.broadcast(x, at_most(1) == 0 ? Shape{s[0], size()} : Shape{s[0], s[0]}, {0});
        if (rank == 0) y = b_.broadcast(x, shape(1), {});
        break;
      case 11:
        if (rank > 0) y = b_.reverse(x, {d});
        break;
      case 12:
      case 13:
        if (rank > 0) y = b_.reduce(at_most(3) == 0 ? Fn::Max : Fn::Add, x, {d});
        break;
      case 14: {
        // A sum in two parts.
        if (rank == 0) break;
        const int64_t c = at_most(s[d]);
        const Fn fn = at_most(3) == 0 ? Fn::Max : Fn::Add;
        y = b_.binary(fn, b_.reduce(fn, b_.slice_dim(x, d, 0, c), {d}), b_.reduce(fn, b_.slice_dim(x, d, c, s[d]), {d}));
        break;
      }
      case 15: {
        const NodeId z = pick();
        if (rank == 2 && b_.rank(z) == 2 && s[1] == b_.shape(z)[0]) y = t_.mm(x, z);
        break;
      }
      case 16:
        if (rank > 0) y = b_.scan(Fn::Add, x, d, at_most(1) != 0, at_most(1) != 0);
        break;
      case 17:
        if (rank > 0) {
          const NodeId i = ints_[0];
          Shape out = s;
          out[static_cast<size_t>(d)] = b_.shape(i)[0];
          std::vector<int64_t> dims;
          for (int64_t k = 0; k < rank; ++k) dims.push_back(k == d ? -1 : k);
          y = b_.take(x, {i}, dims, {d}, out, at_most(1) ? ir::IndexMode::Strict : ir::IndexMode::Clamp);
        }
        break;
      case 18:
        if (rank > 0) {
          std::vector<int64_t> low(s.size(), 0), none(s.size(), 0);
          low[static_cast<size_t>(d)] = at_most(2) - 1;
          if (s[d] + low[static_cast<size_t>(d)] >= 0) y = b_.pad(x, t_.real(0), low, none, none);
        }
        break;
      case 19: {
        if (rank == 0 || b_.shape(ints_[0])[0] == 0) break;
        // An update at a place that an integer tells; starts are clamped.
        std::vector<NodeId> starts(s.size(), t_.integer(at_most(1)));
        starts[static_cast<size_t>(d)] = b_.reshape(b_.slice_dim(ints_[0], 0, 0, 1), {});
        Shape part = s;
        if (part[static_cast<size_t>(d)] > 1) part[static_cast<size_t>(d)] -= at_most(1);
        const NodeId window = b_.dynamic_slice(x, starts, part);
        y = at_most(1) == 0 ? window : b_.dynamic_update(x, b_.unary(Fn::Neg, window), starts);
        break;
      }
      case 20: {
        if (rank == 0) break;
        // Rows added to, or put into, rows that labels tell.
        const NodeId i = ints_[0];
        Shape updates = s;
        updates[static_cast<size_t>(d)] = b_.shape(i)[0];
        std::vector<int64_t> dims;
        for (int64_t k = 0; k < rank; ++k) dims.push_back(k == d ? -1 : k);
        const NodeId rows = at_most(1)               ? b_.broadcast(t_.real(1), updates, {})
                            : b_.shape(x) == updates ? x
                                                     : b_.broadcast(t_.real(2), updates, {});
        const bool put = at_most(2) == 0;
        y = b_.scatter(at_most(1) ? x : b_.broadcast(t_.real(0), s, {}), rows, {i}, dims, {d}, put ? Fn::None : Fn::Add, put,
                       at_most(1) ? ir::IndexMode::Fill : ir::IndexMode::Strict);
        break;
      }
      case 21:
        if (rank > 0 && s[static_cast<size_t>(d)] > 0) y = b_.sort({x}, d, at_most(1) != 0, true)[0];
        break;
      case 22:
        if (rank > 0 && s[static_cast<size_t>(d)] > 0)
          y = b_.convert(b_.arg_reduce(at_most(1) ? Fn::Max : Fn::Min, x, d, DType::I32), DType::F32);
        break;
      case 23:
        if (rank > 0 && s[static_cast<size_t>(d)] > 1) {
          const NodeId w = b_.window(x, {d}, {2}, {1, 1});
          y = b_.reduce(at_most(1) ? Fn::Max : Fn::Add, w, {rank});
        }
        break;
      case 24: {
        std::vector<ir::Literal> table;
        const Shape of = shape(1);
        for (int64_t k = 0; k < of[0]; ++k) table.push_back(ir::Literal::real(static_cast<double>(at_most(3)) - 1, DType::F32));
        y = b_.dense(DType::F32, of, std::move(table));
        break;
      }
      case 25: {
        const NodeId z = like(x);
        if (b_.shape(z) == s) y = b_.select(b_.compare(at_most(1) ? Fn::Lt : Fn::Ge, x, z), x, at_most(1) ? z : like(x));
        break;
      }
      case 26: {
        // A product over a flattened dimension, or a mean.
        if (rank == 2 && s[0] * s[1] > 0) y = b_.reduce(Fn::Add, b_.reshape(b_.binary(Fn::Mul, x, x), {s[0] * s[1]}), {0});
        break;
      }
      default: y = b_.binary(Fn::Mul, x, t_.real(static_cast<double>(at_most(4)) - 2)); break;
    }
    if (ir::num_elements(b_.shape(y)) <= 64) floats_.push_back(y);
  }

  test::Bench& t_;
  ir::Builder& b_;
  std::mt19937_64 random_;
  int64_t sizes_[2];
  std::vector<NodeId> floats_, ints_;
};

}  // namespace

TEST_CASE("what is called equal in random graphs evaluates equally") {
  const char* more = std::getenv("SHARDPROOF_RANDOM_GRAPHS");
  const int graphs = more != nullptr ? std::atoi(more) : 1500;
  const char* first = std::getenv("SHARDPROOF_RANDOM_SEED");
  const uint64_t base = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  size_t compared = 0, proved = 0;
  for (int k = 0; k < graphs; ++k) {
    const uint64_t seed = base + static_cast<uint64_t>(k);
    test::Bench t;
    Garden garden(t, seed);
    const std::vector<NodeId>& all = garden.all();
    // In every second one the last node is the one-device program, so that the rules for what ranks do are tried, too.
    link::Output o;
    o.sequential = all.back();
    o.checked = true;
    if (seed % 2 == 0) t.p.outputs = {o};
    t.p.side.assign(t.p.graph.nodes.size(), -1);
    prove::Prover prover(t.p);
    if (seed % 4 == 0) prover.try_hard();
    std::vector<std::pair<NodeId, NodeId>> equal;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t j = 0; j < all.size(); ++j) {
        if (all[i] == all[j] || t.b.shape(all[i]) != t.b.shape(all[j]) || ir::num_elements(t.b.shape(all[i])) == 0) continue;
        ++compared;
        if (prover.equal(all[i], all[j]) == prove::Prover::Answer::Equal) equal.emplace_back(all[i], all[j]);
      }
    }
    proved += equal.size();
    const std::vector<bool> wrong = test::differ(t.p, equal, 16, seed, seed % 2 == 0 ? all.back() : ir::kNoNode);
    for (size_t i = 0; i < equal.size(); ++i) {
      if (!wrong[i]) continue;
      INFO("seed ", seed, ": ", prover.describe(equal[i].first), " and ", prover.describe(equal[i].second));
      std::string graph;
      std::vector<bool> needed(t.p.graph.nodes.size(), false);
      for (NodeId id = static_cast<NodeId>(needed.size()); id-- > 0;) {
        needed[id] = needed[id] || id == equal[i].first || id == equal[i].second;
        if (!needed[id]) continue;
        graph.insert(0, ir::to_string(t.p.graph, id) + "\n");
        for (const link::Fact& f : t.p.facts) {
          if (f.input == id) graph.insert(0, "fact: " + std::to_string(f.fact.low) + " " + std::to_string(f.fact.high) + "\n");
        }
        for (NodeId x : t.p.graph[id].in) needed[x] = true;
      }
      INFO(ir::to_string(t.p.graph, equal[i].first), "\n", ir::to_string(t.p.graph, equal[i].second), " in\n", graph);
      CHECK_FALSE(wrong[i]);
      break;  // the others of this graph follow from it, mostly
    }
  }
  MESSAGE(graphs, " graphs, ", compared, " pairs compared, ", proved, " called equal");
  CHECK(proved > static_cast<size_t>(graphs));
}
