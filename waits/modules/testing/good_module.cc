// Patterns for tests: one that must find what mpi_latesender finds, one that takes what is left, one of each event.
#include "waits/modules/refrain_patterns.h"

namespace {

struct LateAgain : refrain::Pattern {
  static refrain::Metric metric() {
    return {"late_again", "", "Late again", "As mpi_latesender", ""};
  }
  void receive(const refrain_receive& event) override {
    if (event.call.test != 0) return;
    uint64_t latest = 0;
    for (size_t i = 0; i < event.count; ++i)
      if (event.messages[i].sent > latest) latest = event.messages[i].sent;
    charge(event.call, wait_until(event.call, latest));
  }
};

struct Rest : refrain::Pattern {
  static refrain::Metric metric() {
    return {"rest_of_receive", "mpi_point2point", "Rest of receives",
            "What is left of calls that receive", "The network is slow."};
  }
  void receive(const refrain_receive& event) override {
    charge(event.call, take(event.call, event.call.leave - event.call.enter));
  }
};

// A child of another one of this module; by name and rank.
struct RestOfRank1 : refrain::Pattern {
  static refrain::Metric metric() {
    return {"rest_of_rank_1", "rest_of_receive", "Of rank 1", "", ""};
  }
  void receive(const refrain_receive& event) override {
    const refrain_location at = location(event.call.location);
    const refrain_region it = region(event.call);
    const bool is_receive = it.name[0] == 'M' && it.name[4] == 'R';
    if (at.rank == 1 && at.thread == 0 && is_receive) charge(event.call, 10);
  }
};

struct Counts : refrain::Pattern {
  static refrain::Metric metric() { return {"visits", "", "Visits", "", ""}; }
  void begin(const refrain_run& run) override { locations_ = run.locations; }
  void call(const refrain_call& call) override { charge(call, 1); }
  void finish() override { charge(0, 0, 1000 * locations_); }

 private:
  uint32_t locations_ = 0;
};

struct BarrierAgain : refrain::Pattern {
  static refrain::Metric metric() {
    return {"barrier_again", "", "Barrier again", "As omp_barrier's waits", ""};
  }
  void barrier(const refrain_barrier& event) override {
    charge(event.call, wait_until(event.call, event.latest_enter, event.ran));
  }
};

struct TaskwaitAgain : refrain::Pattern {
  static refrain::Metric metric() {
    return {"taskwait_again", "", "Taskwait again", "As omp_taskwait_wait", ""};
  }
  void task_wait(const refrain_task_wait& event) override {
    charge(event.call, wait_until(event.call, event.children_done, event.ran));
  }
};

}  // namespace

REFRAIN_PATTERNS(LateAgain, Rest, RestOfRank1, Counts, BarrierAgain, TaskwaitAgain)
