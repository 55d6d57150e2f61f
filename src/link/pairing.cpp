// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Which placement covers which sequential input, and which distributed input is it on each rank.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "link/linker.h"
#include "link/sources.h"
#include "manifest/match.h"

namespace shardproof::link {

using manifest::Placement;

namespace {

std::string shorten(const std::vector<std::string>& names) {
  std::vector<std::string> head(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(names.size(), 5)));
  return fmt::format("{}{}", fmt::join(head, ", "), names.size() > 5 ? fmt::format(" and {} more", names.size() - 5) : "");
}

void names_in(const manifest::Term& term, std::vector<const manifest::Term*>& out) {
  if (term.kind == manifest::Term::Kind::Name) out.push_back(&term);
  for (const manifest::Term& item : term.items) names_in(item, out);
}

}  // namespace

// Finds the placement of every sequential tensor input: exact names first, then the most specific glob, then inference.
Failure Linker::cover() {
  const Names& names = this->names(seq_, false);
  std::vector<size_t> globs;
  std::vector<int> exact(seq_->inputs.size(), -1);
  for (size_t k = 0; k < m_.inputs.size(); ++k) {
    const std::string& key = m_.inputs[k].first;
    if (manifest::is_glob(key)) {
      globs.push_back(k);
      continue;
    }
    int index = names.find(key);
    if (index < 0) {
      out.warnings.push_back(fmt::format("inputs: the sequential program has no input \"{}\"{}", key, names.nearest(key)));
      continue;
    }
    if (exact[static_cast<size_t>(index)] >= 0)
      return error(
          "SP206",
          fmt::format("\"{}\" and \"{}\" are the same input", m_.inputs[static_cast<size_t>(exact[static_cast<size_t>(index)])].first, key),
          "inputs/" + key);
    exact[static_cast<size_t>(index)] = static_cast<int>(k);
  }
  std::stable_sort(globs.begin(), globs.end(), [&](size_t x, size_t y) {
    return manifest::specificity(m_.inputs[x].first) > manifest::specificity(m_.inputs[y].first);
  });
  input_of_.assign(seq_->inputs.size(), -1);
  std::vector<std::string> missing;
  for (size_t i = 0; i < seq_->inputs.size(); ++i) {
    const frontend::Input& in = seq_->inputs[i];
    if (in.node == ir::kNoNode) continue;
    Input input;
    input.index = static_cast<int>(i);
    input.dist.assign(ranks_.size(), -1);
    int entry = exact[i];
    for (size_t g = 0; g < globs.size() && entry < 0; ++g)
      for (const std::string& name : names.all(static_cast<int>(i)))
        if (manifest::key_matches(m_.inputs[globs[g]].first, name)) entry = static_cast<int>(globs[g]);
    if (!m_.constants.empty())
      for (const std::string& name : names.all(static_cast<int>(i)))
        if (!input.constant && !(names.positional(static_cast<int>(i)) && name == names.all(static_cast<int>(i)).back()))
          input.constant = find_constant(m_, name, -1);
    if (entry >= 0) {
      input.covered = true;
      input.key = "inputs/" + m_.inputs[static_cast<size_t>(entry)].first;
      input.placement = m_.inputs[static_cast<size_t>(entry)].second;
    } else if (!input.constant && !m_.infer) {
      missing.push_back(names.all(static_cast<int>(i))[0]);
    }
    input_of_[i] = static_cast<int>(inputs_.size());
    inputs_.push_back(std::move(input));
  }
  if (!missing.empty())
    return error("SP207",
                 fmt::format("no placement for the sequential input{} {}: add {} to \"inputs\" (or set infer = true)",
                             missing.size() == 1 ? "" : "s", shorten(missing), missing.size() == 1 ? "it" : "them"),
                 "inputs");
  return std::nullopt;
}

Failure Linker::pair_inputs() {
  const Names& seq_names = names(seq_, false);
  taken_.resize(ranks_.size());
  for (size_t r = 0; r < ranks_.size(); ++r) taken_[r].assign(ranks_[r]->inputs.size(), 0);

  // Renamed inputs.
  std::vector<char> renamed(inputs_.size(), 0);
  for (const auto& [key, list] : m_.rename) {
    int index = seq_names.find(key);
    int i = index < 0 ? -1 : input_of_[static_cast<size_t>(index)];
    if (i < 0) {
      out.warnings.push_back(fmt::format("rename: the sequential program has no input \"{}\"{}", key, seq_names.nearest(key)));
      continue;
    }
    Input& input = inputs_[static_cast<size_t>(i)];
    renamed[static_cast<size_t>(i)] = 1;
    if (list.size() != 1 && list.size() != ranks_.size())
      return error("SP203", fmt::format("\"rename\" of \"{}\" lists {} names, but there are {} ranks", key, list.size(), ranks_.size()),
                   "rename/" + key);
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const std::optional<std::string>& name = list[list.size() == 1 ? 0 : r];
      bool need = input.placement.kind != Placement::Kind::Terms && holds(input.placement, out.mesh, static_cast<int64_t>(r));
      const Names& dist_names = names(ranks_[r], false);
      int d = name ? dist_names.find(*name) : -1;
      if (need && !name)
        return error("SP206",
                     fmt::format("\"rename\" of \"{}\" gives {} no name, but {} holds a part of it", key, rank_name(r),
                                 to_string(input.placement, out.mesh)),
                     "rename/" + key);
      if (need && d < 0)
        return error("SP206",
                     fmt::format("{} has no input \"{}\" (\"rename\" of \"{}\"){}", rank_name(r), *name, key, dist_names.nearest(*name)),
                     "rename/" + key);
      if (!need && d >= 0 && input.placement.kind != Placement::Kind::Terms)
        return error(
            "SP206",
            fmt::format("{} has an input \"{}\", but by the placement {} of \"{}\" it has no value there; write null for this rank",
                        rank_name(r), *name, to_string(input.placement, out.mesh), key),
            "rename/" + key);
      if (d < 0) continue;
      if (taken_[r][static_cast<size_t>(d)])
        return error("SP206", fmt::format("input \"{}\" of {} is the partner of two sequential inputs", *name, rank_name(r)),
                     "rename/" + key);
      taken_[r][static_cast<size_t>(d)] = 1;
      input.dist[r] = d;
    }
  }

  // Extra inputs and the names of free terms.
  for (const manifest::ExtraInput& extra : m_.extra_inputs) {
    bool found = false;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      int d = names(ranks_[r], false).find(extra.name);
      if (d < 0) continue;
      found = true;
      taken_[r][static_cast<size_t>(d)] = 2;
    }
    if (!found)
      return error("SP206",
                   fmt::format("no rank has an input \"{}\" (extra_inputs){}", extra.name, names(ranks_[0], false).nearest(extra.name)),
                   "extra_inputs/" + extra.name);
  }
  for (Input& input : inputs_) {
    if (input.placement.kind != Placement::Kind::Terms) continue;
    std::vector<const manifest::Term*> leaves;
    for (const manifest::Term& term : input.placement.terms) names_in(term, leaves);
    for (const manifest::Term* leaf : leaves) {
      if (leaf->rank >= static_cast<int64_t>(ranks_.size()))
        return error("SP205", fmt::format("the term names rank {}, but there are {} ranks", leaf->rank, ranks_.size()), input.key);
      bool found = false;
      for (size_t r = 0; r < ranks_.size(); ++r) {
        if (leaf->rank >= 0 && leaf->rank != static_cast<int64_t>(r)) continue;
        int d = names(ranks_[r], false).find(leaf->name);
        if (d < 0) continue;
        found = true;
        taken_[r][static_cast<size_t>(d)] = 3;
      }
      if (!found)
        return error("SP206",
                     fmt::format("{} has no input \"{}\" (placement of \"{}\"){}",
                                 leaf->rank >= 0 ? rank_name(static_cast<size_t>(leaf->rank)) : "no rank", leaf->name,
                                 seq_->inputs[static_cast<size_t>(input.index)].name, names(ranks_[0], false).nearest(leaf->name)),
                     input.key);
    }
  }

  std::vector<std::string> how(ranks_.size());
  for (size_t r = 0; r < ranks_.size(); ++r) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (renamed[i]) inputs_[i].dist[r] = inputs_[i].dist[r] < 0 ? -2 : inputs_[i].dist[r];  // -2: settled, none
    if (Failure f = pair_rank(r, how[r])) return f;
    for (Input& input : inputs_)
      if (input.dist[r] == -2) input.dist[r] = -1;
  }
  for (const std::string& word : {std::string("name"), std::string("position")}) {
    size_t count = static_cast<size_t>(std::count(how.begin(), how.end(), word));
    if (count == ranks_.size())
      out.assumptions.push_back(fmt::format("inputs are paired by {}", word));
    else if (count > 0)
      out.assumptions.push_back(fmt::format("inputs of {} of {} ranks are paired by {}", count, ranks_.size(), word));
  }
  return check_leftovers();
}

// Pairs what is left on one rank: all by name, else all by position.
Failure Linker::pair_rank(size_t r, std::string& how) {
  const Names& seq_names = names(seq_, false);
  const Names& dist_names = names(ranks_[r], false);
  struct Need {
    size_t input;
    bool must;
    bool optional;
  };
  std::vector<Need> needs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.dist[r] != -1 || input.placement.kind == Placement::Kind::Terms) continue;
    bool here = holds(input.placement, out.mesh, static_cast<int64_t>(r));
    needs.push_back({i, here, input.constant != nullptr});
  }
  if (needs.empty()) return std::nullopt;
  auto by = [&](bool official, std::vector<int>& found, std::vector<std::string>& missing) {
    std::vector<char> used = taken_[r];
    for (const Need& need : needs) {
      int index = inputs_[need.input].index, d = -1;
      const std::vector<std::string>& all = seq_names.all(index);
      for (size_t k = 0; k + 1 < all.size() && d < 0; ++k) {  // the last one is the position
        if (official && k > 0) break;
        d = dist_names.find_name(all[k]);
        if (d >= 0 && used[static_cast<size_t>(d)]) d = -1;
      }
      if (d >= 0)
        used[static_cast<size_t>(d)] = 1;
      else if (need.must && !need.optional)
        missing.push_back(all[0]);
      found.push_back(d);
    }
    return missing.empty();
  };
  std::vector<int> found;
  std::vector<std::string> missing, ignored;
  bool ok = by(true, found, missing);
  if (!ok) {
    found.clear();
    ok = by(false, found, ignored);
  }
  if (ok) {
    how = "name";
    for (size_t k = 0; k < needs.size(); ++k) {
      Input& input = inputs_[needs[k].input];
      if (found[k] < 0) continue;
      if (!needs[k].must)
        return error("SP206",
                     fmt::format("{} has an input \"{}\", but by the placement {} it has no value there", rank_name(r),
                                 ranks_[r]->inputs[static_cast<size_t>(found[k])].name, to_string(input.placement, out.mesh)),
                     input.key);
      taken_[r][static_cast<size_t>(found[k])] = 1;
      input.dist[r] = found[k];
    }
    return std::nullopt;
  }
  std::vector<size_t> left;
  std::vector<int> right;
  for (const Need& need : needs)
    if (need.must) left.push_back(need.input);
  for (size_t d = 0; d < ranks_[r]->inputs.size(); ++d)
    if (ranks_[r]->inputs[d].node != ir::kNoNode && !taken_[r][d]) right.push_back(static_cast<int>(d));
  if (left.size() != right.size()) {
    return error("SP209",
                 fmt::format("inputs of {} cannot be paired: by name {} ha{} no partner, and by position {} sequential inputs face {} "
                             "distributed ones; use \"rename\" "
                             "(and \"extra_inputs\" for inputs that only the distributed program has)",
                             rank_name(r), shorten(missing), missing.size() == 1 ? "s" : "ve", left.size(), right.size()),
                 m_.rename.empty() ? "inputs" : "rename");
  }
  how = "position";
  for (size_t k = 0; k < left.size(); ++k) {
    inputs_[left[k]].dist[r] = right[k];
    taken_[r][static_cast<size_t>(right[k])] = 1;
  }
  return std::nullopt;
}

// What no sequential input stands behind must be listed, unless nothing uses it or the manifest gives its value.
Failure Linker::check_leftovers() {
  std::unordered_map<const frontend::Program*, std::vector<char>> used_of;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const frontend::Program& p = *ranks_[r];
    for (size_t d = 0; d < p.inputs.size(); ++d) {
      const frontend::Input& in = p.inputs[d];
      if (in.node == ir::kNoNode || taken_[r][d]) continue;
      if (find_constant(m_, in.name, static_cast<int64_t>(r))) {
        taken_[r][d] = 4;
        continue;
      }
      std::vector<char>& used = used_of[&p];
      if (used.empty()) {
        used.assign(p.graph.nodes.size(), 0);
        for (const ir::Node& node : p.graph.nodes)
          for (ir::NodeId operand : node.in) used[operand] = 1;
        for (const frontend::Output& o : p.outputs)
          if (o.node != ir::kNoNode) used[o.node] = 1;
      }
      if (used[in.node])
        return error(
            "SP209",
            fmt::format("input \"{}\" of {} has no sequential partner: name its partner in \"rename\", or its value in \"extra_inputs\"",
                        in.name, rank_name(r)),
            m_.rename.empty() ? "inputs" : "rename");
      taken_[r][d] = 5;
    }
  }
  return std::nullopt;
}

// Placements that the graphs state, or that shapes leave no choice in.
Failure Linker::infer() {
  for (Input& input : inputs_) {
    if (input.covered || input.constant) continue;
    const frontend::Input& in = seq_->inputs[static_cast<size_t>(input.index)];
    const ir::Shape& shape = seq_->graph[in.node].shape;
    auto local = [&](size_t r) -> const ir::Shape* {
      return input.dist[r] < 0 ? nullptr : &ranks_[r]->graph[ranks_[r]->inputs[static_cast<size_t>(input.dist[r])].node].shape;
    };
    auto fits = [&](const Placement& p) {
      for (size_t r = 0; r < ranks_.size(); ++r) {
        Part part;
        if (!part_of(p, out.mesh, shape, static_cast<int64_t>(r), part).empty()) return false;
        if (const ir::Shape* s = local(r); !s || (*s != part.shape && !(ranks_[r]->global_shapes && *s == shape))) return false;
      }
      return true;
    };
    std::optional<Placement> chosen;
    std::string why;
    for (size_t side = 0; side < 2 && !chosen; ++side) {
      const frontend::Program& p = side == 0 ? *ranks_[0] : *seq_;
      if (side == 0 && input.dist[0] < 0) continue;
      const frontend::StatedSharding& stated = side == 0 ? p.inputs[static_cast<size_t>(input.dist[0])].sharding : in.sharding;
      if (stated.syntax == frontend::StatedSharding::Syntax::None) continue;
      Result<Placement> placement = manifest::from_stated(stated, p.meshes, out.mesh, shape);
      if (placement && fits(*placement)) {
        chosen = *placement;
        why = "stated by the program";
      }
    }
    if (!chosen) {
      std::vector<Placement> candidates{Placement{}};
      for (size_t d = 0; d < shape.size(); ++d) {
        for (size_t axis = 0; axis <= out.mesh.axes.size(); ++axis) {
          manifest::Step step;
          step.dim = static_cast<int64_t>(d);
          if (axis < out.mesh.axes.size())
            step.axes = {static_cast<int>(axis)};
          else
            for (size_t k = 0; k < out.mesh.axes.size(); ++k) step.axes.push_back(static_cast<int>(k));
          if (axis == out.mesh.axes.size() && axis < 2) continue;
          if (axis < out.mesh.axes.size() && out.mesh.axes[axis].size == 1) continue;
          Placement p;
          p.steps.push_back(std::move(step));
          candidates.push_back(std::move(p));
        }
      }
      std::vector<Placement> fitting;
      for (Placement& p : candidates)
        if (fits(p)) fitting.push_back(std::move(p));
      if (fitting.size() == 1) {
        chosen = fitting[0];
        why = "the shapes leave no other choice among plain cuts";
      } else {
        return error(
            "SP207",
            fmt::format("the placement of input \"{}\" cannot be inferred: {}; add it to \"inputs\"", in.name,
                        fitting.empty() ? "no plain cut fits the shapes" : fmt::format("{} placements fit the shapes", fitting.size())),
            "inputs");
      }
    }
    input.placement = *chosen;
    input.covered = input.inferred = true;
    out.assumptions.push_back(
        fmt::format("inferred: input {} is {} ({})", names(seq_, false).all(input.index)[0], to_string(*chosen, out.mesh), why));
  }
  return std::nullopt;
}

}  // namespace shardproof::link
