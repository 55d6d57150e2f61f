// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Value tree -> Manifest: one function a key, each complaint with its place.
#include "manifest/load.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "manifest/facts.h"
#include "manifest/npy.h"
#include "manifest/placement.h"

namespace shardproof::manifest {

namespace {

constexpr size_t kMaxManifestBytes = 64u << 20;

const std::vector<std::string> kKeys = {"sequential",   "distributed", "spmd",    "mesh",  "groups", "inputs",  "rename",
                                        "extra_inputs", "constants",   "outputs", "infer", "facts",  "kernels", "tangents"};
const std::vector<std::string> kOutputKeys = {"dist", "role", "of", "expect", "fqn", "label"};

class Loader {
 public:
  Loader(Manifest& out, const Value& root) : m_(out), root_(root) {}

  bool load() {
    if (root_.kind != Value::Kind::Object) return fail(root_, "SP201", "a manifest is an object (or a TOML table)");
    if (!known_keys(root_, kKeys, "the manifest")) return false;
    return sequential() && mesh() && distributed() && groups() && spmd() && inputs() && rename() && extra_inputs() && constants() &&
           outputs() && simple();
  }
  const Diagnostic& error() const { return error_; }

 private:
  bool fail(const Value& at, const char* code, std::string message) {
    error_ = {code, std::move(message), m_.path, at.line, at.column};
    return false;
  }
  void place(const std::string& name, const Value& at) { m_.places[name] = {at.line, at.column}; }

  bool known_keys(const Value& object, const std::vector<std::string>& keys, const std::string& where) {
    for (const auto& [key, value] : object.members) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      std::string near = nearest(key, keys);
      return fail(
          value, "SP202",
          fmt::format("unknown key \"{}\" in {}{}", key, where,
                      near.empty() ? fmt::format(" (known: {})", fmt::join(keys, ", ")) : fmt::format("; did you mean \"{}\"?", near)));
    }
    return true;
  }
  // The member `key` if it is there; false (with *value null) if it is not. Wrong kinds are errors.
  bool object_at(const char* key, const Value*& value) {
    value = root_.find(key);
    if (!value || value->kind == Value::Kind::Object) return true;
    return fail(*value, "SP203", fmt::format("\"{}\" must be an object, not {}", key, kind_name(value->kind)));
  }
  bool strings(const Value& value, const std::string& what, std::vector<std::string>& out) {
    if (value.kind == Value::Kind::String) {
      out.push_back(value.s);
    } else if (value.kind == Value::Kind::Array) {
      for (const Value& item : value.items) {
        if (item.kind != Value::Kind::String)
          return fail(item, "SP203", fmt::format("{} must be strings, found {}", what, kind_name(item.kind)));
        out.push_back(item.s);
      }
    } else {
      return fail(value, "SP203", fmt::format("{} must be a string or a list of strings, not {}", what, kind_name(value.kind)));
    }
    for (const std::string& s : out)
      if (s.empty() || s.find('\0') != std::string::npos) return fail(value, "SP203", fmt::format("{}: an empty name", what));
    return true;
  }

  bool sequential() {
    const Value* value = root_.find("sequential");
    if (!value) return fail(root_, "SP203", "the key \"sequential\" is missing: the path of the one-device program");
    place("sequential", *value);
    if (!strings(*value, "paths of \"sequential\"", m_.sequential)) return false;
    return !m_.sequential.empty() || fail(*value, "SP203", "\"sequential\" lists no file");
  }

  bool mesh() {
    const Value* value = root_.find("mesh");
    if (!value) return true;
    place("mesh", *value);
    m_.mesh.emplace();
    std::string e = read_mesh(*value, *m_.mesh);
    return e.empty() || fail(*value, "SP203", e);
  }

  static std::string expand(std::string pattern, int64_t rank) {
    for (size_t at = 0; (at = pattern.find("{rank}", at)) != std::string::npos;) {
      std::string number = std::to_string(rank);
      pattern.replace(at, 6, number);
      at += number.size();
    }
    return pattern;
  }
  void add_file(std::vector<std::string> paths, std::vector<int64_t> ranks) {
    auto [it, fresh] = file_index_.try_emplace(fmt::format("{}", fmt::join(paths, "\n")), m_.distributed.size());
    if (fresh)
      m_.distributed.push_back({std::move(paths), std::move(ranks)});
    else
      m_.distributed[it->second].ranks.insert(m_.distributed[it->second].ranks.end(), ranks.begin(), ranks.end());
  }

  bool distributed() {
    const Value* value = root_.find("distributed");
    if (!value) return fail(root_, "SP203", "the key \"distributed\" is missing: the ranks' programs");
    place("distributed", *value);
    auto pattern = [](const std::vector<std::string>& paths) {
      return std::any_of(paths.begin(), paths.end(), [](const std::string& s) { return s.find("{rank}") != std::string::npos; });
    };
    auto expand_all = [&](const std::vector<std::string>& paths) {
      if (!m_.mesh) return fail(*value, "SP203", "a pattern with {rank} needs a \"mesh\"");
      for (int64_t rank = 0; rank < m_.mesh->num_ranks(); ++rank) {
        std::vector<std::string> own;
        for (const std::string& path : paths) own.push_back(expand(path, rank));
        add_file(std::move(own), {rank});
      }
      return true;
    };
    if (value->kind == Value::Kind::String) {
      std::vector<std::string> paths;
      if (!strings(*value, "\"distributed\"", paths)) return false;
      if (pattern(paths)) return expand_all(paths);
      m_.spmd_file = true;
      m_.distributed.push_back({paths, {}});
      return true;
    }
    if (value->kind == Value::Kind::Array) {
      if (value->items.empty()) return fail(*value, "SP203", "\"distributed\" lists no file");
      if (value->items.size() > static_cast<size_t>(kMaxRanks)) return fail(*value, "SP203", "\"distributed\" lists too many ranks");
      std::vector<std::vector<std::string>> lists(value->items.size());
      for (size_t k = 0; k < lists.size(); ++k) {
        if (!strings(value->items[k], "paths of \"distributed\"", lists[k])) return false;
        if (lists[k].empty()) return fail(value->items[k], "SP203", fmt::format("rank {} has no file", k));
      }
      if (lists.size() == 1 && pattern(lists[0])) return expand_all(lists[0]);
      int64_t count = static_cast<int64_t>(lists.size());
      if (!m_.mesh) {
        m_.mesh.emplace();
        if (count > 1) m_.mesh->axes.push_back({"rank", count});
      }
      if (count != m_.mesh->num_ranks())
        return fail(*value, "SP203", fmt::format("\"distributed\" lists {} ranks, but the mesh has {}", count, m_.mesh->num_ranks()));
      for (int64_t rank = 0; rank < count; ++rank) add_file(std::move(lists[static_cast<size_t>(rank)]), {rank});
      return true;
    }
    if (value->kind == Value::Kind::Object) return by_coordinates(*value);
    return fail(*value, "SP203", fmt::format("\"distributed\" must be a path, a list or an object, not {}", kind_name(value->kind)));
  }

  bool by_coordinates(const Value& value) {
    if (!m_.mesh) return fail(value, "SP203", "\"distributed\" as an object needs a \"mesh\"");
    const Mesh& mesh = *m_.mesh;
    std::vector<int> owner(static_cast<size_t>(mesh.num_ranks()), -1);
    for (const auto& [path, coordinates] : value.members) {
      if (coordinates.kind != Value::Kind::Object)
        return fail(coordinates, "SP203", fmt::format("\"{}\" needs its coordinates, as in {{\"pp\": 0}}", path));
      std::vector<int64_t> fixed(mesh.axes.size(), -1);
      for (const auto& [name, c] : coordinates.members) {
        int axis = mesh.axis_index(name);
        if (axis < 0) return fail(c, "SP203", fmt::format("unknown mesh axis \"{}\"", name));
        if (c.kind != Value::Kind::Int || c.i < 0 || c.i >= mesh.axes[static_cast<size_t>(axis)].size)
          return fail(c, "SP203", fmt::format("axis {} has coordinates 0 to {}", name, mesh.axes[static_cast<size_t>(axis)].size - 1));
        fixed[static_cast<size_t>(axis)] = c.i;
      }
      std::vector<int64_t> ranks;
      for (int64_t rank = 0; rank < mesh.num_ranks(); ++rank) {
        bool in = true;
        for (size_t axis = 0; axis < fixed.size(); ++axis)
          in &= fixed[axis] < 0 || mesh.coordinate(rank, static_cast<int>(axis)) == fixed[axis];
        if (!in) continue;
        if (owner[static_cast<size_t>(rank)] >= 0)
          return fail(coordinates, "SP203",
                      fmt::format("rank {} has two files: \"{}\" and \"{}\"", rank,
                                  m_.distributed[static_cast<size_t>(owner[static_cast<size_t>(rank)])].paths[0], path));
        owner[static_cast<size_t>(rank)] = static_cast<int>(m_.distributed.size());
        ranks.push_back(rank);
      }
      m_.distributed.push_back({{path}, std::move(ranks)});
    }
    for (size_t rank = 0; rank < owner.size(); ++rank)
      if (owner[rank] < 0) return fail(value, "SP203", fmt::format("rank {} has no file", rank));
    return true;
  }

  bool groups() {
    const Value* value;
    if (!object_at("groups", value)) return false;
    if (!value) return true;
    place("groups", *value);
    if (!m_.mesh && !value->members.empty()) return fail(*value, "SP203", "\"groups\" needs a \"mesh\"");
    for (const auto& [name, item] : value->members) {
      Manifest::Group group{name, {}};
      if (std::string e = read_group(item, *m_.mesh, group.ranks); !e.empty())
        return fail(item, "SP211", fmt::format("group \"{}\": {}", name, e));
      m_.groups.push_back(std::move(group));
    }
    return true;
  }

  bool spmd() {
    const Value* value = root_.find("spmd");
    if (!value) return true;
    if (value->kind == Value::Kind::String && value->s == "partitions")
      m_.spmd = Manifest::SpmdKind::Partitions;
    else if (value->kind == Value::Kind::String && value->s == "replicas")
      m_.spmd = Manifest::SpmdKind::Replicas;
    else
      return fail(*value, "SP203", "\"spmd\" must be \"partitions\" or \"replicas\"");
    return true;
  }

  const Mesh& mesh_or_one() const {
    static const Mesh one;
    return m_.mesh ? *m_.mesh : one;
  }

  bool inputs() {
    const Value* value;
    if (!object_at("inputs", value)) return false;
    if (!value) return true;
    place("inputs", *value);
    for (const auto& [name, item] : value->members) {
      Placement placement;
      if (std::string e = read_placement(item, mesh_or_one(), false, placement); !e.empty())
        return fail(item, "SP205", fmt::format("placement of input \"{}\": {}", name, e));
      place("inputs/" + name, item);
      m_.inputs.emplace_back(name, std::move(placement));
    }
    return true;
  }

  // A name, null, or a list of names and nulls, one per rank.
  bool names(const Value& value, const std::string& what, std::vector<std::optional<std::string>>& out) {
    auto one = [&](const Value& item) {
      if (item.kind == Value::Kind::Null)
        out.emplace_back();
      else if (item.kind == Value::Kind::String)
        out.emplace_back(item.s);
      else if (item.kind == Value::Kind::Int)
        out.emplace_back(std::to_string(item.i));
      else
        return fail(item, "SP203", fmt::format("{} must be a name, or a list with one name or null per rank", what));
      return true;
    };
    if (value.kind != Value::Kind::Array) return one(value);
    for (const Value& item : value.items)
      if (!one(item)) return false;
    if (m_.mesh && static_cast<int64_t>(out.size()) != m_.mesh->num_ranks())
      return fail(value, "SP203", fmt::format("{} lists {} names, but the mesh has {} ranks", what, out.size(), m_.mesh->num_ranks()));
    return true;
  }

  bool rename() {
    const Value* value;
    if (!object_at("rename", value)) return false;
    if (!value) return true;
    place("rename", *value);
    for (const auto& [name, item] : value->members) {
      std::vector<std::optional<std::string>> list;
      if (!names(item, fmt::format("\"rename\" of \"{}\"", name), list)) return false;
      place("rename/" + name, item);
      m_.rename.emplace_back(name, std::move(list));
    }
    return true;
  }

  static bool literal(const Value& value, ir::Literal& out) {
    if (value.kind == Value::Kind::Int)
      out = ir::Literal::integer(value.i);
    else if (value.kind == Value::Kind::Float)
      out = ir::Literal::real(value.d);
    else if (value.kind == Value::Kind::Bool)
      out = ir::Literal::boolean(value.b);
    else if (value.kind == Value::Kind::String && (value.s == "inf" || value.s == "-inf"))
      out = ir::Literal::real(value.s == "inf" ? INFINITY : -INFINITY);
    else if (value.kind == Value::Kind::String && value.s == "nan")
      out = ir::Literal::real(NAN);
    else
      return false;
    return true;
  }
  bool flatten(const Value& value, std::vector<ir::Literal>& out, int depth) {
    if (value.kind == Value::Kind::Array) {
      if (depth > 16) return fail(value, "SP203", "a list of values is nested too deeply");
      for (const Value& item : value.items)
        if (!flatten(item, out, depth + 1)) return false;
      return true;
    }
    ir::Literal one;
    if (!literal(value, one)) return fail(value, "SP203", fmt::format("expected a number, found {}", kind_name(value.kind)));
    out.push_back(one);
    return true;
  }
  bool values(const Value& value, const std::string& what, std::vector<ir::Literal>& out) {
    ir::Literal one;
    if (literal(value, one)) {
      out.push_back(one);
      return true;
    }
    if (value.kind == Value::Kind::String && value.s.ends_with(".npy")) {
      std::string path = m_.resolve(value.s);
      Result<std::string> bytes = read_file(path, 1u << 28);
      if (!bytes) return fail(value, "SP204", fmt::format("{}: {} {}", what, value.s, bytes.error().message));
      Result<NpyArray> array = read_npy(*bytes, path);
      if (!array) return fail(value, "SP204", fmt::format("{}: {}: {}", what, value.s, array.error().message));
      out = std::move(array->values);
    } else if (value.kind == Value::Kind::Array) {
      if (!flatten(value, out, 0)) return false;
    } else {
      return fail(value, "SP203", fmt::format("{} must be a number, a list of numbers or the path of a .npy file", what));
    }
    return !out.empty() || fail(value, "SP203", fmt::format("{} has no values", what));
  }

  bool extra_inputs() {
    const Value* value;
    if (!object_at("extra_inputs", value)) return false;
    if (!value) return true;
    place("extra_inputs", *value);
    for (const auto& [name, item] : value->members) {
      ExtraInput extra;
      extra.name = name;
      place("extra_inputs/" + name, item);
      if (item.kind == Value::Kind::String && item.s == "any") {
        extra.kind = ExtraInput::Kind::Any;
      } else if (item.kind == Value::Kind::String && item.s == "iota") {
        extra.kind = ExtraInput::Kind::Iota;
      } else if (item.kind == Value::Kind::String && item.s.starts_with("=")) {
        extra.kind = ExtraInput::Kind::SameAs;
        extra.same_as =
            item.s.substr(item.s.find_first_not_of("= \t") == std::string::npos ? item.s.size() : item.s.find_first_not_of("= \t"));
        if (extra.same_as.empty())
          return fail(item, "SP203", fmt::format("extra input \"{}\": \"=\" needs the name of a sequential input", name));
      } else if (!values(item, fmt::format("extra input \"{}\" (a value, \"iota\", \"= name\" or \"any\")", name), extra.values)) {
        return false;
      }
      m_.extra_inputs.push_back(std::move(extra));
    }
    return true;
  }

  bool constants() {
    const Value* value;
    if (!object_at("constants", value)) return false;
    if (!value) return true;
    for (const auto& [name, item] : value->members) {
      Constant constant;
      constant.key = name;
      place("constants/" + name, item);
      if (!values(item, fmt::format("constant \"{}\"", name), constant.values)) return false;
      m_.constants.push_back(std::move(constant));
    }
    return true;
  }

  bool outputs() {
    const Value* value;
    if (!object_at("outputs", value)) return false;
    if (!value) return true;
    place("outputs", *value);
    m_.has_outputs = true;
    for (const Member& member : value->members) {
      const std::string& name = member.key;
      const Value& item = member.value;
      std::string what = fmt::format("output \"{}\"", name);
      if (item.kind != Value::Kind::Object)
        return fail(item, "SP203", fmt::format("{} needs an object, as in {{\"dist\": \"name\", \"expect\": \"Replicate\"}}", what));
      if (!known_keys(item, kOutputKeys, what)) return false;
      OutputSpec spec;
      spec.key = name;
      place("outputs/" + name, item);
      if (const Value* dist = item.find("dist"))
        if (!names(*dist, fmt::format("\"dist\" of {}", what), spec.dist)) return false;
      auto text = [&](const char* key, std::string& out) {
        const Value* v = item.find(key);
        if (v && v->kind != Value::Kind::String) return fail(*v, "SP203", fmt::format("\"{}\" of {} must be a string", key, what));
        if (v) out = v->s;
        return true;
      };
      std::string role;
      if (!text("role", role) || !text("of", spec.of) || !text("fqn", spec.fqn) || !text("label", spec.label)) return false;
      if (item.find("role")) {
        if (role == "gradient")
          spec.role = Role::Gradient;
        else if (role == "updated")
          spec.role = Role::Updated;
        else if (role == "loss")
          spec.role = Role::Loss;
        else if (role == "value")
          spec.role = Role::Value;
        else
          return fail(*item.find("role"), "SP203", fmt::format("unknown role \"{}\" of {} (gradient, updated, loss, value)", role, what));
      }
      if (const Value* expect = item.find("expect")) {
        Placement placement;
        if (std::string e = read_placement(*expect, mesh_or_one(), true, placement); !e.empty())
          return fail(*expect, "SP205", fmt::format("\"expect\" of {}: {}", what, e));
        spec.expect = std::move(placement);
      }
      m_.outputs.push_back(std::move(spec));
    }
    return true;
  }

  bool simple() {
    if (const Value* infer = root_.find("infer")) {
      if (infer->kind != Value::Kind::Bool) return fail(*infer, "SP203", "\"infer\" must be true or false");
      m_.infer = infer->b;
    }
    if (const Value* facts = root_.find("facts")) {
      std::vector<std::string> list;
      if (!strings(*facts, "\"facts\"", list)) return false;
      for (size_t k = 0; k < list.size(); ++k) {
        Fact fact;
        const Value& at = facts->kind == Value::Kind::Array ? facts->items[k] : *facts;
        if (std::string e = read_fact(list[k], fact); !e.empty()) return fail(at, "SP210", fmt::format("fact \"{}\": {}", list[k], e));
        place("facts/" + std::to_string(k), at);
        m_.facts.push_back(std::move(fact));
      }
    }
    if (const Value* kernels = root_.find("kernels"))
      if (!strings(*kernels, "\"kernels\"", m_.kernels)) return false;
    const Value* tangents = root_.find("tangents");
    if (tangents && tangents->kind == Value::Kind::Array) {
      std::vector<std::string> list;
      if (!strings(*tangents, "\"tangents\"", list)) return false;
      for (std::string& name : list) m_.tangents.emplace_back(std::move(name), "");
    } else if (tangents) {
      if (!object_at("tangents", tangents)) return false;
      for (const auto& [name, item] : tangents->members) {
        if (item.kind != Value::Kind::String)
          return fail(item, "SP203", fmt::format("\"tangents\": \"{}\" needs the name of an output", name));
        m_.tangents.emplace_back(name, item.s);
      }
    }
    return true;
  }

  Manifest& m_;
  const Value& root_;
  std::map<std::string, size_t> file_index_;
  Diagnostic error_;
};

}  // namespace

Diagnostic Manifest::error(std::string code, std::string message, const std::string& at) const {
  Diagnostic d{std::move(code), std::move(message), path, 0, 0};
  auto it = places.find(at);
  if (it == places.end()) it = places.find(at.substr(0, at.find('/')));
  if (it != places.end()) {
    d.line = it->second.line;
    d.column = it->second.column;
  }
  return d;
}

std::string Manifest::resolve(const std::string& file) const {
  std::filesystem::path p(file);
  return p.is_absolute() || directory.empty() ? file : (std::filesystem::path(directory) / p).lexically_normal().string();
}

Result<Manifest> parse(std::string_view text, const std::string& path) {
  size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  bool json = first != std::string_view::npos && text[first] == '{';
  Result<Value> root = json ? read_json(text, path) : read_toml(text, path);
  if (!root) return root.error();
  Manifest manifest;
  manifest.path = path;
  manifest.directory = std::filesystem::path(path).parent_path().string();
  Loader loader(manifest, *root);
  if (!loader.load()) return loader.error();
  manifest.canonical = to_json(*root);
  return manifest;
}

Result<Manifest> load(const std::string& path) {
  std::string file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    std::filesystem::path folder(path);
    if (std::filesystem::exists(folder / "case.json", ignored))
      file = (folder / "case.json").string();
    else if (std::filesystem::exists(folder / "shardproof.toml", ignored))
      file = (folder / "shardproof.toml").string();
    else
      return Diagnostic{"SP204", "the folder has neither case.json nor shardproof.toml", path, 0, 0};
  }
  Result<std::string> text = read_file(file, kMaxManifestBytes);
  if (!text) return text.error();
  return parse(*text, file);
}

}  // namespace shardproof::manifest
