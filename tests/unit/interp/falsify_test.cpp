// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The falsifier, blame, witnesses and replay on small programs that are linked by hand.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "interp/falsify.h"
#include "ir/build.h"

using namespace shardproof;
using namespace shardproof::interp;
using ir::DType;
using ir::Fn;
using ir::Literal;
using ir::NodeId;
using Status = OutputFinding::Status;

namespace {

// Two ranks along tp; nodes are made with a side and a label.
struct Pair2 {
  link::Problem p;
  ir::Builder b{p.graph};

  Pair2() { p.mesh.axes = {{"tp", 2}}; }
  NodeId put(int side, const std::string& label, const std::function<NodeId()>& make) {
    b.label = label;
    b.source_op = "op." + label.substr(0, label.find('_'));
    const NodeId id = make();
    p.side.resize(p.graph.nodes.size(), static_cast<int16_t>(side));
    return id;
  }
  NodeId input(const std::string& name, DType t, ir::Shape s) {
    const NodeId id = put(link::kShared, name, [&] { return b.input(name, t, s); });
    p.free_inputs.push_back(id);
    return id;
  }
  void output(const std::string& name, NodeId s, std::vector<NodeId> d, bool any = false, manifest::Role role = manifest::Role::None) {
    link::Output o;
    o.name = name;
    o.sequential = s;
    o.distributed = std::move(d);
    o.distributed_names.assign(o.distributed.size(), name);
    o.role = role;
    if (any) o.expect.kind = manifest::Placement::Kind::Any;
    p.outputs.push_back(std::move(o));
  }
  OutputFinding run(std::string* witness = nullptr) {
    std::string w;
    auto out = falsify(p, {p.outputs.size() - 1}, {}, witness ? witness : &w);
    return out.at(0);
  }
};

// y = x w with w cut by rows (and x by columns); `reduce` sums the parts.
struct RowParallel : Pair2 {
  NodeId x = input("x", DType::F32, {4, 6}), w = input("w", DType::F32, {6, 8});
  NodeId y = put(link::kSequential, "mm", [&] { return b.contract(x, w, {}, {1, 0}, DType::F32); });
  std::vector<NodeId> parts;
  RowParallel() {
    for (int r = 0; r < 2; ++r) {
      const NodeId xr = put(r, "x_part", [&] { return b.slice_dim(x, 1, 3 * r, 3 * r + 3); });
      const NodeId wr = put(r, "w_part", [&] { return b.slice_dim(w, 0, 3 * r, 3 * r + 3); });
      parts.push_back(put(r, "mm", [&] { return b.contract(xr, wr, {}, {1, 0}, DType::F32); }));
    }
  }
  NodeId sum() {
    return put(0, "all_reduce", [&] { return b.map(Fn::Add, {parts[0], parts[1]}, DType::F32); });
  }
};

}  // namespace

TEST_CASE("a right program agrees") {
  RowParallel t;
  const NodeId s = t.sum();
  t.output("y", t.y, {s, s});
  const OutputFinding f = t.run();
  CHECK(f.status == Status::Agrees);
  CHECK(!f.blame);
}

TEST_CASE("a missing reduction is refuted, blamed and replayed") {
  RowParallel t;
  t.output("y", t.y, t.parts);
  std::string witness;
  const OutputFinding f = t.run(&witness);
  CHECK(f.status == Status::Differs);
  CHECK(f.detail.find("expected Replicate") != std::string::npos);
  REQUIRE(f.blame);
  CHECK(f.blame->kind == "missing-all-reduce");
  CHECK(f.blame->code == "SP103");
  CHECK(f.blame->sequential == t.y);
  REQUIRE(f.blame->distributed.size() == 2);
  CHECK(f.blame->distributed[1] == std::pair(1, t.parts[1]));
  CHECK(f.blame->explanation.find("partial sum over tp") != std::string::npos);

  const auto header = read_witness_header(witness);
  REQUIRE(header.ok());
  CHECK(header->output == "y");
  CHECK(header->kind == "values");
  const auto again = replay(witness, t.p, {});
  REQUIRE(again.ok());
  CHECK(again->confirmed);
  CHECK(again->text.find("as Replicate: differs") != std::string::npos);
  CHECK(again->text.find("mm") != std::string::npos);
}

TEST_CASE("a witness about something else is refused") {
  RowParallel t;
  t.output("y", t.y, t.parts);
  std::string witness;
  t.run(&witness);
  const auto edited = [&](const std::function<void(nlohmann::ordered_json&)>& edit) {
    auto j = nlohmann::ordered_json::parse(witness);
    edit(j);
    return replay(j.dump(), t.p, {});
  };
  CHECK(!edited([](auto& j) { j["fingerprint"] = "0"; }).ok());
  CHECK(!edited([](auto& j) { j["output"] = "z"; }).ok());
  CHECK(!edited([](auto& j) { j["inputs"].erase(1); }).ok());
  CHECK(!edited([](auto& j) { j["inputs"][0]["name"] = "w"; }).ok());
  CHECK(!edited([](auto& j) { j["inputs"][0]["shape"] = {4, 7}; }).ok());
  CHECK(!edited([](auto& j) { j["inputs"][0]["values"].erase(0); }).ok());
  CHECK(!edited([](auto& j) { j["inputs"][0]["values"][0] = "nan"; }).ok());
  CHECK(!edited([](auto& j) { j["inputs"][0]["values"][0] = 3; }).ok());
  CHECK(!edited([](auto& j) { j["inputs"][0]["ends"][0] = {4, 2}; }).ok());
  CHECK(!edited([](auto& j) { j["version"] = 2; }).ok());
  CHECK(!replay("{}", t.p, {}).ok());
  CHECK(!replay("[[[[", t.p, {}).ok());
  // Inputs on which the programs agree confirm nothing.
  const auto zeros = edited([](auto& j) {
    for (auto& input : j["inputs"]) {
      for (auto& v : input["values"]) v = "0x0p+0";
    }
  });
  REQUIRE(zeros.ok());
  CHECK(!zeros->confirmed);
  // Another expectation or fact is another claim.
  t.p.outputs[0].expect.kind = manifest::Placement::Kind::Any;
  CHECK(!replay(witness, t.p, {}).ok());
}

TEST_CASE("inputs satisfy facts, and a witness that breaks them is refused") {
  Pair2 t;
  const NodeId x = t.input("x", DType::F32, {8}), i = t.input("i", DType::I64, {16});
  link::Fact fact;
  fact.input = i;
  fact.fact = {manifest::Fact::Kind::Range, "i", 3, 6, true, -100, 0, -1, "i in [3, 6) or = -100"};
  t.p.facts.push_back(fact);
  link::Fact positive;
  positive.input = x;
  positive.fact.kind = manifest::Fact::Kind::GreaterThan;
  t.p.facts.push_back(positive);
  const InputMaker maker(t.p);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Inputs in = maker.make(seed, Detail::Dense, static_cast<int>(seed % 3));
    int exceptions = 0;
    for (int64_t v : in.at(i).data->i) {
      CHECK((v == -100 || (v >= 3 && v < 6)));
      exceptions += v == -100;
    }
    CHECK(exceptions < 16);
    for (double v : in.at(x).data->m) CHECK(v > 0);
  }
  const NodeId s = t.put(link::kSequential, "neg", [&] { return t.b.unary(Fn::Neg, x); });
  t.output("y", s, {x, x});
  std::string witness;
  CHECK(t.run(&witness).status == Status::Differs);
  auto j = nlohmann::ordered_json::parse(witness);
  j["inputs"][1]["values"][0] = 7;
  const auto broken = replay(j.dump(), t.p, {});
  REQUIRE(!broken.ok());
  CHECK(broken.error().message.find("[3, 6)") != std::string::npos);
}

TEST_CASE("under any, every member must fail on one witness") {
  RowParallel partial;
  partial.output("y", partial.y, partial.parts, true);
  const OutputFinding f = partial.run();
  CHECK(f.status == Status::Agrees);
  REQUIRE(f.holds);
  CHECK(manifest::to_string(*f.holds, partial.p.mesh) == "Partial(sum)@tp");

  RowParallel wrong;  // three times the first part
  const NodeId three =
      wrong.put(0, "mul", [&] { return wrong.b.binary(Fn::Mul, wrong.parts[0], wrong.b.constant(Literal::real(3), DType::F32)); });
  wrong.output("y", wrong.y, {three, wrong.parts[1]}, true);
  std::string witness;
  CHECK(wrong.run(&witness).status == Status::Differs);
  CHECK(nlohmann::json::parse(witness)["candidates"].size() > 2);
}

TEST_CASE("a factor is named") {
  RowParallel t;
  const NodeId s = t.sum();
  const NodeId twice = t.put(0, "all_reduce_1", [&] { return t.b.map(Fn::Add, {s, s}, DType::F32); });
  t.output("y", t.y, {twice, twice});
  const OutputFinding f = t.run();
  REQUIRE(f.blame);
  CHECK(f.blame->code == "SP102");
  CHECK(f.blame->kind == "redundant-all-reduce");
  CHECK(f.blame->explanation.find("2 times") != std::string::npos);
}

TEST_CASE("differences inside the rounding of literals are no refutation") {
  Pair2 t;
  const NodeId x = t.input("x", DType::F32, {8});
  const auto times = [&](int side, double c, DType format) {
    return t.put(side, "mul", [&] { return t.b.binary(Fn::Mul, x, t.b.constant(Literal::real(c, format), DType::F32)); });
  };
  const NodeId third = t.put(0, "div", [&] { return t.b.binary(Fn::Div, x, t.b.constant(Literal::real(3), DType::F32)); });
  t.output("a", times(link::kSequential, 0.3333333432674408, DType::F32), {third, third});
  CHECK(t.run().status != Status::Differs);
  const NodeId near = times(0, 0.3333333134651184, DType::F32);  // one place lower
  t.output("b", times(link::kSequential, 0.3333333432674408, DType::F32), {near, near});
  CHECK(t.run().status != Status::Differs);
  const NodeId other = times(0, 0.3333, DType::F32);
  t.output("c", times(link::kSequential, 0.3333333432674408, DType::F32), {other, other});
  CHECK(t.run().status == Status::Differs);
  const NodeId quarter = times(0, 0.2500001, DType::F32);
  t.output("d", times(link::kSequential, 0.25, DType::F32), {quarter, quarter});
  CHECK(t.run().status == Status::Differs);
}

TEST_CASE("nothing rests on kernels, unspecified memory or open ties") {
  Pair2 t;
  const NodeId x = t.input("x", DType::F32, {8});
  const NodeId k = t.put(link::kSequential, "kernel", [&] { return t.b.opaque("my.kernel", "{}", {x}, {{DType::F32, {8}}})[0]; });
  const NodeId twice = t.put(0, "mul", [&] { return t.b.map(Fn::Add, {k, k}, DType::F32); });
  t.output("kernel", k, {twice, twice});
  OutputFinding f = t.run();
  CHECK(f.status == Status::Undecided);
  CHECK(f.reason.find("missing-lemma") == 0);
  CHECK(f.reason.find("my.kernel") != std::string::npos);
  const NodeId m = t.put(0, "empty", [&] { return t.b.uninit(DType::F32, {8}); });
  t.output("memory", x, {m, m});
  CHECK(t.run().status == Status::Undecided);
  // argmax of equal values: lowest against highest index
  const NodeId zero = t.put(link::kSequential, "zero", [&] { return t.b.binary(Fn::Mul, x, t.b.constant(Literal::real(0), DType::F32)); });
  const NodeId first = t.put(link::kSequential, "argmax", [&] { return t.b.arg_reduce(Fn::Max, zero, 0, DType::I64); });
  const NodeId one = t.put(0, "one", [&] { return t.b.constant(Literal::integer(1), DType::I64); });
  t.output("tie", first, {one, one});
  CHECK(t.run().status != Status::Differs);
}

// A function that obeys the contracts shows a difference.
static bool shown(const OutputFinding& f) {
  return f.status == Status::Undecided && f.reason.find("with a function that obeys") != std::string::npos;
}

TEST_CASE("a kernel with a contract is read as functions that obey it") {
  // Heads may be cut, groups are summed, and the second operand enters linearly.
  const char* rule = "{}|factors: (t,h*g),(g,d)->(t,h,d); parallel h; reduce g:add; linear 1";
  struct Call {
    int64_t heads, groups;
  };
  Pair2 t;
  const NodeId x = t.input("x", DType::F32, {3, 8}), y = t.input("y", DType::F32, {2, 5});
  const auto call = [&](int side, NodeId p, NodeId q, Call c, const char* attrs) {
    return t.put(side, "kernel", [&] { return t.b.opaque("my.kernel", attrs, {p, q}, {{DType::F32, {3, c.heads, 5}}})[0]; });
  };
  const NodeId whole = call(link::kSequential, x, y, {4, 2}, rule);
  const auto part = [&](int side, int64_t from, int64_t to, NodeId q, const char* attrs) {
    const NodeId p = t.put(side, "slice", [&] { return t.b.slice_dim(x, 1, from, to); });
    return call(side, p, q, {(to - from) / 2, 2}, attrs);
  };
  const auto joined = [&](NodeId a, NodeId b) { return t.put(0, "cat", [&] { return t.b.concat({a, b}, 1); }); };
  const NodeId right = joined(part(0, 0, 4, y, rule), part(0, 4, 8, y, rule));
  t.output("parts", whole, {right, right});
  CHECK(t.run().status == Status::Agrees);
  const NodeId turned = joined(part(0, 4, 8, y, rule), part(0, 0, 4, y, rule));
  t.output("turned", whole, {turned, turned});
  // It differs for most functions, but not for all: that is said, and is no refutation.
  const OutputFinding wrong = t.run();
  CHECK(wrong.status == Status::Undecided);
  CHECK(wrong.reason.find("missing-lemma: rests on the opaque operator my.kernel: with a function that obeys its contract") == 0);
  // Whatever the kernel computes, this is too much.
  const auto plus = [&](int side, NodeId v, double c) {
    return t.put(side, "plus", [&] { return t.b.binary(Fn::Add, v, t.b.constant(Literal::real(c, DType::F32), DType::F32)); });
  };
  const NodeId more = plus(0, right, 3);
  t.output("more", plus(link::kSequential, whole, 2), {more, more});
  const OutputFinding refuted = t.run();
  CHECK(refuted.status == Status::Differs);
  CHECK(refuted.detail.find("whatever functions obey the contracts of my.kernel") != std::string::npos);
  // Linear in the second operand, and not in the first.
  const auto twice = [&](NodeId v) { return t.put(0, "twice", [&] { return t.b.binary(Fn::Add, v, v); }); };
  const NodeId double_y = call(0, x, twice(y), {4, 2}, rule), double_x = call(0, twice(x), y, {4, 2}, rule), doubled = twice(whole);
  const NodeId expected = t.put(link::kSequential, "twice", [&] { return t.b.binary(Fn::Add, whole, whole); });
  t.output("linear", expected, {double_y, doubled});
  CHECK(t.run().status == Status::Agrees);
  t.output("not linear", expected, {double_x, doubled});
  CHECK(shown(t.run()));
}

TEST_CASE("what is summed over in a kernel comes in parts, and calls of another form are open") {
  const char* rule = "{}|factors: (t,g),(g)->(t); reduce g:add";
  Pair2 t;
  const NodeId x = t.input("x", DType::F32, {3, 8}), y = t.input("y", DType::F32, {8});
  const auto call = [&](int side, NodeId p, NodeId q, int64_t rows, const char* attrs) {
    return t.put(side, "kernel", [&] { return t.b.opaque("my.kernel", attrs, {p, q}, {{DType::F32, {rows}}})[0]; });
  };
  const NodeId whole = call(link::kSequential, x, y, 3, rule);
  const auto part = [&](int64_t from, int64_t to) {
    const NodeId p = t.put(0, "slice", [&] { return t.b.slice_dim(x, 1, from, to); });
    return call(0, p, t.put(0, "slice", [&] { return t.b.slice_dim(y, 0, from, to); }), 3, rule);
  };
  const NodeId left = part(0, 3), sum = t.put(0, "sum", [&] { return t.b.binary(Fn::Add, left, part(3, 8)); });
  t.output("summed", whole, {sum, sum});
  CHECK(t.run().status == Status::Agrees);
  t.output("half", whole, {left, left});
  CHECK(shown(t.run()));
  // Rows are not said to be cut: that a kernel of fewer rows is another one is no error of the program.
  const NodeId first = call(0, t.put(0, "rows", [&] { return t.b.slice_dim(x, 0, 0, 2); }), y, 2, rule);
  const NodeId rest = call(0, t.put(0, "rows", [&] { return t.b.slice_dim(x, 0, 2, 3); }), y, 1, rule);
  const NodeId rows = t.put(0, "cat", [&] { return t.b.concat({first, rest}, 0); });
  t.output("rows", whole, {rows, rows});
  const OutputFinding open = t.run();
  CHECK(open.status == Status::Undecided);
  CHECK_FALSE(shown(open));
}

TEST_CASE("draws do not hide what does not depend on them") {
  Pair2 t;
  const NodeId x = t.input("x", DType::F32, {8});
  const auto dropout = [&](int side, double scale) {
    const NodeId mask = t.put(side, "mask", [&] { return t.b.random("bernoulli", Literal::real(0.5), DType::F32, {8}, 0); });
    return t.put(side, "drop", [&] { return t.b.map(Fn::Mul, {x, mask, t.b.constant(Literal::real(scale), DType::F32)}, DType::F32); });
  };
  const NodeId same = dropout(0, 2);
  t.output("same", dropout(link::kSequential, 2), {same, same});
  CHECK(t.run().status == Status::Agrees);
  const NodeId unscaled = dropout(0, 1);
  t.output("scale", dropout(link::kSequential, 2), {unscaled, unscaled});
  CHECK(t.run().status == Status::Differs);
}

TEST_CASE("depth beyond doubles is settled by balls") {
  // Forty products of 12 x 12 matrices with a normalisation between: radii of doubles grow past the values.
  Pair2 t;
  const NodeId w = t.input("w", DType::F32, {12, 12});
  const auto chain = [&](int side, double first) {
    NodeId h = t.put(side, "scale", [&] { return t.b.binary(Fn::Mul, w, t.b.constant(Literal::real(first), DType::F32)); });
    for (int k = 0; k < 40; ++k) {
      h = t.put(side, "mm_" + std::to_string(k), [&] { return t.b.contract(h, w, {}, {1, 0}, DType::F32); });
      h = t.put(side, "tanh_" + std::to_string(k),
                [&] { return t.b.unary(Fn::Tanh, t.b.binary(Fn::Mul, h, t.b.constant(Literal::real(4), DType::F32))); });
    }
    return h;
  };
  const NodeId s = chain(link::kSequential, 1), right = chain(0, 1), wrong = chain(0, 1.0625);
  t.output("right", s, {right, right});
  CHECK(t.run().status != Status::Differs);
  t.output("wrong", s, {wrong, wrong});
  std::string witness;
  CHECK(t.run(&witness).status == Status::Differs);
  CHECK(witness.find("balls of") != std::string::npos);
  const auto again = replay(witness, t.p, {});
  REQUIRE(again.ok());
  CHECK(again->confirmed);
}

// Thirty normalised products, once of 3 w / 3: midpoints of doubles part within their radii, so that balls decide. Beside them stands what
// is to be compared.
struct Deep : Pair2 {
  using Make = std::function<NodeId(Deep&, NodeId)>;
  NodeId w = input("w", DType::F32, {12, 12});
  NodeId number(double x) { return b.constant(Literal::real(x), DType::F32); }
  NodeId beside(int side, const Make& make) {
    NodeId h = w;
    if (side != link::kSequential) h = put(side, "scale", [&] { return b.binary(Fn::Div, b.binary(Fn::Mul, w, number(3)), number(3)); });
    for (int k = 0; k < 30; ++k) {
      h = put(side, "mm_" + std::to_string(k), [&] { return b.contract(h, w, {}, {1, 0}, DType::F32); });
      h = put(side, "tanh_" + std::to_string(k), [&] { return b.unary(Fn::Tanh, b.binary(Fn::Mul, h, number(4))); });
    }
    return put(side, "cat", [&] { return b.concat({h, make(*this, w)}, 0); });
  }
  Status compare(const Make& sequential, const Make& distributed) {
    const NodeId s = beside(link::kSequential, sequential), d = beside(0, distributed);
    output("y", s, {d, d});
    return run().status;
  }
};

TEST_CASE("what doubles do not show is not confirmed by them") {
  // 1 + x / sqrt 2 / 2^20 and 1 + x sqrt(1/2) / 2^20, as doubles round the roots: 1e-23 apart.
  const auto small = [](Deep& t, NodeId x) { return t.b.binary(Fn::Add, t.b.binary(Fn::Mul, x, t.number(0x1p-20)), t.number(1)); };
  const auto divided = [&](Deep& t, NodeId x) { return small(t, t.b.binary(Fn::Div, x, t.number(1.4142135623730951))); };
  const auto times = [&](Deep& t, NodeId x) { return small(t, t.b.binary(Fn::Mul, x, t.number(0.7071067811865475))); };
  CHECK(Deep().compare(divided, times) != Status::Differs);
}

TEST_CASE("what no float shows is no difference") {
  // A large finite mask where the other side has an infinite one.
  const auto masked = [](double mask) -> Deep::Make {
    return [mask](Deep& t, NodeId x) { return t.b.binary(Fn::Mul, x, t.b.unary(Fn::Exp, t.number(mask))); };
  };
  const double infinite = -std::numeric_limits<double>::infinity();
  CHECK(Deep().compare(masked(infinite), masked(-1e30)) != Status::Differs);
  CHECK(Deep().compare(masked(infinite), masked(-10000)) != Status::Differs);
  CHECK(Deep().compare(masked(infinite), masked(-30)) == Status::Differs);
}

TEST_CASE("a schedule is a witness") {
  Pair2 t;
  const NodeId x = t.input("x", DType::F32, {8});
  t.output("y", x, {x, x});
  t.p.outputs[0].blocked = "would-hang: rank 1 waits for rank 0";
  CHECK(fault_witness(t.p, {}).empty());
  t.p.faults.push_back(
      {"would-hang", "rank 1 waits for rank 0", {{0, x, "recv_1", "recv", "m.py", 3}, {1, x, "recv_2", "recv", "m.py", 9}}});
  CHECK(t.run().status == Status::Differs);
  const std::string witness = fault_witness(t.p, {});
  CHECK(read_witness_header(witness)->kind == "schedule");
  auto again = replay(witness, t.p, {});
  REQUIRE(again.ok());
  CHECK(again->confirmed);
  CHECK(again->text.find("rank 1: recv_2 (recv) at m.py:9") != std::string::npos);
  t.p.faults[0].sites[1].line = 10;
  again = replay(witness, t.p, {});
  REQUIRE(again.ok());
  CHECK(!again->confirmed);
}
