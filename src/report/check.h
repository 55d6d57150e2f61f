// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// One check from manifest to verdict: link, prove, falsify what was not proved, blame. The command, the Python bindings and the mutants
// call this and nothing else.
//
// No budget, time-out or crash turns into PROVED or REFUTED: whatever goes wrong inside is UNKNOWN with a reason.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "link/problem.h"
#include "manifest/manifest.h"
#include "util/result.h"

namespace shardproof::prove {
class Prover;
}

namespace shardproof::report {

enum class Verdict : uint8_t { Proved, Refuted, Unknown };
enum class Status : uint8_t { Proved, Refuted, Unknown, Unchecked };
const char* name(Verdict v);  // "PROVED"
const char* name(Status s);

// An operator in one of the programs, as a user looks for it.
struct Site {
  int rank = link::kSequential;
  std::string node, op, file;
  int line = 0;
};

struct BlameReport {
  std::optional<Site> sequential;
  std::vector<Site> distributed;
  std::string code, kind, explanation, repair;
  std::vector<std::string>
      parameters;  // that the first wrong operator reads, by the names that the manifest gives their gradients or updates
};

struct OutputReport {
  std::string name, label;
  Status status = Status::Unknown;
  std::optional<std::string> relation;  // what was proved, in words that can be pasted as `expect`
  std::string expected;
  std::vector<std::string> dist;  // per rank, "": none
  std::string reason, detail;     // UNKNOWN: the contract's word, and a sentence; REFUTED: the values that differ
  std::optional<BlameReport> blame;
};

struct Stats {
  size_t sequential_operators = 0, distributed_operators = 0, nodes = 0;
  uint64_t local_problems = 0, distinct_local_problems = 0;
  double read = 0, link = 0, prove = 0, falsify = 0, total = 0;  // seconds; read includes lowering
  uint64_t peak_bytes = 0;
};

struct CheckResult {
  Verdict verdict = Verdict::Unknown;
  std::string reason, detail;  // UNKNOWN only
  std::vector<OutputReport> outputs;
  std::optional<BlameReport> blame;  // of the first wrong output
  std::vector<std::string> assumptions, warnings;
  std::vector<std::string> loops;  // loops that were proved by induction, each with its rounds and relations
  Stats stats;
  std::string certificate, witness;        // paths of files written, or ""
  std::shared_ptr<link::Problem> problem;  // null if linking went wrong inside
};

struct CheckOptions {
  double time_limit = 0;             // seconds for the whole check; 0: none
  uint64_t memory_limit = 0;         // bytes; 0: none
  std::string certificate, witness;  // paths to write to; "": none
  bool falsify = true;
  bool blame = true;      // say which operator is wrong
  bool paranoid = false;  // evaluate the proved outputs, too
  // Try to prove loops by induction before they are unrolled (L-73). Not done for certificates, whose checker unrolls, nor if paranoid.
  bool induction = true;
  bool process_ends = false;  // after this check: what it made is left where it is
  uint64_t seed = 1;
  // Writes the certificate of a PROVED verdict: for every checked output (index in problem.outputs) the placement that was proved, by the
  // prover that proved it. Returns "" or why it could not. Null: no certificates in this build.
  using Proofs = std::vector<std::pair<size_t, manifest::Placement>>;
  using Writer = std::string(const manifest::Manifest&, link::Problem&, prove::Prover&, const Proofs&, const std::string& path);
  std::function<Writer> write_certificate;
  std::function<void(const std::string&)> progress;  // short sentences for people; may be null
};

// A Diagnostic is the user's to mend (exit code 2). Everything else is a verdict.
Result<CheckResult> run_check(const manifest::Manifest& manifest, const CheckOptions& options);
// The same for programs that are already linked.
Result<CheckResult> run_check(const manifest::Manifest& manifest, std::shared_ptr<link::Problem> problem, const CheckOptions& options);

// Lists the outputs that the manifest names as UNKNOWN, with the result's reason: all that can be said when linking went wrong inside.
void list_unknown(const manifest::Manifest& manifest, CheckResult& result);

}  // namespace shardproof::report
