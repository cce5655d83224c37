#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaCommWaitForProgress final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_comm_wait_for_progress", "mpi_rma_communication",
        "MPI wait for progress (communication)",
        "Enter of the target's next MPI call - enter of the call in which it is: an access, if the target was outside of MPI",
        "The target computes without calling MPI, which its library needs to go on: an MPI call (MPI_Iprobe) now and then, or the library's progress thread."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockEpoch}; }

  void lock_epoch(LockEpoch& epoch) override {
    for (LockCall& each : epoch.calls) {
      Call& call = each.call;
      if (call.metric != kMpiRmaCommunication || each.progress >= call.leave) continue;
      // What it waited for the lock is explained.
      const Ticks explained = call.leave - call.enter - call.left_over;
      const Ticks wait = wait_until(call, each.progress);
      if (wait > explained) charge(call, call.take(wait - explained));
    }
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_comm_wait_for_progress() {
  return std::make_unique<RmaCommWaitForProgress>();
}

}  // namespace refrain::waits
