// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/hlo/cursor.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>

namespace shardproof::hlo {

namespace {

constexpr std::array<bool, 256> make_word_table() {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = true;
  table['_'] = table['.'] = table['-'] = true;
  return table;
}
constexpr std::array<bool, 256> kWordChar = make_word_table();

bool blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Past the comment that starts at p ("/*" or "//"), or p itself if none does.
const char* past_comment(const char* p, const char* end) {
  if (end - p < 2 || p[0] != '/') return p;
  if (p[1] == '*') {
    for (const char* q = p + 2; q + 1 < end; ++q) {
      q = static_cast<const char*>(std::memchr(q, '*', static_cast<size_t>(end - q)));
      if (q == nullptr || q + 1 >= end) return end;
      if (q[1] == '/') return q + 2;
    }
    return end;
  }
  if (p[1] == '/') {
    const void* q = std::memchr(p, '\n', static_cast<size_t>(end - p));
    return q == nullptr ? end : static_cast<const char*>(q);
  }
  return p;
}

// Past the closing quote of the string whose opening quote is at p; end if it is not closed.
const char* past_string(const char* p, const char* end) {
  for (++p; p < end; ++p) {
    if (*p == '\\') {
      ++p;
    } else if (*p == '"') {
      return p + 1;
    }
  }
  return nullptr;
}

// What comes next, for messages.
std::string excerpt(const char* p, const char* end) {
  if (p >= end) return "the end of the file";
  std::string s;
  for (const char* q = p; q < end && s.size() < 24 && *q != '\n' && *q != '\r'; ++q) {
    const unsigned char c = static_cast<unsigned char>(*q);
    s += c >= 32 && c < 127 ? *q : '?';
  }
  return s.empty() ? std::string("the end of the line") : "'" + s + "'";
}

}  // namespace

bool is_word_char(char c) { return kWordChar[static_cast<unsigned char>(c)]; }

bool Cursor::fail_at(const char* where, const std::string& message, const char* code) {
  if (failed_) return false;
  failed_ = true;
  int line = 1;
  const char* start = begin_;
  for (const char* p = begin_; p < where; ++p) {
    if (*p == '\n') {
      ++line;
      start = p + 1;
    }
  }
  error_ = Diagnostic{code, message, path_, line, static_cast<int>(where - start) + 1};
  return false;
}

bool Cursor::expected(std::string_view what) {
  skip();
  return fail(fmt::format("expected {}, found {}", what, excerpt(p_, end_)));
}

int Cursor::line_of(const char* position) {
  while (counted_ < position) {
    const void* q = std::memchr(counted_, '\n', static_cast<size_t>(position - counted_));
    if (q == nullptr) {
      counted_ = position;
      break;
    }
    counted_ = static_cast<const char*>(q) + 1;
    ++line_;
  }
  return line_;
}

void Cursor::skip() {
  while (p_ < end_) {
    if (blank(*p_)) {
      ++p_;
    } else if (*p_ == '/') {
      const char* q = past_comment(p_, end_);
      if (q == p_) return;
      p_ = q;
    } else {
      return;
    }
  }
}

bool Cursor::accept(std::string_view word) {
  skip();
  if (static_cast<size_t>(end_ - p_) < word.size() || std::memcmp(p_, word.data(), word.size()) != 0) return false;
  p_ += word.size();
  return true;
}

bool Cursor::missing(char c, std::string_view where, std::string_view name) {
  return expected(name.empty() ? fmt::format("'{}' {}", c, where) : fmt::format("'{}' {} '{}'", c, where, name));
}

std::string_view Cursor::word() {
  skip();
  const char* start = p_;
  while (p_ < end_ && is_word_char(*p_)) {
    if (*p_ == '-' && p_ + 1 < end_ && p_[1] == '>') break;  // "a->b"
    ++p_;
  }
  return {start, static_cast<size_t>(p_ - start)};
}

bool Cursor::name(std::string_view& out, std::string_view what) {
  skip();
  const char* start = p_;
  if (p_ < end_ && *p_ == '%') ++p_;
  const char* q = p_;
  while (q < end_ && is_word_char(*q) && !(*q == '-' && q + 1 < end_ && q[1] == '>')) ++q;
  if (q == p_) {
    p_ = start;
    return expected(what);
  }
  out = {p_, static_cast<size_t>(q - p_)};
  p_ = q;
  return true;
}

bool Cursor::integer(int64_t& out, std::string_view what, std::string_view name) {
  skip();
  const auto [q, error] = std::from_chars(p_, end_, out);
  if (error == std::errc()) {
    p_ = q;
    return true;
  }
  const std::string text = name.empty() ? std::string(what) : fmt::format("{} '{}'", what, name);
  if (error == std::errc::result_out_of_range) return fail_at(p_, fmt::format("{} does not fit in 64 bits", text), kLimit);
  return expected(text);
}

bool Cursor::boolean(bool& out, std::string_view what) {
  skip();
  const char* start = p_;
  const std::string_view w = word();
  if (w == "true" || w == "1") {
    out = true;
  } else if (w == "false" || w == "0") {
    out = false;
  } else {
    p_ = start;
    return expected(fmt::format("{} (true or false)", what));
  }
  return true;
}

bool Cursor::quoted(std::string_view& raw, std::string_view what) {
  if (peek() != '"') return expected(fmt::format("{} in double quotes", what));
  const char* q = past_string(p_, end_);
  if (q == nullptr) return fail_at(p_, "string without a closing quote");
  raw = {p_ + 1, static_cast<size_t>(q - p_ - 2)};
  p_ = q;
  return true;
}

bool Cursor::text(std::string& out, std::string_view what) {
  std::string_view raw;
  if (!quoted(raw, what)) return false;
  out = raw.find('\\') == std::string_view::npos ? std::string(raw) : unescape(raw);
  return true;
}

bool Cursor::balanced(std::string_view& out) {
  skip();
  const char* start = p_;
  closers_.clear();
  while (p_ < end_) {
    const char c = *p_;
    switch (c) {
      case '{': closers_ += '}'; break;
      case '(': closers_ += ')'; break;
      case '[': closers_ += ']'; break;
      case '}':
      case ')':
      case ']':
        if (closers_.empty() || closers_.back() != c) return fail(fmt::format("'{}' closes nothing that is open", c));
        closers_.pop_back();
        break;
      case '"': {
        const char* q = past_string(p_, end_);
        if (q == nullptr) return fail("string without a closing quote");
        p_ = q - 1;
        break;
      }
      case '/': {
        const char* q = past_comment(p_, end_);
        if (q != p_) p_ = q - 1;
        break;
      }
      default: break;
    }
    ++p_;
    if (closers_.empty()) {
      out = {start, static_cast<size_t>(p_ - start)};
      return true;
    }
  }
  return fail_at(start, "bracket is never closed");
}

bool Cursor::value(std::string_view& out) {
  skip();
  const char* start = p_;
  while (p_ < end_) {
    const char c = *p_;
    if (blank(c) || c == ',' || c == '}' || c == ')' || c == ']') break;
    if (c == '"') {
      const char* q = past_string(p_, end_);
      if (q == nullptr) return fail("string without a closing quote");
      p_ = q;
    } else if (c == '{' || c == '(' || c == '[') {
      std::string_view inner;
      if (!balanced(inner)) return false;
    } else if (c == '/' && past_comment(p_, end_) != p_) {
      break;
    } else {
      ++p_;
    }
  }
  if (p_ == start) return expected("a value");
  out = {start, static_cast<size_t>(p_ - start)};
  return true;
}

bool Cursor::integers(std::vector<int64_t>& out, std::string_view what) {
  out.clear();
  if (!expect('{', "that opens", what)) return false;
  if (accept('}')) return true;
  do {
    int64_t v = 0;
    if (!integer(v, "an integer of", what)) return false;
    out.push_back(v);
  } while (accept(','));
  return expect('}', "or ',' in", what);
}

std::string unescape(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  const auto hex = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    switch (c) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'x': {
        int v = 0, digits = 0;
        while (digits < 2 && i + 1 < raw.size() && hex(raw[i + 1]) >= 0) v = v * 16 + hex(raw[++i]), ++digits;
        out += digits ? static_cast<char>(v) : c;
        break;
      }
      default:
        if (c >= '0' && c <= '7') {
          int v = c - '0';
          for (int digits = 1; digits < 3 && i + 1 < raw.size() && raw[i + 1] >= '0' && raw[i + 1] <= '7'; ++digits)
            v = v * 8 + (raw[++i] - '0');
          out += static_cast<char>(v);
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string without_comments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const char* p = text.data();
  const char* end = p + text.size();
  while (p < end) {
    if (*p == '"') {
      const char* q = past_string(p, end);
      if (q == nullptr) q = end;
      out.append(p, q);
      p = q;
    } else if (const char* q = past_comment(p, end); q != p) {
      p = q;
    } else {
      out += *p++;
    }
  }
  return out;
}

}  // namespace shardproof::hlo
