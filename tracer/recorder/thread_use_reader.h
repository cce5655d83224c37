// What a thread has used of the machine, as Linux counts (base/thread_use.h).
//
// Place in the flow: ARCHITECTURE.md, stage 3, where threads and recordings begin and end. Thread-safety: any thread, of any thread of the
// process; not in signal handlers. Units: since the thread began. Errors: zeros, also where the kernel does not count
// (migrations and preemptions need CONFIG_SCHED_DEBUG). Cost: ten system calls, some 50 microseconds.
#pragma once

#include <sys/types.h>

#include "base/thread_use.h"

namespace refrain::recorder {

base::ThreadUse thread_use_of(pid_t thread) noexcept;

// What was used between `before` and `now`; nothing if the kernel's counts are not of one thread.
base::ThreadUse used_between(const base::ThreadUse& before,
                             const base::ThreadUse& now) noexcept;

}  // namespace refrain::recorder
