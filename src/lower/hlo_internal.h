// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The lowering of XLA programs, shared by the hlo_*.cpp files of this directory (nobody else includes this).
//
// How: the entry computation is walked in order, and every computation that an instruction calls is inlined with its parameters mapped
// to values. A value is a node, a tuple of values, or nothing (a token), so that no tuple reaches the graph. Integer and boolean scalars
// that are constant are folded on the way: loop counters become constants, so that a while loop can be unrolled.
//
// Trouble is told apart by two exceptions that never leave lower_hlo(): Unsupported (the instruction becomes Opaque, with a reason) and
// Refused (the program makes no sense, or is too large: a Diagnostic). Nesting depth, number of nodes and of steps are bounded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/hlo/module.h"
#include "frontend/program.h"
#include "ir/build.h"
#include "util/result.h"

namespace shardproof::lower {

struct Unsupported {
  std::string reason;
};
struct Refused {
  Diagnostic diagnostic;
};

// What an instruction gives.
struct Value {
  ir::NodeId node = ir::kNoNode;  // a tensor; kNoNode: a tuple or a token
  std::shared_ptr<const std::vector<Value>> tuple;
  static Value of(ir::NodeId node) { return {node, nullptr}; }
  static Value of(std::vector<Value> elements) { return {ir::kNoNode, std::make_shared<const std::vector<Value>>(std::move(elements))}; }
};

// What a binary region does to its two operands.
struct Combiner {
  enum class Kind : uint8_t { Fn, Subtract, First, Second } kind = Kind::Fn;  // Subtract: first - second
  ir::Fn fn = ir::Fn::None;
};

// What a region of two (value, index) pairs does.
struct ArgCombiner {
  ir::Fn fn = ir::Fn::Max;
  enum class Tie : uint8_t { LowerIndex, First } tie = Tie::LowerIndex;  // First: the operand on the left
};

// One key of a sort comparator.
struct SortKey {
  size_t operand = 0;
  bool descending = false;
};

// Which part of a global tensor each rank holds, as a table: rank r holds part part[r][d] along dim d; ranks of one class together hold
// one whole copy.
struct Tiling {
  std::vector<int64_t> parts;              // per dim: number of parts
  std::vector<std::vector<int64_t>> part;  // per rank: index of its part per dim
  std::vector<int64_t> copy;               // per rank: class
};
// Parts of `shape` by "{devices=[..]..}", "{replicated}", "{mesh[..], [..]}" (HLO) or "<@mesh, [{"a"}, {}]>" (Shardy; only the axes in
// `manual`, or all if it is null, cut). nullopt with a reason where the text is none of these.
std::optional<Tiling> parse_hlo_tiling(std::string_view text, size_t rank, int64_t ranks, std::string& reason);
std::optional<Tiling> parse_sdy_tiling(std::string_view text, const std::vector<frontend::Mesh>& meshes,
                                       const std::vector<std::string>* manual, size_t rank, std::string& reason);
// Splits "{a, b}" or "[a, b]" or "a, b" at the commas of its top level; brackets and strings are kept whole.
std::vector<std::string> split_top_level(std::string_view text);

// What running a computation does beside giving its value: reads the rank's id or takes part in collectives; messages, draws, I/O.
enum class Effect : uint8_t { None, Communicates, Other };

class HloLowering {
 public:
  HloLowering(const hlo::Module& module, const frontend::ConstantSource& constants, int64_t keep_loops = 0);
  frontend::Program run();  // throws Refused

 private:
  friend struct Coverage;  // coverage.cpp

  // An instruction being lowered, with the values of its operands.
  struct Call {
    const hlo::Instruction& ins;
    std::span<const Value> in;
    const hlo::Computation* parent = nullptr;  // the computation that holds it
  };
  using Handler = Value (HloLowering::*)(const Call&);

  // --- hlo_lower.cpp: driver
  void read_inputs();
  void read_outputs(const Value& root);
  Value evaluate(uint32_t computation, std::span<const Value> arguments);
  Value lower(const hlo::Computation& parent, const hlo::Instruction& ins, std::span<const Value> in);
  const std::vector<bool>& live(uint32_t computation);
  Effect effect(uint32_t computation);  // the strongest one in it or in what it calls
  bool has_effects(uint32_t computation) { return effect(computation) != Effect::None; }
  std::optional<std::string> attribute_text(const hlo::Instruction& ins);  // nullopt: too long to be kept
  std::optional<std::string> computation_text(std::span<const uint32_t> roots);
  Value opaque(const Call& c, const std::string& reason);  // hlo_opaque.cpp
  using Handlers = std::unordered_map<std::string_view, Handler>;
  static const Handlers& handlers();  // by opcode
  static Handler find_handler(std::string_view opcode);
  static std::string normal_opcode(std::string_view opcode);

  // What was made since a mark is taken back.
  struct Mark {
    size_t nodes, unsupported, loops, branches;
    int64_t draws;
  };
  Mark mark() const { return {b.g.nodes.size(), program_.unsupported.size(), program_.loops.size(), program_.branches.size(), draws_}; }
  void rewind(const Mark& to) {
    b.g.nodes.resize(to.nodes);
    program_.unsupported.resize(to.unsupported);
    program_.loops.resize(to.loops);
    program_.branches.resize(to.branches);
    draws_ = to.draws;
  }

  // --- errors, and checked access to what the program says
  [[noreturn]] void refuse(const std::string& code, const std::string& message) const;
  void need(bool condition, const char* what) const {
    if (!condition) malformed(what);
  }
  [[noreturn]] void malformed(const std::string& what) const;
  void need_dims(const std::vector<int64_t>& dims, int64_t rank, const char* what) const;  // in range, distinct
  ir::NodeId node(const Call& c, size_t k) const;                                          // operand k, a tensor
  uint32_t called(const Call& c, size_t k) const;
  const hlo::Computation& computation(uint32_t index) const;
  const hlo::Type& result_type(const Call& c) const;             // an array type
  const hlo::Type* operand_type(const Call& c, size_t k) const;  // as declared, with its layout
  std::vector<ir::NodeId> nodes(const Call& c) const;
  bool matches(const Value& value, const hlo::Type& type) const;

  // --- nodes, with constants folded
  ir::NodeId map(ir::Fn fn, std::vector<ir::NodeId> xs, ir::DType t);
  std::optional<ir::Literal> fold(ir::Fn fn, const std::vector<ir::NodeId>& xs, ir::DType t) const;
  ir::NodeId convert(ir::NodeId x, ir::DType t) { return map(ir::Fn::Convert, {x}, t); }
  ir::NodeId reshape(ir::NodeId x, ir::Shape s);
  bool small_table(ir::NodeId x) const;
  template <typename From>
  ir::NodeId rearranged(ir::NodeId x, ir::Shape s, From from);
  ir::NodeId transpose(ir::NodeId x, std::vector<int64_t> perm);
  ir::NodeId broadcast(ir::NodeId x, ir::Shape s, std::vector<int64_t> dims);  // dims in any order
  ir::NodeId slice(ir::NodeId x, std::vector<int64_t> start, std::vector<int64_t> stop, std::vector<int64_t> step);
  ir::NodeId slice_dim(ir::NodeId x, int64_t dim, int64_t start, int64_t stop);
  ir::NodeId dynamic_slice(ir::NodeId x, std::vector<ir::NodeId> starts, std::vector<int64_t> sizes);
  ir::NodeId dynamic_update(ir::NodeId x, ir::NodeId update, std::vector<ir::NodeId> starts);
  ir::NodeId integer(int64_t v, ir::DType t = ir::DType::I64, ir::Shape s = {}) {
    return b.constant(ir::Literal::integer(v, t), t, std::move(s));
  }
  ir::NodeId clamp(ir::NodeId x, int64_t low, int64_t high);  // integers; the result is i64
  ir::NodeId extreme(bool lowest, ir::DType t);               // neutral element of max (lowest) or min
  ir::NodeId zero(ir::DType t);
  const ir::Literal* literal(ir::NodeId x) const;            // of a Const
  std::optional<int64_t> integer_value(ir::NodeId x) const;  // of a Const of integers or booleans
  bool neutral(ir::Fn fn, ir::NodeId x) const;
  ir::NodeId with_init(ir::Fn fn, ir::NodeId reduced, ir::NodeId init);

  // --- hlo_regions.cpp: what a region computes
  std::optional<Combiner> combiner(uint32_t computation, size_t component = 0, size_t components = 1);
  std::optional<ArgCombiner> arg_combiner(uint32_t computation);
  std::optional<std::vector<SortKey>> sort_keys(uint32_t computation, size_t operands);
  bool selects_first_extreme(uint32_t computation, ir::Fn& fn);  // a select region: ge or le, which keeps the first of equals
  bool order_only(uint32_t computation) const;
  std::vector<uint8_t> order_keys(uint32_t computation) const;
  std::vector<double> order_samples(uint32_t computation, size_t values) const;
  bool order_evaluate(uint32_t computation, const std::vector<uint8_t>& keys, const std::vector<double>& arguments,
                      std::vector<double>& v) const;
  template <typename Check>
  bool order_holds(uint32_t computation, size_t arguments, Check check, const uint32_t* predicate = nullptr) const;
  std::optional<ir::Fn> payload_pick(uint32_t computation, size_t components, const std::vector<std::optional<int64_t>>& inits,
                                     size_t& guard) const;
  ir::Fn need_reduction(const Call& c, uint32_t computation, size_t component = 0, size_t components = 1);

  // --- handlers
  Value elementwise(const Call& c);  // hlo_elementwise.cpp
  Value compare(const Call& c);
  ir::NodeId total_order(ir::Fn fn, ir::NodeId x, ir::NodeId y);
  Value select(const Call& c);
  Value clamp_op(const Call& c);
  Value convert_op(const Call& c);
  Value bitcast_convert(const Call& c);
  Value reduce_precision(const Call& c);
  ir::NodeId float_of_bits(ir::NodeId bits, ir::DType t);
  Value complex_abs(ir::NodeId x);
  std::optional<ir::NodeId> unary_by_name(std::string_view name, std::vector<ir::NodeId> xs);
  Value constant(const Call& c);  // hlo_views.cpp
  Value iota(const Call& c);
  Value broadcast_op(const Call& c);
  Value reshape_op(const Call& c);
  Value transpose_op(const Call& c);
  Value bitcast(const Call& c);
  Value identity(const Call& c);
  Value slice_op(const Call& c);
  Value pad(const Call& c);
  Value concatenate(const Call& c);
  Value reverse(const Call& c);
  Value dynamic_slice_op(const Call& c);
  Value dynamic_update_op(const Call& c);
  Value dot(const Call& c);
  Value dynamic_form(const Call& c);
  Value gather(const Call& c);  // hlo_gather_scatter.cpp
  Value scatter(const Call& c);
  bool within(ir::NodeId x, int64_t low, int64_t high, int& fuel) const;
  std::vector<ir::NodeId> index_components(ir::NodeId indices, int64_t vector_dim, size_t count, ir::Shape& batch);
  Value convolution(const Call& c);  // hlo_conv.cpp
  Value reduce_window(const Call& c);
  Value select_and_scatter(const Call& c);
  ir::NodeId pick_in_windows(ir::NodeId x, const std::vector<hlo::WindowDim>& window, ir::Fn fn, ir::Shape& counts);
  ir::NodeId place_of_pick(ir::NodeId pick, const std::vector<hlo::WindowDim>& window, const ir::Shape& counts, size_t dim);
  std::optional<Value> pick_with_payload(const Call& c, const std::vector<hlo::WindowDim>& window);
  ir::NodeId pad_for_windows(ir::NodeId x, ir::NodeId value, const std::vector<hlo::WindowDim>& window);
  ir::NodeId windows(ir::NodeId x, const std::vector<hlo::WindowDim>& window, std::vector<int64_t>& window_dims);
  Value reduce(const Call& c);  // hlo_reduce.cpp
  std::optional<Value> arg_reduce(const Call& c);
  bool counts_along(ir::NodeId x, int64_t dim) const;
  Value sort(const Call& c);
  Value top_k(const Call& c);
  Value map_op(const Call& c);
  Value rng(const Call& c);
  Value batch_norm(const Call& c);
  Value call(const Call& c);  // hlo_control.cpp
  Value composite(const Call& c);
  Value while_loop(const Call& c);
  std::optional<Value> kept_loop(const Call& c);  // hlo_loops.cpp
  Value conditional(const Call& c);
  Value branch(const Call& c, size_t k, ir::NodeId condition);
  std::vector<char> by_rank(ir::NodeId condition);
  Value choose(ir::NodeId condition, const Value& yes, const Value& no);
  Value tuple(const Call& c);
  Value get_tuple_element(const Call& c);
  Value start(const Call& c);
  Value done(const Call& c);
  Value token(const Call& c);
  Value custom_call(const Call& c);
  Value rank_id(const Call& c);  // hlo_collectives.cpp
  Value all_reduce(const Call& c);
  Value all_gather(const Call& c);
  Value reduce_scatter(const Call& c);
  Value all_to_all(const Call& c);
  Value collective_permute(const Call& c);
  Value collective_broadcast(const Call& c);
  ir::GroupRef group(const hlo::Instruction& ins, bool reduces);
  int64_t group_size(const hlo::Instruction& ins, int64_t whole, int64_t part) const;
  Value manual_computation(const Call& c);  // hlo_manual.cpp
  Value global_to_local(const Call& c);
  Value local_to_global(const Call& c);
  Value full_to_shard(const Call& c);
  Value shard_to_full(const Call& c);
  ir::NodeId enter(ir::NodeId x, const Tiling& tiling, const ir::Shape& local);
  ir::NodeId leave(ir::NodeId x, const Tiling& tiling, const ir::Shape& global);
  Tiling sdy_tiling(const std::string& text, const std::vector<std::string>& manual_axes, size_t rank);
  Tiling keep_cut_dims(const Tiling& tiling, const ir::Shape& global, const ir::Shape& local) const;

  const hlo::Module& m;
  const frontend::ConstantSource& constants_;
  frontend::Program program_;
  ir::Builder b;
  const hlo::Instruction* current_ = nullptr;
  int depth_ = 0;
  bool mapped_ = false;  // inside a region that is applied to whole tensors: declared shapes do not hold
  bool manual_seen_ = false, collective_seen_ = false;
  bool in_branch_ = false;  // in a branch that communicates
  int64_t steps_ = 0, draws_ = 0;
  int64_t keep_loops_ = 0;  // loops of more rounds are kept; 0: none
  std::map<uint32_t, std::vector<bool>> live_;
  std::map<uint32_t, Effect> effects_;
};

// Calls `visit` with every array type of `type`, or every leaf of `value`, in order; nothing recurses on the nesting that the input chose.
void for_each_leaf(const hlo::Type& type, const std::function<void(const hlo::Type&)>& visit);
void for_each_leaf(const Value& value, const std::function<void(const Value&)>& visit);
std::string type_text(const hlo::Type& type);
// The value of attribute `key` among those kept verbatim, or "".
std::string_view other_attribute(const hlo::Instruction& ins, std::string_view key);
// Opcodes that are collectives or read the rank's id; all of these, messages, draws and I/O.
bool is_collective(std::string_view opcode);
Effect effect_of(std::string_view opcode);
// Custom calls that change nothing but layout, memory space or annotations.
bool is_identity_target(std::string_view target);

}  // namespace shardproof::lower
