// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Claims about outputs as pairs of nodes, and the finite set of placements that `any` stands for.
#include <algorithm>
#include <set>

#include "link/problem.h"
#include "link/views.h"
#include "manifest/placement.h"

namespace shardproof::link {

using ir::NodeId;
using manifest::Placement;
using manifest::Step;
using manifest::Term;

namespace {

using Pairs = std::vector<std::pair<NodeId, NodeId>>;

void add_pair(Pairs& pairs, NodeId x, NodeId y) {
  std::pair<NodeId, NodeId> p{x, y};
  if (std::find(pairs.begin(), pairs.end(), p) == pairs.end()) pairs.push_back(p);
}

void leaves(const Term& term, std::vector<const Term*>& out) {
  if (term.kind == Term::Kind::Name) out.push_back(&term);
  for (const Term& item : term.items) leaves(item, out);
}

// A term over what the ranks return; nullopt where its shapes do not fit together.
std::optional<NodeId> value(ir::Builder& b, const Problem& p, const Term& term, int64_t rank) {
  if (term.kind == Term::Kind::Name) {
    const auto& names = p.returned[static_cast<size_t>(term.rank >= 0 ? term.rank : rank)];
    auto it = names.find(term.name.starts_with("%") ? term.name.substr(1) : term.name);
    return it == names.end() ? std::nullopt : std::optional<NodeId>(it->second);
  }
  std::vector<NodeId> xs;
  for (const Term& item : term.items) {
    std::optional<NodeId> x = value(b, p, item, rank);
    if (!x || (!xs.empty() && b.dtype(*x) != b.dtype(xs[0]))) return std::nullopt;
    xs.push_back(*x);
  }
  ir::Shape shape = b.shape(xs[0]);
  int64_t n = static_cast<int64_t>(shape.size());
  switch (term.kind) {
    case Term::Kind::Concat: {
      int64_t d = term.numbers[0];
      if (d < 0 || d >= n) return std::nullopt;
      for (NodeId x : xs) {
        ir::Shape other = b.shape(x);
        if (other.size() != shape.size()) return std::nullopt;
        other[static_cast<size_t>(d)] = shape[static_cast<size_t>(d)];
        if (other != shape) return std::nullopt;
      }
      return b.concat(xs, d);
    }
    case Term::Kind::Slice: {
      int64_t d = term.numbers[0];
      if (d < 0 || d >= n || term.numbers[1] < 0 || term.numbers[2] < term.numbers[1] || term.numbers[2] > shape[static_cast<size_t>(d)])
        return std::nullopt;
      return b.slice_dim(xs[0], d, term.numbers[1], term.numbers[2]);
    }
    case Term::Kind::Transpose: {
      std::vector<int64_t> sorted = term.numbers;
      std::sort(sorted.begin(), sorted.end());
      if (static_cast<int64_t>(sorted.size()) != n) return std::nullopt;
      for (int64_t k = 0; k < n; ++k)
        if (sorted[static_cast<size_t>(k)] != k) return std::nullopt;
      return b.transpose(xs[0], term.numbers);
    }
    case Term::Kind::Reshape: {
      int64_t total = 1;
      for (int64_t s : term.numbers) {
        if (s < 0 || s > (int64_t{1} << 40) || total > (int64_t{1} << 50)) return std::nullopt;
        total *= s;
      }
      return total == ir::num_elements(shape) ? std::optional<NodeId>(b.reshape(xs[0], term.numbers)) : std::nullopt;
    }
    case Term::Kind::Sum:
      for (NodeId x : xs)
        if (b.shape(x) != shape) return std::nullopt;
      return b.map(ir::Fn::Add, xs, b.dtype(xs[0]));
    case Term::Kind::Scale:
      return ir::is_float(b.dtype(xs[0])) ? std::optional<NodeId>(scaled(b, xs[0], term.numbers[0], term.numbers[1])) : std::nullopt;
    case Term::Kind::Name: break;
  }
  return std::nullopt;
}

// The type in which two values are compared: integers of different widths in one that holds both, since narrowing would wrap a difference
// away.
ir::DType common(ir::DType x, ir::DType y) {
  if (x == y || !ir::is_int(x) || !ir::is_int(y)) return x;
  const bool wider = ir::int_bits(y) > ir::int_bits(x);
  if (ir::is_unsigned_int(x) == ir::is_unsigned_int(y)) return wider ? y : x;
  const ir::DType with_sign = ir::is_unsigned_int(x) ? y : x, without = ir::is_unsigned_int(x) ? x : y;
  return ir::int_bits(with_sign) > ir::int_bits(without) ? with_sign : ir::DType::I64;
}

std::optional<Pairs> term_goals(ir::Builder& b, const Problem& p, const Output& output, const Placement& placement) {
  Pairs pairs;
  for (const Term& term : placement.terms) {
    std::vector<const Term*> names;
    leaves(term, names);
    bool ranked = std::all_of(names.begin(), names.end(), [](const Term* t) { return t->rank >= 0; });
    bool some = false;
    for (size_t r = 0; r < (ranked ? 1 : p.returned.size()); ++r) {
      bool all = ranked || std::all_of(names.begin(), names.end(), [&](const Term* t) {
                   return p.returned[static_cast<size_t>(t->rank >= 0 ? t->rank : static_cast<int64_t>(r))].count(t->name) > 0;
                 });
      if (!all) continue;
      std::optional<NodeId> x = value(b, p, term, static_cast<int64_t>(r));
      if (!x || b.shape(*x) != b.shape(output.sequential)) return std::nullopt;
      some = true;
      const ir::DType type = common(b.dtype(output.sequential), b.dtype(*x));
      if (b.dtype(*x) != type) x = b.convert(*x, type);
      add_pair(pairs, b.dtype(output.sequential) == type ? output.sequential : b.convert(output.sequential, type), *x);
    }
    if (!some) return std::nullopt;
  }
  return pairs;
}

bool comparable(ir::DType x, ir::DType y) { return x == y || (ir::is_float(x) && ir::is_float(y)) || (ir::is_int(x) && ir::is_int(y)); }

// Whether shapes and types alone allow the placement, and every rank that it needs is there.
bool possible(const Problem& p, const Output& output, const Placement& placement, std::vector<Part>& parts) {
  const ir::Node& s = p.graph[output.sequential];
  size_t n = output.distributed.size();
  parts.assign(n, {});
  bool some = false;
  for (size_t r = 0; r < n; ++r) {
    if (!holds(placement, p.mesh, static_cast<int64_t>(r))) continue;
    NodeId d = output.distributed[r];
    if (!part_of(placement, p.mesh, s.shape, static_cast<int64_t>(r), parts[r]).empty()) return false;
    if (d == ir::kNoNode) continue;
    some = true;
    if (p.graph[d].shape != parts[r].shape || !comparable(p.graph[d].dtype, s.dtype)) return false;
  }
  if (!some) return false;
  // Along an axis that cuts or reduces, all ranks or none must have a value: else the whole cannot be rebuilt.
  for (const Step& step : placement.steps) {
    if (step.kind != Step::Kind::Shard && step.kind != Step::Kind::Partial) continue;
    for (int axis : step.axes) {
      int64_t stride = 1;
      for (size_t k = p.mesh.axes.size(); k-- > static_cast<size_t>(axis) + 1;) stride *= p.mesh.axes[k].size;
      for (size_t r = 0; r < n; ++r) {
        if (output.distributed[r] == ir::kNoNode || !holds(placement, p.mesh, static_cast<int64_t>(r))) continue;
        int64_t origin = static_cast<int64_t>(r) - p.mesh.coordinate(static_cast<int64_t>(r), axis) * stride;
        for (int64_t c = 0; c < p.mesh.axes[static_cast<size_t>(axis)].size; ++c)
          if (output.distributed[static_cast<size_t>(origin + c * stride)] == ir::kNoNode) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<Pairs> Problem::goals(const Output& output, const Placement& placement) {
  if (placement.kind == Placement::Kind::Any) return std::nullopt;
  ir::Builder b(graph);
  b.label = output.name;
  std::optional<Pairs> result;
  if (placement.kind == Placement::Kind::Terms) {
    result = term_goals(b, *this, output, placement);
    side.resize(graph.nodes.size(), kShared);
    return result;
  }
  std::vector<Part> parts;
  if (!possible(*this, output, placement, parts)) return std::nullopt;
  std::vector<const Step*> steps = reductions(placement);
  ir::DType dtype = graph[output.sequential].dtype;
  for (const Step* step : steps) {
    bool exact = step->kind == Step::Kind::Partial && step->op != manifest::ReduceOp::Avg;
    if (!ir::is_float(dtype) && !(exact && ir::is_int(dtype))) return std::nullopt;
  }
  for (size_t r = 0; r < output.distributed.size(); ++r) {
    if (output.distributed[r] != ir::kNoNode && holds(placement, mesh, static_cast<int64_t>(r)))
      dtype = common(dtype, graph[output.distributed[r]].dtype);
  }
  Pairs pairs;
  struct Made {
    const Part* part;
    bool padding;
    NodeId node;
  };
  std::vector<Made> made;  // views of the sequential value
  std::set<std::vector<NodeId>> seen;
  for (size_t r = 0; r < output.distributed.size(); ++r) {
    if (output.distributed[r] == ir::kNoNode || !holds(placement, mesh, static_cast<int64_t>(r))) continue;
    const Part& part = parts[r];
    // A stated fill is part of the claim; unspecified padding is not looked at.
    bool padding = std::all_of(part.cuts.begin(), part.cuts.end(), [](const Cut& c) { return c.pad == 0 || c.fill.has_value(); });
    std::vector<NodeId> summands;
    for (int64_t other : summand_ranks(steps, mesh, static_cast<int64_t>(r))) {
      NodeId d = output.distributed[static_cast<size_t>(other)];
      d = padding ? d : without_padding(b, d, part);
      summands.push_back(b.dtype(d) == dtype ? d : b.convert(d, dtype));
    }
    NodeId whole = ir::kNoNode;
    auto same = std::find_if(made.begin(), made.end(), [&](const Made& m) { return m.padding == padding && *m.part == part; });
    if (same != made.end()) {
      whole = same->node;
    } else {
      whole = view(b, output.sequential, part, padding ? Padding::Make : Padding::Leave);
      if (b.dtype(whole) != dtype) whole = b.convert(whole, dtype);
      made.push_back({&part, padding, whole});
    }
    if (!steps.empty()) {
      std::vector<NodeId> key = summands;
      key.push_back(whole);
      if (!seen.insert(key).second) continue;
    }
    add_pair(pairs, whole, combine(b, steps, mesh, summands));
  }
  side.resize(graph.nodes.size(), kShared);
  return pairs;
}

bool is_vacuous(const Output& output, const std::vector<char>& depends) {
  return depends[output.sequential] &&
         std::none_of(output.distributed.begin(), output.distributed.end(), [&](NodeId d) { return d != ir::kNoNode && depends[d]; });
}

std::vector<NodeId> Problem::losses() const {
  std::vector<NodeId> out;
  for (const Output& o : outputs) {
    const bool loss = o.role == manifest::Role::Loss || o.role == manifest::Role::None;
    if (o.checked && loss && o.sequential != ir::kNoNode && graph[o.sequential].shape.empty()) out.push_back(o.sequential);
  }
  return out;
}

std::vector<Placement> Problem::any_candidates(const Output& output) const {
  const ir::Node& s = graph[output.sequential];
  size_t axes = mesh.axes.size(), rank = s.shape.size();
  // Per axis: Replicate, Shard(d), Partial(op); then cuts of one dimension by several axes, and the forms that occur among the inputs.
  std::vector<std::vector<std::pair<int, std::optional<Step>>>> choices(axes);  // (level, step)
  bool numeric = ir::is_float(s.dtype) || ir::is_int(s.dtype);
  for (size_t axis = 0; axis < axes; ++axis) {
    choices[axis].emplace_back(0, std::nullopt);
    if (mesh.axes[axis].size == 1) continue;
    for (size_t d = 0; d < rank; ++d) {
      Step step;
      step.axes = {static_cast<int>(axis)};
      step.dim = static_cast<int64_t>(d);
      choices[axis].emplace_back(1, step);
    }
    for (manifest::ReduceOp op : {manifest::ReduceOp::Sum, manifest::ReduceOp::Avg, manifest::ReduceOp::Max, manifest::ReduceOp::Min}) {
      if (!numeric || (op == manifest::ReduceOp::Avg && !ir::is_float(s.dtype))) continue;
      Step step;
      step.kind = Step::Kind::Partial;
      step.axes = {static_cast<int>(axis)};
      step.op = op;
      choices[axis].emplace_back(2, step);
    }
    for (const Step& form : input_forms) {
      if (form.axes != std::vector<int>{static_cast<int>(axis)}) continue;
      for (size_t d = 0; d < rank; ++d) {  // the same form may sit on another dimension (a weight's and its activation's)
        Step step = form;
        step.dim = static_cast<int64_t>(d);
        step.fill.reset();
        choices[axis].emplace_back(4, step);
      }
    }
  }
  struct Candidate {
    int level;
    size_t steps;
    Placement placement;
  };
  std::vector<Candidate> found;
  std::vector<Part> parts;
  std::set<std::string> seen;
  auto offer = [&](Placement placement, int level) {
    if (!possible(*this, output, placement, parts) || !seen.insert(to_string(placement, mesh)).second) return;
    size_t steps = placement.steps.size();
    found.push_back({level, steps, std::move(placement)});
  };
  std::vector<size_t> pick(axes, 0);
  for (size_t tried = 0; tried < 200000; ++tried) {
    Placement placement;
    int level = 0;
    for (size_t axis = 0; axis < axes; ++axis) {
      const auto& [own, step] = choices[axis][pick[axis]];
      level = std::max(level, own);
      if (step) placement.steps.push_back(*step);
    }
    // Several cuts of one dimension: in either order.
    std::vector<size_t> cuts;
    for (size_t k = 0; k < placement.steps.size(); ++k)
      for (size_t j = 0; j < placement.steps.size(); ++j)
        if (j != k && placement.steps[k].kind == Step::Kind::Shard && placement.steps[j].kind == Step::Kind::Shard &&
            placement.steps[k].dim == placement.steps[j].dim) {
          cuts.push_back(k);
          break;
        }
    if (cuts.size() < 2) {
      offer(placement, level);
    } else if (cuts.size() <= 4) {
      std::vector<size_t> order = cuts;
      do {
        Placement p = placement;
        for (size_t k = 0; k < cuts.size(); ++k) p.steps[cuts[k]] = placement.steps[order[k]];
        offer(p, std::max(level, 3));
      } while (std::next_permutation(order.begin(), order.end()));
    }
    size_t axis = axes;
    while (axis-- > 0) {
      if (++pick[axis] < choices[axis].size()) break;
      pick[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) break;
  }
  for (const Step& form : input_forms) {  // forms over products of axes
    if (form.axes.size() < 2) continue;
    for (size_t d = 0; d < rank; ++d) {
      Placement p;
      p.steps = {form};
      p.steps[0].dim = static_cast<int64_t>(d);
      p.steps[0].fill.reset();
      offer(p, 4);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Candidate& x, const Candidate& y) { return x.level != y.level ? x.level < y.level : x.steps < y.steps; });
  std::vector<Placement> out;
  for (Candidate& c : found) out.push_back(std::move(c.placement));
  return out;
}

}  // namespace shardproof::link
