// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Shapes that a TensorFlow graph leaves out. A variable that a tf.function captures is a placeholder without shape; the input relation says
// which sequential input it equals, and so its shape.
#pragma once

#include "lower/graphdef.h"
#include "manifest/manifest.h"

namespace shardproof::link {

// For each name of `missing`, the shape that the relation gives it, where it gives one.
lower::InputShapes graph_input_shapes(const manifest::Manifest& manifest, const std::vector<std::string>& missing,
                                      const frontend::Program& sequential);

}  // namespace shardproof::link
