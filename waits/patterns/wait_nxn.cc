#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class WaitNxN final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_wait_nxn", "mpi_collective", "MPI wait at N x N",
        "Latest enter of all ranks - own enter, in operations from all to all",
        "Work before the operation is distributed unevenly: the rank that waits least has most of it."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kAllToAll)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_wait_nxn() { return std::make_unique<WaitNxN>(); }

}  // namespace refrain::waits
