// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Shared by the files graphdef_*.cpp: the state of a lowering and what one operator sees of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/graphdef/module.h"
#include "ir/build.h"
#include "lower/graphdef.h"

namespace shardproof::lower::gd {

using ir::DType;
using ir::Fn;
using ir::Literal;
using ir::NodeId;
using ir::Shape;
using Ints = std::vector<int64_t>;

// The operator, or this use of it, has no lowering.
struct Unsupported {
  std::string reason;
};

// What flows along an edge: a tensor, or a resource (a variable, a communicator, a token).
struct Value {
  NodeId id = ir::kNoNode;
  int variable = -1;
  int communicator = -1;
  bool none = false;  // carries nothing that is computed: ordering tokens, strings
  Value() = default;
  Value(NodeId node) : id(node) {}  // NOLINT: implicit by design
};
using Values = std::vector<Value>;

struct Variable {
  std::string name;  // of the input
  size_t input = 0;  // index into Program::inputs
  NodeId first = ir::kNoNode, current = ir::kNoNode;
  graphdef::Shape shape;  // as the file states it
};

struct Communicator {
  std::string group;
  int64_t size = 0;
};

class Lowering;

// One operator: its node, its inputs, and ways to ask.
struct Call {
  Lowering& l;
  ir::Builder& b;
  const graphdef::Node& node;
  Values& in;

  size_t count() const { return in.size(); }
  NodeId t(size_t k) const;                              // input k as a tensor
  Shape shape(size_t k) const { return b.shape(t(k)); }  // a copy: new nodes move the old ones
  DType dtype(size_t k) const { return b.dtype(t(k)); }
  int64_t rank(size_t k) const { return b.rank(t(k)); }
  Ints ints(size_t k) const;  // values of an integer input that is known; else Unsupported
  int64_t integer(size_t k) const;
  int64_t axis(size_t k, int64_t rank) const;  // a known axis, wrapped into [0, rank)
  Ints axes(size_t k, int64_t rank) const;
  int64_t attr(const char* name, int64_t missing) const;  // int or bool
  double attr_f(const char* name, double missing) const;
  std::string attr_s(const char* name, const char* missing) const;
  DType attr_t(const char* name, DType missing) const;
  Ints attr_ints(const char* name) const;

  NodeId number(double v, DType t) const;  // a constant of type t
  NodeId zero(DType t) const { return number(0, t); }
  NodeId add(NodeId x, NodeId y) const { return binary(Fn::Add, x, y); }
  NodeId sub(NodeId x, NodeId y) const { return binary(Fn::Sub, x, y); }
  NodeId mul(NodeId x, NodeId y) const { return binary(Fn::Mul, x, y); }
  NodeId div(NodeId x, NodeId y) const { return binary(Fn::Div, x, y); }
  NodeId binary(Fn fn, NodeId x, NodeId y) const;  // with NumPy broadcasting
  NodeId compare(Fn fn, NodeId x, NodeId y) const;
  NodeId select(NodeId c, NodeId x, NodeId y) const;
  NodeId fit(NodeId x, Shape s) const;                  // broadcast to s (by value: see shape)
  Shape joint(std::initializer_list<NodeId> xs) const;  // the broadcast shape
  NodeId list(const Ints& values, DType t) const;       // a vector of integers
};

using Handler = Values (*)(Call&);
using Table = std::unordered_map<std::string_view, Handler>;

class Lowering {
 public:
  Lowering(const graphdef::Module& module, const frontend::ConstantSource& constants, const InputShapes& shapes)
      : module_(module), constants_(constants), shapes_(shapes), b(program_.graph) {}
  Result<frontend::Program> run();

  std::optional<Ints> known(NodeId id);  // values of an integer tensor that no input decides (graphdef_fold.cpp)
  NodeId read(int variable, DType t, const graphdef::Node& node);
  void assign(int variable, NodeId value, const graphdef::Node& node);
  const graphdef::Module& module() const { return module_; }

  std::vector<Communicator> communicators;
  int64_t draws = 0;

 private:
  struct Access {
    uint32_t node;
    bool write;
  };
  struct Frame {
    const graphdef::Body& body;
    const Values& arguments;
    std::vector<Values> results;
    std::map<int, std::vector<Access>> accesses;  // of variables, by node of this body
    uint32_t at = 0;
  };

  void inputs();
  void input(const graphdef::Node& node, const graphdef::Shape& shape, DType t);
  void body(Frame& frame, int depth);
  Values operate(Frame& frame, const graphdef::Node& node, Values in, int depth);
  Values call(Frame& frame, const graphdef::Function& function, const Values& in, int depth);
  Values opaque(const graphdef::Node& node, const Values& in, const std::string& reason);
  void check_order(const Frame& frame);
  void outputs(const Frame& frame);
  void access(int variable, bool write);

  const graphdef::Module& module_;
  const frontend::ConstantSource& constants_;
  const InputShapes& shapes_;
  frontend::Program program_;
  ir::Builder b;
  std::vector<Variable> variables_;
  std::unordered_map<std::string, size_t> input_index_;  // node name -> Program::inputs
  std::unordered_map<std::string, Value> input_values_;  // node name -> its value
  std::unordered_map<NodeId, std::optional<Ints>> folded_;
  std::vector<Frame*> frames_;
  size_t lowered_ = 0;
};

const Table& table();  // all of them
void add_elementwise(Table& table);
void add_shapes(Table& table);
void add_contractions(Table& table);
void add_reductions(Table& table);
void add_indexing(Table& table);
void add_variables(Table& table);
void add_collectives(Table& table);

// x and y multiplied and summed over labels that the result lacks. Labels are small numbers; a label of extent 1 on one side and n on
// the other broadcasts (graphdef_contract.cpp).
NodeId contract_labels(Call& c, NodeId x, Ints x_labels, NodeId y, Ints y_labels, const Ints& out_labels);

NodeId softmax(Call& c, NodeId x);  // over the last dimension
NodeId log_softmax(Call& c, NodeId x);

}  // namespace shardproof::lower::gd
