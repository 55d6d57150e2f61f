// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Core operators -> Values, part 3: operators on whole dimensions, kernels, random draws.
#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "prove/eval.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::DType;
using ir::Fn;
using ir::Op;

// --- operators on whole dimensions -----------------------------------------------------------------------------------------------

namespace {

// The variables of a dimension, smallest digit first.
std::vector<size_t> digits_of(const Ext& ext, const std::vector<int64_t>& pos, size_t dim) {
  const size_t w = ext.size() + 1;
  std::vector<size_t> vars;
  for (size_t v = 0; v + 1 < w; ++v) {
    if (pos[dim * w + v] != 0) vars.push_back(v);
  }
  std::sort(vars.begin(), vars.end(), [&](size_t a, size_t b) { return pos[dim * w + a] < pos[dim * w + b]; });
  return vars;
}

// Rows of `place` that are still empty, read off fx = fy at that place: y's variables as affine forms of x's. Rows of fy's map with one
// unknown variable are solved first; where several stay, they are digits of one index.
void solve_rows(const Factor& fy, size_t yw, const Factor& fx, size_t xw, std::vector<Row>& place) {
  for (const bool digits : {false, true}) {
    for (bool again = true; again;) {
      again = false;
      for (size_t r = 0; r < fy.map.size() / yw; ++r) {
        const int64_t* row = &fy.map[r * yw];
        Row rest(fx.map.begin() + static_cast<std::ptrdiff_t>(r * xw), fx.map.begin() + static_cast<std::ptrdiff_t>((r + 1) * xw));
        rest.back() -= row[yw - 1];
        std::vector<size_t> open;
        for (size_t v = 0; v + 1 < yw; ++v) {
          if (row[v] == 0) continue;
          if (place[v].empty()) open.push_back(v);
          for (size_t k = 0; k < place[v].size(); ++k) rest[k] -= row[v] * place[v][k];
        }
        if (open.empty() || (open.size() > 1 && !digits)) continue;
        std::sort(open.begin(), open.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
        std::vector<Row> found;
        for (const size_t v : open) {
          const int64_t c = row[v];
          if (c == 0 || (c < 0 && open.size() > 1)) break;
          Row q(xw, 0);
          for (size_t k = 0; k + 1 < xw; ++k) q[k] = rest[k] % c == 0 ? rest[k] / c : 0;
          q.back() = rest.back() / c - (rest.back() % c != 0 && (rest.back() < 0) != (c < 0) ? 1 : 0);
          for (size_t k = 0; k < xw; ++k) rest[k] -= c * q[k];
          found.push_back(std::move(q));
        }
        if (found.size() != open.size() || std::any_of(rest.begin(), rest.end(), [](int64_t k) { return k != 0; })) continue;
        for (size_t k = 0; k < open.size(); ++k) place[open[k]] = found[k];
        again = true;
      }
    }
  }
}

// Do all rows stay in the ranges of y's variables?
bool in_ranges(const std::vector<Row>& place, const Ext& to, const Ext& from) {
  for (size_t v = 0; v < place.size(); ++v) {
    if (place[v].empty()) return false;
    int64_t lo = place[v].back(), hi = lo;
    for (size_t k = 0; k + 1 < place[v].size(); ++k) {
      const int64_t d = place[v][k] * (from[k] - 1);
      (d < 0 ? lo : hi) += d;
    }
    if (lo < 0 || hi >= to[v]) return false;
  }
  return true;
}

// Rows of a map over y's variables, read at that place.
std::vector<int64_t> at_place(const std::vector<int64_t>& map, size_t yw, const std::vector<Row>& place, size_t xw) {
  std::vector<int64_t> out;
  for (size_t r = 0; r < map.size() / yw; ++r) {
    Row row(xw, 0);
    row.back() = map[r * yw + yw - 1];
    for (size_t v = 0; v + 1 < yw; ++v) {
      for (size_t k = 0; k < xw; ++k) row[k] += map[r * yw + v] * place[v][k];
    }
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

}  // namespace

// The operator's node, read at the parallel variables (ctx) and the result's own; positions along parallel dimensions are left to the
// caller.
Cell Evaluator::whole_cell(Node spec, const Ext& ctx, int P, const std::vector<int>& result, const ir::Shape& shape) {
  const std::string name = spec.name;
  const DType dtype = spec.dtype;
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] >= P) spec.result.push_back(shape[d]);
  }
  spec.known.integer = ir::is_int(dtype) || dtype == DType::Bool;
  if (dtype == DType::Bool) spec.known.boolean = spec.known.nonneg = true, spec.known.lo = 0, spec.known.hi = 1;
  if (name.starts_with("arg") && spec.inner.size() == 1 && !spec.inner[0].empty()) {
    spec.known.lo = 0;
    spec.known.hi = 1;
    for (int64_t e : spec.inner[0]) spec.known.hi = mul_checked(spec.known.hi, e);
    spec.known.hi -= 1;
    Ext wide = ctx;
    wide.insert(wide.end(), spec.inner[0].begin(), spec.inner[0].end());
    spec.known.nonneg = true;
    spec.known.finite = spec.known.no_pos_inf = algebra.known(spec.args[0], wide).no_pos_inf;  // undefined where one of the elements is
  }
  if (name.starts_with("sort") && !spec.args.empty()) {
    // A permutation of its operand: bounds and finiteness carry over.
    Ext wide = ctx;
    const size_t number = static_cast<size_t>(name[std::min(name.find(' '), name.size()) - 1] - '0');  // before the layout of digits
    const size_t which = number < spec.args.size() ? number : 0;
    wide.insert(wide.end(), spec.inner[which].begin(), spec.inner[which].end());
    bool keys_fine = true;
    for (size_t k = 0; k < spec.args.size(); ++k) {
      Ext e = ctx;
      e.insert(e.end(), spec.inner[k].begin(), spec.inner[k].end());
      keys_fine &= algebra.known(spec.args[k], e).finite;
    }
    const Known k = algebra.known(spec.args[which], wide);
    if (keys_fine) {
      spec.known = k;
      spec.known.nonzero = k.nonzero;
    } else if (k.integer) {
      spec.known.integer = true;
      spec.known.lo = k.lo;
      spec.known.hi = k.hi;
      spec.known.nonneg = k.nonneg;
    }
  }
  const size_t results = spec.result.size();
  const std::optional<Node> operands = kernel_side_ ? std::optional(spec) : std::nullopt;
  Factor f = algebra.intern(std::move(spec), ctx);
  if (operands) f = kernel_piece(*operands, std::move(f), ctx);
  // Read at the parallel variables and the result's own.
  Cell c;
  c.ext = ctx;
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] >= P) c.ext.push_back(shape[d]);
  }
  const size_t w = c.ext.size() + 1, pw = ctx.size() + 1;
  std::vector<int64_t> map;
  for (size_t r = 0; r < f.map.size() / pw; ++r) {
    for (size_t v = 0; v + 1 < pw; ++v) map.push_back(f.map[r * pw + v]);
    for (size_t v = 0; v < results; ++v) map.push_back(0);
    map.push_back(f.map[r * pw + pw - 1]);
  }
  for (size_t v = 0; v < results; ++v) {
    const Row r = unit(w, ctx.size() + v);
    map.insert(map.end(), r.begin(), r.end());
  }
  c.pos.assign(result.size() * w, 0);
  size_t next = ctx.size();
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] >= P) c.pos[d * w + next++] = 1;
  }
  c.poly = algebra.access(f.node, std::move(map), c.ext);
  return c;
}

// Where a bracket over one variable alone, behind the first n, begins and ends.
static void bracket_cuts(const Algebra& algebra, const Poly& p, size_t n, std::vector<std::vector<int64_t>>& cuts) {
  const size_t w = n + cuts.size() + 1;
  for (const Term& t : p) {
    for (const Factor& f : t.f) {
      const Node& b = algebra.node(f.node);
      if (b.kind != Kind::Bracket || f.map.size() != w) continue;
      const auto last = f.map.end() - 1;
      const auto v = std::find_if(f.map.begin(), last, [](int64_t k) { return k != 0; });
      const size_t at = static_cast<size_t>(v - f.map.begin());
      if (v == last || at < n || (*v != 1 && *v != -1) || std::any_of(v + 1, last, [](int64_t k) { return k != 0; })) continue;
      const int64_t extent = cuts[at - n].back();
      for (const int64_t bound : {b.lo, b.hi}) {
        if (bound < -extent - std::abs(*last) || bound > extent + std::abs(*last)) continue;
        const int64_t cut = *v == 1 ? bound - *last : *last - bound + 1;
        if (cut > 0 && cut < extent) cuts[at - n].insert(cuts[at - n].begin() + 1, cut);
      }
    }
  }
}

// Without guards (terms 0 x, which say where x is finite) under a bracket that holds nowhere: it hides x.
static Poly without_idle_guards(const Algebra& algebra, Poly p, const Ext& ctx) {
  const size_t w = ctx.size() + 1;
  const auto idle = [&](const Term& t) {
    return t.coef.is_zero() && std::any_of(t.f.begin(), t.f.end(), [&](const Factor& f) {
             const Node& b = algebra.node(f.node);
             if (b.kind != Kind::Bracket || f.map.size() != w || b.args[0].size() != 1) return false;
             const Term& e = b.args[0][0];
             if (!e.coef.is_one() || e.f.size() != 1 || e.f[0].node != algebra.iota() || e.f[0].map != std::vector<int64_t>{1, 0})
               return false;
             int64_t lo = f.map.back(), hi = lo;
             for (size_t k = 0; k + 1 < w; ++k) (f.map[k] < 0 ? lo : hi) += f.map[k] * (ctx[k] - 1);
             return hi < b.lo || lo >= b.hi;
           });
  };
  p.erase(std::remove_if(p.begin(), p.end(), idle), p.end());
  return p;
}

// A rank's kernel is a piece of the sequential program's where its operands are, at one place along the parallel dimensions (L-106). The
// names of the operands need not show that: a padded reading (L-40) of a whole tensor is a plain one of most of its pieces.
Factor Evaluator::kernel_piece(const Node& operands, Factor f, const Ext& ctx) {
  if (*kernel_side_ < 0) {
    const bool known = std::any_of(kernels_.begin(), kernels_.end(), [&](const Kernel& k) { return k.read.node == f.node; });
    if (!known) kernels_.push_back({operands, f, ctx});
    return f;
  }
  if (std::any_of(kernels_.begin(), kernels_.end(), [&](const Kernel& k) { return k.read.node == f.node; })) return f;
  constexpr int kTries = 64;
  constexpr size_t kBoxes = 16;
  int tries = 0;
  const size_t n = ctx.size();
  bool alike = false;
  for (auto k = kernels_.rbegin(); k != kernels_.rend(); ++k) {  // those of the last evaluation first
    const Node& other = k->operands;
    if (other.name != operands.name || other.dtype != operands.dtype || other.inner != operands.inner || other.result != operands.result)
      continue;
    alike = true;
    const size_t m = k->ctx.size();
    const auto equal_at = [&](const std::vector<Row>& place, bool opening) {
      for (size_t a = 0; a < operands.args.size(); ++a) {
        // Where brackets cut a dimension of the kernel's own, piece by piece: inside of one they are decided.
        Ext wide = ctx;
        wide.insert(wide.end(), operands.inner[a].begin(), operands.inner[a].end());
        std::vector<std::vector<int64_t>> cuts;
        for (const int64_t e : operands.inner[a]) cuts.push_back({0, e});
        bracket_cuts(algebra, other.args[a], m, cuts);
        bracket_cuts(algebra, operands.args[a], n, cuts);
        size_t boxes = 1;
        for (auto& c : cuts) {
          std::sort(c.begin(), c.end());
          c.erase(std::unique(c.begin(), c.end()), c.end());
          boxes *= c.size() > 1 ? c.size() - 1 : 1;
        }
        if (boxes > kBoxes) return false;
        for (size_t box = 0; box < boxes; ++box) {
          Sub mine = Sub::identity(static_cast<int>(wide.size())), theirs = mine;
          theirs.rows.clear();
          for (const Row& row : place) {
            Row wider(row.begin(), row.end() - 1);
            wider.resize(wide.size(), 0);
            wider.push_back(row.back());
            theirs.rows.push_back(std::move(wider));
          }
          size_t rest = box;
          for (size_t v = 0; v < cuts.size(); ++v) {
            const size_t pieces = std::max<size_t>(cuts[v].size() - 1, 1), at = rest % pieces;
            rest /= pieces;
            if (cuts[v].size() > 1) wide[n + v] = cuts[v][at + 1] - cuts[v][at];
            mine.rows[n + v].back() = cuts[v][at];
            theirs.rows.push_back(mine.rows[n + v]);
          }
          const Poly there = without_idle_guards(algebra, algebra.subst(other.args[a], theirs, wide), wide);
          const Poly here = without_idle_guards(algebra, algebra.subst(operands.args[a], mine, wide), wide);
          if (!algebra.equal(there, here, wide) && !(opening && algebra.equal_flat(there, here, wide))) return false;
        }
      }
      return true;
    };
    for (size_t a = 0; a < operands.args.size(); ++a) {
      const size_t inner = operands.inner[a].size(), yw = m + inner + 1, xw = n + inner + 1;
      for (const Term& ty : other.args[a]) {
        for (const Factor& fy : ty.f) {
          for (const Term& tx : operands.args[a]) {
            for (const Factor& fx : tx.f) {
              if (fx.node != fy.node || !(fx.exp == fy.exp) || tries >= kTries) continue;
              std::vector<Row> place(m + inner);
              for (size_t v = 0; v < m; ++v) {
                if (k->ctx[v] == 1) place[v] = Row(xw, 0);
              }
              for (size_t v = 0; v < inner; ++v) place[m + v] = unit(xw, n + v);
              solve_rows(fy, yw, fx, xw, place);
              place.resize(m);
              bool free = true;  // of the kernel's own dimensions
              for (Row& row : place) {
                if (row.empty()) continue;
                for (size_t v = 0; v < inner; ++v) free &= row[n + v] == 0;
                row.erase(row.begin() + static_cast<std::ptrdiff_t>(n), row.end() - 1);
              }
              if (!free || !in_ranges(place, k->ctx, ctx) || (++tries, !equal_at(place, false))) continue;
              fired(Rule::L106);
              return Factor{k->read.node, k->read.exp, at_place(k->read.map, m + 1, place, n + 1)};
            }
          }
        }
      }
    }
  }
  if (alike) refused(Rule::L106);
  return f;
}

Value Evaluator::whole(const std::string& name, DType dtype, const std::vector<WholeArg>& args, const std::vector<int64_t>& parallel,
                       const std::vector<int>& result, const ir::Shape& shape) {
  if (ir::num_elements(shape) == 0) return Value{shape, {}};
  const int P = static_cast<int>(parallel.size());
  // Where every argument is one piece along its inner dimensions, the cells of the arguments decide (parallel dimensions may be in pieces
  // or have digits). Inner dimensions may have digits, too (a window of several dimensions, flattened): each is an inner variable then.
  bool plain = true;
  for (const WholeArg& a : args) {
    for (const Cell& c : a.value->cells) {
      const size_t w = c.ext.size() + 1;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] < P) continue;
        plain &= c.pos[d * w + w - 1] == 0;
        int64_t extent = 1;
        for (size_t v : digits_of(c.ext, c.pos, d)) {
          plain &= c.pos[d * w + v] == extent;
          extent *= c.ext[v];
        }
        plain &= extent == a.value->shape[d];
      }
    }
  }
  if (!args.empty() && (plain ? fired(Rule::L43) : !refused(Rule::L43))) {
    ir::Shape joint(parallel.begin(), parallel.end());
    std::map<int, int64_t> inner_dim;  // inner factor -> joint dimension
    std::vector<Value> spreads;
    std::vector<std::vector<int64_t>> places;
    for (const WholeArg& a : args) {
      std::vector<int64_t> place;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] < P) {
          place.push_back(a.factor[d]);
          continue;
        }
        auto [it, fresh] = inner_dim.try_emplace(a.factor[d], static_cast<int64_t>(joint.size()));
        if (fresh) joint.push_back(a.value->shape[d]);
        place.push_back(it->second);
      }
      places.push_back(std::move(place));
    }
    spreads.push_back(views.whole(joint, {}));
    for (size_t k = 0; k < args.size(); ++k) {
      spreads.push_back(views.spread(*args[k].value, joint, places[k]));
    }
    std::vector<const Value*> refs;
    for (const Value& v : spreads) refs.push_back(&v);
    Value out{shape, {}};
    for (Refined& r : views.refine(refs)) {
      const size_t w = r.ext.size() + 1;
      std::vector<size_t> order;
      std::vector<std::vector<size_t>> inner_vars(joint.size());
      std::vector<char> is_inner(r.ext.size(), 0);
      std::string layout;
      for (size_t d = static_cast<size_t>(P); d < joint.size(); ++d) {
        inner_vars[d] = digits_of(r.ext, r.pos, d);
        for (size_t v : inner_vars[d]) is_inner[v] = 1;
        if (inner_vars[d].size() > 1) layout += fmt::format(" digits {}:{}", d - static_cast<size_t>(P), inner_vars[d].size());
      }
      Ext ctx;
      for (size_t v = 0; v + 1 < w; ++v) {
        if (!is_inner[v]) order.push_back(v), ctx.push_back(r.ext[v]);
      }
      Node spec;
      spec.kind = Kind::Whole;
      spec.name = name + layout;
      spec.dtype = dtype;
      for (size_t k = 0; k < args.size(); ++k) {
        Ext inner;
        Sub s;
        s.width = static_cast<int>(ctx.size()) + 1;
        std::vector<std::pair<size_t, size_t>> put;  // joint variable, inner number
        for (size_t d = 0; d < args[k].factor.size(); ++d) {
          if (args[k].factor[d] < P) continue;
          const std::vector<size_t>& vars = inner_vars[static_cast<size_t>(places[k][d])];
          for (size_t var : vars) {
            put.emplace_back(var, inner.size());
            inner.push_back(r.ext[var]);
          }
          if (vars.empty()) inner.push_back(args[k].value->shape[d]);
        }
        s.width += static_cast<int>(inner.size());
        s.rows.assign(r.ext.size(), Row(s.width, 0));
        for (size_t p = 0; p < order.size(); ++p) s.rows[order[p]][p] = 1;
        for (const auto& [var, number] : put) s.rows[var][ctx.size() + number] = 1;
        Ext wide = ctx;
        wide.insert(wide.end(), inner.begin(), inner.end());
        spec.args.push_back(algebra.subst(r.poly[1 + k], s, wide));
        spec.inner.push_back(std::move(inner));
      }
      Cell c = whole_cell(std::move(spec), ctx, P, result, shape);
      // Positions along parallel dimensions are those of the refined cell.
      const size_t cw = c.ext.size() + 1;
      for (size_t d = 0; d < result.size(); ++d) {
        if (result[d] >= P) continue;
        for (size_t p = 0; p < order.size(); ++p) c.pos[d * cw + p] = r.pos[static_cast<size_t>(result[d]) * w + order[p]];
        c.pos[d * cw + cw - 1] = r.pos[static_cast<size_t>(result[d]) * w + w - 1];
      }
      out.cells.push_back(std::move(c));
    }
    if (out.cells.size() > 1) views.join(out);
    return out;
  }
  // Borders along parallel dimensions.
  std::vector<std::vector<int64_t>> cuts(P);
  for (int p = 0; p < P; ++p) cuts[p] = {0, parallel[p]};
  for (const WholeArg& a : args) {
    for (const Cell& c : a.value->cells) {
      const size_t w = c.ext.size() + 1;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] >= P) continue;
        int64_t lo = c.pos[d * w + w - 1], hi = lo, count = 1;
        for (size_t v = 0; v + 1 < w; ++v) {
          hi += c.pos[d * w + v] * (c.ext[v] - 1);
          if (c.pos[d * w + v] != 0) count *= c.ext[v];
        }
        if (count != hi - lo + 1) continue;
        cuts[a.factor[d]].push_back(lo);
        cuts[a.factor[d]].push_back(hi + 1);
      }
    }
  }
  int64_t boxes = 1;
  for (auto& c : cuts) {
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    boxes *= static_cast<int64_t>(c.size()) - 1;
  }
  if (boxes > 1024) throw Overflow("too many pieces");
  Value out{shape, {}};
  std::vector<size_t> at(P, 0);
  while (true) {
    Ext ctx;
    for (int p = 0; p < P; ++p) ctx.push_back(cuts[p][at[p] + 1] - cuts[p][at[p]]);
    Node spec;
    spec.kind = Kind::Whole;
    spec.name = name;
    spec.dtype = dtype;
    for (const WholeArg& a : args) {
      // The argument over the box's parallel variables and its own inner ones.
      std::vector<int64_t> start, stop, step(a.value->shape.size(), 1);
      Ext wide = ctx;
      std::vector<Row> rows;
      Ext inner;
      for (size_t d = 0; d < a.factor.size(); ++d) {
        if (a.factor[d] < P) {
          start.push_back(cuts[a.factor[d]][at[a.factor[d]]]);
          stop.push_back(cuts[a.factor[d]][at[a.factor[d]] + 1]);
        } else {
          start.push_back(0);
          stop.push_back(a.value->shape[d]);
          inner.push_back(a.value->shape[d]);
          wide.push_back(a.value->shape[d]);
        }
      }
      size_t next = static_cast<size_t>(P);
      for (size_t d = 0; d < a.factor.size(); ++d)
        rows.push_back(unit(wide.size() + 1, a.factor[d] < P ? static_cast<size_t>(a.factor[d]) : next++));
      const Value piece = views.slice(*a.value, start, stop, step);
      spec.args.push_back(views.at(piece, rows, wide));
      spec.inner.push_back(std::move(inner));
    }
    Cell c = whole_cell(std::move(spec), ctx, P, result, shape);
    const size_t w = c.ext.size() + 1;
    for (size_t d = 0; d < result.size(); ++d) {
      if (result[d] >= P) continue;
      c.pos[d * w + static_cast<size_t>(result[d])] = 1;
      c.pos[d * w + w - 1] = cuts[result[d]][at[result[d]]];
    }
    out.cells.push_back(std::move(c));
    int p = 0;
    while (p < P && ++at[p] + 1 == cuts[p].size()) at[p++] = 0;
    if (p == P) break;
  }
  if (out.cells.size() > 1) views.join(out);
  return out;
}

Value Evaluator::compute_result(ir::NodeId id, const ir::Node& n) {
  const ir::Node& t = problem_.graph[n.in[0]];
  for (ir::NodeId in : t.in) value(in);
  if (t.op == Op::Sort) {
    const Value& x = values_[t.in[0]];
    std::vector<int64_t> parallel;
    std::vector<int> factor;
    for (size_t d = 0; d < x.shape.size(); ++d) {
      factor.push_back(static_cast<int64_t>(d) == t.a[0] ? 1000 : static_cast<int>(parallel.size()));
      if (static_cast<int64_t>(d) != t.a[0]) parallel.push_back(x.shape[d]);
    }
    if (!t.a[2]) assumptions.insert("sorting and top-k: ties go to the lower index");
    // L-82: equal keys stay as they are.
    if (x.cells.size() == 1 && algebra.known(x.cells[0].poly, x.cells[0].ext).finite) {
      const Cell& c = x.cells[0];
      const size_t w = c.ext.size() + 1;
      bool same = true;
      for (const Term& key : c.poly) {
        for (const Factor& f : key.f) {
          for (size_t at = 0; at < f.map.size(); ++at)
            same &= f.map[at] == 0 || at % w + 1 == w || c.pos[static_cast<size_t>(t.a[0]) * w + at % w] == 0;
        }
      }
      if (same ? fired(Rule::L82) : !refused(Rule::L82)) return values_[t.in[static_cast<size_t>(n.a[0])]];
    }
    std::vector<WholeArg> args;
    for (ir::NodeId in : t.in) args.push_back({&values_[in], factor});
    // The key's own result does not depend on what is carried along.
    if (n.a[0] == 0) args.resize(1);
    std::optional<Key> key;
    has_order = true;
    if (algebra.by_order && ir::is_float(t.tuple[0].first)) key = simple_key(x, static_cast<size_t>(t.a[0]));
    if (key && fired(Rule::L83)) args[0].value = &key->value;
    Value sorted = whole(fmt::format("sort:{}:{}", t.a[1], n.a[0]), n.dtype, args, parallel, factor, n.shape);
    return key && n.a[0] == 0 ? put_on(std::move(sorted), *key, n.dtype) : sorted;
  }
  if (t.op != Op::Opaque) throw Overflow("result of an unknown tuple");
  for (size_t k = 0; k < problem_.opaque_nodes.size(); ++k) {
    if (problem_.opaque_nodes[k] == n.in[0]) {
      undecided[id] = {"unsupported-operator", problem_.opaque_reasons[k]};
      break;
    }
  }
  // A kernel: by its factor rule, else a function of its whole operands.
  struct Side {
    std::optional<int>& side;
    ~Side() { side.reset(); }
  } kernel_of{kernel_side_};
  kernel_side_ = problem_.side[id];
  std::vector<ir::Shape> operands, results;
  for (ir::NodeId in : t.in) operands.push_back(problem_.graph[in].shape);
  for (const auto& [type, shape] : t.tuple) results.push_back(shape);
  std::string base = t.attrs;
  const auto bar = base.find("|factors:");
  if (bar != std::string::npos) base = base.substr(0, bar);
  // The word keeps a kernel that is called "sort" from being taken for the operator.
  const std::string name = fmt::format("kernel {}({})#{}", t.name, base, n.a[0]);
  std::optional<lower::KernelContract> contract;
  if (bar != std::string::npos) {
    auto parsed = lower::parse_kernel_contract(t.attrs);
    if (parsed) {
      auto resolved = lower::resolve_extents(*parsed, operands, results);
      if (resolved && resolved->operands.size() == operands.size()) contract = *resolved;
    }
  }
  std::vector<Value> split(t.in.size());
  std::vector<WholeArg> args;
  std::vector<int64_t> parallel;
  std::vector<int> result;
  int inner = 1000;
  if (!contract) {
    for (size_t k = 0; k < t.in.size(); ++k) {
      std::vector<int> f;
      for (size_t d = 0; d < operands[k].size(); ++d) f.push_back(inner++);
      args.push_back({&values_[t.in[k]], f});
    }
    for (size_t d = 0; d < n.shape.size(); ++d) result.push_back(inner++);
    return whole(name, n.dtype, args, parallel, result, n.shape);
  }
  assumptions.insert(fmt::format("kernel {} obeys its contract {}", t.name, bar == std::string::npos ? "" : t.attrs.substr(bar + 10)));
  std::vector<int> number(contract->factors.size());
  for (size_t f = 0; f < contract->factors.size(); ++f) {
    if (contract->factors[f].kind == lower::KernelContract::Factor::Kind::Parallel) {
      number[f] = static_cast<int>(parallel.size());
      parallel.push_back(contract->factors[f].extent);
    } else {
      number[f] = inner++;
    }
  }
  auto shape_of = [&](const std::vector<lower::KernelContract::Dim>& dims, std::vector<int>& factors) {
    ir::Shape s;
    for (const auto& dim : dims) {
      for (uint32_t f : dim) {
        s.push_back(contract->factors[f].extent);
        factors.push_back(number[f]);
      }
      if (dim.empty()) {
        s.push_back(1);
        factors.push_back(inner++);
      }
    }
    return s;
  };
  for (size_t k = 0; k < t.in.size(); ++k) {
    std::vector<int> f;
    const ir::Shape s = shape_of(contract->operands[k], f);
    split[k] = views.reshape(values_[t.in[k]], s);
    args.push_back({&split[k], f});
  }
  const ir::Shape s = shape_of(contract->results[n.a[0]], result);
  return views.reshape(whole(name, n.dtype, args, parallel, result, s), n.shape);
}

// --- draws ---------------------------------------------------------------------------------------------------------------------

// Draws of the two sides are matched by kind, parameter and order, and by where their results are used: if the tensor that a draw is
// multiplied with (or selects from) is a view of the one that a sequential draw is used on, the draw is that view of the sequential one.
Value Evaluator::compute_random(ir::NodeId id, const ir::Node& n) {
  const ir::Graph& g = problem_.graph;
  const std::string kind = fmt::format("{}:{}:{}:{:a}", n.name, static_cast<int>(n.lit.kind), n.lit.i, n.lit.d);
  auto draw = [&](ir::NodeId s) {
    Node b;
    b.kind = Kind::Base;
    b.dtype = g[s].dtype;
    b.dims = g[s].shape;
    b.name = fmt::format("draw {}", g[s].label);
    const bool mask = n.name == "bernoulli";
    b.known.finite = b.known.no_pos_inf = true;
    b.known.boolean = b.known.integer = b.known.nonneg = mask;
    if (mask) b.known.lo = 0, b.known.hi = 1;
    return algebra.named_node(fmt::format("draw:{}", s), std::move(b));
  };
  if (problem_.side[id] < 0) return views.of_node(n.shape, draw(id));
  if (users_known_ != g.nodes.size()) {
    users_.assign(g.nodes.size(), {});
    draws_.clear();
    for (ir::NodeId k = 0; k < g.nodes.size(); ++k) {
      for (ir::NodeId in : g[k].in) users_[in].push_back(k);
      if (g[k].op == Op::Random) {
        const int whose = problem_.side[k] < 0 ? 0 : problem_.side[k] + 1;
        draws_[{whose, fmt::format("{}:{}:{}:{:a}", g[k].name, static_cast<int>(g[k].lit.kind), g[k].lit.i, g[k].lit.d)}].push_back(k);
      }
    }
    users_known_ = g.nodes.size();
  }
  auto depends = [&](ir::NodeId x, ir::NodeId on) {
    std::vector<ir::NodeId> stack{x};
    std::set<ir::NodeId> seen;
    while (!stack.empty()) {
      const ir::NodeId k = stack.back();
      stack.pop_back();
      if (k == on) return true;
      if (k < on || !seen.insert(k).second) continue;
      stack.insert(stack.end(), g[k].in.begin(), g[k].in.end());
    }
    return false;
  };
  // The tensor that a draw acts on; never one that was made with the draw.
  auto partner = [&](ir::NodeId r) -> ir::NodeId {
    std::vector<ir::NodeId> front{r};
    for (size_t at = 0; at < front.size() && at < 64; ++at) {
      for (ir::NodeId u : users_[front[at]]) {
        const ir::Node& user = g[u];
        if (user.op != Op::Map) continue;
        ir::NodeId other = ir::kNoNode;
        bool only = true;
        for (ir::NodeId in : user.in) {
          if (std::find(front.begin(), front.end(), in) != front.end()) continue;
          if (g[in].shape.empty() && !user.shape.empty()) continue;
          if (g[in].op == Op::Const) continue;
          only = false;
          if (other == ir::kNoNode) other = in;
        }
        if (only) {
          if (std::find(front.begin(), front.end(), u) == front.end()) front.push_back(u);
        } else if (g[other].shape == g[r].shape && !depends(other, r)) {
          return other;
        }
      }
    }
    return ir::kNoNode;
  };
  // Those that a rank drew before come first: of two draws that act on one tensor the first is the first.
  const std::vector<ir::NodeId> own = draws_[{problem_.side[id] + 1, kind}];
  for (ir::NodeId k : own) {
    if (k < id && state_[k] == 0 && drawing_.count(id) == 0) value(k);
  }
  if (!drawing_.insert(id).second) throw Overflow(fmt::format("random draw {} acts on what is made with it", n.label));
  struct Done {
    std::set<ir::NodeId>& set;
    ir::NodeId id;
    ~Done() { set.erase(id); }
  } done{drawing_, id};
  const int rank = problem_.side[id];
  const ir::NodeId mine = partner(id);
  const auto it = draws_.find({0, kind});
  if (it == draws_.end()) throw Overflow(fmt::format("random draw {} has no counterpart in the sequential program", n.label));
  std::string why;
  for (const bool taken : {false, true}) {
    for (ir::NodeId s : it->second) {
      if ((matched_.count({rank, s}) != 0) != taken) continue;
      const ir::NodeId theirs = partner(s);
      if (mine == ir::kNoNode || theirs == ir::kNoNode) {
        if (g[s].shape != n.shape || taken) continue;
        matched_[{rank, s}] = id;
        assumptions.insert(fmt::format("random draw {} on rank {} is the sequential draw {}", n.label, rank, g[s].label));
        return views.of_node(n.shape, draw(s));
      }
      const Value x = value(mine), y = value(theirs);
      if (y.cells.size() != 1 || y.cells[0].poly.empty()) continue;
      const Cell& whole_cell = y.cells[0];
      const size_t yw = whole_cell.ext.size() + 1;
      Value out{n.shape, {}};
      bool ok = true;
      for (const Cell& c : x.cells) {
        const size_t xw = c.ext.size() + 1;
        bool found = false;
        // y's variables as affine forms of x's, from one factor that both polys have.
        for (const Term& ty : whole_cell.poly) {
          for (const Factor& fy : ty.f) {
            if (found) break;
            for (const Term& tx : c.poly) {
              for (const Factor& fx : tx.f) {
                if (found || fx.node != fy.node || !(fx.exp == fy.exp)) continue;
                Sub s2;
                s2.width = static_cast<int>(xw);
                s2.rows.assign(yw - 1, Row());
                solve_rows(fy, yw, fx, xw, s2.rows);
                if (!in_ranges(s2.rows, whole_cell.ext, c.ext)) continue;
                if (!algebra.equal(algebra.subst(whole_cell.poly, s2, c.ext), c.poly, c.ext)) continue;
                // The draw at y's position.
                std::vector<int64_t> map = at_place(whole_cell.pos, yw, s2.rows, xw);
                out.cells.push_back(Cell{c.ext, c.pos, algebra.access(draw(s), std::move(map), c.ext)});
                found = true;
              }
            }
          }
        }
        ok &= found;
      }
      if (!ok) {
        why = "it acts on another tensor";
        continue;
      }
      matched_[{rank, s}] = id;
      if (out.cells.size() > 1) views.join(out);
      assumptions.insert(
          taken ? fmt::format("random draw {} on rank {} repeats the sequential draw {} (recomputation)", n.label, rank, g[s].label)
                : fmt::format("random draw {} on rank {} is its piece of the sequential draw {}", n.label, rank, g[s].label));
      return out;
    }
  }
  throw Overflow(fmt::format("random draw {} on rank {} matches no sequential draw {}", n.label, rank, why));
}

}  // namespace shardproof::prove
