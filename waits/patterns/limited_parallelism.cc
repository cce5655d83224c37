#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class LimitedParallelism final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_limited_parallelism", "omp_idle_threads", "OpenMP limited parallelism",
        "Time of threads that take no part in a parallel region",
        "A region has fewer threads than there are: num_threads, if clauses, or too few iterations."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLeftOut}; }

  void left_out(const LeftOut& found) override {
    charge(found.location, found.path, found.time);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_limited_parallelism() {
  return std::make_unique<LimitedParallelism>();
}

}  // namespace refrain::waits
