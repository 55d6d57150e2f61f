// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Custom operators from data files (kernels/*.json; docs/kernels.md is the manual). A kernel is either *defined*, as a short list of
// calls of ATen operators, or *opaque*, with a factor rule (kernel_contract.h). The files of kernels/ are compiled in; a manifest may
// name more.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lower/aten.h"
#include "util/result.h"

namespace shardproof::lower::aten {

struct KernelDef {
  std::string op;             // "_C.rms_norm.default"
  std::vector<Param> params;  // `written`: the kernel writes to it
  // A String value that starts with $ refers to a parameter or an earlier step.
  struct Step {
    std::string name, op;
    std::vector<Value> args;
    std::vector<std::pair<std::string, Value>> keywords;
  };
  struct Case {
    std::vector<std::pair<std::string, Value>> when;  // parameters that must have these values
    std::vector<Step> steps;
    std::vector<Value> returns;
    std::vector<std::pair<std::string, Value>> writes;  // written parameter -> its new contents
  };
  std::vector<Case> cases;  // empty: opaque
  // --- opaque
  std::vector<std::string> operands, attributes;
  struct ResultOf {
    std::string write, like;
  };  // written parameter, or "" for a returned value; type of this parameter
  std::vector<ResultOf> results;
  std::string factors;  // "" : nothing is known but that it is a function of operands and attributes
  std::string origin;   // file, for messages
};

class Kernels {
 public:
  static const Kernels& builtin();  // those compiled in
  const KernelDef* find(std::string_view op) const;
  // Adds (or replaces) the kernels of a JSON text. Nothing changes if the text is wrong.
  Result<int> load(std::string_view text, const std::string& path);
  std::vector<const KernelDef*> all() const;  // sorted by name

 private:
  std::unordered_map<std::string, KernelDef> kernels_;
};

}  // namespace shardproof::lower::aten
