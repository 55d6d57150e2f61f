// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "cli/size.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace shardproof::cli {

std::string parse_memory(std::string_view text, uint64_t& bytes) {
  const std::string shown(text);
  const std::string wrong =
      fmt::format("{} is no amount of memory: give bytes, or a number with a unit, such as 14G, 1.5GiB or 800MB (0: no limit)", shown);
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return wrong;
  while (rest != end && *rest == ' ') ++rest;
  std::string unit;
  for (; rest != end; ++rest) unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*rest)));
  double scale = 1;
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string_view("kmgt").find(unit[0]);
    if (power == std::string_view::npos) return wrong;
    const std::string_view tail = std::string_view(unit).substr(1);
    if (!tail.empty() && tail != "ib" && tail != "b") return wrong;
    scale = std::pow(tail == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  const double amount = std::floor(number * scale);
  if (amount >= 0x1p63) return wrong;
  bytes = static_cast<uint64_t>(amount);
  if (bytes == 0 && number == 0) return "";
  if (bytes < kLeastMemory)
    return fmt::format(
        "{} is {} {}, and a check needs 16 MiB at least{}", shown, bytes, bytes == 1 ? "byte" : "bytes",
        unit.empty() ? fmt::format(": without a unit the number counts bytes ({}M would be MiB; 0: no limit)", shown) : std::string());
  return "";
}

}  // namespace shardproof::cli
