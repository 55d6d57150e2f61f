// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The captured XLA programs of the shared folder: every one lowers to well-formed nodes, and, run on random inputs with all ranks in step,
// the distributed program differs from the sequential one exactly where the case says so.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "dense_eval.h"
#include "lower/lower.h"

namespace shardproof {
namespace {

namespace fs = std::filesystem;

struct NoConstants : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return std::nullopt; }
};

std::optional<fs::path> shared() {
  const char* set = std::getenv("SHARDPROOF_SHARED");
  const fs::path path = set ? fs::path(set) : fs::path(SHARDPROOF_SOURCE_DIR) / ".." / "shared";
  if (fs::exists(path / "cases" / "jax")) return path;
  MESSAGE("skipped: no captured programs (set SHARDPROOF_SHARED)");
  return std::nullopt;
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

bool ends(const std::string& s, const std::string& tail) {
  return s.size() >= tail.size() && s.compare(s.size() - tail.size(), tail.size(), tail) == 0;
}

Result<frontend::Program> load(const fs::path& path) {
  const std::string text = slurp(path), name = path.string();
  auto module = ends(name, ".mlir") ? hlo::read_stablehlo(text, name)
                : ends(name, ".pb") ? hlo::read_proto(text, name)
                                    : hlo::read_text(text, name);
  if (!module.ok()) return module.error();
  return lower::lower_hlo(*module, NoConstants{});
}

TEST_CASE("every captured XLA program lowers to well-formed nodes") {
  const auto root = shared();
  if (!root) return;
  size_t programs = 0;
  for (const char* below : {"cases/jax", "cases/entangle/llama3", "samples/hlo", "samples/stablehlo"}) {
    for (const auto& entry : fs::recursive_directory_iterator(*root / below)) {
      const std::string name = entry.path().string();
      if (!ends(name, ".mlir") && !ends(name, ".hlo") && !ends(name, ".hlo.txt") && !ends(name, ".hlo.pb")) continue;
      CAPTURE(name);
      const auto program = load(entry.path());
      if (!program.ok() && program.error().code == "SP242") continue;  // printed without its large constants
      CHECK_MESSAGE(program.ok(), program.error().message);
      if (!program.ok()) continue;
      ++programs;
      for (ir::NodeId k = 0; k < program->graph.nodes.size(); ++k) {
        const std::string wrong = ir::verify(program->graph, k);
        CHECK_MESSAGE(wrong.empty(), wrong);
      }
      CHECK(!program->outputs.empty());
      for (const auto& u : program->unsupported) {
        const bool kernel = u.reason.find("te_fused_attn") != std::string::npos;  // a GPU library's attention
        CHECK_MESSAGE(kernel, u.reason);
      }
    }
  }
  CHECK(programs > 250);
}

// --- numerically, against the verdicts

struct Case {
  std::vector<std::pair<std::string, int64_t>> mesh;  // axes in order, ranks row-major
  int64_t ranks = 1;
  int64_t coordinate(int64_t rank, size_t axis) const {
    for (size_t k = mesh.size(); k-- > axis + 1;) rank /= mesh[k].second;
    return rank % mesh[axis].second;
  }
};

// The part of x that `rank` holds under {"axis": "Shard(d)" or "Replicate"}, axis after axis; nullopt: another form of placement.
std::optional<test::Tensor> place(const Case& c, const test::Tensor& x, const nlohmann::json& placement, int64_t rank) {
  std::vector<std::pair<size_t, int64_t>> steps;  // axis, dim
  const auto axis_of = [&](const std::string& name) {
    for (size_t k = 0; k < c.mesh.size(); ++k) {
      if (c.mesh[k].first == name) return k;
    }
    return c.mesh.size();
  };
  if (placement.is_string()) {
    std::stringstream words(placement.get<std::string>());
    for (std::string word; std::getline(words, word, ',');) {
      word.erase(0, word.find_first_not_of(' '));
      if (word == "Replicate") continue;
      if (word.rfind("Shard(", 0) != 0 || word.find(")@") == std::string::npos) return std::nullopt;
      steps.emplace_back(axis_of(word.substr(word.find('@') + 1)), std::stoll(word.substr(6)));
    }
  } else {
    for (size_t k = 0; k < c.mesh.size(); ++k) {
      const auto it = placement.find(c.mesh[k].first);
      if (it == placement.end() || *it == "Replicate") continue;
      const std::string word = it->get<std::string>();
      if (word.rfind("Shard(", 0) != 0) return std::nullopt;
      steps.emplace_back(k, std::stoll(word.substr(6)));
    }
  }
  test::Tensor out = x;
  for (const auto& [axis, dim] : steps) {
    if (axis >= c.mesh.size()) return std::nullopt;
    out = test::part(out, static_cast<size_t>(dim), c.mesh[axis].second, c.coordinate(rank, axis));
  }
  return out;
}

size_t find_input(const frontend::Program& program, std::string name) {
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    if (program.inputs[k].name == name) return k;
  }
  if (!name.empty() && name[0] == '%') name = name.substr(1);
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    for (const std::string& alias : program.inputs[k].aliases) {
      if (alias == name) return k;
    }
  }
  return program.inputs.size();
}

// Greatest difference over all outputs and ranks, relative to the greatest value; or a reason why there is none.
std::string difference(const fs::path& folder, double low, double high, double& worst) {
  const auto manifest = nlohmann::json::parse(slurp(folder / "case.json"), nullptr, true, true);
  // Axes in the order of the file.
  const auto ordered = nlohmann::ordered_json::parse(slurp(folder / "case.json"));
  Case c;
  for (const auto& [name, size] : ordered.at("mesh").items()) {
    c.mesh.emplace_back(name, size.get<int64_t>());
    c.ranks *= size.get<int64_t>();
  }
  const auto sequential = load(folder / manifest.at("sequential").get<std::string>());
  const auto distributed = load(folder / manifest.at("distributed").get<std::string>());
  if (!sequential.ok()) return sequential.error().message;
  if (!distributed.ok()) return distributed.error().message;
  std::mt19937_64 random(17);
  std::map<ir::NodeId, test::Tensor> inputs;
  std::vector<std::map<ir::NodeId, test::Tensor>> rank_inputs(static_cast<size_t>(c.ranks));
  for (const auto& [name, placement] : manifest.at("inputs").items()) {
    const size_t k = find_input(*sequential, name);
    std::string other = name;
    if (manifest.contains("rename") && manifest["rename"].contains(name)) other = manifest["rename"][name].get<std::string>();
    size_t j = find_input(*distributed, other);
    if (j == distributed->inputs.size() && !manifest.contains("rename")) j = k;  // by position
    if (k >= sequential->inputs.size() || j >= distributed->inputs.size()) return "no input " + name;
    const ir::Node& node = sequential->graph[sequential->inputs[k].node];
    test::Tensor t{node.dtype, node.shape, {}, {}};
    int64_t from = 0, to = 4;
    for (const auto& fact : manifest.value("facts", nlohmann::json::array())) {
      const std::string text = fact.get<std::string>();
      if (text.rfind(name + " in [", 0) == 0) std::sscanf(text.c_str() + name.size() + 5, "%ld, %ld", &from, &to);
    }
    for (int64_t n = ir::num_elements(node.shape); n > 0; --n) {
      if (t.is_float())
        t.f.push_back(std::uniform_real_distribution<double>(low, high)(random));
      else if (t.dtype == ir::DType::Bool)
        t.i.push_back(static_cast<int64_t>(random() % 2));
      else
        t.i.push_back(std::uniform_int_distribution<int64_t>(from, to - 1)(random));
    }
    inputs[sequential->inputs[k].node] = t;
    const ir::NodeId target = distributed->inputs[j].node;
    for (int64_t r = 0; r < c.ranks; ++r) {
      const auto piece = distributed->global_shapes ? std::optional(t) : place(c, t, placement, r);
      if (!piece) return "placement of input " + name;
      if (piece->shape != distributed->graph[target].shape) return "shape of input " + name;
      rank_inputs[static_cast<size_t>(r)][target] = *piece;
    }
  }
  const auto expected = test::evaluate(sequential->graph, inputs);
  const auto got = test::evaluate_ranks(distributed->graph, rank_inputs);
  for (const auto& [name, output] : manifest.at("outputs").items()) {
    const size_t k = std::stoul(name), j = std::stoul(output.value("dist", name));
    const test::Tensor& whole = expected[sequential->outputs.at(k).node];
    double scale = 1e-30;
    for (size_t n = 0; n < std::max(whole.f.size(), whole.i.size()); ++n) {
      if (std::isnan(whole.number(n))) return "undefined";
      if (std::isfinite(whole.number(n))) scale = std::max(scale, std::fabs(whole.number(n)));
    }
    for (int64_t r = 0; r < c.ranks; ++r) {
      test::Tensor mine = got[static_cast<size_t>(r)][distributed->outputs.at(j).node];
      const auto want = place(c, whole, output.at("expect"), r);
      if (!want) return "placement of output " + name;
      if (distributed->global_shapes) mine = *place(c, mine, output.at("expect"), r);
      if (mine.shape != want->shape) {
        worst = HUGE_VAL;
        return "";
      }
      for (size_t n = 0; n < std::max(mine.f.size(), mine.i.size()); ++n) {
        const double x = mine.number(n), y = want->number(n);
        if (x == y) continue;
        worst = std::isnan(x) ? HUGE_VAL : std::max(worst, std::fabs(x - y) / scale);
      }
    }
  }
  return "";
}

TEST_CASE("lowered ranks in step agree with the sequential program where the case is right, and only there") {
  const auto root = shared();
  if (!root) return;
  size_t cases = 0;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(*root / "cases" / "jax")) {
    if (fs::exists(entry.path() / "case.json")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  const char* only = std::getenv("SHARDPROOF_CASE");
  for (const fs::path& folder : folders) {
    if (only && folder.filename() != only) continue;
    const auto truth = nlohmann::json::parse(slurp(folder / "truth.json"));
    if (slurp(folder / "case.json").find(".pbtxt") != std::string::npos) continue;  // TensorFlow graphs
    double worst = 0;
    std::string why = difference(folder, -0.9, 1, worst);
    if (why == "undefined") {  // square roots of states: positive values, in two sizes since gradients may be clipped
      why = difference(folder, 0.05, 1, worst);
      if (why.empty()) why = difference(folder, 0.001, 0.05, worst);
    }
    const std::string name = folder.filename().string();
    CHECK_MESSAGE(why.empty(), name << ": " << why);
    if (!why.empty()) continue;
    ++cases;
    if (only) MESSAGE(name << ": " << worst);
    // Its text computes the right thing; XLA's later passes do not (they add the two starts before they clamp).
    if (name == "xla49122_dynamic_slice")
      CHECK(worst == 0);
    else if (truth.at("verdict") == "PROVED")
      CHECK_MESSAGE(worst < 2e-6, name << " is right but differs by " << worst);
    else
      CHECK_MESSAGE(worst > 1e-5, name << " is wrong but differs by only " << worst);
  }
  if (!only) CHECK(cases > 160);
}

}  // namespace
}  // namespace shardproof
