// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A protocol buffer message as a tree of named fields, the same for text and bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace shardproof::graphdef {

// Thrown inside this library only; the readers turn it into a Result.
struct Fail {
  Diagnostic diagnostic;
};

struct Message;

struct Field {
  std::string_view name;  // text: into the text; bytes: static
  enum class Kind : uint8_t { Message, String, Word, Number } kind = Kind::Word;
  std::string text;  // String: the bytes; Word, Number: as written
  std::unique_ptr<graphdef::Message> message;
  size_t offset = 0;  // where it stands
};

struct Message {
  std::vector<Field> fields;
  const Field* find(std::string_view name) const {
    for (const Field& f : fields)
      if (f.name == name) return &f;
    return nullptr;
  }
};

constexpr int kMaxDepth = 64;  // messages in messages

Message parse_text_proto(std::string_view text, const std::string& path);
Message parse_graph_wire(std::string_view bytes, const std::string& path);  // with the schema of GraphDef

}  // namespace shardproof::graphdef
