// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Core operators -> Values: scatters. What adds up, and what writes at places that are told apart, becomes sums under brackets; what
// overwrites at unknown places is an operator of its own, parallel over its windows.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "prove/eval.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::Fn;

constexpr size_t kMetIndices = 256;  // that are remembered

// The dimension along which v, wherever it stands in the others, takes each of the dimension's positions once: the order in which a sort
// puts what it sorts. Or only no position twice: some of an order.
std::optional<size_t> Evaluator::permuted(const Value& v, bool some) const {
  if (v.cells.size() != 1) return std::nullopt;
  const Cell& c = v.cells[0];
  if (c.poly.size() != 1 || !c.poly[0].coef.is_one() || c.poly[0].f.size() != 1 || !c.poly[0].f[0].exp.is_one()) return std::nullopt;
  const Factor& f = c.poly[0].f[0];
  const Node& n = algebra.node(f.node);
  if (n.kind != Kind::Whole || !n.name.starts_with("sort:") || n.result.size() != 1 || !algebra.known(f, c.ext).finite) return std::nullopt;
  const size_t which = static_cast<size_t>(result_of_sort(n));
  if (which >= n.args.size()) return std::nullopt;
  // What is sorted there are the positions themselves: digits of a mixed radix make up each once.
  const size_t own = n.dims.size() - 1, inner = n.inner[which].size(), w = own + inner + 1;
  Row form(w, 0);
  for (const Term& t : n.args[which]) {
    if (t.f.size() != 1 || t.f[0].node != algebra.iota() || !t.f[0].exp.is_one() || !t.coef.is_integer() || t.f[0].map.size() != w)
      return std::nullopt;
    for (size_t k = 0; k < w; ++k) form[k] += t.coef.num() * t.f[0].map[k];
  }
  if (form[w - 1] != 0 || std::any_of(form.begin(), form.begin() + static_cast<std::ptrdiff_t>(own), [](int64_t k) { return k != 0; }))
    return std::nullopt;
  std::vector<size_t> digits(inner);
  std::iota(digits.begin(), digits.end(), own);
  std::sort(digits.begin(), digits.end(), [&](size_t a, size_t b) { return form[a] < form[b]; });
  int64_t extent = 1;
  for (const size_t k : digits) {
    if (form[k] != extent) return std::nullopt;
    extent *= n.inner[which][k - own];
  }
  // The result's own dimension is read by one variable, which walks one dimension of v whole and moves nothing else.
  const size_t cw = c.ext.size() + 1;
  for (size_t d = 0; d < v.shape.size(); ++d) {
    for (size_t var = 0; var + 1 < cw; ++var) {
      if (c.ext[var] != v.shape[d] || (some ? v.shape[d] > extent : v.shape[d] != extent) || c.pos[d * cw + var] != 1) continue;
      bool alone = f.map[own * cw + var] == 1 && c.pos[d * cw + cw - 1] == 0 && (some || f.map[own * cw + cw - 1] == 0);
      for (size_t r = 0; r < own; ++r) alone &= f.map[r * cw + var] == 0;
      for (size_t k = 0; k + 1 < cw; ++k) alone &= k == var || f.map[own * cw + k] == 0;
      if (alone) return d;
    }
  }
  return std::nullopt;
}

// L-76: writes at each position once, and everywhere the same along that dimension: what was there before is gone, and the order does not
// matter.
std::optional<Value> Evaluator::rewritten_everywhere(const ir::Node& n, const std::vector<int64_t>& code) {
  const Value &data = values_[n.in[0]], &updates = values_[n.in[1]];
  const auto scattered = std::find_if(code.begin(), code.end(), [](int64_t k) { return k < 0; });
  if (!n.set || scattered == code.end() || std::count_if(code.begin(), code.end(), [](int64_t k) { return k < 0; }) != 1)
    return std::nullopt;
  const size_t d = static_cast<size_t>(scattered - code.begin());
  const auto along = permuted(values_[n.in[1 + static_cast<size_t>(-*scattered)]]);
  if (!along) return std::nullopt;
  const auto u = static_cast<size_t>(n.b[*along]);
  if (updates.shape[u] != data.shape[d] || updates.cells.size() != 1 || updates.shape.size() != data.shape.size()) {
    refused(Rule::L76);
    return std::nullopt;
  }
  std::vector<int64_t> places(updates.shape.size(), -1);
  for (size_t k = 0; k < code.size(); ++k) {
    if (code[k] >= 0 && updates.shape[code[k]] == data.shape[k]) places[code[k]] = static_cast<int64_t>(k);
  }
  places[u] = static_cast<int64_t>(d);
  const Cell& c = updates.cells[0];
  const size_t w = c.ext.size() + 1;
  bool same = std::find(places.begin(), places.end(), -1) == places.end();
  for (size_t var = 0; var + 1 < w && same; ++var) {
    if (c.pos[u * w + var] == 0) continue;
    for (const Term& t : c.poly) {
      for (const Factor& f : t.f) {
        for (size_t r = 0; r * w < f.map.size(); ++r) same &= f.map[r * w + var] == 0;
      }
    }
  }
  if (!same) {
    refused(Rule::L76);
    return std::nullopt;
  }
  fired(Rule::L76);
  std::vector<int64_t> perm(places.size());
  for (size_t k = 0; k < places.size(); ++k) perm[places[k]] = static_cast<int64_t>(k);
  return views.transpose(updates, perm);
}

// L-93: writes into zeros of which no two meet add up to the same: the first of a sort's order, in each row by itself.
bool Evaluator::writes_apart(const ir::Node& n, const std::vector<int64_t>& code, const std::vector<char>& placed) {
  const Value& data = values_[n.in[0]];
  const auto scattered = std::find_if(code.begin(), code.end(), [](int64_t k) { return k < 0; });
  if (!n.set || !ir::is_float(n.dtype) || scattered == code.end() ||
      std::count_if(code.begin(), code.end(), [](int64_t k) { return k < 0; }) != 1)
    return false;
  if (std::any_of(data.cells.begin(), data.cells.end(), [](const Cell& c) { return !c.poly.empty(); })) return false;
  const auto along = permuted(values_[n.in[1 + static_cast<size_t>(-*scattered)]], true);
  bool apart = along && !placed[n.b[*along]];
  for (size_t q = 0; apart && q < n.b.size(); ++q) apart = q == *along || placed[n.b[q]] || values_[n.in[1]].shape[n.b[q]] == 1;
  return apart ? fired(Rule::L93) : !refused(Rule::L93);
}

// Between which ends the index lies where the sequential program has not stopped: it has used it (or more of it) so, or does so here.
std::pair<int64_t, int64_t> Evaluator::met_index(const Value& index, ir::IndexMode mode, int64_t extent) {
  std::pair<int64_t, int64_t> ends{kNegInf, kPosInf};
  if (index.cells.size() != 1 || (mode != ir::IndexMode::Strict && mode != ir::IndexMode::Wrap)) return ends;
  const Cell& c = index.cells[0];
  if (const auto known = algebra.range_by_cases(c.poly, c.ext); known.first >= 0 && known.second < extent) return known;
  const auto within = [&](const MetIndex& m) {
    if (m.ext.size() != c.ext.size() || m.poly.size() != c.poly.size()) return false;
    for (size_t v = 0; v < c.ext.size(); ++v) {
      if (c.ext[v] > m.ext[v]) return false;
    }
    for (size_t i = 0; i < c.poly.size(); ++i) {
      if (!(m.poly[i].coef == c.poly[i].coef) || m.poly[i].f != c.poly[i].f) return false;
    }
    return true;
  };
  if (!algebra.structure_known && met_indices_.size() < kMetIndices)
    met_indices_.push_back({c.poly, c.ext, {mode == ir::IndexMode::Wrap ? -extent : 0, extent - 1}});
  for (const MetIndex& m : met_indices_) {
    if (!within(m)) continue;
    ends.first = std::max(ends.first, m.ends.first);
    ends.second = std::min(ends.second, m.ends.second);
  }
  return ends;
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
  if (std::optional<Value> all = rewritten_everywhere(n, code)) return *std::move(all);
  if (count == 1 && n.in[2] != n.in[0] && n.in[2] != n.in[1] && n.in[1] != n.in[0]) {
    Value &index = values_[n.in[2]], &written = values_[n.in[1]];
    if (const auto split = own_digit(index)) {
      ir::Node m = n;
      ir::Shape shape = index.shape, update_shape = written.shape;
      split_dim(update_shape, static_cast<size_t>(n.b[split->first]), split->second);
      split_dim(shape, split->first, split->second);
      split_numbers(m, split->first, split->second);
      const Lent apart(index, views.reshape(index, shape)), updates_apart(written, views.reshape(written, update_shape));
      return compute_scatter(m);
    }
  }
  const bool single = [&] {
    int64_t c = 1;
    for (int64_t b : n.b) c *= placed[b] ? 1 : updates.shape[b];
    return c == 1;
  }();
  if (algebra.by_order && writes_apart(n, code, placed)) {
    ir::Node sum = n;
    sum.set = false;
    sum.fn = Fn::Add;
    return compute_scatter(sum);
  }
  if (n.fn != Fn::Add && !(n.set && single)) {
    // Several updates that overwrite: an operator of its own, parallel over the window dimensions.
    if (n.set) assumptions.insert("scatter and index_put: of writes that collide, equal operators on equal operands let the same one win");
    std::vector<int64_t> parallel;
    std::vector<int> fd(data.shape.size()), fu(updates.shape.size(), 1000), result;
    int inner = 1000;
    for (size_t d = 0; d < data.shape.size(); ++d) {
      if (n.a[d] >= 0) {
        fd[d] = static_cast<int>(parallel.size());
        fu[n.a[d]] = fd[d];
        if (updates.shape[n.a[d]] != data.shape[d]) throw Overflow("scatter of narrow windows");
        parallel.push_back(data.shape[d]);
      } else {
        fd[d] = inner++;
      }
      result.push_back(fd[d]);
    }
    for (int& f : fu) {
      if (f == 1000) f = inner++;
    }
    // Into zeros, a positive factor of all updates is one of the result (L-80): means over other numbers of rows meet.
    Rat factor(1);
    Value rest;
    const bool homogeneous = ir::is_float(n.dtype) && (n.set || n.fn == Fn::Max || n.fn == Fn::Min) &&
                             std::all_of(data.cells.begin(), data.cells.end(), [](const Cell& c) { return c.poly.empty(); });
    if (homogeneous) factor = content(updates);
    if (homogeneous && !factor.is_one() ? fired(Rule::L80) : !refused(Rule::L80)) {
      rest = updates;
      for (Cell& c : rest.cells) c.poly = algebra.scale(c.poly, factor.inverse());
    }
    std::vector<WholeArg> args{{&data, fd}, {factor.is_one() ? &updates : &rest, fu}};
    for (size_t k = 0; k < count; ++k) {
      std::vector<int> fi;
      for (const int64_t b : n.b) fi.push_back(fu[b]);  // an index and its update are read at one place
      args.push_back({&values_[n.in[2 + k]], fi});
    }
    std::string name = fmt::format("scatter:{}:{}:{}:{}", n.set ? "set" : ir::name(n.fn), static_cast<int>(n.mode), fmt::join(n.a, ","),
                                   fmt::join(n.b, ","));
    Value out = whole(name, n.dtype, args, parallel, result, n.shape);
    for (size_t d = 0; d < n.a.size(); ++d) {
      if (n.a[d] < 0) met_index(values_[n.in[1 + static_cast<size_t>(-n.a[d])]], n.mode, n.shape[d]);
    }
    if (n.mode == ir::IndexMode::Strict || n.mode == ir::IndexMode::Wrap) {
      // Where the sequential program writes, it hits.
      for (const Cell& c : out.cells) {
        for (const Term& t : c.poly) {
          for (const Factor& f : t.f) algebra.met(f, c.ext);
        }
      }
    }
    if (!factor.is_one()) {
      for (Cell& c : out.cells) c.poly = algebra.scale(c.poly, factor);
    }
    return out;
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
  auto spread = [&](const Value& v, const std::vector<int64_t>& dims) { return views.spread(v, joint, dims); };
  std::vector<Value> spreads;
  spreads.push_back(spread(updates, place));
  for (size_t k = 0; k < count; ++k) spreads.push_back(spread(values_[n.in[2 + k]], bplace));
  const Value frame = views.whole(joint, {});
  std::vector<const Value*> refs{&frame};
  for (const Value& v : spreads) refs.push_back(&v);
  std::vector<std::pair<int64_t, int64_t>> ends(count, {kNegInf, kPosInf});  // of the indices, as the sequential program has met them
  for (size_t d = 0; d < code.size(); ++d) {
    if (code[d] < 0)
      ends[static_cast<size_t>(-code[d] - 1)] = met_index(values_[n.in[1 + static_cast<size_t>(-code[d])]], n.mode, n.shape[d]);
  }
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
          // Outside the range the sequential program stops, and a rank does where that has not: only what it has written or read, too.
          const auto& [low, high] = ends[static_cast<size_t>(-code[d] - 1)];
          if ((low < (n.mode == ir::IndexMode::Wrap ? -n.shape[d] : 0) || high >= n.shape[d]) && refused(Rule::L78))
            throw Overflow("scatter with an index that is not known to be in range (state it as a fact)");
          fired(Rule::L78);
          if (low < 0) e = algebra.add(raw, algebra.scale(algebra.bracket(raw, kNegInf, 0, r.ext), n.shape[d]), r.ext);
        }
      }
      Row row(m + 1, 0);
      for (size_t v = 0; v <= m; ++v) row[v] = r.pos[d * (m + 1) + v];
      Poly position = algebra.index(row, r.ext);
      match = algebra.mul(match, algebra.compare(Fn::Eq, e, position, true, r.ext), r.ext);
    }
    Poly p = algebra.where(match, r.poly[1], r.ext);
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

}  // namespace shardproof::prove
