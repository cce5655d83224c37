#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class ImplicitBarrierWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_ibarrier_wait", "omp_ibarrier", "OpenMP wait at implicit barrier",
        "Latest enter in the team - own enter, less tasks run inside",
        "Load imbalance: iterations or sections are distributed unevenly over the threads. Try schedule(dynamic) or smaller chunks; nowait, if the barrier is not needed."};
  }
  std::vector<Compound> wants() const override { return {Compound::kBarrier}; }

  void barrier(TeamBarrier& event) override {
    if (!event.is_explicit)
      charge(event.call,
             event.call.take(wait_until(event.call, event.latest_enter, event.ran)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_implicit_barrier_wait() {
  return std::make_unique<ImplicitBarrierWait>();
}

}  // namespace refrain::waits
