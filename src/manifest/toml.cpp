// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// TOML 1.0 -> Value, but for dates and times, which mean nothing in a manifest. The reader is our own, as JSON's is: every value says where
// it stands, and the order of the file is kept. One pass; a table knows how it came to be, because that decides who may add to it:
//   [a.b]        makes b, and a where it is new; a may get a header of its own later, once, b none
//   a.b = 1      makes a, which only keys of the same section may add to
//   a = {b = 1}  is closed
//   [[a]]        adds a table to the list a, which nothing else may have made
// Depth is bounded by kMaxDepth, counted over headers, dotted keys and inline values alike; an index by key keeps large tables linear.
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

#include "manifest/value.h"

namespace shardproof::manifest {

namespace {

struct Node {
  enum class Origin : uint8_t { Plain, Implied, Header, Dotted, Tables } origin = Origin::Plain;  // Plain: a value, or closed
  Value value;                                                                                    // without items and members
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> children;                            // keys are empty in a list
  std::unordered_map<std::string, Node*> index;
  int depth = 0, section = 0;  // section: of a Dotted table, the header under which it was made

  bool is_table() const { return value.kind == Value::Kind::Object; }
  Node* find(const std::string& key) const {
    auto it = index.find(key);
    return it == index.end() ? nullptr : it->second;
  }
};

Value taken(Node& node) {
  Value out = std::move(node.value);
  for (auto& [key, child] : node.children) {
    if (out.kind == Value::Kind::Object)
      out.members.push_back({std::move(key), taken(*child)});
    else
      out.items.push_back(taken(*child));
  }
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
int digit_of(char c) { return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99; }
bool is_bare(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-'; }

class TomlReader {
 public:
  TomlReader(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") pos_ = line_start_ = 3;
    root_.value.kind = Value::Kind::Object;
    root_.value.line = root_.value.column = 1;
    root_.origin = Node::Origin::Header;
  }

  Result<Value> read() {
    Node* table = &root_;
    for (;;) {
      if (!skip_lines()) return error_;
      if (pos_ >= text_.size()) return taken(root_);
      const bool ok = peek() == '[' ? read_header(table) : read_pair(*table, section_);
      if (!ok || !end_of_line()) return error_;
    }
  }

 private:
  using Kind = Value::Kind;
  using Origin = Node::Origin;
  struct Key {
    std::string name;
    int line, column;
  };

  bool fail(std::string message) {
    error_ = {"SP201", "TOML: " + std::move(message), path_, line_, column()};
    return false;
  }
  bool fail_at(const Key& key, std::string message) {
    fail(std::move(message));
    error_.line = key.line;
    error_.column = key.column;
    return false;
  }
  int column() const { return static_cast<int>(pos_ - line_start_) + 1; }
  char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool at(std::string_view word) const { return text_.substr(pos_, word.size()) == word; }
  std::string found() const {
    if (pos_ >= text_.size()) return "the end of the file";
    const auto c = static_cast<unsigned char>(text_[pos_]);
    if (c == '\n' || c == '\r') return "the end of the line";
    return c < 0x20 || c > 0x7e ? fmt::format("byte 0x{:02x}", c) : fmt::format("'{}'", text_[pos_]);
  }
  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++pos_;
  }
  bool newline() {  // takes one, if there is one
    if (peek() == '\r' && peek(1) == '\n') ++pos_;
    if (peek() != '\n') return false;
    ++pos_;
    ++line_;
    line_start_ = pos_;
    return true;
  }
  bool skip_comment() {
    if (peek() != '#') return true;
    for (; pos_ < text_.size() && peek() != '\n' && !at("\r\n"); ++pos_)
      if ((static_cast<unsigned char>(peek()) < 0x20 && peek() != '\t') || peek() == 0x7f)
        return fail("a comment must not hold control characters");
    return true;
  }
  bool skip_lines() {  // blanks, comments and ends of lines
    for (;;) {
      skip_blanks();
      if (!skip_comment()) return false;
      if (!newline()) return true;
    }
  }
  bool end_of_line() {
    skip_blanks();
    if (!skip_comment()) return false;
    return pos_ >= text_.size() || newline() || fail(fmt::format("expected the end of the line, found {}", found()));
  }

  bool read_key(std::vector<Key>& out) {  // a, "b", a.b.'c'
    for (;;) {
      skip_blanks();
      Key key{"", line_, column()};
      if (peek() == '"' || peek() == '\'') {
        if (at("\"\"\"") || at("'''")) return fail("a key is on one line");
        if (!read_string(key.name)) return false;
      } else {
        for (; is_bare(peek()); ++pos_) key.name += peek();
        if (key.name.empty()) return fail(fmt::format("expected a key, found {}", found()));
      }
      out.push_back(std::move(key));
      skip_blanks();
      if (peek() != '.') return true;
      ++pos_;
    }
  }

  Node* add(Node& parent, const Key& key, Origin origin) {
    auto node = std::make_unique<Node>();
    node->origin = origin;
    node->depth = parent.depth + 1;
    node->value.kind = Kind::Object;
    node->value.line = key.line;
    node->value.column = key.column;
    if (node->depth > kMaxDepth) {
      fail_at(key, "nested too deeply");
      return nullptr;
    }
    Node* out = node.get();
    if (parent.is_table()) parent.index.emplace(key.name, out);
    parent.children.emplace_back(parent.is_table() ? key.name : std::string(), std::move(node));
    return out;
  }

  bool read_header(Node*& table) {
    const bool list = at("[[");
    pos_ += list ? 2 : 1;
    std::vector<Key> keys;
    if (!read_key(keys)) return false;
    if (!at(list ? "]]" : "]")) return fail(fmt::format("expected '{}' after a table's name, found {}", list ? "]]" : "]", found()));
    pos_ += list ? 2 : 1;
    ++section_;
    Node* node = &root_;
    for (size_t k = 0; k < keys.size(); ++k) {
      const Key& key = keys[k];
      const bool last = k + 1 == keys.size();
      Node* next = node->find(key.name);
      if (next == nullptr) {
        next = add(*node, key, last ? list ? Origin::Tables : Origin::Header : Origin::Implied);
        if (next == nullptr) return false;
        if (last && list) next->value.kind = Kind::Array;
      } else if (last && !list) {
        if (next->origin != Origin::Implied) return fail_at(key, fmt::format("the key \"{}\" occurs twice", key.name));
        next->origin = Origin::Header;
      } else if (last ? next->origin != Origin::Tables : next->origin == Origin::Plain) {
        return fail_at(key, fmt::format("the key \"{}\" is no {} that can be added to", key.name, last ? "list of tables" : "table"));
      }
      if (last && list) {
        next = add(*next, key, Origin::Header);
        if (next == nullptr) return false;
      } else if (next->origin == Origin::Tables) {
        next = next->children.back().second.get();
      }
      node = next;
    }
    table = node;
    return true;
  }

  bool read_pair(Node& table, int section) {
    std::vector<Key> keys;
    if (!read_key(keys)) return false;
    if (peek() != '=') return fail(fmt::format("expected '=' after a key, found {}", found()));
    ++pos_;
    skip_blanks();
    Node* node = &table;
    for (size_t k = 0; k + 1 < keys.size(); ++k) {
      Node* next = node->find(keys[k].name);
      if (next == nullptr) {
        next = add(*node, keys[k], Origin::Dotted);
        if (next == nullptr) return false;
        next->section = section;
      } else if (next->origin != Origin::Dotted || next->section != section) {
        return fail_at(keys[k], fmt::format("the key \"{}\" is no table that can be added to here", keys[k].name));
      }
      node = next;
    }
    if (node->find(keys.back().name) != nullptr) return fail_at(keys.back(), fmt::format("the key \"{}\" occurs twice", keys.back().name));
    Node* value = add(*node, keys.back(), Origin::Plain);
    return value != nullptr && read_value(*value);
  }

  bool read_value(Node& out) {
    Value& value = out.value;
    switch (peek()) {
      case '"':
      case '\'': value.kind = Kind::String; return read_string(value.s);
      case '[': return read_list(out);
      case '{': return read_inline(out);
      default: break;
    }
    value.kind = Kind::Bool;
    if (at("true") || at("false")) {
      value.b = peek() == 't';
      pos_ += value.b ? 4 : 5;
      return !is_bare(peek()) || fail("expected a value");
    }
    return read_number(value);
  }

  bool read_list(Node& out) {
    out.value.kind = Kind::Array;
    ++pos_;
    for (;;) {
      if (!skip_lines()) return false;
      if (peek() == ']') break;
      Node* item = add(out, {"", line_, column()}, Origin::Plain);
      if (item == nullptr || !read_value(*item) || !skip_lines()) return false;
      if (peek() == ']') break;
      if (peek() != ',') return fail(fmt::format("expected ',' or ']' in a list, found {}", found()));
      ++pos_;
    }
    ++pos_;
    return true;
  }

  bool read_inline(Node& out) {
    out.value.kind = Kind::Object;
    ++pos_;
    const int section = ++sections_of_inline_;
    skip_blanks();
    if (peek() == '}') {
      ++pos_;
      return true;
    }
    for (;;) {
      if (!read_pair(out, section)) return false;
      skip_blanks();
      if (peek() == '}') break;
      if (peek() != ',') return fail(fmt::format("expected ',' or '}}' in a table on one line, found {}", found()));
      ++pos_;
    }
    ++pos_;
    return true;
  }

  bool read_number(Value& out) {
    const size_t start = pos_;
    std::string word;
    for (; is_bare(peek()) || peek() == '+' || peek() == '.' || peek() == ':'; ++pos_) word += peek();
    const std::string said = word;
    auto bad = [&] {
      pos_ = start;
      return said.empty() ? fail(fmt::format("expected a value, found {}", found()))
                          : fail(fmt::format("'{}' is no value; strings are in quotes", said));
    };
    auto digits = [&](size_t from, size_t count) {
      for (size_t k = from; k < from + count; ++k)
        if (k >= word.size() || !is_digit(word[k])) return false;
      return true;
    };
    if ((digits(0, 4) && word.size() > 4 && word[4] == '-') || (digits(0, 2) && word.size() > 2 && word[2] == ':')) {
      pos_ = start;
      return fail("dates and times have no meaning in a manifest");
    }
    const bool negative = !word.empty() && word[0] == '-';
    if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.erase(0, 1);
    if (word == "inf" || word == "nan") {
      out.kind = Kind::Float;
      out.d = word == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
      if (negative) out.d = -out.d;
      return true;
    }
    int base = 10;
    if (word.size() > 2 && word[0] == '0' && said.size() == word.size())
      base = word[1] == 'x' ? 16 : word[1] == 'o' ? 8 : word[1] == 'b' ? 2 : 10;
    if (base != 10) word.erase(0, 2);
    // An underscore stands between two digits.
    for (size_t k = 0; k < word.size();) {
      if (word[k] != '_') {
        ++k;
        continue;
      }
      if (k == 0 || k + 1 == word.size() || digit_of(word[k - 1]) >= base || digit_of(word[k + 1]) >= base) return bad();
      word.erase(k, 1);
    }
    size_t whole = 0;
    while (whole < word.size() && digit_of(word[whole]) < base) ++whole;
    if (whole == 0 || (base == 10 && whole > 1 && word[0] == '0')) return bad();
    errno = 0;
    if (whole == word.size()) {
      out.kind = Kind::Int;
      out.i = std::strtoll(((negative ? "-" : "") + word).c_str(), nullptr, base);
      return errno != ERANGE || fail(fmt::format("the integer {} does not fit in 64 bits", said));
    }
    if (base != 10) return bad();
    size_t k = whole;
    if (word[k] == '.') {
      const size_t first = ++k;
      while (k < word.size() && is_digit(word[k])) ++k;
      if (k == first) return bad();
    }
    if (k < word.size() && (word[k] == 'e' || word[k] == 'E')) {
      ++k;
      if (k < word.size() && (word[k] == '+' || word[k] == '-')) ++k;
      const size_t first = k;
      while (k < word.size() && is_digit(word[k])) ++k;
      if (k == first) return bad();
    }
    if (k != word.size()) return bad();
    out.kind = Kind::Float;
    out.d = std::strtod(((negative ? "-" : "") + word).c_str(), nullptr);
    return true;
  }

  bool read_string(std::string& out) {
    const char quote = peek();
    const std::string three(3, quote);
    const bool lines = at(three);
    pos_ += lines ? 3 : 1;
    if (lines) newline();  // one right after the quotes is none of the string's
    for (;;) {
      if (pos_ >= text_.size()) return fail("a string is not closed");
      const char c = peek();
      if (c == quote && (!lines || at(three))) {
        pos_ += lines ? 3 : 1;
        // Up to two quotes may stand before the closing ones.
        for (int k = 0; lines && k < 2 && peek() == quote; ++k, ++pos_) out += quote;
        return true;
      }
      if (c == '\n' || at("\r\n")) {
        if (!lines) return fail("a string is not closed on its line");
        newline();
        out += '\n';
      } else if (c == '\\' && quote == '"') {
        if (!read_escape(out, lines)) return false;
      } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) {
        return fail("a string must not hold control characters");
      } else {
        out += c;
        ++pos_;
      }
    }
  }

  bool read_escape(std::string& out, bool lines) {
    ++pos_;
    const char c = peek();
    if (lines && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {  // the line goes on after all blanks
      skip_blanks();
      if (!newline()) return fail("unknown escape in a string");
      do skip_blanks();
      while (newline());
      return true;
    }
    ++pos_;
    switch (c) {
      case 'b': out += '\b'; return true;
      case 't': out += '\t'; return true;
      case 'n': out += '\n'; return true;
      case 'f': out += '\f'; return true;
      case 'r': out += '\r'; return true;
      case '"':
      case '\\': out += c; return true;
      case 'u':
      case 'U': break;
      default: --pos_; return fail("unknown escape in a string; 'single quotes' take a backslash as it is");
    }
    uint32_t code = 0;
    for (int k = 0; k < (c == 'u' ? 4 : 8); ++k, ++pos_) {
      if (digit_of(peek()) > 15) return fail(fmt::format("expected {} hexadecimal digits after \\{}", c == 'u' ? 4 : 8, c));
      code = code * 16 + static_cast<uint32_t>(digit_of(peek()));
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return fail("an escape is no character");
    append_utf8(out, code);
    return true;
  }

  std::string_view text_;
  const std::string& path_;
  Node root_;
  size_t pos_ = 0, line_start_ = 0;
  int line_ = 1, section_ = 0, sections_of_inline_ = 1 << 30;
  Diagnostic error_;
};

}  // namespace

Result<Value> read_toml(std::string_view text, const std::string& path) { return TomlReader(text, path).read(); }

}  // namespace shardproof::manifest
