#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class BarrierWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_barrier_wait", "mpi_sync_collective", "MPI wait at barrier",
        "Latest enter of all ranks - own enter",
        "Work before the barrier is distributed unevenly, or the barrier is not needed."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kBarrier)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_barrier_wait() { return std::make_unique<BarrierWait>(); }

}  // namespace refrain::waits
