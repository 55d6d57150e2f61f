// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The reader of FX readable text, as a class. Two files: text_statements.cpp reads what stands in the body of a forward function,
// text.cpp everything around it (classes, signatures, fx_graph_runnable's extras) and puts the graphs together.
//
// Python is read line by line, not as a tree: nesting of classes and functions follows from indentation and is kept on a stack.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "frontend/fx/cursor.h"
#include "frontend/fx/expression.h"
#include "frontend/fx/module.h"

namespace shardproof::fx {

// A class of the file, or a forward function outside of any class.
struct GraphText {
  Graph graph;
  int parent = -1;  // index of the class around it
  int64_t indent = 0;
  size_t pos = 0;  // of its name
  bool has_forward = false;
  bool has_return = false;
};

// Reads the statements of one forward function into a Graph.
class BodyReader {
 public:
  BodyReader(Cursor& cursor, std::vector<std::string>& notes) : cursor_(cursor), notes_(notes), expressions_(cursor, names_) {}

  // Behind "def forward": the signature, to the end of its line.
  bool signature(GraphText& out);
  // The statements of a line, and the line end.
  bool line();
  void comment(std::string_view text);
  // The inputs are complete: the first value, the return or the end of the body is reached.
  bool finish();

 private:
  struct Annotated {
    TensorType type;
    std::string descriptor;
    size_t pos = 0;
    int line = 0;
  };

  bool statement();
  bool parameter();
  bool annotation(TensorType& type);
  bool unpack(std::vector<std::string_view> targets, std::vector<size_t> positions);
  bool assign(std::string_view name, size_t name_pos, TensorType type);
  bool right_hand_side(Value& value);
  bool attribute_path(Value& value, Arg operand);
  bool word_value(Value& value, Arg operand, size_t start);
  bool call_value(Value& value, Arg operand, size_t start);
  bool in_place(std::string_view name, size_t name_pos);
  bool rename(std::string_view name, size_t name_pos, TensorType type);
  bool returned();
  bool end_of_statement() const;
  bool define(Value value, size_t name_pos);
  Value placeholder(std::string_view name, TensorType type, std::string descriptor) const;
  std::string_view trailing_comment();

  Cursor& cursor_;
  std::vector<std::string>& notes_;
  Names names_;
  ExpressionReader expressions_;
  GraphText* out_ = nullptr;
  std::unordered_map<std::string_view, size_t> placeholders_;  // indices in values, by name
  bool before_leaves_ = true;                                  // only the signature and bare annotations have been read
  bool pytree_ = false;
  std::unordered_map<std::string_view, Annotated> annotated_;  // bare annotations, by name
  std::vector<std::string_view> annotated_order_;
  std::shared_ptr<const std::string> file_;
  int file_line_ = 0;
  std::unordered_map<std::string_view, std::shared_ptr<const std::string>> files_;
};

}  // namespace shardproof::fx
