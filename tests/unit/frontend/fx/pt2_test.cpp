// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Zip archives and .pt2 files; and: the archive and the text of one captured program give the same values.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "frontend/fx/module.h"
#include "frontend/fx/zip.h"
#include "unit/frontend/fx/zip_writer.h"

using namespace shardproof;      // NOLINT
using namespace shardproof::fx;  // NOLINT
namespace fs = std::filesystem;

namespace {

const char* const kProgram = R"({"graph_module":{"graph":{
  "inputs":[{"as_tensor":{"name":"c_k"}},{"as_tensor":{"name":"x"}}],"outputs":[{"as_tensor":{"name":"x"}}],"nodes":[],
  "tensor_values":{"c_k":{"dtype":5,"sizes":[]},"x":{"dtype":7,"sizes":[{"as_int":2}]}}},
  "signature":{"input_specs":[{"tensor_constant":{"arg":{"name":"c_k"},"tensor_constant_name":"sub.k"}},
  {"user_input":{"arg":{"as_tensor":{"name":"x"}}}}],
               "output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"x"}}}}]}},"schema_version":{"major":8,"minor":20}})";

std::string config(const std::string& meta, bool pickle = false) {
  return R"({"config":{"sub.k":{"path_name":"tensor_0","is_param":false,"use_pickle":)" + std::string(pickle ? "true" : "false") +
         R"(,"tensor_meta":)" + meta + "}}}";
}

std::vector<std::pair<std::string, std::string>> files(const std::string& meta, const std::string& bytes, bool pickle = false) {
  return {{"r/data/constants/tensor_0", bytes},
          {"r/data/constants/model_constants_config.json", config(meta, pickle)},
          {"r/models/model.json", kProgram},
          {"r/archive_format", "pt2"},
          {"r/byteorder", "little"}};
}

std::string meta(int dtype, const std::string& sizes, const std::string& strides, int offset = 0) {
  return R"({"dtype":)" + std::to_string(dtype) + R"(,"sizes":[)" + sizes + R"(],"strides":[)" + strides +
         R"(],"storage_offset":{"as_int":)" + std::to_string(offset) + "}}";
}

Module read(const std::string& bytes) {
  Result<Module> result = read_pt2(bytes, "m.pt2");
  if (!result) FAIL(result.error().message);
  return std::move(result.value());
}

template <typename T>
std::string raw(std::initializer_list<T> values) {
  std::string out(sizeof(T) * values.size(), '\0');
  size_t i = 0;
  for (const T v : values) std::memcpy(out.data() + sizeof(T) * i++, &v, sizeof(T));
  return out;
}

fs::path shared_directory() {
  if (const char* set = std::getenv("SHARDPROOF_SHARED")) return set;
  return fs::path(SHARDPROOF_SOURCE_DIR) / ".." / "shared";
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// Lists and tuples are not distinguished by the JSON.
bool same(const Arg& a, const Arg& b) {
  const auto sequence = [](const Arg& x) { return x.kind == Arg::Kind::List || x.kind == Arg::Kind::Tuple; };
  if (a.kind != b.kind && !(sequence(a) && sequence(b))) return false;
  const bool same_number = a.d == b.d || (a.d != a.d && b.d != b.d);
  if (a.i != b.i || !same_number || a.text != b.text || a.items.size() != b.items.size() || a.positional != b.positional) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  return true;
}

void check_same(const Graph& text, const Graph& archive) {
  REQUIRE(text.values.size() == archive.values.size());
  size_t with_place = 0;
  for (size_t i = 0; i < text.values.size(); ++i) {
    const Value& a = text.values[i];
    const Value& b = archive.values[i];
    CAPTURE(a.name);
    CHECK(a.name == b.name);
    CHECK(a.op == b.op);
    CHECK(a.target == b.target);
    CHECK(a.type.known == b.type.known);
    CHECK(a.type.is_sym == b.type.is_sym);
    CHECK(a.type.dtype == b.type.dtype);
    CHECK(a.type.shape == b.type.shape);
    CHECK(a.type.symbols == b.type.symbols);
    REQUIRE(a.args.size() == b.args.size());
    for (size_t k = 0; k < a.args.size(); ++k) CHECK(same(a.args[k], b.args[k]));
    REQUIRE(a.kwargs.size() == b.kwargs.size());
    for (size_t k = 0; k < a.kwargs.size(); ++k) {
      CHECK(a.kwargs[k].first == b.kwargs[k].first);
      CHECK(same(a.kwargs[k].second, b.kwargs[k].second));
    }
    if (a.file && b.file) {
      ++with_place;
      CHECK(*a.file == *b.file);
      CHECK(a.line == b.line);
    }
  }
  REQUIRE(text.outputs.size() == archive.outputs.size());
  for (size_t i = 0; i < text.outputs.size(); ++i) CHECK(same(text.outputs[i].value, archive.outputs[i].value));
  MESSAGE(text.values.size() << " values agree, " << with_place << " with their places in the source");
}

}  // namespace

TEST_CASE("zip: stored, deflated, ZIP64, with a comment") {
  const std::string text = "hello hello hello hello";
  for (const bool deflate : {false, true}) {
    for (const bool zip64 : {false, true}) {
      ZipOptions options{deflate, zip64, false, zip64 ? "a comment PK" : ""};
      const std::string bytes = make_zip({{"a/b.txt", text}, {"empty", ""}}, options);
      const Result<ZipArchive> archive = ZipArchive::open(bytes, "z");
      REQUIRE(archive.ok());
      REQUIRE(archive->entries().size() == 2);
      const ZipEntry* entry = archive->find("a/b.txt");
      REQUIRE(entry != nullptr);
      bool intact = false;
      const Result<std::string> content = archive->read(*entry, &intact);
      REQUIRE(content.ok());
      CHECK(*content == text);
      CHECK(intact);
      CHECK(archive->read(*archive->find("empty")).value().empty());
      CHECK(archive->find("nothing") == nullptr);
    }
  }
}

TEST_CASE("zip: a wrong checksum is told, not an error") {
  const std::string bytes = make_zip({{"a", "text"}}, {false, false, true, ""});
  const Result<ZipArchive> archive = ZipArchive::open(bytes, "z");
  bool intact = true;
  CHECK(archive->read(archive->entries()[0], &intact).ok());
  CHECK(!intact);
}

TEST_CASE("zip: names that leave the archive, lies about sizes, cut files") {
  for (const char* name : {"../a", "/a", "a/../b", "a\\b", "a/..", ""}) {
    CAPTURE(name);
    CHECK(!ZipArchive::open(make_zip({{name, "x"}}), "z").ok());
  }
  CHECK(ZipArchive::open(make_zip({{"a..b/..c", "x"}}), "z").ok());
  // An inflated size that no deflate stream can reach.
  std::string lie = make_zip({{"a", std::string(100, 'x')}}, {true, false, false, ""});
  const size_t directory = lie.find("PK\x01\x02");
  lie[directory + 27] = 0x40;  // 2^30 bytes
  const Result<ZipArchive> lying = ZipArchive::open(lie, "z");
  REQUIRE(lying.ok());
  CHECK(!lying->read(lying->entries()[0]).ok());
  const std::string whole = make_zip(files(meta(5, "", ""), raw<int64_t>({7})), {true, true, false, ""});
  for (size_t size = 0; size < whole.size(); ++size) {
    const Result<Module> result = read_pt2(std::string_view(whole).substr(0, size), "z");
    REQUIRE(!result.ok());
    CHECK(result.error().code == "SP230");
  }
  CHECK(read_pt2(whole, "z").ok());
}

TEST_CASE("pt2: constants of every element type, with strides and offsets") {
  struct Row {
    int dtype;
    std::string sizes, strides;
    int offset;
    std::string bytes;
    std::vector<double> expected;
    ir::DType type;
  };
  const Row rows[] = {
      {5, "", "", 0, raw<int64_t>({-7}), {-7}, ir::DType::I64},
      {4, R"({"as_int":2})", R"({"as_int":1})", 1, raw<int32_t>({1, -2, 3}), {-2, 3}, ir::DType::I32},
      {3, "2", "1", 0, raw<int16_t>({-1, 5}), {-1, 5}, ir::DType::I16},
      {2, "2", "1", 0, raw<int8_t>({-1, 5}), {-1, 5}, ir::DType::I8},
      {1, "1", "1", 0, raw<uint8_t>({200}), {200}, ir::DType::U8},
      {12, "3", "1", 0, raw<uint8_t>({0, 1, 1}), {0, 1, 1}, ir::DType::Bool},
      {7, "2, 3", "1, 2", 0, raw<float>({1, 2, 3, 4, 5, 6}), {1, 3, 5, 2, 4, 6}, ir::DType::F32},  // a transposed matrix
      {8, "2", "0", 0, raw<double>({0.1}), {0.1, 0.1}, ir::DType::F64},                            // an expanded scalar
      {13, "2", "1", 0, raw<uint16_t>({0x3F80, 0xC000}), {1, -2}, ir::DType::BF16},
      {6, "4", "1", 0, raw<uint16_t>({0x3C00, 0xC000, 0x0001, 0x7BFF}), {1, -2, 5.9604644775390625e-08, 65504}, ir::DType::F16},
      {7, "0", "1", 0, "", {}, ir::DType::F32},
  };
  for (const Row& row : rows) {
    CAPTURE(row.dtype);
    const Module m = read(make_zip(files(meta(row.dtype, row.sizes, row.strides, row.offset), row.bytes)));
    REQUIRE(m.constants.size() == 1);
    const Module::Constant& c = m.constants[0];
    CHECK(c.name == "c_k");  // the placeholder's name, as in text
    CHECK(c.dtype == row.type);
    REQUIRE(c.values.size() == row.expected.size());
    for (size_t i = 0; i < c.values.size(); ++i) {
      CHECK((c.values[i].kind == ir::Literal::Kind::Float ? c.values[i].d : static_cast<double>(c.values[i].i)) == row.expected[i]);
    }
    CHECK(m.notes.empty());
  }
}

TEST_CASE("pt2: a constant that cannot be read is a note") {
  const auto note_of = [](const std::string& bytes) {
    const Module m = read(bytes);
    CHECK(m.constants.empty());
    REQUIRE(m.notes.size() == 1);
    return m.notes[0];
  };
  CHECK(note_of(make_zip(files(meta(5, "", ""), raw<int64_t>({7}), true))).find("pickle") != std::string::npos);
  CHECK(note_of(make_zip(files(meta(5, "", ""), ""))).find("without a value") != std::string::npos);
  CHECK(note_of(make_zip(files(meta(5, "2", "1"), raw<int64_t>({7})))).find("c_k") != std::string::npos);      // beyond the storage
  CHECK(note_of(make_zip(files(meta(5, "2", "-1"), raw<int64_t>({7, 8})))).find("c_k") != std::string::npos);  // a negative stride
  CHECK(note_of(make_zip(files(meta(10, "", ""), raw<int64_t>({7})))).find("element type") != std::string::npos);
  CHECK(note_of(make_zip(files(meta(5, "1000000, 1000000", "0, 0"), raw<int64_t>({7})))).find("large") != std::string::npos);
  CHECK(note_of(make_zip(files(meta(5, "", ""), raw<int64_t>({7})), {false, false, true, ""})).find("checksum") != std::string::npos);
  auto big = files(meta(5, "", ""), raw<int64_t>({7}));
  big.back().second = "big";
  CHECK(note_of(make_zip(big)).find("big-endian") != std::string::npos);
}

TEST_CASE("pt2: containers") {
  CHECK(read(make_zip({{"serialized_exported_program.json", kProgram}, {"serialized_constants.pt", "PK"}, {"version", "8.2"}}))
            .graph.values.size() == 2);
  CHECK(read(make_zip({{"archive/models/other.json", kProgram}})).graph.values.size() == 2);
  CHECK(read(make_zip({{"r/models/a.json", "{}"}, {"r/models/model.json", kProgram}})).graph.values.size() == 2);
  const auto message = [](const std::string& bytes) {
    const Result<Module> result = read_pt2(bytes, "m.pt2");
    REQUIRE(!result.ok());
    CHECK(result.error().file == "m.pt2");
    return result.error().message;
  };
  CHECK(message(make_zip({{"r/models/a.json", kProgram}, {"r/models/b.json", kProgram}})).find("a, b") != std::string::npos);
  CHECK(message(make_zip({{"fw/data.pkl", "x"}})).find("pickle") != std::string::npos);
  CHECK(message(make_zip({{"r/data/aotinductor/model/x.so", "x"}})).find("AOTInductor") != std::string::npos);
  CHECK(message(make_zip({{"hello", "x"}})).find("models/") != std::string::npos);
  CHECK(message("hello").find("zip") != std::string::npos);
  CHECK(message(make_zip({{"r/models/model.json", "{]"}})).find("JSON") != std::string::npos);
}

TEST_CASE("pt2: the archive and the text of a captured program agree value by value") {
  const fs::path root = shared_directory();
  if (!fs::exists(root / "cases")) {
    MESSAGE("skipped: no captured programs at " << root.string());
    return;
  }
  size_t pairs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "cases")) {
    if (entry.path().extension() != ".pt2") continue;
    fs::path text_path = entry.path();
    text_path.replace_extension(".fx.txt");
    if (!fs::exists(text_path)) continue;
    CAPTURE(entry.path().string());
    const Result<Module> archive = read_pt2(slurp(entry.path()), "m.pt2");
    const Result<Module> text = read_text(slurp(text_path), "m.fx.txt");
    REQUIRE(archive.ok());
    REQUIRE(text.ok());
    check_same(text->graph, archive->graph);
    size_t constants = 0;
    for (const Value& value : archive->graph.values) constants += value.descriptor.rfind("TensorConstant", 0) == 0 ? 1 : 0;
    CHECK(archive->constants.size() == constants);
    ++pairs;
  }
  CHECK(pairs > 0);
}
