# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# Compiles kernels/*.json (contracts of custom operators) into sp_lower, so that the command needs no data files beside it.
file(GLOB kernel_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.json)
list(SORT kernel_files)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel_files})
set(kernel_source "namespace shardproof::lower::aten {\nextern const char* const kKernelFiles[];\nconst char* const kKernelFiles[] = {\n")
foreach(path ${kernel_files})
  file(READ ${path} text)
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${path})
  string(APPEND kernel_source "  \"${name}\", R\"kernels(${text})kernels\",\n")
endforeach()
string(APPEND kernel_source "  nullptr};\n}\n")
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/generated/kernel_files.cpp CONTENT "${kernel_source}")
target_sources(sp_lower PRIVATE ${CMAKE_BINARY_DIR}/generated/kernel_files.cpp)

if(SHARDPROOF_TESTS AND EXISTS ${CMAKE_SOURCE_DIR}/tests/lowering/lower_dump.cpp)
  # Prints lowered graphs for tests/lowering and the operator table for docs/coverage.md.
  add_executable(lower-dump EXCLUDE_FROM_ALL tests/lowering/lower_dump.cpp)
  target_link_libraries(lower-dump PRIVATE sp_lower)
endif()
