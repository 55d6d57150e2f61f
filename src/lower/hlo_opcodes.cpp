// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Which opcode is lowered by what, in HLO's spelling, and what is known of opcodes as such.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "lower/hlo_internal.h"

namespace shardproof::lower {

// StableHLO, CHLO and MHLO spellings become HLO's.
std::string HloLowering::normal_opcode(std::string_view opcode) {
  std::string out(opcode);
  for (const char* dialect : {"stablehlo.", "chlo.", "mhlo.", "sdy.", "func."}) {
    if (out.rfind(dialect, 0) == 0) out = out.substr(std::string_view(dialect).size());
  }
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

bool is_collective(std::string_view opcode) {
  static const std::set<std::string, std::less<>> names{
      "all-reduce",           "all-gather",        "reduce-scatter",   "all-to-all",       "collective-permute",
      "collective-broadcast", "ragged-all-to-all", "all-reduce-start", "all-gather-start", "collective-permute-start",
      "cross-replica-sum",    "all-reduce-scatter"};
  return names.count(opcode) != 0;
}

Effect effect_of(std::string_view opcode) {
  static const std::set<std::string, std::less<>> names{
      "rng", "rng-get-and-update-state", "infeed", "outfeed", "send", "send-done", "recv", "recv-done"};
  return names.count(opcode) != 0                                                      ? Effect::Other
         : is_collective(opcode) || opcode == "partition-id" || opcode == "replica-id" ? Effect::Communicates
                                                                                       : Effect::None;
}

const HloLowering::Handlers& HloLowering::handlers() {
  using L = HloLowering;
  static const Handlers own{
      {"compare", &L::compare},
      {"select", &L::select},
      {"clamp", &L::clamp_op},
      {"convert", &L::convert_op},
      {"bitcast-convert", &L::bitcast_convert},
      {"reduce-precision", &L::reduce_precision},
      {"constant", &L::constant},
      {"iota", &L::iota},
      {"broadcast", &L::broadcast_op},
      {"broadcast-in-dim", &L::broadcast_op},
      {"reshape", &L::reshape_op},
      {"transpose", &L::transpose_op},
      {"bitcast", &L::bitcast},
      {"copy", &L::identity},
      {"copy-start", &L::start},
      {"copy-done", &L::done},
      {"domain", &L::identity},
      {"sharding-constraint", &L::identity},
      {"reshard", &L::identity},
      {"optimization-barrier", &L::identity},
      {"opt-barrier", &L::identity},
      {"add-dependency", &L::identity},
      {"propagation-barrier", &L::identity},
      {"slice", &L::slice_op},
      {"pad", &L::pad},
      {"concatenate", &L::concatenate},
      {"reverse", &L::reverse},
      {"dynamic-slice", &L::dynamic_slice_op},
      {"dynamic-update-slice", &L::dynamic_update_op},
      {"dot", &L::dot},
      {"dot-general", &L::dot},
      {"dynamic-reshape", &L::dynamic_form},
      {"dynamic-iota", &L::dynamic_form},
      {"dynamic-broadcast-in-dim", &L::dynamic_form},
      {"dynamic-pad", &L::dynamic_form},
      {"real-dynamic-slice", &L::dynamic_form},
      {"get-dimension-size", &L::dynamic_form},
      {"cross-replica-sum", &L::all_reduce},
      {"gather", &L::gather},
      {"scatter", &L::scatter},
      {"convolution", &L::convolution},
      {"reduce-window", &L::reduce_window},
      {"select-and-scatter", &L::select_and_scatter},
      {"reduce", &L::reduce},
      {"sort", &L::sort},
      {"topk", &L::top_k},
      {"top-k", &L::top_k},
      {"map", &L::map_op},
      {"rng", &L::rng},
      {"batch-norm-inference", &L::batch_norm},
      {"batch-norm-training", &L::batch_norm},
      {"batch-norm-grad", &L::batch_norm},
      {"call", &L::call},
      {"fusion", &L::call},
      {"named-computation", &L::call},
      {"composite", &L::composite},
      {"while", &L::while_loop},
      {"conditional", &L::conditional},
      {"if", &L::conditional},
      {"case", &L::conditional},
      {"tuple", &L::tuple},
      {"get-tuple-element", &L::get_tuple_element},
      {"async-start", &L::start},
      {"async-update", &L::identity},
      {"async-done", &L::done},
      {"after-all", &L::token},
      {"create-token", &L::token},
      {"infeed", &L::token},
      {"outfeed", &L::token},
      {"custom-call", &L::custom_call},
      {"partition-id", &L::rank_id},
      {"replica-id", &L::rank_id},
      {"all-reduce", &L::all_reduce},
      {"all-reduce-start", &L::all_reduce},
      {"all-reduce-done", &L::identity},
      {"all-gather", &L::all_gather},
      {"all-gather-start", &L::all_gather},
      {"all-gather-done", &L::done},
      {"reduce-scatter", &L::reduce_scatter},
      {"all-to-all", &L::all_to_all},
      {"collective-permute", &L::collective_permute},
      {"collective-permute-start", &L::collective_permute},
      {"collective-permute-done", &L::done},
      {"collective-broadcast", &L::collective_broadcast},
      {"manual-computation", &L::manual_computation},
  };
  static const std::set<std::string_view> elementwise_names{"abs",
                                                            "add",
                                                            "and",
                                                            "atan2",
                                                            "cbrt",
                                                            "ceil",
                                                            "complex",
                                                            "cosine",
                                                            "count-leading-zeros",
                                                            "divide",
                                                            "erf",
                                                            "exponential",
                                                            "exponential-minus-one",
                                                            "floor",
                                                            "imag",
                                                            "is-finite",
                                                            "log",
                                                            "log-plus-one",
                                                            "logistic",
                                                            "maximum",
                                                            "minimum",
                                                            "multiply",
                                                            "negate",
                                                            "not",
                                                            "or",
                                                            "popcnt",
                                                            "power",
                                                            "real",
                                                            "remainder",
                                                            "round-nearest-afz",
                                                            "round-nearest-even",
                                                            "rsqrt",
                                                            "shift-left",
                                                            "shift-right-arithmetic",
                                                            "shift-right-logical",
                                                            "sign",
                                                            "sine",
                                                            "sqrt",
                                                            "subtract",
                                                            "tan",
                                                            "tanh",
                                                            "xor",
                                                            "acos",
                                                            "acosh",
                                                            "asin",
                                                            "asinh",
                                                            "atan",
                                                            "atanh",
                                                            "conj",
                                                            "cosh",
                                                            "digamma",
                                                            "erf-inv",
                                                            "erfc",
                                                            "is-inf",
                                                            "lgamma",
                                                            "sinh",
                                                            "square",
                                                            "exponential-base2",
                                                            "clz",
                                                            "population-count",
                                                            "broadcast-add",
                                                            "broadcast-subtract",
                                                            "broadcast-multiply",
                                                            "broadcast-divide",
                                                            "broadcast-maximum",
                                                            "broadcast-minimum",
                                                            "broadcast-power",
                                                            "broadcast-remainder",
                                                            "broadcast-and",
                                                            "broadcast-or",
                                                            "broadcast-xor"};
  static const Handlers all = [] {
    Handlers table = own;
    for (std::string_view name : elementwise_names) table.emplace(name, &L::elementwise);
    return table;
  }();
  return all;
}

HloLowering::Handler HloLowering::find_handler(std::string_view opcode) {
  const auto it = handlers().find(opcode);
  return it == handlers().end() ? nullptr : it->second;
}

}  // namespace shardproof::lower
