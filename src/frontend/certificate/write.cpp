// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Writer of certificate files: integers are LEB128 of their zigzag form, strings a length and bytes, everything in the order of the
// structs.
#include "frontend/certificate/certificate.h"

namespace shardproof::certificate {

namespace {

struct Writer {
  std::string out;
  void u(uint64_t v) {
    while (v >= 0x80) out.push_back(static_cast<char>(v | 0x80)), v >>= 7;
    out.push_back(static_cast<char>(v));
  }
  void i(int64_t v) { u((static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63)); }
  void s(const std::string& v) {
    u(v.size());
    out += v;
  }
  void list(const std::vector<int64_t>& v) {
    u(v.size());
    for (int64_t x : v) i(x);
  }
  void poly(const Poly& p) {
    u(p.size());
    for (const Product& t : p) {
      i(t.num), i(t.den), u(t.f.size());
      for (const Factor& f : t.f) {
        u(f.node), i(f.num), i(f.den), u(f.map.size());
        for (int64_t x : f.map) i(x);
      }
    }
  }
  void cells(const std::vector<Cell>& v) {
    u(v.size());
    for (const Cell& c : v) list(c.ext), list(c.pos), poly(c.poly);
  }
};

}  // namespace

std::string encode(const Certificate& c) {
  Writer w;
  w.out = kMagic;
  w.s(c.product), w.s(c.manifest), w.s(c.manifest_hash);
  for (const auto* list : {&c.files, &c.kernels}) {
    w.u(list->size());
    for (const auto& [path, hash] : *list) w.s(path), w.s(hash);
  }
  w.u(c.outputs.size());
  for (const OutputProof& o : c.outputs) {
    w.s(o.name), w.s(o.placement), w.u(o.goals.size());
    for (const auto& [x, y] : o.goals) w.u(x), w.u(y);
  }
  w.u(c.linked);
  w.u(c.terms.size());
  for (const TermNode& n : c.terms) {
    w.u(static_cast<uint64_t>(n.kind)), w.u(static_cast<uint64_t>(n.fn)), w.u(static_cast<uint64_t>(n.dtype));
    w.list(n.dims), w.list(n.box), w.i(n.lo), w.i(n.hi), w.u(n.inner.size());
    for (const auto& e : n.inner) w.list(e);
    w.u(n.results), w.s(n.name);
    if (n.kind == TermKind::Base) w.u(n.origin);
    w.u(n.args.size());
    for (const Poly& p : n.args) w.poly(p);
    w.cells(n.cells);
  }
  w.u(c.claims.size());
  for (size_t k = 0; k < c.claims.size(); ++k) {
    w.u(c.claims[k].node), w.u(static_cast<uint64_t>(c.ranks[k]));
    w.cells(c.claims[k].cells);
  }
  return std::move(w.out);
}

}  // namespace shardproof::certificate
