// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The compressed spellings of device lists, written out.
//   iota      [G,N]<=[d0,d1,..]T(p0,p1,..): arange(prod d) reshaped to d, transposed by p, read as G rows of N
//   mesh      axes with sizes over devices (arange, a list, or an iota with transposition); a group joins the devices that differ only in
//             the chosen axes, in the order in which these are listed (first is major); the groups follow the other axes in mesh order.
//             An axis may be chosen in part: (pre)size is the middle digit when the axis is split into pre x size x rest.
// Sizes are untrusted: a budget for a whole module bounds what a few characters of text can cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/hlo/module.h"

namespace shardproof::hlo {

struct Iota {
  std::vector<int64_t> dims;
  std::vector<int64_t> perm;  // empty: identity
};

struct DeviceMesh {
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int64_t> device_ids;  // used if not empty
  Iota iota;                        // else used if dims is not empty; else device k is k
};

struct AxisRef {
  size_t axis = 0;            // index into DeviceMesh::axes
  int64_t pre = 1, size = 0;  // size 0: the whole axis
};

// What is left to spend on expanded lists in one module.
class ExpansionBudget {
 public:
  bool take(int64_t groups, int64_t ids);

 private:
  int64_t left_ = int64_t{1} << 26;
};

// Each returns an empty string, or what is wrong.
std::string expand_iota(const Iota& iota, std::vector<int64_t>& out, ExpansionBudget& budget);
std::string expand_iota_groups(int64_t groups, int64_t size, const Iota& iota, ReplicaGroups& out, ExpansionBudget& budget);
std::string expand_mesh_groups(const DeviceMesh& mesh, const std::vector<AxisRef>& refs, ReplicaGroups& out, ExpansionBudget& budget);

}  // namespace shardproof::hlo
