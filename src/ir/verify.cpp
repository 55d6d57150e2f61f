// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// verify(): one function per family of operators, each check with the words of the operator's definition in graph.h. Written apart from the
// builder's shape computation, so that a mistake in one is seen by the other.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/graph.h"
#include "util/result.h"

namespace shardproof::ir {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 46;  // sums of a few extents and products with steps below 2^15 cannot overflow

bool is_number(DType t) { return is_float(t) || is_int(t) || is_complex(t); }
bool in_fns(Fn fn, std::initializer_list<Fn> list) { return std::find(list.begin(), list.end(), fn) != list.end(); }

struct Verifier {
  const Graph& g;
  const Node& n;
  std::string wrong;

  bool fail(std::string text) {
    if (wrong.empty()) wrong = std::move(text);
    return false;
  }
  bool require(bool condition, const char* text) { return condition || fail(text); }
  const Node& x(size_t k) const { return g[n.in[k]]; }
  int64_t rank(size_t k) const { return static_cast<int64_t>(x(k).shape.size()); }
  bool operands(size_t count) { return n.in.size() == count || fail(fmt::format("has {} operands, not {}", n.in.size(), count)); }
  bool attributes(size_t a, size_t b, size_t c) {
    return require(n.a.size() == a && n.b.size() == b && n.c.size() == c, "has wrong numbers of attributes");
  }
  bool increasing(const std::vector<int64_t>& dims, int64_t rank, const char* what) {
    for (size_t k = 0; k < dims.size(); ++k) {
      if (dims[k] < 0 || dims[k] >= rank || (k > 0 && dims[k] <= dims[k - 1]))
        return fail(fmt::format("{} are not increasing dimensions", what));
    }
    return true;
  }
  bool same_dtype(size_t k) { return require(x(k).dtype == n.dtype, "operand and result differ in dtype"); }
  bool extents(const Shape& expected) {
    return n.shape == expected ||
           fail(fmt::format("has shape [{}], its definition gives [{}]", fmt::join(n.shape, ","), fmt::join(expected, ",")));
  }

  // Sums, products and extremes, as used by reductions, scans, scatters and collectives.
  bool reduction_fn(bool logic_allowed) {
    if (in_fns(n.fn, {Fn::And, Fn::Or})) {
      return require(logic_allowed && (n.dtype == DType::Bool || is_int(n.dtype)), "and/or need bool or integers");
    }
    if (!in_fns(n.fn, {Fn::Add, Fn::Mul, Fn::Max, Fn::Min})) return fail("is no reduction function");
    if (in_fns(n.fn, {Fn::Max, Fn::Min})) return require(is_float(n.dtype) || is_int(n.dtype), "max/min need ordered numbers");
    return require(is_number(n.dtype), "sums and products need numbers");
  }

  void leaf() {
    if (!operands(0)) return;
    if (n.op == Op::Iota) {
      if (!attributes(1, 0, 0)) return;
      require(n.a[0] >= 0 && n.a[0] < static_cast<int64_t>(n.shape.size()), "iota dimension out of range");
      require(is_number(n.dtype), "iota needs numbers");
    } else if (n.op == Op::Dense) {
      if (!require(n.dense != nullptr, "has no data")) return;
      require(static_cast<int64_t>(n.dense->size()) == num_elements(n.shape), "number of values differs from the shape");
      for (const Literal& v : *n.dense) literal(v);
    } else if (n.op == Op::RankId) {
      if (!attributes(1, 0, 0)) return;
      require(n.a[0] == 0 || n.a[0] == 1, "rank id is of partitions (0) or replicas (1)");
      require(is_int(n.dtype) && n.shape.empty(), "a rank id is an integer scalar");
    } else if (n.op == Op::Const) {
      literal(n.lit);
    } else if (n.op == Op::Random) {
      if (!attributes(1, 0, 0)) return;
      require(!n.name.empty(), "has no distribution");
      require(n.a[0] >= 0, "draw number is negative");
    }
  }
  void literal(const Literal& v) {
    if (is_int(n.dtype)) require(v.kind == Literal::Kind::Int, "an integer constant needs an integer literal");
    if (n.dtype == DType::Bool) require(v.kind == Literal::Kind::Bool && (v.i == 0 || v.i == 1), "a bool constant needs a bool literal");
  }

  void view() {
    if (n.op == Op::Concat) return concat();
    if (!operands(n.op == Op::Pad ? 2 : 1) || !same_dtype(0)) return;
    const Shape& s = x(0).shape;
    const int64_t r = rank(0);
    switch (n.op) {
      case Op::Transpose: {
        if (!attributes(s.size(), 0, 0)) return;
        std::vector<bool> seen(s.size());
        Shape expected;
        for (int64_t d : n.a) {
          if (!require(d >= 0 && d < r && !seen[d], "is no permutation")) return;
          seen[d] = true;
          expected.push_back(s[d]);
        }
        extents(expected);
        return;
      }
      case Op::Reshape:
        if (attributes(0, 0, 0)) require(num_elements(s) == num_elements(n.shape), "changes the number of elements");
        return;
      case Op::Slice: {
        if (!attributes(s.size(), s.size(), s.size())) return;
        Shape expected;
        for (int64_t d = 0; d < r; ++d) {
          if (!require(n.c[d] > 0, "step is not positive")) return;
          if (!require(0 <= n.a[d] && n.a[d] <= n.b[d] && n.b[d] <= s[d], "slice bounds out of range")) return;
          const int64_t length = n.b[d] - n.a[d];
          expected.push_back(length == 0 ? 0 : (length - 1) / n.c[d] + 1);
        }
        extents(expected);
        return;
      }
      case Op::Reverse:
        if (attributes(n.a.size(), 0, 0) && increasing(n.a, r, "reversed dimensions")) extents(s);
        return;
      case Op::Broadcast: {
        if (!attributes(s.size(), 0, 0) || !increasing(n.a, static_cast<int64_t>(n.shape.size()), "broadcast dimensions")) return;
        for (int64_t d = 0; d < r; ++d) require(s[d] == 1 || s[d] == n.shape[n.a[d]], "broadcast extents do not fit");
        return;
      }
      case Op::Pad: {
        if (!attributes(s.size(), s.size(), s.size())) return;
        require(x(1).shape.empty() && x(1).dtype == n.dtype, "padding value is no scalar of the same dtype");
        Shape expected;
        for (int64_t d = 0; d < r; ++d) {
          if (!require(n.c[d] >= 0 && n.c[d] <= kMaxExtent && std::abs(n.a[d]) <= kMaxExtent && std::abs(n.b[d]) <= kMaxExtent,
                       "padding out of range"))
            return;
          int64_t inner = 0;
          if (!require(!__builtin_mul_overflow(std::max<int64_t>(s[d] - 1, 0), n.c[d], &inner) && inner <= kMaxExtent,
                       "padding out of range"))
            return;
          expected.push_back(n.a[d] + n.b[d] + s[d] + inner);
          require(expected.back() >= 0, "padding crops more than there is");
        }
        extents(expected);
        return;
      }
      case Op::Window: {
        if (!attributes(n.a.size(), n.a.size(), 2 * n.a.size()) || !increasing(n.a, r, "windowed dimensions")) return;
        Shape expected = s;
        for (size_t k = 0; k < n.a.size(); ++k) {
          const int64_t size = n.b[k], stride = n.c[2 * k], dilation = n.c[2 * k + 1];
          if (!require(size > 0 && stride > 0 && dilation > 0, "window size, stride and dilation must be positive")) return;
          int64_t span = 0;
          const bool too_long = __builtin_mul_overflow(size - 1, dilation, &span) || span >= s[n.a[k]];
          expected[n.a[k]] = too_long ? 0 : (s[n.a[k]] - span - 1) / stride + 1;
        }
        for (int64_t size : n.b) expected.push_back(size);
        extents(expected);
        return;
      }
      default: return;
    }
  }
  void concat() {
    if (!require(!n.in.empty(), "has no operands") || !attributes(1, 0, 0)) return;
    const int64_t d = n.a[0];
    Shape expected = x(0).shape;
    if (!require(d >= 0 && d < rank(0), "dimension out of range")) return;
    expected[d] = 0;
    for (size_t k = 0; k < n.in.size(); ++k) {
      Shape part = x(k).shape;
      if (!same_dtype(k) || !require(rank(k) == rank(0), "parts differ in rank")) return;
      expected[d] += part[d];
      part[d] = x(0).shape[d];
      if (!require(part == x(0).shape, "parts differ outside the concatenated dimension")) return;
    }
    extents(expected);
  }

  void map() {
    if (!require(!n.in.empty(), "has no operands") || !attributes(0, 0, 0)) return;
    bool shaped = n.shape.empty();
    for (size_t k = 0; k < n.in.size(); ++k) {
      if (!x(k).shape.empty() && !require(x(k).shape == n.shape, "operand has neither the result's shape nor rank 0")) return;
      shaped = shaped || x(k).shape == n.shape;
    }
    if (!require(shaped, "no operand has the result's shape")) return;
    const size_t count = n.in.size();
    const DType t = x(0).dtype;
    switch (n.fn) {
      case Fn::None: fail("has no function"); return;
      case Fn::Add:
      case Fn::Mul:
      case Fn::Max:
      case Fn::Min:
      case Fn::And:
      case Fn::Or:
        for (size_t k = 0; k < count; ++k) same_dtype(k);
        reduction_fn(true);
        return;
      case Fn::Xor:
        if (!operands(2) || !same_dtype(0) || !same_dtype(1)) return;
        require(n.dtype == DType::Bool || is_int(n.dtype), "xor needs bool or integers");
        return;
      case Fn::Not:
        if (operands(1) && same_dtype(0)) require(n.dtype == DType::Bool || is_int(n.dtype), "not needs bool or integers");
        return;
      case Fn::Sub:
      case Fn::Div:
      case Fn::Pow:
        if (operands(2) && same_dtype(0) && same_dtype(1)) require(is_number(n.dtype), "needs numbers");
        return;
      case Fn::FloorDiv:
      case Fn::Rem:
      case Fn::Mod:
        if (operands(2) && same_dtype(0) && same_dtype(1)) require(is_float(n.dtype) || is_int(n.dtype), "needs real numbers");
        return;
      case Fn::Atan2:
        if (operands(2) && same_dtype(0) && same_dtype(1)) require(is_float(n.dtype), "needs floats");
        return;
      case Fn::Neg:
      case Fn::Sign:
        if (operands(1) && same_dtype(0)) require(is_number(n.dtype), "needs numbers");
        return;
      case Fn::Abs:
        if (!operands(1)) return;
        require(is_complex(t) ? n.dtype == (t == DType::C64 ? DType::F32 : DType::F64) : t == n.dtype,
                "abs gives the operand's dtype, or its real part's");
        require(is_number(t), "needs numbers");
        return;
      case Fn::Shl:
      case Fn::ShrA:
      case Fn::ShrL:
        if (operands(2) && same_dtype(0) && same_dtype(1)) require(is_int(n.dtype), "shifts need integers");
        return;
      case Fn::PopCount:
      case Fn::Clz:
        if (operands(1) && same_dtype(0)) require(is_int(n.dtype), "bit counts need integers");
        return;
      case Fn::Select:
        if (!operands(3) || !same_dtype(1) || !same_dtype(2)) return;
        require(t == DType::Bool, "condition is not bool");
        return;
      case Fn::Eq:
      case Fn::Ne:
      case Fn::Lt:
      case Fn::Le:
      case Fn::Gt:
      case Fn::Ge:
        if (!operands(2)) return;
        require(n.dtype == DType::Bool && t == x(1).dtype, "compares two operands of one dtype to a bool");
        if (is_complex(t)) require(n.fn == Fn::Eq || n.fn == Fn::Ne, "complex numbers have no order");
        return;
      case Fn::IsFinite:
      case Fn::IsNan:
      case Fn::IsInf:
        if (operands(1)) require(n.dtype == DType::Bool && (is_float(t) || is_complex(t)), "tests a float, gives a bool");
        return;
      case Fn::Convert:
        if (operands(1)) require(t != DType::Token && n.dtype != DType::Token && n.dtype != DType::Invalid, "converts data only");
        return;
      case Fn::Real:
      case Fn::Imag:
        if (operands(1))
          require(is_complex(t) && n.dtype == (t == DType::C64 ? DType::F32 : DType::F64), "takes a part of a complex number");
        return;
      case Fn::Complex:
        if (!operands(2)) return;
        require(t == x(1).dtype && is_complex(n.dtype) && t == (n.dtype == DType::C64 ? DType::F32 : DType::F64),
                "joins two floats to a complex number");
        return;
      case Fn::Conj:
        if (operands(1) && same_dtype(0)) require(is_complex(n.dtype), "needs complex numbers");
        return;
      case Fn::Floor:
      case Fn::Ceil:
      case Fn::Round:
      case Fn::RoundAway:
      case Fn::Trunc:
        if (operands(1) && same_dtype(0)) require(is_float(n.dtype), "rounds floats");
        return;
      default:  // transcendental
        if (operands(1) && same_dtype(0)) require(is_float(n.dtype) || is_complex(n.dtype), "needs floats");
        return;
    }
  }

  void reduce() {
    if (!operands(1)) return;
    if (n.op == Op::ArgReduce) {
      if (!attributes(1, 0, 0) || !increasing(n.a, rank(0), "reduced dimensions")) return;
      require(n.fn == Fn::Max || n.fn == Fn::Min, "is argmax or argmin");
      require(is_int(n.dtype), "gives indices");
      require(is_float(x(0).dtype) || is_int(x(0).dtype) || x(0).dtype == DType::Bool, "needs ordered operands");
      require(x(0).shape[n.a[0]] > 0, "of an empty range");
    } else {
      if (!attributes(n.a.size(), 0, 0) || !increasing(n.a, rank(0), "reduced dimensions") || !same_dtype(0) || !reduction_fn(true)) return;
    }
    Shape expected;
    for (int64_t d = 0; d < rank(0); ++d) {
      if (!std::binary_search(n.a.begin(), n.a.end(), d)) expected.push_back(x(0).shape[d]);
    }
    extents(expected);
  }

  void contract() {
    if (!operands(2)) return;
    if (!require(n.a.size() % 2 == 0 && n.b.size() % 2 == 0 && n.c.empty(), "has wrong numbers of attributes")) return;
    const Shape &l = x(0).shape, &r = x(1).shape;
    std::vector<bool> left(l.size()), right(r.size());
    Shape expected;
    for (const auto* pairs : {&n.a, &n.b}) {
      for (size_t k = 0; k < pairs->size(); k += 2) {
        const int64_t i = (*pairs)[k], j = (*pairs)[k + 1];
        if (!require(i >= 0 && i < rank(0) && j >= 0 && j < rank(1) && !left[i] && !right[j], "dimension pairs out of range or repeated"))
          return;
        if (!require(l[i] == r[j], "paired dimensions differ in extent")) return;
        left[i] = right[j] = true;
        if (pairs == &n.a) expected.push_back(l[i]);
      }
    }
    for (size_t d = 0; d < l.size(); ++d) {
      if (!left[d]) expected.push_back(l[d]);
    }
    for (size_t d = 0; d < r.size(); ++d) {
      if (!right[d]) expected.push_back(r[d]);
    }
    extents(expected);
    const auto kind = [](DType t) { return is_float(t) ? 1 : is_int(t) ? 2 : is_complex(t) ? 3 : 0; };
    const int k = kind(n.dtype);
    require(k != 0 && kind(x(0).dtype) == k && kind(x(1).dtype) == k,
            "operands and result are not all floats, all integers or all complex");
  }

  // a and b of Take and Scatter, against the shape that the indices run over (`moving`: Take's result, Scatter's updates).
  bool index_map(const Shape& data, const Shape& moving, size_t first, size_t count) {
    if (!require(n.a.size() == data.size() && n.c.empty(), "has wrong numbers of attributes")) return false;
    std::vector<bool> known(moving.size()), used(count), listed(moving.size());
    for (size_t k = 0; k < data.size(); ++k) {
      const int64_t d = n.a[k];
      if (d >= 0) {
        if (!require(d < static_cast<int64_t>(moving.size()), "dimension out of range")) return false;
        if (!require(moving[d] == data[k], "a dimension that is not indexed differs in extent")) return false;
        known[d] = true;
      } else {
        if (!require(d >= -static_cast<int64_t>(count) && !used[-d - 1], "index operand out of range or used twice")) return false;
        used[-d - 1] = true;
      }
    }
    Shape index_shape;
    for (int64_t d : n.b) {
      if (!require(d >= 0 && d < static_cast<int64_t>(moving.size()) && !listed[d], "index dimensions out of range or repeated"))
        return false;
      listed[d] = true;
      index_shape.push_back(moving[d]);
    }
    for (size_t d = 0; d < moving.size(); ++d) {
      if (!require(known[d] || listed[d], "a dimension is neither indexed nor copied")) return false;
    }
    for (size_t k = 0; k < count; ++k) {
      if (!require(used[k], "an index operand is not used")) return false;
      if (!require(is_int(x(first + k).dtype) && x(first + k).shape == index_shape, "index operand has wrong shape or dtype")) return false;
    }
    return true;
  }
  void take() {
    const bool fill = n.mode == IndexMode::Fill;
    if (!require(n.in.size() >= (fill ? 2u : 1u), "has too few operands") || !same_dtype(0)) return;
    if (fill) require(x(n.in.size() - 1).shape.empty() && x(n.in.size() - 1).dtype == n.dtype, "fill value is no scalar of the same dtype");
    index_map(x(0).shape, n.shape, 1, n.in.size() - 1 - (fill ? 1 : 0));
  }
  void scatter() {
    if (!require(n.in.size() >= 2, "has too few operands") || !same_dtype(0) || !same_dtype(1)) return;
    if (!n.set && !reduction_fn(true)) return;
    if (n.set) require(n.fn == Fn::None, "overwrites, so it has no function");
    if (extents(x(0).shape)) index_map(x(0).shape, x(1).shape, 2, n.in.size() - 2);
  }
  void dynamic() {
    const size_t first = n.op == Op::DynamicSlice ? 1 : 2;
    if (!require(n.in.size() >= first, "has too few operands") || !same_dtype(0) || !operands(first + x(0).shape.size())) return;
    const Shape& s = x(0).shape;
    if (n.op == Op::DynamicSlice) {
      if (!attributes(s.size(), 0, 0)) return;
      for (size_t d = 0; d < s.size(); ++d) require(n.a[d] >= 0 && n.a[d] <= s[d], "sizes out of range");
      extents(n.a);
    } else {
      if (!attributes(0, 0, 0) || !same_dtype(1) || !require(rank(1) == rank(0), "update differs in rank")) return;
      for (size_t d = 0; d < s.size(); ++d) require(x(1).shape[d] <= s[d], "update is larger than what it goes into");
      extents(s);
    }
    for (size_t k = first; k < n.in.size(); ++k) require(x(k).shape.empty() && is_int(x(k).dtype), "start is no integer scalar");
  }

  void ordered() {
    if (n.op == Op::Scan) {
      if (!operands(1) || !attributes(3, 0, 0) || !same_dtype(0) || !reduction_fn(false)) return;
      require(n.a[0] >= 0 && n.a[0] < rank(0), "dimension out of range");
      require((n.a[1] == 0 || n.a[1] == 1) && (n.a[2] == 0 || n.a[2] == 1), "flags are 0 or 1");
      extents(x(0).shape);
      return;
    }
    if (!require(!n.in.empty(), "has no operands") || !attributes(3, 0, 0)) return;
    if (!require(n.dtype == DType::Token && n.tuple.size() == n.in.size(), "gives one result per operand")) return;
    require(n.a[0] >= 0 && n.a[0] < rank(0), "dimension out of range");
    require((n.a[1] == 0 || n.a[1] == 1) && (n.a[2] == 0 || n.a[2] == 1), "flags are 0 or 1");
    require(!is_complex(x(0).dtype), "key has no order");
    for (size_t k = 0; k < n.in.size(); ++k) {
      require(x(k).shape == x(0).shape && n.tuple[k].second == x(k).shape && n.tuple[k].first == x(k).dtype,
              "operands and results differ in shape or dtype");
    }
  }
  void result() {
    if (!operands(1) || !attributes(1, 0, 0)) return;
    const auto& tuple = x(0).tuple;
    if (!require(n.a[0] >= 0 && n.a[0] < static_cast<int64_t>(tuple.size()), "the tuple has no such result")) return;
    require(n.dtype == tuple[n.a[0]].first && n.shape == tuple[n.a[0]].second, "differs from the tuple's result");
  }

  void collective() {
    if (!require(n.group != nullptr, "has no group")) return;
    if (n.op == Op::Recv) {
      if (operands(0)) attributes(2, 0, 0);
      return;
    }
    if (!operands(1)) return;
    const Shape& s = x(0).shape;
    if (n.op == Op::Send) {
      if (attributes(2, 0, 0)) require(n.dtype == DType::Token, "gives no data");
      return;
    }
    if (!same_dtype(0)) return;
    const auto dim_ok = [&](int64_t d) { return require(d >= 0 && d < rank(0), "dimension out of range"); };
    switch (n.op) {
      case Op::AllReduce:
        if (!attributes(1, 0, 0) || !reduction_fn(true)) return;
        require(n.a[0] == 0 || (n.a[0] == 1 && n.fn == Fn::Add), "only a sum can be averaged");
        extents(s);
        return;
      case Op::AllGather: {
        if (!attributes(1, 0, 0) || !dim_ok(n.a[0]) || !require(n.shape.size() == s.size(), "changes rank")) return;
        Shape expected = s;
        expected[n.a[0]] = n.shape[n.a[0]];
        extents(expected);
        require(s[n.a[0]] == 0 ? n.shape[n.a[0]] == 0 : n.shape[n.a[0]] % s[n.a[0]] == 0, "extent is no multiple");
        return;
      }
      case Op::ReduceScatter: {
        if (!attributes(2, 0, 0) || !dim_ok(n.a[1]) || !reduction_fn(true) || !require(n.shape.size() == s.size(), "changes rank")) return;
        require(n.a[0] == 0 || (n.a[0] == 1 && n.fn == Fn::Add), "only a sum can be averaged");
        Shape expected = s;
        expected[n.a[1]] = n.shape[n.a[1]];
        extents(expected);
        require(n.shape[n.a[1]] == 0 ? s[n.a[1]] == 0 : s[n.a[1]] % n.shape[n.a[1]] == 0, "extent is no divisor");
        return;
      }
      case Op::AllToAll: {
        if (!require(n.a.size() == 2, "has wrong numbers of attributes") || !dim_ok(n.a[0]) || !dim_ok(n.a[1])) return;
        if (!require(n.shape.size() == s.size() && n.b.size() == n.c.size(), "changes rank or has unpaired sizes")) return;
        Shape expected = s;
        if (!n.b.empty()) {
          if (!require(n.a[0] == n.a[1], "unequal sizes need one dimension for split and concatenation")) return;
          int64_t sent = 0, received = 0;
          for (int64_t v : n.b) sent += require(v >= 0 && v <= kMaxExtent, "negative size") ? v : 0;
          for (int64_t v : n.c) received += require(v >= 0 && v <= kMaxExtent, "negative size") ? v : 0;
          require(sent == s[n.a[0]], "sizes sent do not add up");
          expected[n.a[0]] = received;
          extents(expected);
        } else if (n.a[0] == n.a[1]) {
          extents(s);
        } else {
          expected[n.a[0]] = n.shape[n.a[0]];
          expected[n.a[1]] = n.shape[n.a[1]];
          if (extents(expected)) require(num_elements(s) == num_elements(n.shape), "changes the number of elements");
        }
        return;
      }
      case Op::Permute:
        if (require(n.a.empty() && n.b.size() % 2 == 0 && n.c.empty(), "needs pairs")) extents(s);
        return;
      case Op::BroadcastFrom:
        if (attributes(1, 0, 0) && require(n.a[0] >= 0, "source is negative")) extents(s);
        return;
      default: return;
    }
  }

  // The table is a bijection of (class, part) and ranks.
  void border() {
    if (!operands(1) || !same_dtype(0)) return;
    const Shape& s = x(0).shape;
    const size_t r = s.size(), ranks = n.c.size();
    if (!require(n.a.size() == r && ranks > 0 && n.b.size() == ranks * r, "has wrong numbers of attributes")) return;
    Shape expected = s;
    int64_t parts = 1;
    for (size_t d = 0; d < r; ++d) {
      if (!require(n.a[d] > 0 && n.a[d] <= static_cast<int64_t>(ranks), "number of parts out of range")) return;
      parts *= n.a[d];
      if (!require(parts <= static_cast<int64_t>(ranks), "has more parts than ranks")) return;
      if (n.op == Op::LocalToGlobal)
        expected[d] *= n.a[d];
      else if (require(s[d] % n.a[d] == 0, "parts are not equal"))
        expected[d] /= n.a[d];
    }
    if (!extents(expected)) return;
    std::vector<std::pair<int64_t, int64_t>> held;  // class, part
    std::vector<int64_t> classes;
    for (size_t k = 0; k < ranks; ++k) {
      int64_t part = 0;
      for (size_t d = 0; d < r; ++d) {
        const int64_t i = n.b[k * r + d];
        if (!require(i >= 0 && i < n.a[d], "part out of range")) return;
        part = part * n.a[d] + i;
      }
      held.emplace_back(n.c[k], part);
      classes.push_back(n.c[k]);
    }
    std::sort(held.begin(), held.end());
    std::sort(classes.begin(), classes.end());
    const auto distinct = static_cast<int64_t>(std::unique(classes.begin(), classes.end()) - classes.begin());
    require(std::adjacent_find(held.begin(), held.end()) == held.end() && distinct * parts == static_cast<int64_t>(ranks),
            "the ranks of a class do not hold every part once");
  }

  void run() {
    if (n.dtype == DType::Invalid) {
      fail("has no dtype");
      return;
    }
    for (int64_t extent : n.shape) {
      if (extent < 0 || extent > kMaxExtent) {
        fail("extent out of range");
        return;
      }
    }
    num_elements(n.shape);
    const bool tuple_typed = n.op == Op::Sort || n.op == Op::Opaque;
    if ((n.dtype == DType::Token) != (tuple_typed || n.op == Op::Send)) {
      fail("a tuple has dtype token and nothing else has");
      return;
    }
    for (const auto& [type, shape] : n.tuple) {
      if (!tuple_typed || type == DType::Invalid || type == DType::Token) {
        fail("has wrong tuple types");
        return;
      }
      for (int64_t extent : shape) {
        if (extent < 0 || extent > kMaxExtent) {
          fail("extent out of range");
          return;
        }
      }
      num_elements(shape);
    }
    for (NodeId k : n.in) {
      if (g[k].dtype == DType::Token && n.op != Op::Result) {
        fail("reads a tuple or token");
        return;
      }
    }
    switch (n.op) {
      case Op::Input:
      case Op::Const:
      case Op::Iota:
      case Op::Dense:
      case Op::Uninit:
      case Op::RankId:
      case Op::Random: leaf(); return;
      case Op::Transpose:
      case Op::Reshape:
      case Op::Slice:
      case Op::Reverse:
      case Op::Broadcast:
      case Op::Pad:
      case Op::Concat:
      case Op::Window: view(); return;
      case Op::Map: map(); return;
      case Op::Reduce:
      case Op::ArgReduce: reduce(); return;
      case Op::Contract: contract(); return;
      case Op::Take: take(); return;
      case Op::Scatter: scatter(); return;
      case Op::DynamicSlice:
      case Op::DynamicUpdate: dynamic(); return;
      case Op::Scan:
      case Op::Sort: ordered(); return;
      case Op::Opaque: require(!n.name.empty() && !n.tuple.empty(), "has no name or no results"); return;
      case Op::Result: result(); return;
      case Op::AllReduce:
      case Op::AllGather:
      case Op::ReduceScatter:
      case Op::AllToAll:
      case Op::Permute:
      case Op::BroadcastFrom:
      case Op::Send:
      case Op::Recv: collective(); return;
      case Op::GlobalToLocal:
      case Op::LocalToGlobal: border(); return;
    }
    fail("is no operator");
  }
};

}  // namespace

std::string verify(const Graph& graph, NodeId id) {
  if (id >= graph.nodes.size()) return "no such node";
  Verifier v{graph, graph[id], {}};
  for (NodeId x : graph[id].in) {
    if (x >= id) return fmt::format("%{} reads %{}, which does not come before it", id, x);
  }
  try {
    v.run();
  } catch (const InternalError& error) {  // num_elements: overflow
    return fmt::format("%{} {}: too many elements ({})", id, name(graph[id].op), error.what());
  }
  return v.wrong.empty() ? "" : fmt::format("%{} {}: {}", id, name(graph[id].op), v.wrong);
}

}  // namespace shardproof::ir
