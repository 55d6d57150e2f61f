// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// One rule tried on pairs of forms: is it applied, is it refused, and is what the prover says true?
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "prove/coverage.h"
#include "unit/prove/bench.h"
#include "unit/prove/judge.h"

namespace shardproof::test {

using ir::DType;
using ir::Fn;
using ir::NodeId;
using ir::Shape;
using Pair = std::pair<NodeId, NodeId>;

// (n, c) with n up to `most` and every cut of it.
inline std::vector<std::pair<int64_t, int64_t>> cuts(int64_t most) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int64_t n = 0; n <= most; ++n) {
    for (int64_t c = 0; c <= n; ++c) out.emplace_back(n, c);
  }
  return out;
}

struct Forms : Bench {
  NodeId num(double v) { return real(v); }
  NodeId all(const Shape& s, NodeId scalar) { return b.broadcast(scalar, s, {}); }
  NodeId full(const Shape& s, double v) { return b.constant(ir::Literal::real(v, DType::F32), DType::F32, s); }
  NodeId zeros(const Shape& s) { return full(s, 0); }
  NodeId fn(Fn f, NodeId x) { return b.unary(f, x); }
  NodeId tanh(NodeId x) { return fn(Fn::Tanh, x); }
  NodeId binary(Fn f, NodeId x, NodeId y) { return b.map(f, {x, y}, b.dtype(x)); }
  NodeId div(NodeId x, NodeId y) { return b.map(Fn::Div, {x, y}, DType::F32); }
  NodeId rows(NodeId x, int64_t from, int64_t to) { return b.slice_dim(x, 0, from, to); }
  NodeId columns(NodeId x, int64_t from, int64_t to) { return b.slice_dim(x, 1, from, to); }
  NodeId at(NodeId x, int64_t i) { return b.reshape(rows(x, i, i + 1), {}); }
  NodeId sum(NodeId x, int64_t dim) { return b.reduce(Fn::Add, x, {dim}); }
  NodeId most(NodeId x, int64_t dim) { return b.reduce(Fn::Max, x, {dim}); }
  NodeId before(int64_t n, int64_t c) { return b.compare(Fn::Lt, b.iota(DType::I32, {n}, 0), all({n}, integer(c))); }
  NodeId unless(NodeId c) { return b.map(Fn::Not, {c}, DType::Bool); }
  NodeId masked(NodeId c, NodeId x) { return b.select(c, x, num(0)); }
  NodeId read(NodeId w, NodeId i) { return b.take(w, {i}, {-1}, {0}, b.shape(i), ir::IndexMode::Strict); }

  NodeId fact(NodeId x, manifest::Fact::Kind kind, double low, double high) {
    link::Fact f;
    f.input = x;
    f.fact.kind = kind;
    f.fact.low = f.fact.value = low;
    f.fact.high = high;
    p.facts.push_back(f);
    return x;
  }
  NodeId above(NodeId x, double v) { return fact(x, manifest::Fact::Kind::GreaterThan, v, 0); }
  NodeId at_least(NodeId x, double v) { return fact(x, manifest::Fact::Kind::AtLeast, v, 0); }
  NodeId range(NodeId x, int64_t low, int64_t high) {
    return fact(x, manifest::Fact::Kind::Range, static_cast<double>(low), static_cast<double>(high));
  }
};

using Make = std::function<Pair(Forms&)>;

class Tried {
 public:
  explicit Tried(prove::Rule rule) : rule_(rule), applied_(count().applied), denied_(count().denied) {}

  // The right form is the left one, and must be called so; in the other direction only if it is.
  void same(const Make& make) { pair(make, true); }
  // Whatever is right.
  void any(const Make& make) { pair(make, false); }

  // At most so many of the pairs that are the same were not called so: mostly blocks of one row, whose sums are none. What is applied, or
  // refused, only in tests/golden and tests/soundness is `elsewhere` here: tools/rule_table.py wants it there.
  enum class Elsewhere : uint8_t { Nothing, Applied, Refused };
  void done(int missed = 0, Elsewhere elsewhere = Elsewhere::Nothing) const {
    INFO("rule number ", static_cast<int>(rule_), " in the list");
    CHECK((count().applied > applied_ || elsewhere == Elsewhere::Applied));
    CHECK((count().denied > denied_ || !has_condition() || elsewhere == Elsewhere::Refused));
    CHECK(missed_ <= missed);
  }

 private:
  const prove::RuleCount& count() const { return prove::rule_counts[static_cast<size_t>(rule_)]; }
  bool has_condition() const {
    switch (rule_) {
#define SHARDPROOF_RULE(number, condition) \
  case prove::Rule::L##number: return condition;
      SHARDPROOF_RULES(SHARDPROOF_RULE)
#undef SHARDPROOF_RULE
    }
    return true;
  }

  void pair(const Make& make, bool must) {
    for (bool turned : {false, true}) {
      Forms t;
      auto [x, y] = make(t);
      if (turned) std::swap(x, y);
      REQUIRE(t.b.shape(x) == t.b.shape(y));
      link::Output o;  // the first one is the one-device program
      o.sequential = x;
      o.checked = true;
      t.p.outputs = {o};
      const bool equal = t.equal(x, y), different = differ(t.p, {{x, y}}, 12, ++seed_)[0];
      INFO(ir::to_string(t.p.graph, x), "   ", ir::to_string(t.p.graph, y), " turned ", turned, "\n", t.why);
      CHECK_FALSE((equal && different));
      if (!must || turned) continue;
      CHECK_FALSE(different);
      missed_ += !equal;
      if (!equal && std::getenv("SHARDPROOF_SHOW_MISSED") != nullptr) MESSAGE(ir::to_string(t.p.graph, x), "   ", t.why);
    }
  }

  prove::Rule rule_;
  uint64_t applied_, denied_, seed_ = 0;
  int missed_ = 0;
};

}  // namespace shardproof::test
