// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Builder of core nodes: computes result shapes, folds identities (reshape to the same shape, transpose by the identity, one-part
// concat ...), stamps label, source_op and location. The only way lowerings and the linker make nodes.
// Every method throws InternalError on a malformed call; callers validate user input before.
#pragma once

#include <span>

#include "ir/graph.h"

namespace shardproof::ir {

class Builder {
 public:
  explicit Builder(Graph& graph) : g(graph) {}
  Graph& g;

  // Stamped on every node made from now on.
  std::string label, source_op;
  Loc loc;

  const Shape& shape(NodeId x) const { return g[x].shape; }
  DType dtype(NodeId x) const { return g[x].dtype; }
  int64_t rank(NodeId x) const { return static_cast<int64_t>(g[x].shape.size()); }

  NodeId input(std::string name, DType t, Shape s);
  NodeId constant(Literal v, DType t, Shape s = {});
  NodeId iota(DType t, Shape s, int64_t dim);
  NodeId dense(DType t, Shape s, std::vector<Literal> values);
  NodeId uninit(DType t, Shape s);
  NodeId transpose(NodeId x, std::vector<int64_t> perm);
  NodeId reshape(NodeId x, Shape s);
  NodeId slice(NodeId x, std::vector<int64_t> start, std::vector<int64_t> stop, std::vector<int64_t> step);
  NodeId slice_dim(NodeId x, int64_t dim, int64_t start, int64_t stop, int64_t step = 1);
  NodeId reverse(NodeId x, std::vector<int64_t> dims);
  NodeId broadcast(NodeId x, Shape s, std::vector<int64_t> dims);  // dims: result dim of each dim of x
  NodeId broadcast_trailing(NodeId x, Shape s);                    // NumPy/PyTorch alignment
  NodeId pad(NodeId x, NodeId value, std::vector<int64_t> low, std::vector<int64_t> high, std::vector<int64_t> interior);
  NodeId concat(std::vector<NodeId> xs, int64_t dim);
  NodeId window(NodeId x, std::vector<int64_t> dims, std::vector<int64_t> sizes, std::vector<int64_t> stride_dilation);
  NodeId map(Fn fn, std::vector<NodeId> xs, DType t);  // shapes equal or rank 0
  NodeId unary(Fn fn, NodeId x) { return map(fn, {x}, dtype(x)); }
  NodeId binary(Fn fn, NodeId x, NodeId y) { return map(fn, {x, y}, dtype(x)); }
  NodeId compare(Fn fn, NodeId x, NodeId y) { return map(fn, {x, y}, DType::Bool); }
  NodeId convert(NodeId x, DType t);  // identity if already t
  NodeId select(NodeId c, NodeId x, NodeId y) { return map(Fn::Select, {c, x, y}, dtype(x)); }
  NodeId reduce(Fn fn, NodeId x, std::vector<int64_t> dims, bool keepdim = false);
  NodeId arg_reduce(Fn fn, NodeId x, int64_t dim, DType t);
  NodeId contract(NodeId x, NodeId y, std::vector<int64_t> batch_pairs, std::vector<int64_t> contract_pairs, DType t);
  NodeId take(NodeId data, std::vector<NodeId> indices, std::vector<int64_t> dims, std::vector<int64_t> index_dims, Shape result,
              IndexMode mode, NodeId fill = kNoNode);
  NodeId scatter(NodeId data, NodeId updates, std::vector<NodeId> indices, std::vector<int64_t> dims, std::vector<int64_t> index_dims,
                 Fn fn, bool set, IndexMode mode);
  NodeId dynamic_slice(NodeId x, std::vector<NodeId> starts, std::vector<int64_t> sizes);
  NodeId dynamic_update(NodeId x, NodeId update, std::vector<NodeId> starts);
  NodeId scan(Fn fn, NodeId x, int64_t dim, bool reverse = false, bool exclusive = false);
  std::vector<NodeId> sort(std::vector<NodeId> xs, int64_t dim, bool descending, bool stable);
  NodeId random(std::string distribution, Literal parameter, DType t, Shape s, int64_t draw);
  std::vector<NodeId> opaque(std::string name, std::string attrs, std::vector<NodeId> xs, std::vector<std::pair<DType, Shape>> results);
  NodeId result(NodeId tuple, int64_t index);
  NodeId rank_id(bool replica, DType t);
  // Collectives; see Op for the meaning of each argument.
  NodeId all_reduce(NodeId x, Fn fn, bool average, GroupRef group);
  NodeId all_gather(NodeId x, int64_t dim, int64_t group_size, GroupRef group);
  NodeId reduce_scatter(NodeId x, Fn fn, bool average, int64_t dim, int64_t group_size, GroupRef group);
  NodeId all_to_all(NodeId x, int64_t split_dim, int64_t concat_dim, int64_t group_size, std::vector<int64_t> send_sizes,
                    std::vector<int64_t> receive_sizes, GroupRef group);
  NodeId permute(NodeId x, std::vector<int64_t> pairs, GroupRef group);
  NodeId broadcast_from(NodeId x, int64_t source, GroupRef group);
  NodeId send(NodeId x, int64_t peer, int64_t tag, GroupRef group);
  NodeId recv(DType t, Shape s, int64_t peer, int64_t tag, GroupRef group);
  NodeId global_to_local(NodeId x, std::vector<int64_t> parts, std::vector<int64_t> part_of_rank, std::vector<int64_t> class_of_rank);
  NodeId local_to_global(NodeId x, std::vector<int64_t> parts, std::vector<int64_t> part_of_rank, std::vector<int64_t> class_of_rank);

 private:
  NodeId make(Node node);
};

}  // namespace shardproof::ir
