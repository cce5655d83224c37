#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaEarlyWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_early_wait", "mpi_rma_sync_active", "MPI early wait",
        "Latest enter of MPI_Win_complete of the origins - enter of MPI_Win_wait",
        "The target has less work than those that access its window: it could do some between MPI_Win_post and MPI_Win_wait."};
  }
  std::vector<Compound> wants() const override { return {Compound::kExposureEpoch}; }

  void exposure_epoch(ExposureEpoch& epoch) override {
    if (epoch.wait.test) return;
    const Ticks wait = epoch.wait.take(wait_until(epoch.wait, epoch.latest_complete));
    if (wait == 0) return;
    charge(epoch.wait, wait);
    others().early_wait({epoch.wait, epoch, wait});
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_early_wait() { return std::make_unique<RmaEarlyWait>(); }

}  // namespace refrain::waits
