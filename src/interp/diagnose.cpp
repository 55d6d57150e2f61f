// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Says what wrong values are: a multiple, partial sums, pieces of other ranks, shifted rows, zeros, something counted twice. Every sentence
// is read off the numbers of the witness; where nothing fits it only says that they differ.
//
// Codes: SP101 wrong scale, SP102 redundant reduction, SP103 missing reduction, SP104 wrong shard or order, SP105 zeros where values
// belong, SP106 ranks disagree, SP107 something counted several times, SP108 microbatches that are not added up
// (blame_route.cpp), SP109 another difference.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "interp/blame.h"

namespace shardproof::interp {
namespace {

constexpr double kTolerance = 1e-6;

// Values on common axes as plain numbers, and how often each element counts.
struct Aligned {
  std::vector<std::vector<double>> v;
  std::vector<Axis> axes;
  double scale = 0;  // of the first
  bool ok = false;
};

Aligned align(const std::vector<const Value*>& values) {
  Aligned out;
  std::vector<Value> held;
  for (const Value* v : values) {
    if (!v || v->axes.size() != values[0]->axes.size() || v->shape() != values[0]->shape()) return out;
    held.push_back(*v);
  }
  try {
    out.axes = to_common_axes(held);
    for (Axis& a : out.axes) a = a.straight();  // places are told as ranges
    for (Value& v : held) v = refine(v, out.axes);
  } catch (const EvalError&) {
    return out;
  }
  for (const Value& v : held) {
    std::vector<double> numbers;
    for (size_t k = 0; k < v.data->size; ++k) {
      const Buffer& b = *v.data;
      const double x = b.number == Number::Integer ? static_cast<double>(b.i[k]) : b.m[k];
      if (b.state_at(k) != State::Fine || !std::isfinite(x)) return out;
      numbers.push_back(x);
    }
    out.v.push_back(std::move(numbers));
  }
  for (double x : out.v[0]) out.scale = std::max(out.scale, std::fabs(x));
  out.ok = true;
  return out;
}

constexpr double kSame = 1e-10;  // values that agree; kTolerance: multiples and sums, which say what kind of error it is

bool all_close(const std::vector<double>& x, const std::vector<double>& y, double scale) {
  for (size_t k = 0; k < x.size(); ++k) {
    if (std::fabs(x[k] - y[k]) > kSame * scale) return false;
  }
  return true;
}

bool simple_ratio(double c) {
  for (int q = 1; q <= 64; ++q) {
    const double p = std::round(c * q);
    if (p != 0 && std::fabs(p) <= 64 && std::fabs(c - p / q) < 1e-9 * std::fabs(c)) return true;
  }
  return false;
}

// c with d = c * s, if there is one.
std::optional<double> factor(const std::vector<double>& s, const std::vector<double>& d, double scale) {
  double dot = 0, norm = 0;
  for (size_t k = 0; k < s.size(); ++k) {
    dot += s[k] * d[k];
    norm += s[k] * s[k];
  }
  if (norm == 0) return std::nullopt;
  const double c = dot / norm;
  for (size_t k = 0; k < s.size(); ++k) {
    if (std::fabs(d[k] - c * s[k]) > kTolerance * std::max(1.0, std::fabs(c)) * scale) return std::nullopt;
  }
  // Of a single number any other is a multiple: then only simple factors mean something. And a factor this near 1 is another kind of
  // difference.
  if (s.size() == 1 && !simple_ratio(c)) return std::nullopt;
  if (c != 1 && std::fabs(c - 1) < 1e-4) return std::fabs(c - 1) < 1e-9 ? std::optional<double>(1.0) : std::nullopt;
  return c;
}

std::string rational(double c) {
  for (int q = 1; q <= 64; ++q) {
    const double p = std::round(c * q);
    if (p != 0 && std::fabs(p) < 1e6 && std::fabs(c - p / q) < 1e-9 * std::fabs(c))
      return q == 1 ? fmt::format("{}", p) : fmt::format("{}/{}", p, q);
  }
  return fmt::format("{:.9g}", c);
}

int64_t size_of(const manifest::Mesh& mesh, unsigned axes) {
  int64_t size = 1;
  for (size_t a = 0; a < mesh.axes.size(); ++a) size *= (axes >> a & 1) ? mesh.axes[a].size : 1;
  return size;
}

std::string words(const manifest::Mesh& mesh, unsigned axes) {
  std::string out;
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    if (axes >> a & 1) out += (out.empty() ? "" : ", ") + mesh.axes[a].name;
  }
  return out;
}

// Axis sets with more than one rank, small first.
std::vector<unsigned> axis_sets(const manifest::Mesh& mesh) {
  std::vector<unsigned> out;
  const unsigned count = 1u << std::min<size_t>(mesh.axes.size(), 6);
  for (unsigned a = 1; a < count; ++a) {
    if (size_of(mesh, a) > 1) out.push_back(a);
  }
  std::stable_sort(out.begin(), out.end(), [](unsigned x, unsigned y) { return __builtin_popcount(x) < __builtin_popcount(y); });
  return out;
}

int64_t coordinate_of(const manifest::Mesh& mesh, unsigned axes, int64_t rank) {
  int64_t c = 0;
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    if (axes >> a & 1) c = c * mesh.axes[a].size + mesh.coordinate(rank, static_cast<int>(a));
  }
  return c;
}

bool is_view(ir::Op op) {
  return op == ir::Op::Transpose || op == ir::Op::Reshape || op == ir::Op::Slice || op == ir::Op::Broadcast || op == ir::Op::Reverse;
}

class Diagnoser {
 public:
  Diagnoser(const link::Problem& problem, const Evaluator& evaluator, const link::Output& output, ir::NodeId sequential,
            const Family& family)
      : p_(problem), e_(evaluator), output_(output), s_(sequential), s_value_(*evaluator.get(sequential)) {
    for (size_t r = 0; r < family.nodes.size(); ++r) {
      const ir::NodeId id = family.nodes[r];
      if (id == ir::kNoNode || !e_.get(id)) continue;
      ranks_.push_back(static_cast<int64_t>(r));
      nodes_.push_back(id);
      values_.push_back(e_.get(id));
    }
    is_target_ = sequential == output.sequential;
  }

  Diagnosis run() {
    Diagnosis d;
    d.kind = "wrong-value";
    d.code = "SP109";
    if (values_.empty()) {
      d.explanation = "no distributed tensor corresponds to it";
      return d;
    }
    name_ = p_.graph[nodes_[0]].label;
    const bool whole = std::all_of(values_.begin(), values_.end(), [&](const Value* v) { return v->shape() == s_value_.shape(); });
    if (whole ? on_whole(d) : on_pieces(d)) return d;
    d.explanation = whole ? describe_difference() : shapes_differ();
    return d;
  }

 private:
  int64_t size_of(unsigned axes) const { return shardproof::interp::size_of(p_.mesh, axes); }
  std::string words(unsigned axes) const { return shardproof::interp::words(p_.mesh, axes); }
  std::vector<unsigned> axis_sets() const { return shardproof::interp::axis_sets(p_.mesh); }
  // The ranks of one group along `axes` that contains the first rank; empty if some have no value. Positions into values_.
  std::vector<std::vector<size_t>> groups(unsigned axes) const {
    std::map<int64_t, std::vector<size_t>> by_key;
    for (size_t k = 0; k < ranks_.size(); ++k) by_key[group_of(p_.mesh, ranks_[k], axes)].push_back(k);
    std::vector<std::vector<size_t>> out;
    for (auto& [key, list] : by_key) {
      if (static_cast<int64_t>(list.size()) != size_of(axes)) return {};
      out.push_back(list);
    }
    return out;
  }

  std::string missing_kind() const {
    return output_.role == manifest::Role::Gradient ? "missing-gradient-all-reduce" : "missing-all-reduce";
  }
  void scale_words(Diagnosis& d, double c, const std::string& what) const {
    describe_multiple(p_, c, what, s_value_.axes.empty() && !is_target_, d);
  }

  bool on_whole(Diagnosis& d) {
    std::vector<const Value*> all{&s_value_};
    all.insert(all.end(), values_.begin(), values_.end());
    const Aligned a = align(all);
    if (!a.ok) return false;
    const auto& s = a.v[0];
    std::vector<bool> right;
    for (size_t k = 1; k < a.v.size(); ++k) right.push_back(all_close(s, a.v[k], a.scale));
    const size_t count = static_cast<size_t>(std::count(right.begin(), right.end(), true));
    if (count == right.size()) {
      d.kind = "wrong-layout";
      d.code = "SP104";
      d.explanation = fmt::format("{} still holds the sequential value; it is not what the expectation asks for", name_);
      return true;
    }
    // the same multiple everywhere
    const auto c = factor(s, a.v[1], a.scale);
    bool same = c.has_value() && std::fabs(*c) > 1e-9;
    for (size_t k = 2; k < a.v.size() && same; ++k) {
      const auto other = factor(s, a.v[k], a.scale);
      same = other && std::fabs(*other - *c) < 1e-6 * std::fabs(*c);
    }
    if (same) {
      scale_words(d, *c, name_);
      return true;
    }
    if (partial_sums(d, a)) return true;
    if (count > 0) {
      std::string wrong;
      for (size_t k = 0; k < right.size(); ++k) {
        if (!right[k]) wrong += fmt::format("{}{}", wrong.empty() ? "" : ", ", ranks_[k]);
      }
      d.code = "SP106";
      d.kind = output_.role == manifest::Role::Updated ? "unsynchronised-state" : "ranks-disagree";
      d.explanation = fmt::format("{} is right on some ranks and wrong on rank {}", name_, wrong);
      return true;
    }
    return double_count(d, a) || zeros(d, a, 1) || moved(d, a);
  }

  // What the ranks' values along `axes` add up to, in multiples of the sequential one, where the output is expected to be partial there;
  // else 0.
  double expected_sum(unsigned axes) const {
    if (output_.expect.kind != manifest::Placement::Kind::Steps || output_.expect.steps.empty()) return 0;
    unsigned covered = 0;
    double sum = 1;
    for (const manifest::Step& s : output_.expect.steps) {
      const bool adds = s.op == manifest::ReduceOp::Sum || s.op == manifest::ReduceOp::Avg;
      if (s.kind != manifest::Step::Kind::Partial || !adds) return 0;
      for (int a : s.axes) {
        covered |= 1U << a;
        if (s.op == manifest::ReduceOp::Avg) sum *= static_cast<double>(p_.mesh.axes[static_cast<size_t>(a)].size);
      }
    }
    return covered == axes ? sum : 0;
  }

  // Sums over ranks along some axes give the sequential value (or a multiple of it).
  bool partial_sums(Diagnosis& d, const Aligned& a) {
    for (unsigned axes : axis_sets()) {
      const auto gs = groups(axes);
      if (gs.empty()) continue;
      std::optional<double> c;
      bool fine = true, all_equal = true;
      for (const auto& g : gs) {
        std::vector<double> sum(a.v[0].size(), 0);
        for (size_t k : g) {
          for (size_t i = 0; i < sum.size(); ++i) sum[i] += a.v[k + 1][i];
          all_equal = all_equal && all_close(a.v[k + 1], a.v[g[0] + 1], a.scale);
        }
        const auto f = factor(a.v[0], sum, a.scale * static_cast<double>(g.size()));
        fine = fine && f && std::fabs(*f) > 1e-9 && (!c || std::fabs(*c - *f) < 1e-6 * std::fabs(*c));
        c = f;
      }
      if (!fine || all_equal) continue;
      // Asked for as a partial value, and partial it is: then only its size is wrong.
      if (const double asked = is_target_ ? expected_sum(axes) : 0; asked != 0 && std::fabs(*c - asked) > 1e-6 * asked) {
        d.code = "SP101";
        d.kind = "wrong-scale";
        d.explanation = fmt::format("{} adds up over {} to {} times what is expected of it", name_, words(axes), rational(*c / asked));
        d.repair = fmt::format("multiply {} by {}", name_, rational(asked / *c));
        return true;
      }
      d.code = "SP103";
      d.kind = missing_kind();
      const double n = static_cast<double>(size_of(axes));
      if (std::fabs(*c - 1) < 1e-6) {
        d.explanation = fmt::format("{} is a partial sum over {}: the ranks' values add up to the sequential one", name_, words(axes));
        d.repair = fmt::format("all_reduce(sum, {}) after {}", words(axes), name_);
      } else if (std::fabs(*c - n) < 1e-6 * n) {
        d.explanation = fmt::format("{} was not averaged over {}: the mean of the ranks' values is the sequential one", name_, words(axes));
        d.repair = fmt::format("all_reduce(avg, {}) after {}", words(axes), name_);
      } else {
        d.explanation =
            fmt::format("{} is partial over {}: the ranks' values add up to {} times the sequential one", name_, words(axes), rational(*c));
        d.repair = fmt::format("all_reduce(sum, {}) after {}, and a factor {}", words(axes), name_, rational(1 / *c));
      }
      return true;
    }
    return false;
  }

  // The difference is a multiple of one of the operator's operands: a bias or residual counted on every rank, before or after the
  // reduction.
  bool double_count(Diagnosis& d, const Aligned& a) {
    if (counted(d, a.v[1], a, "")) return true;
    for (unsigned axes : axis_sets()) {
      const auto gs = groups(axes);
      if (gs.empty()) continue;
      std::vector<double> sum(a.v[0].size(), 0);
      for (size_t k : gs[0]) {
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += a.v[k + 1][i];
      }
      if (counted(d, sum, a, ", summed over " + words(axes) + ",")) return true;
    }
    return false;
  }
  bool counted(Diagnosis& d, const std::vector<double>& got, const Aligned& a, const std::string& how) {
    const double first = got.empty() ? 0 : got[0] - a.v[0][0];
    bool constant =
        got.size() > 1 && how.empty() && std::fabs(first) > 1e-6 * a.scale && p_.graph[s_].source_op.find("add") != std::string::npos;
    for (size_t i = 0; i < got.size() && constant; ++i)
      constant = std::fabs(got[i] - a.v[0][i] - first) <= 1e-9 * (a.scale + std::fabs(first));
    if (constant) {
      d.code = "SP107";
      d.kind = "bias-double-count";
      d.explanation = fmt::format("{} is the sequential value {:+.9g} everywhere", name_, first);
      d.repair = "add the number after the reduction";
      return true;
    }
    std::vector<ir::NodeId> stack(p_.graph[s_].in.begin(), p_.graph[s_].in.end());
    for (size_t seen = 0; seen < 24 && seen < stack.size(); ++seen) {
      const ir::NodeId x = stack[seen];
      const ir::Node& n = p_.graph[x];
      if (p_.side[x] >= 0) continue;
      if (n.label == p_.graph[s_].label) stack.insert(stack.end(), n.in.begin(), n.in.end());  // inside the operator
      if (!ir::is_float(n.dtype) || n.shape.size() > a.axes.size() || n.shape.empty()) continue;
      const Value* v = e_.get(x);
      if (!v) continue;
      Value wide = *v;  // broadcast along leading dimensions
      const size_t extra = a.axes.size() - v->axes.size();
      wide.axes.clear();
      for (size_t k = 0; k < extra; ++k) wide.axes.push_back(Axis::whole(a.axes[k].extent()));
      wide.axes.insert(wide.axes.end(), v->axes.begin(), v->axes.end());
      if (wide.shape() != s_value_.shape()) continue;
      // `wide` and the differences on common axes
      Buffer rest = Buffer::make(Number::Interval, got.size());
      for (size_t i = 0; i < got.size(); ++i) rest.set(i, {got[i] - a.v[0][i], 0});
      const Value difference = make_value(ir::DType::F64, a.axes, std::move(rest));
      const Aligned both = align({&difference, &wide});
      if (!both.ok) continue;
      double size = a.scale;
      const auto c = factor(both.v[1], both.v[0], std::max(size, both.scale));
      if (!c || std::fabs(*c) < 1e-3) continue;
      // A view inside the operator is named after what it shows.
      ir::NodeId base = x;
      while (p_.graph[base].op != ir::Op::Input && p_.graph[base].label == p_.graph[s_].label && p_.graph[base].in.size() == 1 &&
             is_view(p_.graph[base].op)) {
        base = p_.graph[base].in[0];
      }
      const ir::Node& shown = p_.graph[base];
      if (shown.op != ir::Op::Input && shown.label == p_.graph[s_].label) continue;
      const std::string name = shown.op == ir::Op::Input ? shown.name : shown.label;
      d.code = "SP107";
      d.kind = "bias-double-count";
      d.counted = x;
      d.times = *c;
      d.summed = !how.empty();
      d.explanation = *c > 0 ? fmt::format("{}{} contains {} {} times more than the sequential value", name_, how, name, rational(*c))
                             : fmt::format("{}{} contains {} {} times less than the sequential value", name_, how, name, rational(-*c));
      d.repair = fmt::format("add {} after the reduction, or on one rank only", name);
      return true;
    }
    return false;
  }

  // Boxes of zeros where the sequential value has none.
  bool zeros(Diagnosis& d, const Aligned& a, size_t which) {
    const auto &s = a.v[0], &x = a.v[which];
    for (size_t dim = 0; dim < a.axes.size(); ++dim) {
      size_t inner = 1;
      const size_t blocks = static_cast<size_t>(a.axes[dim].blocks());
      for (size_t e = dim + 1; e < a.axes.size(); ++e) inner *= static_cast<size_t>(a.axes[e].blocks());
      std::vector<bool> zero(blocks, true), meant(blocks, false);
      bool rest_right = true;
      for (size_t i = 0; i < s.size(); ++i) {
        const size_t at = i / inner % blocks;
        if (x[i] != 0) zero[at] = false;
        if (s[i] != 0) meant[at] = true;
      }
      std::string where;
      for (size_t k = 0; k < blocks; ++k) {
        if (!zero[k] || !meant[k]) continue;
        size_t last = k;
        while (last + 1 < blocks && zero[last + 1] && meant[last + 1]) ++last;
        where += fmt::format("{}{}..{}", where.empty() ? "" : ", ", a.axes[dim].start(static_cast<int64_t>(k)),
                             a.axes[dim].end(static_cast<int64_t>(last)) - 1);
        k = last;
      }
      for (size_t i = 0; i < s.size() && rest_right; ++i) {
        rest_right = zero[i / inner % blocks] || std::fabs(s[i] - x[i]) <= kTolerance * a.scale;
      }
      if (where.empty() || !rest_right) continue;
      d.code = "SP105";
      d.kind = "slice-offset-padding";
      d.explanation = fmt::format("{} is zero at {} of dimension {} where the sequential value is not", name_, where, dim);
      return true;
    }
    return false;
  }

  // The right numbers at other places along one dimension.
  bool moved(Diagnosis& d, const Aligned& a) {
    for (size_t dim = 0; dim < a.axes.size(); ++dim) {
      const int64_t n = a.axes[dim].extent();
      if (n < 2 || n > 4096) continue;
      const Value s = refine_dim(s_value_, dim, Axis::unit(n)), x = refine_dim(*values_[0], dim, Axis::unit(n));
      const Aligned b = align({&s, &x});
      if (!b.ok || b.v[0].size() > 2000000) continue;
      size_t inner = 1;
      for (size_t e = dim + 1; e < b.axes.size(); ++e) inner *= static_cast<size_t>(b.axes[e].blocks());
      const auto hash = [&](const std::vector<double>& v) {  // one number per position along dim
        std::vector<double> out(static_cast<size_t>(n), 0);
        for (size_t i = 0; i < v.size(); ++i) {
          const size_t at = i / inner % static_cast<size_t>(n), other = i % inner + i / inner / static_cast<size_t>(n) * inner;
          out[at] += v[i] * (1 + 0.618 * static_cast<double>(other % 97));
        }
        return out;
      };
      const std::vector<double> hs = hash(b.v[0]), hx = hash(b.v[1]);
      double scale = 0;
      for (double v : hs) scale = std::max(scale, std::fabs(v));
      const auto equal = [&](double p, double q) { return std::fabs(p - q) <= 1e-7 * scale; };
      for (int64_t shift = 1; shift < n; ++shift) {
        int64_t agree = 0;
        for (int64_t k = 0; k < n; ++k) agree += equal(hx[k], hs[(k + shift) % n]);
        if (agree < n && agree < n - std::min<int64_t>(shift, n - shift)) continue;
        const int64_t by = shift <= n / 2 ? shift : shift - n;
        d.code = "SP104";
        d.kind = "wrong-layout";
        d.explanation = fmt::format("{} is shifted by {} along dimension {}: position i holds what belongs to i{:+}", name_, by, dim, by);
        d.repair = fmt::format("correct the slice or offset along dimension {} by {}", dim, -by);
        return true;
      }
      std::vector<double> sorted_s = hs, sorted_x = hx;
      std::sort(sorted_s.begin(), sorted_s.end());
      std::sort(sorted_x.begin(), sorted_x.end());
      bool permuted = true;
      for (int64_t k = 0; k < n && permuted; ++k) permuted = equal(sorted_s[k], sorted_x[k]);
      if (permuted) {
        d.code = "SP104";
        d.kind = "wrong-layout";
        d.explanation = fmt::format("{} holds the right values in another order along dimension {}", name_, dim);
        d.repair = "gather and concatenate the shards in the order of their ranks";
        return true;
      }
    }
    return false;
  }

  // Every rank has a piece along one dimension: whose is it?
  bool on_pieces(Diagnosis& d) {
    const ir::Shape whole = s_value_.shape(), part = values_[0]->shape();
    if (part.size() != whole.size()) return false;
    for (size_t dim = 0; dim < whole.size(); ++dim) {
      if (part[dim] == whole[dim] || part[dim] == 0 || whole[dim] % part[dim] != 0) continue;
      bool one = true;
      for (size_t e = 0; e < whole.size(); ++e) one = one && (e == dim || part[e] == whole[e]);
      for (const Value* v : values_) one = one && v->shape() == part;
      const int64_t pieces = whole[dim] / part[dim];
      if (!one || pieces > 4096) continue;
      std::vector<int64_t> found;
      for (const Value* v : values_) {
        int64_t at = -1;
        for (int64_t k = 0; k < pieces && at < 0; ++k) {
          const Value expected = piece(dim, k * part[dim], part);
          const Aligned a = align({&expected, v});
          if (a.ok && all_close(a.v[0], a.v[1], a.scale)) at = k;
        }
        found.push_back(at);
      }
      for (unsigned axes : axis_sets()) {
        if (size_of(axes) != pieces) continue;
        if (pieces_of(d, dim, part, axes, found)) return true;
      }
    }
    return false;
  }
  Value piece(size_t dim, int64_t start, const ir::Shape& part) const {
    std::vector<int64_t> from(part.size(), 0), step(part.size(), 1);
    from[dim] = start;
    return slice_of(s_value_, from, step, part);
  }
  bool pieces_of(Diagnosis& d, size_t dim, const ir::Shape& part, unsigned axes, const std::vector<int64_t>& found) {
    const auto coordinate = [&](int64_t rank) { return coordinate_of(p_.mesh, axes, rank); };
    bool all = true, right = true;
    std::string who;
    for (size_t k = 0; k < found.size(); ++k) {
      all = all && found[k] >= 0;
      right = right && found[k] == coordinate(ranks_[k]);
      if (found[k] >= 0 && found[k] != coordinate(ranks_[k]))
        who += fmt::format("{}rank {} holds piece {} instead of {}", who.empty() ? "" : "; ", ranks_[k], found[k], coordinate(ranks_[k]));
    }
    if (all && right) {
      d.code = "SP104";
      d.kind = "wrong-layout";
      d.explanation =
          fmt::format("{} is cut along dimension {} over {}, which is not what the expectation asks for", name_, dim, words(axes));
      return true;
    }
    if (all) {
      d.code = "SP104";
      d.kind = "wrong-layout";
      d.explanation = fmt::format("{} holds pieces of other ranks along dimension {}: {}", name_, dim, who);
      return true;
    }
    // A multiple of the piece on every rank, or partial sums over the other axes.
    std::optional<double> c;
    bool same = true;
    for (size_t k = 0; k < values_.size() && same; ++k) {
      const Value expected = piece(dim, coordinate(ranks_[k]) * part[dim], part);
      const Aligned a = align({&expected, values_[k]});
      const auto f = a.ok ? factor(a.v[0], a.v[1], a.scale) : std::nullopt;
      same = f && std::fabs(*f) > 1e-9 && (!c || std::fabs(*c - *f) < 1e-6 * std::fabs(*c));
      c = f;
    }
    if (same && c) {
      scale_words(d, *c, name_ + " (each rank's piece)");
      return true;
    }
    for (unsigned others : axis_sets()) {
      if (others & axes) continue;
      const auto gs = groups(others);
      bool fine = !gs.empty();
      std::optional<double> total;
      for (const auto& g : gs) {
        const Value expected = piece(dim, coordinate(ranks_[g[0]]) * part[dim], part);
        std::vector<const Value*> list{&expected};
        for (size_t k : g) list.push_back(values_[k]);
        const Aligned a = align(list);
        if (!a.ok) return false;
        std::vector<double> sum(a.v[0].size(), 0);
        for (size_t q = 1; q < a.v.size(); ++q) {
          for (size_t i = 0; i < sum.size(); ++i) sum[i] += a.v[q][i];
        }
        const auto f = factor(a.v[0], sum, a.scale * static_cast<double>(g.size()));
        fine = fine && f && std::fabs(*f) > 1e-9 && (!total || std::fabs(*total - *f) < 1e-6 * std::fabs(*total));
        total = f;
        if (!fine) break;
      }
      if (!fine) continue;
      d.code = "SP103";
      d.kind = missing_kind();
      d.explanation = fmt::format("{} is a partial sum over {}: its values there add up to {}each rank's piece", name_, words(others),
                                  std::fabs(*total - 1) < 1e-6 ? "" : rational(*total) + " times ");
      d.repair = fmt::format("all_reduce(sum, {}) after {}", words(others), name_);
      return true;
    }
    return false;
  }

  std::string describe_difference() const {
    const Aligned a = align({&s_value_, values_[0]});
    if (!a.ok) return fmt::format("{} differs from the sequential value", name_);
    double worst = 0;
    int64_t count = 0;
    for (size_t i = 0; i < a.v[0].size(); ++i) {
      const double gap = std::fabs(a.v[0][i] - a.v[1][i]);
      worst = std::max(worst, gap);
      count += gap > kTolerance * a.scale;
    }
    return fmt::format("{} differs from the sequential value in {:.3g} % of the elements, by up to {:.2g} of its largest one", name_,
                       100.0 * static_cast<double>(count) / static_cast<double>(std::max<size_t>(a.v[0].size(), 1)),
                       a.scale > 0 ? worst / a.scale : worst);
  }
  std::string shapes_differ() const {
    return fmt::format("{} [{}] holds neither the sequential value [{}] nor a piece of it", name_, fmt::join(values_[0]->shape(), ", "),
                       fmt::join(s_value_.shape(), ", "));
  }

  const link::Problem& p_;
  const Evaluator& e_;
  const link::Output& output_;
  ir::NodeId s_;
  const Value& s_value_;
  bool is_target_ = false;
  std::vector<int64_t> ranks_;
  std::vector<ir::NodeId> nodes_;
  std::vector<const Value*> values_;
  std::string name_;
};

}  // namespace

void describe_multiple(const link::Problem& problem, double c, const std::string& name, bool loss, Diagnosis& d) {
  d.code = "SP101";
  d.kind = "wrong-scale";
  d.explanation = fmt::format("{} is {} times the sequential value", name, rational(c));
  d.repair = fmt::format("multiply {} by {}", name, rational(1 / c));
  for (unsigned a : axis_sets(problem.mesh)) {
    const int64_t n = size_of(problem.mesh, a);
    const std::string axes = words(problem.mesh, a);
    if (std::fabs(c - static_cast<double>(n)) < 1e-6 * static_cast<double>(n)) {
      d.code = "SP102";
      d.kind = loss ? "dp-average-scale" : "redundant-all-reduce";
      d.explanation += fmt::format(": the number of ranks along {} (summed once too often, or not averaged)", axes);
      d.repair = fmt::format("remove an all_reduce over {} before {}, or divide by {}", axes, name, n);
      return;
    }
    if (std::fabs(c * static_cast<double>(n) - 1) < 1e-6) {
      d.kind = "dp-average-scale";
      d.explanation += fmt::format(": divided by the number of ranks along {} once too often", axes);
      d.repair = fmt::format("multiply {} by {}, or use a sum instead of an average over {}", name, n, axes);
      return;
    }
  }
}

bool holds_in_order(const link::Problem& problem, const Value& sequential, const std::vector<const Value*>& per_rank, unsigned axes) {
  const ir::Shape whole = sequential.shape();
  const int64_t pieces = size_of(problem.mesh, axes);
  for (size_t r = 0; r < per_rank.size(); ++r) {
    const Value* v = per_rank[r];
    if (!v) continue;
    const ir::Shape part = v->shape();
    if (part.size() != whole.size()) return false;
    std::vector<int64_t> from(part.size(), 0), step(part.size(), 1);
    for (size_t e = 0; e < part.size(); ++e) {
      if (part[e] == whole[e]) continue;
      if (part[e] * pieces != whole[e]) return false;
      from[e] = coordinate_of(problem.mesh, axes, static_cast<int64_t>(r)) * part[e];
    }
    const Value expected = slice_of(sequential, from, step, part);
    const Aligned a = align({&expected, v});
    if (!a.ok || !all_close(a.v[0], a.v[1], a.scale)) return false;
  }
  return true;
}

Diagnosis diagnose(const link::Problem& problem, const Evaluator& evaluator, const link::Output& output, ir::NodeId sequential,
                   const Family& family) {
  return Diagnoser(problem, evaluator, output, sequential, family).run();
}

}  // namespace shardproof::interp
