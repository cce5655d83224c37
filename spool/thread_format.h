// Calls of POSIX and C11 threads, as records and regions have them.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (recorded by tracer/threads) and 5.
#pragma once

#include <cstdint>

namespace refrain::spool {

// In `sub` of kThreadCallBegin, and in the order of RegionClass.
enum class ThreadCall : std::uint8_t {
  kCreate,
  kJoin,
  kMutex,
  kRead,
  kWrite,
  kSpin,
  kCondition,
  kBarrier,
  kSemaphore,
  kC11Create,
  kC11Join,
  kC11Mutex,
  kC11Condition,
  kCount
};

// Of the thread that has a lock, where it was not begun by the program.
inline constexpr std::uint64_t kMainThread = 0;
inline constexpr std::uint64_t kAnotherThread = 1;

}  // namespace refrain::spool
