// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Sorting: the key and its positions are sorted alike, so that values and indices come from one Sort.
#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

Nodes sorted(Call& c, NodeId x, int64_t d, bool descending, bool stable) {
  return c.b.sort({x, positions(c, c.shape(x), d)}, d, descending, stable);
}
Value sort_of(Call& c, bool stable, size_t dim_at, size_t descending_at) {
  const NodeId x = c.t(0);
  if (c.b.rank(x) == 0) return c.outs({x, c.num(0, DType::I64)});
  return c.outs(sorted(c, x, c.dim(dim_at, c.b.rank(x)), c.flag(descending_at), stable));
}
Value sort(Call& c) { return sort_of(c, false, 1, 2); }
Value sort_stable(Call& c) { return sort_of(c, c.has(1) && c.flag(1), 2, 3); }
Value argsort(Call& c) { return sort_of(c, false, 1, 2).items[1]; }
Value argsort_stable(Call& c) { return sort_of(c, c.flag(1), 2, 3).items[1]; }
Value topk(Call& c) {  // self k dim largest sorted
  const NodeId x = c.t(0);
  const int64_t k = c.i(1);
  if (c.b.rank(x) == 0) return c.outs({x, c.num(0, DType::I64)});
  const int64_t d = c.dim(2, c.b.rank(x));
  if (k < 0 || k > c.shape(x)[static_cast<size_t>(d)]) malformed("topk of more than there are");
  if (!c.flag(4)) c.l.note("topk with sorted=False is read as sorted");
  Nodes r = sorted(c, x, d, c.flag(3), false);
  for (NodeId& y : r) y = c.b.slice_dim(y, d, 0, k);
  return c.outs(r);
}
Value kthvalue(Call& c) {  // self k dim keepdim
  const NodeId x = c.t(0);
  const int64_t k = c.i(1);
  if (c.b.rank(x) == 0 && k == 1) return c.outs({x, c.num(0, DType::I64)});
  const int64_t d = c.dim(2, c.b.rank(x));
  if (k < 1 || k > c.shape(x)[static_cast<size_t>(d)]) malformed("kthvalue out of range");
  Nodes r = sorted(c, x, d, false, false);
  for (NodeId& y : r) {
    y = c.b.slice_dim(y, d, k - 1, k);
    if (!c.flag(3)) {
      Shape s = c.shape(y);
      s.erase(s.begin() + d);
      y = c.b.reshape(y, s);
    }
  }
  return c.outs(r);
}

Value median_dim(Call& c) {  // the lower median: element (n - 1) / 2 of the sorted row
  const NodeId x = c.t(0);
  if (c.b.rank(x) == 0) return c.outs({x, c.num(0, DType::I64)});
  const int64_t n = c.shape(x)[static_cast<size_t>(c.dim(1, c.b.rank(x)))];
  if (n == 0) malformed("the median of nothing");
  return c.l.call("aten.kthvalue.default", {c.args[0], Value::integer((n - 1) / 2 + 1), c.args[1], c.args[2]});
}
Value median(Call& c) {
  const NodeId x = c.t(0);
  const int64_t n = ir::num_elements(c.shape(x));
  if (n == 0) unsupported("the median of nothing");
  const Value v = c.out(c.b.reshape(x, {n}));
  return c.l.call("aten.kthvalue.default", {v, Value::integer((n - 1) / 2 + 1), Value::integer(0), Value::boolean(false)}).items[0];
}
Value msort(Call& c) {
  if (c.rank(0) == 0) return c.out(c.t(0));
  return c.out(sorted(c, c.t(0), 0, false, false)[0]);
}

const OpRow kRows[] = {
    {"aten.median.dim", "self dim keepdim=False", median_dim},
    {"aten.median.default", "self", median},
    {"aten.msort.default", "self", msort},
    {"aten.sort.default", "self dim=-1 descending=False", sort},
    {"aten.sort.stable", "self stable=None dim=-1 descending=False", sort_stable},
    {"aten.argsort.default", "self dim=-1 descending=False", argsort},
    {"aten.argsort.stable", "self stable dim=-1 descending=False", argsort_stable},
    {"aten.topk.default", "self k dim=-1 largest=True sorted=True", topk},
    {"aten.kthvalue.default", "self k dim=-1 keepdim=False", kthvalue},
};

}  // namespace

Rows sort_rows() { return kRows; }

}  // namespace shardproof::lower::aten
