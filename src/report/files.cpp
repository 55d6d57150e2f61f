// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// JUnit XML, HTML, Graphviz, and the relation as TOML.
#include "report/files.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace shardproof::report {

namespace {

// For XML and HTML: markup and characters that XML 1.0 has no place for.
std::string escape(const std::string& s) {
  std::string out;
  for (char c : s) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (u < 0x20 && c != '\n' && c != '\t')
      out += '?';
    else
      out += c;
  }
  return out;
}

std::string quoted(const std::string& s) {  // TOML and DOT strings
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out + "\"";
}

std::string title(const OutputReport& o) { return o.label.empty() || o.label == o.name ? o.name : fmt::format("{} ({})", o.label, o.name); }

std::string where(const Site& s) {
  std::string side = s.rank >= 0 ? fmt::format("rank {}", s.rank) : "one device";
  return fmt::format("{}: {}{}{}", side, s.node, s.op.empty() ? "" : " = " + s.op,
                     s.file.empty() ? "" : fmt::format(" at {}:{}", s.file, s.line));
}

std::string explain(const OutputReport& o) {
  std::string text;
  if (o.blame) {
    text += o.blame->explanation + "\n";
    if (o.blame->sequential) text += where(*o.blame->sequential) + "\n";
    for (size_t k = 0; k < o.blame->distributed.size() && k < 8; ++k) text += where(o.blame->distributed[k]) + "\n";
    if (!o.blame->repair.empty()) text += "suggested: " + o.blame->repair + "\n";
  }
  if (!o.detail.empty()) text += o.detail + "\n";
  text += "expected " + o.expected + "\n";
  return text;
}

}  // namespace

std::string to_junit(const CheckResult& r, const FileOptions& options) {
  size_t failures = 0, errors = 0, skipped = 0;
  std::string cases;
  for (const OutputReport& o : r.outputs) {
    std::string place;
    if (o.blame && !o.blame->distributed.empty() && !o.blame->distributed[0].file.empty())
      place = fmt::format(" file=\"{}\" line=\"{}\"", escape(o.blame->distributed[0].file), std::max(o.blame->distributed[0].line, 1));
    cases += fmt::format("    <testcase classname=\"shardproof\" name=\"output:{}\" time=\"0\"{}", escape(title(o)), place);
    if (o.status == Status::Proved) {
      cases += "/>\n";
      continue;
    }
    cases += ">\n";
    if (o.status == Status::Unchecked) {
      ++skipped;
      cases += "      <skipped message=\"not checked\"/>\n";
    } else if (o.status == Status::Refuted) {
      ++failures;
      std::string kind = o.blame && !o.blame->kind.empty() ? o.blame->kind : "wrong value";
      cases += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                           escape(o.blame && !o.blame->code.empty() ? o.blame->code : "SP100"),
                           escape(kind + (o.blame ? ": " + o.blame->explanation : "")), escape(explain(o)));
    } else {
      ++errors;
      cases +=
          fmt::format("      <error type=\"{}\" message=\"neither proved nor refuted\">{}</error>\n", escape(o.reason), escape(explain(o)));
    }
    cases += "    </testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "skipped=\"{}\" time=\"{:.3f}\">\n{}"
      "  </testsuite>\n</testsuites>\n",
      escape(options.manifest), r.outputs.size(), failures, errors, skipped, r.stats.total, cases);
}

std::string to_html(const CheckResult& r, const FileOptions& options) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}: {1}</title>\n<style>\n"
      "body{{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}}\n"
      "table{{border-collapse:collapse;width:100%}} td,th{{border-bottom:1px solid #d0d7de;padding:.3rem "
      ".6rem;text-align:left;vertical-align:top}}\n"
      ".PROVED{{color:#1a7f37}} .REFUTED{{color:#cf222e}} .UNKNOWN{{color:#9a6700}} .UNCHECKED{{color:#656d76}}\n"
      "pre{{background:#f6f8fa;padding:.6rem;overflow:auto;white-space:pre-wrap;margin:.3rem 0}}\n</style></head><body>\n"
      "<h1 class=\"{1}\">{1}</h1>\n<p>{0}</p>\n",
      escape(options.manifest), name(r.verdict));
  if (!r.reason.empty()) out += fmt::format("<p>{}: {}</p>\n", escape(r.reason), escape(r.detail));
  out += "<table><tr><th>output</th><th>status</th><th>relation</th><th>expected</th></tr>\n";
  for (const OutputReport& o : r.outputs) {
    out += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n", escape(title(o)), name(o.status),
                       name(o.status), escape(o.relation.value_or("")), escape(o.expected));
    if (o.status == Status::Refuted || o.status == Status::Unknown)
      out += fmt::format("<tr><td colspan=\"4\"><pre>{}</pre></td></tr>\n", escape(explain(o)));
  }
  out += "</table>\n";
  auto list = [&](const char* heading, const std::vector<std::string>& items) {
    if (items.empty()) return;
    out += fmt::format("<h2>{}</h2>\n<ul>\n", heading);
    for (const std::string& item : items) out += fmt::format("<li>{}</li>\n", escape(item));
    out += "</ul>\n";
  };
  list("Warnings", r.warnings);
  list("Loops proved by induction", r.loops);
  list("Assumptions", r.assumptions);
  out += fmt::format("<p>{} + {} operators, {:.3f} s</p>\n</body></html>\n", r.stats.sequential_operators, r.stats.distributed_operators,
                     r.stats.total);
  return out;
}

std::string to_dot(const CheckResult& r) {
  const ir::Graph& g = r.problem->graph;
  // The nodes around the blamed ones: a few steps up and down.
  std::set<std::pair<int, std::string>> blamed;
  if (r.blame) {
    if (r.blame->sequential) blamed.insert({link::kSequential, r.blame->sequential->node});
    for (const Site& s : r.blame->distributed) blamed.insert({s.rank, s.node});
  }
  std::vector<char> keep(g.nodes.size(), 0), red(g.nodes.size(), 0);
  for (ir::NodeId id = 0; id < g.nodes.size(); ++id)
    if (blamed.count({r.problem->side[id], g[id].label})) keep[id] = red[id] = 1;
  constexpr int kSteps = 3;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<char> next = keep;
    for (ir::NodeId id = 0; id < g.nodes.size(); ++id) {
      for (ir::NodeId x : g[id].in) {
        if (keep[id]) next[x] = 1;
        if (keep[x]) next[id] = 1;
      }
    }
    keep = std::move(next);
  }
  std::map<int, std::vector<ir::NodeId>> sides;
  size_t count = 0;
  for (ir::NodeId id = 0; id < g.nodes.size() && count < 2000; ++id) {
    if (!keep[id]) continue;
    sides[r.problem->side[id]].push_back(id);
    ++count;
  }
  std::string out = "digraph shardproof {\n  rankdir=TB;\n  node [shape=box, fontsize=10];\n";
  for (const auto& [side, nodes] : sides) {
    std::string label = side == link::kSequential ? "one device" : side == link::kShared ? "relation" : fmt::format("rank {}", side);
    out += fmt::format("  subgraph \"cluster_{}\" {{\n    label={};\n", side, quoted(label));
    for (ir::NodeId id : nodes)
      out += fmt::format("    n{} [label={}{}];\n", id, quoted(fmt::format("{}\n{}", g[id].label, ir::name(g[id].op))),
                         red[id] ? ", color=red, penwidth=2" : "");
    out += "  }\n";
  }
  for (const auto& [side, nodes] : sides)
    for (ir::NodeId id : nodes)
      for (ir::NodeId x : g[id].in)
        if (keep[x]) out += fmt::format("  n{} -> n{}{};\n", x, id, red[id] || red[x] ? " [color=red]" : "");
  return out + "}\n";
}

std::string relation_toml(const CheckResult& r) {
  std::string out =
      "# The input relation as it was used. Lines marked `inferred` were not given: review them before you keep them.\n[inputs]\n";
  for (const link::Problem::Relation& x : r.problem->relation) {
    std::string words = to_string(x.placement, r.problem->mesh);
    bool list = words.starts_with("[\"");
    out += fmt::format("{} = {}{}\n", quoted(x.name), list ? words : quoted(words), x.inferred ? "   # inferred" : "");
  }
  out += "\n[rename]\n";
  for (const link::Problem::Relation& x : r.problem->relation) {
    if (x.placement.kind != manifest::Placement::Kind::Steps) continue;
    std::string common;
    bool same = true, all = true;
    for (const std::string& d : x.distributed) {
      if (d.empty()) {
        all = false;
        continue;
      }
      if (common.empty()) common = d;
      same &= d == common;
    }
    if (common.empty() || (same && all && common == x.name)) continue;
    if (same && all)
      out += fmt::format("{} = {}\n", quoted(x.name), quoted(common));
    else if (!same)
      out += fmt::format("# {}: names differ from rank to rank\n", quoted(x.name));
  }
  return out;
}

}  // namespace shardproof::report
