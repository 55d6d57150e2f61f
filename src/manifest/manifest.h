// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The manifest (TOML or JSON) as a checked value. Keys, words and errors follow the contract in docs/manifest.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frontend/program.h"
#include "util/result.h"

namespace shardproof::manifest {

struct Axis {
  std::string name;
  int64_t size = 1;
};

// The mesh: axes in order, ranks row-major.
struct Mesh {
  std::vector<Axis> axes;
  int64_t num_ranks() const;
  int axis_index(const std::string& name) const;  // -1 if none
  int64_t coordinate(int64_t rank, int axis) const;
};

enum class ReduceOp : uint8_t { Sum, Avg, Max, Min };

// One step of a placement, applied to what each rank holds so far.
struct Step {
  enum class Kind : uint8_t { Shard, Partial, On, Scale } kind = Kind::Shard;
  std::vector<int> axes;  // mesh axes cut at once, row-major (Shard); one axis for Partial and On
  // Shard
  int64_t dim = 0;
  struct Block {
    int64_t size = 0;
    int64_t copies = 1;
  };                                         // size 0: equal blocks (blocks=N in words)
  std::vector<Block> blocks;                 // empty: one block of the whole dimension
  int64_t equal_blocks = 1;                  // "blocks=2"
  std::vector<std::vector<int64_t>> chunks;  // "zigzag" and explicit lists: what rank r holds, in order
  bool zigzag = false;
  int64_t padded = 0;               // each part is this long (0: no padding)
  std::optional<ir::Literal> fill;  // value of the padding; nullopt: any
  // Partial
  ReduceOp op = ReduceOp::Sum;
  // On
  std::vector<int64_t> coordinates;
  // Scale
  int64_t numerator = 1, denominator = 1;
};

// A free term: a tree over named tensors.
struct Term {
  enum class Kind : uint8_t { Name, Concat, Slice, Transpose, Reshape, Sum, Scale } kind = Kind::Name;
  std::string name;
  int64_t rank = -1;  // Name: rank given as r0.x; -1: not given
  // Concat: dim; Slice: dim, start, end; Transpose: perm; Reshape: sizes; Scale: numerator, denominator
  std::vector<int64_t> numbers;
  std::vector<Term> items;
};

// A placement: steps in the order of application (empty = Replicate everywhere), or free terms that all hold.
struct Placement {
  enum class Kind : uint8_t { Steps, Terms, Any } kind = Kind::Steps;
  std::vector<Step> steps;
  std::vector<Term> terms;
};
std::string to_string(const Placement& placement, const Mesh& mesh);  // canonical words, as they can be pasted into a manifest

// "tokens in [0, 80)", "labels in [0, 80) or = -100", "x >= 0", "x > 0", "any(x != c)", "distinct(x, dim=1)"
struct Fact {
  enum class Kind : uint8_t { Range, AtLeast, GreaterThan, AnyNotEqual, Distinct } kind = Kind::Range;
  std::string input;
  double low = 0, high = 0;  // Range: [low, high)
  bool has_exception = false;
  double exception = 0;  // "or = c"
  double value = 0;      // AtLeast, GreaterThan, AnyNotEqual
  int64_t dim = -1;      // Distinct
  std::string text;      // as written
};

enum class Role : uint8_t { None, Gradient, Updated, Loss, Value };

struct OutputSpec {
  std::string key;                               // as written, may be a glob
  std::vector<std::optional<std::string>> dist;  // empty: by default rules; one entry: all ranks; else one per rank (nullopt = null)
  Role role = Role::None;
  std::string of;
  std::optional<Placement> expect;
  std::string fqn, label;
};

struct ExtraInput {
  std::string name;
  enum class Kind : uint8_t { Value, Iota, SameAs, Any } kind = Kind::Value;
  std::vector<ir::Literal> values;  // one: splat
  std::string same_as;
};

struct Constant {
  std::string key;                  // name or glob, with "rank1:" / "seq:" in front
  std::vector<ir::Literal> values;  // one: splat
};

struct DistributedFile {
  std::vector<std::string> paths;  // several graphs run in order
  std::vector<int64_t> ranks;      // which ranks run it
};

struct Manifest {
  std::string path, directory;  // of the manifest itself
  std::vector<std::string> sequential;
  std::vector<DistributedFile> distributed;
  bool spmd_file = false;  // `distributed` was one path: SPMD program (or one rank)
  enum class SpmdKind : uint8_t { FromModule, Partitions, Replicas } spmd = SpmdKind::FromModule;
  std::optional<Mesh> mesh;  // absent: from the module
  struct Group {
    std::string name;
    std::vector<std::vector<int64_t>> ranks;
  };
  std::vector<Group> groups;                              // resolved to rank lists
  std::vector<std::pair<std::string, Placement>> inputs;  // key -> placement, in order
  std::vector<std::pair<std::string, std::vector<std::optional<std::string>>>> rename;
  std::vector<ExtraInput> extra_inputs;
  std::vector<Constant> constants;
  bool has_outputs = false;
  std::vector<OutputSpec> outputs;
  bool infer = false;
  std::vector<Fact> facts;
  std::vector<std::string> kernels;
  std::vector<std::pair<std::string, std::string>> tangents;  // input -> output it belongs to
  std::string canonical;  // canonical JSON text of the whole manifest, hashed into certificates and witnesses

  // Where things stand in the manifest, for messages: "inputs/x", "outputs/loss", "facts/0", "groups" -> line and column.
  struct Place {
    int line = 0, column = 0;
  };
  std::map<std::string, Place> places;
  Diagnostic error(std::string code, std::string message, const std::string& place) const;  // at the nearest place known
  std::string resolve(const std::string& file) const;                                       // relative paths are relative to the manifest
};

// Reads a manifest file or a folder holding case.json or shardproof.toml.
Result<Manifest> load(const std::string& path);
Result<Manifest> parse(std::string_view text, const std::string& path);  // TOML or JSON, told apart by content
Result<Placement> parse_placement(std::string_view words, const Mesh& mesh);
// "{devices=[2,1]<=[2]}" or "#sdy.sharding<@mesh, [{\"a\"}, {}]>" with the module's own mesh, in the axes of `mesh`.
Result<Placement> from_stated(const frontend::StatedSharding& sharding, const std::vector<frontend::Mesh>& module_meshes, const Mesh& mesh,
                              const ir::Shape& global_shape);

}  // namespace shardproof::manifest
