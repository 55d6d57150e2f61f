// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A certificate as it is written and read: what the prover claims, nothing of how it found it.
//
//   definitions   terms: closed functions of index variables, each defined by earlier ones (docs/trust.md gives the meaning of each kind)
//   claims        for a node of the linked graph: its elements, as cells with a poly each
//   outputs       which placement was proved, and its goals: pairs of nodes that must be equal
//
// The file is a row of variable-length integers and strings behind a magic line. `decode` accepts any bytes: every size is bounded by the
// bytes that are left, nothing recurses, and what it returns is well formed (references go backwards, maps have the right size), so that
// the checker needs no further tests of form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "util/result.h"

namespace shardproof::certificate {

enum class TermKind : uint8_t { Base, Iota, Inf, Lit, Fn, Sum, Red, Bracket, Take, Whole, Grid };
constexpr int kTermKinds = 11;
constexpr int64_t kUnbounded = -1;                                   // a dimension that no read bounds
constexpr int64_t kNegInf = INT64_MIN / 4, kPosInf = INT64_MAX / 4;  // of brackets

struct Factor {
  uint32_t node = 0;
  int64_t num = 1, den = 1;  // exponent
  std::vector<int64_t> map;  // one affine row per dimension of the node: coefficients of the variables, constant
};
struct Product {
  int64_t num = 1, den = 1;  // coefficient
  std::vector<Factor> f;
};
using Poly = std::vector<Product>;  // a sum; empty = 0

struct Cell {
  std::vector<int64_t> ext;  // extents of its variables
  std::vector<int64_t> pos;  // one affine row per dimension of the tensor
  Poly poly;
};

struct TermNode {
  TermKind kind = TermKind::Base;
  ir::Fn fn = ir::Fn::None;          // Fn, Red
  ir::DType dtype = ir::DType::F32;  // Fn: result of conversions and integer operators
  std::vector<int64_t> dims;
  std::vector<Poly> args;
  std::vector<int64_t> box;                 // Red: lo, hi of each bound variable
  int64_t lo = 0, hi = 0;                   // Bracket
  std::vector<std::vector<int64_t>> inner;  // Take, Whole: extents of the inner variables of each argument
  size_t results = 0;                       // Whole: trailing dimensions that are the result's own
  std::string name;                         // Lit, Whole; Fn convert: the type converted from
  ir::NodeId origin = ir::kNoNode;          // Base: the graph node whose value it is
  std::vector<Cell> cells;                  // Grid
};

// Variables in which argument `arg` is written.
size_t variables_of(const TermNode& n, size_t arg);

struct Claim {
  ir::NodeId node = 0;
  std::vector<Cell> cells;
};

struct OutputProof {
  std::string name, placement;  // canonical words
  std::vector<std::pair<ir::NodeId, ir::NodeId>> goals;
};

struct Certificate {
  std::string product;                                              // version that wrote it
  std::string manifest;                                             // path, to find the programs again
  std::string manifest_hash;                                        // of the manifest's canonical text
  std::vector<std::pair<std::string, std::string>> files, kernels;  // path, SHA-256
  std::vector<OutputProof> outputs;
  ir::NodeId linked = 0;  // nodes of the linked graph before goals were made; goals' nodes are numbered from here
  std::vector<TermNode> terms;
  std::vector<int64_t> ranks;  // rank of the tensor of each claim (its number of dimensions)
  std::vector<Claim> claims;
};

std::string encode(const Certificate& certificate);
constexpr std::string_view kMagic = "shardproof certificate 1\n";
Result<Certificate> decode(std::string_view bytes, const std::string& file);

}  // namespace shardproof::certificate
