// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Core operators -> Values, part 2: indexing, scans, operators on whole dimensions, draws.
#include <algorithm>
#include <deque>
#include <numeric>

#include <fmt/format.h>

#include "prove/eval.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::DType;
using ir::Fn;
using ir::Op;

// The index as it is used: in range by what is known, or made so as the mode says; else a function of its own, so that an access
// that may be undefined never meets one that is not.
Poly Evaluator::checked_index(const Poly& e, int64_t extent, ir::IndexMode mode, const Ext& ctx) {
  const auto [lo, hi] = algebra.range_by_cases(e, ctx);
  if (lo >= 0 && hi < extent) return e;
  switch (mode) {
    case ir::IndexMode::Clamp:
      return algebra.apply(Fn::Min, {algebra.apply(Fn::Max, {e, {}}, DType::I64, DType::I64, ctx), Algebra::constant(Rat(extent - 1))},
                           DType::I64, DType::I64, ctx);
    case ir::IndexMode::Wrap:
      if (lo >= -extent && hi < extent) {
        return algebra.add(e, algebra.scale(algebra.bracket(e, kNegInf, 0, ctx), extent), ctx);
      }
      break;
    default: break;
  }
  return e;
}

// The positive rational number that all coefficients of v are integer multiples of, without common divisor: v and c v have the same rest
// beside it. 1 for what is 0 everywhere.
Rat Evaluator::content(const Value& v) {
  int64_t numerator = 0, denominator = 1;
  for (const Cell& c : v.cells) {
    for (const Term& t : c.poly) {
      numerator = std::gcd(numerator, t.coef.num());
      denominator = mul_checked(denominator, t.coef.den() / std::gcd(denominator, t.coef.den()));
    }
  }
  return numerator == 0 ? Rat(1) : Rat(numerator, denominator);
}

// If v is the plain position along its dimension t plus a constant, everywhere: that dimension and constant.
std::optional<std::pair<size_t, int64_t>> Evaluator::as_position(const Value& v) const {
  if (v.cells.size() != 1 || v.shape.empty()) return std::nullopt;
  const Cell& c = v.cells[0];
  const size_t w = c.ext.size() + 1;
  if (c.poly.empty() || c.poly.size() > 2) return std::nullopt;
  Row form(w, 0);
  for (const Term& t : c.poly) {
    if (!t.coef.is_integer()) return std::nullopt;
    if (t.f.empty()) {
      form[w - 1] += t.coef.num();
    } else if (t.f.size() == 1 && t.f[0].node == algebra.iota() && t.f[0].exp.is_one()) {
      for (size_t k = 0; k < w; ++k) form[k] += t.coef.num() * t.f[0].map[k];
    } else {
      return std::nullopt;
    }
  }
  for (size_t d = 0; d < v.shape.size(); ++d) {
    bool same = v.shape[d] > 1;
    for (size_t k = 0; k + 1 < w; ++k) same &= form[k] == c.pos[d * w + k];
    if (same) return std::pair{d, form[w - 1] - c.pos[d * w + w - 1]};
  }
  return std::nullopt;
}

// Into which digits all cells of v take dimension d apart, largest first; the dimension itself where they differ, or cut it.
ir::Shape common_digits(const Value& v, size_t d) {
  std::optional<ir::Shape> common;
  for (const Cell& c : v.cells) {
    const size_t w = c.ext.size() + 1;
    std::vector<size_t> vars;
    for (size_t k = 0; k + 1 < w; ++k) {
      if (c.pos[d * w + k] != 0) vars.push_back(k);
    }
    std::sort(vars.begin(), vars.end(), [&](size_t a, size_t b) { return c.pos[d * w + a] < c.pos[d * w + b]; });
    int64_t extent = 1;
    ir::Shape digits;
    for (const size_t k : vars) {
      if (c.pos[d * w + k] != extent) return {v.shape[d]};
      extent *= c.ext[k];
      digits.insert(digits.begin(), c.ext[k]);
    }
    if (extent != v.shape[d] || digits.empty() || (common && *common != digits)) return {v.shape[d]};
    common = std::move(digits);
  }
  return common.value_or(ir::Shape{v.shape[d]});
}

// Rows that are repeated (each token for every expert): the index is one digit of its own position. Split into digits, it is a position.
// The dimension of the index, and its digits, largest first.
std::optional<std::pair<size_t, ir::Shape>> Evaluator::own_digit(const Value& index) const {
  if (index.cells.size() != 1 || as_position(index)) return std::nullopt;
  const Cell& c = index.cells[0];
  const size_t w = c.ext.size() + 1;
  if (c.poly.size() != 1 || !c.poly[0].coef.is_one() || c.poly[0].f.size() != 1 || c.poly[0].f[0].node != algebra.iota() ||
      !c.poly[0].f[0].exp.is_one())
    return std::nullopt;
  const std::vector<int64_t>& form = c.poly[0].f[0].map;
  size_t digit = w;
  for (size_t k = 0; k < w; ++k) {
    if (form[k] == 0) continue;
    if (form[k] != 1 || digit != w || k + 1 == w) return std::nullopt;
    digit = k;
  }
  for (size_t q = 0; q < index.shape.size() && digit < w; ++q) {
    if (c.pos[q * w + digit] == 0) continue;
    const ir::Shape digits = common_digits(index, q);
    if (digits.size() < 2) return std::nullopt;
    return std::pair{q, digits};
  }
  return std::nullopt;
}

void split_dim(ir::Shape& shape, size_t d, const ir::Shape& digits) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(d), digits.begin(), digits.end());
}

// Dimension numbers of an operator whose dimension n.b[q] becomes several.
void split_numbers(ir::Node& n, size_t q, const ir::Shape& digits) {
  const int64_t at = n.b[q], more = static_cast<int64_t>(digits.size()) - 1;
  for (std::vector<int64_t>* dims : {&n.a, &n.b}) {
    for (int64_t& d : *dims) d += d > at ? more : 0;
  }
  for (int64_t k = 1; k <= more; ++k) n.b.insert(n.b.begin() + static_cast<std::ptrdiff_t>(q) + k, at + k);
}

// The places of a block, if some cell of v walks dimension d in blocks and no cell cuts one; else 0.
static int64_t block_of(const Value& v, size_t d) {
  std::vector<std::vector<std::pair<int64_t, int64_t>>> walks;  // of each cell: step and extent of its variables there
  int64_t block = 0;
  for (const Cell& c : v.cells) {
    const size_t w = c.ext.size() + 1;
    std::vector<std::pair<int64_t, int64_t>>& walk = walks.emplace_back();
    for (size_t k = 0; k + 1 < w; ++k) {
      if (c.pos[d * w + k] != 0) walk.emplace_back(c.pos[d * w + k], c.ext[k]);
    }
    std::sort(walk.begin(), walk.end());
    if (block == 0 && walk.size() > 1 && walk[0].first == 1) block = walk[0].second;
  }
  if (block == 0) return 0;
  if (v.shape[d] % block != 0 && refused(Rule::L77)) return 0;
  for (size_t i = 0; i < walks.size(); ++i) {
    int64_t within = 1;
    for (const auto& [step, extent] : walks[i]) {
      if (step % block == 0) continue;
      if ((step != 1 || extent % block != 0) && refused(Rule::L77)) return 0;
      within = extent;
    }
    if (within == 1 || v.cells[i].pos[(d + 1) * (v.cells[i].ext.size() + 1) - 1] % block != 0) return 0;
  }
  fired(Rule::L77);
  return block;
}

Value Evaluator::compute_take(const ir::Node& n) {
  const bool fill = n.mode == ir::IndexMode::Fill;
  if (ir::num_elements(n.shape) == 0) return Value{n.shape, {}};
  if (n.in.size() == (fill ? 3u : 2u) && n.in[1] != n.in[0]) {  // what reads itself keeps its shape
    Value& index = values_[n.in[1]];
    if (const auto split = own_digit(index)) {
      ir::Node m = n;
      ir::Shape shape = index.shape;
      split_dim(m.shape, static_cast<size_t>(n.b[split->first]), split->second);
      split_dim(shape, split->first, split->second);
      split_numbers(m, split->first, split->second);
      const Lent lent(index, views.reshape(index, shape));
      return views.reshape(compute_take(m), n.shape);
    }
  }
  Value data = values_[n.in[0]];
  std::vector<int64_t> code = n.a;
  std::vector<const Value*> indices;
  for (size_t k = 1; k < n.in.size() - (fill ? 1 : 0); ++k) indices.push_back(&values_[n.in[k]]);
  // Rows of blocks (an expert's places in one buffer for all experts): the number of the block and the place in it are indices of their
  // own. The number is out of range, or wraps, where the index does; a clamped index is another place in the block, too.
  std::deque<Value> parts;
  std::vector<char> wraps(code.size(), n.mode == ir::IndexMode::Wrap);
  for (size_t d = 0; d < code.size() && n.mode != ir::IndexMode::Clamp; ++d) {
    if (code[d] >= 0) continue;
    const Value& v = *indices[static_cast<size_t>(-code[d] - 1)];
    wraps[d] = wraps[d] && met_index(v, n.mode, data.shape[d]).first < 0;
    const int64_t block = as_position(v) || (v.cells.size() == 1 && algebra.as_constant(v.cells[0].poly)) ? 0 : block_of(data, d);
    if (block == 0) continue;
    ir::Shape apart = data.shape;
    split_dim(apart, d, {data.shape[d] / block, block});
    data = views.reshape(data, apart);
    for (const Fn fn : {Fn::FloorDiv, Fn::Mod}) {
      Value& part = parts.emplace_back(v);
      for (Cell& c : part.cells) c.poly = algebra.apply(fn, {c.poly, Algebra::constant(Rat(block))}, DType::I64, DType::I64, c.ext);
      indices.push_back(&part);
    }
    code[d] = -static_cast<int64_t>(indices.size()) + 1;
    code.insert(code.begin() + static_cast<std::ptrdiff_t>(d) + 1, -static_cast<int64_t>(indices.size()));
    wraps.insert(wraps.begin() + static_cast<std::ptrdiff_t>(++d), 0);
  }
  // Indices that are positions or constants are views.
  std::vector<char> taken(n.shape.size(), 0);
  for (int64_t a : code) {
    if (a >= 0) taken[a] = 1;
  }
  constexpr int64_t kGone = INT64_MIN;
  for (size_t d = 0; d < code.size(); ++d) {
    if (code[d] >= 0) continue;
    const Value& v = *indices[static_cast<size_t>(-code[d] - 1)];
    std::vector<int64_t> start(data.shape.size(), 0), stop = data.shape, step(data.shape.size(), 1);
    if (v.cells.size() == 1) {
      if (auto c = algebra.as_constant(v.cells[0].poly); c && c->is_integer()) {
        int64_t at = c->num();
        if (at < 0 && wraps[d]) at += data.shape[d];
        if (n.mode == ir::IndexMode::Clamp) at = std::clamp<int64_t>(at, 0, data.shape[d] - 1);
        if (at >= 0 && at < data.shape[d]) {
          start[d] = at;
          stop[d] = at + 1;
          data = views.slice(data, start, stop, step);
          code[d] = kGone;
          continue;
        }
      }
    }
    if (auto p = as_position(v)) {
      const int64_t r = n.b[p->first], c = p->second;
      if (!taken[r] && c >= 0 && c + n.shape[r] <= data.shape[d]) {
        start[d] = c;
        stop[d] = c + n.shape[r];
        data = views.slice(data, start, stop, step);
        code[d] = r;
        taken[r] = 1;
      }
    }
  }
  // Joint space: the result, then one dimension for every index that is left.
  ir::Shape joint = n.shape;
  std::vector<int64_t> place;
  std::vector<std::pair<size_t, size_t>> inner;  // data dim, index operand
  std::vector<size_t> dim_of;                    // as code counts them
  ir::Shape kept;
  bool plain = true;
  for (size_t d = 0; d < code.size(); ++d) {
    if (code[d] == kGone) continue;
    kept.push_back(data.shape[d]);
    if (code[d] >= 0) {
      place.push_back(code[d]);
      continue;
    }
    place.push_back(static_cast<int64_t>(joint.size()));
    joint.push_back(data.shape[d]);
    inner.emplace_back(d, static_cast<size_t>(-code[d] - 1));
    dim_of.push_back(d);
    // Along an indexed dimension the data must be one plain cell.
    for (const Cell& c : data.cells) {
      const size_t w = c.ext.size() + 1;
      int64_t vars = 0, extent = 1;
      for (size_t k = 0; k + 1 < w; ++k) {
        if (c.pos[d * w + k] != 0) ++vars, extent = c.ext[k];
      }
      plain &= vars <= 1 && extent == data.shape[d];
    }
  }
  if (!plain) {
    // The digits of a dimension that is not indexed are read as dimensions of their own.
    ir::Shape apart;
    for (size_t d = 0; d < code.size(); ++d) {
      const ir::Shape digits = code[d] >= 0 ? common_digits(data, d) : ir::Shape{data.shape[d]};
      apart.insert(apart.end(), digits.begin(), digits.end());
    }
    data = views.reshape(data, apart);
    std::vector<Row> rows;
    for (size_t d = 0; d < apart.size(); ++d) rows.push_back(unit(apart.size() + 1, d));
    data = views.whole(apart, views.at(data, rows, apart));
  }
  data = views.reshape(data, kept);
  auto spread = [&](const Value& v, const std::vector<int64_t>& dims) { return views.spread(v, joint, dims); };
  std::vector<Value> spreads{spread(data, place)};
  for (const auto& [d, k] : inner) spreads.push_back(spread(*indices[k], n.b));
  std::vector<const Value*> refs;
  for (const Value& v : spreads) refs.push_back(&v);
  Poly filler;
  if (fill) filler = values_[n.in.back()].cells[0].poly;
  Value out{n.shape, {}};
  for (Refined& r : views.refine(refs)) {
    // Variables of the result first, then the inner ones in order.
    const size_t w = r.ext.size() + 1, rank = n.shape.size();
    std::vector<size_t> order, inner_var;
    std::vector<char> is_inner(r.ext.size(), 0);
    for (size_t k = 0; k < inner.size(); ++k) {
      size_t var = r.ext.size();
      for (size_t v = 0; v + 1 < w; ++v) {
        if (r.pos[(rank + k) * w + v] != 0) var = v, is_inner[v] = 1;
      }
      inner_var.push_back(var);
    }
    Ext ctx;
    for (size_t v = 0; v + 1 < w; ++v) {
      if (!is_inner[v]) order.push_back(v), ctx.push_back(r.ext[v]);
    }
    const size_t m = ctx.size();
    Ext wide = ctx;
    for (size_t k = 0; k < inner.size(); ++k) wide.push_back(joint[rank + k]);
    Sub s, front;
    s.width = static_cast<int>(wide.size()) + 1;
    s.rows.assign(r.ext.size(), Row(s.width, 0));
    front.width = static_cast<int>(m) + 1;
    front.rows.assign(r.ext.size(), Row(front.width, 0));
    for (size_t p = 0; p < order.size(); ++p) s.rows[order[p]][p] = 1, front.rows[order[p]][p] = 1;
    for (size_t k = 0; k < inner.size(); ++k) {
      if (inner_var[k] < r.ext.size()) s.rows[inner_var[k]][m + k] = 1;
    }
    Poly p = algebra.subst(r.poly[0], s, wide);
    Poly in_range = Algebra::constant(1);
    for (size_t k = inner.size(); k-- > 0;) {
      const Ext upto(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(m + k + 1)),
          before(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(m + k));
      const Poly at = algebra.subst(r.poly[1 + k], front, ctx);
      Sub widen;
      widen.width = static_cast<int>(before.size()) + 1;
      for (size_t v = 0; v < m; ++v) widen.rows.push_back(unit(before.size() + 1, v));
      const Poly e = algebra.subst(at, widen, before);
      const int64_t extent = joint[rank + k];
      if (fill) {
        in_range = algebra.mul(in_range, algebra.bracket(at, 0, extent, ctx), ctx);
        p = algebra.where(algebra.bracket(e, 0, extent, before), algebra.take(p, upto, e, before), before);
      } else {
        const bool sequential = !algebra.structure_known;
        const bool stops = sequential && (n.mode == ir::IndexMode::Wrap || n.mode == ir::IndexMode::Strict);
        const auto outside = wraps[dim_of[k]] ? (stops ? Algebra::Outside::WrapsOrStops : Algebra::Outside::Wraps)
                             : stops          ? Algebra::Outside::Stops
                                              : Algebra::Outside::Undefined;
        const ir::IndexMode mode = n.mode == ir::IndexMode::Wrap && !wraps[dim_of[k]] ? ir::IndexMode::Strict : n.mode;
        p = algebra.take(p, upto, checked_index(e, extent, mode, before), before, outside);
      }
    }
    if (fill) {
      Sub none;
      none.width = static_cast<int>(m) + 1;
      p = algebra.select(in_range, p, algebra.subst(filler, none, ctx), ctx);
    }
    Cell c;
    c.ext = ctx;
    for (size_t d = 0; d < rank; ++d) {
      for (size_t v : order) c.pos.push_back(r.pos[d * w + v]);
      c.pos.push_back(r.pos[d * w + w - 1]);
    }
    c.poly = std::move(p);
    out.cells.push_back(std::move(c));
  }
  if (out.cells.size() > 1) views.join(out);
  return out;
}

Value Evaluator::compute_scan(const ir::Node& n) {
  const Value& x = values_[n.in[0]];
  const int64_t dim = n.a[0];
  if (n.fn != Fn::Add || x.cells.empty()) {
    std::vector<int64_t> parallel;
    std::vector<int> factor;
    for (size_t d = 0; d < x.shape.size(); ++d) {
      factor.push_back(static_cast<int64_t>(d) == dim ? 1000 : static_cast<int>(parallel.size()));
      if (static_cast<int64_t>(d) != dim) parallel.push_back(x.shape[d]);
    }
    return whole(fmt::format("scan:{}:{}:{}", ir::name(n.fn), n.a[1], n.a[2]), n.dtype, {{&x, factor}}, parallel, factor, n.shape);
  }
  // out[i] = sum over k of [k <= i] x[k] (or <, >=, >).
  const size_t rank = x.shape.size();
  ir::Shape joint = n.shape;
  joint.push_back(x.shape[dim]);
  std::vector<int64_t> dims;
  Value moved = x;
  {
    // x with its scanned dimension last.
    std::vector<int64_t> perm;
    for (size_t d = 0; d < rank; ++d) {
      if (static_cast<int64_t>(d) != dim) perm.push_back(static_cast<int64_t>(d)), dims.push_back(static_cast<int64_t>(d));
    }
    perm.push_back(dim);
    dims.push_back(static_cast<int64_t>(rank));
    moved = views.broadcast(views.transpose(x, perm), joint, dims);
  }
  const Value frame = views.whole(joint, {});
  Value product{joint, {}};
  for (Refined& r : views.refine({&frame, &moved})) {
    const size_t w = r.ext.size() + 1;
    Row row(w, 0);
    for (size_t v = 0; v < w; ++v) row[v] = r.pos[static_cast<size_t>(dim) * w + v] - r.pos[rank * w + v];  // i - k
    if (n.a[1]) {
      for (int64_t& v : row) v = -v;
    }
    Poly b = algebra.bracket(algebra.index(row, r.ext), n.a[2] ? 1 : 0, kPosInf, r.ext);
    Poly p = algebra.where(b, r.poly[1], r.ext);  // what does not count yet is not looked at
    product.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
  }
  Value out = compute_reduce(product, Fn::Add, {static_cast<int64_t>(rank)}, n.shape);
  if (ir::is_int(n.dtype)) {
    for (Cell& c : out.cells) c.poly = wrap(c.poly, n.dtype, c.ext);
  }
  return out;
}

Value Evaluator::compute_dynamic_slice(const ir::Node& n) {
  const Value& x = values_[n.in[0]];
  // XLA's own passes add the starts of two nested dynamic slices, also where the inner one had to be clamped (openxla/xla#49122): what runs
  // is then not what the text says. Such a pair is left undecided.
  const ir::Node& inner = problem_.graph[n.in[0]];
  if (inner.op == Op::DynamicSlice && problem_.side[n.in[0]] >= 0) {
    for (size_t d = 0; d < x.shape.size(); ++d) {
      const Value &s = values_[inner.in[1 + d]], &t = values_[n.in[1 + d]];
      if (s.cells.size() != 1 || t.cells.size() != 1) continue;
      const auto outer = algebra.as_constant(t.cells[0].poly);
      const auto [lo, hi] = algebra.range(s.cells[0].poly, {});
      const int64_t last = problem_.graph[inner.in[0]].shape[d] - inner.a[d];
      if ((lo < 0 || hi > last) && !(outer && outer->is_zero()))
        throw Overflow("dynamic slice of a dynamic slice whose start is clamped: XLA merges the two wrongly (openxla/xla#49122)");
    }
  }
  std::vector<int64_t> start, stop, step;
  std::vector<Poly> moving(x.shape.size());
  std::vector<char> dynamic(x.shape.size(), 0);
  bool any = false;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const Value& s = values_[n.in[1 + d]];
    if (s.cells.size() != 1) throw Overflow("start in pieces");
    const int64_t last = x.shape[d] - n.a[d];
    const auto c = algebra.as_constant(s.cells[0].poly);
    if (c && c->is_integer()) {
      start.push_back(std::clamp<int64_t>(c->num(), 0, last));
    } else if (last == 0) {
      start.push_back(0);
    } else {
      dynamic[d] = 1;
      any = true;
      moving[d] = checked_index(s.cells[0].poly, last + 1, ir::IndexMode::Clamp, {});
      start.push_back(0);
    }
    stop.push_back(dynamic[d] ? x.shape[d] : start.back() + n.a[d]);
    step.push_back(1);
  }
  Value v = views.slice(x, start, stop, step);
  if (!any || ir::num_elements(n.shape) == 0) return v;
  // Reading at start + i.
  const size_t rank = x.shape.size();
  Ext ctx = n.shape, wide = ctx;
  for (size_t d = 0; d < rank; ++d) {
    if (dynamic[d]) wide.push_back(x.shape[d]);
  }
  std::vector<Row> rows;
  size_t next = rank;
  for (size_t d = 0; d < rank; ++d) rows.push_back(unit(wide.size() + 1, dynamic[d] ? next++ : d));
  Poly p = views.at(v, rows, wide);
  for (size_t d = rank; d-- > 0;) {
    if (!dynamic[d]) continue;
    Ext upto(wide.begin(), wide.end()), before(wide.begin(), wide.end() - 1);
    Sub s;
    s.width = static_cast<int>(before.size()) + 1;
    Poly e = algebra.add(algebra.subst(moving[d], s, before), algebra.index(unit(before.size() + 1, d), before), before);
    p = algebra.take(p, upto, e, before);
    wide.pop_back();
  }
  Value out = views.whole(n.shape, p);
  return out;
}

Value Evaluator::overlay(const Value& x, const Value& update, const std::vector<int64_t>& start) {
  Value out{x.shape, {}};
  std::vector<Cell> around = x.cells;
  std::vector<Cell> inside;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    std::vector<Cell> next;
    for (const Cell& c : around) {
      for (Cell& p : views.clip(c, d, 0, start[d])) out.cells.push_back(std::move(p));
      for (Cell& p : views.clip(c, d, start[d] + update.shape[d], x.shape[d])) out.cells.push_back(std::move(p));
      for (Cell& p : views.clip(c, d, start[d], start[d] + update.shape[d])) next.push_back(std::move(p));
    }
    around = std::move(next);
  }
  for (Cell c : update.cells) {
    const size_t w = c.ext.size() + 1;
    for (size_t d = 0; d < x.shape.size(); ++d) c.pos[d * w + w - 1] += start[d];
    out.cells.push_back(std::move(c));
  }
  views.join(out);
  return out;
}

Value Evaluator::compute_dynamic_update(const ir::Node& n) {
  const Value &x = values_[n.in[0]], &u = values_[n.in[1]];
  if (u.cells.empty()) return x;
  std::vector<int64_t> start;
  std::vector<Poly> moving(x.shape.size());
  bool any = false;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const Value& s = values_[n.in[2 + d]];
    if (s.cells.size() != 1) throw Overflow("start in pieces");
    const int64_t last = x.shape[d] - u.shape[d];
    const auto c = algebra.as_constant(s.cells[0].poly);
    if (c && c->is_integer()) {
      start.push_back(std::clamp<int64_t>(c->num(), 0, last));
      moving[d] = Algebra::constant(Rat(start.back()));
    } else if (last == 0) {
      start.push_back(0);
    } else {
      any = true;
      start.push_back(-1);
      moving[d] = checked_index(s.cells[0].poly, last + 1, ir::IndexMode::Clamp, {});
    }
  }
  if (!any) return overlay(x, u, start);
  // out[i] = [start <= i < start + size in every dim] ? update[i - start] : x[i]
  const size_t rank = x.shape.size();
  Value out{n.shape, {}};
  const Value frame = views.whole(n.shape, {});
  // An update in pieces, or whose dimensions are made of digits, that fills the other dimensions, one row in those in which its place is
  // unknown: it is the same wherever it lands.
  const auto walked = static_cast<size_t>(std::count_if(u.shape.begin(), u.shape.end(), [](int64_t e) { return e > 1; }));
  bool rows_only = u.cells.size() > 1 || u.cells[0].ext.size() > walked;
  for (size_t d = 0; d < rank; ++d) rows_only &= start[d] < 0 ? u.shape[d] == 1 : u.shape[d] == x.shape[d];
  Value everywhere;
  if (rows_only) {
    std::vector<int64_t> dims(rank);
    for (size_t d = 0; d < rank; ++d) dims[d] = static_cast<int64_t>(d);
    everywhere = views.broadcast(u, x.shape, dims);
  }
  for (Refined& r : rows_only ? views.refine({&frame, &x, &everywhere}) : views.refine({&frame, &x})) {
    const size_t m = r.ext.size();
    Poly inside = Algebra::constant(1);
    std::vector<Poly> index(rank);
    for (size_t d = 0; d < rank; ++d) {
      Row row(m + 1, 0);
      for (size_t v = 0; v <= m; ++v) row[v] = r.pos[d * (m + 1) + v];
      Sub s;
      s.width = static_cast<int>(m) + 1;
      index[d] = algebra.add(algebra.index(row, r.ext), algebra.scale(algebra.subst(moving[d], s, r.ext), -1), r.ext);
      inside = algebra.mul(inside, algebra.bracket(index[d], 0, u.shape[d], r.ext), r.ext);
    }
    Ext wide = r.ext;
    for (int64_t e : u.shape) wide.push_back(e);
    std::vector<Row> rows;
    for (size_t d = 0; d < rank; ++d) rows.push_back(unit(wide.size() + 1, m + d));
    Poly at = rows_only ? std::move(r.poly[2]) : views.at(u, rows, wide);
    // Read under the bracket, where the indices are in range.
    for (size_t d = rows_only ? 0 : rank; d-- > 0;) {
      Ext before(wide.begin(), wide.end() - 1);
      Sub s;
      s.width = static_cast<int>(before.size()) + 1;
      for (size_t v = 0; v < m; ++v) s.rows.push_back(unit(before.size() + 1, v));
      at = algebra.reindex_trusted(at, wide, algebra.subst(index[d], s, before), before);
      wide.pop_back();
    }
    Poly taken = algebra.where(inside, at, r.ext);
    Poly rest = algebra.where(algebra.add(Algebra::constant(1), algebra.scale(inside, -1), r.ext), r.poly[1], r.ext);
    out.cells.push_back(Cell{r.ext, r.pos, algebra.add(std::move(taken), rest, r.ext)});
  }
  if (out.cells.size() > 1) views.join(out);
  return out;
}

}  // namespace shardproof::prove
