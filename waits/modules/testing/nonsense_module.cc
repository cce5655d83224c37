// A pattern for tests that charges where there is nothing.
#include "waits/modules/refrain_patterns.h"

namespace {

struct Nonsense : refrain::Pattern {
  static refrain::Metric metric() { return {"nonsense", "time", "Nonsense", "", ""}; }
  void finish() override { charge(0, 4'000'000'000U, 1); }
};

}  // namespace

REFRAIN_PATTERNS(Nonsense)
