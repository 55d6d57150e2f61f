// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "link/sources.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "frontend/fx/symbols.h"
#include "link/graph_shapes.h"
#include "lower/graphdef.h"
#include "lower/kernels.h"
#include "lower/lower.h"
#include "manifest/match.h"
#include "manifest/npy.h"

namespace shardproof::link {

namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 30;

enum class Format { Zip, ExportJson, MlirBytecode, Hlo, Mlir, GraphDef, HloProto, Fx, Empty };

std::string_view skip_space(std::string_view s) {
  size_t k = s.find_first_not_of(" \t\r\n");
  return k == std::string_view::npos ? std::string_view() : s.substr(k);
}

// The first line that is neither blank nor a comment of `comment` kind.
std::string_view first_line(std::string_view s, std::string_view comment) {
  for (;;) {
    s = skip_space(s);
    if (s.empty() || !s.starts_with(comment)) return s.substr(0, s.find('\n'));
    size_t end = s.find('\n');
    if (end == std::string_view::npos) return {};
    s.remove_prefix(end);
  }
}

bool has_line_starting(std::string_view s, std::string_view word, size_t within) {
  s = s.substr(0, within);
  for (size_t at = s.find(word); at != std::string_view::npos; at = s.find(word, at + 1)) {
    size_t line = s.rfind('\n', at);
    std::string_view before = s.substr(line == std::string_view::npos ? 0 : line + 1, at - (line == std::string_view::npos ? 0 : line + 1));
    if (before.find_first_not_of(" \t") == std::string_view::npos) return true;
  }
  return false;
}

Format sniff(std::string_view bytes) {
  if (bytes.starts_with("PK\x03\x04")) return Format::Zip;
  if (bytes.starts_with("ML\xEFR")) return Format::MlirBytecode;
  std::string_view text = skip_space(bytes.starts_with("\xEF\xBB\xBF") ? bytes.substr(3) : bytes);
  if (text.empty()) return Format::Empty;
  std::string_view head = text.substr(0, 1 << 16);
  bool binary = head.find('\0') != std::string_view::npos ||
                std::count_if(head.begin(), head.end(), [](char c) {
                  return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b';
                }) > 0;
  // A serialized jax.export program holds bytecode.
  if (binary) return head.find("ML\xEFR") == std::string_view::npos ? Format::HloProto : Format::MlirBytecode;
  if (text.starts_with("HloModule")) return Format::Hlo;
  if (text.starts_with("{")) return Format::ExportJson;
  std::string_view line = first_line(text, "//");
  for (std::string_view word : {"module", "#loc", "#", "func.func", "\"builtin.module\"", "builtin.module", "sdy.mesh", "!"})
    if (line.starts_with(word) && !text.starts_with("# ")) return Format::Mlir;
  if (has_line_starting(text, "node {", 1 << 16) || has_line_starting(text, "node: {", 1 << 16)) return Format::GraphDef;
  if (has_line_starting(text, "HloModule", 1 << 16)) return Format::Hlo;
  if (has_line_starting(text, "hlo_module {", 1 << 16) || has_line_starting(text, "computations {", 1 << 20)) return Format::HloProto;
  return Format::Fx;
}

size_t count_operators(const fx::Graph& graph) {
  size_t n = static_cast<size_t>(
      std::count_if(graph.values.begin(), graph.values.end(), [](const fx::Value& v) { return v.op == fx::Value::Op::Call; }));
  for (const auto& [name, sub] : graph.submodules) n += count_operators(sub);
  return n;
}

size_t count_operators(const graphdef::Module& module) {
  size_t n = module.main.nodes.size();
  for (const auto& [name, function] : module.functions) n += function.body.nodes.size();
  return n;
}

size_t count_operators(const hlo::Module& module) {
  size_t n = 0;
  for (const hlo::Computation& c : module.computations) {
    for (const hlo::Instruction& i : c.instructions)
      if (i.opcode != "parameter" && i.opcode != "constant" && i.opcode != "tuple" && i.opcode != "get-tuple-element") ++n;
  }
  return n;
}

Result<std::shared_ptr<const Source>> finish(Result<frontend::Program> program, size_t operators) {
  if (!program) return program.error();
  auto source = std::make_shared<Source>();
  source->program = std::move(*program);
  source->operators = operators;
  return std::shared_ptr<const Source>(std::move(source));
}

Result<std::shared_ptr<const Source>> lower(Result<fx::Module> module, const frontend::ConstantSource& constants,
                                            const lower::aten::Kernels& kernels) {
  if (!module) return module.error();
  // A symbol is a constant whose value the text lacks.
  const Result<int> bound = fx::bind_symbols(*module, [&](const std::string& symbol) -> std::optional<int64_t> {
    const auto values = constants.constant(symbol, ir::DType::I64, {});
    if (!values || values->size() != 1 || (*values)[0].kind != ir::Literal::Kind::Int) return std::nullopt;
    return (*values)[0].i;
  });
  if (!bound) return bound.error();
  return finish(lower::lower_fx(*module, constants, kernels), count_operators(module->graph));
}

Result<std::shared_ptr<const Source>> lower(Result<graphdef::Module> module, const frontend::ConstantSource& constants,
                                            const lower::InputShapes& shapes) {
  if (!module) return module.error();
  return finish(lower::lower_graphdef(*module, constants, shapes), count_operators(*module));
}

Result<std::shared_ptr<const Source>> lower(Result<hlo::Module> module, const frontend::ConstantSource& constants, int64_t keep_loops) {
  if (!module) return module.error();
  return finish(lower::lower_hlo(*module, constants, keep_loops), count_operators(*module));
}

}  // namespace

const manifest::Constant* find_constant(const manifest::Manifest& manifest, const std::string& name, int64_t rank) {
  const manifest::Constant* best = nullptr;
  long best_score = -1;
  for (const manifest::Constant& c : manifest.constants) {
    std::string_view key = c.key;
    bool sided = false;
    size_t colon = key.find(':');
    if (colon != std::string_view::npos) {
      std::string_view side = key.substr(0, colon);
      int64_t number = 0;
      bool is_rank = side.starts_with("rank") && side.size() > 4;
      if (is_rank) {
        auto [end, error] = std::from_chars(side.data() + 4, side.data() + side.size(), number);
        is_rank = error == std::errc() && end == side.data() + side.size();
      }
      if (side == "seq" || is_rank) {
        if (side == "seq" ? rank >= 0 : rank != number) continue;
        key.remove_prefix(colon + 1);
        sided = true;
      }
    }
    if (!manifest::key_matches(key, name)) continue;
    long score = manifest::specificity(key) * 2 + (sided ? 1 : 0);
    if (score > best_score) {
      best = &c;
      best_score = score;
    }
  }
  return best;
}

std::optional<std::vector<ir::Literal>> ManifestConstants::constant(const std::string& name, ir::DType, const ir::Shape&) const {
  const manifest::Constant* c = find_constant(manifest_, name, rank_);
  if (!c) return std::nullopt;
  return c->values;
}

Sources::Sources(const manifest::Manifest& manifest, int64_t keep_loops) : manifest_(manifest), keep_loops_(keep_loops) {}
Sources::~Sources() = default;

Result<std::shared_ptr<const Source>> Sources::read(const std::string& file, int64_t rank) {
  std::string path = manifest_.resolve(file);
  // Constants of one side make the lowered program that side's own.
  bool sided = false;
  for (const manifest::Constant& c : manifest_.constants) sided |= c.key.starts_with("rank") || c.key.starts_with("seq:");
  std::string key = sided ? fmt::format("{}:{}", rank, path) : path;
  if (auto it = cache_.find(key); it != cache_.end()) return it->second;
  Result<std::string> bytes = manifest::read_file(path, kMaxFileBytes);
  if (!bytes)
    return manifest_.error("SP204", fmt::format("the program \"{}\" {}", file, bytes.error().message),
                           rank < 0 ? "sequential" : "distributed");
  if (seen_.insert(path).second) files_.push_back(path);

  if (!kernels_) {
    kernels_ = std::make_unique<lower::aten::Kernels>(lower::aten::Kernels::builtin());
    for (const std::string& k : manifest_.kernels) {
      Result<std::string> text = manifest::read_file(manifest_.resolve(k), 64u << 20);
      if (!text) return manifest_.error("SP204", fmt::format("the kernel contracts \"{}\" {}", k, text.error().message), "kernels");
      Result<int> loaded = kernels_->load(*text, manifest_.resolve(k));
      if (!loaded) return loaded.error();
    }
  }
  const lower::aten::Kernels& kernels = *kernels_;
  ManifestConstants constants(manifest_, rank);
  auto wrong = [&](std::string message) -> Result<std::shared_ptr<const Source>> {
    return Diagnostic{"SP204", std::move(message), path, 0, 0};
  };
  // Captured variables have no shape in a GraphDef: the relation to the sequential program gives it.
  auto shapes_of = [&](const Result<graphdef::Module>& module) {
    lower::InputShapes shapes;
    std::vector<std::string> missing = module && rank >= 0 ? lower::inputs_without_shape(*module) : std::vector<std::string>{};
    for (size_t k = 0; !missing.empty() && k < manifest_.sequential.size(); ++k)
      if (auto sequential = read(manifest_.sequential[k], -1)) shapes.merge(graph_input_shapes(manifest_, missing, (*sequential)->program));
    return shapes;
  };
  Result<std::shared_ptr<const Source>> source = wrong("");
  switch (sniff(*bytes)) {
    case Format::Zip: source = lower(fx::read_pt2(*bytes, path), constants, kernels); break;
    case Format::ExportJson: source = lower(fx::read_export_json(*bytes, path), constants, kernels); break;
    case Format::Fx: source = lower(fx::read_text(*bytes, path), constants, kernels); break;
    case Format::Hlo: source = lower(hlo::read_text(*bytes, path), constants, keep_loops_); break;
    case Format::HloProto: {  // bytes of a protobuf do not say which message they are
      Result<hlo::Module> module = hlo::read_proto(*bytes, path);
      Result<graphdef::Module> other = module ? Result<graphdef::Module>(Diagnostic{}) : graphdef::read_binary(*bytes, path);
      lower::InputShapes shapes = shapes_of(other);
      source = other ? lower(std::move(other), constants, shapes) : lower(std::move(module), constants, keep_loops_);
      break;
    }
    case Format::MlirBytecode:  // answered with the line that converts it
    case Format::Mlir: source = lower(hlo::read_stablehlo(*bytes, path), constants, keep_loops_); break;
    case Format::GraphDef: {
      Result<graphdef::Module> module = graphdef::read_text(*bytes, path);
      lower::InputShapes shapes = shapes_of(module);
      source = lower(std::move(module), constants, shapes);
      break;
    }
    case Format::Empty: return wrong("the file is empty");
  }
  if (source) cache_[key] = *source;
  return source;
}

}  // namespace shardproof::link
