// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Functions and operators. The table of what becomes what is in read_stablehlo.cpp.
#include "frontend/stablehlo/convert.h"

#include <algorithm>

#include "fmt/format.h"

namespace shardproof::stablehlo {
namespace {

bool is_terminator(std::string_view name) {
  return name == "func.return" || name == "stablehlo.return" || name == "sdy.return" || name == "mhlo.return";
}

}  // namespace

bool same_type(const hlo::Type& a, const hlo::Type& b) {
  if (a.tuple != b.tuple || a.dtype != b.dtype || a.float_format != b.float_format || a.shape != b.shape ||
      a.elements.size() != b.elements.size())
    return false;
  for (size_t k = 0; k < a.elements.size(); ++k)
    if (!same_type(a.elements[k], b.elements[k])) return false;  // as deep as kMaxTypeDepth
  return true;
}

std::string hlo_opcode(std::string_view op) {
  static const std::unordered_map<std::string_view, std::string_view> special = {{"stablehlo.dot_general", "dot"},
                                                                                 {"stablehlo.broadcast_in_dim", "broadcast"},
                                                                                 {"stablehlo.optimization_barrier", "opt-barrier"},
                                                                                 {"stablehlo.create_token", "after-all"},
                                                                                 {"stablehlo.composite", "call"},
                                                                                 {"func.call", "call"},
                                                                                 {"stablehlo.case", "conditional"},
                                                                                 {"stablehlo.if", "conditional"},
                                                                                 {"sdy.sharding_constraint", "sharding-constraint"},
                                                                                 {"sdy.reshard", "sharding-constraint"},
                                                                                 {"sdy.propagation_barrier", "sharding-constraint"},
                                                                                 {"sdy.manual_computation", "manual-computation"},
                                                                                 {"sdy.named_computation", "call"},
                                                                                 {"sdy.constant", "constant"},
                                                                                 {"arith.constant", "constant"},
                                                                                 {"chlo.constant", "constant"},
                                                                                 {"chlo.erf", "erf"},
                                                                                 {"chlo.tan", "tan"},
                                                                                 {"chlo.top_k", "topk"},
                                                                                 {"chlo.acos", "acos"},
                                                                                 {"chlo.acosh", "acosh"},
                                                                                 {"chlo.asin", "asin"},
                                                                                 {"chlo.asinh", "asinh"},
                                                                                 {"chlo.atan", "atan"},
                                                                                 {"chlo.atanh", "atanh"},
                                                                                 {"chlo.cosh", "cosh"},
                                                                                 {"chlo.sinh", "sinh"}};
  auto it = special.find(op);
  if (it != special.end()) return std::string(it->second);
  if (!op.starts_with("stablehlo.")) return std::string(op);
  std::string name(op.substr(10));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

Converter::Converter(std::string_view text, const std::string& path, Tree& tree, Parser& parser)
    : text_(text), path_(path), tree_(tree), parser_(parser) {
  line_starts_.push_back(0);
  for (size_t k = 0; k < text.size(); ++k)
    if (text[k] == '\n') line_starts_.push_back(k + 1);
}

void Converter::fail(const Op& op, std::string message, const char* code) {
  parser_.fail(op.offset, fmt::format("{}: {}", op.name, message), code);
}

hlo::Module Converter::run() {
  module_.path = path_;
  module_.name = tree_.module_name;
  module_.dialect = hlo::Module::Dialect::StableHlo;
  meshes();
  module_attributes();
  functions();
  find_facts();
  return std::move(module_);
}

void Converter::module_attributes() {
  for (const NamedAttr& a : tree_.module_attrs) {
    if (a.name == "mhlo.num_partitions" && a.value.kind == Attr::Kind::Int) module_.num_partitions = a.value.i;
    if (a.name == "mhlo.num_replicas" && a.value.kind == Attr::Kind::Int) module_.replica_count = a.value.i;
    if (a.name == "mhlo.input_output_alias" && a.value.kind == Attr::Kind::Array) {
      // [{alias = {kind = ..., parameter_index = [], parameter_number = 0}, output_index = [1]}]
      for (const Attr& item : a.value.items) {
        int64_t output = -1, parameter = -1;
        bool nested = false;
        for (const auto& [key, value] : item.entries) {
          if (key == "output_index") {
            if (value.items.size() > 1) nested = true;
            output = value.items.empty() ? 0 : value.items[0].i;
          }
          if (key == "alias") {
            for (const auto& [k, v] : value.entries) {
              if (k == "parameter_number") parameter = v.i;
              if (k == "parameter_index" && !v.items.empty()) nested = true;
            }
          }
        }
        if (output >= 0 && parameter >= 0 && !nested) module_.donations.emplace_back(output, parameter);
      }
    }
  }
}

void Converter::functions() {
  std::vector<const Op*> found;
  for (const Op& op : tree_.ops) {
    if (op.name != "func.func") {
      if (op.name != "sdy.mesh")
        module_.notes.push_back(fmt::format("line {}: '{}' outside of functions is not read", text_line(op.offset), op.name));
      continue;
    }
    const Attr* name = op.find("sym_name");
    if (!name || name->string.empty()) fail(op, "expected a function name");
    if (op.regions.empty() || op.regions[0].ops.empty()) continue;  // a declaration: a call of it finds no computation
    if (!functions_.emplace(name->string, static_cast<uint32_t>(found.size())).second)
      fail(op, fmt::format("the function @{} is defined twice", name->string));
    found.push_back(&op);
  }
  if (found.empty()) {
    throw Fail{Diagnostic{"SP241", "no function with a body: expected a module with func.func @main", path_, 1, 1}};
  }
  // Entry: @main, else the only public function, else the only function.
  std::optional<uint32_t> entry;
  auto main = functions_.find("main");
  if (main != functions_.end()) {
    entry = main->second;
  } else {
    int publics = 0;
    for (uint32_t k = 0; k < found.size(); ++k) {
      const Attr* visibility = found[k]->find("sym_visibility");
      if (found.size() == 1 || !visibility || visibility->string == "public") {
        entry = k;
        ++publics;
      }
    }
    if (publics != 1)
      fail(*found[0], "the module has no function @main and not exactly one public function: expected func.func public @main");
  }
  module_.entry = *entry;
  module_.computations.resize(found.size());
  for (uint32_t k = 0; k < found.size(); ++k) function(*found[k], k, k == *entry);
}

void Converter::function(const Op& op, uint32_t index, bool entry) {
  Builder b;
  b.computation.name = op.find("sym_name")->string;
  const Region& region = op.regions[0];
  // Argument and result attributes: with the arguments (pretty) or as arg_attrs, res_attrs (generic).
  std::vector<const Attr*> args, results;
  const Attr* arg_attrs = resolve(op.find("arg_attrs"));
  for (size_t k = 0; k < region.args.size(); ++k)
    args.push_back(arg_attrs && k < arg_attrs->items.size() ? resolve(&arg_attrs->items[k]) : &region.args[k].attrs);
  const Attr* res_attrs = resolve(op.find("res_attrs"));
  if (res_attrs)
    for (const Attr& a : res_attrs->items) results.push_back(resolve(&a));
  std::vector<TypeId> result_types = op.result_types;
  if (const Attr* type = resolve(op.find("function_type"))) {
    if (type->kind != Attr::Kind::Type || type->ins.size() != region.args.size())
      fail(op, fmt::format("function_type does not fit the {} arguments of the body", region.args.size()));
    result_types = type->outs;
  }
  for (size_t k = 0; k < region.args.size(); ++k) {
    const BlockArg& arg = region.args[k];
    hlo::Instruction i = make(op, "parameter", tree_.types[arg.type]);
    i.name = std::string(arg.name);
    i.parameter_number = static_cast<int64_t>(k);
    const Place& where = place(arg.loc);
    i.op_name = where.op_name;
    i.file = where.file;
    i.line = where.line;
    i.sharding = sharding(*args[k]);
    uint32_t id = add(b, std::move(i));
    b.computation.parameters.push_back(id);
    bind(op, b, std::string(arg.name), id);
  }
  for (const Op& inner : region.ops) convert(inner, b);
  if (!b.terminated) fail(op, "the function has no return");
  if (b.returned.size() != result_types.size())
    fail(op, fmt::format("the function returns {} values, expected {} for its type", b.returned.size(), result_types.size()));
  for (size_t k = 0; k < result_types.size(); ++k)
    if (!same_type(b.type(b.returned[k]), tree_.types[result_types[k]]))
      fail(op, fmt::format("result {} has another type than the function states", k));
  results.resize(result_types.size(), nullptr);
  if (entry) {
    entry_attributes(op, args, results);
    for (size_t k = 0; k < b.returned.size(); ++k) {
      // xla.sdy.FuncResultSharding states what the result attribute leaves out.
      const hlo::Instruction& i = b.computation.instructions[b.returned[k]];
      auto& stated = module_.output_shardings[k];
      if (i.custom_call_target == "xla.sdy.FuncResultSharding" && i.sharding.syntax == frontend::StatedSharding::Syntax::Sdy &&
          stated.syntax != i.sharding.syntax)
        stated = i.sharding;
    }
  }
  finish(op, b);
  module_.computations[index] = std::move(b.computation);
}

void Converter::entry_attributes(const Op& op, const std::vector<const Attr*>& args, const std::vector<const Attr*>& results) {
  const Region& region = op.regions[0];
  for (size_t k = 0; k < args.size(); ++k) {
    module_.parameter_shardings.push_back(sharding(*args[k]));
    std::string name;
    for (const auto& [key, value] : args[k]->entries) {
      if (key == "jax.arg_info" && value.kind == Attr::Kind::String) name = value.string;
      if (key == "tf.aliasing_output" && value.kind == Attr::Kind::Int) {
        if (value.i < 0 || value.i >= static_cast<int64_t>(results.size()))
          fail(op, fmt::format("tf.aliasing_output = {} is not a result: expected 0 to {}", value.i, results.size()));
        module_.donations.emplace_back(value.i, static_cast<int64_t>(k));
      }
    }
    std::string located = argument_name(region.args[k].loc);
    module_.argument_names.push_back(!located.empty() ? located : name);
  }
  for (const Attr* attrs : results) {
    module_.output_shardings.push_back(attrs ? sharding(*attrs) : frontend::StatedSharding{});
    std::string name;
    if (attrs)
      for (const auto& [key, value] : attrs->entries)
        if (key == "jax.result_info" && value.kind == Attr::Kind::String) name = value.string;
    module_.result_names.push_back(std::move(name));
  }
  std::sort(module_.donations.begin(), module_.donations.end());
  module_.donations.erase(std::unique(module_.donations.begin(), module_.donations.end()), module_.donations.end());
}

// --- building

uint32_t Converter::add(Builder& b, hlo::Instruction i) {
  b.computation.instructions.push_back(std::move(i));
  return static_cast<uint32_t>(b.computation.instructions.size() - 1);
}

hlo::Instruction Converter::make(const Op& op, std::string opcode, hlo::Type type) {
  hlo::Instruction i;
  i.name = op.results.empty() ? fmt::format("{}.{}", opcode, names_++) : std::string(op.results[0].name);
  i.opcode = std::move(opcode);
  i.type = std::move(type);
  const Place& where = place(op.loc);
  i.op_name = where.op_name;
  i.file = where.file;
  i.line = where.line;
  i.text_line = text_line(op.offset);
  return i;
}

uint32_t Converter::lookup(const Op& op, std::string_view name, const Builder& b) {
  std::string key(name);
  auto it = b.values.find(key);
  if (it == b.values.end() && key.ends_with("#0")) it = b.values.find(key.substr(0, key.size() - 2));
  if (it == b.values.end() && key.find('#') == std::string::npos) it = b.values.find(key + "#0");
  if (it == b.values.end()) fail(op, fmt::format("%{} is not defined here: expected a value that is defined before its use", name));
  return it->second;
}

std::vector<uint32_t> Converter::operands(const Op& op, const Builder& b) {
  std::vector<uint32_t> ids;
  for (std::string_view name : op.operands) ids.push_back(lookup(op, name, b));
  return ids;
}

void Converter::check_operand_types(const Op& op, const std::vector<uint32_t>& ids, const Builder& b) {
  auto check = [&](size_t k, TypeId type) {
    if (!same_type(b.type(ids[k]), tree_.types[type]))
      fail(op, fmt::format("operand {} (%{}) was defined with another type than is written here", k, op.operands[k]));
  };
  if (!op.has_arrow && (op.name == "stablehlo.complex" || op.name == "stablehlo.tuple")) return;  // the one type is the result's
  if (op.operand_types.size() == ids.size()) {
    for (size_t k = 0; k < ids.size(); ++k) check(k, op.operand_types[k]);
  } else if (op.has_arrow) {
    fail(op, fmt::format("{} operands, expected {} for the types written", ids.size(), op.operand_types.size()));
  } else if (op.name == "stablehlo.select" && ids.size() == 3 && op.operand_types.size() == 2) {
    check(0, op.operand_types[0]);
    check(1, op.operand_types[1]);
    check(2, op.operand_types[1]);
  } else if (op.operand_types.size() == 1) {
    for (size_t k = 0; k < ids.size(); ++k) check(k, op.operand_types[0]);  // one type for operands and results
  }
}

std::vector<hlo::Type> Converter::results(const Op& op, const Builder& b) {
  std::vector<hlo::Type> types;
  int64_t named = 0;
  for (const OpResult& r : op.results) named += r.count;
  if (op.has_arrow || !op.result_types.empty()) {
    for (TypeId t : op.result_types) types.push_back(tree_.types[t]);
  } else if (op.name == "stablehlo.select" && op.operand_types.size() == 2) {
    types.push_back(tree_.types[op.operand_types[1]]);
  } else if (static_cast<int64_t>(op.operand_types.size()) == named) {
    for (TypeId t : op.operand_types) types.push_back(tree_.types[t]);
  } else if (op.operand_types.size() == 1) {
    for (int64_t k = 0; k < named; ++k) types.push_back(tree_.types[op.operand_types[0]]);
  } else if (named > 0) {
    fail(op, fmt::format("expected the types of {} results after ':'", named));
  }
  if (named > 0 && named != static_cast<int64_t>(types.size()))
    fail(op, fmt::format("{} results are named, expected {} for its types", named, types.size()));
  (void)b;
  return types;
}

hlo::Type Converter::type_of(const std::vector<hlo::Type>& types) const {
  if (types.size() == 1) return types[0];
  hlo::Type tuple;
  tuple.tuple = true;
  tuple.elements = types;
  return tuple;
}

void Converter::bind(const Op& op, Builder& b, std::string name, uint32_t index) {
  if (!b.values.emplace(std::move(name), index).second) fail(op, "a value of this name is defined already: expected a new name");
}

// Names the results of instruction `index`: itself, or get-tuple-element of it.
void Converter::define(const Op& op, Builder& b, uint32_t index, const std::vector<hlo::Type>& types) {
  bool tuple = types.size() != 1;
  size_t k = 0;
  for (const OpResult& r : op.results) {
    for (int64_t n = 0; n < r.count; ++n, ++k) {
      std::string name = r.grouped ? fmt::format("{}#{}", r.name, n) : std::string(r.name);
      uint32_t id = index;
      if (tuple) {
        hlo::Instruction get = make(op, "get-tuple-element", types[k]);
        get.name = name;
        get.operands = {index};
        get.tuple_index = static_cast<int64_t>(k);
        id = add(b, std::move(get));
      }
      bind(op, b, std::move(name), id);
    }
  }
}

void Converter::finish(const Op& op, Builder& b) {
  b.computation.root = b.returned.size() == 1 ? b.returned[0] : make_tuple(op, b, b.returned, "results");
}

uint32_t Converter::make_tuple(const Op& op, Builder& b, const std::vector<uint32_t>& parts, const char* suffix) {
  hlo::Type type;
  type.tuple = true;
  for (uint32_t id : parts) type.elements.push_back(b.type(id));
  hlo::Instruction tuple = make(op, "tuple", std::move(type));
  tuple.name = op.results.empty() ? fmt::format("{}.{}", suffix, names_++) : fmt::format("{}.{}", op.results[0].name, suffix);
  tuple.operands = parts;
  return add(b, std::move(tuple));
}

void Converter::constant(const Op& op, Builder& b) {
  std::vector<hlo::Type> types = results(op, b);
  if (types.size() != 1) fail(op, "expected one result");
  hlo::Instruction i = make(op, "constant", types[0]);
  i.sharding = sharding(op.attrs);
  const Attr* value = resolve(op.find("value"));
  if (!value) fail(op, "expected a value such as dense<1.0> : tensor<f32>");
  bool number = value->kind == Attr::Kind::Int || value->kind == Attr::Kind::Float;
  if (value->kind == Attr::Kind::Dense || value->kind == Attr::Kind::Resource) {
    if (!same_type(tree_.types[value->type], types[0])) fail(op, "the value has another type than the result");
    Dense dense = decode_dense(*value, types[0], tree_, parser_);
    if (dense.known) i.literal = std::make_shared<const std::vector<ir::Literal>>(std::move(dense.values));
  } else if (number && !types[0].tuple && types[0].shape.empty()) {
    double real = value->kind == Attr::Kind::Float ? value->d : static_cast<double>(value->i);
    ir::DType t = types[0].dtype;
    if (ir::is_int(t) && value->kind == Attr::Kind::Int)
      i.literal = std::make_shared<const std::vector<ir::Literal>>(1, ir::Literal::integer(value->i, t));
    if (ir::is_float(t)) i.literal = std::make_shared<const std::vector<ir::Literal>>(1, ir::Literal::real(round_to(real, t), t));
  }
  if (!i.literal) {
    i.other.emplace_back("unknown_value", "true");
    module_.notes.push_back(
        fmt::format("line {}: the value of constant %{} is not in the file (elided, or of a type that is not read)", i.text_line, i.name));
  }
  uint32_t id = add(b, std::move(i));
  define(op, b, id, types);
}

// mhlo.* targets are operators that StableHLO has no word for.
void Converter::custom_call(const Op& op, Builder& b) {
  std::vector<hlo::Type> types = results(op, b);
  std::vector<uint32_t> ids = operands(op, b);
  check_operand_types(op, ids, b);
  const Attr* target = get(op, "call_target_name");
  std::string name = target ? target->string : "";
  if (name.empty()) fail(op, "expected a target such as @Sharding");
  std::string opcode = name == "mhlo.erf" ? "erf" : name == "mhlo.tan" ? "tan" : name == "mhlo.topk" ? "topk" : "custom-call";
  hlo::Instruction i = make(op, opcode, type_of(types));
  i.operands = ids;
  i.sharding = sharding(op.attrs);
  if (opcode == "custom-call") {
    i.custom_call_target = name;
    if (const Attr* config = get(op, "backend_config"))
      i.backend_config = config->kind == Attr::Kind::String ? config->string : verbatim(*config);
  } else if (const Attr* dict = get(op, "mhlo.attributes"); dict && dict->kind == Attr::Kind::Dict) {
    for (const auto& [key, value] : dict->entries)
      i.other.emplace_back(key, value.kind == Attr::Kind::Int ? fmt::format("{}", value.i) : verbatim(value));
  }
  // An operator with regions behind a custom call is not ours to read.
  if (!op.regions.empty()) fail(op, "a custom call with regions is not supported", "SP241");
  if (const Attr* called = get(op, "called_computations"); called && called->kind == Attr::Kind::Array) {
    for (const Attr& c : called->items) {
      auto it = functions_.find(c.string);
      if (it == functions_.end()) fail(op, fmt::format("the function @{} is not in the module", c.string));
      i.called.push_back(it->second);
    }
  }
  attributes(op, i, b);
  define(op, b, add(b, std::move(i)), types);
}

void Converter::convert(const Op& op, Builder& b) {
  if (b.terminated) fail(op, "expected no operator after the return of the block");
  used_.clear();
  if (is_terminator(op.name)) {
    b.returned = operands(op, b);
    check_operand_types(op, b.returned, b);
    b.terminated = true;
    return;
  }
  std::string_view n = op.name;
  if (n == "stablehlo.constant" || n == "sdy.constant" || n == "arith.constant" || n == "chlo.constant") return constant(op, b);
  if (n == "stablehlo.custom_call") return custom_call(op, b);
  if (n == "stablehlo.while") return while_op(op, b);
  if (n == "stablehlo.case" || n == "stablehlo.if") return branch_op(op, b);
  if (n == "sdy.manual_computation" || n == "sdy.named_computation") return manual_op(op, b);
  if (n == "sdy.sharding_group") {  // ties shardings together, computes nothing
    module_.notes.push_back(fmt::format("line {}: sdy.sharding_group is not read", text_line(op.offset)));
    return;
  }
  std::vector<hlo::Type> types = results(op, b);
  std::vector<uint32_t> ids = operands(op, b);
  check_operand_types(op, ids, b);
  hlo::Instruction i = make(op, hlo_opcode(n), type_of(types));
  i.operands = ids;
  i.sharding = sharding(op.attrs);
  if (n == "chlo.square" && ids.size() == 1) {
    i.opcode = "multiply";
    i.operands = {ids[0], ids[0]};
  }
  if (n == "func.call" || n == "stablehlo.composite") {
    const Attr* callee = get(op, n == "func.call" ? "callee" : "decomposition");
    auto it = callee ? functions_.find(callee->string) : functions_.end();
    if (it == functions_.end()) fail(op, fmt::format("the function @{} is not in the module", callee ? callee->string : ""));
    i.called.push_back(it->second);
  }
  for (const Region& region : op.regions) i.called.push_back(flat_region(op, region, b));
  used_.clear();
  attributes(op, i, b);
  define(op, b, add(b, std::move(i)), types);
}

// --- facts of the module as a whole

void Converter::find_facts() {
  // Calls must not form a cycle: whoever walks the module inlines them.
  size_t n = module_.computations.size();
  std::vector<std::vector<uint32_t>> edges(n);
  bool local_shapes = false, shard_shape = false;
  std::vector<char> collective(n, 0);
  std::vector<std::vector<char>> manual(n);
  static const std::unordered_set<std::string_view> collectives = {"all-reduce",   "all-gather",         "reduce-scatter",
                                                                   "all-to-all",   "collective-permute", "collective-broadcast",
                                                                   "partition-id", "replica-id"};
  for (size_t c = 0; c < n; ++c) {
    for (const hlo::Instruction& i : module_.computations[c].instructions) {
      if (collectives.count(i.opcode)) collective[c] = 1;
      if (i.custom_call_target == "SPMDFullToShardShape") shard_shape = true;
      for (uint32_t callee : i.called) {
        edges[c].push_back(callee);
        manual[c].push_back(i.opcode == "manual-computation");
      }
    }
  }
  std::vector<char> color(n, 0);
  std::vector<std::pair<uint32_t, size_t>> stack;
  for (uint32_t start = 0; start < n; ++start) {
    if (color[start]) continue;
    stack.emplace_back(start, 0);
    color[start] = 1;
    while (!stack.empty()) {
      auto& [c, next] = stack.back();
      if (next == edges[c].size()) {
        color[c] = 2;
        stack.pop_back();
        continue;
      }
      uint32_t callee = edges[c][next++];
      if (color[callee] == 1)
        throw Fail{
            Diagnostic{"SP241",
                       fmt::format("the functions of the module call each other in a circle through @{}: expected calls without recursion",
                                   module_.computations[callee].name),
                       path_, 1, 1}};
      if (color[callee] == 0) {
        color[callee] = 1;
        stack.emplace_back(callee, 0);
      }
    }
  }
  // Calls fit the functions they call.
  for (const hlo::Computation& c : module_.computations) {
    for (const hlo::Instruction& i : c.instructions) {
      if (i.opcode != "call" || i.called.size() != 1) continue;
      const hlo::Computation& f = module_.computations[i.called[0]];
      bool fits = f.parameters.size() == i.operands.size() && same_type(f.instructions[f.root].type, i.type);
      for (size_t k = 0; fits && k < i.operands.size(); ++k)
        fits = same_type(f.instructions[f.parameters[k]].type, c.instructions[i.operands[k]].type);
      if (!fits)
        throw Fail{Diagnostic{"SP240",
                              fmt::format("the call of @{} has other types than the function: expected its {} arguments and its results",
                                          f.name, f.parameters.size()),
                              path_, i.text_line, 1}};
    }
  }
  // Collectives outside of manual computations mean that the whole program is per device (after partitioning).
  std::vector<char> seen(n, 0);
  std::vector<uint32_t> work{module_.entry};
  seen[module_.entry] = 1;
  while (!work.empty()) {
    uint32_t c = work.back();
    work.pop_back();
    if (collective[c]) local_shapes = true;
    for (size_t k = 0; k < edges[c].size(); ++k) {
      if (manual[c][k] || seen[edges[c][k]]) continue;
      seen[edges[c][k]] = 1;
      work.push_back(edges[c][k]);
    }
  }
  module_.is_spmd = local_shapes && !shard_shape;
}

}  // namespace shardproof::stablehlo
