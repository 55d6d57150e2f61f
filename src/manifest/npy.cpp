// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The .npy header is a Python dict literal; only its three fixed keys are looked for.
#include "manifest/npy.h"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace shardproof::manifest {

namespace {

constexpr size_t kMaxElements = 1u << 24;

template <typename T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

double half_to_double(uint16_t h) {
  int exponent = (h >> 10) & 31, fraction = h & 1023;
  double sign = h & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction ? std::strtod("nan", nullptr) : sign * std::strtod("inf", nullptr);
  double value = exponent ? (1024 + fraction) : fraction * 2;
  for (int e = exponent; e < 25; ++e) value /= 2;
  for (int e = 25; e < exponent; ++e) value *= 2;
  return sign * value;
}

}  // namespace

Result<NpyArray> read_npy(std::string_view bytes, const std::string& path) {
  auto fail = [&](std::string message) { return Diagnostic{"SP204", "npy: " + message, path, 0, 0}; };
  if (bytes.size() < 10 || bytes.substr(0, 6) != "\x93NUMPY") return fail("not a .npy file");
  int major = static_cast<unsigned char>(bytes[6]);
  size_t header_start = major >= 2 ? 12 : 10;
  if (bytes.size() < header_start) return fail("truncated");
  size_t header_size = major >= 2 ? load<uint32_t>(bytes.data() + 8) : load<uint16_t>(bytes.data() + 8);
  if (header_size > bytes.size() - header_start) return fail("truncated header");
  std::string_view header = bytes.substr(header_start, header_size);
  auto field = [&](std::string_view key) {
    size_t at = header.find(key);
    if (at == std::string_view::npos) return std::string_view();
    at = header.find(':', at);
    if (at == std::string_view::npos) return std::string_view();
    std::string_view rest = header.substr(at + 1);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    return rest;
  };
  std::string_view descr = field("'descr'"), order = field("'fortran_order'"), shape_text = field("'shape'");
  if (descr.size() < 4 || descr[0] != '\'' || order.empty() || shape_text.empty() || shape_text[0] != '(') return fail("unknown header");
  if (!order.starts_with("False")) return fail("Fortran order is not supported; save it with np.ascontiguousarray");
  size_t quote = descr.find('\'', 1);
  if (quote == std::string_view::npos) return fail("unknown header");
  std::string type(descr.substr(1, quote - 1));
  if (type.size() != 3 || type[0] == '>') return fail(fmt::format("type {} is not supported (little-endian b, i, u, f)", type));
  type = type.substr(1);
  NpyArray out;
  size_t count = 1;
  size_t close = shape_text.find(')');
  if (close == std::string_view::npos) return fail("unknown header");
  for (size_t i = 1; i < close;) {
    if (shape_text[i] < '0' || shape_text[i] > '9') {
      ++i;
      continue;
    }
    int64_t extent = 0;
    auto [end, error] = std::from_chars(shape_text.data() + i, shape_text.data() + close, extent);
    if (error != std::errc() || extent < 0 || extent > static_cast<int64_t>(kMaxElements)) return fail("the array is too large");
    out.shape.push_back(extent);
    count *= static_cast<size_t>(extent);
    if (count > kMaxElements) return fail("the array is too large");
    i = static_cast<size_t>(end - shape_text.data());
  }
  size_t width = static_cast<size_t>(type[1] - '0');
  std::string_view data = bytes.substr(header_start + header_size);
  if (width == 0 || width > 8 || data.size() < count * width) return fail("truncated data");
  using ir::DType;
  using ir::Literal;
  out.values.reserve(count);
  for (size_t k = 0; k < count; ++k) {
    const char* p = data.data() + k * width;
    if (type == "b1")
      out.values.push_back(Literal::boolean(*p != 0));
    else if (type == "i1")
      out.values.push_back(Literal::integer(load<int8_t>(p), DType::I8));
    else if (type == "i2")
      out.values.push_back(Literal::integer(load<int16_t>(p), DType::I16));
    else if (type == "i4")
      out.values.push_back(Literal::integer(load<int32_t>(p), DType::I32));
    else if (type == "i8")
      out.values.push_back(Literal::integer(load<int64_t>(p), DType::I64));
    else if (type == "u1")
      out.values.push_back(Literal::integer(load<uint8_t>(p), DType::U8));
    else if (type == "u2")
      out.values.push_back(Literal::integer(load<uint16_t>(p), DType::U16));
    else if (type == "u4")
      out.values.push_back(Literal::integer(load<uint32_t>(p), DType::U32));
    else if (type == "u8")
      out.values.push_back(Literal::integer(static_cast<int64_t>(load<uint64_t>(p)), DType::U64));
    else if (type == "f2")
      out.values.push_back(Literal::real(half_to_double(load<uint16_t>(p)), DType::F16));
    else if (type == "f4")
      out.values.push_back(Literal::real(load<float>(p), DType::F32));
    else if (type == "f8")
      out.values.push_back(Literal::real(load<double>(p), DType::F64));
    else
      return fail(fmt::format("type {} is not supported", type));
  }
  return out;
}

Result<std::string> read_file(const std::string& path, size_t limit) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return Diagnostic{"SP204", "is a folder; a file is expected", path, 0, 0};
  std::ifstream in(path, std::ios::binary);
  if (!in) return Diagnostic{"SP204", "cannot be read: no such file, or no permission", path, 0, 0};
  in.seekg(0, std::ios::end);
  auto size = in.tellg();
  if (size < 0) return Diagnostic{"SP204", "cannot be read: not a regular file", path, 0, 0};
  if (static_cast<size_t>(size) > limit) return Diagnostic{"SP204", fmt::format("is larger than {} bytes", limit), path, 0, 0};
  std::string bytes(static_cast<size_t>(size), '\0');
  in.seekg(0);
  in.read(bytes.data(), size);
  if (in.gcount() != size) return Diagnostic{"SP204", "cannot be read to its end", path, 0, 0};
  return bytes;
}

}  // namespace shardproof::manifest
