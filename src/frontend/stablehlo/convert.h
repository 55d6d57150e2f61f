// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Tree -> hlo::Module. A function or region becomes a computation. HLO computations see nothing of what is around them, MLIR regions do:
// a value used in a region but defined outside is copied in if it is a constant, else it becomes one more parameter (loops, branches)
// or is refused (reducers, comparators, manual computations).
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "frontend/stablehlo/dense.h"
#include "frontend/stablehlo/parser.h"

namespace shardproof::stablehlo {

class Converter {
 public:
  Converter(std::string_view text, const std::string& path, Tree& tree, Parser& parser);
  hlo::Module run();

 private:
  // A computation under construction.
  struct Builder {
    hlo::Computation computation;
    std::unordered_map<std::string, uint32_t> values;  // "24#6" -> instruction
    std::vector<uint32_t> returned;
    bool terminated = false;
    const hlo::Type& type(uint32_t id) const { return computation.instructions[id].type; }
  };
  struct Place {
    std::string op_name;
    std::shared_ptr<const std::string> file;
    int line = 0;
  };

  // --- convert.cpp
  void functions();
  void function(const Op& op, uint32_t index, bool entry);
  void entry_attributes(const Op& op, const std::vector<const Attr*>& args, const std::vector<const Attr*>& results);
  void convert(const Op& op, Builder& b);
  void module_attributes();
  void find_facts();  // is_spmd, recursion
  uint32_t add(Builder& b, hlo::Instruction i);
  hlo::Instruction make(const Op& op, std::string opcode, hlo::Type type);
  uint32_t lookup(const Op& op, std::string_view name, const Builder& b);
  std::vector<uint32_t> operands(const Op& op, const Builder& b);
  std::vector<hlo::Type> results(const Op& op, const Builder& b);
  void define(const Op& op, Builder& b, uint32_t index, const std::vector<hlo::Type>& types);
  void bind(const Op& op, Builder& b, std::string name, uint32_t index);
  hlo::Type type_of(const std::vector<hlo::Type>& types) const;  // one plain, else a tuple
  void finish(const Op& op, Builder& b);                         // root from `returned`
  void constant(const Op& op, Builder& b);
  void custom_call(const Op& op, Builder& b);
  void check_operand_types(const Op& op, const std::vector<uint32_t>& ids, const Builder& b);

  // --- regions.cpp
  enum class Outside : uint8_t { Constants, Parameters };
  std::vector<std::string> free_names(const Op& op);
  void free_names(const Region& region, std::unordered_set<std::string>& bound, std::unordered_set<std::string>& seen,
                  std::vector<std::string>& out);
  void split_free(const Op& op, const Builder& b, Outside outside, std::vector<std::string>* constants, std::vector<std::string>* captured);
  void copy_constants(const std::vector<std::string>& names, const Builder& from, Builder& to);
  uint32_t flat_region(const Op& op, const Region& region, const Builder& b);
  uint32_t tuple_region(const Op& op, const Region& region, const Builder& b, const std::vector<std::string>& constants,
                        const std::vector<std::string>& captured, uint32_t tuple, bool pass_captured);
  uint32_t make_tuple(const Op& op, Builder& b, const std::vector<uint32_t>& parts, const char* suffix);
  void while_op(const Op& op, Builder& b);
  void branch_op(const Op& op, Builder& b);
  void manual_op(const Op& op, Builder& b);
  uint32_t store(Builder& b);

  // --- attributes.cpp: reads what the opcode has into the instruction, the rest verbatim into `other`
  void attributes(const Op& op, hlo::Instruction& i, const Builder& b);
  const Attr* get(const Op& op, std::string_view name, std::string_view pretty = {});
  const Attr* resolve(const Attr* attr);
  std::vector<int64_t> ints(const Attr& attr);
  std::vector<int64_t> get_ints(const Op& op, std::string_view name, std::string_view pretty = {});
  std::vector<int64_t> need_ints(const Op& op, std::string_view name, std::string_view pretty = {});
  int64_t get_int(const Op& op, int64_t missing, std::string_view name, std::string_view pretty = {});
  int64_t need_int(const Op& op, std::string_view name, std::string_view pretty = {});
  bool get_bool(const Op& op, std::string_view name);
  std::string word(const Op& op, const Attr* attr);  // an enum: DEFAULT, #stablehlo<precision DEFAULT>
  std::string verbatim(const Attr& attr) const;
  void dimension_numbers(const Op& op, hlo::Instruction& i);
  void convolution(const Op& op, hlo::Instruction& i, const Builder& b);
  void windows(const Op& op, hlo::Instruction& i, size_t rank, std::string_view strides, std::string_view base, std::string_view dilation);
  void collective(const Op& op, hlo::Instruction& i);
  [[noreturn]] void fail(const Op& op, std::string message, const char* code = "SP240");

  // --- mesh.cpp
  void meshes();
  frontend::Mesh mesh(std::string_view text, size_t at);
  hlo::ReplicaGroups replica_groups(const Op& op, const Attr& attr);
  std::vector<std::vector<int64_t>> mesh_groups(const Op& op, const Attr& attr);
  frontend::StatedSharding sharding(const std::vector<NamedAttr>& attrs);
  frontend::StatedSharding sharding(const Attr& dict);
  static std::vector<std::string> split_shardings(std::string_view text);
  std::vector<std::string> shardings_per_value(const Attr* attr);

  // --- places.cpp
  const Place& place(LocId loc);
  std::string argument_name(LocId loc);
  LocId follow(LocId loc) const;
  int text_line(size_t offset) const;

  std::string_view text_;
  const std::string& path_;
  Tree& tree_;
  Parser& parser_;
  hlo::Module module_;
  std::unordered_map<std::string, uint32_t> functions_;
  std::unordered_map<LocId, Place> places_;
  std::unordered_map<std::string_view, std::shared_ptr<const std::string>> files_;
  std::vector<size_t> line_starts_;
  std::unordered_set<std::string_view> used_;  // attributes of the current operator that have been read
  size_t names_ = 0;
};

bool same_type(const hlo::Type& a, const hlo::Type& b);

// "stablehlo.dot_general" -> "dot"; what HLO has no word for keeps its own name.
std::string hlo_opcode(std::string_view op);

}  // namespace shardproof::stablehlo
