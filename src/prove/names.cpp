// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Polys as one term: names of sums (L-3) and powers.
#include <algorithm>
#include <cmath>

#include "prove/algebra.h"
#include "util/result.h"

namespace shardproof::prove {

Term Algebra::as_term(const Poly& p, const Ext& ctx, bool clear_denominators, bool kept) {
  if (p.empty()) return Term{0, {}};
  if (p.size() == 1) return p[0];
  // L-3: name a sum after taking out its content: the first coefficient, negative powers and common factors that are positive.
  std::vector<Factor> content;
  for (const Term& t : p) {
    for (const Factor& f : t.f) {
      const Known fk = known(f, ctx);
      if (!fk.positive() || !fk.finite) continue;
      bool seen = false;
      for (const Factor& c : content) seen |= c.node == f.node && c.map == f.map;
      if (seen) continue;
      Rat least = 0;
      bool first = true;
      for (const Term& o : p) {
        Rat e = 0;
        for (const Factor& g : o.f) {
          if (g.node == f.node && g.map == f.map) e = g.exp;
        }
        if (first || e < least) least = e;
        first = false;
      }
      const bool clears = clear_denominators || nodes_[f.node].dims.empty();  // a scalar never hides a part that others share
      if (least.positive() || (clears && least.negative() && least.is_integer())) content.push_back(Factor{f.node, least, f.map});
    }
  }
  Poly q = p;
  {
    // x/D + y/D = (x + y)/D, whatever D is.
    std::vector<Factor> divisors;
    bool brackets = false;  // they hide an undefined divisor, a name does not
    for (const Term& o : p) {
      for (const Factor& f : o.f) brackets |= nodes_[f.node].kind == Kind::Bracket;
    }
    for (const Factor& f : p[0].f) {
      if (!f.exp.negative() || (brackets && !known(Term{1, {f}}, ctx).finite)) continue;
      bool all = true, taken = false;
      for (const Term& o : p) all &= std::find(o.f.begin(), o.f.end(), f) != o.f.end();
      for (const Factor& c : content) taken |= c.node == f.node && c.map == f.map;
      if (all && !taken) divisors.push_back(f);
    }
    if (!divisors.empty()) {
      q.clear();
      for (const Term& t : p) {
        Term u{t.coef, {}};
        for (const Factor& f : t.f) {
          if (std::find(divisors.begin(), divisors.end(), f) == divisors.end()) u.f.push_back(f);
        }
        q = add(std::move(q), {std::move(u)}, ctx);
      }
      Term t = as_term(q, ctx, clear_denominators, kept);
      t.f.insert(t.f.end(), divisors.begin(), divisors.end());
      if (!combine_factors(t, ctx)) return Term{0, {}};
      return t;
    }
  }
  if (!content.empty()) {
    Term inverse{1, content};
    for (Factor& f : inverse.f) f.exp = -f.exp;
    Poly r;
    for (const Term& t : p) {
      Term u{t.coef, t.f};
      u.f.insert(u.f.end(), inverse.f.begin(), inverse.f.end());
      r = add(std::move(r), make_term(std::move(u), ctx), ctx);
    }
    q = std::move(r);
    if (q.size() == 1) {
      Term t{q[0].coef, q[0].f};
      t.f.insert(t.f.end(), content.begin(), content.end());
      Poly done = make_term(std::move(t), ctx);
      if (done.size() == 1) return done[0];
      q = std::move(done);
      content.clear();
    }
  }
  // The lead is a term that is no index form, if there is one: 15 - i masked entries and a positive sum stay positive. Of these the one
  // with the largest coefficient: a residual stream has 1 before what it adds 1/8192 of, and names of names would multiply such factors up.
  const Term* lead = nullptr;
  const auto magnitude = [](const Term& t) { return t.coef.negative() ? -t.coef : t.coef; };
  const auto plain = [&](const Term& t) { return !t.f.empty() && t.f[0].node != iota(); };
  for (const Term& t : q) {
    if (t.coef.is_zero()) continue;
    if (!lead || plain(t) > plain(*lead) || (plain(t) == plain(*lead) && !t.f.empty() && magnitude(*lead) < magnitude(t))) lead = &t;
  }
  const Rat c = lead ? lead->coef : Rat(1);
  fired(Rule::L3);
  Node n;
  n.kind = Kind::Sum;
  n.kept = kept;
  n.args.push_back(scale(q, c.inverse()));
  Term t{c, {intern(std::move(n), ctx)}};
  if (structure_known && !kept && !sequential(t.f[0].node)) {
    if (const auto grouped = group_names(q, ctx)) {
      Term g = as_term(*grouped, ctx, clear_denominators);
      g.f.insert(g.f.end(), content.begin(), content.end());
      if (!combine_factors(g, ctx)) return Term{0, {}};
      return g;
    }
  }
  t.f.insert(t.f.end(), content.begin(), content.end());
  std::sort(t.f.begin(), t.f.end(), before);
  return t;
}

Poly Algebra::pow(const Poly& a, const Rat& e, const Ext& ctx) {
  if (e.is_one()) return a;
  if (e.is_zero()) return constant(1);
  if (Poly rest = a, guards = take_guards(rest); !guards.empty()) return add(pow(rest, e, ctx), guards, ctx);
  if (auto c = as_constant(a)) {
    if (e.is_integer() && std::abs(e.num()) <= 64) {
      Rat r = 1;
      for (int64_t k = 0; k < std::abs(e.num()); ++k) r = r * *c;
      if (e.negative()) r = r.inverse();
      return constant(r);
    }
    if (e.den() == 2 && c->positive() && std::abs(e.num()) <= 64) {
      // c^(k/2) = c^((k-1)/2) sqrt(c), sqrt(p/q) = sqrt(p q)/q
      Rat r = 1;
      const int64_t k = e.num() >= 0 ? e.num() / 2 : -((-e.num() + 1) / 2);
      for (int64_t j = 0; j < std::abs(k); ++j) r = r * (k > 0 ? *c : c->inverse());
      // Squares leave numerator and denominator first, so that fewer products are too large.
      int64_t inside = 1, outside = 1;
      for (int64_t part : {c->num(), c->den()}) {
        for (int64_t d = 2; d * d <= part && d < 100000; ++d) {
          while (part % (d * d) == 0) part /= d * d, outside = mul_checked(outside, d);
        }
        const auto root = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(part))));
        if (root > 1 && root < 3000000000 && root * root == part) outside = mul_checked(outside, root), part = 1;
        inside = mul_checked(inside, part);
      }
      r = r * Rat(outside, c->den());
      Term t{r, {}};
      if (inside != 1) t.f.push_back(Factor{surd(inside), 1, {}});
      return {t};
    }
    if (c->is_one()) return a;
    if (c->positive()) return make_fn(ir::Fn::Pow, {a, constant(e)}, ctx, ir::DType::F32, ir::DType::F32);  // other roots are not taken
  }
  Term t = as_term(a, ctx, e.negative() && e.is_integer());
  if (t.coef.is_zero()) {
    if (e.negative()) throw Overflow("division by zero");
    return {std::move(t)};
  }
  Term out{1, {}};
  // (x^a)^e is x^(a e) only where no undefined point is lost: a zero or infinity under two inversions, a negative under a root (L-7).
  for (const Factor& f : t.f) {
    const Known k = known(f, ctx);
    const Rat both = f.exp * e;
    const bool inverted = f.exp.negative() && e.negative();
    // A bracket stands for a condition everywhere else: its reciprocal, undefined where it does not hold, is no bracket.
    const bool condition = e.negative() && nodes_[f.node].kind == Kind::Bracket;
    if (condition || (inverted && !(k.nonzero && k.never_inf())) || (!f.exp.is_integer() && both.is_integer() && !k.nonneg)) {
      refused(Rule::L7);
      return make_fn(ir::Fn::Pow, {Poly{t}, constant(e)}, ctx, ir::DType::F32, ir::DType::F32);
    }
  }
  fired(Rule::L7);
  if (e.is_integer()) {
    for (int64_t k = 0; k < std::abs(e.num()); ++k) out.coef = out.coef * (e.negative() ? t.coef.inverse() : t.coef);
    for (Factor f : t.f) {
      f.exp = f.exp * e;
      out.f.push_back(std::move(f));
    }
    return make_term(std::move(out), ctx);
  }
  // A fractional power goes to the factors that cannot be negative (L-7); the rest gets a name.
  Term rest{1, {}};
  if (t.coef.positive()) {
    out = Term{1, {}};
    Poly c;
    try {
      c = pow(constant(t.coef), e, ctx);
    } catch (const Overflow&) {
      c.clear();  // its root is too large: it stays inside of the named rest
    }
    if (c.size() == 1 && (e.den() == 2 || c[0].f.empty()))
      out = c[0];
    else
      rest.coef = t.coef;
  } else {
    rest.coef = t.coef;
  }
  // sqrt(x y) is 0 where x is 0 and y negative, sqrt x sqrt y is undefined: beside what may be negative only those leave that are never 0.
  const bool negative = t.coef.negative() || std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) {
                          return !known(f, ctx).nonneg && !(f.exp.is_integer() && f.exp.num() % 2 == 0) && f.exp.is_integer();
                        });
  auto stays = [&](const Factor& f) {
    if (!negative || e.negative() || nodes_[f.node].kind == Kind::Bracket) return false;
    const Known k = known(f, ctx);
    return f.exp.positive() ? !k.never_zero() : !k.never_inf();
  };
  for (const Factor& f : t.f) {
    const bool even = f.exp.is_integer() && f.exp.num() % 2 == 0;
    if (stays(f) && refused(Rule::L7)) {
      rest.f.push_back(f);
    } else if (known(f, ctx).nonneg) {
      out.f.push_back(Factor{f.node, f.exp * e, f.map});
    } else if (even) {
      Poly abs = apply(ir::Fn::Abs, {make_term(Term{1, {Factor{f.node, 1, f.map}}}, ctx)}, ir::DType::F32, ir::DType::F32, ctx);
      if (abs.size() != 1) return make_fn(ir::Fn::Pow, {a, constant(e)}, ctx, ir::DType::F32, ir::DType::F32);
      for (const Factor& g : abs[0].f) out.f.push_back(Factor{g.node, g.exp * f.exp * e, g.map});
    } else {
      rest.f.push_back(f);
    }
  }
  if (!rest.f.empty() || !rest.coef.is_one()) {
    if (rest.f.size() == 1 && rest.coef.is_one() && rest.f[0].exp.is_one()) {
      out.f.push_back(Factor{rest.f[0].node, e, rest.f[0].map});
    } else {
      Node n;
      n.kind = Kind::Sum;
      n.args.push_back({rest});
      Factor f = intern(std::move(n), ctx);
      f.exp = e;
      out.f.push_back(std::move(f));
    }
  }
  return make_term(std::move(out), ctx);
}

}  // namespace shardproof::prove
