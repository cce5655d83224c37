#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaSyncLatePost final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_sync_late_post", "mpi_rma_sync_active", "MPI late post (synchronization)",
        "Latest enter of MPI_Win_post of the targets - enter of that call, MPI_Win_start or MPI_Win_complete, in which it is",
        "The target has more work before it lets others access its window: post earlier."};
  }
  std::vector<Compound> wants() const override { return {Compound::kAccessEpoch}; }

  void access_epoch(AccessEpoch& epoch) override {
    for (Call* call : {&epoch.complete, &epoch.start}) {
      if (call->enter >= epoch.latest_post || epoch.latest_post >= call->leave) continue;
      charge(*call, call->take(wait_until(*call, epoch.latest_post)));
      return;
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_sync_late_post() {
  return std::make_unique<RmaSyncLatePost>();
}

}  // namespace refrain::waits
