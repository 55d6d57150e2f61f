// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Driver of the lowering of XLA programs: inputs, outputs, and the walk over a computation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "lower/coverage.h"
#include "lower/hlo_internal.h"
#include "lower/lower.h"

namespace shardproof::lower {
namespace {

constexpr const char* kInconsistent = "SP240";  // the module contradicts itself
constexpr const char* kTooLarge = "SP241";      // too large after inlining, or nested too deeply
constexpr int kMaxDepth = 128;
constexpr size_t kMaxNodes = 3'000'000;
constexpr int64_t kMaxSteps = 20'000'000;

bool states_a_cut(const frontend::StatedSharding& s) {
  using Syntax = frontend::StatedSharding::Syntax;
  if (s.syntax == Syntax::Hlo) return s.text.find("devices=") != std::string::npos || s.text.find("{'") != std::string::npos;
  if (s.syntax == Syntax::Sdy) return s.text.find("{\"") != std::string::npos;
  return false;
}

}  // namespace

std::string_view other_attribute(const hlo::Instruction& ins, std::string_view key) {
  for (const auto& [name, value] : ins.other) {
    if (name == key) return value;
  }
  return {};
}

HloLowering::HloLowering(const hlo::Module& module, const frontend::ConstantSource& constants, int64_t keep_loops)
    : m(module), constants_(constants), b(program_.graph), keep_loops_(keep_loops) {}

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
    if (d < 0 || d >= rank || seen[d])
      malformed(fmt::format("{} [{}] are not distinct dimensions below {}", what, fmt::join(dims, ","), rank));
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

Effect HloLowering::effect(uint32_t root) {
  if (auto it = effects_.find(root); it != effects_.end()) return it->second;
  std::vector<uint32_t> stack{root};
  std::set<uint32_t> seen{root};
  Effect found = Effect::None;
  while (!stack.empty() && found != Effect::Other) {
    const hlo::Computation& comp = computation(stack.back());
    stack.pop_back();
    for (const hlo::Instruction& ins : comp.instructions) {
      found = std::max(found, effect_of(normal_opcode(ins.opcode)));
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
      keep[i] = effect_of(normal_opcode(ins.opcode)) != Effect::None ||
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
    malformed(
        fmt::format("gives {} values to computation {}, which has {} parameters", arguments.size(), comp.name, comp.parameters.size()));
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
      need(ins.parameter_number >= 0 && ins.parameter_number < static_cast<int64_t>(arguments.size()),
           "has a parameter number out of range");
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
  const Mark before = mark();
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
    lowered(Reader::Hlo, opcode);
    return out;
  } catch (const Unsupported& u) {
    reason = u.reason;
  } catch (const InternalError& e) {  // a node that the core does not have, such as a bool contraction
    reason = fmt::format("{} with these operands is not supported ({})", opcode, e.what());
  }
  if (mapped_) throw Unsupported{reason};
  // What was made before the lowering gave up must not stay: a collective in it would be taken for one of the program.
  rewind(before);
  stamp();
  return opaque(call, reason);
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
    if (!ins.op_name.empty() && op_names[ins.op_name] == 1 &&
        std::find(in.aliases.begin(), in.aliases.end(), ins.op_name) == in.aliases.end()) {
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

Result<frontend::Program> lower_hlo(const hlo::Module& module, const frontend::ConstantSource& constants, int64_t keep_loops) {
  try {
    return HloLowering(module, constants, keep_loops).run();
  } catch (Refused& r) {
    return std::move(r.diagnostic);
  }
}

}  // namespace shardproof::lower
