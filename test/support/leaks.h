// Leaks that are not ours: libotf2 (3.0.2) forgets what it had allocated for an archive
// that it then cannot open. Where a test shows it such a one, the leak sanitizer looks
// away; only there, so that what we forget ourselves is found everywhere else.
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
