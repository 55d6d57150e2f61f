// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Choice of input values. Floats are dyadic numbers of about 16 bits (exact, and short in a witness) scaled by 1/sqrt(K) where a
// contraction over K terms reads them (3/K on blocks), so that activations keep their size and nothing saturates; integers stay inside what
// they index.
#include "interp/inputs.h"

#include <algorithm>
#include <cmath>

#include "util/result.h"

namespace shardproof::interp {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

struct Random {
  uint64_t state;
  uint64_t next() { return mix(state++); }
  double unit() { return static_cast<double>(next() >> 40) * 0x1p-24; }
  int64_t below(int64_t n) { return n <= 1 ? 0 : static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
};

uint64_t hash_text(const std::string& text) {
  uint64_t h = 1469598103934665603u;
  for (unsigned char c : text) h = (h ^ c) * 1099511628211u;
  return h;
}

// The one free input that a node only rearranges (or shifts by constants), if any; and whether it is an iota.
struct Origins {
  std::vector<ir::NodeId> of;
  std::vector<int64_t> iota;  // extent, 0: none
};

Origins trace(const ir::Graph& g) {
  using ir::Op;
  Origins o{std::vector<ir::NodeId>(g.nodes.size(), ir::kNoNode), std::vector<int64_t>(g.nodes.size(), 0)};
  for (ir::NodeId id = 0; id < g.nodes.size(); ++id) {
    const ir::Node& n = g[id];
    switch (n.op) {
      case Op::Input: o.of[id] = id; break;
      case Op::Iota: o.iota[id] = n.shape[n.a[0]]; break;
      case Op::Transpose:
      case Op::Reshape:
      case Op::Slice:
      case Op::Reverse:
      case Op::Broadcast:
      case Op::Pad:
      case Op::DynamicSlice:
        o.of[id] = o.of[n.in[0]];
        o.iota[id] = o.iota[n.in[0]];
        break;
      case Op::Concat: {
        o.of[id] = o.of[n.in[0]];
        for (ir::NodeId x : n.in) {
          if (o.of[x] != o.of[id]) o.of[id] = ir::kNoNode;
        }
        break;
      }
      case Op::Map: {
        // Conversions, and integers shifted, clamped or chosen: the values still range over about what the input does.
        const bool keeps =
            n.fn == ir::Fn::Convert || (ir::is_int(n.dtype) && (n.fn == ir::Fn::Add || n.fn == ir::Fn::Sub || n.fn == ir::Fn::Max ||
                                                                n.fn == ir::Fn::Min || n.fn == ir::Fn::Select));
        if (!keeps) break;
        ir::NodeId found = ir::kNoNode;
        bool one = true;
        for (ir::NodeId x : n.in) {
          if (g[x].dtype == ir::DType::Bool && n.fn == ir::Fn::Select) continue;
          if (o.of[x] == ir::kNoNode) continue;
          one = one && (found == ir::kNoNode || found == o.of[x]);
          found = o.of[x];
        }
        if (one) o.of[id] = found;
        if (n.fn == ir::Fn::Convert) o.iota[id] = o.iota[n.in[0]];
        break;
      }
      default: break;
    }
  }
  return o;
}

// Inputs that reach a square root or logarithm by sums, products and quotients (second moments of an optimizer): negative, they would leave
// the sequential value undefined. Squares and reductions end the walk.
std::vector<bool> under_roots(const link::Problem& problem) {
  using ir::Fn;
  const ir::Graph& g = problem.graph;
  std::vector<bool> found(g.nodes.size());
  for (ir::NodeId id = 0; id < problem.side.size(); ++id) {
    const ir::Node& root = g[id];
    if (problem.side[id] != link::kSequential || root.op != ir::Op::Map ||
        (root.fn != Fn::Sqrt && root.fn != Fn::Rsqrt && root.fn != Fn::Log))
      continue;
    std::vector<ir::NodeId> stack{root.in[0]};
    for (size_t steps = 0; !stack.empty() && steps < 64; ++steps) {
      const ir::NodeId x = stack.back();
      stack.pop_back();
      const ir::Node& n = g[x];
      if (n.op == ir::Op::Input) found[x] = true;
      const bool view = n.op == ir::Op::Transpose || n.op == ir::Op::Reshape || n.op == ir::Op::Slice || n.op == ir::Op::Broadcast;
      const bool square = n.fn == Fn::Mul && n.in.size() == 2 && n.in[0] == n.in[1];
      const bool passes = n.op == ir::Op::Map && !square &&
                          (n.fn == Fn::Add || n.fn == Fn::Mul || n.fn == Fn::Div || n.fn == Fn::Convert || n.fn == Fn::Select);
      if (view || passes) stack.insert(stack.end(), n.in.begin(), n.in.end());
    }
  }
  return found;
}

double elements(const ir::Shape& s) {
  double total = 1;
  for (int64_t n : s) total *= static_cast<double>(n);
  return total;
}

}  // namespace

InputMaker::InputMaker(const link::Problem& problem) : problem_(problem) {
  const ir::Graph& g = problem.graph;
  const Origins origins = trace(g);
  std::vector<double> contracted(g.nodes.size(), 1);
  std::vector<int64_t> indexed(g.nodes.size(), 0), compared(g.nodes.size(), 0);
  const auto tighten = [](int64_t& bound, int64_t extent) { bound = bound == 0 ? extent : std::min(bound, extent); };
  for (ir::NodeId id = 0; id < g.nodes.size(); ++id) {
    const ir::Node& n = g[id];
    double terms = elements(n.shape);
    for (const auto& [type, shape] : n.tuple) terms += 20 * elements(shape);
    const bool sequential = id >= problem.side.size() || problem.side[id] < 0;
    if (n.op == ir::Op::Contract) {
      double k = 1;
      for (size_t j = 0; j < n.b.size(); j += 2) k *= static_cast<double>(g[n.in[0]].shape[n.b[j]]);
      terms *= 1 + k;
      // Two inputs that meet share the scaling.
      const bool both = origins.of[n.in[0]] != ir::kNoNode && origins.of[n.in[1]] != ir::kNoNode;
      for (ir::NodeId x : n.in) {
        if (sequential && origins.of[x] != ir::kNoNode)
          contracted[origins.of[x]] = std::max(contracted[origins.of[x]], both ? std::sqrt(k) : k);
      }
    } else if (n.op == ir::Op::Map) {
      terms *= 4;
    } else if (n.op == ir::Op::Reduce) {
      terms += elements(g[n.in[0]].shape);
    }
    dense_work_ += terms;
    if (!sequential) continue;
    if (n.op == ir::Op::Take || n.op == ir::Op::Scatter) {
      const size_t first = n.op == ir::Op::Take ? 1 : 2;
      for (size_t d = 0; d < n.a.size(); ++d) {
        if (n.a[d] >= 0) continue;
        const ir::NodeId source = origins.of[n.in[first + static_cast<size_t>(-n.a[d] - 1)]];
        if (source != ir::kNoNode) tighten(indexed[source], g[n.in[0]].shape[d]);
      }
    }
    if (n.op == ir::Op::Map && n.fn == ir::Fn::Eq) {
      for (size_t k = 0; k < 2; ++k) {
        const ir::NodeId source = origins.of[n.in[k]];
        if (source != ir::kNoNode && origins.iota[n.in[1 - k]] > 0) tighten(compared[source], origins.iota[n.in[1 - k]]);
      }
    }
  }
  const auto cuts = demanded_cuts(g);
  const std::vector<bool> rooted = under_roots(problem);
  for (ir::NodeId id : problem.free_inputs) {
    Plan plan;
    plan.input = id;
    plan.cuts = cuts[id];
    plan.positive = rooted[id];
    const ir::Node& n = g[id];
    // Scalars and vectors are biases, gains, rates: left at size 1.
    if (n.shape.size() >= 2 && ir::is_float(n.dtype)) plan.contracted = contracted[id];
    plan.bound = indexed[id] != 0 ? indexed[id] : compared[id];
    for (const link::Fact& f : problem.facts) {
      if (f.input != id) continue;
      using Kind = manifest::Fact::Kind;
      switch (f.fact.kind) {
        case Kind::Range:
          plan.has_range = true;
          plan.low = f.fact.low;
          plan.high = f.fact.high;
          plan.has_exception = f.fact.has_exception;
          plan.exception = f.fact.exception;
          break;
        case Kind::AtLeast:
          plan.at_least = true;
          plan.minimum = f.fact.value;
          break;
        case Kind::GreaterThan:
          plan.at_least = plan.greater = true;
          plan.minimum = f.fact.value;
          break;
        case Kind::AnyNotEqual:
          plan.not_all = true;
          plan.not_all_equal = f.fact.value;
          break;
        case Kind::Distinct: plan.distinct_dim = f.fact.dim; break;
      }
    }
    plans_.push_back(std::move(plan));
  }
}

std::vector<std::string> InputMaker::impossible() const {
  std::vector<std::string> out;
  for (const Plan& p : plans_) {
    const ir::Node& n = problem_.graph[p.input];
    if (p.has_range && p.low >= p.high && !p.has_exception) out.push_back(n.name + ": its range is empty");
    if (p.has_range && ir::is_int(n.dtype) && p.distinct_dim >= 0 && p.distinct_dim < static_cast<int64_t>(n.shape.size()) &&
        static_cast<double>(n.shape[p.distinct_dim]) > p.high - p.low) {
      out.push_back(n.name + ": more places than distinct values");
    }
  }
  return out;
}

Inputs InputMaker::make(uint64_t seed, Detail detail, int variant) const {
  Inputs out;
  for (const Plan& plan : plans_) out.emplace(plan.input, make_one(plan, seed, detail, variant));
  return out;
}

Value InputMaker::make_one(const Plan& plan, uint64_t seed, Detail detail, int variant) const {
  const ir::Node& n = problem_.graph[plan.input];
  Random random{mix(seed * 1000003u + hash_text(n.name) + plan.input)};
  std::vector<Axis> axes;
  for (size_t d = 0; d < n.shape.size(); ++d) {
    const int64_t extent = n.shape[d];
    // Few indices vary freely: equal tokens would make attention trivial and hide errors in it.
    const bool few = detail == Detail::Fine && ir::is_int(n.dtype) && ir::num_elements(n.shape) <= 2048;
    const bool all =
        detail == Detail::Dense || few || extent <= (detail == Detail::Fine ? 3 : 1) || static_cast<int64_t>(d) == plan.distinct_dim;
    if (all) {
      axes.push_back(Axis::unit(extent));
      continue;
    }
    // One random cut inside every run that the programs ask for, two where there are few.
    std::vector<int64_t> cuts = plan.cuts[d];
    if (detail == Detail::Minimal && cuts.size() > 3) {  // an even choice of three
      std::sort(cuts.begin(), cuts.end());
      cuts = {cuts[cuts.size() / 4], cuts[cuts.size() / 2], cuts[cuts.size() * 3 / 4]};
    }
    const Axis asked = Axis::at(extent, cuts);
    const bool is_longest = extent == *std::max_element(n.shape.begin(), n.shape.end());
    int inside = asked.blocks() <= 4 ? 2 : 1;
    if (detail == Detail::Coarse && extent < 48 && !is_longest) inside = 0;
    if (detail == Detail::Minimal) inside = is_longest && asked.blocks() <= 2 ? 1 : 0;
    for (int64_t k = 0; k < asked.blocks() && asked.blocks() <= 64; ++k) {
      for (int q = 0; q < inside; ++q) cuts.push_back(asked.start(k) + random.below(asked.count(k)));
    }
    axes.push_back(Axis::at(extent, std::move(cuts)));
  }
  const size_t total = static_cast<size_t>(count_blocks(axes));
  const bool is_number = ir::is_float(n.dtype) || ir::is_complex(n.dtype);
  Buffer b = Buffer::make(is_number ? Number::Interval : Number::Integer, total);
  Buffer imag = ir::is_complex(n.dtype) ? Buffer::make(Number::Interval, total) : Buffer{};
  // Sums of K independent terms grow like sqrt(K), sums over a few long runs like K. A power of two near the scale keeps the numbers short.
  const double ideal =
      detail == Detail::Dense ? 1 / std::sqrt(plan.contracted) : std::min(1 / std::sqrt(plan.contracted), 3 / plan.contracted);
  const double scale = std::ldexp(1.0, static_cast<int>(std::lround(std::log2(ideal))));
  const auto real = [&]() -> double {
    const double size = std::round((0.25 + 1.5 * random.unit()) * 4096) / 4096;
    const bool negative = random.unit() < (plan.positive ? (variant == 2 ? 0.08 : 0.0) : variant == 1 ? 0.1 : 0.5);
    if (plan.has_range) {
      const double high = std::min(plan.high, plan.low + 1e6);
      if (variant == 2 && random.unit() < 0.05) return plan.low;
      return plan.low + std::floor(random.unit() * 4096) / 4096 * (high - plan.low);
    }
    if (plan.at_least && !plan.greater && variant == 2 && random.unit() < 0.1) return plan.minimum;
    if (plan.at_least) return plan.minimum + size * (n.shape.size() >= 2 ? scale : 1);
    // A few zeros show > for >=, and what is only a sign or a truth value.
    if (variant == 2 && random.unit() < (plan.positive ? 0.05 : 0.2)) return 0;
    return (negative ? -size : size) * scale * (variant == 3 ? 32 : 1);  // large ones cross thresholds: clipping, saturation
  };
  // Edges show what is clamped or off by one: a single integer is one of them, of many some are.
  const auto below = [&](int64_t span) -> int64_t {
    const double edge = random.unit();
    if (total == 1 && variant < 2) return variant == 0 ? span - 1 : 0;
    if (total > 1 && edge < 0.06) return edge < 0.03 ? 0 : span - 1;
    return random.below(span);
  };
  const auto integer = [&]() -> int64_t {
    if (n.dtype == ir::DType::Bool) return random.below(2);
    if (plan.has_range) {
      const double span = std::min(plan.high - plan.low, 9e15);
      return static_cast<int64_t>(plan.low) + below(static_cast<int64_t>(span));
    }
    if (plan.at_least) return static_cast<int64_t>(plan.minimum) + (plan.greater ? 1 : 0) + random.below(5);
    const int64_t bound = plan.bound > 0 ? plan.bound : ir::int_bits(n.dtype) <= 2 ? 2 : 8;
    return below(bound);
  };
  // Exceptions (ignored labels) are dense in some quarters of the tensor and rare in others, so that counts differ between shards.
  static constexpr double kOften[4] = {0.6, 0.1, 0.4, 0.05};
  const auto is_exception = [&](size_t k) {
    if (!plan.has_exception) return false;
    double p = total < 4 ? 0.4 : kOften[(k * 4 / total + static_cast<size_t>(seed)) % 4];
    if (variant == 2) p = std::min(0.9, p * 1.4);
    return random.unit() < p;
  };
  for (size_t k = 0; k < total; ++k) {
    if (is_number) {
      b.set(k, {is_exception(k) ? plan.exception : real(), 0});
      if (imag.size) imag.set(k, {real(), 0});
    } else {
      b.i[k] = is_exception(k) ? static_cast<int64_t>(plan.exception) : integer();
      b.i[k] = n.dtype == ir::DType::Bool ? b.i[k] != 0 : wrap_integer(b.i[k], n.dtype);
    }
  }
  const auto set_value = [&](size_t k, double v) { is_number ? b.set(k, {v, 0}) : void(b.i[k] = static_cast<int64_t>(v)); };
  const auto value_at = [&](size_t k) { return is_number ? b.m[k] : static_cast<double>(b.i[k]); };
  if (plan.distinct_dim >= 0 && plan.distinct_dim < static_cast<int64_t>(axes.size())) {
    // Along the dimension a random permutation of distinct values, another one for every line.
    const size_t dim = static_cast<size_t>(plan.distinct_dim);
    int64_t inner = 1, length = axes[dim].blocks();
    for (size_t d = dim + 1; d < axes.size(); ++d) inner *= axes[d].blocks();
    const double low = plan.has_range ? plan.low : plan.at_least ? plan.minimum + 1 : 0;
    const int64_t span = plan.has_range ? static_cast<int64_t>(std::min(plan.high - plan.low, 1e9)) : std::max<int64_t>(length, plan.bound);
    const double spacing = is_number && plan.has_range ? (plan.high - plan.low) / static_cast<double>(length + 1) : 1;
    for (int64_t line = 0; length > 0 && line < static_cast<int64_t>(total) / length; ++line) {
      const int64_t base = line / inner * inner * length + line % inner;
      std::vector<int64_t> values(static_cast<size_t>(is_number ? length : std::max(length, std::min<int64_t>(span, 1 << 16))));
      for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<int64_t>(k);
      for (size_t k = 0; k < static_cast<size_t>(length); ++k) {
        std::swap(values[k], values[k + static_cast<size_t>(random.below(static_cast<int64_t>(values.size() - k)))]);
        set_value(static_cast<size_t>(base + static_cast<int64_t>(k) * inner), low + static_cast<double>(values[k]) * spacing);
      }
    }
  }
  if (plan.not_all && total > 0) {
    bool some = false;
    for (size_t k = 0; k < total && !some; ++k) some = value_at(k) != plan.not_all_equal;
    if (!some) set_value(0, plan.has_range && plan.low != plan.not_all_equal ? plan.low : plan.not_all_equal + 1);
  }
  Value v = make_value(n.dtype, std::move(axes), std::move(b));
  if (imag.size) v.imag = std::make_shared<const Buffer>(std::move(imag));
  return v;
}

}  // namespace shardproof::interp
