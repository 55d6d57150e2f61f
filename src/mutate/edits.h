// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The mistakes that people make, as edits of one node of a lowered program.
//
// An edit stands in for its node: it makes new nodes and gives one with the same dtype and shape, so that all that follows stays well
// formed. It may draw random numbers; the ranks of one mutant draw the same.
#pragma once

#include <string>
#include <vector>

#include "frontend/program.h"
#include "ir/build.h"
#include "mutate/random.h"

namespace shardproof::mutate {

// What edits know of the whole.
struct World {
  int64_t ranks = 1;
  bool spmd = false;
  bool replicas = false;                                  // of an SPMD program: ranks are replicas, not partitions
  std::vector<std::vector<std::vector<int64_t>>> groups;  // ways to cut the ranks into equal groups, by axes of the mesh
  std::vector<std::string> group_names;                   // in words, parallel to groups
  std::vector<std::pair<std::string, std::vector<std::vector<int64_t>>>> named;  // the manifest's groups
};

// An edit under way.
struct Site {
  const World& world;
  const ir::Graph& old;
  ir::NodeId id;                       // in old
  const std::vector<ir::NodeId>& map;  // old -> new, for ids below id
  ir::Builder& b;                      // of the new graph; stamps the label and place of the old node
  Random& random;
  std::string what;      // the edit in words
  bool dropped = false;  // nothing stands in for the node (messages)

  const ir::Node& node() const { return old[id]; }
  ir::Node copy() const;          // the node over the new graph
  ir::NodeId add(ir::Node node);  // checked by ir::verify; throws InternalError
  ir::NodeId in(size_t k) const { return map[node().in[k]]; }
  ir::NodeId scalar(double v, ir::DType t) { return b.constant(ir::Literal::real(v), t); }
  ir::NodeId fit(ir::NodeId x);            // reshaped to the node's shape, if its elements are as many
  ir::GroupRef group(size_t index) const;  // World::groups[index]
};

struct Kind {
  const char* name;
  bool (*fits)(const World&, const ir::Graph&, ir::NodeId);
  ir::NodeId (*edit)(Site&);  // kNoNode: not possible here
  bool per_rank = false;      // not where a program speaks of global tensors
};
const std::vector<Kind>& kinds();

// Parts of the table, one a file.
extern const std::vector<Kind> kCommunicationKinds, kValueKinds, kPositionKinds, kDetourKinds, kSameKinds;

bool is_collective(ir::Op op);

}  // namespace shardproof::mutate
