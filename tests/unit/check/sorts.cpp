// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Sorts as the checker evaluates them, and what it knows of operators by their names.
#include <algorithm>

#include <doctest/doctest.h>

#include "check/operators.h"
#include "check/terms.h"
#include "ir/build.h"

using namespace shardproof;
using namespace shardproof::check;
using ir::DType;

namespace {

// Element i of what a sort by `keys` carries, which are the positions; -1: it cannot be told.
int64_t moved(const std::vector<Number>& keys, bool descending, int64_t i) {
  ir::Graph graph;
  ir::Builder b(graph);
  const ir::Shape shape{static_cast<int64_t>(keys.size())};
  const ir::NodeId key = b.input("keys", DType::F32, shape), position = b.input("positions", DType::I64, shape);
  const ir::NodeId out = b.sort({key, position}, 0, descending, true)[1];
  Operators operators(graph, [&](ir::NodeId v, const int64_t* at) {
    return v == key ? keys[static_cast<size_t>(*at)] : exact(static_cast<long double>(*at));
  });
  operators.budget = 1000;
  const Number r = operators.at(out, {i});
  CHECK_FALSE(operators.unknown);
  return operators.uncertain || is_undefined(r) ? -1 : static_cast<int64_t>(r.v);
}

Derived known(const std::string& name, size_t args) {
  link::Problem problem;
  Certificate c;
  c.terms.resize(2);
  c.terms[0].kind = TermKind::Iota, c.terms[0].dims = {kUnbounded};
  TermNode& t = c.terms[1];
  t.kind = TermKind::Whole, t.name = name, t.dims = {4}, t.results = 1;
  for (size_t k = 0; k < args; ++k) t.args.push_back({{1, 1, {{0, 1, 1, {1, 0}}}}}), t.inner.push_back({4});
  return Terms(c, problem, 1).derived(1);
}

// A sort of `extent` keys for each of two rows, that carries `carried` (over the row and the place), read at a row: its values.
struct Order {
  Certificate c;
  link::Problem problem;
  explicit Order(int64_t extent, Poly carried, std::vector<int64_t> digits, Poly keys = {{1, 1, {{0, 1, 1, {0, 1, 0}}}}},
                 const char* name = "sort:1:1") {
    c.terms.resize(2);
    c.terms[0].kind = TermKind::Iota, c.terms[0].dims = {kUnbounded};
    TermNode& t = c.terms[1];
    t.kind = TermKind::Whole, t.name = name, t.dims = {2, extent}, t.results = 1;
    if (!keys.empty()) {
      for (Factor& f : keys[0].f) f.map.resize(digits.size() + 2, 0);
    }
    t.args = {keys, carried}, t.inner = {digits, digits};
  }
  std::vector<long double> row(int64_t r, uint64_t seed, Draw draw = Draw::Generic) {
    Terms terms(c, problem, seed);
    terms.budget = 1'000'000;
    terms.start(1, draw);
    std::vector<long double> out;
    for (int64_t k = 0; k < c.terms[1].dims[1]; ++k) {
      const int64_t at[2] = {r, k};
      out.push_back(terms.factor({1, 1, 1, {1, 0, 0, 0, 1, 0}}, at, 2).v);
    }
    return out;
  }
  bool permutes(uint64_t seed, Draw draw = Draw::Generic) {
    for (const int64_t r : {0, 1}) {
      std::vector<long double> all = row(r, seed, draw);
      std::sort(all.begin(), all.end());
      for (size_t k = 0; k < all.size(); ++k) {
        if (all[k] != static_cast<long double>(k)) return false;
      }
    }
    return true;
  }
  bool always() {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      for (const Draw draw : {Draw::Generic, Draw::Special, Draw::Wild}) {
        if (!permutes(seed, draw)) return false;
      }
    }
    return true;
  }
};

}  // namespace

TEST_CASE("the order of a sort is that of its keys") {
  const auto place = [](std::vector<int64_t> row) { return Poly{{1, 1, {{0, 1, 1, std::move(row)}}}}; };
  Order plain(5, place({0, 1, 0}), {5});
  CHECK(plain.always());
  const auto order = [&](std::vector<int64_t> keys, const char* name) {
    return Order(5, place({0, 1, 0}), {5}, place(std::move(keys)), name).row(0, 1);
  };
  const std::vector<long double> rising{0, 1, 2, 3, 4}, falling{4, 3, 2, 1, 0};
  CHECK(order({0, 1, 0}, "sort:0:1") == rising);
  CHECK(order({0, 1, 0}, "sort:1:1") == falling);
  CHECK(order({0, -1, 7}, "sort:0:1") == falling);
  CHECK(order({1, 0, 0}, "sort:0:1") == rising);  // equal keys stay
  CHECK(order({1, 0, 0}, "sort:1:1") == rising);
  CHECK(Order(6, place({0, 1, 2, 0}), {2, 3}).always());  // in digits
  CHECK(Order(6, place({0, -1, 5}), {6}).always());       // backwards
  // Not all places, or one of them twice, or others; as they hang on the row.
  CHECK_FALSE(Order(3, place({0, 1, 0}), {5}).always());
  CHECK_FALSE(Order(5, place({0, 2, 0}), {5}).always());
  CHECK_FALSE(Order(5, place({0, 1, 1}), {5}).always());
  CHECK_FALSE(Order(6, place({0, 1, 1, 0}), {2, 3}).always());
  CHECK_FALSE(Order(5, place({1, 1, 0}), {5}).always());
  CHECK_FALSE(Order(5, Poly{}, {5}).always());
  // Keys that may be undefined have no order; a kernel's results are its own.
  CHECK_FALSE(Order(5, place({0, 1, 0}), {5}, {{1, 1, {{0, -1, 1, {0, 1, 0}}}}}).always());
  CHECK_FALSE(Order(5, place({0, 1, 0}), {5}, {{1, 1, {{0, 1, 1, {0, 1, 0}}}}}, "sort:1:1 (x)#1").always());
}

TEST_CASE("S-27 equal keys stay where they are, if they are known to be equal") {
  for (const bool descending : {false, true}) {
    for (int64_t i = 0; i < 3; ++i) CHECK(moved({exact(2), exact(2), exact(2)}, descending, i) == i);
    // What is rounded alike is equal; else it cannot be told.
    Number near = fraction(1, 3);
    near.e *= 2;
    CHECK(moved({fraction(1, 3), fraction(1, 3)}, descending, 0) == 0);
    CHECK(moved({fraction(1, 3), near}, descending, 0) == -1);
    CHECK(moved({exact(2), undefined()}, descending, 0) == -1);
    CHECK(moved({exact(1), exact(3), exact(1)}, descending, 0) == (descending ? 1 : 0));
    CHECK(moved({exact(1), exact(3), exact(1)}, descending, 2) == (descending ? 2 : 1));
  }
}

TEST_CASE("numbers of other scales are not sorted by their digits") {
  const Number huge{0.5L, 0, 20000}, tiny{0.5L, 0, -20000};
  for (const int64_t i : {0, 1}) {
    for (const bool descending : {false, true}) {
      const int64_t up = moved({exact(1), huge}, descending, i), down = moved({tiny, exact(0.25)}, descending, i);
      CHECK((up == -1 || up == (descending ? 1 - i : i)));
      CHECK((down == -1 || down == (descending ? 1 - i : i)));
    }
  }
}

TEST_CASE("a kernel is not known by a name that begins as an operator's") {
  CHECK(known("sort:1:1", 2).finite);
  CHECK(known("sort:1:1", 2).hi == 3);
  CHECK(known("sort:1:1 digits 0:1", 2).hi == 3);
  CHECK_FALSE(known("sort:1:2", 2).finite);
  CHECK(known("argmax", 1).finite);
  for (const char* name : {"argmax_pool()#0", "argmin(axis=1)#0", "sort:1:1()#0", "sort:1:1 (x)#1"}) {
    CHECK_FALSE(known(name, 1).finite);
    CHECK_FALSE(known(name, 2).finite);
    CHECK_FALSE(known(name, 1).integer);
    CHECK_FALSE(known(name, 1).nonneg);
  }
}
