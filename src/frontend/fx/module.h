// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// A PyTorch FX graph as written: the common result of the readers of FX readable text, torch.export JSON and .pt2 archives.
// Nothing is interpreted here: targets and arguments are kept verbatim; lower/aten gives them meaning.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/types.h"
#include "util/result.h"

namespace shardproof::fx {

// An argument. Trees are stored flat: List/Tuple/Dict/Call hold their items in `items` (Dict: key, value, key, value ...).
struct Arg {
  enum class Kind : uint8_t {
    None,
    Bool,
    Int,
    Float,
    String,
    Name,  // reference to a value of this graph; text = its name
    Word,  // any other dotted name: torch.float32, torch.strided, inf is Float
    List,
    Tuple,
    Dict,
    Call,   // device(type='cpu'), slice(None, 2, None), a nested call: text = callee; positional items first, keyword items as
            // (String name, value) pairs from index `positional` on
    Self,   // self.NAME: text = NAME (constants, submodules)
    Symbol  // symbolic integer expression that is not a plain name: text
  } kind = Kind::None;
  int64_t i = 0;
  double d = 0;
  std::string text;
  std::vector<Arg> items;
  uint32_t positional = 0;
};

struct TensorType {
  bool known = false;     // an annotation was there
  bool symbolic = false;  // some size is not a number
  bool is_sym = false;    // "Sym(...)": a symbolic scalar, not a tensor
  ir::DType dtype = ir::DType::Invalid;
  ir::Shape shape;                   // -1 where symbolic; of a "Sym(...)" whose number is known: that number
  std::vector<std::string> symbols;  // text of each size where symbolic, else empty
  std::string sharding;              // DTensor annotation's placements "S(0)R", else empty
};

struct Value {
  enum class Op : uint8_t { Placeholder, GetAttr, Call, GetItem, Builtin } op = Op::Call;
  std::string name;
  std::string target;     // Call: "torch.ops.aten.mm.default" without "torch.ops."; e.g. "aten.mm.default"; GetAttr: attribute;
                          // Builtin: "operator.add", "math.trunc", "torch.sym_sum" ...
  std::vector<Arg> args;  // GetItem: {Name, Int}
  std::vector<std::pair<std::string, Arg>> kwargs;
  TensorType type;
  std::string descriptor;                   // "# ParamAOTInput(...)" comment of a placeholder
  std::shared_ptr<const std::string> file;  // user's source, from "# File: PATH:LINE in FUNC, code: TEXT"
  int line = 0;
  int text_line = 0;  // line in this text
};

struct OutputRef {
  Arg value;  // Name or None (or a literal)
  std::string descriptor;
};

struct NamedGraph;

// One graph. Submodules (higher-order operators' bodies) are further graphs of the same file, found by attribute name.
struct Graph {
  std::string name;                // class name
  std::vector<Value> values;       // in order, placeholders first
  std::vector<OutputRef> outputs;  // flattened left to right; the nesting does not matter to a manifest
  std::vector<NamedGraph> submodules;
};

struct NamedGraph {
  std::string first;  // attribute name
  Graph second;
};

struct Module {
  std::string path;
  Graph graph;
  // From export JSON, .pt2 and bundles: values of constants that the file carries (small ones).
  struct Constant {
    std::string name;
    ir::DType dtype;
    ir::Shape shape;
    std::vector<ir::Literal> values;
  };
  std::vector<Constant> constants;
  std::vector<std::pair<std::string, int64_t>> hints;  // of symbolic sizes: what they were in the example that was exported
  std::vector<std::string> notes;
};

// Readers. `text` is the whole file; `path` is for messages only. Never throw on bad input, never recurse on input depth.
Result<Module> read_text(std::string_view text, const std::string& path);
Result<Module> read_export_json(std::string_view text, const std::string& path);
Result<Module> read_pt2(std::string_view bytes, const std::string& path);

}  // namespace shardproof::fx
