#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::teams_test {

using reader::EventKind;
using At = SyntheticTrace::At;

namespace {

// A parallel region of rank 0 from 100 to 1000: thread t begins at 110 + 10 t, and enters its last barrier at
// `arrivals[t]`.
void add_region(SyntheticTrace& trace, const std::vector<std::uint64_t>& arrivals) {
  trace.enter(0, 0, rMain);
  trace.add(0, 100, EventKind::kThreadFork);
  const std::uint64_t last = *std::ranges::max_element(arrivals);
  for (std::uint32_t t = 0; t < arrivals.size(); ++t) {
    const At at(0, t);
    trace.team_begin(at, 110 + 10 * t);
    trace.enter(at, 110 + 10 * t, rParallel);
    trace.region(at, 200, arrivals[t], rLoop);
    trace.region(at, arrivals[t], last + 10, rImplicit);
    trace.leave(at, last + 20, rParallel);
    trace.team_end(at, last + 20);
  }
  trace.add(0, last + 50, EventKind::kThreadJoin);
  trace.leave(0, last + 100, rMain);
}

void check_sum(const WaitAnalysis& result) {
  double sum = 0;
  for (std::uint32_t metric = 0; metric < result.values.size(); ++metric) {
    std::uint32_t root = metric;
    while (result.tree.parents[root] != kNone) root = result.tree.parents[root];
    if (root != kTime) continue;
    for (const auto& [path, row] : result.values[metric])
      for (const auto& [location, each] : row) sum += static_cast<double>(each);
  }
  double time = 0;
  for (const auto& location : result.locations)
    time += static_cast<double>(result.processes[location.process].end -
                                result.processes[location.process].begin);
  CHECK(sum == time);
  CHECK(total(result, "time") == time);
}

}  // namespace

TEST_CASE("Waits: implicit barrier - until the last thread of the team enters") {
  SyntheticTrace trace(1, 3);
  add_region(trace, {500, 900, 300});
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_ibarrier_wait", 0) == 400);
  CHECK(of_location(result, "omp_ibarrier_wait", 1) == 0);
  CHECK(of_location(result, "omp_ibarrier_wait", 2) == 600);
  CHECK(total(result, "omp_ibarrier") == 410 + 10 + 610);
  CHECK(total(result, "omp_ebarrier_wait") == 0);
  check_sum(result);
}

TEST_CASE("Waits: fork and join - each thread's part") {
  SyntheticTrace trace(1, 2);
  add_region(trace, {500, 500});
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_fork", 0) == 10);
  CHECK(of_location(result, "omp_fork", 1) == 20);
  CHECK(of_location(result, "omp_management", 0) == 10 + 30);
  CHECK(of_location(result, "omp_management", 1) == 20 + 30);
  check_sum(result);
}

TEST_CASE("Waits: a helper thread of the runtime - only its time in regions counts") {
  SyntheticTrace trace(1, 3);
  trace.d.locations[2].helper = true;
  add_region(trace, {500, 500});
  trace.region(At(0, 2), 150, 180, rTask);
  trace.region(At(0, 2), 300, 340, rTask);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "time", 2) == 30 + 40);
  CHECK(of_location(result, "omp_idle_threads", 2) == 0);
  CHECK(of_location(result, "omp_idle_threads", 1) == 150);
  CHECK(total(result, "time") == 2 * 600 + 70);
}

TEST_CASE(
    "Waits: idle threads - while the program is serial, where the primary thread is") {
  SyntheticTrace trace(1, 2);
  add_region(trace, {500, 500});
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_idle_threads", 0) == 0);
  // 0 to 100 and 550 to 600.
  CHECK(of_location(result, "omp_idle_threads", 1) == 150);
  CHECK(total(result, "omp_limited_parallelism") == 0);
  const std::uint32_t metric = result.tree.of("omp_idle_threads");
  REQUIRE(result.paths.size() > 1);
  CHECK(result.inclusive(metric, PathId{1})[1] == 150);  // main
}

TEST_CASE("Waits: limited parallelism - a thread that takes no part in a region") {
  SyntheticTrace trace(1, 3);
  add_region(trace, {500, 500, 500});
  // A second one from 1000 to 2000, of two threads.
  trace.add(0, 1000, EventKind::kThreadFork);
  for (std::uint32_t t = 0; t < 2; ++t) {
    trace.team_begin(At(0, t), 1000);
    trace.region(At(0, t), 1000, 2000, rParallel);
    trace.team_end(At(0, t), 2000);
  }
  trace.add(0, 2000, EventKind::kThreadJoin);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_limited_parallelism", 2) == 1000);
  CHECK(of_location(result, "omp_limited_parallelism", 1) == 0);
  check_sum(result);
}

TEST_CASE("Waits: explicit barrier - tasks that a thread runs inside are no wait") {
  SyntheticTrace trace(1, 2);
  trace.add(0, 0, EventKind::kThreadFork);
  for (std::uint32_t t = 0; t < 2; ++t) {
    trace.team_begin(At(0, t), 0);
    trace.enter(At(0, t), 0, rParallel);
  }
  trace.enter(At(0, 0), 100, rExplicit);
  trace.region(At(0, 0), 150, 350, rTask);
  trace.enter(At(0, 1), 400, rExplicit);
  for (std::uint32_t t = 0; t < 2; ++t) {
    trace.leave(At(0, t), 410, rExplicit);
    trace.region(At(0, t), 500 + 100 * t, 610, rExplicit);  // a second one
    trace.leave(At(0, t), 700, rParallel);
    trace.team_end(At(0, t), 700);
  }
  trace.add(0, 700, EventKind::kThreadJoin);
  const WaitAnalysis result = trace.analyze();
  // 300 ticks until the other one enters, 200 of them in the task.
  CHECK(of_location(result, "omp_ebarrier_wait", 0) == 100 + 100);
  CHECK(of_location(result, "omp_ebarrier_wait", 1) == 0);
  check_sum(result);
}

TEST_CASE(
    "Waits: explicit barrier - only what ran before the last thread entered is less wait") {
  SyntheticTrace trace(1, 3);
  trace.add(0, 0, EventKind::kThreadFork);
  for (std::uint32_t t = 0; t < 3; ++t) {
    trace.team_begin(At(0, t), 0);
    trace.enter(At(0, t), 0, rParallel);
  }
  trace.enter(At(0, 0), 100, rExplicit);
  trace.region(At(0, 0), 110, 150, rTask);
  trace.enter(At(0, 1), 160, rExplicit);
  trace.region(At(0, 0), 170, 200, rTask);
  trace.region(At(0, 1), 350, 500, rTask);  // 50 of it until the last one enters
  trace.enter(At(0, 2), 400, rExplicit);
  trace.region(At(0, 0), 410, 600, rTask);  // none of it
  trace.region(At(0, 2), 420, 450, rTask);
  for (std::uint32_t t = 0; t < 3; ++t) {
    trace.leave(At(0, t), 700, rExplicit);
    trace.leave(At(0, t), 700, rParallel);
    trace.team_end(At(0, t), 700);
  }
  trace.add(0, 700, EventKind::kThreadJoin);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_ebarrier_wait", 0) == 300 - 40 - 30);
  CHECK(of_location(result, "omp_ebarrier_wait", 1) == 240 - 50);
  CHECK(of_location(result, "omp_ebarrier_wait", 2) == 0);
  check_sum(result);
}

TEST_CASE("Waits: critical - as far as another thread had it") {
  SyntheticTrace trace(1, 2);
  const auto lock = [&](At at, std::uint64_t time, EventKind kind) {
    trace.request(at, time, kind, 3);
  };
  trace.enter(At(0, 0), 100, rCritical);
  lock(At(0, 0), 105, EventKind::kThreadAcquireLock);
  lock(At(0, 0), 300, EventKind::kThreadReleaseLock);
  trace.leave(At(0, 0), 310, rCritical);
  trace.enter(At(0, 1), 150, rCritical);
  lock(At(0, 1), 320, EventKind::kThreadAcquireLock);
  lock(At(0, 1), 330, EventKind::kThreadReleaseLock);
  trace.leave(At(0, 1), 330, rCritical);
  // Nobody has it.
  trace.enter(At(0, 0), 500, rCritical);
  lock(At(0, 0), 520, EventKind::kThreadAcquireLock);
  lock(At(0, 0), 530, EventKind::kThreadReleaseLock);
  trace.leave(At(0, 0), 530, rCritical);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_lock_contention_critical", 1) == 150);
  CHECK(of_location(result, "omp_lock_contention_critical", 0) == 0);
  CHECK(total(result, "omp_lock_contention_api") == 0);
  CHECK(total(result, "omp_critical") == 210 + 180 + 30);
}

TEST_CASE("Waits: lock - as far as another thread had it") {
  SyntheticTrace trace(1, 2);
  trace.request(At(0, 0), 100, EventKind::kThreadAcquireLock, 3);
  trace.request(At(0, 0), 300, EventKind::kThreadReleaseLock, 3);
  trace.enter(At(0, 1), 250, rSetLock);
  trace.request(At(0, 1), 320, EventKind::kThreadAcquireLock, 3);
  trace.leave(At(0, 1), 320, rSetLock);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_lock_contention_api", 1) == 50);
}

// A thread that releases a lock reads the clock after that: the next one may have it by then.
TEST_CASE("Waits: lock - released in a record that comes after the next acquisition") {
  SyntheticTrace trace(1, 2);
  const auto lock = [&](At at, std::uint64_t time, EventKind kind, std::uint64_t order) {
    reader::TraceEvent& event = trace.add(at, time, kind);
    event.request = 3;
    event.value = order;
  };
  const auto sets = [&](At at, std::uint64_t enter, std::uint64_t time,
                        std::uint64_t order) {
    trace.enter(at, enter, rSetLock);
    lock(at, time, EventKind::kThreadAcquireLock, order);
    trace.leave(at, time, rSetLock);
  };
  sets(At(0, 0), 100, 100, 1);
  sets(At(0, 1), 150, 300, 2);  // waits all of it
  lock(At(0, 0), 303, EventKind::kThreadReleaseLock, 1);
  lock(At(0, 1), 400, EventKind::kThreadReleaseLock, 2);
  sets(At(0, 0), 390, 410, 3);  // waits until 400
  sets(At(0, 1), 405, 430, 4);
  lock(At(0, 1), 440, EventKind::kThreadReleaseLock, 4);
  // Interrupted between its release and the record: the other one has it for the second time.
  sets(At(0, 1), 445, 450, 5);
  lock(At(0, 0), 447, EventKind::kThreadReleaseLock, 3);
  lock(At(0, 1), 460, EventKind::kThreadReleaseLock, 5);
  // Not the next one: what was between is not known.
  sets(At(0, 0), 470, 480, 6);
  sets(At(0, 1), 475, 490, 8);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, "omp_lock_contention_api", 1) == 150 + 25);
  CHECK(of_location(result, "omp_lock_contention_api", 0) == 10);
}

TEST_CASE("Waits: regions - that do not balance are reported, and all time is somewhere") {
  SyntheticTrace trace(1, 1);
  trace.enter(0, 0, rMain);
  trace.leave(0, 5, rRecv);
  trace.enter(0, 10, rLoop);
  trace.enter(0, 20, rTask);
  trace.leave(0, 50, rLoop);
  const WaitAnalysis result = trace.analyze();
  CHECK(result.problems.leaves_without_enter == 1);
  CHECK(result.problems.enters_without_leave == 2);
  check_sum(result);
}

TEST_CASE("Waits: gaps - their time is known to be unknown") {
  SyntheticTrace trace(2);
  trace.collective(0, 100, 350, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  trace.collective(1, 300, 350, rBarrier, OTF2_COLLECTIVE_OP_BARRIER, 99);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    trace.add(rank, 400, EventKind::kMeasurementOnOff).op = OTF2_MEASUREMENT_OFF;
    trace.add(rank, 900, EventKind::kMeasurementOnOff).op = OTF2_MEASUREMENT_ON;
    trace.region(rank, 950, 1000, rMain);
  }
  const WaitAnalysis result = trace.analyze();
  CHECK(result.problems.gaps == 2);
  CHECK(total(result, "skipped") == 1000);
  CHECK(total(result, "mpi_barrier_wait") == 200);
  check_sum(result);
}

}  // namespace refrain::waits::teams_test
