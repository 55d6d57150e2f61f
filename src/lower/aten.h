// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Inside of lower_fx: values of an FX program, the table of operators, and what a lowering sees of a call.
//
// A row of the table is an operator's name, its parameters as PyTorch's schema names them (with defaults), and a function Call& -> Value.
// The driver binds arguments to parameters (an argument that no parameter takes makes the operator unsupported: nothing is ignored in
// silence), calls the function and compares the result with the program's own annotation. A function throws Unsupported or Malformed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/fx/module.h"
#include "frontend/program.h"
#include "ir/build.h"
#include "lower/aten_memory.h"

namespace shardproof::lower::aten {

using ir::DType;
using ir::Fn;
using ir::Literal;
using ir::NodeId;
using ir::Shape;
using Ints = std::vector<int64_t>;
using Nodes = std::vector<NodeId>;

struct Value {
  enum class Kind : uint8_t {
    None,
    Bool,
    Int,
    Float,
    String,
    Tensor,
    List,
    Word,      // torch.float32 and other names that stand for themselves
    Object,    // a process group, mesh, submodule or other thing without a tensor: text = attribute or placeholder
    Constant,  // an attribute whose value we have not asked for yet: its type comes from its first use. text = attribute, i = its graph
    Symbol,    // a symbolic integer: text
    Unknown    // a tensor of unknown shape: text = why
  } kind = Kind::None;
  int64_t i = 0;
  double d = 0;
  std::string text;
  std::vector<Value> items;
  TensorId tensor = 0;

  static Value integer(int64_t v) {
    Value x;
    x.kind = Kind::Int;
    x.i = v;
    return x;
  }
  static Value boolean(bool v) {
    Value x;
    x.kind = Kind::Bool;
    x.i = v;
    return x;
  }
  static Value real(double v) {
    Value x;
    x.kind = Kind::Float;
    x.d = v;
    return x;
  }
  static Value of(TensorId t) {
    Value x;
    x.kind = Kind::Tensor;
    x.tensor = t;
    return x;
  }
  static Value list(std::vector<Value> v) {
    Value x;
    x.kind = Kind::List;
    x.items = std::move(v);
    return x;
  }
  static Value named(Kind k, std::string t) {
    Value x;
    x.kind = k;
    x.text = std::move(t);
    return x;
  }
  bool is(Kind k) const { return kind == k; }
  bool number() const { return kind == Kind::Bool || kind == Kind::Int || kind == Kind::Float; }
};

class Call;
struct OpRow {
  const char* name;
  const char* params;  // "self other alpha=1"; a `!` after a name: the operator writes to it
  Value (*fn)(Call&);
  Fn tag = Fn::None;  // what distinguishes operators that share a function
  Fn tag2 = Fn::None;
};
using Rows = std::span<const OpRow>;
// One list of rows per file.
Rows view_rows(), factory_rows(), pointwise_rows(), activation_rows(), reduce_rows(), matmul_rows(), norm_rows(), loss_rows(),
    attention_rows(), convolution_rows(), pool_rows(), index_rows(), scatter_rows(), sort_rows(), random_rows(), collective_rows(),
    complex_rows(), optimizer_rows(), misc_rows(), compose_rows(), flex_rows();
const OpRow* find_op(std::string_view name);   // nullptr if there is none
std::vector<const OpRow*> all_ops();           // sorted by name
std::string_view family_of(const OpRow* row);  // for docs/coverage.md

struct Param {
  std::string name;
  bool written = false, has_default = false;
  Value fallback;
};
std::vector<Param> parse_params(std::string_view params);

// A tensor or a Python number, as operand of a pointwise operator.
struct Operand {
  bool scalar = false;
  Literal lit;
  NodeId node = ir::kNoNode;
};
DType result_type(const ir::Builder& b, std::span<const Operand> operands);  // PyTorch's promotion
DType promote(DType a, DType b);
std::optional<DType> dtype_word(std::string_view word);  // "torch.float32"
Shape broadcast_shapes(const Shape& a, const Shape& b);  // throws Malformed

class Lowering;

class Call {
 public:
  Call(Lowering& lowering, const OpRow& row, std::vector<Value> values, const fx::Value* site);
  Lowering& l;
  ir::Builder& b;
  Memory& m;
  const OpRow& row;
  std::vector<Value> args;  // one per parameter
  const fx::Value* site;    // null inside the definition of a kernel

  bool has(size_t k) const { return !args[k].is(Value::Kind::None); }
  NodeId t(size_t k) { return node(args[k]); }  // a tensor
  std::optional<NodeId> opt(size_t k) { return has(k) ? std::optional(t(k)) : std::nullopt; }
  NodeId node(const Value& v);
  Nodes ts(size_t k);  // a list of tensors
  Operand operand(size_t k);
  int64_t i(size_t k) { return integer(args[k]); }
  int64_t integer(const Value& v);
  bool flag(size_t k);
  double f(size_t k);
  Literal lit(size_t k);  // a number
  Ints ints(size_t k);    // a list of integers; one integer counts as a list
  std::string str(size_t k);
  DType dtype(size_t k, DType fallback);
  int64_t rank(size_t k) { return b.rank(t(k)); }
  int64_t dim(size_t k, int64_t rank);  // a dimension of a tensor that has some
  int64_t wrap(int64_t d, int64_t rank) const;
  Ints dims(size_t k, int64_t rank);                  // sorted; None or [] = all
  Shape shape(NodeId x) const { return b.shape(x); }  // a copy: nodes move when the graph grows

  Value out(NodeId x) { return Value::of(m.fresh(x)); }
  Value outs(const Nodes& xs);
  Value view(size_t k, std::vector<ViewStep> steps);  // a view of argument k
  // What the program says about result k of this call (k = 0 also: the single result); dtype and shape known and concrete, else nullptr.
  const fx::TensorType* annotated(size_t k) const;

  // --- arithmetic on nodes, broadcasting like PyTorch; operands have one type (comparisons, select: as said)
  NodeId map(Fn fn, Nodes xs, DType t);
  NodeId map(Fn fn, Nodes xs) { return map(fn, xs, b.dtype(xs[0])); }
  NodeId num(double v, DType t);  // a literal as Python floats are; integers exactly
  NodeId num(int64_t v, DType t) { return b.constant(Literal::integer(v), t); }
  NodeId num(int v, DType t) { return num(static_cast<int64_t>(v), t); }
  NodeId lit(const Literal& v, DType t) { return b.constant(v, t); }
  NodeId add(NodeId x, NodeId y) { return map(Fn::Add, {x, y}); }
  NodeId sub(NodeId x, NodeId y) { return map(Fn::Sub, {x, y}); }
  NodeId mul(NodeId x, NodeId y) { return map(Fn::Mul, {x, y}); }
  NodeId mul3(NodeId x, NodeId y, NodeId z) { return map(Fn::Mul, {x, y, z}); }
  NodeId div(NodeId x, NodeId y) { return map(Fn::Div, {x, y}); }
  NodeId un(Fn fn, NodeId x) { return b.unary(fn, x); }
  NodeId compare(Fn fn, NodeId x, NodeId y) { return map(fn, {x, y}, DType::Bool); }
  NodeId where(NodeId c, NodeId x, NodeId y) { return map(Fn::Select, {c, x, y}, b.dtype(x)); }
  NodeId to(NodeId x, DType t);             // cast; to Bool: x != 0
  NodeId expand(NodeId x, const Shape& s);  // broadcast_trailing, checked
  NodeId unsqueeze(NodeId x, int64_t dim);
  NodeId sum(NodeId x, const Ints& dims, bool keepdim) { return b.reduce(Fn::Add, x, dims, keepdim); }
  NodeId mean(NodeId x, const Ints& dims, bool keepdim);
  NodeId full_like(NodeId x, const Literal& v) { return b.constant(v, b.dtype(x), b.shape(x)); }
  NodeId mm(NodeId x, NodeId y);   // [m,k] [k,n]
  NodeId bmm(NodeId x, NodeId y);  // [..,m,k] [..,k,n], equal batch dims
  NodeId operand_node(const Operand& o, DType t);
  DType compute_type(DType t) const { return t; }
};

// State of one lower_fx.
class Kernels;
class Lowering {
 public:
  Lowering(const fx::Module& module, const frontend::ConstantSource& constants, const shardproof::lower::aten::Kernels& kernels);
  Result<frontend::Program> run();

  // --- for operators
  frontend::Program program;
  ir::Builder b{program.graph};
  Memory m{b};
  int64_t draws = 0;  // random draws so far
  const frontend::ConstantSource& constants;
  void note(const std::string& text);  // once each
  Value call(std::string_view op, std::vector<Value> positional, const fx::Value* site = nullptr);
  Value resolve_constant(const Value& attribute, const fx::TensorType* type);
  ir::GroupRef group(const Value& v);
  // The results of a submodule of this graph, given arguments of other shapes than it was written for; refused unless `allowed` holds
  // for each of its operators.
  Value inline_elementwise(const std::string& name, std::vector<Value> args, bool (*allowed)(const fx::Value&));
  // Two real parts of a complex node.
  std::pair<NodeId, NodeId> parts(NodeId x);
  NodeId complex_from(NodeId re, NodeId im);

 private:
  friend class Call;
  struct Scope {  // one graph: the main one, or a submodule that is inlined
    const fx::Graph* graph = nullptr;
    std::unordered_map<std::string, Value> env;
    std::unordered_map<std::string, std::vector<const fx::Value*>> getitems;
    bool checked = true;  // compare results with annotations
    int64_t index = 0;    // in graphs_
  };
  std::optional<Diagnostic> run_graph(Scope& scope);
  std::optional<Diagnostic> step(Scope& scope, const fx::Value& v);
  Value evaluate(Scope& scope, const fx::Value& v);
  Value evaluate_call(Scope& scope, const fx::Value& v);
  Value higher_order(Scope& scope, const fx::Value& v);
  Value auto_functionalized(Scope& scope, const fx::Value& v, bool v2);
  const fx::Graph* find_submodule(const Scope& scope, const std::string& name) const;
  Value inline_graph(Scope& scope, const std::string& name, std::vector<Value> args, bool checked);
  Value builtin(Scope& scope, const fx::Value& v);
  Value bound_call(const OpRow& row, std::vector<Value> positional, std::vector<std::pair<std::string, Value>> keywords,
                   const fx::Value* site);
  Value in_place(std::string_view name, std::string_view functional, std::vector<Value>& positional,
                 std::vector<std::pair<std::string, Value>>& keywords, const fx::Value* site);
  Value foreach_op(std::string_view name, std::vector<Value>& positional, std::vector<std::pair<std::string, Value>>& keywords,
                   const fx::Value* site, bool& known);
  Value dispatch(std::string_view name, std::vector<Value> positional, std::vector<std::pair<std::string, Value>> keywords,
                 const fx::Value* site);
  Value kernel_call(const struct KernelDef& kernel, std::vector<Value> positional, std::vector<std::pair<std::string, Value>> keywords,
                    const fx::Value* site, std::vector<TensorId>* written);
  void note_unwaited(const fx::Graph& graph);
  NodeId unknown(DType dtype, const Shape& shape);
  Value opaque_value(Scope& scope, const fx::Value& v, const std::string& reason);
  Value argument(Scope& scope, const fx::Arg& a);
  std::string canonical(const Value& v, bool with_tensors) const;
  std::optional<Diagnostic> check(const fx::Value& v, const Value& result) const;
  void placeholder(Scope& scope, const fx::Value& v);
  void finish(Scope& scope);

  const fx::Module& module_;
  const Kernels& kernels_;
  std::vector<std::string> notes_seen_;
  std::vector<std::pair<size_t, TensorId>> input_tensors_;  // index in program.inputs, tensor
  std::unordered_map<std::string, Value> constants_seen_;
  std::unordered_map<NodeId, std::pair<NodeId, NodeId>> parts_;
  std::vector<std::pair<const fx::Graph*, std::string>>
      graphs_;              // graphs seen, and what precedes their attributes' names: "" or "submod_1."
  Scope* scope_ = nullptr;  // the graph being lowered
  int depth_ = 0;
  friend struct KernelRun;
};

}  // namespace shardproof::lower::aten
