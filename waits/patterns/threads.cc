#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class ForkPattern final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_fork", "omp_management", "OpenMP fork",
        "From the fork to the start of a thread in the parallel region",
        "Parallel regions are short for what a fork costs, or cores are busy with other work: make fewer, larger regions."};
  }
  std::vector<Compound> wants() const override { return {Compound::kFork}; }

  void fork(const TeamFork& found) override {
    charge(found.location, found.path, found.delay);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_fork() { return std::make_unique<ForkPattern>(); }

namespace {

class LimitedParallelism final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_limited_parallelism", "omp_idle_threads", "OpenMP limited parallelism",
        "Time of threads outside a parallel region that has fewer threads",
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

namespace {

class ExplicitBarrierWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"omp_ebarrier_wait", "omp_ebarrier", "OpenMP wait at explicit barrier",
            "Time in the barrier until the last thread arrived, without tasks executed "
            "meanwhile",
            "Uneven work of the threads before the barrier."};
  }
  std::vector<Compound> wants() const override { return {Compound::kBarrier}; }

  void barrier(TeamBarrier& event) override {
    if (event.is_explicit)
      charge(event.call,
             event.call.take(wait_until(event.call, event.latest_enter, event.ran)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_explicit_barrier_wait() {
  return std::make_unique<ExplicitBarrierWait>();
}

namespace {

class ImplicitBarrierWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_ibarrier_wait", "omp_ibarrier", "OpenMP wait at implicit barrier",
        "Time in the barrier until the last thread arrived, without tasks executed meanwhile",
        "Load imbalance: iterations or sections are distributed unevenly over the "
        "threads. Try schedule(dynamic) or smaller chunks, or nowait if the barrier "
        "is not needed."};
  }
  std::vector<Compound> wants() const override { return {Compound::kBarrier}; }

  void barrier(TeamBarrier& event) override {
    if (!event.is_explicit)
      charge(event.call,
             event.call.take(wait_until(event.call, event.latest_enter, event.ran)));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_implicit_barrier_wait() {
  return std::make_unique<ImplicitBarrierWait>();
}

namespace {

class CriticalContention final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_lock_contention_critical", "omp_critical", "OpenMP critical contention",
        "Time waiting to enter a critical section until another thread left it",
        "Threads queue for one critical section: make it shorter, give independent ones names, or use a reduction or atomic."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockWait}; }

  void lock_wait(const LockWait& found) override {
    if (found.critical) charge(found.location, found.path, found.wait);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_critical_contention() {
  return std::make_unique<CriticalContention>();
}

namespace {

class LockContention final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"omp_lock_contention_api", "omp_lock_api", "OpenMP lock contention",
            "Time waiting for a lock until another thread released it",
            "Threads queue for one lock: keep it for less work, or use several locks."};
  }
  std::vector<Compound> wants() const override { return {Compound::kLockWait}; }

  void lock_wait(const LockWait& found) override {
    if (!found.critical) charge(found.location, found.path, found.wait);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_lock_contention() {
  return std::make_unique<LockContention>();
}

namespace {

class TaskwaitWait final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "omp_taskwait_wait", "omp_taskwait", "OpenMP wait at taskwait",
        "Time in taskwait until the last child task completed on another thread, without "
        "tasks executed meanwhile",
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
