// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Every operator against values computed by hand, in both number systems.
#include "interp/eval.h"

#include "unit/interp/support.h"

using namespace shardproof;
using namespace shardproof::interp;
using namespace shardproof::interp::testing;
using ir::DType;
using ir::Fn;
using ir::IndexMode;
using ir::Literal;
using ir::NodeId;

namespace {
const Number kSystems[] = {Number::Interval, Number::Ball};
const double kInf = kInfinity;
}  // namespace

TEST_CASE("S-1..S-5 leaves") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    check_values(t.eval(t.b.constant(Literal::real(2.5), DType::F32, {2})), {2.5, 2.5});
    check_values(t.eval(t.b.constant(Literal::integer(300), DType::U8)), {44});
    check_values(t.eval(t.b.iota(DType::I64, {2, 3}, 1)), {0, 1, 2, 0, 1, 2});
    check_values(t.eval(t.b.iota(DType::F32, {2, 2}, 0)), {0, 0, 1, 1});
    check_values(t.eval(t.b.dense(DType::I32, {3}, {Literal::integer(5), Literal::integer(-1), Literal::integer(7)})), {5, -1, 7});
    check_values(t.eval(t.b.uninit(DType::F32, {2})), {kOpen, kOpen});
    check_values(t.eval(t.b.random("bernoulli", Literal::real(0.9), DType::Bool, {2}, 0)), {1, 1});
    check_values(t.eval(t.b.random("bernoulli", Literal::real(0), DType::F32, {2}, 1)), {0, 0});
    check_values(t.eval(t.b.random("poisson", Literal::real(0.5), DType::F32, {1}, 0)), {kOpen});
  }
}

TEST_CASE("S-11..S-18 views") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({2, 3}, {0, 1, 2, 3, 4, 5});
    const NodeId minus = t.b.constant(Literal::real(-1), DType::F64);
    check_values(t.eval(t.b.transpose(x, {1, 0})), {0, 3, 1, 4, 2, 5});
    check_values(t.eval(t.b.reshape(x, {3, 2})), {0, 1, 2, 3, 4, 5});
    check_values(t.eval(t.b.slice_dim(x, 1, 0, 3, 2)), {0, 2, 3, 5});
    check_values(t.eval(t.b.slice_dim(x, 0, 1, 1)), {});
    check_values(t.eval(t.b.reverse(x, {1})), {2, 1, 0, 5, 4, 3});
    check_values(t.eval(t.b.broadcast(t.in({1, 3}, {7, 8, 9}), {2, 2, 3}, {1, 2})), {7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9});
    check_values(t.eval(t.b.pad(t.in({3}, {1, 2, 3}), minus, {2}, {1}, {1})), {-1, -1, 1, -1, 2, -1, 3, -1});
    check_values(t.eval(t.b.pad(t.in({3}, {1, 2, 3}), minus, {-1}, {1}, {0})), {2, 3, -1});
    check_values(t.eval(t.b.pad(t.in({0}, {}), minus, {1}, {1}, {3})), {-1, -1});
    check_values(t.eval(t.b.concat({x, t.in({2, 1}, {8, 9})}, 1)), {0, 1, 2, 8, 3, 4, 5, 9});
    check_values(t.eval(t.b.window(t.in({5}, {0, 1, 2, 3, 4}), {0}, {2}, {2, 2})), {0, 2, 2, 4});
    check_values(t.eval(t.b.reshape(t.in({0, 3}, {}), {3, 0})), {});
    check_values(t.eval(t.b.broadcast(t.in({1}, {1}), {0}, {0})), {});
  }
}

TEST_CASE("S-19 maps of floats") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({4}, {-2, 0, 1, 4}), y = t.in({4}, {3, -1, 0.5, 2}), two = t.b.constant(Literal::real(2), DType::F64);
    const auto unary = [&](Fn fn) { return t.eval(t.b.unary(fn, x)); };
    const auto binary = [&](Fn fn) { return t.eval(t.b.binary(fn, x, y)); };
    check_values(binary(Fn::Add), {1, -1, 1.5, 6});
    check_values(binary(Fn::Sub), {-5, 1, 0.5, 2});
    check_values(binary(Fn::Mul), {-6, 0, 0.5, 8});
    check_values(binary(Fn::Div), {-2.0 / 3, 0, 2, 2});
    check_values(binary(Fn::Max), {3, 0, 1, 4});
    check_values(binary(Fn::Min), {-2, -1, 0.5, 2});
    check_values(binary(Fn::FloorDiv), {-1, 0, 2, 2});
    check_values(binary(Fn::Rem), {-2, 0, 0, 0});
    check_values(binary(Fn::Mod), {1, 0, 0, 0});
    check_values(t.eval(t.b.binary(Fn::Pow, x, two)), {4, 0, 1, 16});
    check_values(t.eval(t.b.binary(Fn::Pow, y, x)), {1.0 / 9, 1, 0.5, 16});
    check_values(t.eval(t.b.map(Fn::Add, {x, y, two}, DType::F64)), {3, 1, 3.5, 8});
    check_values(unary(Fn::Neg), {2, 0, -1, -4});
    check_values(unary(Fn::Abs), {2, 0, 1, 4});
    check_values(unary(Fn::Sign), {-1, 0, 1, 1});
    check_values(unary(Fn::Exp), {std::exp(-2), 1, std::exp(1), std::exp(4)});
    check_values(unary(Fn::Log), {kNaN, -kInf, 0, std::log(4)});
    check_values(unary(Fn::Log1p), {kNaN, 0, std::log(2), std::log(5)});
    check_values(unary(Fn::Sqrt), {kNaN, 0, 1, 2});
    check_values(unary(Fn::Rsqrt), {kNaN, kNaN, 1, 0.5});
    check_values(unary(Fn::Tanh), {std::tanh(-2), 0, std::tanh(1), std::tanh(4)});
    check_values(unary(Fn::Logistic), {1 / (1 + std::exp(2)), 0.5, 1 / (1 + std::exp(-1)), 1 / (1 + std::exp(-4))});
    check_values(unary(Fn::Erf), {std::erf(-2), 0, std::erf(1), std::erf(4)});
    check_values(unary(Fn::Erfc), {std::erfc(-2), 1, std::erfc(1), std::erfc(4)});
    check_values(unary(Fn::Sin), {std::sin(-2), 0, std::sin(1), std::sin(4)});
    check_values(unary(Fn::Cos), {std::cos(-2), 1, std::cos(1), std::cos(4)});
    check_values(unary(Fn::Tan), {std::tan(-2), 0, std::tan(1), std::tan(4)});
    check_values(unary(Fn::Atan), {std::atan(-2), 0, std::atan(1), std::atan(4)});
    check_values(unary(Fn::Asin), {kNaN, 0, std::asin(1), kNaN});
    check_values(unary(Fn::Acosh), {kNaN, kNaN, 0, std::acosh(4)});
    check_values(unary(Fn::Atanh), {kNaN, 0, kInf, kNaN});
    check_values(unary(Fn::ErfInv), {kNaN, 0, kInf, kNaN});
    check_values(unary(Fn::Cbrt), {-std::cbrt(2), 0, 1, std::cbrt(4)});
    check_values(unary(Fn::Exp2), {0.25, 1, 2, 16});
    check_values(unary(Fn::Log2), {kNaN, -kInf, 0, 2});
    check_values(t.eval(t.b.binary(Fn::Atan2, y, x)), {std::atan2(3, -2), std::atan2(-1, 0), std::atan2(0.5, 1), std::atan2(2, 4)});
    const NodeId h = t.in({6}, {-1.5, -0.5, 0.5, 1.5, 2.5, 2.4});
    check_values(t.eval(t.b.unary(Fn::Floor, h)), {-2, -1, 0, 1, 2, 2});
    check_values(t.eval(t.b.unary(Fn::Ceil, h)), {-1, 0, 1, 2, 3, 3});
    check_values(t.eval(t.b.unary(Fn::Trunc, h)), {-1, 0, 0, 1, 2, 2});
    check_values(t.eval(t.b.unary(Fn::Round, h)), {-2, 0, 0, 2, 2, 2});
    check_values(t.eval(t.b.unary(Fn::RoundAway, h)), {-2, -1, 1, 2, 3, 2});
  }
}

TEST_CASE("S-19 infinities and undefined values (MANIFEST section 4)") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId p = t.in({4}, {kInf, -kInf, 0, 3}), zero = t.b.constant(Literal::real(0), DType::F64);
    const NodeId inf = t.b.constant(Literal::real(kInf), DType::F64);
    check_values(t.eval(t.b.binary(Fn::Add, p, inf)), {kInf, kNaN, kInf, kInf});
    check_values(t.eval(t.b.binary(Fn::Sub, p, inf)), {kNaN, -kInf, -kInf, -kInf});
    check_values(t.eval(t.b.binary(Fn::Mul, p, inf)), {kInf, -kInf, kNaN, kInf});
    check_values(t.eval(t.b.binary(Fn::Mul, p, zero)), {kNaN, kNaN, 0, 0});
    check_values(t.eval(t.b.binary(Fn::Div, p, inf)), {kNaN, kNaN, 0, 0});
    check_values(t.eval(t.b.binary(Fn::Div, p, zero)), {kNaN, kNaN, kNaN, kNaN});
    check_values(t.eval(t.b.unary(Fn::Exp, p)), {kInf, 0, 1, std::exp(3)});
    check_values(t.eval(t.b.unary(Fn::Log, p)), {kInf, kNaN, -kInf, std::log(3)});
    check_values(t.eval(t.b.unary(Fn::Tanh, p)), {1, -1, 0, std::tanh(3)});
    check_values(t.eval(t.b.unary(Fn::Logistic, p)), {1, 0, 0.5, 1 / (1 + std::exp(-3))});
    check_values(t.eval(t.b.binary(Fn::Max, p, zero)), {kInf, 0, 0, 3});
    check_values(t.eval(t.b.compare(Fn::Lt, p, zero)), {0, 1, 0, 0});
    check_values(t.eval(t.b.map(Fn::IsFinite, {p}, DType::Bool)), {0, 0, 1, 1});
    check_values(t.eval(t.b.map(Fn::IsInf, {p}, DType::Bool)), {1, 1, 0, 0});
    // A branch that is not taken is not looked at.
    const NodeId bad = t.b.unary(Fn::Sqrt, t.in({4}, {-1, -1, 4, 9}));
    const NodeId good = t.b.compare(Fn::Ge, p, zero);
    check_values(t.eval(t.b.select(good, zero, bad)), {0, kNaN, 0, 0});
    check_values(t.eval(t.b.compare(Fn::Eq, bad, bad)), {kOpen, kOpen, 1, 1});
  }
}

TEST_CASE("S-19 integers and bools") {
  Bench t;
  const NodeId x = t.in_i({5}, {7, -7, 7, -7, 0}), y = t.in_i({5}, {2, 2, -2, -2, 3});
  const auto binary = [&](Fn fn) { return t.eval(t.b.binary(fn, x, y)); };
  check_values(binary(Fn::Div), {3, -3, -3, 3, 0});
  check_values(binary(Fn::FloorDiv), {3, -4, -4, 3, 0});
  check_values(binary(Fn::Rem), {1, -1, 1, -1, 0});
  check_values(binary(Fn::Mod), {1, 1, -1, -1, 0});
  check_values(binary(Fn::Pow), {49, 49, kOpen, kOpen, 0});
  check_values(binary(Fn::And), {2, 0, 6, -8, 0});
  check_values(binary(Fn::Xor), {5, -5, -7, 7, 3});
  check_values(t.eval(t.b.binary(Fn::Div, x, t.b.constant(Literal::integer(0), DType::I64))), {kOpen, kOpen, kOpen, kOpen, kOpen});
  const NodeId small = t.in_i({3}, {127, -128, 5}, DType::I8), one = t.b.constant(Literal::integer(1), DType::I8);
  check_values(t.eval(t.b.binary(Fn::Add, small, one)), {-128, -127, 6});
  check_values(t.eval(t.b.unary(Fn::Neg, small)), {-127, -128, -5});
  check_values(t.eval(t.b.binary(Fn::Shl, small, one)), {-2, 0, 10});
  check_values(t.eval(t.b.binary(Fn::ShrL, small, one)), {63, 64, 2});
  check_values(t.eval(t.b.binary(Fn::ShrA, small, one)), {63, -64, 2});
  check_values(t.eval(t.b.unary(Fn::PopCount, small)), {7, 1, 2});
  check_values(t.eval(t.b.unary(Fn::Clz, small)), {1, 0, 5});
  const NodeId u = t.in_i({2}, {-1, 3}, DType::U64), w = t.in_i({2}, {2, 5}, DType::U64);
  check_values(t.eval(t.b.compare(Fn::Gt, u, w)), {1, 0});
  check_values(t.eval(t.b.convert(u, DType::F64)), {18446744073709551615.0, 3});
  const NodeId p = t.in_i({2}, {1, 0}, DType::Bool), q = t.in_i({2}, {1, 1}, DType::Bool);
  check_values(t.eval(t.b.map(Fn::Add, {p, q}, DType::Bool)), {1, 1});
  check_values(t.eval(t.b.map(Fn::And, {p, q}, DType::Bool)), {1, 0});
  check_values(t.eval(t.b.unary(Fn::Not, p)), {0, 1});
}

TEST_CASE("S-20 conversions") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({5}, {-2.7, 2.7, 300, kInf, 0});
    check_values(t.eval(t.b.convert(x, DType::I32)), {-2, 2, 300, kNaN, 0});
    check_values(t.eval(t.b.convert(x, DType::I8)), {-2, 2, kNaN, kNaN, 0});
    check_values(t.eval(t.b.convert(x, DType::U8)), {kNaN, 2, kNaN, kNaN, 0});
    check_values(t.eval(t.b.convert(x, DType::Bool)), {1, 1, 1, 1, 0});
    check_values(t.eval(t.b.convert(x, DType::F16)), {-2.7, 2.7, 300, kInf, 0});
    check_values(t.eval(t.b.convert(x, DType::F8)), {kOpen, kOpen, kOpen, kOpen, kOpen});
    const NodeId i = t.in_i({3}, {300, -1, 0});
    check_values(t.eval(t.b.convert(i, DType::U8)), {44, 255, 0});
    check_values(t.eval(t.b.convert(i, DType::Bool)), {1, 1, 0});
    check_values(t.eval(t.b.convert(i, DType::F32)), {300, -1, 0});
    // An enclosure across an integer is open; exact arithmetic is not.
    const NodeId third = t.b.binary(Fn::Div, t.in({1}, {1}), t.in({1}, {3}));
    const NodeId whole = t.b.binary(Fn::Mul, third, t.in({1}, {3}));
    check_values(t.eval(t.b.unary(Fn::Floor, whole)), {kOpen});
    check_values(t.eval(t.b.convert(whole, DType::I64)), {kOpen});
    check_values(t.eval(t.b.unary(Fn::Floor, t.b.binary(Fn::Div, t.in({1}, {6}), t.in({1}, {3})))), {2});
  }
}

TEST_CASE("S-21, S-22 reductions") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({2, 3}, {1, 5, 3, -2, 0, 4});
    check_values(t.eval(t.b.reduce(Fn::Add, x, {0})), {-1, 5, 7});
    check_values(t.eval(t.b.reduce(Fn::Add, x, {0, 1})), {11});
    check_values(t.eval(t.b.reduce(Fn::Mul, x, {1})), {15, 0});
    check_values(t.eval(t.b.reduce(Fn::Max, x, {1})), {5, 4});
    check_values(t.eval(t.b.reduce(Fn::Min, x, {0})), {-2, 0, 3});
    const NodeId none = t.in({2, 0}, {});
    check_values(t.eval(t.b.reduce(Fn::Add, none, {1})), {0, 0});
    check_values(t.eval(t.b.reduce(Fn::Max, none, {1})), {-kInf, -kInf});
    check_values(t.eval(t.b.arg_reduce(Fn::Max, x, 1, DType::I64)), {1, 2});
    check_values(t.eval(t.b.arg_reduce(Fn::Min, x, 0, DType::I64)), {1, 1, 0});
    check_values(t.eval(t.b.arg_reduce(Fn::Max, t.in({3}, {2, 5, 5}), 0, DType::I64)), {kOpen});
    const NodeId i = t.in_i({4}, {100, 100, 3, -5}, DType::I8);
    check_values(t.eval(t.b.reduce(Fn::Add, i, {0})), {-58});
    check_values(t.eval(t.b.reduce(Fn::Max, i, {0})), {100});
    const NodeId p = t.in_i({2, 2}, {1, 0, 1, 1}, DType::Bool);
    check_values(t.eval(t.b.reduce(Fn::And, p, {1})), {0, 1});
    check_values(t.eval(t.b.reduce(Fn::Or, p, {0})), {1, 1});
    check_values(t.eval(t.b.reduce(Fn::And, t.in_i({1, 0}, {}, DType::Bool), {1})), {1});
  }
}

TEST_CASE("S-23 contractions") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({2, 3}, {1, 2, 3, 4, 5, 6}), y = t.in({3, 2}, {1, -1, 0, 2, 0.5, 0});
    check_values(t.eval(t.b.contract(x, y, {}, {1, 0}, DType::F64)), {2.5, 3, 7, 6});
    check_values(t.eval(t.b.contract(x, x, {0, 0}, {1, 1}, DType::F64)), {14, 77});
    check_values(t.eval(t.b.contract(x, y, {1, 0}, {}, DType::F64)), {1, -1, 4, -4, 0, 4, 0, 10, 1.5, 0, 3, 0});
    check_values(t.eval(t.b.contract(t.in({2}, {kInf, 1}), t.in({2}, {1, 2}), {}, {0, 0}, DType::F64)), {kInf});
    check_values(t.eval(t.b.contract(t.in({2}, {kInf, 1}), t.in({2}, {0, 2}), {}, {0, 0}, DType::F64)), {kNaN});
    check_values(t.eval(t.b.contract(t.in({1, 0}, {}), t.in({0, 2}, {}), {}, {1, 0}, DType::F64)), {0, 0});
    const NodeId i = t.in_i({2}, {100, 2}, DType::I8), j = t.in_i({2}, {3, 1}, DType::I8);
    check_values(t.eval(t.b.contract(i, j, {}, {0, 0}, DType::I8)), {46});
    check_values(t.eval(t.b.contract(i, j, {}, {0, 0}, DType::I32)), {302});
  }
}

TEST_CASE("S-24 take") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({3, 2}, {0, 1, 10, 11, 20, 21});
    const auto rows = [&](IndexMode mode, NodeId fill = ir::kNoNode) {
      return t.eval(t.b.take(x, {t.in_i({3}, {2, -1, 3})}, {-1, 1}, {0}, {3, 2}, mode, fill));
    };
    check_values(rows(IndexMode::Strict), {20, 21, kNaN, kNaN, kNaN, kNaN});
    check_values(rows(IndexMode::Wrap), {20, 21, 20, 21, kNaN, kNaN});
    check_values(rows(IndexMode::Clamp), {20, 21, 0, 1, 20, 21});
    check_values(rows(IndexMode::Fill, t.b.constant(Literal::real(7), DType::F64)), {20, 21, 7, 7, 7, 7});
    // batched (torch.gather along dim 1) and two index operands, one running over both result dims
    check_values(t.eval(t.b.take(x, {t.in_i({3, 1}, {1, 0, 1})}, {0, -1}, {0, 1}, {3, 1}, IndexMode::Strict)), {1, 10, 21});
    check_values(t.eval(t.b.take(x, {t.in_i({2}, {2, 0}), t.in_i({2}, {1, 0})}, {-1, -2}, {0}, {2}, IndexMode::Strict)), {21, 0});
    // the diagonal
    const NodeId square = t.in({2, 2}, {1, 2, 3, 4});
    check_values(t.eval(t.b.take(square, {}, {0, 0}, {}, {2}, IndexMode::Strict)), {1, 4});
  }
}

TEST_CASE("S-25 scatter") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({4}, {1, 2, 3, 4}), u = t.in({3}, {10, 20, 30});
    const auto at = [&](std::vector<int64_t> where, Fn fn, bool set, IndexMode mode) {
      return t.eval(t.b.scatter(x, u, {t.in_i({3}, where)}, {-1}, {0}, fn, set, mode));
    };
    check_values(at({0, 2, 0}, Fn::Add, false, IndexMode::Strict), {41, 2, 23, 4});
    check_values(at({0, 2, 0}, Fn::Max, false, IndexMode::Strict), {30, 2, 20, 4});
    check_values(at({0, 2, 1}, Fn::None, true, IndexMode::Strict), {10, 30, 20, 4});
    check_values(at({0, 2, 0}, Fn::None, true, IndexMode::Strict), {kOpen, 2, 20, 4});  // who wins is open
    check_values(at({0, 9, -1}, Fn::Add, false, IndexMode::Fill), {11, 2, 3, 4});
    check_values(at({0, 9, -1}, Fn::Add, false, IndexMode::Clamp), {41, 2, 3, 24});
    check_values(at({0, 1, -1}, Fn::Add, false, IndexMode::Wrap), {11, 22, 3, 34});
    check_values(at({0, 9, 1}, Fn::Add, false, IndexMode::Strict), {kNaN, kNaN, kNaN, kNaN});
    const NodeId table = t.in({3, 2}, {0, 0, 0, 0, 0, 0}), rows = t.in({2, 2}, {1, 2, 3, 4});
    check_values(t.eval(t.b.scatter(table, rows, {t.in_i({2}, {2, 2})}, {-1, 1}, {0}, Fn::Add, false, IndexMode::Strict)),
                 {0, 0, 0, 0, 4, 6});
  }
}

TEST_CASE("S-31, S-32 dynamic slices") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({2, 3}, {0, 1, 2, 3, 4, 5}), zero = t.in_i({}, {0});
    const auto start = [&](int64_t v) { return t.in_i({}, {v}); };
    check_values(t.eval(t.b.dynamic_slice(x, {zero, start(1)}, {2, 2})), {1, 2, 4, 5});
    check_values(t.eval(t.b.dynamic_slice(x, {zero, start(9)}, {2, 2})), {1, 2, 4, 5});
    check_values(t.eval(t.b.dynamic_slice(x, {zero, start(-4)}, {1, 2})), {0, 1});
    const NodeId u = t.in({1, 2}, {8, 9});
    check_values(t.eval(t.b.dynamic_update(x, u, {start(1), start(5)})), {0, 1, 2, 3, 8, 9});
    check_values(t.eval(t.b.dynamic_update(x, u, {start(-1), start(0)})), {8, 9, 2, 3, 4, 5});
  }
}

TEST_CASE("S-26, S-27 scans and sorts") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId x = t.in({2, 3}, {1, 2, 3, 5, -1, 2});
    check_values(t.eval(t.b.scan(Fn::Add, x, 1)), {1, 3, 6, 5, 4, 6});
    check_values(t.eval(t.b.scan(Fn::Add, x, 1, true)), {6, 5, 3, 6, 1, 2});
    check_values(t.eval(t.b.scan(Fn::Add, x, 1, false, true)), {0, 1, 3, 0, 5, 4});
    check_values(t.eval(t.b.scan(Fn::Max, x, 0)), {1, 2, 3, 5, 2, 3});
    check_values(t.eval(t.b.scan(Fn::Mul, x, 1, true, true)), {6, 3, 1, -2, 2, 1});
    const NodeId place = t.b.iota(DType::I64, {2, 3}, 1);
    auto sorted = t.b.sort({x, place}, 1, false, true);
    check_values(t.eval(sorted[0]), {1, 2, 3, -1, 2, 5});
    check_values(t.eval(sorted[1]), {0, 1, 2, 1, 2, 0});
    sorted = t.b.sort({x, place}, 1, true, false);
    check_values(t.eval(sorted[1]), {2, 1, 0, 0, 2, 1});
    const NodeId tie = t.in_i({4}, {3, 1, 3, 1}), where = t.b.iota(DType::I64, {4}, 0);
    check_values(t.eval(t.b.sort({tie, where}, 0, false, true)[1]), {1, 3, 0, 2});
    check_values(t.eval(t.b.sort({tie, where}, 0, true, true)[1]), {0, 2, 1, 3});
    check_values(t.eval(t.b.sort({tie, where}, 0, false, false)[1]), {kOpen, kOpen, kOpen, kOpen});
    check_values(t.eval(t.b.sort({tie, where}, 0, false, false)[0]), {1, 1, 3, 3});
  }
}

TEST_CASE("complex numbers") {
  for (Number system : kSystems) {
    Bench t;
    t.config.number = system;
    const NodeId a = t.b.map(Fn::Complex, {t.in({2}, {1, 2}), t.in({2}, {3, -1})}, DType::C128);
    const NodeId b = t.b.map(Fn::Complex, {t.in({2}, {0, 1}), t.in({2}, {1, 1})}, DType::C128);
    check_values(t.eval(t.b.binary(Fn::Mul, a, b)), {-3, 3});
    check_values(t.eval(t.b.binary(Fn::Mul, a, b), true), {1, 1});
    check_values(t.eval(t.b.binary(Fn::Div, a, b)), {3, 0.5});
    check_values(t.eval(t.b.binary(Fn::Div, a, b), true), {-1, -1.5});
    check_values(t.eval(t.b.unary(Fn::Conj, a), true), {-3, 1});
    check_values(t.eval(t.b.map(Fn::Abs, {a}, DType::F64)), {std::sqrt(10), std::sqrt(5)});
    check_values(t.eval(t.b.map(Fn::Imag, {t.b.transpose(t.b.reshape(a, {1, 2}), {1, 0})}, DType::F64)), {3, -1});
    check_values(t.eval(t.b.contract(a, b, {}, {0, 0}, DType::C128)), {0});
    check_values(t.eval(t.b.contract(a, b, {}, {0, 0}, DType::C128), true), {2});
  }
}
