#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class RmaWaitAtCreate final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_rma_wait_at_create", "mpi_mgmt_win", "MPI wait at window creation",
        "Latest enter of MPI_Win_create or MPI_Win_allocate - own enter",
        "Work before the call is distributed unevenly: the rank that waits least has most of it."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kWindowMade)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_rma_wait_at_create() {
  return std::make_unique<RmaWaitAtCreate>();
}

}  // namespace refrain::waits
