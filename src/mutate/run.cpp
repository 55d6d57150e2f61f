// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The loop: draw, link, prove and falsify, judge apart, count.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "link/problem.h"
#include "mutate/dump.h"
#include "mutate/judge.h"
#include "mutate/mutant.h"
#include "mutate/mutate.h"
#include "report/check.h"

namespace shardproof::mutate {

namespace {

using Clock = std::chrono::steady_clock;
using report::Status;

constexpr int64_t kFruitless = 2000;    // draws in a row without a new mutant: there are no more
constexpr double kProvedSeconds = 0.4;  // for the many evaluations of what seems to be the same
constexpr size_t kExamples = 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Run {
 public:
  Run(const manifest::Manifest& m, const Options& options) : m_(m), options_(options) {}

  Result<Summary> run() {
    out_.options = options_;
    out_.manifest = m_.path;
    Result<link::Programs> base = link::read(m_);
    if (!base) return base.error();
    {
      Result<link::Problem> problem = link::link(m_, *base);
      if (!problem) return problem.error();
      const report::CheckResult checked = check(std::make_shared<link::Problem>(std::move(*problem)));
      out_.base = report::name(checked.verdict);
    }
    const Maker maker(m_, *base, options_.only_kinds);
    for (const Kind& k : kinds()) out_.kinds.emplace_back(k.name, Count{});
    if (maker.empty()) out_.ended = "the distributed program has no place for such a mistake";
    if (options_.only >= 0) {
      std::optional<Mutant> mutant = maker.make_deep(m_, options_.seed, options_.only, options_.edits);
      if (mutant) out_.only = fmt::format("{}, {}", mutant->kind->name, mutant->what);
      if (mutant && !options_.only_name) try_mutant(*mutant);
    } else if (!maker.empty()) {
      int64_t fruitless = 0;
      for (int64_t draw = 0; out_.n < options_.n; ++draw) {
        if (options_.time_limit > 0 && seconds_since(start_) > options_.time_limit) {
          out_.ended = "the time limit";
          break;
        }
        if (fruitless > kFruitless) {
          out_.ended = "no more mutants were found";
          break;
        }
        std::optional<Mutant> mutant = maker.make_deep(m_, options_.seed, draw, options_.edits);
        const bool fresh = mutant && seen_.insert(fmt::format("{} {}", mutant->kind->name, mutant->what)).second && try_mutant(*mutant);
        fruitless = fresh ? 0 : fruitless + 1;
      }
    }
    std::erase_if(out_.kinds,
                  [](const auto& k) { return k.second.different + k.second.same + k.second.undecided + k.second.invalid == 0; });
    out_.seconds = seconds_since(start_);
    return std::move(out_);
  }

 private:
  report::CheckResult check(std::shared_ptr<link::Problem> problem) const {
    report::CheckOptions o;
    o.time_limit = options_.mutant_limit;
    o.blame = false;  // the verdict is enough
    o.seed = 1;
    Result<report::CheckResult> result = report::run_check(m_, std::move(problem), o);
    SP_CHECK(result.ok());
    return std::move(*result);
  }

  Count& of(const Mutant& m) {
    for (auto& [name, count] : out_.kinds)
      if (name == m.kind->name) return count;
    throw InternalError("unknown kind");
  }

  // False if it is no program.
  bool try_mutant(Mutant& mutant) {
    Count& kind = of(mutant);
    std::shared_ptr<link::Problem> problem;
    try {
      Result<link::Problem> linked = link::link(m_, mutant.programs);
      if (linked) problem = std::make_shared<link::Problem>(std::move(*linked));
    } catch (const InternalError&) {
    }
    if (!problem) {
      ++kind.invalid;
      ++out_.total.invalid;
      return false;
    }
    const Clock::time_point before = Clock::now();
    const report::CheckResult checked = check(problem);
    out_.check_seconds += seconds_since(before);
    const Clock::time_point judged = Clock::now();
    if (checked.verdict == report::Verdict::Unknown && checked.reason == "internal")
      report_finding("internal error", mutant, checked.detail, problem.get());

    // What the prover alone says of each output, and what the evaluation says.
    std::vector<size_t> proved, others;
    for (size_t k = 0; k < checked.outputs.size(); ++k) {
      if (checked.outputs[k].status == Status::Proved)
        proved.push_back(k);
      else if (checked.outputs[k].status != Status::Unchecked)
        others.push_back(k);
    }
    JudgeOptions judging;
    judging.seed = options_.seed * 31 + static_cast<uint64_t>(mutant.draw);
    judging.seconds = options_.mutant_limit;
    Judgement apart, again;
    bool wrong = false;
    const bool all_proved = others.empty();
    if (!proved.empty()) {
      judging.seeds = all_proved ? options_.seeds : 2;
      judging.seconds = std::min(options_.mutant_limit, kProvedSeconds);
      again = judge(*problem, proved, judging);
      for (size_t i = 0; i < again.outputs.size() && !wrong; ++i) {
        if (again.answers[i] != Answer::Different) continue;
        wrong = true;
        const size_t k = again.outputs[i];
        report_finding("wrong proof", mutant,
                       fmt::format("output {} proved to be {}, but {}", checked.outputs[k].name, checked.outputs[k].relation.value_or("?"),
                                   again.details[i]),
                       problem.get());
      }
    }
    if (!others.empty()) {
      judging.until_different = true;
      judging.seconds = options_.mutant_limit;
      judging.seeds = 4;
      apart = judge(*problem, others, judging);
      if (!wrong && apart.overall() == Answer::Same) {  // look longer before saying so
        judging.seeds = 30;
        judging.seconds = std::min(options_.mutant_limit, kProvedSeconds);
        apart = judge(*problem, others, judging);
      }
    }
    out_.judge_seconds += seconds_since(judged);
    const auto one_of = [](const Judgement& j, Answer a) { return !j.outputs.empty() && j.overall() == a; };
    const bool different = wrong || one_of(apart, Answer::Different);
    const bool undecided = !different && (one_of(apart, Answer::Undecided) || one_of(again, Answer::Undecided));
    const bool refuted = checked.verdict == report::Verdict::Refuted, proved_all = checked.verdict == report::Verdict::Proved;
    const auto bump = [&](int64_t Count::*field) { ++(kind.*field), ++(out_.total.*field); };
    ++out_.n;
    if (wrong) bump(&Count::wrong_proved);
    if (different) {
      bump(&Count::different);
      if (refuted)
        bump(&Count::refuted);
      else if (!proved_all) {
        bump(&Count::unknown);
        example(out_.unknown, mutant, checked);
      }
    } else if (undecided) {
      bump(&Count::undecided);
    } else {
      bump(&Count::same);
      if (proved_all)
        bump(&Count::proved_same);
      else if (!refuted)
        example(out_.unproved, mutant, checked);
      if (refuted) {
        std::string detail;
        for (const report::OutputReport& r : checked.outputs)
          if (r.status == Status::Refuted && detail.empty()) detail = fmt::format("output {}: {}", r.name, r.detail);
        report_finding("refuted, but evaluates alike", mutant, detail, problem.get());
      }
    }
    if (!options_.dump.empty() && total_elements(*problem) <= static_cast<double>(options_.dump_elements)) {
      Judgement both = apart;
      both.outputs.insert(both.outputs.end(), again.outputs.begin(), again.outputs.end());
      both.answers.insert(both.answers.end(), again.answers.begin(), again.answers.end());
      both.details.insert(both.details.end(), again.details.begin(), again.details.end());
      dump(mutant, *problem, checked, both);
    }
    return true;
  }

  void example(std::vector<std::string>& list, const Mutant& mutant, const report::CheckResult& checked) const {
    if (list.size() >= kExamples && options_.only < 0) return;
    std::string why = checked.detail;
    for (const report::OutputReport& r : checked.outputs)
      if (r.status == Status::Unknown) {
        why = fmt::format("output {}: {}: {}", r.name, r.reason, r.detail);
        break;
      }
    list.push_back(fmt::format("draw {}: {}, {} ({})", mutant.draw, mutant.kind->name, mutant.what, why));
  }

  void dump(const Mutant& mutant, link::Problem& problem, const report::CheckResult& checked, const Judgement& judgement) {
    DumpInfo info{m_.path, mutant.kind->name, mutant.what, mutant.draw, options_.seed, {}, &judgement};
    for (const report::OutputReport& r : checked.outputs) info.status.push_back(report::name(r.status));
    std::ofstream file(options_.dump, std::ios::app);
    file << dump_json(problem, info);
  }

  void report_finding(std::string trouble, const Mutant& mutant, std::string detail, link::Problem* problem) {
    Finding f{std::move(trouble), mutant.kind->name, mutant.draw, mutant.what, std::move(detail)};
    if (!options_.keep.empty()) {
      std::error_code ignored;
      std::filesystem::create_directories(options_.keep, ignored);
      const std::string stem = fmt::format("{}/seed{}-draw{}", options_.keep, options_.seed, mutant.draw);
      std::ofstream text(stem + ".txt");
      text << fmt::format("{}\nmanifest: {}\nagain: shardproof mutate MANIFEST --seed {} --edits {} --only {}\nkind: {}\nedit: {}\n{}\n\n",
                          f.trouble, m_.path, options_.seed, options_.edits, f.draw, f.kind, f.what, f.detail);
      text << dump_text(*problem);
      if (total_elements(*problem) <= static_cast<double>(options_.dump_elements)) {
        std::ofstream json(stem + ".json");
        json << dump_json(*problem, {m_.path, f.kind, f.what, f.draw, options_.seed, {}, nullptr});
      }
    }
    out_.findings.push_back(std::move(f));
  }

  const manifest::Manifest& m_;
  const Options& options_;
  Clock::time_point start_ = Clock::now();
  Summary out_;
  std::set<std::string> seen_;
};

}  // namespace

Result<Summary> run(const manifest::Manifest& manifest, const Options& options) { return Run(manifest, options).run(); }

}  // namespace shardproof::mutate
