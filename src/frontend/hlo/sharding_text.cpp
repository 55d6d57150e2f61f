// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/hlo/sharding_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/hlo/wire.h"

namespace shardproof::hlo {

namespace {

constexpr int kMaxDepth = 64;

// OpSharding.Type
std::string_view type_name(int64_t type) {
  constexpr std::string_view names[] = {"replicated", "maximal", "tuple", "other", "manual", "unknown", "unreduced"};
  return type >= 0 && type < 7 ? names[type] : std::string_view("unknown");
}

bool is_identity(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

std::string axis_text(const DeviceMesh& mesh, const AxisRef& ref) {
  std::string out = fmt::format("'{}'", mesh.axes[ref.axis].first);
  if (ref.size != 0) out += fmt::format(":({}){}", ref.pre, ref.size);
  return out;
}

// A list of axes: {'a', 'b':(1)2}
bool axes_text(const DeviceMesh& mesh, const std::vector<AxisRef>& refs, std::string& out, bool open) {
  out += '{';
  bool first = true;
  for (const AxisRef& ref : refs) {
    if (ref.axis >= mesh.axes.size()) return false;
    if (!first) out += ", ";
    first = false;
    out += axis_text(mesh, ref);
  }
  if (open) out += first ? "?" : ", ?";
  out += '}';
  return true;
}

bool named_sharding(std::string_view bytes, std::string& out, int depth) {
  if (depth > kMaxDepth) return false;
  DeviceMesh mesh;
  std::vector<std::string_view> tuple, dims;
  std::vector<AxisRef> replicated, unreduced, manual;
  int64_t reduction = 0;
  Field f;
  Wire w(bytes);
  const auto axis = [&f](std::vector<AxisRef>& list) {
    list.emplace_back();
    return read_axis(f.bytes, list.back());
  };
  while (w.next(f)) {
    bool good = true;
    switch (f.number) {
      case 1: tuple.push_back(f.bytes); break;
      case 2: good = read_mesh(f.bytes, mesh); break;
      case 3: dims.push_back(f.bytes); break;
      case 4: good = axis(replicated); break;
      case 5: good = axis(unreduced); break;
      case 7: good = axis(manual); break;
      case 8: reduction = f.integer(); break;
      default: break;
    }
    if (!good) return false;
  }
  if (w.damaged()) return false;
  if (!tuple.empty()) {
    out += '{';
    for (size_t k = 0; k < tuple.size(); ++k) {
      if (k) out += ", ";
      if (!named_sharding(tuple[k], out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }
  if (mesh.axes.empty()) {  // one device, or nothing said
    out += mesh.device_ids.empty() ? std::string("{replicated}") : fmt::format("{{maximal device={}}}", mesh.device_ids[0]);
    return true;
  }
  out += "{mesh[";
  for (size_t k = 0; k < mesh.axes.size(); ++k) out += fmt::format("{}'{}'={}", k ? "," : "", mesh.axes[k].first, mesh.axes[k].second);
  out += ']';
  if (!mesh.device_ids.empty()) {
    out += fmt::format(", device_ids=({})", fmt::join(mesh.device_ids, ","));
  } else if (!mesh.iota.dims.empty()) {
    out += fmt::format(", device_ids=([{}]", fmt::join(mesh.iota.dims, ","));
    if (!is_identity(mesh.iota.perm)) out += fmt::format("T({})", fmt::join(mesh.iota.perm, ","));
    out += ')';
  }
  out += ", [";
  for (size_t k = 0; k < dims.size(); ++k) {
    std::vector<AxisRef> refs;
    bool closed = false;
    Wire d(dims[k]);
    while (d.next(f)) {
      if (f.number == 1) {
        refs.emplace_back();
        if (!read_axis(f.bytes, refs.back())) return false;
      } else if (f.number == 2) {
        closed = f.boolean();
      }
    }
    if (d.damaged()) return false;
    if (k) out += ", ";
    if (!axes_text(mesh, refs, out, !closed)) return false;
  }
  out += ']';
  if (!replicated.empty()) {
    out += ", replicated=";
    if (!axes_text(mesh, replicated, out, false)) return false;
  }
  if (!unreduced.empty()) {
    // The reduction is a sum unless one is named; numbers other than those known are written as such and refused by the placement reader.
    out += ", unreduced=";
    if (reduction != 0) out += fmt::format("reduction{}", reduction);
    if (!axes_text(mesh, unreduced, out, false)) return false;
  }
  if (!manual.empty()) {
    out += ", manual=";
    if (!axes_text(mesh, manual, out, false)) return false;
  }
  out += '}';
  return true;
}

bool sharding(std::string_view bytes, std::string& out, int depth) {
  if (depth > kMaxDepth) return false;
  int64_t type = 0, group_id = 0, group_type = 0;
  bool replicate_last = false, in_group = false;
  std::vector<int64_t> dims, devices, last_dims, reshape, perm;
  std::vector<std::string_view> tuple;
  std::string_view named;
  bool has_named = false;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    bool good = true;
    switch (f.number) {
      case 1: type = f.integer(); break;
      case 3: good = append(f, dims); break;
      case 4: good = append(f, devices); break;
      case 5: tuple.push_back(f.bytes); break;
      case 6: replicate_last = f.boolean(); break;
      case 8: good = append(f, last_dims); break;
      case 9: good = append(f, reshape); break;
      case 10: good = append(f, perm); break;
      case 11: in_group = f.boolean(); break;
      case 12: group_id = f.integer(); break;
      case 13: group_type = f.integer(); break;
      case 14:
        named = f.bytes;
        has_named = true;
        break;
      default: break;
    }
    if (!good) return false;
  }
  if (w.damaged()) return false;
  if (has_named) return named_sharding(named, out, depth + 1);
  const auto group = [&] { return in_group ? fmt::format(" shard_{} {}", group_type == 1 ? "like" : "as", group_id) : std::string(); };
  if (type == 2) {
    out += '{';
    for (size_t k = 0; k < tuple.size(); ++k) {
      if (k) out += ", ";
      if (!sharding(tuple[k], out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }
  if (type == 1) {
    out += devices.empty() ? "{maximal" : fmt::format("{{maximal device={}", devices[0]);
    out += group() + '}';
    return true;
  }
  if (type != 3) {
    if (type < 0 || type > 6) return false;
    out += fmt::format("{{{}{}}}", type_name(type), group());
    return true;
  }
  out += fmt::format("{{devices=[{}]", fmt::join(dims, ","));
  if (!reshape.empty()) {
    out += fmt::format("<=[{}]", fmt::join(reshape, ","));
    if (!is_identity(perm)) out += fmt::format("T({})", fmt::join(perm, ","));
  } else {
    out += fmt::format("{}", fmt::join(devices, ","));
  }
  if (replicate_last) out += " last_tile_dim_replicate";
  if (!last_dims.empty()) {
    out += " last_tile_dims={";
    for (size_t k = 0; k < last_dims.size(); ++k) out += fmt::format("{}{}", k ? ", " : "", type_name(last_dims[k]));
    out += '}';
  }
  out += group() + '}';
  return true;
}

}  // namespace

bool read_mesh(std::string_view bytes, DeviceMesh& out) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1) {
      out.axes.emplace_back("", 0);
      Wire axis(f.bytes);
      Field g;
      while (axis.next(g)) {
        if (g.number == 1) out.axes.back().first = g.text();
        if (g.number == 2) out.axes.back().second = g.integer();
      }
      if (axis.damaged()) return false;
      // The name stands between single quotes in text.
      if (out.axes.back().first.find_first_of("'\n\r{}[],") != std::string::npos) return false;
    } else if (f.number == 2) {
      if (!append(f, out.device_ids)) return false;
    } else if (f.number == 3) {
      Wire iota(f.bytes);
      Field g;
      while (iota.next(g)) {
        if (g.number == 1 && !append(g, out.iota.dims)) return false;
        if (g.number == 2 && !append(g, out.iota.perm)) return false;
      }
      if (iota.damaged()) return false;
    }
  }
  for (int64_t id : out.device_ids) {
    if (id < 0) return false;
  }
  return !w.damaged();
}

bool read_axis(std::string_view bytes, AxisRef& out) {
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1) {
      if (f.integer() < 0) return false;
      out.axis = static_cast<size_t>(f.integer());
    } else if (f.number == 2) {
      out.pre = 0;
      Wire sub(f.bytes);
      Field g;
      while (sub.next(g)) {
        if (g.number == 1) out.pre = g.integer();
        if (g.number == 2) out.size = g.integer();
      }
      if (sub.damaged() || out.pre <= 0 || out.size <= 0) return false;
    }
  }
  return !w.damaged();
}

bool sharding_text(std::string_view op_sharding, std::string& out) {
  out.clear();
  return sharding(op_sharding, out, 0);
}

}  // namespace shardproof::hlo
