// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The falsifier: evaluates the goals of outputs on a few inputs and refutes an output when, on one and the same inputs, every placement that it
// may have gives another value.
//
// A difference counts when the enclosures are disjoint. First all literals carry the width of their rounding, so that such a difference stands at
// once. Where that leaves a suspect (midpoints apart, enclosures overlapping), literals become points and the pair is evaluated under several
// readings of them (exact, closed forms, and moved at random inside their last place, alike on both sides): the values must be disjoint in every
// reading and the difference must vary by less than a quarter of itself. If doubles are too coarse for that, balls of 128 bits and more do the same.
#include "interp/falsify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "util/result.h"

namespace shardproof::interp {
namespace {

constexpr double kDenseWork = 4e8;          // scalar operations per evaluation on dense inputs
constexpr double kDenseElements = 6e6;      // of all free inputs
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

// Why a comparison is open: the kernels, draws and unspecified tensors that the pair depends on.
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
    if (n.op == ir::Op::Random && draw.empty()) draw = n.name;
    if (n.op == ir::Op::Uninit && memory.empty()) memory = n.label;
    stack.insert(stack.end(), n.in.begin(), n.in.end());
  }
  if (!kernel.empty()) return "missing-lemma: rests on the opaque operator " + kernel;
  if (!draw.empty()) return "missing-lemma: rests on a random draw (" + draw + ")";
  if (!memory.empty()) return "missing-lemma: rests on unspecified memory " + memory;
  return "budget: enclosures do not decide it";
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

Runs::Runs(const link::Problem& problem, std::shared_ptr<const Inputs> inputs, const Options& options,
           std::chrono::steady_clock::time_point deadline)
    : problem_(problem), inputs_(std::move(inputs)), options_(options), deadline_(deadline) {
  literals_matter_ = has_rounded_literals(problem.graph);
  plain_ = std::make_unique<Evaluator>(problem.graph, *inputs_, base());
}

Config Runs::base() const {
  Config c;
  c.max_bytes = static_cast<size_t>(options_.bytes);
  c.deadline = deadline_;
  return c;
}

Evaluator& Runs::reading(Literals literals, uint64_t seed) {
  for (size_t k = 0; k < readings_.size(); ++k) {
    if (reading_keys_[k] == std::pair(literals, seed)) return *readings_[k];
  }
  Config c = base();
  c.literals = literals;
  c.literal_seed = seed;
  readings_.push_back(std::make_unique<Evaluator>(problem_.graph, *inputs_, c));
  reading_keys_.emplace_back(literals, seed);
  return *readings_.back();
}

// All evaluations must differ at one index, in the same direction, by about the same amount.
std::optional<Comparison> Runs::confirm_with(std::vector<Evaluator*> evaluators, Pair pair) {
  std::optional<Comparison> first;
  double low = kInfinity, high = -kInfinity;
  for (Evaluator* e : evaluators) {
    e->run({pair.first, pair.second});
    const Value *s = e->get(pair.first), *d = e->get(pair.second);
    if (!s || !d) return std::nullopt;
    if (!first) {
      first = compare(*s, *d);
      if (first->kind != Comparison::Kind::Differs) return std::nullopt;
    }
    const auto [x, y] = at_index(*s, *d, first->index, first->imaginary);
    if (!is_real(x)) return std::nullopt;
    if (is_undefined(y)) {
      if (!first->undefined) return std::nullopt;
      continue;
    }
    const Order o = order(x, y);
    if (o != Order::Less && o != Order::Greater) return std::nullopt;
    low = std::min(low, x.m - y.m);
    high = std::max(high, x.m - y.m);
  }
  if (!first->undefined && !(high - low <= std::min(std::fabs(low), std::fabs(high)) / 4)) return std::nullopt;
  return first;
}

Comparison Runs::confirm(Pair pair, const Comparison& suspect, std::string* how) {
  const int readings = literals_matter_ ? kReadings : 1;
  const auto config_of = [](int k) {
    return std::pair(k == 0 ? Literals::Exact : k == 1 ? Literals::Closed : Literals::Perturbed, static_cast<uint64_t>(k));
  };
  if (literals_matter_) {
    std::vector<Evaluator*> evaluators;
    for (int k = 0; k < readings; ++k) evaluators.push_back(&reading(config_of(k).first, config_of(k).second));
    if (auto found = confirm_with(evaluators, pair)) {
      *how = fmt::format("intervals of doubles, {} readings of literals", readings);
      return *found;
    }
  }
  // Radii grow with depth; each doubling of the precision buys as many layers again.
  for (slong bits : {128, 512, 2048}) {
    if (std::chrono::steady_clock::now() > deadline_) break;
    std::vector<std::unique_ptr<Evaluator>> owned;
    std::vector<Evaluator*> evaluators;
    for (int k = 0; k < readings; ++k) {
      Config c = base();
      c.number = Number::Ball;
      c.bits = bits;
      std::tie(c.literals, c.literal_seed) = config_of(k);
      owned.push_back(std::make_unique<Evaluator>(problem_.graph, *inputs_, c));
      evaluators.push_back(owned.back().get());
    }
    if (auto found = confirm_with(evaluators, pair)) {
      *how = fmt::format("balls of {} bits, {} readings of literals", bits, readings);
      return *found;
    }
    if (!evaluators[0]->get(pair.first) || !evaluators[0]->get(pair.second)) break;  // budget
    const Comparison c = compare(*evaluators[0]->get(pair.first), *evaluators[0]->get(pair.second));
    if (c.kind == Comparison::Kind::Same || c.kind == Comparison::Kind::Differs) return suspect;  // rounding after all, or of literals
  }
  return suspect;
}

std::vector<OutputFinding> falsify(link::Problem& problem, const std::vector<size_t>& outputs, const Options& options, std::string* witness_json) {
  using Kind = Comparison::Kind;
  using Status = OutputFinding::Status;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  std::vector<OutputFinding> findings(outputs.size());
  std::vector<std::vector<Candidate>> candidates(outputs.size());
  std::vector<std::vector<bool>> alive(outputs.size());   // candidates that no seed contradicted
  std::vector<bool> done(outputs.size());
  std::optional<Refutation> first;
  std::unique_ptr<Runs> first_runs;
  if (witness_json) witness_json->clear();
  for (size_t k = 0; k < outputs.size(); ++k) {
    const link::Output output = problem.outputs[outputs[k]];
    if (output.blocked) {
      findings[k].status = Status::Differs;
      findings[k].detail = *output.blocked;
      done[k] = true;
      continue;
    }
    if (output.sequential == ir::kNoNode) {
      findings[k].reason = "internal: no sequential value";
      done[k] = true;
      continue;
    }
    candidates[k] = candidates_of(problem, output);
    alive[k].assign(candidates[k].size(), true);
    if (candidates[k].empty()) {
      findings[k].reason = "undeclared-placement: no placement to try";
      done[k] = true;
    }
  }
  const InputMaker maker(problem);
  if (const auto impossible = maker.impossible(); !impossible.empty()) {
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!done[k]) findings[k].reason = "internal: no inputs satisfy the facts (" + impossible[0] + ")";
    }
    return findings;
  }
  double input_elements = 0;
  for (ir::NodeId id : problem.free_inputs) input_elements += static_cast<double>(ir::num_elements(problem.graph[id].shape));
  const bool dense = maker.dense_work() <= kDenseWork && input_elements <= kDenseElements;
  std::vector<int> agreed(outputs.size(), 0);
  for (int round = 0; round < options.seeds; ++round) {
    if (std::all_of(done.begin(), done.end(), [](bool b) { return b; })) break;
    if (round > 0 && std::chrono::steady_clock::now() > deadline) break;
    const uint64_t seed = options.seed + static_cast<uint64_t>(round);
    const int variant = round % 3;
    auto inputs = std::make_shared<const Inputs>(maker.make(seed, dense, variant));
    auto runs = std::make_unique<Runs>(problem, inputs, options, deadline);
    std::vector<ir::NodeId> targets;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (done[k]) continue;
      targets.push_back(problem.outputs[outputs[k]].sequential);
      for (size_t c = 0; c < candidates[k].size(); ++c) {
        if (!candidates[k][c].goals) continue;
        for (const auto& [x, y] : *candidates[k][c].goals) {
          targets.push_back(x);
          targets.push_back(y);
        }
      }
    }
    runs->plain().run(targets);
    bool kept = false;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (done[k]) continue;
      Refutation refutation;
      refutation.output = outputs[k];
      refutation.seed = seed;
      refutation.variant = variant;
      refutation.dense = dense;
      refutation.inputs = inputs;
      refutation.arithmetic = "intervals of doubles";
      bool all_fail = true, any_open = false, any_same = false;
      std::string reason;
      for (size_t c = 0; c < candidates[k].size(); ++c) {
        refutation.candidates.push_back(manifest::to_string(candidates[k][c].placement, problem.mesh));
        if (!candidates[k][c].goals) {
          alive[k][c] = false;
          continue;
        }
        bool fails = false, open = false;
        std::optional<std::pair<Pair, Comparison>> suspect;
        for (const Pair& pair : *candidates[k][c].goals) {
          const Value *s = runs->plain().get(pair.first), *d = runs->plain().get(pair.second);
          if (!s || !d) {
            open = true;
            if (reason.empty()) reason = runs->plain().reason(s ? pair.second : pair.first);
            continue;
          }
          const Comparison comparison = compare(*s, *d);
          if (comparison.kind == Kind::Differs) {
            fails = true;
            refutation.differences.push_back(comparison);
            refutation.pairs.push_back(pair);
            break;
          }
          if (comparison.kind == Kind::Open) {
            open = true;
            if (reason.empty()) reason = comparison.defined == 0 && comparison.open == 0 ? "budget: the sequential value is undefined on these inputs"
                                                                                        : open_reason(problem, pair);
          }
          if (comparison.kind == Kind::Suspect && !suspect) suspect = {pair, comparison};
        }
        if (!fails && suspect && all_fail) {  // confirming is dear: only where it still matters
          std::string how;
          const Comparison comparison = runs->confirm(suspect->first, suspect->second, &how);
          if (comparison.kind == Kind::Differs) {
            fails = true;
            refutation.differences.push_back(comparison);
            refutation.pairs.push_back(suspect->first);
            refutation.arithmetic = how;
          } else {
            open = true;
            if (reason.empty()) reason = fmt::format("budget: values differ, but not beyond rounding ({})", describe(suspect->second));
          }
        } else if (!fails && suspect) {
          open = true;
        }
        if (fails) {
          alive[k][c] = false;
        } else {
          all_fail = false;
          any_open = any_open || open;
          any_same = any_same || !open;
          if (open) alive[k][c] = false;
        }
      }
      OutputFinding& finding = findings[k];
      if (all_fail) {
        finding.status = Status::Differs;
        finding.reason.clear();
        finding.holds.reset();
        finding.detail = refutation.differences.empty()
                             ? "no placement fits the shapes"
                             : fmt::format("{} ({})", describe(refutation.differences[0]),
                                           candidates[k].size() == 1 ? "expected " + refutation.candidates[0]
                                                                     : fmt::format("as {}; {} placements tried", refutation.candidates[0], candidates[k].size()));
        done[k] = true;
        if (!refutation.differences.empty()) {
          finding.blame = find_blame(problem, refutation, runs->plain(), options);
          if (!first) {
            first = std::move(refutation);
            if (witness_json) *witness_json = write_witness(problem, *first, finding.blame);
            kept = true;
          }
        }
      } else if (any_same) {
        ++agreed[k];
      } else if (finding.reason.empty()) {
        finding.reason = reason.empty() ? "budget: enclosures do not decide it" : reason;
      }
    }
    if (kept) first_runs = std::move(runs);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (done[k] || agreed[k] == 0) continue;
    for (size_t c = 0; c < candidates[k].size(); ++c) {
      if (!alive[k][c]) continue;
      findings[k].status = Status::Agrees;
      findings[k].holds = candidates[k][c].placement;
      break;
    }
    if (findings[k].status != Status::Agrees && findings[k].reason.empty()) findings[k].reason = "undeclared-placement: no placement holds on all inputs tried";
  }
  return findings;
}

}  // namespace shardproof::interp
