#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class TaskwaitWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_taskwait_wait", "omp_taskwait", "OpenMP wait at taskwait",
        "Own time in taskwait, less tasks that the thread runs in it, until the last child of the task has completed on another thread",
        "Too few tasks, or one that is much longer than the others: nothing is left to run for the thread that waits."};
  }
  std::vector<Compound> wants() const override { return {Compound::kTaskWait}; }

  void task_wait(TaskWait& event) override {
    charge(event.call,
           event.call.take(wait_until(event.call, event.children_done, event.ran)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_taskwait_wait() { return std::make_unique<TaskwaitWait>(); }

}  // namespace refrain::waits
