// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Every shared case links; every expectation makes goals; no malformed node reaches the prover.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <doctest/doctest.h>

#include "link/problem.h"

using namespace shardproof;

TEST_CASE("every shared case links") {
  const char* shared = std::getenv("SHARDPROOF_SHARED");
  const char* only = std::getenv("SHARDPROOF_CASE");
  std::filesystem::path root = shared ? shared : SHARDPROOF_SOURCE_DIR "/../shared";
  if (!std::filesystem::exists(root / "cases")) {
    MESSAGE("skipped: no shared cases");
    return;
  }
  size_t count = 0, without_goals = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "cases")) {
    if (entry.path().filename() != "case.json") continue;
    std::string folder = entry.path().parent_path().string();
    if (only && folder.find(only) == std::string::npos) continue;
    ++count;
    Result<manifest::Manifest> m = manifest::load(folder);
    REQUIRE(m);
    auto start = std::chrono::steady_clock::now();
    Result<link::Problem> p = Diagnostic{};
    try {
      p = link::link(*m);
    } catch (const std::exception& e) {
      FAIL_CHECK(folder << ": " << e.what());
      continue;
    }
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (only) std::cerr << folder << ": " << ms << " ms\n";
    CHECK_MESSAGE(
        p.ok(),
        folder << ": "
               << (p ? "" : p.error().code + " " + p.error().file + ":" + std::to_string(p.error().line) + " " + p.error().message));
    if (!p) continue;
    REQUIRE(p->side.size() == p->graph.nodes.size());
    CHECK(!p->outputs.empty());
    CHECK_MESSAGE(p->faults.empty(), folder << ": " << (p->faults.empty() ? "" : p->faults[0].explanation));
    for (const link::Output& o : p->outputs) {
      if (!o.checked) continue;
      if (o.expect.kind == manifest::Placement::Kind::Any) {
        CHECK_MESSAGE(!p->any_candidates(o).empty(), folder << ": " << o.name << " has no candidates");
        continue;
      }
      auto goals = p->goals(o, o.expect);
      if (!goals) {
        ++without_goals;
        if (only) std::cerr << folder << ": " << o.name << " expected " << to_string(o.expect, p->mesh) << " has no goals\n";
      } else {
        CHECK(!goals->empty());
      }
      for (const auto& [x, y] : goals.value_or(std::vector<std::pair<ir::NodeId, ir::NodeId>>{})) {
        CHECK(p->graph[x].shape == p->graph[y].shape);
        CHECK(p->graph[x].dtype == p->graph[y].dtype);
      }
    }
    for (ir::NodeId id = 0; id < p->graph.nodes.size(); ++id) {
      ir::Op op = p->graph[id].op;
      CHECK_FALSE(op >= ir::Op::AllReduce);
      CHECK(op != ir::Op::RankId);
    }
    CHECK(p->side.size() == p->graph.nodes.size());
  }
  MESSAGE(count << " cases, " << without_goals << " outputs whose shapes alone refute what is expected");
  if (!only) CHECK(count > 100);
}
