#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class NonBlockingCollective final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_nonblocking_collective_wait", "mpi_point2point",
        "MPI wait for non-blocking collective",
        "When the last one whose part was needed began it (of all: all; from the root: the root; at the root: all; prefixes: lower ranks) - enter of the call in which the operation completes, at most until its leave",
        "Some begin the operation late: work before it is distributed unevenly. More work between its begin and MPI_Wait hides the wait."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollectiveCompletion}; }

  void collective_completion(CollectiveCompletion& event) override {
    if (event.call.test || event.call.metric != kMpiPoint2Point) return;
    charge(event.call, event.call.take(wait_until(event.call, event.until)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_nonblocking_collective() {
  return std::make_unique<NonBlockingCollective>();
}

}  // namespace refrain::waits
