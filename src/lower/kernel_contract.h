// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The factor rule of an opaque kernel, as it stands in Node::attrs after the canonical attributes:
//
//   attrs    := attributes [ "|factors: " rule ]
//   rule     := tensors "->" tensors { ";" clause }
//   tensors  := "(" [dim {"," dim}] ")" { "," "(" ... ")" }           one bracket per operand or result, in order
//   dim      := "1" | factor { "*" factor }                            a row-major product: the leftmost factor is outermost
//   clause   := "parallel" factors | "reduce" factors ":" ("add" | "mul" | "max" | "min") | "linear" operand numbers
//   factors  := factor {"," factor}
//
// Example: (t,h*g,d),(s,h,d),(s,h,e)->(t,h*g,e); parallel h
// A factor is an index with one extent everywhere. `parallel`: the kernel commutes with cutting it (each part of the results is the
// kernel of the parts of the operands). `reduce f:add`: cutting f gives pieces whose sum (product, max, min) is the result. A factor in
// no clause is whole: never cut. `linear k`: the results are linear in operand k, the others fixed. docs/kernels.md says more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "util/result.h"

namespace shardproof::lower {

struct KernelContract {
  using Dim = std::vector<uint32_t>;  // factors, outermost first; empty: extent 1
  struct Factor {
    std::string name;
    enum class Kind : uint8_t { Whole, Parallel, Reduce } kind = Kind::Whole;
    ir::Fn fn = ir::Fn::None;  // Reduce
    int64_t extent = 0;        // set by resolve_extents
  };
  std::vector<Factor> factors;
  std::vector<std::vector<Dim>> operands, results;
  std::vector<uint32_t> linear;
};

// `text` is a rule, or Node::attrs as a whole. An attrs text without a rule gives a contract with no factors, operands or results:
// a function of which nothing else is known.
Result<KernelContract> parse_kernel_contract(std::string_view text);
// Extents of the factors from operand and result shapes; an error if the shapes do not fit the rule or leave an extent open.
Result<KernelContract> resolve_extents(KernelContract contract, const std::vector<ir::Shape>& operands,
                                       const std::vector<ir::Shape>& results);

}  // namespace shardproof::lower
