// Resident memory of this library's own large arrays. They are resident only where they have been written, and so grow while
// the program runs, which does not allocate them.
//
// Place in the flow: ARCHITECTURE.md, stage 3; taken from the samples of memory (gate_journal.h). Thread-safety: any thread.
// Errors: arrays beyond kMostArrays are not known. Cost of a look: a system call for each 512 pages of them, some 60 us in all.
#pragma once

#include <cstddef>

namespace refrain::runtime {

inline constexpr std::size_t kMostArrays = 256;

// From now on periodicity's arrays are known.
void watch_own_arrays() noexcept;
std::size_t resident_in_own_arrays() noexcept;

}  // namespace refrain::runtime
