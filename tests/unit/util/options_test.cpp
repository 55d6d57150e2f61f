// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "util/options.h"

#include <doctest/doctest.h>

using shardproof::Command;

namespace {

struct Read {
  std::string file, text, secret, wrong;
  std::vector<std::string> kinds;
  bool quiet = false;
  uint64_t seed = 1;
  std::optional<double> limit;
  double each = 4;
  int64_t n = 100;
  size_t color = 9;
  std::string help;

  explicit Read(const std::vector<std::string>& arguments) {
    Command c("tool do", "Does it");
    c.positional("FILE", file, "What to do it to");
    c.option("--text", text, "Some text");
    c.option("--kind", kinds, "Kinds");
    c.option("--seed", seed, "Seed");
    c.option("--limit", limit, "Limit");
    c.option("--each", each, "Each", true);
    c.option("--n", n, "Number", 1, 8);
    c.flag("--quiet", quiet, "Says less");
    c.choice(
        "--color", {"auto", "always", "never"}, [this](size_t k) { color = k; }, "When");
    c.hidden("--secret", secret);
    wrong = c.read(arguments);
    if (c.help_wanted()) help = c.help();
  }
};

}  // namespace

TEST_CASE("values of all kinds, in any order") {
  Read r({"--text=a=b", "--kind", "x", "f", "--kind=y", "--seed", "18446744073709551615", "--limit", "0.5", "--each=1e-3", "--n", "8",
          "--quiet", "--color", "never", "--secret", "s"});
  CHECK(r.wrong.empty());
  CHECK(r.file == "f");
  CHECK(r.text == "a=b");
  CHECK(r.kinds == std::vector<std::string>{"x", "y"});
  CHECK(r.seed == 18446744073709551615u);
  CHECK(r.limit == 0.5);
  CHECK(r.each == 0.001);
  CHECK(r.n == 8);
  CHECK(r.quiet);
  CHECK(r.color == 2);
  CHECK(r.secret == "s");
  CHECK(Read({"--", "--text"}).file == "--text");
  CHECK(Read({"-"}).file == "-");
  CHECK(Read({"f", "--text", "--quiet"}).text == "--quiet");
  CHECK(Read({"f", "--text="}).text.empty());
}

TEST_CASE("what is wrong is said") {
  CHECK(Read({}).wrong == "missing argument: FILE");
  CHECK(Read({"f", "g"}).wrong == "'g' is one argument too many");
  CHECK(Read({"f", "--sed", "1"}).wrong == "unknown option --sed: did you mean --seed?");
  CHECK(Read({"f", "--xyzzyxyzzy"}).wrong == "unknown option --xyzzyxyzzy");
  CHECK(Read({"f", "--secre", "1"}).wrong.find("--secret") == std::string::npos);
  CHECK(Read({"f", "--seed"}).wrong == "--seed needs a value");
  CHECK(Read({"f", "--quiet=1"}).wrong == "--quiet takes no value");
  CHECK(Read({"f", "--text", "a", "--text", "b"}).wrong == "--text is given twice");
  for (const char* bad : {"-1", "1.5", "x", "", " 1", "18446744073709551616"})
    CHECK(Read({"f", "--seed", bad}).wrong.find("--seed takes a whole number") == 0);
  for (const char* bad : {"0", "9", "1x", ""})
    CHECK(Read({"f", "--n", bad}).wrong == "--n takes a whole number, 1 to 8, not '" + std::string(bad) + "'");
  for (const char* bad : {"-1", "nan", "inf", "1s", ""})
    CHECK(Read({"f", "--limit", bad}).wrong.find("--limit takes a number, 0 or more") == 0);
  CHECK(Read({"f", "--each", "0"}).wrong == "--each takes a number above 0, not '0'");
  CHECK(Read({"f", "--color", "blue"}).wrong == "--color takes auto, always or never, not 'blue'");
}

TEST_CASE("help names all but what is hidden, and needs no argument") {
  for (const char* asked : {"-h", "--help"}) {
    Read r({asked});
    CHECK(r.wrong.empty());
    CHECK(r.help.find("Usage: tool do [OPTIONS] FILE") != std::string::npos);
    CHECK(r.help.find("--seed NUMBER") != std::string::npos);
    CHECK(r.help.find("Says less") != std::string::npos);
    CHECK(r.help.find("--secret") == std::string::npos);
  }
  CHECK(Read({"--", "--help"}).file == "--help");
}
