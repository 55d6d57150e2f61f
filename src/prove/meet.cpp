// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Meetings (L-74): where the ranks' values are proved to add up to a sequential value, both sides go on from names.
//
// A gradient that is left as a partial sum runs through many linear operators on each rank, and what adds up to one product at the end has
// been written out in another way on each side. So the sequential value gets a name S, the parts but the last get names P1 .. Pk, and the
// last part is S - P1 - .. - Pk, which is what the proof says. From there on the operators act on names, and what is linear cancels.
//
// Where S is undefined, the last part may be defined and S - P1 - .. - Pk is not. That loses nothing: no operator makes a defined value of
// an undefined one that it looks at, but the tests for infinities, and a program in which one of these reads what was met is left alone.
// Where S is infinite, one of the parts is, and which is not known: there all are written as undefined.
#include <algorithm>
#include <utility>

#include "prove/eval.h"

namespace shardproof::prove {

namespace {
constexpr int kFailures = 16;  // comparisons of single values that may fail: a wrong program has many, and what they show is dear
}

void Evaluator::meet_at(std::vector<Meeting> meetings) {
  const ir::Graph& g = problem_.graph;
  std::vector<char> reached(g.nodes.size(), 0);
  for (const Meeting& m : meetings) {
    for (const ir::NodeId p : m.parts) reached[p] = 1;
  }
  for (ir::NodeId id = 0; id < g.nodes.size(); ++id) {
    for (const ir::NodeId in : g[id].in) reached[id] |= reached[in];
    const ir::Fn fn = g[id].fn;
    const bool tests = fn == ir::Fn::IsFinite || fn == ir::Fn::IsNan || fn == ir::Fn::IsInf;
    if (reached[id] != 0 && tests && refused(Rule::L74)) return;
  }
  meetings_ = std::move(meetings);
  for (size_t k = 0; k < meetings_.size(); ++k) {
    if (!meetings_[k].alone) met_[meetings_[k].sequential];
    for (const ir::NodeId p : meetings_[k].parts) meeting_of_[p] = k;
  }
}

// total: 0 where v is undefined or infinite.
Value Evaluator::named(const Value& v, bool total) {
  Value out{v.shape, {}};
  for (const Cell& c : v.cells) {
    Poly p;
    if (total && !algebra.known(c.poly, c.ext).finite) {
      const Poly test = algebra.apply(ir::Fn::IsFinite, {c.poly}, ir::DType::F32, ir::DType::Bool, c.ext);
      p = algebra.select(test, c.poly, {}, c.ext);
    } else {
      p = c.poly;
    }
    if (p.size() > 1) p = {algebra.as_term(p, c.ext, false, true)};
    out.cells.push_back({c.ext, c.pos, std::move(p)});
  }
  return out;
}

// L-97: a rank's value that is a sequential one, or a slice of it, in another form takes that form. Only where nested sums must be opened
// to see it: else there is nothing to gain.
void Evaluator::take_form(const Meeting& m) {
  const Value& whole = values_[m.sequential];
  Value& part = values_[m.parts[0]];
  ir::Shape stop = m.start;
  for (size_t d = 0; d < stop.size(); ++d) stop[d] += part.shape[d];
  Value form = views.slice(whole, m.start, stop, ir::Shape(stop.size(), 1));
  const bool thorough = std::exchange(algebra.thorough, false);
  const bool already = views.equal(form, part);
  algebra.thorough = thorough;
  if (already || failed_alone_ >= kFailures) return;
  const std::vector<Poly> losses = std::exchange(algebra.losses, {});  // what is proved here serves all outputs
  const bool equal = views.equal(form, part);
  algebra.losses = losses;
  failed_alone_ += equal ? 0 : 1;
  if (!equal && refused(Rule::L97)) return;
  fired(Rule::L97);
  part = std::move(form);
}

void Evaluator::meet(ir::NodeId id) {
  if (const auto s = met_.find(id); s != met_.end()) {
    s->second = values_[id];
    values_[id] = named(values_[id], false);
    return;
  }
  const auto found = meeting_of_.find(id);
  if (found == meeting_of_.end()) return;
  const Meeting m = meetings_[found->second];
  for (const ir::NodeId p : m.parts) meeting_of_.erase(p);
  if (!done(m.sequential)) return;
  if (m.alone) {
    take_form(m);
    return;
  }
  for (const ir::NodeId p : m.parts) value(p);
  const auto together = [&](const Value& first, const std::vector<const Value*>& rest, const Rat& sign) {
    std::vector<const Value*> all{&first};
    all.insert(all.end(), rest.begin(), rest.end());
    Value out{first.shape, {}};
    for (Refined& r : views.refine(all)) {
      Poly p = std::move(r.poly[0]);
      for (size_t k = 1; k < r.poly.size(); ++k) p = algebra.add(std::move(p), algebra.scale(r.poly[k], sign), r.ext);
      out.cells.push_back({std::move(r.ext), std::move(r.pos), std::move(p)});
    }
    views.join(out);
    return out;
  };
  std::vector<const Value*> rest;
  for (size_t k = 1; k < m.parts.size(); ++k) rest.push_back(&values_[m.parts[k]]);
  const Value total = together(values_[m.parts[0]], rest, 1);
  const std::vector<Poly> losses = std::exchange(algebra.losses, {});  // what is proved here serves all outputs
  const bool equal = views.equal(met_.at(m.sequential), total);
  algebra.losses = losses;
  if (!equal && refused(Rule::L74)) return;
  fired(Rule::L74);
  // Where the sequential value is undefined or infinite, the parts are undefined: what is said of them says nothing there. The last part
  // is made of that value, and needs saying where it may be infinite.
  const auto guards = [&](bool infinite_only) {
    Value out = values_[m.sequential];
    for (Cell& c : out.cells) {
      Poly p;
      for (Term& t : c.poly) {
        const Known k = algebra.known(t, c.ext);
        if (infinite_only ? k.never_inf() : k.finite) continue;
        t.coef = 0;
        p = algebra.add(std::move(p), {std::move(t)}, c.ext);
      }
      c.poly = std::move(p);
    }
    return out;
  };
  const Value undefined = guards(false), infinite = guards(true);
  std::vector<Value> names;
  for (size_t k = 0; k + 1 < m.parts.size(); ++k) names.push_back(named(values_[m.parts[k]], true));
  rest.clear();
  for (size_t k = 0; k < names.size(); ++k) {
    rest.push_back(&names[k]);
    values_[m.parts[k]] = together(names[k], {&undefined}, 1);
  }
  values_[m.parts.back()] = together(together(values_[m.sequential], rest, -1), {&infinite}, 1);
}

}  // namespace shardproof::prove
