#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {

std::vector<std::unique_ptr<Pattern>> all_patterns() {
  std::vector<std::unique_ptr<Pattern>> patterns;
#define REFRAIN_MAKE(name) patterns.push_back(make_##name());
  REFRAIN_PATTERNS(REFRAIN_MAKE)
#undef REFRAIN_MAKE
  patterns.push_back(make_wavefront_refill());
  add_wavefront_directions(patterns);
  return patterns;
}

}  // namespace refrain::waits
