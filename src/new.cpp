// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// operator new for the commands where they are linked with mimalloc: its own, compiled as C, aborts where memory runs out, and a check
// within --memory-limit must end in an answer. Memory comes from malloc, which is mimalloc's then.
//
// A check touches new memory all the time, and handing out a page costs the system more than clearing it does: so the allocator's stretches
// of memory are to be made of large pages, where the system makes some of ordinary memory. (Mimalloc's own option would also take pages
// that an administrator set aside for others.) What is free again is kept: a check that gave it back would ask for it again at once.
#include <mimalloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr int kStretchBits = 25;  // mimalloc's segments: aligned, and as long
constexpr std::size_t kTable = 64;
uintptr_t advised[kTable];

[[gnu::noinline]] void advise(uintptr_t stretch) {
  advised[stretch % kTable] = stretch;
  void* start = reinterpret_cast<void*>(stretch << kStretchBits);
#ifdef MADV_HUGEPAGE
  madvise(start, std::size_t{1} << kStretchBits, MADV_HUGEPAGE);
#endif
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
  constexpr int kCollapse = 25;                     // MADV_COLLAPSE, which the C library does not know yet; other kernels say no
  madvise(start, std::size_t{1} << 21, kCollapse);  // here a small page is in use already
#endif
  (void)start;
}

[[gnu::constructor(101)]] void keep_memory() {
#if MI_MALLOC_VERSION >= 210
  mi_option_set_default(mi_option_purge_delay, -1);
#else
  mi_option_set_default(mi_option_allow_decommit, 0);
#endif
  std::free(::operator new(1));
}

void* allocate(std::size_t n) {
  void* p = std::malloc(n == 0 ? 1 : n);
  if (p == nullptr) throw std::bad_alloc();
  const uintptr_t stretch = reinterpret_cast<uintptr_t>(p) >> kStretchBits;
  if (advised[stretch % kTable] != stretch) advise(stretch);
  return p;
}

}  // namespace

void* operator new(std::size_t n) { return allocate(n); }
void* operator new[](std::size_t n) { return allocate(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
