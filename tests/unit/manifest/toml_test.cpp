// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The TOML reader, held against the language's description: what is equal, what is refused, and where.
#include <doctest/doctest.h>

#include "manifest/value.h"

using namespace shardproof;
using namespace shardproof::manifest;

namespace {

std::string json(const std::string& text) {
  Result<Value> value = read_toml(text, "m.toml");
  return value ? to_json(*value) : "error: " + value.error().message;
}

}  // namespace

TEST_CASE("TOML values") {
  CHECK(json("") == "{}");
  CHECK(json("\xEF\xBB\xBF# only a comment") == "{}");
  CHECK(json("a = 1\r\nb = -17 # comment\n\n\tc=+3") == R"({"a":1,"b":-17,"c":3})");
  CHECK(json("a = 1_000\nb = 0xDEAD_beef\nc = 0o755\nd = 0b1101\ne = -0\nf = 9223372036854775807\ng = -9223372036854775808") ==
        R"({"a":1000,"b":3735928559,"c":493,"d":13,"e":0,"f":9223372036854775807,"g":-9223372036854775808})");
  CHECK(json("a = 1.5\nb = -2e3\nc = 6.626e-34\nd = 1e+2\ne = 0.25\nf = inf\ng = -inf\nh = nan") ==
        R"({"a":1.5,"b":-2000,"c":6.626e-34,"d":100,"e":0.25,"f":"inf","g":"-inf","h":"nan"})");
  CHECK(json("a = true\nb = false") == R"({"a":true,"b":false})");
  CHECK(json(R"(a = "x\t\"\\\u00e9\U0001F600"
b = 'c:\x')") == "{\"a\":\"x\\u0009\\\"\\\\\xC3\xA9\xF0\x9F\x98\x80\",\"b\":\"c:\\\\x\"}");
  CHECK(json("a = \"\"\"\nx\\\n   \n  y\"\"\"\"\"\nb = '''\na\\b\n'''") == R"({"a":"xy\"\"","b":"a\\b\u000a"})");
  CHECK(json("a = [1, [2, 'x'], # c\n  3,\n]\nb = []") == R"({"a":[1,[2,"x"],3],"b":[]})");
  CHECK(json("a = { b = 1, c.d = 2, 'e f' = {} }") == R"({"a":{"b":1,"c":{"d":2},"e f":{}}})");
}

TEST_CASE("TOML keys and tables, in the order of the file") {
  CHECK(json("z = 1\n\"a.b\" = 2\n1 = 3\nc . d = 4\nc.e = 5") == R"({"z":1,"a.b":2,"1":3,"c":{"d":4,"e":5}})");
  CHECK(json("[b.c]\nx = 1\n[a]\ny = 2\n[b]\nz = 3") == R"({"b":{"c":{"x":1},"z":3},"a":{"y":2}})");
  CHECK(json("[[p]]\nn = 1\n[p.q]\nm = 2\n[[p]]\nn = 3\n[[p.r]]\n") == R"({"p":[{"n":1,"q":{"m":2}},{"n":3,"r":[{}]}]})");
  CHECK(json("[f]\na.b = 1\n[f.a.c]\nd = 2") == R"({"f":{"a":{"b":1,"c":{"d":2}}}})");
  Result<Value> value = read_toml("\n  a = 1\n[t]\n b.c = [2,\n  3]\n", "m.toml");
  REQUIRE(value);
  CHECK(value->members[0].value.line == 2);
  CHECK(value->members[0].value.column == 3);
  CHECK(value->members[1].value.members[0].value.line == 4);
  const Value& list = value->members[1].value.members[0].value.members[0].value;
  CHECK(list.items[1].line == 5);
  CHECK(list.items[1].column == 3);
}

TEST_CASE("what is not TOML, or has no meaning, is refused at its place") {
  for (const char* bad : {"a",
                          "a =",
                          "a = ",
                          "= 1",
                          "a = 1 b = 2",
                          "a = 1\na = 2",
                          "a.b = 1\na = 2",
                          "a = 1\na.b = 2",
                          "[a]\n[a]",
                          "[a\n",
                          "[]",
                          "[a.]\n",
                          "[[a]\n",
                          "[a]\nb.c = 1\n[a.b]",
                          "[a.b]\n[a]\nb.c = 1",
                          "a = {b = 1}\n[a.c]",
                          "a = {b = 1}\na.c = 2",
                          "a = [1]\n[[a]]",
                          "[[a]]\n[a]",
                          "[a]\n[[a]]",
                          "a = {b = 1,}",
                          "a = {b = 1\n}",
                          "a = {b = 1, b = 2}",
                          "a = [1 2]",
                          "a = [1",
                          "a = [,]",
                          "a = 01",
                          "a = 1__0",
                          "a = _1",
                          "a = 1_",
                          "a = 1.",
                          "a = .5",
                          "a = 1e",
                          "a = 0x",
                          "a = +0x1",
                          "a = 0xg",
                          "a = 1._5",
                          "a = tru",
                          "a = truex",
                          "a = \"x",
                          "a = \"x\ny\"",
                          "a = 'x\ny'",
                          "a = \"\"\"x",
                          "a = \"\\x\"",
                          "a = \"\\ud800\"",
                          "a = \"\\u12\"",
                          "a = \"\\U00110000\"",
                          "a = \"x\x01\"",
                          "# \x01",
                          "\"\"\"a\"\"\" = 1",
                          "a b = 1",
                          "a = 9223372036854775808",
                          "a = 1979-05-27",
                          "a = 07:32:00",
                          "a = 1979-05-27T07:32:00Z",
                          "a = x",
                          "a = 1\rb = 2"}) {
    CAPTURE(std::string(bad));
    CHECK(json(bad).rfind("error: ", 0) == 0);
  }
  CHECK(json("t = 1979-05-27") == "error: dates and times have no meaning in a manifest");
  Diagnostic d = read_toml("[a]\nx = 1\n  x = 2", "m.toml").error();
  CHECK(d.code == "SP201");
  CHECK(d.file == "m.toml");
  CHECK(d.line == 3);
  CHECK(json("a = " + std::string(5000, '[')).rfind("error: ", 0) == 0);
  std::string keys;
  for (int k = 0; k < 5000; ++k) keys += "a.";
  CHECK(json(keys + "a = 1") == "error: nested too deeply");
  CHECK(json("[" + keys + "a]") == "error: nested too deeply");
}
