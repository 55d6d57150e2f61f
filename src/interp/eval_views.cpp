// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Views: new axes and, per result dimension (or group of dimensions, for reshape), a table of source offsets. Numbers: docs/spec.md.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "interp/eval.h"
#include "util/result.h"

namespace shardproof::interp {
namespace {

constexpr int64_t kAbsent = -(int64_t{1} << 50);  // in a table: this position shows the fill value

bool all_unit(const Value& x) {
  return std::all_of(x.axes.begin(), x.axes.end(), [](const Axis& a) { return a.is_unit(); });
}

Value share(const Value& x, std::vector<Axis> axes) {
  Value out = x;
  out.axes = std::move(axes);
  return out;
}

// gather(), where a negative sum of offsets reads fill[0].
Buffer gather_or(const Buffer& in, const std::vector<Table>& tables, const Buffer& fill) {
  const std::vector<int64_t> offsets = expand(tables);
  Buffer out = Buffer::make(in.number, offsets.size());
  for (size_t k = 0; k < offsets.size(); ++k) {
    if (offsets[k] >= 0) {
      out.copy(k, in, static_cast<size_t>(offsets[k]));
    } else {
      out.copy(k, fill, 0);
    }
  }
  return out;
}

// S-11 transpose: out[i] = x[j], j[a[k]] = i[k]
Value transpose(const ir::Node& n, const Value& x) {
  const auto strides = x.strides();
  std::vector<Axis> axes;
  std::vector<Table> tables;
  for (int64_t d : n.a) {
    axes.push_back(x.axes[d]);
    Table t(static_cast<size_t>(x.axes[d].blocks()));
    for (size_t k = 0; k < t.size(); ++k) t[k] = static_cast<int64_t>(k) * strides[d];
    tables.push_back(std::move(t));
  }
  return view(x, std::move(axes), tables);
}

// Do the tables read all elements, in their order?
bool identity(const std::vector<Table>& tables, int64_t elements) {
  int64_t step = 1;
  for (size_t d = tables.size(); d-- > 0;) {
    for (size_t k = 0; k < tables[d].size(); ++k) {
      if (tables[d][k] != static_cast<int64_t>(k) * step) return false;
    }
    step *= static_cast<int64_t>(tables[d].size());
  }
  return step == elements;
}

// S-12 reshape: the same row-major sequence of elements.
Value reshape(const Context& c, const ir::Node& n, const Value& x) {
  std::vector<Axis> axes;
  if (ir::num_elements(n.shape) == 0 || all_unit(x)) {
    for (int64_t extent : n.shape) axes.push_back(Axis::unit(extent));
    return share(x, std::move(axes));
  }
  if (x.blocks() == 1) {
    for (int64_t extent : n.shape) axes.push_back(Axis::whole(extent));
    return share(x, std::move(axes));
  }
  const ir::Shape from = x.shape();
  const auto strides = x.strides();
  std::vector<Table> tables;
  bool regrouped = false;
  for (size_t i = 0, j = 0; i < from.size() || j < n.shape.size();) {
    if (i < from.size() && from[i] == 1) {
      ++i;
      continue;
    }
    if (j < n.shape.size() && n.shape[j] == 1) {
      axes.push_back(Axis::unit(1));
      ++j;
      continue;
    }
    // The shortest runs of dimensions on both sides with equal products.
    const size_t i0 = i, j0 = j;
    int64_t a = from[i++], b = n.shape[j++];
    while (a != b) a < b ? a *= from[i++] : b *= n.shape[j++];
    const std::vector<Axis> source(x.axes.begin() + i0, x.axes.begin() + i);
    const std::vector<int64_t> sizes(n.shape.begin() + j0, n.shape.begin() + j);
    std::vector<Axis> target;
    if (source.size() == 1 && sizes.size() == 1) {
      target = source;
    } else if (std::all_of(source.begin(), source.end(), [](const Axis& s) { return s.blocks() == 1; })) {
      for (int64_t extent : sizes) target.push_back(Axis::whole(extent));
    } else {
      target = unflatten_axis(flatten_axes(source, c.config.max_blocks), sizes);
      regrouped = true;
    }
    if (count_blocks(target) > c.config.max_blocks) throw EvalError{"budget: a reshape needs too many blocks"};
    // Where each box of the group comes from, by its first element.
    std::vector<Table> positions;
    int64_t scale = a;
    for (size_t d = 0; d < sizes.size(); ++d) {
      scale /= sizes[d];
      positions.push_back(starts(target[d]));
      for (int64_t& p : positions.back()) p *= scale;
    }
    Table table = expand(positions);
    for (int64_t& p : table) {
      int64_t flat = p;
      p = 0;
      for (size_t d = i; d-- > i0;) {
        p += x.axes[d].block_of(flat % from[d]) * strides[d];
        flat /= from[d];
      }
    }
    tables.push_back(std::move(table));
    axes.insert(axes.end(), target.begin(), target.end());
  }
  if (identity(tables, x.blocks())) return share(x, std::move(axes));
  const Value out = view(x, std::move(axes), tables);
  return regrouped ? compress(out) : out;
}

// S-14 reverse: out[i] = x[n-1-i]
Value reverse(const ir::Node& n, const Value& x) {
  const auto strides = x.strides();
  std::vector<Axis> axes = x.axes;
  std::vector<Table> tables;
  for (size_t d = 0; d < axes.size(); ++d) {
    const bool turned = std::binary_search(n.a.begin(), n.a.end(), static_cast<int64_t>(d));
    const int64_t count = x.axes[d].blocks(), extent = x.axes[d].extent();
    if (turned && !axes[d].is_unit()) {
      std::vector<int64_t> ends;
      for (int64_t k = count; k-- > 0;) ends.push_back(extent - x.axes[d].start(k));
      axes[d] = Axis::cut(extent, std::move(ends));
    }
    Table t(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) t[k] = (turned ? count - 1 - k : k) * strides[d];
    tables.push_back(std::move(t));
  }
  return view(x, std::move(axes), tables);
}

// S-15 broadcast: out[i] = x[j], j[k] = i[a[k]], or 0 where x's extent is 1. Only axes change.
Value broadcast(const ir::Node& n, const Value& x) {
  std::vector<Axis> axes;
  for (int64_t extent : n.shape) axes.push_back(Axis::whole(extent));
  for (size_t d = 0; d < n.a.size(); ++d) {
    if (x.axes[d].extent() == n.shape[n.a[d]]) axes[n.a[d]] = x.axes[d];
  }
  if (ir::num_elements(n.shape) == 0) {
    std::vector<Table> tables(1);
    for (Axis& a : axes) a = Axis::unit(a.extent());
    return view(x, std::move(axes), tables);
  }
  return share(x, std::move(axes));
}

// S-16 pad: out[a + i*(c+1)] = x[i] where that is inside, else the value.
Value pad(const ir::Node& n, const Value& x, const Value& value) {
  const auto strides = x.strides();
  std::vector<Axis> axes;
  std::vector<Table> tables;
  for (size_t d = 0; d < n.shape.size(); ++d) {
    const Axis& axis = x.axes[d];
    const int64_t spacing = n.c[d] + 1, extent = axis.extent();
    if (n.c[d] > 0 || axis.is_unit()) {
      const bool dense = n.c[d] > 0 || n.shape[d] <= 2 * extent + 2;
      std::vector<int64_t> cuts;
      for (int64_t k = 0; !dense && k <= extent; ++k) cuts.push_back(n.a[d] + k);
      axes.push_back(dense ? Axis::unit(n.shape[d]) : Axis::at(n.shape[d], std::move(cuts)));
    } else {
      std::vector<int64_t> cuts{n.a[d]};
      for (int64_t k = 0; k < axis.blocks(); ++k) cuts.push_back(n.a[d] + axis.end(k));
      axes.push_back(Axis::at(n.shape[d], std::move(cuts)));
    }
    Table t = starts(axes.back());
    for (int64_t& p : t) {
      const int64_t q = p - n.a[d];
      p = q >= 0 && q % spacing == 0 && q / spacing < extent ? axis.block_of(q / spacing) * strides[d] : kAbsent;
    }
    tables.push_back(std::move(t));
  }
  Value out{x.dtype, std::move(axes), nullptr, nullptr};
  out.data = std::make_shared<const Buffer>(gather_or(*x.data, tables, *value.data));
  if (x.imag) out.imag = std::make_shared<const Buffer>(gather_or(*x.imag, tables, *value.imag));
  return out;
}

// S-17 concatenate along a[0].
Value concat(const ir::Node& n, const std::vector<const Value*>& in) {
  const size_t dim = static_cast<size_t>(n.a[0]);
  std::vector<Axis> axes = in[0]->axes;
  for (const Value* x : in) {
    for (size_t d = 0; d < axes.size(); ++d) {
      if (d != dim) axes[d] = common(axes[d], x->axes[d]);
    }
  }
  std::vector<int64_t> ends, labels;
  std::vector<Value> parts;
  int64_t offset = 0, total = 0;
  for (const Value* x : in) {
    std::vector<Axis> fine = axes;
    fine[dim] = x->axes[dim];
    parts.push_back(refine(*x, fine));
    for (int64_t r = 0; r < fine[dim].runs(); ++r) {
      ends.push_back(offset + fine[dim].run_end(r));
      labels.push_back(total + fine[dim].run_block(r));
    }
    offset += fine[dim].extent();
    total += fine[dim].blocks();
  }
  axes[dim] = offset == 0 ? Axis::unit(0) : Axis::labelled(offset, ends, labels);
  int64_t outer = 1, inner = 1;
  for (size_t d = 0; d < axes.size(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : axes[d].blocks();
  const auto join = [&](auto part_of) {
    Buffer out = Buffer::make(part_of(parts[0]).number, static_cast<size_t>(outer * total * inner));
    int64_t at = 0;
    for (const Value& part : parts) {
      const Buffer& b = part_of(part);
      const int64_t width = part.axes[dim].blocks() * inner;
      for (int64_t row = 0; row < outer; ++row) {
        for (int64_t k = 0; k < width; ++k)
          out.copy(static_cast<size_t>(row * total * inner + at + k), b, static_cast<size_t>(row * width + k));
      }
      at += width;
    }
    return std::make_shared<const Buffer>(std::move(out));
  };
  Value out{in[0]->dtype, axes, nullptr, nullptr};
  out.data = join([](const Value& v) -> const Buffer& { return *v.data; });
  if (in[0]->imag) out.imag = join([](const Value& v) -> const Buffer& { return *v.imag; });
  return out;
}

// S-18 window: out[.. o .., .. w ..] = x[.. o*stride + w*dilation ..]
Value window(const ir::Node& n, const Value& in) {
  Value x = in;
  for (size_t k = 0; k < n.a.size(); ++k) {
    const Axis& axis = x.axes[n.a[k]];
    if (axis.blocks() != 1) x = refine_dim(x, static_cast<size_t>(n.a[k]), Axis::unit(axis.extent()));
  }
  const auto strides = x.strides();
  std::vector<Axis> axes = x.axes;
  std::vector<Table> tables(axes.size());
  for (size_t d = 0; d < axes.size(); ++d) {
    for (int64_t k = 0; k < axes[d].blocks(); ++k) tables[d].push_back(k * strides[d]);
  }
  for (size_t k = 0; k < n.a.size(); ++k) {
    const size_t d = static_cast<size_t>(n.a[k]);
    const bool constant = x.axes[d].blocks() == 1;
    axes[d] = constant ? Axis::whole(n.shape[d]) : Axis::unit(n.shape[d]);
    axes.push_back(constant ? Axis::whole(n.b[k]) : Axis::unit(n.b[k]));
    tables[d].clear();
    Table inside;
    for (int64_t o = 0; o < axes[d].blocks(); ++o) tables[d].push_back(constant ? 0 : o * n.c[2 * k] * strides[d]);
    for (int64_t w = 0; w < axes.back().blocks(); ++w) inside.push_back(constant ? 0 : w * n.c[2 * k + 1] * strides[d]);
    tables.push_back(std::move(inside));
  }
  return view(x, std::move(axes), tables);
}

// S-31, S-32 dynamic slice and update: starts are clamped so that all lies inside.
bool clamped_starts(const ir::Node& n, const std::vector<const Value*>& in, size_t first, const ir::Shape& sizes,
                    std::vector<int64_t>& start, State& state) {
  const ir::Shape extents = in[0]->shape();
  for (size_t d = 0; d < extents.size(); ++d) {
    const Buffer& b = *in[first + d]->data;
    const int64_t room = extents[d] - sizes[d];
    if (room != 0 && b.state_at(0) != State::Fine) {
      state = b.state_at(0);
      return false;
    }
    int64_t v = b.i[0];
    if (in[first + d]->dtype == ir::DType::U64 && v < 0) v = room;  // a huge unsigned start
    start.push_back(std::clamp<int64_t>(v, 0, room));
  }
  (void)n;
  return true;
}

Value dynamic(const Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  std::vector<int64_t> start;
  State state = State::Fine;
  if (n.op == ir::Op::DynamicSlice) {
    if (!clamped_starts(n, in, 1, n.shape, start, state)) return c.poison(n.dtype, n.shape, state);
    return slice_of(*in[0], start, std::vector<int64_t>(start.size(), 1), n.shape);
  }
  const Value& update = *in[1];
  const ir::Shape sizes = update.shape();
  if (!clamped_starts(n, in, 2, sizes, start, state)) return c.poison(n.dtype, n.shape, state);
  if (ir::num_elements(sizes) == 0) return *in[0];
  std::vector<Axis> axes;
  std::vector<Table> to, from;
  const auto strides = update.strides();
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> cuts{start[d]};
    for (int64_t k = 0; k < update.axes[d].blocks(); ++k) cuts.push_back(start[d] + update.axes[d].end(k));
    axes.push_back(common(in[0]->axes[d], Axis::at(n.shape[d], std::move(cuts))));
  }
  c.check(axes);
  Value out = refine(*in[0], axes);
  const auto out_strides = out.strides();
  for (size_t d = 0; d < sizes.size(); ++d) {
    Table t, f;
    for (int64_t k = axes[d].block_of(start[d]); k < axes[d].blocks() && axes[d].start(k) < start[d] + sizes[d]; ++k) {
      t.push_back(k * out_strides[d]);
      f.push_back(update.axes[d].block_of(axes[d].start(k) - start[d]) * strides[d]);
    }
    to.push_back(std::move(t));
    from.push_back(std::move(f));
  }
  const auto targets = expand(to), sources = expand(from);
  const auto write = [&](const Buffer& base, const Buffer& b) {
    Table identity(base.size);
    for (size_t k = 0; k < identity.size(); ++k) identity[k] = static_cast<int64_t>(k);
    Buffer result = gather(base, {identity});
    for (size_t k = 0; k < targets.size(); ++k) result.copy(static_cast<size_t>(targets[k]), b, static_cast<size_t>(sources[k]));
    return std::make_shared<const Buffer>(std::move(result));
  };
  out.data = write(*out.data, *update.data);
  if (out.imag) out.imag = write(*out.imag, *update.imag);
  return out;
}

}  // namespace

// S-13 slice: out[i] = x[a + i*c]. Also dynamic slices, whose starts are known by then.
Value slice_of(const Value& x, const std::vector<int64_t>& start, const std::vector<int64_t>& step, const ir::Shape& shape) {
  const auto strides = x.strides();
  std::vector<Axis> axes;
  std::vector<Table> tables;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Axis& axis = x.axes[d];
    if (axis.is_unit() || shape[d] == 0) {
      axes.push_back(Axis::unit(shape[d]));
    } else if (!axis.contiguous()) {
      std::vector<int64_t> ends, labels;
      for (int64_t r = 0, done = 0; r < axis.runs() && done < shape[d]; ++r) {
        if (axis.run_end(r) <= start[d]) continue;
        const int64_t end = std::min((axis.run_end(r) - start[d] + step[d] - 1) / step[d], shape[d]);
        if (end <= done) continue;
        ends.push_back(done = end);
        labels.push_back(axis.run_block(r));
      }
      axes.push_back(Axis::labelled(shape[d], ends, labels));
    } else {
      std::vector<int64_t> cuts;  // the first position that is not before a cut of x
      for (int64_t k = 0; k < axis.blocks(); ++k) {
        if (axis.end(k) > start[d]) cuts.push_back((axis.end(k) - start[d] + step[d] - 1) / step[d]);
      }
      axes.push_back(Axis::at(shape[d], std::move(cuts)));
    }
    Table t = starts(axes.back());
    for (int64_t& p : t) p = axis.block_of(start[d] + p * step[d]) * strides[d];
    tables.push_back(std::move(t));
  }
  return view(x, std::move(axes), tables);
}

// The axis of a group of dimensions in a row: the blocks are the products of theirs.
Axis flatten_axes(const std::vector<Axis>& axes, int64_t max_runs) {
  Axis flat = axes.back();
  for (size_t d = axes.size() - 1; d-- > 0;) {
    const Axis& outer = axes[d];
    const int64_t inner = flat.extent(), n = outer.extent() * inner;
    if (flat.is_unit() && outer.is_unit()) {
      flat = Axis::unit(n);
      continue;
    }
    std::vector<int64_t> ends, labels;
    if (flat.blocks() == 1) {
      for (int64_t r = 0; r < outer.runs(); ++r) {
        ends.push_back(outer.run_end(r) * inner);
        labels.push_back(outer.run_block(r));
      }
    } else {
      if (outer.extent() > max_runs / flat.runs()) throw EvalError{"budget: a reshape needs too many blocks"};
      for (int64_t row = 0, r = 0; row < outer.extent(); ++row) {
        while (outer.run_end(r) <= row) ++r;
        for (int64_t k = 0; k < flat.runs(); ++k) {
          ends.push_back(row * inner + flat.run_end(k));
          labels.push_back(outer.run_block(r) * flat.blocks() + flat.run_block(k));
        }
      }
    }
    flat = Axis::labelled(n, ends, labels);
  }
  return flat;
}

namespace {

// A row of a flat axis: where its runs end, counted from its start, and their blocks.
using Row = std::vector<std::pair<int64_t, int64_t>>;

uint64_t hash_of(const Row& row) {
  uint64_t h = row.size();
  for (const auto& [end, block] : row) {
    h = (h ^ static_cast<uint64_t>(end)) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ static_cast<uint64_t>(block)) * 0x9e3779b97f4a7c15u;
  }
  return h ^ h >> 32;
}

// The columns of these rows as an axis: a block are columns that all rows read the same blocks at.
Axis columns_of(const std::vector<Row>& rows, int64_t width) {
  std::vector<int64_t> ends;
  for (const Row& row : rows) {
    for (const auto& [end, block] : row) ends.push_back(end);
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  std::vector<int64_t> labels(ends.size(), 0);
  for (const Row& row : rows) {  // a pair of labels becomes one, row by row
    std::map<std::pair<int64_t, int64_t>, int64_t> pairs;
    for (size_t k = 0, at = 0; k < ends.size(); ++k) {
      while (row[at].first < ends[k]) ++at;
      labels[k] = pairs.try_emplace({labels[k], row[at].second}, static_cast<int64_t>(pairs.size())).first->second;
    }
  }
  return Axis::labelled(width, ends, labels);
}

// For runs: a row with a border inside stands alone.
std::vector<Axis> unflatten_runs(Axis flat, const std::vector<int64_t>& sizes) {
  std::vector<Axis> out;
  int64_t rest = flat.extent();
  for (size_t d = 0; d + 1 < sizes.size(); ++d) {
    rest /= sizes[d];
    if (flat.is_unit()) {
      out.push_back(Axis::unit(sizes[d]));
      flat = Axis::unit(rest);
      continue;
    }
    std::vector<int64_t> outer, inner;
    for (int64_t k = 0; k < flat.blocks(); ++k) {
      const int64_t q = flat.end(k) / rest, r = flat.end(k) % rest;
      outer.push_back(q);
      if (r == 0) continue;
      outer.push_back(q + 1);  // the row with a cut inside stands alone
      inner.push_back(r);
    }
    out.push_back(Axis::at(sizes[d], std::move(outer)));
    flat = Axis::at(rest, std::move(inner));
  }
  out.push_back(flat);
  return out;
}

}  // namespace

// Axes of the dimensions `sizes` such that a tensor constant on the blocks of `flat` is constant on the products of theirs: rows that read
// the same blocks in the same order are one block, and so are columns.
std::vector<Axis> unflatten_axis(const Axis& flat, const std::vector<int64_t>& sizes) {
  std::vector<Axis> out;
  Axis rest = flat;
  for (size_t d = 0; d + 1 < sizes.size(); ++d) {
    if (rest.contiguous()) {
      const std::vector<Axis> others = unflatten_runs(rest, {sizes.begin() + static_cast<std::ptrdiff_t>(d), sizes.end()});
      out.insert(out.end(), others.begin(), others.end());
      return out;
    }
    const int64_t width = rest.extent() / sizes[d];
    std::vector<Row> kinds;
    std::unordered_map<uint64_t, std::vector<size_t>> by_hash;
    std::vector<int64_t> ends, labels;
    Row row;
    for (int64_t k = 0, r = 0; k < sizes[d]; ++k) {
      row.clear();
      for (;; ++r) {
        const int64_t end = std::min(rest.run_end(r) - k * width, width);
        row.emplace_back(end, rest.run_block(r));
        if (end == width) break;
      }
      if (rest.run_end(r) == (k + 1) * width) ++r;
      std::vector<size_t>& those = by_hash[hash_of(row)];
      auto same = std::find_if(those.begin(), those.end(), [&](size_t kind) { return kinds[kind] == row; });
      if (same == those.end()) {
        same = those.insert(those.end(), kinds.size());
        kinds.push_back(row);
      }
      ends.push_back(k + 1);
      labels.push_back(static_cast<int64_t>(*same));
    }
    out.push_back(Axis::labelled(sizes[d], ends, labels));
    rest = columns_of(kinds, width);
  }
  out.push_back(rest);
  return out;
}

std::vector<int64_t> expand(const std::vector<Table>& tables) {
  std::vector<int64_t> out{0};
  for (const Table& t : tables) {
    std::vector<int64_t> next;
    next.reserve(out.size() * t.size());
    for (int64_t base : out) {
      for (int64_t v : t) next.push_back(base + v);
    }
    out = std::move(next);
  }
  return out;
}

Value refine_dim(const Value& x, size_t dim, const Axis& axis) {
  std::vector<Axis> axes = x.axes;
  axes[dim] = axis;
  return refine(x, axes);
}

std::vector<Axis> to_common_axes(std::vector<Value>& values) {
  std::vector<Axis> axes = values[0].axes;
  for (const Value& v : values) {
    for (size_t d = 0; d < axes.size(); ++d) axes[d] = common(axes[d], v.axes[d]);
  }
  for (Value& v : values) v = refine(v, axes);
  return axes;
}

Value eval_view(Context& c, const ir::Node& n, const std::vector<const Value*>& in) {
  using ir::Op;
  Value out;
  switch (n.op) {
    case Op::Transpose: out = transpose(n, *in[0]); break;
    case Op::Reshape: out = reshape(c, n, *in[0]); break;
    case Op::Slice: out = slice_of(*in[0], n.a, n.c, n.shape); break;
    case Op::Reverse: out = reverse(n, *in[0]); break;
    case Op::Broadcast: out = broadcast(n, *in[0]); break;
    case Op::Pad: out = pad(n, *in[0], *in[1]); break;
    case Op::Concat: out = concat(n, in); break;
    case Op::Window: out = window(n, *in[0]); break;
    case Op::DynamicSlice:
    case Op::DynamicUpdate: out = dynamic(c, n, in); break;
    default: SP_CHECK(false);
  }
  c.spend(static_cast<double>(out.data->size));
  return out;
}

}  // namespace shardproof::interp
