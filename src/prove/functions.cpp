// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Scalar functions of polys in canonical form.
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::DType;
using ir::Fn;

Poly Algebra::make_fn(Fn fn, std::vector<Poly> args, const Ext& ctx, DType from, DType to) {
  Node n;
  n.kind = Kind::Fn;
  n.fn = fn;
  // Types matter only to conversions and bit operations on integers; real functions are the same in every float format.
  const bool typed = fn == Fn::Convert || fn == Fn::Not || fn == Fn::Xor || fn == Fn::Shl || fn == Fn::ShrA || fn == Fn::ShrL ||
                     fn == Fn::PopCount || fn == Fn::Clz || fn == Fn::And || fn == Fn::Or || fn == Fn::Div || fn == Fn::FloorDiv ||
                     fn == Fn::Rem || fn == Fn::Mod;
  n.dtype = typed ? to : to == DType::Bool ? DType::Bool : DType::F32;
  if (typed && ir::is_float(to) && fn != Fn::Convert) n.dtype = DType::F32;
  if (fn == Fn::Convert) n.name = std::string(ir::name(from));
  n.args = args;
  const Factor f = intern(n, ctx);
  if (!structure_known || typed || sequential(f.node)) return {Term{1, {f}}};
  // The one-device program may have a name for some of a rank's terms (L-51).
  bool grouped = false;
  for (Poly& p : args) {
    for (auto better = group_names(p, ctx); better; better = group_names(p, ctx)) p = *std::move(better), grouped = true;
  }
  if (!grouped) return {Term{1, {f}}};
  n.args = std::move(args);
  const Factor g = intern(std::move(n), ctx);
  return {Term{1, {sequential(g.node) ? g : f}}};
}

// L-23: exp(sum c_i m_i) = product exp(m_i)^c_i, as long as at most one term can be -inf and none +inf.
Poly Algebra::exp(const Poly& a, const Ext& ctx) {
  if (a.empty()) return constant(1);
  if (a.size() == 1 && a[0].f.size() == 1 && nodes_[a[0].f[0].node].kind == Kind::Inf) {
    if (a[0].coef.negative()) return {};
    return a;
  }
  int loose = 0;
  for (const Term& t : a) {
    const Known k = known(t, ctx);
    if (!k.finite) loose += k.no_pos_inf ? 1 : 2;
    if (t.coef.is_zero()) loose += 2;
  }
  if (loose > 1 && refused(Rule::L23)) return make_fn(Fn::Exp, {a}, ctx, DType::F32, DType::F32);
  fired(Rule::L23);
  Poly out = constant(1);
  for (const Term& t : a) {
    // exp(B x) = 1 - B + B exp(x) for a bracket B and finite x. Masks that are data stay inside: the result is then visibly positive.
    Term cases{1, {}}, rest{t.coef, {}};
    for (const Factor& f : t.f)
      (nodes_[f.node].kind == Kind::Bracket && nodes_[f.node].known.finite && f.exp.is_one() ? cases : rest).f.push_back(f);
    if (!cases.f.empty() && known(rest, ctx).finite) {
      const Poly b{cases};
      const Poly taken = mul(b, exp({rest}, ctx), ctx);
      out = mul(out, add(add(constant(1), scale(b, -1), ctx), taken, ctx), ctx);
      continue;
    }
    if (t.f.size() == 1 && t.f[0].exp.is_one()) {
      const Factor f = t.f[0];
      const Node& n = nodes_[f.node];
      if (n.kind == Kind::Fn && n.fn == Fn::Log) {
        // exp(c log x) = x^c for x >= 0; log is defined only there.
        const Poly x = arg_at(n, f, 0, ctx);
        if (known(x, ctx).nonneg && (t.coef.positive() || known(x, ctx).nonzero)) {
          out = mul(out, pow(x, t.coef, ctx), ctx);
          continue;
        }
      }
      if (n.kind == Kind::Fn && n.fn == Fn::Select && t.coef.positive()) {
        const Poly c = arg_at(n, f, 0, ctx), x = arg_at(nodes_[f.node], f, 1, ctx), y = arg_at(nodes_[f.node], f, 2, ctx);
        const Poly ex = exp(scale(x, t.coef), ctx), ey = exp(scale(y, t.coef), ctx);
        out = mul(out, select(c, ex, ey, ctx), ctx);
        continue;
      }
    }
    Node n;
    n.kind = Kind::Fn;
    n.fn = Fn::Exp;
    const bool constant_term = t.f.empty();
    n.args.push_back({Term{constant_term ? t.coef : Rat(1), t.f}});
    Factor f = intern(std::move(n), ctx);
    f.exp = constant_term ? Rat(1) : t.coef;
    if (!known(t, ctx).finite && f.exp.negative()) return make_fn(Fn::Exp, {a}, ctx, DType::F32, DType::F32);
    out = mul(out, make_term(Term{1, {std::move(f)}}, ctx), ctx);
  }
  return out;
}

// L-24: log(c prod x_i^e_i) = log c + sum e_i log x_i where every x_i is positive.
Poly Algebra::log(const Poly& a, const Ext& ctx) {
  if (a.size() != 1) {
    if (a.empty()) return {Term{-1, {Factor{inf(), 1, {}}}}};
    Term t = as_term(a, ctx);
    if (t.f.size() == 1 && t.coef.is_one() && nodes_[t.f[0].node].kind == Kind::Sum)
      return make_fn(Fn::Log, {a}, ctx, DType::F32, DType::F32);
    const Poly p = {t};
    if (p.size() == 1) return log(p, ctx);
  }
  const Term t = a[0];
  bool positive = t.coef.positive();
  for (const Factor& f : t.f) {
    const Known k = known(f, ctx);
    positive &= k.positive() && k.finite;
  }
  if (!positive) refused(Rule::L24);
  if (!positive && t.coef.positive() && !t.f.empty()) {
    // Factors known to be positive leave; the rest stays inside.
    Term inside{1, {}};
    Poly out;
    if (!t.coef.is_one()) out = make_fn(Fn::Log, {constant(t.coef)}, ctx, DType::F32, DType::F32);
    for (const Factor& f : t.f) {
      const Known fk = known(f, ctx);
      if (fk.positive() && fk.finite) {
        out = add(std::move(out), log({Term{1, {f}}}, ctx), ctx);
      } else {
        inside.f.push_back(f);
      }
    }
    return add(std::move(out), make_fn(Fn::Log, {{inside}}, ctx, DType::F32, DType::F32), ctx);
  }
  if (!positive) return make_fn(Fn::Log, {a}, ctx, DType::F32, DType::F32);
  fired(Rule::L24);
  Poly out;
  if (!t.coef.is_one()) {
    // log of a rational: log p - log q, so that log 6 - log 3 meets log 2 only by factorisation; kept whole.
    out = make_fn(Fn::Log, {constant(t.coef)}, ctx, DType::F32, DType::F32);
  }
  for (const Factor& f : t.f) {
    const Node& n = nodes_[f.node];
    if (n.kind == Kind::Fn && n.fn == Fn::Exp) {
      out = add(std::move(out), scale(arg_at(n, f, 0, ctx), f.exp), ctx);
      continue;
    }
    Poly base = n.kind == Kind::Sum ? expand_named(Factor{f.node, 1, f.map}, ctx) : Poly{Term{1, {Factor{f.node, 1, f.map}}}};
    out = add(std::move(out), scale(make_fn(Fn::Log, {std::move(base)}, ctx, DType::F32, DType::F32), f.exp), ctx);
  }
  return out;
}

// Integer quotients and remainders by a positive constant where the operand splits into a multiple and a small rest (L-25).
// The product with each term of a sum, where `mul` would give the sum a name.
Poly Algebra::distribute(const Term& rest, const Poly& sum, const Ext& ctx) {
  Poly out;
  for (const Term& u : sum) {
    Term v{rest.coef * u.coef, rest.f};
    v.f.insert(v.f.end(), u.f.begin(), u.f.end());
    out = add(std::move(out), make_term(std::move(v), ctx), ctx);
  }
  return out;
}

// L-94: a product of two sines or cosines as a sum of ones, by the sum and the difference of their angles: rotary embeddings whose
// positions are counted from elsewhere have the same differences.
std::optional<Poly> Algebra::sum_angles(const Term& t, const Ext& ctx) {
  const auto turns = [&](const Factor& f) {
    const Node& n = nodes_[f.node];
    return n.kind == Kind::Fn && (n.fn == Fn::Sin || n.fn == Fn::Cos) && f.exp.is_integer() && f.exp.positive();
  };
  const auto turned_inside = [&](const Poly& p) {
    return std::any_of(p.begin(), p.end(), [&](const Term& u) {
      return std::any_of(u.f.begin(), u.f.end(), [&](const Factor& f) {
        if (turns(f)) return true;
        if (!names(f)) return false;
        const Poly& sum = nodes_[f.node].args[0];
        return std::any_of(sum.begin(), sum.end(), [&](const Term& v) { return std::any_of(v.f.begin(), v.f.end(), turns); });
      });
    });
  };
  // A sum of rotated values meets what turns it back.
  const bool outside = std::any_of(t.f.begin(), t.f.end(), turns);
  for (size_t i = 0; outside && i < t.f.size(); ++i) {
    const Node& n = nodes_[t.f[i].node];
    if (n.kind != Kind::Red || n.fn != Fn::Add || n.args[0].size() != 1 || !t.f[i].exp.is_one() || !turned_inside(n.args[0])) continue;
    if (!opens(without(t, i), t.f[i], ctx)) continue;
    auto [both, ext] = open_in(t, i, ctx);
    std::sort(both.f.begin(), both.f.end(), before);
    const Poly met = make_term(both, ext);
    if (met.size() == 1 && met[0].f == both.f) continue;  // they do not meet, and would part again
    const int bound = static_cast<int>(ext.size() - ctx.size());
    Poly out;
    for (const Term& u : met) out = add(std::move(out), reduce_term(u, ext, bound), ctx);
    return out;
  }
  // Names of rotated values are read as what they name, where two of them meet.
  std::vector<size_t> named, at;
  for (size_t i = 0; i < t.f.size(); ++i) {
    if (!names(t.f[i]) || !t.f[i].exp.is_one()) continue;
    const Poly& sum = nodes_[t.f[i].node].args[0];
    if (std::any_of(sum.begin(), sum.end(), [&](const Term& u) { return std::any_of(u.f.begin(), u.f.end(), turns); })) named.push_back(i);
  }
  const auto plain = static_cast<size_t>(std::count_if(t.f.begin(), t.f.end(), turns));
  if (!named.empty() && named.size() + plain > 1 && opens(without(t, named[0]), t.f[named[0]], ctx)) {
    return distribute(without(t, named[0]), expand_named(t.f[named[0]], ctx), ctx);
  }
  for (size_t i = 0; i < t.f.size() && at.size() < 2; ++i) {
    for (int64_t copy = 0; turns(t.f[i]) && copy < t.f[i].exp.num() && at.size() < 2; ++copy) at.push_back(i);
  }
  if (at.size() < 2) return std::nullopt;
  const Factor f = t.f[at[0]], g = t.f[at[1]];
  const Poly x = arg_at(nodes_[f.node], f, 0, ctx), y = arg_at(nodes_[g.node], g, 0, ctx);
  if ((!known(x, ctx).finite || !known(y, ctx).finite) && refused(Rule::L94)) return std::nullopt;
  fired(Rule::L94);
  const bool sine_x = nodes_[f.node].fn == Fn::Sin, sine_y = nodes_[g.node].fn == Fn::Sin;
  const auto turned = [&](bool sine, Poly angle) {
    const bool negative = !angle.empty() && angle[0].coef.negative();
    if (negative) angle = scale(std::move(angle), -1);
    const Poly p = apply(sine ? Fn::Sin : Fn::Cos, {angle}, DType::F32, DType::F32, ctx);
    return sine && negative ? scale(p, -1) : p;
  };
  const Poly minus = scale(y, -1);
  // sin x sin y = (cos(x - y) - cos(x + y)) / 2, cos x cos y = (cos(x - y) + cos(x + y)) / 2,
  // sin x cos y = (sin(x + y) + sin(x - y)) / 2, cos x sin y = (sin(x + y) - sin(x - y)) / 2.
  const bool sine = sine_x != sine_y;
  Poly sum = turned(sine, add(x, y, ctx)), difference = turned(sine, add(x, minus, ctx));
  if (sine_x && sine_y) sum = scale(std::move(sum), -1);
  if (!sine_x && sine_y) difference = scale(std::move(difference), -1);
  Term rest = without(t, at[0]);
  const auto second = std::find_if(rest.f.begin(), rest.f.end(), [&](const Factor& h) { return h.node == g.node && h.map == g.map; });
  rest = without(std::move(rest), static_cast<size_t>(second - rest.f.begin()));
  rest.coef = rest.coef * Rat(1, 2);
  return distribute(rest, add(std::move(sum), difference, ctx), ctx);
}

Poly Algebra::int_divide(Fn fn, const Poly& a, const Poly& b, const Ext& ctx) {
  const auto c = as_constant(b);
  const auto [lo, hi] = range(a, ctx);
  if (c && c->is_integer() && c->positive() && (lo >= 0 || fn == Fn::FloorDiv || fn == Fn::Mod)) {
    const int64_t d = c->num();
    Poly multiple, rest;
    for (const Term& t : a) {
      if (!t.coef.is_integer()) return make_fn(fn, {a, b}, ctx, DType::I64, DType::I64);
      if (t.f.size() == 1 && t.f[0].node == iota() && t.f[0].exp.is_one()) {
        // Split the affine form entry by entry.
        for (size_t v = 0; v <= ctx.size(); ++v) {
          const int64_t k = mul_checked(t.coef.num(), t.f[0].map[v]);
          if (k == 0) continue;
          Row row(ctx.size() + 1, 0);
          row[v] = 1;
          const int64_t q = v == ctx.size() ? floor_div(k, d) : (k % d == 0 ? k / d : 0), r = k - q * d;
          Poly unit = v == ctx.size() ? constant(1) : index(row, ctx);
          if (q != 0) multiple = add(std::move(multiple), scale(unit, q), ctx);
          if (r != 0) rest = add(std::move(rest), scale(unit, r), ctx);
        }
        continue;
      }
      const int64_t k = t.coef.num();
      const int64_t q = t.f.empty() ? floor_div(k, d) : (k % d == 0 ? k / d : 0), r = k - q * d;
      if (q != 0) multiple = add(std::move(multiple), {Term{q, t.f}}, ctx);
      if (r != 0) rest = add(std::move(rest), {Term{r, t.f}}, ctx);
    }
    const auto [rl, rh] = range(rest, ctx);
    const bool divides = fn == Fn::FloorDiv || fn == Fn::Div;
    if (rl >= 0 && rh < d && known(divides ? rest : multiple, ctx).finite && fired(Rule::L25)) return divides ? multiple : rest;
    refused(Rule::L25);
  }
  const auto ca = as_constant(a);
  if (ca && c && ca->is_integer() && c->is_integer() && !c->is_zero()) {
    const int64_t x = ca->num(), y = c->num();
    switch (fn) {
      case Fn::FloorDiv: return constant(floor_div(x, y));
      case Fn::Div: return constant(x / y);
      case Fn::Rem: return constant(x % y);
      default: return constant(x - floor_div(x, y) * y);
    }
  }
  return make_fn(fn, {a, b}, ctx, DType::I64, DType::I64);
}

// Two functions of the same arguments that are a whole together: a quotient's multiple and the remainder (L-103), the larger and the
// smaller of two (L-105).
std::optional<Poly> Algebra::join_functions(const Term& x, const Term& y, const Ext& ctx) {
  const Factor *f = x.f.data(), *g = y.f.data();
  if (nodes_[f->node].kind != Kind::Fn || nodes_[g->node].kind != Kind::Fn || !f->exp.is_one() || !g->exp.is_one()) return std::nullopt;
  const auto args = [&](const Factor& of) {
    std::vector<Poly> out;
    for (size_t k = 0; k < nodes_[of.node].args.size(); ++k) out.push_back(arg_at(nodes_[of.node], of, k, ctx));
    return out;
  };
  const Fn fn = nodes_[f->node].fn, gn = nodes_[g->node].fn;
  if (fn == Fn::Max && gn == Fn::Max && x.coef == -y.coef) {
    const std::vector<Poly> a = args(*f), b = args(*g);
    if (a.size() != 2 || b.size() != 2) return std::nullopt;
    for (const size_t turn : {0, 1}) {
      if (!equal(a[0], scale(b[turn], -1), ctx) || !equal(a[1], scale(b[1 - turn], -1), ctx)) continue;
      ++applications;
      fired(Rule::L105);
      return scale(add(a[0], a[1], ctx), x.coef);
    }
    return std::nullopt;
  }
  const auto divides = [](Fn k) { return k == Fn::FloorDiv || k == Fn::Div; };
  const auto rests = [](Fn k) { return k == Fn::Mod || k == Fn::Rem; };
  if (!(divides(fn) && rests(gn)) && !(rests(fn) && divides(gn))) return std::nullopt;
  const bool first = divides(fn);
  const bool alike = (first ? fn : gn) == Fn::FloorDiv ? (first ? gn : fn) == Fn::Mod : (first ? gn : fn) == Fn::Rem;
  const Rat quotient = first ? x.coef : y.coef, remainder = first ? y.coef : x.coef;
  const std::vector<Poly> a = args(*f), b = args(*g);
  const auto by = as_constant(a[1]);
  if (!by || !by->is_integer() || !by->positive() || !known(a[0], ctx).integer) return std::nullopt;
  // What is not negative is rounded down whichever way it is rounded.
  if (!alike && range(a[0], ctx).first < 0 && refused(Rule::L103)) return std::nullopt;
  if ((!(quotient == remainder * *by) || !equal(a[0], b[0], ctx) || !equal(a[1], b[1], ctx)) && refused(Rule::L103)) return std::nullopt;
  ++applications;
  fired(Rule::L103);
  return scale(a[0], remainder);
}

// A bracket before a product means "0 where it does not hold", whatever the product is; a program's own factor of 0 does not hide what is
// infinite or undefined (L-5): the other side's definedness stays beside it.
Poly Algebra::product(const Poly& a, const Poly& b, const Ext& ctx) {
  auto bracketed = [&](const Poly& p) {
    for (const Term& t : p) {
      for (const Factor& f : t.f) {
        if (nodes_[f.node].kind == Kind::Bracket) return true;
      }
    }
    return false;
  };
  Poly guards;
  for (const Poly* p : {&a, &b}) {
    const Poly& other = p == &a ? b : a;
    if (!bracketed(*p)) continue;
    const Known k = known(other, ctx);
    if (k.finite) continue;
    if (!k.no_inf) throw Overflow("a mask before values that may be infinite");
    guards = add(std::move(guards), mul({}, other, ctx), ctx);
  }
  Poly p = mul(a, b, ctx);
  return guards.empty() ? p : add(std::move(p), guards, ctx);
}

bool Algebra::masked(const Poly& p) const {
  return !p.empty() && std::all_of(p.begin(), p.end(), [&](const Term& t) {
    return std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket; });
  });
}

bool Algebra::selects(const Term& t) const {
  return std::all_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket && f.exp.is_one(); });
}

Poly Algebra::times_value(const Poly& rest, const Poly& value, const Ext& ctx) {
  Poly p = mul(rest, value, ctx);
  if (!masked(value)) return p;
  const Known k = known(rest, ctx);
  if (k.finite) return p;
  if (!k.no_inf) throw Overflow("a mask before values that may be infinite");
  return add(std::move(p), mul({}, rest, ctx), ctx);
}

Poly Algebra::product_of(Poly rest, const std::vector<Factor>& from, const std::vector<Poly>& to, const Ext& ctx) {
  std::vector<const Poly*> values, choices;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool bracket = nodes_[from[i].node].kind == Kind::Bracket;
    if (bracket && from[i].exp.positive() && to[i].empty()) return {};  // it never holds, and hides whatever the others are
    if (bracket && !std::all_of(to[i].begin(), to[i].end(), [&](const Term& t) { return selects(t); })) {
      choices.push_back(&to[i]);  // a truth value that hides nothing by itself
    } else if (!bracket && masked(to[i])) {
      values.push_back(&to[i]);
    } else {
      rest = mul(rest, to[i], ctx);
    }
  }
  Poly guards;
  for (const Poly* v : values) {
    const Known k = known(*v, ctx);
    if (values.size() < 2 || k.finite) continue;
    if (!k.no_inf) throw Overflow("a mask before values that may be infinite");
    guards = add(std::move(guards), mul(rest, mul({}, *v, ctx), ctx), ctx);
  }
  Poly out = rest;
  for (const Poly* v : values) out = times_value(out, *v, ctx);
  if (!guards.empty()) out = add(std::move(out), guards, ctx);
  for (const Poly* c : choices) out = where(*c, out, ctx);
  return out;
}

Poly Algebra::apply(Fn fn, const std::vector<Poly>& args, DType from, DType to, const Ext& ctx) {
  // Guards stay beside the function of the rest, where an undefined argument makes it undefined.
  switch (fn) {
    case Fn::Add:
    case Fn::Sub:
    case Fn::Neg:
    case Fn::Mul:
    case Fn::Select:
    case Fn::And:
    case Fn::Or:
    case Fn::Xor:
    case Fn::Not:
    case Fn::IsFinite:
    case Fn::IsNan:
    case Fn::IsInf:
    case Fn::Eq:
    case Fn::Ne:
    case Fn::Lt:
    case Fn::Le:
    case Fn::Gt:
    case Fn::Ge: break;
    default: {
      if (!ir::is_float(from) || !ir::is_float(to)) break;
      std::vector<Poly> rest = args;
      Poly guards;
      for (Poly& p : rest) guards = add(std::move(guards), take_guards(p), ctx);
      if (!guards.empty()) return add(apply(fn, rest, from, to, ctx), guards, ctx);
    }
  }
  const bool integer = ir::is_int(from) || from == DType::Bool;
  const Poly& a = args[0];
  const Poly one = constant(1);
  auto real = [&](Fn f, std::vector<Poly> xs) { return make_fn(f, std::move(xs), ctx, DType::F32, DType::F32); };
  auto is_inf = [&](const Poly& p) { return p.size() == 1 && p[0].f.size() == 1 && nodes_[p[0].f[0].node].kind == Kind::Inf; };
  // f(select(c, x, y)) = select(c, f(x), f(y)) for a kept select (one branch infinite).
  if (args.size() == 1 && fn != Fn::Neg && a.size() == 1 && a[0].coef.is_one() && a[0].f.size() == 1 && a[0].f[0].exp.is_one() &&
      nodes_[a[0].f[0].node].kind == Kind::Fn && nodes_[a[0].f[0].node].fn == Fn::Select && fn != Fn::Exp && fn != Fn::Convert) {
    const Factor f = a[0].f[0];
    const Poly c = arg_at(nodes_[f.node], f, 0, ctx), x = arg_at(nodes_[f.node], f, 1, ctx), y = arg_at(nodes_[f.node], f, 2, ctx);
    return select(c, apply(fn, {x}, from, to, ctx), apply(fn, {y}, from, to, ctx), ctx);
  }
  switch (fn) {
    case Fn::Add: {
      if (to == DType::Bool) return apply(Fn::Or, args, from, to, ctx);
      return sum(args, ctx);
    }
    case Fn::Sub: return add(a, scale(args[1], -1), ctx);
    case Fn::Neg: return scale(a, -1);
    case Fn::Mul: {
      Poly p = a;
      for (size_t i = 1; i < args.size(); ++i) p = product(p, args[i], ctx);
      return p;
    }
    case Fn::And:
      if (to == DType::Bool) {
        Poly p = a;
        for (size_t i = 1; i < args.size(); ++i) p = mul(p, args[i], ctx);
        return p;
      }
      return make_fn(fn, args, ctx, from, to);
    case Fn::Or:
      if (to == DType::Bool) {
        Poly p = a;
        for (size_t i = 1; i < args.size(); ++i) p = add(add(p, args[i], ctx), scale(mul(p, args[i], ctx), -1), ctx);
        return p;
      }
      return make_fn(fn, args, ctx, from, to);
    case Fn::Xor:
      if (to == DType::Bool) return add(add(a, args[1], ctx), scale(mul(a, args[1], ctx), -2), ctx);
      return make_fn(fn, args, ctx, from, to);
    case Fn::Not:
      if (to == DType::Bool) return add(one, scale(a, -1), ctx);
      return make_fn(fn, args, ctx, from, to);
    case Fn::Max:
    case Fn::Min:
      if (to == DType::Bool) return apply(fn == Fn::Max ? Fn::Or : Fn::And, args, from, to, ctx);
      return extreme(fn, args, ctx);
    case Fn::Div:
      if (integer) return int_divide(fn, a, args[1], ctx);
      if (auto c = as_constant(args[1])) {
        if (c->is_zero()) return real(Fn::Div, args);
        return scale(a, c->inverse());
      }
      if (is_inf(args[1])) return real(Fn::Div, args);
      return product(a, pow(args[1], -1, ctx), ctx);
    case Fn::FloorDiv:
    case Fn::Rem:
    case Fn::Mod:
      if (integer) return int_divide(fn, a, args[1], ctx);
      return real(fn, args);
    case Fn::Pow: {
      const auto c = as_constant(args[1]);
      if (c && (c->is_integer() || c->den() == 2) && std::abs(c->num()) <= 64) {
        if (c->is_zero()) return one;
        return pow(a, *c, ctx);
      }
      // c^-b is the inverse of c^b for a positive constant c and a finite b: leading coefficient positive (L-81). XLA writes x / c^b as x
      // c^-b.
      if (const auto base = as_constant(a); base && !args[1].empty() && args[1].back().coef.negative() &&
                                            (base->positive() && known(args[1], ctx).finite ? fired(Rule::L81) : !refused(Rule::L81)))
        return pow(real(Fn::Pow, {a, scale(args[1], -1)}), -1, ctx);
      // a^b for a constant positive base: exp(b log a); b an unknown integer step (bias correction).
      return real(Fn::Pow, args);
    }
    case Fn::Abs: {
      const Known k = known(a, ctx);
      if (k.nonneg) return a;
      if (a.size() == 1 && !a[0].coef.is_zero()) {
        // |c prod x^e| = |c| prod |x|^e
        Term t{a[0].coef.negative() ? -a[0].coef : a[0].coef, {}};
        for (const Factor& f : a[0].f) {
          const bool even = f.exp.is_integer() && f.exp.num() % 2 == 0;
          if (known(f, ctx).nonneg || even || !f.exp.is_integer()) {  // a root is not negative, and must stay undefined where it is
            t.f.push_back(f);
          } else {
            Poly g = make_fn(Fn::Abs, {{Term{1, {Factor{f.node, 1, f.map}}}}}, ctx, from, integer ? to : DType::F32);
            Factor h = g[0].f[0];
            h.exp = f.exp;
            t.f.push_back(std::move(h));
          }
        }
        return make_term(std::move(t), ctx);
      }
      // |p| = |-p|: leading coefficient positive.
      return make_fn(Fn::Abs, {!a.empty() && a[0].coef.negative() ? scale(a, -1) : a}, ctx, from, integer ? to : DType::F32);
    }
    case Fn::Exp: return exp(a, ctx);
    case Fn::Exp2: return real(Fn::Exp2, args);
    case Fn::Expm1: return add(exp(a, ctx), constant(-1), ctx);
    case Fn::Log: return log(a, ctx);
    case Fn::Log1p: return log(add(a, one, ctx), ctx);
    case Fn::Sqrt: return pow(a, Rat(1, 2), ctx);
    case Fn::Rsqrt: return pow(a, Rat(-1, 2), ctx);
    case Fn::Logistic: {
      // Written out where the argument has logarithms (merging of softmax pieces), else kept (L-26).
      bool logs = false;
      for (const Term& t : a) {
        for (const Factor& f : t.f) logs |= nodes_[f.node].kind == Kind::Fn && nodes_[f.node].fn == Fn::Log;
      }
      if (logs && known(a, ctx).finite && fired(Rule::L26)) return pow(add(one, exp(scale(a, -1), ctx), ctx), -1, ctx);
      // s(-x) = 1 - s(x): leading coefficient positive.
      if (!a.empty() && !a.back().f.empty() && a.back().coef.negative() && known(a, ctx).finite && fired(Rule::L26))
        return add(one, scale(real(Fn::Logistic, {scale(a, -1)}), -1), ctx);
      refused(Rule::L26);
      return real(fn, args);
    }
    case Fn::Sin:
    case Fn::Tan:
    case Fn::Asin:
    case Fn::Atan:
    case Fn::Sinh:
    case Fn::Tanh:
    case Fn::Erf:
    case Fn::Asinh:
    case Fn::Atanh:
    case Fn::Cbrt:
      // Odd functions: leading coefficient positive.
      if (a.empty()) return {};
      if (a.back().coef.negative()) return scale(real(fn, {scale(a, -1)}), -1);
      return real(fn, args);
    case Fn::Cos:
    case Fn::Cosh:
      if (a.empty()) return one;
      return real(fn, {a.back().coef.negative() ? scale(a, -1) : a});
    case Fn::Sign: {
      const Known k = known(a, ctx);
      if (k.positive()) return one;
      if (a.empty()) return {};
      // The sign of an integer: [a >= 1] - [a < 0].
      if (integer && k.integer) return add(bracket(a, 1, kPosInf, ctx), scale(bracket(a, kNegInf, 0, ctx), -1), ctx);
      return make_fn(fn, args, ctx, from, integer ? to : DType::F32);
    }
    case Fn::Floor:
    case Fn::Ceil:
    case Fn::Round:
    case Fn::RoundAway:
    case Fn::Trunc:
      if (known(a, ctx).integer && known(a, ctx).finite) return a;
      return real(fn, args);
    case Fn::Select: return select(a, args[1], args[2], ctx);
    case Fn::Eq:
    case Fn::Ne:
    case Fn::Lt:
    case Fn::Le:
    case Fn::Gt:
    case Fn::Ge: return compare(fn, a, args[1], integer, ctx);
    case Fn::IsFinite:
      if (known(a, ctx).finite) return one;
      return make_fn(fn, args, ctx, from, DType::Bool);
    case Fn::IsNan:
    case Fn::IsInf:
      if (known(a, ctx).finite) return {};
      return make_fn(fn, args, ctx, from, DType::Bool);
    case Fn::Convert: {
      if (from == to) return a;
      if (to == DType::Bool) return from == DType::Bool ? a : compare(Fn::Ne, a, {}, integer, ctx);
      if (ir::is_float(to) && to != DType::F8 && to != DType::F4 && from != DType::F8 && from != DType::F4)
        return a;  // exact in real arithmetic: an assumption
      if (from == DType::Bool) return a;
      if (ir::is_int(to)) {
        const Known k = known(a, ctx);
        if (k.integer && k.finite) {
          const int bits = ir::int_bits(to);
          const bool is_signed = ir::is_signed_int(to);
          const int64_t lo = is_signed ? (bits >= 63 ? kNegInf : -(int64_t{1} << (bits - 1))) : 0;
          const int64_t hi = bits >= 62 ? kPosInf : is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
          if (k.lo >= lo && k.hi <= hi && k.lo > kNegInf && k.hi < kPosInf) return a;
          if (is_signed && bits == 64 && ir::is_signed_int(from)) return a;  // widening
          if (ir::is_int(from) && ir::int_bits(from) < bits && ir::is_signed_int(from) == is_signed) return a;
        }
      }
      return make_fn(fn, args, ctx, from, to);
    }
    default: return make_fn(fn, args, ctx, from, to);
  }
}

}  // namespace shardproof::prove
