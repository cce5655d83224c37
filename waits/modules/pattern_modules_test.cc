#include "waits/modules/pattern_modules.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "test/support/files.h"
#include "waits/synthetic_trace.h"

namespace refrain::waits::pattern_modules_test {
namespace {

std::string module(const std::string& name) {
  return test::data_file("waits/modules/" + name + ".so").string();
}

// Two ranks; rank 1 waits 300 of 360 ticks for a message, and 20 of 50 for another one.
SyntheticTrace synthetic() {
  SyntheticTrace trace(2);
  trace.receive(1, 100, 460, 0);
  trace.send(0, 400, 450, 1);
  trace.receive(1, 500, 550, 0);
  trace.send(0, 520, 530, 1);
  trace.collective(0, 600, 640, rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
  trace.collective(1, 610, 640, rBarrier, OTF2_COLLECTIVE_OP_BARRIER);
  return trace;
}

base::Result<WaitAnalysis> analyze_with(const std::vector<std::string>& names) {
  PatternModules modules;
  for (const std::string& name : names) REQUIRE(modules.load(module(name)).ok());
  return synthetic().analyze(modules.make());
}

}  // namespace

TEST_CASE("PatternModules: metrics - beside those of Refrain, and none of these changes") {
  const WaitAnalysis own = synthetic().analyze();
  const WaitAnalysis with = *analyze_with({"good_module"});
  CHECK(with.overcharged == 0);
  for (const MetricInfo& metric : own.tree.metrics) {
    CAPTURE(metric.name);
    CHECK(total(with, metric.name) == total(own, metric.name));
  }
  CHECK(total(with, "late_again") == 320);
  CHECK(of_location(with, "late_again", 1) == of_location(with, "mpi_latesender", 1));
  CHECK(of_location(with, "late_again", 0) == 0);
  // What late senders have left.
  CHECK(total(with, "rest_of_receive") == 60 + 30);
  CHECK(total(with, "rest_of_rank_1") == 20);
  // Three calls of each rank, and what finish() charges.
  CHECK(total(with, "visits") == 6 + 2000);
}

TEST_CASE("PatternModules: metrics - parts of time before views of their own") {
  const WaitAnalysis with = *analyze_with({"good_module"});
  bool views = false;
  for (std::uint32_t i = 0; i < with.tree.metrics.size(); ++i) {
    CAPTURE(with.tree.metrics[i].name);
    views = views || !with.tree.is_time(i);
    CHECK(with.tree.is_time(i) == !views);
  }
  CHECK(with.tree.is_time(with.tree.of("rest_of_rank_1")));
  CHECK_FALSE(with.tree.is_time(with.tree.of("late_again")));
}

TEST_CASE("PatternModules: barriers and taskwait - less the tasks that ran meanwhile") {
  SyntheticTrace trace(1, 2);
  using At = SyntheticTrace::At;
  using reader::EventKind;
  const auto taskwait = static_cast<std::uint32_t>(trace.d.regions.size());
  trace.d.regions.push_back({.name = "!$omp taskwait @p.c:7",
                             .file = "p.c",
                             .line = 7,
                             .role = OTF2_REGION_ROLE_TASK_WAIT,
                             .paradigm = OTF2_PARADIGM_OPENMP});
  const auto task = [&](std::uint32_t thread, std::uint64_t time, EventKind kind,
                        std::uint64_t number) {
    reader::TraceEvent& event = trace.add(At(0, thread), time, kind);
    event.ref = 2;
    event.tag = 0;
    event.value = number;
  };
  const auto run = [&](std::uint32_t thread, std::uint64_t begin, std::uint64_t end,
                       std::uint64_t number) {
    task(thread, begin, EventKind::kThreadTaskSwitch, number);
    trace.region(At(0, thread), begin, end, rTask);
    task(thread, end, EventKind::kThreadTaskComplete, number);
  };
  trace.add(0, 0, EventKind::kThreadFork);
  for (std::uint32_t t = 0; t < 2; ++t) {
    trace.team_begin(At(0, t), 0);
    trace.enter(At(0, t), 0, rParallel);
  }
  for (std::uint64_t number = 1; number <= 3; ++number)
    task(0, number, EventKind::kThreadTaskCreate, number);
  trace.enter(0, 10, taskwait);
  run(1, 20, 100, 1);
  run(0, 30, 60, 2);
  trace.leave(0, 110, taskwait);
  trace.enter(0, 200, rExplicit);
  run(0, 220, 250, 3);
  trace.enter(At(0, 1), 300, rExplicit);
  for (std::uint32_t t = 0; t < 2; ++t) {
    trace.leave(At(0, t), 310, rExplicit);
    trace.leave(At(0, t), 400, rParallel);
    trace.team_end(At(0, t), 400);
  }
  trace.add(0, 400, EventKind::kThreadJoin);
  PatternModules modules;
  REQUIRE(modules.load(module("good_module")).ok());
  const WaitAnalysis with = *trace.analyze(modules.make());
  CHECK(total(with, "barrier_again") == 100 - 30);
  CHECK(total(with, "omp_ebarrier_wait") == 100 - 30);
  CHECK(total(with, "taskwait_again") == 90 - 30);
  CHECK(total(with, "omp_taskwait_wait") == 90 - 30);
}

TEST_CASE("PatternModules: errors - of a file that is none, in one line") {
  const test::TemporaryFolder folder;
  PatternModules modules;
  const auto wrong = [&](const std::string& file, const std::string& part) {
    const auto done = modules.load(file);
    INFO(done.error());
    CHECK(done.error().find(part) != std::string::npos);
    CHECK(done.error().find('\n') == std::string::npos);
    CHECK(done.error().find(file) != std::string::npos);
  };
  wrong((folder / "none.so").string(), "no such file");
  std::ofstream(folder / "text.so") << "no shared object\n";
  wrong((folder / "text.so").string(), "cannot be loaded");
  wrong(module("other_library"), "offers no patterns");
  wrong(module("old_module"), "built for version 2 of refrain_patterns.h");
  CHECK(modules.empty());
}

TEST_CASE("PatternModules: errors - of metrics and of patterns that fail") {
  const auto error_of = [](const std::vector<std::string>& names) {
    const std::string error = analyze_with(names).error();
    INFO(error);
    CHECK(error.find('\n') == std::string::npos);
    return error;
  };
  CHECK(error_of({"failing_module"}).find("'throws'") != std::string::npos);
  CHECK(error_of({"failing_module"}).find("has failed: two lines") != std::string::npos);
  CHECK(error_of({"nonsense_module"}).find("call path that does not exist") !=
        std::string::npos);
  CHECK(error_of({"orphan_module"}).find("its parent 'no_such' is not a metric") !=
        std::string::npos);
  // The same twice.
  CHECK(error_of({"good_module", "good_module"}).find("there is such a metric already") !=
        std::string::npos);
}

}  // namespace refrain::waits::pattern_modules_test
