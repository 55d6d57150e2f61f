// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The evaluator's walk over the graph, leaves, and what cannot be known (draws, kernels, unspecified memory).
#include "interp/eval.h"

#include <fmt/format.h>

#include "util/result.h"

namespace shardproof::interp {
namespace {

// Operators whose results are new numbers, not elements of their operands.
bool computes(const ir::Graph& g, const ir::Node& n) {
  using ir::Fn;
  if (n.op == ir::Op::Map && n.fn == Fn::Convert) return ir::is_int(g[n.in[0]].dtype);  // beyond 2^53

  const bool chooses = n.fn == Fn::Max || n.fn == Fn::Min || n.fn == Fn::Select || n.fn == Fn::Convert || n.fn == Fn::Complex ||
                       n.fn == Fn::Real || n.fn == Fn::Imag;
  switch (n.op) {
    case ir::Op::Map:
    case ir::Op::Reduce:
    case ir::Op::Scan: return !chooses;
    case ir::Op::Contract: return true;
    case ir::Op::Scatter: return !n.set && !chooses;
    default: return false;
  }
}

constexpr size_t kCompressFrom = 4096;  // elements; below it is not worth the look

size_t bytes_of(const Value& v) { return v.data->bytes() + (v.imag ? v.imag->bytes() : 0); }

// Inputs are given as intervals; balls take them over exactly.
std::shared_ptr<const Buffer> in_number(const std::shared_ptr<const Buffer>& b, Number number) {
  if (!b || b->number == number || b->number == Number::Integer) return b;
  SP_CHECK(b->number == Number::Interval && number == Number::Ball);
  Buffer out = Buffer::make(number, b->size);
  for (size_t k = 0; k < b->size; ++k) set_interval(out.ball[k], b->interval(k));
  return std::make_shared<const Buffer>(std::move(out));
}

// Whether an operator reads its operands block by block, whatever positions a block has.
bool takes_any_blocks(ir::Op op) {
  using ir::Op;
  switch (op) {
    case Op::Map:
    case Op::Reduce:
    case Op::Contract:
    case Op::Transpose:
    case Op::Reshape:
    case Op::Broadcast:
    case Op::Slice:
    case Op::Concat: return true;
    default: return false;
  }
}

}  // namespace

void Context::spend(double operations) {
  work += operations;
  if (work > config.max_work) throw EvalError{"budget: too much arithmetic"};
  if (config.deadline && util::WorkClock::now() > *config.deadline) throw EvalError{"budget: out of time"};
}

void Context::check(const std::vector<Axis>& axes) const {
  if (count_blocks(axes) > config.max_blocks) throw EvalError{"budget: a tensor needs too many blocks"};
}

void Context::set_number(Buffer& b, size_t k, Interval x) const {
  if (b.number == Number::Ball) {
    set_interval(b.ball[k], x);
  } else {
    b.set(k, x);
  }
}

Value Context::poison(ir::DType t, const ir::Shape& shape, State state) const {
  std::vector<Axis> axes;
  for (int64_t n : shape) axes.push_back(Axis::whole(n));
  Buffer b = Buffer::make(number_of(t), static_cast<size_t>(count_blocks(axes)));
  for (size_t k = 0; k < b.size; ++k) b.set_state(k, state);
  return make_value(t, std::move(axes), std::move(b));
}

Value make_value(ir::DType t, std::vector<Axis> axes, Buffer data) {
  Value v{t, std::move(axes), std::make_shared<const Buffer>(std::move(data)), nullptr};
  if (ir::is_complex(t)) v.imag = v.data;
  return v;
}

// S-6 random. Every draw gives one and the same value everywhere: an outcome that may occur, and on which it does not matter how draws of
// the two programs are paired. So a difference that shows then shows for every admissible pairing.
static bool constant_draw(const Context& c, const ir::Node& n, Buffer& b) {
  if (!draws_are_constant(n)) return false;
  double v = 0;
  if (n.name == "bernoulli") {
    v = n.lit.kind == ir::Literal::Kind::Float ? n.lit.d > 0 : n.lit.i > 0;  // everything is kept, unless that is impossible
  } else if (n.name == "uniform") {
    v = 0.40625;
  } else if (n.name == "normal") {
    v = 0.59375;
  } else {
    v = 5;
  }
  for (size_t k = 0; k < b.size; ++k) {
    if (b.number == Number::Integer) {
      b.i[k] = n.dtype == ir::DType::Bool ? v != 0 : wrap_integer(static_cast<int64_t>(v), n.dtype);
    } else {
      c.set_number(b, k, {v, 0});
    }
  }
  return true;
}

// S-1 to S-7
Value eval_leaf(Context& c, const ir::Node& n) {
  using ir::Op;
  std::vector<Axis> axes;
  for (int64_t extent : n.shape) axes.push_back(n.op == Op::Dense ? Axis::unit(extent) : Axis::whole(extent));
  if (n.op == Op::Iota) axes[n.a[0]] = Axis::unit(n.shape[n.a[0]]);
  c.check(axes);
  Buffer b = Buffer::make(c.number_of(n.dtype), static_cast<size_t>(count_blocks(axes)));
  Value v{n.dtype, axes, nullptr, nullptr};
  switch (n.op) {
    case Op::Const:
      for (size_t k = 0; k < b.size; ++k) set_literal(c, b, k, n.lit, n.dtype);
      break;
    case Op::Dense:
      for (size_t k = 0; k < b.size; ++k) set_literal(c, b, k, (*n.dense)[k], n.dtype);
      break;
    case Op::Iota:
      for (size_t k = 0; k < b.size; ++k) set_literal(c, b, k, ir::Literal::integer(static_cast<int64_t>(k)), n.dtype);
      break;
    case Op::Random:
      if (!constant_draw(c, n, b)) return c.poison(n.dtype, n.shape, State::Undecided);
      break;
    default: return c.poison(n.dtype, n.shape, State::Undecided);  // Uninit: any value
  }
  if (ir::is_complex(n.dtype)) {
    Buffer zero = Buffer::make(c.config.number, b.size);
    for (size_t k = 0; k < b.size; ++k) c.set_number(zero, k, {0, 0});
    v.imag = std::make_shared<const Buffer>(std::move(zero));
  }
  v.data = std::make_shared<const Buffer>(std::move(b));
  return v;
}

bool draws_are_constant(const ir::Node& n) {
  const bool integer = !ir::is_float(n.dtype);
  return n.name == "bernoulli" || (integer ? n.name == "bits" : n.name == "uniform" || n.name == "normal");
}

Evaluator::Evaluator(const ir::Graph& graph, const Inputs& inputs, Config config) : context_{graph, config, 0}, inputs_(inputs) {}

const Value* Evaluator::get(ir::NodeId id) const { return id < values_.size() && !values_[id].empty() ? &values_[id][0] : nullptr; }

const std::string& Evaluator::reason(ir::NodeId id) const {
  static const std::string kNone;
  return id < failure_.size() && failure_[id] >= 0 ? reasons_[failure_[id]] : kNone;
}

void Evaluator::run(const std::vector<ir::NodeId>& targets, bool keep) {
  const size_t count = context_.g.nodes.size();
  values_.resize(count);
  own_.resize(count, 0);
  failure_.resize(count, -1);
  std::vector<bool> needed(count);
  ir::NodeId last = 0;
  for (ir::NodeId t : targets) {
    needed[t] = true;
    last = std::max(last, t);
  }
  for (size_t id = last + size_t{1}; id-- > 0;) {  // inputs have smaller ids
    if (!needed[id] || !values_[id].empty() || failure_[id] >= 0) continue;
    for (ir::NodeId x : context_.g[static_cast<ir::NodeId>(id)].in) needed[x] = true;
  }
  std::vector<uint32_t> readers(keep ? 0 : count, 0);
  if (!keep) {
    for (ir::NodeId t : targets) ++readers[t];  // for good
    for (ir::NodeId id = 0; id <= last && id < count; ++id) {
      if (!needed[id] || !values_[id].empty() || failure_[id] >= 0) continue;
      for (ir::NodeId x : context_.g[id].in) ++readers[x];
    }
  }
  for (ir::NodeId id = 0; id <= last && id < count; ++id) {
    if (!needed[id] || !values_[id].empty() || failure_[id] >= 0) continue;
    try {
      step(id);
    } catch (const EvalError& error) {
      failure_[id] = static_cast<int32_t>(reasons_.size());
      reasons_.push_back(error.reason);
    }
    if (keep) continue;
    for (ir::NodeId x : context_.g[id].in) {
      if (--readers[x] != 0) continue;
      values_[x].clear();
      bytes_ -= std::exchange(own_[x], 0);
    }
  }
}

void Evaluator::step(ir::NodeId id) {
  using ir::Op;
  const ir::Node& n = context_.g[id];
  for (ir::NodeId x : n.in) {
    if (failure_[x] >= 0) {
      failure_[id] = failure_[x];
      return;
    }
  }
  if (n.op == Op::Result) {
    values_[id] = {values_[n.in[0]][static_cast<size_t>(n.a[0])]};
    return;
  }
  std::vector<const Value*> in;
  std::vector<Value> straight;  // for what looks at the order of positions
  straight.reserve(n.in.size());
  for (ir::NodeId x : n.in) {
    const Value& v = values_[x][0];
    const bool as_it_is = takes_any_blocks(n.op) || std::all_of(v.axes.begin(), v.axes.end(), [](const Axis& a) { return a.contiguous(); });
    in.push_back(as_it_is ? &v : &straight.emplace_back(straightened(v)));
  }
  std::vector<Value> out;
  switch (n.op) {
    case Op::Input: {
      const auto found = inputs_.find(id);
      if (found == inputs_.end()) throw EvalError{"missing-input-relation: no value for input " + n.name};
      Value v = found->second;
      v.data = in_number(v.data, context_.config.number);
      v.imag = in_number(v.imag, context_.config.number);
      out.push_back(std::move(v));
      break;
    }
    case Op::Const:
    case Op::Iota:
    case Op::Dense:
    case Op::Uninit:
    case Op::Random: out.push_back(eval_leaf(context_, n)); break;
    case Op::Transpose:
    case Op::Reshape:
    case Op::Slice:
    case Op::Reverse:
    case Op::Broadcast:
    case Op::Pad:
    case Op::Concat:
    case Op::Window:
    case Op::DynamicSlice:
    case Op::DynamicUpdate: out.push_back(eval_view(context_, n, in)); break;
    case Op::Map: out.push_back(eval_map(context_, n, in)); break;
    case Op::Reduce:
    case Op::ArgReduce: out.push_back(eval_reduce(context_, n, in)); break;
    case Op::Contract: out.push_back(eval_contract(context_, n, in)); break;
    case Op::Take:
    case Op::Scatter: out.push_back(eval_index(context_, n, in)); break;
    case Op::Scan: out.push_back(eval_scan(context_, n, in)); break;
    case Op::Sort: out = eval_sort(context_, n, in); break;
    case Op::Opaque: out = eval_opaque(context_, id, n, in); break;
    default: throw EvalError{fmt::format("unsupported-operator: {} is not evaluated", ir::name(n.op))};
  }
  if (n.op != Op::Sort && n.op != Op::Opaque) SP_CHECK(out[0].shape() == n.shape);
  if (computes(context_.g, n) && out[0].is_float() && out[0].data.use_count() == 1) {
    Buffer& b = const_cast<Buffer&>(*out[0].data);  // ours alone until it is stored
    if (context_.config.points && b.number == Number::Interval) {
      for (size_t k = 0; k < b.size; ++k) {
        if (b.m[k] == b.m[k]) b.r[k] = 0;
      }
    } else {
      number_elements(b, id);
    }
  }
  // Lookups by an iota make single rows of what is still constant on runs.
  if ((n.op == Op::Take || n.op == Op::Scatter) && out[0].data->size > kCompressFrom) out[0] = compress(out[0]);
  for (const Value& v : out) {
    context_.check(v.axes);
    SP_CHECK(v.data->size == static_cast<size_t>(v.blocks()));
    const bool shared = std::any_of(in.begin(), in.end(), [&](const Value* x) { return x->data == v.data; });
    if (!shared) own_[id] += bytes_of(v);
  }
  bytes_ += own_[id];
  if (bytes_ > context_.config.max_bytes) throw EvalError{"budget: too much memory"};
  values_[id] = std::move(out);
}

}  // namespace shardproof::interp
