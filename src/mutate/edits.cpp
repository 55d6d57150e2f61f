// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "mutate/edits.h"

#include <algorithm>

#include "util/result.h"

namespace shardproof::mutate {

ir::Node Site::copy() const {
  ir::Node n = node();
  for (ir::NodeId& x : n.in) x = map[x];
  return n;
}

ir::NodeId Site::add(ir::Node n) {
  const ir::NodeId made = b.g.add(std::move(n));
  if (std::string wrong = ir::verify(b.g, made); !wrong.empty()) throw InternalError("malformed mutant: " + wrong);
  return made;
}

ir::NodeId Site::fit(ir::NodeId x) {
  if (ir::num_elements(b.shape(x)) != ir::num_elements(node().shape)) return ir::kNoNode;
  return b.reshape(x, node().shape);
}

ir::GroupRef Site::group(size_t index) const {
  ir::GroupRef g;
  g.kind = ir::GroupRef::Kind::Flattened;
  g.members = world.groups[index];
  return g;
}

bool is_collective(ir::Op op) { return op >= ir::Op::AllReduce && op <= ir::Op::BroadcastFrom; }

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = [] {
    std::vector<Kind> list;
    for (const auto* part : {&kCommunicationKinds, &kValueKinds, &kPositionKinds, &kDetourKinds, &kSameKinds})
      list.insert(list.end(), part->begin(), part->end());
    return list;
  }();
  return all;
}

}  // namespace shardproof::mutate
