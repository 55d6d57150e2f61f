// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// One loop: read an operand; a bracket opens a frame; a finished operand is delivered to the innermost frame, and a closing bracket
// makes the frame itself the operand. An operator behind an operand makes the whole argument a Symbol, whose text is taken verbatim.
#include "frontend/fx/expression.h"

#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace shardproof::fx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

}  // namespace

bool Names::is_symbol(std::string_view name) const {
  if (any_symbol || symbols.count(std::string(name)) != 0) return true;
  // Names that torch gives to symbols: s77, u0, i0, f3, zuf0, zs1.
  size_t i = 0;
  while (i < name.size() && name[i] >= 'a' && name[i] <= 'z') ++i;
  const std::string_view prefix = name.substr(0, i);
  if (prefix != "s" && prefix != "u" && prefix != "i" && prefix != "f" && prefix != "zuf" && prefix != "zf" && prefix != "zs") return false;
  if (i == name.size()) return false;
  for (; i < name.size(); ++i) {
    if (!is_digit(name[i])) return false;
  }
  return true;
}

void Names::add_symbols(std::string_view size) {
  for (size_t i = 0; i < size.size();) {
    if (!in_identifier(size[i])) {
      ++i;
      continue;
    }
    const size_t start = i;
    while (i < size.size() && in_identifier(size[i])) ++i;
    if (starts_identifier(size[start])) symbols.emplace(size.substr(start, i - start));
  }
}

size_t ExpressionReader::binary_operator() const {
  const char c = cursor_.peek();
  const char d = cursor_.peek(1);
  switch (c) {
    case '+':
    case '-':
    case '%':
    case '@':
    case '&':
    case '|':
    case '^': return 1;
    case '*':
    case '/': return d == c ? 2 : 1;
    case '<':
    case '>': return d == '=' || d == c ? 2 : 1;
    case '=':
    case '!': return d == '=' ? 2 : 0;
    default: return 0;
  }
}

void ExpressionReader::skip_inside() {
  cursor_.skip_blanks();
  while (!frames_.empty()) {
    if (cursor_.peek() == '\n') {
      cursor_.skip_line();
    } else if (cursor_.peek() == '#') {
      cursor_.comment();
    } else {
      return;
    }
    cursor_.skip_blanks();
  }
}

bool ExpressionReader::argument(Arg& out, bool operators) {
  frames_.clear();
  return run(out, operators);
}

bool ExpressionReader::call(Arg& out, std::string callee) {
  frames_.clear();
  const size_t start = cursor_.pos();
  cursor_.advance();
  return open(Arg::Kind::Call, ')', start, std::move(callee)) && run(out, false);
}

bool ExpressionReader::open(Arg::Kind kind, char close, size_t start, std::string callee) {
  if (frames_.size() >= kMaxDepth) {
    return cursor_.fail_at(start, fmt::format("brackets nest deeper than {}", kMaxDepth), "SP212");
  }
  Frame& frame = frames_.emplace_back();
  frame.arg.kind = kind;
  frame.arg.text = std::move(callee);
  frame.close = close;
  frame.start = start;
  return true;
}

bool ExpressionReader::run(Arg& out, bool operators) {
  for (;;) {
    skip_inside();
    size_t start = cursor_.pos();
    Arg arg;
    if (!frames_.empty() && cursor_.peek() == frames_.back().close && !frames_.back().has_key) {
      if (!close_top(arg, start)) return false;
    } else {
      const Step step = operand(arg, start);
      if (step == Step::Failed) return false;
      if (step != Step::Operand) continue;
    }
    for (;;) {  // `arg` is a finished operand
      cursor_.skip_blanks();
      if (binary_operator() != 0 && (operators || !frames_.empty())) {
        if (!symbol(arg, start)) return false;
        cursor_.skip_blanks();
      }
      if (frames_.empty()) {
        out = std::move(arg);
        return true;
      }
      if (!deliver(std::move(arg))) return false;
      Frame& frame = frames_.back();
      skip_inside();
      if (frame.arg.kind == Arg::Kind::Dict && frame.arg.items.size() % 2 == 1) {
        if (!cursor_.take(':')) return cursor_.fail(fmt::format("expected ':' after the key of a dictionary, found {}", cursor_.found()));
        break;
      }
      if (cursor_.take(',')) {
        frame.comma = true;
        break;
      }
      if (cursor_.peek() != frame.close || cursor_.done()) {
        return cursor_.fail(fmt::format("expected ',' or '{}', found {}", frame.close, cursor_.found()));
      }
      arg = Arg{};
      if (!close_top(arg, start)) return false;
    }
  }
}

bool ExpressionReader::close_top(Arg& out, size_t& start) {
  Frame& frame = frames_.back();
  if (frame.arg.kind == Arg::Kind::Dict && frame.arg.items.size() % 2 == 1) {
    return cursor_.fail("expected the value of a dictionary's key, found '}'");
  }
  if (frame.arg.items.empty() && frame.comma) return cursor_.fail("expected an argument before ','");
  cursor_.advance();
  start = frame.start;
  if (frame.arg.kind == Arg::Kind::Tuple && frame.arg.items.size() == 1 && !frame.comma) {
    Arg inner = std::move(frame.arg.items.front());  // "(a)" is a
    out = std::move(inner);
  } else {
    out = std::move(frame.arg);
  }
  // A call starts with its callee: the start of a Symbol such as "Max(1, s0) + 1".
  if (out.kind == Arg::Kind::Call) start -= out.text.size();
  frames_.pop_back();
  return true;
}

bool ExpressionReader::deliver(Arg&& arg) {
  Frame& frame = frames_.back();
  if (frame.arg.kind == Arg::Kind::Call) {
    if (frame.has_key) {
      Arg key;
      key.kind = Arg::Kind::String;
      key.text = std::move(frame.key);
      frame.arg.items.push_back(std::move(key));
      frame.has_key = false;
      frame.key.clear();
    } else {
      if (frame.arg.items.size() != frame.arg.positional) return cursor_.fail("a positional argument follows a keyword argument");
      ++frame.arg.positional;
    }
  }
  frame.arg.items.push_back(std::move(arg));
  return true;
}

ExpressionReader::Step ExpressionReader::operand(Arg& out, size_t start) {
  const auto step = [](bool ok) { return ok ? Step::Operand : Step::Failed; };
  const auto opened = [](bool ok) { return ok ? Step::Opened : Step::Failed; };
  const char c = cursor_.peek();
  if (starts_identifier(c)) return word(out, start);
  switch (c) {
    case '(': cursor_.advance(); return opened(open(Arg::Kind::Tuple, ')', start, ""));
    case '[': cursor_.advance(); return opened(open(Arg::Kind::List, ']', start, ""));
    case '{': cursor_.advance(); return opened(open(Arg::Kind::Dict, '}', start, ""));
    case '\'':
    case '"': out.kind = Arg::Kind::String; return step(string(out.text));
    case '<': return step(angle(out));
    case '.':
      if (cursor_.looking_at("...")) {
        cursor_.advance(3);
        out.kind = Arg::Kind::Word;
        out.text = "...";
        return Step::Operand;
      }
      break;
    case '-':
    case '+':
    case '~':
      if (c == '-' && (is_digit(cursor_.peek(1)) || cursor_.peek(1) == '.')) return step(number(out));
      for (const std::string_view name : {"inf", "nan"}) {
        if (c == '-' && cursor_.text().substr(start + 1, 3) == name && !in_identifier(cursor_.peek(4)) && cursor_.peek(4) != '.') {
          cursor_.advance(4);
          out.kind = Arg::Kind::Float;
          out.d = name == "inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
          return Step::Operand;
        }
      }
      return step(symbol(out, start));
    default: break;
  }
  if (is_digit(c) || c == '.') return step(number(out));
  cursor_.fail(fmt::format("expected an argument, found {}", cursor_.found()));
  return Step::Failed;
}

// An identifier, or a dotted name, and what it is.
ExpressionReader::Step ExpressionReader::word(Arg& out, size_t start) {
  std::string_view name = cursor_.identifier();
  const std::string_view first = name;
  while (cursor_.peek() == '.' && starts_identifier(cursor_.peek(1))) {
    cursor_.advance();
    cursor_.identifier();
    name = cursor_.from(start);
  }
  const bool dotted = name.size() != first.size();
  if (cursor_.peek() == '(') {
    cursor_.advance();
    return open(Arg::Kind::Call, ')', start + name.size(), std::string(name)) ? Step::Opened : Step::Failed;
  }
  if (dotted) {
    if (first == "self") {
      out.kind = Arg::Kind::Self;
      out.text = std::string(name.substr(5));
    } else {
      out.kind = Arg::Kind::Word;
      out.text = std::string(name);
    }
    return Step::Operand;
  }
  if (!frames_.empty() && frames_.back().arg.kind == Arg::Kind::Call && !frames_.back().has_key) {
    const size_t here = cursor_.pos();
    cursor_.skip_blanks();
    if (cursor_.peek() == '=' && cursor_.peek(1) != '=') {
      cursor_.advance();
      frames_.back().has_key = true;
      frames_.back().key = std::string(name);
      return Step::Keyword;
    }
    cursor_.seek(here);
  }
  if (names_.values.count(name) != 0) {
    out.kind = Arg::Kind::Name;
    out.text = std::string(name);
  } else if (name == "None") {
    out.kind = Arg::Kind::None;
  } else if (name == "True" || name == "False") {
    out.kind = Arg::Kind::Bool;
    out.i = name == "True" ? 1 : 0;
  } else if (name == "inf" || name == "nan") {
    out.kind = Arg::Kind::Float;
    out.d = name == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (name == "self" || name == "int" || name == "float" || name == "bool" || name == "str" || name == "Ellipsis") {
    out.kind = Arg::Kind::Word;
    out.text = std::string(name);
  } else if (names_.is_symbol(name)) {
    out.kind = Arg::Kind::Symbol;
    out.text = std::string(name);
  } else {
    cursor_.fail_at(start, fmt::format("'{}' is used but no value, input or symbol of this graph has that name", name), "SP211");
    return Step::Failed;
  }
  return Step::Operand;
}

bool ExpressionReader::number(Arg& out) {
  const size_t start = cursor_.pos();
  cursor_.take('-');
  bool real = false;
  while (is_digit(cursor_.peek())) cursor_.advance();
  if (cursor_.peek() == '.') {
    real = true;
    cursor_.advance();
    while (is_digit(cursor_.peek())) cursor_.advance();
  }
  if (cursor_.peek() == 'e' || cursor_.peek() == 'E') {
    real = true;
    cursor_.advance();
    if (cursor_.peek() == '-' || cursor_.peek() == '+') cursor_.advance();
    if (!is_digit(cursor_.peek())) return cursor_.fail(fmt::format("expected the digits of an exponent, found {}", cursor_.found()));
    while (is_digit(cursor_.peek())) cursor_.advance();
  }
  const std::string_view digits = cursor_.from(start);
  if (digits == "." || digits == "-.") return cursor_.fail_at(start, "expected an argument, found '.'");
  const char* end = digits.data() + digits.size();
  if (cursor_.peek() == 'j' && !in_identifier(cursor_.peek(1))) {  // an imaginary number: kept as text, understood by nobody
    cursor_.advance();
    out.kind = Arg::Kind::Word;
    out.text = std::string(cursor_.from(start));
    return true;
  }
  if (in_identifier(cursor_.peek())) return cursor_.fail_at(start, fmt::format("expected a number, found '{}{}'", digits, cursor_.peek()));
  if (!real) {
    out.kind = Arg::Kind::Int;
    if (std::from_chars(digits.data(), end, out.i).ec == std::errc()) return true;
    out.kind = Arg::Kind::Symbol;  // an integer beyond 64 bits: verbatim
    out.i = 0;
    out.text = std::string(digits);
    return true;
  }
  out.kind = Arg::Kind::Float;
  const auto result = std::from_chars(digits.data(), end, out.d);
  if (result.ec != std::errc() || result.ptr != end) {
    return cursor_.fail_at(start, fmt::format("'{}' is not a number that a double can hold", digits));
  }
  return true;
}

bool ExpressionReader::string(std::string& out) {
  const size_t start = cursor_.pos();
  const char quote = cursor_.peek();
  cursor_.advance();
  for (;;) {
    if (cursor_.at_line_end()) return cursor_.fail_at(start, "this string does not end on its line");
    char c = cursor_.peek();
    cursor_.advance();
    if (c == quote) return true;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (cursor_.at_line_end()) return cursor_.fail_at(start, "this string does not end on its line");
    c = cursor_.peek();
    cursor_.advance();
    switch (c) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case '\\':
      case '\'':
      case '"': out += c; break;
      case 'x':
      case 'u':
      case 'U': {
        const size_t length = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        uint32_t code = 0;
        const std::string_view digits = cursor_.text().substr(cursor_.pos(), length);
        const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() != length || result.ec != std::errc() || result.ptr != digits.data() + length || code > 0x10FFFF) {
          return cursor_.fail(fmt::format("expected {} hexadecimal digits of a character", length));
        }
        cursor_.advance(length);
        append_utf8(out, code);
        break;
      }
      default: return cursor_.fail_at(cursor_.pos() - 2, "unknown escape in a string");
    }
  }
}

// "<built-in function add>", "<ReduceOp.SUM: 0>": kept as text.
bool ExpressionReader::angle(Arg& out) {
  const size_t start = cursor_.pos();
  int depth = 0;
  do {
    if (cursor_.at_line_end()) return cursor_.fail_at(start, "expected an argument, found '<' without '>'");
    if (cursor_.peek() == '<') ++depth;
    if (cursor_.peek() == '>') --depth;
    cursor_.advance();
  } while (depth > 0);
  out.kind = Arg::Kind::Word;
  out.text = std::string(cursor_.from(start));
  return true;
}

// The argument that began at `start`, up to the ',' or bracket that ends it, verbatim.
bool ExpressionReader::symbol(Arg& out, size_t start) {
  cursor_.seek(start);
  int64_t depth = 0;
  for (; !cursor_.at_line_end(); cursor_.advance()) {
    const char c = cursor_.peek();
    if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      if (depth == 0) break;
      --depth;
    } else if (depth == 0 && (c == ',' || c == '}' || c == ':' || c == ';' || c == '#')) {
      break;
    } else if (!in_identifier(c) && std::string_view(" \t\r,.+-*/%<>=!&|^~@").find(c) == std::string_view::npos) {
      return cursor_.fail(fmt::format("expected an integer expression, found {}", cursor_.found()));
    }
  }
  if (depth != 0) return cursor_.fail("expected ')' before the end of the line");
  std::string_view text = cursor_.from(start);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  const char last = text.empty() ? '+' : text.back();
  if (!in_identifier(last) && last != ')' && last != ']' && last != '.') {
    return cursor_.fail(fmt::format("expected an integer expression, found {}", cursor_.found()));
  }
  out = Arg{};
  out.kind = Arg::Kind::Symbol;
  out.text = std::string(text);
  return true;
}

}  // namespace shardproof::fx
