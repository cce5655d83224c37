// Exact numbers of iterations, exactly N of them in full, and marks that tile the loop.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::iterations_test {
namespace {

struct Case {
  std::string program;
  std::vector<std::string> arguments;
  std::string symbols;
  int window;           // of the detector: selects the level of the loop nest
  std::string counted;  // number in the program's own output that the marks must equal
};

// Loops of each program, by window: see the comments on top of the programs.
const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"cg", {}, "parallel", 8, "iterations"},
      {"cg", {}, "auto", 16, "iterations"},
      {"cg", {}, "parallel", 150, "outer"},
      {"jacobi", {}, "auto", 16, "iterations"},
      {"irregular", {}, "parallel", 8, "iterations"},
      {"irregular", {"6000", "0"}, "auto", 64, "iterations"},
  };
  return kCases;
}

Job job_of(const Case& c, const std::string& compiler, int threads, int limit) {
  Job job{c.program + "_" + compiler, c.arguments, threads, find_loops_of(c.window, limit)};
  job.settings["SYMBOLS"] = c.symbols;
  return job;
}

std::vector<Iteration> complete(std::vector<Iteration> all) {
  std::erase_if(all, [](const Iteration& it) { return !it.complete(); });
  return all;
}

// The first event of the program inside an iteration is at the start of its mark.
void check_begin(const Trace& trace, const Iteration& it) {
  const std::vector<Event>& events = trace.locations[it.location].events;
  std::size_t i = it.first + 1;
  while (i < it.last &&
         (events[i].type == EventType::kParameterInt ||
          events[i].type == EventType::kMeasurementOn ||
          events[i].type == EventType::kMeasurementOff || (is_phase(trace, events[i]))))
    ++i;
  REQUIRE(i < it.last);
  // No two enters have the same time: where they would, each inner iteration is a tick later.
  CHECK(events[i].time >= it.begin);
  CHECK(events[i].time <= it.begin + 8);
}

// Number of the program's events in an iteration, on its own location.
std::size_t events_inside(const Trace& trace, const Iteration& it) {
  std::size_t count = 0;
  const std::vector<Event>& events = trace.locations[it.location].events;
  for (std::size_t i = it.first; i < it.last; ++i) {
    const EventType type = events[i].type;
    count += type == EventType::kEnter && !is_phase(trace, events[i]);
  }
  return count;
}

void check_sums(const std::vector<Iteration>& visit) {
  std::uint64_t sum = 0;
  for (const Iteration& it : visit) sum += it.end - it.begin;
  // An iteration begins a tick after the one before has ended, or two.
  const std::uint64_t all = visit.back().end - visit.front().begin;
  CHECK(sum <= all);
  CHECK(sum + 3 * visit.size() >= all);
}

}  // namespace

TEST_CASE("Iterations: number - as the program counts them") {
  SomeCases few;
  for (const Case& c : cases())
    for (const std::string compiler : {"clang", "gcc"})
      for (const int threads : {2, 4})
        if (few.runs_next())
          DYNAMIC_SECTION(c.program << " " << c.symbols << " " << c.window << " "
                                    << compiler << " " << threads) {
            TemporaryFolder folder;
            const Traced traced =
                recorded(job_of(c, compiler, threads, 10), folder / "archive");
            const long expected = output_number(traced.result.output, c.counted);
            REQUIRE(expected > 0);
            const std::vector<Iteration> all = complete(iterations(traced.trace));
            CHECK(static_cast<long>(all.size()) == expected);
            CHECK(phase_regions(traced.trace).size() == 1);
            for (const auto& visit : visits(all)) check_sums(visit);
          }
}

TEST_CASE("Iterations: in full - exactly N, and the last before the loop is left") {
  const Case c = cases()[0];
  const std::string nested = GENERATE("first", "each");
  for (const int limit : {1, 2, 10}) {
    DYNAMIC_SECTION("limit " << limit << ", " << nested) {
      TemporaryFolder folder;
      Job job = job_of(c, "clang", 2, limit);
      job.settings["NESTED"] = nested;
      const Traced traced = recorded(job, folder / "archive");
      const auto all = visits(complete(iterations(traced.trace)));
      REQUIRE(all.size() == 30);
      for (std::size_t v = 0; v < all.size(); ++v) {
        std::set<std::int64_t> expected = {all[v].back().number};
        // N in the run, then the first of a visit, in N visits; or N in each of these.
        const int first = v == 0 || nested == "each" ? limit : 1;
        if (v < static_cast<std::size_t>(limit))
          for (int k = 0; k < first; ++k) expected.insert(k);
        std::set<std::int64_t> written, said;
        for (const Iteration& it : all[v]) {
          if (it.written) written.insert(it.number);
          if (it.said_written == 1) said.insert(it.number);
        }
        INFO("visit " << v);
        CHECK(written == expected);
        CHECK(said == expected);
      }
    }
  }
}

TEST_CASE("Iterations: in full - detected late, trimmed back to N") {
  TemporaryFolder folder;
  Case c = cases()[3];
  c.window = 100;  // locks after more than 20 iterations
  const Traced traced = recorded(job_of(c, "clang", 2, 3), folder / "archive");
  const std::vector<Iteration> all = iterations(traced.trace);
  REQUIRE(all.size() >= 400);
  for (const Iteration& it : all) {
    INFO("iteration " << it.number);
    if (it.number < 399) CHECK(it.written == (it.number < 3));
  }
}

TEST_CASE("Iterations: in full - whole on every location") {
  TemporaryFolder folder;
  const Traced traced = recorded(job_of(cases()[3], "clang", 4, 5), folder / "archive");
  const Trace& t = traced.trace;
  const std::vector<Iteration> all = iterations(t);
  REQUIRE(all.size() >= 400);
  const auto barriers = [&t](std::span<const Event> events) {
    return std::count_if(events.begin(), events.end(), [&t](const Event& event) {
      return event.type == EventType::kEnter &&
             t.regions.at(event.reference).name.rfind("!$omp barrier @", 0) == 0;
    });
  };
  const Location& primary = t.locations.at(all[0].location);
  for (const Iteration& it : all)
    if (it.number >= 1 && it.number <= 3)  // others are at the edges
      CHECK(barriers(between(primary, it.begin, it.end)) == 1);
  // A thread may be ahead of the primary by at most one barrier, so others are compared up to
  // their cut, all at the same barrier.
  const auto written = [&](const Location& location) {
    const auto off = std::find_if(
        location.events.begin(), location.events.end(),
        [](const Event& event) { return event.type == EventType::kMeasurementOff; });
    REQUIRE(off != location.events.end());
    return barriers({location.events.begin(), off});
  };
  REQUIRE(t.locations.size() == 4);
  CHECK(written(primary) >= 5);
  for (const Location& location : t.locations) CHECK(written(location) == written(primary));
}

TEST_CASE("Iterations: marks - coincide with the events of the iteration") {
  for (const std::string limit : {"0", "10"}) {
    TemporaryFolder folder;
    const Case& c = cases()[0];
    const Traced traced =
        recorded(job_of(c, "clang", 2, std::stoi(limit)), folder / "archive");
    std::set<std::size_t> sizes;
    std::size_t written = 0;
    for (const Iteration& it : complete(iterations(traced.trace))) {
      if (!it.written) continue;
      ++written;
      check_begin(traced.trace, it);
      sizes.insert(events_inside(traced.trace, it));
    }
    CHECK(sizes.size() == 1);
    if (limit == "0") CHECK(written == 750);
  }
}

TEST_CASE("Iterations: marks - the table of `info` agrees") {
  TemporaryFolder folder;
  const Traced traced = recorded(job_of(cases()[0], "clang", 2, 10), folder / "archive");
  const std::vector<Iteration> all = complete(iterations(traced.trace));
  std::uint64_t ticks = 0;
  long written = 0;
  for (const Iteration& it : all) {
    ticks += it.end - it.begin;
    written += it.written;
  }
  const Result info = run_refrain({"info", "--json", folder / "archive"});
  REQUIRE(info.ok());
  CHECK(info.errors == "");
  const auto json = nlohmann::json::parse(info.output);
  REQUIRE(json.at("phases").size() == 1);
  const auto& phase = json.at("phases").at(0);
  CHECK(phase.at("iterations") == 750);
  CHECK(phase.at("visits") == 30);
  CHECK(phase.at("period_events") == 5);
  CHECK(phase.at("written") == written);
  CHECK(phase.at("total_ns").get<double>() ==
        Approx(traced.trace.ns(ticks)).margin(traced.trace.ns(1)).epsilon(1e-9));
  CHECK(phase.at("mean_ns").get<double>() * 750 ==
        Approx(phase.at("total_ns").get<double>()));
  const Result text = run_refrain({"info", folder / "archive"});
  CHECK(text.ok());
  CHECK(text.output.find("750") != std::string::npos);
}

}  // namespace refrain::test::iterations_test
