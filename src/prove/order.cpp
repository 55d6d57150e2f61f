// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What is known of sorts: the key at the place that the order names is the sorted key (L-84); and keys up to an increasing function (L-83):
// a router that takes the top of a softmax takes the top of the logits, and what the softmax makes of those is what it makes of the sorted
// ones. So the key is brought to its simplest form - without summands and positive factors that are the same for all that is compared, and
// without exponentials - and what was taken off is put on again behind the sort.
#include <algorithm>

#include "prove/eval.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::Fn;

namespace {

constexpr int kSteps = 16;  // functions of functions

}  // namespace

// The key of x, which is one cell, along dimension dim; and what makes x of it, outermost last. nullopt: nothing to take off.
std::optional<Evaluator::Key> Evaluator::simple_key(const Value& x, size_t dim) {
  if (x.cells.size() != 1) return std::nullopt;
  const Cell& c = x.cells[0];
  const size_t w = c.ext.size() + 1;
  const auto compared = [&](const Factor& f) {
    for (size_t v = 0; v + 1 < w; ++v) {
      if (c.pos[dim * w + v] != 0 && depends_on(f, w, v)) return true;
    }
    return false;
  };
  Key key{x, {}};
  Poly& p = key.value.cells[0].poly;
  for (int step = 0; step < kSteps; ++step) {
    Poly own, common;
    for (const Term& t : p) {
      if (t.coef.is_zero()) return std::nullopt;  // something may be undefined
      (std::any_of(t.f.begin(), t.f.end(), compared) ? own : common).push_back(t);
    }
    if (own.empty()) return std::nullopt;  // equal keys (L-82)
    if (!common.empty()) {
      if (!algebra.known(common, c.ext).finite && refused(Rule::L83)) break;
      key.steps.push_back({Key::Step::Plus, common, Fn::None});
      p = std::move(own);
      continue;
    }
    // Factors that all terms have and that are the same for all: the first term's, as far as the others have them.
    Term shared{1, {}};
    for (const Factor& f : own[0].f) {
      if (compared(f)) continue;
      const auto has = [&](const Term& t) { return std::find(t.f.begin(), t.f.end(), f) != t.f.end(); };
      const Known k = algebra.known(Term{1, {f}}, c.ext);
      if (std::all_of(own.begin(), own.end(), has) && k.positive() && k.finite) shared.f.push_back(f);
    }
    shared.coef = Rat(own[0].coef.num() < 0 ? -own[0].coef.num() : own[0].coef.num(), own[0].coef.den());
    if (!shared.f.empty() || !shared.coef.is_one()) {
      for (Term& t : own) {
        t.coef = t.coef * shared.coef.inverse();
        std::erase_if(t.f, [&](const Factor& f) { return std::find(shared.f.begin(), shared.f.end(), f) != shared.f.end(); });
      }
      key.steps.push_back({Key::Step::Times, {shared}, Fn::None});
      p = algebra.sum({std::move(own)}, c.ext);
      continue;
    }
    if (own.size() != 1 || !own[0].coef.is_one()) break;
    // A product of exponentials, or an increasing function.
    Poly exponent;
    bool exponentials = true;
    for (const Factor& f : own[0].f) {
      const Node& n = algebra.node(f.node);
      exponentials &= n.kind == Kind::Fn && n.fn == Fn::Exp && (f.exp.positive() || algebra.known(Term{1, {f}}, c.ext).finite);
      if (exponentials) exponent = algebra.add(std::move(exponent), algebra.scale(algebra.argument(f, 0, c.ext), f.exp), c.ext);
    }
    if (exponentials) {
      key.steps.push_back({Key::Step::Apply, {}, Fn::Exp});
      p = std::move(exponent);
      continue;
    }
    const Factor& f = own[0].f[0];
    const Node& n = algebra.node(f.node);
    const bool increases = n.kind == Kind::Fn && (n.fn == Fn::Logistic || n.fn == Fn::Tanh || n.fn == Fn::Exp2);
    if (own[0].f.size() != 1 || !f.exp.is_one() || !increases) break;
    key.steps.push_back({Key::Step::Apply, {}, n.fn});
    p = algebra.argument(f, 0, c.ext);
  }
  if (key.steps.empty()) return std::nullopt;
  return key;
}

// What was taken off the key, on what a sort made of it.
Value Evaluator::put_on(Value sorted, const Key& key, ir::DType dtype) {
  for (auto step = key.steps.rbegin(); step != key.steps.rend(); ++step) {
    if (step->what == Key::Step::Apply) {
      for (Cell& s : sorted.cells) s.poly = algebra.apply(step->fn, {s.poly}, dtype, dtype, s.ext);
      continue;
    }
    Value common = key.value;  // it is the same along the sorted dimension, wherever the key has gone
    common.cells[0].poly = step->poly;
    Value out{sorted.shape, {}};
    for (Refined& r : views.refine({&sorted, &common})) {
      Poly p = step->what == Key::Step::Plus ? algebra.add(r.poly[0], r.poly[1], r.ext) : algebra.mul(r.poly[0], r.poly[1], r.ext);
      out.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
    }
    sorted = std::move(out);
  }
  return sorted;
}

// An operand of the sort that f is a result of, as f reads it: over ctx and the sorted dimension. nullopt: f is no such result.
std::optional<Poly> Algebra::sorted_operand(const Factor& f, size_t operand, const Ext& ctx) {
  const Node& n = nodes_[f.node];
  if (n.kind != Kind::Whole || !n.name.starts_with("sort:") || n.result.size() != 1 || operand >= n.args.size() ||
      n.inner[operand].size() != 1 || !f.exp.is_one())
    return std::nullopt;
  return inner_data(f, operand, ctx);
}

// f as the order of a sort: the place that each of the sorted keys had. The keys, over ctx and the sorted dimension.
std::optional<Poly> Algebra::keys_of_order(const Factor& f, const Ext& ctx) {
  const int which = result_of_sort(nodes_[f.node]);
  if (which < 1 || nodes_[f.node].name.find(' ') != std::string::npos) return std::nullopt;
  const std::optional<Poly> places = sorted_operand(f, static_cast<size_t>(which), ctx);
  Ext wide = ctx;
  wide.push_back(nodes_[f.node].inner[0].empty() ? 0 : nodes_[f.node].inner[0][0]);
  Row plain(wide.size() + 1, 0);
  plain[ctx.size()] = 1;
  const Poly place = index(plain, wide);  // 0 where one key is sorted
  if (!places || places->size() != 1 || place.size() != 1 || !(*places)[0].coef.is_one() || (*places)[0].f != place[0].f)
    return std::nullopt;
  std::optional<Poly> keys = sorted_operand(f, 0, ctx);
  if (keys && !known(*keys, wide).finite && refused(Rule::L84)) return std::nullopt;  // then neither order nor sorted keys are defined
  return keys;
}

static bool same(const Poly& a, const Poly& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Term& x, const Term& y) { return x.coef == y.coef && x.f == y.f; });
}

// L-84: keys at the place that their own order names: the sorted keys. `data` is over ctx and the place.
std::optional<Poly> Algebra::taken_by_order(const Term& data, const Poly& at, const Ext& ctx) {
  if (at.size() != 1 || !at[0].coef.is_one() || at[0].f.size() != 1) return std::nullopt;
  const Factor& order = at[0].f[0];
  const std::optional<Poly> keys = keys_of_order(order, ctx);
  if (!keys || (!same(*keys, {data}) && refused(Rule::L84))) return std::nullopt;
  const Node& n = nodes_[order.node];
  Node sorted;
  sorted.kind = Kind::Whole;
  sorted.name = n.name.substr(0, n.name.find(':', 5) + 1) + "0";
  sorted.inner = {n.inner[0]};
  sorted.result = n.result;
  Ext wide = ctx;
  wide.push_back(n.inner[0][0]);
  sorted.known = known(*keys, wide);
  sorted.args.push_back(*keys);
  const std::vector<int64_t> result(order.map.end() - static_cast<std::ptrdiff_t>(ctx.size() + 1), order.map.end());
  Factor f = intern(std::move(sorted), ctx);
  f.map.insert(f.map.end(), result.begin(), result.end());
  fired(Rule::L84);
  return access(f.node, std::move(f.map), ctx);
}

// L-84 the other way: a sorted key where a guard says that its order is at a certain place: the key at that place.
std::optional<Poly> Algebra::sorted_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx) {
  if (result_of_sort(nodes_[f.node]) != 0) return std::nullopt;
  const Factor once{f.node, 1, f.map};
  for (const Factor& g : guards) {
    const Node& bracket = nodes_[g.node];
    if (bracket.hi != bracket.lo + 1) continue;
    const int64_t value = bracket.lo;
    const Poly e = arg_at(bracket, g, 0, ctx);
    for (const Term& t : e) {
      if (t.f.size() != 1 || !(t.coef * t.coef).is_one() || result_of_sort(nodes_[t.f[0].node]) < 1) continue;
      const Factor& order = t.f[0];
      const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(ctx.size() + 1);
      const Node &n = nodes_[f.node], &o = nodes_[order.node];
      if (n.name.compare(0, n.name.size() - 1, o.name, 0, n.name.size() - 1) != 0 || !(n.result == o.result) ||
          !std::equal(f.map.end() - last, f.map.end(), order.map.end() - last, order.map.end()))
        continue;
      const std::optional<Poly> keys = keys_of_order(order, ctx), mine = sorted_operand(once, 0, ctx);
      if (!keys || !mine || (!same(*keys, *mine) && refused(Rule::L84))) continue;
      // The place: an affine form, inside of what is sorted.
      const Poly rest = add(constant(Rat(value)), scale(add(e, {Term{-t.coef, t.f}}, ctx), -1), ctx);
      const Poly place = scale(rest, t.coef);
      std::optional<Row> row = affine_row(place, ctx);
      const auto [lo, hi] = range(place, ctx);
      if ((!row || lo < 0 || hi >= nodes_[f.node].inner[0][0]) && refused(Rule::L84)) continue;
      Sub s = Sub::identity(static_cast<int>(ctx.size()));
      s.rows.push_back(*std::move(row));
      fired(Rule::L84);
      return pow(subst(*mine, s, ctx), f.exp, ctx);
    }
  }
  return std::nullopt;
}

// Does a definition read what a guard is about, which is more than a position?
bool Algebra::concerns(Nid guard, Nid node) {
  const uint64_t key = (static_cast<uint64_t>(guard) << 32) | node;
  if (const auto it = concerns_.find(key); it != concerns_.end()) return it->second;
  const auto about = [&](Nid id) {
    for (const Term& t : nodes_[guard].args[0]) {
      if (std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return f.node == id && id != iota(); })) return true;
    }
    return false;
  };
  bool found = about(node);
  for (size_t a = 0; a < nodes_[node].args.size() && !found; ++a) {
    for (size_t i = 0; i < nodes_[node].args[a].size() && !found; ++i) {
      for (const Factor& f : nodes_[node].args[a][i].f) {
        if (concerns(guard, f.node)) {
          found = true;
          break;
        }
      }
    }
  }
  return concerns_[key] = found;
}

// L-21 inside of a sum: experts' weights are read by an index that is masked where another rank has the expert, and what is made of them is
// taken only where none has. nullopt: the guards say nothing of it.
std::optional<Poly> Algebra::sum_under(const Factor& f, const std::vector<Factor>& guards, const Ext& ctx, int depth) {
  std::vector<int64_t> key{f.node, f.exp.num(), f.exp.den()};
  key.insert(key.end(), f.map.begin(), f.map.end());
  for (const Factor& g : guards) {
    key.push_back(g.node);
    key.insert(key.end(), g.map.begin(), g.map.end());
  }
  key.insert(key.end(), ctx.begin(), ctx.end());
  if (const auto it = sum_under_.find(key); it != sum_under_.end()) return it->second;
  const auto [body, ext] = open_red(Factor{f.node, 1, f.map}, ctx);
  std::vector<Factor> inside;
  for (const Factor& g : guards) inside.push_back(widened(g, ctx.size() + 1, ext.size() - ctx.size()));
  bool any = false;
  std::vector<Poly> factors;
  for (const Factor& g : body.f) factors.push_back(rewrite_under(g, inside, ext, any, depth + 1));
  std::optional<Poly> result;
  if (any) {
    const Poly product = product_of(constant(body.coef), body.f, factors, ext);
    result = pow(reduce(ir::Fn::Add, product, ext, static_cast<int>(ext.size() - ctx.size())), f.exp, ctx);
  }
  sum_under_.emplace(std::move(key), result);
  return result;
}

}  // namespace shardproof::prove
