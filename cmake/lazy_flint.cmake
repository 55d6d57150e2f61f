# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
# cmake -DNM= -DREADELF= -DARCHIVE= -DLIBRARY= -DOUTPUT= -P lazy_flint.cmake: writes a C++ source with one entry for each function of FLINT and of
# those below it (Arb, GMP) that ARCHIVE calls. An entry jumps through its slot; the slots lead at first to code that keeps all registers
# in which arguments are passed, loads LIBRARY, fills all slots, and goes on with the call.
execute_process(COMMAND ${NM} -u ${ARCHIVE} OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY ERROR_QUIET)
string(REGEX MATCHALL "[ \t]U _?(acb|arb|arf|flint|fmpq|fmpz|mag|nmod)_[A-Za-z0-9_]+|[ \t]U __gmp[a-z]*_[A-Za-z0-9_]+" found "${listed}")
list(TRANSFORM found STRIP)
list(TRANSFORM found REPLACE "^U +" "")
list(REMOVE_DUPLICATES found)
list(SORT found)
if(NOT found)
  message(FATAL_ERROR "no function of FLINT is called in ${ARCHIVE}")
endif()
# Its name for the loader, which finds it wherever it is installed.
execute_process(COMMAND ${READELF} -d ${LIBRARY} OUTPUT_VARIABLE dynamic ERROR_QUIET)
if(dynamic MATCHES "SONAME[^[]*\\[([^]]+)\\]")
  set(name ${CMAKE_MATCH_1})
else()
  get_filename_component(name ${LIBRARY} NAME)
endif()
set(declared "")
set(entries "")
set(table "")
foreach(f ${found})
  string(APPEND declared "__attribute__((visibility(\"hidden\"))) extern char sp_first_${f};\n__attribute__((visibility(\"hidden\"))) void* sp_slot_${f} = &sp_first_${f};\n")
  string(APPEND entries "asm(\".pushsection .text\\n.globl ${f}\\n.hidden ${f}\\n.type ${f},@function\\n${f}: jmp *sp_slot_${f}(%rip)\\n\"\n    \".globl sp_first_${f}\\n.hidden sp_first_${f}\\nsp_first_${f}: endbr64\\n call sp_flint_enter\\n jmp *sp_slot_${f}(%rip)\\n.popsection\\n\");\n")
  string(APPEND table "    {\"${f}\", &sp_slot_${f}},\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Written by cmake/lazy_flint.cmake, which says what this is.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

extern \"C\" {
${declared}
__attribute__((visibility(\"hidden\"), used)) void sp_flint_load();
}

// Registers of arguments are kept: six for integers, rax, eight for floating point. On entry the stack is 16-byte aligned.
asm(\".pushsection .text\\n.globl sp_flint_enter\\n.hidden sp_flint_enter\\n.type sp_flint_enter,@function\\nsp_flint_enter:\\n\"
    \" push %rdi\\n push %rsi\\n push %rdx\\n push %rcx\\n push %r8\\n push %r9\\n push %rax\\n sub $136, %rsp\\n\"
    \" movups %xmm0, (%rsp)\\n movups %xmm1, 16(%rsp)\\n movups %xmm2, 32(%rsp)\\n movups %xmm3, 48(%rsp)\\n\"
    \" movups %xmm4, 64(%rsp)\\n movups %xmm5, 80(%rsp)\\n movups %xmm6, 96(%rsp)\\n movups %xmm7, 112(%rsp)\\n\"
    \" call sp_flint_load\\n\"
    \" movups (%rsp), %xmm0\\n movups 16(%rsp), %xmm1\\n movups 32(%rsp), %xmm2\\n movups 48(%rsp), %xmm3\\n\"
    \" movups 64(%rsp), %xmm4\\n movups 80(%rsp), %xmm5\\n movups 96(%rsp), %xmm6\\n movups 112(%rsp), %xmm7\\n\"
    \" add $136, %rsp\\n pop %rax\\n pop %r9\\n pop %r8\\n pop %rcx\\n pop %rdx\\n pop %rsi\\n pop %rdi\\n ret\\n.popsection\\n\");

${entries}
namespace {

const struct {
  const char* name;
  void** slot;
} kSlots[] = {
${table}};

}  // namespace

// What cannot be loaded ends the process: the guard of a check makes an answer of it.
void sp_flint_load() {
  void* library = dlopen(\"${name}\", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen(\"${LIBRARY}\", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, \"shardproof: %s\\n\", dlerror());
    std::abort();
  }
  void* found[sizeof kSlots / sizeof kSlots[0]];
  for (unsigned k = 0; k < sizeof kSlots / sizeof kSlots[0]; ++k) {
    found[k] = dlsym(library, kSlots[k].name);
    if (found[k] == nullptr) {
      std::fprintf(stderr, \"shardproof: ${name} has no %s\\n\", kSlots[k].name);
      std::abort();
    }
  }
  for (unsigned k = 0; k < sizeof kSlots / sizeof kSlots[0]; ++k) *kSlots[k].slot = found[k];
}
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
