// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Written programs through readers and lowerings: SPMD modules, regions with local shapes, inference, formats told by content.
#include <unistd.h>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "fixture.h"

using namespace shardproof;
using namespace shardproof::link_test;

namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("shardproof-link-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
  Result<link::Problem> link(const std::string& json) const {
    write("case.json", json);
    Result<manifest::Manifest> m = manifest::load(path.string());
    if (!m) return m.error();
    return link::link(*m);
  }
};

const char* kSequential = R"J(
module @f {
  func.func public @main(%arg0: tensor<4x6xf32>) -> (tensor<4x6xf32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
)J";

// x cut over dp inside of the region; what leaves it is said to be `out`.
std::string region(const std::string& out, const std::string& type) {
  return R"J(
module @f attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func public @main(%arg0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"dp"}, {}]>}) -> ()J" +
         type + R"J( {sdy.sharding = #sdy.sharding<@mesh, )J" + out + R"J(>}) {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp"}, {}]>] out_shardings=[<@mesh, )J" +
         out + R"J(>] manual_axes={"dp", "tp"} (%arg1: tensor<2x6xf32>) {
      %1 = stablehlo.add %arg1, %arg1 : tensor<2x6xf32>
      sdy.return %1 : tensor<2x6xf32>
    } : (tensor<4x6xf32>) -> )J" +
         type + R"J(
    return %0 : )J" +
         type + R"J(
  }
}
)J";
}

}  // namespace

TEST_CASE("a region with local shapes in a global program") {
  Folder f;
  f.write("seq", kSequential);
  f.write("dist", region(R"([{"dp"}, {}])", "tensor<4x6xf32>"));
  std::string json =
      R"J({"sequential": "seq", "distributed": "dist", "mesh": {"dp": 2, "tp": 2}, "inputs": {"%arg0": "Shard(0)@dp"}, "outputs": {"0": {"expect": "Shard(0)@dp"}}})J";
  Result<link::Problem> p = f.link(json);
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(has(*p, p->outputs[0], "Shard(0)@dp"));
  CHECK_FALSE(has(*p, p->outputs[0], "Shard(0)@tp"));
  CHECK(p->graph[p->outputs[0].distributed[3]].shape == ir::Shape{2, 6});
  // What one rank holds is not what the other one holds, even though both entered with the same global value.
  CHECK(p->outputs[0].distributed[0] != p->outputs[0].distributed[2]);
}

TEST_CASE("a result that is only said to be replicated is each rank's own") {
  Folder f;
  f.write("seq", kSequential);
  f.write("dist", region(R"([{}, {}])", "tensor<2x6xf32>"));
  Result<link::Problem> p = f.link(
      R"J({"sequential": "seq", "distributed": "dist", "mesh": {"dp": 2, "tp": 2}, "inputs": {"0": "Shard(0)@dp"}, "outputs": {"0": {"expect": "any"}}})J");
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK_FALSE(has(*p, p->outputs[0], "Replicate"));
  CHECK(has(*p, p->outputs[0], "Shard(0)@dp"));
}

TEST_CASE("placements that a module states are found, and said to be inferred") {
  Folder f;
  f.write("seq", R"J(HloModule f
ENTRY main {
  x = f32[4,6]{1,0} parameter(0)
  w = f32[6]{0} parameter(1)
  b = f32[4,6]{1,0} broadcast(w), dimensions={1}
  ROOT y = f32[4,6]{1,0} multiply(x, b)
}
)J");
  f.write("dist", R"J(HloModule f, num_partitions=2
ENTRY main {
  x = f32[4,3]{1,0} parameter(0), sharding={devices=[1,2]<=[2]}
  w = f32[3]{0} parameter(1), sharding={devices=[2]<=[2]}
  b = f32[4,3]{1,0} broadcast(w), dimensions={1}
  ROOT y = f32[4,3]{1,0} multiply(x, b)
}
)J");
  std::string json = R"J({"sequential": "seq", "distributed": "dist", "mesh": {"tp": 2}, "outputs": {"0": {"expect": "any"}}, "infer": )J";
  Result<link::Problem> p = f.link(json + "true}");
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(to_string(p->relation[0].placement, p->mesh) == "Shard(1)@tp");
  CHECK(to_string(p->relation[1].placement, p->mesh) == "Shard(0)@tp");
  CHECK(p->relation[0].inferred);
  CHECK(has(*p, p->outputs[0], "Shard(1)@tp"));
  bool told = false;
  for (const std::string& a : p->assumptions) told |= a.find("inferred: input x is Shard(1)@tp (stated by the program)") == 0;
  CHECK(told);
  p = f.link(json + "false}");
  REQUIRE_FALSE(p.ok());
  CHECK(p.error().code == "SP207");
  // The module's own number of devices is the mesh if the manifest has none.
  p = f.link(R"J({"sequential": "seq", "distributed": "dist", "infer": true})J");
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(p->mesh.num_ranks() == 2);
  p = f.link(R"J({"sequential": "seq", "distributed": "dist", "mesh": {"tp": 4}, "infer": true})J");
  REQUIRE_FALSE(p.ok());
  CHECK(p.error().message.find("is for 2 partitions and 1 replicas, but the mesh has 4 ranks") != std::string::npos);
}

TEST_CASE("stages of a pipeline by coordinates, and files that several ranks read") {
  Folder f;
  auto graph = [](const std::string& arguments, const std::string& body) {
    return "class GraphModule(torch.nn.Module):\n    def forward(self, " + arguments + "):\n" + body;
  };
  f.write("seq", graph("x: \"f32[4]\"",
                       "        y: \"f32[4]\" = torch.ops.aten.mul.Tensor(x, x)\n        z: \"f32[4]\" = torch.ops.aten.mul.Tensor(y, y)\n"
                       "        return (z,)\n"));
  f.write("first", graph("x: \"f32[4]\"",
                         "        y: \"f32[4]\" = torch.ops.aten.mul.Tensor(x, x)\n"
                         "        gather: \"f32[8]\" = torch.ops._c10d_functional.all_gather_into_tensor.default(y, 2, 'pp')\n"
                         "        wait: \"f32[8]\" = torch.ops._c10d_functional.wait_tensor.default(gather)\n        return ()\n"));
  f.write(
      "second",
      graph("",
            "        e: \"f32[4]\" = torch.ops.aten.full.default([4], 0.0)\n"
            "        gather: \"f32[8]\" = torch.ops._c10d_functional.all_gather_into_tensor.default(e, 2, 'pp')\n"
            "        wait: \"f32[8]\" = torch.ops._c10d_functional.wait_tensor.default(gather)\n"
            "        y: \"f32[4]\" = torch.ops.aten.slice.Tensor(wait, 0, 0, 4)\n        z: \"f32[4]\" = torch.ops.aten.mul.Tensor(y, y)\n"
            "        return (z,)\n"));
  std::string json =
      R"J({"sequential": "seq", "distributed": {"first": {"pp": 0}, "second": {"pp": 1}}, "mesh": {"dp": 2, "pp": 2}, "groups": {"pp": "pp"},
      "inputs": {"x": {"pp": "On(0)"}}, "outputs": {"z": {"expect": {"pp": "On(1)"}}}})J";
  Result<link::Problem> p = f.link(json);
  REQUIRE_MESSAGE(p.ok(), (p ? "" : p.error().message));
  CHECK(p->faults.empty());
  CHECK(p->files.size() == 3);
  CHECK(p->outputs[0].distributed[0] == ir::kNoNode);
  CHECK(p->outputs[0].distributed[1] != ir::kNoNode);
  CHECK(has(*p, p->outputs[0], "On(1)@pp"));
  CHECK(std::find(p->assumptions.begin(), p->assumptions.end(), "ranks 0, 2 run the same file first") != p->assumptions.end());
}

TEST_CASE("files that cannot be read say why") {
  Folder f;
  f.write("seq", "");
  auto message = [&](const std::string& file) {
    Result<link::Problem> p = f.link(R"J({"sequential": ")J" + file + R"J(", "distributed": ["seq"], "mesh": {}, "inputs": {}})J");
    return p ? "none" : p.error().code + " " + p.error().message;
  };
  CHECK(message("seq") == "SP204 the file is empty");
  CHECK(message("none").find("SP204 the program \"none\" cannot be read") == 0);
  f.write("bytecode", "ML\xEFR...");
  CHECK(message("bytecode").find("deserialize_portable_artifact") != std::string::npos);
  f.write("exported", std::string("\x04\0\0\0 ML\xEFR...", 12));
  CHECK(message("exported").find("jax.export") != std::string::npos);
  f.write("junk", "what is this?\n");
  CHECK(message("junk") != "none");
}
