// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/hlo/replica_groups.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardproof::hlo {

namespace {

// Product of sizes that must be positive; 0 if one is not or the product exceeds the budget's order of magnitude.
int64_t product(const std::vector<int64_t>& sizes) {
  constexpr int64_t kMax = int64_t{1} << 30;
  int64_t n = 1;
  for (int64_t s : sizes) {
    if (s <= 0 || s > kMax / n) return 0;
    n *= s;
  }
  return n;
}

bool is_permutation_of_iota(const std::vector<int64_t>& perm, size_t n) {
  if (perm.size() != n) return false;
  std::vector<bool> seen(n);
  for (int64_t p : perm) {
    if (p < 0 || static_cast<size_t>(p) >= n || seen[static_cast<size_t>(p)]) return false;
    seen[static_cast<size_t>(p)] = true;
  }
  return true;
}

// Offsets of a row-major walk over `sizes` where step i of dimension k moves by strides[k].
void walk(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, std::vector<int64_t>& out) {
  std::vector<int64_t> index(sizes.size());
  int64_t offset = 0;
  for (;;) {
    out.push_back(offset);
    size_t k = sizes.size();
    while (k > 0) {
      --k;
      offset += strides[k];
      if (++index[k] < sizes[k]) break;
      offset -= strides[k] * sizes[k];
      index[k] = 0;
      if (k == 0) return;
    }
    if (sizes.empty()) return;
  }
}

// One digit of a mesh: an axis or the part of one.
struct Digit {
  int64_t size = 1, stride = 1;
  int chosen = -1;  // index of the reference that has it, or -1
};

}  // namespace

bool ExpansionBudget::take(int64_t groups, int64_t ids) {
  const int64_t cost = ids + 6 * groups;  // a vector costs about six words
  if (groups < 0 || ids < 0 || cost > left_) return false;
  left_ -= cost;
  return true;
}

std::string expand_iota(const Iota& iota, std::vector<int64_t>& out, ExpansionBudget& budget) {
  out.clear();
  const int64_t n = product(iota.dims);
  if (n == 0 || iota.dims.size() > 64) return "the sizes of an iota device list must be positive, and their product below 2^30";
  if (!iota.perm.empty() && !is_permutation_of_iota(iota.perm, iota.dims.size()))
    return "the transposition of an iota device list must be a permutation of its dimensions";
  if (!budget.take(1, n)) return "the device lists of this module are too large";
  std::vector<int64_t> strides(iota.dims.size(), 1);
  for (size_t k = iota.dims.size(); k-- > 1;) strides[k - 1] = strides[k] * iota.dims[k];
  out.reserve(static_cast<size_t>(n));
  if (iota.perm.empty()) {
    walk(iota.dims, strides, out);
  } else {
    std::vector<int64_t> sizes, steps;
    for (int64_t p : iota.perm) {
      sizes.push_back(iota.dims[static_cast<size_t>(p)]);
      steps.push_back(strides[static_cast<size_t>(p)]);
    }
    walk(sizes, steps, out);
  }
  return {};
}

std::string expand_iota_groups(int64_t groups, int64_t size, const Iota& iota, ReplicaGroups& out, ExpansionBudget& budget) {
  const int64_t n = product(iota.dims);
  if (product({groups, size}) == 0 || product({groups, size}) != n) {
    return fmt::format("replica groups [{},{}] must hold as many devices as their iota list, which has {}", groups, size, n);
  }
  std::vector<int64_t> flat;
  if (std::string error = expand_iota(iota, flat, budget); !error.empty()) return error;
  if (!budget.take(groups, n)) return "the device lists of this module are too large";
  out.present = true;
  out.groups.clear();
  out.groups.reserve(static_cast<size_t>(groups));
  for (int64_t g = 0; g < groups; ++g) out.groups.emplace_back(flat.begin() + g * size, flat.begin() + (g + 1) * size);
  return {};
}

std::string expand_mesh_groups(const DeviceMesh& mesh, const std::vector<AxisRef>& refs, ReplicaGroups& out, ExpansionBudget& budget) {
  std::vector<int64_t> sizes;
  for (const auto& axis : mesh.axes) sizes.push_back(axis.second);
  const int64_t devices = product(sizes);
  if (devices == 0) return "the axis sizes of a mesh must be positive, and their product below 2^30";
  if (mesh.axes.size() > 64 || refs.size() > 256) return "a mesh has at most 64 axes";

  std::vector<int64_t> ids;
  if (!mesh.device_ids.empty()) {
    ids = mesh.device_ids;
  } else if (!mesh.iota.dims.empty()) {
    if (std::string error = expand_iota(mesh.iota, ids, budget); !error.empty()) return error;
  }
  if (!ids.empty() && static_cast<int64_t>(ids.size()) != devices) {
    return fmt::format("device_ids has {} devices, the mesh has {}", ids.size(), devices);
  }

  // Split each axis at the borders of the references to it; `digits` is the mesh in these digits, major first.
  std::vector<Digit> digits;
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    const int64_t size = mesh.axes[a].second;
    std::vector<int64_t> borders = {1, size};
    for (const AxisRef& ref : refs) {
      if (ref.axis != a || ref.size == 0) continue;
      if (ref.pre <= 0 || ref.size <= 0 || ref.pre > size || ref.size > size || size % (ref.pre * ref.size) != 0) {
        return fmt::format("sub-axis ({}){} does not divide axis '{}' of size {}", ref.pre, ref.size, mesh.axes[a].first, size);
      }
      borders.push_back(ref.pre);
      borders.push_back(ref.pre * ref.size);
    }
    std::sort(borders.begin(), borders.end());
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    for (size_t k = 0; k + 1 < borders.size(); ++k) {
      if (borders[k + 1] % borders[k] != 0) return fmt::format("the sub-axes of axis '{}' do not divide each other", mesh.axes[a].first);
      Digit digit;
      digit.size = borders[k + 1] / borders[k];
      for (size_t r = 0; r < refs.size(); ++r) {
        if (refs[r].axis != a) continue;
        const int64_t low = refs[r].size == 0 ? 1 : refs[r].pre, high = refs[r].size == 0 ? size : refs[r].pre * refs[r].size;
        if (borders[k] < low || borders[k + 1] > high) continue;
        if (digit.chosen >= 0) return fmt::format("axis '{}' is listed twice", mesh.axes[a].first);
        digit.chosen = static_cast<int>(r);
      }
      digits.push_back(digit);
    }
  }
  int64_t stride = 1;
  for (size_t k = digits.size(); k-- > 0;) {
    digits[k].stride = stride;
    stride *= digits[k].size;
  }
  std::vector<int64_t> outer_sizes, outer_strides, inner_sizes, inner_strides;
  for (const Digit& d : digits) {
    if (d.chosen >= 0) continue;
    outer_sizes.push_back(d.size);
    outer_strides.push_back(d.stride);
  }
  for (size_t r = 0; r < refs.size(); ++r) {
    if (refs[r].axis >= mesh.axes.size()) return "a replica group names an axis that the mesh does not have";
    for (const Digit& d : digits) {
      if (d.chosen != static_cast<int>(r)) continue;
      inner_sizes.push_back(d.size);
      inner_strides.push_back(d.stride);
    }
  }
  const int64_t groups = product(outer_sizes), size = product(inner_sizes);
  if (!budget.take(groups, 2 * devices)) return "the device lists of this module are too large";
  std::vector<int64_t> starts, steps;
  walk(outer_sizes, outer_strides, starts);
  walk(inner_sizes, inner_strides, steps);
  out.present = true;
  out.groups.clear();
  out.groups.reserve(static_cast<size_t>(groups));
  for (int64_t s : starts) {
    std::vector<int64_t>& group = out.groups.emplace_back();
    group.reserve(static_cast<size_t>(size));
    for (int64_t t : steps) group.push_back(ids.empty() ? s + t : ids[static_cast<size_t>(s + t)]);
  }
  return {};
}

}  // namespace shardproof::hlo
