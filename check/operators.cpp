// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "check/operators.h"

#include <algorithm>

#include "check/terms.h"

namespace shardproof::check {

using ir::DType;
using ir::Fn;
using ir::Op;

namespace {

int64_t volume(const std::vector<int64_t>& extents) {
  int64_t v = 1;
  for (int64_t e : extents) v = e > 0 && v > (int64_t{1} << 50) / e ? int64_t{1} << 50 : v * e;
  return v;
}

Number combine(Fn fn, const Number& a, const Number& b, DType t, bool& uncertain) {
  const Number x[2] = {a, b};
  return apply(fn, x, 2, t, t, uncertain);
}

}  // namespace

bool Operators::view(ir::NodeId v, const Index& i, ir::NodeId& from, Index& j) const {
  const ir::Node& n = g_[v];
  if (n.in.empty()) return false;
  from = n.in[0];
  const ir::Shape& s = g_[from].shape;
  j.assign(s.size(), 0);
  switch (n.op) {
    case Op::Transpose:  // S-11
      for (size_t k = 0; k < i.size(); ++k) j[static_cast<size_t>(n.a[k])] = i[k];
      return true;
    case Op::Reshape: j = unlinear(s, linear(n.shape, i)); return true;  // S-12
    case Op::Slice:                                                      // S-13
      for (size_t k = 0; k < i.size(); ++k) j[k] = n.a[k] + i[k] * n.c[k];
      return true;
    case Op::Reverse:  // S-14
      j = i;
      for (int64_t d : n.a) j[static_cast<size_t>(d)] = s[static_cast<size_t>(d)] - 1 - i[static_cast<size_t>(d)];
      return true;
    case Op::Broadcast:  // S-15
      for (size_t k = 0; k < s.size(); ++k) j[k] = s[k] == 1 ? 0 : i[static_cast<size_t>(n.a[k])];
      return true;
    case Op::Pad:  // S-16
      for (size_t k = 0; k < i.size(); ++k) {
        const int64_t p = i[k] - n.a[k], step = n.c[k] + 1;
        if (p < 0 || p % step != 0 || p / step >= s[k]) {
          from = n.in[1];
          j.clear();
          return true;
        }
        j[k] = p / step;
      }
      return true;
    case Op::Concat: {  // S-17
      const auto d = static_cast<size_t>(n.a[0]);
      j = i;
      for (ir::NodeId in : n.in) {
        from = in;
        if (j[d] < g_[in].shape[d]) return true;
        j[d] -= g_[in].shape[d];
      }
      return false;
    }
    case Op::Window: {  // S-18
      const size_t rank = s.size();
      for (size_t k = 0; k < rank; ++k) j[k] = i[k];
      for (size_t k = 0; k < n.a.size(); ++k) {
        const auto d = static_cast<size_t>(n.a[k]);
        j[d] = i[d] * n.c[2 * k] + i[rank + k] * n.c[2 * k + 1];
      }
      return true;
    }
    default: return false;
  }
}

std::vector<int64_t> dims_of(const ir::Graph& graph, ir::NodeId v, size_t operand) {
  const ir::Node& n = graph[v];
  std::vector<int64_t> out(graph[n.in[operand]].shape.size(), INT64_MIN);
  int64_t next = 0;
  if (n.op == Op::Contract) {
    for (size_t q = operand; q < n.a.size(); q += 2) out[static_cast<size_t>(n.a[q])] = next++;
    for (size_t q = operand; q < n.b.size(); q += 2) out[static_cast<size_t>(n.b[q])] = -1 - static_cast<int64_t>(q / 2);
    if (operand == 1) next += static_cast<int64_t>(graph[n.in[0]].shape.size() - n.a.size() / 2 - n.b.size() / 2);
  } else {
    for (size_t k = 0; k < n.a.size(); ++k) out[static_cast<size_t>(n.a[k])] = -1 - static_cast<int64_t>(k);
  }
  for (int64_t& d : out) d = d == INT64_MIN ? next++ : d;
  return out;
}

bool Operators::reduces(ir::NodeId v, std::vector<int64_t>& extents) const {
  const ir::Node& n = g_[v];
  extents.clear();
  if (n.op == Op::Reduce) {
    for (int64_t d : n.a) extents.push_back(g_[n.in[0]].shape[static_cast<size_t>(d)]);
    return true;
  }
  if (n.op == Op::Scatter && n.fn == Fn::Add && !n.set) {
    for (int64_t b : n.b)
      extents.push_back(std::find(n.a.begin(), n.a.end(), b) == n.a.end() ? g_[n.in[1]].shape[static_cast<size_t>(b)] : 1);
    return true;
  }
  if (n.op == Op::Contract) {
    for (size_t k = 0; k < n.b.size(); k += 2) extents.push_back(g_[n.in[0]].shape[static_cast<size_t>(n.b[k])]);
    return true;
  }
  return false;
}

Number Operators::body(ir::NodeId v, const Index& i, const Index& k) {
  const ir::Node& n = g_[v];
  if (n.op == Op::Scatter) {  // S-25: the update at place k where it goes to i, and a share of the data
    Index at(k), x;
    int64_t places = 1;
    for (size_t b = 0; b < n.b.size(); ++b) {
      const auto it = std::find(n.a.begin(), n.a.end(), n.b[b]);
      if (it == n.a.end()) places *= g_[n.in[1]].shape[static_cast<size_t>(n.b[b])];
      if (it != n.a.end()) at[b] = i[static_cast<size_t>(it - n.a.begin())];
      if (at[b] >= g_[n.in[1]].shape[static_cast<size_t>(n.b[b])]) return unknown = true, undefined();  // narrow windows
    }
    const Number share = mul(read_(n.in[0], i.data()), fraction(1, places));
    const int in = lands(n, i, at, x);
    return in < 0 ? undefined() : in == 1 ? add(share, read_(n.in[1], x.data())) : share;
  }
  Number product = exact(1);  // S-21, S-23
  for (size_t a = 0; a < n.in.size(); ++a) {
    const std::vector<int64_t> to = dims_of(g_, v, a);
    Index x;
    for (int64_t d : to) x.push_back(d >= 0 ? i[static_cast<size_t>(d)] : k[static_cast<size_t>(-1 - d)]);
    const Number value = read_(n.in[a], x.data());
    product = a == 0 ? value : mul(product, value);
  }
  return product;
}

Number Operators::reduce(ir::NodeId v, const Index& i) {
  const ir::Node& n = g_[v];
  std::vector<int64_t> extents;
  reduces(v, extents);
  const Fn fn = n.op == Op::Contract ? Fn::Add : n.fn;
  Number r = fn == Fn::Max && n.dtype == DType::Bool ? exact(0) : fn == Fn::Min && n.dtype == DType::Bool ? exact(1) : neutral(fn);
  if (volume(extents) == 0) return r;
  if (!pay(static_cast<uint64_t>(volume(extents)))) return undefined();
  Index k(extents.size(), 0);
  bool first = true;
  do {
    const Number x = body(v, i, k);
    r = first && fn != Fn::Add ? x : fn == Fn::Add && n.dtype != DType::Bool ? add(r, x) : combine(fn, r, x, n.dtype, uncertain);
    first = false;
  } while (next(k, extents));
  if (fn == Fn::Add && ir::is_int(n.dtype)) r = wrap(r, n.dtype, uncertain);  // wrapping at the end is wrapping at every step
  return r;
}

int Operators::index(const Number& v, int64_t extent, ir::IndexMode mode, int64_t& out) {
  if (!std::isfinite(v.v)) return -1;
  if (v.e != 0 || v.v != std::floor(v.v)) return uncertain = true, -1;
  long double x = v.v;
  const long double n = static_cast<long double>(extent);
  if (mode == ir::IndexMode::Wrap && x < 0 && x >= -n) x += n;
  if (mode == ir::IndexMode::Clamp) x = x < 0 ? 0 : x >= n ? n - 1 : x;
  if (x < 0 || x >= n) return mode == ir::IndexMode::Fill ? 0 : -1;
  out = static_cast<int64_t>(x);
  return 1;
}

Number Operators::take(const ir::Node& n, const Index& i) {  // S-24
  const ir::Shape& s = g_[n.in[0]].shape;
  Index j(s.size(), 0), at;
  for (int64_t b : n.b) at.push_back(i[static_cast<size_t>(b)]);
  for (size_t k = 0; k < s.size(); ++k) {
    if (n.a[k] >= 0) {
      j[k] = i[static_cast<size_t>(n.a[k])];
      continue;
    }
    const int in = index(read_(n.in[static_cast<size_t>(-n.a[k])], at.data()), s[k], n.mode, j[k]);
    if (in < 0) return undefined();
    if (in == 0) return read_(n.in.back(), nullptr);
  }
  return read_(n.in[0], j.data());
}

// Whether the updates at this place of the indices have one, x, for element i; -1: an index is undefined.
int Operators::lands(const ir::Node& n, const Index& i, const Index& at, Index& x) {
  const ir::Shape &s = g_[n.in[0]].shape, &u = g_[n.in[1]].shape;
  x.assign(u.size(), 0);
  bool mine = true;
  for (size_t k = 0; k < s.size(); ++k) {
    if (n.a[k] >= 0) {
      x[static_cast<size_t>(n.a[k])] = i[k];
      mine &= i[k] < u[static_cast<size_t>(n.a[k])];
      continue;
    }
    int64_t j = 0;
    const int in = index(read_(n.in[static_cast<size_t>(1 - n.a[k])], at.data()), s[k], n.mode, j);
    if (in < 0) return -1;
    mine &= in == 1 && j == i[k];
  }
  for (size_t k = 0; k < n.b.size(); ++k) x[static_cast<size_t>(n.b[k])] = at[k];
  return mine ? 1 : 0;
}

Number Operators::scatter(const ir::Node& n, const Index& i) {  // S-25
  const ir::Shape& u = g_[n.in[1]].shape;
  // An update dimension that the data follows stays at i, also where index operands run over it (batches).
  std::vector<int64_t> loop, fixed;
  for (int64_t b : n.b) {
    const auto it = std::find(n.a.begin(), n.a.end(), b);
    const int64_t at = it == n.a.end() ? -1 : i[static_cast<size_t>(it - n.a.begin())];
    if (at >= u[static_cast<size_t>(b)]) return read_(n.in[0], i.data());
    fixed.push_back(at);
    loop.push_back(at < 0 ? u[static_cast<size_t>(b)] : 1);
  }
  Number r = read_(n.in[0], i.data());
  if (volume(loop) == 0) return r;
  if (!pay(static_cast<uint64_t>(volume(loop)))) return undefined();
  Index count(loop.size(), 0), at(loop.size(), 0), x;
  bool hit = false;
  do {
    for (size_t k = 0; k < at.size(); ++k) at[k] = fixed[k] < 0 ? count[k] : fixed[k];
    const int in = lands(n, i, at, x);
    if (in < 0) return undefined();  // the whole result is
    if (in == 0) continue;
    const Number v = read_(n.in[1], x.data());
    if (!n.set) {
      r = n.fn == Fn::Add ? add(r, v) : combine(n.fn, r, v, n.dtype, uncertain);
    } else {
      if (hit && !same(r, v)) open = true;
      r = v;
    }
    hit = true;
  } while (next(count, loop));
  if (!n.set && n.fn == Fn::Add && ir::is_int(n.dtype)) r = wrap(r, n.dtype, uncertain);
  return r;
}

Number Operators::scan(const ir::Node& n, const Index& i) {  // S-26
  const auto d = static_cast<size_t>(n.a[0]);
  const int64_t extent = n.shape[d], exclusive = n.a[2];
  const int64_t first = n.a[1] ? i[d] + exclusive : 0, last = n.a[1] ? extent - 1 : i[d] - exclusive;
  Number r = neutral(n.fn);
  if (first > last) return r;
  if (!pay(static_cast<uint64_t>(last - first + 1))) return undefined();
  Index x = i;
  for (int64_t k = first; k <= last; ++k) {
    x[d] = k;
    const Number v = read_(n.in[0], x.data());
    r = k == first ? v : n.fn == Fn::Add ? add(r, v) : combine(n.fn, r, v, n.dtype, uncertain);
  }
  return n.fn == Fn::Add && ir::is_int(n.dtype) ? wrap(r, n.dtype, uncertain) : r;
}

Number Operators::extreme_position(const ir::Node& n, const Index& i) {  // S-22, ties to the lowest index
  const auto d = static_cast<size_t>(n.a[0]);
  Index x = i;
  x.insert(x.begin() + static_cast<std::ptrdiff_t>(d), 0);
  const int64_t extent = g_[n.in[0]].shape[d];
  if (!pay(static_cast<uint64_t>(extent))) return undefined();
  Number best{};
  int64_t where = 0;
  for (int64_t k = 0; k < extent; ++k) {
    x[d] = k;
    const Number v = read_(n.in[0], x.data());
    if (is_undefined(v)) return undefined();
    const int c = k == 0 ? 1 : turn(v, best, uncertain);
    if (k == 0 || (n.fn == Fn::Max ? c > 0 : c < 0)) best = v, where = k;
  }
  return exact(static_cast<long double>(where));
}

Number Operators::sorted(const ir::Node& t, int64_t result, const Index& i) {  // S-27
  const auto d = static_cast<size_t>(t.a[0]);
  const int64_t extent = g_[t.in[0]].shape[d];
  if (!pay(static_cast<uint64_t>(extent) * 2)) return undefined();
  std::vector<std::pair<Number, int64_t>> keys;
  Index x = i;
  for (int64_t k = 0; k < extent; ++k) {
    x[d] = k;
    keys.emplace_back(read_(t.in[0], x.data()), k);
    if (is_undefined(keys.back().first)) return undefined();
  }
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const auto& p, const auto& q) { return t.a[1] ? p.first.v > q.first.v : p.first.v < q.first.v; });
  for (size_t k = 1; k < keys.size(); ++k) {
    const int way = turn(keys[k - 1].first, keys[k].first, uncertain);
    uncertain |= t.a[1] ? way < 0 : way > 0;  // numbers of other scales
  }
  x[d] = keys[static_cast<size_t>(i[d])].second;
  return read_(t.in[static_cast<size_t>(result)], x.data());
}

bool Operators::start(const ir::Node& n, size_t operand, int64_t last, int64_t& out) {
  const Number v = read_(n.in[operand], nullptr);
  if (last == 0) return out = 0, true;  // wherever it points
  return index(v, last + 1, ir::IndexMode::Clamp, out) == 1;
}

Number Operators::at(ir::NodeId v, const Index& i) {
  const ir::Node& n = g_[v];
  ir::NodeId from = 0;
  Index j;
  if (view(v, i, from, j)) return read_(from, j.data());
  switch (n.op) {
    case Op::Const: return literal_value(n.lit, n.dtype);  // S-2
    case Op::Iota:
      return ir::is_int(n.dtype) ? wrap(exact(static_cast<long double>(i[static_cast<size_t>(n.a[0])])), n.dtype, uncertain)
                                 : exact(static_cast<long double>(i[static_cast<size_t>(n.a[0])]));      // S-3
    case Op::Dense: return literal_value((*n.dense)[static_cast<size_t>(linear(n.shape, i))], n.dtype);  // S-4
    case Op::Map: {                                                                                      // S-19, S-20
      std::vector<Number> a;
      for (ir::NodeId in : n.in) a.push_back(read_(in, g_[in].shape.empty() ? nullptr : i.data()));
      const DType t = g_[n.in[n.fn == Fn::Select ? 1 : 0]].dtype;
      if (uninterpreted(n.fn, t, n.dtype)) return unknown = true, undefined();
      if (ir::is_complex(n.dtype) && n.fn != Fn::Add && n.fn != Fn::Sub && n.fn != Fn::Mul && n.fn != Fn::Neg && n.fn != Fn::Div &&
          n.fn != Fn::Select && n.fn != Fn::Convert) {
        return unknown = true, undefined();
      }
      return apply(n.fn, a.data(), a.size(), t, n.dtype, uncertain);
    }
    case Op::Reduce:
    case Op::Contract: return reduce(v, i);
    case Op::Take: return take(n, i);
    case Op::Scatter: return scatter(n, i);
    case Op::Scan: return scan(n, i);
    case Op::ArgReduce: return extreme_position(n, i);
    case Op::DynamicSlice:  // S-31
      j.resize(i.size());
      for (size_t d = 0; d < i.size(); ++d) {
        int64_t s = 0;
        if (!start(n, 1 + d, g_[n.in[0]].shape[d] - n.a[d], s)) return undefined();
        j[d] = s + i[d];
      }
      return read_(n.in[0], j.data());
    case Op::DynamicUpdate: {  // S-32
      bool inside = true;
      j.resize(i.size());
      for (size_t d = 0; d < i.size(); ++d) {
        const int64_t extent = g_[n.in[1]].shape[d];
        int64_t s = 0;
        if (!start(n, 2 + d, n.shape[d] - extent, s)) return undefined();
        j[d] = i[d] - s;
        inside &= j[d] >= 0 && j[d] < extent;
      }
      return inside ? read_(n.in[1], j.data()) : read_(n.in[0], i.data());
    }
    case Op::Result:  // S-28
      if (g_[n.in[0]].op == Op::Sort) return sorted(g_[n.in[0]], n.a[0], i);
      break;
    default: break;
  }
  unknown = true;
  return undefined();
}

}  // namespace shardproof::check
