// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// TOML -> Value. toml++ keeps tables sorted by key; the order of the file comes back from the source position of each key.
// No library: this is the only file that uses it. Its assertions are not for the bad input that it reports as errors.
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <algorithm>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "manifest/value.h"

namespace shardproof::manifest {

namespace {

bool convert(const toml::node& node, const std::string& path, Value& out, int depth, Diagnostic& error) {
  const toml::source_region& region = node.source();
  out.line = static_cast<int>(region.begin.line);
  out.column = static_cast<int>(region.begin.column);
  auto fail = [&](std::string message) {
    error = {"SP201", std::move(message), path, out.line, out.column};
    return false;
  };
  if (depth > kMaxDepth) return fail("nested too deeply");
  if (const auto* table = node.as_table()) {
    out.kind = Value::Kind::Object;
    struct Entry {
      const toml::key* key;
      const toml::node* node;
    };
    std::vector<Entry> entries;
    for (auto it = table->cbegin(); it != table->cend(); ++it) entries.push_back({&it->first, &it->second});
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
      const toml::source_position &p = x.key->source().begin, &q = y.key->source().begin;
      return p.line != q.line ? p.line < q.line : p.column < q.column;
    });
    for (const Entry& entry : entries) {
      Value value;
      if (!convert(*entry.node, path, value, depth + 1, error)) return false;
      value.line = static_cast<int>(entry.key->source().begin.line);
      value.column = static_cast<int>(entry.key->source().begin.column);
      out.members.push_back({std::string(entry.key->str()), std::move(value)});
    }
    return true;
  }
  if (const auto* array = node.as_array()) {
    out.kind = Value::Kind::Array;
    for (const toml::node& item : *array) {
      Value value;
      if (!convert(item, path, value, depth + 1, error)) return false;
      out.items.push_back(std::move(value));
    }
    return true;
  }
  if (const auto* text = node.as_string()) {
    out.kind = Value::Kind::String;
    out.s = text->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Value::Kind::Int;
    out.i = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = Value::Kind::Float;
    out.d = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = Value::Kind::Bool;
    out.b = boolean->get();
  } else {
    return fail("dates and times have no meaning in a manifest");
  }
  return true;
}

}  // namespace

Result<Value> read_toml(std::string_view text, const std::string& path) {
  try {
    toml::table table = toml::parse(text, std::string_view(path));
    Value value;
    Diagnostic error;
    if (!convert(table, path, value, 0, error)) return error;
    return value;
  } catch (const toml::parse_error& e) {
    return Diagnostic{"SP201", fmt::format("TOML: {}", e.description()), path, static_cast<int>(e.source().begin.line),
                      static_cast<int>(e.source().begin.column)};
  }
}

}  // namespace shardproof::manifest
