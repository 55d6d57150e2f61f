// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// HLO text: header, source tables, computations, instructions. See text_reader.h.
//
//   module      := "HloModule" name ("," key "=" value)* tables? computation+
//   tables      := ("FileNames" | "FunctionNames" | "FileLocations" | "StackFrames") (id (string | {key=int ..}))*
//   computation := ["ENTRY"] name ["(" parameters ")" "->" type] "{" instruction+ "}" ["," "execution_thread" "=" string]
//   instruction := ["ROOT"] name "=" type opcode "(" operands ")" ("," key "=" value)*
//   operands    := [type] name ("," ..)*      parameter(3)      constant(literal)
#include "frontend/hlo/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "frontend/hlo/finish.h"

namespace shardproof::hlo {

// ------------------------------------------------------------------ NameTable

void NameTable::clear() {
  entries_.clear();
  if (slots_.size() > 4096) {
    slots_.clear();
  } else {
    std::fill(slots_.begin(), slots_.end(), 0);
  }
}

void NameTable::grow() {
  const size_t size = slots_.empty() ? 64 : slots_.size() * 2;
  slots_.assign(size, 0);
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    const uint64_t hash = std::hash<std::string_view>{}(entries_[i].name);
    size_t k = hash & (size - 1);
    while (slots_[k] != 0) k = (k + 1) & (size - 1);
    slots_[k] = (hash & 0xffffffff00000000u) | (i + 1);
  }
}

uint32_t NameTable::number(std::string_view name) {
  if (entries_.size() * 2 >= slots_.size()) grow();
  const uint64_t hash = std::hash<std::string_view>{}(name);
  const size_t mask = slots_.size() - 1;
  for (size_t k = hash & mask;; k = (k + 1) & mask) {
    if (slots_[k] == 0) {
      entries_.push_back({name, name.data()});
      slots_[k] = (hash & 0xffffffff00000000u) | entries_.size();
      return static_cast<uint32_t>(entries_.size() - 1);
    }
    if (((slots_[k] ^ hash) & 0xffffffff00000000u) != 0) continue;
    const uint32_t i = static_cast<uint32_t>(slots_[k] & 0xffffffffu) - 1;
    if (entries_[i].name == name) return i;
  }
}

// ------------------------------------------------------------------ module

bool TextReader::header() {
  if (!c_.accept(std::string_view("HloModule"))) return c_.expected("'HloModule' and the name of the module");
  std::string_view name;
  if (!c_.name(name, "the name of the module")) return false;
  module_.name = name;
  while (c_.accept(',')) {
    const std::string_view key = c_.word();
    if (key.empty()) return c_.expected("an attribute of the module");
    if (!c_.expect('=', "after attribute", key)) return false;
    if (key == "num_partitions" || key == "replica_count") {
      int64_t& out = key == "num_partitions" ? module_.num_partitions : module_.replica_count;
      c_.skip();
      const char* where = c_.here();
      if (!c_.integer(out, key)) return false;
      if (out < 0 || out > (int64_t{1} << 30)) return c_.fail_at(where, fmt::format("{} must be between 0 and 2^30", key), kLimit);
    } else if (key == "frontend_attributes") {
      if (!frontend_attributes(nullptr)) return false;
    } else if (key == "input_output_alias") {
      // { {1}: (6, {}, must-alias), .. }: output index, parameter, index within the parameter
      if (!c_.expect('{', "that opens input_output_alias")) return false;
      while (!c_.accept('}')) {
        std::vector<int64_t> output, inner;
        int64_t parameter = 0;
        if (!c_.integers(output, "an output index") || !c_.expect(':', "after an output index") || !c_.expect('(', "of an alias") ||
            !c_.integer(parameter, "a parameter number") || !c_.expect(',', "after the parameter number") ||
            !c_.integers(inner, "an index within a parameter")) {
          return false;
        }
        if (c_.accept(',')) {
          std::string kind;
          if (!enumerator(kind)) return false;
        }
        if (!c_.expect(')', "of an alias")) return false;
        if (output.size() <= 1 && inner.empty()) module_.donations.emplace_back(output.empty() ? 0 : output[0], parameter);
        c_.accept(',');
      }
    } else if (key == "spmd_parameters_shardings" || key == "spmd_output_sharding") {
      std::string_view text;
      if (c_.peek() != '{') return c_.expected("a sharding in braces");
      if (!c_.balanced(text)) return false;
      const std::string plain = without_comments(text);
      if (key == "spmd_output_sharding") {
        module_.output_shardings = {{frontend::StatedSharding::Syntax::Hlo, plain}};
      } else {
        for (std::string& leaf : split_tuple_sharding(plain))
          module_.parameter_shardings.push_back({frontend::StatedSharding::Syntax::Hlo, std::move(leaf)});
      }
    } else {
      std::string_view ignored;
      if (!c_.value(ignored)) return false;
    }
  }
  return true;
}

bool TextReader::tables() {
  for (;;) {
    c_.skip();
    const char* start = c_.here();
    const std::string_view word = c_.word();
    const bool is_table = word == "FileNames" || word == "FunctionNames" || word == "FileLocations" || word == "StackFrames";
    const char next = c_.peek();
    if (!is_table || next == '{' || next == '(') {  // a computation
      c_.seek(start);
      return true;
    }
    if (!table(word)) return false;
  }
}

bool TextReader::table(std::string_view which) {
  while (c_.peek() >= '0' && c_.peek() <= '9') {
    int64_t id = 0;
    if (!c_.integer(id, "an id")) return false;
    if (which == "FileNames" || which == "FunctionNames") {
      std::string name;
      if (!c_.text(name, "a name")) return false;
      if (which == "FileNames") sources_.add_file(id, std::move(name));
      continue;
    }
    if (!c_.expect('{', "that opens an entry of", which)) return false;
    SourceMap::Location location;
    int64_t frame_location = 0;
    while (!c_.accept('}')) {
      const std::string_view key = c_.word();
      int64_t v = 0;
      if (key.empty()) return c_.expected(fmt::format("a field of {} or '}}'", which));
      if (!c_.expect('=', "after field", key) || !c_.integer(v, key)) return false;
      if (key == "file_name_id") location.file_id = v;
      if (key == "line") location.line = v;
      if (key == "file_location_id") frame_location = v;
      c_.accept(',');
    }
    if (which == "FileLocations") {
      sources_.add_location(id, location);
    } else {
      sources_.add_frame(id, frame_location);
    }
  }
  return true;
}

// How many lines the body that starts here has, if it is printed the usual way: one instruction a line. Only a hint for memory: bounded,
// and no part of the text is looked at twice.
size_t TextReader::lines_ahead() {
  if (c_.here() < counted_) return 0;
  size_t lines = 0;
  const char* p = c_.here();
  while (lines < 65536) {
    const void* newline = std::memchr(p, '\n', static_cast<size_t>(c_.end() - p));
    p = newline == nullptr ? c_.end() : static_cast<const char*>(newline) + 1;
    if (p == c_.end() || *p == '}') break;
    ++lines;
  }
  counted_ = p;
  return lines;
}

bool TextReader::computation() {
  bool is_entry = false;
  std::string_view name;
  c_.skip();
  const char* where = c_.here();
  if (!c_.name(name, "a computation")) return false;
  if (name == "ENTRY" && c_.peek() != '{' && c_.peek() != '(') {
    is_entry = true;
    c_.skip();
    where = c_.here();
    if (!c_.name(name, "the name of the entry computation")) return false;
  }
  const uint32_t position = static_cast<uint32_t>(module_.computations.size());
  NameTable::Entry& entry = computations_.at(computations_.number(name));
  if (entry.position != UINT32_MAX) return c_.fail_at(where, fmt::format("computation '{}' is defined twice", name), kReference);
  entry.position = position;
  if (is_entry) {
    if (entry_ != UINT32_MAX) return c_.fail_at(where, "a module has one ENTRY computation", kReference);
    entry_ = position;
  }
  Computation& computation = module_.computations.emplace_back();
  computation.name = name;

  if (c_.peek() == '(') {  // the signature repeats what the parameters say
    std::string_view parameters;
    if (!c_.balanced(parameters)) return false;
    if (!c_.accept(std::string_view("->"))) return c_.expected("'->' and the result type");
    Type result;
    if (!type(result)) return false;
  }
  if (!c_.expect('{', "that opens the body of a computation")) return false;

  instructions_.clear();
  computation.instructions.reserve(lines_ahead());
  uint32_t root = UINT32_MAX;
  while (!c_.accept('}')) {
    if (c_.at_end()) return c_.fail_at(where, fmt::format("computation '{}' is never closed", name));
    c_.skip();
    const char* start = c_.here();
    if (c_.word() == "ROOT" && c_.raw() != '=' && c_.peek() != '=') {
      if (root != UINT32_MAX) return c_.fail_at(start, fmt::format("computation '{}' has two ROOT instructions", name), kReference);
      root = static_cast<uint32_t>(computation.instructions.size());
    } else {
      c_.seek(start);
    }
    if (!instruction(computation)) return false;
  }
  if (computation.instructions.empty()) return c_.fail_at(where, fmt::format("computation '{}' is empty", name));
  if (computation.instructions.size() * 2 < computation.instructions.capacity()) computation.instructions.shrink_to_fit();
  computation.root = root != UINT32_MAX ? root : static_cast<uint32_t>(computation.instructions.size() - 1);
  while (c_.accept(',')) {  // execution_thread="..."
    const std::string_view key = c_.word();
    std::string_view ignored;
    if (key.empty()) return c_.expected("an attribute of the computation");
    if (!c_.expect('=', "after attribute", key) || !c_.value(ignored)) return false;
  }

  // Numbers of names -> positions.
  for (const NameTable::Entry& e : instructions_.entries()) {
    if (e.position == UINT32_MAX) {
      return c_.fail_at(e.mention, fmt::format("instruction '{}' is not defined in computation '{}'", e.name, name), kReference);
    }
  }
  for (Instruction& i : computation.instructions) {
    for (uint32_t& o : i.operands) o = instructions_.at(o).position;
  }
  uint32_t at = 0;
  if (std::string error = order(computation, at); !error.empty()) {
    const uint32_t number = instructions_.number(computation.instructions[at].name);
    return c_.fail_at(instructions_.at(number).mention, error, kReference);
  }
  return true;
}

bool TextReader::instruction(Computation& computation) {
  c_.skip();
  const char* where = c_.here();
  std::string_view name;
  if (!c_.name(name, "an instruction or '}'")) return false;
  NameTable::Entry& entry = instructions_.at(instructions_.number(name));
  if (entry.position != UINT32_MAX) return c_.fail_at(where, fmt::format("instruction '{}' is defined twice", name), kReference);
  entry.position = static_cast<uint32_t>(computation.instructions.size());
  Instruction& i = computation.instructions.emplace_back();
  i.name = name;
  i.text_line = c_.line_of(where);
  if (!c_.expect('=', "after the name of an instruction")) return false;
  if (!type(i.type)) return false;
  const std::string_view opcode = c_.word();
  if (opcode.empty()) return c_.expected("an operator");
  i.opcode = opcode;
  if (!c_.expect('(', "after the operator")) return false;
  if (opcode == "parameter") {
    if (!c_.integer(i.parameter_number, "the number of the parameter")) return false;
    if (!c_.expect(')', "after the number of the parameter")) return false;
  } else if (opcode == "constant") {
    if (!constant(i)) return false;
  } else if (!operands(i)) {
    return false;
  }
  return attributes(i);
}

bool TextReader::operands(Instruction& instruction) {
  if (c_.accept(')')) return true;
  do {
    c_.skip();
    // A type may come before the name. It starts with '(' or is a word with '[' right after it; a name never is.
    bool typed = c_.raw() == '(';
    if (!typed && c_.raw() != '%') {
      const char* start = c_.here();
      typed = !c_.word().empty() && c_.raw() == '[';
      c_.seek(start);
    }
    if (typed) {
      Type ignored;
      if (!type(ignored)) return false;
    }
    std::string_view name;
    if (!c_.name(name, "an operand")) return false;
    instruction.operands.push_back(instructions_.number(name));
  } while (c_.accept(','));
  return c_.expect(')', "or ',' after an operand");
}

bool TextReader::resolve_computations() {
  for (const NameTable::Entry& e : computations_.entries()) {
    if (e.position == UINT32_MAX) return c_.fail_at(e.mention, fmt::format("computation '{}' is not defined", e.name), kReference);
  }
  for (Computation& computation : module_.computations) {
    for (Instruction& i : computation.instructions) {
      for (uint32_t& called : i.called) {
        if (called == UINT32_MAX) {  // body= without condition= and the like
          return c_.fail_at(
              c_.here(),
              fmt::format("instruction '{}' (line {}) lacks one of the computations that '{}' calls", i.name, i.text_line, i.opcode),
              kReference);
        }
        called = computations_.at(called).position;
      }
    }
  }
  return true;
}

Result<Module> TextReader::run() {
  if (c_.size() >= (size_t{1} << 31)) return Diagnostic{kLimit, "files of 2 GiB and more are not read", module_.path, 0, 0};
  if (!header() || !tables()) return c_.error();
  while (!c_.at_end()) {
    if (!computation()) return c_.error();
  }
  if (module_.computations.empty()) {
    c_.expected("a computation");
    return c_.error();
  }
  if (!resolve_computations()) return c_.error();
  if (std::string error = check_calls(module_); !error.empty()) return Diagnostic{kReference, error, module_.path, 0, 0};
  module_.entry = entry_ != UINT32_MAX ? entry_ : static_cast<uint32_t>(module_.computations.size() - 1);
  summarize(module_);
  return std::move(module_);
}

Result<Module> read_text(std::string_view text, const std::string& path) { return TextReader(text, path).run(); }

}  // namespace shardproof::hlo
