#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class EarlyReduce final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_earlyreduce", "mpi_collective", "MPI early reduce",
            "On the root: enter of the latest sender - own enter",
            "The root has less to do than the others, or one of them is late."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kAllToOne && member.root)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_early_reduce() { return std::make_unique<EarlyReduce>(); }

}  // namespace refrain::waits
