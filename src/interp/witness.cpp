// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Witness files: JSON with the inputs in block form (run ends and values, exact), what they refute, and hashes of what they are about.
//
// {"format": "shardproof-witness", "version": 1, "kind": "values", "manifest": {path, sha256}, "files": [{path, sha256}], "fingerprint":
// "..",
//  "output": "div_2", "seed": 1, "candidates": ["Replicate"], "arithmetic": "..", "difference": {index, sequential, distributed},
//  "inputs": [{"name", "dtype", "shape", "ends": [null | [..]], "values": ["0x1.8p+0", ..] or [3, ..], "imag": [..]}], "blame": {..}}
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "interp/falsify.h"
#include "util/result.h"
#include "util/sha256.h"

namespace shardproof::interp {
namespace {

using Json = nlohmann::ordered_json;

std::string hex(double v) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", v);
  return text;
}

Json interval_json(Interval x) {
  if (is_undefined(x)) return "undefined";
  return Json{{"value", fmt::format("{:.17g}", x.m)}, {"middle", hex(x.m)}, {"radius", hex(x.r)}};
}

Json buffer_json(const Buffer& b) {
  Json values = Json::array();
  for (size_t k = 0; k < b.size; ++k) {
    if (b.number == Number::Integer) {
      values.push_back(b.i[k]);
    } else {
      values.push_back(hex(b.m[k]));
    }
  }
  return values;
}

Json header(const link::Problem& problem, const Options& options, const char* kind) {
  Json files = Json::array();
  for (const std::string& path : problem.files) files.push_back({{"path", path}, {"sha256", sha256_file_hex(path)}});
  return Json{{"format", "shardproof-witness"},
              {"version", 1},
              {"kind", kind},
              {"manifest", {{"path", options.manifest_path}, {"sha256", sha256_hex(options.manifest_canonical)}}},
              {"files", files},
              {"fingerprint", fingerprint(problem)}};
}

Json sites_json(const link::CommunicationFault& fault) {
  Json sites = Json::array();
  for (const auto& s : fault.sites)
    sites.push_back({{"rank", s.rank}, {"node", s.node_name}, {"op", s.op}, {"file", s.file}, {"line", s.line}});
  return sites;
}

Diagnostic bad(std::string message) { return Diagnostic{"SP260", "witness: " + std::move(message), "", 0, 0}; }

// ---- reading. Every field is checked: a witness is an untrusted file.
const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}
std::string text_of(const Json& object, const char* key) {
  const Json* m = member(object, key);
  return m && m->is_string() ? m->get<std::string>() : std::string();
}

bool read_number(const Json& j, bool is_integer, double& d, int64_t& i) {
  if (is_integer) {
    if (!j.is_number_integer()) return false;
    i = j.is_number_unsigned() ? static_cast<int64_t>(j.get<uint64_t>()) : j.get<int64_t>();
    return true;
  }
  if (!j.is_string()) return false;
  const std::string text = j.get<std::string>();
  char* end = nullptr;
  d = std::strtod(text.c_str(), &end);
  return !text.empty() && end == text.c_str() + text.size() && std::isfinite(d);
}

Result<Value> read_input(const Json& j, const ir::Node& node) {
  const bool is_integer = !ir::is_float(node.dtype) && !ir::is_complex(node.dtype);
  if (text_of(j, "dtype") != ir::name(node.dtype)) return bad("input " + node.name + " has another dtype");
  const Json *ends = member(j, "ends"), *shape = member(j, "shape"), *values = member(j, "values");
  if (!shape || !shape->is_array() || *shape != Json(node.shape)) return bad("input " + node.name + " has another shape");
  if (!ends || !ends->is_array() || ends->size() != node.shape.size() || !values || !values->is_array())
    return bad("input " + node.name + " is incomplete");
  std::vector<Axis> axes;
  size_t total = 1;
  for (size_t d = 0; d < node.shape.size(); ++d) {
    const Json& e = (*ends)[d];
    if (e.is_null()) {
      axes.push_back(Axis::unit(node.shape[d]));
    } else {
      if (!e.is_array() || e.empty()) return bad("input " + node.name + " has malformed runs");
      std::vector<int64_t> list;
      for (const Json& v : e) {
        if (!v.is_number_integer()) return bad("input " + node.name + " has malformed runs");
        list.push_back(v.get<int64_t>());
        if (list.back() <= (list.size() > 1 ? list[list.size() - 2] : 0)) return bad("input " + node.name + " has malformed runs");
      }
      if (list.back() != node.shape[d]) return bad("input " + node.name + " has malformed runs");
      axes.push_back(Axis::cut(node.shape[d], std::move(list)));
    }
    if (__builtin_mul_overflow(total, static_cast<size_t>(axes.back().blocks()), &total))
      return bad("input " + node.name + " is too large");
  }
  if (values->size() != total) return bad(fmt::format("input {} has {} values, not {}", node.name, values->size(), total));
  const auto read = [&](const Json& list) -> std::optional<Buffer> {
    Buffer b = Buffer::make(is_integer ? Number::Integer : Number::Interval, total);
    for (size_t k = 0; k < total; ++k) {
      double d = 0;
      int64_t i = 0;
      if (!read_number(list[k], is_integer, d, i)) return std::nullopt;
      if (is_integer) {
        b.i[k] = i;
        if (node.dtype == ir::DType::Bool ? i != 0 && i != 1 : wrap_integer(i, node.dtype) != i) return std::nullopt;
      } else {
        b.set(k, {d, 0});
      }
    }
    return b;
  };
  auto data = read(*values);
  if (!data) return bad("input " + node.name + " has a malformed value");
  Value v = make_value(node.dtype, std::move(axes), std::move(*data));
  if (ir::is_complex(node.dtype)) {
    const Json* imag = member(j, "imag");
    if (!imag || !imag->is_array() || imag->size() != total) return bad("input " + node.name + " lacks imaginary parts");
    auto parts = read(*imag);
    if (!parts) return bad("input " + node.name + " has a malformed value");
    v.imag = std::make_shared<const Buffer>(std::move(*parts));
  }
  return v;
}

double element(const Buffer& b, size_t k) { return b.number == Number::Integer ? static_cast<double>(b.i[k]) : b.m[k]; }

// "" or the fact that the values break.
std::string broken_fact(const link::Problem& problem, const Inputs& inputs) {
  for (const link::Fact& f : problem.facts) {
    const Value& v = inputs.at(f.input);
    const Buffer& b = *v.data;
    using Kind = manifest::Fact::Kind;
    bool some = false, fine = true;
    for (size_t k = 0; k < b.size; ++k) {
      const double e = element(b, k);
      switch (f.fact.kind) {
        case Kind::Range: fine = fine && ((e >= f.fact.low && e < f.fact.high) || (f.fact.has_exception && e == f.fact.exception)); break;
        case Kind::AtLeast: fine = fine && e >= f.fact.value; break;
        case Kind::GreaterThan: fine = fine && e > f.fact.value; break;
        case Kind::AnyNotEqual: some = some || e != f.fact.value; break;
        case Kind::Distinct: break;
      }
    }
    if (f.fact.kind == Kind::AnyNotEqual) fine = some;
    if (f.fact.kind == Kind::Distinct) {
      const size_t dim = static_cast<size_t>(f.fact.dim);
      if (dim >= v.axes.size() || !v.axes[dim].is_unit()) {
        fine = dim < v.axes.size() && v.axes[dim].extent() <= 1;
      } else {
        size_t inner = 1;
        const size_t length = static_cast<size_t>(v.axes[dim].blocks());
        for (size_t d = dim + 1; d < v.axes.size(); ++d) inner *= static_cast<size_t>(v.axes[d].blocks());
        for (size_t line = 0; length > 0 && line < b.size / length; ++line) {
          std::vector<double> values;
          for (size_t k = 0; k < length; ++k) values.push_back(element(b, line / inner * inner * length + line % inner + k * inner));
          std::sort(values.begin(), values.end());
          fine = fine && std::adjacent_find(values.begin(), values.end()) == values.end();
        }
      }
    }
    if (!fine) return f.fact.text.empty() ? problem.graph[f.input].name : f.fact.text;
  }
  return "";
}

std::string preview(const Value* v) {
  if (!v) return "not evaluated";
  std::string out;
  for (size_t k = 0; k < std::min<size_t>(v->data->size, 4); ++k) {
    const Buffer& b = *v->data;
    if (k) out += ", ";
    if (b.state_at(k) != State::Fine) {
      out += b.state_at(k) == State::Undefined ? "undefined" : "undecided";
    } else if (b.number == Number::Integer) {
      out += fmt::format("{}", b.i[k]);
    } else {
      out += fmt::format("{:.9g}", b.number == Number::Ball ? to_interval(b.ball[k]).m : b.m[k]);
    }
  }
  return v->data->size > 4 ? out + ", .." : out;
}

// The sequential operators between the blamed one and the output, and distributed ones: those that are blamed, then those of the same
// names. In plain doubles, for reading along; the verdict has been confirmed before.
std::string along_the_path(const link::Problem& problem, const Json& witness, ir::NodeId output, const Inputs& inputs) {
  const ir::Graph& g = problem.graph;
  const Json* blame = member(witness, "blame");
  const std::string label = blame ? text_of(*blame, "sequential") : "";
  std::vector<bool> below(output + size_t{1}), above(output + size_t{1});
  above[output] = true;
  for (size_t id = output + size_t{1}; id-- > 0;) {
    if (!above[id]) continue;
    for (ir::NodeId x : g[static_cast<ir::NodeId>(id)].in) above[x] = true;
  }
  std::vector<ir::NodeId> path;  // one node per operator: the last
  for (ir::NodeId id = 0; id <= output; ++id) {
    const bool sequential = id < problem.side.size() && problem.side[id] == link::kSequential;
    if (sequential && !label.empty() && g[id].label == label) below[id] = true;
    for (ir::NodeId x : g[id].in) below[id] = below[id] || below[x];
    if (!below[id] || !above[id] || !sequential || g[id].dtype == ir::DType::Token) continue;
    if (!path.empty() && g[path.back()].label == g[id].label) {
      path.back() = id;
    } else {
      path.push_back(id);
    }
  }
  if (path.empty()) path.push_back(output);
  if (path.size() > 24) path.erase(path.begin() + 12, path.end() - 12);
  // The last node of a name on each of the first ranks.
  constexpr int kRanks = 2;
  std::map<std::pair<int, std::string>, ir::NodeId> named;
  for (ir::NodeId id = 0; id < problem.side.size(); ++id) {
    const int side = problem.side[id];
    if (side >= 0 && side < kRanks && !g[id].label.empty() && g[id].dtype != ir::DType::Token) named[{side, g[id].label}] = id;
  }
  std::vector<ir::NodeId> blamed, targets = path;
  if (const Json* list = blame ? member(*blame, "distributed") : nullptr; list && list->is_array()) {
    for (const Json& entry : *list) {
      const Json* rank = member(entry, "rank");
      if (!rank || !rank->is_number_integer() || rank->get<int64_t>() < 0 || rank->get<int64_t>() >= kRanks) continue;
      const auto found = named.find({rank->get<int>(), text_of(entry, "node")});
      if (found != named.end()) blamed.push_back(found->second);
    }
  }
  targets.insert(targets.end(), blamed.begin(), blamed.end());
  for (ir::NodeId id : path) {
    for (int r = 0; r < kRanks; ++r) {
      const auto found = named.find({r, g[id].label});
      if (found != named.end()) targets.push_back(found->second);
    }
  }
  Config config = Config::doubles();
  config.kernels = readable_kernels(problem);
  Evaluator evaluator(g, inputs, config);
  evaluator.run(targets);
  const auto line = [&](const std::string& who, ir::NodeId id) {
    return fmt::format("    {:<11} [{}]  {}\n", who, fmt::join(g[id].shape, ", "), preview(evaluator.get(id)));
  };
  std::string out = "values on the way (first elements):\n";
  for (size_t k = 0; k < path.size(); ++k) {
    const ir::Node& n = g[path[k]];
    out += fmt::format("  {} {}\n", n.label.empty() ? "(output)" : n.label, n.source_op.empty() ? ir::name(n.op) : n.source_op);
    out += line("sequential", path[k]);
    if (k == 0) {
      for (ir::NodeId id : blamed) out += line(fmt::format("rank {} {}", problem.side[id], g[id].label), id);
      if (!blamed.empty()) continue;
    }
    for (int r = 0; r < kRanks; ++r) {
      const auto found = named.find({r, n.label});
      if (found != named.end()) out += line(fmt::format("rank {}", r), found->second);
    }
  }
  return out;
}

Result<Replay> replay_schedule(const Json& witness, const link::Problem& problem) {
  const Json* want = member(witness, "fault");
  if (!want) return bad("has no schedule");
  for (const link::CommunicationFault& fault : problem.faults) {
    if (fault.kind != text_of(*want, "kind")) continue;
    const Json* sites = member(*want, "sites");
    if (!sites || *sites != sites_json(fault)) continue;
    Replay out{true, fmt::format("{}: {}\n", fault.kind, fault.explanation)};
    for (const auto& s : fault.sites) out.text += fmt::format("  rank {}: {} ({}) at {}:{}\n", s.rank, s.node_name, s.op, s.file, s.line);
    return out;
  }
  return Replay{false, "the communication completes, or fails otherwise than the witness says\n"};
}

}  // namespace

std::string fingerprint(const link::Problem& problem) {
  const ir::Graph& g = problem.graph;
  std::vector<bool> needed(g.nodes.size());
  for (const link::Output& o : problem.outputs) {
    if (o.sequential != ir::kNoNode) needed[o.sequential] = true;
    for (ir::NodeId d : o.distributed) {
      if (d != ir::kNoNode) needed[d] = true;
    }
  }
  for (ir::NodeId id : problem.free_inputs) needed[id] = true;
  for (size_t id = g.nodes.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (ir::NodeId x : g.nodes[id].in) needed[x] = true;
  }
  // Ids are renumbered: nodes that goals added in between must not matter.
  std::vector<size_t> number(g.nodes.size());
  size_t next = 0;
  std::string text;
  for (ir::NodeId id = 0; id < g.nodes.size(); ++id) {
    if (!needed[id]) continue;
    number[id] = next++;
    const ir::Node& n = g[id];
    text += fmt::format("{} {} {} {} {} [{}]", static_cast<int>(n.op), static_cast<int>(n.fn), static_cast<int>(n.dtype),
                        static_cast<int>(n.mode), n.set, fmt::join(n.shape, ","));
    for (ir::NodeId x : n.in) text += fmt::format(" %{}", number[x]);
    text += fmt::format(" {} {} {} {} {} {}", fmt::join(n.a, ","), fmt::join(n.b, ","), fmt::join(n.c, ","),
                        n.op == ir::Op::Input ? "" : n.name, n.attrs, static_cast<int>(n.lit.kind));
    text += fmt::format(" {} {}", n.lit.i, hex(n.lit.d));
    if (n.dense) {
      for (const ir::Literal& l : *n.dense) text += fmt::format(" {}:{}", l.i, hex(l.d));
    }
    text += '\n';
  }
  for (ir::NodeId id : problem.free_inputs) text += fmt::format("free %{} {}\n", number[id], g[id].name);
  for (const link::Fact& f : problem.facts)
    text += fmt::format("fact %{} {} {} {} {} {} {}\n", number[f.input], static_cast<int>(f.fact.kind), hex(f.fact.low), hex(f.fact.high),
                        f.fact.has_exception, hex(f.fact.exception) + hex(f.fact.value), f.fact.dim);
  for (const link::Output& o : problem.outputs) {
    text += fmt::format("output {} %{}", o.name, o.sequential == ir::kNoNode ? -1 : static_cast<int64_t>(number[o.sequential]));
    for (ir::NodeId d : o.distributed) text += fmt::format(" %{}", d == ir::kNoNode ? -1 : static_cast<int64_t>(number[d]));
    text += " " + manifest::to_string(o.expect, problem.mesh) + "\n";
  }
  return sha256_hex(text);
}

std::string write_witness(const link::Problem& problem, const Refutation& r, const std::optional<Blame>& blame, const Options& options) {
  const ir::Graph& g = problem.graph;
  Json w = header(problem, options, "values");
  w["output"] = problem.outputs[r.output].name;
  w["seed"] = r.seed;
  w["detail"] = kDetailNames[static_cast<int>(r.detail)];
  w["candidates"] = r.candidates;
  w["arithmetic"] = r.arithmetic;
  if (!r.differences.empty()) {
    const Comparison& c = r.differences[0];
    w["difference"] = Json{{"index", c.index}, {"sequential", interval_json(c.sequential)}, {"distributed", interval_json(c.distributed)}};
  }
  if (blame) {
    Json nodes = Json::array();
    for (const auto& [rank, id] : blame->distributed) nodes.push_back({{"rank", rank}, {"node", g[id].label}});
    w["blame"] = Json{{"sequential", blame->sequential == ir::kNoNode ? "" : g[blame->sequential].label},
                      {"distributed", nodes},
                      {"kind", blame->kind},
                      {"explanation", blame->explanation}};
  }
  Json inputs = Json::array();
  for (ir::NodeId id : problem.free_inputs) {
    const Value& v = r.inputs->at(id);
    Json ends = Json::array();
    for (const Axis& a : v.axes) {
      if (a.is_unit()) {
        ends.push_back(nullptr);
        continue;
      }
      Json list = Json::array();
      for (int64_t k = 0; k < a.blocks(); ++k) list.push_back(a.end(k));
      ends.push_back(std::move(list));
    }
    Json j{{"name", g[id].name}, {"dtype", ir::name(v.dtype)}, {"shape", v.shape()}, {"ends", ends}, {"values", buffer_json(*v.data)}};
    if (v.imag) j["imag"] = buffer_json(*v.imag);
    inputs.push_back(std::move(j));
  }
  w["inputs"] = std::move(inputs);
  return w.dump(1) + "\n";
}

std::string fault_witness(const link::Problem& problem, const Options& options) {
  if (problem.faults.empty()) return "";
  const link::CommunicationFault& fault = problem.faults[0];
  Json w = header(problem, options, "schedule");
  w["fault"] = Json{{"kind", fault.kind}, {"explanation", fault.explanation}, {"sites", sites_json(fault)}};
  return w.dump(1) + "\n";
}

Result<WitnessHeader> read_witness_header(const std::string& text) {
  const Json w = Json::parse(text, nullptr, false);
  if (w.is_discarded() || text_of(w, "format") != "shardproof-witness")
    return bad("is no witness file (JSON written by `shardproof check --witness`)");
  const Json* version = member(w, "version");
  if (!version || *version != 1) return bad("has a version that this program does not know");
  WitnessHeader h;
  h.kind = text_of(w, "kind");
  if (h.kind != "values" && h.kind != "schedule") return bad("has an unknown kind");
  if (const Json* m = member(w, "manifest")) {
    h.manifest_path = text_of(*m, "path");
    h.manifest_sha256 = text_of(*m, "sha256");
  }
  h.output = text_of(w, "output");
  return h;
}

Result<Replay> replay(const std::string& text, link::Problem& problem, const Options& options) {
  const auto head = read_witness_header(text);
  if (!head.ok()) return head.error();
  const Json w = Json::parse(text, nullptr, false);
  // The paths may differ (the files may have moved); their contents and order may not.
  const Json* files = member(w, "files");
  if (!files || !files->is_array() || files->size() != problem.files.size()) return bad("is about another set of files");
  for (size_t k = 0; k < problem.files.size(); ++k) {
    if (text_of((*files)[k], "sha256") != sha256_file_hex(problem.files[k])) return bad("is about another version of " + problem.files[k]);
  }
  if (text_of(w, "fingerprint") != fingerprint(problem)) return bad("is about another relation, other facts or expectations");
  if (head->kind == "schedule") return replay_schedule(w, problem);

  const auto output =
      std::find_if(problem.outputs.begin(), problem.outputs.end(), [&](const link::Output& o) { return o.name == head->output; });
  if (output == problem.outputs.end() || output->sequential == ir::kNoNode)
    return bad("names an output that is not checked: " + head->output);
  const Json* list = member(w, "inputs");
  if (!list || !list->is_array() || list->size() != problem.free_inputs.size()) return bad("has another number of inputs");
  auto inputs = std::make_shared<Inputs>();
  try {
    for (size_t k = 0; k < problem.free_inputs.size(); ++k) {
      const ir::Node& node = problem.graph[problem.free_inputs[k]];
      if (text_of((*list)[k], "name") != node.name) return bad("has other inputs: " + node.name + " expected");
      auto value = read_input((*list)[k], node);
      if (!value.ok()) return value.error();
      inputs->emplace(problem.free_inputs[k], std::move(*value));
    }
  } catch (const EvalError& error) {
    return bad(error.reason);
  }
  if (const std::string fact = broken_fact(problem, *inputs); !fact.empty()) return bad("its inputs break the fact " + fact);

  const link::Output copy = *output;
  const std::vector<Candidate> candidates = candidates_of(problem, copy);
  Options generous = options;
  generous.seconds = std::max(options.seconds, 60.0);
  const auto deadline = util::WorkClock::now() + std::chrono::milliseconds(static_cast<int64_t>(generous.seconds * 1000));
  Runs runs(problem, inputs, generous, deadline);
  Replay out{!candidates.empty(), fmt::format("output {}\n", copy.name)};
  for (const Candidate& candidate : candidates) {
    const std::string words = manifest::to_string(candidate.placement, problem.mesh);
    if (!candidate.goals) {
      out.text += fmt::format("as {}: does not fit the shapes\n", words);
      continue;
    }
    bool differs = false;
    for (const Pair& pair : *candidate.goals) {
      runs.plain().run({pair.first, pair.second});
      const Value *s = runs.plain().get(pair.first), *d = runs.plain().get(pair.second);
      if (!s || !d) continue;
      Comparison c = compare(*s, *d);
      std::string how = "intervals of doubles";
      if (c.kind == Comparison::Kind::Suspect || c.kind == Comparison::Kind::Open) c = runs.confirm(pair, c, &how);
      if (c.kind != Comparison::Kind::Differs) continue;
      out.text += fmt::format("as {}: differs {} ({})\n", words, describe(c), how);
      differs = true;
      break;
    }
    if (!differs) {
      out.confirmed = false;
      out.text += fmt::format("as {}: no difference\n", words);
    }
  }
  out.text += along_the_path(problem, w, copy.sequential, *inputs);
  return out;
}

}  // namespace shardproof::interp
