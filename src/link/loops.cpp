// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Loops that are kept on both sides, for a proof by induction (docs/design.md): which loop and which carried value stands beside which,
// and the free tensors that stand for carried values under a relation.
//
// How: the k-th loop of the sequential program is beside the k-th loop of every rank; they must have equally many rounds and lie in each
// other alike. What they carry is paired by order. A relation is a placement, and the nodes of a pair are made as those of inputs are
// (relation.cpp): the sequential value is free and the ranks' are views of it, or the ranks' summands are free and the sequential value is
// their sum.
//
// Communication: the bodies cut every rank's program into stretches, in one order on all ranks. If what meets in one round lies in the same
// stretch on all sides, each stretch completes by itself, and so do as many repetitions of it as all ranks make, in which the same
// operations meet.
#include <algorithm>

#include <fmt/format.h>

#include "link/linker.h"

namespace shardproof::link {

using manifest::Placement;
using manifest::Step;

namespace {

// The stretch of the program that a node lies in: the innermost loop whose body holds it (loops in it come first), and how many loops have
// ended before it.
std::pair<size_t, size_t> stretch_of(const frontend::Program& p, ir::NodeId id) {
  size_t inner = p.loops.size(), ended = 0;
  for (size_t k = p.loops.size(); k-- > 0;) {
    if (id >= p.loops[k].begin && id < p.loops[k].end) inner = k;
    ended += p.loops[k].end <= id;
  }
  return {inner, ended};
}

bool exact_float(ir::DType t) { return ir::is_float(t) && t > ir::DType::F8; }

bool alike(const ir::Node& s, const ir::Node& d) {
  if (s.dtype != d.dtype && !(exact_float(s.dtype) && exact_float(d.dtype))) return false;
  if (s.shape.size() != d.shape.size()) return false;
  for (size_t k = 0; k < s.shape.size(); ++k)
    if (d.shape[k] > s.shape[k]) return false;
  return true;
}

// A node of its own with the value of x.
ir::NodeId copy_of(ir::Graph& g, ir::NodeId x) {
  ir::Node node;
  node.op = ir::Op::Slice;
  node.dtype = g[x].dtype;
  node.shape = g[x].shape;
  node.in = {x};
  node.a.assign(node.shape.size(), 0);
  node.b = node.shape;
  node.c.assign(node.shape.size(), 1);
  node.label = g[x].label;
  const ir::NodeId id = g.add(std::move(node));
  if (std::string wrong = ir::verify(g, id); !wrong.empty()) throw InternalError(wrong);
  return id;
}

}  // namespace

void Linker::pair_loops() {
  const size_t sides = 1 + ranks_.size(), n = seq_->loops.size();
  loop_pairs_.clear();
  for (size_t s = 0; s < sides; ++s) {
    const frontend::Program& p = program(s);
    if (p.loops.size() != n) {
      out.loops_differ = fmt::format("one device has {} loops, rank {} has {}", n, s - 1, p.loops.size());
      return;
    }
    for (size_t k = 0; k < n; ++k) {
      if (p.loops[k].rounds != seq_->loops[k].rounds) {
        out.loops_differ = fmt::format("loop {} has {} rounds on one device and {} on rank {}", seq_->loops[k].name, seq_->loops[k].rounds,
                                       p.loops[k].rounds, s - 1);
        return;
      }
      for (size_t j = 0; j < n; ++j) {
        const auto inside = [&](const frontend::Program& q) {
          return q.loops[j].begin < q.loops[k].begin && q.loops[k].end <= q.loops[j].end;
        };
        if (inside(p) != inside(*seq_)) out.loops_differ = fmt::format("loops are nested differently on rank {}", s - 1);
      }
    }
  }
  for (size_t k = 0; k < n; ++k) {
    const auto carried = [&](size_t s) {
      std::vector<size_t> those;
      for (size_t c = 0; c < program(s).loops[k].carried.size(); ++c)
        if (!only_rows(s, k, c)) those.push_back(c);
      return those;
    };
    const auto initial = [&](size_t s, size_t c) -> const ir::Node& { return program(s).graph[program(s).loops[k].carried[c].initial]; };
    const std::vector<size_t> mine = carried(0);
    std::vector<std::vector<int>> pairs(mine.size(), std::vector<int>(sides, -1));
    for (size_t c = 0; c < mine.size(); ++c) pairs[c][0] = static_cast<int>(mine[c]);
    std::vector<std::vector<int>> alone;
    for (size_t s = 1; s < sides; ++s) {
      const std::vector<size_t> theirs = carried(s);
      const bool equally_many = theirs.size() == mine.size();
      size_t at = 0;
      for (size_t d = 0; d < theirs.size(); ++d) {
        // In order; where there are not equally many, with the next one that it may be a part of.
        size_t c = equally_many ? d : at;
        while (!equally_many && c < mine.size() && !alike(initial(0, mine[c]), initial(s, theirs[d]))) ++c;
        if (c < mine.size() && alike(initial(0, mine[c]), initial(s, theirs[d]))) {
          pairs[c][s] = static_cast<int>(theirs[d]);
          at = c + 1;
        } else {
          alone.emplace_back(sides, -1);
          alone.back()[s] = static_cast<int>(theirs[d]);
        }
      }
    }
    pairs.insert(pairs.end(), alone.begin(), alone.end());
    loop_pairs_.push_back(std::move(pairs));
  }
}

// Placements that the shapes allow, of those that `any` stands for: cuts and sums, without padding.
std::vector<Placement> Linker::loop_candidates(const std::vector<const frontend::Loop::Carried*>& of) {
  std::vector<int64_t> key;
  Problem scratch;
  scratch.mesh = out.mesh;
  scratch.input_forms = out.input_forms;
  Output output;
  for (size_t s = 0; s < of.size(); ++s) {
    if (!of[s]) return {};
    const ir::Node& declared = program(s).graph[of[s]->initial];
    ir::Node node;
    node.dtype = declared.dtype;
    node.shape = declared.shape;
    key.push_back(static_cast<int64_t>(node.dtype));
    key.insert(key.end(), node.shape.begin(), node.shape.end());
    key.push_back(-1);
    const ir::NodeId id = scratch.graph.add(std::move(node));
    if (s == 0)
      output.sequential = id;
    else
      output.distributed.push_back(id);
  }
  const auto [it, fresh] = loop_memo_.try_emplace(key);
  if (!fresh) return it->second;
  const ir::DType t = scratch.graph[output.sequential].dtype;
  // Ranks that share a summand of a sum are asked for one value of it, which they have only if they have one type.
  const bool one_type = std::all_of(output.distributed.begin(), output.distributed.end(),
                                    [&](ir::NodeId id) { return scratch.graph[id].dtype == scratch.graph[output.distributed[0]].dtype; });
  for (Placement& p : scratch.any_candidates(output)) {
    bool good = true;
    // Ranks that hold parts of one summand must hold the same part, and are asked for that, or have no element in common.
    const bool sum = std::any_of(p.steps.begin(), p.steps.end(), [](const Step& step) { return step.kind == Step::Kind::Partial; });
    const auto apart = [](const Step& step) {
      return step.chunks.empty() && std::all_of(step.blocks.begin(), step.blocks.end(), [](const auto& b) { return b.copies == 1; });
    };
    for (const Step& step : p.steps) {
      good &= !sum || step.kind != Step::Kind::Shard || apart(step);
      good &= step.kind == Step::Kind::Shard ||
              (step.kind == Step::Kind::Partial && step.op == manifest::ReduceOp::Sum && exact_float(t) && one_type);
      good &= step.padded == 0;
    }
    for (size_t r = 0; good && r < ranks_.size(); ++r) {
      Part part;
      good = holds(p, out.mesh, static_cast<int64_t>(r)) &&
             part_of(p, out.mesh, scratch.graph[output.sequential].shape, static_cast<int64_t>(r), part).empty() &&
             std::all_of(part.cuts.begin(), part.cuts.end(), [](const Cut& c) { return c.pad == 0; });
    }
    if (good) it->second.push_back(std::move(p));
  }
  return it->second;
}

// Makes the nodes that stand for a carried value: in a round, behind the loop, and (where rows of stacks are made again) in all rounds.
void Linker::related(Loop::Carried& carried, const std::vector<const frontend::Loop::Carried*>& of, size_t choice, int64_t rounds) {
  const std::vector<Placement> placements = loop_candidates(of);
  const auto type = [&](size_t s) -> const ir::Node& { return program(s).graph[of[s]->initial]; };
  std::vector<int64_t> scales{1};
  if (!placements.empty() && exact_float(type(0).dtype)) scales = loop_scales();
  carried.candidates = placements.size() * scales.size();
  carried.related = choice < carried.candidates;
  if (carried.related) carried.scale = scales[choice / placements.size()];
  struct Kind {
    std::vector<ir::NodeId>* nodes;
    const char* words;
    ir::Shape prefix;
  };
  std::vector<Kind> kinds{{&carried.before, "", {}}, {&carried.after, " behind the loop", {}}};
  if (rounds > 0) kinds.push_back({&carried.history, " in all rounds", {rounds}});
  for (const Kind& kind : kinds) {
    std::vector<ir::NodeId>& nodes = *kind.nodes;
    nodes.assign(of.size(), ir::kNoNode);
    const std::string name = carried.name + kind.words;
    const auto in_all = [&](const ir::Shape& shape) {
      ir::Shape all = kind.prefix;
      all.insert(all.end(), shape.begin(), shape.end());
      return all;
    };
    b_.label = name;
    if (!carried.related) {
      for (size_t s = 0; s < of.size(); ++s)
        if (of[s]) nodes[s] = b_.input(s == 0 ? name : fmt::format("{}@rank{}", name, s - 1), type(s).dtype, in_all(type(s).shape));
      continue;
    }
    const Placement& placement = placements[choice % placements.size()];
    carried.initial.expect = carried.next.expect = placement;
    const ir::Shape shape = type(0).shape;
    const ir::DType dtype = type(0).dtype;
    const std::vector<const Step*> steps = reductions(placement);
    std::vector<ir::NodeId> summands;
    if (steps.empty()) {
      summands = {b_.input(name, dtype, in_all(shape))};
      nodes[0] = copy_of(out.graph, summands[0]);
    } else {
      for (int64_t owner : summand_ranks(steps, out.mesh, 0))
        summands.push_back(b_.input(fmt::format("{}@part{}", name, owner), dtype, in_all(shape)));
      nodes[0] = combine(b_, steps, out.mesh, summands);
    }
    struct Made {
      Part part;
      size_t summand;
      ir::DType dtype;
      ir::NodeId node;
    };
    std::vector<Made> made;
    for (size_t s = 1; s < of.size(); ++s) {
      const auto rank = static_cast<int64_t>(s - 1);
      Part part;
      SP_CHECK(part_of(placement, out.mesh, shape, rank, part).empty());
      for (Cut& cut : part.cuts) cut.dim += static_cast<int64_t>(kind.prefix.size());
      part.shape = in_all(part.shape);
      part.valid = in_all(part.valid);
      const std::vector<int64_t> mine = summand_ranks(steps, out.mesh, rank);
      const auto summand = static_cast<size_t>(std::find(mine.begin(), mine.end(), rank) - mine.begin());
      SP_CHECK(summand < summands.size());
      const auto same = std::find_if(made.begin(), made.end(),
                                     [&](const Made& x) { return x.summand == summand && x.part == part && x.dtype == type(s).dtype; });
      if (same != made.end()) {
        nodes[s] = same->node;
        continue;
      }
      const ir::NodeId own = scaled(b_, view(b_, summands[summand], part, Padding::Leave), carried.scale, 1);
      nodes[s] = copy_of(out.graph, b_.convert(own, type(s).dtype));
      SP_CHECK(b_.shape(nodes[s]) == in_all(type(s).shape));
      made.push_back({part, summand, type(s).dtype, nodes[s]});
    }
  }
  for (size_t s = 0; s < of.size(); ++s) {
    if (!of[s]) continue;
    loop_values_[s].emplace_back(of[s]->before, carried.before[s]);
    loop_values_[s].emplace_back(of[s]->after, carried.after[s]);
  }
  b_.label.clear();
}

// What ranks may have the sequential value times: as many as share a mean (each rank's loss is divided by the number of its own tokens).
std::vector<int64_t> Linker::loop_scales() const {
  std::vector<int64_t> scales{1};
  for (const manifest::Axis& axis : out.mesh.axes)
    for (size_t k = 0, n = scales.size(); k < n; ++k)
      if (std::find(scales.begin(), scales.end(), scales[k] * axis.size) == scales.end()) scales.push_back(scales[k] * axis.size);
  return scales;
}

void Linker::relate_loops() {
  const size_t sides = 1 + ranks_.size();
  bool any = !seq_->loops.empty();
  for (const ProgramPtr& p : ranks_) any |= !p->loops.empty();
  if (!any) return;
  find_stacks();
  pair_loops();
  loop_values_.resize(sides);
  if (!out.loops_differ.empty()) {
    stacks_.clear();
    return;
  }
  input_forms();
  loop_nodes_.resize(seq_->loops.size());
  for (size_t k = 0; k < seq_->loops.size(); ++k) {
    Loop loop;
    loop.name = seq_->loops[k].name;
    loop.rounds = seq_->loops[k].rounds;
    b_.label = loop.name;
    loop.round = b_.input(loop.name + ".round", ir::DType::I64, {});
    for (size_t s = 0; s < sides; ++s) loop_values_[s].emplace_back(program(s).loops[k].round, loop.round);
    Fact fact;
    fact.input = loop.round;
    fact.fact.kind = manifest::Fact::Kind::Range;
    fact.fact.input = loop.name;
    fact.fact.low = 0;
    fact.fact.high = static_cast<double>(loop.rounds);
    fact.fact.text = fmt::format("{} is a round of its loop", loop.name);
    out.facts.push_back(std::move(fact));
    const auto is_stack = [&](const frontend::Loop::Carried* v) {
      return std::any_of(stacks_.begin(), stacks_.end(), [&](const auto& of_program) {
        return std::any_of(of_program.second.begin(), of_program.second.end(), [&](const Stack& t) {
          return t.loop == k && t.carried < of_program.first->loops[k].carried.size() &&
                 &of_program.first->loops[k].carried[t.carried] == v;
        });
      });
    };
    const bool any_stack = std::any_of(stacks_.begin(), stacks_.end(), [&](const auto& of_program) {
      return std::any_of(of_program.second.begin(), of_program.second.end(), [&](const Stack& t) { return t.loop == k; });
    });
    for (size_t c = 0; c < loop_pairs_[k].size(); ++c) {
      std::vector<const frontend::Loop::Carried*> of(sides, nullptr);
      Loop::Carried carried;
      for (size_t s = 0; s < sides; ++s) {
        const int at = loop_pairs_[k][c][s];
        if (at < 0) continue;
        of[s] = &program(s).loops[k].carried[static_cast<size_t>(at)];
        if (carried.name.empty()) carried.name = of[s]->name;
      }
      const size_t choice = k < loop_choice.size() && c < loop_choice[k].size() ? loop_choice[k][c] : 0;
      // A stack is no part of what its own rows are made of.
      const bool stack = std::any_of(of.begin(), of.end(), [&](const frontend::Loop::Carried* v) { return v && is_stack(v); });
      related(carried, of, choice, any_stack && !stack ? loop.rounds : 0);
      for (size_t s = 0; s < sides; ++s)
        if (of[s]) loop_nodes_[k].emplace_back(carried.before[s], carried.after[s]);
      loop.carried.push_back(std::move(carried));
    }
    for (size_t s = 0; s < sides; ++s) {
      size_t stacks = 0;
      for (size_t c = 0; c < program(s).loops[k].carried.size(); ++c) {
        const frontend::Loop::Carried& own = program(s).loops[k].carried[c];
        if (!only_rows(s, k, c)) continue;
        ++stacks;
        ir::NodeId nodes[2];
        for (size_t j = 0; j < 2; ++j) {
          const ir::Node& like = program(s).graph[own.initial];
          nodes[j] = b_.input(fmt::format("{}, rows of rank {}", own.name, static_cast<int64_t>(s) - 1), like.dtype, like.shape);
          loop_values_[s].emplace_back(j == 0 ? own.before : own.after, nodes[j]);
        }
        loop_nodes_[k].emplace_back(nodes[0], nodes[1]);
      }
      loop.stacks = std::max(loop.stacks, stacks);
    }
    out.loops.push_back(std::move(loop));
  }
  side(kShared);
}

void Linker::check_loop_events() {
  if (loop_values_.empty() || !out.loops_differ.empty()) return;
  if (!schedule_.faults.empty() || schedule_.needs_buffering)
    out.loops_differ = "the communication of one round does not complete by itself";
  for (const Event& event : schedule_.events) {
    std::pair<size_t, size_t> stretch;
    for (size_t k = 0; k < event.places.size(); ++k) {
      const auto r = static_cast<size_t>(event.places[k].rank);
      const std::pair<size_t, size_t> mine = stretch_of(*ranks_[r], comm_[r][event.places[k].index].node);
      if (k > 0 && mine != stretch)
        out.loops_differ = "communication in a loop meets communication outside of it, or behind it what is before it";
      stretch = mine;
    }
  }
}

// What the loops start with and what a round makes of it.
void Linker::finish_loops() {
  if (!out.loops_differ.empty()) return;
  for (size_t k = 0; k < out.loops.size(); ++k) {
    for (size_t c = 0; c < out.loops[k].carried.size(); ++c) {
      Loop::Carried& carried = out.loops[k].carried[c];
      for (Output* o : {&carried.initial, &carried.next}) {
        o->name = carried.name;
        for (size_t s = 0; s <= ranks_.size(); ++s) {
          ir::NodeId node = ir::kNoNode;
          if (const int at = loop_pairs_[k][c][s]; at >= 0) {
            const frontend::Loop::Carried& own = program(s).loops[k].carried[static_cast<size_t>(at)];
            node = o == &carried.initial ? own.initial : own.next;
            node = s == 0 ? seq_map_[node] : map_[s - 1][node];
            SP_CHECK(node != ir::kNoNode);
          }
          if (s == 0)
            o->sequential = node == ir::kNoNode ? node : scaled(b_, node, carried.scale, 1);
          else
            o->distributed.push_back(node);
        }
        side(kShared);
      }
    }
  }
}

}  // namespace shardproof::link
