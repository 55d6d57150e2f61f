// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The ranks' communication as a schedule: which operations meet, in which order they complete, and which never do.
//
// How: each rank is its list of operations in program order. A collective completes when every member of its group has issued its
// k-th operation on that group; a receive when its message is there; a send at once (buffered). A blocking operation holds its rank until
// it completes, an asynchronous one only at the place where its result is waited for. When no rank can go on, what the ranks wait
// for is a hang; those operations are given up, so that everything that does not depend on them can still be judged.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace shardproof::link {

struct CommOp {
  enum class Kind : uint8_t { Collective, Send, Recv } kind = Kind::Collective;
  ir::NodeId node = ir::kNoNode;  // in the rank's own graph
  const ir::Node* op = nullptr;
  int comm = -1;   // Collective: communicator
  int member = 0;  // Collective: this rank's place in it
  int peer = -1;   // Send, Recv: the other rank
  int64_t tag = 0;
  size_t wait_before = 0;          // must be complete before the operation with this index is issued (own index + 1: blocking)
  const ir::Node* data = nullptr;  // Collective, Send: the operand
};

struct Communicator {
  std::string name;
  std::vector<int64_t> members;  // ranks, in group order
};

// Operations that complete together: a collective's members in group order, or {send, receive}.
struct Event {
  struct Place {
    int rank;
    size_t index;
  };
  std::vector<Place> places;
};

struct CommFault {
  std::string kind, explanation;
  std::vector<Event::Place> sites;
};

struct Schedule {
  std::vector<Event> events;              // in order of completion
  std::vector<std::vector<char>> failed;  // [rank][index]: never completes, or is mismatched
  std::vector<CommFault> faults;
  bool needs_buffering = false;  // some send only completes because it is buffered
};

Schedule simulate(const std::vector<std::vector<CommOp>>& ops, const std::vector<Communicator>& comms);

}  // namespace shardproof::link
