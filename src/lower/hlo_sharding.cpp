// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Which part each rank holds, by the text of a sharding: HLO's "{devices=[2,1]<=[2]}" and "{mesh['a'=2], [{'a'}, {}]}", Shardy's
// "<@mesh, [{"a"}, {}]>". Only what a per-rank region needs: its border must cut evenly.
#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

#include "lower/hlo_internal.h"

namespace shardproof::lower {
namespace {

constexpr int64_t kMaxRanks = int64_t{1} << 20;

std::string_view trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return s;
}

std::optional<int64_t> number(std::string_view s) {
  s = trim(s);
  int64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

std::optional<std::vector<int64_t>> numbers(std::string_view s) {
  std::vector<int64_t> out;
  if (trim(s).empty()) return out;
  for (const std::string& part : split_top_level(s)) {
    const auto v = number(part);
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

// The text between the bracket that opens at `at` and its match; moves `at` behind it. "" and no move if there is no bracket.
std::string_view bracketed(std::string_view text, size_t& at) {
  if (at >= text.size()) return {};
  const char open = text[at], close = open == '[' ? ']' : open == '{' ? '}' : open == '(' ? ')' : open == '<' ? '>' : '\0';
  if (close == '\0') return {};
  int depth = 0;
  bool quoted = false;
  for (size_t k = at; k < text.size(); ++k) {
    if (text[k] == '"' || text[k] == '\'') quoted = !quoted;
    if (quoted) continue;
    if (text[k] == open) ++depth;
    if (text[k] == close && --depth == 0) {
      const std::string_view inner = text.substr(at + 1, k - at - 1);
      at = k + 1;
      return inner;
    }
  }
  return {};
}

struct AxisUse {
  std::string axis;
  int64_t pre = 1, size = 0;
};  // size 0: the whole axis; else the sub-axis (pre)size

// {"a", "b":(2)2, ?}p1 -> its axes; quotes of either kind.
std::optional<std::vector<AxisUse>> axes(std::string_view dim) {
  dim = trim(dim);
  size_t at = 0;
  if (dim.empty() || dim[0] != '{') return std::nullopt;
  const std::string_view inner = bracketed(dim, at);
  std::vector<AxisUse> out;
  if (trim(inner).empty()) return out;
  for (const std::string& raw : split_top_level(inner)) {
    const std::string_view item = trim(raw);
    if (item == "?") continue;
    if (item.size() < 2 || (item[0] != '"' && item[0] != '\'')) return std::nullopt;
    const size_t end = item.find(item[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    AxisUse use{std::string(item.substr(1, end - 1)), 1, 0};
    const std::string_view rest = trim(item.substr(end + 1));
    if (!rest.empty()) {  // :(pre)size
      const size_t close = rest.find(')');
      if (rest.size() < 4 || rest[0] != ':' || rest[1] != '(' || close == std::string_view::npos) return std::nullopt;
      const auto pre = number(rest.substr(2, close - 2)), size = number(rest.substr(close + 1));
      if (!pre || !size || *pre < 1 || *size < 1) return std::nullopt;
      use.pre = *pre;
      use.size = *size;
    }
    out.push_back(std::move(use));
  }
  return out;
}

// Parts by the axes of each dim. Digits of an axis that no dim uses tell the classes apart.
std::optional<Tiling> by_axes(const frontend::Mesh& mesh, const std::vector<std::vector<AxisUse>>& dims, std::string& reason) {
  int64_t ranks = 1;
  std::map<std::string, size_t> index;
  for (size_t k = 0; k < mesh.axes.size(); ++k) {
    const int64_t size = mesh.axes[k].second;
    if (size < 1 || size > kMaxRanks || ranks > kMaxRanks / size) {
      reason = "the mesh is too large";
      return std::nullopt;
    }
    ranks *= size;
    index[mesh.axes[k].first] = k;
  }
  std::vector<int64_t> device(static_cast<size_t>(ranks));
  std::iota(device.begin(), device.end(), 0);
  if (!mesh.device_ids.empty()) {
    device = mesh.device_ids;
    std::vector<int64_t> sorted = device;
    std::sort(sorted.begin(), sorted.end());
    bool permutation = static_cast<int64_t>(device.size()) == ranks;
    for (size_t k = 0; k < sorted.size() && permutation; ++k) permutation = sorted[k] == static_cast<int64_t>(k);
    if (!permutation) {
      reason = "the mesh's device ids are no permutation of its ranks";
      return std::nullopt;
    }
  }
  Tiling out;
  struct Digit {
    size_t axis;
    int64_t weight, size;
  };  // digit = coordinate / weight % size
  std::vector<std::vector<Digit>> digits;
  for (const auto& uses : dims) {
    int64_t parts = 1;
    digits.emplace_back();
    for (const AxisUse& use : uses) {
      const auto it = index.find(use.axis);
      if (it == index.end()) {
        reason = "axis " + use.axis + " is not in the mesh";
        return std::nullopt;
      }
      const int64_t whole = mesh.axes[it->second].second, size = use.size == 0 ? whole : use.size;
      if (use.size != 0 && (use.pre > whole || use.size > whole || whole % (use.pre * use.size) != 0)) {
        reason = "a part of axis " + use.axis + " does not divide it";
        return std::nullopt;
      }
      digits.back().push_back({it->second, use.size == 0 ? 1 : whole / (use.pre * use.size), size});
      parts *= size;
      if (parts > ranks) {
        reason = "an axis is used twice";
        return std::nullopt;
      }
    }
    out.parts.push_back(parts);
  }
  out.part.assign(static_cast<size_t>(ranks), {});
  out.copy.assign(static_cast<size_t>(ranks), 0);
  for (int64_t place = 0; place < ranks; ++place) {
    std::vector<int64_t> coordinate(mesh.axes.size());
    int64_t rest = place;
    for (size_t k = mesh.axes.size(); k-- > 0;) {
      coordinate[k] = rest % mesh.axes[k].second;
      rest /= mesh.axes[k].second;
    }
    std::vector<int64_t> unused = coordinate, part;
    for (const auto& of_dim : digits) {
      int64_t p = 0;
      for (const Digit& d : of_dim) {
        const int64_t digit = coordinate[d.axis] / d.weight % d.size;
        p = p * d.size + digit;
        unused[d.axis] -= digit * d.weight;
      }
      part.push_back(p);
    }
    int64_t copy = 0;
    for (size_t k = 0; k < unused.size(); ++k) copy = copy * mesh.axes[k].second + unused[k];
    out.part[device[place]] = std::move(part);
    out.copy[device[place]] = copy;
  }
  return out;
}

// mesh['a'=2,'b'=4] with an optional device list behind it
std::optional<frontend::Mesh> inline_mesh(std::string_view inner) {
  frontend::Mesh mesh;
  for (const std::string& raw : split_top_level(inner)) {
    const std::string_view item = trim(raw);
    const size_t equals = item.rfind('=');
    if (equals == std::string_view::npos || equals < 3) return std::nullopt;
    const auto size = number(item.substr(equals + 1));
    if (!size) return std::nullopt;
    mesh.axes.emplace_back(std::string(item.substr(1, equals - 2)), *size);
  }
  return mesh;
}

// [4,2] or [8]<=[2,4]T(1,0) or a plain list -> device ids in order
std::optional<std::vector<int64_t>> device_order(std::string_view text, int64_t count) {
  text = trim(text);
  if (text.rfind("<=", 0) != 0) return numbers(text);
  size_t at = 2;
  const auto shape = numbers(bracketed(text, at));
  if (!shape || shape->empty()) return std::nullopt;
  std::vector<int64_t> perm(shape->size());
  std::iota(perm.begin(), perm.end(), 0);
  if (at < text.size() && text[at] == 'T') {
    ++at;
    const auto given = numbers(bracketed(text, at));
    if (!given || given->size() != perm.size()) return std::nullopt;
    std::vector<int64_t> sorted = *given;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != perm) return std::nullopt;
    perm = *given;
  }
  int64_t total = 1;
  for (int64_t n : *shape) {
    if (n < 1 || n > kMaxRanks || total > kMaxRanks / n) return std::nullopt;
    total *= n;
  }
  if (total != count) return std::nullopt;
  std::vector<int64_t> stride(shape->size(), 1);
  for (size_t k = shape->size(); k-- > 1;) stride[k - 1] = stride[k] * (*shape)[k];
  std::vector<int64_t> out, at_index(shape->size());
  for (int64_t n = 0; n < total; ++n) {
    int64_t id = 0;
    for (size_t k = 0; k < perm.size(); ++k) id += at_index[k] * stride[perm[k]];
    out.push_back(id);
    for (size_t k = perm.size(); k-- > 0;) {
      if (++at_index[k] < (*shape)[perm[k]]) break;
      at_index[k] = 0;
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> split_top_level(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '{' || text.front() == '[') && text.back() == (text.front() == '{' ? '}' : ']')) {
    size_t at = 0;
    const std::string_view inner = bracketed(text, at);
    if (at == text.size()) text = inner;
  }
  std::vector<std::string> out;
  int depth = 0;
  char quote = '\0';
  size_t from = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    const char ch = text[k];
    if (quote != '\0') {
      if (ch == quote) quote = '\0';
      continue;
    }
    if (ch == '"' || ch == '\'') quote = ch;
    if (ch == '{' || ch == '[' || ch == '(') ++depth;
    if (ch == '}' || ch == ']' || ch == ')') --depth;
    if (ch == '<' && k + 1 < text.size() && text[k + 1] != '=') ++depth;
    if (ch == '>' && k > 0 && text[k - 1] != '-') --depth;
    if (ch == ',' && depth == 0) {
      out.emplace_back(trim(text.substr(from, k - from)));
      from = k + 1;
    }
  }
  if (!trim(text.substr(from)).empty()) out.emplace_back(trim(text.substr(from)));
  // "/*index=5*/" before an element
  for (std::string& part : out) {
    while (part.rfind("/*", 0) == 0) {
      const size_t end = part.find("*/");
      if (end == std::string::npos) break;
      part = std::string(trim(std::string_view(part).substr(end + 2)));
    }
  }
  return out;
}

std::optional<Tiling> parse_sdy_tiling(std::string_view text, const std::vector<frontend::Mesh>& meshes,
                                       const std::vector<std::string>* manual, size_t rank, std::string& reason) {
  text = trim(text);
  if (text.rfind("#sdy.sharding", 0) == 0) text = trim(text.substr(13));
  size_t at = 0;
  if (text.empty() || text[0] != '<') {
    reason = "expected a sharding such as <@mesh, [{\"x\"}, {}]>";
    return std::nullopt;
  }
  const std::vector<std::string> parts = split_top_level(bracketed(text, at));
  if (parts.size() < 2) {
    reason = "expected a mesh and a list of dimensions in the sharding";
    return std::nullopt;
  }
  frontend::Mesh own;
  const frontend::Mesh* mesh = nullptr;
  if (parts[0].rfind("@", 0) == 0) {
    std::string name = parts[0].substr(1);
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    for (const frontend::Mesh& m : meshes) {
      if (m.name == name) mesh = &m;
    }
  } else if (parts[0].rfind("mesh<", 0) == 0) {
    size_t open = 4;
    const std::vector<std::string> inner = split_top_level(bracketed(parts[0], open));
    if (!inner.empty()) {
      if (auto parsed = inline_mesh(inner[0])) {
        own = std::move(*parsed);
        mesh = &own;
      }
    }
  }
  if (!mesh) {
    reason = "mesh " + parts[0] + " is not defined";
    return std::nullopt;
  }
  const std::vector<std::string> dim_texts = split_top_level(parts[1]);
  if (dim_texts.size() != rank) {
    reason = "the sharding has another rank than its tensor";
    return std::nullopt;
  }
  std::vector<std::vector<AxisUse>> dims;
  for (const std::string& dim : dim_texts) {
    auto uses = axes(dim);
    if (!uses) {
      reason = "cannot read the dimension sharding " + dim;
      return std::nullopt;
    }
    if (manual) {
      std::erase_if(*uses, [&](const AxisUse& use) { return std::find(manual->begin(), manual->end(), use.axis) == manual->end(); });
    }
    dims.push_back(std::move(*uses));
  }
  for (size_t k = 2; k < parts.size(); ++k) {
    if (parts[k].rfind("unreduced", 0) == 0 && parts[k].find('"') != std::string::npos) {
      reason = "a pending reduction at the border of a per-rank region";
      return std::nullopt;
    }
  }
  return by_axes(*mesh, dims, reason);
}

std::optional<Tiling> parse_hlo_tiling(std::string_view text, size_t rank, int64_t ranks, std::string& reason) {
  text = trim(text);
  size_t at = 0;
  if (text.empty() || text[0] != '{') {
    reason = "expected a sharding such as {devices=[2,1]<=[2]}";
    return std::nullopt;
  }
  const std::string_view inner = trim(bracketed(text, at));
  if (inner == "replicated" || inner.rfind("replicated ", 0) == 0) {
    ranks = std::max<int64_t>(ranks, 0);  // not stated: nothing is cut, so no table is needed
    Tiling out;
    out.parts.assign(rank, 1);
    out.part.assign(static_cast<size_t>(ranks), std::vector<int64_t>(rank, 0));
    out.copy.resize(static_cast<size_t>(ranks));
    std::iota(out.copy.begin(), out.copy.end(), 0);
    return out;
  }
  if (inner.rfind("mesh[", 0) == 0) {
    size_t open = 4;
    auto mesh = inline_mesh(bracketed(inner, open));
    std::string_view rest = inner.substr(std::min(open, inner.size()));
    const std::vector<std::string> parts = split_top_level(rest);
    size_t first = 0;
    while (first < parts.size() && (parts[first].empty() || parts[first][0] != '[')) {
      if (parts[first].find("device_ids") != std::string::npos) {
        reason = "device ids in a named sharding";
        return std::nullopt;
      }
      ++first;
    }
    if (!mesh || first >= parts.size()) {
      reason = "cannot read the sharding";
      return std::nullopt;
    }
    std::vector<std::vector<AxisUse>> dims;
    for (const std::string& dim : split_top_level(parts[first])) {
      auto uses = axes(dim);
      if (!uses) {
        reason = "cannot read the dimension sharding " + dim;
        return std::nullopt;
      }
      dims.push_back(std::move(*uses));
    }
    if (dims.size() != rank) {
      reason = "the sharding has another rank than its tensor";
      return std::nullopt;
    }
    return by_axes(*mesh, dims, reason);
  }
  if (inner.rfind("devices=", 0) != 0) {
    reason = "the sharding does not say which rank holds what";
    return std::nullopt;
  }
  at = 8;
  const auto grid = numbers(bracketed(inner, at));
  std::string_view rest = trim(inner.substr(std::min(at, inner.size())));
  size_t end = rest.find(' ');
  const std::string_view list = rest.substr(0, end);
  if (!grid || grid->size() < rank) {
    reason = "the sharding has another rank than its tensor";
    return std::nullopt;
  }
  int64_t total = 1;
  for (int64_t n : *grid) {
    if (n < 1 || n > kMaxRanks || total > kMaxRanks / n) {
      reason = "the sharding has too many tiles";
      return std::nullopt;
    }
    total *= n;
  }
  const auto order = device_order(list, total);
  std::vector<int64_t> sorted = order.value_or(std::vector<int64_t>{});
  std::sort(sorted.begin(), sorted.end());
  bool permutation = static_cast<int64_t>(sorted.size()) == total;
  for (size_t k = 0; k < sorted.size() && permutation; ++k) permutation = sorted[k] == static_cast<int64_t>(k);
  if (!permutation) {
    reason = "the sharding's devices are no permutation of the ranks";
    return std::nullopt;
  }
  Tiling out;
  out.parts.assign(grid->begin(), grid->begin() + static_cast<std::ptrdiff_t>(rank));
  out.part.resize(static_cast<size_t>(total));
  out.copy.resize(static_cast<size_t>(total));
  for (int64_t place = 0; place < total; ++place) {
    std::vector<int64_t> coordinate(grid->size());
    int64_t left = place;
    for (size_t k = grid->size(); k-- > 0;) {
      coordinate[k] = left % (*grid)[k];
      left /= (*grid)[k];
    }
    int64_t copy = 0;
    for (size_t k = rank; k < grid->size(); ++k) copy = copy * (*grid)[k] + coordinate[k];
    coordinate.resize(rank);
    out.part[(*order)[place]] = std::move(coordinate);
    out.copy[(*order)[place]] = copy;
  }
  return out;
}

}  // namespace shardproof::lower
