// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The bytes of a GraphDef, by a table of its messages. Unknown fields are skipped, as protocol buffers ask.
#include <bit>
#include <cstring>

#include "fmt/format.h"
#include "frontend/graphdef/fields.h"

namespace shardproof::graphdef {
namespace {

enum class Type : uint8_t { Message, String, Int, Bool, Float, Double };
struct Entry {
  int number;
  const char* name;
  Type type;
  int message;
};  // message: index into kSchema

enum : int {
  kGraph,
  kNode,
  kAttrEntry,
  kAttr,
  kList,
  kFunc,
  kShape,
  kDim,
  kTensor,
  kLibrary,
  kFunction,
  kSignature,
  kArg,
  kRetEntry,
  kMessages
};

constexpr Entry kGraphFields[] = {{1, "node", Type::Message, kNode}, {2, "library", Type::Message, kLibrary}, {0, nullptr, Type::Int, 0}};
constexpr Entry kNodeFields[] = {{1, "name", Type::String, 0},           {2, "op", Type::String, 0},
                                 {3, "input", Type::String, 0},          {4, "device", Type::String, 0},
                                 {5, "attr", Type::Message, kAttrEntry}, {0, nullptr, Type::Int, 0}};
constexpr Entry kAttrEntryFields[] = {{1, "key", Type::String, 0}, {2, "value", Type::Message, kAttr}, {0, nullptr, Type::Int, 0}};
constexpr Entry kAttrFields[] = {{1, "list", Type::Message, kList},
                                 {2, "s", Type::String, 0},
                                 {3, "i", Type::Int, 0},
                                 {4, "f", Type::Float, 0},
                                 {5, "b", Type::Bool, 0},
                                 {6, "type", Type::Int, 0},
                                 {7, "shape", Type::Message, kShape},
                                 {8, "tensor", Type::Message, kTensor},
                                 {9, "placeholder", Type::String, 0},
                                 {10, "func", Type::Message, kFunc},
                                 {0, nullptr, Type::Int, 0}};
constexpr Entry kListFields[] = {{2, "s", Type::String, 0},
                                 {3, "i", Type::Int, 0},
                                 {4, "f", Type::Float, 0},
                                 {5, "b", Type::Bool, 0},
                                 {6, "type", Type::Int, 0},
                                 {7, "shape", Type::Message, kShape},
                                 {8, "tensor", Type::Message, kTensor},
                                 {9, "func", Type::Message, kFunc},
                                 {0, nullptr, Type::Int, 0}};
constexpr Entry kFuncFields[] = {{1, "name", Type::String, 0}, {2, "attr", Type::Message, kAttrEntry}, {0, nullptr, Type::Int, 0}};
constexpr Entry kShapeFields[] = {{2, "dim", Type::Message, kDim}, {3, "unknown_rank", Type::Bool, 0}, {0, nullptr, Type::Int, 0}};
constexpr Entry kDimFields[] = {{1, "size", Type::Int, 0}, {2, "name", Type::String, 0}, {0, nullptr, Type::Int, 0}};
constexpr Entry kTensorFields[] = {{1, "dtype", Type::Int, 0},
                                   {2, "tensor_shape", Type::Message, kShape},
                                   {4, "tensor_content", Type::String, 0},
                                   {5, "float_val", Type::Float, 0},
                                   {6, "double_val", Type::Double, 0},
                                   {7, "int_val", Type::Int, 0},
                                   {8, "string_val", Type::String, 0},
                                   {10, "int64_val", Type::Int, 0},
                                   {11, "bool_val", Type::Bool, 0},
                                   {13, "half_val", Type::Int, 0},
                                   {16, "uint32_val", Type::Int, 0},
                                   {17, "uint64_val", Type::Int, 0},
                                   {0, nullptr, Type::Int, 0}};
constexpr Entry kLibraryFields[] = {{1, "function", Type::Message, kFunction}, {0, nullptr, Type::Int, 0}};
constexpr Entry kFunctionFields[] = {{1, "signature", Type::Message, kSignature},
                                     {3, "node_def", Type::Message, kNode},
                                     {4, "ret", Type::Message, kRetEntry},
                                     {0, nullptr, Type::Int, 0}};
constexpr Entry kSignatureFields[] = {{1, "name", Type::String, 0},
                                      {2, "input_arg", Type::Message, kArg},
                                      {3, "output_arg", Type::Message, kArg},
                                      {0, nullptr, Type::Int, 0}};
constexpr Entry kArgFields[] = {
    {1, "name", Type::String, 0}, {3, "type", Type::Int, 0}, {4, "type_attr", Type::String, 0}, {0, nullptr, Type::Int, 0}};
constexpr Entry kRetEntryFields[] = {{1, "key", Type::String, 0}, {2, "value", Type::String, 0}, {0, nullptr, Type::Int, 0}};
constexpr const Entry* kSchema[kMessages] = {kGraphFields,    kNodeFields,      kAttrEntryFields, kAttrFields,    kListFields,
                                             kFuncFields,     kShapeFields,     kDimFields,       kTensorFields,  kLibraryFields,
                                             kFunctionFields, kSignatureFields, kArgFields,       kRetEntryFields};

class WireParser {
 public:
  WireParser(std::string_view bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  void message(int schema, size_t at, size_t end, int depth, Message* out) {
    if (depth > kMaxDepth) fail(at, fmt::format("messages nest deeper than {} levels", kMaxDepth));
    while (at < end) {
      size_t start = at;
      uint64_t tag = varint(&at, end);
      int wire = static_cast<int>(tag & 7);
      const Entry* entry = kSchema[schema];
      while (entry->name && static_cast<uint64_t>(entry->number) != tag >> 3) ++entry;
      uint64_t value = 0;
      size_t length = 0;
      switch (wire) {
        case 0: value = varint(&at, end); break;
        case 1: value = fixed(&at, end, 8); break;
        case 5: value = fixed(&at, end, 4); break;
        case 2: {
          uint64_t n = varint(&at, end);
          if (n > end - at) fail(start, "a field is longer than its message: the file is cut off or no GraphDef");
          length = static_cast<size_t>(n);
          break;
        }
        default: fail(start, fmt::format("wire type {} is not used by GraphDef: the file is cut off or no GraphDef", wire));
      }
      if (!entry->name) {
        at += length;
        continue;
      }
      if (entry->type == Type::Message || entry->type == Type::String) {
        if (wire != 2) fail(start, fmt::format("field '{}' has another wire type than GraphDef's", entry->name));
        Field field;
        field.name = entry->name;
        field.offset = start;
        if (entry->type == Type::Message) {
          field.kind = Field::Kind::Message;
          field.message = std::make_unique<Message>();
          message(entry->message, at, at + length, depth + 1, field.message.get());
        } else {
          field.kind = Field::Kind::String;
          field.text = std::string(bytes_.substr(at, length));
        }
        out->fields.push_back(std::move(field));
      } else if (wire == 2) {  // packed
        size_t stop = at + length;
        size_t k = at;
        while (k < stop) {
          uint64_t v = entry->type == Type::Float    ? fixed(&k, stop, 4)
                       : entry->type == Type::Double ? fixed(&k, stop, 8)
                                                     : varint(&k, stop);
          number(*entry, v, start, out);
        }
      } else {
        int expected = entry->type == Type::Float ? 5 : entry->type == Type::Double ? 1 : 0;
        if (wire != expected) fail(start, fmt::format("field '{}' has another wire type than GraphDef's", entry->name));
        number(*entry, value, start, out);
      }
      at += length;
    }
  }

 private:
  [[noreturn]] void fail(size_t at, std::string message) {
    throw Fail{Diagnostic{"SP250", fmt::format("byte {}: {}", at, message), path_, 0, 0}};
  }

  uint64_t varint(size_t* at, size_t end) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (*at >= end) fail(*at, "a number is cut off");
      uint8_t byte = static_cast<uint8_t>(bytes_[(*at)++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    fail(*at, "a number has more than ten bytes");
  }

  uint64_t fixed(size_t* at, size_t end, size_t size) {
    if (end - *at < size) fail(*at, "a number is cut off");
    uint64_t value = 0;
    for (size_t k = 0; k < size; ++k) value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes_[*at + k])) << (8 * k);
    *at += size;
    return value;
  }

  void number(const Entry& entry, uint64_t value, size_t offset, Message* out) {
    Field field;
    field.name = entry.name;
    field.offset = offset;
    field.kind = Field::Kind::Number;
    switch (entry.type) {
      case Type::Bool: field.kind = Field::Kind::Word, field.text = value ? "true" : "false"; break;
      case Type::Float: field.text = fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(value))); break;
      case Type::Double: field.text = fmt::format("{}", std::bit_cast<double>(value)); break;
      default: field.text = fmt::format("{}", static_cast<int64_t>(value)); break;
    }
    out->fields.push_back(std::move(field));
  }

  std::string_view bytes_;
  const std::string& path_;
};

}  // namespace

Message parse_graph_wire(std::string_view bytes, const std::string& path) {
  Message root;
  WireParser(bytes, path).message(kGraph, 0, bytes.size(), 0, &root);
  return root;
}

}  // namespace shardproof::graphdef
