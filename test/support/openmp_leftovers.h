// Removes what LLVM's OpenMP runtime leaves behind when its process is killed.
//
// libomp registers itself in a page of shared memory that is named after its process. A
// process that is killed leaves it behind, with length 0 if killed between two of its calls;
// the next process with the same number that uses libomp finds it and dies of SIGBUS, traced
// or not. Tests kill thousands of programs, and process numbers are reused.
//
// Thread-safety: may be called from several threads and processes at once. Errors: none;
// files that cannot be removed stay.
#pragma once

namespace refrain::test {

// Removes the pages of this user's processes that no longer exist.
void remove_openmp_leftovers() noexcept;

}  // namespace refrain::test
