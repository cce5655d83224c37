// Counters: exact values, by PAPI's software-defined events, which need no hardware. The program
// (test/programs/user/counters.c) defines the increment of each in an iteration.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"

namespace refrain::test::counters_traced_test {
namespace {

constexpr std::uint64_t kAll = 100;
constexpr const char* kNames = "sde:::demo::mine,sde:::demo::all";

std::map<std::string, std::string> settings(int limit) {
  return {{"LIMIT", std::to_string(limit)},
          {"MIN_GAP", "0"},
          {"SLOW_FACTOR", "0"},
          {"COUNTERS", kNames}};
}
Job job_of(const std::string& program, int limit, int threads) {
  return {"test/programs/user/" + program, {"60"}, threads, settings(limit)};
}

// Every record of values is directly before an enter or leave, at its time.
void check_places(const Trace& trace) {
  for (const Location& location : trace.locations)
    for (std::size_t i = 0; i < location.events.size(); ++i) {
      const Event& event = location.events[i];
      if (event.type != EventType::kMetric) continue;
      REQUIRE(i + 1 < location.events.size());
      const Event& next = location.events[i + 1];
      REQUIRE((next.type == EventType::kEnter || next.type == EventType::kLeave));
      REQUIRE(next.time == event.time);
      REQUIRE(event.values.size() == trace.metrics.at(event.reference).size());
    }
}

// Values before the event at `index`; none if there are none.
std::vector<std::uint64_t> values_before(const Location& location, std::size_t index) {
  if (index == 0 || location.events[index - 1].type != EventType::kMetric) return {};
  return location.events[index - 1].values;
}

// Values at start and end of each parallel region on a location.
struct Sample {
  std::uint64_t time;
  bool begin;
  bool measured;  // not while measurement was off
  std::vector<std::uint64_t> values;
};
std::vector<Sample> samples(const Trace& trace, const Location& location) {
  std::vector<Sample> out;
  bool on = true;
  for (std::size_t i = 0; i < location.events.size(); ++i) {
    const Event& event = location.events[i];
    if (event.type == EventType::kMeasurementOn) on = true;
    if (event.type == EventType::kMeasurementOff) on = false;
    const bool begin = event.type == EventType::kEnter;
    if (!begin && event.type != EventType::kLeave) continue;
    if (trace.regions.at(event.reference).name.find("!$omp parallel") != 0) continue;
    out.push_back({event.time, begin, on, values_before(location, i)});
  }
  return out;
}

// The longest loop's marks.
std::vector<Iteration> longest(const Trace& trace, std::uint32_t group) {
  std::vector<Iteration> best;
  for (const std::uint32_t region : phase_regions(trace)) {
    std::vector<Iteration> all = iterations(trace, region);
    std::erase_if(all, [&](const Iteration& it) {
      return trace.locations[it.location].group != group;
    });
    if (all.size() > best.size()) best = all;
  }
  return best;
}

// All written regions have the values of their iteration, on every thread; skipped iterations in
// between make no difference. Returns the number of checked regions.
int check_threads(const Trace& trace, const std::vector<Iteration>& marks,
                  std::uint32_t group) {
  int seen = 0;
  std::uint64_t thread = 0;
  for (const Location& location : trace.locations) {
    if (location.group != group) continue;
    const std::uint64_t each = 3 + 2 * thread++;
    std::uint64_t region = 0;
    const std::vector<Sample> all = samples(trace, location);
    for (const Sample& sample : all) {
      // Ends in skipped iterations have no values. Nor has the last one, if recording ended
      // (in MPI_Finalize) before the thread got its event.
      if (!sample.begin && !sample.measured && sample.values.empty()) continue;
      if (!sample.begin && &sample == &all.back() && sample.values.empty()) continue;
      REQUIRE(sample.values.size() == 2);
      if (sample.begin) {
        const auto after =
            std::find_if(marks.begin(), marks.end(),
                         [&](const Iteration& it) { return it.begin > sample.time; });
        REQUIRE(after != marks.begin());
        region = static_cast<std::uint64_t>((after - 1)->number);
      }
      CHECK(sample.values[0] == each * (region + (sample.begin ? 0 : 1)));
      ++seen;
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("Counters: OpenMP - exact on every thread, in every iteration, across gaps") {
  for (const char* program : {"counters_clang_openmp", "counters_gcc_openmp"})
    for (const int limit : {0, 4}) {
      INFO(program << ", limit " << limit);
      TemporaryFolder folder;
      const Traced traced = recorded(job_of(program, limit, 2), folder / "archive");
      const Trace& trace = traced.trace;
      CHECK(traced.result.errors == "");
      REQUIRE(trace.metrics.size() == 1);
      CHECK(trace.metrics.at(0) ==
            std::vector<std::string>{"sde:::demo::mine", "sde:::demo::all"});
      check_places(trace);
      const auto marks = longest(trace, 0);
      REQUIRE(marks.size() == 60);
      const int seen = check_threads(trace, marks, 0);
      // Those of the limit, and the last.
      CHECK(seen == 2 * 2 * (limit == 0 ? 60 : limit + 1));
      // Skipped iterations have theirs as well.
      for (const Iteration& it : marks) {
        const auto values = values_before(trace.locations[it.location], it.first);
        REQUIRE(values.size() == 2);
        CHECK(values[0] == 3 * static_cast<std::uint64_t>(it.number));
        CHECK(values[1] == kAll * static_cast<std::uint64_t>(it.number));
      }
      // Totals: of all iterations but the last, whose end has no values.
      const Result info = run_refrain({"info", "--json", folder / "archive"});
      const auto json = nlohmann::json::parse(info.output);
      bool found = false;
      for (const auto& phase : json["phases"]) {
        if (phase["iterations"].get<std::size_t>() < 59) continue;
        found = true;
        for (const auto& counter : phase["counters"]) {
          const double each = counter["name"] == "sde:::demo::mine" ? 3 : kAll;
          CHECK(counter["per_iteration"].get<double>() == each);
          CHECK(counter["iterations"].get<int>() >= 59);
          CHECK(counter["per_second"].get<double>() > 0);
        }
      }
      CHECK(found);
    }
}

TEST_CASE("Counters: phases - values at their begin and end, without OpenMP") {
  TemporaryFolder folder;
  const Traced traced = recorded(job_of("counters_gcc", 4, 1), folder / "archive");
  check_places(traced.trace);
  const auto marks = longest(traced.trace, 0);
  REQUIRE(marks.size() == 60);
  for (const Iteration& it : marks) {
    const Location& location = traced.trace.locations[it.location];
    const auto number = static_cast<std::uint64_t>(it.number);
    CHECK(values_before(location, it.first) ==
          std::vector<std::uint64_t>{3 * number, kAll * number});
    CHECK(values_before(location, it.last) ==
          std::vector<std::uint64_t>{3 * (number + 1), kAll * number});
  }
}

TEST_CASE("Counters: MPI and hybrid - exact in every rank") {
  for (const char* program : {"counters_gcc_mpi", "counters_clang_hybrid"}) {
    const bool hybrid = std::string(program).find("hybrid") != std::string::npos;
    TemporaryFolder folder;
    MpiJob job{"test/programs/user/" + std::string(program), {"60"}, 2, 2, settings(4)};
    const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
    const Trace& trace = traced.trace;
    INFO(program);
    check_places(trace);
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto marks = longest(trace, rank);
      REQUIRE(marks.size() >= 59);
      std::vector<std::uint64_t> before;
      for (const Iteration& it : marks) {
        const auto values = values_before(trace.locations[it.location], it.first);
        REQUIRE(values.size() == 2);
        if (!before.empty()) {
          CHECK(values[0] == before[0] + 3);
          CHECK(values[1] == before[1] + kAll);
        }
        before = values;
      }
      if (hybrid) CHECK(check_threads(trace, marks, rank) >= 2 * 2 * 4 - 1);
    }
  }
}

TEST_CASE("User: MPI - all ranks write the same phases, with all messages") {
  for (const char* program : {"stages_gcc", "stages_clang"})
    for (const int limit : {0, 5}) {
      INFO(program << ", limit " << limit);
      TemporaryFolder folder;
      MpiJob job{
          "test/programs/user/" + std::string(program), {"40"}, 3, 1, settings(limit)};
      job.settings.erase("COUNTERS");
      const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
      const Trace& trace = traced.trace;
      std::vector<std::vector<std::int64_t>> written;
      for (std::uint32_t rank = 0; rank < 3; ++rank) {
        const auto marks = longest(trace, rank);
        REQUIRE(marks.size() == 40);
        auto& numbers = written.emplace_back();
        for (const Iteration& it : marks)
          if (it.said_written == 1) numbers.push_back(it.number);
      }
      CHECK(written[1] == written[0]);
      CHECK(written[2] == written[0]);
      // Also the last one: MPI_Finalize is a new event.
      CHECK(written[0].size() == (limit == 0 ? 40u : 6u));
      CHECK(written[0].back() == 39);
      auto names = count_by_name(trace);
      CHECK(names["exchange"] == 3 * written[0].size());
      CHECK(names["before MPI"] == 3);
      CHECK(names["report"] == written[0].size());
      CHECK(count_by_type(trace)[EventType::kMpiSend] == 3 * written[0].size());
      CHECK(property_number(trace, "SENDS_DROPPED") == 0);
    }
}

TEST_CASE("Counters: everywhere - at each enter and leave") {
  TemporaryFolder folder;
  Job job = job_of("counters_gcc_openmp", 0, 2);
  job.settings["COUNTERS_AT"] = "all";
  const Traced traced = recorded(job, folder / "archive");
  check_places(traced.trace);
  const auto counts = count_by_type(traced.trace);
  std::uint64_t without = 0;
  for (const Location& location : traced.trace.locations)
    for (std::size_t i = 0; i < location.events.size(); ++i) {
      const Event& event = location.events[i];
      if (event.type != EventType::kEnter && event.type != EventType::kLeave) continue;
      without += values_before(location, i).empty() && !is_phase(traced.trace, event);
    }
  CHECK(counts.at(EventType::kMetric) > 4 * 60 * 2);
  // A wait begins (ends) in the same instant as its barrier; they share one reading.
  CHECK(without <= counts.at(EventType::kEnter));
}

TEST_CASE("Counters: unavailable ones - reported in one line, the others recorded") {
  TemporaryFolder folder;
  Job job = job_of("counters_gcc_openmp", 4, 2);
  job.settings["COUNTERS"] =
      "no_such_counter, page_faults,minor_faults,major_faults,sde:::demo::mine,"
      "context_switches,voluntary_switches,involuntary_switches,user_time";
  const Traced traced = recorded(job, folder / "archive");
  CHECK(traced.result.errors.find("refrain: counters: page_faults, minor_faults, ") == 0);
  CHECK(traced.result.errors.find("; available from the system: page_faults, ") !=
        std::string::npos);
  CHECK(traced.result.errors.find("no_such_counter (") != std::string::npos);
  CHECK(std::count(traced.result.errors.begin(), traced.result.errors.end(), '\n') == 1);
  check_places(traced.trace);
  REQUIRE(traced.trace.metrics.at(0).size() == 8);
  for (const Location& location : traced.trace.locations) {
    std::vector<std::uint64_t> before(8, 0);
    for (const Event& event : location.events) {
      if (event.type != EventType::kMetric) continue;
      for (std::size_t i = 0; i < 8; ++i) CHECK(event.values[i] >= before[i]);
      CHECK(event.values[0] == event.values[1] + event.values[2]);
      CHECK(event.values[4] == event.values[5] + event.values[6]);
      before = event.values;
    }
    CHECK(before[0] > 0);
  }
  // Without any counter tracing goes on.
  job.settings["COUNTERS"] = "no_such_counter";
  const Traced none = recorded(job, folder / "none");
  CHECK(none.trace.metrics.empty());
  CHECK(count_by_type(none.trace).count(EventType::kMetric) == 0);
}

}  // namespace refrain::test::counters_traced_test
