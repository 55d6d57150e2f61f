// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Interning: a node's definition over some context -> its canonical definition and the place where the context reads it.
//
// Idea: most general form. Every row (affine form) by which the definition reads a dimension becomes a variable of the node that walks
// the whole dimension (L-1); equal rows of equally long dimensions share one, constants included. So f(x[b, s + 8], w[3]) on a rank and
// f(X[b, s], W[i]) on a whole tensor are one node f(x[u, v], w[t]), read at different places.
// Rows with bound variables (of a sum) keep those as they are: the free part of the row, in units of its step, becomes a variable; a
// bound variable is shifted such that it starts where all its rows are in bounds, and its box is kept beside the body ("kernel"), so
// that pieces of one sum are told by their boxes (L-2).
// Cost: linear in rows times variables.
#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "prove/algebra.h"
#include "util/result.h"
#include "util/work_clock.h"

namespace shardproof::prove {

namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

struct RowRef {
  int arg, term, factor, row;  // where
  int64_t extent;              // of the node's dimension; kUnbounded
  const int64_t* coefs;        // width entries
  int width;
  uint64_t signature;  // independent of variable names
  bool has_inner = false;
};

}  // namespace

class Canonicalizer {
 public:
  Canonicalizer(Algebra& algebra, Node& spec, const Ext& ctx) : a_(algebra), spec_(spec) {
    free_ = static_cast<int>(ctx.size());
    bound_ = spec.num_bound();
    total_ = free_ + bound_;
  }

  Factor run() {
    collect();
    solve();
    order();
    return build();
  }

 private:
  int inner_count(int arg) const { return spec_.inner.empty() ? 0 : static_cast<int>(spec_.inner[arg].size()); }

  void collect() {
    for (int a = 0; a < static_cast<int>(spec_.args.size()); ++a) {
      const int width = total_ + inner_count(a) + 1;
      for (int t = 0; t < static_cast<int>(spec_.args[a].size()); ++t) {
        Term& term = spec_.args[a][t];
        uint64_t ts = mix(mix(static_cast<uint64_t>(a), static_cast<uint64_t>(term.coef.num())), static_cast<uint64_t>(term.coef.den()));
        uint64_t sum = 0;
        for (const Factor& f : term.f) sum += mix(mix(f.node, static_cast<uint64_t>(f.exp.num())), static_cast<uint64_t>(f.exp.den()));
        ts = mix(ts, sum);
        for (int k = 0; k < static_cast<int>(term.f.size()); ++k) {
          const Factor& f = term.f[k];
          const Node& n = a_.node(f.node);
          SP_CHECK(f.map.size() == n.dims.size() * width);
          for (int r = 0; r < static_cast<int>(n.dims.size()); ++r) {
            RowRef ref{a, t, k, r, n.dims[r], &f.map[static_cast<size_t>(r) * width], width, 0, false};
            ref.signature = mix(mix(mix(ts, f.node), static_cast<uint64_t>(f.exp.num() * 64 + f.exp.den())), static_cast<uint64_t>(r));
            for (int j = total_; j < width - 1; ++j) ref.has_inner |= ref.coefs[j] != 0;
            rows_.push_back(ref);
          }
        }
      }
    }
    // A canonical order of rows that does not depend on variable names.
    std::stable_sort(rows_.begin(), rows_.end(), [](const RowRef& x, const RowRef& y) { return x.signature < y.signature; });
  }

  // A new variable: free ones are affine forms of the context's variables, bound ones shifted old ones.
  struct NewVar {
    bool bound = false;
    std::vector<int64_t> def;  // free: over the context's variables + constant
    int64_t extent = kUnbounded;
    int64_t dimension = 0;   // free: extent of the dimension that it walks in (variables of one form and dimension are one)
    int64_t shift = 0;       // bound: u = v + shift
    int64_t lo = 0, hi = 0;  // bound: box
    uint32_t cls = 0;        // free: class of the dimension
    uint64_t color = 0;
  };
  struct Coef {
    int var;
    int64_t value;
  };
  // How a row reads the new variables: step * var + (bound and inner part) + rest.
  struct RowPlan {
    int var = -1;
    int64_t step = 0, rest = 0;
  };

  int64_t bound_coef(const RowRef& r, int k) const { return r.coefs[free_ + k]; }
  bool has_bound(const RowRef& r) const {
    for (int k = 0; k < bound_; ++k) {
      if (bound_coef(r, k) != 0) return true;
    }
    return false;
  }

  // Equal forms are one variable. Equal constants are one only if their dimensions are walked together elsewhere (the batch of two inputs,
  // but not a batch and a head): otherwise a rank that holds one row would take chance for structure. The same holds for all forms of the
  // ranks: a rank with one head reads its keys where it reads its positions.
  int free_var(std::vector<int64_t> def, int64_t extent, int64_t dimension, uint32_t cls) {
    bool constant = true;
    for (int v = 0; v < free_; ++v) constant &= def[v] == 0;
    for (size_t i = 0; i < vars_.size(); ++i) {
      if (vars_[i].bound || vars_[i].dimension != dimension || vars_[i].extent != extent || vars_[i].def != def) continue;
      if ((constant || a_.structure_known) && a_.class_root(vars_[i].cls) != a_.class_root(cls)) {
        if (!a_.structure_known) a_.kept_apart_.emplace_back(vars_[i].cls, cls);
        refused(Rule::L1);
        continue;
      }
      a_.class_join(vars_[i].cls, cls);
      fired(Rule::L1);
      return static_cast<int>(i);
    }
    NewVar u;
    u.cls = cls;
    u.def = std::move(def);
    u.extent = extent;
    u.dimension = dimension;
    vars_.push_back(std::move(u));
    return static_cast<int>(vars_.size() - 1);
  }

  // The free part of a row (with its constant) as step * u + rest.
  void plan_free(const RowRef& r, RowPlan& plan, int64_t step) {
    int64_t c = r.coefs[r.width - 1];
    for (int k = 0; k < bound_; ++k) c = add_checked(c, -mul_checked(bound_coef(r, k), vars_[bound_var_[k]].shift));
    plan.step = step;
    plan.rest = c - floor_div(c, step) * step;
    std::vector<int64_t> def(static_cast<size_t>(free_) + 1, 0);
    for (int v = 0; v < free_; ++v) def[v] = r.coefs[v] / step;
    def[free_] = floor_div(c, step);
    int64_t extent = r.extent == kUnbounded ? kUnbounded : (r.extent - 1 - plan.rest) / step + 1;
    // A bound part that does not start from 0 lets the free part lie outside of the dimension: x[a - k] where k is at least 4.
    int64_t least = 0, most = 0;
    for (int k = 0; k < bound_; ++k) {
      const int64_t q = bound_coef(r, k);
      const NewVar& u = vars_[bound_var_[k]];
      least = add_checked(least, q == 0 ? 0 : mul_checked(q, q > 0 ? u.lo : u.hi - 1));
      most = add_checked(most, q == 0 ? 0 : mul_checked(q, q > 0 ? u.hi - 1 : u.lo));
    }
    if (extent != kUnbounded && ceil_div(-plan.rest - least, step) < 0) extent = kUnbounded;
    if (extent != kUnbounded && most < 0) extent = std::max(extent, floor_div(r.extent - 1 - plan.rest - most, step) + 1);
    if (extent == 1) {
      plan = {};
      plan.rest = c;
      return;
    }
    uint32_t cls = a_.class_of(spec_.args[r.arg][r.term].f[r.factor].node, static_cast<size_t>(r.row));
    if (step != 1) {
      const uint64_t key = (static_cast<uint64_t>(a_.class_root(cls)) << 32) ^ static_cast<uint64_t>(step);
      auto [it, fresh] = a_.step_class_.try_emplace(key, static_cast<uint32_t>(a_.class_parent_.size()));
      if (fresh) a_.class_parent_.push_back(it->second);
      cls = it->second;
    }
    plan.var = free_var(std::move(def), extent, r.extent, cls);
  }

  // The step of the free part of a row that an operator on whole dimensions (or an index) walks, too; 0: there is none. Where the row was
  // walked from several places, a constant is such a place: the one key head of a rank is one of the heads.
  int64_t inner_step(uint64_t key, int64_t step) {
    Algebra::InnerSteps& known = a_.inner_steps_[key];
    if (step == 0) {
      known.constants = known.constants || known.step == 0;
      return known.step;
    }
    if (known.step == 0) {
      known.step = step;
      a_.steps_grew_ |= known.constants;
    }
    return step;
  }

  void solve() {
    plans_.assign(rows_.size(), {});
    // Digit sizes: how many values of a bound variable fit before the free part of its row steps on.
    std::vector<int64_t> digit(bound_, 0);
    std::vector<int64_t> step(rows_.size(), 0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const RowRef& r = rows_[i];
      int64_t g = 0;
      for (int v = 0; v < free_; ++v) g = std::gcd(g, r.coefs[v]);
      step[i] = g;
      if (g == 0 || r.extent == kUnbounded) continue;
      for (int k = 0; k < bound_; ++k) {
        const int64_t q = bound_coef(r, k);
        if (q > 0 && g % q == 0 && g / q > 1 && (digit[k] == 0 || g / q < digit[k])) digit[k] = g / q;
      }
    }
    // A dimension that was walked in steps before is walked in these again, also where only a constant (or a multiple of the step) is left:
    // one head of several, one block of a packed weight.
    std::vector<int64_t> hint(rows_.size(), 0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const RowRef& r = rows_[i];
      const uint64_t key = (static_cast<uint64_t>(spec_.args[r.arg][r.term].f[r.factor].node) << 16) ^ static_cast<uint64_t>(r.row);
      if (r.has_inner) step[i] = inner_step(key, step[i]);
      if (r.extent == kUnbounded || r.has_inner || !has_bound(r)) continue;
      Algebra::Steps& known = a_.steps_[key];
      auto remember = [&](std::vector<int64_t>& known, int64_t q) {
        if (q <= 1) return;
        const auto at = std::lower_bound(known.begin(), known.end(), q);
        if (at != known.end() && *at == q) return;
        a_.steps_grew_ |= !known.empty();
        known.insert(at, q);
      };
      // The bound part must fit into the step from where it starts.
      int64_t low = r.coefs[r.width - 1], high = low, least = 0;
      bool positive = true;
      for (int k = 0; k < bound_; ++k) {
        const int64_t q = bound_coef(r, k);
        positive &= q >= 0;
        low += q * spec_.box[2 * k];
        high += q == 0 ? 0 : q * (spec_.box[2 * k + 1] - 1);
        if (q > 0 && (least == 0 || q < least)) least = q;
      }
      int64_t chosen = 0;
      auto fits = [&](int64_t q) { return q < r.extent && positive && floor_div(low, q) == floor_div(high, q); };
      if (step[i] != 0) {
        if (!std::binary_search(known.free.begin(), known.free.end(), step[i])) {
          for (int64_t q : known.free) {
            if (step[i] % q == 0 && fits(q)) chosen = q;
          }
        }
      } else {
        for (int64_t q : known.free) {
          if (fits(q)) chosen = q;
        }
        for (auto q = known.bound.begin(); chosen == 0 && q != known.bound.end(); ++q) {
          if (fits(*q)) chosen = *q;
        }
      }
      if (chosen != 0 && chosen != step[i]) {
        hint[i] = chosen;
        step[i] = chosen;
        for (int k = 0; k < bound_; ++k) {
          const int64_t q = bound_coef(r, k);
          if (q > 0 && step[i] % q == 0 && step[i] / q > 1 && (digit[k] == 0 || step[i] / q < digit[k])) digit[k] = step[i] / q;
        }
      }
      remember(known.free, step[i]);
      for (int k = 0; k < bound_; ++k) {
        if (bound_coef(r, k) > least) remember(known.bound, bound_coef(r, k));
      }
    }
    // No free part anywhere, but constants that do not agree: the variable's own range is the digit (one head of several on each side).
    for (int k = 0; k < bound_; ++k) {
      if (digit[k] != 0) continue;
      const int64_t n = spec_.box[2 * k + 1] - spec_.box[2 * k];
      bool differ = false, fits = n > 1, first = true;
      int64_t c0 = 0;
      for (const RowRef& r : rows_) {
        const int64_t q = bound_coef(r, k);
        if (q == 0 || r.extent == kUnbounded || r.has_inner) continue;
        int others = 0;
        for (int j = 0; j < bound_; ++j) others += j != k && bound_coef(r, j) != 0;
        const int64_t c = r.coefs[r.width - 1];
        if (q < 0 || others != 0 || c % (q * n) != 0 || r.extent % (q * n) != 0) {
          fits = false;
          continue;
        }
        if (!first && c / q != c0) differ = true;
        c0 = c / q;
        first = false;
      }
      if (fits && differ && spec_.box[2 * k] == 0) digit[k] = n;
    }
    // The step of each row's free part: 1 for rows without bound variables, and for unbounded ones; 0: no free part.
    for (size_t i = 0; i < rows_.size(); ++i) {
      const RowRef& r = rows_[i];
      RowPlan& plan = plans_[i];
      const int64_t c = r.coefs[r.width - 1];
      if (!has_bound(r) && !r.has_inner) {
        plan.step = r.extent == 1 ? 0 : 1;
      } else if (step[i] != 0) {
        plan.step = r.extent == kUnbounded ? 1 : step[i];
      } else if (r.extent != kUnbounded && !r.has_inner) {
        // Only a constant beside bound variables: it steps in the digit of the largest one.
        int64_t top = 0;
        int which = -1;
        for (int k = 0; k < bound_; ++k) {
          if (bound_coef(r, k) > top) top = bound_coef(r, k), which = k;
        }
        if (which >= 0 && digit[which] != 0 && mul_checked(top, digit[which]) < r.extent) plan.step = mul_checked(top, digit[which]);
      }
      plan.rest = plan.step == 0 ? c : c - floor_div(c, plan.step) * plan.step;
    }
    bound_var_.assign(bound_, -1);
    std::vector<char> anchored(bound_, 0);
    for (int k = 0; k < bound_; ++k) {
      NewVar u;
      u.bound = true;
      int64_t lo = kNegInf, hi = kPosInf;
      bool any = false;
      for (size_t i = 0; i < rows_.size(); ++i) {
        const RowRef& r = rows_[i];
        const int64_t q = bound_coef(r, k);
        if (q == 0 || r.extent == kUnbounded || r.has_inner) continue;
        // Room of this variable: up to the next larger step (another bound variable, the free part, the dimension's end).
        int64_t next = plans_[i].step != 0 ? plans_[i].step : r.extent, low = 0, high = 0;
        bool positive = q > 0;
        for (int j = 0; j < bound_ && positive; ++j) {
          const int64_t p = bound_coef(r, j);
          if (j == k || p == 0) continue;
          if (p < 0 || p == q) {
            positive = false;
          } else if (p > q) {
            next = std::min(next, p);
          } else {
            low = add_checked(low, mul_checked(p, spec_.box[2 * j]));
            high = add_checked(high, mul_checked(p, spec_.box[2 * j + 1] - 1));
          }
        }
        int64_t a = 0, b = 0;
        if (positive) {
          const int64_t rest = plans_[i].rest - floor_div(plans_[i].rest, next) * next;
          a = ceil_div(-rest - low, q);
          b = floor_div(next - 1 - rest - high, q);
        } else if (q < 0) {
          // A reversed row, alone: c - |q| v.
          int others = plans_[i].step != 0;
          for (int j = 0; j < bound_; ++j) others += j != k && bound_coef(r, j) != 0;
          if (others != 0) continue;
          a = ceil_div(r.extent - 1 - plans_[i].rest, q);
          b = floor_div(-plans_[i].rest, q);
        } else {
          continue;
        }
        lo = std::max(lo, a);
        hi = std::min(hi, b);
        any = true;
      }
      const int64_t box_lo = spec_.box[2 * k], box_hi = spec_.box[2 * k + 1];
      if (any && lo <= box_lo && hi >= box_hi - 1) {
        u.shift = -lo;
        fired(Rule::L2);
        u.extent = hi - lo + 1;
      }
      anchored[k] = any;
      u.lo = box_lo + u.shift;
      u.hi = box_hi + u.shift;
      bound_var_[k] = static_cast<int>(vars_.size());
      vars_.push_back(std::move(u));
    }
    // A variable that no dimension bounds (rows of a convolution that brackets keep inside) counts from where its first row starts, so that
    // the box says which rows a part of the sum has, and parts meet.
    for (int k = 0; k < bound_; ++k) {
      for (const RowRef& r : rows_) {
        const int64_t q = bound_coef(r, k);
        if (anchored[k] != 0 || q == 0 || r.has_inner) continue;
        if (a_.node(spec_.args[r.arg][r.term].f[r.factor].node).kind == Kind::Bracket) continue;  // its bounds may hold the constant
        bool alone = true;
        for (int v = 0; v < free_; ++v) alone &= r.coefs[v] == 0;
        int64_t c = r.coefs[r.width - 1];
        for (int j = 0; j < bound_; ++j) {
          if (j == k || bound_coef(r, j) == 0) continue;
          alone &= anchored[j] != 0;
          c = add_checked(c, -mul_checked(bound_coef(r, j), vars_[bound_var_[j]].shift));
        }
        if (!alone) continue;
        NewVar& u = vars_[bound_var_[k]];
        u.shift = floor_div(c, q);
        u.lo = add_checked(spec_.box[2 * k], u.shift);
        u.hi = add_checked(spec_.box[2 * k + 1], u.shift);
        break;
      }
    }
    // The free parts, with what the shifts leave of the constants.
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (plans_[i].step != 0) plan_free(rows_[i], plans_[i], plans_[i].step);
    }
  }

  // New coefficients of a row, those that are not 0, and the new constant.
  void transform(size_t row) {
    const RowRef& r = rows_[row];
    const bool planned = plans_[row].var >= 0;
    int64_t constant = planned ? plans_[row].rest : r.coefs[r.width - 1];
    if (planned) coefs_.push_back({plans_[row].var, plans_[row].step});
    for (int k = 0; k < bound_; ++k) {
      const int64_t q = bound_coef(r, k);
      if (q == 0) continue;
      coefs_.push_back({bound_var_[k], q});
      if (!planned) constant = add_checked(constant, -mul_checked(q, vars_[bound_var_[k]].shift));
    }
    new_constants_[row] = constant;
    row_end_[row] = coefs_.size();
  }
  std::span<const Coef> coefs_of(size_t row) const {
    const size_t begin = row == 0 ? 0 : row_end_[row - 1];
    return {coefs_.data() + begin, row_end_[row] - begin};
  }

  // Of a row: what it belongs to, its constant, and the colours of its variables.
  uint64_t row_color(size_t row) const {
    uint64_t all = 0;
    for (const Coef& c : coefs_of(row)) all += mix(vars_[c.var].color, static_cast<uint64_t>(c.value));
    return mix(mix(rows_[row].signature, static_cast<uint64_t>(new_constants_[row])), all);
  }
  // Tells the row's variables what uses them.
  void use(size_t row, uint64_t color, std::vector<uint64_t>& next) const {
    for (const Coef& c : coefs_of(row)) next[c.var] += mix(color, static_cast<uint64_t>(c.value) * 31 + 7);
  }

  void order() {
    row_end_.resize(rows_.size());
    new_constants_.resize(rows_.size());
    for (size_t i = 0; i < rows_.size(); ++i) transform(i);
    // Colour variables by their uses, twice.
    for (int round = 0; round < 2; ++round) {
      std::vector<uint64_t> next(vars_.size(), 0);
      for (size_t i = 0; i < rows_.size(); ++i) use(i, row_color(i), next);
      for (size_t u = 0; u < vars_.size(); ++u) vars_[u].color = mix(next[u], static_cast<uint64_t>(vars_[u].extent));
    }
    if (tied()) break_ties();
    perm_.resize(vars_.size());
    std::iota(perm_.begin(), perm_.end(), 0);
    std::stable_sort(perm_.begin(), perm_.end(), [&](int x, int y) {
      const NewVar &a = vars_[x], &b = vars_[y];
      if (a.bound != b.bound) return !a.bound;
      return a.color < b.color;
    });
  }

  bool tied() const { return colors() < vars_.size(); }
  size_t colors() const {
    std::vector<uint64_t> c;
    for (const NewVar& v : vars_) c.push_back(v.color);
    std::sort(c.begin(), c.end());
    return static_cast<size_t>(std::unique(c.begin(), c.end()) - c.begin());
  }

  // Variables that look alike in their own rows: what they meet in the other rows of their factors, and through these in others, tells them
  // apart (colour refinement). Those that stay alike are alike: one of them is named, and the rest follows.
  void break_ties() {
    std::vector<size_t> factor(rows_.size()), term(rows_.size());
    std::map<std::tuple<int, int, int>, size_t> factors;
    std::map<std::pair<int, int>, size_t> terms;
    for (size_t i = 0; i < rows_.size(); ++i) {
      factor[i] = factors.try_emplace({rows_[i].arg, rows_[i].term, rows_[i].factor}, factors.size()).first->second;
      term[i] = terms.try_emplace({rows_[i].arg, rows_[i].term}, terms.size()).first->second;
    }
    auto refine = [&] {
      std::vector<uint64_t> row_hash(rows_.size()), factor_hash(factors.size(), 0), term_hash(terms.size(), 0), next(vars_.size(), 0);
      for (size_t i = 0; i < rows_.size(); ++i) {
        row_hash[i] = row_color(i);
        factor_hash[factor[i]] += row_hash[i];  // a signature tells its row
      }
      for (const auto& [at, f] : factors) term_hash[terms.at({std::get<0>(at), std::get<1>(at)})] += mix(1, factor_hash[f]);
      for (size_t i = 0; i < rows_.size(); ++i) use(i, mix(mix(row_hash[i], factor_hash[factor[i]]), term_hash[term[i]]), next);
      for (size_t u = 0; u < vars_.size(); ++u) vars_[u].color = mix(vars_[u].color, next[u]);
    };
    for (size_t named = 0; named < vars_.size() && tied(); ++named) {
      for (size_t before = 0, now = colors(); now > before && now < vars_.size(); now = colors()) {
        before = now;
        refine();
      }
      // The smallest colour that several have.
      size_t first = vars_.size();
      for (size_t u = 0; u < vars_.size(); ++u) {
        size_t alike = 0;
        for (const NewVar& v : vars_) alike += v.color == vars_[u].color;
        if (alike > 1 && (first == vars_.size() || vars_[u].color < vars_[first].color)) first = u;
      }
      if (first == vars_.size()) return;
      vars_[first].color = mix(vars_[first].color, 1);
    }
  }

  Factor build() {
    const int n = static_cast<int>(vars_.size());
    std::vector<int> position(n);
    for (int k = 0; k < n; ++k) {
      position[perm_[k]] = k;
    }
    // Rewrite the rows; they were collected in order of signature.
    std::vector<std::vector<std::vector<std::vector<int64_t>>>> fresh(spec_.args.size());
    for (size_t a = 0; a < spec_.args.size(); ++a) {
      fresh[a].resize(spec_.args[a].size());
      const int inner = inner_count(static_cast<int>(a));
      for (size_t t = 0; t < spec_.args[a].size(); ++t) {
        fresh[a][t].resize(spec_.args[a][t].f.size());
        for (size_t k = 0; k < spec_.args[a][t].f.size(); ++k) {
          fresh[a][t][k].assign(a_.node(spec_.args[a][t].f[k].node).dims.size() * static_cast<size_t>(n + inner + 1), 0);
        }
      }
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      const RowRef& r = rows_[i];
      const int inner = inner_count(r.arg), new_width = n + inner + 1;
      int64_t* out = &fresh[r.arg][r.term][r.factor][static_cast<size_t>(r.row) * new_width];
      for (const Coef& c : coefs_of(i)) out[position[c.var]] = c.value;
      for (int j = 0; j < inner; ++j) out[n + j] = r.coefs[total_ + j];
      out[new_width - 1] = new_constants_[i];
    }
    for (size_t a = 0; a < spec_.args.size(); ++a) {
      for (size_t t = 0; t < spec_.args[a].size(); ++t) {
        Term& term = spec_.args[a][t];
        for (size_t k = 0; k < term.f.size(); ++k) term.f[k].map = std::move(fresh[a][t][k]);
        std::sort(term.f.begin(), term.f.end(), before);
      }
      std::sort(spec_.args[a].begin(), spec_.args[a].end(), [](const Term& x, const Term& y) { return compare(x, y) < 0; });
    }
    spec_.dims.clear();
    spec_.classes.clear();
    std::vector<int64_t> bound_extents;
    spec_.box.clear();
    Factor result;
    for (int k = 0; k < n; ++k) {
      const NewVar& u = vars_[perm_[k]];
      if (u.bound) {
        bound_extents.push_back(u.extent);
        spec_.box.push_back(u.lo);
        spec_.box.push_back(u.hi);
      } else {
        spec_.dims.push_back(u.extent);
        spec_.classes.push_back(u.cls);
        result.map.insert(result.map.end(), u.def.begin(), u.def.end());
      }
    }
    // Whole: the result's own dimensions follow the parallel ones; the caller appends the rows that read them.
    spec_.dims.insert(spec_.dims.end(), spec_.result.begin(), spec_.result.end());
    result.node = lookup(bound_extents);
    return result;
  }

  Nid lookup(const std::vector<int64_t>& bound_extents) {
    spec_.bound = bound_extents;
    std::vector<int64_t> key;
    key.reserve(64);
    key.push_back(static_cast<int64_t>(spec_.kind) + (spec_.kept ? 100 : 0));
    key.push_back(static_cast<int64_t>(spec_.fn));
    key.push_back(static_cast<int64_t>(spec_.dtype));
    if (!spec_.name.empty()) {
      key.push_back(static_cast<int64_t>(spec_.name.size()));
      for (char c : spec_.name) key.push_back(c);
    }
    key.push_back(static_cast<int64_t>(spec_.dims.size()));
    key.insert(key.end(), spec_.dims.begin(), spec_.dims.end());
    key.insert(key.end(), bound_extents.begin(), bound_extents.end());
    for (size_t a = 0; a < spec_.args.size(); ++a) {
      key.push_back(-7);
      if (!spec_.inner.empty()) {
        key.push_back(static_cast<int64_t>(spec_.inner[a].size()));
        key.insert(key.end(), spec_.inner[a].begin(), spec_.inner[a].end());
      }
      for (const Term& t : spec_.args[a]) {
        key.push_back(t.coef.num());
        key.push_back(t.coef.den());
        key.push_back(static_cast<int64_t>(t.f.size()));
        for (const Factor& f : t.f) {
          key.push_back(f.node);
          key.push_back(f.exp.num());
          key.push_back(f.exp.den());
          // Most of a map is 0: places and values of the others.
          const size_t count = key.size();
          key.push_back(0);
          for (size_t i = 0; i < f.map.size(); ++i) {
            if (f.map[i] != 0) key.insert(key.end(), {static_cast<int64_t>(i), f.map[i]}), ++key[count];
          }
        }
      }
    }
    if (spec_.kind == Kind::Red || spec_.kind == Kind::Bracket) {
      spec_.kernel = a_.kernels_.try_emplace(key, static_cast<uint32_t>(a_.kernels_.size())).first->second;
      key.insert(key.end(), spec_.box.begin(), spec_.box.end());
      key.push_back(spec_.lo);
      key.push_back(spec_.hi);
    }
    if (const auto it = a_.table_.find(key); it != a_.table_.end()) {
      ++a_.interned_hits;
      return it->second;
    }
    const bool before = a_.ranged;
    spec_.known = a_.compute_known(spec_);
    a_.ranged = before;  // it is about all places of the node
    spec_.padded = spec_.kind == Kind::Take && spec_.name == "padded";
    spec_.indexed = spec_.kind == Kind::Take && !spec_.padded;
    spec_.masked_index = spec_.indexed && spec_.name.starts_with("partial");
    spec_.indexed |= a_.by_order && spec_.kind == Kind::Whole && spec_.name.starts_with("sort:") && spec_.name.ends_with(":0");
    for (size_t k = 1; spec_.indexed && spec_.kind == Kind::Take && k < spec_.args.size(); ++k) {
      for (const Term& t : spec_.args[k]) {
        for (const Factor& f : t.f) spec_.masked_index |= a_.node(f.node).kind != Kind::Base && f.node != a_.iota();
      }
    }
    for (const Poly& p : spec_.args) {
      for (const Term& t : p) {
        for (const Factor& f : t.f) spec_.padded |= a_.node(f.node).padded;
      }
    }
    if (spec_.kind != Kind::Whole || spec_.name.starts_with("sort:") || spec_.name.starts_with("scatter:set:")) {
      for (const Poly& p : spec_.args) {
        for (const Term& t : p) {
          for (const Factor& f : t.f) {
            spec_.positional |= f.node == a_.iota() || a_.node(f.node).positional;
            spec_.ties |= a_.node(f.node).ties;
          }
        }
      }
    }
    spec_.ties = spec_.result.empty() && spec_.kind != Kind::Bracket && (spec_.ties || a_.ties_masks(spec_));
    // A clamp of positions, which guards may make idle (L-35).
    if (spec_.kind == Kind::Fn && spec_.fn == ir::Fn::Max && spec_.known.integer) spec_.indexed = spec_.masked_index = spec_.positional;
    if (spec_.kind == Kind::Fn && (spec_.fn == ir::Fn::Mod || spec_.fn == ir::Fn::FloorDiv)) spec_.indexed = spec_.masked_index = true;
    if (spec_.kind == Kind::Fn || spec_.kind == Kind::Sum || (a_.by_order && spec_.kind == Kind::Red)) {
      for (const Poly& p : spec_.args) {
        for (const Term& t : p) {
          for (const Factor& f : t.f) {
            spec_.indexed |= a_.node(f.node).indexed;
            spec_.masked_index |= a_.node(f.node).masked_index;
          }
        }
      }
    }
    if (spec_.kind == Kind::Sum && !a_.structure_known && spec_.args[0].size() == 2)
      a_.pairs_.insert(a_.pair_key(spec_.args[0][0], spec_.args[0][1]));
    // Only now: what is computed above may leave the exact numbers, and a place that is taken for a node which is never made would be
    // another's.
    const auto id = static_cast<Nid>(a_.nodes_.size());
    a_.table_.emplace(std::move(key), id);
    a_.nodes_.push_back(std::move(spec_));
    return id;
  }

  Algebra& a_;
  Node& spec_;
  int free_ = 0, bound_ = 0, total_ = 0;
  std::vector<RowRef> rows_;
  std::vector<RowPlan> plans_;
  std::vector<Coef> coefs_;  // of all rows
  std::vector<size_t> row_end_;
  std::vector<int64_t> new_constants_;
  std::vector<NewVar> vars_;
  std::vector<int> bound_var_;
  std::vector<int> perm_;
};

bool Algebra::premature() {
  bool found = steps_grew_;
  for (const auto& [a, b] : kept_apart_) found |= class_root(a) == class_root(b);
  kept_apart_.clear();
  steps_grew_ = false;
  return found;
}

void Algebra::end_of_sequential() {
  structure_known = true;
  for (const Node& n : nodes_) {
    if (n.kind == Kind::Fn && n.fn == ir::Fn::Select && n.args[0].size() == 1 && n.args[0][0].f.size() == 1)
      chosen_.emplace(n.args[0][0].f[0].node, infinite(n.args[1]) ? 1 : infinite(n.args[2]) ? 2 : 0);
    for (const Poly& p : n.args) {
      for (const Term& t : p) {
        for (const Factor& f : t.f) {
          const Node& b = nodes_[f.node];
          if (b.kind == Kind::Bracket && (b.lo == kNegInf || b.hi == kPosInf)) half_lines_.insert(f.node);
        }
      }
    }
  }
  sequential_kernels = static_cast<uint32_t>(kernels_.size());
  sequential_nodes = static_cast<Nid>(nodes_.size());
}

uint32_t Algebra::class_root(uint32_t c) {
  while (class_parent_[c] != c) c = class_parent_[c] = class_parent_[class_parent_[c]];
  return c;
}

void Algebra::class_join(uint32_t a, uint32_t b) {
  a = class_root(a);
  b = class_root(b);
  if (a != b) class_parent_[std::max(a, b)] = std::min(a, b);
}

uint32_t Algebra::class_of(Nid id, size_t dim) {
  Node& n = nodes_[id];
  while (n.classes.size() < n.dims.size()) {
    n.classes.push_back(static_cast<uint32_t>(class_parent_.size()));
    class_parent_.push_back(n.classes.back());
  }
  return n.classes[dim];
}

size_t Algebra::KeyHash::operator()(const std::vector<int64_t>& key) const {
  uint64_t h = key.size();
  for (int64_t v : key) h = mix(h, static_cast<uint64_t>(v));
  return h;
}

void Algebra::check_time(uint64_t count) const {
  if (deadline > 0 && (count & 63) == 0 && util::WorkClock::seconds() > deadline) throw Overflow("time limit");
}

Factor Algebra::intern(Node spec, const Ext& ctx) {
  if (nodes_.size() > 4'000'000) throw Overflow("too many distinct terms");
  check_time(++applications);
  return Canonicalizer(*this, spec, ctx).run();
}

}  // namespace shardproof::prove
