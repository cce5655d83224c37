#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaWaitAtFree final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_wait_at_free", "mpi_mgmt_win", "MPI wait at window free",
        "Latest enter of MPI_Win_free - own enter",
        "Work before the call is distributed unevenly: the rank that waits least has most of it."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kWindowFreed)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_wait_at_free() {
  return std::make_unique<RmaWaitAtFree>();
}

}  // namespace refrain::waits
