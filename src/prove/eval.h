// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Core operators -> Values: every node of a linked problem in normal form, computed in order, each once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "link/problem.h"
#include "lower/kernel_contract.h"
#include "prove/prover.h"
#include "prove/shift_memo.h"
#include "prove/value.h"

namespace shardproof::prove {

// The row that reads variable `at` of width - 1.
inline Row unit(size_t width, size_t at) {
  Row r(width, 0);
  r[at] = 1;
  return r;
}

ir::Shape common_digits(const Value& v, size_t d);
void split_dim(ir::Shape& shape, size_t d, const ir::Shape& digits);
void split_numbers(ir::Node& n, size_t q, const ir::Shape& digits);

struct Lent {  // a value that stands in another shape while an operator is computed
  Value &place, kept;
  Lent(Value& value, Value other) : place(value), kept(std::exchange(value, std::move(other))) {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { place = std::move(kept); }
};

class Evaluator {
 public:
  Evaluator(const link::Problem& problem, Limits limits);
  const Value& value(ir::NodeId id);  // computes what it needs
  void forget();                      // computes everything anew when it is asked for next
  void meet_at(std::vector<Meeting> meetings);
  bool done(ir::NodeId id) const { return id < state_.size() && state_[id] == 2; }
  Algebra algebra;
  ShiftMemo memo{algebra};
  Views views;
  std::set<std::string> assumptions;
  // Why a node's value stayed undecided (it became an unknown of its own).
  std::map<ir::NodeId, std::pair<std::string, std::string>> undecided;  // reason, detail
  bool has_order = false;                                               // something is sorted
  uint64_t evaluated = 0;

 private:
  void meet(ir::NodeId id);
  void take_form(const Meeting& m);
  int failed_alone_ = 0;
  Value named(const Value& v, bool total);
  Value compute(ir::NodeId id);
  Value compute_map(const ir::Node& n);
  Value compute_reduce(const Value& x, ir::Fn fn, const std::vector<int64_t>& dims, const ir::Shape& shape);
  Value compute_contract(const ir::Node& n);
  std::optional<std::pair<size_t, ir::Shape>> own_digit(const Value& index) const;
  Value compute_take(const ir::Node& n);
  static Rat content(const Value& v);
  struct Key {
    struct Step {
      enum What : uint8_t { Plus, Times, Apply } what;
      Poly poly;
      ir::Fn fn;
    };
    Value value;
    std::vector<Step> steps;
  };
  std::optional<Key> simple_key(const Value& x, size_t dim);
  Value put_on(Value sorted, const Key& key, ir::DType dtype);
  std::optional<std::pair<size_t, int64_t>> as_position(const Value& v) const;
  std::optional<size_t> permuted(const Value& v, bool some = false) const;
  bool writes_apart(const ir::Node& n, const std::vector<int64_t>& code, const std::vector<char>& placed);
  std::optional<Value> rewritten_everywhere(const ir::Node& n, const std::vector<int64_t>& code);
  std::pair<int64_t, int64_t> met_index(const Value& index, ir::IndexMode mode, int64_t extent);
  Value compute_scatter(const ir::Node& n);
  Value compute_scan(const ir::Node& n);
  Value compute_dynamic_slice(const ir::Node& n);
  Value compute_dynamic_update(const ir::Node& n);
  Value compute_result(ir::NodeId id, const ir::Node& n);
  Value compute_random(ir::NodeId id, const ir::Node& n);
  Value overlay(const Value& x, const Value& update, const std::vector<int64_t>& start);
  Value fresh(const ir::Shape& shape, ir::DType dtype, const std::string& name);
  Poly literal(const ir::Literal& lit, ir::DType dtype);
  Value dense(const ir::Node& n);
  Poly checked_index(const Poly& e, int64_t extent, ir::IndexMode mode, const Ext& ctx);
  Poly wrap(const Poly& p, ir::DType dtype, const Ext& ctx);
  // An operator that acts on whole dimensions and independently along parallel ones. args[k] has one factor per dimension; factor numbers
  // below `parallel.size()` are parallel (extent parallel[f]); the others are inner. result: factor per dimension (>= parallel: inner, own
  // extent).
  struct WholeArg {
    const Value* value;
    std::vector<int> factor;
  };
  Value whole(const std::string& name, ir::DType dtype, const std::vector<WholeArg>& args, const std::vector<int64_t>& parallel,
              const std::vector<int>& result, const ir::Shape& shape);
  Factor kernel_piece(const Node& operands, Factor f, const Ext& ctx);
  Cell whole_cell(Node spec, const Ext& ctx, int parallel, const std::vector<int>& result, const ir::Shape& shape);
  Value assemble(const ir::Shape& shape, std::vector<Cell> parts);  // sums overlapping parts; what no part covers is 0
  Value assemble_rows(const ir::Shape& shape, size_t d, const Cell& irregular, const std::vector<std::vector<Cell>>& groups);

  const link::Problem& problem_;
  Limits limits_;
  std::vector<Value> values_;
  std::vector<uint8_t> state_;  // 0: not yet, 1: in progress, 2: done
  std::vector<std::vector<ir::NodeId>> users_;
  size_t users_known_ = 0;
  std::map<std::pair<int, std::string>, std::vector<ir::NodeId>> draws_;  // by side (0: sequential, 1: rank 0) and kind, in order
  std::map<std::pair<int, ir::NodeId>, ir::NodeId> matched_;              // (rank, sequential draw) -> the draw that took it
  std::set<ir::NodeId> drawing_;  // draws under way: one that acts on what is made with it has no counterpart
  bool draws_known_ = false;
  struct Kernel {  // of the sequential program
    Node operands;
    Factor read;
    Ext ctx;
  };
  std::vector<Kernel> kernels_;
  std::optional<int> kernel_side_;  // while a kernel is evaluated: whose it is
  struct MetIndex {
    Poly poly;
    Ext ext;
    std::pair<int64_t, int64_t> ends;
  };
  std::vector<MetIndex> met_indices_;  // that the sequential program writes by, and stops where they are out of range
  std::vector<Meeting> meetings_;
  std::map<ir::NodeId, size_t> meeting_of_;  // of a part
  std::map<ir::NodeId, Value> met_;          // sequential values of meetings, as they were before they were named
};

}  // namespace shardproof::prove
