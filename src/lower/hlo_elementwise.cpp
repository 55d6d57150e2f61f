// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Element-wise operators of HLO, StableHLO and CHLO, and the folding of constants.
//
// Folding is for integers and booleans (exact, wrapped to their width) and for casts; floats are left as they are written, since a proof
// may read a float literal as a closed form. One constant is the value of a whole tensor here (Const has a shape), so that a folded loop
// counter stays one node however it is broadcast.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "lower/hlo_internal.h"

namespace shardproof::lower {
namespace {

using ir::DType;
using ir::Fn;
using ir::NodeId;

int64_t wrap(uint64_t u, DType t) {
  const int bits = ir::int_bits(t);
  if (bits == 64) return static_cast<int64_t>(u);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  u &= mask;
  if (ir::is_signed_int(t) && (u >> (bits - 1)) != 0) u |= ~mask;
  return static_cast<int64_t>(u);
}

bool less(int64_t x, int64_t y, DType t) { return t == DType::U64 ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y; }

bool whole(DType t) { return ir::is_int(t) || t == DType::Bool; }

}  // namespace

const ir::Literal* HloLowering::literal(NodeId x) const { return b.g[x].op == ir::Op::Const ? &b.g[x].lit : nullptr; }

std::optional<int64_t> HloLowering::integer_value(NodeId x) const {
  const ir::Literal* v = literal(x);
  if (!v || !whole(b.g[x].dtype) || v->kind == ir::Literal::Kind::Float) return std::nullopt;
  return v->i;
}

std::optional<ir::Literal> HloLowering::fold(Fn fn, const std::vector<NodeId>& xs, DType t) const {
  if (fn == Fn::Convert && !whole(b.dtype(xs[0]))) {
    const ir::Literal* v = literal(xs[0]);
    const DType from = b.dtype(xs[0]);
    if (!v || v->kind != ir::Literal::Kind::Float || !ir::is_float(from) || from <= DType::F8) return std::nullopt;
    if (ir::is_float(t) && t > DType::F8) return *v;
    if (ir::is_int(t) && std::isfinite(v->d)) {
      const int value_bits = ir::int_bits(t) - (ir::is_signed_int(t) ? 1 : 0);
      if (std::fabs(v->d) < std::ldexp(1.0, std::min(value_bits, 62)) && (v->d >= 0 || ir::is_signed_int(t))) {
        return ir::Literal::integer(static_cast<int64_t>(v->d), t);
      }
    }
    return std::nullopt;
  }
  std::vector<int64_t> v;
  for (NodeId x : xs) {
    const std::optional<int64_t> k = integer_value(x);
    if (!k) return std::nullopt;
    v.push_back(*k);
  }
  const DType from = b.dtype(xs[0]);
  const auto number = [&](uint64_t u) { return t == DType::Bool ? ir::Literal::boolean(u != 0) : ir::Literal::integer(wrap(u, t), t); };
  const auto truth = [](bool on) { return ir::Literal::boolean(on); };
  const auto u = [&](size_t k) { return static_cast<uint64_t>(v[k]); };
  const bool is_signed = ir::is_signed_int(from), logic = from == DType::Bool;
  const auto accumulate = [&](auto step) {
    uint64_t out = u(0);
    for (size_t k = 1; k < v.size(); ++k) out = step(out, u(k));
    return number(out);
  };
  switch (fn) {
    case Fn::Convert:
      if (t == DType::Bool) return truth(v[0] != 0);
      if (ir::is_int(t)) return number(u(0));
      if (ir::is_float(t) && t > DType::F8 && from != DType::U64 && std::llabs(v[0]) <= (int64_t{1} << 53)) {
        return ir::Literal::real(static_cast<double>(v[0]), t);
      }
      return std::nullopt;
    case Fn::Add:
      if (logic) return accumulate([](uint64_t x, uint64_t y) { return x | y; });
      return accumulate([](uint64_t x, uint64_t y) { return x + y; });
    case Fn::Mul: return accumulate([](uint64_t x, uint64_t y) { return x * y; });
    case Fn::And: return accumulate([](uint64_t x, uint64_t y) { return x & y; });
    case Fn::Or: return accumulate([](uint64_t x, uint64_t y) { return x | y; });
    case Fn::Xor: return number(u(0) ^ u(1));
    case Fn::Not: return logic ? truth(v[0] == 0) : number(~u(0));
    case Fn::Max:
    case Fn::Min: {
      int64_t out = v[0];
      for (int64_t k : v) {
        if (fn == Fn::Max ? less(out, k, from) : less(k, out, from)) out = k;
      }
      return number(static_cast<uint64_t>(out));
    }
    case Fn::Sub: return logic ? std::nullopt : std::optional(number(u(0) - u(1)));
    case Fn::Neg: return logic ? std::nullopt : std::optional(number(0 - u(0)));
    case Fn::Abs: return is_signed && v[0] < 0 ? number(0 - u(0)) : number(u(0));
    case Fn::Sign: return is_signed ? number(static_cast<uint64_t>(v[0] > 0 ? 1 : v[0] < 0 ? -1 : 0)) : number(v[0] != 0);
    case Fn::Div:
    case Fn::Rem:
      if (logic || v[1] == 0) return std::nullopt;
      if (is_signed) {
        if (v[1] == -1) return number(fn == Fn::Div ? 0 - u(0) : 0);  // the quotient of the least integer wraps
        return number(static_cast<uint64_t>(fn == Fn::Div ? v[0] / v[1] : v[0] % v[1]));
      }
      return number(fn == Fn::Div ? u(0) / u(1) : u(0) % u(1));
    case Fn::Shl:
    case Fn::ShrL: {
      const uint64_t bits = static_cast<uint64_t>(ir::int_bits(from));
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      if (u(1) >= bits) return number(0);
      return number(fn == Fn::Shl ? u(0) << u(1) : (u(0) & mask) >> u(1));
    }
    case Fn::Eq: return truth(v[0] == v[1]);
    case Fn::Ne: return truth(v[0] != v[1]);
    case Fn::Lt: return truth(less(v[0], v[1], from));
    case Fn::Le: return truth(!less(v[1], v[0], from));
    case Fn::Gt: return truth(less(v[1], v[0], from));
    case Fn::Ge: return truth(!less(v[0], v[1], from));
    default: return std::nullopt;
  }
}

NodeId HloLowering::map(Fn fn, std::vector<NodeId> xs, DType t) {
  SP_CHECK(!xs.empty());
  ir::Shape shape;
  for (NodeId x : xs) {
    if (!b.shape(x).empty()) shape = b.shape(x);
  }
  if (fn == Fn::Select) {
    if (const auto condition = integer_value(xs[0])) {
      const NodeId chosen = *condition ? xs[1] : xs[2];
      return b.shape(chosen) == shape ? chosen : broadcast(chosen, shape, {});
    }
    if (xs[1] == xs[2] && b.shape(xs[1]) == shape) return xs[1];
  }
  if (fn == Fn::Convert && b.dtype(xs[0]) == t) return xs[0];
  if (const auto value = fold(fn, xs, t)) return b.constant(*value, t, shape);
  return b.map(fn, std::move(xs), t);
}

NodeId HloLowering::zero(DType t) {
  if (t == DType::Bool) return b.constant(ir::Literal::boolean(false), t);
  return ir::is_int(t) ? integer(0, t) : b.constant(ir::Literal::real(0.0, t), t);
}

NodeId HloLowering::extreme(bool lowest, DType t) {
  if (t == DType::Bool) return b.constant(ir::Literal::boolean(!lowest), t);
  if (ir::is_float(t)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return b.constant(ir::Literal::real(lowest ? -infinity : infinity, t), t);
  }
  if (!ir::is_int(t)) throw Unsupported{"maximum or minimum of values without an order"};
  const int bits = ir::int_bits(t);
  if (ir::is_signed_int(t)) {
    const uint64_t top = uint64_t{1} << (bits - 1);
    return integer(wrap(lowest ? top : top - 1, t), t);
  }
  return integer(wrap(lowest ? 0 : ~uint64_t{0}, t), t);
}

bool HloLowering::neutral(Fn fn, NodeId x) const {
  const ir::Literal* v = literal(x);
  if (!v) return false;
  const DType t = b.dtype(x);
  const bool is_float = v->kind == ir::Literal::Kind::Float;
  const double infinity = std::numeric_limits<double>::infinity();
  const auto least = [&](bool lowest) {
    if (t == DType::Bool) return v->i == (lowest ? 0 : 1);
    const uint64_t top = uint64_t{1} << (ir::int_bits(t) - 1);
    if (ir::is_signed_int(t)) return v->i == wrap(lowest ? top : top - 1, t);
    return v->i == wrap(lowest ? 0 : ~uint64_t{0}, t);
  };
  switch (fn) {
    case Fn::Add: return is_float ? v->d == 0 : v->i == 0;
    case Fn::Mul: return is_float ? v->d == 1 : v->i == 1;
    case Fn::Max: return is_float ? v->d == -infinity : least(true);
    case Fn::Min: return is_float ? v->d == infinity : least(false);
    case Fn::And: return !is_float && (t == DType::Bool ? v->i == 1 : v->i == wrap(~uint64_t{0}, t));
    case Fn::Or: return !is_float && v->i == 0;
    default: return false;
  }
}

NodeId HloLowering::with_init(Fn fn, NodeId reduced, NodeId init) {
  return neutral(fn, init) ? reduced : map(fn, {reduced, init}, b.dtype(reduced));
}

NodeId HloLowering::clamp(NodeId x, int64_t low, int64_t high) {
  // In the index's own type where that is wider than i64's range: a large unsigned index is beyond the end, not negative.
  if (b.dtype(x) == DType::U64) x = map(Fn::Min, {x, integer(high, DType::U64)}, DType::U64);
  const NodeId wide = convert(x, DType::I64);
  return map(Fn::Max, {map(Fn::Min, {wide, integer(high)}, DType::I64), integer(low)}, DType::I64);
}

Value HloLowering::complex_abs(NodeId x) {
  const DType part = b.dtype(x) == DType::C64 ? DType::F32 : DType::F64;
  const NodeId re = map(Fn::Real, {x}, part), im = map(Fn::Imag, {x}, part);
  return Value::of(map(Fn::Sqrt, {map(Fn::Add, {map(Fn::Mul, {re, re}, part), map(Fn::Mul, {im, im}, part)}, part)}, part));
}

// An operator by its HLO or CHLO name; nullopt if there is none of that name with so many operands.
std::optional<NodeId> HloLowering::unary_by_name(std::string_view name, std::vector<NodeId> xs) {
  static const std::unordered_map<std::string_view, std::pair<Fn, size_t>> table{{"abs", {Fn::Abs, 1}},
                                                                                 {"cbrt", {Fn::Cbrt, 1}},
                                                                                 {"ceil", {Fn::Ceil, 1}},
                                                                                 {"cosine", {Fn::Cos, 1}},
                                                                                 {"cos", {Fn::Cos, 1}},
                                                                                 {"count-leading-zeros", {Fn::Clz, 1}},
                                                                                 {"clz", {Fn::Clz, 1}},
                                                                                 {"erf", {Fn::Erf, 1}},
                                                                                 {"exponential", {Fn::Exp, 1}},
                                                                                 {"exp", {Fn::Exp, 1}},
                                                                                 {"exponential-minus-one", {Fn::Expm1, 1}},
                                                                                 {"exponential-base2", {Fn::Exp2, 1}},
                                                                                 {"floor", {Fn::Floor, 1}},
                                                                                 {"log", {Fn::Log, 1}},
                                                                                 {"log-plus-one", {Fn::Log1p, 1}},
                                                                                 {"logistic", {Fn::Logistic, 1}},
                                                                                 {"negate", {Fn::Neg, 1}},
                                                                                 {"not", {Fn::Not, 1}},
                                                                                 {"popcnt", {Fn::PopCount, 1}},
                                                                                 {"population-count", {Fn::PopCount, 1}},
                                                                                 {"round-nearest-afz", {Fn::RoundAway, 1}},
                                                                                 {"round-nearest-even", {Fn::Round, 1}},
                                                                                 {"rsqrt", {Fn::Rsqrt, 1}},
                                                                                 {"sign", {Fn::Sign, 1}},
                                                                                 {"sine", {Fn::Sin, 1}},
                                                                                 {"sin", {Fn::Sin, 1}},
                                                                                 {"sqrt", {Fn::Sqrt, 1}},
                                                                                 {"tan", {Fn::Tan, 1}},
                                                                                 {"tanh", {Fn::Tanh, 1}},
                                                                                 {"acos", {Fn::Acos, 1}},
                                                                                 {"acosh", {Fn::Acosh, 1}},
                                                                                 {"asin", {Fn::Asin, 1}},
                                                                                 {"asinh", {Fn::Asinh, 1}},
                                                                                 {"atan", {Fn::Atan, 1}},
                                                                                 {"atanh", {Fn::Atanh, 1}},
                                                                                 {"conj", {Fn::Conj, 1}},
                                                                                 {"cosh", {Fn::Cosh, 1}},
                                                                                 {"sinh", {Fn::Sinh, 1}},
                                                                                 {"digamma", {Fn::Digamma, 1}},
                                                                                 {"erf-inv", {Fn::ErfInv, 1}},
                                                                                 {"erfc", {Fn::Erfc, 1}},
                                                                                 {"lgamma", {Fn::Lgamma, 1}},
                                                                                 {"is-finite", {Fn::IsFinite, 1}},
                                                                                 {"is-inf", {Fn::IsInf, 1}},
                                                                                 {"real", {Fn::Real, 1}},
                                                                                 {"imag", {Fn::Imag, 1}},
                                                                                 {"add", {Fn::Add, 2}},
                                                                                 {"and", {Fn::And, 2}},
                                                                                 {"atan2", {Fn::Atan2, 2}},
                                                                                 {"complex", {Fn::Complex, 2}},
                                                                                 {"divide", {Fn::Div, 2}},
                                                                                 {"maximum", {Fn::Max, 2}},
                                                                                 {"minimum", {Fn::Min, 2}},
                                                                                 {"multiply", {Fn::Mul, 2}},
                                                                                 {"or", {Fn::Or, 2}},
                                                                                 {"power", {Fn::Pow, 2}},
                                                                                 {"remainder", {Fn::Rem, 2}},
                                                                                 {"shift-left", {Fn::Shl, 2}},
                                                                                 {"shift-right-arithmetic", {Fn::ShrA, 2}},
                                                                                 {"shift-right-logical", {Fn::ShrL, 2}},
                                                                                 {"subtract", {Fn::Sub, 2}},
                                                                                 {"xor", {Fn::Xor, 2}}};
  if (xs.empty()) return std::nullopt;
  const DType t = b.dtype(xs[0]);
  if (name == "square" && xs.size() == 1) return map(Fn::Mul, {xs[0], xs[0]}, t);
  const auto it = table.find(name);
  if (it == table.end() || it->second.second != xs.size()) return std::nullopt;
  const Fn fn = it->second.first;
  const DType part = t == DType::C64 ? DType::F32 : DType::F64;
  switch (fn) {
    case Fn::IsFinite:
    case Fn::IsInf: return map(fn, std::move(xs), DType::Bool);
    case Fn::Abs: return ir::is_complex(t) ? complex_abs(xs[0]).node : map(fn, std::move(xs), t);
    case Fn::Real: return ir::is_complex(t) ? map(fn, std::move(xs), part) : xs[0];
    case Fn::Imag: return ir::is_complex(t) ? std::optional(map(fn, std::move(xs), part)) : std::nullopt;
    case Fn::Conj: return ir::is_complex(t) ? map(fn, std::move(xs), t) : xs[0];
    case Fn::Complex: return map(fn, std::move(xs), t == DType::F32 ? DType::C64 : DType::C128);
    default: return map(fn, std::move(xs), t);
  }
}

Value HloLowering::elementwise(const Call& c) {
  std::string name = normal_opcode(c.ins.opcode);
  std::vector<NodeId> xs = nodes(c);
  if (name.rfind("broadcast-", 0) == 0) {  // CHLO: only the forms that do not broadcast, or broadcast scalars
    name = name.substr(10);
    for (NodeId x : xs) {
      if (b.shape(x) != c.ins.type.shape && !b.shape(x).empty()) throw Unsupported{"implicit broadcast of " + name};
    }
  } else if (!mapped_) {
    for (NodeId x : xs) {
      if (b.shape(x) != c.ins.type.shape) malformed("operands and result differ in shape");
    }
  }
  for (NodeId x : xs) {
    if (b.dtype(x) != b.dtype(xs[0])) malformed("operands differ in element type");
  }
  // Every operator on 4- and 8-bit floats rounds by more than any proof allows for.
  if (c.ins.type.dtype == DType::F4 || c.ins.type.dtype == DType::F8) throw Unsupported{fmt::format("{} of 8-bit floats", name)};
  if (const auto out = unary_by_name(name, xs)) return Value::of(*out);
  throw Unsupported{fmt::format("{} is not supported", name)};
}

Value HloLowering::compare(const Call& c) {
  static const std::unordered_map<std::string_view, Fn> table{{"EQ", Fn::Eq}, {"NE", Fn::Ne}, {"LT", Fn::Lt},
                                                              {"LE", Fn::Le}, {"GT", Fn::Gt}, {"GE", Fn::Ge}};
  NodeId x = node(c, 0), y = node(c, 1);
  const auto it = table.find(c.ins.direction);
  need(it != table.end(), "has no direction (EQ, NE, LT, LE, GT or GE)");
  if (b.dtype(x) != b.dtype(y)) malformed("operands differ in element type");
  if (c.ins.compare_type == "TOTALORDER" && ir::is_float(b.dtype(x))) return Value::of(total_order(it->second, x, y));
  if (b.dtype(x) == DType::Bool && it->second != Fn::Eq && it->second != Fn::Ne) {
    x = convert(x, DType::I32);
    y = convert(y, DType::I32);
  }
  return Value::of(map(it->second, {x, y}, DType::Bool));
}

// The total order of floats, on the values that the proofs know: there is one zero and one NaN, which is above everything.
NodeId HloLowering::total_order(Fn fn, NodeId x, NodeId y) {
  const auto logic = [&](Fn f, std::vector<NodeId> v) { return map(f, std::move(v), DType::Bool); };
  const auto nan = [&](NodeId v) { return logic(Fn::IsNan, {v}); };
  const auto below = [&](NodeId l, NodeId r) {
    return logic(Fn::And, {logic(Fn::Not, {nan(l)}), logic(Fn::Or, {nan(r), logic(Fn::Lt, {l, r})})});
  };
  const auto equal = [&] { return logic(Fn::Or, {logic(Fn::Eq, {x, y}), logic(Fn::And, {nan(x), nan(y)})}); };
  switch (fn) {
    case Fn::Lt: return below(x, y);
    case Fn::Gt: return below(y, x);
    case Fn::Le: return logic(Fn::Not, {below(y, x)});
    case Fn::Ge: return logic(Fn::Not, {below(x, y)});
    case Fn::Eq: return equal();
    default: return logic(Fn::Not, {equal()});
  }
}

Value HloLowering::select(const Call& c) {
  const NodeId condition = node(c, 0), yes = node(c, 1), no = node(c, 2);
  need(b.dtype(condition) == DType::Bool && b.dtype(yes) == b.dtype(no), "needs a pred and two operands of one type");
  return Value::of(map(Fn::Select, {condition, yes, no}, b.dtype(yes)));
}

Value HloLowering::clamp_op(const Call& c) {
  const NodeId low = node(c, 0), x = node(c, 1), high = node(c, 2);
  const DType t = b.dtype(x);
  return Value::of(map(Fn::Min, {map(Fn::Max, {x, low}, t), high}, t));
}

Value HloLowering::convert_op(const Call& c) {
  const NodeId x = node(c, 0);
  const DType from = b.dtype(x), to = c.ins.type.dtype;
  // Rounding to 4 or 8 bits is a function of its own for each format.
  if (to == DType::F4 || to == DType::F8) throw Unsupported{fmt::format("rounding to {}", c.ins.type.float_format)};
  if (ir::is_complex(from) != ir::is_complex(to)) {
    if (!ir::is_float(from)) throw Unsupported{"convert between complex and real"};
    const DType part = to == DType::C64 ? DType::F32 : DType::F64;
    return Value::of(map(Fn::Complex, {convert(x, part), broadcast(zero(part), b.shape(x), {})}, to));
  }
  return Value::of(convert(x, to));
}

Value HloLowering::bitcast_convert(const Call& c) {
  const NodeId x = node(c, 0);
  const DType from = b.dtype(x), to = result_type(c).dtype;
  if (from == to) return Value::of(x);
  // Integers of one width have one pattern, read in two ways.
  if (ir::is_int(from) && ir::is_int(to) && ir::int_bits(from) == ir::int_bits(to)) return Value::of(convert(x, to));
  if (ir::is_float(to) && ir::is_int(from)) return Value::of(float_of_bits(x, to));
  throw Unsupported{fmt::format("bitcast-convert from {} to {} looks at bits", ir::name(from), ir::name(to))};
}

// The float that an integer's bits are: random bits become numbers in [1, 2) this way, as mantissa | exponent of 1.
NodeId HloLowering::float_of_bits(NodeId bits, DType t) {
  const DType from = b.dtype(bits);
  int mantissa = 0, width = 0;
  switch (t) {
    case DType::F64: mantissa = 52, width = 64; break;
    case DType::F32: mantissa = 23, width = 32; break;
    case DType::F16: mantissa = 10, width = 16; break;
    case DType::BF16: mantissa = 7, width = 16; break;
    default: throw Unsupported{fmt::format("bitcast-convert to {}", ir::name(t))};
  }
  if (ir::int_bits(from) != width) throw Unsupported{"bitcast-convert that changes the shape"};
  const int exponents = width - 1 - mantissa;
  const int64_t bias = (int64_t{1} << (exponents - 1)) - 1, one = bias << mantissa;
  const auto real = [&](double v) { return b.constant(ir::Literal::real(v, t), t); };
  const auto add = [&](NodeId x, NodeId y) { return map(Fn::Add, {x, y}, t); };
  const auto mul = [&](NodeId x, NodeId y) { return map(Fn::Mul, {x, y}, t); };
  // y | bits of 1, y below 2^mantissa: 1 + y * 2^-mantissa
  const ir::Node& n = b.g[bits];
  if (n.op == ir::Op::Map && n.fn == Fn::Or && n.in.size() == 2) {
    for (size_t k = 0; k < 2; ++k) {
      const ir::Node& y = b.g[n.in[1 - k]];
      if (integer_value(n.in[k]) != one || y.op != ir::Op::Map || y.fn != Fn::ShrL) continue;
      const auto shift = integer_value(y.in[1]);
      if (shift && *shift >= width - mantissa && *shift < width)
        return add(mul(convert(n.in[1 - k], t), real(std::ldexp(1.0, -mantissa))), real(1));
    }
  }
  // Sign, exponent and mantissa of any pattern; subnormal numbers have exponent 0, the greatest exponent is infinity or NaN.
  const auto field = [&](int shift, int64_t mask) {
    const NodeId shifted = shift == 0 ? bits : map(Fn::ShrL, {bits, integer(shift, from)}, from);
    return map(Fn::And, {shifted, integer(mask, from)}, from);
  };
  const auto is = [&](NodeId x, int64_t v) { return map(Fn::Eq, {x, integer(v, from)}, DType::Bool); };
  const NodeId m = field(0, (int64_t{1} << mantissa) - 1), e = field(mantissa, (int64_t{1} << exponents) - 1), sign = field(width - 1, 1);
  const NodeId fraction = mul(convert(m, t), real(std::ldexp(1.0, -mantissa)));
  const NodeId power = map(Fn::Exp2, {add(convert(e, t), real(static_cast<double>(-bias)))}, t);
  const NodeId small = mul(fraction, real(std::ldexp(1.0, static_cast<int>(1 - bias))));
  const double infinity = std::numeric_limits<double>::infinity();
  const NodeId top = map(Fn::Select, {is(m, 0), real(infinity), real(std::numeric_limits<double>::quiet_NaN())}, t);
  NodeId v = map(Fn::Select, {is(e, 0), small, mul(add(fraction, real(1)), power)}, t);
  v = map(Fn::Select, {is(e, (int64_t{1} << exponents) - 1), top, v}, t);
  return map(Fn::Select, {is(sign, 1), map(Fn::Neg, {v}, t), v}, t);
}

// Rounding to a standard format is two casts. Any other format is not.
Value HloLowering::reduce_precision(const Call& c) {
  const NodeId x = node(c, 0);
  const int64_t e = c.ins.exponent_bits, f = c.ins.mantissa_bits;
  const DType t = b.dtype(x);
  if (e == 11 && f == 52 && t == DType::F64) return Value::of(x);
  const DType format = e == 8 && f == 23 ? DType::F32 : e == 8 && f == 7 ? DType::BF16 : e == 5 && f == 10 ? DType::F16 : DType::Invalid;
  if (format == DType::Invalid || !ir::is_float(t)) throw Unsupported{fmt::format("reduce-precision to {} and {} bits", e, f)};
  return Value::of(convert(convert(x, format), t));
}

}  // namespace shardproof::lower
