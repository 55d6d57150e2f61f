// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Field tree -> Module: attributes with their types, tensors, references resolved to nodes, nodes in an order where inputs come first.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>

#include "fmt/format.h"
#include "frontend/graphdef/fields.h"
#include "frontend/graphdef/module.h"

namespace shardproof::graphdef {
namespace {

using ir::DType;
using ir::Literal;

constexpr int64_t kMaxElements = int64_t{1} << 51;

struct TypeName {
  int number;
  const char* name;
  Type::Kind kind;
  DType dtype;
  const char* format;
};
constexpr TypeName kTypes[] = {{1, "DT_FLOAT", Type::Kind::Tensor, DType::F32, ""},
                               {2, "DT_DOUBLE", Type::Kind::Tensor, DType::F64, ""},
                               {3, "DT_INT32", Type::Kind::Tensor, DType::I32, ""},
                               {4, "DT_UINT8", Type::Kind::Tensor, DType::U8, ""},
                               {5, "DT_INT16", Type::Kind::Tensor, DType::I16, ""},
                               {6, "DT_INT8", Type::Kind::Tensor, DType::I8, ""},
                               {7, "DT_STRING", Type::Kind::String, DType::Invalid, ""},
                               {8, "DT_COMPLEX64", Type::Kind::Tensor, DType::C64, ""},
                               {9, "DT_INT64", Type::Kind::Tensor, DType::I64, ""},
                               {10, "DT_BOOL", Type::Kind::Tensor, DType::Bool, ""},
                               {14, "DT_BFLOAT16", Type::Kind::Tensor, DType::BF16, ""},
                               {17, "DT_UINT16", Type::Kind::Tensor, DType::U16, ""},
                               {18, "DT_COMPLEX128", Type::Kind::Tensor, DType::C128, ""},
                               {19, "DT_HALF", Type::Kind::Tensor, DType::F16, ""},
                               {20, "DT_RESOURCE", Type::Kind::Resource, DType::Invalid, ""},
                               {21, "DT_VARIANT", Type::Kind::Variant, DType::Invalid, ""},
                               {22, "DT_UINT32", Type::Kind::Tensor, DType::U32, ""},
                               {23, "DT_UINT64", Type::Kind::Tensor, DType::U64, ""},
                               {24, "DT_FLOAT8_E5M2", Type::Kind::Tensor, DType::F8, "f8e5m2"},
                               {25, "DT_FLOAT8_E4M3FN", Type::Kind::Tensor, DType::F8, "f8e4m3fn"},
                               {29, "DT_INT4", Type::Kind::Tensor, DType::I4, ""},
                               {30, "DT_UINT4", Type::Kind::Tensor, DType::U4, ""}};

// Results of operators that have several named ones: in a function, "node:name:k" says which.
const std::unordered_map<std::string_view, std::vector<std::string_view>>& named_results() {
  static const std::unordered_map<std::string_view, std::vector<std::string_view>> table = {
      {"TopKV2", {"values", "indices"}},
      {"SoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
      {"SparseSoftmaxCrossEntropyWithLogits", {"loss", "backprop"}},
      {"BroadcastGradientArgs", {"r0", "r1"}},
      {"FusedBatchNormV3", {"y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2", "reserve_space_3"}},
      {"FusedBatchNormGradV3", {"x_backprop", "scale_backprop", "offset_backprop", "reserve_space_4", "reserve_space_5"}},
      {"Unique", {"y", "idx"}},
      {"Switch", {"output_false", "output_true"}},
      {"Merge", {"output", "value_index"}}};
  return table;
}

int64_t elements(const ir::Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

class Builder {
 public:
  Builder(std::string_view content, const std::string& path, bool text) : content_(content), path_(path), text_(text) {
    if (text)
      for (size_t k = 0; k < content.size(); ++k)
        if (content[k] == '\n') lines_.push_back(k);
  }

  Module build(const Message& root) {
    Module module;
    module.path = path_;
    body(root, "node", nullptr, &module.main);
    if (const Field* library = root.find("library"); library && library->message) {
      for (const Field& f : library->message->fields) {
        if (f.name != "function" || !f.message) continue;
        Function function = this->function(f);
        std::string name = function.name;
        if (!module.functions.emplace(name, std::move(function)).second)
          fail(f.offset, fmt::format("the function '{}' is defined twice", name));
      }
    }
    if (module.main.nodes.empty()) fail(0, "the graph has no node: expected GraphDef as text or bytes");
    return module;
  }

 private:
  int line(size_t offset) const {
    if (!text_) return 0;
    return static_cast<int>(std::lower_bound(lines_.begin(), lines_.end(), offset) - lines_.begin()) + 1;
  }

  [[noreturn]] void fail(size_t offset, std::string message, const char* code = "SP251") {
    int column = 0;
    if (text_) {
      size_t start = content_.rfind('\n', offset == 0 ? 0 : offset - 1);
      column = static_cast<int>(start == std::string_view::npos || start >= offset ? offset + 1 : offset - start);
    }
    throw Fail{Diagnostic{code, text_ ? std::move(message) : fmt::format("byte {}: {}", offset, message), path_, line(offset), column}};
  }

  const Message& sub(const Field& f) {
    if (!f.message) fail(f.offset, fmt::format("expected '{{' after '{}'", f.name));
    return *f.message;
  }

  std::string string_of(const Message& m, std::string_view name) {
    const Field* f = m.find(name);
    if (!f) return {};
    if (f->kind != Field::Kind::String) fail(f->offset, fmt::format("{}: expected a string", name));
    return f->text;
  }

  int64_t integer(const Field& f) {
    std::string_view t = f.text;
    bool negative = t.starts_with('-');
    if (negative) t.remove_prefix(1);
    int base = t.starts_with("0x") || t.starts_with("0X") ? 16 : t.size() > 1 && t[0] == '0' ? 8 : 10;
    if (base == 16) t.remove_prefix(2);
    uint64_t value = 0;
    auto [p, ec] = std::from_chars(t.data(), t.data() + t.size(), value, base);
    if (f.kind == Field::Kind::Message || t.empty() || ec != std::errc() || p != t.data() + t.size())
      fail(f.offset, fmt::format("{}: expected an integer", f.name));
    return static_cast<int64_t>(negative ? 0 - value : value);
  }

  double real(const Field& f) {
    std::string_view t = f.text;
    bool negative = t.starts_with('-');
    if (negative) t.remove_prefix(1);
    if (t.ends_with('f') && t != "inf") t.remove_suffix(1);
    double value = 0;
    if (t == "inf" || t == "infinity") {
      value = std::numeric_limits<double>::infinity();
    } else if (t == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      auto [p, ec] = std::from_chars(t.data(), t.data() + t.size(), value);
      if (f.kind == Field::Kind::Message || t.empty() || ec != std::errc() || p != t.data() + t.size())
        fail(f.offset, fmt::format("{}: expected a number", f.name));
    }
    return negative ? -value : value;
  }

  bool boolean(const Field& f) {
    if (f.text == "true" || f.text == "True" || f.text == "t" || f.text == "1") return true;
    if (f.text != "false" && f.text != "False" && f.text != "f" && f.text != "0")
      fail(f.offset, fmt::format("{}: expected true or false", f.name));
    return false;
  }

  Type type(const Field& f) {
    Type out;
    std::string_view name = f.text;
    if (name.ends_with("_REF")) name.remove_suffix(4);
    int64_t number = f.kind == Field::Kind::Number ? integer(f) : -1;
    if (number > 100) number -= 100;
    for (const TypeName& t : kTypes) {
      if (name != t.name && number != t.number) continue;
      out.kind = t.kind;
      out.dtype = t.dtype;
      out.float_format = t.format;
    }
    return out;  // others stay None: refused where used
  }

  Shape shape(const Field& f) {
    Shape out;
    out.known = true;
    int64_t total = 1;
    for (const Field& d : sub(f).fields) {
      if (d.name == "unknown_rank" && boolean(d)) out.known = false;
      if (d.name != "dim") continue;
      const Field* size = sub(d).find("size");
      int64_t n = size ? integer(*size) : 0;
      if (n < 0) out.known = false;
      if (n > kMaxElements || (n > 0 && total > kMaxElements / n))
        fail(d.offset, "the tensor has more than 2^51 elements; shardproof does not read such shapes");
      if (n > 0) total *= n;
      out.dims.push_back(n);
      if (out.dims.size() > 64) fail(d.offset, "the tensor has more than 64 dimensions");
    }
    return out;
  }

  static double half(uint64_t bits, bool brain) {
    if (brain) return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
    uint64_t mantissa = bits & 0x3ff, exponent = bits >> 10 & 0x1f;
    double value = exponent == 31  ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                   : exponent == 0 ? std::ldexp(static_cast<double>(mantissa), -24)
                                   : std::ldexp(static_cast<double>(mantissa + 1024), static_cast<int>(exponent) - 25);
    return bits >> 15 & 1 ? -value : value;
  }

  static int width(DType t) {
    switch (t) {
      case DType::I16:
      case DType::U16:
      case DType::F16:
      case DType::BF16: return 2;
      case DType::I32:
      case DType::U32:
      case DType::F32: return 4;
      case DType::I64:
      case DType::U64:
      case DType::F64: return 8;
      default: return 1;
    }
  }

  static int64_t wrap(uint64_t value, DType t) {
    int bits = ir::int_bits(t);
    if (bits <= 0 || bits >= 64) return static_cast<int64_t>(value);
    uint64_t mask = (uint64_t{1} << bits) - 1;
    value &= mask;
    if (ir::is_signed_int(t) && value >> (bits - 1)) value |= ~mask;
    return static_cast<int64_t>(value);
  }

  static Literal from_bits(uint64_t bits, DType t) {
    switch (t) {
      case DType::Bool: return Literal::boolean(bits != 0);
      case DType::F32: return Literal::real(std::bit_cast<float>(static_cast<uint32_t>(bits)), t);
      case DType::F64: return Literal::real(std::bit_cast<double>(bits), t);
      case DType::F16: return Literal::real(half(bits, false), t);
      case DType::BF16: return Literal::real(half(bits, true), t);
      default: return Literal::integer(wrap(bits, t), t);
    }
  }

  // TensorProto: raw bytes, or a list of which the last value is repeated; nothing at all is zeros.
  Tensor tensor(const Field& f) {
    const Message& m = sub(f);
    Tensor out;
    if (const Field* t = m.find("dtype")) out.type = type(*t);
    out.shape.known = true;
    if (const Field* s = m.find("tensor_shape")) out.shape = shape(*s);
    if (!out.shape.known) fail(f.offset, "a constant has a shape with unknown dimensions");
    DType t = out.type.dtype;
    if (out.type.kind != Type::Kind::Tensor || ir::is_complex(t) || t == DType::F8 || t == DType::F4) return out;
    int64_t count = elements(out.shape.dims);
    auto values = std::make_shared<std::vector<Literal>>();
    if (const Field* content = m.find("tensor_content"); content && !content->text.empty()) {
      size_t w = static_cast<size_t>(width(t));
      if (content->text.size() != static_cast<size_t>(count) * w)
        fail(content->offset, fmt::format("tensor_content has {} bytes, expected {} ({} elements of {} bytes)", content->text.size(),
                                          count * static_cast<int64_t>(w), count, w));
      values->reserve(static_cast<size_t>(count));
      for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
        uint64_t bits = 0;
        for (size_t b = w; b-- > 0;) bits = bits << 8 | static_cast<uint8_t>(content->text[k * w + b]);
        values->push_back(from_bits(bits, t));
      }
    } else {
      for (const Field& v : m.fields) {
        if (v.name == "float_val" || v.name == "double_val")
          values->push_back(Literal::real(t == DType::F32 ? static_cast<double>(static_cast<float>(real(v))) : real(v), t));
        else if (v.name == "half_val")
          values->push_back(from_bits(static_cast<uint64_t>(integer(v)), t));
        else if (v.name == "bool_val")
          values->push_back(Literal::boolean(boolean(v)));
        else if (v.name == "int_val" || v.name == "int64_val" || v.name == "uint32_val" || v.name == "uint64_val")
          values->push_back(Literal::integer(wrap(static_cast<uint64_t>(integer(v)), t), t));
        else
          continue;
        bool fits = ir::is_float(t)    ? values->back().kind == Literal::Kind::Float
                    : t == DType::Bool ? values->back().kind == Literal::Kind::Bool
                                       : values->back().kind == Literal::Kind::Int;
        if (!fits) fail(v.offset, fmt::format("{} in a tensor of another type", v.name));
      }
      int64_t given = static_cast<int64_t>(values->size());
      if (given > count) fail(f.offset, fmt::format("the constant has {} values, expected at most {}", given, count));
      if (given == 0 && count > 0)
        values->push_back(ir::is_float(t) ? Literal::real(0, t) : t == DType::Bool ? Literal::boolean(false) : Literal::integer(0, t));
      if (given > 1 && given < count) {
        if (count > int64_t{1} << 24) fail(f.offset, "the constant repeats its last value too often: expected tensor_content");
        values->resize(static_cast<size_t>(count), values->back());
      }
    }
    out.known = true;
    out.values = std::move(values);
    return out;
  }

  Attr scalar(const Field& f) {
    Attr a;
    if (f.name == "s") {
      a.kind = Attr::Kind::String;
      a.s = f.text;
    } else if (f.name == "i") {
      a.kind = Attr::Kind::Int;
      a.i = integer(f);
    } else if (f.name == "f") {
      a.kind = Attr::Kind::Float;
      a.f = real(f);
    } else if (f.name == "b") {
      a.kind = Attr::Kind::Bool;
      a.i = boolean(f);
    } else if (f.name == "type") {
      a.kind = Attr::Kind::Type;
      a.type = type(f);
    } else if (f.name == "shape") {
      a.kind = Attr::Kind::Shape;
      a.shape = shape(f);
    } else if (f.name == "tensor") {
      a.kind = Attr::Kind::Tensor;
      a.tensor = std::make_shared<const Tensor>(tensor(f));
    } else if (f.name == "func") {
      a.kind = Attr::Kind::Func;
      a.s = string_of(sub(f), "name");
    }
    return a;
  }

  Attr attr(const Field& f) {
    Attr a;
    for (const Field& v : sub(f).fields) {
      if (v.name == "list") {
        a.kind = Attr::Kind::List;
        for (const Field& item : sub(v).fields) a.list.push_back(scalar(item));
      } else {
        a = scalar(v);
      }
    }
    return a;
  }

  void body(const Message& m, std::string_view field, const Function* function, Body* out) {
    std::unordered_map<std::string, uint32_t> index;
    std::vector<const Field*> sources;
    for (const Field& f : m.fields) {
      if (f.name != field) continue;
      const Message& n = sub(f);
      Node node;
      node.name = string_of(n, "name");
      node.op = string_of(n, "op");
      node.device = string_of(n, "device");
      node.line = line(f.offset);
      if (node.name.empty() || node.op.empty()) fail(f.offset, "a node has no name or no op");
      for (const Field& a : n.fields) {
        if (a.name != "attr") continue;
        const Field* value = sub(a).find("value");
        if (value) node.attrs[string_of(sub(a), "key")] = attr(*value);
      }
      if (!index.emplace(node.name, static_cast<uint32_t>(out->nodes.size())).second)
        fail(f.offset, fmt::format("the node '{}' is defined twice", node.name));
      out->nodes.push_back(std::move(node));
      sources.push_back(&f);
    }
    std::unordered_map<std::string, int> arguments;
    if (function)
      for (size_t k = 0; k < function->arguments.size(); ++k) arguments.emplace(function->arguments[k].name, static_cast<int>(k));
    for (size_t k = 0; k < out->nodes.size(); ++k) {
      Node& node = out->nodes[k];
      bool control = false;
      for (const Field& f : sources[k]->message->fields) {
        if (f.name != "input") continue;
        std::string_view name = f.text;
        if (name.starts_with('^')) {
          control = true;
          auto it = index.find(std::string(name.substr(1)));
          if (it != index.end())
            node.control.push_back(it->second);
          else if (!arguments.count(std::string(name.substr(1))))
            fail(f.offset, fmt::format("the control input '{}' is not in the graph", name));
          continue;
        }
        if (control) fail(f.offset, "a data input after a control input");
        node.inputs.push_back(reference(name, f.offset, index, arguments, function != nullptr, *out));
      }
    }
    sort(*out);
  }

  Ref reference(std::string_view name, size_t offset, const std::unordered_map<std::string, uint32_t>& index,
                const std::unordered_map<std::string, int>& arguments, bool in_function, const Body& body) {
    if (in_function) {
      if (auto it = arguments.find(std::string(name)); it != arguments.end()) return {Ref::kArgument, it->second};
    }
    size_t colon = name.find(':');
    std::string node(name.substr(0, colon));
    auto it = index.find(node);
    if (it == index.end()) fail(offset, fmt::format("the input '{}' is not in the graph", name));
    Ref ref{it->second, 0};
    if (colon == std::string_view::npos) return ref;
    std::string_view rest = name.substr(colon + 1);
    std::string_view result;
    if (size_t second = rest.find(':'); in_function && second != std::string_view::npos) {
      result = rest.substr(0, second);
      rest = rest.substr(second + 1);
    }
    int k = -1;
    auto [p, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), k);
    if (rest.empty() || ec != std::errc() || p != rest.data() + rest.size() || k < 0 || k > 1'000'000)
      fail(offset, fmt::format("'{}': expected a result number after ':'", name));
    auto named = named_results().find(body.nodes[ref.node].op);
    if (!result.empty() && named != named_results().end()) {
      auto which = std::find(named->second.begin(), named->second.end(), result);
      if (which == named->second.end()) fail(offset, fmt::format("'{}': {} has no result '{}'", name, body.nodes[ref.node].op, result));
      k += static_cast<int>(which - named->second.begin());
    }
    ref.output = k;
    return ref;
  }

  // Kahn's algorithm, the earliest ready node of the file first.
  void sort(Body& body) {
    size_t n = body.nodes.size();
    std::vector<std::vector<uint32_t>> users(n);
    std::vector<uint32_t> missing(n, 0);
    for (uint32_t k = 0; k < n; ++k) {
      for (const Ref& r : body.nodes[k].inputs)
        if (r.node != Ref::kArgument) users[r.node].push_back(k), ++missing[k];
      for (uint32_t c : body.nodes[k].control) users[c].push_back(k), ++missing[k];
    }
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t k = 0; k < n; ++k)
      if (missing[k] == 0) ready.push(k);
    while (!ready.empty()) {
      uint32_t k = ready.top();
      ready.pop();
      body.order.push_back(k);
      for (uint32_t user : users[k])
        if (--missing[user] == 0) ready.push(user);
    }
    if (body.order.size() != n) {
      for (uint32_t k = 0; k < n; ++k) {
        if (missing[k] == 0) continue;
        throw Fail{Diagnostic{
            "SP252",
            fmt::format("the node '{}' depends on itself (a loop of TensorFlow 1): loops are not supported, unroll it", body.nodes[k].name),
            path_, body.nodes[k].line, text_ ? 1 : 0}};
      }
    }
  }

  Function function(const Field& f) {
    const Message& m = sub(f);
    Function out;
    const Field* signature = m.find("signature");
    if (!signature) fail(f.offset, "a function without signature");
    const Message& s = sub(*signature);
    out.name = string_of(s, "name");
    for (const Field& a : s.fields) {
      if (a.name == "input_arg") {
        const Field* t = sub(a).find("type");
        out.arguments.push_back({string_of(sub(a), "name"), t ? type(*t) : Type{}});
      }
      if (a.name == "output_arg") out.result_names.push_back(string_of(sub(a), "name"));
    }
    body(m, "node_def", &out, &out.body);
    std::unordered_map<std::string, uint32_t> index;
    for (uint32_t k = 0; k < out.body.nodes.size(); ++k) index.emplace(out.body.nodes[k].name, k);
    std::unordered_map<std::string, int> arguments;
    for (size_t k = 0; k < out.arguments.size(); ++k) arguments.emplace(out.arguments[k].name, static_cast<int>(k));
    for (const std::string& name : out.result_names) {
      const Field* found = nullptr;
      for (const Field& r : m.fields)
        if (r.name == "ret" && string_of(sub(r), "key") == name) found = &r;
      if (!found) fail(f.offset, fmt::format("the function '{}' has no value for its result '{}'", out.name, name));
      out.results.push_back(reference(string_of(sub(*found), "value"), found->offset, index, arguments, true, out.body));
    }
    return out;
  }

  std::string_view content_;
  const std::string& path_;
  bool text_;
  std::vector<size_t> lines_;
};

Result<Module> read_with(std::string_view content, const std::string& path, bool text) {
  try {
    Message root = text ? parse_text_proto(content, path) : parse_graph_wire(content, path);
    return Builder(content, path, text).build(root);
  } catch (Fail& fail) {
    return std::move(fail.diagnostic);
  }
}

}  // namespace

Result<Module> read_text(std::string_view text, const std::string& path) { return read_with(text, path, true); }
Result<Module> read_binary(std::string_view bytes, const std::string& path) { return read_with(bytes, path, false); }

Result<Module> read(std::string_view content, const std::string& path) {
  // Bytes start with the tag of the first node (0x0A); text has no control characters but line ends and tabs.
  for (char c : content.substr(0, 4096)) {
    auto u = static_cast<unsigned char>(c);
    if (u < 0x20 && c != '\n' && c != '\r' && c != '\t') return read_binary(content, path);
  }
  return read_text(content, path);
}

}  // namespace shardproof::graphdef
