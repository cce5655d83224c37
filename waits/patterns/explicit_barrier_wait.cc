#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class ExplicitBarrierWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"omp_ebarrier_wait", "omp_ebarrier", "OpenMP wait at explicit barrier",
            "Latest enter in the team - own enter, less tasks run inside",
            "Work before the barrier is distributed unevenly over the threads."};
  }
  std::vector<Compound> wants() const override { return {Compound::kBarrier}; }

  void barrier(TeamBarrier& event) override {
    if (event.is_explicit)
      charge(event.call,
             event.call.take(wait_until(event.call, event.latest_enter, event.ran)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_explicit_barrier_wait() {
  return std::make_unique<ExplicitBarrierWait>();
}

}  // namespace refrain::waits
