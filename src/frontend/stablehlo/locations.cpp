// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// loc(...) as text. Locations never decide anything, so what is too deep or unknown is skipped, not refused.
#include "frontend/stablehlo/parser.h"

namespace shardproof::stablehlo {

bool Parser::accept_loc(LocId* loc) {
  if (!peek_word("loc")) return false;
  *loc = parse_loc();
  return true;
}

LocId Parser::parse_loc() {
  accept_word("loc");
  expect('(', "after 'loc'");
  LocId id = parse_loc_body(0);
  expect(')', "at the end of the location");
  return id;
}

LocId Parser::parse_loc_body(int depth) {
  LocNode node;
  if (depth > kMaxLocDepth) {  // skip to the ')', ']', ',' or 'at' that ends this part
    int64_t open = 0;
    while (!at_end()) {
      char c = text_[pos_];
      if (c == '"') {
        raw_string();
        continue;
      }
      if (c >= 'a' && c <= 'z') {
        if (open == 0 && peek_word("at")) break;
        identifier("a word of a location");
        continue;
      }
      if (open == 0 && (c == ')' || c == ']' || c == ',')) break;
      if (c == '(' || c == '[') ++open;
      if (c == ')' || c == ']') --open;
      ++pos_;
    }
  } else if (peek() == '"') {
    node.text = raw_string();
    node.kind = LocNode::Kind::Name;
    if (accept(':')) {
      node.kind = LocNode::Kind::File;
      int64_t line = integer("a line number");
      node.line = line > 0 && line < 1'000'000'000 ? static_cast<int>(line) : 0;
      if (accept(':')) integer("a column number");
      if (accept_word("to")) {  // ranges: to :54, to 2938:3
        if (peek() != ':') integer("a line number");
        if (accept(':')) integer("a column number");
      }
    } else if (accept('(')) {
      node.first = parse_loc_body(depth + 1);
      expect(')', "after the child location");
    }
  } else if (accept('#')) {
    node.kind = LocNode::Kind::Alias;
    node.text = suffix_id("a location alias after '#'");
  } else if (accept_word("unknown")) {
  } else if (accept_word("callsite")) {
    node.kind = LocNode::Kind::CallSite;
    expect('(', "after 'callsite'");
    node.first = parse_loc_body(depth + 1);
    if (!accept_word("at")) expected("'at' between callee and caller");
    node.second = parse_loc_body(depth + 1);
    expect(')', "at the end of the callsite");
  } else if (accept_word("fused")) {
    node.kind = LocNode::Kind::Fused;
    if (peek() == '<') balanced('<', '>');
    expect('[', "after 'fused'");
    if (!accept(']')) {
      do {
        LocId part = parse_loc_body(depth + 1);
        if (node.first == kNone) node.first = part;
      } while (accept(','));
      expect(']', "at the end of the fused location");
    }
  } else if (accept_word("loc")) {  // loc(loc(...)), seen in hand-written files
    expect('(', "after 'loc'");
    LocId id = parse_loc_body(depth + 1);
    expect(')', "at the end of the location");
    return id;
  } else {
    expected("a location: unknown, \"file\":line:column, \"name\"(...), callsite(...), fused[...] or #loc1");
  }
  tree_.locations.push_back(node);
  return static_cast<LocId>(tree_.locations.size() - 1);
}

}  // namespace shardproof::stablehlo
