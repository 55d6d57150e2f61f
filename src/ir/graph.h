// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The core IR: about 30 operators with a written meaning (docs/spec.md repeats the formulas below with numbers). Every frontend is
// lowered to it; the linker turns collectives into it; the prover, the reference interpreter and the witness speak only of it.
//
// A Graph is a vector of nodes in topological order (a node's inputs have smaller ids), append-only. Shapes are concrete. A node
// has one result, except tuple-typed ones (Sort, Opaque: dtype Token, results described in `tuple`), which are read by Result nodes.
//
// Below, out[i] is the element at index vector i; n_k is an extent; `a`, `b`, `c` are the node's integer attribute lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/types.h"

namespace shardproof::ir {

using NodeId = uint32_t;
constexpr NodeId kNoNode = 0xffffffffu;

enum class Op : uint8_t {
  // --- leaves
  Input,   // a free tensor. name
  Const,   // out[i] = lit (cast to dtype)
  Iota,    // out[i] = i[a[0]] (as dtype)
  Dense,   // out[i] = dense[row-major position of i]
  Uninit,  // unspecified contents (torch.empty): any value; a proof must not depend on it
  RankId,  // this rank's id as a scalar: partition id if a[0]=0, replica id if a[0]=1. Gone after link (a Const per rank)
  // --- views
  Transpose,  // out[i] = x[j], j[a[k]] = i[k]                        (out dim k is input dim a[k])
  Reshape,    // same row-major sequence of elements
  Slice,      // out[i] = x[a[k] + i[k]*c[k]]; a start, b stop (exclusive), c step > 0; all in range: 0<=a<=b<=n, extent ceil((b-a)/c)
  Reverse,    // out[i] = x[n_k-1-i[k] for k in a, i[k] else]
  Broadcast,  // out[i] = x[j], j[k] = i[a[k]] or 0 if x's dim k has extent 1; a strictly increasing
  Pad,        // x, value (rank 0): a low, b high (may be negative: crops), c interior >= 0; out extent = a+b+n+max(n-1,0)*c
  Concat,     // along dim a[0]
  Window,     // a = windowed dims (increasing), b = window sizes, c = 2 per windowed dim: stride, dilation. Result dims: x's dims (windowed
              // ones counted in windows), then one dim per windowed dim. out[..o.., ..w..] = x[.. o*stride + w*dilation ..]
  // --- element-wise
  Map,  // out[i] = fn(x0[i], x1[i], ...); an input has out's shape or rank 0 (then it is read at [])
  // --- reductions and products
  Reduce,     // fn in Add Mul Max Min And Or; over dims a (increasing), dropped; empty range = neutral element (max of nothing = -inf)
  ArgReduce,  // fn in Max Min: index of the extreme along a[0] (dropped); ties: lowest index
  Contract,   // x, y: batch dims a (lhs,rhs pairs), contracted dims b (pairs). Result dims: batch, lhs free, rhs free
              // out[p,i,j] = sum_k x[p,i,k] y[p,j,k] (dims at their places)
  // --- indexing. `a`: per data dim, >= 0: that result (Take) / update (Scatter) dim; < 0: index operand number -a-1.
  //     `b`: the result/update dims that the index operands run over, in order: every index operand has exactly these extents.
  //     mode says what an index outside [0, n) does.
  Take,          // data, idx...[, fill if mode Fill]: out[i] = data[j], j[k] = i[a[k]] or idx_{-a[k]-1}[i at dims b]
  Scatter,       // data, updates, idx...: out[j] = data[j] (+) all updates u whose position is j; fn Add Mul Max Min or Set (kSet in mode2)
  DynamicSlice,  // x, start_k (rank-0, one per dim); a sizes; start clamped to [0, n_k - a[k]]
  DynamicUpdate,  // x, update, start_k (rank-0, one per dim); clamped likewise
  // --- ordered
  Scan,  // fn Add Mul Max Min along a[0]; a[1] = 1: reverse; a[2] = 1: exclusive
  Sort,  // x_0 (key), x_1, ...: along a[0], a[1] = 1: descending, a[2] = 1: stable; all permuted alike. Tuple
  // --- others
  Random,  // a draw: name = distribution ("bernoulli", "uniform", "normal", "bits"), lit = its parameter, a[0] = number of the draw
           // in program order on this side and rank
  Opaque,  // name, attrs (canonical text), any inputs. Tuple (even with one result)
  Result,  // result a[0] of a tuple
  // --- collectives and messages, only before link. `group` says who takes part. Order of nodes = program order.
  AllReduce,      // fn Add Mul Max Min And Or; a[0] = 1: average
  AllGather,      // concatenate along a[0] in group order
  ReduceScatter,  // fn as AllReduce, a[0] = 1: average; part of this rank along a[1]
  AllToAll,       // a[0] split dim, a[1] concat dim; b = sizes sent per peer, c = sizes received per peer (both empty: equal)
  Permute,        // b = flat (source, target) pairs of ids; ranks that receive nothing get zeros
  BroadcastFrom,  // value of group member a[0]
  Send,           // x to peer a[0] (index in group), tag a[1]. Token
  Recv,           // from peer a[0], tag a[1]; shape and dtype as stated
  // --- borders of per-rank regions in a program with global shapes, only before link. Outside of such regions every rank has its own view
  //     of the global tensor. A table says who holds what: a = number of equal parts per dim; b = for every partition id its part per dim
  //     (row after row); c = for every partition id its class. The ranks of one class together hold every part once.
  GlobalToLocal,  // this rank's part of its own view
  LocalToGlobal,  // concatenation of the parts held by the ranks of this rank's class
};

// Scalar functions. Integer forms wrap at the width of dtype; float forms are real functions with the rules of MANIFEST.md section 4.
enum class Fn : uint8_t {
  None,
  Add,
  Mul,
  Max,
  Min,
  And,
  Or,  // n-ary (>= 1), also reductions. And/Or/Xor/Not: logic on Bool, bitwise on ints
  Xor,
  Not,
  Sub,
  Div,
  Neg,
  Abs,
  Sign,  // Div: floats; integers truncate toward zero (HLO divide)
  FloorDiv,
  Rem,
  Mod,  // Rem: sign of dividend (C, HLO remainder); Mod: sign of divisor (Python); FloorDiv rounds down
  Pow,
  Exp,
  Exp2,
  Expm1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sqrt,
  Rsqrt,
  Cbrt,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Atan2,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Logistic,
  Erf,
  Erfc,
  ErfInv,
  Lgamma,
  Digamma,
  Floor,
  Ceil,
  Round,
  RoundAway,
  Trunc,   // Round: half to even
  Select,  // cond (Bool), then, else: the branch not taken is not looked at
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,  // result Bool
  IsFinite,
  IsNan,
  IsInf,
  Shl,
  ShrA,
  ShrL,
  PopCount,
  Clz,
  Convert,  // from the input's dtype to this node's dtype
  Real,
  Imag,
  Complex,
  Conj,
};

enum class IndexMode : uint8_t {
  Strict,  // outside [0, n): undefined (ATen embedding, gather, index_select)
  Wrap,    // [-n, 0) wraps, else as Strict (ATen index)
  Clamp,   // clamped to [0, n-1] (HLO gather, dynamic slices)
  Fill,    // Take: the last operand (rank 0); Scatter: the update is dropped
};

// Where an operator was written. Strings are shared (many operators have one line).
struct Loc {
  std::shared_ptr<const std::string> file;  // the user's source file, null if unknown
  int line = 0;
  int text_line = 0;  // line in the graph's own text (0: binary)
};

// Who takes part in a collective, as the program says it; the linker resolves it to rank lists.
struct GroupRef {
  // What the numbers in `members` are. Partitions: partition ids, one instance per replica. Replicas: replica ids, one instance per
  // partition. CrossReplica: replica ids, and all partitions of these replicas join. Flattened: replica id * num_partitions + partition id.
  enum class Kind : uint8_t { None, Name, Partitions, Replicas, CrossReplica, Flattened } kind = Kind::None;
  std::string name;                           // Name: looked up in the manifest's `groups`
  std::vector<std::vector<int64_t>> members;  // the others: explicit lists; empty = everyone
  int64_t size = 0;                           // what the operator states as group size, 0 = not stated
};

struct Node {
  Op op = Op::Input;
  Fn fn = Fn::None;
  DType dtype = DType::Invalid;
  IndexMode mode = IndexMode::Strict;
  bool set = false;  // Scatter: overwrite instead of fn
  Shape shape;
  std::vector<NodeId> in;
  std::vector<int64_t> a, b, c;
  Literal lit;
  std::string name;                                   // Input, Random, Opaque
  std::string attrs;                                  // Opaque: canonical attribute text; equal operators have equal text
  std::vector<std::pair<DType, Shape>> tuple;         // tuple-typed nodes: their results
  std::shared_ptr<const std::vector<Literal>> dense;  // Dense
  std::shared_ptr<const GroupRef> group;
  // --- where it comes from (never looked at by a proof)
  std::string label;      // the name of the value in the program, as a user would look for it
  std::string source_op;  // "aten.mm.default", "dot"
  Loc loc;
};

// One program, or several linked ones.
struct Graph {
  std::vector<Node> nodes;
  const Node& operator[](NodeId id) const { return nodes[id]; }
  NodeId add(Node node) {
    nodes.push_back(std::move(node));
    return static_cast<NodeId>(nodes.size() - 1);
  }
};

// Checks shapes, dtypes, attribute ranges and operand order of node `id` against its operator's definition; returns "" or what is
// wrong. Lowerings call it in tests and the linker calls it for every node: a malformed node must never reach the prover.
std::string verify(const Graph& graph, NodeId id);
// Which nodes depend on an input, from where `depends` ends: goals add nodes to a graph.
void mark_dependent(const Graph& graph, std::vector<char>& depends);

std::string_view name(Op op);
std::string_view name(Fn fn);
std::string to_string(const Graph& graph, NodeId id);  // one line, for messages and tests

}  // namespace shardproof::ir
