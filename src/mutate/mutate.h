// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Hunts for wrong proofs: makes wrong variants of the distributed program (mutants), as people make them, and looks whether any is proved.
//
// How: a draw number and the seed choose a kind of mistake, one rank or all, and an operator of the lowered programs, so every format is
// covered (edits.h). The mutant is linked once and judged three times: by the prover alone, by the default command (prover, then
// falsifier), and apart from both by an evaluation on inputs of its own (judge.h). A mutant of which an output is proved and evaluates
// differently is a wrong proof.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "manifest/manifest.h"
#include "util/result.h"

namespace shardproof::mutate {

struct Options {
  int64_t n = 100;
  uint64_t seed = 1;
  double time_limit = 0;                // seconds for all mutants; 0: none
  double mutant_limit = 4;              // seconds for the default command on one mutant, and again for the evaluation
  std::string keep;                     // folder for what reproduces wrong proofs; "": nothing is written
  int64_t only = -1;                    // this draw alone
  bool only_name = false;               // and only say what it is (if the prover ends the process, say)
  std::vector<std::string> only_kinds;  // these kinds alone; empty: all
  int edits = 1;                        // of each mutant
  std::string dump;                     // JSON lines of linked mutants and verdicts, for another evaluator (tests/mutants); "": none
  int64_t dump_elements = 40000;        // mutants whose tensors have more elements in all are not dumped
  int seeds = 100;                      // evaluations of what was proved, as far as the time allows
};

struct Count {
  int64_t different = 0, same = 0, undecided = 0;  // by the evaluation
  int64_t refuted = 0, unknown = 0;                // of the different ones, by the default command
  int64_t wrong_proved = 0, proved_same = 0;       // by the prover alone
  int64_t invalid = 0;                             // could not be linked (a shape or a group that cannot be): not counted as mutants
};

// A mutant that a person should look at.
struct Finding {
  std::string trouble;  // "wrong proof", "internal error", "wrong refutation"
  std::string kind;
  int64_t draw = 0;
  std::string what;    // rank, operator and edit in words
  std::string detail;  // output, values
};

struct Summary {
  Options options;
  std::string manifest;
  int64_t n = 0;  // mutants judged
  Count total;
  std::vector<std::pair<std::string, Count>> kinds;  // in the order of the table of kinds
  std::vector<Finding> findings;
  std::string only;                                          // the mutant of Options::only, in words
  std::string base;                                          // the verdict on the unchanged programs
  std::vector<std::string> unknown, unproved;                // some of the different ones not refuted, of the same ones not proved
  double seconds = 0, check_seconds = 0, judge_seconds = 0;  // in all, of the default command, of the evaluation
  std::string ended;                                         // why fewer than asked were made; "" if not
};

Result<Summary> run(const manifest::Manifest& manifest, const Options& options);
std::string to_json(const Summary& summary);
std::string to_text(const Summary& summary);

}  // namespace shardproof::mutate
