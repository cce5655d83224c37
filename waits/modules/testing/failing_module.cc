// Patterns for tests that go wrong while they run.
#include <stdexcept>

#include "waits/modules/refrain_patterns.h"

namespace {

struct Throws : refrain::Pattern {
  static refrain::Metric metric() { return {"throws", "time", "Throws", "", ""}; }
  void receive(const refrain_receive&) override { throw std::runtime_error("two\nlines"); }
};

}  // namespace

REFRAIN_PATTERNS(Throws)
