// What librefrain_memory.so, which stands before the allocator's functions, asks of librefrain.so: after each allocation, before each
// block goes back.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Plain structures, for the two are libraries of their own, always of one version.
// Thread-safety: any thread, also in signal handlers; no lock, no allocation. errno stays.
// Cost: memory_calls.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/memory_use.h"

namespace refrain::memory {

// What a block was, which may be kept after all.
struct Released {
  std::uint64_t bytes = 0;
  std::uint32_t path = 0;  // its slot
  bool known = false;      // it has one
  bool small = false;
};

enum class State : std::uint8_t { kNotAsked, kOn, kOff };

struct Api {
  // Whether anything is counted; to be looked at before each of the others. If it has not been asked for: ask().
  const std::atomic<State>* state;
  bool (*ask)();
  // The program's calls come here.
  void (*attach)();
  // `usable`: what the allocator says that the block has. `returns_to`: where the program's call does.
  void (*allocated)(base::AllocationCall call, void* block, std::size_t bytes,
                    std::size_t usable, const void* returns_to);
  // The call has given no memory.
  void (*failed)(base::AllocationCall call);
  // Before the block goes back: another thread may get it at once.
  void (*released)(base::AllocationCall call, void* block, std::size_t usable,
                   Released* what);
  // It has not: realloc() has failed.
  void (*kept)(void* block, const Released* what);
};

}  // namespace refrain::memory
