// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The body of a forward function. A statement is one of
//   name [: annotation] = right-hand side        a value
//   name: annotation                             the type of a placeholder that the next form will define (pytree signatures)
//   a, b, c, = fx_pytree.tree_flatten_spec(...)  the placeholders
//   a = b = None                                 deletion: nothing to do, as names are never reused
//   a += b;  name = a                            an operator in place (Dynamo's graphs); also a[i] = b;  name = a
//   l_x_ = L_x_                                  the node's name of the parameter L_x_ (Dynamo's graphs)
//   return ...
// Anything else is an error.
#include <charconv>

#include <fmt/format.h>

#include "frontend/fx/annotation.h"
#include "frontend/fx/text.h"

namespace shardproof::fx {
namespace {

constexpr size_t kMaxSignatureDepth = 64;

std::string_view function_of(std::string_view op) {
  struct Entry {
    std::string_view op, name;
  };
  static constexpr Entry kTable[] = {
      {"+", "operator.add"},  {"-", "operator.sub"},  {"*", "operator.mul"},    {"/", "operator.truediv"}, {"//", "operator.floordiv"},
      {"%", "operator.mod"},  {"**", "operator.pow"}, {"@", "operator.matmul"}, {"<<", "operator.lshift"}, {">>", "operator.rshift"},
      {"&", "operator.and_"}, {"|", "operator.or_"},  {"^", "operator.xor"},    {"<", "operator.lt"},      {"<=", "operator.le"},
      {"==", "operator.eq"},  {"!=", "operator.ne"},  {">", "operator.gt"},     {">=", "operator.ge"}};
  for (const Entry& entry : kTable) {
    if (entry.op == op) return entry.name;
  }
  return {};
}

Arg name_arg(std::string_view name) {
  Arg arg;
  arg.kind = Arg::Kind::Name;
  arg.text = std::string(name);
  return arg;
}

// Moves the arguments of a Call into a value.
void take_arguments(Value& value, Arg& call) {
  for (size_t i = 0; i < call.items.size(); ++i) {
    if (i < call.positional) {
      value.args.push_back(std::move(call.items[i]));
    } else {
      std::string key = std::move(call.items[i].text);
      ++i;
      value.kwargs.emplace_back(std::move(key), std::move(call.items[i]));
    }
  }
}

}  // namespace

bool BodyReader::end_of_statement() const { return cursor_.at_line_end() || cursor_.peek() == ';' || cursor_.peek() == '#'; }

Value BodyReader::placeholder(std::string_view name, TensorType type, std::string descriptor) const {
  Value value;
  value.op = Value::Op::Placeholder;
  value.name = std::string(name);
  value.type = std::move(type);
  value.descriptor = std::move(descriptor);
  value.text_line = cursor_.line();
  return value;
}

bool BodyReader::define(Value value, size_t name_pos) {
  const std::string_view name = cursor_.text().substr(name_pos, value.name.size());
  if (!names_.values.insert(name).second) {
    return cursor_.fail_at(name_pos, fmt::format("'{}' is defined a second time; the names of a graph are unique", name), "SP211");
  }
  for (const std::string& size : value.type.symbols) names_.add_symbols(size);
  if (value.op == Value::Op::Placeholder) placeholders_.emplace(name, out_->graph.values.size());
  out_->graph.values.push_back(std::move(value));
  return true;
}

// The comment behind a statement or parameter on the same line; empty if there is none.
std::string_view BodyReader::trailing_comment() {
  cursor_.skip_blanks();
  return cursor_.peek() == '#' ? cursor_.comment() : std::string_view();
}

// "(self, a: "f32[2]", b = None, *args) -> T:" over one or many lines. The comment behind a parameter is its descriptor.
bool BodyReader::signature(GraphText& out) {
  out_ = &out;
  out.has_forward = true;
  names_.values.clear();
  cursor_.skip_blanks();
  if (!cursor_.take('(')) return cursor_.fail(fmt::format("expected '(' after 'def forward', found {}", cursor_.found()));
  bool first = true;
  bool more = true;  // a ',' or the '(' precedes
  for (;;) {
    cursor_.skip_blanks();
    if (cursor_.peek() == '#') {
      const std::string_view text = cursor_.comment();
      if (!out_->graph.values.empty() && out_->graph.values.back().text_line == cursor_.line()) {
        out_->graph.values.back().descriptor = std::string(text);
      }
      continue;
    }
    if (cursor_.peek() == '\n') {
      cursor_.skip_line();
      continue;
    }
    if (cursor_.take(')')) break;
    if (!more) return cursor_.fail(fmt::format("expected ',' or ')' after a parameter, found {}", cursor_.found()));
    if (first && cursor_.take_word("self")) {
      // not a placeholder
    } else if (!parameter()) {
      return false;
    }
    first = false;
    cursor_.skip_blanks();
    more = cursor_.take(',');
  }
  cursor_.skip_blanks();
  if (cursor_.looking_at("->")) {
    cursor_.advance(2);
    while (!cursor_.at_line_end() && cursor_.peek() != ':') cursor_.advance();
  }
  if (!cursor_.take(':')) return cursor_.fail(fmt::format("expected ':' after the parameters, found {}", cursor_.found()));
  return true;
}

bool BodyReader::parameter() {
  while (cursor_.peek() == '*') cursor_.advance();
  cursor_.skip_blanks();
  const size_t pos = cursor_.pos();
  const std::string_view name = cursor_.identifier();
  if (name.empty()) {
    if (cursor_.peek() == ',' || (cursor_.peek() == '/' && pos > 0)) {  // "*," and "/,": only calling conventions
      cursor_.take('/');
      return true;
    }
    return cursor_.fail(fmt::format("expected a parameter name, found {}", cursor_.found()));
  }
  TensorType type;
  cursor_.skip_blanks();
  if (cursor_.take(':') && !annotation(type)) return false;
  cursor_.skip_blanks();
  if (cursor_.take('=')) {
    cursor_.skip_blanks();
    Arg ignored;
    if (!expressions_.argument(ignored, true)) return false;
  }
  return define(placeholder(name, std::move(type), ""), pos);
}

// Behind ':'. A string is torch's annotation; anything else is a Python type, of which only the end matters.
bool BodyReader::annotation(TensorType& type) {
  cursor_.skip_blanks();
  const size_t start = cursor_.pos();
  if (cursor_.peek() == '"' || cursor_.peek() == '\'') {
    const char quote = cursor_.peek();
    const size_t end = cursor_.text().find_first_of(quote == '"' ? "\"\n" : "'\n", start + 1);
    if (end == std::string_view::npos || cursor_.text()[end] == '\n') return cursor_.fail("this annotation does not end on its line");
    const std::string_view text = cursor_.text().substr(start + 1, end - start - 1);
    cursor_.seek(end + 1);
    if (!parse_annotation(text, type)) {
      notes_.push_back(fmt::format("line {}: the type annotation \"{}\" is not understood and is ignored", cursor_.line(), text));
    }
    return true;
  }
  int64_t depth = 0;
  for (; !cursor_.at_line_end(); cursor_.advance()) {
    const char c = cursor_.peek();
    if (depth == 0 && (c == ',' || c == ')' || c == '=' || c == ';' || c == '#')) break;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
  }
  if (cursor_.from(start).find_first_not_of(" \t\r") == std::string_view::npos) {
    return cursor_.fail(fmt::format("expected a type, found {}", cursor_.found()));
  }
  return true;
}

void BodyReader::comment(std::string_view text) {
  // [Annotation: {...} | recompute: MUST_SAVE] File: PATH:LINE in FUNC, code: TEXT
  if (text.find("No stacktrace found for following nodes") != std::string_view::npos) {
    file_ = nullptr;
    file_line_ = 0;
    return;
  }
  size_t at = 0;
  if (text.substr(0, 6) != "File: ") {
    at = text.find(" File: ");
    if (at == std::string_view::npos) return;
    ++at;
  }
  text.remove_prefix(at + 6);
  std::string_view place = text.substr(0, text.find(", code: "));
  place = place.substr(0, place.rfind(" in "));
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return;
  const std::string_view digits = place.substr(colon + 1);
  int line = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) return;
  const std::string_view path = place.substr(0, colon);
  if (!file_ || *file_ != path) {
    std::shared_ptr<const std::string>& known = files_[path];
    if (!known) known = std::make_shared<const std::string>(path);
    file_ = known;
  }
  file_line_ = line;
}

bool BodyReader::line() {
  for (;;) {
    cursor_.skip_blanks();
    if (!end_of_statement() && !statement()) return false;
    cursor_.skip_blanks();
    if (cursor_.take(';')) continue;
    if (cursor_.peek() == '#') cursor_.comment();
    if (!cursor_.at_line_end()) return cursor_.fail(fmt::format("expected ';' or the end of the line, found {}", cursor_.found()));
    cursor_.skip_line();
    return true;
  }
}

bool BodyReader::statement() {
  const size_t pos = cursor_.pos();
  if (out_->has_return) return cursor_.fail("a statement follows 'return'");
  const std::string_view name = cursor_.identifier();
  if (name.empty()) return cursor_.fail(fmt::format("expected a statement, found {}", cursor_.found()));
  if (name == "return") return returned();
  if (name == "pass") return true;
  cursor_.skip_blanks();
  const char c = cursor_.peek();
  if (c == ':') {
    cursor_.advance();
    TensorType type;
    if (!annotation(type)) return false;
    cursor_.skip_blanks();
    if (cursor_.peek() == '=' && cursor_.peek(1) != '=') {
      cursor_.advance();
      return assign(name, pos, std::move(type));
    }
    if (!before_leaves_) return cursor_.fail_at(pos, fmt::format("'{}' is annotated but not assigned", name));
    cursor_.skip_blanks();
    Annotated entry{std::move(type), "", pos, cursor_.line()};
    cursor_.skip_blanks();
    if (cursor_.peek() == '#') entry.descriptor = std::string(trailing_comment());
    if (!annotated_.emplace(name, std::move(entry)).second) {
      return cursor_.fail_at(pos, fmt::format("'{}' is annotated a second time", name), "SP211");
    }
    annotated_order_.push_back(name);
    return true;
  }
  if (c == '=' && cursor_.peek(1) != '=') {
    cursor_.advance();
    return assign(name, pos, TensorType{});
  }
  if (c == ',') return unpack({name}, {pos});
  if (before_leaves_ && end_of_statement()) {  // a placeholder that has a descriptor but no type
    Annotated entry{TensorType{}, "", pos, cursor_.line()};
    entry.descriptor = std::string(trailing_comment());
    if (!annotated_.emplace(name, std::move(entry)).second) {
      return cursor_.fail_at(pos, fmt::format("'{}' is annotated a second time", name), "SP211");
    }
    annotated_order_.push_back(name);
    return true;
  }
  const size_t length = expressions_.binary_operator();
  if ((length > 0 && cursor_.peek(length) == '=') || (c == '[' && names_.values.count(name) != 0)) return in_place(name, pos);
  return cursor_.fail(fmt::format("expected '=' or ':' after '{}', found {}", name, cursor_.found()));
}

// "a, b  , c, = fx_pytree.tree_flatten_spec([x, y], self._in_spec)": the placeholders; those of the signature are containers only.
bool BodyReader::unpack(std::vector<std::string_view> targets, std::vector<size_t> positions) {
  while (cursor_.take(',')) {
    cursor_.skip_blanks();
    if (cursor_.peek() == '=') break;
    positions.push_back(cursor_.pos());
    targets.push_back(cursor_.identifier());
    if (targets.back().empty()) return cursor_.fail(fmt::format("expected a name or '=', found {}", cursor_.found()));
    cursor_.skip_blanks();
  }
  if (!cursor_.take('=')) return cursor_.fail(fmt::format("expected ',' or '=', found {}", cursor_.found()));
  cursor_.skip_blanks();
  const size_t start = cursor_.pos();
  Arg call;
  if (!cursor_.looking_at("fx_pytree.tree_flatten_spec(")) {
    return cursor_.fail("expected 'fx_pytree.tree_flatten_spec(...)': several names are assigned only from the inputs' pytree");
  }
  if (!expressions_.argument(call, false)) return false;
  if (!before_leaves_ || pytree_) return cursor_.fail_at(start, "the inputs' pytree is flattened after the first value");
  pytree_ = true;
  before_leaves_ = false;
  out_->graph.values.clear();
  names_.values.clear();
  placeholders_.clear();
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto found = annotated_.find(targets[i]);
    Value value;
    if (found == annotated_.end()) {
      value = placeholder(targets[i], TensorType{}, "");
    } else {
      value = placeholder(targets[i], std::move(found->second.type), std::move(found->second.descriptor));
      value.text_line = found->second.line;
      annotated_.erase(found);
    }
    if (!define(std::move(value), positions[i])) return false;
  }
  for (const std::string_view name : annotated_order_) {
    const auto left = annotated_.find(name);
    if (left != annotated_.end()) {
      return cursor_.fail_at(left->second.pos, fmt::format("'{}' is annotated as an input but is not among the flattened inputs", name),
                             "SP211");
    }
  }
  return true;
}

// Behind "name [: type] =". A chain "a = b = None" deletes; only a single target may get a value.
bool BodyReader::assign(std::string_view name, size_t name_pos, TensorType type) {
  std::vector<std::pair<std::string_view, size_t>> more;
  for (;;) {
    cursor_.skip_blanks();
    const size_t here = cursor_.pos();
    const std::string_view word = cursor_.identifier();
    if (word.empty()) break;
    cursor_.skip_blanks();
    if (word == "None" && end_of_statement()) {
      more.insert(more.begin(), {name, name_pos});
      for (const auto& [target, pos] : more) {
        if (names_.values.count(target) == 0) {
          return cursor_.fail_at(pos, fmt::format("'{}' is deleted but was never defined", target), "SP211");
        }
      }
      return true;
    }
    if (cursor_.peek() == '=' && cursor_.peek(1) != '=') {
      cursor_.advance();
      more.emplace_back(word, here);
      continue;
    }
    cursor_.seek(here);
    break;
  }
  if (!more.empty()) return cursor_.fail("expected 'None' after several targets");
  if (!finish()) return false;
  const size_t start = cursor_.pos();
  const std::string_view other = cursor_.identifier();
  cursor_.skip_blanks();
  if (!other.empty() && end_of_statement() && placeholders_.count(other) != 0 && out_->graph.values.back().op == Value::Op::Placeholder) {
    cursor_.seek(start);
    return rename(name, name_pos, std::move(type));
  }
  cursor_.seek(start);
  Value value;
  value.name = std::string(name);
  value.type = std::move(type);
  value.file = file_;
  value.line = file_line_;
  value.text_line = cursor_.line();
  return right_hand_side(value) && define(std::move(value), name_pos);
}

// "l_x_ = L_x_": FX keeps the parameter's own name in the signature when it is not a fit name for the node.
bool BodyReader::rename(std::string_view name, size_t name_pos, TensorType type) {
  const std::string_view old = cursor_.identifier();
  const auto found = placeholders_.find(old);
  const size_t index = found->second;
  if (!names_.values.insert(name).second) {
    return cursor_.fail_at(name_pos, fmt::format("'{}' is defined a second time; the names of a graph are unique", name), "SP211");
  }
  names_.values.erase(old);
  placeholders_.erase(found);
  Value& value = out_->graph.values[index];
  value.name = std::string(name);
  if (!value.type.known) value.type = std::move(type);
  return true;
}

bool BodyReader::right_hand_side(Value& value) {
  const size_t start = cursor_.pos();
  // -x, +x, ~x of a value; of a number it is a literal.
  const char sign = cursor_.peek();
  if ((sign == '-' || sign == '+' || sign == '~') && starts_identifier(cursor_.peek(1))) {
    cursor_.advance();
    Arg operand;
    if (!expressions_.argument(operand, false)) return false;
    value.op = Value::Op::Builtin;
    value.target = sign == '-' ? "operator.neg" : sign == '+' ? "operator.pos" : "operator.invert";
    value.args.push_back(std::move(operand));
    return true;
  }
  if (cursor_.take_word("not")) {
    cursor_.skip_blanks();
    Arg operand;
    if (!expressions_.argument(operand, false)) return false;
    value.op = Value::Op::Builtin;
    value.target = "operator.not_";
    value.args.push_back(std::move(operand));
    return true;
  }
  Arg operand;
  if (!expressions_.argument(operand, false)) return false;
  cursor_.skip_blanks();
  if (const size_t length = expressions_.binary_operator(); length > 0) {
    const std::string_view op = cursor_.text().substr(cursor_.pos(), length);
    cursor_.advance(length);
    cursor_.skip_blanks();
    Arg second;
    if (!expressions_.argument(second, false)) return false;
    cursor_.skip_blanks();
    if (!end_of_statement()) return cursor_.fail(fmt::format("expected one operator of two operands, found {} behind", cursor_.found()));
    value.op = Value::Op::Builtin;
    value.target = std::string(function_of(op));
    value.args.push_back(std::move(operand));
    value.args.push_back(std::move(second));
    return true;
  }
  switch (operand.kind) {
    case Arg::Kind::Name:
      if (!cursor_.take('[')) break;
      value.op = Value::Op::GetItem;
      value.args.push_back(std::move(operand));
      value.args.emplace_back();
      cursor_.skip_blanks();
      if (!expressions_.argument(value.args.back(), true)) return false;
      cursor_.skip_blanks();
      if (!cursor_.take(']')) return cursor_.fail(fmt::format("expected ']' after an item's index, found {}", cursor_.found()));
      return true;
    case Arg::Kind::Self: return attribute_path(value, std::move(operand));
    case Arg::Kind::Word: return word_value(value, std::move(operand), start);
    case Arg::Kind::Call: return call_value(value, std::move(operand), start);
    default: break;
  }
  return cursor_.fail_at(start, "expected a call, an operator, an item 'x[0]' or an attribute 'self.x' as the value");
}

// self.a, and what may follow it: ".b" after getattr(...), or the call of a submodule.
bool BodyReader::attribute_path(Value& value, Arg operand) {
  while (cursor_.peek() == '.' && starts_identifier(cursor_.peek(1))) {
    cursor_.advance();
    operand.text += '.';
    operand.text += cursor_.identifier();
  }
  if (cursor_.peek() == '(') {
    Arg call;
    if (!expressions_.call(call, "")) return false;
    value.op = Value::Op::Builtin;
    value.target = "self." + operand.text;
    take_arguments(value, call);
    return true;
  }
  value.op = Value::Op::GetAttr;
  value.target = std::move(operand.text);
  return true;
}

// A dotted name that is not a call: x.shape of a value x.
bool BodyReader::word_value(Value& value, Arg operand, size_t start) {
  const std::string_view text = operand.text;
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || names_.values.count(text.substr(0, dot)) == 0 || text.find('.', dot + 1) != std::string_view::npos) {
    return cursor_.fail_at(start, fmt::format("expected a call, found '{}' without '('", text));
  }
  value.op = Value::Op::Builtin;
  value.target = "getattr";
  value.args.push_back(name_arg(text.substr(0, dot)));
  Arg attribute;
  attribute.kind = Arg::Kind::String;
  attribute.text = std::string(text.substr(dot + 1));
  value.args.push_back(std::move(attribute));
  return true;
}

bool BodyReader::call_value(Value& value, Arg operand, size_t start) {
  constexpr std::string_view kOps = "torch.ops.";
  const std::string_view callee = operand.text;
  if (callee.substr(0, kOps.size()) == kOps) {
    value.op = Value::Op::Call;
    value.target = std::string(callee.substr(kOps.size()));
    take_arguments(value, operand);
    return true;
  }
  if (callee == "getattr" && operand.items.size() == 2 && operand.positional == 2 && operand.items[1].kind == Arg::Kind::String) {
    // getattr(self, "0") or getattr(self.layers, "0"): how FX writes paths that are not Python names
    const Arg& base = operand.items[0];
    if (base.kind == Arg::Kind::Self || (base.kind == Arg::Kind::Word && base.text == "self")) {
      Arg path;
      path.kind = Arg::Kind::Self;
      path.text = base.kind == Arg::Kind::Self ? base.text + "." + operand.items[1].text : operand.items[1].text;
      return attribute_path(value, std::move(path));
    }
  }
  const size_t dot = callee.find('.');
  const std::string_view first = callee.substr(0, dot);
  value.op = Value::Op::Builtin;
  if (dot != std::string_view::npos && names_.values.count(first) != 0) {  // a method of a value
    if (callee.find('.', dot + 1) != std::string_view::npos)
      return cursor_.fail_at(start, "expected a method of a value, found a longer path");
    value.target = "method." + std::string(callee.substr(dot + 1));
    value.args.push_back(name_arg(first));
  } else if (callee.substr(0, 10) == "_operator.") {
    value.target = std::string(callee.substr(1));
  } else {
    value.target = std::string(callee);
  }
  take_arguments(value, operand);
  if (value.target == "operator.getitem" && value.args.size() == 2 && value.kwargs.empty() && value.args[0].kind == Arg::Kind::Name) {
    value.op = Value::Op::GetItem;
    value.target.clear();
  }
  return true;
}

// "a += b;  name = a" and "a[i] = b;  name = a": the value is `name`.
bool BodyReader::in_place(std::string_view target, size_t target_pos) {
  if (names_.values.count(target) == 0) {
    return cursor_.fail_at(target_pos, fmt::format("'{}' is changed in place but was never defined", target), "SP211");
  }
  if (!finish()) return false;
  Value value;
  value.op = Value::Op::Builtin;
  value.args.push_back(name_arg(target));
  if (cursor_.take('[')) {
    value.target = "operator.setitem";
    value.args.emplace_back();
    cursor_.skip_blanks();
    if (!expressions_.argument(value.args.back(), true)) return false;
    cursor_.skip_blanks();
    if (!cursor_.take(']')) return cursor_.fail(fmt::format("expected ']' after an item's index, found {}", cursor_.found()));
    cursor_.skip_blanks();
    if (cursor_.peek() != '=' || cursor_.peek(1) == '=') return cursor_.fail(fmt::format("expected '=', found {}", cursor_.found()));
    cursor_.advance();
  } else {
    const size_t length = expressions_.binary_operator();
    std::string_view function = function_of(cursor_.text().substr(cursor_.pos(), length)).substr(std::string_view("operator.").size());
    if (function.back() == '_') function.remove_suffix(1);  // and_, or_
    value.target = "operator.i" + std::string(function);
    cursor_.advance(length + 1);
  }
  cursor_.skip_blanks();
  value.args.emplace_back();
  if (!expressions_.argument(value.args.back(), false)) return false;
  cursor_.skip_blanks();
  if (!cursor_.take(';')) {
    return cursor_.fail(fmt::format("expected '; name = {}' after an operator in place, found {}", target, cursor_.found()));
  }
  cursor_.skip_blanks();
  const size_t name_pos = cursor_.pos();
  value.name = std::string(cursor_.identifier());
  cursor_.skip_blanks();
  if (!value.name.empty() && cursor_.take(':') && !annotation(value.type)) return false;
  cursor_.skip_blanks();
  if (value.name.empty() || !cursor_.take('=')) return cursor_.fail(fmt::format("expected 'name = {}', found {}", target, cursor_.found()));
  cursor_.skip_blanks();
  if (!cursor_.take_word(target)) return cursor_.fail(fmt::format("expected '{}', found {}", target, cursor_.found()));
  value.file = file_;
  value.line = file_line_;
  value.text_line = cursor_.line();
  return define(std::move(value), name_pos);
}

// Behind "return": a tree of tuples, lists and dictionaries, perhaps within pytree.tree_unflatten(tree, self._out_spec). Leaves become
// outputs from left to right; the comment behind a leaf on its line is its descriptor.
bool BodyReader::returned() {
  out_->has_return = true;
  if (!finish()) return false;
  cursor_.skip_blanks();
  std::vector<OutputRef>& outputs = out_->graph.outputs;
  if (end_of_statement()) return true;
  std::string closers;   // of the open brackets
  size_t unflatten = 0;  // closers.size() within tree_unflatten's own parentheses
  if (cursor_.looking_at("pytree.tree_unflatten(")) {
    cursor_.advance(std::string_view("pytree.tree_unflatten(").size());
    closers = ")";
    unflatten = 1;
  }
  size_t tree_arguments = 0;
  int leaf_line = 0;  // where the last output stands
  bool expect_item = true;
  for (;;) {
    cursor_.skip_blanks();
    const char c = cursor_.peek();
    if (c == '#') {
      const std::string_view text = cursor_.comment();
      if (!closers.empty() && !outputs.empty() && leaf_line == cursor_.line()) outputs.back().descriptor = std::string(text);
      if (closers.empty()) return true;
      continue;
    }
    if (cursor_.at_line_end() || c == ';') {
      if (closers.empty()) return true;
      if (c == '\n') {
        cursor_.skip_line();
        continue;
      }
      return cursor_.fail(fmt::format("expected '{}' of the returned value, found {}", closers.back(), cursor_.found()));
    }
    if (!closers.empty() && c == closers.back()) {
      cursor_.advance();
      closers.pop_back();
      expect_item = false;
      continue;
    }
    if (c == ',') {
      if (expect_item) return cursor_.fail("expected a returned value before ','");
      cursor_.advance();
      if (unflatten != 0 && closers.size() == unflatten) ++tree_arguments;
      expect_item = true;
      continue;
    }
    if (!expect_item) return cursor_.fail(fmt::format("expected ',' between returned values, found {}", cursor_.found()));
    if (c == '(' || c == '[' || c == '{') {
      if (closers.size() >= kMaxSignatureDepth) {
        return cursor_.fail_at(cursor_.pos(), fmt::format("brackets nest deeper than {}", kMaxSignatureDepth), "SP212");
      }
      closers += c == '(' ? ')' : c == '[' ? ']' : '}';
      cursor_.advance();
      continue;
    }
    if (unflatten != 0 && closers.size() == unflatten && tree_arguments == 1) {  // self._out_spec
      Arg spec;
      if (!expressions_.argument(spec, false)) return false;
      expect_item = false;
      continue;
    }
    OutputRef output;
    if (!expressions_.argument(output.value, true)) return false;
    cursor_.skip_blanks();
    if (!closers.empty() && closers.back() == '}' && cursor_.take(':')) continue;  // the key of a dictionary
    leaf_line = cursor_.line();
    outputs.push_back(std::move(output));
    expect_item = false;
  }
}

bool BodyReader::finish() {
  if (before_leaves_ && !annotated_.empty()) {
    const Annotated& left = annotated_.at(annotated_order_.front());
    return cursor_.fail_at(left.pos, "this input is annotated, but no fx_pytree.tree_flatten_spec(...) follows that defines it", "SP211");
  }
  before_leaves_ = false;
  return true;
}

}  // namespace shardproof::fx
