// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The linked problem: the sequential program and all ranks in one graph without collectives, over common free inputs.
//
// How: every sequential input is a free Input node, and each rank's input is a view of it (slice, blocks, padding) as its placement
// says; under Partial and free terms it is the other way round: the ranks' inputs are free and the sequential one is their sum or term.
// all_reduce becomes one n-ary Map, all_gather a Concat, reduce_scatter a Slice of the Map, permute/send/recv an edge, RankId a Const. A
// claim about an output is then a list of pairs of nodes that must be equal (goals), also made of views. So the prover, the interpreter and
// the checker know nothing of ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/program.h"
#include "ir/graph.h"
#include "manifest/manifest.h"
#include "util/result.h"

namespace shardproof::link {

constexpr int kSequential = -1;
constexpr int kShared = -2;  // nodes made by the linker: relation, goals

// Integer or sign facts on free inputs, from the manifest, resolved to nodes.
struct Fact {
  ir::NodeId input = ir::kNoNode;
  manifest::Fact fact;
};

struct Output {
  std::string name;  // as the answer names it
  std::string label;
  manifest::Role role = manifest::Role::None;
  std::string fqn;
  bool checked = true;  // false: UNCHECKED
  ir::NodeId sequential = ir::kNoNode;
  std::vector<ir::NodeId> distributed;         // per rank, kNoNode: this rank has none
  std::vector<std::string> distributed_names;  // per rank
  manifest::Placement expect;                  // Kind::Any: the finite set
  bool expect_stated = false;                  // written in the manifest, not a default
  std::optional<manifest::Placement> natural;  // a gradient's parameter placement, to warn when a stated Partial differs from it
  std::optional<std::string> blocked;          // communication that cannot complete prevents this output: why
};

// Communication that cannot complete, or collectives whose ranks disagree.
struct CommunicationFault {
  std::string kind;  // "would-hang" or "mismatched-collective"
  std::string explanation;
  struct Site {
    int rank;
    ir::NodeId node;
    std::string node_name, op, file;
    int line;
  };
  std::vector<Site> sites;  // both call sites, and what each rank waits for
};

// A loop that all programs have, with its body in the graph once (frontend::Loop), for a proof by induction. The values that it carries
// into a round are free tensors of which all sides have their part under a relation, and so are, anew, those that it leaves. Whoever proves
// anything about such a graph must prove, too, that the relations hold at first (`initial`) and that a round keeps them (`next`), and that
// these values are finite, which free tensors are. `initial.expect` is the relation; where a side lacks the value or no placement fits, its
// values are free without a relation (`related` is false).
// Under a relation with a scale, the sequential value times it has the placement: `initial` and `next` have that product. A value that is a
// row of a stack behind the loop is made again where it is read (stacks.cpp): `history` has what is carried into all rounds, under the same
// relation, with the round as first dimension. Stacks that are read in no other way are not carried.
struct Loop {
  std::string name;
  int64_t rounds = 0;
  ir::NodeId round = ir::kNoNode;
  struct Carried {
    std::string name;
    bool related = false;
    size_t candidates = 0;  // how many relations there are to choose from
    int64_t scale = 1;
    Output initial, next;  // sequential or distributed values may be kNoNode
    // What stands for the value in a round and behind the loop, per side (kSequential first, then the ranks): no two sides share one.
    std::vector<ir::NodeId> before, after, history;  // history: empty, or kNoNode where there is none
  };
  std::vector<Carried> carried;
  size_t stacks = 0;         // how many are made again by rows, on the side that has most
  bool unknown_row = false;  // a row is made of what is not known for other rounds, and was not made again
};
// Which relation each carried value is tried with: per loop, per value of Loop::carried, a number below its candidates.
using LoopChoice = std::vector<std::vector<size_t>>;

struct Problem {
  manifest::Mesh mesh;
  ir::Graph graph;
  std::vector<int16_t> side;            // per node: rank, kSequential or kShared
  std::vector<ir::NodeId> free_inputs;  // Input nodes that a witness gives values to
  std::vector<Fact> facts;
  std::vector<Output> outputs;
  std::vector<CommunicationFault> faults;
  std::vector<std::string> assumptions, warnings;
  std::vector<std::string> files;  // every file read, for hashes: sequential first, then distributed in order of first use
  size_t sequential_operators = 0, distributed_operators = 0;  // operators as written, before lowering
  double read_seconds = 0;                                     // of link(manifest): reading and lowering the files, the rest is linking
  std::vector<std::string> opaque_reasons;                     // parallel to opaque_nodes
  std::vector<ir::NodeId> opaque_nodes;                        // operators without lowering

  // --- kept loops: inner ones before those that hold them. Only of link(manifest, programs, choice).
  std::vector<Loop> loops;
  std::string loops_differ;  // why the loops of the programs cannot be put side by side: then nothing here may be used

  // --- for goals: what the distributed programs return by name (per rank), and the block, chunk and padded cuts among the inputs
  std::vector<std::unordered_map<std::string, ir::NodeId>> returned;
  std::vector<manifest::Step> input_forms;
  // --- for reports: placement and pairing of every sequential input, as used (also the inferred ones)
  struct Relation {
    std::string name;  // sequential
    manifest::Placement placement;
    std::vector<std::string> distributed;  // per rank, "": this rank has none
    bool inferred = false;
    ir::NodeId node = ir::kNoNode;
  };
  std::vector<Relation> relation;

  // The finite set of placements that `any` stands for, in the order of preference of MANIFEST.md section 4.
  std::vector<manifest::Placement> any_candidates(const Output& output) const;
  // Checked scalars that the manifest does not call something else: where one is undefined, so are the gradients of it (L-75).
  std::vector<ir::NodeId> losses() const;
  // Sentences about integer inputs that these outputs read or write by, in the sequential program, without a fact about their range.
  std::vector<std::string> unbounded_indices(const std::vector<size_t>& outputs) const;
  // Pairs that must be equal for `output` to have `placement`; nullopt where shapes alone refute it. Appends view nodes to graph.
  std::optional<std::vector<std::pair<ir::NodeId, ir::NodeId>>> goals(const Output& output, const manifest::Placement& placement);
};

// An output whose distributed values depend on no input where the sequential one does proves nothing (depends: ir::mark_dependent).
bool is_vacuous(const Output& output, const std::vector<char>& depends);

Result<Problem> link(const manifest::Manifest& manifest);  // reads and lowers the files, too

// The programs of a manifest, read and lowered but not yet linked. Ranks that run one program share it.
struct Programs {
  std::shared_ptr<const frontend::Program> sequential;
  std::vector<std::shared_ptr<const frontend::Program>> ranks;
  std::vector<std::string> assumptions, files;
  size_t sequential_operators = 0, distributed_operators = 0;
  bool has_loops() const;  // kept ones
};
Result<Programs> read(const manifest::Manifest& manifest, int64_t keep_loops = 0);  // see lower_hlo
Result<Problem> link(const manifest::Manifest& manifest, const Programs& programs);
// Programs with kept loops, for a proof by induction only. What `choice` does not say is tried with its first candidate.
Result<Problem> link(const manifest::Manifest& manifest, const Programs& programs, const LoopChoice& choice);

// For tests and tools: link programs that are already lowered.
Result<Problem> link(const manifest::Manifest& manifest, std::vector<frontend::Program> sequential,
                     std::vector<std::vector<frontend::Program>> per_rank);

}  // namespace shardproof::link
