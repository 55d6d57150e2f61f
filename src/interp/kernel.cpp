// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// S-29 opaque kernels, read as functions that obey their contracts (docs/kernels.md).
//
// The proof that two programs are equal takes a kernel for any function with the contract; so they are not equal if they differ for one.
// The one taken here is made of core operators and is the same for equal name, attributes and extents: every operand is summed, with
// weights, over its factors that are never cut (u: those sums, and what stands at the same place of factors that the result has, too), and
// the result is u + sin(u) / 2; operands in which the kernel is linear are multiplied instead, each by itself. Nothing depends on where
// along a parallel or reduced factor an element stands, and parallel factors meet nowhere: so the kernel of the parts is the part of the
// kernel, and what is reduced is a reduction of parts.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "interp/eval.h"
#include "ir/build.h"
#include "link/problem.h"
#include "lower/kernel_contract.h"
#include "util/result.h"

namespace shardproof::interp {

namespace {

using ir::Fn;
using ir::NodeId;
using Contract = lower::KernelContract;
using Kind = Contract::Factor::Kind;

std::string attributes_of(const ir::Node& n) { return n.attrs.substr(0, n.attrs.find("|factors:")); }

std::vector<uint32_t> factors_of(const std::vector<Contract::Dim>& dims) {
  std::vector<uint32_t> out;
  for (const Contract::Dim& dim : dims) out.insert(out.end(), dim.begin(), dim.end());
  return out;
}

std::optional<Contract> contract_of(const ir::Graph& g, const ir::Node& n) {
  if (n.attrs.find("|factors:") == std::string::npos) return std::nullopt;
  auto parsed = lower::parse_kernel_contract(n.attrs);
  if (!parsed) return std::nullopt;
  std::vector<ir::Shape> operands, results;
  for (const NodeId x : n.in) operands.push_back(g[x].shape);
  for (const auto& [type, shape] : n.tuple) {
    if (!ir::is_float(type)) return std::nullopt;
    results.push_back(shape);
  }
  auto resolved = lower::resolve_extents(*parsed, operands, results);
  if (!resolved) return std::nullopt;
  // One kind of reduction, of a sum where the kernel is linear; no diagonal of what is cut.
  Fn fn = Fn::None;
  for (const Contract::Factor& f : resolved->factors) {
    if (f.kind != Kind::Reduce) continue;
    if ((fn != Fn::None && fn != f.fn) || (!resolved->linear.empty() && f.fn != Fn::Add)) return std::nullopt;
    fn = f.fn;
  }
  for (const auto* tensors : {&resolved->operands, &resolved->results}) {
    for (const auto& dims : *tensors) {
      const std::vector<uint32_t> all = factors_of(dims);
      for (const uint32_t f : all) {
        if (resolved->factors[f].kind != Kind::Whole && std::count(all.begin(), all.end(), f) > 1) return std::nullopt;
      }
    }
  }
  for (const NodeId x : n.in) {
    if (ir::is_complex(g[x].dtype)) return std::nullopt;
  }
  return std::move(*resolved);
}

class Kernel {
 public:
  Kernel(const ir::Graph& g, const ir::Node& n, const Contract& contract, bool another)
      : n_(n), contract_(contract), seed_(hash(n.name + "(" + attributes_of(n) + (another ? ") again" : ")"))) {
    for (const NodeId x : n.in) inputs_.push_back(b_.input("", g[x].dtype, g[x].shape));
    for (size_t r = 0; r < n.tuple.size(); ++r) results_.push_back(result(r));
  }
  const ir::Graph& graph() const { return graph_; }
  const std::vector<NodeId>& inputs() const { return inputs_; }
  const std::vector<NodeId>& results() const { return results_; }

 private:
  static constexpr ir::DType kReal = ir::DType::F32;

  static uint64_t hash(const std::string& text) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return h;
  }
  // A short number between 1/2 and 3/2, so that it is exact however literals are read; or that with any sign.
  double number(std::initializer_list<uint64_t> key, bool any_sign = false) const {
    uint64_t h = seed_;
    for (const uint64_t k : key) {
      h = (h ^ (k + 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
      h ^= h >> 29;
    }
    const double x = 0.5 + static_cast<double>((h >> 20) & 31) / 32;
    return any_sign && (h & 1) != 0 ? -x : x;
  }
  NodeId real(double v) { return b_.constant(ir::Literal::real(v, kReal), kReal); }
  NodeId scaled(NodeId x, double by) { return b_.binary(Fn::Mul, x, real(by)); }

  // Numbers along a factor that is never cut: each place its own, or a few pieces of a long one.
  NodeId weights(int64_t extent, double scale, uint64_t a, uint64_t b, uint64_t c) {
    constexpr int64_t kEach = 16, kPieces = 5;
    if (extent <= kEach) {
      std::vector<ir::Literal> table;
      for (int64_t k = 0; k < extent; ++k)
        table.push_back(ir::Literal::real(scale * number({a, b, c, static_cast<uint64_t>(k)}, true), kReal));
      return b_.dense(kReal, {extent}, std::move(table));
    }
    std::vector<NodeId> pieces;
    for (int64_t k = 0, from = 0; k < kPieces; ++k) {
      const int64_t to = k + 1 == kPieces ? extent : extent * (2 * k + 1) / (2 * kPieces);
      pieces.push_back(b_.broadcast(real(scale * number({a, b, c, static_cast<uint64_t>(k)}, true)), {to - from}, {}));
      from = to;
    }
    return b_.concat(std::move(pieces), 0);
  }

  struct Sum {
    NodeId value;
    std::vector<uint32_t> factors;  // of its dimensions
  };
  // Operand k with its factors as dimensions, summed over those that are never cut, but for the ones to keep.
  Sum summed(size_t k, const std::vector<uint32_t>& keep, uint64_t which) {
    Sum s{inputs_[k], factors_of(contract_.operands[k])};
    ir::Shape shape;
    for (const uint32_t f : s.factors) shape.push_back(contract_.factors[f].extent);
    s.value = b_.convert(b_.reshape(s.value, shape), kReal);
    for (size_t d = s.factors.size(); d-- > 0;) {
      const Contract::Factor& factor = contract_.factors[s.factors[d]];
      const bool once = std::count(s.factors.begin(), s.factors.end(), s.factors[d]) == 1;
      if (factor.kind != Kind::Whole || (once && std::find(keep.begin(), keep.end(), s.factors[d]) != keep.end())) continue;
      const double scale = std::exp2(-std::ceil(std::log2(static_cast<double>(std::max<int64_t>(factor.extent, 1)))));
      s.value = b_.contract(s.value, weights(factor.extent, scale, k, d, which), {}, {static_cast<int64_t>(d), 0}, kReal);
      s.factors.erase(s.factors.begin() + static_cast<std::ptrdiff_t>(d));
    }
    return s;
  }
  NodeId spread(const Sum& s, const std::vector<uint32_t>& frame, const ir::Shape& shape) {
    std::vector<int64_t> dims;
    for (const uint32_t f : s.factors) dims.push_back(std::find(frame.begin(), frame.end(), f) - frame.begin());
    // Broadcasts keep the order of dimensions.
    std::vector<int64_t> order(dims.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
    std::sort(order.begin(), order.end(),
              [&](int64_t x, int64_t y) { return dims[static_cast<size_t>(x)] < dims[static_cast<size_t>(y)]; });
    std::sort(dims.begin(), dims.end());
    return b_.broadcast(b_.transpose(s.value, order), shape, dims);
  }

  NodeId result(size_t r) {
    const std::vector<uint32_t> mine = factors_of(contract_.results[r]);
    std::vector<uint32_t> frame = mine, once;
    std::vector<int64_t> reduced;
    Fn fn = Fn::None;
    for (uint32_t f = 0; f < contract_.factors.size(); ++f) {
      if (std::count(mine.begin(), mine.end(), f) == 1) once.push_back(f);
      if (contract_.factors[f].kind != Kind::Reduce) continue;
      fn = contract_.factors[f].fn;
      reduced.push_back(static_cast<int64_t>(frame.size()));
      frame.push_back(f);
    }
    ir::Shape shape;
    for (const uint32_t f : frame) shape.push_back(contract_.factors[f].extent);
    NodeId product = ir::kNoNode, sum = b_.broadcast(real(number({r, 1}, true)), shape, {});
    bool any = false;
    for (size_t k = 0; k < inputs_.size(); ++k) {
      NodeId whole = scaled(spread(summed(k, {}, r), frame, shape), number({r, k, 2}, true));
      for (size_t d = 0; d < mine.size(); ++d) {
        if (contract_.factors[mine[d]].kind != Kind::Whole) continue;
        whole = b_.binary(Fn::Mul, whole, b_.broadcast(weights(shape[d], 1, 100 + k, d, r), shape, {static_cast<int64_t>(d)}));
      }
      const NodeId there = scaled(spread(summed(k, once, 50 + r), frame, shape), number({r, k, 3}, true));
      const NodeId both = b_.binary(Fn::Add, whole, there);
      if (std::find(contract_.linear.begin(), contract_.linear.end(), k) != contract_.linear.end()) {
        product = product == ir::kNoNode ? both : b_.binary(Fn::Mul, product, both);
      } else {
        sum = b_.binary(Fn::Add, sum, both), any = true;
      }
    }
    NodeId out = sum;
    if (any || product == ir::kNoNode) {
      const NodeId wave = scaled(b_.unary(Fn::Sin, sum), 0.5);
      out = product == ir::kNoNode ? b_.binary(Fn::Add, sum, wave) : b_.binary(Fn::Mul, product, b_.binary(Fn::Add, wave, real(1.25)));
    } else {
      out = product;
    }
    if (!reduced.empty()) out = b_.reduce(fn, out, reduced);
    return b_.convert(b_.reshape(out, n_.tuple[r].second), n_.tuple[r].first);
  }

  const ir::Node& n_;
  const Contract& contract_;
  uint64_t seed_;
  ir::Graph graph_;
  ir::Builder b_{graph_};
  std::vector<NodeId> inputs_, results_;
};

}  // namespace

// Kernels that the ranks call as the one-device program does: with the same factor rule, attributes and extents of what is never cut. Of
// other calls the contract does not say enough.
std::shared_ptr<const std::vector<char>> readable_kernels(const link::Problem& problem) {
  const ir::Graph& g = problem.graph;
  std::map<NodeId, std::string> calls;
  for (NodeId id = 0; id < problem.side.size(); ++id) {
    if (g[id].op != ir::Op::Opaque) continue;
    calls[id] = "";
    if (std::find(problem.opaque_nodes.begin(), problem.opaque_nodes.end(), id) != problem.opaque_nodes.end()) continue;
    const std::optional<Contract> contract = contract_of(g, g[id]);
    if (!contract) continue;
    calls[id] = g[id].attrs;
    for (const Contract::Factor& f : contract->factors) {
      if (f.kind == Kind::Whole) calls[id] += fmt::format(" {}={}", f.name, f.extent);
    }
  }
  std::map<std::string, std::set<std::string>> sequential;  // by name
  for (const auto& [id, call] : calls) {
    if (problem.side[id] < 0) sequential[g[id].name].insert(call);
  }
  std::set<std::string> others;
  for (const auto& [id, call] : calls) {
    if (call.empty() || !sequential[g[id].name].contains(call)) others.insert(g[id].name);
  }
  auto out = std::make_shared<std::vector<char>>(g.nodes.size(), 0);
  for (const auto& [id, call] : calls) (*out)[id] = !others.contains(g[id].name);
  return out;
}

// S-29 opaque: a kernel that is read as a function with its contract; else its values are open, so they are undecided.
std::vector<Value> eval_opaque(Context& c, NodeId id, const ir::Node& n, const std::vector<const Value*>& in) {
  std::vector<Value> out;
  std::optional<Contract> contract;
  if (c.config.kernels && id < c.config.kernels->size() && (*c.config.kernels)[id] != 0) contract = contract_of(c.g, n);
  if (!contract) {
    for (const auto& [t, shape] : n.tuple) out.push_back(c.poison(t, shape, State::Undecided));
    return out;
  }
  if (c.config.functions == Kernels::Zero) {
    for (const auto& [t, shape] : n.tuple) {
      Value zero = c.poison(t, shape, State::Fine);
      Buffer& own = const_cast<Buffer&>(*zero.data);  // ours alone
      for (size_t k = 0; k < own.size; ++k) c.set_number(own, k, {0, 0});
      out.push_back(std::move(zero));
    }
    return out;
  }
  const Kernel kernel(c.g, n, *contract, c.config.functions == Kernels::Another);
  Inputs inputs;
  for (size_t k = 0; k < in.size(); ++k) inputs.emplace(kernel.inputs()[k], *in[k]);
  Config config = c.config;
  config.kernels = nullptr;
  config.max_work = c.config.max_work - c.work;
  Evaluator inside(kernel.graph(), inputs, config);
  inside.run(kernel.results());
  c.work += inside.work();
  for (const NodeId r : kernel.results()) {
    const Value* v = inside.get(r);
    if (v == nullptr) throw EvalError{inside.reason(r)};
    const std::vector<int64_t> strides = v->strides();
    std::vector<Table> tables(v->axes.size());
    for (size_t d = 0; d < tables.size(); ++d) {
      for (int64_t k = 0; k < v->axes[d].blocks(); ++k) tables[d].push_back(k * strides[d]);
    }
    Value copy = view(*v, v->axes, tables);
    Buffer& own = const_cast<Buffer&>(*copy.data);  // ours alone
    if (!c.config.points || own.number != Number::Interval) number_elements(own, id);
    out.push_back(std::move(copy));
  }
  return out;
}

}  // namespace shardproof::interp
