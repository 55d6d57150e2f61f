// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// Finds FLINT for arb_abi.h: the file that SHARDPROOF_FLINT names (the Python package says so, _flint.py), else that of a python-flint that
// lies in the same site-packages as this code, else the system's. Empty where FLINT's headers were found at build time.
#include "interp/number.h"

#ifdef SHARDPROOF_ARB_ABI

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "util/result.h"

namespace shardproof::interp {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> candidates() {
  std::vector<std::string> out;
  if (const char* named = std::getenv("SHARDPROOF_FLINT"); named != nullptr && *named != '\0') return {named};
  static const char here = 0;
  Dl_info self{};
  if (dladdr(&here, &self) != 0 && self.dli_fname != nullptr) {
    std::error_code ignored;
    const fs::path folder = fs::weakly_canonical(self.dli_fname, ignored).parent_path();
    // shardproof/_core.so and shardproof/bin/shardproof; wheels for Linux and for macOS
    for (const char* place : {"../python_flint.libs", "../../python_flint.libs", "../flint/.dylibs", "../../flint/.dylibs"})
      for (fs::directory_iterator file(folder / place, ignored), end; !ignored && file != end; file.increment(ignored))
        if (file->path().filename().string().rfind("libflint", 0) == 0) out.push_back(file->path().string());
  }
  // FLINT 3 has Arb in it; before, it was a library of its own.
  for (const char* name : {"libflint.so.24", "libflint.so.23", "libflint.so.22", "libflint.so.21", "libflint.so.20", "libflint.so.19",
                           "libflint.so.18", "libflint.dylib", "libflint-arb.so.2", "libarb.so.2"})
    out.emplace_back(name);
  return out;
}

void load() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  static bool done = false;
  if (done) return;
  std::string reason;
  for (const std::string& name : candidates()) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (reason.empty()) reason = dlerror();
      continue;
    }
    const char* missing = nullptr;
#define SHARDPROOF_ARB_CHECK(result, name, parameters, arguments) \
  if (dlsym(library, #name) == nullptr) missing = #name;
    SHARDPROOF_ARB_FUNCTIONS(SHARDPROOF_ARB_CHECK)
#undef SHARDPROOF_ARB_CHECK
    if (missing != nullptr) {
      reason = name + " has no " + missing;
      dlclose(library);
      continue;
    }
#define SHARDPROOF_ARB_FILL(result, name, parameters, arguments) \
  arb_slots::name = reinterpret_cast<result(*) parameters>(dlsym(library, #name));
    SHARDPROOF_ARB_FUNCTIONS(SHARDPROOF_ARB_FILL)
#undef SHARDPROOF_ARB_FILL
    done = true;
    return;
  }
  throw InternalError("FLINT, which evaluates programs, was not found (" + reason +
                      "): pip install python-flint, or name the library in SHARDPROOF_FLINT");
}

#define SHARDPROOF_ARB_FIRST(result, name, parameters, arguments) \
  result first_##name parameters {                                \
    load();                                                       \
    return arb_slots::name arguments;                             \
  }
SHARDPROOF_ARB_FUNCTIONS(SHARDPROOF_ARB_FIRST)
#undef SHARDPROOF_ARB_FIRST

}  // namespace

namespace arb_slots {
#define SHARDPROOF_ARB_SLOT(result, name, parameters, arguments) result(*name) parameters = first_##name;
SHARDPROOF_ARB_FUNCTIONS(SHARDPROOF_ARB_SLOT)
#undef SHARDPROOF_ARB_SLOT
}  // namespace arb_slots

}  // namespace shardproof::interp

#endif
