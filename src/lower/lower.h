// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Programs as written -> core operators. An operator that has no lowering becomes Opaque and is listed in Program::unsupported; it is
// never dropped. In-place operators, out= forms and views of mutated tensors are made functional here.
#pragma once

#include "frontend/fx/module.h"
#include "frontend/hlo/module.h"
#include "frontend/program.h"

namespace shardproof::lower {

namespace aten {
class Kernels;  // lower/kernels.h
}

// `kernels`: names and contracts of custom operators come from data files (kernels/*.json, see docs/kernels.md).
Result<frontend::Program> lower_fx(const fx::Module& module, const frontend::ConstantSource& constants);
Result<frontend::Program> lower_fx(const fx::Module& module, const frontend::ConstantSource& constants, const aten::Kernels& kernels);

// Loops are unrolled. With `keep_loops` > 0, those of more rounds than that are kept where they can be (frontend::Loop): such a program is
// for proofs by induction only, since its nodes are those of one round.
Result<frontend::Program> lower_hlo(const hlo::Module& module, const frontend::ConstantSource& constants, int64_t keep_loops = 0);

}  // namespace shardproof::lower
