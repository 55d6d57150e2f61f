// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Pretty forms. Five operators have a form of their own (func.func, module, while, reduce, sdy.manual_computation); all others follow one
// loose grammar: operands, `key = value` parts, bare words, a symbol, an attribute dictionary, types. What the parts mean is decided
// when the operator is converted, by the names that its pretty form uses ("dims" for "permutation" and so on).
#include "fmt/format.h"
#include "frontend/stablehlo/parser.h"

namespace shardproof::stablehlo {
namespace {

Attr string_attr(std::string value, size_t offset) {
  Attr a;
  a.kind = Attr::Kind::String;
  a.offset = static_cast<uint32_t>(offset);
  a.string = std::move(value);
  return a;
}

Attr symbol_attr(std::string value, size_t offset) {
  Attr a = string_attr(std::move(value), offset);
  a.kind = Attr::Kind::Symbol;
  return a;
}

Attr integer_attr(int64_t value, size_t offset) {
  Attr a;
  a.kind = Attr::Kind::Int;
  a.offset = static_cast<uint32_t>(offset);
  a.i = value;
  return a;
}

}  // namespace

void Parser::parse_pretty(Op& op, int depth) {
  if (op.name == "call") op.name = "func.call";
  if (op.name == "return") op.name = "func.return";
  if (op.name == "module") op.name = "builtin.module";
  if (op.name == "func") op.name = "func.func";
  if (op.name == "constant") op.name = "arith.constant";
  if (op.name == "builtin.module") return parse_module(op, depth);
  if (op.name == "func.func") return parse_function(op, depth);
  if (op.name == "stablehlo.while") return parse_while(op, depth);
  if (op.name == "stablehlo.reduce") return parse_reduce(op, depth);
  if (op.name == "sdy.manual_computation" || op.name == "sdy.named_computation") return parse_manual(op, depth);
  if (op.name == "sdy.mesh") return parse_mesh(op);
  if (op.name.find('.') == std::string_view::npos || op.name.ends_with('.'))
    fail(op.offset, fmt::format("unknown operator '{}': expected an operator with its dialect, such as stablehlo.add", op.name));
  parse_flexible(op);
}

void Parser::parse_module(Op& op, int depth) {
  if (peek() == '@') add(op, "sym_name", string_attr(symbol(), pos_));
  if (accept_word("attributes")) attr_dict(op);
  op.regions.push_back(parse_region(depth + 1));
}

// func.func [public] @name(%arg0: T {attrs} loc(..), ...) [-> T | -> (T {attrs}, ...)] [attributes {...}] { ... }
void Parser::parse_function(Op& op, int depth) {
  for (const char* visibility : {"public", "private", "nested"})
    if (accept_word(visibility)) add(op, "sym_visibility", string_attr(visibility, pos_));
  size_t at = position();
  add(op, "sym_name", string_attr(symbol(), at));
  std::vector<BlockArg> args;
  expect('(', "before the arguments of the function");
  if (!accept(')')) {
    do {
      if (peek() == '%') {
        args.push_back(parse_block_arg());
      } else {  // a declaration: types only
        BlockArg arg;
        arg.type = parse_type();
        arg.attrs.kind = Attr::Kind::Dict;
        if (peek() == '{') arg.attrs = parse_attr();
        args.push_back(std::move(arg));
      }
    } while (accept(','));
    expect(')', "after the arguments of the function");
  }
  Attr result_attrs;
  result_attrs.kind = Attr::Kind::Array;
  if (accept("->")) {
    bool list = accept('(');
    if (!list || !accept(')')) {
      do {
        op.result_types.push_back(parse_type());
        Attr attrs;
        attrs.kind = Attr::Kind::Dict;
        // Without brackets a '{' is the body.
        if (list && peek() == '{') attrs = parse_attr();
        LocId ignored = kNone;
        accept_loc(&ignored);
        result_attrs.items.push_back(std::move(attrs));
      } while (list && accept(','));
      if (list) expect(')', "after the results of the function");
    }
  }
  add(op, "res_attrs", std::move(result_attrs));
  if (accept_word("attributes")) attr_dict(op);
  if (peek() == '{') {
    Region region = parse_region(depth + 1);
    region.args = std::move(args);
    op.regions.push_back(std::move(region));
  }
}

// stablehlo.while(%i = %a, ...) : T, ... [attributes {...}] cond { ... } do { ... }
void Parser::parse_while(Op& op, int depth) {
  std::vector<BlockArg> args;
  expect('(', "after 'stablehlo.while'");
  if (!accept(')')) {
    do {
      BlockArg arg;
      if (!accept('%')) expected("an iteration argument such as %iterArg");
      arg.name = suffix_id("an argument name after '%'");
      expect('=', "after the iteration argument");
      op.operands.push_back(operand());
      args.push_back(std::move(arg));
    } while (accept(','));
    expect(')', "after the iteration arguments");
  }
  parse_types(op);
  if (op.operand_types.size() != args.size())
    fail(op.offset, fmt::format("stablehlo.while: expected {} types, one for each iteration argument, found {}", args.size(),
                                op.operand_types.size()));
  for (size_t k = 0; k < args.size(); ++k) args[k].type = op.operand_types[k];
  op.result_types = op.operand_types;
  LocId early = kNone;
  accept_loc(&early);
  if (accept_word("attributes")) attr_dict(op);
  if (!accept_word("cond")) expected("'cond' and the condition of the loop");
  Region condition = parse_region(depth + 1);
  if (!accept_word("do")) expected("'do' and the body of the loop");
  Region body = parse_region(depth + 1);
  condition.args = args;
  body.args = std::move(args);
  op.regions.push_back(std::move(condition));
  op.regions.push_back(std::move(body));
  op.loc = early;
}

// reduce(%a init: %z) applies stablehlo.add across dimensions = [1] {attrs} : types
// reduce(%a init: %z), (%b init: %w) across dimensions = [1] : types reducer(%p: t, %q: t) (%r: u, %s: u) { ... }
void Parser::parse_reduce(Op& op, int depth) {
  std::vector<std::string_view> inits;
  do {
    expect('(', "before an operand of reduce");
    op.operands.push_back(operand());
    if (!accept_word("init")) expected("'init:' and the initial value");
    expect(':', "after 'init'");
    inits.push_back(operand());
    expect(')', "after the initial value");
  } while (accept(','));
  size_t count = op.operands.size();
  op.operands.insert(op.operands.end(), inits.begin(), inits.end());
  std::string_view applied;
  if (accept_word("applies")) applied = identifier("the operator that the reduction applies, such as stablehlo.add");
  if (!accept_word("across")) expected("'across dimensions = [...]'");
  if (!accept_word("dimensions")) expected("'dimensions = [...]'");
  expect('=', "after 'dimensions'");
  add(op, "dimensions", parse_attr());
  attr_dict(op);
  parse_types(op);
  if (!op.has_arrow) expected("'-> type' of the reduction");
  LocId early = kNone;
  accept_loc(&early);
  op.loc = early;
  if (!applied.empty()) {
    if (count != 1 || op.operand_types.size() != 2)
      fail(op.offset, "stablehlo.reduce: expected one operand and one initial value before 'applies'");
    // The short form stands for a region with the one operator on two scalars of the initial value's type.
    Region region;
    TypeId scalar = op.operand_types[1];
    region.args.push_back({"lhs", scalar, op.loc, {}});
    region.args.push_back({"rhs", scalar, op.loc, {}});
    Op inner;
    inner.name = applied;
    inner.offset = op.offset;
    inner.loc = op.loc;
    inner.results.push_back({"result", 1, false});
    inner.operands = {"lhs", "rhs"};
    inner.operand_types = inner.result_types = {scalar};
    Op end;
    end.name = "stablehlo.return";
    end.offset = op.offset;
    end.loc = op.loc;
    end.operands = {"result"};
    region.ops.push_back(std::move(inner));
    region.ops.push_back(std::move(end));
    op.regions.push_back(std::move(region));
    return;
  }
  if (!accept_word("reducer")) expected("'applies ...' before, or 'reducer(...) { ... }' after the types of reduce");
  std::vector<BlockArg> left, right;
  while (accept('(')) {
    left.push_back(parse_block_arg());
    expect(',', "between the two arguments of the reducer");
    right.push_back(parse_block_arg());
    expect(')', "after the two arguments of the reducer");
  }
  if (left.size() != count)
    fail(op.offset, fmt::format("stablehlo.reduce: expected {} argument pairs of the reducer, found {}", count, left.size()));
  Region region = parse_region(depth + 1);
  region.args = std::move(left);
  for (BlockArg& arg : right) region.args.push_back(std::move(arg));
  op.regions.push_back(std::move(region));
}

// sdy.manual_computation(%a, ...) in_shardings=[...] out_shardings=[...] manual_axes={...} (%b: T, ...) { ... } : (T) -> U
// sdy.named_computation<"name">(%a) [in_shardings=[...] out_shardings=[...]] (%b: T) { ... } : (T) -> U
void Parser::parse_manual(Op& op, int depth) {
  if (accept('<')) {
    add(op, "name", string_attr(string(), pos_));
    expect('>', "after the name of the computation");
  }
  expect('(', "before the operands");
  parse_operands(op);
  expect(')', "after the operands");
  while (peek() != '(' && peek() != '{') {
    std::string key(identifier("in_shardings, out_shardings, manual_axes or the arguments of the body"));
    expect('=', "after the attribute name");
    add(op, std::move(key), parse_attr());
  }
  std::vector<BlockArg> args;
  if (accept('(') && !accept(')')) {
    do {
      args.push_back(parse_block_arg());
    } while (accept(','));
    expect(')', "after the arguments of the body");
  }
  Region region = parse_region(depth + 1);
  region.args = std::move(args);
  op.regions.push_back(std::move(region));
  attr_dict(op);
  parse_types(op);
  if (!op.has_arrow) expected("the types of the operator: ': (...) -> ...'");
}

// sdy.mesh @mesh = <["dp"=2, "tp"=4], device_ids=[...]> {...}
void Parser::parse_mesh(Op& op) {
  size_t at = position();
  add(op, "sym_name", string_attr(symbol(), at));
  expect('=', "after the name of the mesh");
  add(op, "mesh", parse_attr());
  attr_dict(op);
}

// The labels in `dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`; window = {...} is a dictionary already.
void Parser::parse_dimension_labels(Op& op) {
  size_t start = position();
  for (int part = 0; part < 3; ++part) {
    if (part == 1 && !accept('x')) expected("'x' between the dimension labels of operand and kernel");
    if (part == 2 && !accept("->")) expected("'->' before the dimension labels of the result");
    balanced('[', ']');
  }
  Attr a;
  a.kind = Attr::Kind::Opaque;
  a.offset = static_cast<uint32_t>(start);
  a.text = text_.substr(start, pos_ - start);
  add(op, "dimension_numbers", std::move(a));
}

void Parser::parse_flexible(Op& op) {
  bool slice = op.name == "stablehlo.slice";
  int words = 0;
  while (true) {
    char c = peek();
    if (c == ':' || c == '\0' || c == '}' || c == '^' || c == ')') break;
    if (c == ',') {
      ++pos_;
      continue;
    }
    if (c == '%') {
      // A value that is followed by '=' or ':' starts the next operator: this one had neither types nor operands.
      size_t save = pos_;
      std::string_view name = operand();
      if (peek() == '=' || (peek() == ':' && pos_ + 1 < end() && text_[pos_ + 1] >= '0' && text_[pos_ + 1] <= '9')) {
        pos_ = save;
        break;
      }
      op.operands.push_back(name);
    } else if (c == '(') {
      ++pos_;
      while (peek() != ')') {
        if (peek() == '%') {
          op.operands.push_back(operand());
        } else {  // chlo.top_k(%x, k = 8)
          std::string key(identifier("a value such as %0, an attribute name or ')'"));
          expect('=', "after the attribute name");
          add(op, std::move(key), parse_attr(0, false));
        }
        if (!accept(',')) break;
      }
      expect(')', "after the operands");
    } else if (c == '@') {
      size_t at = pos_;
      std::string name = symbol();
      const char* key = op.name == "func.call" ? "callee" : op.name == "stablehlo.custom_call" ? "call_target_name" : "sym_name";
      add(op, key, symbol_attr(std::move(name), at));
    } else if (c == '{') {
      attr_dict(op);
    } else if (c == '"' && op.name == "stablehlo.composite") {
      size_t at = pos_;
      add(op, "name", string_attr(string(), at));
    } else if (c == '[' && slice) {
      // [start:limit(:stride)?, ...]
      Attr start, limit, stride;
      start.kind = limit.kind = stride.kind = Attr::Kind::Array;
      size_t at = pos_++;
      if (!accept(']')) {
        do {
          start.items.push_back(integer_attr(integer("the start of a slice"), at));
          expect(':', "between start and limit of a slice");
          limit.items.push_back(integer_attr(integer("the limit of a slice"), at));
          stride.items.push_back(integer_attr(accept(':') ? integer("the stride of a slice") : 1, at));
        } while (accept(','));
        expect(']', "at the end of the slice");
      }
      add(op, "start_indices", std::move(start));
      add(op, "limit_indices", std::move(limit));
      add(op, "strides", std::move(stride));
    } else if (c == '[' || c == '<' || c == '#' || c == '-' || (c >= '0' && c <= '9')) {
      std::string key = c == '[' ? "index" : c == '<' || c == '#' ? "sharding" : "value";
      add(op, std::move(key), parse_attr());
      const Attr& value = op.attrs.back().value;
      if (value.kind == Attr::Kind::Int || value.kind == Attr::Kind::Float) {  // arith.constant 0 : i32
        if (value.type != kNone) op.result_types.push_back(value.type);
        op.has_arrow = true;
        return;
      }
    } else if (peek_word("dense") || peek_word("dense_resource")) {
      add(op, "value", parse_attr());
      op.result_types.push_back(op.attrs.back().value.type);
      op.has_arrow = true;
      return;
    } else if (peek_word("loc")) {
      return;  // an operator without types
    } else {
      size_t at = pos_;
      std::string key(identifier("an operand, an attribute or ':'"));
      if (key == "attributes") {
        attr_dict(op);
      } else if (accept('=')) {
        if (op.name == "stablehlo.convolution" && key == "dim_numbers") {
          parse_dimension_labels(op);
          continue;
        }
        Attr value = parse_attr(0, false);
        if (accept_word("x")) {  // batching_dims = [0] x [0]
          Attr pair;
          pair.kind = Attr::Kind::Array;
          pair.offset = value.offset;
          pair.items.push_back(std::move(value));
          pair.items.push_back(parse_attr());
          value = std::move(pair);
        }
        add(op, std::move(key), std::move(value));
      } else {  // a bare word: compare LT, ..., FLOAT
        // With a dot it is the next operator: taking it for a part of this one would lose it.
        if (key.find('.') != std::string::npos) {
          pos_ = at;
          expected(fmt::format("':' and the types of {}", op.name));
        }
        Attr word;
        word.kind = Attr::Kind::Keyword;
        word.offset = static_cast<uint32_t>(at);
        word.text = text_.substr(at, key.size());
        add(op, fmt::format("word{}", words++), std::move(word));
      }
    }
  }
  parse_types(op);
}

}  // namespace shardproof::stablehlo
