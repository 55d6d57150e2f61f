// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Placements: reading of words, objects and terms, and writing of the canonical words.
//
// Words grew beyond the contract so that every placement has one pasteable line: what objects say may also be said in words,
//   Shard(0, blocks=[2048, 512x2, 512x2])@tp   Shard(1, order=zigzag)@cp   Shard(1, chunks=[[0, 3], [1, 2]])@cp
//   Shard(0, padded=1366, fill=0)@dp           Scale(1/2), Partial(sum)@dp
#pragma once

#include <string>
#include <string_view>

#include "manifest/manifest.h"
#include "manifest/value.h"

namespace shardproof::manifest {

// A message without a place; callers add file, line and column.
struct PlacementError {
  std::string message;
};

// Words only ("Shard(0)@tp, Replicate"); `axis` non-negative: the words have no @axis and mean this one. "" on success, else what is wrong.
std::string read_words(std::string_view text, const Mesh& mesh, int axis, std::vector<Step>& out);
// "= x", "concat(0, a, r1.b)", ...
std::string read_term(std::string_view text, Term& out);
// True if the text looks like a free term and not like words.
bool is_term(std::string_view text);
// A placement as it stands in a manifest: string, object or list. `any` says whether the word "any" is allowed (expectations).
std::string read_placement(const Value& value, const Mesh& mesh, bool any, Placement& out);

std::string to_string(const Term& term);
std::string to_string(const Step& step, const Mesh& mesh);

int64_t axes_size(const Step& step, const Mesh& mesh);  // number of parts of a cut

}  // namespace shardproof::manifest
