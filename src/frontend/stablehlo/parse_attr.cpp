// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Tokens, types and attributes of MLIR text.
#include <charconv>

#include "fmt/format.h"
#include "frontend/stablehlo/parser.h"

namespace shardproof::stablehlo {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
bool is_suffix(char c) { return is_name(c) || c == '-'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
int hex_value(char c) { return is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

// Words that start a builtin type.
bool is_type_word(std::string_view w) {
  if (w == "tensor" || w == "tuple" || w == "complex" || w == "index" || w == "none" || w == "vector" || w == "memref") return true;
  if (w == "bf16" || w == "tf32" || w == "f16" || w == "f32" || w == "f64" || w == "f80" || w == "f128") return true;
  if (w.size() > 2 && w[0] == 'f' && is_digit(w[1]) && w.find('E') != std::string_view::npos) return true;
  size_t k = w.starts_with("ui") || w.starts_with("si") ? 2 : w.starts_with("i") ? 1 : 0;
  if (k == 0 || k >= w.size()) return false;
  for (; k < w.size(); ++k)
    if (!is_digit(w[k])) return false;
  return true;
}

ir::DType element_type(std::string_view w) {
  using ir::DType;
  static const std::unordered_map<std::string_view, DType> table = {
      {"i1", DType::Bool},  {"i2", DType::I2},     {"i4", DType::I4},    {"i8", DType::I8},    {"i16", DType::I16},  {"i32", DType::I32},
      {"i64", DType::I64},  {"ui2", DType::U2},    {"ui4", DType::U4},   {"ui8", DType::U8},   {"ui16", DType::U16}, {"ui32", DType::U32},
      {"ui64", DType::U64}, {"si8", DType::I8},    {"si16", DType::I16}, {"si32", DType::I32}, {"si64", DType::I64}, {"index", DType::I64},
      {"f16", DType::F16},  {"bf16", DType::BF16}, {"f32", DType::F32},  {"f64", DType::F64}};
  auto it = table.find(w);
  if (it != table.end()) return it->second;
  if (w.starts_with("f4E")) return DType::F4;
  if (w.starts_with("f8E")) return DType::F8;
  return DType::Invalid;
}

// HLO's spelling of the 4- and 8-bit float types ("f8E4M3FN" -> "f8e4m3fn"), in static storage.
std::string_view float_format(std::string_view w) {
  static constexpr std::string_view kNames[][2] = {
      {"f4E2M1FN", "f4e2m1fn"}, {"f8E3M4", "f8e3m4"},         {"f8E4M3", "f8e4m3"},
      {"f8E4M3FN", "f8e4m3fn"}, {"f8E4M3FNUZ", "f8e4m3fnuz"}, {"f8E4M3B11FNUZ", "f8e4m3b11fnuz"},
      {"f8E5M2", "f8e5m2"},     {"f8E5M2FNUZ", "f8e5m2fnuz"}, {"f8E8M0FNU", "f8e8m0fnu"}};
  for (const auto& [mlir, hlo] : kNames)
    if (w == mlir) return hlo;
  return {};
}

}  // namespace

std::pair<int, int> line_column(std::string_view text, size_t offset) {
  int line = 1;
  size_t start = 0;
  if (offset > text.size()) offset = text.size();
  for (size_t k = 0; k < offset; ++k) {
    if (text[k] == '\n') {
      ++line;
      start = k + 1;
    }
  }
  return {line, static_cast<int>(offset - start) + 1};
}

void Parser::fail(size_t at, std::string message, const char* code) const {
  auto [line, column] = line_column(text_, at);
  throw Fail{Diagnostic{code, std::move(message), path_, line, column}};
}

void Parser::expected(const std::string& what) {
  size_t at = position();
  std::string found = "end of file";
  if (at < end()) {
    size_t stop = at;
    while (stop < end() && stop - at < 24 && text_[stop] != '\n') ++stop;
    found = fmt::format("'{}'", text_.substr(at, stop - at));
  }
  fail(at, fmt::format("expected {}, found {}", what, found));
}

void Parser::skip_space() {
  size_t e = end();
  while (pos_ < e) {
    char c = text_[pos_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++pos_;
    } else if (c == '/' && pos_ + 1 < e && text_[pos_ + 1] == '/') {
      while (pos_ < e && text_[pos_] != '\n') ++pos_;
    } else {
      return;
    }
  }
}

bool Parser::peek_word(std::string_view word) {
  skip_space();
  if (text_.substr(pos_, word.size()) != word || pos_ + word.size() > end()) return false;
  size_t after = pos_ + word.size();
  return after >= end() || !is_name(text_[after]);
}

bool Parser::accept(char c) {
  if (peek() != c) return false;
  ++pos_;
  return true;
}

bool Parser::accept(std::string_view token) {
  skip_space();
  if (pos_ + token.size() > end() || text_.substr(pos_, token.size()) != token) return false;
  pos_ += token.size();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!peek_word(word)) return false;
  pos_ += word.size();
  return true;
}

void Parser::expect(char c, const char* where) {
  if (!accept(c)) expected(fmt::format("'{}' {}", c, where));
}

std::string_view Parser::identifier(const char* what) {
  skip_space();
  size_t start = pos_;
  if (pos_ >= end() || !is_letter(text_[pos_])) expected(what);
  while (pos_ < end() && is_name(text_[pos_])) ++pos_;
  return text_.substr(start, pos_ - start);
}

std::string_view Parser::suffix_id(const char* what) {
  size_t start = pos_;  // no space between the sigil and the name
  while (pos_ < end() && is_suffix(text_[pos_])) {
    if (text_[pos_] == '-' && pos_ + 1 < end() && text_[pos_ + 1] == '>') break;
    ++pos_;
  }
  if (pos_ == start) expected(what);
  return text_.substr(start, pos_ - start);
}

std::string_view Parser::raw_string() {
  skip_space();
  size_t start = pos_;
  if (pos_ >= end() || text_[pos_] != '"') expected("a string in double quotes");
  ++pos_;
  while (pos_ < end() && text_[pos_] != '"') {
    if (text_[pos_] == '\n') fail(start, "the string is not closed: expected '\"' before the end of the line");
    pos_ += text_[pos_] == '\\' ? 2 : 1;
  }
  if (pos_ >= end()) fail(start, "the string is not closed: expected '\"' before the end of the file");
  ++pos_;
  return text_.substr(start + 1, pos_ - start - 2);
}

std::string Parser::unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t k = 0; k < raw.size(); ++k) {
    if (raw[k] != '\\' || k + 1 >= raw.size()) {
      out += raw[k];
      continue;
    }
    char c = raw[++k];
    if (k + 1 < raw.size() && is_hex(c) && is_hex(raw[k + 1])) {
      out += static_cast<char>(hex_value(c) * 16 + hex_value(raw[++k]));
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
  }
  return out;
}

int64_t Parser::integer(const char* what) {
  skip_space();
  size_t start = pos_;
  size_t k = pos_;
  if (k < end() && text_[k] == '-') ++k;
  size_t digits = k;
  while (k < end() && is_digit(text_[k])) ++k;
  if (k == digits) expected(what);
  int64_t value = 0;
  auto [p, ec] = std::from_chars(text_.data() + start, text_.data() + k, value);
  if (ec != std::errc() || p != text_.data() + k)
    fail(start, fmt::format("{}: '{}' does not fit in 64 bits", what, text_.substr(start, k - start)));
  pos_ = k;
  return value;
}

std::string Parser::symbol() {
  std::string name;
  while (true) {
    if (!accept('@')) expected("a symbol name such as @main");
    if (pos_ < end() && text_[pos_] == '"') {
      name += string();
    } else {
      name += suffix_id("a symbol name after '@'");
    }
    if (!accept("::")) return name;
    name += "::";
  }
}

std::string_view Parser::balanced(char open, char close) {
  skip_space();
  size_t start = pos_;
  if (pos_ >= end() || text_[pos_] != open) expected(fmt::format("'{}'", open));
  int64_t depth = 0;
  while (pos_ < end()) {
    char c = text_[pos_];
    if (c == '"') {
      raw_string();
      continue;
    }
    if (c == '-' && pos_ + 1 < end() && text_[pos_ + 1] == '>') {
      pos_ += 2;
      continue;
    }
    ++pos_;
    if (c == open) ++depth;
    if (c == close && --depth == 0) return text_.substr(start, pos_ - start);
  }
  fail(start, fmt::format("'{}' is not closed: expected '{}' before the end of the file", open, close));
}

// --- types

TypeId Parser::intern(hlo::Type type, std::string_view spelling) {
  auto it = interned_.find(spelling);
  if (it != interned_.end()) return it->second;
  tree_.types.push_back(std::move(type));
  TypeId id = static_cast<TypeId>(tree_.types.size() - 1);
  interned_.emplace(spelling, id);
  return id;
}

TypeId Parser::parse_type(int depth) {
  skip_space();
  size_t start = pos_;
  if (pos_ < end() && text_[pos_] == '!') {
    size_t save = pos_++;
    std::string_view name = suffix_id("a type name after '!'");
    auto it = type_aliases_.find(name);
    if (it != type_aliases_.end()) return it->second;
    pos_ = save;
  }
  // The common case, tensor<...> seen before, costs one lookup.
  if (text_.substr(pos_, 7) == "tensor<") {
    size_t close = text_.find('>', pos_);
    if (close != std::string_view::npos && close < end()) {
      auto it = interned_.find(text_.substr(start, close + 1 - start));
      if (it != interned_.end()) {
        pos_ = close + 1;
        return it->second;
      }
    }
  }
  hlo::Type type = parse_type_value(depth);
  return intern(std::move(type), text_.substr(start, pos_ - start));
}

bool Parser::parse_element(hlo::Type* type) {
  ir::DType* dtype = &type->dtype;
  if (accept_word("complex")) {
    expect('<', "after 'complex'");
    std::string_view part = identifier("f32 or f64");
    expect('>', "after the part type of 'complex'");
    *dtype = part == "f32" ? ir::DType::C64 : part == "f64" ? ir::DType::C128 : ir::DType::Invalid;
    return true;
  }
  if (peek() == '!') {  // quantised and other foreign element types
    ++pos_;
    suffix_id("a type name after '!'");
    if (peek() == '<') balanced('<', '>');
    *dtype = ir::DType::Invalid;
    return true;
  }
  std::string_view word = identifier("an element type such as f32, bf16, i32, ui8 or i1");
  *dtype = element_type(word);
  if (*dtype == ir::DType::F8 || *dtype == ir::DType::F4) {
    type->float_format = float_format(word);
    if (type->float_format.empty()) *dtype = ir::DType::Invalid;
  }
  return is_type_word(word);
}

hlo::Type Parser::parse_tensor(int) {
  hlo::Type type;
  expect('<', "after 'tensor'");
  if (accept('*')) {
    expect('x', "after '*'");
    type.dynamic = true;
  }
  int64_t elements = 1;
  while (true) {
    char c = peek();
    if (c == '?') {
      ++pos_;
      type.dynamic = true;
      type.shape.push_back(0);
    } else if (is_digit(c)) {
      size_t at = pos_;
      int64_t extent = integer("a dimension");
      constexpr int64_t kMost = int64_t{1} << 51;
      if (extent > kMost || (extent > 0 && elements > kMost / extent))
        fail(at, "the tensor has more than 2^51 elements; shardproof does not read such shapes");
      elements *= extent;
      type.shape.push_back(extent);
    } else {
      break;
    }
    if (!accept('x')) expected("'x' after a dimension");
    if (type.shape.size() > 64) fail(pos_, "the tensor has more than 64 dimensions; shardproof does not read such shapes");
  }
  size_t at = position();
  if (!parse_element(&type)) fail(at, "expected an element type such as f32, bf16, i32, ui8 or i1");
  if (type.dtype == ir::DType::Invalid) type.dynamic = true;
  if (accept(',')) {  // an encoding: bounds of dynamic dimensions, sparsity
    while (peek() != '>' && !at_end()) {
      if (peek() == '<') {
        balanced('<', '>');
      } else if (peek() == '"') {
        raw_string();
      } else {
        ++pos_;
      }
    }
  }
  expect('>', "at the end of the tensor type");
  return type;
}

hlo::Type Parser::parse_type_value(int depth) {
  if (depth > kMaxTypeDepth) fail(pos_, fmt::format("types nest deeper than {} levels", kMaxTypeDepth));
  hlo::Type type;
  char c = peek();
  if (c == '!') {
    size_t at = pos_++;
    std::string_view name = suffix_id("a type name after '!'");
    if (peek() == '<') balanced('<', '>');
    type.dtype = ir::DType::Token;
    if (name != "stablehlo.token" && name != "mhlo.token") {
      type.dtype = ir::DType::Invalid;
      type.dynamic = true;
    }
    (void)at;
    return type;
  }
  if (accept_word("tensor")) return parse_tensor(depth);
  if (accept_word("tuple")) {
    type.tuple = true;
    expect('<', "after 'tuple'");
    if (accept('>')) return type;
    do {
      type.elements.push_back(tree_.types[parse_type(depth + 1)]);
    } while (accept(','));
    expect('>', "at the end of the tuple type");
    return type;
  }
  if (peek_word("vector") || peek_word("memref")) {
    identifier("a type");
    balanced('<', '>');
    type.dynamic = true;
    return type;
  }
  size_t at = position();
  if (!is_letter(peek()) || !parse_element(&type)) {
    pos_ = at;
    expected("a type such as tensor<2x3xf32>");
  }
  if (type.dtype == ir::DType::Invalid) type.dynamic = true;
  return type;
}

std::vector<TypeId> Parser::type_list() {
  std::vector<TypeId> types;
  expect('(', "before a list of types");
  if (accept(')')) return types;
  do {
    types.push_back(parse_type());
  } while (accept(','));
  expect(')', "after a list of types");
  return types;
}

std::vector<TypeId> Parser::result_type_list() {
  if (peek() == '(') return type_list();
  return {parse_type()};
}

// --- attributes

Attr Parser::number(bool typed) {
  Attr a;
  a.offset = static_cast<uint32_t>(position());
  size_t k = pos_;
  if (text_[k] == '-' || text_[k] == '+') ++k;
  bool hex = k + 1 < end() && text_[k] == '0' && text_[k + 1] == 'x';
  bool real = false;
  if (hex) {
    k += 2;
    while (k < end() && is_hex(text_[k])) ++k;
  } else {
    while (k < end() && is_digit(text_[k])) ++k;
    if (k < end() && text_[k] == '.') {
      real = true;
      ++k;
      while (k < end() && is_digit(text_[k])) ++k;
    }
    if (real && k < end() && (text_[k] == 'e' || text_[k] == 'E')) {
      ++k;
      if (k < end() && (text_[k] == '-' || text_[k] == '+')) ++k;
      while (k < end() && is_digit(text_[k])) ++k;
    }
  }
  a.text = text_.substr(pos_, k - pos_);
  if (real) {
    a.kind = Attr::Kind::Float;
    auto [p, ec] = std::from_chars(a.text.data() + (a.text[0] == '+' ? 1 : 0), a.text.data() + a.text.size(), a.d);
    if (ec != std::errc()) fail(pos_, fmt::format("'{}' is not a number that fits in a double", a.text));
  } else {
    a.kind = Attr::Kind::Int;
    std::string_view digits = a.text;
    bool negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    if (hex) digits.remove_prefix(2);
    uint64_t value = 0;
    auto [p, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (digits.empty() || ec != std::errc() || p != digits.data() + digits.size())
      fail(pos_, fmt::format("'{}' is not an integer of 64 bits", a.text));
    a.i = static_cast<int64_t>(negative ? 0 - value : value);
    if (negative ? value > (uint64_t{1} << 63) : false) fail(pos_, fmt::format("'{}' is not an integer of 64 bits", a.text));
  }
  pos_ = k;
  if (typed && accept(':')) a.type = parse_type();
  return a;
}

// dense<...> : type and dense_resource<name> : type; the word has been read.
Attr Parser::dense(int) {
  Attr a;
  a.kind = Attr::Kind::Dense;
  a.text = balanced('<', '>');
  a.text = a.text.substr(1, a.text.size() - 2);
  a.offset = static_cast<uint32_t>(a.text.data() - text_.data());
  expect(':', "and the type after dense<...>");
  a.type = parse_type();
  return a;
}

// array<i64: 0, 1>; the word has been read.
Attr Parser::array(int depth) {
  Attr a;
  a.kind = Attr::Kind::Array;
  expect('<', "after 'array'");
  parse_type();
  if (accept(':')) {
    do {
      a.items.push_back(parse_attr(depth + 1));
    } while (accept(','));
  }
  expect('>', "at the end of the array");
  return a;
}

// Behind a key: "= value", or nothing for a unit attribute.
Attr Parser::parse_dict_value(int depth) {
  if (accept('=')) return parse_attr(depth + 1);
  Attr unit;
  unit.offset = static_cast<uint32_t>(pos_);
  return unit;
}

Attr Parser::parse_attr(int depth, bool typed) {
  uint32_t start = static_cast<uint32_t>(position());
  Attr a = parse_attr_value(depth, typed);
  if (a.kind != Attr::Kind::Dense && a.kind != Attr::Kind::Resource) a.offset = start;  // those keep the place of their values
  a.end = static_cast<uint32_t>(pos_);
  return a;
}

Attr Parser::parse_attr_value(int depth, bool typed) {
  if (depth > kMaxAttrDepth) fail(pos_, fmt::format("attributes nest deeper than {} levels", kMaxAttrDepth));
  Attr a;
  char c = peek();
  a.offset = static_cast<uint32_t>(pos_);
  if (c == '"') {
    a.kind = Attr::Kind::String;
    a.text = raw_string();
    a.string = unescape(a.text);
    if (typed && accept(':')) a.type = parse_type();
  } else if (c == '[') {
    a.kind = Attr::Kind::Array;
    ++pos_;
    if (!accept(']')) {
      do {
        a.items.push_back(parse_attr(depth + 1));
      } while (accept(','));
      expect(']', "at the end of the list");
    }
  } else if (c == '{') {
    a.kind = Attr::Kind::Dict;
    ++pos_;
    if (!accept('}')) {
      do {
        std::string key = peek() == '"' ? string() : std::string(identifier("an attribute name"));
        Attr value = parse_dict_value(depth);
        a.entries.push_back({std::move(key), std::move(value)});
      } while (accept(','));
      expect('}', "at the end of the attributes");
    }
  } else if (c == '@') {
    a.kind = Attr::Kind::Symbol;
    a.string = symbol();
  } else if (c == '#') {
    size_t start = pos_++;
    std::string_view name = suffix_id("an attribute name after '#'");
    if (pos_ < end() && text_[pos_] == '<') {
      balanced('<', '>');
      a.kind = Attr::Kind::Opaque;
      a.text = text_.substr(start, pos_ - start);
    } else {
      a.kind = Attr::Kind::Alias;
      a.text = name;
    }
  } else if (c == '<') {
    a.kind = Attr::Kind::Opaque;
    a.text = balanced('<', '>');
  } else if (c == '-' || c == '+' || is_digit(c)) {
    return number(typed);
  } else if (c == '(') {
    a.kind = Attr::Kind::Type;
    a.ins = type_list();
    if (!accept("->")) expected("'->' in a function type");
    a.outs = result_type_list();
  } else if (c == '!') {
    a.kind = Attr::Kind::Type;
    a.type = parse_type();
  } else if (c == '?') {
    ++pos_;
    a.kind = Attr::Kind::Keyword;
    a.text = text_.substr(pos_ - 1, 1);
  } else {
    size_t start = pos_;
    std::string_view word = identifier("an attribute value");
    if (word == "true" || word == "false") {
      a.kind = Attr::Kind::Bool;
      a.i = word == "true";
      a.text = word;
      if (typed && accept(':')) a.type = parse_type();
    } else if (word == "unit") {
      a.kind = Attr::Kind::Unit;
    } else if (word == "dense") {
      return dense(depth);
    } else if (word == "dense_resource") {
      a = dense(depth);
      a.kind = Attr::Kind::Resource;
    } else if (word == "array" && peek() == '<') {
      a = array(depth);
      a.offset = static_cast<uint32_t>(start);
    } else if (word == "loc" && peek() == '(') {
      balanced('(', ')');
      a.kind = Attr::Kind::Opaque;
      a.text = text_.substr(start, pos_ - start);
    } else if (is_type_word(word)) {
      pos_ = start;
      a.kind = Attr::Kind::Type;
      a.type = parse_type();
    } else {
      a.kind = Attr::Kind::Keyword;
      a.text = word;
      if (peek() == '<') {  // affine_map<...>, sparse<...>
        balanced('<', '>');
        a.kind = Attr::Kind::Opaque;
        a.text = text_.substr(start, pos_ - start);
      }
    }
  }
  return a;
}

Attr Parser::parse_body(const Attr& opaque) {
  size_t open = opaque.text.find('<');
  Attr dict;
  dict.kind = Attr::Kind::Dict;
  dict.offset = opaque.offset;
  if (open == std::string_view::npos) return dict;
  size_t save_pos = pos_, save_end = end_;
  pos_ = static_cast<size_t>(opaque.text.data() - text_.data()) + open + 1;
  end_ = static_cast<size_t>(opaque.text.data() - text_.data()) + opaque.text.size() - 1;
  while (!at_end()) {
    std::string key(identifier("an attribute name"));
    Attr value = parse_dict_value(1);
    dict.entries.push_back({std::move(key), std::move(value)});
    if (!accept(',')) break;
  }
  if (!at_end()) expected("',' or '>'");
  pos_ = save_pos;
  end_ = save_end;
  return dict;
}

}  // namespace shardproof::stablehlo
