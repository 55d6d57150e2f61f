// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "manifest/manifest.h"
#include "manifest/match.h"
#include "manifest/npy.h"

using namespace shardproof;
using namespace shardproof::manifest;

namespace {

Diagnostic error_of(const std::string& text) {
  Result<Manifest> m = parse(text, "m.json");
  return m ? Diagnostic{"none", "", "", 0, 0} : m.error();
}

std::string base(const std::string& more) { return R"({"sequential": "s", "distributed": ["a", "b"], "mesh": {"tp": 2})" + more + "}"; }

}  // namespace

TEST_CASE("TOML and JSON give the same manifest") {
  Result<Manifest> json = parse(R"J({
    "sequential": "seq.txt", "distributed": "rank{rank}.txt", "mesh": {"tp": 2, "dp": 3},
    "groups": {"1": "dp", "2": ["dp", "tp"], "3": "self", "4": [[3, 1], [0]]},
    "inputs": {"x": "Shard(0)@tp", "y": {"dp": "Shard(1)", "tp": "Replicate"}},
    "facts": ["x in [0, 80) or = -100"], "constants": {"c": [1, 2.5]}})J",
                                "dir/m.json");
  Result<Manifest> toml = parse(R"J(
sequential = "seq.txt"
distributed = "rank{rank}.txt"
mesh = { tp = 2, dp = 3 }
groups = { 1 = "dp", 2 = ["dp", "tp"], 3 = "self", 4 = [[3, 1], [0]] }
facts = ["x in [0, 80) or = -100"]
constants = { c = [1, 2.5] }
[inputs]
x = "Shard(0)@tp"
y = { dp = "Shard(1)", tp = "Replicate" }
)J",
                                "dir/m.toml");
  REQUIRE(json);
  REQUIRE(toml);
  for (const Manifest* m : {&*json, &*toml}) {
    CHECK(m->mesh->axes[0].name == "tp");
    CHECK(m->mesh->axes[1].size == 3);
    CHECK(m->distributed.size() == 6);
    CHECK(m->distributed[5].paths == std::vector<std::string>{"rank5.txt"});
    CHECK(m->groups[0].ranks == std::vector<std::vector<int64_t>>{{0, 1, 2}, {3, 4, 5}});
    CHECK(m->groups[1].ranks == std::vector<std::vector<int64_t>>{{0, 3, 1, 4, 2, 5}});
    CHECK(m->groups[2].ranks.size() == 6);
    CHECK(m->groups[3].ranks == std::vector<std::vector<int64_t>>{{3, 1}, {0}});
    CHECK(to_string(m->inputs[1].second, *m->mesh) == "Shard(1)@dp");
    CHECK(m->facts[0].has_exception);
    CHECK(m->facts[0].exception == -100);
    CHECK(m->constants[0].values[1].d == 2.5);
    CHECK(m->resolve("a.txt") == "dir/a.txt");
  }
}

TEST_CASE("errors have a place and name the nearest key") {
  Diagnostic d = error_of("{\n  \"sequental\": \"s\"\n}");
  CHECK(d.code == "SP202");
  CHECK(d.line == 2);
  CHECK(d.column == 3);
  CHECK(d.message.find("did you mean \"sequential\"?") != std::string::npos);
  d = error_of("{\"sequential\": \"s\", \"sequential\": \"t\"}");
  CHECK(d.message.find("occurs twice") != std::string::npos);
  d = error_of(base(", \"outputs\": {\"x\": {\"exepct\": \"Replicate\"}}"));
  CHECK(d.message.find("did you mean \"expect\"?") != std::string::npos);
  d = error_of("{\"sequential\": \"s\",\n \"distributed\": [\"a\"] \"mesh\": {}}");
  CHECK(d.code == "SP201");
  CHECK(d.line == 2);
  CHECK(parse("sequential = \"a\"\nsequential = \"b\"\n", "m.toml").error().line == 2);
  CHECK(parse("[inputs]\nx.y = \"Replicate\"\n", "m.toml").error().code == "SP203");
  CHECK(error_of(base(", \"groups\": {\"1\": \"pt\"}")).message.find("did you mean \"tp\"?") != std::string::npos);
  CHECK(error_of(base(", \"facts\": [\"x in [5, 5)\"]")).code == "SP210");
  CHECK(error_of(base(", \"facts\": [\"x is nice\"]")).code == "SP210");
  CHECK(error_of(base(", \"rename\": {\"x\": [\"a\"]}")).message.find("lists 1 names, but the mesh has 2 ranks") != std::string::npos);
  CHECK(error_of(R"({"sequential": "s", "distributed": ["a"], "mesh": {"tp": 2}})").message.find("lists 1 ranks") != std::string::npos);
  CHECK(error_of(R"({"sequential": "s", "distributed": {"a": {"tp": 0}}, "mesh": {"tp": 2}})").message == "rank 1 has no file");
  CHECK(error_of(base(", \"inputs\": {\"x\": \"any\"}")).code == "SP205");
  CHECK(error_of(std::string(1000, '[')).code == "SP201");
  CHECK(error_of("{\"sequential\":" + std::string(1000, '[')).message == "nested too deeply");
}

TEST_CASE("files by coordinates") {
  Result<Manifest> m =
      parse(R"({"sequential": ["s", "b"], "distributed": {"p1": {"pp": 1}, "p0": {"pp": 0}}, "mesh": [["pp", 2], ["tp", 2]]})", "m");
  REQUIRE(m);
  CHECK(m->distributed[0].ranks == std::vector<int64_t>{2, 3});
  CHECK(m->distributed[1].ranks == std::vector<int64_t>{0, 1});
  CHECK(m->sequential.size() == 2);
}

TEST_CASE("placement objects") {
  Result<Manifest> m = parse(R"J({"sequential": "s", "distributed": ["a", "b"], "mesh": {"tp": 2}, "inputs": {
     "a": {"shard": 0, "axis": "tp", "blocks": [{"size": 8}, {"size": 4, "copies": 2}]},
     "b": {"shard": 1, "axis": "tp", "order": "zigzag"},
     "c": {"tp": {"shard": 1, "chunks": [[0, 3], [1, 2]]}},
     "d": {"shard": 0, "axis": "tp", "padded": 6, "fill": 0},
     "e": {"scale": "1/2", "of": "Partial(sum)@tp"},
     "f": ["= r0.x", "= r1.x"], "g*": "Replicate"}})J",
                             "m");
  REQUIRE(m);
  std::vector<std::string> words;
  for (const auto& [name, placement] : m->inputs) words.push_back(to_string(placement, *m->mesh));
  CHECK(words == std::vector<std::string>{"Shard(0, blocks=[8, 4x2])@tp", "Shard(1, order=zigzag)@tp",
                                          "Shard(1, chunks=[[0, 3], [1, 2]])@tp", "Shard(0, padded=6, fill=0)@tp",
                                          "Scale(1/2), Partial(sum)@tp", "[\"= r0.x\", \"= r1.x\"]", "Replicate"});
}

TEST_CASE("globs: the most specific key wins") {
  CHECK(glob_match("a*b*c", "aXXbYYc"));
  CHECK_FALSE(glob_match("a*b", "aXXbY"));
  CHECK(key_matches("%arg0", "arg0"));
  CHECK(specificity("abc") > specificity("ab*"));
  CHECK(specificity("ab*") > specificity("a*"));
  CHECK(specificity("a*c*") < specificity("a*c"));
}

TEST_CASE("npy") {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
  for (float f : {1.5f, -2.0f, 0.25f, 3.0f}) bytes.append(reinterpret_cast<const char*>(&f), 4);
  Result<NpyArray> a = read_npy(bytes, "x.npy");
  REQUIRE(a);
  CHECK(a->shape == ir::Shape{2, 2});
  CHECK(a->values[1].d == -2.0);
  CHECK_FALSE(read_npy(bytes.substr(0, bytes.size() - 1), "x.npy"));
  CHECK_FALSE(read_npy("junk", "x.npy"));
}

TEST_CASE("every shared case loads") {
  const char* shared = std::getenv("SHARDPROOF_SHARED");
  std::filesystem::path root = shared ? shared : SHARDPROOF_SOURCE_DIR "/../shared";
  if (!std::filesystem::exists(root / "cases")) {
    MESSAGE("skipped: no shared cases");
    return;
  }
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "cases")) {
    if (entry.path().filename() != "case.json") continue;
    ++count;
    Result<Manifest> m = load(entry.path().parent_path().string());
    INFO(entry.path().string());
    CHECK_MESSAGE(m.ok(), (m ? "" : m.error().message));
    if (!m) continue;
    CHECK(!m->inputs.empty());
    for (const auto& [name, placement] : m->inputs) {  // the canonical words can be pasted back
      Result<Placement> again = parse_placement(to_string(placement, *m->mesh), *m->mesh);
      REQUIRE(again);
      CHECK(to_string(*again, *m->mesh) == to_string(placement, *m->mesh));
    }
  }
  CHECK(count > 100);
}
