// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The reader of HLO text behind read_text. Split over text_reader.cpp (module, tables, computations, instructions), text_types.cpp (types
// and constants) and text_attributes.cpp (what follows the operands).
//
// Names may be used before they are defined, both instructions and computations (lowered text puts parameters anywhere). A name gets a
// number at its first mention; numbers are resolved to positions at the end of the computation or of the module.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/hlo/cursor.h"
#include "frontend/hlo/module.h"
#include "frontend/hlo/replica_groups.h"
#include "frontend/hlo/source_map.h"

namespace shardproof::hlo {

// Names of one scope: number by first mention, position once defined. clear() is cheap.
class NameTable {
 public:
  struct Entry {
    std::string_view name;
    const char* mention;             // where the name was first read
    uint32_t position = UINT32_MAX;  // of the definition; UINT32_MAX: none yet
  };
  uint32_t number(std::string_view name);
  Entry& at(uint32_t number) { return entries_[number]; }
  std::vector<Entry>& entries() { return entries_; }
  void clear();

 private:
  std::vector<Entry> entries_;
  std::vector<uint64_t> slots_;  // hash (high half) and number + 1, open addressing
  void grow();
};

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& path) : c_(text, path) { module_.path = path; }
  Result<Module> run();

 private:
  // text_reader.cpp
  bool header();
  bool tables();
  bool table(std::string_view which);
  bool computation();
  size_t lines_ahead();
  bool instruction(Computation& computation);
  bool operands(Instruction& instruction);
  bool resolve_computations();
  // text_types.cpp
  bool type(Type& out);
  bool array_type(Type& out);
  bool layout(Type& out);
  bool constant(Instruction& instruction);
  bool scalar(const Type& type, ir::Literal& out);
  // text_attributes.cpp
  bool attributes(Instruction& instruction);
  bool attribute(Instruction& instruction, std::string_view key, const char* where);
  bool metadata(Instruction& instruction);
  bool frontend_attributes(Instruction* instruction);  // null: the module's
  bool call(Instruction& instruction, size_t slot);
  bool call_list(Instruction& instruction);
  bool window(Instruction& instruction);
  bool padding(Instruction& instruction);
  bool slice(Instruction& instruction);
  bool pairs(Instruction& instruction);
  bool replica_groups(Instruction& instruction);
  bool mesh_groups(Instruction& instruction);
  bool iota(Iota& out);
  bool separated(std::vector<int64_t>& out, std::string_view what);  // 1x2x3
  bool enumerator(std::string& out);

  Cursor c_;
  Module module_;
  SourceMap sources_;
  NameTable instructions_;  // of the computation being read
  NameTable computations_;
  ExpansionBudget budget_;
  uint32_t entry_ = UINT32_MAX;
  const char* counted_ = nullptr;  // how far lines_ahead has looked
};

}  // namespace shardproof::hlo
