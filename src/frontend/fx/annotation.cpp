// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// annotation := DTYPE shape [stride] [device] | "DTensor(" annotation ", " placements ")" | CLASS "(" annotation ")" | "Sym(" expression
// ")" Wrappers are peeled off one by one from the outside; strides and devices are checked for form and dropped, as they change no value.
#include "frontend/fx/annotation.h"

#include <charconv>
#include <utility>

#include "frontend/fx/cursor.h"

namespace shardproof::fx {
namespace {

using ir::DType;

struct Named {
  std::string_view name;
  DType type;
};

constexpr Named kAbbreviations[] = {{"f32", DType::F32},       {"i64", DType::I64},
                                    {"b8", DType::Bool},       {"bf16", DType::BF16},
                                    {"f16", DType::F16},       {"f64", DType::F64},
                                    {"i32", DType::I32},       {"i16", DType::I16},
                                    {"i8", DType::I8},         {"u8", DType::U8},
                                    {"u16", DType::U16},       {"u32", DType::U32},
                                    {"u64", DType::U64},       {"c32", DType::Invalid},
                                    {"c64", DType::C64},       {"c128", DType::C128},
                                    {"f8e4m3fn", DType::F8},   {"f8e5m2", DType::F8},
                                    {"f8e4m3fnuz", DType::F8}, {"f8e5m2fnuz", DType::F8},
                                    {"f8e8m0fnu", DType::F8},  {"f4e2m1fnx2", DType::Invalid},  // two numbers an element
                                    {"b16", DType::Invalid},   {"b1x8", DType::Invalid},
                                    {"b2x4", DType::Invalid},  {"b4x2", DType::Invalid}};

constexpr Named kTorchNames[] = {{"float32", DType::F32},
                                 {"int64", DType::I64},
                                 {"bool", DType::Bool},
                                 {"bfloat16", DType::BF16},
                                 {"float16", DType::F16},
                                 {"float64", DType::F64},
                                 {"int32", DType::I32},
                                 {"int16", DType::I16},
                                 {"int8", DType::I8},
                                 {"uint8", DType::U8},
                                 {"uint16", DType::U16},
                                 {"uint32", DType::U32},
                                 {"uint64", DType::U64},
                                 {"half", DType::F16},
                                 {"float", DType::F32},
                                 {"double", DType::F64},
                                 {"long", DType::I64},
                                 {"int", DType::I32},
                                 {"short", DType::I16},
                                 {"complex32", DType::Invalid},
                                 {"complex64", DType::C64},
                                 {"complex128", DType::C128},
                                 {"float8_e4m3fn", DType::F8},
                                 {"float8_e5m2", DType::F8},
                                 {"float8_e4m3fnuz", DType::F8},
                                 {"float8_e5m2fnuz", DType::F8},
                                 {"float8_e8m0fnu", DType::F8},
                                 {"float4_e2m1fn_x2", DType::Invalid}};

template <size_t N>
std::optional<DType> find(const Named (&table)[N], std::string_view name) {
  for (const Named& entry : table) {
    if (entry.name == name) return entry.type;
  }
  return std::nullopt;
}

// Takes "[...]" off the front of `text` and gives its inside; brackets nest.
bool take_brackets(std::string_view& text, std::string_view& inside) {
  if (text.empty() || text.front() != '[') return false;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == ']' || text[i] == ')') {
      if (--depth == 0) {
        if (text[i] != ']') return false;
        inside = text.substr(1, i - 1);
        text.remove_prefix(i + 1);
        return true;
      }
    }
  }
  return false;
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

bool symbolic_text(std::string_view s) {
  if (s.empty()) return false;
  for (const char c : s) {
    if (!in_identifier(c) && std::string_view(" +-*/%()[],.<>=!&|^~").find(c) == std::string_view::npos) return false;
  }
  return true;
}

// Sizes, separated by commas outside of brackets.
bool parse_sizes(std::string_view text, TensorType& type) {
  text = trim(text);
  while (!text.empty()) {
    int depth = 0;
    size_t end = 0;
    for (; end < text.size() && (depth > 0 || text[end] != ','); ++end) {
      if (text[end] == '(' || text[end] == '[') ++depth;
      if (text[end] == ')' || text[end] == ']') --depth;
      if (depth < 0) return false;
    }
    const std::string_view item = trim(text.substr(0, end));
    int64_t size = 0;
    const auto [stop, error] = std::from_chars(item.data(), item.data() + item.size(), size);
    if (error == std::errc() && stop == item.data() + item.size() && size >= 0) {
      type.shape.push_back(size);
      type.symbols.emplace_back();
    } else {
      if (depth != 0 || !symbolic_text(item) || (item.front() >= '0' && item.front() <= '9' && error != std::errc())) return false;
      type.symbolic = true;
      type.shape.push_back(-1);
      type.symbols.emplace_back(item);
    }
    text.remove_prefix(end);
    if (!text.empty()) {
      text.remove_prefix(1);
      text = trim(text);
      if (text.empty()) return false;  // a comma at the end
    }
  }
  if (!type.symbolic) type.symbols.clear();
  return true;
}

bool is_device(std::string_view s) {  // cpu, cuda:0, meta
  size_t i = 0;
  while (i < s.size() && in_identifier(s[i])) ++i;
  if (i == 0) return false;
  if (i == s.size()) return true;
  if (s[i] != ':') return false;
  for (++i; i < s.size(); ++i) {
    if (s[i] < '0' || s[i] > '9') return false;
  }
  return s.back() != ':';
}

}  // namespace

std::optional<DType> dtype_of_abbreviation(std::string_view name) { return find(kAbbreviations, name); }
std::optional<DType> dtype_of_torch_name(std::string_view name) { return find(kTorchNames, name); }

bool parse_annotation(std::string_view text, TensorType& out) {
  TensorType type;
  text = trim(text);
  for (;;) {  // wrappers
    size_t end = 0;
    while (end < text.size() && in_identifier(text[end])) ++end;
    if (end == text.size() || text[end] != '(' || end == 0) break;
    if (text.back() != ')') return false;
    const std::string_view wrapper = text.substr(0, end);
    text = trim(text.substr(end + 1, text.size() - end - 2));
    if (wrapper == "Sym") {
      if (!symbolic_text(text)) return false;
      type.known = type.is_sym = type.symbolic = true;
      type.symbols = {std::string(text)};
      out = std::move(type);
      return true;
    }
    if (wrapper == "DTensor") {
      // The placements follow the last ", " outside of brackets: "f32[8, 16], S(0)R".
      int depth = 0;
      size_t comma = std::string_view::npos;
      for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '(' || text[i] == '[') ++depth;
        if (text[i] == ')' || text[i] == ']') --depth;
        if (text[i] == ',' && depth == 0) comma = i;
      }
      if (comma == std::string_view::npos || !type.sharding.empty()) return false;
      type.sharding = std::string(trim(text.substr(comma + 1)));
      if (type.sharding.empty()) return false;
      text = trim(text.substr(0, comma));
    }
  }
  size_t end = 0;
  while (end < text.size() && in_identifier(text[end])) ++end;
  const std::optional<DType> dtype = dtype_of_abbreviation(text.substr(0, end));
  if (!dtype) return false;
  type.dtype = *dtype;
  text.remove_prefix(end);
  std::string_view inside;
  if (!take_brackets(text, inside) || !parse_sizes(inside, type)) return false;
  if (!text.empty() && text.front() == '[' && !take_brackets(text, inside)) return false;
  if (!text.empty() && !is_device(text)) return false;
  type.known = true;
  out = std::move(type);
  return true;
}

}  // namespace shardproof::fx
