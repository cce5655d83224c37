// How long a thread was on a core, and ready to run without one, as Linux counts (/proc/self/task/THREAD/schedstat).
//
// Place in the flow: ARCHITECTURE.md, stage 3, where threads and recordings end. Thread-safety: any thread, of any thread of the process;
// not in signal handlers. Units: ns since the thread began. Errors: zeros, also where the kernel does not count.
// Cost: three system calls, some ten microseconds.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace refrain::recorder {

struct CoreTime {
  std::uint64_t on_ns = 0;
  std::uint64_t waiting_ns = 0;
};

CoreTime core_time_of(pid_t thread) noexcept;

}  // namespace refrain::recorder
