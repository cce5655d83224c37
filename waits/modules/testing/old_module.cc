// A module for tests as one of another version is, and its patterns are not to be touched.
#include "waits/modules/refrain_patterns.h"

extern "C" const refrain_pattern_list* refrain_patterns(void) {
  static const refrain_pattern_list list = {
      REFRAIN_PATTERNS_VERSION + 1, 1,
      reinterpret_cast<const refrain_pattern_info*>(uintptr_t{16})};
  return &list;
}
