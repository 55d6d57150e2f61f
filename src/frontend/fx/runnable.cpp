// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// load_args makes one input a line, in the order of the parameters of forward:
//   buf0 = reader.storage(None, 131072, device=device(type='cuda', index=0), dtype_hint=torch.int64)
//   reader.tensor(buf0, (2, 8192), dtype=torch.int64, is_leaf=True)  # primals_1
//   reader.symint(512)  # s0
// The number in symint is only the value of the run that wrote the file.
#include "frontend/fx/runnable.h"

#include <unordered_map>

#include <fmt/format.h>

#include "frontend/fx/annotation.h"
#include "frontend/fx/expression.h"

namespace shardproof::fx {
namespace {

const Arg* keyword(const Arg& call, std::string_view name) {
  for (size_t i = call.positional; i + 1 < call.items.size(); i += 2) {
    if (call.items[i].text == name) return &call.items[i + 1];
  }
  return nullptr;
}

bool tensor_type(const Arg& call, TensorType& type) {
  if (call.positional < 2 || (call.items[1].kind != Arg::Kind::Tuple && call.items[1].kind != Arg::Kind::List)) return false;
  type.dtype = ir::DType::F32;  // what the writer leaves out
  if (const Arg* dtype = keyword(call, "dtype")) {
    constexpr std::string_view kPrefix = "torch.";
    if (dtype->kind != Arg::Kind::Word || dtype->text.compare(0, kPrefix.size(), kPrefix) != 0) return false;
    const auto known = dtype_of_torch_name(std::string_view(dtype->text).substr(kPrefix.size()));
    if (!known) return false;
    type.dtype = *known;
  }
  for (const Arg& size : call.items[1].items) {
    const bool number = size.kind == Arg::Kind::Int && size.i >= 0;
    if (!number && size.kind != Arg::Kind::Symbol) return false;
    type.shape.push_back(number ? size.i : -1);
    type.symbols.push_back(number ? std::string() : size.text);
    type.symbolic = type.symbolic || !number;
  }
  if (!type.symbolic) type.symbols.clear();
  type.known = true;
  return true;
}

}  // namespace

bool RunnableReader::load_args_line(Cursor& cursor) {
  cursor.skip_blanks();
  constexpr std::string_view kReader = "reader.";
  if (!cursor.looking_at(kReader)) {  // a storage, or "u8 = u9 = None" for symbols
    cursor.skip_statement();
    return true;
  }
  const size_t start = cursor.pos();
  Names names;
  names.any_symbol = true;
  ExpressionReader reader(cursor, names);
  Arg call;
  if (!reader.argument(call, false)) return false;
  if (call.kind != Arg::Kind::Call) return cursor.fail_at(start, "expected a call of the reader");
  RunnableInput input;
  if (call.text == "reader.tensor") {
    if (!tensor_type(call, input.type)) return cursor.fail_at(start, "expected reader.tensor(storage, sizes, dtype=torch.TYPE, ...)");
  } else if (call.text == "reader.symint") {
    input.type.known = input.type.is_sym = input.type.symbolic = true;
  }
  cursor.skip_blanks();
  if (cursor.peek() == '#') {
    std::string_view text = cursor.comment();
    size_t end = 0;
    while (end < text.size() && in_identifier(text[end])) ++end;
    input.name = std::string(text.substr(0, end));
  }
  if (input.type.is_sym) input.type.symbols = {input.name.empty() ? fmt::format("input_{}", inputs_.size()) : input.name};
  inputs_.push_back(std::move(input));
  if (!cursor.at_line_end()) return cursor.fail(fmt::format("expected the end of the line, found {}", cursor.found()));
  cursor.skip_line();
  return true;
}

bool RunnableReader::process_groups(Cursor& cursor, std::vector<std::string>& notes) {
  Names names;
  names.any_symbol = true;
  ExpressionReader reader(cursor, names);
  Arg call;
  if (!reader.argument(call, false)) return false;
  if (call.kind == Arg::Kind::Call && call.positional == 1 && call.items[0].kind == Arg::Kind::Dict) {
    const std::vector<Arg>& groups = call.items[0].items;
    for (size_t i = 0; i + 1 < groups.size(); i += 2) {
      int64_t size = -1;
      int64_t rank = -1;
      const std::vector<Arg>& facts = groups[i + 1].items;
      for (size_t k = 0; k + 1 < facts.size(); k += 2) {
        if (facts[k].text == "size") size = facts[k + 1].i;
        if (facts[k].text == "rank") rank = facts[k + 1].i;
      }
      notes.push_back(fmt::format("process group '{}' has {} ranks; this program is its rank {}", groups[i].text, size, rank));
    }
  }
  cursor.skip_statement();
  return true;
}

void RunnableReader::apply(Graph& graph, std::vector<std::string>& notes) const {
  if (inputs_.empty()) return;
  std::unordered_map<std::string_view, const RunnableInput*> by_name;
  for (const RunnableInput& input : inputs_) {
    if (!input.name.empty()) by_name.emplace(input.name, &input);
  }
  size_t position = 0;
  size_t missing = 0;
  for (Value& value : graph.values) {
    if (value.op != Value::Op::Placeholder) break;
    const auto found = by_name.find(value.name);
    const RunnableInput* input = found != by_name.end() ? found->second : position < inputs_.size() ? &inputs_[position] : nullptr;
    ++position;
    if (input == nullptr || (found == by_name.end() && !input->name.empty())) {
      ++missing;
    } else if (!value.type.known) {
      value.type = input->type;
    }
  }
  if (missing > 0) notes.push_back(fmt::format("load_args says nothing of {} inputs", missing));
}

}  // namespace shardproof::fx
