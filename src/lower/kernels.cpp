// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Reader of kernel files. Everything is checked while reading, so that a call needs no checks: names are defined, written parameters
// get contents, every parameter of an opaque kernel is accounted for.
#include "lower/kernels.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lower/kernel_contract.h"

namespace shardproof::lower::aten {

// From the files of kernels/, by CMake: path and text alternate, null at the end.
extern const char* const kKernelFiles[];

namespace {

using Json = nlohmann::ordered_json;

struct Bad {
  std::string message;
};

Value value_of(const Json& j, int depth = 0) {
  if (depth > 8) throw Bad{"lists are nested too deeply"};
  if (j.is_null()) return {};
  if (j.is_boolean()) return Value::boolean(j.get<bool>());
  if (j.is_number_integer()) return Value::integer(j.get<int64_t>());
  if (j.is_number()) return Value::real(j.get<double>());
  if (j.is_string()) {
    std::string s = j.get<std::string>();
    const Value::Kind kind = s.starts_with("torch.") ? Value::Kind::Word : Value::Kind::String;
    return Value::named(kind, std::move(s));
  }
  if (!j.is_array()) throw Bad{"a value is null, true, false, a number, a string or a list"};
  std::vector<Value> items;
  for (const Json& x : j) items.push_back(value_of(x, depth + 1));
  return Value::list(std::move(items));
}

void check_references(const Value& v, const std::set<std::string>& names) {
  if (v.is(Value::Kind::String) && v.text.starts_with("$") && !names.count(v.text.substr(1))) throw Bad{v.text + " is not defined here"};
  for (const Value& x : v.items) check_references(x, names);
}

void only_keys(const Json& j, std::initializer_list<const char*> keys) {
  if (!j.is_object()) throw Bad{"an object was expected"};
  for (const auto& item : j.items())
    if (std::none_of(keys.begin(), keys.end(), [&](const char* k) { return item.key() == k; }))
      throw Bad{"unknown key \"" + item.key() + "\""};
}

KernelDef::Case read_case(const Json& j, const KernelDef& def) {
  KernelDef::Case c;
  std::set<std::string> names, params;
  for (const Param& p : def.params) params.insert(p.name);
  names = params;
  if (j.contains("when")) {
    for (const auto& [key, value] : j.at("when").items()) {
      if (!params.count(key)) throw Bad{"`when` names " + key + ", which is no parameter"};
      c.when.emplace_back(key, value_of(value));
    }
  }
  for (const Json& s : j.value("steps", Json::array())) {
    if (!s.is_array() || s.size() < 2 || !s[0].is_string() || !s[1].is_string()) throw Bad{"a step is [name, operator, arguments...]"};
    KernelDef::Step step{s[0].get<std::string>(), s[1].get<std::string>(), {}, {}};
    for (size_t k = 2; k < s.size(); ++k) {
      if (s[k].is_object()) {
        for (const auto& [key, value] : s[k].items()) step.keywords.emplace_back(key, value_of(value));
      } else {
        step.args.push_back(value_of(s[k]));
      }
    }
    for (const Value& v : step.args) check_references(v, names);
    for (const auto& [key, v] : step.keywords) check_references(v, names);
    if (!find_op(step.op)) throw Bad{"step " + step.name + ": the operator " + step.op + " is not known"};
    names.insert(step.name);
    c.steps.push_back(std::move(step));
  }
  for (const Json& r : j.value("returns", Json::array())) c.returns.push_back(value_of(r));
  for (const Value& v : c.returns) check_references(v, names);
  const Json writes = j.value("writes", Json::object());
  for (const auto& [key, value] : writes.items()) {
    if (std::none_of(def.params.begin(), def.params.end(), [&, k = key](const Param& p) { return p.name == k && p.written; }))
      throw Bad{"`writes` names " + key + ", which is no parameter marked with !"};
    c.writes.emplace_back(key, value_of(value));
    check_references(c.writes.back().second, names);
  }
  return c;
}

KernelDef read_kernel(const Json& j, const std::string& path) {
  only_keys(j, {"op", "parameters", "about", "when", "steps", "returns", "writes", "cases", "opaque"});
  KernelDef def;
  def.op = j.at("op").get<std::string>();
  def.origin = path;
  def.params = parse_params(j.at("parameters").get<std::string>());
  if (j.contains("opaque")) {
    const Json& o = j.at("opaque");
    only_keys(o, {"operands", "attributes", "ignored", "results", "factors"});
    std::set<std::string> named;
    const auto list = [&](const char* key) {
      std::vector<std::string> out;
      for (const Json& x : o.value(key, Json::array())) {
        out.push_back(x.get<std::string>());
        named.insert(out.back());
      }
      return out;
    };
    def.operands = list("operands");
    def.attributes = list("attributes");
    list("ignored");
    for (const Json& r : o.at("results")) {
      only_keys(r, {"write", "like"});
      KernelDef::ResultOf result{r.value("write", ""), r.value("like", r.value("write", ""))};
      if (!result.write.empty()) named.insert(result.write);
      const auto is_param = [&](const std::string& name, bool written) {
        return std::any_of(def.params.begin(), def.params.end(), [&](const Param& p) { return p.name == name && (p.written || !written); });
      };
      if (!is_param(result.like, false) || (!result.write.empty() && !is_param(result.write, true)))
        throw Bad{"a result names no parameter"};
      def.results.push_back(std::move(result));
    }
    for (const Param& p : def.params)
      if (!named.count(p.name)) throw Bad{"the parameter " + p.name + " is neither operand, attribute, ignored nor written"};
    def.factors = o.value("factors", "");
    if (!def.factors.empty()) {
      const Result<KernelContract> contract = parse_kernel_contract(def.factors);
      if (!contract) throw Bad{contract.error().message};
      if (contract->operands.size() != def.operands.size() || contract->results.size() != def.results.size())
        throw Bad{"the factor rule has another number of operands or results than the kernel"};
    }
    if (def.results.empty()) throw Bad{"an opaque kernel has results"};
    return def;
  }
  if (j.contains("cases")) {
    for (const Json& c : j.at("cases")) {
      only_keys(c, {"when", "steps", "returns", "writes"});
      def.cases.push_back(read_case(c, def));
    }
  } else {
    def.cases.push_back(read_case(j, def));
  }
  if (def.cases.empty()) throw Bad{"a kernel needs `steps`, `cases` or `opaque`"};
  return def;
}

}  // namespace

Result<int> Kernels::load(std::string_view text, const std::string& path) {
  std::vector<KernelDef> defs;
  std::string current;
  try {
    const Json j = Json::parse(text);
    only_keys(j, {"about", "kernels"});
    for (const Json& k : j.at("kernels")) {
      current = k.is_object() ? k.value("op", "") : "";
      defs.push_back(read_kernel(k, path));
    }
  } catch (const Bad& b) {
    return Diagnostic{"SP255", fmt::format("kernel contract {}: {}", current, b.message), path, 0, 0};
  } catch (const nlohmann::json::exception& e) {
    return Diagnostic{"SP255", fmt::format("kernel contract {}: {}", current, e.what()), path, 0, 0};
  } catch (const InternalError&) {
    return Diagnostic{"SP255", fmt::format("kernel contract {}: a default value in `parameters` cannot be read", current), path, 0, 0};
  }
  for (KernelDef& def : defs) kernels_[def.op] = std::move(def);
  return static_cast<int>(defs.size());
}

const KernelDef* Kernels::find(std::string_view op) const {
  auto it = kernels_.find(std::string(op));
  if (it == kernels_.end()) it = kernels_.find(std::string(op) + ".default");
  return it == kernels_.end() ? nullptr : &it->second;
}

std::vector<const KernelDef*> Kernels::all() const {
  std::vector<const KernelDef*> out;
  for (const auto& [name, def] : kernels_) out.push_back(&def);
  std::sort(out.begin(), out.end(), [](const KernelDef* a, const KernelDef* b) { return a->op < b->op; });
  return out;
}

const Kernels& Kernels::builtin() {
  static const Kernels kernels = [] {
    Kernels k;
    for (const char* const* f = kKernelFiles; *f; f += 2) {
      const Result<int> r = k.load(f[1], f[0]);
      if (!r) throw InternalError("a shipped kernel file is wrong: " + r.error().message);
    }
    return k;
  }();
  return kernels;
}

}  // namespace shardproof::lower::aten
