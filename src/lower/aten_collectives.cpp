// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Collectives and messages: the functional forms (_c10d_functional), their autograd and in-place forms, c10d's own in-place operators,
// DTensor's and vLLM's. The group stays a name (or the attribute that holds the process group) until the linker looks it up.
//
// Peers of isend/irecv/batch_p2p_ops are global ranks (PyTorch translates group ranks before it calls them), those of c10d.send/recv_ are
// ranks within the group.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

ir::GroupRef Lowering::group(const Value& v) {
  ir::GroupRef g;
  g.kind = ir::GroupRef::Kind::Name;
  if (v.is(Value::Kind::String) || v.is(Value::Kind::Object) || v.is(Value::Kind::Constant))
    g.name = v.text;
  else if (v.is(Value::Kind::Int))
    g.name = std::to_string(v.i);
  else
    unsupported("a group that is no name");
  if (g.name.empty()) unsupported("a group without a name");
  return g;
}

// A functional collective gives its result at once and fills it later: what reads it must wait first. Here a result is what it will be.
void Lowering::note_unwaited(const fx::Graph& graph) {
  std::unordered_set<std::string_view> pending;
  std::vector<std::string> read;
  std::vector<const fx::Arg*> stack;
  const auto look = [&](const fx::Arg& whole) {
    if (pending.empty()) return;
    stack.push_back(&whole);
    while (!stack.empty()) {
      const fx::Arg& a = *stack.back();
      stack.pop_back();
      for (const fx::Arg& item : a.items) stack.push_back(&item);
      if (a.kind == fx::Arg::Kind::Name && pending.count(a.text) != 0 && std::find(read.begin(), read.end(), a.text) == read.end())
        read.push_back(a.text);
    }
  };
  for (const fx::Value& v : graph.values) {
    if (v.op == fx::Value::Op::GetItem && !v.args.empty() && v.args[0].kind == fx::Arg::Kind::Name && pending.count(v.args[0].text) != 0) {
      pending.insert(v.name);
      continue;
    }
    const bool functional = v.target.starts_with("_c10d_functional.") && v.target.find("_.") == std::string::npos;
    if (!v.target.starts_with("_c10d_functional.wait_tensor")) {
      for (const fx::Arg& a : v.args) look(a);
      for (const auto& [key, a] : v.kwargs) look(a);
    }
    if (functional && !v.target.starts_with("_c10d_functional.wait_tensor")) pending.insert(v.name);
  }
  for (const fx::OutputRef& o : graph.outputs) look(o.value);
  if (read.empty()) return;
  const size_t more = read.size() > 3 ? read.size() - 3 : 0;
  read.resize(read.size() - more);
  note(fmt::format("{}{} of {}: read without wait_tensor, and taken to be complete by then", fmt::join(read, ", "),
                   more ? fmt::format(" and {} more", more) : "", program.file));
}

namespace {

struct Reduction {
  Fn fn;
  bool average;
};
Reduction reduction(const std::string& name, DType t) {
  const bool is_bool = t == DType::Bool;
  if (name == "sum") return {is_bool ? Fn::Or : Fn::Add, false};
  if (name == "avg") return {Fn::Add, true};
  if (name == "product" || name == "prod") return {is_bool ? Fn::And : Fn::Mul, false};
  if (name == "max") return {is_bool ? Fn::Or : Fn::Max, false};
  if (name == "min") return {is_bool ? Fn::And : Fn::Min, false};
  if (name == "band" && !ir::is_float(t)) return {Fn::And, false};
  if (name == "bor" && !ir::is_float(t)) return {Fn::Or, false};
  unsupported("the reduction " + name);
}

// Complex numbers travel as pairs of reals.
template <typename F>
NodeId real_pairs(Call& c, NodeId x, F&& f) {
  if (!ir::is_complex(c.b.dtype(x))) return f(x);
  const auto [re, im] = c.l.parts(x);
  const NodeId a = f(re), b = f(im);
  return c.l.complex_from(a, b);
}

NodeId all_reduce_of(Call& c, NodeId x, const std::string& op, const ir::GroupRef& g) {
  return real_pairs(c, x, [&](NodeId y) {
    const Reduction r = reduction(op, c.b.dtype(y));
    return c.b.all_reduce(y, r.fn, r.average, g);
  });
}
NodeId at_least_1d(Call& c, NodeId x) { return c.b.rank(x) == 0 ? c.b.reshape(x, {1}) : x; }
NodeId all_gather_of(Call& c, NodeId x, int64_t dim, int64_t size, const ir::GroupRef& g) {
  if (size < 1) malformed("a group of no ranks");
  return real_pairs(c, at_least_1d(c, x), [&](NodeId y) { return c.b.all_gather(y, dim, size, g); });
}
NodeId reduce_scatter_of(Call& c, NodeId x, const std::string& op, int64_t dim, int64_t size, const ir::GroupRef& g) {
  if (size < 1 || c.b.rank(x) == 0 || c.shape(x)[static_cast<size_t>(dim)] % size)
    malformed("reduce_scatter of a size that the group does not divide");
  return real_pairs(c, x, [&](NodeId y) {
    const Reduction r = reduction(op, c.b.dtype(y));
    return c.b.reduce_scatter(y, r.fn, r.average, dim, size, g);
  });
}

// ---- functional

Value all_reduce(Call& c) { return c.out(all_reduce_of(c, c.t(0), c.str(1), c.l.group(c.args[2]))); }
Value all_reduce_coalesced(Call& c) {
  Nodes out;
  for (const NodeId x : c.ts(0)) out.push_back(all_reduce_of(c, x, c.str(1), c.l.group(c.args[2])));
  return c.outs(out);
}
Value all_reduce_coalesced_in_place(Call& c) {
  for (const Value& v : c.args[0].items) {
    if (!v.is(Value::Kind::Tensor)) unsupported("a list of something other than tensors");
    c.m.write(v.tensor, all_reduce_of(c, c.node(v), c.str(1), c.l.group(c.args[2])));
  }
  return c.args[0];
}
Value all_gather(Call& c) { return c.out(all_gather_of(c, c.t(0), 0, c.i(1), c.l.group(c.args[2]))); }
Value all_gather_coalesced(Call& c) {
  Nodes out;
  for (const NodeId x : c.ts(0)) out.push_back(all_gather_of(c, x, 0, c.i(1), c.l.group(c.args[2])));
  return c.outs(out);
}
Value reduce_scatter(Call& c) { return c.out(reduce_scatter_of(c, c.t(0), c.str(1), 0, c.i(2), c.l.group(c.args[3]))); }
Value reduce_scatter_coalesced(Call& c) {
  Nodes out;
  for (const NodeId x : c.ts(0)) out.push_back(reduce_scatter_of(c, x, c.str(1), 0, c.i(2), c.l.group(c.args[3])));
  return c.outs(out);
}
// input, output_split_sizes, input_split_sizes, group. Without sizes: equal parts, and the result has the input's shape.
Value all_to_all_single(Call& c) {
  const NodeId x = c.t(0);
  const Ints receive = c.has(1) ? c.ints(1) : Ints{}, send = c.has(2) ? c.ints(2) : Ints{};
  const ir::GroupRef g = c.l.group(c.args[3]);
  if (c.b.rank(x) == 0) malformed("all_to_all of a tensor without dimensions");
  int64_t total = 0;
  for (const int64_t n : send) total += n;
  if (send.empty() != receive.empty() || (!send.empty() && total != c.shape(x)[0])) malformed("all_to_all: the split sizes do not fit");
  if (!send.empty() && send.size() != receive.size()) malformed("all_to_all: the split sizes do not fit");
  return c.out(real_pairs(
      c, x, [&](NodeId y) { return c.b.all_to_all(y, 0, 0, std::max<int64_t>(1, static_cast<int64_t>(send.size())), send, receive, g); }));
}
Value broadcast(Call& c) {
  const ir::GroupRef g = c.l.group(c.args[2]);
  return c.out(real_pairs(c, c.t(0), [&](NodeId y) { return c.b.broadcast_from(y, c.i(1), g); }));
}
Value wait_tensor(Call& c) {
  const NodeId x = c.t(0);
  c.l.program.waits.emplace_back(x,
                                 static_cast<NodeId>(c.l.program.graph.nodes.size()));  // the linker looks for hangs: waiting blocks here
  if (c.args[0].is(Value::Kind::Tensor)) return c.view(0, {});
  return c.out(x);
}
// input gather_dim shard_dim group: the group's size is known from the result's shape only
Value shard_dim_alltoall(Call& c) {
  const NodeId x = c.t(0);
  const int64_t r = c.b.rank(x), gather = c.dim(1, r), shard = c.dim(2, r);
  const fx::TensorType* a = c.annotated(0);
  if (!a || static_cast<int64_t>(a->shape.size()) != r) unsupported("shard_dim_alltoall without the result's shape in the text");
  const int64_t out = a->shape[static_cast<size_t>(gather)], in = c.shape(x)[static_cast<size_t>(gather)];
  if (in == 0 || out % in) unsupported("shard_dim_alltoall of uneven shards");
  return c.out(c.b.all_to_all(x, shard, gather, out / in, {}, {}, c.l.group(c.args[3])));
}
Value mesh_group(Call& c) {  // mesh, dim -> a process group; named after the mesh and the dimension
  if (!c.args[0].is(Value::Kind::Object) && !c.args[0].is(Value::Kind::Constant)) unsupported("a mesh that is no input");
  return Value::named(Value::Kind::Object, fmt::format("{}[{}]", c.args[0].text, c.i(1)));
}

// ---- point to point

ir::GroupRef everyone(Call& c, size_t k) {
  // Global ranks: the "group" in which the peer is an index is everyone. The communicator's name stays with it.
  ir::GroupRef g = c.l.group(c.args[k]);
  g.kind = ir::GroupRef::Kind::Partitions;
  return g;
}
Value isend(Call& c) {
  const NodeId x = c.t(0);
  c.b.send(x, c.i(1), c.i(2), everyone(c, 3));
  return c.out(c.b.constant(Literal::integer(0), c.b.dtype(x), {0}));
}
// The buffer gives shape and type only. The linker lets functional operators block where their result is used, not here.
Value receive(Call& c, NodeId like, int64_t peer, int64_t tag, const ir::GroupRef& g) {
  return c.out(c.b.recv(c.b.dtype(like), c.shape(like), peer, tag, g));
}
Value irecv(Call& c) { return receive(c, c.t(0), c.i(1), c.i(2), everyone(c, 3)); }
Value batch_p2p(Call& c) {  // ops peers tags tensors group: all are posted at once, so sends come first
  const Ints peers = c.ints(1), tags = c.ints(2);
  if (!c.args[0].is(Value::Kind::List) || !c.args[3].is(Value::Kind::List)) malformed("batch_p2p_ops needs lists");
  const std::vector<Value>& ops = c.args[0].items;
  const std::vector<Value>& tensors = c.args[3].items;
  if (ops.size() != peers.size() || ops.size() != tags.size() || ops.size() != tensors.size())
    malformed("batch_p2p_ops: lists of different lengths");
  const ir::GroupRef g = everyone(c, 4);
  std::vector<Value> out(ops.size());
  for (size_t k = 0; k < ops.size(); ++k) {
    const std::string& op = ops[k].text;
    if (op != "isend" && op != "irecv" && op != "send" && op != "recv") unsupported("batch_p2p_ops with " + op);
    if (!op.ends_with("send")) continue;
    const NodeId x = c.node(tensors[k]);
    c.b.send(x, peers[k], tags[k], g);
    out[k] = c.out(c.b.constant(Literal::integer(0), c.b.dtype(x), {0}));
  }
  for (size_t k = 0; k < ops.size(); ++k)
    if (!ops[k].text.ends_with("send")) out[k] = receive(c, c.node(tensors[k]), peers[k], tags[k], g);
  return Value::list(std::move(out));
}

// ---- c10d's own operators: in place, on lists of tensors, with process group objects

const Value& only(Call& c, size_t k) {
  const Value& v = c.args[k];
  if (v.is(Value::Kind::Tensor)) return v;
  if (!v.is(Value::Kind::List) || v.items.size() != 1 || !v.items[0].is(Value::Kind::Tensor)) unsupported("a list of several tensors");
  return v.items[0];
}
// The reduction is an object whose value the text lacks: the manifest's `constants` may give c10d's number for it.
std::string reduce_op(Call& c, size_t k) {
  const Value& v = c.args[k];
  if (v.is(Value::Kind::String)) return v.text;
  if (v.is(Value::Kind::Constant) || v.is(Value::Kind::Object)) {
    const auto number = c.l.constants.constant(v.text, DType::I64, {});
    static constexpr const char* kNames[] = {"sum", "avg", "product", "min", "max", "band", "bor", "bxor"};
    if (number && number->size() == 1 && (*number)[0].kind == Literal::Kind::Int && (*number)[0].i >= 0 && (*number)[0].i < 8)
      return kNames[(*number)[0].i];
    unsupported("the reduction is the object " + v.text + ": give its number under `constants` (0 sum, 1 avg, 2 product, 3 min, 4 max)");
  }
  unsupported("a reduction of this form");
}
Value send(Call& c) {  // tensors group dst tag
  c.b.send(c.node(only(c, 0)), c.i(2), c.i(3), c.l.group(c.args[1]));
  return {};
}
Value recv_in_place(Call& c) {  // tensors group src tag
  const Value to = only(c, 0);
  const DType t = c.m.dtype(to.tensor);
  const Shape s = c.m.shape(to.tensor);
  c.m.write(to.tensor, c.b.recv(t, s, c.i(2), c.i(3), c.l.group(c.args[1])));
  return {};
}
Value allreduce_in_place(Call& c) {  // tensors group op sparse_indices async timeout
  const Value x = only(c, 0);
  c.m.write(x.tensor, all_reduce_of(c, c.node(x), reduce_op(c, 2), c.l.group(c.args[1])));
  return Value::list({Value::list({x}), {}});
}
Value broadcast_in_place(Call& c) {  // tensors group root_rank root_tensor
  const Value x = only(c, 0);
  const ir::GroupRef g = c.l.group(c.args[1]);
  c.m.write(x.tensor, real_pairs(c, c.node(x), [&](NodeId y) { return c.b.broadcast_from(y, c.i(2), g); }));
  return Value::list({Value::list({x}), {}});
}
int64_t ratio(Call& c, NodeId large, NodeId small) {
  const int64_t n = ir::num_elements(c.shape(large)), m = ir::num_elements(c.shape(small));
  if (m == 0 || n % m) unsupported("a collective whose group size the shapes do not tell");
  return n / m;
}
Value allgather_base(Call& c) {  // output input group
  const Value to = only(c, 0);
  const NodeId x = c.node(only(c, 1)), y = c.node(to);
  const NodeId all = all_gather_of(c, x, 0, ratio(c, y, x), c.l.group(c.args[2]));
  c.m.write(to.tensor, c.b.reshape(all, c.shape(y)));
  return Value::list({to, {}});
}
Value reduce_scatter_base(Call& c) {  // output input group op
  const Value to = only(c, 0);
  const NodeId x = c.node(only(c, 1)), y = c.node(to);
  const NodeId part = reduce_scatter_of(c, x, reduce_op(c, 3), 0, ratio(c, x, y), c.l.group(c.args[2]));
  c.m.write(to.tensor, c.b.reshape(part, c.shape(y)));
  return Value::list({to, {}});
}
Value alltoall_base(Call& c) {  // output input group output_split_sizes input_split_sizes
  const Value to = only(c, 0);
  const Value r = c.l.call("_c10d_functional.all_to_all_single.default", {only(c, 1), c.args[3], c.args[4], c.args[2]});
  const NodeId y = c.node(r);
  if (c.shape(y) != c.m.shape(to.tensor)) malformed("all_to_all: the output has another shape");
  c.m.write(to.tensor, y);
  return {};
}
Value allgather_lists(Call& c) {  // output lists, inputs, group
  const NodeId x = c.node(only(c, 1));
  if (!c.args[0].is(Value::Kind::List) || c.args[0].items.size() != 1 || !c.args[0].items[0].is(Value::Kind::List))
    unsupported("several output lists");
  const std::vector<Value> outs = c.args[0].items[0].items;
  const auto n = static_cast<int64_t>(outs.size());
  if (n < 1) malformed("an empty output list");
  const NodeId all = all_gather_of(c, c.unsqueeze(x, 0), 0, n, c.l.group(c.args[2]));
  for (int64_t k = 0; k < n; ++k) {
    const Value& to = outs[static_cast<size_t>(k)];
    if (!to.is(Value::Kind::Tensor) || c.m.shape(to.tensor) != c.shape(x)) unsupported("output tensors of other shapes");
    c.m.write(to.tensor, c.b.reshape(c.b.slice_dim(all, 0, k, k + 1), c.shape(x)));
  }
  return Value::list({c.args[0], {}});
}
Value barrier(Call&) { return {}; }

// ---- vLLM: dim, world size, group name

Value vllm_all_reduce(Call& c) { return c.out(all_reduce_of(c, c.t(0), "sum", c.l.group(c.args[1]))); }
Value vllm_all_gather(Call& c) {
  const NodeId x = c.t(0);
  return c.out(all_gather_of(c, x, c.dim(1, c.b.rank(x)), c.i(2), c.l.group(c.args[3])));
}
Value vllm_reduce_scatter(Call& c) {
  const NodeId x = c.t(0);
  return c.out(reduce_scatter_of(c, x, "sum", c.dim(1, c.b.rank(x)), c.i(2), c.l.group(c.args[3])));
}
constexpr const char* kAllToAll = "input output_split_sizes input_split_sizes group_name";
const OpRow kRows[] = {
    {"_c10d_functional.all_reduce.default", "input reduce_op group_name", all_reduce},
    {"_c10d_functional.all_reduce_coalesced.default", "inputs reduce_op group_name", all_reduce_coalesced},
    {"_c10d_functional.all_reduce_coalesced_.default", "inputs! reduce_op group_name", all_reduce_coalesced_in_place},
    {"_c10d_functional.all_gather_into_tensor.default", "input group_size group_name", all_gather},
    {"_c10d_functional.all_gather_into_tensor_out.default", "input group_size group_name", all_gather},
    {"_c10d_functional.all_gather_into_tensor_coalesced.default", "inputs group_size group_name", all_gather_coalesced},
    {"_c10d_functional.reduce_scatter_tensor.default", "input reduce_op group_size group_name", reduce_scatter},
    {"_c10d_functional.reduce_scatter_tensor_out.default", "input reduce_op group_size group_name", reduce_scatter},
    {"_c10d_functional.reduce_scatter_tensor_coalesced.default", "inputs reduce_op group_size group_name", reduce_scatter_coalesced},
    {"_c10d_functional.all_to_all_single.default", kAllToAll, all_to_all_single},
    {"_c10d_functional.broadcast.default", "input src group_name", broadcast},
    {"_c10d_functional.wait_tensor.default", "tensor", wait_tensor},
    {"_c10d_functional.isend.default", "tensor dst tag group_name", isend},
    {"_c10d_functional.irecv.default", "tensor src tag group_name", irecv},
    {"_c10d_functional.batch_p2p_ops.default", "op_list peer_list tag_list tensors group_name", batch_p2p},
    {"_c10d_functional_autograd.all_reduce.default", "input reduce_op group_name", all_reduce},
    {"_c10d_functional_autograd.all_gather_into_tensor.default", "input group_size group_name", all_gather},
    {"_c10d_functional_autograd.reduce_scatter_tensor.default", "input reduce_op group_size group_name", reduce_scatter},
    {"_c10d_functional_autograd.all_to_all_single.default", kAllToAll, all_to_all_single},
    {"_dtensor.shard_dim_alltoall.default", "input gather_dim shard_dim group_name", shard_dim_alltoall},
    {"_dtensor.mesh_get_process_group.default", "mesh dim", mesh_group},
    {"c10d.send.default", "tensors process_group dst tag", send},
    {"c10d.recv_.default", "tensors! process_group src tag", recv_in_place},
    {"c10d.allreduce_.default", "tensors! process_group reduce_op sparse_indices async_op=True timeout=-1", allreduce_in_place},
    {"c10d.broadcast_.default", "tensors! process_group root_rank root_tensor async_op=True timeout=-1", broadcast_in_place},
    {"c10d._allgather_base_.default", "output_tensor! input_tensor process_group async_op=True timeout=-1", allgather_base},
    {"c10d._reduce_scatter_base_.default", "output_tensor! input_tensor process_group reduce_op async_op=True timeout=-1",
     reduce_scatter_base},
    {"c10d.alltoall_base_.default", "output! input process_group output_split_sizes input_split_sizes async_op=True timeout=-1",
     alltoall_base},
    {"c10d.allgather_.default", "output_tensors! input_tensors process_group async_op=True timeout=-1", allgather_lists},
    {"c10d.barrier.default", "tensor process_group device_ids async_op=True timeout=-1", barrier},
    {"vllm.all_reduce.default", "tensor group_name", vllm_all_reduce},
    {"vllm.all_gather.default", "tensor dim world_size group_name", vllm_all_gather},
    {"vllm.reduce_scatter.default", "tensor dim world_size group_name", vllm_reduce_scatter},
    {"symm_mem.one_shot_all_reduce.default", "input reduce_op group_name", all_reduce},
};

}  // namespace

Rows collective_rows() { return kRows; }

}  // namespace shardproof::lower::aten
