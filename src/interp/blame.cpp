// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Finds the first sequential operator, on the way to a wrong output, whose value no distributed tensor holds.
//
// Idea: go back from the output through sequential values that nothing holds, and stop at those that something holds (whole, cut or as
// partial sums). The operators of that region whose operands are all held are where it begins; the first of them in program order is
// blamed. Its counterpart among the distributed operators is the one that reads what holds its operands, is of the same kind and, if
// possible, of the same name.
#include "interp/blame.h"

#include <algorithm>
#include <set>

#include "util/result.h"

namespace shardproof::interp {

Blamer::Blamer(const link::Problem& problem, std::shared_ptr<const Inputs> inputs, const Options& options,
               util::WorkClock::time_point deadline)
    : problem_(problem), inputs_(std::move(inputs)) {
  const ir::Graph& g = problem.graph;
  Config c = Config::doubles();
  c.max_bytes = static_cast<size_t>(options.bytes);
  c.deadline = deadline;
  c.kernels = readable_kernels(problem);
  evaluator_ = std::make_unique<Evaluator>(g, *inputs_, c);
  std::vector<ir::NodeId> targets;
  const size_t count = problem.side.size();
  std::vector<bool> cone(count);
  for (const link::Output& o : problem.outputs) {
    if (o.blocked) continue;
    if (o.sequential != ir::kNoNode) targets.push_back(o.sequential);
    for (ir::NodeId d : o.distributed) {
      if (d != ir::kNoNode) targets.push_back(d);
    }
  }
  evaluator_->run(targets);
  visible_.assign(count, false);
  for (ir::NodeId t : targets) {
    if (t < count) visible_[t] = true;
    if (t < count) cone[t] = true;
  }
  // A value is visible if an operator other than its own reads it: lowering makes several core nodes of one operator.
  for (size_t id = count; id-- > 0;) {
    if (!cone[id]) continue;
    for (ir::NodeId x : g.nodes[id].in) {
      cone[x] = true;
      const bool foreign = g.nodes[id].label != g[x].label || problem.side[id] != problem.side[x];
      if (foreign && g[x].dtype != ir::DType::Token && problem.side[x] != link::kShared) visible_[x] = true;
    }
  }
  varies_.assign(count, false);
  for (ir::NodeId id = 0; id < count; ++id) {
    varies_[id] = g[id].op == ir::Op::Input;
    for (ir::NodeId x : g[id].in) varies_[id] = varies_[id] || varies_[x];
  }
  // Inside of a distributed operator all values count: a fused kernel may compute within what the sequential program spells out.
  std::vector<ir::NodeId> shown;
  for (ir::NodeId id = 0; id < count; ++id) {
    const ir::Op op = g[id].op;
    const bool constant = op == ir::Op::Const || op == ir::Op::Iota || op == ir::Op::Dense;
    if (constant) visible_[id] = false;
    if (visible_[id] || (cone[id] && !constant && problem.side[id] >= 0 && g[id].dtype != ir::DType::Token)) shown.push_back(id);
  }
  // Inputs of the ranks are views that the linker made: they hold what the sequential inputs say.
  prints_ = std::make_unique<Fingerprints>(problem, *evaluator_, shown);
}

// Up to a factor that is a number of ranks: a loss that each rank averages over its own samples scales what is between it and the
// average over ranks, and that is no mistake by itself.
bool Blamer::held_scaled(ir::NodeId id) {
  const auto known = scaled_.find(id);
  if (known != scaled_.end()) return known->second.has_value();
  std::optional<Holding> found;
  if (ir::is_float(problem_.graph[id].dtype) && prints_->has(id) && !prints_->print(id).constant) {
    std::set<double> factors;
    const unsigned sets = 1u << std::min<size_t>(problem_.mesh.axes.size(), 6);
    for (unsigned axes = 1; axes < sets; ++axes) {
      double n = 1;
      for (size_t a = 0; a < problem_.mesh.axes.size(); ++a) n *= (axes >> a & 1) ? static_cast<double>(problem_.mesh.axes[a].size) : 1;
      if (n > 1) factors.insert({n, 1 / n});
    }
    for (double c : factors) {
      for (const Holding& h : prints_->holdings(id, c)) {
        if (h.how == Holding::How::Partial) continue;
        found = h;
        break;
      }
      if (found) break;
    }
  }
  scaled_[id] = found;
  return found.has_value();
}

bool Blamer::held(ir::NodeId id, bool or_scaled) {
  // A view of what is held is held, and so is a view of an input: its relation is given.
  for (;;) {
    const ir::Node& n = problem_.graph[id];
    if (n.op == ir::Op::Input || problem_.side[id] == link::kShared) return true;
    if (prints_->has(id)) {
      auto it = holdings_.find(id);
      if (it == holdings_.end()) it = holdings_.emplace(id, prints_->holdings(id)).first;
      if (!it->second.empty()) return true;
      if (in_pieces(id)) return true;
      if (or_scaled && held_scaled(id)) return true;
    }
    const bool is_view = n.op == ir::Op::Transpose || n.op == ir::Op::Reshape || n.op == ir::Op::Slice || n.op == ir::Op::Broadcast ||
                         n.op == ir::Op::Reverse || (n.op == ir::Op::Map && n.fn == ir::Fn::Convert);
    if (!is_view) return false;
    id = n.in[0];
  }
}

// Microbatches: pieces along one of the first dimensions, each held by some operator of its own.
bool Blamer::in_pieces(ir::NodeId id) {
  const auto known = pieces_.find(id);
  if (known != pieces_.end()) return known->second;
  bool found = false;
  const Value& v = *evaluator_->get(id);
  const ir::Shape shape = v.shape();
  for (size_t dim = 0; dim < std::min<size_t>(shape.size(), 2) && !found; ++dim) {
    for (int64_t pieces = 2; pieces <= std::min<int64_t>(shape[dim], 16) && !found; ++pieces) {
      if (shape[dim] % pieces != 0) continue;
      ir::Shape part = shape;
      part[dim] /= pieces;
      found = true;
      for (int64_t k = 0; k < pieces && found; ++k) {
        std::vector<int64_t> start(shape.size(), 0), step(shape.size(), 1);
        start[dim] = k * part[dim];
        const Print print = print_of(slice_of(v, start, step, part));
        found = print.usable && !print.constant && prints_->held_somewhere(print);
      }
    }
  }
  return pieces_[id] = found;
}

std::vector<ir::NodeId> Blamer::visible_operands(ir::NodeId id) const {
  const ir::Graph& g = problem_.graph;
  std::vector<ir::NodeId> out, stack(g[id].in.begin(), g[id].in.end());
  std::set<ir::NodeId> seen;
  while (!stack.empty()) {
    const ir::NodeId x = stack.back();
    stack.pop_back();
    if (!seen.insert(x).second) continue;
    if (g[x].op == ir::Op::Input || (x < visible_.size() && visible_[x])) {
      out.push_back(x);
    } else {
      stack.insert(stack.end(), g[x].in.begin(), g[x].in.end());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<Blamer::Suspect> Blamer::first_lost(ir::NodeId output) {
  const ir::Graph& g = problem_.graph;
  std::set<ir::NodeId> region;
  std::vector<ir::NodeId> stack{output};
  while (!stack.empty()) {
    const ir::NodeId id = stack.back();
    stack.pop_back();
    if (!region.insert(id).second) continue;
    for (ir::NodeId x : visible_operands(id)) {
      if (problem_.side[x] != link::kSequential || g[x].op == ir::Op::Input || held(x)) continue;
      // What depends on no input (tables, masks) is not where a relation is lost.
      if (!varies_[x]) continue;
      stack.push_back(x);
    }
  }
  // What also leads to a right output without being held on the way is no loss: the distributed program just computes otherwise.
  if (!sound_) {
    sound_.emplace();
    std::vector<ir::NodeId> work;
    for (const link::Output& o : problem_.outputs) {
      if (!o.blocked && o.sequential != ir::kNoNode && o.sequential < visible_.size() && evaluator_->get(o.sequential) &&
          held(o.sequential, false))
        work.push_back(o.sequential);
    }
    while (!work.empty()) {
      const ir::NodeId id = work.back();
      work.pop_back();
      for (ir::NodeId x : visible_operands(id)) {
        if (problem_.side[x] == link::kSequential && g[x].op != ir::Op::Input && !held(x) && sound_->insert(x).second) work.push_back(x);
      }
    }
  }
  std::erase_if(region, [&](ir::NodeId id) { return id != output && sound_->count(id) != 0; });
  for (ir::NodeId id : region) {
    Suspect s{id, visible_operands(id)};
    const bool first = std::none_of(s.inputs.begin(), s.inputs.end(), [&](ir::NodeId x) { return x != id && region.count(x) != 0; });
    if (first) return s;
  }
  return std::nullopt;
}

std::optional<Family> Blamer::counterpart(const Suspect& suspect, const link::Output& output) {
  const ir::Graph& g = problem_.graph;
  const ir::Node& s = g[suspect.node];
  // Distributed values that hold the operands: held tensors, and views of inputs.
  std::set<ir::NodeId> sources;
  for (ir::NodeId x : suspect.inputs) {
    if (g[x].op == ir::Op::Input) continue;
    for (const Holding& h : holdings_[x]) {
      for (ir::NodeId d : prints_->families()[h.family].nodes) {
        if (d != ir::kNoNode) sources.insert(d);
      }
    }
  }
  std::set<ir::NodeId> free_inputs;
  for (ir::NodeId x : suspect.inputs) {
    if (g[x].op == ir::Op::Input) free_inputs.insert(x);
  }
  // Only what leads to the wrong output.
  std::vector<bool> cone(problem_.side.size());
  for (ir::NodeId d : output.distributed) {
    if (d != ir::kNoNode) cone[d] = true;
  }
  for (size_t id = cone.size(); id-- > 0;) {
    if (!cone[id]) continue;
    for (ir::NodeId x : g.nodes[id].in) cone[x] = true;
  }
  double best = 0;
  bool acceptable = false;
  size_t chosen = prints_->families().size();
  for (size_t f = 0; f < prints_->families().size(); ++f) {
    const auto& nodes = prints_->families()[f].nodes;
    const auto it = std::find_if(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return id != ir::kNoNode && cone[id]; });
    if (it == nodes.end()) continue;
    const ir::NodeId d = *it;
    double score = 0;
    size_t matched = 0;
    const std::vector<ir::NodeId> operands = visible_operands(d);
    for (ir::NodeId x : operands) {
      if (sources.count(x)) ++matched;
      if (g[x].op == ir::Op::Input && free_inputs.count(x)) ++matched;
    }
    const bool same_op = g[d].source_op == s.source_op;
    if (matched > 0)
      score += 2.0 + 2.0 * static_cast<double>(matched) / static_cast<double>(std::max(operands.size(), suspect.inputs.size()));
    if (g[d].label == s.label && same_op) score += 1.5;
    if (same_op) score += 1.5;
    // The shape of the whole or of a piece.
    if (g[d].shape == s.shape) {
      score += 2;
    } else if (g[d].shape.size() == s.shape.size()) {
      int other = 0;
      bool divides = true;
      for (size_t k = 0; k < s.shape.size(); ++k) {
        if (g[d].shape[k] == s.shape[k]) continue;
        ++other;
        divides = divides && g[d].shape[k] > 0 && s.shape[k] % g[d].shape[k] == 0;
      }
      score += other == 1 && divides ? 1.75 : -1;
    } else {
      score -= 1;
    }
    if (!visible_[d]) score -= 0.5;
    if (matched > 0) score = std::max(score, 0.1);
    acceptable = acceptable || matched > 0;
    if (score > best) {
      best = score;
      chosen = f;
    }
  }
  if (best < 3.5 && !(acceptable && best > 0)) {  // nothing like it: the distributed output itself
    Family f;
    f.nodes = output.distributed;
    return f;
  }
  return prints_->families()[chosen];
}

// An operand that the ranks hold as partial sums alone, read by an operator that does not pass sums through: there the reduction is
// missing.
void Blamer::pending_operand(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d, Blame& blame) {
  const ir::Graph& g = problem_.graph;
  std::set<ir::NodeId> read;
  for (ir::NodeId id : family.nodes) {
    if (id == ir::kNoNode) continue;
    for (ir::NodeId x : visible_operands(id)) read.insert(x);
  }
  for (ir::NodeId x : suspect.inputs) {
    const auto found = holdings_.find(x);
    if (found == holdings_.end() || found->second.empty()) continue;
    const bool pending =
        std::all_of(found->second.begin(), found->second.end(), [](const Holding& h) { return h.how == Holding::How::Partial; });
    if (!pending) continue;
    // Of several partial holders, the one that the counterpart reads.
    const Holding* holder = &found->second[0];
    for (const Holding& h : found->second) {
      const auto& nodes = prints_->families()[h.family].nodes;
      if (std::any_of(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return read.count(id) != 0; })) {
        holder = &h;
        break;
      }
    }
    const auto& nodes = prints_->families()[holder->family].nodes;
    const auto first = std::find_if(nodes.begin(), nodes.end(), [](ir::NodeId id) { return id != ir::kNoNode; });
    const std::string axes = prints_->axes_words(holder->axes);
    d.code = "SP103";
    d.kind = missing_reduction(output);
    d.explanation = "its operand " + g[*first].label + " is still a partial sum over " + axes +
                    ": the ranks' values add up to the sequential " + g[x].label;
    d.repair = "all_reduce(sum, " + axes + ") after " + g[*first].label;
    for (size_t r = 0; r < nodes.size(); ++r) {
      if (nodes[r] != ir::kNoNode) blame.distributed.emplace_back(static_cast<int>(r), nodes[r]);
    }
    return;
  }
}

// Something counted several times that the ranks first hold as partial sums was reduced once too often; it is no bias. And where the
// ranks' values must be added up to see it, the reduction itself is missing.
void Blamer::counted_reduction(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) const {
  const bool partial_wanted =
      suspect.node == output.sequential && std::any_of(output.expect.steps.begin(), output.expect.steps.end(),
                                                       [](const manifest::Step& s) { return s.kind == manifest::Step::Kind::Partial; });
  if (d.summed && !partial_wanted && !reduced_later(family, output)) {
    d.code = "SP103";
    d.kind = missing_reduction(output);
    d.repair.clear();
    return;
  }
  if (d.summed || !prints_->has(d.counted) || prints_->print(d.counted).constant) return;
  const std::vector<Holding> once = prints_->holdings(d.counted), more = prints_->holdings(d.counted, 1 + d.times);
  const auto is_partial = [](const Holding& h) { return h.how == Holding::How::Partial; };
  if (std::all_of(more.begin(), more.end(), is_partial) && std::none_of(once.begin(), once.end(), is_partial)) return;
  d.code = d.times > 0 ? "SP102" : "SP101";
  d.kind = d.times > 0 ? "redundant-all-reduce" : "wrong-scale";
  d.repair.clear();
}

// An operand that the ranks hold only as a multiple.
bool Blamer::scaled_operand(const Suspect& suspect, const Family& family, Diagnosis& d) {
  std::set<ir::NodeId> read;
  for (ir::NodeId id : family.nodes) {
    if (id == ir::kNoNode) continue;
    for (ir::NodeId x : visible_operands(id)) read.insert(x);
  }
  for (ir::NodeId x : suspect.inputs) {
    const auto exact = holdings_.find(x);
    const auto scaled = scaled_.find(x);
    if (exact == holdings_.end() || !exact->second.empty() || scaled == scaled_.end() || !scaled->second) continue;
    const auto& nodes = prints_->families()[scaled->second->family].nodes;
    const auto used = std::find_if(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return id != ir::kNoNode && read.count(id) != 0; });
    if (used == nodes.end()) continue;
    describe_multiple(problem_, scaled->second->factor, problem_.graph[*used].label, problem_.graph[x].shape.empty(), d);
    d.explanation = "its operand " + d.explanation;
    return true;
  }
  return false;
}

std::optional<Blame> Blamer::find(const Refutation& refutation) {
  const link::Output& output = problem_.outputs[refutation.output];
  const ir::NodeId target = output.sequential;
  if (!evaluator_->get(target) || problem_.side[target] != link::kSequential) return std::nullopt;
  Suspect suspect;
  if (!held(target, false)) {
    const auto lost = first_lost(target);
    if (!lost) return std::nullopt;
    suspect = *lost;
  } else {
    suspect = {target, visible_operands(target)};  // the value exists, but not where it is expected
  }
  Blame blame;
  blame.sequential = suspect.node;
  Family family;
  if (suspect.node == target) {
    family.nodes = output.distributed;
  } else if (auto found = counterpart(suspect, output)) {
    family = *found;
  }
  for (size_t r = 0; r < family.nodes.size(); ++r) {
    if (family.nodes[r] != ir::kNoNode) blame.distributed.emplace_back(static_cast<int>(r), family.nodes[r]);
  }
  Diagnosis d = diagnose(problem_, *evaluator_, output, suspect.node, family);
  const bool unclear = d.code == "SP109" || (d.code == "SP107" && suspect.node != target);
  if (unclear) pending_operand(suspect, family, output, d, blame);
  const bool pending = unclear && d.code == "SP103";
  if (d.code == "SP109") scaled_operand(suspect, family, d);
  if (d.code == "SP102" && d.kind == "redundant-all-reduce") sum_or_mean(family, output, d);
  if (d.code == "SP109") by_route(suspect, family, output, d);
  if (d.code == "SP107") counted_reduction(suspect, family, output, d);
  if (d.code == "SP103") other_group(suspect, family, d);
  // The logarithm of a sum of exponentials over a cut vocabulary.
  if (d.kind == "missing-all-reduce" && pending && output.role == manifest::Role::Loss &&
      problem_.graph[suspect.node].source_op.find("log") != std::string::npos)
    d.kind = "vocab-parallel-ce";
  if (d.code == "SP103" && pending) reduced_too_late(suspect, family, output, d);
  if (d.code == "SP103" || d.code == "SP109") uneven_mean(suspect, family, output, d);
  if (d.code == "SP103" || d.code == "SP107" || d.code == "SP109") norm_words(suspect, output, d);
  blame.kind = d.kind;
  blame.code = d.code;
  blame.explanation = d.explanation;
  blame.repair = d.repair;
  return blame;
}

}  // namespace shardproof::interp
