// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// What a lowering sees of a call: typed access to arguments, PyTorch's promotion and broadcasting, and small arithmetic on nodes.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/aten.h"

namespace shardproof::lower::aten {

namespace {

Value parse_default(std::string_view s) {
  if (s == "None") return {};
  if (s == "True" || s == "False") return Value::boolean(s == "True");
  if (s.front() == '[') {
    std::vector<Value> items;
    s = s.substr(1, s.size() - 2);
    while (!s.empty()) {
      const size_t comma = std::min(s.find(','), s.size());
      items.push_back(parse_default(s.substr(0, comma)));
      s.remove_prefix(std::min(comma + 1, s.size()));
    }
    return Value::list(std::move(items));
  }
  if (s.front() == '\'') return Value::named(Value::Kind::String, std::string(s.substr(1, s.size() - 2)));
  if (s.find_first_of(".e") != std::string_view::npos && s.find("torch") == std::string_view::npos) {
    double d = 0;
    const auto r = std::from_chars(s.data(), s.data() + s.size(), d);
    SP_CHECK(r.ec == std::errc() && r.ptr == s.data() + s.size());
    return Value::real(d);
  }
  int64_t v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  SP_CHECK(r.ec == std::errc() && r.ptr == s.data() + s.size());
  return Value::integer(v);
}

int category(DType t) {
  if (t == DType::Bool) return 0;
  if (ir::is_int(t)) return 1;
  if (ir::is_float(t)) return 2;
  return 3;
}

}  // namespace

// "self other alpha=1 out!" -> parameters. "&factory" stands for the four arguments of every factory function.
std::vector<Param> parse_params(std::string_view params) {
  std::vector<Param> out;
  while (!params.empty()) {
    const size_t end = std::min(params.find(' '), params.size());
    std::string_view word = params.substr(0, end);
    params.remove_prefix(std::min(end + 1, params.size()));
    if (word.empty()) continue;
    if (word == "&factory") {
      for (const char* name : {"dtype", "layout", "device", "pin_memory"}) out.push_back({name, false, true, {}});
      continue;
    }
    Param p;
    const size_t eq = word.find('=');
    if (eq != std::string_view::npos) {
      p.has_default = true;
      p.fallback = parse_default(word.substr(eq + 1));
      word = word.substr(0, eq);
    }
    if (word.back() == '!') {
      p.written = true;
      word.remove_suffix(1);
    }
    p.name = word;
    out.push_back(std::move(p));
  }
  return out;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Invalid) return b;
  if (b == DType::Invalid) return a;
  const int ca = category(a), cb = category(b);
  if (ca < cb) std::swap(a, b);
  const int hi = std::max(ca, cb), lo = std::min(ca, cb);
  if (hi == 3) {  // complex with real: as wide as the wider
    const bool wide = a == DType::C128 || b == DType::C128 || b == DType::F64;
    return wide ? DType::C128 : DType::C64;
  }
  if (hi != lo) return a;
  if (hi == 2) {
    if (a == DType::F4 || a == DType::F8 || b == DType::F4 || b == DType::F8) unsupported("promotion of 8-bit floats");
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    return DType::F32;  // any two different of f16, bf16, f32
  }
  // Two different integer types.
  const bool sa = ir::is_signed_int(a), sb = ir::is_signed_int(b);
  const int wa = ir::int_bits(a), wb = ir::int_bits(b);
  if (sa == sb) return wa > wb ? a : b;
  const int wu = sa ? wb : wa, ws = sa ? wa : wb;
  if (ws > wu) return sa ? a : b;
  if (wu == 8) return DType::I16;
  unsupported("promotion of an unsigned with a signed integer type");
}

// Tensors with dimensions outrank those without, which outrank Python numbers, within one category; a higher category always counts.
DType result_type(const ir::Builder& b, std::span<const Operand> operands) {
  DType dim = DType::Invalid, zero = DType::Invalid, number = DType::Invalid;
  for (const Operand& o : operands) {
    if (o.scalar) {
      const DType t = o.lit.kind == Literal::Kind::Float ? DType::F32 : o.lit.kind == Literal::Kind::Int ? DType::I64 : DType::Bool;
      number = promote(number, t);
    } else if (b.rank(o.node) == 0) {
      zero = promote(zero, b.dtype(o.node));
    } else {
      dim = promote(dim, b.dtype(o.node));
    }
  }
  const auto combine = [](DType higher, DType lower) {
    if (higher == DType::Invalid) return lower;
    if (lower == DType::Invalid || category(higher) >= category(lower)) {
      if (category(higher) == 0 && category(lower) == 0) return higher;
      return higher;
    }
    if (category(lower) == 3) return higher == DType::F64 ? DType::C128 : DType::C64;
    return promote(higher, lower);
  };
  return combine(combine(dim, zero), number);
}

std::optional<DType> dtype_word(std::string_view w) {
  static const std::unordered_map<std::string_view, DType> words = {
      {"torch.float32", DType::F32}, {"torch.float", DType::F32},       {"torch.float64", DType::F64},   {"torch.double", DType::F64},
      {"torch.float16", DType::F16}, {"torch.half", DType::F16},        {"torch.bfloat16", DType::BF16}, {"torch.bool", DType::Bool},
      {"torch.int8", DType::I8},     {"torch.int16", DType::I16},       {"torch.short", DType::I16},     {"torch.int32", DType::I32},
      {"torch.int", DType::I32},     {"torch.int64", DType::I64},       {"torch.long", DType::I64},      {"torch.uint8", DType::U8},
      {"torch.uint16", DType::U16},  {"torch.uint32", DType::U32},      {"torch.uint64", DType::U64},    {"torch.complex64", DType::C64},
      {"torch.cfloat", DType::C64},  {"torch.complex128", DType::C128}, {"torch.cdouble", DType::C128},  {"torch.float8_e4m3fn", DType::F8},
  };
  // There is one 8-bit type here: casts to two of the formats must not be one function.
  if (w.starts_with("torch.float8_") && w != "torch.float8_e4m3fn") unsupported(fmt::format("a cast to {}", w));
  const auto it = words.find(w);
  if (it == words.end()) return std::nullopt;
  return it->second;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t k = 0; k < out.size(); ++k) {
    const int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1, y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1) malformed(fmt::format("shapes [{}] and [{}] do not broadcast", fmt::join(a, ", "), fmt::join(b, ", ")));
    out[out.size() - 1 - k] = x == 1 ? y : x;
  }
  return out;
}

Call::Call(Lowering& lowering, const OpRow& r, std::vector<Value> values, const fx::Value* s)
    : l(lowering), b(lowering.b), m(lowering.m), row(r), args(std::move(values)), site(s) {}

NodeId Call::node(const Value& v) {
  switch (v.kind) {
    case Value::Kind::Tensor: return m.read(v.tensor);
    case Value::Kind::Unknown: inherited(v.text);
    case Value::Kind::Constant: return node(l.resolve_constant(v, nullptr));
    case Value::Kind::Symbol: unsupported("dynamic size " + v.text);
    case Value::Kind::Object: unsupported(v.text + " is no tensor that we know");
    case Value::Kind::Bool: return b.constant(Literal::boolean(v.i != 0), DType::Bool);
    case Value::Kind::Int: return b.constant(Literal::integer(v.i), DType::I64);
    case Value::Kind::Float: return b.constant(Literal::real(v.d), DType::F32);
    default: malformed("a tensor was expected");
  }
}

Nodes Call::ts(size_t k) {
  if (args[k].is(Value::Kind::Unknown)) inherited(args[k].text);
  if (!args[k].is(Value::Kind::List)) malformed("a list of tensors was expected");
  Nodes out;
  for (const Value& v : args[k].items) out.push_back(node(v));
  return out;
}

Operand Call::operand(size_t k) {
  Operand o;
  o.scalar = args[k].number();
  if (o.scalar)
    o.lit = lit(k);
  else
    o.node = t(k);
  return o;
}

int64_t Call::integer(const Value& v) {
  switch (v.kind) {
    case Value::Kind::Int:
    case Value::Kind::Bool: return v.i;
    case Value::Kind::Symbol: unsupported("dynamic size " + v.text);
    case Value::Kind::Unknown: inherited(v.text);
    case Value::Kind::Tensor: unsupported("a size that is computed from data");
    default: malformed("an integer was expected");
  }
}

bool Call::flag(size_t k) { return integer(args[k]) != 0; }

double Call::f(size_t k) {
  if (args[k].is(Value::Kind::Float)) return args[k].d;
  return static_cast<double>(i(k));
}

Literal Call::lit(size_t k) {
  const Value& v = args[k];
  if (v.is(Value::Kind::Float)) return Literal::real(v.d);
  if (v.is(Value::Kind::Bool)) return Literal::boolean(v.i != 0);
  return Literal::integer(integer(v));
}

Ints Call::ints(size_t k) {
  if (!args[k].is(Value::Kind::List)) return {i(k)};
  Ints out;
  for (const Value& v : args[k].items) out.push_back(integer(v));
  return out;
}

std::string Call::str(size_t k) {
  if (!args[k].is(Value::Kind::String)) malformed("a string was expected");
  return args[k].text;
}

DType Call::dtype(size_t k, DType fallback) {
  if (!has(k)) return fallback;
  if (args[k].is(Value::Kind::Word))
    if (const auto t = dtype_word(args[k].text)) return *t;
  unsupported("element type " + args[k].text);
}

int64_t Call::dim(size_t k, int64_t rank) {
  if (rank == 0) unsupported("a dimension of a tensor that has none");
  return wrap(i(k), rank);
}

int64_t Call::wrap(int64_t d, int64_t rank) const {
  const int64_t n = std::max<int64_t>(rank, 1);
  if (d < -n || d >= n) malformed(fmt::format("dimension {} of a tensor with {} dimensions", d, rank));
  return d < 0 ? d + n : d;
}

Ints Call::dims(size_t k, int64_t rank) {
  Ints out;
  if (has(k))
    for (const int64_t d : ints(k)) out.push_back(wrap(d, rank));
  if (out.empty())
    for (int64_t d = 0; d < rank; ++d) out.push_back(d);
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end()) malformed("a dimension is named twice");
  if (rank == 0) out.clear();
  return out;
}

Value Call::outs(const Nodes& xs) {
  std::vector<Value> v;
  for (const NodeId x : xs) v.push_back(out(x));
  return Value::list(std::move(v));
}

Value Call::view(size_t k, std::vector<ViewStep> steps) {
  if (args[k].is(Value::Kind::Constant)) args[k] = l.resolve_constant(args[k], nullptr);
  if (!args[k].is(Value::Kind::Tensor)) malformed("a tensor was expected");
  return Value::of(m.view(args[k].tensor, std::move(steps)));
}

const fx::TensorType* Call::annotated(size_t k) const {
  if (!site || !l.scope_) return nullptr;
  const auto concrete = [](const fx::TensorType& t) { return t.known && !t.symbolic && !t.is_sym && t.dtype != DType::Invalid; };
  if (k == 0 && concrete(site->type)) return &site->type;
  const auto it = l.scope_->getitems.find(site->name);
  if (it == l.scope_->getitems.end()) return nullptr;
  for (const fx::Value* g : it->second)
    if (g->args.size() == 2 && g->args[1].kind == fx::Arg::Kind::Int && g->args[1].i == static_cast<int64_t>(k) && concrete(g->type))
      return &g->type;
  return nullptr;
}

NodeId Call::expand(NodeId x, const Shape& s) {
  const Shape from = shape(x);
  if (from == s) return x;
  if (from.size() > s.size() || broadcast_shapes(from, s) != s)
    malformed(fmt::format("shape [{}] does not expand to [{}]", fmt::join(from, ", "), fmt::join(s, ", ")));
  return b.broadcast_trailing(x, s);
}

NodeId Call::map(Fn fn, Nodes xs, DType t) {
  Shape s;
  for (const NodeId x : xs) s = broadcast_shapes(s, b.shape(x));
  for (NodeId& x : xs)
    if (b.rank(x) != 0) x = expand(x, s);
  return b.map(fn, std::move(xs), t);
}

NodeId Call::num(double v, DType t) {
  if (v == std::floor(v) && std::abs(v) < 1e15) return b.constant(Literal::integer(static_cast<int64_t>(v)), t);
  return b.constant(Literal::real(v), t);
}

NodeId Call::to(NodeId x, DType t) {
  const DType from = b.dtype(x);
  if (from == t) return x;
  if (ir::is_complex(from) && !ir::is_complex(t)) {
    if (t == DType::Bool) unsupported("complex to bool");
    return to(l.parts(x).first, t);
  }
  if (ir::is_complex(t)) {
    const DType part = t == DType::C128 ? DType::F64 : DType::F32;
    if (ir::is_complex(from)) {
      const auto [re, im] = l.parts(x);
      return l.complex_from(to(re, part), to(im, part));
    }
    const NodeId re = to(x, part);
    return l.complex_from(re, full_like(re, Literal::integer(0)));
  }
  return b.convert(x, t);
}

NodeId Call::unsqueeze(NodeId x, int64_t dim) {
  Shape s = b.shape(x);
  s.insert(s.begin() + dim, 1);
  return b.reshape(x, s);
}

NodeId Call::mean(NodeId x, const Ints& dims, bool keepdim) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= b.shape(x)[static_cast<size_t>(d)];
  return div(sum(x, dims, keepdim), num(n, b.dtype(x)));
}

NodeId Call::mm(NodeId x, NodeId y) {
  if (b.rank(x) != 2 || b.rank(y) != 2 || b.shape(x)[1] != b.shape(y)[0])
    malformed(fmt::format("cannot multiply [{}] by [{}]", fmt::join(b.shape(x), ", "), fmt::join(b.shape(y), ", ")));
  return b.contract(x, y, {}, {1, 0}, b.dtype(x));
}

NodeId Call::bmm(NodeId x, NodeId y) {
  const int64_t r = b.rank(x);
  const Shape sx = b.shape(x), sy = b.shape(y);
  bool fits = r >= 2 && b.rank(y) == r && sx[static_cast<size_t>(r - 1)] == sy[static_cast<size_t>(r - 2)];
  Ints batch;
  for (int64_t d = 0; fits && d < r - 2; ++d) {
    fits = sx[static_cast<size_t>(d)] == sy[static_cast<size_t>(d)];
    batch.insert(batch.end(), {d, d});
  }
  if (!fits) malformed(fmt::format("cannot multiply [{}] by [{}]", fmt::join(sx, ", "), fmt::join(sy, ", ")));
  return b.contract(x, y, batch, {r - 1, r - 2}, b.dtype(x));
}

NodeId Call::operand_node(const Operand& o, DType t) { return o.scalar ? b.constant(o.lit, t) : to(o.node, t); }

}  // namespace shardproof::lower::aten
