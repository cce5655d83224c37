// What librefrain_threads.so, which stands before the C library's calls that wait for threads, asks of librefrain.so: where a call waits, and how a
// thread is called.
//
// Place in the flow: ARCHITECTURE.md, stage 2. Plain structures, for the two are libraries of their own, always of one version.
// Thread-safety: any thread; not in signal handlers (nor are these calls). errno stays. Cost: of two records; a lock that is free does not
// come here.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "spool/thread_format.h"

namespace refrain::threads {

struct Api {
  // A call that returns to `returns_to` begins to wait. `holder`: the kernel's number of the thread that has the lock, 0: not known.
  // False: it is not recorded, and end() must not follow.
  bool (*begin)(spool::ThreadCall call, const void* returns_to, std::uint32_t holder);
  // `thread`: whose end it has waited for, by number_of() before the call; 0: none.
  void (*end)(std::uint64_t thread);
  // Of a thread that lives, or has ended and not been waited for; 0: not known.
  std::uint64_t (*number_of)(pthread_t thread);
  // `thread` has the name now.
  void (*named)(pthread_t thread, const char* name);
};

}  // namespace refrain::threads
