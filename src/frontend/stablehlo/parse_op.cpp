// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Operators, regions, aliases and the file as a whole; the generic form "dialect.op"(...) <{...}> ({...}) {...} : (...) -> ....
#include "fmt/format.h"
#include "frontend/stablehlo/parser.h"

namespace shardproof::stablehlo {

void Parser::parse_file() {
  while (!at_end()) {
    char c = peek();
    if (c == '#' || c == '!') {
      parse_alias();
    } else if (text_.substr(pos_, 3) == "{-#") {
      parse_resources();
    } else {
      Op op = parse_op(0);
      if (op.name == "builtin.module" && op.regions.size() == 1) {
        const Attr* name = op.find("sym_name");
        if (name && tree_.module_name.empty()) tree_.module_name = name->string;
        for (NamedAttr& a : op.attrs) tree_.module_attrs.push_back(std::move(a));
        for (Op& inner : op.regions[0].ops) tree_.ops.push_back(std::move(inner));
      } else {
        tree_.ops.push_back(std::move(op));
      }
    }
  }
}

// #name = attribute | #name = loc(...) | !name = type
void Parser::parse_alias() {
  bool type = text_[pos_++] == '!';
  std::string_view name = suffix_id("an alias name");
  expect('=', "after the alias name");
  if (type) {
    type_aliases_[name] = parse_type();
  } else if (peek_word("loc")) {
    tree_.location_aliases[name] = parse_loc();
  } else {
    tree_.attr_aliases[name] = parse_attr();
  }
}

// {-# dialect_resources: { builtin: { name: "0x...", ... } } #-}: every `name: "0x..."` in it is a blob.
void Parser::parse_resources() {
  size_t start = pos_;
  size_t close = text_.find("#-}", pos_);
  if (close == std::string_view::npos || close >= end()) fail(start, "'{-#' is not closed: expected '#-}' before the end of the file");
  pos_ += 3;
  while (position() < close) {
    char c = text_[pos_];
    if (c == '"') {
      raw_string();
    } else if (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      std::string_view name = suffix_id("a resource name");
      if (accept(':') && peek() == '"') tree_.resources[name] = raw_string();
    } else {
      ++pos_;
    }
  }
  pos_ = close + 3;
}

std::string_view Parser::operand() {
  if (!accept('%')) expected("a value such as %0");
  size_t start = pos_;
  suffix_id("a value name after '%'");
  if (pos_ < end() && text_[pos_] == '#') {
    ++pos_;
    integer("a result number after '#'");
  }
  return text_.substr(start, pos_ - start);
}

void Parser::parse_operands(Op& op) {
  if (peek() != '%') return;
  do {
    op.operands.push_back(operand());
  } while (accept(','));
}

void Parser::attr_dict(Op& op) {
  if (peek() != '{') return;
  Attr dict = parse_attr();
  for (auto& [key, value] : dict.entries) add(op, std::move(key), std::move(value));
}

BlockArg Parser::parse_block_arg() {
  BlockArg arg;
  if (!accept('%')) expected("an argument such as %arg0");
  arg.name = suffix_id("an argument name after '%'");
  expect(':', "after the argument name");
  arg.type = parse_type();
  arg.attrs.kind = Attr::Kind::Dict;
  if (peek() == '{') arg.attrs = parse_attr();
  accept_loc(&arg.loc);
  return arg;
}

Region Parser::parse_region(int depth) {
  if (depth > kMaxRegionDepth) fail(pos_, fmt::format("regions nest deeper than {} levels", kMaxRegionDepth));
  Region region;
  expect('{', "at the start of a region");
  if (accept('^')) {
    suffix_id("a block name after '^'");
    if (accept('(')) {
      if (!accept(')')) {
        do {
          region.args.push_back(parse_block_arg());
        } while (accept(','));
        expect(')', "after the block arguments");
      }
    }
    expect(':', "after the block label");
  }
  while (!accept('}')) {
    if (peek() == '^')
      fail(pos_,
           "a region with several blocks (branches of the cf dialect) is not supported: expected structured control flow (while, if, case)",
           "SP241");
    if (at_end()) expected("'}' at the end of a region");
    region.ops.push_back(parse_op(depth));
  }
  return region;
}

Op Parser::parse_op(int depth) {
  Op op;
  op.offset = static_cast<uint32_t>(position());
  if (peek() == '%') {
    do {
      OpResult result;
      if (!accept('%')) expected("a result name such as %0");
      result.name = suffix_id("a result name after '%'");
      if (accept(':')) {
        result.count = integer("the number of results");
        result.grouped = true;
        if (result.count < 1 || result.count > 1'000'000) fail(op.offset, "expected a number of results from 1 to 1000000");
      }
      op.results.push_back(result);
    } while (accept(','));
    expect('=', "after the results");
  }
  op.offset = static_cast<uint32_t>(position());
  if (peek() == '"') {
    op.name = raw_string();
    if (op.name.empty() || op.name.ends_with('.')) fail(op.offset, "expected an operator with its dialect, such as \"stablehlo.add\"");
    parse_generic(op, depth);
  } else {
    op.name = identifier("an operator such as stablehlo.add or \"stablehlo.add\"");
    parse_pretty(op, depth);
  }
  accept_loc(&op.loc);
  return op;
}

void Parser::parse_generic(Op& op, int depth) {
  expect('(', "before the operands");
  parse_operands(op);
  expect(')', "after the operands");
  if (peek() == '[') fail(pos_, fmt::format("{}: successor blocks are not supported: expected structured control flow", op.name), "SP241");
  if (peek() == '<') {  // properties
    ++pos_;
    if (peek() != '{') expected("'{' of the properties");
    attr_dict(op);
    expect('>', "after the properties");
  }
  if (accept('(')) {
    do {
      op.regions.push_back(parse_region(depth + 1));
    } while (accept(','));
    expect(')', "after the regions");
  }
  attr_dict(op);
  expect(':', "before the types of the operator");
  op.operand_types = type_list();
  if (!accept("->")) expected("'->' before the result types");
  op.result_types = result_type_list();
  op.has_arrow = true;
}

// ": (T, U) -> V" | ": T -> V" | ": T, U"
void Parser::parse_types(Op& op) {
  if (!accept(':')) return;
  if (peek() == '(') {
    op.operand_types = type_list();
  } else {
    do {
      op.operand_types.push_back(parse_type());
    } while (accept(','));
  }
  if (accept("->")) {
    op.has_arrow = true;
    op.result_types = result_type_list();
  }
}

}  // namespace shardproof::stablehlo
