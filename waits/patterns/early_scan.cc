#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class EarlyScan final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_earlyscan", "mpi_collective", "MPI early scan",
            "Latest enter of the ranks below - own enter",
            "Lower ranks, whose data a scan needs first, have more to do before it."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kScan)
      charge(member.call, member.call.take(wait_until(member.call, member.lower_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_early_scan() { return std::make_unique<EarlyScan>(); }

}  // namespace refrain::waits
