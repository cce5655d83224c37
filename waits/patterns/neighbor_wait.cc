#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class NeighborWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_neighbor_wait", "mpi_collective", "MPI wait for neighbours",
        "Latest enter of the neighbours in the Cartesian communicator - own enter, in neighbourhood collectives",
        "Neighbours come late: work is distributed unevenly, or they wait for their own neighbours."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kNeighbours)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_neighbor_wait() { return std::make_unique<NeighborWait>(); }

}  // namespace refrain::waits
