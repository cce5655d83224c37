#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaWaitAtFence final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_wait_at_fence", "mpi_rma_sync_active", "MPI wait at fence",
        "Latest enter of MPI_Win_fence - own enter, if all had entered before the first one left",
        "Work before the call is distributed unevenly: the rank that waits least has most of it. Where few pairs of processes communicate, MPI_Win_start and MPI_Win_post wait for these only."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind != CollectiveKind::kFence ||
        member.earliest_leave <= member.latest_enter)
      return;
    const Ticks wait = member.call.take(wait_until(member.call, member.latest_enter));
    if (wait == 0) return;
    charge(member.call, wait);
    others().fence_wait({member, wait});
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_wait_at_fence() {
  return std::make_unique<RmaWaitAtFence>();
}

}  // namespace refrain::waits
