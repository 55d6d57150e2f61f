// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Parser of factor rules. One pass over the text, no recursion; grammar in the header.
#include "lower/kernel_contract.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace shardproof::lower {

namespace {

struct Reader {
  std::string_view s;
  size_t at = 0;
  KernelContract out;
  std::string error;

  void space() {
    while (at < s.size() && s[at] == ' ') ++at;
  }
  bool eat(std::string_view token) {
    space();
    if (s.substr(at, token.size()) != token) return false;
    at += token.size();
    return true;
  }
  bool fail(const std::string& what) {
    if (error.empty()) error = fmt::format("factor rule, column {}: {}: {}", at + 1, what, s);
    return false;
  }
  std::string_view word() {
    space();
    const size_t start = at;
    while (at < s.size() && (std::isalnum(static_cast<unsigned char>(s[at])) || s[at] == '_')) ++at;
    return s.substr(start, at - start);
  }
  // Factors of tensors are made on first sight; clauses may only name those.
  int64_t factor(std::string_view name, bool make) {
    for (size_t k = 0; k < out.factors.size(); ++k)
      if (out.factors[k].name == name) return static_cast<int64_t>(k);
    if (!make) return -1;
    out.factors.push_back({std::string(name), KernelContract::Factor::Kind::Whole, ir::Fn::None, 0});
    return static_cast<int64_t>(out.factors.size() - 1);
  }

  bool tensors(std::vector<std::vector<KernelContract::Dim>>& list) {
    space();
    if (at < s.size() && s[at] != '(') return true;  // an empty list
    do {
      if (!eat("(")) return fail("expected (");
      std::vector<KernelContract::Dim> dims;
      if (!eat(")")) {
        do {
          KernelContract::Dim dim;
          do {
            const std::string_view name = word();
            if (name.empty()) return fail("expected a factor");
            if (name == "1") continue;
            if (std::isdigit(static_cast<unsigned char>(name[0]))) return fail("a factor starts with a letter");
            dim.push_back(static_cast<uint32_t>(factor(name, true)));
          } while (eat("*"));
          dims.push_back(std::move(dim));
        } while (eat(","));
        if (!eat(")")) return fail("expected ) or ,");
      }
      list.push_back(std::move(dims));
      if (list.size() > 256) return fail("too many tensors");
    } while (eat(","));
    return true;
  }

  bool clause() {
    const std::string_view kind = word();
    if (kind == "linear") {
      do {
        const std::string_view number = word();
        if (number.empty() || number.size() > 4 ||
            !std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); }))
          return fail("expected the number of an operand");
        const auto k = static_cast<uint32_t>(std::stoul(std::string(number)));
        if (k >= out.operands.size()) return fail("there is no such operand");
        out.linear.push_back(k);
      } while (eat(","));
      return true;
    }
    if (kind != "parallel" && kind != "reduce") return fail("expected parallel, reduce or linear");
    std::vector<size_t> named;
    do {
      const int64_t f = factor(word(), false);
      if (f < 0) return fail("a factor that no tensor has");
      if (out.factors[static_cast<size_t>(f)].kind != KernelContract::Factor::Kind::Whole) return fail("a factor stands in two clauses");
      named.push_back(static_cast<size_t>(f));
    } while (eat(","));
    ir::Fn fn = ir::Fn::None;
    if (kind == "reduce") {
      if (!eat(":")) return fail("expected : and add, mul, max or min");
      const std::string_view op = word();
      fn = op == "add" ? ir::Fn::Add : op == "mul" ? ir::Fn::Mul : op == "max" ? ir::Fn::Max : op == "min" ? ir::Fn::Min : ir::Fn::None;
      if (fn == ir::Fn::None) return fail("expected add, mul, max or min");
    }
    for (const size_t f : named) {
      out.factors[f].kind = kind == "parallel" ? KernelContract::Factor::Kind::Parallel : KernelContract::Factor::Kind::Reduce;
      out.factors[f].fn = fn;
    }
    return true;
  }

  bool rule() {
    if (!tensors(out.operands)) return false;
    if (!eat("->")) return fail("expected ->");
    if (!tensors(out.results)) return false;
    if (out.results.empty()) return fail("a kernel has at least one result");
    while (eat(";"))
      if (!clause()) return false;
    space();
    if (at != s.size()) return fail("unexpected text");
    // A parallel factor cuts every result; a reduced one is in none.
    for (size_t f = 0; f < out.factors.size(); ++f)
      for (const auto& result : out.results) {
        bool in = false;
        for (const auto& dim : result) in = in || std::find(dim.begin(), dim.end(), f) != dim.end();
        if (out.factors[f].kind == KernelContract::Factor::Kind::Parallel && !in)
          return fail("the parallel factor " + out.factors[f].name + " is not in every result");
        if (out.factors[f].kind == KernelContract::Factor::Kind::Reduce && in)
          return fail("the reduced factor " + out.factors[f].name + " is in a result");
      }
    return true;
  }
};

Diagnostic bad(const std::string& message) { return {"SP255", message, "", 0, 0}; }

}  // namespace

Result<KernelContract> parse_kernel_contract(std::string_view text) {
  const std::string_view key = "|factors: ";
  // The rule itself holds no quotes, so the last key is the one that we wrote, whatever strings the attributes contain.
  const size_t mark = text.rfind(key);
  if (mark != std::string_view::npos)
    text = text.substr(mark + key.size());
  else if (text.find("->") == std::string_view::npos)
    return KernelContract{};
  Reader r;
  r.s = text;
  if (!r.rule()) return bad(r.error);
  return std::move(r.out);
}

Result<KernelContract> resolve_extents(KernelContract c, const std::vector<ir::Shape>& operands, const std::vector<ir::Shape>& results) {
  if (operands.size() != c.operands.size() || results.size() != c.results.size())
    return bad(fmt::format("the rule has {} operands and {} results, the call {} and {}", c.operands.size(), c.results.size(),
                           operands.size(), results.size()));
  std::vector<std::pair<const KernelContract::Dim*, int64_t>> dims;
  const auto collect = [&](const std::vector<std::vector<KernelContract::Dim>>& rules, const std::vector<ir::Shape>& shapes) {
    for (size_t k = 0; k < rules.size(); ++k) {
      if (rules[k].size() != shapes[k].size()) return false;
      for (size_t d = 0; d < shapes[k].size(); ++d) dims.push_back({&rules[k][d], shapes[k][d]});
    }
    return true;
  };
  if (!collect(c.operands, operands) || !collect(c.results, results))
    return bad("a tensor has another number of dimensions than the rule says");
  std::vector<char> known(c.factors.size(), 0);
  // A dimension with one unknown factor gives that factor; repeat until nothing changes (at most once per factor).
  for (size_t round = 0; round <= c.factors.size(); ++round)
    for (const auto& [dim, size] : dims) {
      int64_t product = 1;
      int64_t open = -1;
      size_t unknown = 0;
      for (const uint32_t f : *dim) {
        if (known[f]) {
          if (__builtin_mul_overflow(product, c.factors[f].extent, &product)) return bad("sizes overflow");
        } else {
          ++unknown;
          open = f;
        }
      }
      if (unknown > 1) continue;
      if (unknown == 1) {
        if (product == 0 || size % product != 0) {
          if (product == 0) continue;
          return bad(fmt::format("size {} is no multiple of {}", size, product));
        }
        c.factors[static_cast<size_t>(open)].extent = size / product;
        known[static_cast<size_t>(open)] = 1;
      } else if (product != size) {
        return bad(fmt::format("a dimension has size {} where the rule needs {}", size, product));
      }
    }
  for (size_t f = 0; f < known.size(); ++f)
    if (!known[f]) return bad("the sizes do not determine the factor " + c.factors[f].name);
  return c;
}

}  // namespace shardproof::lower
