// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Numbers for symbolic sizes: expressions as Python prints SymPy's, and modules that are read for given numbers.
#include "frontend/fx/symbols.h"

#include <doctest/doctest.h>

#include <string>

using namespace shardproof;      // NOLINT
using namespace shardproof::fx;  // NOLINT

namespace {

std::optional<int64_t> given(const std::string& symbol) {
  if (symbol == "s0") return 7;
  if (symbol == "u1") return -3;
  if (symbol == "big") return int64_t{1} << 62;
  return std::nullopt;
}

std::optional<int64_t> value(const std::string& text) { return size_value(text, given); }

std::string program(const std::string& type) {
  return "class GraphModule(torch.nn.Module):\n    def forward(self, s0: \"Sym(s0)\", x: \"" + type +
         "\"):\n        y: \"f32[]\" = torch.ops.aten.sum.default(x)\n        return (y,)\n";
}

}  // namespace

TEST_CASE("expressions are evaluated as Python does") {
  CHECK(value("s0") == 7);
  CHECK(value("2*s0 + 1") == 15);
  CHECK(value("1 - s0 - 2") == -8);
  CHECK(value("(s0 + 1)//2") == 4);
  CHECK(value("s0//2*2") == 6);
  CHECK(value("u1//2") == -2);
  CHECK(value("u1 % 2") == 1);
  CHECK(value("Mod(s0, 4)") == 3);
  CHECK(value("-s0**2") == -49);
  CHECK(value("2**3**2") == 512);
  CHECK(value("Max(1, s0, 5)") == 7);
  CHECK(value("Min(s0, FloorDiv(s0, 2))") == 3);
  CHECK(value("Abs(u1)") == 3);
  CHECK(value("(14/s0)") == 2);
  CHECK(value(" 12 ") == 12);
}

TEST_CASE("operators stay within 64 bits") {
  constexpr int64_t kLeast = INT64_MIN;
  CHECK(integer_operator("%", kLeast, 3) == 1);  // the quotient times 3 would leave them
  CHECK(integer_operator("//", kLeast, 3) == -3074457345618258603);
  CHECK(!integer_operator("//", kLeast, -1));
  CHECK(!integer_operator("%", kLeast, -1));
  CHECK(!integer_operator("-", kLeast, 1));
  CHECK(integer_operator("Min", kLeast, 1) == kLeast);
}

TEST_CASE("what has no value is not guessed") {
  for (const char* text : {"", "s9", "s0 +", "s0 s0", "(s0", "s0)", "s0/2", "s0//0", "s0 % 0", "s0**u1", "s0**99", "4*big", "big + big",
                           "Where(s0, 1, 2)", "Max(s0)", "Mod(s0, 2, 3)", "s0 >= 2", "2.5", "1e3"}) {
    CAPTURE(text);
    CHECK(!value(text));
  }
  CHECK(!value(std::string(100000, '(') + "s0" + std::string(100000, ')')));
  CHECK(!value(std::string(100000, '-') + "s0"));
}

TEST_CASE("a module is read for given numbers") {
  Result<Module> m = read_text(program("f32[2*s0, 4]"), "p.txt");
  REQUIRE(m);
  REQUIRE(bind_symbols(*m, given));
  const Value& x = m->graph.values[1];
  CHECK(!x.type.symbolic);
  CHECK(x.type.shape == ir::Shape{14, 4});
  CHECK(!m->graph.values[0].type.symbolic);
  CHECK(m->graph.values[0].type.shape == ir::Shape{7});
  REQUIRE(m->notes.size() == 1);
  CHECK(m->notes[0] == "the symbolic size s0 is 7");
}

TEST_CASE("a size of which a symbol has no number stays symbolic") {
  Result<Module> m = read_text(program("f32[s0, s1]"), "p.txt");
  REQUIRE(m);
  REQUIRE(bind_symbols(*m, given));
  CHECK(m->graph.values[1].type.symbolic);
  CHECK(m->graph.values[1].type.shape == ir::Shape{7, -1});
}

TEST_CASE("a negative size is an error that names it") {
  Result<Module> m = read_text(program("f32[s0 - 9, 4]"), "p.txt");
  REQUIRE(m);
  const Result<int> bound = bind_symbols(*m, given);
  REQUIRE(!bound);
  CHECK(bound.error().code == "SP257");
  CHECK(bound.error().message.find("the size s0 - 9 of x is -2") != std::string::npos);
}

TEST_CASE("sizes for which PyTorch makes another graph are refused") {
  for (const int64_t number : {0, 1}) {
    Result<Module> m = read_text(program("f32[s0, 4]"), "p.txt");
    REQUIRE(m);
    const Result<int> bound = bind_symbols(*m, [&](const std::string&) { return std::optional<int64_t>(number); });
    REQUIRE(!bound);
    CHECK(bound.error().message.find("the symbolic size s0 is given as") == 0);
  }
  Result<Module> m = read_text(program("f32[s0, u0]"), "p.txt");  // found out as it ran: any number
  REQUIRE(m);
  CHECK(bind_symbols(*m, [](const std::string& s) { return std::optional<int64_t>(s == "u0" ? 0 : 2); }));
}

TEST_CASE("an export's example serves where nothing is given") {
  Result<Module> m = read_text(program("f32[s1, s0]"), "p.txt");
  REQUIRE(m);
  m->hints = {{"s0", 99}, {"s1", 5}};
  REQUIRE(bind_symbols(*m, given));
  CHECK(m->graph.values[1].type.shape == ir::Shape{5, 7});
  REQUIRE(m->notes.size() == 2);
  CHECK(m->notes[1] == "the symbolic size s1 is 5, as in the export's example");
}
