// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Take and scatter. Indices are constant on blocks as everything else, so a lookup is one per box; a written position cuts the result
// there.
#include <algorithm>

#include "interp/eval.h"
#include "util/result.h"

namespace shardproof::interp {
namespace {

using ir::Fn;
using ir::IndexMode;

constexpr int64_t kOutside = -1;

// Where an index lands in [0, n), or kOutside.
int64_t position(int64_t v, int64_t n, IndexMode mode, bool is_unsigned) {
  const bool huge = is_unsigned && v < 0;
  if (mode == IndexMode::Clamp) return n == 0 ? kOutside : huge ? n - 1 : std::clamp<int64_t>(v, 0, n - 1);
  if (mode == IndexMode::Wrap && v < 0 && v >= -n && !huge) return v + n;
  return v >= 0 && v < n ? v : kOutside;
}

Table scaled(const Axis& axis, const Axis& source, int64_t stride) {
  Table t = containing(axis, source);
  for (int64_t& v : t) v *= stride;
  return t;
}

// Offsets, for every box of `axes`, into a tensor whose dimension k lies along axes[dims[k]].
std::vector<int64_t> offsets_along(const std::vector<Axis>& axes, const std::vector<Axis>& source, const std::vector<int64_t>& strides,
                                   const std::vector<int64_t>& dims) {
  std::vector<Table> tables(axes.size());
  for (size_t d = 0; d < axes.size(); ++d) tables[d].assign(static_cast<size_t>(axes[d].blocks()), 0);
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] < 0) continue;
    const Table t = scaled(axes[dims[k]], source[k], strides[k]);
    for (size_t j = 0; j < t.size(); ++j) tables[dims[k]][j] += t[j];
  }
  return expand(tables);
}

// S-24 take: out[i] = data[j], j[k] = i[a[k]] or idx_{-a[k]-1}[i at dims b]
Value take(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  const Value& data = *in[0];
  const bool fill = n.mode == IndexMode::Fill;
  const size_t count = in.size() - 1 - (fill ? 1 : 0);
  std::vector<Axis> axes;
  for (int64_t extent : n.shape) axes.push_back(Axis::whole(extent));
  for (size_t k = 0; k < n.a.size(); ++k) {
    if (n.a[k] >= 0) axes[n.a[k]] = common(axes[n.a[k]], data.axes[k]);
  }
  for (size_t j = 0; j < count; ++j) {
    for (size_t k = 0; k < n.b.size(); ++k) axes[n.b[k]] = common(axes[n.b[k]], in[1 + j]->axes[k]);
  }
  // A diagonal (one result dim for two data dims) is not constant on boxes: it needs single elements.
  for (size_t k = 0; k < n.a.size(); ++k) {
    for (size_t l = 0; l < k; ++l) {
      if (n.a[k] >= 0 && n.a[k] == n.a[l]) axes[n.a[k]] = Axis::unit(n.shape[n.a[k]]);
    }
  }
  c.check(axes);
  c.spend(static_cast<double>(count_blocks(axes)) * static_cast<double>(3 + count));
  const auto strides = data.strides();
  std::vector<int64_t> offsets = offsets_along(axes, data.axes, strides, n.a);
  std::vector<State> states(offsets.size(), State::Fine);
  std::vector<bool> filled(fill ? offsets.size() : 0);
  for (size_t k = 0; k < n.a.size(); ++k) {
    if (n.a[k] >= 0) continue;
    const Value& index = *in[static_cast<size_t>(-n.a[k])];
    const auto at = offsets_along(axes, index.axes, index.strides(), n.b);
    const int64_t extent = data.axes[k].extent();
    for (size_t i = 0; i < offsets.size(); ++i) {
      const State s = index.data->state_at(static_cast<size_t>(at[i]));
      if (s != State::Fine) {
        if (states[i] != State::Undefined) states[i] = s;
        continue;
      }
      const int64_t p = position(index.data->i[at[i]], extent, n.mode, ir::is_unsigned_int(index.dtype));
      if (p != kOutside) {
        offsets[i] += data.axes[k].block_of(p) * strides[k];
      } else if (fill) {
        filled[i] = true;
      } else {
        states[i] = State::Undefined;
      }
    }
  }
  const auto read = [&](const Buffer& b, const Buffer* value) {
    Buffer out = Buffer::make(b.number, offsets.size());
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (states[i] != State::Fine) {
        out.set_state(i, states[i]);
      } else if (fill && filled[i]) {
        out.copy(i, *value, 0);
      } else {
        out.copy(i, b, static_cast<size_t>(offsets[i]));
      }
    }
    return std::make_shared<const Buffer>(std::move(out));
  };
  const Value* value = fill ? in.back() : nullptr;
  Value out{n.dtype, axes, read(*data.data, value ? value->data.get() : nullptr), nullptr};
  if (data.imag) out.imag = read(*data.imag, value ? value->imag.get() : nullptr);
  return out;
}

// Combines one update into an element; `times`: how many equal updates the box stands for.
void combine(const Context& c, Fn fn, ir::DType t, Buffer& out, size_t k, const Buffer& update, size_t j, int64_t times) {
  switch (out.number) {
    case Number::Integer: {
      const State a = out.state_at(k), b = update.state_at(j);
      if (a != State::Fine || b != State::Fine) {
        out.set_state(k, a == State::Undefined || b == State::Undefined ? State::Undefined : State::Undecided);
        return;
      }
      const bool is_unsigned = ir::is_unsigned_int(t);
      const int64_t x = out.i[k], y = update.i[j];
      const bool less = is_unsigned ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
      uint64_t v = static_cast<uint64_t>(x);
      switch (fn) {
        case Fn::Add: v += static_cast<uint64_t>(y) * static_cast<uint64_t>(times); break;
        case Fn::Mul:
          for (int64_t q = 0; q < times; ++q) v *= static_cast<uint64_t>(y);
          break;
        case Fn::Max: v = static_cast<uint64_t>(less ? y : x); break;
        case Fn::Min: v = static_cast<uint64_t>(less ? x : y); break;
        case Fn::And: v &= static_cast<uint64_t>(y); break;
        default: v |= static_cast<uint64_t>(y); break;
      }
      out.i[k] = wrap_integer(static_cast<int64_t>(v), t);
      return;
    }
    case Number::Interval: {
      Interval y = update.interval(j);
      if (times != 1 && fn == Fn::Add) y = mul(y, {static_cast<double>(times), 0});
      if (times != 1 && fn == Fn::Mul) y = apply(Fn::Pow, y, {static_cast<double>(times), 0});
      out.set(k, apply(fn, out.interval(k), y));
      return;
    }
    case Number::Ball: {
      arb_t y, w;
      arb_init(y);
      arb_init(w);
      arb_set_si(w, times);
      arb_set(y, update.ball[j]);
      if (times != 1 && fn == Fn::Add) apply(Fn::Mul, y, y, w, c.config.bits);
      if (times != 1 && fn == Fn::Mul) apply(Fn::Pow, y, y, w, c.config.bits);
      apply(fn, out.ball[k], out.ball[k], y, c.config.bits);
      arb_clear(y);
      arb_clear(w);
      return;
    }
  }
}

// S-25 scatter: out[j] = data[j] (+) all updates u whose position is j
Value scatter(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  const Value& data = *in[0];
  const size_t count = in.size() - 2;
  // Axes of the result: those of data, cut where updates that are copied along a dimension are cut, and around every written position.
  std::vector<Axis> axes = data.axes, moving = in[1]->axes;
  for (size_t j = 0; j < count; ++j) {
    for (size_t k = 0; k < n.b.size(); ++k) moving[n.b[k]] = common(moving[n.b[k]], in[2 + j]->axes[k]);
  }
  for (size_t k = 0; k < n.a.size(); ++k) {
    if (n.a[k] >= 0) {
      for (size_t l = 0; l < k; ++l) {
        if (n.a[l] == n.a[k]) throw EvalError{"unsupported-operator: scatter along a diagonal"};
      }
      axes[k] = moving[n.a[k]] = common(axes[k], moving[n.a[k]]);
      continue;
    }
    const Value& index = *in[static_cast<size_t>(1 - n.a[k])];
    if (axes[k].is_unit()) continue;
    std::vector<int64_t> cuts = starts(axes[k]);
    for (int64_t v : index.data->i) {
      const int64_t p = position(v, axes[k].extent(), n.mode, ir::is_unsigned_int(index.dtype));
      if (p == kOutside) continue;
      cuts.push_back(p);
      cuts.push_back(p + 1);
    }
    axes[k] = Axis::at(axes[k].extent(), std::move(cuts));
  }
  c.check(axes);
  c.check(moving);
  const Value updates = refine(*in[1], moving);
  Value out = refine(data, axes);
  const auto strides = out.strides();
  c.spend(static_cast<double>(out.data->size) + 4.0 * static_cast<double>(updates.data->size) * static_cast<double>(1 + count));
  std::vector<int64_t> offsets = offsets_along(moving, axes, strides, n.a);
  // How many single updates of a box meet at one position: the runs along dimensions that are not copied.
  std::vector<Table> runs(moving.size());
  std::vector<int64_t> times{1};
  for (size_t d = 0; d < moving.size(); ++d) {
    const bool copied = std::find(n.a.begin(), n.a.end(), static_cast<int64_t>(d)) != n.a.end();
    std::vector<int64_t> next;
    for (int64_t w : times) {
      for (int64_t k = 0; k < moving[d].blocks(); ++k) next.push_back(copied ? w : w * moving[d].count(k));
    }
    times = std::move(next);
  }
  std::vector<bool> dropped(offsets.size());
  for (size_t k = 0; k < n.a.size(); ++k) {
    if (n.a[k] >= 0) continue;
    const Value& index = *in[static_cast<size_t>(1 - n.a[k])];
    const auto at = offsets_along(moving, index.axes, index.strides(), n.b);
    for (size_t i = 0; i < offsets.size(); ++i) {
      const State s = index.data->state_at(static_cast<size_t>(at[i]));
      if (s != State::Fine) return c.poison(n.dtype, n.shape, s);  // it may write anywhere
      const int64_t p = position(index.data->i[at[i]], axes[k].extent(), n.mode, ir::is_unsigned_int(index.dtype));
      if (p != kOutside) {
        offsets[i] += axes[k].block_of(p) * strides[k];
      } else if (n.mode == IndexMode::Fill) {
        dropped[i] = true;
      } else {
        return c.poison(n.dtype, n.shape, State::Undefined);
      }
    }
  }
  const auto write = [&](const Buffer& base, const Buffer& b) {
    Table identity(base.size);
    for (size_t k = 0; k < identity.size(); ++k) identity[k] = static_cast<int64_t>(k);
    Buffer result = gather(base, {identity});
    std::vector<bool> written(n.set ? result.size : 0);
    for (size_t i = 0; i < offsets.size(); ++i) {
      if (dropped[i]) continue;
      const size_t k = static_cast<size_t>(offsets[i]);
      if (!n.set) {
        combine(c, n.fn, n.dtype, result, k, b, i, times[i]);
      } else if (written[k]) {
        if (!same_element(result, k, b, i)) result.set_state(k, State::Undecided);  // which write wins is open
      } else {
        result.copy(k, b, i);
        written[k] = true;
      }
    }
    return std::make_shared<const Buffer>(std::move(result));
  };
  out.data = write(*out.data, *updates.data);
  if (out.imag) {
    if (!n.set && n.fn != Fn::Add) throw EvalError{"unsupported-operator: complex scatter other than a sum"};
    out.imag = write(*out.imag, *updates.imag);
  }
  return out;
}

}  // namespace

Value eval_index(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  return n.op == ir::Op::Take ? take(c, n, in) : scatter(c, n, in);
}

}  // namespace shardproof::interp
