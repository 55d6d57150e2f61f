// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// From an operator's name to its lowering: the table itself, kernels from data files, and the forms that PyTorch derives from a
// functional operator by rule: in-place (add_.Tensor), out= (add.out), for lists of tensors (_foreach_add.Scalar).
#include <algorithm>

#include <fmt/format.h>

#include "lower/aten.h"
#include "lower/coverage.h"
#include "lower/kernels.h"

namespace shardproof::lower::aten {

namespace {

using Keywords = std::vector<std::pair<std::string, Value>>;

struct Table {
  std::unordered_map<std::string_view, const OpRow*> rows;
  std::unordered_map<const OpRow*, std::string_view> families;
  Table() {
    const std::pair<const char*, Rows> lists[] = {{"views", view_rows()},          {"factories", factory_rows()},
                                                  {"pointwise", pointwise_rows()}, {"activations", activation_rows()},
                                                  {"reductions", reduce_rows()},   {"products", matmul_rows()},
                                                  {"normalisation", norm_rows()},  {"losses", loss_rows()},
                                                  {"attention", attention_rows()}, {"convolution", convolution_rows()},
                                                  {"pooling", pool_rows()},        {"indexing", index_rows()},
                                                  {"scatter", scatter_rows()},     {"sorting", sort_rows()},
                                                  {"random", random_rows()},       {"collectives", collective_rows()},
                                                  {"complex", complex_rows()},     {"optimizers", optimizer_rows()},
                                                  {"shapes", misc_rows()},         {"composites", compose_rows()},
                                                  {"flex attention", flex_rows()}};
    for (const auto& [family, list] : lists)
      for (const OpRow& row : list) {
        const bool is_new = rows.emplace(row.name, &row).second;
        SP_CHECK(is_new);
        families.emplace(&row, family);
      }
  }
};

const Table& table() {
  static const Table t;
  return t;
}

// Parameters of a row, parsed once per thread: programs have tens of thousands of calls of a few dozen operators.
const std::vector<Param>& params_of(const OpRow& row) {
  thread_local std::unordered_map<const OpRow*, std::vector<Param>> seen;
  auto it = seen.find(&row);
  if (it == seen.end()) it = seen.emplace(&row, parse_params(row.params)).first;
  return it->second;
}

std::vector<Value> bind(const std::vector<Param>& params, std::vector<Value> positional, Keywords keywords) {
  if (positional.size() > params.size()) unsupported(fmt::format("{} arguments where {} are known", positional.size(), params.size()));
  std::vector<Value> args(params.size());
  std::vector<char> set(params.size(), 0);
  for (size_t k = 0; k < positional.size(); ++k) {
    args[k] = std::move(positional[k]);
    set[k] = 1;
  }
  for (auto& [key, value] : keywords) {
    size_t k = 0;
    while (k < params.size() && params[k].name != key) ++k;
    if (k == params.size()) unsupported("the argument " + key + " is not known");
    if (set[k]) malformed("the argument " + key + " is given twice");
    args[k] = std::move(value);
    set[k] = 1;
  }
  for (size_t k = 0; k < params.size(); ++k) {
    if (!set[k]) {
      if (!params[k].has_default) malformed("the argument " + params[k].name + " is missing");
      args[k] = params[k].fallback;
    }
    if (params[k].name == "layout" && !args[k].is(Value::Kind::None) && args[k].text != "torch.strided" && !args[k].is(Value::Kind::Int))
      unsupported("layout " + args[k].text);
  }
  return args;
}

// Families that were written with real numbers in mind.
bool real_only(const OpRow& row) {
  const std::string_view family = table().families.at(&row), name = row.name;
  for (const char* f : {"activations", "reductions", "normalisation", "losses", "attention", "convolution", "pooling", "sorting", "random",
                        "optimizers", "composites", "flex attention"})
    if (family == f) return !name.starts_with("aten.sum.");
  return name == "aten.logaddexp.default" || name == "aten.xlogy.Tensor";
}

// "aten.add_.Tensor" -> "aten", "add_", "Tensor"
struct OpName {
  std::string space, packet, overload;
  explicit OpName(std::string_view name) {
    const size_t first = name.find('.');
    const size_t last = name.find('.', first == std::string_view::npos ? first : first + 1);
    space = name.substr(0, first);
    if (first != std::string_view::npos) packet = name.substr(first + 1, last == std::string_view::npos ? last : last - first - 1);
    overload = last == std::string_view::npos ? "default" : std::string(name.substr(last + 1));
  }
  std::string with(std::string_view p, std::string_view o) const { return fmt::format("{}.{}.{}", space, p, o); }
};

// out, out0, out1 ...
bool is_out(std::string_view keyword) {
  return keyword == "out" || (keyword.starts_with("out") && keyword.size() == 4 && keyword[3] >= '0' && keyword[3] <= '9');
}

// These change what a name means (shape, strides, memory), not only contents.
bool changes_metadata(std::string_view packet) {
  for (const char* name : {"t_", "transpose_", "squeeze_", "unsqueeze_", "resize_", "resize_as_", "set_", "swapaxes_", "swapdims_",
                           "as_strided_", "unsafe_set_", "rename_"})
    if (packet == name) return true;
  return false;
}

}  // namespace

const OpRow* find_op(std::string_view name) {
  const auto& rows = table().rows;
  auto it = rows.find(name);
  if (it == rows.end()) it = rows.find(std::string(name) + ".default");
  return it == rows.end() ? nullptr : it->second;
}

std::vector<const OpRow*> all_ops() {
  std::vector<const OpRow*> out;
  for (const auto& [name, row] : table().rows) out.push_back(row);
  std::sort(out.begin(), out.end(), [](const OpRow* a, const OpRow* b) { return std::string_view(a->name) < b->name; });
  return out;
}

std::string_view family_of(const OpRow* row) { return table().families.at(row); }

Value Lowering::call(std::string_view op, std::vector<Value> positional, const fx::Value* site) {
  return dispatch(op, std::move(positional), {}, site);
}

Value Lowering::bound_call(const OpRow& row, std::vector<Value> positional, Keywords keywords, const fx::Value* site) {
  Call c(*this, row, bind(params_of(row), std::move(positional), std::move(keywords)), site);
  if (real_only(row))
    for (const Value& v : c.args)
      if (v.is(Value::Kind::Tensor) && ir::is_complex(m.dtype(v.tensor))) unsupported("complex operands");
  Value result = row.fn(c);
  lowered(Reader::Aten, row.name);
  return result;
}

Value Lowering::dispatch(std::string_view name, std::vector<Value> positional, Keywords keywords, const fx::Value* site) {
  if (const KernelDef* kernel = kernels_.find(name)) return kernel_call(*kernel, std::move(positional), std::move(keywords), site, nullptr);
  const bool has_out = std::any_of(keywords.begin(), keywords.end(), [](const auto& kw) { return is_out(kw.first); });
  if (const OpRow* row = find_op(name); row && !has_out) return bound_call(*row, std::move(positional), std::move(keywords), site);
  const OpName n(name);
  bool known = true;
  if (n.packet.starts_with("_foreach_")) {
    Value v = foreach_op(name, positional, keywords, site, known);
    if (known) return v;
  }
  if (n.packet == "detach_" && positional.size() == 1) return positional[0];
  if (changes_metadata(n.packet)) {
    const OpRow* row = find_op(n.with(n.packet.substr(0, n.packet.size() - 1), n.overload));
    if (!row || positional.empty() || !positional[0].is(Value::Kind::Tensor)) unsupported("an operator that changes the shape in place");
    const Value self = positional[0], view = bound_call(*row, std::move(positional), std::move(keywords), nullptr);
    m.become(self.tensor, view.tensor);
    return self;
  }
  if (n.packet.size() > 1 && n.packet.ends_with("_") && !n.packet.ends_with("__")) {
    const std::string functional = n.with(n.packet.substr(0, n.packet.size() - 1), n.overload);
    if (find_op(functional)) return in_place(name, functional, positional, keywords, site);
  }
  if (n.packet.starts_with("__i") && n.packet.ends_with("__")) {  // __ior__ and the like
    const std::string functional = n.with("__" + n.packet.substr(3), n.overload);
    if (find_op(functional)) return in_place(name, functional, positional, keywords, site);
  }
  // out= forms write the functional operator's results into given tensors.
  std::vector<Value> targets;
  for (auto it = keywords.begin(); it != keywords.end();) {
    if (is_out(it->first)) {
      targets.push_back(it->second);
      it = keywords.erase(it);
    } else {
      ++it;
    }
  }
  if (!targets.empty()) {
    std::string overload = n.overload == "out" ? "default" : n.overload;
    if (overload.ends_with("_out")) overload.resize(overload.size() - 4);
    for (const std::string& candidate : {overload, std::string("Tensor"), std::string("self")}) {
      const OpRow* row = find_op(n.with(n.packet, candidate));
      if (!row) continue;
      Value result = bound_call(*row, std::move(positional), std::move(keywords), nullptr);
      std::vector<Value> results = result.is(Value::Kind::List) ? result.items : std::vector<Value>{result};
      if (results.size() != targets.size()) malformed("another number of out= tensors than results");
      for (size_t k = 0; k < targets.size(); ++k) {
        if (!targets[k].is(Value::Kind::Tensor) || !results[k].is(Value::Kind::Tensor)) unsupported("out= of this form");
        const NodeId x = m.read(results[k].tensor);
        const TensorId to = targets[k].tensor;
        if (m.shape(to) != b.shape(x)) unsupported("out= that resizes");
        Call c(*this, *row, {}, nullptr);
        m.write(to, c.to(x, m.dtype(to)));
      }
      return targets.size() == 1 ? targets[0] : Value::list(std::move(targets));
    }
  }
  unsupported("this operator is not supported");
}

// name_(self, ...) = self.copy_(name(self, ...)); the result is self.
Value Lowering::in_place(std::string_view, std::string_view functional, std::vector<Value>& positional, Keywords& keywords,
                         const fx::Value* site) {
  const OpRow& row = *find_op(functional);
  std::vector<Value> args = bind(params_of(row), std::move(positional), std::move(keywords));
  if (!args.empty() && args[0].is(Value::Kind::Constant)) args[0] = resolve_constant(args[0], nullptr);
  if (args.empty() || !args[0].is(Value::Kind::Tensor)) {
    if (!args.empty() && args[0].is(Value::Kind::Unknown)) unsupported(args[0].text);
    malformed("an in-place operator needs a tensor to write to");
  }
  const Value self = args[0];
  Call c(*this, row, std::move(args), site);
  const Value result = row.fn(c);
  lowered(Reader::Aten, row.name);
  if (!result.is(Value::Kind::Tensor)) unsupported("an in-place operator with several results");
  NodeId x = m.read(result.tensor);
  const DType t = m.dtype(self.tensor);
  if (b.shape(x) != m.shape(self.tensor)) malformed("an in-place operator cannot change the shape");
  m.write(self.tensor, c.to(x, t));
  return self;
}

// One operator per element of the lists; lists of numbers are taken apart likewise.
Value Lowering::foreach_op(std::string_view name, std::vector<Value>& positional, Keywords& keywords, const fx::Value* site, bool& known) {
  const OpName n(name);
  std::string packet = n.packet.substr(std::string_view("_foreach_").size());
  const bool writes = packet.ends_with("_");
  if (writes) packet.pop_back();
  std::vector<std::string> overloads;
  if (n.overload == "List" || n.overload == "default") overloads = {"Tensor", "default"};
  if (n.overload == "Scalar" || n.overload == "ScalarList") overloads = {"Scalar", "Tensor", "Tensor_Scalar", "default"};
  if (n.overload == "Tensor") overloads = {"Tensor", "default"};
  if (n.overload == "ScalarAndTensor") overloads = {"Scalar"};
  if (packet == "maximum" || packet == "clamp_min") packet = n.overload == "List" ? "maximum" : "clamp_min";
  if (packet == "minimum" || packet == "clamp_max") packet = n.overload == "List" ? "minimum" : "clamp_max";
  if (packet == "pow" && n.overload == "List") overloads = {"Tensor_Tensor"};
  if (packet == "norm") overloads = {n.overload == "default" ? "Scalar" : n.overload};
  if (packet == "copy" || packet == "zero") overloads = {"default"};
  if (packet == "lerp" && n.overload == "List") overloads = {"Tensor"};
  const OpRow* row = nullptr;
  for (const std::string& o : overloads)
    if (!row) row = find_op(n.with(packet, o));
  if (!row || positional.empty() || !positional[0].is(Value::Kind::List)) {
    known = false;
    return {};
  }
  const size_t count = positional[0].items.size();
  // With overload Tensor the last operand is one tensor for all (or, for addcmul and the like, a tensor of numbers: refused).
  if (n.overload == "Tensor" && packet.starts_with("addc")) unsupported("scalars in a tensor");
  std::vector<Value> results;
  for (size_t k = 0; k < count; ++k) {
    const auto pick = [&](const Value& v) -> Value {
      if (!v.is(Value::Kind::List)) return v;
      if (v.items.size() != count) malformed("lists of different lengths");
      return v.items[k];
    };
    std::vector<Value> args;
    for (const Value& v : positional) args.push_back(pick(v));
    Keywords kw;
    for (const auto& [key, v] : keywords) kw.emplace_back(key == "scalars" ? "value" : key, pick(v));
    // The scalar operand of addcmul and addcdiv is keyword-only in the single form.
    if (packet.starts_with("addc") && args.size() == 4) {
      kw.emplace_back("value", args.back());
      args.pop_back();
    }
    // _foreach_add.List(self, other, *, alpha) and the single form agree in everything else.
    if (writes)
      results.push_back(in_place(name, row->name, args, kw, nullptr));
    else
      results.push_back(bound_call(*row, std::move(args), std::move(kw), nullptr));
  }
  (void)site;
  return Value::list(std::move(results));
}

Value Lowering::kernel_call(const KernelDef& kernel, std::vector<Value> positional, Keywords keywords, const fx::Value* site,
                            std::vector<TensorId>* written) {
  std::vector<Value> args = bind(kernel.params, std::move(positional), std::move(keywords));
  std::unordered_map<std::string, Value> env;
  for (size_t k = 0; k < args.size(); ++k) env[kernel.params[k].name] = args[k];
  if (written)
    for (size_t k = 0; k < args.size(); ++k)
      if (kernel.params[k].written && args[k].is(Value::Kind::Tensor)) written->push_back(args[k].tensor);
  static const OpRow here{"kernel", "", nullptr};
  Call c(*this, here, {}, site);
  const auto write = [&](const std::string& param, NodeId x) {
    const Value& to = env.at(param);
    if (to.is(Value::Kind::None)) return;
    if (!to.is(Value::Kind::Tensor)) unsupported("the kernel writes to something that is no known tensor");
    if (b.shape(x) != m.shape(to.tensor)) unsupported("the kernel's contract does not fit the shape of " + param);
    m.write(to.tensor, c.to(x, m.dtype(to.tensor)));
  };
  std::vector<Value> returns;
  if (kernel.cases.empty()) {
    Nodes xs;
    std::string attrs;
    std::vector<std::pair<DType, Shape>> types;
    for (const std::string& name : kernel.operands)
      if (env.at(name).is(Value::Kind::None))
        attrs += (attrs.empty() ? "" : ", ") + name + "=None";
      else
        xs.push_back(c.node(env.at(name)));
    for (const std::string& name : kernel.attributes) attrs += (attrs.empty() ? "" : ", ") + name + "=" + canonical(env.at(name), true);
    for (const auto& result : kernel.results) {
      const NodeId like = c.node(env.at(result.like));
      types.push_back({b.dtype(like), b.shape(like)});
    }
    // The rule counts operands; with one left out it says nothing.
    if (!kernel.factors.empty() && xs.size() == kernel.operands.size()) attrs += "|factors: " + kernel.factors;
    const Nodes out = b.opaque(kernel.op, attrs, xs, types);
    note("contract of the opaque kernel " + kernel.op + " (" + kernel.origin + ")");
    for (size_t k = 0; k < out.size(); ++k)
      if (kernel.results[k].write.empty())
        returns.push_back(Value::of(m.fresh(out[k])));
      else
        write(kernel.results[k].write, out[k]);
  } else {
    const KernelDef::Case* chosen = nullptr;
    for (const KernelDef::Case& cs : kernel.cases) {
      const bool fits = std::all_of(cs.when.begin(), cs.when.end(),
                                    [&](const auto& w) { return canonical(env.at(w.first), true) == canonical(w.second, true); });
      if (fits && !chosen) chosen = &cs;
    }
    if (!chosen) unsupported("its contract has no case for these arguments");
    const auto substitute = [&](const Value& v) {
      // Contract files bound the depth of lists; two levels are all that operators take.
      Value out = v;
      if (v.is(Value::Kind::String) && v.text.starts_with("$")) return env.at(v.text.substr(1));
      for (Value& x : out.items) {
        if (x.is(Value::Kind::String) && x.text.starts_with("$")) x = env.at(x.text.substr(1));
      }
      return out;
    };
    for (const KernelDef::Step& step : chosen->steps) {
      std::vector<Value> a;
      Keywords kw;
      for (const Value& v : step.args) a.push_back(substitute(v));
      for (const auto& [key, v] : step.keywords) kw.emplace_back(key, substitute(v));
      env[step.name] = bound_call(*find_op(step.op), std::move(a), std::move(kw), nullptr);
    }
    std::vector<std::pair<std::string, NodeId>> writes;  // all are computed before the first takes place
    for (const auto& [param, v] : chosen->writes)
      if (!env.at(param).is(Value::Kind::None)) writes.emplace_back(param, c.node(substitute(v)));
    for (const Value& v : chosen->returns) returns.push_back(substitute(v));
    for (const auto& [param, x] : writes) write(param, x);
  }
  if (returns.empty()) return {};
  return returns.size() == 1 ? returns[0] : Value::list(std::move(returns));
}

}  // namespace shardproof::lower::aten
