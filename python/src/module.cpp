// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// shardproof._core: one check, from the path of a manifest to the answer as JSON and as text. The interpreter's lock is released meanwhile,
// so several checks may run in threads.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <filesystem>
#include <string>
#include <utility>

#include "manifest/manifest.h"
#include "report/check.h"
#include "report/json.h"
#include "report/text.h"

#if __has_include("cert/certificate.h")
#include "cert/certificate.h"
#define SHARDPROOF_HAS_CERTIFICATES 1
#endif

namespace {

using namespace shardproof;

// Whatever goes wrong inside is UNKNOWN(internal), as for the command; only what the user can mend is an error.
std::pair<std::string, std::string> check(const std::string& path, double time_limit, uint64_t memory_limit, const std::string& certificate,
                                          const std::string& witness) {
  try {
    std::error_code ignored;
    std::string directory = std::filesystem::is_directory(path, ignored) ? path : std::filesystem::path(path).parent_path().string();
    report::TextOptions look;
    look.directory = directory;
    Result<manifest::Manifest> manifest = manifest::load(path);
    if (!manifest) return {report::to_json(manifest.error()), report::to_text(manifest.error(), look)};
    report::CheckOptions options;
    options.time_limit = time_limit;
    options.memory_limit = memory_limit;
    options.certificate = certificate;
    options.witness = witness;
#ifdef SHARDPROOF_HAS_CERTIFICATES
    options.write_certificate = cert::write_certificate;
#endif
    Result<report::CheckResult> result = report::run_check(*manifest, options);
    if (!result) return {report::to_json(result.error()), report::to_text(result.error(), look)};
    return {report::to_json(*result), report::to_text(*result, look)};
  } catch (const std::exception& error) {
    report::CheckResult result;
    result.reason = "internal";
    result.detail = error.what();
    return {report::to_json(result), report::to_text(result, {})};
  }
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The checker behind shardproof.check.";
  m.def("check", &check, nanobind::arg("manifest"), nanobind::arg("time_limit"), nanobind::arg("memory_limit"),
        nanobind::arg("certificate"), nanobind::arg("witness"), nanobind::call_guard<nanobind::gil_scoped_release>(),
        "The answer as JSON, and as text for people.");
}
