// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Storages, view paths and writes through them. See the header for the model.
#include "lower/aten_memory.h"

#include "util/result.h"

namespace shardproof::lower::aten {

using ir::NodeId;

void unsupported(std::string reason) { throw Unsupported{std::move(reason)}; }
void inherited(std::string reason) { throw Unsupported{std::move(reason), true}; }
void malformed(std::string message) { throw Malformed{std::move(message)}; }

TensorId Memory::fresh(NodeId contents) {
  const auto s = static_cast<uint32_t>(storages_.size());
  storages_.push_back({contents, 0, s, ""});
  groups_.push_back({s});
  tensors_.push_back({s, {}, contents, 0});
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Memory::view(TensorId of, std::vector<ViewStep> steps) {
  NodeId node = read(of);
  for (const ViewStep& step : steps) node = apply(step, node);
  Tensor t = tensors_[of];
  for (ViewStep& step : steps) t.path.push_back(std::move(step));
  t.node = node;
  t.version = storages_[t.storage].version;
  tensors_.push_back(std::move(t));
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Memory::maybe_view(TensorId of, NodeId contents) {
  const TensorId t = fresh(contents);
  const uint32_t group = storages_[tensors_[of].storage].group;
  storages_[tensors_[t].storage].group = group;
  groups_[group].push_back(tensors_[t].storage);
  return t;
}

NodeId Memory::read(TensorId id) {
  Tensor& t = tensors_[id];
  const Storage& s = storages_[t.storage];
  if (!s.lost.empty()) inherited(s.lost);
  if (t.version != s.version) {
    NodeId node = s.node;
    for (const ViewStep& step : t.path) node = apply(step, node);
    t.node = node;
    t.version = s.version;
  }
  return t.node;
}

void Memory::write(TensorId id, NodeId contents) {
  Tensor& t = tensors_[id];
  Storage& s = storages_[t.storage];
  if (b_.shape(contents) != b_.shape(t.node) || b_.dtype(contents) != b_.dtype(t.node))
    malformed("a write changes the shape or the type of a tensor");
  if (!s.lost.empty() && !t.path.empty()) inherited(s.lost);
  const NodeId base = t.path.empty() ? contents : update(t.path, 0, s.node, contents);
  s.node = base;
  s.lost.clear();
  t.version = ++s.version;
  t.node = contents;
  others_lost(t.storage, "it may share memory with a tensor that was written in place (view or copy: the strides decide)");
}

void Memory::lose(TensorId t, const std::string& reason) {
  Storage& s = storages_[tensors_[t].storage];
  s.lost = reason;
  ++s.version;
  others_lost(tensors_[t].storage, reason);
}

// Whoever may share memory with `storage`, but need not, is in doubt now.
void Memory::others_lost(uint32_t storage, const std::string& reason) {
  for (const uint32_t k : groups_[storages_[storage].group])
    if (k != storage) {
      storages_[k].lost = reason;
      ++storages_[k].version;
    }
}

NodeId Memory::apply(const ViewStep& step, NodeId x) {
  switch (step.kind) {
    case ViewStep::Kind::Transpose: return b_.transpose(x, step.a);
    case ViewStep::Kind::Reshape: return b_.reshape(x, step.a);
    case ViewStep::Kind::Slice: return b_.slice(x, step.a, step.b, step.c);
    case ViewStep::Kind::Broadcast: return b_.broadcast(x, step.a, step.b);
    case ViewStep::Kind::ReadOnly: return step.read_only(x);
  }
  SP_CHECK(false);
  return x;
}

// x with what `path` from step k on shows of it replaced by `part`. Paths are short: one recursion per step of the program's own views.
NodeId Memory::update(const std::vector<ViewStep>& path, size_t k, NodeId x, NodeId part) {
  std::vector<NodeId> before{x};  // before[j] = what step k+j starts from
  for (size_t j = k; j + 1 < path.size(); ++j) before.push_back(apply(path[j], before.back()));
  for (size_t j = path.size(); j-- > k;) {
    const ViewStep& step = path[j];
    const NodeId from = before[j - k];
    switch (step.kind) {
      case ViewStep::Kind::Transpose: {
        std::vector<int64_t> inverse(step.a.size());
        for (size_t d = 0; d < step.a.size(); ++d) inverse[static_cast<size_t>(step.a[d])] = static_cast<int64_t>(d);
        part = b_.transpose(part, inverse);
        break;
      }
      case ViewStep::Kind::Reshape: part = b_.reshape(part, b_.shape(from)); break;
      case ViewStep::Kind::Slice: part = replace_slice(b_, from, part, step.a, step.b, step.c); break;
      case ViewStep::Kind::Broadcast:
        if (ir::num_elements(b_.shape(from)) != ir::num_elements(b_.shape(part))) unsupported("a write through an expanded view");
        part = b_.reshape(part, b_.shape(from));
        break;
      case ViewStep::Kind::ReadOnly: unsupported("a write through a view of this kind");
    }
  }
  return part;
}

NodeId replace_slice(ir::Builder& b, NodeId x, NodeId part, const std::vector<int64_t>& start, const std::vector<int64_t>& stop,
                     const std::vector<int64_t>& step) {
  const ir::Shape shape = b.shape(x);
  if (ir::num_elements(b.shape(part)) == 0) return x;
  bool strided = false;
  for (size_t d = 0; d < shape.size(); ++d) strided = strided || step[d] != 1;
  if (!strided) {
    // From the innermost region outwards: the pieces of dimension d before and after the part, within the region of the dimensions < d.
    std::vector<NodeId> region{x};  // region[d]: x cut to [start, stop) in dimensions < d
    for (size_t d = 0; d < shape.size(); ++d) region.push_back(b.slice_dim(region.back(), static_cast<int64_t>(d), start[d], stop[d]));
    for (size_t d = shape.size(); d-- > 0;) {
      std::vector<NodeId> pieces;
      const auto dim = static_cast<int64_t>(d);
      if (start[d] > 0) pieces.push_back(b.slice_dim(region[d], dim, 0, start[d]));
      pieces.push_back(part);
      if (stop[d] < shape[d]) pieces.push_back(b.slice_dim(region[d], dim, stop[d], shape[d]));
      part = pieces.size() == 1 ? part : b.concat(pieces, dim);
    }
    return part;
  }
  // With steps: blow the part up to the places it is written to, and choose by a mask that is blown up likewise.
  std::vector<int64_t> low(shape.size()), high(shape.size()), interior(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t n = b.shape(part)[d];
    low[d] = start[d];
    interior[d] = step[d] - 1;
    high[d] = shape[d] - start[d] - (n + (n - 1) * (step[d] - 1));
  }
  const ir::DType t = b.dtype(x);
  const NodeId zero = b.constant(ir::Literal::integer(0), t);
  const NodeId there = b.pad(b.constant(ir::Literal::boolean(true), ir::DType::Bool, b.shape(part)),
                             b.constant(ir::Literal::boolean(false), ir::DType::Bool), low, high, interior);
  return b.select(there, b.pad(part, zero, low, high, interior), x);
}

}  // namespace shardproof::lower::aten
