// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Errors as values. Three kinds of trouble, three means:
//   - the user's input is wrong      -> Result<T> holding a Diagnostic (file, line, column, what to do)
//   - we cannot decide               -> UNKNOWN with a reason, never an error
//   - the program itself is wrong    -> SP_CHECK throws InternalError; the command answers UNKNOWN(internal)
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace shardproof {

// A message about the user's input. `code` is stable (SP2xx: input, SP1xx: findings). line and column are 1-based, 0 = unknown.
struct Diagnostic {
  std::string code;
  std::string message;
  std::string file;
  int line = 0;
  int column = 0;
};

// A value or a Diagnostic. Like std::expected (C++23), which g++ 12 lacks in C++20 mode.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}           // NOLINT: implicit by design
  Result(Diagnostic error) : data_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design
  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(data_); }
  const T& value() const { return std::get<0>(data_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Diagnostic& error() const { return std::get<1>(data_); }

 private:
  std::variant<T, Diagnostic> data_;
};

// A broken invariant of shardproof itself. Caught at the top of a check and answered UNKNOWN(internal); never a verdict.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* what, const char* file, int line) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace shardproof

// On in every build type, release included.
#define SP_CHECK(condition)                                                       \
  do {                                                                            \
    if (!(condition)) ::shardproof::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
