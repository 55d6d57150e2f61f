// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The text form of protocol buffers, without a schema: name: value, name { ... }, name: [ ... ], comments, joined strings. Messages are
// kept on a stack of our own, so depth costs no call stack.
#include "fmt/format.h"
#include "frontend/graphdef/fields.h"

namespace shardproof::graphdef {
namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

class TextParser {
 public:
  TextParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Message parse() {
    Message root;
    std::vector<std::pair<Message*, char>> stack{{&root, '\0'}};  // message, what closes it
    while (true) {
      skip();
      Message& message = *stack.back().first;
      char close = stack.back().second;
      if (at_ >= text_.size()) {
        if (close != '\0') fail(at_, fmt::format("expected '{}' before the end of the file", close));
        return root;
      }
      char c = text_[at_];
      if (c == ',' || c == ';') {
        ++at_;
        continue;
      }
      if (c == '}' || c == '>') {
        if (c != close) fail(at_, fmt::format("expected a field, found '{}'", c));
        ++at_;
        stack.pop_back();
        continue;
      }
      Field field;
      field.offset = at_;
      field.name = name();
      skip();
      bool colon = accept(':');
      skip();
      if (at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '<')) {
        if (stack.size() > kMaxDepth) fail(at_, fmt::format("messages nest deeper than {} levels", kMaxDepth));
        char end = text_[at_++] == '{' ? '}' : '>';
        field.kind = Field::Kind::Message;
        field.message = std::make_unique<Message>();
        Message* inner = field.message.get();
        message.fields.push_back(std::move(field));
        stack.emplace_back(inner, end);
        continue;
      }
      if (!colon) fail(at_, "expected ':' or '{' after the field name");
      if (accept('[')) {
        skip();
        if (accept(']')) continue;
        while (true) {
          skip();
          Field item;
          item.name = field.name;
          item.offset = at_;
          scalar(item);
          message.fields.push_back(std::move(item));
          skip();
          if (accept(']')) break;
          if (!accept(',')) fail(at_, "expected ',' or ']' in a list");
        }
        continue;
      }
      scalar(field);
      message.fields.push_back(std::move(field));
    }
  }

 private:
  [[noreturn]] void fail(size_t at, std::string message) {
    int line = 1;
    size_t start = 0;
    for (size_t k = 0; k < at && k < text_.size(); ++k)
      if (text_[k] == '\n') ++line, start = k + 1;
    throw Fail{Diagnostic{"SP250", std::move(message), path_, line, static_cast<int>(at - start) + 1}};
  }

  void skip() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return;
      }
    }
  }

  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view name() {
    size_t start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == start) fail(at_, "expected a field name");
    return text_.substr(start, at_ - start);
  }

  void scalar(Field& field) {
    if (at_ >= text_.size()) fail(at_, "expected a value before the end of the file");
    char c = text_[at_];
    if (c == '"' || c == '\'') {
      field.kind = Field::Kind::String;
      while (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
        string(field.text);
        skip();
      }
      return;
    }
    size_t start = at_;
    if (c == '-' || c == '+') ++at_, skip();
    size_t first = at_;
    while (at_ < text_.size() &&
           (is_name(text_[at_]) || text_[at_] == '.' ||
            ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] | 0x20) == 'e' && text_[first] >= '0' && text_[first] <= '9')))
      ++at_;
    if (at_ == first) fail(at_, "expected a value: a number, a word or a string");
    bool digit = (text_[first] >= '0' && text_[first] <= '9') || text_[first] == '.';
    field.kind = digit || c == '-' || c == '+' ? Field::Kind::Number : Field::Kind::Word;
    field.text = (c == '-' ? "-" : "") + std::string(text_.substr(first, at_ - first));
    (void)start;
  }

  void string(std::string& out) {
    size_t start = at_;
    char quote = text_[at_++];
    while (true) {
      if (at_ >= text_.size() || text_[at_] == '\n')
        fail(start, fmt::format("the string is not closed: expected {} before the end of the line", quote));
      char c = text_[at_++];
      if (c == quote) return;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) fail(start, "the string is not closed");
      c = text_[at_++];
      if (c >= '0' && c <= '7') {
        int value = c - '0';
        for (int k = 0; k < 2 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++k)
          value = value * 8 + (text_[at_++] - '0');
        out += static_cast<char>(value);
      } else if (c == 'x' || c == 'X') {
        int value = 0, digits = 0;
        while (digits < 2 && at_ < text_.size() && hex_digit(text_[at_]) >= 0) value = value * 16 + hex_digit(text_[at_++]), ++digits;
        if (digits == 0) fail(at_, "expected hexadecimal digits after '\\x'");
        out += static_cast<char>(value);
      } else {
        switch (c) {
          case 'n': out += '\n'; break;
          case 't': out += '\t'; break;
          case 'r': out += '\r'; break;
          case 'a': out += '\a'; break;
          case 'b': out += '\b'; break;
          case 'f': out += '\f'; break;
          case 'v': out += '\v'; break;
          case '\\':
          case '\'':
          case '"':
          case '?': out += c; break;
          default: fail(at_ - 1, fmt::format("'\\{}' is not an escape", c));
        }
      }
    }
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

}  // namespace

Message parse_text_proto(std::string_view text, const std::string& path) { return TextParser(text, path).parse(); }

}  // namespace shardproof::graphdef
