// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The falsifier: evaluates the goals of outputs on a few inputs and refutes an output when, on one and the same inputs, every placement
// that it may have gives another value.
//
// A difference counts when the enclosures are disjoint. First all literals carry the width of their rounding, so that such a difference
// stands at once. Where that leaves a suspect (midpoints apart, enclosures overlapping), literals become points and the pair is evaluated
// under several readings of them (exact, closed forms, and moved at random inside their last place, alike on both sides): the values must
// be disjoint in every reading and the difference must vary by less than a quarter of itself. If doubles are too coarse for that, balls of
// 128 bits and more do the same.
#include "interp/falsify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "interp/blame.h"
#include "util/result.h"

namespace shardproof::interp {
namespace {

constexpr double kDenseWork = 4e8;  // scalar operations per evaluation on dense inputs
constexpr double kTinyWork = 5e6;
constexpr int kTinySeeds = 8;       // tiny programs are tried more often: their few elements show less
constexpr double kBlockWork = 8e7;  // beyond it coarser blocks are taken: balls cost twenty times as much
constexpr double kGlanceWork = 1e7;
constexpr double kDenseElements = 6e6;  // of all free inputs
constexpr int kReadings = 4;

bool has_rounded_literals(const ir::Graph& g) {
  for (const ir::Node& n : g.nodes) {
    if (n.op == ir::Op::Const && n.lit.kind == ir::Literal::Kind::Float && !is_simple_literal(n.lit.d, n.lit.format)) return true;
    if (n.op != ir::Op::Dense) continue;
    for (const ir::Literal& l : *n.dense) {
      if (l.kind == ir::Literal::Kind::Float && !is_simple_literal(l.d, l.format)) return true;
    }
  }
  return false;
}

// Why a comparison is open: the kernels, draws and unspecified tensors that the pair depends on. "" if there are none: then only enclosures
// are too wide.
std::string open_reason(const link::Problem& problem, Pair pair) {
  const ir::Graph& g = problem.graph;
  std::vector<bool> seen(g.nodes.size());
  std::vector<ir::NodeId> stack{pair.first, pair.second};
  std::string kernel, draw, memory;
  while (!stack.empty()) {
    const ir::NodeId id = stack.back();
    stack.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const ir::Node& n = g[id];
    if (n.op == ir::Op::Opaque && kernel.empty()) kernel = n.name;
    if (n.op == ir::Op::Random && draw.empty() && !draws_are_constant(n)) draw = n.name;
    if (n.op == ir::Op::Uninit && memory.empty()) memory = n.label;
    stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
  if (!kernel.empty()) return "missing-lemma: rests on the opaque operator " + kernel;
  if (!draw.empty()) return "missing-lemma: rests on a random draw (" + draw + ")";
  if (!memory.empty()) return "missing-lemma: rests on unspecified memory " + memory;
  return "";
}

}  // namespace

std::vector<Candidate> candidates_of(link::Problem& problem, const link::Output& output) {
  std::vector<Candidate> out;
  if (output.expect.kind != manifest::Placement::Kind::Any) {
    out.push_back({output.expect, problem.goals(output, output.expect)});
    return out;
  }
  for (manifest::Placement& p : problem.any_candidates(output)) {
    auto goals = problem.goals(output, p);
    out.push_back({std::move(p), std::move(goals)});
  }
  return out;
}

Runs::Runs(const link::Problem& problem, std::shared_ptr<const Inputs> inputs, const Options& options, util::WorkClock::time_point deadline,
           double plain_work)
    : problem_(problem), inputs_(std::move(inputs)), options_(options), deadline_(deadline) {
  literals_matter_ = has_rounded_literals(problem.graph);
  for (const ir::Node& n : problem.graph.nodes) ties_matter_ = ties_matter_ || n.op == ir::Op::Sort || n.op == ir::Op::ArgReduce;
  kernels_ = readable_kernels(problem);
  Config c = base();
  c.max_work = plain_work;
  plain_ = std::make_unique<Evaluator>(problem.graph, *inputs_, c);
}

Config Runs::base() const {
  Config c;
  c.max_bytes = static_cast<size_t>(options_.bytes);
  c.deadline = deadline_;
  c.kernels = kernels_;
  return c;
}

Evaluator& Runs::reading(Number number, slong bits, Literals literals, uint64_t seed, Ties ties) {
  const Key key{number, number == Number::Ball ? bits : 0, literals, seed, ties};
  for (auto& [k, evaluator] : readings_) {
    if (k == key) return *evaluator;
  }
  Config c = base();
  c.number = number;
  c.bits = bits;
  c.literals = literals;
  c.literal_seed = seed;
  c.ties = ties;
  readings_.emplace_back(key, std::make_unique<Evaluator>(problem_.graph, *inputs_, c));
  Evaluator& e = *readings_.back().second;
  if (number == Number::Interval && suspects_.size() > 2) e.run(suspects_, false);
  return e;
}

// The difference must keep its direction and about its size when literals move inside their last place, alike on both sides. Midpoints of
// doubles are enough to see that: the rigorous part has been done with one reading.
bool Runs::stands_in_other_readings(Pair pair, const Comparison& found, slong bits, Ties ties) {
  if (!literals_matter_ || found.undefined) return true;
  double low = found.gap, high = found.gap;
  for (int k = 0; k < kReadings; ++k) {
    const Literals literals = k == 0 ? Literals::Exact : k == 1 ? Literals::Closed : Literals::Perturbed;
    const auto middles = [&](Number number) -> std::pair<Interval, Interval> {
      Evaluator& e = reading(number, bits, literals, static_cast<uint64_t>(k), ties);
      e.run({pair.first, pair.second}, keeps(number));
      const Value *s = e.get(pair.first), *d = e.get(pair.second);
      return s && d ? at_index(*s, *d, found.index, found.imaginary) : std::pair(kUndecided, kUndecided);
    };
    auto [x, y] = middles(Number::Interval);
    if ((!is_real(x) || !is_real(y)) && bits > 0) std::tie(x, y) = middles(Number::Ball);
    if (!is_real(x) || !is_real(y)) return false;
    low = std::min(low, x.m - y.m);
    high = std::max(high, x.m - y.m);
  }
  // A difference that doubles do not show at all (balls found it) may be one of literals: it does not stand.
  const double least = std::min(std::fabs(low), std::fabs(high));
  return least > 0 && high - low <= least / 4;
}

// Where ties had to be broken, neither value may depend on how.
bool Runs::stands_for_other_ties(Pair pair, const Comparison& found, slong bits) {
  Evaluator& e = reading(bits > 0 ? Number::Ball : Number::Interval, bits, Literals::Exact, 0, Ties::Last);
  e.run({pair.first, pair.second}, keeps(bits > 0 ? Number::Ball : Number::Interval));
  const Value *s = e.get(pair.first), *d = e.get(pair.second);
  if (!s || !d) return false;
  const auto [x, y] = at_index(*s, *d, found.index, found.imaginary);
  const auto alike = [](Interval a, Interval b) {
    return (is_undefined(a) && is_undefined(b)) || (is_real(a) && is_real(b) && std::fabs(a.m - b.m) <= a.r + b.r + 1e-9 * std::fabs(a.m));
  };
  return alike(x, found.sequential) && alike(y, found.distributed);
}

bool Runs::stands_for_other_kernels(Pair pair) {
  for (const Kernels functions : {Kernels::Zero, Kernels::Another}) {
    Config c = base();
    c.functions = functions;
    Evaluator e(problem_.graph, *inputs_, c);
    e.run({pair.first, pair.second});
    const Value *s = e.get(pair.first), *d = e.get(pair.second);
    if (!s || !d || compare(*s, *d).kind != Comparison::Kind::Differs) return false;
  }
  return true;
}

Comparison Runs::confirm_with(Pair pair, const Comparison& suspect, std::string* how, Ties ties) {
  const auto attempt = [&](Number number, slong bits) -> std::optional<Comparison> {
    Evaluator& e = reading(number, bits, Literals::Exact, 0, ties);
    e.run({pair.first, pair.second}, keeps(number));
    const Value *s = e.get(pair.first), *d = e.get(pair.second);
    if (!s || !d) return std::nullopt;
    return compare(*s, *d);
  };
  const auto stands = [&](const Comparison& c, slong bits) {
    return stands_in_other_readings(pair, c, bits, ties) && (ties == Ties::Open || stands_for_other_ties(pair, c, bits));
  };
  const std::string conditions = std::string(literals_matter_ ? ", literals moved within their rounding" : "") +
                                 (ties == Ties::Open ? "" : ", for both ways to break ties");
  if (literals_matter_ || ties != Ties::Open) {  // the width of literals or a tie alone may have hidden it
    const auto c = attempt(Number::Interval, 0);
    if (c && c->kind == Comparison::Kind::Differs && stands(*c, 0)) {
      *how = "intervals of doubles" + conditions;
      return *c;
    }
    if (c && c->kind == Comparison::Kind::Differs && literals_matter_) {  // two spellings of one closed form?
      Evaluator& e = reading(Number::Interval, 0, Literals::Closed, 1, ties);
      e.run({pair.first, pair.second}, keeps(Number::Interval));
      const Value *s = e.get(pair.first), *d = e.get(pair.second);
      if (s && d) {
        const Comparison closed = compare(*s, *d);
        if (closed.kind == Comparison::Kind::Same) return closed;
      }
    }
  }
  if (options_.glance) return suspect;
  // Radii grow with depth: as many bits as the radius exceeds the difference, and some to spare.
  const bool open = suspect.kind == Comparison::Kind::Open;
  const double excess =
      open ? 30 : std::log2(std::max(1.0, (suspect.sequential.r + suspect.distributed.r) / std::max(std::fabs(suspect.gap), 1e-300)));
  slong bits = 128;
  while (bits < 4096 && static_cast<double>(bits) < 53 + 30 + excess) bits *= 2;
  Comparison last = suspect;
  for (int round = 0; round < 2 && util::WorkClock::now() < deadline_; ++round, bits *= 4) {
    const auto c = attempt(Number::Ball, bits);
    if (!c) break;  // budget
    if (c->kind == Comparison::Kind::Differs) {
      if (!stands(*c, bits)) return suspect;
      *how = fmt::format("balls of {} bits{}", bits, conditions);
      return *c;
    }
    if (c->kind == Comparison::Kind::Same) return *c;
    if (c->kind == Comparison::Kind::Suspect && last.kind == Comparison::Kind::Suspect && std::fabs(c->gap) < 1e-6 * std::fabs(last.gap)) {
      last = *c;  // both are 0, say: what was left shrinks with the precision
      last.kind = Comparison::Kind::Same;
      return last;
    }
    last = *c;
  }
  return last;
}

Comparison Runs::confirm(Pair pair, const Comparison& suspect, std::string* how) {
  const Comparison c = confirm_with(pair, suspect, how, Ties::Open);
  if (c.kind != Comparison::Kind::Open || !ties_matter_) return c;
  return confirm_with(pair, c, how, Ties::First);
}

namespace {

// One call of falsify().
class Falsifier {
 public:
  Falsifier(link::Problem& problem, const std::vector<size_t>& outputs, const Options& options, std::string* witness)
      : problem_(problem),
        options_(options),
        witness_(witness),
        deadline_(util::WorkClock::now() + std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000))) {
    if (witness_) witness_->clear();
    for (size_t index : outputs) {
      cases_.push_back({index, {}, {}, {}, false, 0});
      prepare(cases_.back());
    }
  }

  std::vector<OutputFinding> run() {
    const InputMaker maker(problem_);
    if (const auto impossible = maker.impossible(); !impossible.empty()) {
      for (Case& c : cases_) {
        if (!c.done) c.finding.reason = "internal: no inputs satisfy the facts (" + impossible[0] + ")";
      }
      return findings();
    }
    double elements = 0;
    for (ir::NodeId id : problem_.free_inputs) elements += static_cast<double>(ir::num_elements(problem_.graph[id].shape));
    // Blocks first: they show most differences at a fraction of the work. Then dense inputs where that is affordable, for what blocks hide
    // (an order inside of runs). Tiny programs are dense at once.
    const bool affordable = maker.dense_work() <= kDenseWork && elements <= kDenseElements;
    const bool tiny = maker.dense_work() <= kTinyWork;
    const int rounds = options_.glance ? 1 : tiny ? std::max(options_.seeds, kTinySeeds) : options_.seeds;
    for (int r = 0; r < rounds; ++r) {
      if (std::all_of(cases_.begin(), cases_.end(), [](const Case& c) { return c.done; })) break;
      if (r > 0 && out_of_time()) break;
      round(maker, options_.seed + static_cast<uint64_t>(r), r < 4 ? r : r % 2 == 0 ? 0 : 2, tiny || (affordable && r % 2 == 1));
    }
    for (Case& c : cases_) conclude(c);
    return findings();
  }

 private:
  struct Case {
    size_t index;  // into problem.outputs
    std::vector<Candidate> candidates;
    std::vector<bool> alive;  // candidates that held on all inputs so far
    OutputFinding finding;
    bool done = false;
    int agreed = 0;  // rounds in which some candidate held
  };
  enum class Verdict : uint8_t { Fails, Holds, Open };

  bool out_of_time() const { return util::WorkClock::now() > deadline_; }

  void prepare(Case& c) {
    const link::Output output = problem_.outputs[c.index];  // a copy: goals() may move the graph, not the outputs, but be safe
    if (output.blocked) {
      c.finding.status = OutputFinding::Status::Differs;
      c.finding.detail = *output.blocked;
      c.done = true;
    } else if (output.sequential == ir::kNoNode) {
      c.finding.reason = "internal: no sequential value";
      c.done = true;
    } else {
      c.candidates = candidates_of(problem_, output);
      c.alive.assign(c.candidates.size(), true);
      if (c.candidates.empty()) {
        c.finding.reason = "undeclared-placement: no placement to try";
        c.done = true;
      }
    }
  }

  std::vector<ir::NodeId> targets() const {
    std::vector<ir::NodeId> out;
    for (const Case& c : cases_) {
      if (c.done) continue;
      out.push_back(problem_.outputs[c.index].sequential);
      for (const Candidate& candidate : c.candidates) {
        if (!candidate.goals) continue;
        for (const auto& [x, y] : *candidate.goals) out.insert(out.end(), {x, y});
      }
    }
    return out;
  }

  // Of the goals that are to be decided, those that a plain evaluation leaves in doubt.
  std::vector<ir::NodeId> suspects() const {
    std::vector<ir::NodeId> out;
    for (const Case& c : cases_) {
      for (size_t k = 0; !c.done && k < c.candidates.size(); ++k) {
        if (!c.candidates[k].goals || c.candidates.size() > 1) continue;
        for (const auto& [x, y] : *c.candidates[k].goals) {
          const Value *s = runs_->plain().get(x), *d = runs_->plain().get(y);
          if (!s || !d) continue;
          const Comparison::Kind kind = compare(*s, *d).kind;
          if (kind == Comparison::Kind::Suspect || kind == Comparison::Kind::Open) out.insert(out.end(), {x, y});
        }
      }
    }
    return out;
  }

  // One set of inputs, at the finest cut that the budget allows.
  void round(const InputMaker& maker, uint64_t seed, int variant, bool dense) {
    const std::vector<ir::NodeId> wanted = targets();
    Detail detail = dense ? Detail::Dense : level_;
    for (;; detail = static_cast<Detail>(static_cast<int>(detail) + 1)) {
      runs_.reset();
      inputs_ = std::make_shared<const Inputs>(maker.make(seed, detail, variant));
      runs_ = std::make_unique<Runs>(problem_, inputs_, options_, deadline_,
                                     detail == Detail::Minimal ? 1e11
                                     : dense                   ? 2 * kDenseWork
                                     : options_.glance         ? kGlanceWork
                                                               : kBlockWork);
      runs_->plain().run(wanted);
      const bool failed =
          std::any_of(wanted.begin(), wanted.end(), [&](ir::NodeId id) { return runs_->plain().reason(id).starts_with("budget: "); });
      if (!failed || detail == Detail::Minimal || out_of_time()) break;
    }
    if (!dense) level_ = detail;
    blamer_.reset();
    runs_->expect(suspects());
    for (Case& c : cases_) {
      if (c.done) continue;
      Refutation refutation;
      refutation.output = c.index;
      refutation.seed = seed;
      refutation.variant = variant;
      refutation.detail = detail;
      refutation.inputs = inputs_;
      refutation.arithmetic = "intervals of doubles";
      try_output(c, refutation);
    }
  }

  void try_output(Case& c, Refutation& refutation) {
    bool all_fail = true, some_holds = false;
    std::string reason;
    for (size_t k = 0; k < c.candidates.size(); ++k) {
      refutation.candidates.push_back(manifest::to_string(c.candidates[k].placement, problem_.mesh));
      const Verdict v =
          c.candidates[k].goals ? try_candidate(*c.candidates[k].goals, all_fail, refutation, reason, c.finding.suspect) : Verdict::Fails;
      if (v != Verdict::Holds) c.alive[k] = false;
      all_fail = all_fail && v == Verdict::Fails;
      some_holds = some_holds || v == Verdict::Holds;
    }
    if (all_fail) {
      refuted(c, refutation);
    } else if (some_holds) {
      ++c.agreed;
    } else if (c.finding.reason.empty()) {
      c.finding.reason = reason.empty() ? "budget: enclosures do not decide it" : reason;
    }
  }

  static constexpr const char* kUndefinedThere =
      "budget: the distributed value is undefined, but on these inputs so are other values of the sequential program";

  // An input that leaves a part of the sequential program undefined (a count of 0 that its loss divides by) is none that anyone would give
  // it: what the ranks make of the rest by 0 times that is no witness.
  bool sequential_defined() {
    for (const link::Output& o : problem_.outputs) {
      if (!o.checked || o.sequential == ir::kNoNode) continue;
      runs_->plain().run({o.sequential});
      const Value* v = runs_->plain().get(o.sequential);
      if (!v || !defined_throughout(*v)) return false;
    }
    return true;
  }

  // `matters`: all candidates before failed, so a failure here counts.
  Verdict try_candidate(const std::vector<Pair>& goals, bool matters, Refutation& refutation, std::string& reason, bool& doubt) {
    using Kind = Comparison::Kind;
    const auto note = [&](const std::string& why) {
      if (reason.empty()) reason = why;
    };
    bool open = false, vacuous = !goals.empty();
    std::vector<std::pair<Pair, Comparison>> suspects;
    for (const Pair& pair : goals) {
      const Value *s = runs_->plain().get(pair.first), *d = runs_->plain().get(pair.second);
      if (!s || !d) {
        open = true;
        vacuous = false;
        note(runs_->plain().reason(s ? pair.second : pair.first));
        continue;
      }
      const Comparison comparison = compare(*s, *d);
      if (comparison.kind == Kind::Open && comparison.defined == 0 && comparison.open == 0) continue;  // nothing is claimed there
      vacuous = false;
      if (comparison.kind == Kind::Differs && comparison.undefined && !sequential_defined()) {
        open = true;
        note(kUndefinedThere);
        continue;
      }
      if (comparison.kind == Kind::Differs) {
        if (const std::string why = rests_on_kernel(pair, comparison); !why.empty()) {
          open = true;
          note(why);
          continue;
        }
        refutation.differences.push_back(comparison);
        refutation.pairs.push_back(pair);
        return Verdict::Fails;
      }
      if (comparison.kind == Kind::Same) continue;
      const std::string why = comparison.kind == Kind::Open ? open_reason(problem_, pair) : "";
      if (why.empty()) {
        suspects.emplace_back(pair, comparison);
      } else {
        open = true;
        note(why);
      }
    }
    if (vacuous) {
      note("budget: the sequential value is undefined on these inputs");
      return Verdict::Open;
    }
    if (!matters && !suspects.empty()) return Verdict::Open;  // confirming is dear: only where it still matters
    for (const auto& [pair, suspect] : suspects) {
      std::string how;
      const Comparison comparison = runs_->confirm(pair, suspect, &how);
      if (comparison.kind == Kind::Differs && comparison.undefined && !sequential_defined()) {
        open = true;
        note(kUndefinedThere);
        continue;
      }
      if (comparison.kind == Kind::Differs) {
        if (const std::string why = rests_on_kernel(pair, comparison); !why.empty()) {
          open = true;
          note(why);
          continue;
        }
        refutation.differences.push_back(comparison);
        refutation.pairs.push_back(pair);
        refutation.arithmetic = how;
        return Verdict::Fails;
      }
      if (comparison.kind == Kind::Same) continue;
      open = true;
      doubt = doubt || comparison.kind == Kind::Suspect;
      note(comparison.kind == Kind::Suspect ? fmt::format("budget: values differ, but not beyond rounding ({})", describe(comparison))
                                            : "budget: enclosures do not decide it");
    }
    return open ? Verdict::Open : Verdict::Holds;
  }

  void refuted(Case& c, Refutation& refutation) {
    c.done = true;
    c.finding.status = OutputFinding::Status::Differs;
    c.finding.reason.clear();
    if (refutation.differences.empty()) {
      c.finding.detail = "no placement fits the shapes";
    } else {
      const std::string which = c.candidates.size() == 1
                                    ? "expected " + refutation.candidates[0]
                                    : fmt::format("as {}; {} placements tried", refutation.candidates[0], c.candidates.size());
      const std::string kernels = kernels_in(refutation.pairs);
      c.finding.detail = fmt::format("{} ({}{})", describe(refutation.differences[0]), which,
                                     kernels.empty() ? "" : "; whatever functions obey the contracts of " + kernels);
      if (options_.blame) {
        if (!blamer_) blamer_ = std::make_unique<Blamer>(problem_, inputs_, options_, deadline_);
        c.finding.blame = blamer_->find(refutation);
      }
    }
    if (witness_ && witness_->empty()) *witness_ = write_witness(problem_, refutation, c.finding.blame, options_);
  }

  // The kernels on the way to these.
  std::string kernels_in(const std::vector<Pair>& pairs) const {
    std::set<std::string> names;
    std::vector<bool> seen(problem_.graph.nodes.size());
    std::vector<ir::NodeId> stack;
    for (const auto& [x, y] : pairs) stack.insert(stack.end(), {x, y});
    while (!stack.empty()) {
      const ir::NodeId id = stack.back();
      stack.pop_back();
      if (seen[id]) continue;
      seen[id] = true;
      if (problem_.graph[id].op == ir::Op::Opaque) names.insert(problem_.graph[id].name);
      stack.insert(stack.end(), problem_.graph[id].in.begin(), problem_.graph[id].in.end());
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // A difference that one function shows in a kernel's place refutes nothing that another would not: why it does not count, or "".
  std::string rests_on_kernel(Pair pair, const Comparison& comparison) {
    const std::string kernels = kernels_in({pair});
    if (kernels.empty() || runs_->stands_for_other_kernels(pair)) return "";
    return fmt::format("missing-lemma: rests on the opaque operator {}: with a function that obeys its contract in its place, {}", kernels,
                       describe(comparison));
  }

  void conclude(Case& c) {
    if (c.done || c.agreed == 0) return;
    const auto held = std::find(c.alive.begin(), c.alive.end(), true);
    if (held == c.alive.end()) {
      if (c.finding.reason.empty()) c.finding.reason = "undeclared-placement: no placement holds on all inputs tried";
      return;
    }
    c.finding.status = OutputFinding::Status::Agrees;
    c.finding.reason.clear();
    c.finding.holds = c.candidates[static_cast<size_t>(held - c.alive.begin())].placement;
  }

  std::vector<OutputFinding> findings() {
    std::vector<OutputFinding> out;
    for (Case& c : cases_) out.push_back(std::move(c.finding));
    return out;
  }

  link::Problem& problem_;
  const Options& options_;
  std::string* witness_;
  util::WorkClock::time_point deadline_;
  std::vector<Case> cases_;
  Detail level_ = Detail::Fine;  // of block inputs, coarser after a budget ran out
  std::shared_ptr<const Inputs> inputs_;
  std::unique_ptr<Runs> runs_;  // of this round
  std::unique_ptr<Blamer> blamer_;
};

}  // namespace

std::vector<OutputFinding> falsify(link::Problem& problem, const std::vector<size_t>& outputs, const Options& options,
                                   std::string* witness_json) {
  return Falsifier(problem, outputs, options, witness_json).run();
}

}  // namespace shardproof::interp
