// What a thread has used of the machine, as Linux counts (base/thread_use.h).
//
// Place in the flow: ARCHITECTURE.md, stage 3, where threads and recordings begin and end. Thread-safety: any thread, of any thread of the
// process; not in signal handlers. Units: since the thread began. Errors: zeros, also where the kernel does not count
// (migrations and preemptions need CONFIG_SCHED_DEBUG). Cost: ten system calls, some 50 microseconds.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/thread_use.h"

namespace refrain::recorder {

base::ThreadUse thread_use_of(pid_t thread) noexcept;

// The numbers of base::kRowUse of one thread, again and again.
//
// Place in the flow: where rows of iterations begin, at most each 10 ms. Thread-safety: one caller at a time. Errors: zeros.
// Cost: two system calls, 1 to 4 microseconds; twelve more, 5 to 15, after a sleep up to 80, for how long it waited for a core, where one
// was taken from it since the look before; where it only slept, at most a thousandth of the time, and what it waited then comes up to
// 40 ms later.
class RowUseReader {
 public:
  // Page faults only where the thread `is_caller`, else zero; `ticks`: now.
  base::ThreadUse read(pid_t thread, bool is_caller, std::uint64_t ticks) noexcept;

 private:
  // When /proc was read: how often a core had been taken from it, how often it had slept, what it had used; and when it may be read
  // for sleeps alone.
  long preempted_ = -1, slept_ = -1;
  base::ThreadUse times_;
  std::uint64_t next_ = 0;
};

// How many cycles the core of the calling thread makes in a nanosecond, now: as many additions as wait for each other take as many
// cycles, on any processor. 0: not known. Needs Clock::ticks_per_second(). Cost: three times 0.4 to 1 us.
double cycles_per_ns() noexcept;

// What was used between `before` and `now`; nothing if the kernel's counts are not of one thread.
base::ThreadUse used_between(const base::ThreadUse& before,
                             const base::ThreadUse& now) noexcept;

// How much memory the process has, as Linux counts (/proc/self/status).
//
// Place in the flow: ARCHITECTURE.md, stage 3, at outermost iterations, at most each 10 ms, and where recordings end. Thread-safety: any thread, not in
// signal handlers. Errors: zeros. Cost: three system calls, some ten microseconds.

// Of the program that the process is now (getrusage() also counts the one that became it), with Refrain's own.
struct ProcessMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_bytes = 0;  // the largest that it was
  std::uint64_t anonymous_bytes =
      0;  // of the resident ones, those of no file: Refrain's grow in files
};

ProcessMemory process_memory() noexcept;

// Page faults of the process and the program that became it: without another one it has no more memory than before. Any thread.
// Cost: one system call, a microsecond, and some nanoseconds a thread.
std::uint64_t process_faults() noexcept;

}  // namespace refrain::recorder
