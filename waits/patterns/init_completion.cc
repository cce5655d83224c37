#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class InitCompletion final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"mpi_init_completion", "mpi_init_exit", "MPI init completion",
            "Own leave of MPI_Init - max(earliest leave, latest enter)", ""};
  }
  std::vector<Compound> wants() const override { return {Compound::kCollective}; }

  void collective(CollectiveMember& member) override {
    if (member.kind == CollectiveKind::kInit)
      charge_end(member.call, member.call.take(completion(member)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_init_completion() {
  return std::make_unique<InitCompletion>();
}

}  // namespace refrain::waits
