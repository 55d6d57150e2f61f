// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// shardproof-check CERTIFICATE [--manifest M]: exit 0 accepted, 1 rejected, 2 cannot be read.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "check/checker.h"
#include "manifest/npy.h"

namespace {

using namespace shardproof;

constexpr size_t kMaxBytes = size_t{1} << 31;

int unreadable(const Diagnostic& d) {
  std::fputs(fmt::format("shardproof-check: {}: {}{}\n", d.code, d.file.empty() ? "" : d.file + ": ", d.message).c_str(), stderr);
  return 2;
}

int run(const std::string& path, std::string manifest_path, std::optional<uint64_t> seed, bool quiet) {
  Result<std::string> bytes = manifest::read_file(path, kMaxBytes);
  if (!bytes) return unreadable(bytes.error());
  Result<certificate::Certificate> certificate = certificate::decode(*bytes, path);
  if (!certificate) return unreadable(certificate.error());
  if (manifest_path.empty()) manifest_path = certificate->manifest;
  Result<manifest::Manifest> manifest = manifest::load(manifest_path);
  if (!manifest) return unreadable(manifest.error());
  Result<link::Problem> linked = link::link(*manifest);
  if (!linked) return unreadable(linked.error());
  if (!seed) {
    std::random_device device;
    seed = (static_cast<uint64_t>(device()) << 32) ^ device();
  }
  // Taking it apart at the end would only cost time.
  auto* problem = new link::Problem(std::move(*linked));
  const check::Report r = check::check(*certificate, *manifest, *problem, *seed);
  if (!r.rejected.empty()) {
    std::fputs(fmt::format("rejected: {}\n", r.rejected).c_str(), stdout);
    if (!quiet) std::fputs(fmt::format("seed {}\n", *seed).c_str(), stdout);
    return 1;
  }
  if (quiet) return 0;
  std::string text =
      fmt::format("accepted: {} claims and {} goals over {} terms, at {} points, seed {}\n", r.claims, r.goals, r.terms, r.points, *seed);
  for (const std::string& a : r.assumptions) text += fmt::format("  assuming that {}\n", a);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Re-checks a proof that `shardproof check --certificate` wrote. Exit: 0 accepted, 1 rejected, 2 cannot be read"};
  std::string certificate, manifest;
  std::optional<uint64_t> seed;
  bool quiet = false;
  app.add_option("certificate", certificate, "The certificate")->required();
  app.add_option("--manifest", manifest, "It must be about exactly this manifest (default: the one that it names)");
  app.add_option("--seed", seed, "Seed of the random functions (default: from the system)");
  app.add_flag("--quiet", quiet, "Print only a rejection");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    const int code = run(certificate, manifest, seed, quiet);
    std::fflush(stdout);
    std::_Exit(code);
  } catch (const std::bad_alloc&) {
    std::fputs("shardproof-check: out of memory\n", stderr);
  } catch (const std::exception& e) {
    std::fputs(fmt::format("shardproof-check: {}\n", e.what()).c_str(), stderr);
  }
  return 2;
}
