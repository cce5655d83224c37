// Switches the leak sanitizer off where a test opens archives that libotf2 refuses: libotf2
// (3.0.2) does not free what it had allocated for them. Only there, so that our own leaks
// are found everywhere else.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace refrain::test {

class LibraryMayLeak {
 public:
#if defined(__SANITIZE_ADDRESS__)
  LibraryMayLeak() { __lsan_disable(); }
  ~LibraryMayLeak() { __lsan_enable(); }
#else
  LibraryMayLeak() {}
#endif
  LibraryMayLeak(const LibraryMayLeak&) = delete;
  LibraryMayLeak& operator=(const LibraryMayLeak&) = delete;
};

}  // namespace refrain::test
