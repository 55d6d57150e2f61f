// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A position in FX readable text: the character level of the reader. Keeps the line number of the position as it moves, and the first
// error.
//
// Text is never copied: identifiers and comments are views. A function that can fail returns false after having stored the error, so
// callers just pass false on. Column and line of an error are computed from its position only then.
#pragma once

#include <string>
#include <string_view>

#include "util/result.h"

namespace shardproof::fx {

// Can `c` start, or go on in, a Python identifier? Bytes of non-ASCII characters can.
bool starts_identifier(char c);
bool in_identifier(char c);

class Cursor {
 public:
  Cursor(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {}

  bool done() const { return pos_ >= text_.size(); }
  size_t pos() const { return pos_; }
  int line() const { return line_; }
  std::string_view text() const { return text_; }
  std::string_view from(size_t start) const { return text_.substr(start, pos_ - start); }
  // The character `ahead` places on; '\0' beyond the end.
  char peek(size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  bool looking_at(std::string_view word) const { return text_.substr(pos_, word.size()) == word; }
  // Moves within a line.
  void advance(size_t n = 1) { pos_ += n; }
  void seek(size_t pos) { pos_ = pos; }
  bool take(char c) {
    if (peek() != c || done()) return false;
    ++pos_;
    return true;
  }
  // Takes `word` if it stands here and no identifier character follows.
  bool take_word(std::string_view word);

  void skip_blanks();  // spaces, tabs, carriage returns, form feeds
  void skip_line();    // to the start of the next line
  bool at_line_end() const { return done() || text_[pos_] == '\n'; }
  std::string_view identifier();  // empty if none stands here
  std::string_view comment();     // at '#': to the end of the line; the text behind '#' without blanks around
  // One Python statement with its strings, brackets and line continuations, of which we need nothing; to the start of the next line.
  void skip_statement();

  bool fail(std::string message) { return fail_at(pos_, std::move(message)); }
  bool fail_at(size_t pos, std::string message, const char* code = "SP210");
  const Diagnostic& error() const { return error_; }
  const std::string& path() const { return path_; }
  // What stands here, for "..., found X".
  std::string found() const;

 private:
  std::string_view text_;
  std::string path_;
  size_t pos_ = 0;
  int line_ = 1;
  Diagnostic error_;
};

}  // namespace shardproof::fx
