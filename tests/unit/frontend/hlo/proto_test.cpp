// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// HloModuleProto: messages are written here field by field, so that each form (packed or not, order of fields, literals of each type,
// layouts, device lists, shardings) is tested alone. Whole programs are compared with their text in twins_test.cpp.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "unit/frontend/hlo/support.h"

namespace shardproof::hlo {
namespace {

using ir::DType;
using Groups = std::vector<std::vector<int64_t>>;
using Ints = std::vector<int64_t>;

// Writer of the wire format.
struct Message {
  std::string bytes;
  static std::string varint(uint64_t v) {
    std::string s;
    for (; v >= 0x80; v >>= 7) s += static_cast<char>(v | 0x80);
    return s + static_cast<char>(v);
  }
  Message& put(int field, int64_t v) {
    bytes += varint(static_cast<uint64_t>(field) << 3) + varint(static_cast<uint64_t>(v));
    return *this;
  }
  Message& put(int field, const std::string& v) {
    bytes += varint(static_cast<uint64_t>(field) << 3 | 2) + varint(v.size()) + v;
    return *this;
  }
  Message& put(int field, const Message& m) { return put(field, m.bytes); }
  Message& packed(int field, const Ints& list) {
    std::string s;
    for (int64_t v : list) s += varint(static_cast<uint64_t>(v));
    return put(field, s);
  }
  Message& f32(int field, float v) {
    const uint32_t b = std::bit_cast<uint32_t>(v);
    bytes += varint(static_cast<uint64_t>(field) << 3 | 5) + little(b, 4);
    return *this;
  }
  static std::string little(uint64_t v, int n) {
    std::string s;
    for (int k = 0; k < n; ++k) s += static_cast<char>(v >> (8 * k));
    return s;
  }
};

constexpr int kPred = 1, kS32 = 4, kF16 = 10, kF32 = 11, kF64 = 12, kTuple = 13, kBf16 = 16;

Message shape(int type, const Ints& dims, const Ints& minor_to_major = {}) {
  Message m;
  m.put(2, type);
  if (!dims.empty()) m.packed(3, dims);
  if (!minor_to_major.empty()) m.put(5, Message().packed(1, minor_to_major));
  return m;
}

// An instruction with id, name i<id>, type f32[8,8].
Message op(const std::string& opcode, int id, const Ints& operands = {}) {
  Message m;
  m.put(1, fmt::format("i{}", id)).put(2, opcode).put(3, shape(kF32, {8, 8})).put(35, id);
  if (!operands.empty()) m.packed(36, operands);
  return m;
}

// A module of one computation that has these instructions and the last one (or `root`) as root.
std::string module(const std::vector<Message>& instructions, int root) {
  Message c;
  c.put(1, "e");
  for (const Message& i : instructions) c.put(2, i);
  c.put(5, 1).put(6, root);
  return Message().put(1, "m").put(2, "e").put(3, c).put(6, 1).bytes;
}

Module read(const std::string& bytes) {
  auto m = read_proto(bytes, "test.pb");
  if (!m.ok()) FAIL(m.error().message);
  return std::move(*m);
}
std::string error(const std::string& bytes) {
  const auto m = read_proto(bytes, "test.pb");
  if (m.ok()) FAIL("was read without an error");
  CHECK(m.error().file == "test.pb");
  return m.error().message;
}
// The second of two instructions, whose first is parameter 0.
Instruction instruction(const Message& m) {
  const Module r = read(module({op("parameter", 1), m}, 2));
  return r.computations.at(0).instructions.at(1);
}

TEST_CASE("module, HloProto and HloSnapshot") {
  const std::string bytes = module({op("parameter", 1)}, 1);
  const std::string proto = Message().put(1, bytes).put(3, "buffers").bytes;
  const std::string snapshot = Message().put(1, proto).put(2, "argument").bytes;
  for (const std::string& b : {bytes, proto, snapshot}) {
    const Module m = read(b);
    CHECK(m.name == "m");
    CHECK(m.computations.at(0).parameters == std::vector<uint32_t>{0});
  }
  CHECK(error("").find("HloModuleProto") != std::string::npos);
  CHECK(error("HloModule m\n").find("HloModuleProto") != std::string::npos);
  CHECK(error(Message().put(1, snapshot).bytes).find("HloModuleProto") != std::string::npos);
}

TEST_CASE("ids may be any numbers; operands may come later and unpacked") {
  Message add = op("add", 700);
  add.put(36, int64_t{1} << 40).put(36, 5);
  Message p = op("parameter", 5);
  Message q;
  q.put(1, "q").put(2, "parameter").put(3, shape(kF32, {8, 8})).put(9, 1).put(35, int64_t{1} << 40);
  const Module m = read(module({add, p, q}, 700));
  const Computation& c = m.computations[0];
  CHECK(c.instructions[2].name == "i700");
  CHECK(c.instructions[c.instructions[2].operands[0]].name == "q");
  CHECK(c.instructions[c.instructions[2].operands[1]].name == "i5");
  CHECK(c.root == 2);
}

TEST_CASE("zeros that are not stored") {
  CHECK(instruction(op("get-tuple-element", 2, {1})).tuple_index == 0);
  CHECK(instruction(op("gather", 2, {1}).put(33, Message())).index_vector_dim == 0);
  CHECK(instruction(op("custom-call", 2, {1})).other.at(0).second == "API_VERSION_UNSPECIFIED");
  CHECK(instruction(op("custom-call", 2, {1}).put(77, 1)).other.empty());
}

TEST_CASE("while calls condition, then body") {
  Message body, condition, entry;
  body.put(1, "body").put(2, op("parameter", 1)).put(5, 10).put(6, 1);
  condition.put(1, "condition").put(2, op("parameter", 2)).put(5, 11).put(6, 2);
  entry.put(1, "entry").put(2, op("parameter", 3)).put(2, op("while", 4, {3}).packed(38, {10, 11})).put(5, 12).put(6, 4);
  const Module m = read(Message().put(1, "m").put(3, body).put(3, condition).put(3, entry).put(6, 12).bytes);
  const Instruction& loop = m.computations.at(m.entry).instructions.at(1);
  CHECK(m.computations[loop.called.at(0)].name == "condition");
  CHECK(m.computations[loop.called.at(1)].name == "body");
}

// "constant" of a type with a literal that has the given extra field.
Instruction constant(int type, const Ints& dims, Message literal, const Ints& layout = {}) {
  Message m;
  m.put(1, "c").put(2, "constant");
  literal.put(1, shape(type, dims, layout));
  m.put(8, literal).put(3, shape(type, dims)).put(35, 2);  // the literal before the shape: order must not matter
  return instruction(m);
}

TEST_CASE("literals of each type") {
  CHECK(constant(kPred, {2}, Message().packed(2, {1, 0})).literal->at(0) == ir::Literal::boolean(true));
  CHECK(constant(kS32, {}, Message().packed(4, {-5})).literal->at(0) == ir::Literal::integer(-5, DType::I32));
  CHECK(constant(kS32, {2}, Message().put(4, -5).put(4, 6)).literal->at(1) == ir::Literal::integer(6, DType::I32));  // not packed
  CHECK(constant(5, {}, Message().packed(5, {INT64_MIN})).literal->at(0).i == INT64_MIN);
  CHECK(constant(8, {}, Message().packed(6, {4294967295})).literal->at(0).i == 4294967295);
  CHECK(constant(9, {}, Message().packed(7, {-1})).literal->at(0).i == -1);
  CHECK(constant(6, {2}, Message().put(3, "\x01\xff")).literal->at(1).i == 255);
  CHECK(constant(2, {2}, Message().put(15, "\x01\xff")).literal->at(1).i == -1);
  CHECK(constant(3, {}, Message().put(17, "\xfe\xff")).literal->at(0).i == -2);
  CHECK(constant(7, {}, Message().put(16, "\xfe\xff")).literal->at(0).i == 65534);
  CHECK(constant(kF32, {}, Message().f32(8, 0.1f)).literal->at(0) == ir::Literal::real(static_cast<double>(0.1f), DType::F32));
  CHECK(constant(kF32, {2}, Message().put(8, Message::little(0x3f800000, 4) + Message::little(0x7f800000, 4))).literal->at(0).d == 1);
  CHECK(constant(kF64, {}, Message().put(9, Message::little(std::bit_cast<uint64_t>(0.1), 8))).literal->at(0).d == 0.1);
  CHECK(constant(kF16, {2}, Message().put(11, Message::little(0x3c00, 2) + Message::little(0x0001, 2))).literal->at(1).d == 0x1p-24);
  CHECK(std::isinf(constant(kF16, {}, Message().put(11, Message::little(0xfc00, 2))).literal->at(0).d));
  CHECK(constant(kBf16, {}, Message().put(13, Message::little(0x3dcd, 2))).literal->at(0).d == 0.10009765625);
  CHECK(constant(20, {2}, Message().put(20, "\x38\x7f")).literal->at(0).d == 1);  // f8e4m3fn
  CHECK(std::isnan(constant(20, {2}, Message().put(20, "\x38\x7f")).literal->at(1).d));
  CHECK(constant(20, {}, Message().put(20, "\x7e")).literal->at(0).d == 448);
  CHECK(constant(19, {}, Message().put(19, "\x7b")).literal->at(0).d == 57344);  // f8e5m2
  CHECK(std::isinf(constant(19, {}, Message().put(19, "\xfc")).literal->at(0).d));
  CHECK(std::isnan(constant(24, {}, Message().put(24, "\x80")).literal->at(0).d));  // f8e5m2fnuz
  CHECK(constant(33, {}, Message().put(33, "\x80")).literal->at(0).d == 2);         // f8e8m0fnu
}

TEST_CASE("elements are stored in the order of the layout") {
  // [[1,2,3],[4,5,6]] column by column.
  const Instruction c = constant(kS32, {2, 3}, Message().packed(4, {1, 4, 2, 5, 3, 6}), {0, 1});
  Ints values;
  for (const ir::Literal& v : *c.literal) values.push_back(v.i);
  CHECK(values == Ints{1, 2, 3, 4, 5, 6});
  // Layout {1,2,0} of [2,2,2]: dimension 1 is minor, then 2, then 0.
  const Instruction d = constant(kS32, {2, 2, 2}, Message().packed(4, {0, 2, 1, 3, 4, 6, 5, 7}), {1, 2, 0});
  values.clear();
  for (const ir::Literal& v : *d.literal) values.push_back(v.i);
  CHECK(values == Ints{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("literals that are missing, too short or of another type") {
  CHECK(instruction(op("constant", 2)).other.at(0).second == "{...}");
  CHECK(constant(kS32, {2}, Message()).literal == nullptr);
  CHECK(constant(21, {2}, Message().put(21, "\x12")).literal == nullptr);  // s4: packing is not guessed
  const auto bad = [](const Message& literal, const Ints& dims) {
    return error(module({op("constant", 1).put(3, shape(kS32, dims)).put(8, literal)}, 1));
  };
  CHECK(bad(Message().packed(4, {1, 2, 3}), {2}).find("has 3 elements, its type says 2") != std::string::npos);
  CHECK(bad(Message().put(1, shape(kF32, {2})).packed(4, {1, 2}), {2}).find("another type") != std::string::npos);
  CHECK(bad(Message().put(1, shape(kS32, {2, 2}, {0, 0})).packed(4, {1, 2, 3, 4}), {2, 2}).find("no permutation") != std::string::npos);
  CHECK(bad(Message().put(4, std::string("\xff")), {1}).find("damaged") != std::string::npos);
}

TEST_CASE("shapes") {
  Message tuple;
  tuple.put(2, kTuple).put(4, shape(kF32, {2})).put(4, Message().put(2, kTuple).put(4, shape(kPred, {})));
  const Type t = instruction(Message().put(1, "t").put(2, "custom-call").put(3, tuple).put(35, 2)).type;
  CHECK(t.tuple);
  CHECK(t.elements.at(0).shape == ir::Shape{2});
  CHECK(t.elements.at(1).elements.at(0).dtype == DType::Bool);
  const Type d = instruction(Message().put(1, "t").put(2, "custom-call").put(3, shape(kF32, {8, 2}).packed(6, {1, 0})).put(35, 2)).type;
  CHECK(d.dynamic);
  CHECK(d.shape == ir::Shape{8, 2});
  const Type c = instruction(Message().put(1, "t").put(2, "custom-call").put(3, shape(kF32, {8, 2}, {0, 1})).put(35, 2)).type;
  CHECK(c.layout == Ints{0, 1});
  CHECK_FALSE(c.tiled);
  CHECK(instruction(op("custom-call", 2).put(3, shape(kF32, {8, 2}, {1, 0}))).type.layout.empty());
  const Message tiles = Message().packed(1, {1, 0}).put(6, Message().packed(1, {8, 128}));
  CHECK(instruction(op("custom-call", 2).put(3, shape(kF32, {8, 2}).put(5, tiles))).type.tiled);
  std::string deep = shape(kF32, {}).bytes;
  for (int k = 0; k < 100; ++k) deep = Message().put(2, kTuple).put(4, deep).bytes;
  CHECK(error(module({Message().put(1, "t").put(2, "x").put(3, deep).put(35, 1)}, 1)).find("deeper than 64") != std::string::npos);
  CHECK(error(module({Message().put(1, "t").put(2, "x").put(3, shape(99, {})).put(35, 1)}, 1)).find("number 99") != std::string::npos);
  CHECK(error(module({Message().put(1, "t").put(2, "x").put(3, shape(kF32, {-2})).put(35, 1)}, 1)).find("negative") != std::string::npos);
  CHECK(error(module({Message().put(1, "t").put(2, "x").put(35, 1)}, 1)).find("has no shape") != std::string::npos);
}

TEST_CASE("dimension numbers") {
  const Instruction dot = instruction(op("dot", 2, {1, 1}).put(30, Message().packed(1, {3}).put(2, 2).packed(3, {0, 1}).packed(4, {1, 0})));
  CHECK(dot.lhs_contract == Ints{3});
  CHECK(dot.rhs_contract == Ints{2});
  CHECK(dot.lhs_batch == Ints{0, 1});
  CHECK(dot.rhs_batch == Ints{1, 0});
  const Instruction gather =
      instruction(op("gather", 2, {1})
                      .put(33, Message().packed(1, {2}).packed(2, {0}).packed(3, {0, 1}).put(4, 3).packed(5, {4}).packed(6, {5}))
                      .packed(34, {1, 8}));
  CHECK(gather.offset_dims == Ints{2});
  CHECK(gather.collapsed_slice_dims == Ints{0});
  CHECK(gather.start_index_map == Ints{0, 1});
  CHECK(gather.index_vector_dim == 3);
  CHECK(gather.operand_batching_dims == Ints{4});
  CHECK(gather.start_indices_batching_dims == Ints{5});
  CHECK(gather.slice_sizes == Ints{1, 8});
  const Instruction scatter = instruction(
      op("scatter", 2, {1}).put(48, Message().packed(1, {1}).packed(2, {0}).packed(3, {7}).put(4, 1).packed(5, {2}).packed(6, {3})));
  CHECK(scatter.update_window_dims == Ints{1});
  CHECK(scatter.inserted_window_dims == Ints{0});
  CHECK(scatter.scatter_dims_to_operand_dims == Ints{7});
  CHECK(scatter.input_batching_dims == Ints{2});
  CHECK(scatter.scatter_indices_batching_dims == Ints{3});
  Message numbers;
  numbers.put(7, 0).put(8, 3).packed(11, {1, 2}).put(3, 2).put(4, 3).packed(6, {0, 1}).put(9, 0).put(10, 1).packed(12, {2, 3});
  CHECK(instruction(op("convolution", 2, {1}).put(16, numbers)).dim_labels == "b01f_01io->bf01");
  CHECK(error(module({op("convolution", 1).put(16, Message().put(7, 0).put(8, 0))}, 1)).find("do not fit") != std::string::npos);
}

TEST_CASE("window, padding, slice, compare") {
  const Instruction w =
      instruction(op("reduce-window", 2, {1})
                      .put(15, Message().put(1, Message().put(1, 3).put(2, 2).put(3, -1).put(4, 1).put(5, 4).put(6, 5).put(7, 1))));
  REQUIRE(w.window.size() == 1);
  CHECK(w.window[0].size == 3);
  CHECK(w.window[0].stride == 2);
  CHECK(w.window[0].pad_low == -1);
  CHECK(w.window[0].pad_high == 1);
  CHECK(w.window[0].window_dilation == 4);
  CHECK(w.window[0].base_dilation == 5);
  CHECK(w.window[0].reversal);
  const Instruction pad =
      instruction(op("pad", 2, {1}).put(21, Message().put(1, Message().put(1, -1).put(2, 2).put(3, 3)).put(1, Message())));
  CHECK(pad.pad_low == Ints{-1, 0});
  CHECK(pad.pad_high == Ints{2, 0});
  CHECK(pad.pad_interior == Ints{3, 0});
  const Instruction slice =
      instruction(op("slice", 2, {1}).put(17, Message().put(2, 4).put(3, 1)).put(17, Message().put(1, 1).put(2, 8).put(3, 2)));
  CHECK(slice.slice_start == Ints{0, 1});
  CHECK(slice.slice_limit == Ints{4, 8});
  CHECK(slice.slice_stride == Ints{1, 2});
  CHECK(instruction(op("compare", 2, {1, 1}).put(63, "LT").put(72, "FLOAT")).compare_type == "");  // the default of f32
  CHECK(instruction(op("compare", 2, {1, 1}).put(63, "LT").put(72, "TOTALORDER")).compare_type == "TOTALORDER");
}

TEST_CASE("device lists: old field, list, iota, mesh") {
  const auto groups = [](int field, const Message& m) { return instruction(op("all-reduce", 2, {1}).put(field, m)).replica_groups.groups; };
  Message two = op("all-reduce", 2, {1});
  two.put(49, Message().packed(1, {0, 1})).put(49, Message().put(1, 2).put(1, 3));
  CHECK(instruction(two).replica_groups.groups == Groups{{0, 1}, {2, 3}});
  CHECK(groups(87, Message().put(1, Message().packed(1, {1, 0}))) == Groups{{1, 0}});
  const Message iota = Message().put(1, 4).put(2, 2).packed(3, {2, 4}).packed(4, {1, 0});
  CHECK(groups(92, iota) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups(87, Message().put(2, iota)) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  Message mesh;
  mesh.put(1, Message().put(1, "a").put(2, 2)).put(1, Message().put(1, "b").put(2, 4));
  CHECK(groups(93, Message().put(1, mesh).put(2, Message())) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups(93, Message().put(1, mesh).put(2, Message().put(1, 1).put(2, Message().put(1, 2).put(2, 2)))) ==
        Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  Message permuted = mesh;
  permuted.put(3, Message().packed(1, {2, 4}).packed(2, {1, 0}));
  CHECK(groups(93, Message().put(1, permuted).put(2, Message().put(1, 1))) == Groups{{0, 4, 1, 5}, {2, 6, 3, 7}});
  CHECK(instruction(op("all-reduce", 2, {1}).put(87, Message())).replica_groups.present);
  CHECK_FALSE(instruction(op("all-reduce", 2, {1})).replica_groups.present);
  CHECK(error(module({op("all-reduce", 1).put(92, Message().put(1, 4).put(2, 2).packed(3, {9}))}, 1)).find("as many devices") !=
        std::string::npos);
  CHECK(error(module({op("all-reduce", 1).put(93, Message().put(1, mesh).put(2, Message().put(1, 7)))}, 1)).find("does not have") !=
        std::string::npos);
  const Instruction permute =
      instruction(op("collective-permute", 2, {1}).put(26, 3).put(52, Message().put(2, 1)).put(52, Message().put(1, 1)));
  CHECK(permute.source_target_pairs == std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 0}});
  CHECK(permute.channel_id == 3);
}

TEST_CASE("shardings in the syntax of text") {
  const auto text = [](const Message& m) { return instruction(op("negate", 2, {1}).put(40, m)).sharding.text; };
  CHECK(text(Message()) == "{replicated}");
  CHECK(text(Message().put(1, 1).packed(3, {1}).packed(4, {5})) == "{maximal device=5}");
  CHECK(text(Message().put(1, 4)) == "{manual}");
  CHECK(text(Message().put(1, 5)) == "{unknown}");
  CHECK(text(Message().put(1, 6)) == "{unreduced}");
  CHECK(text(Message().put(1, 3).packed(3, {2, 1}).packed(4, {0, 1})) == "{devices=[2,1]0,1}");
  CHECK(text(Message().put(1, 3).packed(3, {2, 2}).packed(9, {4}).packed(10, {0})) == "{devices=[2,2]<=[4]}");
  CHECK(text(Message().put(1, 3).packed(3, {4, 1, 2}).put(6, 1).packed(9, {2, 4}).packed(10, {1, 0})) ==
        "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  CHECK(text(Message().put(1, 3).packed(3, {1, 2, 2}).packed(8, {0, 4}).packed(9, {4}).packed(10, {0})) ==
        "{devices=[1,2,2]<=[4] last_tile_dims={replicated, manual}}");
  CHECK(text(Message().put(1, 2).put(5, Message()).put(5, Message().put(1, 4))) == "{{replicated}, {manual}}");
  CHECK(text(Message().put(11, 1).put(12, 7).put(13, 1)) == "{replicated shard_like 7}");
  Message mesh;
  mesh.put(1, Message().put(1, "a").put(2, 2)).put(1, Message().put(1, "b").put(2, 4)).put(1, Message().put(1, "c").put(2, 3));
  Message named;
  named.put(2, mesh)
      .put(3, Message().put(1, Message()).put(2, 1))
      .put(3, Message().put(1, Message().put(1, 1).put(2, Message().put(1, 2).put(2, 2))))
      .put(4, Message().put(1, 2));
  CHECK(text(Message().put(14, named)) == "{mesh['a'=2,'b'=4,'c'=3], [{'a'}, {'b':(2)2, ?}], replicated={'c'}}");
  Message deep;
  for (int k = 0; k < 200; ++k) deep = Message().put(1, 2).put(5, deep);
  CHECK(error(module({op("negate", 1).put(40, deep)}, 1)).find("a sharding") != std::string::npos);
}

TEST_CASE("module fields: aliases, shardings, device assignment, frames, frontend attributes") {
  Message c, m;
  c.put(1, "e").put(2, op("parameter", 1).put(7, Message().put(2, "x").put(15, 1))).put(5, 1).put(6, 1);
  m.put(1, "m").put(3, c).put(6, 1);
  m.put(8, Message().put(1, Message().packed(1, {1}).put(2, 6)).put(1, Message().put(2, 7)).put(1, Message().packed(3, {1})));
  m.put(12, Message()).put(14, Message().put(1, 3).packed(3, {2, 1}).packed(9, {2}).packed(10, {0}));
  m.put(15, Message().put(1, 2).put(2, 8));
  m.put(17, Message().put(1, "a.py").put(3, Message().put(1, 1).put(3, 44)).put(4, Message().put(1, 1)));
  m.put(19, Message().put(1, Message().put(1, "xla.sdy.meshes").put(2, "{mesh = #sdy.mesh<[\"dp\"=2]>}")));
  const Module r = read(m.bytes);
  CHECK(r.donations == std::vector<std::pair<int64_t, int64_t>>{{1, 6}, {0, 7}});
  CHECK(r.replica_count == 2);
  CHECK(r.num_partitions == 8);
  CHECK(r.is_spmd);
  CHECK(r.parameter_shardings.at(0).text == "{devices=[2,1]<=[2]}");
  CHECK(r.output_shardings.at(0).text == "{replicated}");
  CHECK(r.meshes.at(0).axes.at(0).first == "dp");
  const Instruction& p = r.computations[0].instructions[0];
  CHECK(*p.file == "a.py");
  CHECK(p.line == 44);
  CHECK(r.argument_names == std::vector<std::string>{"x"});
}

TEST_CASE("frontend attributes do not override the sharding, wherever they stand") {
  const Message attributes = Message().put(1, Message().put(1, "xla.sdy.sharding").put(2, "#sdy.sharding<@m, [{}]>"));
  CHECK(instruction(op("negate", 2, {1}).put(68, attributes).put(40, Message())).sharding.text == "{replicated}");
  CHECK(instruction(op("negate", 2, {1}).put(68, attributes)).sharding.text == "#sdy.sharding<@m, [{}]>");
}

TEST_CASE("fields that are not known are kept, unless they are empty") {
  const Instruction i = instruction(op("negate", 2, {1}).put(200, 3).put(201, "\x01\xab").put(202, "").put(203, 0));
  CHECK(i.other == std::vector<std::pair<std::string, std::string>>{{"field 200", "3"}, {"field 201", "01ab"}});
}

TEST_CASE("references that lead nowhere") {
  CHECK(error(module({op("negate", 1, {9})}, 1)).find("operand 9") != std::string::npos);
  CHECK(error(module({op("parameter", 1)}, 9)).find("the root") != std::string::npos);
  CHECK(error(module({op("parameter", 1), op("negate", 1, {1})}, 1)).find("have the id 1") != std::string::npos);
  CHECK(error(module({op("negate", 1, {2}), op("negate", 2, {1})}, 1)).find("its own result") != std::string::npos);
  CHECK(error(module({op("parameter", 1), op("call", 2, {1}).packed(38, {7})}, 2)).find("calls computation 7") != std::string::npos);
  CHECK(error(module({op("parameter", 1), op("call", 2, {1}).packed(38, {1})}, 2)).find("calls itself") != std::string::npos);
  CHECK(error(Message().put(1, "m").put(2, "other").put(3, Message().put(1, "e").put(2, op("parameter", 1)).put(5, 1).put(6, 1)).bytes)
            .find("'other'") != std::string::npos);
}

TEST_CASE("damage at every byte is an error or a module, never a crash") {
  Message add = op("all-reduce", 2, {1});
  add.put(49, Message().packed(1, {0, 1}))
      .put(40, Message().put(1, 3).packed(3, {2, 1}).packed(4, {0, 1}))
      .put(15, Message().put(1, Message().put(1, 3)));
  const std::string bytes = module({op("parameter", 1), add}, 2);
  size_t errors = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    errors += !read_proto(std::string_view(bytes).substr(0, n), "x").ok();
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[n] = static_cast<char>(flipped[n] ^ (1 << bit));
      errors += !read_proto(flipped, "x").ok();
    }
  }
  CHECK(errors > bytes.size());
}

}  // namespace
}  // namespace shardproof::hlo
