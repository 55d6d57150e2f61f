// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "util/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>

namespace shardproof {
namespace {

// The first 32 bits of the fractional parts of roots of the first primes, computed rather than listed.
struct Constants {
  std::array<uint32_t, 64> k{};
  std::array<uint32_t, 8> h{};
  Constants() {
    int count = 0;
    for (int p = 2; count < 64; ++p) {
      bool prime = true;
      for (int d = 2; d * d <= p; ++d) prime = prime && p % d != 0;
      if (!prime) continue;
      k[count] = fraction(p, 3);
      if (count < 8) h[count] = fraction(p, 2);
      ++count;
    }
  }
  // floor(frac(p^(1/root)) * 2^32), by integer search: the largest x with x^root <= p * 2^(32*root).
  static uint32_t fraction(int p, int root) {
    using Wide = unsigned __int128;
    uint64_t low = 0, high = uint64_t{1} << 37;  // roots of primes below 312 are under 18
    while (low + 1 < high) {
      const uint64_t mid = (low + high) / 2;
      // mid^root against p << (32*root); for cubes divide once to stay inside 128 bits
      const bool fits = root == 2 ? Wide{mid} * mid <= (Wide{static_cast<uint64_t>(p)} << 64) : cube_at_most(mid, p);
      (fits ? low : high) = mid;
    }
    return static_cast<uint32_t>(low);
  }
  static bool cube_at_most(uint64_t x, int p) {
    using Wide = unsigned __int128;  // x < 2^37: x^3 < 2^111, p << 96 < 2^105
    return Wide{x} * x * x <= (Wide{static_cast<uint64_t>(p)} << 96);
  }
};

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  static const Constants constants;
  auto h = constants.h;
  std::string tail(bytes.substr(bytes.size() / 64 * 64));
  tail += '\x80';
  while (tail.size() % 64 != 56) tail += '\0';
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift);
  const auto block = [&](const char* data) {
    std::array<uint32_t, 64> w{};
    for (int t = 0; t < 16; ++t) {
      for (int b = 0; b < 4; ++b) w[t] = w[t] << 8 | static_cast<uint8_t>(data[4 * t + b]);
    }
    for (int t = 16; t < 64; ++t) {
      const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
      const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto v = h;
    for (int t = 0; t < 64; ++t) {
      const uint32_t s1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
      const uint32_t a = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants.k[t] + w[t];
      const uint32_t s0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
      const uint32_t b = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
      v = {a + b, v[0], v[1], v[2], v[3] + a, v[4], v[5], v[6]};
    }
    for (int k = 0; k < 8; ++k) h[k] += v[k];
  };
  for (size_t at = 0; at + 64 <= bytes.size(); at += 64) block(bytes.data() + at);
  for (size_t at = 0; at < tail.size(); at += 64) block(tail.data() + at);
  std::string out;
  for (uint32_t word : h) {
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[(word >> shift) & 15];
  }
  return out;
}

std::string sha256_file_hex(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return "";
  return sha256_hex(std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace shardproof
