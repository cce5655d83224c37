#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class FinalizeWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_finalize_wait", "mpi_init_exit", "MPI wait at finalize",
        "Latest enter of MPI_Finalize - own enter",
        "Processes finish at different times: work is distributed unevenly, or one has more to do at the end (output)."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kFinalize)
      charge(member.call, member.call.take(wait_until(member.call, member.latest_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_finalize_wait() { return std::make_unique<FinalizeWait>(); }

}  // namespace refrain::waits
