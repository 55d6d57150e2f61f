// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Core operators -> Values, part 1: driver, leaves, views, maps, reductions. See eval.h; eval_index.cpp has the rest.
#include "prove/eval.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "prove/literal.h"
#include "util/result.h"

namespace shardproof::prove {

using ir::DType;
using ir::Fn;
using ir::Op;

namespace {

Poly embed(Algebra& a, const Poly& scalar, const Ext& ctx) {
  if (scalar.empty()) return scalar;
  Sub s;
  s.width = static_cast<int>(ctx.size()) + 1;
  return a.subst(scalar, s, ctx);
}

}  // namespace

Evaluator::Evaluator(const link::Problem& problem, Limits limits) : views(algebra), problem_(problem), limits_(limits) {}

void Evaluator::forget() {
  algebra.forget_names();
  for (ir::NodeId id = 0; id < state_.size(); ++id) {
    if (problem_.graph[id].in.empty()) continue;  // what is given stays the unknown that it is
    state_[id] = 0;
    values_[id] = {};
    undecided.erase(id);
  }
}

const Value& Evaluator::value(ir::NodeId goal) {
  const ir::Graph& g = problem_.graph;
  if (state_.size() < g.nodes.size()) {
    state_.resize(g.nodes.size(), 0);
    values_.resize(g.nodes.size());
  }
  if (state_[goal] == 2) return values_[goal];
  // The cone of the goal, in order of ids; draws are left to their consumers.
  std::vector<ir::NodeId> stack{goal}, cone;
  std::vector<char> seen(goal + 1, 0);
  seen[goal] = 1;
  while (!stack.empty()) {
    const ir::NodeId id = stack.back();
    stack.pop_back();
    cone.push_back(id);
    for (ir::NodeId in : g[id].in) {
      if (state_[in] != 2 && !seen[in]) {
        seen[in] = 1;
        stack.push_back(in);
      }
    }
  }
  std::sort(cone.begin(), cone.end());
  for (ir::NodeId id : cone) {
    if (state_[id] == 2) continue;
    if (g[id].op == Op::Random && id != goal) continue;
    if (g[id].dtype == DType::Token) continue;
    bool waits = false;
    if (id != goal && g[id].in.size() == 1 && state_[g[id].in[0]] != 2 && g[g[id].in[0]].dtype != DType::Token)
      waits = true;  // a unary consumer of a draw
    if (waits) continue;
    state_[id] = 1;
    values_[id] = compute(id);
    tried(g[id].op, undecided.count(id) == 0);
    // What no piece covers would be compared with nothing.
    if (volume(values_[id].cells) != ir::num_elements(g[id].shape)) {
      undecided[id] = {"missing-lemma", "pieces that do not make up the whole"};
      values_[id] = fresh(g[id].shape, g[id].dtype, fmt::format("?{}", id));
    }
    // Rows in a wrong order break up into more and more pieces, of which no proof comes.
    size_t terms = 0;
    for (const Cell& c : values_[id].cells) terms += c.poly.size();
    if (terms > 512) {
      undecided[id] = {"missing-lemma", "a value in too many pieces"};
      values_[id] = fresh(g[id].shape, g[id].dtype, fmt::format("?{}", id));
    }
    state_[id] = 2;
    if (!meetings_.empty()) meet(id);
  }
  return values_[goal];
}

Value Evaluator::fresh(const ir::Shape& shape, DType dtype, const std::string& name) {
  Node n;
  n.kind = Kind::Base;
  n.dtype = dtype;
  n.dims = shape;
  n.name = name;
  n.known.integer = ir::is_int(dtype) || dtype == DType::Bool;
  if (dtype == DType::Bool) n.known.boolean = n.known.nonneg = true, n.known.lo = 0, n.known.hi = 1;
  return views.of_node(shape, algebra.add_base(std::move(n)));
}

Value Evaluator::compute(ir::NodeId id) {
  const ir::Node& n = problem_.graph[id];
  ++evaluated;
  algebra.check_time(evaluated);
  try {
    for (ir::NodeId in : n.in) {
      if (state_[in] != 2 && problem_.graph[in].dtype != DType::Token) value(in);
    }
    switch (n.op) {
      case Op::Input: {
        Node b;
        b.kind = Kind::Base;
        b.dtype = n.dtype;
        b.dims = n.shape;
        b.name = n.name;
        if (ir::is_float(n.dtype) || ir::is_complex(n.dtype)) assumptions.insert("float inputs are finite numbers");
        b.known.finite = b.known.no_pos_inf = true;
        b.known.integer = ir::is_int(n.dtype) || n.dtype == DType::Bool;
        if (n.dtype == DType::Bool) b.known.boolean = b.known.nonneg = true, b.known.lo = 0, b.known.hi = 1;
        if (ir::is_int(n.dtype)) {
          const int bits = ir::int_bits(n.dtype);
          if (ir::is_unsigned_int(n.dtype)) b.known.lo = 0, b.known.nonneg = true;
          if (bits < 62) {
            b.known.lo = ir::is_signed_int(n.dtype) ? -(int64_t{1} << (bits - 1)) : 0;
            b.known.hi = ir::is_signed_int(n.dtype) ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
          }
        }
        for (const link::Fact& f : problem_.facts) {
          if (f.input != id) continue;
          bool used = true;
          switch (f.fact.kind) {
            case manifest::Fact::Kind::Range:
              if (b.known.integer) {
                int64_t lo = static_cast<int64_t>(std::ceil(f.fact.low)), hi = static_cast<int64_t>(std::ceil(f.fact.high)) - 1;
                if (f.fact.has_exception) {
                  const auto c = static_cast<int64_t>(f.fact.exception);
                  if (c < lo) b.lo = c, b.hi = lo;  // values in (c, lo) do not occur
                  lo = std::min(lo, c);
                  hi = std::max(hi, c);
                }
                b.known.lo = std::max(b.known.lo, lo);
                b.known.hi = std::min(b.known.hi, hi);
              }
              if (f.fact.low >= 0 && !(f.fact.has_exception && f.fact.exception < 0)) b.known.nonneg = true;
              if (f.fact.low > 0 && !(f.fact.has_exception && f.fact.exception <= 0)) b.known.nonzero = true;
              break;
            case manifest::Fact::Kind::AtLeast:
              if (f.fact.value >= 0) b.known.nonneg = true;
              if (f.fact.value > 0) b.known.nonzero = true;
              if (b.known.integer) b.known.lo = std::max(b.known.lo, static_cast<int64_t>(std::ceil(f.fact.value)));
              break;
            case manifest::Fact::Kind::GreaterThan:
              if (f.fact.value >= 0) b.known.nonneg = b.known.nonzero = true;
              if (b.known.integer) b.known.lo = std::max(b.known.lo, static_cast<int64_t>(std::floor(f.fact.value)) + 1);
              break;
            case manifest::Fact::Kind::AnyNotEqual:
              used = b.known.integer && f.fact.value == std::floor(f.fact.value) && std::abs(f.fact.value) < 1e15;
              if (used) b.not_all = static_cast<int64_t>(f.fact.value);
              break;
            default: used = false; break;
          }
          if (used) assumptions.insert("fact: " + f.fact.text);
        }
        if (b.known.integer && b.known.lo >= 0) b.known.nonneg = true;
        if (b.known.integer && (b.known.lo > 0 || b.known.hi < 0)) b.known.nonzero = true;
        return views.of_node(n.shape, algebra.add_base(std::move(b)));
      }
      case Op::Const: return views.uniform(n.shape, literal(n.lit, n.dtype));
      case Op::Iota: {
        Row row(n.shape.size() + 1, 0);
        row[n.a[0]] = 1;
        return views.whole(n.shape, algebra.index(row, n.shape));
      }
      case Op::Dense: return dense(n);
      case Op::Uninit: return fresh(n.shape, n.dtype, fmt::format("uninitialised {}", n.label));
      case Op::Random: return compute_random(id, n);
      case Op::Transpose: return views.transpose(values_[n.in[0]], n.a);
      case Op::Reshape: return views.reshape(values_[n.in[0]], n.shape);
      case Op::Slice: return views.slice(values_[n.in[0]], n.a, n.b, n.c);
      case Op::Reverse: return views.reverse(values_[n.in[0]], n.a);
      case Op::Broadcast: return views.broadcast(values_[n.in[0]], n.shape, n.a);
      case Op::Pad: {
        const Value& fill = values_[n.in[1]];
        if (fill.cells.size() != 1) throw Overflow("padding value in pieces");
        return views.pad(values_[n.in[0]], fill.cells[0].poly, n.a, n.b, n.c, n.shape);
      }
      case Op::Concat: {
        std::vector<const Value*> xs;
        for (ir::NodeId in : n.in) xs.push_back(&values_[in]);
        return views.concat(xs, n.a[0], n.shape);
      }
      case Op::Window: return views.window(values_[n.in[0]], n.a, n.b, n.c, n.shape);
      case Op::Map: return compute_map(n);
      case Op::Reduce: {
        if ((n.fn == Fn::And || n.fn == Fn::Or) && n.dtype != DType::Bool) throw Overflow("bitwise reduction of integers");
        Value v = compute_reduce(values_[n.in[0]], n.fn, n.a, n.shape);
        if (ir::is_int(n.dtype)) {
          for (Cell& c : v.cells) c.poly = wrap(c.poly, n.dtype, c.ext);
        }
        return v;
      }
      case Op::Contract: return compute_contract(n);
      case Op::Take: return compute_take(n);
      case Op::Scatter: return compute_scatter(n);
      case Op::DynamicSlice: return compute_dynamic_slice(n);
      case Op::DynamicUpdate: return compute_dynamic_update(n);
      case Op::Scan: return compute_scan(n);
      case Op::ArgReduce: {
        const Value& x = values_[n.in[0]];
        std::vector<int64_t> parallel;
        std::vector<int> factor, result;
        for (size_t d = 0; d < x.shape.size(); ++d) {
          if (static_cast<int64_t>(d) == n.a[0]) {
            factor.push_back(1000);
          } else {
            factor.push_back(static_cast<int>(parallel.size()));
            result.push_back(static_cast<int>(parallel.size()));
            parallel.push_back(x.shape[d]);
          }
        }
        assumptions.insert("argmax and argmin: ties go to the lowest index");
        return whole(n.fn == Fn::Max ? "argmax" : "argmin", n.dtype, {{&x, factor}}, parallel, result, n.shape);
      }
      case Op::Result: return compute_result(id, n);
      default: break;
    }
    throw Overflow(fmt::format("operator {} is not understood by the prover", ir::name(n.op)));
  } catch (const Overflow& e) {
    if (std::string(e.what()) == "time limit") throw;
    undecided[id] = {"missing-lemma", e.what()};
    return fresh(n.shape, n.dtype, fmt::format("?{}", id));
  }
}

Poly Evaluator::literal(const ir::Literal& lit, DType dtype) {
  if (lit.kind != ir::Literal::Kind::Float) {
    if (dtype == DType::Bool) return Algebra::constant(lit.i != 0 ? 1 : 0);
    return Algebra::constant(Rat(lit.i));
  }
  if (std::isnan(lit.d)) {
    Node n;
    n.kind = Kind::Lit;
    n.name = "nan";
    Term t;
    t.f.push_back(Factor{algebra.named_node("nan", std::move(n)), 1, {}});
    return {t};
  }
  if (std::isinf(lit.d)) return {Term{lit.d > 0 ? 1 : -1, {Factor{algebra.inf(), 1, {}}}}};
  if (dtype == DType::Bool) return Algebra::constant(lit.d != 0 ? 1 : 0);
  if (ir::is_int(dtype)) return Algebra::constant(Rat(static_cast<int64_t>(std::trunc(lit.d))));
  if (auto form = closed_form(lit.d, lit.format)) {
    if (!form->exact) {
      assumptions.insert(
          fmt::format("literal {} is read as {}{}/{}{}", lit.d, form->root ? "sqrt(" : "", form->p, form->q, form->root ? ")" : ""));
    }
    const Rat r(form->p < 0 ? -form->p : form->p, form->q);
    Poly p = form->root ? algebra.pow(Algebra::constant(r), Rat(1, 2), {}) : Algebra::constant(r);
    return algebra.scale(std::move(p), form->p < 0 ? -1 : 1);
  }
  // As it is: m * 2^e where that is short enough for exact arithmetic, else a symbol of its own.
  Term t{lit.d < 0 ? -1 : 1, {Factor{algebra.literal_real(std::abs(lit.d)), 1, {}}}};
  return {t};
}

Value Evaluator::dense(const ir::Node& n) {
  const std::vector<ir::Literal>& v = *n.dense;
  if (v.empty()) return Value{n.shape, {}};
  if (v.size() == 1) return views.uniform(n.shape, literal(v[0], n.dtype));
  bool same = true;
  for (const ir::Literal& l : v) same &= l == v[0];
  if (same) return views.uniform(n.shape, literal(v[0], n.dtype));
  // Affine integer tables are index forms.
  auto as_int = [&](const ir::Literal& l, int64_t& out) {
    if (l.kind != ir::Literal::Kind::Float) {
      out = l.i;
      return true;
    }
    if (l.d != std::floor(l.d) || std::abs(l.d) > 1e15) return false;
    out = static_cast<int64_t>(l.d);
    return true;
  };
  std::vector<int64_t> stride(n.shape.size(), 1);
  for (size_t d = n.shape.size(); d-- > 1;) stride[d - 1] = stride[d] * n.shape[d];
  Row row(n.shape.size() + 1, 0);
  int64_t base = 0;
  bool affine = as_int(v[0], base);
  row.back() = base;
  for (size_t d = 0; affine && d < n.shape.size(); ++d) {
    int64_t x = 0;
    if (n.shape[d] > 1) {
      affine = as_int(v[stride[d]], x);
      row[d] = x - base;
    }
  }
  for (size_t i = 0; affine && i < v.size(); ++i) {
    int64_t x = 0, y = row.back();
    affine = as_int(v[i], x);
    for (size_t d = 0; d < n.shape.size(); ++d) y += row[d] * (static_cast<int64_t>(i) / stride[d] % n.shape[d]);
    affine &= x == y;
  }
  if (affine) return views.whole(n.shape, algebra.index(row, n.shape));
  if (v.size() <= 64) {
    // Element by element; equal neighbours join.
    Value out{n.shape, {}};
    for (size_t i = 0; i < v.size(); ++i) {
      Cell c;
      for (size_t d = 0; d < n.shape.size(); ++d) c.pos.push_back(static_cast<int64_t>(i) / stride[d] % n.shape[d]);
      c.poly = literal(v[i], n.dtype);
      out.cells.push_back(std::move(c));
    }
    views.join(out);
    if (out.cells.size() <= 4) return out;  // more pieces cost more than they say: a table, whose elements are read where an index is fixed
  }
  std::string key = "dense";
  Node b;
  b.kind = Kind::Base;
  b.dtype = n.dtype;
  b.dims = n.shape;
  b.name = "table";
  b.dense = n.dense;
  b.known.finite = b.known.no_pos_inf = b.known.nonneg = true;
  b.known.nonzero = true;
  b.known.integer = ir::is_int(n.dtype) || n.dtype == DType::Bool;
  b.known.boolean = n.dtype == DType::Bool;
  int64_t lo = kPosInf, hi = kNegInf;
  for (int64_t s : n.shape) key += fmt::format(":{}", s);
  for (const ir::Literal& l : v) {
    const double d = l.kind == ir::Literal::Kind::Float ? l.d : static_cast<double>(l.i);
    key += fmt::format(",{:x}:{:a}", l.i, l.d);
    b.known.finite &= std::isfinite(d);
    b.known.nonneg &= d >= 0;
    b.known.nonzero &= d != 0;
    if (l.kind != ir::Literal::Kind::Float) lo = std::min(lo, l.i), hi = std::max(hi, l.i);
  }
  b.known.no_pos_inf = b.known.finite;
  if (b.known.integer) b.known.lo = lo, b.known.hi = hi;
  return views.of_node(n.shape, algebra.named_node(key, std::move(b)));
}

// Integer results must fit their type for exact arithmetic to be theirs; otherwise the wrapped value is a function of its own.
Poly Evaluator::wrap(const Poly& p, DType dtype, const Ext& ctx) {
  const int bits = ir::int_bits(dtype);
  const auto [lo, hi] = algebra.range(p, ctx);
  if (ir::is_signed_int(dtype)) {
    if (bits == 64 ? lo > kNegInf && hi < kPosInf : lo >= -(int64_t{1} << (bits - 1)) && hi < (int64_t{1} << (bits - 1))) return p;
  } else if (lo >= 0 && (bits == 64 ? hi < kPosInf : hi < (int64_t{1} << bits))) {
    return p;
  }
  // A value of an integer type as it is; a sum or product is none yet.
  if (p.size() == 1 && p[0].coef.is_one() && p[0].f.size() == 1 && p[0].f[0].exp.is_one()) {
    const Node& n = algebra.node(p[0].f[0].node);
    const bool grows =
        n.kind == Kind::Fn && (n.fn == Fn::Abs || n.fn == Fn::Pow || n.fn == Fn::Div || n.fn == Fn::FloorDiv);  // of the least integer
    if (n.kind != Kind::Sum && !grows && !(n.kind == Kind::Red && (n.fn == Fn::Add || n.fn == Fn::Mul)) && n.kind != Kind::Grid &&
        !(n.kind == Kind::Take && n.name.starts_with("partial")))
      return p;
  }
  return algebra.apply(Fn::Convert, {p}, DType::Invalid, dtype, ctx);
}

Value Evaluator::compute_map(const ir::Node& n) {
  std::vector<const Value*> full;
  std::vector<int> where(n.in.size(), -1);
  std::vector<Poly> scalars(n.in.size());
  for (size_t i = 0; i < n.in.size(); ++i) {
    const Value& v = values_[n.in[i]];
    if (v.shape.empty() && !n.shape.empty()) {
      if (v.cells.size() != 1) throw Overflow("scalar in pieces");
      scalars[i] = v.cells[0].poly;
    } else {
      where[i] = static_cast<int>(full.size());
      full.push_back(&v);
    }
  }
  const DType from = problem_.graph[n.in[n.fn == Fn::Select ? 1 : 0]].dtype;
  if (n.fn == Fn::Convert && from != n.dtype && (ir::is_float(from) || ir::is_float(n.dtype)) && n.dtype != DType::Bool) {
    assumptions.insert(fmt::format("cast {} to {} is exact", ir::name(from), ir::name(n.dtype)));
  }
  if (n.fn == Fn::Add && n.in.size() > 2) assumptions.insert("sums may be taken in any order");
  Value out{n.shape, {}};
  if (full.empty() && ir::num_elements(n.shape) == 0) return out;
  const bool ints = ir::is_int(n.dtype) &&
                    (n.fn == Fn::Add || n.fn == Fn::Sub || n.fn == Fn::Mul || n.fn == Fn::Neg || n.fn == Fn::Abs || n.fn == Fn::Pow);
  const bool quotient = ir::is_signed_int(n.dtype) && (n.fn == Fn::Div || n.fn == Fn::FloorDiv);
  if (full.empty()) {
    Poly p = algebra.apply(n.fn, scalars, from, n.dtype, {});
    if (ints || (quotient && algebra.range(scalars[1], {}).first < 0)) p = wrap(p, n.dtype, {});
    out = views.uniform(n.shape, p);
    for (Cell& c : out.cells) c.poly = embed(algebra, c.poly, c.ext);
    return out;
  }
  for (Refined& r : views.refine(full)) {
    std::vector<Poly> args;
    for (size_t i = 0; i < n.in.size(); ++i) args.push_back(where[i] < 0 ? embed(algebra, scalars[i], r.ext) : r.poly[where[i]]);
    std::vector<const Poly*> given;
    for (const Poly& a : args) given.push_back(&a);
    Poly p = memo({1, static_cast<int64_t>(n.fn), static_cast<int64_t>(from), static_cast<int64_t>(n.dtype)}, given, r.ext, 0, [&] {
      Poly q = algebra.apply(n.fn, args, from, n.dtype, r.ext);
      tried(n.fn, !algebra.is_function(q, n.fn));
      if (ints || (quotient && algebra.range(args[1], r.ext).first < 0)) q = wrap(q, n.dtype, r.ext);  // the least integer by -1
      if ((n.fn == Fn::Add || n.fn == Fn::Sub) && ir::is_float(n.dtype)) q = algebra.merge_parts(std::move(q), r.ext);
      if (n.fn == Fn::Add && ir::is_float(n.dtype)) q = algebra.shorten(std::move(q), r.ext);
      return q;
    });
    out.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
  }
  if (out.cells.size() > 1) views.join(out);
  return out;
}

// Overlapping parts are added; a tensor is cut at all their borders.
Value Evaluator::assemble(const ir::Shape& shape, std::vector<Cell> parts) {
  // Each part is cut at the borders of all others: what is in so many pieces is in a wrong order, and no proof comes of it.
  size_t terms = 0;
  for (const Cell& c : parts) terms += c.poly.size();
  if (terms > 1024) throw Overflow("a sum over too many pieces");
  Value out{shape, {}};
  for (int64_t n : shape) {
    if (n == 0) return out;
  }
  // Parts that cover the same positions are added at once.
  Value zero = views.uniform(shape, {});
  if (parts.empty()) return zero;
  std::vector<std::vector<Cell>> groups;
  for (Cell& c : parts) {
    bool placed = false;
    for (auto& g : groups) {
      if (g[0].ext == c.ext && g[0].pos == c.pos) {
        g[0].poly = algebra.add(std::move(g[0].poly), c.poly, c.ext);
        placed = true;
        break;
      }
    }
    if (!placed) groups.push_back({std::move(c)});
  }
  auto volume = [](const Cell& c) {
    int64_t v = 1;
    for (int64_t e : c.ext) v *= e;
    return v;
  };
  const int64_t total = ir::num_elements(shape);
  if (groups.size() == 1 && volume(groups[0][0]) == total) {
    out.cells.push_back(std::move(groups[0][0]));
    return out;
  }
  // Parts that lie apart or cover one another exactly need no cutting at borders.
  {
    std::vector<Cell> acc;
    bool fine = true;
    for (size_t i = 0; i < groups.size() && fine; ++i) {
      const Value part{shape, {groups[i][0]}};
      std::vector<Cell> next, sums;
      int64_t met = 0;
      for (Cell& c : acc) {
        const Value other{shape, {c}};
        int64_t here = 0;
        std::vector<Cell> meets;
        for (Refined& r : views.refine({&other, &part})) {
          Cell m{r.ext, r.pos, algebra.add(r.poly[0], r.poly[1], r.ext)};
          here += volume(m);
          meets.push_back(std::move(m));
        }
        met += here;
        if (here == 0) {
          next.push_back(std::move(c));
        } else if (here == volume(c)) {
          for (Cell& m : meets) sums.push_back(std::move(m));
        } else {
          fine = false;
          break;
        }
      }
      if (!fine) break;
      if (met == 0) {
        next.push_back(groups[i][0]);
      } else if (met == volume(groups[i][0])) {
        for (Cell& m : sums) next.push_back(std::move(m));
      } else {
        fine = false;
      }
      acc = std::move(next);
    }
    int64_t covered = 0;
    for (const Cell& c : acc) covered += volume(c);
    if (fine && covered == total) {
      out.cells = std::move(acc);
      views.join(out);
      return out;
    }
  }
  // General: cut everything at all borders of all parts, dimension by dimension.
  std::vector<std::vector<int64_t>> cuts(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) cuts[d] = {0, shape[d]};
  for (auto& g : groups) {
    const Cell& c = g[0];
    const size_t w = c.ext.size() + 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t lo = c.pos[d * w + w - 1], hi = lo;
      int64_t count = 1;
      for (size_t v = 0; v + 1 < w; ++v) {
        if (c.pos[d * w + v] == 0) continue;
        hi += c.pos[d * w + v] * (c.ext[v] - 1);
        count *= c.ext[v];
      }
      if (count != hi - lo + 1) return assemble_rows(shape, d, c, groups);
      cuts[d].push_back(lo);
      cuts[d].push_back(hi + 1);
    }
  }
  int64_t boxes = 1;
  for (auto& c : cuts) {
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    boxes *= static_cast<int64_t>(c.size()) - 1;
  }
  if (boxes > 4096) throw Overflow("too many pieces");
  std::vector<size_t> at(shape.size(), 0);
  while (true) {
    // The parts that cover this box, cut to it; they must meet variable by variable.
    std::vector<Value> here;
    for (auto& g : groups) {
      std::vector<Cell> cells{g[0]};
      for (size_t d = 0; d < shape.size() && !cells.empty(); ++d) {
        std::vector<Cell> next;
        for (const Cell& c : cells) {
          for (Cell& p : views.clip(c, d, cuts[d][at[d]], cuts[d][at[d] + 1])) next.push_back(std::move(p));
        }
        cells = std::move(next);
      }
      if (!cells.empty()) here.push_back(Value{shape, std::move(cells)});
    }
    if (here.empty()) {
      std::vector<Cell> cells{zero.cells[0]};
      for (size_t d = 0; d < shape.size(); ++d) cells = views.clip(cells[0], d, cuts[d][at[d]], cuts[d][at[d] + 1]);
      out.cells.push_back(std::move(cells[0]));
    } else {
      std::vector<const Value*> refs;
      for (const Value& v : here) refs.push_back(&v);
      for (Refined& r : views.refine(refs)) {
        Poly p;
        for (const Poly& q : r.poly) p = algebra.add(std::move(p), q, r.ext);
        out.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
      }
    }
    size_t d = 0;
    while (d < shape.size() && ++at[d] + 1 == cuts[d].size()) at[d++] = 0;
    if (d == shape.size()) break;
  }
  views.join(out);
  return out;
}

// L-45: a part leaves out positions (a dilated window, blocks of a packed dimension): dimension d is read as rows of as many elements as
// the first step that skips some, where a part is a column or whole rows, and the rows are put together again afterwards.
Value Evaluator::assemble_rows(const ir::Shape& shape, size_t d, const Cell& irregular, const std::vector<std::vector<Cell>>& groups) {
  const size_t w = irregular.ext.size() + 1;
  std::vector<std::pair<int64_t, int64_t>> digits;
  for (size_t v = 0; v + 1 < w; ++v) {
    if (irregular.pos[d * w + v] != 0) digits.emplace_back(irregular.pos[d * w + v], irregular.ext[v]);
  }
  std::sort(digits.begin(), digits.end());
  int64_t step = 1;
  for (const auto& [k, e] : digits) {
    if (k != step) {
      step = k;
      break;
    }
    step *= e;
  }
  if (step <= 1 || step >= shape[d]) throw Overflow("sum over a strided region");
  ir::Shape whole = shape;
  whole[d] = (shape[d] + step - 1) / step * step;  // a last row may be shorter: zeros follow it
  ir::Shape rows = whole;
  rows[d] = whole[d] / step;
  rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(d) + 1, step);
  std::vector<Cell> parts;
  for (const auto& g : groups) {
    for (Cell& c : views.reshape(Value{whole, {g[0]}}, rows).cells) parts.push_back(std::move(c));
  }
  fired(Rule::L45);
  Value out = views.reshape(assemble(rows, std::move(parts)), whole);
  return whole == shape ? out : views.slice(out, ir::Shape(shape.size(), 0), shape, ir::Shape(shape.size(), 1));
}

Value Evaluator::compute_reduce(const Value& x, Fn fn, const std::vector<int64_t>& dims, const ir::Shape& shape) {
  const size_t rank = x.shape.size();
  std::vector<char> reduced(rank, 0);
  for (int64_t d : dims) reduced[d] = 1;
  if (fn == Fn::Add) assumptions.insert("sums may be taken in any order");
  if (x.cells.empty()) {
    if (ir::num_elements(shape) == 0) return Value{shape, {}};
    return views.uniform(shape, algebra.reduce(fn, {}, {0}, 1));
  }
  std::vector<Cell> parts;
  for (const Cell& c : x.cells) {
    const size_t w = c.ext.size() + 1;
    std::vector<size_t> keep, drop;
    for (size_t v = 0; v + 1 < w; ++v) {
      bool is_reduced = false;
      for (size_t d = 0; d < rank; ++d) is_reduced |= reduced[d] && c.pos[d * w + v] != 0;
      (is_reduced ? drop : keep).push_back(v);
    }
    // Kept variables first, then the reduced ones.
    Sub s;
    s.width = static_cast<int>(w);
    s.rows.assign(w - 1, Row(w, 0));
    Ext ext;
    size_t at = 0;
    for (size_t v : keep) s.rows[v][at++] = 1, ext.push_back(c.ext[v]);
    for (size_t v : drop) s.rows[v][at++] = 1, ext.push_back(c.ext[v]);
    const Poly body = algebra.subst(c.poly, s, ext);
    const int bound = static_cast<int>(drop.size());
    Poly p = memo({2, static_cast<int64_t>(fn)}, {&body}, ext, bound, [&] { return algebra.reduce(fn, body, ext, bound); });
    Cell n;
    n.ext.assign(ext.begin(), ext.begin() + static_cast<std::ptrdiff_t>(keep.size()));
    for (size_t d = 0; d < rank; ++d) {
      if (reduced[d]) continue;
      for (size_t v : keep) n.pos.push_back(c.pos[d * w + v]);
      n.pos.push_back(c.pos[d * w + w - 1]);
    }
    n.poly = std::move(p);
    parts.push_back(std::move(n));
  }
  if (parts.size() == 1) return Value{shape, std::move(parts)};
  if (fn == Fn::Add) return assemble(shape, std::move(parts));
  // L-49: those of equal positions are one at once. What is left is sorted into layers, each of which covers the result once (a
  // row of scores, and a column that stands behind them); the layers are cut at each other's borders.
  auto extreme = [&](const std::vector<Poly>& polys, const Ext& ext) {
    const DType t = fn == Fn::And || fn == Fn::Or ? DType::Bool : DType::F32;
    return polys.size() == 1 ? polys[0] : algebra.apply(fn, polys, t, t, ext);
  };
  auto volume = [](const std::vector<Cell>& cells) {
    int64_t sum = 0;
    for (const Cell& c : cells) sum += std::accumulate(c.ext.begin(), c.ext.end(), int64_t{1}, std::multiplies<>());
    return sum;
  };
  std::vector<Cell> done;
  while (!parts.empty()) {
    Cell first = std::move(parts.back());
    parts.pop_back();
    std::vector<Poly> polys{first.poly};
    std::vector<Cell> rest;
    for (Cell& c : parts) {
      if (c.ext == first.ext && c.pos == first.pos) {
        polys.push_back(std::move(c.poly));
      } else {
        rest.push_back(std::move(c));
      }
    }
    first.poly = extreme(polys, first.ext);
    done.push_back(std::move(first));
    parts = std::move(rest);
  }
  const int64_t total = ir::num_elements(shape);
  if (volume(done) != total) {
    std::vector<Value> layers;
    for (Cell& c : done) {
      Value part{shape, {std::move(c)}};
      auto fits = [&](const Value& layer) { return volume(layer.cells) < total && views.refine({&layer, &part}).empty(); };
      const auto at = std::find_if(layers.begin(), layers.end(), fits);
      if (at == layers.end()) {
        layers.push_back(std::move(part));
      } else {
        at->cells.push_back(std::move(part.cells[0]));
      }
    }
    std::vector<const Value*> refs;
    for (const Value& layer : layers) {
      if (volume(layer.cells) != total) throw Overflow("extreme over pieces that do not line up");
      refs.push_back(&layer);
    }
    done.clear();
    fired(Rule::L49);
    for (Refined& r : views.refine(refs)) {
      Poly p = extreme(r.poly, r.ext);
      done.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
    }
  }
  Value out{shape, std::move(done)};
  views.join(out);
  return out;
}

Value Evaluator::compute_contract(const ir::Node& n) {
  // sum over k of the product, both operands spread over [batch, lhs free, rhs free, k].
  const Value &x = values_[n.in[0]], &y = values_[n.in[1]];
  std::vector<int64_t> xd(x.shape.size(), -1), yd(y.shape.size(), -1);
  ir::Shape joint;
  for (size_t i = 0; i < n.a.size(); i += 2) {
    xd[n.a[i]] = yd[n.a[i + 1]] = static_cast<int64_t>(joint.size());
    joint.push_back(x.shape[n.a[i]]);
  }
  std::vector<char> xk(x.shape.size(), 0), yk(y.shape.size(), 0);
  for (size_t i = 0; i < n.b.size(); i += 2) xk[n.b[i]] = yk[n.b[i + 1]] = 1;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (xd[d] < 0 && !xk[d]) xd[d] = static_cast<int64_t>(joint.size()), joint.push_back(x.shape[d]);
  }
  for (size_t d = 0; d < y.shape.size(); ++d) {
    if (yd[d] < 0 && !yk[d]) yd[d] = static_cast<int64_t>(joint.size()), joint.push_back(y.shape[d]);
  }
  const ir::Shape outer = joint;
  std::vector<int64_t> reduced;
  for (size_t i = 0; i < n.b.size(); i += 2) {
    xd[n.b[i]] = yd[n.b[i + 1]] = static_cast<int64_t>(joint.size());
    reduced.push_back(static_cast<int64_t>(joint.size()));
    joint.push_back(x.shape[n.b[i]]);
  }
  auto spread = [&](const Value& v, const std::vector<int64_t>& dims) { return views.spread(v, joint, dims); };
  if (x.cells.empty() || y.cells.empty() || ir::num_elements(joint) == 0) {
    if (ir::num_elements(outer) == 0) return Value{n.shape, {}};
    return views.uniform(n.shape, {});
  }
  const Value xs = spread(x, xd), ys = spread(y, yd);
  Value product{joint, {}};
  for (Refined& r : views.refine({&xs, &ys})) {
    Poly p = memo({3}, {&r.poly[0], &r.poly[1]}, r.ext, 0, [&] { return algebra.product(r.poly[0], r.poly[1], r.ext); });
    product.cells.push_back(Cell{std::move(r.ext), std::move(r.pos), std::move(p)});
  }
  Value out = reduced.empty() ? std::move(product) : compute_reduce(product, Fn::Add, reduced, outer);
  out.shape = n.shape;
  if (ir::is_int(n.dtype)) {
    for (Cell& c : out.cells) c.poly = wrap(c.poly, n.dtype, c.ext);
  }
  return out;
}

}  // namespace shardproof::prove
