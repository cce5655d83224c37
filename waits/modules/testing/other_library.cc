// A shared object for tests that offers no patterns.
extern "C" __attribute__((visibility("default"))) int other_library(void) { return 1; }
