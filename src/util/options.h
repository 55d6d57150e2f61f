// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// The options of a command line, and its help. Written as `--name VALUE` or `--name=VALUE`, in any order; what begins with no dash, and all
// after `--`, is positional. Every positional is required. Nothing is abbreviated, and nothing is read twice but what is a list.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardproof {

class Command {
 public:
  Command(std::string name, std::string about) : name_(std::move(name)), about_(std::move(about)) {}

  void positional(std::string name, std::string& target, std::string help);
  void flag(std::string name, bool& target, std::string help);
  void option(std::string name, std::string& target, std::string help);
  void option(std::string name, std::vector<std::string>& target, std::string help);  // may be repeated
  void option(std::string name, uint64_t& target, std::string help);
  void option(std::string name, std::optional<uint64_t>& target, std::string help);
  void option(std::string name, int64_t& target, std::string help, int64_t low, int64_t high = std::numeric_limits<int64_t>::max());
  void option(std::string name, double& target, std::string help, bool positive);  // positive: 0 is refused
  void option(std::string name, std::optional<double>& target, std::string help);  // not negative
  void choice(std::string name, std::vector<std::string> words, std::function<void(size_t)> target, std::string help);
  void hidden(std::string name, std::string& target);

  // Reads what follows the command's name. Returns what is wrong with it, or "". With -h or --help among it `help_wanted` is set, and
  // nothing is complained about.
  std::string read(const std::vector<std::string>& arguments);
  bool help_wanted() const { return help_wanted_; }
  std::string help() const;
  const std::string& name() const { return name_; }
  const std::string& about() const { return about_; }

 private:
  struct Option {
    std::string name, value, help;                          // value: what its value is called; empty for a flag
    std::function<std::string(const std::string&)> target;  // returns what it takes instead, or ""
    bool list = false, hidden = false, seen = false;
  };
  void add(std::string name, std::string value, std::string help, std::function<std::string(const std::string&)> target);

  std::string name_, about_;
  std::vector<Option> options_, positionals_;
  bool help_wanted_ = false;
};

}  // namespace shardproof
