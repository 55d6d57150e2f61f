// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reader of the protocol buffer wire format: fields of one message, in the order in which they are stored. Nothing is copied.
// Both forms of repeated scalars are read, packed and one by one. Groups, and anything that runs over its end, are errors.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace shardproof::hlo {

struct Field {
  enum Wire : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  uint32_t number = 0;
  Wire wire = Varint;
  uint64_t value = 0;      // Varint, Fixed64, Fixed32
  std::string_view bytes;  // Bytes

  int64_t integer() const { return static_cast<int64_t>(value); }
  bool boolean() const { return value != 0; }
  std::string text() const { return std::string(bytes); }
};

class Wire {
 public:
  explicit Wire(std::string_view bytes) : p_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  // False at the end and on damage; damaged() tells which.
  bool next(Field& out) {
    if (p_ == end_ || damaged_) return false;
    uint64_t tag = 0;
    if (!varint(tag)) return false;
    out.number = static_cast<uint32_t>(tag >> 3);
    out.wire = static_cast<Field::Wire>(tag & 7);
    if (out.number == 0 || (tag >> 3) > 0x1fffffff) return damage();
    out.value = 0;
    out.bytes = {};
    switch (out.wire) {
      case Field::Varint: return varint(out.value);
      case Field::Fixed64: return fixed(out.value, 8);
      case Field::Fixed32: return fixed(out.value, 4);
      case Field::Bytes: {
        uint64_t n = 0;
        if (!varint(n)) return false;
        if (n > static_cast<uint64_t>(end_ - p_)) return damage();
        out.bytes = {p_, static_cast<size_t>(n)};
        p_ += n;
        return true;
      }
      default: return damage();
    }
  }
  bool damaged() const { return damaged_; }
  const char* here() const { return p_; }

  bool varint(uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (p_ == end_) return damage();
      const uint8_t c = static_cast<uint8_t>(*p_++);
      if (shift == 63 && c > 1) return damage();
      out |= static_cast<uint64_t>(c & 0x7f) << shift;
      if (c < 0x80) return true;
    }
    return damage();
  }
  bool fixed(uint64_t& out, int bytes) {
    out = 0;
    if (end_ - p_ < bytes) return damage();
    for (int i = 0; i < bytes; ++i) out |= static_cast<uint64_t>(static_cast<uint8_t>(p_[i])) << (8 * i);
    p_ += bytes;
    return true;
  }
  bool at_end() const { return p_ == end_; }

 private:
  bool damage() {
    damaged_ = true;
    return false;
  }
  const char* p_;
  const char* end_;
  bool damaged_ = false;
};

// One more piece of a repeated varint field: a single value or a packed run. False if the field has another form.
inline bool append(const Field& field, std::vector<int64_t>& out) {
  if (field.wire == Field::Varint) {
    out.push_back(field.integer());
    return true;
  }
  if (field.wire != Field::Bytes) return false;
  Wire packed(field.bytes);
  uint64_t v = 0;
  while (!packed.at_end()) {
    if (!packed.varint(v)) return false;
    out.push_back(static_cast<int64_t>(v));
  }
  return true;
}

}  // namespace shardproof::hlo
