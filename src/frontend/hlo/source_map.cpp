// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "frontend/hlo/source_map.h"

#include <charconv>

#include "frontend/hlo/cursor.h"

namespace shardproof::hlo {

namespace {

// The innermost frame of "['a.py:46', 'b.py:97']" (outermost first) that is no installed package; the last one if all are.
bool innermost_frame(std::string_view list, std::string_view& path, int& line) {
  bool found = false, own = false;
  while (true) {
    const size_t open = list.find('\'');
    if (open == std::string_view::npos) break;
    const size_t close = list.find('\'', open + 1);
    if (close == std::string_view::npos) break;
    const std::string_view frame = list.substr(open + 1, close - open - 1);
    list.remove_prefix(close + 1);
    const size_t colon = frame.rfind(':');
    if (colon == std::string_view::npos) continue;
    int n = 0;
    const char* end = frame.data() + frame.size();
    if (std::from_chars(frame.data() + colon + 1, end, n).ptr != end) continue;
    const bool mine = frame.find("/site-packages/") == std::string_view::npos;
    if (own && !mine) continue;
    path = frame.substr(0, colon);
    line = n;
    found = true;
    own = own || mine;
  }
  return found;
}

int clamp_line(int64_t line) { return line > 0 && line < (1 << 30) ? static_cast<int>(line) : 0; }

}  // namespace

void SourceMap::set_file(Instruction& instruction, std::string_view raw, int64_t line, bool escaped) {
  if (last_.path == nullptr || last_raw_ != raw) {
    last_raw_ = raw;
    const auto [entry, fresh] = by_text_.try_emplace(last_raw_);
    if (fresh) {
      std::string text = escaped ? unescape(raw) : std::string(raw);
      const size_t newline = text.find('\n');
      std::string_view path;
      int frame_line = 0;
      if (newline != std::string::npos && innermost_frame(std::string_view(text).substr(newline), path, frame_line)) {
        entry->second = {std::make_shared<const std::string>(path), frame_line};
      } else {
        entry->second = {std::make_shared<const std::string>(text.substr(0, newline)), 0};
      }
    }
    last_ = entry->second;
  }
  if (last_.path->empty()) return;
  instruction.file = last_.path;
  instruction.line = last_.line ? last_.line : clamp_line(line);
}

void SourceMap::set_frame(Instruction& instruction, int64_t frame_id) const {
  const auto frame = frames_.find(frame_id);
  if (frame == frames_.end()) return;
  const auto location = locations_.find(frame->second);
  if (location == locations_.end()) return;
  const auto file = files_.find(location->second.file_id);
  if (file == files_.end()) return;
  instruction.file = file->second;
  instruction.line = clamp_line(location->second.line);
}

}  // namespace shardproof::hlo
