// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// How: every carried value has a list of relations that its shapes allow, and is tried with the first. The programs are linked under these
// relations, and all obligations are tried. Where some fail, the values that fail although they are made of none that fails are moved on to
// their next relation, and all is done again, until everything is proved or some value has no relation left.
//
// What is proved, by induction over the order of execution: the joint graph has free tensors for what a loop carries, related by the
// assumed relations, and its obligations hold for all values of them. So they hold for the values of every round whose predecessors kept
// the relations. Free tensors are finite numbers to the prover; that the carried values are is an obligation, too, and it also makes the
// relations total: the prover's equalities hold where the sequential value is defined.
#include "prove/induction.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/placement.h"
#include "prove/coverage.h"
#include "util/work_clock.h"

namespace shardproof::prove {

namespace {

using ir::NodeId;
using Carried = link::Loop::Carried;

constexpr int kMaxPasses = 48;

class Search {
 public:
  Search(const manifest::Manifest& m, const link::Programs& programs, Limits limits) : m_(m), programs_(programs), limits_(limits) {
    end_ = limits.seconds > 0 ? util::WorkClock::seconds() + limits.seconds : 0;
  }

  Induction run() {
    for (int pass = 0; pass < kMaxPasses; ++pass) {
      if (end_ > 0 && util::WorkClock::seconds() > end_) return fail("the time ended");
      Result<link::Problem> linked = link::link(m_, programs_, choice_);
      if (!linked) return fail(linked.error().message);
      for (const link::Loop& loop : linked->loops)
        if (loop.unknown_row) refused(Rule::L87);
      if (!linked->loops_differ.empty()) return fail(linked->loops_differ);
      found_ = {};
      found_.problem = std::make_shared<link::Problem>(std::move(*linked));
      Limits own = limits_;
      own.seconds = end_ > 0 ? std::max(0.01, end_ - util::WorkClock::seconds()) : 0;
      found_.prover = std::make_unique<Prover>(*found_.problem, own);
      prepare();
      if (!obligations()) return done();
      if (pass == 0) first_ = why_;
      if (!move_on()) return fail(why_ == first_ ? why_ : fmt::format("{} (and before: {})", why_, first_));
    }
    return fail("too many relations to try");
  }

 private:
  using Place = std::pair<size_t, size_t>;  // loop, carried value

  static Induction fail(std::string why) {
    Induction none;
    none.failure = std::move(why);
    return none;
  }

  void prepare() {
    const std::vector<link::Loop>& loops = found_.problem->loops;
    choice_.resize(loops.size());
    for (size_t k = 0; k < loops.size(); ++k) choice_[k].resize(loops[k].carried.size(), 0);
  }

  // Every value must be a finite number, and what may be undefined is an integer, too. Where the ranks' values are equal to parts of the
  // sequential one, that is asked alone.
  bool finite(const link::Output& o, bool related) {
    const auto known = [&](NodeId x) { return x == ir::kNoNode || found_.prover->finite(x); };
    if (!known(o.sequential)) return false;
    const bool parts = related && std::none_of(o.expect.steps.begin(), o.expect.steps.end(), reduces);
    return parts || std::all_of(o.distributed.begin(), o.distributed.end(), known);
  }

  static bool reduces(const manifest::Step& step) { return step.kind != manifest::Step::Kind::Shard; }

  // What cannot be proved of what a value is at first, or after a round; nullopt: all is proved.
  std::optional<std::string> claim(const Carried& carried, bool at_first) {
    const link::Output o = at_first ? carried.initial : carried.next;  // a copy: goals append to the problem
    const std::vector<NodeId> before = carried.before;
    const bool related = carried.related;
    std::vector<NodeId> all = o.distributed;
    all.push_back(o.sequential);
    for (NodeId x : all) {
      if (x == ir::kNoNode) continue;
      const ir::DType t = found_.problem->graph[x].dtype;
      if (!ir::is_int(t) && t != ir::DType::Bool && !(ir::is_float(t) && t > ir::DType::F8)) return "has a type that is not looked at";
    }
    if (related) {
      const auto goals = found_.problem->goals(o, o.expect);
      if (!goals || goals->empty()) return "has no such part on the ranks";
      for (const auto& [x, y] : *goals)
        if (found_.prover->equal(x, y) != Prover::Answer::Equal) return found_.prover->detail();
      // A sum says nothing of its summands: ranks for whose values one tensor stands must have the same one.
      for (size_t r = 1; r < o.distributed.size(); ++r) {
        const auto first = static_cast<size_t>(std::find(before.begin() + 1, before.end(), before[r + 1]) - before.begin() - 1);
        if (first != r && found_.prover->equal(o.distributed[first], o.distributed[r]) != Prover::Answer::Equal)
          return found_.prover->detail();
      }
    }
    if (!finite(o, related)) return "may be infinite or undefined";
    return std::nullopt;
  }

  // Whether an obligation fails; failing_ has those that do.
  bool obligations() {
    failing_.clear();
    for (size_t k = 0; k < found_.problem->loops.size(); ++k) {
      for (size_t c = 0; c < found_.problem->loops[k].carried.size(); ++c) {
        const Carried& v = found_.problem->loops[k].carried[c];
        const std::optional<std::string> at_first = claim(v, true), then = at_first ? std::nullopt : claim(v, false);
        if ((!at_first && !then) || !refused(Rule::L73)) continue;
        failing_.insert({k, c});
        if (failing_.size() == 1)
          why_ = fmt::format("{} is not {} {}: {}", v.name, v.related ? relation_of(v, found_.problem->mesh) : "finite",
                             at_first ? "at first" : "after a round", at_first ? *at_first : *then);
        if (!v.related) return true;  // nothing else can be tried
      }
    }
    return !failing_.empty();
  }

  // Those that fail although they are made of none that fails take their next relation. False where one has none left.
  bool move_on() {
    const link::Problem& p = *found_.problem;
    std::vector<Place> roots;
    for (const Place& place : failing_) {
      std::set<NodeId> others;
      for (const Place& other : failing_) {
        if (other == place) continue;
        const Carried& v = p.loops[other.first].carried[other.second];
        others.insert(v.before.begin(), v.before.end());
        others.insert(v.after.begin(), v.after.end());
      }
      others.erase(ir::kNoNode);
      const Carried& v = p.loops[place.first].carried[place.second];
      if (!reaches(v, others)) roots.push_back(place);
    }
    if (roots.empty()) roots.push_back(*failing_.begin());
    for (const auto& [k, c] : roots)
      if (!p.loops[k].carried[c].related || ++choice_[k][c] >= p.loops[k].carried[c].candidates) return false;
    return true;
  }

  bool reaches(const Carried& v, const std::set<NodeId>& targets) const {
    const ir::Graph& g = found_.problem->graph;
    std::vector<NodeId> stack;
    for (const link::Output* o : {&v.initial, &v.next}) {
      if (o->sequential != ir::kNoNode) stack.push_back(o->sequential);
      for (NodeId x : o->distributed)
        if (x != ir::kNoNode) stack.push_back(x);
    }
    std::vector<char> seen(g.nodes.size(), 0);
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (seen[id]) continue;
      seen[id] = 1;
      if (targets.count(id)) return true;
      stack.insert(stack.end(), g[id].in.begin(), g[id].in.end());
    }
    return false;
  }

  static std::string relation_of(const Carried& v, const manifest::Mesh& mesh) {
    const std::string placement = to_string(v.initial.expect, mesh);
    return v.scale == 1 ? placement : fmt::format("{} times {}", placement, v.scale);
  }

  Induction done() {
    const link::Problem& p = *found_.problem;
    fired(Rule::L73);
    for (const link::Loop& loop : p.loops) {
      std::vector<std::string> words;
      for (const Carried& v : loop.carried) {
        const bool both = v.initial.sequential != ir::kNoNode && std::none_of(v.initial.distributed.begin(), v.initial.distributed.end(),
                                                                              [](NodeId x) { return x == ir::kNoNode; });
        words.push_back(fmt::format("{}: {}", v.name, v.related ? relation_of(v, p.mesh) : both ? "any" : "on one side only"));
      }
      if (loop.stacks) {
        fired(Rule::L87);
        words.push_back(fmt::format("{} by rows, made again where they are read",
                                    loop.stacks == 1 ? "a stack" : fmt::format("{} stacks", loop.stacks)));
      }
      found_.loops.push_back(fmt::format("{}, {} rounds: {}", loop.name, loop.rounds,
                                         words.empty() ? "carries nothing but counters" : fmt::format("{}", fmt::join(words, "; "))));
    }
    return std::move(found_);
  }

  const manifest::Manifest& m_;
  const link::Programs& programs_;
  Limits limits_;
  double end_ = 0;
  link::LoopChoice choice_;
  Induction found_;
  std::set<Place> failing_;
  std::string why_, first_;
};

}  // namespace

Induction prove_loops(const manifest::Manifest& manifest, const link::Programs& programs, Limits limits) {
  return Search(manifest, programs, limits).run();
}

std::vector<char> depends_on_inputs(const link::Problem& problem) {
  const ir::Graph& g = problem.graph;
  // Node -> what it stands for: the values at first and after a round, on its side.
  std::vector<std::vector<NodeId>> of(g.nodes.size());
  std::vector<char> stands(g.nodes.size(), 0), depends(g.nodes.size(), 0);
  for (const link::Loop& loop : problem.loops) {
    stands[loop.round] = 1;
    for (const Carried& v : loop.carried) {
      for (const std::vector<NodeId>* nodes : {&v.before, &v.after, &v.history}) {
        for (size_t s = 0; s < nodes->size(); ++s) {
          const NodeId id = (*nodes)[s];
          if (id == ir::kNoNode) continue;
          stands[id] = 1;
          for (const link::Output* o : {&v.initial, &v.next}) of[id].push_back(s == 0 ? o->sequential : o->distributed[s - 1]);
        }
      }
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (NodeId id = 0; id < g.nodes.size(); ++id) {
      if (depends[id]) continue;
      const ir::Node& n = g[id];
      const auto on = [&](NodeId x) { return depends[x] != 0; };
      const bool now_depends =
          stands[id] ? std::any_of(of[id].begin(), of[id].end(), on) : n.op == ir::Op::Input || std::any_of(n.in.begin(), n.in.end(), on);
      if (now_depends) depends[id] = 1, changed = true;
    }
  }
  return depends;
}

}  // namespace shardproof::prove
