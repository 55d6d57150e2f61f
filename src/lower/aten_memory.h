// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Aliasing of tensors in a program that is not purely functional. Every tensor value is a *view path* over a *storage*; a storage holds
// one core node, its contents now. A write through a view rebuilds the storage's contents by going back along the path; everyone who
// reads the storage later, through whatever path, sees the new contents. What cannot be resolved (a write through an expanded view, an
// operator that returns a view or a copy depending on strides that the text does not tell) makes the contents unknown: a later read
// throws Unsupported, which the driver turns into an Opaque value.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/build.h"

namespace shardproof::lower::aten {

// Thrown by a lowering for what we do not know; the driver makes the operator's results Opaque.
struct Unsupported {
  std::string reason;
  bool inherited = false;  // an operand is unknown, for this reason
};
// Thrown for arguments that no correct program has; the driver makes a Diagnostic.
struct Malformed {
  std::string message;
};
[[noreturn]] void unsupported(std::string reason);
[[noreturn]] void inherited(std::string reason);
[[noreturn]] void malformed(std::string message);

// One step from a tensor to a view of it.
struct ViewStep {
  enum class Kind : uint8_t { Transpose, Reshape, Slice, Broadcast, ReadOnly } kind = Kind::Reshape;
  std::vector<int64_t> a, b, c;                     // as in ir::Builder's call of that name
  std::function<ir::NodeId(ir::NodeId)> read_only;  // ReadOnly: a view that is never written through

  static ViewStep transpose(std::vector<int64_t> perm) { return {Kind::Transpose, std::move(perm), {}, {}, {}}; }
  static ViewStep reshape(ir::Shape s) { return {Kind::Reshape, std::move(s), {}, {}, {}}; }
  static ViewStep slice(std::vector<int64_t> start, std::vector<int64_t> stop, std::vector<int64_t> step) {
    return {Kind::Slice, std::move(start), std::move(stop), std::move(step), {}};
  }
  static ViewStep broadcast(ir::Shape s, std::vector<int64_t> dims) { return {Kind::Broadcast, std::move(s), std::move(dims), {}, {}}; }
  static ViewStep function(std::function<ir::NodeId(ir::NodeId)> f) { return {Kind::ReadOnly, {}, {}, {}, std::move(f)}; }
};

using TensorId = uint32_t;

class Memory {
 public:
  explicit Memory(ir::Builder& builder) : b_(builder) {}

  TensorId fresh(ir::NodeId contents);                                      // a tensor with memory of its own
  TensorId view(TensorId of, std::vector<ViewStep> steps);                  // shares memory with `of`
  TensorId maybe_view(TensorId of, ir::NodeId contents);                    // shares memory or not: we cannot tell
  void become(TensorId t, TensorId view) { tensors_[t] = tensors_[view]; }  // t is this view from now on: t_, squeeze_ ...
  ir::NodeId read(TensorId t);                                              // throws Unsupported if the contents are not known
  const ir::Shape& shape(TensorId t) const { return b_.shape(tensors_[t].node); }
  ir::DType dtype(TensorId t) const { return b_.dtype(tensors_[t].node); }
  void write(TensorId t, ir::NodeId contents);       // shape and dtype are those of t
  void lose(TensorId t, const std::string& reason);  // from now on nobody knows what is in t's memory

  // The state of the storage behind t.
  uint32_t storage(TensorId t) const { return tensors_[t].storage; }
  bool written(TensorId t) const { return storages_[tensors_[t].storage].version != 0; }

 private:
  struct Storage {
    ir::NodeId node = ir::kNoNode;
    uint32_t version = 0;
    uint32_t group = 0;  // storages of one group may share memory
    std::string lost;    // not empty: the contents are unknown, and why
  };
  struct Tensor {
    uint32_t storage = 0;
    std::vector<ViewStep> path;
    ir::NodeId node = ir::kNoNode;  // contents when the storage had `version`
    uint32_t version = 0;
  };
  ir::NodeId apply(const ViewStep& step, ir::NodeId x);
  ir::NodeId update(const std::vector<ViewStep>& path, size_t k, ir::NodeId x, ir::NodeId part);
  void others_lost(uint32_t storage, const std::string& reason);

  ir::Builder& b_;
  std::vector<Storage> storages_;
  std::vector<std::vector<uint32_t>> groups_;  // members of each group
  std::vector<Tensor> tensors_;
};

// x with its slice [start, stop) by step replaced by `part`.
ir::NodeId replace_slice(ir::Builder& b, ir::NodeId x, ir::NodeId part, const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                         const std::vector<int64_t>& step);

}  // namespace shardproof::lower::aten
