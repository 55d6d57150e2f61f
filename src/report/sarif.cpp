// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// SARIF 2.1.0 and GitHub annotations.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/files.h"

namespace shardproof::report {

using Json = nlohmann::ordered_json;

namespace {

constexpr size_t kMaxLocations = 100;

std::string relative(const std::string& file, const std::string& root) {
  std::string out = file;
  if (!root.empty() && out.starts_with(root)) {
    out = out.substr(root.size());
    while (out.starts_with("/")) out.erase(0, 1);
  }
  return out;
}

Json location(const Site& s, const std::string& root) {
  Json j;
  if (!s.file.empty()) {
    j["physicalLocation"]["artifactLocation"] = {{"uri", relative(s.file, root)}, {"uriBaseId", "%SRCROOT%"}};
    if (s.line > 0) j["physicalLocation"]["region"]["startLine"] = s.line;
  }
  std::string side = s.rank >= 0 ? fmt::format("rank{}", s.rank) : "sequential";
  j["logicalLocations"] = Json::array({{{"fullyQualifiedName", side + "/" + s.node}, {"kind", "function"}}});
  return j;
}

std::string title(const OutputReport& o) { return o.label.empty() ? o.name : o.label; }

std::string message(const OutputReport& o) {
  if (o.status == Status::Unknown) return fmt::format("output {} is neither proved nor refuted ({}): {}", title(o), o.reason, o.detail);
  std::string text = fmt::format("output {} is wrong", title(o));
  if (o.blame) text += fmt::format(": {}", o.blame->explanation);
  if (!o.detail.empty()) text += fmt::format(" ({})", o.detail);
  if (o.blame && !o.blame->repair.empty()) text += fmt::format(". Suggested: {}", o.blame->repair);
  return text;
}

uint64_t fnv(const std::string& s) {
  uint64_t h = 1469598103934665603ull;
  for (unsigned char c : s) h = (h ^ c) * 1099511628211ull;
  return h;
}

}  // namespace

std::string to_sarif(const CheckResult& r, const FileOptions& options) {
  std::map<std::string, std::string> rules;  // id -> name, sorted
  for (const OutputReport& o : r.outputs) {
    if (o.status == Status::Refuted)
      rules[o.blame && !o.blame->code.empty() ? o.blame->code : "SP100"] =
          o.blame && !o.blame->kind.empty() ? o.blame->kind : "wrong-output";
    if (o.status == Status::Unknown) rules["SP190"] = "not-decided";
  }
  Json j;
  j["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  j["version"] = "2.1.0";
  Json driver = {{"name", "shardproof"}, {"rules", Json::array()}};
  for (const auto& [id, word] : rules) driver["rules"].push_back({{"id", id}, {"name", word}, {"shortDescription", {{"text", word}}}});
  Json results = Json::array();
  for (const OutputReport& o : r.outputs) {
    if (o.status != Status::Refuted && o.status != Status::Unknown) continue;
    bool wrong = o.status == Status::Refuted;
    std::string id = !wrong ? "SP190" : o.blame && !o.blame->code.empty() ? o.blame->code : "SP100";
    Json x;
    x["ruleId"] = id;
    x["ruleIndex"] = static_cast<int>(std::distance(rules.begin(), rules.find(id)));
    x["kind"] = wrong ? "fail" : "open";
    x["level"] = wrong ? "error" : "warning";
    x["message"]["text"] = message(o);
    Json own = Json::array(), related = Json::array();
    if (o.blame) {
      for (const Site& s : o.blame->distributed) {
        Json l = location(s, options.source_root);
        bool known = std::find(own.begin(), own.end(), l) != own.end();
        if (!known && own.size() < kMaxLocations) own.push_back(std::move(l));
      }
      if (o.blame->sequential) {
        Json l = location(*o.blame->sequential, options.source_root);
        l["message"]["text"] = "the operator of the one-device program";
        related.push_back(std::move(l));
      }
    }
    x["locations"] = std::move(own);
    if (!related.empty()) x["relatedLocations"] = std::move(related);
    std::string key = o.name;
    if (o.blame)
      for (const Site& s : o.blame->distributed) key += fmt::format("|{}:{}:{}", s.file, s.line, s.op);
    x["partialFingerprints"] = {{"shardproof/v1", fmt::format("{:016x}", fnv(id + key))}};
    results.push_back(std::move(x));
  }
  Json run = {{"tool", {{"driver", std::move(driver)}}}, {"results", std::move(results)}};
  run["invocations"] = Json::array({{{"executionSuccessful", true}}});
  j["runs"] = Json::array({std::move(run)});
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_annotations(const CheckResult& r, const FileOptions& options) {
  auto escape = [](const std::string& s, bool property) {
    std::string out;
    for (char c : s) {
      if (c == '%')
        out += "%25";
      else if (c == '\r')
        out += "%0D";
      else if (c == '\n')
        out += "%0A";
      else if (property && c == ':')
        out += "%3A";
      else if (property && c == ',')
        out += "%2C";
      else
        out += c;
    }
    return out;
  };
  std::string out;
  for (const OutputReport& o : r.outputs) {
    if (o.status != Status::Refuted && o.status != Status::Unknown) continue;
    std::string place;
    if (o.blame && !o.blame->distributed.empty() && !o.blame->distributed[0].file.empty()) {
      const Site& s = o.blame->distributed[0];
      place = fmt::format("file={},line={},endLine={},", escape(relative(s.file, options.source_root), true), std::max(s.line, 1),
                          std::max(s.line, 1));
    }
    std::string code = o.blame && !o.blame->code.empty() ? o.blame->code : o.status == Status::Refuted ? "SP100" : "SP190";
    out += fmt::format("::{} {}title={}::{}\n", o.status == Status::Refuted ? "error" : "warning", place, escape(code, true),
                       escape(message(o), false));
  }
  return out;
}

}  // namespace shardproof::report
