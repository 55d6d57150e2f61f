// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// From a location to the user's file and line. JAX writes "op:"("scope/op"(callsite("function"("file":1:2) at ...))); the innermost frame
// that is not inside an installed package is the user's line; names around the frames are the operator's name.
#include <algorithm>

#include "frontend/stablehlo/convert.h"

namespace shardproof::stablehlo {
namespace {

constexpr int kMaxSteps = 2000;  // of one walk; alias cycles end there

bool is_library(std::string_view file) {
  for (std::string_view part : {"/site-packages/", "/dist-packages/", "jax/_src/", "flax/core/", "flax/linen/"})
    if (file.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

LocId Converter::follow(LocId loc) const {
  for (int step = 0; loc != kNone && step < kMaxSteps; ++step) {
    const LocNode& node = tree_.locations[loc];
    if (node.kind == LocNode::Kind::Alias) {
      auto it = tree_.location_aliases.find(node.text);
      loc = it == tree_.location_aliases.end() ? kNone : it->second;
    } else if (node.kind == LocNode::Kind::Fused) {
      loc = node.first;
    } else {
      return loc;
    }
  }
  return kNone;
}

const Converter::Place& Converter::place(LocId loc) {
  // Operators name their location by an alias node of their own: the target is the better key.
  loc = follow(loc);
  auto known = places_.find(loc);
  if (known != places_.end()) return known->second;
  Place place;
  LocId best = kNone;     // the innermost file seen so far
  LocId pending = kNone;  // caller to look at when the callee is in a library
  bool names = true;
  LocId at = loc;
  for (int step = 0; step < kMaxSteps; ++step) {
    at = follow(at);
    if (at == kNone) {
      if (pending == kNone) break;
      at = pending;
      pending = kNone;
      continue;
    }
    const LocNode& node = tree_.locations[at];
    if (node.kind == LocNode::Kind::Name) {
      if (names) {
        std::string name = Parser::unescape(node.text);
        // "add:" repeats the last part of the name inside it.
        bool colon = name.ends_with(':');
        if (colon) name.pop_back();
        if (place.op_name.empty())
          place.op_name = name;
        else if (name.size() > place.op_name.size() && name.ends_with(place.op_name))
          place.op_name = name;
        names = colon;
      }
      at = node.first;
    } else if (node.kind == LocNode::Kind::CallSite) {
      names = false;
      // Frames nest to the right: (f at (g at h)). A left nest loses its outer callers, which only matter inside libraries.
      pending = node.second;
      at = node.first;
    } else if (node.kind == LocNode::Kind::File) {
      names = false;
      bool library = is_library(node.text);
      if (best == kNone || !library) best = at;
      if (!library || pending == kNone) break;
      at = pending;
      pending = kNone;
    } else {
      at = kNone;
    }
  }
  if (best != kNone) {
    const LocNode& node = tree_.locations[best];
    auto& file = files_[node.text];
    if (!file) file = std::make_shared<const std::string>(Parser::unescape(node.text));
    place.file = file;
    place.line = node.line;
  }
  return places_.emplace(loc, std::move(place)).first->second;
}

// loc("params['w']") of an argument: a name without a place.
std::string Converter::argument_name(LocId loc) {
  loc = follow(loc);
  if (loc == kNone) return {};
  const LocNode& node = tree_.locations[loc];
  if (node.kind != LocNode::Kind::Name) return {};
  LocId child = follow(node.first);
  if (child != kNone && tree_.locations[child].kind != LocNode::Kind::Unknown) return {};
  return Parser::unescape(node.text);
}

int Converter::text_line(size_t offset) const {
  return static_cast<int>(std::upper_bound(line_starts_.begin(), line_starts_.end(), offset) - line_starts_.begin());
}

}  // namespace shardproof::stablehlo
