// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Small programs for linker tests, and a plain evaluator of the few operators that they use.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>

#include "ir/build.h"
#include "link/problem.h"

namespace shardproof::link_test {

using ir::NodeId;

// Builds a frontend::Program step by step.
struct Maker {
  frontend::Program p;
  ir::Builder b{p.graph};
  Maker() { p.file = "made.fx.txt"; }
  NodeId in(const std::string& name, ir::Shape shape, ir::DType t = ir::DType::F32) {
    b.label = name;
    NodeId id = b.input(name, t, std::move(shape));
    p.inputs.push_back({name, {}, id, "", {}});
    return id;
  }
  void out(const std::string& name, NodeId id, const std::string& mutated = "") { p.outputs.push_back({name, id, "", mutated, {}}); }
  static ir::GroupRef group(const std::string& name) {
    ir::GroupRef g;
    g.kind = ir::GroupRef::Kind::Name;
    g.name = name;
    return g;
  }
};

inline frontend::Program make(const std::function<void(Maker&)>& build) {
  Maker m;
  build(m);
  return std::move(m.p);
}

inline std::vector<std::vector<frontend::Program>> ranks(int n, const std::function<void(Maker&, int)>& build) {
  std::vector<std::vector<frontend::Program>> out;
  for (int r = 0; r < n; ++r) out.push_back({make([&](Maker& m) { build(m, r); })});
  return out;
}

inline manifest::Manifest read(const std::string& json) {
  Result<manifest::Manifest> m = manifest::parse(json, "m.json");
  if (!m) throw std::runtime_error(m.error().message);
  return *m;
}

// Every input element is a number of its own, every node a list of doubles.
class Values {
 public:
  explicit Values(const ir::Graph& g) : g_(g) {}

  const std::vector<double>& at(NodeId id) {
    auto it = memo_.find(id);
    if (it != memo_.end()) return it->second;
    std::vector<double> v = compute(id);
    return memo_[id] = std::move(v);
  }

 private:
  static std::vector<int64_t> index_of(int64_t flat, const ir::Shape& s) {
    std::vector<int64_t> i(s.size());
    for (size_t d = s.size(); d-- > 0;) {
      i[d] = flat % s[d];
      flat /= s[d];
    }
    return i;
  }
  static int64_t flat_of(const std::vector<int64_t>& i, const ir::Shape& s) {
    int64_t f = 0;
    for (size_t d = 0; d < s.size(); ++d) f = f * s[d] + i[d];
    return f;
  }
  std::vector<double> compute(NodeId id) {
    const ir::Node& n = g_[id];
    int64_t count = ir::num_elements(n.shape);
    std::vector<double> out(static_cast<size_t>(count));
    for (int64_t k = 0; k < count; ++k) {
      std::vector<int64_t> i = index_of(k, n.shape);
      double& v = out[static_cast<size_t>(k)];
      auto read = [&](size_t operand, const std::vector<int64_t>& j) {
        return at(n.in[operand])[static_cast<size_t>(flat_of(j, g_[n.in[operand]].shape))];
      };
      switch (n.op) {
        case ir::Op::Input: v = std::sin(static_cast<double>(id) * 37.1 + static_cast<double>(k) * 1.7); break;
        case ir::Op::Const: v = n.lit.kind == ir::Literal::Kind::Float ? n.lit.d : static_cast<double>(n.lit.i); break;
        case ir::Op::Iota: v = static_cast<double>(i[static_cast<size_t>(n.a[0])]); break;
        case ir::Op::Dense:
          v = (*n.dense)[static_cast<size_t>(k)].kind == ir::Literal::Kind::Float
                  ? (*n.dense)[static_cast<size_t>(k)].d
                  : static_cast<double>((*n.dense)[static_cast<size_t>(k)].i);
          break;
        case ir::Op::Reshape: v = at(n.in[0])[static_cast<size_t>(k)]; break;
        case ir::Op::Transpose: {
          std::vector<int64_t> j(i.size());
          for (size_t d = 0; d < i.size(); ++d) j[static_cast<size_t>(n.a[d])] = i[d];
          v = read(0, j);
          break;
        }
        case ir::Op::Broadcast: {
          std::vector<int64_t> j(n.a.size());
          for (size_t d = 0; d < j.size(); ++d) j[d] = g_[n.in[0]].shape[d] == 1 ? 0 : i[static_cast<size_t>(n.a[d])];
          v = read(0, j);
          break;
        }
        case ir::Op::Slice: {
          for (size_t d = 0; d < i.size(); ++d) i[d] = n.a[d] + i[d] * n.c[d];
          v = read(0, i);
          break;
        }
        case ir::Op::Concat: {
          size_t d = static_cast<size_t>(n.a[0]), part = 0;
          while (i[d] >= g_[n.in[part]].shape[d]) i[d] -= g_[n.in[part++]].shape[d];
          v = read(part, i);
          break;
        }
        case ir::Op::Pad: {
          bool inside = true;
          for (size_t d = 0; d < i.size(); ++d) {
            i[d] -= n.a[d];
            inside &= i[d] >= 0 && i[d] < g_[n.in[0]].shape[d];
          }
          v = inside ? read(0, i) : at(n.in[1])[0];
          break;
        }
        case ir::Op::Map: {
          auto x = [&](size_t operand) {
            return g_[n.in[operand]].shape.empty() ? at(n.in[operand])[0] : at(n.in[operand])[static_cast<size_t>(k)];
          };
          v = x(0);
          for (size_t operand = 1; operand < n.in.size(); ++operand) {
            if (n.fn == ir::Fn::Add)
              v += x(operand);
            else if (n.fn == ir::Fn::Mul)
              v *= x(operand);
            else if (n.fn == ir::Fn::Div)
              v /= x(operand);
            else if (n.fn == ir::Fn::Max)
              v = std::max(v, x(operand));
            else if (n.fn == ir::Fn::Min)
              v = std::min(v, x(operand));
            else
              throw std::runtime_error("function");
          }
          break;
        }
        default: throw std::runtime_error("operator " + std::string(ir::name(n.op)));
      }
    }
    return out;
  }

  const ir::Graph& g_;
  std::map<NodeId, std::vector<double>> memo_;
};

inline bool close(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) return false;
  for (size_t k = 0; k < x.size(); ++k)
    if (!(std::fabs(x[k] - y[k]) <= 1e-12)) return false;
  return true;
}

// Whether an output has a placement, on one set of inputs.
inline bool has(link::Problem& p, const link::Output& output, const std::string& words) {
  Result<manifest::Placement> placement = manifest::parse_placement(words, p.mesh);
  if (!placement) throw std::runtime_error(placement.error().message);
  auto goals = p.goals(output, *placement);
  if (!goals) return false;
  Values values(p.graph);
  for (const auto& [x, y] : *goals)
    if (!close(values.at(x), values.at(y))) return false;
  return !goals->empty();
}

}  // namespace shardproof::link_test
