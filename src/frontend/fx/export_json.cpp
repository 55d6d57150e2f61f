// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// torch.export's JSON. It differs from FX text in three ways that are undone here, so that both readings give the same values:
//   - an operator with several results lists them; FX text has the operator's value and one item of it for each used result
//   - the graphs of higher-order operators stand in their arguments; FX text has an attribute for each
//   - arguments have the names of the operator's schema, and `kind` says whether they were positional
// Descriptors are made from the signature in the form that AOTAutograd gives them. Graphs nest at most kMaxGraphDepth deep.
#include "frontend/fx/export_json.h"

#include <charconv>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "frontend/fx/json_access.h"

namespace shardproof::fx {
namespace {

constexpr int kMaxGraphDepth = 16;
constexpr int kMaxArgumentDepth = 16;

const char* const kScalarTypeNames[] = {nullptr,   "uint8",   "int8",      "int16",     "int32",      "int64", "float16",
                                        "float32", "float64", "complex32", "complex64", "complex128", "bool",  "bfloat16"};
const char* const kLaterScalarTypeNames[] = {"uint16",          "float8_e4m3fn",  "float8_e5m2", "float8_e4m3fnuz",
                                             "float8_e5m2fnuz", "float8_e8m0fnu", "uint32",      "uint64"};  // from 28
const char* const kMemoryFormats[] = {nullptr, "contiguous_format", "channels_last", "channels_last_3d", "preserve_format"};
const char* const kLayouts[] = {nullptr, "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "strided"};

Arg make(Arg::Kind kind, std::string text = "") {
  Arg arg;
  arg.kind = kind;
  arg.text = std::move(text);
  return arg;
}

Arg make_int(int64_t value) {
  Arg arg;
  arg.kind = Arg::Kind::Int;
  arg.i = value;
  return arg;
}

class GraphReader {
 public:
  GraphReader(JsonAccess& access, Graph& out, int depth) : access_(access), out_(out), depth_(depth) {}

  bool read(const Json& graph, const Json* signature, std::vector<std::pair<std::string, std::string>>* tensor_constants);

 private:
  bool inputs(const Json& list, const Json* signature, std::vector<std::pair<std::string, std::string>>* tensor_constants);
  bool input_descriptor(const Json& spec, const std::string& where, size_t& user_inputs, Value& value,
                        std::vector<std::pair<std::string, std::string>>* tensor_constants);
  bool node(const Json& node, const std::string& where);
  bool node_outputs(const Json& list, const std::string& where, const std::string& node_name, bool tuple_of_one, Value call);
  bool items_of(const std::string& base, const Json& list, const std::string& where, const Value& call);
  bool item(const std::string& base, size_t index, const std::string& name, const Value& call);
  bool outputs(const Json& list, const Json* signature);
  bool output_descriptor(const Json& spec, const std::string& where, size_t& user_outputs, std::string& descriptor);
  bool argument(const Json& value, const std::string& where, int depth, Arg& out);
  bool list_of(const Json& list, const std::string& where, int depth, const char* item_key, Arg& out);
  bool reference(const Json& named, const std::string& where, Arg& out);
  bool graph_argument(const Json& value, const std::string& where, Arg& out);
  // The name in a result or input; empty if it is none or a number.
  bool result_name(const Json& argument, const std::string& where, std::string& name, std::string_view& key, const Json*& member);
  bool type_of(const std::string& name, TensorType& type);
  bool define(Value value, const std::string& where);
  void place(const Json& node, Value& value);
  std::string fresh(const std::string& base);

  JsonAccess& access_;
  Graph& out_;
  int depth_;
  const Json* tensors_ = nullptr;
  const Json* symbols_[3] = {nullptr, nullptr, nullptr};  // integers, booleans, floats
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::string> attributes_;  // attribute -> value that reads it
  std::unordered_map<std::string, size_t> user_inputs_;      // name -> position among the user's inputs
  std::unordered_map<std::string, std::shared_ptr<const std::string>> files_;
};

bool GraphReader::define(Value value, const std::string& where) {
  if (value.name.empty()) return access_.fail(where, "expected a name");
  if (!names_.insert(value.name).second) return access_.fail(where, fmt::format("'{}' is defined a second time", value.name), "SP221");
  out_.values.push_back(std::move(value));
  return true;
}

std::string GraphReader::fresh(const std::string& base) {
  const auto taken = [&](const std::string& name) { return names_.count(name) != 0 || (tensors_ != nullptr && tensors_->contains(name)); };
  if (!taken(base)) return base;
  for (size_t i = 1;; ++i) {
    std::string name = fmt::format("{}_{}", base, i);
    if (!taken(name)) return name;
  }
}

bool GraphReader::type_of(const std::string& name, TensorType& type) {
  if (tensors_ != nullptr) {
    if (const Json* meta = JsonAccess::get(*tensors_, name.c_str())) return read_tensor_meta(access_, *meta, "tensor_values." + name, type);
  }
  for (const Json* table : symbols_) {
    const Json* value = table == nullptr ? nullptr : JsonAccess::get(*table, name.c_str());
    if (value == nullptr) continue;
    type.known = type.is_sym = type.symbolic = true;
    const Json* expression = JsonAccess::get(*value, "as_expr");
    const Json* text = expression == nullptr ? nullptr : JsonAccess::get(*expression, "expr_str");
    type.symbols = {text != nullptr && text->is_string() ? access_.symbolic(text->get_ref<const std::string&>(), *expression)
                                                         : value->begin()->dump()};
    return true;
  }
  return true;
}

bool GraphReader::read(const Json& graph, const Json* signature, std::vector<std::pair<std::string, std::string>>* tensor_constants) {
  if (!access_.object(graph, "graph")) return false;
  const Json* nodes = JsonAccess::get(graph, "nodes");
  const Json* in = JsonAccess::get(graph, "inputs");
  const Json* out = JsonAccess::get(graph, "outputs");
  if (nodes == nullptr || in == nullptr || out == nullptr) return access_.fail("graph", "expected \"nodes\", \"inputs\" and \"outputs\"");
  tensors_ = JsonAccess::get(graph, "tensor_values");
  symbols_[0] = JsonAccess::get(graph, "sym_int_values");
  symbols_[1] = JsonAccess::get(graph, "sym_bool_values");
  symbols_[2] = JsonAccess::get(graph, "sym_float_values");
  if (tensors_ != nullptr && !access_.object(*tensors_, "tensor_values")) return false;
  for (const Json* table : symbols_) {
    if (table == nullptr) continue;
    if (!access_.object(*table, "sym_int_values")) return false;
    for (const Json& value : *table) {
      if (value.empty() || !value.is_object()) return access_.fail("sym_int_values", "expected objects with \"as_int\" or \"as_expr\"");
    }
  }
  if (!access_.array(*nodes, "graph.nodes") || !inputs(*in, signature, tensor_constants)) return false;
  for (size_t i = 0; i < nodes->size(); ++i) {
    if (!node((*nodes)[i], fmt::format("graph.nodes[{}]", i))) return false;
  }
  return outputs(*out, signature);
}

bool GraphReader::result_name(const Json& argument, const std::string& where, std::string& name, std::string_view& key,
                              const Json*& member) {
  if (!access_.pick(argument, where, key, member)) return false;
  name.clear();
  const char* field = key == "as_tensor" || key == "as_custom_obj"                           ? "name"
                      : key == "as_sym_int" || key == "as_sym_bool" || key == "as_sym_float" ? "as_name"
                                                                                             : nullptr;
  if (field == nullptr) return true;
  const Json* text = JsonAccess::get(*member, field);
  if (text == nullptr && key != "as_tensor" && key != "as_custom_obj") return true;  // as_int: a known number
  if (text == nullptr) return access_.fail(where, "expected a name");
  return access_.string(*text, where, name);
}

bool GraphReader::inputs(const Json& list, const Json* signature, std::vector<std::pair<std::string, std::string>>* tensor_constants) {
  if (!access_.array(list, "graph.inputs")) return false;
  const Json* specs = signature == nullptr ? nullptr : JsonAccess::get(*signature, "input_specs");
  if (specs != nullptr && !access_.array(*specs, "signature.input_specs")) return false;
  if (specs != nullptr && specs->size() != list.size()) {
    return access_.fail("signature.input_specs", fmt::format("{} entries for {} inputs of the graph", specs->size(), list.size()));
  }
  size_t user_inputs = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = fmt::format("graph.inputs[{}]", i);
    Value value;
    value.op = Value::Op::Placeholder;
    std::string_view key;
    const Json* member = nullptr;
    if (!result_name(list[i], where, value.name, key, member)) return false;
    if (specs != nullptr &&
        !input_descriptor((*specs)[i], fmt::format("signature.input_specs[{}]", i), user_inputs, value, tensor_constants)) {
      return false;
    }
    if (value.name.empty()) value.name = fresh(fmt::format("input_{}", i));  // a constant input of an old file
    if (!type_of(value.name, value.type) || !define(std::move(value), where)) return false;
  }
  return true;
}

bool GraphReader::input_descriptor(const Json& spec, const std::string& where, size_t& user_inputs, Value& value,
                                   std::vector<std::pair<std::string, std::string>>* tensor_constants) {
  std::string_view key;
  const Json* member = nullptr;
  if (!access_.pick(spec, where, key, member)) return false;
  const auto text = [&](const char* field, std::string& out) {
    const Json* found = JsonAccess::get(*member, field);
    if (found == nullptr) return access_.fail(where, fmt::format("expected \"{}\"", field));
    return access_.string(*found, where + "." + field, out);
  };
  std::string name;
  if (key == "user_input") {
    user_inputs_.emplace(value.name, user_inputs);
    value.descriptor = fmt::format("PlainAOTInput(idx={})", user_inputs++);
  } else if (key == "constant_input") {
    if (!text("name", value.name)) return false;
    value.descriptor = fmt::format("PlainAOTInput(idx={})", user_inputs++);
  } else if (key == "parameter") {
    if (!text("parameter_name", name)) return false;
    value.descriptor = fmt::format("ParamAOTInput(target='{}')", name);
  } else if (key == "buffer") {
    if (!text("buffer_name", name)) return false;
    value.descriptor = fmt::format("BufferAOTInput(target='{}')", name);
  } else if (key == "tensor_constant") {
    if (!text("tensor_constant_name", name)) return false;
    value.descriptor = fmt::format("TensorConstantAOTInput(target='{}')", name);
    if (tensor_constants != nullptr) tensor_constants->emplace_back(name, value.name);
  } else if (key == "custom_obj") {
    if (!text("custom_obj_name", name)) return false;
    value.descriptor = fmt::format("CustomObjAOTInput(target='{}')", name);
  } else if (key == "token") {
    const Json* arg = JsonAccess::get(*member, "arg");
    const Json* token = arg == nullptr ? nullptr : JsonAccess::get(*arg, "name");
    if (token != nullptr && value.name.empty() && !access_.string(*token, where, value.name)) return false;
    value.descriptor = "TokenAOTInput()";
  } else {
    return access_.fail(where, fmt::format("unknown kind of input \"{}\"", key));
  }
  return true;
}

// The last frame of a Python traceback: File "PATH", line N, in FUNC.
void GraphReader::place(const Json& node, Value& value) {
  const Json* metadata = JsonAccess::get(node, "metadata");
  const Json* trace = metadata == nullptr ? nullptr : JsonAccess::get(*metadata, "stack_trace");
  if (trace == nullptr || !trace->is_string()) return;
  const std::string_view text = trace->get_ref<const std::string&>();
  size_t at = text.rfind("File \"");
  while (at != std::string_view::npos) {
    const size_t start = at + 6;
    const size_t end = text.find("\", line ", start);
    // The text of a source line may hold 'File "' too: a frame starts its line.
    size_t line_start = at;
    while (line_start > 0 && text[line_start - 1] == ' ') --line_start;
    if (end != std::string_view::npos && (line_start == 0 || text[line_start - 1] == '\n') &&
        text.substr(start, end - start).find('\n') == std::string_view::npos) {
      const char* digits = text.data() + end + 8;
      int line = 0;
      if (std::from_chars(digits, text.data() + text.size(), line).ec == std::errc()) {
        std::shared_ptr<const std::string>& file = files_[std::string(text.substr(start, end - start))];
        if (!file) file = std::make_shared<const std::string>(text.substr(start, end - start));
        value.file = file;
        value.line = line;
        return;
      }
    }
    if (at == 0) return;
    at = text.rfind("File \"", at - 1);
  }
}

bool GraphReader::node(const Json& node, const std::string& where) {
  if (!access_.object(node, where)) return false;
  const Json* target = JsonAccess::get(node, "target");
  const Json* inputs = JsonAccess::get(node, "inputs");
  const Json* outputs = JsonAccess::get(node, "outputs");
  if (target == nullptr || inputs == nullptr || outputs == nullptr) {
    return access_.fail(where, "expected \"target\", \"inputs\" and \"outputs\"");
  }
  Value value;
  if (!access_.string(*target, where + ".target", value.target)) return false;
  value.op = Value::Op::Builtin;
  for (const std::string_view prefix : {"torch.ops.", "executorch.exir.dialects.edge.ops."}) {
    if (value.op == Value::Op::Builtin && value.target.compare(0, prefix.size(), prefix) == 0) {
      value.op = Value::Op::Call;
      value.target.erase(0, prefix.size());
    }
  }
  if (value.op == Value::Op::Builtin && value.target.compare(0, 10, "_operator.") == 0) value.target.erase(0, 1);
  place(node, value);
  if (!access_.array(*inputs, where + ".inputs") || !access_.array(*outputs, where + ".outputs")) return false;
  for (size_t i = 0; i < inputs->size(); ++i) {
    const Json& input = (*inputs)[i];
    const std::string at = fmt::format("{}.inputs[{}]", where, i);
    const Json* arg = JsonAccess::get(input, "arg");
    const Json* name = JsonAccess::get(input, "name");
    const Json* kind = JsonAccess::get(input, "kind");
    if (arg == nullptr) return access_.fail(at, "expected \"arg\"");
    std::string argument_name;
    if (name != nullptr && !access_.string(*name, at + ".name", argument_name)) return false;
    int64_t number = 0;
    if (kind != nullptr && !access_.integer(*kind, at + ".kind", number)) return false;
    Arg out;
    if (!argument(*arg, at + ".arg", 0, out)) return false;
    // Without a kind (old files) only the name is sure: arguments equal to their defaults are left out.
    if (number == 1 || argument_name.empty()) {
      if (!value.kwargs.empty()) return access_.fail(at, "a positional argument follows a keyword argument");
      value.args.push_back(std::move(out));
    } else {
      value.kwargs.emplace_back(std::move(argument_name), std::move(out));
    }
  }
  std::string name;
  if (const Json* given = JsonAccess::get(node, "name"); given != nullptr && !access_.string(*given, where + ".name", name)) return false;
  const Json* single = JsonAccess::get(node, "is_hop_single_tensor_return");
  const bool tuple_of_one =
      value.target.compare(0, 13, "higher_order.") == 0 && single != nullptr && single->is_boolean() && !single->get<bool>();
  return node_outputs(*outputs, where + ".outputs", name, tuple_of_one, std::move(value));
}

bool GraphReader::item(const std::string& base, size_t index, const std::string& name, const Value& call) {
  Value value;
  value.op = Value::Op::GetItem;
  value.name = name;
  value.args.push_back(make(Arg::Kind::Name, base));
  value.args.push_back(make_int(static_cast<int64_t>(index)));
  value.file = call.file;
  value.line = call.line;
  return type_of(name, value.type) && define(std::move(value), name);
}

// Results that nothing uses have the name NODE_unused_I and no value in FX text.
bool unused(const std::string& node_name, const std::string& name) {
  const std::string prefix = node_name + "_unused_";
  return name.compare(0, prefix.size(), prefix) == 0;
}

// The items of the list `base`, whose results are `list`: [{"name": ...}] or [{"as_name": ...}].
bool GraphReader::items_of(const std::string& base, const Json& list, const std::string& where, const Value& call) {
  for (size_t i = 0; i < list.size(); ++i) {
    const Json* text = JsonAccess::get(list[i], "name");
    if (text == nullptr) text = JsonAccess::get(list[i], "as_name");
    std::string name;
    if (text == nullptr) continue;  // a known number or None
    if (!access_.string(*text, where, name)) return false;
    if (!unused(call.name, name) && !item(base, i, name, call)) return false;
  }
  return true;
}

bool GraphReader::node_outputs(const Json& list, const std::string& where, const std::string& node_name, bool tuple_of_one, Value call) {
  std::string_view key;
  const Json* member = nullptr;
  std::string name;
  if (list.size() == 1 && !tuple_of_one) {
    if (!result_name(list[0], where + "[0]", name, key, member)) return false;
    if (!name.empty()) {
      call.name = name;
      return type_of(call.name, call.type) && define(std::move(call), where);
    }
  }
  if (!node_name.empty()) {
    call.name = node_name;
  } else {  // older files do not name nodes: FX takes the operator's name
    std::string base = call.target;
    if (call.op == Value::Op::Call && base.rfind('.') != std::string::npos && base.find('.') != base.rfind('.'))
      base.erase(base.rfind('.'));
    base.erase(0, base.rfind('.') == std::string::npos ? 0 : base.rfind('.') + 1);
    call.name = fresh(base);
  }
  Value copy;  // what the items need of the call
  copy.name = call.name;
  copy.file = call.file;
  copy.line = call.line;
  if (!define(std::move(call), where)) return false;
  if (list.size() == 1 && !tuple_of_one) {
    if (key == "as_none") return true;
    if (!member->is_array()) return access_.fail(where, fmt::format("a result of kind \"{}\" is not supported", key));
    return items_of(copy.name, *member, where + "[0]", copy);
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", where, i);
    if (!result_name(list[i], at, name, key, member)) return false;
    if (!name.empty()) {
      if (!unused(copy.name, name) && !item(copy.name, i, name, copy)) return false;
    } else if (member->is_array()) {
      const std::string inner = fresh(fmt::format("{}_item_{}", copy.name, i));
      if (!item(copy.name, i, inner, copy) || !items_of(inner, *member, at, copy)) return false;
    } else if (key == "as_optional_tensor") {
      if (!result_name(*member, at, name, key, member)) return false;
      if (!name.empty() && !unused(copy.name, name) && !item(copy.name, i, name, copy)) return false;
    } else if (key != "as_none" && key != "as_sym_int" && key != "as_sym_bool" && key != "as_sym_float" && key != "as_int") {
      return access_.fail(at, fmt::format("a result of kind \"{}\" is not supported", key));
    }
  }
  return true;
}

bool GraphReader::reference(const Json& named, const std::string& where, Arg& out) {
  const Json* name = JsonAccess::get(named, "name");
  if (name == nullptr) return access_.fail(where, "expected a \"name\"");
  out.kind = Arg::Kind::Name;
  if (!access_.string(*name, where, out.text)) return false;
  return names_.count(out.text) != 0 || access_.fail(where, fmt::format("'{}' is used before it is defined", out.text), "SP221");
}

// A list whose items are all of the kind `item_key`; nullptr: unions themselves.
bool GraphReader::list_of(const Json& list, const std::string& where, int depth, const char* item_key, Arg& out) {
  if (!access_.array(list, where)) return false;
  out.kind = Arg::Kind::List;
  out.items.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    Arg& item = out.items.emplace_back();
    const std::string at = fmt::format("{}[{}]", where, i);
    if (item_key == nullptr) {
      if (!argument(list[i], at, depth + 1, item)) return false;
    } else if (!argument(Json{{item_key, list[i]}}, at, depth + 1, item)) {
      return false;
    }
  }
  return true;
}

bool GraphReader::argument(const Json& value, const std::string& where, int depth, Arg& out) {
  if (depth > kMaxArgumentDepth) return access_.fail(where, fmt::format("arguments nest deeper than {}", kMaxArgumentDepth), "SP212");
  std::string_view key;
  const Json* member = nullptr;
  if (!access_.pick(value, where, key, member)) return false;
  const auto symbolic = [&](Arg::Kind number) {  // {"as_name"} or {"as_int"}
    if (const Json* name = JsonAccess::get(*member, "as_name")) {
      out.kind = Arg::Kind::Name;
      if (!access_.string(*name, where, out.text)) return false;
      return names_.count(out.text) != 0 || access_.fail(where, fmt::format("'{}' is used before it is defined", out.text), "SP221");
    }
    const char* field = number == Arg::Kind::Int ? "as_int" : number == Arg::Kind::Bool ? "as_bool" : "as_float";
    const Json* literal = JsonAccess::get(*member, field);
    if (literal == nullptr) return access_.fail(where, fmt::format("expected \"as_name\" or \"{}\"", field));
    out.kind = number;
    return number == Arg::Kind::Int    ? access_.integer(*literal, where, out.i)
           : number == Arg::Kind::Bool ? access_.boolean(*literal, where, out.i)
                                       : access_.real(*literal, where, out.d);
  };
  const auto torch_word = [&](const char* const* names, size_t count, int64_t number, int64_t first = 0) {
    const int64_t index = number - first;
    if (index < 0 || static_cast<size_t>(index) >= count || names[index] == nullptr) {
      return access_.fail(where, fmt::format("unknown value {} of \"{}\"", number, key));
    }
    out = make(Arg::Kind::Word, std::string("torch.") + names[index]);
    return true;
  };
  int64_t number = 0;
  if (key == "as_none") return true;
  if (key == "as_tensor") return reference(*member, where, out);
  if (key == "as_tensors") return list_of(*member, where, depth, "as_tensor", out);
  if (key == "as_int") return out.kind = Arg::Kind::Int, access_.integer(*member, where, out.i);
  if (key == "as_ints") return list_of(*member, where, depth, "as_int", out);
  if (key == "as_float") return out.kind = Arg::Kind::Float, access_.real(*member, where, out.d);
  if (key == "as_floats") return list_of(*member, where, depth, "as_float", out);
  if (key == "as_bool") return out.kind = Arg::Kind::Bool, access_.boolean(*member, where, out.i);
  if (key == "as_bools") return list_of(*member, where, depth, "as_bool", out);
  if (key == "as_string") return out.kind = Arg::Kind::String, access_.string(*member, where, out.text);
  if (key == "as_strings") return list_of(*member, where, depth, "as_string", out);
  if (key == "as_sym_int") return symbolic(Arg::Kind::Int);
  if (key == "as_sym_ints") return list_of(*member, where, depth, "as_sym_int", out);
  if (key == "as_sym_bool") return symbolic(Arg::Kind::Bool);
  if (key == "as_sym_bools") return list_of(*member, where, depth, "as_sym_bool", out);
  if (key == "as_sym_float") return symbolic(Arg::Kind::Float);
  if (key == "as_sym_floats") return list_of(*member, where, depth, "as_sym_float", out);
  if (key == "as_optional_tensor") return argument(*member, where, depth + 1, out);
  if (key == "as_optional_tensors") return list_of(*member, where, depth, nullptr, out);
  if (key == "as_nested_tensors") return list_of(*member, where, depth, "as_tensors", out);
  if (key == "as_int_lists") return list_of(*member, where, depth, "as_ints", out);
  if (key == "as_float_lists") return list_of(*member, where, depth, "as_floats", out);
  if (key == "as_operator") return out.kind = Arg::Kind::Word, access_.string(*member, where, out.text);
  if (key == "as_graph") return graph_argument(*member, where, out);
  if (key == "as_scalar_type") {
    if (!access_.integer(*member, where, number)) return false;
    return number >= 28 ? torch_word(kLaterScalarTypeNames, std::size(kLaterScalarTypeNames), number, 28)
                        : torch_word(kScalarTypeNames, std::size(kScalarTypeNames), number);
  }
  if (key == "as_memory_format") {
    return access_.integer(*member, where, number) && torch_word(kMemoryFormats, std::size(kMemoryFormats), number);
  }
  if (key == "as_layout") return access_.integer(*member, where, number) && torch_word(kLayouts, std::size(kLayouts), number);
  if (key == "as_device") {  // device(type='cuda', index=0)
    const Json* type = JsonAccess::get(*member, "type");
    if (type == nullptr) return access_.fail(where, "expected the \"type\" of a device");
    out = make(Arg::Kind::Call, "device");
    out.items.push_back(make(Arg::Kind::String, "type"));
    Arg& text = out.items.emplace_back(make(Arg::Kind::String));
    if (!access_.string(*type, where, text.text)) return false;
    if (const Json* index = JsonAccess::get(*member, "index")) {
      if (!access_.integer(*index, where, number)) return false;
      out.items.push_back(make(Arg::Kind::String, "index"));
      out.items.push_back(make_int(number));
    }
    return true;
  }
  if (key == "as_custom_obj") {  // an input, or an attribute of the module
    const Json* name = JsonAccess::get(*member, "name");
    if (name == nullptr || !access_.string(*name, where, out.text)) return access_.fail(where, "expected a \"name\"");
    out.kind = names_.count(out.text) != 0 ? Arg::Kind::Name : Arg::Kind::Self;
    return true;
  }
  if (key == "as_complex") {
    double parts[2] = {0, 0};
    const char* const fields[2] = {"real", "imag"};
    for (int i = 0; i < 2; ++i) {
      const Json* part = JsonAccess::get(*member, fields[i]);
      if (part == nullptr || !access_.real(*part, where, parts[i])) return access_.fail(where, "expected \"real\" and \"imag\"");
    }
    out = make(Arg::Kind::Symbol, fmt::format("{}{:+}j", parts[0], parts[1]));
    return true;
  }
  if (key == "as_string_to_argument") {
    if (!access_.object(*member, where)) return false;
    out.kind = Arg::Kind::Dict;
    for (auto it = member->begin(); it != member->end(); ++it) {
      out.items.push_back(make(Arg::Kind::String, it.key()));
      Arg& item = out.items.emplace_back();
      if (!argument(*it, where + "." + it.key(), depth + 1, item)) return false;
    }
    return true;
  }
  return access_.fail(where, fmt::format("unknown kind of argument \"{}\"", key));
}

// {"name", "graph"}: an attribute and a value that reads it, as FX text has them.
bool GraphReader::graph_argument(const Json& value, const std::string& where, Arg& out) {
  const Json* name = JsonAccess::get(value, "name");
  const Json* graph = JsonAccess::get(value, "graph");
  std::string attribute;
  if (name == nullptr || graph == nullptr || !access_.string(*name, where, attribute)) {
    return access_.fail(where, "expected a graph's \"name\" and \"graph\"");
  }
  if (depth_ + 1 >= kMaxGraphDepth) return access_.fail(where, fmt::format("graphs nest deeper than {}", kMaxGraphDepth), "SP212");
  const auto known = attributes_.find(attribute);
  if (known != attributes_.end()) {
    out = make(Arg::Kind::Name, known->second);
    return true;
  }
  Value get;
  get.op = Value::Op::GetAttr;
  get.target = attribute;
  get.name = fresh(attribute);
  attributes_.emplace(attribute, get.name);
  out = make(Arg::Kind::Name, get.name);
  if (!define(std::move(get), where)) return false;
  Graph inner;
  inner.name = attribute;
  GraphReader reader(access_, inner, depth_ + 1);
  if (!reader.read(*graph, nullptr, nullptr)) return false;
  out_.submodules.push_back({attribute, std::move(inner)});
  return true;
}

bool GraphReader::outputs(const Json& list, const Json* signature) {
  if (!access_.array(list, "graph.outputs")) return false;
  const Json* specs = signature == nullptr ? nullptr : JsonAccess::get(*signature, "output_specs");
  if (specs != nullptr && !access_.array(*specs, "signature.output_specs")) return false;
  if (specs != nullptr && specs->size() != list.size()) {
    return access_.fail("signature.output_specs", fmt::format("{} entries for {} outputs of the graph", specs->size(), list.size()));
  }
  size_t user_outputs = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = fmt::format("graph.outputs[{}]", i);
    Arg value;
    if (!argument(list[i], where, 0, value)) return false;
    std::string descriptor;
    if (specs != nullptr && !output_descriptor((*specs)[i], fmt::format("signature.output_specs[{}]", i), user_outputs, descriptor))
      return false;
    if (value.kind == Arg::Kind::List) {  // outputs are flat
      for (Arg& item : value.items) out_.outputs.push_back({std::move(item), descriptor});
    } else {
      out_.outputs.push_back({std::move(value), std::move(descriptor)});
    }
  }
  return true;
}

bool GraphReader::output_descriptor(const Json& spec, const std::string& where, size_t& user_outputs, std::string& descriptor) {
  std::string_view key;
  const Json* member = nullptr;
  if (!access_.pick(spec, where, key, member)) return false;
  const auto text = [&](const char* field, std::string& out) {
    const Json* found = JsonAccess::get(*member, field);
    if (found == nullptr) return access_.fail(where, fmt::format("expected \"{}\"", field));
    return access_.string(*found, where + "." + field, out);
  };
  const auto user_input = [&](const std::string& name) {
    const auto found = user_inputs_.find(name);
    return found == user_inputs_.end() ? fmt::format("PlainAOTInput(name='{}')", name)
                                       : fmt::format("PlainAOTInput(idx={})", found->second);
  };
  std::string name;
  if (key == "user_output" || key == "loss_output") {
    descriptor = fmt::format("PlainAOTOutput(idx={})", user_outputs++);
  } else if (key == "buffer_mutation") {
    if (!text("buffer_name", name)) return false;
    descriptor = fmt::format("InputMutationAOTOutput(mutated_input=BufferAOTInput(target='{}'))", name);
  } else if (key == "parameter_mutation") {
    if (!text("parameter_name", name)) return false;
    descriptor = fmt::format("InputMutationAOTOutput(mutated_input=ParamAOTInput(target='{}'))", name);
  } else if (key == "user_input_mutation") {
    if (!text("user_input_name", name)) return false;
    descriptor = fmt::format("InputMutationAOTOutput(mutated_input={})", user_input(name));
  } else if (key == "gradient_to_parameter") {
    if (!text("parameter_name", name)) return false;
    descriptor = fmt::format("GradAOTOutput(grad_of=ParamAOTInput(target='{}'))", name);
  } else if (key == "gradient_to_user_input") {
    if (!text("user_input_name", name)) return false;
    descriptor = fmt::format("GradAOTOutput(grad_of={})", user_input(name));
  } else if (key == "token") {
    descriptor = "TokenAOTOutput()";
  } else {
    return access_.fail(where, fmt::format("unknown kind of output \"{}\"", key));
  }
  return true;
}

}  // namespace

Result<ExportProgram> read_export_program(std::string_view text, const std::string& path) {
  Result<Json> json = parse_json(text, path);
  if (!json) return json.error();
  JsonAccess access(path);
  ExportProgram program;
  program.module.path = path;
  const Json* graph_module = JsonAccess::get(*json, "graph_module");
  if (graph_module == nullptr) graph_module = &*json;  // a GraphModule or a bare Graph
  const Json* graph = JsonAccess::get(*graph_module, "graph");
  const Json* signature = JsonAccess::get(*graph_module, "signature");
  if (graph == nullptr) graph = graph_module;
  if (JsonAccess::get(*graph, "nodes") == nullptr) {
    access.fail("", "no graph in this JSON: expected an ExportedProgram as torch.export.save writes it, with \"graph_module\"", "SP213");
    return access.error();
  }
  if (const Json* version = JsonAccess::get(*json, "schema_version")) {
    const Json* major = version->is_object() ? JsonAccess::get(*version, "major") : version;
    if (major != nullptr && major->is_number_integer() && *major != 8) {
      program.module.notes.push_back(
          fmt::format("schema version {} of torch.export is not the one this reader was made for (8)", major->dump()));
    }
  }
  program.module.graph.name = "GraphModule";
  GraphReader reader(access, program.module.graph, 0);
  if (!reader.read(*graph, signature, &program.tensor_constants)) return access.error();
  program.module.hints = std::move(access.hints);
  return program;
}

Result<Module> read_export_json(std::string_view text, const std::string& path) {
  Result<ExportProgram> program = read_export_program(text, path);
  if (!program) return program.error();
  return std::move(program->module);
}

}  // namespace shardproof::fx
