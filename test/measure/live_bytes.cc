#include "test/measure/live_bytes.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace refrain::simulation {
namespace {

std::atomic<std::size_t> g_live{0};
std::atomic<std::size_t> g_peak{0};

}  // namespace

std::size_t live_bytes() noexcept { return g_live; }
std::size_t peak_bytes() noexcept { return g_peak; }
void forget_peak() noexcept { g_peak = g_live.load(); }

namespace {

void* allocate_or_not(std::size_t bytes) noexcept {
  void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) return nullptr;
  const std::size_t live = g_live += malloc_usable_size(memory);
  if (live > g_peak) g_peak = live;
  return memory;
}

void* allocate(std::size_t bytes) {
  void* memory = allocate_or_not(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  g_live -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace
}  // namespace refrain::simulation

void* operator new(std::size_t bytes) { return refrain::simulation::allocate(bytes); }
void* operator new[](std::size_t bytes) { return refrain::simulation::allocate(bytes); }
// std::stable_sort allocates its temporary buffers with these.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return refrain::simulation::allocate_or_not(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return refrain::simulation::allocate_or_not(bytes);
}
void operator delete(void* memory) noexcept { refrain::simulation::release(memory); }
void operator delete[](void* memory) noexcept { refrain::simulation::release(memory); }
void operator delete(void* memory, std::size_t) noexcept {
  refrain::simulation::release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  refrain::simulation::release(memory);
}
