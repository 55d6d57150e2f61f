// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// TensorFlow graphs -> core operators. Variables become inputs (their value when the graph starts); what a graph assigns to them becomes
// outputs "mut:<input>". Calls of library functions are inlined. Results are the Identity nodes that nobody reads, as ConcreteFunction
// writes them (or _Retval, or any node that nobody reads).
#pragma once

#include <map>
#include <string>

#include "frontend/graphdef/module.h"
#include "frontend/program.h"

namespace shardproof::lower {

// Shapes of inputs that the file does not state (variables captured by a tf.function), by input name.
using InputShapes = std::map<std::string, ir::Shape>;

Result<frontend::Program> lower_graphdef(const graphdef::Module& module, const frontend::ConstantSource& constants,
                                         const InputShapes& shapes = {});

// Inputs of the module that need an entry in InputShapes: tensors and variables whose shape the file does not state.
std::vector<std::string> inputs_without_shape(const graphdef::Module& module);

}  // namespace shardproof::lower
