// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What is known of the values of one node from its arguments: finite, sign, integer bounds. known.cpp asks for it at each read.
#include <algorithm>

#include "prove/algebra.h"
#include "prove/rows.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::DType;
using ir::Fn;

// Are all indices of "scatter:set:mode:code:dims" in range, by what is known of them? The j-th coded dimension of the data is its j-th
// inner one.
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
  return dim == n.inner[0].size();  // a dimension of several digits is not looked into
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
      bool reads = !n.name.starts_with("partial");
      for (size_t i = 1; i < n.args.size(); ++i) reads &= arg(i).finite;
      if (!reads && !n.hits) k.finite = k.no_pos_inf = k.nonzero = false;
      return k;
    }
    case Kind::Whole: {
      // Sorting ("sort:descending:which ..."), and writing into a tensor, only move values. Writes may miss (then the result is undefined),
      // sorts do not, but their keys may have been read out of range.
      const bool sorts = n.name.starts_with("sort:"), writes = n.name.starts_with("scatter:set:");
      if (!sorts && !writes) return n.known;
      size_t from = 0;
      if (sorts) from = std::min<size_t>(n.args.size() - 1, static_cast<size_t>(result_of_sort(n)));
      k = arg(from);
      if (sorts && from > 0 && !arg(0).finite) {
        k.no_inf = k.never_inf();
        k.no_zero = k.never_zero();
        k.finite = k.no_pos_inf = k.nonzero = k.boolean = false;
      }
      if (writes) {
        const Known u = arg(1);
        k.no_inf = k.never_inf() && u.never_inf();
        k.no_zero = k.never_zero() && u.never_zero();
        k.no_pos_inf = k.finite = k.finite && u.finite && (n.hits || writes_inside(n));  // where the sequential program writes, it hits
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
      k.no_inf = a.no_inf && volume > 0;  // the extreme of nothing is infinite
      if (n.fn == Fn::Mul) {
        k.integer = a.integer;
        k.no_pos_inf = a.finite;  // two -inf are +inf
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
        case Fn::Real:
        case Fn::Imag:  // a complex number is finite if both parts are
          k.finite = k.no_pos_inf = k.no_inf = a.finite;
          return k;
        case Fn::Logistic:
          k.finite = k.no_pos_inf = a.finite;
          k.no_inf = true;
          k.nonneg = true;
          k.nonzero = a.finite;
          k.no_zero = a.never_inf();
          return k;
        case Fn::Tanh:
        case Fn::Erf:
        case Fn::Sin:
        case Fn::Cos:
        case Fn::Atan:
        case Fn::Asinh:
        case Fn::Sinh:
        case Fn::Cbrt:
        case Fn::Floor:
        case Fn::Ceil:
        case Fn::Round:
        case Fn::RoundAway:
        case Fn::Trunc:
        case Fn::Sign:
        case Fn::Erfc:
        case Fn::Exp2:
          k.finite = k.no_pos_inf = a.finite;
          k.no_inf = a.never_inf() || n.fn == Fn::Tanh || n.fn == Fn::Erf || n.fn == Fn::Erfc || n.fn == Fn::Sin || n.fn == Fn::Cos ||
                     n.fn == Fn::Atan || n.fn == Fn::Sign;
          k.integer =
              n.fn == Fn::Floor || n.fn == Fn::Ceil || n.fn == Fn::Round || n.fn == Fn::RoundAway || n.fn == Fn::Trunc || n.fn == Fn::Sign;
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
        case Fn::Eq:
        case Fn::Ne:
        case Fn::Lt:
        case Fn::Le:
        case Fn::Gt:
        case Fn::Ge:
        case Fn::IsNan:
        case Fn::IsInf: {
          k.no_inf = k.nonneg = k.integer = k.boolean = true;
          k.finite = k.no_pos_inf = true;
          for (size_t i = 0; i < n.args.size(); ++i) k.finite = k.no_pos_inf = k.finite && arg(i).finite;
          k.lo = 0;
          k.hi = 1;
          return k;
        }
        case Fn::IsFinite:  // false where its argument is undefined, be that infinite or no number in floats
          k.no_inf = k.nonneg = k.integer = k.boolean = k.finite = k.no_pos_inf = true;
          k.lo = 0;
          k.hi = 1;
          return k;
        case Fn::Convert:
        case Fn::Not:
        case Fn::Xor:
        case Fn::And:
        case Fn::Or:
        case Fn::Shl:
        case Fn::ShrA:
        case Fn::ShrL:
        case Fn::PopCount:
        case Fn::Clz:
        case Fn::Div:
        case Fn::FloorDiv:
        case Fn::Rem:
        case Fn::Mod: {
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
            if ((n.fn == Fn::Mod || (n.fn == Fn::Rem && a.lo >= 0)) && b.lo > 0 && b.hi < kPosInf)
              k.lo = 0, k.hi = b.hi - 1, k.nonneg = true;
            if (n.fn == Fn::Rem && a.lo >= 0 && b.lo > 0 && a.hi < k.hi) k.hi = a.hi;
            if ((n.fn == Fn::FloorDiv || n.fn == Fn::Div) && a.lo >= 0 && b.lo > 0)
              k.lo = 0, k.hi = a.hi == kPosInf ? a.hi : a.hi / b.lo, k.nonneg = true;
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
  if (branch == 1 && is_function(c, Fn::IsFinite)) {  // a multiple of what is tested
    const Factor& test = c[0].f[0];
    const size_t w = n.dims.size() + 1, inner = nodes_[test.node].dims.size() + 1;
    Poly x = nodes_[test.node].args[0], y = n.args[1];
    for (Term& t : x) {
      for (Factor& f : t.f) {
        std::vector<int64_t> map(f.map.size() / inner * w, 0);
        for (size_t r = 0; r * inner < f.map.size(); ++r) {
          for (size_t v = 0; v + 1 < inner; ++v) {
            for (size_t k = 0; k < w; ++k) map[r * w + k] += f.map[r * inner + v] * test.map[v * w + k];
          }
          map[r * w + w - 1] += f.map[r * inner + inner - 1];
        }
        f.map = std::move(map);
      }
      std::sort(t.f.begin(), t.f.end(), before);
    }
    std::sort(x.begin(), x.end(), [](const Term& s, const Term& t) { return prove::compare(s, t) < 0; });
    const size_t lead = static_cast<size_t>(std::find_if(x.begin(), x.end(), [](const Term& t) { return !t.coef.is_zero(); }) - x.begin());
    bool same = x.size() == y.size() && lead < x.size() && !y[lead].coef.is_zero();
    for (size_t t = 0; t < x.size() && same; ++t) same = same_monomial(x[t], y[t]) && x[t].coef * y[lead].coef == y[t].coef * x[lead].coef;
    if (same) return true;
  }
  if (c.size() != 1 || !c[0].coef.is_one() || c[0].f.size() != 1 || !c[0].f[0].exp.is_one() || nodes_[c[0].f[0].node].kind != Kind::Bracket)
    return false;
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
    if (!known(placed(s.args[outside ? 2 : 1], s.dims.size() + 1, choice.map, w), ext, depth + 1).finite) return false;  // as it is read
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
  if (b.args[0].size() != 1 || b.args[0][0].f.size() != 1 || !b.args[0][0].coef.is_one()) return false;
  if (b.args[0][0].f[0].node != iota() || !b.args[0][0].f[0].exp.is_one()) return false;  // squares of positions have gaps
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
  int64_t lo = row[w - 1], hi = lo;  // range of the part without the bound variable
  for (size_t v = 0; v < own; ++v) {
    const int64_t x = row[v] * (n.dims[v] - 1);
    if (row[v] != 0) (x < 0 ? lo : hi) += x;
  }
  const int64_t q = row[own + var], kl = n.box[2 * var], kh = n.box[2 * var + 1] - 1;
  if (kl > kh) return false;
  const int64_t low = q > 0 ? kl : -kh, high = q > 0 ? kh : -kl;  // e ranges over [c + low, c + high], c in [lo, hi]
  if (outside) return (b.lo > kNegInf && hi + low < b.lo) || (b.hi < kPosInf && lo + high >= b.hi);
  for (int64_t c : {lo, hi}) {
    if (b.lo > kNegInf && c + high < b.lo) return false;
    if (b.hi < kPosInf && c + low >= b.hi) return false;
  }
  return true;
}

}  // namespace shardproof::prove
