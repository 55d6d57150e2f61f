// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The linker's state, shared by the cpp files of this directory (nobody else includes this).
//
// Order of work: pair inputs -> relation (nodes of all inputs) -> emit the sequential program -> plan the ranks' communication ->
// emit the ranks in the order in which their communication completes -> outputs -> facts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ir/build.h"
#include "link/problem.h"
#include "link/schedule.h"
#include "link/views.h"

namespace shardproof::link {

using Failure = std::optional<Diagnostic>;
using ProgramPtr = std::shared_ptr<const frontend::Program>;

// Several graphs of one capture as one program. `joined` gets sentences about what was joined.
Result<ProgramPtr> join(const std::vector<ProgramPtr>& programs, std::vector<std::string>& joined);

// Looks up inputs or outputs by name, alias or position.
class Names {
 public:
  struct Entry {
    std::string name;
    const std::vector<std::string>* aliases;
    bool tensor;
  };
  explicit Names(const std::vector<Entry>& entries);
  int find(std::string_view name) const;             // index, -1 if none
  int find_name(std::string_view name) const;        // not by position
  std::string nearest(std::string_view name) const;  // for "did you mean", or ""
  // All names of entry k, most official first; the position is the last one.
  const std::vector<std::string>& all(int k) const { return names_[static_cast<size_t>(k)]; }
  bool positional(int k) const { return positional_[static_cast<size_t>(k)]; }  // its name is its position

 private:
  std::unordered_map<std::string, int> by_name_, by_alias_, by_position_;
  std::vector<std::vector<std::string>> names_;
  std::vector<bool> positional_;
};

class Linker {
 public:
  Linker(const manifest::Manifest& m, ProgramPtr sequential, std::vector<ProgramPtr> ranks);
  Failure run();
  Problem out;
  LoopChoice loop_choice;

 private:
  struct Input {      // a sequential tensor input
    int index = 0;    // in seq_->inputs
    std::string key;  // place in the manifest, "" if none
    manifest::Placement placement;
    bool covered = false, inferred = false;
    const manifest::Constant* constant = nullptr;
    std::vector<int> dist;  // per rank: index of its input, -1: none
    ir::NodeId node = ir::kNoNode;
  };

  // --- pairing.cpp
  Failure cover();
  Failure pair_inputs();
  Failure pair_rank(size_t rank, std::string& how);
  Failure check_leftovers();
  Failure infer();
  // --- relation.cpp
  Failure relation();
  Failure relate(Input& input);
  Failure relate_constant(Input& input);
  Failure relate_term(Input& input);
  Failure set_dist(Input& input, size_t rank, ir::NodeId node);
  Failure extras();
  Failure check_values(const std::vector<ir::Literal>& values, ir::DType t, const std::string& name, const std::string& place) const;
  bool fits_global() const;
  // --- terms.cpp
  std::string term_shape(const manifest::Term& term, int64_t rank, ir::Shape& shape, ir::DType& dtype) const;
  ir::NodeId term_value(const manifest::Term& term, int64_t rank);
  std::string push_inverse(const manifest::Term& term, int64_t rank, ir::NodeId node);
  // --- emit.cpp
  Failure emit_sequential();
  Failure emit_ranks();
  void emit_until(size_t rank, ir::NodeId stop);
  void unsupported(const frontend::Program& program, const std::vector<ir::NodeId>& map);
  void emit_node(const frontend::Program& program, std::vector<ir::NodeId>& map, ir::NodeId id, int side);
  Failure sequential_collective(ir::NodeId id, std::vector<ir::NodeId>& map);
  void complete(const Event& event);
  void collective(const Event& event);
  void poison(size_t rank, ir::NodeId id);
  Failure plan_communication(std::vector<std::vector<CommOp>>& ops);
  // --- branches.cpp
  bool by_rank(const frontend::Branch& branch) const;
  bool idle(size_t rank, ir::NodeId node) const;
  std::vector<ir::NodeId> conditions(size_t rank, ir::NodeId node) const;
  ir::NodeId computed_as(ir::NodeId node);
  bool meets_as_a_whole(const Event& event);
  bool faults_are_open() const;
  void open_result(size_t rank, ir::NodeId id);
  // --- loops.cpp
  void relate_loops();
  void pair_loops();
  void related(Loop::Carried& carried, const std::vector<const frontend::Loop::Carried*>& of, size_t choice, int64_t rounds);
  std::vector<manifest::Placement> loop_candidates(const std::vector<const frontend::Loop::Carried*>& of);
  std::vector<int64_t> loop_scales() const;
  void check_loop_events();
  void finish_loops();
  // --- stacks.cpp
  void find_stacks();
  bool only_rows(size_t side, size_t loop, size_t carried) const;
  ir::NodeId in_round(size_t loop, ir::NodeId root, ir::NodeId round);
  ir::NodeId row_again(const frontend::Program& program, const std::vector<ir::NodeId>& map, ir::NodeId id, int side);
  // --- outputs.cpp
  Failure outputs();
  Failure expectation(Output& output, const manifest::OutputSpec* spec, const std::string& of, const std::string& key);
  void cut_global(Output& output, const std::vector<std::vector<int>>& paired, size_t k);
  std::string block_terms(const manifest::Term& term, Output& output);
  Failure one_sided_mutations(const std::vector<const manifest::OutputSpec*>& spec_of, const std::vector<std::vector<int>>& paired);
  // --- facts.cpp
  Failure facts();
  void input_forms();

  const Names& names(const ProgramPtr& p, bool outputs);
  Diagnostic error(const char* code, std::string message, const std::string& place) const {
    return m_.error(code, std::move(message), place);
  }
  void side(int s) { out.side.resize(out.graph.nodes.size(), static_cast<int16_t>(s)); }
  std::string rank_name(size_t rank) const { return "rank " + std::to_string(rank); }

  const manifest::Manifest& m_;
  ProgramPtr seq_;
  std::vector<ProgramPtr> ranks_;
  ir::Builder b_{out.graph};
  bool global_ = false;                    // SPMD program with global entry shapes
  int64_t partitions_ = 1, replicas_ = 1;  // of an SPMD program: rank = replica * partitions + partition
  std::vector<Input> inputs_;
  std::vector<int> input_of_;                                    // seq input index -> index in inputs_, -1
  std::vector<std::vector<ir::NodeId>> dist_value_;              // [rank][input index]
  std::vector<std::vector<char>> taken_;                         // [rank][input index]: paired
  std::vector<ir::NodeId> seq_map_;                              // sequential node -> joint node
  std::vector<std::vector<ir::NodeId>> map_;                     // [rank][node]
  std::vector<ir::NodeId> position_;                             // [rank]: nodes below are emitted
  std::vector<std::vector<CommOp>> comm_;                        // [rank]
  std::vector<std::unordered_map<ir::NodeId, size_t>> comm_of_;  // [rank]: node -> index in comm_
  Schedule schedule_;
  bool open_schedule_ = false;                            // a fault of it may be none
  std::vector<ir::NodeId> computed_as_;                   // joint node -> the first one that is computed as it is
  std::unordered_map<std::string, ir::NodeId> first_of_;  // by operator, attributes and operands
  std::vector<char> poisoned_;                            // joint node -> depends on communication that cannot complete
  std::string blocked_;                                   // why
  std::unordered_map<const frontend::Program*, std::unique_ptr<Names>> input_names_, output_names_;
  // Kept loops. Sides: 0 is the sequential program, 1 + r is rank r.
  const frontend::Program& program(size_t side) const { return side == 0 ? *seq_ : *ranks_[side - 1]; }
  std::vector<std::vector<std::vector<int>>> loop_pairs_;                       // [loop][carried][side]: which of its values, or -1
  std::vector<std::vector<std::pair<ir::NodeId, ir::NodeId>>> loop_values_;     // [side]: (node of the program, joint node)
  std::map<std::vector<int64_t>, std::vector<manifest::Placement>> loop_memo_;  // candidates by shapes
  std::vector<std::vector<std::pair<ir::NodeId, ir::NodeId>>> loop_nodes_;      // [loop]: joint nodes before a round and behind the loop
  // Stacks of which a loop writes each row once: what is written in round r is row r, or that from the end.
  struct Stack {
    size_t loop, carried;  // in the program
    ir::NodeId before, next, update, after;
    bool from_end;
    bool only_rows;  // nobody reads it whole
  };
  std::unordered_map<const frontend::Program*, std::vector<Stack>> stacks_;
  std::map<std::pair<size_t, ir::NodeId>, std::unordered_map<ir::NodeId, ir::NodeId>> again_;  // (loop, round): joint nodes made for it
  std::map<std::tuple<ir::NodeId, int64_t, bool, bool>, ir::NodeId> rounds_of_;
};

}  // namespace shardproof::link
