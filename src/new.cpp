// Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
// operator new for the commands where they are linked with mimalloc: its own, compiled as C, aborts where memory runs out, and a check
// within --memory-limit must end in an answer. Memory comes from malloc, which is mimalloc's then.
#include <cstdlib>
#include <new>

namespace {

void* allocate(std::size_t n) {
  if (void* p = std::malloc(n == 0 ? 1 : n)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t n) { return allocate(n); }
void* operator new[](std::size_t n) { return allocate(n); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
