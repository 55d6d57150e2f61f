// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Builder: computes the result's shape, folds what changes nothing, and lets verify() judge every node that it makes.
#include "ir/build.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/result.h"

namespace shardproof::ir {
namespace {

// Wraps an integer to the width of t (two's complement; unsigned types of 64 bits keep the bit pattern).
int64_t wrap(int64_t v, DType t) {
  const int bits = int_bits(t);
  if (bits == 64) return v;
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t u = static_cast<uint64_t>(v) & mask;
  if (is_signed_int(t) && (u >> (bits - 1)) != 0) u |= ~mask;
  return static_cast<int64_t>(u);
}

// The literal in the one form that a tensor of dtype t holds: integers for integers, bools for bools, doubles for floats where exact.
Literal canonical(Literal v, DType t) {
  using Kind = Literal::Kind;
  if (t == DType::Bool) {
    const bool on = v.kind == Kind::Float ? v.d != 0 : v.i != 0;
    return Literal::boolean(on);
  }
  if (is_int(t)) {
    if (v.kind == Kind::Float) {
      SP_CHECK(std::isfinite(v.d) && std::fabs(v.d) < 9.2e18);  // float -> int truncates; outside it is undefined
      return Literal::integer(wrap(static_cast<int64_t>(v.d), t), t);
    }
    return Literal::integer(wrap(v.i, t), t);
  }
  if (v.kind != Kind::Float && v.i >= -(int64_t{1} << 53) && v.i <= (int64_t{1} << 53)) return Literal::real(static_cast<double>(v.i));
  return v;
}

// On bools, sums and maxima are "or", products and minima are "and" (StableHLO add, multiply; ATen likewise).
Fn on_bool(Fn fn, DType t) {
  if (t != DType::Bool) return fn;
  if (fn == Fn::Add || fn == Fn::Max) return Fn::Or;
  if (fn == Fn::Mul || fn == Fn::Min) return Fn::And;
  return fn;
}

int64_t product(int64_t x, int64_t y) {
  int64_t out = 0;
  SP_CHECK(!__builtin_mul_overflow(x, y, &out));
  return out;
}

bool all_equal(const std::vector<int64_t>& v, int64_t value) {
  return std::all_of(v.begin(), v.end(), [&](int64_t k) { return k == value; });
}

std::shared_ptr<const GroupRef> share(GroupRef group) { return std::make_shared<const GroupRef>(std::move(group)); }

Node node_of(Op op, DType t, Shape s, std::vector<NodeId> in) {
  Node n;
  n.op = op;
  n.dtype = t;
  n.shape = std::move(s);
  n.in = std::move(in);
  return n;
}

}  // namespace

NodeId Builder::make(Node node) {
  node.label = label;
  node.source_op = source_op;
  node.loc = loc;
  const NodeId id = g.add(std::move(node));
  if (std::string wrong = verify(g, id); !wrong.empty()) {
    g.nodes.pop_back();
    throw InternalError("malformed node " + wrong);
  }
  return id;
}

NodeId Builder::input(std::string name, DType t, Shape s) {
  Node n = node_of(Op::Input, t, std::move(s), {});
  n.name = std::move(name);
  return make(std::move(n));
}

NodeId Builder::constant(Literal v, DType t, Shape s) {
  Node n = node_of(Op::Const, t, std::move(s), {});
  n.lit = canonical(v, t);
  return make(std::move(n));
}

NodeId Builder::iota(DType t, Shape s, int64_t dim) {
  // What does not fit wraps.
  const int bits = is_int(t) ? int_bits(t) - (is_signed_int(t) ? 1 : 0) : 63;
  if (bits < 62 && dim >= 0 && dim < static_cast<int64_t>(s.size()) && s[static_cast<size_t>(dim)] > (int64_t{1} << bits))
    return convert(iota(DType::I64, std::move(s), dim), t);
  Node n = node_of(Op::Iota, t, std::move(s), {});
  n.a = {dim};
  return make(std::move(n));
}

NodeId Builder::dense(DType t, Shape s, std::vector<Literal> values) {
  for (Literal& v : values) v = canonical(v, t);
  Node n = node_of(Op::Dense, t, std::move(s), {});
  n.dense = std::make_shared<const std::vector<Literal>>(std::move(values));
  return make(std::move(n));
}

NodeId Builder::uninit(DType t, Shape s) { return make(node_of(Op::Uninit, t, std::move(s), {})); }

NodeId Builder::transpose(NodeId x, std::vector<int64_t> perm) {
  SP_CHECK(static_cast<int64_t>(perm.size()) == rank(x));
  Shape s;
  bool identity = true;
  for (size_t k = 0; k < perm.size(); ++k) {
    SP_CHECK(perm[k] >= 0 && perm[k] < rank(x));
    s.push_back(shape(x)[perm[k]]);
    identity = identity && perm[k] == static_cast<int64_t>(k);
  }
  if (identity) return x;
  Node n = node_of(Op::Transpose, dtype(x), std::move(s), {x});
  n.a = std::move(perm);
  return make(std::move(n));
}

NodeId Builder::reshape(NodeId x, Shape s) {
  if (s == shape(x)) return x;
  return make(node_of(Op::Reshape, dtype(x), std::move(s), {x}));
}

NodeId Builder::slice(NodeId x, std::vector<int64_t> start, std::vector<int64_t> stop, std::vector<int64_t> step) {
  SP_CHECK(start.size() == shape(x).size() && stop.size() == start.size() && step.size() == start.size());
  Shape s;
  for (size_t d = 0; d < start.size(); ++d) {
    SP_CHECK(step[d] > 0 && 0 <= start[d] && start[d] <= stop[d] && stop[d] <= shape(x)[d]);
    s.push_back(start[d] == stop[d] ? 0 : (stop[d] - start[d] - 1) / step[d] + 1);
  }
  if (s == shape(x)) return x;
  Node n = node_of(Op::Slice, dtype(x), std::move(s), {x});
  n.a = std::move(start);
  n.b = std::move(stop);
  n.c = std::move(step);
  return make(std::move(n));
}

NodeId Builder::slice_dim(NodeId x, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  SP_CHECK(dim >= 0 && dim < rank(x));
  std::vector<int64_t> from(shape(x).size(), 0), to = shape(x), by(shape(x).size(), 1);
  from[dim] = start;
  to[dim] = stop;
  by[dim] = step;
  return slice(x, std::move(from), std::move(to), std::move(by));
}

NodeId Builder::reverse(NodeId x, std::vector<int64_t> dims) {
  std::sort(dims.begin(), dims.end());
  if (dims.empty()) return x;
  Node n = node_of(Op::Reverse, dtype(x), shape(x), {x});
  n.a = std::move(dims);
  return make(std::move(n));
}

NodeId Builder::broadcast(NodeId x, Shape s, std::vector<int64_t> dims) {
  if (s == shape(x)) {  // dims can then only be the identity; verify() would say otherwise
    SP_CHECK(dims.size() == s.size() && std::is_sorted(dims.begin(), dims.end()));
    return x;
  }
  Node n = node_of(Op::Broadcast, dtype(x), std::move(s), {x});
  n.a = std::move(dims);
  return make(std::move(n));
}

NodeId Builder::broadcast_trailing(NodeId x, Shape s) {
  SP_CHECK(shape(x).size() <= s.size());
  std::vector<int64_t> dims(shape(x).size());
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(s.size() - shape(x).size()));
  return broadcast(x, std::move(s), std::move(dims));
}

NodeId Builder::pad(NodeId x, NodeId value, std::vector<int64_t> low, std::vector<int64_t> high, std::vector<int64_t> interior) {
  SP_CHECK(low.size() == shape(x).size() && high.size() == low.size() && interior.size() == low.size());
  if (all_equal(low, 0) && all_equal(high, 0) && all_equal(interior, 0)) return x;
  Shape s;
  for (size_t d = 0; d < low.size(); ++d) {
    const int64_t extent = shape(x)[d];
    s.push_back(low[d] + high[d] + extent + product(std::max<int64_t>(extent - 1, 0), interior[d]));
  }
  Node n = node_of(Op::Pad, dtype(x), std::move(s), {x, value});
  n.a = std::move(low);
  n.b = std::move(high);
  n.c = std::move(interior);
  return make(std::move(n));
}

NodeId Builder::concat(std::vector<NodeId> xs, int64_t dim) {
  SP_CHECK(!xs.empty() && dim >= 0 && dim < rank(xs[0]));
  std::vector<NodeId> parts;  // empty parts add nothing
  for (NodeId x : xs) {
    SP_CHECK(rank(x) == rank(xs[0]));
    if (shape(x)[dim] != 0) parts.push_back(x);
  }
  if (parts.empty()) parts.push_back(xs[0]);
  if (parts.size() == 1) return parts[0];
  Shape s = shape(parts[0]);
  s[dim] = 0;
  for (NodeId x : parts) s[dim] += shape(x)[dim];
  const DType t = dtype(parts[0]);
  Node n = node_of(Op::Concat, t, std::move(s), std::move(parts));
  n.a = {dim};
  return make(std::move(n));
}

NodeId Builder::window(NodeId x, std::vector<int64_t> dims, std::vector<int64_t> sizes, std::vector<int64_t> stride_dilation) {
  SP_CHECK(sizes.size() == dims.size() && stride_dilation.size() == 2 * dims.size());
  if (dims.empty()) return x;
  Shape s = shape(x);
  for (size_t k = 0; k < dims.size(); ++k) {
    SP_CHECK(dims[k] >= 0 && dims[k] < rank(x) && sizes[k] > 0 && stride_dilation[2 * k] > 0 && stride_dilation[2 * k + 1] > 0);
    const int64_t room = s[dims[k]] - product(sizes[k] - 1, stride_dilation[2 * k + 1]);  // positions of a window's first element
    s[dims[k]] = room <= 0 ? 0 : (room - 1) / stride_dilation[2 * k] + 1;
  }
  s.insert(s.end(), sizes.begin(), sizes.end());
  Node n = node_of(Op::Window, dtype(x), std::move(s), {x});
  n.a = std::move(dims);
  n.b = std::move(sizes);
  n.c = std::move(stride_dilation);
  return make(std::move(n));
}

NodeId Builder::map(Fn fn, std::vector<NodeId> xs, DType t) {
  SP_CHECK(!xs.empty());
  if (fn == Fn::Convert && dtype(xs[0]) == t) return xs[0];
  fn = on_bool(fn, t);
  const bool n_ary = fn == Fn::Add || fn == Fn::Mul || fn == Fn::Max || fn == Fn::Min || fn == Fn::And || fn == Fn::Or;
  if (n_ary && xs.size() == 1) return xs[0];
  Shape s;
  for (NodeId x : xs) {
    if (!shape(x).empty()) s = shape(x);
  }
  Node n = node_of(Op::Map, t, std::move(s), std::move(xs));
  n.fn = fn;
  return make(std::move(n));
}

NodeId Builder::convert(NodeId x, DType t) { return map(Fn::Convert, {x}, t); }

NodeId Builder::reduce(Fn fn, NodeId x, std::vector<int64_t> dims, bool keepdim) {
  std::sort(dims.begin(), dims.end());
  if (dims.empty()) return x;
  Shape s, kept = shape(x);
  for (int64_t d : dims) {
    SP_CHECK(d >= 0 && d < rank(x));
    kept[d] = 1;
  }
  for (int64_t d = 0; d < rank(x); ++d) {
    if (!std::binary_search(dims.begin(), dims.end(), d)) s.push_back(shape(x)[d]);
  }
  Node n = node_of(Op::Reduce, dtype(x), std::move(s), {x});
  n.fn = on_bool(fn, dtype(x));
  n.a = std::move(dims);
  const NodeId out = make(std::move(n));
  return keepdim ? reshape(out, std::move(kept)) : out;
}

NodeId Builder::arg_reduce(Fn fn, NodeId x, int64_t dim, DType t) {
  SP_CHECK(dim >= 0 && dim < rank(x));
  Shape s = shape(x);
  s.erase(s.begin() + dim);
  Node n = node_of(Op::ArgReduce, t, std::move(s), {x});
  n.fn = fn;
  n.a = {dim};
  return make(std::move(n));
}

NodeId Builder::contract(NodeId x, NodeId y, std::vector<int64_t> batch_pairs, std::vector<int64_t> contract_pairs, DType t) {
  std::vector<bool> left(shape(x).size()), right(shape(y).size());
  Shape s;
  SP_CHECK(batch_pairs.size() % 2 == 0 && contract_pairs.size() % 2 == 0);
  const auto mark = [&](const std::vector<int64_t>& pairs) {
    for (size_t k = 0; k < pairs.size(); k += 2) {
      SP_CHECK(pairs[k] >= 0 && pairs[k] < rank(x) && pairs[k + 1] >= 0 && pairs[k + 1] < rank(y));
      left[pairs[k]] = true;
      right[pairs[k + 1]] = true;
    }
  };
  mark(batch_pairs);
  for (size_t k = 0; k < batch_pairs.size(); k += 2) s.push_back(shape(x)[batch_pairs[k]]);
  mark(contract_pairs);
  for (size_t d = 0; d < left.size(); ++d) {
    if (!left[d]) s.push_back(shape(x)[d]);
  }
  for (size_t d = 0; d < right.size(); ++d) {
    if (!right[d]) s.push_back(shape(y)[d]);
  }
  Node n = node_of(Op::Contract, t, std::move(s), {x, y});
  n.a = std::move(batch_pairs);
  n.b = std::move(contract_pairs);
  return make(std::move(n));
}

NodeId Builder::take(NodeId data, std::vector<NodeId> indices, std::vector<int64_t> dims, std::vector<int64_t> index_dims, Shape result,
                     IndexMode mode, NodeId fill) {
  SP_CHECK((mode == IndexMode::Fill) == (fill != kNoNode));
  std::vector<NodeId> in{data};
  in.insert(in.end(), indices.begin(), indices.end());
  if (fill != kNoNode) in.push_back(fill);
  Node n = node_of(Op::Take, dtype(data), std::move(result), std::move(in));
  n.a = std::move(dims);
  n.b = std::move(index_dims);
  n.mode = mode;
  return make(std::move(n));
}

NodeId Builder::scatter(NodeId data, NodeId updates, std::vector<NodeId> indices, std::vector<int64_t> dims,
                        std::vector<int64_t> index_dims, Fn fn, bool set, IndexMode mode) {
  std::vector<NodeId> in{data, updates};
  in.insert(in.end(), indices.begin(), indices.end());
  Node n = node_of(Op::Scatter, dtype(data), shape(data), std::move(in));
  n.a = std::move(dims);
  n.b = std::move(index_dims);
  n.fn = set ? Fn::None : on_bool(fn, dtype(data));
  n.set = set;
  n.mode = mode;
  return make(std::move(n));
}

NodeId Builder::dynamic_slice(NodeId x, std::vector<NodeId> starts, std::vector<int64_t> sizes) {
  if (sizes == shape(x)) return x;  // starts are clamped to 0
  std::vector<NodeId> in{x};
  in.insert(in.end(), starts.begin(), starts.end());
  Node n = node_of(Op::DynamicSlice, dtype(x), sizes, std::move(in));
  n.a = std::move(sizes);
  return make(std::move(n));
}

NodeId Builder::dynamic_update(NodeId x, NodeId update, std::vector<NodeId> starts) {
  if (shape(update) == shape(x) && dtype(update) == dtype(x)) return update;  // starts are clamped to 0
  std::vector<NodeId> in{x, update};
  in.insert(in.end(), starts.begin(), starts.end());
  return make(node_of(Op::DynamicUpdate, dtype(x), shape(x), std::move(in)));
}

NodeId Builder::scan(Fn fn, NodeId x, int64_t dim, bool reverse, bool exclusive) {
  Node n = node_of(Op::Scan, dtype(x), shape(x), {x});
  n.fn = fn;
  n.a = {dim, reverse ? 1 : 0, exclusive ? 1 : 0};
  return make(std::move(n));
}

std::vector<NodeId> Builder::sort(std::vector<NodeId> xs, int64_t dim, bool descending, bool stable) {
  Node n = node_of(Op::Sort, DType::Token, {}, xs);
  n.a = {dim, descending ? 1 : 0, stable ? 1 : 0};
  for (NodeId x : xs) n.tuple.emplace_back(dtype(x), shape(x));
  const NodeId tuple = make(std::move(n));
  std::vector<NodeId> out;
  for (size_t k = 0; k < xs.size(); ++k) out.push_back(result(tuple, static_cast<int64_t>(k)));
  return out;
}

NodeId Builder::random(std::string distribution, Literal parameter, DType t, Shape s, int64_t draw) {
  Node n = node_of(Op::Random, t, std::move(s), {});
  n.name = std::move(distribution);
  n.lit = parameter;
  n.a = {draw};
  return make(std::move(n));
}

std::vector<NodeId> Builder::opaque(std::string name, std::string attrs, std::vector<NodeId> xs,
                                    std::vector<std::pair<DType, Shape>> results) {
  Node n = node_of(Op::Opaque, DType::Token, {}, std::move(xs));
  n.name = std::move(name);
  n.attrs = std::move(attrs);
  n.tuple = std::move(results);
  const size_t count = n.tuple.size();
  const NodeId tuple = make(std::move(n));
  std::vector<NodeId> out;
  for (size_t k = 0; k < count; ++k) out.push_back(result(tuple, static_cast<int64_t>(k)));
  return out;
}

NodeId Builder::result(NodeId tuple, int64_t index) {
  SP_CHECK(index >= 0 && index < static_cast<int64_t>(g[tuple].tuple.size()));
  const auto type = g[tuple].tuple[index];
  Node n = node_of(Op::Result, type.first, type.second, {tuple});
  n.a = {index};
  return make(std::move(n));
}

NodeId Builder::rank_id(bool replica, DType t) {
  Node n = node_of(Op::RankId, t, {}, {});
  n.a = {replica ? 1 : 0};
  return make(std::move(n));
}

NodeId Builder::all_reduce(NodeId x, Fn fn, bool average, GroupRef group) {
  Node n = node_of(Op::AllReduce, dtype(x), shape(x), {x});
  n.fn = on_bool(fn, dtype(x));
  n.a = {average ? 1 : 0};
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::all_gather(NodeId x, int64_t dim, int64_t group_size, GroupRef group) {
  SP_CHECK(dim >= 0 && dim < rank(x) && group_size > 0);
  Shape s = shape(x);
  s[dim] = product(s[dim], group_size);
  Node n = node_of(Op::AllGather, dtype(x), std::move(s), {x});
  n.a = {dim};
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::reduce_scatter(NodeId x, Fn fn, bool average, int64_t dim, int64_t group_size, GroupRef group) {
  SP_CHECK(dim >= 0 && dim < rank(x) && group_size > 0 && shape(x)[dim] % group_size == 0);
  Shape s = shape(x);
  s[dim] /= group_size;
  Node n = node_of(Op::ReduceScatter, dtype(x), std::move(s), {x});
  n.fn = on_bool(fn, dtype(x));
  n.a = {average ? 1 : 0, dim};
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::all_to_all(NodeId x, int64_t split_dim, int64_t concat_dim, int64_t group_size, std::vector<int64_t> send_sizes,
                           std::vector<int64_t> receive_sizes, GroupRef group) {
  SP_CHECK(split_dim >= 0 && split_dim < rank(x) && concat_dim >= 0 && concat_dim < rank(x) && group_size > 0);
  Shape s = shape(x);
  if (send_sizes.empty() && receive_sizes.empty()) {
    SP_CHECK(s[split_dim] % group_size == 0);
    s[split_dim] /= group_size;
    s[concat_dim] = product(s[concat_dim], group_size);
  } else {
    SP_CHECK(split_dim == concat_dim && static_cast<int64_t>(send_sizes.size()) == group_size && receive_sizes.size() == send_sizes.size());
    s[concat_dim] = std::accumulate(receive_sizes.begin(), receive_sizes.end(), int64_t{0});
  }
  Node n = node_of(Op::AllToAll, dtype(x), std::move(s), {x});
  n.a = {split_dim, concat_dim};
  n.b = std::move(send_sizes);
  n.c = std::move(receive_sizes);
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::permute(NodeId x, std::vector<int64_t> pairs, GroupRef group) {
  Node n = node_of(Op::Permute, dtype(x), shape(x), {x});
  n.b = std::move(pairs);
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::broadcast_from(NodeId x, int64_t source, GroupRef group) {
  Node n = node_of(Op::BroadcastFrom, dtype(x), shape(x), {x});
  n.a = {source};
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::send(NodeId x, int64_t peer, int64_t tag, GroupRef group) {
  Node n = node_of(Op::Send, DType::Token, {}, {x});
  n.a = {peer, tag};
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::recv(DType t, Shape s, int64_t peer, int64_t tag, GroupRef group) {
  Node n = node_of(Op::Recv, t, std::move(s), {});
  n.a = {peer, tag};
  n.group = share(std::move(group));
  return make(std::move(n));
}

NodeId Builder::global_to_local(NodeId x, std::vector<int64_t> parts, std::vector<int64_t> part_of_rank,
                                std::vector<int64_t> class_of_rank) {
  SP_CHECK(parts.size() == shape(x).size());
  Shape s = shape(x);
  for (size_t d = 0; d < s.size(); ++d) {
    SP_CHECK(parts[d] > 0 && s[d] % parts[d] == 0);
    s[d] /= parts[d];
  }
  Node n = node_of(Op::GlobalToLocal, dtype(x), std::move(s), {x});
  n.a = std::move(parts);
  n.b = std::move(part_of_rank);
  n.c = std::move(class_of_rank);
  return make(std::move(n));
}

NodeId Builder::local_to_global(NodeId x, std::vector<int64_t> parts, std::vector<int64_t> part_of_rank,
                                std::vector<int64_t> class_of_rank) {
  SP_CHECK(parts.size() == shape(x).size());
  Shape s = shape(x);
  for (size_t d = 0; d < s.size(); ++d) s[d] = product(s[d], parts[d]);
  Node n = node_of(Op::LocalToGlobal, dtype(x), std::move(s), {x});
  n.a = std::move(parts);
  n.b = std::move(part_of_rank);
  n.c = std::move(class_of_rank);
  return make(std::move(n));
}

}  // namespace shardproof::ir
