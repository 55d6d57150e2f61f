// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Free terms ("= x", "concat(0, r0.x, r1.x)") and the canonical words of placements.
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/placement.h"

namespace shardproof::manifest {

namespace {

constexpr int kMaxTermDepth = 32;

class TermReader {
 public:
  explicit TermReader(std::string_view text) : text_(text) {}

  std::string read(Term& out) {
    skip();
    if (peek() == '=') ++pos_;
    if (!expression(out, 0)) return error_;
    skip();
    if (pos_ != text_.size()) return fmt::format("unexpected \"{}\"", text_.substr(pos_));
    return "";
  }

 private:
  char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  void skip() {
    while (peek() == ' ' || peek() == '\t') ++pos_;
  }
  bool fail(std::string message) {
    error_ = std::move(message);
    return false;
  }
  bool eat(char c) {
    skip();
    if (peek() != c)
      return fail(pos_ < text_.size() ? fmt::format("expected '{}', found \"{}\"", c, text_.substr(pos_))
                                      : fmt::format("expected '{}' at the end", c));
    ++pos_;
    return true;
  }
  // A name runs to a comma, parenthesis or blank; one with such characters may stand in single quotes.
  std::string name() {
    skip();
    size_t start = pos_;
    if (peek() == '\'') {
      size_t close = text_.find('\'', pos_ + 1);
      if (close != std::string_view::npos) {
        pos_ = close + 1;
        return std::string(text_.substr(start + 1, close - start - 1));
      }
    }
    while (pos_ < text_.size() && std::string_view("(), \t").find(text_[pos_]) == std::string_view::npos) ++pos_;
    return std::string(text_.substr(start, pos_ - start));
  }
  bool number(int64_t& out) {
    skip();
    auto [end, error] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), out);
    if (error != std::errc()) return fail(fmt::format("expected a number, found \"{}\"", text_.substr(pos_)));
    pos_ = static_cast<size_t>(end - text_.data());
    return true;
  }
  // Numbers separated by blanks (or commas followed by a number), up to the comma before the tensor.
  bool numbers(std::vector<int64_t>& out) {
    for (;;) {
      skip();
      char c = peek();
      if (c != '-' && !(c >= '0' && c <= '9')) break;
      int64_t value = 0;
      if (!number(value)) return false;
      out.push_back(value);
    }
    return true;
  }

  bool expression(Term& out, int depth) {
    if (depth > kMaxTermDepth) return fail("nested too deeply");
    std::string word = name();
    if (word.empty())
      return fail(pos_ < text_.size() ? fmt::format("expected a name, found \"{}\"", text_.substr(pos_)) : "expected a name at the end");
    skip();
    if (peek() != '(') {
      set_name(word, out);
      return true;
    }
    ++pos_;
    size_t fixed = 1;  // number of tensor operands, 0 = any
    if (word == "concat") {
      out.kind = Term::Kind::Concat;
      fixed = 0;
      out.numbers.resize(1);
      if (!number(out.numbers[0]) || !eat(',')) return false;
    } else if (word == "slice") {
      out.kind = Term::Kind::Slice;
      out.numbers.resize(3);
      for (int64_t& n : out.numbers)
        if (!number(n) || !eat(',')) return false;
    } else if (word == "transpose" || word == "reshape") {
      out.kind = word == "transpose" ? Term::Kind::Transpose : Term::Kind::Reshape;
      if (!numbers(out.numbers) || !eat(',')) return false;
    } else if (word == "sum") {
      out.kind = Term::Kind::Sum;
      fixed = 0;
    } else if (word == "scale") {
      out.kind = Term::Kind::Scale;
      out.numbers = {1, 1};
      if (!number(out.numbers[0])) return false;
      skip();
      if (peek() == '/') {
        ++pos_;
        if (!number(out.numbers[1])) return false;
      }
      if (out.numbers[0] == 0 || out.numbers[1] <= 0) return fail("scale needs a fraction other than 0");
      if (!eat(',')) return false;
    } else {
      std::string near = nearest(word, {"concat", "slice", "transpose", "reshape", "sum", "scale"});
      return fail(fmt::format("unknown function \"{}\"{}", word, near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    }
    for (;;) {
      out.items.emplace_back();
      if (!expression(out.items.back(), depth + 1)) return false;
      skip();
      if (peek() == ',') {
        ++pos_;
        continue;
      }
      break;
    }
    if (!eat(')')) return false;
    if (fixed && out.items.size() != fixed) return fail(fmt::format("{} takes one tensor", word));
    return true;
  }

  static void set_name(const std::string& word, Term& out) {
    out.kind = Term::Kind::Name;
    out.name = word;
    size_t dot = word.find('.');
    if (word[0] == 'r' && dot != std::string::npos && dot > 1 && dot + 1 < word.size()) {
      int64_t rank = 0;
      auto [end, error] = std::from_chars(word.data() + 1, word.data() + dot, rank);
      if (error == std::errc() && end == word.data() + dot && rank >= 0) {
        out.rank = rank;
        out.name = word.substr(dot + 1);
      }
    }
  }

  std::string_view text_;
  size_t pos_ = 0;
  std::string error_;
};

std::string number_text(const ir::Literal& value) {
  if (value.kind == ir::Literal::Kind::Float) return fmt::format("{}", value.d);
  if (value.kind == ir::Literal::Kind::Bool) return value.i ? "true" : "false";
  return std::to_string(value.i);
}

}  // namespace

bool is_term(std::string_view text) {
  size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return false;
  char c = text[start];
  // Words begin with capitals; "any" and "partial" written small are not terms, but they have no parenthesis or get a word's error.
  return c == '=' || (c >= 'a' && c <= 'z' && text.find('(') != std::string_view::npos && text.find('@') == std::string_view::npos);
}

std::string read_term(std::string_view text, Term& out) { return TermReader(text).read(out); }

std::string to_string(const Term& term) {
  std::vector<std::string> items;
  for (const Term& item : term.items) items.push_back(to_string(item));
  switch (term.kind) {
    case Term::Kind::Name: {
      bool quoted = term.name.find_first_of("(), \t") != std::string::npos;
      std::string name = term.rank >= 0 ? fmt::format("r{}.{}", term.rank, term.name) : term.name;
      return quoted ? fmt::format("'{}'", name) : name;
    }
    case Term::Kind::Concat: return fmt::format("concat({}, {})", term.numbers[0], fmt::join(items, ", "));
    case Term::Kind::Slice: return fmt::format("slice({}, {})", fmt::join(term.numbers, ", "), items[0]);
    case Term::Kind::Transpose: return fmt::format("transpose({}, {})", fmt::join(term.numbers, " "), items[0]);
    case Term::Kind::Reshape: return fmt::format("reshape({}, {})", fmt::join(term.numbers, " "), items[0]);
    case Term::Kind::Sum: return fmt::format("sum({})", fmt::join(items, ", "));
    case Term::Kind::Scale: return fmt::format("scale({}/{}, {})", term.numbers[0], term.numbers[1], items[0]);
  }
  return "?";
}

std::string to_string(const Step& step, const Mesh& mesh) {
  std::vector<std::string> names;
  for (int axis : step.axes) names.push_back(mesh.axes[static_cast<size_t>(axis)].name);
  std::string at = names.size() == 1 ? "@" + names[0] : fmt::format("@({})", fmt::join(names, ", "));
  switch (step.kind) {
    case Step::Kind::Shard: {
      std::string args = std::to_string(step.dim);
      if (!step.blocks.empty()) {
        std::vector<std::string> blocks;
        for (const Step::Block& b : step.blocks)
          blocks.push_back(b.copies == 1 ? std::to_string(b.size) : fmt::format("{}x{}", b.size, b.copies));
        args += fmt::format(", blocks=[{}]", fmt::join(blocks, ", "));
      } else if (step.equal_blocks != 1) {
        args += fmt::format(", blocks={}", step.equal_blocks);
      } else if (step.zigzag) {
        args += ", order=zigzag";
      } else if (!step.chunks.empty()) {
        std::vector<std::string> parts;
        for (const auto& part : step.chunks) parts.push_back(fmt::format("[{}]", fmt::join(part, ", ")));
        args += fmt::format(", chunks=[{}]", fmt::join(parts, ", "));
      } else if (step.padded) {
        args += fmt::format(", padded={}, fill={}", step.padded, step.fill ? number_text(*step.fill) : "any");
      }
      return fmt::format("Shard({}){}", args, at);
    }
    case Step::Kind::Partial: {
      const char* op = step.op == ReduceOp::Sum ? "sum" : step.op == ReduceOp::Avg ? "avg" : step.op == ReduceOp::Max ? "max" : "min";
      return fmt::format("Partial({}){}", op, at);
    }
    case Step::Kind::On: return fmt::format("On({}){}", fmt::join(step.coordinates, ","), at);
    case Step::Kind::Scale: return fmt::format("Scale({}/{})", step.numerator, step.denominator);
  }
  return "?";
}

std::string to_string(const Placement& placement, const Mesh& mesh) {
  if (placement.kind == Placement::Kind::Any) return "any";
  std::vector<std::string> parts;
  if (placement.kind == Placement::Kind::Terms) {
    for (const Term& term : placement.terms) parts.push_back(term.kind == Term::Kind::Name ? "= " + to_string(term) : to_string(term));
    return parts.size() == 1 ? parts[0] : fmt::format("[\"{}\"]", fmt::join(parts, "\", \""));
  }
  for (const Step& step : placement.steps) parts.push_back(to_string(step, mesh));
  return parts.empty() ? "Replicate" : fmt::format("{}", fmt::join(parts, ", "));
}

Result<Placement> parse_placement(std::string_view words, const Mesh& mesh) {
  Value value;
  value.kind = Value::Kind::String;
  value.s = std::string(words);
  Placement placement;
  if (std::string error = read_placement(value, mesh, true, placement); !error.empty()) return Diagnostic{"SP205", error, "", 0, 0};
  return placement;
}

}  // namespace shardproof::manifest
