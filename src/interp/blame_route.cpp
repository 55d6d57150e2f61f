// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What kind of mistake it is when the numbers alone do not say: from the communication between what is still right and what is wrong.
//
// Idea: go back from the wrong distributed value to families that hold a sequential value element by element. What lies between is
// suspect. A reduction whose addends make up the sequential value over other ranks than it adds is over the wrong group; one of pieces
// or of whole values is one too many; an exchange, gather or message there has its data in the wrong order. Without any communication, a
// mask, a table of positions or a slice of an input may start at the wrong place. The kind is a hint for people, never part of a verdict.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "interp/blame.h"
#include "interp/route.h"

namespace shardproof::interp {
namespace {

bool is_boolean(const ir::Graph& g, ir::NodeId id) { return g[id].dtype == ir::DType::Bool; }

// Does some input come in another order than that of the ranks?
bool permuted_input(const link::Problem& p) {
  for (const auto& relation : p.relation) {
    for (const manifest::Step& s : relation.placement.steps) {
      if (s.kind == manifest::Step::Kind::Shard && !s.chunks.empty()) return true;
    }
  }
  return false;
}

}  // namespace

void Blamer::fill_held_by() {
  if (held_by_filled_) return;
  held_by_filled_ = true;
  const ir::Graph& g = problem_.graph;
  for (ir::NodeId id = 0; id < visible_.size(); ++id) {
    if (!visible_[id] || problem_.side[id] != link::kSequential || g[id].op == ir::Op::Input || !prints_->has(id)) continue;
    if (prints_->print(id).constant) continue;
    for (const Holding& h : prints_->holdings(id)) held_by_[h.family].emplace_back(id, h);
  }
}

bool Blamer::in_order(size_t family) {
  const auto known = in_order_.find(family);
  if (known != in_order_.end()) return known->second;
  bool found = false;
  const auto list = held_by_.find(family);
  if (list != held_by_.end()) {
    std::vector<const Value*> values;
    for (ir::NodeId id : prints_->families()[family].nodes) values.push_back(id == ir::kNoNode ? nullptr : evaluator_->get(id));
    for (const auto& [seq, h] : list->second) {
      // The weighted sum of partial sums depends on their order.
      found = found || h.how == Holding::How::Partial || holds_in_order(problem_, *evaluator_->get(seq), values, h.axes);
    }
  }
  return in_order_[family] = found;
}

// Do the ranks' values add up to the sequential value over some axes? Cut values do, too: then `copies` is the number of pieces.
bool Blamer::adds_up(const std::vector<ir::NodeId>& values, ir::NodeId sequential, unsigned* axes, int64_t* copies) const {
  if (!prints_->has(sequential)) return false;
  const Print& whole = prints_->print(sequential);
  if (!whole.usable || whole.constant) return false;
  const auto& mesh = problem_.mesh;
  const unsigned sets = 1u << std::min<size_t>(mesh.axes.size(), 6);
  for (unsigned set = 0; set < sets; ++set) {
    std::map<int64_t, double> sums;
    double count = 0;
    bool usable = true;
    for (size_t r = 0; r < values.size(); ++r) {
      if (values[r] == ir::kNoNode || !prints_->has(values[r])) return false;
      const Print& p = prints_->print(values[r]);
      usable = usable && p.usable;
      sums[group_of(mesh, static_cast<int64_t>(r), set)] += p.sum;
      count = p.count;
    }
    if (!usable || count <= 0 || std::fmod(whole.count, count) != 0) continue;
    const double scale = whole.size * std::sqrt(whole.count) + std::fabs(whole.sum);
    if (std::any_of(sums.begin(), sums.end(), [&](const auto& s) { return std::fabs(s.second - whole.sum) > 1e-10 * scale; })) continue;
    *axes = set;
    *copies = static_cast<int64_t>(whole.count / count);
    return true;
  }
  return false;
}

// A table whose rows are cut: each rank looks its own rows up, and the ranks' results are added.
bool Blamer::lookup(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) {
  const ir::Graph& g = problem_.graph;
  const bool cut = std::any_of(problem_.relation.begin(), problem_.relation.end(), [&](const link::Problem::Relation& r) {
    return std::find(suspect.inputs.begin(), suspect.inputs.end(), r.node) != suspect.inputs.end() &&
           std::any_of(r.placement.steps.begin(), r.placement.steps.end(),
                       [](const manifest::Step& s) { return s.kind == manifest::Step::Kind::Shard && s.dim == 0; });
  });
  const std::string& op = g[suspect.node].source_op;
  if (!cut || (op.find("embedding") == std::string::npos && op.find("gather") == std::string::npos)) return false;
  const auto first = std::find_if(family.nodes.begin(), family.nodes.end(), [](ir::NodeId id) { return id != ir::kNoNode; });
  if (first == family.nodes.end() || g[*first].shape != g[suspect.node].shape) return false;
  const std::set<ir::NodeId> lookups(family.nodes.begin(), family.nodes.end());
  // The last of the sums of what was looked up, going back from the output, is the first one met by the values.
  const RouteStep* sum = nullptr;
  const std::vector<RouteStep> steps = route(problem_, output.distributed, [&](ir::NodeId id) { return lookups.count(id) != 0; });
  for (const RouteStep& s : steps) {
    if (s.kind == RouteStep::Kind::Reduce && g[s.node].shape == g[suspect.node].shape) sum = &s;
  }
  if (!sum) {
    d.code = "SP103";
    d.kind = missing_reduction(output);
    d.explanation += fmt::format("; each rank has some rows of the table, and {} is not added over the ranks", g[*first].label);
    return true;
  }
  unsigned axes = 0;
  int64_t pieces = 1;
  const bool unmasked = prints_->has(sum->node) && !prints_->print(sum->node).constant && adds_up(family.nodes, sum->node, &axes, &pieces);
  d.code = "SP104";
  d.kind = unmasked ? "missing-embedding-mask" : "vocab-shard-offset";
  d.explanation += unmasked ? fmt::format("; {} adds rows that other ranks looked up for tokens that are not theirs", g[sum->node].label)
                            : "; the ranks look up other rows than those that they have";
  return true;
}

const char* Blamer::missing_reduction(const link::Output& output) {
  return output.role == manifest::Role::Gradient ? "missing-gradient-all-reduce" : "missing-all-reduce";
}

// A multiple by a number of ranks: was something summed that was whole already, or was a mean forgotten?
void Blamer::sum_or_mean(const Family& family, const link::Output& output, Diagnosis& d) const {
  if (output.role != manifest::Role::Gradient && output.role != manifest::Role::Updated) return;
  const auto nothing = [&](ir::NodeId id) { return problem_.side[id] == link::kShared; };
  for (const RouteStep& s : route(problem_, family.nodes, nothing)) {
    if (s.kind != RouteStep::Kind::Reduce) continue;
    for (ir::NodeId x : s.in) {
      if (!prints_->has(x) || !prints_->has(s.in[0])) return;
      const Print &p = prints_->print(x), &q = prints_->print(s.in[0]);
      if (std::fabs(p.weighted - q.weighted) > 1e-10 * (p.size * std::sqrt(p.count) + std::fabs(q.weighted))) {
        d.kind = "dp-average-scale";
        return;
      }
    }
    return;  // equal on all ranks: adding them was one too many
  }
  d.kind = "dp-average-scale";
}

// Is there a reduction that adds the family's values, on the way to the output?
bool Blamer::reduced_later(const Family& family, const link::Output& output) const {
  const std::set<ir::NodeId> own(family.nodes.begin(), family.nodes.end());
  for (const RouteStep& s : route(problem_, output.distributed, [&](ir::NodeId id) { return own.count(id) != 0; })) {
    if (s.kind != RouteStep::Kind::Reduce) continue;
    for (ir::NodeId x : s.in) {
      // Through what only shows it in another shape or type.
      for (int depth = 0; depth < 8 && own.count(x) == 0 && problem_.graph[x].in.size() == 1; ++depth) x = problem_.graph[x].in[0];
      if (own.count(x) != 0) return true;
    }
  }
  return false;
}

// Ranks with unequal numbers of elements, and a reduction over them of what each divided by its own number.
void Blamer::uneven_mean(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) const {
  const ir::Graph& g = problem_.graph;
  const std::vector<RouteStep> steps = route(problem_, family.nodes, [&](ir::NodeId id) { return problem_.side[id] == link::kShared; });
  std::vector<std::pair<ir::NodeId, ir::NodeId>> pairs;  // values of two ranks
  for (size_t r = 0; r + 1 < family.nodes.size(); ++r) {
    if (family.nodes[r] != ir::kNoNode && family.nodes[r + 1] != ir::kNoNode) pairs.emplace_back(family.nodes[r], family.nodes[r + 1]);
  }
  for (const RouteStep& s : steps) {
    for (size_t k = 0; s.kind == RouteStep::Kind::Reduce && pairs.size() < 64 && k + 1 < s.in.size(); ++k)
      pairs.emplace_back(s.in[k], s.in[k + 1]);
  }
  // The values themselves are alike; what they were made of is not.
  bool uneven = false;
  for (const auto& [first, second] : pairs) {
    std::vector<ir::NodeId> x{first}, y{second};
    for (int depth = 0; depth < 24 && !uneven && first != second; ++depth) {
      std::vector<ir::NodeId> next_x, next_y;
      for (size_t k = 0; k < std::min(x.size(), y.size()) && next_x.size() < 64; ++k) {
        const ir::Node &n = g[x[k]], &m = g[y[k]];
        uneven = uneven || (n.op == m.op && n.shape.size() == m.shape.size() && n.shape != m.shape);
        if (problem_.side[x[k]] < 0 || problem_.side[y[k]] < 0 || n.in.size() != m.in.size()) continue;
        next_x.insert(next_x.end(), n.in.begin(), n.in.end());
        next_y.insert(next_y.end(), m.in.begin(), m.in.end());
      }
      x = std::move(next_x);
      y = std::move(next_y);
    }
  }
  if (!uneven || d.kind == "cp-loss-reduction" || d.kind == "wrong-group") return;
  bool reduced = reduced_later(family, output);
  for (const RouteStep& s : steps) reduced = reduced || s.kind == RouteStep::Kind::Reduce;
  if (!reduced) return;
  d.kind = feeds_root(suspect.node) ? "batchnorm-stats" : "mean-over-shard";
  d.explanation += "; the ranks have unequal numbers of elements, so that the mean of their means is not the mean of all";
}

// Partial sums that are divided first and added then: means of parts that need not be of equal size.
void Blamer::reduced_too_late(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) const {
  const bool trained = output.role == manifest::Role::Gradient || output.role == manifest::Role::Loss ||
                       (problem_.graph[output.sequential].shape.empty() && output.role == manifest::Role::None);
  if (!trained) return;
  const std::string& op = problem_.graph[suspect.node].source_op;
  const bool divides =
      op.find("div") != std::string::npos || op.find("mean") != std::string::npos || op.find("nll_loss") != std::string::npos;
  for (ir::NodeId id : family.nodes) {
    if (id == ir::kNoNode || !divides) continue;
    for (const RouteStep& s : route(problem_, {id}, [&](ir::NodeId x) { return x < visible_.size() && visible_[x]; })) {
      if (s.node != id && problem_.graph[s.node].label != problem_.graph[id].label) continue;
      if (s.kind != RouteStep::Kind::Reduce) continue;
      d.kind = "cp-loss-reduction";
      d.explanation += fmt::format("; {} adds only after that", problem_.graph[s.node].label);
      d.repair.clear();
      return;
    }
  }
}

// Does a root follow, as in norms?
bool Blamer::feeds_root(ir::NodeId sequential) const {
  const ir::Graph& g = problem_.graph;
  std::set<ir::NodeId> reach{sequential};
  const ir::NodeId end = static_cast<ir::NodeId>(std::min<size_t>(visible_.size(), size_t{sequential} + 400));
  for (ir::NodeId id = sequential; id < end && reach.size() < 12; ++id) {
    const ir::Node& n = g[id];
    const bool reads = id == sequential || std::any_of(n.in.begin(), n.in.end(), [&](ir::NodeId x) { return reach.count(x) != 0; });
    if (!reads) continue;
    const bool view = n.op == ir::Op::Reshape || n.op == ir::Op::Broadcast || n.op == ir::Op::Transpose || n.op == ir::Op::Slice;
    if (n.op == ir::Op::Map && (n.fn == ir::Fn::Sqrt || n.fn == ir::Fn::Rsqrt)) return true;
    const bool sum = n.op == ir::Op::Map && (n.fn == ir::Fn::Add || n.fn == ir::Fn::Mul || n.fn == ir::Fn::Div || n.fn == ir::Fn::Convert);
    if (view || sum) reach.insert(id);
  }
  return false;
}

// A reduction that is missing below a root, or something counted twice there, is that of a norm.
void Blamer::norm_words(const Suspect& suspect, const link::Output& output, Diagnosis& d) const {
  if (!feeds_root(suspect.node)) return;
  const bool trained = output.role == manifest::Role::Gradient || output.role == manifest::Role::Updated;
  int64_t elements = 1;
  for (int64_t n : problem_.graph[suspect.node].shape) elements *= n;
  if (elements == 1 && trained)
    d.kind = "grad-clip-norm";
  else if (elements > 1 && d.code == "SP103")
    d.kind = "norm-over-shard";
}

// Several operators of a rank whose values add up to a multiple of the sequential one: microbatches, and what is done with them is wrong.
bool Blamer::microbatches(const Suspect& suspect, const Family& family, Diagnosis& d) const {
  const ir::Graph& g = problem_.graph;
  if (!prints_->has(suspect.node) || !ir::is_float(g[suspect.node].dtype)) return false;
  const Print& whole = prints_->print(suspect.node);
  const auto first = std::find_if(family.nodes.begin(), family.nodes.end(), [](ir::NodeId id) { return id != ir::kNoNode; });
  if (first == family.nodes.end() || g[*first].shape != g[suspect.node].shape || !whole.usable || whole.constant) return false;
  std::set<std::string> labels;
  double sum = 0, weighted = 0;
  for (const Family& f : prints_->families()) {
    for (ir::NodeId id : f.nodes) {
      if (id == ir::kNoNode || g[id].source_op != g[*first].source_op || g[id].shape != g[*first].shape || g[id].op != g[*first].op)
        continue;
      const Print& p = prints_->print(id);
      if (!p.usable) return false;
      labels.insert(g[id].label);
      sum += p.sum;
      weighted += p.weighted;
    }
  }
  if (labels.size() < 2 || labels.size() > 64 || whole.sum == 0 || whole.weighted == 0) return false;
  const double c = sum / whole.sum;
  if (std::fabs(c) < 1e-6 || std::fabs(c - weighted / whole.weighted) > 1e-9 * std::fabs(c)) return false;
  d.code = "SP108";
  d.kind = "grad-accumulation";
  d.explanation += fmt::format(
      "; it is one of {} operators whose values together are {:.6g} times the sequential value, and they are not added up like that",
      labels.size(), c);
  return true;
}

// Is the node the input itself, or the linker's view of it?
bool Blamer::stands_for(ir::NodeId id, ir::NodeId input) const {
  for (int depth = 0; depth < 8; ++depth) {
    if (id == input) return true;
    const ir::Node& n = problem_.graph[id];
    if (n.in.size() != 1 || n.op == ir::Op::Slice) return false;
    id = n.in[0];
  }
  return false;
}

void Blamer::by_route(const Suspect& suspect, const Family& family, const link::Output& output, Diagnosis& d) {
  const ir::Graph& g = problem_.graph;
  if (lookup(suspect, family, output, d) || microbatches(suspect, family, d)) return;
  fill_held_by();
  const auto stop = [&](ir::NodeId id) {
    return problem_.side[id] == link::kShared || g[id].op == ir::Op::Input || (prints_->in_family(id) && in_order(prints_->family_of(id)));
  };
  std::vector<RouteStep> steps = route(problem_, family.nodes, stop);
  if (steps.empty() && family.nodes != output.distributed) steps = route(problem_, output.distributed, stop);
  const auto say = [&](const char* code, const char* kind, std::string explanation) {
    d.code = code;
    d.kind = kind;
    d.explanation += "; " + std::move(explanation);
  };
  // The right elements, but not at their places?
  if (suspect.node == output.sequential) {
    for (ir::NodeId id : family.nodes) {
      if (id == ir::kNoNode || !prints_->in_family(id)) continue;
      const size_t own = prints_->family_of(id);
      const std::vector<Holding> all = prints_->has(suspect.node) ? prints_->holdings(suspect.node) : std::vector<Holding>{};
      if (std::none_of(all.begin(), all.end(), [&](const Holding& h) { return h.family == own && h.how != Holding::How::Partial; })) break;
      const bool exchange = std::any_of(steps.begin(), steps.end(), [](const RouteStep& s) { return s.kind == RouteStep::Kind::Exchange; });
      say("SP104",
          exchange                   ? "all-to-all-layout"
          : permuted_input(problem_) ? "zigzag-order"
                                     : "wrong-layout",
          "the ranks have the right values at other places");
      return;
    }
  }
  const bool loss = output.role == manifest::Role::Loss || (g[output.sequential].shape.empty() && output.role == manifest::Role::None);
  std::vector<ir::NodeId> candidates{suspect.node};
  candidates.insert(candidates.end(), suspect.inputs.begin(), suspect.inputs.end());
  for (const RouteStep& s : steps) {
    if (s.kind != RouteStep::Kind::Reduce || g[s.node].fn != ir::Fn::Add) continue;
    const std::string name = g[s.node].label, over = prints_->axes_words(s.axes);
    // What the addends hold: of the whole family, not only of this group.
    std::vector<ir::NodeId> values = s.in;
    if (prints_->in_family(s.in[0])) values = prints_->families()[prints_->family_of(s.in[0])].nodes;
    if (s.axes == 0 || values.size() != static_cast<size_t>(problem_.mesh.num_ranks())) continue;
    const auto list = prints_->in_family(s.in[0]) ? held_by_.find(prints_->family_of(s.in[0])) : held_by_.end();
    if (list != held_by_.end()) {
      const auto& [seq, h] = list->second[0];
      if (h.how == Holding::How::Partial && (h.axes != s.axes || !s.whole)) {
        say("SP104", "wrong-group",
            fmt::format("{} adds over {} ranks along {}, but what it adds is partial over {}", name, s.in.size(), over,
                        prints_->axes_words(h.axes)));
        return;
      }
      if (h.how == Holding::How::Cut && (h.axes & s.axes) != 0) {
        say("SP102", "redundant-all-reduce", fmt::format("{} adds different pieces of {} over {}", name, g[seq].label, over));
        return;
      }
      if (h.how == Holding::How::Whole) {
        say("SP102", "redundant-all-reduce", fmt::format("{} adds over {} what every rank holds whole: {}", name, over, g[seq].label));
        return;
      }
    }
    for (ir::NodeId c : candidates) {
      unsigned axes = 0;
      int64_t pieces = 1;
      if (!adds_up(values, c, &axes, &pieces) || axes == 0) continue;
      int64_t ranks = 1;
      for (size_t a = 0; a < problem_.mesh.axes.size(); ++a) ranks *= (axes >> a & 1) ? problem_.mesh.axes[a].size : 1;
      if (ranks == pieces) {
        say("SP102", "redundant-all-reduce", fmt::format("{} adds different pieces over {}", name, over));
      } else if (ranks / pieces != static_cast<int64_t>(s.in.size()) || (axes & s.axes) != s.axes || pieces > 1) {
        say("SP104", "wrong-group",
            fmt::format("{} adds over {}, but what it adds makes up the value over {}", name, over, prints_->axes_words(axes)));
      } else {
        continue;
      }
      return;
    }
    if (loss && g[suspect.node].shape.empty() && g[s.node].shape.empty()) {
      say("SP109", "cp-loss-reduction",
          fmt::format("{} adds over {} what does not add up to it: means of unequal numbers, say", name, over));
      return;
    }
  }
  // What depends on no input: a mask, a table of positions.
  for (ir::NodeId x : suspect.inputs) {
    if (x >= varies_.size() || varies_[x] || problem_.side[x] != link::kSequential || !prints_->has(x)) continue;
    if (!prints_->holdings(x).empty()) continue;
    const bool cut = g[*std::find_if(family.nodes.begin(), family.nodes.end(), [](ir::NodeId id) { return id != ir::kNoNode; })].shape !=
                     g[suspect.node].shape;
    if (is_boolean(g, x))
      say("SP104", cut ? "cp-attention-mask" : "attention-mask", fmt::format("no rank's mask is its part of {}", g[x].label));
    else
      say("SP104", "position-offset", fmt::format("no rank's table is its part of {}, which depends on no input", g[x].label));
    return;
  }
  for (const RouteStep& s : steps) {
    const std::string name = g[s.node].label, over = prints_->axes_words(s.axes);
    switch (s.kind) {
      case RouteStep::Kind::Reduce: continue;
      case RouteStep::Kind::Exchange:
        say("SP104", "all-to-all-layout", fmt::format("its data passed through the exchange {} over {}", name, over));
        return;
      case RouteStep::Kind::Message: {
        const bool torch = g[s.node].source_op.starts_with("aten.");
        say("SP104", torch ? "wrong-layout" : "ppermute-direction",
            fmt::format("its data came from another rank along {} ({})", over, name));
        return;
      }
      case RouteStep::Kind::Gather: {
        if (prints_->in_family(s.in[0])) {
          const auto list = held_by_.find(prints_->family_of(s.in[0]));
          if (list != held_by_.end() && list->second[0].second.how == Holding::How::Cut && (list->second[0].second.axes & s.axes) == 0) {
            say("SP104", "wrong-group",
                fmt::format("{} gathers over {}, but what it gathers is cut over {}", name, over,
                            prints_->axes_words(list->second[0].second.axes)));
            return;
          }
        }
        say("SP104", permuted_input(problem_) ? "zigzag-order" : "wrong-layout",
            fmt::format("its data was gathered by {} over {}", name, over));
        return;
      }
    }
  }
  // No communication: a part of what every rank has whole.
  for (ir::NodeId x : suspect.inputs) {
    const auto relation = std::find_if(problem_.relation.begin(), problem_.relation.end(), [&](const auto& r) { return r.node == x; });
    if (relation == problem_.relation.end()) continue;
    const auto is_cut = [](const manifest::Step& s) { return s.kind == manifest::Step::Kind::Shard; };
    if (std::any_of(relation->placement.steps.begin(), relation->placement.steps.end(), is_cut)) continue;
    for (ir::NodeId id : family.nodes) {
      if (id == ir::kNoNode || g[id].shape == g[suspect.node].shape) continue;
      std::vector<ir::NodeId> stack(g[id].in.begin(), g[id].in.end());
      for (size_t k = 0; k < stack.size() && k < 32; ++k) {
        const ir::Node& n = g[stack[k]];
        if (n.op == ir::Op::Slice && problem_.side[stack[k]] >= 0 && stands_for(n.in[0], x)) {
          say("SP104", "slice-offset-padding", fmt::format("each rank takes a slice of {}, which it has whole", relation->name));
          return;
        }
        if (n.op == ir::Op::Slice || n.op == ir::Op::Reshape || n.op == ir::Op::Transpose || n.op == ir::Op::Broadcast ||
            g[stack[k]].label == g[id].label)
          stack.insert(stack.end(), n.in.begin(), n.in.end());
      }
    }
  }
}

// Partial sums that were added, but over other ranks.
void Blamer::other_group(const Suspect& suspect, const Family& family, Diagnosis& d) {
  const ir::Graph& g = problem_.graph;
  fill_held_by();
  std::vector<ir::NodeId> from = family.nodes;
  for (ir::NodeId id : family.nodes) {
    if (id == ir::kNoNode) continue;
    for (ir::NodeId x : visible_operands(id)) from.push_back(x);
  }
  const auto stop = [&](ir::NodeId id) { return problem_.side[id] == link::kShared || g[id].op == ir::Op::Input || visible_[id]; };
  for (const RouteStep& s : route(problem_, from, stop)) {
    if (s.kind != RouteStep::Kind::Reduce || g[s.node].fn != ir::Fn::Add || (problem_.mesh.axes.size() < 2 && s.whole)) continue;
    if (g[s.node].shape != g[suspect.node].shape) continue;
    d.kind = "wrong-group";
    d.explanation += fmt::format("; {} adds over {}{}", g[s.node].label, prints_->axes_words(s.axes),
                                 s.whole ? " alone" : ", but not over all ranks along it");
    return;
  }
}

}  // namespace shardproof::interp
