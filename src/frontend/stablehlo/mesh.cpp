// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Meshes, stated shardings, and replica groups given as mesh axes.
#include "fmt/format.h"
#include "frontend/stablehlo/convert.h"

namespace shardproof::stablehlo {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 20;

int64_t device_count(const frontend::Mesh& mesh) {
  int64_t count = 1;
  for (const auto& [name, size] : mesh.axes) {
    if (size < 1 || size > kMaxDevices || count > kMaxDevices / size) return -1;
    count *= size;
  }
  return count;
}

// The text of one sharding without its head: "<@mesh, [...]>".
std::string_view angle_part(std::string_view text) {
  size_t open = text.find('<');
  return open == std::string_view::npos ? text : text.substr(open);
}

}  // namespace

// #sdy.mesh<["a"=2, "b"=4], device_ids=[...]>, with or without its head
frontend::Mesh Converter::mesh(std::string_view text, size_t at) {
  frontend::Mesh mesh;
  std::string name = path_;
  Tree scratch;
  Parser p(text, name, scratch);
  try {
    p.seek(text.find('<') == std::string_view::npos ? text.size() : text.find('<'));
    p.expect('<', "at the start of the mesh");
    p.expect('[', "before the mesh axes");
    if (!p.accept(']')) {
      do {
        std::string axis = p.string();
        p.expect('=', "after the axis name");
        mesh.axes.emplace_back(std::move(axis), p.integer("an axis size"));
      } while (p.accept(','));
      p.expect(']', "after the mesh axes");
    }
    if (p.accept(',')) {
      if (!p.accept_word("device_ids")) p.expected("device_ids=[...]");
      p.expect('=', "after 'device_ids'");
      p.expect('[', "before the device ids");
      if (!p.accept(']')) {
        do {
          mesh.device_ids.push_back(p.integer("a device id"));
        } while (p.accept(','));
        p.expect(']', "after the device ids");
      }
    }
    p.expect('>', "at the end of the mesh");
  } catch (Fail& f) {
    parser_.fail(at, f.diagnostic.message);
  }
  int64_t count = device_count(mesh);
  if (count < 0) parser_.fail(at, fmt::format("the mesh has an axis of size 0 or more than {} devices", kMaxDevices));
  if (!mesh.device_ids.empty() && static_cast<int64_t>(mesh.device_ids.size()) != count)
    parser_.fail(at, fmt::format("the mesh has {} device ids, expected {}", mesh.device_ids.size(), count));
  return mesh;
}

void Converter::meshes() {
  for (const Op& op : tree_.ops) {
    if (op.name != "sdy.mesh") continue;
    const Attr* name = op.find("sym_name");
    const Attr* value = resolve(op.find("mesh"));
    if (!name || !value || value->kind != Attr::Kind::Opaque) fail(op, "sdy.mesh: expected a name and a mesh such as <[\"x\"=2]>");
    frontend::Mesh m = mesh(value->text, value->offset);
    m.name = name->string;
    module_.meshes.push_back(std::move(m));
  }
  // Round-trip form: mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[...]>, ...}"}
  for (const NamedAttr& a : tree_.module_attrs) {
    if (a.name != "mhlo.frontend_attributes" || a.value.kind != Attr::Kind::Dict) continue;
    for (const auto& [key, value] : a.value.entries) {
      if (key != "xla.sdy.meshes" || value.kind != Attr::Kind::String) continue;
      Tree scratch;
      Parser p(value.string, path_, scratch);
      try {
        p.expect('{', "at the start of the meshes");
        while (!p.accept('}')) {
          std::string name = p.peek() == '"' ? p.string() : p.peek() == '@' ? p.symbol() : std::string(p.identifier("a mesh name"));
          p.expect('=', "after the mesh name");
          Attr attr = p.parse_attr();
          frontend::Mesh m = mesh(attr.text, value.offset);
          m.name = std::move(name);
          module_.meshes.push_back(std::move(m));
          if (!p.accept(',') && p.peek() != '}') p.expected("',' or '}'");
        }
      } catch (Fail& f) {
        parser_.fail(value.offset, f.diagnostic.message);
      }
    }
  }
}

hlo::ReplicaGroups Converter::replica_groups(const Op& op, const Attr& attr) {
  hlo::ReplicaGroups groups;
  groups.present = true;
  if (attr.kind == Attr::Kind::Opaque) {
    groups.groups = mesh_groups(op, attr);
    return groups;
  }
  if (attr.kind != Attr::Kind::Dense || attr.type == kNone)
    fail(op, "replica_groups: expected dense<[[0, 1], ...]> or #stablehlo.replica_group_mesh_axes<...>");
  const hlo::Type& type = tree_.types[attr.type];
  if (type.shape.size() != 2) fail(op, "replica_groups: expected a tensor of rank 2, one row for each group");
  std::vector<int64_t> ids = ints(attr);
  for (int64_t row = 0; row < type.shape[0]; ++row) {
    std::vector<int64_t> group;
    for (int64_t k = 0; k < type.shape[1]; ++k) {
      int64_t id = ids[static_cast<size_t>(row * type.shape[1] + k)];
      if (id < -1) fail(op, fmt::format("replica_groups: expected an id of at least 0 (or -1 as padding), found {}", id));
      if (id >= 0) group.push_back(id);
    }
    if (group.empty()) fail(op, "replica_groups: a group without members");
    groups.groups.push_back(std::move(group));
  }
  return groups;
}

// #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>, ...]>
// A group: the devices that differ only in the named (sub-)axes, the first named axis varying slowest. Groups in the order of the rest.
std::vector<std::vector<int64_t>> Converter::mesh_groups(const Op& op, const Attr& attr) {
  if (attr.text.substr(0, attr.text.find('<')) != "#stablehlo.replica_group_mesh_axes")
    fail(op,
         fmt::format("replica_groups: expected dense<...> or #stablehlo.replica_group_mesh_axes<...>, found {}", attr.text.substr(0, 60)),
         "SP241");
  Attr body = parser_.parse_body(attr);
  const Attr* mesh_attr = nullptr;
  const Attr* axes_attr = nullptr;
  for (const auto& [key, value] : body.entries) {
    if (key == "mesh")
      mesh_attr = resolve(&value);
    else if (key == "axes")
      axes_attr = &value;
    else
      fail(op, fmt::format("replica_groups: '{}' is not known here: expected mesh and axes", key), "SP241");
  }
  if (!mesh_attr || !axes_attr || axes_attr->kind != Attr::Kind::Array) fail(op, "replica_groups: expected mesh = ... and axes = [...]");
  frontend::Mesh mesh;
  if (mesh_attr->kind == Attr::Kind::Symbol) {
    bool found = false;
    for (const frontend::Mesh& m : module_.meshes)
      if (m.name == mesh_attr->string) mesh = m, found = true;
    if (!found) fail(op, fmt::format("replica_groups: the module has no mesh @{}", mesh_attr->string));
  } else if (mesh_attr->kind == Attr::Kind::Opaque && mesh_attr->text.starts_with("#sdy.mesh")) {
    mesh = this->mesh(mesh_attr->text, mesh_attr->offset);
  } else if (mesh_attr->kind ==
             Attr::Kind::Opaque) {  // #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>], device_ids = ...>
    Attr m = parser_.parse_body(*mesh_attr);
    for (const auto& [key, value] : m.entries) {
      if (key == "axes" && value.kind == Attr::Kind::Array) {
        for (const Attr& item : value.items) {
          Attr axis = parser_.parse_body(item);
          std::string name;
          int64_t size = 0;
          for (const auto& [k, v] : axis.entries) {
            if (k == "name") name = v.string;
            if (k == "size") size = v.i;
          }
          mesh.axes.emplace_back(name, size);
        }
      } else if (key == "device_ids") {
        mesh.device_ids = ints(value);
      } else {
        fail(op, fmt::format("replica_groups: '{}' of the mesh is not known", key), "SP241");
      }
    }
  }
  int64_t count = device_count(mesh);
  if (count < 0) fail(op, "replica_groups: the mesh has an axis of size 0 or too many devices");
  if (!mesh.device_ids.empty() && static_cast<int64_t>(mesh.device_ids.size()) != count)
    fail(op, fmt::format("replica_groups: the mesh has {} device ids, expected {}", mesh.device_ids.size(), count));

  // Every axis as digits: a plain axis is one digit, an axis used by sub-axes is cut where they say.
  struct Digit {
    int64_t size, stride;
  };
  std::vector<Digit> named;
  std::vector<std::vector<int64_t>> cuts(mesh.axes.size());  // per axis: sizes of leading parts where it is cut
  struct Ref {
    size_t axis;
    int64_t pre, size;
  };
  std::vector<Ref> refs;
  for (const Attr& item : axes_attr->items) {
    if (item.kind != Attr::Kind::Opaque) fail(op, "replica_groups: expected #stablehlo.axis_ref<name = \"...\">");
    // name = "x" [, sub_axis_info = (pre)size]: the latter is no attribute, so it is cut off first
    std::string_view text = item.text;
    Ref ref{mesh.axes.size(), 1, 0};
    size_t sub = text.find("sub_axis_info");
    std::string name;
    size_t quote = text.find('"');
    size_t close = quote == std::string_view::npos ? quote : text.find('"', quote + 1);
    if (close == std::string_view::npos) fail(op, "replica_groups: expected the name of an axis in double quotes");
    name = Parser::unescape(text.substr(quote + 1, close - quote - 1));
    for (size_t k = 0; k < mesh.axes.size(); ++k)
      if (mesh.axes[k].first == name) ref.axis = k;
    if (ref.axis == mesh.axes.size()) fail(op, fmt::format("replica_groups: the mesh has no axis \"{}\"", name));
    int64_t full = mesh.axes[ref.axis].second;
    ref.size = full;
    if (sub != std::string_view::npos && sub > close) {
      Tree scratch;
      Parser p(text, path_, scratch);
      try {
        p.seek(sub + 13);
        p.expect('=', "after 'sub_axis_info'");
        p.expect('(', "before the leading size of the sub-axis");
        ref.pre = p.integer("the leading size of the sub-axis");
        p.expect(')', "after the leading size of the sub-axis");
        ref.size = p.integer("the size of the sub-axis");
      } catch (Fail& f) {
        fail(op, f.diagnostic.message);
      }
      if (ref.pre < 1 || ref.size < 1 || ref.pre > full || ref.size > full || full % (ref.pre * ref.size) != 0)
        fail(op, fmt::format("replica_groups: sub-axis ({}){} does not divide axis \"{}\" of size {}", ref.pre, ref.size, name, full));
    }
    refs.push_back(ref);
  }
  std::vector<int64_t> axis_stride(mesh.axes.size(), 1);
  for (size_t k = mesh.axes.size(); k-- > 1;) axis_stride[k - 1] = axis_stride[k] * mesh.axes[k].second;
  // members of a group, as offsets
  std::vector<int64_t> offsets{0};
  std::vector<char> taken(static_cast<size_t>(count), 0);
  for (const Ref& ref : refs) {
    int64_t stride = axis_stride[ref.axis] * (mesh.axes[ref.axis].second / (ref.pre * ref.size));
    if (static_cast<int64_t>(offsets.size()) > count / ref.size) fail(op, "replica_groups: an axis is named twice");
    std::vector<int64_t> next;
    for (int64_t base : offsets)
      for (int64_t k = 0; k < ref.size; ++k) next.push_back(base + k * stride);
    offsets = std::move(next);
  }
  std::vector<std::vector<int64_t>> groups;
  for (int64_t first = 0; first < count; ++first) {
    if (taken[static_cast<size_t>(first)]) continue;
    std::vector<int64_t> group;
    for (int64_t offset : offsets) {
      int64_t position = first + offset;
      if (position >= count || taken[static_cast<size_t>(position)]) fail(op, "replica_groups: the named axes overlap");
      taken[static_cast<size_t>(position)] = 1;
      group.push_back(mesh.device_ids.empty() ? position : mesh.device_ids[static_cast<size_t>(position)]);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

// "[<@mesh, [...]>, <...>]" inside any text -> "#sdy.sharding<@mesh, [...]>", one for each value
std::vector<std::string> Converter::split_shardings(std::string_view text) {
  std::vector<std::string> out;
  size_t k = text.find('[');
  if (k == std::string_view::npos) return out;
  int64_t depth = 0;
  size_t start = 0;
  bool quoted = false;
  for (++k; k < text.size(); ++k) {
    char c = text[k];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '<' && depth++ == 0) start = k;
    if (c == '>' && --depth == 0) out.push_back("#sdy.sharding" + std::string(text.substr(start, k + 1 - start)));
    if (depth < 0) break;
  }
  return out;
}

std::vector<std::string> Converter::shardings_per_value(const Attr* attr) {
  std::vector<std::string> out;
  attr = resolve(attr);
  if (!attr) return out;
  if (attr->kind == Attr::Kind::Array) {
    for (const Attr& item : attr->items) out.push_back("#sdy.sharding" + std::string(angle_part(item.text)));
  } else if (attr->kind == Attr::Kind::Opaque) {
    out = split_shardings(attr->text);
  }
  return out;
}

frontend::StatedSharding Converter::sharding(const Attr& dict) {
  std::vector<NamedAttr> attrs;
  for (const auto& [key, value] : dict.entries)
    if (key.ends_with("sharding") || key == "mhlo.frontend_attributes") attrs.push_back({key, value});
  return sharding(attrs);
}

frontend::StatedSharding Converter::sharding(const std::vector<NamedAttr>& attrs) {
  using Syntax = frontend::StatedSharding::Syntax;
  frontend::StatedSharding out;
  auto sdy = [&out](std::string_view text) {
    out.syntax = Syntax::Sdy;
    out.text = std::string(text);
    if (!text.starts_with("#sdy.sharding_per_value")) {
      if (text.starts_with('<')) out.text = "#sdy.sharding" + std::string(text);
      return;
    }
    std::vector<std::string> parts = split_shardings(text);
    if (parts.size() == 1) out.text = parts[0];
  };
  for (const NamedAttr& a : attrs) {
    const Attr* value = resolve(&a.value);
    if ((a.name == "sdy.sharding" || a.name == "sharding") && value->kind == Attr::Kind::Opaque) {
      sdy(value->text);
    } else if (a.name == "mhlo.frontend_attributes" && value->kind == Attr::Kind::Dict && out.syntax != Syntax::Sdy) {
      for (const auto& [key, text] : value->entries)
        if (key == "xla.sdy.sharding" && text.kind == Attr::Kind::String) sdy(text.string);
    } else if (a.name == "mhlo.sharding" && value->kind == Attr::Kind::String && out.syntax == Syntax::None) {
      out.syntax = Syntax::Hlo;
      out.text = value->string;
    }
  }
  return out;
}

}  // namespace shardproof::stablehlo
