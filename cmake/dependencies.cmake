# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# Debian packages first (tools/setup.sh installs them); other users get the same libraries by FetchContent.
include(FetchContent)
set(FETCHCONTENT_TRY_FIND_PACKAGE_MODE ALWAYS)

FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt GIT_TAG 9.1.0 FIND_PACKAGE_ARGS NAMES fmt)
FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json GIT_TAG v3.11.2 FIND_PACKAGE_ARGS NAMES nlohmann_json)
FetchContent_Declare(tomlplusplus GIT_REPOSITORY https://github.com/marzer/tomlplusplus GIT_TAG v3.3.0 FIND_PACKAGE_ARGS NAMES tomlplusplus)
FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11 GIT_TAG v2.1.2 FIND_PACKAGE_ARGS NAMES CLI11)
FetchContent_MakeAvailable(fmt nlohmann_json tomlplusplus CLI11)
# A check of a small case takes milliseconds, and loading and relocating libraries is a good part of them: what can be part of the commands
# is. fmt's package has no static library, but its headers hold all of it; one source file compiles what is used (src/fmt.cpp). Likewise
# toml++, which one source file uses.
get_target_property(fmt_type fmt::fmt TYPE)
if(fmt_type STREQUAL SHARED_LIBRARY AND fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(sp_fmt STATIC ${CMAKE_SOURCE_DIR}/src/fmt.cpp)
  target_include_directories(sp_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(sp_fmt PUBLIC FMT_SHARED)
else()
  add_library(sp_fmt INTERFACE)
  target_link_libraries(sp_fmt INTERFACE fmt::fmt)
endif()
add_library(sp_toml INTERFACE)
target_include_directories(sp_toml SYSTEM INTERFACE $<TARGET_PROPERTY:tomlplusplus::tomlplusplus,INTERFACE_INCLUDE_DIRECTORIES>)
# The same for the commands themselves: the C++ run-time library and zlib.
function(shardproof_static_runtime target)
  if(CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT SHARDPROOF_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
if(SHARDPROOF_TESTS)
  FetchContent_Declare(doctest GIT_REPOSITORY https://github.com/doctest/doctest GIT_TAG v2.4.9 FIND_PACKAGE_ARGS NAMES doctest)
  FetchContent_MakeAvailable(doctest)
endif()
find_package(ZLIB REQUIRED)
find_library(ZLIB_ARCHIVE NAMES libz.a)
set(SHARDPROOF_ZLIB ZLIB::ZLIB)
if(ZLIB_ARCHIVE AND NOT SHARDPROOF_PYTHON)
  set(SHARDPROOF_ZLIB ${ZLIB_ARCHIVE})
endif()
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
