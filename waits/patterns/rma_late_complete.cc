#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaLateComplete final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_late_complete", "mpi_rma_early_wait", "MPI late complete",
        "That part of an early wait that is after the last access",
        "An origin does other work between its last access and MPI_Win_complete: complete earlier."};
  }
  std::vector<Compound> wants() const override { return {Compound::kEarlyWait}; }

  void early_wait(const EarlyWait& found) override {
    charge(
        found.call,
        found.wait - std::min(found.wait, wait_until(found.call, found.epoch.last_access)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_late_complete() {
  return std::make_unique<RmaLateComplete>();
}

}  // namespace refrain::waits
