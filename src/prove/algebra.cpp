// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Polys: terms, sums, products, powers, substitution. Rules are cited as L-n (docs/lemmas.md).
#include "prove/algebra.h"

#include <algorithm>
#include <cmath>

#include "util/result.h"

namespace shardproof::prove {

int compare(const Factor& a, const Factor& b) {
  if (a.node != b.node) return a.node < b.node ? -1 : 1;
  if (!(a.exp == b.exp)) return a.exp < b.exp ? -1 : 1;
  if (a.map != b.map) return a.map < b.map ? -1 : 1;
  return 0;
}

int compare(const Term& a, const Term& b) {
  const size_t n = std::min(a.f.size(), b.f.size());
  for (size_t i = 0; i < n; ++i) {
    if (int c = compare(a.f[i], b.f[i])) return c;
  }
  if (a.f.size() != b.f.size()) return a.f.size() < b.f.size() ? -1 : 1;
  return 0;
}

bool same_monomial(const Term& a, const Term& b) { return a.f == b.f; }

Sub Sub::identity(int n) {
  Sub s;
  s.width = n + 1;
  for (int j = 0; j < n; ++j) {
    Row r(n + 1, 0);
    r[j] = 1;
    s.rows.push_back(std::move(r));
  }
  return s;
}

Algebra::Algebra() {
  Node iota;
  iota.kind = Kind::Iota;
  iota.dtype = ir::DType::I64;
  iota.dims = {kUnbounded};
  iota.known.finite = iota.known.no_pos_inf = iota.known.integer = true;
  nodes_.push_back(std::move(iota));
  Node inf;
  inf.kind = Kind::Inf;
  inf.known.nonneg = inf.known.nonzero = true;
  nodes_.push_back(std::move(inf));
}

Nid Algebra::add_base(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<Nid>(nodes_.size() - 1);
}

Nid Algebra::named_node(const std::string& key, Node node) {
  auto [it, fresh] = named_.try_emplace(key, static_cast<Nid>(nodes_.size()));
  if (fresh) nodes_.push_back(std::move(node));
  return it->second;
}

Nid Algebra::literal_real(double value) {
  char text[64];
  snprintf(text, sizeof text, "lit:%a", value);
  auto [it, fresh] = named_.try_emplace(text, static_cast<Nid>(nodes_.size()));
  if (fresh) {
    Node n;
    n.kind = Kind::Lit;
    n.name = text;
    n.known.finite = n.known.no_pos_inf = std::isfinite(value);
    n.known.nonneg = value >= 0;
    n.known.nonzero = value != 0;
    nodes_.push_back(std::move(n));
  }
  return it->second;
}

Nid Algebra::surd(int64_t squarefree) {
  const std::string text = "sqrt:" + std::to_string(squarefree);
  auto [it, fresh] = named_.try_emplace(text, static_cast<Nid>(nodes_.size()));
  if (fresh) {
    Node n;
    n.kind = Kind::Lit;
    n.name = text;
    n.lo = squarefree;
    n.known.finite = n.known.no_pos_inf = n.known.nonneg = n.known.nonzero = true;
    nodes_.push_back(std::move(n));
  }
  return it->second;
}

Poly Algebra::constant(const Rat& c) {
  if (c.is_zero()) return {};
  return {Term{c, {}}};
}

std::optional<Rat> Algebra::as_constant(const Poly& p) const {
  if (p.empty()) return Rat(0);
  if (p.size() == 1 && p[0].f.empty()) return p[0].coef;
  return std::nullopt;
}

Poly Algebra::index(const Row& row, const Ext& ctx) {
  Term t;
  t.f.push_back(Factor{iota(), 1, row});
  Poly p = make_term(std::move(t), ctx);
  collect_iota(p, ctx);
  return p;
}

Poly Algebra::access(Nid id, std::vector<int64_t> map, const Ext& ctx) {
  Term t;
  t.f.push_back(Factor{id, 1, std::move(map)});
  return make_term(std::move(t), ctx);
}

// --- one product -------------------------------------------------------------------------------------------------------------

bool Algebra::combine_factors(Term& t, const Ext& ctx) {
  for (Factor& f : t.f) {
    if (!nodes_[f.node].padded) continue;
    if (auto g = unpadded(f, ctx)) f = *std::move(g);
  }
  // Constants first: iota at a fixed place, elements of dense tables, surds.
  int64_t radicand = 1;
  bool has_surd = false;
  for (size_t i = 0; i < t.f.size();) {
    Factor& f = t.f[i];
    const Node& n = nodes_[f.node];
    bool gone = false;
    if (f.node == iota() && f.exp.is_integer()) {
      bool fixed = true;
      for (size_t v = 0; v < ctx.size(); ++v) fixed &= f.map[v] == 0 || ctx[v] == 1;
      if (fixed && (f.exp.positive() || f.map[ctx.size()] != 0)) {
        const Rat c = f.map[ctx.size()];
        for (int64_t e = 0; e < std::abs(f.exp.num()); ++e) t.coef = t.coef * (f.exp.positive() ? c : c.inverse());
        gone = true;
      }
    } else if (n.kind == Kind::Lit && n.lo > 0 && n.name.starts_with("sqrt:") && f.exp.is_integer()) {
      // sqrt(a)^e: even part to the coefficient
      int64_t e = f.exp.num();
      while (e > 1) t.coef = t.coef * Rat(n.lo), e -= 2;
      while (e < 0) t.coef = t.coef * Rat(n.lo).inverse(), e += 2;
      if (e == 1) {
        has_surd = true;
        int64_t a = radicand, b = n.lo;
        while (b != 0) std::swap(a %= b, b);
        t.coef = t.coef * Rat(a);  // sqrt(xg) sqrt(yg) = g sqrt(xy)
        radicand = mul_checked(radicand / a, n.lo / a);
      }
      gone = true;
    } else if (n.dense && f.exp.is_integer() && f.exp.positive()) {
      bool fixed = true;
      int64_t position = 0;
      const int w = static_cast<int>(ctx.size()) + 1;
      for (size_t r = 0; r < n.dims.size(); ++r) {
        for (size_t v = 0; v < ctx.size(); ++v) fixed &= f.map[r * w + v] == 0 || ctx[v] == 1;
        position = position * n.dims[r] + f.map[r * w + w - 1];
      }
      if (fixed && position >= 0 && position < static_cast<int64_t>(n.dense->size())) {
        const ir::Literal& lit = (*n.dense)[position];
        if (lit.kind != ir::Literal::Kind::Float) {
          for (int64_t e = 0; e < f.exp.num(); ++e) t.coef = t.coef * Rat(lit.i);
          gone = true;
        } else if (lit.d == std::floor(lit.d) && std::abs(lit.d) < 1e15) {
          for (int64_t e = 0; e < f.exp.num(); ++e) t.coef = t.coef * Rat(static_cast<int64_t>(lit.d));
          gone = true;
        }
      }
    }
    if (gone) {
      t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  if (has_surd && radicand != 1) t.f.push_back(Factor{surd(radicand), 1, {}});
  // A variable of extent 1 is the constant 0.
  const int w = static_cast<int>(ctx.size()) + 1;
  for (size_t v = 0; v < ctx.size(); ++v) {
    if (ctx[v] != 1) continue;
    for (Factor& f : t.f) {
      for (size_t at = v; at < f.map.size(); at += w) f.map[at] = 0;
    }
  }
  // A sum over a block whose number is constant here is the sum over that stretch of the dimension (L-31): the box tells which.
  for (Factor& f : t.f) {
    const Node& n = nodes_[f.node];
    if (n.kind != Kind::Red || n.fn != ir::Fn::Add || n.dims.empty()) continue;
    const size_t own = n.dims.size(), nb = static_cast<size_t>(n.num_bound()), nw = own + nb + 1;
    bool mixed = false;
    for (size_t v = 0; v < own && !mixed; ++v) {
      bool fixed = true;
      for (size_t k = 0; k < ctx.size(); ++k) fixed &= f.map[v * w + k] == 0;
      if (!fixed) continue;
      for (const Factor& g : n.args[0][0].f) {
        for (size_t r = 0; r < g.map.size() / nw && !mixed; ++r) {
          if (g.map[r * nw + v] == 0) continue;
          for (size_t k = own; k + 1 < nw; ++k) mixed |= g.map[r * nw + k] != 0;
        }
      }
    }
    if (!mixed) continue;
    auto [body, ext] = open_red(f, ctx);
    std::sort(body.f.begin(), body.f.end(), before);
    Node block;
    block.kind = Kind::Red;
    block.fn = ir::Fn::Add;
    for (size_t k = ctx.size(); k < ext.size(); ++k) {
      block.box.push_back(0);
      block.box.push_back(ext[k]);
    }
    block.args.push_back({std::move(body)});
    Factor g = widen(intern(std::move(block), ctx), ctx);
    f.node = g.node;
    f.map = std::move(g.map);
    fired(Rule::L31);
  }
  std::sort(t.f.begin(), t.f.end(), before);
  // Equal bases: exponents add where that loses no undefined point (L-4).
  for (size_t i = 0; i + 1 < t.f.size();) {
    Factor &x = t.f[i], &y = t.f[i + 1];
    if (x.node != y.node || x.map != y.map) {
      ++i;
      continue;
    }
    const Known k = known(x, ctx);
    const bool same_sign = x.exp.positive() == y.exp.positive();
    const bool integers = x.exp.is_integer() && y.exp.is_integer();
    const bool ok = (k.positive() && k.finite) || (same_sign && (integers || k.nonneg)) || (integers && k.nonzero && k.finite);
    if (!ok && refused(Rule::L4)) {
      ++i;
      continue;
    }
    fired(Rule::L4);
    x.exp = k.boolean && x.exp.positive() && y.exp.positive() ? Rat(1) : x.exp + y.exp;
    t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    if (x.exp.is_zero()) {
      t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(i));
      if (i > 0) --i;
    }
  }
  for (Factor& f : t.f) {
    if (nodes_[f.node].known.boolean && f.exp.positive()) f.exp = 1;
  }
  return simplify_brackets(t, ctx);
}

Poly Algebra::make_term(Term t, const Ext& ctx) {
  for (size_t i = 0; i < t.f.size(); ++i) {
    if (!nodes_[t.f[i].node].padded) continue;
    if (auto sum = settle_padded(t.f[i], ctx)) {
      t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(i));
      return times_value(make_term(std::move(t), ctx), *sum, ctx);
    }
  }
  // A power of infinity is infinity, or 0.
  for (size_t i = 0; i < t.f.size();) {
    Factor& f = t.f[i];
    if (nodes_[f.node].kind == Kind::Inf && f.exp.negative()) {
      t.coef = 0;
      t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (nodes_[f.node].kind == Kind::Inf) f.exp = 1;
    ++i;
  }
  if (!combine_factors(t, ctx)) return {};  // a bracket that never holds hides what is undefined, too: nothing is left of it
  // |x|^2 = x^2: the norm of what has one element, squared (L-66).
  for (size_t i = 0; i < t.f.size() && !t.coef.is_zero(); ++i) {
    const Factor f = t.f[i];
    if (nodes_[f.node].kind != Kind::Fn || nodes_[f.node].fn != ir::Fn::Abs || !ir::is_float(nodes_[f.node].dtype) || !f.exp.is_integer() ||
        (f.exp.num() % 2 != 0 && refused(Rule::L66)))
      continue;
    t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(i));
    ++applications;
    fired(Rule::L66);
    return mul(make_term(std::move(t), ctx), pow(arg_at(nodes_[f.node], f, 0, ctx), f.exp, ctx), ctx);
  }
  if (by_angle && !t.coef.is_zero()) {
    if (std::optional<Poly> sum = sum_angles(t, ctx)) return *std::move(sum);
  }
  for (Factor& f : t.f) {
    if (nodes_[f.node].kind == Kind::Inf) f.exp = 1;
  }
  if (t.coef.is_zero()) {
    // 0 * x is 0 where x is finite; elsewhere the product is undefined, which must not be forgotten (L-5).
    Term guard{0, {}};
    bool any = false;
    for (Factor& f : t.f) {
      const bool selects = nodes_[f.node].kind == Kind::Bracket;  // where it does not hold, nothing is undefined
      const bool finite = known(Term{1, {f}}, ctx).finite;
      any |= !finite;
      if (!finite || selects) guard.f.push_back(std::move(f));
    }
    if (!any && fired(Rule::L5)) return {};
    refused(Rule::L5);
    return {std::move(guard)};
  }
  for (size_t i = 0; i < t.f.size(); ++i) {
    if (nodes_[t.f[i].node].kind == Kind::Inf && t.f.size() > 1) {
      // inf * positive = inf (L-6)
      bool positive = true;
      for (size_t j = 0; j < t.f.size(); ++j) {
        const Known k = known(Term{1, {t.f[j]}}, ctx);
        positive &= j == i || (k.positive() && k.finite);
      }
      if (positive ? fired(Rule::L6) : !refused(Rule::L6)) {
        Factor only = t.f[i];
        t.f = {only};
      }
      break;
    }
  }
  if (t.f.size() == 1 && nodes_[t.f[0].node].kind == Kind::Inf) t.coef = t.coef.positive() ? 1 : -1;
  if (t.f.size() > 1) {
    if (auto opened = open_select(t, ctx)) return *std::move(opened);
  }
  if (t.f.size() == 1 && t.f[0].exp.is_one() && names(t.f[0])) {
    return scale(expand_named(t.f[0], ctx), t.coef);  // a name that stands alone is read as what it names
  }
  if (t.f.size() > 1) {
    // So is one that is only divided: (x + y)/D = x/D + y/D.
    size_t name = t.f.size();
    bool only = true;
    for (size_t i = 0; i < t.f.size(); ++i) {
      if (t.f[i].exp.negative()) continue;
      if (name != t.f.size() || !names(t.f[i]) || !t.f[i].exp.is_one()) only = false;
      name = i;
    }
    if (only && name != t.f.size()) {
      const Factor named = t.f[name];
      t.f.erase(t.f.begin() + static_cast<std::ptrdiff_t>(name));
      Poly out;
      bool brackets = false;  // they would hide an undefined divisor
      for (const Term& u : expand_named(named, ctx)) {
        Term v{u.coef * t.coef, u.f};
        for (const Factor& f : u.f) brackets |= nodes_[f.node].kind == Kind::Bracket;
        v.f.insert(v.f.end(), t.f.begin(), t.f.end());
        out = add(std::move(out), make_term(std::move(v), ctx), ctx);
      }
      if (brackets && !known(t, ctx).finite) out = add(std::move(out), make_term(Term{0, t.f}, ctx), ctx);
      return out;
    }
  }
  return {std::move(t)};
}

namespace {

// The product of two coefficients; where it is too long for exact arithmetic, their sizes become symbols of their own.
bool multiply_coefs(Algebra& a, const Rat& p, const Rat& q, Term& t) {
  try {
    t.coef = p * q;
    return false;
  } catch (const Overflow&) {
    const Rat sign = p.negative() != q.negative() ? -1 : 1;
    for (const Rat& c : {p, q}) {
      Node lit;
      lit.kind = Kind::Lit;
      lit.name = "rat:" + (c.negative() ? -c : c).str();
      lit.known.finite = lit.known.no_pos_inf = lit.known.nonneg = lit.known.nonzero = true;
      const std::string key = lit.name;
      t.f.push_back(Factor{a.named_node(key, std::move(lit)), 1, {}});
    }
    t.coef = sign;
    return true;
  }
}

}  // namespace

Poly Algebra::scale(Poly a, const Rat& c) {
  if (c.is_one()) return a;
  if (c.is_zero()) {
    Poly guards;
    for (Term& t : a) {
      Term g{0, {}};
      bool any = false;
      for (Factor& f : t.f) {
        const Known k = nodes_[f.node].known;
        const bool finite = k.finite && !(f.exp.negative() && !k.nonzero) && (f.exp.is_integer() || k.nonneg);
        any |= !finite;
        if (!finite || nodes_[f.node].kind == Kind::Bracket) g.f.push_back(std::move(f));
      }
      if (any) guards.push_back(std::move(g));
    }
    std::sort(guards.begin(), guards.end(), [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; });
    return guards;
  }
  bool symbols = false;
  for (Term& t : a) {
    const Rat old = t.coef;
    if (multiply_coefs(*this, old, c, t)) {
      symbols = true;
      std::sort(t.f.begin(), t.f.end(), before);
    }
    if (t.f.size() == 1 && nodes_[t.f[0].node].kind == Kind::Inf && !t.coef.is_zero()) t.coef = t.coef.positive() ? 1 : -1;
  }
  if (symbols) std::sort(a.begin(), a.end(), [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; });
  return a;
}

// All pure iota terms and the constant become one affine index (so that iota(n)[8:] and iota(n) + 8 are one form).
void Algebra::collect_iota(Poly& p, const Ext& ctx) {
  int pure = 0;
  for (const Term& t : p) {
    const bool is = t.f.size() == 1 && t.f[0].node == iota() && t.f[0].exp.is_one() && !t.coef.is_zero();
    pure += is;
  }
  if (pure == 0) return;
  const size_t w = ctx.size() + 1;
  std::vector<Rat> row(w, Rat(0));
  Poly rest;
  for (Term& t : p) {
    if (t.f.size() == 1 && t.f[0].node == iota() && t.f[0].exp.is_one() && !t.coef.is_zero()) {
      for (size_t j = 0; j < w; ++j) row[j] = row[j] + t.coef * Rat(t.f[0].map[j]);
    } else if (t.f.empty()) {
      row[w - 1] = row[w - 1] + t.coef;
    } else {
      rest.push_back(std::move(t));
    }
  }
  // The rational gcd of the entries goes to the coefficient, the sign such that the first variable's entry is positive.
  int64_t den = 1;
  for (const Rat& r : row) {
    int64_t a = den, b = r.den();
    while (b != 0) std::swap(a %= b, b);
    den = mul_checked(den / a, r.den());
  }
  int64_t g = 0;
  Row ints(w);
  bool any = false;
  for (size_t j = 0; j < w; ++j) {
    const Rat v = row[j] * Rat(den);
    ints[j] = v.num();
    any |= j + 1 < w && ints[j] != 0;
    int64_t a = g, b = std::abs(ints[j]);
    while (b != 0) std::swap(a %= b, b);
    g = a;
  }
  p = std::move(rest);
  if (!any) {
    if (!row[w - 1].is_zero()) p.insert(p.begin(), Term{row[w - 1], {}});
    return;
  }
  for (size_t j = 0; j < w; ++j) {
    if (ints[j] != 0) {
      if (ints[j] < 0) g = -g;
      break;
    }
  }
  for (int64_t& v : ints) v /= g;
  Term t{Rat(g, den), {Factor{iota(), 1, std::move(ints)}}};
  p.insert(std::lower_bound(p.begin(), p.end(), t, [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; }), std::move(t));
}

Poly Algebra::add(Poly a, const Poly& b, const Ext& ctx, bool tried) {
  if (b.empty()) return a;
  if (a.empty()) return b;
  Poly out;
  out.reserve(a.size() + b.size());
  size_t i = 0, j = 0;
  bool iotas = false, candidates = false;
  Poly guards;
  std::vector<char> from;  // where each term comes from: a, b, or both
  from.reserve(a.size() + b.size());
  while (i < a.size() || j < b.size()) {
    const int c = i == a.size() ? 1 : j == b.size() ? -1 : prove::compare(a[i], b[j]);
    Term t = c < 0 ? std::move(a[i]) : b[j];
    if (c == 0) {
      const bool infinite = t.f.size() == 1 && nodes_[t.f[0].node].kind == Kind::Inf;
      if (infinite && !(a[i].coef == b[j].coef)) throw Overflow("inf - inf");
      const bool guards_one = a[i].coef.is_zero() != b[j].coef.is_zero();
      const bool cancels =
          a[i].coef.negative() != b[j].coef.negative() && !a[i].coef.is_zero() && !b[j].coef.is_zero() && !(a[i].coef == -b[j].coef);
      if ((guards_one || cancels) && !known(t, ctx).never_inf())
        throw Overflow("inf - inf");  // 2 x - x and x + 0 x are x only where x is no infinity
      t.coef = infinite ? a[i].coef : a[i].coef + b[j].coef;
      ++i;
      ++j;
      if (t.coef.is_zero()) {
        Term g{0, {}};
        bool any = false;
        for (Factor& f : t.f) {
          const bool finite = known(Term{1, {f}}, ctx).finite;
          any |= !finite;
          if (!finite || nodes_[f.node].kind == Kind::Bracket)
            g.f.push_back(std::move(f));  // where a bracket does not hold, nothing is undefined
        }
        if (any) guards.push_back(std::move(g));
        continue;
      }
    } else {
      ++(c < 0 ? i : j);
    }
    iotas |= t.f.size() == 1 && t.f[0].node == iota();
    candidates |= !t.f.empty();
    out.push_back(std::move(t));
    from.push_back(static_cast<char>(c == 0 ? 2 : c < 0 ? 0 : 1));
  }
  for (Term& g : guards) {
    const auto at = std::lower_bound(out.begin(), out.end(), g, [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; });
    if (at == out.end() || !same_monomial(*at, g)) {
      out.insert(at, std::move(g));
    } else if (!at->coef.is_zero() && !known(g, ctx).never_inf()) {
      throw Overflow("inf - inf");  // the term is infinite where the guard says undefined
    }
  }
  // -inf + finite = -inf (L-6); a select with an infinite branch takes finite terms in.
  for (const Term& t : out) {
    if (t.f.size() == 1 && nodes_[t.f[0].node].kind == Kind::Inf) {
      Poly rest;
      bool finite = true;
      for (const Term& o : out) finite &= &o == &t || known(o, ctx).finite;
      if (finite && fired(Rule::L6)) return {t};
      refused(Rule::L6);
    }
  }
  if (iotas) collect_iota(out, ctx);
  if (candidates && !flat_ && out.size() > 1 && centre_squares(out, ctx)) return out;
  // Terms that come from one summand were tried there, pair by pair.
  if (candidates && out.size() > 1) join(out, ctx, !tried || iotas || !guards.empty() ? nullptr : &from);
  return out;
}

Poly Algebra::sum(std::vector<Poly> parts, const Ext& ctx) {
  Poly out;
  for (Poly& p : parts) out = add(std::move(out), p, ctx);
  return out;
}

// Takes the guards out of p. A guard says only where a value is undefined, so it stays beside whatever is made of the value: names and
// functions are made of the rest, and are equal on both sides even where one side has guards more.
Poly Algebra::take_guards(Poly& p) {
  Poly guards;
  if (std::none_of(p.begin(), p.end(), [](const Term& t) { return t.coef.is_zero(); })) return guards;
  Poly rest;
  for (Term& t : p) (t.coef.is_zero() ? guards : rest).push_back(std::move(t));
  p = std::move(rest);
  return guards;
}

// The guards of a product's one side: selecting brackets of the other side hide them.
Poly Algebra::hide_guards(const Poly& guards, const Poly& other, const Ext& ctx) {
  Poly out;
  if (guards.empty()) return out;
  std::vector<std::vector<Factor>> brackets;
  for (const Term& t : other) {
    std::vector<Factor> own;
    for (const Factor& f : t.f) {
      if (nodes_[f.node].kind == Kind::Bracket) own.push_back(f);
    }
    brackets.push_back(own);
    if (own.empty()) {
      brackets.assign(1, {});
      break;
    }
  }
  if (brackets.empty()) brackets.emplace_back();
  for (const Term& g : guards) {
    for (const std::vector<Factor>& b : brackets) {
      Term t{0, g.f};
      t.f.insert(t.f.end(), b.begin(), b.end());
      out = add(std::move(out), make_term(std::move(t), ctx), ctx);
    }
  }
  return out;
}

Poly Algebra::mul(const Poly& a, const Poly& b, const Ext& ctx) {
  auto guarded = [](const Poly& p) { return std::any_of(p.begin(), p.end(), [](const Term& t) { return t.coef.is_zero(); }); };
  if (guarded(a) || guarded(b)) {
    Poly x = a, y = b;
    const Poly gx = take_guards(x), gy = take_guards(y);
    Poly p = mul(x, y, ctx);
    p = add(std::move(p), hide_guards(gx, y, ctx), ctx);
    return add(std::move(p), hide_guards(gy, x, ctx), ctx);
  }
  for (const Poly* p : {&a, &b}) {
    const auto c = as_constant(*p);
    if (!c) continue;
    const Poly& other = p == &a ? b : a;
    if (!c->is_zero()) return scale(other, *c);
    Poly guards;
    for (const Term& t : other) guards = add(std::move(guards), make_term(Term{0, t.f}, ctx), ctx);
    return guards;
  }
  auto product = [&](const Term& x, const Term& y) {
    Term t{1, x.f};
    multiply_coefs(*this, x.coef, y.coef, t);
    t.f.insert(t.f.end(), y.f.begin(), y.f.end());
    return make_term(std::move(t), ctx);
  };
  if (a.size() == 1 && b.size() == 1) return product(a[0], b[0]);
  // Brackets are worth multiplying out (most products vanish); other sums get a name.
  auto bracketed = [&](const Poly& p) {
    bool any = false;
    for (const Term& t : p) {
      for (const Factor& f : t.f) any |= nodes_[f.node].kind == Kind::Bracket;
    }
    return any;
  };
  const size_t cells = a.size() * b.size();
  // A square stays one: its sign is known.
  bool square = a.size() == b.size();
  for (size_t i = 0; square && i < a.size(); ++i) square = a[i].coef == b[i].coef && same_monomial(a[i], b[i]);
  // Not where one bracket stands before all terms of a sum that meets another factor (L-52): [c] (x + y) f is [c] f (x + y), as it is where
  // c holds.
  auto common_brackets = [&](const Poly& p) {
    std::vector<Factor> out;
    for (const Factor& f : p[0].f) {
      if (nodes_[f.node].kind != Kind::Bracket) continue;
      if (std::all_of(p.begin(), p.end(), [&](const Term& t) { return std::find(t.f.begin(), t.f.end(), f) != t.f.end(); }))
        out.push_back(f);
    }
    return out;
  };
  auto without = [&](const Poly& p, const std::vector<Factor>& brackets) {
    Poly out;
    for (const Term& t : p) {
      Term u{t.coef, {}};
      for (const Factor& f : t.f) {
        if (std::find(brackets.begin(), brackets.end(), f) == brackets.end()) u.f.push_back(f);
      }
      out.push_back(std::move(u));
    }
    std::sort(out.begin(), out.end(), [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; });
    return out;
  };
  auto multiplies = [&](const Poly& p) {  // more than brackets and divisors
    return p.size() > 1 || std::any_of(p[0].f.begin(), p[0].f.end(),
                                       [&](const Factor& f) { return nodes_[f.node].kind != Kind::Bracket && !f.exp.negative(); });
  };
  if (!square && !a.empty() && !b.empty() && (bracketed(a) || bracketed(b))) {
    const std::vector<Factor> brackets = common_brackets(a), more = common_brackets(b);
    const Poly x = without(a, brackets), y = without(b, more);
    if (!bracketed(x) && !bracketed(y) && multiplies(x) && multiplies(y) && fired(Rule::L52)) {
      Term t = as_term(x, ctx);
      const Term u = as_term(y, ctx);
      const Rat c = t.coef;
      multiply_coefs(*this, c, u.coef, t);
      t.f.insert(t.f.end(), u.f.begin(), u.f.end());
      t.f.insert(t.f.end(), brackets.begin(), brackets.end());
      t.f.insert(t.f.end(), more.begin(), more.end());
      return make_term(std::move(t), ctx);
    }
    refused(Rule::L52);
  }
  if (cells <= 16 && !square && (bracketed(a) || bracketed(b))) {
    Poly out;
    for (const Term& x : a) {
      for (const Term& y : b) out = add(std::move(out), product(x, y), ctx);
    }
    return out;
  }
  const Term x = as_term(a, ctx), y = as_term(b, ctx);
  Term t{1, x.f};
  multiply_coefs(*this, x.coef, y.coef, t);
  t.f.insert(t.f.end(), y.f.begin(), y.f.end());
  return make_term(std::move(t), ctx);
}

}  // namespace shardproof::prove
