// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Names and globs: `*` stands for any run of characters; the most specific matching key wins.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace shardproof::manifest {

inline bool is_glob(std::string_view key) { return key.find('*') != std::string_view::npos; }

// Linear in practice (backtracks to the last star only).
inline bool glob_match(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos, mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// In HLO and MLIR a leading % may be written or left out.
inline std::string_view strip_percent(std::string_view name) { return !name.empty() && name.front() == '%' ? name.substr(1) : name; }

// How specific a key is: exact names beat globs; among globs the one with more fixed characters, then with fewer stars.
inline long specificity(std::string_view key) {
  if (!is_glob(key)) return 1L << 40;
  long stars = std::count(key.begin(), key.end(), '*');
  return (static_cast<long>(key.size()) - stars) * 1024 - std::min(stars, 1000L);
}

inline bool key_matches(std::string_view key, std::string_view name) {
  key = strip_percent(key);
  name = strip_percent(name);
  return is_glob(key) ? glob_match(key, name) : key == name;
}

}  // namespace shardproof::manifest
