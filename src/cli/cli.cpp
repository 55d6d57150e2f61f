// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <cstdio>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "cli/commands.h"
#include "report/json.h"
#include "util/options.h"
#include "util/words.h"

namespace shardproof::cli {

namespace {

// Usage errors are bad input, also for programs that read the answer.
int bad_usage(bool json, const std::string& message) {
  std::fputs(("shardproof: " + message + "\nRun with --help for more information.\n").c_str(), stderr);
  if (json) std::fputs(report::to_json(Diagnostic{"SP200", message, "", 0, 0}).c_str(), stdout);
  return 2;
}

}  // namespace

int run(int argc, const char* const* argv, bool own_process) {
  bool json = false;
  for (int k = 1; k < argc; ++k) json |= std::strcmp(argv[k], "--json") == 0;
  bool checking = argc > 1 && std::strcmp(argv[1], "check") == 0;
  try {
    auto color = [](Color& target) { return [&target](size_t k) { target = static_cast<Color>(k); }; };
    const std::vector<std::string> colors{"auto", "always", "never"};  // in the order of Color

    CheckArgs check_args;
    Command c("shardproof check", "Check the programs of a manifest. Exit: 0 PROVED, 1 REFUTED, 2 bad input, 3 UNKNOWN");
    c.positional("MANIFEST", check_args.manifest,
                 "Manifest (TOML or JSON), a folder with case.json or shardproof.toml, or such a folder as one .zip file");
    c.flag("--json", check_args.json, "Print exactly one JSON object on standard output");
    c.option("--time-limit", check_args.time_limit,
             "Seconds for the whole check (0: none). Without this option: 20 seconds of processor time, at most 50 on the wall");
    c.option("--memory-limit", check_args.memory_limit, "Bytes (0: none)");
    c.option("--certificate", check_args.certificate, "Write the proof to this file (PROVED)");
    c.option("--witness", check_args.witness, "Write the inputs that differ to this file (REFUTED)");
    c.flag("--paranoid", check_args.paranoid, "Evaluate the proved outputs, too");
    c.flag("--unroll", check_args.unroll, "Unroll all loops: none is proved by induction");
    c.flag("--no-falsify", check_args.no_falsify, "Only prove: what is not proved is UNKNOWN");
    c.option("--relation-out", check_args.relation_out, "Write the input relation as it was used (also the inferred part) to this file");
    c.option("--sarif", check_args.sarif, "Write a SARIF 2.1.0 report to this file");
    c.option("--junit", check_args.junit, "Write a JUnit XML report to this file");
    c.option("--html", check_args.html, "Write an HTML report to this file");
    c.option("--dot", check_args.dot, "Write the graph around the blamed operators to this file (Graphviz)");
    c.option("--source-root", check_args.source_root, "Prefix to strip from source paths in SARIF and JUnit");
    c.option("--seed", check_args.seed, "Seed of the falsifier's inputs");
    c.flag("--all", check_args.all, "List every proved output");
    c.flag("--quiet", check_args.quiet, "No progress on standard error");
    c.hidden("--because", check_args.because);  // guard.h
    c.choice("--color", colors, color(check_args.color), "auto, always or never");

    ReplayArgs replay_args;
    Command r("shardproof replay", "Evaluate both programs on a saved witness. Exit: 0 confirmed, 1 not confirmed, 2 cannot be read");
    r.positional("WITNESS", replay_args.witness, "Witness file");
    r.option("--manifest", replay_args.manifest, "The manifest that the witness must be about (default: the one it names)");
    r.choice("--color", colors, color(replay_args.color), "auto, always or never");

    MutateArgs mutate_args;
    Command m("shardproof mutate",
              "Make wrong variants of the distributed program and see whether any is proved. Exit: 0 none, 1 some, 2 bad input");
    m.positional("MANIFEST", mutate_args.manifest, "Manifest or folder");
    m.option("--n", mutate_args.n, "Number of mutants (default 100)", 1);
    m.option("--seed", mutate_args.seed, "Seed");
    m.option("--time-limit", mutate_args.time_limit, "Seconds for all mutants (0: none)", false);
    m.option("--mutant-limit", mutate_args.mutant_limit, "Seconds for one mutant (default 4)", true);
    m.option("--edits", mutate_args.edits, "Mistakes in each mutant, one on top of the other (default 1)", 1, 8);
    m.option("--kind", mutate_args.kinds, "Only this kind of mistake (may be repeated)");
    m.option("--only", mutate_args.only, "Only the mutant of this draw", 0);
    m.flag("--name", mutate_args.only_name, "With --only: say what the mutant is, and try nothing");
    m.option("--keep", mutate_args.keep, "Write what reproduces a wrong proof to this folder");
    m.option("--dump", mutate_args.dump, "Append small mutants with their verdicts to this file (JSON lines)");
    m.flag("--json", mutate_args.json, "Print one JSON object");

    Command* const commands[] = {&c, &r, &m};
    const std::string word = argc > 1 ? argv[1] : "";
    if (word == "--version") {
      std::fputs("shardproof " SHARDPROOF_VERSION "\n", stdout);
      return 0;
    }
    if (word == "-h" || word == "--help") {
      std::string text =
          "Proves that a distributed ML program (one graph per rank) computes what its one-device original computes, or refutes it.\n"
          "Usage: shardproof COMMAND [OPTIONS] ...\n       shardproof COMMAND --help\n       shardproof --version\n\nCommands:\n";
      for (const Command* command : commands) text += fmt::format("  {:<10}{}\n", command->name().substr(11), command->about());
      std::fputs(text.c_str(), stdout);
      return 0;
    }
    if (word.empty()) return bad_usage(json, "a command is missing: check, replay or mutate");
    Command* command = nullptr;
    for (Command* known : commands)
      if (known->name().substr(11) == word) command = known;
    if (command == nullptr) {
      const std::string near = nearest(word, {"check", "replay", "mutate", "--version", "--help"});
      return bad_usage(json, fmt::format("unknown command {}{}", word, near.empty() ? "" : ": did you mean " + near + "?"));
    }
    if (const std::string wrong = command->read({argv + 2, argv + argc}); !wrong.empty()) return bad_usage(json, wrong);
    if (command->help_wanted()) {
      std::fputs(command->help().c_str(), stdout);
      return 0;
    }
    if (command == &c) {
      check_args.own_process = own_process;
      if (own_process) check_args.command.assign(argv, argv + argc);
      return check(check_args);
    }
    if (command == &r) return replay(replay_args);
    return mutate(mutate_args);
  } catch (const std::bad_alloc&) {
    if (checking) return answer_unknown(json, "internal", "out of memory");
  } catch (const std::exception& e) {
    std::fputs(fmt::format("shardproof: internal error: {}\n", e.what()).c_str(), stderr);
    if (checking) return answer_unknown(json, "internal", e.what());
  }
  return 2;
}

}  // namespace shardproof::cli
