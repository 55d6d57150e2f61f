// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Constants, shapes as values, and operators that move elements about.
#include <algorithm>

#include <fmt/format.h>

#include "lower/graphdef_internal.h"

namespace shardproof::lower::gd {
namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

int64_t product(const Ints& v) {
  int64_t n = 1;
  for (int64_t k : v)
    if (k < 0 || __builtin_mul_overflow(n, k, &n)) throw Unsupported{"a shape with a negative or too large extent"};
  if (n > (int64_t{1} << 51)) throw Unsupported{"a shape with too many elements"};
  return n;
}

Values constant(Call& c) {
  const graphdef::Attr* a = c.node.find("value");
  if (!a || a->kind != graphdef::Attr::Kind::Tensor) throw Unsupported{"a constant without value"};
  const graphdef::Tensor& t = *a->tensor;
  if (t.type.kind != graphdef::Type::Kind::Tensor) {
    Value none;
    none.none = true;
    return {none};
  }
  if (!t.known) throw Unsupported{"a constant of a type that is not read"};
  const std::vector<Literal>& v = *t.values;
  const Shape& s = t.shape.dims;
  if (v.size() == 1) return {c.b.constant(v[0], t.type.dtype, s)};
  return {c.b.dense(t.type.dtype, s, v)};
}

// --- shapes as values

Values shape_of(Call& c) { return {c.list(c.shape(0), c.attr_t("out_type", DType::I32))}; }
Values shape_n(Call& c) {
  Values out;
  for (size_t k = 0; k < c.count(); ++k) out.push_back(c.list(c.shape(k), c.attr_t("out_type", DType::I32)));
  return out;
}
Values size_of(Call& c) {
  DType t = c.attr_t("out_type", DType::I32);
  return {c.b.constant(Literal::integer(ir::num_elements(c.shape(0)), t), t)};
}
Values rank_of(Call& c) { return {c.b.constant(Literal::integer(c.rank(0), DType::I32), DType::I32)}; }

Values broadcast_args(Call& c) {
  Ints x = c.ints(0), y = c.ints(1), out(std::max(x.size(), y.size()), 1);
  for (const Ints* s : {&x, &y}) {
    for (size_t k = 0; k < s->size(); ++k) {
      int64_t& n = out[out.size() - s->size() + k];
      if (n == 1)
        n = (*s)[k];
      else if ((*s)[k] != 1 && (*s)[k] != n)
        throw Unsupported{"shapes that do not broadcast"};
    }
  }
  return {c.list(out, c.dtype(0))};
}

// Dimensions over which each side's gradient is summed.
Values broadcast_gradient_args(Call& c) {
  Ints s[2] = {c.ints(0), c.ints(1)}, dims[2];
  size_t rank = std::max(s[0].size(), s[1].size());
  for (Ints& v : s) v.insert(v.begin(), rank - v.size(), 1);
  for (size_t k = 0; k < rank; ++k) {
    if (s[0][k] == s[1][k]) {
      // Both 1: TensorFlow lists the dimension on both sides; summing an extent of 1 changes nothing.
      if (s[0][k] == 1) dims[0].push_back(static_cast<int64_t>(k)), dims[1].push_back(static_cast<int64_t>(k));
    } else if (s[0][k] == 1) {
      dims[0].push_back(static_cast<int64_t>(k));
    } else if (s[1][k] == 1) {
      dims[1].push_back(static_cast<int64_t>(k));
    } else {
      throw Unsupported{"shapes that do not broadcast"};
    }
  }
  return {c.list(dims[0], c.dtype(0)), c.list(dims[1], c.dtype(0))};
}

// --- views

Values reshape(Call& c) {
  Ints s = c.ints(1);
  int64_t total = ir::num_elements(c.shape(0));
  int64_t known = 1, open = -1;
  for (size_t k = 0; k < s.size(); ++k) {
    if (s[k] == -1) {
      if (open >= 0) throw Unsupported{"two open dimensions"};
      open = static_cast<int64_t>(k);
    } else {
      known = product({known, s[k]});
    }
  }
  if (open >= 0) {
    if (known == 0 || total % known != 0) throw Unsupported{"a shape with another number of elements"};
    s[at(open)] = total / known;
  }
  if (product(s) != total) throw Unsupported{"a shape with another number of elements"};
  return {c.b.reshape(c.t(0), s)};
}

Values expand_dims(Call& c) {
  int64_t a = c.axis(1, c.rank(0) + 1);
  Shape s = c.shape(0);
  s.insert(s.begin() + a, 1);
  return {c.b.reshape(c.t(0), s)};
}

Values squeeze(Call& c) {
  Ints dims = c.attr_ints("squeeze_dims");
  if (dims.empty()) dims = c.attr_ints("axis");
  const Shape from = c.shape(0);
  std::vector<char> drop(from.size(), dims.empty());
  for (int64_t d : dims) {
    if (d < -c.rank(0) || d >= c.rank(0)) throw Unsupported{"an axis out of range"};
    d = d < 0 ? d + c.rank(0) : d;
    if (from[at(d)] != 1) throw Unsupported{"a dimension that is not 1"};
    drop[at(d)] = 1;
  }
  Shape s;
  for (size_t k = 0; k < from.size(); ++k)
    if (!drop[k] || from[k] != 1) s.push_back(from[k]);
  return {c.b.reshape(c.t(0), s)};
}

Values transpose(Call& c) {
  Ints perm = c.ints(1), seen(perm.size(), 0);
  if (static_cast<int64_t>(perm.size()) != c.rank(0)) throw Unsupported{"a permutation of another length"};
  for (int64_t& p : perm) {
    if (p < 0) p += c.rank(0);
    if (p < 0 || p >= c.rank(0) || seen[at(p)]++) throw Unsupported{"no permutation"};
  }
  return {c.b.transpose(c.t(0), perm)};
}

Values concat_at(Call& c, size_t first, size_t count, int64_t axis) {
  std::vector<NodeId> xs;
  for (size_t k = first; k < first + count; ++k) {
    for (int64_t d = 0; d < c.rank(first); ++d)
      if (c.rank(k) != c.rank(first) || (d != axis && c.shape(k)[at(d)] != c.shape(first)[at(d)]))
        throw Unsupported{"parts that do not fit together"};
    xs.push_back(c.t(k));
  }
  return {c.b.concat(xs, axis)};
}
Values concat_v2(Call& c) {
  if (c.count() < 2) throw Unsupported{"no parts"};
  return concat_at(c, 0, c.count() - 1, c.axis(c.count() - 1, c.rank(0)));
}
Values concat_v1(Call& c) {
  if (c.count() < 2) throw Unsupported{"no parts"};
  return concat_at(c, 1, c.count() - 1, c.axis(0, c.rank(1)));
}

Values pack(Call& c) {
  if (c.count() == 0) throw Unsupported{"no parts"};
  int64_t a = c.attr("axis", 0);
  if (a < 0) a += c.rank(0) + 1;
  if (a < 0 || a > c.rank(0)) throw Unsupported{"an axis out of range"};
  std::vector<NodeId> xs;
  for (size_t k = 0; k < c.count(); ++k) {
    if (c.shape(k) != c.shape(0)) throw Unsupported{"parts of different shapes"};
    Shape s = c.shape(k);
    s.insert(s.begin() + a, 1);
    xs.push_back(c.b.reshape(c.t(k), s));
  }
  return {c.b.concat(xs, a)};
}

Values unpack(Call& c) {
  int64_t a = c.attr("axis", 0);
  if (a < 0) a += c.rank(0);
  if (a < 0 || a >= c.rank(0)) throw Unsupported{"an axis out of range"};
  Shape s = c.shape(0);
  int64_t n = s[at(a)];
  s.erase(s.begin() + a);
  if (c.attr("num", n) != n || n > 100'000) throw Unsupported{"another number of parts"};
  Values out;
  for (int64_t k = 0; k < n; ++k) out.push_back(c.b.reshape(c.b.slice_dim(c.t(0), a, k, k + 1), s));
  return out;
}

Values split_sizes(Call& c, NodeId x, int64_t axis, const Ints& sizes) {
  Values out;
  int64_t start = 0, n = c.b.shape(x)[at(axis)];
  for (int64_t size : sizes) {
    if (size < 0 || start + size > n) throw Unsupported{"parts that do not add up"};
    out.push_back(c.b.slice_dim(x, axis, start, start + size));
    start += size;
  }
  if (start != n) throw Unsupported{"parts that do not add up"};
  return out;
}

Values split(Call& c) {
  int64_t a = c.axis(0, c.rank(1)), k = c.attr("num_split", 0), n = c.shape(1)[at(a)];
  if (k <= 0 || k > 100'000 || n % k != 0) throw Unsupported{"a number of parts that does not divide the dimension"};
  return split_sizes(c, c.t(1), a, Ints(at(k), n / k));
}

Values split_v(Call& c) {
  int64_t a = c.axis(2, c.rank(0)), open = -1, rest = c.shape(0)[at(a)];
  Ints sizes = c.ints(1);
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] == -1 && open < 0)
      open = static_cast<int64_t>(k);
    else if (sizes[k] < 0)
      throw Unsupported{"a negative size"};
    else
      rest -= sizes[k];
  }
  if (open >= 0) sizes[at(open)] = rest;
  return split_sizes(c, c.t(0), a, sizes);
}

Values slice(Call& c) {
  Ints begin = c.ints(1), size = c.ints(2), stop, step(begin.size(), 1);
  if (static_cast<int64_t>(begin.size()) != c.rank(0) || size.size() != begin.size()) throw Unsupported{"begin and size of another length"};
  for (size_t k = 0; k < begin.size(); ++k) {
    int64_t n = c.shape(0)[k];
    if (begin[k] < 0 || begin[k] > n || size[k] < -1 || (size[k] >= 0 && size[k] > n - begin[k]))
      throw Unsupported{"a slice that leaves the tensor"};
    stop.push_back(size[k] == -1 ? n : begin[k] + size[k]);
  }
  return {c.b.slice(c.t(0), begin, stop, step)};
}

// One dimension of a strided slice, in the order of the source; `target` says what the result has for it.
struct Cut {
  int64_t start = 0, count = 0, step = 1;
};
struct Strided {
  std::vector<Cut> cuts;  // one per source dimension
  Shape result;           // with new axes, without shrunk ones
};

// begin, end and strides with their masks, as TensorFlow's StridedSlice defines them.
Strided strided(Call& c, const Shape& source, const Ints& begin, const Ints& end, const Ints& strides) {
  int64_t begin_mask = c.attr("begin_mask", 0), end_mask = c.attr("end_mask", 0), ellipsis_mask = c.attr("ellipsis_mask", 0);
  int64_t new_mask = c.attr("new_axis_mask", 0), shrink_mask = c.attr("shrink_axis_mask", 0);
  size_t n = begin.size();
  if (end.size() != n || strides.size() != n || n > 60) throw Unsupported{"begin, end and strides of different lengths"};
  auto bit = [](int64_t mask, size_t k) { return (mask >> k & 1) != 0; };
  size_t used = 0;  // source dimensions that an entry speaks of
  int ellipses = 0;
  for (size_t k = 0; k < n; ++k) {
    if (bit(ellipsis_mask, k))
      ++ellipses;
    else if (!bit(new_mask, k))
      ++used;
  }
  if (ellipses > 1 || used > source.size()) throw Unsupported{"more entries than dimensions"};
  Strided out;
  size_t d = 0;
  auto whole = [&](size_t count) {
    for (size_t k = 0; k < count; ++k, ++d) {
      out.cuts.push_back({0, source[d], 1});
      out.result.push_back(source[d]);
    }
  };
  for (size_t k = 0; k < n; ++k) {
    if (bit(ellipsis_mask, k)) {
      whole(source.size() - used);
      continue;
    }
    if (bit(new_mask, k)) {
      out.result.push_back(1);
      continue;
    }
    int64_t size = source[d], step = strides[k];
    if (step == 0) throw Unsupported{"a stride of 0"};
    if (bit(shrink_mask, k)) {
      int64_t at = begin[k] < 0 ? begin[k] + size : begin[k];
      if (at < 0 || at >= size || step < 0) throw Unsupported{"an index out of range"};
      out.cuts.push_back({at, 1, 1});
      ++d;
      continue;
    }
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    auto clamp = [&](int64_t v) { return std::clamp(v < 0 ? v + size : v, low, high); };
    int64_t first = bit(begin_mask, k) ? (step > 0 ? 0 : size - 1) : clamp(begin[k]);
    int64_t last = bit(end_mask, k) ? (step > 0 ? size : -1) : clamp(end[k]);
    int64_t span = step > 0 ? last - first : first - last, stride = step > 0 ? step : -step;
    int64_t count = span <= 0 ? 0 : (span + stride - 1) / stride;
    out.cuts.push_back({first, count, step});
    out.result.push_back(count);
    ++d;
  }
  whole(source.size() - d);
  return out;
}

Values strided_slice(Call& c) {
  Strided s = strided(c, c.shape(0), c.ints(1), c.ints(2), c.ints(3));
  NodeId x = c.t(0);
  for (size_t k = 0; k < s.cuts.size(); ++k) {
    const Cut& cut = s.cuts[k];
    int64_t d = static_cast<int64_t>(k);
    if (cut.count == 0) {
      x = c.b.slice_dim(x, d, 0, 0);
    } else if (cut.step > 0) {
      x = c.b.slice_dim(x, d, cut.start, cut.start + (cut.count - 1) * cut.step + 1, cut.step);
    } else {  // cut the same elements upwards, then turn them round
      int64_t low = cut.start + (cut.count - 1) * cut.step;
      x = c.b.reverse(c.b.slice_dim(x, d, low, cut.start + 1, -cut.step), {d});
    }
  }
  return {c.b.reshape(x, s.result)};
}

// shape, begin, end, strides, dy: dy back at its places in zeros
Values strided_slice_grad(Call& c) {
  Shape source = c.ints(0);
  product(source);
  Strided s = strided(c, source, c.ints(1), c.ints(2), c.ints(3));
  if (c.shape(4) != s.result) throw Unsupported{"a gradient of another shape than the slice"};
  Shape counts;
  Ints low, high, interior, turned;
  for (size_t k = 0; k < s.cuts.size(); ++k) {
    const Cut& cut = s.cuts[k];
    int64_t step = cut.step > 0 ? cut.step : -cut.step;
    counts.push_back(cut.count);
    int64_t first = cut.count == 0 ? 0 : cut.step > 0 ? cut.start : cut.start + (cut.count - 1) * cut.step;
    int64_t span = cut.count == 0 ? 0 : (cut.count - 1) * step + 1;
    if (cut.step < 0) turned.push_back(static_cast<int64_t>(k));
    low.push_back(first);
    high.push_back(source[k] - first - span);
    interior.push_back(step - 1);
  }
  NodeId dy = c.b.reshape(c.t(4), counts);
  if (!turned.empty()) dy = c.b.reverse(dy, turned);
  return {c.b.pad(dy, c.zero(c.dtype(4)), low, high, interior)};
}

Values tile(Call& c) {
  Ints times = c.ints(1);
  if (static_cast<int64_t>(times.size()) != c.rank(0)) throw Unsupported{"multiples of another length"};
  Shape spread, place, result;
  for (size_t k = 0; k < times.size(); ++k) {
    if (times[k] < 0) throw Unsupported{"a negative multiple"};
    spread.insert(spread.end(), {times[k], c.shape(0)[k]});
    place.push_back(static_cast<int64_t>(2 * k + 1));
    result.push_back(product({times[k], c.shape(0)[k]}));
  }
  product(result);
  return {c.b.reshape(c.b.broadcast(c.t(0), spread, place), result)};
}

Values broadcast_to(Call& c) {
  Shape s = c.ints(1);
  product(s);
  if (s.size() < c.shape(0).size()) throw Unsupported{"a shape of lower rank"};
  for (size_t k = 0; k < c.shape(0).size(); ++k) {
    int64_t from = c.shape(0)[k], to = s[s.size() - c.shape(0).size() + k];
    if (from != 1 && from != to) throw Unsupported{"shapes that do not broadcast"};
  }
  return {c.fit(c.t(0), s)};
}

Values fill(Call& c) {
  Shape s = c.ints(0);
  product(s);
  if (c.rank(1) != 0) throw Unsupported{"a value that is no number"};
  return {c.b.broadcast(c.t(1), s, {})};
}

Values like(Call& c, double v) { return {c.b.broadcast(c.number(v, c.dtype(0)), c.shape(0), {})}; }
Values zeros_like(Call& c) { return like(c, 0); }
Values ones_like(Call& c) { return like(c, 1); }

Values pad_with(Call& c, NodeId value) {
  Ints p = c.ints(1), low, high;
  if (static_cast<int64_t>(p.size()) != 2 * c.rank(0)) throw Unsupported{"paddings of another length"};
  for (size_t k = 0; k < p.size(); k += 2) {
    if (p[k] < 0 || p[k + 1] < 0) throw Unsupported{"a negative padding"};
    low.push_back(p[k]);
    high.push_back(p[k + 1]);
  }
  return {c.b.pad(c.t(0), value, low, high, Ints(low.size(), 0))};
}
Values pad(Call& c) { return pad_with(c, c.zero(c.dtype(0))); }
Values pad_v2(Call& c) { return pad_with(c, c.t(2)); }

Values reverse_v2(Call& c) {
  Ints dims = c.axes(1, c.rank(0));
  return {dims.empty() ? c.t(0) : c.b.reverse(c.t(0), dims)};
}

Values range(Call& c) {
  DType t = c.dtype(0);
  if (!ir::is_int(t)) throw Unsupported{"a range of floats"};
  int64_t start = c.integer(0), limit = c.integer(1), delta = c.integer(2);
  if (delta == 0) throw Unsupported{"a step of 0"};
  __int128 span = delta > 0 ? static_cast<__int128>(limit) - start : static_cast<__int128>(start) - limit;
  __int128 step = delta > 0 ? static_cast<__int128>(delta) : -static_cast<__int128>(delta);
  __int128 n = span <= 0 ? 0 : (span + step - 1) / step;
  if (n > (int64_t{1} << 40)) throw Unsupported{"a range of too many elements"};
  NodeId iota = c.b.iota(t, {static_cast<int64_t>(n)}, 0);
  NodeId scaled = delta == 1 ? iota : c.mul(iota, c.b.constant(Literal::integer(delta, t), t));
  return {start == 0 ? scaled : c.add(scaled, c.b.constant(Literal::integer(start, t), t))};
}

// input, num_lower, num_upper: what lies outside of the band becomes 0
Values matrix_band_part(Call& c) {
  int64_t r = c.rank(0), lower = c.integer(1), upper = c.integer(2);
  if (r < 2) throw Unsupported{"no matrix"};
  NodeId row = c.b.iota(DType::I64, c.shape(0), r - 2), column = c.b.iota(DType::I64, c.shape(0), r - 1);
  NodeId distance = c.sub(row, column);
  auto constant = [&](int64_t v) { return c.b.constant(Literal::integer(v, DType::I64), DType::I64); };
  NodeId x = c.t(0), zero = c.zero(c.dtype(0));
  if (lower >= 0) x = c.select(c.compare(Fn::Le, distance, constant(lower)), x, zero);
  if (upper >= 0) x = c.select(c.compare(Fn::Ge, distance, constant(-upper)), x, zero);
  return {x};
}

}  // namespace

void add_shapes(Table& table) {
  const std::pair<const char*, Handler> entries[] = {{"Const", constant},
                                                     {"Shape", shape_of},
                                                     {"ShapeN", shape_n},
                                                     {"Size", size_of},
                                                     {"Rank", rank_of},
                                                     {"BroadcastArgs", broadcast_args},
                                                     {"BroadcastGradientArgs", broadcast_gradient_args},
                                                     {"Reshape", reshape},
                                                     {"ExpandDims", expand_dims},
                                                     {"Squeeze", squeeze},
                                                     {"Transpose", transpose},
                                                     {"ConcatV2", concat_v2},
                                                     {"Concat", concat_v1},
                                                     {"Pack", pack},
                                                     {"Unpack", unpack},
                                                     {"Split", split},
                                                     {"SplitV", split_v},
                                                     {"Slice", slice},
                                                     {"StridedSlice", strided_slice},
                                                     {"StridedSliceGrad", strided_slice_grad},
                                                     {"Tile", tile},
                                                     {"BroadcastTo", broadcast_to},
                                                     {"Fill", fill},
                                                     {"ZerosLike", zeros_like},
                                                     {"OnesLike", ones_like},
                                                     {"Pad", pad},
                                                     {"PadV2", pad_v2},
                                                     {"ReverseV2", reverse_v2},
                                                     {"Range", range},
                                                     {"MatrixBandPart", matrix_band_part}};
  for (const auto& [name, handler] : entries) table.emplace(name, handler);
}

}  // namespace shardproof::lower::gd
