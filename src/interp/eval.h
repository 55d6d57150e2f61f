// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The evaluator: core operators on block tensors, in either number system. Shares nothing with the prover but the IR.
//
// How: run() marks the cone of its targets, then computes node by node in graph order (ids are topological), each once. What cannot be
// computed (budget, an operator that exists only before link) fails for that node and all that read it, with the reason; what is open
// (a random draw, a kernel that nothing is said of, a branch that enclosures do not decide) becomes an undecided element and poisons what
// it reaches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/block_tensor.h"
#include "util/work_clock.h"

namespace shardproof::link {
struct Problem;
}

namespace shardproof::interp {

// How literals that are no short dyadic numbers are read (MANIFEST.md section 4, Literals).
enum class Literals : uint8_t {
  Width,      // an interval of one unit in the last place of their format, to both sides
  Exact,      // as their format rounds them
  Closed,     // the closed form p/q or sqrt(p/q) with the shortest q that fits; else exact
  Perturbed,  // moved by a pseudo-random part of that unit, alike wherever the same literal stands
};

// Which function that obeys its contract a kernel is read as.
enum class Kernels : uint8_t { One, Another, Zero };

// Who wins among equal keys where the operator leaves it open (unstable sorts, argmax).
enum class Ties : uint8_t { Open, First, Last };

struct Config {
  Number number = Number::Interval;  // of floats
  slong bits = 128;                  // Ball
  Literals literals = Literals::Width;
  uint64_t literal_seed = 0;  // Perturbed
  Ties ties = Ties::Open;
  bool points = false;                 // intervals without radii: plain doubles, for blame (never for a verdict)
  int64_t max_blocks = 1 << 24;        // of one tensor
  size_t max_bytes = size_t{1} << 30;  // of all tensors alive
  double max_work = 1e11;              // scalar operations in all
  std::optional<util::WorkClock::time_point> deadline;
  std::shared_ptr<const std::vector<char>> kernels;  // by node: an opaque kernel that is read as a function with its contract
  Kernels functions = Kernels::One;
  // Plain doubles, every literal and tie read in one way: for words and hints, never for a verdict.
  static Config doubles() {
    Config c;
    c.points = true;
    c.literals = Literals::Exact;
    c.ties = Ties::First;
    return c;
  }
};

using Inputs = std::unordered_map<ir::NodeId, Value>;  // floats as intervals of radius 0

// What operator implementations need.
struct Context {
  const ir::Graph& g;
  Config config;
  double work = 0;

  // Counts work before it is done; throws EvalError when the budget or time is used up.
  void spend(double operations);
  // A tensor about to be made.
  void check(const std::vector<Axis>& axes) const;
  Number number_of(ir::DType t) const { return ir::is_float(t) || ir::is_complex(t) ? config.number : Number::Integer; }
  Value poison(ir::DType t, const ir::Shape& shape, State state) const;
  void set_number(Buffer& b, size_t k, Interval x) const;
};
Value make_value(ir::DType t, std::vector<Axis> axes, Buffer data);
std::vector<int64_t> expand(const std::vector<Table>& tables);  // all sums, row-major
// Refines all to common axes (same rank); the values are replaced.
std::vector<Axis> to_common_axes(std::vector<Value>& values);
// out[i] = x[start + i*step], of the given shape
Value slice_of(const Value& x, const std::vector<int64_t>& start, const std::vector<int64_t>& step, const ir::Shape& shape);
Value refine_dim(const Value& x, size_t dim, const Axis& axis);
// The axis of dimensions in a row, and back; both throw EvalError where that takes too many runs.
Axis flatten_axes(const std::vector<Axis>& axes, int64_t max_runs);
std::vector<Axis> unflatten_axis(const Axis& flat, const std::vector<int64_t>& sizes);
int64_t wrap_integer(int64_t v, ir::DType t);

// The value of a literal under the configuration.
void set_literal(const Context& c, Buffer& b, size_t k, const ir::Literal& lit, ir::DType t);
struct ClosedForm {
  int64_t p = 0, q = 0;
  bool root = false;
};
std::optional<ClosedForm> closed_form(double d, ir::DType format);  // the shortest that fits, if it is not the number itself
bool is_simple_literal(double d, ir::DType format);                 // a short dyadic number: exact in every reading
double literal_ulp(double d, ir::DType format);
double round_to_format(double d, ir::DType format);

bool draws_are_constant(const ir::Node& n);  // Random: all draws of its distribution are read as one value (S-6)
Value eval_leaf(Context& c, const ir::Node& n);
Value eval_view(Context& c, const ir::Node& n, const std::vector<const Value*>& in);
Value eval_map(Context& c, const ir::Node& n, const std::vector<const Value*>& in);
Value eval_reduce(Context& c, const ir::Node& n, const std::vector<const Value*>& in);
Value eval_contract(Context& c, const ir::Node& n, const std::vector<const Value*>& in);
Value eval_index(Context& c, const ir::Node& n, const std::vector<const Value*>& in);
Value eval_scan(Context& c, const ir::Node& n, const std::vector<const Value*>& in);
std::vector<Value> eval_sort(Context& c, const ir::Node& n, const std::vector<const Value*>& in);
std::vector<Value> eval_opaque(Context& c, ir::NodeId id, const ir::Node& n, const std::vector<const Value*>& in);
std::shared_ptr<const std::vector<char>> readable_kernels(const link::Problem& problem);  // for Config::kernels

class Evaluator {
 public:
  Evaluator(const ir::Graph& graph, const Inputs& inputs, Config config);
  // With `keep`, all values on the way stay, too; without, each goes when the last that reads it is there.
  void run(const std::vector<ir::NodeId>& targets, bool keep = true);
  const Value* get(ir::NodeId id) const;           // null: not evaluated, or failed
  const std::string& reason(ir::NodeId id) const;  // why it failed
  double work() const { return context_.work; }

 private:
  void step(ir::NodeId id);
  Context context_;
  const Inputs& inputs_;
  std::vector<std::vector<Value>> values_;  // per node; tuples have several
  std::vector<int32_t> failure_;            // index into reasons_, -1: none
  std::vector<std::string> reasons_;
  std::vector<size_t> own_;  // bytes of a node's tensors, but for those that it shares with its operands
  size_t bytes_ = 0;
};

}  // namespace shardproof::interp
