// The main function of every Catch2 test.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#if defined(__SANITIZE_ADDRESS__)
// libotf2 (3.0.2) leaks the writer of a location whose file it cannot close (a full disk).
// One that we do not close is freed with its archive and is no leak. It also leaks the file of
// an anchor that it refuses. The sanitizer's runtime,
// a shared library, finds this function only if it is exported.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:otf2_evt_writer_new\nleak:otf2_file_posix_open\n";
}
#endif
