// A pattern for tests whose parent is none.
#include "waits/modules/refrain_patterns.h"

namespace {

struct Orphan : refrain::Pattern {
  static refrain::Metric metric() { return {"orphan", "no_such", "Orphan", "", ""}; }
};

}  // namespace

REFRAIN_PATTERNS(Orphan)
