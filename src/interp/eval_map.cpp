// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Element-wise operators (S-19 in docs/spec.md): out[i] = fn(x0[i], x1[i], ...). Operands are refined to common axes; one that is constant
// everywhere is read with stride 0. Integers wrap at their width; what C++ leaves undefined (shifts beyond the width, division by zero) is
// undecided.
#include <algorithm>
#include <bit>

#include "interp/eval.h"
#include "util/result.h"

namespace shardproof::interp {
namespace {

using ir::DType;
using ir::Fn;

// One operand, ready for the loop.
struct Arg {
  const Buffer* b;
  size_t stride;
  size_t at(size_t k) const { return k * stride; }
};

struct Prepared {
  std::vector<Axis> axes;
  size_t size = 1;
  std::vector<Value> held;
  std::vector<Arg> args, imag;
};

Prepared prepare(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  Prepared p;
  for (int64_t extent : n.shape) p.axes.push_back(Axis::whole(extent));
  for (const Value* x : in) {
    if (x->axes.size() != p.axes.size()) continue;
    for (size_t d = 0; d < p.axes.size(); ++d) p.axes[d] = common(p.axes[d], x->axes[d]);
  }
  c.check(p.axes);
  p.size = static_cast<size_t>(count_blocks(p.axes));
  c.spend(static_cast<double>(p.size * (in.size() + 1)) * (c.config.number == Number::Ball ? 20 : 2));
  p.held.reserve(in.size());
  for (const Value* x : in) {
    const bool constant = x->data->size == 1;
    p.held.push_back(constant || x->axes.size() != p.axes.size() ? *x : refine(*x, p.axes));
    const Value& v = p.held.back();
    p.args.push_back({v.data.get(), constant ? 0u : 1u});
    p.imag.push_back({v.imag.get(), constant ? 0u : 1u});
  }
  return p;
}

// ---- floats
template <typename F>
void loop(Buffer& out, const Arg& x, F f) {
  for (size_t k = 0; k < out.size; ++k) out.set(k, f(x.b->interval(x.at(k))));
}
template <typename F>
void loop(Buffer& out, const Arg& x, const Arg& y, F f) {
  for (size_t k = 0; k < out.size; ++k) out.set(k, f(x.b->interval(x.at(k)), y.b->interval(y.at(k))));
}

void float_unary(Context& c, Fn fn, Buffer& out, const Arg& x) {
  if (out.number == Number::Ball) {
    for (size_t k = 0; k < out.size; ++k) apply(fn, out.ball[k], x.b->ball[x.at(k)], c.config.bits);
    return;
  }
  switch (fn) {
    case Fn::Neg: return loop(out, x, [](Interval a) { return neg(a); });
    case Fn::Exp: return loop(out, x, [](Interval a) { return exp(a); });
    case Fn::Sqrt: return loop(out, x, [](Interval a) { return sqrt(a); });
    default: return loop(out, x, [fn](Interval a) { return apply(fn, a); });
  }
}

void float_binary(Context& c, Fn fn, Buffer& out, const Arg& x, const Arg& y) {
  if (out.number == Number::Ball && (fn == Fn::Max || fn == Fn::Min)) {  // the element itself where that is decided
    for (size_t k = 0; k < out.size; ++k) {
      const Order o = order(*x.b, x.at(k), *y.b, y.at(k), false);
      if (o == Order::Open) {
        apply(fn, out.ball[k], x.b->ball[x.at(k)], y.b->ball[y.at(k)], c.config.bits);
        if (!out.tag.empty()) out.tag[k] = 0;
      } else if ((o == Order::Less) == (fn == Fn::Max)) {
        out.copy(k, *y.b, y.at(k));
      } else {
        out.copy(k, *x.b, x.at(k));
      }
    }
    return;
  }
  if (out.number == Number::Ball) {
    for (size_t k = 0; k < out.size; ++k) apply(fn, out.ball[k], x.b->ball[x.at(k)], y.b->ball[y.at(k)], c.config.bits);
    return;
  }
  switch (fn) {
    case Fn::Add: return loop(out, x, y, [](Interval a, Interval b) { return add(a, b); });
    case Fn::Sub: return loop(out, x, y, [](Interval a, Interval b) { return sub(a, b); });
    case Fn::Mul: return loop(out, x, y, [](Interval a, Interval b) { return mul(a, b); });
    case Fn::Div: return loop(out, x, y, [](Interval a, Interval b) { return div(a, b); });
    case Fn::Max: return loop(out, x, y, [](Interval a, Interval b) { return max(a, b); });
    case Fn::Min: return loop(out, x, y, [](Interval a, Interval b) { return min(a, b); });
    default: return loop(out, x, y, [fn](Interval a, Interval b) { return apply(fn, a, b); });
  }
}

// ---- integers and bools
bool n_ary(Fn fn) { return fn == Fn::Add || fn == Fn::Mul || fn == Fn::Max || fn == Fn::Min || fn == Fn::And || fn == Fn::Or; }

State worse(State x, State y) { return x == State::Undefined || y == State::Undefined ? State::Undefined : std::max(x, y); }

// nullopt: open (see the file header).
std::optional<int64_t> integer(Fn fn, DType t, int64_t x, int64_t y) {
  const int bits = ir::int_bits(t);
  const bool is_unsigned = ir::is_unsigned_int(t) || t == DType::Bool;
  const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  switch (fn) {
    case Fn::Add: return static_cast<int64_t>(ux + uy);
    case Fn::Sub: return static_cast<int64_t>(ux - uy);
    case Fn::Mul: return static_cast<int64_t>(ux * uy);
    case Fn::Max: return (is_unsigned ? ux < uy : x < y) ? y : x;
    case Fn::Min: return (is_unsigned ? ux < uy : x < y) ? x : y;
    case Fn::And: return x & y;
    case Fn::Or: return x | y;
    case Fn::Xor: return x ^ y;
    case Fn::Div:
    case Fn::FloorDiv:
    case Fn::Rem:
    case Fn::Mod: {
      if (y == 0) return std::nullopt;
      if (is_unsigned) return static_cast<int64_t>(fn == Fn::Div || fn == Fn::FloorDiv ? ux / uy : ux % uy);
      if (y == -1) return fn == Fn::Div || fn == Fn::FloorDiv ? static_cast<int64_t>(0 - ux) : 0;  // the smallest integer wraps
      const int64_t q = x / y, r = x % y;
      const bool down = r != 0 && (r < 0) != (y < 0);
      switch (fn) {
        case Fn::Div: return q;
        case Fn::FloorDiv: return q - down;
        case Fn::Rem: return r;
        default: return down ? r + y : r;
      }
    }
    case Fn::Pow: {
      if (y < 0 && !is_unsigned)
        return x == 1 ? std::optional<int64_t>(1) : x == -1 ? std::optional<int64_t>(y % 2 == 0 ? 1 : -1) : std::nullopt;
      uint64_t out = 1, base = ux;
      for (uint64_t e = uy; e != 0; e >>= 1) {
        if (e & 1) out *= base;
        base *= base;
      }
      return static_cast<int64_t>(out);
    }
    case Fn::Shl: return uy < static_cast<uint64_t>(bits) ? std::optional<int64_t>(static_cast<int64_t>(ux << uy)) : std::nullopt;
    case Fn::ShrL: return uy < static_cast<uint64_t>(bits) ? std::optional<int64_t>(static_cast<int64_t>((ux & mask) >> uy)) : std::nullopt;
    case Fn::ShrA: {
      if (uy >= static_cast<uint64_t>(bits)) return std::nullopt;
      // Of unsigned types too, the sign bit of the width is what moves in.
      const int64_t wide = bits == 64 ? x : static_cast<int64_t>((ux & mask) << (64 - bits)) >> (64 - bits);
      return wide >> uy;
    }
    default: return std::nullopt;
  }
}

int64_t integer(Fn fn, DType t, int64_t x) {
  const int bits = ir::int_bits(t);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t ux = static_cast<uint64_t>(x) & mask;
  const bool is_unsigned = ir::is_unsigned_int(t);
  switch (fn) {
    case Fn::Neg: return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
    case Fn::Abs: return x < 0 && !is_unsigned ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x;
    case Fn::Sign: return x == 0 ? 0 : x < 0 && !is_unsigned ? -1 : 1;
    case Fn::Not: return t == DType::Bool ? !x : ~x;
    case Fn::PopCount: return std::popcount(ux);
    case Fn::Clz: return std::countl_zero(ux) - (64 - bits);
    default: SP_CHECK(false);
  }
  return 0;
}

void integer_map(Fn fn, DType t, Buffer& out, const std::vector<Arg>& args) {
  for (size_t k = 0; k < out.size; ++k) {
    State s = args[0].b->state_at(args[0].at(k));
    int64_t v = args[0].b->i[args[0].at(k)];
    if (args.size() == 1 && !n_ary(fn)) v = integer(fn, t, v);
    for (size_t j = 1; j < args.size(); ++j) {
      const int64_t y = args[j].b->i[args[j].at(k)];
      const State sy = args[j].b->state_at(args[j].at(k));
      // false and x, true or x are decided whatever x is.
      if (t == DType::Bool && (fn == Fn::And || fn == Fn::Or)) {
        const int64_t strong = fn == Fn::Or;
        if ((s == State::Fine && v == strong) || (sy == State::Fine && y == strong)) {
          s = State::Fine;
          v = strong;
          continue;
        }
      }
      s = worse(s, sy);
      const auto w = integer(fn, t, v, y);
      if (!w) s = worse(s, State::Undecided);
      v = wrap_integer(w.value_or(0), t);
    }
    out.i[k] = wrap_integer(v, t);
    if (s != State::Fine) out.set_state(k, s);
  }
}

// ---- comparisons, select, convert
void compare(Fn fn, DType t, Buffer& out, const Arg& x, const Arg& y) {
  const bool is_unsigned = ir::is_unsigned_int(t);
  for (size_t k = 0; k < out.size; ++k) {
    const Order o = order(*x.b, x.at(k), *y.b, y.at(k), is_unsigned);
    if (o == Order::Open) {
      out.set_state(k, State::Undecided);
      continue;
    }
    switch (fn) {
      case Fn::Eq: out.i[k] = o == Order::Equal; break;
      case Fn::Ne: out.i[k] = o != Order::Equal; break;
      case Fn::Lt: out.i[k] = o == Order::Less; break;
      case Fn::Le: out.i[k] = o != Order::Greater; break;
      case Fn::Gt: out.i[k] = o == Order::Greater; break;
      default: out.i[k] = o != Order::Less; break;
    }
  }
}

void classify(Fn fn, Buffer& out, const Arg& x) {
  for (size_t k = 0; k < out.size; ++k) {
    const Buffer& b = *x.b;
    if (b.state_at(x.at(k)) != State::Fine) {
      out.set_state(k, State::Undecided);  // 1/0 is undefined here and infinite in floats: nothing may rest on it
      continue;
    }
    const bool finite = b.number == Number::Ball ? is_real(b.ball[x.at(k)]) : is_real(b.interval(x.at(k)));
    out.i[k] = fn == Fn::IsFinite ? finite : fn == Fn::IsInf ? !finite : 0;
  }
}

void select(Buffer& out, const Arg& condition, const Arg& x, const Arg& y) {
  for (size_t k = 0; k < out.size; ++k) {
    const State s = condition.b->state_at(condition.at(k));
    if (s == State::Fine) {
      const Arg& taken = condition.b->i[condition.at(k)] ? x : y;
      out.copy(k, *taken.b, taken.at(k));
    } else if (s == State::Undecided && x.b->state_at(x.at(k)) == State::Fine && same_element(*x.b, x.at(k), *y.b, y.at(k))) {
      out.copy(k, *x.b, x.at(k));  // both branches are alike
    } else {
      out.set_state(k, s);
    }
  }
}

// S-20 convert (MANIFEST.md section 4, Casts).
void convert(Context& c, DType from, DType to, Buffer& out, const Arg& x) {
  const Buffer& b = *x.b;
  const bool coarse = to == DType::F4 || to == DType::F8;
  for (size_t k = 0; k < out.size; ++k) {
    const size_t at = x.at(k);
    if (coarse) {  // never exact
      out.set_state(k, State::Undecided);
    } else if (b.number == Number::Integer) {
      const State s = b.state_at(at);
      if (out.number == Number::Integer) {
        out.i[k] = to == DType::Bool ? b.i[at] != 0 : wrap_integer(b.i[at], to);
      } else if (out.number == Number::Ball) {
        from == DType::U64 ? arb_set_ui(out.ball[k], static_cast<ulong>(b.i[at])) : arb_set_si(out.ball[k], b.i[at]);
      } else {
        const double m = from == DType::U64 ? static_cast<double>(static_cast<uint64_t>(b.i[at])) : static_cast<double>(b.i[at]);
        out.set(k, {m, std::fabs(m) < 0x1p53 ? 0 : std::fabs(m) * 0x1p-52});
      }
      if (s != State::Fine) out.set_state(k, s);
    } else if (out.number != Number::Integer) {
      out.copy(k, b, at);
    } else if (b.state_at(at) != State::Fine) {
      out.set_state(k, to == DType::Bool ? State::Undecided : b.state_at(at));
    } else if (to == DType::Bool) {
      const bool ball = b.number == Number::Ball;
      const bool zero = ball ? arb_is_zero(b.ball[at]) : b.m[at] == 0 && b.r[at] == 0;
      const bool open = !zero && (ball ? arb_is_finite(b.ball[at]) && arb_contains_zero(b.ball[at]) : std::fabs(b.m[at]) <= b.r[at]);
      out.i[k] = !zero;
      if (open) out.set_state(k, State::Undecided);
    } else {
      Interval v;
      if (b.number == Number::Ball) {
        arb_t whole;
        arb_init(whole);
        apply(Fn::Trunc, whole, b.ball[at], c.config.bits);
        v = to_interval(whole);
        if (v.r != 0) v = kUndecided;
        arb_clear(whole);
      } else {
        v = apply(Fn::Trunc, b.interval(at));
      }
      const int bits = ir::int_bits(to);
      const double low = ir::is_signed_int(to) ? -std::ldexp(1.0, bits - 1) : 0,
                   high = std::ldexp(1.0, ir::is_signed_int(to) ? bits - 1 : bits);
      if (is_undecided(v)) {
        out.set_state(k, State::Undecided);
      } else if (!(v.m >= low && v.m < high)) {
        out.set_state(k, State::Undefined);
      } else {
        out.i[k] = to == DType::U64 ? static_cast<int64_t>(static_cast<uint64_t>(v.m)) : static_cast<int64_t>(v.m);
      }
    }
  }
}

// ---- complex numbers: pairs of reals
struct Parts {
  Arg re, im;
};

std::shared_ptr<const Buffer> constant_zero(Context& c) {
  Buffer zero = Buffer::make(c.config.number, 1);
  c.set_number(zero, 0, {0, 0});
  return std::make_shared<const Buffer>(std::move(zero));
}

void complex_map(Context& c, const ir::Node& n, const Prepared& p, Buffer& re, Buffer& im) {
  const auto binary = [&](Fn fn, const Arg& x, const Arg& y) {
    Buffer out = Buffer::make(c.config.number, p.size);
    float_binary(c, fn, out, x, y);
    return out;
  };
  const auto full = [](const Buffer& b) { return Arg{&b, 1}; };
  const Arg &xr = p.args[0], &xi = p.imag[0];
  switch (n.fn) {
    case Fn::Add:
    case Fn::Sub: {
      float_binary(c, n.fn, re, xr, p.args[1]);
      float_binary(c, n.fn, im, xi, p.imag[1]);
      for (size_t k = 2; k < p.args.size(); ++k) {
        re = binary(n.fn, full(re), p.args[k]);
        im = binary(n.fn, full(im), p.imag[k]);
      }
      return;
    }
    case Fn::Mul: {
      Buffer ar, ai;
      Arg pr = xr, pi = xi;
      for (size_t k = 1; k < p.args.size(); ++k) {
        const Arg &yr = p.args[k], &yi = p.imag[k];
        Buffer rr = binary(Fn::Mul, pr, yr), ii = binary(Fn::Mul, pi, yi), ri = binary(Fn::Mul, pr, yi), ir = binary(Fn::Mul, pi, yr);
        ar = binary(Fn::Sub, full(rr), full(ii));
        ai = binary(Fn::Add, full(ri), full(ir));
        pr = full(ar);
        pi = full(ai);
      }
      re = std::move(ar);
      im = std::move(ai);
      return;
    }
    case Fn::Div: {
      const Arg &yr = p.args[1], &yi = p.imag[1];
      Buffer rr = binary(Fn::Mul, yr, yr), ii = binary(Fn::Mul, yi, yi);
      Buffer norm = binary(Fn::Add, full(rr), full(ii));
      Buffer a = binary(Fn::Mul, xr, yr), b = binary(Fn::Mul, xi, yi), d = binary(Fn::Mul, xi, yr), e = binary(Fn::Mul, xr, yi);
      Buffer top = binary(Fn::Add, full(a), full(b)), bottom = binary(Fn::Sub, full(d), full(e));
      float_binary(c, Fn::Div, re, full(top), full(norm));
      float_binary(c, Fn::Div, im, full(bottom), full(norm));
      return;
    }
    case Fn::Neg:
      float_unary(c, Fn::Neg, re, xr);
      float_unary(c, Fn::Neg, im, xi);
      return;
    case Fn::Conj:
      for (size_t k = 0; k < p.size; ++k) re.copy(k, *xr.b, xr.at(k));
      float_unary(c, Fn::Neg, im, xi);
      return;
    case Fn::Exp: {
      Buffer e = Buffer::make(c.config.number, p.size), cosine = Buffer::make(c.config.number, p.size),
             sine = Buffer::make(c.config.number, p.size);
      float_unary(c, Fn::Exp, e, xr);
      float_unary(c, Fn::Cos, cosine, xi);
      float_unary(c, Fn::Sin, sine, xi);
      float_binary(c, Fn::Mul, re, full(e), full(cosine));
      float_binary(c, Fn::Mul, im, full(e), full(sine));
      return;
    }
    case Fn::Complex:
      for (size_t k = 0; k < p.size; ++k) {
        re.copy(k, *p.args[0].b, p.args[0].at(k));
        im.copy(k, *p.args[1].b, p.args[1].at(k));
      }
      return;
    case Fn::Select:
      select(re, p.args[0], p.args[1], p.args[2]);
      select(im, p.args[0], p.imag[1], p.imag[2]);
      return;
    default: throw EvalError{"unsupported-operator: complex " + std::string(ir::name(n.fn))};
  }
}

// A complex operand to a real or bool result.
void from_complex(Context& c, const ir::Node& n, const Prepared& p, Buffer& out) {
  const Arg &xr = p.args[0], &xi = p.imag[0];
  if (n.fn == Fn::Real || n.fn == Fn::Imag) {
    const Arg& part = n.fn == Fn::Real ? xr : xi;
    for (size_t k = 0; k < p.size; ++k) out.copy(k, *part.b, part.at(k));
  } else if (n.fn == Fn::Abs) {
    Buffer rr = Buffer::make(c.config.number, p.size), ii = Buffer::make(c.config.number, p.size),
           sum = Buffer::make(c.config.number, p.size);
    float_binary(c, Fn::Mul, rr, xr, xr);
    float_binary(c, Fn::Mul, ii, xi, xi);
    float_binary(c, Fn::Add, sum, {&rr, 1}, {&ii, 1});
    float_unary(c, Fn::Sqrt, out, {&sum, 1});
  } else if (n.fn == Fn::Eq || n.fn == Fn::Ne) {
    Buffer a = Buffer::integers(p.size), b = Buffer::integers(p.size);
    compare(Fn::Eq, DType::F64, a, xr, p.args[1]);
    compare(Fn::Eq, DType::F64, b, xi, p.imag[1]);
    Buffer both = Buffer::integers(p.size);
    integer_map(Fn::And, DType::Bool, both, {{&a, 1}, {&b, 1}});
    for (size_t k = 0; k < p.size; ++k) {
      out.i[k] = n.fn == Fn::Eq ? both.i[k] : !both.i[k];
      if (both.state_at(k) != State::Fine) out.set_state(k, both.state_at(k));
    }
  } else {
    throw EvalError{"unsupported-operator: complex " + std::string(ir::name(n.fn))};
  }
}

}  // namespace

int64_t wrap_integer(int64_t v, DType t) {
  const int bits = ir::int_bits(t);
  if (bits == 64 || bits == 0) return v;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t u = static_cast<uint64_t>(v) & mask;
  if (ir::is_signed_int(t) && (u >> (bits - 1)) != 0) u |= ~mask;
  return static_cast<int64_t>(u);
}

Value eval_map(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  Prepared p = prepare(c, n, in);
  const DType from = in[0]->dtype;
  Value value{n.dtype, p.axes, nullptr, nullptr};
  if (ir::is_complex(n.dtype)) {
    const auto zero = constant_zero(c);
    if (n.fn == Fn::Convert) {
      Buffer re = Buffer::make(c.config.number, p.size), im = Buffer::make(c.config.number, p.size);
      convert(c, from, DType::F64, re, p.args[0]);
      for (size_t k = 0; k < p.size; ++k) im.copy(k, p.imag[0].b ? *p.imag[0].b : *zero, p.imag[0].b ? p.imag[0].at(k) : 0);
      value.data = std::make_shared<const Buffer>(std::move(re));
      value.imag = std::make_shared<const Buffer>(std::move(im));
      return value;
    }
    Buffer re = Buffer::make(c.config.number, p.size), im = Buffer::make(c.config.number, p.size);
    complex_map(c, n, p, re, im);
    value.data = std::make_shared<const Buffer>(std::move(re));
    value.imag = std::make_shared<const Buffer>(std::move(im));
    return value;
  }
  Buffer out = Buffer::make(c.number_of(n.dtype), p.size);
  if (ir::is_complex(from) && n.fn != Fn::Convert) {
    from_complex(c, n, p, out);
  } else {
    switch (n.fn) {
      case Fn::Select: select(out, p.args[0], p.args[1], p.args[2]); break;
      case Fn::Eq:
      case Fn::Ne:
      case Fn::Lt:
      case Fn::Le:
      case Fn::Gt:
      case Fn::Ge: compare(n.fn, from, out, p.args[0], p.args[1]); break;
      case Fn::IsFinite:
      case Fn::IsNan:
      case Fn::IsInf: classify(n.fn, out, p.args[0]); break;
      case Fn::Convert:
        if (out.number == p.args[0].b->number && out.number != Number::Integer && n.dtype != DType::F4 && n.dtype != DType::F8 &&
            p.args[0].stride == 1) {
          value.data = p.held[0].data;  // float to float is exact
          return value;
        }
        convert(c, from, n.dtype, out, p.args[0]);
        break;
      default:
        if (out.number == Number::Integer) {
          integer_map(n.fn, n.dtype, out, p.args);
        } else if (p.args.size() == 1 && n_ary(n.fn)) {
          for (size_t k = 0; k < p.size; ++k) out.copy(k, *p.args[0].b, p.args[0].at(k));
        } else if (p.args.size() == 1) {
          float_unary(c, n.fn, out, p.args[0]);
        } else {
          float_binary(c, n.fn, out, p.args[0], p.args[1]);
          for (size_t k = 2; k < p.args.size(); ++k) {
            Buffer next = Buffer::make(out.number, p.size);
            float_binary(c, n.fn, next, {&out, 1}, p.args[k]);
            out = std::move(next);
          }
        }
    }
  }
  value.data = std::make_shared<const Buffer>(std::move(out));
  return value;
}

}  // namespace shardproof::interp
