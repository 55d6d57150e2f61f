// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Higher-order operators (calls of submodules, auto_functionalized) and Python's own operators on sizes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "frontend/fx/symbols.h"
#include "lower/aten.h"
#include "lower/kernels.h"

namespace shardproof::lower::aten {

namespace {

using Keywords = std::vector<std::pair<std::string, Value>>;

// Their meaning is the submodule's; the rest of their arguments says how to run it.
bool calls_submodule(std::string_view op) {
  for (const char* name :
       {"wrap", "wrap_with_set_grad_enabled", "wrap_with_autocast", "tag_activation_checkpoint", "wrap_activation_checkpoint",
        "invoke_subgraph", "hints_wrapper", "dynamo_bypassing_wrapper", "strict_mode", "checkpoint", "inductor_compiled_code"})
    if (op == name) return true;
  return false;
}

std::string attribute(const fx::Arg& a, const Value& v) {
  return a.kind == fx::Arg::Kind::Self || v.is(Value::Kind::Constant) ? v.text : "";
}

}  // namespace

Value Lowering::higher_order(Scope& scope, const fx::Value& v) {
  std::string op = v.target.substr(std::string_view("higher_order.").size());
  if (op.ends_with(".default")) op.resize(op.size() - 8);
  if (op == "auto_functionalized" || op == "auto_functionalized_v2") return auto_functionalized(scope, v, op.ends_with("_v2"));
  if (calls_submodule(op)) {
    // The first attribute among the arguments is the submodule; what follows are its arguments.
    size_t at = 0;
    std::string name;
    while (at < v.args.size() && name.empty()) {
      name = attribute(v.args[at], argument(scope, v.args[at]));
      ++at;
    }
    if (name.empty()) unsupported("no submodule among its arguments");
    std::vector<Value> args;
    if (op == "invoke_subgraph" && at < v.args.size() &&
        (v.args[at].kind == fx::Arg::Kind::String || v.args[at].kind == fx::Arg::Kind::None))
      ++at;
    for (; at < v.args.size(); ++at) {
      const Value a = argument(scope, v.args[at]);
      if (a.is(Value::Kind::List))  // operands packed in a tuple
        args.insert(args.end(), a.items.begin(), a.items.end());
      else if (!(a.is(Value::Kind::Object) && a.text == "dict"))
        args.push_back(a);
    }
    Value result = inline_graph(scope, name, std::move(args), true);
    if (result.items.size() == 1 && !scope.getitems.count(v.name)) return result.items[0];
    return result;
  }
  if (op == "with_effects") {  // (token, operator, arguments...) -> (token, results...)
    if (v.args.size() < 2 || v.args[1].kind != fx::Arg::Kind::Word) unsupported("with_effects of this form");
    std::string_view inner = v.args[1].text;
    if (inner.starts_with("torch.ops.")) inner.remove_prefix(10);
    std::vector<Value> args;
    Keywords kw;
    for (size_t k = 2; k < v.args.size(); ++k) args.push_back(argument(scope, v.args[k]));
    for (const auto& [key, a] : v.kwargs) kw.emplace_back(key, argument(scope, a));
    Value result = dispatch(inner, std::move(args), std::move(kw), nullptr);
    std::vector<Value> out{Value{}};
    if (result.is(Value::Kind::List))
      out.insert(out.end(), result.items.begin(), result.items.end());
    else
      out.push_back(result);
    return Value::list(std::move(out));
  }
  if (const OpRow* row = find_op("higher_order." + op)) {
    std::vector<Value> positional;
    Keywords kw;
    for (const fx::Arg& a : v.args) positional.push_back(argument(scope, a));
    for (const auto& [key, a] : v.kwargs) kw.emplace_back(key, argument(scope, a));
    return bound_call(*row, std::move(positional), std::move(kw), &v);
  }
  unsupported("this operator is not supported");
}

// auto_functionalized(op, kw...) -> (results of op or None, new contents of each argument that op writes to).
// v2 hands the memory over in _all_bases and says for each written argument which base it is a view of; it returns the bases.
Value Lowering::auto_functionalized(Scope& scope, const fx::Value& v, bool v2) {
  if (v.args.size() != 1 || v.args[0].kind != fx::Arg::Kind::Word) unsupported("auto_functionalized of this form");
  std::string_view name = v.args[0].text;
  if (name.starts_with("torch.ops.")) name.remove_prefix(10);
  std::vector<Param> params;
  const KernelDef* kernel = kernels_.find(name);
  if (kernel) {
    params = kernel->params;
  } else {
    unsupported(fmt::format("{} has no contract (docs/kernels.md says how to write one)", name));
  }
  Keywords given;
  for (const auto& [key, a] : v.kwargs) given.emplace_back(key, argument(scope, a));
  const auto take = [&](const std::string& key) -> std::optional<Value> {
    for (auto it = given.begin(); it != given.end(); ++it)
      if (it->first == key) {
        Value value = std::move(it->second);
        given.erase(it);
        return value;
      }
    return std::nullopt;
  };
  Call c(*this, OpRow{"auto_functionalized", "", nullptr}, {}, nullptr);
  const auto copy = [&](const Value& x) { return Value::of(m.fresh(c.node(x))); };
  std::vector<Value> out;  // what is written, in the order of the results
  Keywords keywords;
  if (v2) {
    std::vector<Value> bases;
    const std::optional<Value> all = take("_all_bases");
    if (!all || !all->is(Value::Kind::List)) unsupported("auto_functionalized_v2 without _all_bases");
    for (const Value& x : all->items) bases.push_back(copy(x));
    for (const Param& p : params) {
      if (!p.written) continue;
      const std::optional<Value> base = take("_" + p.name + "_base_index");
      if (!base) unsupported("auto_functionalized_v2: the base of " + p.name + " is not given as one index");
      if (base->is(Value::Kind::None)) {
        keywords.emplace_back(p.name, Value{});
        continue;
      }
      const int64_t index = c.integer(*base);
      if (index < 0 || index >= static_cast<int64_t>(bases.size())) malformed("a base index out of range");
      Value argument_value = bases[static_cast<size_t>(index)];
      take("_" + p.name + "_alias");
      if (const std::optional<Value> dim = take("_" + p.name + "_slice_dim")) {
        const std::optional<Value> start = take("_" + p.name + "_slice_start"), end = take("_" + p.name + "_slice_end");
        if (!start || !end) unsupported("auto_functionalized_v2: a slice without its bounds");
        argument_value = call("aten.slice.Tensor", {argument_value, *dim, *start, *end});
      }
      keywords.emplace_back(p.name, argument_value);
    }
    for (auto& entry : given) {
      if (entry.first.starts_with("_")) unsupported("auto_functionalized_v2: the argument " + entry.first);
      keywords.push_back(entry);
    }
    out = bases;
  } else {
    for (auto& entry : given) {
      const bool written = std::any_of(params.begin(), params.end(), [&](const Param& p) { return p.name == entry.first && p.written; });
      if (written && entry.second.is(Value::Kind::List)) unsupported("a written list of tensors");
      keywords.emplace_back(entry.first, written && !entry.second.is(Value::Kind::None) ? copy(entry.second) : entry.second);
    }
    for (const Param& p : params)
      if (p.written)
        for (const auto& [key, value] : keywords)
          if (key == p.name) out.push_back(value);
  }
  const Value result = dispatch(name, {}, std::move(keywords), nullptr);
  std::vector<Value> all;
  if (result.is(Value::Kind::List))
    all = result.items;
  else
    all.push_back(result);
  // Written tensors are results now: later writes to them are of no concern to the copies.
  for (const Value& x : out) all.push_back(x);
  return Value::list(std::move(all));
}

// operator.add and friends, on sizes and other Python numbers; on tensors they are the ATen operator of that name.
Value Lowering::builtin(Scope& scope, const fx::Value& v) {
  std::vector<Value> args;
  for (const fx::Arg& a : v.args) args.push_back(argument(scope, a));
  std::string op = v.target;
  for (const char* prefix : {"operator.", "_operator.", "math.", "torch."})
    if (op.starts_with(prefix)) op.erase(0, std::string_view(prefix).size());
  const auto any = [&](Value::Kind k) { return std::any_of(args.begin(), args.end(), [&](const Value& x) { return x.is(k); }); };
  if (any(Value::Kind::Unknown)) return Value::named(Value::Kind::Symbol, v.name);
  if (any(Value::Kind::Tensor)) {
    static const std::unordered_map<std::string_view, std::pair<const char*, const char*>> tensor_ops = {
        {"add", {"add", "Tensor"}},
        {"iadd", {"add", "Tensor"}},
        {"sub", {"sub", "Tensor"}},
        {"mul", {"mul", "Tensor"}},
        {"truediv", {"div", "Tensor"}},
        {"matmul", {"matmul", "default"}},
        {"neg", {"neg", "default"}},
        {"lt", {"lt", "Tensor"}},
        {"le", {"le", "Tensor"}},
        {"gt", {"gt", "Tensor"}},
        {"ge", {"ge", "Tensor"}},
        {"eq", {"eq", "Tensor"}},
        {"ne", {"ne", "Tensor"}},
        {"and_", {"bitwise_and", "Tensor"}},
        {"or_", {"bitwise_or", "Tensor"}},
        {"xor", {"bitwise_xor", "Tensor"}},
        {"invert", {"bitwise_not", "default"}},
        {"floordiv", {"floor_divide", "default"}}};
    const auto it = tensor_ops.find(op);
    // An in-place Python operator writes; what it does to aliases is refused.
    if (it == tensor_ops.end() || op == "iadd") unsupported("this operator on tensors is not supported");
    return call(fmt::format("aten.{}.{}", it->second.first, it->second.second), args, &v);
  }
  if (any(Value::Kind::Symbol)) return Value::named(Value::Kind::Symbol, v.name);
  std::vector<Value> flat;
  for (const Value& x : args)
    if (x.is(Value::Kind::List))
      flat.insert(flat.end(), x.items.begin(), x.items.end());
    else
      flat.push_back(x);
  const bool ints = std::all_of(flat.begin(), flat.end(), [](const Value& x) { return x.is(Value::Kind::Int) || x.is(Value::Kind::Bool); });
  if (!ints || flat.empty()) return Value::named(Value::Kind::Symbol, v.name);  // unsupported where it is used
  const int64_t x = flat[0].i, y = flat.size() > 1 ? flat[1].i : 0;
  int64_t r = 0;
  const bool by_zero = y == 0 || (y == -1 && x == INT64_MIN);
  if (op == "sym_sum") {
    for (const Value& t : flat)
      if (__builtin_add_overflow(r, t.i, &r)) malformed("integer overflow");
    return Value::integer(r);
  }
  if (flat.size() == 2) {
    constexpr std::pair<std::string_view, std::string_view> kOperators[] = {{"add", "+"},       {"sub", "-"},   {"mul", "*"},
                                                                            {"floordiv", "//"}, {"mod", "%"},   {"max", "Max"},
                                                                            {"sym_max", "Max"}, {"min", "Min"}, {"sym_min", "Min"}};
    for (const auto& [name, sign] : kOperators) {
      if (op != name) continue;
      if (const auto n = fx::integer_operator(sign, x, y)) return Value::integer(*n);
      if (sign == "+" || sign == "-" || sign == "*") malformed("integer overflow");
    }
    if (op == "lt") return Value::boolean(x < y);
    if (op == "le") return Value::boolean(x <= y);
    if (op == "gt") return Value::boolean(x > y);
    if (op == "ge") return Value::boolean(x >= y);
    if (op == "eq") return Value::boolean(x == y);
    if (op == "ne") return Value::boolean(x != y);
    if (op == "truediv" && !by_zero && x % y == 0 && std::abs(x / y) < (int64_t{1} << 53)) return Value::real(static_cast<double>(x / y));
  }
  if (flat.size() == 1) {
    if (op == "neg" && x != INT64_MIN) return Value::integer(-x);
    if (op == "trunc" || op == "ceil" || op == "floor" || op == "sym_int") return flat[0];
    if (op == "sym_float") return Value::real(static_cast<double>(x));
    if (op == "not_" || op == "sym_not") return Value::boolean(x == 0);
  }
  return Value::named(Value::Kind::Symbol, v.name);
}

}  // namespace shardproof::lower::aten
