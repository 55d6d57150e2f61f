// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A problem of a few nodes, and whether two of them are proved equal.
#pragma once

#include <string>
#include <utility>

#include "ir/build.h"
#include "link/problem.h"
#include "prove/prover.h"

namespace shardproof::test {

struct Bench {
  link::Problem p;
  ir::Builder b{p.graph};
  std::string why;    // the last pair was not proved equal
  bool hard = false;  // nested sums are opened (L-65)

  bool equal(ir::NodeId x, ir::NodeId y) {
    p.side.assign(p.graph.nodes.size(), -1);
    prove::Prover prover(p);
    if (hard) prover.try_hard();
    const bool yes = prover.equal(x, y) == prove::Prover::Answer::Equal;
    why = prover.reason() + ": " + prover.detail();
    return yes;
  }
  ir::NodeId in(const char* name, ir::Shape s, ir::DType t = ir::DType::F32) { return b.input(name, t, std::move(s)); }
  ir::NodeId real(double v) { return b.constant(ir::Literal::real(v, ir::DType::F32), ir::DType::F32); }
  ir::NodeId integer(int64_t v) { return b.constant(ir::Literal::integer(v, ir::DType::I32), ir::DType::I32); }
  ir::NodeId add(ir::NodeId x, ir::NodeId y) { return b.binary(ir::Fn::Add, x, y); }
  ir::NodeId sub(ir::NodeId x, ir::NodeId y) { return b.binary(ir::Fn::Sub, x, y); }
  ir::NodeId mul(ir::NodeId x, ir::NodeId y) { return b.binary(ir::Fn::Mul, x, y); }
  ir::NodeId mm(ir::NodeId x, ir::NodeId y) { return b.contract(x, y, {}, {b.rank(x) - 1, b.rank(y) - 2}, ir::DType::F32); }
};

}  // namespace shardproof::test
