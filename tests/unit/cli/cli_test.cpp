// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Exit codes and streams of the command, run in this process with its output sent to files.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/guard.h"
#include "cli/size.h"

using namespace shardproof;

namespace {

struct Done {
  int code;
  std::string out, err;
};

std::string read(const std::filesystem::path& p) {
  std::ifstream in(p);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    std::filesystem::path p = std::filesystem::temp_directory_path() / ("shardproof-cli-" + std::to_string(::getpid()));
    std::filesystem::create_directories(p);
    return p;
  }();
  return path;
}

Done run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "shardproof");
  std::vector<const char*> argv;
  for (const std::string& a : arguments) argv.push_back(a.c_str());
  std::filesystem::path out = folder() / "out", err = folder() / "err";
  std::fflush(stdout);
  std::fflush(stderr);
  int old_out = dup(1), old_err = dup(2);
  int o = open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), e = open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  dup2(o, 1);
  dup2(e, 2);
  int code = cli::run(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  std::fflush(stderr);
  dup2(old_out, 1);
  dup2(old_err, 2);
  for (int fd : {old_out, old_err, o, e}) close(fd);
  return {code, read(out), read(err)};
}

void write(const std::string& name, const std::string& text) { std::ofstream(folder() / name) << text; }

std::string graph(const std::string& op) {
  return "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n        y: \"f32[4]\" = torch.ops.aten." + op +
         "(x, x)\n        return (y,)\n";
}

std::string manifest(const std::string& rank) {
  write("seq.txt", graph("mul.Tensor"));
  write("right.txt", graph("mul.Tensor"));
  write("wrong.txt", graph("add.Tensor"));
  write(rank + ".json",
        R"J({"sequential": "seq.txt", "distributed": [")J" + rank + R"J(.txt"], "mesh": {}, "inputs": {"x": "Replicate"}})J");
  return (folder() / (rank + ".json")).string();
}

}  // namespace

TEST_CASE("verdicts are exit codes, and --json is exactly one object") {
  Done d = run({"check", manifest("right"), "--json"});
  CHECK(d.code == 0);
  CHECK(nlohmann::json::parse(d.out)["verdict"] == "PROVED");
  d = run({"check", manifest("right")});
  CHECK(d.code == 0);
  CHECK(d.out.rfind("PROVED", 0) == 0);
  d = run({"check", manifest("wrong"), "--json"});
  CHECK(d.code == 1);
  CHECK(nlohmann::json::parse(d.out)["verdict"] == "REFUTED");
  d = run({"check", manifest("wrong"), "--json", "--no-falsify"});
  CHECK(d.code == 3);
  CHECK(nlohmann::json::parse(d.out)["verdict"] == "UNKNOWN");
}

TEST_CASE("a witness replays") {
  std::string witness = (folder() / "witness").string();
  CHECK(run({"check", manifest("wrong"), "--witness", witness}).code == 1);
  CHECK(run({"replay", witness}).code == 0);
  CHECK(run({"replay", witness, "--manifest", manifest("wrong")}).code == 0);
  CHECK(run({"replay", witness, "--manifest", manifest("right")}).code != 0);
  write("junk", "junk");
  CHECK(run({"replay", (folder() / "junk").string()}).code == 2);
}

TEST_CASE("bad usage and bad input are 2, with an object if one was asked for") {
  CHECK(run({}).code == 2);
  CHECK(run({"chekc"}).code == 2);
  Done d = run({"check", manifest("right"), "--json", "--no-such-option"});
  CHECK(d.code == 2);
  CHECK(nlohmann::json::parse(d.out)["error"]["code"] == "SP200");
  d = run({"check", (folder() / "none.json").string(), "--json"});
  CHECK(d.code == 2);
  CHECK(nlohmann::json::parse(d.out)["error"]["code"] == "SP204");
  CHECK(d.err.find("none.json") != std::string::npos);
  write("bad.json", "{\n  \"sequential\": \"seq.txt\",\n  \"mehs\": {}\n}");
  d = run({"check", (folder() / "bad.json").string(), "--json"});
  CHECK(d.code == 2);
  CHECK(nlohmann::json::parse(d.out)["error"]["line"] == 3);
  d = run({"check", (folder() / "bad.json").string()});
  CHECK(d.out.empty());
  CHECK(d.err.find("did you mean \"mesh\"?") != std::string::npos);
  CHECK(d.err.find("3 |   \"mehs\": {}") != std::string::npos);
}

TEST_CASE("help and version succeed") {
  CHECK(run({"--help"}).code == 0);
  CHECK(run({"check", "--help"}).code == 0);
  Done d = run({"--version"});
  CHECK(d.code == 0);
  CHECK(d.out.rfind("shardproof ", 0) == 0);
}

TEST_CASE("report files") {
  auto at = [](const char* name) { return (folder() / name).string(); };
  run({"check", manifest("wrong"), "--sarif", at("r.sarif"), "--junit", at("r.xml"), "--html", at("r.html"), "--dot", at("r.dot"),
       "--relation-out", at("r.toml")});
  CHECK(read(at("r.sarif")).find("\"2.1.0\"") != std::string::npos);
  CHECK(read(at("r.xml")).find("<testsuites>") != std::string::npos);
  CHECK(read(at("r.html")).find("REFUTED") != std::string::npos);
  CHECK(read(at("r.dot")).find("digraph") != std::string::npos);
  CHECK(read(at("r.toml")).find("\"x\" = \"Replicate\"") != std::string::npos);
}

TEST_CASE("a relation that cannot be written is said to be missing") {
  const std::string path = (folder() / "none.toml").string();
  const Done bad = run({"check", manifest("missing"), "--relation-out", path});
  CHECK(bad.code == 2);
  CHECK(bad.err.find(path + " is not written") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(run({"check", manifest("wrong"), "--relation-out", path}).err.find("is not written") == std::string::npos);
}

TEST_CASE("a child that crashes, hangs or ends") {
  cli::GuardResult r = cli::guarded(0, [] { return 3; });
  CHECK(r.finished);
  CHECK(r.code == 3);
  r = cli::guarded(10, []() -> int {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    return 0;
  });
  CHECK_FALSE(r.finished);
  CHECK(r.reason == "internal");
  CHECK(r.detail.find("signal 11") != std::string::npos);
  auto start = std::chrono::steady_clock::now();
  r = cli::guarded(0.2, []() -> int {
    for (;;) pause();
  });
  CHECK_FALSE(r.finished);
  CHECK(r.reason == "budget");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("a limit on memory has units, and one that is a slip is refused") {
  const auto bytes = [](std::string_view text) {
    uint64_t amount = 7;
    const std::string error = cli::parse_memory(text, amount);
    return error.empty() ? amount : uint64_t{1};
  };
  CHECK(bytes("0") == 0);
  CHECK(bytes("0G") == 0);
  CHECK(bytes("16777216") == uint64_t{16} << 20);
  CHECK(bytes("14G") == uint64_t{14} << 30);
  CHECK(bytes("14gib") == uint64_t{14} << 30);
  CHECK(bytes("1.5 GiB") == uint64_t{3} << 29);
  CHECK(bytes("800MB") == 800'000'000);
  CHECK(bytes("20000K") == 20000 * 1024);
  CHECK(bytes("1T") == uint64_t{1} << 40);
  for (const char* wrong : {"", "G", "-1G", "14X", "14GG", "14Gi", "1e9", "inf", "nan", "9999999999T", "14G 3", "0x10G"}) {
    CAPTURE(wrong);
    CHECK(bytes(wrong) == 1);
  }
  uint64_t amount = 0;
  CHECK(cli::parse_memory("12000", amount).find("12000 is 12000 bytes") != std::string::npos);
  CHECK(cli::parse_memory("12000", amount).find("12000M") != std::string::npos);
  CHECK(cli::parse_memory("0.001", amount).find("0.001 is 0 bytes") != std::string::npos);
  CHECK(cli::parse_memory("12K", amount).find("12K is 12288 bytes") != std::string::npos);
  Done d = run({"check", "nothing.json", "--memory-limit", "12000"});
  CHECK(d.code == 2);
  CHECK(d.err.find("--memory-limit: 12000 is 12000 bytes") != std::string::npos);
}

#ifndef __SANITIZE_ADDRESS__  // it needs all the address space there is
TEST_CASE("limits end in UNKNOWN(budget) that lists the outputs") {
  // A chain that is long enough to need more than what this process has to spare.
  std::string chain =
      "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n        y0: \"f32[4]\" = "
      "torch.ops.aten.sin.default(x)\n";
  for (int k = 1; k < 5000; ++k) chain += fmt::format("        y{}: \"f32[4]\" = torch.ops.aten.sin.default(y{})\n", k, k - 1);
  write("chain.txt", chain + "        return (y4999,)\n");
  write(
      "named.json",
      R"J({"sequential": "chain.txt", "distributed": ["chain.txt"], "mesh": {}, "inputs": {"x": "Replicate"}, "outputs": {"y4999": {}}})J");
  Done d = run({"check", (folder() / "named.json").string(), "--json", "--memory-limit", "16MiB"});
  CHECK(d.code == 3);
  nlohmann::json j = nlohmann::json::parse(d.out);
  CHECK(j["reason"] == "budget");
  CHECK(j["outputs"][0]["name"] == "y4999");
  CHECK(j["outputs"][0]["status"] == "UNKNOWN");
}
#endif
