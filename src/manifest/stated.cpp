// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Placements that programs state about themselves, in the axes of the manifest's mesh.
//
// How: every notation of XLA is reduced to functions of the rank: which tile of each dimension it holds, and which summand of a
// pending reduction. Such a function is then written as a cut by mesh axes if it is one (row-major over some axes in some order), else
// as an explicit list of chunks. DTensor's letters say one placement per mesh axis, in order.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "manifest/manifest.h"

namespace shardproof::manifest {

namespace {

constexpr int64_t kMaxDevices = 1 << 16;

Diagnostic bad(const std::string& text, const std::string& what) {
  return {"SP205", fmt::format("the sharding {} cannot be used: {}", text, what), "", 0, 0};
}

// A cursor over one line of text.
struct Scanner {
  std::string_view s;
  size_t pos = 0;
  void skip() {
    while (pos < s.size() && (s[pos] == ' ' || s[pos] == '\n' || s[pos] == '\t')) ++pos;
  }
  bool eat(std::string_view token) {
    skip();
    if (s.substr(pos, token.size()) != token) return false;
    pos += token.size();
    return true;
  }
  bool at_end() {
    skip();
    return pos >= s.size();
  }
  char peek() {
    skip();
    return pos < s.size() ? s[pos] : '\0';
  }
  bool integer(int64_t& out) {
    skip();
    auto [end, error] = std::from_chars(s.data() + pos, s.data() + s.size(), out);
    if (error != std::errc()) return false;
    pos = static_cast<size_t>(end - s.data());
    return true;
  }
  bool integers(char close, std::vector<int64_t>& out) {  // up to and with `close`
    for (;;) {
      if (eat(std::string_view(&close, 1))) return true;
      int64_t value = 0;
      if (!integer(value)) return false;
      out.push_back(value);
      eat(",");
    }
  }
  std::string word() {
    skip();
    size_t start = pos;
    while (pos < s.size() && (std::isalnum(static_cast<unsigned char>(s[pos])) || s[pos] == '_' || s[pos] == '.' || s[pos] == '-')) ++pos;
    return std::string(s.substr(start, pos - start));
  }
  bool quoted(std::string& out) {  // "x" or 'x' or \22x\22
    skip();
    for (std::string_view q : {std::string_view("\""), std::string_view("'"), std::string_view("\\22")}) {
      if (s.substr(pos, q.size()) != q) continue;
      size_t close = s.find(q, pos + q.size());
      if (close == std::string_view::npos) return false;
      out = std::string(s.substr(pos + q.size(), close - pos - q.size()));
      pos = close + q.size();
      return true;
    }
    return false;
  }
};

// What a sharding says, as functions of the rank.
struct Tiling {
  std::vector<std::vector<int64_t>> tile;  // [dim][rank]
  std::vector<int64_t> tiles;              // per dim
  std::vector<int64_t> summand;            // [rank], empty: no pending reduction
  int64_t summands = 1;
  ReduceOp op = ReduceOp::Sum;
};

// Writes f: rank -> [0, count) as a cut over `axes`, row-major; false if it is none.
bool as_axes(const std::vector<int64_t>& f, int64_t count, const Mesh& mesh, std::vector<int>& axes) {
  int64_t ranks = mesh.num_ranks();
  std::vector<std::pair<int64_t, int>> strides;
  int64_t rank_stride = 1;
  for (size_t k = mesh.axes.size(); k-- > 0;) {
    if (mesh.axes[k].size > 1) {
      int64_t stride = f[static_cast<size_t>(rank_stride)] - f[0];
      if (stride < 0) return false;
      if (stride > 0) strides.emplace_back(stride, static_cast<int>(k));
    }
    rank_stride *= mesh.axes[k].size;
  }
  std::sort(strides.begin(), strides.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  axes.clear();
  for (const auto& [stride, axis] : strides) axes.push_back(axis);
  int64_t product = 1;
  for (int axis : axes) product *= mesh.axes[static_cast<size_t>(axis)].size;
  if (product != count) return false;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t index = 0;
    for (int axis : axes) index = index * mesh.axes[static_cast<size_t>(axis)].size + mesh.coordinate(rank, axis);
    if (f[static_cast<size_t>(rank)] != index) return false;
  }
  return true;
}

// Any function of the rank as chunks over the axes it depends on.
bool as_chunks(const std::vector<int64_t>& f, const Mesh& mesh, Step& step) {
  int64_t ranks = mesh.num_ranks();
  int64_t stride = ranks;
  for (size_t k = 0; k < mesh.axes.size(); ++k) {
    stride /= mesh.axes[k].size;
    bool depends = false;
    for (int64_t rank = 0; rank < ranks && !depends; ++rank) {
      int64_t base = rank - mesh.coordinate(rank, static_cast<int>(k)) * stride;
      depends = f[static_cast<size_t>(rank)] != f[static_cast<size_t>(base)];
    }
    if (depends) step.axes.push_back(static_cast<int>(k));
  }
  int64_t parts = 1;
  for (int axis : step.axes) parts *= mesh.axes[static_cast<size_t>(axis)].size;
  step.chunks.assign(static_cast<size_t>(parts), {});
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t index = 0;
    for (int axis : step.axes) index = index * mesh.axes[static_cast<size_t>(axis)].size + mesh.coordinate(rank, axis);
    step.chunks[static_cast<size_t>(index)] = {f[static_cast<size_t>(rank)]};
  }
  return true;
}

Result<Placement> to_placement(const Tiling& tiling, const std::string& text, const Mesh& mesh, const ir::Shape& shape) {
  Placement placement;
  if (tiling.summands > 1) {
    std::vector<int> axes;
    if (!as_axes(tiling.summand, tiling.summands, mesh, axes)) return bad(text, "its pending reduction does not run over whole mesh axes");
    for (int axis : axes) {
      Step step;
      step.kind = Step::Kind::Partial;
      step.axes = {axis};
      step.op = tiling.op;
      placement.steps.push_back(std::move(step));
    }
  }
  for (size_t dim = 0; dim < tiling.tile.size(); ++dim) {
    int64_t tiles = tiling.tiles[dim];
    if (tiles == 1) continue;
    if (dim >= shape.size()) return bad(text, fmt::format("it cuts dimension {} of a tensor of rank {}", dim, shape.size()));
    Step step;
    step.dim = static_cast<int64_t>(dim);
    bool even = shape[dim] % tiles == 0;
    if (!as_axes(tiling.tile[dim], tiles, mesh, step.axes)) {
      step.axes.clear();
      if (!even) return bad(text, "an uneven cut in an order that no mesh axes give");
      as_chunks(tiling.tile[dim], mesh, step);
    } else if (!even) {
      step.padded = (shape[dim] + tiles - 1) / tiles;  // XLA pads the last tiles; what is in there is unspecified
    }
    placement.steps.push_back(std::move(step));
  }
  return placement;
}

// Device list of "<=[2,4]T(1,0)".
bool iota_devices(Scanner& in, std::vector<int64_t>& devices) {
  std::vector<int64_t> dims, perm;
  if (!in.eat("[") || !in.integers(']', dims)) return false;
  if (in.eat("T")) {
    if (!in.eat("(") || !in.integers(')', perm)) return false;
  } else {
    perm.resize(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
  }
  int64_t total = 1;
  for (int64_t d : dims) {
    if (d < 1 || d > kMaxDevices) return false;
    total *= d;
    if (total > kMaxDevices) return false;
  }
  std::vector<bool> seen(dims.size());
  if (perm.size() != dims.size()) return false;
  for (int64_t p : perm) {
    if (p < 0 || p >= static_cast<int64_t>(dims.size()) || seen[static_cast<size_t>(p)]) return false;
    seen[static_cast<size_t>(p)] = true;
  }
  std::vector<int64_t> stride(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) stride[k - 1] = stride[k] * dims[k];
  for (int64_t index = 0; index < total; ++index) {
    int64_t rest = index, id = 0;
    for (size_t k = perm.size(); k-- > 0;) {
      size_t source = static_cast<size_t>(perm[k]);
      id += rest % dims[source] * stride[source];
      rest /= dims[source];
    }
    devices.push_back(id);
  }
  return true;
}

Result<Placement> maximal(int64_t device, const std::string& text, const Mesh& mesh) {
  if (device < 0 || device >= mesh.num_ranks()) return bad(text, "the device does not exist");
  Placement placement;
  for (size_t k = 0; k < mesh.axes.size(); ++k) {
    if (mesh.axes[k].size == 1) continue;
    Step step;
    step.kind = Step::Kind::On;
    step.axes = {static_cast<int>(k)};
    step.coordinates = {mesh.coordinate(device, static_cast<int>(k))};
    placement.steps.push_back(std::move(step));
  }
  return placement;
}

// Named axes with their sizes and device order (Shardy, and HLO's named shardings).
struct NamedMesh {
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<std::vector<int64_t>> coordinate;  // [axis][rank]
};

std::string place_ranks(NamedMesh& named, std::vector<int64_t> ids, const Mesh& mesh) {
  int64_t total = 1;
  for (const auto& [name, size] : named.axes) {
    if (size < 1 || size > kMaxDevices || (total *= size) > kMaxDevices) return "its mesh is too large";
  }
  if (total != mesh.num_ranks()) return fmt::format("its mesh has {} devices, the manifest's has {} ranks", total, mesh.num_ranks());
  if (ids.empty()) {
    ids.resize(static_cast<size_t>(total));
    std::iota(ids.begin(), ids.end(), 0);
  }
  if (static_cast<int64_t>(ids.size()) != total) return "its device list has the wrong length";
  named.coordinate.assign(named.axes.size(), std::vector<int64_t>(static_cast<size_t>(total), -1));
  for (int64_t position = 0; position < total; ++position) {
    int64_t rank = ids[static_cast<size_t>(position)], rest = position;
    if (rank < 0 || rank >= total) return "its device list names a device that does not exist";
    for (size_t k = named.axes.size(); k-- > 0;) {
      named.coordinate[k][static_cast<size_t>(rank)] = rest % named.axes[k].second;
      rest /= named.axes[k].second;
    }
  }
  return "";
}

// {"a", "b":(2)2, ?} after the opening brace; appends to f as further row-major digits.
bool axis_list(Scanner& in, const NamedMesh& named, std::vector<int64_t>& f, int64_t& count, bool& open) {
  open = false;
  for (;;) {
    if (in.eat("}")) return true;
    if (in.eat("?")) {
      open = true;
      in.eat(",");
      continue;
    }
    std::string name;
    if (!in.quoted(name)) return false;
    size_t axis = 0;
    while (axis < named.axes.size() && named.axes[axis].first != name) ++axis;
    if (axis == named.axes.size()) return false;
    int64_t pre = 1, size = named.axes[axis].second;
    if (in.eat(":(")) {
      if (!in.integer(pre) || !in.eat(")") || !in.integer(size)) return false;
      if (pre < 1 || size < 1 || named.axes[axis].second % (pre * size) != 0) return false;
    }
    int64_t post = named.axes[axis].second / (pre * size);
    for (size_t rank = 0; rank < f.size(); ++rank) f[rank] = f[rank] * size + named.coordinate[axis][rank] / post % size;
    count *= size;
    in.eat(",");
  }
}

// "[{..}, {..}], replicated={..}, unreduced={..}" after the mesh.
bool named_dims(Scanner& in, const NamedMesh& named, size_t ranks, Tiling& out) {
  if (!in.eat("[")) return false;
  while (!in.eat("]")) {
    if (!in.eat("{")) return false;
    std::vector<int64_t> f(ranks, 0);
    int64_t count = 1;
    bool open;
    if (!axis_list(in, named, f, count, open)) return false;
    int64_t priority;
    if (in.eat("p") && !in.integer(priority)) return false;
    out.tile.push_back(std::move(f));
    out.tiles.push_back(count);
    in.eat(",");
  }
  while (in.eat(",")) {
    std::string what = in.word();
    if (!in.eat("=")) return false;
    std::string op = in.word();
    if (!in.eat("{")) return false;
    std::vector<int64_t> f(ranks, 0);
    int64_t count = 1;
    bool open;
    if (!axis_list(in, named, f, count, open)) return false;
    if (what == "replicated") continue;
    if (what != "unreduced") return false;
    if (op.empty() || op == "sum" || op == "add")
      out.op = ReduceOp::Sum;
    else if (op == "max")
      out.op = ReduceOp::Max;
    else if (op == "min")
      out.op = ReduceOp::Min;
    else
      return false;
    out.summand = std::move(f);
    out.summands = count;
  }
  return true;
}

Result<Placement> from_hlo(const std::string& text, const Mesh& mesh, const ir::Shape& shape) {
  Scanner in{text};
  if (!in.eat("{")) return bad(text, "it does not begin with {");
  if (in.peek() == '{') {  // a tuple with one leaf
    Scanner probe = in;
    int depth = 0;
    size_t start = probe.pos, end = start;
    for (size_t i = start; i < text.size(); ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] == '}' && --depth == 0) {
        end = i;
        break;
      }
    }
    if (text.find('{', end + 1) != std::string::npos) return bad(text, "it is a tuple");
    return from_hlo(text.substr(start, end - start + 1), mesh, shape);
  }
  if (in.eat("replicated")) return Placement{};
  int64_t device = 0;
  if (in.eat("maximal")) return in.eat("device=") && in.integer(device) ? maximal(device, text, mesh) : bad(text, "a device is missing");
  size_t ranks = static_cast<size_t>(mesh.num_ranks());
  Tiling tiling;
  if (in.eat("mesh[")) {
    NamedMesh named;
    std::vector<int64_t> ids;
    while (!in.eat("]")) {
      std::string name;
      int64_t size = 0;
      if (!in.quoted(name) || !in.eat("=") || !in.integer(size)) return bad(text, "its mesh cannot be read");
      named.axes.emplace_back(name, size);
      in.eat(",");
    }
    if (in.eat(", device_ids=") || in.eat("device_ids=")) {
      in.eat("(");
      if (!in.eat("[") || !in.integers(']', ids)) return bad(text, "its device list cannot be read");
      in.eat(")");
    }
    if (std::string e = place_ranks(named, ids, mesh); !e.empty()) return bad(text, e);
    if (!in.eat(",") || !named_dims(in, named, ranks, tiling)) return bad(text, "its dimensions cannot be read");
    return to_placement(tiling, text, mesh, shape);
  }
  if (!in.eat("devices=[")) return bad(text, "it says nothing about parts");
  std::vector<int64_t> dims, devices;
  if (!in.integers(']', dims) || dims.empty()) return bad(text, "its tiles cannot be read");
  if (in.eat("<=")) {
    if (!iota_devices(in, devices)) return bad(text, "its device list cannot be read");
  } else {
    int64_t id = 0;
    while (in.integer(id)) {
      devices.push_back(id);
      if (!in.eat(",")) break;
    }
  }
  std::vector<std::string> last(0);
  if (in.eat("last_tile_dim_replicate")) last = {"replicated"};
  if (in.eat("last_tile_dims={")) {
    while (!in.eat("}")) {
      std::string word = in.word();
      if (word.empty()) return bad(text, "its last dimensions cannot be read");
      last.push_back(word);
      in.eat(",");
    }
  }
  int64_t total = 1;
  for (int64_t d : dims) {
    if (d < 1 || d > kMaxDevices || (total *= d) > kMaxDevices) return bad(text, "too many tiles");
  }
  if (total != static_cast<int64_t>(devices.size())) return bad(text, "tiles and devices differ in number");
  if (devices.size() != ranks) return bad(text, fmt::format("it has {} devices, the mesh has {} ranks", devices.size(), ranks));
  if (last.size() > dims.size()) return bad(text, "more last dimensions than dimensions");
  std::vector<std::vector<int64_t>> coordinate(dims.size(), std::vector<int64_t>(ranks));
  std::vector<bool> seen(ranks);
  for (size_t position = 0; position < devices.size(); ++position) {
    int64_t rank = devices[position];
    if (rank < 0 || rank >= static_cast<int64_t>(ranks) || seen[static_cast<size_t>(rank)])
      return bad(text, "its device list is no permutation");
    seen[static_cast<size_t>(rank)] = true;
    int64_t rest = static_cast<int64_t>(position);
    for (size_t k = dims.size(); k-- > 0;) {
      coordinate[k][static_cast<size_t>(rank)] = rest % dims[k];
      rest /= dims[k];
    }
  }
  size_t data_dims = dims.size() - last.size();
  for (size_t k = 0; k < data_dims; ++k) {
    tiling.tile.push_back(coordinate[k]);
    tiling.tiles.push_back(dims[k]);
  }
  for (size_t k = 0; k < last.size(); ++k) {
    if (last[k] == "replicated" || dims[data_dims + k] == 1) continue;
    if (last[k] != "unreduced") return bad(text, fmt::format("a subgroup is {}", last[k]));
    tiling.summand = coordinate[data_dims + k];
    tiling.summands = dims[data_dims + k];
  }
  return to_placement(tiling, text, mesh, shape);
}

Result<Placement> from_sdy(const std::string& text, const std::vector<frontend::Mesh>& meshes, const Mesh& mesh, const ir::Shape& shape) {
  Scanner in{text};
  in.eat("#sdy.sharding");
  if (!in.eat("<")) return bad(text, "it does not begin with <");
  NamedMesh named;
  std::vector<int64_t> ids;
  if (in.eat("@")) {
    std::string name;
    if (!in.quoted(name)) name = in.word();
    const frontend::Mesh* found = nullptr;
    for (const frontend::Mesh& m : meshes)
      if (m.name == name) found = &m;
    if (!found) return bad(text, fmt::format("the module has no mesh @{}", name));
    named.axes = found->axes;
    ids = found->device_ids;
    if (named.axes.empty() && ids.size() == 1) return maximal(ids[0], text, mesh);
  } else if (in.eat("mesh<")) {
    if (!in.eat("[")) return bad(text, "its mesh cannot be read");
    while (!in.eat("]")) {
      std::string name;
      int64_t size = 0;
      if (!in.quoted(name) || !in.eat("=") || !in.integer(size)) return bad(text, "its mesh cannot be read");
      named.axes.emplace_back(name, size);
      in.eat(",");
    }
    if (in.eat(",") && (!in.eat("device_ids=[") || !in.integers(']', ids))) return bad(text, "its device list cannot be read");
    if (!in.eat(">")) return bad(text, "its mesh cannot be read");
  } else {
    return bad(text, "its mesh is missing");
  }
  if (std::string e = place_ranks(named, ids, mesh); !e.empty()) return bad(text, e);
  Tiling tiling;
  if (!in.eat(",") || !named_dims(in, named, static_cast<size_t>(mesh.num_ranks()), tiling))
    return bad(text, "its dimensions cannot be read");
  return to_placement(tiling, text, mesh, shape);
}

// "S(0)R", "P(sum)", "PS(1)[1]S(1)[0]R", "_S(0, 2)S(0)": one placement per mesh axis, in order; [k] = k-th cut of its dimension.
Result<Placement> from_dtensor(const std::string& text, const Mesh& mesh) {
  Scanner in{text};
  struct Part {
    int64_t order;
    Step step;
  };
  std::vector<Part> parts;
  int axis = 0;
  while (!in.at_end()) {
    if (in.eat("(") || in.eat(")") || in.eat(",")) continue;
    if (axis >= static_cast<int>(mesh.axes.size())) return bad(text, "it has more placements than the mesh has axes");
    Part part{0, {}};
    part.step.axes = {axis};
    if (in.eat("R")) {
      ++axis;
      continue;
    }
    if (in.eat("_S(")) {
      if (!in.integer(part.step.dim) || !in.eat(",") || !in.integer(part.step.equal_blocks) || !in.eat(")"))
        return bad(text, "_S(d, k) cannot be read");
    } else if (in.eat("S(")) {
      if (!in.integer(part.step.dim) || !in.eat(")")) return bad(text, "S(d) cannot be read");
      if (in.eat("[") && (!in.integer(part.order) || !in.eat("]"))) return bad(text, "a device order cannot be read");
    } else if (in.eat("P")) {
      part.step.kind = Step::Kind::Partial;
      if (in.eat("(")) {
        std::string op = in.word();
        if (op == "sum")
          part.step.op = ReduceOp::Sum;
        else if (op == "avg")
          part.step.op = ReduceOp::Avg;
        else if (op == "max")
          part.step.op = ReduceOp::Max;
        else if (op == "min")
          part.step.op = ReduceOp::Min;
        else
          return bad(text, fmt::format("unknown reduction {}", op));
        if (!in.eat(")")) return bad(text, "P(op) cannot be read");
      }
    } else {
      return bad(text, fmt::format("unknown placement at \"{}\"", text.substr(in.pos)));
    }
    ++axis;
    parts.push_back(std::move(part));
  }
  if (axis != static_cast<int>(mesh.axes.size())) return bad(text, "it has fewer placements than the mesh has axes");
  std::stable_sort(parts.begin(), parts.end(), [](const Part& x, const Part& y) { return x.order < y.order; });
  Placement placement;
  for (Part& part : parts) placement.steps.push_back(std::move(part.step));
  return placement;
}

}  // namespace

Result<Placement> from_stated(const frontend::StatedSharding& sharding, const std::vector<frontend::Mesh>& module_meshes, const Mesh& mesh,
                              const ir::Shape& global_shape) {
  if (mesh.num_ranks() == 1) return Placement{};
  switch (sharding.syntax) {
    case frontend::StatedSharding::Syntax::None: return bad(sharding.text, "nothing is stated");
    case frontend::StatedSharding::Syntax::Hlo: return from_hlo(sharding.text, mesh, global_shape);
    case frontend::StatedSharding::Syntax::Sdy: return from_sdy(sharding.text, module_meshes, mesh, global_shape);
    case frontend::StatedSharding::Syntax::DTensor: return from_dtensor(sharding.text, mesh);
  }
  return bad(sharding.text, "unknown notation");
}

}  // namespace shardproof::manifest
