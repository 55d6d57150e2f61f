// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Types and constants of HLO text. Nested tuple types and nested literals are read with explicit stacks.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "frontend/hlo/scalars.h"
#include "frontend/hlo/text_reader.h"

namespace shardproof::hlo {

using ir::DType;
using ir::Literal;

bool TextReader::array_type(Type& out) {
  c_.skip();
  const char* start = c_.here();
  const std::string_view word = c_.word();
  if (word.empty()) return c_.expected("a type such as f32[2,3]");
  const ElementType element = element_type(word);
  if (element.dtype == DType::Invalid) {
    if (c_.raw() == '[') return c_.fail_at(start, fmt::format("element type '{}' is not supported", word), kLimit);
    c_.seek(start);
    return c_.expected("a type such as f32[2,3]");
  }
  out.dtype = element.dtype;
  if (element.dtype == DType::F8 || element.dtype == DType::F4) out.float_format = element.name;
  if (!c_.expect('[', "after an element type")) return false;
  if (!c_.accept(']')) {
    do {
      if (out.shape.size() == kMaxRank) return c_.fail_at(start, fmt::format("a type has at most {} dimensions", kMaxRank), kLimit);
      if (c_.accept('?')) {  // no bound at all
        out.dynamic = true;
        out.shape.push_back(-1);
        continue;
      }
      if (c_.accept(std::string_view("<="))) out.dynamic = true;
      int64_t d = 0;
      if (!c_.integer(d, "a dimension size")) return false;
      if (d < 0) return c_.fail_at(start, "a dimension size is negative");
      out.shape.push_back(d);
    } while (c_.accept(','));
    if (!c_.expect(']', "or ',' after a dimension size")) return false;
  }
  if (!countable(out.shape)) return c_.fail_at(start, "the type has more than 2^62 elements", kLimit);
  // A layout follows without a blank, which tells it from the body of a computation.
  return c_.raw() != '{' || layout(out);
}

// {1,0:T(8,128)(2,1)S(5)}: minor dimension first, then what the memory of each element or tile looks like. Only a memory space (S) leaves
// the order of the elements alone.
bool TextReader::layout(Type& out) {
  const char* start = c_.here();
  std::vector<int64_t> minor_to_major;
  c_.accept('{');
  if (c_.peek() != '}' && c_.peek() != ':') {
    do {
      int64_t d = 0;
      if (!c_.integer(d, "a dimension of a layout")) return false;
      minor_to_major.push_back(d);
    } while (c_.accept(','));
  }
  if (c_.accept(':')) {
    while (c_.peek() != '}') {
      out.tiled = out.tiled || c_.peek() != 'S';
      const std::string_view property = c_.word();
      if (property.empty() && c_.peek() != '(' && c_.peek() != '*') return c_.expected("a property of a layout such as T(8,128), or '}'");
      std::string_view value;
      if (c_.accept('*') || c_.accept(',')) continue;
      if (c_.peek() == '(' && !c_.balanced(value)) return false;
    }
  }
  if (!c_.expect('}', "that closes a layout")) return false;
  if (!set_layout(out, std::move(minor_to_major))) return c_.fail_at(start, "the layout is no permutation of the dimensions of the type");
  return true;
}

bool TextReader::type(Type& out) {
  if (c_.peek() != '(') return array_type(out);
  // The open tuples, outermost first. An element is built in place, so pointers are taken anew from the outermost each time.
  std::vector<Type> open;
  const char* start = c_.here();
  for (;;) {
    if (c_.accept('(')) {
      if (open.size() == static_cast<size_t>(kMaxTupleDepth)) {
        return c_.fail_at(start, fmt::format("tuple types nest deeper than {}", kMaxTupleDepth), kLimit);
      }
      open.emplace_back();
      open.back().tuple = true;
      open.back().dtype = DType::Token;
      if (c_.peek() != ')') continue;
    } else {
      Type element;
      if (!array_type(element)) return false;
      open.back().dynamic = open.back().dynamic || element.dynamic;
      open.back().elements.push_back(std::move(element));
      if (c_.accept(',')) continue;
    }
    while (c_.accept(')')) {
      if (c_.raw() == '{') {  // layouts of tuples: never written, but cheap to pass over
        std::string_view layout;
        if (!c_.balanced(layout)) return false;
      }
      Type done = std::move(open.back());
      open.pop_back();
      if (open.empty()) {
        out = std::move(done);
        return true;
      }
      open.back().dynamic = open.back().dynamic || done.dynamic;
      open.back().elements.push_back(std::move(done));
    }
    if (!c_.accept(',')) return c_.expected("',' or ')' in a tuple type");
  }
}

namespace {

// Whether an integer fits the type; v is the value as read, big if it is above the range of int64.
bool fits(int64_t v, bool big, DType t) {
  if (t == DType::U64) return big || v >= 0;
  if (big) return false;
  const int bits = ir::int_bits(t);
  if (ir::is_unsigned_int(t)) return v >= 0 && (v >> bits) == 0;
  return bits == 64 || (v >= -(int64_t{1} << (bits - 1)) && v < (int64_t{1} << (bits - 1)));
}

double rounded(double v, DType t) {
  switch (t) {
    case DType::F16: return round_to_f16(v);
    case DType::BF16: return round_to_bf16(v);
    case DType::F32: return static_cast<double>(static_cast<float>(v));
    default: return v;
  }
}

}  // namespace

bool TextReader::scalar(const Type& type, Literal& out) {
  c_.skip();
  const char* p = c_.here();
  const char* end = c_.end();
  if (type.dtype == DType::Bool) {
    bool value = false;
    if (!c_.boolean(value, "an element of a pred constant")) return false;
    out = Literal::boolean(value);
    return true;
  }
  if (ir::is_int(type.dtype)) {
    int64_t v = 0;
    bool big = false;
    auto [q, error] = std::from_chars(p, end, v);
    if (error == std::errc::result_out_of_range && *p != '-') {
      uint64_t u = 0;
      const auto wide = std::from_chars(p, end, u);
      q = wide.ptr;
      error = wide.ec;
      v = static_cast<int64_t>(u);
      big = true;
    }
    if (error == std::errc::invalid_argument) return c_.expected(fmt::format("an integer of type {}", ir::name(type.dtype)));
    if (error != std::errc() || !fits(v, big, type.dtype)) return c_.fail(fmt::format("integer does not fit in {}", ir::name(type.dtype)));
    if (q < end && (is_word_char(*q))) return c_.expected(fmt::format("an integer of type {}", ir::name(type.dtype)));
    c_.seek(q);
    out = Literal::integer(v, type.dtype);
    return true;
  }
  // Floats: decimal digits, inf, nan, nan(0x..); the value is the nearest of the type. f32 is read as such: no rounding twice.
  double v = 0;
  const char* q = nullptr;
  std::errc error;
  if (type.dtype == DType::F32) {
    float f = 0;
    const auto r = std::from_chars(p, end, f);
    v = static_cast<double>(f);
    q = r.ptr;
    error = r.ec;
  } else {
    const auto r = std::from_chars(p, end, v);
    q = r.ptr;
    error = r.ec;
  }
  if (error == std::errc::result_out_of_range) {
    // Below the least denormal: zero. Above the largest: an error. The exponent's sign tells, else whether it starts with 0.
    const bool negative = *p == '-';
    const std::string_view digits(p + negative, static_cast<size_t>(q - p) - negative);
    const size_t e = digits.find_first_of("eE");
    const bool small = e != std::string_view::npos && e + 1 < digits.size() ? digits[e + 1] == '-' : digits.starts_with("0.");
    if (!small) return c_.fail(fmt::format("number does not fit in {}", ir::name(type.dtype)));
    v = negative ? -0.0 : 0.0;
  } else if (error != std::errc()) {
    return c_.expected(fmt::format("a number of type {}", ir::name(type.dtype)));
  }
  double r = rounded(v, type.dtype);
  const bool small = type.dtype == DType::F8 || type.dtype == DType::F4;
  if (small ? !round_to_small_float(type.float_format, v, r) : std::isinf(r) && !std::isinf(v))
    return c_.fail(fmt::format("number does not fit in {}", ir::name(type.dtype)));
  if (std::isnan(v) && q < end && *q == '(') {  // payload: all NaN are one value here
    const char* close = q;
    while (close < end && *close != ')' && *close != '\n') ++close;
    if (close == end || *close != ')') return c_.fail("payload of nan is not closed");
    q = close + 1;
  }
  if (q < end && is_word_char(*q)) return c_.expected(fmt::format("a number of type {}", ir::name(type.dtype)));
  c_.seek(q);
  out = Literal::real(r, type.dtype);
  return true;
}

bool TextReader::constant(Instruction& instruction) {
  // c_ stands after '('.
  const Type& type = instruction.type;
  c_.skip();
  const char* start = c_.here();
  const auto verbatim = [&](std::string_view text) { instruction.other.emplace_back("constant", without_comments(text)); };
  if (type.tuple || type.dynamic || ir::is_complex(type.dtype) || type.dtype == DType::Token) {
    c_.seek(start - 1);
    if (c_.raw() != '(') {  // a blank or comment follows the bracket: walk to the bracket itself
      const char* p = start - 1;
      while (*p != '(') --p;
      c_.seek(p);
    }
    std::string_view all;
    if (!c_.balanced(all)) return false;
    verbatim(all.substr(1, all.size() - 2));
    return true;
  }

  const size_t rank = type.shape.size();
  std::vector<Literal> elements;
  if (rank == 0) {
    elements.emplace_back();
    if (!scalar(type, elements.back())) return false;
  } else {
    std::vector<int64_t> count(rank, 0);  // elements so far in the open brace of each level
    size_t depth = 0;
    do {
      const char next = c_.peek();
      if (next == '{') {
        if (depth == rank) return c_.fail(fmt::format("a constant of {} dimensions has braces {} deep at most", rank, rank));
        c_.accept('{');
        if (depth > 0 && count[depth - 1]++ >= type.shape[depth - 1])
          return c_.fail(fmt::format("too many elements in dimension {}", depth - 1));
        count[depth++] = 0;
        if (c_.accept(std::string_view("..."))) {  // printed without its value
          c_.seek(start);
          std::string_view all;
          if (!c_.balanced(all)) return false;
          verbatim("{...}");
          return c_.expect(')', "after a constant");
        }
      } else if (next == '}') {
        if (depth == 0) return c_.expected("the value of a constant in braces");
        if (count[depth - 1] != type.shape[depth - 1]) {
          return c_.fail(fmt::format("dimension {} of a constant has {} elements, its type says {}", depth - 1, count[depth - 1],
                                     type.shape[depth - 1]));
        }
        c_.accept('}');
        --depth;
      } else {
        if (depth != rank) return c_.expected(fmt::format("'{{' of dimension {} of a constant", depth));
        if (count[depth - 1]++ >= type.shape[depth - 1]) return c_.fail(fmt::format("too many elements in dimension {}", depth - 1));
        elements.emplace_back();
        if (!scalar(type, elements.back())) return false;
      }
      if (depth > 0) {  // a comma between siblings; none after an opening brace
        const char after = c_.peek();
        if (after == ',') {
          if (count[depth - 1] == 0) return c_.expected("a value");
          c_.accept(',');
          if (c_.peek() == '}') return c_.expected("a value after ','");
        } else if (count[depth - 1] > 0 && after != '}') {
          return c_.expected("',' or '}' in a constant");
        }
      }
    } while (depth > 0);
  }
  compress(elements);
  instruction.literal = std::make_shared<const std::vector<Literal>>(std::move(elements));
  return c_.expect(')', "after a constant");
}

}  // namespace shardproof::hlo
