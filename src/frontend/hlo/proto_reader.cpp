// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// HloModuleProto, bare or in an HloProto or HloSnapshot. See proto_reader.h.
//
// The three messages are told apart by what they hold, not by the file's name: a module has computations (field 3) with instructions
// (field 2) that have an opcode (field 2); the other two have a module one or two levels down in field 1.
#include "frontend/hlo/proto_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/hlo/cursor.h"
#include "frontend/hlo/finish.h"
#include "frontend/hlo/sharding_text.h"

namespace shardproof::hlo {

using frontend::StatedSharding;

namespace {

// The first field of this number that holds bytes; false if there is none or the message is damaged before it.
bool first(std::string_view bytes, uint32_t number, std::string_view& out) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == number && f.wire == Field::Bytes) {
      out = f.bytes;
      return true;
    }
  }
  return false;
}

bool looks_like_module(std::string_view bytes) {
  std::string_view computation, instruction, opcode;
  if (!first(bytes, 3, computation) || !first(computation, 2, instruction) || !first(instruction, 2, opcode)) return false;
  return !opcode.empty() &&
         std::all_of(opcode.begin(), opcode.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

// The kind that a compare has where none is printed.
std::string_view default_compare_type(ir::DType t) {
  if (ir::is_float(t) || ir::is_complex(t)) return "FLOAT";
  return ir::is_signed_int(t) ? "SIGNED" : "UNSIGNED";
}

}  // namespace

bool ProtoReader::fail(std::string_view at, const std::string& message, const char* code) {
  if (failed_) return false;
  failed_ = true;
  error_ = Diagnostic{code ? code : kWire, fmt::format("{} (at byte {})", message, at.data() ? at.data() - begin_ : 0), module_.path, 0, 0};
  return false;
}

bool ProtoReader::damaged(std::string_view at, const char* what) {
  return fail(at, fmt::format("damaged protocol buffer: expected {}", what));
}

bool ProtoReader::frames(std::string_view bytes) {
  int64_t files = 0, locations = 0, frames = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1) sources_.add_file(++files, f.text());
    if (f.number != 3 && f.number != 4) continue;
    SourceMap::Location location;
    int64_t id = 0;
    Wire v(f.bytes);
    Field g;
    while (v.next(g)) {
      if (g.number == 1) id = location.file_id = g.integer();
      if (g.number == 3) location.line = g.integer();
    }
    if (v.damaged()) return damaged(bytes, "a stack frame");
    if (f.number == 3) {
      sources_.add_location(++locations, location);
    } else {
      sources_.add_frame(++frames, id);
    }
  }
  return !w.damaged() || damaged(bytes, "the stack frames");
}

bool ProtoReader::aliases(std::string_view bytes) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number != 1) continue;
    std::vector<int64_t> output, inner;
    int64_t parameter = 0;
    Wire v(f.bytes);
    Field g;
    while (v.next(g)) {
      bool good = true;
      if (g.number == 1) good = append(g, output);
      if (g.number == 2) parameter = g.integer();
      if (g.number == 3) good = append(g, inner);
      if (!good) return damaged(bytes, "an alias");
    }
    if (v.damaged()) return damaged(bytes, "an alias");
    if (output.size() <= 1 && inner.empty()) module_.donations.emplace_back(output.empty() ? 0 : output[0], parameter);
  }
  return !w.damaged() || damaged(bytes, "the aliases");
}

bool ProtoReader::device_assignment(std::string_view bytes) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number != 1 && f.number != 2) continue;
    if (f.integer() < 0 || f.integer() > (int64_t{1} << 30))
      return fail(bytes, "replica and partition counts must be between 0 and 2^30", kLimit);
    // One of each is what every program has: text does not print it.
    if (f.integer() > 1) (f.number == 1 ? module_.replica_count : module_.num_partitions) = f.integer();
  }
  return !w.damaged() || damaged(bytes, "a device assignment");
}

bool ProtoReader::frontend_attributes(std::string_view bytes, Instruction* instruction) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number != 1) continue;
    std::string key, value;
    Wire v(f.bytes);
    Field g;
    while (v.next(g)) {
      if (g.number == 1) key = g.text();
      if (g.number == 2) value = g.text();
    }
    if (v.damaged()) return damaged(bytes, "a frontend attribute");
    if (instruction != nullptr) {
      add_frontend_attribute(*instruction, key, value);
    } else if (key == "xla.sdy.meshes") {
      add_meshes(module_, value);
    }
  }
  return !w.damaged() || damaged(bytes, "frontend attributes");
}

bool ProtoReader::instruction(std::string_view bytes, Instruction& out, std::vector<int64_t>& operands, std::vector<int64_t>& called,
                              int64_t& id) {
  id = 0;
  std::string_view constant, attributes;
  bool has_constant = false, has_type = false, has_api_version = false;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    bool good = true;
    switch (f.number) {
      case 8:
        constant = f.bytes;
        has_constant = true;
        break;  // after the shape, wherever it stands
      case 35: id = f.integer(); break;
      case 36: good = append(f, operands) || damaged(bytes, "operand ids"); break;
      case 38: good = append(f, called) || damaged(bytes, "called computation ids"); break;
      case 68: attributes = f.bytes; break;  // after the sharding
      default:
        has_type = has_type || f.number == 3;
        has_api_version = has_api_version || (f.number == 77 && f.value != 0);
        good = field(f, out);
    }
    if (!good) return false;
  }
  if (w.damaged()) return damaged(bytes, "an instruction");
  if (out.opcode.empty()) return fail(bytes, fmt::format("instruction '{}' has no opcode", out.name));
  if (!has_type) return fail(bytes, fmt::format("instruction '{}' has no shape", out.name));
  if (!attributes.empty() && !frontend_attributes(attributes, &out)) return false;
  // Zeros are not stored.
  if (out.opcode == "parameter") out.parameter_number = std::max<int64_t>(out.parameter_number, 0);
  if (out.opcode == "get-tuple-element") out.tuple_index = std::max<int64_t>(out.tuple_index, 0);
  const auto lacks = [&out](std::string_view key) {
    return std::none_of(out.other.begin(), out.other.end(), [key](const auto& o) { return o.first == key; });
  };
  if (out.opcode == "topk" && lacks("largest")) out.other.emplace_back("largest", "false");
  if (out.opcode == "custom-call" && !has_api_version) out.other.emplace_back("api_version", "API_VERSION_UNSPECIFIED");
  if (out.opcode == "rng-bit-generator" && out.algorithm.empty()) out.algorithm = "rng_default";
  if (out.opcode == "constant") {
    if (has_constant) return literal(constant, out);
    out.other.emplace_back("constant", "{...}");
  }
  return true;
}

bool ProtoReader::computation(std::string_view bytes) {
  std::vector<std::string_view> list;
  Computation computation;
  int64_t root_id = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1) computation.name = f.text();
    if (f.number == 2) list.push_back(f.bytes);
    if (f.number == 6) root_id = f.integer();
  }
  if (w.damaged()) return damaged(bytes, "a computation");
  if (list.empty()) return fail(bytes, fmt::format("computation '{}' is empty", computation.name));
  std::unordered_map<int64_t, uint32_t> ids;
  std::vector<std::vector<int64_t>> operands(list.size());
  computation.instructions.resize(std::min<size_t>(list.size(), 1u << 16));
  for (uint32_t k = 0; k < list.size(); ++k) {
    if (k == computation.instructions.size()) computation.instructions.emplace_back();
    Instruction& i = computation.instructions[k];
    std::vector<int64_t> called;
    int64_t id = 0;
    if (!instruction(list[k], i, operands[k], called, id)) return false;
    if (!ids.emplace(id, k).second)
      return fail(list[k], fmt::format("two instructions of computation '{}' have the id {}", computation.name, id), kReference);
    // The order of called computations: body then condition in a proto, condition then body in a Module; the others agree.
    if (i.opcode == "while" && called.size() == 2) std::swap(called[0], called[1]);
    for (int64_t c : called) {
      const auto found = computations_.find(c);
      if (found == computations_.end())
        return fail(list[k], fmt::format("instruction '{}' calls computation {}, which is not there", i.name, c), kReference);
      i.called.push_back(found->second);
    }
  }
  for (uint32_t k = 0; k < list.size(); ++k) {
    Instruction& i = computation.instructions[k];
    for (int64_t o : operands[k]) {
      const auto found = ids.find(o);
      if (found == ids.end())
        return fail(list[k], fmt::format("operand {} of instruction '{}' is not in its computation", o, i.name), kReference);
      i.operands.push_back(found->second);
    }
    if (i.opcode == "compare" && !i.operands.empty() &&
        i.compare_type == default_compare_type(computation.instructions[i.operands[0]].type.dtype)) {
      i.compare_type.clear();
    }
  }
  const auto root = ids.find(root_id);
  if (root == ids.end()) return fail(bytes, fmt::format("the root of computation '{}' is not in it", computation.name), kReference);
  computation.root = root->second;
  uint32_t at = 0;
  if (std::string error = order(computation, at); !error.empty()) return fail(bytes, error, kReference);
  module_.computations.push_back(std::move(computation));
  return true;
}

Result<Module> ProtoReader::run(std::string_view bytes) {
  std::vector<std::string_view> computations;
  std::string entry_name;
  int64_t entry_id = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    bool good = true;
    switch (f.number) {
      case 1: module_.name = f.text(); break;
      case 2: entry_name = f.text(); break;
      case 3: computations.push_back(f.bytes); break;
      case 6: entry_id = f.integer(); break;
      case 8: good = aliases(f.bytes); break;
      case 12:
      case 14: {
        std::string text;
        if (!sharding_text(f.bytes, text)) {
          damaged(f.bytes, "a sharding");
          return error_;
        }
        (f.number == 12 ? module_.output_shardings : module_.parameter_shardings).push_back({StatedSharding::Syntax::Hlo, std::move(text)});
        break;
      }
      case 15: good = device_assignment(f.bytes); break;
      case 17: good = frames(f.bytes); break;
      case 19: good = frontend_attributes(f.bytes, nullptr); break;
      default: break;
    }
    if (!good) return error_;
  }
  if (w.damaged()) {
    damaged({w.here(), 0}, "a field of HloModuleProto");
    return error_;
  }

  for (uint32_t c = 0; c < computations.size(); ++c) {
    int64_t id = 0;
    Wire v(computations[c]);
    while (v.next(f)) {
      if (f.number == 5) id = f.integer();
    }
    if (v.damaged()) {
      damaged(computations[c], "a computation");
      return error_;
    }
    if (!computations_.emplace(id, c).second) {
      fail(computations[c], fmt::format("two computations have the id {}", id), kReference);
      return error_;
    }
  }
  for (std::string_view c : computations) {
    if (!computation(c)) return error_;
  }
  if (std::string error = check_calls(module_); !error.empty()) return Diagnostic{kReference, error, module_.path, 0, 0};
  const auto by_id = computations_.find(entry_id);
  if (by_id != computations_.end() && (entry_id != 0 || entry_name.empty())) {
    module_.entry = by_id->second;
  } else {
    const auto named =
        std::find_if(module_.computations.begin(), module_.computations.end(), [&](const Computation& c) { return c.name == entry_name; });
    if (named == module_.computations.end()) {
      return Diagnostic{kReference, fmt::format("the entry computation '{}' is not in the module", entry_name), module_.path, 0, 0};
    }
    module_.entry = static_cast<uint32_t>(named - module_.computations.begin());
  }
  summarize(module_);
  return std::move(module_);
}

Result<Module> read_proto(std::string_view bytes, const std::string& path) {
  if (bytes.size() >= (size_t{1} << 31)) return Diagnostic{kLimit, "files of 2 GiB and more are not read", path, 0, 0};
  std::string_view module = bytes;
  for (int level = 0; level < 3; ++level) {  // HloModuleProto, HloProto, HloSnapshot
    if (looks_like_module(module)) return ProtoReader(bytes, path).run(module);
    if (!first(module, 1, module)) break;
  }
  return Diagnostic{
      kWire, "expected an HloModuleProto, HloProto or HloSnapshot with at least one computation (a .hlo.pb of --xla_dump_hlo_as_proto)",
      path, 0, 0};
}

}  // namespace shardproof::hlo
