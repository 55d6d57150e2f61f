// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Axes and buffers of block tensors.
#include "interp/block_tensor.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "util/result.h"

namespace shardproof::interp {
namespace {

constexpr size_t kMaxElements = size_t{1} << 25;  // of one tensor, whatever the configuration says

}  // namespace

Axis Axis::unit(int64_t n) {
  Axis a;
  a.n_ = n;
  return a;
}

Axis Axis::whole(int64_t n) { return n <= 1 ? unit(n) : cut(n, {n}); }

Axis Axis::cut(int64_t n, std::vector<int64_t> ends) {
  if (static_cast<int64_t>(ends.size()) == n) return unit(n);
  SP_CHECK(!ends.empty() && ends.back() == n);
  Axis a;
  a.n_ = n;
  auto runs = std::make_shared<Runs>();
  runs->blocks = static_cast<int64_t>(ends.size());
  runs->ends = std::move(ends);
  a.runs_ = std::move(runs);
  return a;
}

Axis Axis::labelled(int64_t n, const std::vector<int64_t>& ends, const std::vector<int64_t>& labels) {
  SP_CHECK(ends.size() == labels.size() && !ends.empty() && ends.back() == n);
  auto runs = std::make_shared<Runs>();
  const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
  const bool few = *least >= 0 && *most < static_cast<int64_t>(4 * labels.size() + 1024);
  std::vector<int64_t> number(few ? static_cast<size_t>(*most + 1) : 0, -1);
  std::unordered_map<int64_t, int64_t> numbers;  // where labels are large
  int64_t start = 0;
  bool once = true;  // every block is one run
  for (size_t r = 0; r < ends.size(); ++r) {
    int64_t& known = few ? number[labels[r]] : numbers.try_emplace(labels[r], -1).first->second;
    const bool fresh = known < 0;
    if (fresh) known = runs->blocks++;
    const int64_t block = known, length = ends[r] - start;
    SP_CHECK(length > 0);
    if (fresh) {
      runs->first.push_back(start);
      runs->count.push_back(0);
    }
    runs->count[block] += length;
    if (!runs->block.empty() && runs->block.back() == block) {
      runs->ends.back() = ends[r];
    } else {
      once = once && fresh;
      runs->ends.push_back(ends[r]);
      runs->block.push_back(block);
    }
    start = ends[r];
  }
  if (once) return cut(n, std::move(runs->ends));
  Axis a;
  a.n_ = n;
  a.runs_ = std::move(runs);
  return a;
}

Axis Axis::straight() const { return contiguous() ? *this : cut(n_, runs_->ends); }

int64_t Axis::end(int64_t k) const {
  if (!runs_) return k + 1;
  SP_CHECK(runs_->block.empty());
  return runs_->ends[k];
}

Axis Axis::at(int64_t n, std::vector<int64_t> positions) {
  if (n <= 1) return unit(n);
  std::sort(positions.begin(), positions.end());
  std::vector<int64_t> ends;
  for (int64_t p : positions) {
    if (p > 0 && p < n && (ends.empty() || ends.back() != p)) ends.push_back(p);
  }
  ends.push_back(n);
  return cut(n, std::move(ends));
}

int64_t Axis::block_of(int64_t position) const {
  if (!runs_) return position;
  return run_block(std::upper_bound(runs_->ends.begin(), runs_->ends.end(), position) - runs_->ends.begin());
}

bool Axis::operator==(const Axis& other) const {
  if (n_ != other.n_) return false;
  if (runs_ == other.runs_) return true;
  return runs_ && other.runs_ && runs_->ends == other.runs_->ends && runs_->block == other.runs_->block;
}

Axis common(const Axis& x, const Axis& y) {
  SP_CHECK(x.extent() == y.extent());
  if (x.is_unit() || y.blocks() == 1) return x;
  if (y.is_unit() || x.blocks() == 1) return y;
  if (x == y) return x;
  const bool contiguous = x.contiguous() && y.contiguous();
  std::vector<int64_t> ends, labels;
  for (int64_t i = 0, j = 0; i < x.runs() && j < y.runs();) {
    const int64_t e = std::min(x.run_end(i), y.run_end(j));
    ends.push_back(e);
    if (!contiguous) labels.push_back(x.run_block(i) * y.blocks() + y.run_block(j));
    if (x.run_end(i) == e) ++i;
    if (y.run_end(j) == e) ++j;
  }
  return contiguous ? Axis::cut(x.extent(), std::move(ends)) : Axis::labelled(x.extent(), ends, labels);
}

std::vector<int64_t> containing(const Axis& fine, const Axis& coarse) {
  std::vector<int64_t> out(static_cast<size_t>(fine.blocks()));
  if (!coarse.contiguous() || !fine.contiguous()) {
    for (size_t k = 0; k < out.size(); ++k) out[k] = coarse.block_of(fine.start(static_cast<int64_t>(k)));
    return out;
  }
  for (int64_t k = 0, c = 0; k < fine.blocks(); ++k) {
    while (coarse.end(c) < fine.end(k)) ++c;
    out[k] = c;
  }
  return out;
}

std::vector<int64_t> starts(const Axis& axis) {
  std::vector<int64_t> out(static_cast<size_t>(axis.blocks()));
  for (size_t k = 0; k < out.size(); ++k) out[k] = axis.start(static_cast<int64_t>(k));
  return out;
}

Buffer Buffer::make(Number number, size_t n) {
  if (n > kMaxElements) throw EvalError{"budget: a tensor needs too many blocks"};
  Buffer b;
  b.number = number;
  b.size = n;
  switch (number) {
    case Number::Integer: b.i.resize(n); break;
    case Number::Interval:
      b.m.resize(n);
      b.r.resize(n);
      break;
    case Number::Ball: b.ball = Balls(n); break;
  }
  return b;
}

State Buffer::state_at(size_t k) const {
  switch (number) {
    case Number::Integer: return state.empty() ? State::Fine : state[k];
    case Number::Interval:
      if (m[k] == m[k]) return State::Fine;
      return r[k] == 0 ? State::Undefined : State::Undecided;
    case Number::Ball:
      if (is_undefined(ball[k])) return State::Undefined;
      return is_undecided(ball[k]) ? State::Undecided : State::Fine;
  }
  return State::Undecided;
}

void Buffer::set_state(size_t k, State s) {
  switch (number) {
    case Number::Integer:
      if (state.empty()) {
        if (s == State::Fine) return;
        state.resize(size, State::Fine);
      }
      state[k] = s;
      return;
    case Number::Interval:
      if (s != State::Fine) set(k, s == State::Undefined ? kUndefined : kUndecided);
      return;
    case Number::Ball:
      if (s == State::Undefined) set_undefined(ball[k]);
      if (s == State::Undecided) set_undecided(ball[k]);
      return;
  }
}

void Buffer::copy(size_t to, const Buffer& from, size_t k) {
  switch (number) {
    case Number::Integer:
      i[to] = from.i[k];
      if (!from.state.empty() || !state.empty()) set_state(to, from.state_at(k));
      return;
    case Number::Interval:
      m[to] = from.m[k];
      r[to] = from.r[k];
      return;
    case Number::Ball:
      arb_set(ball[to], from.ball[k]);
      if (!from.tag.empty()) {
        if (tag.empty()) tag.resize(size, 0);
        tag[to] = from.tag[k];
      } else if (!tag.empty()) {
        tag[to] = 0;
      }
      return;
  }
}

size_t Buffer::bytes() const {
  return size * (number == Number::Ball ? 2 * sizeof(arb_struct) : number == Number::Interval ? 16 : 8) + state.size();
}

Order order(const Buffer& x, size_t i, const Buffer& y, size_t j, bool is_unsigned) {
  switch (x.number) {
    case Number::Integer: {
      if (x.state_at(i) != State::Fine || y.state_at(j) != State::Fine) return Order::Open;
      const int64_t a = x.i[i], b = y.i[j];
      if (a == b) return Order::Equal;
      const bool less = is_unsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
      return less ? Order::Less : Order::Greater;
    }
    case Number::Interval: return order(x.interval(i), y.interval(j));
    case Number::Ball:
      if (!x.tag.empty() && !y.tag.empty() && x.tag[i] != 0 && x.tag[i] == y.tag[j] && x.state_at(i) == State::Fine) return Order::Equal;
      return order(x.ball[i], y.ball[j]);
  }
  return Order::Open;
}

bool same_element(const Buffer& x, size_t i, const Buffer& y, size_t j) {
  switch (x.number) {
    case Number::Integer: return x.state_at(i) == State::Fine && y.state_at(j) == State::Fine && x.i[i] == y.i[j];
    default: return x.state_at(i) == State::Fine && order(x, i, y, j, false) == Order::Equal;
  }
}

void number_elements(Buffer& b, uint64_t node) {
  constexpr uint64_t kLow = (uint64_t{1} << 40) - 1;
  const auto mix = [](uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
  };
  const uint64_t seed = mix(node + 1);
  if (b.number == Number::Interval) {
    for (size_t k = 0; k < b.size; ++k) {
      if (b.r[k] == 0 || !(b.r[k] <= DBL_MAX)) continue;
      // Raised by more than the low 40 bits can take away; subnormal radii have no such bits.
      const uint64_t h = mix(seed ^ mix(std::bit_cast<uint64_t>(b.m[k])) ^ std::bit_cast<uint64_t>(b.r[k]));
      const double r = std::max(b.r[k] * (1 + 0x1p-10), 1e-290);
      b.r[k] = std::bit_cast<double>((std::bit_cast<uint64_t>(r) & ~kLow) | (h & kLow));
    }
  } else if (b.number == Number::Ball) {
    b.tag.assign(b.size, 0);
    for (size_t k = 0; k < b.size; ++k) {
      arb_srcptr x = b.ball[k];
      if (arb_is_exact(x)) continue;
      uint64_t h = seed ^ mix(MAG_MAN(arb_radref(x)));
      if (!arf_is_special(arb_midref(x))) {
        mp_srcptr limbs;
        mp_size_t count;
        ARF_GET_MPN_READONLY(limbs, count, arb_midref(x));
        for (mp_size_t j = 0; j < count; ++j) h = mix(h ^ limbs[j]);
      }
      b.tag[k] = mix(h ^ std::bit_cast<uint64_t>(arf_get_d(arb_midref(x), ARF_RND_NEAR))) | 1;
    }
  }
}

Buffer gather(const Buffer& in, const std::vector<Table>& tables) {
  size_t total = 1;
  for (const Table& t : tables) total *= t.size();
  Buffer out = Buffer::make(in.number, total);
  if (total == 0) return out;
  if (!in.state.empty()) out.state.resize(total, State::Fine);
  static const Table kScalar{0};
  const Table& last = tables.empty() ? kScalar : tables.back();
  const size_t width = last.size(), outer = tables.empty() ? 0 : tables.size() - 1;
  bool contiguous = true;
  for (size_t k = 1; k < width; ++k) contiguous = contiguous && last[k] == last[0] + static_cast<int64_t>(k);
  std::vector<size_t> at(outer, 0);
  int64_t base = 0;
  for (size_t d = 0; d < outer; ++d) base += tables[d][0];
  for (size_t row = 0; row < total; row += width) {
    const size_t first = static_cast<size_t>(base + last[0]);
    switch (in.number) {
      case Number::Integer:
        if (contiguous) {
          std::copy_n(in.i.begin() + first, width, out.i.begin() + row);
        } else {
          for (size_t k = 0; k < width; ++k) out.i[row + k] = in.i[base + last[k]];
        }
        if (!in.state.empty()) {
          for (size_t k = 0; k < width; ++k) out.state[row + k] = in.state[base + last[k]];
        }
        break;
      case Number::Interval:
        if (contiguous) {
          std::copy_n(in.m.begin() + first, width, out.m.begin() + row);
          std::copy_n(in.r.begin() + first, width, out.r.begin() + row);
        } else {
          for (size_t k = 0; k < width; ++k) {
            out.m[row + k] = in.m[base + last[k]];
            out.r[row + k] = in.r[base + last[k]];
          }
        }
        break;
      case Number::Ball:
        for (size_t k = 0; k < width; ++k) out.copy(row + k, in, static_cast<size_t>(base + last[k]));
        break;
    }
    for (size_t d = outer; d-- > 0;) {  // next row
      base -= tables[d][at[d]];
      if (++at[d] < tables[d].size()) {
        base += tables[d][at[d]];
        break;
      }
      at[d] = 0;
      base += tables[d][0];
    }
  }
  return out;
}

int64_t count_blocks(const std::vector<Axis>& axes) {
  int64_t total = 1;
  for (const Axis& a : axes) {
    if (__builtin_mul_overflow(total, a.blocks(), &total)) throw EvalError{"budget: too many blocks"};
  }
  return total;
}

int64_t Value::blocks() const { return count_blocks(axes); }

ir::Shape Value::shape() const {
  ir::Shape s;
  for (const Axis& a : axes) s.push_back(a.extent());
  return s;
}

std::vector<int64_t> Value::strides() const {
  std::vector<int64_t> out(axes.size());
  int64_t step = 1;
  for (size_t d = axes.size(); d-- > 0;) {
    out[d] = step;
    step *= axes[d].blocks();
  }
  return out;
}

Value view(const Value& x, std::vector<Axis> axes, const std::vector<Table>& tables) {
  Value out{x.dtype, std::move(axes), nullptr, nullptr};
  out.data = std::make_shared<const Buffer>(gather(*x.data, tables));
  if (x.imag) out.imag = std::make_shared<const Buffer>(gather(*x.imag, tables));
  return out;
}

Value refine(const Value& x, const std::vector<Axis>& axes) {
  SP_CHECK(axes.size() == x.axes.size());
  bool same = true;
  for (size_t d = 0; d < axes.size(); ++d) same = same && axes[d].blocks() == x.axes[d].blocks();
  if (same) {
    Value out = x;
    out.axes = axes;
    return out;
  }
  const auto strides = x.strides();
  std::vector<Table> tables(axes.size());
  for (size_t d = 0; d < axes.size(); ++d) {
    tables[d] = containing(axes[d], x.axes[d]);
    for (int64_t& t : tables[d]) t *= strides[d];
  }
  return view(x, axes, tables);
}

Value straightened(const Value& x) {
  std::vector<Axis> axes;
  for (const Axis& a : x.axes) axes.push_back(a.straight());
  return refine(x, axes);
}

Value compress(const Value& x) {
  const auto alike = [](const Buffer& b, size_t i, size_t j) {
    const State s = b.state_at(i);
    return s == State::Fine ? same_element(b, i, b, j) : s == b.state_at(j);
  };
  const auto hash_of = [](const Buffer& b, size_t k) -> uint64_t {  // equal for elements that are alike
    if (b.state_at(k) != State::Fine) return 1;
    switch (b.number) {
      case Number::Integer: return static_cast<uint64_t>(b.i[k]);
      case Number::Interval: return std::bit_cast<uint64_t>(b.m[k] + 0.0);
      case Number::Ball: return std::bit_cast<uint64_t>(arf_get_d(arb_midref(b.ball[k]), ARF_RND_NEAR) + 0.0);
    }
    return 0;
  };
  Value out = x;
  for (size_t d = 0; d < out.axes.size(); ++d) {
    const Axis axis = out.axes[d];
    const int64_t count = axis.blocks();
    if (count <= 1) continue;
    const auto strides = out.strides();
    const size_t stride = static_cast<size_t>(strides[d]), total = out.data->size, jump = stride * static_cast<size_t>(count);
    std::vector<uint64_t> hashes(static_cast<size_t>(count), 0);
    for (size_t k = 0; k < total; ++k) {
      uint64_t& h = hashes[k / stride % static_cast<size_t>(count)];
      h = (h ^ hash_of(*out.data, k)) * 0x9e3779b97f4a7c15u;
      h ^= h >> 29;
    }
    const auto same = [&](int64_t i, int64_t j) {
      for (size_t outer = 0; outer < total; outer += jump) {
        for (size_t inner = 0; inner < stride; ++inner) {
          const size_t p = outer + static_cast<size_t>(i) * stride + inner, q = outer + static_cast<size_t>(j) * stride + inner;
          if (!alike(*out.data, p, q) || (out.imag && !alike(*out.imag, p, q))) return false;
        }
      }
      return true;
    };
    std::unordered_map<uint64_t, std::vector<int64_t>> kept_by_hash;
    std::vector<int64_t> kept, kind(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
      std::vector<int64_t>& those = kept_by_hash[hashes[k]];
      const auto found = std::find_if(those.begin(), those.end(), [&](int64_t other) { return same(k, other); });
      kind[k] = found == those.end() ? k : *found;
      if (found == those.end()) {
        those.push_back(k);
        kept.push_back(k);
      }
    }
    if (static_cast<int64_t>(kept.size()) == count) continue;
    std::vector<int64_t> ends, labels;
    for (int64_t r = 0; r < axis.runs(); ++r) {
      ends.push_back(axis.run_end(r));
      labels.push_back(kind[axis.run_block(r)]);
    }
    std::vector<Table> tables(out.axes.size());
    for (size_t e = 0; e < out.axes.size(); ++e) {
      const int64_t n = e == d ? static_cast<int64_t>(kept.size()) : out.axes[e].blocks();
      for (int64_t k = 0; k < n; ++k) tables[e].push_back((e == d ? kept[k] : k) * strides[e]);
    }
    std::vector<Axis> axes = out.axes;
    axes[d] = Axis::labelled(axis.extent(), ends, labels);
    out = view(out, std::move(axes), tables);
  }
  return out;
}

size_t locate(const Value& x, const std::vector<int64_t>& index) {
  size_t at = 0;
  for (size_t d = 0; d < x.axes.size(); ++d)
    at = at * static_cast<size_t>(x.axes[d].blocks()) + static_cast<size_t>(x.axes[d].block_of(index[d]));
  return at;
}

}  // namespace shardproof::interp
