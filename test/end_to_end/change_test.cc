// A program that changes its behaviour: every change is in the trace, whole, with the
// iteration before it.
#include <catch2/catch.hpp>
#include <map>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::change_test {
namespace {

constexpr long kLengths[] = {40, 60, 50, 30};  // A, B, C, A again: test/programs/phases.c
constexpr std::size_t kBodies[] = {3, 2, 4, 3};

Job phases(const std::string& compiler, int limit) {
  Job job{"phases_" + compiler, {"40", "60", "50", "30"}, 2, find_loops_of(8, limit)};
  job.settings["SYMBOLS"] = "parallel";
  return job;
}

// Parallel regions that the primary thread opened in [begin, end), in their order.
std::vector<std::string> regions_opened(const Trace& trace, std::uint64_t begin,
                                        std::uint64_t end) {
  std::vector<std::string> names;
  const Location& primary = trace.locations.at(0);
  bool forked = false;
  for (const Event& event : between(primary, begin, end)) {
    if (event.type == EventType::kThreadFork) forked = true;
    if (event.type != EventType::kEnter || !forked) continue;
    const std::string& name = trace.regions.at(event.reference).name;
    if (name.rfind("!$omp parallel", 0) != 0) continue;
    names.push_back(name);
    forked = false;
  }
  return names;
}

// The loops' visits, in the order of their start.
std::vector<std::vector<Iteration>> visits_by_time(const Trace& trace) {
  std::vector<std::vector<Iteration>> all;
  for (const std::uint32_t region : phase_regions(trace))
    for (auto& visit : visits(iterations(trace, region))) all.push_back(visit);
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a[0].begin < b[0].begin; });
  return all;
}

}  // namespace

TEST_CASE("Change: three times - each loop with its own number of iterations") {
  for (const std::string compiler : {"clang", "gcc"}) DYNAMIC_SECTION(compiler) {
      TemporaryFolder folder;
      const Traced traced = recorded(phases(compiler, 10), folder / "archive");
      const auto all = visits_by_time(traced.trace);
      REQUIRE(all.size() == 4);
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(all[i].size() == static_cast<std::size_t>(kLengths[i]));
        CHECK(all[i].front().number == 0);
      }
      CHECK(all[0][0].region == all[3][0].region);  // A came back and was recognised
      CHECK(all[0][0].region != all[1][0].region);
      CHECK(all[1][0].region != all[2][0].region);
    }
}

TEST_CASE("Change: three times - kept, with the iteration before each") {
  TemporaryFolder folder;
  const Traced traced = recorded(phases("clang", 10), folder / "archive");
  const auto all = visits_by_time(traced.trace);
  REQUIRE(all.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK_FALSE(all[i][all[i].size() / 2].written);
    if (i + 1 == 4) continue;  // the end of the program is no change
    const Iteration& last = all[i].back();
    INFO("visit " << i);
    CHECK(last.written);
    CHECK(regions_opened(traced.trace, last.begin, last.end).size() == kBodies[i]);
    // The first iterations of a new loop follow directly, and in full; of a known one (the
    // loop of the first visit) one.
    const Iteration& next = all[i + 1].front();
    CHECK(next.begin >= last.end);
    for (int k = 0; k < (i + 1 == 3 ? 1 : 10); ++k) {
      const Iteration& it = all[i + 1][static_cast<std::size_t>(k)];
      CHECK(it.written);
      CHECK(regions_opened(traced.trace, it.begin, it.end).size() == kBodies[i + 1]);
    }
  }
  CHECK(gaps(traced.trace.locations.at(0)).size() == 4);
}

TEST_CASE("Change: three times - markers say where") {
  TemporaryFolder folder;
  const Traced traced = recorded(phases("clang", 10), folder / "archive");
  std::map<std::string, int> categories;
  for (const Marker& marker : traced.trace.markers) ++categories[marker.category];
  CHECK(categories["loop detected"] >= 3);
  CHECK(categories["writing suspended"] == 4);
  CHECK(categories["writing resumed"] >= 3);
}

TEST_CASE("Change: an output every 25 steps - each is kept, with the step before it") {
  TemporaryFolder folder;
  Job job{"irregular_clang", {}, 2, find_loops_of(8, 3)};
  job.settings["SYMBOLS"] = "parallel";
  const Traced traced = recorded(job, folder / "archive");
  const auto all = visits(iterations(traced.trace));
  const long outputs = output_number(traced.result.output, "outputs");
  REQUIRE(static_cast<long>(all.size()) == outputs + 1);
  for (std::size_t v = 0; v + 1 < all.size(); ++v) {
    INFO("visit " << v);
    CHECK(all[v].back().number == 24);
    CHECK(all[v].back().written);
    const auto between_visits =
        regions_opened(traced.trace, all[v].back().end, all[v + 1].front().begin);
    CHECK(between_visits.size() == 1);
  }
}

TEST_CASE(
    "Change: a ring too small for an iteration - keeps its latest part, and reports it") {
  TemporaryFolder folder;
  Job job{"cg_clang", {"60", "64", "60"}, 2, find_loops_of(320, 2)};
  job.settings["SYMBOLS"] = "parallel";
  job.settings["RING"] = std::string("24K");
  const Traced traced = recorded(job, folder / "archive");
  CHECK(property_number(traced.trace, "LOST::RING_OVERFLOW") > 0);
  const std::vector<Iteration> all = iterations(traced.trace);
  REQUIRE(all.size() >= 60);
  const Iteration& last = all[59];
  CHECK(last.said_written == 2);
  CHECK_FALSE(regions_opened(traced.trace, last.begin, last.end).empty());
}

// Whoever lost most, all threads are cut where it begins: no thread has a region that others lack.
TEST_CASE("Change: a ring too small for breaks - all threads keep the same") {
  for (int run = 0; run != 3; ++run) {
    TemporaryFolder folder;
    Job job{"cg_clang", {"75"}, 3, {{"LIMIT", "3"}}};
    job.settings["MIN_GAP"] = std::string("0");
    job.settings["RING"] = std::string("32K");
    const Traced traced = trace(job, folder / "archive");
    std::vector<std::map<std::string, int>> opened;
    for (const Location& location : traced.trace.locations) {
      std::map<std::string, int>& regions = opened.emplace_back();
      for (const Event& event : location.events) {
        if (event.type != EventType::kEnter) continue;
        const std::string& name = traced.trace.regions.at(event.reference).name;
        if (name.rfind("!$omp parallel", 0) == 0) ++regions[name];
      }
    }
    REQUIRE(opened.size() == 3);
    CHECK(opened[0].size() == 7);
    CHECK(opened[0].count("!$omp parallel") == 0);
    CHECK(opened[1] == opened[0]);
    CHECK(opened[2] == opened[0]);
  }
}

}  // namespace refrain::test::change_test
