// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The flow from manifest to verdict on small written programs, and the forms of the answer.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "report/check.h"
#include "report/files.h"
#include "report/json.h"
#include "report/text.h"

using namespace shardproof;
using Json = nlohmann::json;

namespace {

// A folder with programs and a manifest, removed at the end.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("shardproof-test-" + name + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
};

std::string program(const std::string& arguments, const std::string& body) {
  return "class GraphModule(torch.nn.Module):\n    def forward(self, " + arguments + "):\n" + body;
}

// y = x @ w, w cut by columns of x: a partial sum that `reduce` completes.
Folder matmul(const std::string& name, bool reduce, const std::string& expect) {
  Folder f(name);
  f.write("model.py", "def f(x, w):\n    return x @ w\n");
  std::string source = "        # File: model.py:2 in f, code: return x @ w\n";
  f.write("seq.txt", program("x: \"f32[4, 6]\", w: \"f32[6, 3]\"",
                             source + "        mm: \"f32[4, 3]\" = torch.ops.aten.mm.default(x, w)\n        return (mm,)\n"));
  for (int r = 0; r < 2; ++r) {
    std::string body = source + "        mm: \"f32[4, 3]\" = torch.ops.aten.mm.default(x, w)\n";
    if (reduce)
      body +=
          "        all_reduce: \"f32[4, 3]\" = torch.ops._c10d_functional.all_reduce.default(mm, 'sum', 'g')\n"
          "        wait: \"f32[4, 3]\" = torch.ops._c10d_functional.wait_tensor.default(all_reduce)\n        return (wait,)\n";
    else
      body += "        return (mm,)\n";
    f.write("rank" + std::to_string(r) + ".txt", program("x: \"f32[4, 3]\", w: \"f32[3, 3]\"", body));
  }
  f.write("case.json", R"J({"sequential": "seq.txt", "distributed": "rank{rank}.txt", "mesh": {"tp": 2}, "groups": {"g": "tp"},
      "inputs": {"x": "Shard(1)@tp", "w": "Shard(0)@tp"}, "outputs": {"mm": {"label": "product", "dist": ")J" +
                           std::string(reduce ? "wait" : "mm") + R"J(")J" + expect + "}}}");
  return f;
}

report::CheckResult check(const Folder& f, report::CheckOptions options = {}) {
  Result<manifest::Manifest> m = manifest::load(f.path.string());
  REQUIRE_MESSAGE(m.ok(), (m ? "" : m.error().message));
  Result<report::CheckResult> r = report::run_check(*m, options);
  REQUIRE_MESSAGE(r.ok(), (r ? "" : r.error().message));
  return *r;
}

bool has(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

}  // namespace

TEST_CASE("a right program is proved, and evaluates to the same") {
  Folder f = matmul("right", true, "");
  report::CheckOptions options;
  options.paranoid = true;
  report::CheckResult r = check(f, options);
  CHECK(r.verdict == report::Verdict::Proved);
  REQUIRE(r.outputs.size() == 1);
  CHECK(r.outputs[0].relation == "Replicate");
  CHECK(r.outputs[0].expected == "any");
  Json j = Json::parse(report::to_json(r));
  CHECK(j["version"] == 1);
  CHECK(j["verdict"] == "PROVED");
  CHECK(j["reason"].is_null());
  CHECK(j["outputs"][0]["name"] == "mm");
  CHECK(j["outputs"][0]["label"] == "product");
  CHECK(j["outputs"][0]["dist"] == "wait");
  CHECK(j["outputs"][0]["status"] == "PROVED");
  CHECK(j["blame"].is_null());
  CHECK(j["stats"]["sequential_operators"] == 1);
  CHECK(j["stats"]["distributed_operators"] == 6);
  CHECK(j["stats"]["peak_bytes"] > 1000000);
  CHECK(j["certificate"].is_null());
  std::string text = report::to_text(r, {false, f.path.string(), false});
  CHECK(text.rfind("PROVED", 0) == 0);
  CHECK(has(text, "product (mm)  Replicate"));
  CHECK_FALSE(has(text, "\x1b"));
}

TEST_CASE("a missing reduction is refuted where it was expected, and a warning where not") {
  Folder f = matmul("wrong", false, R"J(, "expect": "Replicate")J");
  report::CheckOptions options;
  options.witness = (f.path / "witness").string();
  report::CheckResult r = check(f, options);
  CHECK(r.verdict == report::Verdict::Refuted);
  CHECK(r.witness == options.witness);
  CHECK(std::filesystem::file_size(options.witness) > 100);
  REQUIRE(r.blame);
  Json j = Json::parse(report::to_json(r));
  CHECK(j["verdict"] == "REFUTED");
  CHECK(j["outputs"][0]["status"] == "REFUTED");
  CHECK(j["outputs"][0]["relation"].is_null());
  CHECK(j["blame"]["sequential"]["node"] == "mm");
  CHECK(j["blame"]["sequential"]["file"] == "model.py");
  CHECK(j["blame"]["sequential"]["line"] == 2);
  CHECK(j["blame"]["distributed"].size() >= 1);
  std::string text = report::to_text(r, {false, f.path.string(), false});
  CHECK(has(text, "REFUTED: 1 of 1 outputs is wrong"));
  CHECK(has(text, "2 |     return x @ w"));  // the user's own line
  CHECK(has(text, "ranks 0-1"));             // ranks that look the same are one entry
  CHECK(has(report::to_text(r, {true, f.path.string(), false}), "\x1b[1;31mREFUTED"));

  Folder g = matmul("partial", false, "");
  r = check(g);
  CHECK(r.verdict == report::Verdict::Proved);
  CHECK(r.outputs[0].relation == "Partial(sum)@tp");
  REQUIRE(r.warnings.size() == 1);
  CHECK(has(r.warnings[0], "axis tp"));
}

TEST_CASE("without the falsifier nothing is refuted") {
  Folder f = matmul("nofalsify", false, R"J(, "expect": "Replicate")J");
  report::CheckOptions options;
  options.falsify = false;
  report::CheckResult r = check(f, options);
  CHECK(r.verdict == report::Verdict::Unknown);
  CHECK(r.reason == "missing-lemma");
}

TEST_CASE("the answer is the same byte for byte") {
  Folder f = matmul("same", false, R"J(, "expect": "Replicate")J");
  auto stripped = [&] {
    Json j = Json::parse(report::to_json(check(f)));
    j["stats"].erase("seconds");
    j["stats"].erase("peak_bytes");
    return j.dump();
  };
  CHECK(stripped() == stripped());
}

TEST_CASE("the certificate writer is asked once, for a proof only") {
  int calls = 0;
  report::CheckOptions options;
  options.certificate = "somewhere";
  options.write_certificate = [&](const manifest::Manifest&, link::Problem&, prove::Prover&, const report::CheckOptions::Proofs& proofs,
                                  const std::string& path) -> std::string {
    ++calls;
    CHECK(proofs.size() == 1);
    CHECK(path == "somewhere");
    return calls == 1 ? "" : "disk full";
  };
  Folder f = matmul("cert", true, "");
  CHECK(check(f, options).certificate == "somewhere");
  report::CheckResult r = check(f, options);
  CHECK(r.certificate.empty());
  CHECK(has(r.warnings.back(), "disk full"));
  check(matmul("cert2", false, R"J(, "expect": "Replicate")J"), options);
  CHECK(calls == 2);
}

TEST_CASE("an output that depends on no input is not proved") {
  Folder f("vacuous");
  f.write("seq.txt", program("x: \"f32[4]\"", "        sub: \"f32[4]\" = torch.ops.aten.sub.Tensor(x, x)\n        return (sub,)\n"));
  f.write("rank0.txt",
          program("x: \"f32[4]\"", "        full: \"f32[4]\" = torch.ops.aten.full.default([4], 0.0)\n        return (full,)\n"));
  f.write(
      "case.json",
      R"J({"sequential": "seq.txt", "distributed": ["rank0.txt"], "mesh": {}, "inputs": {"x": "Replicate"}, "outputs": {"sub": {"dist": "full"}}})J");
  CHECK(check(f).verdict != report::Verdict::Proved);
}

TEST_CASE("other tools' formats") {
  Folder f = matmul("formats", false, R"J(, "expect": "Replicate")J");
  report::CheckResult r = check(f);
  r.outputs[0].label = "<&\">";
  Json sarif = Json::parse(report::to_sarif(r, {"", "m"}));
  CHECK(sarif["version"] == "2.1.0");
  CHECK(sarif["runs"][0]["results"][0]["kind"] == "fail");
  CHECK(sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "model.py");
  CHECK(sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 2);
  CHECK(sarif["runs"][0]["tool"]["driver"]["rules"].size() == 1);
  std::string junit = report::to_junit(r, {"", "m"});
  CHECK(has(junit, "tests=\"1\" failures=\"1\""));
  CHECK(has(junit, "output:&lt;&amp;&quot;&gt;"));
  std::string html = report::to_html(r, {"", "m"});
  CHECK(has(html, "&lt;&amp;&quot;&gt;"));
  CHECK_FALSE(has(html, "<&\">"));
  CHECK(has(report::to_annotations(r, {"", "m"}), "::error file=model.py,line=2,endLine=2,title=SP1"));
  CHECK(has(report::to_dot(r), "digraph"));
  std::string toml = report::relation_toml(r);
  CHECK(has(toml, "\"x\" = \"Shard(1)@tp\""));
  Result<manifest::Manifest> again =
      manifest::parse("sequential = \"s\"\ndistributed = [\"a\", \"b\"]\nmesh = { tp = 2 }\n" + toml, "m.toml");
  CHECK_MESSAGE(again.ok(), (again ? "" : again.error().message));
}

TEST_CASE("an error as an object and as text") {
  Diagnostic d{"SP205", "bad \"placement\"", "", 3, 9};
  Json j = Json::parse(report::to_json(d));
  CHECK(j["error"]["code"] == "SP205");
  CHECK(j["error"]["line"] == 3);
  CHECK(j["error"]["column"] == 9);
  CHECK(j["error"]["file"].is_null());
  CHECK(has(report::to_text(d, {}), "error[SP205]: bad \"placement\""));
}
