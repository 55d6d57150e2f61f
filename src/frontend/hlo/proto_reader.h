// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The reader of HloModuleProto behind read_proto. Split over proto_reader.cpp (module, computations, instructions), proto_fields.cpp (the
// messages within an instruction) and proto_literal.cpp (shapes and constants). The result is what read_text gives for the same module.
//
// A field of an instruction that is not known here is kept in `other` as "field <number>", so that a later meaning is never lost silently.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/hlo/module.h"
#include "frontend/hlo/replica_groups.h"
#include "frontend/hlo/source_map.h"
#include "frontend/hlo/wire.h"

namespace shardproof::hlo {

class ProtoReader {
 public:
  ProtoReader(std::string_view bytes, const std::string& path) : begin_(bytes.data()) { module_.path = path; }
  Result<Module> run(std::string_view module);

 private:
  bool fail(std::string_view at, const std::string& message, const char* code = nullptr);
  bool damaged(std::string_view at, const char* what);
  // proto_reader.cpp
  bool frames(std::string_view bytes);
  bool aliases(std::string_view bytes);
  bool device_assignment(std::string_view bytes);
  bool frontend_attributes(std::string_view bytes, Instruction* instruction);  // null: the module's
  bool computation(std::string_view bytes);
  bool instruction(std::string_view bytes, Instruction& out, std::vector<int64_t>& operands, std::vector<int64_t>& called, int64_t& id);
  // proto_fields.cpp
  bool field(const Field& f, Instruction& out);
  bool metadata(std::string_view bytes, Instruction& out);
  bool window(std::string_view bytes, Instruction& out);
  bool convolution(std::string_view bytes, Instruction& out);
  bool slice(std::string_view bytes, Instruction& out);
  bool padding(std::string_view bytes, Instruction& out);
  bool dot(std::string_view bytes, Instruction& out);
  bool gather(std::string_view bytes, Instruction& out);
  bool scatter(std::string_view bytes, Instruction& out);
  bool precision(std::string_view bytes, Instruction& out);
  bool triangular(std::string_view bytes, Instruction& out);
  bool pair(std::string_view bytes, Instruction& out);
  bool group(std::string_view bytes, ReplicaGroups& out);
  bool device_list(std::string_view bytes, ReplicaGroups& out);
  bool iota_groups(std::string_view bytes, ReplicaGroups& out);
  bool mesh_groups(std::string_view bytes, ReplicaGroups& out);
  // proto_literal.cpp
  bool shape(std::string_view bytes, Type& out, int depth);
  bool layout(std::string_view bytes, Type& out);
  bool literal(std::string_view bytes, Instruction& out);

  const char* begin_;
  Module module_;
  Diagnostic error_;
  bool failed_ = false;
  SourceMap sources_;
  ExpansionBudget budget_;
  std::unordered_map<int64_t, uint32_t> computations_;  // id -> index
};

}  // namespace shardproof::hlo
