// What LLVM's OpenMP runtime leaves behind when its process is killed.
//
// libomp registers itself in a page of shared memory that is named after its process. A
// process that is killed leaves it behind, of no length if that was between two of its calls;
// the next process with the same number that uses libomp finds it and dies of SIGBUS, traced
// or not. Tests kill programs by the thousand, and numbers come round again.
//
// Thread-safety: may be called from several threads and processes at once. Errors: none;
// what cannot be removed stays.
#pragma once

namespace refrain::test {

// Removes what processes of this user left that do not exist any more.
void remove_openmp_leftovers() noexcept;

}  // namespace refrain::test
