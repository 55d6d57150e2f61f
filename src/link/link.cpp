// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The linker's front: reads the files of a manifest, settles mesh and roles of ranks, and runs the steps of linker.h.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "link/linker.h"
#include "link/sources.h"
#include "manifest/load.h"

namespace shardproof::link {

Linker::Linker(const manifest::Manifest& m, ProgramPtr sequential, std::vector<ProgramPtr> ranks)
    : m_(m), seq_(std::move(sequential)), ranks_(std::move(ranks)) {}

Failure Linker::run() {
  out.mesh = m_.mesh ? *m_.mesh : manifest::Mesh{};
  if (!m_.mesh && ranks_.size() > 1) out.mesh.axes.push_back({"devices", static_cast<int64_t>(ranks_.size())});
  SP_CHECK(out.mesh.num_ranks() == static_cast<int64_t>(ranks_.size()));
  int64_t n = static_cast<int64_t>(ranks_.size());
  const frontend::Program& first = *ranks_[0];
  partitions_ = n;
  replicas_ = 1;
  if (first.kind == frontend::Program::Kind::Spmd) {
    using Kind = manifest::Manifest::SpmdKind;
    int64_t p = std::max<int64_t>(first.num_partitions, 1), q = std::max<int64_t>(first.num_replicas, 1);
    if (m_.spmd == Kind::Replicas)
      p = 1, q = n;
    else if (m_.spmd == Kind::Partitions)
      p = n, q = 1;
    else if (p * q != n && p == 1 && q == 1) {  // the module states nothing: its collectives tell what the ranks are
      bool replicas = false, partitions = false;
      for (const ir::Node& node : first.graph.nodes) {
        if (node.op == ir::Op::RankId) (node.a[0] ? replicas : partitions) = true;
        if (!node.group) continue;
        replicas |= node.group->kind == ir::GroupRef::Kind::Replicas || node.group->kind == ir::GroupRef::Kind::CrossReplica;
        partitions |= node.group->kind == ir::GroupRef::Kind::Partitions;
      }
      if (replicas && partitions)
        return error("SP203",
                     "the module states neither partitions nor replicas, and its collectives use both: say in \"spmd\" what the ranks are",
                     "distributed");
      (replicas ? q : p) = n;
    }
    if (p > n || q > n || p * q != n)
      return error("SP203", fmt::format("the distributed program is for {} partitions and {} replicas, but the mesh has {} ranks", p, q, n),
                   "mesh");
    partitions_ = p;
    replicas_ = q;
  }
  size_t nodes = seq_->graph.nodes.size();
  for (const ProgramPtr& p : ranks_) nodes += p->graph.nodes.size();
  out.graph.nodes.reserve(nodes + nodes / 4);
  out.side.reserve(nodes + nodes / 4);
  names(seq_, false);
  for (const ProgramPtr& p : ranks_) names(p, false);

  if (Failure f = cover()) return f;
  if (Failure f = pair_inputs()) return f;
  if (m_.infer)
    if (Failure f = infer()) return f;
  if (Failure f = relation()) return f;
  relate_loops();
  if (Failure f = emit_sequential()) return f;
  if (Failure f = emit_ranks()) return f;
  finish_loops();
  if (Failure f = outputs()) return f;
  if (Failure f = facts()) return f;
  input_forms();
  side(kShared);
  for (const auto& [input, output] : m_.tangents) {
    if (names(seq_, false).find(input) < 0)
      out.warnings.push_back(
          fmt::format("tangents: the sequential program has no input \"{}\"{}", input, names(seq_, false).nearest(input)));
    else if (!output.empty())
      out.assumptions.push_back(fmt::format("input {} stands for the gradient of output {}", input, output));
  }
  auto note = [&](const frontend::Program& p) {
    for (const std::string& text : p.notes)
      if (std::find(out.assumptions.begin(), out.assumptions.end(), text) == out.assumptions.end()) out.assumptions.push_back(text);
  };
  note(*seq_);
  for (size_t r = 0; r < ranks_.size(); ++r)
    if (r == 0 || ranks_[r] != ranks_[r - 1]) note(*ranks_[r]);
  return std::nullopt;
}

namespace {

Result<Problem> run(const manifest::Manifest& manifest, ProgramPtr sequential, std::vector<ProgramPtr> ranks,
                    std::vector<std::string> assumptions, LoopChoice choice = {}) {
  Linker linker(manifest, std::move(sequential), std::move(ranks));
  linker.out.assumptions = std::move(assumptions);
  linker.loop_choice = std::move(choice);
  if (Failure f = linker.run()) return *f;
  return std::move(linker.out);
}

// The number of ranks when the manifest has no mesh.
int64_t ranks_of_module(const frontend::Program& p) {
  return std::max<int64_t>(p.num_partitions, 1) * std::max<int64_t>(p.num_replicas, 1);
}

}  // namespace

bool Programs::has_loops() const {
  return !sequential->loops.empty() || std::any_of(ranks.begin(), ranks.end(), [](const auto& p) { return !p->loops.empty(); });
}

Result<Programs> read(const manifest::Manifest& m, int64_t keep_loops) {
  Sources sources(m, keep_loops);
  std::vector<std::string> assumptions;
  auto read_graphs = [&](const std::vector<std::string>& paths, int64_t rank, size_t& operators) -> Result<ProgramPtr> {
    std::vector<ProgramPtr> graphs;
    for (const std::string& path : paths) {
      Result<std::shared_ptr<const Source>> source = sources.read(path, rank);
      if (!source) return source.error();
      operators += (*source)->operators;
      graphs.push_back(ProgramPtr(*source, &(*source)->program));
    }
    return join(graphs, assumptions);
  };
  size_t sequential_operators = 0, distributed_operators = 0;
  Result<ProgramPtr> sequential = read_graphs(m.sequential, -1, sequential_operators);
  if (!sequential) return sequential.error();

  std::vector<ProgramPtr> ranks;
  if (m.spmd_file) {
    size_t operators = 0;
    Result<ProgramPtr> program = read_graphs(m.distributed[0].paths, 0, operators);
    if (!program) return program.error();
    int64_t n = m.mesh ? m.mesh->num_ranks() : ranks_of_module(**program);
    if (n > manifest::kMaxRanks)
      return m.error("SP203", fmt::format("the program is for {} ranks; at most {} are possible", n, manifest::kMaxRanks), "distributed");
    if (n > 1 && (*program)->kind == frontend::Program::Kind::PerRank)
      return m.error("SP203",
                     fmt::format("\"distributed\" is one graph of one rank, but the mesh has {} ranks: give a list of files, a pattern "
                                 "with {{rank}}, or an object path -> coordinates",
                                 n),
                     "distributed");
    ranks.assign(static_cast<size_t>(n), *program);
    distributed_operators = operators;
  } else {
    SP_CHECK(m.mesh.has_value());
    ranks.resize(static_cast<size_t>(m.mesh->num_ranks()));
    for (const manifest::DistributedFile& file : m.distributed) {
      bool sided =
          std::any_of(m.constants.begin(), m.constants.end(), [](const manifest::Constant& c) { return c.key.starts_with("rank"); });
      ProgramPtr shared;
      for (int64_t rank : file.ranks) {
        size_t operators = 0;
        if (!shared || sided) {
          Result<ProgramPtr> program = read_graphs(file.paths, rank, operators);
          if (!program) return program.error();
          shared = *program;
          distributed_operators += operators;
        }
        ranks[static_cast<size_t>(rank)] = shared;
      }
      if (file.ranks.size() > 1) {
        std::string list;
        for (size_t k = 0; k < file.ranks.size() && k < 8; ++k) list += (k ? ", " : "") + std::to_string(file.ranks[k]);
        assumptions.push_back(fmt::format("ranks {}{} run the same file {}", list, file.ranks.size() > 8 ? ", ..." : "", file.paths[0]));
      }
    }
  }
  return Programs{*sequential, std::move(ranks), std::move(assumptions), sources.files(), sequential_operators, distributed_operators};
}

Result<Problem> link(const manifest::Manifest& m, const Programs& programs) {
  SP_CHECK(!programs.has_loops());
  return link(m, programs, LoopChoice{});
}

Result<Problem> link(const manifest::Manifest& m, const Programs& programs, const LoopChoice& choice) {
  Result<Problem> problem = run(m, programs.sequential, programs.ranks, programs.assumptions, choice);
  if (problem) {
    problem->files = programs.files;
    problem->sequential_operators = programs.sequential_operators;
    problem->distributed_operators = programs.distributed_operators;
  }
  return problem;
}

Result<Problem> link(const manifest::Manifest& m) {
  const auto start = std::chrono::steady_clock::now();
  Result<Programs> programs = read(m);
  if (!programs) return programs.error();
  const double read_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Result<Problem> problem = link(m, *programs);
  if (problem) problem->read_seconds = read_seconds;
  return problem;
}

Result<Problem> link(const manifest::Manifest& m, std::vector<frontend::Program> sequential,
                     std::vector<std::vector<frontend::Program>> per_rank) {
  std::vector<std::string> assumptions;
  auto share = [&](std::vector<frontend::Program>& graphs) {
    std::vector<ProgramPtr> list;
    for (frontend::Program& p : graphs) list.push_back(std::make_shared<const frontend::Program>(std::move(p)));
    return join(list, assumptions);
  };
  if (sequential.empty() || per_rank.empty()) return m.error("SP203", "no program", "sequential");
  Result<ProgramPtr> seq = share(sequential);
  if (!seq) return seq.error();
  std::vector<ProgramPtr> ranks;
  for (std::vector<frontend::Program>& graphs : per_rank) {
    Result<ProgramPtr> rank = share(graphs);
    if (!rank) return rank.error();
    ranks.push_back(*rank);
  }
  if (m.mesh && ranks.size() == 1) ranks.resize(static_cast<size_t>(m.mesh->num_ranks()), ranks[0]);
  if (m.mesh && m.mesh->num_ranks() != static_cast<int64_t>(ranks.size()))
    return m.error("SP203", "the mesh and the programs differ in number of ranks", "mesh");
  size_t seq_operators = (*seq)->graph.nodes.size(), dist_operators = 0;
  for (const ProgramPtr& p : ranks) dist_operators += p->graph.nodes.size();
  Result<Problem> problem = run(m, *seq, std::move(ranks), std::move(assumptions));
  if (problem) {
    problem->sequential_operators = seq_operators;
    problem->distributed_operators = dist_operators;
  }
  return problem;
}

}  // namespace shardproof::link
