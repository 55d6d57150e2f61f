// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "report/check.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <new>
#include <set>

#include <fmt/format.h>

#include "interp/interp.h"
#include "interp/meetings.h"
#include "manifest/match.h"
#include "prove/induction.h"
#include "prove/prover.h"
#include "report/blame_report.h"
#include "util/work_clock.h"

namespace shardproof::report {

using Clock = std::chrono::steady_clock;
using manifest::Placement;
using manifest::Step;

const char* name(Verdict v) { return v == Verdict::Proved ? "PROVED" : v == Verdict::Refuted ? "REFUTED" : "UNKNOWN"; }
const char* name(Status s) {
  return s == Status::Proved ? "PROVED" : s == Status::Refuted ? "REFUTED" : s == Status::Unchecked ? "UNCHECKED" : "UNKNOWN";
}

namespace {

constexpr double kPatience = 0.5;       // seconds of proving before what failed is evaluated
constexpr size_t kLarge = 30000;        // nodes
constexpr int64_t kUnrolledRounds = 4;  // shorter loops are not worth an induction

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
double limit_seconds_since(util::WorkClock::time_point start) {
  return std::chrono::duration<double>(util::WorkClock::now() - start).count();
}

// What one evaluation may hold where nothing is said: a model of real size needs 2 GB, and a check holds up to twice that.
uint64_t bytes_to_evaluate() {
  const auto memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return static_cast<uint64_t>(std::clamp(memory / 8, 0x1p29, 0x1p31));
}

uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// The contract's words for UNKNOWN; anything else is a word of ours that a person should see in `detail`.
std::string contract_reason(const std::string& text) {
  for (const char* word : {"unsupported-operator", "missing-lemma", "missing-input-relation", "undeclared-placement", "budget", "internal"})
    if (text.starts_with(word)) return word;
  return "missing-lemma";
}

bool has_partial(const Placement& p, int axis) {
  return std::any_of(p.steps.begin(), p.steps.end(), [&](const Step& s) { return s.kind == Step::Kind::Partial && s.axes[0] == axis; });
}

class Check {
 public:
  Check(const manifest::Manifest& m, const CheckOptions& o, std::shared_ptr<link::Problem> linked = nullptr) : m_(m), options_(o) {
    out_.problem = std::move(linked);
  }

  Result<CheckResult> run() {
    try {
      if (std::optional<Diagnostic> d = steps()) return *d;
    } catch (const std::bad_alloc&) {
      give_up(options_.memory_limit ? "budget" : "internal", "out of memory");
    } catch (const std::exception& e) {
      give_up("internal", e.what());
    }
    out_.stats.total = seconds_since(start_);
    out_.stats.peak_bytes = peak_bytes();
    return std::move(out_);
  }

 private:
  void say(const std::string& text) {
    if (options_.progress) options_.progress(text);
  }
  // Seconds left of the time limit; 0: there is none.
  double left() const { return options_.time_limit > 0 ? std::max(0.01, options_.time_limit - limit_seconds_since(limit_start_)) : 0; }

  std::optional<Diagnostic> steps() {
    if (!out_.problem) {
      say("reading");
      bool proved = false;
      if (options_.induction && options_.certificate.empty() && !options_.paranoid) {
        if (std::optional<Diagnostic> d = loops_once(proved)) return d;
      }
      if (proved) {
        conclude();
        return std::nullopt;
      }
    }
    if (!out_.problem) {
      Result<link::Problem> linked = link::link(m_);
      if (!linked) return linked.error();
      out_.problem = std::make_shared<link::Problem>(std::move(*linked));
    }
    begin();
    prove();
    falsify(Look::Whole);
    prove_in_other_forms();
    prove_again();
    prove_in_other_forms(0, true);
    conclude();
    return std::nullopt;
  }

  void begin() {
    problem_ = out_.problem.get();
    out_.stats.read = problem_->read_seconds;
    out_.stats.link = seconds_since(start_) - problem_->read_seconds;
    out_.stats.sequential_operators = problem_->sequential_operators;
    out_.stats.distributed_operators = problem_->distributed_operators;
    out_.assumptions = problem_->assumptions;
    out_.warnings = problem_->warnings;
    for (const link::Output& o : problem_->outputs) {
      OutputReport r;
      r.name = o.name;
      r.label = o.label;
      r.dist = o.distributed_names;
      if (!o.checked) {
        r.status = Status::Unchecked;
      } else {
        r.expected = to_string(o.expect, problem_->mesh);
      }
      out_.outputs.push_back(std::move(r));
    }
    placements_.resize(out_.outputs.size());
  }

  // Programs with long loops are first tried with each loop once. That can prove everything or decide nothing: what is not proved may be
  // true or false, and is left to the unrolled programs. Programs without such loops are only linked here.
  std::optional<Diagnostic> loops_once(bool& proved) {
    Clock::time_point start = Clock::now();
    Result<link::Programs> programs = link::read(m_, kUnrolledRounds);
    if (!programs) return programs.error();
    const double read = seconds_since(start);
    if (!programs->has_loops()) {
      Result<link::Problem> linked = link::link(m_, *programs);
      if (!linked) return linked.error();
      out_.problem = std::make_shared<link::Problem>(std::move(*linked));
      out_.problem->read_seconds = read;
      return std::nullopt;
    }
    say("proving loops by induction");
    start = Clock::now();
    const double limit = options_.time_limit > 0 ? 0.15 * left() : 60;
    prove::Induction found = prove::prove_loops(m_, *programs, {limit, options_.memory_limit});
    if (!found.problem) {
      say(fmt::format("loops are unrolled: {}", found.failure));
      return std::nullopt;
    }
    out_.problem = std::move(found.problem);
    out_.problem->read_seconds = read;
    begin();
    prover_ = std::move(found.prover);
    prover_->allow(limit);
    depends_ = prove::depends_on_inputs(*problem_);
    proved = problem_->faults.empty();
    for (size_t k = 0; k < out_.outputs.size() && proved; ++k) {
      if (out_.outputs[k].status != Status::Unknown) continue;
      prove_output(k);
      proved = out_.outputs[k].status == Status::Proved;
      if (!proved)
        say(fmt::format("loops are unrolled: output {} does not follow from the relations: {}", out_.outputs[k].name,
                        out_.outputs[k].detail));
    }
    if (proved) {
      out_.loops = std::move(found.loops);
      out_.stats.link = 0;
      out_.stats.prove = seconds_since(start);
      count_proofs();
      for (const link::Loop& loop : problem_->loops)
        for (const link::Fact& fact : problem_->facts)
          if (fact.input == loop.round) std::erase(out_.assumptions, "fact: " + fact.fact.text);
      return std::nullopt;
    }
    prover_.reset();
    placements_.clear();
    depends_.clear();
    problem_ = nullptr;
    out_ = {};
    return std::nullopt;
  }

  // A first pass of the prover, in which no output may starve the others where time is limited; a glance of the falsifier, which refutes
  // most of what is wrong; other forms for the rest, as long as they are cheap; the falsifier; and second passes for what was not refuted:
  // what was cut short, and what the quick ways did not prove.
  void prove() {
    Clock::time_point start = Clock::now();
    say("proving");
    prove::Limits limits;
    limits.bytes = options_.memory_limit;
    prover_ = std::make_unique<prove::Prover>(*problem_, limits);
    for (const link::CommunicationFault& fault : problem_->faults)
      for (size_t k = 0; k < out_.outputs.size(); ++k) {
        OutputReport& r = out_.outputs[k];
        if (r.status != Status::Unknown || !problem_->outputs[k].blocked) continue;
        r.status = Status::Refuted;
        r.detail = *problem_->outputs[k].blocked;
        r.blame = blame_of(fault);
      }
    const double total = options_.time_limit > 0 ? left() : 0;
    const auto limit_start = util::WorkClock::now();
    // While nothing has failed, there may be nothing left for the falsifier and the second pass: the proofs may take most of the time.
    int failed = 0;
    double before_proofs = 0;  // seconds that were no proving
    const auto cap = [&] { return total * (failed < 4 ? 0.85 : options_.falsify ? 0.4 : 0.7); };
    const double slice = total * 0.12;
    bool looked = false;  // a glance was taken
    for (size_t k = 0; k < out_.outputs.size(); ++k) {
      if (out_.outputs[k].status != Status::Unknown) continue;
      if (total > 0 && cap() <= limit_seconds_since(limit_start)) {
        out_.outputs[k].reason = "budget";
        out_.outputs[k].detail = "the time limit left no time to try";
        continue;
      }
      const auto allow = [&](double seconds) {
        prover_->allow(total > 0 ? std::min(seconds, std::max(0.01, cap() - limit_seconds_since(limit_start))) : seconds);
      };
      OutputReport& r = out_.outputs[k];
      // What is wrong is often dear to compare, and cheap to evaluate. A large program is dear in any case.
      const bool brief = !looked && problem_->graph.nodes.size() <= kLarge;
      allow(brief ? std::min(total > 0 ? slice : kPatience, kPatience) : slice);
      prove_output(k);
      if (r.status == Status::Proved) continue;
      if (brief) {
        looked = true;
        const Clock::time_point evaluation = Clock::now();
        falsify(Look::Glance);
        // Forms of sorts and angles are cheap to try.
        const bool cheap = prover_->has_order() || prover_->has_angle();
        if (suspect_ && !cheap) falsify(Look::Whole);
        before_proofs += seconds_since(evaluation);
        say("proving");
        if (r.status == Status::Unknown && r.reason == "budget") {
          r.reason.clear();
          r.detail.clear();
          allow(slice);
          prove_output(k);
        }
        // What other forms prove is dear in these.
        if (r.status == Status::Unknown && !refuted() && (cheap || !suspect_))
          prove_in_other_forms(std::clamp(4 * (seconds_since(start) - before_proofs), 1.0, 4.0));
      }
      repeat(k);
      if (r.status == Status::Unknown) failed += r.reason == "budget" ? 1 : 4;
    }
    // What was cut short may only have paid for what all outputs need, and what was computed stays: once more, for one slice together.
    const bool again = total > 0 && failed < 4;
    if (again) prover_->allow(slice);
    for (size_t k = 0; again && k < out_.outputs.size(); ++k) {
      OutputReport& r = out_.outputs[k];
      if (r.status != Status::Unknown || r.reason != "budget") continue;
      r.reason.clear();
      r.detail.clear();
      prove_output(k);
      repeat(k);
    }
    count_proofs();
    if (total > 0) prover_->allow(std::max(0.05 * total, cap() - limit_seconds_since(limit_start)));
    outside(*prover_);
    out_.stats.prove = seconds_since(start) - before_proofs;
  }

  // What the evaluation said of an output that is not proved.
  void repeat(size_t k) {
    OutputReport& r = out_.outputs[k];
    if (r.status != Status::Unknown || said_[k].empty()) return;
    r.detail += (r.detail.empty() ? "" : "; ") + said_[k];
  }

  void prove_again() {
    std::vector<size_t> open = still_open();
    if (open.empty()) return;
    say(fmt::format("proving {} outputs again", open.size()));
    Clock::time_point start = Clock::now();
    double before = out_.stats.prove;
    prover_->try_hard();
    // Those that were never tried come first.
    std::stable_sort(open.begin(), open.end(), [&](size_t x, size_t y) {
      auto tried = [&](size_t k) { return !out_.outputs[k].detail.starts_with("the time limit left no time"); };
      return tried(x) < tried(y);
    });
    size_t hints = 0;
    for (size_t i = 0; i < open.size(); ++i) {
      OutputReport& r = out_.outputs[open[i]];
      if (options_.time_limit > 0) {
        double rest = left() - 0.05 * options_.time_limit;
        if (rest <= 0) break;
        prover_->allow(rest / static_cast<double>(open.size() - i));
      }
      const std::string detail = std::exchange(r.detail, {}), reason = std::exchange(r.reason, {});
      prove_where_defined(open[i]);
      if (r.status == Status::Proved || reason == "budget") continue;
      r.reason = reason;
      r.detail = detail;  // the first difference is the shorter one, and says what the evaluation said
      if (hints++ < 8) point_at_first(open[i], r);
    }
    count_proofs();
    out_.stats.prove = before + seconds_since(start);
  }

  // In other forms. Gradients that are left as partial sums: both sides are written from the values where the ranks' parts add up. Sorts
  // and top-k: by their order. Products of sines and cosines: as sums. `brief`: seconds for what may be false (0: half of what is left).
  // `alone`: also from the values that single ranks hold, at last, since each in another form is compared with nested sums opened.
  void prove_in_other_forms(double brief = 0, bool alone = false) {
    // Where there are sorts or angles, partial sums are seldom what is missing, and finding them is an evaluation.
    const Forms wanted{brief == 0 || !(prover_->has_order() || prover_->has_angle()), prover_->has_order(), prover_->has_angle(), alone};
    if (wanted != forms_) not_by_meeting_.clear();
    std::vector<size_t> open = still_open();
    std::erase_if(open, [&](size_t k) { return not_by_meeting_.count(k) != 0; });
    const std::vector<ir::NodeId> losses = problem_->losses();  // first: gradients are compared where these are defined
    std::stable_partition(open.begin(), open.end(), [&](size_t k) {
      return std::find(losses.begin(), losses.end(), problem_->outputs[k].sequential) != losses.end();
    });
    const double rest = options_.time_limit > 0 ? left() - 0.05 * options_.time_limit : 0;
    if (open.empty() || (options_.time_limit > 0 && rest <= 0)) return;
    const Clock::time_point start = Clock::now();
    if ((wanted != forms_ && !find_other_forms(wanted, open, rest)) || !met_) {
      not_by_meeting_.insert(open.begin(), open.end());
      return;
    }
    say(fmt::format("proving {} outputs in other forms", open.size()));
    std::swap(prover_, met_);
    double share = rest > 0 ? 0.5 * left() : 0;
    if (brief > 0) share = share > 0 ? std::min(share, brief) : brief;
    if (share <= 0) prover_->allow(0);
    const auto begun = util::WorkClock::now();
    for (size_t i = 0; i < open.size(); ++i) {
      OutputReport& r = out_.outputs[open[i]];
      if (share > 0) {
        const double mine = share - limit_seconds_since(begun);
        if (mine <= 0) break;
        prover_->allow(mine);
      }
      const std::string detail = std::exchange(r.detail, {}), reason = std::exchange(r.reason, {});
      prove_where_defined(open[i]);
      if (r.status == Status::Proved) {
        by_meeting_.insert(open[i]);
        needs_met_ = true;
        continue;
      }
      if (r.reason != "budget") not_by_meeting_.insert(open[i]);
      r.reason = reason;
      r.detail = detail;
    }
    count_proofs();
    std::swap(prover_, met_);
    out_.stats.prove += seconds_since(start);
  }

  struct Forms {
    bool sums = false, order = false, angle = false, alone = false;
    bool operator==(const Forms&) const = default;
  };

  // Makes the prover in other forms, if there are any. rest: seconds that are left (0: no limit).
  bool find_other_forms(const Forms& wanted, const std::vector<size_t>& open, double rest) {
    std::vector<prove::Meeting> hints;
    if (options_.falsify && wanted.sums) {
      interp::Options o = interp_options();
      if (rest > 0) o.seconds = 0.2 * rest;
      if (!hints_) hints_ = interp::meetings(*problem_, open, o);
      for (const interp::Meeting& m : *hints_) {
        if (!m.alone || wanted.alone) hints.push_back({m.sequential, m.parts, m.start, m.alone});
      }
    }
    forms_ = wanted;
    if (hints.empty() && !wanted.order && !wanted.angle) return false;
    by_meeting_.clear();  // in these forms
    prove::Limits limits;
    limits.bytes = options_.memory_limit;
    met_ = std::make_unique<prove::Prover>(*problem_, limits, prover_->linked());
    met_->meet_at(std::move(hints));
    if (wanted.order) met_->by_order();
    if (wanted.angle) met_->by_angle();
    met_->try_hard();
    return true;
  }

  // A certificate is about the forms of one prover: "" or the output that it has not proved.
  std::string other_ways() {
    if (!needs_met_) return "";
    std::swap(prover_, met_);
    for (size_t k = 0; k < out_.outputs.size(); ++k) {
      if (out_.outputs[k].status != Status::Proved || by_meeting_.count(k) != 0) continue;
      OutputReport scratch;
      const link::Output output = problem_->outputs[k];
      if (!proves(*prover_, output, *placements_[k], scratch)) return out_.outputs[k].name;
    }
    return "";
  }

  // Outputs that the first pass left open and the evaluation did not refute.
  std::vector<size_t> still_open() const {
    std::vector<size_t> open;
    for (size_t k = 0; k < out_.outputs.size(); ++k) {
      const OutputReport& r = out_.outputs[k];
      const bool may_be_proved = r.reason.empty() || r.reason == "budget" || r.reason == "missing-lemma";
      if (r.status == Status::Unknown && !settled_.count(k) && may_be_proved) open.push_back(k);
    }
    return open;
  }

  // The gradient of a loss is no more than the loss is: where the sequential program divides by a count of 0, nothing is asked of it.
  void prove_where_defined(size_t k) {
    std::vector<ir::NodeId> losses;
    std::string names;
    if (problem_->outputs[k].role == manifest::Role::Gradient) losses = problem_->losses();
    std::erase_if(losses, [&](ir::NodeId loss) {
      for (size_t i = 0; i < out_.outputs.size(); ++i) {
        if (problem_->outputs[i].sequential != loss || out_.outputs[i].status != Status::Proved) continue;
        names += (names.empty() ? "" : ", ") + out_.outputs[i].name;
        return false;
      }
      return true;
    });
    prover_->where_defined(losses);
    prove_output(k);
    if (prover_->where_defined({}) && out_.outputs[k].status == Status::Proved)
      add_assumption(fmt::format("gradients are compared where the loss is defined ({})", names));
  }

  // Where what cannot be proved begins, as far as the prover sees it: the place to look at first.
  void point_at_first(size_t k, OutputReport& r) {
    const link::Output output = problem_->outputs[k];
    if (output.expect.kind == Placement::Kind::Any) return;
    const auto goals = problem_->goals(output, output.expect);
    if (!goals) return;
    for (const auto& [x, y] : *goals) {
      const std::optional<ir::NodeId> first = prover_->first_strange(y);
      if (!first) continue;
      const Site s = site_of(*problem_, *first, problem_->side[*first]);
      r.detail +=
          fmt::format("{}the first value without a counterpart in the one-device program is {}{}{}{}", r.detail.empty() ? "" : "; ",
                      s.node.empty() ? "unnamed" : s.node, s.op.empty() ? "" : fmt::format(" ({})", s.op),
                      s.rank >= 0 ? fmt::format(" of rank {}", s.rank) : "", s.file.empty() ? "" : fmt::format(", {}:{}", s.file, s.line));
      const std::vector<std::string> parameters = parameters_of(*problem_, m_, *first);
      if (!parameters.empty()) r.detail += fmt::format(", which reads {}", fmt::join(parameters, ", "));
      return;
    }
  }

  void count_proofs() {
    for (std::string& a : prover_->assumptions()) add_assumption(std::move(a));
    out_.stats.local_problems = prover_->stats().local_problems;
    out_.stats.distinct_local_problems = prover_->stats().distinct_local_problems;
    out_.stats.nodes = problem_->graph.nodes.size();
  }

  void prove_output(size_t k) {
    OutputReport& r = out_.outputs[k];
    const link::Output output = problem_->outputs[k];  // a copy: goals append to the problem
    std::vector<Placement> candidates{output.expect};
    bool any = output.expect.kind == Placement::Kind::Any;
    if (any) candidates = problem_->any_candidates(output);
    for (const Placement& p : candidates) {
      if (proves(*prover_, output, p, r)) {
        placements_[k] = p;
        break;
      }
      if (r.reason == "budget") break;
    }
    if (placements_[k] && !is_vacuous(output, r)) {
      r.status = Status::Proved;
      r.relation = to_string(*placements_[k], problem_->mesh);
      r.reason.clear();
      r.detail.clear();
    } else {
      placements_[k].reset();
      if (r.reason.empty()) r.reason = any ? "undeclared-placement" : "missing-lemma";
    }
  }

  bool proves(prove::Prover& prover, const link::Output& output, const Placement& p, OutputReport& r) {
    auto goals = problem_->goals(output, p);
    if (!goals || goals->empty()) {
      if (r.detail.empty()) r.detail = fmt::format("no distributed value has the shape that {} needs", to_string(p, problem_->mesh));
      return false;
    }
    for (const auto& [x, y] : *goals) {
      if (prover.equal(x, y) == prove::Prover::Answer::Equal) continue;
      if (r.reason.empty() || prover.reason() == "budget") {
        r.reason = contract_reason(prover.reason());
        r.detail = prover.detail();
      }
      return false;
    }
    return true;
  }

  bool is_vacuous(const link::Output& output, OutputReport& r) {
    ir::mark_dependent(problem_->graph, depends_);
    if (!link::is_vacuous(output, depends_)) return false;
    r.reason = "missing-lemma";
    r.detail = "the distributed values depend on no input, but the sequential one does";
    return true;
  }

  // Under `any`: a clean relation outside the finite set is no refutation; it is printed, ready to be pasted.
  void outside(prove::Prover& prover) {
    const manifest::Mesh& mesh = problem_->mesh;
    for (size_t k = 0; k < out_.outputs.size(); ++k) {
      OutputReport& r = out_.outputs[k];
      const link::Output output = problem_->outputs[k];
      if (r.status != Status::Unknown || output.expect.kind != Placement::Kind::Any) continue;
      std::vector<std::string> words;
      for (const manifest::Axis& axis : mesh.axes) {
        if (axis.size == 1) continue;
        for (size_t d = 0; d < problem_->graph[output.sequential].shape.size(); ++d) {
          words.push_back(fmt::format("Shard({}, order=zigzag)@{}", d, axis.name));
          for (int64_t blocks = 2; blocks <= 4; ++blocks) words.push_back(fmt::format("Shard({}, blocks={})@{}", d, blocks, axis.name));
        }
      }
      OutputReport scratch;
      for (const std::string& word : words) {
        Result<Placement> p = manifest::parse_placement(word, mesh);
        if (!p || !proves(prover, output, *p, scratch)) continue;
        r.reason = "undeclared-placement";
        r.detail =
            fmt::format("its placement is {}, which is not one of those tried under \"any\": if it is meant, write it as \"expect\"", word);
        r.relation = word;
        settled_.insert(k);
        break;
      }
    }
  }

  bool refuted() const {
    return std::any_of(out_.outputs.begin(), out_.outputs.end(), [](const OutputReport& r) { return r.status == Status::Refuted; });
  }

  enum class Look : uint8_t { Glance, Whole };
  void falsify(Look look) {
    Clock::time_point start = Clock::now();
    const bool glance = look == Look::Glance;
    std::vector<size_t> open;
    for (size_t k = 0; k < out_.outputs.size(); ++k) {
      const bool wanted = out_.outputs[k].status == Status::Unknown
                              ? !settled_.count(k) && !evaluated_.count(k)
                              : options_.paranoid && !glance && out_.outputs[k].status == Status::Proved;
      if (wanted) open.push_back(k);
    }
    interp::Options o = interp_options();
    o.glance = glance;
    if (refuted()) o.seeds = 1;  // what the rest is matters less
    if (!problem_->faults.empty()) witness_ = interp::fault_witness(*problem_, o);
    if (open.empty() || (!options_.falsify && !options_.paranoid)) return;
    say(fmt::format("evaluating {} outputs", open.size()));
    std::string witness;
    std::vector<interp::OutputFinding> findings = interp::falsify(*problem_, open, o, options_.witness.empty() ? nullptr : &witness);
    SP_CHECK(findings.size() == open.size());
    if (!glance) evaluated_.insert(open.begin(), open.end());
    for (size_t i = 0; i < open.size(); ++i) {
      OutputReport& r = out_.outputs[open[i]];
      const interp::OutputFinding& f = findings[i];
      if (f.status == interp::OutputFinding::Status::Differs) {
        if (r.status == Status::Proved)  // never let a wrong proof stand
          throw InternalError(
              fmt::format("output {} was proved to be {}, but its evaluation differs: {}", r.name, r.relation.value_or("?"), f.detail));
        r.status = Status::Refuted;
        r.reason.clear();
        r.detail = f.detail;
        if (f.blame) r.blame = blame_of(*problem_, m_, *f.blame);
        if (!f.blame) r.blame = own_blame(problem_->outputs[open[i]], f.detail);
        continue;
      }
      suspect_ = suspect_ || f.suspect;
      if (r.status == Status::Proved || glance) continue;
      const bool any = problem_->outputs[open[i]].expect.kind == Placement::Kind::Any;
      std::string said;
      if (f.status == interp::OutputFinding::Status::Agrees && any && f.holds)
        said = fmt::format("on the inputs tried it is {}", to_string(*f.holds, problem_->mesh));
      else if (f.status == interp::OutputFinding::Status::Agrees && !any)
        said = "on the inputs tried both sides agree";
      else if (f.status == interp::OutputFinding::Status::Undecided && !f.reason.empty())
        said = fmt::format("not refuted: {}", f.reason);
      said_[open[i]] = said;
      if (!r.reason.empty()) repeat(open[i]);  // else it is yet to be tried
    }
    if (witness_.empty()) witness_ = witness;
    out_.stats.falsify += seconds_since(start);
  }

  // Where the evaluation names no operator: the output itself. Without an evaluation it is wrong by its shape alone.
  BlameReport own_blame(const link::Output& output, const std::string& detail) {
    BlameReport b;
    b.sequential = site_of(*problem_, output.sequential, link::kSequential);
    for (size_t rank = 0; rank < output.distributed.size(); ++rank)
      if (output.distributed[rank] != ir::kNoNode)
        b.distributed.push_back(site_of(*problem_, output.distributed[rank], static_cast<int>(rank)));
    bool shapes = detail.starts_with("no placement fits");
    b.code = shapes ? "SP110" : "SP100";
    b.kind = shapes ? "wrong-layout" : "wrong-value";
    b.explanation =
        shapes ? fmt::format("no rank's value has the shape that {} needs", to_string(output.expect, problem_->mesh)) : "the values differ";
    return b;
  }

  interp::Options interp_options() const {
    interp::Options o;
    o.seed = options_.seed;
    o.blame = options_.blame;
    o.manifest_path = m_.path;
    o.manifest_canonical = m_.canonical;
    o.seconds = options_.time_limit > 0 ? left() * 0.8 : 60;
    o.bytes = options_.memory_limit ? options_.memory_limit / 2 : bytes_to_evaluate();
    return o;
  }

  void add_assumption(std::string text) {
    if (std::find(out_.assumptions.begin(), out_.assumptions.end(), text) == out_.assumptions.end())
      out_.assumptions.push_back(std::move(text));
  }

  void warn_about_partials() {
    for (size_t k = 0; k < out_.outputs.size(); ++k) {
      const link::Output& o = problem_->outputs[k];
      const OutputReport& r = out_.outputs[k];
      for (size_t axis = 0; axis < problem_->mesh.axes.size(); ++axis) {
        int a = static_cast<int>(axis);
        if (r.status == Status::Proved && o.expect.kind == Placement::Kind::Any && has_partial(*placements_[k], a))
          out_.warnings.push_back(fmt::format("output {} is left as a pending reduction over axis {}: {}", r.name,
                                              problem_->mesh.axes[axis].name, *r.relation));
        if (o.checked && o.role == manifest::Role::Gradient && o.expect_stated && o.expect.kind == Placement::Kind::Steps &&
            has_partial(o.expect, a) && o.natural && !has_partial(*o.natural, a))
          out_.warnings.push_back(fmt::format(
              "gradient {} is expected to be a pending reduction over axis {}, but its parameter is not: it must still be reduced", r.name,
              problem_->mesh.axes[axis].name));
      }
    }
  }

  void conclude() {
    bool all_proved = true, refuted = false;
    for (const OutputReport& r : out_.outputs) {
      if (r.status == Status::Unchecked) continue;
      all_proved &= r.status == Status::Proved;
      refuted |= r.status == Status::Refuted;
      if (r.status == Status::Refuted && !out_.blame && r.blame) out_.blame = r.blame;
      if (r.status == Status::Unknown && out_.reason.empty()) {
        out_.reason = r.reason;
        out_.detail = r.detail;
      }
    }
    warn_about_partials();
    std::vector<size_t> open;
    for (size_t k = 0; k < out_.outputs.size(); ++k)
      if (out_.outputs[k].status == Status::Unknown || out_.outputs[k].status == Status::Refuted) open.push_back(k);
    for (std::string& warning : problem_->unbounded_indices(open)) out_.warnings.push_back(std::move(warning));
    out_.verdict = refuted ? Verdict::Refuted : all_proved ? Verdict::Proved : Verdict::Unknown;
    if (out_.verdict != Verdict::Unknown) out_.reason.clear(), out_.detail.clear();
    if (out_.verdict == Verdict::Proved && !options_.certificate.empty()) {
      if (const std::string other = other_ways(); !other.empty()) {
        out_.warnings.push_back(fmt::format("no certificate: output {} was proved in another way than the others", other));
      } else if (!options_.write_certificate) {
        out_.warnings.push_back("this build writes no certificates");
      } else {
        say("writing the certificate");
        CheckOptions::Proofs proofs;
        for (size_t k = 0; k < placements_.size(); ++k)
          if (placements_[k]) proofs.emplace_back(k, *placements_[k]);
        std::string wrong = options_.write_certificate(m_, *problem_, *prover_, proofs, options_.certificate);
        if (wrong.empty())
          out_.certificate = options_.certificate;
        else
          out_.warnings.push_back("no certificate: " + wrong);
      }
    }
    if (out_.verdict == Verdict::Refuted && !options_.witness.empty() && !witness_.empty()) {
      std::ofstream file(options_.witness, std::ios::binary | std::ios::trunc);
      file << witness_;
      file.close();
      if (file)
        out_.witness = options_.witness;
      else
        out_.warnings.push_back(fmt::format("the witness could not be written to {}", options_.witness));
    }
  }

  void give_up(const std::string& reason, const std::string& detail) {
    out_.verdict = Verdict::Unknown;
    out_.reason = reason;
    out_.detail = detail;
    out_.blame.reset();
    out_.certificate.clear();
    out_.witness.clear();
    if (out_.outputs.empty()) list_unknown(m_, out_);
    for (OutputReport& r : out_.outputs) {
      if (r.status == Status::Unchecked) continue;
      r.status = Status::Unknown;
      r.relation.reset();
      r.blame.reset();
      r.reason = reason;
      r.detail = detail;
    }
  }

  const manifest::Manifest& m_;
  const CheckOptions& options_;
  Clock::time_point start_ = Clock::now();
  util::WorkClock::time_point limit_start_ = util::WorkClock::now();
  CheckResult out_;
  link::Problem* problem_ = nullptr;
  std::vector<std::optional<Placement>> placements_;
  std::vector<char> depends_;
  std::set<size_t> settled_, evaluated_;
  bool suspect_ = false;  // an evaluation left a doubt
  std::map<size_t, std::string> said_;
  std::unique_ptr<prove::Prover> met_;  // the prover in other forms,
  std::optional<std::vector<interp::Meeting>> hints_;
  Forms forms_;                                   // which are these
  bool needs_met_ = false;                        // it, or one before it, proved something
  std::set<size_t> by_meeting_, not_by_meeting_;  // outputs that it proved, and did not prove in any time
  std::unique_ptr<prove::Prover> prover_;
  std::string witness_;
};

}  // namespace

void list_unknown(const manifest::Manifest& manifest, CheckResult& result) {
  for (const manifest::OutputSpec& spec : manifest.outputs) {
    if (manifest::is_glob(spec.key)) continue;
    OutputReport r;
    r.name = spec.key;
    r.label = spec.label;
    r.reason = result.reason;
    r.detail = result.detail;
    result.outputs.push_back(std::move(r));
  }
}

Result<CheckResult> run_check(const manifest::Manifest& manifest, const CheckOptions& options) {
  if (options.process_ends) return (new Check(manifest, options))->run();
  return Check(manifest, options).run();
}

Result<CheckResult> run_check(const manifest::Manifest& manifest, std::shared_ptr<link::Problem> problem, const CheckOptions& options) {
  return Check(manifest, options, std::move(problem)).run();
}

}  // namespace shardproof::report
