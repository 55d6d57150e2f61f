// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A TensorFlow graph as written: GraphDef as text (pbtxt) or bytes (pb), with the functions of its library.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/types.h"
#include "util/result.h"

namespace shardproof::graphdef {

// DT_xxx. References (DT_FLOAT_REF) count as their base.
struct Type {
  enum class Kind : uint8_t { None, Tensor, String, Resource, Variant } kind = Kind::None;
  ir::DType dtype = ir::DType::Invalid;  // Tensor
  std::string float_format;              // exact name of a 4- or 8-bit float type
};

struct Shape {
  bool known = false;  // false: unknown rank, or a dimension is -1
  ir::Shape dims;
};

struct Tensor {
  Type type;
  Shape shape;
  bool known = false;                                      // false: strings, resources, complex numbers
  std::shared_ptr<const std::vector<ir::Literal>> values;  // row-major; one value stands for all
};

struct Attr {
  enum class Kind : uint8_t { None, Int, Float, Bool, String, Type, Shape, Tensor, Func, List } kind = Kind::None;
  int64_t i = 0;  // Int, Bool
  double f = 0;
  std::string s;  // String; Func: the function's name
  graphdef::Type type;
  graphdef::Shape shape;
  std::shared_ptr<const graphdef::Tensor> tensor;
  std::vector<Attr> list;
};

// Result `output` of node `node`; in a function, kArgument stands for argument `output`.
struct Ref {
  static constexpr uint32_t kArgument = 0xffffffffu;
  uint32_t node = 0;
  int output = 0;
};

struct Node {
  std::string name, op, device;
  std::vector<Ref> inputs;
  std::vector<uint32_t> control;  // nodes that run before
  std::map<std::string, Attr> attrs;
  int line = 0;  // in the text, 0 for bytes
  const Attr* find(const std::string& key) const {
    auto it = attrs.find(key);
    return it == attrs.end() ? nullptr : &it->second;
  }
};

// A graph body: of the program or of a function.
struct Body {
  std::vector<Node> nodes;
  std::vector<uint32_t> order;  // nodes, inputs and control inputs first; else as in the file
};

struct Argument {
  std::string name;
  Type type;
};

struct Function {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<std::string> result_names;
  Body body;
  std::vector<Ref> results;
};

struct Module {
  std::string path;
  Body main;
  std::map<std::string, Function> functions;
  std::vector<std::string> notes;
};

// Text or bytes, told apart by content.
Result<Module> read(std::string_view content, const std::string& path);
Result<Module> read_text(std::string_view text, const std::string& path);
Result<Module> read_binary(std::string_view bytes, const std::string& path);

}  // namespace shardproof::graphdef
