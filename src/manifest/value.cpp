// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The JSON reader and the canonical writer. The reader is our own because a library's
// tree neither says where a value stands nor refuses duplicate keys.
#include "manifest/value.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include <fmt/format.h>

namespace shardproof::manifest {

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

std::string kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::Null: return "null";
    case Value::Kind::Bool: return "a boolean";
    case Value::Kind::Int: return "an integer";
    case Value::Kind::Float: return "a number";
    case Value::Kind::String: return "a string";
    case Value::Kind::Array: return "a list";
    case Value::Kind::Object: return "an object";
  }
  return "?";
}

void append_utf8(std::string& s, uint32_t c) {
  if (c < 0x80) {
    s += static_cast<char>(c);
  } else if (c < 0x800) {
    s += static_cast<char>(0xC0 | (c >> 6));
    s += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    s += static_cast<char>(0xE0 | (c >> 12));
    s += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    s += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    s += static_cast<char>(0xF0 | (c >> 18));
    s += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    s += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    s += static_cast<char>(0x80 | (c & 0x3F));
  }
}

namespace {

class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") pos_ = line_start_ = 3;
  }

  Result<Value> read() {
    Value value;
    if (!read_value(value, 0)) return error_;
    skip_space();
    if (pos_ != text_.size()) {
      fail("text after the end of the manifest");
      return error_;
    }
    return value;
  }

 private:
  bool fail(std::string message) {
    error_ = {"SP201", std::move(message), path_, line_, static_cast<int>(pos_ - line_start_) + 1};
    return false;
  }
  void skip_space() {
    for (; pos_ < text_.size(); ++pos_) {
      char c = text_[pos_];
      if (c == '\n') {
        ++line_;
        line_start_ = pos_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }
  char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  std::string found() const {
    if (pos_ >= text_.size()) return "the end of the file";
    unsigned char c = static_cast<unsigned char>(text_[pos_]);
    return c < 0x20 || c > 0x7e ? fmt::format("byte 0x{:02x}", c) : fmt::format("'{}'", text_[pos_]);
  }
  bool expect(char c, const char* where) {
    skip_space();
    if (peek() != c) return fail(fmt::format("expected '{}' {}, found {}", c, where, found()));
    ++pos_;
    return true;
  }

  bool read_value(Value& out, int depth) {
    skip_space();
    out.line = line_;
    out.column = static_cast<int>(pos_ - line_start_) + 1;
    if (depth > kMaxDepth) return fail("nested too deeply");
    switch (peek()) {
      case '{': return read_object(out, depth);
      case '[': return read_array(out, depth);
      case '"': out.kind = Value::Kind::String; return read_string(out.s);
      case 't':
      case 'f':
      case 'n': return read_word(out);
      default: return read_number(out);
    }
  }

  bool read_object(Value& out, int depth) {
    out.kind = Value::Kind::Object;
    ++pos_;
    skip_space();
    if (peek() == '}') {
      ++pos_;
      return true;
    }
    std::unordered_set<std::string> seen;
    for (;;) {
      skip_space();
      int line = line_, column = static_cast<int>(pos_ - line_start_) + 1;
      if (peek() != '"') return fail(fmt::format("expected a key in quotes, found {}", found()));
      std::string key;
      size_t key_pos = pos_;
      if (!read_string(key)) return false;
      if (!seen.insert(key).second) {
        pos_ = key_pos;
        return fail(fmt::format("the key \"{}\" occurs twice", key));
      }
      if (!expect(':', "after a key")) return false;
      Value value;
      if (!read_value(value, depth + 1)) return false;
      value.line = line;
      value.column = column;
      out.members.push_back({std::move(key), std::move(value)});
      skip_space();
      if (peek() == ',') {
        ++pos_;
        continue;
      }
      if (peek() == '}') {
        ++pos_;
        return true;
      }
      return fail(fmt::format("expected ',' or '}}' in an object, found {}", found()));
    }
  }

  bool read_array(Value& out, int depth) {
    out.kind = Value::Kind::Array;
    ++pos_;
    skip_space();
    if (peek() == ']') {
      ++pos_;
      return true;
    }
    for (;;) {
      Value value;
      if (!read_value(value, depth + 1)) return false;
      out.items.push_back(std::move(value));
      skip_space();
      if (peek() == ',') {
        ++pos_;
        continue;
      }
      if (peek() == ']') {
        ++pos_;
        return true;
      }
      return fail(fmt::format("expected ',' or ']' in a list, found {}", found()));
    }
  }

  bool read_word(Value& out) {
    auto is = [&](std::string_view w) { return text_.substr(pos_, w.size()) == w; };
    if (is("true")) {
      out.kind = Value::Kind::Bool;
      out.b = true;
      pos_ += 4;
      return true;
    }
    if (is("false")) {
      out.kind = Value::Kind::Bool;
      pos_ += 5;
      return true;
    }
    if (is("null")) {
      pos_ += 4;
      return true;
    }
    return fail(fmt::format("expected a value, found {}", found()));
  }

  bool read_number(Value& out) {
    size_t end = pos_;
    if (peek() == '-') ++end;
    size_t digits = end;
    bool real = false;
    for (; end < text_.size(); ++end) {
      char c = text_[end];
      if (c >= '0' && c <= '9') continue;
      if (c == '.' || c == 'e' || c == 'E' || ((c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E'))) {
        real = true;
        continue;
      }
      break;
    }
    if (end == digits) return fail(fmt::format("expected a value, found {}", found()));
    std::string digits_text(text_.substr(pos_, end - pos_));
    char* stop = nullptr;
    if (!real) {
      errno = 0;
      out.kind = Value::Kind::Int;
      out.i = std::strtoll(digits_text.c_str(), &stop, 10);
      if (errno == ERANGE) return fail(fmt::format("the integer {} does not fit in 64 bits", digits_text));
    } else {
      out.kind = Value::Kind::Float;
      out.d = std::strtod(digits_text.c_str(), &stop);
    }
    if (stop != digits_text.c_str() + digits_text.size()) return fail(fmt::format("'{}' is not a number", digits_text));
    pos_ = end;
    return true;
  }

  bool read_hex(uint32_t& out) {
    out = 0;
    for (int k = 0; k < 4; ++k, ++pos_) {
      char c = peek();
      uint32_t digit;
      if (c >= '0' && c <= '9')
        digit = static_cast<uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        digit = static_cast<uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F')
        digit = static_cast<uint32_t>(c - 'A' + 10);
      else
        return fail("expected four hexadecimal digits after \\u");
      out = out * 16 + digit;
    }
    return true;
  }

  bool read_string(std::string& out) {
    ++pos_;
    for (;;) {
      if (pos_ >= text_.size()) return fail("a string is not closed");
      char c = text_[pos_];
      if (c == '"') {
        ++pos_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("a string must not run over the end of a line or hold control characters");
      if (c != '\\') {
        out += c;
        ++pos_;
        continue;
      }
      ++pos_;
      switch (peek()) {
        case '"': out += '"'; break;
        case '\\': out += '\\'; break;
        case '/': out += '/'; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'n': out += '\n'; break;
        case 'r': out += '\r'; break;
        case 't': out += '\t'; break;
        case 'u': {
          ++pos_;
          uint32_t code = 0;
          if (!read_hex(code)) return false;
          if (code >= 0xD800 && code < 0xDC00 && text_.substr(pos_, 2) == "\\u") {
            pos_ += 2;
            uint32_t low = 0;
            if (!read_hex(low)) return false;
            if (low < 0xDC00 || low > 0xDFFF) return fail("a surrogate pair is broken");
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          } else if (code >= 0xD800 && code <= 0xDFFF) {
            return fail("a surrogate pair is broken");
          }
          append_utf8(out, code);
          continue;
        }
        default: return fail("unknown escape in a string");
      }
      ++pos_;
    }
  }

  std::string_view text_;
  const std::string& path_;
  size_t pos_ = 0, line_start_ = 0;
  int line_ = 1;
  Diagnostic error_;
};

void write_string(std::string& out, const std::string& s) {
  out += '"';
  for (char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void write(std::string& out, const Value& value) {
  switch (value.kind) {
    case Value::Kind::Null: out += "null"; break;
    case Value::Kind::Bool: out += value.b ? "true" : "false"; break;
    case Value::Kind::Int: out += std::to_string(value.i); break;
    case Value::Kind::Float:
      // TOML has inf and nan; as strings they stay JSON.
      if (!std::isfinite(value.d))
        out += std::isnan(value.d) ? "\"nan\"" : value.d > 0 ? "\"inf\"" : "\"-inf\"";
      else
        out += fmt::format("{}", value.d);
      break;
    case Value::Kind::String: write_string(out, value.s); break;
    case Value::Kind::Array: {
      out += '[';
      const char* comma = "";
      for (const Value& item : value.items) {
        out += comma;
        comma = ",";
        write(out, item);
      }
      out += ']';
      break;
    }
    case Value::Kind::Object: {
      out += '{';
      const char* comma = "";
      for (const auto& [key, item] : value.members) {
        out += comma;
        comma = ",";
        write_string(out, key);
        out += ':';
        write(out, item);
      }
      out += '}';
      break;
    }
  }
}

}  // namespace

Result<Value> read_json(std::string_view text, const std::string& path) { return JsonReader(text, path).read(); }

std::string to_json(const Value& value) {
  std::string out;
  write(out, value);
  return out;
}

}  // namespace shardproof::manifest
