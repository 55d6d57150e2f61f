// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Makes one mutant of a set of lowered programs from the seed and a draw number.
//
// How: the draw chooses a kind, a rank, one of its operators that some output depends on, and whether that rank alone or all ranks make the
// mistake. On all ranks it is made at the operators of the same name, with the same random numbers. An SPMD program is one graph: there,
// one rank alone is a select by its id.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "link/problem.h"
#include "manifest/manifest.h"
#include "mutate/edits.h"

namespace shardproof::mutate {

struct Mutant {
  const Kind* kind = nullptr;
  int64_t draw = 0;
  int rank = -1;     // the only rank that makes it; -1: all
  std::string what;  // in words: rank, operator, edit
  link::Programs programs;
};

class Maker {
 public:
  Maker(const manifest::Manifest& manifest, const link::Programs& base, const std::vector<std::string>& kinds);
  // nullopt: the draw gives no mutant (the edit is not possible there, or malformed).
  std::optional<Mutant> make(uint64_t seed, int64_t draw) const;
  // The same with so many edits, one on top of the other; with one, a draw in four is a mutant of a mutant all the same (its kind is the
  // first that is no rewriting).
  std::optional<Mutant> make_deep(const manifest::Manifest& manifest, uint64_t seed, int64_t draw, int edits) const;
  bool empty() const { return kinds_.empty(); }

 private:
  using ProgramPtr = std::shared_ptr<const frontend::Program>;
  struct Sites {  // of one program
    std::vector<std::vector<ir::NodeId>> of_kind;
    std::map<std::string, ir::NodeId> by_name;  // operator, label and count -> node
    std::vector<std::string> name;              // of every node
    std::vector<bool> local;                    // of every node: a rank's own value, in a program that also has global ones
  };
  ProgramPtr apply(const Kind& kind, const ProgramPtr& program, ir::NodeId site, Random random, int only_rank, std::string& what) const;
  const link::Programs& base_;
  std::vector<std::string> wanted_;
  World world_;
  std::vector<const Kind*> kinds_;
  std::map<const frontend::Program*, Sites> sites_;
};

}  // namespace shardproof::mutate
