// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Identities of scalar functions, exhaustively: forms that are made of any two functions, and random formulas of integers and truth values,
// are compared each with each; whatever the prover calls equal must evaluate equally in the reference interpreter.
#include "unit/prove/rules.h"

using namespace shardproof;
using namespace shardproof::test;

namespace {

// All pairs of `forms`, which have one shape and type. Returns how many were called equal.
size_t compare_all(Forms& t, const std::vector<NodeId>& forms, uint64_t seed, int rounds) {
  link::Output o;
  o.sequential = forms[0];
  o.checked = true;
  t.p.outputs = {o};
  t.p.side.assign(t.p.graph.nodes.size(), -1);
  prove::Prover prover(t.p);
  std::vector<Pair> equal;
  for (NodeId x : forms) {
    for (NodeId y : forms) {
      if (x != y && prover.equal(x, y) == prove::Prover::Answer::Equal) equal.emplace_back(x, y);
    }
  }
  const std::vector<bool> wrong = differ(t.p, equal, rounds, seed);
  for (size_t k = 0; k < equal.size(); ++k) {
    if (!wrong[k]) continue;
    INFO("seed ", seed, "\n", prover.describe(equal[k].first), "\n", prover.describe(equal[k].second));
    INFO(ir::to_string(t.p.graph, equal[k].first), "\n", ir::to_string(t.p.graph, equal[k].second));
    CHECK_FALSE(wrong[k]);
  }
  return equal.size();
}

constexpr Fn kUnary[] = {Fn::Neg,   Fn::Abs,    Fn::Sign,   Fn::Exp,     Fn::Exp2,  Fn::Expm1, Fn::Log,   Fn::Log2,      Fn::Log10,
                         Fn::Log1p, Fn::Sqrt,   Fn::Rsqrt,  Fn::Cbrt,    Fn::Sin,   Fn::Cos,   Fn::Tan,   Fn::Asin,      Fn::Acos,
                         Fn::Atan,  Fn::Sinh,   Fn::Cosh,   Fn::Tanh,    Fn::Asinh, Fn::Acosh, Fn::Atanh, Fn::Logistic,  Fn::Erf,
                         Fn::Erfc,  Fn::ErfInv, Fn::Lgamma, Fn::Digamma, Fn::Floor, Fn::Ceil,  Fn::Round, Fn::RoundAway, Fn::Trunc};
constexpr Fn kTests[] = {Fn::IsFinite, Fn::IsNan, Fn::IsInf};
constexpr Fn kCompare[] = {Fn::Eq, Fn::Ne, Fn::Lt, Fn::Le, Fn::Gt, Fn::Ge};

}  // namespace

TEST_CASE("scalar functions, two by two") {
  size_t proved = 0, forms = 0;
  uint64_t seed = 0;
  for (Fn f : kUnary) {
    for (Fn g : kUnary) {
      const int facts = static_cast<int>(++seed % 3);
      Forms t;
      NodeId x = t.in("x", {2}), y = t.in("y", {2});
      if (facts == 1) t.above(x, 0);
      if (facts == 2) t.at_least(x, 0), t.above(y, 0);
      const NodeId fx = t.fn(f, x), gx = t.fn(g, x), fg = t.fn(f, gx), nx = t.fn(Fn::Neg, x);
      const std::vector<NodeId> all{x,
                                    nx,
                                    t.zeros({2}),
                                    t.full({2}, 1),
                                    fx,
                                    gx,
                                    fg,
                                    t.fn(g, fx),
                                    t.fn(f, nx),
                                    t.fn(Fn::Neg, fx),
                                    t.fn(f, t.fn(g, nx)),
                                    t.fn(f, t.fn(Fn::Neg, gx)),
                                    t.fn(Fn::Neg, fg),
                                    t.sub(t.num(1), fx),
                                    t.sub(t.num(1), fg),
                                    t.fn(f, t.mul(x, y)),
                                    t.mul(fx, t.fn(f, y)),
                                    t.fn(f, t.add(x, y)),
                                    t.add(fx, t.fn(f, y)),
                                    t.fn(f, t.div(x, y)),
                                    t.div(fx, t.fn(f, y)),
                                    t.sub(fx, t.fn(f, y)),
                                    t.mul(fg, fg),
                                    t.fn(f, t.mul(gx, gx)),
                                    t.mul(fx, gx),
                                    t.div(fx, gx),
                                    t.fn(Fn::Abs, fg),
                                    t.fn(f, t.mul(x, t.num(2))),
                                    t.mul(fx, t.num(2)),
                                    t.binary(Fn::Max, fx, t.fn(f, y)),
                                    t.fn(f, t.binary(Fn::Max, x, y)),
                                    t.binary(Fn::Pow, gx, t.num(2)),
                                    t.binary(Fn::Pow, fg, t.num(-1)),
                                    t.fn(f, t.binary(Fn::Pow, gx, t.num(0.5))),
                                    t.binary(Fn::Rem, fx, t.num(2)),
                                    t.binary(Fn::Mod, fx, t.num(2)),
                                    t.binary(Fn::FloorDiv, fx, t.num(1)),
                                    t.binary(Fn::Atan2, fx, gx),
                                    t.binary(Fn::Pow, fx, gx)};
      forms += all.size();
      proved += compare_all(t, all, seed, 8);
    }
  }
  MESSAGE(forms, " forms, ", proved, " pairs called equal");
  CHECK(proved > 5000);
}

TEST_CASE("comparisons and tests of reals, under choices") {
  size_t proved = 0;
  uint64_t seed = 0;
  for (Fn f : kCompare) {
    for (Fn g : kCompare) {
      for (Fn h : {Fn::Neg, Fn::Exp, Fn::Log, Fn::Sqrt, Fn::Abs, Fn::Floor}) {
        Forms t;
        const NodeId x = t.fn(h, t.in("x", {2})), y = t.in("y", {2}), zero = t.zeros({2});
        const NodeId a = t.b.compare(f, x, y), b = t.b.compare(g, y, x), c = t.b.compare(g, x, zero), d = t.b.compare(f, t.sub(x, y), zero);
        const auto real = [&](NodeId truth) { return t.b.convert(truth, DType::F32); };
        std::vector<NodeId> all{t.b.select(a, x, y),
                                t.b.select(b, x, y),
                                t.b.select(t.unless(a), y, x),
                                t.binary(Fn::Max, x, y),
                                t.binary(Fn::Min, x, y),
                                real(a),
                                real(b),
                                real(c),
                                real(d),
                                real(t.unless(a)),
                                real(t.unless(c)),
                                zero,
                                t.full({2}, 1),
                                x,
                                y,
                                real(t.b.map(Fn::And, {a, b}, DType::Bool)),
                                real(t.b.map(Fn::Or, {a, c}, DType::Bool)),
                                real(t.b.map(Fn::Xor, {a, b}, DType::Bool)),
                                t.mul(real(a), x),
                                t.masked(a, x),
                                t.masked(t.unless(c), x),
                                t.b.select(c, t.fn(Fn::Neg, x), x),
                                t.fn(Fn::Abs, x),
                                t.add(t.masked(a, x), t.masked(t.unless(a), y))};
        for (Fn test : kTests) {
          const NodeId is = t.b.map(test, {x}, DType::Bool);
          all.push_back(real(is));
          all.push_back(t.masked(is, x));
          all.push_back(t.b.select(t.unless(is), zero, y));
        }
        proved += compare_all(t, all, ++seed, 8);
      }
    }
  }
  MESSAGE(proved, " pairs called equal");
  CHECK(proved > 2000);
}

TEST_CASE("random formulas of integers and truth values") {
  constexpr DType kTypes[] = {DType::I32, DType::I64, DType::I8, DType::U8};
  constexpr Fn kBinary[] = {Fn::Add, Fn::Sub, Fn::Mul, Fn::Add, Fn::Sub, Fn::Max, Fn::Min,  Fn::Div,  Fn::FloorDiv,
                            Fn::Rem, Fn::Mod, Fn::And, Fn::Or,  Fn::Xor, Fn::Shl, Fn::ShrA, Fn::ShrL, Fn::Pow};
  constexpr Fn kSingle[] = {Fn::Neg, Fn::Abs, Fn::Sign, Fn::Not, Fn::PopCount, Fn::Clz};
  size_t proved = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    const DType type = kTypes[below(4)];
    Forms t;
    std::vector<NodeId> ints, truths, all;
    for (const char* name : {"i", "j"}) {
      const auto low = static_cast<int64_t>(below(4)) - (type == DType::U8 ? 0 : 2);
      ints.push_back(t.in(name, {2}, type));
      if (below(4) != 0) t.range(ints.back(), low, low + 1 + static_cast<int64_t>(below(5)));
    }
    ints.push_back(t.b.iota(type, {2}, 0));
    for (int64_t v : {0, 1, 2, 3}) ints.push_back(t.b.constant(ir::Literal::integer(v, type), type, {2}));
    truths.push_back(t.in("c", {2}, DType::Bool));
    const auto number = [&] { return ints[below(ints.size())]; };
    const auto truth = [&] { return truths[below(truths.size())]; };
    for (int k = 0; k < 24; ++k) {
      switch (below(9)) {
        case 0: ints.push_back(t.b.unary(kSingle[below(6)], number())); break;
        case 1: truths.push_back(t.b.compare(kCompare[below(6)], number(), number())); break;
        case 2:
          truths.push_back(below(3) ? t.b.map(below(2) ? Fn::And : Fn::Or, {truth(), truth()}, DType::Bool) : t.unless(truth()));
          break;
        case 3: ints.push_back(t.b.select(truth(), number(), number())); break;
        case 4: {
          const NodeId there = t.b.convert(number(), below(2) ? kTypes[below(4)] : below(2) ? DType::F32 : DType::Bool);
          ints.push_back(t.b.convert(there, type));
          break;
        }
        case 5: ints.push_back(t.b.convert(truth(), type)); break;
        default: ints.push_back(t.b.binary(kBinary[below(18)], number(), number())); break;
      }
    }
    all = ints;
    for (NodeId c : truths) all.push_back(t.b.convert(c, type));
    proved += compare_all(t, all, seed, 16);
  }
  MESSAGE(proved, " pairs called equal");
  CHECK(proved > 3000);
}

TEST_CASE("complex numbers, and memory that nobody wrote") {
  size_t proved = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    Forms t;
    const NodeId x = t.in("x", {2}), y = t.in("y", {2});
    const auto complex = [&](NodeId re, NodeId im) { return t.b.map(Fn::Complex, {re, im}, DType::C64); };
    const auto real = [&](NodeId z) { return t.b.map(Fn::Real, {z}, DType::F32); };
    const auto imag = [&](NodeId z) { return t.b.map(Fn::Imag, {z}, DType::F32); };
    const NodeId z = complex(x, y), turned = t.b.unary(Fn::Conj, z), product = t.mul(z, turned), free = t.b.uninit(DType::F32, {2});
    const std::vector<NodeId> all{x,
                                  y,
                                  t.zeros({2}),
                                  t.fn(Fn::Neg, y),
                                  real(z),
                                  imag(z),
                                  real(turned),
                                  imag(turned),
                                  real(product),
                                  imag(product),
                                  t.add(t.mul(x, x), t.mul(y, y)),
                                  real(t.add(z, turned)),
                                  t.add(x, x),
                                  free,
                                  t.sub(free, free),
                                  t.mul(free, t.num(0))};
    proved += compare_all(t, all, seed, 8);
  }
  MESSAGE(proved, " pairs called equal");
}
