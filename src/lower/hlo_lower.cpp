// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Driver of the lowering of XLA programs: inputs, outputs, the walk over a computation, and what becomes of an instruction that has no
// lowering (Opaque, with its attributes and the text of the computations that it calls, so that only equal instructions are equal).
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "lower/hlo_internal.h"
#include "lower/lower.h"

namespace shardproof::lower {
namespace {

constexpr const char* kInconsistent = "SP240";  // the module contradicts itself
constexpr const char* kTooLarge = "SP241";      // too large after inlining, or nested too deeply
constexpr int kMaxDepth = 128;
constexpr size_t kMaxNodes = 3'000'000;
constexpr int64_t kMaxSteps = 20'000'000;
constexpr size_t kMaxText = 1 << 20;

bool states_a_cut(const frontend::StatedSharding& s) {
  using Syntax = frontend::StatedSharding::Syntax;
  if (s.syntax == Syntax::Hlo) return s.text.find("devices=") != std::string::npos || s.text.find("{'") != std::string::npos;
  if (s.syntax == Syntax::Sdy) return s.text.find("{\"") != std::string::npos;
  return false;
}

// Calls `visit` with every array type of `type`, in order; nothing recurses on the nesting that the input chose.
template <typename Visit>
void for_each_leaf(const hlo::Type& type, Visit visit) {
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

// Kernels of libraries that may look at other ranks' data; one too many costs a proof, one too few a wrong one.
bool names_communication(std::string target) {
  for (char& ch : target) ch = ch == '_' || ch == '-' || ch == ' ' ? '.' : static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
  std::erase(target, '.');
  for (const char* word : {"allreduce", "allgather", "reducescatter", "alltoall", "collective", "nccl", "rccl", "mpi", "ppermute", "broadcastrank",
                           "send", "recv", "remote", "callback", "random", "rng"}) {
    if (target.find(word) != std::string::npos) return true;
  }
  return false;
}

std::string type_text(const hlo::Type& type) {
  std::string out;
  for_each_leaf(type, [&](const hlo::Type& t) { out += fmt::format("{}[{}];", ir::name(t.dtype), fmt::join(t.shape, ",")); });
  return out;
}

std::string literal_text(const ir::Literal& v) {
  return v.kind == ir::Literal::Kind::Float ? fmt::format("{:a}", v.d) : fmt::format("{}", v.i);
}

}  // namespace

std::string_view other_attribute(const hlo::Instruction& ins, std::string_view key) {
  for (const auto& [name, value] : ins.other) {
    if (name == key) return value;
  }
  return {};
}

HloLowering::HloLowering(const hlo::Module& module, const frontend::ConstantSource& constants)
    : m(module), constants_(constants), b(program_.graph) {}

void HloLowering::refuse(const std::string& code, const std::string& message) const {
  Diagnostic d{code, message, m.path, 0, 0};
  if (current_) {
    d.line = current_->text_line;
    d.message = fmt::format("%{} ({}): {}", current_->name, current_->opcode, message);
  }
  throw Refused{std::move(d)};
}

void HloLowering::malformed(const std::string& what) const { refuse(kInconsistent, what); }

void HloLowering::need_dims(const std::vector<int64_t>& dims, int64_t rank, const char* what) const {
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t d : dims) {
    if (d < 0 || d >= rank || seen[d]) malformed(fmt::format("{} [{}] are not distinct dimensions below {}", what, fmt::join(dims, ","), rank));
    seen[d] = true;
  }
}

ir::NodeId HloLowering::node(const Call& c, size_t k) const {
  if (k >= c.in.size()) malformed(fmt::format("has {} operands, needs at least {}", c.in.size(), k + 1));
  if (c.in[k].node == ir::kNoNode) malformed(fmt::format("operand {} is not a tensor", k));
  return c.in[k].node;
}

std::vector<ir::NodeId> HloLowering::nodes(const Call& c) const {
  std::vector<ir::NodeId> out;
  for (size_t k = 0; k < c.in.size(); ++k) out.push_back(node(c, k));
  return out;
}

uint32_t HloLowering::called(const Call& c, size_t k) const {
  if (k >= c.ins.called.size()) malformed(fmt::format("calls {} computations, needs at least {}", c.ins.called.size(), k + 1));
  computation(c.ins.called[k]);
  return c.ins.called[k];
}

const hlo::Computation& HloLowering::computation(uint32_t index) const {
  need(index < m.computations.size(), "calls a computation that does not exist");
  return m.computations[index];
}

const hlo::Type& HloLowering::result_type(const Call& c) const {
  need(!c.ins.type.tuple, "should have an array type");
  return c.ins.type;
}

const hlo::Type* HloLowering::operand_type(const Call& c, size_t k) const {
  need(k < c.ins.operands.size() && c.ins.operands[k] < c.parent->instructions.size(), "has too few operands");
  const hlo::Type& t = c.parent->instructions[c.ins.operands[k]].type;
  return t.tuple ? nullptr : &t;
}

bool HloLowering::matches(const Value& value, const hlo::Type& type) const {
  std::vector<std::pair<const Value*, const hlo::Type*>> stack{{&value, &type}};
  while (!stack.empty()) {
    const auto [v, t] = stack.back();
    stack.pop_back();
    if (t->tuple) {
      if (!v->tuple || v->tuple->size() != t->elements.size()) return false;
      for (size_t k = 0; k < t->elements.size(); ++k) stack.emplace_back(&(*v->tuple)[k], &t->elements[k]);
      continue;
    }
    if (v->tuple) return false;
    if (v->node == ir::kNoNode) continue;  // a token, or the bookkeeping of an asynchronous pair
    if (b.g[v->node].dtype != t->dtype || b.g[v->node].shape != t->shape) return false;
  }
  return true;
}

// --- effects and liveness

bool HloLowering::has_effects(uint32_t root) {
  if (auto it = effects_.find(root); it != effects_.end()) return it->second;
  std::vector<uint32_t> stack{root};
  std::set<uint32_t> seen{root};
  bool found = false;
  while (!stack.empty() && !found) {
    const hlo::Computation& comp = computation(stack.back());
    stack.pop_back();
    for (const hlo::Instruction& ins : comp.instructions) {
      found = found || has_effect(normal_opcode(ins.opcode));
      for (uint32_t k : ins.called) {
        if (seen.insert(k).second) stack.push_back(k);
      }
    }
  }
  return effects_[root] = found;
}

// What the root needs, and everything with an effect: a collective that nobody reads still takes part in the schedule.
const std::vector<bool>& HloLowering::live(uint32_t index) {
  if (auto it = live_.find(index); it != live_.end()) return it->second;
  const hlo::Computation& comp = computation(index);
  std::vector<bool> keep(comp.instructions.size());
  need(comp.root < comp.instructions.size(), "calls a computation without a root");
  keep[comp.root] = true;
  for (size_t i = comp.instructions.size(); i-- > 0;) {
    const hlo::Instruction& ins = comp.instructions[i];
    if (!keep[i]) {
      keep[i] = has_effect(normal_opcode(ins.opcode)) ||
                std::any_of(ins.called.begin(), ins.called.end(), [&](uint32_t k) { return has_effects(k); });
    }
    if (!keep[i]) continue;
    for (uint32_t k : ins.operands) {
      need(k < i, "operands do not come first");
      keep[k] = true;
    }
  }
  return live_[index] = std::move(keep);
}

// --- the walk

Value HloLowering::evaluate(uint32_t index, std::span<const Value> arguments) {
  const hlo::Computation& comp = computation(index);
  if (depth_ >= kMaxDepth) refuse(kTooLarge, fmt::format("computations call each other more than {} levels deep", kMaxDepth));
  if (arguments.size() != comp.parameters.size()) {
    malformed(fmt::format("gives {} values to computation {}, which has {} parameters", arguments.size(), comp.name, comp.parameters.size()));
  }
  struct Scope {
    HloLowering& self;
    const hlo::Instruction* caller;
    explicit Scope(HloLowering& s) : self(s), caller(s.current_) { ++self.depth_; }
    ~Scope() {
      --self.depth_;
      self.current_ = caller;
    }
  } scope(*this);

  const std::vector<bool>& keep = live(index);
  std::vector<Value> values(comp.instructions.size());
  std::vector<Value> in;
  for (size_t i = 0; i < comp.instructions.size(); ++i) {
    if (!keep[i]) continue;
    const hlo::Instruction& ins = comp.instructions[i];
    current_ = &ins;
    if (ins.opcode == "parameter") {
      need(ins.parameter_number >= 0 && ins.parameter_number < static_cast<int64_t>(arguments.size()), "has a parameter number out of range");
      values[i] = arguments[static_cast<size_t>(ins.parameter_number)];
      if (!mapped_ && !matches(values[i], ins.type)) malformed("is called with a value of another type");
      continue;
    }
    in.clear();
    for (uint32_t k : ins.operands) in.push_back(values[k]);
    values[i] = lower(comp, ins, in);
  }
  return values[comp.root];
}

Value HloLowering::lower(const hlo::Computation& parent, const hlo::Instruction& ins, std::span<const Value> in) {
  current_ = &ins;
  if (++steps_ > kMaxSteps || b.g.nodes.size() > kMaxNodes) {
    refuse(kTooLarge, fmt::format("the program has more than {} operators after inlining of calls and loops", kMaxNodes));
  }
  for_each_leaf(ins.type, [&](const hlo::Type& t) {
    if (t.dynamic) refuse(kInconsistent, "dynamic shapes are not supported: lower the program for concrete sizes");
  });
  const std::string opcode = normal_opcode(ins.opcode);
  const auto stamp = [&] {
    b.label = ins.name;
    b.source_op = ins.opcode == "custom-call" ? "custom-call:" + ins.custom_call_target : ins.opcode;
    b.loc = {ins.file, ins.line, ins.text_line};
    current_ = &ins;
  };
  stamp();
  const Call call{ins, in, &parent};
  const size_t nodes_before = b.g.nodes.size(), unsupported_before = program_.unsupported.size();
  const int64_t draws_before = draws_;
  std::string reason;
  try {
    const Handler handler = find_handler(opcode);
    if (!handler) throw Unsupported{fmt::format("{} is not supported", opcode)};
    Value out = (this->*handler)(call);
    stamp();
    if (!mapped_ && !matches(out, ins.type)) {
      malformed(fmt::format("is declared {} but its operands give {}", type_text(ins.type),
                            out.node == ir::kNoNode ? std::string("something else") : ir::to_string(b.g, out.node)));
    }
    return out;
  } catch (const Unsupported& u) {
    reason = u.reason;
  } catch (const InternalError& e) {  // a node that the core does not have, such as a bool contraction
    reason = fmt::format("{} with these operands is not supported ({})", opcode, e.what());
  }
  if (mapped_) throw Unsupported{reason};
  // What was made before the lowering gave up must not stay: a collective in it would be taken for one of the program.
  b.g.nodes.resize(nodes_before);
  program_.unsupported.resize(unsupported_before);
  draws_ = draws_before;
  stamp();
  return opaque(call, reason);
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
  bool unique = has_effect(normal_opcode(c.ins.opcode)) || other_attribute(c.ins, "custom_call_has_side_effect") == "true" ||
                names_communication(c.ins.custom_call_target);
  for (uint32_t k : c.ins.called) unique = unique || has_effects(k);
  std::string attrs = attribute_text(c.ins);
  for (size_t k = 0; k < c.ins.operands.size(); ++k) {  // the core knows one 8-bit float
    const hlo::Type* t = operand_type(c, k);
    if (t && !t->float_format.empty()) attrs += fmt::format("operand{}={} ", k, t->float_format);
  }
  if (!c.ins.called.empty()) {
    const std::string text = computation_text(c.ins.called);
    unique = unique || text.empty();
    attrs += text;
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
  struct Frame { const hlo::Type* type; size_t child; std::vector<Value> done; };
  const auto leaf = [&](const hlo::Type& t) {
    return t.dtype != ir::DType::Token && t.dtype != ir::DType::Invalid ? Value::of(made[next++]) : Value{};
  };
  if (!c.ins.type.tuple) return leaf(c.ins.type);
  std::vector<Frame> stack{{&c.ins.type, 0, {}}};
  while (true) {
    Frame& top = stack.back();
    if (top.child < top.type->elements.size()) {
      const hlo::Type& t = top.type->elements[top.child++];
      if (t.tuple) stack.push_back({&t, 0, {}});
      else top.done.push_back(leaf(t));
      continue;
    }
    Value v = Value::of(std::move(top.done));
    stack.pop_back();
    if (stack.empty()) return v;
    stack.back().done.push_back(std::move(v));
  }
}

// --- canonical text of an instruction and of computations

std::string HloLowering::attribute_text(const hlo::Instruction& ins) {
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
    out += fmt::format("window={},{},{},{},{},{},{} ", w.size, w.stride, w.pad_low, w.pad_high, w.base_dilation, w.window_dilation, w.reversal);
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
    if (ins.literal->size() > kMaxText / 8) return {};
    out += "literal=";
    for (const ir::Literal& v : *ins.literal) out += literal_text(v) + ",";
    out += ' ';
  }
  static const std::set<std::string> silent{"metadata", "frontend_attributes", "origin", "operand_layout_constraints", "sharding",
                                            "api_version", "precision", "operand_precision", "precision_config", "mhlo.sharding",
                                            "xla_shape", "operand_layouts", "result_layouts", "called_computations", "has_side_effect",
                                            "custom_call_has_side_effect", "indices_are_sorted", "output_to_operand_aliasing",
                                            "output_operand_aliases", "control-predecessors", "schedule"};
  for (const auto& [name, value] : ins.other) {
    if (!silent.count(name)) out += fmt::format("{}={:?} ", name, value);
  }
  return out;
}

// Every computation reachable from `roots`, once, numbered in the order of first visit. "" if too long to be kept.
std::string HloLowering::computation_text(std::span<const uint32_t> roots) {
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
      out += fmt::format("\n{} {} {}({}) {}", i, type_text(ins.type), normal_opcode(ins.opcode), fmt::join(ins.operands, ","), attribute_text(ins));
      if (ins.opcode == "constant" && !ins.literal) return {};
      for (uint32_t k : ins.called) out += fmt::format("calls={} ", visit(k));
      if (out.size() > kMaxText) return {};
    }
  }
  return out;
}

// --- inputs and outputs

void HloLowering::read_inputs() {
  const hlo::Computation& entry = computation(m.entry);
  std::map<std::string, int> op_names;
  for (uint32_t k : entry.parameters) {
    need(k < entry.instructions.size() && entry.instructions[k].opcode == "parameter", "the entry computation's parameters are not listed");
    ++op_names[entry.instructions[k].op_name];
  }
  for (size_t k = 0; k < entry.parameters.size(); ++k) {
    const hlo::Instruction& ins = entry.instructions[entry.parameters[k]];
    current_ = &ins;
    frontend::Input in;
    in.name = std::to_string(k);
    if (!ins.name.empty()) in.aliases.push_back(ins.name);
    if (k < m.argument_names.size() && !m.argument_names[k].empty()) in.aliases.push_back(m.argument_names[k]);
    if (!ins.op_name.empty() && op_names[ins.op_name] == 1 && std::find(in.aliases.begin(), in.aliases.end(), ins.op_name) == in.aliases.end()) {
      in.aliases.push_back(ins.op_name);
    }
    in.sharding = ins.sharding;
    if (k < m.parameter_shardings.size() && m.parameter_shardings[k].syntax != frontend::StatedSharding::Syntax::None) {
      in.sharding = m.parameter_shardings[k];
    }
    if (ins.type.tuple) malformed("parameters of a tuple type are not supported: give each tensor its own parameter");
    if (ins.type.dynamic) malformed("dynamic shapes are not supported: lower the program for concrete sizes");
    if (ins.type.dtype != ir::DType::Token) {
      b.label = ins.name;
      b.source_op = "parameter";
      b.loc = {ins.file, ins.line, ins.text_line};
      try {
        in.node = b.input(in.name, ins.type.dtype, ins.type.shape);
      } catch (const InternalError& e) {
        malformed(fmt::format("has a type that is not supported ({})", e.what()));
      }
    }
    program_.inputs.push_back(std::move(in));
  }
  current_ = nullptr;
}

void HloLowering::read_outputs(const Value& root) {
  const hlo::Computation& entry = computation(m.entry);
  std::vector<ir::NodeId> leaves;
  for_each_leaf(root, [&](const Value& leaf) { leaves.push_back(leaf.node); });
  // Shardings: the module's own list, or the root instruction's: one for all, or "{{..}, {..}}".
  std::vector<frontend::StatedSharding> shardings(leaves.size());
  if (m.output_shardings.size() == leaves.size()) {
    shardings = m.output_shardings;
  } else {
    frontend::StatedSharding stated = m.output_shardings.size() == 1 ? m.output_shardings[0] : entry.instructions[entry.root].sharding;
    if (stated.syntax == frontend::StatedSharding::Syntax::Hlo && stated.text.rfind("{{", 0) == 0) {
      const std::vector<std::string> parts = split_top_level(stated.text);
      if (parts.size() == leaves.size()) {
        for (size_t k = 0; k < leaves.size(); ++k) shardings[k] = {stated.syntax, parts[k]};
      }
    } else if (leaves.size() == 1) {
      shardings[0] = stated;
    }
  }
  for (size_t k = 0; k < leaves.size(); ++k) {
    frontend::Output out;
    out.name = std::to_string(k);
    out.node = leaves[k];
    out.sharding = shardings[k];
    program_.outputs.push_back(std::move(out));
  }
}

frontend::Program HloLowering::run() {
  program_.kind = frontend::Program::Kind::Spmd;
  program_.file = m.path;
  program_.meshes = m.meshes;
  program_.num_partitions = m.num_partitions;
  program_.num_replicas = m.replica_count;
  program_.notes = m.notes;
  read_inputs();
  std::vector<Value> arguments;
  for (const frontend::Input& in : program_.inputs) arguments.push_back(Value::of(in.node));
  const Value root = evaluate(m.entry, arguments);
  current_ = nullptr;
  read_outputs(root);

  // Shapes before partitioning are global. The linker compares them with the sequential program's; this is what the text itself tells.
  bool cut = false;
  for (const frontend::Input& in : program_.inputs) cut = cut || states_a_cut(in.sharding);
  for (const frontend::Output& out : program_.outputs) cut = cut || states_a_cut(out.sharding);
  program_.global_shapes = manual_seen_ || (cut && !collective_seen_ && !m.is_spmd);
  return std::move(program_);
}

Result<frontend::Program> lower_hlo(const hlo::Module& module, const frontend::ConstantSource& constants) {
  try {
    return HloLowering(module, constants).run();
  } catch (Refused& r) {
    return std::move(r.diagnostic);
  }
}

// --- opcodes

// StableHLO, CHLO and MHLO spellings become HLO's.
std::string HloLowering::normal_opcode(std::string_view opcode) {
  std::string out(opcode);
  for (const char* dialect : {"stablehlo.", "chlo.", "mhlo.", "sdy.", "func."}) {
    if (out.rfind(dialect, 0) == 0) out = out.substr(std::string_view(dialect).size());
  }
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

bool is_collective(std::string_view opcode) {
  static const std::set<std::string, std::less<>> names{
      "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast", "ragged-all-to-all",
      "all-reduce-start", "all-gather-start", "collective-permute-start", "cross-replica-sum", "all-reduce-scatter"};
  return names.count(opcode) != 0;
}

bool has_effect(std::string_view opcode) {
  static const std::set<std::string, std::less<>> names{"partition-id", "replica-id", "rng", "rng-get-and-update-state", "infeed", "outfeed",
                                                        "send", "send-done", "recv", "recv-done"};
  return is_collective(opcode) || names.count(opcode) != 0;
}

HloLowering::Handler HloLowering::find_handler(std::string_view opcode) {
  using L = HloLowering;
  static const std::unordered_map<std::string_view, Handler> handlers{
      {"compare", &L::compare}, {"select", &L::select}, {"clamp", &L::clamp_op},
      {"convert", &L::convert_op}, {"bitcast-convert", &L::bitcast_convert}, {"reduce-precision", &L::reduce_precision},
      {"constant", &L::constant}, {"iota", &L::iota}, {"broadcast", &L::broadcast_op}, {"broadcast-in-dim", &L::broadcast_op},
      {"reshape", &L::reshape_op}, {"transpose", &L::transpose_op}, {"bitcast", &L::bitcast},
      {"copy", &L::identity}, {"copy-start", &L::start}, {"copy-done", &L::done},
      {"domain", &L::identity}, {"sharding-constraint", &L::identity}, {"reshard", &L::identity}, {"sharding-group", &L::token},
      {"optimization-barrier", &L::identity}, {"opt-barrier", &L::identity}, {"add-dependency", &L::identity},
      {"propagation-barrier", &L::identity},
      {"slice", &L::slice_op}, {"pad", &L::pad}, {"concatenate", &L::concatenate}, {"reverse", &L::reverse},
      {"dynamic-slice", &L::dynamic_slice_op}, {"dynamic-update-slice", &L::dynamic_update_op},
      {"dot", &L::dot}, {"dot-general", &L::dot},
      {"dynamic-reshape", &L::dynamic_form}, {"dynamic-iota", &L::dynamic_form}, {"dynamic-broadcast-in-dim", &L::dynamic_form},
      {"dynamic-pad", &L::dynamic_form}, {"real-dynamic-slice", &L::dynamic_form}, {"get-dimension-size", &L::dynamic_form},
      {"cross-replica-sum", &L::all_reduce},
      {"gather", &L::gather}, {"scatter", &L::scatter},
      {"convolution", &L::convolution}, {"reduce-window", &L::reduce_window}, {"select-and-scatter", &L::select_and_scatter},
      {"reduce", &L::reduce}, {"sort", &L::sort}, {"topk", &L::top_k}, {"top-k", &L::top_k}, {"map", &L::map_op},
      {"rng", &L::rng}, {"batch-norm-inference", &L::batch_norm}, {"batch-norm-training", &L::batch_norm}, {"batch-norm-grad", &L::batch_norm},
      {"call", &L::call}, {"fusion", &L::call}, {"named-computation", &L::call}, {"composite", &L::composite},
      {"while", &L::while_loop}, {"conditional", &L::conditional}, {"if", &L::conditional}, {"case", &L::conditional},
      {"tuple", &L::tuple}, {"get-tuple-element", &L::get_tuple_element},
      {"async-start", &L::start}, {"async-update", &L::identity}, {"async-done", &L::done},
      {"after-all", &L::token}, {"create-token", &L::token}, {"infeed", &L::token}, {"outfeed", &L::token}, {"custom-call", &L::custom_call},
      {"partition-id", &L::rank_id}, {"replica-id", &L::rank_id},
      {"all-reduce", &L::all_reduce}, {"all-reduce-start", &L::all_reduce}, {"all-reduce-done", &L::identity},
      {"all-gather", &L::all_gather}, {"all-gather-start", &L::all_gather}, {"all-gather-done", &L::done},
      {"reduce-scatter", &L::reduce_scatter}, {"all-to-all", &L::all_to_all},
      {"collective-permute", &L::collective_permute}, {"collective-permute-start", &L::collective_permute},
      {"collective-permute-done", &L::done}, {"collective-broadcast", &L::collective_broadcast},
      {"manual-computation", &L::manual_computation},
  };
  if (auto it = handlers.find(opcode); it != handlers.end()) return it->second;
  static const std::set<std::string_view> elementwise_names{
      "abs", "add", "and", "atan2", "cbrt", "ceil", "complex", "cosine", "count-leading-zeros", "divide", "erf", "exponential",
      "exponential-minus-one", "floor", "imag", "is-finite", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate",
      "not", "or", "popcnt", "power", "real", "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "shift-left",
      "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor", "acos", "acosh", "asin",
      "asinh", "atan", "atanh", "bessel-i1e", "conj", "cosh", "digamma", "erf-inv", "erfc", "is-inf", "is-neg-inf", "is-pos-inf", "lgamma",
      "next-after", "polygamma", "sinh", "square", "zeta", "exponential-base2", "clz", "population-count",
      "broadcast-add", "broadcast-subtract", "broadcast-multiply", "broadcast-divide", "broadcast-maximum", "broadcast-minimum",
      "broadcast-power", "broadcast-remainder", "broadcast-and", "broadcast-or", "broadcast-xor"};
  return elementwise_names.count(opcode) ? &L::elementwise : nullptr;
}

}  // namespace shardproof::lower
