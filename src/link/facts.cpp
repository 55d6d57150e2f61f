// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Facts resolved to nodes. Facts that contradict each other, or an input's given value, would prove anything: they are refused.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "link/linker.h"

namespace shardproof::link {

using MFact = manifest::Fact;

namespace {

// Everything known about one input, as an interval with at most one exception a fact.
struct Known {
  double low = -INFINITY, high = INFINITY;  // closed; for integers tightened to integers
  bool low_open = false, high_open = false;
  std::vector<double> exceptions;
  bool integer = false;
};

bool inside(const Known& k, double v) { return (k.low_open ? v > k.low : v >= k.low) && (k.high_open ? v < k.high : v <= k.high); }

bool allowed(const MFact& f, double v) {
  switch (f.kind) {
    case MFact::Kind::Range: return (v >= f.low && v < f.high) || (f.has_exception && v == f.exception);
    case MFact::Kind::AtLeast: return v >= f.value;
    case MFact::Kind::GreaterThan: return v > f.value;
    default: return true;
  }
}

// Number of integers in the interval, up to a large bound; infinity if unbounded.
double integers(const Known& k) {
  double low = std::ceil(k.low), high = std::floor(k.high);
  if (k.low_open && low == k.low) low += 1;
  if (k.high_open && high == k.high) high -= 1;
  return std::max(0.0, high - low + 1);
}

}  // namespace

Failure Linker::facts() {
  const Names& seq_names = names(seq_, false);
  std::map<int, std::vector<size_t>> by_input;
  for (size_t k = 0; k < m_.facts.size(); ++k) {
    const MFact& fact = m_.facts[k];
    int index = seq_names.find(fact.input);
    int i = index < 0 ? -1 : input_of_[static_cast<size_t>(index)];
    if (i < 0)
      return error(
          "SP210",
          fmt::format("fact \"{}\": the sequential program has no input \"{}\"{}", fact.text, fact.input, seq_names.nearest(fact.input)),
          "facts/" + std::to_string(k));
    const ir::Node& node = out.graph[inputs_[static_cast<size_t>(i)].node];
    if (!ir::is_float(node.dtype) && !ir::is_int(node.dtype) && node.dtype != ir::DType::Bool)
      return error("SP210", fmt::format("fact \"{}\": input \"{}\" is {}", fact.text, fact.input, ir::name(node.dtype)),
                   "facts/" + std::to_string(k));
    MFact resolved = fact;
    if (fact.kind == MFact::Kind::Distinct) {
      int64_t rank = static_cast<int64_t>(node.shape.size());
      if (resolved.dim < 0) resolved.dim += rank;
      if (resolved.dim < 0 || resolved.dim >= rank)
        return error("SP210", fmt::format("fact \"{}\": input \"{}\" has shape {}", fact.text, fact.input, shape_text(node.shape)),
                     "facts/" + std::to_string(k));
    }
    by_input[i].push_back(k);
    if (!inputs_[static_cast<size_t>(i)].constant) out.facts.push_back({inputs_[static_cast<size_t>(i)].node, resolved});
    out.assumptions.push_back("fact: " + fact.text);
  }

  for (const auto& [i, list] : by_input) {
    const Input& input = inputs_[static_cast<size_t>(i)];
    const ir::Node& node = out.graph[input.node];
    const std::string& name = seq_->inputs[static_cast<size_t>(input.index)].name;
    bool empty = ir::num_elements(node.shape) == 0;
    auto contradiction = [&, &list = list](const std::string& why) {
      return error("SP210", fmt::format("the facts about \"{}\" contradict {}", name, why), "facts/" + std::to_string(list[0]));
    };
    if (input.constant) {  // the value is known: the facts must hold for it
      for (size_t k : list) {
        const MFact& fact = m_.facts[k];
        bool some = false;
        std::vector<double> values;
        for (const ir::Literal& v : input.constant->values)
          values.push_back(v.kind == ir::Literal::Kind::Float ? v.d : static_cast<double>(v.i));
        for (double v : values) {
          if (!empty && !allowed(fact, v)) return contradiction(fmt::format("its given value {}: \"{}\"", v, fact.text));
          some |= v != fact.value;
        }
        if (fact.kind == MFact::Kind::AnyNotEqual && (!some || empty))
          return contradiction(fmt::format("its given value: \"{}\"", fact.text));
        if (fact.kind == MFact::Kind::Distinct && values.size() == 1 &&
            node.shape[static_cast<size_t>(fact.dim < 0 ? fact.dim + static_cast<int64_t>(node.shape.size()) : fact.dim)] > 1)
          return contradiction(fmt::format("its given value: \"{}\"", fact.text));
      }
      continue;
    }
    Known known;
    known.integer = !ir::is_float(node.dtype);
    if (known.integer) {
      int bits = ir::int_bits(node.dtype);
      bool is_signed = ir::is_signed_int(node.dtype);
      known.low = is_signed ? -std::ldexp(1, bits - 1) : 0;
      known.high = is_signed ? std::ldexp(1, bits - 1) - 1 : std::ldexp(1, bits) - 1;
    }
    Known type = known;
    for (size_t k : list) {
      const MFact& f = m_.facts[k];
      auto raise = [&](double low, bool open) {
        if (low > known.low || (low == known.low && open)) known.low = low, known.low_open = open;
      };
      if (f.kind == MFact::Kind::Range) {
        raise(f.low, false);
        if (f.high <= known.high) known.high = f.high, known.high_open = true;
        if (f.has_exception) known.exceptions.push_back(f.exception);
      } else if (f.kind == MFact::Kind::AtLeast || f.kind == MFact::Kind::GreaterThan) {
        raise(f.value, f.kind == MFact::Kind::GreaterThan);
      }
    }
    // Values outside the common interval that every fact still allows.
    std::vector<double> extra;
    for (double e : known.exceptions) {
      bool ok = inside(type, e) && (!known.integer || e == std::floor(e)) && !inside(known, e) &&
                std::find(extra.begin(), extra.end(), e) == extra.end();
      for (size_t k : list) ok &= allowed(m_.facts[k], e);
      if (ok) extra.push_back(e);
    }
    double count = known.integer                                                                                  ? integers(known)
                   : (known.low < known.high || (known.low == known.high && !known.low_open && !known.high_open)) ? INFINITY
                                                                                                                  : 0;
    if (!known.integer && known.low == known.high && count > 0) count = 1;
    count += static_cast<double>(extra.size());
    if (count == 0 && !empty) return contradiction("each other: no value satisfies them");
    for (size_t k : list) {
      const MFact& f = m_.facts[k];
      if (f.kind == MFact::Kind::AnyNotEqual) {
        bool only = count == 1 && ((extra.size() == 1 && extra[0] == f.value) || (extra.empty() && inside(known, f.value)));
        if (empty || only) return contradiction(fmt::format("each other: \"{}\" cannot hold", f.text));
      }
      if (f.kind == MFact::Kind::Distinct) {
        int64_t dim = f.dim < 0 ? f.dim + static_cast<int64_t>(node.shape.size()) : f.dim;
        if (!empty && static_cast<double>(node.shape[static_cast<size_t>(dim)]) > count)
          return contradiction(fmt::format("each other: \"{}\" needs more values than there are", f.text));
      }
    }
  }
  return std::nullopt;
}

// Walks back from the indices by which the sequential program reads and writes to the integer inputs that they are made of.
std::vector<std::string> Problem::unbounded_indices(const std::vector<size_t>& of) const {
  std::vector<char> needed(graph.nodes.size(), 0);
  for (size_t k : of)
    if (outputs[k].sequential != ir::kNoNode) needed[outputs[k].sequential] = 1;
  std::vector<int64_t> extent(graph.nodes.size(), 0);  // of the shortest dimension that an integer is a place in
  const auto at_most = [&](ir::NodeId x, int64_t n) { extent[x] = extent[x] == 0 ? n : std::min(extent[x], n); };
  std::map<ir::NodeId, int64_t> found;
  for (auto id = static_cast<ir::NodeId>(graph.nodes.size()); id-- > 0;) {
    const ir::Node& n = graph[id];
    if (needed[id])
      for (ir::NodeId x : n.in) needed[x] = 1;
    if (needed[id] && (n.op == ir::Op::Take || n.op == ir::Op::Scatter)) {
      const size_t first = n.op == ir::Op::Take ? 1 : 2;
      for (size_t d = 0; d < n.a.size(); ++d)
        if (n.a[d] < 0) at_most(n.in[first + static_cast<size_t>(-n.a[d] - 1)], graph[n.in[0]].shape[d]);
    }
    if (extent[id] == 0) continue;
    if (n.op == ir::Op::Input) found[id] = extent[id];
    const bool passes = n.op == ir::Op::Map || (n.op >= ir::Op::Transpose && n.op <= ir::Op::Concat);
    for (ir::NodeId x : n.in)
      if (passes && ir::is_int(graph[x].dtype)) at_most(x, extent[id]);
  }
  std::vector<std::string> out;
  for (const Relation& r : relation) {
    const auto at = found.find(r.node);
    const bool stated =
        std::any_of(facts.begin(), facts.end(), [&](const Fact& f) { return f.input == r.node && f.fact.kind == MFact::Kind::Range; });
    if (at == found.end() || stated) continue;
    out.push_back(
        fmt::format("input {} is used as an index, and no fact says in which range it is, so that what programs do with numbers out of "
                    "range is compared, too: "
                    "if they never occur, state it (\"{} in [0, {})\", or what its values are)",
                    r.name, r.name, at->second));
  }
  return out;
}

}  // namespace shardproof::link
