// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Regions as computations: reducers (flat), loops and branches (one tuple parameter, as HLO has it), manual computations (flat).
#include "fmt/format.h"
#include "frontend/stablehlo/convert.h"

namespace shardproof::stablehlo {

uint32_t Converter::store(Builder& b) {
  module_.computations.push_back(std::move(b.computation));
  return static_cast<uint32_t>(module_.computations.size() - 1);
}

// Names used in the regions of `op` but defined outside, in order of first use. Depth is bounded by the parser.
std::vector<std::string> Converter::free_names(const Op& op) {
  std::unordered_set<std::string> bound, seen;
  std::vector<std::string> out;
  for (const Region& region : op.regions) free_names(region, bound, seen, out);
  return out;
}

void Converter::free_names(const Region& region, std::unordered_set<std::string>& bound, std::unordered_set<std::string>& seen,
                           std::vector<std::string>& out) {
  for (const BlockArg& arg : region.args) bound.insert(std::string(arg.name));
  for (const Op& op : region.ops) {
    for (std::string_view operand : op.operands) {
      std::string base(operand.substr(0, operand.find('#')));
      if (!bound.count(base) && seen.insert(std::string(operand)).second) out.emplace_back(operand);
    }
    for (const Region& inner : op.regions) free_names(inner, bound, seen, out);
    for (const OpResult& r : op.results) bound.insert(std::string(r.name));
  }
}

void Converter::split_free(const Op& op, const Builder& b, Outside outside, std::vector<std::string>* constants,
                           std::vector<std::string>* captured) {
  for (const std::string& name : free_names(op)) {
    const hlo::Instruction& i = b.computation.instructions[lookup(op, name, b)];
    if (i.opcode == "constant" || i.opcode == "iota") {
      constants->push_back(name);
    } else if (outside == Outside::Parameters) {
      captured->push_back(name);
    } else {
      fail(op,
           fmt::format("its region uses %{}, which is defined outside and is no constant: expected a region that only uses its arguments",
                       name),
           "SP241");
    }
  }
}

void Converter::copy_constants(const std::vector<std::string>& names, const Builder& from, Builder& to) {
  for (const std::string& name : names) {
    auto it = from.values.find(name);
    if (it == from.values.end()) it = from.values.find(name + "#0");
    if (it == from.values.end()) it = from.values.find(name.substr(0, name.find('#')));
    if (it == from.values.end()) continue;  // lookup has found it before, so this does not happen
    uint32_t id = add(to, from.computation.instructions[it->second]);
    to.values.emplace(name, id);
  }
}

// Parameters are the region's arguments.
uint32_t Converter::flat_region(const Op& op, const Region& region, const Builder& b) {
  Builder inner;
  inner.computation.name = fmt::format("{}.region.{}", hlo_opcode(op.name), names_++);
  std::vector<std::string> constants, captured;
  split_free(op, b, Outside::Constants, &constants, &captured);
  for (size_t k = 0; k < region.args.size(); ++k) {
    const BlockArg& arg = region.args[k];
    hlo::Instruction p = make(op, "parameter", tree_.types[arg.type]);
    p.name = std::string(arg.name);
    p.parameter_number = static_cast<int64_t>(k);
    uint32_t id = add(inner, std::move(p));
    inner.computation.parameters.push_back(id);
    bind(op, inner, std::string(arg.name), id);
  }
  copy_constants(constants, b, inner);
  for (const Op& o : region.ops) convert(o, inner);
  if (!inner.terminated) fail(op, "its region has no return");
  finish(op, inner);
  return store(inner);
}

// One tuple parameter: the region's arguments, then the captured values. With pass_captured the result is a tuple that ends with the
// captured values again (loop bodies).
uint32_t Converter::tuple_region(const Op& op, const Region& region, const Builder& b, const std::vector<std::string>& constants,
                                 const std::vector<std::string>& captured, uint32_t tuple, bool pass_captured) {
  Builder inner;
  inner.computation.name = fmt::format("{}.region.{}", hlo_opcode(op.name), names_++);
  const hlo::Type& type = b.type(tuple);
  size_t count = region.args.size();
  if (count + captured.size() != type.elements.size())
    fail(op, fmt::format("a region has {} arguments, expected {}", count, type.elements.size() - captured.size()));
  hlo::Instruction p = make(op, "parameter", type);
  p.name = "arg";
  p.parameter_number = 0;
  uint32_t parameter = add(inner, std::move(p));
  inner.computation.parameters.push_back(parameter);
  std::vector<uint32_t> outside;
  for (size_t k = 0; k < type.elements.size(); ++k) {
    std::string name = k < count ? std::string(region.args[k].name) : captured[k - count];
    if (k < count && !same_type(tree_.types[region.args[k].type], type.elements[k]))
      fail(op, fmt::format("argument {} of a region has another type than its operand", k));
    hlo::Instruction get = make(op, "get-tuple-element", type.elements[k]);
    get.name = name;
    get.operands = {parameter};
    get.tuple_index = static_cast<int64_t>(k);
    uint32_t id = add(inner, std::move(get));
    if (k >= count) outside.push_back(id);
    bind(op, inner, std::move(name), id);
  }
  copy_constants(constants, b, inner);
  for (const Op& o : region.ops) convert(o, inner);
  if (!inner.terminated) fail(op, "its region has no return");
  if (pass_captured) {
    inner.returned.insert(inner.returned.end(), outside.begin(), outside.end());
    inner.computation.root = make_tuple(op, inner, inner.returned, "next");
  } else {
    finish(op, inner);
  }
  return store(inner);
}

// HLO: while(tuple), condition, body over that tuple; results by get-tuple-element.
void Converter::while_op(const Op& op, Builder& b) {
  std::vector<hlo::Type> types = results(op, b);
  std::vector<uint32_t> ids = operands(op, b);
  if (op.regions.size() != 2) fail(op, "expected two regions, condition and body");
  if (ids.size() != types.size()) fail(op, fmt::format("{} operands, expected {} as there are results", ids.size(), types.size()));
  for (size_t k = 0; k < ids.size(); ++k)
    if (!same_type(b.type(ids[k]), types[k])) fail(op, fmt::format("operand {} was defined with another type than is written here", k));
  std::vector<std::string> constants, captured;
  split_free(op, b, Outside::Parameters, &constants, &captured);
  for (const std::string& name : captured) ids.push_back(lookup(op, name, b));
  uint32_t tuple = make_tuple(op, b, ids, "init");
  hlo::Type type = b.type(tuple);
  hlo::Instruction i = make(op, "while", type);
  i.operands = {tuple};
  i.sharding = sharding(op.attrs);
  uint32_t condition = tuple_region(op, op.regions[0], b, constants, captured, tuple, false);
  uint32_t body = tuple_region(op, op.regions[1], b, constants, captured, tuple, true);
  const hlo::Computation& c = module_.computations[condition];
  const hlo::Type& flag = c.instructions[c.root].type;
  if (flag.tuple || flag.dtype != ir::DType::Bool || !flag.shape.empty()) fail(op, "the condition returns no tensor<i1>");
  const hlo::Computation& d = module_.computations[body];
  if (!same_type(d.instructions[d.root].type, type)) fail(op, "the body returns other types than it takes");
  i.called = {condition, body};
  uint32_t id = add(b, std::move(i));
  // `define` would take a single result for the instruction itself; a loop is always a tuple here.
  size_t k = 0;
  for (const OpResult& r : op.results) {
    for (int64_t n = 0; n < r.count; ++n, ++k) {
      std::string name = r.grouped ? fmt::format("{}#{}", r.name, n) : std::string(r.name);
      hlo::Instruction get = make(op, "get-tuple-element", types[k]);
      get.name = name;
      get.operands = {id};
      get.tuple_index = static_cast<int64_t>(k);
      bind(op, b, name, add(b, std::move(get)));
    }
  }
}

// HLO: conditional(selector, operand of branch 0, ...): every branch takes one tuple, here of the values that its region uses from outside.
void Converter::branch_op(const Op& op, Builder& b) {
  std::vector<hlo::Type> types = results(op, b);
  std::vector<uint32_t> ids = operands(op, b);
  if (ids.size() != 1 || op.regions.empty()) fail(op, "expected one operand and at least one region");
  bool predicate = op.name == "stablehlo.if";
  const hlo::Type& selector = b.type(ids[0]);
  if (!selector.shape.empty() || selector.dtype != (predicate ? ir::DType::Bool : ir::DType::I32))
    fail(op, predicate ? "expected an operand tensor<i1>" : "expected an operand tensor<i32>");
  if (predicate && op.regions.size() != 2) fail(op, "expected two regions");
  std::vector<std::string> constants, captured;
  split_free(op, b, Outside::Parameters, &constants, &captured);
  std::vector<uint32_t> outside;
  for (const std::string& name : captured) outside.push_back(lookup(op, name, b));
  uint32_t tuple = make_tuple(op, b, outside, "captured");
  hlo::Type type = type_of(types);
  hlo::Instruction i = make(op, "conditional", type);
  i.operands = {ids[0]};
  i.sharding = sharding(op.attrs);
  for (const Region& region : op.regions) {
    i.operands.push_back(tuple);
    uint32_t branch = tuple_region(op, region, b, constants, captured, tuple, false);
    const hlo::Computation& c = module_.computations[branch];
    if (!same_type(c.instructions[c.root].type, type)) fail(op, "a branch returns other types than the operator states");
    i.called.push_back(branch);
  }
  define(op, b, add(b, std::move(i)), types);
}

void Converter::manual_op(const Op& op, Builder& b) {
  std::vector<hlo::Type> types = results(op, b);
  std::vector<uint32_t> ids = operands(op, b);
  check_operand_types(op, ids, b);
  if (op.regions.size() != 1 || op.regions[0].args.size() != ids.size())
    fail(op, fmt::format("expected one region with {} arguments", ids.size()));
  hlo::Instruction i = make(op, hlo_opcode(op.name), type_of(types));
  i.operands = ids;
  if (op.name == "sdy.manual_computation") {
    i.in_shardings = shardings_per_value(op.find("in_shardings"));
    i.out_shardings = shardings_per_value(op.find("out_shardings"));
    if (i.in_shardings.size() != ids.size()) fail(op, fmt::format("{} in_shardings, expected {}", i.in_shardings.size(), ids.size()));
    if (i.out_shardings.size() != types.size())
      fail(op, fmt::format("{} out_shardings, expected {}", i.out_shardings.size(), types.size()));
    const Attr* axes = resolve(op.find("manual_axes"));
    if (!axes) fail(op, "expected manual_axes={...}");
    if (axes->kind == Attr::Kind::Dict) {
      for (const auto& entry : axes->entries) i.manual_axes.push_back(entry.name);
    } else {  // #sdy<manual_axes{"a", "b"}>
      std::string_view text = axes->text;
      for (size_t k = text.find('"'); k != std::string_view::npos; k = text.find('"', k)) {
        size_t close = text.find('"', k + 1);
        if (close == std::string_view::npos) break;
        i.manual_axes.push_back(Parser::unescape(text.substr(k + 1, close - k - 1)));
        k = close + 1;
      }
    }
  }
  uint32_t body = flat_region(op, op.regions[0], b);
  i.called = {body};
  const hlo::Computation& c = module_.computations[body];
  size_t returned = c.instructions[c.root].opcode == "tuple" && types.size() != 1 ? c.instructions[c.root].operands.size() : 1;
  if (returned != types.size()) fail(op, fmt::format("the body returns {} values, expected {}", returned, types.size()));
  define(op, b, add(b, std::move(i)), types);
}

}  // namespace shardproof::stablehlo
