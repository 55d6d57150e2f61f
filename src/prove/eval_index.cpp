// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Core operators -> Values, part 2: indexing, scans, operators on whole dimensions, draws.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "prove/eval.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::DType;
using ir::Fn;
using ir::Op;

namespace {

Row unit(size_t width, size_t at) {
  Row r(width, 0);
  r[at] = 1;
  return r;
}

}  // namespace

// The index as it is used: in range by what is known, or made so as the mode says; else a function of its own, so that an access
// that may be undefined never meets one that is not.
Poly Evaluator::checked_index(const Poly& e, int64_t extent, ir::IndexMode mode, const Ext& ctx) {
  const auto [lo, hi] = algebra.range_by_cases(e, ctx);
  if (lo >= 0 && hi < extent) return e;
  switch (mode) {
    case ir::IndexMode::Clamp:
      return algebra.apply(Fn::Min, {algebra.apply(Fn::Max, {e, {}}, DType::I64, DType::I64, ctx), Algebra::constant(Rat(extent - 1))}, DType::I64, DType::I64, ctx);
    case ir::IndexMode::Wrap:
      if (lo >= -extent && hi < extent) {
        return algebra.add(e, algebra.scale(algebra.bracket(e, kNegInf, 0, ctx), extent), ctx);
      }
      break;
    default: break;
  }
  return e;
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

Value Evaluator::compute_take(const ir::Node& n) {
  const bool fill = n.mode == ir::IndexMode::Fill;
  if (ir::num_elements(n.shape) == 0) return Value{n.shape, {}};
  // Indices that are positions or constants are views.
  Value data = values_[n.in[0]];
  std::vector<int64_t> code = n.a;
  std::vector<char> taken(n.shape.size(), 0);
  for (int64_t a : code) {
    if (a >= 0) taken[a] = 1;
  }
  constexpr int64_t kGone = INT64_MIN;
  for (size_t d = 0; d < code.size(); ++d) {
    if (code[d] >= 0) continue;
    const Value& v = values_[n.in[static_cast<size_t>(-code[d])]];
    std::vector<int64_t> start(data.shape.size(), 0), stop = data.shape, step(data.shape.size(), 1);
    if (v.cells.size() == 1) {
      if (auto c = algebra.as_constant(v.cells[0].poly); c && c->is_integer()) {
        int64_t at = c->num();
        if (at < 0 && n.mode == ir::IndexMode::Wrap) at += data.shape[d];
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
  std::vector<std::pair<size_t, size_t>> inner;   // data dim, index operand
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
    const size_t rank = data.shape.size();
    std::vector<Row> rows;
    for (size_t d = 0; d < rank; ++d) rows.push_back(unit(rank + 1, d));
    data = views.whole(data.shape, views.at(data, rows, data.shape));
  }
  data = views.reshape(data, kept);
  auto spread = [&](const Value& v, const std::vector<int64_t>& dims) {
    std::vector<int64_t> perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::sort(perm.begin(), perm.end(), [&](int64_t p, int64_t q) { return dims[p] < dims[q]; });
    std::vector<int64_t> sorted;
    for (int64_t p : perm) sorted.push_back(dims[p]);
    return views.broadcast(views.transpose(v, perm), joint, sorted);
  };
  std::vector<Value> spreads{spread(data, place)};
  for (const auto& [d, k] : inner) spreads.push_back(spread(values_[n.in[1 + k]], n.b));
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
      const Ext upto(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(m + k + 1)), before(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(m + k));
      const Poly at = algebra.subst(r.poly[1 + k], front, ctx);
      Sub widen;
      widen.width = static_cast<int>(before.size()) + 1;
      for (size_t v = 0; v < m; ++v) widen.rows.push_back(unit(before.size() + 1, v));
      const Poly e = algebra.subst(at, widen, before);
      const int64_t extent = joint[rank + k];
      if (fill) {
        in_range = algebra.mul(in_range, algebra.bracket(at, 0, extent, ctx), ctx);
        p = algebra.mul(algebra.bracket(e, 0, extent, before), algebra.take(p, upto, e, before), before);
      } else {
        p = algebra.take(p, upto, checked_index(e, extent, n.mode, before), before);
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

Value Evaluator::compute_scatter(const ir::Node& n) {
  const Value &data = values_[n.in[0]], &updates = values_[n.in[1]];
  const size_t count = n.in.size() - 2;
  if (ir::num_elements(n.shape) == 0) return Value{n.shape, {}};
  if (ir::num_elements(updates.shape) == 0) return data;
  // An index that is the plain position along one of the update's dimensions makes that a window dimension: rows are then distinct.
  std::vector<int64_t> code = n.a;
  std::vector<char> placed(updates.shape.size(), 0);
  for (int64_t a : code) {
    if (a >= 0) placed[a] = 1;
  }
  for (size_t d = 0; d < code.size(); ++d) {
    if (code[d] >= 0) continue;
    const auto p = as_position(values_[n.in[1 + static_cast<size_t>(-code[d])]]);
    if (!p || p->second != 0) continue;
    const int64_t u = n.b[p->first];
    if (placed[u] || updates.shape[u] != data.shape[d]) continue;
    code[d] = u;
    placed[u] = 1;
  }
  const bool single = [&] {
    int64_t c = 1;
    for (int64_t b : n.b) c *= placed[b] ? 1 : updates.shape[b];
    return c == 1;
  }();
  if (n.fn != Fn::Add && !(n.set && single)) {
    // Several updates that overwrite: an operator of its own, parallel over the window dimensions.
    std::vector<int64_t> parallel;
    std::vector<int> fd(data.shape.size()), fu(updates.shape.size(), 1000), result;
    int inner = 1000;
    for (size_t d = 0; d < data.shape.size(); ++d) {
      if (n.a[d] >= 0) {
        fd[d] = static_cast<int>(parallel.size());
        fu[n.a[d]] = fd[d];
        parallel.push_back(data.shape[d]);
      } else {
        fd[d] = inner++;
      }
      result.push_back(fd[d]);
    }
    for (int& f : fu) {
      if (f == 1000) f = inner++;
    }
    std::vector<WholeArg> args{{&data, fd}, {&updates, fu}};
    for (size_t k = 0; k < count; ++k) {
      std::vector<int> fi;
      for (size_t b = 0; b < n.b.size(); ++b) fi.push_back(inner++);
      args.push_back({&values_[n.in[2 + k]], fi});
    }
    std::string name = fmt::format("scatter:{}:{}:{}", n.set ? "set" : ir::name(n.fn), static_cast<int>(n.mode), fmt::join(n.a, ","));
    return whole(name, n.dtype, args, parallel, result, n.shape);
  }
  // Joint space: result dims, then the update dims that the index operands run over.
  ir::Shape joint = n.shape;
  std::vector<int64_t> extra;
  std::vector<int64_t> place(updates.shape.size(), -1);
  for (size_t d = 0; d < n.shape.size(); ++d) {
    if (code[d] >= 0) place[code[d]] = static_cast<int64_t>(d);
  }
  std::vector<int64_t> bplace;
  for (int64_t b : n.b) {
    if (place[b] < 0) {
      place[b] = static_cast<int64_t>(joint.size());
      extra.push_back(place[b]);
      joint.push_back(updates.shape[b]);
    }
    bplace.push_back(place[b]);
  }
  for (int64_t p : place) {
    if (p < 0) throw Overflow("scatter with a dimension that goes nowhere");
  }
  // Window dims may be narrower than the data's: updates cover [0, extent) of them only.
  for (size_t d = 0; d < n.shape.size(); ++d) {
    if (code[d] >= 0 && updates.shape[code[d]] != n.shape[d]) throw Overflow("scatter of narrow windows");
  }
  auto spread = [&](const Value& v, const std::vector<int64_t>& dims) {
    std::vector<int64_t> perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::sort(perm.begin(), perm.end(), [&](int64_t p, int64_t q) { return dims[p] < dims[q]; });
    std::vector<int64_t> sorted;
    for (int64_t p : perm) sorted.push_back(dims[p]);
    return views.broadcast(views.transpose(v, perm), joint, sorted);
  };
  std::vector<Value> spreads;
  spreads.push_back(spread(updates, place));
  for (size_t k = 0; k < count; ++k) spreads.push_back(spread(values_[n.in[2 + k]], bplace));
  const Value frame = views.whole(joint, {});
  std::vector<const Value*> refs{&frame};
  for (const Value& v : spreads) refs.push_back(&v);
  Value product{joint, {}}, hit{joint, {}};
  for (Refined& r : views.refine(refs)) {
    const size_t m = r.ext.size();
    Poly match = Algebra::constant(1);
    for (size_t d = 0; d < n.shape.size(); ++d) {
      if (code[d] >= 0) continue;
      const Poly& raw = r.poly[2 + static_cast<size_t>(-code[d] - 1)];
      const auto [lo, hi] = algebra.range_by_cases(raw, r.ext);
      Poly e = raw;
      if (!(lo >= 0 && hi < n.shape[d])) {
        if (n.mode == ir::IndexMode::Wrap && lo >= -n.shape[d] && hi < n.shape[d]) {
          e = checked_index(raw, n.shape[d], n.mode, r.ext);
        } else if (n.mode != ir::IndexMode::Fill) {
          // Outside the range the result is undefined: only the same index into the same extent is the same operator.
          throw Overflow("scatter with an index that is not known to be in range (state it as a fact)");
        }
      }
      Row row(m + 1, 0);
      for (size_t v = 0; v <= m; ++v) row[v] = r.pos[d * (m + 1) + v];
      Poly position = algebra.index(row, r.ext);
      match = algebra.mul(match, algebra.compare(Fn::Eq, e, position, true, r.ext), r.ext);
    }
    Poly p = algebra.mul(match, r.poly[1], r.ext);
    product.cells.push_back(Cell{r.ext, r.pos, std::move(p)});
    hit.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(match)});
  }
  Value sum = extra.empty() ? std::move(product) : compute_reduce(product, Fn::Add, extra, n.shape);
  if (n.fn == Fn::Add && !n.set) {
    Value out{n.shape, {}};
    for (Refined& r : views.refine({&data, &sum})) {
      Poly p = algebra.add(r.poly[0], r.poly[1], r.ext);
      if (ir::is_int(n.dtype)) p = wrap(p, n.dtype, r.ext);
      out.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
    }
    if (out.cells.size() > 1) views.join(out);
    return out;
  }
  Value hits = extra.empty() ? std::move(hit) : compute_reduce(hit, Fn::Add, extra, n.shape);
  Value update_value = extra.empty() ? spreads[0] : compute_reduce(spreads[0], Fn::Add, extra, n.shape);
  Value out{n.shape, {}};
  for (Refined& r : views.refine({&hits, &update_value, &data})) {
    Poly p = algebra.select(r.poly[0], r.poly[1], r.poly[2], r.ext);
    out.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
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
    for (size_t v = 0; v < w; ++v) row[v] = r.pos[static_cast<size_t>(dim) * w + v] - r.pos[rank * w + v];   // i - k
    if (n.a[1]) {
      for (int64_t& v : row) v = -v;
    }
    Poly b = algebra.bracket(algebra.index(row, r.ext), n.a[2] ? 1 : 0, kPosInf, r.ext);
    Poly p = algebra.mul(b, r.poly[1], r.ext);
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
  for (Refined& r : views.refine({&frame, &x})) {
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
    Poly p = algebra.mul(inside, Algebra::constant(1), r.ext);
    Poly at = views.at(u, rows, wide);
    // Read under the bracket, where the indices are in range.
    for (size_t d = rank; d-- > 0;) {
      Ext before(wide.begin(), wide.end() - 1);
      Sub s;
      s.width = static_cast<int>(before.size()) + 1;
      for (size_t v = 0; v < m; ++v) s.rows.push_back(unit(before.size() + 1, v));
      at = algebra.reindex_trusted(at, wide, algebra.subst(index[d], s, before), before);
      wide.pop_back();
    }
    Poly taken = algebra.mul(p, at, r.ext);
    Poly rest = algebra.mul(algebra.add(Algebra::constant(1), algebra.scale(inside, -1), r.ext), r.poly[1], r.ext);
    out.cells.push_back(Cell{r.ext, r.pos, algebra.add(std::move(taken), rest, r.ext)});
  }
  if (out.cells.size() > 1) views.join(out);
  return out;
}

// --- operators on whole dimensions -----------------------------------------------------------------------------------------------

// The operator's node, read at the parallel variables (ctx) and the result's own; positions along parallel dimensions are left to the caller.
Cell Evaluator::whole_cell(Node spec, const Ext& ctx, int P, const std::vector<int>& result, const ir::Shape& shape) {
  const std::string name = spec.name;
  const DType dtype = spec.dtype;
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] >= P) spec.result.push_back(shape[d]);
  }
  spec.known.integer = ir::is_int(dtype) || dtype == DType::Bool;
  if (dtype == DType::Bool) spec.known.boolean = spec.known.nonneg = true, spec.known.lo = 0, spec.known.hi = 1;
  if (name.starts_with("arg") && spec.inner.size() == 1 && spec.inner[0].size() == 1) {
    spec.known.lo = 0;
    spec.known.hi = spec.inner[0][0] - 1;
    spec.known.nonneg = spec.known.finite = spec.known.no_pos_inf = true;
  }
  if (name.starts_with("sort") && !spec.args.empty()) {
    // A permutation of its operand: bounds and finiteness carry over.
    Ext wide = ctx;
    const size_t which = static_cast<size_t>(name.back() - '0') < spec.args.size() ? static_cast<size_t>(name.back() - '0') : 0;
    wide.insert(wide.end(), spec.inner[which].begin(), spec.inner[which].end());
    bool keys_fine = true;
    for (size_t k = 0; k < spec.args.size(); ++k) {
      Ext e = ctx;
      e.insert(e.end(), spec.inner[k].begin(), spec.inner[k].end());
      keys_fine &= algebra.known(spec.args[k], e).finite;
    }
    const Known k = algebra.known(spec.args[which], wide);
    if (keys_fine) {
      spec.known = k;
      spec.known.nonzero = k.nonzero;
    } else if (k.integer) {
      spec.known.integer = true;
      spec.known.lo = k.lo;
      spec.known.hi = k.hi;
      spec.known.nonneg = k.nonneg;
    }
  }
  const size_t results = spec.result.size();
  Factor f = algebra.intern(std::move(spec), ctx);
  // Read at the parallel variables and the result's own.
  Cell c;
  c.ext = ctx;
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] >= P) c.ext.push_back(shape[d]);
  }
  const size_t w = c.ext.size() + 1, pw = ctx.size() + 1;
  std::vector<int64_t> map;
  for (size_t r = 0; r < f.map.size() / pw; ++r) {
    for (size_t v = 0; v + 1 < pw; ++v) map.push_back(f.map[r * pw + v]);
    for (size_t v = 0; v < results; ++v) map.push_back(0);
    map.push_back(f.map[r * pw + pw - 1]);
  }
  for (size_t v = 0; v < results; ++v) {
    const Row r = unit(w, ctx.size() + v);
    map.insert(map.end(), r.begin(), r.end());
  }
  c.pos.assign(result.size() * w, 0);
  size_t next = ctx.size();
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] >= P) c.pos[d * w + next++] = 1;
  }
  c.poly = algebra.access(f.node, std::move(map), c.ext);
  return c;
}

Value Evaluator::whole(const std::string& name, DType dtype, const std::vector<WholeArg>& args, const std::vector<int64_t>& parallel,
                       const std::vector<int>& result, const ir::Shape& shape) {
  if (ir::num_elements(shape) == 0) return Value{shape, {}};
  const int P = static_cast<int>(parallel.size());
  // Where every argument is one plain piece along its inner dimensions, the cells of the arguments decide (parallel dimensions may be in
  // pieces or have digits).
  bool plain = true;
  for (const WholeArg& a : args) {
    for (const Cell& c : a.value->cells) {
      const size_t w = c.ext.size() + 1;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] < P) continue;
        int64_t vars = 0, extent = 1;
        for (size_t v = 0; v + 1 < w; ++v) {
          if (c.pos[d * w + v] != 0) ++vars, extent = c.ext[v];
        }
        plain &= vars <= 1 && extent == a.value->shape[d];
      }
    }
  }
  if (plain && !args.empty()) {
    ir::Shape joint(parallel.begin(), parallel.end());
    std::map<int, int64_t> inner_dim;   // inner factor -> joint dimension
    std::vector<Value> spreads;
    spreads.push_back(views.whole(joint, {}));
    std::vector<std::vector<int64_t>> places;
    for (const WholeArg& a : args) {
      std::vector<int64_t> place;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] < P) {
          place.push_back(a.factor[d]);
          continue;
        }
        auto [it, fresh] = inner_dim.try_emplace(a.factor[d], static_cast<int64_t>(joint.size()));
        if (fresh) joint.push_back(a.value->shape[d]);
        place.push_back(it->second);
      }
      places.push_back(std::move(place));
    }
    spreads[0] = views.whole(joint, {});
    for (size_t k = 0; k < args.size(); ++k) {
      std::vector<int64_t> perm(places[k].size());
      std::iota(perm.begin(), perm.end(), 0);
      std::sort(perm.begin(), perm.end(), [&](int64_t p, int64_t q) { return places[k][p] < places[k][q]; });
      std::vector<int64_t> sorted;
      for (int64_t p : perm) sorted.push_back(places[k][p]);
      spreads.push_back(views.broadcast(views.transpose(*args[k].value, perm), joint, sorted));
    }
    std::vector<const Value*> refs;
    for (const Value& v : spreads) refs.push_back(&v);
    Value out{shape, {}};
    for (Refined& r : views.refine(refs)) {
      const size_t w = r.ext.size() + 1;
      std::vector<size_t> order, inner_var(joint.size(), r.ext.size());
      std::vector<char> is_inner(r.ext.size(), 0);
      for (size_t d = static_cast<size_t>(P); d < joint.size(); ++d) {
        for (size_t v = 0; v + 1 < w; ++v) {
          if (r.pos[d * w + v] != 0) inner_var[d] = v, is_inner[v] = 1;
        }
      }
      Ext ctx;
      for (size_t v = 0; v + 1 < w; ++v) {
        if (!is_inner[v]) order.push_back(v), ctx.push_back(r.ext[v]);
      }
      Node spec;
      spec.kind = Kind::Whole;
      spec.name = name;
      spec.dtype = dtype;
      for (size_t k = 0; k < args.size(); ++k) {
        Ext inner;
        Sub s;
        s.width = static_cast<int>(ctx.size()) + 1;
        std::vector<std::pair<size_t, size_t>> put;   // joint variable, inner number
        for (size_t d = 0; d < args[k].factor.size(); ++d) {
          if (args[k].factor[d] < P) continue;
          const size_t var = inner_var[static_cast<size_t>(places[k][d])];
          if (var < r.ext.size()) put.emplace_back(var, inner.size());
          inner.push_back(args[k].value->shape[d]);
        }
        s.width += static_cast<int>(inner.size());
        s.rows.assign(r.ext.size(), Row(s.width, 0));
        for (size_t p = 0; p < order.size(); ++p) s.rows[order[p]][p] = 1;
        for (const auto& [var, number] : put) s.rows[var][ctx.size() + number] = 1;
        Ext wide = ctx;
        wide.insert(wide.end(), inner.begin(), inner.end());
        spec.args.push_back(algebra.subst(r.poly[1 + k], s, wide));
        spec.inner.push_back(std::move(inner));
      }
      Cell c = whole_cell(std::move(spec), ctx, P, result, shape);
      // Positions along parallel dimensions are those of the refined cell.
      const size_t cw = c.ext.size() + 1;
      for (size_t d = 0; d < result.size(); ++d) {
        if (result[d] >= P) continue;
        for (size_t p = 0; p < order.size(); ++p) c.pos[d * cw + p] = r.pos[static_cast<size_t>(result[d]) * w + order[p]];
        c.pos[d * cw + cw - 1] = r.pos[static_cast<size_t>(result[d]) * w + w - 1];
      }
      out.cells.push_back(std::move(c));
    }
    if (out.cells.size() > 1) views.join(out);
    return out;
  }
  // Borders along parallel dimensions.
  std::vector<std::vector<int64_t>> cuts(P);
  for (int p = 0; p < P; ++p) cuts[p] = {0, parallel[p]};
  for (const WholeArg& a : args) {
    for (const Cell& c : a.value->cells) {
      const size_t w = c.ext.size() + 1;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] >= P) continue;
        int64_t lo = c.pos[d * w + w - 1], hi = lo, count = 1;
        for (size_t v = 0; v + 1 < w; ++v) {
          hi += c.pos[d * w + v] * (c.ext[v] - 1);
          if (c.pos[d * w + v] != 0) count *= c.ext[v];
        }
        if (count != hi - lo + 1) continue;
        cuts[a.factor[d]].push_back(lo);
        cuts[a.factor[d]].push_back(hi + 1);
      }
    }
  }
  int64_t boxes = 1;
  for (auto& c : cuts) {
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    boxes *= static_cast<int64_t>(c.size()) - 1;
  }
  if (boxes > 1024) throw Overflow("too many pieces");
  Value out{shape, {}};
  std::vector<size_t> at(P, 0);
  while (true) {
    Ext ctx;
    for (int p = 0; p < P; ++p) ctx.push_back(cuts[p][at[p] + 1] - cuts[p][at[p]]);
    Node spec;
    spec.kind = Kind::Whole;
    spec.name = name;
    spec.dtype = dtype;
    for (const WholeArg& a : args) {
      // The argument over the box's parallel variables and its own inner ones.
      std::vector<int64_t> start, stop, step(a.value->shape.size(), 1);
      Ext wide = ctx;
      std::vector<Row> rows;
      Ext inner;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] < P) {
          start.push_back(cuts[a.factor[d]][at[a.factor[d]]]);
          stop.push_back(cuts[a.factor[d]][at[a.factor[d]] + 1]);
        } else {
          start.push_back(0);
          stop.push_back(a.value->shape[d]);
          inner.push_back(a.value->shape[d]);
          wide.push_back(a.value->shape[d]);
        }
      }
      size_t next = static_cast<size_t>(P);
      for (size_t d = 0; d < a.factor.size(); ++d) rows.push_back(unit(wide.size() + 1, a.factor[d] < P ? static_cast<size_t>(a.factor[d]) : next++));
      const Value piece = views.slice(*a.value, start, stop, step);
      spec.args.push_back(views.at(piece, rows, wide));
      spec.inner.push_back(std::move(inner));
    }
    Cell c = whole_cell(std::move(spec), ctx, P, result, shape);
    const size_t w = c.ext.size() + 1;
    for (size_t d = 0; d < result.size(); ++d) {
      if (result[d] >= P) continue;
      c.pos[d * w + static_cast<size_t>(result[d])] = 1;
      c.pos[d * w + w - 1] = cuts[result[d]][at[result[d]]];
    }
    out.cells.push_back(std::move(c));
    int p = 0;
    while (p < P && ++at[p] + 1 == cuts[p].size()) at[p++] = 0;
    if (p == P) break;
  }
  if (out.cells.size() > 1) views.join(out);
  return out;
}

Value Evaluator::compute_result(ir::NodeId id, const ir::Node& n) {
  const ir::Node& t = problem_.graph[n.in[0]];
  for (ir::NodeId in : t.in) value(in);
  if (t.op == Op::Sort) {
    const Value& x = values_[t.in[0]];
    std::vector<int64_t> parallel;
    std::vector<int> factor;
    for (size_t d = 0; d < x.shape.size(); ++d) {
      factor.push_back(static_cast<int64_t>(d) == t.a[0] ? 1000 : static_cast<int>(parallel.size()));
      if (static_cast<int64_t>(d) != t.a[0]) parallel.push_back(x.shape[d]);
    }
    if (!t.a[2]) assumptions.insert("sorting and top-k: ties go to the lower index");
    std::vector<WholeArg> args;
    for (ir::NodeId in : t.in) args.push_back({&values_[in], factor});
    // The key's own result does not depend on what is carried along.
    if (n.a[0] == 0) args.resize(1);
    return whole(fmt::format("sort:{}:{}", t.a[1], n.a[0]), n.dtype, args, parallel, factor, n.shape);
  }
  if (t.op != Op::Opaque) throw Overflow("result of an unknown tuple");
  for (size_t k = 0; k < problem_.opaque_nodes.size(); ++k) {
    if (problem_.opaque_nodes[k] == n.in[0]) {
      undecided[id] = {"unsupported-operator", problem_.opaque_reasons[k]};
      break;
    }
  }
  // A kernel: by its factor rule, else a function of its whole operands.
  std::vector<ir::Shape> operands, results;
  for (ir::NodeId in : t.in) operands.push_back(problem_.graph[in].shape);
  for (const auto& [type, shape] : t.tuple) results.push_back(shape);
  std::string base = t.attrs;
  const auto bar = base.find("|factors:");
  if (bar != std::string::npos) base = base.substr(0, bar);
  const std::string name = fmt::format("{}({})#{}", t.name, base, n.a[0]);
  std::optional<lower::KernelContract> contract;
  if (bar != std::string::npos) {
    auto parsed = lower::parse_kernel_contract(t.attrs);
    if (parsed) {
      auto resolved = lower::resolve_extents(*parsed, operands, results);
      if (resolved && resolved->operands.size() == operands.size()) contract = *resolved;
    }
  }
  std::vector<Value> split(t.in.size());
  std::vector<WholeArg> args;
  std::vector<int64_t> parallel;
  std::vector<int> result;
  int inner = 1000;
  if (!contract) {
    for (size_t k = 0; k < t.in.size(); ++k) {
      std::vector<int> f;
      for (size_t d = 0; d < operands[k].size(); ++d) f.push_back(inner++);
      args.push_back({&values_[t.in[k]], f});
    }
    for (size_t d = 0; d < n.shape.size(); ++d) result.push_back(inner++);
    return whole(name, n.dtype, args, parallel, result, n.shape);
  }
  assumptions.insert(fmt::format("kernel {} obeys its contract {}", t.name, bar == std::string::npos ? "" : t.attrs.substr(bar + 10)));
  std::vector<int> number(contract->factors.size());
  for (size_t f = 0; f < contract->factors.size(); ++f) {
    if (contract->factors[f].kind == lower::KernelContract::Factor::Kind::Parallel) {
      number[f] = static_cast<int>(parallel.size());
      parallel.push_back(contract->factors[f].extent);
    } else {
      number[f] = inner++;
    }
  }
  auto shape_of = [&](const std::vector<lower::KernelContract::Dim>& dims, std::vector<int>& factors) {
    ir::Shape s;
    for (const auto& dim : dims) {
      for (uint32_t f : dim) {
        s.push_back(contract->factors[f].extent);
        factors.push_back(number[f]);
      }
      if (dim.empty()) {
        s.push_back(1);
        factors.push_back(inner++);
      }
    }
    return s;
  };
  for (size_t k = 0; k < t.in.size(); ++k) {
    std::vector<int> f;
    const ir::Shape s = shape_of(contract->operands[k], f);
    split[k] = views.reshape(values_[t.in[k]], s);
    args.push_back({&split[k], f});
  }
  const ir::Shape s = shape_of(contract->results[n.a[0]], result);
  return views.reshape(whole(name, n.dtype, args, parallel, result, s), n.shape);
}

// --- draws ---------------------------------------------------------------------------------------------------------------------

// Draws of the two sides are matched by kind, parameter and order, and by where their results are used: if the tensor that a draw is
// multiplied with (or selects from) is a view of the one that a sequential draw is used on, the draw is that view of the sequential one.
Value Evaluator::compute_random(ir::NodeId id, const ir::Node& n) {
  const ir::Graph& g = problem_.graph;
  const std::string kind = fmt::format("{}:{}:{}:{:a}", n.name, static_cast<int>(n.lit.kind), n.lit.i, n.lit.d);
  auto draw = [&](ir::NodeId s) {
    Node b;
    b.kind = Kind::Base;
    b.dtype = g[s].dtype;
    b.dims = g[s].shape;
    b.name = fmt::format("draw {}", g[s].label);
    const bool mask = n.name == "bernoulli";
    b.known.finite = b.known.no_pos_inf = true;
    b.known.boolean = b.known.integer = b.known.nonneg = mask;
    if (mask) b.known.lo = 0, b.known.hi = 1;
    return algebra.named_node(fmt::format("draw:{}", s), std::move(b));
  };
  if (problem_.side[id] < 0) return views.of_node(n.shape, draw(id));
  if (users_known_ != g.nodes.size()) {
    users_.assign(g.nodes.size(), {});
    draws_.clear();
    for (ir::NodeId k = 0; k < g.nodes.size(); ++k) {
      for (ir::NodeId in : g[k].in) users_[in].push_back(k);
      if (g[k].op == Op::Random && problem_.side[k] < 0) {
        draws_[{0, fmt::format("{}:{}:{}:{:a}", g[k].name, static_cast<int>(g[k].lit.kind), g[k].lit.i, g[k].lit.d)}].push_back(k);
      }
    }
    users_known_ = g.nodes.size();
  }
  // The tensor that a draw acts on.
  auto partner = [&](ir::NodeId r) -> ir::NodeId {
    std::vector<ir::NodeId> front{r};
    for (size_t at = 0; at < front.size() && at < 64; ++at) {
      for (ir::NodeId u : users_[front[at]]) {
        const ir::Node& user = g[u];
        if (user.op != Op::Map) continue;
        ir::NodeId other = ir::kNoNode;
        bool only = true;
        for (ir::NodeId in : user.in) {
          if (std::find(front.begin(), front.end(), in) != front.end()) continue;
          if (g[in].shape.empty() && !user.shape.empty()) continue;
          if (g[in].op == Op::Const) continue;
          only = false;
          if (other == ir::kNoNode) other = in;
        }
        if (only) {
          if (std::find(front.begin(), front.end(), u) == front.end()) front.push_back(u);
        } else if (g[other].shape == g[r].shape) {
          return other;
        }
      }
    }
    return ir::kNoNode;
  };
  const int rank = problem_.side[id];
  const ir::NodeId mine = partner(id);
  const auto it = draws_.find({0, kind});
  if (it == draws_.end()) throw Overflow(fmt::format("random draw {} has no counterpart in the sequential program", n.label));
  std::string why;
  for (const bool taken : {false, true}) {
    for (ir::NodeId s : it->second) {
      if ((matched_.count({rank, s}) != 0) != taken) continue;
      const ir::NodeId theirs = partner(s);
      if (mine == ir::kNoNode || theirs == ir::kNoNode) {
        if (g[s].shape != n.shape || taken) continue;
        matched_[{rank, s}] = id;
        assumptions.insert(fmt::format("random draw {} on rank {} is the sequential draw {}", n.label, rank, g[s].label));
        return views.of_node(n.shape, draw(s));
      }
      const Value x = value(mine), y = value(theirs);
      if (y.cells.size() != 1 || y.cells[0].poly.empty()) continue;
      const Cell& whole_cell = y.cells[0];
      const size_t yw = whole_cell.ext.size() + 1;
      Value out{n.shape, {}};
      bool ok = true;
      for (const Cell& c : x.cells) {
        const size_t xw = c.ext.size() + 1;
        bool found = false;
        // y's variables as affine forms of x's, from one factor that both polys have.
        for (const Term& ty : whole_cell.poly) {
          for (const Factor& fy : ty.f) {
            if (found) break;
            for (const Term& tx : c.poly) {
              for (const Factor& fx : tx.f) {
                if (found || fx.node != fy.node || !(fx.exp == fy.exp)) continue;
                Sub s2;
                s2.width = static_cast<int>(xw);
                s2.rows.assign(yw - 1, Row());
                for (size_t r = 0; r < fy.map.size() / yw; ++r) {
                  int only = -1, count = 0;
                  for (size_t v = 0; v + 1 < yw; ++v) {
                    if (fy.map[r * yw + v] != 0) ++count, only = static_cast<int>(v);
                  }
                  if (count != 1 || !s2.rows[only].empty() || fy.map[r * yw + only] != 1) continue;
                  Row row(fx.map.begin() + static_cast<std::ptrdiff_t>(r * xw), fx.map.begin() + static_cast<std::ptrdiff_t>((r + 1) * xw));
                  row.back() -= fy.map[r * yw + yw - 1];
                  s2.rows[only] = std::move(row);
                }
                bool all = true;
                for (size_t v = 0; v + 1 < yw; ++v) {
                  if (s2.rows[v].empty()) {
                    all = false;
                    continue;
                  }
                  int64_t lo = s2.rows[v].back(), hi = lo;
                  for (size_t k = 0; k + 1 < xw; ++k) {
                    const int64_t d = s2.rows[v][k] * (c.ext[k] - 1);
                    (d < 0 ? lo : hi) += d;
                  }
                  all &= lo >= 0 && hi < whole_cell.ext[v];
                }
                if (!all) continue;
                if (!algebra.equal(algebra.subst(whole_cell.poly, s2, c.ext), c.poly, c.ext)) continue;
                // The draw at y's position.
                std::vector<int64_t> map;
                for (size_t d = 0; d < g[s].shape.size(); ++d) {
                  Row row(xw, 0);
                  row.back() = whole_cell.pos[d * yw + yw - 1];
                  for (size_t v = 0; v + 1 < yw; ++v) {
                    for (size_t k = 0; k < xw; ++k) row[k] += whole_cell.pos[d * yw + v] * s2.rows[v][k];
                  }
                  map.insert(map.end(), row.begin(), row.end());
                }
                out.cells.push_back(Cell{c.ext, c.pos, algebra.access(draw(s), std::move(map), c.ext)});
                found = true;
              }
            }
          }
        }
        ok &= found;
      }
      if (!ok) {
        why = "it acts on another tensor";
        continue;
      }
      matched_[{rank, s}] = id;
      if (out.cells.size() > 1) views.join(out);
      assumptions.insert(taken ? fmt::format("random draw {} on rank {} repeats the sequential draw {} (recomputation)", n.label, rank, g[s].label)
                               : fmt::format("random draw {} on rank {} is its piece of the sequential draw {}", n.label, rank, g[s].label));
      return out;
    }
  }
  throw Overflow(fmt::format("random draw {} on rank {} matches no sequential draw {}", n.label, rank, why));
}

}  // namespace shardproof::prove
