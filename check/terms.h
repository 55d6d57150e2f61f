// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The meaning of terms, as values at a point.
//
// A term read outside of its dimensions is undefined. A product in which a bracket is 0 is 0, whatever the rest is. x^-1 of 0 is undefined.
//
// How it is evaluated: a term is *open* (by its definition) or *closed*: then its value at an index is a random number that depends on
// (seed, term, index) and on nothing else. An equation that holds with closed terms holds for all functions in their place, so also for the
// ones that they are. Three things keep closed terms from being too free, all derived here from the definitions (`derive`), never read
// from the certificate: sign, integer range, and whether the value can be infinite or undefined. Sums of one body over several boxes (a
// *kernel*) are values of one random measure, so that closed partial sums add up.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/number.h"
#include "frontend/certificate/reads.h"
#include "link/problem.h"

namespace shardproof::check {

using namespace certificate;

inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
inline uint64_t mix(uint64_t a, uint64_t b) { return mix(a ^ (b * 0xff51afd7ed558ccdu + 0x2545f4914f6cdd1du)); }
inline uint64_t mix(uint64_t a, const std::vector<int64_t>& list) {
  a = mix(a, list.size());
  for (int64_t x : list) a = mix(a, static_cast<uint64_t>(x));
  return a;
}

// What the definition of a term says of all its values.
struct Derived {
  bool finite = false;   // never infinite or undefined (inside its dimensions)
  bool noinf = false;    // never infinite (it may be undefined: x/0 is)
  bool nonneg = false;   // >= 0 wherever defined
  bool nonzero = false;  // != 0 wherever defined
  bool integer = false;
  int64_t lo = kNegInf, hi = kPosInf;  // of integers, inclusive
  int64_t gap_low = 0, gap_high = 0;   // of inputs: values strictly between do not occur
  bool operator==(const Derived&) const = default;
};

// Spread of random values: any; any positive ones; 0, 1, ends of ranges, equal ones; large, small, infinite and undefined ones.
enum class Draw : uint8_t { Generic, Positive, Special, Wild };

// What a term is made to be in one round: at all places, or at some.
enum class Mood : uint8_t { None, Zero, One, Minus, Infinite, MinusInfinite, Undefined, Low, High, Wanted };
constexpr int kMoods = 9;

class Terms {
 public:
  // Derives facts of all terms; `problem` gives types, tables and facts of origins.
  Terms(const Certificate& certificate, const link::Problem& problem, uint64_t seed);

  Number poly(const Poly& p, const int64_t* x, size_t n);
  bool masked(const Product& t, const int64_t* x, size_t n);   // a bracket of it is 0
  Number factor(const Factor& f, const int64_t* x, size_t n);  // without the exponent
  // A product at a point (formal.cpp): its coefficient, and a hash of what is read, both modulo a prime.
  struct Formal {
    uint64_t number = 1, reads = 0;
    size_t factors = 0;
    bool bracket = false;                              // it may hide the other factors
    bool finite = true, noinf = true, nonzero = true;  // all factors are
  };
  using Sum = std::vector<Formal>;
  void formal(const Poly& p, const int64_t* x, size_t n, Sum& out);  // appended
  static bool all_finite(const Sum& sum);
  static bool all_free(const Sum& sum);
  bool multiply(Sum& sum, const Sum& by);  // false: it cannot be written so
  bool invert(Sum& sum) const;
  uint64_t minus_one() const { return prime_ - 1; }
  uint64_t exponential(const Sum& sum) const;        // what is read in e to that
  uint64_t shape(const Sum& sum) const;              // a hash: equal hashes mean equal sums
  uint64_t hash(const Poly& p) const;                // as it is written
  Number define(uint32_t id, const int64_t* index);  // open, whatever is set

  void start(uint64_t round, Draw draw);            // new random functions
  void favour(const std::vector<int64_t>* values);  // integers often take these values (until the next call)
  // Until the next start, as far as its facts allow: everywhere, at half of all places, or at one of those where it has been read so far.
  static constexpr int kEverywhere = 0, kHalf = 1;  // more: one place
  void feel(uint32_t kernel, Mood mood, int where);
  void close_all();
  void open(uint32_t id);  // and every term of its kernel, if it has a definition
  bool is_open(uint32_t id) const { return open_[kernel_[id]] == open_epoch_; }
  bool can_open(uint32_t id) const;
  uint32_t kernel(uint32_t id) const { return kernel_[id]; }
  // Kernels that stand in the definition of a term, each once, appended; in the place of open ones and of `through` what stands in those.
  void inside(uint32_t id, std::vector<uint32_t>& out, const std::set<uint32_t>& through = {}) const;
  // Terms to open so that two expressions over the kernels `left` and `right` come down to common ones: the latest one that only one side
  // has, again and again, until a side has none of its own.
  std::vector<uint32_t> align(const std::vector<uint32_t>& left, const std::vector<uint32_t>& right) const;
  const TermNode& node(uint32_t id) const { return c_.terms[id]; }
  const Derived& derived(uint32_t id) const { return derived_[id]; }
  // Integer inputs by all elements of which the sequential program reads strictly, and the range in which it does not stop.
  const std::map<ir::NodeId, std::pair<int64_t, int64_t>>& stops() const { return stops_; }
  Derived derive(const Poly& p, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const;

  // From now on closed terms that are read are put into `leaves[side]`, each kernel once.
  void watch(int side) { side_ = side; }
  void forget() { leaves[0].clear(), leaves[1].clear(), seen_epoch_ += 1; }
  std::vector<uint32_t> leaves[2];
  struct Census {
    uint64_t last = 0, changes = 0;  // index at which it was read last; how often another one came
  };
  std::unordered_map<uint32_t, Census>* census = nullptr;  // of closed terms, if anybody asks
  bool uncertain = false;                                  // the values hang on a rounding: throw the point away
  uint64_t budget = 0, spent = 0;                          // reads; beyond it everything is uncertain
  uint64_t thrift = 1;                                     // so many times less work for one equation, and for all

 private:
  void choose_prime();
  void factor_out(Sum& sum);
  uint64_t residues(uint64_t a, uint64_t b) const;  // modulo the prime
  uint64_t joined(uint64_t a, uint64_t b) const { return a + b >= prime_ ? a + b - prime_ : a + b; }
  uint64_t raised(uint64_t a, uint64_t e) const;
  uint64_t residue(int64_t num, int64_t den);
  Formal product(const Formal& a, const Formal& b) const;
  void write(const Poly& p, const int64_t* x, size_t n, size_t nested, Sum& out);
  Number closed(uint32_t id, const int64_t* index);
  bool at_its_place(uint32_t id, const int64_t* index);
  Number closed_integer(const TermNode& n, const Derived& d, uint64_t h, Mood mood) const;
  bool symbol(const TermNode& n) const;
  Number measure(uint32_t id, const int64_t* index);
  bool is_order(uint32_t id);
  Number placed(uint32_t id, const int64_t* index);
  void want(const Poly& p, const int64_t* x, size_t n, const Number& e, int64_t threshold);
  Number literal_term(const TermNode& n) const;
  Derived derive_node(const TermNode& n, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const;
  Derived derive_kind(const TermNode& n, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const;
  // Of the elements in a box of the term's index space. Only terms that depend on positions say more there than elsewhere.
  Derived derived_in(uint32_t id, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const;
  Derived derive_base(const TermNode& n) const;
  bool taken_if_finite(const TermNode& n) const;
  void find_reads();
  void find_stops();
  void find_guards(uint32_t id);
  void find_limits(uint32_t id);
  bool guarded(uint32_t id, const int64_t* index);  // its guards hold there: it is finite
  bool counts_any(const TermNode& n) const;
  bool bracketed(const Product& t, uint32_t node, const std::vector<int64_t>& rows, size_t w, int64_t& lo, int64_t& hi) const;
  Derived derive(const Product& t, const std::vector<int64_t>& ext, const std::vector<int64_t>& low) const;
  bool read(uint32_t id, const int64_t* index, uint64_t& hash) const;  // false: outside

  const Certificate& c_;
  const link::Problem& problem_;
  uint64_t secret_ = 0, seed_ = 0, prime_ = 0, written_ = 0;
  long double per_prime_ = 0;
  std::unordered_map<int64_t, uint64_t> inverses_;
  Draw draw_ = Draw::Generic;
  // An index expression, where it is read (rows over the term's own indices), and the range in which it must lie.
  struct Guard {
    const Poly* index;
    std::vector<int64_t> rows;
    size_t variables;
    int64_t extent;
  };
  // Of a sum: what it sums is 0 unless a row over its indices and variables lies in [lo, hi), as a bracket in it says.
  struct Limit {
    std::vector<int64_t> row;
    int64_t lo, hi;
    // The values of variable k at which that may be, those before it being as in x.
    void narrow(const std::vector<int64_t>& x, size_t k, const std::vector<int64_t>& box, int64_t& from, int64_t& to) const;
  };
  std::map<ir::NodeId, std::pair<int64_t, int64_t>> stops_;
  std::vector<Derived> derived_;
  std::vector<std::vector<Limit>> limits_;
  std::vector<std::vector<Guard>> guards_;                   // of terms that are finite where these hold
  mutable bool pretend_ = false;                             // derive as if guards held
  bool quiet_ = false;                                       // reads are not watched
  std::vector<char> positional_, measured_, order_;          // an index form occurs inside; a real sum or extreme; an order of places
  std::vector<int> helped_;                                  // how often it did not help to look at the place; -1: it did once
  mutable std::vector<std::pair<uint64_t, Derived>> boxes_;  // what was derived last, by hash
  mutable int derive_depth_ = 0;
  std::vector<uint32_t> kernel_;
  std::vector<std::vector<int64_t>> extent_, low_;            // of the box of each term's indices that anything in the certificate reads
  std::unordered_map<uint32_t, bool> kernel_nonneg_;          // all sums of the kernel are
  std::unordered_map<uint32_t, bool> kernel_zero_;            // no sum of the kernel is known not to be 0
  std::unordered_map<uint32_t, std::vector<int64_t>> reach_;  // kernel -> lo, hi of each bound variable over all its boxes
  std::vector<uint32_t> open_;
  uint32_t open_epoch_ = 1;
  std::vector<uint32_t> seen_[2];
  uint32_t seen_epoch_ = 1;
  int side_ = 0;
  std::unordered_map<uint64_t, Number> memo_;
  std::unordered_map<uint64_t, Index> orders_;
  std::vector<int64_t> thresholds_;
  std::vector<Mood> moods_;                                     // by kernel
  std::vector<uint32_t> moody_;                                 // kernels that have one
  std::unordered_map<uint32_t, int> where_;                     // of those
  std::unordered_map<uint32_t, std::vector<uint64_t>> places_;  // where a moody kernel has been read, by hash
  std::vector<int64_t> wanted_, noted_;                         // integers that lie on the two sides of a bracket that was evaluated
  const std::vector<int64_t>* favourites_ = nullptr;
  std::vector<Number> constants_;  // of Lit terms
  int depth_ = 0;
};

// A literal as it is read (closed form or as it is), and whether the reading is within the rules of docs/manifest.md section 4.
Number literal_value(const ir::Literal& l, ir::DType type);
// p/q or sqrt(p/q) may stand for it.
bool literal_may_be(const ir::Literal& l, int64_t p, int64_t q, bool root);

}  // namespace shardproof::check
