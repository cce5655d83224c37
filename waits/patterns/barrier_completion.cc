#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class BarrierCompletion final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_barrier_completion", "mpi_sync_collective", "MPI barrier completion",
            "Own leave - max(earliest leave, latest enter)", ""};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kBarrier)
      charge_end(member.call, member.call.take(completion(member)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_barrier_completion() {
  return std::make_unique<BarrierCompletion>();
}

}  // namespace refrain::waits
