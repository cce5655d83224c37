#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaEarlyFence final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_early_fence", "mpi_rma_wait_at_fence", "MPI early fence",
        "That part of the wait at a fence in which other processes' accesses to this one were still to end",
        "Processes have finished their own work, but others still write to them or read from them."};
  }
  std::vector<Compound> wants() const override { return {Compound::kFenceWait}; }

  void fence_wait(const FenceWait& found) override {
    const CollectiveMember& member = found.member;
    charge(member.call, std::min(found.wait, wait_until(member.call, member.accessed)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_early_fence() {
  return std::make_unique<RmaEarlyFence>();
}

}  // namespace refrain::waits
