// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Claims of literals, random draws and operators on whole dimensions (sorts, scans, overwriting scatters, kernels).
#include <algorithm>
#include <bit>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check/verify.h"

namespace shardproof::check {

using ir::DType;
using ir::Fn;
using ir::NodeId;
using ir::Op;

namespace {

struct Form {
  int64_t p = 0, q = 1;
  bool root = false;
  std::pair<__int128, __int128> square() const {
    return root ? std::pair<__int128, __int128>{p, q}
                : std::pair<__int128, __int128>{static_cast<__int128>(p) * p, static_cast<__int128>(q) * q};
  }
};

long double last_place(const ir::Literal& l) {
  int exponent = 0;
  std::frexp(l.d, &exponent);
  return std::ldexp(1.0L, exponent - (l.format == DType::F32 ? 24 : l.format == DType::BF16 ? 8 : l.format == DType::F16 ? 11 : 53));
}

// The fraction with the smallest denominator in [lo, hi], 0 <= lo <= hi, by continued fractions.
std::optional<Form> simplest(long double lo, long double hi, long double most, int depth = 0) {
  const long double whole = std::floor(lo), limit = std::ldexp(1.0L, 60);
  if (depth > 60 || !(whole < limit)) return std::nullopt;
  const auto n = static_cast<int64_t>(whole);
  if (whole == lo) return Form{n, 1, false};
  if (hi >= whole + 1) return Form{n + 1, 1, false};
  const std::optional<Form> rest = simplest(1 / (hi - whole), 1 / (lo - whole), most, depth + 1);  // q/p - n
  if (!rest || static_cast<long double>(rest->p) > most ||
      static_cast<long double>(n) * static_cast<long double>(rest->p) + static_cast<long double>(rest->q) > limit)
    return std::nullopt;
  return Form{n * rest->p + rest->q, rest->p, false};
}

// p/q or sqrt(p/q) as a product states it: a fraction times at most one root of an integer.
std::optional<Form> form_of(const Terms& terms, const Product& t) {
  __int128 p = std::abs(t.num), q = t.den;
  if (t.f.empty()) return Form{static_cast<int64_t>(p), static_cast<int64_t>(q), false};
  if (t.f.size() != 1 || t.f[0].num != 1 || t.f[0].den != 1) return std::nullopt;
  const TermNode& n = terms.node(t.f[0].node);
  if (n.kind != TermKind::Lit || !n.name.starts_with("sqrt:")) return std::nullopt;
  const int64_t inside = std::strtoll(n.name.c_str() + 5, nullptr, 10);
  if (inside <= 0 || p > (1 << 30) || q > (1 << 30) || inside > (int64_t{1} << 40)) return std::nullopt;
  p = p * p * inside;
  q = q * q;
  __int128 a = p, b = q;
  while (b != 0) std::swap(a %= b, b);
  p /= a, q /= a;
  if (p > INT64_MAX || q > INT64_MAX) return std::nullopt;
  return Form{static_cast<int64_t>(p), static_cast<int64_t>(q), true};
}

}  // namespace

bool literal_may_be(const ir::Literal& l, int64_t p, int64_t q, bool root) {
  if (l.kind != ir::Literal::Kind::Float || !std::isfinite(l.d) || l.d == 0 || q <= 0) return false;
  const long double ulp = last_place(l);
  if (!(static_cast<long double>(q) * static_cast<long double>(q) * ulp < 0.5L)) return false;
  long double v = static_cast<long double>(std::abs(p)) / static_cast<long double>(q);
  if (root) v = std::sqrt(v);
  return std::fabs(v - std::fabs(static_cast<long double>(l.d))) <= ulp && (p < 0) == (l.d < 0);
}

// A literal stands for itself, or for the only short p/q or sqrt(p/q) within its last place (docs/manifest.md, section 4).
std::string Verifier::reading(const ir::Literal& l, const Number& value, const Product* t, bool zero, ir::DType type) {
  const Number own = literal_value(l, type);
  const bool is_exact = value.e == 0 && own.e == 0 && same(own, value);
  const std::pair<uint64_t, int> key{std::bit_cast<uint64_t>(l.d), static_cast<int>(l.format)};
  auto settle_on = [&](const std::string& what) -> std::string {
    if (l.kind != ir::Literal::Kind::Float) return "";
    const auto [it, fresh] = readings_.try_emplace(key, what);
    if (!fresh && it->second != what) return fmt::format("literal {} is read as {} and as {}", l.d, it->second, what);
    return "";
  };
  if (is_exact) return settle_on("itself");
  if (l.kind != ir::Literal::Kind::Float || zero || !t || !ir::is_float(type))
    return fmt::format("the literal is {}, the certificate says {}", shown(own), shown(value));
  const std::optional<Form> form = form_of(terms, *t);
  if (!form || !literal_may_be(l, t->num < 0 ? -form->p : form->p, form->q, form->root)) {
    return fmt::format("the literal is {}, the certificate says {}, which is not a closed form within its last place", l.d, shown(value));
  }
  // No other form may fit.
  const long double x = std::fabs(static_cast<long double>(l.d)), ulp = last_place(l);
  const long double most = std::min(std::sqrt(0.5L / ulp), 1e7L);  // longer denominators would fit any number
  std::optional<Form> fraction = simplest(x - ulp, x + ulp, most),
                      root = simplest((x - ulp) * (x - ulp), (x + ulp) * (x + ulp), std::min(most, 65536.0L));
  if (root) root->root = true;
  for (const std::optional<Form>& other : {fraction, root}) {
    if (!other) continue;
    const auto [ap, aq] = form->square();
    const auto [bp, bq] = other->square();
    if (std::max({ap, aq, bp, bq}) >> 62 == 0 && ap * bq != bp * aq) {
      return fmt::format("literal {} has two closed forms, {}{}/{} is another: it must be read as it is", l.d,
                         other->root ? "root of " : "", other->p, other->q);
    }
  }
  const std::string what =
      fmt::format("{}{}{}/{}{}", t->num < 0 ? "-" : "", form->root ? "sqrt(" : "", form->p, form->q, form->root ? ")" : "");
  assumptions.insert(fmt::format("literal {} is read as {}", l.d, what));
  return settle_on(what);
}

std::string Verifier::literal(NodeId v) {
  const ir::Node& n = p_.graph[v];
  std::vector<Index> where;
  const int64_t elements = ir::num_elements(n.shape);
  if (n.op == Op::Dense && elements <= 4096) {
    for (int64_t e = 0; e < elements; ++e) where.push_back(unlinear(n.shape, e));
  } else {
    where = points.of(v, false);
  }
  std::vector<int64_t> x;
  terms.close_all();
  terms.budget = terms.spent + 10'000'000;
  terms.start(1, Draw::Generic);
  std::vector<uint32_t> top;
  claims.top_terms(v, top);
  for (uint32_t id : top) terms.open(id);
  for (const Index& i : where) {
    const Cell* c = claims.cell(v, i.data(), x);
    if (!c) return fmt::format("claim of {}: no cell has {}", describe(v), text(i));
    terms.uncertain = false;
    const Number value = terms.poly(c->poly, x.data(), x.size());
    if (terms.uncertain) return fmt::format("claim of {}: could not be decided at {}", describe(v), text(i));
    const ir::Literal& l = n.op == Op::Dense ? (*n.dense)[static_cast<size_t>(linear(n.shape, i))] : n.lit;
    ++tested;
    if (std::string wrong = reading(l, value, c->poly.size() == 1 ? &c->poly[0] : nullptr, c->poly.empty(), n.dtype); !wrong.empty()) {
      return fmt::format("claim of {}: at {} {}", describe(v), text(i), wrong);
    }
  }
  return "";
}

// A draw of a rank is read from a sequential draw of the same distribution, each element at most once.
std::string Verifier::draw(NodeId v) {
  const ir::Node& n = p_.graph[v];
  auto wrong = [&](const std::string& what) { return fmt::format("claim of {}: {}", describe(v), what); };
  const int rank = v < p_.side.size() ? p_.side[v] : link::kShared;
  if (rank < 0) return wrong("a sequential draw is an unknown of its own");
  NodeId source = ir::kNoNode;
  std::vector<Cell> reads(claims.claim(v).cells.size());
  std::vector<Located> located(reads.size());
  for (size_t k = 0; k < reads.size(); ++k) {
    const Cell& c = claims.claim(v).cells[k];
    const Factor* f = only_read(c.poly);
    const NodeId from = f && terms.node(f->node).kind == TermKind::Base ? terms.node(f->node).origin : ir::kNoNode;
    if (from >= p_.side.size() || p_.graph[from].op != Op::Random || p_.side[from] != link::kSequential)
      return wrong("a draw is a piece of a sequential draw");
    const ir::Node& s = p_.graph[from];
    if (source != ir::kNoNode && source != from) return wrong("it mixes two sequential draws");
    source = from;
    if (s.name != n.name || !(s.lit == n.lit) || s.dtype != n.dtype)
      return wrong(fmt::format("the sequential draw {} has another distribution", s.label));
    reads[k].ext = c.ext;
    located[k].cell = &reads[k];
    if (std::string why = locate(c.ext, f->map, s.shape, located[k]); !why.empty()) return wrong("it reads the sequential draw: " + why);
  }
  if (std::string why = partition(located, p_.graph[source].shape, false); !why.empty())
    return wrong("elements of the sequential draw are used twice: " + why);
  std::vector<NodeId>& takers = draws_[{rank, source}];
  takers.push_back(v);
  assumptions.insert(fmt::format("random draw {} on rank {} {} the sequential draw {}", n.label, rank,
                                 takers.size() == 1 ? "is its piece of" : "repeats (recomputation)", p_.graph[source].label));
  return "";
}

std::optional<Verifier::Whole> Verifier::whole_of(NodeId v) {
  const ir::Node& n = p_.graph[v];
  const ir::Graph& g = p_.graph;
  Whole w;
  w.shape = n.shape;
  int next_inner = 0;
  auto inner = [&] { return -1 - next_inner++; };
  // All dimensions but `dim` are parallel.
  auto along = [&](NodeId in, int64_t dim) {
    WholeArg a{in, g[in].shape, {}};
    int next = 0;
    for (size_t d = 0; d < a.shape.size(); ++d) a.role.push_back(static_cast<int64_t>(d) == dim ? -1 : next++);
    return a;
  };
  if (n.op == Op::ArgReduce) {
    w.name = n.fn == Fn::Max ? "argmax" : "argmin";
    w.args.push_back(along(n.in[0], n.a[0]));
    for (size_t d = 0; d < n.shape.size(); ++d) w.role.push_back(static_cast<int>(d));
    return w;
  }
  if (n.op == Op::Scan) {
    w.name = fmt::format("scan:{}:{}:{}", ir::name(n.fn), n.a[1], n.a[2]);
    w.args.push_back(along(n.in[0], n.a[0]));
    w.role = w.args[0].role;
    return w;
  }
  if (n.op == Op::Scatter) {
    w.name = fmt::format("scatter:{}:{}:{}:{}", n.set ? "set" : ir::name(n.fn), static_cast<int>(n.mode), fmt::join(n.a, ","),
                         fmt::join(n.b, ","));
    WholeArg data{n.in[0], g[n.in[0]].shape, {}}, updates{n.in[1], g[n.in[1]].shape, {}};
    for (size_t d = 0; d < updates.shape.size(); ++d) updates.role.push_back(inner());
    int next = 0;
    for (size_t d = 0; d < data.shape.size(); ++d) {
      data.role.push_back(n.a[d] >= 0 ? next++ : inner());
      if (n.a[d] < 0) continue;
      updates.role[static_cast<size_t>(n.a[d])] = data.role[d];
      if (updates.shape[static_cast<size_t>(n.a[d])] != data.shape[d]) return std::nullopt;
    }
    w.role = data.role;
    w.args = {data, updates};
    for (size_t k = 2; k < n.in.size(); ++k) {
      w.args.push_back({n.in[k], g[n.in[k]].shape, {}});
      for (const int64_t b : n.b) w.args.back().role.push_back(updates.role[static_cast<size_t>(b)]);  // read where its update is
    }
    return w;
  }
  if (n.op != Op::Result) return std::nullopt;
  const ir::Node& t = g[n.in[0]];
  if (t.op == Op::Sort) {
    if (n.a[0] > 9) return std::nullopt;  // names end in one digit
    w.name = fmt::format("sort:{}:{}", t.a[1], n.a[0]);
    for (NodeId in : t.in) w.args.push_back(along(in, t.a[0]));
    if (n.a[0] == 0) w.args.resize(1);  // the sorted keys do not depend on what is carried along
    w.role = w.args[0].role;
    if (!t.a[2]) assumptions.insert("sorting and top-k: ties go to the lower index");
    return w;
  }
  if (t.op != Op::Opaque) return std::nullopt;
  const size_t bar = t.attrs.find("|factors:");
  w.name = fmt::format("kernel {}({})#{}", t.name, t.attrs.substr(0, std::min(bar, t.attrs.size())), n.a[0]);
  std::vector<ir::Shape> operands, results;
  for (NodeId in : t.in) operands.push_back(g[in].shape);
  for (const auto& [type, shape] : t.tuple) results.push_back(shape);
  std::optional<lower::KernelContract> contract;
  if (bar != std::string::npos) {
    if (auto parsed = lower::parse_kernel_contract(t.attrs)) {
      auto resolved = lower::resolve_extents(*parsed, operands, results);
      if (resolved && resolved->operands.size() == operands.size()) contract = *resolved;
    }
  }
  if (!contract) {
    for (NodeId in : t.in) {
      w.args.push_back({in, g[in].shape, {}});
      for (size_t d = 0; d < g[in].shape.size(); ++d) w.args.back().role.push_back(inner());
    }
    for (size_t d = 0; d < n.shape.size(); ++d) w.role.push_back(inner());
    return w;
  }
  assumptions.insert(fmt::format("kernel {} obeys its contract {}", t.name, t.attrs.substr(bar + 10)));
  std::vector<int> number;
  int next = 0;
  for (const auto& f : contract->factors) number.push_back(f.kind == lower::KernelContract::Factor::Kind::Parallel ? next++ : inner());
  auto split = [&](const std::vector<lower::KernelContract::Dim>& dims, ir::Shape& shape, std::vector<int>& role) {
    shape.clear();
    for (const auto& dim : dims) {
      for (uint32_t f : dim) shape.push_back(contract->factors[f].extent), role.push_back(number[f]);
      if (dim.empty()) shape.push_back(1), role.push_back(inner());
    }
  };
  for (size_t k = 0; k < t.in.size(); ++k) {
    WholeArg a{t.in[k], {}, {}};
    split(contract->operands[k], a.shape, a.role);
    w.args.push_back(std::move(a));
  }
  split(contract->results[static_cast<size_t>(n.a[0])], w.shape, w.role);
  return w;
}

// The claim must be that operator, as a function of its operands: the same name, and arguments that equal the operands.
std::string Verifier::whole(NodeId v, const Whole& op) {
  const ir::Node& n = p_.graph[v];
  auto wrong = [&](const std::string& what) { return fmt::format("claim of {}: {}", describe(v), what); };
  if (op.name.starts_with("arg")) assumptions.insert("argmax and argmin: ties go to the lowest index");
  std::vector<Index> where = points.of(v, false);
  if (where.size() > 64) where.resize(64);
  // For every point: the term, its own parallel indices, the parallel coordinates of the result.
  struct Place {
    const TermNode* term;
    std::vector<int64_t> own, parallel;
    Number factor;
  };
  // What is written into zeros keeps a positive factor of the updates.
  const bool scales = n.op == Op::Scatter && ir::is_float(n.dtype) &&
                      (op.name.starts_with("scatter:set:") || op.name.starts_with("scatter:max:") || op.name.starts_with("scatter:min:"));
  std::vector<Place> places;
  std::vector<int64_t> x;
  size_t parallel = 0;
  for (const WholeArg& a : op.args)
    for (int r : a.role) parallel = std::max(parallel, static_cast<size_t>(std::max(r, -1) + 1));
  for (int r : op.role) parallel = std::max(parallel, static_cast<size_t>(std::max(r, -1) + 1));
  for (const Index& i : where) {
    const Cell* c = claims.cell(v, i.data(), x);
    const Factor* read = c ? only_read(c->poly, scales) : nullptr;
    if (!read) return wrong("it is not claimed to be one operator");
    const TermNode& f = terms.node(read->node);
    if (f.kind != TermKind::Whole) return wrong("it is not claimed to be an operator");
    if (f.args.size() != op.args.size()) return wrong("another number of operands");
    // An inner dimension may be written in digits, the fastest first; the name says which, by the order in which inner dimensions occur.
    std::string layout;
    {
      std::vector<int> order;
      std::vector<size_t> digits;
      for (size_t a = 0; a < op.args.size(); ++a) {
        size_t at = 0;
        for (size_t d = 0; d < op.args[a].shape.size(); ++d) {
          if (op.args[a].role[d] >= 0) continue;
          int64_t product = 1;
          size_t count = 0;
          while (at < f.inner[a].size() && (count == 0 || product < op.args[a].shape[d])) {
            if (f.inner[a][at] < 1 || f.inner[a][at] > op.args[a].shape[d])
              return wrong(fmt::format("operand {} has other inner dimensions", a));
            product *= f.inner[a][at++], ++count;
          }
          if (count == 0 || product != op.args[a].shape[d]) return wrong(fmt::format("operand {} has other inner dimensions", a));
          const auto it = std::find(order.begin(), order.end(), op.args[a].role[d]);
          if (it == order.end()) {
            order.push_back(op.args[a].role[d]);
            digits.push_back(count);
          } else if (digits[static_cast<size_t>(it - order.begin())] != count) {
            return wrong(fmt::format("operand {} has other digits than those before", a));
          }
        }
        if (at != f.inner[a].size()) return wrong(fmt::format("operand {} has other inner dimensions", a));
      }
      for (size_t k = 0; k < digits.size(); ++k)
        if (digits[k] > 1) layout += fmt::format(" digits {}:{}", k, digits[k]);
    }
    if (f.name != op.name + layout || f.dtype != n.dtype)
      return wrong(fmt::format("the operator is {}{}, the certificate says {}", op.name, layout, f.name));
    const long double ratio = static_cast<long double>(c->poly[0].num) / c->poly[0].den;
    const Number factor{ratio, ratio == 1 ? 0 : ratio};
    if (ratio != 1 && !f.args[0].empty()) return wrong("a multiple of what is not written into zeros");
    Place place{&f, {}, std::vector<int64_t>(parallel, 0), factor};
    // The result's coordinates in factors.
    const Index at = unlinear(op.shape, linear(n.shape, i));
    std::vector<int64_t> inner, inner_extents;
    for (size_t d = 0; d < at.size(); ++d) {
      if (op.role[d] >= 0) {
        place.parallel[static_cast<size_t>(op.role[d])] = at[d];
      } else {
        inner.push_back(at[d]);
        inner_extents.push_back(op.shape[d]);
      }
    }
    if (f.results != inner.size()) return wrong("a result of another form");
    rows_at(read->map, x, place.own);
    if (!within(f, place.own.data())) return wrong(fmt::format("at {} it reads outside of the term", text(i)));
    const auto own = static_cast<std::ptrdiff_t>(f.dims.size() - f.results);
    if (!std::equal(inner.begin(), inner.end(), place.own.begin() + own) ||
        !std::equal(inner_extents.begin(), inner_extents.end(), f.dims.begin() + own))
      return wrong(fmt::format("at {} it is another element of the result", text(i)));
    place.own.resize(static_cast<size_t>(own));
    places.push_back(std::move(place));
  }
  for (size_t a = 0; a < op.args.size(); ++a) {
    const WholeArg& arg = op.args[a];
    const ir::Shape& s = p_.graph[arg.input].shape;
    if (ir::num_elements(s) == 0) continue;
    std::vector<std::pair<size_t, std::vector<int64_t>>> at;  // place, inner coordinates
    std::vector<int64_t> extents;
    for (size_t d = 0; d < arg.shape.size(); ++d)
      if (arg.role[d] < 0) extents.push_back(arg.shape[d]);
    // Corners of the operand's cells, and random places.
    std::vector<Index> corners = points.of(arg.input, false);
    for (size_t k = 0; k < places.size(); ++k) {
      for (int round = 0; round < 6; ++round) {
        std::vector<int64_t> u;
        for (int64_t e : extents) u.push_back(round == 0 ? 0 : round == 1 ? e - 1 : points.below(e));
        at.emplace_back(k, std::move(u));
        if (extents.empty()) break;
      }
      for (size_t c = 0; c < std::min<size_t>(corners.size(), 4); ++c) {
        const Index j = unlinear(arg.shape, linear(s, corners[(k * 4 + c) % corners.size()]));
        std::vector<int64_t> u;
        for (size_t d = 0; d < j.size(); ++d)
          if (arg.role[d] < 0) u.push_back(j[d]);
        at.emplace_back(k, std::move(u));
      }
    }
    std::vector<int64_t> y;
    Equation q;
    q.count = at.size();
    q.relation = relation(v);
    q.left = [&](size_t k) {
      const Place& place = places[at[k].first];
      size_t inner = 0;
      Index j(arg.shape.size());
      for (size_t d = 0; d < j.size(); ++d)
        j[d] = arg.role[d] < 0 ? at[k].second[inner++] : place.parallel[static_cast<size_t>(arg.role[d])];
      return claims.value(arg.input, unlinear(s, linear(arg.shape, j)).data());
    };
    q.right = [&](size_t k) {
      const Place& place = places[at[k].first];
      y = place.own;
      const std::vector<int64_t>& digits = place.term->inner[a];
      const size_t first = y.size();
      y.resize(first + digits.size());
      size_t g = 0;
      for (size_t d = 0; d < extents.size(); ++d) {
        int64_t rest = at[k].second[d], left = extents[d];
        do {
          y[first + g] = rest % digits[g];
          rest /= digits[g];
          left /= digits[g++];
        } while (left > 1);
      }
      const Number r = terms.poly(place.term->args[a], y.data(), y.size());
      return a == 1 ? mul(r, place.factor) : r;
    };
    const Settled r = settle(terms, q, {});
    tested += r.tested;
    if (!r.equal) return differs(v, fmt::format("{}, operand {},", text(where[at[r.point].first]), a), r, "the operand");
  }
  return "";
}

}  // namespace shardproof::check
