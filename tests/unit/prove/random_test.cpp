// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Random graphs of tiny shapes, in which many nodes happen to be equal: whatever two of them the prover calls equal, the reference
// interpreter must find equal on all inputs that it tries. SHARDPROOF_RANDOM_GRAPHS makes it longer.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>

#include "unit/prove/again.h"
#include "unit/prove/bench.h"
#include "unit/prove/judge.h"

using namespace shardproof;
using ir::DType;
using ir::Fn;
using ir::NodeId;
using ir::Shape;

namespace {

// Anything: every operator now and then. The others grow half of their nodes around one kind of rule.
enum class Kind : uint8_t { Anything, Flat, Padded, Halves, Inner, Count };

class Garden {
 public:
  Garden(test::Bench& t, uint64_t seed, Kind kind = Kind::Anything) : t_(t), b_(t.b), random_(seed), kind_(kind) {
    for (int64_t& n : sizes_) n = at_most(3);
    if (at_most(3) != 0) {  // sizes 0 are worth trying, but prove little
      for (int64_t& n : sizes_) n = std::max<int64_t>(n, 1);
    }
    for (int k = 0; k < 3; ++k) {
      const NodeId x = b_.input("x" + std::to_string(k), DType::F32, shape(k == 0 ? 1 : 2));
      if (at_most(2) == 0) fact(x, manifest::Fact::Kind::GreaterThan, 0, 0);
      floats_.push_back(x);
    }
    for (int k = 0; k < 2; ++k) {
      const NodeId i = b_.input("i" + std::to_string(k), DType::I32, k == 0 ? Shape{sizes_[0]} : shape(1));
      const int64_t low = at_most(2) - 1;
      if (at_most(2) != 0) fact(i, manifest::Fact::Kind::Range, static_cast<double>(low), static_cast<double>(low + 1 + at_most(3)));
      ints_.push_back(i);
    }
    plant();
    for (int k = 0; k < 26; ++k) {
      if (kind_ == Kind::Anything || at_most(4) < 2) {
        grow();
      } else if (at_most(4) == 0) {
        if (const NodeId y = grow_integers(); ir::num_elements(b_.shape(y)) <= 64) ints_.push_back(y);
      } else if (const NodeId y = grow_around(); ir::num_elements(b_.shape(y)) <= 64) {
        floats_.push_back(y);
      }
    }
  }
  const std::vector<NodeId>& all() const { return floats_; }

 private:
  int64_t at_most(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n)(random_); }
  int64_t size() { return sizes_[static_cast<size_t>(at_most(1))]; }
  Shape shape(int rank) {
    Shape s;
    for (int d = 0; d < rank; ++d) s.push_back(size());
    return s;
  }
  void fact(NodeId x, manifest::Fact::Kind kind, double low, double high) {
    link::Fact f;
    f.input = x;
    f.fact.kind = kind;
    f.fact.low = low;
    f.fact.high = high;
    f.fact.value = low;
    t_.p.facts.push_back(f);
  }
  NodeId pick() { return floats_[static_cast<size_t>(at_most(static_cast<int64_t>(floats_.size()) - 1))]; }
  // Something of the shape of x, or a scalar.
  NodeId like(NodeId x) {
    for (int k = 0; k < 6; ++k) {
      const NodeId y = pick();
      if (b_.shape(y) == b_.shape(x) || b_.shape(y).empty()) return y;
    }
    return at_most(1) == 0 ? x : t_.real(static_cast<double>(at_most(4)) - 2);
  }
  NodeId integers(const Shape& s) {
    if (!s.empty() && at_most(1) == 0) return b_.iota(DType::I32, s, at_most(static_cast<int64_t>(s.size()) - 1));
    for (NodeId i : ints_) {
      if (b_.shape(i) == s && at_most(1) == 0) return i;
      for (size_t d = 0; d < s.size(); ++d) {
        if (b_.shape(i) == Shape{s[d]} && at_most(1) == 0) return b_.broadcast(i, s, {static_cast<int64_t>(d)});
      }
    }
    return b_.broadcast(t_.integer(at_most(3)), s, {});
  }
  NodeId condition(const Shape& s) {
    static const Fn kCompare[] = {Fn::Lt, Fn::Le, Fn::Eq, Fn::Ne, Fn::Gt, Fn::Ge};
    const NodeId c = b_.compare(kCompare[at_most(5)], integers(s), integers(s));
    return at_most(3) == 0
               ? b_.map(at_most(1) ? Fn::And : Fn::Or, {c, b_.compare(kCompare[at_most(5)], integers(s), integers(s))}, DType::Bool)
               : c;
  }
  void grow() {
    const NodeId x = pick();
    const Shape s = b_.shape(x);
    const auto rank = static_cast<int64_t>(s.size());
    const int64_t d = rank == 0 ? 0 : at_most(rank - 1);
    NodeId y = x;
    switch (at_most(27)) {
      case 0:
      case 1:
      case 2: {
        static const Fn kBinary[] = {Fn::Add, Fn::Mul, Fn::Sub, Fn::Max, Fn::Min, Fn::Div, Fn::Add, Fn::Mul};
        const NodeId z = like(x);
        const Fn fn = kBinary[at_most(7)];
        y = at_most(1) == 0 || b_.shape(z) != s ? t_.b.binary(fn, x, z) : t_.b.binary(fn, z, x);
        break;
      }
      case 3: {
        static const Fn kUnary[] = {Fn::Neg,      Fn::Exp,  Fn::Log,  Fn::Sqrt, Fn::Rsqrt, Fn::Abs,
                                    Fn::Logistic, Fn::Tanh, Fn::Sign, Fn::Neg,  Fn::Cos};
        y = b_.unary(kUnary[at_most(10)], x);
        break;
      }
      case 4: y = b_.select(condition(s), x, at_most(1) == 0 ? b_.broadcast(t_.real(0), s, {}) : like(x)); break;
      case 5:
        if (rank > 0 && s[d] > 0) {
          const int64_t from = at_most(s[d]), to = from + at_most(s[d] - from);
          y = b_.slice_dim(x, d, from, to, 1 + (at_most(3) == 0));
        }
        break;
      case 6:
      case 7:
        if (rank > 0) {
          // Cut and put together again, perhaps in another order.
          const int64_t c = at_most(s[d]);
          std::vector<NodeId> parts{b_.slice_dim(x, d, 0, c), b_.slice_dim(x, d, c, s[d])};
          if (at_most(3) == 0) std::swap(parts[0], parts[1]);
          y = b_.concat(parts, d);
        }
        break;
      case 8:
        if (rank == 2) y = b_.transpose(x, {1, 0});
        break;
      case 9:
        if (rank == 2) y = at_most(1) == 0 ? b_.reshape(x, {s[0] * s[1]}) : b_.reshape(x, {s[1], s[0]});
        break;
      case 10:
        if (rank == 1) y = b_.broadcast(x, at_most(1) == 0 ? Shape{s[0], size()} : Shape{s[0], s[0]}, {0});
        if (rank == 0) y = b_.broadcast(x, shape(1), {});
        break;
      case 11:
        if (rank > 0) y = b_.reverse(x, {d});
        break;
      case 12:
      case 13:
        if (rank > 0) y = b_.reduce(at_most(3) == 0 ? Fn::Max : Fn::Add, x, {d});
        break;
      case 14: {
        // A sum in two parts.
        if (rank == 0) break;
        const int64_t c = at_most(s[d]);
        const Fn fn = at_most(3) == 0 ? Fn::Max : Fn::Add;
        y = b_.binary(fn, b_.reduce(fn, b_.slice_dim(x, d, 0, c), {d}), b_.reduce(fn, b_.slice_dim(x, d, c, s[d]), {d}));
        break;
      }
      case 15: {
        const NodeId z = pick();
        if (rank == 2 && b_.rank(z) == 2 && s[1] == b_.shape(z)[0]) y = t_.mm(x, z);
        break;
      }
      case 16:
        if (rank > 0) y = b_.scan(Fn::Add, x, d, at_most(1) != 0, at_most(1) != 0);
        break;
      case 17:
        if (rank > 0) {
          const NodeId i = ints_[0];
          Shape out = s;
          out[static_cast<size_t>(d)] = b_.shape(i)[0];
          std::vector<int64_t> dims;
          for (int64_t k = 0; k < rank; ++k) dims.push_back(k == d ? -1 : k);
          y = b_.take(x, {i}, dims, {d}, out, at_most(1) ? ir::IndexMode::Strict : ir::IndexMode::Clamp);
        }
        break;
      case 18:
        if (rank > 0) {
          std::vector<int64_t> low(s.size(), 0), none(s.size(), 0);
          low[static_cast<size_t>(d)] = at_most(2) - 1;
          if (s[d] + low[static_cast<size_t>(d)] >= 0) y = b_.pad(x, t_.real(0), low, none, none);
        }
        break;
      case 19: {
        if (rank == 0 || b_.shape(ints_[0])[0] == 0) break;
        // An update at a place that an integer tells; starts are clamped.
        std::vector<NodeId> starts(s.size(), t_.integer(at_most(1)));
        starts[static_cast<size_t>(d)] = b_.reshape(b_.slice_dim(ints_[0], 0, 0, 1), {});
        Shape part = s;
        if (part[static_cast<size_t>(d)] > 1) part[static_cast<size_t>(d)] -= at_most(1);
        const NodeId window = b_.dynamic_slice(x, starts, part);
        y = at_most(1) == 0 ? window : b_.dynamic_update(x, b_.unary(Fn::Neg, window), starts);
        break;
      }
      case 20: {
        if (rank == 0) break;
        // Rows added to, or put into, rows that labels tell.
        const NodeId i = ints_[0];
        Shape updates = s;
        updates[static_cast<size_t>(d)] = b_.shape(i)[0];
        std::vector<int64_t> dims;
        for (int64_t k = 0; k < rank; ++k) dims.push_back(k == d ? -1 : k);
        const NodeId rows = at_most(1)               ? b_.broadcast(t_.real(1), updates, {})
                            : b_.shape(x) == updates ? x
                                                     : b_.broadcast(t_.real(2), updates, {});
        const bool put = at_most(2) == 0;
        y = b_.scatter(at_most(1) ? x : b_.broadcast(t_.real(0), s, {}), rows, {i}, dims, {d}, put ? Fn::None : Fn::Add, put,
                       at_most(1) ? ir::IndexMode::Fill : ir::IndexMode::Strict);
        break;
      }
      case 21:
        if (rank > 0 && s[static_cast<size_t>(d)] > 0) y = b_.sort({x}, d, at_most(1) != 0, true)[0];
        break;
      case 22:
        if (rank > 0 && s[static_cast<size_t>(d)] > 0)
          y = b_.convert(b_.arg_reduce(at_most(1) ? Fn::Max : Fn::Min, x, d, DType::I32), DType::F32);
        break;
      case 23:
        if (rank > 0 && s[static_cast<size_t>(d)] > 1) {
          const NodeId w = b_.window(x, {d}, {2}, {1, 1});
          y = b_.reduce(at_most(1) ? Fn::Max : Fn::Add, w, {rank});
        }
        break;
      case 24: {
        std::vector<ir::Literal> table;
        const Shape of = shape(1);
        for (int64_t k = 0; k < of[0]; ++k) table.push_back(ir::Literal::real(static_cast<double>(at_most(3)) - 1, DType::F32));
        y = b_.dense(DType::F32, of, std::move(table));
        break;
      }
      case 25: {
        const NodeId z = like(x);
        if (b_.shape(z) == s) y = b_.select(b_.compare(at_most(1) ? Fn::Lt : Fn::Ge, x, z), x, at_most(1) ? z : like(x));
        break;
      }
      case 26: {
        // A product over a flattened dimension, or a mean.
        if (rank == 2 && s[0] * s[1] > 0) y = b_.reduce(Fn::Add, b_.reshape(b_.binary(Fn::Mul, x, x), {s[0] * s[1]}), {0});
        break;
      }
      default: y = b_.binary(Fn::Mul, x, t_.real(static_cast<double>(at_most(4)) - 2)); break;
    }
    if (ir::num_elements(b_.shape(y)) <= 64) floats_.push_back(y);
  }

  static constexpr size_t kPlanted = 3;  // the first of them
  // What the rules of a kind are about, to begin with.
  void plant() {
    const auto input = [&](const char* name, Shape s) { floats_.push_back(b_.input(name, DType::F32, std::move(s))); };
    const auto some = [&](int64_t low, int64_t high) { return low + at_most(high - low); };
    if (kind_ == Kind::Flat) {
      // Parameters of several widths in one buffer.
      std::vector<NodeId> parts;
      for (const char* name : {"p", "q", "r"}) {
        input(name, {some(1, 4), some(1, 5)});
        const NodeId x = floats_.back();
        parts.push_back(b_.reshape(x, {ir::num_elements(b_.shape(x))}));
      }
      floats_.push_back(b_.concat(parts, 0));
    }
    if (kind_ == Kind::Padded) input("p", {some(1, 3), some(3, 6)}), input("q", {some(3, 6)});
    if (kind_ == Kind::Halves) {
      sizes_[0] = some(1, 3), sizes_[1] = some(2, 5);
      input("p", {sizes_[0], sizes_[1]}), input("q", {sizes_[0], sizes_[1]});
      label_ = b_.input("label", DType::I32, {sizes_[0]});
      if (at_most(2) != 0) fact(label_, manifest::Fact::Kind::Range, at_most(1) == 0 ? 0 : -1, static_cast<double>(some(1, sizes_[1])));
    }
    if (kind_ == Kind::Inner) {
      const int64_t heads = some(2, 3), width = some(2, 3), rows = some(1, 3);
      input("p", {rows, heads * width}), input("q", {heads * width});
      sizes_[0] = width, sizes_[1] = rows;
    }
  }
  NodeId pick(int64_t rank) {
    for (int k = 0; k < 12; ++k) {
      if (const NodeId y = pick(); b_.rank(y) == rank && ir::num_elements(b_.shape(y)) > 0) return y;
    }
    return floats_[kPlanted];
  }
  NodeId zeros(const Shape& s) { return b_.broadcast(t_.real(0), s, {}); }
  // Cut at one to three places, and put together again in order, mostly.
  NodeId in_pieces(NodeId x, int64_t d, const std::function<NodeId(NodeId)>& of) {
    std::vector<NodeId> parts;
    const int64_t n = b_.shape(x)[static_cast<size_t>(d)];
    for (int64_t from = 0; from < n;) {
      const int64_t to = std::min(n, from + 1 + at_most(std::max<int64_t>(n - 1, 0)));
      parts.push_back(of(b_.slice_dim(x, d, from, to)));
      from = to;
    }
    if (parts.size() > 1 && at_most(5) == 0) std::swap(parts.front(), parts.back());
    return parts.empty() ? x : b_.concat(parts, d);
  }
  // Labels and indices that are computed, read elsewhere, cut, padded.
  NodeId grow_integers() {
    const NodeId x = ints_[static_cast<size_t>(at_most(static_cast<int64_t>(ints_.size()) - 1))];
    const Shape s = b_.shape(x);
    const int64_t rank = b_.rank(x);
    if (rank == 0) return x;
    const int64_t d = at_most(rank - 1), n = s[static_cast<size_t>(d)];
    switch (at_most(9)) {
      case 0: return b_.binary(at_most(1) ? Fn::Add : Fn::Sub, x, at_most(1) ? integers(s) : t_.integer(1 + at_most(1)));
      case 1: return b_.binary(at_most(1) ? Fn::Max : Fn::Min, x, t_.integer(at_most(3)));
      case 2: return b_.binary(Fn::Mul, x, t_.integer(at_most(3) - 1));
      case 3: return b_.binary(at_most(1) ? Fn::FloorDiv : Fn::Rem, x, at_most(2) ? t_.integer(2 + at_most(1)) : integers(s));
      case 4: return b_.select(condition(s), x, integers(s));
      case 5: {
        const NodeId i = integers({size()});
        Shape out = s;
        out[static_cast<size_t>(d)] = b_.shape(i)[0];
        std::vector<int64_t> dims;
        for (int64_t k = 0; k < rank; ++k) dims.push_back(k == d ? -1 : k);
        static const ir::IndexMode kModes[] = {ir::IndexMode::Strict, ir::IndexMode::Clamp, ir::IndexMode::Wrap};
        return b_.take(x, {i}, dims, {d}, out, kModes[at_most(2)]);
      }
      case 6: return in_pieces(x, d, [&](NodeId y) { return at_most(2) ? y : b_.binary(Fn::Add, y, t_.integer(1)); });
      case 7: {
        std::vector<int64_t> low(s.size(), 0), high(s.size(), 0), none(s.size(), 0);
        low[static_cast<size_t>(d)] = at_most(2) - 1, high[static_cast<size_t>(d)] = -low[static_cast<size_t>(d)];
        return n == 0 ? x : b_.pad(x, t_.integer(0), low, high, none);
      }
      case 8: {
        const NodeId y = pick(1);
        return b_.rank(y) == 1 && b_.shape(y)[0] > 0 ? b_.broadcast(b_.arg_reduce(Fn::Max, y, 0, DType::I32), {size()}, {}) : x;
      }
      default: return b_.convert(condition(s), DType::I32);
    }
  }
  NodeId grow_around() {
    switch (kind_) {
      case Kind::Flat: return grow_flat();
      case Kind::Padded: return grow_padded();
      case Kind::Halves: return grow_halves();
      default: return grow_inner();
    }
  }
  NodeId flat(NodeId x) { return b_.reshape(x, {ir::num_elements(b_.shape(x))}); }
  NodeId grow_flat() {
    const NodeId x = pick(1 + at_most(1));
    const Shape s = b_.shape(x);
    const int64_t n = ir::num_elements(s), rank = b_.rank(x);
    switch (at_most(8)) {
      case 0: return b_.reshape(x, {n});
      case 1:
      case 2: {
        // As rows of some width, where that fits; else what fits.
        const int64_t width = 1 + at_most(5), rows = n / width;
        if (rows == 0) return x;
        const int64_t from = at_most(n - rows * width);
        return b_.reshape(b_.slice_dim(b_.reshape(x, {n}), 0, from, from + rows * width), {rows, width});
      }
      case 3: return b_.concat({b_.reshape(x, {n}), flat(pick(2))}, 0);
      case 4: return rank == 0 ? x : in_pieces(x, at_most(rank - 1), [](NodeId y) { return y; });
      case 5: return b_.reshape(in_pieces(b_.reshape(x, {n}), 0, [&](NodeId y) { return at_most(3) ? y : b_.unary(Fn::Neg, y); }), s);
      case 6: return rank == 2 ? b_.reduce(Fn::Add, x, {at_most(1)}) : x;
      case 7: return rank == 2 ? b_.transpose(x, {1, 0}) : x;
      default: {
        const NodeId y = b_.reshape(x, {n});
        const int64_t from = at_most(n - 1);
        return b_.slice_dim(y, 0, from, from + 1 + at_most(n - from - 1));
      }
    }
  }
  NodeId grow_padded() {
    const NodeId x = pick(1 + at_most(1));
    const Shape s = b_.shape(x);
    const int64_t rank = b_.rank(x);
    if (rank == 0) return x;
    const int64_t d = at_most(rank - 1), n = s[static_cast<size_t>(d)];
    switch (at_most(11)) {
      case 11: return may_be_infinite(x);
      case 10: return b_.select(condition(s), may_be_infinite(x), zeros(s));
      case 0:
      case 1: {
        std::vector<int64_t> low(s.size(), 0), high(s.size(), 0), none(s.size(), 0);
        low[static_cast<size_t>(d)] = at_most(3) - 1, high[static_cast<size_t>(d)] = at_most(3) - 1;
        if (n + low[static_cast<size_t>(d)] < 0 || n + low[static_cast<size_t>(d)] + high[static_cast<size_t>(d)] < 1) return x;
        return b_.pad(x, t_.real(0), low, high, none);
      }
      case 2: {
        Shape z = s;
        z[static_cast<size_t>(d)] = 1 + at_most(1);
        std::vector<NodeId> parts{x, zeros(z)};
        if (at_most(1) == 0) std::swap(parts[0], parts[1]);
        return b_.concat(parts, d);
      }
      case 3:
      case 4: {
        const int64_t size = 2 + at_most(1), stride = 1 + at_most(1), dilation = 1 + (at_most(3) == 0);
        if ((size - 1) * dilation >= n) return x;
        const NodeId w = b_.window(x, {d}, {size}, {stride, dilation});
        if (at_most(1) == 0) return b_.reduce(at_most(3) ? Fn::Add : Fn::Max, w, {rank});
        std::vector<ir::Literal> table;
        for (int64_t k = 0; k < size; ++k) table.push_back(ir::Literal::real(static_cast<double>(at_most(4)) - 2, DType::F32));
        return b_.contract(w, b_.dense(DType::F32, {size}, std::move(table)), {}, {rank, 0}, DType::F32);
      }
      case 5:
        return in_pieces(x, d, [&](NodeId y) {
          static const Fn kSome[] = {Fn::Neg, Fn::Exp, Fn::Abs, Fn::Log, Fn::Tanh};
          return at_most(2) ? y : b_.unary(kSome[at_most(4)], y);
        });
      case 6: return b_.select(condition(s), x, zeros(s));
      case 7: {
        const NodeId y = like(x);
        return in_pieces(x, d, [&](NodeId part) {
          if (b_.shape(y) != s) return b_.binary(Fn::Mul, part, t_.real(2));
          return b_.shape(part) == s ? b_.binary(Fn::Mul, part, y) : part;
        });
      }
      case 8: return b_.reduce(Fn::Add, b_.binary(Fn::Mul, x, x), {d});
      default: {
        const int64_t from = at_most(n - 1);
        return b_.slice_dim(x, d, from, from + 1 + at_most(n - from - 1));
      }
    }
  }
  NodeId may_be_infinite(NodeId x) { return at_most(1) ? b_.unary(Fn::Log, x) : b_.binary(Fn::Div, x, like(x)); }
  // Rows in which a label tells one place.
  NodeId grow_halves() {
    NodeId x = pick(2);
    const Shape s{sizes_[0], sizes_[1]};
    if (b_.shape(x) != s) x = floats_[kPlanted + static_cast<size_t>(at_most(1))];
    const NodeId place = b_.iota(DType::I32, s, 1);
    NodeId label = label_;
    for (const NodeId i : ints_) {
      if (b_.shape(i) == Shape{s[0]} && at_most(3) == 0) label = i;
    }
    if (at_most(2) == 0) label = b_.binary(Fn::Add, label, t_.integer(at_most(2) - 1));
    const NodeId labels = b_.broadcast(label, s, {0});
    static const Fn kCompare[] = {Fn::Lt, Fn::Gt, Fn::Eq, Fn::Le, Fn::Ge, Fn::Ne};
    const auto held = [&] { return b_.compare(kCompare[at_most(5)], place, labels); };
    switch (at_most(10)) {
      case 9: return may_be_infinite(x);
      case 0:
      case 1: return b_.select(held(), x, zeros(s));
      case 2: return b_.select(held(), x, like(x));
      case 3:
        return b_.select(b_.map(at_most(2) ? Fn::And : Fn::Or, {held(), at_most(1) ? held() : condition(s)}, DType::Bool), x, zeros(s));
      case 4:
      case 10: return sides_of_a_place(at_most(3) ? x : may_be_infinite(x), labels, place);
      case 5: return b_.binary(at_most(3) ? Fn::Sub : Fn::Add, x, b_.select(held(), like(x), zeros(s)));
      case 6: return b_.binary(Fn::Mul, x, b_.convert(held(), DType::F32));
      case 7: {
        const NodeId updates = at_most(1) ? b_.broadcast(t_.real(1), {s[0]}, {}) : b_.reshape(b_.slice_dim(x, 1, 0, 1), {s[0]});
        const NodeId rows = b_.iota(DType::I32, {s[0]}, 0);
        const bool put = at_most(1) != 0;
        // Whether an undefined index is dropped like one out of range is open; so only what is never undefined is dropped here.
        const bool dropped = at_most(1) != 0;
        return b_.scatter(at_most(1) ? x : zeros(s), updates, {rows, dropped ? label_ : label}, {-1, -2}, {0}, put ? Fn::None : Fn::Add,
                          put, dropped ? ir::IndexMode::Fill : ir::IndexMode::Strict);
      }
      default: {
        const NodeId y = like(x);
        return b_.select(b_.compare(Fn::Lt, place, labels), x,
                         b_.select(b_.compare(Fn::Gt, place, labels), at_most(3) ? x : like(x), b_.shape(y) == s ? y : x));
      }
    }
  }
  // What is below a label's place, above it and there; and the whole row with something there, which may be the same.
  NodeId sides_of_a_place(NodeId x, NodeId labels, NodeId place) {
    const Shape s = b_.shape(x);
    const auto chosen = [&](std::vector<NodeId> all, NodeId value) {
      NodeId c = all[0];
      for (size_t k = 1; k < all.size(); ++k) c = b_.map(Fn::And, {c, all[k]}, DType::Bool);
      return b_.select(c, value, zeros(s));
    };
    const NodeId held = at_most(2) == 0 ? condition(s) : b_.compare(Fn::Ge, labels, t_.integer(at_most(2) - 1));
    const int64_t times = at_most(3) - 1;
    const NodeId at = b_.compare(Fn::Eq, place, labels), there = b_.binary(Fn::Mul, x, t_.real(static_cast<double>(times)));
    const bool turned = at_most(1) != 0;
    std::vector<NodeId> below{b_.compare(at_most(7) ? Fn::Lt : Fn::Le, place, labels)},
        above{b_.compare(at_most(7) ? Fn::Gt : Fn::Ge, place, labels)};
    (turned ? above : below).push_back(held);
    floats_.push_back(b_.binary(Fn::Add, b_.binary(Fn::Add, chosen(below, x), chosen(above, x)), chosen({at}, there)));
    const NodeId less = b_.binary(Fn::Mul, x, t_.real(static_cast<double>(times - 1)));
    return b_.binary(Fn::Add, chosen({held}, x), chosen({at}, less));
  }
  // Heads side by side in one row, and operators that walk one head.
  NodeId grow_inner() {
    const NodeId x = pick(1 + at_most(2));
    const Shape s = b_.shape(x);
    const int64_t rank = b_.rank(x), width = sizes_[0];
    if (rank == 0) return x;
    const int64_t d = rank - 1, n = s.back();
    switch (at_most(8)) {
      case 0:
      case 1: {
        if (n % width != 0 || n == width) return x;
        Shape split = s;
        split.back() = n / width, split.push_back(width);
        return b_.reshape(x, split);
      }
      case 2:
        if (rank < 2) return x;
        {
          Shape one(s.begin(), s.end() - 1);
          one.back() *= s.back();
          return b_.reshape(x, one);
        }
      case 3: {
        if (n % width != 0) return x;
        const int64_t head = at_most(n / width - 1);
        return b_.slice_dim(x, d, head * width, (head + 1) * width);
      }
      case 4:
      case 5: {
        const bool descending = at_most(1) != 0;
        const auto sorted = [&](NodeId y) { return b_.sort({y}, d, descending, true)[0]; };
        if (at_most(1) == 0) return sorted(x);
        if (n % width != 0) return x;
        std::vector<NodeId> heads;
        for (int64_t k = 0; k < n; k += width) heads.push_back(sorted(b_.slice_dim(x, d, k, k + width)));
        if (heads.size() > 1 && at_most(5) == 0) std::swap(heads[0], heads[1]);
        return b_.concat(heads, d);
      }
      case 6: return b_.convert(b_.arg_reduce(at_most(1) ? Fn::Max : Fn::Min, x, d, DType::I32), DType::F32);
      case 7: return in_pieces(x, at_most(rank - 1), [&](NodeId y) { return b_.scan(Fn::Add, y, d); });
      default: return b_.reduce(at_most(3) ? Fn::Add : Fn::Max, b_.binary(Fn::Mul, x, x), {d});
    }
  }

  test::Bench& t_;
  ir::Builder& b_;
  std::mt19937_64 random_;
  Kind kind_;
  NodeId label_ = ir::kNoNode;
  int64_t sizes_[2];
  std::vector<NodeId> floats_, ints_;
};

void try_graphs(Kind kind, int graphs, double least) {
  const char* more = std::getenv("SHARDPROOF_RANDOM_GRAPHS");
  if (more != nullptr) graphs = std::atoi(more);
  const char* first = std::getenv("SHARDPROOF_RANDOM_SEED");
  const uint64_t base = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
  size_t compared = 0, proved = 0, rewritten = 0, rewritten_proved = 0;
  for (int k = 0; k < graphs; ++k) {
    const uint64_t seed = base + static_cast<uint64_t>(k);
    test::Bench t;
    Garden garden(t, seed, kind);
    const std::vector<NodeId> all = garden.all();
    // Some of them written again, each in another way.
    std::vector<std::pair<NodeId, NodeId>> pairs;
    test::Again again(t.b, t.p.graph, seed + 77);
    for (size_t i = 0; i < 10; ++i) {
      const NodeId x = i == 0 ? all.back() : all[all.size() - 1 - (seed + 7 * i) % (all.size() - 3)];
      if (ir::num_elements(t.b.shape(x)) > 0) pairs.emplace_back(x, again(x));
    }
    // In every second one the last node is the one-device program, so that the rules for what ranks do are tried, too.
    link::Output o;
    o.sequential = all.back();
    o.checked = true;
    if (seed % 2 == 0) t.p.outputs = {o};
    t.p.side.assign(t.p.graph.nodes.size(), -1);
    prove::Prover prover(t.p);
    if (seed % 4 == 0) prover.try_hard();
    std::vector<std::pair<NodeId, NodeId>> equal;
    for (const auto& [x, y] : pairs) {
      if (x == y) continue;
      ++rewritten;
      const bool there = prover.equal(x, y) == prove::Prover::Answer::Equal;
      if (there) equal.emplace_back(x, y), ++rewritten_proved;
      if (prover.equal(y, x) == prove::Prover::Answer::Equal) equal.emplace_back(y, x);
    }
    const bool all_pairs = kind == Kind::Anything || seed % 4 == 1;
    for (size_t i = 0; all_pairs && i < all.size(); ++i) {
      for (size_t j = 0; j < all.size(); ++j) {
        if (all[i] == all[j] || t.b.shape(all[i]) != t.b.shape(all[j]) || ir::num_elements(t.b.shape(all[i])) == 0) continue;
        ++compared;
        if (prover.equal(all[i], all[j]) == prove::Prover::Answer::Equal) equal.emplace_back(all[i], all[j]);
      }
    }
    proved += equal.size();
    const std::vector<bool> wrong = test::differ(t.p, equal, 16, seed, seed % 2 == 0 ? all.back() : ir::kNoNode);
    for (size_t i = 0; i < equal.size(); ++i) {
      if (!wrong[i]) continue;
      INFO("seed ", seed, ": ", prover.describe(equal[i].first), " and ", prover.describe(equal[i].second));
      std::string graph;
      std::vector<bool> needed(t.p.graph.nodes.size(), false);
      for (NodeId id = static_cast<NodeId>(needed.size()); id-- > 0;) {
        needed[id] = needed[id] || id == equal[i].first || id == equal[i].second;
        if (!needed[id]) continue;
        graph.insert(0, ir::to_string(t.p.graph, id) + "\n");
        for (const link::Fact& f : t.p.facts) {
          if (f.input == id) graph.insert(0, "fact: " + std::to_string(f.fact.low) + " " + std::to_string(f.fact.high) + "\n");
        }
        for (NodeId x : t.p.graph[id].in) needed[x] = true;
      }
      INFO(ir::to_string(t.p.graph, equal[i].first), "\n", ir::to_string(t.p.graph, equal[i].second), " in\n", graph);
      CHECK_FALSE(wrong[i]);
      break;  // the others of this graph follow from it, mostly
    }
  }
  MESSAGE(graphs, " graphs, ", compared, " pairs compared, ", proved, " called equal; ", rewritten, " written again, ", rewritten_proved,
          " proved");
  CHECK(static_cast<double>(proved) > least * graphs);
}

}  // namespace

TEST_CASE("what is called equal in random graphs evaluates equally") { try_graphs(Kind::Anything, 1500, 1); }
TEST_CASE("likewise in random graphs of buffers with parts of several widths") { try_graphs(Kind::Flat, 500, 1); }
TEST_CASE("likewise in random graphs of padded readings and windows") { try_graphs(Kind::Padded, 500, 1); }
TEST_CASE("likewise in random graphs of rows with a place that a label tells") { try_graphs(Kind::Halves, 500, 1); }
TEST_CASE("likewise in random graphs of heads side by side") { try_graphs(Kind::Inner, 500, 1); }
