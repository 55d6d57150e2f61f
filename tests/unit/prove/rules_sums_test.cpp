// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The rules of docs/lemmas.md, one by one, as in rules_test.cpp: those of sums, extremes and pieces.
#include "unit/prove/rules.h"

using namespace shardproof;
using namespace shardproof::test;

TEST_CASE("L-2, L-10, L-12, L-31 pieces of one sum") {
  Tried shift(prove::Rule::L2), box(prove::Rule::L10), one(prove::Rule::L12), block(prove::Rule::L31);
  for (int64_t n = 0; n <= 6; ++n) {
    for (auto [d, c] : cuts(n)) {
      for (Tried* rule : {&shift, &box}) {
        rule->same([n, c = c, d = d](Forms& t) {
          const NodeId x = t.tanh(t.in("x", {n}));
          return Pair{t.sum(x, 0), t.add(t.add(t.sum(t.rows(x, 0, c), 0), t.sum(t.rows(x, c, d), 0)), t.sum(t.rows(x, d, n), 0))};
        });
      }
      box.any([n, c = c, d = d](Forms& t) {
        const NodeId x = t.tanh(t.in("x", {n}));
        return Pair{t.sum(x, 0), t.add(t.sum(t.rows(x, 0, c), 0), t.sum(t.rows(x, d, n), 0))};
      });
      box.any([n, c = c](Forms& t) {  // log z may be infinite: inf (2 - 1) is inf, 2 inf - inf is undefined
        const NodeId x = t.in("x", {n}), z = t.fn(Fn::Log, t.in("z", {}));
        return Pair{t.mul(t.sum(x, 0), z), t.add(t.mul(t.sum(t.rows(x, 0, c), 0), z), t.mul(t.sum(t.rows(x, c, n), 0), z))};
      });
    }
    if (n == 0) continue;
    for (bool first : {false, true}) {
      one.same([=](Forms& t) {
        const NodeId x = t.in("x", {n}), y = t.in("y", {n}), p = t.mul(x, y);
        return Pair{t.sum(p, 0), t.add(t.sum(t.rows(p, first, n - !first), 0), t.at(p, first ? 0 : n - 1))};
      });
      one.any([=](Forms& t) {
        const NodeId x = t.in("x", {n}), y = t.in("y", {n}), p = t.mul(x, y);
        return Pair{t.sum(p, 0), t.add(t.sum(p, 0), t.at(p, first ? 0 : n - 1))};
      });
    }
    for (int64_t r : {0, 1, 2}) {
      block.same([=](Forms& t) {
        const NodeId x = t.in("x", {3 * n}), y = t.in("y", {3 * n}), p = t.mul(x, y);
        return Pair{t.at(t.sum(t.b.reshape(p, {3, n}), 1), r), t.sum(t.rows(p, r * n, r * n + n), 0)};
      });
    }
  }
  shift.done();
  box.done();
  one.done();
  block.done();
}

TEST_CASE("L-8, L-9, L-16, L-36, L-37, L-50 products in sums") {
  Tried leave(prove::Rule::L8), apart(prove::Rule::L9), flat(prove::Rule::L16), inner(prove::Rule::L36), bodies(prove::Rule::L37),
      order(prove::Rule::L50);
  for (int64_t n : {0, 1, 2, 3}) {
    for (int64_t m : {0, 1, 2, 3}) {
      for (bool finite : {true, false}) {
        // A factor that may be infinite stays where it is.
        const auto factor = [=](Forms& t, const Shape& s) { return finite ? t.in("f", s) : t.fn(Fn::Log, t.in("f", s)); };
        const auto maybe = [&](Tried& rule, const Make& make) { finite ? rule.same(make) : rule.any(make); };
        maybe(leave, [=](Forms& t) {
          const NodeId x = t.in("x", {n}), f = factor(t, {});
          return Pair{t.sum(t.mul(x, f), 0), t.mul(t.sum(x, 0), f)};
        });
        maybe(apart, [=](Forms& t) {
          const NodeId x = factor(t, {n}), y = t.in("y", {m});
          return Pair{t.b.reduce(Fn::Add, t.mul(t.b.broadcast(x, {n, m}, {0}), t.b.broadcast(y, {n, m}, {1})), {0, 1}),
                      t.mul(t.sum(x, 0), t.sum(y, 0))};
        });
        maybe(inner, [=](Forms& t) {
          const NodeId a = t.in("a", {n, 2}), b = t.in("b", {2, m}), f = factor(t, {n}), ab = t.mm(a, b);
          return Pair{t.sum(t.mul(f, t.sum(ab, 1)), 0), t.b.reduce(Fn::Add, t.mul(ab, t.b.broadcast(f, {n, m}, {0})), {0, 1})};
        });
        maybe(order, [=](Forms& t) {
          const NodeId a = factor(t, {2, n}), b = t.in("b", {2, m}), c = t.in("c", {n, m});
          return Pair{t.sum(t.mul(t.mm(a, c), b), 1), t.sum(t.mul(a, t.mm(b, t.b.transpose(c, {1, 0}))), 1)};
        });
        for (int64_t c = 0; c <= m; ++c) {
          maybe(bodies, [=](Forms& t) {
            const NodeId a = t.in("a", {n, m}), b = t.in("b", {m, 1}), f = factor(t, {n, 1});
            const NodeId low = t.mm(t.columns(a, 0, c), t.rows(b, 0, c)), high = t.mm(t.columns(a, c, m), t.rows(b, c, m));
            return Pair{t.sum(t.mul(f, t.mm(a, b)), 0), t.add(t.sum(t.mul(f, low), 0), t.sum(t.mul(f, high), 0))};
          });
        }
      }
      flat.same([=](Forms& t) {
        const NodeId x = t.in("x", {n, m});
        return Pair{t.b.reduce(Fn::Add, x, {0, 1}), t.sum(t.sum(x, 1), 0)};
      });
      flat.any([=](Forms& t) {
        const NodeId x = t.in("x", {n, m}), y = t.in("y", {n, m});
        return Pair{t.b.reduce(Fn::Add, t.mul(x, y), {0, 1}), t.sum(t.mul(t.sum(x, 1), t.sum(y, 1)), 0)};
      });
      bodies.any([=](Forms& t) {
        const NodeId a = t.in("a", {n, m}), b = t.in("b", {m, 1}), d = t.in("d", {m, 1}), f = t.in("f", {n, 1});
        return Pair{t.sum(t.mul(f, t.mm(a, t.add(b, d))), 0), t.add(t.sum(t.mul(f, t.mm(a, b)), 0), t.sum(t.mul(f, t.mm(a, d)), 0))};
      });
    }
  }
  leave.done();
  apart.done();
  flat.done();
  inner.done();
  bodies.done(4, Tried::Elsewhere::Applied);
  order.done();
}

TEST_CASE("L-11, L-13, L-14, L-27, L-33, L-56 sums under masks") {
  Tried more(prove::Rule::L11), pair(prove::Rule::L13), cut(prove::Rule::L14), wide(prove::Rule::L27), number(prove::Rule::L33),
      beside(prove::Rule::L56);
  const auto running = [](Forms& t, NodeId x) { return t.b.scan(Fn::Add, x, 0); };
  for (int64_t n : {0, 1, 2, 3, 5}) {
    for (int64_t c = 0; c <= n; ++c) {
      // A running sum in two blocks: the second one begins where the first one ended.
      more.same([=](Forms& t) {
        const NodeId x = t.in("x", {n}), low = t.rows(x, 0, c), high = t.rows(x, c, n);
        return Pair{running(t, x), t.b.concat({running(t, low), t.add(running(t, high), t.sum(low, 0))}, 0)};
      });
      more.any([=](Forms& t) {
        const NodeId x = t.in("x", {n}), low = t.rows(x, 0, c), high = t.rows(x, c, n);
        return Pair{running(t, x), t.b.concat({running(t, low), t.add(running(t, high), t.sum(high, 0))}, 0)};
      });
      for (bool finite : {true, false}) {
        const Make make = [=](Forms& t) {
          const NodeId x = finite ? t.in("x", {n}) : t.div(t.num(1), t.in("x", {n}));
          return Pair{t.rows(running(t, x), 0, c), running(t, t.rows(x, 0, c))};
        };
        finite ? wide.same(make) : wide.any(make);
      }
      cut.same([=](Forms& t) {
        const NodeId x = t.in("x", {n});
        return Pair{t.sum(t.masked(t.before(n, c), x), 0), t.sum(t.rows(x, 0, c), 0)};
      });
      for (int64_t rows : {c, n + 1}) {
        // How many k < n are at most i: i + 1, as long as i < n.
        const Make make = [=](Forms& t) {
          const NodeId i = t.b.iota(DType::I32, {rows, n}, 0), k = t.b.iota(DType::I32, {rows, n}, 1);
          return Pair{t.b.convert(t.add(t.b.iota(DType::I32, {rows}, 0), t.integer(1)), DType::F32),
                      t.sum(t.masked(t.b.compare(Fn::Le, k, i), t.full({rows, n}, 1)), 1)};
        };
        rows <= n ? number.same(make) : number.any(make);
      }
      for (int64_t gap : {0, 1}) {
        // Of a bag's rows each rank holds some.
        const Make make = [=](Forms& t) {
          const NodeId x = t.in("x", {n}), i = t.range(t.in("i", {n}, DType::I32), 0, 4);
          const NodeId low = t.b.compare(Fn::Lt, i, t.all({n}, t.integer(2))),
                       high = t.b.compare(Fn::Ge, i, t.all({n}, t.integer(2 + gap)));
          return Pair{t.sum(x, 0), t.add(t.sum(t.masked(low, x), 0), t.sum(t.masked(high, x), 0))};
        };
        gap == 0 ? beside.same(make) : beside.any(make);
      }
    }
  }
  for (int64_t n : {2, 3}) {
    pair.same([=](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n});
      NodeId s = t.mul(t.at(x, 0), t.at(y, 0));
      for (int64_t k = 1; k < n; ++k) s = t.add(s, t.mul(t.at(x, k), t.at(y, k)));
      return Pair{t.sum(t.mul(x, y), 0), s};
    });
    for (int64_t rows : {1, 2, 3, 4}) {
      // Brackets of two labels are no range; those of two positions are.
      for (bool labels : {true, false}) {
        pair.any([=](Forms& t) {
          const NodeId x = t.in("x", {n, rows}), i = t.range(t.in("i", {n}, DType::I32), 0, 3);
          std::vector<NodeId> parts;
          for (int64_t k = 0; k < n; ++k) {
            const NodeId bound = labels ? t.at(i, k) : t.integer(k);
            const NodeId m = t.b.compare(Fn::Ge, t.b.iota(DType::I32, {rows}, 0), t.all({rows}, bound));
            parts.push_back(t.masked(m, t.b.reshape(t.rows(x, k, k + 1), {rows})));
          }
          const NodeId from = labels ? t.b.broadcast(i, {n, rows}, {0}) : t.b.iota(DType::I32, {n, rows}, 0);
          return Pair{t.sum(t.masked(t.b.compare(Fn::Ge, t.b.iota(DType::I32, {n, rows}, 1), from), x), 0),
                      t.b.map(Fn::Add, parts, DType::F32)};
        });
      }
    }
  }
  more.done(5);
  pair.done();
  cut.done();
  wide.done(3);
  number.done();
  beside.done();
}

TEST_CASE("L-17, L-18, L-34, L-49 extremes") {
  Tried leave(prove::Rule::L17), join(prove::Rule::L18), roll(prove::Rule::L34), layers(prove::Rule::L49);
  for (int64_t n : {0, 1, 2, 3, 5}) {
    for (bool finite : {true, false}) {
      const Make make = [=](Forms& t) {
        const NodeId x = t.in("x", {n}), f = finite ? t.in("f", {}) : t.fn(Fn::Log, t.in("f", {}));
        return Pair{t.most(t.add(x, f), 0), t.add(t.most(x, 0), f)};
      };
      finite&& n > 0 ? leave.same(make) : leave.any(make);
    }
    for (auto [d, c] : cuts(n)) {
      join.same([n, c = c](Forms& t) {
        const NodeId x = t.mul(t.in("x", {n}), t.in("y", {n}));
        return Pair{t.most(x, 0), t.binary(Fn::Max, t.most(t.rows(x, 0, c), 0), t.most(t.rows(x, c, n), 0))};
      });
      join.any([n, c = c, d = d](Forms& t) {
        const NodeId x = t.mul(t.in("x", {n}), t.in("y", {n}));
        return Pair{t.most(x, 0), t.binary(Fn::Max, t.most(t.rows(x, 0, c), 0), t.most(t.rows(x, d, n), 0))};
      });
      layers.same([n, c = c](Forms& t) {
        const NodeId a = t.in("a", {c, 2}), b = t.in("b", {n - c, 2}), s = t.in("s", {n, 1});
        const NodeId rows = t.b.concat({t.most(a, 1), t.most(b, 1)}, 0);
        return Pair{t.most(t.b.concat({t.b.concat({a, b}, 0), s}, 1), 1), t.binary(Fn::Max, rows, t.most(s, 1))};
      });
    }
    if (n < 2) continue;
    roll.same([=](Forms& t) {
      const NodeId x = t.in("x", {n});
      std::vector<NodeId> parts;
      for (int64_t k = n; k-- > 0;) parts.push_back(t.at(x, k));
      return Pair{t.most(x, 0), t.b.map(Fn::Max, parts, DType::F32)};
    });
  }
  leave.done();
  join.done(14);
  roll.done();
  layers.done();
}

TEST_CASE("L-41, L-42, L-44, L-57 formulas of a training step") {
  Tried variance(prove::Rule::L41), named(prove::Rule::L42), long_sum(prove::Rule::L44), merged(prove::Rule::L57);
  for (int64_t n : {1, 2, 3}) {
    for (bool finite : {true, false}) {
      const Make make = [=](Forms& t) {
        const NodeId x = t.in("x", {n}), f = finite ? t.in("f", {}) : t.fn(Fn::Log, t.in("f", {}));
        const NodeId s = t.sum(x, 0), mean = t.div(s, t.num(static_cast<double>(n))), off = t.sub(x, t.all({n}, mean));
        return Pair{t.mul(f, t.sum(t.mul(off, off), 0)), t.sub(t.mul(f, t.sum(t.mul(x, x), 0)), t.mul(f, t.mul(s, mean)))};
      };
      finite ? variance.same(make) : variance.any(make);
      const Make deviations = [=](Forms& t) {
        const NodeId x = t.in("x", {n}), h = finite ? t.in("h", {n}) : t.fn(Fn::Log, t.in("h", {n}));
        const NodeId mean = t.div(t.sum(x, 0), t.num(static_cast<double>(n)));
        return Pair{t.sum(t.mul(t.sub(x, t.all({n}, mean)), h), 0), t.sub(t.sum(t.mul(x, h), 0), t.mul(mean, t.sum(h, 0)))};
      };
      finite ? named.same(deviations) : named.any(deviations);
    }
    for (int64_t terms : {16, 17, 19}) {
      long_sum.same([=](Forms& t) {
        std::vector<NodeId> parts;
        for (int64_t k = 0; k < terms; ++k) parts.push_back(t.tanh(t.in(("x" + std::to_string(k)).c_str(), {n})));
        std::vector<NodeId> turned(parts.rbegin(), parts.rend());
        return Pair{t.tanh(t.b.map(Fn::Add, parts, DType::F32)), t.tanh(t.b.map(Fn::Add, turned, DType::F32))};
      });
    }
    for (int64_t m : {1, 2, 3}) {
      for (bool positive : {true, false}) {
        const Make make = [=](Forms& t) {
          const NodeId x = t.in("x", {n + m}), v = t.in("v", {n + m}), e = positive ? t.fn(Fn::Exp, x) : x;
          const auto part = [&](NodeId y, int64_t from, int64_t to) { return t.sum(t.rows(y, from, to), 0); };
          const NodeId ev = t.mul(e, v), d = part(e, 0, n), r = part(e, n, n + m), total = t.add(d, r);
          const NodeId first = t.div(part(ev, 0, n), d), second = t.div(part(ev, n, n + m), r);
          return Pair{t.div(t.sum(ev, 0), t.sum(e, 0)), t.sub(first, t.mul(t.div(r, total), t.sub(first, second)))};
        };
        positive ? merged.same(make) : merged.any(make);
      }
    }
  }
  variance.done();
  named.done();
  long_sum.done();
  merged.done(5);
}

TEST_CASE("L-40, L-43, L-46, L-47, L-55 tensors in pieces") {
  Tried padded(prove::Rule::L40), whole(prove::Rule::L43), digits(prove::Rule::L46), again(prove::Rule::L47), same(prove::Rule::L55);
  for (int64_t n : {1, 2, 3, 4}) {
    for (int64_t c = 1; c < n; ++c) {
      for (bool finite : {true, false}) {
        // A window of three over rows that two ranks hold, who give each other their borders.
        const Make make = [=](Forms& t) {
          const NodeId x = t.in("x", {n});
          const NodeId y = finite ? x : t.masked(t.before(n, c), t.div(t.num(1), x));
          const auto pool = [&](NodeId z) { return t.sum(t.b.window(z, {0}, {3}, {1, 1}), 1); };
          const NodeId pad = t.b.pad(y, t.num(0), {1}, {1}, {0});
          return Pair{pool(pad), t.b.concat({pool(t.b.pad(t.rows(y, 0, c + 1), t.num(0), {1}, {0}, {0})),
                                             pool(t.b.pad(t.rows(y, c - 1, n), t.num(0), {0}, {1}, {0}))},
                                            0)};
        };
        finite ? padded.same(make) : padded.any(make);
      }
      whole.same([=](Forms& t) {
        const NodeId x = t.in("x", {n, 3});
        const auto sorted = [&](NodeId y) { return t.b.sort({y}, 1, false, true)[0]; };
        return Pair{sorted(x), t.b.concat({sorted(t.rows(x, 0, c)), sorted(t.rows(x, c, n))}, 0)};
      });
      whole.any([=](Forms& t) {
        const NodeId x = t.in("x", {2, c}), y = t.in("y", {2, n - c});
        return Pair{t.b.sort({t.b.concat({x, y}, 1)}, 1, false, true)[0], t.b.sort({t.b.concat({y, x}, 1)}, 1, false, true)[0]};
      });
      digits.same([=](Forms& t) {
        const NodeId p = t.in("p", {2, c}), q = t.in("q", {2, n - c}), r = t.in("r", {2, n - c}), s = t.in("s", {2, c});
        const NodeId x = t.b.concat({p, q}, 1), y = t.b.concat({r, s}, 1);
        return Pair{t.b.reshape(t.add(x, y), {2 * n}), t.add(t.b.reshape(x, {2 * n}), t.b.reshape(y, {2 * n}))};
      });
      digits.any([=](Forms& t) {
        const NodeId p = t.in("p", {3, c}), q = t.in("q", {3, n - c}), x = t.b.reshape(t.b.concat({p, q}, 1), {3 * n});
        return Pair{t.rows(t.add(x, x), 0, 2 * n), t.add(t.rows(x, 0, 2 * n), t.rows(x, c, c + 2 * n))};
      });
      for (int64_t batch : {1, 2, 3}) {
        same.same([=](Forms& t) {
          const NodeId u = t.in("u", {c}), v = t.in("v", {n - c}), i = t.range(t.in("i", {batch}, DType::I32), 0, n);
          const NodeId wide = t.b.concat({t.b.broadcast(u, {batch, c}, {1}), t.b.broadcast(v, {batch, n - c}, {1})}, 1);
          const NodeId a = t.b.take(wide, {i}, {0, -1}, {1}, {batch, batch}, ir::IndexMode::Strict);
          return Pair{t.b.broadcast(t.read(t.b.concat({u, v}, 0), i), {batch, batch}, {1}), a};
        });
      }
    }
    again.same([=](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n});
      const NodeId first = t.tanh(t.mul(t.at(x, 0), t.at(y, 0))), rest = t.tanh(t.mul(x, y));
      return Pair{t.add(first, t.sum(rest, 0)), t.add(t.at(rest, 0), t.add(t.sum(t.rows(rest, 0, 1), 0), t.sum(t.rows(rest, 1, n), 0)))};
    });
  }
  padded.done(5);
  whole.done();
  digits.done(0, Tried::Elsewhere::Refused);
  again.done();
  same.done(6);
}
