// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "report/json.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace shardproof::report {

using Json = nlohmann::ordered_json;

namespace {

Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }

Json site(const Site& s) {
  Json j;
  if (s.rank >= 0) j["rank"] = s.rank;
  j["node"] = s.node;
  j["op"] = s.op;
  j["file"] = or_null(s.file);
  j["line"] = s.line > 0 ? Json(s.line) : Json(nullptr);
  return j;
}

Json blame(const std::optional<BlameReport>& b) {
  if (!b) return nullptr;
  Json j;
  j["sequential"] = b->sequential ? site(*b->sequential) : Json(nullptr);
  j["distributed"] = Json::array();
  for (const Site& s : b->distributed) j["distributed"].push_back(site(s));
  j["code"] = b->code;
  j["kind"] = b->kind;
  j["explanation"] = b->explanation;
  j["repair"] = or_null(b->repair);
  j["parameters"] = b->parameters;
  return j;
}

// One name if all ranks that have the output call it the same, else a list with null where a rank has none.
Json dist(const std::vector<std::string>& names) {
  std::string common;
  bool same = true;
  for (const std::string& n : names) {
    if (n.empty()) continue;
    if (common.empty()) common = n;
    same &= n == common;
  }
  if (same) return or_null(common);
  Json j = Json::array();
  for (const std::string& n : names) j.push_back(or_null(n));
  return j;
}

double rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

// Text of programs need not be UTF-8; the answer always is.
std::string dump(const Json& j) { return j.dump(1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string to_json(const CheckResult& r) {
  Json j;
  j["version"] = 1;
  j["verdict"] = name(r.verdict);
  j["reason"] = or_null(r.reason);
  if (!r.detail.empty()) j["detail"] = r.detail;
  j["outputs"] = Json::array();
  for (const OutputReport& o : r.outputs) {
    Json x;
    x["name"] = o.name;
    x["label"] = or_null(o.label);
    x["status"] = name(o.status);
    x["relation"] = o.relation ? Json(*o.relation) : Json(nullptr);
    x["expected"] = or_null(o.expected);
    x["dist"] = dist(o.dist);
    x["reason"] = or_null(o.reason);
    if (!o.detail.empty()) x["detail"] = o.detail;
    x["blame"] = blame(o.blame);
    j["outputs"].push_back(std::move(x));
  }
  j["blame"] = blame(r.blame);
  j["assumptions"] = r.assumptions;
  if (!r.loops.empty()) j["loops"] = r.loops;
  j["warnings"] = r.warnings;
  Json& s = j["stats"];
  s["sequential_operators"] = r.stats.sequential_operators;
  s["distributed_operators"] = r.stats.distributed_operators;
  s["nodes"] = r.stats.nodes;
  s["local_problems"] = r.stats.local_problems;
  s["distinct_local_problems"] = r.stats.distinct_local_problems;
  s["seconds"] = {{"read", rounded(r.stats.read)},
                  {"link", rounded(r.stats.link)},
                  {"prove", rounded(r.stats.prove)},
                  {"falsify", rounded(r.stats.falsify)},
                  {"total", rounded(r.stats.total)}};
  s["peak_bytes"] = r.stats.peak_bytes;
  j["certificate"] = or_null(r.certificate);
  j["witness"] = or_null(r.witness);
  return dump(j) + "\n";
}

std::string to_json(const Diagnostic& e) {
  Json j;
  j["version"] = 1;
  j["error"] = {{"code", e.code},
                {"message", e.message},
                {"file", or_null(e.file)},
                {"line", e.line > 0 ? Json(e.line) : Json(nullptr)},
                {"column", e.column > 0 ? Json(e.column) : Json(nullptr)}};
  return dump(j) + "\n";
}

}  // namespace shardproof::report
