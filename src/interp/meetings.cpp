// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// One evaluation in plain doubles, and the table of fingerprints asked for partial sums. What agrees by accident costs the prover a
// comparison that fails, and nothing else.
#include "interp/meetings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "interp/fingerprint.h"
#include "interp/inputs.h"

namespace shardproof::interp {

std::vector<Meeting> meetings(const link::Problem& problem, const std::vector<size_t>& outputs, const Options& options) {
  const ir::Graph& g = problem.graph;
  const InputMaker maker(problem);
  constexpr double kWork = 4e8, kTolerance = 1e-9;
  const Inputs inputs = maker.make(options.seed, maker.dense_work() <= kWork ? Detail::Dense : Detail::Coarse, 0);
  Config config = Config::doubles();
  config.max_bytes = std::min(static_cast<size_t>(options.bytes), size_t{1} << 28);
  config.max_work = 2 * kWork;
  config.deadline =
      util::WorkClock::now() + std::chrono::duration_cast<util::WorkClock::duration>(std::chrono::duration<double>(options.seconds));
  Evaluator evaluator(g, inputs, config);
  std::vector<ir::NodeId> targets;
  for (const size_t k : outputs) {
    const link::Output& o = problem.outputs[k];
    if (o.sequential != ir::kNoNode) targets.push_back(o.sequential);
    for (const ir::NodeId d : o.distributed) {
      if (d != ir::kNoNode) targets.push_back(d);
    }
  }
  evaluator.run(targets);
  const size_t count = problem.side.size();
  std::vector<ir::NodeId> values;
  std::vector<char> cone(count, 0);
  for (const ir::NodeId t : targets) cone[t] = 1;
  for (size_t id = count; id-- > 0;) {
    if (cone[id] == 0) continue;
    for (const ir::NodeId x : g.nodes[id].in) cone[x] = 1;
  }
  for (ir::NodeId id = 0; id < count; ++id) {
    if (cone[id] != 0 && ir::is_float(g[id].dtype) && problem.side[id] >= link::kSequential && evaluator.get(id) != nullptr)
      values.push_back(id);
  }
  const Fingerprints prints(problem, evaluator, values);
  std::vector<Meeting> out;
  std::set<size_t> taken;  // families
  for (const ir::NodeId id : values) {
    if (problem.side[id] != link::kSequential || prints.print(id).constant) continue;
    for (const Holding& h : prints.holdings(id)) {
      if (h.how != Holding::How::Partial || taken.count(h.family) != 0) continue;
      // The groups of ranks that differ in those axes alone.
      std::map<int64_t, std::vector<ir::NodeId>> groups;
      const std::vector<ir::NodeId>& nodes = prints.families()[h.family].nodes;
      for (size_t rank = 0; rank < nodes.size(); ++rank) {
        if (nodes[rank] != ir::kNoNode) groups[group_of(problem.mesh, static_cast<int64_t>(rank), h.axes)].push_back(nodes[rank]);
      }
      // Copies add up, too, to what is twice as much; and pieces with zeros around them, which masks make: what a mask says is lost in a
      // name.
      const std::vector<ir::NodeId>& some = groups.begin()->second;
      if (some.size() < 2) continue;  // an axis of one rank
      const Print &x = prints.print(some[0]), &y = prints.print(some[1]), &whole = prints.print(id);
      if (x.sum == y.sum && x.squares == y.squares && x.weighted == y.weighted) continue;
      double squares = 0;
      for (const ir::NodeId part : some) squares += prints.print(part).squares;
      if (std::fabs(squares - whole.squares) <= kTolerance * whole.squares) continue;
      taken.insert(h.family);
      for (auto& [key, parts] : groups) out.push_back({id, std::move(parts)});
    }
  }
  // What a rank holds whole, or as a slice.
  for (const ir::NodeId id : values) {
    if (problem.side[id] != link::kSequential || prints.print(id).constant) continue;
    const ir::Shape& shape = g[id].shape;
    for (const Holding& h : prints.holdings(id)) {
      if (h.how == Holding::How::Partial || taken.count(h.family) != 0) continue;
      const std::vector<ir::NodeId>& nodes = prints.families()[h.family].nodes;
      std::map<int64_t, ir::Shape> next;  // of each group: where its next rank's slice starts
      std::vector<Meeting> found;
      bool fits = true;
      for (size_t rank = 0; rank < nodes.size() && fits; ++rank) {
        if (nodes[rank] == ir::kNoNode) continue;
        const ir::Shape& part = g[nodes[rank]].shape;
        ir::Shape& start = next.try_emplace(group_of(problem.mesh, static_cast<int64_t>(rank), h.axes), shape.size(), 0).first->second;
        fits = part.size() == shape.size();
        int differ = 0;
        size_t dim = 0;
        for (size_t d = 0; d < shape.size() && fits; ++d) {
          if (part[d] == shape[d]) continue;
          ++differ, dim = d;
          fits = start[d] + part[d] <= shape[d];
        }
        fits = fits && differ == (h.axes == 0 ? 0 : 1);
        if (!fits) break;
        found.push_back({id, {nodes[rank]}, start, true});
        if (differ > 0) start[dim] += part[dim];
      }
      if (!fits) continue;
      taken.insert(h.family);
      std::move(found.begin(), found.end(), std::back_inserter(out));
    }
  }
  return out;
}

}  // namespace shardproof::interp
