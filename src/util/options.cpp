// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "util/options.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "util/words.h"

namespace shardproof {

namespace {

bool whole(const std::string& text, int64_t& out) {
  char* end = nullptr;
  errno = 0;
  out = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && text[0] != ' ' && *end == '\0' && errno == 0;
}

bool natural(const std::string& text, uint64_t& out) {
  char* end = nullptr;
  errno = 0;
  out = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

bool real(const std::string& text, double& out) {
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return !text.empty() && text[0] != ' ' && *end == '\0' && std::isfinite(out);
}

constexpr size_t kHelpColumn = 30, kHelpWidth = 140;

// Two columns; what is long is broken between words.
void append_row(std::string& out, const std::string& left, const std::string& right) {
  out += "  " + left;
  size_t column = left.size() + 2;
  if (column + 2 > kHelpColumn) {
    out += '\n';
    column = 0;
  }
  out.append(kHelpColumn - column, ' ');
  column = kHelpColumn;
  for (size_t k = 0; k < right.size();) {
    const size_t end = std::min(right.find(' ', k), right.size());
    if (column > kHelpColumn && column + 1 + (end - k) > kHelpWidth) {
      out += '\n';
      out.append(kHelpColumn, ' ');
      column = kHelpColumn;
    } else if (column > kHelpColumn) {
      out += ' ';
      ++column;
    }
    out += right.substr(k, end - k);
    column += end - k;
    k = end + 1;
  }
  out += '\n';
}

}  // namespace

void Command::add(std::string name, std::string value, std::string help, std::function<std::string(const std::string&)> target) {
  options_.push_back({std::move(name), std::move(value), std::move(help), std::move(target)});
}

void Command::positional(std::string name, std::string& target, std::string help) {
  positionals_.push_back({std::move(name), "", std::move(help), [&target](const std::string& text) {
                            target = text;
                            return std::string();
                          }});
}

void Command::flag(std::string name, bool& target, std::string help) {
  add(std::move(name), "", std::move(help), [&target](const std::string&) {
    target = true;
    return std::string();
  });
}

void Command::option(std::string name, std::string& target, std::string help) {
  add(std::move(name), "TEXT", std::move(help), [&target](const std::string& text) {
    target = text;
    return std::string();
  });
}

void Command::hidden(std::string name, std::string& target) {
  option(std::move(name), target, "");
  options_.back().hidden = true;
}

void Command::option(std::string name, std::vector<std::string>& target, std::string help) {
  add(std::move(name), "TEXT", std::move(help), [&target](const std::string& text) {
    target.push_back(text);
    return std::string();
  });
  options_.back().list = true;
}

void Command::option(std::string name, uint64_t& target, std::string help) {
  add(std::move(name), "NUMBER", std::move(help),
      [&target](const std::string& text) { return std::string(natural(text, target) ? "" : "a whole number, 0 or more"); });
}

void Command::option(std::string name, std::optional<uint64_t>& target, std::string help) {
  add(std::move(name), "NUMBER", std::move(help), [&target](const std::string& text) {
    uint64_t value = 0;
    if (!natural(text, value)) return std::string("a whole number, 0 or more");
    target = value;
    return std::string();
  });
}

void Command::option(std::string name, int64_t& target, std::string help, int64_t low, int64_t high) {
  add(std::move(name), "NUMBER", std::move(help), [&target, low, high](const std::string& text) {
    int64_t value = 0;
    if (!whole(text, value) || value < low || value > high) {
      const bool open = high == std::numeric_limits<int64_t>::max();
      return "a whole number, " + std::to_string(low) + (open ? " or more" : " to " + std::to_string(high));
    }
    target = value;
    return std::string();
  });
}

void Command::option(std::string name, double& target, std::string help, bool positive) {
  add(std::move(name), "NUMBER", std::move(help), [&target, positive](const std::string& text) {
    double value = 0;
    if (!real(text, value) || value < 0 || (positive && value == 0))
      return std::string(positive ? "a number above 0" : "a number, 0 or more");
    target = value;
    return std::string();
  });
}

void Command::option(std::string name, std::optional<double>& target, std::string help) {
  add(std::move(name), "NUMBER", std::move(help), [&target](const std::string& text) {
    double value = 0;
    if (!real(text, value) || value < 0) return std::string("a number, 0 or more");
    target = value;
    return std::string();
  });
}

void Command::choice(std::string name, std::vector<std::string> words, std::function<void(size_t)> target, std::string help) {
  add(std::move(name), "WORD", std::move(help), [words = std::move(words), target = std::move(target)](const std::string& text) {
    std::string all;
    for (size_t k = 0; k < words.size(); ++k) {
      if (text == words[k]) {
        target(k);
        return std::string();
      }
      all += (k == 0 ? "" : k + 1 == words.size() ? " or " : ", ") + words[k];
    }
    return all;
  });
}

std::string Command::read(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    help_wanted_ |= argument == "-h" || argument == "--help";
  }
  if (help_wanted_) return "";
  size_t place = 0;
  bool only_positionals = false;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const std::string& argument = arguments[k];
    if (!only_positionals && argument == "--") {
      only_positionals = true;
      continue;
    }
    if (only_positionals || argument.size() < 2 || argument[0] != '-') {
      if (place == positionals_.size()) return "'" + argument + "' is one argument too many";
      positionals_[place++].target(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    Option* option = nullptr;
    std::vector<std::string> known{"--help"};
    for (Option& o : options_) {
      if (o.name == name) option = &o;
      if (!o.hidden) known.push_back(o.name);
    }
    if (option == nullptr) {
      const std::string near = nearest(name, known);
      return "unknown option " + name + (near.empty() ? "" : ": did you mean " + near + "?");
    }
    if (option->value.empty()) {
      if (equals != std::string::npos) return name + " takes no value";
      option->target("");
      continue;
    }
    if (option->seen && !option->list) return name + " is given twice";
    option->seen = true;
    if (equals == std::string::npos && k + 1 == arguments.size()) return name + " needs a value";
    const std::string value = equals == std::string::npos ? arguments[++k] : argument.substr(equals + 1);
    const std::string wanted = option->target(value);
    if (!wanted.empty()) return name + " takes " + wanted + ", not '" + value + "'";
  }
  if (place < positionals_.size()) return "missing argument: " + positionals_[place].name;
  return "";
}

std::string Command::help() const {
  std::string out = about_ + "\nUsage: " + name_ + " [OPTIONS]";
  for (const Option& p : positionals_) out += " " + p.name;
  out += "\n\nArguments:\n";
  for (const Option& p : positionals_) append_row(out, p.name, p.help);
  out += "\nOptions:\n";
  append_row(out, "-h, --help", "Print this help and exit");
  for (const Option& o : options_)
    if (!o.hidden) append_row(out, o.value.empty() ? o.name : o.name + " " + o.value, o.help);
  return out;
}

}  // namespace shardproof
