# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# sp_flint: what sp_interp needs of FLINT and Arb. A check that proves everything never calls it, but loading and relocating these
# libraries (and those below them) takes longer than reading a small case. So where that is known to work they are no dependency of the
# command: each of their functions becomes a jump through a slot, and the first call loads the library and fills the slots
# (cmake/lazy_flint.cmake writes the source, from the symbols that sp_interp leaves open). Elsewhere they are linked as usual.
option(SHARDPROOF_LAZY_FLINT "Load FLINT when it is first needed (x86-64 Linux)" ON)
set(lazy_flint OFF)
if(SHARDPROOF_FLINT_AT_RUN_TIME)
  target_compile_definitions(sp_interp PUBLIC SHARDPROOF_NO_FLINT_HEADERS)
endif()
if(NOT SHARDPROOF_FLINT_AT_RUN_TIME AND SHARDPROOF_LAZY_FLINT AND CMAKE_SYSTEM_NAME STREQUAL Linux AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 AND CMAKE_SIZEOF_VOID_P EQUAL 8
   AND NOT SHARDPROOF_SANITIZE AND CMAKE_NM AND CMAKE_READELF)
  list(GET FLINT_LIBRARIES 0 flint_path)
  get_filename_component(flint_real ${flint_path} REALPATH)
  if(flint_real MATCHES "\\.so")
    set(lazy_flint ON)
  endif()
endif()
if(lazy_flint)
  set(flint_source ${CMAKE_BINARY_DIR}/generated/lazy_flint.cpp)
  add_custom_command(
    OUTPUT ${flint_source}
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DREADELF=${CMAKE_READELF} -DARCHIVE=$<TARGET_FILE:sp_interp> -DLIBRARY=${flint_real} -DOUTPUT=${flint_source}
            -P ${CMAKE_SOURCE_DIR}/cmake/lazy_flint.cmake
    DEPENDS sp_interp ${CMAKE_SOURCE_DIR}/cmake/lazy_flint.cmake
    VERBATIM)
  add_library(sp_flint STATIC ${flint_source})
  target_link_libraries(sp_flint PRIVATE ${CMAKE_DL_LIBS})
else()
  add_library(sp_flint INTERFACE)
  target_link_libraries(sp_flint INTERFACE ${FLINT_LIBRARIES} ${CMAKE_DL_LIBS})
endif()
