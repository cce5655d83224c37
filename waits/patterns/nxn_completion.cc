#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class NxNCompletion final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_nxn_completion", "mpi_collective", "MPI N x N completion",
            "Own leave - max(earliest leave, latest enter), in operations from all to all",
            ""};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kAllToAll)
      charge_end(member.call, member.call.take(completion(member)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_nxn_completion() { return std::make_unique<NxNCompletion>(); }

}  // namespace refrain::waits
