// The main function of every Catch2 test.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#if defined(__SANITIZE_ADDRESS__)
// libotf2 (3.0.2) forgets the writer of a location whose file it cannot close (a full
// disk). One that we forget is freed with its archive and is no leak. The sanitizer's
// runtime, a shared library, finds only what is exported.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:otf2_evt_writer_new\n";
}
#endif
