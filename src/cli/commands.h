// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The subcommands, after their options have been read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "manifest/manifest.h"

namespace shardproof::cli {

enum class Color : uint8_t { Auto, Always, Never };

inline constexpr double kTimeLimit = 20;

struct CheckArgs {
  std::string manifest;
  bool json = false, paranoid = false, no_falsify = false, unroll = false, all = false, quiet = false;
  std::optional<double> time_limit;  // seconds on the wall, 0: none; without it kTimeLimit of util::WorkClock
  uint64_t memory_limit = 0;
  uint64_t seed = 1;
  std::string certificate, witness, relation_out, sarif, junit, html, dot, source_root;
  Color color = Color::Auto;
  std::string because;               // the check that was started before this one ended so (guard.h)
  bool own_process = false;          // nothing else runs in this process
  std::vector<std::string> command;  // then its command line
};
int check(const CheckArgs& args);

struct ReplayArgs {
  std::string witness, manifest;
  Color color = Color::Auto;
};
int replay(const ReplayArgs& args);

struct MutateArgs {
  std::string manifest;
  int64_t n = 100;
  uint64_t seed = 1;
  bool json = false;
  double time_limit = 0, mutant_limit = 4;
  int edits = 1;
  std::string keep, dump;
  std::vector<std::string> kinds;
  int64_t only = -1;
  bool only_name = false;
};
int mutate(const MutateArgs& args);

bool use_color(Color color, int descriptor);
// Answers UNKNOWN(reason) on standard output as check does, from what is known; for crashes and time-outs. Returns 3.
int answer_unknown(bool json, const std::string& reason, const std::string& detail, const manifest::Manifest* manifest = nullptr);

}  // namespace shardproof::cli
