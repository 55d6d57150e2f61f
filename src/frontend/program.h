// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What a frontend hands to the linker: one program in core operators, with the names that a manifest may use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace shardproof::frontend {

// A placement as a program or bundle states it on an input or output; kept as text ("{devices=[2,1]<=[2]}",
// "#sdy.sharding<@mesh, [{\"a\"}, {}]>", "S(0)R"): manifest/placement parses it.
struct StatedSharding {
  enum class Syntax : uint8_t { None, Hlo, Sdy, DTensor } syntax = Syntax::None;
  std::string text;
};

struct Input {
  std::string name;                  // placeholder or parameter name; HLO: the position as text
  std::vector<std::string> aliases;  // other names a manifest may use: parameter name without %, pytree path, FQN from a descriptor
  ir::NodeId node = ir::kNoNode;     // kNoNode: no tensor (device mesh, process group, None): ignored
  std::string descriptor;            // "ParamAOTInput(target='layers.0.wq.weight')" or ""
  StatedSharding sharding;
};

struct Output {
  std::string name;               // node name; HLO: position; mutated inputs: "mut:<input>"
  ir::NodeId node = ir::kNoNode;  // kNoNode: None or no tensor: ignored
  std::string descriptor;
  std::string mutated_input;  // name of the input that this output overwrites, or ""
  StatedSharding sharding;
};

// An operator that could not be lowered and became Opaque, for messages.
struct Unsupported {
  ir::NodeId node = ir::kNoNode;
  std::string reason;  // "aten._foo.default is not supported", "dynamic size s0"
};

struct Mesh {  // sdy.mesh and the like
  std::string name;
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int64_t> device_ids;  // empty: iota
};

// A loop whose body stands in the graph once, for a proof by induction (lower/lower.h). The body's values in one round are computed from
// `before`, which stand for the values that the loop carries into that round, whichever it is; `after` stand for what it leaves. All of
// these, and `round`, are Input nodes of the graph that are no inputs of the program. What no round changes and what only counts is not
// among them: it is replaced by what it is.
struct Loop {
  std::string name;
  int64_t rounds = 0;
  ir::NodeId round = ir::kNoNode;  // i64 scalar: 0 in the first round
  ir::NodeId begin = 0, end = 0;   // the body is made of the nodes in [begin, end), with those of loops in it
  struct Carried {
    std::string name;
    ir::NodeId initial = ir::kNoNode, before = ir::kNoNode, next = ir::kNoNode, after = ir::kNoNode;
  };
  std::vector<Carried> carried;
};

// A branch in which ranks communicate: its nodes, [begin, end), are run only where `condition` holds, a scalar truth value outside of them.
// What a branch gives is selected by the condition, so that only communication has to know.
struct Branch {
  ir::NodeId begin = 0, end = 0;
  ir::NodeId condition = ir::kNoNode;
  std::vector<char> taken;  // by rank, if the condition depends on nothing but the rank; else empty
};

struct Program {
  enum class Kind : uint8_t { PerRank, Spmd } kind = Kind::PerRank;  // Spmd: one program for all ranks (HLO, StableHLO, GraphDef)
  std::string file;
  ir::Graph graph;              // with collectives
  std::vector<Input> inputs;    // in program order
  std::vector<Output> outputs;  // in program order, mutated inputs last
  std::vector<Unsupported> unsupported;
  std::vector<std::string> notes;  // assumptions made while reading ("donation ignored", ...)
  std::vector<Mesh> meshes;
  int64_t num_partitions = 0, num_replicas = 0;  // Spmd: as the module states them, 0 = not stated
  // Spmd with global shapes (StableHLO/HLO before partitioning): entry parameters have global shapes, and `manual` regions are per rank.
  bool global_shapes = false;
  // Asynchronous communication: (operation, number of nodes that the program had when it waited for it). An operation without an entry
  // blocks where its result is first used.
  std::vector<std::pair<ir::NodeId, ir::NodeId>> waits;
  std::vector<Branch> branches;  // outer ones after those in them
  std::vector<Loop> loops;       // inner ones before those that hold them; empty unless asked for
  // Several graphs joined by the linker: how many outputs (the last ones) are only values handed from one graph to the next.
  size_t handed_on = 0;
};

// Values that the text of a program lacks, answered from the manifest's `constants`.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;
  // Value of the constant `name` (an attribute such as _tensor_constant0): scalar or row-major list; nullopt if the manifest has none.
  virtual std::optional<std::vector<ir::Literal>> constant(const std::string& name, ir::DType dtype, const ir::Shape& shape) const = 0;
};

}  // namespace shardproof::frontend
