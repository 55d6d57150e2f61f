// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Outputs: which are checked, which distributed values stand behind each, and what is expected of them.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "link/linker.h"
#include "manifest/match.h"
#include "manifest/placement.h"

namespace shardproof::link {

using manifest::OutputSpec;
using manifest::Placement;
using manifest::Role;

// Role and expectation by MANIFEST section 4.
Failure Linker::expectation(Output& output, const OutputSpec* spec, const std::string& of, const std::string& key) {
  const ir::Node& node = out.graph[output.sequential];
  if (spec) {
    output.role = spec->role;
    output.label = spec->label;
    output.fqn = spec->fqn;
  }
  if (output.role == Role::None && node.shape.empty() && ir::is_float(node.dtype) && !(spec && spec->expect)) output.role = Role::Loss;
  std::optional<Placement> natural;
  if (!of.empty()) {
    int index = names(seq_, false).find(of);
    int i = index < 0 ? -1 : input_of_[static_cast<size_t>(index)];
    if (i < 0)
      return error("SP206",
                   fmt::format("output \"{}\" belongs to \"{}\", but the sequential program has no such input{}", output.name, of,
                               names(seq_, false).nearest(of)),
                   key);
    natural = inputs_[static_cast<size_t>(i)].placement;
  }
  bool stated = spec && spec->expect;
  if (stated) {
    output.expect = *spec->expect;
    output.expect_stated = true;
  } else if (output.role == Role::Gradient || output.role == Role::Updated) {
    const char* role = output.role == Role::Gradient ? "gradient" : "updated";
    if (!natural)
      return error("SP203",
                   fmt::format("output \"{}\" has the role \"{}\": say to which input it belongs (\"of\"), or what to expect (\"expect\")",
                               output.name, role),
                   key);
    if (natural->kind == Placement::Kind::Terms)
      return error(
          "SP203",
          fmt::format("output \"{}\" belongs to \"{}\", whose placement is a free term: \"expect\" must be given", output.name, of), key);
    output.expect = *natural;
    if (output.role == Role::Gradient)  // what a parameter's padding holds says nothing about its gradient's
      for (manifest::Step& step : output.expect.steps) step.fill.reset();
  } else if (output.role == Role::Loss) {
    output.expect = Placement{};
  } else {
    output.expect.kind = Placement::Kind::Any;
  }
  if (output.role == Role::Gradient) output.natural = natural;
  if (output.expect.kind != Placement::Kind::Steps) return std::nullopt;
  Part part;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (std::string e = part_of(output.expect, out.mesh, node.shape, static_cast<int64_t>(r), part); !e.empty())
      return error("SP205", fmt::format("what is expected of output \"{}\": {}", output.name, e), key);
  }
  for (const manifest::Step& step : output.expect.steps)
    if (step.fill)
      if (Failure f = check_values({*step.fill}, node.dtype, output.name, key)) return f;
  for (const manifest::Step* step : reductions(output.expect)) {
    bool exact = step->kind == manifest::Step::Kind::Partial && step->op != manifest::ReduceOp::Avg;
    if (!ir::is_float(node.dtype) && !(exact && ir::is_int(node.dtype)))
      return error(
          "SP205",
          fmt::format("output \"{}\" is {}: {} needs floating point", output.name, ir::name(node.dtype), to_string(*step, out.mesh)), key);
  }
  return std::nullopt;
}

Failure Linker::outputs() {
  const Names& seq_names = names(seq_, true);
  // --- which entry speaks for which output
  std::vector<const OutputSpec*> spec_of(seq_->outputs.size(), nullptr);
  std::vector<std::string> name_of(seq_->outputs.size());
  std::vector<const OutputSpec*> globs;
  for (const OutputSpec& spec : m_.outputs) {
    if (manifest::is_glob(spec.key)) {
      globs.push_back(&spec);
      continue;
    }
    int k = seq_names.find(spec.key);
    if (k < 0)
      return error("SP206", fmt::format("the sequential program has no output \"{}\"{}", spec.key, seq_names.nearest(spec.key)),
                   "outputs/" + spec.key);
    if (spec_of[static_cast<size_t>(k)])
      return error("SP206", fmt::format("\"{}\" and \"{}\" are the same output", spec_of[static_cast<size_t>(k)]->key, spec.key),
                   "outputs/" + spec.key);
    spec_of[static_cast<size_t>(k)] = &spec;
    name_of[static_cast<size_t>(k)] = spec.key;
  }
  std::stable_sort(globs.begin(), globs.end(),
                   [](const OutputSpec* x, const OutputSpec* y) { return manifest::specificity(x->key) > manifest::specificity(y->key); });
  size_t plain = seq_->outputs.size() - seq_->handed_on;
  // A value that is returned twice is one output.
  std::vector<char> again(seq_->outputs.size(), 0);
  std::unordered_map<std::string, ir::NodeId> first;
  for (size_t k = 0; k < seq_->outputs.size(); ++k) {
    const frontend::Output& o = seq_->outputs[k];
    if (o.node == ir::kNoNode) continue;
    auto [it, fresh] = first.try_emplace(o.name, o.node);
    again[k] = !fresh && it->second == o.node && !spec_of[k];
  }
  std::vector<char> glob_used(globs.size(), 0);
  for (size_t k = 0; k < seq_->outputs.size(); ++k) {
    for (size_t g = 0; g < globs.size() && !spec_of[k] && !again[k]; ++g)
      for (const std::string& name : seq_names.all(static_cast<int>(k)))
        if (!spec_of[k] && manifest::key_matches(globs[g]->key, name)) {
          spec_of[k] = globs[g];
          glob_used[g] = 1;
        }
  }
  for (size_t g = 0; g < globs.size(); ++g)
    if (!glob_used[g])
      out.warnings.push_back(fmt::format("outputs: \"{}\" matches no output that a more specific entry does not take", globs[g]->key));

  // --- what is checked
  std::vector<size_t> checked;
  size_t unchecked = 0;
  for (size_t k = 0; k < seq_->outputs.size(); ++k) {
    const frontend::Output& o = seq_->outputs[k];
    if (o.node == ir::kNoNode || again[k] || (k >= plain && !spec_of[k])) continue;
    Output output;
    output.name = name_of[k].empty() ? o.name : name_of[k];
    output.sequential = seq_map_[o.node];
    output.checked = !m_.has_outputs || spec_of[k] != nullptr;
    output.distributed.assign(ranks_.size(), ir::kNoNode);
    output.distributed_names.assign(ranks_.size(), "");
    if (!output.checked)
      ++unchecked;
    else
      checked.push_back(k);
    std::string key = spec_of[k] ? "outputs/" + spec_of[k]->key : "outputs";
    std::string of = spec_of[k] ? spec_of[k]->of : "";
    if (of.empty()) of = o.mutated_input;
    if (!o.mutated_input.empty() && !(spec_of[k] && spec_of[k]->role != Role::None)) output.role = Role::Updated;
    if (output.checked) {
      OutputSpec mutated;
      const OutputSpec* spec = spec_of[k];
      if (output.role == Role::Updated) {  // in-place writes are updates, whatever else is said
        if (spec) mutated = *spec;
        mutated.role = Role::Updated;
        spec = &mutated;
      }
      if (Failure f = expectation(output, spec, of, key)) return f;
    }
    out.outputs.push_back(std::move(output));
  }
  if (checked.empty()) return error("SP212", "no output is checked: a proof would be about nothing", "outputs");
  if (unchecked > 0) out.warnings.push_back(fmt::format("{} outputs of the sequential program are not checked", unchecked));

  // --- their distributed values
  out.returned.resize(ranks_.size());
  for (size_t r = 0; r < ranks_.size(); ++r)
    for (const frontend::Output& o : ranks_[r]->outputs)
      if (o.node != ir::kNoNode) out.returned[r].try_emplace(std::string(manifest::strip_percent(o.name)), map_[r][o.node]);
  std::vector<std::vector<int>> paired(ranks_.size(), std::vector<int>(seq_->outputs.size(), -1));
  auto wanted = [&](const Output& output, size_t r) {
    return output.expect.kind != Placement::Kind::Steps || holds(output.expect, out.mesh, static_cast<int64_t>(r));
  };
  std::vector<Output*> of_index(seq_->outputs.size(), nullptr);
  for (size_t k = 0, index = 0; k < seq_->outputs.size(); ++k)
    if (seq_->outputs[k].node != ir::kNoNode && !again[k] && (k < plain || spec_of[k])) of_index[k] = &out.outputs[index++];
  std::vector<size_t> by_default;
  for (size_t k : checked) {
    Output& output = *of_index[k];
    const OutputSpec* spec = spec_of[k];
    bool terms = output.expect.kind == Placement::Kind::Terms;  // its names stand in the terms
    if (!spec || spec->dist.empty()) {
      if (!terms) by_default.push_back(k);
      continue;
    }
    if (spec->dist.size() != 1 && spec->dist.size() != ranks_.size())
      return error(
          "SP203",
          fmt::format("\"dist\" of output \"{}\" lists {} names, but there are {} ranks", spec->key, spec->dist.size(), ranks_.size()),
          "outputs/" + spec->key);
    bool somewhere = false;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const std::optional<std::string>& name = spec->dist[spec->dist.size() == 1 ? 0 : r];
      bool want = wanted(output, r), any = output.expect.kind == Placement::Kind::Any;
      int d = name ? names(ranks_[r], true).find(*name) : -1;
      if (name && d < 0 && (want || spec->dist.size() > 1) && !any)
        return error("SP206", fmt::format("{} has no output \"{}\"{}", rank_name(r), *name, names(ranks_[r], true).nearest(*name)),
                     "outputs/" + spec->key);
      if (name && d < 0 && any && spec->dist.size() > 1)
        return error("SP206", fmt::format("{} has no output \"{}\"{}", rank_name(r), *name, names(ranks_[r], true).nearest(*name)),
                     "outputs/" + spec->key);
      if (!name && want && !any && !terms)
        return error("SP206",
                     fmt::format("\"dist\" of output \"{}\" gives {} no value, but {} needs one there", spec->key, rank_name(r),
                                 to_string(output.expect, out.mesh)),
                     "outputs/" + spec->key);
      if (d >= 0 && !want)
        return error("SP206",
                     fmt::format("{} has an output \"{}\", but under {} output \"{}\" has no value there; write null for this rank",
                                 rank_name(r), *name, to_string(output.expect, out.mesh), spec->key),
                     "outputs/" + spec->key);
      paired[r][k] = d;
      somewhere |= d >= 0;
    }
    if (!somewhere)
      return error("SP206",
                   fmt::format("no rank has the output that \"dist\" of \"{}\" names{}", spec->key,
                               spec->dist[0] ? names(ranks_[0], true).nearest(*spec->dist[0]) : ""),
                   "outputs/" + spec->key);
  }

  // By default: all by name, else all by position. Mutated inputs go with their input.
  std::vector<std::string> how;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const ProgramPtr& p = ranks_[r];
    const Names& dist_names = names(p, true);
    std::vector<std::string> missing;
    bool named = true;
    std::vector<size_t> plain_outputs;
    for (size_t k : by_default) {
      const frontend::Output& o = seq_->outputs[k];
      bool want = wanted(*of_index[k], r);
      int d = -1;
      if (!o.mutated_input.empty()) {
        int index = names(seq_, false).find(o.mutated_input);
        int i = index < 0 ? -1 : input_of_[static_cast<size_t>(index)];
        int partner = i < 0 ? -1 : inputs_[static_cast<size_t>(i)].dist[r];
        if (partner >= 0)
          for (size_t j = 0; j < p->outputs.size(); ++j)
            if (p->outputs[j].node != ir::kNoNode && names(p, false).find(p->outputs[j].mutated_input) == partner &&
                !p->outputs[j].mutated_input.empty())
              d = static_cast<int>(j);
        if (d < 0 && want && partner >= 0)
          return error(
              "SP209",
              fmt::format(
                  "the sequential program writes to its input \"{}\", but {} does not write to its partner \"{}\"; pair it in \"outputs\"",
                  o.mutated_input, rank_name(r), p->inputs[static_cast<size_t>(partner)].name),
              "outputs");
        paired[r][k] = d;
        continue;
      }
      plain_outputs.push_back(k);
      const std::vector<std::string>& all = seq_names.all(static_cast<int>(k));
      for (size_t j = 0; j + 1 < all.size() && d < 0; ++j) d = dist_names.find_name(all[j]);
      if (d >= 0 && !want)
        return error("SP206",
                     fmt::format("{} has an output \"{}\", but under {} it has no value there; write null for this rank in \"dist\"",
                                 rank_name(r), p->outputs[static_cast<size_t>(d)].name, to_string(of_index[k]->expect, out.mesh)),
                     "outputs");
      if (d < 0 && want) {
        named = false;
        missing.push_back(o.name);
      }
      paired[r][k] = d;
    }
    if (named) {
      if (!plain_outputs.empty()) how.push_back("name");
      continue;
    }
    // By position among the values returned (not the mutated inputs).
    std::vector<size_t> left, right;
    for (size_t k = 0; k < plain; ++k)
      if (seq_->outputs[k].node != ir::kNoNode && seq_->outputs[k].mutated_input.empty()) left.push_back(k);
    for (size_t k = 0; k + p->handed_on < p->outputs.size(); ++k)
      if (p->outputs[k].node != ir::kNoNode && p->outputs[k].mutated_input.empty()) right.push_back(k);
    if (left.size() != right.size())
      return error("SP209",
                   fmt::format("outputs of {} cannot be paired: by name {} ha{} no partner, and by position {} sequential outputs face {} "
                               "distributed ones; use \"dist\"",
                               rank_name(r),
                               missing.size() > 5 ? fmt::format("{} outputs", missing.size()) : fmt::format("{}", fmt::join(missing, ", ")),
                               missing.size() == 1 ? "s" : "ve", left.size(), right.size()),
                   "outputs");
    how.push_back("position");
    for (size_t k : plain_outputs) {
      auto it = std::find(left.begin(), left.end(), k);
      paired[r][k] = wanted(*of_index[k], r) && it != left.end() ? static_cast<int>(right[static_cast<size_t>(it - left.begin())]) : -1;
    }
  }
  for (const std::string& word : {std::string("name"), std::string("position")}) {
    size_t count = static_cast<size_t>(std::count(how.begin(), how.end(), word));
    if (count == ranks_.size())
      out.assumptions.push_back(fmt::format("outputs without \"dist\" are paired by {}", word));
    else if (count > 0)
      out.assumptions.push_back(fmt::format("outputs without \"dist\" of {} of {} ranks are paired by {}", count, ranks_.size(), word));
  }
  for (size_t k : checked) {
    Output& output = *of_index[k];
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (paired[r][k] < 0) continue;
      const frontend::Output& o = ranks_[r]->outputs[static_cast<size_t>(paired[r][k])];
      output.distributed[r] = map_[r][o.node];
      output.distributed_names[r] = o.name;
    }
    if (global_) cut_global(output, paired, k);
    for (ir::NodeId node : output.distributed)
      if (node != ir::kNoNode && poisoned_[node]) output.blocked = blocked_;
    if (output.expect.kind == Placement::Kind::Terms) {
      for (const manifest::Term& term : output.expect.terms)
        if (std::string e = block_terms(term, output); !e.empty())
          return error("SP206", fmt::format("what is expected of output \"{}\": {}", output.name, e), "outputs/" + output.name);
    }
  }
  return one_sided_mutations(spec_of, paired);
}

// Before partitioning a rank holds its part of each output: by what the module states, else by what is expected.
void Linker::cut_global(Output& output, const std::vector<std::vector<int>>& paired, size_t k) {
  const ir::Shape& shape = out.graph[output.sequential].shape;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    ir::NodeId& node = output.distributed[r];
    if (node == ir::kNoNode || b_.shape(node) != shape) continue;
    const frontend::Output& o = ranks_[r]->outputs[static_cast<size_t>(paired[r][k])];
    std::optional<Placement> placement;
    if (o.sharding.syntax != frontend::StatedSharding::Syntax::None) {
      Result<Placement> stated = manifest::from_stated(o.sharding, ranks_[r]->meshes, out.mesh, shape);
      if (stated && reductions(*stated).empty()) placement = *stated;
    }
    if (!placement && output.expect.kind == Placement::Kind::Steps) placement = output.expect;
    Part part;
    if (!placement || !part_of(*placement, out.mesh, shape, static_cast<int64_t>(r), part).empty()) continue;
    b_.label = o.name;
    bool poisoned = poisoned_[node] != 0;
    std::vector<ir::NodeId> fresh;
    node = view(b_, node, part, Padding::Make, fmt::format("{}@rank{}", o.name, r), &fresh);
    out.free_inputs.insert(out.free_inputs.end(), fresh.begin(), fresh.end());
    side(static_cast<int>(r));
    poisoned_.resize(out.graph.nodes.size(), poisoned);
  }
}

// Checks that a term's names are returned somewhere, and whether communication blocks one.
std::string Linker::block_terms(const manifest::Term& term, Output& output) {
  for (const manifest::Term& item : term.items)
    if (std::string e = block_terms(item, output); !e.empty()) return e;
  if (term.kind != manifest::Term::Kind::Name) return "";
  if (term.rank >= static_cast<int64_t>(ranks_.size())) return fmt::format("there is no rank {}", term.rank);
  bool found = false;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (term.rank >= 0 && term.rank != static_cast<int64_t>(r)) continue;
    int d = names(ranks_[r], true).find(term.name);
    if (d < 0) continue;
    found = true;
    ir::NodeId node = map_[r][ranks_[r]->outputs[static_cast<size_t>(d)].node];
    out.returned[r].try_emplace(term.name, node);
    if (output.distributed[r] == ir::kNoNode) {
      output.distributed[r] = node;
      output.distributed_names[r] = ranks_[r]->outputs[static_cast<size_t>(d)].name;
    }
    if (poisoned_[node]) output.blocked = blocked_;
  }
  return found ? ""
               : fmt::format("no rank{} has an output \"{}\"{}", term.rank >= 0 ? fmt::format(" {}", term.rank) : "", term.name,
                             names(ranks_[0], true).nearest(term.name));
}

// An input that only one side writes to, without an entry that pairs it, is a difference that nobody would see.
Failure Linker::one_sided_mutations(const std::vector<const OutputSpec*>& spec_of, const std::vector<std::vector<int>>& paired) {
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const frontend::Program& p = *ranks_[r];
    for (size_t d = 0; d < p.outputs.size(); ++d) {
      if (p.outputs[d].mutated_input.empty() || p.outputs[d].node == ir::kNoNode) continue;
      if (std::find(paired[r].begin(), paired[r].end(), static_cast<int>(d)) != paired[r].end()) continue;
      int partner = names(ranks_[r], false).find(p.outputs[d].mutated_input);
      bool both = false;
      for (const frontend::Output& o : seq_->outputs) {
        int index = o.mutated_input.empty() ? -1 : names(seq_, false).find(o.mutated_input);
        int i = index < 0 ? -1 : input_of_[static_cast<size_t>(index)];
        both |= i >= 0 && inputs_[static_cast<size_t>(i)].dist[r] == partner;
      }
      if (!both)
        return error(
            "SP209",
            fmt::format(
                "{} writes to its input \"{}\", but the sequential program does not write to its partner; pair \"{}\" in \"outputs\"",
                rank_name(r), p.outputs[d].mutated_input, p.outputs[d].name),
            "outputs");
    }
  }
  for (size_t k = 0; k < seq_->outputs.size(); ++k) {
    const frontend::Output& o = seq_->outputs[k];
    if (o.mutated_input.empty() || o.node == ir::kNoNode || spec_of[k] || !m_.has_outputs) continue;
    int index = names(seq_, false).find(o.mutated_input);
    int i = index < 0 ? -1 : input_of_[static_cast<size_t>(index)];
    for (size_t r = 0; i >= 0 && r < ranks_.size(); ++r) {
      int partner = inputs_[static_cast<size_t>(i)].dist[r];
      if (partner < 0) continue;
      bool both = std::any_of(ranks_[r]->outputs.begin(), ranks_[r]->outputs.end(), [&](const frontend::Output& x) {
        return !x.mutated_input.empty() && names(ranks_[r], false).find(x.mutated_input) == partner;
      });
      if (!both)
        return error(
            "SP209",
            fmt::format(
                "the sequential program writes to its input \"{}\", but {} does not write to its partner; pair \"{}\" in \"outputs\"",
                o.mutated_input, rank_name(r), o.name),
            "outputs");
    }
  }
  return std::nullopt;
}

}  // namespace shardproof::link
