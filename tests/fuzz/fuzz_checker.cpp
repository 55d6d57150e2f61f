// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any certificate, said to be about a program of tests/golden: the checker accepts or rejects it. The first byte chooses the program. Most
// inputs are changed as certificates and not as bytes, so that they stay well formed. About a wrong program none may be accepted.
#include <cstdint>
#include <random>

#include "check/checker.h"
#include "frontend/certificate/certificate.h"
#include "fuzz/golden.h"
#include "util/sha256.h"

#ifndef SHARDPROOF_VERSION
#define SHARDPROOF_VERSION "0.1.0"
#endif

namespace {

using namespace shardproof;
using certificate::Certificate;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

struct Program {
  Golden golden;
  bool right;
};

const Program& program(uint8_t number) {
  static const auto* all = new std::vector<Program>{{Golden("vocab_parallel_cross_entropy"), true},
                                                    {Golden("vocab_parallel_cross_entropy__offset"), false},
                                                    {Golden("causal_blocks"), true},
                                                    {Golden("mlp_tp2__avg"), false}};
  return (*all)[number % all->size()];
}

Result<Certificate> read(const uint8_t* data, size_t size) {
  const std::string bytes = std::string(certificate::kMagic) + std::string(reinterpret_cast<const char*>(data), size);
  return certificate::decode(bytes, "fuzz");
}

// One number of the certificate, anywhere, becomes another one.
void change(Certificate& c, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto number = [&](int64_t x) {
    switch (below(6)) {
      case 0: return x == INT64_MAX ? x : x + 1;
      case 1: return x == INT64_MIN ? x : x - 1;
      case 2: return x == INT64_MIN ? x : -x;
      case 3: return int64_t{0};
      case 4: return static_cast<int64_t>(static_cast<uint64_t>(x) * 2);
      default: return static_cast<int64_t>(random() >> below(64));
    }
  };
  const auto list = [&](std::vector<int64_t>& v) {
    if (!v.empty()) {
      int64_t& x = v[below(v.size())];
      x = number(x);
    }
  };
  const auto poly = [&](certificate::Poly& p) {
    if (p.empty()) return;
    certificate::Product& m = p[below(p.size())];
    if (below(3) == 0 || m.f.empty()) {
      m.num = number(m.num);
      if (below(3) == 0) p.push_back(p[below(p.size())]);
      return;
    }
    certificate::Factor& f = m.f[below(m.f.size())];
    if (below(3) == 0) {
      f.num = number(f.num);
    } else if (below(3) == 0) {
      f.node = static_cast<uint32_t>(below(c.terms.size() + 1));
    } else {
      list(f.map);
    }
    if (below(8) == 0) m.f.pop_back();
  };
  const auto cells = [&](std::vector<certificate::Cell>& all) {
    if (all.empty()) return;
    certificate::Cell& cell = all[below(all.size())];
    const size_t what = below(4);
    what == 0 ? list(cell.ext) : what == 1 ? list(cell.pos) : poly(cell.poly);
  };
  if (below(3) == 0 && !c.claims.empty()) return cells(c.claims[below(c.claims.size())].cells);
  if (c.terms.empty()) return;
  certificate::TermNode& t = c.terms[below(c.terms.size())];
  switch (below(8)) {
    case 0: return list(t.dims);
    case 1: return list(t.box);
    case 2: t.lo = number(t.lo); return;
    case 3: t.hi = number(t.hi); return;
    case 4: t.fn = static_cast<ir::Fn>(below(static_cast<size_t>(ir::Fn::Conj) + 1)); return;
    case 5: t.origin = t.kind == certificate::TermKind::Base ? static_cast<ir::NodeId>(below(64)) : t.origin; return;
    case 6: return t.cells.empty() ? void() : cells(t.cells);
    default:
      if (!t.args.empty()) poly(t.args[below(t.args.size())]);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  std::mt19937_64 random(seed);
  if (size < 2 || random() % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  Result<Certificate> c = read(data + 1, size - 1);
  if (!c) return LLVMFuzzerMutate(data, size, most);
  for (uint64_t k = 0; k <= random() % 3; ++k) change(*c, random);
  const std::string bytes = certificate::encode(*c).substr(certificate::kMagic.size());
  if (bytes.size() + 1 > most) return size;
  std::copy(bytes.begin(), bytes.end(), data + 1);
  return bytes.size() + 1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const Program& p = program(data[0]);
  Result<Certificate> c = read(data + 1, size - 1);
  if (!c) return 0;
  const manifest::Manifest& m = p.golden.manifest;
  const auto linked = [&] {
    link::Problem problem = p.golden.problem;
    problem.files.clear();  // to be hashed each time
    return problem;
  };
  link::Problem problem = linked();
  c->product = SHARDPROOF_VERSION;
  c->manifest_hash = sha256_hex(m.canonical);
  c->files.clear();
  c->kernels.clear();
  c->linked = static_cast<ir::NodeId>(problem.graph.nodes.size());
  // With little work for each claim, so that many inputs are tried. What that lets pass is looked at as a user would.
  if (!check::check(*c, m, problem, 1, 1000).rejected.empty() || p.right) return 0;
  problem = linked();
  if (check::check(*c, m, problem, 1).rejected.empty()) std::abort();
  return 0;
}
