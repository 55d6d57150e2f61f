// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Parser of MLIR text into a Tree, without MLIR: the generic form of every operator and the pretty forms of func, stablehlo, chlo and sdy.
// It knows the grammar only, not what an operator means. Recursion is bounded: regions, attributes and types nest at most as deep as the
// constants below say, whatever the input.
#pragma once

#include <string_view>

#include "frontend/stablehlo/ast.h"

namespace shardproof::stablehlo {

constexpr int kMaxRegionDepth = 48;
constexpr int kMaxAttrDepth = 32;
constexpr int kMaxTypeDepth = 8;
constexpr int kMaxLocDepth = 200;

class Parser {
 public:
  // `text` and `tree` must outlive the parser. `path` is for messages.
  Parser(std::string_view text, const std::string& path, Tree& tree) : text_(text), path_(path), tree_(tree) {}

  void parse_file();

  // Entry points for pieces of attribute text; `at` and `end` are offsets into the text.
  void seek(size_t at) { pos_ = at; }
  void limit(size_t end) { end_ = end; }
  Attr parse_attr(int depth = 0, bool typed = true);  // typed: numbers and strings may have ": type"
  Attr parse_body(const Attr& opaque);                // #x<key = value, ...> -> Dict
  TypeId parse_type(int depth = 0);

  // --- tokens
  void skip_space();
  bool at_end() {
    skip_space();
    return pos_ >= end();
  }
  char peek() {
    skip_space();
    return pos_ < end() ? text_[pos_] : '\0';
  }
  bool peek_word(std::string_view word);
  bool accept(char c);
  bool accept(std::string_view token);      // punctuation such as "->"
  bool accept_word(std::string_view word);  // a whole identifier
  void expect(char c, const char* where);
  std::string_view identifier(const char* what);  // [A-Za-z_][A-Za-z0-9_$.]*
  std::string_view suffix_id(const char* what);   // after % @ #: letters, digits, $ . _ -
  std::string_view raw_string();                  // "..." without the quotes, still escaped
  std::string string() { return unescape(raw_string()); }
  int64_t integer(const char* what);
  std::string symbol();                              // @name or @"name", with :: parts
  std::string_view balanced(char open, char close);  // from the open bracket on, brackets included
  size_t position() {
    skip_space();
    return pos_;
  }
  std::string_view text() const { return text_; }
  [[noreturn]] void fail(size_t at, std::string message, const char* code = "SP240") const;
  [[noreturn]] void expected(const std::string& what);

  static std::string unescape(std::string_view raw);

 private:
  size_t end() const { return end_ < text_.size() ? end_ : text_.size(); }
  TypeId intern(hlo::Type type, std::string_view spelling);
  hlo::Type parse_type_value(int depth);
  hlo::Type parse_tensor(int depth);
  bool parse_element(hlo::Type* type);
  Attr parse_attr_value(int depth, bool typed);
  Attr number(bool typed);
  Attr dense(int depth);
  Attr array(int depth);
  Attr parse_dict_value(int depth);
  std::vector<TypeId> type_list();         // (T, U)
  std::vector<TypeId> result_type_list();  // T or (T, U)

  // --- locations (locations.cpp)
  LocId parse_loc();  // at "loc("
  LocId parse_loc_body(int depth);
  bool accept_loc(LocId* loc);

  // --- operators (parse_op.cpp, parse_pretty.cpp)
  void parse_alias();
  void parse_resources();
  Op parse_op(int depth);
  void parse_generic(Op& op, int depth);
  void parse_pretty(Op& op, int depth);
  void parse_flexible(Op& op);
  void parse_module(Op& op, int depth);
  void parse_function(Op& op, int depth);
  void parse_while(Op& op, int depth);
  void parse_reduce(Op& op, int depth);
  void parse_manual(Op& op, int depth);
  void parse_mesh(Op& op);
  void parse_dimension_labels(Op& op);
  void parse_types(Op& op);
  Region parse_region(int depth);
  BlockArg parse_block_arg();
  void parse_operands(Op& op);  // %a, %b (maybe none)
  std::string_view operand();
  void attr_dict(Op& op);  // {...}
  void add(Op& op, std::string name, Attr value) { op.attrs.push_back({std::move(name), std::move(value)}); }

  std::string_view text_;
  const std::string& path_;
  Tree& tree_;
  size_t pos_ = 0;
  size_t end_ = static_cast<size_t>(-1);
  std::unordered_map<std::string_view, TypeId> interned_;
  std::unordered_map<std::string_view, TypeId> type_aliases_;
};

// 1-based line and column of an offset.
std::pair<int, int> line_column(std::string_view text, size_t offset);

}  // namespace shardproof::stablehlo
