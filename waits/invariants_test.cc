// What holds of every analysis, of synthetic programs that are drawn at random (of fixed seeds), whole and with events
// missing.
#include <catch2/catch.hpp>
#include <random>

#include "waits/findings.h"
#include "waits/synthetic_trace.h"

namespace refrain::waits::invariants_test {
namespace {

void check(const WaitAnalysis& result) {
  // By no pattern was more charged than what contains it has.
  CHECK(result.overcharged == 0);
  double time = 0;
  for (const WaitAnalysis::Location& each : result.locations) {
    const WaitAnalysis::Process& process = result.processes[each.process];
    time += static_cast<double>(process.end - process.begin);
  }
  CHECK(result.total(kTime) == time);
  double exclusive = 0;
  for (std::uint32_t metric = 0; metric < result.tree.metrics.size(); ++metric)
    if (result.tree.is_time(metric))
      for (const auto& [path, row] : result.values[metric])
        for (const auto& [location, each] : row) exclusive += static_cast<double>(each);
  CHECK(exclusive == time);
  for (std::uint32_t metric = 1; metric < result.tree.metrics.size(); ++metric)
    if (const std::uint32_t parent = result.tree.parents[metric]; parent != kNone)
      CHECK(result.total(metric) <= result.total(parent));
  double before = 1e300;
  for (const Finding& finding : findings_of(result, 0)) {
    CHECK(finding.seconds > 0);
    CHECK(finding.seconds <= before);
    before = finding.seconds;
  }
}

}  // namespace

TEST_CASE("Waits: invariants - all time is charged once, a child is at most its parent") {
  double late_senders = 0, barriers = 0, threads_waited = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 1 + seed % 4, threads = 1 + seed % 3;
    RandomProgram program(seed, ranks, threads, in_order(ranks));
    const WaitAnalysis result = program.run(40).analyze();
    check(result);
    CHECK(result.problems.lines(1e6).empty());
    late_senders += total(result, "mpi_latesender");
    barriers += total(result, "mpi_barrier_wait");
    threads_waited += total(result, "omp_ibarrier_wait");
  }
  CHECK(late_senders > 0);
  CHECK(barriers > 0);
  CHECK(threads_waited > 0);
}

TEST_CASE("Waits: invariants - also where events are missing, in each order of times") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 1 + seed % 4, threads = 1 + seed % 3;
    RandomProgram program(seed, ranks, threads, in_order(ranks));
    SyntheticTrace& trace = program.run_damaged(40, seed);
    check(trace.analyze());
  }
}

TEST_CASE("Waits: invariants - ranks that change places change their severities") {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const std::uint32_t ranks = 2 + seed % 3;
    std::vector<std::uint32_t> as = in_order(ranks);
    std::ranges::rotate(as, as.begin() + 1);
    RandomProgram one(seed, ranks, 1, in_order(ranks)), other(seed, ranks, 1, as);
    const WaitAnalysis a = one.run(40).analyze(), b = other.run(40).analyze();
    for (const MetricInfo& metric : a.tree.metrics) {
      // A scan waits for the ranks below, so who is below matters.
      if (metric.name == "mpi_earlyscan" || metric.name == "mpi_collective") continue;
      // So does who of two is on the critical path, and costs.
      if (!a.tree.is_time(a.tree.of(metric.name))) break;
      CAPTURE(metric.name);
      for (std::uint32_t i = 0; i < ranks; ++i)
        CHECK(of_location(a, metric.name, i) == of_location(b, metric.name, as[i]));
    }
  }
}

}  // namespace refrain::waits::invariants_test
