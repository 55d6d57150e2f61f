// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Block tensors: a small array of elements plus, per dimension, run lengths. Real sizes at small cost (docs/design.md, section 9 of the
// blueprint).
//
// Idea: an Axis divides the positions of a dimension of extent n into blocks; a tensor is constant on every product of blocks, so one
// element for each is stored, row-major over the blocks. A dimension whose blocks all are one position ("unit") is an ordinary dense one,
// so dense tensors are the special case without overhead. Structural operators only move elements: they compute new axes and, per result
// dimension, a table of source offsets (gather()). Arithmetic first refines its operands to common axes.
//
// A block is mostly a run of neighbours. Where sequence and batch are flattened into one dimension, the blocks of the batch come again for
// every position of the sequence: there a block is several runs, numbered in the order in which blocks first occur. Operators that look at
// the order of positions take straightened operands, whose blocks are runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "interp/number.h"
#include "ir/graph.h"

namespace shardproof::interp {

// Evaluation stops for this node (budget, an operator without meaning here). Never leaves the library.
struct EvalError {
  std::string reason;
};

class Axis {
 public:
  Axis() = default;
  static Axis unit(int64_t n);
  static Axis whole(int64_t n);
  static Axis cut(int64_t n, std::vector<int64_t> ends);  // ends of the runs, increasing, the last is n
  // Runs between the given cut positions (any order, those outside (0, n) are ignored).
  static Axis at(int64_t n, std::vector<int64_t> positions);
  // Runs that end at `ends` and are pieces of the blocks with these labels: any numbers, equal ones are one block.
  static Axis labelled(int64_t n, const std::vector<int64_t>& ends, const std::vector<int64_t>& labels);

  int64_t extent() const { return n_; }
  int64_t blocks() const { return runs_ ? runs_->blocks : n_; }
  bool is_unit() const { return runs_ == nullptr; }
  bool contiguous() const { return runs_ == nullptr || runs_->block.empty(); }  // every block is one run
  Axis straight() const;                                                        // its runs as blocks

  // Of block k: its first position, the one behind its last (REQUIRES: contiguous), and how many positions it has.
  int64_t start(int64_t k) const { return !runs_ ? k : runs_->block.empty() ? (k == 0 ? 0 : runs_->ends[k - 1]) : runs_->first[k]; }
  int64_t end(int64_t k) const;
  int64_t count(int64_t k) const { return contiguous() ? end(k) - start(k) : runs_->count[k]; }
  int64_t block_of(int64_t position) const;

  int64_t runs() const { return runs_ ? static_cast<int64_t>(runs_->ends.size()) : n_; }
  int64_t run_end(int64_t r) const { return runs_ ? runs_->ends[r] : r + 1; }
  int64_t run_block(int64_t r) const { return contiguous() ? r : runs_->block[r]; }
  bool operator==(const Axis& other) const;

 private:
  struct Runs {
    int64_t blocks = 0;
    std::vector<int64_t> ends;                 // of the runs, increasing
    std::vector<int64_t> block, first, count;  // of each run its block; of each block its first position and size. Empty: contiguous
  };
  int64_t n_ = 0;
  std::shared_ptr<const Runs> runs_;  // null: unit
};

Axis common(const Axis& x, const Axis& y);
// For each block of `fine`, the block of `coarse` that contains it. REQUIRES: fine refines coarse.
std::vector<int64_t> containing(const Axis& fine, const Axis& coarse);
std::vector<int64_t> starts(const Axis& axis);

// Arb numbers with value semantics of a vector (moves only).
class Balls {
 public:
  Balls() = default;
  explicit Balls(size_t n) : p_(n ? _arb_vec_init(static_cast<slong>(n)) : nullptr), n_(n) {}
  Balls(Balls&& other) noexcept : p_(other.p_), n_(other.n_) { other.p_ = nullptr, other.n_ = 0; }
  Balls& operator=(Balls&& other) noexcept {
    std::swap(p_, other.p_);
    std::swap(n_, other.n_);
    return *this;
  }
  ~Balls() {
    if (p_) _arb_vec_clear(p_, static_cast<slong>(n_));
  }
  arb_ptr operator[](size_t k) { return p_ + k; }
  arb_srcptr operator[](size_t k) const { return p_ + k; }
  size_t size() const { return n_; }

 private:
  arb_ptr p_ = nullptr;
  size_t n_ = 0;
};

enum class Number : uint8_t { Integer, Interval, Ball };  // Integer: also bools (0, 1)
enum class State : uint8_t { Fine = 0, Undefined = 1, Undecided = 2 };

// The elements of a tensor, in one number system.
struct Buffer {
  Number number = Number::Integer;
  size_t size = 0;
  std::vector<int64_t> i;
  std::vector<State> state;  // Integer: empty = all Fine
  std::vector<double> m, r;  // Interval
  Balls ball;
  std::vector<uint64_t> tag;  // Ball: identities, 0 = none; empty = none

  static Buffer integers(size_t n) { return make(Number::Integer, n); }
  static Buffer make(Number number, size_t n);
  Interval interval(size_t k) const { return {m[k], r[k]}; }
  void set(size_t k, Interval x) { m[k] = x.m, r[k] = x.r; }
  State state_at(size_t k) const;  // of any number system
  void set_state(size_t k, State s);
  void copy(size_t to, const Buffer& from, size_t k);  // one element, of the same system
  size_t bytes() const;
};
Order order(const Buffer& x, size_t i, const Buffer& y, size_t j, bool is_unsigned);
// Gives every inexact element its number (see number.h).
void number_elements(Buffer& b, uint64_t node);
bool same_element(const Buffer& x, size_t i, const Buffer& y, size_t j);  // the same representation

using Table = std::vector<int64_t>;
// out[i_1, i_2, ...] (row-major) = in[t_1[i_1] + t_2[i_2] + ...]
Buffer gather(const Buffer& in, const std::vector<Table>& tables);

struct Value {
  ir::DType dtype = ir::DType::Invalid;
  std::vector<Axis> axes;
  std::shared_ptr<const Buffer> data, imag;  // imag: complex only

  int64_t blocks() const;
  ir::Shape shape() const;
  std::vector<int64_t> strides() const;  // over blocks, row-major
  bool is_float() const { return ir::is_float(dtype) || ir::is_complex(dtype); }
};
int64_t count_blocks(const std::vector<Axis>& axes);
Value view(const Value& x, std::vector<Axis> axes, const std::vector<Table>& tables);  // gather() on all parts
Value refine(const Value& x, const std::vector<Axis>& axes);                           // REQUIRES: finer axes
Value straightened(const Value& x);                                                    // on axes whose blocks are runs
// Makes one block of those whose elements are all identical. What had to be cut finely is often still constant there.
Value compress(const Value& x);
// Position in the blocks of the element at an index.
size_t locate(const Value& x, const std::vector<int64_t>& index);

}  // namespace shardproof::interp
