// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "check/claims.h"

#include <algorithm>

#include <fmt/format.h>

namespace shardproof::check {

using ir::NodeId;
using ir::Op;

std::string Claims::prepare() {
  const size_t n = p_.graph.nodes.size();
  of_.assign(n, nullptr);
  located_.assign(n, {});
  hash_.assign(n, 0);
  for (size_t k = 0; k < c_.claims.size(); ++k) {
    const Claim& c = c_.claims[k];
    if (c.node >= n) return fmt::format("a claim about node {}, which there is not", c.node);
    const ir::Shape& shape = p_.graph[c.node].shape;
    if (of_[c.node]) return fmt::format("two claims about node {}", c.node);
    if (static_cast<size_t>(c_.ranks[k]) != shape.size())
      return fmt::format("the claim about node {} has {} dimensions, the node {}", c.node, c_.ranks[k], shape.size());
    of_[c.node] = &c;
    std::vector<Located>& cells = located_[c.node];
    cells.resize(c.cells.size());
    hash_[c.node] = mix(c.cells.size(), shape);
    for (size_t j = 0; j < c.cells.size(); ++j) {
      cells[j].cell = &c.cells[j];
      hash_[c.node] = mix(mix(mix(hash_[c.node], t_.hash(c.cells[j].poly)), c.cells[j].ext), c.cells[j].pos);
      if (std::string wrong = locate(c.cells[j].ext, c.cells[j].pos, shape, cells[j]); !wrong.empty()) {
        return fmt::format("the claim about node {}, cell {}: {}", c.node, j, wrong);
      }
    }
    if (std::string wrong = partition(cells, shape, true); !wrong.empty()) return fmt::format("the claim about node {}: {}", c.node, wrong);
  }
  return "";
}

const Cell* Claims::cell(NodeId v, const int64_t* i, std::vector<int64_t>& x) const {
  for (const Located& c : located_[v]) {
    if (c.read(i, x)) return c.cell;
  }
  return nullptr;
}

Number Claims::value(NodeId v, const int64_t* i) {
  std::vector<int64_t> x = std::move(x_);
  const Cell* c = cell(v, i, x);
  const Number r = c ? t_.poly(c->poly, x.data(), x.size()) : undefined();
  x_ = std::move(x);
  return r;
}

void Claims::formal(NodeId v, const int64_t* i, Terms::Sum& out) {
  if (const Cell* c = cell(v, i, x_)) t_.formal(c->poly, x_.data(), x_.size(), out);
}

uint64_t Claims::number(NodeId v, const int64_t* i) const {
  std::vector<int64_t> x;
  const Cell* c = has(v) ? cell(v, i, x) : nullptr;
  return c ? static_cast<uint64_t>(c - of_[v]->cells.data()) + 1 : 0;
}

void Claims::top_terms(NodeId v, std::vector<uint32_t>& out) const {
  if (!has(v)) return;  // a tuple
  for (const Cell& c : of_[v]->cells) each_read(c.poly, [&](const Factor& f) { out.push_back(t_.kernel(f.node)); });
}

bool Claims::is_own_unknown(NodeId v) const {
  const Claim& c = *of_[v];
  const Factor* f = c.cells.size() == 1 ? only_read(c.cells[0].poly) : nullptr;
  if (!f) return false;
  const TermNode& n = t_.node(f->node);
  if (n.kind != TermKind::Base || n.origin != v) return false;
  // Read where it stands.
  const size_t w = c.cells[0].ext.size() + 1;
  for (size_t k = 0; k < f->map.size(); ++k) {
    if (f->map[k] == c.cells[0].pos[k]) continue;
    if (k % w + 1 == w || c.cells[0].ext[k % w] != 1) return false;
  }
  return true;
}

// --- points ---------------------------------------------------------------------------------------------------------------------

void Points::add(const ir::Shape& shape, const Index& i) {
  uint64_t h = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (i[d] < 0 || i[d] >= shape[d]) return;
    h = mix(h, static_cast<uint64_t>(i[d]));
  }
  if (seen_.insert(h).second) found_.push_back(i);
}

// Variables all 0, all at their end, each alone at its end and at 1, random ones.
void Points::corners(const Located& cell, int amount, std::vector<Index>& out) {
  const std::vector<int64_t>& ext = cell.cell->ext;
  std::vector<int64_t> x(ext.size(), 0);
  auto emit = [&] {
    out.emplace_back();
    rows_at(cell.cell->pos, x, out.back());
  };
  emit();
  for (size_t v = 0; v < ext.size(); ++v) x[v] = ext[v] - 1;
  if (ext.empty()) return;
  emit();
  for (int round = 0; round < amount; ++round) {
    for (size_t v = 0; v < ext.size(); ++v) x[v] = below(ext[v]);
    emit();
  }
  if (amount < 2) return;
  for (size_t v = 0; v < ext.size(); ++v) {
    if (ext[v] == 1) continue;
    std::fill(x.begin(), x.end(), 0);
    x[v] = ext[v] - 1;
    emit();
  }
}

std::vector<Points::Link> Points::links(NodeId v, size_t operand) const {
  const ir::Node& n = p_.graph[v];
  const ir::Shape& s = p_.graph[n.in[operand]].shape;
  std::vector<Link> out;
  auto plain = [&](size_t in, size_t to, int64_t offset = 0, int64_t step = 1, int64_t factor = 1) {
    out.push_back({in, to, offset, step, factor});
  };
  switch (n.op) {
    case Op::Scatter:
    case Op::DynamicUpdate:
    case Op::Scan:
      if (operand != 0) break;
      [[fallthrough]];
    case Op::Map:
      for (size_t d = 0; d < s.size(); ++d) plain(d, d);
      break;
    case Op::Transpose:
      for (size_t k = 0; k < s.size(); ++k) plain(static_cast<size_t>(n.a[k]), k);
      break;
    case Op::Slice:
      for (size_t k = 0; k < s.size(); ++k) plain(k, k, n.a[k], n.c[k]);
      break;
    case Op::Reverse:
      for (size_t k = 0; k < s.size(); ++k) {
        contains(n.a, k) ? plain(k, k, 1 - s[k], 1, -1) : plain(k, k);
      }
      break;
    case Op::Broadcast:
      for (size_t k = 0; k < s.size(); ++k) {
        if (s[k] == n.shape[static_cast<size_t>(n.a[k])]) plain(k, static_cast<size_t>(n.a[k]));
      }
      break;
    case Op::Pad:
      for (size_t k = 0; operand == 0 && k < s.size(); ++k) plain(k, k, -n.a[k], 1, n.c[k] + 1);
      break;
    case Op::Concat: {
      int64_t before = 0;
      for (size_t k = 0; k < operand; ++k) before += p_.graph[n.in[k]].shape[static_cast<size_t>(n.a[0])];
      for (size_t k = 0; k < s.size(); ++k) plain(k, k, static_cast<int64_t>(k) == n.a[0] ? -before : 0);
      break;
    }
    case Op::Window:
      for (size_t k = 0; k < s.size(); ++k) {
        if (!contains(n.a, k)) plain(k, k);
      }
      break;
    case Op::Reduce:
    case Op::Contract: {
      const std::vector<int64_t> to = dims_of(p_.graph, v, operand);
      for (size_t d = 0; d < s.size(); ++d) {
        if (to[d] >= 0) plain(d, static_cast<size_t>(to[d]));
      }
      break;
    }
    case Op::Take:
      for (size_t k = 0; k < s.size() && (operand == 0 || k < n.b.size()); ++k) {
        if (const int64_t to = operand == 0 ? n.a[k] : n.b[k]; to >= 0) plain(k, static_cast<size_t>(to));
      }
      break;
    default: break;
  }
  return out;
}

// All points of the product of the borders, or some if there are too many.
void Points::grid(const ir::Shape& shape) {
  int64_t all = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    auto& c = cuts_[d];
    c.insert(c.end(), {0, shape[d] - 1});
    std::sort(c.begin(), c.end());
    c.erase(std::unique(c.begin(), c.end()), c.end());
    std::erase_if(c, [&](int64_t v) { return v < 0 || v >= shape[d]; });
    all = std::min<int64_t>(all * static_cast<int64_t>(c.size()), 1 << 20);
  }
  Index i(shape.size(), 0);
  if (all <= 32) {
    Index at(shape.size(), 0), ends;
    for (const auto& c : cuts_) ends.push_back(static_cast<int64_t>(c.size()));
    do {
      for (size_t d = 0; d < shape.size(); ++d) i[d] = cuts_[d][static_cast<size_t>(at[d])];
      add(shape, i);
    } while (next(at, ends));
  } else {
    for (int k = 0; k < 24; ++k) {
      for (size_t d = 0; d < shape.size(); ++d) i[d] = cuts_[d][static_cast<size_t>(below(static_cast<int64_t>(cuts_[d].size())))];
      add(shape, i);
    }
  }
  for (int k = 0; k < 3; ++k) {
    for (size_t d = 0; d < shape.size(); ++d) i[d] = below(shape[d]);
    add(shape, i);
  }
}

uint64_t Points::signature(NodeId v, const std::vector<NodeId>& values, const Index& i) {
  uint64_t h = 0;
  std::vector<int64_t> x, at;
  for (NodeId u : values) {
    const bool scalar = p_.graph[u].shape.empty();
    const Cell* c = claims_.cell(u, scalar ? nullptr : i.data(), x);
    if (!c) continue;
    each_read(c->poly, [&](const Factor& f) {
      if (t_.node(f.node).kind != TermKind::Bracket) return;
      rows_at(f.map, x, at);
      h = mix(h, t_.define(f.node, at.data()).v != 0);
    });
  }
  const ir::Node& n = p_.graph[v];
  if (n.op == Op::Map && n.fn >= ir::Fn::Eq && n.fn <= ir::Fn::Ge) {
    Number a[2];
    for (size_t k = 0; k < 2; ++k) a[k] = claims_.value(n.in[k], p_.graph[n.in[k]].shape.empty() ? nullptr : i.data());
    h = mix(h, a[0].v < a[1].v ? 1 : a[0].v > a[1].v ? 2 : 3);
  }
  return h;
}

// Places along lines where a bracket or a comparison changes.
void Points::changes(NodeId v, const std::vector<NodeId>& values) {
  bool worth = p_.graph[v].op == Op::Map && p_.graph[v].fn >= ir::Fn::Eq && p_.graph[v].fn <= ir::Fn::Ge &&
               !ir::is_float(p_.graph[p_.graph[v].in[0]].dtype);
  for (NodeId u : values) {
    for (const Cell& c : claims_.claim(u).cells)
      each_read(c.poly, [&](const Factor& f) { worth |= t_.node(f.node).kind == TermKind::Bracket; });
  }
  if (!worth || found_.empty()) return;
  const ir::Shape& shape = p_.graph[v].shape;
  const size_t had = found_.size();
  t_.budget = t_.spent + 2'000'000;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    for (int line = 0; line < 3; ++line) {
      Index i = found_[static_cast<size_t>(below(static_cast<int64_t>(had)))];
      constexpr int64_t kParts = 4;
      for (int64_t part = 0; part < kParts; ++part) {
        int64_t lo = part * (shape[d] - 1) / kParts, hi = (part + 1) * (shape[d] - 1) / kParts;
        auto sig = [&](int64_t at) {
          i[d] = at;
          return signature(v, values, i);
        };
        if (lo >= hi) continue;
        const uint64_t low = sig(lo);
        if (low == sig(hi)) continue;
        while (hi - lo > 1) {
          const int64_t mid = lo + (hi - lo) / 2;
          (sig(mid) == low ? lo : hi) = mid;
        }
        i[d] = lo;
        add(shape, i);
        i[d] = hi;
        add(shape, i);
      }
    }
  }
  t_.uncertain = false;
}

void Points::border(size_t d, int64_t low, int64_t high) {
  if (cuts_[d].size() <= 400) cuts_[d].insert(cuts_[d].end(), {low, high});
}

// Corners and borders of a node's own cells.
void Points::own(NodeId v, int amount) {
  std::vector<Index> some;
  for (const Located& c : claims_.cells(v)) {
    corners(c, amount, some);
    for (size_t d = 0; d < c.low.size(); ++d) {
      border(d, c.low[d], c.high[d]);
      for (const auto& g : c.digits[d]) border(d, c.low[d] + g.step, c.low[d] + g.step * (g.ext - 1));
    }
  }
  for (const Index& i : some) add(p_.graph[v].shape, i);
}

std::vector<Index> Points::of(NodeId v, bool with_operands, NodeId other) {
  const ir::Node& n = p_.graph[v];
  const ir::Shape& shape = n.shape;
  const size_t rank = shape.size();
  found_.clear();
  seen_.clear();
  std::vector<Index> some;
  size_t cells = claims_.cells(v).size();
  if (with_operands) {
    for (NodeId in : n.in) cells += claims_.has(in) ? claims_.cells(in).size() : 0;
  }
  const int amount = cells > 64 ? 1 : 2;
  cuts_.assign(rank, {});
  own(v, amount);
  if (other != ir::kNoNode) own(other, amount);
  for (size_t k = 0; with_operands && k < n.in.size(); ++k) {
    if (!claims_.has(n.in[k])) continue;
    const ir::Shape& s = p_.graph[n.in[k]].shape;
    if (s.empty()) continue;
    const std::vector<Link> map = links(v, k);
    for (const Located& c : claims_.cells(n.in[k])) {
      if (n.op == Op::Reshape) {
        some.clear();
        corners(c, amount, some);
        for (const Index& j : some) add(shape, unlinear(shape, linear(s, j)));
        continue;
      }
      if (map.empty()) continue;
      auto through = [](const Link& l, int64_t x) { return (l.factor * x - l.offset) / l.step; };
      for (const Link& l : map) {
        border(l.out, through(l, c.low[l.in]), through(l, c.high[l.in]));
        if (l.step > 1) border(l.out, through(l, c.low[l.in] + l.step - 1), through(l, c.high[l.in]));
        for (const auto& g : c.digits[l.in])
          border(l.out, through(l, c.low[l.in] + g.step), through(l, c.low[l.in] + g.step * (g.ext - 1)));
      }
      some.clear();
      corners(c, amount, some);
      for (const Index& j : some) {
        Index i(rank, 0);
        for (size_t d = 0; d < rank; ++d) i[d] = below(shape[d]);
        for (const Link& l : map) i[l.out] = through(l, j[l.in]);
        add(shape, i);
      }
    }
  }
  grid(shape);
  std::vector<NodeId> values{v};
  if (other != ir::kNoNode) values.push_back(other);
  if (n.op == Op::Map && with_operands) values.insert(values.end(), n.in.begin(), n.in.end());
  changes(v, values);
  return std::move(found_);
}

}  // namespace shardproof::check
