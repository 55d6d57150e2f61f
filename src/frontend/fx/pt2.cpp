// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// .pt2 archives of torch.export.save: the program is JSON; constants are raw bytes where the archive has them so. Pickles are never read:
// what is stored only in one is named in a note, and the manifest can state it.
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "frontend/fx/export_json.h"
#include "frontend/fx/json_access.h"
#include "frontend/fx/zip.h"

namespace shardproof::fx {
namespace {

constexpr int64_t kMaxConstantElements = 1 << 16;

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Bytes of an element in a storage; 0 for types that are not read.
int64_t element_bytes(ir::DType type) {
  using ir::DType;
  switch (type) {
    case DType::Bool:
    case DType::I8:
    case DType::U8: return 1;
    case DType::I16:
    case DType::U16:
    case DType::F16:
    case DType::BF16: return 2;
    case DType::I32:
    case DType::U32:
    case DType::F32: return 4;
    case DType::I64:
    case DType::U64:
    case DType::F64: return 8;
    default: return 0;
  }
}

double half_to_double(uint32_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t mantissa = bits & 0x3FF;
  if (exponent == 31) return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024.0 + mantissa, static_cast<int>(exponent) - 25);
}

ir::Literal element(std::string_view bytes, int64_t offset, ir::DType type) {
  using ir::DType;
  uint64_t bits = 0;
  const int64_t width = element_bytes(type);
  for (int64_t i = 0; i < width; ++i) {
    bits |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[static_cast<size_t>(offset + i)])) << (8 * i);
  }
  switch (type) {
    case DType::Bool: return ir::Literal::boolean(bits != 0);
    case DType::F64: return ir::Literal::real(std::bit_cast<double>(bits), type);
    case DType::F32: return ir::Literal::real(std::bit_cast<float>(static_cast<uint32_t>(bits)), type);
    case DType::BF16: return ir::Literal::real(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16), type);
    case DType::F16: return ir::Literal::real(half_to_double(static_cast<uint32_t>(bits)), type);
    case DType::I8: return ir::Literal::integer(static_cast<int8_t>(bits), type);
    case DType::I16: return ir::Literal::integer(static_cast<int16_t>(bits), type);
    case DType::I32: return ir::Literal::integer(static_cast<int32_t>(bits), type);
    default: return ir::Literal::integer(static_cast<int64_t>(bits), type);
  }
}

// The elements of a tensor in row-major order out of its storage. Empty optional: something is missing or does not fit.
std::optional<Module::Constant> tensor_of(std::string_view storage, const Json& meta, const std::string& name) {
  JsonAccess access("");
  TensorType type;
  if (!read_tensor_meta(access, meta, "", type) || type.symbolic) return std::nullopt;
  const int64_t width = element_bytes(type.dtype);
  if (width == 0) return std::nullopt;
  int64_t count = 1;
  for (const int64_t size : type.shape) {
    if (size > kMaxConstantElements) return std::nullopt;
    count *= size;
    if (count > kMaxConstantElements) return std::nullopt;
  }
  const Json* strides = JsonAccess::get(meta, "strides");
  const Json* offset = JsonAccess::get(meta, "storage_offset");
  const auto plain = [&](const Json* value, int64_t& out) {  // 3 or {"as_int": 3}
    if (value == nullptr) return false;
    if (const Json* inner = JsonAccess::get(*value, "as_int")) value = inner;
    return access.integer(*value, "", out) && out >= 0 && out < (int64_t{1} << 40);
  };
  std::vector<int64_t> steps;
  int64_t base = 0;
  if (offset != nullptr && !plain(offset, base)) return std::nullopt;
  if (strides == nullptr || !strides->is_array() || strides->size() != type.shape.size()) return std::nullopt;
  for (const Json& stride : *strides) {
    if (!plain(&stride, steps.emplace_back())) return std::nullopt;
  }
  Module::Constant constant{name, type.dtype, type.shape, {}};
  const auto elements = static_cast<int64_t>(storage.size()) / width;
  std::vector<int64_t> index(type.shape.size(), 0);
  constant.values.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = base;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * steps[d];  // below 2^16 * 2^40 * dimensions: no overflow
    if (at >= elements) return std::nullopt;
    constant.values.push_back(element(storage, at * width, type.dtype));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < type.shape[d]) break;
      index[d] = 0;
    }
  }
  return constant;
}

// Where things are in the archive.
struct Layout {
  const ZipEntry* program = nullptr;
  std::string root;   // "model/" or ""
  std::string model;  // "model"; empty in old archives
};

Result<Layout> find_program(const ZipArchive& archive, const std::string& path) {
  Layout layout;
  std::string others;
  bool pickle = false;
  bool inductor = false;
  for (const ZipEntry& entry : archive.entries()) {
    const size_t models = entry.name.find("models/");
    const bool at_start =
        models == 0 || (models != std::string_view::npos && entry.name[models - 1] == '/' && entry.name.find('/') + 1 == models);
    if (at_start && ends_with(entry.name, ".json") && entry.name.find('/', models + 7) == std::string_view::npos) {
      const std::string model(entry.name.substr(models + 7, entry.name.size() - models - 12));
      if (layout.program == nullptr || model == "model") {
        layout = {&entry, std::string(entry.name.substr(0, models)), model};
      }
      others += (others.empty() ? "" : ", ") + model;
    }
    pickle = pickle || ends_with(entry.name, "data.pkl");
    inductor = inductor || entry.name.find("data/aotinductor/") != std::string_view::npos;
  }
  if (layout.program != nullptr) {
    if (others != layout.model && layout.model != "model") {
      return Diagnostic{"SP231", fmt::format("the archive holds several programs ({}); save one a file", others), path, 0, 0};
    }
    return layout;
  }
  // Before torch 2.8, and ExecuTorch's ETRecord.
  for (const std::string_view name : {"serialized_exported_program.json", "edge_dialect_exported_program"}) {
    for (const ZipEntry& entry : archive.entries()) {
      if (entry.name == name || ends_with(entry.name, "/" + std::string(name))) {
        layout.program = &entry;
        layout.root = std::string(entry.name.substr(0, entry.name.size() - name.size()));
        return layout;
      }
    }
  }
  const char* advice = pickle ? "this is a pickle of torch.save, which is never loaded; save the program with torch.export.save, or its "
                                "text with print_readable()"
                       : inductor ? "this package holds only code compiled by AOTInductor; save the exported program with torch.export.save"
                                  : "no exported program in this archive: expected models/<name>.json as torch.export.save writes it";
  return Diagnostic{"SP231", advice, path, 0, 0};
}

// Values of the constant tensors that are inputs of the graph.
void read_constants(const ZipArchive& archive, const Layout& layout, ExportProgram& program) {
  if (program.tensor_constants.empty()) return;
  std::vector<std::string>& notes = program.module.notes;
  const auto skip = [&](const std::string& name, const char* why) {
    notes.push_back(
        fmt::format("the value of constant '{}' is not read: {}; state it in the manifest's constants if it matters", name, why));
  };
  const ZipEntry* order = archive.find(layout.root + "byteorder");
  if (order != nullptr) {
    const Result<std::string> text = archive.read(*order);
    if (text.ok() && *text != "little") {
      notes.emplace_back("the archive was written by a big-endian machine; values of constants are not read");
      return;
    }
  }
  const ZipEntry* config =
      layout.model.empty() ? nullptr : archive.find(layout.root + "data/constants/" + layout.model + "_constants_config.json");
  if (config == nullptr) {
    for (const auto& [fqn, placeholder] : program.tensor_constants) skip(placeholder, "the archive stores constants as a pickle");
    return;
  }
  const Result<std::string> text = archive.read(*config);
  const Result<Json> json = text.ok() ? parse_json(*text, program.module.path) : Result<Json>(text.error());
  const Json* table = json.ok() ? JsonAccess::get(*json, "config") : nullptr;
  for (const auto& [fqn, placeholder] : program.tensor_constants) {
    const Json* payload = table == nullptr ? nullptr : JsonAccess::get(*table, fqn.c_str());
    const Json* file = payload == nullptr ? nullptr : JsonAccess::get(*payload, "path_name");
    const Json* meta = payload == nullptr ? nullptr : JsonAccess::get(*payload, "tensor_meta");
    const Json* pickled = payload == nullptr ? nullptr : JsonAccess::get(*payload, "use_pickle");
    if (file == nullptr || !file->is_string() || meta == nullptr) {
      skip(placeholder, "the archive does not list it");
      continue;
    }
    if (pickled == nullptr || !pickled->is_boolean() || pickled->get<bool>()) {
      skip(placeholder, "it is stored as a pickle");
      continue;
    }
    const ZipEntry* entry = archive.find(layout.root + "data/constants/" + file->get_ref<const std::string&>());
    bool intact = false;
    const Result<std::string> bytes = entry == nullptr ? Result<std::string>(Diagnostic{}) : archive.read(*entry, &intact);
    if (!bytes.ok() || !intact) {
      skip(placeholder, entry == nullptr ? "its entry is missing" : "its entry is damaged or has no checksum");
      continue;
    }
    std::optional<Module::Constant> constant = tensor_of(*bytes, *meta, placeholder);
    if (!constant) {
      skip(placeholder,
           bytes->empty() ? "it was saved without a value" : "it is large, of another element type, or does not fit its storage");
      continue;
    }
    program.module.constants.push_back(std::move(*constant));
  }
}

}  // namespace

Result<Module> read_pt2(std::string_view bytes, const std::string& path) {
  const Result<ZipArchive> archive = ZipArchive::open(bytes, path);
  if (!archive) return archive.error();
  const Result<Layout> layout = find_program(*archive, path);
  if (!layout) return layout.error();
  const Result<std::string> text = archive->read(*layout->program);
  if (!text) return text.error();
  Result<ExportProgram> program = read_export_program(*text, path);
  if (!program) return program.error();
  read_constants(*archive, *layout, *program);
  return std::move(program->module);
}

}  // namespace shardproof::fx
