// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reader of certificate files: integers are LEB128 of their zigzag form, strings a length and bytes. write.cpp writes them.
#include "frontend/certificate/certificate.h"

#include <fmt/format.h>

namespace shardproof::certificate {
namespace {

constexpr size_t kMaxDims = 256, kMaxArgs = 1 << 16;

// What is wrong ends the reading: after it every read gives 0 and `error` is set.
struct Reader {
  std::string_view in;
  size_t at = 0;
  std::string error;
  size_t left() const { return in.size() - at; }
  void fail(const std::string& what) {
    if (error.empty()) error = fmt::format("at byte {}: {}", at, what);
    at = in.size();
  }
  uint64_t u() {
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at >= in.size()) return fail("the file ends inside a number"), 0;
      const auto b = static_cast<uint8_t>(in[at++]);
      if (shift == 63 && b > 1) break;
      v |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    return fail("a number of more than 64 bits"), 0;
  }
  int64_t i() {
    const uint64_t v = u();
    return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  // A count of things that take at least one byte each.
  size_t count(size_t most = SIZE_MAX) {
    const uint64_t n = u();
    if (n > left() || n > most) return fail("a count that the file cannot hold"), 0;
    return static_cast<size_t>(n);
  }
  // A number that is no count of what follows.
  size_t number(size_t most) {
    const uint64_t n = u();
    if (n > most) return fail("a number that is too large"), 0;
    return static_cast<size_t>(n);
  }
  std::string s() {
    const size_t n = count();
    std::string v(in.substr(at, n));
    at += n;
    return v;
  }
  std::vector<int64_t> list(size_t most) {
    std::vector<int64_t> v(count(most));
    for (int64_t& x : v) x = i();
    return v;
  }
  void rational(int64_t& num, int64_t& den) {
    num = i(), den = i();
    if (den <= 0 || num == INT64_MIN) fail("a malformed fraction");
  }
  Poly poly(const std::vector<TermNode>& terms, size_t before, size_t width) {
    Poly p(count());
    for (Product& t : p) {
      rational(t.num, t.den);
      t.f.resize(count());
      for (Factor& f : t.f) {
        const uint64_t node = u();
        rational(f.num, f.den);
        f.map = list(kMaxDims * kMaxDims);
        if (!error.empty()) return {};
        if (node >= before) return fail("a term that is not defined before it is used"), Poly{};
        f.node = static_cast<uint32_t>(node);
        if (f.num == 0) return fail("an exponent of 0"), Poly{};
        if (f.map.size() != terms[node].dims.size() * (width + 1)) return fail("a read with the wrong number of indices"), Poly{};
      }
      if (!error.empty()) return {};
    }
    return p;
  }
  std::vector<Cell> cells(const std::vector<TermNode>& terms, size_t before, size_t rank) {
    std::vector<Cell> v(count());
    for (Cell& c : v) {
      c.ext = list(kMaxDims);
      for (int64_t e : c.ext) {
        if (e < 1) fail("an extent below 1");
      }
      c.pos = list(kMaxDims * kMaxDims);
      if (!error.empty()) return {};
      if (c.pos.size() != rank * (c.ext.size() + 1)) return fail("positions of another rank"), std::vector<Cell>{};
      c.poly = poly(terms, before, c.ext.size());
      if (!error.empty()) return {};
    }
    return v;
  }
};

// How many arguments a function takes; 0: one or more.
size_t arity(ir::Fn fn) {
  using ir::Fn;
  switch (fn) {
    case Fn::Add:
    case Fn::Mul:
    case Fn::Max:
    case Fn::Min:
    case Fn::And:
    case Fn::Or: return 0;
    case Fn::Select: return 3;
    case Fn::Sub:
    case Fn::Div:
    case Fn::Pow:
    case Fn::FloorDiv:
    case Fn::Rem:
    case Fn::Mod:
    case Fn::Atan2:
    case Fn::Xor:
    case Fn::Shl:
    case Fn::ShrA:
    case Fn::ShrL:
    case Fn::Eq:
    case Fn::Ne:
    case Fn::Lt:
    case Fn::Le:
    case Fn::Gt:
    case Fn::Ge:
    case Fn::Complex: return 2;
    default: return 1;
  }
}

std::string form_of(const TermNode& n) {
  const size_t args = n.args.size();
  for (int64_t d : n.dims) {
    if (d < 1 && d != kUnbounded) return "a dimension below 1";
  }
  if (!n.inner.empty() && n.kind != TermKind::Take && n.kind != TermKind::Whole)
    return "inner extents in a term that has no inner variables";
  if (!n.box.empty() && n.kind != TermKind::Red) return "a range in a term that binds no variables";
  switch (n.kind) {
    case TermKind::Base: return args == 0 && n.origin != ir::kNoNode ? "" : "an unknown without an origin";
    case TermKind::Iota: return args == 0 && n.dims == std::vector<int64_t>{kUnbounded} ? "" : "a malformed index";
    case TermKind::Inf:
    case TermKind::Lit: return args == 0 && n.dims.empty() ? "" : "a constant with arguments";
    case TermKind::Fn:
      if (args < 1 || n.fn == ir::Fn::None) return "a function without arguments";
      return arity(n.fn) == 0 || arity(n.fn) == args ? "" : "a function of another number of arguments";
    case TermKind::Sum:
    case TermKind::Bracket: return args == 1 ? "" : "the wrong number of arguments";
    case TermKind::Red:
      if (args != 1 || n.box.size() % 2 != 0) return "a malformed reduction";
      for (size_t b = 0; b < n.box.size(); b += 2) {
        if (n.box[b] > n.box[b + 1] || n.box[b] < kNegInf || n.box[b + 1] > kPosInf) return "a reduction over a reversed range";
      }
      return n.fn == ir::Fn::Add || n.fn == ir::Fn::Mul || n.fn == ir::Fn::Max || n.fn == ir::Fn::Min || n.fn == ir::Fn::And ||
                     n.fn == ir::Fn::Or
                 ? ""
                 : "a reduction by that function";
    case TermKind::Take: return args >= 2 && n.inner.size() == args && n.inner[0].size() + 1 == args ? "" : "a malformed lookup";
    case TermKind::Whole: return n.inner.size() == args && n.results <= n.dims.size() ? "" : "a malformed operator";
    case TermKind::Grid: return args == 0 ? "" : "a grid with arguments";
  }
  return "an unknown kind of term";
}

void read(Reader& r, Certificate& c) {
  c.product = r.s();
  c.manifest = r.s();
  c.manifest_hash = r.s();
  for (auto* list : {&c.files, &c.kernels}) {
    list->resize(r.count());
    for (auto& [path, hash] : *list) path = r.s(), hash = r.s();
  }
  c.outputs.resize(r.count());
  auto id = [&] {
    const uint64_t v = r.u();
    if (v >= ir::kNoNode) r.fail("a node number that is too large");
    return static_cast<ir::NodeId>(v);
  };
  for (OutputProof& o : c.outputs) {
    o.name = r.s();
    o.placement = r.s();
    o.goals.resize(r.count());
    for (auto& [x, y] : o.goals) x = id(), y = id();
  }
  c.linked = id();
  const size_t terms = r.count();
  c.terms.reserve(terms);
  for (size_t k = 0; k < terms && r.error.empty(); ++k) {
    TermNode n;
    const uint64_t kind = r.u(), fn = r.u(), dtype = r.u();
    if (kind >= kTermKinds || fn > static_cast<uint64_t>(ir::Fn::Conj) || dtype > static_cast<uint64_t>(ir::DType::Token))
      return r.fail("an unknown kind of term");
    n.kind = static_cast<TermKind>(kind);
    n.fn = static_cast<ir::Fn>(fn);
    n.dtype = static_cast<ir::DType>(dtype);
    n.dims = r.list(kMaxDims);
    n.box = r.list(2 * kMaxDims);
    n.lo = r.i(), n.hi = r.i();
    n.inner.resize(r.count(kMaxArgs));
    for (auto& e : n.inner) {
      e = r.list(kMaxDims);
      for (int64_t x : e) {
        if (x < 1 && x != kUnbounded) r.fail("an inner extent below 1");
      }
    }
    n.results = r.number(kMaxDims);
    n.name = r.s();
    if (n.kind == TermKind::Base) n.origin = id();
    const size_t args = r.count(kMaxArgs);
    if (!r.error.empty()) return;
    n.args.resize(args);
    if (std::string wrong = form_of(n); !wrong.empty()) return r.fail(wrong);
    for (size_t a = 0; a < args && r.error.empty(); ++a) n.args[a] = r.poly(c.terms, k, variables_of(n, a));
    n.cells = r.cells(c.terms, k, n.dims.size());
    if (!n.cells.empty() && n.kind != TermKind::Grid) return r.fail("cells in a term that is no grid");
    c.terms.push_back(std::move(n));
  }
  const size_t claims = r.count();
  c.claims.reserve(claims);
  for (size_t k = 0; k < claims && r.error.empty(); ++k) {
    Claim claim;
    claim.node = id();
    const size_t rank = r.number(kMaxDims);
    claim.cells = r.cells(c.terms, c.terms.size(), rank);
    c.ranks.push_back(static_cast<int64_t>(rank));
    c.claims.push_back(std::move(claim));
  }
  if (r.error.empty() && r.left() != 0) r.fail("bytes behind the end");
}

}  // namespace

size_t variables_of(const TermNode& n, size_t arg) {
  size_t own = n.dims.size();
  if (n.kind == TermKind::Whole) own -= n.results;
  return own + n.box.size() / 2 + (n.inner.empty() ? 0 : n.inner[arg].size());
}

Result<Certificate> decode(std::string_view bytes, const std::string& file) {
  auto bad = [&](const std::string& what) { return Diagnostic{"SP230", "this is no certificate: " + what, file, 0, 0}; };
  if (!bytes.starts_with(kMagic)) return bad("it does not begin with the line \"shardproof certificate 1\"");
  Reader r{bytes.substr(kMagic.size()), 0, ""};
  Certificate c;
  read(r, c);
  if (!r.error.empty()) return bad(r.error);
  return c;
}

}  // namespace shardproof::certificate
