// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "link/graph_shapes.h"

#include <algorithm>

#include "manifest/match.h"

namespace shardproof::link {
namespace {

// The local shape under a placement of plain even cuts; nullopt for anything else.
std::optional<ir::Shape> local_shape(ir::Shape s, const manifest::Placement& placement, const manifest::Manifest& m) {
  using Step = manifest::Step;
  for (const Step& step : placement.steps) {
    if (step.kind != Step::Kind::Shard) continue;  // the others keep the shape
    if (!step.blocks.empty() || step.equal_blocks != 1 || !step.chunks.empty() || step.padded != 0 || !m.mesh) return std::nullopt;
    int64_t parts = 1;
    for (int axis : step.axes) parts *= m.mesh->axes[static_cast<size_t>(axis)].size;
    int64_t dim = step.dim < 0 ? step.dim + static_cast<int64_t>(s.size()) : step.dim;
    if (dim < 0 || dim >= static_cast<int64_t>(s.size()) || parts < 1 || s[static_cast<size_t>(dim)] % parts != 0) return std::nullopt;
    s[static_cast<size_t>(dim)] /= parts;
  }
  return s;
}

}  // namespace

lower::InputShapes graph_input_shapes(const manifest::Manifest& manifest, const std::vector<std::string>& missing,
                                      const frontend::Program& sequential) {
  lower::InputShapes out;
  auto give = [&](const std::string& name, const ir::Shape& shape) {
    if (std::find(missing.begin(), missing.end(), name) != missing.end()) out.emplace(name, shape);
  };
  size_t position = 0;
  for (const frontend::Input& x : sequential.inputs) {
    if (x.node == ir::kNoNode) continue;
    const ir::Shape shape = sequential.graph[x.node].shape;
    std::vector<std::string> names{x.name, std::to_string(position++)};
    names.insert(names.end(), x.aliases.begin(), x.aliases.end());
    const manifest::Placement* placement = nullptr;
    long best = -1;
    for (const auto& [key, p] : manifest.inputs) {
      bool fits = std::any_of(names.begin(), names.end(), [&, &key = key](const std::string& n) { return manifest::key_matches(key, n); });
      if (fits && manifest::specificity(key) > best) best = manifest::specificity(key), placement = &p;
    }
    for (const manifest::ExtraInput& e : manifest.extra_inputs)
      if (e.kind == manifest::ExtraInput::Kind::SameAs && std::find(names.begin(), names.end(), e.same_as) != names.end())
        give(e.name, shape);
    if (!placement) continue;
    if (placement->kind == manifest::Placement::Kind::Terms) {
      for (const manifest::Term& term : placement->terms)
        if (term.kind == manifest::Term::Kind::Name) give(term.name, shape);
      continue;
    }
    std::optional<ir::Shape> local = local_shape(shape, *placement, manifest);
    if (!local) continue;
    bool renamed = false;
    for (const auto& [from, to] : manifest.rename) {
      if (std::find(names.begin(), names.end(), from) == names.end()) continue;
      renamed = true;
      for (const auto& name : to)
        if (name) give(*name, *local);
    }
    if (!renamed) give(x.name, *local);
  }
  return out;
}

}  // namespace shardproof::link
