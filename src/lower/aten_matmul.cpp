// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Matrix products: mm, bmm, addmm and friends, matmul with its broadcasting, linear, einsum, grouped products.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/aten_shapes.h"

namespace shardproof::lower::aten {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

Value mm(Call& c) { return c.out(c.mm(c.t(0), c.t(1))); }
Value bmm(Call& c) {
  if (c.rank(0) != 3) malformed("bmm of tensors that are no batches of matrices");
  return c.out(c.bmm(c.t(0), c.t(1)));
}
Value bmm_dtype(Call& c) {
  const DType t = c.dtype(2, c.b.dtype(c.t(0)));
  return c.out(c.rank(0) == 2 ? c.mm(c.to(c.t(0), t), c.to(c.t(1), t)) : c.bmm(c.to(c.t(0), t), c.to(c.t(1), t)));
}

// beta * self + alpha * product; with beta = 0 self is not looked at.
NodeId combine(Call& c, NodeId self, NodeId product, size_t beta_at) {
  const DType t = c.b.dtype(product);
  const auto is = [&](size_t k, double v) { return c.args[k].number() && c.f(k) == v; };
  NodeId y = is(beta_at + 1, 1) ? product : c.mul(c.lit(c.lit(beta_at + 1), t), product);
  if (is(beta_at, 0)) return y;
  const NodeId x = is(beta_at, 1) ? self : c.mul(c.lit(c.lit(beta_at), t), self);
  return c.expand(c.add(c.to(x, t), y), c.shape(product));
}
Value addmm(Call& c) { return c.out(combine(c, c.t(0), c.mm(c.t(1), c.t(2)), 3)); }
Value baddbmm(Call& c) { return c.out(combine(c, c.t(0), c.bmm(c.t(1), c.t(2)), 3)); }
Value addbmm(Call& c) { return c.out(combine(c, c.t(0), c.sum(c.bmm(c.t(1), c.t(2)), {0}, false), 3)); }
NodeId mat_vec(Call& c, NodeId m, NodeId v) {
  if (c.b.rank(m) != 2 || c.b.rank(v) != 1 || c.shape(m)[1] != c.shape(v)[0]) malformed("a matrix times a vector of another size");
  return c.b.contract(m, v, {}, {1, 0}, c.b.dtype(m));
}
Value mv(Call& c) { return c.out(mat_vec(c, c.t(0), c.t(1))); }
Value addmv(Call& c) { return c.out(combine(c, c.t(0), mat_vec(c, c.t(1), c.t(2)), 3)); }
Value dot(Call& c) {
  if (c.rank(0) != 1 || c.shape(c.t(0)) != c.shape(c.t(1))) malformed("dot of tensors that are no vectors of one size");
  return c.out(c.b.contract(c.t(0), c.t(1), {}, {0, 0}, c.b.dtype(c.t(0))));
}
NodeId outer_of(Call& c, NodeId x, NodeId y) {
  if (c.b.rank(x) != 1 || c.b.rank(y) != 1) malformed("outer product of tensors that are no vectors");
  return c.mul(c.unsqueeze(x, 1), c.unsqueeze(y, 0));
}
Value outer(Call& c) { return c.out(outer_of(c, c.t(0), c.t(1))); }
Value addr(Call& c) { return c.out(combine(c, c.t(0), outer_of(c, c.t(1), c.t(2)), 3)); }

NodeId matmul_of(Call& c, NodeId x, NodeId y) {
  const int64_t rx = c.b.rank(x), ry = c.b.rank(y);
  if (rx == 0 || ry == 0) malformed("matmul of numbers");
  const DType t = c.b.dtype(x);
  if (rx == 1 && ry == 1) {
    if (c.shape(x) != c.shape(y)) malformed("dot of vectors of different sizes");
    return c.b.contract(x, y, {}, {0, 0}, t);
  }
  const int64_t kx = rx - 1, ky = ry == 1 ? 0 : ry - 2;
  if (c.shape(x)[at(kx)] != c.shape(y)[at(ky)])
    malformed(fmt::format("cannot multiply [{}] by [{}]", fmt::join(c.shape(x), ", "), fmt::join(c.shape(y), ", ")));
  if (ry <= 2) return c.b.contract(x, y, {}, {kx, ky}, t);  // no batch on the right: x's leading dims are free dims
  if (rx == 1) {                                            // vector times batch: [.., k, n] -> [.., n]
    const NodeId r = c.b.contract(y, x, {}, {ky, 0}, t);
    return r;
  }
  // Both have batch dims: broadcast them.
  const Shape sx = c.shape(x), sy = c.shape(y);
  const Shape bx(sx.begin(), sx.end() - 2), by(sy.begin(), sy.end() - 2);
  const Shape batch = broadcast_shapes(bx, by);
  const auto widen = [&](NodeId v, const Shape& s) {
    Shape wide = batch;
    wide.insert(wide.end(), s.end() - 2, s.end());
    return c.expand(v, wide);
  };
  if (rx == 2) {                                          // [m, k] x [.., k, n]: m is free, no need to copy
    const NodeId r = c.b.contract(x, y, {}, {1, ky}, t);  // [m, .., n]
    Ints perm;
    for (int64_t d = 1; d < ry - 1; ++d) perm.push_back(d);
    perm.push_back(0);
    perm.push_back(ry - 1);
    return c.b.transpose(r, perm);
  }
  return c.bmm(widen(x, sx), widen(y, sy));
}
Value matmul(Call& c) { return c.out(matmul_of(c, c.t(0), c.t(1))); }
NodeId linear_of(Call& c, NodeId x, NodeId w, std::optional<NodeId> bias) {
  const int64_t r = c.b.rank(x);
  if (r < 1 || c.b.rank(w) < 1 || c.shape(x)[at(r - 1)] != c.shape(w).back()) malformed("linear: sizes do not fit");
  const NodeId y = c.b.contract(x, w, {}, {r - 1, c.b.rank(w) - 1}, c.b.dtype(x));
  return bias ? c.add(y, *bias) : y;
}
Value linear(Call& c) { return c.out(linear_of(c, c.t(0), c.t(1), c.opt(2))); }
// linear_backward(self, grad, weight, mask) -> (d self, d weight, d bias)
Value linear_backward(Call& c) {
  const NodeId x = c.t(0), g = c.t(1), w = c.t(2);
  const int64_t r = c.b.rank(g);
  Ints pairs, lead;
  for (int64_t d = 0; d + 1 < r; ++d) {
    pairs.insert(pairs.end(), {d, d});
    lead.push_back(d);
  }
  return c.outs({c.b.contract(g, w, {}, {r - 1, 0}, c.b.dtype(g)), c.b.contract(g, x, {}, pairs, c.b.dtype(g)), c.sum(g, lead, false)});
}

// ---- einsum(equation, operands): pairwise from left to right; an index that is in one operand only and not in the result is summed first.
// "...ij" -> letters that the equation does not use, aligned at the right: the dimensions that the named indices leave.
std::string spell_ellipsis(Call& c, const std::string& eq, const Nodes& xs) {
  if (eq.find("...") == std::string::npos) return eq;
  std::string free;
  for (char ch = 'A'; ch <= 'Z'; ++ch)
    if (eq.find(ch) == std::string::npos) free += ch;
  std::string out;
  size_t operand = 0, longest = 0;
  const size_t arrow = std::min(eq.find("->"), eq.size());
  for (size_t from = 0; from < arrow;) {
    const size_t end = std::min({eq.find(',', from), arrow});
    std::string part = eq.substr(from, end - from);
    const size_t dots = part.find("...");
    if (dots != std::string::npos) {
      if (operand >= xs.size()) malformed("einsum: another number of operands than the equation has");
      const auto named = static_cast<int64_t>(part.size()) - 3, extra = c.b.rank(xs[operand]) - named;
      if (extra < 0 || extra > static_cast<int64_t>(free.size())) malformed("einsum: an operand has fewer dimensions than its indices");
      longest = std::max(longest, static_cast<size_t>(extra));
      part.replace(dots, 3, free.substr(free.size() - static_cast<size_t>(extra)));
    }
    out += part;
    ++operand;
    if (end < arrow) out += ',';
    from = end + 1;
  }
  const std::string all = free.substr(free.size() - longest);
  if (arrow < eq.size()) {
    std::string result = eq.substr(arrow);
    const size_t dots = result.find("...");
    if (dots != std::string::npos) result.replace(dots, 3, all);
    return out + result;
  }
  std::string singles;
  for (const char ch : eq)
    if (ch != '.' && ch != ',' && std::count(eq.begin(), eq.end(), ch) == 1) singles += ch;
  std::sort(singles.begin(), singles.end());
  return out + "->" + all + singles;
}
Value einsum(Call& c) {
  std::string eq = c.str(0);
  eq.erase(std::remove(eq.begin(), eq.end(), ' '), eq.end());
  Nodes xs = c.ts(1);
  eq = spell_ellipsis(c, eq, xs);
  const size_t arrow = eq.find("->");
  std::vector<std::string> in;
  std::string inputs = eq.substr(0, arrow), out;
  for (size_t from = 0; from <= inputs.size();) {
    const size_t comma = std::min(inputs.find(',', from), inputs.size());
    in.push_back(inputs.substr(from, comma - from));
    from = comma + 1;
  }
  if (in.size() != xs.size()) malformed("einsum: another number of operands than the equation has");
  if (arrow != std::string::npos) {
    out = eq.substr(arrow + 2);
  } else {
    std::map<char, int> seen;
    for (const std::string& s : in)
      for (const char ch : s) ++seen[ch];
    for (const auto& [ch, n] : seen)
      if (n == 1) out += ch;
  }
  for (size_t k = 0; k < xs.size(); ++k) {
    if (in[k].size() != c.shape(xs[k]).size()) malformed("einsum: an operand has another number of dimensions than its indices");
    for (size_t d = 0; d < in[k].size(); ++d)
      if (in[k].find(in[k][d], d + 1) != std::string::npos) unsupported("einsum with a repeated index in one operand");
  }
  NodeId acc = xs[0];
  std::string label = in[0];
  const auto needed = [&](char ch, size_t next) {
    if (out.find(ch) != std::string::npos) return true;
    for (size_t k = next; k < in.size(); ++k)
      if (in[k].find(ch) != std::string::npos) return true;
    return false;
  };
  const auto drop = [&](NodeId& x, std::string& s, const auto& keep) {
    Ints dims;
    std::string rest;
    for (size_t d = 0; d < s.size(); ++d)
      if (keep(s[d]))
        rest += s[d];
      else
        dims.push_back(static_cast<int64_t>(d));
    if (!dims.empty()) x = c.sum(x, dims, false);
    s = rest;
  };
  drop(acc, label, [&](char ch) { return needed(ch, 1); });
  for (size_t k = 1; k < xs.size(); ++k) {
    NodeId y = xs[k];
    std::string sy = in[k];
    drop(y, sy, [&](char ch) { return needed(ch, k + 1) || label.find(ch) != std::string::npos; });
    Ints batch, contracted;
    std::string result, left, right;
    for (size_t d = 0; d < label.size(); ++d) {
      const size_t e = sy.find(label[d]);
      if (e == std::string::npos) {
        left += label[d];
      } else if (needed(label[d], k + 1)) {
        if (c.shape(acc)[d] != c.shape(y)[e]) unsupported("einsum with a broadcast index");
        batch.insert(batch.end(), {static_cast<int64_t>(d), static_cast<int64_t>(e)});
        result += label[d];
      } else {
        if (c.shape(acc)[d] != c.shape(y)[e]) unsupported("einsum with a broadcast index");
        contracted.insert(contracted.end(), {static_cast<int64_t>(d), static_cast<int64_t>(e)});
      }
    }
    for (const char ch : sy)
      if (label.find(ch) == std::string::npos) right += ch;
    acc = c.b.contract(acc, y, batch, contracted, c.b.dtype(acc));
    label = result + left + right;
  }
  if (label.size() != out.size()) malformed("einsum: the result has an index that no operand has");
  Ints perm;
  for (const char ch : out) {
    const size_t d = label.find(ch);
    if (d == std::string::npos) malformed("einsum: the result has an index that no operand has");
    perm.push_back(static_cast<int64_t>(d));
  }
  return c.out(c.b.transpose(acc, perm));
}

// _grouped_mm(x, w, offs): rows (or columns) [offs[g-1], offs[g]) belong to group g. With the one-hot of the groups,
// [m,k] x [g,k,n] -> [m,n]: sum_g [m in g] (x[m,:] w[g,:,:]); rows beyond the last offset hold anything.
NodeId group_of(Call& c, NodeId offs, int64_t n) {  // [g, n] bool: offs[g-1] <= i < offs[g]
  if (c.b.rank(offs) != 1 || c.shape(offs)[0] < 1) malformed("the offsets of a grouped product are no vector");
  const int64_t groups = c.shape(offs)[0];
  const Shape s{groups, n};
  const NodeId i = c.b.iota(DType::I64, s, 1);
  const NodeId end = c.to(offs, DType::I64);
  const NodeId start = c.b.pad(c.b.slice_dim(end, 0, 0, groups - 1), c.num(0, DType::I64), {1}, {0}, {0});
  return c.map(Fn::And, {c.compare(Fn::Ge, i, c.expand(c.unsqueeze(start, 1), s)), c.compare(Fn::Lt, i, c.expand(c.unsqueeze(end, 1), s))},
               DType::Bool);
}
Value grouped_mm(Call& c) {
  const NodeId x = c.t(0), w = c.t(1);
  if (c.has(3)) unsupported("a grouped product with bias");
  const DType t = c.b.dtype(x);
  const int64_t rx = c.b.rank(x), rw = c.b.rank(w);
  NodeId y;
  if (!c.has(2)) {
    if (rx != 3 || rw != 3) unsupported("a grouped product without offsets");
    y = c.bmm(x, w);
  } else if (rx == 2 && rw == 3) {
    const int64_t m = c.shape(x)[0];
    if (c.shape(c.t(2)) != Shape{c.shape(w)[0]} || c.shape(x)[1] != c.shape(w)[1]) malformed("a grouped product of sizes that do not fit");
    const NodeId group = group_of(c, c.t(2), m);                                        // [g, m]
    const NodeId cut = c.where(c.unsqueeze(group, 2), c.unsqueeze(x, 0), c.num(0, t));  // [g, m, k]
    y = c.b.contract(cut, w, {}, {0, 0, 2, 1}, t);                                      // sum over g and k: [m, n]
    const NodeId filled = c.unsqueeze(c.b.reduce(Fn::Or, group, {0}), 1);               // rows of no group are left as they were
    y = c.where(filled, y, c.b.uninit(t, c.shape(y)));
  } else if (rx == 2 && rw == 2) {
    const int64_t k = c.shape(x)[1];
    if (c.shape(w)[0] != k) malformed("a grouped product of sizes that do not fit");
    const NodeId group = group_of(c, c.t(2), k);                                        // [g, k]
    const NodeId cut = c.where(c.unsqueeze(group, 1), c.unsqueeze(x, 0), c.num(0, t));  // [g, m, k]
    y = c.b.contract(cut, w, {}, {2, 0}, t);                                            // [g, m, n]
  } else {
    unsupported("a grouped product of this form");
  }
  return c.out(c.to(y, c.dtype(4, t)));
}

const OpRow kRows[] = {
    {"aten.mm.default", "self mat2", mm},
    {"aten.bmm.default", "self mat2", bmm},
    {"aten.mm.dtype", "self mat2 out_dtype", bmm_dtype},
    {"aten.bmm.dtype", "self mat2 out_dtype", bmm_dtype},
    {"aten.addmm.default", "self mat1 mat2 beta=1 alpha=1", addmm},
    {"aten.baddbmm.default", "self batch1 batch2 beta=1 alpha=1", baddbmm},
    {"aten.addbmm.default", "self batch1 batch2 beta=1 alpha=1", addbmm},
    {"aten.mv.default", "self vec", mv},
    {"aten.addmv.default", "self mat vec beta=1 alpha=1", addmv},
    {"aten.dot.default", "self tensor", dot},
    {"aten.vdot.default", "self other", dot},
    {"aten.outer.default", "self vec2", outer},
    {"aten.ger.default", "self vec2", outer},
    {"aten.addr.default", "self vec1 vec2 beta=1 alpha=1", addr},
    {"aten.matmul.default", "self other", matmul},
    {"aten.linear.default", "input weight bias=None", linear},
    {"aten.linear_backward.default", "self grad_output weight output_mask", linear_backward},
    {"aten.einsum.default", "equation tensors path=None", einsum},
    {"aten._grouped_mm.default", "self mat2 offs=None bias=None out_dtype=None", grouped_mm},
};

}  // namespace

Rows matmul_rows() { return kRows; }

}  // namespace shardproof::lower::aten
