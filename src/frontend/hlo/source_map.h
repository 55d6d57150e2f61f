// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// From the metadata of an instruction to a file and line. Three ways occur:
//   source_file, source_line            older XLA
//   source_file with a whole Python stack in the string, "run.py\n----\n['a.py:46', 'b.py:97']"   Neuron: the innermost frame outside
//                                       installed packages is taken
//   stack_frame_id and module tables    newer XLA: the frame's own location
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "frontend/hlo/module.h"

namespace shardproof::hlo {

class SourceMap {
 public:
  struct Location {
    int64_t file_id = 0;
    int64_t line = 0;
  };
  void add_file(int64_t id, std::string name) { files_[id] = std::make_shared<const std::string>(std::move(name)); }
  void add_location(int64_t id, Location location) { locations_[id] = location; }
  void add_frame(int64_t id, int64_t location_id) { frames_[id] = location_id; }

  // `raw` is the source_file with its escapes resolved or not (key of the cache); `resolve` is called at most once for each.
  void set_file(Instruction& instruction, std::string_view raw, int64_t line, bool escaped);
  void set_frame(Instruction& instruction, int64_t frame_id) const;

 private:
  struct File {
    std::shared_ptr<const std::string> path;
    int line = 0;  // 0: use the line that the instruction states
  };
  std::unordered_map<int64_t, std::shared_ptr<const std::string>> files_;
  std::unordered_map<int64_t, Location> locations_;
  std::unordered_map<int64_t, int64_t> frames_;
  std::unordered_map<std::string, File> by_text_;
  std::string last_raw_;  // most instructions have the file of the one before
  File last_;
};

}  // namespace shardproof::hlo
