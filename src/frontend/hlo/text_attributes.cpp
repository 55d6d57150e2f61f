// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Attributes of HLO text: `, key=value` after the operands. A key that is not listed here, or whose value does not have the form that its
// operator gives it, is kept verbatim.
#include <fmt/format.h>

#include <unordered_map>

#include "frontend/hlo/finish.h"
#include "frontend/hlo/text_reader.h"

namespace shardproof::hlo {

using frontend::StatedSharding;

namespace {

using List = std::vector<int64_t> Instruction::*;

enum class Key : uint8_t {
  List,  // {1,2,3} into a member
  Metadata,
  Sharding,
  ReplicaGroups,
  FrontendAttributes,
  ToApply,
  Calls,
  Body,
  Condition,
  Branches,
  TrueComputation,
  FalseComputation,
  CalledComputations,
  Select,
  Scatter,
  ChannelId,
  GlobalIds,
  Slice,
  Index,
  Direction,
  CompareType,
  Target,
  BackendConfig,
  IotaDimension,
  IndexVectorDim,
  SliceSizes,
  Padding,
  Window,
  DimLabels,
  ExponentBits,
  MantissaBits,
  FeatureGroups,
  BatchGroups,
  FusionKind,
  Pairs,
  IsStable,
  Sorted,
  Unique,
  Distribution,
  Algorithm,
  TransposeA
};

struct Known {
  Key key;
  List list = nullptr;
};

const std::unordered_map<std::string_view, Known>& keys() {
  static const std::unordered_map<std::string_view, Known> table = {
      {"dimensions", {Key::List, &Instruction::dimensions}},
      {"lhs_contracting_dims", {Key::List, &Instruction::lhs_contract}},
      {"rhs_contracting_dims", {Key::List, &Instruction::rhs_contract}},
      {"lhs_batch_dims", {Key::List, &Instruction::lhs_batch}},
      {"rhs_batch_dims", {Key::List, &Instruction::rhs_batch}},
      {"dynamic_slice_sizes", {Key::List, &Instruction::dynamic_slice_sizes}},
      {"offset_dims", {Key::List, &Instruction::offset_dims}},
      {"collapsed_slice_dims", {Key::List, &Instruction::collapsed_slice_dims}},
      {"start_index_map", {Key::List, &Instruction::start_index_map}},
      {"operand_batching_dims", {Key::List, &Instruction::operand_batching_dims}},
      {"start_indices_batching_dims", {Key::List, &Instruction::start_indices_batching_dims}},
      {"update_window_dims", {Key::List, &Instruction::update_window_dims}},
      {"inserted_window_dims", {Key::List, &Instruction::inserted_window_dims}},
      {"scatter_dims_to_operand_dims", {Key::List, &Instruction::scatter_dims_to_operand_dims}},
      {"input_batching_dims", {Key::List, &Instruction::input_batching_dims}},
      {"scatter_indices_batching_dims", {Key::List, &Instruction::scatter_indices_batching_dims}},
      {"metadata", {Key::Metadata}},
      {"sharding", {Key::Sharding}},
      {"replica_groups", {Key::ReplicaGroups}},
      {"frontend_attributes", {Key::FrontendAttributes}},
      {"to_apply", {Key::ToApply}},
      {"calls", {Key::Calls}},
      {"body", {Key::Body}},
      {"condition", {Key::Condition}},
      {"branch_computations", {Key::Branches}},
      {"true_computation", {Key::TrueComputation}},
      {"false_computation", {Key::FalseComputation}},
      {"called_computations", {Key::CalledComputations}},
      {"select", {Key::Select}},
      {"scatter", {Key::Scatter}},
      {"channel_id", {Key::ChannelId}},
      {"use_global_device_ids", {Key::GlobalIds}},
      {"slice", {Key::Slice}},
      {"index", {Key::Index}},
      {"direction", {Key::Direction}},
      {"type", {Key::CompareType}},
      {"custom_call_target", {Key::Target}},
      {"backend_config", {Key::BackendConfig}},
      {"iota_dimension", {Key::IotaDimension}},
      {"index_vector_dim", {Key::IndexVectorDim}},
      {"slice_sizes", {Key::SliceSizes}},
      {"padding", {Key::Padding}},
      {"window", {Key::Window}},
      {"dim_labels", {Key::DimLabels}},
      {"exponent_bits", {Key::ExponentBits}},
      {"mantissa_bits", {Key::MantissaBits}},
      {"feature_group_count", {Key::FeatureGroups}},
      {"batch_group_count", {Key::BatchGroups}},
      {"kind", {Key::FusionKind}},
      {"source_target_pairs", {Key::Pairs}},
      {"is_stable", {Key::IsStable}},
      {"indices_are_sorted", {Key::Sorted}},
      {"unique_indices", {Key::Unique}},
      {"distribution", {Key::Distribution}},
      {"algorithm", {Key::Algorithm}},
      {"transpose_a", {Key::TransposeA}},
  };
  return table;
}

}  // namespace

bool TextReader::attributes(Instruction& instruction) {
  while (c_.accept(',')) {
    c_.skip();
    const char* where = c_.here();
    const std::string_view key = c_.word();
    if (key.empty()) return c_.expected("an attribute such as dimensions={0}");
    if (!c_.expect('=', "after attribute", key)) return false;
    if (!attribute(instruction, key, where)) return false;
  }
  return true;
}

bool TextReader::attribute(Instruction& instruction, std::string_view key, const char* where) {
  const auto verbatim = [&] {
    std::string_view value;
    if (!c_.value(value)) return false;
    instruction.other.emplace_back(key, without_comments(value));
    return true;
  };
  const auto known = keys().find(key);
  if (known == keys().end()) return verbatim();
  const std::string_view op = instruction.opcode;
  switch (known->second.key) {
    case Key::List: {
      std::vector<int64_t>& out = instruction.*known->second.list;
      if (!out.empty()) return c_.fail_at(where, fmt::format("attribute '{}' is given twice", key));
      return c_.integers(out, key);
    }
    case Key::Metadata: return metadata(instruction);
    case Key::Sharding: {
      std::string_view text;
      if (c_.peek() != '{') return c_.expected("a sharding in braces");
      if (!c_.balanced(text)) return false;
      instruction.sharding = {StatedSharding::Syntax::Hlo, without_comments(text)};
      return true;
    }
    case Key::ReplicaGroups: return replica_groups(instruction);
    case Key::FrontendAttributes: return frontend_attributes(&instruction);
    case Key::ToApply:
    case Key::Calls: return c_.peek() == '{' ? call_list(instruction) : call(instruction, 0);
    case Key::Condition: return op == "while" ? call(instruction, 0) : verbatim();
    case Key::Body: return op == "while" ? call(instruction, 1) : verbatim();
    case Key::Select: return op == "select-and-scatter" ? call(instruction, 0) : verbatim();
    case Key::Scatter: return op == "select-and-scatter" ? call(instruction, 1) : verbatim();
    case Key::TrueComputation: return op == "conditional" ? call(instruction, 0) : verbatim();
    case Key::FalseComputation: return op == "conditional" ? call(instruction, 1) : verbatim();
    case Key::Branches:
    case Key::CalledComputations: return call_list(instruction);
    case Key::ChannelId: return c_.integer(instruction.channel_id, key);
    case Key::GlobalIds: return c_.boolean(instruction.use_global_device_ids, key);
    case Key::Slice: return op == "slice" ? slice(instruction) : verbatim();
    case Key::Index:
      if (op != "get-tuple-element") return verbatim();
      if (!c_.integer(instruction.tuple_index, key)) return false;
      return instruction.tuple_index >= 0 || c_.fail_at(where, "a tuple index is not negative");
    case Key::Direction: return op == "compare" ? enumerator(instruction.direction) : verbatim();
    case Key::CompareType: return op == "compare" ? enumerator(instruction.compare_type) : verbatim();
    case Key::Target: return c_.text(instruction.custom_call_target, key);
    case Key::BackendConfig: {
      if (c_.peek() == '"') return c_.text(instruction.backend_config, key);
      std::string_view text;
      if (!c_.value(text)) return false;
      instruction.backend_config = text;
      return true;
    }
    case Key::IotaDimension: {
      int64_t d = 0;
      if (!c_.integer(d, key)) return false;
      instruction.dimensions = {d};
      return true;
    }
    case Key::IndexVectorDim: return c_.integer(instruction.index_vector_dim, key);
    case Key::SliceSizes: return op == "gather" ? c_.integers(instruction.slice_sizes, key) : verbatim();
    case Key::Padding: return op == "pad" ? padding(instruction) : verbatim();
    case Key::Window: return window(instruction);
    case Key::DimLabels: {
      std::string_view text;
      if (!c_.value(text)) return false;
      instruction.dim_labels = text;
      return true;
    }
    case Key::ExponentBits: return c_.integer(instruction.exponent_bits, key);
    case Key::MantissaBits: return c_.integer(instruction.mantissa_bits, key);
    case Key::FeatureGroups: return c_.integer(instruction.feature_group_count, key);
    case Key::BatchGroups: return c_.integer(instruction.batch_group_count, key);
    case Key::FusionKind: return op == "fusion" ? enumerator(instruction.fusion_kind) : verbatim();
    case Key::Pairs: return pairs(instruction);
    case Key::IsStable: return c_.boolean(instruction.is_stable, key);
    case Key::Sorted: return c_.boolean(instruction.indices_are_sorted, key);
    case Key::Unique: return c_.boolean(instruction.unique_indices, key);
    case Key::Distribution: return enumerator(instruction.distribution);
    case Key::Algorithm: return enumerator(instruction.algorithm);
    case Key::TransposeA: return enumerator(instruction.transpose_a);
  }
  return verbatim();
}

bool TextReader::enumerator(std::string& out) {
  const std::string_view word = c_.word();
  if (word.empty()) return c_.expected("a word");
  out = word;
  return true;
}

bool TextReader::metadata(Instruction& instruction) {
  if (!c_.expect('{', "that opens metadata")) return false;
  std::string_view file;
  int64_t line = 0, frame = 0;
  while (!c_.accept('}')) {
    const std::string_view key = c_.word();
    if (key.empty()) return c_.expected("a field of metadata or '}'");
    if (!c_.expect('=', "after metadata field", key)) return false;
    if (key == "op_name") {
      if (!c_.text(instruction.op_name, key)) return false;
    } else if (key == "source_file") {
      if (!c_.quoted(file, key)) return false;
    } else if (key == "source_line") {
      if (!c_.integer(line, key)) return false;
    } else if (key == "stack_frame_id") {
      if (!c_.integer(frame, key)) return false;
    } else {
      std::string_view ignored;
      if (!c_.value(ignored)) return false;
    }
    c_.accept(',');
  }
  if (frame != 0) sources_.set_frame(instruction, frame);
  if (instruction.file == nullptr && !file.empty()) sources_.set_file(instruction, file, line, true);
  return true;
}

// {key="value",key=value,..}: values are quoted strings, or (in the module's header) text with balanced brackets.
bool TextReader::frontend_attributes(Instruction* instruction) {
  if (!c_.expect('{', "that opens frontend_attributes")) return false;
  if (c_.accept('}')) return true;
  do {
    std::string_view key = c_.word();
    std::string quoted_key;
    if (key.empty() && c_.peek() == '"') {
      if (!c_.text(quoted_key, "a frontend attribute's name")) return false;
      key = quoted_key;
    }
    if (key.empty()) return c_.expected("a frontend attribute's name");
    if (!c_.expect('=', "after frontend attribute", key)) return false;
    std::string value;
    if (c_.peek() == '"') {
      if (!c_.text(value, key)) return false;
    } else {
      std::string_view raw;
      if (!c_.value(raw)) return false;
      value = raw;
    }
    if (instruction != nullptr) {
      add_frontend_attribute(*instruction, std::string(key), value);
    } else if (key == "xla.sdy.meshes") {
      add_meshes(module_, value);
    }
  } while (c_.accept(','));
  return c_.expect('}', "or ',' in frontend_attributes");
}

// `called` has a fixed order; the numbers of the names are resolved at the end of the module.
bool TextReader::call(Instruction& instruction, size_t slot) {
  std::string_view name;
  if (!c_.name(name, "the name of a computation")) return false;
  if (instruction.called.size() <= slot) instruction.called.resize(slot + 1, UINT32_MAX);
  if (instruction.called[slot] != UINT32_MAX) return c_.fail_at(name.data(), "a computation for this purpose is given twice");
  instruction.called[slot] = computations_.number(name);
  return true;
}

bool TextReader::call_list(Instruction& instruction) {
  if (!c_.expect('{', "that opens a list of computations")) return false;
  if (c_.accept('}')) return true;
  size_t slot = instruction.called.size();
  do {
    if (!call(instruction, slot++)) return false;
  } while (c_.accept(','));
  return c_.expect('}', "or ',' in a list of computations");
}

bool TextReader::separated(std::vector<int64_t>& out, std::string_view what) {
  out.clear();
  do {
    int64_t v = 0;
    if (!c_.integer(v, "an integer of", what)) return false;
    out.push_back(v);
    if (c_.raw() != 'x') return true;
    c_.seek(c_.here() + 1);
  } while (true);
}

// {size=3x3 stride=2x2 pad=1_1x0_0 lhs_dilate=.. rhs_dilate=.. rhs_reversal=1x0}; what is not given has its default in every dimension.
bool TextReader::window(Instruction& instruction) {
  c_.skip();
  const char* start = c_.here();
  if (!c_.expect('{', "that opens a window")) return false;
  std::vector<WindowDim>& window = instruction.window;
  if (!window.empty()) return c_.fail_at(start, "attribute 'window' is given twice");
  bool sized = false;
  while (!c_.accept('}')) {
    c_.skip();
    const char* where = c_.here();
    const std::string_view key = c_.word();
    if (key.empty()) return c_.expected("a field of a window or '}'");
    if (!c_.expect('=', "after window field", key)) return false;
    std::vector<int64_t> values, highs;
    if (key == "pad") {
      do {
        int64_t low = 0, high = 0;
        if (!c_.integer(low, "padding before")) return false;
        if (!c_.expect('_', "between the two paddings of a dimension")) return false;
        if (!c_.integer(high, "padding after")) return false;
        values.push_back(low);
        highs.push_back(high);
        if (c_.raw() != 'x') break;
        c_.seek(c_.here() + 1);
      } while (true);
    } else if (!separated(values, key)) {
      return false;
    }
    if (!sized) {
      window.resize(values.size());
      sized = true;
    }
    if (values.size() != window.size()) {
      return c_.fail_at(where, fmt::format("window field '{}' has {} dimensions, those before it {}", key, values.size(), window.size()));
    }
    for (size_t d = 0; d < values.size(); ++d) {
      const int64_t v = values[d];
      WindowDim& dim = window[d];
      if (key == "size") {
        dim.size = v;
      } else if (key == "stride") {
        dim.stride = v;
      } else if (key == "pad") {
        dim.pad_low = v;
        dim.pad_high = highs[d];
      } else if (key == "lhs_dilate") {
        dim.base_dilation = v;
      } else if (key == "rhs_dilate") {
        dim.window_dilation = v;
      } else if (key == "rhs_reversal") {
        dim.reversal = v != 0;
      } else {
        return c_.fail_at(where,
                          fmt::format("window field '{}' is not known (size, stride, pad, lhs_dilate, rhs_dilate, rhs_reversal)", key));
      }
    }
    c_.accept(',');
  }
  return true;
}

// 0_0x1_2_3: low, high and (if not 0) interior padding of each dimension.
bool TextReader::padding(Instruction& instruction) {
  c_.skip();
  if (!instruction.pad_low.empty()) return c_.fail("attribute 'padding' is given twice");
  if (const char c = c_.raw(); c != '-' && (c < '0' || c > '9')) {  // no dimensions
    std::string_view none;
    if (c == '\0' || c == ',') return c_.expected("the padding of each dimension, such as 0_0x1_2");
    return c_.value(none);
  }
  do {
    int64_t low = 0, high = 0, interior = 0;
    if (!c_.integer(low, "padding before")) return false;
    if (!c_.expect('_', "between the paddings of a dimension")) return false;
    if (!c_.integer(high, "padding after")) return false;
    if (c_.raw() == '_') {
      c_.seek(c_.here() + 1);
      if (!c_.integer(interior, "interior padding")) return false;
    }
    instruction.pad_low.push_back(low);
    instruction.pad_high.push_back(high);
    instruction.pad_interior.push_back(interior);
    if (c_.raw() != 'x') return true;
    c_.seek(c_.here() + 1);
  } while (true);
}

// {[0:256], [0:8:2]}
bool TextReader::slice(Instruction& instruction) {
  c_.skip();
  const char* start = c_.here();
  if (!c_.expect('{', "that opens the ranges of a slice")) return false;
  if (!instruction.slice_start.empty()) return c_.fail_at(start, "attribute 'slice' is given twice");
  if (c_.accept('}')) return true;
  do {
    int64_t from = 0, to = 0, step = 1;
    if (!c_.expect('[', "that opens a range")) return false;
    if (!c_.integer(from, "the start of a range")) return false;
    if (!c_.expect(':', "between start and end of a range")) return false;
    if (!c_.integer(to, "the end of a range")) return false;
    if (c_.accept(':') && !c_.integer(step, "the step of a range")) return false;
    if (!c_.expect(']', "that closes a range")) return false;
    instruction.slice_start.push_back(from);
    instruction.slice_limit.push_back(to);
    instruction.slice_stride.push_back(step);
  } while (c_.accept(','));
  return c_.expect('}', "or ',' after a range");
}

// {{0,1},{1,0}}
bool TextReader::pairs(Instruction& instruction) {
  c_.skip();
  const char* start = c_.here();
  if (!c_.expect('{', "that opens source_target_pairs")) return false;
  if (!instruction.source_target_pairs.empty()) return c_.fail_at(start, "attribute 'source_target_pairs' is given twice");
  if (c_.accept('}')) return true;
  do {
    std::vector<int64_t> pair;
    if (!c_.integers(pair, "a pair of source and target")) return false;
    if (pair.size() != 2 || pair[0] < 0 || pair[1] < 0) return c_.fail("expected a pair of source and target such as {0,1}");
    instruction.source_target_pairs.emplace_back(pair[0], pair[1]);
  } while (c_.accept(','));
  return c_.expect('}', "or ',' in source_target_pairs");
}

// The part after "<=": [2,4]T(1,0)
bool TextReader::iota(Iota& out) {
  if (!c_.expect('[', "that opens the sizes of an iota device list")) return false;
  do {
    int64_t v = 0;
    if (!c_.integer(v, "a size")) return false;
    out.dims.push_back(v);
  } while (c_.accept(','));
  if (!c_.expect(']', "or ',' after a size")) return false;
  if (c_.raw() != 'T') return true;
  c_.seek(c_.here() + 1);
  if (!c_.expect('(', "that opens a transposition")) return false;
  do {
    int64_t v = 0;
    if (!c_.integer(v, "a dimension")) return false;
    out.perm.push_back(v);
  } while (c_.accept(','));
  return c_.expect(')', "or ',' in a transposition");
}

bool TextReader::replica_groups(Instruction& instruction) {
  ReplicaGroups& out = instruction.replica_groups;
  const char next = c_.peek();
  const char* start = c_.here();
  if (out.present) return c_.fail("attribute 'replica_groups' is given twice");
  if (next == '{') {
    c_.accept('{');
    out.present = true;
    if (c_.accept('}')) return true;
    do {
      out.groups.emplace_back();
      if (!c_.integers(out.groups.back(), "a replica group")) return false;
      for (int64_t id : out.groups.back()) {
        if (id < 0) return c_.fail("a device of a replica group is negative");
      }
    } while (c_.accept(','));
    return c_.expect('}', "or ',' after a replica group");
  }
  if (next == '[') {
    c_.accept('[');
    int64_t groups = 0, size = 0;
    Iota list;
    if (!c_.integer(groups, "the number of groups")) return false;
    if (!c_.expect(',', "between the number of groups and their size")) return false;
    if (!c_.integer(size, "the size of the groups")) return false;
    if (!c_.expect(']', "after the size of the groups")) return false;
    if (!c_.accept(std::string_view("<="))) return c_.expected("'<=' and the devices");
    if (!iota(list)) return false;
    if (std::string error = expand_iota_groups(groups, size, list, out, budget_); !error.empty()) return c_.fail_at(start, error, kLimit);
    return true;
  }
  if (c_.accept(std::string_view("maximal_mesh[device_id="))) {
    int64_t id = 0;
    if (!c_.integer(id, "a device")) return false;
    if (id < 0) return c_.fail("a device is negative");
    if (!c_.expect(']', "after the device")) return false;
    if (!c_.expect('{', "and the axes of the groups") || !c_.expect('}', ": a mesh of one device has no axes")) return false;
    out.present = true;
    out.groups = {{id}};
    return true;
  }
  if (c_.accept(std::string_view("mesh["))) return mesh_groups(instruction);
  return c_.expected("replica groups: {{0,1},{2,3}}, [2,4]<=[8], or mesh['a'=2,'b'=4] {'a'}");
}

// After "mesh[": 'a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'a', 'b':(1)2}
bool TextReader::mesh_groups(Instruction& instruction) {
  const char* start = c_.here();
  DeviceMesh mesh;
  const auto axis_name = [&](std::string_view& out) {
    if (!c_.expect('\'', "that opens an axis name")) return false;
    const char* p = c_.here();
    const char* q = p;
    while (q < c_.end() && *q != '\'' && *q != '\n') ++q;
    if (q == c_.end() || *q != '\'') return c_.fail("axis name without a closing quote");
    out = {p, static_cast<size_t>(q - p)};
    c_.seek(q + 1);
    return true;
  };
  if (!c_.accept(']')) {
    do {
      std::string_view name;
      int64_t size = 0;
      if (!axis_name(name) || !c_.expect('=', "after an axis name") || !c_.integer(size, "the size of an axis")) return false;
      mesh.axes.emplace_back(name, size);
    } while (c_.accept(','));
    if (!c_.expect(']', "or ',' after an axis")) return false;
  }
  if (c_.accept(',')) {
    if (!c_.accept(std::string_view("device_ids"))) return c_.expected("device_ids=(..)");
    if (!c_.expect('=', "after device_ids") || !c_.expect('(', "that opens device_ids")) return false;
    if (c_.peek() == '[') {
      if (!iota(mesh.iota)) return false;
    } else {
      do {
        int64_t id = 0;
        if (!c_.integer(id, "a device")) return false;
        if (id < 0) return c_.fail("a device is negative");
        mesh.device_ids.push_back(id);
      } while (c_.accept(','));
    }
    if (!c_.expect(')', "after device_ids")) return false;
  }
  std::vector<AxisRef> refs;
  if (!c_.expect('{', "that opens the axes of the groups")) return false;
  if (!c_.accept('}')) {
    do {
      std::string_view name;
      if (!axis_name(name)) return false;
      AxisRef ref;
      while (ref.axis < mesh.axes.size() && mesh.axes[ref.axis].first != name) ++ref.axis;
      if (ref.axis == mesh.axes.size()) return c_.fail_at(name.data(), fmt::format("axis '{}' is not in the mesh", name), kReference);
      if (c_.accept(':')) {
        if (!c_.expect('(', "of a sub-axis") || !c_.integer(ref.pre, "the size before a sub-axis") || !c_.expect(')', "of a sub-axis") ||
            !c_.integer(ref.size, "the size of a sub-axis")) {
          return false;
        }
        if (ref.size <= 0) return c_.fail("the size of a sub-axis must be positive");
      }
      refs.push_back(ref);
    } while (c_.accept(','));
    if (!c_.expect('}', "or ',' after an axis")) return false;
  }
  if (std::string error = expand_mesh_groups(mesh, refs, instruction.replica_groups, budget_); !error.empty())
    return c_.fail_at(start, error, kLimit);
  return true;
}

}  // namespace shardproof::hlo
