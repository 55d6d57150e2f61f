// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Products by the cases of their factors (L-69). Where a product has a truth value as a factor, everything else in it needs to be known
// only where that is 1: an expert's gate g [g is chosen] times f(x [g chosen]) is g [g is chosen] f(x). And where it has 1/D, only where D
// is not 0, so that the sign of y/D is known from the signs of y and D. Facts go down into the sums, names and functions of the other
// factors.
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"

namespace shardproof::prove {

namespace {

constexpr int kDepth = 12;
constexpr size_t kSteps = 1000;  // of one comparison, with the openings of L-65

bool is_comparison(const Node& n) {
  return n.kind == Kind::Fn && (n.fn == ir::Fn::Lt || n.fn == ir::Fn::Le || n.fn == ir::Fn::Gt || n.fn == ir::Fn::Ge);
}

// Functions of reals, and comparisons of them: those of integers depend on types that a node does not keep.
bool applies_again(const Node& n) {
  if (n.kind != Kind::Fn) return n.kind == Kind::Sum || n.kind == Kind::Bracket;
  const bool test = n.fn == ir::Fn::Eq || n.fn == ir::Fn::Ne || n.fn == ir::Fn::IsFinite || n.fn == ir::Fn::IsNan || n.fn == ir::Fn::IsInf;
  return test || is_comparison(n) || (ir::is_float(n.dtype) && n.fn != ir::Fn::Convert);
}

bool takes_again(const Node& n) {
  return n.kind == Kind::Take && n.inner[0].size() == 1 && (n.name.empty() || n.name.starts_with("partial"));
}

bool same_place(const Factor& f, const Factor& g) { return f.node == g.node && f.map == g.map; }

}  // namespace

// Does `what` stand anywhere in the definition of id?
bool Algebra::mentions(Nid id, Nid what) {
  std::vector<char>& known = mentions_[what];  // of the nodes from `what` on: nodes are made after their parts
  while (what + known.size() <= id) {
    bool found = known.empty();
    for (const Poly& p : nodes_[what + known.size()].args) {
      for (const Term& t : p) {
        for (const Factor& f : t.f) found = found || (f.node >= what && known[f.node - what] != 0);
      }
    }
    known.push_back(found ? 1 : 0);
  }
  return id >= what && known[id - what] != 0;
}

bool Algebra::touches(const Factor& f, const Facts& facts) {
  return std::any_of(facts.truths.begin(), facts.truths.end(), [&](const Truth& t) { return mentions(f.node, t.b.node); }) ||
         std::any_of(facts.divisors.begin(), facts.divisors.end(), [&](const Factor& d) { return mentions(f.node, d.node); });
}

// The truth value that f is, or is 0 without: b for b and for c (1 - b), with what it is where f is not 0.
std::optional<Algebra::Truth> Algebra::truth_of(const Factor& f, const Ext& ctx) {
  if (!f.exp.is_integer() || !f.exp.positive()) return std::nullopt;
  const Node& n = nodes_[f.node];
  if (n.kind == Kind::Fn && n.known.boolean && n.known.finite) return Truth{{f.node, 1, f.map}, 1};
  if (n.kind != Kind::Sum || n.args[0].size() != 2) return std::nullopt;
  const Poly p = expand_named({f.node, 1, f.map}, ctx);
  if (p.size() != 2) return std::nullopt;
  const Term &one = p[0].f.empty() ? p[0] : p[1], &b = p[0].f.empty() ? p[1] : p[0];
  if (!one.f.empty() || b.f.size() != 1 || !b.f[0].exp.is_one() || !(one.coef == -b.coef)) return std::nullopt;
  const Node& truth = nodes_[b.f[0].node];
  if (truth.kind != Kind::Fn || !truth.known.boolean || !truth.known.finite) return std::nullopt;
  return Truth{b.f[0], 0};
}

// 1: never below 0; -1: never above; 0: not known.
int Algebra::sign_of(const Factor& f, const Ext& ctx) {
  const Node& n = nodes_[f.node];
  const Factor base{f.node, 1, f.map};
  const Known k = known(base, ctx);
  if (k.nonneg) return 1;
  if (k.integer && k.hi <= 0) return -1;
  if (n.kind == Kind::Sum) {
    const Poly p = expand_named(base, ctx);
    return known(p, ctx).nonneg ? 1 : known(scale(p, -1), ctx).nonneg ? -1 : 0;
  }
  if (n.kind != Kind::Red || n.fn != ir::Fn::Add || n.args[0].size() != 1) return 0;
  const auto [body, ext] = open_red(base, ctx);
  int sign = body.coef.negative() ? -1 : 1;
  for (const Factor& g : body.f) {
    if (!g.exp.is_integer()) {
      if (!known(g, ext).nonneg) return 0;
    } else if (g.exp.num() % 2 != 0) {
      sign *= sign_of(g, ext);
    }
  }
  return sign;
}

// y fn 0 without the factors whose signs are known; nullopt if that changes nothing.
std::optional<Poly> Algebra::compare_signs(ir::Fn fn, const Poly& y, const std::vector<Factor>& divisors, const Ext& ctx) {
  if (y.size() != 1 || y[0].coef.is_zero()) return std::nullopt;
  Term rest{y[0].coef.negative() ? -1 : 1, {}};
  for (const Factor& f : y[0].f) {
    const Known k = known(Factor{f.node, 1, f.map}, ctx);
    if (k.positive() && k.finite) continue;
    const bool divisor = std::any_of(divisors.begin(), divisors.end(), [&](const Factor& d) { return same_place(d, f); });
    const int sign = divisor && f.exp.is_integer() ? sign_of(f, ctx) : 0;
    if (sign == 0) {
      rest.f.push_back(f);
    } else if (sign < 0 && f.exp.num() % 2 != 0) {
      rest.coef = -rest.coef;
    }
  }
  if (rest.f.size() == y[0].f.size()) return std::nullopt;
  const auto holds = [&](const Rat& x) {
    return x.is_zero() ? fn == ir::Fn::Le || fn == ir::Fn::Ge : x.negative() == (fn == ir::Fn::Lt || fn == ir::Fn::Le);
  };
  if (rest.f.empty()) return holds(rest.coef) ? constant(1) : Poly{};
  if (rest.f.size() == 1 && rest.f[0].exp.is_one()) {
    if (const std::optional<Truth> t = truth_of(rest.f[0], ctx)) {
      // The factor is 0 in one case, and in the other 1, or what its name says at b = 0.
      Rat other = rest.coef;
      if (t->value.is_zero()) {
        for (const Term& u : expand_named(rest.f[0], ctx)) {
          if (u.f.empty()) other = other * u.coef;
        }
      }
      const Rat at_value = holds(other) ? 1 : 0, at_zero = holds(Rat(0)) ? 1 : 0;
      const bool set = t->value.is_one();
      const Rat at_true = set ? at_value : at_zero, at_false = set ? at_zero : at_value;
      return add(constant(at_false), scale(Poly{Term{1, {t->b}}}, at_true - at_false), ctx);
    }
  }
  return compare(fn, make_term(std::move(rest), ctx), {}, false, ctx);
}

// The reading f of data at another index that is the same number, or of data written otherwise.
Poly Algebra::take_again(const Factor& f, const Poly& e, const Poly& data, const Ext& wide, const Ext& ctx) {
  const std::string name = nodes_[f.node].name;
  const auto [lo, hi] = range_by_cases(e, ctx);
  if (name.empty() || (lo >= 0 && hi < wide.back())) return reindex(data, wide, e, ctx);
  return take(data, wide, e, ctx, name == "partial wrap" ? Outside::Wraps : Outside::Undefined);
}

Poly Algebra::given(const Factor& f, const Facts& facts, const Ext& ctx, bool& changed, int depth) {
  const Node& n = nodes_[f.node];
  const Poly same{Term{1, {f}}};
  if (depth > kDepth || !touches(f, facts) || ++openings_ > kSteps) return same;
  for (const Truth& t : facts.truths) {
    if (!same_place(t.b, f) || !f.exp.positive()) continue;
    changed = true;
    return pow(constant(t.value), f.exp, ctx);
  }
  bool any = false;
  if (n.kind == Kind::Red && n.fn == ir::Fn::Add && n.args[0].size() == 1) {
    auto [body, ext] = open_red({f.node, 1, f.map}, ctx);
    const size_t more = ext.size() - ctx.size();
    Facts inside = facts;
    for (Truth& t : inside.truths) t.b = widened(t.b, ctx.size() + 1, more);
    for (Factor& d : inside.divisors) d = widened(d, ctx.size() + 1, more);
    const Poly p = product_given(body, inside, ext, any, depth + 1);
    if (!any) return same;
    changed = true;
    return pow(reduce(ir::Fn::Add, p, ext, static_cast<int>(more)), f.exp, ctx);
  }
  if (takes_again(n)) {
    const Poly e = poly_given(arg_at(n, f, 1, ctx), facts, ctx, any, depth + 1);
    Facts inside = facts;
    for (Truth& t : inside.truths) t.b = widened(t.b, ctx.size() + 1, 1);
    for (Factor& d : inside.divisors) d = widened(d, ctx.size() + 1, 1);
    Ext wide = ctx;
    wide.push_back(nodes_[f.node].inner[0][0]);
    const Poly data = poly_given(inner_data(f, 0, ctx), inside, wide, any, depth + 1);
    if (!any) return same;
    changed = true;
    return pow(take_again(f, e, data, wide, ctx), f.exp, ctx);
  }
  if (!applies_again(n)) return same;
  std::vector<Poly> args;
  for (size_t a = 0; a < nodes_[f.node].args.size(); ++a)
    args.push_back(poly_given(arg_at(nodes_[f.node], f, a, ctx), facts, ctx, any, depth + 1));
  const Node& again = nodes_[f.node];
  if (is_comparison(again) && args[1].empty()) {
    if (std::optional<Poly> p = compare_signs(again.fn, args[0], facts.divisors, ctx)) {
      changed = true;
      return pow(*p, f.exp, ctx);
    }
  }
  if (!any) return same;
  changed = true;
  if (again.kind == Kind::Sum) return pow(args[0], f.exp, ctx);
  if (again.kind == Kind::Bracket) return bracket(args[0], again.lo, again.hi, ctx);
  return pow(apply_again(again, args, ctx), f.exp, ctx);
}

Poly Algebra::poly_given(const Poly& p, const Facts& facts, const Ext& ctx, bool& changed, int depth) {
  Poly out;
  bool any = false;
  for (const Term& u : p) out = add(std::move(out), product_given(u, facts, ctx, any, depth), ctx);
  if (!any) return p;
  changed = true;
  return out;
}

Poly Algebra::product_given(const Term& t, const Facts& facts, const Ext& ctx, bool& changed, int depth) {
  std::vector<Poly> factors;
  bool any = false;
  for (size_t i = 0; i < t.f.size(); ++i) {
    const Factor& f = t.f[i];
    bool mine = false;
    Poly p = given(f, facts, ctx, mine, depth);
    // What the product's own truth values say of its other factors, once the facts of outside are in: only where it is finite anyway, since
    // where a truth value is 0 the product must stay what it was.
    Facts own;
    for (size_t k = 0; k < t.f.size(); ++k) {
      if (k == i) continue;
      if (std::optional<Truth> b = truth_of(t.f[k], ctx); b && !same_place(b->b, f)) own.truths.push_back(*b);
    }
    if (!own.truths.empty() && (known(p, ctx).finite || !refused(Rule::L69))) {
      bool more = false;
      Poly q;
      for (const Term& u : p) {
        std::vector<Poly> parts;
        for (const Factor& g : u.f) parts.push_back(given(g, own, ctx, more, depth + 1));
        q = add(std::move(q), product_of(constant(u.coef), u.f, parts, ctx), ctx);
      }
      if (more && (known(q, ctx).finite || !refused(Rule::L69))) p = std::move(q), mine = true;
    }
    any = any || mine;
    factors.push_back(std::move(p));
  }
  if (!any) return {t};
  changed = true;
  return product_of(constant(t.coef), t.f, factors, ctx);
}

Poly Algebra::by_cases(const Poly& p, const Ext& ctx) {
  Poly out;
  for (const Term& t : p) {
    bool changed = false;
    Facts facts;
    for (const Factor& f : t.f) {
      if (!f.exp.positive() && known(Factor{f.node, 1, f.map}, ctx).finite) facts.divisors.push_back(f);
    }
    Poly q = t.coef.is_zero() ? Poly{t} : product_given(t, facts, ctx, changed, 0);
    applications += changed && fired(Rule::L69) ? 1 : 0;
    out = add(std::move(out), changed ? q : Poly{t}, ctx);
  }
  return out;
}

// A form is made for the variables that its first reader had. Read elsewhere, at a constant or where two of its variables are one, what it
// is made of may be simpler: it is made again for that place (L-70).
Poly Algebra::made_here(const Factor& f, const Ext& ctx, bool& changed, int depth) {
  const Node& n = nodes_[f.node];
  const Poly same{Term{1, {f}}};
  const bool over = n.kind == Kind::Red && n.args[0].size() == 1 && (n.fn == ir::Fn::Add || n.fn == ir::Fn::Max || n.fn == ir::Fn::Min);
  if (!over && !takes_again(n) && !applies_again(n) && (n.kind != Kind::Fn || refused(Rule::L70))) return same;
  std::vector<int64_t> key(f.map);
  key.insert(key.end(), ctx.begin(), ctx.end());
  key.push_back(f.node);
  key.push_back(f.exp.num());
  key.push_back(f.exp.den());
  const auto done = [&](const Poly& p) {
    changed = changed || !(p.size() == 1 && p[0].coef.is_one() && p[0].f.size() == 1 && p[0].f[0] == f);
    return p;
  };
  if (const auto it = made_here_.find(key); it != made_here_.end()) return done(it->second);
  if (depth > kDepth || ++openings_ > kSteps) return same;
  // Here it is read in a special way.
  const size_t w = ctx.size() + 1, rows = f.map.size() / w;
  bool special = n.positional, any = false;  // a bracket inside may be idle here
  for (size_t r = 0; r < rows && !special; ++r) {
    const auto row = f.map.begin() + static_cast<std::ptrdiff_t>(r * w);
    special = std::all_of(row, row + static_cast<std::ptrdiff_t>(w - 1), [](int64_t c) { return c == 0; });
    for (size_t q = 0; q < r && !special; ++q)
      special = n.dims[q] == n.dims[r] &&
                std::equal(row, row + static_cast<std::ptrdiff_t>(w), f.map.begin() + static_cast<std::ptrdiff_t>(q * w));
  }
  const auto all = [&](const Poly& p, const Ext& ext) {
    Poly out;
    for (const Term& u : p) {
      std::vector<Poly> factors;
      for (const Factor& g : u.f) factors.push_back(made_here(g, ext, any, depth + 1));
      out = add(std::move(out), product_of(constant(u.coef), u.f, factors, ext), ext);
    }
    return out;
  };
  Poly made;
  if (over) {
    const auto [body, ext] = open_red({f.node, 1, f.map}, ctx);
    const Poly p = all({body}, ext);
    if (any || special) made = reduce(nodes_[f.node].fn, p, ext, static_cast<int>(ext.size() - ctx.size()));
  } else if (takes_again(n)) {
    const Poly e = all(arg_at(n, f, 1, ctx), ctx);
    Ext wide = ctx;
    wide.push_back(nodes_[f.node].inner[0][0]);
    const Poly data = all(inner_data(f, 0, ctx), wide);
    if (any || special) made = take_again(f, e, data, wide, ctx);
  } else {
    std::vector<Poly> args;
    for (size_t a = 0; a < nodes_[f.node].args.size(); ++a) args.push_back(all(arg_at(nodes_[f.node], f, a, ctx), ctx));
    const Node& again = nodes_[f.node];
    // A name whose parts stay what they were is named again: its two equal variables are one in a name that was made here.
    if (again.kind == Kind::Sum && !any && special && !again.kept)
      made = {as_term(args[0], ctx)};
    else if (any || (special && again.kind != Kind::Sum))
      made = again.kind == Kind::Sum       ? args[0]
             : again.kind == Kind::Bracket ? bracket(args[0], again.lo, again.hi, ctx)
                                           : apply_again(again, args, ctx);
  }
  const bool still = !any && (!special || (nodes_[f.node].kind == Kind::Sum && nodes_[f.node].kept));
  return done(made_here_[key] = still ? same : nodes_[f.node].kind == Kind::Bracket ? made : pow(made, f.exp, ctx));
}

Poly Algebra::made_here(const Poly& p, const Ext& ctx) {
  Poly out;
  for (const Term& t : p) {
    bool changed = false;
    std::vector<Poly> factors;
    for (const Factor& f : t.f) factors.push_back(made_here(f, ctx, changed, 0));
    out = add(std::move(out), t.coef.is_zero() || !changed || !fired(Rule::L70) ? Poly{t} : product_of(constant(t.coef), t.f, factors, ctx),
              ctx);
  }
  return out;
}

}  // namespace shardproof::prove
