// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Exact rational coefficients. 64-bit numerator and denominator, 128-bit intermediates; what does not fit throws Overflow, which
// the prover answers with "cannot tell" for the value at hand. Never rounds.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace shardproof::prove {

// The value at hand is too large for the prover's arithmetic or limits: it stays undecided.
class Overflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Rat {
 public:
  Rat() = default;
  Rat(int64_t n) : n_(n) {}  // NOLINT: integers are rationals
  Rat(__int128 n, __int128 d) { set(n, d); }
  int64_t num() const { return n_; }
  int64_t den() const { return d_; }
  bool is_zero() const { return n_ == 0; }
  bool is_one() const { return n_ == 1 && d_ == 1; }
  bool is_integer() const { return d_ == 1; }
  bool positive() const { return n_ > 0; }
  bool negative() const { return n_ < 0; }
  bool operator==(const Rat&) const = default;
  friend bool operator<(const Rat& a, const Rat& b) { return static_cast<__int128>(a.n_) * b.d_ < static_cast<__int128>(b.n_) * a.d_; }
  friend Rat operator+(const Rat& a, const Rat& b) {
    if (a.d_ == 1 && b.d_ == 1) {
      int64_t s = 0;
      if (__builtin_add_overflow(a.n_, b.n_, &s)) throw Overflow("coefficient too large");
      return {s};
    }
    return {static_cast<__int128>(a.n_) * b.d_ + static_cast<__int128>(b.n_) * a.d_, static_cast<__int128>(a.d_) * b.d_};
  }
  friend Rat operator*(const Rat& a, const Rat& b) { return {static_cast<__int128>(a.n_) * b.n_, static_cast<__int128>(a.d_) * b.d_}; }
  Rat operator-() const {
    if (n_ == INT64_MIN) throw Overflow("coefficient too large");
    Rat r = *this;
    r.n_ = -r.n_;
    return r;
  }
  friend Rat operator-(const Rat& a, const Rat& b) { return a + (-b); }
  Rat inverse() const {
    if (n_ == 0) throw Overflow("division of a constant by zero");
    return {static_cast<__int128>(d_), static_cast<__int128>(n_)};
  }
  std::string str() const { return d_ == 1 ? std::to_string(n_) : std::to_string(n_) + "/" + std::to_string(d_); }

 private:
  void set(__int128 n, __int128 d) {
    if (d == 0) throw Overflow("division of a constant by zero");
    if (d < 0) n = -n, d = -d;
    __int128 a = n < 0 ? -n : n, b = d;
    while (b != 0) {
      __int128 t = a % b;
      a = b;
      b = t;
    }
    if (a > 1) n /= a, d /= a;
    if (n > INT64_MAX || n < -INT64_MAX || d > INT64_MAX) throw Overflow("coefficient too large");
    n_ = static_cast<int64_t>(n);
    d_ = static_cast<int64_t>(d);
  }
  int64_t n_ = 0, d_ = 1;
};

inline int64_t add_checked(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) throw Overflow("index too large");
  return r;
}
inline int64_t mul_checked(int64_t a, int64_t b) {
  int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) throw Overflow("index too large");
  return r;
}
inline int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + ((a % b != 0) && ((a < 0) == (b < 0))); }

}  // namespace shardproof::prove
