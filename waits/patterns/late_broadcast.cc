#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class LateBroadcast final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_latebroadcast", "mpi_collective", "MPI late broadcast",
        "The root's enter - own enter, on all but the root",
        "The root has more to do before it sends (input, serial work) than the others."};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kOneToAll && !member.root)
      charge(member.call, member.call.take(wait_until(member.call, member.root_enter)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_late_broadcast() { return std::make_unique<LateBroadcast>(); }

}  // namespace refrain::waits
