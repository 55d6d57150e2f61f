// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The mesh, and groups as rank lists.
#include "manifest/load.h"

#include <algorithm>

#include <fmt/format.h>

namespace shardproof::manifest {

int64_t Mesh::num_ranks() const {
  int64_t n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

int Mesh::axis_index(const std::string& name) const {
  for (size_t k = 0; k < axes.size(); ++k)
    if (axes[k].name == name) return static_cast<int>(k);
  return -1;
}

int64_t Mesh::coordinate(int64_t rank, int axis) const {
  for (size_t k = axes.size(); k-- > static_cast<size_t>(axis) + 1;) rank /= axes[k].size;
  return rank % axes[static_cast<size_t>(axis)].size;
}

std::string read_mesh(const Value& value, Mesh& out) {
  auto add = [&](const std::string& name, const Value& size) -> std::string {
    if (size.kind != Value::Kind::Int || size.i < 1) return fmt::format("the size of mesh axis \"{}\" must be a positive integer", name);
    if (name.empty() || name.find_first_of(" ,()@") != std::string::npos)
      return fmt::format("\"{}\" cannot be the name of a mesh axis", name);
    if (out.axis_index(name) >= 0) return fmt::format("mesh axis \"{}\" occurs twice", name);
    out.axes.push_back({name, size.i});
    if (size.i > kMaxRanks || out.num_ranks() > kMaxRanks) return fmt::format("the mesh has more than {} ranks", kMaxRanks);
    return "";
  };
  if (value.kind == Value::Kind::Object) {
    for (const auto& [name, size] : value.members)
      if (std::string e = add(name, size); !e.empty()) return e;
    return "";
  }
  if (value.kind == Value::Kind::Array) {
    for (const Value& pair : value.items) {
      if (pair.kind != Value::Kind::Array || pair.items.size() != 2 || pair.items[0].kind != Value::Kind::String)
        return "a mesh as a list holds pairs, as in [[\"dp\", 2], [\"tp\", 4]]";
      if (std::string e = add(pair.items[0].s, pair.items[1]); !e.empty()) return e;
    }
    return "";
  }
  return fmt::format("a mesh is an object axis -> size, or a list of pairs, not {}", kind_name(value.kind));
}

std::vector<std::vector<int64_t>> axis_groups(const Mesh& mesh, const std::vector<int>& axes) {
  int64_t n = mesh.num_ranks(), size = 1;
  for (int axis : axes) size *= mesh.axes[static_cast<size_t>(axis)].size;
  std::vector<int64_t> stride(mesh.axes.size(), 1);
  for (size_t k = mesh.axes.size(); k-- > 1;) stride[k - 1] = stride[k] * mesh.axes[k].size;
  std::vector<std::vector<int64_t>> groups;
  for (int64_t first = 0; first < n; ++first) {
    bool origin = std::all_of(axes.begin(), axes.end(), [&](int axis) { return mesh.coordinate(first, axis) == 0; });
    if (!origin) continue;
    std::vector<int64_t> members;
    for (int64_t index = 0; index < size; ++index) {
      int64_t rest = index, rank = first;
      for (size_t k = axes.size(); k-- > 0;) {
        size_t axis = static_cast<size_t>(axes[k]);
        rank += rest % mesh.axes[axis].size * stride[axis];
        rest /= mesh.axes[axis].size;
      }
      members.push_back(rank);
    }
    groups.push_back(std::move(members));
  }
  return groups;
}

std::string read_group(const Value& value, const Mesh& mesh, std::vector<std::vector<int64_t>>& out) {
  auto axis_list = [&](const std::vector<std::string>& names) -> std::string {
    std::vector<int> axes;
    for (const std::string& name : names) {
      int axis = mesh.axis_index(name);
      if (axis < 0) {
        std::vector<std::string> known{"world", "self"};
        for (const Axis& a : mesh.axes) known.push_back(a.name);
        std::string near = nearest(name, known);
        return fmt::format("unknown mesh axis \"{}\"{}", name, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
      }
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return fmt::format("axis \"{}\" occurs twice", name);
      axes.push_back(axis);
    }
    out = axis_groups(mesh, axes);
    return "";
  };
  int64_t n = mesh.num_ranks();
  if (value.kind == Value::Kind::String) {
    if (mesh.axis_index(value.s) >= 0) return axis_list({value.s});
    if (value.s == "self") {
      for (int64_t r = 0; r < n; ++r) out.push_back({r});
      return "";
    }
    if (value.s == "world") {
      out.emplace_back();
      for (int64_t r = 0; r < n; ++r) out[0].push_back(r);
      return "";
    }
    return axis_list({value.s});
  }
  const char* forms = "a group is an axis, a list of axes, \"world\", \"self\", or lists of ranks";
  if (value.kind != Value::Kind::Array || value.items.empty()) return forms;
  if (value.items[0].kind == Value::Kind::String) {
    std::vector<std::string> names;
    for (const Value& item : value.items) {
      if (item.kind != Value::Kind::String) return forms;
      names.push_back(item.s);
    }
    return axis_list(names);
  }
  Value wrapped;
  const Value* lists = &value;
  if (value.items[0].kind == Value::Kind::Int) {
    wrapped.kind = Value::Kind::Array;
    wrapped.items.push_back(value);
    lists = &wrapped;
  }
  std::vector<bool> seen(static_cast<size_t>(n));
  for (const Value& list : lists->items) {
    if (list.kind != Value::Kind::Array || list.items.empty()) return forms;
    out.emplace_back();
    for (const Value& rank : list.items) {
      if (rank.kind != Value::Kind::Int) return forms;
      if (rank.i < 0 || rank.i >= n) return fmt::format("rank {} does not exist: the mesh has {} ranks", rank.i, n);
      if (seen[static_cast<size_t>(rank.i)]) return fmt::format("rank {} occurs twice in the group", rank.i);
      seen[static_cast<size_t>(rank.i)] = true;
      out.back().push_back(rank.i);
    }
  }
  return "";
}

}  // namespace shardproof::manifest
