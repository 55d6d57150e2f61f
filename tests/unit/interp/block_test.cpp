// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Block tensors against dense ones: random operators on inputs that are constant on blocks give the same values as on the expanded inputs,
// and enclosures of both number systems meet.
#include <random>

#include "interp/compare.h"
#include "interp/eval.h"
#include "unit/interp/support.h"

using namespace shardproof;
using namespace shardproof::interp;
using namespace shardproof::interp::testing;
using ir::DType;
using ir::Fn;
using ir::IndexMode;
using ir::NodeId;

namespace {

struct Fuzz {
  std::mt19937_64 random;
  int64_t below(int64_t n) { return n <= 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  Axis axis(int64_t n) {
    std::vector<int64_t> cuts;
    for (int64_t k = below(4); k > 0; --k) cuts.push_back(below(n + 1));
    if (below(3) == 0) return labelled(n);
    return below(5) == 0 ? Axis::unit(n) : Axis::at(n, cuts);
  }
  Axis labelled(int64_t n) {  // blocks of several runs
    std::vector<int64_t> ends, labels;
    const int64_t kinds = 1 + below(4);
    for (int64_t at = 0; at < n;) {
      ends.push_back(at = std::min(n, at + 1 + below(3)));
      labels.push_back(10 - below(kinds));
    }
    return Axis::labelled(n, ends, labels);
  }
  Value value(const ir::Shape& shape, bool integer, int64_t bound) {
    std::vector<Axis> axes;
    for (int64_t n : shape) axes.push_back(n == 0 ? Axis::unit(0) : axis(n));
    const size_t total = static_cast<size_t>(count_blocks(axes));
    Buffer b = Buffer::make(integer ? Number::Integer : Number::Interval, total);
    for (size_t k = 0; k < total; ++k) {
      if (integer) {
        b.i[k] = below(bound);
      } else {
        b.set(k, {static_cast<double>(below(2000) - 1000) / 64, 0});
      }
    }
    return make_value(integer ? DType::I64 : DType::F64, axes, std::move(b));
  }
  ir::Shape shape(size_t rank) {
    ir::Shape s;
    static const int64_t kExtents[] = {0, 1, 2, 3, 4, 6, 8, 12, 12, 16};
    for (size_t d = 0; d < rank; ++d) s.push_back(kExtents[1 + below(9) - (below(30) == 0 ? 1 : 0)]);
    return s;
  }
};

Value expanded(const Value& v) {
  std::vector<Axis> axes;
  for (const Axis& a : v.axes) axes.push_back(Axis::unit(a.extent()));
  return refine(v, axes);
}

// One random operator on block inputs; kNoNode if the draw does not fit.
NodeId random_node(Fuzz& f, Bench& t) {
  const size_t rank = static_cast<size_t>(f.below(4));
  const ir::Shape s = f.shape(rank);
  const auto x = [&] { return t.block(DType::F64, f.value(s, false, 0)); };
  const auto dim = [&] { return f.below(static_cast<int64_t>(rank)); };
  switch (f.below(20)) {
    case 0: {
      std::vector<int64_t> perm(rank);
      for (size_t k = 0; k < rank; ++k) perm[k] = static_cast<int64_t>(k);
      std::shuffle(perm.begin(), perm.end(), f.random);
      return t.b.transpose(x(), perm);
    }
    case 1:
    case 2: {  // regroup the prime factors of the sizes
      ir::Shape to;
      int64_t rest = ir::num_elements(s);
      if (rest == 0) return t.b.reshape(x(), {0, 3});
      while (rest > 1) {
        int64_t part = 1;
        for (int k = static_cast<int>(f.below(3)) + 1; k > 0 && rest > 1; --k) {
          int64_t p = 2;
          while (rest % p != 0) ++p;
          part *= p;
          rest /= p;
        }
        to.push_back(part);
        if (f.below(4) == 0) to.push_back(1);
      }
      std::shuffle(to.begin(), to.end(), f.random);
      return t.b.reshape(x(), to);
    }
    case 3: {
      std::vector<int64_t> start, stop, step;
      for (int64_t n : s) {
        start.push_back(f.below(n + 1));
        stop.push_back(start.back() + f.below(n - start.back() + 1));
        step.push_back(1 + f.below(3));
      }
      return t.b.slice(x(), start, stop, step);
    }
    case 4: return rank == 0 ? ir::kNoNode : t.b.reverse(x(), {dim()});
    case 5: {
      ir::Shape to = s;
      const int64_t at = f.below(static_cast<int64_t>(rank) + 1);
      to.insert(to.begin() + at, 3);
      std::vector<int64_t> dims;
      for (int64_t d = 0; d <= static_cast<int64_t>(rank); ++d) {
        if (d != at) dims.push_back(d);
      }
      return t.b.broadcast(x(), to, dims);
    }
    case 6: {
      std::vector<int64_t> low, high, interior;
      for (int64_t n : s) {
        low.push_back(f.below(4) - (n > 1 ? 1 : 0));
        high.push_back(f.below(4));
        interior.push_back(f.below(3) == 0 ? f.below(3) : 0);
      }
      return t.b.pad(x(), t.in({}, {0.5}), low, high, interior);
    }
    case 7: {
      if (rank == 0) return ir::kNoNode;
      const int64_t d = dim();
      std::vector<NodeId> parts;
      for (int64_t k = 0; k < 3; ++k) {
        ir::Shape part = s;
        part[d] = f.below(6);
        parts.push_back(t.block(DType::F64, f.value(part, false, 0)));
      }
      return t.b.concat(parts, d);
    }
    case 8: {
      if (rank == 0) return ir::kNoNode;
      return t.b.window(x(), {dim()}, {1 + f.below(3)}, {1 + f.below(2), 1 + f.below(2)});
    }
    case 9: return t.b.map(Fn::Add, {x(), x(), t.in({}, {2})}, DType::F64);
    case 10: return t.b.select(t.b.compare(Fn::Lt, x(), x()), x(), t.b.binary(Fn::Mul, x(), x()));
    case 11:
    case 12: {
      if (rank == 0) return ir::kNoNode;
      std::vector<int64_t> dims{dim()};
      if (f.below(2) == 0 && rank > 1) dims = {0, static_cast<int64_t>(rank) - 1};
      static const Fn kFns[] = {Fn::Add, Fn::Max, Fn::Min, Fn::Add};
      return t.b.reduce(kFns[f.below(4)], x(), dims);
    }
    case 13:
    case 14: {
      const int64_t batch = 1 + f.below(3), k = f.below(8), i = 1 + f.below(5), j = f.below(5);
      return t.b.contract(t.block(DType::F64, f.value({i, batch, k}, false, 0)), t.block(DType::F64, f.value({batch, k, j}, false, 0)),
                          {1, 0}, {2, 1}, DType::F64);
    }
    case 15: {
      const int64_t n = 1 + f.below(6);
      const NodeId data = t.block(DType::F64, f.value({n, 4}, false, 0)), index = t.block(DType::I64, f.value({5}, true, n + 1));
      return t.b.take(data, {index}, {-1, 1}, {0}, {5, 4}, IndexMode::Clamp);
    }
    case 16: {
      const int64_t n = 1 + f.below(6);
      const NodeId data = t.block(DType::F64, f.value({3, n}, false, 0)), index = t.block(DType::I64, f.value({3, 1}, true, n));
      return t.b.take(data, {index}, {0, -1}, {0, 1}, {3, 1}, IndexMode::Strict);
    }
    case 17: {
      const int64_t n = 1 + f.below(6), m = f.below(6);
      const NodeId data = t.block(DType::F64, f.value({n, 4}, false, 0)), index = t.block(DType::I64, f.value({m, 2}, true, n + 1));
      const NodeId update = t.block(DType::F64, f.value({m, 2, 4}, false, 0));
      return t.b.scatter(data, update, {index}, {-1, 2}, {0, 1}, f.below(2) ? Fn::Add : Fn::Max, false, IndexMode::Fill);
    }
    case 18: return rank == 0 ? ir::kNoNode : t.b.scan(Fn::Add, x(), dim(), f.below(2) == 0, f.below(2) == 0);
    default: {
      if (rank == 0 || ir::num_elements(s) == 0) return ir::kNoNode;
      ir::Shape part = s;
      std::vector<NodeId> starts;
      for (int64_t& n : part) {
        n = 1 + f.below(n);
        starts.push_back(t.in_i({}, {f.below(8) - 2}));
      }
      return f.below(2) ? t.b.dynamic_slice(x(), starts, part)
                        : t.b.dynamic_update(x(), t.block(DType::F64, f.value(part, false, 0)), starts);
    }
  }
}

}  // namespace

TEST_CASE("blocks agree with dense tensors") {
  int evaluated = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    Fuzz f{std::mt19937_64(seed)};
    Bench t;
    const NodeId id = random_node(f, t);
    if (id == ir::kNoNode) continue;
    const Value blocks = t.value(id);
    Bench dense;
    dense.g = t.g;
    for (const auto& [node, v] : t.inputs) dense.inputs.emplace(node, expanded(v));
    const Value full = dense.value(id);
    CHECK(blocks.data->size <= full.data->size);
    const Comparison c = compare(full, blocks);
    INFO(ir::to_string(t.g, id), " ", describe(c));
    CHECK(c.kind != Comparison::Kind::Differs);
    CHECK(c.kind != Comparison::Kind::Suspect);
    CHECK(c.open == 0);
    t.config.number = Number::Ball;
    const std::vector<double> balls = Bench::elements(t.value(id)), doubles = Bench::elements(full);
    check_values(balls, doubles);
    ++evaluated;
  }
  CHECK(evaluated > 3000);
}

TEST_CASE("blocks of several runs") {
  const Axis a = Axis::labelled(10, {2, 3, 4, 6, 9, 10}, {7, 7, 3, 7, 5, 3});
  CHECK(a.blocks() == 3);
  CHECK(a.runs() == 5);  // neighbours of one block are one run
  CHECK(!a.contiguous());
  CHECK(a.start(1) == 3);
  CHECK(a.count(0) == 5);
  CHECK(a.count(1) == 2);
  CHECK(a.block_of(5) == 0);
  CHECK(a.block_of(9) == 1);
  CHECK(a.straight() == Axis::cut(10, {3, 4, 6, 9, 10}));
  CHECK_THROWS(a.end(0));
  CHECK(Axis::labelled(4, {1, 3, 4}, {9, 8, 7}) == Axis::cut(4, {1, 3, 4}));
  CHECK(Axis::labelled(3, {1, 2, 3}, {4, 6, 5}).is_unit());
  for (uint64_t seed = 0; seed < 500; ++seed) {  // equal blocks of both are equal blocks of what is common, and no others
    CAPTURE(seed);
    Fuzz f{std::mt19937_64(seed)};
    const int64_t n = 1 + f.below(12);
    const Axis x = f.axis(n), y = f.axis(n), both = common(x, y);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j)
        CHECK((both.block_of(i) == both.block_of(j)) == (x.block_of(i) == x.block_of(j) && y.block_of(i) == y.block_of(j)));
    }
    const std::vector<int64_t> inside = containing(both, x);
    for (int64_t i = 0; i < n; ++i) CHECK(inside[both.block_of(i)] == x.block_of(i));
  }
}

TEST_CASE("flattening and back adds no blocks") {
  Bench t;
  const auto input = [&](ir::Shape s, std::vector<Axis> axes) {
    Buffer b = Buffer::make(Number::Interval, static_cast<size_t>(count_blocks(axes)));
    for (size_t k = 0; k < b.size; ++k) b.set(k, {static_cast<double>(k * k % 101), 0});
    CHECK(s.size() == axes.size());
    return t.block(DType::F32, make_value(DType::F32, axes, std::move(b)));
  };
  // Sequence, batch and features, as tokens and features, as heads of a batch, and back.
  const NodeId x = input({4096, 32, 1536}, {Axis::at(4096, {100, 2048}), Axis::at(32, {5}), Axis::at(1536, {768, 800})});
  const NodeId tokens = t.b.reshape(x, {131072, 1536});
  CHECK(t.value(tokens).blocks() == t.value(x).blocks());
  CHECK(t.value(t.b.reshape(tokens, {4096, 32, 1536})).blocks() == t.value(x).blocks());
  const NodeId heads = t.b.reshape(x, {4096, 1024, 48});
  CHECK(t.value(heads).blocks() <= 3 * 2 * 3 * 3 * 3);  // one head has a cut inside
  CHECK(t.value(t.b.reshape(heads, {4096, 32, 32, 48})).blocks() <= 3 * 2 * 3 * 3);
}

TEST_CASE("what is equal becomes one block wherever it is") {
  Buffer b = Buffer::make(Number::Interval, 12);
  for (size_t k = 0; k < 12; ++k) b.set(k, {static_cast<double>(k / 3 % 2 == 0 ? 5 : 6 + k % 3), 0});
  const Value v = compress(make_value(DType::F64, {Axis::unit(4), Axis::unit(3)}, std::move(b)));
  CHECK(v.axes[0].blocks() == 2);
  CHECK(v.axes[0].runs() == 4);
  CHECK(v.axes[1].blocks() == 3);
  CHECK(Bench::elements(expanded(v)) == std::vector<double>{5, 5, 5, 6, 7, 8, 5, 5, 5, 6, 7, 8});
}

TEST_CASE("real sizes cost little") {
  // (65536 x 4096) (4096 x 16384) with a bias, a norm and a reshape: a few hundred blocks.
  Bench t;
  Fuzz f{std::mt19937_64(7)};
  const auto input = [&](ir::Shape s) {
    std::vector<Axis> axes;
    for (int64_t n : s) axes.push_back(Axis::at(n, {n / 2, n / 4, 17}));
    Buffer b = Buffer::make(Number::Interval, static_cast<size_t>(count_blocks(axes)));
    for (size_t k = 0; k < b.size; ++k) b.set(k, {static_cast<double>(f.below(100)) / 64, 0});
    return t.block(DType::F32, make_value(DType::F32, axes, std::move(b)));
  };
  const NodeId x = input({65536, 4096}), w = input({4096, 16384}), bias = input({16384});
  NodeId y = t.b.contract(x, w, {}, {1, 0}, DType::F32);
  y = t.b.binary(Fn::Add, y, t.b.broadcast_trailing(bias, {65536, 16384}));
  y = t.b.reshape(y, {16, 4096, 128, 128});
  y = t.b.reduce(Fn::Add, y, {0, 1, 2, 3});
  const Value v = t.value(y);
  CHECK(v.data->m[0] > 0);
  CHECK(v.data->r[0] < v.data->m[0] * 1e-12);
}

TEST_CASE("values on the way go when nothing reads them any more") {
  Bench t;
  const NodeId x = t.in({3}, {1, 2, 3});
  const NodeId y = t.b.binary(Fn::Add, x, x), z = t.b.binary(Fn::Mul, y, x), w = t.b.binary(Fn::Add, z, y);
  Evaluator e(t.g, t.inputs, t.config);
  e.run({w, y}, false);
  REQUIRE(e.get(w) != nullptr);
  REQUIRE(e.get(y) != nullptr);  // asked for
  CHECK(e.get(z) == nullptr);
  CHECK(Bench::elements(*e.get(w)) == std::vector<double>{4, 12, 24});
  e.run({z});  // made again
  REQUIRE(e.get(z) != nullptr);
  CHECK(Bench::elements(*e.get(z)) == std::vector<double>{2, 8, 18});
}

TEST_CASE("a budget ends in a reason, not in an answer") {
  Bench t;
  t.config.max_blocks = 100;
  const NodeId x = t.b.iota(DType::F64, {1000}, 0);
  Evaluator e(t.g, t.inputs, t.config);
  e.run({x});
  CHECK(e.get(x) == nullptr);
  CHECK(e.reason(x).find("budget") == 0);
}
