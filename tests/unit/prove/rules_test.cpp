// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The rules of docs/lemmas.md, one by one: left and right forms of tiny shapes (sizes 0 to 3, all cuts), with side conditions that hold and
// such that do not. What the prover calls equal must evaluate equally in the reference interpreter; where a rule applies it must be called
// equal; and each rule must have been applied, and refused, on the way (prove/coverage.h). rules_sums_test.cpp has those of sums.
#include "unit/prove/rules.h"

using namespace shardproof;
using namespace shardproof::test;

TEST_CASE("L-1 a definition is read in its most general form") {
  Tried rule(prove::Rule::L1);
  for (auto [n, c] : cuts(3)) {
    rule.same([n = n, c = c](Forms& t) {
      const NodeId x = t.in("x", {n, 2}), y = t.in("y", {n, 2});
      return Pair{t.rows(t.tanh(t.mul(x, y)), c, n), t.tanh(t.mul(t.rows(x, c, n), t.rows(y, c, n)))};
    });
    // Two inputs that are read at one constant place each are not walked together by that.
    rule.any([n = n, c = c](Forms& t) {
      const NodeId x = t.in("x", {n + 1}), y = t.in("y", {n + 1});
      return Pair{t.tanh(t.mul(t.at(x, c), t.at(y, c))), t.at(t.tanh(t.mul(x, y)), c)};
    });
  }
  rule.done();
}

TEST_CASE("L-3, L-30, L-51, L-52 sums as names") {
  Tried name(prove::Rule::L3), meet(prove::Rule::L30), group(prove::Rule::L51), mask(prove::Rule::L52);
  for (int64_t n : {0, 1, 2, 3}) {
    name.same([n](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n}), z = t.in("z", {n});
      return Pair{t.mul(t.add(x, y), z), t.mul(z, t.add(y, x))};
    });
    meet.same([n](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n}), z = t.in("z", {n});
      return Pair{t.mul(x, z), t.sub(t.mul(t.add(x, y), z), t.mul(y, z))};
    });
    meet.any([n](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n}), z = t.in("z", {n}), u = t.in("u", {n});
      return Pair{t.mul(t.add(t.add(x, y), u), z), t.add(t.mul(t.add(x, y), z), t.mul(u, z))};
    });
    group.same([n](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n}), z = t.in("z", {n}), f = t.in("f", {n});
      return Pair{t.tanh(t.add(t.mul(f, t.add(x, y)), z)), t.tanh(t.add(t.add(t.mul(f, x), z), t.mul(f, y)))};
    });
    group.any([n](Forms& t) {  // log f is infinite where f is 0
      const NodeId x = t.in("x", {n}), y = t.in("y", {n}), z = t.in("z", {n}), f = t.fn(Fn::Log, t.at_least(t.in("f", {n}), 0));
      return Pair{t.tanh(t.add(t.mul(f, t.add(x, y)), z)), t.tanh(t.add(t.add(t.mul(f, x), z), t.mul(f, y)))};
    });
    for (int64_t c : {0, 1, 2, 3}) {
      mask.same([n, c](Forms& t) {
        const NodeId x = t.in("x", {n}), y = t.in("y", {n}), f = t.in("f", {n}), m = t.before(n, c);
        return Pair{t.mul(t.masked(m, t.add(x, y)), f), t.masked(m, t.mul(f, t.add(y, x)))};
      });
      mask.any([n, c](Forms& t) {
        const NodeId x = t.in("x", {n}), y = t.in("y", {n}), f = t.in("f", {n}), m = t.before(n, c);
        return Pair{t.mul(t.add(t.masked(m, x), y), f), t.add(t.masked(m, t.mul(f, x)), t.mul(y, f))};
      });
    }
  }
  name.done();
  meet.done();
  group.done();
  mask.done();
}

TEST_CASE("L-4, L-7, L-66 powers") {
  Tried add(prove::Rule::L4), of(prove::Rule::L7), even(prove::Rule::L66);
  for (int64_t n : {0, 1, 2, 3}) {
    for (bool positive : {false, true}) {
      const auto input = [n, positive](Forms& t, const char* name) { return positive ? t.above(t.in(name, {n}), 0) : t.in(name, {n}); };
      const auto maybe = [&](Tried& rule, const Make& make) { positive ? rule.same(make) : rule.any(make); };
      add.same([=](Forms& t) {
        const NodeId x = input(t, "x");
        return Pair{t.mul(t.mul(x, x), x), t.binary(Fn::Pow, x, t.num(3))};
      });
      maybe(add, [=](Forms& t) {
        const NodeId x = input(t, "x");
        return Pair{x, t.div(t.mul(x, x), x)};
      });
      maybe(add, [=](Forms& t) {
        const NodeId x = input(t, "x");
        return Pair{x, t.mul(t.fn(Fn::Sqrt, x), t.fn(Fn::Sqrt, x))};
      });
      of.same([=](Forms& t) {
        const NodeId x = input(t, "x");
        return Pair{t.fn(Fn::Abs, x), t.fn(Fn::Sqrt, t.mul(x, x))};
      });
      maybe(of, [=](Forms& t) {
        const NodeId x = input(t, "x"), y = input(t, "y");
        return Pair{t.fn(Fn::Sqrt, t.mul(x, y)), t.mul(t.fn(Fn::Sqrt, x), t.fn(Fn::Sqrt, y))};
      });
      maybe(of, [=](Forms& t) {
        const NodeId x = input(t, "x");
        return Pair{x, t.div(t.num(1), t.div(t.num(1), x))};
      });
      maybe(of, [=](Forms& t) {
        const NodeId x = input(t, "x");
        return Pair{x, t.mul(t.fn(Fn::Sqrt, x), t.fn(Fn::Sqrt, x))};
      });
      even.same([=](Forms& t) {
        const NodeId x = input(t, "x"), y = input(t, "y"), s = t.fn(Fn::Abs, t.sub(x, y));
        return Pair{t.mul(t.sub(x, y), t.sub(x, y)), t.mul(s, s)};
      });
      even.any([=](Forms& t) {
        const NodeId x = t.sub(input(t, "x"), input(t, "y")), s = t.fn(Fn::Abs, x);
        return Pair{t.mul(t.mul(s, s), s), t.mul(t.mul(x, x), x)};
      });
    }
  }
  add.done();
  of.done();
  even.done();
}

TEST_CASE("L-5, L-6 zero and infinity times something") {
  Tried zero(prove::Rule::L5), infinity(prove::Rule::L6);
  for (int64_t n : {0, 1, 2, 3}) {
    zero.same([n](Forms& t) {
      const NodeId x = t.in("x", {n});
      return Pair{t.zeros({n}), t.mul(x, t.num(0))};
    });
    zero.any([n](Forms& t) {
      const NodeId x = t.in("x", {n});
      return Pair{t.zeros({n}), t.mul(t.div(t.num(1), x), t.num(0))};
    });
    zero.any([n](Forms& t) {
      const NodeId x = t.in("x", {n});
      return Pair{x, t.sub(t.add(t.fn(Fn::Log, x), x), t.fn(Fn::Log, x))};
    });
    for (double sign : {1.0, -1.0}) {
      const double inf = sign * HUGE_VAL;
      infinity.same([=](Forms& t) { return Pair{t.full({n}, inf), t.mul(t.fn(Fn::Exp, t.in("x", {n})), t.num(inf))}; });
      infinity.any([=](Forms& t) { return Pair{t.full({n}, inf), t.mul(t.in("x", {n}), t.num(inf))}; });
      infinity.same([=](Forms& t) { return Pair{t.full({n}, inf), t.add(t.in("x", {n}), t.num(inf))}; });
      infinity.any([=](Forms& t) { return Pair{t.full({n}, inf), t.add(t.fn(Fn::Log, t.in("x", {n})), t.num(inf))}; });
    }
  }
  zero.done();
  infinity.done();
}

TEST_CASE("L-19, L-22, L-38, L-53 choices") {
  Tried step(prove::Rule::L19), choice(prove::Rule::L22), scaled(prove::Rule::L53);
  for (int64_t n : {0, 1, 2, 3}) {
    for (int64_t c = 0; c <= n; ++c) {
      step.same([=](Forms& t) {
        const NodeId x = t.in("x", {n}), m = t.before(n, c);
        return Pair{x, t.add(t.masked(m, x), t.masked(t.unless(m), x))};
      });
      step.any([=](Forms& t) {  // 1/x is undefined where x is 0, also where the mask leaves nothing of the difference
        const NodeId x = t.div(t.num(1), t.in("x", {n})), m = t.before(n, c);
        return Pair{t.masked(t.unless(m), x), t.sub(x, t.masked(m, x))};
      });
      step.any([=](Forms& t) {
        const NodeId x = t.fn(Fn::Log, t.in("x", {n})), m = t.before(n, c);
        return Pair{t.masked(t.unless(m), x), t.sub(x, t.masked(m, x))};
      });
      choice.same([=](Forms& t) {
        const NodeId x = t.in("x", {n}), y = t.in("y", {n}), m = t.before(n, c);
        return Pair{t.b.select(m, x, y), t.add(t.masked(m, x), t.masked(t.unless(m), y))};
      });
    }
    step.any([=](Forms& t) {  // log x may be infinite, also where it is written
      const NodeId x = t.fn(Fn::Log, t.in("x", {1})), i = t.range(t.in("i", {1}, DType::I32), 0, std::max<int64_t>(n, 1));
      const NodeId all = t.all({n}, t.b.reshape(x, {})),
                   at = t.b.scatter(t.zeros({n}), x, {i}, {-1}, {0}, Fn::Add, false, ir::IndexMode::Fill);
      return Pair{t.sub(at, all),
                  t.masked(t.b.compare(Fn::Ne, t.b.iota(DType::I32, {n}, 0), t.all({n}, t.b.reshape(i, {}))), t.fn(Fn::Neg, all))};
    });
    choice.same([=](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n}), c = t.in("c", {n}, DType::Bool);
      return Pair{t.b.select(c, x, y), t.b.select(t.unless(c), y, x)};
    });
    choice.any([=](Forms& t) {
      const NodeId x = t.fn(Fn::Log, t.in("x", {n})), y = t.in("y", {n}), c = t.in("c", {n}, DType::Bool), k = t.b.convert(c, DType::F32);
      return Pair{t.b.select(c, x, y), t.add(t.mul(k, x), t.mul(t.sub(t.num(1), k), y))};
    });
    scaled.same([=](Forms& t) {
      const NodeId x = t.fn(Fn::Log, t.in("x", {n})), c = t.in("c", {n}, DType::Bool);
      return Pair{t.mul(t.masked(c, x), t.num(3)), t.masked(c, t.mul(x, t.num(3)))};
    });
    for (int64_t c = 0; c <= n; ++c) {
      scaled.any([=](Forms& t) {
        const NodeId x = t.fn(Fn::Log, t.in("x", {n})), m = t.before(n, c);
        return Pair{t.mul(t.masked(m, x), t.num(3)), t.masked(m, t.mul(x, t.num(3)))};
      });
    }
  }
  step.done();
  choice.done();
  scaled.done();
}

TEST_CASE("L-23, L-24, L-26 exponentials and logarithms") {
  Tried exp(prove::Rule::L23), log(prove::Rule::L24), logistic(prove::Rule::L26);
  for (int64_t n : {0, 1, 2, 3}) {
    exp.same([n](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n});
      return Pair{t.fn(Fn::Exp, t.sub(x, y)), t.div(t.fn(Fn::Exp, x), t.fn(Fn::Exp, y))};
    });
    exp.any([n](Forms& t) {
      const NodeId x = t.fn(Fn::Log, t.in("x", {n})), y = t.fn(Fn::Log, t.in("y", {n}));
      return Pair{t.fn(Fn::Exp, t.sub(x, y)), t.div(t.fn(Fn::Exp, x), t.fn(Fn::Exp, y))};
    });
    log.same([n](Forms& t) {
      const NodeId x = t.above(t.in("x", {n}), 0), y = t.above(t.in("y", {n}), 0);
      return Pair{t.fn(Fn::Log, t.div(x, y)), t.sub(t.fn(Fn::Log, x), t.fn(Fn::Log, y))};
    });
    log.any([n](Forms& t) {
      const NodeId x = t.in("x", {n}), y = t.in("y", {n});
      return Pair{t.fn(Fn::Log, t.mul(x, y)), t.add(t.fn(Fn::Log, x), t.fn(Fn::Log, y))};
    });
    logistic.same([n](Forms& t) {
      const NodeId x = t.in("x", {n});
      return Pair{t.fn(Fn::Logistic, t.fn(Fn::Neg, x)), t.sub(t.num(1), t.fn(Fn::Logistic, x))};
    });
    logistic.same([n](Forms& t) {
      const NodeId x = t.above(t.in("x", {n}), 0), y = t.above(t.in("y", {n}), 0);
      return Pair{t.fn(Fn::Logistic, t.sub(t.fn(Fn::Log, x), t.fn(Fn::Log, y))), t.div(x, t.add(x, y))};
    });
    logistic.any([n](Forms& t) {
      const NodeId x = t.fn(Fn::Log, t.in("x", {n}));
      return Pair{t.fn(Fn::Logistic, t.fn(Fn::Neg, x)), t.sub(t.num(1), t.fn(Fn::Logistic, x))};
    });
  }
  exp.done();
  log.done();
  logistic.done();
}

TEST_CASE("L-25, L-32 quotients of integers") {
  Tried quotient(prove::Rule::L25), context(prove::Rule::L32);
  for (int64_t d : {1, 2, 3}) {
    for (Fn fn : {Fn::FloorDiv, Fn::Div, Fn::Rem, Fn::Mod}) {
      for (int64_t low : {-1, 0, 1}) {
        for (int64_t high = low + 1; high <= 3; ++high) {
          for (int64_t least : {-1, 0}) {
            // (d a + r) / d = a where 0 <= r < d, and a >= 0 if the quotient is truncated
            const Make make = [=](Forms& t) {
              const NodeId a = t.range(t.in("a", {2}, DType::I32), least, 3), r = t.range(t.in("r", {2}, DType::I32), low, high);
              const NodeId whole = t.b.binary(fn, t.add(t.mul(a, t.integer(d)), r), t.integer(d));
              return Pair{fn == Fn::FloorDiv || fn == Fn::Div ? a : r, whole};
            };
            low >= 0 && high <= d && (least >= 0 || fn == Fn::FloorDiv || fn == Fn::Mod) ? quotient.same(make) : quotient.any(make);
          }
        }
      }
    }
    for (int64_t n : {1, 2, 3, 5}) {
      for (int64_t c = 0; c <= n; ++c) {
        context.any([=](Forms& t) {  // rows of a block: below c, and their quotient by d is 0
          const NodeId x = t.in("x", {n}), i = t.b.iota(DType::I32, {n}, 0);
          const NodeId q = t.b.binary(Fn::FloorDiv, t.add(i, t.integer(1)), t.integer(d + 1));
          const NodeId low = t.b.compare(Fn::Lt, i, t.all({n}, t.integer(c))), first = t.b.compare(Fn::Eq, q, t.all({n}, t.integer(0)));
          return Pair{t.masked(t.before(n, std::min(c, d)), x), t.masked(low, t.masked(first, x))};
        });
      }
    }
  }
  quotient.done(6);
  context.done(0, Tried::Elsewhere::Applied);  // such a bracket of a quotient is one of a position by now (L-86)
}

TEST_CASE("L-15, L-21, L-29, L-35, L-38, L-48 reading by an index") {
  Tried pick(prove::Rule::L15), under(prove::Rule::L21), position(prove::Rule::L29), clamp(prove::Rule::L35), opened(prove::Rule::L38),
      count(prove::Rule::L48);
  for (int64_t v : {1, 2, 3, 4}) {
    for (int64_t n : {1, 2, 3}) {
      const auto labels = [=](Forms& t) { return t.range(t.in("i", {n}, DType::I32), 0, v); };
      const auto one_hot = [=](Forms& t, NodeId i, int64_t offset = 0) {
        return t.b.compare(Fn::Eq, t.b.broadcast(i, {n, v}, {0}), t.add(t.b.iota(DType::I32, {n, v}, 1), t.integer(offset)));
      };
      pick.same([=](Forms& t) {
        const NodeId i = labels(t), w = t.in("w", {v});
        return Pair{t.read(w, i), t.sum(t.masked(one_hot(t, i), t.b.broadcast(w, {n, v}, {1})), 1)};
      });
      pick.any([=](Forms& t) {  // the label depends on what is summed over
        const NodeId i = t.range(t.in("i", {n, v}, DType::I32), 0, v), w = t.in("w", {v});
        return Pair{t.sum(t.masked(t.b.compare(Fn::Eq, i, t.b.iota(DType::I32, {n, v}, 1)), t.b.broadcast(w, {n, v}, {1})), 1),
                    t.sum(t.b.broadcast(w, {n, v}, {1}), 1)};
      });
      position.same([=](Forms& t) {
        const NodeId i = labels(t), w = t.in("w", {v});
        return Pair{t.masked(one_hot(t, i), t.b.broadcast(t.read(w, i), {n, v}, {0})),
                    t.masked(one_hot(t, i), t.b.broadcast(w, {n, v}, {1}))};
      });
      position.any([=](Forms& t) {  // i is the position plus 1, which is none at the last one
        const NodeId i = labels(t), w = t.in("w", {v});
        return Pair{t.masked(one_hot(t, i, 1), t.b.broadcast(t.read(w, i), {n, v}, {0})),
                    t.masked(one_hot(t, i, 1), t.b.broadcast(w, {n, v}, {1}))};
      });
      for (int64_t c = 0; c <= v; ++c) {
        // The rows of a table that two ranks hold, read where the label is theirs; f may be undefined.
        const auto part = [=](Forms& t, NodeId w, NodeId i, int64_t lo, int64_t hi, NodeId f, bool clamped, int64_t off = 0) {
          const NodeId out = t.b.map(
              Fn::Or, {t.b.compare(Fn::Lt, i, t.all({n}, t.integer(lo))), t.b.compare(Fn::Ge, i, t.all({n}, t.integer(hi)))}, DType::Bool);
          NodeId at = t.sub(i, t.integer(lo + off));
          at = clamped ? t.b.binary(Fn::Min, t.b.binary(Fn::Max, at, t.integer(0)), t.integer(hi - lo - 1))
                       : t.b.select(out, t.integer(0), at);
          return t.b.select(out, t.num(0), t.mul(t.read(t.rows(w, lo, hi), at), f));
        };
        if (c == 0 || c == v) continue;
        for (bool clamped : {false, true}) {
          (clamped ? clamp : under).same([=](Forms& t) {
            const NodeId i = labels(t), w = t.in("w", {v}), f = t.in("f", {n});
            return Pair{t.mul(t.read(w, i), f), t.add(part(t, w, i, 0, c, f, clamped), part(t, w, i, c, v, f, clamped))};
          });
          (clamped ? clamp : under).any([=](Forms& t) {
            const NodeId i = labels(t), w = t.in("w", {v}), f = t.div(t.num(1), t.in("f", {n}));
            return Pair{t.mul(t.read(w, i), f), t.add(part(t, w, i, 0, c, f, clamped), part(t, w, i, c, v, f, clamped))};
          });
        }
        clamp.any([=](Forms& t) {  // the clamp does something
          const NodeId i = labels(t), w = t.in("w", {v}), f = t.in("f", {n});
          return Pair{t.mul(t.read(w, i), f), t.add(part(t, w, i, 0, c, f, true, 1), part(t, w, i, c, v, f, true, -1))};
        });
        // Rows that others hold are written as zeros to row 0 (of an embedding's gradient).
        for (bool finite : {true, false}) {
          const Make make = [=](Forms& t) {
            const NodeId i = labels(t), g = t.fn(Fn::Log, t.in("g", {n})), f = finite ? t.in("f", {n}) : t.div(t.num(1), t.in("f", {n}));
            const auto add_rows = [&](NodeId values, NodeId at, int64_t size) {
              return t.b.scatter(t.zeros({size}), values, {at}, {-1}, {0}, Fn::Add, false, ir::IndexMode::Strict);
            };
            std::vector<NodeId> parts;
            for (auto [lo, hi] : {std::pair<int64_t, int64_t>{0, c}, {c, v}}) {
              const NodeId out =
                  t.b.map(Fn::Or, {t.b.compare(Fn::Lt, i, t.all({n}, t.integer(lo))), t.b.compare(Fn::Ge, i, t.all({n}, t.integer(hi)))},
                          DType::Bool);
              parts.push_back(
                  add_rows(t.mul(t.b.select(out, t.num(0), g), f), t.b.select(out, t.integer(0), t.sub(i, t.integer(lo))), hi - lo));
            }
            return Pair{add_rows(t.mul(g, f), i, v), t.b.concat(parts, 0)};
          };
          opened.any(make);
        }
      }
      for (int64_t shift : {0, 1}) {
        // #{k: k < i} = i, as long as that is in [0, v]
        const Make make = [=](Forms& t) {
          const NodeId i = t.range(t.in("i", {n}, DType::I32), 0, v + 1), bound = t.add(i, t.integer(shift));
          const NodeId below = t.b.compare(Fn::Lt, t.b.iota(DType::I32, {n, v}, 1), t.b.broadcast(bound, {n, v}, {0}));
          return Pair{t.b.convert(bound, DType::F32), t.sum(t.masked(below, t.full({n, v}, 1)), 1)};
        };
        shift == 0 ? count.same(make) : count.any(make);
      }
    }
  }
  pick.done();
  under.done(15, Tried::Elsewhere::Refused);
  position.done();
  clamp.done(15);
  opened.done();
  count.done(3);
}

TEST_CASE("L-80, L-81 factors of updates, powers of constants") {
  Tried factor(prove::Rule::L80), power(prove::Rule::L81);
  for (int64_t n : {2, 3}) {
    for (bool zeros : {true, false}) {
      const Make make = [=](Forms& t) {
        const NodeId x = t.in("x", {n}), i = t.range(t.in("i", {n}, DType::I32), 0, 3), into = zeros ? t.zeros({3}) : t.in("y", {3});
        const auto put = [&](NodeId u) { return t.b.scatter(into, u, {i}, {-1}, {0}, Fn::Max, false, ir::IndexMode::Strict); };
        return Pair{t.mul(put(x), t.num(2)), put(t.mul(x, t.num(2)))};
      };
      zeros ? factor.same(make) : factor.any(make);
    }
    for (bool finite : {true, false}) {
      const Make make = [=](Forms& t) {
        const NodeId x = finite ? t.in("x", {n}) : t.fn(Fn::Log, t.in("x", {n})), c = t.full({n}, 3);
        return Pair{t.binary(Fn::Pow, c, t.fn(Fn::Neg, x)), t.div(t.num(1), t.binary(Fn::Pow, c, x))};
      };
      finite ? power.same(make) : power.any(make);
    }
  }
  factor.done();
  power.done();
}

TEST_CASE("wrong proofs that random graphs found") {
  Tried rule(prove::Rule::L8);
  // What an exclusive running sum does not count yet is not looked at: its first element is 0, whatever x is.
  rule.any([](Forms& t) {
    const NodeId x = t.div(t.num(1), t.in("x", {1}));
    return Pair{t.b.scan(Fn::Add, x, 0, false, true), t.mul(x, t.num(0))};
  });
  // Reading zeros, or a mask, by an index that is out of range.
  rule.any([](Forms& t) { return Pair{t.zeros({1}), t.read(t.zeros({3}), t.in("i", {1}, DType::I32))}; });
  rule.any([](Forms& t) {
    const NodeId i = t.range(t.in("i", {1}, DType::I32), 0, 3),
                 masked = t.masked(t.b.compare(Fn::Eq, i, t.all({1}, t.integer(0))), t.in("x", {1}));
    return Pair{masked, t.read(masked, i)};
  });
  // A root of what is negative is undefined, though it would not be 0.
  rule.any([](Forms& t) {
    const NodeId x = t.above(t.in("x", {2}), 0);
    return Pair{t.full({2}, 1), t.fn(Fn::Sign, t.fn(Fn::Sqrt, t.fn(Fn::Neg, x)))};
  });
}

TEST_CASE("L-84 one key alone has no position, whatever it carries") {
  Forms t;
  const NodeId i = t.range(t.in("i", {1}, DType::I32), 0, 3);
  const NodeId y = t.read(t.in("w", {3}), t.b.sort({t.in("x", {1}), i}, 0, false, true)[1]), twice = t.add(y, y),
               sum = t.mul(y, t.full({1}, 2));
  t.p.side.assign(t.p.graph.nodes.size(), -1);
  prove::Prover prover(t.p);
  prover.by_order();
  CHECK(prover.equal(twice, sum) == prove::Prover::Answer::Equal);
}
