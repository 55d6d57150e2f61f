// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Mutants are well formed, depend on the seed alone, and are judged rightly; a run counts them and finds no wrong proof.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "link/problem.h"
#include "manifest/manifest.h"
#include "mutate/dump.h"
#include "mutate/judge.h"
#include "mutate/mutant.h"
#include "mutate/mutate.h"

using namespace shardproof;

namespace {

// Programs of several formats and kinds of communication.
const char* const kBases[] = {"mlp_tp2",
                              "sequence_parallel_block",
                              "vocab_parallel_cross_entropy",
                              "pipeline_two_stages",
                              "expert_all_to_all",
                              "jax_ring_shift",
                              "jax_mlp@hlo",
                              "jax_gather_scatter",
                              "jax_convolution_halo",
                              "fsdp_sgd"};

struct Base {
  manifest::Manifest manifest;
  link::Programs programs;
};
Base base(const std::string& name) {
  Result<manifest::Manifest> m = manifest::load(std::string(SHARDPROOF_SOURCE_DIR "/tests/golden/") + name);
  REQUIRE(m.ok());
  Result<link::Programs> p = link::read(*m);
  REQUIRE(p.ok());
  return {std::move(*m), std::move(*p)};
}

// The first mutant of the kind that links, and its problem.
std::pair<mutate::Mutant, link::Problem> first(const Base& b, const std::string& kind, bool (*wanted)(const mutate::Mutant&)) {
  const mutate::Maker maker(b.manifest, b.programs, {kind});
  for (int64_t draw = 0; draw < 1000; ++draw) {
    std::optional<mutate::Mutant> m = maker.make(1, draw);
    if (!m || !wanted(*m)) continue;
    Result<link::Problem> p = link::link(b.manifest, m->programs);
    if (p) return {std::move(*m), std::move(*p)};
  }
  FAIL("no mutant of kind ", kind);
  return {};
}

}  // namespace

TEST_CASE("mutants are well formed and depend on the seed alone") {
  for (const char* name : kBases) {
    CAPTURE(name);
    const Base b = base(name);
    const mutate::Maker maker(b.manifest, b.programs, {});
    std::set<std::string> seen;
    size_t made = 0, linked = 0;
    for (int64_t draw = 0; draw < 150; ++draw) {
      const std::optional<mutate::Mutant> m = maker.make(7, draw), again = maker.make(7, draw);
      CHECK(m.has_value() == again.has_value());
      if (!m) continue;
      CAPTURE(m->what);
      CHECK(m->what == again->what);
      ++made;
      seen.insert(m->what);
      for (const auto& p : m->programs.ranks) {
        for (ir::NodeId id = 0; id < p->graph.nodes.size(); ++id) CHECK(ir::verify(p->graph, id) == "");
        for (const frontend::Input& i : p->inputs)
          if (i.node != ir::kNoNode) CHECK(p->graph[i.node].op == ir::Op::Input);
      }
      Result<link::Problem> problem = link::link(b.manifest, m->programs);
      linked += problem.ok();
    }
    CHECK(made > 40);
    CHECK(seen.size() > 25);
    CHECK(linked > made * 8 / 10);
  }
}

TEST_CASE("the unchanged program evaluates alike, a mistake does not") {
  const Base b = base("mlp_tp2");
  Result<link::Problem> right = link::link(b.manifest, b.programs);
  REQUIRE(right.ok());
  mutate::JudgeOptions options;
  options.seeds = 8;
  const mutate::Judgement same = mutate::judge(*right, {}, options);
  CHECK(same.overall() == mutate::Answer::Same);
  CHECK(same.evaluations == 8);

  auto everywhere = [](const mutate::Mutant& m) { return m.rank < 0; };
  auto [dropped, wrong] = first(b, "drop-collective", everywhere);
  CHECK(dropped.what.find("all_reduce dropped") != std::string::npos);
  CHECK(mutate::judge(wrong, {}, options).overall() == mutate::Answer::Different);

  auto alone = [](const mutate::Mutant& m) { return m.rank >= 0; };
  auto [skipped, hangs] = first(b, "drop-collective", alone);
  CHECK(!hangs.faults.empty());
  CHECK(mutate::judge(hangs, {}, options).overall() == mutate::Answer::Different);
}

TEST_CASE("one rank alone, in a program per rank and in one program for all") {
  auto alone = [](const mutate::Mutant& m) { return m.rank >= 0; };
  const Base torch = base("mlp_tp2");
  auto [one, problem] = first(torch, "wrong-scale", alone);
  size_t changed = 0;
  for (size_t r = 0; r < torch.programs.ranks.size(); ++r) changed += one.programs.ranks[r] != torch.programs.ranks[r];
  CHECK(changed == 1);
  CHECK(one.programs.ranks[static_cast<size_t>(one.rank)] != torch.programs.ranks[static_cast<size_t>(one.rank)]);

  const Base jax = base("jax_mlp@hlo");
  auto [select, spmd] = first(jax, "wrong-scale", alone);
  const auto& nodes = select.programs.ranks[0]->graph.nodes;
  CHECK(std::any_of(nodes.begin(), nodes.end(), [](const ir::Node& n) { return n.op == ir::Op::RankId; }));
  CHECK(select.programs.ranks[0] == select.programs.ranks[1]);
}

TEST_CASE("a run counts every mutant once and is repeatable") {
  const Base b = base("vocab_parallel_cross_entropy");
  mutate::Options options;
  options.n = 60;
  options.seed = 3;
  Result<mutate::Summary> run = mutate::run(b.manifest, options);
  REQUIRE(run.ok());
  const mutate::Count& t = run->total;
  CHECK(run->n == 60);
  CHECK(t.different + t.same + t.undecided == 60);
  CHECK(t.refuted + t.unknown + t.wrong_proved == t.different);
  CHECK(t.different > 20);
  CHECK(t.wrong_proved == 0);
  CHECK(t.refuted >= t.different * 95 / 100);
  CHECK(run->base == "PROVED");
  mutate::Count sum;
  for (const auto& [name, c] : run->kinds) sum.different += c.different, sum.same += c.same, sum.undecided += c.undecided;
  CHECK(sum.different == t.different);
  CHECK(sum.same == t.same);
  CHECK(sum.undecided == t.undecided);

  nlohmann::json j = nlohmann::json::parse(mutate::to_json(*run));
  for (const char* key : {"version", "n", "different", "same", "undecided", "refuted", "unknown", "wrong_proved", "proved_same", "kinds"})
    CHECK(j.contains(key));
  CHECK(j["version"] == 1);
  CHECK(j["kinds"].begin().value().contains("refuted"));
  Result<mutate::Summary> again = mutate::run(b.manifest, options);
  REQUIRE(again.ok());
  nlohmann::json k = nlohmann::json::parse(mutate::to_json(*again));
  for (const char* key : {"seconds", "check_seconds", "judge_seconds"}) j.erase(key), k.erase(key);
  CHECK(j == k);
  CHECK(mutate::to_text(*run).find("No mutant that differs was proved.") != std::string::npos);
}

TEST_CASE("a dumped mutant has goals, inputs and a verdict") {
  const Base b = base("mlp_tp2");
  Result<link::Problem> p = link::link(b.manifest, b.programs);
  REQUIRE(p.ok());
  const mutate::Judgement judged = mutate::judge(*p, {}, {});
  const nlohmann::json j = nlohmann::json::parse(mutate::dump_json(*p, {"m", "k", "w", 5, 1, {"PROVED"}, &judged}));
  CHECK(j["outputs"][0]["judged"] == "same");
  CHECK(j["outputs"][0]["status"] == "PROVED");
  CHECK(j["inputs"].size() == 4);
  CHECK(j["inputs"][0].size() == p->free_inputs.size());
  CHECK(!j["outputs"][0]["candidates"][0].empty());
  for (const auto& pair : j["outputs"][0]["candidates"][0]) CHECK(pair[1].get<size_t>() < j["nodes"].size());
}

TEST_CASE("two mistakes in each mutant, if asked for") {
  const Base b = base("mlp_tp2");
  const mutate::Maker maker(b.manifest, b.programs, {});
  int made = 0;
  for (int64_t draw = 0; draw < 60; ++draw) {
    const auto twice = maker.make_deep(b.manifest, 3, draw, 2);
    if (!twice) continue;
    ++made;
    CHECK(twice->what.find("; and then ") != std::string::npos);
  }
  CHECK(made > 20);
}
