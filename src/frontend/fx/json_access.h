// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Access to untrusted JSON without exceptions: the first error is kept, with the path to the place ("graph.nodes[3].inputs[0]").
// Only for .cpp files of this directory, as it includes nlohmann/json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "frontend/fx/module.h"

namespace shardproof::fx {

using Json = nlohmann::json;

// Parses; an error has line and column.
Result<Json> parse_json(std::string_view text, const std::string& path);

class JsonAccess {
 public:
  explicit JsonAccess(std::string path) : path_(std::move(path)) {}

  // A member of an object; nullptr if `value` is no object or the member is absent or null.
  static const Json* get(const Json& value, const char* key);
  // The one member of a union object that is not null; all null (old files) means as_none. False if there are several.
  bool pick(const Json& value, const std::string& where, std::string_view& key, const Json*& member);

  bool string(const Json& value, const std::string& where, std::string& out);
  bool integer(const Json& value, const std::string& where, int64_t& out);
  bool real(const Json& value, const std::string& where, double& out);  // also "Infinity", "-Infinity", "NaN"
  bool boolean(const Json& value, const std::string& where, int64_t& out);
  bool array(const Json& value, const std::string& where);
  bool object(const Json& value, const std::string& where);

  bool fail(const std::string& where, const std::string& message, const char* code = "SP220");
  bool failed() const { return !error_.code.empty(); }
  const Diagnostic& error() const { return error_; }

  // A size of the schema that is an expression, in the notation of FX text. Remembers what the example had in place of a symbol.
  std::string symbolic(const std::string& expression, const Json& value);
  std::vector<std::pair<std::string, int64_t>> hints;

 private:
  std::string path_;
  Diagnostic error_;
};

// TensorMeta of the torch.export schema: element type and sizes. False with an error if it is malformed.
bool read_tensor_meta(JsonAccess& access, const Json& meta, const std::string& where, TensorType& type);
// A symbolic expression as sympy's srepr ("Add(Symbol('u0', integer=True), Integer(1))") in the notation of FX text ("u0 + 1"); other
// texts unchanged.
std::string readable_expression(std::string_view text);
// torch's ScalarType as a number; nullopt if unknown. Types without an equal in the core IR give Invalid.
std::optional<ir::DType> dtype_of_scalar_type(int64_t scalar_type);

}  // namespace shardproof::fx
