// The MPI test programs, traced: the same results; archives in which every message is the right
// one and has both ends; the same iterations on every rank.
//
// In its short form (test_length.h) one of five programs, with 4 ranks, in one of the two ways to start them;
// in its long form all of them, with 2 and 4 in both ways; whole, as each compiler makes it, with 1, 2, 3, 4
// and 8.
#include <algorithm>
#include <catch2/catch.hpp>

#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/test_length.h"
#include "test/support/trace_checks.h"

namespace refrain::test::mpi_traced_test {
namespace {

bool in_full() { return test_length() == TestLength::kWhole; }
bool in_short() { return test_length() == TestLength::kShort; }

std::vector<int> rank_counts() {
  return in_full()    ? std::vector{1, 2, 3, 4, 8}
         : in_short() ? std::vector{4}
                      : std::vector{2, 4};
}

std::vector<std::string> names_of(const MpiProgram& program) {
  std::vector<std::string> names = compiled_names(program);
  if (!in_full()) names.resize(1);
  return names;
}

// Of the `number`th program.
std::vector<MpiWay> ways(std::size_t number) {
  const std::vector<MpiWay> both{MpiWay::kInside, MpiWay::kOutside};
  return in_short() ? std::vector{both[number % 2]} : both;
}

// Settings that skip iterations of every loop, from the third on.
std::map<std::string, std::string> reduced() { return {{"LIMIT", "3"}, {"MIN_GAP", "0"}}; }

// Without iterations that only some ranks write, because a busy machine made them slow.
std::map<std::string, std::string> reduced_evenly() {
  std::map<std::string, std::string> settings = reduced();
  settings["SLOW_FACTOR"] = "0";
  return settings;
}

// Returns true if all ranks have the same iterations.
bool alike(const MpiProgram& program, int ranks) {
  // In its row of three the rank in the middle has an inner loop that the others do not have.
  if (std::string(program.name) == "sweep" && ranks == 3) return false;
  return ranks <= program.alike;
}

// The number of these calls is nondeterministic.
bool polls(const std::string& procedure) {
  return procedure.rfind("MPI_Test", 0) == 0 || procedure == "MPI_Iprobe" ||
         procedure == "MPI_Improbe";
}

// Enters of regions of MPI on all locations of a process.
std::map<std::string, std::uint64_t> enters(const Trace& trace, std::uint32_t group) {
  std::map<std::string, std::uint64_t> result;
  for (const Location& location : trace.locations) {
    if (location.group != group) continue;
    for (const Event& event : location.events) {
      if (event.type != EventType::kEnter) continue;
      const std::string& name = trace.regions.at(event.reference).name;
      if (name.rfind("MPI_", 0) == 0 && !polls(name)) ++result[name];
    }
  }
  return result;
}

struct Mark {
  std::int64_t number;
  bool written, complete;
  bool shown;  // written, perhaps without some iterations of its inner loops
  auto operator<=>(const Mark&) const = default;
};

// The outermost iterations of each rank.
std::vector<std::vector<Mark>> outermost(const Trace& trace) {
  const MpiProcesses processes(trace);
  std::map<std::uint32_t, std::size_t> rank_of;
  for (int rank = 0; rank < processes.size(); ++rank)
    rank_of[processes.location_group(rank)] = static_cast<std::size_t>(rank);
  std::vector<std::vector<Mark>> result(rank_of.size());
  for (const Iteration& it : iterations(trace)) {
    const auto rank = rank_of.find(trace.locations[it.location].group);
    if (it.depth == 0 && rank != rank_of.end())
      result[rank->second].push_back(
          {it.number, it.written, it.complete(), it.said_written > 0});
  }
  return result;
}

std::string marks_as_text(const std::vector<Mark>& marks) {
  std::string result;
  for (const Mark& mark : marks)
    result += std::to_string(mark.number) + (mark.written ? "+ " : "- ");
  return result;
}

MpiJob job_of(const MpiProgram& program, const std::string& name, int ranks,
              const std::map<std::string, std::string>& settings) {
  return {name, {}, ranks, program.threads, settings};
}

}  // namespace

TEST_CASE("MPI traced: limit off - every call and every message") {
  SomeCases few;
  for (const MpiProgram& program : mpi_programs())
    for (const std::string& name : names_of(program))
      for (const int ranks : rank_counts())
        if (few.runs_next()) DYNAMIC_SECTION(name << " " << ranks << " ranks") {
            TemporaryFolder folder;
            MpiJob job = job_of(program, name, ranks, {{"LIMIT", "0"}});
            const MpiCounts counts = count_mpi(job);
            job.message_log = folder / "log";
            const MpiWay way = ranks % 3 == 1 ? MpiWay::kOutside : MpiWay::kInside;
            const Traced traced = recorded(job, way, folder / "archive");
            CHECK(traced.result.output == counts.output);
            CHECK(traced.result.errors == "");
            const MessageLog log = read_message_log(job.message_log, ranks);
            CHECK(text(compare_with_log(traced.trace, log, Extent::kFull)) == "");
            const MpiProcesses processes(traced.trace);
            REQUIRE(processes.size() == ranks);
            for (int rank = 0; rank < ranks; ++rank) {
              const auto is_poll = [](const auto& entry) { return polls(entry.first); };
              std::map<std::string, std::uint64_t> expected = counts.recorded(rank);
              std::map<std::string, std::uint64_t> all = counts.calls[rank];
              std::map<std::string, std::uint64_t> counted =
                  calls_in_summary(folder / "archive", rank);
              for (auto* each : {&expected, &all, &counted}) std::erase_if(*each, is_poll);
              // The number of tasks of a worker is nondeterministic.
              if (std::string(program.name) == "workers") continue;
              CHECK(enters(traced.trace, processes.location_group(rank)) == expected);
              CHECK(counted == all);
            }
          }
}

TEST_CASE("MPI traced: reduced - messages with both ends, one cut for all ranks") {
  SomeCases few;
  std::size_t number = 0;
  for (const MpiProgram& program : mpi_programs()) {
    ++number;
    for (const std::string& name : names_of(program))
      for (const int ranks : rank_counts())
        for (const MpiWay way : ways(number))
          if (few.runs_next())
            DYNAMIC_SECTION(name << " " << ranks << " ranks, " << text(way)) {
              TemporaryFolder folder;
              MpiJob job = job_of(program, name, ranks, reduced());
              const Result plain = run_mpi(job);
              job.message_log = folder / "log";
              const Traced traced = recorded(job, way, folder / "archive");
              CHECK(traced.result.output == plain.output);
              CHECK(traced.result.errors == "");
              const MessageLog log = read_message_log(job.message_log, ranks);
              CHECK(text(compare_with_log(traced.trace, log, Extent::kReduced)) == "");
              const Replay replayed = replay(traced.trace);
              CHECK(replayed.unmatched() == 0);
              if (log.sends() > 0 && program.regular) CHECK(replayed.pairs() > 0);
              if (!program.regular || !alike(program, ranks)) continue;
              const auto marks = outermost(traced.trace);
              REQUIRE(marks.size() == static_cast<std::size_t>(ranks));
              const auto taking_part =
                  static_cast<std::size_t>(iterating_ranks(program, ranks));
              for (std::size_t rank = 0; rank < marks.size(); ++rank)
                CHECK(marks_as_text(marks[rank]) ==
                      (rank < taking_part ? marks_as_text(marks.front()) : ""));
            }
  }
}

TEST_CASE("MPI traced: iterations - exactly as many as the program prints") {
  SomeCases few;
  for (const MpiProgram& program : mpi_programs())
    if (program.own_loop_only)
      for (const int ranks : rank_counts())
        if (alike(program, ranks))
          if (few.runs_next()) DYNAMIC_SECTION(program.name << " " << ranks << " ranks") {
              TemporaryFolder folder;
              const MpiJob job =
                  job_of(program, compiled_names(program)[0], ranks, reduced());
              const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
              const auto marks = outermost(traced.trace);
              REQUIRE(marks.size() == static_cast<std::size_t>(ranks));
              for (std::size_t rank = 0; rank < marks.size(); ++rank) {
                const auto& mine = marks[rank];
                const auto complete = std::count_if(
                    mine.begin(), mine.end(), [](const Mark& m) { return m.complete; });
                // The last rank of this program breaks the pattern in one of them.
                const bool breaks =
                    std::string(program.name) == "differ" && rank + 1 == marks.size();
                CHECK(complete == program.iterations - (breaks ? 1 : 0));
                const auto written = std::count_if(mine.begin(), mine.end(),
                                                   [](const Mark& m) { return m.shown; });
                CHECK(written >= 3);
                CHECK(written < program.iterations);
              }
            }
}

// A rank computes for long before iteration k: in its own iteration before that, and the waiting
// ranks in iteration k.
TEST_CASE("MPI traced: slow iterations - those of one rank are written by all") {
  TemporaryFolder folder;
  constexpr int kEvery = 150;
  MpiJob job{.program = "ring_gcc",
             .arguments = {"700", "100", "4", "-1", "0", std::to_string(kEvery), "400"},
             .ranks = 2,
             .threads = 1,
             .settings = reduced()};
  // All that are slow: those that a busy machine makes slow may else take the share of those after them.
  job.settings["SLOW_SHARE"] = "1";
  const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
  CHECK(replay(traced.trace).unmatched() == 0);
  const auto marks = outermost(traced.trace);
  REQUIRE(marks.size() == 2);
  CHECK(marks_as_text(marks[0]) == marks_as_text(marks[1]));
  REQUIRE(marks[0].size() == 700);
  for (std::size_t k = kEvery; k < 700; k += kEvery)
    for (const std::size_t each : {k - 1, k}) {
      CAPTURE(each);
      CHECK(marks[0][each].written);
      CHECK(marks[1][each].written);
    }
}

// OpenMP's threads are in the list of programs.
TEST_CASE(
    "MPI traced: calls of other threads, and in a signal's handler - each message its "
    "own") {
  const std::string kind = GENERATE("posix", "handler");
  const std::string limit = GENERATE("0", "3");
  static SomeCases few;
  if (!few.runs_next()) return;
  INFO(kind << ", limit " << limit);
  TemporaryFolder folder;
  MpiJob job{.program = "threaded_gcc",
             .arguments = {"40", kind},
             .threads = 2,
             .settings = {{"LIMIT", limit}, {"MIN_GAP", "0"}}};
  const Result plain = run_mpi(job);
  job.message_log = folder / "log";
  const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.output == plain.output);
  CHECK(traced.result.errors == "");
  const MessageLog log = read_message_log(job.message_log, 2);
  CHECK(log.sends() == 2 * 2 * 2 * 40);
  const Extent extent = limit == "0" ? Extent::kFull : Extent::kReduced;
  CHECK(text(compare_with_log(traced.trace, log, extent)) == "");
  const Replay replayed = replay(traced.trace);
  CHECK(replayed.unmatched() == 0);
  CHECK(replayed.pairs() > 0);
  const MpiProcesses processes(traced.trace);
  for (int rank = 0; limit == "0" && rank < 2; ++rank)
    CHECK(enters(traced.trace, processes.location_group(rank))["MPI_Wait"] == 2 * 4 * 40);
}

TEST_CASE("MPI traced: reduced - regular programs drop few messages") {
  SomeCases few;
  for (const MpiProgram& program : mpi_programs()) {
    if (!program.regular || !program.messages) continue;
    if (few.runs_next()) DYNAMIC_SECTION(program.name) {
        TemporaryFolder folder;
        const int ranks = std::min(4, program.alike);
        const MpiJob job =
            job_of(program, compiled_names(program)[0], ranks, reduced_evenly());
        const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
        const double pairs = static_cast<double>(replay(traced.trace).pairs());
        CHECK(pairs > 0);
        for (const char* end : {"SENDS_DROPPED", "RECEIVES_DROPPED"}) {
          const long dropped = property_number(traced.trace, end);
          CAPTURE(end);
          REQUIRE(dropped >= 0);
          CHECK(static_cast<double>(dropped) <= 0.01 * pairs);
        }
      }
  }
}

// The calls to wait and test are random there; the loops are still those of the steps and of the
// iterations in them.
TEST_CASE("MPI traced: calls that depend on timing - do not affect loops") {
  const int ranks = GENERATE(2, 4);
  const std::string percent = GENERATE("10", "50");
  static SomeCases few;
  if (!few.runs_next()) return;
  INFO(ranks << " ranks, " << percent << " %");
  TemporaryFolder folder;
  MpiJob job{.program = "timing_gcc",
             .arguments = {"20", "30", percent},
             .ranks = ranks,
             .settings = reduced_evenly()};
  const Result plain = run_mpi(job);
  job.message_log = folder / "log";
  const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.output == plain.output);
  const MessageLog log = read_message_log(job.message_log, ranks);
  CHECK(text(compare_with_log(traced.trace, log, Extent::kReduced)) == "");
  const auto marks = outermost(traced.trace);
  REQUIRE(marks.size() == static_cast<std::size_t>(ranks));
  for (const auto& mine : marks) {
    CHECK(marks_as_text(mine) == marks_as_text(marks.front()));
    CHECK(std::count_if(mine.begin(), mine.end(),
                        [](const Mark& m) { return m.complete; }) == 20);
  }
  const Replay replayed = replay(traced.trace);
  CHECK(replayed.unmatched() == 0);
  CHECK(replayed.pairs() > 0);
  CHECK(property_number(traced.trace, "SENDS_DROPPED") <=
        0.01 * static_cast<double>(replayed.pairs()));
}

// A completion is no symbol; thousands of them in a row are a loop nevertheless.
TEST_CASE("MPI traced: completions in a row - become a loop") {
  TemporaryFolder folder;
  const MpiJob job{.program = "timing_gcc",
                   .arguments = {"1", "1", "0", "0", "3000"},
                   .ranks = 2,
                   .settings = {{"LIMIT", "3"}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}}};
  const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
  for (std::uint32_t rank = 0; rank != 2; ++rank) {
    const std::uint64_t waits = enters(traced.trace, rank)["MPI_Wait"];
    CHECK(waits >= 64);
    CHECK(waits <= 100);
  }
}

}  // namespace refrain::test::mpi_traced_test
