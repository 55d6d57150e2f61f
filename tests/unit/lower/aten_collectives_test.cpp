// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Collectives and messages: nodes, groups and order.
#include "aten_support.h"

namespace shardproof::test {
namespace {

std::vector<const ir::Node*> of(const frontend::Program& p, ir::Op op) {
  std::vector<const ir::Node*> out;
  for (const ir::Node& n : p.graph.nodes)
    if (n.op == op) out.push_back(&n);
  return out;
}

TEST_CASE("functional collectives keep their group's name, reduction and dimension") {
  const auto p = lowered(fx_text("x: \"f32[4, 3]\"",
                                 "r: \"f32[4, 3]\" = torch.ops._c10d_functional.all_reduce.default(x, 'avg', '7')\n"
                                 "w: \"f32[4, 3]\" = torch.ops._c10d_functional.wait_tensor.default(r)\n"
                                 "g: \"f32[8, 3]\" = torch.ops._c10d_functional.all_gather_into_tensor.default(w, 2, 'dp')\n"
                                 "s: \"f32[2, 3]\" = torch.ops._c10d_functional.reduce_scatter_tensor.default(w, 'max', 2, 'dp')\n"
                                 "a: \"f32[5, 3]\" = torch.ops._c10d_functional.all_to_all_single.default(w, [2, 3], [1, 3], '9')\n"
                                 "b: \"f32[4, 3]\" = torch.ops._c10d_functional.broadcast.default(w, 1, '9')",
                                 "g, s, a, b"));
  CHECK(p.unsupported.empty());
  const auto reduce = of(p, ir::Op::AllReduce);
  REQUIRE(reduce.size() == 1);
  CHECK(reduce[0]->fn == ir::Fn::Add);
  CHECK(reduce[0]->a == std::vector<int64_t>{1});
  CHECK(reduce[0]->group->kind == ir::GroupRef::Kind::Name);
  CHECK(reduce[0]->group->name == "7");
  CHECK(of(p, ir::Op::AllGather).at(0)->a == std::vector<int64_t>{0});
  CHECK(of(p, ir::Op::ReduceScatter).at(0)->fn == ir::Fn::Max);
  CHECK(of(p, ir::Op::AllToAll).at(0)->b == std::vector<int64_t>{1, 3});
  CHECK(of(p, ir::Op::AllToAll).at(0)->c == std::vector<int64_t>{2, 3});
  CHECK(of(p, ir::Op::BroadcastFrom).at(0)->a == std::vector<int64_t>{1});
}

TEST_CASE("in-place collectives write, and c10d's reduction object needs its number") {
  const std::string body =
      "_torchbind_obj0 = self._torchbind_obj0\n"
      "_torchbind_obj1 = self._torchbind_obj1\n"
      "c: \"f32[2]\" = torch.ops.aten.clone.default(x)\n"
      "allreduce_ = torch.ops.c10d.allreduce_.default([c], _torchbind_obj0, _torchbind_obj1, None, False)\n"
      "y: \"f32[2]\" = torch.ops.aten.neg.default(c)";
  FixedConstants constants;
  constants.values["_torchbind_obj1"] = {ir::Literal::integer(0)};
  const auto p = lowered(fx_text("x: \"f32[2]\"", body, "y"), constants);
  CHECK(p.unsupported.empty());
  const auto reduce = of(p, ir::Op::AllReduce);
  REQUIRE(reduce.size() == 1);
  CHECK(reduce[0]->group->name == "_torchbind_obj0");
  CHECK(p.graph[p.graph[p.outputs[0].node].in[0]].op == ir::Op::AllReduce);

  const auto q = lowered(fx_text("x: \"f32[2]\"", body, "y"));
  REQUIRE(!q.unsupported.empty());
  CHECK(q.unsupported[0].reason.find("_torchbind_obj1") != std::string::npos);
  CHECK(q.graph[q.outputs[0].node].op == ir::Op::Result);  // c may have been written: nothing is known of y

  const auto f = lowered(fx_text("x: \"f32[2]\"", "r: \"f32[2]\" = torch.ops._c10d_functional.all_reduce_.default(x, 'sum', '0')", "r"));
  CHECK(f.outputs.back().name == "mut:x");
}

TEST_CASE("messages: functional peers are global ranks, c10d's are ranks of the group; batches send first") {
  const auto p =
      lowered(fx_text("x: \"f32[2]\"",
                      "_torchbind_obj0 = self._torchbind_obj0\n"
                      "e: \"f32[2]\" = torch.ops.aten.empty.memory_format([2], device = device(type='cpu'), pin_memory = False)\n"
                      "irecv: \"f32[2]\" = torch.ops._c10d_functional.irecv.default(e, 5, 100, '1')\n"
                      "isend: \"f32[0]\" = torch.ops._c10d_functional.isend.default(x, 5, 101, '1')\n"
                      "w: \"f32[2]\" = torch.ops._c10d_functional.wait_tensor.default(irecv)\n"
                      "batch = torch.ops._c10d_functional.batch_p2p_ops.default(['irecv', 'isend'], [1, 2], [3, 4], [e, x], '1')\n"
                      "got: \"f32[2]\" = batch[0]\n"
                      "send = torch.ops.c10d.send.default([x], _torchbind_obj0, 1, 0)\n"
                      "recv_ = torch.ops.c10d.recv_.default([e], _torchbind_obj0, 1, 0)",
                      "w, got, e"));
  CHECK(p.unsupported.empty());
  const auto sends = of(p, ir::Op::Send), receives = of(p, ir::Op::Recv);
  REQUIRE(sends.size() == 3);
  REQUIRE(receives.size() == 3);
  CHECK(receives[0]->group->kind == ir::GroupRef::Kind::Partitions);  // everyone: the peer is a global rank
  CHECK(receives[0]->group->name == "1");
  CHECK(receives[0]->a == std::vector<int64_t>{5, 100});
  CHECK(sends[1]->a == std::vector<int64_t>{2, 4});
  CHECK(sends[1] < receives[1]);  // in one batch the send does not wait for the receive
  CHECK(sends[2]->group->kind == ir::GroupRef::Kind::Name);
  CHECK(sends[2]->group->name == "_torchbind_obj0");
  REQUIRE(p.outputs.size() == 3);
  CHECK(p.graph[p.outputs[0].node].op == ir::Op::Recv);
  CHECK(p.graph[p.outputs[2].node].op == ir::Op::Recv);  // recv_ filled the buffer
}

TEST_CASE("DTensor's all-to-all takes the group's size from the text") {
  const auto p =
      lowered(fx_text("x: \"f32[4, 3]\"", "y: \"f32[2, 6]\" = torch.ops._dtensor.shard_dim_alltoall.default(x, 1, 0, '4')", "y"));
  CHECK(p.unsupported.empty());
  CHECK(of(p, ir::Op::AllToAll).at(0)->a == std::vector<int64_t>{0, 1});
}

TEST_CASE("what is read before it was waited for is an assumption") {
  const auto p = lowered(fx_text("x: \"f32[4, 3]\"",
                                 "r: \"f32[4, 3]\" = torch.ops._c10d_functional.all_reduce.default(x, 'sum', '7')\n"
                                 "c = torch.ops._c10d_functional.all_reduce_coalesced.default([x, x], 'sum', '7')\n"
                                 "c0: \"f32[4, 3]\" = c[0]\n"
                                 "c1: \"f32[4, 3]\" = c[1]\n"
                                 "w1: \"f32[4, 3]\" = torch.ops._c10d_functional.wait_tensor.default(c1)\n"
                                 "y: \"f32[4, 3]\" = torch.ops.aten.add.Tensor(r, w1)\n"
                                 "z: \"f32[4, 3]\" = torch.ops.aten.cat.default([c0])",
                                 "y, z"));
  REQUIRE(p.notes.size() == 1);
  CHECK(p.notes[0].starts_with("r, c0 of "));
  const auto waited = lowered(fx_text("x: \"f32[4, 3]\"",
                                      "r: \"f32[4, 3]\" = torch.ops._c10d_functional.all_reduce.default(x, 'sum', '7')\n"
                                      "w: \"f32[4, 3]\" = torch.ops._c10d_functional.wait_tensor.default(r)",
                                      "w"));
  CHECK(waited.notes.empty());
}

TEST_CASE("a reduction that is not known writes to nothing") {
  const auto p = lowered(
      fx_text("x: \"f32[4, 3]\"", "r: \"f32[4, 3]\" = torch.ops._c10d_functional.all_reduce.default(x, 'premul_sum', '7')", "r, x"));
  CHECK(p.unsupported.size() == 1);
  REQUIRE(p.outputs.size() == 2);  // and no written input
  CHECK(p.outputs[1].node == p.inputs[0].node);
}

}  // namespace
}  // namespace shardproof::test
