// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "mutate/judge.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "interp/falsify.h"
#include "mutate/random.h"
#include "util/work_clock.h"

namespace shardproof::mutate {

namespace {

using interp::Buffer;
using interp::Comparison;
using interp::Value;
using Clock = util::WorkClock;

constexpr double kDenseWork = 3e7;

// The facts that bind an input.
struct Bounds {
  bool range = false, exception = false, at_least = false, greater = false, fixed = false;
  double low = 0, high = 0, except = 0, minimum = 0;
};
Bounds bounds_of(const link::Problem& problem, ir::NodeId input) {
  Bounds b;
  for (const link::Fact& f : problem.facts) {
    if (f.input != input) continue;
    using Kind = manifest::Fact::Kind;
    switch (f.fact.kind) {
      case Kind::Range:
        b.fixed |= b.range || b.at_least;  // several facts on one input: leave it to the maker
        b.range = true;
        b.low = f.fact.low;
        b.high = f.fact.high;
        b.exception = f.fact.has_exception;
        b.except = f.fact.exception;
        break;
      case Kind::AtLeast:
      case Kind::GreaterThan:
        b.fixed |= b.range || b.at_least;
        b.at_least = true;
        b.greater = f.fact.kind == Kind::GreaterThan;
        b.minimum = f.fact.value;
        break;
      case Kind::AnyNotEqual:
      case Kind::Distinct: b.fixed = true; break;
    }
  }
  return b;
}

// Replaces some elements by values at the edges.
Value with_edges(const Value& v, const Bounds& bounds, int mode, Random random) {
  if (v.imag || v.data->size == 0 || bounds.fixed) return v;
  Buffer b = Buffer::make(v.data->number, v.data->size);
  b.i = v.data->i;
  b.m = v.data->m;
  b.r = v.data->r;
  b.state = v.data->state;
  const bool is_number = b.number == interp::Number::Interval;
  if (!is_number && b.number != interp::Number::Integer) return v;
  const double p = mode == 1 ? 0.25 : mode >= 4 ? 1 : 0.5;
  for (size_t k = 0; k < b.size; ++k) {
    if (!random.chance(p)) continue;
    if (!is_number) {
      if (mode >= 4) break;
      if (v.dtype == ir::DType::Bool) {
        b.i[k] = random.below(2);
      } else if (bounds.range) {
        const int64_t low = static_cast<int64_t>(bounds.low), high = static_cast<int64_t>(std::min(bounds.high, 9e15)) - 1;
        const int64_t which = random.below(bounds.exception ? 5 : 4);
        if (high < low) continue;
        b.i[k] = which == 0   ? low
                 : which == 1 ? high
                 : which == 2 ? std::min(low + 1, high)
                 : which == 3 ? std::max(high - 1, low)
                              : static_cast<int64_t>(bounds.except);
      } else if (bounds.at_least) {
        b.i[k] = static_cast<int64_t>(bounds.minimum) + (bounds.greater ? 1 : 0);
      } else {
        b.i[k] = b.i[static_cast<size_t>(random.below(static_cast<int64_t>(b.size)))];  // repeated: its range is not known
      }
      continue;
    }
    double x = 0;
    if (bounds.range) {
      const double high = std::min(bounds.high, bounds.low + 1e6);
      x = random.chance(0.5) ? bounds.low : bounds.low + (high - bounds.low) * (1 - 0x1p-12);
      if (bounds.exception && random.chance(0.2)) x = bounds.except;
    } else if (bounds.at_least) {
      x = bounds.minimum + (bounds.greater ? 0x1p-10 : 0);
    } else if (mode == 1) {
      x = 0;
    } else if (mode >= 4) {
      x = mode == 5 ? 0 : mode == 4 ? -std::fabs(b.m[k]) : std::fabs(b.m[k]);  // maxima, norms and counts at their edges
    } else if (mode == 2) {
      x = static_cast<double>(random.below(5) - 2);
    } else {
      x = b.m[k] * (random.chance(0.5) ? 16 : 0x1p-6);
    }
    b.set(k, {x, 0});
  }
  Value out = v;
  out.data = std::make_shared<const Buffer>(std::move(b));
  return out;
}

double elements_of(const link::Problem& problem) {
  double elements = 0;
  for (ir::NodeId id : problem.free_inputs) elements += static_cast<double>(ir::num_elements(problem.graph[id].shape));
  return elements;
}

struct Case {
  size_t output;
  std::vector<interp::Candidate> candidates;
  std::vector<bool> alive;
  Answer answer = Answer::Undecided;
  std::string detail;
  int held = 0;
  bool done = false;
};

enum class Verdict : uint8_t { Fails, Holds, Open };

// excused: an undefined distributed value is no difference (the gradient of a loss that is undefined, L-75).
Verdict try_candidate(const std::vector<interp::Pair>& goals, interp::Runs& runs, bool matters, bool excused, std::string& detail) {
  using Kind = Comparison::Kind;
  bool open = false, claimed = goals.empty();
  std::vector<std::pair<interp::Pair, Comparison>> suspects;
  for (const interp::Pair& pair : goals) {
    const Value *s = runs.plain().get(pair.first), *d = runs.plain().get(pair.second);
    if (!s || !d) {
      open = claimed = true;
      detail = runs.plain().reason(s ? pair.second : pair.first);
      continue;
    }
    const Comparison c = interp::compare(*s, *d);
    if (c.kind == Kind::Open && c.defined == 0 && c.open == 0) continue;  // undefined there: nothing is claimed
    claimed = true;
    if (c.kind == Kind::Differs && c.undefined && excused) {
      open = true;
      detail = "undefined, as the loss is";
      continue;
    }
    if (c.kind == Kind::Differs) {
      detail = interp::describe(c);
      return Verdict::Fails;
    }
    if (c.kind == Kind::Suspect) suspects.emplace_back(pair, c);
    if (c.kind == Kind::Open) {
      open = true;
      detail = "elements are undecided";
      if (matters) suspects.emplace_back(pair, c);
    }
  }
  if (!claimed) return Verdict::Open;
  if (!matters && !suspects.empty()) return Verdict::Open;
  for (const auto& [pair, suspect] : suspects) {
    std::string how;
    const Comparison c = runs.confirm(pair, suspect, &how);
    if (c.kind == Kind::Differs && !(c.undefined && excused)) {
      detail = fmt::format("{} ({})", interp::describe(c), how);
      return Verdict::Fails;
    }
    if (c.kind != Kind::Same) {
      open = true;
      detail = fmt::format("not decided: {}", interp::describe(c));
    }
  }
  return open ? Verdict::Open : Verdict::Holds;
}

}  // namespace

Answer Judgement::overall() const {
  if (std::find(answers.begin(), answers.end(), Answer::Different) != answers.end()) return Answer::Different;
  return std::find(answers.begin(), answers.end(), Answer::Undecided) != answers.end() ? Answer::Undecided : Answer::Same;
}

namespace {

bool is_affordable(const link::Problem& problem, const interp::InputMaker& maker) {
  return maker.dense_work() <= kDenseWork && elements_of(problem) <= 1e6;
}

interp::Inputs make_inputs(const link::Problem& problem, const interp::InputMaker& maker, uint64_t seed, int round, bool dense) {
  const uint64_t own = Random(seed * 977 + static_cast<uint64_t>(round) + 0x6d757461).next() >> 8;  // never the falsifier's seeds
  // Later on some are in blocks: few values, so that rare patterns (a row without a positive number) come up.
  const bool blocks = !dense || round % 5 == 4;
  interp::Inputs inputs =
      maker.make(own, blocks ? (dense ? interp::Detail::Coarse : interp::Detail::Fine) : interp::Detail::Dense, round % 3);
  const int mode = round % 7 == 5 ? 4 : round % 11 == 6 ? 5 : blocks && dense ? 0 : round % 4;
  // Now and then each input is positive, negative or zero by itself: what is made of several is 0 or negative then, and others are not.
  const bool apart = round % 7 == 3 || round % 7 == 1;
  if (mode == 0 && !apart) return inputs;
  for (ir::NodeId id : problem.free_inputs) {
    auto found = inputs.find(id);
    if (found == inputs.end()) continue;
    const int how = apart ? 4 + static_cast<int>(Random(own + 31 * uint64_t{id}).below(4)) : mode;
    if (how < 7) found->second = with_edges(found->second, bounds_of(problem, id), how, Random(own + id));
  }
  return inputs;
}

}  // namespace

bool dense_is_affordable(const link::Problem& problem) { return is_affordable(problem, interp::InputMaker(problem)); }

interp::Inputs judge_inputs(const link::Problem& problem, uint64_t seed, int round, bool dense) {
  return make_inputs(problem, interp::InputMaker(problem), seed, round, dense);
}

Judgement judge(link::Problem& problem, const std::vector<size_t>& outputs, const JudgeOptions& options) {
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  Judgement out;
  std::vector<Case> cases;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    if (!problem.outputs[k].checked || (!outputs.empty() && std::find(outputs.begin(), outputs.end(), k) == outputs.end())) continue;
    Case c;
    c.output = k;
    const link::Output output = problem.outputs[k];  // a copy: goals append to the problem
    if (output.blocked) {
      c.answer = Answer::Different;
      c.detail = *output.blocked;
      c.done = true;
    } else {
      c.candidates = interp::candidates_of(problem, output);
      c.alive.assign(c.candidates.size(), true);
      if (c.candidates.empty()) c.done = true;
    }
    cases.push_back(std::move(c));
  }
  const interp::InputMaker maker(problem);
  const bool dense = is_affordable(problem, maker);
  interp::Options interp_options;
  interp_options.seconds = options.seconds;
  const auto finished = [&] {
    const auto differs = [](const Case& c) { return c.answer == Answer::Different; };
    if (options.until_different && std::any_of(cases.begin(), cases.end(), differs)) return true;
    return std::all_of(cases.begin(), cases.end(), [](const Case& c) { return c.done; });
  };
  for (int round = 0; round < options.seeds && !finished() && (round == 0 || Clock::now() < deadline); ++round) {
    auto inputs = std::make_shared<const interp::Inputs>(make_inputs(problem, maker, options.seed, round, dense));
    interp::Runs runs(problem, inputs, interp_options, deadline);
    std::vector<ir::NodeId> wanted;
    for (const Case& c : cases) {
      if (c.done) continue;
      for (size_t k = 0; k < c.candidates.size(); ++k)
        if (c.candidates[k].goals)
          for (const auto& [x, y] : *c.candidates[k].goals) wanted.insert(wanted.end(), {x, y});
    }
    const std::vector<ir::NodeId> losses = problem.losses();
    wanted.insert(wanted.end(), losses.begin(), losses.end());
    runs.plain().run(wanted);
    const bool no_loss = std::any_of(losses.begin(), losses.end(), [&](ir::NodeId id) {
      const Value* v = runs.plain().get(id);
      return v != nullptr && !interp::defined_throughout(*v);
    });
    ++out.evaluations;
    for (Case& c : cases) {
      if (c.done) continue;
      bool all_fail = true, some_hold = false;
      const bool excused = no_loss && problem.outputs[c.output].role == manifest::Role::Gradient;
      std::string detail, first;
      for (size_t k = 0; k < c.candidates.size(); ++k) {
        const Verdict v = c.candidates[k].goals ? try_candidate(*c.candidates[k].goals, runs, all_fail, excused, detail) : Verdict::Fails;
        if (first.empty()) first = detail.empty() ? "no placement fits the shapes" : detail;
        if (v == Verdict::Fails) c.alive[k] = false;
        all_fail &= v == Verdict::Fails;
        some_hold |= v == Verdict::Holds && c.alive[k];
      }
      if (all_fail) {
        c.answer = Answer::Different;
        c.detail = fmt::format("{} (evaluation {}, {} inputs)", first, round, dense ? "dense" : "block");
        c.done = true;
      } else if (some_hold) {
        ++c.held;
      } else if (c.detail.empty()) {
        c.detail = detail;
      }
      if (finished()) break;
    }
  }
  for (Case& c : cases) {
    if (!c.done && c.held > 0 && std::find(c.alive.begin(), c.alive.end(), true) != c.alive.end()) c.answer = Answer::Same;
    out.outputs.push_back(c.output);
    out.answers.push_back(c.answer);
    out.details.push_back(c.detail);
  }
  return out;
}

}  // namespace shardproof::mutate
