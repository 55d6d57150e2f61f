// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "manifest/placement.h"

#include <doctest/doctest.h>

using namespace shardproof;
using namespace shardproof::manifest;

namespace {

Mesh mesh_2x4() { return Mesh{{{"dp", 2}, {"tp", 4}}}; }

std::string round_trip(const std::string& words) {
  Result<Placement> p = parse_placement(words, mesh_2x4());
  return p ? to_string(*p, mesh_2x4()) : "error: " + p.error().message;
}

std::string stated(frontend::StatedSharding::Syntax syntax, const std::string& text, const Mesh& mesh, ir::Shape shape,
                   std::vector<frontend::Mesh> meshes = {}) {
  Result<Placement> p = from_stated({syntax, text}, meshes, mesh, shape);
  return p ? to_string(*p, mesh) : "error";
}

}  // namespace

TEST_CASE("words round-trip") {
  for (const char* words : {"Replicate",
                            "Shard(0)@tp",
                            "Partial(avg)@dp",
                            "On(0,1)@tp",
                            "Shard(0)@tp, Shard(0)@dp",
                            "Shard(1)@(dp, tp)",
                            "Shard(0, blocks=2)@tp",
                            "Shard(0, blocks=[2048, 512x2, 512x2])@tp",
                            "Shard(1, order=zigzag)@tp",
                            "Shard(1, chunks=[[0, 3], [1, 2]])@dp",
                            "Shard(0, padded=1366, fill=0)@dp",
                            "Shard(0, padded=5, fill=any)@dp",
                            "Scale(1/2), Partial(sum)@dp",
                            "any",
                            "= x",
                            "concat(0, r0.x, r1.x)",
                            "slice(0, 2, 4, x)",
                            "transpose(1 0, x)",
                            "reshape(2 3 4, concat(1, a, b))",
                            "sum(a, b)",
                            "scale(1/2, a)"})
    CHECK(round_trip(words) == words);
  CHECK(round_trip(" Replicate , Shard( 1 )@tp") == "Shard(1)@tp");
  CHECK(round_trip("Partial@dp") == "Partial(sum)@dp");
}

TEST_CASE("wrong words name what is wrong") {
  CHECK(round_trip("Shard(0)@pp").find("unknown mesh axis \"pp\"") != std::string::npos);
  CHECK(round_trip("Shard(0)").find("an axis is needed") != std::string::npos);
  CHECK(round_trip("Shrad(0)@tp").find("did you mean Shard?") != std::string::npos);
  CHECK(round_trip("Shard(0)@tp, Partial(sum)@tp").find("used twice") != std::string::npos);
  CHECK(round_trip("On(4)@tp").find("coordinates 0 to 3") != std::string::npos);
  CHECK(round_trip("Shard(0, blocks=[4x3])@tp").find("does not divide") != std::string::npos);
  CHECK(round_trip("Shard(0, chunks=[[0], [1]])@tp").find("2 parts, but the cut has 4") != std::string::npos);
  CHECK(round_trip("Shard(0, chunks=[[0], [2]])@dp").find("no part holds chunk 1") != std::string::npos);
  CHECK(round_trip("concat(0, a").rfind("error", 0) == 0);
  CHECK(round_trip("concta(0, a, b)").find("did you mean concat?") != std::string::npos);
}

TEST_CASE("zigzag is chunks r and 2W-1-r") {
  Result<Placement> p = parse_placement("Shard(1, order=zigzag)@dp", mesh_2x4());
  REQUIRE(p);
  CHECK(p->steps[0].chunks == std::vector<std::vector<int64_t>>{{0, 3}, {1, 2}});
}

TEST_CASE("ranked names in terms") {
  Result<Placement> p = parse_placement("concat(0, r12.a.b, rest.x)", mesh_2x4());
  REQUIRE(p);
  const Term& t = p->terms[0];
  CHECK(t.items[0].rank == 12);
  CHECK(t.items[0].name == "a.b");
  CHECK(t.items[1].rank == -1);
  CHECK(t.items[1].name == "rest.x");
}

TEST_CASE("stated HLO shardings") {
  using S = frontend::StatedSharding::Syntax;
  Mesh mesh = mesh_2x4();
  CHECK(stated(S::Hlo, "{replicated}", mesh, {8, 8}) == "Replicate");
  CHECK(stated(S::Hlo, "{devices=[8,1]<=[8]}", mesh, {8, 8}) == "Shard(0)@(dp, tp)");
  CHECK(stated(S::Hlo, "{devices=[2,4]<=[8]}", mesh, {8, 8}) == "Shard(0)@dp, Shard(1)@tp");
  CHECK(stated(S::Hlo, "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}", mesh, {8, 8}) == "Shard(0)@tp");
  CHECK(stated(S::Hlo, "{devices=[8]<=[2,4]T(1,0)}", mesh, {8}) == "Shard(0)@(tp, dp)");
  CHECK(stated(S::Hlo, "{devices=[2,1,4]<=[8] last_tile_dims={unreduced}}", mesh, {8, 8}) == "Partial(sum)@tp, Shard(0)@dp");
  CHECK(stated(S::Hlo, "{devices=[4,2]0,2,4,6,1,3,5,7}", mesh, {8, 8}).find("chunks") != std::string::npos);
  CHECK(stated(S::Hlo, "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", mesh, {8, 10}) == "Shard(1, padded=3, fill=any)@tp");
  CHECK(stated(S::Hlo, "{maximal device=5}", mesh, {8}) == "On(1)@dp, On(1)@tp");
  CHECK(stated(S::Hlo, "{devices=[2,1]<=[2]}", mesh, {8}) == "error");
  CHECK(stated(S::Hlo, "{manual}", mesh, {8}) == "error");
  CHECK(stated(S::Hlo, "{mesh['a'=2,'b'=4], [{'b'}, {'a', ?}]}", mesh, {8, 8}) == "Shard(0)@tp, Shard(1)@dp");
}

TEST_CASE("stated Shardy and DTensor shardings") {
  using S = frontend::StatedSharding::Syntax;
  Mesh mesh = mesh_2x4();
  std::vector<frontend::Mesh> meshes{{"mesh", {{"x", 2}, {"y", 4}}, {}}, {"turned", {{"y", 4}, {"x", 2}}, {0, 4, 1, 5, 2, 6, 3, 7}}};
  CHECK(stated(S::Sdy, "#sdy.sharding<@mesh, [{\"x\"}, {}]>", mesh, {8, 8}, meshes) == "Shard(0)@dp");
  CHECK(stated(S::Sdy, "<@turned, [{\"y\", \"x\"}, {?}]>", mesh, {8, 8}, meshes) == "Shard(0)@(tp, dp)");
  CHECK(stated(S::Sdy, "<@mesh, [{}, {\"y\":(1)2}p1], unreduced={\"x\"}>", mesh, {8, 8}, meshes) ==
        "Partial(sum)@dp, Shard(1, chunks=[[0], [0], [1], [1]])@tp");
  CHECK(stated(S::Sdy, "<@none, [{}]>", mesh, {8}, meshes) == "error");
  CHECK(stated(S::DTensor, "S(0)R", mesh, {8}) == "Shard(0)@dp");
  CHECK(stated(S::DTensor, "P(avg)S(1)", mesh, {8, 8}) == "Partial(avg)@dp, Shard(1)@tp");
  CHECK(stated(S::DTensor, "S(1)[1]S(1)[0]", mesh, {8, 8}) == "Shard(1)@tp, Shard(1)@dp");
  CHECK(stated(S::DTensor, "_S(0, 4)S(0)", mesh, {32}) == "Shard(0, blocks=4)@dp, Shard(0)@tp");
  CHECK(stated(S::DTensor, "R", mesh, {32}) == "error");
}
