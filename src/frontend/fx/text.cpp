// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Classes and functions of a file of FX readable text, found by indentation. Within a class with a forward function every line must be
// understood; Python outside of classes (imports, settings, Triton kernels of fx_graph_runnable files) is not part of a graph.
#include "frontend/fx/text.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/fx/runnable.h"
#include "frontend/fx/trace_log.h"

namespace shardproof::fx {
namespace {

constexpr size_t kMaxClassDepth = 32;
constexpr size_t kMaxTextBytes = size_t{1} << 31;

class TextReader {
 public:
  TextReader(std::string_view text, const std::string& path) : cursor_(text, path) { module_.path = path; }

  Result<Module> read() {
    if (cursor_.text().size() > kMaxTextBytes) {
      return Diagnostic{"SP212", "the file is larger than 2 GiB, the most that is read", cursor_.path(), 0, 0};
    }
    if (cursor_.looking_at("\xEF\xBB\xBF")) cursor_.advance(3);
    while (!cursor_.done()) {
      if (!line()) return cursor_.error();
    }
    if (!end_function() || !assemble()) return cursor_.error();
    return std::move(module_);
  }

 private:
  bool line();
  bool class_header(int64_t indent);
  bool function_header(int64_t indent);
  bool end_function();
  bool assemble();
  // The innermost class that a line of this indentation is in; -1 outside.
  int enclosing(int64_t indent);
  // A class whose "class" is not first on its line: torch's logs put the name of a file before it.
  bool class_after_path() const;

  Cursor cursor_;
  Module module_;
  std::vector<GraphText> graphs_;
  std::vector<int> open_;             // classes around the current line
  std::unique_ptr<BodyReader> body_;  // of the current forward function
  GraphText scratch_;                 // body_ fills this; it moves to graphs_ at the end, as graphs_ may grow
  int scratch_owner_ = -1;
  RunnableReader runnable_;
  bool in_load_args_ = false;
  int64_t function_indent_ = -1;  // of the current function, forward or other; -1: none
};

int TextReader::enclosing(int64_t indent) {
  while (!open_.empty() && graphs_[static_cast<size_t>(open_.back())].indent >= indent) open_.pop_back();
  return open_.empty() ? -1 : open_.back();
}

bool TextReader::class_after_path() const {
  const std::string_view rest = cursor_.text().substr(cursor_.pos(), cursor_.text().find('\n', cursor_.pos()) - cursor_.pos());
  const size_t at = rest.find(" class ");
  return at != std::string_view::npos && at > 0 && rest.find(' ') == at && rest.find('(', at) != std::string_view::npos;
}

bool TextReader::line() {
  const size_t start = cursor_.pos();
  cursor_.skip_blanks();
  const auto indent = static_cast<int64_t>(cursor_.pos() - start);
  if (cursor_.at_line_end()) {
    cursor_.skip_line();
    return true;
  }
  if (cursor_.peek() == '#') {
    const std::string_view text = cursor_.comment();
    if (body_) body_->comment(text);
    cursor_.skip_line();
    return true;
  }
  if (function_indent_ >= 0) {
    if (indent > function_indent_) {
      if (body_) return body_->line();
      if (in_load_args_) return runnable_.load_args_line(cursor_);
      cursor_.skip_statement();
      return true;
    }
    if (!end_function()) return false;
  }
  // print_readable() of some classes does not indent "def" below "class".
  const bool flat = !open_.empty() && graphs_[static_cast<size_t>(open_.back())].indent == indent &&
                    !graphs_[static_cast<size_t>(open_.back())].has_forward && cursor_.looking_at("def ");
  const int owner = flat ? open_.back() : enclosing(indent);
  if (cursor_.take_word("class")) return class_header(indent);
  if (cursor_.take_word("def")) return function_header(indent);
  if (owner < 0) {
    if (class_after_path()) {
      while (cursor_.peek() != ' ') cursor_.advance();
      cursor_.skip_blanks();
      cursor_.take_word("class");
      return class_header(indent);
    }
    if (cursor_.looking_at("setup_fake_process_groups(")) return runnable_.process_groups(cursor_, module_.notes);
    cursor_.skip_statement();
    return true;
  }
  if (cursor_.peek() == '@' || cursor_.peek() == '"' || cursor_.peek() == '\'') {
    cursor_.skip_statement();
    return true;
  }
  if (cursor_.take_word("pass")) {
    cursor_.skip_statement();
    return true;
  }
  return cursor_.fail(fmt::format("expected 'def' or 'class' within a class, found {}", cursor_.found()));
}

// Behind "class": the name, which may be "<lambda>", and what it derives from.
bool TextReader::class_header(int64_t indent) {
  cursor_.skip_blanks();
  const size_t pos = cursor_.pos();
  std::string_view name = cursor_.identifier();
  if (name.empty() && cursor_.peek() == '<') {
    while (!cursor_.at_line_end() && cursor_.peek() != '>') cursor_.advance();
    cursor_.take('>');
    name = cursor_.from(pos);
  }
  if (name.empty()) return cursor_.fail(fmt::format("expected the name of a class, found {}", cursor_.found()));
  if (open_.size() >= kMaxClassDepth) return cursor_.fail_at(pos, fmt::format("classes nest deeper than {}", kMaxClassDepth), "SP212");
  cursor_.skip_blanks();
  if (cursor_.peek() != '(' && cursor_.peek() != ':')
    return cursor_.fail(fmt::format("expected '(' or ':' after a class's name, found {}", cursor_.found()));
  GraphText& added = graphs_.emplace_back();
  added.graph.name = std::string(name);
  added.parent = open_.empty() ? -1 : open_.back();
  added.indent = indent;
  added.pos = pos;
  open_.push_back(static_cast<int>(graphs_.size()) - 1);
  cursor_.skip_statement();
  return true;
}

bool TextReader::function_header(int64_t indent) {
  cursor_.skip_blanks();
  const size_t pos = cursor_.pos();
  const std::string_view name = cursor_.identifier();
  function_indent_ = indent;
  if (name != "forward") {
    in_load_args_ = name == "load_args" && open_.empty();
    cursor_.skip_statement();
    return true;
  }
  if (open_.empty()) {  // GraphModule.code: no class around
    GraphText& added = graphs_.emplace_back();
    added.indent = indent;
    added.pos = pos;
    scratch_owner_ = static_cast<int>(graphs_.size()) - 1;
  } else {
    scratch_owner_ = open_.back();
    if (graphs_[static_cast<size_t>(scratch_owner_)].has_forward) {
      return cursor_.fail_at(pos, "this class has a second forward function", "SP211");
    }
  }
  scratch_ = std::move(graphs_[static_cast<size_t>(scratch_owner_)]);
  body_ = std::make_unique<BodyReader>(cursor_, module_.notes);
  if (!body_->signature(scratch_)) return false;
  return body_->line();
}

bool TextReader::end_function() {
  function_indent_ = -1;
  in_load_args_ = false;
  if (!body_) return true;
  const bool ok = body_->finish();
  body_.reset();
  graphs_[static_cast<size_t>(scratch_owner_)] = std::move(scratch_);
  scratch_ = GraphText{};
  return ok;
}

void collect_references(const Graph& graph, std::unordered_set<std::string>& out) {
  for (const Value& value : graph.values) {
    if (value.op == Value::Op::GetAttr) out.insert(value.target);
    if (value.op == Value::Op::Builtin && value.target.compare(0, 5, "self.") == 0) out.insert(value.target.substr(5));
    for (const Arg& arg : value.args) {
      if (arg.kind == Arg::Kind::Self) out.insert(arg.text);
    }
  }
}

// Picks the main graph and hangs the others below their parents.
bool TextReader::assemble() {
  std::unordered_set<std::string> references;
  std::vector<size_t> roots;
  for (size_t i = 0; i < graphs_.size(); ++i) {
    GraphText& text = graphs_[i];
    if (text.has_return) collect_references(text.graph, references);
    if (text.has_forward && !text.has_return && (text.parent >= 0 || !text.graph.values.empty())) {
      // Stubs ("def forward(self, *args, **kwargs): pass") have no statements; a graph without a return was cut off.
      const bool stub = std::all_of(text.graph.values.begin(), text.graph.values.end(),
                                    [](const Value& value) { return value.op == Value::Op::Placeholder && !value.type.known; });
      if (!stub) return cursor_.fail_at(text.pos, fmt::format("'{}' has no return statement: is the file complete?", text.graph.name));
    }
    if (text.parent < 0 && text.has_return) roots.push_back(i);
  }
  if (roots.empty()) {
    return cursor_.fail_at(cursor_.text().size(),
                           "no FX graph in this file: expected a class with 'def forward' that returns, as print_readable() writes it",
                           "SP213");
  }
  size_t main = roots.front();
  if (roots.size() > 1) {
    std::vector<size_t> unreferenced;
    for (const size_t i : roots) {
      if (references.count(graphs_[i].graph.name) == 0) unreferenced.push_back(i);
    }
    const auto runnable = std::find_if(roots.begin(), roots.end(), [&](size_t i) { return graphs_[i].graph.name == "Repro"; });
    if (runnable != roots.end()) {
      main = *runnable;
    } else if (unreferenced.size() == 1) {
      main = unreferenced.front();
    } else {
      const size_t second = unreferenced.size() > 1 ? unreferenced[1] : roots[1];
      return cursor_.fail_at(graphs_[second].pos, "a second graph, to which the first does not refer: give one graph a file", "SP213");
    }
  }
  for (size_t i = graphs_.size(); i-- > 0;) {
    if (i == main || !graphs_[i].has_return) continue;
    int above = graphs_[i].parent;
    while (above >= 0 && !graphs_[static_cast<size_t>(above)].has_return) above = graphs_[static_cast<size_t>(above)].parent;
    const size_t parent = above >= 0 ? static_cast<size_t>(above) : main;
    std::string name = graphs_[i].graph.name;
    graphs_[parent].graph.submodules.push_back({std::move(name), std::move(graphs_[i].graph)});
  }
  for (GraphText& text : graphs_) std::reverse(text.graph.submodules.begin(), text.graph.submodules.end());
  module_.graph = std::move(graphs_[main].graph);
  runnable_.apply(module_.graph, module_.notes);
  return true;
}

}  // namespace

namespace {

// print_readable(colored=True): without the escape sequences it is plain text. Columns of messages refer to that.
std::string without_colours(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      size_t end = i + 2;
      while (end < text.size() && (text[end] == ';' || (text[end] >= '0' && text[end] <= '9'))) ++end;
      if (end < text.size() && text[end] == 'm') {
        i = end;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

}  // namespace

Result<Module> read_text(std::string_view text, const std::string& path) {
  std::string plain;
  if (text.find('\x1b') != std::string_view::npos) {
    plain = without_colours(text);
    text = plain;
  }
  if (!is_trace_log(text)) return TextReader(text, path).read();
  Result<LoggedGraph> logged = graph_of_log(text, path);
  if (!logged) return logged.error();
  Result<Module> module = TextReader(logged->text, path).read();
  if (module.ok()) module->notes.insert(module->notes.begin(), logged->notes.begin(), logged->notes.end());
  return module;
}

}  // namespace shardproof::fx
