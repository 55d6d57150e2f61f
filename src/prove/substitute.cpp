// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Substitution of variables, opening of definitions, comparison and text of polys.
#include "prove/algebra.h"
#include "prove/rows.h"

#include <algorithm>
#include <cmath>

#include "util/result.h"

namespace shardproof::prove {

// --- substitution ------------------------------------------------------------------------------------------------------------

// Does p stay canonical if only its rows are replaced? Where every variable becomes a form with a variable that no other has, different
// rows stay different and none becomes constant, so that what could not be joined or opened before cannot be now; unless a factor stands
// for something else at another place, or a variable of extent 1 is the constant 0.
bool Algebra::stays_canonical(const Poly& p, const Sub& sub, const Ext& to) const {
  const size_t width = static_cast<size_t>(sub.width);
  std::vector<uint16_t> uses(width, 0);
  for (const Row& r : sub.rows) {
    for (size_t k = 0; k + 1 < width; ++k) {
      if (r[k] == 0) continue;
      if (to[k] == 1) return false;
      ++uses[k];
    }
  }
  for (const Row& r : sub.rows) {
    bool own = false;
    for (size_t k = 0; k + 1 < width && !own; ++k) own = r[k] != 0 && uses[k] == 1;
    if (!own) return false;
  }
  for (const Term& t : p) {
    if (t.coef.is_zero()) return false;
    bool named = false, multiplied = false;
    for (size_t i = 0; i < t.f.size(); ++i) {
      const Factor& f = t.f[i];
      const Node& n = nodes_[f.node];
      if (n.padded || n.dense || f.node == iota()) return false;
      switch (n.kind) {
        case Kind::Base:
        case Kind::Lit:
        case Kind::Red:
        case Kind::Take:
        case Kind::Whole: break;
        case Kind::Fn:
          if (n.fn == ir::Fn::Abs && !f.exp.is_one()) return false;
          break;
        case Kind::Sum: named |= names(f) && f.exp.is_one(); break;
        default: return false;
      }
      multiplied |= f.exp.positive() && !(names(f) && f.exp.is_one());
      if (i > 0 && t.f[i - 1].node == f.node && t.f[i - 1].map == f.map) return false;
    }
    if (named && !multiplied) return false;
  }
  return true;
}

Poly Algebra::subst(const Poly& p, const Sub& sub, const Ext& to) {
  Poly out;
  std::vector<Term> terms;
  bool plain = true;
  const bool rows_only = stays_canonical(p, sub, to);
  terms.reserve(p.size());
  const int w = static_cast<int>(sub.rows.size()) + 1;
  for (const Term& t : p) {
    Term u{t.coef, {}};
    u.f.reserve(t.f.size());
    for (const Factor& f : t.f) {
      Factor g{f.node, f.exp, {}};
      const size_t rows = nodes_[f.node].dims.size();
      SP_CHECK(f.map.size() == rows * w);
      g.map.assign(rows * sub.width, 0);
      for (size_t r = 0; r < rows; ++r) {
        int64_t* out_row = &g.map[r * sub.width];
        const int64_t* in_row = &f.map[r * w];
        out_row[sub.width - 1] = in_row[w - 1];
        for (int v = 0; v < w - 1; ++v) {
          if (in_row[v] == 0) continue;
          for (int k = 0; k < sub.width; ++k) out_row[k] = add_checked(out_row[k], mul_checked(in_row[v], sub.rows[v][k]));
        }
      }
      u.f.push_back(std::move(g));
    }
    if (rows_only) {
      std::sort(u.f.begin(), u.f.end(), before);
      terms.push_back(std::move(u));
      continue;
    }
    Poly one = make_term(std::move(u), to);
    if (one.size() != 1) plain = false;
    if (plain) {
      terms.push_back(std::move(one[0]));
    } else {
      for (Term& x : terms) out = add(std::move(out), {std::move(x)}, to);
      terms.clear();
      out = add(std::move(out), one, to);
    }
  }
  if (plain) {
    std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return prove::compare(x, y) < 0; });
    bool clash = false;
    for (size_t i = 0; i + 1 < terms.size(); ++i) clash |= same_monomial(terms[i], terms[i + 1]);
    if (!clash) {
      bool brackets = false;
      for (const Term& t : terms) {
        for (const Factor& f : t.f) brackets |= nodes_[f.node].kind == Kind::Bracket || nodes_[f.node].kind == Kind::Red;
      }
      if (rows_only) return terms;
      collect_iota(terms, to);
      if (brackets && terms.size() > 1) join(terms, to);
      return terms;
    }
    for (Term& x : terms) out = add(std::move(out), {std::move(x)}, to);
  }
  return out;
}

Poly Algebra::arg_at(const Node& n, const Factor& f, size_t arg, const Ext& ctx) {
  Sub s;
  s.width = static_cast<int>(ctx.size()) + 1;
  for (size_t r = 0; r < n.dims.size(); ++r) {
    s.rows.emplace_back(f.map.begin() + static_cast<std::ptrdiff_t>(r * s.width),
                        f.map.begin() + static_cast<std::ptrdiff_t>((r + 1) * s.width));
  }
  const Poly body = n.args[arg];  // a copy: interning below may move nodes_
  return subst(body, s, ctx);
}

Poly Algebra::expand_named(const Factor& factor, const Ext& ctx) { return arg_at(nodes_[factor.node], factor, 0, ctx); }

Poly Algebra::simplify(const Poly& p, const Ext& ctx) { return subst(p, Sub::identity(static_cast<int>(ctx.size())), ctx); }

std::pair<Term, Ext> Algebra::open_red(const Factor& red, const Ext& ctx) const {
  const Node& n = nodes_[red.node];
  const int m = static_cast<int>(ctx.size()), b = n.num_bound(), own = static_cast<int>(n.dims.size());
  Ext ext = ctx;
  for (int k = 0; k < b; ++k) ext.push_back(n.box[2 * k + 1] - n.box[2 * k]);
  const Term& body = n.args[0][0];
  Term t{body.coef, {}};
  const int w = own + b + 1, nw = m + b + 1;
  for (const Factor& f : body.f) {
    Factor g{f.node, f.exp, {}};
    const size_t rows = nodes_[f.node].dims.size();
    g.map.assign(rows * nw, 0);
    for (size_t r = 0; r < rows; ++r) {
      const int64_t* in = &f.map[r * w];
      int64_t* out = &g.map[r * nw];
      out[nw - 1] = in[w - 1];
      for (int v = 0; v < own; ++v) {
        if (in[v] == 0) continue;
        const int64_t* row = &red.map[static_cast<size_t>(v) * (m + 1)];
        for (int k = 0; k < m; ++k) out[k] = add_checked(out[k], mul_checked(in[v], row[k]));
        out[nw - 1] = add_checked(out[nw - 1], mul_checked(in[v], row[m]));
      }
      for (int k = 0; k < b; ++k) {
        out[m + k] = in[own + k];
        out[nw - 1] = add_checked(out[nw - 1], mul_checked(in[own + k], n.box[2 * k]));
      }
    }
    t.f.push_back(std::move(g));
  }
  return {std::move(t), std::move(ext)};
}

std::pair<Term, Ext> Algebra::open_in(const Term& t, size_t at, const Ext& ext) const {
  auto [body, wide] = open_red(t.f[at], ext);
  body.coef = body.coef * t.coef;
  for (const Factor& f : without(t, at).f) body.f.push_back(widened(f, ext.size() + 1, wide.size() - ext.size()));
  return {std::move(body), std::move(wide)};
}

void tell_apart(const Poly& a, const Poly& b, Poly& left, Poly& right, Poly* same) {
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const int c = i == a.size() ? 1 : j == b.size() ? -1 : compare(a[i], b[j]);
    if (c == 0 && a[i].coef == b[j].coef) {
      if (same) same->push_back(a[i]);
      ++i, ++j;
    } else {
      if (c <= 0) left.push_back(a[i++]);
      if (c >= 0) right.push_back(b[j++]);
    }
  }
}

// Is t finite wherever the losses are defined? Its only danger: scalars that they are multiplied by, too.
bool Algebra::finite_with_losses(const Term& t, const Ext& ctx, int depth) {
  const auto needed = [&](const Factor& f) {
    if (!nodes_[f.node].dims.empty() || !known(Term{1, {f}}, ctx).never_inf()) return false;
    for (const Poly& loss : losses) {
      for (const Term& o : loss) {
        if (std::any_of(o.f.begin(), o.f.end(), [&](const Factor& g) { return nodes_[g.node].kind == Kind::Bracket; })) continue;
        if (std::find(o.f.begin(), o.f.end(), f) != o.f.end()) return true;
      }
    }
    return false;
  };
  return depth < 6 && std::all_of(t.f.begin(), t.f.end(), [&](const Factor& f) {
           const Node& n = nodes_[f.node];
           if (known(Term{1, {f}}, ctx).finite || needed(f)) return true;
           if (!f.exp.is_integer() || !f.exp.positive()) return false;
           const Factor once{f.node, 1, f.map};
           if (n.kind == Kind::Red && n.fn == ir::Fn::Add && n.args[0].size() == 1) {
             const auto [body, inside] = open_red(once, ctx);
             return finite_with_losses(body, inside, depth + 1);
           }
           if (n.kind != Kind::Sum) return false;
           const Poly parts = expand_named(once, ctx);
           return std::all_of(parts.begin(), parts.end(), [&](const Term& u) { return finite_with_losses(u, ctx, depth + 1); });
         });
}

bool Algebra::equal(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined) {
  // What makes p undefined wherever the guard t is: a guard of its own, or a term with these factors; not where brackets hide it, and not
  // an infinite term, which may be a value.
  auto undefined_too = [&](const Poly& p, const Term& t) {
    auto is_bracket = [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket; };
    std::vector<Factor> needed, allowed;
    for (const Factor& f : t.f) (is_bracket(f) ? allowed : needed).push_back(f);
    for (const Term& o : p) {
      if (!std::includes(o.f.begin(), o.f.end(), needed.begin(), needed.end(), before)) continue;
      const bool hidden = std::any_of(o.f.begin(), o.f.end(), [&](const Factor& f) {
        return is_bracket(f) && !std::binary_search(allowed.begin(), allowed.end(), f, before);
      });
      if (!hidden && (o.coef.is_zero() || known(Term{1, needed}, ctx).never_inf())) return true;
    }
    return false;
  };
  // Terms that stand on both sides are equal, infinite or not; then only guards of one side are left to excuse.
  Poly left, right;
  tell_apart(a, b, left, right);
  const bool guards_only = std::all_of(left.begin(), left.end(), [](const Term& t) { return t.coef.is_zero(); }) &&
                           std::all_of(right.begin(), right.end(), [](const Term& t) { return t.coef.is_zero(); });
  Poly open;
  if (guards_only) {
    if (!where_defined) open = left;
    open.insert(open.end(), right.begin(), right.end());
  } else {
    open = add(a, scale(b, -1), ctx);
  }
  auto excused = [&](const Poly& x, const Poly& y, const Term& t) {
    if (known(t, ctx).finite || (undefined_too(x, t) && (where_defined || undefined_too(y, t)))) return true;
    if (losses.empty() || !where_defined) return false;
    const bool used = finite_with_losses(t, ctx, 0);
    losses_used |= used;
    return used ? fired(Rule::L75) : !refused(Rule::L75);
  };
  Poly left_over;
  for (const Term& t : open) {
    if (!t.coef.is_zero()) return false;
    if (!excused(a, b, t)) left_over.push_back(t);
  }
  if (left_over.empty()) return true;
  // The ranks' guards are often pieces of one sum: a sum is finite only where all its summands are, so the pieces are joined first.
  auto joined = [&](const Poly& p) {
    Poly out;
    for (const Term& t : p) {
      const bool sum = t.coef.is_zero() && std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) {
                         return f.exp.is_one() && nodes_[f.node].kind == Kind::Red && nodes_[f.node].fn == ir::Fn::Add;
                       });
      if (sum) out = add(std::move(out), {Term{1, t.f}}, ctx);
    }
    for (Term& t : out) t.coef = 0;
    return out;
  };
  for (const Term& t : left_over) {
    if (joined({t}).empty()) return false;
  }
  const Poly pieces = joined(left_over);
  Poly x = a, y = b;
  for (Poly* p : {&x, &y}) {
    const Poly more = joined(*p);
    p->insert(p->end(), more.begin(), more.end());
  }
  return std::all_of(pieces.begin(), pieces.end(), [&](const Term& t) { return excused(x, y, t); });
}

// c m sum of D^-1 x = c m D^-1 sum of x, for the given divisors.
Poly Algebra::pull_divisors(const Poly& p, const std::vector<Factor>& divisors, const Ext& ctx) {
  Poly out;
  for (const Term& t : p) {
    Poly term{Term{t.coef, {}}};
    for (const Factor& f : t.f) {
      const Node& n = nodes_[f.node];
      if (t.coef.is_zero() || n.kind != Kind::Red || n.fn != ir::Fn::Add || !f.exp.is_one()) {
        term = t.coef.is_zero() ? Poly{t} : mul(term, {Term{1, {f}}}, ctx);
        if (t.coef.is_zero()) break;
        continue;
      }
      auto [body, ext] = open_red(f, ctx);
      const size_t w = ext.size() + 1;
      Term outside{1, {}}, inside{body.coef, {}};
      for (const Factor& g : body.f) {
        const bool pulled =
            !depends(g, w, ctx.size()) && std::find(divisors.begin(), divisors.end(), narrowed(g, w, ctx.size())) != divisors.end();
        (pulled ? outside : inside).f.push_back(pulled ? narrowed(g, w, ctx.size()) : g);
      }
      if (outside.f.empty()) {
        term = mul(term, {Term{1, {f}}}, ctx);
        continue;
      }
      ++applications;
      term = mul(mul(term, {std::move(outside)}, ctx),
                 reduce(ir::Fn::Add, {std::move(inside)}, ext, static_cast<int>(ext.size() - ctx.size())), ctx);
    }
    out = add(std::move(out), term, ctx);
  }
  return out;
}

bool Algebra::equal_opened(const Poly& a, const Poly& b, const Ext& ctx, bool where_defined) {
  if (equal(a, b, ctx, where_defined)) return true;
  Poly x = a, y = b;
  if (where_defined) {
    // The sequential value is undefined wherever one of these divisors is: elsewhere they leave the sums that hold them under brackets.
    std::vector<Factor> divisors;
    for (const Term& t : a) {
      if (std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) { return nodes_[f.node].kind == Kind::Bracket; })) continue;
      for (const Factor& f : t.f) {
        if (f.exp.negative() && f.exp.is_integer()) divisors.push_back(f);
      }
    }
    if (!divisors.empty()) {
      x = pull_divisors(a, divisors, ctx);
      y = pull_divisors(b, divisors, ctx);
      if (equal(x, y, ctx, true)) return true;
    }
  }
  for (int depth = 0; depth < 2; ++depth) {
    // What both sides have stays as it is.
    Poly left, right, same;
    tell_apart(x, y, left, right, &same);
    // Only where it is little work: most goals that differ are wrong.
    size_t terms = 0, names_seen = 0;
    for (const Poly* side : {&left, &right}) {
      for (const Term& t : *side) {
        size_t longest = 1;
        for (const Factor& f : t.f) {
          if (nodes_[f.node].kind == Kind::Sum && f.exp.is_one()) longest = std::max(longest, nodes_[f.node].args[0].size());
        }
        terms += longest;
        names_seen += longest > 1;
      }
    }
    if (names_seen == 0 || terms > 24) return false;
    const Poly more = lengthen(left, ctx), others = lengthen(right, ctx);
    x = add(same, more, ctx);
    y = add(std::move(same), others, ctx);
    if (equal(x, y, ctx, where_defined)) return true;
  }
  return false;
}

// --- text --------------------------------------------------------------------------------------------------------------------

std::string Algebra::str(const Factor& f) const {
  const Node& n = nodes_[f.node];
  static const char* kinds[] = {"base", "iota", "inf", "lit", "fn", "sum", "red", "bracket", "take", "whole", "grid"};
  std::string s = std::string(kinds[static_cast<int>(n.kind)]) + std::to_string(f.node);
  if (n.kind == Kind::Base || n.kind == Kind::Lit || n.kind == Kind::Whole) s = n.name + "#" + std::to_string(f.node);
  if (n.kind == Kind::Fn || (n.kind == Kind::Red && n.fn != ir::Fn::Add)) s = std::string(ir::name(n.fn)) + std::to_string(f.node);
  const size_t rows = n.dims.size();
  if (rows != 0) {
    const size_t w = f.map.size() / rows;
    s += "[";
    for (size_t r = 0; r < rows; ++r) {
      if (r) s += ",";
      std::string e;
      for (size_t v = 0; v + 1 < w; ++v) {
        const int64_t c = f.map[r * w + v];
        if (c == 0) continue;
        if (!e.empty() && c > 0) e += "+";
        e += (c == 1 ? "" : c == -1 ? "-" : std::to_string(c)) + std::string(1, static_cast<char>('a' + v % 26));
      }
      const int64_t c = f.map[r * w + w - 1];
      if (c != 0 || e.empty()) e += (e.empty() || c < 0 ? "" : "+") + std::to_string(c);
      s += e;
    }
    s += "]";
  }
  if (!f.exp.is_one()) s += "^" + f.exp.str();
  return s;
}

std::string Algebra::str(const Poly& p) const {
  if (p.empty()) return "0";
  std::string s;
  for (const Term& t : p) {
    if (!s.empty()) s += " + ";
    s += t.f.empty() || !t.coef.is_one() ? t.coef.str() : "";
    for (const Factor& f : t.f) s += (s.empty() || s.back() == ' ' ? "" : "*") + str(f);
  }
  return s;
}

}  // namespace shardproof::prove
