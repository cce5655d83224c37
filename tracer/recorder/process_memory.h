// How much memory the process has, as Linux counts (/proc/self/status).
//
// Place in the flow: ARCHITECTURE.md, stage 3, at outermost iterations, at most each 0.1 s, and where recordings end. Thread-safety: any thread, not in
// signal handlers. Errors: zeros. Cost: three system calls, some ten microseconds.
#pragma once

#include <cstdint>

namespace refrain::recorder {

// Of the program that the process is now (getrusage() also counts the one that became it), with Refrain's own.
struct ProcessMemory {
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_bytes = 0;  // the largest that it was
};

ProcessMemory process_memory() noexcept;

}  // namespace refrain::recorder
