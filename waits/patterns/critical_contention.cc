#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class CriticalContention final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_lock_contention_critical", "omp_critical", "OpenMP critical contention",
        "Waiting to enter critical until another thread has left it",
        "Threads queue for one critical section: make it shorter, give independent ones names, or use a reduction or atomic."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockWait}; }

  void lock_wait(const LockWait& found) override {
    if (found.critical) charge(found.location, found.path, found.wait);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_critical_contention() {
  return std::make_unique<CriticalContention>();
}

}  // namespace refrain::waits
