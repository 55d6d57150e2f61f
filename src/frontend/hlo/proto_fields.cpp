// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The fields of HloInstructionProto. Numbers are those of hlo.proto and xla_data.proto.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/hlo/cursor.h"
#include "frontend/hlo/proto_reader.h"
#include "frontend/hlo/sharding_text.h"

namespace shardproof::hlo {

using frontend::StatedSharding;

namespace {

using List = std::vector<int64_t> Instruction::*;

// A message that holds lists of integers and possibly one index, by field number.
struct ListField {
  uint32_t number;
  List list;
};

}  // namespace

bool ProtoReader::field(const Field& f, Instruction& out) {
  const auto list = [&](std::vector<int64_t>& to) { return append(f, to) || damaged(f.bytes, "a list of integers"); };
  const auto keep = [&](std::string_view key, std::string value) {
    out.other.emplace_back(key, std::move(value));
    return true;
  };
  switch (f.number) {
    case 1: out.name = f.text(); return true;
    case 2: out.opcode = f.text(); return true;
    case 3: out.type = Type(); return shape(f.bytes, out.type, 0);
    case 7: return metadata(f.bytes, out);
    case 9: out.parameter_number = f.integer(); return true;
    case 11: out.fusion_kind = f.text(); return true;
    case 13: out.tuple_index = f.integer(); return true;
    case 14: return list(out.dimensions);
    case 15: return window(f.bytes, out);
    case 16: return convolution(f.bytes, out);
    case 17: return slice(f.bytes, out);
    case 18: out.exponent_bits = f.integer(); return true;
    case 19: out.mantissa_bits = f.integer(); return true;
    case 20: return list(out.dynamic_slice_sizes);
    case 21: return padding(f.bytes, out);
    case 22: return f.bytes.empty() || keep("outfeed_config", f.text());
    case 23:
      if (f.value == 0) return true;
      out.distribution = f.value == 1 ? "rng_uniform" : f.value == 2 ? "rng_normal" : fmt::format("distribution {}", f.value);
      return true;
    case 24: return keep("epsilon", fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(f.value))));
    case 25: return keep("feature_index", fmt::format("{}", f.integer()));
    case 26: out.channel_id = f.integer() > 0 ? f.integer() : 0; return true;
    case 27: return f.bytes.empty() || keep("infeed_config", f.text());
    case 28: out.custom_call_target = f.text(); return true;
    case 30: return dot(f.bytes, out);
    case 31: {
      constexpr std::string_view names[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
      return keep("fft_type", f.value < 4 ? std::string(names[f.value]) : fmt::format("{}", f.value));
    }
    case 32: {
      std::vector<int64_t> v;
      if (!list(v)) return false;
      return keep("fft_length", fmt::format("{{{}}}", fmt::join(v, ",")));
    }
    case 33: return gather(f.bytes, out);
    case 34: return list(out.slice_sizes);
    case 40: {
      std::string text;
      if (!sharding_text(f.bytes, text)) return damaged(f.bytes, "a sharding");
      out.sharding = {StatedSharding::Syntax::Hlo, std::move(text)};
      return true;
    }
    case 43: out.backend_config = f.text(); return true;
    case 45:  // all_reduce_id, the old name of channel_id
      if (out.channel_id == 0 && f.integer() > 0) out.channel_id = f.integer();
      return true;
    case 47: return !f.boolean() || keep("is_host_transfer", "true");
    case 48: return scatter(f.bytes, out);
    case 49: return group(f.bytes, out.replica_groups);
    case 50: out.feature_group_count = f.integer(); return true;
    case 51: return precision(f.bytes, out);
    case 52: return pair(f.bytes, out);
    case 54:
    case 55: {
      std::string text;
      if (!sharding_text(f.bytes, text)) return damaged(f.bytes, "a sharding");
      return keep(f.number == 54 ? "domain_entry" : "domain_exit", std::move(text));
    }
    case 58: out.batch_group_count = f.integer(); return true;
    case 59: return triangular(f.bytes, out);
    case 60: out.is_stable = f.boolean(); return true;
    case 61: {
      std::vector<int64_t> v;
      Wire w(f.bytes);
      Field g;
      while (w.next(g)) {
        if (g.number == 1 && !append(g, v)) return damaged(f.bytes, "parameter_replication");
      }
      if (w.damaged()) return damaged(f.bytes, "parameter_replication");
      std::string text;
      for (int64_t b : v) text += std::string(text.empty() ? "" : ",") + (b ? "true" : "false");
      return text.empty() || keep("parameter_replication", "{" + text + "}");
    }
    case 62: {
      Wire w(f.bytes);
      Field g;
      bool is_lower = false;
      while (w.next(g)) is_lower = is_lower || (g.number == 1 && g.boolean());
      if (w.damaged()) return damaged(f.bytes, "the options of cholesky");
      return !is_lower || keep("lower", "true");
    }
    case 63: out.direction = f.text(); return true;
    case 65: return !f.boolean() || keep("custom_call_has_side_effect", "true");
    case 66: return keep("delta", fmt::format("{}", f.integer()));
    case 67: out.indices_are_sorted = f.boolean(); return true;
    case 69: out.unique_indices = f.boolean(); return true;
    case 70:
      if (out.opcode == "rng-bit-generator" || f.value != 0) {
        out.algorithm = f.value == 0   ? "rng_default"
                        : f.value == 1 ? "rng_three_fry"
                        : f.value == 2 ? "rng_philox"
                                       : fmt::format("algorithm {}", f.value);
      }
      return true;
    case 71: out.use_global_device_ids = f.boolean(); return true;
    case 72: out.compare_type = f.text(); return true;
    case 75: return f.value == 0 || keep("padding_type", fmt::format("{}", f.value));
    case 77: {
      if (f.value <= 1) return true;  // UNSPECIFIED is put in where nothing is stored; ORIGINAL is not printed
      constexpr std::string_view names[] = {"UNSPECIFIED", "ORIGINAL", "STATUS_RETURNING", "STATUS_RETURNING_UNIFIED", "TYPED_FFI"};
      return keep("api_version", f.value < 5 ? fmt::format("API_VERSION_{}", names[f.value]) : fmt::format("{}", f.value));
    }
    case 79: return f.bytes.empty() || keep("async_execution_thread", f.text());
    case 81: return keep("k", fmt::format("{}", f.integer()));
    case 85: return !f.boolean() || keep("largest", "true");
    case 87: return device_list(f.bytes, out.replica_groups);
    case 89: return !f.boolean() || keep("is_composite", "true");
    case 92: return iota_groups(f.bytes, out.replica_groups);
    case 93: return mesh_groups(f.bytes, out.replica_groups);
    // Of no meaning for values: outfeed shape, control predecessors, operand layouts, aliasing, schedules, statistics, value tracking,
    // accuracy.
    case 29:
    case 37:
    case 56:
    case 57:
    case 73:
    case 74:
    case 76:
    case 78:
    case 80:
    case 82:
    case 83:
    case 84:
    case 88:
    case 91: return true;
    default: break;
  }
  // Not known. An empty message says nothing.
  if (f.wire == Field::Bytes && f.bytes.empty()) return true;
  std::string text;
  if (f.wire == Field::Bytes) {
    for (unsigned char c : f.bytes.substr(0, 256)) text += fmt::format("{:02x}", c);
    if (f.bytes.size() > 256) text += fmt::format("... ({} bytes)", f.bytes.size());
  } else {
    if (f.value == 0) return true;
    text = fmt::format("{}", f.value);
  }
  return keep(fmt::format("field {}", f.number), std::move(text));
}

bool ProtoReader::metadata(std::string_view bytes, Instruction& out) {
  std::string_view file;
  int64_t line = 0, frame = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 2) out.op_name = f.text();
    if (f.number == 3) file = f.bytes;
    if (f.number == 4) line = f.integer();
    if (f.number == 15) frame = f.integer();
  }
  if (w.damaged()) return damaged(bytes, "metadata");
  if (frame != 0) sources_.set_frame(out, frame);
  if (out.file == nullptr && !file.empty()) sources_.set_file(out, file, line, false);
  return true;
}

bool ProtoReader::window(std::string_view bytes, Instruction& out) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number != 1) continue;
    // proto3 leaves out zeros: what is not stored is 0, and an operator that cannot have 0 there is refused when it is lowered.
    WindowDim d{0, 0, 0, 0, 0, 0, false};
    Wire v(f.bytes);
    Field g;
    while (v.next(g)) {
      switch (g.number) {
        case 1: d.size = g.integer(); break;
        case 2: d.stride = g.integer(); break;
        case 3: d.pad_low = g.integer(); break;
        case 4: d.pad_high = g.integer(); break;
        case 5: d.window_dilation = g.integer(); break;
        case 6: d.base_dilation = g.integer(); break;
        case 7: d.reversal = g.boolean(); break;
        default: break;
      }
    }
    if (v.damaged()) return damaged(bytes, "a window");
    out.window.push_back(d);
  }
  return !w.damaged() || damaged(bytes, "a window");
}

// b01f_01io->b01f: for each dimension of lhs, rhs and result, what it is.
bool ProtoReader::convolution(std::string_view bytes, Instruction& out) {
  int64_t lhs[2] = {0, 0}, rhs[2] = {0, 0}, result[2] = {0, 0};
  std::vector<int64_t> lhs_spatial, rhs_spatial, result_spatial;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    bool good = true;
    switch (f.number) {
      case 7: lhs[0] = f.integer(); break;
      case 8: lhs[1] = f.integer(); break;
      case 11: good = append(f, lhs_spatial); break;
      case 3: rhs[0] = f.integer(); break;
      case 4: rhs[1] = f.integer(); break;
      case 6: good = append(f, rhs_spatial); break;
      case 9: result[0] = f.integer(); break;
      case 10: result[1] = f.integer(); break;
      case 12: good = append(f, result_spatial); break;
      default: break;
    }
    if (!good) return damaged(bytes, "the dimension numbers of a convolution");
  }
  if (w.damaged()) return damaged(bytes, "the dimension numbers of a convolution");
  if (lhs_spatial.size() > 10) return fail(bytes, "a convolution has at most 10 spatial dimensions", kLimit);
  const auto labels = [](const int64_t(&two)[2], const char* names, const std::vector<int64_t>& spatial, std::string& text) {
    const size_t rank = spatial.size() + 2;
    std::string s(rank, '?');
    const auto put = [&](int64_t d, char c) {
      if (d < 0 || static_cast<size_t>(d) >= rank || s[static_cast<size_t>(d)] != '?') return false;
      s[static_cast<size_t>(d)] = c;
      return true;
    };
    if (!put(two[0], names[0]) || !put(two[1], names[1])) return false;
    for (size_t k = 0; k < spatial.size(); ++k) {
      if (!put(spatial[k], static_cast<char>('0' + k))) return false;
    }
    text += s;
    return true;
  };
  std::string text;
  bool good =
      lhs_spatial.size() == rhs_spatial.size() && lhs_spatial.size() == result_spatial.size() && labels(lhs, "bf", lhs_spatial, text);
  text += '_';
  good = good && labels(rhs, "io", rhs_spatial, text);
  text += "->";
  good = good && labels(result, "bf", result_spatial, text);
  if (!good) return fail(bytes, fmt::format("the dimension numbers of convolution '{}' do not fit together", out.name));
  out.dim_labels = std::move(text);
  return true;
}

bool ProtoReader::slice(std::string_view bytes, Instruction& out) {
  int64_t start = 0, limit = 0, stride = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1) start = f.integer();
    if (f.number == 2) limit = f.integer();
    if (f.number == 3) stride = f.integer();
  }
  if (w.damaged()) return damaged(bytes, "a slice");
  out.slice_start.push_back(start);
  out.slice_limit.push_back(limit);
  out.slice_stride.push_back(stride);
  return true;
}

bool ProtoReader::padding(std::string_view bytes, Instruction& out) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number != 1) continue;
    int64_t low = 0, high = 0, interior = 0;
    Wire v(f.bytes);
    Field g;
    while (v.next(g)) {
      if (g.number == 1) low = g.integer();
      if (g.number == 2) high = g.integer();
      if (g.number == 3) interior = g.integer();
    }
    if (v.damaged()) return damaged(bytes, "a padding");
    out.pad_low.push_back(low);
    out.pad_high.push_back(high);
    out.pad_interior.push_back(interior);
  }
  return !w.damaged() || damaged(bytes, "a padding");
}

bool ProtoReader::dot(std::string_view bytes, Instruction& out) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    std::vector<int64_t>* to = f.number == 1   ? &out.lhs_contract
                               : f.number == 2 ? &out.rhs_contract
                               : f.number == 3 ? &out.lhs_batch
                               : f.number == 4 ? &out.rhs_batch
                                               : nullptr;
    if (to != nullptr && !append(f, *to)) return damaged(bytes, "the dimension numbers of a dot");
  }
  return !w.damaged() || damaged(bytes, "the dimension numbers of a dot");
}

namespace {

// Gather and scatter have the same field numbers; 4 is index_vector_dim.
bool dimension_lists(std::string_view bytes, Instruction& out, const ListField (&table)[5]) {
  out.index_vector_dim = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 4) out.index_vector_dim = f.integer();
    for (const ListField& row : table) {
      if (row.number == f.number && !append(f, out.*row.list)) return false;
    }
  }
  return !w.damaged();
}

}  // namespace

bool ProtoReader::gather(std::string_view bytes, Instruction& out) {
  static constexpr ListField table[5] = {{1, &Instruction::offset_dims},
                                         {2, &Instruction::collapsed_slice_dims},
                                         {3, &Instruction::start_index_map},
                                         {5, &Instruction::operand_batching_dims},
                                         {6, &Instruction::start_indices_batching_dims}};
  return dimension_lists(bytes, out, table) || damaged(bytes, "the dimension numbers of a gather");
}

bool ProtoReader::scatter(std::string_view bytes, Instruction& out) {
  static constexpr ListField table[5] = {{1, &Instruction::update_window_dims},
                                         {2, &Instruction::inserted_window_dims},
                                         {3, &Instruction::scatter_dims_to_operand_dims},
                                         {5, &Instruction::input_batching_dims},
                                         {6, &Instruction::scatter_indices_batching_dims}};
  return dimension_lists(bytes, out, table) || damaged(bytes, "the dimension numbers of a scatter");
}

bool ProtoReader::precision(std::string_view bytes, Instruction& out) {
  std::vector<int64_t> operands;
  int64_t algorithm = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1 && !append(f, operands)) return damaged(bytes, "a precision");
    if (f.number == 2) algorithm = f.integer();
  }
  if (w.damaged()) return damaged(bytes, "a precision");
  constexpr std::string_view precisions[] = {"default", "high", "highest"};
  std::string text;
  bool stated = false;
  for (int64_t p : operands) {
    stated = stated || p != 0;
    text += fmt::format("{}{}", text.empty() ? "" : ",", p >= 0 && p < 3 ? std::string(precisions[p]) : fmt::format("precision {}", p));
  }
  if (stated) out.other.emplace_back("operand_precision", "{" + text + "}");
  constexpr std::string_view algorithms[] = {"",
                                             "any_f8_any_f8_f32",
                                             "any_f8_any_f8_f32_fast_accum",
                                             "f16_f16_f16",
                                             "f16_f16_f32",
                                             "bf16_bf16_bf16",
                                             "bf16_bf16_f32",
                                             "bf16_bf16_f32_x3",
                                             "bf16_bf16_f32_x6",
                                             "tf32_tf32_f32",
                                             "tf32_tf32_f32_x3",
                                             "f32_f32_f32",
                                             "f64_f64_f64",
                                             "bf16_bf16_f32_x9"};
  if (algorithm != 0) {
    out.algorithm = algorithm > 0 && algorithm < 14 ? "dot_" + std::string(algorithms[algorithm]) : fmt::format("algorithm {}", algorithm);
  }
  return true;
}

bool ProtoReader::triangular(std::string_view bytes, Instruction& out) {
  constexpr std::string_view names[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number >= 1 && f.number <= 3 && f.boolean()) {
      out.other.emplace_back(f.number == 1 ? "left_side" : f.number == 2 ? "lower" : "unit_diagonal", "true");
    }
    if (f.number == 4) out.transpose_a = f.value < 4 ? std::string(names[f.value]) : fmt::format("{}", f.value);
  }
  return !w.damaged() || damaged(bytes, "the options of triangular-solve");
}

bool ProtoReader::pair(std::string_view bytes, Instruction& out) {
  int64_t source = 0, target = 0;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1) source = f.integer();
    if (f.number == 2) target = f.integer();
  }
  if (w.damaged()) return damaged(bytes, "a pair of source and target");
  if (source < 0 || target < 0) return fail(bytes, "a pair of source and target is negative");
  out.source_target_pairs.emplace_back(source, target);
  return true;
}

bool ProtoReader::group(std::string_view bytes, ReplicaGroups& out) {
  std::vector<int64_t> ids;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1 && !append(f, ids)) return damaged(bytes, "a replica group");
  }
  if (w.damaged()) return damaged(bytes, "a replica group");
  for (int64_t id : ids) {
    if (id < 0) return fail(bytes, "a device of a replica group is negative");
  }
  out.present = true;
  out.groups.push_back(std::move(ids));
  return true;
}

bool ProtoReader::device_list(std::string_view bytes, ReplicaGroups& out) {
  ReplicaGroups read;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1 && !group(f.bytes, read)) return false;
    if (f.number == 2 && !iota_groups(f.bytes, read)) return false;
    if (f.number == 3 && !mesh_groups(f.bytes, read)) return false;
  }
  if (w.damaged()) return damaged(bytes, "a device list");
  read.present = true;
  out = std::move(read);  // says the same as the old field, where both are there
  return true;
}

bool ProtoReader::iota_groups(std::string_view bytes, ReplicaGroups& out) {
  int64_t groups = 0, size = 0;
  Iota iota;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    bool good = true;
    if (f.number == 1) groups = f.integer();
    if (f.number == 2) size = f.integer();
    if (f.number == 3) good = append(f, iota.dims);
    if (f.number == 4) good = append(f, iota.perm);
    if (!good) return damaged(bytes, "a device list");
  }
  if (w.damaged()) return damaged(bytes, "a device list");
  if (std::string error = expand_iota_groups(groups, size, iota, out, budget_); !error.empty()) return fail(bytes, error, kLimit);
  return true;
}

bool ProtoReader::mesh_groups(std::string_view bytes, ReplicaGroups& out) {
  DeviceMesh mesh;
  std::vector<AxisRef> refs;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    bool good = true;
    if (f.number == 1) good = read_mesh(f.bytes, mesh);
    if (f.number == 2) {
      refs.emplace_back();
      good = read_axis(f.bytes, refs.back());
    }
    if (!good) return damaged(bytes, "a mesh");
  }
  if (w.damaged()) return damaged(bytes, "a mesh");
  if (std::string error = expand_mesh_groups(mesh, refs, out, budget_); !error.empty()) return fail(bytes, error, kLimit);
  return true;
}

}  // namespace shardproof::hlo
