// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Typed access, and the small value types of the torch.export schema.
#include "frontend/fx/json_access.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "frontend/fx/cursor.h"

namespace shardproof::fx {

Result<Json> parse_json(std::string_view text, const std::string& path) {
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& e) {
    int line = 0;
    int column = 0;
    if (const auto* parse = dynamic_cast<const Json::parse_error*>(&e)) {
      const std::string_view before = text.substr(0, parse->byte > 0 ? parse->byte - 1 : 0);
      line = 1;
      size_t start = 0;
      for (size_t i = before.find('\n'); i != std::string_view::npos; i = before.find('\n', i + 1)) {
        ++line;
        start = i + 1;
      }
      column = static_cast<int>(before.size() - start) + 1;
    }
    std::string what = e.what();
    const size_t colon = what.rfind("; ");  // drop the library's prefix with its own position
    return Diagnostic{"SP220", "not valid JSON: " + (colon == std::string::npos ? what : what.substr(colon + 2)), path, line, column};
  }
}

const Json* JsonAccess::get(const Json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

bool JsonAccess::fail(const std::string& where, const std::string& message, const char* code) {
  if (error_.code.empty()) error_ = Diagnostic{code, where.empty() ? message : where + ": " + message, path_, 0, 0};
  return false;
}

bool JsonAccess::pick(const Json& value, const std::string& where, std::string_view& key, const Json*& member) {
  if (!value.is_object()) return fail(where, "expected an object with one member such as \"as_tensor\"");
  member = nullptr;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (it->is_null()) continue;
    if (member != nullptr) return fail(where, fmt::format("expected one member, found both \"{}\" and \"{}\"", key, it.key()));
    key = it.key();
    member = &*it;
  }
  if (member == nullptr) {
    static const Json kNone = true;
    key = "as_none";
    member = &kNone;
  }
  return true;
}

bool JsonAccess::string(const Json& value, const std::string& where, std::string& out) {
  if (!value.is_string()) return fail(where, "expected a string");
  out = value.get_ref<const std::string&>();
  return true;
}

bool JsonAccess::integer(const Json& value, const std::string& where, int64_t& out) {
  if (!value.is_number_integer()) return fail(where, "expected an integer of 64 bits");
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return fail(where, "expected an integer of 64 bits");
  }
  out = value.get<int64_t>();
  return true;
}

bool JsonAccess::real(const Json& value, const std::string& where, double& out) {
  if (value.is_number()) {
    out = value.get<double>();
    return true;
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (text == "Infinity" || text == "inf") return out = kInf, true;
    if (text == "-Infinity" || text == "-inf") return out = -kInf, true;
    if (text == "NaN" || text == "nan") return out = std::numeric_limits<double>::quiet_NaN(), true;
  }
  return fail(where, "expected a number, \"Infinity\", \"-Infinity\" or \"NaN\"");
}

bool JsonAccess::boolean(const Json& value, const std::string& where, int64_t& out) {
  if (!value.is_boolean()) return fail(where, "expected true or false");
  out = value.get<bool>() ? 1 : 0;
  return true;
}

bool JsonAccess::array(const Json& value, const std::string& where) { return value.is_array() || fail(where, "expected a list"); }

bool JsonAccess::object(const Json& value, const std::string& where) { return value.is_object() || fail(where, "expected an object"); }

std::optional<ir::DType> dtype_of_scalar_type(int64_t scalar_type) {
  using ir::DType;
  switch (scalar_type) {
    case 1: return DType::U8;
    case 2: return DType::I8;
    case 3: return DType::I16;
    case 4: return DType::I32;
    case 5: return DType::I64;
    case 6: return DType::F16;
    case 7: return DType::F32;
    case 8: return DType::F64;
    case 9: return DType::Invalid;  // complex32
    case 10: return DType::C64;
    case 11: return DType::C128;
    case 12: return DType::Bool;
    case 13: return DType::BF16;
    case 28: return DType::U16;
    case 29:
    case 30:
    case 31:
    case 32:
    case 33: return DType::F8;
    case 34: return DType::U32;
    case 35: return DType::U64;
    default: return std::nullopt;
  }
}

namespace {

// Reads one srepr. A frame is a function call; its arguments are texts with the strength of their outermost operator.
struct Piece {
  std::string text;
  int strength = 3;  // 1 sum, 2 product, 3 atom
};

struct Call {
  std::string name;
  std::vector<Piece> args;
};

Piece combine(Call& call) {
  const auto join = [&](const char* op, int strength) {
    Piece out;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const bool minus = strength == 1 && i > 0 && call.args[i].text.front() == '-';
      if (minus) {
        out.text += " - ";
        call.args[i].text.erase(0, 1);
      } else if (i > 0) {
        out.text += op;
      }
      out.text += call.args[i].strength < strength ? "(" + call.args[i].text + ")" : call.args[i].text;
    }
    out.strength = strength;
    return out;
  };
  if ((call.name == "Symbol" || call.name == "Integer") && !call.args.empty()) return call.args.front();
  const bool all = std::all_of(call.args.begin(), call.args.end(), [](const Piece& p) { return !p.text.empty(); });
  if (call.name == "Add" && call.args.size() > 1 && all) return join(" + ", 1);
  if (call.name == "Mul" && call.args.size() > 1 && all) {
    if (call.args.front().text == "-1") {
      call.args.erase(call.args.begin());
      Piece out = join("*", 2);
      out.text.insert(0, "-");
      return out;
    }
    return join("*", 2);
  }
  struct Relation {
    const char* name;
    const char* op;
  };
  static constexpr Relation kRelations[] = {
      {"GreaterThan", " >= "}, {"LessThan", " <= "}, {"StrictGreaterThan", " > "}, {"StrictLessThan", " < "}};
  for (const Relation& r : kRelations) {
    if (call.name == r.name && call.args.size() == 2) return {call.args[0].text + r.op + call.args[1].text, 0};
  }
  if (call.name == "Pow" && call.args.size() == 2) {
    const auto atom = [](const Piece& p) { return p.strength < 3 ? "(" + p.text + ")" : p.text; };
    return {atom(call.args[0]) + "**" + atom(call.args[1]), 3};
  }
  if (call.name == "FloorDiv" && call.args.size() == 2) {
    const auto atom = [](const Piece& p) { return p.strength < 3 ? "(" + p.text + ")" : p.text; };
    return {"(" + atom(call.args[0]) + "//" + atom(call.args[1]) + ")", 3};
  }
  if (call.name == "Equality") call.name = "Eq";
  if (call.name == "Unequality") call.name = "Ne";
  Piece out;
  out.text = call.name + "(";
  for (size_t i = 0; i < call.args.size(); ++i) out.text += (i > 0 ? ", " : "") + call.args[i].text;
  out.text += ")";
  return out;
}

}  // namespace

std::string readable_expression(std::string_view text) {
  constexpr size_t kMaxDepth = 64;
  std::vector<Call> stack(1);  // the bottom frame collects the result
  size_t i = 0;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  while (i < text.size()) {
    const char c = text[i];
    if (c == ' ' || c == ',') {
      ++i;
    } else if (c == '\'') {
      const size_t end = text.find('\'', i + 1);
      if (end == std::string_view::npos) return std::string(text);
      stack.back().args.push_back({std::string(text.substr(i + 1, end - i - 1)), 3});
      i = end + 1;
    } else if (c == ')') {
      if (stack.size() < 2) return std::string(text);
      Piece done = combine(stack.back());
      stack.pop_back();
      stack.back().args.push_back(std::move(done));
      ++i;
    } else if (is_word(c) || c == '-') {
      const size_t start = i++;
      while (i < text.size() && is_word(text[i])) ++i;
      const std::string_view word = text.substr(start, i - start);
      if (i < text.size() && text[i] == '(') {
        if (stack.size() >= kMaxDepth) return std::string(text);
        stack.push_back({std::string(word), {}});
        ++i;
      } else if (i < text.size() && text[i] == '=') {  // an assumption: integer=True
        ++i;
        while (i < text.size() && is_word(text[i])) ++i;
      } else {
        stack.back().args.push_back({std::string(word), 3});
      }
    } else {
      return std::string(text);  // not srepr
    }
  }
  if (stack.size() != 1 || stack[0].args.size() != 1) return std::string(text);
  return stack[0].args[0].text;
}

std::string JsonAccess::symbolic(const std::string& expression, const Json& value) {
  std::string text = readable_expression(expression);
  const Json* hint = get(value, "hint");
  const Json* number = hint == nullptr ? nullptr : get(*hint, "as_int");
  const bool symbol = !text.empty() && (text[0] < '0' || text[0] > '9') && std::all_of(text.begin(), text.end(), in_identifier);
  if (symbol && number != nullptr && number->is_number_integer() &&
      std::none_of(hints.begin(), hints.end(), [&](const auto& h) { return h.first == text; }))
    hints.emplace_back(text, number->get<int64_t>());
  return text;
}

bool read_tensor_meta(JsonAccess& access, const Json& value, const std::string& where, TensorType& type) {
  const Json* meta = JsonAccess::get(value, "meta");  // the oldest files have one more level
  if (meta == nullptr) meta = &value;
  const Json* dtype = JsonAccess::get(*meta, "dtype");
  const Json* sizes = JsonAccess::get(*meta, "sizes");
  if (dtype == nullptr || sizes == nullptr) return access.fail(where, "expected a tensor's \"dtype\" and \"sizes\"");
  int64_t scalar_type = 0;
  if (!access.integer(*dtype, where + ".dtype", scalar_type) || !access.array(*sizes, where + ".sizes")) return false;
  const std::optional<ir::DType> known = dtype_of_scalar_type(scalar_type);
  if (!known) return access.fail(where + ".dtype", fmt::format("unknown element type {}", scalar_type));
  type.dtype = *known;
  for (const Json& size : *sizes) {
    std::string_view key;
    const Json* member = nullptr;
    if (size.is_number_integer()) {
      key = "as_int";
      member = &size;
    } else if (!access.pick(size, where + ".sizes", key, member)) {
      return false;
    }
    if (key == "as_int") {
      int64_t number = 0;
      if (!access.integer(*member, where + ".sizes", number)) return false;
      if (number < 0) return access.fail(where + ".sizes", "a negative size");
      type.shape.push_back(number);
      type.symbols.emplace_back();
      continue;
    }
    const Json* text = key == "as_expr" ? JsonAccess::get(*member, "expr_str") : nullptr;
    std::string expression;
    if (key == "as_expr" && member->is_string()) text = member;
    if (text == nullptr || !access.string(*text, where + ".sizes", expression)) {
      return access.fail(where + ".sizes", "expected \"as_int\" or \"as_expr\" with \"expr_str\"");
    }
    type.symbolic = true;
    type.shape.push_back(-1);
    type.symbols.push_back(access.symbolic(expression, *member));
  }
  if (!type.symbolic) type.symbols.clear();
  type.known = true;
  return true;
}

}  // namespace shardproof::fx
