#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaCommLatePost final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_comm_late_post", "mpi_rma_communication", "MPI late post (communication)",
        "Enter of the target's MPI_Win_post - enter of the access in which it is",
        "The target has more work before it lets others access its window: post earlier."};
  }
  std::vector<Compound> wants() const override { return {Compound::kAccessEpoch}; }

  void access_epoch(AccessEpoch& epoch) override {
    for (AccessCall& access : epoch.calls)
      if (access.call.enter < access.posted && access.posted < access.call.leave)
        charge(access.call, access.call.take(wait_until(access.call, access.posted)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_comm_late_post() {
  return std::make_unique<RmaCommLatePost>();
}

}  // namespace refrain::waits
