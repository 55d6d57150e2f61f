// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Scan and sort: both work on single elements along their dimension.
#include <algorithm>
#include <numeric>

#include "interp/eval.h"
#include "util/result.h"

namespace shardproof::interp {
namespace {

using ir::Fn;

// Calls f(base, stride) for every line along `dim`.
template <typename F>
void for_lines(const std::vector<Axis>& axes, size_t dim, F f) {
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axes.size(); ++d) {
    if (d < dim) outer *= axes[d].blocks();
    if (d > dim) inner *= axes[d].blocks();
  }
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) f(static_cast<size_t>(o * axes[dim].blocks() * inner + i), static_cast<size_t>(inner));
  }
}

// acc (element k of out) becomes fn(element j of out, element e of in).
void step(const Context& c, Fn fn, ir::DType t, Buffer& out, size_t k, size_t j, const Buffer& in, size_t e) {
  if (out.number == Number::Interval) {
    out.set(k, apply(fn, out.interval(j), in.interval(e)));
  } else if (out.number == Number::Ball) {
    apply(fn, out.ball[k], out.ball[j], in.ball[e], c.config.bits);
  } else {
    const State a = out.state_at(j), b = in.state_at(e);
    const uint64_t x = static_cast<uint64_t>(out.i[j]), y = static_cast<uint64_t>(in.i[e]);
    const bool less = ir::is_unsigned_int(t) ? x < y : static_cast<int64_t>(x) < static_cast<int64_t>(y);
    const uint64_t v = fn == Fn::Add ? x + y : fn == Fn::Mul ? x * y : (fn == Fn::Max) == less ? y : x;
    out.i[k] = wrap_integer(static_cast<int64_t>(v), t);
    if (a != State::Fine || b != State::Fine)
      out.set_state(k, a == State::Undefined || b == State::Undefined ? State::Undefined : State::Undecided);
  }
}

void neutral(const Context& c, Fn fn, ir::DType t, Buffer& out, size_t k) {
  if (out.number != Number::Integer) {
    c.set_number(out, k, {fn == Fn::Add ? 0 : fn == Fn::Mul ? 1 : fn == Fn::Max ? -kInfinity : kInfinity, 0});
    return;
  }
  const int bits = ir::int_bits(t);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const bool is_unsigned = ir::is_unsigned_int(t);
  uint64_t v = fn == Fn::Mul ? 1 : 0;
  if (fn == Fn::Max) v = is_unsigned ? 0 : ~(all >> 1);
  if (fn == Fn::Min) v = is_unsigned ? all : all >> 1;
  out.i[k] = static_cast<int64_t>(v);
}

}  // namespace

// S-26 scan: out[.., i, ..] = fn of x[.., 0..i, ..] (i left out if exclusive), from the end if reverse.
Value eval_scan(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  const size_t dim = static_cast<size_t>(n.a[0]);
  const bool reverse = n.a[1] != 0, exclusive = n.a[2] != 0;
  const Value x = refine_dim(*in[0], dim, Axis::unit(n.shape[dim]));
  c.spend(static_cast<double>(x.data->size) * (c.config.number == Number::Ball ? 20 : 3));
  const auto run = [&](const Buffer& b) {
    Buffer out = Buffer::make(b.number, b.size);
    if (!b.state.empty()) out.state.resize(b.size, State::Fine);
    const size_t length = static_cast<size_t>(n.shape[dim]);
    for_lines(x.axes, dim, [&](size_t base, size_t stride) {
      for (size_t i = 0; i < length; ++i) {
        const size_t k = base + (reverse ? length - 1 - i : i) * stride;
        const size_t before = reverse ? k + stride : k - stride;
        if (exclusive) {
          i == 0 ? neutral(c, n.fn, n.dtype, out, k) : step(c, n.fn, n.dtype, out, k, before, b, before);
        } else {
          i == 0 ? out.copy(k, b, k) : step(c, n.fn, n.dtype, out, k, before, b, k);
        }
      }
    });
    return std::make_shared<const Buffer>(std::move(out));
  };
  if (x.imag && n.fn != Fn::Add) throw EvalError{"unsupported-operator: complex scan other than a sum"};
  Value out{n.dtype, x.axes, run(*x.data), nullptr};
  if (x.imag) out.imag = run(*x.imag);
  return out;
}

// S-27 sort: along a[0] by the first operand, all permuted alike. Equal keys keep their order if stable; else their order is open, as is
// that of keys whose enclosures overlap: what lands on such places is undecided unless all candidates are alike.
std::vector<Value> eval_sort(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  const size_t dim = static_cast<size_t>(n.a[0]);
  const bool descending = n.a[1] != 0, stable = n.a[2] != 0;
  std::vector<Value> xs;
  for (const Value* x : in) {
    if (x->imag) throw EvalError{"unsupported-operator: sort of complex numbers"};
    xs.push_back(refine_dim(*x, dim, Axis::unit(x->axes[dim].extent())));
  }
  const std::vector<Axis> axes = to_common_axes(xs);
  c.check(axes);
  const size_t length = static_cast<size_t>(axes[dim].extent());
  c.spend(static_cast<double>(xs[0].data->size) * 20 * static_cast<double>(xs.size()));
  const Buffer& key = *xs[0].data;
  const bool is_unsigned = ir::is_unsigned_int(in[0]->dtype);
  std::vector<Buffer> out;
  for (const Value& x : xs) out.push_back(Buffer::make(x.data->number, x.data->size));
  // Positions are sorted by midpoints first (a strict weak order), then the enclosures say where that order is open.
  const auto midpoint = [&](size_t k) { return key.number == Number::Interval ? key.m[k] : to_interval(key.ball[k]).m; };
  std::vector<size_t> order_of(length);
  std::vector<double> mids(length);
  for_lines(axes, dim, [&](size_t base, size_t stride) {
    std::iota(order_of.begin(), order_of.end(), size_t{0});
    bool open = false;
    for (size_t i = 0; i < length; ++i) {
      const size_t k = base + i * stride;
      open = open || key.state_at(k) != State::Fine;
      if (key.number != Number::Integer) mids[i] = midpoint(k);
      open = open || (key.number != Number::Integer && mids[i] != mids[i]);
    }
    if (open) {  // an unknown key may land anywhere
      for (Buffer& b : out) {
        for (size_t i = 0; i < length; ++i) b.set_state(base + i * stride, State::Undecided);
      }
      return;
    }
    std::stable_sort(order_of.begin(), order_of.end(), [&](size_t i, size_t j) {
      if (key.number == Number::Integer) {
        const int64_t a = key.i[base + i * stride], b = key.i[base + j * stride];
        const bool less = is_unsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
        return descending ? a != b && !less : less;
      }
      return descending ? mids[i] > mids[j] : mids[i] < mids[j];
    });
    for (size_t first = 0; first < length;) {
      // A maximal group of places whose order is not decided by the keys.
      size_t last = first + 1;
      bool exact_tie = true;
      for (; last < length; ++last) {
        // Does any key of the group reach the next one? Keys are sorted by midpoint, radii vary: compare with all of the group.
        bool linked = false;
        for (size_t q = first; q < last && !linked; ++q) {
          const Order o = order(key, base + order_of[q] * stride, key, base + order_of[last] * stride, is_unsigned);
          linked = o == Order::Equal || o == Order::Open || (o == (descending ? Order::Less : Order::Greater));
          exact_tie = exact_tie && (!linked || o == Order::Equal);
        }
        if (!linked) break;
      }
      const bool settled = last == first + 1 || (exact_tie && (stable || c.config.ties != Ties::Open));
      if (exact_tie && !stable && c.config.ties == Ties::Last) std::reverse(order_of.begin() + first, order_of.begin() + last);
      for (size_t i = 0; i < xs.size(); ++i) {
        const Buffer& b = *xs[i].data;
        bool alike = true;
        for (size_t q = first + 1; q < last && !settled; ++q) {
          alike = alike && same_element(b, base + order_of[first] * stride, b, base + order_of[q] * stride);
        }
        for (size_t q = first; q < last; ++q) {
          const size_t k = base + q * stride;
          if (settled || alike) {
            out[i].copy(k, b, base + order_of[q] * stride);
          } else {
            out[i].set_state(k, State::Undecided);
          }
        }
      }
      first = last;
    }
  });
  std::vector<Value> values;
  for (size_t i = 0; i < xs.size(); ++i) values.push_back(make_value(in[i]->dtype, axes, std::move(out[i])));
  return values;
}

}  // namespace shardproof::interp
