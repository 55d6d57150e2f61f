// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Readers of placement words and objects. Terms are in terms.cpp, writing is in words.cpp.
#include "manifest/placement.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardproof::manifest {

namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '\n' || s.front() == '\r')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\n' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

// Splits at commas outside parentheses and brackets.
std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '(' || s[i] == '[') ++depth;
    if (s[i] == ')' || s[i] == ']') --depth;
    if (s[i] == ',' && depth == 0) {
      parts.push_back(trim(s.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(trim(s.substr(start)));
  return parts;
}

bool read_int(std::string_view s, int64_t& out) {
  s = trim(s);
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
  return !s.empty() && error == std::errc() && end == s.data() + s.size();
}

bool read_real(std::string_view s, ir::Literal& out) {
  s = trim(s);
  int64_t i = 0;
  if (read_int(s, i)) {
    out = ir::Literal::integer(i);
    return true;
  }
  if (s.empty() || s.size() > 60) return false;
  std::string text(s);
  char* end = nullptr;
  double d = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return false;
  out = ir::Literal::real(d);
  return true;
}

bool inside(std::string_view s, char open, char close, std::string_view& out) {
  s = trim(s);
  if (s.size() < 2 || s.front() != open || s.back() != close) return false;
  out = s.substr(1, s.size() - 2);
  return true;
}

std::string axis_names(const Mesh& mesh) {
  std::vector<std::string> names;
  for (const Axis& axis : mesh.axes) names.push_back(axis.name);
  return names.empty() ? "the mesh has no axes" : fmt::format("the mesh has {}", fmt::join(names, ", "));
}

// "tp" or "(cp, tp)"
std::string read_axes(std::string_view text, const Mesh& mesh, std::vector<int>& out) {
  text = trim(text);
  std::string_view list;
  std::vector<std::string_view> names;
  if (inside(text, '(', ')', list))
    names = split(list);
  else
    names = {text};
  for (std::string_view name : names) {
    int axis = mesh.axis_index(std::string(name));
    if (axis < 0) return fmt::format("unknown mesh axis \"{}\" ({})", name, axis_names(mesh));
    if (std::find(out.begin(), out.end(), axis) != out.end()) return fmt::format("axis \"{}\" occurs twice in one cut", name);
    out.push_back(axis);
  }
  return "";
}

std::string fill_zigzag(Step& step, const Mesh& mesh) {
  int64_t parts = axes_size(step, mesh);
  step.zigzag = true;
  for (int64_t r = 0; r < parts; ++r) step.chunks.push_back({r, 2 * parts - 1 - r});
  return "";
}

// Every chunk is held by someone, and every part holds the same number of chunks.
std::string check_chunks(const Step& step, const Mesh& mesh) {
  int64_t parts = axes_size(step, mesh);
  if (static_cast<int64_t>(step.chunks.size()) != parts)
    return fmt::format("chunks lists {} parts, but the cut has {}", step.chunks.size(), parts);
  int64_t count = 0;
  for (const auto& part : step.chunks) {
    for (int64_t chunk : part) {
      if (chunk < 0 || chunk > 1 << 20) return fmt::format("chunk number {} is out of range", chunk);
      count = std::max(count, chunk + 1);
    }
  }
  std::vector<bool> held(static_cast<size_t>(count));
  for (const auto& part : step.chunks)
    for (int64_t chunk : part) held[static_cast<size_t>(chunk)] = true;
  for (int64_t chunk = 0; chunk < count; ++chunk)
    if (!held[static_cast<size_t>(chunk)]) return fmt::format("no part holds chunk {}", chunk);
  return count == 0 ? "chunks is empty" : "";
}

std::string check_shard(const Step& step, const Mesh& mesh) {
  int forms = (step.blocks.empty() ? 0 : 1) + (step.equal_blocks != 1 ? 1 : 0) + (step.chunks.empty() ? 0 : 1) + (step.padded ? 1 : 0);
  if (forms > 1) return "blocks, order, chunks and padded cannot be combined in one cut";
  if (step.equal_blocks < 1) return "blocks must be at least 1";
  if (step.padded < 0) return "padded must not be negative";
  if (step.fill && !step.padded) return "fill needs padded";
  int64_t parts = axes_size(step, mesh);
  for (const Step::Block& block : step.blocks) {
    if (block.size < 0) return "a block's size must not be negative";
    if (block.copies < 1 || parts % block.copies != 0)
      return fmt::format("copies = {} does not divide the {} parts of the cut", block.copies, parts);
  }
  return step.chunks.empty() ? "" : check_chunks(step, mesh);
}

// [2048, 512x2, 512x2]
std::string read_block_list(std::string_view list, std::vector<Step::Block>& out) {
  for (std::string_view item : split(list)) {
    Step::Block block;
    size_t x = item.find('x');
    if (!read_int(item.substr(0, x), block.size) || (x != std::string_view::npos && !read_int(item.substr(x + 1), block.copies)))
      return fmt::format("\"{}\" is not a block (write SIZE or SIZExCOPIES)", item);
    out.push_back(block);
  }
  return "";
}

std::string read_chunk_list(std::string_view list, std::vector<std::vector<int64_t>>& out) {
  for (std::string_view part : split(list)) {
    std::string_view numbers;
    if (!inside(part, '[', ']', numbers)) return "chunks must be a list of lists";
    out.emplace_back();
    for (std::string_view number : split(numbers)) {
      int64_t chunk = 0;
      if (!read_int(number, chunk)) return fmt::format("\"{}\" is not a chunk number", number);
      out.back().push_back(chunk);
    }
  }
  return "";
}

std::string read_shard(const std::vector<std::string_view>& args, const Mesh& mesh, Step& step) {
  if (args.empty() || !read_int(args[0], step.dim)) return "Shard needs the number of a dimension, as in Shard(0)";
  for (size_t k = 1; k < args.size(); ++k) {
    size_t eq = args[k].find('=');
    std::string_view name = trim(args[k].substr(0, eq));
    std::string_view value = eq == std::string_view::npos ? "" : trim(args[k].substr(eq + 1)), list;
    std::string error;
    if (name == "blocks" && inside(value, '[', ']', list)) {
      error = read_block_list(list, step.blocks);
    } else if (name == "blocks") {
      if (!read_int(value, step.equal_blocks)) error = "blocks must be a number or a list of sizes";
    } else if (name == "order" && value == "zigzag") {
      error = fill_zigzag(step, mesh);
    } else if (name == "chunks" && inside(value, '[', ']', list)) {
      error = read_chunk_list(list, step.chunks);
    } else if (name == "padded") {
      if (!read_int(value, step.padded) || step.padded < 1) error = "padded must be a length";
    } else if (name == "fill") {
      ir::Literal fill;
      if (value != "any" && !read_real(value, fill))
        error = "fill must be a number or any";
      else if (value != "any")
        step.fill = fill;
    } else {
      error = fmt::format("unknown argument \"{}\" of Shard (blocks=N, blocks=[..], order=zigzag, chunks=[..], padded=N, fill=V)", args[k]);
    }
    if (!error.empty()) return error;
  }
  return check_shard(step, mesh);
}

std::string read_reduce_op(std::string_view word, ReduceOp& out) {
  if (word.empty() || word == "sum")
    out = ReduceOp::Sum;
  else if (word == "avg" || word == "mean")
    out = ReduceOp::Avg;
  else if (word == "max")
    out = ReduceOp::Max;
  else if (word == "min")
    out = ReduceOp::Min;
  else
    return fmt::format("unknown reduction \"{}\" (sum, avg, max, min)", word);
  return "";
}

std::string check_on(Step& step, const Mesh& mesh) {
  int64_t size = mesh.axes[static_cast<size_t>(step.axes[0])].size;
  if (step.coordinates.empty()) return "On needs a coordinate, as in On(0)@pp";
  std::sort(step.coordinates.begin(), step.coordinates.end());
  step.coordinates.erase(std::unique(step.coordinates.begin(), step.coordinates.end()), step.coordinates.end());
  for (int64_t c : step.coordinates)
    if (c < 0 || c >= size)
      return fmt::format("On({}): axis {} has coordinates 0 to {}", c, mesh.axes[static_cast<size_t>(step.axes[0])].name, size - 1);
  return "";
}

std::string read_fraction(std::string_view text, int64_t& numerator, int64_t& denominator) {
  size_t slash = text.find('/');
  denominator = 1;
  bool ok = read_int(text.substr(0, slash), numerator) &&
            (slash == std::string_view::npos || read_int(text.substr(slash + 1), denominator)) && denominator > 0 && numerator != 0;
  return ok ? "" : fmt::format("\"{}\" is not a fraction other than 0 (write \"1/2\")", text);
}

std::string read_word(std::string_view word, const Mesh& mesh, int axis, std::vector<Step>& out) {
  size_t paren = word.find('('), at = std::string_view::npos;
  size_t head_end = std::min(paren, word.find('@'));
  std::string_view head = trim(word.substr(0, head_end)), args_text;
  std::vector<std::string_view> args;
  if (paren != std::string_view::npos && paren == head_end) {
    int depth = 0;
    size_t close = paren;
    for (; close < word.size(); ++close) {
      if (word[close] == '(') ++depth;
      if (word[close] == ')' && --depth == 0) break;
    }
    if (close == word.size()) return fmt::format("\"{}\": a parenthesis is not closed", word);
    args_text = trim(word.substr(paren + 1, close - paren - 1));
    if (!args_text.empty()) args = split(args_text);
    std::string_view rest = trim(word.substr(close + 1));
    if (!rest.empty() && rest.front() != '@') return fmt::format("\"{}\": unexpected \"{}\"", word, rest);
    if (!rest.empty()) at = static_cast<size_t>(rest.data() - word.data());
  } else if (head_end != std::string_view::npos) {
    at = head_end;
  }
  Step step;
  if (at != std::string_view::npos) {
    if (std::string error = read_axes(word.substr(at + 1), mesh, step.axes); !error.empty()) return fmt::format("\"{}\": {}", word, error);
    if (axis >= 0 && step.axes != std::vector<int>{axis})
      return fmt::format("\"{}\" stands under axis \"{}\"", word, mesh.axes[static_cast<size_t>(axis)].name);
  } else if (axis >= 0) {
    step.axes = {axis};
  }
  auto fail = [&](const std::string& message) { return fmt::format("\"{}\": {}", word, message); };
  auto needs_axis = [&]() {
    return fail(mesh.axes.empty() ? "an axis is needed, but the mesh has none"
                                  : fmt::format("an axis is needed, as in \"{}@{}\"", word, mesh.axes[0].name));
  };
  std::string error;
  if (head == "Replicate") {
    return args_text.empty() ? "" : fail("Replicate takes no argument");
  } else if (head == "Shard") {
    if (step.axes.empty()) return needs_axis();
    step.kind = Step::Kind::Shard;
    error = read_shard(args, mesh, step);
  } else if (head == "Partial") {
    if (step.axes.empty()) return needs_axis();
    step.kind = Step::Kind::Partial;
    error = args.size() > 1 ? "Partial takes one reduction" : read_reduce_op(args.empty() ? "" : args[0], step.op);
    if (error.empty() && step.axes.size() > 1) {  // a reduction over a product of axes is one over each
      for (int a : step.axes) {
        Step one = step;
        one.axes = {a};
        out.push_back(std::move(one));
      }
      return "";
    }
  } else if (head == "On") {
    if (step.axes.empty()) return needs_axis();
    step.kind = Step::Kind::On;
    if (step.axes.size() > 1) return fail("On takes one axis");
    for (std::string_view arg : args) {
      int64_t c = 0;
      if (!read_int(arg, c)) return fail("On takes coordinates");
      step.coordinates.push_back(c);
    }
    error = check_on(step, mesh);
  } else if (head == "Scale") {
    step.kind = Step::Kind::Scale;
    step.axes.clear();
    error = args.size() != 1 ? "Scale takes one fraction" : read_fraction(args[0], step.numerator, step.denominator);
  } else {
    std::string near = nearest(head, {"Replicate", "Shard", "Partial", "On", "Scale"});
    return fail(fmt::format("unknown placement word \"{}\"{}", head,
                            near.empty() ? " (Replicate, Shard, Partial, On)" : fmt::format("; did you mean {}?", near)));
  }
  if (!error.empty()) return fail(error);
  out.push_back(std::move(step));
  return "";
}

// No axis is used by two steps: a tensor cut by an axis cannot be cut by, or reduced over, the same axis again.
std::string check_steps(const std::vector<Step>& steps, const Mesh& mesh) {
  std::vector<bool> used(mesh.axes.size());
  for (const Step& step : steps) {
    for (int axis : step.axes) {
      if (used[static_cast<size_t>(axis)]) return fmt::format("axis \"{}\" is used twice", mesh.axes[static_cast<size_t>(axis)].name);
      used[static_cast<size_t>(axis)] = true;
    }
  }
  return "";
}

std::string known_keys(const Value& object, const std::vector<std::string>& keys) {
  for (const auto& [key, value] : object.members) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string near = nearest(key, keys);
    return fmt::format("unknown key \"{}\" in a placement{}", key, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  }
  return "";
}

// { "shard": 0, "axis": "tp", "blocks": [...] } and its like; `axis` non-negative: the axis is given from outside.
std::string read_shard_object(const Value& object, const Mesh& mesh, int axis, std::vector<Step>& out) {
  if (std::string e = known_keys(object, {"shard", "axis", "blocks", "order", "chunks", "padded", "fill"}); !e.empty()) return e;
  Step step;
  const Value* dim = object.find("shard");
  if (dim->kind != Value::Kind::Int) return "\"shard\" must be the number of a dimension";
  step.dim = dim->i;
  if (const Value* a = object.find("axis")) {
    std::string text = a->s;
    if (a->kind == Value::Kind::Array) {
      std::vector<std::string> names;
      for (const Value& item : a->items) names.push_back(item.s);
      text = fmt::format("({})", fmt::join(names, ","));
    } else if (a->kind != Value::Kind::String) {
      return "\"axis\" must name an axis";
    }
    if (std::string e = read_axes(text, mesh, step.axes); !e.empty()) return e;
    if (axis >= 0 && step.axes != std::vector<int>{axis}) return "\"axis\" differs from the axis that the object stands under";
  } else if (axis >= 0) {
    step.axes = {axis};
  } else {
    return "a placement object with \"shard\" needs an \"axis\"";
  }
  if (const Value* blocks = object.find("blocks")) {
    if (blocks->kind == Value::Kind::Int) {
      step.equal_blocks = blocks->i;
    } else if (blocks->kind == Value::Kind::Array && !blocks->items.empty()) {
      for (const Value& item : blocks->items) {
        Step::Block block;
        const Value* size = item.kind == Value::Kind::Object ? item.find("size") : &item;
        const Value* copies = item.find("copies");
        if (item.kind == Value::Kind::Object)
          if (std::string e = known_keys(item, {"size", "copies"}); !e.empty()) return e;
        if (!size || size->kind != Value::Kind::Int || (copies && copies->kind != Value::Kind::Int))
          return "a block is {\"size\": N} or {\"size\": N, \"copies\": K}";
        block.size = size->i;
        if (copies) block.copies = copies->i;
        step.blocks.push_back(block);
      }
    } else {
      return "\"blocks\" must be a number or a list of blocks";
    }
  }
  if (const Value* order = object.find("order")) {
    if (order->kind != Value::Kind::String || order->s != "zigzag") return "\"order\" must be \"zigzag\"";
    if (object.find("chunks")) return "\"order\" and \"chunks\" exclude each other";
    if (std::string e = fill_zigzag(step, mesh); !e.empty()) return e;
  }
  if (const Value* chunks = object.find("chunks")) {
    if (chunks->kind != Value::Kind::Array) return "\"chunks\" must be a list of lists";
    for (const Value& part : chunks->items) {
      step.chunks.emplace_back();
      if (part.kind != Value::Kind::Array) return "\"chunks\" must be a list of lists";
      for (const Value& chunk : part.items) {
        if (chunk.kind != Value::Kind::Int) return "a chunk is a number";
        step.chunks.back().push_back(chunk.i);
      }
    }
    if (step.chunks.empty()) return "\"chunks\" is empty";
  }
  if (const Value* padded = object.find("padded")) {
    if (padded->kind != Value::Kind::Int || padded->i < 1) return "\"padded\" must be a length";
    step.padded = padded->i;
  }
  if (const Value* fill = object.find("fill")) {
    if (fill->kind == Value::Kind::Int)
      step.fill = ir::Literal::integer(fill->i);
    else if (fill->kind == Value::Kind::Float)
      step.fill = ir::Literal::real(fill->d);
    else if (fill->kind == Value::Kind::Bool)
      step.fill = ir::Literal::boolean(fill->b);
    else if (fill->kind == Value::Kind::String && (fill->s == "inf" || fill->s == "-inf"))
      step.fill = ir::Literal::real(fill->s == "inf" ? INFINITY : -INFINITY);
    else if (fill->kind != Value::Kind::String || fill->s != "any")
      return "\"fill\" must be a number or \"any\"";
  }
  if (std::string e = check_shard(step, mesh); !e.empty()) return e;
  out.push_back(std::move(step));
  return "";
}

std::string read_steps(const Value& value, const Mesh& mesh, std::vector<Step>& out, int depth) {
  if (depth > 8) return "\"of\" is nested too deeply";
  if (value.kind == Value::Kind::String) return read_words(value.s, mesh, -1, out);
  if (value.kind != Value::Kind::Object) return fmt::format("a placement is words or an object, not {}", kind_name(value.kind));
  const Value* shard = value.find("shard");
  if (shard && (shard->kind == Value::Kind::Int || value.find("axis"))) return read_shard_object(value, mesh, -1, out);
  const Value* scale = value.find("scale");
  if (scale && value.find("of")) {
    if (std::string e = known_keys(value, {"scale", "of"}); !e.empty()) return e;
    Step step;
    step.kind = Step::Kind::Scale;
    std::string text = scale->kind == Value::Kind::Int ? std::to_string(scale->i) : scale->s;
    if (std::string e = read_fraction(text, step.numerator, step.denominator); !e.empty()) return e;
    out.push_back(step);
    return read_steps(*value.find("of"), mesh, out, depth + 1);
  }
  std::vector<const Value*> per_axis(mesh.axes.size());
  for (const auto& [key, item] : value.members) {
    int axis = mesh.axis_index(key);
    if (axis < 0) return fmt::format("unknown mesh axis \"{}\" ({})", key, axis_names(mesh));
    per_axis[static_cast<size_t>(axis)] = &item;
  }
  for (size_t axis = 0; axis < per_axis.size(); ++axis) {
    const Value* item = per_axis[axis];
    if (!item) continue;
    std::string error;
    if (item->kind == Value::Kind::String)
      error = read_words(item->s, mesh, static_cast<int>(axis), out);
    else if (item->kind == Value::Kind::Object && item->find("shard"))
      error = read_shard_object(*item, mesh, static_cast<int>(axis), out);
    else
      error = fmt::format("axis \"{}\" needs a word or an object with \"shard\"", mesh.axes[axis].name);
    if (!error.empty()) return error;
  }
  return "";
}

}  // namespace

int64_t axes_size(const Step& step, const Mesh& mesh) {
  int64_t size = 1;
  for (int axis : step.axes) size *= mesh.axes[static_cast<size_t>(axis)].size;
  return size;
}

std::string read_words(std::string_view text, const Mesh& mesh, int axis, std::vector<Step>& out) {
  std::vector<std::string_view> words = split(text);
  if (axis >= 0 && words.size() != 1) return fmt::format("\"{}\": one word an axis", text);
  for (std::string_view word : words) {
    if (word.empty()) return fmt::format("\"{}\": an empty placement", text);
    if (std::string e = read_word(word, mesh, axis, out); !e.empty()) return e;
  }
  return "";
}

std::string read_placement(const Value& value, const Mesh& mesh, bool any, Placement& out) {
  if (value.kind == Value::Kind::String && trim(value.s) == "any") {
    if (!any) return "\"any\" is no placement of an input";
    out.kind = Placement::Kind::Any;
    return "";
  }
  auto add_term = [&](const Value& item) {
    Term term;
    if (std::string e = read_term(item.s, term); !e.empty()) return fmt::format("\"{}\": {}", item.s, e);
    out.kind = Placement::Kind::Terms;
    out.terms.push_back(std::move(term));
    return std::string();
  };
  if (value.kind == Value::Kind::Array) {
    if (value.items.empty()) return "a list of terms must not be empty";
    for (const Value& item : value.items) {
      if (item.kind != Value::Kind::String || !is_term(item.s)) return "a list holds free terms, such as \"concat(0, r0.x, r1.x)\"";
      if (std::string e = add_term(item); !e.empty()) return e;
    }
    return "";
  }
  if (value.kind == Value::Kind::String && is_term(value.s)) return add_term(value);
  out.kind = Placement::Kind::Steps;
  if (std::string e = read_steps(value, mesh, out.steps, 0); !e.empty()) return e;
  return check_steps(out.steps, mesh);
}

}  // namespace shardproof::manifest
