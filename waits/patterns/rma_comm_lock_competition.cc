#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaCommLockCompetition final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_comm_lock_competition", "mpi_rma_communication",
        "MPI lock contention (communication)",
        "Enter of another process' MPI_Win_unlock - enter of the call in which it is: an access",
        "A process keeps the lock for long, or many want it: lock for less work, MPI_LOCK_SHARED where nobody writes, or accesses that need no lock (MPI_Accumulate)."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockEpoch}; }

  void lock_epoch(LockEpoch& epoch) override {
    for (LockCall& each : epoch.calls) {
      Call& call = each.call;
      if (call.metric == kMpiRmaCommunication && call.enter < epoch.released &&
          epoch.released < call.leave)
        charge(call, call.take(wait_until(call, epoch.released)));
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_comm_lock_competition() {
  return std::make_unique<RmaCommLockCompetition>();
}

}  // namespace refrain::waits
