// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What a small region (the body of a reduction, scatter, sort ...) computes. Names mean nothing: XLA calls a region that says `or` "add".
//
// Two ways. A region that is one binary operator on its parameters, perhaps between casts and annotations, is read off. A region that only
// compares, selects and combines truth values depends on nothing but the order of its arguments and of the constants in it; so it is run
// on enough sample numbers to meet every such order, which decides exactly what it does (argmax with any tie rule, comparators with
// canonicalised zeros and NaN ...). NaN is not among the samples: a comparison with it is undefined in the arithmetic of the proofs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lower/hlo_internal.h"

namespace shardproof::lower {
namespace {

using hlo::Computation;
using hlo::Instruction;
using ir::DType;
using ir::Fn;

constexpr size_t kMaxRegion = 128;  // instructions of a region that is sampled
constexpr size_t kMaxSamples = 200'000;

bool exact_float(const hlo::Type& t) { return ir::is_float(t.dtype) && t.dtype > DType::F8; }

bool is_scalar(const hlo::Type& t) { return !t.tuple && t.shape.empty(); }

// An instruction of scalars that passes its operand on.
bool passes(const Computation& comp, const Instruction& ins, const std::string& opcode) {
  if (ins.operands.empty() || !is_scalar(ins.type)) return false;
  const hlo::Type& from = comp.instructions[ins.operands[0]].type;
  if (opcode == "copy" || opcode == "sharding-constraint" || opcode == "optimization-barrier" || opcode == "opt-barrier") return true;
  if (opcode == "reshape" || opcode == "bitcast") return is_scalar(from) && from.dtype == ins.type.dtype;
  if (opcode == "custom-call") return is_identity_target(ins.custom_call_target) && ins.operands.size() == 1;
  if (opcode == "convert") return is_scalar(from) && exact_float(from) && exact_float(ins.type);  // exact by the rules for casts
  return false;
}

}  // namespace

std::optional<Combiner> HloLowering::combiner(uint32_t index, size_t component, size_t components) {
  const Computation& comp = computation(index);
  if (comp.parameters.size() != 2 * components || comp.root >= comp.instructions.size()) return std::nullopt;
  const auto resolve = [&](uint32_t k) {
    while (k < comp.instructions.size()) {
      const Instruction& ins = comp.instructions[k];
      if (!passes(comp, ins, normal_opcode(ins.opcode)) || ins.operands[0] >= k) break;
      k = ins.operands[0];
    }
    return k;
  };
  uint32_t root = comp.root;
  if (comp.instructions[root].opcode == "tuple") {
    if (comp.instructions[root].operands.size() != components) return std::nullopt;
    root = comp.instructions[root].operands[component];
  } else if (components != 1) {
    return std::nullopt;
  }
  root = resolve(root);
  if (root >= comp.instructions.size()) return std::nullopt;
  const Instruction& ins = comp.instructions[root];
  const auto side = [&](uint32_t k) -> int {  // 0: the operand on the left, 1: on the right
    k = resolve(k);
    if (k >= comp.instructions.size() || comp.instructions[k].opcode != "parameter") return -1;
    const int64_t number = comp.instructions[k].parameter_number;
    if (number == static_cast<int64_t>(component)) return 0;
    return number == static_cast<int64_t>(components + component) ? 1 : -1;
  };
  if (ins.opcode == "parameter") {
    const int which = side(root);
    if (which < 0) return std::nullopt;
    return Combiner{which == 0 ? Combiner::Kind::First : Combiner::Kind::Second, Fn::None};
  }
  if (ins.operands.size() == 2) {
    const int left = side(ins.operands[0]), right = side(ins.operands[1]);
    const std::string opcode = normal_opcode(ins.opcode);
    if (left == 0 && right == 1 && opcode == "subtract") return Combiner{Combiner::Kind::Subtract, Fn::None};
    if (left >= 0 && right >= 0 && left != right) {
      for (const auto& [name, fn] : {std::pair{"add", Fn::Add},
                                     {"multiply", Fn::Mul},
                                     {"maximum", Fn::Max},
                                     {"minimum", Fn::Min},
                                     {"and", Fn::And},
                                     {"or", Fn::Or}}) {
        if (opcode == name) return Combiner{Combiner::Kind::Fn, fn};
      }
    }
  }
  if (components != 1) return std::nullopt;
  const auto is_extreme = [&](bool max) {
    return order_holds(index, 2, [&](const std::vector<double>& v, const std::vector<double>& out) {
      return out.size() == 1 && out[0] == (max ? std::max(v[0], v[1]) : std::min(v[0], v[1]));
    });
  };
  if (is_extreme(true)) return Combiner{Combiner::Kind::Fn, Fn::Max};
  if (is_extreme(false)) return Combiner{Combiner::Kind::Fn, Fn::Min};
  return std::nullopt;
}

Fn HloLowering::need_reduction(const Call&, uint32_t index, size_t component, size_t components) {
  const auto how = combiner(index, component, components);
  if (!how || how->kind != Combiner::Kind::Fn) throw Unsupported{"its region is no sum, product, maximum, minimum, and/or"};
  return how->fn;
}

// --- regions that depend on order alone

// XLA writes the total order of floats as an order of integers: key = select(bits < 0, max - or xor - bits, bits), where `bits` are the
// float's. Marks the parts of that pattern: 1 = bits, 2 = bits with the value flipped, 3 = bits < 0, 4 = key. Keys compare as their floats
// do; the others may be used for nothing else, and a key may be compared with a key only.
std::vector<uint8_t> HloLowering::order_keys(uint32_t index) const {
  const Computation& comp = computation(index);
  const size_t n = comp.instructions.size();
  std::vector<uint8_t> part(n);
  std::vector<uint32_t> bits_of(n);
  const auto is_constant = [&](uint32_t k, int64_t v) {
    const Instruction& ins = comp.instructions[k];
    return ins.opcode == "constant" && ins.literal && ins.literal->size() == 1 && ir::is_int(ins.type.dtype) && ins.literal->front().i == v;
  };
  for (uint32_t i = 0; i < n; ++i) {
    const Instruction& ins = comp.instructions[i];
    if (ins.type.tuple || !ins.type.shape.empty() ||
        std::any_of(ins.operands.begin(), ins.operands.end(), [&](uint32_t k) { return k >= i; }))
      continue;
    const std::string opcode = normal_opcode(ins.opcode);
    const int width = ir::int_bits(ins.type.dtype);
    if ((opcode == "bitcast-convert" || opcode == "bitcast") && ins.operands.size() == 1 && ir::is_signed_int(ins.type.dtype)) {
      const hlo::Type& from = comp.instructions[ins.operands[0]].type;
      const bool fits = (from.dtype == DType::F32 && width == 32) || (from.dtype == DType::F64 && width == 64) ||
                        ((from.dtype == DType::F16 || from.dtype == DType::BF16) && width == 16);
      if (is_scalar(from) && fits) part[i] = 1;
    } else if (opcode == "xor" && ins.operands.size() == 2 && ir::is_signed_int(ins.type.dtype)) {
      const int64_t top = width == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (width - 1)) - 1;
      for (size_t k = 0; k < 2; ++k) {
        if (part[ins.operands[k]] == 1 && is_constant(ins.operands[1 - k], top)) {
          part[i] = 2;
          bits_of[i] = ins.operands[k];
        }
      }
    } else if (opcode == "compare" && ins.operands.size() == 2 && part[ins.operands[0]] == 1 && is_constant(ins.operands[1], 0) &&
               ins.direction == "LT") {
      part[i] = 3;
      bits_of[i] = ins.operands[0];
    } else if (opcode == "select" && ins.operands.size() == 3 && part[ins.operands[0]] == 3 && part[ins.operands[1]] == 2 &&
               part[ins.operands[2]] == 1 && bits_of[ins.operands[0]] == ins.operands[2] && bits_of[ins.operands[1]] == ins.operands[2]) {
      part[i] = 4;
    }
  }
  return part;
}

bool HloLowering::order_only(uint32_t index) const {
  const Computation& comp = computation(index);
  if (comp.instructions.size() > kMaxRegion || comp.root >= comp.instructions.size()) return false;
  static const std::set<std::string> allowed{"parameter", "constant", "compare", "select",  "and",  "or",
                                             "xor",       "not",      "maximum", "minimum", "tuple"};
  const std::vector<uint8_t> part = order_keys(index);
  for (size_t i = 0; i < comp.instructions.size(); ++i) {
    const Instruction& ins = comp.instructions[i];
    const std::string opcode = normal_opcode(ins.opcode);
    for (uint32_t k : ins.operands) {
      if (k >= i) return false;
    }
    const auto reads = [&](uint8_t what) {
      return std::any_of(ins.operands.begin(), ins.operands.end(), [&](uint32_t k) { return part[k] == what; });
    };
    if (part[i] != 0) continue;
    if (reads(1) || reads(2) || reads(3)) return false;
    if (reads(4) && (opcode != "compare" || part[ins.operands[0]] != 4 || part[ins.operands[1]] != 4)) return false;
    if (passes(comp, ins, opcode)) continue;
    if (!allowed.count(opcode)) return false;
    if (opcode == "tuple") {
      if (i != comp.root) return false;
      continue;
    }
    if (!is_scalar(ins.type)) return false;
    const DType t = ins.type.dtype;
    if (t != DType::Bool && !ir::is_int(t) && !exact_float(ins.type)) return false;
    const bool logic = opcode == "and" || opcode == "or" || opcode == "xor" || opcode == "not";
    if (logic && t != DType::Bool) return false;
    if (opcode == "constant" && (!ins.literal || ins.literal->size() != 1 || std::llabs(ins.literal->front().i) > (int64_t{1} << 52)))
      return false;
    const size_t arity = opcode == "select" ? 3 : opcode == "not" ? 1 : opcode == "parameter" || opcode == "constant" ? 0 : 2;
    if (ins.operands.size() != arity) return false;
  }
  return true;
}

// Numbers such that any order of `values` arguments among themselves and the region's constants is met by some choice.
std::vector<double> HloLowering::order_samples(uint32_t index, size_t values) const {
  std::set<double> constants;
  for (const Instruction& ins : computation(index).instructions) {
    if (ins.opcode != "constant") continue;
    const ir::Literal& v = ins.literal->front();
    const double d = v.kind == ir::Literal::Kind::Float ? v.d : static_cast<double>(v.i);
    if (!std::isnan(d)) constants.insert(d == 0 ? 0.0 : d);
  }
  std::vector<double> out(constants.begin(), constants.end());
  std::vector<double> fixed;
  for (double d : out) {
    if (std::isfinite(d)) fixed.push_back(d);
  }
  const double n = static_cast<double>(values) + 1;
  const auto fill = [&](double low, double high) {
    for (size_t k = 1; k <= values; ++k) out.push_back(low + (high - low) * static_cast<double>(k) / n);
  };
  if (fixed.empty()) {
    fill(0, 1);
  } else {
    fill(fixed.front() - std::max(1.0, std::fabs(fixed.front())), fixed.front());
    for (size_t k = 0; k + 1 < fixed.size(); ++k) fill(fixed[k], fixed[k + 1]);
    fill(fixed.back(), fixed.back() + std::max(1.0, std::fabs(fixed.back())));
  }
  return out;
}

// The value of every instruction, in `v`.
bool HloLowering::order_evaluate(uint32_t index, const std::vector<uint8_t>& part, const std::vector<double>& arguments,
                                 std::vector<double>& v) const {
  const Computation& comp = computation(index);
  v.assign(comp.instructions.size(), 0);
  for (size_t i = 0; i < comp.instructions.size(); ++i) {
    const Instruction& ins = comp.instructions[i];
    const auto x = [&](size_t k) { return v[ins.operands[k]]; };
    const std::string& opcode = ins.opcode;
    if (part[i] != 0) {
      v[i] = part[i] == 4 ? x(2) : x(0);  // the float itself; what lies between is not looked at
    } else if (opcode == "parameter") {
      if (ins.parameter_number < 0 || ins.parameter_number >= static_cast<int64_t>(arguments.size())) return false;
      v[i] = arguments[static_cast<size_t>(ins.parameter_number)];
    } else if (opcode == "constant") {
      const ir::Literal& literal = ins.literal->front();
      v[i] = literal.kind == ir::Literal::Kind::Float ? literal.d : static_cast<double>(literal.i);
    } else if (opcode == "compare") {
      const std::string& how = ins.direction;
      const double l = x(0), r = x(1);
      if (how == "EQ")
        v[i] = l == r;
      else if (how == "NE")
        v[i] = l != r;
      else if (how == "LT")
        v[i] = l < r;
      else if (how == "LE")
        v[i] = l <= r;
      else if (how == "GT")
        v[i] = l > r;
      else if (how == "GE")
        v[i] = l >= r;
      else
        return false;
    } else if (opcode == "select") {
      v[i] = x(0) != 0 ? x(1) : x(2);
    } else if (opcode == "and") {
      v[i] = x(0) != 0 && x(1) != 0;
    } else if (opcode == "or") {
      v[i] = x(0) != 0 || x(1) != 0;
    } else if (opcode == "xor") {
      v[i] = (x(0) != 0) != (x(1) != 0);
    } else if (opcode == "not") {
      v[i] = x(0) == 0;
    } else if (opcode == "maximum") {
      v[i] = std::max(x(0), x(1));
    } else if (opcode == "minimum") {
      v[i] = std::min(x(0), x(1));
    } else if (opcode == "tuple") {
      continue;
    } else {
      v[i] = x(0);  // order_only() let nothing else through
    }
  }
  return true;
}

// Does check(arguments, results) hold for every order of the arguments? The results are the root's, or of `predicate` alone.
template <typename Check>
bool HloLowering::order_holds(uint32_t index, size_t arguments, Check check, const uint32_t* predicate) const {
  const Computation& comp = computation(index);
  if (comp.parameters.size() != arguments || arguments == 0 || !order_only(index)) return false;
  const std::vector<uint8_t> keys = order_keys(index);
  std::vector<uint32_t> wanted{predicate ? *predicate : comp.root};
  if (!predicate && comp.instructions[comp.root].opcode == "tuple") wanted = comp.instructions[comp.root].operands;
  // Only parameters that are read: a sort carries operands that its comparator ignores.
  std::set<uint32_t> read(wanted.begin(), wanted.end());
  for (uint32_t k = static_cast<uint32_t>(comp.instructions.size()); k-- > 0;) {
    if (read.count(k)) read.insert(comp.instructions[k].operands.begin(), comp.instructions[k].operands.end());
  }
  for (uint32_t k : wanted) {
    if (keys[k] != 0) return false;
  }
  const auto used = std::count_if(comp.parameters.begin(), comp.parameters.end(), [&](uint32_t p) { return read.count(p) != 0; });
  const std::vector<double> samples = order_samples(index, static_cast<size_t>(used) + 1);
  std::vector<std::vector<double>> choices;
  size_t total = 1;
  for (uint32_t p : comp.parameters) {
    if (p >= comp.instructions.size()) return false;
    if (!read.count(p)) {
      // Its value must not matter to `check` either: two different ones are tried, where there are few.
      choices.push_back(arguments <= 8 ? std::vector<double>{samples.front(), samples.back()} : std::vector<double>{samples.front()});
      total *= choices.back().size();
      continue;
    }
    choices.push_back(comp.instructions[p].type.dtype == DType::Bool ? std::vector<double>{0, 1} : samples);
    total *= choices.back().size();
    if (total > kMaxSamples) return false;
  }
  std::vector<size_t> at(arguments);
  std::vector<double> v(arguments), values, out(wanted.size());
  while (true) {
    for (size_t k = 0; k < arguments; ++k) v[k] = choices[k][at[k]];
    if (!order_evaluate(index, keys, v, values)) return false;
    for (size_t k = 0; k < wanted.size(); ++k) out[k] = values[wanted[k]];
    if (!check(v, out)) return false;
    size_t k = 0;
    while (k < arguments && ++at[k] == choices[k].size()) at[k++] = 0;
    if (k == arguments) return true;
  }
}

std::optional<ArgCombiner> HloLowering::arg_combiner(uint32_t index) {
  for (Fn fn : {Fn::Max, Fn::Min}) {
    for (ArgCombiner::Tie tie : {ArgCombiner::Tie::LowerIndex, ArgCombiner::Tie::First}) {
      const bool holds = order_holds(index, 4, [&](const std::vector<double>& v, const std::vector<double>& out) {
        if (out.size() != 2) return false;
        const double x = fn == Fn::Max ? v[0] : -v[0], y = fn == Fn::Max ? v[2] : -v[2];
        const double position = x > y ? v[1] : x < y ? v[3] : tie == ArgCombiner::Tie::First ? v[1] : std::min(v[1], v[3]);
        return out[0] == (x >= y ? v[0] : v[2]) && out[1] == position;
      });
      if (holds) return ArgCombiner{fn, tie};
    }
  }
  return std::nullopt;
}

bool HloLowering::selects_first_extreme(uint32_t index, Fn& fn) {
  for (Fn candidate : {Fn::Max, Fn::Min}) {
    const bool holds = order_holds(index, 2, [&](const std::vector<double>& v, const std::vector<double>& out) {
      return out.size() == 1 && (out[0] != 0) == (candidate == Fn::Max ? v[0] >= v[1] : v[0] <= v[1]);
    });
    if (holds) {
      fn = candidate;
      return true;
    }
  }
  return false;
}

// A region that takes all of one side or all of the other: tuple(select(p, left_0, right_0), select(p, left_1, right_1), ...), where p
// keeps the left one if its component 0 is no less (Max) or no greater (Min), but never one whose component `guard` is the initial value
// (negative; the components themselves are not). This is how XLA expands select-and-scatter.
std::optional<Fn> HloLowering::payload_pick(uint32_t index, size_t components, const std::vector<std::optional<int64_t>>& inits,
                                            size_t& guard) const {
  const Computation& comp = computation(index);
  if (comp.parameters.size() != 2 * components || comp.root >= comp.instructions.size()) return std::nullopt;
  const Instruction& root = comp.instructions[comp.root];
  if (root.opcode != "tuple" || root.operands.size() != components || components == 0) return std::nullopt;
  std::optional<uint32_t> predicate;
  for (size_t k = 0; k < components; ++k) {
    const Instruction& ins = comp.instructions[root.operands[k]];
    if (ins.opcode != "select" || ins.operands.size() != 3) return std::nullopt;
    const Instruction &left = comp.instructions[ins.operands[1]], &right = comp.instructions[ins.operands[2]];
    const bool straight = left.opcode == "parameter" && right.opcode == "parameter" && left.parameter_number == static_cast<int64_t>(k) &&
                          right.parameter_number == static_cast<int64_t>(components + k);
    if (!straight || (predicate && *predicate != ins.operands[0])) return std::nullopt;
    predicate = ins.operands[0];
  }
  for (guard = 1; guard < components; ++guard) {
    if (!inits[guard] || *inits[guard] >= 0) continue;
    const double none = static_cast<double>(*inits[guard]);
    for (Fn fn : {Fn::Max, Fn::Min}) {
      const auto check = [&](const std::vector<double>& v, const std::vector<double>& out) {
        const double left = v[guard], right = v[components + guard];
        const bool real_left = left >= 0, real_right = right >= 0;
        if ((!real_left && left != none) || (!real_right && right != none) || (!real_left && !real_right)) return true;  // does not occur
        const bool keep = real_left && (!real_right || (fn == Fn::Max ? v[0] >= v[components] : v[0] <= v[components]));
        return (out[0] != 0) == keep;
      };
      if (order_holds(index, 2 * components, check, &*predicate)) return fn;
    }
  }
  return std::nullopt;
}

// The comparator of a sort as keys in order of importance: one, or two (lexicographic).
std::optional<std::vector<SortKey>> HloLowering::sort_keys(uint32_t index, size_t operands) {
  std::vector<SortKey> candidates;
  for (size_t k = 0; k < operands; ++k) {
    candidates.push_back({k, false});
    candidates.push_back({k, true});
  }
  const auto before = [](const SortKey& key, const std::vector<double>& v) {
    const double x = v[2 * key.operand], y = v[2 * key.operand + 1];
    return key.descending ? x > y : x < y;
  };
  const auto equal = [](const SortKey& key, const std::vector<double>& v) { return v[2 * key.operand] == v[2 * key.operand + 1]; };
  for (const SortKey& first : candidates) {
    const bool holds = order_holds(index, 2 * operands, [&](const std::vector<double>& v, const std::vector<double>& out) {
      return out.size() == 1 && (out[0] != 0) == before(first, v);
    });
    if (holds) return std::vector<SortKey>{first};
  }
  for (const SortKey& first : candidates) {
    for (const SortKey& second : candidates) {
      if (first.operand == second.operand) continue;
      const bool holds = order_holds(index, 2 * operands, [&](const std::vector<double>& v, const std::vector<double>& out) {
        return out.size() == 1 && (out[0] != 0) == (before(first, v) || (equal(first, v) && before(second, v)));
      });
      if (holds) return std::vector<SortKey>{first, second};
    }
  }
  return std::nullopt;
}

}  // namespace shardproof::lower
