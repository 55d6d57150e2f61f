// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What becomes of an instruction that has no lowering: an Opaque operator with its attributes and the text of the computations that it
// calls, so that only equal instructions are equal. One that may depend on more than its operands gets an unspecified operand and equals
// nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "lower/hlo_internal.h"

namespace shardproof::lower {
namespace {

constexpr size_t kMaxText = 1 << 20;

// Kernels of libraries that may look at other ranks' data; one too many costs a proof, one too few a wrong one.
bool names_communication(std::string target) {
  for (char& ch : target) ch = ch == '_' || ch == '-' || ch == ' ' ? '.' : static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  std::erase(target, '.');
  for (const char* word : {"allreduce", "allgather", "reducescatter", "alltoall", "collective", "nccl", "rccl", "ppermute", "broadcastrank",
                           "send", "recv", "remote", "callback", "random", "rng"}) {
    if (target.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string literal_text(const ir::Literal& v) {
  return v.kind == ir::Literal::Kind::Float ? fmt::format("{:a}", v.d) : fmt::format("{}", v.i);
}

}  // namespace

void for_each_leaf(const hlo::Type& type, const std::function<void(const hlo::Type&)>& visit) {
  std::vector<const hlo::Type*> stack{&type};
  while (!stack.empty()) {
    const hlo::Type* t = stack.back();
    stack.pop_back();
    if (!t->tuple) {
      visit(*t);
      continue;
    }
    for (size_t k = t->elements.size(); k-- > 0;) stack.push_back(&t->elements[k]);
  }
}

void for_each_leaf(const Value& value, const std::function<void(const Value&)>& visit) {
  std::vector<Value> stack{value};
  while (!stack.empty()) {
    const Value v = std::move(stack.back());
    stack.pop_back();
    if (!v.tuple) {
      visit(v);
      continue;
    }
    for (size_t k = v.tuple->size(); k-- > 0;) stack.push_back((*v.tuple)[k]);
  }
}

std::string type_text(const hlo::Type& type) {
  std::string out;
  for_each_leaf(type, [&](const hlo::Type& t) {
    out += fmt::format("{}[{}];", t.float_format.empty() ? ir::name(t.dtype) : t.float_format, fmt::join(t.shape, ","));
  });
  return out;
}

Value HloLowering::opaque(const Call& c, const std::string& reason) {
  std::vector<ir::NodeId> operands;
  for (const Value& v : c.in) {
    for_each_leaf(v, [&](const Value& leaf) {
      if (leaf.node != ir::kNoNode) operands.push_back(leaf.node);
    });
  }
  std::vector<std::pair<ir::DType, ir::Shape>> results;
  for_each_leaf(c.ins.type, [&](const hlo::Type& t) {
    if (t.dtype != ir::DType::Token && t.dtype != ir::DType::Invalid) results.emplace_back(t.dtype, t.shape);
  });
  bool unique = effect_of(normal_opcode(c.ins.opcode)) != Effect::None || other_attribute(c.ins, "custom_call_has_side_effect") == "true" ||
                other_attribute(c.ins, "has_side_effect") == "true" || names_communication(c.ins.custom_call_target);
  for (uint32_t k : c.ins.called) unique = unique || has_effects(k);
  const std::optional<std::string> own = attribute_text(c.ins);
  unique = unique || !own;
  std::string attrs = own.value_or("");
  for (size_t k = 0; k < c.ins.operands.size(); ++k) {  // the core knows one 8-bit float
    const hlo::Type* t = operand_type(c, k);
    if (t && !t->float_format.empty()) attrs += fmt::format("operand{}={} ", k, t->float_format);
  }
  if (!c.ins.called.empty()) {
    const std::optional<std::string> text = computation_text(c.ins.called);
    unique = unique || !text;
    attrs += text.value_or("");
  }
  std::vector<ir::NodeId> made;
  if (!results.empty()) {
    // A function of more than its operands (other ranks' data, state): an unspecified operand keeps two of them from ever being equal.
    if (unique) operands.push_back(b.uninit(ir::DType::F32, {}));
    const std::string name = c.ins.custom_call_target.empty() ? "hlo." + normal_opcode(c.ins.opcode) : c.ins.custom_call_target;
    made = b.opaque(name, std::move(attrs), std::move(operands), std::move(results));
    program_.unsupported.push_back({b.g[made[0]].in[0], reason});
  } else {
    program_.notes.push_back(fmt::format("%{} ({}) gives no data and is left out", c.ins.name, c.ins.opcode));
  }
  // Puts the results back into the shape of the declared type: children are finished before their tuple.
  size_t next = 0;
  struct Frame {
    const hlo::Type* type;
    size_t child;
    std::vector<Value> done;
  };
  const auto leaf = [&](const hlo::Type& t) {
    return t.dtype != ir::DType::Token && t.dtype != ir::DType::Invalid ? Value::of(made[next++]) : Value{};
  };
  if (!c.ins.type.tuple) return leaf(c.ins.type);
  std::vector<Frame> stack{{&c.ins.type, 0, {}}};
  while (true) {
    Frame& top = stack.back();
    if (top.child < top.type->elements.size()) {
      const hlo::Type& t = top.type->elements[top.child++];
      if (t.tuple)
        stack.push_back({&t, 0, {}});
      else
        top.done.push_back(leaf(t));
      continue;
    }
    Value v = Value::of(std::move(top.done));
    stack.pop_back();
    if (stack.empty()) return v;
    stack.back().done.push_back(std::move(v));
  }
}

// --- canonical text of an instruction and of computations

std::optional<std::string> HloLowering::attribute_text(const hlo::Instruction& ins) {
  std::string out;
  const auto list = [&](const char* name, const std::vector<int64_t>& v) {
    if (!v.empty()) out += fmt::format("{}=[{}] ", name, fmt::join(v, ","));
  };
  const auto number = [&](const char* name, int64_t v, int64_t usual) {
    if (v != usual) out += fmt::format("{}={} ", name, v);
  };
  const auto text = [&](const char* name, const std::string& v) {
    if (!v.empty()) out += fmt::format("{}={:?} ", name, v);
  };
  list("dimensions", ins.dimensions);
  list("lhs_batch", ins.lhs_batch);
  list("rhs_batch", ins.rhs_batch);
  list("lhs_contract", ins.lhs_contract);
  list("rhs_contract", ins.rhs_contract);
  list("slice_start", ins.slice_start);
  list("slice_limit", ins.slice_limit);
  list("slice_stride", ins.slice_stride);
  list("pad_low", ins.pad_low);
  list("pad_high", ins.pad_high);
  list("pad_interior", ins.pad_interior);
  list("dynamic_slice_sizes", ins.dynamic_slice_sizes);
  list("offset_dims", ins.offset_dims);
  list("collapsed_slice_dims", ins.collapsed_slice_dims);
  list("start_index_map", ins.start_index_map);
  list("operand_batching_dims", ins.operand_batching_dims);
  list("start_indices_batching_dims", ins.start_indices_batching_dims);
  list("slice_sizes", ins.slice_sizes);
  list("update_window_dims", ins.update_window_dims);
  list("inserted_window_dims", ins.inserted_window_dims);
  list("scatter_dims_to_operand_dims", ins.scatter_dims_to_operand_dims);
  list("input_batching_dims", ins.input_batching_dims);
  list("scatter_indices_batching_dims", ins.scatter_indices_batching_dims);
  number("index_vector_dim", ins.index_vector_dim, -1);
  number("unique_indices", ins.unique_indices, 0);
  for (const hlo::WindowDim& w : ins.window) {
    out += fmt::format("window={},{},{},{},{},{},{} ", w.size, w.stride, w.pad_low, w.pad_high, w.base_dilation, w.window_dilation,
                       w.reversal);
  }
  number("feature_group_count", ins.feature_group_count, 1);
  number("batch_group_count", ins.batch_group_count, 1);
  text("dim_labels", ins.dim_labels);
  text("direction", ins.direction);
  text("compare_type", ins.compare_type);
  text("transpose_a", ins.transpose_a);
  for (const auto& g : ins.replica_groups.groups) list("group", g);
  for (const auto& [from, to] : ins.source_target_pairs) out += fmt::format("{}>{} ", from, to);
  number("split_count", ins.split_count, 0);
  number("concat_dimension", ins.concat_dimension, -1);
  number("is_stable", ins.is_stable, 0);
  number("descending", ins.descending, 0);
  number("tuple_index", ins.tuple_index, -1);
  number("parameter_number", ins.parameter_number, -1);
  text("target", ins.custom_call_target);
  text("backend_config", ins.backend_config);
  text("distribution", ins.distribution);
  text("algorithm", ins.algorithm);
  if (!ins.type.tuple && !ins.type.float_format.empty()) out += fmt::format("format={} ", ins.type.float_format);
  number("exponent_bits", ins.exponent_bits, 0);
  number("mantissa_bits", ins.mantissa_bits, 0);
  if (ins.literal) {
    if (ins.literal->size() > kMaxText / 8) return std::nullopt;
    out += "literal=";
    for (const ir::Literal& v : *ins.literal) out += literal_text(v) + ",";
    out += ' ';
  }
  static const std::set<std::string> silent{"metadata",
                                            "frontend_attributes",
                                            "origin",
                                            "operand_layout_constraints",
                                            "sharding",
                                            "api_version",
                                            "precision",
                                            "operand_precision",
                                            "precision_config",
                                            "mhlo.sharding",
                                            "xla_shape",
                                            "operand_layouts",
                                            "result_layouts",
                                            "called_computations",
                                            "has_side_effect",
                                            "custom_call_has_side_effect",
                                            "indices_are_sorted",
                                            "output_to_operand_aliasing",
                                            "output_operand_aliases",
                                            "control-predecessors",
                                            "schedule"};
  for (const auto& [name, value] : ins.other) {
    if (!silent.count(name)) out += fmt::format("{}={:?} ", name, value);
  }
  return out;
}

// Every computation reachable from `roots`, once, numbered in the order of first visit.
std::optional<std::string> HloLowering::computation_text(std::span<const uint32_t> roots) {
  std::map<uint32_t, size_t> number;
  std::vector<uint32_t> order;
  const auto visit = [&](uint32_t k) {
    if (number.emplace(k, order.size()).second) order.push_back(k);
    return number[k];
  };
  std::string out;
  for (uint32_t k : roots) out += fmt::format("calls={} ", visit(k));
  for (size_t done = 0; done < order.size(); ++done) {
    const hlo::Computation& comp = computation(order[done]);
    out += fmt::format("\n#{}({}) root={}", done, comp.parameters.size(), comp.root);
    for (size_t i = 0; i < comp.instructions.size(); ++i) {
      const hlo::Instruction& ins = comp.instructions[i];
      const std::optional<std::string> attributes = attribute_text(ins);
      if (!attributes) return std::nullopt;
      out += fmt::format("\n{} {} {}({}) {}", i, type_text(ins.type), normal_opcode(ins.opcode), fmt::join(ins.operands, ","), *attributes);
      if (ins.opcode == "constant" && !ins.literal) return std::nullopt;
      for (uint32_t k : ins.called) out += fmt::format("calls={} ", visit(k));
      if (out.size() > kMaxText) return std::nullopt;
    }
  }
  return out;
}

}  // namespace shardproof::lower
