// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Certificates of golden programs are accepted; any change of what they say is rejected; and a right program's certificate does not pass
// for its wrong sibling, with all hashes patched.
//
// A changed certificate that is accepted must mean the same: this is judged apart from the checker's way of testing, by evaluating both
// certificates' claims by definition at every element of every tensor, on several random inputs.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "cert/certificate.h"
#include "check/checker.h"
#include "check/claims.h"
#include "frontend/certificate/certificate.h"
#include "prove/prover.h"
#include "util/sha256.h"

using namespace shardproof;
namespace fs = std::filesystem;

namespace {

const fs::path kGolden = fs::path(SHARDPROOF_SOURCE_DIR) / "tests/golden";

struct Proof {
  manifest::Manifest manifest;
  std::shared_ptr<link::Problem> fresh;  // as linked, without goals
  check::Certificate certificate;
};

std::optional<Proof> proof_of(const fs::path& folder) {
  Result<manifest::Manifest> m = manifest::load(folder.string());
  if (!m) return std::nullopt;
  Result<link::Problem> linked = link::link(*m);
  if (!linked) return std::nullopt;
  Proof p{*m, std::make_shared<link::Problem>(*linked), {}};
  link::Problem problem = *linked;
  prove::Prover prover(problem);
  std::vector<std::pair<size_t, manifest::Placement>> proofs;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    const link::Output o = problem.outputs[k];
    if (!o.checked) continue;
    if (o.blocked) return std::nullopt;
    std::vector<manifest::Placement> candidates{o.expect};
    if (o.expect.kind == manifest::Placement::Kind::Any) candidates = problem.any_candidates(o);
    bool found = false;
    for (const manifest::Placement& c : candidates) {
      const auto goals = problem.goals(o, c);
      if (!goals || goals->empty()) continue;
      found = true;
      for (const auto& [x, y] : *goals) found &= prover.equal(x, y) == prove::Prover::Answer::Equal;
      if (found) {
        proofs.emplace_back(k, c);
        break;
      }
    }
    if (!found) return std::nullopt;
  }
  const fs::path file = fs::temp_directory_path() / ("shardproof_tamper_" + std::to_string(std::random_device{}()));
  const std::string wrong = cert::write_certificate(*m, problem, prover, proofs, file.string());
  CHECK_MESSAGE(wrong.empty(), folder, ": ", wrong);
  std::ifstream in(file, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  fs::remove(file);
  Result<check::Certificate> back = certificate::decode(bytes.str(), "file");
  REQUIRE(back.ok());
  p.certificate = *back;
  return p;
}

std::string verdict(const Proof& p, const check::Certificate& c, uint64_t seed) {
  Result<check::Certificate> back = certificate::decode(certificate::encode(c), "changed");
  if (!back) return back.error().message;
  link::Problem problem = *p.fresh;
  return check::check(*back, p.manifest, problem, seed).rejected;
}

// Every number of a certificate that has a meaning, in order.
template <typename F>
void numbers(check::Certificate& c, F f) {
  auto poly = [&](check::Poly& p) {
    for (check::Product& t : p) {
      f(t.num), f(t.den);
      for (check::Factor& x : t.f) {
        int64_t node = x.node;
        f(node);
        x.node = static_cast<uint32_t>(node);
        f(x.num), f(x.den);
        for (int64_t& v : x.map) f(v);
      }
    }
  };
  auto cells = [&](std::vector<check::Cell>& list) {
    for (check::Cell& k : list) {
      for (int64_t& v : k.ext) f(v);
      for (int64_t& v : k.pos) f(v);
      poly(k.poly);
    }
  };
  for (check::TermNode& n : c.terms) {
    for (int64_t& v : n.dims) f(v);
    for (check::Poly& p : n.args) poly(p);
    for (int64_t& v : n.box) f(v);
    if (n.kind == check::TermKind::Bracket) f(n.lo), f(n.hi);
    if (n.kind == check::TermKind::Base) {
      int64_t o = n.origin;
      f(o);
      n.origin = static_cast<ir::NodeId>(o);
    }
    cells(n.cells);
  }
  for (check::Claim& k : c.claims) {
    int64_t node = k.node;
    f(node);
    k.node = static_cast<ir::NodeId>(node);
    cells(k.cells);
  }
  for (check::OutputProof& o : c.outputs) {
    for (auto& [x, y] : o.goals) {
      int64_t a = x, b = y;
      f(a), f(b);
      x = static_cast<ir::NodeId>(a), y = static_cast<ir::NodeId>(b);
    }
  }
}

// Does b say the same as a, or less, of every element that both speak of? By definition, on random inputs.
bool same_meaning(const Proof& p, const check::Certificate& a, const check::Certificate& b) {
  link::Problem problem = *p.fresh;
  for (const link::Output& o : p.fresh->outputs) {  // the goals' nodes, as the checker makes them
    if (!o.checked) continue;
    for (const check::OutputProof& proof : a.outputs) {
      if (proof.name != o.name) continue;
      std::vector<manifest::Placement> allowed{o.expect};
      if (o.expect.kind == manifest::Placement::Kind::Any) allowed = problem.any_candidates(o);
      for (const manifest::Placement& c : allowed) {
        if (to_string(c, problem.mesh) == proof.placement) {
          problem.goals(o, c);
          break;
        }
      }
    }
  }
  check::Terms ta(a, problem, 5), tb(b, problem, 5);
  check::Claims ca(a, problem, ta), cb(b, problem, tb);
  if (!ca.prepare().empty() || !cb.prepare().empty()) return false;
  // Unknowns by origin: the same function of the same index in both.
  constexpr check::Draw kDraws[] = {check::Draw::Generic, check::Draw::Positive, check::Draw::Special};  // the last has ties
  for (int round = 0; round < 6; ++round) {
    for (auto* t : {&ta, &tb}) {
      t->budget = UINT64_MAX;
      t->close_all();
      t->start(static_cast<uint64_t>(round), kDraws[round % 3]);
    }
    for (uint32_t id = 0; id < a.terms.size(); ++id) {
      if (ta.can_open(id)) ta.open(id);
    }
    for (uint32_t id = 0; id < b.terms.size(); ++id) {
      if (tb.can_open(id)) tb.open(id);
    }
    for (ir::NodeId v = 0; v < problem.graph.nodes.size(); ++v) {
      if (!ca.has(v) || !cb.has(v)) continue;
      const ir::Shape& shape = problem.graph[v].shape;
      if (ir::num_elements(shape) == 0) continue;
      std::vector<int64_t> i(shape.size(), 0);
      while (true) {
        ta.uncertain = tb.uncertain = false;
        const check::Number x = ca.value(v, i.data()), y = cb.value(v, i.data());
        // Distributed: a claim says nothing where it is undefined. Sequential: nothing where the value is.
        const int side = v < p.fresh->side.size() ? p.fresh->side[v] : link::kShared;
        const bool silent = (side != link::kSequential && check::is_undefined(y)) || (side < 0 && check::is_undefined(x));
        if (!silent && !ta.uncertain && !tb.uncertain && !check::same(x, y)) return false;
        size_t d = shape.size();
        while (d-- > 0) {
          if (++i[d] < shape[d]) break;
          i[d] = 0;
        }
        if (d == static_cast<size_t>(-1)) break;
      }
    }
  }
  return true;
}

// What else a certificate consists of: each edit takes a place of its own at random; false: there was none.
struct Edit {
  const char* what;
  std::function<bool(check::Certificate&, std::mt19937_64&)> apply;
};

std::vector<Edit> edits() {
  using check::TermKind;
  auto one = [](auto& list, std::mt19937_64& r) -> decltype(list[0])& { return list[r() % list.size()]; };
  auto term = [](std::mt19937_64& r, check::Certificate& c, auto fits) -> check::TermNode* {
    for (int k = 0; k < 60 && !c.terms.empty(); ++k) {
      check::TermNode& n = c.terms[r() % c.terms.size()];
      if (fits(n)) return &n;
    }
    return nullptr;
  };
  // Some poly with products: of a term or of a claim.
  auto poly = [](std::mt19937_64& r, check::Certificate& c) -> check::Poly* {
    for (int k = 0; k < 60; ++k) {
      check::Poly* p = nullptr;
      if (r() % 2 && !c.terms.empty()) {
        check::TermNode& n = c.terms[r() % c.terms.size()];
        if (!n.args.empty()) p = &n.args[r() % n.args.size()];
      } else {
        auto& cells = c.claims[r() % c.claims.size()].cells;
        if (!cells.empty()) p = &cells[r() % cells.size()].poly;
      }
      if (p && !p->empty()) return p;
    }
    return nullptr;
  };
  auto with_factors = [poly](std::mt19937_64& r, check::Certificate& c) -> check::Product* {
    for (int k = 0; k < 20; ++k) {
      check::Poly* p = poly(r, c);
      if (p && !p->front().f.empty()) return &p->front();
    }
    return nullptr;
  };
  return {
      {"kind of term",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto&) { return true; });
         return n &&
                (n->kind = static_cast<TermKind>((static_cast<int>(n->kind) + 1 + static_cast<int>(r() % 10)) % check::kTermKinds), true);
       }},
      {"function",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto& t) { return t.kind == TermKind::Fn || t.kind == TermKind::Red; });
         return n && (n->fn = static_cast<ir::Fn>(1 + r() % 50), true);
       }},
      {"type of a function",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto& t) { return t.kind == TermKind::Fn || t.kind == TermKind::Whole; });
         return n && (n->dtype = static_cast<ir::DType>(r() % 16), true);
       }},
      {"name",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto& t) { return !t.name.empty(); });
         return n && (n->name[r() % n->name.size()] ^= static_cast<char>(1 + r() % 7), true);
       }},
      {"inner extents",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto& t) { return !t.inner.empty() && !t.inner[0].empty(); });
         return n && (n->inner[0][0] += 1, true);
       }},
      {"results of an operator",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto& t) { return t.kind == TermKind::Whole; });
         return n && (n->results += 1, true);
       }},
      {"arguments swapped",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto& t) { return t.args.size() > 1; });
         return n && (std::swap(n->args[0], n->args[1]), true);
       }},
      {"definition dropped",
       [=](auto& c, auto& r) {
         auto* n = term(r, c, [](auto& t) { return !t.args.empty(); });
         return n && (n->args.pop_back(), true);
       }},
      {"definitions swapped",
       [=](auto& c, auto& r) {
         if (c.terms.size() < 2) return false;
         const size_t k = 1 + r() % (c.terms.size() - 1);
         std::swap(c.terms[k], c.terms[k - 1]);
         return true;
       }},
      {"product dropped",
       [=](auto& c, auto& r) {
         auto* p = poly(r, c);
         return p && (p->pop_back(), true);
       }},
      {"product doubled",
       [=](auto& c, auto& r) {
         auto* p = poly(r, c);
         return p && (p->push_back(one(*p, r)), true);
       }},
      {"factor dropped",
       [=](auto& c, auto& r) {
         auto* t = with_factors(r, c);
         return t && (t->f.pop_back(), true);
       }},
      {"factor doubled",
       [=](auto& c, auto& r) {
         auto* t = with_factors(r, c);
         return t && (t->f.push_back(check::Factor(t->f[0])), true);
       }},
      {"cell dropped",
       [=](auto& c, auto& r) {
         auto& k = one(c.claims, r).cells;
         return !k.empty() && (k.pop_back(), true);
       }},
      {"variable of a cell",
       [=](auto& c, auto& r) {
         auto& k = one(c.claims, r).cells;
         return !k.empty() && (k[0].ext.push_back(1 + static_cast<int64_t>(r() % 2)), true);
       }},
  };
}

const char* const kPrograms[] = {"mlp_tp2",
                                 "vocab_parallel_embedding",
                                 "causal_mask_offset",
                                 "dp_mean_loss",
                                 "top_k_rows",
                                 "dropout_rows",
                                 "literal_root",
                                 "uneven_tp3",
                                 "padded_vocab",
                                 "integer_wraps__in_range",
                                 "cumsum_over_shards",
                                 "softmax_over_cut_keys",
                                 "expert_buffers",
                                 "integer_output_narrowed"};

}  // namespace

TEST_CASE("certificates of golden programs are accepted, for any seed") {
  size_t accepted = 0;
  std::set<std::string> known;  // failures, as in tests/test_golden.py
  std::ifstream list(kGolden / "known_failures.txt");
  for (std::string line; std::getline(list, line);) known.insert(line.substr(0, line.find(':')));
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    if (!entry.is_directory()) continue;
    std::optional<Proof> p = proof_of(entry.path());
    if (!p || entry.path().filename() == "constant_output") continue;  // vacuous: `check` does not call it proved
    if (known.count(entry.path().filename().string()) != 0) continue;
    for (const uint64_t seed : {1u, 2u, 3u}) {
      const std::string why = verdict(*p, p->certificate, seed);
      CHECK_MESSAGE(why.empty(), entry.path().filename(), ": ", why);
    }
    ++accepted;
  }
  CHECK(accepted > 60);
}

TEST_CASE("a changed number is rejected, or changes nothing") {
  size_t rejected = 0, same = 0, changed = 0;
  const char* many = std::getenv("SHARDPROOF_TAMPER");
  const size_t each = many ? static_cast<size_t>(std::atoll(many)) : 250;
  std::mt19937_64 random(7);
  for (const char* name : kPrograms) {
    std::optional<Proof> p = proof_of(kGolden / name);
    REQUIRE_MESSAGE(p, std::string(name));
    size_t count = 0;
    numbers(p->certificate, [&](int64_t&) { ++count; });
    for (size_t k = 0; k < each; ++k) {
      const size_t target = random() % count;
      const int64_t how = static_cast<int64_t>(random() % 6);
      check::Certificate c = p->certificate;
      size_t at = 0;
      bool differs = false;
      numbers(c, [&](int64_t& v) {
        if (at++ != target) return;
        const int64_t old = v;
        v = how == 0 ? v + 1 : how == 1 ? v - 1 : how == 2 ? -v : how == 3 ? v * 2 : how == 4 ? 0 : 1;
        differs = v != old;
      });
      if (!differs) continue;
      ++changed;
      if (!verdict(*p, c, random()).empty()) {
        ++rejected;
        continue;
      }
      ++same;
      CHECK_MESSAGE(same_meaning(*p, p->certificate, c), std::string(name), ": number ", target, " changed in way ", how, " was accepted");
    }
  }
  MESSAGE(changed, " changes: ", rejected, " rejected, ", same, " of the same meaning");
  CHECK(rejected > changed / 2);
}

TEST_CASE("an edit of any part of a certificate is rejected, or changes nothing") {
  const char* many = std::getenv("SHARDPROOF_TAMPER");
  const size_t each = many ? static_cast<size_t>(std::atoll(many)) / 10 : 12;
  std::mt19937_64 random(11);
  std::map<std::string, std::pair<size_t, size_t>> table;  // tried, rejected
  for (const char* name : kPrograms) {
    std::optional<Proof> p = proof_of(kGolden / name);
    REQUIRE(p);
    for (const Edit& edit : edits()) {
      for (size_t k = 0; k < each; ++k) {
        check::Certificate c = p->certificate;
        if (!edit.apply(c, random) || certificate::encode(c) == certificate::encode(p->certificate)) continue;
        auto& [tried, rejected] = table[edit.what];
        ++tried;
        if (!verdict(*p, c, random()).empty())
          ++rejected;
        else
          CHECK_MESSAGE(same_meaning(*p, p->certificate, c), std::string(name), ": ", edit.what, " was accepted");
      }
    }
  }
  for (const Edit& edit : edits()) {
    const auto [tried, rejected] = table[edit.what];
    MESSAGE(std::string(edit.what), ": ", tried, " tried, ", rejected, " rejected");
    // A form has many ways to be written, each accepted only as the same; the type of most says nothing of its values.
    CHECK_MESSAGE(rejected > tried / (std::string_view(edit.what) == "type of a function" ? 20 : 5), std::string(edit.what));
    CHECK_MESSAGE(rejected > 0, std::string(edit.what), " was never tried");
  }
}

// Every sort of a proof written as another: by other keys, in another order, with other ties, carrying something else.
TEST_CASE("a forged sort is rejected, or moves the same") {
  using check::Factor;
  using check::Poly;
  using check::TermNode;
  auto each = [](Poly& p, auto f) {
    for (check::Product& t : p) {
      for (Factor& x : t.f) f(x);
    }
  };
  // The sorted dimension, which an argument's last variable walks, from its other end, or from `by` places on.
  auto walk = [each](TermNode& n, size_t arg, int64_t by) {
    const int64_t extent = n.inner[arg].back();
    const size_t w = n.dims.size() - n.results + n.inner[arg].size() + 1;
    each(n.args[arg], [&](Factor& x) {
      for (size_t row = 0; row < x.map.size(); row += w) {
        int64_t& step = x.map[row + w - 2];
        x.map[row + w - 1] += step * (by == 0 ? extent - 1 : by);
        if (by == 0) step = -step;
      }
    });
  };
  struct Forgery {
    const char* what;
    std::function<void(TermNode&, size_t moved)> apply;
  };
  const std::vector<Forgery> forgeries = {
      {"other direction", [](TermNode& n, size_t) { n.name[5] = n.name[5] == '0' ? '1' : '0'; }},
      {"another result", [](TermNode& n, size_t) { n.name[7] = n.name[7] == '0' ? '1' : '0'; }},
      {"keys negated",
       [](TermNode& n, size_t) {
         for (check::Product& t : n.args[0]) t.num = -t.num;
       }},
      {"keys negated, other direction",
       [](TermNode& n, size_t) {
         for (check::Product& t : n.args[0]) t.num = -t.num;
         n.name[5] = n.name[5] == '0' ? '1' : '0';
       }},
      {"keys squared", [each](TermNode& n, size_t) { each(n.args[0], [](Factor& x) { x.num *= 2; }); }},
      {"keys doubled",
       [](TermNode& n, size_t) {
         for (check::Product& t : n.args[0]) t.num *= 2;
       }},
      {"all keys equal", [](TermNode& n, size_t) { n.args[0].clear(); }},
      {"keys of the next place", [walk](TermNode& n, size_t) { walk(n, 0, 1); }},
      {"keys from the other end", [walk](TermNode& n, size_t) { walk(n, 0, 0); }},
      {"carried from the other end", [walk](TermNode& n, size_t moved) { walk(n, moved, 0); }},
      {"carried of the next place", [walk](TermNode& n, size_t moved) { walk(n, moved, 1); }},
      {"ties the other way",
       [walk](TermNode& n, size_t) {
         for (size_t a = 0; a < n.args.size(); ++a) walk(n, a, 0);
       }},
      {"carried is the keys", [](TermNode& n, size_t moved) { n.args[moved] = n.args[0]; }},
      {"keys are the carried", [](TermNode& n, size_t moved) { n.args[0] = n.args[moved]; }},
      {"one place less",
       [](TermNode& n, size_t) {
         for (auto& inner : n.inner) inner.back() -= 1;
       }},
  };
  std::map<std::string, std::pair<size_t, size_t>> table;  // tried, rejected
  size_t programs = 0;
  for (const char* name :
       {"expert_buffers", "experts_with_room_for_all", "inverse_of_a_sort", "router_gradient_of_a_mean", "scatter_along_by_rows",
        "scatter_of_pieces_with_capacity", "softmax_of_top", "sorted_up_to_a_factor", "top_k_rows", "top_k_rows__indices"}) {
    std::optional<Proof> p = proof_of(kGolden / name);
    if (!p) continue;  // proved at the second look only
    ++programs;
    for (size_t id = 0; id < p->certificate.terms.size(); ++id) {
      const TermNode& sort = p->certificate.terms[id];
      const size_t moved = check::moved_by(sort);
      if (moved == sort.args.size() || sort.inner[0].empty()) continue;
      for (const Forgery& forgery : forgeries) {
        check::Certificate c = p->certificate;
        forgery.apply(c.terms[id], moved);
        if (certificate::encode(c) == certificate::encode(p->certificate)) continue;
        auto& [tried, rejected] = table[forgery.what];
        for (uint64_t seed = 1; seed <= 5; ++seed) {
          ++tried;
          if (!verdict(*p, c, seed * 7919).empty())
            ++rejected;
          else
            CHECK_MESSAGE(same_meaning(*p, p->certificate, c), std::string(name), ", term ", id, ": ", std::string(forgery.what),
                          " was accepted");
        }
      }
    }
  }
  CHECK(programs >= 7);
  for (const Forgery& forgery : forgeries) {
    const auto [tried, rejected] = table[forgery.what];
    MESSAGE(std::string(forgery.what), ": ", tried, " tried, ", rejected, " rejected");
    CHECK_MESSAGE(tried > 0, std::string(forgery.what), " was never tried");
  }
}

TEST_CASE("dropped, swapped and doubled claims, other placements, hashes and goals are rejected") {
  for (const char* name : kPrograms) {
    std::optional<Proof> p = proof_of(kGolden / name);
    REQUIRE(p);
    const check::Certificate& good = p->certificate;
    for (size_t k = 0; k < good.claims.size(); ++k) {
      check::Certificate c = good;
      c.claims.erase(c.claims.begin() + static_cast<std::ptrdiff_t>(k));
      c.ranks.erase(c.ranks.begin() + static_cast<std::ptrdiff_t>(k));
      CHECK_MESSAGE(!verdict(*p, c, k).empty(), std::string(name), ": claim ", k, " dropped");
      c = good;
      c.claims.push_back(c.claims[k]);
      c.ranks.push_back(c.ranks[k]);
      CHECK_MESSAGE(!verdict(*p, c, k).empty(), std::string(name), ": claim ", k, " doubled");
      if (k == 0) continue;
      c = good;
      std::swap(c.claims[k].cells, c.claims[k - 1].cells);
      std::swap(c.ranks[k], c.ranks[k - 1]);
      if (verdict(*p, c, k).empty()) CHECK_MESSAGE(same_meaning(*p, good, c), std::string(name), ": claims ", k, " swapped");
    }
    auto changed = [&](auto change) {
      check::Certificate c = good;
      change(c);
      return !verdict(*p, c, 9).empty();
    };
    CHECK(changed([](auto& c) { c.product += "x"; }));
    CHECK(changed([](auto& c) { c.manifest_hash[0] ^= 1; }));
    CHECK(changed([](auto& c) { c.files[0].second[0] ^= 1; }));
    CHECK(changed([](auto& c) { c.files.pop_back(); }));
    CHECK(changed([](auto& c) { c.outputs[0].placement = "Partial(max)@nowhere"; }));
    CHECK(changed([](auto& c) { c.outputs[0].name += "x"; }));
    CHECK(changed([](auto& c) { c.outputs[0].goals.pop_back(); }));
    CHECK(changed([](auto& c) { c.outputs.pop_back(); }));
    CHECK(changed([](auto& c) { c.linked += 1; }));
  }
}

TEST_CASE("a right program's certificate does not pass for its wrong sibling, with hashes patched") {
  size_t tried = 0, deep = 0;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    const std::string name = entry.path().filename().string();
    const size_t bar = name.find("__");
    if (!entry.is_directory() || bar == std::string::npos) continue;
    std::ifstream file(entry.path() / "expected.json");
    std::stringstream text;
    text << file.rdbuf();
    if (text.str().find("REFUTED") == std::string::npos) continue;
    const fs::path right = kGolden / name.substr(0, bar);
    if (!fs::exists(right)) continue;
    std::optional<Proof> p = proof_of(right);
    Result<manifest::Manifest> m = manifest::load(entry.path().string());
    if (!p || !m) continue;
    Result<link::Problem> linked = link::link(*m);
    if (!linked) continue;
    check::Certificate c = p->certificate;
    c.manifest_hash = sha256_hex(m->canonical);
    c.files.clear();
    for (const std::string& f : linked->files) c.files.emplace_back(f, sha256_file_hex(f));
    // Goals are numbered behind the linked graph.
    const int64_t shift = static_cast<int64_t>(linked->graph.nodes.size()) - static_cast<int64_t>(c.linked);
    auto move = [&](ir::NodeId& v) {
      if (v >= p->certificate.linked) v = static_cast<ir::NodeId>(v + shift);
    };
    for (check::Claim& k : c.claims) move(k.node);
    for (check::OutputProof& o : c.outputs) {
      for (auto& [x, y] : o.goals) move(x), move(y);
    }
    c.linked = static_cast<ir::NodeId>(linked->graph.nodes.size());
    link::Problem problem = *linked;
    const check::Report r = check::check(c, *m, problem, 11);
    CHECK_MESSAGE(!r.rejected.empty(), name, " passes with the certificate of ", right.filename());
    ++tried;
    deep += r.claims > 0;  // rejected by a claim, not by form
  }
  MESSAGE(tried, " siblings, ", deep, " rejected by a claim");
  CHECK(tried > 30);
  CHECK(deep > 15);
}
