// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Helpers of the interpreter's tests: values from lists, and elements back.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "interp/eval.h"
#include "ir/build.h"

namespace shardproof::interp::testing {

inline Value floats(const ir::Shape& shape, const std::vector<double>& v, ir::DType t = ir::DType::F64) {
  std::vector<Axis> axes;
  for (int64_t n : shape) axes.push_back(Axis::unit(n));
  Buffer b = Buffer::make(Number::Interval, v.size());
  for (size_t k = 0; k < v.size(); ++k) b.set(k, {v[k], 0});
  return make_value(t, std::move(axes), std::move(b));
}

inline Value integers(const ir::Shape& shape, const std::vector<int64_t>& v, ir::DType t = ir::DType::I64) {
  std::vector<Axis> axes;
  for (int64_t n : shape) axes.push_back(Axis::unit(n));
  Buffer b = Buffer::integers(v.size());
  b.i = v;
  return make_value(t, std::move(axes), std::move(b));
}

// A graph with inputs that have values; eval() gives all elements of a node, row-major.
struct Bench {
  ir::Graph g;
  ir::Builder b{g};
  Inputs inputs;
  Config config;

  ir::NodeId in(const ir::Shape& shape, const std::vector<double>& v) {
    const ir::NodeId id = b.input("x" + std::to_string(g.nodes.size()), ir::DType::F64, shape);
    inputs.emplace(id, floats(shape, v));
    return id;
  }
  ir::NodeId in_i(const ir::Shape& shape, const std::vector<int64_t>& v, ir::DType t = ir::DType::I64) {
    const ir::NodeId id = b.input("i" + std::to_string(g.nodes.size()), t, shape);
    inputs.emplace(id, integers(shape, v, t));
    return id;
  }
  ir::NodeId block(ir::DType t, Value v) {
    const ir::NodeId id = b.input("b" + std::to_string(g.nodes.size()), t, v.shape());
    inputs.emplace(id, std::move(v));
    return id;
  }
  Value value(ir::NodeId id) {
    Evaluator e(g, inputs, config);
    e.run({id});
    INFO(e.reason(id), " ", ir::to_string(g, id));
    REQUIRE(e.get(id) != nullptr);
    return *e.get(id);
  }
  // Every element as a double; NaN for undefined, infinity + NaN cannot occur, -999999 for undecided.
  std::vector<double> eval(ir::NodeId id, bool imaginary = false) { return elements(value(id), imaginary); }
  static std::vector<double> elements(const Value& v, bool imaginary = false) {
    std::vector<Axis> axes;
    for (const Axis& a : v.axes) axes.push_back(Axis::unit(a.extent()));
    const Value dense = refine(v, axes);
    const Buffer& buffer = imaginary ? *dense.imag : *dense.data;
    std::vector<double> out;
    for (size_t k = 0; k < buffer.size; ++k) {
      const State s = buffer.state_at(k);
      if (s == State::Undefined) {
        out.push_back(kNaN);
      } else if (s == State::Undecided) {
        out.push_back(-999999);
      } else if (buffer.number == Number::Integer) {
        out.push_back(static_cast<double>(buffer.i[k]));
      } else {
        out.push_back(buffer.number == Number::Ball ? to_interval(buffer.ball[k]).m : buffer.m[k]);
      }
    }
    return out;
  }
};

constexpr double kOpen = -999999;

inline void check_values(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    if (want[k] != want[k]) {
      CHECK(got[k] != got[k]);
    } else if (std::isinf(want[k])) {
      CHECK(got[k] == want[k]);
    } else {
      CHECK(got[k] == doctest::Approx(want[k]).epsilon(1e-12));
    }
  }
}

}  // namespace shardproof::interp::testing
