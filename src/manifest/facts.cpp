// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Facts are read from their right end, because an input's name may hold any character.
#include "manifest/facts.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace shardproof::manifest {

namespace {

constexpr const char* kForms =
    "a fact is \"x in [a, b)\", \"x in [a, b) or = c\", \"x >= a\", \"x > a\", \"any(x != c)\" or \"distinct(x, dim=1)\"";

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

bool number(std::string_view s, double& out) {
  s = trim(s);
  if (s.empty() || s.size() > 60) return false;
  std::string text(s);
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() && !std::isnan(out);
}

}  // namespace

std::string read_fact(std::string_view text, Fact& out) {
  out.text = std::string(trim(text));
  std::string_view s = out.text;
  auto named = [&](std::string_view name) {
    out.input = std::string(trim(name));
    return out.input.empty() ? std::string("a fact needs the name of an input; ") + kForms : std::string();
  };
  if (s.starts_with("any(") && s.ends_with(")")) {
    std::string_view body = s.substr(4, s.size() - 5);
    size_t ne = body.rfind("!=");
    if (ne == std::string_view::npos || !number(body.substr(ne + 2), out.value)) return kForms;
    out.kind = Fact::Kind::AnyNotEqual;
    return named(body.substr(0, ne));
  }
  if (s.starts_with("distinct(") && s.ends_with(")")) {
    std::string_view body = s.substr(9, s.size() - 10);
    size_t comma = body.rfind(',');
    double dim = 0;
    if (comma == std::string_view::npos) return kForms;
    std::string_view arg = trim(body.substr(comma + 1));
    if (!arg.starts_with("dim")) return kForms;
    arg = trim(arg.substr(3));
    if (!arg.starts_with("=") || !number(arg.substr(1), dim) || dim != std::floor(dim) || std::fabs(dim) > 64) return kForms;
    out.kind = Fact::Kind::Distinct;
    out.dim = static_cast<int64_t>(dim);
    return named(body.substr(0, comma));
  }
  size_t in = s.rfind(" in ");
  if (in != std::string_view::npos) {
    std::string_view range = trim(s.substr(in + 4));
    size_t close = range.find(')'), comma = range.find(',');
    if (!range.starts_with("[") || close == std::string_view::npos || comma == std::string_view::npos || comma > close) return kForms;
    if (!number(range.substr(1, comma - 1), out.low) || !number(range.substr(comma + 1, close - comma - 1), out.high)) return kForms;
    std::string_view rest = trim(range.substr(close + 1));
    if (!rest.empty()) {
      if (!rest.starts_with("or")) return kForms;
      rest = trim(rest.substr(2));
      if (!rest.starts_with("=") || !number(rest.substr(1), out.exception)) return kForms;
      out.has_exception = true;
    }
    out.kind = Fact::Kind::Range;
    if (!(out.low < out.high) && !out.has_exception)
      return fmt::format("the range [{}, {}) is empty: the fact contradicts itself", out.low, out.high);
    return named(s.substr(0, in));
  }
  size_t gt = s.rfind('>');
  if (gt != std::string_view::npos) {
    bool equal = gt + 1 < s.size() && s[gt + 1] == '=';
    if (!number(s.substr(gt + (equal ? 2 : 1)), out.value)) return kForms;
    out.kind = equal ? Fact::Kind::AtLeast : Fact::Kind::GreaterThan;
    return named(s.substr(0, gt));
  }
  return kForms;
}

}  // namespace shardproof::manifest
