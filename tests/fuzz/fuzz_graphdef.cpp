// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Any bytes as GraphDef, text or binary: a module whose references are in range (lowered or refused), or a message.
#include <cstdint>
#include <cstdlib>

#include "lower/graphdef.h"

namespace {

using namespace shardproof;

struct NoConstants : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType, const ir::Shape&) const override { return std::nullopt; }
};

void check(bool condition) {
  if (!condition) std::abort();
}

void check(const graphdef::Body& body, size_t arguments) {
  check(body.order.size() == body.nodes.size());
  for (const auto& n : body.nodes) {
    for (const auto& r : n.inputs)
      check(r.output >= 0 && (r.node == graphdef::Ref::kArgument ? static_cast<size_t>(r.output) < arguments : r.node < body.nodes.size()));
    for (uint32_t c : n.control) check(c < body.nodes.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = graphdef::read({reinterpret_cast<const char*>(data), size}, "input");
  if (!module.ok()) {
    check(!module.error().code.empty() && !module.error().message.empty());
    return 0;
  }
  check(module->main, 0);
  for (const auto& [name, f] : module->functions) check(f.body, f.arguments.size());
  const auto program = lower::lower_graphdef(*module, NoConstants{});
  if (!program.ok()) {
    check(!program.error().code.empty() && !program.error().message.empty());
    return 0;
  }
  for (ir::NodeId k = 0; k < program->graph.nodes.size(); ++k) check(ir::verify(program->graph, k).empty());
  for (const auto& o : program->outputs) check(o.node == ir::kNoNode || o.node < program->graph.nodes.size());
  return 0;
}
