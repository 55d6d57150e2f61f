// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The input relation as nodes: free inputs, and every other input as a view, sum or term of them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "link/linker.h"
#include "link/sources.h"
#include "manifest/placement.h"

namespace shardproof::link {

using manifest::Placement;
using manifest::Step;

namespace {

// Whether a literal of the manifest is a value of type t.
bool representable(const ir::Literal& v, ir::DType t) {
  if (v.kind != ir::Literal::Kind::Float || !(ir::is_int(t) || t == ir::DType::Bool)) return true;
  return std::isfinite(v.d) && v.d == std::floor(v.d) && std::fabs(v.d) < 9.2e18;
}

}  // namespace

Failure Linker::check_values(const std::vector<ir::Literal>& values, ir::DType t, const std::string& name, const std::string& place) const {
  for (const ir::Literal& v : values)
    if (!representable(v, t))
      return error("SP203", fmt::format("{} is no value of input \"{}\", which is {}", v.d, name, ir::name(t)), place);
  return std::nullopt;
}

// In an SPMD program before partitioning every rank's parameters are the whole tensors.
bool Linker::fits_global() const {
  bool global = true, local = true, cut = false;
  for (const Input& input : inputs_) {
    const ir::Shape& shape = seq_->graph[seq_->inputs[static_cast<size_t>(input.index)].node].shape;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (input.dist[r] < 0) continue;
      const ir::Shape& mine = ranks_[r]->graph[ranks_[r]->inputs[static_cast<size_t>(input.dist[r])].node].shape;
      Part part;
      if (input.placement.kind != Placement::Kind::Steps ||
          !part_of(input.placement, out.mesh, shape, static_cast<int64_t>(r), part).empty())
        part.shape = shape;
      global &= mine == shape;
      local &= mine == part.shape;
      cut |= part.shape != shape;
    }
  }
  if (global && local) return ranks_[0]->global_shapes;
  if (global) return cut;
  return !local && ranks_[0]->global_shapes;
}

Failure Linker::set_dist(Input& input, size_t r, ir::NodeId node) {
  int d = input.dist[r];
  const frontend::Input& in = ranks_[r]->inputs[static_cast<size_t>(d)];
  const ir::Node& declared = ranks_[r]->graph[in.node];
  const std::string& name = seq_->inputs[static_cast<size_t>(input.index)].name;
  if (declared.shape != b_.shape(node)) {
    std::string place = input.key.empty() ? "inputs" : input.key;
    return error(
        "SP208",
        fmt::format("input \"{}\" of {} has shape {}, but under {} its part of \"{}\" {} has shape {}", in.name, rank_name(r),
                    shape_text(declared.shape), to_string(input.placement, out.mesh), name,
                    shape_text(seq_->graph[seq_->inputs[static_cast<size_t>(input.index)].node].shape), shape_text(b_.shape(node))),
        place);
  }
  ir::DType want = declared.dtype, have = b_.dtype(node);
  if (want != have) {
    bool alike = (ir::is_float(want) && ir::is_float(have)) || (ir::is_int(want) && ir::is_int(have));
    if (!alike)
      return error("SP208",
                   fmt::format("input \"{}\" of {} is {}, but \"{}\" is {}", in.name, rank_name(r), ir::name(want), name, ir::name(have)),
                   input.key.empty() ? "inputs" : input.key);
    std::string text = fmt::format("input {} is {} in the distributed program and {} in the sequential one: converted", name,
                                   ir::name(want), ir::name(have));
    if (std::find(out.assumptions.begin(), out.assumptions.end(), text) == out.assumptions.end()) out.assumptions.push_back(text);
    node = b_.convert(node, want);
  }
  dist_value_[r][static_cast<size_t>(d)] = node;
  return std::nullopt;
}

Failure Linker::relation() {
  dist_value_.resize(ranks_.size());
  for (size_t r = 0; r < ranks_.size(); ++r) dist_value_[r].assign(ranks_[r]->inputs.size(), ir::kNoNode);
  global_ = ranks_[0]->kind == frontend::Program::Kind::Spmd && ranks_.size() > 1 && fits_global();
  if (global_)
    out.assumptions.push_back(
        "the distributed program has global shapes: each rank holds its part of every input and output, as its placement says");
  for (Input& input : inputs_) {
    b_.label = seq_->inputs[static_cast<size_t>(input.index)].name;
    Failure f = input.constant                                   ? relate_constant(input)
                : input.placement.kind == Placement::Kind::Terms ? relate_term(input)
                                                                 : relate(input);
    if (f) return f;
  }
  if (Failure f = extras()) return f;
  b_.label.clear();
  side(kShared);
  for (const Input& input : inputs_) {
    Problem::Relation r;
    r.name = names(seq_, false).all(input.index)[0];
    r.placement = input.placement;
    r.inferred = input.inferred;
    r.node = input.node;
    for (size_t k = 0; k < ranks_.size(); ++k)
      r.distributed.push_back(input.dist[k] < 0 ? "" : ranks_[k]->inputs[static_cast<size_t>(input.dist[k])].name);
    out.relation.push_back(std::move(r));
  }
  return std::nullopt;
}

Failure Linker::relate(Input& input) {
  const frontend::Input& in = seq_->inputs[static_cast<size_t>(input.index)];
  const ir::Shape shape = seq_->graph[in.node].shape;
  const ir::DType dtype = seq_->graph[in.node].dtype;
  if (!input.placement.steps.empty())  // what stands for an input without a shape can't be cut
    for (const frontend::Unsupported& u : seq_->unsupported)
      if (u.node == in.node) return error("SP208", u.reason, input.key);
  std::vector<const Step*> steps = reductions(input.placement);
  for (const Step* step : steps) {
    bool exact = step->kind == Step::Kind::Partial && step->op != manifest::ReduceOp::Avg;
    if (!ir::is_float(dtype) && !(exact && ir::is_int(dtype)))
      return error("SP205",
                   fmt::format("input \"{}\" is {}: {} needs floating point", in.name, ir::name(dtype), to_string(*step, out.mesh)),
                   input.key);
  }
  for (const Step& step : input.placement.steps)
    if (step.fill)
      if (Failure f = check_values({*step.fill}, dtype, in.name, input.key)) return f;
  // Under a pending reduction the summands are free, and the sequential input is their sum.
  std::vector<ir::NodeId> summands;
  std::vector<int64_t> owners = summand_ranks(steps, out.mesh, 0);
  if (steps.empty()) {
    input.node = b_.input(in.name, dtype, shape);
    out.free_inputs.push_back(input.node);
    summands = {input.node};
  } else {
    for (int64_t owner : owners) {
      std::string name = in.name;
      for (const Step* step : steps)
        if (step->kind == Step::Kind::Partial)
          name += fmt::format("@{}={}", out.mesh.axes[static_cast<size_t>(step->axes[0])].name, out.mesh.coordinate(owner, step->axes[0]));
      summands.push_back(b_.input(name, dtype, shape));
      out.free_inputs.push_back(summands.back());
    }
    input.node = combine(b_, steps, out.mesh, summands);
  }
  struct Made {
    Part part;
    size_t summand;
    ir::NodeId node;
  };
  std::vector<Made> made;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (input.dist[r] < 0) continue;
    if (global_) {
      if (Failure f = set_dist(input, r, input.node)) return f;
      continue;
    }
    Part part;
    if (std::string e = part_of(input.placement, out.mesh, shape, static_cast<int64_t>(r), part); !e.empty())
      return error("SP205", fmt::format("placement of input \"{}\": {}", in.name, e), input.key);
    // This rank's summand: the one with its coordinates along the Partial axes.
    std::vector<int64_t> mine = summand_ranks(steps, out.mesh, static_cast<int64_t>(r));
    size_t summand = static_cast<size_t>(std::find(mine.begin(), mine.end(), static_cast<int64_t>(r)) - mine.begin());
    auto same = std::find_if(made.begin(), made.end(), [&](const Made& x) { return x.summand == summand && x.part == part; });
    bool unspecified = std::any_of(part.cuts.begin(), part.cuts.end(), [](const Cut& c) { return c.pad > 0 && !c.fill; });
    ir::NodeId node;
    if (same != made.end() && !unspecified) {
      node = same->node;
    } else {
      node = view(b_, summands[summand], part, Padding::Make, fmt::format("{}@rank{}", in.name, r), &out.free_inputs);
      made.push_back({part, summand, node});
    }
    if (Failure f = set_dist(input, r, node)) return f;
  }
  return std::nullopt;
}

// An input that always has one value.
Failure Linker::relate_constant(Input& input) {
  const frontend::Input& in = seq_->inputs[static_cast<size_t>(input.index)];
  const ir::Shape shape = seq_->graph[in.node].shape;
  const ir::DType dtype = seq_->graph[in.node].dtype;
  const std::vector<ir::Literal>& values = input.constant->values;
  std::string place = "constants/" + input.constant->key;
  bool splat = values.size() == 1;
  if (!splat && static_cast<int64_t>(values.size()) != ir::num_elements(shape))
    return error("SP208",
                 fmt::format("constant \"{}\" has {} values, but input \"{}\" has shape {}", input.constant->key, values.size(), in.name,
                             shape_text(shape)),
                 place);
  if (Failure f = check_values(values, dtype, in.name, place)) return f;
  input.node = splat ? b_.constant(values[0], dtype, shape) : b_.dense(dtype, shape, values);
  if (!splat && !reductions(input.placement).empty())
    return error("SP205", fmt::format("input \"{}\" has given values, so it cannot be Partial", in.name), place);
  out.assumptions.push_back(fmt::format("input {} always has its given value", in.name));
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (input.dist[r] < 0) continue;
    const ir::Node& mine = ranks_[r]->graph[ranks_[r]->inputs[static_cast<size_t>(input.dist[r])].node];
    if (splat) {
      dist_value_[r][static_cast<size_t>(input.dist[r])] = b_.constant(values[0], mine.dtype, mine.shape);
      continue;
    }
    Part part;
    part.shape = part.valid = shape;
    if (input.placement.kind == Placement::Kind::Steps && !global_)
      if (std::string e = part_of(input.placement, out.mesh, shape, static_cast<int64_t>(r), part); !e.empty())
        return error("SP205", e, input.key);
    if (Failure f = set_dist(input, r, view(b_, input.node, part, Padding::Make, in.name, &out.free_inputs))) return f;
  }
  return std::nullopt;
}

// Inputs that only the distributed program has.
Failure Linker::extras() {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const frontend::Program& p = *ranks_[r];
    for (size_t d = 0; d < p.inputs.size(); ++d) {
      const frontend::Input& in = p.inputs[d];
      if (in.node == ir::kNoNode || dist_value_[r][d] != ir::kNoNode) continue;
      const ir::Node& declared = p.graph[in.node];
      b_.label = in.name;
      ir::NodeId& value = dist_value_[r][d];
      if (taken_[r][d] == 4) {
        const manifest::Constant* c = find_constant(m_, in.name, static_cast<int64_t>(r));
        if (c->values.size() != 1 && static_cast<int64_t>(c->values.size()) != ir::num_elements(declared.shape))
          return error("SP208",
                       fmt::format("constant \"{}\" has {} values, but input \"{}\" of {} has shape {}", c->key, c->values.size(), in.name,
                                   rank_name(r), shape_text(declared.shape)),
                       "constants/" + c->key);
        if (Failure f = check_values(c->values, declared.dtype, in.name, "constants/" + c->key)) return f;
        value = c->values.size() == 1 ? b_.constant(c->values[0], declared.dtype, declared.shape)
                                      : b_.dense(declared.dtype, declared.shape, c->values);
        continue;
      }
      const manifest::ExtraInput* extra = nullptr;
      for (const manifest::ExtraInput& e : m_.extra_inputs)
        if (taken_[r][d] == 2 && names(ranks_[r], false).find(e.name) == static_cast<int>(d)) extra = &e;
      if (!extra || extra->kind == manifest::ExtraInput::Kind::Any) {
        value = b_.input(fmt::format("{}@rank{}", in.name, r), declared.dtype, declared.shape);
        out.free_inputs.push_back(value);
        continue;
      }
      std::string place = "extra_inputs/" + extra->name;
      if (extra->kind == manifest::ExtraInput::Kind::Iota) {
        if (declared.shape.size() != 1 || !(ir::is_int(declared.dtype) || ir::is_float(declared.dtype)))
          return error("SP208",
                       fmt::format("extra input \"{}\" is \"iota\", but it has shape {}; iota is one-dimensional", extra->name,
                                   shape_text(declared.shape)),
                       place);
        value = b_.iota(declared.dtype, declared.shape, 0);
      } else if (extra->kind == manifest::ExtraInput::Kind::SameAs) {
        int index = names(seq_, false).find(extra->same_as);
        int i = index < 0 ? -1 : input_of_[static_cast<size_t>(index)];
        if (i < 0)
          return error("SP206",
                       fmt::format("extra input \"{}\": the sequential program has no input \"{}\"{}", extra->name, extra->same_as,
                                   names(seq_, false).nearest(extra->same_as)),
                       place);
        ir::NodeId node = inputs_[static_cast<size_t>(i)].node;
        if (b_.shape(node) != declared.shape || b_.dtype(node) != declared.dtype)
          return error(
              "SP208",
              fmt::format("extra input \"{}\" of {} has {} {}, but \"{}\" has {} {}", extra->name, rank_name(r), ir::name(declared.dtype),
                          shape_text(declared.shape), extra->same_as, ir::name(b_.dtype(node)), shape_text(b_.shape(node))),
              place);
        value = node;
      } else {
        if (extra->values.size() != 1 && static_cast<int64_t>(extra->values.size()) != ir::num_elements(declared.shape))
          return error("SP208",
                       fmt::format("extra input \"{}\" has {} values, but on {} it has shape {}", extra->name, extra->values.size(),
                                   rank_name(r), shape_text(declared.shape)),
                       place);
        if (Failure f = check_values(extra->values, declared.dtype, in.name, place)) return f;
        value = extra->values.size() == 1 ? b_.constant(extra->values[0], declared.dtype, declared.shape)
                                          : b_.dense(declared.dtype, declared.shape, extra->values);
      }
    }
  }
  for (const manifest::ExtraInput& e : m_.extra_inputs)
    out.assumptions.push_back(
        fmt::format("extra input {} {}", e.name, e.kind == manifest::ExtraInput::Kind::Any ? "may have any value" : "has its given value"));
  return std::nullopt;
}

void Linker::input_forms() {
  for (const Input& input : inputs_) {
    for (const Step& step : input.placement.steps) {
      if (step.kind != Step::Kind::Shard || (step.blocks.empty() && step.equal_blocks == 1 && step.chunks.empty() && step.padded == 0))
        continue;
      bool known = std::any_of(out.input_forms.begin(), out.input_forms.end(),
                               [&](const Step& s) { return to_string(s, out.mesh) == to_string(step, out.mesh); });
      if (!known) out.input_forms.push_back(step);
    }
  }
}

}  // namespace shardproof::link
