// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// lower_fx: walks an FX graph once, in program order. Each value is evaluated to a Value (aten.h); tensors are nodes behind the alias
// model of aten_memory.h. After each operator the result is compared with the shape and type that the text states for it: a lowering
// that disagrees with PyTorch about them is an error at that line, not a wrong proof later.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/aten.h"
#include "lower/kernels.h"
#include "lower/lower.h"

namespace shardproof::lower::aten {

namespace {

constexpr int kMaxDepth = 32;  // of submodules called from submodules

struct DiagnosticError {  // leaves an inlined submodule
  Diagnostic error;
};

// A variable that has another value until the end of this scope.
template <typename T>
struct Restore {
  T& variable;
  T before;
  Restore(T& v, T now) : variable(v), before(v) { variable = std::move(now); }
  ~Restore() { variable = before; }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;
};

// "ParamAOTInput(target='layers.0.wq.weight')" -> layers.0.wq.weight; likewise through nested descriptors.
std::string descriptor_target(const std::string& descriptor) {
  const std::string_view key = "target='";
  const size_t at = descriptor.find(key);
  if (at == std::string::npos) return "";
  const size_t end = descriptor.find('\'', at + key.size());
  return end == std::string::npos ? "" : descriptor.substr(at + key.size(), end - at - key.size());
}

// The text between the outermost brackets after `key`.
std::string nested(const std::string& descriptor, std::string_view key) {
  const size_t at = descriptor.find(key);
  if (at == std::string::npos) return "";
  const size_t start = at + key.size();
  int open = 0;
  for (size_t k = start; k < descriptor.size(); ++k) {
    if (descriptor[k] == '(') ++open;
    if (descriptor[k] == ')' && open-- == 0) return descriptor.substr(start, k - start);
    if (descriptor[k] == ',' && open == 0) return descriptor.substr(start, k - start);
  }
  return descriptor.substr(start);
}

bool concrete(const fx::TensorType& t) { return t.known && !t.symbolic && !t.is_sym && t.dtype != DType::Invalid; }

// Why an input has no shape, and what to do about it.
std::string dynamic_size(const fx::Value& v) {
  std::vector<std::string> open;
  for (size_t d = 0; d < v.type.symbols.size(); ++d)
    if (!v.type.symbols[d].empty() && v.type.shape[d] < 0) open.push_back(v.type.symbols[d]);
  if (open.empty()) return "the type of the input " + v.name + " is not one that is known here";
  return fmt::format(
      "the input {} has the symbolic size {}: give its symbols numbers under `constants`, such as \"seq:s0\": 8 for the "
      "one-device program and \"s0\": 4 for the ranks",
      v.name, fmt::join(open, ", "));
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Operators whose result is not determined by their operands, as far as a name tells: they draw (those of PyTorch that take a generator or
// are tagged so), or give memory as it is.
bool random_name(std::string_view op) {
  for (const char* part :
       {"rand",     "dropout", "bernoulli",      "multinomial", "normal",    "uniform", "poisson", "exponential", "cauchy", "geometric",
        "binomial", "rrelu",   "standard_gamma", "dirichlet",   "attention", "rnn",     "lstm",    "gru",         "empty",  "resize"})
    if (contains(op, part)) return true;
  return false;
}

// Operators that write to statistics, noise or results that they are given, whatever their names say.
bool writes_unsaid(std::string_view op) {
  if (op.find("_functional") != std::string_view::npos || op.find("_backward") != std::string_view::npos) return false;
  for (const char* part : {"batch_norm", "instance_norm", "moving_avg", "rrelu_with_noise", "cummax_helper", "cummin_helper"})
    if (contains(op, part)) return true;
  return false;
}
bool in_place_name(std::string_view op) {
  const std::string_view packet = op.substr(0, op.rfind('.'));
  return packet.ends_with("_") || packet.ends_with("_inplace");
}

bool functional_name(std::string_view op) {
  if (!op.starts_with("aten.") && !op.starts_with("prims.") && !op.starts_with("higher_order.") && !op.starts_with("_c10d_functional."))
    return false;
  if (writes_unsaid(op)) return false;
  return !in_place_name(op) && !op.ends_with("out");
}

}  // namespace

Lowering::Lowering(const fx::Module& module, const frontend::ConstantSource& source, const Kernels& kernels)
    : constants(source), module_(module), kernels_(kernels) {
  program.kind = frontend::Program::Kind::PerRank;
  program.file = module.path;
  program.notes = module.notes;
}

void Lowering::note(const std::string& text) {
  if (std::find(notes_seen_.begin(), notes_seen_.end(), text) != notes_seen_.end()) return;
  notes_seen_.push_back(text);
  program.notes.push_back(text);
}

Value Lowering::argument(Scope& scope, const fx::Arg& a) {
  using AK = fx::Arg::Kind;
  using VK = Value::Kind;
  switch (a.kind) {
    case AK::None: return {};
    case AK::Bool: return Value::boolean(a.i != 0);
    case AK::Int: return Value::integer(a.i);
    case AK::Float: return Value::real(a.d);
    case AK::String: return Value::named(VK::String, a.text);
    case AK::Word: return Value::named(VK::Word, a.text);
    case AK::Symbol: return Value::named(VK::Symbol, a.text);
    case AK::Self: {
      Value attribute = Value::named(VK::Constant, a.text);
      attribute.i = scope.index;
      return attribute;
    }
    case AK::Name: {
      const auto it = scope.env.find(a.text);
      if (it == scope.env.end()) malformed("the name " + a.text + " is not defined here");
      return it->second;
    }
    case AK::List:
    case AK::Tuple: {
      std::vector<Value> items;
      for (const fx::Arg& x : a.items) items.push_back(argument(scope, x));  // readers bound the depth of argument trees
      return Value::list(std::move(items));
    }
    case AK::Dict:
    case AK::Call: {
      Value v = Value::named(VK::Object, a.kind == AK::Dict ? "dict" : a.text);
      for (const fx::Arg& x : a.items) v.items.push_back(argument(scope, x));
      return v;
    }
  }
  return {};
}

// Arguments as text that is equal for equal arguments: tensors by position, everything else by value.
std::string Lowering::canonical(const Value& v, bool with_tensors) const {
  using VK = Value::Kind;
  switch (v.kind) {
    case VK::None: return "None";
    case VK::Bool: return v.i ? "True" : "False";
    case VK::Int: return std::to_string(v.i);
    case VK::Float: return fmt::format("{}f", v.d);
    case VK::String: return "'" + v.text + "'";
    case VK::Tensor: return with_tensors ? "$" : "";
    case VK::List:
    case VK::Object: {
      std::string s = v.is(VK::Object) ? v.text + "(" : "[";
      for (size_t k = 0; k < v.items.size(); ++k) s += (k ? ", " : "") + canonical(v.items[k], with_tensors);
      return s + (v.is(VK::Object) ? ")" : "]");
    }
    case VK::Unknown: return "?";
    case VK::Word:
    case VK::Constant:
    case VK::Symbol: return v.text;
  }
  return "?";
}

Value Lowering::resolve_constant(const Value& attribute, const fx::TensorType* type) {
  // Attributes of different submodules may have one name.
  const auto& [graph, prefix] = graphs_.at(static_cast<size_t>(attribute.i));
  const std::string name = prefix + attribute.text;
  const auto seen = constants_seen_.find(name);
  if (seen != constants_seen_.end()) return seen->second;
  DType dtype = DType::Invalid;
  Shape shape;
  const fx::Module::Constant* in_file = nullptr;
  for (const fx::Module::Constant& c : module_.constants)
    if (c.name == name) in_file = &c;
  if (in_file) {
    dtype = in_file->dtype;
    shape = in_file->shape;
  } else if (type) {
    dtype = type->dtype;
    shape = type->shape;
  } else {
    // No annotation at the attribute itself: a first user that copies it has one.
    for (const fx::Value& v : graph->values) {
      if (v.op != fx::Value::Op::GetAttr || v.target != attribute.text) continue;
      if (concrete(v.type)) {
        dtype = v.type.dtype;
        shape = v.type.shape;
        break;
      }
      for (const fx::Value& user : graph->values) {
        const bool copies = contains(user.target, "aten.lift_fresh") || contains(user.target, "aten.clone.") ||
                            contains(user.target, "aten.detach.") || contains(user.target, "aten.alias.");
        if (!copies || !concrete(user.type) || user.args.empty() || user.args[0].kind != fx::Arg::Kind::Name || user.args[0].text != v.name)
          continue;
        dtype = user.type.dtype;
        shape = user.type.shape;
      }
    }
  }
  Value result = Value::named(Value::Kind::Unknown, "the type of the constant " + name + " is not in the text");
  if (dtype != DType::Invalid) {
    std::optional<std::vector<Literal>> values;
    if (in_file && !in_file->values.empty()) values = in_file->values;
    if (!values) values = constants.constant(name, dtype, shape);
    const int64_t n = ir::num_elements(shape);
    if (values && static_cast<int64_t>(values->size()) != n && values->size() != 1)
      malformed(fmt::format("the constant {} has {} values, its shape needs {}", name, values->size(), n));
    if (values) {
      const bool splat =
          values->size() == 1 || std::all_of(values->begin(), values->end(), [&](const Literal& x) { return x == (*values)[0]; });
      const NodeId node = splat && !values->empty() ? b.constant((*values)[0], dtype, shape) : b.dense(dtype, shape, *values);
      result = Value::of(m.fresh(node));
    } else {
      const std::string reason = "the value of the constant " + name + " is not in the text: give it under `constants`";
      // Constants of the same name in two programs need not be equal, so the file is part of the identity.
      const NodeId node = b.opaque("constant", program.file + ":" + name, {}, {{dtype, shape}})[0];
      program.unsupported.push_back({node, reason});
      result = Value::of(m.fresh(node));
    }
  }
  constants_seen_.emplace(name, result);
  return result;
}

// Contents that are equal to nothing, not even to what another rank that runs the same text has in this place.
NodeId Lowering::unknown(DType dtype, const Shape& shape) {
  return b.opaque("unknown", "", {b.uninit(DType::F32, {})}, {{dtype, shape}})[0];
}

// A value that we cannot compute but whose type we know is Opaque; else it is Unknown.
Value Lowering::opaque_value(Scope& scope, const fx::Value& v, const std::string& reason) {
  Nodes xs;
  std::vector<TensorId> tensors;
  // ATen's operators are functions of their operands, unless they draw; those of other libraries may communicate or keep a state.
  bool determined = (v.target.starts_with("aten.") || v.target.starts_with("prims.")) && !random_name(v.target);
  std::vector<Value> flat;
  std::string attrs;
  std::vector<std::string> owners;  // the argument that each tensor is in
  const auto add = [&](const std::string& key, const std::string& owner, const fx::Arg& a) {
    Value value = argument(scope, a);
    attrs += (attrs.empty() ? "" : ", ") + key + canonical(value, true);
    std::vector<const Value*> stack{&value};
    while (!stack.empty()) {
      const Value* x = stack.back();
      stack.pop_back();
      for (size_t k = x->items.size(); k-- > 0;) stack.push_back(&x->items[k]);
      if (x->is(Value::Kind::Tensor)) {
        tensors.push_back(x->tensor);
        owners.push_back(owner);
        try {
          xs.push_back(m.read(x->tensor));
        } catch (const Unsupported&) {
          determined = false;
        }
      } else if (x->is(Value::Kind::Unknown) || x->is(Value::Kind::Symbol) || x->is(Value::Kind::Constant)) {
        determined = false;
      }
    }
  };
  for (size_t k = 0; k < v.args.size(); ++k) add("", std::to_string(k), v.args[k]);
  for (const auto& [key, a] : v.kwargs) add(key + "=", key, a);
  if (v.op == fx::Value::Op::Call && !functional_name(v.target)) {
    // ATen's public in-place operators write to their first argument, out= forms to those. Of others we do not know: a private one, as the
    // check of a gradient scaler, writes to what it likes.
    const bool aten = v.target.starts_with("aten."), unsaid = writes_unsaid(v.target);
    const bool own = aten && !v.target.starts_with("aten._") && !unsaid;
    const bool others = aten && unsaid && !in_place_name(v.target);  // its first argument is what it works on
    for (size_t k = 0; k < tensors.size(); ++k) {
      const bool first = owners[k] == "0";
      if (owners[k].starts_with("out") || (own ? first : !others || !first)) m.lose(tensors[k], v.target + " may have written to it");
    }
  }
  // What is not a function of what we see must not be equal to anything, not even the same call of another rank that runs the same text.
  if (!determined) xs.push_back(b.uninit(DType::F32, {}));
  const std::string name = v.target.empty() ? "getitem" : v.target;

  const auto wrap = [&](NodeId node) { return Value::of(tensors.empty() ? m.fresh(node) : m.maybe_view(tensors[0], node)); };
  if (concrete(v.type)) {
    const NodeId node = b.opaque(name, attrs, xs, {{v.type.dtype, v.type.shape}})[0];
    program.unsupported.push_back({node, reason});
    return wrap(node);
  }
  std::vector<std::pair<DType, Shape>> types;
  std::vector<char> known;  // results that nobody reads have some type
  const auto items = scope.getitems.find(v.name);
  if (items != scope.getitems.end())
    for (const fx::Value* g : items->second) {
      if (g->args.size() != 2 || g->args[1].kind != fx::Arg::Kind::Int || g->args[1].i < 0 || g->args[1].i > 1000) continue;
      const auto k = static_cast<size_t>(g->args[1].i);
      if (types.size() <= k) types.resize(k + 1, {DType::F32, {}});
      if (known.size() <= k) known.resize(k + 1, 0);
      if (!concrete(g->type)) continue;
      types[k] = {g->type.dtype, g->type.shape};
      known[k] = 1;
    }
  if (types.empty()) {
    program.unsupported.push_back({b.opaque(name, attrs, xs, {{DType::F32, {}}})[0], reason});  // of some type: nobody reads it
    return Value::named(Value::Kind::Unknown, reason);
  }
  const Nodes nodes = b.opaque(name, attrs, xs, types);
  program.unsupported.push_back({nodes[0], reason});
  std::vector<Value> out;
  for (size_t k = 0; k < nodes.size(); ++k) out.push_back(!known[k] ? Value::named(Value::Kind::Unknown, reason) : wrap(nodes[k]));
  return Value::list(std::move(out));
}

void Lowering::placeholder(Scope& scope, const fx::Value& v) {
  frontend::Input in;
  in.name = v.name;
  in.descriptor = v.descriptor;
  const std::string target = descriptor_target(v.descriptor);
  if (!target.empty()) in.aliases.push_back(target);
  if (!v.type.sharding.empty()) {
    in.sharding.syntax = frontend::StatedSharding::Syntax::DTensor;
    in.sharding.text = v.type.sharding;
  }
  Value value;
  if (v.type.known && v.type.is_sym) {
    value = v.type.symbolic ? Value::named(Value::Kind::Symbol, v.name) : Value::integer(v.type.shape[0]);
  } else if (!v.type.known) {
    value = Value::named(Value::Kind::Object, v.name);
  } else if (!concrete(v.type)) {
    value = Value::named(Value::Kind::Unknown, dynamic_size(v));
    in.node = unknown(DType::F32, {});
    program.unsupported.push_back({in.node, value.text});
  } else {
    in.node = b.input(v.name, v.type.dtype, v.type.shape);
    value = Value::of(m.fresh(in.node));
    input_tensors_.push_back({program.inputs.size(), value.tensor});
  }
  program.inputs.push_back(std::move(in));
  scope.env[v.name] = std::move(value);
}

std::optional<Diagnostic> Lowering::check(const fx::Value& v, const Value& result) const {
  if (!v.type.known || v.type.is_sym || v.type.dtype == DType::Invalid || !result.is(Value::Kind::Tensor)) return std::nullopt;
  const Shape& shape = m.shape(result.tensor);
  bool same = m.dtype(result.tensor) == v.type.dtype && shape.size() == v.type.shape.size();
  for (size_t d = 0; same && d < shape.size(); ++d) same = v.type.shape[d] < 0 || v.type.shape[d] == shape[d];
  if (same) return std::nullopt;
  return Diagnostic{
      "SP250",
      fmt::format("{} = {}: the text says {}[{}], the operator's definition gives {}[{}]; if the file is as PyTorch wrote it, this is a "
                  "fault of shardproof: please report it",
                  v.name, v.target, ir::name(v.type.dtype), fmt::join(v.type.shape, ", "), ir::name(m.dtype(result.tensor)),
                  fmt::join(shape, ", ")),
      module_.path, v.text_line, 0};
}

Value Lowering::evaluate(Scope& scope, const fx::Value& v) {
  switch (v.op) {
    case fx::Value::Op::Placeholder: SP_CHECK(false); break;
    case fx::Value::Op::GetAttr: {  // asked for where it is used: a constant that nothing needs may have no value
      Value attribute = Value::named(Value::Kind::Constant, v.target);
      attribute.i = scope.index;
      return attribute;
    }
    case fx::Value::Op::GetItem: {
      if (v.args.size() != 2) malformed("getitem needs two arguments");
      const Value from = argument(scope, v.args[0]);
      if (from.is(Value::Kind::Unknown)) inherited(from.text);
      const Value index = argument(scope, v.args[1]);
      if (!from.is(Value::Kind::List)) unsupported("indexing by [] of something that is no tuple");
      if (!index.is(Value::Kind::Int)) unsupported("indexing a tuple by something that is no integer");
      const int64_t n = static_cast<int64_t>(from.items.size()), k = index.i < 0 ? index.i + n : index.i;
      if (k < 0 || k >= n) malformed(fmt::format("result {} of an operator with {} results", index.i, n));
      const Value& item = from.items[static_cast<size_t>(k)];
      if (item.is(Value::Kind::Unknown)) inherited(item.text);
      return item;
    }
    case fx::Value::Op::Builtin: return builtin(scope, v);
    case fx::Value::Op::Call: return evaluate_call(scope, v);
  }
  return {};
}

Value Lowering::evaluate_call(Scope& scope, const fx::Value& v) {
  if (v.target.starts_with("higher_order.")) return higher_order(scope, v);
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
  for (const fx::Arg& a : v.args) positional.push_back(argument(scope, a));
  for (const auto& [key, a] : v.kwargs) keywords.emplace_back(key, argument(scope, a));
  return dispatch(v.target, std::move(positional), std::move(keywords), &v);
}

std::optional<Diagnostic> Lowering::step(Scope& scope, const fx::Value& v) {
  b.label = v.name;
  b.source_op = v.target;
  b.loc = {v.file, v.line, v.text_line};
  const auto wrong = [&](const std::string& what) {
    return Diagnostic{"SP251", fmt::format("{} = {}: {}", v.name, v.target, what), module_.path, v.text_line, 0};
  };
  Value result;
  try {
    result = evaluate(scope, v);
  } catch (const Unsupported& u) {
    if (!scope.checked) throw;  // the annotations are of other shapes: the whole operator is unknown
    result = opaque_value(scope, v, u.inherited || v.op == fx::Value::Op::GetItem ? u.reason : v.target + ": " + u.reason);
  } catch (const Malformed& e) {
    return wrong(e.message);
  } catch (const InternalError& e) {
    if (!scope.checked) unsupported(fmt::format("{}: not for these arguments ({})", v.target, e.what()));
    // The builder refused a node: types or sizes that the lowering does not expect. Nothing is known of the result.
    result = opaque_value(scope, v, fmt::format("{}: not for these arguments ({})", v.target, e.what()));
  }
  if (scope.checked)
    if (auto d = check(v, result)) return d;
  scope.env[v.name] = std::move(result);
  return std::nullopt;
}

std::optional<Diagnostic> Lowering::run_graph(Scope& scope) {
  const Restore<Scope*> outer(scope_, &scope);
  for (const fx::Value& v : scope.graph->values)
    if (v.op == fx::Value::Op::GetItem && !v.args.empty() && v.args[0].kind == fx::Arg::Kind::Name)
      scope.getitems[v.args[0].text].push_back(&v);
  for (const fx::Value& v : scope.graph->values) {
    if (v.op == fx::Value::Op::Placeholder) {
      if (!scope.env.count(v.name)) placeholder(scope, v);
      continue;
    }
    if (auto d = step(scope, v)) return d;
  }
  return std::nullopt;
}

const fx::Graph* Lowering::find_submodule(const Scope& scope, const std::string& name) const {
  for (const fx::Graph* g : {scope.graph, &module_.graph})
    for (const auto& [key, sub] : g->submodules)
      if (key == name) return &sub;
  unsupported("the submodule " + name + " is not in the text");
}

Value Lowering::inline_elementwise(const std::string& name, std::vector<Value> args, bool (*allowed)(const fx::Value&)) {
  for (const fx::Value& v : find_submodule(*scope_, name)->values)
    if (!allowed(v)) unsupported(v.target + " in the submodule " + name + " is not known to work element by element");
  return inline_graph(*scope_, name, std::move(args), false);
}

// Calls submodule `name` with these arguments, as if its text stood here.
Value Lowering::inline_graph(Scope& scope, const std::string& name, std::vector<Value> args, bool checked) {
  const fx::Graph* graph = find_submodule(scope, name);
  const Restore<int> depth(depth_, depth_ + 1);
  if (depth_ > kMaxDepth) malformed("submodules call each other too deeply");
  const Restore<std::string> label(b.label, b.label), source(b.source_op, b.source_op);
  const Restore<ir::Loc> loc(b.loc, b.loc);
  Scope inner;
  inner.graph = graph;
  inner.checked = checked && scope.checked;
  inner.index = static_cast<int64_t>(graphs_.size());
  graphs_.push_back({graph, graphs_.at(static_cast<size_t>(scope.index)).second + name + "."});
  size_t k = 0;
  for (const fx::Value& v : graph->values)
    if (v.op == fx::Value::Op::Placeholder) {
      if (k >= args.size()) malformed(fmt::format("the submodule {} needs more than {} arguments", name, args.size()));
      inner.env[v.name] = args[k++];
    }
  if (k != args.size()) malformed(fmt::format("the submodule {} takes {} arguments, not {}", name, k, args.size()));
  std::optional<Diagnostic> d = run_graph(inner);
  if (d) throw DiagnosticError{*d};
  std::vector<Value> out;
  for (const fx::OutputRef& o : graph->outputs) out.push_back(argument(inner, o.value));
  return Value::list(std::move(out));
}

void Lowering::finish(Scope& scope) {
  const auto contents = [&](const Value& v) -> NodeId {
    std::string reason = v.text;
    try {
      if (v.is(Value::Kind::Tensor)) return m.read(v.tensor);
      if (v.is(Value::Kind::Constant)) {
        const Value c = resolve_constant(v, nullptr);
        if (c.is(Value::Kind::Tensor)) return m.read(c.tensor);
        reason = c.text;
      }
    } catch (const Unsupported& u) {
      reason = u.reason;
    }
    const NodeId node = v.is(Value::Kind::Tensor) ? unknown(m.dtype(v.tensor), m.shape(v.tensor)) : unknown(DType::F32, {});
    program.unsupported.push_back({node, reason});
    return node;
  };
  b.source_op = "output";
  for (const fx::OutputRef& o : scope.graph->outputs) {
    frontend::Output out;
    out.descriptor = o.descriptor;
    const Value v = argument(scope, o.value);
    out.name = o.value.kind == fx::Arg::Kind::Name ? o.value.text : canonical(v, true);
    b.label = out.name;
    if (v.is(Value::Kind::Tensor) || v.is(Value::Kind::Constant) || v.is(Value::Kind::Unknown)) out.node = contents(v);
    const std::string mutated = nested(o.descriptor, "mutated_input=");
    for (const frontend::Input& in : program.inputs)
      if (!mutated.empty() && in.descriptor == mutated) out.mutated_input = in.name;
    program.outputs.push_back(std::move(out));
  }
  for (const auto& [index, tensor] : input_tensors_) {
    if (!m.written(tensor)) continue;
    frontend::Output out;
    out.mutated_input = program.inputs[index].name;
    out.name = "mut:" + out.mutated_input;
    b.label = out.name;
    out.node = contents(Value::of(tensor));
    if (out.node != program.inputs[index].node) program.outputs.push_back(std::move(out));
  }
}

Result<frontend::Program> Lowering::run() {
  Scope scope;
  scope.graph = &module_.graph;
  graphs_.push_back({scope.graph, ""});
  try {
    if (auto d = run_graph(scope)) return *d;
    note_unwaited(module_.graph);
    scope_ = &scope;
    finish(scope);
  } catch (const DiagnosticError& e) {
    return e.error;
  } catch (const Malformed& e) {
    return Diagnostic{"SP251", e.message, module_.path, 0, 0};
  }
  return std::move(program);
}

}  // namespace shardproof::lower::aten

namespace shardproof::lower {

Result<frontend::Program> lower_fx(const fx::Module& module, const frontend::ConstantSource& constants) {
  return lower_fx(module, constants, aten::Kernels::builtin());
}

Result<frontend::Program> lower_fx(const fx::Module& module, const frontend::ConstantSource& constants, const aten::Kernels& kernels) {
  return aten::Lowering(module, constants, kernels).run();
}

}  // namespace shardproof::lower
