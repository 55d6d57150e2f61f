# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# Debian packages first (tools/setup.sh installs them); other users get the same libraries by FetchContent.
include(FetchContent)
set(FETCHCONTENT_TRY_FIND_PACKAGE_MODE ALWAYS)

FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt GIT_TAG 9.1.0 FIND_PACKAGE_ARGS NAMES fmt)
FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json GIT_TAG v3.11.2 FIND_PACKAGE_ARGS NAMES nlohmann_json)
FetchContent_Declare(tomlplusplus GIT_REPOSITORY https://github.com/marzer/tomlplusplus GIT_TAG v3.3.0 FIND_PACKAGE_ARGS NAMES tomlplusplus)
FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11 GIT_TAG v2.1.2 FIND_PACKAGE_ARGS NAMES CLI11)
FetchContent_MakeAvailable(fmt nlohmann_json tomlplusplus CLI11)
if(SHARDPROOF_TESTS)
  FetchContent_Declare(doctest GIT_REPOSITORY https://github.com/doctest/doctest GIT_TAG v2.4.9 FIND_PACKAGE_ARGS NAMES doctest)
  FetchContent_MakeAvailable(doctest)
endif()
find_package(ZLIB REQUIRED)
# A proof makes and throws away millions of small vectors; with mimalloc a large check takes a third less time than with glibc's malloc. The
# two commands are linked with it where it is installed, and work without. Sanitizers bring an allocator of their own.
if(NOT SHARDPROOF_SANITIZE)
  find_package(mimalloc QUIET)
endif()
# Nothing names it, so that a linker that drops what is not needed (Ubuntu's default) must be told.
function(shardproof_allocator target)
  if(TARGET mimalloc)
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/new.cpp)
    target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
  endif()
endfunction()
# Arb became part of FLINT 3; on FLINT 2 (Debian 12) it is a library of its own.
find_library(FLINT_LIBRARY flint REQUIRED)
find_library(ARB_LIBRARY NAMES flint-arb arb)
find_library(GMP_LIBRARY gmp REQUIRED)  # its headers' inline functions call it
set(FLINT_LIBRARIES ${FLINT_LIBRARY} ${GMP_LIBRARY})
if(ARB_LIBRARY)
  list(PREPEND FLINT_LIBRARIES ${ARB_LIBRARY})
endif()
