// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A log line is "V0516 17:18:59.123000 4711 torch/_dynamo/output_graph.py:1278] REST". In TORCH_TRACE files REST is JSON that names the
// event, and the payload follows on lines that start with a tab; in TORCH_LOGS output REST is "[0/0] [__aot_graphs] one line of text",
// and a line " ===== Forward graph 0 =====" names the graph that follows.
#include "frontend/fx/trace_log.h"

#include <array>

#include <fmt/format.h>

#include "frontend/fx/cursor.h"
#include "frontend/fx/json_access.h"

namespace shardproof::fx {
namespace {

enum Kind { kJoint, kForward, kInference, kBackward, kDynamo, kKinds };
constexpr std::array<const char*, kKinds> kKindNames = {"joint", "forward", "inference", "backward", "Dynamo"};

struct Found {
  Kind kind;
  int line = 0;  // of its first line of text
  std::string text;
};

// The rest of a log line behind its prefix; nullopt if `line` has none.
std::optional<std::string_view> behind_prefix(std::string_view line) {
  const auto digits = [&](size_t at, size_t count) {
    for (size_t i = at; i < at + count; ++i) {
      if (i >= line.size() || line[i] < '0' || line[i] > '9') return false;
    }
    return true;
  };
  if (line.size() < 16 || std::string_view("VDIWEC").find(line[0]) == std::string_view::npos) return std::nullopt;
  if (!digits(1, 4) || line[5] != ' ' || !digits(6, 2) || line[8] != ':' || !digits(9, 2) || line[11] != ':' || !digits(12, 2))
    return std::nullopt;
  const size_t end = line.find("] ");
  if (end == std::string_view::npos) return line.back() == ']' ? std::optional<std::string_view>("") : std::nullopt;
  return line.substr(end + 2);
}

std::string_view take_line(std::string_view text, size_t pos) { return text.substr(pos, text.find('\n', pos) - pos); }

std::optional<Kind> kind_of_event(std::string_view json) {
  const Result<Json> event = parse_json(json, "");
  if (!event || !event->is_object() || !event->contains("has_payload")) return std::nullopt;
  static constexpr std::pair<const char*, Kind> kEvents[] = {{"aot_joint_graph", kJoint},
                                                             {"aot_forward_graph", kForward},
                                                             {"aot_inference_graph", kInference},
                                                             {"aot_backward_graph", kBackward},
                                                             {"dynamo_output_graph", kDynamo}};
  for (const auto& [name, kind] : kEvents) {
    if (event->contains(name)) return kind;
  }
  return std::nullopt;
}

// " ===== Forward graph 0 ====="
std::optional<Kind> kind_of_title(std::string_view text) {
  const size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos || text.substr(start, 6) != "===== ") return std::nullopt;
  text.remove_prefix(start + 6);
  if (text.substr(0, 11) == "Joint graph") return kJoint;
  if (text.substr(0, 13) == "Forward graph") return kForward;
  if (text.substr(0, 14) == "Backward graph") return kBackward;
  return std::nullopt;
}

}  // namespace

bool is_trace_log(std::string_view text) {
  size_t pos = 0;
  while (pos < text.size() && (text[pos] == '\n' || text[pos] == '\r')) ++pos;
  return behind_prefix(take_line(text, pos)).has_value();
}

Result<LoggedGraph> graph_of_log(std::string_view text, const std::string& path) {
  std::vector<Found> found;
  bool in_payload = false;  // of a structured event
  bool in_titled = false;   // lines of TORCH_LOGS
  int number = 0;
  for (size_t pos = 0; pos < text.size();) {
    const std::string_view line = take_line(text, pos);
    pos += line.size() + 1;
    ++number;
    if (!line.empty() && line[0] == '\t') {
      if (in_payload) {
        if (found.back().text.empty()) found.back().line = number;
        found.back().text.append(line.substr(1)) += '\n';
      }
      continue;
    }
    in_payload = false;
    const std::optional<std::string_view> rest = behind_prefix(line);
    if (!rest) {
      in_titled = false;
      continue;
    }
    if (!rest->empty() && rest->front() == '{') {
      in_titled = false;
      const std::optional<Kind> kind = kind_of_event(*rest);
      if (!kind) continue;
      found.push_back({*kind, number + 1, ""});
      in_payload = true;
      continue;
    }
    std::string_view content = *rest;  // behind tags "[0/0] [__aot_graphs] "
    while (!content.empty() && content[0] == '[') {
      const size_t end = content.find(']');
      if (end == std::string_view::npos) break;
      content.remove_prefix(end + 1);
      if (!content.empty() && content[0] == ' ') content.remove_prefix(1);
    }
    if (content.substr(0, 12) == "TRACED GRAPH") {
      in_titled = false;
    } else if (const std::optional<Kind> kind = kind_of_title(content)) {
      found.push_back({*kind, number + 1, ""});
      in_titled = true;
    } else if (in_titled) {
      found.back().text.append(content) += '\n';
    }
  }
  LoggedGraph out;
  for (const Kind kind : {kJoint, kForward, kInference, kDynamo, kBackward}) {
    const Found* chosen = nullptr;
    std::string lines;
    size_t count = 0;
    for (const Found& f : found) {
      if (f.kind != kind) continue;
      if (chosen == nullptr) chosen = &f;
      lines += fmt::format("{}{}", lines.empty() ? "" : ", ", f.line);
      ++count;
    }
    if (chosen == nullptr) continue;
    if (count > 1) {
      return Diagnostic{"SP213",
                        fmt::format("the log holds {} {} graphs (lines {}): give one graph a file", count, kKindNames[kind], lines), path,
                        chosen->line, 1};
    }
    out.notes.push_back(fmt::format("read the {} graph of the log, at line {}", kKindNames[kind], chosen->line));
    for (const Found& f : found) {
      if (&f != chosen)
        out.notes.push_back(fmt::format("the log also holds a {} graph at line {}, which is not read", kKindNames[f.kind], f.line));
    }
    out.text.assign(static_cast<size_t>(chosen->line - 1), '\n');
    out.text += chosen->text;
    return out;
  }
  return Diagnostic{"SP213", "no graph in this log: run with TORCH_TRACE=directory, or TORCH_LOGS=aot_graphs,aot_joint_graph", path, 1, 1};
}

}  // namespace shardproof::fx
