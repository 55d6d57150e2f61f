// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// An XLA program as written: the common result of the readers of HLO text, HloModuleProto and StableHLO text. StableHLO operators
// are given HLO's opcode names and attribute forms (docs/design.md has the table), so that one lowering (lower/hlo) serves all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/program.h"
#include "ir/types.h"
#include "util/result.h"

namespace shardproof::hlo {

struct Type {
  bool tuple = false;
  bool dynamic = false;  // bounded or unknown dimensions: refused with a reason where used
  ir::DType dtype = ir::DType::Invalid;
  ir::Shape shape;
  std::vector<Type> elements;     // tuple
  std::vector<int64_t> layout;    // minor_to_major ({0,1}), for `bitcast`; empty: descending ({1,0}), written or not stated
  bool tiled = false;             // the layout has tiles or padding (T(8,128)): its memory order is not that of `layout`
  std::string_view float_format;  // exact name of a 4- or 8-bit float type ("f8e4m3fn"; static storage), else empty
};

struct ReplicaGroups {
  bool present = false;
  std::vector<std::vector<int64_t>> groups;  // expanded from {{..}}, [2,4]<=[8]T(1,0), mesh form with device_ids; empty = all in one group
};

// window={size=.. stride=.. pad=lo_hi lhs_dilate=.. rhs_dilate=.. rhs_reversal=..}
struct WindowDim {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, base_dilation = 1, window_dilation = 1;
  bool reversal = false;
};

struct Instruction {
  std::string name;    // without %
  std::string opcode;  // HLO spelling: "dot", "all-reduce", "get-tuple-element", "all-reduce-start" ...
  Type type;
  std::vector<uint32_t> operands;  // indices into the computation's instructions (always smaller than this one's index)
  std::vector<uint32_t> called;  // indices into Module::computations: to_apply, calls, body+condition (condition first), branches in order
  // --- attributes, where the opcode has them
  std::vector<int64_t> dimensions;  // broadcast, reduce, transpose, concatenate, reverse, iota, all-gather, all-to-all ...
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_contract, rhs_contract;  // dot
  std::vector<int64_t> slice_start, slice_limit, slice_stride;            // slice
  std::vector<int64_t> pad_low, pad_high, pad_interior;                   // pad
  std::vector<int64_t> dynamic_slice_sizes;
  std::vector<int64_t> offset_dims, collapsed_slice_dims, start_index_map, operand_batching_dims, start_indices_batching_dims, slice_sizes;
  std::vector<int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, input_batching_dims,
      scatter_indices_batching_dims;
  int64_t index_vector_dim = -1;
  bool indices_are_sorted = false, unique_indices = false;
  std::vector<WindowDim> window;  // convolution, reduce-window, select-and-scatter
  int64_t feature_group_count = 1, batch_group_count = 1;
  std::string dim_labels;    // "b01f_01io->b01f"
  std::string direction;     // compare: EQ NE LT LE GT GE; also comparison type in `compare_type`
  std::string compare_type;  // "FLOAT", "SIGNED", "UNSIGNED", "TOTALORDER" or ""
  std::string transpose_a;   // triangular-solve, cholesky flags verbatim
  ReplicaGroups replica_groups;
  int64_t channel_id = 0;
  bool use_global_device_ids = false;
  std::vector<std::pair<int64_t, int64_t>> source_target_pairs;
  int64_t split_count = 0;                     // StableHLO all_to_all split_count, 0 = from groups
  int64_t concat_dimension = -1;               // StableHLO all_to_all: concat_dimension where it differs from dimensions[0]
  bool is_stable = false, descending = false;  // sort
  int64_t tuple_index = -1;                    // get-tuple-element
  int64_t parameter_number = -1;               // parameter
  std::string custom_call_target;
  std::string backend_config;                    // verbatim
  std::string distribution;                      // rng: rng_uniform ...
  std::string algorithm;                         // rng-bit-generator
  int64_t exponent_bits = 0, mantissa_bits = 0;  // reduce-precision
  std::string fusion_kind;
  std::string async_wrapped;          // async-start etc.
  frontend::StatedSharding sharding;  // sharding=, mhlo.sharding, sdy.sharding
  // sdy.manual_computation / GlobalToLocalShape / SPMDFullToShardShape: opcode "manual-computation" with these, body in `called`
  std::vector<std::string> in_shardings, out_shardings, manual_axes;
  std::shared_ptr<const std::vector<ir::Literal>> literal;  // constant, row-major; one element = splat of any size
  // Attributes kept verbatim, sorted by name. Frontend attributes are here too, each as "frontend_attributes.<key>" with escapes resolved.
  // A constant whose value is not stated has no `literal` and the entry {"constant", "{...}"}; so have complex and tuple constants, with
  // their text.
  std::vector<std::pair<std::string, std::string>> other;
  // --- where it comes from
  std::string op_name;  // metadata op_name
  std::shared_ptr<const std::string> file;
  int line = 0;
  int text_line = 0;
};

struct Computation {
  std::string name;
  std::vector<Instruction> instructions;  // in an order where operands come first
  std::vector<uint32_t> parameters;       // instruction index of parameter k
  uint32_t root = 0;
};

struct Module {
  std::string path, name;
  enum class Dialect : uint8_t { Hlo, StableHlo } dialect = Dialect::Hlo;
  std::vector<Computation> computations;
  uint32_t entry = 0;
  int64_t num_partitions = 0, replica_count = 0;
  // Per-device shapes: collectives or partition-id occur outside shard_map regions, or partitions are stated and only parameters have
  // shardings. False for global shapes and for one-device programs. HLO text does not say it outright: link decides by the shapes.
  bool is_spmd = false;
  std::vector<frontend::Mesh> meshes;
  std::vector<frontend::StatedSharding> parameter_shardings;  // spmd_parameters_shardings / argument attributes
  std::vector<frontend::StatedSharding> output_shardings;     // spmd_output_sharding / result attributes
  std::vector<std::string> argument_names;                    // pytree paths where the module states them, else empty
  std::vector<std::string> result_names;                      // StableHLO jax.result_info: "result[0]['w']", where stated
  std::vector<std::pair<int64_t, int64_t>> donations;         // output -> parameter (input_output_alias, tf.aliasing_output)
  std::vector<std::string> notes;
};

Result<Module> read_text(std::string_view text, const std::string& path);
Result<Module> read_proto(std::string_view bytes, const std::string& path);  // HloModuleProto, HloProto, HloSnapshot
Result<Module> read_stablehlo(std::string_view text, const std::string& path);

}  // namespace shardproof::hlo
