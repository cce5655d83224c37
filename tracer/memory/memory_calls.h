// Counts what the program allocates: each call, and by call path what is in use.
//
// Place in the flow: ARCHITECTURE.md, stage 2: librefrain_memory.so calls what memory_api.h lists; tracer/runtime starts and ends it. What is
// allocated before the session starts is counted in memory, and goes to the spool at its start; after its end nothing is counted.
// Blocks from the setting's size on (`memory`) are followed: their call path is walked when they are allocated, and found again by their
// address when they go back. Smaller ones only count: they have no call path, and what they take is what the allocator says of them, so that
// nothing need be kept.
// Thread-safety: calls on any thread, also in signal handlers and before main, without a lock; start(), stop() and abandon() as the
// session's. errno stays.
// Ownership: what is kept stays until the process ends. A forked child counts nothing.
// Errors: blocks that there is no memory to keep in mind are counted (MemoryCalls::untracked).
// Cost: docs/lab/cost.md.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::memory {

// The process' allocations are kept in a file at `path` from here on. Empty, or what is wrong.
std::string start(const std::string& path);
void stop() noexcept;
// In a forked child: what it does is not of its parent.
void abandon() noexcept;

// Of the calling thread, since it began.
struct ThreadAllocations {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};
ThreadAllocations thread_allocations() noexcept;
// Whether they are counted.
bool counts_allocations() noexcept;

}  // namespace refrain::memory
