// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Free terms over the ranks' inputs. A term built of views alone, each name once, is read backwards: the sequential input is free and
// the ranks' inputs are its pieces. Otherwise the names are free and the sequential input is computed from them.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "link/linker.h"
#include "manifest/placement.h"

namespace shardproof::link {

using manifest::Term;

namespace {

bool views_only(const Term& term, std::set<std::pair<int64_t, std::string>>& seen) {
  if (term.kind == Term::Kind::Name) return seen.insert({term.rank, term.name}).second;
  if (term.kind == Term::Kind::Slice || term.kind == Term::Kind::Sum) return false;
  return std::all_of(term.items.begin(), term.items.end(), [&](const Term& t) { return views_only(t, seen); });
}

void leaves(const Term& term, std::vector<const Term*>& out) {
  if (term.kind == Term::Kind::Name) out.push_back(&term);
  for (const Term& item : term.items) leaves(item, out);
}

}  // namespace

std::string Linker::term_shape(const Term& term, int64_t rank, ir::Shape& shape, ir::DType& dtype) const {
  if (term.kind == Term::Kind::Name) {
    size_t r = static_cast<size_t>(term.rank >= 0 ? term.rank : rank);
    int d = input_names_.at(ranks_[r].get())->find(term.name);
    if (d < 0) return fmt::format("rank {} has no input \"{}\"", r, term.name);
    const ir::Node& node = ranks_[r]->graph[ranks_[r]->inputs[static_cast<size_t>(d)].node];
    shape = node.shape;
    dtype = node.dtype;
    return "";
  }
  std::vector<ir::Shape> shapes(term.items.size());
  std::vector<ir::DType> dtypes(term.items.size());
  for (size_t k = 0; k < term.items.size(); ++k) {
    if (std::string e = term_shape(term.items[k], rank, shapes[k], dtypes[k]); !e.empty()) return e;
    if (dtypes[k] != dtypes[0]) return "its parts have different element types";
  }
  shape = shapes[0];
  dtype = dtypes[0];
  int64_t n = static_cast<int64_t>(shape.size());
  switch (term.kind) {
    case Term::Kind::Concat: {
      int64_t d = term.numbers[0];
      if (d < 0 || d >= n) return fmt::format("concat along dimension {} of tensors of rank {}", d, n);
      for (size_t k = 1; k < shapes.size(); ++k) {
        ir::Shape other = shapes[k];
        if (other.size() != shape.size()) return "concat of tensors of different rank";
        shape[static_cast<size_t>(d)] += other[static_cast<size_t>(d)];
        other[static_cast<size_t>(d)] = shape[static_cast<size_t>(d)];
        if (other != shape) return fmt::format("concat of shapes {} and {}", shape_text(shapes[0]), shape_text(shapes[k]));
      }
      return "";
    }
    case Term::Kind::Slice: {
      int64_t d = term.numbers[0], start = term.numbers[1], end = term.numbers[2];
      if (d < 0 || d >= n || start < 0 || end < start || end > shape[static_cast<size_t>(d)])
        return fmt::format("slice {}..{} of dimension {} of shape {}", start, end, d, shape_text(shape));
      shape[static_cast<size_t>(d)] = end - start;
      return "";
    }
    case Term::Kind::Transpose: {
      std::vector<int64_t> sorted = term.numbers;
      std::sort(sorted.begin(), sorted.end());
      for (int64_t k = 0; k < static_cast<int64_t>(sorted.size()); ++k)
        if (sorted[static_cast<size_t>(k)] != k) return "transpose needs a permutation of the dimensions";
      if (static_cast<int64_t>(sorted.size()) != n)
        return fmt::format("transpose by {} dimensions of a tensor of rank {}", sorted.size(), n);
      for (size_t k = 0; k < term.numbers.size(); ++k) shape[k] = shapes[0][static_cast<size_t>(term.numbers[k])];
      return "";
    }
    case Term::Kind::Reshape: {
      int64_t total = 1;
      for (int64_t s : term.numbers) {
        if (s < 0 || s > (int64_t{1} << 40)) return "reshape needs sizes";
        total = total > (int64_t{1} << 50) ? total : total * s;
      }
      if (total != ir::num_elements(shape)) return fmt::format("reshape of {} changes the number of elements", shape_text(shape));
      shape = term.numbers;
      return "";
    }
    case Term::Kind::Sum:
      for (const ir::Shape& s : shapes)
        if (s != shape) return fmt::format("sum of shapes {} and {}", shape_text(shape), shape_text(s));
      return ir::is_float(dtype) || ir::is_int(dtype) ? "" : "sum of tensors that are no numbers";
    case Term::Kind::Scale: return ir::is_float(dtype) ? "" : "scale needs floating point";
    case Term::Kind::Name: break;
  }
  return "";
}

// The value of a term over inputs that have values.
ir::NodeId Linker::term_value(const Term& term, int64_t rank) {
  if (term.kind == Term::Kind::Name) {
    size_t r = static_cast<size_t>(term.rank >= 0 ? term.rank : rank);
    return dist_value_[r][static_cast<size_t>(names(ranks_[r], false).find(term.name))];
  }
  std::vector<ir::NodeId> xs;
  for (const Term& item : term.items) xs.push_back(term_value(item, rank));
  switch (term.kind) {
    case Term::Kind::Concat: return b_.concat(xs, term.numbers[0]);
    case Term::Kind::Slice: return b_.slice_dim(xs[0], term.numbers[0], term.numbers[1], term.numbers[2]);
    case Term::Kind::Transpose: return b_.transpose(xs[0], term.numbers);
    case Term::Kind::Reshape: return b_.reshape(xs[0], term.numbers);
    case Term::Kind::Sum: return b_.map(ir::Fn::Add, xs, b_.dtype(xs[0]));
    case Term::Kind::Scale: return scaled(b_, xs[0], term.numbers[0], term.numbers[1]);
    case Term::Kind::Name: break;
  }
  SP_CHECK(false);
  return ir::kNoNode;
}

// Gives the names of a term their pieces of `node`, the term's value.
std::string Linker::push_inverse(const Term& term, int64_t rank, ir::NodeId node) {
  switch (term.kind) {
    case Term::Kind::Name: {
      size_t r = static_cast<size_t>(term.rank >= 0 ? term.rank : rank);
      ir::NodeId& slot = dist_value_[r][static_cast<size_t>(names(ranks_[r], false).find(term.name))];
      if (slot != ir::kNoNode && slot != node) return fmt::format("input \"{}\" of rank {} is determined twice", term.name, r);
      slot = node;
      return "";
    }
    case Term::Kind::Concat: {
      int64_t at = 0;
      for (const Term& item : term.items) {
        ir::Shape shape;
        ir::DType dtype;
        if (std::string e = term_shape(item, rank, shape, dtype); !e.empty()) return e;
        int64_t size = shape[static_cast<size_t>(term.numbers[0])];
        if (std::string e = push_inverse(item, rank, b_.slice_dim(node, term.numbers[0], at, at + size)); !e.empty()) return e;
        at += size;
      }
      return "";
    }
    case Term::Kind::Transpose: {
      std::vector<int64_t> inverse(term.numbers.size());
      for (size_t k = 0; k < term.numbers.size(); ++k) inverse[static_cast<size_t>(term.numbers[k])] = static_cast<int64_t>(k);
      return push_inverse(term.items[0], rank, b_.transpose(node, inverse));
    }
    case Term::Kind::Reshape: {
      ir::Shape shape;
      ir::DType dtype;
      if (std::string e = term_shape(term.items[0], rank, shape, dtype); !e.empty()) return e;
      return push_inverse(term.items[0], rank, b_.reshape(node, shape));
    }
    case Term::Kind::Scale: {
      int64_t n = term.numbers[0], d = term.numbers[1];
      return push_inverse(term.items[0], rank, n < 0 ? scaled(b_, node, -d, -n) : scaled(b_, node, d, n));
    }
    default: return "this term cannot be read backwards";
  }
}

Failure Linker::relate_term(Input& input) {
  const frontend::Input& in = seq_->inputs[static_cast<size_t>(input.index)];
  const ir::Node& declared = seq_->graph[in.node];
  const ir::Shape shape = declared.shape;
  const ir::DType dtype = declared.dtype;
  auto fail = [&](const std::string& message) {
    return error("SP205", fmt::format("placement of input \"{}\": {}", in.name, message), input.key);
  };
  struct Instance {
    const Term* term;
    int64_t rank;
  };
  std::vector<Instance> backwards, forwards;
  bool free = true;
  for (const Term& term : input.placement.terms) {
    std::set<std::pair<int64_t, std::string>> seen;
    std::vector<const Term*> names_used;
    leaves(term, names_used);
    bool ranked = std::all_of(names_used.begin(), names_used.end(), [](const Term* t) { return t->rank >= 0; });
    std::vector<int64_t> ranks;
    if (ranked) {
      ranks = {0};
    } else {
      for (size_t r = 0; r < ranks_.size(); ++r) {
        bool all = std::all_of(names_used.begin(), names_used.end(), [&](const Term* t) {
          return names(ranks_[t->rank >= 0 ? static_cast<size_t>(t->rank) : r], false).find(t->name) >= 0;
        });
        if (all) ranks.push_back(static_cast<int64_t>(r));
      }
    }
    if (ranks.empty()) return fail(fmt::format("no rank has all inputs of \"{}\"", to_string(term)));
    bool invertible = views_only(term, seen);
    for (int64_t r : ranks) {
      ir::Shape s;
      ir::DType t;
      if (std::string e = term_shape(term, r, s, t); !e.empty()) return fail(fmt::format("\"{}\": {}", to_string(term), e));
      if (s != shape || t != dtype)
        return error("SP208",
                     fmt::format("\"{}\" gives {} {}, but input \"{}\" is {} {}", to_string(term), ir::name(t), shape_text(s), in.name,
                                 ir::name(dtype), shape_text(shape)),
                     input.key);
      // A name that already has a value (it stands in another input's term, too) makes this input a function of it.
      bool fresh = std::all_of(names_used.begin(), names_used.end(), [&](const Term* x) {
        size_t k = static_cast<size_t>(x->rank >= 0 ? x->rank : r);
        return dist_value_[k][static_cast<size_t>(names(ranks_[k], false).find(x->name))] == ir::kNoNode;
      });
      if (invertible && fresh) {
        backwards.push_back({&term, r});
      } else {
        if (ranks.size() > 1 && !invertible)
          return fail(fmt::format("\"{}\" has names on several ranks; say which, as in r0.x", to_string(term)));
        forwards.push_back({&term, r});
        free = false;
      }
    }
  }
  if (free) {
    input.node = b_.input(in.name, dtype, shape);
    out.free_inputs.push_back(input.node);
  } else {
    if (forwards.size() > 1) return fail("several terms compute the input from others; only one of them may");
    std::vector<const Term*> names_used;
    leaves(*forwards[0].term, names_used);
    for (const Term* t : names_used) {
      size_t r = static_cast<size_t>(t->rank >= 0 ? t->rank : forwards[0].rank);
      int d = names(ranks_[r], false).find(t->name);
      ir::NodeId& slot = dist_value_[r][static_cast<size_t>(d)];
      if (slot != ir::kNoNode) continue;
      const ir::Node& node = ranks_[r]->graph[ranks_[r]->inputs[static_cast<size_t>(d)].node];
      slot = b_.input(fmt::format("r{}.{}", r, t->name), node.dtype, node.shape);
      out.free_inputs.push_back(slot);
    }
    input.node = term_value(*forwards[0].term, forwards[0].rank);
  }
  for (const Instance& i : backwards)
    if (std::string e = push_inverse(*i.term, i.rank, input.node); !e.empty())
      return fail(fmt::format("\"{}\": {}", to_string(*i.term), e));
  for (size_t r = 0; r < ranks_.size(); ++r) {  // for reports: the first name on each rank
    std::vector<const Term*> names_used;
    for (const Term& term : input.placement.terms) leaves(term, names_used);
    for (const Term* t : names_used)
      if (input.dist[r] < 0 && (t->rank < 0 || t->rank == static_cast<int64_t>(r))) input.dist[r] = names(ranks_[r], false).find(t->name);
  }
  return std::nullopt;
}

}  // namespace shardproof::link
