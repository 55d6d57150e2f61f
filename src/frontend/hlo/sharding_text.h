// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// OpSharding messages in the syntax of HLO text, so that placements have one reader: {replicated}, {devices=[2,1]<=[2]},
// {devices=[2,2]0,1,2,3 last_tile_dim_replicate}, {mesh['a'=2], [{'a'}, {}]}, {{replicated}, {manual}}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/hlo/replica_groups.h"

namespace shardproof::hlo {

// False if the message is damaged or nests too deep.
bool sharding_text(std::string_view op_sharding, std::string& out);

// MeshProto and AxisRefProto, which replica groups use too.
bool read_mesh(std::string_view bytes, DeviceMesh& out);
bool read_axis(std::string_view bytes, AxisRef& out);

}  // namespace shardproof::hlo
