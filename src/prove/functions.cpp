// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Scalar functions of polys in canonical form, and what is known of their values.
#include <algorithm>

#include "prove/algebra.h"
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
                     fn == Fn::PopCount || fn == Fn::Clz || fn == Fn::And || fn == Fn::Or || fn == Fn::Div || fn == Fn::FloorDiv || fn == Fn::Rem || fn == Fn::Mod;
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
  if (loose > 1) return make_fn(Fn::Exp, {a}, ctx, DType::F32, DType::F32);
  Poly out = constant(1);
  for (const Term& t : a) {
    // exp(B x) = 1 - B + B exp(x) for a bracket B and finite x. Masks that are data stay inside: the result is then visibly positive.
    Term cases{1, {}}, rest{t.coef, {}};
    for (const Factor& f : t.f) (nodes_[f.node].kind == Kind::Bracket && nodes_[f.node].known.finite && f.exp.is_one() ? cases : rest).f.push_back(f);
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
    if (t.f.size() == 1 && t.coef.is_one() && nodes_[t.f[0].node].kind == Kind::Sum) return make_fn(Fn::Log, {a}, ctx, DType::F32, DType::F32);
    const Poly p = {t};
    if (p.size() == 1) return log(p, ctx);
  }
  const Term t = a[0];
  bool positive = t.coef.positive();
  for (const Factor& f : t.f) {
    const Known k = known(f, ctx);
    positive &= k.positive() && k.finite;
  }
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
    if (rl >= 0 && rh < d) return fn == Fn::FloorDiv || fn == Fn::Div ? multiple : rest;
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

Poly Algebra::apply(Fn fn, const std::vector<Poly>& args, DType from, DType to, const Ext& ctx) {
  // Guards stay beside the function of the rest, where an undefined argument makes it undefined.
  switch (fn) {
    case Fn::Add: case Fn::Sub: case Fn::Neg: case Fn::Mul: case Fn::Select: case Fn::And: case Fn::Or: case Fn::Xor: case Fn::Not:
    case Fn::IsFinite: case Fn::IsNan: case Fn::IsInf: case Fn::Eq: case Fn::Ne: case Fn::Lt: case Fn::Le: case Fn::Gt: case Fn::Ge:
      break;
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
    case Fn::Max: case Fn::Min:
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
    case Fn::FloorDiv: case Fn::Rem: case Fn::Mod:
      if (integer) return int_divide(fn, a, args[1], ctx);
      return real(fn, args);
    case Fn::Pow: {
      const auto c = as_constant(args[1]);
      if (c && (c->is_integer() || c->den() == 2) && std::abs(c->num()) <= 64) {
        if (c->is_zero()) return one;
        return pow(a, *c, ctx);
      }
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
          if (known(f, ctx).nonneg || even || !f.exp.is_integer()) {   // a root is not negative, and must stay undefined where it is
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
      if (logs && known(a, ctx).finite) return pow(add(one, exp(scale(a, -1), ctx), ctx), -1, ctx);
      // s(-x) = 1 - s(x): leading coefficient positive.
      if (!a.empty() && !a.back().f.empty() && a.back().coef.negative() && known(a, ctx).finite) return add(one, scale(real(Fn::Logistic, {scale(a, -1)}), -1), ctx);
      return real(fn, args);
    }
    case Fn::Sin: case Fn::Tan: case Fn::Asin: case Fn::Atan: case Fn::Sinh: case Fn::Tanh: case Fn::Erf: case Fn::Asinh: case Fn::Atanh: case Fn::Cbrt:
      // Odd functions: leading coefficient positive.
      if (a.empty()) return {};
      if (a.back().coef.negative()) return scale(real(fn, {scale(a, -1)}), -1);
      return real(fn, args);
    case Fn::Cos: case Fn::Cosh:
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
    case Fn::Floor: case Fn::Ceil: case Fn::Round: case Fn::RoundAway: case Fn::Trunc:
      if (known(a, ctx).integer && known(a, ctx).finite) return a;
      return real(fn, args);
    case Fn::Select: return select(a, args[1], args[2], ctx);
    case Fn::Eq: case Fn::Ne: case Fn::Lt: case Fn::Le: case Fn::Gt: case Fn::Ge: return compare(fn, a, args[1], integer, ctx);
    case Fn::IsFinite:
      if (known(a, ctx).finite) return one;
      return make_fn(fn, args, ctx, from, DType::Bool);
    case Fn::IsNan: case Fn::IsInf:
      if (known(a, ctx).finite) return {};
      return make_fn(fn, args, ctx, from, DType::Bool);
    case Fn::Convert: {
      if (from == to) return a;
      if (to == DType::Bool) return from == DType::Bool ? a : compare(Fn::Ne, a, {}, integer, ctx);
      if (ir::is_float(to) && to != DType::F8 && to != DType::F4 && from != DType::F8 && from != DType::F4) return a;   // exact in real arithmetic: an assumption
      if (from == DType::Bool) return a;
      if (ir::is_int(to)) {
        const Known k = known(a, ctx);
        if (k.integer && k.finite) {
          const int bits = ir::int_bits(to);
          const bool is_signed = ir::is_signed_int(to);
          const int64_t lo = is_signed ? (bits >= 63 ? kNegInf : -(int64_t{1} << (bits - 1))) : 0;
          const int64_t hi = bits >= 62 ? kPosInf : is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
          if (k.lo >= lo && k.hi <= hi && k.lo > kNegInf && k.hi < kPosInf) return a;
          if (is_signed && bits == 64 && ir::is_signed_int(from)) return a;   // widening
          if (ir::is_int(from) && ir::int_bits(from) < bits && ir::is_signed_int(from) == is_signed) return a;
        }
      }
      return make_fn(fn, args, ctx, from, to);
    }
    default: return make_fn(fn, args, ctx, from, to);
  }
}

// Are all indices of "scatter:set:mode:code:dims" in range, by what is known of them? The j-th coded dimension of the data is its j-th inner one.
bool Algebra::writes_inside(const Node& n) const {
  size_t at = n.name.find(':', n.name.find(':', 8) + 1) + 1, dim = 0;
  const std::string code = n.name.substr(at, n.name.find(':', at) - at) + ',';
  for (size_t from = 0, comma = 0; (comma = code.find(',', from)) != std::string::npos; from = comma + 1) {
    const int64_t c = std::atoll(code.c_str() + from);
    if (c >= 0) continue;
    const size_t arg = static_cast<size_t>(1 - c);
    if (arg >= n.args.size() || dim >= n.inner[0].size()) return false;
    Ext ext(n.dims.begin(), n.dims.end() - static_cast<std::ptrdiff_t>(n.result.size()));
    ext.insert(ext.end(), n.inner[arg].begin(), n.inner[arg].end());
    const auto [lo, hi] = range(n.args[arg], ext);
    if (lo < 0 || hi >= n.inner[0][dim++]) return false;
  }
  return dim == n.inner[0].size();   // a dimension of several digits is not looked into
}

// The number of places where an input is another number than c, if there is such a place ("any(x != c)").
bool Algebra::counts_some(const Node& n) const {
  if (!n.dims.empty() || n.args[0].size() != 1) return false;
  const Term& body = n.args[0][0];
  if (!body.coef.is_one() || body.f.size() != 1 || !body.f[0].exp.is_one() || nodes_[body.f[0].node].kind != Kind::Bracket) return false;
  const Node& b = nodes_[body.f[0].node];
  if (b.args[0].size() != 1 || !b.args[0][0].coef.is_one() || b.args[0][0].f.size() != 1 || !b.args[0][0].f[0].exp.is_one()) return false;
  const Factor& read = b.args[0][0].f[0];
  const Node& x = nodes_[read.node];
  if (x.kind != Kind::Base || !x.not_all || !x.known.finite) return false;
  // The values other than c that x may have.
  int64_t least = x.known.lo, most = x.known.hi;
  const int64_t c = *x.not_all;
  if (c == least) least = x.hi > x.lo && x.lo == c ? x.hi : c + 1;
  if (c == most) most = c - 1;
  if ((b.lo > kNegInf && least < b.lo) || (b.hi < kPosInf && most >= b.hi)) return false;
  // All places are counted.
  const size_t own = b.dims.size(), w = own + 1, bound = static_cast<size_t>(n.num_bound()), bw = bound + 1;
  std::vector<char> used(bound, 0);
  for (size_t d = 0; d < x.dims.size(); ++d) {
    Row row(bw, 0);
    row[bound] = read.map[d * w + own];
    for (size_t v = 0; v < own; ++v) {
      for (size_t k = 0; k < bw; ++k) row[k] += read.map[d * w + v] * body.f[0].map[v * bw + k];
    }
    size_t var = bound, hits = 0;
    for (size_t k = 0; k < bound; ++k) {
      if (row[k] != 0) ++hits, var = k;
    }
    if (hits != 1 || row[var] != 1 || used[var]) return false;
    used[var] = 1;
    if (n.box[2 * var] + row[bound] > 0 || n.box[2 * var + 1] + row[bound] < x.dims[d]) return false;
  }
  return true;
}

Known Algebra::compute_known(const Node& n, int depth) const {
  Known k;
  // Ranges of the node's own variables; bound and inner ones from their boxes.
  auto context = [&](size_t arg) {
    Ext ext = n.dims;
    if (n.kind == Kind::Take || n.kind == Kind::Whole) ext.resize(n.dims.size() - n.result.size());
    for (int b = 0; b < n.num_bound(); ++b) ext.push_back(n.box[2 * b] >= 0 ? n.box[2 * b + 1] : kUnbounded);
    if (!n.inner.empty()) ext.insert(ext.end(), n.inner[arg].begin(), n.inner[arg].end());
    return ext;
  };
  auto arg = [&](size_t i) { return known(n.args[i], context(i), depth); };
  switch (n.kind) {
    case Kind::Sum: return arg(0);
    case Kind::Bracket:
      k.finite = arg(0).finite;
      k.no_pos_inf = k.finite;
      k.no_inf = k.nonneg = k.integer = k.boolean = true;
      k.lo = 0;
      k.hi = 1;
      return k;
    case Kind::Take: {
      k = arg(0);
      // Outside the table the value is undefined; "partial" readings are not known to stay inside. Where the sequential program reads the
      // same element, it stops there, too.
      if (n.name.starts_with("partial") && !n.hits) k.finite = k.no_pos_inf = k.nonzero = false;
      return k;
    }
    case Kind::Whole: {
      // Sorting ("sort:descending:which ..."), and writing into a tensor, only move values. Writes may miss (then the result is undefined), sorts do not.
      const bool sorts = n.name.starts_with("sort:"), writes = n.name.starts_with("scatter:set:");
      if (!sorts && !writes) return n.known;
      size_t from = 0;
      if (sorts) from = std::min<size_t>(n.args.size() - 1, static_cast<size_t>(std::atoi(n.name.c_str() + n.name.find(':', 5) + 1)));
      k = arg(from);
      if (writes) {
        const Known u = arg(1);
        k.no_inf = k.never_inf() && u.never_inf();
        k.no_zero = k.never_zero() && u.never_zero();
        k.no_pos_inf = k.finite = k.finite && u.finite && (n.hits || writes_inside(n));   // where the sequential program writes, it hits
        k.nonzero = k.finite && k.no_zero;
        k.nonneg &= u.nonneg;
        k.integer &= u.integer;
        k.boolean &= u.boolean;
        k.lo = std::min(k.lo, u.lo);
        k.hi = std::max(k.hi, u.hi);
      }
      return k;
    }
    case Kind::Red: {
      const Known a = arg(0);
      int64_t volume = 1;
      for (int b = 0; b < n.num_bound(); ++b) volume = mul_checked(volume, n.box[2 * b + 1] - n.box[2 * b]);
      if (n.fn == Fn::Add) {
        k = a;
        k.boolean = false;
        k.nonzero = a.positive() && volume > 0;
        k.no_zero = a.nonneg && a.never_zero() && volume > 0;
        if (a.integer) {
          k.lo = a.lo == kNegInf ? kNegInf : a.lo >= 0 ? 0 : mul_checked(a.lo, volume);
          k.lo = a.lo > 0 ? mul_checked(a.lo, volume) : k.lo;
          k.hi = a.hi == kPosInf || a.hi > kPosInf / std::max<int64_t>(volume, 1) ? kPosInf : a.hi <= 0 ? 0 : mul_checked(a.hi, volume);
          if (k.lo < kNegInf) k.lo = kNegInf;
        }
        if (!k.nonzero && counts_some(n)) k.nonzero = k.no_zero = true;
        if (!k.nonzero && !k.no_zero && a.nonneg && fixed_extreme(n, depth)) {
          k.no_zero = true;
          k.nonzero = a.finite;
        }
        return k;
      }
      k = a;
      k.boolean = false;
      k.no_inf = a.no_inf && volume > 0;   // the extreme of nothing is infinite
      if (n.fn == Fn::Mul) {
        k.integer = a.integer;
        k.no_pos_inf = a.finite;           // two -inf are +inf
        k.lo = kNegInf;
        k.hi = kPosInf;
      }
      if (n.fn == Fn::Max && !k.finite && k.no_pos_inf) k.finite = fixed_extreme(n, depth);
      return k;
    }
    case Kind::Fn: {
      const Known a = n.args.empty() ? Known{} : arg(0);
      switch (n.fn) {
        case Fn::Exp:
          k.nonneg = true;
          k.finite = k.no_pos_inf = a.no_pos_inf;
          k.no_inf = a.never_inf();
          k.nonzero = a.finite;
          k.no_zero = a.never_inf();
          return k;
        case Fn::Log:
          k.finite = k.no_pos_inf = a.finite && a.positive();
          k.no_inf = a.never_inf() && a.never_zero();
          return k;
        case Fn::Logistic:
          k.finite = k.no_pos_inf = a.finite;
          k.no_inf = true;
          k.nonneg = true;
          k.nonzero = a.finite;
          k.no_zero = a.never_inf();
          return k;
        case Fn::Tanh: case Fn::Erf: case Fn::Sin: case Fn::Cos: case Fn::Atan: case Fn::Asinh: case Fn::Sinh: case Fn::Cbrt:
        case Fn::Floor: case Fn::Ceil: case Fn::Round: case Fn::RoundAway: case Fn::Trunc: case Fn::Sign: case Fn::Erfc: case Fn::Exp2:
          k.finite = k.no_pos_inf = a.finite;
          k.no_inf = a.never_inf() || n.fn == Fn::Tanh || n.fn == Fn::Erf || n.fn == Fn::Erfc || n.fn == Fn::Sin || n.fn == Fn::Cos || n.fn == Fn::Atan || n.fn == Fn::Sign;
          k.integer = n.fn == Fn::Floor || n.fn == Fn::Ceil || n.fn == Fn::Round || n.fn == Fn::RoundAway || n.fn == Fn::Trunc || n.fn == Fn::Sign;
          if (n.fn == Fn::Exp2) k.nonneg = true, k.nonzero = a.finite;
          return k;
        case Fn::Pow: {
          // A positive constant to a finite power.
          const auto c = as_constant(n.args[0]);
          const Known b = arg(1);
          if (c && c->positive()) {
            k.finite = k.no_pos_inf = b.finite;
            k.no_inf = b.never_inf();
            k.nonneg = true;
            k.nonzero = b.finite;
          }
          return k;
        }
        case Fn::Cosh:
          k.finite = k.no_pos_inf = a.finite;
          k.no_inf = a.never_inf();
          k.nonneg = true;
          k.nonzero = a.finite;
          return k;
        case Fn::Abs:
          k.finite = k.no_pos_inf = a.finite;
          k.no_inf = a.never_inf();
          k.nonneg = true;
          k.nonzero = a.nonzero;
          k.integer = a.integer;
          if (a.integer) {
            k.lo = 0;
            k.hi = a.lo == kNegInf || a.hi == kPosInf ? kPosInf : std::max(std::abs(a.lo), std::abs(a.hi));
          }
          return k;
        case Fn::Max: {
          k.finite = k.no_pos_inf = k.no_inf = true;
          k.integer = true;
          k.lo = kNegInf;
          k.hi = kNegInf;
          for (size_t i = 0; i < n.args.size(); ++i) {
            const Known b = arg(i);
            k.finite &= b.finite;
            k.no_pos_inf &= b.no_pos_inf;
            k.no_inf &= b.never_inf();
            k.nonneg |= b.nonneg;
            k.nonzero |= b.positive() && b.finite;
            k.integer &= b.integer;
            k.lo = std::max(k.lo, b.lo);
            k.hi = std::max(k.hi, b.hi);
          }
          k.nonneg &= k.finite;
          k.nonzero &= k.finite;
          if (!k.integer) k.lo = kNegInf, k.hi = kPosInf;
          return k;
        }
        case Fn::Select: {
          Known x = arg(1), y = arg(2);
          x.finite |= finite_where(n, 1);
          y.finite |= finite_where(n, 2);
          x.no_pos_inf |= x.finite;
          y.no_pos_inf |= y.finite;
          k.finite = x.finite && y.finite && a.finite;
          k.no_pos_inf = x.no_pos_inf && y.no_pos_inf && a.finite;
          k.no_inf = x.never_inf() && y.never_inf();
          k.nonneg = x.nonneg && y.nonneg;
          k.nonzero = k.finite && x.nonzero && y.nonzero;
          k.no_zero = x.never_zero() && y.never_zero();
          k.integer = x.integer && y.integer;
          return k;
        }
        case Fn::Eq: case Fn::Ne: case Fn::Lt: case Fn::Le: case Fn::Gt: case Fn::Ge: case Fn::IsFinite: case Fn::IsNan: case Fn::IsInf: {
          k.no_inf = k.nonneg = k.integer = k.boolean = true;
          k.finite = k.no_pos_inf = true;
          for (size_t i = 0; i < n.args.size(); ++i) k.finite = k.no_pos_inf = k.finite && arg(i).finite;
          k.lo = 0;
          k.hi = 1;
          return k;
        }
        case Fn::Convert: case Fn::Not: case Fn::Xor: case Fn::And: case Fn::Or: case Fn::Shl: case Fn::ShrA: case Fn::ShrL: case Fn::PopCount:
        case Fn::Clz: case Fn::Div: case Fn::FloorDiv: case Fn::Rem: case Fn::Mod: {
          if (!ir::is_int(n.dtype)) return k;
          k.integer = k.no_inf = true;
          k.finite = k.no_pos_inf = true;
          for (size_t i = 0; i < n.args.size(); ++i) {
            const Known b = arg(i);
            k.finite = k.no_pos_inf = k.finite && b.finite && b.integer;
          }
          const bool division = n.fn == Fn::Div || n.fn == Fn::FloorDiv || n.fn == Fn::Rem || n.fn == Fn::Mod;
          if (division) {
            const Known b = arg(1);
            if (!b.nonzero) k.finite = k.no_pos_inf = false;
            if ((n.fn == Fn::Mod || (n.fn == Fn::Rem && a.lo >= 0)) && b.lo > 0 && b.hi < kPosInf) k.lo = 0, k.hi = b.hi - 1, k.nonneg = true;
            if (n.fn == Fn::Rem && a.lo >= 0 && b.lo > 0 && a.hi < k.hi) k.hi = a.hi;
            if ((n.fn == Fn::FloorDiv || n.fn == Fn::Div) && a.lo >= 0 && b.lo > 0) k.lo = 0, k.hi = a.hi == kPosInf ? a.hi : a.hi / b.lo, k.nonneg = true;
          } else if (n.fn == Fn::Convert) {
            const int bits = ir::int_bits(n.dtype);
            if (bits < 62) {
              k.lo = ir::is_signed_int(n.dtype) ? -(int64_t{1} << (bits - 1)) : 0;
              k.hi = ir::is_signed_int(n.dtype) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
            }
          }
          return k;
        }
        default: return k;
      }
    }
    default: return n.known;
  }
}

// Is that branch of a select finite where it is taken? Its only danger: a division by the number of places at which its own condition holds
// (a loss averaged over the labels that are not ignored): one place is there.
bool Algebra::finite_where(const Node& n, size_t branch) const {
  const Poly& c = n.args[0];
  if (c.size() != 1 || !c[0].coef.is_one() || c[0].f.size() != 1 || !c[0].f[0].exp.is_one() || nodes_[c[0].f[0].node].kind != Kind::Bracket) return false;
  const Node& condition = nodes_[c[0].f[0].node];
  if (!condition.known.finite) return false;
  int64_t lo = condition.lo, hi = condition.hi;
  if (branch == 2) {
    if ((lo == kNegInf) == (hi == kPosInf)) return false;
    std::tie(lo, hi) = lo == kNegInf ? std::pair(hi, kPosInf) : std::pair(kNegInf, lo);
  }
  auto counts = [&](const Node& r) {
    if (r.kind != Kind::Red || r.fn != Fn::Add || !r.dims.empty() || r.args[0].size() != 1) return false;
    const Term& body = r.args[0][0];
    if (!body.coef.is_one() || body.f.size() != 1 || nodes_[body.f[0].node].kind != Kind::Bracket) return false;
    const Node& b = nodes_[body.f[0].node];
    if (b.lo > lo || b.hi < hi || b.dims != condition.dims || b.args[0].size() != condition.args[0].size()) return false;
    for (size_t t = 0; t < b.args[0].size(); ++t) {
      if (!(b.args[0][t].coef == condition.args[0][t].coef) || b.args[0][t].f != condition.args[0][t].f) return false;
    }
    // The count goes over all places.
    const size_t w = static_cast<size_t>(r.num_bound()) + 1;
    std::vector<char> used(w, 0);
    for (size_t d = 0; d < b.dims.size(); ++d) {
      const int64_t* row = &body.f[0].map[d * w];
      size_t var = w, hits = 0;
      for (size_t v = 0; v + 1 < w; ++v) {
        if (row[v] != 0) ++hits, var = v;
      }
      if (hits != 1 || row[var] != 1 || used[var] || b.dims[d] == kUnbounded) return false;
      used[var] = 1;
      if (r.box[2 * var] + row[w - 1] > 0 || r.box[2 * var + 1] + row[w - 1] < b.dims[d]) return false;
    }
    return true;
  };
  for (const Term& t : n.args[branch]) {
    for (const Factor& f : t.f) {
      if (known(Term{1, {f}}, n.dims).finite) continue;
      if (!f.exp.negative() || !f.exp.is_integer() || !counts(nodes_[f.node])) return false;
    }
  }
  return true;
}

// Is a maximum over masked values (select(mask, -inf, x) with an index mask) or a sum of masked positive values over its box
// certain to meet an element that is not masked? The masks looked at are brackets of one affine form in the node's variables and one
// bound variable: for every value of the former some value of the latter must satisfy it. Both ends of the form's range are affine, so
// the corners decide.
bool Algebra::fixed_extreme(const Node& n, int depth) const {
  const size_t own = n.dims.size();
  const int bound = n.num_bound();
  const size_t w = own + bound + 1;
  // The condition under which an element counts, as factors that must all be 1, or be 0 if `outside`.
  bool outside = false;
  std::vector<Factor> conditions;
  Ext ext = n.dims;
  for (int k = 0; k < bound; ++k) ext.push_back(n.box[2 * k] >= 0 ? n.box[2 * k + 1] : kUnbounded);
  if (n.fn == Fn::Add) {
    if (n.args[0].size() != 1) return false;
    for (const Factor& f : n.args[0][0].f) {
      if (nodes_[f.node].kind == Kind::Bracket) {
        conditions.push_back(f);
      } else {
        const Known k = known(Term{1, {f}}, ext, depth + 1);
        if (!k.positive() || !k.finite) return false;
      }
    }
  } else {
    // select(c, -inf, x) or select(c, x, -inf), x finite
    const Poly& body = n.args[0];
    if (n.fn != Fn::Max || body.size() != 1 || !body[0].coef.is_one() || body[0].f.size() != 1 || !body[0].f[0].exp.is_one()) return false;
    const Factor& choice = body[0].f[0];
    const Node& s = nodes_[choice.node];
    if (s.kind != Kind::Fn || s.fn != Fn::Select) return false;
    auto lowest = [&](const Poly& p) { return p.size() == 1 && p[0].coef.negative() && p[0].f.size() == 1 && p[0].f[0].node == inf(); };
    if (!lowest(s.args[1]) && !lowest(s.args[2])) return false;
    outside = lowest(s.args[1]);
    if (!known(s.args[outside ? 2 : 1], s.dims, depth + 1).finite) return false;
    const Poly& c = s.args[0];
    if (c.size() != 1 || !c[0].coef.is_one() || c[0].f.size() != 1 || nodes_[c[0].f[0].node].kind != Kind::Bracket) return false;
    Factor g{c[0].f[0].node, 1, {}};
    const size_t sw = s.dims.size() + 1;
    for (size_t d = 0; d < c[0].f[0].map.size() / sw; ++d) {
      Row row(w, 0);
      row[w - 1] = c[0].f[0].map[d * sw + sw - 1];
      for (size_t v = 0; v + 1 < sw; ++v) {
        for (size_t k = 0; k < w; ++k) row[k] += c[0].f[0].map[d * sw + v] * choice.map[v * w + k];
      }
      g.map.insert(g.map.end(), row.begin(), row.end());
    }
    conditions.push_back(std::move(g));
  }
  if (conditions.size() != 1) return false;
  const Factor& f = conditions[0];
  const Node& b = nodes_[f.node];
  if (b.args[0].size() != 1 || b.args[0][0].f.size() != 1 || b.args[0][0].f[0].node != iota() || !b.args[0][0].coef.is_one()) return false;
  // Row of e over own + bound.
  const std::vector<int64_t>& inner = b.args[0][0].f[0].map;
  Row row(w, 0);
  row[w - 1] = inner[b.dims.size()];
  for (size_t d = 0; d < b.dims.size(); ++d) {
    for (size_t k = 0; k < w; ++k) row[k] += inner[d] * f.map[d * w + k];
  }
  int var = -1;
  for (int k = 0; k < bound; ++k) {
    if (row[own + k] == 0) continue;
    if (var >= 0 || (row[own + k] != 1 && row[own + k] != -1)) return false;
    var = k;
  }
  if (var < 0) return false;
  for (size_t v = 0; v < own; ++v) {
    if (row[v] != 0 && n.dims[v] == kUnbounded) return false;
  }
  int64_t lo = row[w - 1], hi = lo;   // range of the part without the bound variable
  for (size_t v = 0; v < own; ++v) {
    const int64_t x = row[v] * (n.dims[v] - 1);
    if (row[v] != 0) (x < 0 ? lo : hi) += x;
  }
  const int64_t q = row[own + var], kl = n.box[2 * var], kh = n.box[2 * var + 1] - 1;
  if (kl > kh) return false;
  const int64_t low = q > 0 ? kl : -kh, high = q > 0 ? kh : -kl;   // e ranges over [c + low, c + high], c in [lo, hi]
  if (outside) return (b.lo > kNegInf && hi + low < b.lo) || (b.hi < kPosInf && lo + high >= b.hi);
  for (int64_t c : {lo, hi}) {
    if (b.lo > kNegInf && c + high < b.lo) return false;
    if (b.hi < kPosInf && c + low >= b.hi) return false;
  }
  return true;
}

}  // namespace shardproof::prove
