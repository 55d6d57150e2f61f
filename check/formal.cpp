// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Terms at a point as polynomials, by hashes: what can be compared so needs no evaluation. Coefficients and exponents are numbers modulo a
// secret prime, and the hash of a product is linear in its exponents. Real numbers obey the laws of a commutative ring: where all that is
// read is finite, products are multiplied out, sums written out, and like products added. Elsewhere no law is used but that sums and
// products have no order, which holds for infinite and undefined values, too; brackets hide what they multiply and stay out of products.
#include <algorithm>
#include <array>
#include <tuple>

#include "check/terms.h"

namespace shardproof::check {

namespace {

constexpr size_t kProducts = 64, kNested = 12;
constexpr uint64_t kWritten = 4096;  // terms written out for one poly

}  // namespace

uint64_t Terms::residues(uint64_t a, uint64_t b) const {
  if (a == 1 || b == 1) return a == 1 ? b : a;
  const auto about = static_cast<int64_t>(static_cast<long double>(static_cast<int64_t>(a)) * static_cast<int64_t>(b) * per_prime_);
  const uint64_t r = a * b - static_cast<uint64_t>(about) * prime_;  // within one prime of the right one
  return static_cast<int64_t>(r) < 0 ? r + prime_ : r >= prime_ ? r - prime_ : r;
}

uint64_t Terms::raised(uint64_t a, uint64_t e) const {
  uint64_t r = 1;
  for (; e != 0; e >>= 1, a = residues(a, a)) r = e & 1 ? residues(r, a) : r;
  return r;
}

uint64_t Terms::residue(int64_t num, int64_t den) {
  auto of = [&](int64_t v) { return v >= 0 ? static_cast<uint64_t>(v) % prime_ : prime_ - (0 - static_cast<uint64_t>(v)) % prime_; };
  if (den == 1) return of(num);
  uint64_t& inverse = inverses_[den];
  if (inverse == 0) inverse = raised(of(den), prime_ - 2);
  return residues(of(num), inverse);
}

void Terms::choose_prime() {
  constexpr std::array<uint64_t, 7> kBases{2, 3, 5, 7, 11, 13, 17};
  auto is_prime = [&] {
    per_prime_ = 1 / static_cast<long double>(prime_);
    return std::all_of(kBases.begin(), kBases.end(), [&](uint64_t a) { return raised(a, prime_ - 1) == 1; });
  };
  for (prime_ = (mix(secret_, 61) >> 4) | 1 | uint64_t{1} << 60; !is_prime(); prime_ += 2) {
  }
}

bool Terms::all_finite(const Sum& sum) {
  return std::all_of(sum.begin(), sum.end(), [](const Formal& t) { return t.finite; });
}

// No summand is infinite or hidden: with undefined ones the sum is undefined, and so is what it is multiplied by.
bool Terms::all_free(const Sum& sum) {
  return !sum.empty() && std::all_of(sum.begin(), sum.end(), [](const Formal& t) { return t.noinf && !t.bracket; });
}

// The sum as a number times something that has a name.
void Terms::factor_out(Sum& sum) {
  std::sort(sum.begin(), sum.end(),
            [](const Formal& a, const Formal& b) { return std::tie(a.reads, a.number) < std::tie(b.reads, b.number); });
  Sum all;
  for (const Formal& t : sum) {
    if (t.finite && !all.empty() && all.back().finite && all.back().reads == t.reads) {
      all.back().number = joined(all.back().number, t.number);
    } else {
      all.push_back(t);
    }
    if (all.back().finite && all.back().number == 0) all.pop_back();
  }
  if (all.empty() || all[0].number == 0) return;
  Formal one;
  one.number = all[0].number, one.factors = 1, one.nonzero = false;
  const uint64_t inverse = raised(one.number, prime_ - 2);
  for (Formal& t : all) {
    t.number = residues(t.number, inverse);
    one.finite = one.finite && t.finite, one.noinf = one.noinf && t.noinf;
  }
  one.reads = mix(shape(all), 77) >> 4;
  sum.assign(1, one);
}

void Terms::formal(const Poly& p, const int64_t* x, size_t n, Sum& out) {
  written_ = 0;
  write(p, x, n, 0, out);
  spent += written_ / 8;
}

void Terms::write(const Poly& p, const int64_t* x, size_t n, size_t nested, Sum& out) {
  std::vector<Index> at;
  Sum sum, inner, more, read;
  for (const Product& t : p) {
    at.resize(t.f.size()), read.assign(t.f.size(), {});
    for (size_t k = 0; k < t.f.size(); ++k) {
      const Factor& f = t.f[k];
      const Derived& d = derived_[f.node];
      Formal& one = read[k];
      rows_at(f.map, x, n, at[k]);
      const bool inside = within(node(f.node), at[k].data());
      one.factors = 1, one.nonzero = d.nonzero, one.bracket = node(f.node).kind == TermKind::Bracket;
      one.finite = d.finite && inside && (f.num > 0 || (f.num < 0 && d.nonzero)) && (f.den == 1 || d.nonneg);
      one.noinf = one.finite || (d.noinf && inside);
    }
    const bool real = all_finite(read), free = all_free(read);
    sum.assign(1, {});
    sum[0].number = residue(t.num, t.den), sum[0].nonzero = t.num != 0;
    for (size_t k = 0; k < t.f.size(); ++k) {
      const Factor& f = t.f[k];
      Formal& one = read[k];
      const TermNode& term = node(f.node);
      const uint64_t exponent = residue(f.num, f.den);
      const bool power = term.kind == TermKind::Fn && term.fn == ir::Fn::Exp && ir::is_float(term.dtype) && one.finite;
      const bool written = term.kind == TermKind::Sum && f.den == 1 && (f.num == 1 || f.num == 2) && (real || free);
      inner.clear();
      if ((power || written) && nested < kNested && ++written_ < kWritten)
        write(term.args[0], at[k].data(), at[k].size(), nested + 1, inner);
      if (power && all_finite(inner)) one.reads = exponential(inner), one.nonzero = true;
      if (written && !inner.empty() && (real ? all_finite(inner) : all_free(inner))) {
        more = sum;
        if (multiply(more, inner) && (f.num < 2 || multiply(more, inner))) {
          sum = more;
          continue;
        }
      }
      if (one.reads == 0) {
        one.reads = mix(secret_, f.node);
        for (int64_t i : at[k]) one.reads = mix(one.reads, static_cast<uint64_t>(i));
        one.reads >>= 4;
      }
      one.reads = one.finite ? residues(exponent, one.reads) : mix(one.reads, exponent) >> 4;
      for (Formal& s : sum) s = product(s, one);
    }
    out.insert(out.end(), sum.begin(), sum.end());
  }
}

Terms::Formal Terms::product(const Formal& a, const Formal& b) const {
  return {residues(a.number, b.number), joined(a.reads, b.reads), a.factors + b.factors, a.bracket || b.bracket,
          a.finite && b.finite,         a.noinf && b.noinf,       a.nonzero && b.nonzero};
}

// What stands for e to this sum: a sum of exponents is a product of powers.
uint64_t Terms::exponential(const Sum& sum) const {
  uint64_t h = 0;
  for (const Formal& t : sum) h = joined(h, residues(t.number, mix(t.reads, 18) >> 4));
  return h;
}

bool Terms::multiply(Sum& sum, const Sum& by) {
  Sum out;
  if ((all_finite(sum) && all_finite(by)) || (all_free(sum) && all_free(by))) {
    Sum left = sum, right = by;
    if (left.size() > 1 && right.size() > 1 && left.size() * right.size() > kProducts) factor_out(left), factor_out(right);
    for (const Formal& a : left)
      for (const Formal& b : right) out.push_back(product(a, b));
    sum = std::move(out);
    return true;
  }
  auto number = [](const Sum& p) { return p.size() == 1 && p[0].factors == 0; };
  out = number(sum) ? by : sum;
  const Sum& other = number(sum) ? sum : by;
  if (other.size() != 1) return false;
  const Formal b = other[0];
  if (b.number == 0 || (b.factors != 0 && (out.size() != 1 || b.bracket || out[0].bracket))) return false;
  for (Formal& a : out) {
    if (a.number == 0) return false;
    a = product(a, b);
  }
  sum = std::move(out);
  return true;
}

// One over the sum. False: it may be 0, or is no single product.
bool Terms::invert(Sum& sum) const {
  if (sum.size() != 1 || !sum[0].finite || !sum[0].nonzero || sum[0].number == 0) return false;
  sum[0].number = raised(sum[0].number, prime_ - 2), sum[0].reads = (prime_ - sum[0].reads) % prime_;
  return true;
}

uint64_t Terms::shape(const Sum& sum) const {
  uint64_t real = 0, other = 0;
  for (const Formal& t : sum) {
    if (t.finite) real = joined(real, residues(t.number, mix(t.reads, 0x5151) >> 4));
    if (!t.finite) other += mix(mix(t.number, t.reads), 0x5252);
  }
  return mix(real, other);
}

}  // namespace shardproof::check
