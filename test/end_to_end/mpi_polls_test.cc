// Waits by polling: a million unsuccessful polls of a rank become a few regions with their number.
// The message and the duration of the wait are exact.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "summary/run_summary.h"
#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/trace_checks.h"

namespace refrain::test::mpi_polls_test {
namespace {

constexpr long kIterations = 3;
constexpr long kLimit = 3;
constexpr double kBetween_ns = 5000;  // mpi::kMostBetween

MpiJob waits(const std::string& how, long limit) {
  return {.program = "waits_gcc",
          .arguments = {how, std::to_string(kIterations)},
          .settings = {{"LIMIT", std::to_string(limit)}, {"MIN_GAP", "0"}}};
}

// Of all regions, by name.
std::map<std::string, std::uint64_t> summary_visits(const std::filesystem::path& archive) {
  std::map<std::string, std::uint64_t> visits;
  for (const summary::RunSummary& summary : *summary::read_summaries(archive))
    for (const summary::RunSummary::Location& location : summary.locations)
      for (std::size_t i = 0; i < location.sums.size(); ++i)
        if (summary.nodes[i].kind == summary::RunSummary::Kind::kRegion)
          visits[summary.regions.at(summary.nodes[i].region).name] +=
              location.sums[i].visits;
  return visits;
}

bool is_poll(const std::string& region) {
  return region == "MPI polls" || region == "MPI_Iprobe" || region.starts_with("MPI_Test");
}

// One region of polls, of rank 1.
struct Polls {
  std::string region;
  std::uint64_t number = 1;
  std::uint64_t duration = 0;  // ticks
  bool counted = false;        // with the number of polls
  bool found = false;          // the message
  bool interrupted = false;    // it begins later after the one before than polls in a row
};

std::vector<Polls> polls_of_waiting_rank(const Trace& trace) {
  const MpiProcesses processes(trace);
  std::vector<Polls> result;
  for (const Location& location : trace.locations) {
    if (location.group != processes.location_group(1)) continue;
    std::uint64_t entered = 0, left = 0;
    for (const Event& event : location.events) {
      const bool parameter = event.type == EventType::kParameterUnsigned &&
                             trace.parameters.at(event.reference).name == "polls";
      if (parameter) {
        REQUIRE(entered != 0);
        result.back().number = static_cast<std::uint64_t>(event.value);
        result.back().counted = true;
      }
      if (event.type == EventType::kMpiIrecv) {
        REQUIRE(entered != 0);
        result.back().found = true;
      }
      const bool enter = event.type == EventType::kEnter;
      if (!enter && event.type != EventType::kLeave) continue;
      const std::string& name = trace.regions.at(event.reference).name;
      if (!is_poll(name)) continue;
      if (enter) {
        result.push_back({name});
        result.back().interrupted = left != 0 && trace.ns(event.time - left) >= kBetween_ns;
        entered = event.time;
      } else {
        result.back().duration = event.time - std::exchange(entered, 0);
        left = event.time;
      }
    }
  }
  return result;
}

std::uint64_t polls_by_the_program(const Traced& traced) {
  std::istringstream line(traced.result.output);
  long iterations = 0;
  std::uint64_t polls = 0;
  line >> iterations >> polls;
  CHECK(iterations == kIterations);
  return polls;
}

std::uint64_t sum_of(const std::vector<Polls>& polls) {
  std::uint64_t sum = 0;
  for (const Polls& each : polls) sum += each.number;
  return sum;
}

}  // namespace

TEST_CASE("MPI polls: with a limit - a few regions, and every poll is counted") {
  const std::string how = GENERATE("test", "iprobe", "testall", "turns", "clock", "lock");
  INFO(how);
  const TemporaryFolder folder;
  const Traced traced = trace_mpi(waits(how, kLimit), MpiWay::kInside, folder / "archive");
  CHECK(traced.result.errors == "");
  CHECK(replay(traced.trace).pairs() >= kIterations);
  CHECK(replay(traced.trace).unmatched() == 0);
  const std::vector<Polls> polls = polls_of_waiting_rank(traced.trace);
  CHECK(sum_of(polls) == polls_by_the_program(traced));
  CHECK(property_number(traced.trace, "POLLS_TOGETHER") ==
        static_cast<long>(sum_of(polls) - polls.size()));
  // A new row begins where the processor is taken away between two polls, often on a busy machine: with polls one by one, and one
  // region of the others and one of what is found.
  const auto rows = static_cast<std::size_t>(std::count_if(
      polls.begin(), polls.end(), [](const Polls& p) { return p.interrupted; }));
  CHECK(polls.size() * 100 < sum_of(polls) + 100 * std::size_t{kLimit + 2} * rows);
  REQUIRE(polls.size() > kLimit);
  for (long i = 0; i < kLimit; ++i) CHECK_FALSE(polls[static_cast<std::size_t>(i)].counted);
  long found = 0;
  for (const Polls& each : polls) {
    found += each.found;
    CHECK_FALSE((each.found && each.counted));
    if (!each.counted) continue;
    CHECK((each.region == "MPI polls") == (how == "turns"));
    // From the first poll's begin to the last one's end: none takes less than 5 ns.
    CHECK(traced.trace.ns(each.duration) > 5 * static_cast<double>(each.number));
  }
  CHECK(found == (how == "iprobe" ? 0 : kIterations));
  // What lies between is counted.
  const std::uint64_t calls = polls_by_the_program(traced);
  if (how == "clock") CHECK(calls_in_summary(folder / "archive", 1)["MPI_Wtime"] == calls);
  if (how == "lock") {
    std::uint64_t locks = 0;
    for (const auto& [name, count] : summary_visits(folder / "archive"))
      if (name.find("lock") != std::string::npos) locks = std::max(locks, count);
    CHECK(locks == calls);
  }
}

TEST_CASE("MPI polls: without a limit, or far from each other - each is a region") {
  const bool apart = GENERATE(false, true);
  INFO((apart ? "work between them" : "no limit"));
  const TemporaryFolder folder;
  const MpiJob job = apart ? waits("apart", kLimit) : waits("turns", 0);
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.errors == "");
  const std::vector<Polls> polls = polls_of_waiting_rank(traced.trace);
  CHECK(polls.size() == polls_by_the_program(traced));
  for (const Polls& each : polls) REQUIRE_FALSE(each.counted);
}

TEST_CASE("MPI polls: without a loop - refrain info prints what is not written") {
  const TemporaryFolder folder;
  MpiJob job = waits("test", kLimit);
  job.arguments[1] = "1";
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  const std::string printed = run_refrain({"info", folder / "archive"}).output;
  CHECK(printed.find(
            "no loop detected, so everything is written, except coalesced polls\n") !=
        std::string::npos);
  CHECK(printed.find("\nPolls        " +
                     std::to_string(property_number(traced.trace, "POLLS_TOGETHER")) +
                     " coalesced") != std::string::npos);
}

// The ring has room for some thousand records; an iteration has ten times as many polls.
TEST_CASE("MPI polls: in skipped iterations - those before the break are whole") {
  constexpr std::size_t kIterations = 12;
  const TemporaryFolder folder;
  MpiJob job = waits("test", kLimit);
  job.arguments[1] = std::to_string(kIterations);
  job.settings["RING"] = "100k";
  const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.errors == "");
  CHECK(property_number(traced.trace, "LOST") == 0);
  const MpiProcesses processes(traced.trace);
  std::vector<Iteration> marks;
  for (const Iteration& each : iterations(traced.trace))
    if (traced.trace.locations[each.location].group == processes.location_group(1))
      marks.push_back(each);
  REQUIRE(marks.size() == kIterations);
  const auto skipped = std::count_if(marks.begin(), marks.end(),
                                     [](const Iteration& each) { return !each.written; });
  CHECK(skipped > 3);
  CHECK(marks.back().written);
  CHECK(marks.back().said_written == 1);
}

}  // namespace refrain::test::mpi_polls_test
