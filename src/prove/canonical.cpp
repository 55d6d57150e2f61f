// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Interning: a node's definition over some context -> its canonical definition and the place where the context reads it.
//
// Idea. The rows of all accesses are affine forms over the context's variables. Two variables belong together if a row has both.
//  A. A group whose rows are all multiples of one form u (always so for a single variable): u becomes the node's variable (L-1).
//  B. Otherwise every variable stays, shifted by its own rows.
// The range of a variable is the largest on which every access stays in bounds (L-2); its origin is the low end of that range.
// Bound variables (of a sum) are shifted in the same way, but never scaled, and their box is kept beside the body ("kernel").
// Cost: linear in the number of rows times variables.
#include <algorithm>
#include <numeric>

#include "prove/algebra.h"
#include "util/result.h"

namespace shardproof::prove {

namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

struct RowRef {
  int arg, term, factor, row;      // where
  int64_t extent;                  // of the node's dimension; kUnbounded
  const int64_t* coefs;            // width entries
  int width;
  uint64_t signature;              // independent of variable names
  bool has_inner = false;
};

}  // namespace

class Canonicalizer {
 public:
  Canonicalizer(Algebra& algebra, Node& spec, const Ext& ctx) : a_(algebra), spec_(spec), ctx_(ctx) {
    free_ = static_cast<int>(ctx.size());
    bound_ = spec.num_bound();
    total_ = free_ + bound_;
  }

  Factor run() {
    collect();
    group();
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

  int find(int v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }

  void group() {
    parent_.resize(total_);
    std::iota(parent_.begin(), parent_.end(), 0);
    used_.assign(total_, false);
    for (const RowRef& r : rows_) {
      int first = -1;
      for (int v = 0; v < total_; ++v) {
        if (r.coefs[v] == 0) continue;
        used_[v] = true;
        if (first < 0) {
          first = v;
        } else {
          parent_[find(v)] = find(first);
        }
      }
    }
  }

  struct NewVar {
    bool bound = false;
    std::vector<int64_t> def;   // over old variables (total_) + constant
    int64_t extent = kUnbounded;
    int64_t lo = 0, hi = 0;     // bound: box
    uint64_t color = 0;
  };

  // The row's constant and coefficients after the change of variables are computed in build() from these:
  //   merged group: row = q * u + c, q = row[pivot] / form[pivot]
  //   single:       u = scale * v + shift
  struct VarInfo {
    int new_var = -1;
    bool merged = false, pivot = false;
    int64_t scale = 1, shift = 0, form = 0;
  };

  void solve() {
    info_.assign(total_, {});
    for (int root = 0; root < total_; ++root) {
      if (find(root) != root || !used_[root]) continue;
      std::vector<int> members;
      int bound_members = 0;
      for (int v = 0; v < total_; ++v) {
        if (used_[v] && find(v) == root) {
          members.push_back(v);
          bound_members += v >= free_;
        }
      }
      std::vector<const RowRef*> rows;
      bool inner = false;
      for (const RowRef& r : rows_) {
        for (int v : members) {
          if (r.coefs[v] != 0) {
            rows.push_back(&r);
            inner |= r.has_inner;
            break;
          }
        }
      }
      if (bound_members == 0 && !inner && merge(members, rows)) continue;
      if (bound_members == 1 && members.size() == 1 && !inner) {
        single(members[0], rows, false);
        continue;
      }
      separate(members, rows);
    }
  }

  // Range of w over which every row q*w + c stays inside its dimension; false if some row is unbounded only.
  static bool range_of(const std::vector<std::pair<int64_t, const RowRef*>>& qs, int64_t& lo, int64_t& hi) {
    bool any = false;
    lo = kNegInf;
    hi = kPosInf;
    for (const auto& [q, r] : qs) {
      if (r->extent == kUnbounded) continue;
      any = true;
      const int64_t c = r->coefs[r->width - 1];
      // 0 <= q*w + c <= n-1
      const int64_t a = q > 0 ? ceil_div(-c, q) : ceil_div(r->extent - 1 - c, q);
      const int64_t b = q > 0 ? floor_div(r->extent - 1 - c, q) : floor_div(-c, q);
      lo = std::max(lo, a);
      hi = std::min(hi, b);
    }
    return any;
  }

  bool merge(const std::vector<int>& members, const std::vector<const RowRef*>& rows) {
    // All rows multiples of one primitive form?
    const RowRef* first = rows[0];
    int64_t g = 0;
    for (int v : members) g = std::gcd(g, first->coefs[v]);
    std::vector<int64_t> form;
    for (int v : members) form.push_back(first->coefs[v] / g);
    if (form[0] == 0) {
      // the pivot is the first member with a non-zero coefficient
    }
    size_t pivot = 0;
    while (form[pivot] == 0) ++pivot;
    std::vector<std::pair<int64_t, const RowRef*>> qs;
    int64_t all = 0;
    for (const RowRef* r : rows) {
      if (r->coefs[members[pivot]] % form[pivot] != 0) return false;
      const int64_t q = r->coefs[members[pivot]] / form[pivot];
      if (q == 0) return false;
      for (size_t k = 0; k < members.size(); ++k) {
        if (r->coefs[members[k]] != q * form[k]) return false;
      }
      qs.emplace_back(q, r);
      all = std::gcd(all, q);
    }
    // u = all * form (so that the rows are primitive in u); sign such that the first row is positive.
    const int64_t s = qs[0].first > 0 ? all : -all;
    for (auto& [q, r] : qs) q /= s;
    NewVar u;
    int64_t lo = 0, hi = 0, shift = 0;
    if (range_of(qs, lo, hi)) {
      shift = -lo;
      u.extent = hi - lo + 1;
    } else {
      // Only unbounded rows: the first row's constant is absorbed as far as it goes.
      shift = floor_div(qs[0].second->coefs[qs[0].second->width - 1], qs[0].first);
    }
    u.def.assign(total_ + 1, 0);
    for (size_t k = 0; k < members.size(); ++k) u.def[members[k]] = mul_checked(form[k], s);
    u.def[total_] = shift;
    const int id = static_cast<int>(vars_.size());
    for (size_t k = 0; k < members.size(); ++k) {
      VarInfo& i = info_[members[k]];
      i.new_var = id;
      i.merged = true;
      i.pivot = k == pivot;
      i.form = mul_checked(form[k], s);
      i.shift = shift;
    }
    vars_.push_back(std::move(u));
    return true;
  }

  // One variable, alone in all its rows; never scaled.
  void single(int v, const std::vector<const RowRef*>& rows, bool shared) {
    std::vector<std::pair<int64_t, const RowRef*>> qs;
    for (const RowRef* r : rows) {
      int count = 0;
      for (int w = 0; w < total_; ++w) count += r->coefs[w] != 0;
      if (r->coefs[v] != 0 && count == 1 && !r->has_inner) qs.emplace_back(r->coefs[v], r);
    }
    int64_t sign = 1;
    if (!qs.empty() && qs[0].first < 0) sign = -1;
    for (auto& [q, r] : qs) q *= sign;
    NewVar u;
    u.bound = v >= free_;
    int64_t lo = 0, hi = 0, shift = 0;
    bool limited = !qs.empty() && range_of(qs, lo, hi);
    if (shared && sign > 0) {
      int64_t a = 0, b = 0;
      if (radix(v, rows, a, b)) {
        lo = limited ? std::max(lo, a) : a;
        hi = limited ? std::min(hi, b) : b;
        limited = true;
      }
    }
    if (limited) {
      shift = -lo;
      u.extent = hi - lo + 1;
    } else if (!shared && !qs.empty()) {
      shift = floor_div(qs[0].second->coefs[qs[0].second->width - 1], qs[0].first);
    } else if (u.bound) {
      u.extent = kUnbounded;
    } else {
      // Only unbounded shared rows: keep the variable as it is.
      u.extent = ctx_[v];
    }
    u.def.assign(total_ + 1, 0);
    u.def[v] = sign;
    u.def[total_] = shift;
    if (u.bound) {
      const int64_t b = spec_.box[2 * (v - free_)], e = spec_.box[2 * (v - free_) + 1];
      u.lo = sign > 0 ? b + shift : -(e - 1) + shift;
      u.hi = sign > 0 ? e + shift : -b + shift + 1;
    }
    VarInfo& i = info_[v];
    i.new_var = static_cast<int>(vars_.size());
    i.scale = sign;
    i.shift = shift;
    vars_.push_back(std::move(u));
  }

  // A variable that occurs only together with others: the digit of a mixed radix. It may run as far as the next larger digit begins
  // (or the dimension ends); the part of the constant that belongs to it is its origin.
  bool radix(int v, const std::vector<const RowRef*>& rows, int64_t& lo, int64_t& hi) const {
    lo = kNegInf;
    hi = kPosInf;
    bool any = false;
    for (const RowRef* r : rows) {
      const int64_t k = r->coefs[v];
      if (k == 0 || r->extent == kUnbounded || r->has_inner) continue;
      if (k < 0) return false;
      int64_t next = r->extent, low = 0, high = 0;
      bool largest = true;
      for (int w = 0; w < total_; ++w) {
        const int64_t q = r->coefs[w];
        if (w == v || q == 0) continue;
        if (q < 0) return false;
        if (q > k) {
          if (largest || q < next) next = q;
          largest = false;
        } else if (q == k) {
          return false;
        } else {
          const int64_t a = w < free_ ? 0 : spec_.box[2 * (w - free_)], b = w < free_ ? ctx_[w] - 1 : spec_.box[2 * (w - free_) + 1] - 1;
          low = add_checked(low, mul_checked(q, a));
          high = add_checked(high, mul_checked(q, b));
        }
      }
      const int64_t c = r->coefs[r->width - 1], rest = largest ? c : c - floor_div(c, next) * next;
      lo = std::max(lo, ceil_div(-rest - low, k));
      hi = std::min(hi, floor_div(next - 1 - rest - high, k));
      any = true;
    }
    return any && lo <= hi;
  }

  void separate(const std::vector<int>& members, const std::vector<const RowRef*>& rows) {
    const size_t before = vars_.size();
    for (int v : members) single(v, rows, true);
    // The shared rows must stay in bounds over the widened ranges; otherwise nothing is widened.
    bool fits = true;
    for (const RowRef* r : rows) {
      if (r->extent == kUnbounded || r->has_inner) continue;
      int64_t lo = r->coefs[r->width - 1], hi = lo;
      for (int v : members) {
        const int64_t k = r->coefs[v];
        if (k == 0) continue;
        const VarInfo& i = info_[v];
        const NewVar& u = vars_[i.new_var];
        // v = (u - shift) * scale, u in [0, extent) or the box
        int64_t a = u.extent == kUnbounded ? u.lo : 0, b = u.extent == kUnbounded ? u.hi - 1 : u.extent - 1;
        if (!u.bound && u.extent == kUnbounded) {
          fits = false;
          break;
        }
        int64_t x = mul_checked(k, (a - i.shift) * i.scale), y = mul_checked(k, (b - i.shift) * i.scale);
        lo = add_checked(lo, std::min(x, y));
        hi = add_checked(hi, std::max(x, y));
      }
      if (lo < 0 || hi >= r->extent) fits = false;
    }
    if (fits) {
      absorb(members, rows);
      return;
    }
    vars_.resize(before);
    for (int v : members) {
      NewVar u;
      u.bound = v >= free_;
      u.def.assign(total_ + 1, 0);
      u.def[v] = 1;
      if (u.bound) {
        u.lo = spec_.box[2 * (v - free_)];
        u.hi = spec_.box[2 * (v - free_) + 1];
        u.extent = kUnbounded;
      } else {
        u.extent = ctx_[v];
      }
      info_[v] = {};
      info_[v].new_var = static_cast<int>(vars_.size());
      vars_.push_back(std::move(u));
    }
  }

  // A free variable that occurs in unbounded shared rows only (an iota of i - k): let it take up the first row's constant.
  void absorb(const std::vector<int>& members, const std::vector<const RowRef*>& rows) {
    for (int v : members) {
      if (v >= free_) continue;
      bool only_unbounded = true;
      const RowRef* pick = nullptr;
      for (const RowRef* r : rows) {
        if (r->coefs[v] == 0) continue;
        only_unbounded &= r->extent == kUnbounded && !r->has_inner;
        if (!pick && (r->coefs[v] == 1 || r->coefs[v] == -1)) pick = r;
      }
      if (!only_unbounded || !pick) continue;
      // Constant of the row in the new variables of the other members.
      int64_t c = pick->coefs[pick->width - 1];
      for (int w : members) {
        if (w != v && pick->coefs[w] != 0) c -= pick->coefs[w] * info_[w].scale * info_[w].shift;
      }
      VarInfo& i = info_[v];
      NewVar& u = vars_[i.new_var];
      i.scale = 1;
      i.shift = pick->coefs[v] * c;
      u.def[v] = 1;
      u.def[total_] = i.shift;
      u.extent = kUnbounded;
    }
  }

  // New coefficients of a row: (new var, coefficient) and the new constant.
  void transform(const int64_t* coefs, int width, std::vector<int64_t>& out, int64_t& constant) const {
    out.assign(vars_.size(), 0);
    constant = coefs[width - 1];
    for (int v = 0; v < total_; ++v) {
      if (coefs[v] == 0) continue;
      const VarInfo& i = info_[v];
      if (i.merged) {
        if (!i.pivot) continue;
        const int64_t q = coefs[v] / i.form;
        out[i.new_var] = add_checked(out[i.new_var], q);
        constant = add_checked(constant, -mul_checked(q, i.shift));
      } else {
        const int64_t q = coefs[v] * i.scale;     // v = scale * (u - shift)
        out[i.new_var] = add_checked(out[i.new_var], q);
        constant = add_checked(constant, -mul_checked(q, i.shift));
      }
    }
  }

  void order() {
    // Colour variables by their uses, twice.
    for (int round = 0; round < 2; ++round) {
      std::vector<uint64_t> next(vars_.size(), 0);
      std::vector<int64_t> q;
      for (const RowRef& r : rows_) {
        int64_t c = 0;
        transform(r.coefs, r.width, q, c);
        uint64_t others = 0;
        for (size_t u = 0; u < q.size(); ++u) {
          if (q[u] != 0) others += mix(vars_[u].color, static_cast<uint64_t>(q[u]));
        }
        const uint64_t base = mix(mix(r.signature, static_cast<uint64_t>(c)), others);
        for (size_t u = 0; u < q.size(); ++u) {
          if (q[u] != 0) next[u] += mix(base, static_cast<uint64_t>(q[u]) * 31 + 7);
        }
      }
      for (size_t u = 0; u < vars_.size(); ++u) vars_[u].color = mix(next[u], static_cast<uint64_t>(vars_[u].extent));
    }
    perm_.resize(vars_.size());
    std::iota(perm_.begin(), perm_.end(), 0);
    std::stable_sort(perm_.begin(), perm_.end(), [&](int x, int y) {
      const NewVar &a = vars_[x], &b = vars_[y];
      if (a.bound != b.bound) return !a.bound;
      return a.color < b.color;
    });
  }

  Factor build() {
    const int n = static_cast<int>(vars_.size());
    std::vector<int> position(n);
    int new_free = 0;
    for (int k = 0; k < n; ++k) {
      position[perm_[k]] = k;
      new_free += !vars_[perm_[k]].bound;
    }
    // Rewrite the rows in place.
    std::vector<int64_t> q;
    for (int a = 0; a < static_cast<int>(spec_.args.size()); ++a) {
      const int inner = inner_count(a), width = total_ + inner + 1, new_width = n + inner + 1;
      for (Term& t : spec_.args[a]) {
        for (Factor& f : t.f) {
          const size_t count = a_.node(f.node).dims.size();
          std::vector<int64_t> map(count * new_width, 0);
          for (size_t r = 0; r < count; ++r) {
            const int64_t* old = &f.map[r * width];
            int64_t c = 0;
            transform(old, width, q, c);
            int64_t* fresh = &map[r * new_width];
            for (int u = 0; u < n; ++u) fresh[position[u]] = q[u];
            for (int j = 0; j < inner; ++j) fresh[n + j] = old[total_ + j];
            fresh[new_width - 1] = c;
          }
          f.map = std::move(map);
        }
        std::sort(t.f.begin(), t.f.end(), [](const Factor& x, const Factor& y) { return compare(x, y) < 0; });
      }
      std::sort(spec_.args[a].begin(), spec_.args[a].end(), [](const Term& x, const Term& y) { return compare(x, y) < 0; });
    }
    spec_.dims.clear();
    std::vector<int64_t> bound_extents;
    spec_.box.clear();
    Factor result;
    const int ctx_width = free_ + 1;
    for (int k = 0; k < n; ++k) {
      const NewVar& u = vars_[perm_[k]];
      if (u.bound) {
        bound_extents.push_back(u.extent);
        spec_.box.push_back(u.lo);
        spec_.box.push_back(u.hi);
      } else {
        spec_.dims.push_back(u.extent);
        const size_t at = result.map.size();
        result.map.resize(at + ctx_width, 0);
        for (int v = 0; v < free_; ++v) result.map[at + v] = u.def[v];
        result.map[at + ctx_width - 1] = u.def[total_];
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
    key.push_back(static_cast<int64_t>(spec_.kind));
    key.push_back(static_cast<int64_t>(spec_.fn));
    key.push_back(static_cast<int64_t>(spec_.dtype));
    key.push_back(spec_.flat);
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
          key.insert(key.end(), f.map.begin(), f.map.end());
        }
      }
    }
    if (spec_.kind == Kind::Red || spec_.kind == Kind::Bracket) {
      spec_.kernel = a_.kernels_.try_emplace(key, static_cast<uint32_t>(a_.kernels_.size())).first->second;
      key.insert(key.end(), spec_.box.begin(), spec_.box.end());
      key.push_back(spec_.lo);
      key.push_back(spec_.hi);
    }
    auto [it, fresh] = a_.table_.try_emplace(std::move(key), static_cast<Nid>(a_.nodes_.size()));
    if (fresh) {
      spec_.known = a_.compute_known(spec_);
      spec_.indexed = spec_.kind == Kind::Take;
      if (spec_.kind == Kind::Fn || spec_.kind == Kind::Sum) {
        for (const Poly& p : spec_.args) {
          for (const Term& t : p) {
            for (const Factor& f : t.f) spec_.indexed |= a_.node(f.node).indexed;
          }
        }
      }
      a_.nodes_.push_back(std::move(spec_));
    } else {
      ++a_.interned_hits;
    }
    return it->second;
  }

  Algebra& a_;
  Node& spec_;
  const Ext& ctx_;
  int free_ = 0, bound_ = 0, total_ = 0;
  std::vector<RowRef> rows_;
  std::vector<int> parent_;
  std::vector<bool> used_;
  std::vector<NewVar> vars_;
  std::vector<VarInfo> info_;
  std::vector<int> perm_;
};

size_t Algebra::KeyHash::operator()(const std::vector<int64_t>& key) const {
  uint64_t h = key.size();
  for (int64_t v : key) h = mix(h, static_cast<uint64_t>(v));
  return h;
}

Factor Algebra::intern(Node spec, const Ext& ctx) {
  if (nodes_.size() > 4'000'000) throw Overflow("too many distinct terms");
  ++applications;
  // A row that is constant in a dimension of several places is a variable that the context has fixed (L-28): a shard of one row and a
  // whole tensor have the same operators. Equal constants in equally long dimensions are one variable.
  const size_t free = ctx.size(), bound = spec.box.size() / 2;
  std::vector<std::pair<int64_t, int64_t>> fixed;   // constant, extent
  for (size_t a = 0; a < spec.args.size(); ++a) {
    const size_t width = free + bound + (spec.inner.empty() ? 0 : spec.inner[a].size()) + 1;
    for (const Term& t : spec.args[a]) {
      for (const Factor& f : t.f) {
        const Node& n = nodes_[f.node];
        for (size_t r = 0; r < n.dims.size(); ++r) {
          if (n.dims[r] == kUnbounded || n.dims[r] == 1) continue;
          bool constant = true;
          for (size_t v = 0; v + 1 < width; ++v) constant &= f.map[r * width + v] == 0;
          const std::pair key{f.map[r * width + width - 1], n.dims[r]};
          if (constant && std::find(fixed.begin(), fixed.end(), key) == fixed.end()) fixed.push_back(key);
        }
      }
    }
  }
  if (fixed.empty()) {
    Factor f = Canonicalizer(*this, spec, ctx).run();
    f.node = find(f.node);
    return f;
  }
  Ext wide = ctx;
  for (const auto& [c, n] : fixed) wide.push_back(n);
  for (size_t a = 0; a < spec.args.size(); ++a) {
    const size_t rest = bound + (spec.inner.empty() ? 0 : spec.inner[a].size());
    const size_t width = free + rest + 1;
    for (Term& t : spec.args[a]) {
      for (Factor& f : t.f) {
        const Node& n = nodes_[f.node];
        std::vector<int64_t> map;
        map.reserve(f.map.size() + n.dims.size() * fixed.size());
        for (size_t r = 0; r < n.dims.size(); ++r) {
          const int64_t* row = &f.map[r * width];
          bool constant = n.dims[r] != kUnbounded && n.dims[r] != 1;
          for (size_t v = 0; v + 1 < width; ++v) constant &= row[v] == 0;
          map.insert(map.end(), row, row + free);
          for (const auto& [c, e] : fixed) map.push_back(constant && row[width - 1] == c && n.dims[r] == e ? 1 : 0);
          map.insert(map.end(), row + free, row + free + rest);
          map.push_back(constant ? 0 : row[width - 1]);
        }
        f.map = std::move(map);
      }
    }
  }
  Factor f = Canonicalizer(*this, spec, wide).run();
  f.node = find(f.node);
  // Read it at the constants.
  Factor out{f.node, f.exp, {}};
  const size_t w = wide.size() + 1;
  for (size_t r = 0; r < f.map.size() / w; ++r) {
    int64_t c = f.map[r * w + w - 1];
    for (size_t k = 0; k < fixed.size(); ++k) c += f.map[r * w + free + k] * fixed[k].first;
    out.map.insert(out.map.end(), f.map.begin() + static_cast<std::ptrdiff_t>(r * w), f.map.begin() + static_cast<std::ptrdiff_t>(r * w + free));
    out.map.push_back(c);
  }
  return out;
}

}  // namespace shardproof::prove
