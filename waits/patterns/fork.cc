#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class ForkPattern final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_fork", "omp_management", "OpenMP fork",
        "From the fork to a thread's begin in the parallel region",
        "Parallel regions are short for what a fork costs, or cores are busy with other work: make fewer, larger regions."};
  }
  std::vector<Compound> wants() const override { return {Compound::kFork}; }

  void fork(const TeamFork& found) override {
    charge(found.location, found.path, found.delay);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_fork() { return std::make_unique<ForkPattern>(); }

}  // namespace refrain::waits
