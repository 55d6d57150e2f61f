// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The lexical level of HLO text: a position in the text, the few token shapes that HLO has, and the first error.
//
// There is no token stream: HLO has contexts in which the same characters mean different things (`{` opens a layout, a list, a
// literal or a body), so the reader asks for what it needs next. Every method that can fail returns false after it has recorded a
// Diagnostic; the first one is kept. Line and column are counted only then. Nothing here recurses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace shardproof::hlo {

// Codes of the diagnostics of this directory.
inline constexpr const char* kSyntax = "SP220";     // the text is not HLO
inline constexpr const char* kReference = "SP221";  // a name that is not defined, is defined twice, or depends on itself
inline constexpr const char* kLimit = "SP222";      // a size beyond what is accepted, or an element type that is not supported
inline constexpr const char* kWire = "SP223";       // the bytes are no HloModuleProto

class Cursor {
 public:
  Cursor(std::string_view text, std::string path)
      : begin_(text.data()), p_(text.data()), end_(text.data() + text.size()), counted_(text.data()), path_(std::move(path)) {}

  // --- errors
  bool failed() const { return failed_; }
  const Diagnostic& error() const { return error_; }
  bool fail(const std::string& message) { return fail_at(p_, message); }
  bool fail_at(const char* where, const std::string& message, const char* code = kSyntax);
  // "expected <what>, found <next characters>" at the next token.
  bool expected(std::string_view what);

  // --- position
  const char* here() const { return p_; }
  void seek(const char* position) { p_ = position; }
  const char* end() const { return end_; }
  size_t size() const { return static_cast<size_t>(end_ - begin_); }
  // The line of a position; positions must not decrease from call to call.
  int line_of(const char* position);

  // --- blanks and single characters
  void skip();  // blanks, newlines, comments
  char peek() {
    if (p_ < end_ && '/' < *p_) return *p_;  // no blank, no comment: the usual case
    skip();
    return p_ < end_ ? *p_ : '\0';
  }
  char raw() const { return p_ < end_ ? *p_ : '\0'; }  // the very next character, blanks included
  bool at_end() { return peek() == '\0' && p_ >= end_; }
  bool accept(char c) {
    if (peek() != c || p_ >= end_) return false;
    ++p_;
    return true;
  }
  bool accept(std::string_view word);  // exactly these characters come next
  // `name` comes after `where` in the message; they are put together only if there is one.
  bool expect(char c, std::string_view where, std::string_view name = {}) { return accept(c) || missing(c, where, name); }

  // --- tokens
  std::string_view word();                                  // [A-Za-z0-9_.-]+ or empty
  bool name(std::string_view& out, std::string_view what);  // optional %, then a word
  bool integer(int64_t& out, std::string_view what, std::string_view name = {});
  bool boolean(bool& out, std::string_view what);
  bool quoted(std::string_view& raw, std::string_view what);  // between the quotes, escapes left in
  bool text(std::string& out, std::string_view what);         // the same, escapes resolved
  bool balanced(std::string_view& out);                       // from an opening bracket to the one that closes it, both included
  bool value(std::string_view& out);                          // an attribute value of unknown form: up to a blank or comma outside brackets
  bool integers(std::vector<int64_t>& out, std::string_view what);  // {1,2,3}

 private:
  bool missing(char c, std::string_view where, std::string_view name);

  const char* begin_;
  const char* p_;
  const char* end_;
  const char* counted_;
  int line_ = 1;
  std::string path_;
  std::string closers_;  // scratch of balanced()
  bool failed_ = false;
  Diagnostic error_;
};

// Resolves C escapes (\n, \", \', \\, \x41, \101).
std::string unescape(std::string_view raw);
// Without /* .. */ comments outside quotes.
std::string without_comments(std::string_view text);
bool is_word_char(char c);

}  // namespace shardproof::hlo
