#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class LockContention final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"omp_lock_contention_api", "omp_lock_api", "OpenMP lock contention",
            "Waiting for a lock until another thread has released it",
            "Threads queue for one lock: keep it for less work, or use several locks."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockWait}; }

  void lock_wait(const LockWait& found) override {
    if (!found.critical) charge(found.location, found.path, found.wait);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_lock_contention() {
  return std::make_unique<LockContention>();
}

}  // namespace refrain::waits
