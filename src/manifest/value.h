// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A manifest's text as an ordered tree with places: what TOML and JSON have in common. Order in the file is kept (mesh axes, rank
// lists), duplicate keys are refused, and every value knows its line and column, so that each complaint can point at it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"
#include "util/words.h"

namespace shardproof::manifest {

struct Member;

struct Value {
  enum class Kind : uint8_t { Null, Bool, Int, Float, String, Array, Object } kind = Kind::Null;
  bool b = false;
  int64_t i = 0;
  double d = 0;
  std::string s;
  std::vector<Value> items;     // Array
  std::vector<Member> members;  // Object, in the order of the file
  int line = 0, column = 0;     // of the value; an object's member: of its key

  const Value* find(std::string_view key) const;
  bool is_number() const { return kind == Kind::Int || kind == Kind::Float; }
  double number() const { return kind == Kind::Int ? static_cast<double>(i) : d; }
};

struct Member {
  std::string key;
  Value value;
};

// Nesting deeper than this is refused (no manifest needs it, and readers recurse on it).
constexpr int kMaxDepth = 64;

Result<Value> read_json(std::string_view text, const std::string& path);
Result<Value> read_toml(std::string_view text, const std::string& path);

std::string to_json(const Value& value);  // compact, in order: the canonical text
void append_utf8(std::string& s, uint32_t c);
std::string kind_name(Value::Kind kind);  // "a string", "a list", ...

}  // namespace shardproof::manifest
