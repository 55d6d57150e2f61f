# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# Three ways to the same libraries. A build of the commands takes Debian's packages (tools/setup.sh installs them), or FetchContent where they are not
# there. A wheel takes packages of PyPI, which pip installs for the build (pyproject.toml); PyPI has no headers of CLI11 and toml++, so these two are found or fetched.
include(FetchContent)
set(FETCHCONTENT_TRY_FIND_PACKAGE_MODE ALWAYS)

if(SKBUILD)
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "
import importlib.util, pathlib, sysconfig
for name in ('nlohmann_json', 'cmeel'):
    spec = importlib.util.find_spec(name)
    folder = pathlib.Path(next(iter(spec.submodule_search_locations))) if spec else None
    print((folder / 'include' if name == 'nlohmann_json' else folder.parent / 'cmeel.prefix').as_posix() if folder else '')
" OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" found "${found};")
  list(GET found 0 json_include)
  list(GET found 1 cmeel_prefix)
  if(json_include)  # headers alone
    add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
    target_include_directories(nlohmann_json::nlohmann_json SYSTEM INTERFACE ${json_include})
  endif()
  if(cmeel_prefix)
    list(PREPEND CMAKE_PREFIX_PATH ${cmeel_prefix})
    list(PREPEND CMAKE_LIBRARY_PATH ${cmeel_prefix}/lib64 ${cmeel_prefix}/lib)  # zlib's is in lib64 on every system
  endif()
endif()
# CLI11 and toml++ are headers alone. Where they are not installed, they are taken out of Debian's packages of them, which need no git, no root and no
# Debian; else FetchContent clones them. What cannot be had is said at once, with what to install: FetchContent's own message is a page of a failed step of git.
set(missing_libraries "")
# Unpacks the package at `path` of a Debian mirror, if the one that arrives has the hash that Debian's signed index gives it.
function(shardproof_unpack path hash into result)
  set(${result} FALSE PARENT_SCOPE)
  set(file ${CMAKE_BINARY_DIR}/_deps/package.deb)
  foreach(mirror IN LISTS SHARDPROOF_DEBIAN_MIRRORS)
    file(DOWNLOAD ${mirror}/${path} ${file} STATUS status INACTIVITY_TIMEOUT 20)
    list(GET status 0 failed)
    if(failed)
      continue()
    endif()
    file(SHA256 ${file} found)
    if(found STREQUAL hash)
      file(ARCHIVE_EXTRACT INPUT ${file} DESTINATION ${into}.deb)
      file(ARCHIVE_EXTRACT INPUT ${into}.deb/data.tar.xz DESTINATION ${into})
      set(${result} TRUE PARENT_SCOPE)
      break()
    endif()
  endforeach()
  file(REMOVE ${file})
  file(REMOVE_RECURSE ${into}.deb)
endfunction()
function(shardproof_needs name repository package hash debian fedora)
  string(TOLOWER ${name} lower)
  string(TOUPPER ${name} upper)
  if(FETCHCONTENT_SOURCE_DIR_${upper} OR FETCHCONTENT_FULLY_DISCONNECTED OR EXISTS ${CMAKE_BINARY_DIR}/_deps/${lower}-src/CMakeLists.txt)
    return()
  endif()
  find_package(${name} QUIET)
  if(${name}_FOUND)
    return()
  endif()
  set(unpacked ${CMAKE_BINARY_DIR}/_deps/${lower}-package)
  if(NOT EXISTS ${unpacked}/usr/include)
    shardproof_unpack(${package} ${hash} ${unpacked} done)
  endif()
  if(EXISTS ${unpacked}/usr/include)
    message(STATUS "${name}: its headers are those of Debian's ${debian}")
    add_library(${name}::${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${name}::${name} SYSTEM INTERFACE ${unpacked}/usr/include)
    return()
  endif()
  find_program(SHARDPROOF_GIT git)
  if(SHARDPROOF_GIT)
    execute_process(COMMAND ${SHARDPROOF_GIT} ls-remote --exit-code ${repository} HEAD RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET TIMEOUT 60)
    if(failed EQUAL 0)
      return()
    endif()
    set(why "neither a mirror of Debian nor ${repository} can be reached")
  else()
    set(why "no mirror of Debian can be reached, and there is no git to fetch ${repository} with")
  endif()
  set(missing_libraries "${missing_libraries}  ${name}: it is not installed, and ${why} (Debian and Ubuntu: ${debian}, Fedora: ${fedora})\n" PARENT_SCOPE)
endfunction()
set(SHARDPROOF_DEBIAN_MIRRORS "http://deb.debian.org/debian;http://archive.debian.org/debian" CACHE STRING "Where packages of Debian 12 may be had")
shardproof_needs(tomlplusplus https://github.com/marzer/tomlplusplus
  pool/main/t/tomlplusplus/libtomlplusplus-dev_3.3.0+ds-1_amd64.deb 2779cce0001466dcf60eb6262ff68a888d49f9e30aee80c499d1d4f6f9f6e12e
  libtomlplusplus-dev tomlplusplus-devel)
shardproof_needs(CLI11 https://github.com/CLIUtils/CLI11
  pool/main/c/cli11/libcli11-dev_2.1.2+ds-1_all.deb f1f6ee9ec053e0e0bcec47345e241b6a8ee006321248b4329e9ce88d2b4b64a8
  libcli11-dev cli11-devel)
if(missing_libraries)
  message(FATAL_ERROR "shardproof is built from libraries of headers that are missing here:\n${missing_libraries}"
    "Install them, for instance by\n  sudo apt-get install libcli11-dev libtomlplusplus-dev\n"
    "or name unpacked sources of them: -DFETCHCONTENT_SOURCE_DIR_CLI11=... -DFETCHCONTENT_SOURCE_DIR_TOMLPLUSPLUS=... "
    "(for pip: CMAKE_ARGS=\"-D... -D...\" pip install .)")
endif()
FetchContent_Declare(fmt GIT_REPOSITORY https://github.com/fmtlib/fmt GIT_TAG 9.1.0 FIND_PACKAGE_ARGS NAMES fmt)
FetchContent_Declare(tomlplusplus GIT_REPOSITORY https://github.com/marzer/tomlplusplus GIT_TAG v3.3.0 FIND_PACKAGE_ARGS NAMES tomlplusplus)
FetchContent_Declare(CLI11 GIT_REPOSITORY https://github.com/CLIUtils/CLI11 GIT_TAG v2.1.2 FIND_PACKAGE_ARGS NAMES CLI11)
FetchContent_MakeAvailable(fmt)
foreach(name tomlplusplus CLI11)
  if(NOT TARGET ${name}::${name})
    FetchContent_MakeAvailable(${name})
  endif()
endforeach()
if(NOT TARGET nlohmann_json::nlohmann_json)
  FetchContent_Declare(nlohmann_json GIT_REPOSITORY https://github.com/nlohmann/json GIT_TAG v3.11.2 FIND_PACKAGE_ARGS NAMES nlohmann_json)
  FetchContent_MakeAvailable(nlohmann_json)
endif()
# A check of a small case takes milliseconds, and loading and relocating libraries is a good part of them: what can be part of the commands
# is. fmt's packages have no static library, but its headers hold all of it; one source file compiles what is used (src/fmt.cpp). Likewise
# toml++, which one source file uses.
get_target_property(fmt_type fmt::fmt TYPE)
if(fmt_type STREQUAL SHARED_LIBRARY AND fmt_VERSION MATCHES "^(9|12)\\.")
  add_library(sp_fmt STATIC ${CMAKE_SOURCE_DIR}/src/fmt.cpp)
  target_include_directories(sp_fmt SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(sp_fmt PUBLIC FMT_SHARED)
else()
  add_library(sp_fmt INTERFACE)
  target_link_libraries(sp_fmt INTERFACE fmt::fmt)
endif()
if(fmt_VERSION VERSION_GREATER_EQUAL 11)  # fmt::join moved from format.h to ranges.h
  target_compile_options(sp_fmt INTERFACE -include fmt/ranges.h)
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
if(ZLIB_ARCHIVE AND NOT SHARDPROOF_PYTHON)  # a wheel takes libz.so.1, which every Linux has
  set(SHARDPROOF_ZLIB ${ZLIB_ARCHIVE})
endif()
# A proof makes and throws away millions of small vectors; with mimalloc a large check takes a third less time than with glibc's malloc. The
# two commands are linked with it where it is installed, and work without. Sanitizers bring an allocator of their own.
if(NOT SHARDPROOF_SANITIZE)
  find_package(mimalloc QUIET)
endif()
# Nothing names it, so that a linker that drops what is not needed (Ubuntu's default) must be told.
function(shardproof_allocator target)
  if(TARGET mimalloc AND NOT SKBUILD)  # a wheel brings no libraries of its own
    target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/new.cpp)
    target_link_libraries(${target} PRIVATE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
  endif()
endfunction()
# FLINT is called by src/interp. Without its headers (a wheel) the declarations of src/interp/arb_abi.h are used, and the library is that of the Python
# package python-flint, loaded when it is first called. Arb became part of FLINT 3; on FLINT 2 (Debian 12) it is a library of its own.
set(flint_at_run_time OFF)
if(SKBUILD)
  set(flint_at_run_time ON)
endif()
option(SHARDPROOF_FLINT_AT_RUN_TIME "Build without FLINT, and find it when it is first called" ${flint_at_run_time})
if(SHARDPROOF_FLINT_AT_RUN_TIME)
  set(FLINT_LIBRARIES "")
else()
  find_library(FLINT_LIBRARY flint REQUIRED)
  find_library(ARB_LIBRARY NAMES flint-arb arb)
  find_library(GMP_LIBRARY gmp REQUIRED)  # its headers' inline functions call it
  set(FLINT_LIBRARIES ${FLINT_LIBRARY} ${GMP_LIBRARY})
  if(ARB_LIBRARY)
    list(PREPEND FLINT_LIBRARIES ${ARB_LIBRARY})
  endif()
endif()
