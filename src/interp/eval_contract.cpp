// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reductions and products of block tensors: every block counts as often as it has positions.
//
// Contractions of intervals are computed as matrix products of midpoints and of radii: with A = (a, ra), B = (b, rb), K terms, u = 2^-53,
//   |AB - fl(ab)| <= |a| (rb + g |b|) + ra (|b| + rb),   g = K u / (1 - K u)
// (standard error bound of a sum of products in any order), one pass over memory for all three products. Integers in doubles are noticed
// and stay exact. Tensors with infinities or undecided elements take the slow way, scalar by scalar.
#include <algorithm>

#include "interp/eval.h"
#include "util/result.h"

namespace shardproof::interp {
namespace {

using ir::DType;
using ir::Fn;

Table scaled(const Axis& axis, int64_t stride) {
  Table t(static_cast<size_t>(axis.blocks()));
  for (size_t k = 0; k < t.size(); ++k) t[k] = static_cast<int64_t>(k) * stride;
  return t;
}

// The product of the blocks' sizes at every position of these axes, row-major.
std::vector<int64_t> multiplicities(const std::vector<Axis>& axes) {
  std::vector<int64_t> out{1};
  for (const Axis& a : axes) {
    std::vector<int64_t> next;
    next.reserve(out.size() * static_cast<size_t>(a.blocks()));
    for (int64_t w : out) {
      for (int64_t k = 0; k < a.blocks(); ++k) {
        int64_t v = 0;
        // Below 2^53, so that doubles hold it exactly.
        if (__builtin_mul_overflow(w, a.count(k), &v) || v >= int64_t{1} << 53) throw EvalError{"budget: a block is too large"};
        next.push_back(v);
      }
    }
    out = std::move(next);
  }
  return out;
}

Interval power_of(Interval x, int64_t times) {
  Interval out{1, 0};
  for (Interval base = x; times > 0; times >>= 1) {
    if (times & 1) out = mul(out, base);
    if (times > 1) base = mul(base, base);
  }
  return out;
}

// One line of a reduction; `source` lists element positions, `times` how often each counts.
struct Line {
  const Buffer& in;
  const std::vector<int64_t>& offsets;
  const std::vector<int64_t>& times;
  int64_t base;
  size_t at(size_t k) const { return static_cast<size_t>(base + offsets[k]); }
};

void reduce_interval(Fn fn, Buffer& out, size_t k, const Line& line) {
  const Buffer& in = line.in;
  Interval acc = fn == Fn::Add ? Interval{0, 0} : fn == Fn::Mul ? Interval{1, 0} : Interval{fn == Fn::Max ? -kInfinity : kInfinity, 0};
  for (size_t j = 0; j < line.offsets.size(); ++j) {
    Interval x = in.interval(line.at(j));
    const int64_t w = line.times[j];
    switch (fn) {
      case Fn::Add: acc = add(acc, w == 1 ? x : mul(x, {static_cast<double>(w), 0})); break;
      case Fn::Mul: acc = mul(acc, w == 1 ? x : power_of(x, w)); break;
      case Fn::Max: acc = max(acc, x); break;
      default: acc = min(acc, x); break;
    }
  }
  out.set(k, acc);
}

void reduce_ball(Fn fn, Buffer& out, size_t k, const Line& line, slong bits) {
  if ((fn == Fn::Max || fn == Fn::Min) && !line.offsets.empty()) {  // the extreme element itself, if it is decided
    size_t best = 0;
    bool decided = true;
    for (size_t j = 1; j < line.offsets.size() && decided; ++j) {
      const Order o = order(line.in, line.at(j), line.in, line.at(best), false);
      decided = o != Order::Open;
      if (o == (fn == Fn::Max ? Order::Greater : Order::Less)) best = j;
    }
    if (decided) return out.copy(k, line.in, line.at(best));
  }
  arb_ptr acc = out.ball[k];
  arb_t x;
  arb_init(x);
  if (fn == Fn::Add) arb_zero(acc);
  if (fn == Fn::Mul) arb_one(acc);
  if (fn == Fn::Max) arb_neg_inf(acc);
  if (fn == Fn::Min) arb_pos_inf(acc);
  for (size_t j = 0; j < line.offsets.size(); ++j) {
    arb_srcptr e = line.in.ball[line.at(j)];
    arb_set_si(x, line.times[j]);
    if (line.times[j] == 1 || fn == Fn::Max || fn == Fn::Min) {
      apply(fn, acc, acc, e, bits);
    } else {
      apply(fn == Fn::Add ? Fn::Mul : Fn::Pow, x, e, x, bits);
      apply(fn, acc, acc, x, bits);
    }
  }
  arb_clear(x);
}

void reduce_integer(Fn fn, DType t, Buffer& out, size_t k, const Line& line) {
  const bool is_unsigned = ir::is_unsigned_int(t);
  const int bits = ir::int_bits(t);
  uint64_t acc = 0;
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  switch (fn) {
    case Fn::Mul: acc = 1; break;
    case Fn::And: acc = ~uint64_t{0}; break;
    case Fn::Max: acc = is_unsigned ? 0 : ~(all >> 1); break;  // the smallest value of the type
    case Fn::Min: acc = is_unsigned ? all : all >> 1; break;
    default: break;
  }
  State s = State::Fine;
  bool settled = false;  // true in an "or", false in an "and": whatever the rest is
  for (size_t j = 0; j < line.offsets.size(); ++j) {
    const size_t at = line.at(j);
    const State e = line.in.state_at(at);
    const uint64_t v = static_cast<uint64_t>(line.in.i[at]), w = static_cast<uint64_t>(line.times[j]);
    if (e != State::Fine) {
      if (s != State::Undefined) s = e;
      continue;
    }
    switch (fn) {
      case Fn::Add: acc += v * w; break;
      case Fn::Mul:
        for (uint64_t b = v, n = w; n > 0; n >>= 1, b *= b) {
          if (n & 1) acc *= b;
        }
        break;
      case Fn::And:
        acc &= v;
        settled = settled || (t == DType::Bool && v == 0);
        break;
      case Fn::Or:
        acc |= v;
        settled = settled || (t == DType::Bool && v != 0);
        break;
      case Fn::Max: acc = (is_unsigned ? v > acc : static_cast<int64_t>(v) > static_cast<int64_t>(acc)) ? v : acc; break;
      default: acc = (is_unsigned ? v < acc : static_cast<int64_t>(v) < static_cast<int64_t>(acc)) ? v : acc; break;
    }
  }
  out.i[k] = t == DType::Bool ? static_cast<int64_t>(acc & 1) : wrap_integer(static_cast<int64_t>(acc), t);
  if (s != State::Fine && !settled) out.set_state(k, s);
}

// S-22 arg_reduce: index of the extreme. A tie is left open by MANIFEST.md section 4, so it is undecided here unless the configuration
// chooses.
void arg_reduce(const Context& c, const ir::Node& n, DType t, Buffer& out, size_t k, const Line& line, const Axis& axis) {
  const bool want_max = n.fn == Fn::Max;
  size_t best = 0;
  State s = line.in.state_at(line.at(0));
  for (size_t j = 1; j < line.offsets.size() && s == State::Fine; ++j) {
    s = line.in.state_at(line.at(j));
    if (s != State::Fine) break;
    const Order o = order(line.in, line.at(j), line.in, line.at(best), ir::is_unsigned_int(t));
    if (o == (want_max ? Order::Greater : Order::Less)) best = j;
  }
  // The winner must beat every other; comparing once more finds ties and overlaps.
  std::vector<size_t> tied{best};
  for (size_t j = 0; j < line.offsets.size() && s == State::Fine; ++j) {
    if (j == best) continue;
    const Order o = order(line.in, line.at(j), line.in, line.at(best), ir::is_unsigned_int(t));
    if (o == Order::Open) s = State::Undecided;
    if (o == Order::Equal) tied.push_back(j);
  }
  int64_t index = axis.start(static_cast<int64_t>(best));
  if (s == State::Fine && (tied.size() > 1 || line.times[best] != 1)) {
    std::sort(tied.begin(), tied.end());
    if (c.config.ties == Ties::Open) {
      s = State::Undecided;
    } else if (c.config.ties == Ties::First) {
      index = axis.start(static_cast<int64_t>(tied.front()));
    } else {
      index = axis.end(static_cast<int64_t>(tied.back())) - 1;
    }
  }
  out.i[k] = index;
  if (s != State::Fine) out.set_state(k, s);
}

// ---- contractions. Operands as [batch][rows][K] and [batch][K][columns].
struct Product {
  size_t batch = 1, rows = 1, inner = 1, columns = 1;
  const std::vector<int64_t>* times;
  size_t left(size_t b, size_t i, size_t k) const { return (b * rows + i) * inner + k; }
  size_t right(size_t b, size_t k, size_t j) const { return (b * inner + k) * columns + j; }
  size_t out(size_t b, size_t i, size_t j) const { return (b * rows + i) * columns + j; }
};

// Largest magnitude if all elements are exact integers, else infinity.
double integer_bound(const Buffer& b) {
  double bound = 0;
  for (size_t k = 0; k < b.size; ++k) {
    if (b.r[k] != 0 || b.m[k] != std::trunc(b.m[k])) return kInfinity;
    bound = std::max(bound, std::fabs(b.m[k]));
  }
  return bound;
}

// One element, whatever its operands are.
Interval product_at(const Product& p, const Buffer& x, const Buffer& y, size_t b, size_t i, size_t j) {
  Interval acc{0, 0};
  for (size_t k = 0; k < p.inner && !is_undefined(acc); ++k) {
    Interval term = mul(x.interval(p.left(b, i, k)), y.interval(p.right(b, k, j)));
    if ((*p.times)[k] != 1) term = mul(term, {static_cast<double>((*p.times)[k]), 0});
    acc = add(acc, term);
  }
  return acc;
}

bool real_at(const Buffer& a, size_t k) { return std::fabs(a.m[k]) <= DBL_MAX; }

// Which lines, of all batches, have an element that is no real number. Empty: none.
template <typename LineOf>
std::vector<char> odd_lines(const Buffer& a, size_t lines, LineOf line_of) {
  std::vector<char> odd;
  for (size_t k = 0; k < a.size; ++k) {
    if (real_at(a, k)) continue;
    odd.resize(lines);
    odd[line_of(k)] = 1;
  }
  return odd;
}

Buffer only_reals(const Buffer& a) {
  Buffer out = Buffer::make(a.number, a.size);  // zeros
  for (size_t k = 0; k < a.size; ++k) {
    if (real_at(a, k)) out.set(k, a.interval(k));
  }
  return out;
}

void product_reals(const Product& p, Buffer& out, Buffer x, const Buffer& y);

// Most elements rest on real numbers alone; the others one by one.
void product_interval(const Product& p, Buffer& out, Buffer x, const Buffer& y) {
  const std::vector<char> rows = odd_lines(x, p.batch * p.rows, [&](size_t k) { return k / p.inner; });
  const std::vector<char> columns =
      odd_lines(y, p.batch * p.columns, [&](size_t k) { return k / (p.inner * p.columns) * p.columns + k % p.columns; });
  if (rows.empty() && columns.empty()) return product_reals(p, out, std::move(x), y);
  product_reals(p, out, only_reals(x), only_reals(y));
  for (size_t b = 0; b < p.batch; ++b) {
    for (size_t i = 0; i < p.rows; ++i) {
      for (size_t j = 0; j < p.columns; ++j) {
        if ((rows.empty() || rows[b * p.rows + i] == 0) && (columns.empty() || columns[b * p.columns + j] == 0)) continue;
        out.set(p.out(b, i, j), product_at(p, x, y, b, i, j));
      }
    }
  }
}

#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))  // the inner loops want vectors, at whatever level the rest is built
#endif
void product_reals(const Product& p, Buffer& out, Buffer x, const Buffer& y) {
  if (std::any_of(p.times->begin(), p.times->end(), [](int64_t w) { return w != 1; })) {
    for (size_t k = 0; k < x.size; ++k) x.set(k, mul(x.interval(k), {static_cast<double>((*p.times)[k % p.inner]), 0}));
  }
  const double terms = static_cast<double>(p.inner);
  const bool exact = integer_bound(x) * integer_bound(y) * terms < 0x1p53;  // inf * 0 is NaN: not exact
  const double gamma = (terms + 2) * 0x1p-52;
  const bool with_left_radius = std::any_of(x.r.begin(), x.r.end(), [](double r) { return r != 0; });
  std::vector<double> s(y.size), t(y.size);
  for (size_t k = 0; k < y.size; ++k) {
    const double size = std::fabs(y.m[k]);
    s[k] = y.r[k] + gamma * size;
    t[k] = size + y.r[k];
  }
  const double grow = 1 + (terms + 16) * 0x1p-50, floor = exact ? 0 : kTiny * (terms + 1);
  for (size_t b = 0; b < p.batch; ++b) {
    for (size_t i = 0; i < p.rows; ++i) {
      double* __restrict m = &out.m[p.out(b, i, 0)];
      double* __restrict r = &out.r[p.out(b, i, 0)];
      for (size_t k = 0; k < p.inner; ++k) {
        const double a = x.m[p.left(b, i, k)], size = std::fabs(a), ra = x.r[p.left(b, i, k)];
        if (a == 0 && ra == 0) continue;
        const double* __restrict ym = &y.m[p.right(b, k, 0)];
        const double* __restrict ys = &s[p.right(b, k, 0)];
        const double* __restrict yt = &t[p.right(b, k, 0)];
        if (exact) {
          for (size_t j = 0; j < p.columns; ++j) m[j] += a * ym[j];
        } else if (with_left_radius) {
          for (size_t j = 0; j < p.columns; ++j) {
            m[j] += a * ym[j];
            r[j] += size * ys[j] + ra * yt[j];
          }
        } else {
          for (size_t j = 0; j < p.columns; ++j) {
            m[j] += a * ym[j];
            r[j] += size * ys[j];
          }
        }
      }
      for (size_t j = 0; j < p.columns; ++j) {
        r[j] = r[j] * grow + floor;
        if (!(std::fabs(m[j]) <= DBL_MAX) || !(r[j] <= DBL_MAX)) out.set(p.out(b, i, j), kUndecided);
      }
    }
  }
}

void product_ball(const Product& p, Buffer& out, const Buffer& x, const Buffer& y, slong bits) {
  // Runs weigh the left operand; the right one is laid out by columns for arb_dot. Infinities and open elements go one by one.
  bool plain = true;
  for (size_t k = 0; k < x.size && plain; ++k) plain = arb_is_finite(x.ball[k]);
  for (size_t k = 0; k < y.size && plain; ++k) plain = arb_is_finite(y.ball[k]);
  Balls left(p.inner), column(p.inner);
  arb_t term;
  arb_init(term);
  for (size_t b = 0; b < p.batch; ++b) {
    Balls columns(plain ? p.inner * p.columns : 0);
    for (size_t j = 0; plain && j < p.columns; ++j) {
      for (size_t k = 0; k < p.inner; ++k) arb_set(columns[j * p.inner + k], y.ball[p.right(b, k, j)]);
    }
    for (size_t i = 0; i < p.rows; ++i) {
      for (size_t k = 0; k < p.inner; ++k) {
        arb_set_si(left[k], (*p.times)[k]);
        apply(Fn::Mul, left[k], x.ball[p.left(b, i, k)], left[k], bits);
      }
      for (size_t j = 0; j < p.columns; ++j) {
        arb_ptr acc = out.ball[p.out(b, i, j)];
        if (plain) {
          arb_dot(acc, nullptr, 0, left[0], 1, columns[j * p.inner], 1, static_cast<slong>(p.inner), bits);
          continue;
        }
        arb_zero(acc);
        for (size_t k = 0; k < p.inner; ++k) {
          apply(Fn::Mul, term, left[k], y.ball[p.right(b, k, j)], bits);
          apply(Fn::Add, acc, acc, term, bits);
        }
      }
    }
  }
  arb_clear(term);
}

void product_integer(const Product& p, DType t, Buffer& out, const Buffer& x, const Buffer& y) {
  const bool states = !x.state.empty() || !y.state.empty();
  for (size_t b = 0; b < p.batch; ++b) {
    for (size_t i = 0; i < p.rows; ++i) {
      for (size_t j = 0; j < p.columns; ++j) {
        uint64_t acc = 0;
        State s = State::Fine;
        for (size_t k = 0; k < p.inner; ++k) {
          const size_t l = p.left(b, i, k), r = p.right(b, k, j);
          acc += static_cast<uint64_t>(x.i[l]) * static_cast<uint64_t>(y.i[r]) * static_cast<uint64_t>((*p.times)[k]);
          if (!states) continue;
          for (State e : {x.state_at(l), y.state_at(r)}) {
            if (e != State::Fine && s != State::Undefined) s = e;
          }
        }
        out.i[p.out(b, i, j)] = wrap_integer(static_cast<int64_t>(acc), t);
        if (s != State::Fine) out.set_state(p.out(b, i, j), s);
      }
    }
  }
}

}  // namespace

// S-21 reduce: out = fn over dims a. An empty range gives the neutral element.
Value eval_reduce(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  const Value& x = *in[0];
  const auto strides = x.strides();
  std::vector<Axis> axes, reduced;
  std::vector<Table> kept, gone;
  for (size_t d = 0; d < x.axes.size(); ++d) {
    const bool is_reduced = std::binary_search(n.a.begin(), n.a.end(), static_cast<int64_t>(d));
    (is_reduced ? reduced : axes).push_back(x.axes[d]);
    (is_reduced ? gone : kept).push_back(scaled(x.axes[d], strides[d]));
  }
  c.spend(static_cast<double>(x.data->size) * (c.config.number == Number::Ball ? 20 : 3));
  const std::vector<int64_t> bases = expand(kept), offsets = expand(gone);
  const std::vector<int64_t> times = multiplicities(reduced);
  const auto run = [&](const Buffer& b) {
    Buffer out = Buffer::make(n.op == ir::Op::ArgReduce ? Number::Integer : b.number, bases.size());
    for (size_t k = 0; k < bases.size(); ++k) {
      const Line line{b, offsets, times, bases[k]};
      if (n.op == ir::Op::ArgReduce) {
        arg_reduce(c, n, x.dtype, out, k, line, reduced[0]);
      } else if (b.number == Number::Integer) {
        reduce_integer(n.fn, n.dtype, out, k, line);
      } else if (b.number == Number::Ball) {
        reduce_ball(n.fn, out, k, line, c.config.bits);
      } else {
        reduce_interval(n.fn, out, k, line);
      }
    }
    return std::make_shared<const Buffer>(std::move(out));
  };
  if (x.imag && n.fn != Fn::Add) throw EvalError{"unsupported-operator: complex reduction other than a sum"};
  Value value{n.dtype, axes, run(*x.data), nullptr};
  if (x.imag) value.imag = run(*x.imag);
  return value;
}

// S-23 contract: out[p,i,j] = sum_k x[p,i,k] y[p,j,k]
Value eval_contract(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  Value x = *in[0], y = *in[1];
  std::vector<bool> used_x(x.axes.size()), used_y(y.axes.size());
  std::vector<Axis> fine_x = x.axes, fine_y = y.axes;
  for (const auto* pairs : {&n.a, &n.b}) {
    for (size_t k = 0; k < pairs->size(); k += 2) {
      const int64_t i = (*pairs)[k], j = (*pairs)[k + 1];
      fine_x[i] = fine_y[j] = common(x.axes[i], y.axes[j]);
      used_x[i] = used_y[j] = true;
    }
  }
  x = refine(x, fine_x);
  y = refine(y, fine_y);
  const auto sx = x.strides(), sy = y.strides();
  Product p;
  std::vector<Axis> axes, inner;
  std::vector<Table> tx, ty, rows, inner_x, inner_y, columns;
  for (size_t k = 0; k < n.a.size(); k += 2) {
    axes.push_back(x.axes[n.a[k]]);
    tx.push_back(scaled(axes.back(), sx[n.a[k]]));
    ty.push_back(scaled(axes.back(), sy[n.a[k + 1]]));
    p.batch *= static_cast<size_t>(axes.back().blocks());
  }
  for (size_t k = 0; k < n.b.size(); k += 2) {
    inner.push_back(x.axes[n.b[k]]);
    inner_x.push_back(scaled(inner.back(), sx[n.b[k]]));
    inner_y.push_back(scaled(inner.back(), sy[n.b[k + 1]]));
    p.inner *= static_cast<size_t>(inner.back().blocks());
  }
  for (size_t d = 0; d < used_x.size(); ++d) {
    if (used_x[d]) continue;
    axes.push_back(x.axes[d]);
    rows.push_back(scaled(x.axes[d], sx[d]));
    p.rows *= static_cast<size_t>(x.axes[d].blocks());
  }
  for (size_t d = 0; d < used_y.size(); ++d) {
    if (used_y[d]) continue;
    axes.push_back(y.axes[d]);
    columns.push_back(scaled(y.axes[d], sy[d]));
    p.columns *= static_cast<size_t>(y.axes[d].blocks());
  }
  c.check(axes);
  const double steps =
      static_cast<double>(p.batch) * static_cast<double>(p.rows) * static_cast<double>(p.columns) * static_cast<double>(p.inner);
  c.spend(steps * (c.config.number == Number::Ball ? 20 : 3) * (x.imag ? 4 : 1) + static_cast<double>(x.data->size + y.data->size));
  const std::vector<int64_t> times = multiplicities(inner);
  p.times = &times;
  tx.insert(tx.end(), rows.begin(), rows.end());
  tx.insert(tx.end(), inner_x.begin(), inner_x.end());
  ty.insert(ty.end(), inner_y.begin(), inner_y.end());
  ty.insert(ty.end(), columns.begin(), columns.end());
  const auto run = [&](const Buffer& bx, const Buffer& by) {
    Buffer out = Buffer::make(bx.number, p.batch * p.rows * p.columns);
    if (out.size == 0) return out;
    Buffer left = gather(bx, tx), right = gather(by, ty);
    if (bx.number == Number::Integer) {
      product_integer(p, n.dtype, out, left, right);
    } else if (bx.number == Number::Ball) {
      product_ball(p, out, left, right, c.config.bits);
    } else {
      product_interval(p, out, std::move(left), right);
    }
    return out;
  };
  Value value{n.dtype, axes, nullptr, nullptr};
  if (!x.imag) {
    value.data = std::make_shared<const Buffer>(run(*x.data, *y.data));
    return value;
  }
  const auto combine = [&](Fn fn, const Buffer& a, const Buffer& b) {
    Buffer out = Buffer::make(a.number, a.size);
    for (size_t k = 0; k < a.size; ++k) {
      if (a.number == Number::Ball) {
        apply(fn, out.ball[k], a.ball[k], b.ball[k], c.config.bits);
      } else {
        out.set(k, apply(fn, a.interval(k), b.interval(k)));
      }
    }
    return std::make_shared<const Buffer>(std::move(out));
  };
  value.data = combine(Fn::Sub, run(*x.data, *y.data), run(*x.imag, *y.imag));
  value.imag = combine(Fn::Add, run(*x.data, *y.imag), run(*x.imag, *y.data));
  return value;
}

}  // namespace shardproof::interp
