// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Every captured PyTorch program of the shared folder lowers to well-formed nodes, agrees with its own annotations, and has no operator
// without a lowering.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "aten_support.h"

namespace shardproof::test {
namespace {

namespace fs = std::filesystem;

// The manifest's job; here only the type matters.
struct AnyConstant : frontend::ConstantSource {
  std::optional<std::vector<ir::Literal>> constant(const std::string&, ir::DType t, const ir::Shape&) const override {
    return std::vector<ir::Literal>{ir::is_float(t) ? ir::Literal::real(0) : ir::Literal::integer(0, t)};
  }
};

TEST_CASE("captured PyTorch programs") {
  const char* set = std::getenv("SHARDPROOF_SHARED");
  const fs::path root = (set ? fs::path(set) : fs::path(SHARDPROOF_SOURCE_DIR) / ".." / "shared") / "cases";
  if (!fs::exists(root)) {
    MESSAGE("skipped: no captured programs (set SHARDPROOF_SHARED)");
    return;
  }
  size_t files = 0, outputs = 0;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(root)) {
    const std::string path = e.path().string();
    const bool text = path.ends_with(".fx.txt"), archive = path.ends_with(".pt2");
    if (!text && !archive) continue;
    std::ifstream file(path, std::ios::binary);
    std::stringstream contents;
    contents << file.rdbuf();
    const Result<fx::Module> m = text ? fx::read_text(contents.str(), path) : fx::read_pt2(contents.str(), path);
    REQUIRE_MESSAGE(m.ok(), path);
    const Result<frontend::Program> p = lower::lower_fx(*m, AnyConstant{});
    REQUIRE_MESSAGE(p.ok(), (p.ok() ? "" : path + ": " + p.error().message));
    for (const frontend::Unsupported& u : p->unsupported) FAIL_CHECK(path << ": " << u.reason);
    size_t wrong = 0;
    for (ir::NodeId k = 0; k < p->graph.nodes.size(); ++k) {
      const std::string w = ir::verify(p->graph, k);
      if (!w.empty() && wrong++ < 3) FAIL_CHECK(path << ": " << ir::to_string(p->graph, k) << ": " << w);
    }
    // Nothing that the program returns may be lost on the way.
    size_t returned = 0;
    std::set<std::string> no_tensors;  // device meshes, process groups
    for (const fx::Value& v : m->graph.values)
      if (v.op == fx::Value::Op::Placeholder && !v.type.known) no_tensors.insert(v.name);
    for (const fx::OutputRef& o : m->graph.outputs) returned += o.value.kind == fx::Arg::Kind::Name && !no_tensors.count(o.value.text);
    size_t kept = 0;
    for (const frontend::Output& o : p->outputs) kept += o.node != ir::kNoNode && (o.mutated_input.empty() || !o.name.starts_with("mut:"));
    CHECK_MESSAGE(kept == returned, path);
    outputs += kept;
    ++files;
  }
  CHECK(files > 100);
  CHECK(outputs > files);
}

}  // namespace
}  // namespace shardproof::test
