// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "dense_eval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace shardproof::test {
namespace {

using ir::DType;
using ir::Fn;
using ir::Node;
using ir::Op;
using ir::Shape;
using Index = std::vector<int64_t>;

[[noreturn]] void unknown(const std::string& what) { throw std::runtime_error("evaluator: " + what); }

size_t size_of(const Shape& s) {
  size_t n = 1;
  for (int64_t e : s) n *= static_cast<size_t>(e);
  return n;
}
size_t flat(const Index& at, const Shape& s) {
  size_t k = 0;
  for (size_t d = 0; d < s.size(); ++d) {
    if (at[d] < 0 || at[d] >= s[d]) unknown("index out of range");
    k = k * static_cast<size_t>(s[d]) + static_cast<size_t>(at[d]);
  }
  return k;
}
Index unflat(size_t k, const Shape& s) {
  Index at(s.size());
  for (size_t d = s.size(); d-- > 0;) {
    at[d] = static_cast<int64_t>(k % static_cast<size_t>(s[d]));
    k /= static_cast<size_t>(s[d]);
  }
  return at;
}
int64_t wrap(int64_t v, DType t) {
  if (t == DType::Bool) return v != 0;
  const int bits = ir::int_bits(t);
  if (bits == 0 || bits == 64) return v;
  const auto mask = (uint64_t{1} << bits) - 1;
  uint64_t u = static_cast<uint64_t>(v) & mask;
  if (ir::is_signed_int(t) && (u >> (bits - 1))) u |= ~mask;
  return static_cast<int64_t>(u);
}
Tensor blank(DType t, const Shape& s) {
  Tensor out{t, s, {}, {}};
  if (out.is_float())
    out.f.assign(size_of(s), 0);
  else
    out.i.assign(size_of(s), 0);
  return out;
}
void copy(Tensor& to, size_t k, const Tensor& from, size_t j) {
  if (to.is_float())
    to.f[k] = from.f[j];
  else
    to.i[k] = from.i[j];
}
bool less(const Tensor& x, size_t i, size_t j) {
  if (x.is_float()) return x.f[i] < x.f[j];
  if (x.dtype == DType::U64) return static_cast<uint64_t>(x.i[i]) < static_cast<uint64_t>(x.i[j]);
  return x.i[i] < x.i[j];
}

double combine(Fn fn, double x, double y) {
  switch (fn) {
    case Fn::Add: return x + y;
    case Fn::Mul: return x * y;
    case Fn::Max: return std::max(x, y);
    case Fn::Min: return std::min(x, y);
    default: unknown("float reduction");
  }
}
int64_t combine(Fn fn, int64_t x, int64_t y, DType t) {
  switch (fn) {
    case Fn::Add: return wrap(static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y)), t);
    case Fn::Mul: return wrap(static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y)), t);
    case Fn::Max: return std::max(x, y);
    case Fn::Min: return std::min(x, y);
    case Fn::And: return x & y;
    case Fn::Or: return x | y;
    default: unknown("integer reduction");
  }
}
void accumulate(Fn fn, Tensor& out, size_t k, const Tensor& x, size_t j) {
  if (out.is_float())
    out.f[k] = combine(fn, out.f[k], x.f[j]);
  else
    out.i[k] = combine(fn, out.i[k], x.i[j], out.dtype);
}
void set_neutral(Fn fn, Tensor& out, size_t k) {
  const double inf = std::numeric_limits<double>::infinity();
  if (out.is_float()) {
    out.f[k] = fn == Fn::Mul ? 1 : fn == Fn::Max ? -inf : fn == Fn::Min ? inf : 0;
    return;
  }
  const int bits = ir::int_bits(out.dtype);
  const bool sign = ir::is_signed_int(out.dtype);
  const int64_t least = sign ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t most = sign ? -(least + 1) : wrap(-1, out.dtype);
  out.i[k] = fn == Fn::Mul ? 1 : fn == Fn::Max ? least : fn == Fn::Min ? most : fn == Fn::And ? wrap(-1, out.dtype) : 0;
}

double float_fn(Fn fn, const std::vector<double>& v) {
  const double x = v[0];
  switch (fn) {
    case Fn::Add:
    case Fn::Mul:
    case Fn::Max:
    case Fn::Min: {
      double out = x;
      for (size_t k = 1; k < v.size(); ++k) out = combine(fn, out, v[k]);
      return out;
    }
    case Fn::Sub: return x - v[1];
    case Fn::Div: return x / v[1];
    case Fn::FloorDiv: return std::floor(x / v[1]);
    case Fn::Mod: return x - v[1] * std::floor(x / v[1]);
    case Fn::Neg: return -x;
    case Fn::Abs: return std::fabs(x);
    case Fn::Sign: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case Fn::Rem: return std::fmod(x, v[1]);
    case Fn::Pow: return std::pow(x, v[1]);
    case Fn::Exp: return std::exp(x);
    case Fn::Expm1: return std::expm1(x);
    case Fn::Log: return std::log(x);
    case Fn::Log1p: return std::log1p(x);
    case Fn::Sqrt: return std::sqrt(x);
    case Fn::Rsqrt: return 1 / std::sqrt(x);
    case Fn::Cbrt: return std::cbrt(x);
    case Fn::Sin: return std::sin(x);
    case Fn::Cos: return std::cos(x);
    case Fn::Tan: return std::tan(x);
    case Fn::Asin: return std::asin(x);
    case Fn::Acos: return std::acos(x);
    case Fn::Atan: return std::atan(x);
    case Fn::Atan2: return std::atan2(x, v[1]);
    case Fn::Sinh: return std::sinh(x);
    case Fn::Cosh: return std::cosh(x);
    case Fn::Tanh: return std::tanh(x);
    case Fn::Asinh: return std::asinh(x);
    case Fn::Acosh: return std::acosh(x);
    case Fn::Atanh: return std::atanh(x);
    case Fn::Logistic: return 1 / (1 + std::exp(-x));
    case Fn::Erf: return std::erf(x);
    case Fn::Erfc: return std::erfc(x);
    case Fn::ErfInv: {  // by bisection
      double low = -10, high = 10;
      for (int k = 0; k < 200; ++k) (std::erf((low + high) / 2) < x ? low : high) = (low + high) / 2;
      return x <= -1 ? -HUGE_VAL : x >= 1 ? HUGE_VAL : (low + high) / 2;
    }
    case Fn::Lgamma: return std::lgamma(x);
    case Fn::Digamma: {  // of positive numbers: psi(x) = psi(x + 1) - 1/x, and its series for large ones
      if (!(x > 0)) unknown("digamma of what is not positive");
      double y = x, sum = 0;
      for (; y < 20; ++y) sum -= 1 / y;
      const double z = 1 / (y * y);
      return sum + std::log(y) - 0.5 / y - z * (1.0 / 12 - z * (1.0 / 120 - z / 252));
    }
    case Fn::Floor: return std::floor(x);
    case Fn::Ceil: return std::ceil(x);
    case Fn::Round: return std::nearbyint(x);
    case Fn::RoundAway: return std::round(x);
    case Fn::Trunc: return std::trunc(x);
    case Fn::Exp2: return std::exp2(x);
    case Fn::Log2: return std::log2(x);
    case Fn::Log10: return std::log10(x);
    default: unknown("float function " + std::string(ir::name(fn)));
  }
}

int64_t integer_fn(Fn fn, const std::vector<int64_t>& v, DType t) {
  const int64_t x = v[0];
  const bool sign = ir::is_signed_int(t);
  const auto u = [&](size_t k) { return static_cast<uint64_t>(v[k]); };
  const int bits = ir::int_bits(t);
  switch (fn) {
    case Fn::Add:
    case Fn::Mul:
    case Fn::Max:
    case Fn::Min:
    case Fn::And:
    case Fn::Or: {
      int64_t out = x;
      for (size_t k = 1; k < v.size(); ++k) out = combine(fn, out, v[k], t);
      return out;
    }
    case Fn::Xor: return x ^ v[1];
    case Fn::Not: return t == DType::Bool ? !x : wrap(~x, t);
    case Fn::Sub: return wrap(static_cast<int64_t>(u(0) - u(1)), t);
    case Fn::Neg: return wrap(static_cast<int64_t>(0 - u(0)), t);
    case Fn::Abs: return sign && x < 0 ? -x : x;
    case Fn::Sign: return sign ? (x > 0) - (x < 0) : x != 0;
    case Fn::FloorDiv: return x / v[1] - (x % v[1] != 0 && (x < 0) != (v[1] < 0) ? 1 : 0);
    case Fn::Mod: return x % v[1] + (x % v[1] != 0 && (x < 0) != (v[1] < 0) ? v[1] : 0);
    case Fn::Div: return sign ? x / v[1] : static_cast<int64_t>(u(0) / u(1));
    case Fn::Rem: return sign ? x % v[1] : static_cast<int64_t>(u(0) % u(1));
    case Fn::Shl: return u(1) >= static_cast<uint64_t>(bits) ? 0 : wrap(static_cast<int64_t>(u(0) << u(1)), t);
    case Fn::ShrL: {
      const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
      return u(1) >= static_cast<uint64_t>(bits) ? 0 : wrap(static_cast<int64_t>((u(0) & mask) >> u(1)), t);
    }
    case Fn::ShrA: return u(1) >= static_cast<uint64_t>(bits) ? (x < 0 ? -1 : 0) : x >> v[1];
    case Fn::PopCount: return __builtin_popcountll(bits == 64 ? u(0) : u(0) & ((uint64_t{1} << bits) - 1));
    case Fn::Clz: {
      const uint64_t w = bits == 64 ? u(0) : u(0) & ((uint64_t{1} << bits) - 1);
      return w == 0 ? bits : bits - 64 + __builtin_clzll(w);
    }
    case Fn::Pow: {
      uint64_t out = 1;
      for (int64_t k = 0; k < v[1]; ++k) out *= u(0);
      return wrap(static_cast<int64_t>(out), t);
    }
    default: unknown("integer function " + std::string(ir::name(fn)));
  }
}

Tensor map(const Node& n, const std::vector<const Tensor*>& in) {
  Tensor out = blank(n.dtype, n.shape);
  const size_t count = size_of(n.shape);
  for (size_t k = 0; k < count; ++k) {
    const auto at = [&](size_t j) { return in[j]->shape.empty() ? 0 : k; };
    const Tensor& x = *in[0];
    switch (n.fn) {
      case Fn::Select: copy(out, k, *in[x.i[at(0)] ? 1 : 2], at(x.i[at(0)] ? 1 : 2)); continue;
      case Fn::Convert:
        if (out.is_float())
          out.f[k] = x.number(at(0));
        else if (x.is_float())
          out.i[k] = n.dtype == DType::Bool ? x.f[at(0)] != 0 : wrap(static_cast<int64_t>(x.f[at(0)]), n.dtype);
        else
          out.i[k] = wrap(x.i[at(0)], n.dtype);
        continue;
      case Fn::IsFinite: out.i[k] = std::isfinite(x.f[at(0)]); continue;
      case Fn::IsInf: out.i[k] = std::isinf(x.f[at(0)]); continue;
      case Fn::IsNan: out.i[k] = std::isnan(x.f[at(0)]); continue;
      case Fn::Eq:
      case Fn::Ne:
      case Fn::Lt:
      case Fn::Le:
      case Fn::Gt:
      case Fn::Ge: {
        const Tensor& y = *in[1];
        bool lt, eq;
        if (x.is_float()) {
          lt = x.f[at(0)] < y.f[at(1)];
          eq = x.f[at(0)] == y.f[at(1)];
        } else {
          lt = x.dtype == DType::U64 ? static_cast<uint64_t>(x.i[at(0)]) < static_cast<uint64_t>(y.i[at(1)]) : x.i[at(0)] < y.i[at(1)];
          eq = x.i[at(0)] == y.i[at(1)];
        }
        out.i[k] = n.fn == Fn::Eq   ? eq
                   : n.fn == Fn::Ne ? !eq
                   : n.fn == Fn::Lt ? lt
                   : n.fn == Fn::Le ? lt || eq
                   : n.fn == Fn::Gt ? !lt && !eq
                                    : !lt;
        continue;
      }
      default: break;
    }
    if (out.is_float()) {
      std::vector<double> v;
      for (size_t j = 0; j < in.size(); ++j) v.push_back(in[j]->f[at(j)]);
      out.f[k] = float_fn(n.fn, v);
    } else {
      std::vector<int64_t> v;
      for (size_t j = 0; j < in.size(); ++j) v.push_back(in[j]->i[at(j)]);
      out.i[k] = integer_fn(n.fn, v, n.dtype);
    }
  }
  return out;
}

void literal(Tensor& out, size_t k, const ir::Literal& v) {
  if (out.is_float())
    out.f[k] = v.kind == ir::Literal::Kind::Float ? v.d : static_cast<double>(v.i);
  else
    out.i[k] = wrap(v.i, out.dtype);
}

Tensor view(const Node& n, const std::vector<const Tensor*>& in) {
  Tensor out = blank(n.dtype, n.shape);
  const Tensor& x = *in[0];
  const size_t count = size_of(n.shape);
  if (n.op == Op::Pad) {
    for (size_t k = 0; k < count; ++k) {
      Index at = unflat(k, n.shape);
      bool inside = true;
      for (size_t d = 0; d < at.size(); ++d) {
        at[d] -= n.a[d];
        inside = inside && at[d] >= 0 && at[d] % (n.c[d] + 1) == 0 && at[d] / (n.c[d] + 1) < x.shape[d];
        at[d] /= n.c[d] + 1;
      }
      if (inside)
        copy(out, k, x, flat(at, x.shape));
      else
        copy(out, k, *in[1], 0);
    }
    return out;
  }
  if (n.op == Op::Concat) {
    const size_t dim = static_cast<size_t>(n.a[0]);
    for (size_t k = 0; k < count; ++k) {
      Index at = unflat(k, n.shape);
      size_t p = 0;
      while (at[dim] >= in[p]->shape[dim]) at[dim] -= in[p++]->shape[dim];
      copy(out, k, *in[p], flat(at, in[p]->shape));
    }
    return out;
  }
  for (size_t k = 0; k < count; ++k) {
    const Index at = unflat(k, n.shape);
    Index from(x.shape.size());
    switch (n.op) {
      case Op::Transpose:
        for (size_t d = 0; d < at.size(); ++d) from[static_cast<size_t>(n.a[d])] = at[d];
        break;
      case Op::Reshape: copy(out, k, x, k); continue;
      case Op::Slice:
        for (size_t d = 0; d < at.size(); ++d) from[d] = n.a[d] + at[d] * n.c[d];
        break;
      case Op::Reverse:
        from = at;
        for (int64_t d : n.a) from[static_cast<size_t>(d)] = x.shape[static_cast<size_t>(d)] - 1 - from[static_cast<size_t>(d)];
        break;
      case Op::Broadcast:
        for (size_t d = 0; d < from.size(); ++d) from[d] = x.shape[d] == 1 ? 0 : at[static_cast<size_t>(n.a[d])];
        break;
      case Op::Window:
        for (size_t d = 0; d < from.size(); ++d) from[d] = at[d];
        for (size_t j = 0; j < n.a.size(); ++j) {
          const size_t d = static_cast<size_t>(n.a[j]);
          from[d] = at[d] * n.c[2 * j] + at[from.size() + j] * n.c[2 * j + 1];
        }
        break;
      default: unknown("view");
    }
    copy(out, k, x, flat(from, x.shape));
  }
  return out;
}

Tensor contract(const Node& n, const Tensor& x, const Tensor& y) {
  Tensor out = blank(n.dtype, n.shape);
  // Row-major strides of each operand along the result's dims and along the contracted ones; 0 where it does not move.
  const auto strides = [](const Shape& s) {
    Index out(s.size(), 1);
    for (size_t d = s.size(); d-- > 1;) out[d - 1] = out[d] * s[d];
    return out;
  };
  const Index sx = strides(x.shape), sy = strides(y.shape);
  std::vector<bool> used_x(sx.size()), used_y(sy.size());
  Index move_x, move_y, sum_x, sum_y;
  Shape sum;
  for (size_t k = 0; k < n.a.size(); k += 2) {
    const auto i = static_cast<size_t>(n.a[k]), j = static_cast<size_t>(n.a[k + 1]);
    move_x.push_back(sx[i]);
    move_y.push_back(sy[j]);
    used_x[i] = used_y[j] = true;
  }
  for (size_t k = 0; k < n.b.size(); k += 2) {
    const auto i = static_cast<size_t>(n.b[k]), j = static_cast<size_t>(n.b[k + 1]);
    sum.push_back(x.shape[i]);
    sum_x.push_back(sx[i]);
    sum_y.push_back(sy[j]);
    used_x[i] = used_y[j] = true;
  }
  for (size_t d = 0; d < sx.size(); ++d) {
    if (used_x[d]) continue;
    move_x.push_back(sx[d]);
    move_y.push_back(0);
  }
  for (size_t d = 0; d < sy.size(); ++d) {
    if (used_y[d]) continue;
    move_x.push_back(0);
    move_y.push_back(sy[d]);
  }
  std::vector<std::pair<size_t, size_t>> steps;
  for (size_t j = 0; j < size_of(sum); ++j) {
    const Index over = unflat(j, sum);
    int64_t p = 0, q = 0;
    for (size_t d = 0; d < over.size(); ++d) {
      p += over[d] * sum_x[d];
      q += over[d] * sum_y[d];
    }
    steps.emplace_back(p, q);
  }
  for (size_t k = 0; k < size_of(n.shape); ++k) {
    const Index at = unflat(k, n.shape);
    size_t p = 0, q = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      p += static_cast<size_t>(at[d] * move_x[d]);
      q += static_cast<size_t>(at[d] * move_y[d]);
    }
    for (const auto& [i, j] : steps) {
      if (out.is_float())
        out.f[k] += x.f[p + i] * y.f[q + j];
      else
        out.i[k] = wrap(out.i[k] + x.i[p + i] * y.i[q + j], n.dtype);
    }
  }
  return out;
}

// Position in data of the element at `at` of a Take's result or a Scatter's updates; false: outside, in mode Fill.
bool position(const Node& n, const Shape& data, const Index& at, const std::vector<const Tensor*>& in, size_t first, Index& out) {
  Index index_at;
  for (int64_t d : n.b) index_at.push_back(at[static_cast<size_t>(d)]);
  out.assign(data.size(), 0);
  for (size_t d = 0; d < data.size(); ++d) {
    if (n.a[d] >= 0) {
      out[d] = at[static_cast<size_t>(n.a[d])];
      continue;
    }
    const Tensor& t = *in[first + static_cast<size_t>(-n.a[d] - 1)];
    int64_t v = t.i[flat(index_at, t.shape)];
    if (t.dtype == DType::U64 && v < 0) v = std::numeric_limits<int64_t>::max();
    if (n.mode == ir::IndexMode::Clamp) v = std::clamp<int64_t>(v, 0, data[d] - 1);
    if (n.mode == ir::IndexMode::Wrap && v < 0) v += data[d];
    if (v < 0 || v >= data[d]) {
      if (n.mode == ir::IndexMode::Fill) return false;
      unknown("index out of range");
    }
    out[d] = v;
  }
  return true;
}

// One node from its operands; a Sort's results go to `tuple`.
Tensor step(const Node& n, const std::vector<const Tensor*>& in, std::vector<Tensor>& tuple) {
  Tensor out = n.op == Op::Sort || n.op == Op::Opaque ? Tensor{} : blank(n.dtype, n.shape);
  const size_t count = size_of(n.shape);
  switch (n.op) {
    case Op::Const:
      for (size_t k = 0; k < count; ++k) literal(out, k, n.lit);
      break;
    case Op::Iota:
      for (size_t k = 0; k < count; ++k) literal(out, k, ir::Literal::integer(unflat(k, n.shape)[static_cast<size_t>(n.a[0])]));
      break;
    case Op::Dense:
      for (size_t k = 0; k < count; ++k) literal(out, k, (*n.dense)[k]);
      break;
    case Op::Transpose:
    case Op::Reshape:
    case Op::Slice:
    case Op::Reverse:
    case Op::Broadcast:
    case Op::Pad:
    case Op::Concat:
    case Op::Window: out = view(n, in); break;
    case Op::Map: out = map(n, in); break;
    case Op::Reduce: {
      for (size_t k = 0; k < count; ++k) set_neutral(n.fn, out, k);
      for (size_t j = 0; j < size_of(in[0]->shape); ++j) {
        const Index at = unflat(j, in[0]->shape);
        Index to;
        for (size_t d = 0; d < at.size(); ++d) {
          if (std::find(n.a.begin(), n.a.end(), static_cast<int64_t>(d)) == n.a.end()) to.push_back(at[d]);
        }
        accumulate(n.fn, out, flat(to, n.shape), *in[0], j);
      }
      break;
    }
    case Op::ArgReduce:
      for (size_t k = 0; k < count; ++k) {
        Index at = unflat(k, n.shape);
        at.insert(at.begin() + n.a[0], 0);
        size_t best = flat(at, in[0]->shape);
        for (int64_t p = 1; p < in[0]->shape[static_cast<size_t>(n.a[0])]; ++p) {
          at[static_cast<size_t>(n.a[0])] = p;
          const size_t j = flat(at, in[0]->shape);
          if (n.fn == Fn::Max ? less(*in[0], best, j) : less(*in[0], j, best)) {
            best = j;
            out.i[k] = p;
          }
        }
      }
      break;
    case Op::Contract: out = contract(n, *in[0], *in[1]); break;
    case Op::Take:
      for (size_t k = 0; k < count; ++k) {
        Index p;
        if (position(n, in[0]->shape, unflat(k, n.shape), in, 1, p))
          copy(out, k, *in[0], flat(p, in[0]->shape));
        else
          copy(out, k, *in.back(), 0);
      }
      break;
    case Op::Scatter:
      out = *in[0];
      for (size_t k = 0; k < size_of(in[1]->shape); ++k) {
        Index p;
        if (!position(n, in[0]->shape, unflat(k, in[1]->shape), in, 2, p)) continue;
        if (n.set)
          copy(out, flat(p, n.shape), *in[1], k);
        else
          accumulate(n.fn, out, flat(p, n.shape), *in[1], k);
      }
      break;
    case Op::DynamicSlice:
    case Op::DynamicUpdate: {
      const bool update = n.op == Op::DynamicUpdate;
      const Shape& part = update ? in[1]->shape : n.shape;
      Index start;
      for (size_t d = 0; d < part.size(); ++d) {
        const Tensor& s = *in[d + (update ? 2 : 1)];
        int64_t v = s.i[0];
        if (s.dtype == DType::U64 && v < 0) v = std::numeric_limits<int64_t>::max();
        start.push_back(std::clamp<int64_t>(v, 0, in[0]->shape[d] - part[d]));
      }
      if (update) out = *in[0];
      for (size_t k = 0; k < size_of(part); ++k) {
        Index at = unflat(k, part);
        for (size_t d = 0; d < at.size(); ++d) at[d] += start[d];
        if (update)
          copy(out, flat(at, n.shape), *in[1], k);
        else
          copy(out, k, *in[0], flat(at, in[0]->shape));
      }
      break;
    }
    case Op::Scan:
      for (size_t k = 0; k < count; ++k) {
        const Index at = unflat(k, n.shape);
        const size_t d = static_cast<size_t>(n.a[0]);
        set_neutral(n.fn, out, k);
        for (int64_t p = 0; p < n.shape[d]; ++p) {
          const bool before = n.a[1] ? p > at[d] : p < at[d];
          if (!before && (p != at[d] || n.a[2])) continue;
          Index from = at;
          from[d] = p;
          accumulate(n.fn, out, k, *in[0], flat(from, n.shape));
        }
      }
      break;
    case Op::Sort: {
      std::vector<Tensor> sorted;
      for (const Tensor* t : in) sorted.push_back(*t);
      const size_t d = static_cast<size_t>(n.a[0]);
      const Shape s = in[0]->shape;
      Shape rest = s;
      rest[d] = 1;
      for (size_t k = 0; k < size_of(rest); ++k) {
        std::vector<size_t> places;
        for (int64_t p = 0; p < s[d]; ++p) {
          Index at = unflat(k, rest);
          at[d] = p;
          places.push_back(flat(at, s));
        }
        std::vector<size_t> order = places;
        std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return n.a[1] ? less(*in[0], j, i) : less(*in[0], i, j); });
        for (size_t t = 0; t < in.size(); ++t) {
          for (size_t p = 0; p < places.size(); ++p) copy(sorted[t], places[p], *in[t], order[p]);
        }
      }
      tuple = std::move(sorted);
      break;
    }
    default: unknown("operator " + std::string(ir::name(n.op)));
  }
  return out;
}

struct Values {
  std::vector<Tensor> nodes;
  std::map<ir::NodeId, std::vector<Tensor>> tuples;
};

void compute(const ir::Graph& graph, ir::NodeId id, const std::map<ir::NodeId, Tensor>& inputs, Values& v) {
  const Node& n = graph[id];
  if (n.op == Op::Input) {
    v.nodes[id] = inputs.at(id);
  } else if (n.op == Op::Result) {
    v.nodes[id] = v.tuples.at(n.in[0])[static_cast<size_t>(n.a[0])];
  } else {
    std::vector<const Tensor*> in;
    for (ir::NodeId k : n.in) in.push_back(&v.nodes[k]);
    std::vector<Tensor> tuple;
    v.nodes[id] = step(n, in, tuple);
    if (!tuple.empty()) v.tuples[id] = std::move(tuple);
  }
}

Tensor join(const std::vector<const Tensor*>& parts, size_t dim) {
  Node n;
  n.op = Op::Concat;
  n.dtype = parts[0]->dtype;
  n.shape = parts[0]->shape;
  n.shape[dim] = 0;
  for (const Tensor* p : parts) n.shape[dim] += p->shape[dim];
  n.a = {static_cast<int64_t>(dim)};
  return view(n, parts);
}

// The value of a collective for every rank.
void collective(const ir::Graph& graph, ir::NodeId id, std::vector<Values>& ranks) {
  const Node& n = graph[id];
  const size_t count = ranks.size();
  if (n.op == Op::RankId) {
    for (size_t r = 0; r < count; ++r) {
      ranks[r].nodes[id] = blank(n.dtype, n.shape);
      ranks[r].nodes[id].i[0] = static_cast<int64_t>(r);
    }
    return;
  }
  const auto x = [&](size_t r) -> const Tensor& { return ranks[r].nodes[n.in[0]]; };
  if (n.op == Op::GlobalToLocal || n.op == Op::LocalToGlobal) {
    if (n.c.size() != count) unknown("number of ranks");
    const size_t dims = n.a.size();
    for (size_t r = 0; r < count; ++r) {
      if (n.op == Op::GlobalToLocal) {
        Tensor t = x(r);
        for (size_t d = 0; d < dims; ++d) t = part(t, d, n.a[d], n.b[r * dims + d]);
        ranks[r].nodes[id] = std::move(t);
        continue;
      }
      Tensor out = blank(n.dtype, n.shape);
      for (size_t k = 0; k < size_of(n.shape); ++k) {
        Index at = unflat(k, n.shape), which(dims);
        for (size_t d = 0; d < dims; ++d) {
          const int64_t length = n.shape[d] / n.a[d];
          which[d] = at[d] / length;
          at[d] %= length;
        }
        for (size_t s = 0; s < count; ++s) {
          if (n.c[s] == n.c[r] && std::equal(which.begin(), which.end(), n.b.begin() + static_cast<std::ptrdiff_t>(s * dims))) {
            copy(out, k, x(s), flat(at, x(s).shape));
          }
        }
      }
      ranks[r].nodes[id] = std::move(out);
    }
    return;
  }
  if (n.op == Op::Permute) {
    for (size_t r = 0; r < count; ++r) ranks[r].nodes[id] = blank(n.dtype, n.shape);
    for (size_t k = 0; k < n.b.size(); k += 2) ranks[static_cast<size_t>(n.b[k + 1])].nodes[id] = x(static_cast<size_t>(n.b[k]));
    return;
  }
  std::vector<std::vector<int64_t>> groups = n.group->members;
  if (groups.empty()) {
    groups.emplace_back();
    for (size_t r = 0; r < count; ++r) groups[0].push_back(static_cast<int64_t>(r));
  }
  for (const auto& group : groups) {
    std::vector<const Tensor*> all;
    for (int64_t r : group) all.push_back(&x(static_cast<size_t>(r)));
    Tensor sum = *all[0];
    if (n.op == Op::AllReduce || n.op == Op::ReduceScatter) {
      for (size_t k = 0; k < (sum.is_float() ? sum.f.size() : sum.i.size()); ++k) {
        for (size_t m = 1; m < all.size(); ++m) accumulate(n.fn, sum, k, *all[m], k);
      }
    }
    for (size_t m = 0; m < group.size(); ++m) {
      Tensor& out = ranks[static_cast<size_t>(group[m])].nodes[id];
      const auto size = static_cast<int64_t>(group.size()), me = static_cast<int64_t>(m);
      switch (n.op) {
        case Op::AllReduce: out = sum; break;
        case Op::ReduceScatter: out = part(sum, static_cast<size_t>(n.a[1]), size, me); break;
        case Op::AllGather: out = join(all, static_cast<size_t>(n.a[0])); break;
        case Op::BroadcastFrom: out = *all[static_cast<size_t>(n.a[0])]; break;
        case Op::AllToAll: {
          std::vector<Tensor> pieces;
          for (const Tensor* t : all) pieces.push_back(part(*t, static_cast<size_t>(n.a[0]), size, me));
          std::vector<const Tensor*> pointers;
          for (const Tensor& t : pieces) pointers.push_back(&t);
          out = join(pointers, static_cast<size_t>(n.a[1]));
          break;
        }
        default: unknown("collective");
      }
    }
  }
}

bool between_ranks(const Node& n) { return n.op >= Op::AllReduce || n.op == Op::RankId; }

}  // namespace

Tensor part(const Tensor& x, size_t dim, int64_t parts, int64_t index) {
  Node n;
  n.op = Op::Slice;
  n.dtype = x.dtype;
  n.shape = x.shape;
  n.a.assign(x.shape.size(), 0);
  n.b = x.shape;
  n.c.assign(x.shape.size(), 1);
  if (x.shape.at(dim) % parts != 0) unknown("unequal parts");
  n.shape[dim] /= parts;
  n.a[dim] = index * n.shape[dim];
  n.b[dim] = n.a[dim] + n.shape[dim];
  return view(n, {&x});
}

std::vector<Tensor> evaluate(const ir::Graph& graph, const std::map<ir::NodeId, Tensor>& inputs) {
  Values v;
  v.nodes.resize(graph.nodes.size());
  for (ir::NodeId id = 0; id < graph.nodes.size(); ++id) compute(graph, id, inputs, v);
  return std::move(v.nodes);
}

std::vector<std::vector<Tensor>> evaluate_ranks(const ir::Graph& graph, const std::vector<std::map<ir::NodeId, Tensor>>& inputs) {
  std::vector<Values> ranks(inputs.size());
  for (Values& v : ranks) v.nodes.resize(graph.nodes.size());
  for (ir::NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (between_ranks(graph[id])) {
      collective(graph, id, ranks);
    } else {
      for (size_t r = 0; r < ranks.size(); ++r) compute(graph, id, inputs[r], ranks[r]);
    }
  }
  std::vector<std::vector<Tensor>> out;
  for (Values& v : ranks) out.push_back(std::move(v.nodes));
  return out;
}

}  // namespace shardproof::test
