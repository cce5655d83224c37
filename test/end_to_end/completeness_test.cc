// Limit off = every event: the numbers of events in the archive, by kind, are those that a
// counting tool counts in another run. And a program without repetition loses nothing.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/end_to_end/counts.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::completeness_test {
namespace {

// Enters by the region's name without its place: "!$omp for @cg.c:54" is "!$omp for".
std::map<std::string, std::uint64_t> enters(const Trace& trace) {
  std::map<std::string, std::uint64_t> result;
  for (const auto& [name, count] : count_by_name(trace))
    result[name.substr(0, name.find(" @"))] += count;
  return result;
}

struct Expectation {
  const char* region;
  // The counters whose sum its enters are, by start and end of their names.
  std::vector<std::pair<const char*, const char*>> counters;
};

const std::vector<Expectation>& expectations() {
  static const std::vector<Expectation> kAll = {
      {"!$omp for", {{"work.loop", ".begin"}}},
      {"!$omp sections", {{"work.sections", ".begin"}}},
      {"!$omp single", {{"work.single", ".begin"}}},
      {"!$omp single sblock", {{"work.single_executor", ".begin"}}},
      {"!$omp distribute", {{"work.distribute", ".begin"}}},
      {"!$omp taskloop", {{"work.taskloop", ".begin"}}},
      {"!$omp scope", {{"work.scope", ".begin"}}},
      {"!$omp masked", {{"masked", ".begin"}}},
      {"!$omp barrier", {{"sync_region.barrier_explicit.", ".begin"}}},
      {"!$omp implicit barrier", {{"sync_region.barrier_implicit_", ".begin"}}},
      {"!$omp implementation barrier", {{"sync_region.barrier_implementation.", ".begin"}}},
      {"!$omp teams barrier", {{"sync_region.barrier_teams.", ".begin"}}},
      {"!$omp taskwait", {{"sync_region.taskwait.", ".begin"}}},
      {"!$omp taskgroup", {{"sync_region.taskgroup.", ".begin"}}},
      {"!$omp reduction", {{"reduction.", ".begin"}}},
      {"!$omp create task", {{"task_create.", ""}}},
      {"!$omp critical", {{"mutex_acquire.critical", ""}}},
      {"!$omp critical sblock", {{"mutex_acquired.critical", ""}}},
      {"!$omp ordered", {{"mutex_acquire.ordered", ""}}},
      {"!$omp ordered sblock", {{"mutex_acquired.ordered", ""}}},
      {"!$omp atomic", {{"mutex_acquire.atomic", ""}}},
      {"omp_set_lock", {{"mutex_acquire.lock", ""}}},
      {"omp_test_lock", {{"mutex_acquire.test_lock", ""}}},
      {"omp_set_nest_lock", {{"mutex_acquire.nest_lock", ""}}},
      {"omp_test_nest_lock", {{"mutex_acquire.test_nest_lock", ""}}},
      {"omp_set_nest_lock again", {{"nest_lock.begin", ""}}},
      {"omp_unset_nest_lock inner", {{"nest_lock.end", ""}}},
      {"!$omp flush", {{"flush", ""}}},
  };
  return kAll;
}

long of_kind(const Trace& trace, const std::string& kind) {
  const auto kinds = nlohmann::json::parse(trace.properties.at("REFRAIN::EVENTS_BY_KIND"));
  return kinds.value(kind, 0L);
}

// Begins and ends of threads.
long thread_events(const Trace& trace) {
  return of_kind(trace, "thread_begin") + of_kind(trace, "thread_end");
}

// A wait that begins and ends with its region has no record of its own, but counts. (LLVM's
// runtime reports a taskgroup's wait later.)
void compare_waits(const Trace& trace, const Counts& counts, std::uint64_t margin) {
  for (const auto& [name, entered] : enters(trace)) {
    INFO(name);
    CHECK_FALSE((name.ends_with(" wait") && name != "!$omp taskgroup wait"));
  }
  const auto expected = static_cast<long>(counts.sum("sync_region_wait.", ".begin"));
  const long found = of_kind(trace, "sync_region_wait_begin");
  CHECK(found + static_cast<long>(margin) >= expected);
  CHECK(found <= expected + static_cast<long>(margin));
}

// ompt_cancel_parallel | ompt_cancel_activated
constexpr const char* kParallelCancelled = "cancel.17";

// `plain`: the program under the counting tool, if not the traced program itself.
void compare(const Job& job, Way way = Way::kRun, const std::string& plain = "") {
  INFO(job.program << ", way " << static_cast<int>(way));
  TemporaryFolder folder;
  const Traced traced = way == Way::kRun ? recorded(job, folder / "archive")
                                         : trace(job, folder / "archive", way);
  Job counted = job;
  if (!plain.empty()) counted.program = plain;
  const Counts counts(counted);
  CHECK(traced.result.output == counts.output());

  auto found = enters(traced.trace);
  // Whether a thread comes to a barrier of a region before it learns that the region was
  // cancelled is nondeterministic, too.
  const std::uint64_t cancelled = counts.of(kParallelCancelled);
  const std::uint64_t chance = cancelled * static_cast<std::uint64_t>(job.threads - 1);
  for (const Expectation& e : expectations()) {
    std::uint64_t expected = 0;
    for (const auto& [begin, end] : e.counters) expected += counts.sum(begin, end);
    INFO(e.region);
    const bool barrier = std::string(e.region).find("barrier") != std::string::npos;
    const std::uint64_t margin = barrier ? chance : 0;
    CHECK(found[e.region] + margin >= expected);
    CHECK(found[e.region] <= expected + margin);
  }
  compare_waits(traced.trace, counts, 2 * chance);
  auto types = count_by_type(traced.trace);
  CHECK(found["!$omp parallel"] == counts.of("implicit_task.implicit.begin"));
  CHECK(types[EventType::kThreadFork] == counts.sum("parallel_begin."));
  CHECK(types[EventType::kThreadJoin] == counts.sum("parallel_end."));
  CHECK(types[EventType::kTaskCreate] == counts.sum("task_create."));
  // How many tasks of a group are discarded when it is cancelled is nondeterministic: of two runs
  // only the sum is the same. (What one run has, spool_test compares exactly.)
  const std::uint64_t discarded = counts.of("task_schedule.cancel");
  const std::uint64_t complete = types[EventType::kTaskComplete];
  if (discarded == 0 && cancelled == 0) {
    CHECK(complete == counts.of("task_schedule.complete"));
    CHECK(found["!$omp cancel"] == counts.sum("cancel"));
    const long threads = thread_events(traced.trace);
    const auto counted_threads =
        static_cast<long>(counts.sum("thread_begin.") + counts.of("thread_end"));
    CHECK(property_number(traced.trace, "EVENTS_SEEN") - threads ==
          static_cast<long>(counts.registered()) - counted_threads);
    // The runtime has as many workers as teams of short-lived threads, and nested ones, overlap:
    // chance (nested: 11 to 13 on a busy machine, untraced). But each location is a thread of it.
    if (job.program.rfind("threads_", 0) == 0 || job.program.rfind("nested_", 0) == 0)
      CHECK(threads >= 2 * static_cast<long>(traced.trace.locations.size()));
    else
      CHECK(threads == counted_threads);
  } else {
    CHECK(complete > 0);
    CHECK(complete <= counts.of("task_schedule.complete") + discarded);
    CHECK(found["!$omp cancel"] >= counts.sum("cancel") - counts.of("cancel.72"));
  }
  CHECK(types[EventType::kAcquireLock] ==
        counts.sum("mutex_acquired.") - counts.of("mutex_acquired.ordered"));
  CHECK(types[EventType::kReleaseLock] ==
        counts.sum("mutex_released.") - counts.of("mutex_released.ordered"));
  CHECK(types[EventType::kMeasurementOff] == 0);
  CHECK(property_number(traced.trace, "LOST") == 0);
}

std::map<std::string, std::string> limit_off() { return {{"LIMIT", "0"}}; }

}  // namespace

TEST_CASE("Completeness: limit off - all events that a counting tool counts") {
  SomeCases few;
  for (const std::string program : {"cg", "jacobi", "irregular", "mutexes", "nested",
                                    "particles", "norepeat", "exitcode"})
    for (const std::string compiler : {"clang", "gcc"})
      if (few.runs_next()) DYNAMIC_SECTION(program << " " << compiler)
  compare({program + "_" + compiler, {}, 2, limit_off()});
}

// Where the library is loaded before the runtime, events that the runtime reports while it
// ends must not be missing either.
TEST_CASE("Completeness: limit off - linked and preloaded", "[alone]") {
  SomeCases few;
  for (const std::string program : {"cg", "jacobi", "threads", "nested"})
    for (const std::string compiler : {"clang", "gcc"})
      if (few.runs_next()) DYNAMIC_SECTION(program << " " << compiler)
  // The number of threads for four nested teams varies a little from run to run.
  compare({program + "_" + compiler, {}, program == "nested" ? 2 : 4, limit_off()},
          Way::kPreload);
  for (const std::string program : {"cg_clang", "cg_gcc", "heat_gfortran"})
    DYNAMIC_SECTION(program << " linked")
  compare({"test/end_to_end/" + program + "_linked", {}, 4, limit_off()}, Way::kLinked,
          program);
}

TEST_CASE("Completeness: limit off - Fortran") {
  compare({"heat_gfortran", {}, 2, limit_off()});
}

TEST_CASE("Completeness: limit off - threads that come and go, more than cores") {
  for (const std::string compiler : {"clang", "gcc"})
    compare({"threads_" + compiler, {}, 2, limit_off()});
}

TEST_CASE("Completeness: limit off - constructs without cancellation") {
  for (const std::string compiler : {"clang", "gcc"})
    compare({"constructs_" + compiler, {}, 2, limit_off()});
}

TEST_CASE("Completeness: limit off - tasks, and everything with cancellation") {
  for (const std::string program : {"tasks_clang", "tasks_gcc"})
    compare({program, {}, 2, limit_off()});
  for (const std::string program : {"constructs_clang", "constructs_gcc"})
    compare({program, {}, 2, limit_off(), {{"OMP_CANCELLATION", "true"}}});
}

TEST_CASE("Completeness: no repetition - nothing is skipped, whatever the limit") {
  for (const std::string order : {"distinct", "squarefree", "random"})
    for (const std::string compiler : {"clang", "gcc"})
      DYNAMIC_SECTION(order << " " << compiler) {
        Job job{"norepeat_" + compiler,
                {order, "1000"},
                2,
                {{"DETECTOR", "nested"}, {"LIMIT", "1"}, {"MIN_GAP", "0"}}};
        TemporaryFolder folder;
        const Traced limited = recorded(job, folder / "limited");
        job.settings["LIMIT"] = std::string("0");
        const Traced full = recorded(job, folder / "full");
        CHECK(limited.trace.markers.empty());
        CHECK(phase_regions(limited.trace).empty());
        CHECK(count_by_name(limited.trace) == count_by_name(full.trace));
        CHECK(count_by_type(limited.trace) == count_by_type(full.trace));
      }
}

}  // namespace refrain::test::completeness_test
