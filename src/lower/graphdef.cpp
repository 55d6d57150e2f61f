// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The walk over a graph: inputs, variables, calls, results. Operators are in graphdef_*.cpp.
#include "lower/graphdef.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "lower/coverage.h"
#include "lower/graphdef_internal.h"

namespace shardproof::lower {
namespace gd {
namespace {

using graphdef::Attr;
using graphdef::Body;
using graphdef::Node;
using graphdef::Ref;
using graphdef::Type;

constexpr int kMaxCallDepth = 32;
constexpr size_t kMaxLowered = 1'000'000;  // operators, counted in every call

struct Fail {
  Diagnostic diagnostic;
};

}  // namespace

const Table& table() {
  static const Table all = [] {
    Table t;
    add_elementwise(t);
    add_shapes(t);
    add_contractions(t);
    add_reductions(t);
    add_indexing(t);
    add_variables(t);
    add_collectives(t);
    return t;
  }();
  return all;
}

namespace {

bool is_input(const Node& n) {
  return n.op == "Placeholder" || n.op == "PlaceholderV2" || n.op == "PlaceholderWithDefault" || n.op == "_Arg" || n.op == "VarHandleOp" ||
         n.op == "VariableV2" || n.op == "Variable";
}

// Operators whose inputs from this index on are keys and tokens, not data.
size_t data_inputs(const std::string& op) {
  if (op.starts_with("Collective") && op != "CollectiveInitializeCommunicator" && op != "CollectivePermute") return 1;
  return static_cast<size_t>(-1);
}

// The shape that a node states for its value: shape, _output_shapes, _handle_shapes.
graphdef::Shape stated_shape(const Node& n) {
  const Attr* dtype = n.find("dtype");
  bool resource = n.op == "Placeholder" && dtype && dtype->type.kind == Type::Kind::Resource;
  if (n.op == "_Arg") resource = n.find("T") && n.find("T")->type.kind == Type::Kind::Resource;
  const Attr* list = n.find(resource ? "_handle_shapes" : "_output_shapes");
  if (list && list->kind == Attr::Kind::List && list->list.size() == 1 && list->list[0].shape.known) return list->list[0].shape;
  const Attr* shape = n.find("shape");
  if (shape && shape->kind == Attr::Kind::Shape && !resource) return shape->shape;
  return {};
}

Type type_of(const Node& n) {
  for (const char* key : {"dtype", "T"})
    if (const Attr* a = n.find(key); a && a->kind == Attr::Kind::Type) return a->type;
  return {};
}

}  // namespace

// --- inputs

void Lowering::inputs() {
  std::vector<const Node*> nodes;
  for (const Node& n : module_.main.nodes)
    if (is_input(n)) nodes.push_back(&n);
  // Arguments of a function graph say their order.
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node* x, const Node* y) {
    const Attr* a = x->find("index");
    const Attr* c = y->find("index");
    return (a ? a->i : 0) < (c ? c->i : 0);
  });
  // A variable's shape stands on the nodes that read it, if anywhere.
  std::unordered_map<std::string, graphdef::Shape> read_shapes;
  for (const Node& n : module_.main.nodes) {
    const Attr* list = n.find("_output_shapes");
    if (n.op == "ReadVariableOp" && n.inputs.size() == 1 && list && list->kind == Attr::Kind::List && list->list.size() == 1 &&
        list->list[0].shape.known)
      read_shapes.emplace(module_.main.nodes[n.inputs[0].node].name, list->list[0].shape);
  }
  // Who reads a value as data? Placeholders that only say keys of collectives are no inputs.
  std::unordered_set<std::string> data, keys;
  for (const Node& n : module_.main.nodes)
    for (size_t k = 0; k < n.inputs.size(); ++k) (k < data_inputs(n.op) ? data : keys).insert(module_.main.nodes[n.inputs[k].node].name);
  for (const Node* n : nodes) {
    Type type = type_of(*n);
    frontend::Input in;
    in.name = n->name;
    if (const Attr* user = n->find("_user_specified_name"); user && user->s != n->name && user->s != "resource" && !user->s.empty())
      in.aliases.push_back(user->s);
    if (const Attr* shared = n->find("shared_name"); shared && shared->s != n->name && !shared->s.empty()) in.aliases.push_back(shared->s);
    size_t index = program_.inputs.size();
    input_index_[n->name] = index;
    Value value;
    bool variable = n->op == "VarHandleOp" || n->op == "VariableV2" || n->op == "Variable" || type.kind == Type::Kind::Resource;
    bool key = keys.count(n->name) && !data.count(n->name);
    if (variable && !key) {
      Variable v;
      v.name = n->name;
      v.input = index;
      v.shape = stated_shape(*n);
      if (auto it = read_shapes.find(n->name); !v.shape.known && it != read_shapes.end()) v.shape = it->second;
      value.variable = static_cast<int>(variables_.size());
      variables_.push_back(std::move(v));
    } else if (key || type.kind != Type::Kind::Tensor) {
      value.none = true;
    } else {
      graphdef::Shape shape = stated_shape(*n);
      auto hint = shapes_.find(n->name);
      if (!shape.known && hint != shapes_.end()) shape.known = true, shape.dims = hint->second;
      if (shape.known) {
        b.label = n->name;
        b.source_op = n->op;
        b.loc = {};
        b.loc.text_line = n->line;
        in.node = b.input(n->name, type.dtype, shape.dims);
        value.id = in.node;
      } else if (data.count(n->name)) {
        throw Fail{Diagnostic{
            "SP255",
            fmt::format("the shape of the input '{}' is not in the file: trace the function with tf.TensorSpec of a fixed shape", n->name),
            module_.path, n->line, 0}};
      } else {
        value.none = true;
      }
    }
    input_values_[n->name] = value;
    program_.inputs.push_back(std::move(in));
  }
}

// --- variables

void Lowering::access(int variable, bool write) {
  for (Frame* frame : frames_) {
    std::vector<Access>& list = frame->accesses[variable];
    if (!list.empty() && list.back().node == frame->at)
      list.back().write |= write;
    else
      list.push_back({frame->at, write});
  }
}

NodeId Lowering::read(int variable, DType t, const Node& node) {
  Variable& v = variables_[static_cast<size_t>(variable)];
  access(variable, false);
  if (v.current != ir::kNoNode) return v.current;
  graphdef::Shape shape = v.shape;
  auto hint = shapes_.find(v.name);
  if (!shape.known && hint != shapes_.end()) shape.known = true, shape.dims = hint->second;
  if (!shape.known)
    throw Fail{Diagnostic{
        "SP255",
        fmt::format("the shape of the variable '{}' is not in the file: write the graph with as_graph_def(add_shapes=True)", v.name),
        module_.path, node.line, 0}};
  std::string label = b.label;
  b.label = v.name;
  v.first = v.current = b.input(v.name, t, shape.dims);
  b.label = label;
  program_.inputs[v.input].node = v.first;
  return v.current;
}

void Lowering::assign(int variable, NodeId value, const Node& node) {
  Variable& v = variables_[static_cast<size_t>(variable)];
  access(variable, true);
  if (v.first == ir::kNoNode) {
    // Its old value is never read; it is an input nevertheless, of the shape that is assigned.
    v.first = b.input(v.name, b.dtype(value), b.shape(value));
    program_.inputs[v.input].node = v.first;
  }
  if (b.shape(v.first) != b.shape(value) || b.dtype(v.first) != b.dtype(value))
    throw Unsupported{fmt::format("the variable '{}' is assigned a value of another shape or type", v.name)};
  (void)node;
  v.current = value;
}

// Reads and writes of one variable must be ordered by the graph itself, else the result depends on the scheduler.
void Lowering::check_order(const Frame& frame) {
  for (const auto& [variable, list] : frame.accesses) {
    bool written = std::any_of(list.begin(), list.end(), [](const Access& a) { return a.write; });
    if (!written || list.size() < 2) continue;
    for (size_t k = 1; k < list.size(); ++k) {
      // Nodes that run before access k.
      std::unordered_set<uint32_t> before;
      std::vector<uint32_t> work{list[k].node};
      while (!work.empty()) {
        const Node& n = frame.body.nodes[work.back()];
        work.pop_back();
        for (const Ref& r : n.inputs)
          if (r.node != Ref::kArgument && before.insert(r.node).second) work.push_back(r.node);
        for (uint32_t c : n.control)
          if (before.insert(c).second) work.push_back(c);
      }
      for (size_t j = 0; j < k; ++j) {
        if ((list[j].write || list[k].write) && !before.count(list[j].node)) {
          const Node& n = frame.body.nodes[list[k].node];
          throw Fail{
              Diagnostic{"SP256",
                         fmt::format("'{}' and '{}' use the variable '{}' in no fixed order: expected a control dependency between them",
                                     frame.body.nodes[list[j].node].name, n.name, variables_[static_cast<size_t>(variable)].name),
                         module_.path, n.line, 0}};
        }
      }
    }
  }
}

// --- operators

Values Lowering::opaque(const Node& node, const Values& in, const std::string& reason) {
  const Attr* list = node.find("_output_shapes");
  std::vector<std::pair<DType, Shape>> results;
  bool stated = list && list->kind == Attr::Kind::List && !list->list.empty();
  if (stated) {
    std::vector<Type> types;
    for (const char* key : {"Tout", "output_types", "dtypes", "T", "dtype", "DstT", "output_type"}) {
      const Attr* a = node.find(key);
      if (!a) continue;
      if (a->kind == Attr::Kind::Type) types.assign(list->list.size(), a->type);
      if (a->kind == Attr::Kind::List)
        for (const Attr& item : a->list) types.push_back(item.type);
      break;
    }
    for (size_t k = 0; k < list->list.size() && stated; ++k) {
      stated = list->list[k].shape.known && k < types.size() && types[k].kind == Type::Kind::Tensor;
      if (stated) results.emplace_back(types[k].dtype, list->list[k].shape.dims);
    }
  }
  if (!stated)
    throw Fail{Diagnostic{"SP254",
                          fmt::format("{} (node '{}'): {}; its result's shape is not in the file either, so it cannot be taken as an "
                                      "unknown function: write the graph with as_graph_def(add_shapes=True)",
                                      node.op, node.name, reason),
                          module_.path, node.line, 0}};
  std::vector<NodeId> xs;
  for (const Value& v : in)
    if (v.id != ir::kNoNode) xs.push_back(v.id);
  // Its attributes are not read one by one, and it may communicate: no other node may count as the same function, on no rank.
  xs.push_back(b.uninit(DType::F32, {}));
  std::vector<NodeId> ids = b.opaque("tf." + node.op, node.name, xs, results);
  program_.unsupported.push_back({ids.empty() ? ir::kNoNode : ids[0], fmt::format("{} is not supported: {}", node.op, reason)});
  return Values(ids.begin(), ids.end());
}

Values Lowering::call(Frame&, const graphdef::Function& function, const Values& in, int depth) {
  if (depth >= kMaxCallDepth)
    throw Fail{Diagnostic{"SP253", fmt::format("calls of functions nest deeper than {} levels at '{}'", kMaxCallDepth, function.name),
                          module_.path, 0, 0}};
  if (in.size() != function.arguments.size())
    throw Unsupported{
        fmt::format("the function '{}' takes {} arguments, {} are given", function.name, function.arguments.size(), in.size())};
  for (const Frame* f : frames_)
    if (&f->body == &function.body)
      throw Fail{Diagnostic{"SP253", fmt::format("the function '{}' calls itself: recursion is not supported", function.name), module_.path,
                            0, 0}};
  Frame inner{function.body, in, {}, {}, 0};
  body(inner, depth + 1);
  Values out;
  for (const Ref& r : function.results) {
    if (r.node == Ref::kArgument) {
      out.push_back(in[static_cast<size_t>(r.output)]);
      continue;
    }
    const Values& results = inner.results[r.node];
    if (static_cast<size_t>(r.output) >= results.size())
      throw Unsupported{fmt::format("the node '{}' has no result {}", function.body.nodes[r.node].name, r.output)};
    out.push_back(results[static_cast<size_t>(r.output)]);
  }
  return out;
}

Values Lowering::operate(Frame& frame, const Node& node, Values in, int depth) {
  const Attr* callee = node.find("f");
  if ((node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall") && callee) {
    auto it = module_.functions.find(callee->s);
    if (it == module_.functions.end()) throw Unsupported{fmt::format("the function '{}' is not in the library of the graph", callee->s)};
    return call(frame, it->second, in, depth);
  }
  auto it = table().find(node.op);
  if (it == table().end()) {
    if (auto f = module_.functions.find(node.op); f != module_.functions.end()) return call(frame, f->second, in, depth);
    throw Unsupported{"no lowering"};
  }
  Call c{*this, b, node, in};
  Values out = it->second(c);
  lowered(Reader::TensorFlow, node.op);
  return out;
}

void Lowering::body(Frame& frame, int depth) {
  frame.results.resize(frame.body.nodes.size());
  frames_.push_back(&frame);
  for (uint32_t at : frame.body.order) {
    const Node& node = frame.body.nodes[at];
    frame.at = at;
    if (++lowered_ > kMaxLowered)
      throw Fail{Diagnostic{"SP253", fmt::format("the graph has more than {} operators when its calls are inlined", kMaxLowered),
                            module_.path, node.line, 0}};
    if (depth == 0) {
      if (auto it = input_values_.find(node.name); it != input_values_.end()) {
        frame.results[at] = {it->second};
        continue;
      }
    }
    Values in;
    bool missing = false;
    for (const Ref& r : node.inputs) {
      if (r.node == Ref::kArgument) {
        in.push_back(frame.arguments[static_cast<size_t>(r.output)]);
        continue;
      }
      const Values& results = frame.results[r.node];
      if (static_cast<size_t>(r.output) >= results.size())
        throw Fail{Diagnostic{"SP251",
                              fmt::format("the input {}:{} of '{}' does not exist", frame.body.nodes[r.node].name, r.output, node.name),
                              module_.path, node.line, 0}};
      in.push_back(results[static_cast<size_t>(r.output)]);
      missing |= in.back().none;
    }
    (void)missing;
    b.label = node.name;
    b.source_op = node.op;
    b.loc = {};
    b.loc.text_line = node.line;
    try {
      frame.results[at] = operate(frame, node, in, depth);
    } catch (const Unsupported& u) {
      frame.results[at] = opaque(node, in, u.reason);
    } catch (const InternalError& e) {
      // The builder refuses a node that does not fit: the graph's shapes or types do not belong together.
      throw Fail{Diagnostic{"SP251", fmt::format("{} (node '{}'): its inputs do not fit together ({})", node.op, node.name, e.what()),
                            module_.path, node.line, 0}};
    }
  }
  check_order(frame);
  frames_.pop_back();
}

// --- results

void Lowering::outputs(const Frame& frame) {
  const Body& body = frame.body;
  std::vector<char> read(body.nodes.size(), 0);
  for (const Node& n : body.nodes)
    for (const Ref& r : n.inputs) read[r.node] = 1;
  std::vector<uint32_t> returned, identities, sinks;
  for (uint32_t k = 0; k < body.nodes.size(); ++k) {
    const Node& n = body.nodes[k];
    if (n.op == "_Retval") returned.push_back(k);
    if (read[k] || is_input(n) || n.op == "Const" || frame.results[k].empty()) continue;
    (n.op == "Identity" ? identities : sinks).push_back(k);
  }
  std::stable_sort(returned.begin(), returned.end(), [&](uint32_t x, uint32_t y) {
    const Attr* a = body.nodes[x].find("index");
    const Attr* c = body.nodes[y].find("index");
    return (a ? a->i : 0) < (c ? c->i : 0);
  });
  // A ConcreteFunction ends with one Identity node a result, which nobody reads; behind them only a NoOp may stand. An unread Identity
  // before that run is a leftover of tracing (custom gradients leave some). Where results wait for effects, all of them do.
  std::vector<uint32_t> run;
  for (uint32_t k = static_cast<uint32_t>(body.nodes.size()); k-- > 0;) {
    if (body.nodes[k].op == "NoOp") continue;
    if (!std::binary_search(identities.begin(), identities.end(), k)) break;
    run.push_back(k);
  }
  std::reverse(run.begin(), run.end());
  auto waits = [&](uint32_t k) { return !body.nodes[k].control.empty(); };
  if (std::any_of(run.begin(), run.end(), waits))
    run.erase(std::remove_if(run.begin(), run.end(), [&](uint32_t k) { return !waits(k); }), run.end());
  // Other graphs: the unread Identity nodes, wherever they stand, else every value that nobody reads. A collective or an assignment may be
  // unread too: it runs for its effect.
  std::vector<uint32_t>& chosen = !returned.empty() ? returned : !run.empty() ? run : !identities.empty() ? identities : sinks;
  for (uint32_t k : chosen) {
    const Values& results = frame.results[k];
    for (size_t j = 0; j < results.size(); ++j) {
      frontend::Output out;
      out.name = j == 0 ? body.nodes[k].name : fmt::format("{}:{}", body.nodes[k].name, j);
      out.node = results[j].id;
      program_.outputs.push_back(std::move(out));
    }
  }
  std::string unread;
  int count = 0;
  for (const std::vector<uint32_t>* list : {&identities, &sinks}) {
    for (uint32_t k : *list) {
      if (std::find(chosen.begin(), chosen.end(), k) != chosen.end() || frame.results[k][0].id == ir::kNoNode) continue;
      if (++count <= 3) unread += fmt::format("{}'{}'", count == 1 ? "" : ", ", body.nodes[k].name);
    }
  }
  if (count > 0)
    program_.notes.push_back(fmt::format("values that nobody reads and that are not taken for results: {}{}", unread,
                                         count > 3 ? fmt::format(" and {} more", count - 3) : ""));
  for (const Variable& v : variables_) {
    if (v.current == v.first) continue;
    frontend::Output out;
    out.name = "mut:" + v.name;
    out.mutated_input = v.name;
    out.node = v.current;
    program_.outputs.push_back(std::move(out));
  }
}

Result<frontend::Program> Lowering::run() {
  program_.kind = frontend::Program::Kind::Spmd;
  program_.file = module_.path;
  try {
    inputs();
    Values none;
    Frame frame{module_.main, none, {}, {}, 0};
    body(frame, 0);
    outputs(frame);
  } catch (Fail& fail) {
    return std::move(fail.diagnostic);
  }
  if (program_.outputs.empty())
    return Diagnostic{
        "SP251", "the graph has no result: expected an Identity node that nobody reads, as ConcreteFunction.graph.as_graph_def() writes",
        module_.path, 0, 0};
  program_.notes.insert(program_.notes.end(), module_.notes.begin(), module_.notes.end());
  (void)constants_;
  return std::move(program_);
}

}  // namespace gd

Result<frontend::Program> lower_graphdef(const graphdef::Module& module, const frontend::ConstantSource& constants,
                                         const InputShapes& shapes) {
  return gd::Lowering(module, constants, shapes).run();
}

std::vector<std::string> inputs_without_shape(const graphdef::Module& module) {
  std::vector<std::string> out;
  std::unordered_set<std::string> stated;  // variables that a read states
  std::unordered_set<std::string> used;
  for (const graphdef::Node& n : module.main.nodes) {
    const graphdef::Attr* list = n.find("_output_shapes");
    bool known = list && list->kind == graphdef::Attr::Kind::List && list->list.size() == 1 && list->list[0].shape.known;
    for (size_t k = 0; k < n.inputs.size() && k < gd::data_inputs(n.op); ++k) {
      const std::string& name = module.main.nodes[n.inputs[k].node].name;
      used.insert(name);
      if (n.op == "ReadVariableOp" && known) stated.insert(name);
    }
  }
  for (const graphdef::Node& n : module.main.nodes)
    if (gd::is_input(n) && used.count(n.name) && !stated.count(n.name) && !gd::stated_shape(n).known) out.push_back(n.name);
  return out;
}

}  // namespace shardproof::lower
