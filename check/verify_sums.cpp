// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Claims of long sums and extremes, compared summand by summand: the claim's sums are unrolled beside the operator's. If the claimed sums,
// taken as one, have as many summands as the operator's range (others being summed inside), equality of the summands in some order of the
// variables is enough; it is tested at the ends and at random places.
#include <algorithm>
#include <numeric>

#include "check/verify.h"

namespace shardproof::check {

using ir::Fn;
using ir::NodeId;
using ir::Op;

namespace {

// A product of the claim with sums unrolled. Each layer is a poly over the cell's variables and all bound ones; a bracket that is 0 hides
// what it multiplies in its own layer, and the layers of the sums that stand there. Their values are multiplied.
struct Layer {
  Poly poly;
  size_t parent = 0, sums = 0;  // how many unrolled sums stand in it
};
struct Bounds {
  std::vector<int64_t> row;  // an index of an unrolled sum,
  int64_t extent = 0;        // which must lie in [0, extent)
};
struct Flat {
  std::vector<Layer> layers;
  std::vector<Bounds> inside;
  std::vector<std::pair<int64_t, int64_t>> bound;  // extent, low of each bound variable
  size_t depth = 0;
};
// In which way the bound variables of one form of a product walk the range.
struct Way {
  size_t flat = 0;
  std::vector<size_t> order;  // variables, first slowest
  std::vector<size_t> summed;
};
struct Plan {
  std::vector<Flat> flats;
  std::vector<Way> ways;
  size_t way = 0;
};

// The rows with `more` variables behind the others.
std::vector<int64_t> widened(const std::vector<int64_t>& rows, size_t width, size_t more) {
  std::vector<int64_t> out;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (k % (width + 1) == width) out.resize(out.size() + more, 0);
    out.push_back(rows[k]);
  }
  return out;
}

constexpr size_t kVariables = 8, kWays = 128, kPlans = 48, kTries = 4;

// The sums among the factors of a layer that `takes` are unrolled, and those inside of them if `deep`. False: too many.
template <typename Takes>
bool unroll(const Terms& terms, const Product& t, size_t own, Takes takes, bool deep, std::vector<Flat>& out) {
  struct Task {
    Flat flat;
    size_t layer = 0;  // up to which nothing is left to unroll
  };
  std::vector<Task> todo(1);
  todo[0].flat.layers.push_back({{t}, 0});
  while (!todo.empty()) {
    Task task = std::move(todo.back());
    todo.pop_back();
    Flat& flat = task.flat;
    const size_t width = own + flat.bound.size();
    Product* layer = nullptr;
    size_t at = 0;
    for (; task.layer < flat.layers.size() && !layer; task.layer += layer == nullptr) {
      if (flat.layers[task.layer].poly.size() != 1 || (task.layer > 0 && !deep)) continue;
      Product& p = flat.layers[task.layer].poly[0];
      for (at = 0; at < p.f.size() && !takes(p.f[at], task.layer); ++at) {
      }
      if (at < p.f.size()) layer = &p;
    }
    if (!layer) {
      out.push_back(std::move(flat));
      if (out.size() + todo.size() > kPlans) return false;
      continue;
    }
    const Factor read = layer->f[at];
    layer->f.erase(layer->f.begin() + static_cast<std::ptrdiff_t>(at));
    const TermNode& r = terms.node(read.node);
    const size_t more = r.box.size() / 2, dims = r.dims.size(), wide = width + more;
    if (flat.bound.size() + more > kVariables) return false;
    for (Layer& l : flat.layers) {  // room for the new variables
      for (Product& p : l.poly)
        for (Factor& f : p.f) f.map = widened(f.map, width, more);
    }
    for (Bounds& b : flat.inside) b.row = widened(b.row, width, more);
    // The sum's indices and bound variables, over all variables.
    std::vector<int64_t> place = widened(read.map, width, more);
    for (size_t d = 0; d < dims; ++d) {
      if (r.dims[d] == kUnbounded) continue;
      const auto row = place.begin() + static_cast<std::ptrdiff_t>(d * (wide + 1));
      flat.inside.push_back({{row, row + static_cast<std::ptrdiff_t>(wide + 1)}, r.dims[d]});
    }
    for (size_t b = 0; b < more; ++b) {
      flat.bound.emplace_back(r.box[2 * b + 1] - r.box[2 * b], r.box[2 * b]);
      if (flat.bound.back().first < 1) return false;
      place.resize(place.size() + wide + 1, 0);
      place[(dims + b) * (wide + 1) + width + b] = 1;
    }
    Poly body = r.args[0];
    for (Product& p : body) {
      for (Factor& f : p.f) {
        std::vector<int64_t> rows;
        if (!compose(f.map, dims + more, place, wide + 1, rows)) return false;
        f.map = std::move(rows);
      }
    }
    const size_t parent = task.layer;
    ++flat.layers[parent].sums;
    flat.depth = std::max<size_t>(flat.depth, parent == 0 ? 1 : 2);
    const bool apart = deep && body.size() > 1 && std::any_of(body.begin(), body.end(), [&](const Product& p) {
                         return std::any_of(p.f.begin(), p.f.end(), [&](const Factor& f) { return takes(f, 1); });
                       });
    if (!apart) {
      flat.layers.push_back({std::move(body), parent});
      todo.push_back(std::move(task));
      continue;
    }
    for (const Product& p : body) {  // their sums differ
      todo.push_back(task);
      todo.back().flat.layers.push_back({{p}, parent});
    }
  }
  return true;
}

// Subsets of the variables with as many places as the range: all of them first.
void find_ways(const std::vector<int64_t>& extents, Plan& plan, size_t flat) {
  const std::vector<std::pair<int64_t, int64_t>>& bound = plan.flats[flat].bound;
  const int64_t range = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  Way way;
  way.flat = flat;
  for (unsigned mask = (1u << bound.size()) - 1; mask != ~0u; --mask) {
    int64_t places = 1, rest = 1;
    way.order.clear(), way.summed.clear();
    for (size_t b = 0; b < bound.size(); ++b) {
      (mask >> b & 1 ? places : rest) = std::min<int64_t>((mask >> b & 1 ? places : rest) * bound[b].first, int64_t{1} << 40);
      (mask >> b & 1 ? way.order : way.summed).push_back(b);
    }
    if (places != range || rest > 20'000) continue;
    do {
      plan.ways.push_back(way);
    } while (plan.ways.size() < kWays && std::next_permutation(way.order.begin(), way.order.end()));
  }
}

// The bound variables at a place of the range, behind the cell's; those that are summed at their lows.
void walk(const Plan& plan, const std::vector<int64_t>& extents, const Index& place, Index& x) {
  const Way& way = plan.ways[plan.way];
  const auto& bound = plan.flats[way.flat].bound;
  const size_t own = x.size();
  int64_t at = linear(extents, place);
  for (const auto& [extent, low] : bound) x.push_back(low);
  for (size_t b = way.order.size(); b-- > 0;) {
    const auto& [extent, low] = bound[way.order[b]];
    x[own + way.order[b]] = low + at % extent;
    at /= extent;
  }
}

bool in_range(const Flat& flat, const Index& x) {
  return std::all_of(flat.inside.begin(), flat.inside.end(), [&](const Bounds& b) {
    const int64_t i = row_at(b.row.data(), x.data(), x.size());
    return i >= 0 && i < b.extent;
  });
}

// One summand: the product of the layers.
Number product_of(Terms& terms, const Flat& flat, const Index& x, bool& finite) {
  if (!in_range(flat, x)) return undefined();
  Number product = exact(1);
  std::vector<char> hidden(flat.layers.size(), 0);
  for (size_t k = 0; k < flat.layers.size(); ++k) {
    const Layer& layer = flat.layers[k];
    if (k > 0 && hidden[layer.parent]) {
      hidden[k] = 1;
      continue;
    }
    const Number v = terms.poly(layer.poly, x.data(), x.size());
    hidden[k] = layer.poly.size() == 1 && terms.masked(layer.poly[0], x.data(), x.size());
    // Infinity times a sum is not the sum of infinity times, nor is a product of sums the sum of the products.
    if (layer.sums > 0 || (k > 0 && flat.layers[layer.parent].sums > 1)) finite &= !std::isinf(v.v);
    product = k == 0 ? v : mul(product, v);
  }
  return product;
}

}  // namespace

bool Verifier::summands(NodeId v, const std::vector<int64_t>& extents, const std::vector<Index>& where, bool deep) {
  if (ir::is_int(p_.graph[v].dtype) || extents.size() > 4) return false;
  std::vector<int64_t> x;
  for (const Located& l : claims.cells(v)) {
    std::vector<Index> mine;
    for (const Index& i : where) {
      if (l.read(i.data(), x)) mine.push_back(i);
    }
    if (mine.empty() || !summands_in(v, extents, l, mine, deep)) return false;
  }
  return true;
}

bool Verifier::summands_in(NodeId v, const std::vector<int64_t>& extents, const Located& l, const std::vector<Index>& where, bool deep) {
  terms.close_all();
  const ir::Node& n = p_.graph[v];
  const bool sum = n.op != Op::Reduce || n.fn == Fn::Add;
  const size_t own = l.cell->ext.size();
  auto is_sum = [&](const Factor& f) {
    const TermNode& r = terms.node(f.node);
    return plain(f) && r.kind == TermKind::Red && (sum ? r.fn == Fn::Add : r.fn == n.fn);
  };
  auto among = [&](const std::vector<uint32_t>& kernels, uint32_t id) {
    return std::find(kernels.begin(), kernels.end(), terms.kernel(id)) != kernels.end();
  };
  // The sums in each product of the claim that may be unrolled.
  std::vector<uint32_t> inputs, inner;
  for (NodeId in : n.in) claims.top_terms(in, inputs);
  std::vector<std::vector<size_t>> sums;
  bool any = false;
  for (const Product& t : l.cell->poly) {
    sums.emplace_back();
    for (size_t k = 0; k < t.f.size(); ++k) {
      if (is_sum(t.f[k]) && !among(inputs, t.f[k].node)) {
        sums.back().push_back(k);
        terms.inside(t.f[k].node, inner);
      } else {
        inner.push_back(terms.kernel(t.f[k].node));
      }
    }
    any |= !sums.back().empty();
    if (!sum && (sums.back().size() != 1 || t.f.size() != 1 || t.num <= 0 || l.cell->poly.size() != 1)) return false;  // c max x = max c x
    if (sums.back().size() > 4) return false;
  }
  if (!any) return false;
  const std::vector<uint32_t> open = terms.align(inputs, inner);
  std::vector<Plan> list;
  for (size_t p = 0; p < sums.size(); ++p) {
    const Product& t = l.cell->poly[p];
    Plan plan;
    for (unsigned chosen = (1u << sums[p].size()) - 1; chosen != ~0u; --chosen) {
      if (chosen == 0 && !sums[p].empty() && !sum) break;
      auto takes = [&](const Factor& f, size_t layer) {
        if (layer > 0) return is_sum(f) && among(open, f.node);  // the operator's side has nothing of the kind
        for (size_t k = 0; k < sums[p].size(); ++k) {
          if ((chosen >> k & 1) && f.node == t.f[sums[p][k]].node) return true;
        }
        return false;
      };
      std::vector<Flat> flats;
      if (!unroll(terms, t, own, takes, deep, flats)) continue;
      if (deep) {  // all of them, each a summand of its own
        for (Flat& flat : flats) {
          Plan one{{std::move(flat)}, {}, 0};
          find_ways(extents, one, 0);
          if (one.ways.empty()) return false;
          list.push_back(std::move(one));
        }
        break;
      }
      plan.flats.push_back(std::move(flats[0]));
      find_ways(extents, plan, plan.flats.size() - 1);
    }
    if (deep) continue;
    if (plan.ways.empty()) return false;
    list.push_back(std::move(plan));
  }
  if (list.empty() || list.size() > kPlans) return false;
  const bool within = std::any_of(list.begin(), list.end(), [](const Plan& p) { return p.flats[0].depth > 1; });
  if (deep && !within) return false;
  // Points: some of the result, each with the ends of the range and random places.
  std::vector<std::pair<Index, Index>> at;
  const size_t most = 40;
  for (size_t k = 0; k < std::min(most, where.size()); ++k) {
    const Index& i = where[where.size() <= most ? k : k * where.size() / most];
    for (int place = 0; place < 5; ++place) {
      Index x(extents.size());
      for (size_t d = 0; d < extents.size(); ++d) {
        x[d] = place == 0 ? 0 : place == 1 ? extents[d] - 1 : points.below(extents[d]);
        if (place == 2 && points.below(2)) x[d] = points.below(2) ? 0 : extents[d] - 1;
      }
      at.emplace_back(i, std::move(x));
    }
  }
  std::vector<int64_t> x;
  bool finite = true;
  Equation q;
  q.count = at.size();
  q.relation = relation(v);
  q.levels = 0;
  q.budget = 4'000'000;
  q.hint = [&](size_t k) { return &at[k].first; };
  q.left = [&](size_t k) {
    ops_.uncertain = false;
    const Number r = ops_.body(v, at[k].first, at[k].second);
    if (ops_.uncertain) terms.uncertain = true;
    return r;
  };
  auto walked = [&](const Plan& plan, size_t k) {
    if (!l.read(at[k].first.data(), x)) return undefined();
    const Way& way = plan.ways[plan.way];
    const Flat& flat = plan.flats[way.flat];
    walk(plan, extents, at[k].second, x);
    Index count(way.summed.size(), 0), ends;
    for (size_t b : way.summed) ends.push_back(flat.bound[b].first);
    Number value;
    bool first = true;
    do {
      for (size_t b = 0; b < ends.size(); ++b) x[own + way.summed[b]] = flat.bound[way.summed[b]].second + count[b];
      const Number pair[2] = {value, product_of(terms, flat, x, finite)};
      value = first ? pair[1] : sum ? add(value, pair[1]) : apply(n.fn, pair, 2, ir::DType::F32, ir::DType::F32, terms.uncertain);
      first = false;
    } while (next(count, ends));
    return value;
  };
  q.right = [&](size_t k) {
    Number total = exact(0);
    for (const Plan& plan : list) total = add(total, walked(plan, k));
    return total;
  };
  Terms::Sum claimed, one, layer;
  q.identical = [&](size_t k) {
    if (!l.read(at[k].first.data(), x) || n.op == Op::Scatter) return false;
    const std::vector<int64_t> vars = x;
    claimed.clear();
    for (const Plan& plan : list) {
      const Way& way = plan.ways[plan.way];
      const Flat& flat = plan.flats[way.flat];
      if (!way.summed.empty()) return false;
      x = vars;
      walk(plan, extents, at[k].second, x);
      if (!in_range(flat, x)) return false;
      one.assign(1, {});
      bool moved = false;  // into a sum, or out of one
      for (const Layer& part : flat.layers) {
        layer.clear();
        terms.formal(part.poly, x.data(), x.size(), layer);
        if (!terms.multiply(one, layer)) return false;
        moved |= part.sums > 1 || (part.sums == 1 && (one.size() != 1 || one[0].factors != 0));
      }
      if (moved && !Terms::all_finite(one) && !Terms::all_free(one)) return false;
      claimed.insert(claimed.end(), one.begin(), one.end());
    }
    reads_.clear();
    trace_.body(v, at[k].first, at[k].second);
    return literally(v, claimed);
  };
  auto holds = [&] {
    finite = true;
    const Settled s = settle(terms, q, open);
    tested += s.tested;
    return s.equal && finite;
  };
  // The ways that fit at one place, for some positive functions.
  const size_t probe = at.size() - 1;
  terms.close_all();
  for (uint32_t id : open) terms.open(id);
  terms.budget = terms.spent + 1'000'000;
  terms.start(1, Draw::Positive);
  const Number left = q.left(probe);
  std::vector<std::vector<Number>> values;
  for (Plan& plan : list) {
    values.emplace_back();
    for (plan.way = 0; plan.way < plan.ways.size(); ++plan.way) values.back().push_back(walked(plan, probe));
  }
  int64_t tries = kTries, visits = 50'000;
  std::function<bool(size_t, Number)> fits = [&](size_t p, Number total) {
    if (p == list.size()) return same(left, total) && tries-- > 0 && holds();
    for (size_t way = 0; way < values[p].size() && tries > 0 && visits > 0; ++way, --visits) {
      list[p].way = way;
      if (fits(p + 1, add(total, values[p][way]))) return true;
    }
    return false;
  };
  return fits(0, exact(0));
}

}  // namespace shardproof::check
