// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The arguments of FX readable text: names, constants, lists, tuples, dictionaries, nested calls and symbolic integer expressions.
//
// Brackets are kept on an explicit stack, and nest at most kMaxDepth deep, so that neither reading nor freeing a tree of arguments can
// overflow the call stack.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "frontend/fx/cursor.h"
#include "frontend/fx/module.h"

namespace shardproof::fx {

// Names that an argument can refer to. Views into the text.
struct Names {
  std::unordered_set<std::string_view> values;  // of the graph that is being read
  std::unordered_set<std::string> symbols;      // symbolic sizes met in annotations
  bool any_symbol = false;                      // every other identifier is a symbol too
  bool is_symbol(std::string_view name) const;
  void add_symbols(std::string_view size);  // those of an annotation's size, such as "2*s0 + 1"
};

class ExpressionReader {
 public:
  static constexpr size_t kMaxDepth = 64;

  ExpressionReader(Cursor& cursor, const Names& names) : cursor_(cursor), names_(names) {}

  // One argument. With `operators`, "a + 1" is one argument, a Symbol; without, the reader stops before the operator.
  bool argument(Arg& out, bool operators);
  // At '(': the arguments of a call to `callee`.
  bool call(Arg& out, std::string callee);
  // At a quote.
  bool string(std::string& out);
  // Is a binary operator of Python next? Gives its length (">=": 2) or 0.
  size_t binary_operator() const;

 private:
  struct Frame {
    Arg arg;
    char close = 0;
    size_t start = 0;
    bool comma = false;
    bool has_key = false;  // a keyword of a call is waiting for its value
    std::string key;
  };
  enum class Step { Operand, Opened, Keyword, Failed };

  bool run(Arg& out, bool operators);
  Step operand(Arg& out, size_t start);
  Step word(Arg& out, size_t start);
  bool number(Arg& out);
  bool symbol(Arg& out, size_t start);
  bool angle(Arg& out);
  bool open(Arg::Kind kind, char close, size_t start, std::string callee);
  bool deliver(Arg&& arg);  // into the innermost open bracket
  void skip_inside();       // blanks, and within brackets line ends and comments
  bool close_top(Arg& out, size_t& start);

  Cursor& cursor_;
  const Names& names_;
  std::vector<Frame> frames_;
};

}  // namespace shardproof::fx
