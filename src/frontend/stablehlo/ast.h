// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Syntax tree of an MLIR module, dialect-neutral: pretty and generic forms give the same tree. Names are views into the text; types
// and locations are indices into tables, since a program has few different ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/hlo/module.h"
#include "util/result.h"

namespace shardproof::stablehlo {

// Thrown inside this library only; read_stablehlo turns it into a Result.
struct Fail {
  Diagnostic diagnostic;
};

using TypeId = uint32_t;
using LocId = uint32_t;
constexpr uint32_t kNone = 0xffffffffu;

struct NamedAttr;

struct Attr {
  enum class Kind : uint8_t {
    Unit,
    Bool,
    Int,
    Float,
    String,
    Symbol,
    Array,     // items
    Dict,      // entries
    Dense,     // text: what stands between < and >; type
    Resource,  // text: the name in dense_resource<name>; type
    Type,      // type, or a function type: ins -> outs
    Keyword,   // a bare word: DEFAULT
    Opaque,    // text: "#dialect.name<...>" or "<...>" as written
    Alias      // text: the name without #
  };
  Kind kind = Kind::Unit;
  uint32_t offset = 0, end = 0;  // where it stands in the text
  int64_t i = 0;
  double d = 0;
  std::string_view text;
  std::string string;  // String: unescaped
  TypeId type = kNone;
  std::vector<TypeId> ins, outs;
  std::vector<Attr> items;
  std::vector<NamedAttr> entries;
};

struct NamedAttr {
  std::string name;
  Attr value;
};

struct Op;

struct BlockArg {
  std::string_view name;  // without %
  TypeId type = kNone;
  LocId loc = kNone;
  Attr attrs;  // Dict, for function arguments
};

struct Region {
  std::vector<BlockArg> args;
  std::vector<Op> ops;
};

struct OpResult {
  std::string_view name;  // without %
  int64_t count = 1;      // %name:count
  bool grouped = false;   // written with ":count"
};

struct Op {
  std::string_view name;  // "stablehlo.add", "func.call"
  uint32_t offset = 0;
  LocId loc = kNone;
  std::vector<OpResult> results;
  std::vector<std::string_view> operands;  // without %, with #n
  std::vector<NamedAttr> attrs;
  std::vector<Region> regions;
  std::vector<TypeId> operand_types, result_types;
  bool has_arrow = false;  // types were written (operands) -> results

  const Attr* find(std::string_view key) const {
    for (const NamedAttr& a : attrs)
      if (a.name == key) return &a.value;
    return nullptr;
  }
};

// loc(...): a tree; aliases may be defined after their use.
struct LocNode {
  enum class Kind : uint8_t { Unknown, File, Name, CallSite, Fused, Alias } kind = Kind::Unknown;
  std::string_view text;  // Name, File, Alias: as written (still escaped)
  int line = 0;
  LocId first = kNone;   // Name: child; CallSite: callee; Fused: first part
  LocId second = kNone;  // CallSite: caller
};

struct Tree {
  std::vector<Op> ops;  // of the module
  std::string module_name;
  std::vector<NamedAttr> module_attrs;
  std::vector<hlo::Type> types;
  std::vector<LocNode> locations;
  std::unordered_map<std::string_view, LocId> location_aliases;
  std::unordered_map<std::string_view, Attr> attr_aliases;
  std::unordered_map<std::string_view, std::string_view> resources;  // name -> hex text
};

}  // namespace shardproof::stablehlo
