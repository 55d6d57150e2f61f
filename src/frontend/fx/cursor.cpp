// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Character classes come from one table; everything here is linear in the text it passes.
#include "frontend/fx/cursor.h"

#include <array>

#include <fmt/format.h>

namespace shardproof::fx {
namespace {

enum : uint8_t { kStart = 1, kInside = 2 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> table{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 128;
    const bool digit = c >= '0' && c <= '9';
    table[static_cast<size_t>(c)] = static_cast<uint8_t>((letter ? kStart : 0) | (letter || digit ? kInside : 0));
  }
  return table;
}

constexpr std::array<uint8_t, 256> kClasses = make_classes();

std::string_view trim(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

}  // namespace

bool starts_identifier(char c) { return (kClasses[static_cast<unsigned char>(c)] & kStart) != 0; }
bool in_identifier(char c) { return (kClasses[static_cast<unsigned char>(c)] & kInside) != 0; }

bool Cursor::take_word(std::string_view word) {
  if (!looking_at(word) || in_identifier(peek(word.size()))) return false;
  pos_ += word.size();
  return true;
}

void Cursor::skip_blanks() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c != ' ' && c != '\t' && c != '\r' && c != '\f') return;
    ++pos_;
  }
}

void Cursor::skip_line() {
  const size_t end = text_.find('\n', pos_);
  if (end == std::string_view::npos) {
    pos_ = text_.size();
    return;
  }
  pos_ = end + 1;
  ++line_;
}

std::string_view Cursor::identifier() {
  const size_t start = pos_;
  if (!done() && starts_identifier(text_[pos_])) {
    do ++pos_;
    while (pos_ < text_.size() && in_identifier(text_[pos_]));
  }
  return from(start);
}

std::string_view Cursor::comment() {
  const size_t start = pos_ + 1;
  const size_t end = text_.find('\n', pos_);
  pos_ = end == std::string_view::npos ? text_.size() : end;
  return trim(text_.substr(start, pos_ - start));
}

void Cursor::skip_statement() {
  int64_t depth = 0;
  while (!done()) {
    const char c = text_[pos_];
    if (c == '\n') {
      skip_line();
      if (depth <= 0) return;
    } else if (c == '#') {
      comment();
    } else if (c == '\\' && peek(1) == '\n') {
      ++pos_;
      skip_line();
    } else if (c == '\'' || c == '"') {
      const bool triple = peek(1) == c && peek(2) == c;
      pos_ += triple ? 3 : 1;
      while (!done()) {
        const char d = text_[pos_];
        if (d == '\\') {
          if (peek(1) == '\n') ++line_;
          pos_ += 2;
        } else if (d == '\n') {
          if (!triple) break;  // an unfinished string ends with its line
          skip_line();
        } else if (d == c && (!triple || (peek(1) == c && peek(2) == c))) {
          pos_ += triple ? 3 : 1;
          break;
        } else {
          ++pos_;
        }
      }
      if (pos_ > text_.size()) pos_ = text_.size();
    } else {
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      ++pos_;
    }
  }
}

std::string Cursor::found() const {
  if (done()) return "the end of the file";
  const char c = text_[pos_];
  if (c == '\n') return "the end of the line";
  size_t end = pos_ + 1;
  if (in_identifier(c)) {
    while (end < text_.size() && in_identifier(text_[end]) && end - pos_ < 40) ++end;
  }
  const std::string_view word = text_.substr(pos_, end - pos_);
  if (c < ' ') return fmt::format("the control character {:#04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return fmt::format("'{}'", word);
}

bool Cursor::fail_at(size_t pos, std::string message, const char* code) {
  if (!error_.code.empty()) return false;
  if (pos > text_.size()) pos = text_.size();
  int line = 1;
  size_t start = 0;
  for (size_t next = text_.find('\n'); next < pos; next = text_.find('\n', next + 1)) {
    ++line;
    start = next + 1;
  }
  error_ = Diagnostic{code, std::move(message), path_, line, static_cast<int>(pos - start) + 1};
  return false;
}

}  // namespace shardproof::fx
