#include <catch2/catch.hpp>

#include "waits/synthetic_trace.h"

namespace refrain::waits::tasks_test {
namespace {

class Trace : public SyntheticTrace {
 public:
  explicit Trace(OTF2_RegionRole role = OTF2_REGION_ROLE_TASK_WAIT) : SyntheticTrace(1, 3) {
    taskwait_ = static_cast<std::uint32_t>(d.regions.size());
    d.regions.push_back({.name = "!$omp taskwait @p.c:7",
                         .file = "p.c",
                         .line = 7,
                         .role = role,
                         .paradigm = OTF2_PARADIGM_OPENMP});
    for (std::uint32_t thread = 0; thread < 3; ++thread) enter(At(0, thread), 0, rMain);
  }
  void task(std::uint32_t thread, std::uint64_t time, reader::EventKind kind,
            std::uint32_t creator, std::uint64_t number) {
    reader::TraceEvent& event = add(At(0, thread), time, kind);
    event.ref = 2;
    event.tag = creator;
    event.value = number;
  }
  void create(std::uint32_t thread, std::uint64_t time, std::uint64_t number) {
    task(thread, time, reader::EventKind::kThreadTaskCreate, thread, number);
  }
  void to(std::uint32_t thread, std::uint64_t time, std::uint32_t creator,
          std::uint64_t number) {
    task(thread, time, reader::EventKind::kThreadTaskSwitch, creator, number);
  }
  void run(std::uint32_t thread, std::uint64_t begin, std::uint64_t end,
           std::uint32_t creator, std::uint64_t number) {
    to(thread, begin, creator, number);
    region(At(0, thread), begin, end, rTask);
    task(thread, end, reader::EventKind::kThreadTaskComplete, creator, number);
  }
  void wait(std::uint32_t thread, std::uint64_t begin, std::uint64_t end) {
    region(At(0, thread), begin, end, taskwait_);
  }
  std::uint32_t taskwait() const { return taskwait_; }

 private:
  std::uint32_t taskwait_ = 0;
};

constexpr const char* kWait = "omp_taskwait_wait";

}  // namespace

TEST_CASE("Waits: taskwait - until the last child on another thread") {
  Trace trace;
  trace.create(0, 10, 1);
  trace.create(0, 20, 2);
  trace.run(1, 30, 200, 0, 1);
  trace.run(2, 30, 400, 0, 2);
  trace.wait(0, 100, 420);
  trace.wait(1, 210, 230);  // of a task without children
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, kWait, 0) == 300);
  CHECK(total(result, kWait) == 300);
  CHECK(total(result, "omp_taskwait") == 320 + 20);
}

TEST_CASE(
    "Waits: taskwait - not while the thread itself runs a task, nor for children that are done") {
  const bool done = GENERATE(true, false);
  Trace trace;
  trace.create(0, 10, 1);
  trace.create(0, 20, 2);
  trace.run(1, 30, done ? 90 : 400, 0, 1);
  trace.enter(SyntheticTrace::At(0, 0), 100, trace.taskwait());
  trace.run(0, 110, 300, 0, 2);
  trace.leave(SyntheticTrace::At(0, 0), done ? 310 : 420, trace.taskwait());
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, kWait, 0) == (done ? 0 : 10 + 100));
}

TEST_CASE(
    "Waits: taskwait - what the thread runs when the last child is done is no less wait") {
  Trace trace;
  for (std::uint64_t number = 1; number <= 3; ++number)
    trace.create(0, 10 * number, number);
  trace.enter(SyntheticTrace::At(0, 0), 100, trace.taskwait());
  trace.run(1, 100, 300, 0, 1);
  trace.run(0, 110, 150, 0, 2);
  trace.run(0, 280, 400, 0, 3);  // 20 of it before
  trace.leave(SyntheticTrace::At(0, 0), 410, trace.taskwait());
  CHECK(of_location(trace.analyze(), kWait, 0) == 200 - 40 - 20);
}

TEST_CASE("Waits: taskwait - of an explicit task, for its own children") {
  Trace trace;
  trace.create(0, 10, 1);
  trace.to(1, 30, 0, 1);
  trace.enter(SyntheticTrace::At(0, 1), 30, rTask);
  trace.create(1, 40, 7);
  trace.run(2, 50, 300, 1, 7);
  trace.wait(1, 100, 310);
  trace.leave(SyntheticTrace::At(0, 1), 350, rTask);
  trace.task(1, 350, reader::EventKind::kThreadTaskComplete, 0, 1);
  trace.wait(0, 60, 360);
  const WaitAnalysis result = trace.analyze();
  CHECK(of_location(result, kWait, 1) == 200);
  CHECK(of_location(result, kWait, 0) == 290);
}

TEST_CASE("Waits: taskwait - is no barrier of the team, also with the role of one") {
  Trace trace(GENERATE(OTF2_REGION_ROLE_TASK_WAIT, OTF2_REGION_ROLE_BARRIER));
  trace.add(0, 10, reader::EventKind::kThreadFork);
  for (std::uint32_t thread = 0; thread < 3; ++thread) {
    const SyntheticTrace::At at(0, thread);
    trace.team_begin(at, 20);
    trace.enter(at, 20, rParallel);
    if (thread == 0) trace.wait(0, 100, 200);
    trace.region(at, 300 + 100 * thread, 510, rImplicit);
    trace.leave(at, 520, rParallel);
    trace.team_end(at, 520);
  }
  trace.add(0, 530, reader::EventKind::kThreadJoin);
  const WaitAnalysis result = trace.analyze();
  CHECK(total(result, "omp_ibarrier_wait") == 200 + 100);
  CHECK(total(result, "omp_ebarrier_wait") == 0);
  CHECK(total(result, "omp_taskwait") == 100);
}

TEST_CASE("Waits: taskwait - tasks whose creation is not in the archive") {
  Trace trace;
  trace.run(1, 30, 300, 0, 1);
  trace.wait(0, 100, 310);
  CHECK(total(trace.analyze(), kWait) == 0);
}

}  // namespace refrain::waits::tasks_test
