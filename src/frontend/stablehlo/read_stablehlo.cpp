// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// StableHLO MLIR text -> hlo::Module: the same module that the readers of HLO make, so that one lowering serves both.
//
// How it works: parse_*.cpp make a dialect-neutral tree of generic and pretty forms; convert.cpp and its neighbours turn functions and
// regions into computations and operators into instructions. The table of names (docs/design.md repeats it):
//
// clang-format off
//   StableHLO, func, sdy, chlo              HLO opcode, and where the attributes go
//   --------------------------------------- ---------------------------------------------------------------------------------------------
//   stablehlo.xxx_yyy, if not below         "xxx-yyy": add, multiply, exponential-minus-one, round-nearest-even, bitcast-convert ...
//   dot_general, dot                        "dot": lhs_batch, rhs_batch, lhs_contract, rhs_contract
//   broadcast_in_dim, broadcast             "broadcast": dimensions (result dimension of each operand dimension)
//   transpose, reverse, concatenate, iota   the same: dimensions
//   slice                                   slice_start, slice_limit, slice_stride
//   pad                                     pad_low, pad_high, pad_interior
//   dynamic_slice                           "dynamic-slice": dynamic_slice_sizes
//   compare                                 direction, compare_type ("" where not written)
//   reduce                                  "reduce": operands, then initial values; dimensions; called = {region}
//   reduce_window, select_and_scatter       window; called = {region} / {select, scatter}
//   gather, scatter                         HLO's names; called = {region} for scatter
//   convolution                             window, dim_labels "b01f_01io->b01f", group counts
//   sort, map                               dimensions, is_stable; called = {region}
//   all_reduce, all_gather, reduce_scatter, "all-reduce" ...: replica_groups, channel_id, use_global_device_ids, dimensions,
//   collective_permute,                     source_target_pairs; called = {region}; the channel type is kept in `other`
//   collective_broadcast
//   all_to_all                              dimensions = {split}, concat_dimension (-1: equal), split_count
//   replica_groups = mesh axes              expanded over the mesh (device_ids and sub-axes included)
//   while                                   "while" of one tuple (carried values, then values used from outside);
//                                           called = {condition, body}; results by "get-tuple-element"
//   if, case                                "conditional": selector, a tuple per branch (values used from outside); called = branches
//   an operator with several results        tuple type, results by "get-tuple-element"; several returned values: the root is a "tuple"
//   constant, sdy.constant, arith.constant  "constant": literal, row-major, one element = splat; null and other unknown_value where the
//                                           file does not hold it (dense<__elided__>, complex)
//   func.call, composite                    "call": called = {function}
//   custom_call                             "custom-call": custom_call_target, backend_config, sharding;
//                                           @mhlo.erf, @mhlo.tan, @mhlo.topk are "erf", "tan", "topk"
//   optimization_barrier, create_token      "opt-barrier", "after-all"
//   rng                                     distribution "rng_uniform" ... (the shape operand is dropped)
//   rng_bit_generator                       algorithm "rng_three_fry" ...
//   chlo.square                             "multiply" of the operand with itself
//   chlo.erf, tan, acos ... sinh, top_k     "erf", "tan", ..., "topk" (k, largest in `other`)
//   any other chlo.x, mhlo.x, shape.x ...   its own name
//   sdy.manual_computation                  "manual-computation": in_shardings, out_shardings ("#sdy.sharding<@mesh, [...]>" each),
//                                           manual_axes; called = {body}
//   sdy.sharding_constraint, reshard,       "sharding-constraint" with `sharding` (none for propagation_barrier)
//   propagation_barrier
//   sdy.named_computation                   "call": called = {body}
//   argument and result attributes          mhlo.sharding, sdy.sharding, mhlo.frontend_attributes xla.sdy.sharding -> parameter_shardings,
//                                           output_shardings; loc("name") or jax.arg_info -> argument_names; jax.result_info ->
//                                           result_names; tf.aliasing_output, mhlo.input_output_alias -> donations
//   sdy.mesh, mhlo.frontend_attributes      meshes
//   xla.sdy.meshes
//   loc(...)                                op_name, file, line: innermost frame outside of installed packages
//   a region that uses outer values         constants are copied in; loops and branches take others as one more tuple element; else refused
// clang-format on
#include <algorithm>

#include "fmt/format.h"
#include "frontend/stablehlo/convert.h"

namespace shardproof::hlo {
namespace {

constexpr std::string_view kBytecode = "ML\xEFR";

// Forms that only MLIR itself reads: what to type to get the text.
std::optional<Diagnostic> binary_form(std::string_view text, const std::string& path) {
  size_t at = text.substr(0, 1 << 16).find(kBytecode);
  if (at == 0) {
    return Diagnostic{
        "SP242",
        fmt::format(
            "this is MLIR bytecode (a StableHLO portable artifact), not text; convert it with: python -c \"import sys; from "
            "jax._src.interpreters import "
            "mlir; from jaxlib.mlir.dialects import stablehlo; print(stablehlo.deserialize_portable_artifact(mlir.make_ir_context(), "
            "open(sys.argv[1], 'rb').read()))\" {0} > {0}.mlir",
            path),
        path, 0, 0};
  }
  bool has_nul = text.substr(0, 4096).find('\0') != std::string_view::npos;
  if (at != std::string_view::npos && has_nul) {
    return Diagnostic{
        "SP242",
        fmt::format("this is a serialized jax.export program, not text; convert it with: python -c \"import sys; from jax import export; "
                    "sys.stdout.write(export.deserialize(bytearray(open(sys.argv[1], 'rb').read())).mlir_module())\" {0} > {0}.mlir",
                    path),
        path, 0, 0};
  }
  if (has_nul) return Diagnostic{"SP240", "a binary file: expected StableHLO as MLIR text (jax.jit(f).lower(...).as_text())", path, 1, 1};
  return std::nullopt;
}

}  // namespace

Result<Module> read_stablehlo(std::string_view text, const std::string& path) {
  if (auto diagnostic = binary_form(text, path)) return *diagnostic;
  if (text.size() >= 0xffffffffu)
    return Diagnostic{"SP241", "the file is larger than 4 GiB: print it with large constants elided", path, 0, 0};
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  try {
    stablehlo::Tree tree;
    stablehlo::Parser parser(text, path, tree);
    parser.parse_file();
    stablehlo::Converter converter(text, path, tree, parser);
    return converter.run();
  } catch (stablehlo::Fail& fail) {
    return std::move(fail.diagnostic);
  }
}

}  // namespace shardproof::hlo
