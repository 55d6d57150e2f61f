// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "unit/frontend/hlo/support.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace shardproof::hlo::test {

std::vector<std::string> shared_files(const std::vector<std::string>& suffixes) {
  const char* variable = std::getenv("SHARDPROOF_SHARED");
  const std::filesystem::path root =
      variable ? std::filesystem::path(variable) : std::filesystem::path(SHARDPROOF_SOURCE_DIR) / ".." / "shared";
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator i(root, error), end; !error && i != end; i.increment(error)) {
    const std::string path = i->path().string();
    if (std::any_of(suffixes.begin(), suffixes.end(), [&](const std::string& s) { return path.ends_with(s); })) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream s;
  s << in.rdbuf();
  return s.str();
}

Module parse(const std::string& text) {
  auto module = read_text(text, "test.hlo");
  if (!module.ok()) {
    FAIL(fmt::format("{}:{}: {}\n{}", module.error().line, module.error().column, module.error().message, text));
  }
  return std::move(*module);
}

Diagnostic parse_error(const std::string& text) {
  const auto module = read_text(text, "test.hlo");
  if (module.ok()) FAIL(fmt::format("was read without an error:\n{}", text));
  CHECK(module.error().file == "test.hlo");
  return module.error();
}

Instruction instruction(const std::string& line) {
  const Module m = parse(
      "HloModule m\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n"
      "ENTRY e {\n  p0 = f32[8,8] parameter(0)\n  p1 = f32[8,8] parameter(1)\n  ROOT " +
      line + "\n}\n");
  const Computation& c = m.computations.at(m.entry);
  return c.instructions.at(c.root);
}

namespace {

std::string describe(const Type& t) {
  std::string out;
  if (t.tuple) {
    out = "(";
    for (const Type& e : t.elements) out += describe(e) + ",";
    return out + ")";
  }
  return fmt::format("{}{}[{}]{}{{{}{}}}", ir::name(t.dtype), t.float_format, fmt::join(t.shape, ","), t.dynamic ? "?" : "",
                     fmt::join(t.layout, ","), t.tiled ? ":T" : "");
}

// Values bit for bit, short.
std::string describe(const std::vector<ir::Literal>& values) {
  std::string out = fmt::format("{}:", values.size());
  for (const ir::Literal& v : values) {
    if (out.size() > 400) break;
    const bool is_float = v.kind == ir::Literal::Kind::Float;
    out += fmt::format("{}/{} ", static_cast<int>(v.kind),
                       is_float && v.d != v.d ? "nan"
                       : is_float             ? fmt::format("{:x}", std::bit_cast<uint64_t>(v.d))
                                              : fmt::format("{}", v.i));
  }
  return out;
}

}  // namespace

std::string describe(const Module& module, const Computation& computation, const Instruction& i) {
  std::string out = fmt::format("{} = {} {}(", i.name, describe(i.type), i.opcode);
  for (uint32_t o : i.operands) out += computation.instructions.at(o).name + ",";
  out += ")";
  for (uint32_t c : i.called) out += " calls " + module.computations.at(c).name;
  const auto list = [&](const char* name, const std::vector<int64_t>& v) {
    if (!v.empty()) out += fmt::format(" {}={{{}}}", name, fmt::join(v, ","));
  };
  list("dimensions", i.dimensions);
  list("lb", i.lhs_batch), list("rb", i.rhs_batch), list("lc", i.lhs_contract), list("rc", i.rhs_contract);
  list("start", i.slice_start), list("limit", i.slice_limit), list("stride", i.slice_stride);
  list("low", i.pad_low), list("high", i.pad_high), list("interior", i.pad_interior);
  list("dynamic_slice_sizes", i.dynamic_slice_sizes);
  list("offset_dims", i.offset_dims), list("collapsed", i.collapsed_slice_dims), list("start_index_map", i.start_index_map);
  list("operand_batching", i.operand_batching_dims), list("indices_batching", i.start_indices_batching_dims),
      list("slice_sizes", i.slice_sizes);
  list("update_window", i.update_window_dims), list("inserted", i.inserted_window_dims),
      list("scatter_dims", i.scatter_dims_to_operand_dims);
  list("input_batching", i.input_batching_dims), list("scatter_batching", i.scatter_indices_batching_dims);
  out += fmt::format(" ivd={} sorted={} unique={}", i.index_vector_dim, i.indices_are_sorted, i.unique_indices);
  for (const WindowDim& w : i.window) {
    out += fmt::format(" w[{} {} {} {} {} {} {}]", w.size, w.stride, w.pad_low, w.pad_high, w.base_dilation, w.window_dilation, w.reversal);
  }
  if (i.opcode == "convolution") out += fmt::format(" groups={}/{}", i.feature_group_count, i.batch_group_count);
  out += fmt::format(" {} {} {} {}", i.dim_labels, i.direction, i.compare_type, i.transpose_a);
  if (i.replica_groups.present) {
    out += " groups=";
    for (const auto& g : i.replica_groups.groups) out += fmt::format("{{{}}}", fmt::join(g, ","));
  }
  out += fmt::format(" channel={} global={}", i.channel_id, i.use_global_device_ids);
  for (const auto& [s, t] : i.source_target_pairs) out += fmt::format(" {}->{}", s, t);
  out += fmt::format(" stable={} index={} parameter={} target={} config={}", i.is_stable, i.tuple_index, i.parameter_number,
                     i.custom_call_target, i.backend_config);
  out += fmt::format(" {} {} {}/{} {} {}", i.distribution, i.algorithm, i.exponent_bits, i.mantissa_bits, i.fusion_kind, i.async_wrapped);
  out += fmt::format(" sharding={}:{}", static_cast<int>(i.sharding.syntax), i.sharding.text);
  out += fmt::format(" in={} out={} manual={}", fmt::join(i.in_shardings, ";"), fmt::join(i.out_shardings, ";"),
                     fmt::join(i.manual_axes, ";"));
  if (i.literal) out += " literal " + describe(*i.literal);
  for (const auto& [key, value] : i.other) out += fmt::format(" [{}={}]", key, value);
  // The shared texts had the folders taken off their file names, the protos had not.
  out += fmt::format(" op_name={} at {}:{}", i.op_name, i.file ? std::filesystem::path(*i.file).filename().string() : "", i.line);
  return out;
}

std::string difference(const Module& a, const Module& b) {
  if (a.name != b.name) return fmt::format("module {} / {}", a.name, b.name);
  if (a.num_partitions != b.num_partitions || a.replica_count != b.replica_count)
    return fmt::format("partitions {} / {}", a.num_partitions, b.num_partitions);
  if (a.donations != b.donations) return fmt::format("{} / {} donations", a.donations.size(), b.donations.size());
  if (a.is_spmd != b.is_spmd) return fmt::format("is_spmd {} / {}", a.is_spmd, b.is_spmd);
  if (a.argument_names != b.argument_names)
    return fmt::format("arguments {} / {}", fmt::join(a.argument_names, ","), fmt::join(b.argument_names, ","));
  const auto shardings = [](const Module& m) {
    std::string out;
    for (const auto& s : m.parameter_shardings) out += s.text + ";";
    return out;
  };
  if (shardings(a) != shardings(b)) return fmt::format("parameter shardings {} / {}", shardings(a), shardings(b));
  if (a.computations.size() != b.computations.size())
    return fmt::format("{} / {} computations", a.computations.size(), b.computations.size());
  if (a.computations[a.entry].name != b.computations[b.entry].name)
    return fmt::format("entry {} / {}", a.computations[a.entry].name, b.computations[b.entry].name);
  std::map<std::string, const Computation*> by_name;
  for (const Computation& c : b.computations) by_name[c.name] = &c;
  for (const Computation& c : a.computations) {
    if (!by_name.count(c.name)) return "computation " + c.name + " is on one side only";
    const Computation& d = *by_name[c.name];
    if (c.instructions.size() != d.instructions.size())
      return fmt::format("{}: {} / {} instructions", c.name, c.instructions.size(), d.instructions.size());
    if (c.instructions[c.root].name != d.instructions[d.root].name) return c.name + ": root";
    if (c.parameters.size() != d.parameters.size()) return c.name + ": parameters";
    std::map<std::string, const Instruction*> instructions;
    for (const Instruction& i : d.instructions) instructions[i.name] = &i;
    for (const Instruction& i : c.instructions) {
      if (!instructions.count(i.name)) return fmt::format("{}: instruction {} is on one side only", c.name, i.name);
      const std::string x = describe(a, c, i), y = describe(b, d, *instructions[i.name]);
      if (x != y) return fmt::format("{}:\n  {}\n  {}", c.name, x, y);
    }
  }
  return {};
}

}  // namespace shardproof::hlo::test
