// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Sizes are SymPy's expressions as Python prints them; a climbing parser evaluates them as it reads, at most kMaxDepth deep.
#include "frontend/fx/symbols.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "frontend/fx/cursor.h"

namespace shardproof::fx {
namespace {

constexpr int kMaxDepth = 64;

using Number = std::optional<int64_t>;

class Evaluation {
 public:
  Evaluation(std::string_view text, const SymbolValue& value) : text_(text), value_(value) {}

  Number whole() {
    const Number n = binary(0, 0);
    skip();
    return at_ == text_.size() ? n : Number();
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  // Operators of at least this strength: 0 for + and -, 1 for *, //, / and %.
  Number binary(int strength, int depth) {
    Number left = strength == 2 ? power(depth) : binary(strength + 1, depth);
    while (left) {
      std::string_view op;
      if (strength == 0) {
        op = take("+") ? "+" : take("-") ? "-" : "";
      } else if (strength == 1) {
        op = take("//") ? "//" : take("/") ? "/" : take("%") ? "%" : take("*") ? "*" : "";
      }
      if (op.empty()) break;
      const Number right = binary(strength + 1, depth);
      left = right ? integer_operator(op, *left, *right) : Number();
    }
    return left;
  }

  Number power(int depth) {  // Python: a sign in front binds less than **
    if (depth > kMaxDepth) return std::nullopt;
    if (take("-")) {
      const Number n = power(depth + 1);
      return n ? integer_operator("-", 0, *n) : Number();
    }
    const Number base = operand(depth);
    if (!base || !take("**")) return base;
    const Number exponent = power(depth + 1);
    return exponent ? integer_operator("**", *base, *exponent) : Number();
  }

  Number operand(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (take("(")) {
      const Number n = binary(0, depth + 1);
      return n && take(")") ? n : Number();
    }
    skip();
    size_t end = at_;
    while (end < text_.size() && in_identifier(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.empty()) return std::nullopt;
    at_ = end;
    int64_t number = 0;
    if (const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        error == std::errc() && stop == word.data() + word.size())
      return number;
    if (!take("(")) return value_(std::string(word));
    std::vector<int64_t> arguments;
    do {
      const Number n = binary(0, depth + 1);
      if (!n) return std::nullopt;
      arguments.push_back(*n);
    } while (take(","));
    if (!take(")")) return std::nullopt;
    if (word == "Abs")
      return arguments.size() == 1 ? integer_operator("Max", arguments[0], integer_operator("-", 0, arguments[0]).value_or(arguments[0]))
                                   : Number();
    const bool many = word == "Max" || word == "Min";
    if (arguments.size() < 2 || (arguments.size() > 2 && !many)) return std::nullopt;
    Number n = arguments[0];
    for (size_t k = 1; k < arguments.size() && n; ++k) n = integer_operator(word, *n, arguments[k]);
    return n;
  }

  std::string_view text_;
  const SymbolValue& value_;
  size_t at_ = 0;
};

class Binder {
 public:
  Binder(Module& module, const SymbolValue& value) : module_(module) {
    value_ = [this, &value](const std::string& symbol) -> Number {
      if (const auto known = numbers_.find(symbol); known != numbers_.end()) return known->second;
      Number n = value(symbol);
      if (!n) {
        const auto hint = std::find_if(module_.hints.begin(), module_.hints.end(), [&](const auto& h) { return h.first == symbol; });
        if (hint == module_.hints.end()) return std::nullopt;
        n = hint->second;
        examples_.push_back(symbol);
      }
      numbers_[symbol] = *n;
      return n;
    };
  }

  Result<int> bind() {
    std::vector<Graph*> open{&module_.graph};
    while (!open.empty()) {
      Graph& graph = *open.back();
      open.pop_back();
      for (Value& v : graph.values) {
        if (!type(v)) return Diagnostic{"SP257", message_, module_.path, v.text_line, 0};
        for (Arg& a : v.args) argument(a);
        for (auto& [key, a] : v.kwargs) argument(a);
      }
      for (OutputRef& o : graph.outputs) argument(o.value);
      for (NamedGraph& sub : graph.submodules) open.push_back(&sub.second);
    }
    for (const auto& [symbol, number] : numbers_) {
      // A graph for 0 rows would prove anything, and PyTorch traces one for 1 row anew: what reads "s0" holds from 2 on.
      if (number < 2 && symbol.starts_with('s'))
        return Diagnostic{"SP257",
                          fmt::format("the symbolic size {} is given as {}, but PyTorch makes such graphs for sizes from 2 on: give it "
                                      "another number under `constants`, or capture a graph for this size",
                                      symbol, number),
                          module_.path, 0, 0};
      const bool example = std::find(examples_.begin(), examples_.end(), symbol) != examples_.end();
      module_.notes.push_back(fmt::format("the symbolic size {} is {}{}", symbol, number, example ? ", as in the export's example" : ""));
    }
    return 0;
  }

 private:
  bool type(Value& v) {
    TensorType& t = v.type;
    if (!t.symbolic) return true;
    if (t.is_sym) {  // the results of operators on sizes are computed
      const Number n = v.op == Value::Op::Placeholder && t.symbols.size() == 1 ? size_value(t.symbols[0], value_) : Number();
      if (n) t.shape = {*n}, t.symbolic = false;
      return true;
    }
    bool all = true;
    for (size_t d = 0; d < t.shape.size(); ++d) {
      if (t.shape[d] >= 0) continue;
      const Number n = size_value(t.symbols[d], value_);
      if (n && *n < 0) {
        message_ = fmt::format("the size {} of {} is {}, which is negative: give its symbols other numbers under `constants`", t.symbols[d],
                               v.name, *n);
        return false;
      }
      if (n) t.shape[d] = *n;
      all = all && n.has_value();
    }
    t.symbolic = !all;
    return true;
  }

  void argument(Arg& a) {  // readers bound the depth of argument trees
    if (a.kind == Arg::Kind::Symbol) {
      if (const Number n = size_value(a.text, value_)) a.kind = Arg::Kind::Int, a.i = *n, a.text.clear();
    }
    for (Arg& x : a.items) argument(x);
  }

  Module& module_;
  SymbolValue value_;
  std::map<std::string, int64_t> numbers_;
  std::vector<std::string> examples_;
  std::string message_;
};

}  // namespace

std::optional<int64_t> integer_operator(std::string_view op, int64_t x, int64_t y) {
  int64_t r = 0;
  if (op == "+") return __builtin_add_overflow(x, y, &r) ? Number() : r;
  if (op == "-") return __builtin_sub_overflow(x, y, &r) ? Number() : r;
  if (op == "*") return __builtin_mul_overflow(x, y, &r) ? Number() : r;
  if (op == "Max") return std::max(x, y);
  if (op == "Min") return std::min(x, y);
  if (op == "**") {
    if (y < 0 || y > 62) return std::nullopt;
    for (r = 1; y > 0; --y)
      if (__builtin_mul_overflow(r, x, &r)) return std::nullopt;
    return r;
  }
  if (y == 0 || (y == -1 && x == INT64_MIN)) return std::nullopt;
  const int64_t q = x / y, rest = x % y;
  const bool below = rest != 0 && (rest < 0) != (y < 0);  // Python rounds down
  if (op == "//" || op == "FloorDiv") return below ? q - 1 : q;
  if (op == "%" || op == "Mod" || op == "PythonMod") return below ? rest + y : rest;
  if (op == "/" || op == "CleanDiv") return rest == 0 ? Number(q) : Number();
  return std::nullopt;
}

std::optional<int64_t> size_value(std::string_view expression, const SymbolValue& value) { return Evaluation(expression, value).whole(); }

Result<int> bind_symbols(Module& module, const SymbolValue& value) { return Binder(module, value).bind(); }

}  // namespace shardproof::fx
