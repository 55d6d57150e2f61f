// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/hlo/finish.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "frontend/hlo/cursor.h"

namespace shardproof::hlo {

using frontend::StatedSharding;

std::string order(Computation& computation, uint32_t& at) {
  std::vector<Instruction>& list = computation.instructions;
  const uint32_t n = static_cast<uint32_t>(list.size());
  at = 0;

  bool sorted = true;
  for (uint32_t i = 0; i < n && sorted; ++i) {
    for (uint32_t o : list[i].operands) sorted = sorted && o < i;
  }
  if (!sorted) {
    // Depth first from each instruction in turn, with an explicit stack of (instruction, next operand).
    std::vector<uint32_t> place(n, UINT32_MAX), sequence;
    std::vector<uint8_t> state(n, 0);  // 0 new, 1 open, 2 done
    std::vector<std::pair<uint32_t, size_t>> stack;
    sequence.reserve(n);
    for (uint32_t i = 0; i < n; ++i) {
      if (state[i] == 2) continue;
      state[i] = 1;
      stack.emplace_back(i, 0);
      while (!stack.empty()) {
        auto& [v, next] = stack.back();
        if (next < list[v].operands.size()) {
          const uint32_t o = list[v].operands[next++];
          if (state[o] == 1) {
            at = o;
            return fmt::format("instruction '{}' depends on its own result", list[o].name);
          }
          if (state[o] == 0) {
            state[o] = 1;
            stack.emplace_back(o, 0);
          }
        } else {
          state[v] = 2;
          place[v] = static_cast<uint32_t>(sequence.size());
          sequence.push_back(v);
          stack.pop_back();
        }
      }
    }
    std::vector<Instruction> ordered;
    ordered.reserve(n);
    for (uint32_t v : sequence) {
      for (uint32_t& o : list[v].operands) o = place[o];
      ordered.push_back(std::move(list[v]));
    }
    list = std::move(ordered);
    computation.root = place[computation.root];
  }

  computation.parameters.clear();
  for (uint32_t i = 0; i < n; ++i) {
    if (list[i].opcode != "parameter") continue;
    const int64_t k = list[i].parameter_number;
    at = i;
    if (k < 0 || k >= static_cast<int64_t>(n)) return fmt::format("parameter number {} of '{}' is out of range", k, list[i].name);
    if (computation.parameters.size() <= static_cast<size_t>(k)) computation.parameters.resize(static_cast<size_t>(k) + 1, UINT32_MAX);
    if (computation.parameters[static_cast<size_t>(k)] != UINT32_MAX) {
      return fmt::format("parameter({}) occurs twice in computation '{}'", k, computation.name);
    }
    computation.parameters[static_cast<size_t>(k)] = i;
  }
  for (size_t k = 0; k < computation.parameters.size(); ++k) {
    at = 0;
    if (computation.parameters[k] == UINT32_MAX) return fmt::format("parameter({}) is missing in computation '{}'", k, computation.name);
  }
  return {};
}

std::string check_calls(const Module& module) {
  const size_t n = module.computations.size();
  std::vector<std::vector<uint32_t>> callees(n);
  for (size_t c = 0; c < n; ++c) {
    for (const Instruction& i : module.computations[c].instructions) {
      if ((i.opcode == "while" || i.opcode == "select-and-scatter") && i.called.size() != 2) {
        return fmt::format("instruction '{}' lacks one of the two computations that '{}' calls", i.name, i.opcode);
      }
      callees[c].insert(callees[c].end(), i.called.begin(), i.called.end());
    }
    std::sort(callees[c].begin(), callees[c].end());
    callees[c].erase(std::unique(callees[c].begin(), callees[c].end()), callees[c].end());
  }
  std::vector<uint8_t> state(n, 0);
  std::vector<size_t> height(n, 0);  // longest chain of calls below
  std::vector<std::pair<uint32_t, size_t>> stack;
  for (uint32_t c = 0; c < n; ++c) {
    if (state[c] != 0) continue;
    state[c] = 1;
    stack.emplace_back(c, 0);
    while (!stack.empty()) {
      auto& [v, next] = stack.back();
      if (next < callees[v].size()) {
        const uint32_t o = callees[v][next++];
        if (state[o] == 1) return fmt::format("computation '{}' calls itself", module.computations[o].name);
        if (state[o] == 0) {
          state[o] = 1;
          stack.emplace_back(o, 0);
        }
      } else {
        for (uint32_t o : callees[v]) height[v] = std::max(height[v], height[o] + 1);
        if (height[v] > kMaxCallDepth) {
          return fmt::format("calls below computation '{}' nest deeper than {}", module.computations[v].name, kMaxCallDepth);
        }
        state[v] = 2;
        stack.pop_back();
      }
    }
  }
  return {};
}

namespace {

// Splits the inside of a bracket at its top-level commas.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  size_t depth = 0, start = 0;
  bool quoted = false;
  const auto item = [&](size_t end) {
    std::string_view s = text.substr(start, end - start);
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
    if (!s.empty()) out.emplace_back(s);
    start = end + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    const bool at_most = c == '<' && i + 1 < text.size() && text[i + 1] == '=';  // the iota arrow "<=[8]" is no bracket
    if (c == '{' || c == '[' || c == '(' || (c == '<' && !at_most)) ++depth;
    if ((c == '}' || c == ']' || c == ')' || (c == '>' && !(i > 0 && text[i - 1] == '-'))) && depth > 0) --depth;
    if (c == ',' && depth == 0) item(i);
  }
  item(text.size());
  return out;
}

// The text between `prefix` and `suffix`, if that is what `text` is made of.
bool strip(std::string_view& text, std::string_view prefix, std::string_view suffix) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  if (text.size() < prefix.size() + suffix.size() || !text.starts_with(prefix) || !text.ends_with(suffix)) return false;
  text.remove_prefix(prefix.size());
  text.remove_suffix(suffix.size());
  return true;
}

// "<@mesh, [..]>" items of a #sdy.sharding_per_value.
std::vector<std::string> per_value(std::string_view text) {
  if (!strip(text, "#sdy.sharding_per_value<[", "]>")) return {};
  return split(text);
}

bool is_collective(std::string_view op) {
  for (std::string_view suffix : {"-start", "-done"}) {
    if (op.ends_with(suffix)) op.remove_suffix(suffix.size());
  }
  return op == "all-reduce" || op == "all-gather" || op == "reduce-scatter" || op == "all-to-all" || op == "ragged-all-to-all" ||
         op == "collective-permute" || op == "collective-broadcast" || op == "partition-id" || op == "replica-id";
}

// Custom calls that only occur in a program that is not partitioned yet.
bool is_partitioning_call(std::string_view target) {
  return target == "Sharding" || target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape" || target.starts_with("xla.sdy.");
}

// The sharding that a custom call states for its result.
StatedSharding result_sharding(const Computation& computation, uint32_t index) {
  const Instruction& i = computation.instructions[index];
  if (i.sharding.syntax != StatedSharding::Syntax::None) return i.sharding;
  return {};
}

void name_async(Module& module) {
  for (Computation& computation : module.computations) {
    for (Instruction& i : computation.instructions) {
      if (!i.async_wrapped.empty()) continue;
      std::string_view op = i.opcode;
      for (std::string_view suffix : {"-start", "-update", "-done"}) {
        if (op.ends_with(suffix)) op.remove_suffix(suffix.size());
      }
      if (op.size() == i.opcode.size()) continue;
      if (op != "async") {
        i.async_wrapped = op;
      } else if (i.called.size() == 1) {
        const Computation& body = module.computations[i.called[0]];
        i.async_wrapped = body.instructions[body.root].opcode;
      } else if (!i.operands.empty()) {
        i.async_wrapped = computation.instructions[i.operands[0]].async_wrapped;  // update and done: of their start
      }
    }
  }
}

}  // namespace

void add_frontend_attribute(Instruction& instruction, const std::string& key, const std::string& value) {
  instruction.other.emplace_back("frontend_attributes." + key, value);
  if (key == "xla.sdy.in_shardings") {
    instruction.in_shardings = per_value(value);
  } else if (key == "xla.sdy.out_shardings") {
    instruction.out_shardings = per_value(value);
  } else if (key == "xla.sdy.manual_axes") {
    std::string_view axes = value;
    if (strip(axes, "#sdy<manual_axes{", "}>")) {
      for (std::string& axis : split(axes)) {
        std::string_view a = axis;
        instruction.manual_axes.emplace_back(strip(a, "\"", "\"") ? std::string(a) : axis);
      }
    }
  } else if (key == "xla.sdy.sharding") {
    std::vector<std::string> values = per_value(value);
    std::string text = values.size() == 1 ? "#sdy.sharding" + values[0] : value;
    if (values.size() > 1) instruction.out_shardings = std::move(values);
    // sharding= says the same without a mesh, and wins where both are there.
    if (instruction.sharding.syntax == StatedSharding::Syntax::None) instruction.sharding = {StatedSharding::Syntax::Sdy, std::move(text)};
  }
}

void add_meshes(Module& module, std::string_view text) {
  std::string_view inner = text;
  if (!strip(inner, "{", "}")) {
    module.notes.push_back("xla.sdy.meshes is not understood and ignored");
    return;
  }
  for (const std::string& item : split(inner)) {
    const size_t equals = item.find('=');
    std::string_view name = std::string_view(item).substr(0, equals == std::string::npos ? 0 : equals);
    std::string_view body = equals == std::string::npos ? std::string_view() : std::string_view(item).substr(equals + 1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!name.empty() && name.front() == '@') name.remove_prefix(1);
    while (!body.empty() && body.front() == ' ') body.remove_prefix(1);
    frontend::Mesh mesh;
    mesh.name = name;
    bool good = !name.empty() && strip(body, "#sdy.mesh<", ">");
    if (good) {
      Cursor c(body, "");
      std::string axis;
      int64_t n = 0;
      good = c.accept('[');
      if (good && !c.accept(']')) {
        do {
          good = c.text(axis, "axis") && c.expect('=', "") && c.integer(n, "size") && n > 0;
          if (good) mesh.axes.emplace_back(axis, n);
        } while (good && c.accept(','));
        good = good && c.accept(']');
      }
      if (good && c.accept(',')) {
        good = c.accept(std::string_view("device_ids")) && c.accept('=') && c.accept('[');
        do {
          good = good && c.integer(n, "device");
          if (good) mesh.device_ids.push_back(n);
        } while (good && c.accept(','));
        good = good && c.accept(']');
      }
      good = good && c.at_end();
    }
    if (good) {
      module.meshes.push_back(std::move(mesh));
    } else {
      module.notes.push_back(fmt::format("mesh '{}' is not understood and ignored", name.substr(0, 60)));
    }
  }
}

std::vector<std::string> split_tuple_sharding(std::string_view text) {
  if (!text.starts_with("{{") && !text.starts_with("{ {")) return {std::string(text)};
  std::string_view inner = text;
  if (!strip(inner, "{", "}")) return {std::string(text)};
  return split(inner);
}

void summarize(Module& module) {
  for (Computation& computation : module.computations) {
    for (Instruction& i : computation.instructions) std::stable_sort(i.other.begin(), i.other.end());
  }
  name_async(module);

  bool collectives = false, before_partitioning = false, inner_shardings = false;
  for (const Computation& computation : module.computations) {
    for (const Instruction& i : computation.instructions) {
      collectives = collectives || is_collective(i.opcode);
      before_partitioning = before_partitioning || is_partitioning_call(i.custom_call_target);
      inner_shardings = inner_shardings || (i.opcode != "parameter" && i.sharding.syntax != StatedSharding::Syntax::None);
    }
  }
  const bool stated = !module.parameter_shardings.empty();  // spmd_parameters_shardings: only a partitioned module has them
  module.is_spmd = !before_partitioning && (collectives || stated || (module.num_partitions > 1 && !inner_shardings));

  const Computation& entry = module.computations[module.entry];
  const size_t n = entry.parameters.size();
  if (module.parameter_shardings.size() != n) module.parameter_shardings.assign(n, {});
  std::vector<std::string> names(n);
  std::set<std::string> seen, repeated;
  for (size_t k = 0; k < n; ++k) {
    const Instruction& p = entry.instructions[entry.parameters[k]];
    if (module.parameter_shardings[k].syntax == StatedSharding::Syntax::None) module.parameter_shardings[k] = p.sharding;
    names[k] = p.op_name;
    if (!p.op_name.empty() && !seen.insert(p.op_name).second) repeated.insert(p.op_name);
  }
  for (std::string& name : names) {
    if (repeated.count(name)) name.clear();  // a name of several parameters names none
  }
  if (std::any_of(names.begin(), names.end(), [](const std::string& s) { return !s.empty(); })) module.argument_names = std::move(names);

  const Instruction& root = entry.instructions[entry.root];
  if (module.output_shardings.size() == 1 && root.type.tuple) {  // spmd_output_sharding as one text
    std::vector<StatedSharding> leaves;
    for (std::string& leaf : split_tuple_sharding(module.output_shardings[0].text))
      leaves.push_back({StatedSharding::Syntax::Hlo, std::move(leaf)});
    module.output_shardings = std::move(leaves);
  }
  const size_t outputs = root.type.tuple ? root.type.elements.size() : 1;
  if (module.output_shardings.size() == outputs && outputs > 0) return;
  module.output_shardings.assign(outputs, {});
  if (!root.type.tuple) {
    if (outputs == 1) module.output_shardings[0] = result_sharding(entry, entry.root);
    return;
  }
  if (root.sharding.syntax == StatedSharding::Syntax::Hlo) {
    std::vector<std::string> leaves = split_tuple_sharding(root.sharding.text);
    for (size_t k = 0; k < outputs; ++k) {
      // One sharding that is no tuple holds for all leaves.
      if (leaves.size() == outputs || !root.sharding.text.starts_with("{{")) {
        module.output_shardings[k] = {StatedSharding::Syntax::Hlo, leaves.size() == outputs ? leaves[k] : leaves[0]};
      }
    }
  } else if (root.opcode == "tuple" && root.operands.size() == outputs) {
    for (size_t k = 0; k < outputs; ++k) module.output_shardings[k] = result_sharding(entry, root.operands[k]);
  }
}

}  // namespace shardproof::hlo
