#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaSyncLockCompetition final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_sync_lock_competition", "mpi_rma_sync_passive",
        "MPI lock contention (synchronization)",
        "Enter of another process' MPI_Win_unlock - enter of the call in which it is: MPI_Win_lock, MPI_Win_unlock or MPI_Win_flush",
        "A process keeps the lock for long, or many want it: lock for less work, MPI_LOCK_SHARED where nobody writes, or accesses that need no lock (MPI_Accumulate)."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockEpoch}; }

  void lock_epoch(LockEpoch& epoch) override {
    for (LockCall& each : epoch.calls) {
      Call& call = each.call;
      if (call.metric == kMpiRmaSyncPassive && call.enter < epoch.released &&
          epoch.released < call.leave)
        charge(call, call.take(wait_until(call, epoch.released)));
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_sync_lock_competition() {
  return std::make_unique<RmaSyncLockCompetition>();
}

}  // namespace refrain::waits
