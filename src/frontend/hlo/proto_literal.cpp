// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// ShapeProto and LiteralProto. The elements of a literal are stored in the order of its layout, minor dimension first; they are put into
// row-major order here.
#include <fmt/format.h>

#include <bit>

#include "frontend/hlo/cursor.h"
#include "frontend/hlo/proto_reader.h"
#include "frontend/hlo/scalars.h"

namespace shardproof::hlo {

using ir::DType;
using ir::Literal;

bool ProtoReader::layout(std::string_view bytes, Type& out) {
  std::vector<int64_t> minor_to_major, sparse;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1 && !append(f, minor_to_major)) return damaged(bytes, "a layout");
    if (f.number == 9 && !append(f, sparse)) return damaged(bytes, "a layout");
    // Tiles, element sizes, padding at the end.
    if (f.number == 6 || (f.number == 7 && f.value != 0) || (f.number == 16 && f.value > 1)) out.tiled = true;
  }
  if (w.damaged()) return damaged(bytes, "a layout");
  for (int64_t level : sparse) out.tiled = out.tiled || level != 0;
  if (minor_to_major.empty() || set_layout(out, std::move(minor_to_major))) return true;
  return fail(bytes, "the layout is no permutation of the dimensions of the type");
}

bool ProtoReader::shape(std::string_view bytes, Type& out, int depth) {
  if (depth > kMaxTupleDepth) return fail(bytes, fmt::format("tuple types nest deeper than {}", kMaxTupleDepth), kLimit);
  uint64_t element = 0;
  std::string_view layout_bytes;
  std::vector<int64_t> dynamic;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    switch (f.number) {
      case 2: element = f.value; break;
      case 3:
        if (!append(f, out.shape)) return damaged(bytes, "the dimensions of a shape");
        break;
      case 4:
        out.elements.emplace_back();
        if (!shape(f.bytes, out.elements.back(), depth + 1)) return false;
        break;
      case 5: layout_bytes = f.bytes; break;
      case 6:
        if (!append(f, dynamic)) return damaged(bytes, "a shape");
        break;
      default: break;
    }
  }
  if (w.damaged()) return damaged(bytes, "a shape");
  if (element == 13) {  // TUPLE
    out.tuple = true;
    out.dtype = DType::Token;
    out.shape.clear();
    for (const Type& e : out.elements) out.dynamic = out.dynamic || e.dynamic;
    return true;
  }
  const ElementType type = element_type(element);
  if (type.dtype == DType::Invalid) return fail(bytes, fmt::format("element type number {} is not supported", element), kLimit);
  if (!out.elements.empty()) return fail(bytes, "a shape that is no tuple has tuple elements");
  out.dtype = type.dtype;
  if (type.dtype == DType::F8 || type.dtype == DType::F4) out.float_format = type.name;
  if (out.shape.size() > kMaxRank) return fail(bytes, fmt::format("a type has at most {} dimensions", kMaxRank), kLimit);
  for (size_t d = 0; d < out.shape.size(); ++d) {
    const bool is_dynamic = d < dynamic.size() && dynamic[d] != 0;
    out.dynamic = out.dynamic || is_dynamic;
    if (out.shape[d] >= 0) continue;
    if (!is_dynamic) return fail(bytes, "a dimension size is negative");
    out.shape[d] = -1;  // no bound at all
  }
  if (!countable(out.shape)) return fail(bytes, "the type has more than 2^62 elements", kLimit);
  return layout(layout_bytes, out);
}

namespace {

// How the elements of a type are stored: field number, bytes each (0: varints), and what they are.
struct Storage {
  DType dtype;
  std::string_view format;  // of small floats
  uint32_t field;
  int bytes;  // 0: varints
};
constexpr Storage kStorage[] = {
    {DType::Bool, "", 2, 0},          {DType::U8, "", 3, 1},
    {DType::I32, "", 4, 0},           {DType::I64, "", 5, 0},
    {DType::U32, "", 6, 0},           {DType::U64, "", 7, 0},
    {DType::F32, "", 8, 4},           {DType::F64, "", 9, 8},
    {DType::F16, "", 11, 2},          {DType::BF16, "", 13, 2},
    {DType::I8, "", 15, 1},           {DType::U16, "", 16, 2},
    {DType::I16, "", 17, 2},          {DType::F8, "f8e5m2", 19, 1},
    {DType::F8, "f8e4m3fn", 20, 1},   {DType::F8, "f8e4m3b11fnuz", 23, 1},
    {DType::F8, "f8e5m2fnuz", 24, 1}, {DType::F8, "f8e4m3fnuz", 25, 1},
    {DType::F8, "f8e4m3", 28, 1},     {DType::F8, "f8e3m4", 29, 1},
    {DType::F8, "f8e8m0fnu", 33, 1},
};

Literal element(uint64_t bits, DType t, std::string_view format) {
  switch (t) {
    case DType::Bool: return Literal::boolean(bits != 0);
    case DType::U8:
    case DType::U16: return Literal::integer(static_cast<int64_t>(bits), t);
    case DType::I8: return Literal::integer(static_cast<int8_t>(bits), t);
    case DType::I16: return Literal::integer(static_cast<int16_t>(bits), t);
    case DType::I32: return Literal::integer(static_cast<int32_t>(bits), t);
    case DType::U32: return Literal::integer(static_cast<int64_t>(static_cast<uint32_t>(bits)), t);
    case DType::I64:
    case DType::U64: return Literal::integer(static_cast<int64_t>(bits), t);
    case DType::F16: return Literal::real(f16_from_bits(static_cast<uint16_t>(bits)), t);
    case DType::BF16: return Literal::real(bf16_from_bits(static_cast<uint16_t>(bits)), t);
    case DType::F32: return Literal::real(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))), t);
    case DType::F64: return Literal::real(std::bit_cast<double>(bits), t);
    default: return Literal::real(small_float_from_bits(format, static_cast<uint8_t>(bits)), t);
  }
}

// From the order of a layout that is not descending to row-major.
std::vector<Literal> row_major(const std::vector<Literal>& stored, const ir::Shape& shape, const std::vector<int64_t>& minor_to_major) {
  const size_t rank = shape.size();
  std::vector<size_t> stride(rank, 1);  // in the stored order, by logical dimension
  size_t step = 1;
  for (int64_t d : minor_to_major) {
    stride[static_cast<size_t>(d)] = step;
    step *= static_cast<size_t>(shape[static_cast<size_t>(d)]);
  }
  std::vector<Literal> out;
  out.reserve(stored.size());
  std::vector<int64_t> index(rank, 0);
  size_t at = 0;
  for (size_t n = 0; n < stored.size(); ++n) {
    out.push_back(stored[at]);
    for (size_t d = rank; d-- > 0;) {
      at += stride[d];
      if (++index[d] < shape[d]) break;
      at -= stride[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

bool ProtoReader::literal(std::string_view bytes, Instruction& out) {
  const Type& type = out.type;
  const auto unknown = [&] {
    out.other.emplace_back("constant", "{...}");
    return true;
  };
  const Storage* storage = nullptr;
  for (const Storage& s : kStorage) {
    if (s.dtype == type.dtype && s.format == type.float_format) storage = &s;
  }
  // Tuples, complex numbers and packed 2- and 4-bit types: the value stays unknown.
  if (type.tuple || type.dynamic || storage == nullptr) return unknown();

  std::vector<Literal> elements;
  Type stated;
  bool has_shape = false;
  Wire w(bytes);
  Field f;
  while (w.next(f)) {
    if (f.number == 1 && f.wire == Field::Bytes) {
      stated = Type();
      if (!shape(f.bytes, stated, 0)) return false;
      has_shape = true;
    } else if (f.number == storage->field) {
      if (f.wire != Field::Bytes) {  // one element
        if (storage->bytes == 0 ? f.wire != Field::Varint : f.wire == Field::Varint) return damaged(bytes, "a constant");
        elements.push_back(element(f.value, type.dtype, type.float_format));
        continue;
      }
      Wire packed(f.bytes);
      if (storage->bytes > 0) {
        if (f.bytes.size() % static_cast<size_t>(storage->bytes) != 0) return damaged(bytes, "a constant");
        elements.reserve(elements.size() + f.bytes.size() / static_cast<size_t>(storage->bytes));
      }
      while (!packed.at_end()) {
        uint64_t v = 0;
        if (!(storage->bytes == 0 ? packed.varint(v) : packed.fixed(v, storage->bytes))) return damaged(bytes, "a constant");
        elements.push_back(element(v, type.dtype, type.float_format));
      }
    } else if (f.number == 14) {
      return unknown();  // sparse
    }
  }
  if (w.damaged()) return damaged(bytes, "a constant");
  if (has_shape && (stated.tuple || stated.dtype != type.dtype || stated.shape != type.shape)) {
    return fail(bytes, fmt::format("the value of constant '{}' has another type than the instruction", out.name));
  }
  int64_t n = 1;
  for (int64_t d : type.shape) n *= d;
  if (elements.empty() && n > 0) return unknown();  // the file was written without values
  if (static_cast<int64_t>(elements.size()) != n) {
    return fail(bytes, fmt::format("constant '{}' has {} elements, its type says {}", out.name, elements.size(), n));
  }
  if (!stated.layout.empty()) elements = row_major(elements, type.shape, stated.layout);
  compress(elements);
  out.literal = std::make_shared<const std::vector<Literal>>(std::move(elements));
  return true;
}

}  // namespace shardproof::hlo
