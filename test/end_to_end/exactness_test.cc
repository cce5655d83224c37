// The summary of reduced runs, of each deterministic test program: counts and bytes of each node and edge of call
// tree and event flow graph as in the events of another run, written in full. That run's own summary is
// compared with its events to the tick (trace(), trace_mpi(), and its flow graph here).
//
// MPI programs with 1 to 8 ranks, OpenMP programs with 1, 2, 3 and 8 threads, as gcc makes them; whole
// (test_length.h) as each compiler does. REFRAIN_TEST_PROGRAM: only that one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "summary/run_summary.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/flow_checks.h"
#include "test/support/summary_checks.h"
#include "test/support/test_length.h"

namespace refrain::test::exactness_test {
namespace {

bool wanted(std::string_view program) {
  const char* const only = std::getenv("REFRAIN_TEST_PROGRAM");
  return only == nullptr || only == program;
}

// How often these poll, or who does what, is nondeterministic.
constexpr std::string_view kChance[] = {"icollective", "polling", "workers"};

// Partners that the graph has otherwise than events: any source, matched messages, neighbours across
// the end of a ring.
const char* components_for(std::string_view program) {
  constexpr std::string_view kOther[] = {"polling", "torus", "workers"};
  return std::ranges::find(kOther, program) != std::end(kOther) ? "size" : "partner,size";
}

// Open MPI 4.1 has no one-sided communication for a single process: MPI_Win_create ends the program, traced or not.
int fewest_ranks(std::string_view program) {
  return program == "onesided" && tested_mpi() == "openmpi" ? 2 : 1;
}

// With so much work that there are some thousands of events.
struct OpenMpProgram {
  const char* name;
  std::vector<std::string> arguments{};
};
const std::vector<OpenMpProgram>& openmp_programs() {
  static const std::vector<OpenMpProgram> kAll = {{"amr", {"4"}},
                                                  {"cg", {"10", "200"}},
                                                  {"converge", {"40"}},
                                                  {"heat"},
                                                  {"irregular", {"600"}},
                                                  {"jacobi"},
                                                  {"nested"},
                                                  {"norepeat", {"all", "200"}},
                                                  {"phases"},
                                                  {"shortloop", {"300"}},
                                                  {"threads"}};
  return kAll;
}

// Which thread does it is nondeterministic; how often all do it together is not.
constexpr std::string_view kAnyThread[] = {"jacobi", "nested", "threads"};

// Which threads combine what the others have reduced goes by their numbers in the team, and those are given out anew in
// each run: with up to three threads the first one does all of it.
bool combined_by_some(const Trace& trace, int threads) {
  return threads > 3 && std::ranges::any_of(trace.regions, [](const auto& each) {
           return each.second.name.starts_with("!$omp reduction");
         });
}

std::map<std::string, std::uint64_t> visits_by_region(
    const std::vector<summary::RunSummary>& summaries) {
  std::map<std::string, std::uint64_t> visits;
  for (const summary::RunSummary& summary : summaries)
    for (const summary::RunSummary::Location& location : summary.locations)
      for (std::size_t i = 0; i < summary.nodes.size(); ++i)
        if (summary.nodes[i].kind == summary::RunSummary::Kind::kRegion)
          visits[summary.regions[summary.nodes[i].region].name] += location.sums[i].visits;
  return visits;
}

std::vector<std::string> compiled_names(const OpenMpProgram& program) {
  const std::string name = program.name;
  if (name == "heat") return {name + "_gfortran"};
  if (test_length() == TestLength::kWhole) return {name + "_gcc", name + "_clang"};
  return {name + "_gcc"};
}

}  // namespace

TEST_CASE(
    "Exactness: OpenMP programs - a reduced run's call tree as the events of a full one") {
  for (const OpenMpProgram& program : openmp_programs()) {
    if (!wanted(program.name)) continue;
    for (const std::string& name : compiled_names(program))
      for (const int threads : {1, 2, 3, 8})
        DYNAMIC_SECTION(name << " " << threads << " threads") {
          TemporaryFolder folder;
          Job job{.program = name, .arguments = program.arguments, .threads = threads};
          job.settings = {{"LIMIT", "0"}};
          const Traced whole = trace(job, folder / "full");
          job.settings = {{"LIMIT", "10"}, {"MIN_GAP", "0"}};
          trace(job, folder / "reduced");
          const auto reduced = *summary::read_summaries(folder / "reduced");
          REQUIRE(reduced.size() == 1);
          CHECK(visits_by_region(reduced) ==
                visits_by_region(*summary::read_summaries(folder / "full")));
          if (std::ranges::find(kAnyThread, program.name) != std::end(kAnyThread) ||
              combined_by_some(whole.trace, threads))
            continue;
          CHECK(text(check_summary(whole.trace, reduced, SummaryOf::kOtherRun)) == "");
        }
  }
}

TEST_CASE(
    "Exactness: MPI programs - a reduced run's call tree and flow as the events of a full one") {
  std::vector<MpiProgram> programs = mpi_programs();
  programs.push_back({"torus", 20, false, true, true});
  for (const MpiProgram& program : programs) {
    if (!wanted(program.name)) continue;
    std::vector<std::string> names = compiled_names(program);
    if (test_length() != TestLength::kWhole) names.resize(1);
    const bool chance = std::ranges::find(kChance, program.name) != std::end(kChance);
    for (const std::string& name : names)
      for (int ranks = fewest_ranks(program.name); ranks <= 8; ++ranks)
        DYNAMIC_SECTION(name << " " << ranks << " ranks") {
          TemporaryFolder folder;
          MpiJob job{.program = name, .ranks = ranks, .threads = program.threads};
          job.settings = {{"LIMIT", "0"}, {"GRAPH", components_for(program.name)}};
          const Traced whole = trace_mpi(job, MpiWay::kOutside, folder / "full");
          const auto full = *summary::read_summaries(folder / "full");
          REQUIRE(full.size() == static_cast<std::size_t>(ranks));
          CHECK(text(check_flow(whole.trace, full, SummaryOf::kSameRun)) == "");
          job.settings["LIMIT"] = "10";
          job.settings["MIN_GAP"] = "0";
          trace_mpi(job, MpiWay::kOutside, folder / "reduced");
          const auto reduced = *summary::read_summaries(folder / "reduced");
          REQUIRE(reduced.size() == full.size());
          if (chance) continue;
          CHECK(text(check_summary(whole.trace, reduced, SummaryOf::kOtherRun)) == "");
          CHECK(text(check_flow(whole.trace, reduced, SummaryOf::kOtherRun)) == "");
        }
  }
}

}  // namespace refrain::test::exactness_test
