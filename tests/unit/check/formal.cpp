// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Polynomials of terms at a point, compared by hashes: which laws hold of what is finite, and of what is not.
#include <doctest/doctest.h>

#include "check/terms.h"
#include "ir/build.h"

using namespace shardproof;
using namespace shardproof::check;
using ir::DType;

namespace {

// Terms 0 to 2: inputs x, y, z (finite). 3: 1/x, which may be undefined. 4: a result of which nothing is known. 5: x + y. 6: no summand.
// 7: 3 + (x + y). 8: e^(x + y), 9: e^x, 10: e^y. 11: [x in 0..3).
struct Some {
  Certificate c;
  link::Problem problem;
  Some() {
    ir::Builder b(problem.graph);
    for (const char* name : {"x", "y", "z"}) b.input(name, DType::F32, {4});
    b.opaque("f", "", {0}, {{DType::F32, {4}}});
    c.terms.resize(12);
    for (TermNode& t : c.terms) t.dims = {4};
    for (ir::NodeId v = 0; v < 3; ++v) c.terms[v].origin = v;
    auto define = [&](uint32_t id, TermKind kind, Poly p) { c.terms[id].kind = kind, c.terms[id].args = {std::move(p)}; };
    define(3, TermKind::Sum, {{1, 1, {read(0, -1)}}});
    c.terms[4].origin = 4;
    define(5, TermKind::Sum, {{1, 1, {read(0)}}, {1, 1, {read(1)}}});
    define(6, TermKind::Sum, {});
    define(7, TermKind::Sum, {{3, 1, {}}, {1, 1, {read(5)}}});
    for (uint32_t k : {8, 9, 10}) {
      define(k, TermKind::Fn, {{1, 1, {read(k == 8 ? 5 : k - 9)}}});
      c.terms[k].fn = ir::Fn::Exp, c.terms[k].dtype = DType::F32;
    }
    define(11, TermKind::Bracket, {{1, 1, {read(0)}}});
    c.terms[11].lo = 0, c.terms[11].hi = 3;
    c.claims.resize(1);  // that reads all of them
    c.claims[0].cells.push_back({{4}, {1, 0}, {}});
    for (uint32_t k = 0; k < 12; ++k) c.claims[0].cells[0].poly.push_back({1, 1, {read(k)}});
  }
  static Factor read(uint32_t id, int64_t num = 1, int64_t den = 1, int64_t at = 0) { return {id, num, den, {1, at}}; }
  bool same(const Poly& a, const Poly& b) {
    bool all = true, any = false;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      Terms terms(c, problem, seed);
      const int64_t at = 1;
      Terms::Sum one, other;
      terms.formal(a, &at, 1, one);
      terms.formal(b, &at, 1, other);
      const bool equal = terms.shape(one) == terms.shape(other);
      all &= equal, any |= equal;
    }
    CHECK(all == any);
    return all;
  }
};

Product of(int64_t num, std::vector<Factor> f, int64_t den = 1) { return {num, den, std::move(f)}; }

}  // namespace

TEST_CASE("sums of finite reads obey the laws of a ring") {
  Some s;
  const auto r = [](uint32_t id, int64_t num = 1, int64_t den = 1, int64_t at = 0) { return Some::read(id, num, den, at); };
  CHECK(s.same({of(1, {r(5)})}, {of(1, {r(1)}), of(1, {r(0)})}));
  CHECK(s.same({of(1, {r(7)})}, {of(1, {r(1)}), of(1, {r(0)}), of(3, {})}));
  CHECK(s.same({of(1, {r(5), r(2)})}, {of(1, {r(1), r(2)}), of(1, {r(0), r(2)})}));
  CHECK(s.same({of(1, {r(5, 2)})}, {of(1, {r(0, 2)}), of(2, {r(0), r(1)}), of(1, {r(1, 2)})}));
  CHECK(s.same({of(1, {r(0)}, 3), of(1, {r(0)}, 6)}, {of(1, {r(0)}, 2)}));
  CHECK(s.same({of(1, {r(0)}), of(-1, {r(0)})}, {}));
  CHECK(s.same({of(1, {r(8)})}, {of(1, {r(9), r(10)})}));
  CHECK(s.same({of(1, {r(9, 2), r(9, -1)})}, {of(1, {r(9)})}));
  CHECK_FALSE(s.same({of(1, {r(5)})}, {of(1, {r(0)}), of(-1, {r(1)})}));
  CHECK_FALSE(s.same({of(1, {r(0, 1, 1, 1)})}, {of(1, {r(0)})}));
  CHECK_FALSE(s.same({of(1, {r(8)})}, {of(1, {r(9)}), of(1, {r(10)})}));
  // 1/x * x is not 1 where x is 0, nor is a root of x something of which the sign is not known.
  CHECK_FALSE(s.same({of(1, {r(0, -1), r(0)})}, {of(1, {})}));
  CHECK_FALSE(s.same({of(1, {r(0, 1, 2), r(0, 1, 2)})}, {of(1, {r(0)})}));
  // Numbers that are equal modulo some prime are not equal.
  for (const int64_t p : {(int64_t{1} << 61) - 1, (int64_t{1} << 60) + 33}) {
    CHECK_FALSE(s.same({of(1, {r(0)})}, {of(1 + p, {r(0)})}));
    CHECK_FALSE(s.same({of(1, {r(0)})}, {of(1, {r(0, 1 + p)})}));
  }
}

TEST_CASE("nothing leaves or enters a product with what may be infinite, or is hidden") {
  Some s;
  const auto r = [](uint32_t id, int64_t num = 1) { return Some::read(id, num); };
  REQUIRE_FALSE(Terms(s.c, s.problem, 1).derived(4).noinf);
  REQUIRE(Terms(s.c, s.problem, 1).derived(3).noinf);
  REQUIRE_FALSE(Terms(s.c, s.problem, 1).derived(3).finite);
  const Poly written{of(1, {r(0), r(4)}), of(1, {r(1), r(4)})};
  CHECK_FALSE(s.same({of(1, {r(5), r(4)})}, written));
  CHECK_FALSE(s.same({of(1, {r(4), r(5)})}, written));
  CHECK_FALSE(s.same({of(1, {r(6), r(4)})}, {}));  // 0 times infinity
  CHECK_FALSE(s.same({of(1, {r(4), r(6)})}, {}));
  CHECK_FALSE(s.same({of(1, {r(4)}), of(-1, {r(4)})}, {}));
  CHECK(s.same({of(1, {r(4), r(0)})}, {of(1, {r(0), r(4)})}));
  // Undefined, but never infinite: written out, and not cancelled; what a bracket may hide stays where it is.
  CHECK(s.same({of(1, {r(5), r(3)})}, {of(1, {r(0), r(3)}), of(1, {r(1), r(3)})}));
  CHECK_FALSE(s.same({of(1, {r(3)}), of(-1, {r(3)})}, {}));
  CHECK_FALSE(s.same({of(1, {r(6), r(3)})}, {}));
  CHECK_FALSE(s.same({of(1, {r(5), r(3), r(11)})}, {of(1, {r(0), r(3), r(11)}), of(1, {r(1), r(3), r(11)})}));
  const int64_t at = 1;
  Terms terms(s.c, s.problem, 3);
  Terms::Sum hidden, undefined, sum, infinite;
  terms.formal({of(1, {r(0), r(11)}), of(1, {r(1)})}, &at, 1, hidden);
  terms.formal({of(1, {r(3)})}, &at, 1, undefined);
  terms.formal({of(1, {r(0)}), of(1, {r(1)})}, &at, 1, sum);
  terms.formal({of(1, {r(4)})}, &at, 1, infinite);
  Terms::Sum copy = hidden;
  CHECK_FALSE(terms.multiply(copy, undefined));
  copy = infinite;
  CHECK_FALSE(terms.multiply(copy, sum));
  copy = Terms::Sum{};
  CHECK_FALSE(terms.multiply(copy, infinite));
  copy = Terms::Sum{};
  CHECK_FALSE(terms.multiply(copy, undefined));
  copy = sum;
  CHECK(terms.multiply(copy, undefined));
  CHECK_FALSE(terms.invert(copy));
}
